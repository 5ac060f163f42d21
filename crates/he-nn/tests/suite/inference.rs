//! Encrypted outputs against plain ones.

use crate::build::{Model, int, integers, ints, tensor};
use crate::models::{digits, graph, table};
use he_core::backend::{Cpu, RingOps};
use he_core::bootstrapping::presets::Preset;
use he_core::bootstrapping::{BootstrapKeys, BootstrapParams, BootstrapSpec, Bootstrapper};
use he_core::circuits::ckks::NeverRefresh;
use he_core::ckks::{Ciphertext, CkksParams, CkksSpec, Complex64, Decryptor, Evaluator, SecretEncryptor};
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, SecretKey};
use he_nn::{CompiledModel, Graph, Options, Outputs, Parameters};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

/// A key set for a model on a back end.
pub struct Lab<B: RingOps = Cpu> {
    pub ev: Evaluator<B>,
    pub secret: SecretKey,
    pub keys: EvaluationKeys<B>,
    rng: ChaCha20Rng,
}

impl Lab {
    pub fn new(model: &CompiledModel) -> Self {
        Self::on(Cpu::new(), model)
    }
}

impl<B: RingOps> Lab<B> {
    pub fn on(backend: B, model: &CompiledModel) -> Self {
        let params = model.parameters().params();
        let ring = match model.parameters() {
            Parameters::Leveled(params) => Ring::new(backend, params.rlwe().ring().clone()).unwrap(),
            Parameters::Refreshed(boot) => boot.ring(backend).unwrap(),
        };
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        let keys = EvaluationKeys::generate(&secret, &ring, model.requirements().unwrap(), &mut rng).unwrap();
        Self { ev: Evaluator::new(params, &ring).unwrap(), secret, keys, rng }
    }

    pub fn encrypt(&mut self, model: &CompiledModel, examples: &[Vec<f64>]) -> Vec<Ciphertext<B>> {
        let params = self.ev.params();
        let encryptor = SecretEncryptor::new(params, &self.secret, self.ev.ring()).unwrap();
        let mut inputs = Vec::new();
        for part in model.pack(examples).unwrap() {
            let complex = |vector: &Vec<f64>| vector.iter().map(|&x| x.into()).collect();
            let vectors: Vec<Vec<Complex64>> = part.iter().map(complex).collect();
            let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
            let plain = self.ev.encoder().encode_batch(&vectors, params.encoding()).unwrap();
            inputs.push(encryptor.encrypt(&plain, &mut self.rng).unwrap().expand().unwrap());
        }
        inputs
    }

    pub fn decrypt(&self, model: &CompiledModel, outputs: &[Ciphertext<B>], count: usize) -> Vec<Outputs> {
        let decryptor = Decryptor::new(self.ev.params(), &self.secret, self.ev.ring()).unwrap();
        let parts: Vec<Vec<Vec<f64>>> = outputs
            .iter()
            .map(|ct| self.ev.encoder().decode_real(&decryptor.decrypt(ct).unwrap()).unwrap())
            .collect();
        model.outputs().unpack(&parts, count).unwrap()
    }

    /// The [`difference`] of outputs after inference with refreshes.
    pub fn refreshed_difference(
        &self,
        model: &CompiledModel,
        inputs: &[Ciphertext<B>],
        examples: &[Vec<f64>],
    ) -> f64 {
        let boot = model.parameters().bootstrapping().unwrap();
        let rng = &mut ChaCha20Rng::seed_from_u64(3);
        let boot_keys = BootstrapKeys::generate(&self.secret, boot, self.ev.ring(), rng).unwrap();
        let bootstrapper = Bootstrapper::new(boot, self.ev.ring()).unwrap();
        let refresher = bootstrapper.with_keys(&boot_keys);
        let outputs = model.infer(&self.ev, inputs, &self.keys, &refresher).unwrap();
        difference(model.graph(), examples, &self.decrypt(model, &outputs, examples.len()))
    }
}

/// Many levels at a degree that is quick, and insecure.
pub fn toy(log_n: u32, depth: usize) -> Parameters {
    let q: Vec<u32> = std::iter::once(55).chain(std::iter::repeat_n(42, depth)).collect();
    let spec = CkksSpec::from_bits(log_n, &q, &[56, 56, 56], 42.0).unwrap().with_dnum(depth.div_ceil(3));
    Parameters::Leveled(CkksParams::insecure(spec).unwrap())
}

