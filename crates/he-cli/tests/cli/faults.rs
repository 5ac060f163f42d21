//! Faults from outside: ends by SIGKILL at any moment, limits on the size of files, and full disks.
//! docs/reliability.md, "Files", says what must hold, and this is tested here to the letter.

use crate::aes::{bytes, files, tree};
use crate::process::{Call, Keys, after, folder, he, names};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const TABLE: &str = "a,b\n1,-5\n2,6\n";
const DOUBLED: &str = "a,b\n2,-10\n4,12\n";
const QUICK: [&str; 6] = ["--depth", "1", "--precision", "10", "--radius", "0"];

/// A file system without files that have no name keeps hidden ones after a kill, and says so.
fn has_unnamed_files(dir: &Path) -> bool {
    let flags = rustix::fs::OFlags::TMPFILE | rustix::fs::OFlags::RDWR;
    let has = rustix::fs::open(dir, flags, 0o600.into()).is_ok();
    if !has {
        println!("SKIPPED: the file system of {} has no O_TMPFILE", dir.display());
    }
    has
}

/// A folder with what the commands below read: under AES a file and a folder, under BFV and as a
/// sensor file a table.
fn inputs() -> TempDir {
    let (keys, dir) = (Keys::narrow(), files(3 << 20));
    let at = |arguments: &[&str]| he(arguments).at(dir.path()).ok();
    fs::create_dir_all(dir.path().join("in/a/b")).unwrap();
    for (name, len) in [("one", 1 << 20), ("a/two", 70_000), ("a/b/three", 5)] {
        fs::write(dir.path().join("in").join(name), bytes(len)).unwrap();
    }
    fs::write(dir.path().join("t.csv"), TABLE).unwrap();
    at(&["encrypt", "plain", "-k", "my.key", "-o", "x.he"]);
    at(&["encrypt", "in", "-k", "my.key", "-o", "in.he"]);
    at(&["encrypt", "t.csv", "-k", &keys.public, "-o", "t.he"]);
    at(&["keygen", "aes", "--transcipher", "-o", "sensor.key"]);
    at(&["encrypt", "sensor.key", "--transcipher", "-k", &Keys::toy_tfhe().secret, "-o", "sensor.he"]);
    at(&["encrypt", "t.csv", "--signed", "-k", "sensor.key", "-o", "t.aes"]);
    dir
}

/// The bytes that a command decrypts to.
fn decrypted(dir: &Path, input: &str, key: &str) -> Option<Vec<u8>> {
    let outcome = he(["decrypt", input, "-k", key, "-o", "-"]).at(dir).run();
    (outcome.code == Some(0)).then_some(outcome.stdout)
}

/// A command that writes one file or folder, and whether a result of it is whole.
struct Work {
    line: Vec<String>,
    is_whole: fn(&Path, &str) -> bool,
}

impl Work {
    fn new(line: &[&str], is_whole: fn(&Path, &str) -> bool) -> Self {
        Self { line: line.iter().map(|&word| word.to_owned()).collect(), is_whole }
    }

    fn unpacks(&self) -> bool {
        self.line[1] == "in.he"
    }

    fn call(&self, dir: &Path, output: &[&str]) -> Call {
        he(self.line.iter().map(String::as_str).chain(["-o"]).chain(output.iter().copied())).at(dir)
    }
}

