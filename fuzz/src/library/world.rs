//! Small rings, with keys, that many thousand inputs per second are read under.

use he_core::Error;
use he_core::backend::{Cpu, RingOps, WideOps};
use he_core::bigckks::{self, BigCkksParams, BigCkksSpec};
use he_core::ckks::{self, CkksParams, CkksSpec};
use he_core::exact::{self, ExactSpec, Params};
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, SecretKey};
use he_core::tfhe::{BootstrapKey, Gadget, TfheParams, TfheSecretKey, TfheSpec};
use he_core::wire::{Frame, SchemeParams, Wire, WireParams, WireScheme};
use rand::{SeedableRng, rngs::ChaCha20Rng};
use std::sync::OnceLock;

/// A generator of fixed numbers.
pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

fn needs() -> KeyRequirements {
    KeyRequirements::new().relinearisation().rotations([1, 2, 4]).conjugation()
}

/// A scheme over RLWE with its keys.
pub struct Rlwe<P, B: RingOps> {
    pub params: P,
    pub ring: Ring<B>,
    pub secret: SecretKey,
    pub public: PublicKey<B>,
    pub keys: EvaluationKeys<B>,
}

impl<P: SchemeParams, B: RingOps> Rlwe<P, B> {
    pub fn new(params: P, backend: B, seed: u64) -> Self {
        let rng = &mut rng(seed);
        let ring = Ring::new(backend, params.rlwe().ring().clone()).expect("a small ring");
        let secret = SecretKey::generate(params.rlwe(), rng);
        let public = PublicKey::generate(&secret, &ring, rng).expect("a public key");
        let keys = match params.rlwe().digits() {
            [] => EvaluationKeys::empty(params.rlwe(), &ring),
            _ => EvaluationKeys::generate(&secret, &ring, needs(), rng),
        };
        Self { params, ring, secret, public, keys: keys.expect("evaluation keys") }
    }
}

/// bigckks with its keys.
pub struct Wide<B: WideOps> {
    pub params: BigCkksParams,
    pub ring: Ring<B>,
    pub secret: bigckks::SecretKey,
    pub public: bigckks::PublicKey<B>,
    pub keys: bigckks::EvaluationKeys<B>,
}

impl<B: WideOps> Wide<B> {
    pub fn new(params: BigCkksParams, backend: B, seed: u64) -> Self {
        let rng = &mut rng(seed);
        let ring = Ring::new(backend, params.ring().clone()).expect("a small ring");
        let secret = bigckks::SecretKey::generate(&params, rng);
        let public = bigckks::PublicKey::generate(&secret, &ring, rng).expect("a public key");
        let keys = bigckks::EvaluationKeys::generate(&secret, &ring, needs(), rng).expect("evaluation keys");
        Self { params, ring, secret, public, keys }
    }
}

/// TFHE with its keys.
pub struct Tfhe {
    pub params: TfheParams,
    pub secret: TfheSecretKey,
    pub key: BootstrapKey,
}

impl Tfhe {
    pub fn new(params: TfheParams, seed: u64) -> Self {
        let rng = &mut rng(seed);
        let secret = TfheSecretKey::generate(&params, rng);
        let key = BootstrapKey::generate(&secret, rng);
        Self { params, secret, key }
    }
}

pub fn ckks_params(log_n: u32) -> CkksParams {
    let spec = CkksSpec::from_bits(log_n, &[45, 30, 30], &[46], 30.0).expect("primes");
    CkksParams::insecure(spec).expect("small parameters")
}

pub fn exact_params<S: WireScheme>(log_n: u32) -> Params<S> {
    let spec = ExactSpec::from_bits(log_n, &[40, 40, 30], &[45], 97).expect("primes");
    Params::insecure(spec).expect("small parameters")
}

pub fn bigckks_params(log_n: u32) -> BigCkksParams {
    BigCkksParams::insecure(BigCkksSpec::new(log_n, 100, 25)).expect("small parameters")
}

