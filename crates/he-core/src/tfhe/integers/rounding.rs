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

/// The most bits that one lookup takes: a message of a digit's table and its padding bit.
const CHUNK: u32 = MESSAGES.ilog2() + 1;

/// The lookup of a bit.
struct Step {
    /// The lookup is of the phase times 2^`shift`.
    shift: u32,
    /// Its result is 0 or 2^`weight`.
    weight: u32,
    /// The factors that make the result the bit in the phase, and in its digit. One of them is 1.
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

/// The numbers of lowest bits that are removed from a phase together, from all of its bits on,
/// until one lookup takes the rest.
fn removals(bits: u32) -> Vec<u32> {
    let removed = bits.saturating_sub(CHUNK);
    let whole = (0..removed / CHUNK).map(|_| CHUNK);
    whole.chain(Some(removed % CHUNK).filter(|&rest| rest > 0)).collect()
}

/// The variance of the message, and half of the distance of messages, for each lookup of a sign by
/// these removals.
fn sign_lookups(result: f64, bits: u32, deviation_log2: f64) -> Vec<(f64, f64)> {
    let (mut phase, mut left, mut lookups) = (libm::exp2(2.0 * deviation_log2), bits, Vec::new());
    let margin = |bits: u32| libm::exp2(-f64::from(bits + 1));
    for chunk in removals(bits) {
        let shifted = libm::exp2(2.0 * f64::from(left - chunk));
        for _ in 0..chunk.min(2) {
            lookups.push((phase * shifted, margin(chunk)));
            phase += result;
        }
        left -= chunk;
    }
    lookups.push((phase, margin(left)));
    lookups
}

impl<B: LweOps> IntegerEvaluator<B> {
    /// Whether the integers next to 2^bits times the phases are below `bound`, as
    /// [`rounded`](Self::rounded) and a comparison would find, but with fewer bootstraps: two for
    /// every five bits beyond the first five, and one. Integers are those of phases of -1/2 to 1/2,
    /// and their differences from `bound` must be within -2^(bits - 1) and 2^(bits - 1) - 1, too.
    /// Five bits at a time are removed from below: their highest one, then the others by a table.
    /// Between two integers, the noise of a lookup of five bits decides, a thirtieth of a unit with
    /// the presets, where [`rounded`](Self::rounded) has that of single bits.
    ///
    /// Source: Liu, Micciancio, Polyakov, *Large-Precision Homomorphic Sign Evaluation Using
    /// FHEW/TFHE Bootstrapping*, ASIACRYPT 2022.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, tfhe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = TfheSecretKey::generate(&presets::insecure_small()?, &mut rng);
    /// let cpu = Cpu::new();
    /// let key = BootstrapKey::generate(&secret, &mut rng);
    /// let evaluator = IntegerEvaluator::new(&cpu, &key, Carry::Ripple)?;
    /// // In units of 2^-8.
    /// let phases = [19.7f64, -0.4, -3.2].map(|x| (x * 2f64.powi(56)) as i64 as u64);
    /// let phases = secret.encrypt(&cpu, &phases, &mut rng)?;
    /// let negative = evaluator.phases_below(&phases, 0, 8, -40.0, Rounding::Nearest)?;
    /// assert_eq!(secret.decrypt_flags(&negative)?, [false, false, true]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] for no bits or more than 32, and for noise with which phases of integers
    /// would be taken for others with a probability above 2^-32; [`Error::ParamsMismatch`],
    /// [`Error::KeyMismatch`], before any work; device errors.
    pub fn phases_below(
        &self,
        phases: &LweBatch<B>,
        bound: i64,
        bits: usize,
        deviation_log2: f64,
        rounding: Rounding,
    ) -> Result<EncryptedFlags<B>> {
        self.below(phases, bound, bits, deviation_log2, rounding, UNIT).map(EncryptedFlags)
    }

