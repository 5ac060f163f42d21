//! All stages of ml-inference as a harness starts them: links to the program, in a folder of their
//! own, verified against the network on plain numbers.
#![allow(missing_docs, clippy::unwrap_used)]

mod harness;

use harness::{Harness, SplitMix};
use he_nn::Graph;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const STAGES: [&str; 7] = [
    "client_key_generation",
    "server_preprocess_model",
    "client_preprocess_input",
    "client_encode_encrypt_input",
    "server_encrypted_compute",
    "client_decrypt_decode",
    "client_postprocess",
];

fn start() -> Harness {
    Harness::new("ml-inference", "submission/build", &STAGES)
}

fn model(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../models").join(name)).unwrap()
}

/// So many of 16 digits that no network was trained on, as pixels of six decimals.
fn digits(random: &mut SplitMix, count: usize) -> Vec<Vec<f64>> {
    let digits = model("digits.bin");
    let digits: Vec<&[u8]> = digits.chunks_exact(785).skip(60).collect();
    let pixel = |&grey: &u8| (f64::from(grey) / 255.0 * 1e6).round() / 1e6;
    let one = |_| digits[random.next() as usize % digits.len()][1..].iter().map(pixel).collect();
    (0..count).map(one).collect()
}

/// The labels by the network on plain numbers.
fn labels(images: &[Vec<f64>]) -> String {
    let graph = Graph::from_onnx(&model("digits_small.onnx")).unwrap();
    let label = |image: &Vec<f64>| {
        let scores = graph.apply_plain(image).unwrap();
        (0..10).max_by(|&x, &y| scores[x].total_cmp(&scores[y])).unwrap()
    };
    images.iter().map(|image| format!("{}\n", label(image))).collect()
}

fn write_pixels(harness: &Harness, size: &str, lines: &[String]) {
    let folder = harness.path("datasets").join(size).join("intermediate");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("test_pixels.txt"), lines.concat()).unwrap();
}

fn lines(images: &[Vec<f64>]) -> Vec<String> {
    let line = |image: &Vec<f64>| image.iter().map(|x| format!("{x:.6}")).collect::<Vec<_>>().join(" ");
    images.iter().map(|image| line(image) + "\n").collect()
}

/// 150 images in two ciphertexts of each pixel, the second of which is not full.
#[test]
fn a_harness_runs_through_all_stages_of_150_images() {
    let (harness, mut random) = (start(), SplitMix::new());
    let images = digits(&mut random, 150);
    write_pixels(&harness, "medium", &lines(&images));
    let (flag, sized) = (["--insecure-log-n=8"], ["2", "--insecure-log-n=8"]);
    harness.passes("client_key_generation", &sized);
    harness.passes("server_preprocess_model", &flag);
    assert!(harness.path("io/medium/server.sock").exists());
    // The second run meets the server of the first; the third has none.
    for more in [&[][..], &[], &["--no-daemon"]] {
        harness.passes("client_preprocess_input", &sized);
        harness.passes("client_encode_encrypt_input", &sized);
        harness.passes("server_encrypted_compute", &[&sized, more].concat());
        harness.passes("client_decrypt_decode", &sized);
        harness.passes("client_postprocess", &sized);
        let found = harness.path("io/medium/encrypted_model_predictions.txt");
        assert_eq!(fs::read_to_string(&found).unwrap(), labels(&images));
        fs::remove_file(found).unwrap();
    }
    let steps = fs::read_to_string(harness.path("io/medium/server_reported_steps.json")).unwrap();
    let steps: BTreeMap<String, f64> = serde_json::from_str(&steps).unwrap();
    assert!(steps["Encrypted inference"] > 0.0 && steps.len() == 3, "{steps:?}");

    // Hostile and incomplete files end in one error, of the server as well.
    for (file, stage) in [
        ("ciphertexts_upload/images.he", "server_encrypted_compute"),
        ("ciphertexts_download/scores.he", "client_decrypt_decode"),
    ] {
        harness.refuses_damaged("io/medium", file, &mut random, |words| harness.fails(stage, &sized, words));
    }
    write_pixels(&harness, "medium", &lines(&images[..100]));
    harness.fails("client_decrypt_decode", &sized, "a batch of 2 ciphertexts where 1");
    fs::remove_file(harness.path("io/medium/server.sock")).unwrap();
}

/// At 128 bits, with the pixels of the image in the slots of one ciphertext.
#[test]
fn a_single_image_is_read_securely() {
    let (harness, mut random) = (start(), SplitMix::new());
    let images = digits(&mut random, 1);
    write_pixels(&harness, "single", &lines(&images));
    for stage in STAGES {
        let arguments: &[&str] = match stage {
            "server_preprocess_model" => &["--no-daemon"],
            "server_encrypted_compute" => &["0", "--no-daemon"],
            _ => &["0"],
        };
        harness.passes(stage, arguments);
    }
    let found = harness.path("io/single/encrypted_model_predictions.txt");
    assert_eq!(fs::read_to_string(found).unwrap(), labels(&images));
}

#[test]
fn wrong_requests_are_refused() {
    let (harness, mut random) = (start(), SplitMix::new());
    for arguments in [&[][..], &["4"], &["small"], &["-1"]] {
        harness.fails("client_key_generation", arguments, "needs the number of the size");
    }
    harness.fails("client_key_generation", &["1", "--insecure-log-n=30"], "needs an exponent");
    let sized = ["0"];
    fs::create_dir_all(harness.path("io/single")).unwrap();
    harness.fails("server_encrypted_compute", &sized, "evaluation_keys.he");
    harness.fails("client_encode_encrypt_input", &sized, "test_pixels.txt");
    harness.passes("client_key_generation", &sized);
    let good = lines(&digits(&mut random, 2));
    let wrong = |text: &str, words: &str| {
        write_pixels(&harness, "single", &[text.to_owned()]);
        harness.fails("client_encode_encrypt_input", &sized, words);
    };
    for text in ["\n", "0.5\n", "x 0\n", &"0 ".repeat(1 << 16), &good[0].replacen('0', "7", 1)] {
        wrong(text, "line 1 is not 784 numbers from 0 to 1");
    }
    for value in ["NaN", "inf", "-0.1", "1.1"] {
        wrong(&good[0].replacen("0.000000", value, 1), "line 1 is not 784 numbers from 0 to 1");
    }
    wrong("", "no image where 1 to 1");
    wrong(&good.concat(), "more than 1 images where 1 to 1");
}
