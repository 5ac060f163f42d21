//! Gates on encrypted bits: true is 1/8 of the torus, false -1/8.

use super::{BootstrapKey, Bootstrapper, Combination, LookupTables, LweBatch, LweOps, TfheParams};
use crate::backend::Cpu;
use crate::circuits::bits::{BitOps, Gate, PlacedGate, Signal};
use crate::error::{Error, Result};
use crate::key_set::key_set_accessors;
use derive_where::derive_where;
use std::ops::Range;

/// 1/8.
const EIGHTH: u64 = 1 << 61;

/// The worst case over the gates: the sum of squared coefficients and the distance of the nearest
/// other result, as [`Noise`](super::Noise) takes them. Inputs are outputs of multiplexers, which
/// are sums of two bootstraps; the majority of three such inputs has distance 1/8 (parity has four
/// times the squares, at twice the distance).
pub const GATE_LOOKUP: (f64, f64) = (6.0, 0.125);

/// Encrypted bits, stored in sequence on a device.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct EncryptedBits<B: LweOps = Cpu>(LweBatch<B>);

key_set_accessors! {
    [B: LweOps] EncryptedBits<B> { 0.key_set }
}

impl<B: LweOps> EncryptedBits<B> {
    /// The number of bits.
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// The ciphertexts of the bits.
    pub fn ciphertexts(&self) -> &LweBatch<B> {
        &self.0
    }

    /// Wraps ciphertexts of +-1/8.
    pub fn from_ciphertexts(ciphertexts: LweBatch<B>) -> Self {
        Self(ciphertexts)
    }
}

/// +1/8 or -1/8, without a branch.
pub(super) fn encode(bit: bool) -> u64 {
    u64::from(bit).wrapping_mul(2 * EIGHTH).wrapping_sub(EIGHTH)
}

/// Gates by bootstrapping: one bootstrap per gate, two for a multiplexer, whatever came before.
/// Negations are free.
///
/// Before the sign is looked up, the linear forms are (Chillotti, Gama, Georgieva, Izabachene 2020,
/// section 6): a + b - 1/8 for AND, 2a + 2b + 1/4 for XOR, other lookups by negating inputs;
/// a + b + c for majority; -2 (a + b + c) for parity. A multiplexer is c AND a, plus NOT c AND b,
/// plus 1/8.
#[derive(Debug)]
pub struct GateEvaluator<B: LweOps = Cpu> {
    boot: Bootstrapper<B>,
    sign: LookupTables<B>,
}

/// One of the 14 lookups that depend on an input: factors of both and the constant in eighths.
fn linear_form(table: u8) -> Option<(i64, i64, i64)> {
    let sign = |positive: bool| if positive { 1 } else { -1 };
    match table & 0b1111 {
        0b0110 => Some((2, 2, 2)),
        0b1001 => Some((-2, -2, -2)),
        0b1100 => Some((1, 0, 0)),
        0b0011 => Some((-1, 0, 0)),
        0b1010 => Some((0, 1, 0)),
        0b0101 => Some((0, -1, 0)),
        one if one.count_ones() == 1 => {
            let at = one.trailing_zeros();
            Some((sign(at & 2 != 0), sign(at & 1 != 0), -1))
        }
        three if three.count_ones() == 3 => {
            let at = (!three & 0b1111).trailing_zeros();
            Some((sign(at & 2 == 0), sign(at & 1 == 0), 1))
        }
        _ => None,
    }
}

/// Adds `factor` times a signal.
fn add(combination: &mut Combination, factor: i64, signal: Signal) {
    match signal {
        Signal::Constant(bit) => {
            let term = encode(bit).wrapping_mul(factor as u64);
            combination.constant = combination.constant.wrapping_add(term);
        }
        Signal::Slot { index, negated } => {
            combination.terms.push((if negated { -factor } else { factor }, index));
        }
    }
}

fn form(constant_eighths: i64, terms: &[(i64, Signal)]) -> Combination {
    let mut combination =
        Combination { constant: (constant_eighths as u64).wrapping_mul(EIGHTH), terms: Vec::new() };
    for &(factor, signal) in terms {
        add(&mut combination, factor, signal);
    }
    combination
}

impl<B: LweOps> GateEvaluator<B> {
    /// Expands the key on the device.
    ///
    /// # Errors
    /// [`Error::Argument`] for parameters whose predicted noise is too large for gates, which would
    /// fail with a probability above 2^-32; device errors.
    pub fn new(backend: &B, key: &BootstrapKey) -> Result<Self> {
        key.noise().expect_rare_failures(GATE_LOOKUP, "gates")?;
        let boot = Bootstrapper::new(backend, key)?;
        let sign = LookupTables::sign(backend, boot.params(), EIGHTH)?;
        Ok(Self { boot, sign })
    }