/// The greatest difference of outputs, relative to the greatest plain output.
fn compare(model: &CompiledModel, examples: &[Vec<f64>]) -> f64 {
    let mut lab = Lab::new(model);
    let inputs = lab.encrypt(model, examples);
    let outputs = model.infer(&lab.ev, &inputs, &lab.keys, &NeverRefresh).unwrap();
    let found = lab.decrypt(model, &outputs, examples.len());
    difference(model.graph(), examples, &found)
}

pub fn difference(graph: &Graph, examples: &[Vec<f64>], found: &[Outputs]) -> f64 {
    let (mut greatest, mut worst) = (0f64, 0f64);
    assert_eq!(found.len(), examples.len());
    for (example, found) in examples.iter().zip(found) {
        let mut values = graph.values(0, example).unwrap();
        for (expected, found) in values.swap_remove(graph.output).iter().zip(&found.values) {
            greatest = greatest.max(expected.abs());
            worst = worst.max((expected - found).abs());
        }
        assert!(!found.outside);
    }
    worst / greatest
}

pub fn examples(seed: u64, count: usize, length: usize) -> Vec<Vec<f64>> {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed);
    (0..count).map(|_| (0..length).map(|_| rng.random_range(-1.0..1.0)).collect()).collect()
}

pub fn weights(seed: u64, count: usize) -> Vec<f32> {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed);
    (0..count).map(|_| rng.random_range(-0.4..0.4)).collect()
}

/// A block with a projection, strides, groups, pooling, squares, a product and a sigmoid.
pub fn network() -> Graph {
    let strided = || vec![ints("strides", &[2, 2]), ints("pads", &[1, 1, 1, 1])];
    let padded = || vec![ints("pads", &[1, 1, 1, 1])];
    let model = Model::new(&[0, 2, 8, 8])
        .with(tensor("w1", &[4, 2, 3, 3], &weights(1, 72)))
        .with(tensor("b1", &[4], &weights(2, 4)))
        .node_of("Conv", &["x", "w1", "b1"], "c1", padded())
        .node("Mul", &["c1", "c1"], "a1")
        .with(tensor("w2", &[8, 4, 3, 3], &weights(3, 288)))
        .node_of("Conv", &["a1", "w2"], "c2", strided())
        .with(tensor("w3", &[8, 4, 1, 1], &weights(4, 32)))
        .node_of("Conv", &["a1", "w3"], "c3", vec![ints("strides", &[2, 2])])
        .node("Add", &["c2", "c3"], "s")
        .node("Sigmoid", &["s"], "g")
        .node("Mul", &["g", "c3"], "p")
        .node_of("AveragePool", &["p"], "q", vec![ints("kernel_shape", &[2, 2]), ints("strides", &[2, 2])])
        .node("Flatten", &["q"], "f")
        .with(tensor("w4", &[32, 5], &weights(5, 160)))
        .node("MatMul", &["f", "w4"], "y");
    Graph::from_onnx(&model.bytes()).unwrap()
}

#[test]
fn residual_blocks_agree_with_plain_inference() {
    let (graph, data) = (network(), examples(6, 20, 128));
    let options = Options { bits: 16, margin: 0.2 };
    let model = CompiledModel::compile_for(graph, &data, options, toy(10, 14)).unwrap();
    println!("{:#?}", model.facts().unwrap());
    let difference = compare(&model, &data[..5]);
    assert!(difference < 1e-4, "{difference}");
}

/// A LeNet in small: the greatest of windows that overlap the border, and of two branches.
#[test]
fn maxima_agree_with_plain_inference() {
    let pool = || vec![ints("kernel_shape", &[2, 2]), ints("strides", &[2, 2]), ints("pads", &[1, 1, 1, 1])];
    let onnx = Model::new(&[0, 1, 6, 6])
        .with(tensor("w", &[3, 1, 3, 3], &weights(1, 27)))
        .node_of("Conv", &["x", "w"], "c", vec![ints("pads", &[1, 1, 1, 1])])
        .node_of("MaxPool", &["c"], "m", pool())
        .node("Flatten", &["m"], "f")
        .with(tensor("v", &[48, 4], &weights(2, 192)))
        .with(tensor("u", &[48, 4], &weights(3, 192)))
        .node("MatMul", &["f", "v"], "a")
        .node("MatMul", &["f", "u"], "b")
        .node("Max", &["a", "b"], "g")
        .node("Min", &["g", "a"], "y");
    let (graph, data) = (Graph::from_onnx(&onnx.bytes()).unwrap(), examples(5, 20, 36));
    let options = Options { bits: 9, margin: 0.2 };
    for log_n in [7, 11] {
        let model =
            CompiledModel::compile_for(graph.clone(), &data, options.clone(), toy(log_n, 56)).unwrap();
        println!("{:#?}", model.facts().unwrap());
        let difference = compare(&model, &data[..3]);
        assert!(difference < 3e-2, "N = 2^{log_n}: {difference}");
    }
}

