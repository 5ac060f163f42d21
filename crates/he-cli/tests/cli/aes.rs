//! Files under AES: what comes back, what is refused, and that nothing is left behind then.

use crate::process::{Call, Keys, folder, he, names};
use he_core::aes::container::{Content, Header, Layout, UserKey};
use he_core::aes::{Bulk, Cpu};
use he_core::wire::FrameReader;
use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

const MIB: usize = 1 << 20;
const DAMAGED: &str = "get an undamaged copy of the file";
const CHANGED: &str =
    "is not what was encrypted there: the file is damaged, truncated, extended or reordered";

pub fn bytes(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    ChaCha20Rng::seed_from_u64(len as u64).fill_bytes(&mut bytes);
    bytes
}

/// A folder with a key and a plain file.
pub fn files(len: usize) -> TempDir {
    let dir = folder();
    he(["keygen", "aes", "-o", "my.key"]).at(dir.path()).ok();
    fs::write(dir.path().join("plain"), bytes(len)).unwrap();
    dir
}

pub fn run(dir: &TempDir, arguments: &str) -> Call {
    he(arguments.split(' ')).at(dir.path())
}

pub fn sealed(dir: &TempDir) -> Vec<u8> {
    run(dir, "encrypt plain -k my.key -o x.he --force").ok();
    fs::read(dir.path().join("x.he")).unwrap()
}

/// The key in a file.
fn user_key(path: &Path) -> UserKey {
    let bytes = fs::read(path).unwrap();
    let frame = FrameReader::new(&bytes[..]).next_frame(|_, _| 32).unwrap().unwrap();
    UserKey::from_frame(&frame).unwrap()
}

#[test]
fn files_of_every_length_come_back() {
    let dir = files(0);
    let path = |name: &str| dir.path().join(name);
    for len in [0, 1, 15, 16, MIB - 1, MIB, MIB + 1, 4 * MIB, 4 * MIB + 1, 9 * MIB + 77] {
        let plain = bytes(len);
        fs::write(path("plain"), &plain).unwrap();
        assert_eq!(sealed(&dir).len(), 120 + len + 16 * len.div_ceil(MIB).max(1));
        run(&dir, "decrypt x.he -k my.key -o back --force").ok();
        assert!(fs::read(path("back")).unwrap() == plain, "{len} bytes");
        // Through pipes at both ends.
        let piped = run(&dir, "encrypt - -k my.key -o -").stdin(&plain).ok();
        assert!(
            run(&dir, "decrypt - -k my.key -o -").stdin(&piped).ok() == plain,
            "{len} bytes through pipes"
        );
    }
    assert_eq!(names(dir.path()), ["back", "my.key", "plain", "x.he"]);
}

#[test]
fn no_two_files_are_alike() {
    let dir = files(1000);
    let (a, b) = (sealed(&dir), sealed(&dir));
    assert_eq!(a.len(), b.len());
    assert_ne!(a[24..56], b[24..56]);
    assert_ne!(a[120..], b[120..]);
    assert!(!a.windows(8).any(|window| window == &bytes(1000)[..8]));
}

#[test]
fn images_are_files_too() {
    let dir = files(0);
    fs::write(dir.path().join("plain"), b"\x89PNG\r\n\x1a\nwhatever").unwrap();
    sealed(&dir);
    assert_eq!(run(&dir, "decrypt x.he -k my.key -o -").ok(), b"\x89PNG\r\n\x1a\nwhatever");
}

#[test]
fn keys_are_the_owners_alone_and_not_replaced() {
    let dir = files(0);
    let key = dir.path().join("my.key");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let before = fs::read(&key).unwrap();
    run(&dir, "keygen aes -o my.key").fails(
        1,
        "my.key exists already",
        "choose another name, or replace it with --force",
    );
    assert_eq!(fs::read(&key).unwrap(), before);
    let told = run(&dir, "keygen aes -o my.key --force").run().stderr;
    assert_eq!(told, format!("my.key: 232 B, key {}\n", user_key(&key).id()));
    assert_ne!(fs::read(&key).unwrap(), before);
    // Flags of the other scheme.
    for flags in ["--depth 3", "--radius 1", "--precision 20", "--device cpu"] {
        let outcome = run(&dir, &format!("keygen aes -o other.key {flags}")).run();
        assert_eq!(outcome.code, Some(2), "{flags}: {}", outcome.stderr);
    }
    assert_eq!(names(dir.path()), ["my.key", "plain"]);
}

