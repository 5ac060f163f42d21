//! Constants beside a model: read from its folder, and from nowhere else.

use crate::build::{Model, tensor};
use he_nn::onnx::Model as Read;
use he_nn::{Error, Graph};
use rten_onnx::onnx::{DataLocation, StringStringEntryProto};
use std::path::{Path, PathBuf};

/// A folder that is gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("external-{name}-{}", std::process::id()));
        std::fs::create_dir_all(path.join("model")).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// x + w, where w says these things about where it lies.
fn model(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut w = tensor("w", &[2], &[]);
    w.raw_data = None;
    w.data_location = Some(DataLocation::EXTERNAL);
    let entry = |&(key, value): &(&str, &str)| StringStringEntryProto {
        key: Some(key.to_owned()),
        value: Some(value.to_owned()),
    };
    w.external_data = entries.iter().map(entry).collect();
    Model::new(&[0, 2]).with(w).node("Add", &["x", "w"], "y").bytes()
}

#[test]
fn constants_are_read_from_the_folder_alone() {
    let outer = Folder::new("read");
    let folder = outer.0.join("model");
    let numbers: Vec<u8> = [0f32, 1.5, -2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    std::fs::create_dir(folder.join("inner")).unwrap();
    for file in [folder.join("w.bin"), folder.join("inner/w.bin"), outer.0.join("w.bin")] {
        std::fs::write(file, &numbers).unwrap();
    }
    std::fs::write(folder.join("eight.bin"), &numbers[4..]).unwrap();
    let read = |entries: &[(&str, &str)]| Read::read_in(&folder, &model(entries), None);
    for place in [
        &[("location", "w.bin"), ("offset", "4"), ("length", "8")][..],
        &[("location", "w.bin"), ("offset", "4")],
        &[("location", "eight.bin")],
        &[("length", "8"), ("location", "inner/w.bin"), ("offset", "4")],
    ] {
        let graph = read(place).unwrap().graph;
        assert_eq!(graph.apply_plain(&[1.0, 1.0]).unwrap(), [2.5, -1.0], "{place:?}");
        // A file that is read alone is refused, with the remedy.
        let error = Graph::from_onnx(&model(place)).unwrap_err();
        assert!(error.to_string().contains("another file") && error.hint().unwrap().contains("one.onnx"));
    }
    let absolute = folder.join("w.bin").display().to_string();
    let mut refused = vec![
        (vec![("location", "../w.bin"), ("offset", "4")], "not a path inside the folder"),
        (vec![("location", "inner/../w.bin"), ("offset", "4")], "not a path inside the folder"),
        (vec![("location", &*absolute), ("offset", "4")], "not a path inside the folder"),
        (vec![("location", "inner\\w.bin"), ("offset", "4")], "not a path inside the folder"),
        (vec![("location", "")], "not a path inside the folder"),
        (vec![("location", "inner")], "not a file"),
        (vec![("location", "none.bin")], "none.bin"),
        (vec![("offset", "4")], "does not say which"),
        (vec![("location", "w.bin"), ("offset", "13")], "begins at byte 13"),
        (vec![("location", "w.bin"), ("offset", "8"), ("length", "8")], "4 are left"),
        (vec![("location", "w.bin"), ("offset", "18446744073709551615"), ("length", "8")], "begins at byte"),
        (
            vec![("location", "w.bin"), ("offset", "4"), ("length", "4")],
            "4 bytes for 2 numbers of type FLOAT",
        ),
        (vec![("location", "w.bin")], "12 bytes for 2 numbers"),
        (vec![("location", "w.bin"), ("offset", "-4")], "\"-4\" is not a number of bytes"),
        (vec![("location", "w.bin"), ("location", "w.bin")], "location twice"),
        (vec![("location", "w.bin"), ("checksum", "00")], "\"checksum\" is not read"),
    ];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(outer.0.join("w.bin"), folder.join("link.bin")).unwrap();
        refused.push((vec![("location", "link.bin"), ("offset", "4")], "leads out of the folder"));
    }
    for (place, what) in refused {
        let error = read(&place).unwrap_err();
        assert!(
            matches!(error, Error::Model { .. }) && error.to_string().contains(what),
            "{place:?}: {error}"
        );
    }
}
