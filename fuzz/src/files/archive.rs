//! Folders under AES: tar archives of a sender who knows the key.
//!
//! Must hold: an archive is refused, and then leaves nothing, or becomes a folder of plain files,
//! folders and links, none of which has set-user-ID or set-group-ID bits or other hard links.
//! Nothing outside the folder changes.
//!
//! Bytes: flags (1: leave the checksums of headers as they are); then the archive.

use he_core::aes::container::{Content, Header, Layout, UserKey};
use he_core::aes::{Bulk, Cpu};
use he_files::aes_file::{FileCipher, Sealed, Secret, Target};
use he_files::io::input::Input;
use he_files::io::output::NewFolder;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

fn sealed(mut data: Vec<u8>) -> Vec<u8> {
    let (user, layout) = (UserKey::new(&[5; 32]), Layout::new(16).expect("a length"));
    let (header, key) = Header::with_key(&user, layout, Content::Tar, &mut super::world::rng(1));
    let mut tags = vec![[0; 16]; data.len().div_ceil(layout.chunk_len()).max(1)];
    key.seal(&Cpu::new(), 0, true, Bulk::in_place(&mut data), &mut tags).expect("some chunks");
    let mut file = header.to_bytes().to_vec();
    let mut chunks = data.chunks(layout.chunk_len());
    for tag in tags {
        file.extend(chunks.next().unwrap_or_default());
        file.extend(tag);
    }
    file
}

/// Makes the checksums of the headers right, as far as sizes lead from one to the next.
fn repair(archive: &mut [u8]) {
    let mut at = 0;
    while archive.len() - at >= 512 {
        let header = &mut archive[at..at + 512];
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let digits = std::str::from_utf8(&header[124..135]).unwrap_or_default();
        let size = usize::from_str_radix(digits.trim_matches(['\0', ' ']), 8).unwrap_or(0);
        at += 512 + size.div_ceil(512) * 512;
        if at > archive.len() {
            return;
        }
    }
}

pub fn run(data: &[u8]) {
    let Some((&flags, archive)) = data.split_first() else { return };
    let mut archive = archive.to_vec();
    if flags & 1 == 0 {
        repair(&mut archive);
    }
    let outer = tempfile::tempdir().expect("a temporary folder");
    let inner = outer.path().join("inner");
    fs::create_dir(&inner).expect("a folder");
    fs::write(outer.path().join("canary"), b"canary").expect("a file");
    let out = inner.join("out");
    let file = Sealed::read(Input::from_bytes("x", sealed(archive))).expect("a header");
    let folder = NewFolder::create(&out).expect("a new folder");
    let user = UserKey::new(&[5; 32]);
    let done = file.decrypt(Secret::Key(&user), Target::Folder(folder), None, |_| Ok(FileCipher::cpu()), &());
    let names = |path: &Path| fs::read_dir(path).expect("a folder").count();
    assert_eq!(names(outer.path()), 2, "something lies outside");
    assert_eq!(fs::read(outer.path().join("canary")).expect("a file"), b"canary");
    assert_eq!(names(&inner), usize::from(done.is_ok()), "{:?}", done.err().map(|error| error.to_string()));
    if out.exists() {
        check(&out);
        open_up(&out);
    }
}

fn check(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let metadata = entry.metadata().expect("an entry");
        let plain = metadata.is_file() || metadata.is_dir() || metadata.is_symlink();
        assert!(plain && (!metadata.is_file() || metadata.nlink() == 1), "{:?}", entry.path());
        assert!(metadata.is_symlink() || metadata.permissions().mode() & 0o6000 == 0, "{:?}", entry.path());
        if metadata.is_dir() {
            check(&entry.path());
        }
    }
}

/// So that it can be removed.
fn open_up(folder: &Path) {
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            open_up(&entry.path());
        }
    }
}

/// A header of an entry.
fn entry(name: &str, kind: u8, mode: &str, link: &str, content: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 512];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, mode);
    put(108, "0000000\x000000000\0");
    put(124, &format!("{:011o}\0", content.len()));
    put(136, "00000000000\0");
    put(157, link);
    put(257, "ustar\x0000");
    header[156] = kind;
    header.extend(content);
    header.resize(header.len().div_ceil(512) * 512, 0);
    header
}

pub fn seeds() -> Vec<Vec<u8>> {
    let file = |name| entry(name, b'0', "0000644\0", "", b"content");
    let archives = [
        vec![file("a")],
        vec![entry("d/", b'5', "0000755\0", "", b""), file("d/b"), entry("l", b'2', "0000777\0", "d/b", b"")],
        vec![file("../up")],
        vec![file("/absolute")],
        vec![entry("l", b'2', "0000777\0", "..", b""), file("l/b")],
        vec![file("a"), entry("h", b'1', "0000644\0", "a", b"")],
        vec![entry("f", b'6', "0004755\0", "", b""), entry("s", b'0', "0006755\0", "", b"x")],
        vec![entry("././@LongLink", b'L', "0000644\0", "", &[b'n'; 300]), file("short")],
        vec![entry("x", b'x', "0000644\0", "", b"20 path=renamed\n\n\n\n"), file("short")],
        vec![entry("d/", b'5', "0000000\0", "", b""), file("d/b")],
    ];
    archives.into_iter().map(|entries| [vec![0], entries.concat(), vec![0; 1024]].concat()).collect()
}