#[test]
fn sealed_keys_open_with_their_passphrase() {
    let dir = files(5000);
    fs::write(dir.path().join("phrase"), "correct horse\n").unwrap();
    run(&dir, "keygen aes -o sealed.key --passphrase-file phrase").ok();
    run(&dir, "encrypt plain -k sealed.key --passphrase-file phrase -o x.he").ok();
    let open = || run(&dir, "decrypt x.he -k sealed.key -o -");
    assert_eq!(open().env("HE_CLI_PASSPHRASE", "correct horse").ok(), bytes(5000));
    open().env("HE_CLI_PASSPHRASE", "wrong").fails(
        1,
        "sealed.key: wrong passphrase or damaged key file",
        "type the passphrase again; if it is right, restore the file from a copy",
    );
    let told = run(&dir, "info sealed.key --passphrase-file phrase").text();
    assert!(
        told.starts_with("file         AES key, 256 bits\n") && told.contains("by a passphrase"),
        "{told}"
    );
    assert!(run(&dir, "info sealed.key").text().starts_with("file         sealed secret key\n"));
}

#[test]
fn passphrases_encrypt_in_place_of_keys() {
    let dir = files(5000);
    let with = |arguments: &str, phrase: &str| run(&dir, arguments).env("HE_CLI_PASSPHRASE", phrase);
    with("encrypt plain --passphrase -o x.he", "correct horse").ok();
    assert_eq!(with("decrypt x.he --passphrase -o -", "correct horse").ok(), bytes(5000));
    with("decrypt x.he --passphrase -o out", "correct Horse").fails(
        1,
        "x.he: wrong passphrase, or the header is damaged",
        "type the passphrase again; if it is right, get an undamaged copy of the file",
    );
    run(&dir, "decrypt x.he --passphrase -o out").fails(
        1,
        "there is no terminal to ask for the passphrase at",
        "give --passphrase-file FILE or set HE_CLI_PASSPHRASE",
    );
    run(&dir, "decrypt x.he -k my.key -o out").fails(
        1,
        "x.he was encrypted by a passphrase, not under a key",
        "give --passphrase in place of -k",
    );
    let id = user_key(&dir.path().join("my.key")).id();
    run(&dir, "encrypt plain -k my.key -o y.he").ok();
    with("decrypt y.he --passphrase -o out", "correct horse").fails(
        1,
        &format!("y.he was encrypted under key {id}, not by a passphrase"),
        "give the key with -k",
    );
    for arguments in
        ["encrypt plain -o z.he", "encrypt plain -k my.key --passphrase -o z.he", "decrypt x.he -o out"]
    {
        assert_eq!(run(&dir, arguments).run().code, Some(2), "{arguments}");
    }
    // A file gives the passphrase, too, and says by that what is meant.
    fs::write(dir.path().join("phrase"), "correct horse\n").unwrap();
    assert_eq!(run(&dir, "decrypt x.he --passphrase-file phrase -o -").ok(), bytes(5000));
    assert_eq!(names(dir.path()), ["my.key", "phrase", "plain", "x.he", "y.he"]);
}

