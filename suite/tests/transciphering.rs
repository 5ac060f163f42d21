//! All stages of transciphering as a harness starts them: links to the program, in a folder of
//! their own, verified against plain integers and another implementation of AES.
#![allow(missing_docs, clippy::unwrap_used)]

mod harness;

use harness::{Harness, SplitMix};
use he::aes::{Bulk, BulkCipher as _, Direction, Key, Reference};
use std::collections::BTreeMap;
use std::fs;

const STAGES: [&str; 10] = [
    "client_preprocess",
    "client_key_generation",
    "client_encode_encrypt",
    "server_preprocess_dataset",
    "server_encrypted_aes_decryption",
    "server_encrypted_compute",
    "client_decrypt_decode_aes_decryption",
    "client_postprocess_aes_decryption",
    "client_decrypt_decode",
    "client_postprocess",
];

fn start() -> Harness {
    Harness::new("transciphering", "submission/target/release", &STAGES)
}

/// A key, a counter unless there is none, and numbers, as the harness draws them.
struct Data {
    key: Vec<u8>,
    counter: Option<[u8; 16]>,
    numbers: Vec<u16>,
}

impl Data {
    fn draw(random: &mut SplitMix, count: usize, with_counter: bool) -> Self {
        let mut bytes = |count: usize| (0..count).map(|_| random.next() as u8).collect::<Vec<u8>>();
        let key = bytes(16);
        // It overflows within the message.
        let counter = with_counter.then_some([0xff; 16]);
        let numbers = bytes(2 * count).chunks(2).map(|x| u16::from_be_bytes([x[0], x[1]])).collect();
        Self { key, counter, numbers }
    }

    fn encrypted(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.numbers.iter().flat_map(|x| x.to_be_bytes()).collect();
        let (key, data) = (Key::from_slice(&self.key).unwrap(), Bulk::in_place(&mut bytes));
        match &self.counter {
            Some(counter) => Reference::new().hazmat_ctr(&key, counter, data).unwrap(),
            None => Reference::new().hazmat_ecb(&key, Direction::Encrypt, data).unwrap(),
        }
        bytes
    }

