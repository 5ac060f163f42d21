//! States of ciphertexts that are still to be computed: what planners ask before there is data.

use super::ciphertext::Meta;
use super::{Ciphertext, Noise, Params, Scheme};
use crate::backend::RingOps;
use crate::error::{Error, Result};

/// The state that decides about the next operations on a ciphertext: its level, its correction
/// factor and its predicted noise.
///
/// The methods of [`Params`] on states are the predictions of [`Evaluator`](super::Evaluator):
/// a ciphertext that was computed has the state that was predicted from those of its operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State(Meta);

impl State {
    /// The level.
    pub fn level(&self) -> usize {
        self.0.primes - 1
    }

    /// The correction factor f.
    pub fn correction_factor(&self) -> u64 {
        self.0.correction_factor
    }

    /// The bound on the noise.
    pub fn noise(&self) -> Noise {
        self.0.noise
    }
}

impl<S: Scheme, B: RingOps> Ciphertext<S, B> {
    /// Its state.
    pub fn state(&self) -> State {
        State(self.meta)
    }
}

impl<S: Scheme> Params<S> {
    /// The state of an encryption by public key, which is noisier than one by secret key.
    pub fn fresh_state(&self) -> State {
        State(self.fresh(self.noise().public()))
    }

    /// A state of these parameters.
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`]; [`Error::Argument`] for a correction factor that is not a unit
    /// modulo t, or impossible noise.
    pub fn state(&self, level: usize, correction_factor: u64, noise: Noise) -> Result<State> {
        let (highest, plain_modulus) = (self.max_level(), self.plain().value());
        if level > highest {
            return Err(Error::LevelTooHigh { found: level, highest });
        }
        let meta = Meta { plain_modulus, primes: level + 1, correction_factor, noise };
        meta.check(self)?;
        Ok(State(meta))
    }

    /// The bits that are left before decryption may fail.
    pub fn budget_of(&self, state: State) -> f64 {
        self.noise().budget(state.0.noise, state.0.primes)
    }

    /// The state of a sum or a difference.
    ///
    /// # Errors
    /// [`Error::BudgetSpent`].
    pub fn state_of_sum(&self, a: State, b: State) -> Result<State> {
        self.sum(a.0, b.0).map(State)
    }

    /// The state of a sum of `count` ciphertexts of at most this noise, in any order.
    ///
    /// # Errors
    /// [`Error::BudgetSpent`].
    pub fn state_of_total(&self, state: State, count: u64) -> Result<State> {
        self.checked(Meta { noise: state.0.noise.total(count), ..state.0 }).map(State)
    }

    /// The state with a constant added.
    ///
    /// # Errors
    /// [`Error::BudgetSpent`].
    pub fn state_with_constant(&self, state: State) -> Result<State> {
        self.shifted(state.0).map(State)
    }

    /// The state multiplied by a constant, which is reduced into `[-t/2, t/2)`.
    ///
    /// # Errors
    /// [`Error::BudgetSpent`].
    pub fn state_scaled(&self, state: State, value: i64) -> Result<State> {
        let t = self.plain().modulus();
        self.scaled(state.0, self.plain().center(t.reduce_i64(value))).map(State)
    }

    /// The state of a product, relinearised.
    ///
    /// # Errors
    /// [`Error::BudgetSpent`].
    pub fn state_of_product(&self, a: State, b: State) -> Result<State> {
        self.key_switched(self.product(a.0, b.0)?, 1).map(State)
    }

    /// The state after this many rotations in sequence, each with a key of its own.
    ///
    /// # Errors
    /// [`Error::BudgetSpent`].
    pub fn state_rotated(&self, state: State, count: usize) -> Result<State> {
        self.key_switched(state.0, count).map(State)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Encryptor, Evaluator};
    use super::*;
    use crate::backend::Cpu;
    use crate::bfv::Bfv;
    use crate::bgv::Bgv;
    use crate::ring::Ring;
    use crate::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, SecretKey};
    use rand::SeedableRng;
    use rand::rngs::ChaCha20Rng;

    /// The computed ciphertexts have the states that were predicted, to the last bit.
    fn predictions_are_those_of_the_evaluator<S: Scheme>() {
        let params = Params::<S>::for_depth(65537, 2).slots().build().unwrap();
        let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        let secret = SecretKey::generate(params.rlwe(), rng);
        let public = PublicKey::generate(&secret, &ring, rng).unwrap();
        let needs = KeyRequirements::new().relinearisation().rotations([1, 2]);
        let keys = EvaluationKeys::generate(&secret, &ring, &needs, rng).unwrap();
        let ev = Evaluator::<S, _>::new(&params, &ring).unwrap();
        let plain = ev.encoder().encode(&[3i64, -4]).unwrap();
        let x = Encryptor::new(&params, &public).unwrap().encrypt(&plain, rng).unwrap();

        let fresh = params.fresh_state();
        assert_eq!(x.state(), fresh);
        let product = ev.mul(&x, &x, &keys).unwrap();
        let predicted = params.state_of_product(fresh, fresh).unwrap();
        assert_eq!(product.state(), predicted);
        assert_eq!(product.predicted_budget(&params), params.budget_of(predicted));
        // The operands have two levels and correction factors.
        let sum = ev.add(&x, &product).unwrap();
        assert_eq!(sum.state(), params.state_of_sum(fresh, predicted).unwrap());
        for value in [-7, 65536, 30000] {
            let scaled = ev.mul_scalar(&x, value).unwrap();
            assert_eq!(scaled.state(), params.state_scaled(fresh, value).unwrap());
        }
        assert_eq!(ev.add_scalar(&x, 5).unwrap().state(), params.state_with_constant(fresh).unwrap());
        // By two keys.
        assert_eq!(ev.rotate(&x, 3, &keys).unwrap().state(), params.state_rotated(fresh, 2).unwrap());

        let Noise { rms_log2, peak_log2, degree } = predicted.noise();
        let noise = Noise { rms_log2, peak_log2, degree };
        assert_eq!(params.state(predicted.level(), predicted.correction_factor(), noise).unwrap(), predicted);
        assert!(params.state(params.max_level() + 1, 1, noise).is_err());
        assert!(params.state(0, 0, noise).is_err());
        let third = params.state_of_product(predicted, predicted).unwrap();
        assert!(params.state_of_product(third, third).is_err());
    }

    #[test]
    fn predictions_of_bfv_are_those_of_the_evaluator() {
        predictions_are_those_of_the_evaluator::<Bfv>();
    }

    #[test]
    fn predictions_of_bgv_are_those_of_the_evaluator() {
        predictions_are_those_of_the_evaluator::<Bgv>();
    }

    /// A bound on a total is at least that of its sums one by one, and nearly the same.
    #[test]
    fn totals_bound_sums_in_any_order() {
        let params = Params::<Bfv>::for_depth(65537, 1).slots().build().unwrap();
        let fresh = params.fresh_state();
        let mut sum = fresh;
        for count in 2..=1000 {
            sum = params.state_of_sum(sum, fresh).unwrap();
            let total = params.state_of_total(fresh, count).unwrap();
            let excess = total.noise().peak_log2 - sum.noise().peak_log2;
            assert!((0.0..0.01).contains(&excess), "{count}: {excess}");
        }
        assert_eq!(params.state_of_total(fresh, 1).unwrap(), fresh);
        assert!(params.state_of_total(fresh, 1 << 60).is_err());
    }
}
