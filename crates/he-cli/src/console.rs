//! The form in which the person or the program that called wants to be told: in text or in JSON,
//! with or without progress.
//!
//! Set once, from the command line. A command's answer goes to standard output; notes, summaries
//! and errors go to standard error.

use crate::error::one_line;
use std::io::Write;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static JSON: AtomicBool = AtomicBool::new(false);
static QUIET: AtomicBool = AtomicBool::new(false);
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Takes what the command line says.
pub fn set(json: bool, quiet: bool) {
    LazyLock::force(&START);
    JSON.store(json, Ordering::Relaxed);
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether a program reads the results (`--json`).
pub fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// Whether progress, notes and summaries are unwanted (`--quiet`).
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// The time that the command has taken so far.
pub fn elapsed() -> Duration {
    START.elapsed()
}

/// Says something that is good to know and changes nothing: which device computes. Neither
/// `--quiet` nor `--json` has it.
pub fn note(text: &str) {
    if !is_quiet() && !is_json() {
        line(&format!("he-cli: {text}"));
    }
}

/// One line on standard error.
pub fn line(text: &str) {
    // The work is worth doing, whether anybody hears of it or not.
    let _ = writeln!(std::io::stderr().lock(), "{}", one_line(text));
}
