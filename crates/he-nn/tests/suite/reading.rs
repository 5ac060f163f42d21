//! Operators against their definitions, and refusals.

use crate::build::{Model, int, integers, ints, tensor, text};
use he_nn::Error;
use he_nn::graph::{Decision, Graph, Op};
use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha20Rng};

fn numbers(rng: &mut impl Rng, count: usize) -> Vec<f32> {
    (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&x| x.into()).collect()
}

#[track_caller]
fn assert_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
    }
}

/// Convolutions by the definition of ONNX, with every attribute, over seeds.
#[test]
fn convolutions_are_those_of_the_standard() {
    for seed in 0..60 {
        let rng = &mut ChaCha20Rng::seed_from_u64(seed);
        let groups = [1, 1, 2][rng.random_range(0..3)];
        let (inputs, outputs) = (groups * rng.random_range(1..3), groups * rng.random_range(1..4));
        let [height, width] = [rng.random_range(5..9usize), rng.random_range(5..9)];
        let [kh, kw] = [rng.random_range(1..4usize), rng.random_range(1..4)];
        let [sy, sx] = [rng.random_range(1..4usize), rng.random_range(1..3)];
        let [dy, dx] = [rng.random_range(1..3usize), rng.random_range(1..3)];
        let pads: Vec<usize> = (0..4).map(|_| rng.random_range(0..3)).collect();
        let (x, bias) = (numbers(rng, inputs * height * width), numbers(rng, outputs));
        let weights = numbers(rng, outputs * inputs / groups * kh * kw);
        let long = |values: &[usize]| values.iter().map(|&x| x as i64).collect::<Vec<_>>();
        let attributes = vec![
            ints("strides", &long(&[sy, sx])),
            ints("dilations", &long(&[dy, dx])),
            ints("pads", &long(&pads)),
            int("group", groups as i64),
        ];
        let model = Model::new(&[0, inputs as i64, height as i64, width as i64])
            .with(tensor("w", &long(&[outputs, inputs / groups, kh, kw]), &weights))
            .with(tensor("b", &[outputs as i64], &bias))
            .node_of("Conv", &["x", "w", "b"], "y", attributes);
        let graph = Graph::from_onnx(&model.bytes()).unwrap();

        let at = |c: usize, y: isize, x_at: isize| match (usize::try_from(y), usize::try_from(x_at)) {
            (Ok(y), Ok(column)) if y < height && column < width => {
                f64::from(x[(c * height + y) * width + column])
            }
            _ => 0.0,
        };
        let size =
            |plane: usize, k: usize, d: usize, pad: usize, s: usize| (plane + pad - d * (k - 1) - 1) / s + 1;
        let rows = size(height, kh, dy, pads[0] + pads[2], sy);
        let columns = size(width, kw, dx, pads[1] + pads[3], sx);
        let mut expected = Vec::new();
        for o in 0..outputs {
            for v in 0..rows {
                for u in 0..columns {
                    let mut sum = f64::from(bias[o]);
                    for c in 0..inputs / groups {
                        for (j, i) in (0..kh).flat_map(|j| (0..kw).map(move |i| (j, i))) {
                            let y = (v * sy + j * dy) as isize - pads[0] as isize;
                            let x_at = (u * sx + i * dx) as isize - pads[1] as isize;
                            let weight = weights[((o * (inputs / groups) + c) * kh + j) * kw + i];
                            let channel = o / (outputs / groups) * (inputs / groups) + c;
                            sum += f64::from(weight) * at(channel, y, x_at);
                        }
                    }
                    expected.push(sum);
                }
            }
        }
        println!("seed {seed}");
        assert_near(&graph.apply_plain(&wide(&x)).unwrap(), &expected);
    }
}

