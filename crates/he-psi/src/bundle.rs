//! Bundles: in every slot a fixed number of points, and the polynomials through them.

use crate::digest::{Digest, Salt, Stream};
use crate::error::Result;
use crate::interpolation::interpolate;
use crate::label;
use crate::messages::BundleAnswer;
use crate::plan::Params;
use he_core::arith::Modulus;
use he_core::backend::RingOps;
use he_core::bfv::{Bfv, BfvCiphertext, BfvEvaluator};
use he_core::exact::{Ciphertext, Plaintext, PreparedPlaintext};
use he_core::ring::{Poly, Span};
use he_core::rlwe::RlweCiphertext;
use rand::CryptoRng;
use rayon::prelude::*;
use std::collections::HashSet;
use zeroize::Zeroizing;

/// An item of a server.
pub(crate) struct Item {
    pub digest: Digest,
    pub label: Vec<u8>,
}

/// The items in a slot: their places in the set, and their nodes.
#[derive(Clone, Default)]
pub(crate) struct Slot {
    pub items: Vec<(u32, u64)>,
}

impl Slot {
    /// Whether a node can join.
    pub fn accepts(&self, node: u64, degree: usize) -> bool {
        self.items.len() < degree && self.items.iter().all(|(_, other)| *other != node)
    }
}

/// The polynomials of a block of slots as plaintexts: one batch of tags and label parts per power.
struct Block<B: RingOps> {
    constant: Plaintext,
    powers: Vec<PreparedPlaintext<B>>,
}

/// Points of all slots under one salt, which changes whenever a point does.
pub(crate) struct Bundle<B: RingOps> {
    pub slots: Vec<Slot>,
    salt: Salt,
    blocks: Vec<Block<B>>,
}

impl<B: RingOps> Bundle<B> {
    pub fn empty(params: &Params) -> Self {
        let slots = vec![Slot::default(); params.shape().bins * params.shape().replicas];
        Self { slots, salt: [0; 16], blocks: Vec::new() }
    }

    /// Interpolates and transforms everything, under a fresh salt.
    pub fn rebuild(
        &mut self,
        params: &Params,
        items: &[Option<Item>],
        ev: &BfvEvaluator<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<()> {
        rng.fill_bytes(&mut self.salt);
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        let shape = params.shape();
        let n = params.bfv().rlwe().ring().n();
        self.blocks.clear();
        for block in 0..shape.blocks {
            let start = block * n;
            let used = &self.slots[start.min(self.slots.len())..(start + n).min(self.slots.len())];
            let polynomial =
                |(at, slot): (usize, &Slot)| points(params, items, &self.salt, &seed, start + at, slot);
            let polynomials: Vec<Vec<Vec<u64>>> = used.par_iter().enumerate().map(polynomial).collect();
            self.blocks.push(prepare(params, &polynomials, ev)?);
        }
        Ok(())
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

/// The coefficients of a slot's polynomials, `[part][power]`, through its items and random points.
fn points(
    params: &Params,
    items: &[Option<Item>],
    salt: &Salt,
    seed: &[u8; 32],
    at: usize,
    slot: &Slot,
) -> Vec<Vec<u64>> {
    let (t, shape) = (params.bfv().plain().modulus(), params.shape());
    let mut nodes = Vec::with_capacity(shape.degree);
    let mut values = vec![Vec::with_capacity(shape.degree); shape.parts()];
    for &(index, node) in &slot.items {
        if let Some(item) = &items[index as usize] {
            nodes.push(node);
            let hidden = hidden(params, item, salt, at, t);
            values.iter_mut().zip(hidden.iter()).for_each(|(values, value)| values.push(*value));
        }
    }
    let mut taken: HashSet<u64> = nodes.iter().copied().collect();
    let mut stream = Stream::new(seed, &[&(at as u64).to_le_bytes()]);
    while nodes.len() < shape.degree {
        let node = stream.residue(t);
        if taken.insert(node) {
            nodes.push(node);
            values.iter_mut().for_each(|values| values.push(stream.residue(t)));
        }
    }
    interpolate(t, &nodes, &values)
}

/// The tags of an item and its label under pads.
fn hidden(params: &Params, item: &Item, salt: &Salt, at: usize, t: &Modulus) -> Zeroizing<Vec<u64>> {
    let mut residues = item.digest.residues(salt, at, t, params.shape().parts());
    let pads = residues.iter_mut().skip(params.shape().tags);
    pads.zip(label::split(&item.label, params.width())).for_each(|(pad, part)| *pad = t.add(*pad, part));
    residues
}

/// Plaintexts of a block: coefficient by coefficient over all slots.
fn prepare<B: RingOps>(
    params: &Params,
    polynomials: &[Vec<Vec<u64>>],
    ev: &BfvEvaluator<B>,
) -> Result<Block<B>> {
    let shape = params.shape();
    let encode = |power: usize| {
        let part = |part: usize| polynomials.iter().map(|slot| slot[part][power]).collect::<Vec<u64>>();
        let vectors: Vec<Vec<u64>> = (0..shape.parts()).map(part).collect();
        ev.encoder().encode_batch(&vectors.iter().map(Vec::as_slice).collect::<Vec<_>>())
    };
    let prepared = |power| ev.prepare(&encode(power)?, params.levels()[0]);
    let powers = (1..shape.degree).map(prepared).collect::<he_core::Result<_>>()?;
    Ok(Block { constant: encode(0)?, powers })
}
