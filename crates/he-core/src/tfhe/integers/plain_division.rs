//! Quotients and remainders by plain numbers.
//!
//! A power of two shifts. Otherwise the factors 4 of the divisor drop digits of both numbers, and
//! the rest goes digit by digit, or bit by bit, with the highest first. If the odd part of the
//! divisor is at most 7, a remainder and the next piece are one message, which is looked up in
//! tables of quotients and remainders. Otherwise each step estimates a digit -3 ... 3 of the
//! quotient by the two highest digits of the remainder, in tables made for the divisor, and takes
//! off that multiple (SRT division: Robertson, 1958; Tocher, 1958): a lookup for each digit of the
//! divisor and at most six more, where an encrypted divisor takes three comparisons and four
//! lookups for each digit of the dividend that was taken.
//!
//! For 64 bits by 31 this is 408 bootstraps, and 3780 by an encrypted divisor. A product with a
//! reciprocal of 64 bits would take twice those of [`IntegerEvaluator::mul_plain`], about 916, for
//! the quotient alone.

use super::rows::{Form, Rows};
use super::tables::{BITS, Pair, Table, UNIT};
use super::{EncryptedInteger, IntegerEvaluator, Signedness};
use crate::error::{Error, Result};
use crate::tfhe::{LookupTables, LweOps};
use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{One, ToPrimitive, Zero};

/// The greatest odd divisor whose remainder, with the next bit, is one message.
const ONE_MESSAGE: u64 = 7;
/// The digits of the quotient that an estimate chooses from: -3 ... 3.
const GREATEST: i64 = 3;

/// The results that a division returns: lookups that only serve the other result are left out.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    quotient: bool,
    remainder: bool,
}

const BOTH: Wanted = Wanted { quotient: true, remainder: true };
const QUOTIENT: Wanted = Wanted { quotient: true, remainder: false };
const REMAINDER: Wanted = Wanted { quotient: false, remainder: true };

/// Digits of a quotient, and of a remainder from 0 on below the divisor, the lowest first. There
/// are as many as the result can have, and none of a result that is not wanted.
struct Floored<B: LweOps> {
    quotient: Rows<B>,
    remainder: Rows<B>,
}

/// Digit `place` of a number, in base 4.
fn digit(number: &BigUint, place: usize) -> i64 {
    let bit = |at: usize| i64::from(number.bit(at as u64));
    bit(BITS * place) + 2 * bit(BITS * place + 1)
}

/// The digits of numbers below `number`, which is positive.
fn digits_below(number: &BigUint) -> usize {
    (number - 1u8).bits().div_ceil(BITS as u64) as usize
}

/// -factor times a number modulo 4^places.
fn taken_off(number: &BigUint, factor: i64, places: usize) -> BigUint {
    let modulus = BigInt::one() << (BITS * places);
    let product = BigInt::from(number.clone()) * -factor % &modulus;
    let (_, magnitude) = ((product + &modulus) % modulus).into_parts();
    magnitude
}

/// The digit of the quotient for each message of the two highest digits of a remainder of
/// `places` + 1 digits, which is at least -4 and below 4 times the divisor. With w = 4^(places - 1)
/// and the divisor in w ... 2 w - 1, message v, from -8 to 7, stands for remainders from v w on
/// below (v + 1) w. One more than v w over the divisor, rounded down, leaves a remainder of which
/// the magnitude is at most the divisor.
fn estimates(divisor: &BigUint, places: usize) -> Vec<i64> {
    let unit = BigInt::one() << (BITS * (places - 1));
    let divisor = BigInt::from(divisor.clone());
    (0..16i64)
        .map(|message| {
            let least = &unit * (if message < 8 { message } else { message - 16 });
            let floor = (&least - ((&least % &divisor) + &divisor) % &divisor) / &divisor;
            (floor.to_i64().unwrap_or(GREATEST) + 1).clamp(-GREATEST, GREATEST)
        })
        .collect()
}

