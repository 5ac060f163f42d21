//! The contents under CKKS: images in tiles, columns of real numbers.

use super::clear::Plain;
use super::digits::DigitsUnpacker;
use super::images::{Tiles, multiply};
use super::packing::weighted;
use super::pairing::Pairing;
use super::tables::RealTable;
use super::unpack::{Opened, Unpack};
use super::{Contents, Kind};
use crate::data::table::Table;
use crate::error::{ContentError, Result, SearchError};
use crate::note::{Content, ExamplesNote, bad};
use crate::scheme::Ckks;
use crate::scheme::engine::Engine;
use crate::watch::{Meter, Remedy, Stage, Warning};
use he::Device;
use he_any::layout::Op;
use he_core::ckks::{Ciphertext, Complex64};
use he_core::rlwe::EvaluationKeys;
use he_nn::{OutputLayout, Outputs};

impl Contents for Ckks {
    type Pictures = Tiles;
    type Table = RealTable;

    fn unpacker<'a>(file: Opened<'a, Self>, content: &Content) -> Result<Box<dyn Unpack<Complex64> + 'a>> {
        match content {
            Content::Image(note) => Tiles::unpacker(file, note),
            Content::Table(note) => RealTable::unpacker(file, note),
            Content::Digits(note) => Ok(Box::new(DigitsUnpacker::new(file, note))),
            Content::Examples(note) => Ok(Box::new(OutputsUnpacker::new(file, note)?)),
            Content::Search(_) => Err(SearchError::Decrypt { name: file.name.to_owned() }.into()),
            _ => Err(bad("kind of content")),
        }
    }

    fn combine(
        engine: &Engine<Self>,
        keys: &EvaluationKeys<Device>,
        operator: Op,
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
            (Op::Add, _) => ev.add(left, right)?,
            (Op::Sub, _) => ev.sub(left, right)?,
            (Op::Mul, Pairing::Complex) => multiply(ev, left, right, keys)?,
            (Op::Mul, Pairing::Shifted { left: by_left, right: by_right }) => {
                let shifts = weighted(ev, &[(left, by_left), (right, by_right)])?;
                ev.add(&ev.mul(left, right, keys)?, &shifts)?
            }
            (Op::Mul, _) => ev.mul(left, right, keys)?,
        })
    }
}

/// Makes the outputs of a model, a row for each example.
struct OutputsUnpacker<'a> {
    file: Opened<'a, Ckks>,
    note: ExamplesNote,
    layout: OutputLayout,
    /// The ciphertexts of the current groups.
    parts: Vec<Vec<Vec<f64>>>,
    outputs: Vec<Outputs>,
    progress: Meter<'a>,
}

impl<'a> OutputsUnpacker<'a> {
    fn new(file: Opened<'a, Ckks>, note: &ExamplesNote) -> Result<Self> {
        let Some(layout) = note.outputs.clone() else {
            return Err(ContentError::Inputs { name: file.name }.into());
        };
        let progress = Meter::new(file.watch, Stage::Decrypting, note.examples);
        Ok(Self { file, note: note.clone(), layout, parts: Vec::new(), outputs: Vec::new(), progress })
    }
}

impl Unpack<Complex64> for OutputsUnpacker<'_> {
    fn take(&mut self, _part: usize, vectors: Vec<Vec<Complex64>>) -> Result<()> {
        let groups = vectors.len();
        self.parts.push(vectors.into_iter().map(|v| v.iter().map(|z| z.re).collect()).collect());
        if self.parts.len() == self.note.parts as usize {
            let left = self.note.examples as usize - self.outputs.len();
            let examples = left.min(groups * self.note.shared as usize);
            self.outputs.extend(self.layout.unpack(&self.parts, examples)?);
            self.parts.clear();
            self.progress.inc(examples as u64);
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Plain> {
        let Self { file, outputs, .. } = *self;
        let outside: Vec<usize> = (0..outputs.len()).filter(|&at| outputs[at].outside).collect();
        if let Some(first) = outside.first() {
            let (count, first) = (outside.len(), first + 1);
            let message = format!(
                "the outputs of {count} examples, first of example {first}, are beyond those of the calibration"
            );
            file.watch.warn(&Warning { message, remedy: Remedy::Calibrate });
        }
        let count = outputs.first().map_or(0, |outputs| outputs.decided.len());
        let title = |at: usize| if count == 1 { "output".to_owned() } else { format!("output_{at}") };
        let column = |at: usize| outputs.iter().map(|outputs| outputs.decided[at]).collect();
        let names = Some((0..count).map(title).collect());
        Ok(Plain::Table(Table::new(names, (0..count).map(column).collect())?))
    }
}
