//! Compresses the files of `ptx` and lists them, sorted by name.

#[path = "src/registers.rs"]
mod registers;
#[path = "src/repeats.rs"]
mod repeats;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=ptx");
    println!("cargo::rerun-if-changed=src/registers.rs");
    println!("cargo::rerun-if-changed=src/repeats.rs");
    let variable = |name| env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(name));
    let (source, out) = (variable("CARGO_MANIFEST_DIR")?.join("ptx"), variable("OUT_DIR")?);
    let mut paths: Vec<PathBuf> =
        fs::read_dir(&source)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
    paths.sort();
    let mut list = String::from("&[\n");
    for path in paths {
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        let text = fs::read_to_string(&path)?;
        // A text that would not come back is an error here, and not when a device loads it.
        let encoded = registers::encode(&text).and_then(|encoded| repeats::encode(&encoded));
        let encoded = encoded.filter(|encoded| {
            repeats::decode(encoded).and_then(|decoded| registers::decode(&decoded)) == Some(text)
        });
        let encoded = encoded.ok_or_else(|| io::Error::other(format!("{name}: unexpected text")))?;
        fs::write(out.join(name), compressed(encoded.as_bytes())?)?;
        let bytes = format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}\"))");
        writeln!(list, "    File {{ name: {name:?}, deflated: {bytes} }},").map_err(io::Error::other)?;
    }
    list.push(']');
    write_if_changed(&out.join("files.rs"), &list)
}

fn compressed(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text)?;
    encoder.finish()
}

fn write_if_changed(path: &Path, text: &str) -> io::Result<()> {
    match fs::read_to_string(path) {
        Ok(found) if found == text => Ok(()),
        _ => fs::write(path, text),
    }
}
