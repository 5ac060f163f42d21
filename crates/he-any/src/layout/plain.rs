//! Arrays in the clear beside encrypted ones.

use super::{Dim, Layout, LayoutError};
use std::ops::Range;

type Result<T> = std::result::Result<T, LayoutError>;

impl Layout {
    /// How an array of this shape lies beside an encrypted one, so that NumPy's broadcasting is
    /// that of slots: along an axis of slots, it is repeated for every value.
    ///
    /// # Errors
    /// [`LayoutError`] for shapes that do not fit together.
    pub fn beside(&self, shape: &[usize], slots: usize) -> Result<Self> {
        let plain = |axes: &[Dim], entries, size, splat| {
            let padding = if splat { None } else { Some(0.0) };
            Self { entries, ..Self::new(None, size, splat, padding) }.with_axes(axes)
        };
        let all = Self::of_array(shape, usize::MAX, super::Packing::Rows, "operand")?;
        let own = self.axes();
        let mut axes = vec![Dim::One; shape.len()];
        let offset = own.len() as isize - shape.len() as isize;
        let beside =
            |at: usize| usize::try_from(at as isize + offset).ok().and_then(|at| own.get(at)).copied();
        // Axes that both have lie together; those of the array alone take what is free.
        for (at, axis) in axes.iter_mut().enumerate() {
            if shape[at] > 1
                && let Some(dim @ (Dim::Batch | Dim::Slots)) = beside(at)
            {
                if self.length(dim) != shape[at] && self.length(dim) != 1 {
                    return Err(self.mismatch(&all));
                }
                *axis = dim;
            }
        }
        for at in (0..axes.len()).rev() {
            if shape[at] == 1 || axes[at] != Dim::One {
                continue;
            }
            let taken = |dim: Dim| axes.contains(&dim) || (own.contains(&dim) && self.length(dim) > 1);
            let free = |dim: Dim| !taken(dim);
            axes[at] = match (free(Dim::Slots), free(Dim::Batch)) {
                (true, _) if shape[at] <= slots || !self.has(Dim::Batch) => Dim::Slots,
                (_, true) => Dim::Batch,
                _ => return Err(LayoutError::Axes { left: self.shape(), right: shape.to_vec() }),
            };
        }
        let length = |dim| axes.iter().position(|&axis| axis == dim).map(|at| shape[at]);
        let entries = length(Dim::Batch);
        let wide = self.has(Dim::Slots) && !self.is_first();
        let size = length(Dim::Slots).or(wide.then_some(self.size));
        let whole = self.entries.is_none() && entries.is_none();
        if size.is_some_and(|size| size > slots) && !whole {
            return Err(LayoutError::Axes { left: self.shape(), right: shape.to_vec() });
        }
        Ok(plain(&axes, entries, size.unwrap_or(1), size.is_none()))
    }

    /// The steps from one entry of the batch to the next, and from slot to slot, in an array of
    /// this shape in C order.
    fn strides(&self, shape: &[usize]) -> [usize; 2] {
        let (axes, mut strides, mut stride) = (self.axes(), [0_usize; 2], 1);
        for (axis, &length) in axes.iter().zip(shape).rev() {
            match axis {
                Dim::Batch => strides[0] = stride,
                Dim::Slots => strides[1] = stride,
                Dim::One => (),
            }
            stride *= length;
        }
        strides
    }

    /// The values of all rows of an array without a batch, which are cut into vectors.
    fn in_line(&self, values: usize, stride: usize) -> usize {
        if stride == 1 { values } else { self.size }
    }

    /// The rows of a batch that an array of so many values has.
    pub fn vectors(&self, values: usize, shape: &[usize], slots: usize) -> usize {
        let in_line = || self.in_line(values, self.strides(shape)[1]).div_ceil(slots.max(1));
        self.entries.unwrap_or_else(in_line)
    }

