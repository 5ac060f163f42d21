//! Archives of a sender who has the key and means no good: bounded, refused with a reason, nothing
//! left behind.

use crate::aes::{bytes, files, run, tree, with_archive};
use crate::process::{after, names};
use std::fs;
use std::path::PathBuf;
use tar::EntryType;
use tempfile::TempDir;

const ELSEWHERE: &str = "decrypt to a .tar file, and unpack that with another program";

/// An entry with its content, padded; names of up to 100 bytes, anything in them.
fn entry(kind: EntryType, name: &[u8], link: &[u8], mode: u32, data: &[u8]) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.as_old_mut().linkname[..link.len()].copy_from_slice(link);
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(data.len() as u64);
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn file(name: &str, data: &[u8]) -> Vec<u8> {
    entry(EntryType::Regular, name.as_bytes(), b"", 0o644, data)
}

/// The next entry's name, in an entry of its own.
fn long_name(name: &[u8]) -> Vec<u8> {
    entry(EntryType::GNULongName, b"././@LongLink", b"", 0, &[name, b"\0"].concat())
}

/// The next entry's attribute.
fn attribute(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = [b" ", key.as_bytes(), b"=", value, b"\n"].concat();
    let mut len = rest.len();
    while len != rest.len() + len.to_string().len() {
        len = rest.len() + len.to_string().len();
    }
    entry(EntryType::XHeader, b"pax", b"", 0o644, &[len.to_string().as_bytes(), &rest].concat())
}

/// Refused with this message, soon, without a word of where it was unpacked; nothing is left.
fn refused(dir: &TempDir, entries: &[Vec<u8>], error: &str, hint: &str) {
    with_archive(dir, [entries.concat(), vec![0; 1024]].concat());
    run(dir, "decrypt x.he -k my.key -o out").fails(1, error, hint);
    assert_eq!(names(dir.path()), ["my.key", "plain", "x.he"], "{error}");
}

