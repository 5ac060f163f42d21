//! The output on a terminal, and the files that are left when somebody there presses Ctrl-C.
#![cfg(unix)]

use crate::process::{Keys, folder, he, names};
use std::os::unix::process::ExitStatusExt;

#[test]
fn nothing_is_left_when_nobody_gives_a_passphrase() {
    let dir = folder();
    let quick = ["keygen", "ckks", "--depth", "1", "--precision", "10", "--radius", "0", "--passphrase"];
    for (arguments, signal) in [
        (&["-o", "keys"][..], None),
        (&["-o", "some/deep/keys"], None),
        (&["-o", "keys"], Some("TERM")),
        (&["-o", "keys"], Some("HUP")),
    ] {
        let mut terminal = he(quick.iter().chain(arguments)).at(dir.path()).in_terminal();
        terminal.wait_for("passphrase for ");
        while terminal.echoes() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        match signal {
            None => terminal.press(b"half\x03"),
            Some(signal) => {
                let kill = ["-s", signal, &terminal.child.id().to_string()];
                assert!(std::process::Command::new("kill").args(kill).status().unwrap().success());
            }
        }
        terminal.child.wait().unwrap();
        assert!(terminal.echoes(), "{signal:?}: what is typed afterwards is not seen");
        let (status, shown) = terminal.end();
        let number = match signal {
            None => 2,
            Some("TERM") => 15,
            _ => 1,
        };
        assert_eq!(status.signal(), Some(number), "{shown}");
        assert!(!shown.contains("error") && !shown.contains("half"), "{shown}");
        assert!(names(dir.path()).is_empty(), "{arguments:?} {signal:?}: {:?}", names(dir.path()));
    }
}

#[test]
fn passphrases_are_typed_at_a_terminal() {
    let dir = folder();
    let mut terminal = he(["keygen", "aes", "--passphrase", "-o", "my.key"]).at(dir.path()).in_terminal();
    terminal.wait_for("passphrase for my.key: ");
    while terminal.echoes() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    terminal.press(b"correct horse\n");
    terminal.wait_for("the same again: ");
    terminal.press(b"correct horse\n");
    let (status, shown) = terminal.end();
    assert!(status.success() && !shown.contains("horse"), "{shown}");
    std::fs::write(dir.path().join("phrase"), "correct horse").unwrap();
    let told = he(["info", "my.key", "--passphrase-file", "phrase"]).at(dir.path()).text();
    assert!(told.starts_with("file         AES key"), "{told}");
}

#[test]
fn binary_results_do_not_reach_a_terminal() {
    let (keys, dir) = (Keys::shallow(), folder());
    std::fs::write(dir.path().join("t.csv"), "a\n1\n").unwrap();
    let encrypt = ["encrypt", "t.csv", "-k", &keys.public, "-o", "-"];
    let (status, shown) = he(encrypt).at(dir.path()).in_terminal().end();
    assert_eq!(status.code(), Some(1));
    assert!(shown.contains("binary data would go to the terminal"), "{shown}");
}
