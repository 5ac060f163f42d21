//! Comparisons, and choices by conditions.

use super::rows::{Form, Rows};
use super::tables::{Pair, Table, UNIT};
use super::{EncryptedFlags, EncryptedInteger, IntegerEvaluator, Signedness};
use crate::error::Result;
use crate::tfhe::LweOps;

/// The most signs that one lookup compares, with factors 8, 4, 2, 1.
const SIGNS: usize = 4;
/// The most conditions that one lookup combines.
const CONDITIONS: usize = 15;
/// The digits that one lookup compares with zero.
const DIGITS: usize = 5;
/// The most conditions of which one lookup finds one that is set; those of digits that are copies
/// may be equal.
const ALTERNATIVES: usize = 9;

/// The differences of blocks of two digits, -15 ... 15, of digits that are given by their rows, the
/// lowest first. Digits that one side lacks are zero.
pub(super) fn blocks(left: &[usize], right: &[usize]) -> Vec<Form> {
    let digits = left.len().max(right.len());
    let term = |rows: &[usize], d: usize, factor: i64| rows.get(d).map(|&row| (factor, row));
    let form = |d| {
        let terms = [term(left, d, 1), term(right, d, -1), term(left, d + 1, 4), term(right, d + 1, -4)];
        Form { constant: 0, terms: terms.into_iter().flatten().collect() }
    };
    (0..digits).step_by(2).map(form).collect()
}

impl<B: LweOps> IntegerEvaluator<B> {
    /// Which comparisons are negative, a row for each, given the rows of the signs of their blocks,
    /// the lowest first: signs of 8, 4, 2, 1 times four signs.
    pub(super) fn negative(&self, mut signs: Rows<B>, mut all: Vec<Vec<usize>>) -> Result<Rows<B>> {
        let weighed = |rows: &[usize]| Form {
            constant: 0,
            terms: rows.iter().enumerate().map(|(place, &row)| (1 << place, row)).collect(),
        };
        while all.iter().any(|blocks| blocks.len() > SIGNS) {
            let forms = all.iter().flat_map(|blocks| blocks.chunks(SIGNS).map(weighed)).collect();
            signs = self.lookup_all(&signs, forms, Table::Sign)?;
            let mut rows = 0..;
            for blocks in &mut all {
                *blocks = rows.by_ref().take(blocks.len().div_ceil(SIGNS)).collect();
            }
        }
        let forms = all.iter().map(|blocks| weighed(blocks)).collect();
        let halves = self.lookup_all(&signs, forms, Table::Negative)?;
        // The shift turns plus or minus half a unit into a unit or nothing.
        let shifted: Vec<_> =
            (0..all.len()).map(|row| Form { constant: UNIT / 2, terms: vec![(1, row)] }).collect();
        self.combine(&halves, &shifted)
    }

    /// Whether all rows of conditions are set.
    pub(super) fn all(&self, conditions: &Rows<B>) -> Result<EncryptedFlags<B>> {
        let mut found = conditions.rows(0..conditions.count)?;
        while found.count > 1 {
            let rows: Vec<_> = (0..found.count).collect();
            let forms = rows
                .chunks(CONDITIONS)
                .map(|some| Form::sum(some.iter().copied()).plus((CONDITIONS - some.len()) as u64));
            found = self.lookup_all(&found, forms.collect(), Table::Fifteen)?;
        }
        Ok(EncryptedFlags(found.ciphertexts))
    }

    /// Whether a digit is not zero.
    pub(super) fn any_digit(&self, digits: &Rows<B>) -> Result<EncryptedFlags<B>> {
        let positive = |pool: &Rows<B>, size: usize| {
            let rows: Vec<_> = (0..pool.count).collect();
            let forms = rows.chunks(size).map(|some| Form::sum(some.iter().copied())).collect();
            self.lookup_all(pool, forms, Table::Positive)
        };
        let mut found = positive(digits, DIGITS)?;
        while found.count > 1 {
            found = positive(&found, ALTERNATIVES)?;
        }
        Ok(EncryptedFlags(found.ciphertexts))
    }

    /// Digits of both, and the rows to compare, without the copies that both have: they differ as
    /// the digits below them do.
    fn sides<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<(Rows<B>, Vec<usize>, Vec<usize>)> {
        let places = x.places();
        let pool = self.pool(x, y)?;
        let compared = places - x.copies.min(y.copies);
        Ok((pool, (0..compared).collect(), (places..places + compared).collect()))
    }

