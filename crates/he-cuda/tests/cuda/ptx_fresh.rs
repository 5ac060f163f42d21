//! The PTX in the repository matches its sources, and loads on the drivers and devices for which it
//! is meant.

use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// The newest version of PTX that drivers of CUDA 12.1 load.
const VERSION: (u32, u32) = (8, 1);
/// The target of files whose sources name no other.
const TARGET: &str = "sm_70";

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels").canonicalize().expect("there are kernels")
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{} cannot be read: {error}", path.display()))
}

/// The names, without the ending, of the files of a folder with this ending.
fn stems(folder: &Path, ending: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut stems: Vec<String> = paths
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    stems.sort();
    stems
}

/// A source file and what it includes, each once, in the order of first inclusion: as in
/// `kernels/build.py`.
fn sources(path: PathBuf, seen: &mut Vec<PathBuf>) {
    if seen.contains(&path) {
        return;
    }
    seen.push(path.clone());
    for line in text(&path).lines() {
        let Some(name) = line.strip_prefix("#include \"").and_then(|rest| rest.rsplit_once('"')) else {
            continue;
        };
        let included = path.parent().expect("a file is in a folder").join(name.0);
        let included = included
            .canonicalize()
            .unwrap_or_else(|error| panic!("{} includes {}: {error}", path.display(), name.0));
        sources(included, seen);
    }
}

fn checksum(path: PathBuf) -> String {
    let mut files = Vec::new();
    sources(path, &mut files);
    let mut digest = Sha256::new();
    files.iter().for_each(|file| digest.update(text(file)));
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn every_ptx_is_that_of_its_sources() {
    let kernels = kernels();
    let names = stems(&kernels, "cu");
    assert!(!names.is_empty(), "no kernels in {}", kernels.display());
    assert_eq!(
        stems(&kernels.join("ptx"), "ptx"),
        names,
        "one kernels/ptx/NAME.ptx for each kernels/NAME.cu"
    );
    let stale: Vec<&str> = names
        .iter()
        .filter(|name| {
            let ptx = text(&kernels.join("ptx").join(format!("{name}.ptx")));
            let expected = format!("// sources {}", checksum(kernels.join(format!("{name}.cu"))));
            ptx.lines().next() != Some(&expected)
        })
        .map(String::as_str)
        .collect();
    assert!(
        stale.is_empty(),
        "the PTX of {0} is older than its sources; rebuild it:\n    \
         python3 -m venv .venv && .venv/bin/pip install nvidia-cuda-nvrtc-cu12==12.1.105\n    \
         .venv/bin/python kernels/build.py {1}",
        stale.join(", "),
        stale.join(" "),
    );
}

#[test]
fn every_ptx_loads_on_old_drivers_and_devices() {
    let folder = kernels().join("ptx");
    for name in stems(&folder, "ptx") {
        let ptx = text(&folder.join(format!("{name}.ptx")));
        let version = ptx.lines().find_map(|line| line.strip_prefix(".version ")?.trim().split_once('.'));
        let version = version.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        assert!(version.is_some_and(|found: (u32, u32)| found <= VERSION), "{name}.ptx is of {version:?}");
        let source = text(&kernels().join(format!("{name}.cu")));
        let named = source.lines().next().and_then(|line| line.strip_prefix("// architecture: compute_"));
        let target = named.map_or(TARGET.to_owned(), |number| format!("sm_{number}"));
        let line = format!(".target {target}");
        assert!(ptx.lines().any(|found| found.trim() == line), "{name}.ptx is not for {target}");
    }
}