    fn write(&self, harness: &Harness, size: &str) {
        let folder = harness.path("datasets").join(size);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("aes_key.hex"), hex(&self.key)).unwrap();
        fs::write(folder.join("db.hex"), hex(&self.encrypted())).unwrap();
        if let Some(counter) = self.counter {
            fs::write(folder.join("aes_iv.hex"), hex(&counter)).unwrap();
        }
    }

    fn lines(&self) -> String {
        self.numbers.iter().map(|number| format!("{number}\n")).collect()
    }

    fn maximum(&self) -> u16 {
        *self.numbers.iter().max().unwrap()
    }

    fn inner_product(&self) -> u16 {
        let (left, right) = self.numbers.split_at(self.numbers.len() / 2);
        let products = left.iter().zip(right).map(|(x, y)| x.wrapping_mul(*y));
        products.fold(0, u16::wrapping_add)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The stages up to the decrypted numbers.
fn numbers(harness: &Harness, size: [&str; 2], name: &str) -> String {
    for stage in &STAGES[..5] {
        harness.passes(stage, &size);
    }
    harness.passes("client_decrypt_decode_aes_decryption", &size);
    harness.passes("client_postprocess_aes_decryption", &size);
    fs::read_to_string(harness.path(format!("io/{name}/result_aes.txt"))).unwrap()
}

/// The result of the task with this number.
fn result(harness: &Harness, size: [&str; 2], name: &str, task: &str) -> u16 {
    let task = [("HE_SUITE_MINI_WORKLOAD", task)];
    harness.passes_in(&task, "server_encrypted_compute", &size);
    harness.passes("client_decrypt_decode", &size);
    harness.passes("client_postprocess", &size);
    let text = fs::read_to_string(harness.path(format!("io/{name}/result.txt"))).unwrap();
    text.trim_end().parse().unwrap()
}

/// One block without a counter, then both tasks on its eight numbers.
#[test]
fn a_harness_runs_through_all_stages_of_one_block() {
    let (harness, mut random) = (start(), SplitMix::new());
    let (data, toy) = (Data::draw(&mut random, 8, false), ["0", "--insecure"]);
    data.write(&harness, "toy");
    assert_eq!(numbers(&harness, toy, "toy"), data.lines());
    assert_eq!(result(&harness, toy, "toy", "0"), data.maximum());
    assert_eq!(result(&harness, toy, "toy", "1"), data.inner_product());
    let steps = fs::read_to_string(harness.path("io/toy/server_reported_steps.json")).unwrap();
    let steps: BTreeMap<String, f64> = serde_json::from_str(&steps).unwrap();
    for step in ["AES decryption", "Maximum", "Inner product"] {
        assert!(steps[step] > 0.0, "{steps:?}");
    }
    fs::remove_file(harness.path("io/toy/server.sock")).unwrap();
}

/// Six blocks with a counter, more than are decrypted at once, and an odd number of rounds.
#[test]
fn messages_with_a_counter_are_decrypted() {
    let (harness, mut random) = (start(), SplitMix::new());
    let (data, small) = (Data::draw(&mut random, 48, true), ["1", "--insecure"]);
    data.write(&harness, "small");
    assert_eq!(numbers(&harness, small, "small"), data.lines());
    assert_eq!(result(&harness, small, "small", "0"), data.maximum());

    // Hostile and incomplete files end in one error, of the server as well.
    for (file, stage) in [
        ("ciphertext_aes_download/numbers.he", "server_encrypted_compute"),
        ("ciphertext_aes_download/numbers.he", "client_decrypt_decode_aes_decryption"),
        ("ciphertexts_download/result.he", "client_decrypt_decode"),
    ] {
        harness.refuses_damaged("io/small", file, &mut random, |words| harness.fails(stage, &small, words));
    }
    let message = harness.path("io/small/ciphertexts_upload/message.aes");
    for (length, words) in [(20, "4 bytes where whole blocks"), (9, "9 bytes where a counter")] {
        fs::write(&message, vec![0; length]).unwrap();
        harness.fails("server_encrypted_aes_decryption", &small, words);
    }
    fs::write(&message, vec![0; 1000]).unwrap();
    harness.fails("server_encrypted_aes_decryption", &small, "more than 272 bytes where at most 272");
    fs::remove_file(harness.path("io/small/server.sock")).unwrap();
}

#[test]
fn wrong_requests_are_refused() {
    let (harness, mut random) = (start(), SplitMix::new());
    for arguments in [&[][..], &["4"], &["toy"]] {
        harness.fails("client_key_generation", arguments, "needs the number of the size");
    }
    let toy = ["0", "--insecure"];
    harness.fails("client_encode_encrypt", &toy, "aes_key.hex");
    Data::draw(&mut random, 8, false).write(&harness, "toy");
    harness.fails("client_encode_encrypt", &toy, "secret_key.he");
    harness.passes("client_key_generation", &toy);
    let folder = harness.path("datasets/toy");
    for (file, text, words) in [
        ("aes_key.hex", "00", "key"),
        ("aes_key.hex", &"0".repeat(100), "more than 33 bytes"),
        ("aes_key.hex", &"xy".repeat(16), "line 1 is not pairs of hexadecimal digits"),
        ("db.hex", "", "0 bytes where whole blocks"),
        ("db.hex", "123", "pairs of hexadecimal digits"),
    ] {
        let good = fs::read(folder.join(file)).unwrap();
        fs::write(folder.join(file), text).unwrap();
        harness.fails("client_encode_encrypt", &toy, words);
        fs::write(folder.join(file), good).unwrap();
    }
    let task = [("HE_SUITE_MINI_WORKLOAD", "2")];
    harness.fails_in(&task, "server_encrypted_compute", &toy, "HE_SUITE_MINI_WORKLOAD=2 is not a task");
}
