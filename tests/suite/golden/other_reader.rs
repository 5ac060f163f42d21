//! The golden files as another program reads them: `tests/format/reader.py`, which was written from
//! `docs/format.md` alone and shares nothing with the library.

use super::{committed, generator};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The output of the reader on a folder, or `None` where there is no Python.
fn read(folder: &Path) -> Option<Output> {
    let mut python = Command::new("python3");
    match python.arg(root().join("tests/format/reader.py")).arg(folder).output() {
        Ok(output) => Some(output),
        Err(error) => {
            println!("SKIPPED: python3 cannot be run ({error}): no other program read the golden files");
            None
        }
    }
}

/// Its lines of values, by what is before the equals sign: file, frame and entry.
fn values(output: &Output) -> BTreeMap<String, Vec<String>> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let split = text.lines().filter_map(|line| line.split_once(" = "));
    split.map(|(place, values)| (place.to_owned(), values.split(' ').map(str::to_owned).collect())).collect()
}

#[test]
fn another_program_reads_the_golden_files() {
    let Some(output) = read(&root().join("tests/data/golden")) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found = values(&output);
    let mut expected = 0;

    // Numbers: fresh, at a lower level, from a seed, in other slots, as byte strings.
    let complex = |text: &str| {
        let (re, im) = text.split_once(',').unwrap();
        he::ckks::Complex64::new(re.parse().unwrap(), im.parse().unwrap())
    };
    let [first, second] = generator::values();
    for (place, slots) in [
        ("ciphertexts.he 2 0", &first[..]),
        ("ciphertexts.he 2 1", &second),
        ("ciphertexts.he 3 0", &first[..4]),
        ("seeded_ciphertexts.he 1 0", &first),
        ("seeded_ciphertexts.he 1 1", &second),
        ("bytes_ciphertext.he 1 0", &first),
        ("party_keys.he 4 0", &first),
        ("bytes_ciphertext_of_none.he 0 0", &first),
        ("bigckks_ciphertexts.he 1 0", &first),
        ("bigckks_ciphertexts.he 1 1", &second),
        ("bigckks_ciphertexts.he 2 0", &first[..4]),
    ] {
        let found: Vec<_> = found[place].iter().map(|text| complex(text)).collect();
        assert_eq!(found.len(), slots.len(), "{place}");
        let near = found.iter().zip(slots).all(|(found, expected)| (found - expected).norm() < 1e-5);
        assert!(near, "{place}: {found:?} for {slots:?}");
        expected += 1;
    }

    // Integers modulo t.
    for scheme in ["bfv", "bgv"] {
        for file in ["ciphertexts.he 1", "ciphertexts.he 2", "seeded_ciphertexts.he 1"] {
            for (entry, integers) in generator::integers().iter().enumerate() {
                let place = format!("{scheme}_{file} {entry}");
                let numbers: Vec<u64> = found[&place].iter().map(|text| text.parse().unwrap()).collect();
                assert_eq!(numbers, *integers, "{place}");
                expected += 1;
            }
        }
    }

    // Products of words.
    for (entry, products) in generator::word_products().chunks(4).enumerate() {
        let place = format!("words_products.he 1 {entry}");
        let numbers: Vec<u64> = found[&place].iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(numbers, products, "{place}");
        expected += 1;
    }

    // Bits, conditions and integers of TFHE.
    let bits = generator::BITS.map(|bit| u8::from(bit).to_string());
    let integers = generator::UINTS.map(|x| x.to_string());
    for (place, expected_values) in [
        ("tfhe_bits.he 1 0", &bits[..]),
        ("tfhe_flags.he 1 0", &bits),
        ("bytes_tfhe_bits.he 1 0", &bits),
        ("tfhe_seeded_ciphertexts.he 1 0", &bits),
        ("tfhe_seeded_ciphertexts.he 3 0", &bits),
        ("tfhe_uints.he 1 0", &integers),
        ("tfhe_seeded_ciphertexts.he 2 0", &integers),
        ("tfhe_compact_ciphertexts.he 1 0", &bits),
        ("tfhe_compact_ciphertexts.he 2 0", &integers),
        ("tfhe_compact_ciphertexts.he 3 0", &bits),
    ] {
        assert_eq!(found[place], expected_values, "{place}");
        expected += 1;
    }
    assert_eq!(found.len(), expected, "values that nobody compares: {:?}", found.keys());

    // Files under AES, by the hash of what they hold.
    let text = String::from_utf8(output.stdout).unwrap();
    for (name, content) in ["aes_file.he", "aes_passphrase.he"].into_iter().zip(generator::contents()) {
        let hash = blake3::hash(&content).to_hex();
        let line = format!("{name} content 0, {} bytes, {hash}", content.len());
        assert!(text.lines().any(|found| found == line), "{line}");
    }
    // The round keys of FIPS-197, appendix A.1: the key, and the last one.
    let keys = text.lines().find_map(|line| line.strip_prefix("tfhe_encrypted_aes_key.he 1 round keys "));
    let keys = keys.expect("the round keys");
    assert!(keys.starts_with("2b7e151628aed2a6abf7158809cf4f3c"), "{keys}");
    assert!(keys.ends_with("d014f9a8c9ee2589e13f0cc8b6630ca6"), "{keys}");
    // Every golden file was read.
    for entry in std::fs::read_dir(root().join("tests/data/golden")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_read = text.lines().any(|line| line.split(' ').next() == Some(&name));
        assert!(is_read || !name.ends_with(".he"), "{name}");
    }
}

/// The reader checks what it reads: of a changed file it says what is wrong, and reads nothing.
#[test]
fn the_other_program_refuses_changed_files() {
    let folder = std::env::temp_dir().join(format!("he-other-reader-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let resealed = |mut bytes: Vec<u8>, at: usize| {
        bytes[at] ^= 1;
        crate::suite::corpus::target::repair_frames(&mut bytes);
        bytes
    };
    let changed = |name: &str, at: usize| {
        let mut bytes = committed(name);
        bytes[at] ^= 1;
        bytes
    };
    for (names, damage, bytes, why) in [
        (&[][..], "parameters.he", changed("parameters.he", 60), "a wrong checksum"),
        (&[], "parameters.he", resealed(committed("parameters.he"), 60), "the fingerprint"),
        (&[], "parameters.he", committed("parameters.he")[..200].to_vec(), "a frame is cut off"),
        (&[], "parameters.he", [committed("parameters.he"), vec![0]].concat(), "bytes follow"),
        (
            &["secret_key.he"],
            "public_key.he",
            resealed(committed("public_key.he"), 400),
            "an error is too large",
        ),
        (
            &["tfhe_parameters.he", "tfhe_secret_key.he"],
            "tfhe_public_key.he",
            resealed(committed("tfhe_public_key.he"), 407),
            "an error of the public key",
        ),
        (&["aes_key.he"], "aes_file.he", changed("aes_file.he", 80), "the header was changed"),
        (&["aes_key.he"], "aes_file.he", changed("aes_file.he", 5000), "a chunk was changed"),
    ] {
        for name in names {
            std::fs::write(folder.join(name), committed(name)).unwrap();
        }
        std::fs::write(folder.join(damage), bytes).unwrap();
        let Some(output) = read(&folder) else { break };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{damage}, {why}: {said}");
        for name in names.iter().chain([&damage]) {
            std::fs::remove_file(folder.join(name)).unwrap();
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
