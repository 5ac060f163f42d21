//! What is encrypted under BFV and BGV: images sample by sample, columns of integers.

use super::clear::{Clear, Plain, View};
use super::integers::{self, IntegerTable};
use super::options::TableFlags;
use super::pairwise::{Operator, Pairing, differ};
use super::samples::{self, Shade};
use super::{Contents, ContentsOn, Sink, Work};
use crate::cipher_file::CipherReader;
use crate::device::Device;
use crate::error::{ContentError, Result};
use crate::io::input::Input;
use crate::note::{Content, bad, check_range};
use crate::on_device;
use crate::scheme::engine::Engine;
use crate::scheme::{Decrypt, Taken};
use crate::team::Team;
use crate::watch::Watch;
use he_core::backend::RingOps;
use he_core::exact::{Ciphertext, Params};
use he_core::rlwe::EvaluationKeys;

impl<E: Taken> Contents for E {
    type Table = IntegerTable;

    fn read_table(input: Input, flags: TableFlags<'_>, watch: &dyn Watch) -> Result<IntegerTable> {
        IntegerTable::read(input, flags, watch)
    }

    fn describe(
        clear: &Clear<IntegerTable>,
        params: &Params<E>,
        halo: Option<usize>,
        _watch: &dyn Watch,
    ) -> Result<Content> {
        let content = match clear {
            Clear::Picture(picture) => {
                Content::Samples(samples::describe::<E>(picture, params, halo, picture.depth().peak())?)
            }
            Clear::Table(table) => Content::Integers(integers::describe::<E>(table, params)?),
        };
        check_range(params.plain().value(), &content)?;
        Ok(content)
    }

    fn pack(
        clear: &Clear<IntegerTable>,
        params: &Params<E>,
        content: &Content,
        sink: &mut Sink<'_, u64>,
        watch: &dyn Watch,
    ) -> Result<()> {
        let (t, slots) = (params.plain().value(), params.rlwe().ring().n());
        match (clear, content) {
            (Clear::Picture(picture), Content::Samples(note)) => {
                samples::pack(picture, note, slots, |sample, _| u64::from(sample), sink, watch)
            }
            (Clear::Table(table), Content::Integers(note)) => {
                integers::pack(table, note, slots, t, sink, watch)
            }
            _ => Err(ContentError::Mismatch.into()),
        }
    }

    fn pair(
        operator: Operator,
        left: &CipherReader<Self>,
        right: &CipherReader<Self>,
    ) -> Result<(Content, Vec<Pairing>)> {
        let (content, pairing) = match (&left.payload.content, &right.payload.content) {
            (Content::Samples(a), Content::Samples(b)) => samples::pair(operator, a, b)?,
            (Content::Integers(a), Content::Integers(b)) => integers::pair(operator, a, b)?,
            _ => return Err(differ(left, right)),
        };
        check_range(left.params.plain().value(), &content)?;
        Ok((content, pairing))
    }

    fn run<W: Work<Self>>(device: Device, work: W) -> Result<W::Output> {
        on_device!(device, backends => work.on(backends))
    }
}

impl<E: Taken, B: RingOps> ContentsOn<B> for E {
    fn combine(
        engine: &Engine<Self, B>,
        keys: &EvaluationKeys<B>,
        operator: Operator,
        pairing: &Pairing,
        left: &Ciphertext<E, B>,
        right: &Ciphertext<E, B>,
    ) -> Result<Ciphertext<E, B>> {
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
            (Operator::Add, _) => ev.add(left, right)?,
            (Operator::Sub, _) => ev.sub(left, right)?,
            (Operator::Mul, _) => ev.mul(left, right, keys)?,
        })
    }

    fn unpack(
        team: &Team<Self, B>,
        reader: &mut CipherReader<Self>,
        decryptors: &[Decrypt<'_, Self, B>],
        view: View,
    ) -> Result<Plain> {
        let t = reader.params.plain().value();
        match reader.payload.content.clone() {
            Content::Samples(note) => {
                // Opacity is not below 0, whatever the light channels' bounds are.
                let number = |slot: u64| integers::lift(slot, note.low.min(0), t);
                samples::unpack(team, reader, &note, decryptors, &Shade::new(&note, view, 0.0)?, number)
            }
            Content::Integers(note) => integers::decode(team, reader, &note, decryptors).map(Plain::Cells),
            _ => Err(bad("kind of content")),
        }
    }
}
