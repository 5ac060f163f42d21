//! All stages of Zn-multiplication as a harness starts them: links to the program, in a folder of
//! their own, verified against plain integers.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A deterministic sequence, whose start is printed.
struct SplitMix(u64);

impl SplitMix {
    fn new() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let given = std::env::var("HE_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or(now.as_nanos() as u64);
        println!("HE_TEST_SEED={seed}");
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }
}

/// The root of a harness, with the links of a submission.
struct Harness(tempfile::TempDir);

impl Harness {
    fn new() -> Self {
        let harness = Self(tempfile::tempdir().unwrap());
        let programs = harness.path("submission/target/release");
        fs::create_dir_all(&programs).unwrap();
        fs::write(programs.join("workload"), "zn-multiplication\n").unwrap();
        for stage in [
            "client_preprocess_input",
            "client_key_generation",
            "client_encode_encrypt_input",
            "server_encrypted_compute",
            "client_decrypt_decode",
            "client_postprocess",
        ] {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_he-suite"), programs.join(stage)).unwrap();
        }
        harness
    }

    fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(path)
    }

    fn run(&self, stage: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(self.path("submission/target/release").join(stage));
        command.current_dir(self.0.path()).env("HE_SUITE_DEVICE", "cpu").args(arguments);
        command.output().unwrap()
    }

    fn passes(&self, stage: &str, arguments: &[&str]) {
        let output = self.run(stage, arguments);
        assert!(output.status.success(), "{stage}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// The stage fails with one line that has these words.
    fn fails(&self, stage: &str, arguments: &[&str], words: &str) {
        let output = self.run(stage, arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stage}: {text}");
        assert!(text.contains(words) && text.lines().count() == 1, "{stage} without {words:?}: {text}");
    }

    fn write_numbers(&self, side: &str, numbers: &[u64]) {
        let text: String = numbers.iter().map(|number| format!("{number}\n")).collect();
        fs::create_dir_all(self.path("datasets/small")).unwrap();
        fs::write(self.path("datasets/small").join(side).with_extension("txt"), text).unwrap();
    }

    fn read_products(&self) -> Vec<u64> {
        let text = fs::read_to_string(self.path("io/small/cleartext_output/out.txt")).unwrap();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }
}

#[test]
fn a_harness_runs_through_all_stages_of_1000_pairs() {
    let (harness, mut random) = (Harness::new(), SplitMix::new());
    let edges = [0, 1, 1 << 63, u64::MAX, 0x5555_5555_5555_5555];
    let draw = |random: &mut SplitMix, i: usize| edges.get(i).copied().unwrap_or_else(|| random.next());
    let lhs: Vec<u64> = (0..1000).map(|i| draw(&mut random, i)).collect();
    let rhs: Vec<u64> = (0..1000).map(|i| draw(&mut random, i / 5)).collect();
    harness.write_numbers("lhs", &lhs);
    harness.write_numbers("rhs", &rhs);
    let sized = ["small", "1000"];
    harness.passes("client_preprocess_input", &sized[1..]);
    harness.passes("client_key_generation", &sized[..1]);
    harness.passes("client_encode_encrypt_input", &sized[..1]);
    let expected: Vec<u64> = lhs.iter().zip(&rhs).map(|(a, b)| a.wrapping_mul(*b)).collect();
    // The second run meets the server of the first; the third has none.
    for more in [&[][..], &[], &["--no-daemon"]] {
        let arguments = [&sized, more].concat();
        harness.passes("server_encrypted_compute", &arguments);
        harness.passes("client_decrypt_decode", &sized);
        harness.passes("client_postprocess", &sized);
        assert_eq!(harness.read_products(), expected);
        fs::remove_file(harness.path("io/small/cleartext_output/out.txt")).unwrap();
    }
    let steps = fs::read_to_string(harness.path("io/small/server_reported_steps.json")).unwrap();
    let steps: BTreeMap<String, f64> = serde_json::from_str(&steps).unwrap();
    assert!(steps["Encrypted multiplication"] > 0.0 && steps.len() == 4, "{steps:?}");
    for part in ["io/small/ciphertexts_upload/operands.part", "io/small/ciphertexts_download/products.part"] {
        assert!(!harness.path(part).exists(), "{part}");
    }

    // Hostile and incomplete files end in one error, of the server as well.
    harness.fails("client_decrypt_decode", &["small", "2000"], "1024 products where 2000");
    harness.fails("client_decrypt_decode", &["small", "900"], "more ciphertexts");
    harness.fails("server_encrypted_compute", &["small", "2000"], "16 pairs of ciphertexts where 32");
    for (file, stage) in [
        ("ciphertexts_upload/operands.he", "server_encrypted_compute"),
        ("ciphertexts_download/products.he", "client_decrypt_decode"),
    ] {
        let path = harness.path("io/small").join(file);
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() * 3 / 4] ^= 1;
        let noise: Vec<u8> = (0..1000).map(|_| random.next() as u8).collect();
        for (bytes, words) in [
            (&whole[..whole.len() - 100], "truncated"),
            (&whole[..0], "truncated"),
            (&noise, "not a homomorphic-encryption file"),
            (&flipped, "checksum"),
        ] {
            fs::write(&path, bytes).unwrap();
            harness.fails(stage, &sized, words);
        }
        fs::write(&path, &whole).unwrap();
    }
    // Without its socket the server ends.
    fs::remove_file(harness.path("io/small/server.sock")).unwrap();
}

#[test]
fn wrong_requests_are_refused() {
    let harness = Harness::new();
    harness.fails("client_key_generation", &[], "needs the name of the size");
    harness.fails("client_key_generation", &["../small"], "needs the name of the size");
    harness.fails("server_encrypted_compute", &["small", "many"], "needs the number of pairs");
    harness.fails("client_encode_encrypt_input", &["small"], "secret_key.he");
    harness.passes("client_key_generation", &["small"]);
    harness.write_numbers("lhs", &[1, 2]);
    harness.write_numbers("rhs", &[3]);
    harness.fails("client_encode_encrypt_input", &["small"], "1 numbers where 2");
    for text in ["18446744073709551616\n", "-1\n", "+1\n", "1 2\n", "\n", &"9".repeat(1 << 16)] {
        fs::write(harness.path("datasets/small/rhs.txt"), format!("5\n{text}")).unwrap();
        harness.fails("client_encode_encrypt_input", &["small"], "line 2 is not an integer");
    }
    fs::write(harness.path("submission/target/release/workload"), "chess").unwrap();
    harness.fails("client_key_generation", &["small"], "not a workload");
}
