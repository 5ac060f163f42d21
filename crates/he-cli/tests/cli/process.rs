//! Runs `he-cli` and says what it should have said; keys that all tests share.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

/// The exit code and the output of a process.
pub struct Outcome {
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

/// A call of the program, in a folder of its own choice.
pub struct Call {
    command: Command,
    input: Vec<u8>,
}

/// The variable that names the device.
pub const DEVICE: &str = "HE_DEVICE";

/// `he-cli` with these arguments, on the CPU whatever else there is, unless `HE_DEVICE` names
/// another device.
pub fn he(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Call {
    let mut command = Command::new(env!("CARGO_BIN_EXE_he-cli"));
    command.args(arguments).env_remove("HE_CLI_PASSPHRASE");
    if std::env::var_os(DEVICE).is_none() {
        command.env(DEVICE, "cpu");
    }
    #[cfg(unix)]
    heed_signals(&mut command);
    Call { command, input: Vec::new() }
}

/// Has the process begin with the default actions of signals, whatever the tests were started by:
/// `nohup` and shells in the background ignore some, and what is ignored is inherited.
#[cfg(unix)]
fn heed_signals(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    // SAFETY: between fork and exec there are three system calls, and nothing is allocated or
    // locked.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(|| {
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        })
    };
}

/// Runs the program in a shell, after a line that sets limits or ignores signals.
#[cfg(unix)]
pub fn after<'a>(line: &str, arguments: impl IntoIterator<Item = &'a str>) -> Call {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{line}; exec \"$0\" \"$@\"")).arg(env!("CARGO_BIN_EXE_he-cli"));
    command.args(arguments).env_remove("HE_CLI_PASSPHRASE").env(DEVICE, "cpu");
    Call { command, input: Vec::new() }
}

