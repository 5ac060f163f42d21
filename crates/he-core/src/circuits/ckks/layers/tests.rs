//! Layers against sums written out over the entries of tensors.

use super::*;
use crate::circuits::ckks::{BlockTransform, TensorGrid, TensorLayout};
use crate::circuits::testing::{Fixture, seeded};
use crate::ckks::Complex64;
use rand::{RngExt, rngs::ChaCha20Rng};

fn random(rng: &mut ChaCha20Rng, count: usize) -> Vec<f64> {
    (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// A tensor by its entries.
struct Tensor {
    shape: [usize; 3],
    data: Vec<f64>,
}

impl Tensor {
    /// An entry, at signed coordinates; zero outside.
    fn at(&self, c: usize, y: i64, x: i64) -> f64 {
        let [_, h, w] = self.shape;
        let inside = (0..h as i64).contains(&y) && (0..w as i64).contains(&x);
        if inside { self.data[(c * h + y as usize) * w + x as usize] } else { 0.0 }
    }
}

/// A convolution in the terms of its definition.
#[derive(Clone, Debug)]
struct Case {
    shape: [usize; 3],
    outputs: usize,
    kernel: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 4],
    dilation: [usize; 2],
    groups: usize,
    weights: Vec<f64>,
    bias: Vec<f64>,
    normalisation: Option<[Vec<f64>; 2]>,
}

impl Case {
    fn random(rng: &mut ChaCha20Rng) -> Self {
        loop {
            let groups = [1, 1, 2, 3][rng.random_range(0..4)];
            let [c, outputs] = [0; 2].map(|_| groups * rng.random_range(1..4));
            let shape = [c, rng.random_range(1..9), rng.random_range(1..9)];
            let kernel = [0; 2].map(|_| rng.random_range(1..4));
            let stride = [0; 2].map(|_| rng.random_range(1..4));
            let padding = [0; 4].map(|_| rng.random_range(0..3));
            let dilation = [0; 2].map(|_| rng.random_range(1..3));
            let fits = |axis: usize| {
                shape[axis + 1] + padding[axis] + padding[axis + 2] > (kernel[axis] - 1) * dilation[axis]
            };
            if !fits(0) || !fits(1) {
                continue;
            }
            let weights = random(rng, outputs * (c / groups) * kernel[0] * kernel[1]);
            let bias = if rng.random() { random(rng, outputs) } else { Vec::new() };
            let normalisation = rng.random::<bool>().then(|| [random(rng, outputs), random(rng, outputs)]);
            return Self {
                shape,
                outputs,
                kernel,
                stride,
                padding,
                dilation,
                groups,
                weights,
                bias,
                normalisation,
            };
        }
    }

    fn layer(&self) -> Convolution2d {
        let layer = Convolution2d::new([self.outputs, self.shape[0]], self.kernel, self.weights.clone())
            .with_stride(self.stride)
            .with_padding(self.padding)
            .with_dilation(self.dilation)
            .with_groups(self.groups)
            .with_bias(self.bias.clone());
        match &self.normalisation {
            Some([scale, shift]) => layer.with_normalisation(scale, shift).unwrap(),
            None => layer,
        }
    }

    fn expected(&self, x: &Tensor) -> Tensor {
        let [c, h, w] = self.shape;
        let [kh, kw] = self.kernel;
        let [top, left, bottom, right] = self.padding;
        let [dy, dx] = self.dilation;
        let height = (h + top + bottom - (kh - 1) * dy - 1) / self.stride[0] + 1;
        let width = (w + left + right - (kw - 1) * dx - 1) / self.stride[1] + 1;
        let (group_inputs, group_outputs) = (c / self.groups, self.outputs / self.groups);
        let mut data = Vec::new();
        for o in 0..self.outputs {
            for v in 0..height {
                for u in 0..width {
                    let mut sum = self.bias.get(o).copied().unwrap_or(0.0);
                    for c in 0..group_inputs {
                        for j in 0..kh {
                            for i in 0..kw {
                                let y = (v * self.stride[0] + j * dy) as i64 - top as i64;
                                let x_at = (u * self.stride[1] + i * dx) as i64 - left as i64;
                                let weight = self.weights[((o * group_inputs + c) * kh + j) * kw + i];
                                sum += weight * x.at(o / group_outputs * group_inputs + c, y, x_at);
                            }
                        }
                    }
                    if let Some([scale, shift]) = &self.normalisation {
                        sum = sum * scale[o] + shift[o];
                    }
                    data.push(sum);
                }
            }
        }
        Tensor { shape: [self.outputs, height, width], data }
    }
}

/// A layout of a shape: the usual one, or one with gaps, some of them shared by channels.
fn layout(rng: &mut ChaCha20Rng, shape: [usize; 3], capacity: usize) -> TensorLayout {
    let examples = 1 << rng.random_range(0..3);
    if rng.random() {
        return TensorLayout::batched(shape, examples, capacity).unwrap();
    }
    let gap = [0; 2].map(|_| rng.random_range(1..4));
    let interleave = gap.map(|gap| rng.random_range(1..=gap));
    let pitch = shape[2] * gap[1] + rng.random_range(0..3);
    let plane = shape[1] * gap[0] * pitch;
    let grid = TensorGrid { gap, interleave, pitch, plane };
    TensorLayout::with_grid(shape, grid, examples, capacity).unwrap()
}

fn close(found: &[f64], expected: &[f64], bound: f64, case: impl std::fmt::Debug) {
    assert_eq!(found.len(), expected.len(), "{case:?}");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() < bound, "{i}: {found}, {expected}: {case:?}");
    }
}

