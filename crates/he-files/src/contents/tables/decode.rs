//! Tables of real numbers, decrypted.

use super::describe::title;
use super::precision::{FINEST, error_log2, round_to_noise};
use super::regression::{self, Bounded};
use super::statistic::{REGRESSION, STATISTICS};
use crate::contents::clear::Plain;
use crate::contents::packing::Places;
use crate::contents::unpack::{Opened, Unpack};
use crate::data::table::Table;
use crate::error::{ContentError, Result};
use crate::note::{Content, TableNote, scale};
use crate::scheme::Real;
use crate::watch::{Meter, Remedy, Stage, Warning};
use he_core::ckks::Complex64;

/// Makes a table of real numbers.
pub(super) struct TableUnpacker<'a, S: Real> {
    file: Opened<'a, S>,
    note: TableNote,
    places: Option<Places>,
    columns: Vec<Vec<f64>>,
    progress: Meter<'a>,
}

impl<'a, S: Real> TableUnpacker<'a, S> {
    pub(super) fn new(file: Opened<'a, S>, note: &TableNote) -> Result<Self> {
        let content = Content::Table(note.clone());
        let batches = content.batches(S::slots(&file.params))?.count();
        let progress = Meter::new(file.watch, Stage::Decrypting, batches as u64);
        let columns = vec![Vec::new(); note.columns.len()];
        Ok(Self { file, note: note.clone(), places: note.places(), columns, progress })
    }
}

impl<S: Real> Unpack<Complex64> for TableUnpacker<'_, S> {
    fn take(&mut self, part: usize, vectors: Vec<Vec<Complex64>>) -> Result<()> {
        let (rows, columns) = (self.note.rows as usize, &mut self.columns);
        let slots = vectors.iter().flatten().map(|z| z.re);
        match &self.places {
            None => {
                let left = rows - columns[part].len();
                columns[part].extend(slots.take(left));
            }
            Some(places) => {
                let slots: Vec<f64> = slots.collect();
                for &column in &places.vectors[part] {
                    columns[column] = slots[places.of[column].slot..][..rows].to_vec();
                }
            }
        }
        self.progress.inc(1);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Plain> {
        let Self { file: Opened { params, name, history, watch, .. }, note, mut columns, .. } = *self;
        let statistic = history.last().map(String::as_str).filter(|name| STATISTICS.contains(name));
        let mut moments = Vec::new();
        for (i, (column, about)) in columns.iter_mut().zip(&note.columns).enumerate() {
            // Results of products over many rows are larger than one by at most their count.
            if column.iter().any(|x| x.is_nan() || x.abs() > 4.0 * about.count as f64) {
                return Err(ContentError::Size { name }.into());
            }
            let greatest_log2 = f64::from(about.exponent) + (about.count as f64).log2();
            let error_log2 = error_log2(&note, about).max(greatest_log2 + S::TRANSFORM_LOG2);
            let exact = |&x: &f64| about.offset + scale(x, about.exponent);
            let values: Vec<f64> = column.iter().map(exact).collect();
            if values.iter().any(|x| !x.is_finite()) {
                return Err(ContentError::Overflow { name }.into());
            }
            *column = values.iter().map(|&x| round_to_noise(x, error_log2)).collect();
            if statistic == Some(REGRESSION) {
                let error = error_log2.exp2();
                moments.extend(values.iter().map(|&value| Bounded { value, error }));
                continue;
            }
            if let (Some(statistic), [value]) = (statistic, values.as_slice()) {
                let variance = statistic == "variance";
                // A variance is never negative.
                let size = if variance { *value } else { value.abs() };
                if size < error_log2.exp2() {
                    let title = title(&about.name, i);
                    watch.warn(&undetermined::<S>(&params, statistic, &title, error_log2));
                    column[0] = if variance { f64::NAN } else { 0.0 };
                }
            }
        }
        if statistic == Some(REGRESSION) {
            return fitted(&note, &moments, name);
        }
        let names: Option<Vec<String>> = note.columns.iter().map(|about| about.name.clone()).collect();
        Table::new(names, columns).map(Plain::Table)
    }
}

/// The fit of a regression from its moments: a coefficient for each feature, and the intercept.
fn fitted(note: &TableNote, moments: &[Bounded], name: String) -> Result<Plain> {
    let columns = regression::columns_of(moments.len()).ok_or(ContentError::Mismatch)?;
    let (means, covariances) = moments.split_at(columns);
    let fit = regression::solve(means, covariances).ok_or(ContentError::Dependent { name })?;
    let features = &note.columns[..columns - 1];
    let names: Option<Vec<String>> = features.iter().map(|about| about.name.clone()).collect();
    let names = names.map(|names| names.into_iter().chain(["intercept".to_owned()]).collect());
    let rounded = |number: &Bounded| vec![round_to_noise(number.value, number.error.log2())];
    Table::new(names, fit.iter().map(rounded).collect()).map(Plain::Table)
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
