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
use std::sync::OnceLock;
use tempfile::TempDir;

/// A folder with keys, a table and the input, and how many files these are.
fn folder(input: &[u8]) -> (TempDir, usize) {
    static KEYS: OnceLock<[(&str, Vec<u8>); 4]> = OnceLock::new();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let keys = KEYS.get_or_init(world::key_files);
    let keys = keys.iter().map(|(name, key)| (*name, key.as_slice()));
    let others = [("table.csv", &b"a,b\n1,2\n3,4\n"[..]), ("input", input)];
    let files = keys.chain(others).map(|(name, bytes)| fs::write(folder.path().join(name), bytes));
    let count = files.map(|written| written.expect("a file")).count();
    (folder, count)
}

pub fn run(data: &[u8]) {
    let Some((&command, file)) = data.split_first() else { return };
    let mut file = file.to_vec();
    if command & 1 == 0 {
        repair_frames(&mut file);
    }
    let (folder, before) = folder(&file);
    // By the kind of the first frame.
    let key = match file.get(6) {
        Some(1) => "ckks.key",
        Some(20) => "bigckks.key",
        Some(25) => "tfhe.key",
        _ => "bfv.key",
    };
    let line = match command % 8 {
        0 | 1 => "info --json {}/input".to_owned(),
        2 | 3 => format!("decrypt {{}}/input -k {{}}/{key} -o {{}}/output.png --device cpu"),
        4 | 5 => format!("decrypt {{}}/input -k {{}}/{key} -o {{}}/output.csv --device cpu"),
        6 => "encrypt {}/table.csv -k {}/input -o {}/output --device cpu".to_owned(),
        _ => "compile {}/input --calibrate {}/table.csv -o {}/output".to_owned(),
    };
    let place = folder.path().display().to_string();
    let words = ["he-cli", "--quiet"].into_iter().chain(line.split(' '));
    let words: Vec<OsString> = words.map(|word| word.replace("{}", &place).into()).collect();
    let code = he_cli::run(&words);
    assert!(code <= 1, "{line}: {code}");
    let mut left: Vec<String> = fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    let made = left.len() - before;
    left.retain(|name| name.starts_with("output"));
    assert!(made == left.len() && (made == 0 || code == 0), "{line}: {code}, {left:?}");
}

pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for file in world::encrypted_files() {
        seeds.extend([0, 2, 4].map(|command| [&[command][..], &file].concat()));
    }
    seeds.extend(world::public_key_files().iter().map(|file| [&[6][..], file].concat()));
    seeds.extend(world::key_files().iter().map(|(_, file)| [&[0][..], file].concat()));
    seeds.push([&[7][..], &super::onnx::network()].concat());
    seeds.extend([0, 3].map(|command| [&[command][..], &super::sensor::good()].concat()));
    seeds
}
