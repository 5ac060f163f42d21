//! A device whose ciphertexts hold their messages in the clear. It counts bootstraps, and the mask
//! of a ciphertext holds the factors of the bootstraps that it is a combination of, so that every
//! lookup shows the variance of what it takes. Thousands of integers go through an operation in the
//! time of one that is encrypted.

use he::Result;
use he::backend::{Backend, Cpu, CpuBuf, PreparedRing};
use he::ring::RingSpec;
use he::tfhe::{
    BootstrapKey, Carry, CircuitKey, CircuitParams, Combination, EncryptedFlags, EncryptedInteger, Gadget,
    IntegerEvaluator, LweBatch, LweOps, Signedness, TfheParams, TfheSecretKey, TfheSpec,
};
use num_bigint::BigInt;
use rand::{SeedableRng, rngs::ChaCha20Rng};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// 1/32 of the torus.
const UNIT: u64 = 1 << 59;
const DIGIT_BITS: usize = 2;

#[derive(Debug, Default)]
struct Seen {
    bootstraps: AtomicU64,
    /// The batches of bootstraps.
    steps: AtomicU64,
    /// The greatest sum of squared factors that a lookup took.
    norm: AtomicU64,
    /// The place in the mask of the next bootstrap.
    place: AtomicU64,
}

/// Words are those of the CPU, whose combinations are those of the clear.
#[derive(Clone, Debug)]
pub struct Clear(Arc<Seen>, Cpu);

impl Default for Clear {
    fn default() -> Self {
        Self(Arc::default(), Cpu::new())
    }
}

pub struct ClearRing {
    device: Clear,
    spec: RingSpec,
}

impl PreparedRing for ClearRing {
    type Buf = CpuBuf;
    type Backend = Clear;

    fn backend(&self) -> &Clear {
        &self.device
    }
    fn spec(&self) -> &RingSpec {
        &self.spec
    }
}

impl Backend for Clear {
    type Buf = CpuBuf;
    type Ring = ClearRing;

    fn name(&self) -> String {
        "clear".into()
    }
    fn prepare(&self, spec: &RingSpec) -> Result<ClearRing> {
        Ok(ClearRing { device: self.clone(), spec: spec.clone() })
    }
    fn zeros(&self, words: usize) -> Result<CpuBuf> {
        self.1.zeros(words)
    }
    fn upload(&self, words: &[u64]) -> Result<CpuBuf> {
        self.1.upload(words)
    }
    fn download(&self, buf: &CpuBuf, range: Range<usize>) -> Result<Vec<u64>> {
        self.1.download(buf, range)
    }
    fn copy(&self, src: &CpuBuf, from: usize, dst: &mut CpuBuf, to: usize, words: usize) -> Result<()> {
        self.1.copy(src, from, dst, to, words)
    }
    fn words(&self, buf: &CpuBuf) -> usize {
        self.1.words(buf)
    }
    fn truncate(&self, buf: &mut CpuBuf, words: usize) {
        self.1.truncate(buf, words);
    }
    fn wipe(&self, buf: &mut CpuBuf) {
        self.1.wipe(buf);
    }
    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

impl LweOps for Clear {
    type LweKey = TfheParams;
    type CircuitKey = CircuitParams;

    fn lwe_key(&self, key: &BootstrapKey) -> Result<TfheParams> {
        Ok(key.params().clone())
    }

    fn lwe_combine(&self, params: &TfheParams, src: &CpuBuf, all: &[Combination]) -> Result<CpuBuf> {
        self.1.lwe_combine(params, src, all)
    }

    fn key_switch(&self, params: &TfheParams, src: &CpuBuf, count: usize) -> Result<CpuBuf> {
        let (from, to) = (params.words(), params.spec().lwe_dimension + 1);
        let mut out = self.zeros(count * to)?;
        for (out, src) in out.chunks_exact_mut(to).zip(src.chunks_exact(from)) {
            let (body, mask) = src.split_last().unwrap();
            // Words of ciphertexts have no norm of interest, which those of programs do.
            let mut norm = 0u64;
            for &factor in mask {
                norm = norm.wrapping_add(factor.wrapping_mul(factor));
            }
            self.0.norm.fetch_max(norm, Ordering::Relaxed);
            out[to - 1] = body.wrapping_add(1 << 31) >> 32;
        }
        Ok(out)
    }

    fn blind_rotate(
        &self,
        params: &TfheParams,
        src: &CpuBuf,
        count: usize,
        tables: &CpuBuf,
        which: &[u32],
        functions: usize,
    ) -> Result<CpuBuf> {
        let (n, width, from) = (params.degree(), params.words(), params.spec().lwe_dimension + 1);
        self.0.bootstraps.fetch_add(count as u64, Ordering::Relaxed);
        self.0.steps.fetch_add(u64::from(count > 0), Ordering::Relaxed);
        let mut out = self.zeros(functions * count * width)?;
        for (at, out) in out.chunks_exact_mut(width).enumerate() {
            let (function, i) = (at / count, at % count);
            let phase = (src[i * from + from - 1] * 2 * n as u64 + (1 << 31)) >> 32;
            let coefficient = (phase as usize + function * n / functions) % (2 * n);
            let entry = tables[which[i] as usize * n + coefficient % n];
            out[width - 1] = if coefficient < n { entry } else { entry.wrapping_neg() };
            out[self.place(params)] = 1;
        }
        Ok(out)
    }

