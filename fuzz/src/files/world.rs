//! The smallest parameters that files may have, with their keys, and files under them.

use he_core::backend::Cpu;
use he_core::bfv::BfvParams;
use he_core::bigckks::{self, BigCkksParams, BigCkksSpec};
use he_core::ckks::{self, CkksParams, CkksSpec};
use he_core::exact::{self, ExactSpec};
use he_core::ring::Ring;
use he_core::rlwe::{PublicKey, SecretKey};
use he_core::tfhe::{Gadget, TfheParams, TfheSecretKey, TfheSpec, least_sigma_log2};
use he_core::wire::{Frame, FrameWriter, Wire, WireParams};
use rand::{SeedableRng, rngs::ChaCha20Rng};
use std::sync::OnceLock;

/// The key set of all of them.
pub const ID: &str = "00112233445566778899aabbccddeeff";

pub struct World {
    pub ckks: CkksParams,
    pub ckks_secret: SecretKey,
    pub bfv: BfvParams,
    pub bfv_secret: SecretKey,
    pub bigckks: BigCkksParams,
    pub bigckks_secret: bigckks::SecretKey,
    pub tfhe: TfheParams,
    pub tfhe_secret: TfheSecretKey,
}

pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Keys of 128 bits of security each.
pub fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let rng = &mut rng(5);
        let ckks = CkksSpec::from_bits(10, &[25], &[], 12.0).expect("a prime");
        let ckks = CkksParams::try_from(ckks).expect("secure parameters");
        let bfv = ExactSpec::from_bits(11, &[50], &[], 12289).expect("a prime");
        let bfv = BfvParams::try_from(bfv).expect("secure parameters");
        let bigckks = BigCkksParams::try_from(BigCkksSpec::new(11, 25, 10)).expect("secure parameters");
        let tfhe = TfheParams::try_from(TfheSpec {
            lwe_dimension: 450,
            lwe_sigma_log2: least_sigma_log2(450),
            glwe_dimension: 1,
            log_degree: 10,
            glwe_sigma_log2: least_sigma_log2(1024),
            bootstrap: Gadget { base_log: 20, levels: 1 },
            switch: Gadget { base_log: 5, levels: 2 },
        })
        .expect("secure parameters");
        World {
            ckks_secret: SecretKey::generate(ckks.rlwe(), rng),
            bfv_secret: SecretKey::generate(bfv.rlwe(), rng),
            bigckks_secret: bigckks::SecretKey::generate(&bigckks, rng),
            tfhe_secret: TfheSecretKey::generate(&tfhe, rng),
            ckks,
            bfv,
            bigckks,
            tfhe,
        }
    })
}

/// A file of parameters, a description, and frames.
pub fn file(params: &impl WireParams, description: &str, frames: &[Frame]) -> Vec<u8> {
    let mut writer = FrameWriter::new(Vec::new());
    let note =
        Frame::attachment(params.fingerprint(), description.as_bytes().to_vec()).expect("a short note");
    for frame in [&params.to_frame(), &note].into_iter().chain(frames) {
        writer.write(frame).expect("a vector takes all");
    }
    writer.finish(params.fingerprint()).expect("a vector takes all")
}

fn key_note() -> String {
    format!("{{\"key_id\":\"{ID}\"}}")
}

fn payload(content: &str) -> String {
    format!("{{\"key_id\":\"{ID}\",\"history\":[],\"content\":{content}}}")
}

