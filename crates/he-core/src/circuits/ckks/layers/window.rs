//! Windows that slide over the pixels of a channel, and where their results lie.

use crate::circuits::ckks::{BlockTransform, TensorGrid, TensorLayout};
use crate::ckks::Complex64;
use crate::error::{Error, Result};

/// A window that slides over a padded channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// Height and width, in taps.
    pub size: [usize; 2],
    pub stride: [usize; 2],
    /// Pixels from one tap to the next.
    pub dilation: [usize; 2],
    /// Zeros at the top, left, bottom and right.
    pub padding: [usize; 4],
}

impl Window {
    pub fn new(size: [usize; 2]) -> Self {
        Self { size, stride: [1; 2], dilation: [1; 2], padding: [0; 4] }
    }

    /// Height and width of what the windows over a channel leave.
    pub fn output(&self, input: [usize; 2]) -> Result<[usize; 2]> {
        let Self { size, stride, dilation, padding } = *self;
        let [top, left, bottom, right] = padding;
        let mut output = [0; 2];
        for (axis, padding) in [[top, bottom], [left, right]].into_iter().enumerate() {
            let found = || Error::argument("window", format!("{self:?} over {input:?} pixels"));
            if size[axis] == 0 || stride[axis] == 0 || dilation[axis] == 0 {
                return Err(found());
            }
            let reach = (size[axis] - 1).checked_mul(dilation[axis]).and_then(|reach| reach.checked_add(1));
            let padded = padding.iter().try_fold(input[axis], |sum, &zeros| sum.checked_add(zeros));
            let room = padded.zip(reach).and_then(|(padded, reach)| padded.checked_sub(reach));
            output[axis] = room.ok_or_else(found)? / stride[axis] + 1;
        }
        Ok(output)
    }

    /// For every result and every tap inside the channel: (y, x) of the result, (row, column) of
    /// the tap, (y, x) of the pixel.
    pub fn taps(
        self,
        input: [usize; 2],
        output: [usize; 2],
    ) -> impl Iterator<Item = [[usize; 2]; 3]> + Clone {
        let pairs =
            |[height, width]: [usize; 2]| (0..height).flat_map(move |y| (0..width).map(move |x| [y, x]));
        pairs(output).flat_map(move |result| {
            pairs(self.size).filter_map(move |tap| {
                let pixel = |axis: usize| {
                    let at = result[axis] * self.stride[axis] + tap[axis] * self.dilation[axis];
                    at.checked_sub(self.padding[axis]).filter(|&pixel| pixel < input[axis])
                };
                Some([result, tap, [pixel(0)?, pixel(1)?]])
            })
        })
    }

    /// The layouts to choose from for what the windows over a tensor leave, in which results lie
    /// where their windows are: with the gaps that grow by the stride filled by channels, and with
    /// channels interleaved as they were.
    pub fn layouts(&self, input: &TensorLayout, channels: usize) -> Result<Vec<TensorLayout>> {
        let [height, width] = self.output([input.height(), input.width()])?;
        let grid = input.grid();
        let gap = [0, 1].map(|axis| grid.gap[axis].saturating_mul(self.stride[axis]));
        // A single row or column needs no gap beyond that of the channels.
        let of = |interleave: [usize; 2], pitch: usize, plane: usize| {
            let grid = TensorGrid { gap, interleave, pitch, plane };
            TensorLayout::with_grid([channels, height, width], grid, input.examples(), input.capacity())
        };
        // What of a gap fits behind the last pixel.
        let room = |length: usize, gap: usize, extent: usize| {
            extent.checked_sub((length - 1).saturating_mul(gap)).map(|room| room.min(gap))
        };
        let rows = grid.plane / grid.pitch;
        let full = room(height, gap[0], rows).zip(room(width, gap[1], grid.pitch));
        let mut layouts = Vec::new();
        if let Some((down, across)) = full
            && down > 0
            && across > 0
        {
            layouts.push(of([down, across], grid.pitch, grid.plane)?);
            let [d, a] = grid.interleave;
            if [d, a] != [down, across] && d <= down && a <= across {
                layouts.push(of([d, a], grid.pitch, grid.plane)?);
            }
        }
        if layouts.is_empty() {
            // Padding makes the results larger than the grid: they get grids of their own.
            layouts.push(TensorLayout::batched(
                [channels, height, width],
                input.examples(),
                input.capacity(),
            )?);
        }
        Ok(layouts)
    }
}

/// The map to the one of the layouts that takes the fewest ciphertexts, and of those the fewest
/// rotations. `entries` gives for a layout the entries in units of examples.
pub(super) fn cheapest<I: Iterator<Item = (usize, usize, Complex64)> + Clone>(
    input: &TensorLayout,
    layouts: &[TensorLayout],
    entries: impl Fn(TensorLayout) -> I,
) -> Result<BlockTransform> {
    let fewest = layouts.iter().map(TensorLayout::ciphertexts).min();
    let maps = layouts
        .iter()
        .filter(|layout| Some(layout.ciphertexts()) == fewest)
        .map(|layout| BlockTransform::cheapest_of_places(input, layout, entries(*layout)));
    maps.min_by_key(BlockTransform::cost).ok_or_else(|| Error::argument("layout", "there is none"))
}