/// Lines, an average that scales its channel, bounds, parts that are joined, and a logarithm, which
/// slots without a value must survive.
#[test]
fn parts_and_bounds_agree_with_plain_inference() {
    let onnx = Model::new(&[0, 2, 8])
        .with(tensor("w", &[3, 2, 3], &weights(1, 18)))
        .node_of("Conv", &["x", "w"], "c", vec![ints("pads", &[1, 1])])
        .with(integers("last", &[-1]))
        .node("ReduceMean", &["c", "last"], "m")
        .node("Sigmoid", &["m"], "s")
        .node("Mul", &["c", "s"], "p")
        .with(tensor("low", &[], &[-0.2]))
        .with(tensor("high", &[], &[0.3]))
        .node("Clip", &["p", "low", "high"], "k")
        .with(integers("from", &[7]))
        .with(integers("to", &[-9]))
        .with(integers("step", &[-2]))
        .node("Slice", &["k", "from", "to", "last", "step"], "a")
        .with(tensor("two", &[1], &[1.5]))
        .node("Add", &["c", "two"], "t")
        .node("Log", &["t"], "l")
        .node_of("Concat", &["a", "l"], "y", vec![int("axis", 2)]);
    let (graph, data) = (Graph::from_onnx(&onnx.bytes()).unwrap(), examples(5, 30, 16));
    let model =
        CompiledModel::compile_for(graph, &data, Options { bits: 9, margin: 0.2 }, toy(8, 32)).unwrap();
    println!("{:#?}", model.facts().unwrap());
    let difference = compare(&model, &data[..3]);
    assert!(difference < 1e-2, "{difference}");
    // Beyond the numbers that have a logarithm.
    let error = model.check(0, &[4.0; 16]).unwrap_err().to_string();
    assert!(error.contains("calibration covered"), "{error}");
}

/// Values that exceed one ciphertext, and examples that share one.
#[test]
fn the_same_outputs_in_many_ciphertexts_and_in_one() {
    let (graph, data) = (network(), examples(6, 20, 128));
    for (log_n, many) in [(8, true), (12, false)] {
        let model =
            CompiledModel::compile_for(graph.clone(), &data, Options::default(), toy(log_n, 14)).unwrap();
        assert_eq!(model.examples() > 1, !many, "{}", model.examples());
        let difference = compare(&model, &data[..7]);
        assert!(difference < 2e-3, "N = 2^{log_n}: {difference}");
    }
}

/// A table with columns of very different sizes, at 128 bits of security.
#[test]
fn tables_are_decided_as_in_the_clear() {
    for name in ["wine", "breast_cancer"] {
        let data = table(&format!("{name}_train.csv"), true);
        let model = CompiledModel::compile(graph(name), &data, Options::default()).unwrap();
        let tests = table(&format!("{name}_test.csv"), true);
        let inside: Vec<Vec<f64>> = tests.into_iter().filter(|row| model.check(0, row).is_ok()).collect();
        assert!(inside.len() >= 40, "{name}: {}", inside.len());
        let mut lab = Lab::new(&model);
        let inputs = lab.encrypt(&model, &inside);
        let outputs = model.infer(&lab.ev, &inputs, &lab.keys, &NeverRefresh).unwrap();
        let found = lab.decrypt(&model, &outputs, inside.len());
        let agree = |(row, found): (&Vec<f64>, &Outputs)| {
            he_nn::graph::argmax(&model.apply_plain(row).unwrap()) == he_nn::graph::argmax(&found.values)
        };
        let agreeing = inside.iter().zip(&found).filter(|&pair| agree(pair)).count();
        assert_eq!(agreeing, inside.len(), "{name}");
        let difference = difference(model.graph(), &inside, &found);
        assert!(difference < 1e-2, "{name}: {difference}");
    }
}