#[test]
fn hostile_costs_are_refused_at_once() {
    let dir = files(10);
    run(&dir, "encrypt plain --passphrase -o x.he").env("HE_CLI_PASSPHRASE", "p").ok();
    let good = fs::read(dir.path().join("x.he")).unwrap();
    for (at, value) in
        [(12, u32::MAX), (12, 1024 * 1024 + 1), (12, 0), (16, 17), (16, 0), (20, 5), (20, u32::MAX)]
    {
        let mut hostile = good.clone();
        hostile[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
        fs::write(dir.path().join("x.he"), hostile).unwrap();
        run(&dir, "decrypt x.he --passphrase -o out").env("HE_CLI_PASSPHRASE", "p").fails(
            1,
            "x.he: the header holds an impossible cost of the passphrase",
            DAMAGED,
        );
    }
    // A cost that is possible, but more than four times that of new files, only if it is allowed.
    for (memory, passes, told) in
        [(1024 * 1024, 16, "1024 MiB in 16 passes"), (256 * 1024 + 1, 1, "257 MiB in 1 pass")]
    {
        let mut hostile = good.clone();
        hostile[12..16].copy_from_slice(&u32::to_le_bytes(memory));
        hostile[16..20].copy_from_slice(&u32::to_le_bytes(passes));
        fs::write(dir.path().join("x.he"), hostile).unwrap();
        run(&dir, "decrypt x.he --passphrase -o out").env("HE_CLI_PASSPHRASE", "p").fails(
            1,
            &format!(
                "x.he: stretching the passphrase takes {told} as the file states, more than the 256 MiB in 3 \
                 passes allowed"
            ),
            "if you know who made the file, open it with --allow-cost",
        );
    }
    let allowed = "decrypt x.he --passphrase --allow-cost -o out";
    run(&dir, allowed).env("HE_CLI_PASSPHRASE", "p").fails(
        1,
        "x.he: wrong passphrase, or the header is damaged",
        "type the passphrase again; if it is right, get an undamaged copy of the file",
    );
}

#[test]
fn the_wrong_key_is_told_from_damage() {
    let dir = files(3000);
    let path = |name: &str| dir.path().join(name);
    sealed(&dir);
    run(&dir, "keygen aes -o other.key").ok();
    let [ours, theirs] = ["my.key", "other.key"].map(|name| user_key(&path(name)).id());
    run(&dir, "decrypt x.he -k other.key -o out").fails(
        1,
        &format!("x.he: the file was encrypted under key {ours}, and this is key {theirs}"),
        "give the key that it was encrypted with; he-cli info FILE shows which one that is",
    );
    let mut broken = fs::read(path("x.he")).unwrap();
    broken[80] ^= 1;
    fs::write(path("x.he"), broken).unwrap();
    run(&dir, "decrypt x.he -k my.key -o out").fails(1, "x.he: the header is damaged", DAMAGED);
    let keys = Keys::shallow();
    run(&dir, &format!("decrypt x.he -k {} -o out", keys.secret)).fails(
        1,
        &format!("{} is a secret key, not an AES key", keys.secret),
        "give the key that the file was encrypted with; keygen aes makes such keys",
    );
    assert_eq!(names(dir.path()), ["my.key", "other.key", "plain", "x.he"]);
}

#[test]
fn keys_of_the_other_scheme_are_named() {
    let (keys, dir) = (Keys::shallow(), files(10));
    const KINDS: &str = "keygen writes secret.key for decrypt, public.key for encrypt, eval.key for eval";
    fs::write(dir.path().join("t.csv"), "1\n2\n").unwrap();
    run(&dir, &format!("encrypt t.csv -k {} -o t.he", keys.public)).ok();
    run(&dir, "decrypt t.he -k my.key -o out").fails(1, "my.key is an AES key, not a secret key", KINDS);
    run(&dir, "eval sum t.he -k my.key -o out").fails(
        1,
        "my.key is an AES key, not an evaluation key",
        KINDS,
    );
    run(&dir, "decrypt t.he --passphrase -o out").env("HE_CLI_PASSPHRASE", "p").fails(
        1,
        "t.he was not encrypted by a passphrase",
        "give the key that decrypts it with -k",
    );
    run(&dir, &format!("decrypt t.he -k {} --range 0..1 -o out", keys.secret)).fails(
        2,
        "--range is for files under AES",
        "leave it out",
    );
    sealed(&dir);
    run(&dir, &format!("eval sum x.he -k {} -o out", keys.eval)).fails(
        1,
        "x.he is a file encrypted by AES, not an encrypted file",
        "encrypt first, then give what encrypt or eval wrote",
    );
    run(&dir, "encrypt plain -k x.he -o out").fails(
        1,
        "x.he is a file encrypted by AES, not a public or secret key",
        KINDS,
    );
    run(&dir, "encrypt plain -k my.key --halo 1 -o out").fails(
        2,
        "--halo is for images and tables under keys to compute with",
        "leave it out: AES encrypts any file as it is",
    );
    assert_eq!(names(dir.path()), ["my.key", "plain", "t.csv", "t.he", "x.he"]);
}

#[test]
fn damaged_files_give_one_error_and_no_file() {
    let dir = files(2 * MIB + 100);
    let good = sealed(&dir);
    let before = names(dir.path());
    let (start, chunk) = (120, MIB + 16);
    let cut = |i: usize| good[start + i * chunk..good.len().min(start + (i + 1) * chunk)].to_vec();
    let made = |chunks: &[usize]| {
        let chunks: Vec<_> = chunks.iter().map(|&i| cut(i)).collect();
        [&good[..start], &chunks.concat()].concat()
    };
    let flipped = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        bytes
    };
    let wrong = |chunk: u64| format!("broken: chunk {chunk} {CHANGED}");
    let length =
        |len: usize| format!("broken: a file of {len} bytes cannot be whole: it was truncated or extended");
    for (broken, error) in [
        (flipped(start), wrong(0)),
        (flipped(start + MIB), wrong(0)),
        (flipped(start + chunk + 5), wrong(1)),
        (flipped(good.len() - 1), wrong(2)),
        (made(&[1, 0, 2]), wrong(0)),
        (made(&[0, 0, 1, 2]), wrong(1)),
        (made(&[0, 2]), wrong(1)),
        (made(&[0, 1]), wrong(1)),
        (made(&[0]), wrong(0)),
        (good[..good.len() - 1].to_vec(), wrong(2)),
        ([&good[..], b"x"].concat(), wrong(2)),
        (good[..start].to_vec(), length(start)),
        (good[..start + 15].to_vec(), length(start + 15)),
        (good[..start + 2 * chunk + 16].to_vec(), length(start + 2 * chunk + 16)),
        (good[..100].to_vec(), "broken is truncated".to_owned()),
        (flipped(30), "broken: the header is damaged".to_owned()),
        (flipped(10), "broken: chunks of 2^4 bytes, and the format has 2^12 to 2^24".to_owned()),
    ] {
        fs::write(dir.path().join("broken"), &broken).unwrap();
        run(&dir, "decrypt broken -k my.key -o out").fails(1, &error, DAMAGED);
        // From a pipe no length is known; what comes before the damage is verified.
        let outcome = run(&dir, "decrypt - -k my.key -o -").stdin(&broken).run();
        let lines: Vec<&str> = outcome.stderr.lines().collect();
        assert_eq!((outcome.code, lines.len()), (Some(1), 2), "{error}: {}", outcome.stderr);
        assert_eq!(lines[1], format!("he-cli: hint: {DAMAGED}"));
        assert!(bytes(2 * MIB + 100).starts_with(&outcome.stdout), "{error}: unverified bytes");
        fs::remove_file(dir.path().join("broken")).unwrap();
        assert_eq!(names(dir.path()), before, "{error}");
    }
}

