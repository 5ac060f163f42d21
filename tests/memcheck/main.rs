//! Runs keys, encryptions, decryptions and AES with every secret marked as undefined, under
//! valgrind, whose memcheck reports each branch and each address that depends on one (A. Langley,
//! ctgrind, 2010). Nothing is timed: what is found is found at every run.
//!
//! `cargo test --release --test memcheck`, with valgrind 3.19 or newer installed. The test
//! [`no_branch_and_no_address_depends_on_a_secret`] starts this program again under valgrind, once
//! with all checks, in which nothing may be found, and once with the [`control`], in which
//! something must be. Without valgrind, checks only test that what they compute is right.
//!
//! Secrets are what the generator [`Secret`] draws, and messages. Two things make a value public:
//!
//! - this program, by [`valgrind::public`], for what its user would send or show: keys of servers,
//!   ciphertexts, decrypted values;
//! - the library, in its module `reveal` alone, whose loads `revealed.supp` excepts by their name.
//!
//! Valgrind knows no AVX-512 and hides it, so that the portable code and AVX2 are run here.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(missing_docs, clippy::unwrap_used)]

mod aes;
mod schemes;
mod valgrind;

use rand::{Rng, SeedableRng, TryCryptoRng, TryRng, rngs::ChaCha20Rng};
use std::io::{ErrorKind, Write};
use std::process::{Command, Output};
use valgrind::{secret, secret_value};

/// A generator whose output is secret.
struct Secret(ChaCha20Rng);

impl Secret {
    fn new(seed: u64) -> Self {
        Self(ChaCha20Rng::seed_from_u64(seed))
    }
}

impl TryRng for Secret {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok(secret_value(self.0.next_u32()))
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(secret_value(self.0.next_u64()))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.0.fill_bytes(bytes);
        secret(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Secret {}

/// A leak through a branch, as found in rejection sampling.
#[inline(never)]
fn branches(byte: u8) -> u8 {
    if byte < 100 { valgrind::taken(byte) } else { byte }
}

/// A leak through an address, as found in tables of an S-box.
#[inline(never)]
fn looks_up(byte: u8) -> u8 {
    std::hint::black_box(&[7u8; 256])[usize::from(byte)]
}

/// Two leaks that must be found. They do not pass through `reveal`, whose name is excepted.
#[test]
fn control() {
    let byte = secret_value(7u8);
    let errors = valgrind::errors();
    assert_eq!(valgrind::public_value(branches(byte)), 8);
    assert_eq!(valgrind::errors(), errors + usize::from(valgrind::is_running()));
    // Valgrind does not pass the secrecy of an address on to what is read there.
    assert_eq!(looks_up(byte), 7);
    assert_eq!(valgrind::errors(), errors + 2 * usize::from(valgrind::is_running()));
}

/// The exit status by which valgrind says that it found something.
const FOUND: i32 = 99;

/// This program under valgrind, with the tests that `filter` selects; `None` if there is no
/// valgrind.
fn under_valgrind(filter: &[&str]) -> Option<Output> {
    let suppressions = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/memcheck/revealed.supp");
    let output = Command::new("valgrind")
        .args(["--quiet", "--leak-check=no", "--expensive-definedness-checks=yes", "--num-callers=24"])
        .args([format!("--error-exitcode={FOUND}"), format!("--suppressions={suppressions}")])
        .arg(std::env::current_exe().unwrap())
        .args(["--test-threads=1", "--nocapture"])
        .args(filter)
        .env("RAYON_NUM_THREADS", "1")
        .output();
    match output {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // Not `eprintln`, which the test harness hides.
            std::io::stderr().write_all(b"SKIPPED: there is no valgrind\n").unwrap();
            None
        }
        output => Some(output.unwrap()),
    }
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

#[test]
fn no_branch_and_no_address_depends_on_a_secret() {
    if valgrind::is_running() {
        return;
    }
    if cfg!(debug_assertions) {
        // Overflow checks branch on everything.
        std::io::stderr().write_all(b"SKIPPED: memcheck needs --release\n").unwrap();
        return;
    }
    let Some(control) = under_valgrind(&["--exact", "control"]) else { return };
    let found = text(&control);
    assert_eq!(control.status.code(), Some(FOUND), "the planted leaks are not found:\n{found}");
    for leak in ["branches", "looks_up"] {
        assert!(found.contains(leak), "{leak} is not found:\n{found}");
    }
    let Some(checks) = under_valgrind(&["--skip", "control"]) else { return };
    let found = text(&checks);
    assert!(found.contains("test result: ok. 1"), "not all checks ran:\n{found}");
    assert!(checks.status.success(), "a branch or an address depends on a secret:\n{found}");
}
