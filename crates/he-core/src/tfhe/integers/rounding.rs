//! Integers from phases, which other schemes leave on the torus, and phases from integers.

use super::rows::{Form, Rows};
use super::tables::{BITS, DIGIT_LOOKUP, Table, UNIT};
use super::{EncryptedFlags, EncryptedInteger, EncryptedUint, IntegerEvaluator, Signedness, digits_of};
use crate::error::{Error, Result};
use crate::tfhe::noise::WORST_FAILURE_LOG2;
use crate::tfhe::{LookupTables, LweBatch, LweOps};

/// Which integer a phase between two of them becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rounding {
    /// The nearest one.
    #[default]
    Nearest,
    /// The lower one.
    Down,
}

/// The messages of a table.
const MESSAGES: u64 = 16;

/// More bits than any noise leaves.
const MOST_BITS: usize = 32;

/// How a bit is looked up.
struct Step {
    /// From the phase times 2^`shift`.
    shift: u32,
    /// As 0 or 2^`weight`.
    weight: u32,
    /// What that is multiplied by to be the bit in the phase, and in its digit. One of them is 1.
    in_phase: i64,
    in_digit: i64,
}

/// The steps for integers of that many bits, from the lowest bit on. Bit i weighs 2^(64 - bits + i)
/// in the phase, and one or two units in its digit.
fn steps(bits: u32) -> Vec<Step> {
    let step = |i: u32| {
        let (phase, digit) = (64 - bits + i, UNIT.ilog2() + i % BITS as u32);
        let weight = phase.min(digit);
        Step { shift: bits - 1 - i, weight, in_phase: 1 << (phase - weight), in_digit: 1 << (digit - weight) }
    };
    (0..bits).map(step).collect()
}

/// The greatest variances at the lookups of bits and of digits, for results of lookups of variance
/// `result`.
fn variances(result: f64, steps: &[Step], deviation_log2: f64) -> (f64, f64) {
    let square = |factor: i64| (factor as f64) * (factor as f64);
    let (mut phase, mut bits, mut digits) = (libm::exp2(2.0 * deviation_log2), 0.0f64, 0.0f64);
    for pair in steps.chunks(BITS) {
        digits = digits.max(result * pair.iter().map(|step| square(step.in_digit)).sum::<f64>());
        for step in pair {
            bits = bits.max(phase * square(1 << step.shift));
            phase += result * square(step.in_phase);
        }
    }
    (bits, digits)
}