/// Commands of every kind that write one thing. They run in the folder of [`inputs`].
fn works() -> Vec<Work> {
    let (keys, toy) = (Keys::narrow(), Keys::toy_tfhe());
    vec![
        Work::new(&["keygen", "aes"], |dir, name| {
            he(["encrypt", "t.csv", "-k", name, "-o", "-"]).at(dir).run().code == Some(0)
        }),
        Work::new(&["encrypt", "plain", "-k", "my.key"], |dir, name| {
            decrypted(dir, name, "my.key") == Some(bytes(3 << 20))
        }),
        Work::new(&["decrypt", "x.he", "-k", "my.key"], |dir, name| {
            fs::read(dir.join(name)).unwrap() == bytes(3 << 20)
        }),
        Work::new(&["encrypt", "t.csv", "-k", &keys.public], |dir, name| {
            decrypted(dir, name, &Keys::narrow().secret) == Some(TABLE.into())
        }),
        Work::new(&["eval", "add", "t.he", "--with", "t.he", "-k", &keys.eval], |dir, name| {
            decrypted(dir, name, &Keys::narrow().secret) == Some(DOUBLED.into())
        }),
        Work::new(&["decrypt", "t.he", "-k", &keys.secret], |dir, name| {
            fs::read_to_string(dir.join(name)).unwrap() == TABLE
        }),
        Work::new(&["encrypt", "t.csv", "--signed", "-k", "sensor.key"], |dir, name| {
            decrypted(dir, name, "sensor.key") == Some(TABLE.into())
        }),
        Work::new(&["transcipher", "t.aes", "--sensor-key", "sensor.he", "-k", &toy.eval], |dir, name| {
            decrypted(dir, name, &Keys::toy_tfhe().secret) == Some(TABLE.into())
        }),
        Work::new(&["decrypt", "in.he", "-k", "my.key"], |dir, name| {
            tree(&dir.join(name)) == tree(&dir.join("in"))
        }),
    ]
}

/// Random moments, from a seed that can be given again.
fn moments() -> (ChaCha20Rng, String) {
    const SEED: &str = "HE_FAULTS_SEED";
    let given = std::env::var(SEED).ok().map(|seed| seed.parse().unwrap());
    let seed: u64 = given.unwrap_or_else(he_core::rand::random);
    (ChaCha20Rng::seed_from_u64(seed), format!("{SEED}={seed}"))
}

/// Runs to the end; how long that took.
fn timed(call: Call) -> Duration {
    let begin = Instant::now();
    call.ok();
    begin.elapsed()
}

/// Runs and kills it at a moment up to the given one; whether it had not ended by then.
fn killed(call: Call, rng: &mut ChaCha20Rng, latest: Duration) -> bool {
    let mut child = call.start();
    std::thread::sleep(latest.mul_f64(rng.random()));
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(status.success() || status.signal() == Some(libc::SIGKILL), "{status}");
    !status.success()
}