#[test]
fn only_verified_pieces_reach_a_pipe() {
    let dir = files(9 * MIB);
    let mut broken = sealed(&dir);
    let last = broken.len() - 100;
    broken[last] ^= 1;
    let outcome = run(&dir, "decrypt - -k my.key -o -").stdin(&broken).run();
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stdout.len() >= 4 * MIB && bytes(9 * MIB).starts_with(&outcome.stdout));
}

#[test]
fn ranges_are_cut_out() {
    let len = 3 * MIB + 500;
    let dir = files(len);
    let (good, plain) = (sealed(&dir), bytes(len));
    for (start, end) in [
        (0, len),
        (0, 0),
        (0, 1),
        (len, len),
        (len - 1, len),
        (MIB - 1, MIB + 1),
        (MIB, 2 * MIB),
        (MIB + 5, 3 * MIB + 5),
        (3 * MIB, len),
    ] {
        let cut = run(&dir, &format!("decrypt x.he -k my.key --range {start}..{end} -o -")).ok();
        assert!(cut == plain[start..end], "{start}..{end}");
    }
    assert!(run(&dir, "decrypt x.he -k my.key --range 1000.. -o -").ok() == plain[1000..]);
    for range in ["0..3146229", "3146229..", "3146229..3146229", "99999999999999..99999999999999"] {
        run(&dir, &format!("decrypt x.he -k my.key --range {range} -o out")).fails(
            1,
            "x.he holds 3146228 bytes, and the range goes further",
            "give a --range within 0..3146228",
        );
    }
    for range in ["5", "..5", "5..4", "-1..4", "+1..4", "a..b", "1..2..3", "", "99999999999999999999.."] {
        let call = he(["decrypt", "x.he", "-k", "my.key", "-o", "out", &format!("--range={range}")]);
        assert_eq!(call.at(dir.path()).run().code, Some(2), "{range}");
    }
    run(&dir, "decrypt - -k my.key --range 0..5 -o out").stdin(&good).fails(
        1,
        "standard input is not a regular file, and a range needs one",
        "decrypt all of it, or save it as a file first",
    );
    // A file that was cut at a boundary gives nothing, even of what is there.
    fs::write(dir.path().join("x.he"), &good[..120 + 2 * (MIB + 16)]).unwrap();
    run(&dir, "decrypt x.he -k my.key --range 0..5 -o out").fails(
        1,
        &format!("x.he: chunk 1 {CHANGED}"),
        DAMAGED,
    );
    // Damage counts where it is read.
    let mut broken = good.clone();
    broken[120 + MIB + 16 + 7] ^= 1;
    fs::write(dir.path().join("x.he"), broken).unwrap();
    assert!(run(&dir, "decrypt x.he -k my.key --range 0..5 -o -").ok() == plain[..5]);
    let error = format!("x.he: chunk 1 {CHANGED}");
    run(&dir, "decrypt x.he -k my.key --range 0..2000000 -o out").fails(1, &error, DAMAGED);
    assert_eq!(names(dir.path()), ["my.key", "plain", "x.he"]);
}

/// Paths, contents and links under a folder.
pub fn tree(root: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let (mut found, mut waiting) = (Vec::new(), vec![root.to_owned()]);
    while let Some(path) = waiting.pop() {
        let inside = path.strip_prefix(root).unwrap().to_owned();
        if path.is_symlink() {
            found.push((inside, Some(fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes())));
        } else if path.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            found.push((inside, None));
        } else {
            found.push((inside, Some(fs::read(&path).unwrap())));
        }
    }
    found.sort();
    found
}