impl Call {
    /// Starts it at a terminal of its own.
    #[cfg(unix)]
    pub fn in_terminal(mut self) -> Terminal {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        use std::os::unix::fs::OpenOptionsExt;
        use std::os::unix::process::CommandExt;
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let path = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let flags = rustix::fs::OFlags::NOCTTY.bits() as i32;
        let theirs = || fs::File::options().read(true).write(true).custom_flags(flags).open(&path).unwrap();
        self.command.stdin(theirs()).stdout(theirs()).stderr(theirs());
        // SAFETY: between fork and exec there are two system calls, and nothing is allocated or
        // locked.
        #[allow(unsafe_code)]
        unsafe {
            self.command.pre_exec(|| {
                rustix::process::setsid()?;
                Ok(rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?)
            })
        };
        let child = self.command.spawn().unwrap();
        // Ends when nobody else has the terminal open any more.
        drop(self);
        let mut ours = fs::File::from(ours);
        let mut reader = ours.try_clone().unwrap();
        let shown = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let kept = std::sync::Arc::clone(&shown);
        let thread = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = std::io::Read::read(&mut reader, &mut buffer) {
                kept.lock().unwrap().extend(&buffer[..count]);
            }
        });
        ours.flush().unwrap();
        Terminal { child, ours, shown, thread }
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Sets the folder where relative paths start.
    pub fn at(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    pub fn stdin(mut self, bytes: &[u8]) -> Self {
        self.input = bytes.to_vec();
        self
    }

    /// Starts it and leaves it waiting for input.
    pub fn start(mut self) -> Child {
        let all = self.command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        all.spawn().unwrap()
    }

    pub fn run(mut self) -> Outcome {
        let all = self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = all.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = self.input;
        // A program that fails early does not read its input.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Outcome {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs with standard output at a terminal, whose text is what comes out.
    #[cfg(target_os = "linux")]
    pub fn at_terminal(mut self) -> Outcome {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        use std::io::Read;

        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap().into_string().unwrap();
        let terminal = fs::File::options().read(true).write(true).open(name).unwrap();
        let all = self.command.stdin(Stdio::null()).stdout(terminal).stderr(Stdio::piped());
        let child = all.spawn().unwrap();
        // Its end of the terminal is then the only one: reading ends, by an error, once it has
        // closed that.
        drop(self);
        let reader = std::thread::spawn(move || {
            let mut shown = Vec::new();
            let _ = fs::File::from(controller).read_to_end(&mut shown);
            shown
        });
        let output = child.wait_with_output().unwrap();
        Outcome {
            code: output.status.code(),
            stdout: reader.join().unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// It succeeds; its standard output.
    pub fn ok(self) -> Vec<u8> {
        let outcome = self.run();
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        outcome.stdout
    }

    /// It succeeds with text on standard output.
    pub fn text(self) -> String {
        String::from_utf8(self.ok()).unwrap()
    }

    /// It fails with exactly this message and hint, and no output.
    pub fn fails(self, code: i32, error: &str, hint: &str) {
        let outcome = self.run();
        let expected = format!("he-cli: error: {error}\nhe-cli: hint: {hint}\n");
        assert_eq!(outcome.stderr, expected);
        assert_eq!((outcome.code, outcome.stdout.as_slice()), (Some(code), &b""[..]));
    }

    /// It fails with exit code 1, one line that says what is wrong and one that says what to do;
    /// the first of them.
    pub fn refuses(self) -> String {
        let outcome = self.run();
        let lines: Vec<&str> = outcome.stderr.lines().collect();
        assert_eq!(lines.len(), 2, "{}", outcome.stderr);
        assert!(lines[1].starts_with("he-cli: hint: "), "{}", outcome.stderr);
        assert_eq!((outcome.code, outcome.stdout.as_slice()), (Some(1), &b""[..]), "{}", outcome.stderr);
        for line in &lines {
            assert!(!line.ends_with('.'), "{line}");
        }
        lines[0].strip_prefix("he-cli: error: ").unwrap().to_owned()
    }
}

/// A terminal with a program at it.
#[cfg(unix)]
pub struct Terminal {
    pub child: Child,
    ours: fs::File,
    shown: std::sync::Arc<std::sync::Mutex<Vec<u8>>>,
    thread: std::thread::JoinHandle<()>,
}

#[cfg(unix)]
impl Terminal {
    /// Waits until a text is shown.
    pub fn wait_for(&self, text: &str) {
        let begin = std::time::Instant::now();
        loop {
            let shown = String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned();
            if shown.contains(text) {
                return;
            }
            assert!(begin.elapsed().as_secs() < 120, "{text} does not come: {shown}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Whether what is typed is shown.
    pub fn echoes(&self) -> bool {
        rustix::termios::tcgetattr(&self.ours)
            .unwrap()
            .local_modes
            .contains(rustix::termios::LocalModes::ECHO)
    }

    pub fn press(&mut self, keys: &[u8]) {
        self.ours.write_all(keys).unwrap();
    }

    /// Waits for the program's end; all that was shown.
    pub fn end(mut self) -> (std::process::ExitStatus, String) {
        let status = self.child.wait().unwrap();
        self.thread.join().unwrap();
        let shown = std::mem::take(&mut *self.shown.lock().unwrap());
        (status, String::from_utf8(shown).unwrap())
    }
}

/// A fresh folder, gone after the test.
pub fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Names in a folder, hidden ones too.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The files of a key set, as arguments.
pub struct Keys {
    pub secret: String,
    pub public: String,
    pub eval: String,
    /// The device on which all is computed with them, whatever `HE_DEVICE` says.
    device: Option<&'static str>,
}

impl Keys {
    /// Made once for all tests of this process and those after it.
    fn shared(lock: &'static OnceLock<Keys>, name: &str, scheme: &str, options: &[&str]) -> &'static Self {
        lock.get_or_init(|| {
            // Static values are never dropped, so these stay, in the build folder, until the next
            // run.
            let folder =
                PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
            remove_old(&format!("{name}-"));
            let path = |file: &str| folder.join(file).to_str().unwrap().to_owned();
            let start = ["keygen", scheme, "-o", &path("")];
            // Nothing else than the CPU has the operations of bigckks.
            let device = (scheme == "bigckks").then_some("cpu");
            on(device, he(start.iter().chain(options))).ok();
            Self { secret: path("secret.key"), public: path("public.key"), eval: path("eval.key"), device }
        })
    }

    /// Keys of default parameters: depth 2.
    pub fn usual() -> &'static Self {
        static KEYS: OnceLock<Keys> = OnceLock::new();
        Self::shared(&KEYS, "usual", "ckks", &[])
    }

    /// Another set of keys of the same parameters.
    pub fn other() -> &'static Self {
        static KEYS: OnceLock<Keys> = OnceLock::new();
        Self::shared(&KEYS, "other", "ckks", &[])
    }

    /// With bootstrapping, insecure and quick.
    pub fn toy() -> &'static Self {
        static KEYS: OnceLock<Keys> = OnceLock::new();
        Self::shared(&KEYS, "toy", "ckks", &["--bootstrap", "insecure_toy"])
    }

    /// Another set of it.
    pub fn toy_other() -> &'static Self {
        static KEYS: OnceLock<Keys> = OnceLock::new();
        Self::shared(&KEYS, "other-toy", "ckks", &["--bootstrap", "insecure_toy"])
    }

    /// BFV with bootstrapping, insecure and quick.
    pub fn toy_bfv() -> &'static Self {
        static KEYS: OnceLock<Keys> = OnceLock::new();
        Self::shared(&KEYS, "toy-bfv", "bfv", &["--bootstrap", "insecure_toy"])
    }

    /// Another set of it.
    pub fn toy_bfv_other() -> &'static Self {
        static KEYS: OnceLock<Keys> = OnceLock::new();
        Self::shared(&KEYS, "other-toy-bfv", "bfv", &["--bootstrap", "insecure_toy"])
    }

    /// BGV with bootstrapping, likewise.
    pub fn toy_bgv() -> &'static Self {
        static KEYS: OnceLock<Keys> = OnceLock::new();
        Self::shared(&KEYS, "toy-bgv", "bgv", &["--bootstrap", "insecure_toy"])
    }

    /// Small and quick, depth 1.
    pub fn shallow() -> &'static Self {
        static KEYS: OnceLock<Keys> = OnceLock::new();
        Self::shared(&KEYS, "shallow", "ckks", &["--depth", "1", "--precision", "10", "--radius", "0"])
    }

    /// BFV of default parameters: depth 2, integers of 32 bits and a sign.
    pub fn bfv() -> &'static Self {
        static KEYS: OnceLock<Keys> = OnceLock::new();
        Self::shared(&KEYS, "bfv", "bfv", &[])
    }

    /// BGV, likewise.
    pub fn bgv() -> &'static Self {
        static KEYS: OnceLock<Keys> = OnceLock::new();
        Self::shared(&KEYS, "bgv", "bgv", &[])
    }

    /// BFV modulo 65537, depth 1.
    pub fn narrow() -> &'static Self {
        static KEYS: OnceLock<Keys> = OnceLock::new();
        Self::shared(&KEYS, "narrow", "bfv", &["--depth", "1", "--plain-modulus", "65537"])
    }

    /// TFHE that fails with 2^-128.
    pub fn tfhe() -> &'static Self {
        static KEYS: OnceLock<Keys> = OnceLock::new();
        Self::shared(&KEYS, "tfhe", "tfhe", &[])
    }

    /// Another set of it.
    pub fn tfhe_other() -> &'static Self {
        static KEYS: OnceLock<Keys> = OnceLock::new();
        Self::shared(&KEYS, "other-tfhe", "tfhe", &[])
    }

    /// TFHE that transciphers, insecure and quick.
    pub fn toy_tfhe() -> &'static Self {
        static KEYS: OnceLock<Keys> = OnceLock::new();
        Self::shared(&KEYS, "toy-tfhe", "tfhe", &["--transcipher", "insecure_toy"])
    }

    /// bigckks of default parameters.
    pub fn bigckks() -> &'static Self {
        static KEYS: OnceLock<Keys> = OnceLock::new();
        Self::shared(&KEYS, "bigckks", "bigckks", &[])
    }
}

