//! Quotients and remainders: long division, a digit of the quotient at a time.

use super::comparison::blocks;
use super::rows::{Form, Rows};
use super::tables::Table;
use super::{EncryptedInteger, IntegerEvaluator, Signedness};
use crate::error::Result;
use crate::tfhe::LweOps;
use std::ops::Range;

/// The multiples of the divisor that a digit of the quotient may take off.
const MULTIPLES: usize = 3;
/// The signs that are first summed up, so that no more than as many of their sums follow for the
/// widest integers.
const SIGNS: usize = 9;

impl<B: LweOps> IntegerEvaluator<B> {
    /// x / y rounded towards zero, and x - y times that, which has the sign of x, as in Rust. For
    /// y = 0 the remainder is x, and all bits of the quotient are set: 2^bits - 1, or with signs -1
    /// for x >= 0; for x < 0 it is 1. The quotient of -2^(bits - 1) by -1 does not fit and is
    /// -2^(bits - 1).
    ///
    /// One digit of the quotient after the other: three comparisons, a choice among the multiples 0
    /// to 3 of the divisor, and a subtraction, of as many digits as are left of x.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn div_rem<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<(EncryptedInteger<S, B>, EncryptedInteger<S, B>)> {
        if !S::SIGNED {
            let (quotient, remainder) = self.divided(&self.pool(x, y)?, x.places())?;
            return Ok((EncryptedInteger::new(quotient), EncryptedInteger::new(remainder)));
        }
        let (a, b) = (self.magnitude(x)?, self.magnitude(y)?);
        let (quotient, remainder) = self.divided(&self.pool(&a.0, &b.0)?, x.places())?;
        let quotient = self.negated_if(&quotient, &self.xor_flags(&a.1, &b.1)?)?;
        let remainder = self.negated_if(&remainder, &a.1)?;
        Ok((EncryptedInteger::new(quotient), EncryptedInteger::new(remainder)))
    }

    /// x / y rounded towards zero; see [`div_rem`](Self::div_rem), which costs the same.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn div<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedInteger<S, B>> {
        Ok(self.div_rem(x, y)?.0)
    }

    /// The remainder of x / y; see [`div_rem`](Self::div_rem), which costs the same.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn rem<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedInteger<S, B>> {
        Ok(self.div_rem(x, y)?.1)
    }

    /// x / y rounded down, and x - y times that, which has the sign of y, as in Python. For y = 0
    /// the remainder is x, and the quotient that of [`div_rem`](Self::div_rem), or 0 for x < 0.
    /// With signs, about 10/3 bootstraps per digit more than that.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn div_mod_floor<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<(EncryptedInteger<S, B>, EncryptedInteger<S, B>)> {
        let (quotient, remainder) = self.div_rem(x, y)?;
        if !S::SIGNED {
            return Ok((quotient, remainder));
        }
        let places = x.places();
        // The quotient is one less, and the remainder a divisor more, where signs differ.
        let rest = self.row(&self.any_digit(&remainder.digits)?, x.batch())?;
        let signs = [self.sign(&remainder.digits)?, self.sign(&y.digits)?];
        let pool = Rows::stack(&[&rest, &signs[0], &signs[1]])?;
        let other = self.lookup(&pool, &[(Form::of([(4, 0), (2, 1), (1, 2)]), Table::OtherSign)])?;
        let pool = Rows::stack(&[&y.digits, &other])?;
        let forms = (0..places).map(|d| Form::of([(1, d), (4, places)])).collect();
        let added = EncryptedInteger::new(self.lookup_all(&pool, forms, Table::If)?);
        let pool = Rows::stack(&[&quotient.digits, &other])?;
        let less: Vec<_> = (0..places).map(|d| Form::of([(1, d), (3, places)])).collect();
        let quotient = self.carried(&self.combine(&pool, &less)?)?;
        Ok((EncryptedInteger::new(quotient), self.add(&remainder, &added)?))
    }

    /// The divisor D, 2 D and 3 D one after another, and the rows of each.
    fn multiples(&self, pool: &Rows<B>, places: usize) -> Result<(Rows<B>, [Vec<usize>; MULTIPLES])> {
        let divisor = pool.rows(places..2 * places)?;
        let form = |terms: fn(usize, usize) -> Form, d: usize| {
            if d < places { terms(d, places) } else { Form::default() }
        };
        let doubled: Vec<_> = (0..=places).map(|d| form(|d, _| Form::of([(2, d)]), d)).collect();
        let twice = self.carried(&self.combine(&divisor, &doubled)?)?;
        let both = Rows::stack(&[&divisor, &twice])?;
        let tripled: Vec<_> =
            (0..=places).map(|d| form(|d, _| Form::sum([d]), d).and(1, places + d)).collect();
        let thrice = self.carried(&self.combine(&both, &tripled)?)?;
        let rows = [
            (0..places).collect(),
            (places..2 * places + 1).collect(),
            (2 * places + 1..3 * places + 2).collect(),
        ];
        Ok((Rows::stack(&[&both, &thrice])?, rows))
    }

    /// For each multiple, row by row, the sign of minus the number that its blocks from each one on
    /// are: where a remainder has no digits, these compare with it.
    fn above(&self, multiples: &Rows<B>, of_each: &[Vec<usize>; MULTIPLES]) -> Result<Rows<B>> {
        let mut forms = Vec::new();
        let parts = of_each.each_ref().map(|rows| {
            forms.extend(blocks(&[], rows));
            forms.len() - rows.len().div_ceil(2)..forms.len()
        });
        let signs = self.lookup_all(multiples, forms, Table::Sign)?;
        // The signs of sums, of which none is positive: to the end of a run, then of all runs.
        let run = |part: &Range<usize>, at: usize| (at - part.start) / SIGNS;
        let end = |part: &Range<usize>, at: usize| part.end.min(part.start + SIGNS * (run(part, at) + 1));
        let sums = |form: &dyn Fn(&Range<usize>, usize) -> Form| {
            parts.iter().flat_map(|part| part.clone().map(|at| form(part, at))).collect::<Vec<_>>()
        };
        let to_end = sums(&|part, at| Form::sum(at..end(part, at)));
        let runs = self.lookup_all(&signs, to_end, Table::Sign)?;
        let whole =
            sums(&|part, at| Form::sum([at].into_iter().chain((end(part, at)..part.end).step_by(SIGNS))));
        self.lookup_all(&runs, whole, Table::Sign)
    }

    /// Quotients and remainders of numbers without sign, the dividend's digits before those of the
    /// divisor.
    fn divided(&self, pool: &Rows<B>, places: usize) -> Result<(Rows<B>, Rows<B>)> {
        let batch = pool.batch;
        let (multiples, of_each) = self.multiples(pool, places)?;
        let above = self.above(&multiples, &of_each)?;
        let mut remainder = self.zeros(0, batch)?;
        let mut quotient = self.zeros(places, batch)?;
        for digit in (0..places).rev() {
            // The remainder, times 4, plus the next digit.
            let all = Rows::stack(&[&pool.rows(digit..digit + 1)?, &remainder, &multiples])?;
            let length = places - digit;
            let left: Vec<usize> = (0..length).collect();
            let multiple = |m: usize, d: usize| length + of_each[m][d];

            // Whether it is below each multiple.
            let own = length.div_ceil(2);
            let mut forms = Vec::with_capacity(MULTIPLES * own);
            let mut compared = Vec::with_capacity(MULTIPLES);
            let mut before = MULTIPLES * own;
            for (m, rows) in of_each.iter().enumerate() {
                let right: Vec<_> = (0..rows.len().min(2 * own)).map(|d| multiple(m, d)).collect();
                forms.extend(blocks(&left, &right));
                let blocks = rows.len().div_ceil(2);
                let upper = (own < blocks).then_some(before + own);
                compared.push((m * own..(m + 1) * own).chain(upper).collect());
                before += blocks;
            }
            let signs = Rows::stack(&[&self.lookup_all(&all, forms, Table::Sign)?, &above])?;
            let below = self.negative(signs, compared)?;
            let found = self.combine(&below, &[Form::of([(-1, 0), (-1, 1), (-1, 2)]).plus(3)])?;
            quotient.write(digit, &found, 0..1)?;

            // The digits of the multiple to take off: that below the first that is too large.
            let pool = Rows::stack(&[&all, &below])?;
            let flag = |m: usize| all.count + m;
            let chosen = |m: usize, d: usize| {
                let digit = Form::sum([multiple(m, d)]);
                match m + 1 < MULTIPLES {
                    true => digit.and(4, flag(m + 1)).and(-4, flag(m)),
                    false => digit.and(-4, flag(m)).plus(4),
                }
            };
            let forms = (0..MULTIPLES).flat_map(|m| (0..length).map(move |d| (m, d)));
            let forms = forms.map(|(m, d)| chosen(m, d)).collect();
            let taken = Rows::stack(&[&all.rows(0..length)?, &self.lookup_all(&pool, forms, Table::If)?])?;
            let sums: Vec<_> = (0..length)
                .map(|d| {
                    let less = (1..=MULTIPLES).fold(Form::sum([d]), |form, m| form.and(-1, m * length + d));
                    less.plus(3 + u64::from(d == 0))
                })
                .collect();
            remainder = self.carried(&self.combine(&taken, &sums)?)?;
        }
        let digits = (0..places).map(|d| Form::sum([d])).collect();
        Ok((self.lookup_all(&quotient, digits, Table::Message)?, remainder))
    }
}