#[cfg(unix)]
#[test]
fn folders_come_back() {
    use std::os::unix::fs::PermissionsExt;
    let dir = files(0);
    let path = |name: &str| dir.path().join(name);
    fs::create_dir_all(path("in/a/b")).unwrap();
    fs::create_dir(path("in/empty")).unwrap();
    fs::write(path("in/a/b/large"), bytes(5 * MIB + 3)).unwrap();
    fs::write(path(&format!("in/a/{}", "long name ".repeat(20))), b"x").unwrap();
    fs::write(path("in/tool"), b"#!/bin/sh\n").unwrap();
    fs::set_permissions(path("in/tool"), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("../tool", path("in/a/link")).unwrap();
    run(&dir, "encrypt in/ -k my.key -o in.he").ok();
    run(&dir, "decrypt in.he -k my.key -o out/").ok();
    assert_eq!(tree(&path("out")), tree(&path("in")));
    assert_eq!(fs::metadata(path("out/tool")).unwrap().permissions().mode() & 0o777, 0o755);
    let mode = |name: &str| fs::metadata(path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("out"), 0o700, "what was decrypted is the owner's alone");
    // As an archive, to a file and to a pipe.
    run(&dir, "decrypt in.he -k my.key -o out.tar").ok();
    let archive = fs::read(path("out.tar")).unwrap();
    assert_eq!(run(&dir, "decrypt in.he -k my.key -o -").ok(), archive);
    tar::Archive::new(&archive[..]).unpack(path("again")).unwrap();
    assert_eq!(tree(&path("again")), tree(&path("in")));
    run(&dir, "decrypt in.he -k my.key -o out").fails(
        1,
        "out exists already",
        "choose another name; a folder is never replaced",
    );
    run(&dir, "decrypt in.he -k my.key --range 0..5 -o part").fails(
        2,
        "in.he holds a folder, and --range is for files",
        "leave it out, or decrypt to a .tar file and cut that",
    );
    run(&dir, "encrypt in -k my.key -o in/a/x.he").fails(
        1,
        "in/a/x.he lies inside in, which is to be encrypted",
        "write to another folder",
    );
    // Half of an archive is nothing.
    let whole = fs::read(path("in.he")).unwrap();
    let before = names(dir.path());
    for len in [120 + 2 * (MIB + 16), whole.len() - 10] {
        fs::write(path("in.he"), &whole[..len]).unwrap();
        let message = run(&dir, "decrypt in.he -k my.key -o half").refuses();
        assert!(message.ends_with(CHANGED), "{message}");
        assert_eq!(names(dir.path()), before);
    }
    let listener = std::os::unix::net::UnixListener::bind(path("in/socket")).unwrap();
    run(&dir, "encrypt in -k my.key -o y.he").fails(
        1,
        "in/socket is neither file, folder nor link",
        "move it out of the folder, or pipe an archive of your own into he-cli encrypt -",
    );
    drop(listener);
    assert_eq!(names(dir.path()), before);
}

/// A container of any archive under the key in `my.key`.
pub fn with_archive(dir: &TempDir, archive: Vec<u8>) {
    let user = user_key(&dir.path().join("my.key"));
    let (header, key) =
        Header::with_key(&user, Layout::new(20).unwrap(), Content::Tar, &mut he_core::rand::rng());
    let mut data = archive;
    let mut tags = vec![[0; 16]; data.len().div_ceil(MIB).max(1)];
    key.seal(&Cpu::new(), 0, true, Bulk::in_place(&mut data), &mut tags).unwrap();
    let mut file = header.to_bytes().to_vec();
    for (at, tag) in tags.iter().enumerate() {
        file.extend(&data[at * MIB..data.len().min((at + 1) * MIB)]);
        file.extend(tag);
    }
    fs::write(dir.path().join("x.he"), file).unwrap();
}

#[cfg(unix)]
#[test]
fn archives_that_leave_their_folder_are_refused() {
    let dir = files(0);
    let elsewhere = folder();
    let entry = |kind, name: &[u8], link: &str, data: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(data.len() as u64);
        if !link.is_empty() {
            header.set_link_name(link).unwrap();
        }
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    };
    use tar::EntryType::{Fifo, Link, Regular, Symlink};
    let through = [
        entry(Symlink, b"way", elsewhere.path().to_str().unwrap(), b""),
        entry(Regular, b"way/file", "", b"data"),
    ];
    let absolute = elsewhere.path().join("file");
    for (entries, error) in [
        (vec![entry(Regular, b"../file", "", b"data")], "the entry ../file would lie outside of out"),
        (
            vec![entry(Regular, b"a/../../file", "", b"data")],
            "the entry a/../../file would lie outside of out",
        ),
        (
            vec![entry(Regular, absolute.as_os_str().as_encoded_bytes(), "", b"data")],
            "would lie outside of out",
        ),
        (through.to_vec(), "cannot unpack into out: "),
        (vec![entry(Link, b"hard", "/etc/passwd", b"")], "the entry hard is neither file, folder nor link"),
        (vec![entry(Fifo, b"pipe", "", b"")], "the entry pipe is neither file, folder nor link"),
        (vec![b"no archive at all, ".repeat(100)], "cannot unpack into out: "),
    ] {
        with_archive(&dir, [entries.concat(), vec![0; 1024]].concat());
        let message = run(&dir, "decrypt x.he -k my.key -o out").refuses();
        assert!(message.contains(error), "{message}");
        assert_eq!(names(dir.path()), ["my.key", "plain", "x.he"], "{error}");
        assert!(names(elsewhere.path()).is_empty(), "{error}");
    }
}

