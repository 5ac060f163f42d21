//! Compiled models.
//!
//! Must hold: bytes are refused or are a model that is written to the same bytes and says what it
//! takes. With a checksum that fits nothing impossible is built.
//!
//! Bytes: flags (1: repair the checksum; 2: changes of the good model, each a place of 16 bits and
//! a byte that is XORed there); then the file or the changes.

use super::onnx::network;
use super::target::Fields;
use he_core::ckks::{CkksParams, CkksSpec};
use he_nn::{CompiledModel, Graph, Options, Parameters};
use std::sync::OnceLock;

fn good() -> &'static [u8] {
    static GOOD: OnceLock<Vec<u8>> = OnceLock::new();
    GOOD.get_or_init(|| {
        let graph = Graph::from_onnx(&network()).expect("a network");
        let example = |i: u32| (0..16).map(|j| f64::from((i * j) % 7) / 7.0).collect();
        let data: Vec<Vec<f64>> = (0..4).map(example).collect();
        let spec = CkksSpec::from_bits(8, &[&[55][..], &[42; 8]].concat(), &[56; 3], 42.0).expect("primes");
        let spec = spec.with_dnum(3);
        let params = Parameters::Leveled(CkksParams::insecure(spec).expect("small parameters"));
        let model = CompiledModel::compile_for(graph, &data, Options { bits: 8, margin: 0.25 }, params);
        model.expect("a model").to_bytes().expect("bytes")
    })
}

pub fn run(data: &[u8]) {
    let Some((&flags, rest)) = data.split_first() else { return };
    let mut bytes = rest.to_vec();
    if flags & 2 == 2 {
        bytes = good().to_vec();
        let mut changes = Fields(rest);
        while let Some([low, high, change]) = changes.take() {
            let at = usize::from(u16::from_le_bytes([low, high])) % bytes.len();
            bytes[at] ^= change;
        }
    }
    if flags & 1 == 1 && bytes.len() >= 44 {
        bytes[..12].copy_from_slice(b"HE-MODEL\x01\0\0\0");
        let hash = blake3::hash(&bytes[44..]);
        bytes[12..44].copy_from_slice(hash.as_bytes());
    }
    if let Ok(model) = CompiledModel::from_bytes_insecure(&bytes) {
        model.facts().expect("a model that was read says what it takes");
        let _ = model.requirements();
        let again = model.to_bytes().expect("what was read is written");
        let back = CompiledModel::from_bytes_insecure(&again).expect("what was written is read");
        assert!(back.to_bytes().expect("bytes") == again, "a model is read and written differently");
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let length = good().len() as u16;
    let at = |from_end: u16| (length - from_end).to_le_bytes();
    let change = |from_end: u16, with: u8| [vec![3], at(from_end).to_vec(), vec![with]].concat();
    let good = good();
    vec![
        vec![2],
        [&[0][..], good].concat(),
        change(3, 1),
        change(9, 2),
        change(17, 1),
        [&[1][..], &good[..200]].concat(),
    ]
}
