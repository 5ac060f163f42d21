//! A device that flips one bit: the steps of an inference on it that are not what they should be
//! are found one by one, and so is the part of a step.

use crate::conformance::{driver, network, options};
use crate::inference::{Lab, examples, toy};
use crate::program::{bodies, recorded, wrong};
use gpu::Gpu;
use gpu_emulator::Faulty;
use he_core::backend::RingOps;
use he_core::circuits::ckks::{BlockParts, NeverRefresh, PartOf, PartValue};
use he_core::ckks::{Ciphertext, Evaluator};
use he_core::ring::{Ring, Span, galois_rotation};
use he_core::rlwe::{EvaluationKeys, RlweCiphertext};
use he_cuda::Cuda;
use he_nn::CompiledModel;
use he_nn::program::Value;
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};
use std::sync::Arc;

/// The primes of a value and the words of both of its polynomials.
type Words = (Span, [Vec<u64>; 2]);

fn words<B: RingOps>(pair: &RlweCiphertext<B>) -> he_core::Result<Words> {
    let [c0, c1] = pair.parts();
    Ok((c0.span(), [c0.to_words()?, c1.to_words()?]))
}

/// A laboratory on the CPU, and what its inference leaves.
struct World {
    model: CompiledModel,
    host: Lab,
    inputs: Vec<Ciphertext>,
    /// The values of all steps.
    right: Vec<Vec<Ciphertext>>,
}

/// A device that can fail, with the same keys.
struct Device {
    faulty: Arc<Faulty>,
    ev: Evaluator<Cuda>,
    keys: EvaluationKeys<Cuda>,
}

impl World {
    fn new() -> Self {
        let data = examples(6, 20, 16);
        let model = CompiledModel::compile_for(network(&[]), &data, options(), toy(6, 7)).unwrap();
        let mut host = Lab::new(&model);
        let inputs = host.encrypt(&model, &data[..1]);
        let right = recorded(&model, &host, &inputs, &NeverRefresh);
        Self { model, host, inputs, right }
    }

    /// A device with memory of its own, without the faults of others.
    fn device(&self) -> Device {
        let faulty = Faulty::new(driver());
        let cuda = Cuda::on(&Gpu::from_driver(faulty.clone())).unwrap();
        let params = self.host.ev.params();
        let ring = Ring::new(cuda, params.rlwe().ring().clone()).unwrap();
        let keys = self.host.keys.to(&ring).unwrap();
        Device { faulty, ev: Evaluator::new(params, &ring).unwrap(), keys }
    }

    /// The values of an inference on the device, on the host; `None` if the device fails.
    fn infer(&self, device: &Device) -> Option<Vec<Vec<Ciphertext>>> {
        let ring = self.host.ev.ring();
        let mut values: Vec<Vec<Ciphertext>> = Vec::new();
        let mut made = |made: he_nn::program::Made<'_, Cuda>| {
            values.push(made.value.iter().map(|ct| ct.to(ring)).collect::<he_core::Result<_>>()?);
            Ok(())
        };
        let Device { ev, keys, .. } = device;
        let inputs = on_device(&self.inputs, device);
        self.model.prepare(ev).ok()?.infer_recorded(ev, &inputs, keys, &NeverRefresh, &mut made).ok()?;
        Some(values)
    }
}

fn on_device(cts: &[Ciphertext], device: &Device) -> Vec<Ciphertext<Cuda>> {
    cts.iter().map(|ct| ct.to(device.ev.ring()).unwrap()).collect()
}

/// Tries faults until one has changed something, which most do not: they are in memory that nothing
/// reads any more.
fn until_found(mut trial: impl FnMut(&mut ChaCha20Rng) -> bool) {
    let seed = he_core::rand::rng().random();
    println!("seed {seed}");
    let rng = &mut ChaCha20Rng::seed_from_u64(seed);
    let silent = (0..200).take_while(|_| !trial(rng)).count();
    println!("{silent} faults changed nothing, and one was found");
    assert!(silent < 200);
}