    /// Adds a multi-bit key for small batches, see [`Bootstrapper::with_multi_bit`]; `most` counts
    /// the ciphertexts of one step.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`]; [`Error::Argument`] for a key that is not
    /// a multi-bit one, and for too much noise as in [`new`](Self::new); device errors.
    pub fn with_multi_bit(self, key: &BootstrapKey, most: usize) -> Result<Self> {
        key.noise().expect_rare_failures(GATE_LOOKUP, "gates")?;
        Ok(Self { boot: self.boot.with_multi_bit(key, most)?, ..self })
    }

    /// The device.
    pub fn backend(&self) -> &B {
        self.boot.backend()
    }

    /// The key's parameters.
    pub fn params(&self) -> &TfheParams {
        self.boot.params()
    }

    /// Returns a public bit, `count` times.
    ///
    /// # Errors
    /// Device errors.
    pub fn constant(&self, bit: bool, count: usize) -> Result<EncryptedBits<B>> {
        Ok(EncryptedBits(LweBatch::trivial(self.backend(), self.params(), &vec![encode(bit); count])?))
    }

    fn signs(&self, slots: &LweBatch<B>, forms: &[Combination]) -> Result<LweBatch<B>> {
        let forms = self.boot.combine(slots, forms)?;
        self.boot.bootstrap(&forms, &self.sign, &vec![0; forms.count()])
    }

    fn evaluate(&self, slots: &LweBatch<B>, gates: &[PlacedGate]) -> Result<LweBatch<B>> {
        let mut forms = Vec::with_capacity(gates.len());
        // Per gate, the bootstraps that it adds up, and the constant to add, in eighths.
        let mut sums = Vec::with_capacity(gates.len());
        for placed in gates {
            let [a, b, c] = placed.inputs;
            let first = forms.len();
            let mut constant = 0;
            match placed.gate {
                Gate::Lookup(table) => match linear_form(table) {
                    Some((x, y, z)) => {
                        let terms: Vec<_> = [(x, a), (y, b)].into_iter().filter(|term| term.0 != 0).collect();
                        forms.push(form(z, &terms));
                    }
                    None => constant = if table & 1 == 1 { 1 } else { -1 },
                },
                Gate::Majority => forms.push(form(0, &[(1, a), (1, b), (1, c)])),
                Gate::Parity => forms.push(form(0, &[(-2, a), (-2, b), (-2, c)])),
                Gate::Mux => {
                    forms.push(form(-1, &[(1, a), (1, b)]));
                    forms.push(form(-1, &[(-1, a), (1, c)]));
                    constant = 1;
                }
            }
            let terms = (first..forms.len()).map(|index| (1, index)).collect();
            sums.push(Combination { constant: (constant as u64).wrapping_mul(EIGHTH), terms });
        }
        let signs = self.signs(slots, &forms)?;
        if forms.len() == gates.len() && sums.iter().all(|sum| sum.constant == 0) {
            return Ok(signs);
        }
        self.boot.combine(&signs, &sums)
    }

    /// Any function of two bits, entry by entry: bit 2a + b of `table` is its value at (a, b). One
    /// bootstrap.
    ///
    /// # Errors
    /// [`Error::BatchMismatch`] for batches of different lengths, [`Error::ParamsMismatch`],
    /// [`Error::KeyMismatch`], device errors.
    pub fn lookup(&self, table: u8, a: &EncryptedBits<B>, b: &EncryptedBits<B>) -> Result<EncryptedBits<B>> {
        self.entrywise(Gate::Lookup(table), &[a, b])
    }

    /// NOT (a AND b).
    ///
    /// # Errors
    /// The errors of [`lookup`](Self::lookup).
    pub fn nand(&self, a: &EncryptedBits<B>, b: &EncryptedBits<B>) -> Result<EncryptedBits<B>> {
        self.lookup(0b0111, a, b)
    }

    /// a AND b.
    ///
    /// # Errors
    /// The errors of [`lookup`](Self::lookup).
    pub fn and(&self, a: &EncryptedBits<B>, b: &EncryptedBits<B>) -> Result<EncryptedBits<B>> {
        self.lookup(0b1000, a, b)
    }

    /// a OR b.
    ///
    /// # Errors
    /// The errors of [`lookup`](Self::lookup).
    pub fn or(&self, a: &EncryptedBits<B>, b: &EncryptedBits<B>) -> Result<EncryptedBits<B>> {
        self.lookup(0b1110, a, b)
    }