/// The map in the clear on one tensor for each example; every slot that holds no entry is noise.
fn mapped(rng: &mut ChaCha20Rng, map: &BlockTransform, examples: &[Tensor]) -> Vec<f64> {
    let data: Vec<f64> = examples.iter().flat_map(|tensor| tensor.data.clone()).collect();
    let input = map.input();
    let mut slots: Vec<Vec<f64>> = (0..input.ciphertexts()).map(|_| random(rng, input.slots())).collect();
    let marks = input.pack(&vec![1.0; data.len()]).unwrap();
    for ((slots, packed), marks) in slots.iter_mut().zip(input.pack(&data).unwrap()).zip(marks) {
        for ((slot, value), mark) in slots.iter_mut().zip(packed).zip(marks) {
            if mark != 0.0 {
                *slot = value;
            }
        }
    }
    map.output().unpack(&map.apply_plain(&slots).unwrap()).unwrap()
}

fn tensors(rng: &mut ChaCha20Rng, layout: &TensorLayout) -> Vec<Tensor> {
    let of = |rng: &mut _| Tensor { shape: layout.shape(), data: random(rng, layout.entries()) };
    (0..layout.examples()).map(|_| of(rng)).collect()
}

/// Strides, paddings, dilations, groups, gaps, several ciphertexts and examples, all at random.
#[test]
fn convolutions_are_their_definition() {
    let mut rng = seeded();
    for _ in 0..300 {
        let case = Case::random(&mut rng);
        let capacity = 1 << rng.random_range(3..12);
        let input = layout(&mut rng, case.shape, capacity);
        let map = case.layer().over(&input).unwrap();
        assert_eq!(map.output().shape(), case.layer().output_shape(case.shape).unwrap());
        let examples = tensors(&mut rng, &input);
        let expected: Vec<f64> = examples.iter().flat_map(|x| case.expected(x).data).collect();
        close(&mapped(&mut rng, &map, &examples), &expected, 1e-12, (&case, &input));
        // To a layout of someone else, and back to the own one.
        let mut other = layout(&mut rng, map.output().shape(), capacity);
        while other.examples() != input.examples() {
            other = layout(&mut rng, map.output().shape(), capacity);
        }
        let between = case.layer().between(&input, &other).unwrap();
        close(&mapped(&mut rng, &between, &examples), &expected, 1e-12, (&case, &input, &other));
        let outputs: Vec<Tensor> = examples.iter().map(|x| case.expected(x)).collect();
        let back = BlockTransform::relayout(&other, map.output()).unwrap();
        close(&mapped(&mut rng, &back, &outputs), &expected, 1e-12, (&case, &other));
    }
}