/// y = 3 x + 2 in the many ways of exporters, and other models with a closed form.
#[test]
fn operators_are_those_of_the_standard() {
    let x = [0.5f32, -1.25, 2.0, -0.125];
    let each = |f: fn(f64) -> f64| x.iter().map(|&x| f(x.into())).collect::<Vec<f64>>();
    let scalar = |name: &str, value: f32| tensor(name, &[], &[value]);
    let model =
        || Model::new(&[0, 4]).with(scalar("two", 2.0)).with(scalar("three", 3.0)).with(scalar("half", 0.5));
    let silu = |x: f64| x / (1.0 + libm::exp(-x));
    let gelu = |x: f64| 0.5 * x * (1.0 + libm::erf(x / 2f64.sqrt()));
    let cases: Vec<(Model, Vec<f64>)> = vec![
        (model().node("Mul", &["three", "x"], "m").node("Add", &["m", "two"], "y"), each(|x| 3.0 * x + 2.0)),
        (model().node("Sub", &["two", "x"], "y"), each(|x| 2.0 - x)),
        (model().node("Sub", &["x", "two"], "y"), each(|x| x - 2.0)),
        (model().node("Div", &["x", "two"], "y"), each(|x| x / 2.0)),
        (model().node("Neg", &["x"], "y"), each(|x| -x)),
        (model().node("Mul", &["x", "x"], "y"), each(|x| x * x)),
        (model().node("Pow", &["x", "three"], "y"), each(|x| x * x * x)),
        (model().node("Relu", &["x"], "y"), each(|x| x.max(0.0))),
        (
            model().node("Sigmoid", &["x"], "s").node("Mul", &["x", "s"], "y"),
            x.iter().map(|&x| silu(x.into())).collect(),
        ),
        (
            model()
                .with(scalar("root", 2f32.sqrt()))
                .with(scalar("one", 1.0))
                .node("Div", &["x", "root"], "d")
                .node("Erf", &["d"], "e")
                .node("Add", &["e", "one"], "a")
                .node("Mul", &["x", "a"], "m")
                .node("Mul", &["m", "half"], "y"),
            x.iter().map(|&x| gelu(x.into())).collect(),
        ),
        (model().node("Gelu", &["x"], "y"), x.iter().map(|&x| gelu(x.into())).collect()),
        (model().node("Relu", &["x"], "r").node("Sub", &["x", "r"], "y"), each(|x| x.min(0.0))),
        (
            model().node("Identity", &["x"], "i").node("Dropout", &["i"], "d").node("Abs", &["d"], "y"),
            each(f64::abs),
        ),
        (model().node("HardSwish", &["x"], "y"), each(|x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0))),
        (model().node("Tanh", &["x"], "y"), each(libm::tanh)),
    ];
    for (index, (model, expected)) in cases.into_iter().enumerate() {
        let graph = Graph::from_onnx(&model.bytes()).unwrap_or_else(|error| panic!("{index}: {error}"));
        let found = graph.apply_plain(&wide(&x)).unwrap();
        assert!(
            found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6),
            "{index}: {found:?}, {expected:?}"
        );
    }
}

#[test]
fn normalisation_pooling_and_shapes_are_those_of_the_standard() {
    let x: Vec<f32> = (0..2 * 4 * 4).map(|i| (i * i % 23) as f32).collect();
    let input = || Model::new(&[0, 2, 4, 4]);
    let normalised = input()
        .with(tensor("s", &[2], &[2.0, -1.0]))
        .with(tensor("o", &[2], &[0.5, 0.0]))
        .with(tensor("m", &[2], &[1.0, 3.0]))
        .with(tensor("v", &[2], &[4.0, 0.25]))
        .node("BatchNormalization", &["x", "s", "o", "m", "v"], "y");
    let scale = |c: usize| [2.0 / (4.0 + 1e-5f32 as f64).sqrt(), -1.0 / (0.25 + 1e-5f32 as f64).sqrt()][c];
    let expected: Vec<f64> = x
        .iter()
        .enumerate()
        .map(|(i, &x)| scale(i / 16) * (f64::from(x) - [1.0, 3.0][i / 16]) + [0.5, 0.0][i / 16])
        .collect();
    let found = Graph::from_onnx(&normalised.bytes()).unwrap().apply_plain(&wide(&x)).unwrap();
    assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6));

    let window =
        || vec![ints("kernel_shape", &[2, 2]), ints("strides", &[2, 2]), ints("pads", &[1, 1, 1, 1])];
    // The first window holds one pixel, the fifth four.
    let mut counted = window();
    counted.push(int("count_include_pad", 1));
    for (attributes, divisor) in [(window(), 1.0), (counted, 4.0)] {
        let model = input().node_of("AveragePool", &["x"], "y", attributes);
        let found = Graph::from_onnx(&model.bytes()).unwrap().apply_plain(&wide(&x)).unwrap();
        assert_eq!(found.len(), 2 * 3 * 3);
        assert_eq!(found[0], f64::from(x[0]) / divisor);
        assert_eq!(found[4], [5, 6, 9, 10].iter().map(|&i| f64::from(x[i])).sum::<f64>() / 4.0);
    }

    let mean = |c: usize| wide(&x[16 * c..16 * (c + 1)]).iter().sum::<f64>() / 16.0;
    let pooled = input().node("GlobalAveragePool", &["x"], "p").node("Flatten", &["p"], "y");
    let reduced = input()
        .with(integers("axes", &[-1, -2]))
        .node_of("ReduceMean", &["x", "axes"], "p", vec![int("keepdims", 0)])
        .with(integers("shape", &[0, -1]))
        .node("Reshape", &["p", "shape"], "y");
    for model in [pooled, reduced] {
        let found = Graph::from_onnx(&model.bytes()).unwrap().apply_plain(&wide(&x)).unwrap();
        assert_near(&found, &[mean(0), mean(1)]);
    }

    // Dimensions that exporters compute: Shape -> Gather -> Unsqueeze -> Concat -> Reshape.
    let computed = input()
        .with(integers("zero", &[0]))
        .with(integers("rest", &[-1]))
        .node("Shape", &["x"], "s")
        .node("Gather", &["s", "zero"], "g")
        .node_of("Concat", &["g", "rest"], "shape", vec![int("axis", 0)])
        .node("Reshape", &["x", "shape"], "f")
        .node_of("Transpose", &["x"], "t", vec![ints("perm", &[0, 2, 3, 1])])
        .with(integers("flat", &[1, 32]))
        .node("Reshape", &["t", "flat"], "u")
        .node("Add", &["f", "u"], "y");
    let found = Graph::from_onnx(&computed.bytes()).unwrap().apply_plain(&wide(&x)).unwrap();
    let expected: Vec<f64> = (0..32).map(|i| f64::from(x[i]) + f64::from(x[i % 2 * 16 + i / 2])).collect();
    assert_near(&found, &expected);

    let same = |pad: &str, first: f64| {
        let attributes = vec![text("auto_pad", pad)];
        let model =
            input().with(tensor("w", &[1, 2, 2, 2], &[1.0; 8])).node_of("Conv", &["x", "w"], "y", attributes);
        let graph = Graph::from_onnx(&model.bytes()).unwrap();
        assert_eq!(graph.nodes[1].shape, [1, 4, 4]);
        assert_eq!(graph.apply_plain(&wide(&x)).unwrap()[0], first);
    };
    let at = |i: usize| f64::from(x[i]) + f64::from(x[i + 16]);
    same("SAME_UPPER", at(0) + at(1) + at(4) + at(5));
    same("SAME_LOWER", at(0));
}