#[test]
fn outputs_and_inputs_that_cannot_be_are_refused() {
    let dir = files(3 * MIB);
    sealed(&dir);
    let before = names(dir.path());
    for (arguments, error, hint) in [
        (
            "encrypt plain -k my.key -o x.he",
            "x.he exists already",
            "choose another name, or replace it with --force",
        ),
        (
            "encrypt plain -k my.key -o ./plain --force",
            "plain is both input and output",
            "write to another file",
        ),
        (
            "decrypt x.he -k my.key -o my.key --force",
            "my.key is both input and output",
            "write to another file",
        ),
        (
            "encrypt none -k my.key -o y",
            "cannot read none: no such file or directory",
            "check the spelling of the path",
        ),
        (
            "decrypt plain -k my.key -o y",
            "plain is not a file encrypted by AES",
            "encrypt first, then give what encrypt wrote",
        ),
        ("encrypt - -k - -o y", "standard input is named for two files", "give - for one file only"),
    ] {
        let code = if arguments.contains("- -k -") { 2 } else { 1 };
        run(&dir, arguments).fails(code, error, hint);
    }
    #[cfg(target_os = "linux")]
    for arguments in ["encrypt plain -k my.key -o /dev/full", "decrypt x.he -k my.key -o /dev/full"] {
        assert!(run(&dir, arguments).refuses().ends_with("no space left on device"), "{arguments}");
    }
    assert_eq!(names(dir.path()), before);
}

