//! All stages of fetch-by-similarity as a harness starts them: links to the program, in a folder of
//! their own, verified against plain cosines.
#![allow(missing_docs, clippy::unwrap_used)]

mod harness;

use harness::{Harness, SplitMix};
use std::collections::BTreeMap;
use std::fs;

/// The records of the least size of the workload, and their dimension.
const RECORDS: usize = 1000;
const DIMENSION: usize = 128;
/// The numbers of a payload.
const NUMBERS: usize = 7;

const STAGES: [&str; 9] = [
    "client_preprocess_dataset",
    "client_key_generation",
    "client_encode_encrypt_db",
    "server_preprocess_dataset",
    "client_preprocess_query",
    "client_encode_encrypt_query",
    "server_encrypted_compute",
    "client_decrypt_decode",
    "client_postprocess",
];

/// Data of the harness' form: records about centres and elsewhere, payloads, and a query near a
/// centre.
struct Data {
    vectors: Vec<Vec<f32>>,
    payloads: Vec<[i16; NUMBERS]>,
    query: Vec<f32>,
}

impl Data {
    fn draw(random: &mut SplitMix) -> Self {
        let centres: Vec<Vec<f32>> = (0..31).map(|_| unit(random)).collect();
        let near = |random: &mut SplitMix| {
            let centre = &centres[random.next() as usize % 31];
            normalised(centre.iter().zip(unit(random)).map(|(x, y)| x + 0.3 * y).collect())
        };
        let vectors = (0..RECORDS).map(|_| match random.next() % 2 {
            0 => near(random),
            _ => unit(random),
        });
        let vectors = vectors.collect();
        let payloads = (0..RECORDS).map(|_| std::array::from_fn(|_| (random.next() % 512) as i16)).collect();
        Self { vectors, payloads, query: near(random) }
    }

    fn write(&self, harness: &Harness) {
        let folder = harness.path("datasets/toy");
        fs::create_dir_all(&folder).unwrap();
        let floats = |all: &[f32]| all.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        fs::write(folder.join("db.bin"), floats(&self.vectors.concat())).unwrap();
        fs::write(folder.join("query.bin"), floats(&self.query)).unwrap();
        fs::write(folder.join("payloads.bin"), bytes(&self.payloads)).unwrap();
    }

    /// The payloads of the records whose cosines exceed 0.8, in their order.
    fn expected(&self) -> Vec<[i16; NUMBERS]> {
        let near = |x: &[f32]| x.iter().zip(&self.query).map(|(a, b)| a * b).sum::<f32>() > 0.8;
        let all = self.vectors.iter().zip(&self.payloads);
        let mut found: Vec<_> = all.filter(|(x, _)| near(x)).map(|(_, payload)| *payload).collect();
        found.sort_unstable();
        found
    }
}

fn bytes(payloads: &[[i16; NUMBERS]]) -> Vec<u8> {
    payloads.iter().flatten().flat_map(|number| number.to_le_bytes()).collect()
}

fn normalised(vector: Vec<f32>) -> Vec<f32> {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.iter().map(|x| x / norm).collect()
}

/// A vector of random direction.
fn unit(random: &mut SplitMix) -> Vec<f32> {
    let mut uniform = || random.next() as f32 / u64::MAX as f32;
    normalised((0..DIMENSION).map(|_| (0..12).map(|_| uniform()).sum::<f32>() - 6.0).collect())
}

fn start() -> (Harness, SplitMix, Data) {
    let harness = Harness::new("fetch-by-similarity", "submission/build", &STAGES);
    let mut random = SplitMix::new();
    let data = Data::draw(&mut random);
    data.write(&harness);
    (harness, random, data)
}

/// The stages before the first query, and then two queries: the second meets the server of the
/// first, unless it has none.
fn run(harness: &Harness, data: &Data, flags: &[&str]) {
    let arguments = [&["0"], flags, &["--seed", "17"]].concat();
    for stage in &STAGES[..4] {
        harness.passes(stage, &arguments);
    }
    let count_only = flags.contains(&"--count_only");
    let expected = data.expected();
    assert!(!expected.is_empty());
    for more in [&[][..], &["--no-daemon"]] {
        for stage in &STAGES[4..] {
            harness.passes(stage, &[&arguments, more].concat());
        }
        let results = fs::read(harness.path("io/toy/results.bin")).unwrap();
        match count_only {
            true => assert_eq!(results, (expected.len() as i64).to_le_bytes()),
            false => assert_eq!(results, bytes(&expected)),
        }
        fs::remove_file(harness.path("io/toy/results.bin")).unwrap();
    }
    let steps = fs::read_to_string(harness.path("io/toy/server_reported_steps.json")).unwrap();
    let steps: BTreeMap<String, f64> = serde_json::from_str(&steps).unwrap();
    assert!(steps["Expansion of the query"] > 0.0 && steps.len() == 4, "{steps:?}");
}