#[test]
fn averages_are_their_definition() {
    let mut rng = seeded();
    for _ in 0..200 {
        let shape = [0; 3].map(|_| rng.random_range(1..9));
        let input = layout(&mut rng, shape, 1 << 11);
        let size = [0, 1].map(|axis| rng.random_range(1..=shape[axis + 1]));
        let stride = [0; 2].map(|_| rng.random_range(1..4));
        // A window is never on padding alone.
        let padding = [0, 1, 0, 1].map(|axis: usize| rng.random_range(0..size[axis]));
        let counts: bool = rng.random();
        let (layer, size, stride, padding, counts) = match rng.random_range(0..3) {
            0 => (AveragePooling::global(&input), [shape[1], shape[2]], [1; 2], [0; 4], false),
            1 => (AveragePooling::new(size), size, size, [0; 4], false),
            _ => {
                let layer = AveragePooling::new(size).with_stride(stride).with_padding(padding);
                (if counts { layer.counting_padding() } else { layer }, size, stride, padding, counts)
            }
        };
        let map = layer.over(&input).unwrap();
        let [channels, height, width] = layer.output_shape(shape).unwrap();
        let examples = tensors(&mut rng, &input);
        let mut expected = Vec::new();
        for x in &examples {
            for channel in 0..channels {
                for (v, u) in (0..height).flat_map(|v| (0..width).map(move |u| (v, u))) {
                    let (mut sum, mut inside) = (0.0, 0);
                    for j in 0..size[0] {
                        for i in 0..size[1] {
                            let y = (v * stride[0] + j) as i64 - padding[0] as i64;
                            let at = (u * stride[1] + i) as i64 - padding[1] as i64;
                            let [_, h, w] = shape;
                            let in_channel = (0..h as i64).contains(&y) && (0..w as i64).contains(&at);
                            inside += usize::from(in_channel);
                            sum += x.at(channel, y, at);
                        }
                    }
                    let pixels = if counts { size[0] * size[1] } else { inside };
                    expected.push(if pixels == 0 { 0.0 } else { sum / pixels as f64 });
                }
            }
        }
        close(&mapped(&mut rng, &map, &examples), &expected, 1e-12, (&layer, &input));
    }
}

#[test]
fn fully_connected_layers_are_matrices() {
    let mut rng = seeded();
    for _ in 0..100 {
        let shape = [0; 3].map(|_| rng.random_range(1..6));
        let capacity = 1 << rng.random_range(3..10);
        let input = layout(&mut rng, shape, capacity);
        let (outputs, inputs) = (rng.random_range(1..40), input.entries());
        let (weights, bias) = (random(&mut rng, outputs * inputs), random(&mut rng, outputs));
        let map = FullyConnected::new(outputs, weights.clone()).with_bias(bias.clone()).over(&input).unwrap();
        let examples = tensors(&mut rng, &input);
        let row = |x: &Tensor, o: usize| {
            weights[o * inputs..][..inputs].iter().zip(&x.data).map(|(w, x)| w * x).sum::<f64>() + bias[o]
        };
        let expected: Vec<f64> =
            examples.iter().flat_map(|x| (0..outputs).map(move |o| (x, o))).map(|(x, o)| row(x, o)).collect();
        close(&mapped(&mut rng, &map, &examples), &expected, 1e-12, input);
    }
}

