//! Columns of numbers under encryption.

use crate::cipher_file::{CipherReader, CipherWriter};
use crate::core_error::DAMAGED;
use crate::engine::{Engine, batch_size};
use crate::error::{CliError, Result};
use crate::input::Input;
use crate::pairwise::{Operator, Pairing};
use crate::payload::{ColumnNote, Content, EXPONENT, TableNote, pair_name};
use crate::progress::Progress;
use crate::scheme::{Ckks, Decrypt, On, Real, Sink, TableFlags};
use crate::table::Table;
use crate::team::{Jobs, Team};
use he_core::backend::RingOps;
use he_core::circuits::{dot, pack_column, sum};
use he_core::ckks::{Ciphertext, CkksParams, Complex64, Evaluator};
use he_core::rlwe::EvaluationKeys;
use he_core::wire::{self, SealedFrame};
use std::ops::Range;

/// Reads a table of real numbers.
///
/// # Errors
/// It is none; columns of categories are asked for.
pub fn read(input: Input, flags: TableFlags<'_>, scheme: &str) -> Result<Table> {
    if !flags.categories.is_empty() {
        return Err(CliError::usage(format!(
            "--categories is for bfv and bgv keys, and this is a key of {scheme}"
        ))
        .hint("make keys with keygen bfv"));
    }
    let name = input.name().to_owned();
    Table::read(input, &name, flags.options)
}

/// Describes a table to be encrypted. Each column is scaled by the power of two that brings it below one.
pub fn describe<S: Real>(table: &Table, params: &S::Params) -> TableNote {
    let name = |i: usize| table.header().map(|names| names[i].clone());
    let columns = table.columns().iter().enumerate().map(|(i, column)| {
        let largest = column.iter().fold(0f64, |most, x| most.max(x.abs()));
        ColumnNote { name: name(i), exponent: exponent_of(largest), count: 1 }
    });
    // No more slots than needed: the noise of a sum is that of all slots.
    let slots = table.rows().next_power_of_two().min(S::slots(params));
    let sparse = S::slots(params) as f64 / slots as f64;
    TableNote {
        rows: table.rows() as u64,
        slots: slots as u64,
        batch: batch_size::<S>(params) as u32,
        // A slot's noise comes from the 2 slots coefficients that its vector has.
        precision_bits: S::fresh_precision_bits(params) + sparse.log2() / 2.0,
        columns: columns.collect(),
    }
}

/// The least exponent with 2^exponent > x, for x >= 0, also for subnormal numbers; 0 for 0.
fn exponent_of(x: f64) -> i32 {
    let bits = x.abs().to_bits();
    match (bits >> 52) as i32 {
        0 if bits == 0 => 0,
        0 => (64 - bits.leading_zeros()) as i32 - 1074,
        biased => biased - 1022,
    }
}

/// x 2^exponent without overflow on the way.
fn scale(x: f64, exponent: i32) -> f64 {
    let half = exponent / 2;
    x * f64::from(half).exp2() * f64::from(exponent - half).exp2()
}

/// Rows of the batches of a column.
fn batches(note: &TableNote) -> impl Iterator<Item = Range<usize>> + use<> {
    let (rows, step) = (note.rows as usize, note.slots as usize * note.batch as usize);
    (0..rows).step_by(step).map(move |start| start..rows.min(start + step))
}

/// Packs a table into vectors, batch by batch.
///
/// # Errors
/// Those of the sink.
pub fn pack(table: &Table, note: &TableNote, sink: &mut Sink<'_, Complex64>) -> Result<()> {
    let slots = note.slots as usize;
    let progress = Progress::new("encrypting", note.columns.len() as u64);
    for (column, about) in table.columns().iter().zip(&note.columns) {
        for range in batches(note) {
            let scaled: Vec<f64> = column[range].iter().map(|&x| scale(x, -about.exponent)).collect();
            sink(pack_column(&scaled, slots)?)?;
        }
        progress.inc(1);
    }
    progress.finish();
    Ok(())
}