/// Removes a file or folder that may be there.
fn remove(path: &Path) {
    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// After a kill there is the old file whole or the new one whole, and nothing else. The exceptions
/// are a whole new file under a hidden name, on its way to the place of an old one, and the hidden
/// folder of an archive.
#[test]
fn a_kill_leaves_the_old_file_or_the_new_one() {
    let dir = inputs();
    let (dir, (mut rng, seed)) = (dir.path(), moments());
    if !has_unnamed_files(dir) {
        return;
    }
    let before = names(dir);
    let (works, old) = (works(), b"what was there before");
    let mut took: Vec<Duration> = Vec::new();
    for work in &works {
        took.push(timed(work.call(dir, &["out"])));
        assert!((work.is_whole)(dir, "out"), "{:?}", work.line);
        remove(&dir.join("out"));
    }
    let mut kills = 0;
    for run in 0..84 {
        let (work, forced) = (&works[run % works.len()], run / works.len() % 2 == 1);
        let what = format!("run {run} of {seed}, {:?}, forced: {forced}", work.line);
        let output = match forced && !work.unpacks() {
            true => {
                fs::write(dir.join("out"), old).unwrap();
                &["out", "--force"][..]
            }
            false => &["out"],
        };
        kills += u32::from(killed(work.call(dir, output), &mut rng, took[run % works.len()]));

        let is_old = fs::read(dir.join("out")).is_ok_and(|found| found == old);
        let hidden: Vec<String> = names(dir).into_iter().filter(|name| name.starts_with('.')).collect();
        assert!(hidden.len() <= 1, "{what}: {hidden:?}");
        for name in &hidden {
            assert!(name.starts_with(".he-cli-") && name.ends_with(".part"), "{what}: {name}");
            match work.unpacks() {
                true => assert!(dir.join(name).is_dir(), "{what}: {name}"),
                false => assert!(is_old && (work.is_whole)(dir, name), "{what}: {name}"),
            }
            remove(&dir.join(name));
        }
        let there = names(dir).into_iter().any(|name| name == "out");
        match (there, output.len() > 1) {
            (true, true) => assert!(is_old || (work.is_whole)(dir, "out"), "{what}: part of a file"),
            (true, false) => assert!((work.is_whole)(dir, "out"), "{what}: part of a file"),
            (false, was_there) => assert!(!was_there, "{what}: the old file is gone"),
        }
        remove(&dir.join("out"));
        assert_eq!(names(dir), before, "{what}");
    }
    println!("{kills} of 84 commands were killed before their end, {seed}");
    assert!(kills > 0);
}

/// The identity of the key set of a whole key file.
fn key_set(path: &Path) -> Option<String> {
    let outcome = he(["info", "--json", path.to_str().unwrap()]).run();
    let told: serde_json::Value = serde_json::from_slice(&outcome.stdout).ok()?;
    told["key_set"].as_str().filter(|_| outcome.code == Some(0)).map(str::to_owned)
}

/// Every file of a key set is old or new. A folder that was made for them may be left, empty or
/// with the first of them.
#[test]
fn a_kill_leaves_whole_keys() {
    const NAMES: [&str; 3] = ["secret.key", "public.key", "eval.key"];
    let dir = folder();
    let (dir, (mut rng, seed)) = (dir.path(), moments());
    if !has_unnamed_files(dir) {
        return;
    }
    let call = |more: &[&str]| he(["keygen", "ckks", "-o", "keys"].iter().chain(&QUICK).chain(more)).at(dir);
    let keys = dir.join("keys");
    let sets = || NAMES.map(|name| keys.join(name).exists().then(|| key_set(&keys.join(name))));
    let took = timed(call(&[]));
    let mut kills = 0;
    for run in 0..16 {
        let (what, forced) = (format!("run {run} of {seed}"), run % 2 == 1);
        let old = forced.then(|| {
            if sets().iter().any(|set| set.is_none()) {
                remove(&keys);
                call(&[]).ok();
            }
            key_set(&keys.join(NAMES[0])).unwrap()
        });
        match forced {
            true => kills += u32::from(killed(call(&["--force"]), &mut rng, took)),
            false => {
                remove(&keys);
                kills += u32::from(killed(call(&[]), &mut rng, took));
            }
        }
        // Whole files: each names its key set, after its checksums were verified.
        let found = sets();
        assert!(!found.contains(&Some(None)), "{what}: part of a key");
        assert!(!forced || !found.contains(&None), "{what}: an old key is gone");
        let new: Vec<&String> =
            found.iter().flatten().flatten().filter(|&set| Some(set) != old.as_ref()).collect();
        assert!(new.iter().all(|set| *set == new[0]), "{what}: {found:?}");
        // They get their names in this order.
        let in_order = match &old {
            Some(old) => found.is_sorted_by_key(|set| set.as_ref().map(|set| set.as_ref() == Some(old))),
            None => found.is_sorted_by_key(Option::is_none),
        };
        assert!(in_order, "{what}: {found:?}");
        let hidden = |name: &String| name.starts_with('.');
        let left: Vec<String> =
            names(dir).into_iter().chain(keys.is_dir().then(|| names(&keys)).into_iter().flatten()).collect();
        assert!(left.iter().filter(|name| hidden(name)).count() <= usize::from(forced), "{what}: {left:?}");
        for name in left.iter().filter(|name| hidden(name)) {
            remove(&keys.join(name));
        }
    }
    println!("{kills} of 16 commands were killed before their end, {seed}");
    assert!(kills > 0);
}

/// A kill between two files leaves the first keys new and the others old. Nothing is computed or
/// decrypted with keys of two sets.
#[test]
fn keys_of_two_sets_are_refused_together() {
    let dir = folder();
    let at = |arguments: &[&str]| he(arguments).at(dir.path());
    for set in ["old", "new"] {
        at(&[&["keygen", "ckks", "-o", set][..], &QUICK].concat()).ok();
    }
    fs::write(dir.path().join("t.csv"), TABLE).unwrap();
    at(&["encrypt", "t.csv", "-k", "old/public.key", "-o", "t.he"]).ok();
    fs::copy(dir.path().join("new/secret.key"), dir.path().join("old/secret.key")).unwrap();
    let message = at(&["decrypt", "t.he", "-k", "old/secret.key", "-o", "-"]).refuses();
    assert!(message.contains("key set"), "{message}");
    fs::copy(dir.path().join("new/public.key"), dir.path().join("old/public.key")).unwrap();
    at(&["encrypt", "t.csv", "-k", "old/public.key", "-o", "t.he", "--force"]).ok();
    let message = at(&["eval", "sum", "t.he", "-k", "old/eval.key", "-o", "sum.he"]).refuses();
    assert!(message.contains("key set"), "{message}");
    assert_eq!(names(dir.path()), ["new", "old", "t.csv", "t.he"]);
}

/// Whether a result takes less than a page.
fn is_small(line: &[String]) -> bool {
    let line = line.join(" ");
    ["keygen aes", "decrypt t.he", "encrypt t.csv --signed", "compile"]
        .iter()
        .any(|start| line.starts_with(start))
}

/// Whether it replaces one file.
fn replaces(line: &[String]) -> bool {
    !line.iter().any(|word| matches!(word.as_str(), "in.he" | "ckks" | "tfhe" | "man"))
}

/// Commands that write more than one thing, or that are not worth a kill.
fn more_works() -> Vec<Vec<String>> {
    let model = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name);
    let (wine, train) = (model("wine.onnx"), model("wine_train.csv"));
    let lines: [&[&str]; 5] = [
        &["encrypt", "in", "-k", "my.key"],
        &["keygen", "ckks", "--depth", "1", "--precision", "10", "--radius", "0"],
        &["keygen", "tfhe"],
        &["man"],
        &["compile", wine.to_str().unwrap(), "--calibrate", train.to_str().unwrap()],
    ];
    lines.map(|line| line.iter().map(|&word| word.to_owned()).collect()).into()
}

