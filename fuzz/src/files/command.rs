//! The program from bytes to exit code: a hostile file as an input, as a key, as a model.
//!
//! Must hold: the exit code is 0 or 1; nothing but the output of a success is left, and that is no
//! longer than it can be.
//!
//! Bytes: the command modulo 8; then the file, whose checksums are repaired unless the command is
//! odd.

use super::target::repair_frames;
use super::world;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A folder with keys, a table and a picture, which lasts as long as the process.
fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder").keep();
        for (name, key) in world::key_files() {
            fs::write(folder.join(name), key).expect("a key");
        }
        fs::write(folder.join("table.csv"), "a,b\n1,2\n3,4\n").expect("a table");
        folder
    })
}

pub fn run(data: &[u8]) {
    let Some((&command, file)) = data.split_first() else { return };
    let mut file = file.to_vec();
    if command & 1 == 0 {
        repair_frames(&mut file);
    }
    let folder = folder();
    fs::write(folder.join("input"), &file).expect("a file");
    // By the kind of the first frame.
    let key = match file.get(6) {
        Some(1) => "ckks.key",
        Some(20) => "bigckks.key",
        Some(25) => "tfhe.key",
        _ => "bfv.key",
    };
    let line = match command % 8 {
        0 | 1 => format!("info --json {{}}/input"),
        2 | 3 => format!("decrypt {{}}/input -k {{}}/{key} -o {{}}/output.png --device cpu"),
        4 | 5 => format!("decrypt {{}}/input -k {{}}/{key} -o {{}}/output.csv --device cpu"),
        6 => "encrypt {}/table.csv -k {}/input -o {}/output --device cpu".to_owned(),
        _ => "compile {}/input --calibrate {}/table.csv -o {}/output".to_owned(),
    };
    let place = folder.display().to_string();
    let words = ["he-cli", "--quiet"].into_iter().chain(line.split(' '));
    let words: Vec<OsString> = words.map(|word| word.replace("{}", &place).into()).collect();
    let before = 6;
    let code = he_cli::run(&words);
    assert!(code <= 1, "{line}: {code}");
    let mut left: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    let made = left.len() - before;
    left.retain(|name| name.starts_with("output"));
    assert!(made == left.len() && (made == 0 || code == 0), "{line}: {code}, {left:?}");
    for name in left {
        fs::remove_file(folder.join(name)).expect("an output");
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for file in world::encrypted_files() {
        seeds.extend([0, 2, 4].map(|command| [&[command][..], &file].concat()));
    }
    seeds.extend(world::public_key_files().iter().map(|file| [&[6][..], file].concat()));
    seeds.extend(world::key_files().iter().map(|(_, file)| [&[0][..], file].concat()));
    seeds.push([&[7][..], &super::onnx::network()].concat());
    seeds
}
