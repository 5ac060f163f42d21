//! What is encrypted under CKKS: images in tiles, columns of real numbers.

use super::clear::{Plain, View};
use super::images::{Tiles, multiply};
use super::operator::{Operator, Pairing};
use super::packing::weighted;
use super::tables::RealTable;
use super::{Contents, Kind};
use crate::cipher_file::CipherReader;
use crate::data::table::Table;
use crate::error::{ContentError, Result};
use crate::models;
use crate::note::{Content, ExamplesNote, bad};
use crate::scheme::Ckks;
use crate::scheme::Decrypt;
use crate::scheme::engine::Engine;
use crate::team::Team;
use crate::watch::{Remedy, Warning};
use he::Device;
use he_core::ckks::Ciphertext;
use he_core::rlwe::EvaluationKeys;

impl Contents for Ckks {
    type Pictures = Tiles;
    type Table = RealTable;

    fn unpack(
        team: &Team<Self>,
        reader: &mut CipherReader<Self>,
        decryptors: &[Decrypt<'_, Self>],
        view: View,
    ) -> Result<Plain> {
        match reader.payload.content.clone() {
            Content::Image(note) => Tiles::unpack(team, reader, &note, decryptors, view),
            Content::Table(note) => RealTable::unpack(team, reader, &note, decryptors, view),
            Content::Examples(note) => outputs(team, reader, decryptors, &note),
            _ => Err(bad("kind of content")),
        }
    }

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

/// The outputs of a model, a row for each example.
fn outputs(
    team: &Team<Ckks>,
    reader: &mut CipherReader<Ckks>,
    decryptors: &[Decrypt<'_, Ckks>],
    note: &ExamplesNote,
) -> Result<Plain> {
    let decryptor = decryptors.first().ok_or(ContentError::Mismatch)?;
    let outputs = models::decrypt(team.lead(), decryptor, reader, note, team.watch())?;
    let outside: Vec<usize> = (0..outputs.len()).filter(|&at| outputs[at].outside).collect();
    if let Some(first) = outside.first() {
        let (count, first) = (outside.len(), first + 1);
        let message = format!(
            "the outputs of {count} examples, first of example {first}, are beyond those of the calibration"
        );
        team.watch().warn(&Warning { message, remedy: Remedy::Calibrate });
    }
    let count = outputs.first().map_or(0, |outputs| outputs.decided.len());
    let title = |at: usize| if count == 1 { "output".to_owned() } else { format!("output_{at}") };
    let column = |at: usize| outputs.iter().map(|outputs| outputs.decided[at]).collect();
    Ok(Plain::Table(Table::new(Some((0..count).map(title).collect()), (0..count).map(column).collect())?))
}
