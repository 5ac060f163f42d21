//! Puts the page into the program, if it was built before: `web/build.sh` fills `web/dist`. This
//! only looks; it builds nothing.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn walk(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), format!("{prefix}{}", entry.file_name().to_string_lossy()));
        if path.is_dir() {
            walk(&path, &format!("{name}/"), files);
        } else {
            files.push((name, path));
        }
    }
}

fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let dist = Path::new(&root).join("../../web/dist");
    println!("cargo:rerun-if-changed=build.rs");
    // A path that does not exist would make every build run this again.
    let watched = if dist.is_dir() { dist.clone() } else { Path::new(&root).join("../../web") };
    if watched.is_dir() {
        println!("cargo:rerun-if-changed={}", watched.display());
    }
    let mut files = Vec::new();
    walk(&dist, "", &mut files);
    files.sort();
    let mut code =
        String::from("/// The files of the page and their bytes.\nconst EMBEDDED: &[(&str, &[u8])] = &[\n");
    for (name, path) in files {
        let path = path.canonicalize().expect("it was found");
        writeln!(code, "    ({name:?}, include_bytes!({path:?})),").expect("strings take everything");
    }
    code.push_str("];\n");
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join("page.rs"), code).expect("the folder of the build can be written");
}