    fn circuit_key(&self, key: &CircuitKey) -> Result<CircuitParams> {
        Ok(key.params().clone())
    }

    fn lookup_bits(
        &self,
        params: &CircuitParams,
        src: &CpuBuf,
        bits: usize,
        count: usize,
        tables: &CpuBuf,
        outputs: usize,
    ) -> Result<CpuBuf> {
        let (n, width) = (params.tfhe().degree(), params.tfhe().words());
        let mut out = self.zeros(count * outputs * width)?;
        for (index, out) in out.chunks_exact_mut(outputs * width).enumerate() {
            // A digit's half is positive for a bit that is set.
            let bit = |bit: usize| src[(index * bits + bit + 1) * width - 1] >> 63 == 0;
            let x = (0..bits).fold(0, |x, at| x | usize::from(bit(at)) << at);
            let entry = n >> bits;
            for (o, out) in out.chunks_exact_mut(width).enumerate() {
                out[width - 1] = tables[o / entry * n + x * entry + o % entry];
                out[self.place(params.tfhe())] = 1;
            }
        }
        Ok(out)
    }
}

impl Clear {
    fn place(&self, params: &TfheParams) -> usize {
        self.0.place.fetch_add(1, Ordering::Relaxed) as usize % (params.words() - 1)
    }

    /// The result of an operation, and the bootstraps that it takes.
    pub fn counted<T>(&self, operation: impl FnOnce() -> Result<T>) -> (T, u64) {
        let before = self.0.bootstraps.load(Ordering::Relaxed);
        let found = operation().unwrap();
        (found, self.0.bootstraps.load(Ordering::Relaxed) - before)
    }

    /// The batches of bootstraps since the device was made, each after the one before it.
    pub fn steps(&self) -> u64 {
        self.0.steps.load(Ordering::Relaxed)
    }

    /// The greatest sum of squared factors of a lookup since the device was made.
    pub fn norm(&self) -> u64 {
        self.0.norm.load(Ordering::Relaxed)
    }

    /// Integers whose digits are sums of two bootstraps each, as those of selections are.
    pub fn seal<S: Signedness>(
        &self,
        ev: &IntegerEvaluator<Self>,
        values: &[BigInt],
        bits: usize,
    ) -> EncryptedInteger<S, Self> {
        let (params, places) = (ev.params(), bits / DIGIT_BITS);
        let width = params.words();
        let mut words = vec![0; places * values.len() * width];
        for (at, out) in words.chunks_exact_mut(width).enumerate() {
            let (d, value) = ((at / values.len()) as u64, &values[at % values.len()]);
            // Bits of the two's complement.
            let digit = u64::from(value.bit(2 * d)) + 2 * u64::from(value.bit(2 * d + 1));
            out[width - 1] = digit * UNIT;
            out[self.place(params)] = 1;
            out[self.place(params)] = 1;
        }
        EncryptedInteger::from_ciphertexts(LweBatch::upload(self, params, &words).unwrap(), bits).unwrap()
    }

    fn messages(ciphertexts: &LweBatch<Self>) -> Vec<u64> {
        let width = ciphertexts.params().words();
        let words = ciphertexts.download().unwrap();
        words.chunks_exact(width).map(|words| words[width - 1] / UNIT).collect()
    }

    pub fn open<S: Signedness>(x: &EncryptedInteger<S, Self>) -> Vec<BigInt> {
        let (digits, batch) = (Self::messages(x.ciphertexts()), x.batch());
        assert!(digits.iter().all(|&digit| digit < 4), "{digits:?}");
        (0..batch)
            .map(|b| {
                let value = digits[b..]
                    .iter()
                    .step_by(batch)
                    .rev()
                    .fold(BigInt::ZERO, |value, &digit| (value << DIGIT_BITS) + digit);
                let negative = S::SIGNED && value.bit(x.bits() as u64 - 1);
                if negative { value - (BigInt::from(1) << x.bits()) } else { value }
            })
            .collect()
    }

    pub fn flags(flags: &EncryptedFlags<Self>) -> Vec<bool> {
        let messages = Self::messages(flags.ciphertexts());
        assert!(messages.iter().all(|&message| message < 2), "{messages:?}");
        messages.into_iter().map(|message| message == 1).collect()
    }
}

/// An evaluator on such a device. The bootstraps whose factors a mask can tell apart are as many as
/// the degree.
pub fn evaluator(log_degree: u32, carry: Carry) -> (Clear, IntegerEvaluator<Clear>) {
    let params = TfheParams::insecure(TfheSpec {
        lwe_dimension: 1,
        lwe_sigma_log2: -30.0,
        glwe_dimension: 1,
        log_degree,
        glwe_sigma_log2: -60.0,
        bootstrap: Gadget { base_log: 20, levels: 2 },
        switch: Gadget { base_log: 15, levels: 2 },
    })
    .unwrap();
    let (mut rng, device) = (ChaCha20Rng::seed_from_u64(1), Clear::default());
    let secret = TfheSecretKey::generate(&params, &mut rng);
    let key = BootstrapKey::generate(&secret, &mut rng);
    let ev = IntegerEvaluator::new(&device, &key, carry).unwrap();
    (device, ev)
}
