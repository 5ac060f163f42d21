//! Statistics of encrypted tables.

use super::describe::batches;
use super::statistic::Statistic;
use super::totals::{Shifts, Totals, check_sums};
use crate::cipher_file::CipherReader;
use crate::contents::over_rows::{OverRows, Rows};
use crate::contents::packing::{Places, Weights};
use crate::contents::uses::{self, Uses};
use crate::error::{ContentError, Result};
use crate::note::{Content, TableNote};
use crate::scheme::engine::Engine;
use crate::scheme::{Ckks, Scheme};
use crate::watch::{Meter, Stage};
use he::Device;
use he_core::ckks::{Ciphertext, CkksParams, Evaluator};
use he_core::rlwe::EvaluationKeys;
use he_core::wire::Wire;
use std::ops::Range;

impl OverRows<Ckks> for Statistic {
    fn other(&mut self) -> Option<&mut CipherReader<Ckks>> {
        match self {
            Self::DotTables(other) => Some(other),
            _ => None,
        }
    }

    fn compute(&mut self, rows: Rows<'_, Ckks>) -> Result<()> {
        let Rows { team, keys, reader, note, lower, writer } = rows;
        let engine = team.lead();
        let with = match self {
            Self::DotTables(other) => match &other.payload.content {
                Content::Table(with) => Some(with.clone()),
                _ => None,
            },
            _ => None,
        };
        let block = note.packed.unwrap_or(note.rows);
        let bounds: Vec<u64> =
            self.operands(note, with.as_ref()).map(|(x, y)| self.sum_bound(block, x, y)).collect();
        let shifts: Vec<(f64, f64)> = self
            .operands(note, with.as_ref())
            .map(|(x, y)| y.map_or((0.0, 0.0), |(_, y)| (y.shift(), x.shift())))
            .collect();
        let result = self.result(&engine.params, note, with.as_ref())?;
        let vectors = Content::Table(note.clone()).vectors(<Ckks as Scheme>::slots(&engine.params))?;
        let progress = Meter::new(team.watch(), Stage::Computing, vectors);
        let mut send = |ct: Ciphertext<Device>, bound: u64| {
            let ct = if lower { Ckks::lowered(engine, &ct, bound as f64)? } else { ct };
            writer.send(ct.to_frame(&engine.params)?.seal())
        };
        match note.places() {
            Some(places) => {
                let largest = bounds.iter().copied().max().unwrap_or(1);
                let mut send = |ct| send(ct, result.largest());
                self.apply_packed(
                    engine,
                    keys,
                    (reader, &progress),
                    (note, &|vector| team.computes(vector)),
                    &places,
                    (largest, &shifts),
                    &mut send,
                )?;
            }
            None => {
                let mut send = |column: usize, ct| send(ct, result.columns[column].count);
                let computes = |column| team.computes(column);
                self.apply_by_column(
                    engine,
                    keys,
                    (reader, &progress),
                    (note, &computes),
                    (&bounds, &shifts),
                    &mut send,
                )?;
            }
        }
        progress.finish();
        Ok(())
    }
}

impl Statistic {
    /// The frames of the one or two tables that each frame of the result is computed from.
    pub fn uses(&self, note: &TableNote) -> Uses {
        let files = 1 + usize::from(matches!(self, Self::DotTables(_)));
        match note.places() {
            Some(places) => match *self {
                Self::DotColumns(a, b) => {
                    let mut vectors = vec![places.of[a].vector, places.of[b].vector];
                    vectors.dedup();
                    vec![uses::of(1, vectors)]
                }
                _ => uses::each(places.vectors.len(), files),
            },
            None => {
                let parts = batches(note).count();
                let frames = |column: usize| column * parts..(column + 1) * parts;
                match *self {
                    Self::DotColumns(a, b) if a == b => vec![uses::of(1, frames(a))],
                    Self::DotColumns(a, b) => vec![uses::of(1, frames(a).chain(frames(b)))],
                    _ => (0..note.columns.len()).map(|column| uses::of(files, frames(column))).collect(),
                }
            }
        }
    }