/// Decrypts a table.
///
/// # Errors
/// The file is damaged; the device fails; the result holds no numbers.
pub fn decode<S: Real + On<B>, B: RingOps>(
    team: &Team<S, B>,
    reader: &mut CipherReader<S>,
    note: &TableNote,
    decryptors: &[Decrypt<'_, S, B>],
) -> Result<Table> {
    let slots = note.slots as usize;
    let progress = Progress::new("decrypting", note.columns.len() as u64);
    let (decoder, name) = (reader.decoder(), reader.name.clone());
    let source = |jobs: &mut Jobs<(SealedFrame, usize)>| {
        for _ in &note.columns {
            batches(note).try_for_each(|range| jobs.give((reader.frame()?, range.len())))?;
        }
        reader.end()
    };
    let work = |at: usize, (frame, rows): (SealedFrame, usize)| {
        let engine = &team.engines()[at];
        let ct = decoder.decode(&engine.ring, frame, rows.div_ceil(slots))?;
        let vectors = decryptors[at](&ct)?;
        Ok(vectors.into_iter().flatten().take(rows).map(|z| z.re).collect::<Vec<f64>>())
    };
    let mut columns: Vec<Vec<f64>> = Vec::with_capacity(note.columns.len());
    let mut column: Vec<f64> = Vec::new();
    team.run(source, work, |rows| {
        column.extend(rows);
        if column.len() as u64 == note.rows {
            columns.push(std::mem::take(&mut column));
            progress.inc(1);
        }
        Ok(())
    })?;
    progress.finish();
    for (column, about) in columns.iter_mut().zip(&note.columns) {
        // Results of products over many rows are larger than one by at most their count.
        if column.iter().any(|x| x.is_nan() || x.abs() > 4.0 * about.count as f64) {
            return Err(CliError::new(format!(
                "{name} does not decrypt to numbers of the size that it states"
            ))
            .hint("use the secret key of the key set that it was encrypted with"));
        }
        let noise_log2 = (about.count as f64).log2() / 2.0 - note.precision_bits;
        let value =
            |&x: &f64| round_to_noise(scale(x, about.exponent), noise_log2 + f64::from(about.exponent));
        *column = column.iter().map(value).collect();
        if column.iter().any(|x| !x.is_finite()) {
            return Err(CliError::new(format!("{name} holds a result beyond 1.8e308"))
                .hint("divide the column by a power of ten before it is encrypted"));
        }
    }
    let names: Option<Vec<String>> = note.columns.iter().map(|about| about.name.clone()).collect();
    Table::new(names, columns)
}

/// Columns that were combined one by one.
///
/// In sums the column of the smaller exponent is divided by the power of two between them, which takes as much as a product; of equal
/// exponents nothing.
///
/// # Errors
/// The tables differ in shape; results would be too large or too small for any number.
pub fn pair(operator: Operator, a: &TableNote, b: &TableNote) -> Result<(Content, Vec<Pairing>)> {
    check_shapes(a, b, operator.name())?;
    let too_large = |exponent: i32| {
        CliError::new(format!("results of about 2^{exponent} are beyond all numbers"))
            .hint("multiply the column by a power of ten before it is encrypted")
    };
    let mut pairings = Vec::new();
    let mut columns = Vec::new();
    for (x, y) in a.columns.iter().zip(&b.columns) {
        let (exponent, count) = match operator {
            Operator::Mul => (x.exponent + y.exponent, x.count.saturating_mul(y.count)),
            _ => (x.exponent.max(y.exponent), x.count.saturating_add(y.count)),
        };
        if !EXPONENT.contains(&exponent) {
            return Err(too_large(exponent));
        }
        pairings.push(match operator {
            Operator::Mul => Pairing::Slots,
            _ => {
                Pairing::Halved { left: exponent.abs_diff(x.exponent), right: exponent.abs_diff(y.exponent) }
            }
        });
        let name = if x.name == y.name { x.name.clone() } else { pair_name(&x.name, &y.name) };
        columns.push(ColumnNote { name, exponent, count });
    }
    // Numbers of a column are below its count; relinearisation and division add less than fresh noise.
    let largest = |note: &TableNote| note.columns.iter().map(|c| c.count).max().unwrap_or(1) as f64;
    let (noise_a, noise_b) = ((-a.precision_bits).exp2(), (-b.precision_bits).exp2());
    let noise = match operator {
        Operator::Mul => largest(b) * noise_a + largest(a) * noise_b + noise_a.max(noise_b),
        _ => noise_a + noise_b + noise_a.max(noise_b),
    };
    let slots = a.slots.max(b.slots);
    let note = TableNote { columns, slots, precision_bits: -noise.log2(), ..a.clone() };
    Ok((Content::Table(note), pairings))
}

/// That two tables have one shape.
fn check_shapes(a: &TableNote, b: &TableNote, operation: &str) -> Result<()> {
    if (a.rows, a.columns.len(), a.batch) == (b.rows, b.columns.len(), b.batch) {
        return Ok(());
    }
    let shape = |n: &TableNote| format!("{} rows of {}", n.rows, n.columns.len());
    Err(CliError::new(format!("the tables differ in shape: {} and {}", shape(a), shape(b)))
        .hint(format!("{operation} takes tables with as many rows and columns")))
}

/// x rounded to the decimals that noise of up to 2^noise_log2 leaves: as many as half a unit of the last one exceeds it, so that whatever
/// had no more decimals comes back as it was.
fn round_to_noise(x: f64, noise_log2: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let decimals = -((noise_log2 + 1.0) * std::f64::consts::LOG10_2).ceil();
    let digits = x.abs().log10().floor() + decimals;
    // Sums with 0.0 turn -0.0 into 0.0.
    if digits < 0.0 {
        let unit = format!("1e{}", -decimals).parse().unwrap_or(0.0);
        return if x.abs() >= unit / 2.0 { x.signum() * unit } else { 0.0 };
    }
    // More digits than numbers have change nothing.
    format!("{x:.0$e}", digits.min(40.0) as usize).parse().unwrap_or(x) + 0.0
}

/// What can be computed of a table.
pub enum Statistic {
    /// Sum of each column.
    Sum,
    /// Mean of each column.
    Mean,
    /// Population variance of each column.
    Variance,
    /// Inner product of two columns.
    DotColumns(usize, usize),
    /// Inner products with the columns of another table.
    DotTables(Box<CipherReader<Ckks>>),
}

impl Statistic {
    /// The description of the result.
    ///
    /// # Errors
    /// The table, or the other one, is a result already; the other one has another shape; results would be too large or too small for
    /// any number.
    pub fn describe(&self, reader: &CipherReader<Ckks>, note: &TableNote) -> Result<TableNote> {
        check_original(reader)?;
        let rows = note.rows;
        let column = |name: &Option<String>, exponent: i32, count: u64| {
            if !EXPONENT.contains(&exponent) {
                return Err(CliError::new(format!("results of about 2^{exponent} are beyond all numbers"))
                    .hint("multiply the column by a power of ten before it is encrypted"));
            }
            Ok(ColumnNote { name: name.clone(), exponent, count })
        };
        let product = |a: &ColumnNote, b: &ColumnNote| {
            let count = a.count.saturating_mul(b.count).saturating_mul(rows);
            column(&pair_name(&a.name, &b.name), a.exponent + b.exponent, count)
        };
        let of_each =
            |result: &dyn Fn(&ColumnNote) -> Result<ColumnNote>| note.columns.iter().map(result).collect();
        let columns: Result<Vec<ColumnNote>> = match self {
            Self::Sum => of_each(&|c| column(&c.name, c.exponent, c.count.saturating_mul(rows))),
            Self::Mean => of_each(&|c| column(&c.name, c.exponent, c.count)),
            Self::Variance => of_each(&|c| column(&c.name, 2 * c.exponent, c.count.saturating_mul(c.count))),
            Self::DotColumns(a, b) => product(&note.columns[*a], &note.columns[*b]).map(|c| vec![c]),
            Self::DotTables(other) => {
                let Content::Table(with) = &other.payload.content else {
                    return Err(CliError::new(format!("{} is an encrypted image, not a table", other.name))
                        .hint("dot takes two encrypted tables"));
                };
                check_original(other)?;
                check_shapes(note, with, "dot")?;
                note.columns.iter().zip(&with.columns).map(|(a, b)| product(a, b)).collect()
            }
        };
        let precision_bits = self.precision_bits(&reader.params, note);
        Ok(TableNote { rows: 1, columns: columns?, precision_bits, ..note.clone() })
    }

    /// Bits of precision of the result. The noise of all slots adds up, that of the padding too; rotations and relinearisation add
    /// less than half as much, a product has the noise of both factors. 1 / rows is rounded to a multiple of 1 / scale.
    fn precision_bits(&self, params: &CkksParams, note: &TableNote) -> f64 {
        let rows = note.rows as f64;
        // Noise is multiplied by numbers below this.
        let largest = note.columns.iter().map(|column| column.count).max().unwrap_or(1) as f64;
        let fresh = (-note.precision_bits).exp2();
        let slots = note.rows.div_ceil(note.slots) * note.slots;
        let sum = (slots as f64 * 1.5).sqrt() * fresh;
        let products = 2f64.sqrt() * sum * largest;
        let share = largest * rows * (-params.scale_log2()).exp2();
        let noise = match self {
            Self::Sum => sum,
            Self::Mean => sum / rows + fresh / 4.0 + share,
            Self::DotColumns(..) | Self::DotTables(_) => products,
            Self::Variance => (products + 2.0 * largest * sum) / rows + fresh / 2.0 + 4.0 * share,
        };
        -noise.log2()
    }

    /// The level below a column's at which its sum stands.
    fn depth(&self) -> usize {
        match self {
            Self::Sum | Self::Mean => 0,
            Self::Variance | Self::DotColumns(..) | Self::DotTables(_) => 1,
        }
    }

    /// That the sum of as many numbers below one as there are rows fits the modulus: beyond, nothing tells that results are worthless.
    fn check_range(&self, params: &CkksParams, note: &TableNote, level: usize) -> Result<()> {
        let Some(level) = level.checked_sub(self.depth()) else {
            // The operation itself says that there is no level left.
            return Ok(());
        };
        let limit = (params.log_q(level) - 1.0).exp2() / params.level(level)?.scale;
        let largest = note.columns.iter().map(|column| column.count).max().unwrap_or(1) as f64;
        let each = if self.depth() == 0 { largest } else { largest * largest };
        if note.rows as f64 * each > limit {
            let rows = note.rows;
            return Err(CliError::new(format!(
                "sums over {rows} rows do not fit keys that hold {limit:.1} there"
            ))
            .hint("make keys with a larger keygen --depth or --range, and encrypt again"));
        }
        Ok(())
    }

    /// Computes column by column.
    ///
    /// # Errors
    /// The file is damaged; levels or keys are missing; the device fails.
    pub fn apply<B: RingOps>(
        &mut self,
        engine: &Engine<Ckks, B>,
        keys: &EvaluationKeys<B>,
        reader: &mut CipherReader<Ckks>,
        note: &TableNote,
        writer: &mut CipherWriter,
    ) -> Result<()> {
        let (ev, slots) = (&engine.evaluator, note.slots as usize);
        let ranges: Vec<Range<usize>> = batches(note).collect();
        let next = |reader: &mut CipherReader<Ckks>, range: &Range<usize>| {
            reader.next(&engine.ring, range.len().div_ceil(slots))
        };
        let progress = Progress::new("computing", note.columns.len() as u64);
        if let Self::DotColumns(a, b) = *self {
            let mut kept: [Vec<Ciphertext<B>>; 2] = [Vec::new(), Vec::new()];
            for column in 0..note.columns.len() {
                for range in &ranges {
                    let ct = next(reader, range)?;
                    self.check_range(&engine.params, note, ct.level())?;
                    if column == b && a != b {
                        kept[1].push(ct);
                    } else if column == a {
                        kept[0].push(ct);
                    }
                }
                progress.inc(1);
            }
            let [left, right] = &kept;
            let right = if a == b { left } else { right };
            let mut products = Total(None);
            for (x, y) in left.iter().zip(right) {
                products.add(ev, dot(ev, x, y, keys)?)?;
            }
            writer.send(wire::encode_ciphertext(&engine.params, &products.finish()?)?.seal())?;
        } else {
            for _ in &note.columns {
                let (mut sums, mut squares) = (Total(None), Total(None));
                for range in &ranges {
                    let ct = next(reader, range)?;
                    self.check_range(&engine.params, note, ct.level())?;
                    match self {
                        Self::DotTables(other) => {
                            sums.add(ev, dot(ev, &ct, &next(other, range)?, keys)?)?;
                        }
                        Self::Variance => {
                            squares.add(ev, dot(ev, &ct, &ct, keys)?)?;
                            sums.add(ev, sum(ev, &ct, keys)?)?;
                        }
                        _ => sums.add(ev, sum(ev, &ct, keys)?)?,
                    }
                }
                let result = self.finish(ev, keys, sums, squares, note.rows)?;
                writer.send(wire::encode_ciphertext(&engine.params, &result)?.seal())?;
                progress.inc(1);
            }
        }
        progress.finish();
        if let Self::DotTables(other) = self {
            other.end()?;
        }
        reader.end()
    }

    /// The result from the sums of values or products, and of squares.
    fn finish<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        keys: &EvaluationKeys<B>,
        sums: Total<B>,
        squares: Total<B>,
        rows: u64,
    ) -> Result<Ciphertext<B>> {
        let share = 1.0 / rows as f64;
        let sum = sums.finish()?;
        Ok(match self {
            Self::Mean => ev.mul_scalar(&sum, share)?,
            Self::Variance => {
                let mean = ev.mul_scalar(&sum, share)?;
                let squares = ev.mul_scalar(&squares.finish()?, share)?;
                ev.sub(&squares, &ev.square(&mean, keys)?)?
            }
            _ => sum,
        })
    }
}

