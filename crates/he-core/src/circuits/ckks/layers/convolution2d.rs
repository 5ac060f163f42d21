//! Convolutions with channels.

use super::check_numbers;
use super::window::{Window, cheapest};
use crate::circuits::ckks::{BlockTransform, TensorLayout};
use crate::ckks::Complex64;
use crate::error::{Error, Result};

/// A two-dimensional convolution, as neural networks define it:
/// y\[o\]\[v\]\[u\] = bias\[o\] + sum over c, j, i of
/// w\[o\]\[c\]\[j\]\[i\] x\[c\]\[v s + j d - top\]\[u s + i d - left\], with stride s, dilation d,
/// and pixels outside of the input zero. In groups, an output channel sums over the input channels
/// of its group alone; as many groups as channels make it depthwise.
///
/// ```
/// # use he_core::circuits::ckks::{Convolution2d, TensorLayout};
/// # fn main() -> he_core::Result<()> {
/// let image = TensorLayout::new([3, 32, 32], 1 << 15)?;
/// let convolution = Convolution2d::new([16, 3], [3, 3], vec![0.1; 16 * 3 * 9]);
/// let convolution = convolution.with_padding([1; 4]).with_stride([2, 2]);
/// let map = convolution.over(&image)?;
/// assert_eq!(map.output().shape(), [16, 16, 16]);
/// // Pixels stay where they were, so that the stride doubles their distance.
/// assert_eq!(map.output().grid().gap, [2, 2]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Convolution2d {
    channels: [usize; 2],
    window: Window,
    groups: usize,
    weights: Vec<f64>,
    bias: Vec<f64>,
    scale: Vec<f64>,
}

impl Convolution2d {
    /// From `channels` = \[output, input\] channels, the kernel's height and width, and the weights
    /// w\[output\]\[input / groups\]\[row\]\[column\] in this order (that of ONNX and PyTorch).
    /// Stride, dilation and groups are 1, and there is no padding; [`over`](Self::over) checks it
    /// all.
    pub fn new(channels: [usize; 2], kernel: [usize; 2], weights: Vec<f64>) -> Self {
        Self {
            channels,
            window: Window::new(kernel),
            groups: 1,
            weights,
            bias: Vec::new(),
            scale: Vec::new(),
        }
    }

    /// With a stride down and across.
    #[must_use]
    pub fn with_stride(mut self, stride: [usize; 2]) -> Self {
        self.window.stride = stride;
        self
    }

    /// With zeros around the input: at the top, left, bottom and right.
    #[must_use]
    pub fn with_padding(mut self, padding: [usize; 4]) -> Self {
        self.window.padding = padding;
        self
    }

    /// With this many pixels from one tap of the kernel to the next, down and across.
    #[must_use]
    pub fn with_dilation(mut self, dilation: [usize; 2]) -> Self {
        self.window.dilation = dilation;
        self
    }

    /// In groups, which divide the channels on both sides.
    #[must_use]
    pub fn with_groups(mut self, groups: usize) -> Self {
        self.groups = groups;
        self
    }

    /// With a number for each output channel that is added to its pixels.
    #[must_use]
    pub fn with_bias(mut self, bias: Vec<f64>) -> Self {
        self.bias = bias;
        self
    }

    /// Followed by scale\[o\] y + shift\[o\] on each output channel: a batch normalisation with
    /// gamma, beta, mean and variance has scale = gamma / sqrt(variance + epsilon) and shift =
    /// beta - mean scale. It is folded into the weights and costs nothing; several follow each
    /// other.
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of either than output channels, or numbers that are
    /// not finite.
    pub fn with_normalisation(mut self, scale: &[f64], shift: &[f64]) -> Result<Self> {
        let outputs = self.channels[0];
        check_numbers("scales of channels", scale, outputs)?;
        check_numbers("shifts of channels", shift, outputs)?;
        self.scale.resize(outputs, 1.0);
        self.scale.iter_mut().zip(scale).for_each(|(all, scale)| *all *= scale);
        self.bias.resize(outputs, 0.0);
        let bias = self.bias.iter_mut().zip(scale.iter().zip(shift));
        bias.for_each(|(bias, (scale, shift))| *bias = *bias * scale + shift);
        Ok(self)
    }