pub fn tfhe_params() -> TfheParams {
    TfheParams::insecure(TfheSpec {
        lwe_dimension: 3,
        lwe_sigma_log2: -24.0,
        glwe_dimension: 1,
        log_degree: 5,
        glwe_sigma_log2: -50.0,
        bootstrap: Gadget { base_log: 20, levels: 1 },
        switch: Gadget { base_log: 5, levels: 2 },
    })
    .expect("small parameters")
}

macro_rules! once {
    ($($(#[$attr:meta])* $name:ident: $type:ty = $value:expr;)*) => {$(
        $(#[$attr])*
        pub fn $name() -> &'static $type {
            static WORLD: OnceLock<$type> = OnceLock::new();
            WORLD.get_or_init(|| $value)
        }
    )*};
}

once! {
    ckks: Rlwe<CkksParams, Cpu> = Rlwe::new(ckks_params(4), Cpu::new(), 1);
    bfv: Rlwe<Params<he_core::bfv::Bfv>, Cpu> = Rlwe::new(exact_params(4), Cpu::new(), 2);
    bgv: Rlwe<Params<he_core::bgv::Bgv>, Cpu> = Rlwe::new(exact_params(4), Cpu::new(), 3);
    bigckks: Wide<Cpu> = Wide::new(bigckks_params(4), Cpu::new(), 4);
    tfhe: Tfhe = Tfhe::new(tfhe_params(), 5);
}

/// Reads an object, and checks that it is written as it was read.
pub fn recode<P: WireParams, T: Wire<P>>(params: &P, place: T::Place<'_>, frame: &Frame) -> Option<T> {
    let object = T::from_frame(params, place, frame).ok()?;
    let again = object.to_frame(params).expect("what was read is written");
    assert!(again.kind == frame.kind && again.fingerprint == frame.fingerprint, "{frame:?} became {again:?}");
    assert!(again.body == frame.body, "{frame:?} is read and written differently");
    Some(object)
}

/// Asserts that the outcome of computing on hostile bytes is a result, or an error that is not the
/// library's own failure.
pub fn computed<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error @ Error::Backend { .. }) => panic!("the back end failed: {error}"),
        Err(_) => None,
    }
}

/// A ciphertext of two vectors of CKKS.
pub fn ckks_ciphertext<B: RingOps>(w: &Rlwe<CkksParams, B>, seed: u64) -> ckks::Ciphertext<B> {
    let encoder = ckks::Encoder::new(&w.params, &w.ring).expect("an encoder");
    let values = [&[0.5.into(), (-0.25).into(), 0.125.into()][..], &[1.0.into()]];
    let plain = encoder.encode_batch(&values, w.params.encoding()).expect("a plaintext");
    let encryptor = ckks::Encryptor::new(&w.params, &w.public).expect("an encryptor");
    encryptor.encrypt(&plain, &mut rng(seed)).expect("a ciphertext")
}

/// A ciphertext of two vectors of BFV or BGV.
pub fn exact_ciphertext<S: WireScheme, B: RingOps>(
    w: &Rlwe<Params<S>, B>,
    seed: u64,
) -> exact::Ciphertext<S, B> {
    let encoder = exact::Encoder::new(&w.params).expect("an encoder");
    let plain = encoder.encode_batch(&[&[1i64, -2, 3][..], &[48]]).expect("a plaintext");
    let encryptor = exact::Encryptor::new(&w.params, &w.public).expect("an encryptor");
    encryptor.encrypt(&plain, &mut rng(seed)).expect("a ciphertext")
}

/// A ciphertext of two vectors of bigckks.
pub fn bigckks_ciphertext<B: WideOps>(w: &Wide<B>, seed: u64) -> bigckks::Ciphertext<B> {
    let encoder = bigckks::Encoder::new(&w.params, &w.ring).expect("an encoder");
    let values = [&[0.5.into(), (-0.25).into(), 0.125.into()][..], &[1.0.into()]];
    let plain = encoder.encode_batch(&values, w.params.encoding()).expect("a plaintext");
    let encryptor = bigckks::Encryptor::new(&w.params, &w.public).expect("an encryptor");
    encryptor.encrypt(&plain, &mut rng(seed)).expect("a ciphertext")
}
