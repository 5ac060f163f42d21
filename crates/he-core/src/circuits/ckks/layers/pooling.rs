//! Averages over windows of each channel.

use super::window::{Window, cheapest};
use crate::circuits::ckks::{BlockTransform, TensorLayout};
use crate::ckks::Complex64;
use crate::error::Result;

/// The average over windows of each channel.
///
/// ```
/// # use he_core::circuits::ckks::{AveragePooling, TensorLayout};
/// # fn main() -> he_core::Result<()> {
/// let tensor = TensorLayout::new([64, 8, 8], 1 << 12)?;
/// assert_eq!(AveragePooling::new([2, 2]).over(&tensor)?.output().shape(), [64, 4, 4]);
/// assert_eq!(AveragePooling::global(&tensor).over(&tensor)?.output().shape(), [64, 1, 1]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AveragePooling {
    window: Window,
    counts_padding: bool,
}

impl AveragePooling {
    /// Over windows of this height and width, one beside the other: the stride is the size. There
    /// is no padding; [`over`](Self::over) checks it all.
    pub fn new(size: [usize; 2]) -> Self {
        Self { window: Window { stride: size, ..Window::new(size) }, counts_padding: false }
    }

    /// Over whole channels of a layout.
    pub fn global(input: &TensorLayout) -> Self {
        Self::new([input.height(), input.width()])
    }

    /// With another stride, down and across.
    #[must_use]
    pub fn with_stride(mut self, stride: [usize; 2]) -> Self {
        self.window.stride = stride;
        self
    }

    /// With padding at the top, left, bottom and right. Averages are over the pixels inside the
    /// input, unless [`counting_padding`](Self::counting_padding).
    #[must_use]
    pub fn with_padding(mut self, padding: [usize; 4]) -> Self {
        self.window.padding = padding;
        self
    }

    /// Sums are divided by the size of the window, whatever of it is padding.
    #[must_use]
    pub fn counting_padding(mut self) -> Self {
        self.counts_padding = true;
        self
    }

    /// Channels, height and width of the output.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for a size or stride of 0, or a window that is
    /// larger than the padded input.
    pub fn output_shape(&self, input: [usize; 3]) -> Result<[usize; 3]> {
        let [height, width] = self.window.output([input[1], input[2]])?;
        Ok([input[0], height, width])
    }

    /// The map over tensors of a layout. Averages lie where their windows are, and channels stay
    /// interleaved as before, or fill the larger gaps where that takes fewer ciphertexts or fewer
    /// rotations: see [`BlockTransform::output`].
    ///
    /// # Errors
    /// The same as for [`output_shape`](Self::output_shape).
    pub fn over(&self, input: &TensorLayout) -> Result<BlockTransform> {
        let layouts = self.window.layouts(input, input.channels())?;
        cheapest(input, &layouts, |output| self.entries(*input, output))
    }

    /// In units of examples.
    fn entries(
        &self,
        input: TensorLayout,
        output: TensorLayout,
    ) -> impl Iterator<Item = (usize, usize, Complex64)> + Clone {
        let (window, counts_padding) = (self.window, self.counts_padding);
        let sizes = [[input.height(), input.width()], [output.height(), output.width()]];
        // The pixels of a window inside the channel, along one axis.
        let inside = move |axis: usize, result: usize| {
            let first = result * window.stride[axis];
            let end = (first + window.size[axis]).min(window.padding[axis] + sizes[0][axis]);
            end.saturating_sub(first.max(window.padding[axis])).max(1)
        };
        (0..input.channels()).flat_map(move |channel| {
            window.taps(sizes[0], sizes[1]).map(move |[[v, u], _, [y, x]]| {
                let pixels = match counts_padding {
                    true => window.size[0] * window.size[1],
                    false => inside(0, v) * inside(1, u),
                };
                let weight = 1.0 / pixels as f64;
                (output.place(channel, v, u), input.place(channel, y, x), weight.into())
            })
        })
    }
}