/// A write beyond the limit on the size of files is an error with a hint. It ends no process by a
/// signal, and leaves neither a part nor a temporary file.
#[test]
fn a_limit_on_the_size_of_files_is_an_error() {
    let dir = inputs();
    let dir = dir.path();
    let before = names(dir);
    let lines = works().into_iter().map(|work| work.line).chain(more_works());
    for line in lines {
        // In blocks of 512 bytes: nothing at all, or the start of what is larger.
        for blocks in [0, 8] {
            if is_small(&line) && blocks > 0 {
                continue;
            }
            let words = line.iter().map(String::as_str).chain(["-o", "out"]);
            let outcome = after(&format!("ulimit -f {blocks}"), words).at(dir).run();
            let lines: Vec<&str> = outcome.stderr.lines().collect();
            assert_eq!(outcome.code, Some(1), "{line:?}, {blocks}: {}", outcome.stderr);
            assert_eq!(lines.len(), 2, "{line:?}, {blocks}: {}", outcome.stderr);
            let said = lines[0].starts_with("he-cli: error: ") && lines[0].ends_with(": file too large");
            assert!(said, "{line:?}, {blocks}: {}", outcome.stderr);
            assert_eq!(
                lines[1],
                "he-cli: hint: raise the limit on the size of files (ulimit -f), or write to another file system",
                "{line:?}, {blocks}"
            );
            assert_eq!(names(dir), before, "{line:?}, {blocks}");
            // The old file stays.
            if replaces(&line) {
                fs::write(dir.join("out"), b"").unwrap();
                let words = line.iter().map(String::as_str).chain(["-o", "out", "--force"]);
                let outcome = after(&format!("ulimit -f {blocks}"), words).at(dir).run();
                assert_eq!(outcome.code, Some(1), "{line:?}, {blocks}: {}", outcome.stderr);
                assert_eq!(fs::read(dir.join("out")).unwrap(), b"", "{line:?}, {blocks}");
                remove(&dir.join("out"));
                assert_eq!(names(dir), before, "{line:?}, {blocks}");
            }
        }
    }
}

