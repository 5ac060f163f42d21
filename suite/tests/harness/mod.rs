//! The helpers of the tests of all workloads: a folder as a harness has it, and random numbers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A deterministic sequence, whose start is printed.
pub struct SplitMix(u64);

impl SplitMix {
    pub fn new() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let given = std::env::var("HE_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or(now.as_nanos() as u64);
        println!("HE_TEST_SEED={seed}");
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }
}

/// The root of a harness, with the links of a submission.
pub struct Harness {
    root: tempfile::TempDir,
    programs: &'static str,
}

impl Harness {
    /// A root with links to the program for the stages of a workload.
    pub fn new(workload: &str, programs: &'static str, stages: &[&str]) -> Self {
        let harness = Self { root: tempfile::tempdir().unwrap(), programs };
        let programs = harness.path(programs);
        fs::create_dir_all(&programs).unwrap();
        fs::write(programs.join("workload"), format!("{workload}\n")).unwrap();
        for stage in stages {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_he-suite"), programs.join(stage)).unwrap();
        }
        harness
    }

    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.path().join(path)
    }

    fn run(&self, variables: &[(&str, &str)], stage: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(self.path(self.programs).join(stage));
        command.current_dir(self.root.path()).env("HE_SUITE_DEVICE", "cpu").args(arguments);
        command.envs(variables.iter().copied()).output().unwrap()
    }

    pub fn passes(&self, stage: &str, arguments: &[&str]) {
        self.passes_in(&[], stage, arguments);
    }

    /// The stage passes with these variables in its environment.
    pub fn passes_in(&self, variables: &[(&str, &str)], stage: &str, arguments: &[&str]) {
        let output = self.run(variables, stage, arguments);
        assert!(output.status.success(), "{stage}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// The stage fails with one line that has these words.
    pub fn fails(&self, stage: &str, arguments: &[&str], words: &str) {
        self.fails_in(&[], stage, arguments, words);
    }

    /// The stage fails likewise with these variables in its environment.
    pub fn fails_in(&self, variables: &[(&str, &str)], stage: &str, arguments: &[&str], words: &str) {
        let output = self.run(variables, stage, arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stage}: {text}");
        assert!(text.contains(words) && text.lines().count() == 1, "{stage} without {words:?}: {text}");
    }

    /// A stage that reads the file fails when it is cut, empty, something else, or changed.
    pub fn refuses_damaged(
        &self,
        folder: &str,
        file: &str,
        random: &mut SplitMix,
        fails_with: impl Fn(&str),
    ) {
        let path = self.path(folder).join(file);
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() * 2 / 3] ^= 1;
        let noise: Vec<u8> = (0..1000).map(|_| random.next() as u8).collect();
        for (bytes, words) in [
            (&whole[..whole.len() - 100], "truncated"),
            (&whole[..0], "truncated"),
            (&noise, "not a homomorphic-encryption file"),
            (&flipped, "checksum"),
        ] {
            fs::write(&path, bytes).unwrap();
            fails_with(words);
        }
        fs::write(&path, &whole).unwrap();
    }
}
