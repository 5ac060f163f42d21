//! The polynomials of a bundle: as residues that can be kept, and as plaintexts for answers.

use crate::bytes::{Reader, Writer};
use crate::digest::Salt;
use crate::error::Result;
use crate::messages::BundleAnswer;
use crate::plan::Params;
use he_core::backend::RingOps;
use he_core::bfv::{Bfv, BfvCiphertext, BfvEvaluator};
use he_core::exact::{Ciphertext, Plaintext, PreparedPlaintext};
use he_core::ring::{Poly, Span};
use he_core::rlwe::RlweCiphertext;

/// The polynomials of a block of slots: one batch of tags and label parts per power.
struct Block<B: RingOps> {
    /// The coefficients modulo t, `[power][part][slot]`.
    residues: Vec<u32>,
    constant: Plaintext,
    powers: Vec<PreparedPlaintext<B>>,
}

/// Polynomials of all slots under one salt.
pub(crate) struct Polynomials<B: RingOps> {
    salt: Salt,
    blocks: Vec<Block<B>>,
}

impl<B: RingOps> Polynomials<B> {
    /// No polynomials: a bundle that is not prepared.
    pub fn none() -> Self {
        Self { salt: [0; 16], blocks: Vec::new() }
    }

    /// Transforms the coefficients of each block.
    pub fn new(params: &Params, salt: Salt, residues: Vec<Vec<u32>>, ev: &BfvEvaluator<B>) -> Result<Self> {
        let blocks = residues.into_iter().enumerate();
        let blocks =
            blocks.map(|(at, residues)| Block::new(params, at, residues, ev)).collect::<Result<_>>()?;
        Ok(Self { salt, blocks })
    }

    /// Appends salt and coefficients to a message.
    pub fn write(&self, writer: &mut Writer) {
        writer.raw(&self.salt);
        for residue in self.blocks.iter().flat_map(|block| &block.residues) {
            writer.raw(&residue.to_le_bytes());
        }
    }

    /// The bytes that [`write`](Self::write) appends.
    pub fn bytes(params: &Params) -> usize {
        let shape = params.shape();
        size_of::<Salt>() + 4 * shape.slots() * shape.degree * shape.parts()
    }

    /// Takes what [`write`](Self::write) appended, and transforms it.
    pub fn read(params: &Params, reader: &mut Reader<'_>, ev: &BfvEvaluator<B>) -> Result<Self> {
        let salt = reader.array("salt")?;
        let (t, shape) = (params.bfv().plain().modulus().value(), params.shape());
        let mut residues = Vec::with_capacity(shape.blocks);
        for block in 0..shape.blocks {
            let count = params.slots_of(block).len() * shape.degree * shape.parts();
            let words = reader.take(4 * count, "coefficients")?.as_chunks::<4>().0;
            let block: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
            if block.iter().any(|&residue| u64::from(residue) >= t) {
                return Err(reader.error("coefficients"));
            }
            residues.push(block);
        }
        Self::new(params, salt, residues, ev)
    }

    /// The values at a block's powers, which are at the level of sums.
    pub fn answer(
        &self,
        params: &Params,
        powers: &[Vec<BfvCiphertext<B>>],
        ev: &BfvEvaluator<B>,
    ) -> Result<BundleAnswer<B>> {
        let value = |(block, powers): (&Block<B>, &Vec<BfvCiphertext<B>>)| {
            let sum = ev.add_plain(&block.sum(params, powers, ev)?, &block.constant)?;
            Ok(ev.mod_switch_to(&sum, params.levels()[1])?)
        };
        let blocks = self.blocks.iter().zip(powers).map(value).collect::<Result<_>>()?;
        Ok(BundleAnswer { salt: self.salt, blocks })
    }
}

impl<B: RingOps> Block<B> {
    /// Plaintexts of a block: coefficient by coefficient over all slots.
    fn new(params: &Params, at: usize, residues: Vec<u32>, ev: &BfvEvaluator<B>) -> Result<Self> {
        let (slots, parts) = (params.slots_of(at).len(), params.shape().parts());
        let encode = |power: usize| {
            let here = residues[power * parts * slots..(power + 1) * parts * slots].chunks_exact(slots);
            let vectors: Vec<Vec<u64>> = here.map(|part| part.iter().map(|&x| x.into()).collect()).collect();
            ev.encoder().encode_batch(&vectors.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        let prepared = |power| ev.prepare(&encode(power)?, params.levels()[0]);
        let powers = (1..params.shape().degree).map(prepared).collect::<he_core::Result<_>>()?;
        Ok(Self { constant: encode(0)?, powers, residues })
    }

    /// The sum of products without the constant; all coefficients in one pass over each power.
    fn sum(
        &self,
        params: &Params,
        powers: &[BfvCiphertext<B>],
        ev: &BfvEvaluator<B>,
    ) -> Result<BfvCiphertext<B>> {
        let (span, batch) = (Span::chain(params.levels()[0] + 1), params.shape().parts());
        let zeros = || Poly::zeros(ev.ring(), span, batch);
        let mut sums = [zeros()?, zeros()?];
        for (plain, power) in self.powers.iter().zip(powers) {
            for (sum, part) in sums.iter_mut().zip(power.pair().parts()) {
                sum.mul_add_assign(plain.poly(), part)?;
            }
        }
        let [c0, c1] = sums;
        let mut pair = RlweCiphertext::new(c0, c1)?;
        pair.set_key_set(powers[0].key_set());
        let noise = powers.iter().map(BfvCiphertext::noise).reduce(he_core::exact::Noise::max);
        let gain = self.powers.iter().map(PreparedPlaintext::gain_log2).fold(0.0, f64::max);
        let noise = noise.unwrap_or(params.bfv().noise().secret()).scale(gain).total(powers.len() as u64);
        Ok(Ciphertext::<Bfv, B>::from_parts(params.bfv(), pair, powers[0].correction_factor(), noise)?)
    }
}
