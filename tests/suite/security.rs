//! Secrets are wiped before their memory is given back, and nothing prints them.

use super::common::*;
use he::backend::{Backend, CkksOps, Cpu, CpuBuf, ExactOps, KeySwitchOps, MatrixOps, PolyOps, PreparedRing};
use he::ckks::{Ciphertext, CkksParams, CkksSpec, Complex64, Decryptor, Encoder, Encryptor, SecretEncryptor};
use he::ring::{
    Coeff, DomainKind, Eval, Operand, Poly, Ring, RingSpec, Rows, SecretPoly, Seed, Span, galois_rotation,
};
use he::rlwe::{EvaluationKeys, Flooding, KeyRequirements, PublicKey, RlweCiphertext, SecretKey};
use he::wire::Wire;
use he::{Error, Result};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// The CPU, with a look into every buffer at the moment when it is given back.
#[derive(Clone, Debug)]
struct Spy {
    cpu: Cpu,
    /// Words of buffers that were freed, or cut off, without being zero.
    freed: Arc<Mutex<Vec<Vec<u64>>>>,
}

struct Spied {
    words: CpuBuf,
    freed: Arc<Mutex<Vec<Vec<u64>>>>,
}

impl Spied {
    fn record(&self, words: &[u64]) {
        if words.iter().any(|&word| word != 0) {
            self.freed.lock().unwrap().push(words.to_vec());
        }
    }
}

impl Drop for Spied {
    fn drop(&mut self) {
        self.record(&self.words);
    }
}

/// A ring of the spy: that of the CPU.
struct SpyRing {
    spy: Spy,
    cpu: <Cpu as Backend>::Ring,
}