/// Windows of all kinds, against the definition: elements in the border count for nothing, even
/// where all elements are negative.
#[test]
fn maxima_are_those_of_the_standard() {
    for seed in 0..40 {
        let rng = &mut ChaCha20Rng::seed_from_u64(seed);
        let (channels, height, width) =
            (rng.random_range(1..4), rng.random_range(3..9usize), rng.random_range(3..9usize));
        let x: Vec<f32> = (0..channels * height * width).map(|_| rng.random_range(-2.0..-1.0)).collect();
        let mut pair = |range: std::ops::Range<i64>| [(); 2].map(|()| rng.random_range(range.clone()));
        let (kernel, strides, dilations) = (pair(1..4), pair(1..4), pair(1..3));
        let pads = [0, 1, 2, 3].map(|_| pair(0..2)[0]);
        let reach = [0, 1].map(|axis| dilations[axis] * (kernel[axis] - 1) + 1);
        let size = |axis: usize, plane: usize| {
            (plane as i64 + pads[axis] + pads[axis + 2] - reach[axis]).div_euclid(strides[axis]) + 1
        };
        let (rows, columns) = (size(0, height), size(1, width));
        let attributes = vec![
            ints("kernel_shape", &kernel),
            ints("strides", &strides),
            ints("dilations", &dilations),
            ints("pads", &pads),
        ];
        let model = Model::new(&[0, channels as i64, height as i64, width as i64]);
        let read = Graph::from_onnx(&model.node_of("MaxPool", &["x"], "y", attributes).bytes());
        let mut expected = Vec::new();
        for c in 0..channels {
            for (v, u) in (0..rows).flat_map(|v| (0..columns).map(move |u| (v, u))) {
                let places = (0..kernel[0]).flat_map(|j| (0..kernel[1]).map(move |i| (j, i)));
                let under = places.filter_map(|(j, i)| {
                    let y = usize::try_from(v * strides[0] + j * dilations[0] - pads[0]).ok()?;
                    let at = usize::try_from(u * strides[1] + i * dilations[1] - pads[1]).ok()?;
                    (y < height && at < width).then(|| f64::from(x[(c * height + y) * width + at]))
                });
                expected.push(under.fold(f64::NEG_INFINITY, f64::max));
            }
        }
        println!("seed {seed}");
        match read {
            Ok(graph) => assert_near(&graph.apply_plain(&wide(&x)).unwrap(), &expected),
            // Nothing is under some window.
            Err(_) => assert!(rows < 1 || columns < 1 || expected.contains(&f64::NEG_INFINITY)),
        }
    }
    let x = [0.5f32, -1.25, 2.0, -0.125, 3.0, -2.0, 0.0, 1.0];
    let model = || Model::new(&[0, 2, 2, 2]);
    let global = model().node("GlobalMaxPool", &["x"], "g").node("Flatten", &["g"], "y");
    let reduced = model().with(integers("axes", &[2, 3])).node_of(
        "ReduceMax",
        &["x", "axes"],
        "y",
        vec![int("keepdims", 0)],
    );
    for model in [global, reduced] {
        let graph = Graph::from_onnx(&model.bytes()).unwrap();
        assert_eq!(graph.nodes[graph.output].shape, [2]);
        assert_near(&graph.apply_plain(&wide(&x)).unwrap(), &[2.0, 3.0]);
    }
    for (operator, of) in [("Max", f64::max as fn(f64, f64) -> f64), ("Min", f64::min)] {
        let model = model().node_of("Transpose", &["x"], "t", vec![ints("perm", &[0, 1, 3, 2])]).node(
            operator,
            &["x", "t"],
            "y",
        );
        let found = Graph::from_onnx(&model.bytes()).unwrap().apply_plain(&wide(&x)).unwrap();
        let expected: Vec<f64> =
            [0, 2, 1, 3, 4, 6, 5, 7].iter().zip(&x).map(|(&i, &a)| of(a.into(), x[i].into())).collect();
        assert_near(&found, &expected);
    }
}

