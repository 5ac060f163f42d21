//! The contents under BFV and BGV: images sample by sample, columns of integers.

use super::Contents;
use super::integers::{IntegerTable, lift};
use super::pairing::Pairing;
use super::samples::{Sampled, Samples};
use crate::error::Result;
use crate::note::{Content, SamplesNote, check_range};
use crate::scheme::Taken;
use crate::scheme::engine::Engine;
use he::Device;
use he_any::layout::Op;
use he_core::exact::{Ciphertext, Params};
use he_core::rlwe::EvaluationKeys;

impl<E: Taken> Sampled for E {
    type Number = i64;

    fn white(peak: u32) -> u32 {
        peak
    }

    fn slot(sample: u16, _peak: u32) -> u64 {
        u64::from(sample)
    }

    fn number(params: &Params<E>, note: &SamplesNote, slot: u64) -> i64 {
        // Opacity is not below 0, whatever the light channels' bounds are.
        lift(slot, note.low.min(0), params.plain().value())
    }

    fn precision_bits(_params: &Params<E>) -> f64 {
        0.0
    }
}

impl<E: Taken> Contents for E {
    type Pictures = Samples;
    type Table = IntegerTable;

    fn check_numbers(params: &Params<E>, content: &Content) -> Result<()> {
        check_range(params.plain().value(), content)
    }

    fn combine(
        engine: &Engine<Self>,
        keys: &EvaluationKeys<Device>,
        operator: Op,
        pairing: &Pairing,
        left: &Ciphertext<E, Device>,
        right: &Ciphertext<E, Device>,
    ) -> Result<Ciphertext<E, Device>> {
        let ev = &engine.evaluator;
        let (scaled_left, scaled_right);
        let (mut left, mut right) = (left, right);
        if let Pairing::Multiplied { left: by_left, right: by_right } = pairing {
            if *by_left != 1 {
                scaled_left = ev.mul_scalar(left, *by_left)?;
                left = &scaled_left;
            }
            if *by_right != 1 {
                scaled_right = ev.mul_scalar(right, *by_right)?;
                right = &scaled_right;
            }
        }
        Ok(match (operator, pairing) {
            (_, Pairing::First) => left.duplicate()?,
            (Op::Add, _) => ev.add(left, right)?,
            (Op::Sub, _) => ev.sub(left, right)?,
            (Op::Mul, _) => ev.mul(left, right, keys)?,
        })
    }
}
