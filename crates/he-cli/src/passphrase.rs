//! Passphrases from files, from the environment and from the terminal.

use crate::error::{CliError, Result};
use crate::interrupt;
use he_files::passphrase::{Passphrase, Purpose};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::OnceLock;
use zeroize::{Zeroize, Zeroizing};

/// Environment variable that may hold the passphrase.
pub const VARIABLE: &str = "HE_CLI_PASSPHRASE";

/// The variable's value, from the start of the program on.
static FROM_ENVIRONMENT: OnceLock<Zeroizing<Vec<u8>>> = OnceLock::new();

/// Removes the passphrase from the environment, where other programs of the same user could read it
/// (`/proc/PID/environ`) while this one runs.
///
/// To be called while there is a single thread, before anything else looks at the environment.
#[allow(unsafe_code)]
pub fn take_from_environment() {
    let Some(value) = std::env::var_os(VARIABLE) else { return };
    // Empty before: this is called once.
    let _ = FROM_ENVIRONMENT.set(Zeroizing::new(value.into_encoded_bytes()));
    #[cfg(unix)]
    if let Ok(name) = std::ffi::CString::new(VARIABLE) {
        // SAFETY: nobody else reads or changes the environment, for there is one thread. `getenv`
        // gives null or a string that ends with NUL inside the environment, which is the process's
        // own writable memory; nothing is written beyond that end.
        unsafe {
            let value = libc::getenv(name.as_ptr());
            if !value.is_null() {
                std::slice::from_raw_parts_mut(value.cast::<u8>(), libc::strlen(value)).zeroize();
            }
        }
    }
    // SAFETY: there is one thread.
    unsafe { std::env::remove_var(VARIABLE) };
}

/// Whether the variable was set.
pub fn is_in_environment() -> bool {
    FROM_ENVIRONMENT.get().is_some()
}

/// From wherever it is: `file` if given, else the variable `HE_CLI_PASSPHRASE` if set, else typed
/// at the terminal (twice for [`Purpose::Seal`]). `what` names the thing in the prompt, such as
/// `keys/secret.key`.
///
/// # Errors
/// The file cannot be read, there is no terminal to ask at, what was typed differs, or the
/// passphrase is empty.
pub fn obtain(file: Option<&Path>, purpose: Purpose, what: &str) -> Result<Passphrase> {
    if let Some(path) = file {
        return Ok(Passphrase::from_file(path)?);
    }
    match FROM_ENVIRONMENT.get() {
        Some(value) => Ok(Passphrase::new(value.clone())?),
        None => ask(purpose, what),
    }
}

fn ask(purpose: Purpose, what: &str) -> Result<Passphrase> {
    if !std::io::stderr().is_terminal() {
        return Err(no_terminal());
    }
    let typed = prompt(&format!("passphrase for {what}: "))?;
    if purpose == Purpose::Seal && !typed.is_empty() {
        let again = prompt("the same again: ")?;
        if *typed != *again {
            return Err(CliError::new("the two passphrases differ").hint("run the command again"));
        }
    }
    Ok(Passphrase::new(typed)?)
}

fn prompt(text: &str) -> Result<Zeroizing<Vec<u8>>> {
    #[cfg(unix)]
    let _echo = interrupt::Echo::remember();
    match rpassword::prompt_password(text) {
        Ok(typed) => Ok(Zeroizing::new(typed.into_bytes())),
        // The prompt reads Ctrl-C as a character.
        #[cfg(unix)]
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {
            interrupt::end(signal_hook::consts::SIGINT)
        }
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(Zeroizing::new(Vec::new())),
        Err(_) => Err(no_terminal()),
    }
}

fn no_terminal() -> CliError {
    CliError::new("there is no terminal to ask for the passphrase at")
        .hint(format!("give --passphrase-file FILE or set {VARIABLE}"))
}