/// Layers one after the other on ciphertexts, with exactly the keys that they require, over one and
/// several ciphertexts.
#[test]
fn layers_compute_on_ciphertexts() {
    for (capacity, examples) in [(512, 1), (64, 1), (512, 4)] {
        let mut fixture = Fixture::new(10, 4);
        let shape = [2, 8, 8];
        let input = TensorLayout::batched(shape, examples, capacity).unwrap();
        let rng = &mut fixture.rng;
        let case = Case {
            shape,
            outputs: 4,
            kernel: [3, 3],
            stride: [2, 2],
            padding: [1; 4],
            dilation: [1; 2],
            groups: 1,
            weights: random(rng, 4 * 2 * 9),
            bias: random(rng, 4),
            normalisation: Some([random(rng, 4), random(rng, 4)]),
        };
        let first = case.layer().over(&input).unwrap();
        let second = AveragePooling::new([2, 2]).over(first.output()).unwrap();
        let (weights, bias) = (random(rng, 3 * 16), random(rng, 3));
        let third =
            FullyConnected::new(3, weights.clone()).with_bias(bias.clone()).over(second.output()).unwrap();
        let layers = [first, second, third];
        let xs = tensors(rng, &input);
        let data: Vec<f64> = xs.iter().flat_map(|x| x.data.clone()).collect();
        let needs = layers.iter().map(BlockTransform::requirements).reduce(|a, b| a.then(&b)).unwrap();
        let keys = fixture.keys(&needs);
        let mut slots: Vec<Vec<Complex64>> = Vec::new();
        for vector in input.pack(&data).unwrap() {
            slots.push(vector.into_iter().map(Into::into).collect());
        }
        let mut cts: Vec<_> =
            slots.iter().map(|slots| fixture.encrypt(std::slice::from_ref(slots), input.slots())).collect();
        let mut plain = slots;
        for layer in &layers {
            let bytes = layer.plaintext_bytes(&fixture.params, cts[0].level()).unwrap();
            let prepared = layer.prepare(&fixture.ev, cts[0].level()).unwrap();
            assert_eq!(prepared.bytes(), bytes);
            let level = cts[0].level();
            cts = prepared.apply(&fixture.ev, &cts, &keys).unwrap();
            plain = layer.apply_plain(&plain).unwrap();
            assert!(cts.iter().all(|ct| ct.level() == level - 1 && ct.slots() == layer.output().slots()));
            for (ct, plain) in cts.iter().zip(&plain) {
                for (found, expected) in fixture.decrypt(ct)[0].iter().zip(plain) {
                    assert!((found - expected).norm() < 1e-4, "{found} {expected}");
                }
            }
        }
        let expected: Vec<f64> = xs
            .iter()
            .flat_map(|x| {
                let y = case.expected(x);
                let mut features = Vec::new();
                for (c, v, u) in (0..4).flat_map(|c| [(c, 0, 0), (c, 0, 2), (c, 2, 0), (c, 2, 2)]) {
                    let four = [(v, u), (v, u + 1), (v + 1, u), (v + 1, u + 1)];
                    features.push(four.iter().map(|&(v, u)| y.at(c, v, u)).sum::<f64>() / 4.0);
                }
                let row = |o: usize| {
                    let products = weights[o * 16..][..16].iter().zip(&features).map(|(w, x)| w * x);
                    products.sum::<f64>() + bias[o]
                };
                (0..3).map(row).collect::<Vec<_>>()
            })
            .collect();
        let found: Vec<Vec<Complex64>> = cts.iter().map(|ct| fixture.decrypt(ct).remove(0)).collect();
        let found = layers[2].output().unpack(&found).unwrap();
        close(&found, &expected, 1e-4, (capacity, examples));
    }
}

#[test]
fn impossible_layers_are_refused() {
    let input = TensorLayout::new([4, 6, 6], 1 << 10).unwrap();
    let layer = Convolution2d::new([2, 4], [3, 3], vec![0.5; 2 * 4 * 9]);
    assert!(layer.over(&input).is_ok());
    let wrong = [
        Convolution2d::new([2, 3], [3, 3], vec![0.5; 2 * 3 * 9]),
        Convolution2d::new([2, 4], [3, 3], vec![0.5; 2 * 4 * 9 - 1]),
        Convolution2d::new([2, 4], [3, 3], vec![f64::NAN; 2 * 4 * 9]),
        Convolution2d::new([2, 4], [0, 3], Vec::new()),
        Convolution2d::new([0, 4], [3, 3], Vec::new()),
        Convolution2d::new([2, 4], [7, 3], vec![0.5; 2 * 4 * 21]),
        layer.clone().with_stride([0, 1]),
        layer.clone().with_dilation([1, 0]),
        layer.clone().with_dilation([usize::MAX, 1]),
        layer.clone().with_padding([usize::MAX; 4]),
        layer.clone().with_groups(3),
        layer.clone().with_groups(0),
        layer.clone().with_groups(2),
        layer.clone().with_bias(vec![1.0; 3]),
        layer.clone().with_bias(vec![1.0, f64::INFINITY]),
    ];
    for layer in wrong {
        assert!(layer.over(&input).is_err(), "{layer:?}");
    }
    assert!(layer.clone().with_normalisation(&[1.0], &[1.0, 1.0]).is_err());
    assert!(layer.clone().with_normalisation(&[1.0, f64::NAN], &[1.0, 1.0]).is_err());
    let other = TensorLayout::new([2, 5, 5], 1 << 10).unwrap();
    assert!(layer.between(&input, &other).is_err());
    assert!(AveragePooling::new([0, 1]).over(&input).is_err());
    assert!(AveragePooling::new([7, 1]).over(&input).is_err());
    assert!(FullyConnected::new(0, Vec::new()).over(&input).is_err());
    assert!(FullyConnected::new(2, vec![1.0; 287]).over(&input).is_err());
    assert!(FullyConnected::new(usize::MAX, vec![1.0; 144]).over(&input).is_err());
}