    /// Ciphertexts whose phases are `word` / 2^64 where the integers are below `bound`, else 0, by
    /// as many bootstraps: [`flag_phases`](Self::flag_phases) makes the same of
    /// [`phases_below`](Self::phases_below) by one more.
    ///
    /// # Errors
    /// The errors of [`phases_below`](Self::phases_below).
    pub fn below_phases(
        &self,
        phases: &LweBatch<B>,
        bound: i64,
        bits: usize,
        deviation_log2: f64,
        word: u64,
    ) -> Result<LweBatch<B>> {
        self.below(phases, bound, bits, deviation_log2, Rounding::Nearest, word)
    }

    /// `word` where the integers are below `bound`, else 0.
    fn below(
        &self,
        phases: &LweBatch<B>,
        bound: i64,
        bits: usize,
        deviation_log2: f64,
        rounding: Rounding,
        word: u64,
    ) -> Result<LweBatch<B>> {
        if !(1..=MOST_BITS).contains(&bits) {
            let hint = format!("from 1 to {MOST_BITS}");
            return Err(Error::domain("bits of phases", bits.to_string(), hint));
        }
        let noise = self.noise();
        let result = noise.input();
        let lookups = sign_lookups(result, bits as u32, deviation_log2);
        let failures =
            lookups.into_iter().map(|(variance, margin)| noise.failure_log2(variance / result, margin));
        expect_rare(bits, failures.fold(f64::NEG_INFINITY, worse))?;

        let (mut left, mut remaining) = (self.centred(phases, bound, bits, rounding)?, bits as u32);
        for chunk in removals(bits as u32) {
            let (shift, unit) = (1i64 << (remaining - chunk), 1u64 << (64 - remaining));
            // Half of the highest bit's weight, and half a unit of the message.
            let (half, middle) = (unit << (chunk - 1) >> 1, 1u64 << (63 - chunk));
            let signs = LookupTables::sign(self.backend(), self.params(), half)?;
            let sum = Form { constant: middle, ..Form::of([(shift, 0)]) };
            let sign = self.lookup_in(&signs, &left, &[(sum, 0)])?;
            let removed = Form { constant: half.wrapping_neg(), ..Form::of([(1, 0), (1, 1)]) };
            left = self.combine(&Rows::stack(&[&left, &sign])?, &[removed])?;
            if chunk > 1 {
                let values = (0..1u64 << (chunk - 1)).map(|m| m.wrapping_mul(unit)).collect();
                let values = LookupTables::new(self.backend(), self.params(), &[values])?;
                let low = self.lookup_in(&values, &left, &[(Form::of([(shift, 0)]), 0)])?;
                left = self.combine(&Rows::stack(&[&left, &low])?, &[Form::of([(1, 0), (-1, 1)])])?;
            }
            remaining -= chunk;
        }
        let half = word / 2;
        let signs = LookupTables::sign(self.backend(), self.params(), half.wrapping_neg())?;
        let sum = Form { constant: 1u64 << (63 - remaining), ..Form::of([(1, 0)]) };
        let sign = self.lookup_in(&signs, &left, &[(sum, 0)])?;
        let found = self.combine(&sign, &[Form { constant: half, ..Form::of([(1, 0)]) }])?;
        Ok(found.ciphertexts)
    }

    /// Ciphertexts whose phases are -1, 0 or 1 times `word` / 2^64: the signs of the integers next
    /// to 2^bits times the phases, which are at most 2^(bits - 1) - 1 in magnitude. It takes the
    /// bootstraps of two comparisons by [`phases_below`](Self::phases_below), and one.
    ///
    /// # Errors
    /// The errors of [`phases_below`](Self::phases_below).
    pub fn sign_phases(
        &self,
        phases: &LweBatch<B>,
        bits: usize,
        deviation_log2: f64,
        word: u64,
    ) -> Result<LweBatch<B>> {
        let below = |bound| self.phases_below(phases, bound, bits, deviation_log2, Rounding::Nearest);
        let (negative, below_one) = (below(0)?, below(1)?);
        // Both conditions hold for -1, one of them for 0.
        let table = (0..MESSAGES).map(|m| 1u64.wrapping_sub(m).wrapping_mul(word)).collect();
        let table = LookupTables::new(self.backend(), self.params(), &[table])?;
        let batch = phases.count();
        let pool = Rows::stack(&[&self.row(&negative, batch)?, &self.row(&below_one, batch)?])?;
        Ok(self.lookup_in(&table, &pool, &[(Form::sum([0, 1]), 0)])?.ciphertexts)
    }