    /// The level below a column's at which its sum stands.
    fn depth(&self) -> usize {
        match self {
            Self::Sum | Self::Mean => 0,
            Self::Variance | Self::DotColumns(..) | Self::DotTables(_) => 1,
        }
    }

    /// Checks that a sum of this magnitude fits the modulus: beyond that, results are meaningless
    /// without an error.
    fn check_range(&self, params: &CkksParams, rows: u64, bound: u64, level: usize) -> Result<()> {
        check_sums(params, rows, bound, level.checked_sub(self.depth()))
    }

    /// Computes tables in which every column has vectors of its own. `bounds` and `shifts` are
    /// those of each result.
    fn apply_by_column(
        &mut self,
        engine: &Engine<Ckks>,
        keys: &EvaluationKeys<Device>,
        (reader, progress): (&mut CipherReader<Ckks>, &Meter<'_>),
        (note, computes): (&TableNote, &dyn Fn(usize) -> bool),
        (bounds, shifts): (&[u64], &[(f64, f64)]),
        send: &mut dyn FnMut(usize, Ciphertext<Device>) -> Result<()>,
    ) -> Result<()> {
        let (ev, slots) = (&engine.evaluator, note.slots as usize);
        let ranges: Vec<Range<usize>> = batches(note).collect();
        let vectors = |range: &Range<usize>| range.len().div_ceil(slots) as u64;
        let next = |reader: &mut CipherReader<Ckks>, range: &Range<usize>| {
            reader.next(&engine.ring, vectors(range) as usize)
        };
        let shift = |&(left, right): &(f64, f64)| Shifts::new(Weights::All(left), Weights::All(right));
        let shifts: Vec<Option<Shifts>> = shifts.iter().map(shift).collect();
        if let Self::DotColumns(a, b) = *self {
            let mut kept: [Vec<Ciphertext<Device>>; 2] = [Vec::new(), Vec::new()];
            for column in 0..note.columns.len() {
                for range in &ranges {
                    let ct = next(reader, range)?;
                    if column == a || column == b {
                        self.check_range(&engine.params, note.rows, bounds[0], ct.level())?;
                    }
                    if column == b && a != b {
                        kept[1].push(ct);
                    } else if column == a {
                        kept[0].push(ct);
                    }
                    progress.inc(vectors(range));
                }
            }
            let [left, right] = &kept;
            let right = if a == b { left } else { right };
            let mut totals = Totals::new(None);
            for (x, y) in left.iter().zip(right) {
                totals.add_dot(ev, x, y, shifts[0].is_some(), keys)?;
            }
            return send(0, totals.dot(ev, shifts[0].as_ref())?);
        }
        for (column, (&bound, shifts)) in bounds.iter().zip(&shifts).enumerate() {
            if !computes(column) {
                for _ in &ranges {
                    self.pass(reader)?;
                }
                continue;
            }
            let mut totals = Totals::new(None);
            for range in &ranges {
                let ct = next(reader, range)?;
                self.check_range(&engine.params, note.rows, bound, ct.level())?;
                let with = match self {
                    Self::DotTables(other) => Some(next(other, range)?),
                    _ => None,
                };
                self.add(ev, &mut totals, &ct, with.as_ref(), shifts.is_some(), keys)?;
                progress.inc(vectors(range));
            }
            send(column, self.finish(ev, keys, totals, shifts.as_ref(), note.rows)?)?;
        }
        Ok(())
    }

    /// Computes tables whose columns share vectors. No sum exceeds `bound`; `shifts` are those of
    /// each result.
    #[allow(clippy::too_many_arguments)]
    fn apply_packed(
        &mut self,
        engine: &Engine<Ckks>,
        keys: &EvaluationKeys<Device>,
        (reader, progress): (&mut CipherReader<Ckks>, &Meter<'_>),
        (note, computes): (&TableNote, &dyn Fn(usize) -> bool),
        places: &Places,
        (bound, shifts): (u64, &[(f64, f64)]),
        send: &mut dyn FnMut(Ciphertext<Device>) -> Result<()>,
    ) -> Result<()> {
        let ev = &engine.evaluator;
        let block = note.packed.unwrap_or(note.rows) as usize;
        if let Self::DotColumns(a, b) = *self {
            let mut kept: [Option<Ciphertext<Device>>; 2] = [None, None];
            for vector in 0..places.vectors.len() {
                let ct = reader.next(&engine.ring, 1)?;
                for (kept, column) in kept.iter_mut().zip([a, b]) {
                    if places.of[column].vector == vector {
                        self.check_range(&engine.params, note.rows, bound, ct.level())?;
                        // To the first block, where the result shall be.
                        *kept = Some(match places.of[column].slot {
                            0 => ct.duplicate()?,
                            slot => ev.rotate(&ct, slot as i64, keys)?,
                        });
                    }
                }
                progress.inc(1);
            }
            let [Some(x), Some(y)] = &kept else {
                return Err(ContentError::NoSuchColumns.into());
            };
            let shifts = Shifts::new(Weights::All(shifts[0].0), Weights::All(shifts[0].1));
            let mut totals = Totals::new(Some(block));
            totals.add_dot(ev, x, y, shifts.is_some(), keys)?;
            return send(totals.dot(ev, shifts.as_ref())?);
        }
        for (vector, columns) in places.vectors.iter().enumerate() {
            if !computes(vector) {
                self.pass(reader)?;
                continue;
            }
            let ct = reader.next(&engine.ring, 1)?;
            self.check_range(&engine.params, note.rows, bound, ct.level())?;
            let weights = |side: fn(&(f64, f64)) -> f64| Weights::Blocks {
                block,
                of: columns.iter().map(|&column| side(&shifts[column])).collect(),
            };
            let shifts = Shifts::new(weights(|shift| shift.0), weights(|shift| shift.1));
            let with = match self {
                Self::DotTables(other) => Some(other.next(&engine.ring, 1)?),
                _ => None,
            };
            let mut totals = Totals::new(Some(block));
            self.add(ev, &mut totals, &ct, with.as_ref(), shifts.is_some(), keys)?;
            send(self.finish(ev, keys, totals, shifts.as_ref(), note.rows)?)?;
            progress.inc(1);
        }
        Ok(())
    }

    /// Passes over a frame of each file.
    fn pass(&mut self, reader: &mut CipherReader<Ckks>) -> Result<()> {
        reader.frame()?;
        match self {
            Self::DotTables(other) => other.frame().map(drop),
            _ => Ok(()),
        }
    }

    /// Adds what a part of a column, or of two, contributes.
    fn add(
        &self,
        ev: &Evaluator<Device>,
        totals: &mut Totals,
        ct: &Ciphertext<Device>,
        with: Option<&Ciphertext<Device>>,
        shifted: bool,
        keys: &EvaluationKeys<Device>,
    ) -> Result<()> {
        match (self, with) {
            (_, Some(with)) => totals.add_dot(ev, ct, with, shifted, keys),
            (Self::Variance, None) => {
                totals.add_dot(ev, ct, ct, false, keys)?;
                totals.add_sum(ev, ct, keys)
            }
            (_, None) => totals.add_sum(ev, ct, keys),
        }
    }

    /// The result from the sums of all parts of a column.
    fn finish(
        &self,
        ev: &Evaluator<Device>,
        keys: &EvaluationKeys<Device>,
        totals: Totals,
        shifts: Option<&Shifts>,
        rows: u64,
    ) -> Result<Ciphertext<Device>> {
        let share = 1.0 / rows as f64;
        Ok(match self {
            Self::Sum => totals.left.finish()?,
            Self::Mean => ev.mul_scalar(&totals.left.finish()?, share)?,
            Self::Variance => {
                let mean = ev.mul_scalar(&totals.left.finish()?, share)?;
                let squares = ev.mul_scalar(&totals.products.finish()?, share)?;
                ev.sub(&squares, &ev.square(&mean, keys)?)?
            }
            Self::DotColumns(..) | Self::DotTables(_) => totals.dot(ev, shifts)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::describe::describe;
    use super::super::pack::pack;
    use super::super::table::RealTable;
    use super::*;
    use crate::contents::images::rotations;
    use crate::contents::options::Offset;
    use crate::data::table::Table;
    use crate::key_set::KeySet;
    use crate::scheme::engine::rng;
    use he_core::ckks::{Complex64, Decryptor, Encryptor};

    /// The largest error of many results in units of the noise that is told for them.
    fn worst(engine: &Engine<Ckks>, keys: &KeySet<Ckks>, statistic: &Statistic, rows: usize) -> Result<f64> {
        let (params, mut rng) = (engine.params.clone(), rng()?);
        let encryptor = Encryptor::new(&params, &keys.public)?;
        let decryptor = Decryptor::new(&params, &keys.secret, &engine.ring)?;
        let columns = 8;
        let column = |seed: usize| -> Vec<f64> {
            (0..rows).map(|row| ((row * 7919 + seed * 104_729) % 100_003) as f64 / 100_003.0 - 0.3).collect()
        };
        let table = Table::new(None, (0..columns).map(column).collect())?;
        let offsets = vec![Offset::None; columns];
        let table = RealTable { table, offsets, unpacked: true };
        let mut note = describe::<Ckks>(&table, &params, &())?;
        note.columns.iter_mut().for_each(|column| column.exponent = 0);
        let mut encrypted = Vec::new();
        let encoding = params.encoding().slots(note.slots as usize);
        for vectors in pack(&table, &note) {
            let vectors = vectors?;
            let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
            let plain = engine.evaluator.encoder().encode_batch(&vectors, encoding)?;
            encrypted.push(encryptor.encrypt(&plain, &mut rng)?);
        }
        let parts = encrypted.len() / columns;
        let (x, y) = statistic.operands(&note, None).next().unwrap();
        let noise = statistic.noise(&params, &note, x, y);
        let mut worst: f64 = 0.0;
        for (values, cts) in table.table.columns().iter().zip(encrypted.chunks(parts)) {
            let (ev, keys) = (&engine.evaluator, &keys.evaluation);
            let mut totals = Totals::new(None);
            for ct in cts {
                totals.add_dot(ev, ct, ct, true, keys)?;
            }
            let result = statistic.finish(ev, keys, totals, None, rows as u64)?;
            let total: f64 = values.iter().sum();
            let squares: f64 = values.iter().map(|x| x * x).sum();
            let count = rows as f64;
            let expected = match statistic {
                Statistic::Sum => total,
                Statistic::Mean => total / count,
                Statistic::Variance => squares / count - (total / count).powi(2),
                _ => squares,
            };
            let found = engine.evaluator.encoder().decode_real(&decryptor.decrypt(&result)?)?[0][0];
            worst = worst.max((found - expected).abs() / noise);
        }
        Ok(worst)
    }

    #[test]
    fn results_are_as_precise_as_told() -> Result<()> {
        let params = CkksParams::for_depth(2).precision_bits(20).build()?;
        let engine = Engine::new(&params, Device::cpu())?;
        let keys = KeySet::generate(&engine, &rotations(&params, 0)?, &mut rng()?)?;
        for rows in [1, 5, 5000] {
            for statistic in
                [Statistic::Sum, Statistic::Mean, Statistic::Variance, Statistic::DotColumns(0, 0)]
            {
                let worst = worst(&engine, &keys, &statistic, rows)?;
                assert!(worst < 1.0, "{rows} rows: {worst} of the noise told");
            }
        }
        Ok(())
    }
}