#[test]
fn readers_may_leave_early() {
    let dir = files(40 * MIB);
    sealed(&dir);
    for arguments in ["encrypt plain -k my.key -o -", "decrypt x.he -k my.key -o -"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_he-cli"))
            .args(arguments.split(' '))
            .current_dir(dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let outcome = child.wait_with_output().unwrap();
        assert_eq!((outcome.status.code(), &outcome.stderr[..]), (Some(0), &b""[..]), "{arguments}");
    }
}

#[test]
fn files_are_described() {
    let dir = files(MIB + 7);
    let path = |name: &str| dir.path().join(name);
    let len = sealed(&dir).len();
    let id = user_key(&path("my.key")).id().to_string();
    let json = |name: &str| -> serde_json::Value {
        serde_json::from_slice(&run(&dir, &format!("info --json {name}")).ok()).unwrap()
    };
    let expected = serde_json::json!({
        "file": "encrypted file", "cipher": "AES-256-GCM", "key": id, "chunk": MIB, "content": MIB + 7, "bytes": len,
    });
    assert_eq!(json("x.he"), expected);
    let expected = serde_json::json!({ "file": "AES key", "key": id, "bytes": 232, "sealed": false });
    assert_eq!(json("my.key"), expected);
    fs::create_dir(path("in")).unwrap();
    run(&dir, "encrypt in --passphrase -o in.he").env("HE_CLI_PASSPHRASE", "p").ok();
    let text = run(&dir, "info in.he").text();
    assert!(text.starts_with("file         encrypted folder\n"), "{text}");
    assert!(text.contains("passphrase   Argon2id, 64.0 MiB, passes: 3, lanes: 1\n"), "{text}");
    fs::write(path("short"), &fs::read(path("x.he")).unwrap()[..50]).unwrap();
    run(&dir, "info short").fails(1, "short is truncated", DAMAGED);
}

#[test]
fn golden_files_open() {
    let dir = folder();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/golden");
    for name in ["aes_key.he", "aes_file.he", "aes_passphrase.he"] {
        fs::copy(golden.join(name), dir.path().join(name)).unwrap();
    }
    let content: Vec<u8> = (0..9000u32).map(|i| (i * i) as u8).collect();
    assert_eq!(run(&dir, "decrypt aes_file.he -k aes_key.he -o -").ok(), content);
    let open =
        |phrase| run(&dir, "decrypt aes_passphrase.he --passphrase -o -").env("HE_CLI_PASSPHRASE", phrase);
    assert_eq!(open("correct horse").ok(), b"");
    assert!(open("correct hors").refuses().contains("wrong passphrase"));
}

/// 5 GiB of a sparse stream, through both ways, in bounded memory.
#[test]
#[ignore = "takes a minute"]
fn five_gibibytes_pass() {
    let dir = files(0);
    let start = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_he-cli"));
        command.args(arguments).current_dir(dir.path()).env("HE_DEVICE", "cpu");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut encrypt = start(&["encrypt", "-", "-k", "my.key", "-o", "-"]);
    let mut decrypt = start(&["decrypt", "-", "-k", "my.key", "-o", "-"]);
    let (mut source, mut sink) = (encrypt.stdin.take().unwrap(), decrypt.stdout.take().unwrap());
    let (mut from, mut to) = (encrypt.stdout.take().unwrap(), decrypt.stdin.take().unwrap());
    // One byte that is not zero in each MiB, at another place each time.
    let piece = |number: usize| {
        let mut piece = vec![0u8; MIB];
        piece[number * 4099 % MIB] = (number % 255) as u8 + 1;
        piece
    };
    const PIECES: usize = 5 << 10;
    let writer = std::thread::spawn(move || (0..PIECES).for_each(|i| source.write_all(&piece(i)).unwrap()));
    let middle = std::thread::spawn(move || std::io::copy(&mut from, &mut to).unwrap());
    let mut found = vec![0; MIB];
    for i in 0..PIECES {
        // Before the end, while it still runs.
        #[cfg(target_os = "linux")]
        if i == PIECES - 1 {
            let status = fs::read_to_string(format!("/proc/{}/status", decrypt.id())).unwrap();
            let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
            let kib: usize = peak.trim().trim_end_matches(" kB").parse().unwrap();
            assert!(kib < 64 << 10, "{kib} KiB");
        }
        sink.read_exact(&mut found).unwrap();
        assert!(found == piece(i), "MiB {i}");
    }
    assert_eq!(sink.read(&mut found).unwrap(), 0);
    writer.join().unwrap();
    assert_eq!(middle.join().unwrap(), (120 + PIECES * (MIB + 16)) as u64);
    assert!(encrypt.wait().unwrap().success() && decrypt.wait().unwrap().success());
}

#[test]
fn sealed_keys_of_earlier_versions_open() {
    let dir = files(0);
    let key = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sealed_key_version_1.key");
    fs::copy(key, dir.path().join("old.key")).unwrap();
    let open =
        |phrase| run(&dir, "encrypt plain -k old.key -o x.he --force").env("HE_CLI_PASSPHRASE", phrase);
    open("correct horse").ok();
    assert!(open("correct hors").refuses().starts_with("old.key: wrong passphrase"));
    assert!(run(&dir, "info x.he").text().contains("112c92f0"));
    // New ones are of the version after that.
    run(&dir, "keygen aes -o new.key --passphrase").env("HE_CLI_PASSPHRASE", "p").ok();
    let [old, new] = ["old.key", "new.key"].map(|name| fs::read(dir.path().join(name)).unwrap());
    assert_eq!((old[8], new[8], new.len()), (1, 2, old.len() + 32));
}

/// Decrypted files are for nobody else, whatever the umask.
#[cfg(unix)]
#[test]
fn decrypted_files_are_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let dir = files(10);
    let mode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o777;
    sealed(&dir);
    fs::write(dir.path().join("open"), b"").unwrap();
    fs::set_permissions(dir.path().join("open"), fs::Permissions::from_mode(0o666)).unwrap();
    for arguments in ["-o out", "-o part --range 0..5", "-o open --force"] {
        run(&dir, &format!("decrypt x.he -k my.key {arguments}")).ok();
    }
    assert_eq!(["out", "part", "open"].map(mode), [0o600; 3]);
    assert_eq!(mode("x.he"), mode("plain"), "encrypted files are as any others");
    let keys = Keys::shallow();
    fs::write(dir.path().join("t.csv"), "1\n2\n").unwrap();
    crate::pictures::eight(3, 3, 1, 1).save(dir.path().join("p.png")).unwrap();
    for (input, output) in [("t.csv", "back.csv"), ("p.png", "back.png")] {
        run(&dir, &format!("encrypt {input} -k {} -o y.he --force", keys.public)).ok();
        run(&dir, &format!("decrypt y.he -k {} -o {output}", keys.secret)).ok();
        assert_eq!(mode(output), 0o600, "{output}");
    }
}

