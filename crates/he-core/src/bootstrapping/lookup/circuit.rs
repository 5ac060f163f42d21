//! Looking up tables: the refresh with an exponential and interpolations in place of its modular
//! reduction.

use super::super::bootstrapper::Values;
use super::super::{BootstrapKeys, Bootstrapper};
use super::LookupTables;
use crate::backend::RingOps;
use crate::ckks::Ciphertext;
use crate::error::{Error, Result};
use crate::key_set::common;
use crate::rlwe::EvaluationKeys;

impl<B: RingOps> Bootstrapper<B> {
    /// The entries of each table for the messages in the slots, in the order of tables: a
    /// ciphertext each, of the level of [`output_level`](LookupTables::output_level), with real
    /// slots. Imaginary parts of messages are ignored. All of a batch are looked up together. The
    /// time does not depend on messages or entries.
    ///
    /// Messages are on the [`input_level`](super::super::BootstrapParams::input_level) or above, and
    /// integers but for their noise, of any sign, below 2^9 p in magnitude. Results carry a noise
    /// estimate if messages do, and do not depend on the noise of messages but by its square.
    ///
    /// # Errors
    /// [`Error::LookupFailure`] if a result is predicted to be wrong too often, which counts the
    /// noise that is known of messages; [`Error::LevelExhausted`] for messages below the input
    /// level, or tables of more entries than programs have levels for; [`Error::SlotCount`] for
    /// another number of slots; missing keys; mismatch of parameters, ring or key sets; all before
    /// any work. Device errors.
    pub fn look_up(
        &self,
        ct: &Ciphertext<B>,
        tables: &LookupTables,
        keys: &BootstrapKeys<B>,
        program: &EvaluationKeys<B>,
    ) -> Result<Vec<Ciphertext<B>>> {
        self.check_lookup(ct, tables, keys, program)?;
        self.looked_up(ct, tables, keys, program, Values::Real)
    }

    /// [`look_up`](Self::look_up) for slots m + i m' of two messages each, which become y + i y'.
    /// SlotsToCoeffs and ModRaise serve both, and the rest computes on twice as much.
    ///
    /// # Errors
    /// The same as for [`look_up`](Self::look_up).
    pub fn look_up_parts(
        &self,
        ct: &Ciphertext<B>,
        tables: &LookupTables,
        keys: &BootstrapKeys<B>,
        program: &EvaluationKeys<B>,
    ) -> Result<Vec<Ciphertext<B>>> {
        self.check_lookup(ct, tables, keys, program)?;
        let joined = |ct: Ciphertext<B>| {
            let (ev, half) = (self.evaluator(), ct.batch() / 2);
            let [_, unit] = self.units();
            let imaginary = ev.turned(&ev.scaled(ct.slice_batch(half..2 * half)?)?, unit)?;
            let mut sum = ev.add(&ct.slice_batch(0..half)?, imaginary.ciphertext())?;
            sum.set_noise(ct.noise().map(|noise| noise.plus(noise)));
            Ok(sum)
        };
        self.looked_up(ct, tables, keys, program, Values::Parts)?.into_iter().map(joined).collect()
    }

    /// [`look_up`](Self::look_up) for a batch of an even number of ciphertexts, of which the second
    /// half become the imaginary parts of the first, and are parted again.
    ///
    /// # Errors
    /// [`Error::Argument`] for an odd number; the same as for [`look_up`](Self::look_up).
    pub fn look_up_pairs(
        &self,
        ct: &Ciphertext<B>,
        tables: &LookupTables,
        keys: &BootstrapKeys<B>,
        program: &EvaluationKeys<B>,
    ) -> Result<Vec<Ciphertext<B>>> {
        self.check_lookup(ct, tables, keys, program)?;
        self.looked_up(&self.paired(ct)?, tables, keys, program, Values::Parts)
    }

    fn check_lookup(
        &self,
        ct: &Ciphertext<B>,
        tables: &LookupTables,
        keys: &BootstrapKeys<B>,
        program: &EvaluationKeys<B>,
    ) -> Result<()> {
        self.check(ct, keys)?;
        if tables.params() != self.params() {
            let hint = "prepare tables for the bootstrapper's parameters";
            return Err(Error::domain("tables", "they are for other parameters", hint));
        }
        program.check(self.params().params().rlwe(), self.evaluator().ring())?;
        tables.requirements().check(self.params().output_level(), program)?;
        common("evaluation keys", program.key_set(), ct.key_set())?;
        tables.check_noise(ct.noise(), ct.scale())
    }

    fn looked_up(
        &self,
        ct: &Ciphertext<B>,
        tables: &LookupTables,
        keys: &BootstrapKeys<B>,
        program: &EvaluationKeys<B>,
        values: Values,
    ) -> Result<Vec<Ciphertext<B>>> {
        let ev = self.evaluator();
        let noise = |index| ct.noise().map(|noise| tables.result_noise(index, noise, ct.scale()));
        let mut messages = ev.mod_switch_to(ct, self.params().input_level())?;
        ev.mul_integer_assign(&mut messages, tables.factor())?;
        let raised = self.mod_raise(&self.slots_to_coefficients(&messages, keys)?.pair, keys)?;
        let turns = self.coefficients_to_slots(raised, keys, values)?;
        let [unit, program_unit] = self.units();
        let circle = tables.exponential.apply(self.reduction(), turns, unit, &keys.reduction)?;
        let circle = self.join(circle, keys, values)?;
        let results = tables.interpolation.apply(ev, circle, program_unit, program)?;
        let real = |(index, half): (usize, &Ciphertext<B>)| {
            let mut real = ev.add(half, &ev.conjugate(half, program)?)?;
            real.set_noise(noise(index));
            Ok(real)
        };
        results.iter().enumerate().map(real).collect()
    }
}