#[test]
fn huge_names_and_attributes_are_not_read() {
    let dir = files(0);
    let error = "cannot unpack into out: the name and attributes of an entry are longer than 64.0 KiB";
    for name in [vec![b'n'; 70_000], vec![b'n'; 3 << 20], b"d/".repeat(1 << 20)] {
        refused(&dir, &[file("a", b"x"), long_name(&name), file("x", b"")], error, ELSEWHERE);
        let link = entry(EntryType::GNULongLink, b"././@LongLink", b"", 0, &name);
        refused(&dir, &[link, entry(EntryType::Symlink, b"l", b"x", 0, b"")], error, ELSEWHERE);
        for key in ["path", "linkpath", "comment", "SCHILY.xattr.user.x"] {
            refused(&dir, &[attribute(key, &name), file("x", b"")], error, ELSEWHERE);
        }
    }
    // A size that says more than there is.
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(EntryType::GNULongName);
    header.set_size(u64::MAX / 2);
    header.set_cksum();
    refused(&dir, &[header.as_bytes().to_vec(), vec![b'n'; 100_000]], error, ELSEWHERE);
    // Global attributes are not an entry.
    let mut global = attribute("comment", b"x");
    global[156] = b'g';
    let sum: u32 = global[..512]
        .iter()
        .enumerate()
        .map(|(i, &b)| if (148..156).contains(&i) { 32 } else { u32::from(b) })
        .sum();
    global[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    refused(&dir, &[global], "the entry pax is neither file, folder nor link", ELSEWHERE);
}

#[test]
fn long_and_deep_paths_are_refused() {
    let dir = files(0);
    let long = [&b"d/"[..], &[b'n'; 5000]].concat();
    let error = "cannot unpack into out: the path of an entry has 5002 bytes, more than 4096";
    refused(&dir, &[long_name(&long), file("x", b"")], error, ELSEWHERE);
    refused(&dir, &[attribute("path", &long), file("x", b"")], error, ELSEWHERE);
    let error = "cannot unpack into out: the target of a link has 5002 bytes, more than 4096";
    let link = entry(EntryType::Symlink, b"l", b"", 0o777, b"");
    refused(&dir, &[attribute("linkpath", &long), link.clone()], error, ELSEWHERE);
    refused(&dir, &[link], "cannot unpack into out: the link l points to nothing", ELSEWHERE);
    // Many of these took minutes.
    for depth in [257, 1000, 2000] {
        let path = "d/".repeat(depth - 1) + "f";
        let error = format!(
            "cannot unpack into out: the entry {}… lies {depth} folders deep, more than 256",
            "d/".repeat(50)
        );
        refused(&dir, &[long_name(path.as_bytes()), file("x", b"")], &error, ELSEWHERE);
        let folder = entry(EntryType::Directory, b"x", b"", 0o755, b"");
        refused(&dir, &[long_name(path.as_bytes()), folder], &error, ELSEWHERE);
    }
}

#[cfg(unix)]
#[test]
fn deep_folders_come_back_and_deeper_ones_are_refused_when_they_are_packed() {
    let dir = files(0);
    let deep = |depth: usize| ["d"; 255].iter().take(depth).collect::<PathBuf>();
    fs::create_dir_all(dir.path().join("in").join(deep(255))).unwrap();
    let last = dir.path().join("in").join(deep(255)).join("file");
    fs::write(&last, b"deep").unwrap();
    run(&dir, "encrypt in -k my.key -o in.he").ok();
    run(&dir, "decrypt in.he -k my.key -o out").ok();
    assert_eq!(tree(&dir.path().join("out")), tree(&dir.path().join("in")));
    fs::remove_file(&last).unwrap();
    fs::create_dir(&last).unwrap();
    fs::write(last.join("file"), b"deeper").unwrap();
    run(&dir, "encrypt in -k my.key -o y.he").fails(
        1,
        &format!("in/{}d… lies more than 256 folders deep", "d/".repeat(48)),
        "move it up, or pipe an archive of your own into he-cli encrypt -",
    );
    assert_eq!(names(dir.path()), ["in", "in.he", "my.key", "out", "plain"]);
}

#[cfg(unix)]
#[test]
fn every_reason_is_said() {
    let dir = files(0);
    let folder = |name: &[u8], mode| entry(EntryType::Directory, name, b"", mode, b"");
    let link = |name: &[u8], to: &[u8]| entry(EntryType::Symlink, name, to, 0o777, b"");
    let inside = "and an entry lies in it";
    for (entries, error) in [
        (vec![file("a", b"1"), file("a/b", b"2")], format!("a is not a folder, {inside}")),
        (vec![link(b"a", b"b"), link(b"b", b"a"), file("a/x", b"")], format!("a is not a folder, {inside}")),
        (
            vec![folder(b"b", 0o755), link(b"a", b"b"), file("a/x", b"")],
            format!("a is not a folder, {inside}"),
        ),
        (vec![file("a", b"1"), folder(b"a", 0o755)], format!("a is not a folder, {inside}")),
        (vec![folder(b"a", 0o755), file("a", b"1")], "a: is a directory".to_owned()),
        (vec![long_name(b"n/../\xff"), file("x", b"")], String::new()),
        (vec![long_name(&[b'n'; 300]), file("x", b"")], format!("{}…: file name too long", "n".repeat(100))),
        (vec![attribute("path", b"a\0b"), file("x", b"")], "a\\u{0}b: invalid input parameter".to_owned()),
        (
            vec![file("a\u{1b}[31m/b", b""), file("a\u{1b}[31m", b"")],
            "a\\u{1b}[31m: is a directory".to_owned(),
        ),
        (
            vec![b"not an archive ".repeat(100)],
            "the archive is damaged (numeric field was not a number)".to_owned(),
        ),
        (
            vec![long_name(b"a")],
            "the archive is damaged (members found describing a future member but no future member found)"
                .to_owned(),
        ),
        (
            vec![long_name(b"a"), long_name(b"b"), file("x", b"")],
            "the archive is damaged (two long name entries describing the same member)".to_owned(),
        ),
    ] {
        with_archive(&dir, [entries.concat(), vec![0; 1024]].concat());
        let message = run(&dir, "decrypt x.he -k my.key -o out").refuses();
        assert!(!message.contains("part"), "{message}");
        let expected = format!("cannot unpack into out: {error}");
        assert!(message == expected || error.is_empty(), "{message}\n{expected}");
        assert_eq!(names(dir.path()), ["my.key", "plain", "x.he"], "{error}");
    }
    // A checksum that is wrong, and an archive that ends early.
    let mut wrong = file("a", b"1");
    wrong[0] = b'b';
    refused(
        &dir,
        &[wrong],
        "cannot unpack into out: the archive is damaged (archive header checksum mismatch)",
        ELSEWHERE,
    );
    with_archive(&dir, file("a", &[7; 5000])[..3000].to_vec());
    run(&dir, "decrypt x.he -k my.key -o out").fails(
        1,
        "cannot unpack into out: a: failed to write entire file",
        ELSEWHERE,
    );
    assert_eq!(names(dir.path()), ["my.key", "plain", "x.he"]);
}

/// The disk is full, or as here, a file may not grow any more.
#[cfg(unix)]
#[test]
fn the_cause_is_kept() {
    let dir = files(0);
    with_archive(&dir, [file("small", b"1"), file("sub/large", &bytes(100_000)), vec![0; 1024]].concat());
    let call = after("trap '' XFSZ; ulimit -f 8", ["decrypt", "x.he", "-k", "my.key", "-o", "out"]);
    let hint = "raise the limit on the size of files (ulimit -f), or write to another file system";
    call.at(dir.path()).fails(1, "cannot unpack into out: sub/large: file too large", hint);
    assert_eq!(names(dir.path()), ["my.key", "plain", "x.he"]);
}

#[cfg(unix)]
#[test]
fn odd_archives_unpack_inside() {
    use std::os::unix::fs::PermissionsExt;
    let dir = files(0);
    let folder = |name: &[u8], mode| entry(EntryType::Directory, name, b"", mode, b"");
    let entries = [
        folder(b"./", 0o777),
        folder(b"closed", 0o500),
        file("closed/a", b"1"),
        folder(b"shut", 0o000),
        file("shut/x/y", b"2"),
        entry(EntryType::Regular, b"twice", b"", 0o6755, b"first"),
        entry(EntryType::Regular, b"twice", b"", 0o6755, b"second"),
        entry(EntryType::Regular, b"old/", b"", 0o755, b""),
        entry(EntryType::Symlink, b"way", b"/etc", 0o777, b""),
        attribute("path", b"named/by/attribute"),
        file("x", b"3"),
        b"\0".repeat(1024),
        b"what follows is ignored".to_vec(),
    ];
    with_archive(&dir, entries.concat());
    run(&dir, "decrypt x.he -k my.key -o out").ok();
    let out = dir.path().join("out");
    let mode = |name: &str| fs::metadata(out.join(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(
        (mode(""), mode("closed"), mode("shut"), mode("twice"), mode("old")),
        (0o700, 0o500, 0, 0o755, 0o755)
    );
    fs::set_permissions(out.join("shut"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(out.join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
    let read = |name: &str| fs::read(out.join(name)).unwrap();
    assert_eq!(
        [read("closed/a"), read("shut/x/y"), read("twice"), read("named/by/attribute")].concat(),
        b"12second3"
    );
    assert_eq!(fs::read_link(out.join("way")).unwrap(), PathBuf::from("/etc"));
    assert_eq!(names(&out), ["closed", "named", "old", "shut", "twice", "way"]);
}

/// Memory does not grow with the number of folders, nor time with the square of it.
#[test]
fn many_folders_unpack() {
    let dir = files(0);
    let folder = |i: usize| entry(EntryType::Directory, format!("a/b/{i}").as_bytes(), b"", 0o755, b"");
    with_archive(&dir, [(0..1100).flat_map(folder).collect(), vec![0; 1024]].concat());
    run(&dir, "decrypt x.he -k my.key -o out").ok();
    assert_eq!(names(&dir.path().join("out/a/b")).len(), 1100);
}
