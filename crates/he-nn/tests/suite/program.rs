//! Steps of an inference by themselves: each leaves the words that it left in the inference, and of
//! a device that flips one bit exactly that step is another one.

use crate::conformance::{network, options};
use crate::inference::{Lab, examples, toy};
use he_core::backend::Cpu;
use he_core::bootstrapping::presets::Preset;
use he_core::bootstrapping::{BootstrapKeys, BootstrapParams, BootstrapSpec, Bootstrapper, LevelRun};
use he_core::circuits::ckks::{NeverRefresh, Refresher};
use he_core::ckks::{Ciphertext, CkksParams};
use he_core::ring::Ring;
use he_core::wire::Wire;
use he_nn::program::Value;
use he_nn::{CompiledModel, Parameters};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};
use std::cell::RefCell;

pub type Values = Vec<Vec<u8>>;

pub fn bodies(params: &CkksParams, value: &[Ciphertext]) -> Values {
    value.iter().map(|ct| ct.to_frame(params).unwrap().body.clone()).collect()
}

/// Refreshes like another one, but for one bit of one of the results.
struct Flips<'a, R> {
    inner: &'a R,
    ring: &'a Ring,
    params: &'a CkksParams,
    /// The refreshes before that one, and the bits to flip.
    state: RefCell<(usize, ChaCha20Rng)>,
}

impl<R: Refresher<Cpu>> Refresher<Cpu> for Flips<'_, R> {
    fn reserve(&self) -> usize {
        self.inner.reserve()
    }

    fn top(&self) -> Option<usize> {
        self.inner.top()
    }

    fn check(&self, ct: &Ciphertext) -> he_core::Result<()> {
        self.inner.check(ct)
    }

    fn refresh(&self, ct: &Ciphertext) -> he_core::Result<Ciphertext> {
        self.inner.refresh(ct)
    }

    fn refresh_real(&self, ct: &Ciphertext) -> he_core::Result<Ciphertext> {
        let fresh = self.inner.refresh_real(ct)?;
        let (left, rng) = &mut *self.state.borrow_mut();
        *left = left.wrapping_sub(1);
        if *left != usize::MAX {
            return Ok(fresh);
        }
        // Bits whose change leaves no residue are refused by the reader.
        loop {
            let mut frame = fresh.to_frame(self.params)?;
            let bit = rng.random_range(0..frame.body.len() * 4) + frame.body.len() * 4;
            frame.body[bit / 8] ^= 1 << (bit % 8);
            if let Ok(mut flipped) = Ciphertext::from_frame(self.params, self.ring, &frame) {
                flipped.set_key_set(fresh.key_set());
                return Ok(flipped);
            }
        }
    }
}

/// The values of all steps of an inference.
pub fn recorded(
    model: &CompiledModel,
    lab: &Lab,
    inputs: &[Ciphertext],
    refresher: &impl Refresher<Cpu>,
) -> Vec<Vec<Ciphertext>> {
    let mut values: Vec<Vec<Ciphertext>> = Vec::new();
    let mut made = |made: he_nn::program::Made<'_, Cpu>| {
        assert_eq!(made.step, values.len());
        values.push(made.value.iter().map(|ct| ct.duplicate().unwrap()).collect());
        Ok(())
    };
    let prepared = model.prepare(&lab.ev).unwrap();
    let outputs = prepared.infer_recorded(&lab.ev, inputs, &lab.keys, refresher, &mut made).unwrap();
    let params = lab.ev.params();
    assert_eq!(bodies(params, values.last().unwrap()), bodies(params, &outputs));
    values
}

/// The steps whose values are not those that they have by themselves.
pub fn wrong(
    model: &CompiledModel,
    lab: &Lab,
    inputs: &[Ciphertext],
    values: &[Vec<Ciphertext>],
    refresher: &impl Refresher<Cpu>,
) -> Vec<usize> {
    let (params, program) = (lab.ev.params(), model.program());
    assert_eq!(program.len(), values.len());
    let differs = |&step: &usize| {
        let value = |of: &Value| -> Vec<Ciphertext> {
            let value = match *of {
                Value::Input => inputs,
                Value::Made(made) => &values[made],
            };
            // As they would be read from files.
            let read = |ct: &Ciphertext| {
                let frame = ct.to_frame(params).unwrap();
                let mut read = Ciphertext::from_frame(params, lab.ev.ring(), &frame).unwrap();
                read.set_key_set(ct.key_set());
                read
            };
            value.iter().map(read).collect()
        };
        let of: Vec<Vec<Ciphertext>> = program[step].of.iter().map(value).collect();
        let found = model.recompute(&lab.ev, step, &of, &lab.keys, refresher).unwrap();
        assert_eq!(found.len(), program[step].ciphertexts);
        bodies(params, &found) != bodies(params, &values[step])
    };
    (0..program.len()).filter(differs).collect()
}

#[test]
fn steps_with_refreshes_are_found_wrong_alone() {
    let seed = he_core::rand::rng().random();
    println!("seed {seed}");
    let program = LevelRun::new(6, 38.0, &[38]);
    let spec = BootstrapSpec { log_n: 6, log_slots: 5, join: None, program, ..Preset::Small.spec() };
    let parameters = Parameters::Refreshed(BootstrapParams::insecure(spec).unwrap());
    let data = examples(7, 10, 16);
    let model = CompiledModel::compile_for(network(&[8]), &data, options(), parameters).unwrap();
    let mut lab = Lab::new(&model);
    let inputs = lab.encrypt(&model, &data[..model.examples().min(2)]);
    let boot = model.parameters().bootstrapping().unwrap();
    let rng = &mut ChaCha20Rng::seed_from_u64(3);
    let keys = BootstrapKeys::generate(&lab.secret, boot, lab.ev.ring(), rng).unwrap();
    let bootstrapper = Bootstrapper::new(boot, lab.ev.ring()).unwrap();
    let refresher = bootstrapper.with_keys(&keys);
    let values = recorded(&model, &lab, &inputs, &refresher);
    assert_eq!(wrong(&model, &lab, &inputs, &values, &refresher), []);

    let steps = model.program();
    let refreshes: Vec<usize> =
        (0..steps.len()).filter(|&step| steps[step].name.starts_with("refresh")).collect();
    for (before, &step) in refreshes.iter().enumerate() {
        let ciphertexts = refreshes[..before].iter().map(|&step| steps[step].ciphertexts).sum();
        let state = RefCell::new((ciphertexts, ChaCha20Rng::seed_from_u64(seed)));
        let (ring, params) = (lab.ev.ring(), lab.ev.params());
        let faulty = Flips { inner: &refresher, ring, params, state };
        let values = recorded(&model, &lab, &inputs, &faulty);
        assert_eq!(wrong(&model, &lab, &inputs, &values, &refresher), [step]);
    }
}

#[test]
fn steps_in_stacks_have_a_step_of_outputs() {
    let data = examples(6, 20, 16);
    let stacked =
        CompiledModel::arranged_for(network(&[]), &data, options(), toy(6, 7), he_nn::Arrangement::Stacks);
    let model = stacked.unwrap();
    let mut lab = Lab::new(&model);
    let inputs = lab.encrypt(&model, &data[..model.examples().min(3)]);
    assert_eq!(model.program().last().unwrap().name, "outputs");
    let values = recorded(&model, &lab, &inputs, &NeverRefresh);
    assert_eq!(wrong(&model, &lab, &inputs, &values, &NeverRefresh), []);
    assert!(model.recompute(&lab.ev, 99, &[], &lab.keys, &NeverRefresh).is_err());
}