impl<B: LweOps> IntegerEvaluator<B> {
    /// x / divisor rounded towards zero, and x - divisor times that, which has the sign of x, as in
    /// Rust: [`div_rem`](Self::div_rem) by a number that is known. The time reveals the divisor.
    ///
    /// With d digits of x and k of the divisor, both without the divisor's factors of 4, this takes
    /// at most (d - k + 1)(k + 7) + k + 1 bootstraps. If the highest bit of the divisor is the
    /// upper one of a digit, both numbers are doubled, at the price of d + k more. Divisors of 3, 5
    /// and 7 times a power of two take at most 5 d + 3, and powers of two at most d + 1. Signs add
    /// about d + k, and a negative divisor d. Integers of 64 bits by 100 take 236 bootstraps, and
    /// by a number of 31 bits 408, where encrypted divisors take 3780.
    ///
    /// The quotient of -2^(bits - 1) by -1 does not fit and is -2^(bits - 1).
    ///
    /// ```
    /// # use he_core::{backend::Cpu, tfhe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let (cpu, mut rng) = (Cpu::new(), he_core::rand::rng());
    /// # let secret = TfheSecretKey::generate(&presets::insecure_small()?, &mut rng);
    /// # let key = BootstrapKey::generate(&secret, &mut rng);
    /// let evaluator = IntegerEvaluator::new(&cpu, &key, Carry::Ripple)?;
    /// let cents = secret.encrypt_i64(&cpu, &[1234, -99], 16, &mut rng)?;
    /// let (whole, rest) = evaluator.div_rem_plain(&cents, &100.into())?;
    /// assert_eq!(secret.decrypt_i64(&whole)?, [12, 0]);
    /// assert_eq!(secret.decrypt_i64(&rest)?, [34, -99]);
    /// assert!(evaluator.div_rem_plain(&cents, &0.into()).is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] for a divisor of 0, which encrypted divisors define because it can't be
    /// seen there, and for one that does not fit the width; the errors of [`add`](Self::add).
    pub fn div_rem_plain<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        divisor: &BigInt,
    ) -> Result<(EncryptedInteger<S, B>, EncryptedInteger<S, B>)> {
        self.truncated(x, divisor, BOTH)
    }

    /// x / divisor rounded towards zero; see [`div_rem_plain`](Self::div_rem_plain), of which this
    /// leaves out the lookups of the remainder.
    ///
    /// # Errors
    /// The errors of [`div_rem_plain`](Self::div_rem_plain).
    pub fn div_plain<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        divisor: &BigInt,
    ) -> Result<EncryptedInteger<S, B>> {
        Ok(self.truncated(x, divisor, QUOTIENT)?.0)
    }

    /// The remainder of x / divisor; see [`div_rem_plain`](Self::div_rem_plain), of which this
    /// leaves out the lookups of the quotient.
    ///
    /// # Errors
    /// The errors of [`div_rem_plain`](Self::div_rem_plain).
    pub fn rem_plain<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        divisor: &BigInt,
    ) -> Result<EncryptedInteger<S, B>> {
        Ok(self.truncated(x, divisor, REMAINDER)?.1)
    }

    /// x / divisor rounded down, and x - divisor times that, which has the sign of the divisor, as
    /// in Python: [`div_mod_floor`](Self::div_mod_floor) by a number that is known. Bootstraps as
    /// for [`div_rem_plain`](Self::div_rem_plain) without signs if the divisor is positive.
    ///
    /// # Errors
    /// The errors of [`div_rem_plain`](Self::div_rem_plain).
    pub fn div_mod_floor_plain<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        divisor: &BigInt,
    ) -> Result<(EncryptedInteger<S, B>, EncryptedInteger<S, B>)> {
        expect_divisor::<S>(divisor, x.bits())?;
        let (places, magnitude) = (x.places(), divisor.magnitude());
        let found = self.floored(x, magnitude, BOTH)?;
        if divisor.sign() != Sign::Minus {
            let quotient = self.extended::<S>(&found.quotient, places)?;
            return Ok((quotient, self.filled(&found.remainder, places)?));
        }
        // -quotient - 1 and remainder - divisor, unless the remainder is 0.
        let quotient = self.extended::<S>(&found.quotient, places)?;
        if found.remainder.count == 0 {
            return Ok((self.neg(&quotient)?, self.filled(&found.remainder, places)?));
        }
        let rest = self.row(&self.any_digit(&found.remainder)?, x.batch())?;
        let pool = Rows::stack(&[&quotient.digits, &rest])?;
        let forms: Vec<_> = (0..places)
            .map(|d| {
                let complement = Form::of([(-1, d)]).plus(3);
                if d == 0 { complement.plus(1).and(-1, places) } else { complement }
            })
            .collect();
        let quotient = self.carried(&self.combine(&pool, &forms)?)?;
        let remainder = self.minus_where(&found.remainder, &rest, magnitude, places)?;
        Ok((EncryptedInteger::new(quotient), remainder))
    }

    /// Division towards zero: that which rounds down, of x, or of x + |divisor| - 1 for a negative
    /// x, whose remainder is as much too large.
    fn truncated<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        divisor: &BigInt,
        wanted: Wanted,
    ) -> Result<(EncryptedInteger<S, B>, EncryptedInteger<S, B>)> {
        expect_divisor::<S>(divisor, x.bits())?;
        let (places, magnitude) = (x.places(), divisor.magnitude());
        let excess = magnitude - 1u8;
        let (found, remainder) = if !S::SIGNED || excess.is_zero() {
            let found = self.floored(x, magnitude, wanted)?;
            let remainder = self.filled(&found.remainder, places)?;
            (found, remainder)
        } else {
            let sign = self.sign(&x.digits)?;
            let pool = Rows::stack(&[&x.digits, &sign])?;
            let forms: Vec<_> = (0..places).map(|d| Form::sum([d]).and(digit(&excess, d), places)).collect();
            let raised = EncryptedInteger::<S, B>::new(self.carried(&self.combine(&pool, &forms)?)?);
            let found = self.floored(&raised, magnitude, wanted)?;
            let remainder = match wanted.remainder {
                true => self.minus_where(&found.remainder, &sign, &excess, places)?,
                false => EncryptedInteger::new(self.zeros(places, x.batch())?),
            };
            (found, remainder)
        };
        let quotient = match wanted.quotient {
            true => self.extended::<S>(&found.quotient, places)?,
            false => EncryptedInteger::new(self.zeros(places, x.batch())?),
        };
        let negated = divisor.sign() == Sign::Minus && wanted.quotient;
        Ok((if negated { self.neg(&quotient)? } else { quotient }, remainder))
    }

    /// Digits of a number that is not negative, as an integer of `places` digits.
    fn filled<S: Signedness>(&self, digits: &Rows<B>, places: usize) -> Result<EncryptedInteger<S, B>> {
        let count = digits.count.min(places);
        let above = self.zeros(places - count, digits.batch)?;
        let digits = Rows::stack(&[&digits.rows(0..count)?, &above])?;
        Ok(EncryptedInteger::new(digits).with_copies((places - count).saturating_sub(1)))
    }

    /// Digits of a number, which has a sign if the integers have, as an integer of `places` digits.
    fn extended<S: Signedness>(&self, digits: &Rows<B>, places: usize) -> Result<EncryptedInteger<S, B>> {
        if !S::SIGNED || digits.count >= places {
            return self.filled(digits, places);
        }
        let (count, sign) = (digits.count, self.sign_digit(digits)?);
        let pool = Rows::stack(&[digits, &sign])?;
        let digits = (0..places).map(|d| Form::sum([d.min(count)]));
        Ok(self.joined(&pool, digits)?.with_copies(places - count - 1))
    }

    /// A number from 0 on, less `amount` where the condition of a row is set, with the digits of
    /// the sign above.
    fn minus_where<S: Signedness>(
        &self,
        digits: &Rows<B>,
        condition: &Rows<B>,
        amount: &BigUint,
        places: usize,
    ) -> Result<EncryptedInteger<S, B>> {
        let own = digits.count.min(places);
        let count = (own + 1).min(places);
        let complement = taken_off(amount, 1, count);
        let pool = Rows::stack(&[&digits.rows(0..own)?, condition])?;
        let forms: Vec<_> = (0..count)
            .map(|d| {
                let form = if d < own { Form::sum([d]) } else { Form::default() };
                form.and(digit(&complement, d), own)
            })
            .collect();
        let found = self.carried(&self.combine(&pool, &forms)?)?;
        let digits = (0..places).map(|d| Form::sum([d.min(count - 1)]));
        Ok(self.joined(&found, digits)?.with_copies(places - count))
    }

    /// Division by a positive number, rounded down.
    fn floored<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        divisor: &BigUint,
        wanted: Wanted,
    ) -> Result<Floored<B>> {
        let twos = divisor.trailing_zeros().unwrap_or(0) as usize;
        let odd = (divisor >> twos).to_u64().filter(|&odd| odd <= ONE_MESSAGE);
        let found = match odd {
            Some(1) => {
                let none = self.zeros(0, x.batch())?;
                let quotient = if wanted.quotient { self.shr_plain(x, twos)?.digits } else { none };
                let known = if wanted.remainder { twos } else { 0 };
                Floored { quotient, remainder: self.lowest_bits(x, known)? }
            }
            Some(odd) => self.by_table(x, odd, twos, wanted)?,
            None => self.by_estimates(x, divisor, twos, wanted)?,
        };
        let remainder = if wanted.remainder { digits_below(divisor) } else { 0 };
        let remainder = found.remainder.rows(0..remainder.min(found.remainder.count))?;
        Ok(Floored { remainder, ..found })
    }

    /// Digits of the lowest bits of integers.
    fn lowest_bits<S: Signedness>(&self, x: &EncryptedInteger<S, B>, count: usize) -> Result<Rows<B>> {
        let whole = x.digits.rows(0..count / BITS)?;
        match count % BITS {
            0 => Ok(whole),
            _ => {
                let odd = self.lookup(&x.digits, &[(Form::sum([count / BITS]), Table::Odd)])?;
                Rows::stack(&[&whole, &odd])
            }
        }
    }

    /// Division by `odd`, at most 7, times 2^twos: the remainder by `odd` and the next digit, or
    /// the next bit, of the dividend are one message.
    fn by_table<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        odd: u64,
        twos: usize,
        wanted: Wanted,
    ) -> Result<Floored<B>> {
        let batch = x.batch();
        // The pieces of x / 2^twos, rounded down, the lowest first: digits if they and a remainder
        // fit a message, else bits.
        let bits_of_piece = if odd << BITS <= 16 { BITS } else { 1 };
        let pieces = if bits_of_piece == BITS {
            self.shr_plain(x, twos)?.digits.rows(0..x.places() - twos / BITS)?
        } else {
            let (first, places) = (twos / BITS, x.places() - twos / BITS);
            let forms: Vec<_> = (first..x.places()).map(|d| (Form::sum([d]), Pair::Bits)).collect();
            let bits = self.lookup_pairs(&x.digits, &forms)?;
            let row = |bit: usize| Form::sum([bit % BITS * places + bit / BITS]);
            // With a sign, bits above the highest repeat it.
            let count = BITS * places;
            let most = if S::SIGNED { count + twos % BITS } else { count };
            let forms: Vec<_> = (twos % BITS..most).map(|bit| row(bit.min(count - 1))).collect();
            self.combine(&bits, &forms)?
        };
        // The quotient of a message; the same in the place of an upper bit; the remainder; then the
        // digits of the remainder times 2^twos, without the lowest that are zero, and what the
        // ones above a negative number leave.
        let shift = twos % BITS;
        let whole = move |m: u64| (m % odd) << shift;
        let table = |f: &dyn Fn(u64) -> u64| (0..16).map(|m| f(m).wrapping_mul(UNIT)).collect();
        let tables: [Vec<u64>; 6] = [
            table(&|m| m / odd),
            table(&|m| m / odd * 2),
            table(&|m| m % odd),
            table(&|m| whole(m) % 4),
            table(&|m| whole(m) / 4),
            table(&|m| if m >= 2 { odd - 1 } else { 0 }),
        ];
        let tables = LookupTables::new(self.backend(), self.params(), &tables)?;
        let mut state = match S::SIGNED {
            true => self.lookup_in(&tables, &x.digits, &[(Form::sum([x.places() - 1]), 5)])?,
            false => self.zeros(1, batch)?,
        };
        let mut found = self.zeros(pieces.count, batch)?;
        for piece in (0..pieces.count).rev() {
            let pool = Rows::stack(&[&pieces.rows(piece..piece + 1)?, &state])?;
            let message = || Form::of([(1, 0), (1 << bits_of_piece, 1)]);
            let upper = bits_of_piece == 1 && piece % BITS == 1;
            let mut forms = Vec::new();
            if wanted.quotient {
                forms.push((message(), u32::from(upper)));
            }
            match (piece, wanted.remainder) {
                (0, true) => forms.extend([(message(), 3), (message(), 4)]),
                (0, false) => {}
                _ => forms.push((message(), 2)),
            }
            let next = self.lookup_in(&tables, &pool, &forms)?;
            let at = usize::from(wanted.quotient);
            if wanted.quotient {
                found.write(piece, &next, 0..1)?;
            }
            state = next.rows(at..next.count)?;
        }
        let step = BITS / bits_of_piece;
        let digits = if wanted.quotient { pieces.count.div_ceil(step) } else { 0 };
        let forms: Vec<_> =
            (0..digits).map(|d| Form::sum(step * d..(step * (d + 1)).min(pieces.count))).collect();
        let quotient = self.combine(&found, &forms)?;
        let remainder = match wanted.remainder {
            true => {
                let below = self.lowest_bits(x, twos)?;
                let pool = Rows::stack(&[&below, &state])?;
                let (first, all) = (twos / BITS, below.count);
                let digits = (0..first + 2).map(|d| match d.checked_sub(first) {
                    None => Form::sum([d]),
                    Some(0) if shift > 0 => Form::sum([first, all]),
                    Some(of_state) => Form::sum([all + of_state]),
                });
                self.combine(&pool, &digits.collect::<Vec<_>>())?
            }
            false => self.zeros(0, batch)?,
        };
        Ok(Floored { quotient, remainder })
    }

    /// Division by digits of the quotient that are estimated.
    fn by_estimates<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        divisor: &BigUint,
        twos: usize,
        wanted: Wanted,
    ) -> Result<Floored<B>> {
        let batch = x.batch();
        let dropped = twos / BITS;
        let below = x.digits.rows(0..dropped)?;
        let mut dividend = x.digits.rows(dropped..x.places())?;
        let sign = match S::SIGNED {
            true => self.sign_digit(&x.digits)?,
            false => self.zeros(1, batch)?,
        };
        // The highest bit of the divisor must be the lower one of a digit: both numbers are doubled
        // otherwise.
        let mut divisor = divisor >> (BITS * dropped);
        let doubled = divisor.bits().is_multiple_of(2);
        if doubled {
            divisor <<= 1;
            dividend = self.doubled(&dividend, S::SIGNED.then_some(&sign))?;
        }
        let places = divisor.bits().div_ceil(BITS as u64) as usize;
        let steps = dividend.count + 1 - places;

        let estimates = estimates(&divisor, places);
        let multiples: Vec<(i64, BigUint)> = (-GREATEST..=GREATEST)
            .filter(|&m| m != 0 && estimates.contains(&m))
            .map(|m| (m, taken_off(&divisor, m, places)))
            .collect();
        let multiple = |m: i64| multiples.iter().find(|(other, _)| *other == m);
        // An estimate looks up which multiple is taken off, or its digits if these are fewer; then
        // the digit of the quotient, plus 3.
        let by_digit = places < multiples.len();
        let word = |value: i64| (value as u64).wrapping_mul(UNIT);
        let of = |f: &dyn Fn(i64) -> i64| estimates.iter().map(|&m| word(f(m))).collect::<Vec<u64>>();
        let mut tables: Vec<Vec<u64>> = match by_digit {
            true => (0..places).map(|d| of(&|m| multiple(m).map_or(0, |(_, off)| digit(off, d)))).collect(),
            false => multiples.iter().map(|(one, _)| of(&|m| i64::from(m == *one))).collect(),
        };
        if by_digit && wanted.quotient {
            tables.push(of(&|m| m + GREATEST));
        }
        let lookups = tables.len();
        let tables = LookupTables::new(self.backend(), self.params(), &tables)?;

        let mut remainder = Rows::stack(&[&dividend.rows(steps..dividend.count)?, &sign])?;
        let mut quotient = self.zeros(if wanted.quotient { steps } else { 0 }, batch)?;
        for step in (0..steps).rev() {
            // The remainder, times 4, plus the next digit.
            let all = Rows::stack(&[&dividend.rows(step..step + 1)?, &remainder])?;
            let message = || Form::of([(1, places - 1), (4, places)]);
            let forms: Vec<_> = (0..lookups as u32).map(|table| (message(), table)).collect();
            let found = self.lookup_in(&tables, &all, &forms)?;
            let pool = Rows::stack(&[&all.rows(0..places)?, &found])?;
            let sums: Vec<_> = (0..places)
                .map(|d| match by_digit {
                    true => Form::sum([d, places + d]),
                    false => multiples
                        .iter()
                        .zip(places..)
                        .map(|((_, off), row)| (digit(off, d), row))
                        .filter(|&(factor, _)| factor > 0)
                        .fold(Form::sum([d]), |form, (factor, row)| form.and(factor, row)),
                })
                .collect();
            remainder = self.carried(&self.combine(&pool, &sums)?)?;
            if wanted.quotient {
                let form = match by_digit {
                    true => Form::sum([places + places]),
                    false => multiples
                        .iter()
                        .zip(places..)
                        .fold(Form::default().plus(GREATEST as u64), |form, ((m, _), row)| form.and(*m, row)),
                };
                quotient.write(step, &self.combine(&pool, &[form])?, 0..1)?;
            }
        }

        // A negative remainder takes back a divisor. The sum of 3 in every digit of the quotient is
        // -1 modulo the power of 4.
        let negative = self.sign(&remainder)?;
        if wanted.quotient {
            let pool = Rows::stack(&[&quotient, &negative])?;
            let sums: Vec<_> = (0..steps)
                .map(|d| if d == 0 { Form::of([(1, 0), (-1, steps)]).plus(1) } else { Form::sum([d]) })
                .collect();
            quotient = self.carried(&self.combine(&pool, &sums)?)?;
        }
        if !wanted.remainder {
            return Ok(Floored { quotient, remainder: self.zeros(0, batch)? });
        }
        let pool = Rows::stack(&[&remainder, &negative])?;
        let sums: Vec<_> = (0..places).map(|d| Form::sum([d]).and(digit(&divisor, d), places)).collect();
        remainder = self.carried(&self.combine(&pool, &sums)?)?;
        if doubled {
            remainder = self.halved(&remainder)?;
        }
        Ok(Floored { quotient, remainder: Rows::stack(&[&below, &remainder])? })
    }

    /// Twice a number, with one more digit: three times the sign if the number has one.
    fn doubled(&self, digits: &Rows<B>, sign: Option<&Rows<B>>) -> Result<Rows<B>> {
        let places = digits.count;
        let forms: Vec<_> = (0..places).map(|d| (Form::sum([d]).plus(4), Pair::ShiftUp)).collect();
        let parts = self.lookup_pairs(digits, &forms)?;
        let forms: Vec<_> = (0..=places)
            .map(|d| match d {
                0 => Form::sum([0]),
                _ if d < places => Form::sum([d, places + d - 1]),
                _ => Form::sum([2 * places - 1]),
            })
            .collect();
        let doubled = self.combine(&parts, &forms)?;
        match sign {
            Some(sign) => Rows::stack(&[&doubled.rows(0..places)?, sign]),
            None => Ok(doubled),
        }
    }

    /// Half of an even number that is not negative.
    fn halved(&self, digits: &Rows<B>) -> Result<Rows<B>> {
        let places = digits.count;
        let forms: Vec<_> = (0..places).map(|d| (Form::sum([d]).plus(4), Pair::ShiftDown)).collect();
        let parts = self.lookup_pairs(digits, &forms)?;
        let above = |d: usize| (d + 1 < places).then_some(places + d + 1);
        let forms: Vec<_> =
            (0..places).map(|d| Form::sum([Some(d), above(d)].into_iter().flatten())).collect();
        self.combine(&parts, &forms)
    }
}

fn expect_divisor<S: Signedness>(divisor: &BigInt, bits: usize) -> Result<()> {
    if divisor.is_zero() {
        return Err(Error::domain("divisor", "0", "give another, or encrypt it to have 0 defined"));
    }
    let fits = match (S::SIGNED, divisor.sign()) {
        (false, Sign::Minus) => false,
        (false, _) => divisor.bits() <= bits as u64,
        (true, Sign::Minus) => (divisor.magnitude() - 1u8).bits() < bits as u64,
        (true, _) => divisor.bits() < bits as u64,
    };
    if fits {
        return Ok(());
    }
    let kind = if S::SIGNED { "signed" } else { "unsigned" };
    Err(Error::domain(
        "divisor",
        divisor.to_string(),
        format!("a number that fits {kind} integers of {bits} bits"),
    ))
}
