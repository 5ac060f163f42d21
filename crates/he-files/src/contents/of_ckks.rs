//! What is encrypted under CKKS: images in tiles, columns of real numbers.

use super::clear::{Clear, Plain, View};
use super::options::TableFlags;
use super::packing::weighted;
use super::pairwise::{Operator, Pairing, differ};
use super::tables::RealTable;
use super::{Contents, ContentsOn, Sink, Work, images, tables};
use crate::cipher_file::CipherReader;
use crate::device::Device;
use crate::error::{ContentError, Result};
use crate::io::input::Input;
use crate::note::{Content, bad};
use crate::on_device;
use crate::scheme::engine::Engine;
use crate::scheme::{Ckks, Decrypt, Scheme};
use crate::team::Team;
use crate::watch::Watch;
use he_core::backend::RingOps;
use he_core::ckks::{Ciphertext, CkksParams, Complex64};
use he_core::rlwe::EvaluationKeys;

impl Contents for Ckks {
    type Table = RealTable;

    fn read_table(input: Input, flags: TableFlags<'_>, watch: &dyn Watch) -> Result<RealTable> {
        tables::read(input, flags, Self::NAME, watch)
    }

    fn describe(
        clear: &Clear<RealTable>,
        params: &CkksParams,
        halo: Option<usize>,
        watch: &dyn Watch,
    ) -> Result<Content> {
        Ok(match clear {
            Clear::Picture(picture) => Content::Image(images::describe(picture, params, halo)?),
            Clear::Table(table) => Content::Table(tables::describe::<Self>(table, params, watch)?),
        })
    }

    fn pack(
        clear: &Clear<RealTable>,
        params: &CkksParams,
        content: &Content,
        sink: &mut Sink<'_, Complex64>,
        watch: &dyn Watch,
    ) -> Result<()> {
        match (clear, content) {
            (Clear::Picture(picture), Content::Image(note)) => {
                images::pack(params, picture, note, sink, watch)
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
            (Content::Image(a), Content::Image(b)) => images::pair(operator, a, b),
            (Content::Table(a), Content::Table(b)) => tables::pair(operator, a, b),
            _ => Err(differ(left, right)),
        }
    }

    fn run<W: Work<Self>>(device: Device, work: W) -> Result<W::Output> {
        on_device!(device, backends => work.on(backends))
    }
}

impl<B: RingOps> ContentsOn<B> for Ckks {
    fn combine(
        engine: &Engine<Self, B>,
        keys: &EvaluationKeys<B>,
        operator: Operator,
        pairing: &Pairing,
        left: &Ciphertext<B>,
        right: &Ciphertext<B>,
    ) -> Result<Ciphertext<B>> {
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
            (Operator::Mul, Pairing::Complex) => images::multiply(ev, left, right, keys)?,
            (Operator::Mul, Pairing::Shifted { left: by_left, right: by_right }) => {
                let shifts = weighted(ev, &[(left, by_left), (right, by_right)])?;
                ev.add(&ev.mul(left, right, keys)?, &shifts)?
            }
            (Operator::Mul, _) => ev.mul(left, right, keys)?,
        })
    }

    fn unpack(
        team: &Team<Self, B>,
        reader: &mut CipherReader<Self>,
        decryptors: &[Decrypt<'_, Self, B>],
        view: View,
    ) -> Result<Plain> {
        match reader.payload.content.clone() {
            Content::Image(note) => {
                if view == View::Numbers {
                    return images::decrypt_numbers(team, reader, &note, decryptors).map(Plain::Numbers);
                }
                images::decrypt_picture(team, reader, &note, decryptors, view, |_, _, _| {})
                    .map(Plain::Picture)
            }
            Content::Table(note) => tables::decode(team, reader, &note, decryptors).map(Plain::Table),
            _ => Err(bad("kind of content")),
        }
    }
}