/// Real digits, at 128 bits of security.
#[test]
fn digits_are_read_under_encryption() {
    let train: Vec<Vec<f64>> = digits("train", 200).into_iter().map(|(_, image)| image).collect();
    let model = CompiledModel::compile(graph("lenet5_square"), &train, Options::default()).unwrap();
    let facts = model.facts().unwrap();
    for layer in &facts.layers {
        println!("{layer:?}");
    }
    println!(
        "N = 2^{}, {} levels, {} examples, {} keys",
        facts.log_n, facts.levels, facts.examples, facts.key_bytes
    );
    let tests: Vec<Vec<f64>> = digits("test", 4).into_iter().map(|(_, image)| image).collect();
    let begin = std::time::Instant::now();
    let mut lab = Lab::new(&model);
    println!("keys {:?}", begin.elapsed());
    let prepared = model.prepare(&lab.ev).unwrap();
    println!("prepared {:?}, {} bytes", begin.elapsed(), prepared.bytes());
    let inputs = lab.encrypt(&model, &tests[..model.examples().min(4)]);
    let count = model.examples().min(4);
    let begin = std::time::Instant::now();
    let outputs = prepared.infer(&lab.ev, &inputs, &lab.keys, &NeverRefresh).unwrap();
    println!("inference {:?}", begin.elapsed());
    let found = lab.decrypt(&model, &outputs, count);
    let difference = difference(model.graph(), &tests[..count], &found);
    println!("difference {difference}");
    assert!(difference < 1e-3, "{difference}");
}

/// More layers than levels: values are refreshed on the way, and branches meet.
#[test]
fn deep_models_refresh() {
    let spec = BootstrapSpec { log_n: 10, log_slots: 9, ..Preset::Fast.spec() };
    let boot = BootstrapParams::insecure(spec).unwrap();
    let mut model = Model::new(&[0, 1, 4, 4]);
    let mut last = "x".to_owned();
    for layer in 0..8 {
        let name = |kind: &str| format!("{kind}{layer}");
        model = model
            .with(tensor(
                &name("w"),
                &[2, if layer == 0 { 1 } else { 2 }, 3, 3],
                &weights(layer, if layer == 0 { 18 } else { 36 }),
            ))
            .node_of("Conv", &[&last, &name("w")], &name("c"), vec![ints("pads", &[1, 1, 1, 1])])
            .node("Tanh", &[&name("c")], &name("t"));
        last = name("t");
        if layer > 0 {
            let sum = if layer == 7 { "y".to_owned() } else { name("s") };
            let before = if layer == 1 { "t0".to_owned() } else { format!("s{}", layer - 1) };
            model = model.node("Add", &[&last, &before], &sum);
            last = sum;
        }
    }
    let graph = Graph::from_onnx(&model.bytes()).unwrap();
    let data = examples(9, 10, 16);
    let parameters = Parameters::Refreshed(boot);
    let model = CompiledModel::compile_for(graph, &data, Options::default(), parameters).unwrap();
    let facts = model.facts().unwrap();
    assert!((2..=8).contains(&facts.refreshes), "{}", facts.refreshes);
    let mut lab = Lab::new(&model);
    let inputs = lab.encrypt(&model, &data);
    let difference = lab.refreshed_difference(&model, &inputs, &data);
    assert!(difference < 1e-2, "{difference}");
    // Without refreshes, levels run out.
    assert!(model.infer(&lab.ev, &inputs, &lab.keys, &NeverRefresh).is_err());
}

#[test]
fn what_calibration_did_not_cover_is_named() {
    let graph = Graph::from_onnx(&Model::new(&[0, 2]).node("Tanh", &["x"], "y").bytes()).unwrap();
    let data = vec![vec![0.5, -0.25], vec![1.0, 0.0]];
    let model =
        CompiledModel::compile_for(graph.clone(), &data, Options { bits: 10, margin: 0.5 }, toy(8, 8))
            .unwrap();
    assert!(model.check(0, &[1.4, -1.4]).is_ok());
    let error = model.check(3, &[0.0, -1.6]).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("example 3") && text.contains("Tanh") && text.contains("node y"), "{text}");
    assert!(error.hint().is_some_and(|hint| hint.contains("calibrated")));
    let zeros = CompiledModel::compile_for(graph.clone(), &[vec![0.0, 0.0]], Options::default(), toy(8, 8));
    assert!(matches!(zeros, Err(he_nn::Error::Uncalibrated { .. })), "{zeros:?}");
    assert!(matches!(CompiledModel::compile(graph, &[], Options::default()), Err(he_nn::Error::NoExamples)));
    // An output beyond those of the calibration is seen after decryption.
    let layout = model.outputs();
    let slots = vec![vec![vec![3.0; layout.slots]]];
    assert!(layout.unpack(&slots, 1).unwrap()[0].outside);
}