/// Operations whose results hold one number in all slots.
const STATISTICS: [&str; 4] = ["sum", "mean", "variance", "dot"];

/// That a table is no result of a statistic: those hold one number in all slots.
fn check_original(reader: &CipherReader<Ckks>) -> Result<()> {
    let statistic = |operation: &&String| STATISTICS.contains(&operation.as_str());
    match reader.payload.history.iter().find(statistic) {
        None => Ok(()),
        Some(operation) => {
            Err(CliError::new(format!("{} is the result of {operation} already", reader.name))
                .hint("compute from the encrypted original"))
        }
    }
}

/// The sum of the parts of a column.
struct Total<B: RingOps>(Option<Ciphertext<B>>);

impl<B: RingOps> Total<B> {
    fn add(&mut self, ev: &Evaluator<B>, part: Ciphertext<B>) -> Result<()> {
        self.0 = Some(match self.0.take() {
            Some(sum) => ev.add(&sum, &part)?,
            None => part,
        });
        Ok(())
    }

    fn finish(self) -> Result<Ciphertext<B>> {
        self.0.ok_or_else(|| CliError::new("the table has no rows").hint(DAMAGED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::keygen::{KeySet, rotations};
    use crate::engine::rng;
    use he_core::backend::Cpu;
    use he_core::ckks::{Decryptor, Encryptor};

    #[test]
    fn decimals_within_the_noise_come_back() {
        // Noise of 2^-20: half a unit of the fifth decimal is more, of the sixth less.
        for (x, noisy) in
            [(0.1, 0.1 + 9e-7), (-12.34, -12.340_000_9), (99.99999, 99.999_989_2), (1e6, 1e6 - 9e-7)]
        {
            assert_eq!(round_to_noise(noisy, -20.0), x);
        }
        assert_eq!(round_to_noise(0.123_456_7, -20.0), 0.12346);
        assert_eq!(round_to_noise(9.999_999, -20.0), 10.0);
    }

    #[test]
    fn what_is_smaller_than_the_noise_is_zero() {
        for x in [4e-6, -4e-6, 1e-30, -1e-300, 0.0] {
            assert_eq!(round_to_noise(x, -20.0).to_bits(), 0.0f64.to_bits(), "{x}");
        }
        assert_eq!(round_to_noise(-6e-6, -20.0), -1e-5);
        // Noise above one: tens, hundreds, ...
        assert_eq!(round_to_noise(123_456_789.0, 3.0), 123_456_800.0);
        assert_eq!(round_to_noise(-1.7e300, 992.0), -1.7e300);
        assert_eq!(round_to_noise(3.0, 10.0), 0.0);
    }

    #[test]
    fn more_precision_than_numbers_have_changes_nothing() {
        for x in [0.1 + 0.2, 1.0 / 3.0, f64::MAX, f64::MIN_POSITIVE, 5e-324] {
            assert_eq!(round_to_noise(x, -1100.0), x);
            assert_eq!(round_to_noise(-x, -1100.0), -x);
        }
    }

    #[test]
    fn scaling_neither_overflows_nor_underflows_on_the_way() {
        for x in [f64::MAX, 1.5, f64::MIN_POSITIVE, 5e-324] {
            let exponent = exponent_of(x);
            let scaled = scale(x, -exponent);
            assert!((0.5..1.0).contains(&scaled), "{x}: {scaled}");
            assert_eq!(scale(scaled, exponent), x);
        }
        assert_eq!(exponent_of(0.0), 0);
        assert_eq!(exponent_of(1.0), 1);
    }

    /// The largest error of many results in units of the noise that is told for them.
    fn worst(
        engine: &Engine<Ckks, Cpu>,
        keys: &KeySet<Ckks, Cpu>,
        statistic: &Statistic,
        rows: usize,
    ) -> Result<f64> {
        let (params, mut rng) = (engine.params.clone(), rng()?);
        let encryptor = Encryptor::new(&params, &keys.public)?;
        let decryptor = Decryptor::new(&params, &keys.secret, &engine.ring)?;
        let columns = 8;
        let column = |seed: usize| -> Vec<f64> {
            (0..rows).map(|row| ((row * 7919 + seed * 104_729) % 100_003) as f64 / 100_003.0 - 0.3).collect()
        };
        let table = Table::new(None, (0..columns).map(column).collect())?;
        let mut note = describe::<Ckks>(&table, &params);
        note.columns.iter_mut().for_each(|column| column.exponent = 0);
        let mut encrypted = Vec::new();
        let encoding = params.encoding().slots(note.slots as usize);
        pack(&table, &note, &mut |vectors| {
            let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
            let plain = engine.evaluator.encoder().encode_batch(&vectors, encoding)?;
            encrypted.push(encryptor.encrypt(&plain, &mut rng)?);
            Ok(())
        })?;
        let parts = encrypted.len() / columns;
        let noise = (-statistic.precision_bits(&params, &note)).exp2();
        let mut worst: f64 = 0.0;
        for (values, cts) in table.columns().iter().zip(encrypted.chunks(parts)) {
            let (ev, keys) = (&engine.evaluator, &keys.evaluation);
            let (mut sums, mut squares) = (Total(None), Total(None));
            for ct in cts {
                match statistic {
                    Statistic::Sum | Statistic::Mean => sums.add(ev, sum(ev, ct, keys)?)?,
                    Statistic::Variance => {
                        squares.add(ev, dot(ev, ct, ct, keys)?)?;
                        sums.add(ev, sum(ev, ct, keys)?)?;
                    }
                    _ => sums.add(ev, dot(ev, ct, ct, keys)?)?,
                }
            }
            let result = statistic.finish(ev, keys, sums, squares, rows as u64)?;
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
        let engine = Engine::new(&params, Cpu::new())?;
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
