//! Filters by sweeps: rotations by one pixel in sequence along each axis, instead of one rotation
//! per weight.
//!
//! With W the columns of a tile, sum over dy, dx of w(dy, dx) rot(dy W + dx) is the sum over dy of
//! rot(dy W) applied to sum over dx of w(dy, dx) rot(dx). The images rot(dx) are made from one
//! another, by a rotation of one column each, and the sums over dy by Horner's rule, by a rotation
//! of one row each. Only the weights in between take a level.

use crate::backend::RingOps;
use crate::circuits::{Kernel, TileLayout};
use crate::ckks::{Ciphertext, Evaluator};
use crate::error::Result;
use crate::rlwe::EvaluationKeys;

/// The order in which the offsets of an axis are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// From the centre outwards, on both sides.
    Both,
    /// From the least to the greatest.
    Up,
    /// From the greatest to the least.
    Down,
}

/// The sweep along one axis.
#[derive(Clone, Copy, Debug)]
struct Axis {
    /// The rotation by one pixel.
    unit: i64,
    /// The least offset, at most 0.
    low: i64,
    /// The greatest offset, at least 0.
    high: i64,
    way: Way,
    /// The key switches that it takes.
    switches: usize,
}

impl Axis {
    /// The cheapest order; `switches` says how many key switches a rotation takes, if keys allow
    /// it.
    fn cheapest(unit: i64, low: i64, high: i64, switches: impl Fn(i64) -> Option<usize>) -> Option<Self> {
        let steps = |count: i64, step: i64| match count {
            0 => Some(0),
            _ => Some(count.unsigned_abs() as usize * switches(step)?),
        };
        let jump = |offset: i64| steps(i64::from(offset != 0), offset * unit);
        let sum = |a: Option<usize>, b: Option<usize>| Some(a? + b?);
        [
            (Way::Both, sum(steps(high, unit), steps(low, -unit))),
            (Way::Up, sum(jump(low), steps(high - low, unit))),
            (Way::Down, sum(jump(high), steps(high - low, -unit))),
        ]
        .into_iter()
        .filter_map(|(way, switches)| Some(Self { unit, low, high, way, switches: switches? }))
        .min_by_key(|axis| axis.switches)
    }

    /// Calls `visit` with each offset and the ciphertext rotated by it.
    fn for_each_rotation<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
        mut visit: impl FnMut(i64, &Ciphertext<B>) -> Result<()>,
    ) -> Result<()> {
        // The first and the last offset of each run.
        let runs = match self.way {
            Way::Both => [Some((0, self.high)), (self.low < 0).then_some((-1, self.low))],
            Way::Up => [Some((self.low, self.high)), None],
            Way::Down => [Some((self.high, self.low)), None],
        };
        for (first, last) in runs.into_iter().flatten() {
            let mut image = ev.rotate(ct, first * self.unit, keys)?;
            let (mut offset, step) = (first, (last - first).signum());
            visit(offset, &image)?;
            while offset != last {
                image = ev.rotate(&image, step * self.unit, keys)?;
                offset += step;
                visit(offset, &image)?;
            }
        }
        Ok(())
    }

    /// The sum over the offsets of `rows.at(offset)`, rotated by the offset; `None` if all are
    /// empty.
    fn gather<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        keys: &EvaluationKeys<B>,
        rows: &mut RowSums<B>,
    ) -> Result<Option<Ciphertext<B>>> {
        let turned = |sum: Option<Ciphertext<B>>, offset: i64| match sum {
            Some(sum) if offset != 0 => ev.rotate(&sum, offset * self.unit, keys).map(Some),
            sum => Ok(sum),
        };
        let (low, high) = (self.low, self.high);
        match self.way {
            Way::Up => {
                let mut offsets = (low..=high).rev();
                let sum =
                    offsets.try_fold(None, |sum, offset| plus(ev, turned(sum, 1)?, rows.at(ev, offset)?))?;
                turned(sum, low)
            }
            Way::Down => {
                let mut offsets = low..=high;
                let sum =
                    offsets.try_fold(None, |sum, offset| plus(ev, turned(sum, -1)?, rows.at(ev, offset)?))?;
                turned(sum, high)
            }
            Way::Both => {
                let (mut after, mut before) = (None, None);
                // Both sides together, so that a symmetric filter needs each row only once.
                for distance in (1..=high.max(-low)).rev() {
                    if distance <= high {
                        after = plus(ev, turned(after, 1)?, rows.at(ev, distance)?)?;
                    }
                    if distance <= -low {
                        before = plus(ev, turned(before, -1)?, rows.at(ev, -distance)?)?;
                    }
                }
                let sum = plus(ev, turned(after, 1)?, turned(before, -1)?.as_ref())?;
                plus(ev, sum, rows.at(ev, 0)?)
            }
        }
    }
}

/// The sum of those that exist.
fn plus<B: RingOps>(
    ev: &Evaluator<B>,
    sum: Option<Ciphertext<B>>,
    term: Option<&Ciphertext<B>>,
) -> Result<Option<Ciphertext<B>>> {
    Ok(match (sum, term) {
        (sum, None) => sum,
        (None, Some(term)) => Some(term.duplicate()?),
        (Some(sum), Some(term)) => Some(ev.add(&sum, term)?),
    })
}