/// A device without room, as a file and as standard output.
#[test]
fn a_full_device_is_an_error() {
    let dir = inputs();
    let before = names(dir.path());
    for work in works() {
        if work.unpacks() {
            continue;
        }
        let message = work.call(dir.path(), &["/dev/full"]).refuses();
        assert_eq!(message, "cannot write /dev/full: no space left on device", "{:?}", work.line);
        let words = work.line.iter().map(String::as_str).chain(["-o", "-"]);
        let outcome = after("exec > /dev/full", words).at(dir.path()).run();
        assert_eq!(outcome.code, Some(1), "{:?}: {}", work.line, outcome.stderr);
        assert_eq!(
            outcome.stderr,
            "he-cli: error: cannot write standard output: no space left on device\n\
             he-cli: hint: free some space or write to another disk\n",
            "{:?}",
            work.line
        );
    }
    assert_eq!(names(dir.path()), before);
}

/// A small file system of its own, which is full before the result is complete: one error, the old
/// file whole, and nothing besides.
#[test]
fn a_full_file_system_is_an_error() {
    let dir = inputs();
    fs::create_dir(dir.path().join("disk")).unwrap();
    // The mount is the script's alone and goes with it, so the script looks at what is left.
    let script = r#"mount -t tmpfs -o size=8k none disk || exit
        [ "$1" = force ] && { echo old > disk/out; }
        shift
        "$@"
        code=$?
        ls -A disk
        [ -f disk/out ] && cat disk/out
        exit $code"#;
    let alone = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
        command.current_dir(dir.path()).env("HE_DEVICE", "cpu");
        command
    };
    match alone("mount -t tmpfs none disk").output() {
        Ok(output) if output.status.success() => {}
        failed => return println!("SKIPPED: no file system can be mounted here: {failed:?}"),
    }
    let run = |forced: bool, line: &[String]| {
        let mut command = alone(script);
        command.arg(if forced { "force" } else { "fresh" }).arg(env!("CARGO_BIN_EXE_he-cli"));
        command.args(line).args(["-o", "disk/out"]).args(forced.then_some("--force"));
        command.output().unwrap()
    };
    for line in works().into_iter().map(|work| work.line).chain(more_works()) {
        if is_small(&line) {
            continue;
        }
        for forced in [false, true].into_iter().take(1 + usize::from(replaces(&line))) {
            let output = run(forced, &line);
            let stderr = String::from_utf8(output.stderr).unwrap();
            let lines: Vec<&str> = stderr.lines().collect();
            assert_eq!((output.status.code(), lines.len()), (Some(1), 2), "{line:?}: {stderr}");
            assert!(lines[0].starts_with("he-cli: error: "), "{line:?}: {stderr}");
            assert!(lines[0].ends_with(": no space left on device"), "{line:?}: {stderr}");
            assert_eq!(lines[1], "he-cli: hint: free some space or write to another disk", "{line:?}");
            let left = String::from_utf8(output.stdout).unwrap();
            assert_eq!(left, if forced { "out\nold\n" } else { "" }, "{line:?}");
        }
    }
}
