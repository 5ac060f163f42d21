//! Inference leaves the same words on a device as on the CPU, operation by operation: with kernels
//! that run on the host (always) and on a device (if there is one).

use crate::build::{Model, ints, tensor};
use crate::inference::{Lab, difference, examples, toy, weights};
use gpu::Gpu;
use gpu_emulator::Emulator;
use he_core::backend::Cpu;
use he_core::bootstrapping::presets::Preset;
use he_core::bootstrapping::{BootstrapParams, BootstrapSpec, LevelRun};
use he_core::circuits::ckks::NeverRefresh;
use he_core::conformance::Mirror;
use he_cuda::Cuda;
use he_nn::{CompiledModel, Graph, Options, Parameters};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// A device whose kernels run on the host, with memory of its own.
pub fn driver() -> Arc<Emulator> {
    static LIBRARY: OnceLock<Arc<Emulator>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
        Emulator::build(&kernels, Path::new(env!("CARGO_TARGET_TMPDIR")))
            .expect("the kernels compile for the host")
    });
    library.with_compute_capability((9, 0))
}

fn emulated() -> Cuda {
    Cuda::on(&Gpu::from_driver(driver())).expect("the emulator opens")
}

/// The first device. Without one, prints that the test is skipped; with `HE_REQUIRE_GPU=1` a
/// missing device is a failure.
fn gpu_or_skip() -> Option<Cuda> {
    match Cuda::open(0) {
        Ok(cuda) => Some(cuda),
        Err(error) if std::env::var_os("HE_REQUIRE_GPU").is_some_and(|value| value == "1") => {
            panic!("HE_REQUIRE_GPU=1, and there is no device: {error}")
        }
        Err(error) => {
            eprintln!("skipped: no CUDA device ({error})");
            None
        }
    }
}

/// A convolution and fully connected layers, with a tangent after each but the last.
pub fn network(hidden: &[usize]) -> Graph {
    let mut model = Model::new(&[0, 1, 4, 4])
        .with(tensor("w", &[2, 1, 3, 3], &weights(1, 18)))
        .with(tensor("b", &[2], &weights(2, 2)))
        .node_of("Conv", &["x", "w", "b"], "c", vec![ints("pads", &[1, 1, 1, 1])])
        .node("Tanh", &["c"], "t")
        .node("Flatten", &["t"], "f0");
    let mut width = 32;
    for (layer, &outputs) in hidden.iter().enumerate() {
        let name = |kind: &str, layer: usize| format!("{kind}{layer}");
        let (matrix, sum, next) = (name("m", layer), name("s", layer), name("f", layer + 1));
        model = model
            .with(tensor(
                &matrix,
                &[width as i64, outputs as i64],
                &weights(3 + layer as u64, width * outputs),
            ))
            .node("MatMul", &[&name("f", layer), &matrix], &sum)
            .node("Tanh", &[&sum], &next);
        width = outputs;
    }
    let last = format!("f{}", hidden.len());
    model = model.with(tensor("v", &[width as i64, 3], &weights(9, 3 * width))).node(
        "MatMul",
        &[&last, "v"],
        "y",
    );
    Graph::from_onnx(&model.bytes()).unwrap()
}

pub fn options() -> Options {
    Options { bits: 6, margin: 0.25 }
}

/// A batch of inputs, with maps that are encoded before and with maps that are encoded on the way.
fn leveled(cuda: Cuda, log_n: u32) {
    let data = examples(6, 20, 16);
    let model = CompiledModel::compile_for(network(&[]), &data, options(), toy(log_n, 7)).unwrap();
    let mut lab = Lab::on(Mirror::new(Cpu::new(), cuda), &model);
    let count = (model.examples() + 1).min(data.len());
    let inputs = lab.encrypt(&model, &data[..count]);
    let on_the_way = model.infer(&lab.ev, &inputs, &lab.keys, &NeverRefresh).unwrap();
    let prepared = model.prepare(&lab.ev).unwrap();
    let outputs = prepared.infer(&lab.ev, &inputs, &lab.keys, &NeverRefresh).unwrap();
    for outputs in [on_the_way, outputs] {
        let found = lab.decrypt(&model, &outputs, count);
        let difference = difference(model.graph(), &data[..count], &found);
        assert!(difference < 3e-2, "N = 2^{log_n}: {difference}");
    }
}

/// More layers than levels.
fn refreshed(cuda: Cuda, spec: BootstrapSpec) {
    let data = examples(7, 10, 16);
    let parameters = Parameters::Refreshed(BootstrapParams::insecure(spec).unwrap());
    let model = CompiledModel::compile_for(network(&[8]), &data, options(), parameters).unwrap();
    let facts = model.facts().unwrap();
    assert!(facts.refreshes > 0);
    let mut lab = Lab::on(Mirror::new(Cpu::new(), cuda), &model);
    let count = model.examples().min(2);
    let inputs = lab.encrypt(&model, &data[..count]);
    let difference = lab.refreshed_difference(&model, &inputs, &data[..count]);
    assert!(difference < 3e-2, "{} refreshes: {difference}", facts.refreshes);
}

#[test]
fn emulated_inference() {
    leveled(emulated(), 6);
}

#[test]
fn device_inference() {
    let Some(cuda) = gpu_or_skip() else { return };
    [6, 11, 13].into_iter().for_each(|log_n| leveled(cuda.clone(), log_n));
}

#[test]
fn emulated_inference_with_refreshes() {
    let program = LevelRun::new(6, 38.0, &[38]);
    refreshed(
        emulated(),
        BootstrapSpec { log_n: 6, log_slots: 5, join: None, program, ..Preset::Small.spec() },
    );
}

#[test]
fn device_inference_with_refreshes() {
    let Some(cuda) = gpu_or_skip() else { return };
    let program = LevelRun::new(6, 40.0, &[40]);
    refreshed(cuda, BootstrapSpec { log_n: 11, log_slots: 10, program, ..Preset::Fast.spec() });
}
