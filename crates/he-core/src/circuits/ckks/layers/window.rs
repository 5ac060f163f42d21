//! Windows that slide over the pixels of a channel, and where their results lie.

use crate::circuits::ckks::{BlockTransform, TensorLayout};
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

    /// The [layouts](TensorLayout::after_windows) to choose from for what the windows over a tensor
    /// leave.
    pub fn layouts(&self, input: &TensorLayout, channels: usize) -> Result<Vec<TensorLayout>> {
        let [height, width] = self.output([input.height(), input.width()])?;
        input.after_windows([channels, height, width], self.stride)
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