    /// Channels, height and width of the output.
    ///
    /// # Errors
    /// [`Error::Argument`] for a kernel, stride or dilation of 0, or a kernel that is larger than
    /// the padded input.
    pub fn output_shape(&self, input: [usize; 3]) -> Result<[usize; 3]> {
        let [height, width] = self.window.output([input[1], input[2]])?;
        Ok([self.channels[0], height, width])
    }

    /// The map over tensors of a layout. The output's gap is the input's times the stride, and its
    /// channels fill the gaps (single-shot multiplexed convolution), or are interleaved as before
    /// where that takes fewer rotations and no more ciphertexts: see [`BlockTransform::output`].
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of channels than the layout's, groups that do not
    /// divide them, other numbers of weights or biases than needed, numbers that are not finite;
    /// those of [`output_shape`](Self::output_shape).
    pub fn over(&self, input: &TensorLayout) -> Result<BlockTransform> {
        self.check(input)?;
        let layouts = self.window.layouts(input, self.channels[0])?;
        let map = cheapest(input, &layouts, |output| self.entries(*input, output))?;
        self.with_bias_of(map)
    }

    /// The map to a layout of the caller's choice, such as that of a tensor to which the result is
    /// added.
    ///
    /// # Errors
    /// The same as for [`over`](Self::over); [`Error::Argument`] for a layout of another shape, or
    /// another number of examples.
    pub fn between(&self, input: &TensorLayout, output: &TensorLayout) -> Result<BlockTransform> {
        self.check(input)?;
        let expected = self.output_shape(input.shape())?;
        if output.shape() != expected || output.examples() != input.examples() {
            let why = format!("a convolution to {expected:?} in a layout of {:?}", output.shape());
            return Err(Error::argument("layout", why));
        }
        self.with_bias_of(BlockTransform::of_places(input, output, self.entries(*input, *output)))
    }

    fn check(&self, input: &TensorLayout) -> Result<()> {
        let [outputs, inputs] = self.channels;
        if input.channels() != inputs {
            let why = format!("{} channels for a convolution of {inputs}", input.channels());
            return Err(Error::argument("layout", why));
        }
        let divides = |channels: usize| channels > 0 && channels.checked_rem(self.groups) == Some(0);
        if !divides(inputs) || !divides(outputs) {
            let why = format!("{} groups of {inputs} channels to {outputs}", self.groups);
            return Err(Error::domain("convolution", why, "groups divide the channels on both sides"));
        }
        let [height, width] = self.window.size;
        let taps = height.checked_mul(width).and_then(|taps| taps.checked_mul(inputs / self.groups));
        let expected = taps.and_then(|taps| taps.checked_mul(outputs)).unwrap_or(usize::MAX);
        check_numbers("weights of a convolution", &self.weights, expected)?;
        let biases = if self.bias.is_empty() { 0 } else { outputs };
        check_numbers("bias of a convolution", &self.bias, biases)
    }

    /// The weights with the normalisation, in units of examples.
    fn entries(
        &self,
        input: TensorLayout,
        output: TensorLayout,
    ) -> impl Iterator<Item = (usize, usize, Complex64)> + Clone {
        let [outputs, inputs] = self.channels;
        let [group_outputs, group_inputs] = [outputs / self.groups, inputs / self.groups];
        let [height, width] = self.window.size;
        let sizes = [[input.height(), input.width()], [output.height(), output.width()]];
        (0..outputs).flat_map(move |o| {
            let first = o / group_outputs * group_inputs;
            let scale = self.scale.get(o).copied().unwrap_or(1.0);
            (0..group_inputs).flat_map(move |c| {
                let weights = &self.weights[(o * group_inputs + c) * height * width..];
                let entry = move |[[v, u], [j, i], [y, x]]: [[usize; 2]; 3]| {
                    let weight = weights[j * width + i] * scale;
                    (output.place(o, v, u), input.place(first + c, y, x), weight.into())
                };
                self.window.taps(sizes[0], sizes[1]).map(entry)
            })
        })
    }

    fn with_bias_of(&self, map: BlockTransform) -> Result<BlockTransform> {
        if self.bias.is_empty() {
            return Ok(map);
        }
        let output = *map.output();
        let pixels = output.height() * output.width();
        let of_entry =
            |(entry, place): (usize, usize)| (place * output.examples(), self.bias[entry / pixels]);
        map.with_bias(output.places().enumerate().map(of_entry))
    }
}
