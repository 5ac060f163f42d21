//! Tables of real numbers, decrypted.

use super::describe::title;
use super::precision::{FINEST, error_log2, round_to_noise};
use super::statistic::STATISTICS;
use crate::cipher_file::CipherReader;
use crate::data::table::Table;
use crate::error::{ContentError, Result};
use crate::note::{Content, TableNote, scale};
use crate::scheme::{Decrypt, Real};
use crate::team::{Jobs, Team};
use crate::watch::{Meter, Remedy, Stage, Warning};
use he_core::wire::SealedFrame;

/// Decrypts a table.
///
/// # Errors
/// The file is damaged; the device fails; the result holds no numbers.
pub(super) fn decode<S: Real>(
    team: &Team<S>,
    reader: &mut CipherReader<S>,
    note: &TableNote,
    decryptors: &[Decrypt<'_, S>],
) -> Result<Table> {
    let content = Content::Table(note.clone());
    let batches: Vec<(usize, usize)> = content.batches(S::slots(&reader.params))?.collect();
    let progress = Meter::new(team.watch(), Stage::Decrypting, batches.len() as u64);
    let (decoder, name) = (reader.decoder(), reader.name.clone());
    let source = |jobs: &mut Jobs<(SealedFrame, usize, usize)>| {
        batches.iter().try_for_each(|&(part, count)| jobs.give((reader.frame()?, part, count)))?;
        reader.end()
    };
    let work = |at: usize, (frame, part, count): (SealedFrame, usize, usize)| {
        let ct = decoder.decode(&team.engines()[at].ring, frame, count)?;
        let slots = decryptors[at](&ct)?.into_iter().flatten().map(|z| z.re);
        Ok((part, slots.collect::<Vec<f64>>()))
    };
    let (rows, places) = (note.rows as usize, note.places());
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); note.columns.len()];
    team.run(source, work, |(part, slots)| {
        match &places {
            None => {
                let left = rows - columns[part].len();
                columns[part].extend(slots.into_iter().take(left));
            }
            Some(places) => {
                for &column in &places.vectors[part] {
                    columns[column] = slots[places.of[column].slot..][..rows].to_vec();
                }
            }
        }
        progress.inc(1);
        Ok(())
    })?;
    progress.finish();
    let statistic =
        reader.payload.history.last().map(String::as_str).filter(|name| STATISTICS.contains(name));
    for (i, (column, about)) in columns.iter_mut().zip(&note.columns).enumerate() {
        // Results of products over many rows are larger than one by at most their count.
        if column.iter().any(|x| x.is_nan() || x.abs() > 4.0 * about.count as f64) {
            return Err(ContentError::Size { name }.into());
        }
        let error_log2 = error_log2(note, about);
        let exact = |&x: &f64| about.offset + scale(x, about.exponent);
        let values: Vec<f64> = column.iter().map(exact).collect();
        if values.iter().any(|x| !x.is_finite()) {
            return Err(ContentError::Overflow { name }.into());
        }
        *column = values.iter().map(|&x| round_to_noise(x, error_log2)).collect();
        if let (Some(statistic), [value]) = (statistic, values.as_slice()) {
            let variance = statistic == "variance";
            // A variance is never negative.
            let size = if variance { *value } else { value.abs() };
            if size < error_log2.exp2() {
                let title = title(&about.name, i);
                let warning = undetermined::<S>(&reader.params, statistic, &title, error_log2);
                team.watch().warn(&warning);
                column[0] = if variance { f64::NAN } else { 0.0 };
            }
        }
    }
    let names: Option<Vec<String>> = note.columns.iter().map(|about| about.name.clone()).collect();
    Table::new(names, columns)
}

/// The error of a result that is lost in errors of up to 2^error_log2.
fn undetermined<S: Real>(params: &S::Params, statistic: &str, title: &str, error_log2: f64) -> Warning {
    let now = S::fresh_precision_bits(params);
    let finest = (now as u32 + 1..=FINEST).rev().find(|&bits| S::reaches(params, bits));
    let finest = finest.map(|bits| (bits, (error_log2 - (f64::from(bits) - now)).exp2()));
    let error = error_log2.exp2();
    let message = format!(
        "the {statistic} of column {title} is not determined at this precision: it is below its error bound of {error:.1e}"
    );
    Warning { message, remedy: Remedy::Offset { finest } }
}