/// The environment of a process is there to be read as long as it runs.
#[cfg(target_os = "linux")]
#[test]
fn the_passphrase_leaves_the_environment() {
    let dir = files(0);
    let mut child =
        run(&dir, "encrypt - --passphrase -o out").env("HE_CLI_PASSPHRASE", "a very secret phrase").start();
    let mut stdin = child.stdin.take().unwrap();
    let environment = || fs::read(format!("/proc/{}/environ", child.id())).unwrap();
    let begin = std::time::Instant::now();
    while environment().windows(11).any(|part| part == b"very secret") || !environment().contains(&b'=') {
        assert!(begin.elapsed().as_secs() < 60, "it is still there");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    stdin.write_all(b"content").unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
    let open = run(&dir, "decrypt out --passphrase -o -").env("HE_CLI_PASSPHRASE", "a very secret phrase");
    assert_eq!(open.ok(), b"content");
}

/// Waits until a process has begun an output: under a temporary name in the folder, or without any
/// name.
#[cfg(unix)]
fn await_output(dir: &TempDir, before: &[String], child: &Child) {
    let begin = std::time::Instant::now();
    let unnamed = || {
        let open = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten().flatten();
        open.filter_map(|entry| fs::read_link(entry.path()).ok())
            .any(|path| path.starts_with(dir.path()) && path.to_string_lossy().ends_with(" (deleted)"))
    };
    while names(dir.path()) == before && !unnamed() {
        assert!(begin.elapsed().as_secs() < 60, "no temporary file");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[cfg(unix)]
fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

/// Files, and folders under their temporary names, go with the signal; and the process dies of it.
#[cfg(unix)]
#[test]
fn nothing_is_left_by_a_signal() {
    use std::os::unix::process::ExitStatusExt;

    let dir = files(100);
    let sealed = sealed(&dir);
    fs::create_dir(dir.path().join("in")).unwrap();
    run(&dir, "encrypt in -k my.key -o in.he").ok();
    let folder = fs::read(dir.path().join("in.he")).unwrap();
    let before = names(dir.path());
    for (signal, number, line, input) in [
        ("INT", 2, "encrypt - -k my.key -o out", &b"some"[..]),
        ("TERM", 15, "encrypt - -k my.key -o out", b"some"),
        ("HUP", 1, "encrypt - -k my.key -o out", b"some"),
        ("INT", 2, "decrypt - -k my.key -o out", &sealed[..sealed.len() - 1]),
        ("INT", 2, "decrypt - -k my.key -o folder", &folder[..folder.len() - 1]),
        ("HUP", 1, "decrypt - -k my.key -o folder", &folder[..folder.len() - 1]),
    ] {
        let mut child = run(&dir, line).start();
        // Its input does not end.
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input).unwrap();
        await_output(&dir, &before, &child);
        send(signal, &child);
        assert_eq!(child.wait().unwrap().signal(), Some(number), "{line}");
        assert_eq!(names(dir.path()), before, "{line}, SIG{signal}");
    }
}

/// Not even by what no program can do anything about, where files need no name (nearly all file
/// systems of Linux).
#[cfg(target_os = "linux")]
#[test]
fn nothing_is_left_by_a_kill() {
    let dir = files(100);
    if rustix::fs::open(dir.path(), rustix::fs::OFlags::TMPFILE | rustix::fs::OFlags::RDWR, 0o600.into())
        .is_err()
    {
        return;
    }
    let before = names(dir.path());
    for force in ["", " --force"] {
        let mut child = run(&dir, &format!("encrypt - -k my.key -o out{force}")).start();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"some").unwrap();
        await_output(&dir, &before, &child);
        send("KILL", &child);
        child.wait().unwrap();
        assert_eq!(names(dir.path()), before);
    }
    // The file that is there is replaced when all is done, and not before.
    fs::write(dir.path().join("out"), b"old").unwrap();
    let mut child = run(&dir, "encrypt - -k my.key -o out --force").start();
    await_output(&dir, &names(dir.path()), &child);
    assert_eq!(fs::read(dir.path().join("out")).unwrap(), b"old");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(run(&dir, "decrypt out -k my.key -o -").ok(), b"");
    assert_eq!(names(dir.path()), ["my.key", "out", "plain"]);
}

/// As `nohup` and shells in the background ask for.
#[cfg(unix)]
#[test]
fn ignored_signals_stay_ignored() {
    let dir = files(0);
    let before = names(dir.path());
    let call = crate::process::after("trap '' HUP INT", ["encrypt", "-", "-k", "my.key", "-o", "out"]);
    let mut child = call.at(dir.path()).start();
    await_output(&dir, &before, &child);
    send("HUP", &child);
    send("INT", &child);
    std::thread::sleep(std::time::Duration::from_millis(100));
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(names(dir.path()), ["my.key", "out", "plain"]);
}
