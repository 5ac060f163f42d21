//! What is encrypted under CKKS: images in tiles, columns of real numbers.

use super::Contents;
use super::images::{Tiles, multiply};
use super::operator::{Operator, Pairing};
use super::packing::weighted;
use super::tables::RealTable;
use crate::error::Result;
use crate::scheme::Ckks;
use crate::scheme::engine::Engine;
use he::Device;
use he_core::ckks::Ciphertext;
use he_core::rlwe::EvaluationKeys;

impl Contents for Ckks {
    type Pictures = Tiles;
    type Table = RealTable;

    fn combine(
        engine: &Engine<Self>,
        keys: &EvaluationKeys<Device>,
        operator: Operator,
        pairing: &Pairing,
        left: &Ciphertext<Device>,
        right: &Ciphertext<Device>,
    ) -> Result<Ciphertext<Device>> {
        let ev = &engine.evaluator;
        let (scaled_left, scaled_right);
        let (mut left, mut right) = (left, right);
        if let Pairing::Weighted { left: by_left, right: by_right } = pairing {
            // A weight that leaves nothing leaves nothing of the noise, either.
            if let Some(weights) = by_left {
                scaled_left = weighted(ev, &[(left, weights)])?;
                left = &scaled_left;
            }
            if let Some(weights) = by_right {
                scaled_right = weighted(ev, &[(right, weights)])?;
                right = &scaled_right;
            }
        }
        Ok(match (operator, pairing) {
            (_, Pairing::First) => left.duplicate()?,
            (Operator::Add, _) => ev.add(left, right)?,
            (Operator::Sub, _) => ev.sub(left, right)?,
            (Operator::Mul, Pairing::Complex) => multiply(ev, left, right, keys)?,
            (Operator::Mul, Pairing::Shifted { left: by_left, right: by_right }) => {
                let shifts = weighted(ev, &[(left, by_left), (right, by_right)])?;
                ev.add(&ev.mul(left, right, keys)?, &shifts)?
            }
            (Operator::Mul, _) => ev.mul(left, right, keys)?,
        })
    }
}
