//! Second moments, computed.

use super::{Moment, Moments};
use crate::cipher_file::CipherReader;
use crate::contents::over_rows::{OverRows, Rows};
use crate::contents::tables::describe::batches;
use crate::contents::tables::totals::{Totals, check_sums};
use crate::error::Result;
use crate::note::TableNote;
use crate::scheme::engine::Engine;
use crate::scheme::{Ckks, Scheme};
use crate::watch::{Meter, Stage};
use he::Device;
use he_core::ckks::{Ciphertext, CkksParams, Evaluator};
use he_core::rlwe::EvaluationKeys;
use he_core::wire::Wire;

type Ct = Ciphertext<Device>;
type Keys = EvaluationKeys<Device>;

impl OverRows<Ckks> for Moments {
    fn other(&mut self) -> Option<&mut CipherReader<Ckks>> {
        None
    }

    fn compute(&mut self, rows: Rows<'_, Ckks>) -> Result<()> {
        let Rows { team, keys, reader, note, lower, writer } = rows;
        let engine = team.lead();
        let ev = &engine.evaluator;
        let moments = self.of(note.columns.len());
        let result = self.result(&engine.params, note)?;
        let columns = read(engine, keys, reader, note)?;
        let progress = Meter::new(team.watch(), Stage::Computing, moments.len() as u64);
        let (block, share) = (note.packed.map(|block| block as usize), 1.0 / note.rows as f64);
        let mean = |column: &Vec<Ct>| {
            let mut totals = Totals::new(block);
            column.iter().try_for_each(|part| totals.add_sum(ev, part, keys))?;
            Ok(ev.mul_scalar(&totals.left.finish()?, share)?)
        };
        let means = columns.iter().map(mean).collect::<Result<Vec<Ct>>>()?;
        for (frame, (moment, about)) in moments.iter().zip(&result.columns).enumerate() {
            if !team.computes(frame) {
                continue;
            }
            let ct = match *moment {
                Moment::Mean(x) => means[x].duplicate()?,
                Moment::Covariance(x, y) => {
                    let products = products(ev, block, &columns[x], &columns[y], keys)?;
                    let products = ev.mul_scalar(&products, share)?;
                    ev.sub(&products, &ev.mul(&means[x], &means[y], keys)?)?
                }
            };
            let ct = if lower { Ckks::lowered(engine, &ct, about.count as f64)? } else { ct };
            writer.send(ct.to_frame(&engine.params)?.seal())?;
            progress.inc(1);
        }
        progress.finish();
        Ok(())
    }
}

/// The sum of the products of two columns.
fn products(ev: &Evaluator<Device>, block: Option<usize>, x: &[Ct], y: &[Ct], keys: &Keys) -> Result<Ct> {
    let mut totals = Totals::new(block);
    x.iter().zip(y).try_for_each(|(x, y)| totals.add_dot(ev, x, y, false, keys))?;
    totals.products.finish()
}

/// The parts of every column: a column that shares vectors is moved to the first block of its own.
fn read(
    engine: &Engine<Ckks>,
    keys: &Keys,
    reader: &mut CipherReader<Ckks>,
    note: &TableNote,
) -> Result<Vec<Vec<Ct>>> {
    let fits = |ct: Ct| {
        check_range(&engine.params, note, ct.level())?;
        Ok(ct)
    };
    let Some(places) = note.places() else {
        let slots = note.slots as usize;
        let part = |range: std::ops::Range<usize>, reader: &mut CipherReader<Ckks>| {
            fits(reader.next(&engine.ring, range.len().div_ceil(slots))?)
        };
        let column = |_| batches(note).map(|range| part(range, reader)).collect::<Result<Vec<Ct>>>();
        return (0..note.columns.len()).map(column).collect();
    };
    let mut columns = Vec::new();
    for vector in &places.vectors {
        let ct = fits(reader.next(&engine.ring, 1)?)?;
        for &column in vector {
            columns.push(vec![match places.of[column].slot {
                0 => ct.duplicate()?,
                slot => engine.evaluator.rotate(&ct, slot as i64, keys)?,
            }]);
        }
    }
    Ok(columns)
}

/// Checks that the sums of the products of all pairs fit the modulus.
fn check_range(params: &CkksParams, note: &TableNote, level: usize) -> Result<()> {
    let largest = note.largest();
    let sums = largest.saturating_mul(largest).saturating_mul(note.packed.unwrap_or(note.rows));
    check_sums(params, note.rows, sums, level.checked_sub(1))
}
