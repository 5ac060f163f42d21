//! The corpus of the fuzz targets of files and of the command line (`fuzz/`), which every build
//! replays.

#[path = "../../../../fuzz/src/files/mod.rs"]
mod files;

use std::process::{Command, Stdio};

/// Says to the program of the tests that it was started for one target.
const REPLAY: &str = "HE_REPLAY_TARGET";

/// Replays a target in a process of its own, since targets print what he-cli prints: a test that
/// fails shows it, and the last input.
fn replay(name: &str) {
    if std::env::var(REPLAY).is_ok_and(|target| target == name) {
        let target = files::TARGETS.iter().find(|target| target.name == name).unwrap();
        return assert!(target.replay() > 0);
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("corpus::{name}"), "--exact", "--nocapture"]).env(REPLAY, name);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let [printed, told] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}\n{told}");
}

/// Each target in a test of its own, so that they run side by side.
macro_rules! replay {
    ($($name:ident),*) => {$(
        #[test]
        fn $name() {
            replay(stringify!($name));
        }
    )*

        #[test]
        fn every_target_is_replayed() {
            let names: Vec<&str> = files::TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

replay!(
    archive,
    arguments,
    command,
    description,
    index,
    intersection,
    lookup,
    model,
    onnx,
    picture,
    scan,
    seal,
    sealed,
    sensor,
    table,
    trace,
    transcript
);