/// The weighted sums over the columns, row by row of the filter.
struct RowSums<B: RingOps> {
    /// The columns of the filter that are not zero, each with the image (or, for equal columns, the
    /// sum of the images) that it weights.
    columns: Vec<(Vec<f64>, Ciphertext<B>)>,
    radius: i64,
    /// The weights of the last row that was requested, and its sum, since neighbouring rows are
    /// often equal.
    last: Option<(Vec<f64>, Ciphertext<B>)>,
}

impl<B: RingOps> RowSums<B> {
    fn at(&mut self, ev: &Evaluator<B>, offset: i64) -> Result<Option<&Ciphertext<B>>> {
        let row = (offset + self.radius) as usize;
        let weights: Vec<f64> = self.columns.iter().map(|(column, _)| column[row]).collect();
        if weights.iter().all(|&w| w == 0.0) {
            return Ok(None);
        }
        if self.last.as_ref().is_none_or(|(last, _)| *last != weights) {
            let terms = self.columns.iter().zip(&weights).filter(|(_, w)| **w != 0.0);
            let terms: Vec<(&Ciphertext<B>, f64)> = terms.map(|((_, image), &w)| (image, w)).collect();
            self.last = Some((weights, ev.linear_combination(&terms)?));
        }
        Ok(self.last.as_ref().map(|(_, sum)| sum))
    }
}

/// The sweeps of a filter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sweeps {
    columns: Axis,
    rows: Axis,
}

impl Sweeps {
    /// The offsets that a filter reaches: the least and the greatest column, the least and the
    /// greatest row.
    pub(super) fn reach(kernel: &Kernel) -> [(i64, i64); 2] {
        kernel.taps().fold([(0, 0); 2], |[(left, right), (top, bottom)], (dy, dx, _)| {
            [(left.min(dx), right.max(dx)), (top.min(dy), bottom.max(dy))]
        })
    }

    /// The cheapest sweeps with these keys; `None` if they do not suffice.
    pub(super) fn cheapest<B: RingOps>(
        kernel: &Kernel,
        layout: &TileLayout,
        keys: &EvaluationKeys<B>,
    ) -> Option<Self> {
        let switches = |step: i64| keys.rotation_path(step).ok().map(|path| path.len());
        let [(left, right), (top, bottom)] = Self::reach(kernel);
        Some(Self {
            columns: Axis::cheapest(1, left, right, switches)?,
            rows: Axis::cheapest(layout.tile_w() as i64, top, bottom, switches)?,
        })
    }

    /// The key switches that they take.
    pub(super) fn switches(&self) -> usize {
        self.columns.switches + self.rows.switches
    }

    /// The filtered image, one level below; `None` for a filter of zeros.
    pub(super) fn apply<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        kernel: &Kernel,
        keys: &EvaluationKeys<B>,
    ) -> Result<Option<Ciphertext<B>>> {
        let mut columns: Vec<(Vec<f64>, Ciphertext<B>)> = Vec::new();
        self.columns.for_each_rotation(ev, ct, keys, |offset, image| {
            let at = (offset + kernel.radius_x() as i64) as usize;
            let column: Vec<f64> = kernel.weights().chunks_exact(kernel.width()).map(|row| row[at]).collect();
            if column.iter().all(|&w| w == 0.0) {
                return Ok(());
            }
            match columns.iter_mut().find(|(known, _)| *known == column) {
                Some((_, sum)) => *sum = ev.add(sum, image)?,
                None => columns.push((column, image.duplicate()?)),
            }
            Ok(())
        })?;
        let mut rows = RowSums { columns, radius: kernel.radius_y() as i64, last: None };
        self.rows.gather(ev, keys, &mut rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheapest_order_is_taken() {
        // Keys for steps of one pixel either way; upwards and along powers of two; downwards only;
        // none.
        let both = |step: i64| (step.abs() == 8).then_some(1);
        let upwards = |step: i64| match step {
            8 => Some(1),
            _ => Some(3),
        };
        let downwards = |step: i64| (step == -8 || step == 24).then_some(1);
        let shape = |axis: Option<Axis>| axis.map(|axis| (axis.way, axis.switches));
        assert_eq!(shape(Axis::cheapest(8, -3, 3, both)), Some((Way::Both, 6)));
        assert_eq!(shape(Axis::cheapest(8, -3, 3, upwards)), Some((Way::Up, 9)));
        assert_eq!(shape(Axis::cheapest(8, -1, 1, upwards)), Some((Way::Both, 4)));
        assert_eq!(shape(Axis::cheapest(8, -3, 3, downwards)), Some((Way::Down, 7)));
        assert_eq!(shape(Axis::cheapest(8, 0, 2, both)), Some((Way::Both, 2)));
        assert_eq!(shape(Axis::cheapest(8, -1, 0, |_| None)), None);
        assert_eq!(shape(Axis::cheapest(8, 0, 0, |_| None)), Some((Way::Both, 0)));
    }
}
