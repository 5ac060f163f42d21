//! The contents under CKKS with a modulus of 2^l: images sample by sample, columns of real numbers.

use super::Contents;
use super::packing::Weights;
use super::pairing::Pairing;
use super::samples::{Sampled, Samples};
use super::tables::RealTable;
use crate::error::Result;
use crate::note::SamplesNote;
use crate::scheme::BigCkks;
use crate::scheme::engine::Engine;
use he::Device;
use he_any::layout::Op;
use he_core::bigckks::{BigCkksParams, Ciphertext, Complex64, EvaluationKeys};

impl Sampled for BigCkks {
    type Number = f64;

    /// White is 1.
    fn white(_peak: u32) -> u32 {
        1
    }

    fn slot(sample: u16, peak: u32) -> Complex64 {
        Complex64::new(f64::from(sample) / f64::from(peak), 0.0)
    }

    fn number(_params: &BigCkksParams, _note: &SamplesNote, slot: Complex64) -> f64 {
        slot.re
    }

    fn precision_bits(params: &BigCkksParams) -> f64 {
        params.fresh_precision_bits()
    }
}

impl Contents for BigCkks {
    type Pictures = Samples;
    type Table = RealTable;

    fn combine(
        engine: &Engine<Self>,
        keys: &EvaluationKeys<Device>,
        operator: Op,
        pairing: &Pairing,
        left: &Ciphertext<Device>,
        right: &Ciphertext<Device>,
    ) -> Result<Ciphertext<Device>> {
        let (ev, scale) = (&engine.evaluator, engine.params.scale_log2());
        let times = |ct: &Ciphertext<Device>, weights: &Weights| match weights {
            Weights::All(weight) => ev.mul_scalar(ct, *weight, scale),
            Weights::Blocks { .. } => {
                let vector: Vec<f64> = (0..ct.slots()).map(|slot| weights.slot(slot)).collect();
                let plain = ev.encoder().encode_real(&vector, engine.params.encoding_for(ct))?;
                ev.mul_plain(ct, &plain)
            }
        };
        let shrunk = |ct: &Ciphertext<Device>, weights: Option<&Weights>| match weights {
            None => ct.duplicate(),
            Some(weights) => ev.rescale(&times(ct, weights)?, scale),
        };
        let sum = |add: bool| {
            let (by_left, by_right) = match pairing {
                Pairing::Weighted { left, right } => (left.as_ref(), right.as_ref()),
                _ => (None, None),
            };
            let (left, right) = (shrunk(left, by_left)?, shrunk(right, by_right)?);
            if add { ev.add(&left, &right) } else { ev.sub(&left, &right) }
        };
        Ok(match (operator, pairing) {
            (_, Pairing::First) => left.duplicate()?,
            (Op::Add, _) => sum(true)?,
            (Op::Sub, _) => sum(false)?,
            (Op::Mul, Pairing::Shifted { left: by_left, right: by_right }) => {
                let shifts = ev.add(&times(left, by_left)?, &times(right, by_right)?)?;
                ev.rescale(&ev.add(&ev.mul(left, right, keys)?, &shifts)?, scale)?
            }
            (Op::Mul, _) => ev.rescale(&ev.mul(left, right, keys)?, scale)?,
        })
    }
}