/// Folders of this name that an earlier run left; those of one that may still run stay.
fn remove_old(prefix: &str) {
    let hour = std::time::Duration::from_secs(3600);
    for entry in fs::read_dir(env!("CARGO_TARGET_TMPDIR")).unwrap().flatten() {
        let old = entry
            .metadata()
            .and_then(|data| data.modified())
            .is_ok_and(|t| t.elapsed().is_ok_and(|t| t > hour));
        if old && entry.file_name().to_string_lossy().starts_with(prefix) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Keys {
    /// A call with these keys, on their device.
    pub fn on(&self, call: Call) -> Call {
        on(self.device, call)
    }
}

fn on(device: Option<&str>, call: Call) -> Call {
    match device {
        Some(device) => call.env(DEVICE, device),
        None => call,
    }
}

/// Encrypts by public key.
pub fn encrypt(keys: &Keys, input: &Path, output: &Path, options: &[&str]) {
    let (input, output) = (input.to_str().unwrap(), output.to_str().unwrap());
    on(keys.device, he(["encrypt", input, "-k", &keys.public, "-o", output].iter().chain(options))).ok();
}

/// Evaluates; `operation` holds the operation and its options.
pub fn eval(keys: &Keys, operation: &[&str], input: &Path, output: &Path) {
    let files = ["-k", &keys.eval, "-o", output.to_str().unwrap(), input.to_str().unwrap()];
    on(keys.device, he(["eval"].iter().chain(operation).chain(&files))).ok();
}

/// Decrypts.
pub fn decrypt(keys: &Keys, input: &Path, output: &Path) {
    let call = he(["decrypt", input.to_str().unwrap(), "-k", &keys.secret, "-o", output.to_str().unwrap()]);
    on(keys.device, call).ok();
}

/// Decrypts a table.
pub fn decrypt_text(keys: &Keys, input: &Path) -> String {
    on(keys.device, he(["decrypt", input.to_str().unwrap(), "-k", &keys.secret, "-o", "-"])).text()
}

/// Refreshes by the bootstrapping key.
pub fn refresh(keys: &Keys, input: &Path, output: &Path) {
    let (input, output) = (input.to_str().unwrap(), output.to_str().unwrap());
    he(["eval", "refresh", input, "-k", &bootstrap_key(keys), "-o", output]).ok();
}

/// The bootstrapping key beside the others.
pub fn bootstrap_key(keys: &Keys) -> String {
    keys.eval.replace("eval.key", "bootstrap.key")
}