    /// NOT (a OR b).
    ///
    /// # Errors
    /// The errors of [`lookup`](Self::lookup).
    pub fn nor(&self, a: &EncryptedBits<B>, b: &EncryptedBits<B>) -> Result<EncryptedBits<B>> {
        self.lookup(0b0001, a, b)
    }

    /// a XOR b.
    ///
    /// # Errors
    /// The errors of [`lookup`](Self::lookup).
    pub fn xor(&self, a: &EncryptedBits<B>, b: &EncryptedBits<B>) -> Result<EncryptedBits<B>> {
        self.lookup(0b0110, a, b)
    }

    /// NOT (a XOR b).
    ///
    /// # Errors
    /// The errors of [`lookup`](Self::lookup).
    pub fn xnor(&self, a: &EncryptedBits<B>, b: &EncryptedBits<B>) -> Result<EncryptedBits<B>> {
        self.lookup(0b1001, a, b)
    }

    /// NOT a: this takes no bootstrap, and the noise stays the same.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`], device errors.
    pub fn not(&self, a: &EncryptedBits<B>) -> Result<EncryptedBits<B>> {
        let negated: Vec<_> = (0..a.count()).map(|index| Signal::Slot { index, negated: true }).collect();
        self.gather(a, &negated)
    }

    /// `yes` where the condition is set, `no` elsewhere. This takes two bootstraps, for which
    /// [`GATE_LOOKUP`] allows in gates that follow.
    ///
    /// # Errors
    /// The errors of [`lookup`](Self::lookup).
    pub fn mux(
        &self,
        condition: &EncryptedBits<B>,
        yes: &EncryptedBits<B>,
        no: &EncryptedBits<B>,
    ) -> Result<EncryptedBits<B>> {
        self.entrywise(Gate::Mux, &[condition, yes, no])
    }

    /// Whether two or three of three bits are set. One bootstrap.
    ///
    /// # Errors
    /// The errors of [`lookup`](Self::lookup).
    pub fn majority(
        &self,
        a: &EncryptedBits<B>,
        b: &EncryptedBits<B>,
        c: &EncryptedBits<B>,
    ) -> Result<EncryptedBits<B>> {
        self.entrywise(Gate::Majority, &[a, b, c])
    }

    /// a XOR b XOR c. One bootstrap.
    ///
    /// # Errors
    /// The errors of [`lookup`](Self::lookup).
    pub fn parity(
        &self,
        a: &EncryptedBits<B>,
        b: &EncryptedBits<B>,
        c: &EncryptedBits<B>,
    ) -> Result<EncryptedBits<B>> {
        self.entrywise(Gate::Parity, &[a, b, c])
    }

    fn entrywise(&self, gate: Gate, inputs: &[&EncryptedBits<B>]) -> Result<EncryptedBits<B>> {
        let count = inputs[0].count();
        if let Some(other) = inputs.iter().find(|input| input.count() != count) {
            return Err(Error::BatchMismatch { left: count, right: other.count() });
        }
        let parts: Vec<_> = inputs.iter().map(|input| &input.0).collect();
        let slots = LweBatch::concat(&parts)?;
        let gates: Vec<_> = (0..count)
            .map(|i| PlacedGate {
                gate,
                inputs: std::array::from_fn(|part| Signal::Slot {
                    index: part.min(inputs.len() - 1) * count + i,
                    negated: false,
                }),
            })
            .collect();
        Ok(EncryptedBits(self.evaluate(&slots, &gates)?))
    }
}

impl<B: LweOps> BitOps for GateEvaluator<B> {
    type Bits = EncryptedBits<B>;

    fn count(&self, bits: &EncryptedBits<B>) -> usize {
        bits.count()
    }

    fn slots(&self, count: usize) -> Result<EncryptedBits<B>> {
        self.constant(false, count)
    }

    fn write(
        &self,
        dst: &mut EncryptedBits<B>,
        at: usize,
        src: &EncryptedBits<B>,
        range: Range<usize>,
    ) -> Result<()> {
        dst.0.write(at, &src.0, range)
    }

    fn gates(&self, slots: &mut EncryptedBits<B>, gates: &[PlacedGate], at: usize) -> Result<()> {
        let results = self.evaluate(&slots.0, gates)?;
        slots.0.write(at, &results, 0..gates.len())
    }

    fn gather(&self, slots: &EncryptedBits<B>, signals: &[Signal]) -> Result<EncryptedBits<B>> {
        let forms: Vec<_> = signals.iter().map(|&signal| form(0, &[(1, signal)])).collect();
        Ok(EncryptedBits(self.boot.combine(&slots.0, &forms)?))
    }
}