#[test]
fn a_harness_counts_and_fetches_by_insecure_parameters() {
    let (harness, mut random, data) = start();
    let small = "--insecure-log-n=10";
    run(&harness, &data, &["--count_only", small]);
    fs::remove_dir_all(harness.path("io")).unwrap();
    run(&harness, &data, &[small]);

    // Hostile and incomplete files end in one error, of the server as well.
    let arguments = ["0", small];
    for (file, stage) in [
        ("ciphertexts_upload/query.bin", "server_encrypted_compute"),
        ("ciphertexts_download/results.bin", "client_decrypt_decode"),
    ] {
        harness.refuses_damaged("io/toy", file, &mut random, |words| harness.fails(stage, &arguments, words));
    }
    let folder = harness.path("io/toy");
    let query = fs::read(folder.join("ciphertexts_upload/query.bin")).unwrap();
    let database = fs::read(folder.join("ciphertexts_upload/database.he")).unwrap();
    fs::write(folder.join("ciphertexts_upload/query.bin"), &database).unwrap();
    harness.fails("server_encrypted_compute", &arguments, "too many ciphertexts");
    fs::write(folder.join("ciphertexts_upload/query.bin"), &query).unwrap();
    fs::write(folder.join("ciphertexts_upload/database.he"), &query).unwrap();
    let alone = ["0", small, "--no-daemon"];
    harness.fails("server_encrypted_compute", &alone, "too few ciphertexts");
    // Without its socket the server ends, and the next one tells why it does not start.
    fs::remove_file(folder.join("server.sock")).unwrap();
    harness.fails("server_preprocess_dataset", &arguments, "too few ciphertexts");
    fs::write(folder.join("ciphertexts_upload/database.he"), &database).unwrap();
    // Keys and files of other parameters are refused.
    harness.fails("client_encode_encrypt_query", &["0", "--insecure-log-n=11"], "parameters");
    harness.fails("server_encrypted_compute", &["0", small, "--count_only", "--no-daemon"], "parameters");
}

#[test]
#[ignore = "parameters of 128 bits take half a minute in the dev profile; tests/deep.sh runs it"]
fn a_harness_counts_and_fetches_by_secure_parameters() {
    let (harness, _, data) = start();
    run(&harness, &data, &["--count_only"]);
    fs::remove_dir_all(harness.path("io")).unwrap();
    run(&harness, &data, &[]);
    fs::remove_file(harness.path("io/toy/server.sock")).unwrap();
}

#[test]
fn wrong_requests_are_refused() {
    let (harness, _, data) = start();
    let small = "--insecure-log-n=10";
    harness.fails("client_key_generation", &[], "needs the number of the size");
    harness.fails("client_key_generation", &["4"], "needs the number of the size");
    harness.fails("client_key_generation", &["toy"], "needs the number of the size");
    harness.fails("client_key_generation", &["3"], "20000000 records are too many");
    harness.fails("client_key_generation", &["0", "--remote"], "--remote is not a flag");
    for degree in ["--insecure-log-n", "--insecure-log-n=40", "--insecure-log-n=x"] {
        harness.fails("client_key_generation", &["0", degree], "needs an exponent");
    }
    harness.fails("client_encode_encrypt_db", &["0", small], "secret_key.he");
    harness.passes("client_key_generation", &["0", small]);
    harness.fails("server_encrypted_compute", &["0", small], "database.he");
    let folder = harness.path("datasets/toy");
    fs::write(folder.join("db.bin"), [0; 100]).unwrap();
    harness.fails("client_encode_encrypt_db", &["0", small], "100 bytes where 512000");
    data.write(&harness);
    let mut payloads = data.payloads.clone();
    for (row, wrong) in [(999, 512), (3, -1)] {
        payloads[row][6] = wrong;
        fs::write(folder.join("payloads.bin"), bytes(&payloads)).unwrap();
        let words = format!("the payload of record {row} has the number {wrong}");
        harness.fails("client_encode_encrypt_db", &["0", small], &words);
    }
    fs::write(folder.join("query.bin"), [255; 4 * DIMENSION]).unwrap();
    harness.fails("client_encode_encrypt_query", &["0", small], "not a finite number");
}
