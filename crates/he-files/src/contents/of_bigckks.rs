//! What is encrypted under CKKS with a modulus of 2^l: images sample by sample, columns of real
//! numbers.

use super::clear::{Clear, Plain, View};
use super::options::TableFlags;
use super::packing::Weights;
use super::pairwise::{Operator, Pairing, differ};
use super::samples::{self, Shade};
use super::tables::{self, RealTable};
use super::{Contents, ContentsOn, Sink, Work};
use crate::cipher_file::CipherReader;
use crate::device::Device;
use crate::error::{ContentError, Result};
use crate::io::input::Input;
use crate::note::{Content, bad};
use crate::on_device;
use crate::scheme::engine::Engine;
use crate::scheme::{BigCkks, Decrypt, Scheme};
use crate::team::Team;
use crate::watch::Watch;
use he_core::backend::WideOps;
use he_core::bigckks::{BigCkksParams, Ciphertext, Complex64, EvaluationKeys};

impl Contents for BigCkks {
    type Table = RealTable;

    fn read_table(input: Input, flags: TableFlags<'_>, watch: &dyn Watch) -> Result<RealTable> {
        tables::read(input, flags, Self::NAME, watch)
    }

    fn describe(
        clear: &Clear<RealTable>,
        params: &BigCkksParams,
        halo: Option<usize>,
        watch: &dyn Watch,
    ) -> Result<Content> {
        Ok(match clear {
            // White is 1.
            Clear::Picture(picture) => Content::Samples(samples::describe::<Self>(picture, params, halo, 1)?),
            Clear::Table(table) => Content::Table(tables::describe::<Self>(table, params, watch)?),
        })
    }

    fn pack(
        clear: &Clear<RealTable>,
        params: &BigCkksParams,
        content: &Content,
        sink: &mut Sink<'_, Complex64>,
        watch: &dyn Watch,
    ) -> Result<()> {
        match (clear, content) {
            (Clear::Picture(picture), Content::Samples(note)) => {
                let slot = |sample, peak| Complex64::new(f64::from(sample) / f64::from(peak), 0.0);
                samples::pack(picture, note, params.slots(), slot, sink, watch)
            }
            (Clear::Table(table), Content::Table(note)) => tables::pack(table, note, sink, watch),
            _ => Err(ContentError::Mismatch.into()),
        }
    }

    fn pair(
        operator: Operator,
        left: &CipherReader<Self>,
        right: &CipherReader<Self>,
    ) -> Result<(Content, Vec<Pairing>)> {
        match (&left.payload.content, &right.payload.content) {
            (Content::Samples(a), Content::Samples(b)) => samples::pair(operator, a, b),
            (Content::Table(a), Content::Table(b)) => tables::pair(operator, a, b),
            _ => Err(differ(left, right)),
        }
    }

    fn run<W: Work<Self>>(device: Device, work: W) -> Result<W::Output> {
        on_device!(device, backends => work.on(backends))
    }
}

impl<B: WideOps> ContentsOn<B> for BigCkks {
    fn combine(
        engine: &Engine<Self, B>,
        keys: &EvaluationKeys<B>,
        operator: Operator,
        pairing: &Pairing,
        left: &Ciphertext<B>,
        right: &Ciphertext<B>,
    ) -> Result<Ciphertext<B>> {
        let (ev, scale) = (&engine.evaluator, engine.params.scale_log2());
        let times = |ct: &Ciphertext<B>, weights: &Weights| match weights {
            Weights::All(weight) => ev.mul_scalar(ct, *weight, scale),
            Weights::Blocks { .. } => {
                let vector: Vec<f64> = (0..ct.slots()).map(|slot| weights.slot(slot)).collect();
                let plain = ev.encoder().encode_real(&vector, engine.params.encoding_for(ct))?;
                ev.mul_plain(ct, &plain)
            }
        };
        let shrunk = |ct: &Ciphertext<B>, weights: Option<&Weights>| match weights {
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
            (Operator::Add, _) => sum(true)?,
            (Operator::Sub, _) => sum(false)?,
            (Operator::Mul, Pairing::Shifted { left: by_left, right: by_right }) => {
                let shifts = ev.add(&times(left, by_left)?, &times(right, by_right)?)?;
                ev.rescale(&ev.add(&ev.mul(left, right, keys)?, &shifts)?, scale)?
            }
            (Operator::Mul, _) => ev.rescale(&ev.mul(left, right, keys)?, scale)?,
        })
    }

    fn unpack(
        team: &Team<Self, B>,
        reader: &mut CipherReader<Self>,
        decryptors: &[Decrypt<'_, Self, B>],
        view: View,
    ) -> Result<Plain> {
        match reader.payload.content.clone() {
            Content::Samples(note) => {
                let shade = Shade::new(&note, view, reader.params.fresh_precision_bits())?;
                samples::unpack(team, reader, &note, decryptors, &shade, |slot: Complex64| slot.re)
            }
            Content::Table(note) => tables::decode(team, reader, &note, decryptors).map(Plain::Table),
            _ => Err(bad("kind of content")),
        }
    }
}