#[test]
fn decisions_come_after_decryption() {
    let model = |operator: &str| {
        Model::new(&[0, 3]).node("Tanh", &["x"], "t").node_of(operator, &["t"], "y", vec![int("axis", 1)])
    };
    let of = |operator: &str| Graph::from_onnx(&model(operator).bytes()).unwrap();
    let x = [0.5, 2.0, -1.0];
    assert_eq!(of("ArgMax").apply_plain(&x).unwrap(), [1.0]);
    let softmax = of("Softmax").apply_plain(&x).unwrap();
    assert!((softmax.iter().sum::<f64>() - 1.0).abs() < 1e-12 && softmax[1] > softmax[0]);
    let logs = of("LogSoftmax").apply_plain(&x).unwrap();
    assert!(logs.iter().zip(&softmax).all(|(log, p)| (libm::exp(*log) - p).abs() < 1e-12));
    assert_eq!(of("Softmax").decision, Decision::Softmax);
    let after = Model::new(&[0, 3]).node("Softmax", &["x"], "p").node("Relu", &["p"], "y");
    assert!(
        matches!(Graph::from_onnx(&after.bytes()), Err(Error::Unsupported { operator, .. }) if operator == "Relu")
    );
}

/// Each refusal names the operator and the node, and states the remedy.
#[test]
fn what_is_not_supported_is_named() {
    let planes = || Model::new(&[0, 2, 4, 4]);
    let vector = || Model::new(&[0, 4]);
    let kernel = || vec![ints("kernel_shape", &[2, 2])];
    let odd = || vec![ints("strides", &[3, 3])];
    // A few bytes that would ask for billions of entries.
    let dilated = || vec![ints("dilations", &[1, 2]), text("auto_pad", "SAME_UPPER")];
    let huge = || vec![ints("kernel_shape", &[40_000, 40_000]), ints("pads", &[39_999; 4])];
    for (model, operator) in [
        (vector().with(tensor("c", &[2, 4], &[0.5; 8])).node("Max", &["x", "c"], "y"), "Max"),
        (
            planes().node_of("MaxPool", &["x"], "y", [kernel(), vec![int("ceil_mode", 1)], odd()].concat()),
            "MaxPool",
        ),
        (planes().node_of("MaxPool", &["x"], "y", huge()), "MaxPool"),
        (planes().node_of("MaxPool", &["x"], "y", [kernel(), dilated()].concat()), "MaxPool"),
        (planes().node_of("AveragePool", &["x"], "y", huge()), "AveragePool"),
        (vector().node("QuantizeLinear", &["x", "s"], "y"), "QuantizeLinear"),
        (vector().node("LSTM", &["x"], "y"), "LSTM"),
        (
            vector().with(tensor("w", &[4, 4], &[0.0; 16])).node("Relu", &["x"], "r").node(
                "MatMul",
                &["x", "r"],
                "y",
            ),
            "MatMul",
        ),
        (planes().node_of("Softmax", &["x"], "y", vec![int("axis", 1)]), "Softmax"),
        (planes().node_of("Transpose", &["x"], "y", vec![ints("perm", &[1, 0, 2, 3])]), "Transpose"),
        (planes().with(integers("s", &[4, 8])).node("Reshape", &["x", "s"], "y"), "Reshape"),
    ] {
        match Graph::from_onnx(&model.bytes()) {
            Err(error @ Error::Unsupported { .. }) => {
                let text = error.to_string();
                assert!(text.contains(operator) && text.contains("node y"), "{text}");
                assert!(error.hint().is_some_and(|hint| !hint.is_empty()));
            }
            other => panic!("{operator}: {other:?}"),
        }
    }
    let dynamic = Model::new(&[0, 2, 0, 4]).node("Relu", &["x"], "y").bytes();
    let error = Graph::from_onnx(&dynamic).unwrap_err();
    assert!(
        matches!(&error, Error::DynamicShape { axis: 2, dimension, .. } if dimension == "batch"),
        "{error}"
    );
    for bad in [f32::NAN, f32::INFINITY] {
        let model =
            vector().with(tensor("w", &[4, 1], &[1.0, 2.0, bad, 0.0])).node("MatMul", &["x", "w"], "y");
        let error = Graph::from_onnx(&model.bytes()).unwrap_err();
        assert!(matches!(&error, Error::Weight { tensor, at: 2, .. } if tensor == "w"), "{error}");
    }
    let mut quantised = tensor("w", &[4], &[]);
    quantised.data_type = Some(rten_onnx::onnx::DataType::INT8);
    quantised.raw_data = Some(std::cell::RefCell::new(vec![0; 4]));
    let error =
        Graph::from_onnx(&vector().with(quantised).node("Add", &["x", "w"], "y").bytes()).unwrap_err();
    assert!(matches!(&error, Error::ElementType { tensor, .. } if tensor == "w"), "{error}");
    let wrong = vector().with(tensor("w", &[3, 1], &[0.0; 3])).node("MatMul", &["x", "w"], "y").bytes();
    assert!(matches!(Graph::from_onnx(&wrong), Err(Error::Node { .. })));
    let missing = vector().node("Relu", &["nothing"], "y").bytes();
    assert!(matches!(Graph::from_onnx(&missing), Err(Error::Node { .. })));
}

