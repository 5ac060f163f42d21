//! All stages of Zn-multiplication as a harness starts them: links to the program, in a folder of
//! their own, verified against plain integers.
#![allow(missing_docs, clippy::unwrap_used)]

mod harness;

use harness::{Harness, SplitMix};
use std::collections::BTreeMap;
use std::fs;

const STAGES: [&str; 6] = [
    "client_preprocess_input",
    "client_key_generation",
    "client_encode_encrypt_input",
    "server_encrypted_compute",
    "client_decrypt_decode",
    "client_postprocess",
];

fn start() -> Harness {
    Harness::new("zn-multiplication", "submission/target/release", &STAGES)
}

fn write_numbers(harness: &Harness, side: &str, numbers: &[u64]) {
    let text: String = numbers.iter().map(|number| format!("{number}\n")).collect();
    fs::create_dir_all(harness.path("datasets/small")).unwrap();
    fs::write(harness.path("datasets/small").join(side).with_extension("txt"), text).unwrap();
}

fn read_products(harness: &Harness) -> Vec<u64> {
    let text = fs::read_to_string(harness.path("io/small/cleartext_output/out.txt")).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn a_harness_runs_through_all_stages_of_1000_pairs() {
    let (harness, mut random) = (start(), SplitMix::new());
    let edges = [0, 1, 1 << 63, u64::MAX, 0x5555_5555_5555_5555];
    let draw = |random: &mut SplitMix, i: usize| edges.get(i).copied().unwrap_or_else(|| random.next());
    let lhs: Vec<u64> = (0..1000).map(|i| draw(&mut random, i)).collect();
    let rhs: Vec<u64> = (0..1000).map(|i| draw(&mut random, i / 5)).collect();
    write_numbers(&harness, "lhs", &lhs);
    write_numbers(&harness, "rhs", &rhs);
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
        assert_eq!(read_products(&harness), expected);
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
        harness.refuses_damaged("io/small", file, &mut random, |words| harness.fails(stage, &sized, words));
    }
    // Without its socket the server ends.
    fs::remove_file(harness.path("io/small/server.sock")).unwrap();
}

#[test]
fn wrong_requests_are_refused() {
    let harness = start();
    harness.fails("client_key_generation", &[], "needs the name of the size");
    harness.fails("client_key_generation", &["../small"], "needs the name of the size");
    harness.fails("server_encrypted_compute", &["small", "many"], "needs the number of pairs");
    harness.fails("client_encode_encrypt_input", &["small"], "secret_key.he");
    harness.passes("client_key_generation", &["small"]);
    write_numbers(&harness, "lhs", &[1, 2]);
    write_numbers(&harness, "rhs", &[3]);
    harness.fails("client_encode_encrypt_input", &["small"], "1 numbers where 2");
    for text in ["18446744073709551616\n", "-1\n", "+1\n", "1 2\n", "\n", &"9".repeat(1 << 16)] {
        fs::write(harness.path("datasets/small/rhs.txt"), format!("5\n{text}")).unwrap();
        harness.fails("client_encode_encrypt_input", &["small"], "line 2 is not an integer");
    }
    fs::write(harness.path("submission/target/release/workload"), "chess").unwrap();
    harness.fails("client_key_generation", &["small"], "not a workload");
}