impl<B: LweOps> IntegerEvaluator<B> {
    /// The integers next to 2^bits times the phases, modulo 2^bits: unsigned ones for phases of 0
    /// to 1, and by [`reinterpret`](super::EncryptedInteger::reinterpret) signed ones for phases of
    /// -1/2 to 1/2. `deviation_log2` is log2 of the deviation of the phases' noise. Where a phase
    /// is within some deviations of the border between two integers, the result is one of them.
    ///
    /// What a bootstrap leaves of noise bounds the bits, too: up to 14 with
    /// [`phases_2m128`](crate::tfhe::presets::phases_2m128), and 10 with the presets for digits.
    ///
    /// A bit takes one bootstrap, from the lowest to the highest: multiplied by 2^(bits - 1), a
    /// phase says whether its integer is odd, and what was found is subtracted. A digit takes
    /// another one, to be fresh: 3/2 bits bootstraps per integer, at depth bits + 1. Source: Liu,
    /// Micciancio, Polyakov, *Large-Precision Homomorphic Sign Evaluation Using FHEW/TFHE
    /// Bootstrapping*, ASIACRYPT 2022, who look several bits up at a time.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, tfhe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = TfheSecretKey::generate(&presets::insecure_small()?, &mut rng);
    /// let cpu = Cpu::new();
    /// let key = BootstrapKey::generate(&secret, &mut rng);
    /// let evaluator = IntegerEvaluator::new(&cpu, &key, Carry::Ripple)?;
    /// // 19.7 and -3.2 in units of 2^-8.
    /// let phases = [19.7f64, -3.2].map(|x| (x * 2f64.powi(56)) as i64 as u64);
    /// let phases = secret.encrypt(&cpu, &phases, &mut rng)?;
    /// let [nearest, lower] = [Rounding::Nearest, Rounding::Down]
    ///     .map(|rounding| evaluator.rounded(&phases, 8, -40.0, rounding));
    /// assert_eq!(secret.decrypt_i64(&nearest?.reinterpret())?, [20, -3]);
    /// assert_eq!(secret.decrypt_i64(&lower?.reinterpret())?, [19, -4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] for a width that integers do not have or above 32 bits, and for noise
    /// with which phases of integers would be rounded to others with a probability above 2^-32;
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`], before any work; device errors.
    pub fn rounded(
        &self,
        phases: &LweBatch<B>,
        bits: usize,
        deviation_log2: f64,
        rounding: Rounding,
    ) -> Result<EncryptedUint<B>> {
        let places = digits_of(bits)?;
        if bits > MOST_BITS {
            let hint = format!("at most {MOST_BITS} are possible, and `cast` widens the result");
            return Err(Error::domain("bits of phases", bits.to_string(), hint));
        }
        self.expect_rare_failures(bits as u32, deviation_log2)?;
        let (steps, batch) = (steps(bits as u32), phases.count());
        let halves: Vec<_> = steps.iter().map(|step| vec![1 << (step.weight - 1)]).collect();
        let tables = LookupTables::new(self.backend(), self.params(), &halves)?;
        // The lower integer is the nearest one of a phase that is half of one lower.
        let shift = match rounding {
            Rounding::Nearest => 0,
            Rounding::Down => (1u64 << (63 - bits)).wrapping_neg(),
        };
        let phases = Rows { count: 1, batch, ciphertexts: phases.part(0..batch)? };
        let mut left = self.combine(&phases, &[Form { constant: shift, ..Form::sum([0]) }])?;
        let mut found = Vec::with_capacity(bits);
        for (i, step) in steps.iter().enumerate() {
            // Half the weight for a bit of 0, whose phase is within 1/4 of 0, else minus that.
            let shifted = Form::of([(1 << step.shift, 0)]);
            let half = self.lookup_in(&tables, &left, &[(shifted, i as u32)])?;
            let bit = self.combine(&half, &[Form { constant: halves[i][0], ..Form::of([(-1, 0)]) }])?;
            let pool = Rows::stack(&[&left, &bit])?;
            left = self.combine(&pool, &[Form::of([(1, 0), (-step.in_phase, 1)])])?;
            found.push(bit);
        }
        let pool = Rows::stack(&found.iter().collect::<Vec<_>>())?;
        let term = |i: usize| (steps[i].in_digit, i);
        let digits = (0..places).map(|d| Form::of([term(2 * d), term(2 * d + 1)])).collect();
        Ok(EncryptedUint::new(self.lookup_all(&pool, digits, Table::Message)?))
    }

    /// Ciphertexts whose phases are the integers times `unit` / 2^64, modulo 1, for other schemes
    /// to go on with. Each digit takes a bootstrap, and adds its noise
    /// ([`Noise::bootstrapped`](crate::tfhe::Noise::bootstrapped)).
    ///
    /// ```
    /// # use he_core::{backend::Cpu, tfhe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = TfheSecretKey::generate(&presets::insecure_small()?, &mut rng);
    /// let cpu = Cpu::new();
    /// let key = BootstrapKey::generate(&secret, &mut rng);
    /// let evaluator = IntegerEvaluator::new(&cpu, &key, Carry::Ripple)?;
    /// let x = secret.encrypt_i64(&cpu, &[-3], 8, &mut rng)?;
    /// let phase = secret.phases(&evaluator.phases(&x, 1 << 56)?)?[0] as i64;
    /// assert!((phase as f64 / 2f64.powi(56) + 3.0).abs() < 0.1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`]; device errors.
    pub fn phases<S: Signedness>(&self, x: &EncryptedInteger<S, B>, unit: u64) -> Result<LweBatch<B>> {
        let places = x.places();
        let table = |d: usize| {
            let negative = S::SIGNED && d + 1 == places;
            // Digits 2 and 3 of the highest place are -2 and -1 of a signed integer.
            let value = move |m: u64| if negative && m >= 2 { m.wrapping_sub(4) } else { m };
            let weight = if BITS * d < 64 { unit << (BITS * d) } else { 0 };
            (0..MESSAGES).map(|m| value(m % 4).wrapping_mul(weight)).collect()
        };
        let tables: Vec<Vec<u64>> = (0..places).map(table).collect();
        let tables = LookupTables::new(self.backend(), self.params(), &tables)?;
        let forms: Vec<_> = (0..places).map(|d| (Form::sum([d]), d as u32)).collect();
        let digits = self.lookup_in(&tables, &x.digits, &forms)?;
        Ok(self.combine(&digits, &[Form::sum(0..places)])?.ciphertexts)
    }

    /// Ciphertexts whose phases are `word` / 2^64 where a condition holds, else 0: one bootstrap
    /// each.
    ///
    /// # Errors
    /// The same as for [`phases`](Self::phases).
    pub fn flag_phases(&self, flags: &EncryptedFlags<B>, word: u64) -> Result<LweBatch<B>> {
        let table = (0..MESSAGES).map(|m| word.wrapping_mul(m & 1)).collect();
        let table = LookupTables::new(self.backend(), self.params(), &[table])?;
        let flags = self.row(flags, flags.batch())?;
        Ok(self.lookup_in(&table, &flags, &[(Form::sum([0]), 0)])?.ciphertexts)
    }