fn operand(x: Operand<'_, Spied>) -> Operand<'_, CpuBuf> {
    Operand::at(&x.buf.words, x.batch, x.at)
}

impl Spy {
    fn new() -> Self {
        Self { cpu: Cpu::new(), freed: Arc::default() }
    }

    fn take(&self) -> Vec<Vec<u64>> {
        std::mem::take(&mut self.freed.lock().unwrap())
    }

    fn buf(&self, words: CpuBuf) -> Spied {
        Spied { words, freed: Arc::clone(&self.freed) }
    }
}

impl Backend for Spy {
    type Buf = Spied;
    type Ring = SpyRing;

    fn name(&self) -> String {
        "spy".into()
    }
    fn prepare(&self, spec: &RingSpec) -> Result<SpyRing> {
        Ok(SpyRing { spy: self.clone(), cpu: self.cpu.prepare(spec)? })
    }
    fn zeros(&self, words: usize) -> Result<Spied> {
        Ok(self.buf(self.cpu.zeros(words)?))
    }
    fn upload(&self, words: &[u64]) -> Result<Spied> {
        Ok(self.buf(self.cpu.upload(words)?))
    }
    fn download(&self, buf: &Spied, range: Range<usize>) -> Result<Vec<u64>> {
        self.cpu.download(&buf.words, range)
    }
    fn copy(&self, src: &Spied, from: usize, dst: &mut Spied, to: usize, words: usize) -> Result<()> {
        self.cpu.copy(&src.words, from, &mut dst.words, to, words)
    }
    fn words(&self, buf: &Spied) -> usize {
        self.cpu.words(&buf.words)
    }
    fn truncate(&self, buf: &mut Spied, words: usize) {
        buf.record(&buf.words[words..]);
        self.cpu.truncate(&mut buf.words, words);
    }
    fn wipe(&self, buf: &mut Spied) {
        self.cpu.wipe(&mut buf.words);
    }
    fn synchronize(&self) -> Result<()> {
        self.cpu.synchronize()
    }
}

impl PreparedRing for SpyRing {
    type Buf = Spied;
    type Backend = Spy;

    fn backend(&self) -> &Spy {
        &self.spy
    }
    fn spec(&self) -> &RingSpec {
        self.cpu.spec()
    }
}

/// The small operations, run on the CPU; the coarse ones keep their provided bodies.
impl PolyOps for SpyRing {
    fn ntt(&self, rows: Rows, a: &mut Spied) -> Result<()> {
        self.cpu.ntt(rows, &mut a.words)
    }
    fn intt(&self, rows: Rows, a: &mut Spied) -> Result<()> {
        self.cpu.intt(rows, &mut a.words)
    }
    fn add_assign(&self, rows: Rows, a: &mut Spied, b: Operand<'_, Spied>) -> Result<()> {
        self.cpu.add_assign(rows, &mut a.words, operand(b))
    }
    fn sub_assign(&self, rows: Rows, a: &mut Spied, b: Operand<'_, Spied>) -> Result<()> {
        self.cpu.sub_assign(rows, &mut a.words, operand(b))
    }
    fn neg_assign(&self, rows: Rows, a: &mut Spied) -> Result<()> {
        self.cpu.neg_assign(rows, &mut a.words)
    }
    fn mul_assign(&self, rows: Rows, a: &mut Spied, b: Operand<'_, Spied>) -> Result<()> {
        self.cpu.mul_assign(rows, &mut a.words, operand(b))
    }
    fn mul_add_assign(
        &self,
        rows: Rows,
        acc: &mut Spied,
        x: Operand<'_, Spied>,
        y: Operand<'_, Spied>,
    ) -> Result<()> {
        self.cpu.mul_add_assign(rows, &mut acc.words, operand(x), operand(y))
    }
    fn scale_assign(&self, rows: Rows, a: &mut Spied, factors: &[u64]) -> Result<()> {
        self.cpu.scale_assign(rows, &mut a.words, factors)
    }
    fn scale_add_assign(
        &self,
        rows: Rows,
        acc: &mut Spied,
        x: Operand<'_, Spied>,
        factors: &[u64],
    ) -> Result<()> {
        self.cpu.scale_add_assign(rows, &mut acc.words, operand(x), factors)
    }
    fn add_scalar_assign(&self, rows: Rows, a: &mut Spied, terms: &[u64]) -> Result<()> {
        self.cpu.add_scalar_assign(rows, &mut a.words, terms)
    }
    fn automorphism(
        &self,
        rows: Rows,
        domain: DomainKind,
        g: u64,
        src: Operand<'_, Spied>,
        dst: &mut Spied,
    ) -> Result<()> {
        self.cpu.automorphism(rows, domain, g, operand(src), &mut dst.words)
    }
    fn convert_basis(&self, from: Rows, src: &Spied, to: Rows, dst: &mut Spied) -> Result<()> {
        self.cpu.convert_basis(from, &src.words, to, &mut dst.words)
    }
    fn reduce_signed(&self, rows: Rows, src: &Spied, dst: &mut Spied) -> Result<()> {
        self.cpu.reduce_signed(rows, &src.words, &mut dst.words)
    }
    fn sample_uniform(&self, rows: Rows, seed: &Seed, index: u32, dst: &mut Spied) -> Result<()> {
        self.cpu.sample_uniform(rows, seed, index, &mut dst.words)
    }
    fn sample_ternary(&self, rows: Rows, seed: &Seed, index: u32, dst: &mut Spied) -> Result<()> {
        self.cpu.sample_ternary(rows, seed, index, &mut dst.words)
    }
    fn sample_error(&self, rows: Rows, seed: &Seed, index: u32, dst: &mut Spied) -> Result<()> {
        self.cpu.sample_error(rows, seed, index, &mut dst.words)
    }
}

impl KeySwitchOps for SpyRing {}

impl CkksOps for SpyRing {}

impl ExactOps for SpyRing {}

impl MatrixOps for SpyRing {}

fn params() -> CkksParams {
    CkksParams::insecure(CkksSpec::from_bits(4, &[45, 36, 36], &[46], 36.0).unwrap()).unwrap()
}

#[test]
fn a_wiped_buffer_is_zero() {
    let cpu = Cpu::new();
    let mut buf = cpu.upload(&[1, u64::MAX, 3]).unwrap();
    cpu.wipe(&mut buf);
    assert_eq!(cpu.download(&buf, 0..3).unwrap(), [0; 3]);
    let ring = Ring::new(cpu, params().rlwe().ring().clone()).unwrap();
    let mut poly: Poly<Eval, Cpu> = Poly::uniform(&ring, Span::extended(3, 1), 2, &Seed([1; 32]), 0).unwrap();
    assert!(poly.to_words().unwrap().iter().all(|&word| word != 0));
    poly.wipe();
    assert!(poly.to_words().unwrap().iter().all(|&word| word == 0));
}

#[test]
fn a_secret_polynomial_is_wiped_when_dropped() {
    let spy = Spy::new();
    let ring = Ring::new(spy.clone(), params().rlwe().ring().clone()).unwrap();
    let uniform = || Poly::uniform(&ring, Span::chain(3), 1, &Seed([1; 32]), 0).unwrap();
    // The spy sees an ordinary polynomial ...
    let ordinary: Poly<Eval, Spy> = uniform();
    let words = ordinary.to_words().unwrap();
    drop(ordinary);
    assert_eq!(spy.take(), [words]);
    // ... and no secret one.
    drop(SecretPoly::<Eval, Spy>::new(uniform()));
    drop(SecretPoly::<Coeff, Spy>::new(uniform().into_coeff().unwrap()));
    assert!(spy.take().is_empty());
    let secret = SecretKey::generate(params().rlwe(), &mut rng(50));
    drop(secret.on(&ring, Span::extended(3, 1)).unwrap());
    assert!(spy.take().is_empty(), "making it and dropping it leaves nothing");
}

/// Keys are made, and vectors encrypted and decrypted; then no freed buffer may hold a row that
/// reveals the secret: s, s^2 or s(X^g) in either form modulo any prime, a s for a public a, the
/// ephemeral v of an encryption, or an error.
#[test]
fn freed_memory_holds_no_secret() {
    let params = params();
    let spy = Spy::new();
    let ring = Ring::new(spy.clone(), params.rlwe().ring().clone()).unwrap();
    let (n, log_n) = (ring.n(), ring.spec().log_n());
    let all = params.rlwe().key_span();
    let chain = Span::chain(all.q);
    let rng = &mut rng(51);

    let secret = SecretKey::generate(params.rlwe(), rng);
    let public = PublicKey::generate(&secret, &ring, rng).unwrap();
    let keys = EvaluationKeys::generate(
        &secret,
        &ring,
        KeyRequirements::new().relinearisation().rotations([1, -1]).conjugation(),
        rng,
    )
    .unwrap();
    let encoder = Encoder::new(&params, &ring).unwrap();
    let plain = encoder.encode(&[Complex64::ONE; 8], params.encoding()).unwrap();
    let secret_encryptor = SecretEncryptor::new(&params, &secret, &ring).unwrap();
    let seeded = secret_encryptor.encrypt(&plain, rng).unwrap();
    let seeded_mask = seeded.parts().1.clone();
    // The seed of v, e0 and e1 is the first that the encryptor draws.
    let ephemeral = Seed::random(&mut super::common::rng(54));
    let encryptor = Encryptor::new(&params, &public).unwrap();
    let ct = encryptor.encrypt(&plain, &mut super::common::rng(54)).unwrap();
    let decryptor = Decryptor::new(&params, &secret, &ring).unwrap();
    let own = decryptor.decrypt(&ct).unwrap();
    let phase = own.poly().duplicate().unwrap();
    encoder.decode(&own).unwrap();
    drop(decryptor.decrypt_flooded(&ct, Flooding::Bits(20), rng).unwrap());
    drop((decryptor, secret_encryptor, own));
    let freed = spy.take();
    assert!(freed.len() > 10, "the spy saw {} buffers", freed.len());

    let mut forbidden: HashSet<Vec<u64>> = HashSet::new();
    let mut forbid = |poly: Poly<Eval, Spy>| {
        for words in [poly.to_words().unwrap(), poly.into_coeff().unwrap().to_words().unwrap()] {
            forbidden.extend(words.chunks(n).map(<[u64]>::to_vec));
        }
    };
    // Message and noise: together with the ciphertext they reveal s.
    forbid(phase);
    let s = || secret.on(&ring, all).unwrap();
    let copy = || s().get().duplicate().unwrap();
    let mut square = copy();
    square.mul_assign(s().get()).unwrap();
    forbid(square);
    for step in [1, -1] {
        forbid(copy().automorphism(galois_rotation(step, log_n)).unwrap());
    }
    forbid(copy().automorphism(2 * n as u64 - 1).unwrap());
    let masks: Vec<(Seed, u32, Span)> = [(public.seed().unwrap().clone(), 0, chain), (seeded_mask, 0, chain)]
        .into_iter()
        .chain((0..3).map(|j| (keys.relin().unwrap().seed().unwrap().clone(), j, all)))
        .chain(keys.galois_keys().flat_map(|(_, key)| (0..3).map(|j| (key.seed().unwrap().clone(), j, all))))
        .collect();
    for (seed, index, span) in masks {
        for g in [1, galois_rotation(1, log_n), galois_rotation(-1, log_n), 2 * n as u64 - 1] {
            let mut product = Poly::uniform(&ring, span, 1, &seed, index).unwrap();
            let image = copy().automorphism(g).unwrap();
            if span == all {
                product.mul_assign(&image).unwrap();
            } else {
                product.mul_assign(secret.on(&ring, span).unwrap().get()).unwrap();
            }
            forbid(product);
        }
    }
    forbid(copy());
    forbid(Poly::ternary(&ring, chain, 1, &ephemeral, 0).unwrap().into_eval().unwrap());
    for index in 0..2 {
        forbid(Poly::error(&ring, chain, 1, &ephemeral, index).unwrap().into_eval().unwrap());
    }
    let signed = |f: &dyn Fn(i8) -> i64| secret.expose_coefficients().iter().map(|&c| f(c) as u64).collect();
    forbidden.extend::<[Vec<u64>; 2]>([signed(&i64::from), signed(&|c| i64::from(c) + 1)]);

    for buffer in &freed {
        for row in buffer.chunks(n) {
            assert!(!forbidden.contains(row), "a freed buffer of {} words holds a secret", buffer.len());
        }
    }
}

#[test]
fn nothing_prints_a_secret() {
    let rng = &mut rng(52);
    let w = World::new(&params(), [1], rng);
    assert_eq!(format!("{:?}", w.secret), "SecretKey { .. }");
    assert_eq!(format!("{:#?}", w.secret), "SecretKey { .. }");
    let s = w.secret.on(&w.ring, Span::chain(3)).unwrap();
    assert_eq!(format!("{s:?}"), "SecretPoly { .. }");
    assert_eq!(format!("{:?}", Seed([5; 32])), "Seed { .. }");
    let decryptor = Decryptor::new(&w.params, &w.secret, &w.ring).unwrap();
    assert_eq!(format!("{decryptor:?}"), "Decryptor { secret: SecretPoly { .. } }");
    let encryptor = SecretEncryptor::new(&w.params, &w.secret, &w.ring).unwrap();
    assert_eq!(format!("{encryptor:?}"), "SecretEncryptor { secret: SecretPoly { .. } }");
    let frame = w.secret.to_frame(&w.params).unwrap();
    let coefficients = format!("{:?}", w.secret.expose_coefficients());
    for shown in [format!("{frame:?}"), format!("{:?}", w.public), format!("{:?}", w.keys)] {
        assert!(!shown.contains(&coefficients) && !shown.contains("body: ["), "{shown}");
    }
    // Polynomials and plaintexts print what they are, not what they hold.
    let plain = decryptor.decrypt(&w.random(1, 8, 2, rng).ct).unwrap();
    assert!(format!("{plain:?}").len() < 200, "{plain:?}");
}

/// Errors about decryption and keys carry no number that depends on the secret: two secrets, the
/// same texts.
#[test]
fn errors_do_not_depend_on_the_secret() {
    let texts = |seed: u64| -> Vec<String> {
        let w = World::new(&params(), [], &mut rng(seed));
        let a = w.random(1, 8, 0, &mut rng(53));
        let mut bad = a.ct.duplicate().unwrap();
        bad.set_scale(f64::NAN);
        let decryptor = Decryptor::new(&w.params, &w.secret, &w.ring).unwrap();
        let plain = decryptor.decrypt(&bad).unwrap();
        vec![
            w.ev.encoder().decode(&plain).unwrap_err().to_string(),
            w.ev.rotate(&a.ct, 1, &w.keys).unwrap_err().to_string(),
            w.ev.mul(&a.ct, &a.ct, &w.keys).unwrap_err().to_string(),
            decryptor.decrypt_flooded(&a.ct, Flooding::Bits(999), &mut rng(1)).unwrap_err().to_string(),
        ]
    };
    assert_eq!(texts(60), texts(61));
}

/// A wrong key leaves phases that are uniform modulo Q, which decoding reports at every level.
/// Values within the promised range always decode, and so do fresh encodings.
#[test]
fn decryptions_that_fill_the_modulus_are_refused() {
    for_seeds(2, |rng| {
        for (name, params) in shapes() {
            let w = World::new(&params, [], rng);
            let slots = params.slots();
            let wrong = SecretKey::generate(params.rlwe(), rng);
            let wrong = Decryptor::new(&params, &wrong, &w.ring).unwrap();
            let right = Decryptor::new(&params, &w.secret, &w.ring).unwrap();
            let a = w.random(2, slots, w.top(), rng);
            for level in 0..=w.top() {
                let ct = w.ev.mod_switch_to(&a.ct, level).unwrap();
                // From its parts, which do not name their key.
                let [c0, c1] = ct.pair().parts().map(|part| part.duplicate().unwrap());
                let pair = RlweCiphertext::new(c0, c1).unwrap();
                let ct = Ciphertext::from_parts(&params, pair, level, ct.scale(), slots).unwrap();
                assert!(w.ev.encoder().decode(&right.decrypt(&ct).unwrap()).is_ok(), "{name}, level {level}");
                // Below 64 slots it is likely, not certain.
                if slots >= 64 {
                    let error = w.ev.encoder().decode(&wrong.decrypt(&ct).unwrap()).unwrap_err();
                    let Error::NotDecrypted { found_log2, limit_log2 } = error else {
                        panic!("{name}: {error}")
                    };
                    let uniform = params.log_q(level) - 12f64.log2() / 2.0;
                    assert!((found_log2 - uniform).abs() < 0.3 && limit_log2 < found_log2, "{name}: {error}");
                    assert!(error.to_string().contains("secret key"), "{error}");
                }
            }
            // Half of the range that level 0 is made for, in every slot: encodings take whole bits.
            let greatest = vec![Complex64::new(0.49 * params.range(), 0.0); slots];
            let bottom = params.encoding().at_level(&params, 0).unwrap();
            let plain = w.ev.encoder().encode(&greatest, bottom).unwrap();
            assert!(w.ev.encoder().decode(&plain).is_ok(), "{name}");
            let encryptor = Encryptor::new(&params, &w.public).unwrap();
            let ct = encryptor.encrypt(&plain, rng).unwrap();
            assert!(w.ev.encoder().decode(&right.decrypt(&ct).unwrap()).is_ok(), "{name}");
        }
    });
}