/// The contents that there are, as descriptions of files of the scheme with this number.
pub fn descriptions() -> Vec<(u8, String)> {
    let contents = [
        (
            0,
            r#"{"type":"table","rows":2,"slots":16,"batch":1,"precision_bits":5.0,"columns":[{"name":"a","exponent":0,"count":1}]}"#,
        ),
        (
            0,
            r#"{"type":"image","width":7,"height":5,"channels":"gray","depth":8,"tile_width":32,"tile_height":16,"halo":2,"halo_left":2,"batch":1,"low":0.0,"high":1.0}"#,
        ),
        (
            0,
            r#"{"type":"table","rows":2,"slots":16,"batch":1,"precision_bits":5.0,"packed":4,"header":"names","columns":[{"name":"a","exponent":-3,"count":1,"offset":1.5,"precision_bits":4.0},{"name":null,"exponent":0,"count":1}]}"#,
        ),
        (
            1,
            r#"{"type":"integers","rows":3,"batch":1,"summed":false,"columns":[{"name":"a","low":-10,"high":10,"categories":null}]}"#,
        ),
        (
            1,
            r#"{"type":"integers","rows":1,"batch":1,"summed":false,"columns":[{"name":"a","low":0,"high":1,"categories":["x","y","z"]}]}"#,
        ),
        (
            1,
            r#"{"type":"samples","width":7,"height":5,"channels":"gray","depth":8,"batch":1,"white":255,"low":0,"high":255}"#,
        ),
        (
            2,
            r#"{"type":"table","rows":2,"slots":16,"batch":1,"precision_bits":5.0,"columns":[{"name":"a","exponent":0,"count":1}]}"#,
        ),
        (3, r#"{"width":8,"rows":2,"columns":["a"]}"#),
        (3, r#"{"width":1,"rows":2,"columns":[null]}"#),
    ];
    let keys = (0..4).map(|scheme| (scheme, key_note()));
    keys.chain(contents.map(|(scheme, content)| (scheme, payload(content)))).collect()
}

/// The secret keys' files, by their names.
pub fn key_files() -> [(&'static str, Vec<u8>); 4] {
    let (w, note) = (world(), key_note());
    let frame = |frame: he_core::Result<Frame>| [frame.expect("a key's frame")];
    [
        ("ckks.key", file(&w.ckks, &note, &frame(w.ckks_secret.to_frame(&w.ckks)))),
        ("bfv.key", file(&w.bfv, &note, &frame(w.bfv_secret.to_frame(&w.bfv)))),
        ("bigckks.key", file(&w.bigckks, &note, &frame(w.bigckks_secret.to_frame(&w.bigckks)))),
        ("tfhe.key", file(&w.tfhe, &note, &frame(w.tfhe_secret.to_frame(&w.tfhe)))),
    ]
}

/// An encrypted file for each description of content, as good as it can be without asking the
/// description.
pub fn encrypted_files() -> Vec<Vec<u8>> {
    let (w, rng) = (world(), &mut rng(8));
    let ckks = |slots: usize, rng: &mut ChaCha20Rng| {
        let ring = Ring::new(Cpu::new(), w.ckks.rlwe().ring().clone()).expect("a ring");
        let encoder = ckks::Encoder::new(&w.ckks, &ring).expect("an encoder");
        let plain = encoder.encode_real(&[0.5, 0.25], w.ckks.encoding().slots(slots)).expect("a plaintext");
        let encryptor = ckks::SecretEncryptor::new(&w.ckks, &w.ckks_secret, &ring).expect("an encryptor");
        encryptor.encrypt(&plain, rng).and_then(|ct| ct.to_frame(&w.ckks)).expect("a ciphertext")
    };
    let bfv = |rng: &mut ChaCha20Rng| {
        let ring = Ring::new(Cpu::new(), w.bfv.rlwe().ring().clone()).expect("a ring");
        let encoder = exact::Encoder::new(&w.bfv).expect("an encoder");
        let plain = encoder.encode(&[1i64, 2, 3]).expect("a plaintext");
        let encryptor = exact::SecretEncryptor::new(&w.bfv, &w.bfv_secret, &ring).expect("an encryptor");
        encryptor.encrypt(&plain, rng).and_then(|ct| ct.to_frame(&w.bfv)).expect("a ciphertext")
    };
    let bigckks = |rng: &mut ChaCha20Rng| {
        let ring = Ring::new(Cpu::new(), w.bigckks.ring().clone()).expect("a ring");
        let public = bigckks::PublicKey::generate(&w.bigckks_secret, &ring, rng).expect("a public key");
        let encoder = bigckks::Encoder::new(&w.bigckks, &ring).expect("an encoder");
        let plain = encoder.encode_real(&[0.5, 0.25], w.bigckks.encoding().slots(16)).expect("a plaintext");
        let encryptor = bigckks::Encryptor::new(&w.bigckks, &public).expect("an encryptor");
        encryptor.encrypt(&plain, rng).and_then(|ct| ct.to_frame(&w.bigckks)).expect("a ciphertext")
    };
    let bits = |bits: usize, rng: &mut ChaCha20Rng| match bits {
        1 => w.tfhe_secret.encrypt_flags_seeded(&[true, false], rng).and_then(|x| x.to_frame(&w.tfhe)),
        _ => w.tfhe_secret.encrypt_u64_seeded(&[7, 9], bits, rng).and_then(|x| x.to_frame(&w.tfhe)),
    };
    let described = descriptions().into_iter().filter(|(_, text)| text.contains("content"));
    described
        .map(|(scheme, text)| match scheme {
            0 => {
                let slots = if text.contains("image") { w.ckks.slots() } else { 16 };
                file(&w.ckks, &text, &[ckks(slots, rng)])
            }
            1 => file(&w.bfv, &text, &[bfv(rng)]),
            2 => file(&w.bigckks, &text, &[bigckks(rng)]),
            _ => {
                let width = if text.contains("\"width\":1,") { 1 } else { 8 };
                file(&w.tfhe, &text, &[bits(width, rng).expect("a ciphertext")])
            }
        })
        .collect()
}

/// Files that are public keys.
pub fn public_key_files() -> Vec<Vec<u8>> {
    let w = world();
    let ring = Ring::new(Cpu::new(), w.ckks.rlwe().ring().clone()).expect("a ring");
    let public = PublicKey::generate(&w.ckks_secret, &ring, &mut rng(9)).expect("a public key");
    vec![file(&w.ckks, &key_note(), &[public.to_frame(&w.ckks).expect("a key's frame")])]
}