    /// Refuses noise with which the lookup of a bit, or of a digit, errs too often.
    fn expect_rare_failures(&self, bits: u32, deviation_log2: f64) -> Result<()> {
        let noise = self.params().noise();
        let result = noise.bootstrapped().max(noise.fresh);
        let (bit, digit) = variances(result, &steps(bits), deviation_log2);
        let failure = |variance: f64, margin| noise.failure_log2(variance / result, margin);
        let worst = failure(bit, 0.25).max(failure(digit, DIGIT_LOOKUP.1));
        if worst.is_nan() || worst > WORST_FAILURE_LOG2 {
            let found = format!(
                "{bits}: lookups would fail with probability 2^{worst:.1}, and at most 2^{WORST_FAILURE_LOG2} is accepted"
            );
            return Err(Error::domain("bits of phases", found, "ask for fewer bits, or for less noise"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tfhe::{BootstrapKey, Carry, Signed, TfheSecretKey, Unsigned, presets};
    use rand::{Rng, SeedableRng, rngs::ChaCha20Rng};

    /// All integers of 8 bits, and random ones of 10, at random offsets within 0.45 of them.
    #[test]
    fn phases_become_the_integers_next_to_them() {
        let given = std::env::var("HE_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed: u64 = given.unwrap_or_else(rand::random);
        println!("HE_TEST_SEED={seed}");
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let cpu = crate::backend::Cpu::new();
        let secret = TfheSecretKey::generate(&presets::insecure_small().unwrap(), &mut rng);
        let key = BootstrapKey::generate(&secret, &mut rng);
        let evaluator = IntegerEvaluator::new(&cpu, &key, Carry::Ripple).unwrap();
        for bits in [8usize, 10] {
            let integers: Vec<u64> =
                (0..256).map(|i| if bits == 8 { i } else { rng.next_u64() >> (64 - bits) }).collect();
            let unit = 1i64 << (64 - bits);
            let offsets: Vec<i64> = integers.iter().map(|_| rng.next_u64() as i64 >> bits).collect();
            let within = offsets.iter().map(|&offset| offset / 10 * 9);
            let phases: Vec<u64> = integers
                .iter()
                .zip(within)
                .map(|(&i, o)| (i << (64 - bits)).wrapping_add_signed(o))
                .collect();
            let batch = secret.encrypt(&cpu, &phases, &mut rng).unwrap();
            let nearest = evaluator.rounded(&batch, bits, -40.0, Rounding::Nearest).unwrap();
            assert_eq!(secret.decrypt_u64(&nearest).unwrap(), integers);
            // Half a unit higher, the lower ones are those that were the nearest.
            let higher: Vec<u64> = phases.iter().map(|phase| phase.wrapping_add_signed(unit / 2)).collect();
            let batch = secret.encrypt(&cpu, &higher, &mut rng).unwrap();
            let lower = evaluator.rounded(&batch, bits, -40.0, Rounding::Down).unwrap();
            assert_eq!(secret.decrypt_u64(&lower).unwrap(), integers);
            let signed = secret.decrypt_i64(&lower.reinterpret::<Signed>()).unwrap();
            let expected: Vec<i64> =
                integers.iter().map(|&i| ((i << (64 - bits)) as i64) >> (64 - bits)).collect();
            assert_eq!(signed, expected);
        }
        let integers: Vec<i64> = (0..20).map(|_| i64::from(rng.next_u32() as i16)).collect();
        let x = secret.encrypt_i64(&cpu, &integers, 16, &mut rng).unwrap();
        let flags = integers.iter().map(|x| x % 2 == 0).collect::<Vec<_>>();
        let even = secret.encrypt_flags(&cpu, &flags, &mut rng).unwrap();
        let near = |phases: &LweBatch, expected: &dyn Fn(usize) -> u64| {
            for (i, phase) in secret.phases(phases).unwrap().iter().enumerate() {
                let error = (phase.wrapping_sub(expected(i)) as i64).unsigned_abs();
                assert!(error < 1 << 53, "{i}: {error:x}");
            }
        };
        for unit in [1 << 45, 1 << 60, 3] {
            let expected = |i: usize| (integers[i] as u64).wrapping_mul(unit);
            near(&evaluator.phases(&x, unit).unwrap(), &expected);
            near(&evaluator.phases(&x.clone().reinterpret::<Unsigned>(), unit).unwrap(), &|i| {
                (integers[i] as u64 & 0xffff).wrapping_mul(unit)
            });
        }
        near(&evaluator.flag_phases(&even, 1 << 62).unwrap(), &|i| u64::from(flags[i]) << 62);

        let batch = secret.encrypt(&cpu, &[1], &mut rng).unwrap();
        // Noise of 2^-12 leaves 8 bits, but not 12.
        assert!(evaluator.rounded(&batch, 8, -12.0, Rounding::Nearest).is_ok());
        for (bits, deviation) in [(12, -12.0), (9, -40.0), (34, -64.0)] {
            let refused = evaluator.rounded(&batch, bits, deviation, Rounding::Nearest);
            assert!(matches!(refused, Err(Error::Argument { .. })), "{bits} bits");
        }
        assert_eq!(
            evaluator.rounded(&batch.part(0..0).unwrap(), 8, -40.0, Rounding::Down).unwrap().batch(),
            0
        );
    }
}
