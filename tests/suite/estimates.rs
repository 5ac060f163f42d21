//! Every parameter set has the security that it states, by the lattice estimator.
//!
//! The estimator takes minutes and Sage, so it is not run here: `tests/estimates` keeps what it was
//! asked (`instances.json`) and what it answered (`results.json`). These tests compare the
//! questions with the library of today, and the answers with the bits that it states.

use he::bootstrapping::presets::Preset;
use he::params::{Security, max_log_qp, max_sparse_log_qp};
use he::rlwe::RlweParams;
use he::tfhe::{TfheParams, least_sigma_log2, presets};
use he::words::WordParams;
use he::{bfv, bgv, ckks};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The coins of either sign of which an error of RLWE is the sum: deviation sqrt(21 / 2) = 3.24.
const ERROR_COINS: u32 = 21;

/// The least Hamming weight of a sparse secret.
const SPARSE_WEIGHT: usize = 32;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/estimates").join(name)
}

fn read(name: &str) -> String {
    let path = path(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// To six decimals, which is more than any estimate resolves.
fn rounded(x: f64) -> f64 {
    (x * 1e6).round() / 1e6
}

/// A secret of RLWE with centred binomial errors; of this weight, or uniform.
fn rlwe(name: String, log_n: u32, log_q: f64, weight: Option<usize>, bits: u32) -> Value {
    let secret = match weight {
        Some(weight) => json!({ "kind": "sparse ternary", "weight": weight }),
        None => json!({ "kind": "ternary" }),
    };
    json!({
        "name": name,
        "bits": bits,
        "ring": true,
        "dimension": 1u32 << log_n,
        "log_q": rounded(log_q),
        "secret": secret,
        "error": { "kind": "centred binomial", "coins": ERROR_COINS },
    })
}

/// The presets of CKKS, BFV and BGV, and the parameters of words and of private look-ups.
fn rlwe_presets() -> Vec<(&'static str, RlweParams)> {
    let ckks = [
        ("ckks_n12_d1", ckks::presets::ckks_n12_d1()),
        ("ckks_n13_d3", ckks::presets::ckks_n13_d3()),
        ("ckks_n14_d7", ckks::presets::ckks_n14_d7()),
        ("ckks_n15_d14", ckks::presets::ckks_n15_d14()),
        ("ckks_n16_d28", ckks::presets::ckks_n16_d28()),
    ];
    let bfv = [
        ("bfv_n12_d1", bfv::presets::bfv_n12_d1()),
        ("bfv_n13_d4", bfv::presets::bfv_n13_d4()),
        ("bfv_n14_d11", bfv::presets::bfv_n14_d11()),
        ("bfv_n15_d21", bfv::presets::bfv_n15_d21()),
    ];
    let bgv = [
        ("bgv_n12_d1", bgv::presets::bgv_n12_d1()),
        ("bgv_n13_d3", bgv::presets::bgv_n13_d3()),
        ("bgv_n14_d8", bgv::presets::bgv_n14_d8()),
        ("bgv_n15_d16", bgv::presets::bgv_n15_d16()),
    ];
    let ckks = ckks.map(|(name, params)| (name, params.unwrap().rlwe().clone()));
    let bfv = bfv.map(|(name, params)| (name, params.unwrap().rlwe().clone()));
    let bgv = bgv.map(|(name, params)| (name, params.unwrap().rlwe().clone()));
    let words = WordParams::new(64).unwrap().ckks().rlwe().clone();
    let lookup = he_lookup::Plan::index(1, 1).params().unwrap().rlwe().clone();
    let others = [("words of 64 bits", words), ("private look-up", lookup)];
    ckks.into_iter().chain(bfv).chain(bgv).chain(others).collect()
}

/// A binary secret of this dimension with errors of this deviation on the torus.
fn binary(name: String, (dimension, ring): (usize, bool), log_q: u32, sigma_log2: f64, bits: u32) -> Value {
    json!({
        "name": name,
        "bits": bits,
        "ring": ring,
        "dimension": dimension,
        "log_q": f64::from(log_q),
        "secret": { "kind": "binary" },
        "error": { "kind": "gaussian", "sigma_log2": rounded(sigma_log2) },
    })
}

/// Both secrets of a set of TFHE: that of small ciphertexts and that of GLWE.
fn tfhe(name: &str, params: &TfheParams) -> [Value; 2] {
    let (spec, bits) = (params.spec(), if params.is_secure() { 128 } else { 0 });
    [
        binary(format!("{name}, LWE"), (spec.lwe_dimension, false), 32, spec.lwe_sigma_log2, bits),
        binary(format!("{name}, GLWE"), (params.dimension(), true), 64, spec.glwe_sigma_log2, bits),
    ]
}

fn instances() -> Vec<Value> {
    let mut instances = Vec::new();
    for log_n in 10..=17 {
        for security in [Security::Bits128, Security::Bits192, Security::Bits256] {
            if let Some(bound) = max_log_qp(log_n, security) {
                let (bound, bits) = (f64::from(bound), security.bits());
                instances.push(rlwe(format!("table, 2^{log_n}, {bits} bits"), log_n, bound, None, bits));
            }
        }
    }
    for log_n in 10..=17 {
        if let Some(bound) = max_sparse_log_qp(log_n, SPARSE_WEIGHT) {
            let name = format!("table of sparse secrets, 2^{log_n}");
            instances.push(rlwe(name, log_n, f64::from(bound), Some(SPARSE_WEIGHT), 128));
        }
    }
    for (name, params) in rlwe_presets() {
        let ring = params.ring();
        let bits = params.security().bits();
        instances.push(rlwe(name.to_owned(), ring.log_n(), ring.log_qp(), None, bits));
    }
    for preset in Preset::ALL {
        let facts = preset.facts().unwrap();
        for (what, secret) in [("dense", facts.dense), ("sparse", facts.sparse)] {
            let bits = secret.security_bits(facts.log_n);
            let name = format!("bootstrapping {preset}, {what}");
            instances.push(rlwe(name, facts.log_n, secret.log_modulus, secret.weight, bits));
        }
    }
    for (name, params) in [
        ("gates_2m128", presets::gates_2m128()),
        ("gates_2m40", presets::gates_2m40()),
        ("digits_2m128", presets::digits_2m128()),
        ("digits_2m40", presets::digits_2m40()),
        ("gates_2m128_multibit", presets::gates_2m128_multibit()),
        ("gates_2m40_multibit", presets::gates_2m40_multibit()),
        ("digits_2m128_multibit", presets::digits_2m128_multibit()),
        ("digits_2m40_multibit", presets::digits_2m40_multibit()),
        ("insecure_lambda100", presets::insecure_lambda100()),
    ] {
        instances.extend(tfhe(name, &params.unwrap()));
    }
    // Any dimension from the least may be asked for, with errors on the line.
    for dimension in (450..=1000).step_by(50).chain([1024, 1280, 1536, 1792, 2048, 4096]) {
        let sigma = least_sigma_log2(dimension.min(2048));
        let log_q = if dimension > 1000 { 64 } else { 32 };
        let name = format!("line of TFHE, {dimension}");
        instances.push(binary(name, (dimension, false), log_q, sigma, 128));
    }
    instances
}

/// One instance per line.
fn text(instances: &[Value]) -> String {
    let lines: Vec<String> = instances.iter().map(|instance| format!("  {instance}")).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

#[test]
fn the_library_has_the_committed_instances() {
    let (found, committed) = (text(&instances()), read("instances.json"));
    let missing: Vec<&str> = found.lines().filter(|line| !committed.contains(line)).collect();
    assert!(
        found == committed,
        "parameters differ from tests/estimates/instances.json: write it anew and estimate what is new \
         (tests/estimates/README.md)\n{}",
        missing.join("\n")
    );
}

/// Each instance has an answer by each cost model whose cheapest attack takes the stated bits.
#[test]
fn instances_have_the_bits_that_they_state() {
    let instances: Vec<Value> = serde_json::from_str(&read("instances.json")).unwrap();
    let results: Value = serde_json::from_str(&read("results.json")).unwrap();
    assert!(instances.len() > 40, "{}", instances.len());
    for instance in &instances {
        let result = results["results"].as_array().unwrap().iter().find(|r| r["instance"] == *instance);
        let result = result.unwrap_or_else(|| panic!("no estimate of {instance}"));
        for model in ["MATZOV", "BDGL16"] {
            let attacks = result["bits"][model].as_object().unwrap();
            assert!(["usvp", "bdd", "dual"].iter().all(|&attack| attacks.contains_key(attack)));
            let least = attacks.values().filter_map(Value::as_f64).fold(f64::INFINITY, f64::min);
            let stated = instance["bits"].as_f64().unwrap();
            assert!(least.is_finite() && least >= stated, "{model}: {least} bits: {instance}");
        }
    }
}

/// Run it to write the instances of today: see `tests/estimates/README.md`.
#[test]
#[ignore = "writes tests/estimates/instances.json"]
fn write_instances() {
    std::fs::write(path("instances.json"), text(&instances())).unwrap();
}