    /// The values of an array in C order as some rows of a batch: with `self` a layout of
    /// [`beside`](Self::beside) or of an array of this shape. A value of all slots is a row of one.
    pub fn rows<T: Copy>(
        &self,
        values: &[T],
        shape: &[usize],
        slots: usize,
        range: Range<usize>,
    ) -> Vec<Vec<T>> {
        let (strides, slots) = (self.strides(shape), slots.max(1));
        let in_line = self.in_line(values.len(), strides[1]);
        let row = |at: usize| match self.entries {
            Some(_) => (0..self.size).map(|slot| values[at * strides[0] + slot * strides[1]]).collect(),
            None => {
                let part = (at * slots).min(in_line)..((at + 1) * slots).min(in_line);
                part.map(|slot| values[slot * strides[1]]).collect()
            }
        };
        range.map(row).collect()
    }

    /// The values of the rows of a batch in C order, without the padding.
    pub fn values<T: Copy>(&self, rows: &[Vec<T>]) -> Vec<T> {
        let Some(entries) = self.entries else {
            return rows.iter().flatten().copied().take(self.size).collect();
        };
        let rows: Vec<&Vec<T>> = rows.iter().cycle().take(entries).collect();
        if self.is_transposed() {
            return (0..self.size).flat_map(|at| rows.iter().map(move |row| row[at])).collect();
        }
        rows.iter().flat_map(|row| &row[..self.size]).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Op, Packing};
    use super::*;

    #[test]
    fn arrays_lie_beside_encrypted_ones() {
        let of = |shape: &[usize], packing| Layout::of_array(shape, 8, packing, "x").unwrap();
        let values: Vec<usize> = (0..6).collect();
        let (rows, columns) = (of(&[2, 3], Packing::Rows), of(&[2, 3], Packing::Columns));
        let single = |packing| (of(&[3, 1], packing).batch(8), of(&[3, 1], packing).shape());
        assert_eq!(single(Packing::Rows), (3, vec![3, 1]));
        assert_eq!(single(Packing::Auto), (1, vec![3, 1]));
        let beside = |of: &Layout, shape: &[usize]| {
            let plain = of.beside(shape, 8).unwrap();
            let count = shape.iter().product::<usize>();
            let shape = (of.combined(&plain, Op::Add, true).unwrap().shape(), shape);
            (shape.0, plain.rows(&values[..count], shape.1, 8, 0..plain.vectors(count, shape.1, 8)))
        };
        assert_eq!(beside(&rows, &[2, 3]), (vec![2, 3], vec![vec![0, 1, 2], vec![3, 4, 5]]));
        assert_eq!(beside(&columns, &[2, 3]), (vec![2, 3], vec![vec![0, 3], vec![1, 4], vec![2, 5]]));
        assert_eq!(beside(&rows, &[3]), (vec![2, 3], vec![vec![0, 1, 2]]));
        assert_eq!(beside(&columns, &[3]), (vec![2, 3], vec![vec![0, 0], vec![1, 1], vec![2, 2]]));
        assert_eq!(beside(&rows, &[2, 1]), (vec![2, 3], vec![vec![0, 0, 0], vec![1, 1, 1]]));
        assert_eq!(beside(&of(&[3], Packing::Auto), &[2, 3]).1, [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(beside(&of(&[3], Packing::Auto), &[2, 1]), (vec![2, 3], vec![vec![0; 3], vec![1; 3]]));
        assert_eq!(beside(&of(&[2, 1], Packing::Auto), &[3]).0, [2, 3]);
        let per_row = rows.reduced(Dim::Slots, false);
        assert_eq!(beside(&per_row, &[2]), (vec![2], vec![vec![0], vec![1]]));
        assert_eq!(beside(&per_row, &[3, 2]).0, [3, 2]);
        assert!(rows.beside(&[2], 8).is_err() && rows.beside(&[3, 3], 8).is_err());
        assert_eq!(columns.values(&[vec![0, 3, 9], vec![1, 4, 9], vec![2, 5, 9]]), values);
        assert_eq!(rows.values(&[vec![0, 1, 2, 9], vec![3, 4, 5, 9]]), values);
    }
}