/// The words of all parts of a map; `None` if the device fails.
fn run<B: RingOps>(
    parts: &BlockParts,
    ev: &Evaluator<B>,
    inputs: &[Ciphertext<B>],
    keys: &EvaluationKeys<B>,
) -> Option<Vec<Words>> {
    let mut made = Vec::new();
    let run = parts.run(ev, inputs, keys, |_, value| {
        made.push(words(value)?);
        Ok::<_, he_core::Error>(())
    });
    run.is_ok().then_some(made)
}

/// An audit of all steps finds the first one that a flipped bit has changed, whichever memory of
/// the device it was in.
#[test]
fn audits_find_flipped_bits() {
    let world = World::new();
    let World { model, host, inputs, right, .. } = &world;
    let params = host.ev.params();
    let same = |a: &[Ciphertext], b: &[Ciphertext]| bodies(params, a) == bodies(params, b);
    let device = world.device();
    device.faulty.count_launches();
    let clean = world.infer(&device).unwrap();
    let launches = device.faulty.count_launches();
    assert!(launches > 20 && right.iter().zip(&clean).all(|(a, b)| same(a, b)));
    until_found(|rng| {
        let device = world.device();
        device.faulty.flip(rng.random_range(1..=launches), rng.random());
        // A device that sees its own fault is not silent.
        let Some(values) = world.infer(&device) else { return false };
        let first = (0..values.len()).find(|&step| !same(&right[step], &values[step]));
        let audited = wrong(model, host, inputs, &values, &NeverRefresh);
        assert_eq!(audited.first().copied(), first, "{audited:?}");
        first.is_some()
    });
}

/// Two parties record the parts of a step, of which one has a device that flips a bit. A judge
/// computes the first part in which they differ otherwise than the device, from values that both
/// have.
#[test]
fn disputes_find_the_part() {
    let world = World::new();
    let World { model, host, inputs, right: values, .. } = &world;
    let step = (0..values.len()).find(|&step| model.parts(step).unwrap().is_some()).unwrap();
    assert_eq!(model.program()[step].of, [Value::Input]);
    let parts = model.parts(step).unwrap().unwrap();
    let right = run(&parts, &host.ev, inputs, &host.keys).unwrap();
    for (&part, value) in parts.outputs().iter().zip(&values[step]) {
        assert_eq!(right[part], words(value.pair()).unwrap());
    }
    let on = |device: &Device| run(&parts, &device.ev, &on_device(inputs, device), &device.keys);
    let device = world.device();
    device.faulty.count_launches();
    assert_eq!(on(&device).unwrap(), right);
    let launches = device.faulty.count_launches();
    until_found(|rng| {
        let device = world.device();
        device.faulty.flip(rng.random_range(1..=launches), rng.random());
        let Some(faulted) = on(&device) else { return false };
        let Some(part) = (0..right.len()).find(|&part| right[part] != faulted[part]) else { return false };
        let of = &parts.list()[part].of;
        let pairs: Vec<RlweCiphertext> = of.iter().map(|of| pair(&world, &right, of)).collect();
        let taken = of.iter().zip(&pairs).map(|(taken, pair)| match *taken {
            PartOf::Input(input) => PartValue::Input(&inputs[input]),
            PartOf::Made(_) => PartValue::Made(pair),
        });
        let log_n = host.ev.ring().spec().log_n();
        let key = parts.rotation(part).and_then(|step| host.keys.galois(galois_rotation(step, log_n)));
        let judged = parts.compute(&host.ev, part, &taken.collect::<Vec<_>>(), key).unwrap();
        assert_eq!(words(&judged).unwrap(), right[part], "{}", parts.list()[part].name);
        true
    });
}

/// The value of a part; of an input, any.
fn pair(world: &World, values: &[Words], of: &PartOf) -> RlweCiphertext {
    let PartOf::Made(made) = *of else { return world.inputs[0].pair().duplicate().unwrap() };
    let (span, [c0, c1]) = &values[made];
    RlweCiphertext::from_words(world.host.ev.ring(), *span, 1, [c0, c1]).unwrap()
}