/// Truncated and changed files end in a model or in an error, never in a panic, and nesting ends in
/// an error.
#[test]
fn hostile_files_are_refused() {
    let model = Model::new(&[0, 1, 4, 4])
        .with(tensor("w", &[1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]))
        .node("Conv", &["x", "w"], "c")
        .node("Relu", &["c"], "r")
        .with(integers("s", &[0, -1]))
        .node("Reshape", &["r", "s"], "y")
        .bytes();
    assert!(Graph::from_onnx(&model).is_ok());
    for length in 0..model.len() {
        let _ = Graph::from_onnx(&model[..length]);
    }
    for seed in 0..3000 {
        let rng = &mut ChaCha20Rng::seed_from_u64(seed);
        let mut bytes = model.clone();
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(0..bytes.len());
            bytes[at] = rng.random();
        }
        println!("seed {seed}");
        if let Ok(graph) = Graph::from_onnx(&bytes) {
            let _ = graph.apply_plain(&vec![0.5; graph.input_elements()]);
        }
    }
    // Graph in attribute in node in graph, a million times, as lengths that never fit.
    let nested =
        [0x3a, 0xff, 0xff, 0xff, 0x7f, 0x0a, 0xff, 0xff, 0xff, 0x7f, 0x2a, 0xff, 0xff, 0xff, 0x7f, 0x32];
    assert!(matches!(Graph::from_onnx(&nested.repeat(1 << 16)), Err(Error::NotOnnx { .. })));
    // And as lengths that do.
    let mut inner = Vec::new();
    for _ in 0..2000 {
        for tag in [0x32u8, 0x2a, 0x0a] {
            let mut outer = vec![tag];
            let mut length = inner.len();
            while length >= 128 {
                outer.push(length as u8 | 0x80);
                length >>= 7;
            }
            outer.push(length as u8);
            outer.extend(&inner);
            inner = outer;
        }
    }
    let mut bytes = vec![0x3a];
    let mut length = inner.len();
    while length >= 128 {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend(inner);
    let error = Graph::from_onnx(&bytes).unwrap_err();
    assert!(error.to_string().contains("If, Loop, Scan"), "{error}");
}

#[test]
fn squares_are_recognised() {
    let model = Model::new(&[0, 4]).node("Mul", &["x", "x"], "y");
    let graph = Graph::from_onnx(&model.bytes()).unwrap();
    assert!(
        matches!(&graph.nodes[1].op, Op::Function(square) if square.coefficients().unwrap() == [0.0, 0.0, 1.0])
    );
}
