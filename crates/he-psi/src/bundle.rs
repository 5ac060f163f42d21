//! Bundles: in every slot a fixed number of points, and the polynomials through them.

use crate::digest::{Digest, Salt, Stream};
use crate::error::Result;
use crate::interpolation::interpolate;
use crate::label;
use crate::plan::Params;
use crate::polynomials::Polynomials;
use he_core::arith::Modulus;
use he_core::backend::RingOps;
use he_core::bfv::BfvEvaluator;
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

/// Points of all slots under one salt, which changes whenever a point does.
pub(crate) struct Bundle<B: RingOps> {
    pub slots: Vec<Slot>,
    pub polynomials: Polynomials<B>,
}

impl<B: RingOps> Bundle<B> {
    pub fn empty(params: &Params) -> Self {
        let slots = vec![Slot::default(); params.shape().slots()];
        Self { slots, polynomials: Polynomials::none() }
    }

    /// Interpolates and transforms everything, under a fresh salt.
    pub fn rebuild(
        &mut self,
        params: &Params,
        items: &[Option<Item>],
        ev: &BfvEvaluator<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<()> {
        let (mut salt, mut seed) = ([0; 16], Zeroizing::new([0; 32]));
        rng.fill_bytes(&mut salt);
        rng.fill_bytes(&mut *seed);
        let n = params.bfv().rlwe().ring().n();
        let block = |block: usize| {
            let start = block * n;
            let used = &self.slots[params.slots_of(block)];
            let polynomial =
                |(at, slot): (usize, &Slot)| points(params, items, &salt, &seed, start + at, slot);
            let slots: Vec<Vec<Vec<u64>>> = used.par_iter().enumerate().map(polynomial).collect();
            by_powers(params, &slots)
        };
        let residues = (0..params.shape().blocks).map(block).collect();
        self.polynomials = Polynomials::new(params, salt, residues, ev)?;
        Ok(())
    }
}

/// Coefficients of all slots, `[power][part][slot]`, from those of each, `[slot][part][power]`.
fn by_powers(params: &Params, slots: &[Vec<Vec<u64>>]) -> Vec<u32> {
    let (degree, parts) = (params.shape().degree, params.shape().parts());
    let places = (0..degree).flat_map(|power| (0..parts).map(move |part| (power, part)));
    // Residues are below t, hence below 2^32.
    places.flat_map(|(power, part)| slots.iter().map(move |slot| slot[part][power] as u32)).collect()
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