    /// Phases minus `bound` units of 2^-bits whose integers are the nearest ones.
    fn centred(&self, phases: &LweBatch<B>, bound: i64, bits: usize, rounding: Rounding) -> Result<Rows<B>> {
        // The lower integer is the nearest one of a phase that is half of one lower.
        let half = match rounding {
            Rounding::Nearest => 0,
            Rounding::Down => 1u64 << (63 - bits),
        };
        let constant = half.wrapping_add((bound << (64 - bits)) as u64).wrapping_neg();
        let rows = Rows { count: 1, batch: phases.count(), ciphertexts: phases.part(0..phases.count())? };
        self.combine(&rows, &[Form { constant, ..Form::sum([0]) }])
    }

    /// The integers next to 2^bits times the phases, modulo 2^bits: unsigned ones for phases of 0
    /// to 1, and by [`reinterpret`](super::EncryptedInteger::reinterpret) signed ones for phases of
    /// -1/2 to 1/2. `deviation_log2` is log2 of the deviation of the phases' noise. Where a phase
    /// is within some deviations of the border between two integers, the result is one of them.
    ///
    /// The noise that a bootstrap leaves bounds the bits, too: up to 14 with
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
        let steps = steps(bits as u32);
        let halves: Vec<_> = steps.iter().map(|step| vec![1 << (step.weight - 1)]).collect();
        let tables = LookupTables::new(self.backend(), self.params(), &halves)?;
        let mut left = self.centred(phases, 0, bits, rounding)?;
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
    /// The errors of [`phases`](Self::phases).
    pub fn flag_phases(&self, flags: &EncryptedFlags<B>, word: u64) -> Result<LweBatch<B>> {
        let table = (0..MESSAGES).map(|m| word.wrapping_mul(m & 1)).collect();
        let table = LookupTables::new(self.backend(), self.params(), &[table])?;
        let flags = self.row(flags, flags.batch())?;
        Ok(self.lookup_in(&table, &flags, &[(Form::sum([0]), 0)])?.ciphertexts)
    }