    /// Whether x < y: signs of the differences of 4-bit blocks, then signs of 8, 4, 2, 1 times four
    /// signs. With signs, two more bootstraps turn the order of the highest digits into that of
    /// numbers without.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn lt<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedFlags<B>> {
        let (mut pool, mut left, mut right) = self.sides(x, y)?;
        if S::SIGNED {
            let tops = [left.len() - 1, right[right.len() - 1]];
            let flipped = tops.map(|row| (Form::sum([row]), Table::FlippedSign));
            let flipped = self.lookup(&pool, &flipped)?;
            for (side, row) in [&mut left, &mut right].into_iter().zip(pool.count..) {
                side.pop();
                side.push(row);
            }
            pool = Rows::stack(&[&pool, &flipped])?;
        }
        let signs = self.lookup_all(&pool, blocks(&left, &right), Table::Sign)?;
        let all = vec![(0..signs.count).collect()];
        Ok(EncryptedFlags(self.negative(signs, all)?.ciphertexts))
    }

    /// Whether x > y.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn gt<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedFlags<B>> {
        self.lt(y, x)
    }

    /// Whether x <= y.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn le<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedFlags<B>> {
        self.not_flags(&self.lt(y, x)?)
    }

    /// Whether x >= y.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn ge<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedFlags<B>> {
        self.not_flags(&self.lt(x, y)?)
    }

    /// Whether x = y: 4-bit blocks, then sums of up to fifteen.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn eq<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedFlags<B>> {
        let (pool, left, right) = self.sides(x, y)?;
        self.all(&self.lookup_all(&pool, blocks(&left, &right), Table::Zero)?)
    }

    /// Whether x differs from y.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn ne<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedFlags<B>> {
        self.not_flags(&self.eq(x, y)?)
    }

    /// The pool of the digits of x, of y and the condition, and the combinations for 4 condition +
    /// digit.
    fn conditioned<S: Signedness>(
        &self,
        condition: &EncryptedFlags<B>,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<(Rows<B>, Vec<Form>)> {
        let pool = Rows::stack(&[&self.pool(x, y)?, &self.row(condition, x.batch())?])?;
        let both = 2 * x.places();
        Ok((pool, (0..both).map(|row| Form::of([(1, row), (4, both)])).collect()))
    }

    /// x where the condition is set, y elsewhere: two bootstraps per digit.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn select<S: Signedness>(
        &self,
        condition: &EncryptedFlags<B>,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedInteger<S, B>> {
        let places = x.places();
        let (pool, forms) = self.conditioned(condition, x, y)?;
        let tables = (0..).map(|row| if row < places { Table::If } else { Table::Unless });
        let parts = self.lookup(&pool, &forms.into_iter().zip(tables).collect::<Vec<_>>())?;
        let found = self.joined(&parts, (0..places).map(|d| Form::sum([d, places + d])))?;
        Ok(found.with_copies(x.copies.min(y.copies)))
    }

    /// x where the condition is set, 0 elsewhere: one bootstrap per digit.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn select_or_zero<S: Signedness>(
        &self,
        condition: &EncryptedFlags<B>,
        x: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedInteger<S, B>> {
        let places = x.places();
        let pool = Rows::stack(&[&x.digits, &self.row(condition, x.batch())?])?;
        let forms = (0..places).map(|d| Form::of([(1, d), (4, places)])).collect();
        let digits = self.lookup_all(&pool, forms, Table::If)?;
        Ok(EncryptedInteger::new(digits).with_copies(x.copies))
    }

    /// The smaller and the larger of x and y: one comparison, and two bootstraps per digit, as for
    /// one of them alone.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn min_max<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<(EncryptedInteger<S, B>, EncryptedInteger<S, B>)> {
        let (pool, forms) = self.conditioned(&self.lt(x, y)?, x, y)?;
        let places = x.places();
        // The digits taken from x and from y, and those left of x and of y.
        let forms: Vec<_> = forms.into_iter().map(|form| (form, Pair::IfAndUnless)).collect();
        let parts = self.lookup_pairs(&pool, &forms)?;
        let copies = x.copies.min(y.copies);
        let joined = |left: usize, right: usize| {
            let digits = (0..places).map(|d| Form::sum([left + d, right + d]));
            self.joined(&parts, digits).map(|found| found.with_copies(copies))
        };
        Ok((joined(0, 3 * places)?, joined(places, 2 * places)?))
    }

    /// The smaller of x and y.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn min<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedInteger<S, B>> {
        self.select(&self.lt(x, y)?, x, y)
    }

    /// The larger of x and y.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn max<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedInteger<S, B>> {
        self.select(&self.lt(x, y)?, y, x)
    }
}