    /// Refuses noise with which the lookup of a bit, or of a digit, errs too often.
    fn expect_rare_failures(&self, bits: u32, deviation_log2: f64) -> Result<()> {
        let noise = self.noise();
        let result = noise.input();
        let (bit, digit) = variances(result, &steps(bits), deviation_log2);
        let failure = |variance: f64, margin| noise.failure_log2(variance / result, margin);
        expect_rare(bits as usize, worse(failure(bit, 0.25), failure(digit, DIGIT_LOOKUP.1)))
    }
}

/// The greater probability, and NaN if one is.
fn worse(x: f64, y: f64) -> f64 {
    if x > y || x.is_nan() { x } else { y }
}

fn expect_rare(bits: usize, failure_log2: f64) -> Result<()> {
    if failure_log2.is_nan() || failure_log2 > WORST_FAILURE_LOG2 {
        let found = format!(
            "{bits}: lookups would fail with probability 2^{failure_log2:.1}, and at most 2^{WORST_FAILURE_LOG2} is accepted"
        );
        return Err(Error::domain("bits of phases", found, "ask for fewer bits, or for less noise"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tfhe::{BootstrapKey, Carry, Signed, TfheSecretKey, Unsigned, presets};
    use rand::Rng;

    #[test]
    fn removals_leave_what_one_lookup_takes() {
        let expected: [(u32, &[u32]); 6] =
            [(1, &[]), (5, &[]), (6, &[1]), (8, &[3]), (12, &[5, 2]), (15, &[5, 5])];
        for (bits, chunks) in expected {
            assert_eq!(removals(bits), chunks, "{bits} bits");
        }
        let preset = presets::phases_2m128().unwrap().noise();
        let failure =
            |(variance, margin): (f64, f64)| preset.failure_log2(variance / preset.bootstrapped(), margin);
        // The noise of a switch, and two bootstraps for each five bits.
        for (bits, count) in [(5, 1), (6, 2), (8, 3), (12, 5), (14, 5)] {
            let lookups = sign_lookups(preset.bootstrapped(), bits, -18.0);
            assert_eq!(lookups.len(), count, "{bits} bits");
            assert!(lookups.into_iter().map(failure).all(|log2| log2 < WORST_FAILURE_LOG2), "{bits} bits");
        }
    }

    /// All integers of 8 bits, and random ones of 10, at random offsets within 0.45 of them.
    #[test]
    fn phases_become_the_integers_next_to_them() {
        let mut rng = crate::testing::seeded();
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
            let negative: Vec<bool> = integers.iter().map(|&i| i >> (bits - 1) == 1).collect();
            // Seven deviations of the noise of a lookup of five bits from the border.
            let nearer = |at: i64| {
                let phase =
                    |(&i, offset): (&u64, &i64)| (i << (64 - bits)).wrapping_add_signed(offset / 10 * 6 + at);
                integers.iter().zip(&offsets).map(phase).collect::<Vec<u64>>()
            };
            let near = secret.encrypt(&cpu, &nearer(0), &mut rng).unwrap();
            let found = evaluator.phases_below(&near, 0, bits, -40.0, Rounding::Nearest).unwrap();
            assert_eq!(secret.decrypt_flags(&found).unwrap(), negative);
            let higher: Vec<u64> = phases.iter().map(|phase| phase.wrapping_add_signed(unit / 2)).collect();
            let batch = secret.encrypt(&cpu, &higher, &mut rng).unwrap();
            let lower = evaluator.rounded(&batch, bits, -40.0, Rounding::Down).unwrap();
            assert_eq!(secret.decrypt_u64(&lower).unwrap(), integers);
            let near = secret.encrypt(&cpu, &nearer(unit / 2), &mut rng).unwrap();
            let found = evaluator.phases_below(&near, 0, bits, -40.0, Rounding::Down).unwrap();
            assert_eq!(secret.decrypt_flags(&found).unwrap(), negative);
            let signed = secret.decrypt_i64(&lower.reinterpret::<Signed>()).unwrap();
            let expected: Vec<i64> =
                integers.iter().map(|&i| ((i << (64 - bits)) as i64) >> (64 - bits)).collect();
            assert_eq!(signed, expected);
        }
        // Signs of more bits than insecure_small rounds, at their borders, too.
        let integers: Vec<i64> =
            (0..100).map(|i| if i < 9 { i - 4 } else { (rng.next_u64() as i64 >> 52).max(-2000) }).collect();
        let words: Vec<u64> = integers.iter().map(|&i| (i << 52) as u64).collect();
        let batch = secret.encrypt(&cpu, &words, &mut rng).unwrap();
        let found = evaluator.phases_below(&batch, 3, 12, -40.0, Rounding::Nearest).unwrap();
        let below: Vec<bool> = integers.iter().map(|&i| i < 3).collect();
        assert_eq!(secret.decrypt_flags(&found).unwrap(), below);
        let words = evaluator.below_phases(&batch, 3, 12, -40.0, 1 << 60).unwrap();
        for (phase, &below) in secret.phases(&words).unwrap().iter().zip(&below) {
            assert_eq!(phase.wrapping_add(1 << 59) >> 60, u64::from(below));
        }
        let signs = evaluator.sign_phases(&batch, 12, -40.0, 1 << 60).unwrap();
        for (phase, &i) in secret.phases(&signs).unwrap().iter().zip(&integers) {
            assert_eq!((phase.wrapping_add(1 << 59) as i64) >> 60, i.signum(), "{i}");
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
        for (bits, deviation) in [(0, -40.0), (12, -12.0), (33, -64.0)] {
            let refused = evaluator.phases_below(&batch, 0, bits, deviation, Rounding::Nearest);
            assert!(matches!(refused, Err(Error::Argument { .. })), "{bits} bits");
        }
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
