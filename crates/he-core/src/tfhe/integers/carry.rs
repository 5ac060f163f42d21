//! Carries: the digits of sums.

use super::rows::{Form, Rows};
use super::tables::{Pair, Table};
use super::{Carry, IntegerEvaluator};
use crate::error::Result;
use crate::tfhe::LweOps;

impl<B: LweOps> IntegerEvaluator<B> {
    /// The digits of sums of at most 7, or of at most 6 if they receive a carry.
    pub(super) fn carried(&self, sums: &Rows<B>) -> Result<Rows<B>> {
        match self.carry {
            Carry::Ripple => self.ripple(sums),
            Carry::Prefix => self.prefix(sums),
        }
    }

    fn ripple(&self, sums: &Rows<B>) -> Result<Rows<B>> {
        let all = sums.count;
        // Digits replace their sums; the carry into the next digit follows.
        let mut pool = Rows::stack(&[sums, &self.zeros(1, sums.batch)?])?;
        for row in 0..all {
            let found = self.lookup_pairs(&pool, &[(Form::sum([row, all]), Pair::MessageAndCarry)])?;
            pool.write(row, &found, 0..1)?;
            pool.write(all, &found, 1..2)?;
        }
        pool.rows(0..all)
    }

    fn prefix(&self, sums: &Rows<B>) -> Result<Rows<B>> {
        let places = sums.count;
        let forms: Vec<_> = (0..places)
            .map(|d| (Form::sum([d]), if d == 0 { Pair::MessageAndCarry } else { Pair::TwiceAndState }))
            .collect();
        // The messages, doubled except for the lowest; then the states of runs that end in each
        // digit, or carries if the run begins at the lowest digit.
        let mut pool = self.lookup_pairs(sums, &forms)?;
        let state = |d: usize| places + d;

        // Runs end at multiples of `run`, or are shorter at the end. The last step combines the
        // remaining two.
        let carrying = places - 1;
        let mut run = 1;
        while carrying > 2 * run {
            // In each group of three runs, the second and the third are composed with the runs
            // below them, at each of their digits.
            let upper: Vec<usize> = (0..carrying).filter(|d| d / run % 3 > 0).collect();
            let forms: Vec<_> = upper
                .iter()
                .map(|&d| {
                    let below = d / run % 3;
                    let ends = (1..=below).map(|i| (d / run - below + i) * run - 1).chain([d]);
                    let terms = ends.enumerate().map(|(i, end)| (1 << i, state(end))).collect();
                    let table = match (below, d < 3 * run) {
                        (1, false) => Table::TwoRuns,
                        (1, true) => Table::TwoCarry,
                        (_, false) => Table::ThreeRuns,
                        (_, true) => Table::ThreeCarry,
                    };
                    (Form { constant: 0, terms }, table)
                })
                .collect();
            let composed = self.lookup(&pool, &forms)?;
            for (place, &d) in upper.iter().enumerate() {
                pool.write(state(d), &composed, place..place + 1)?;
            }
            run *= 3;
        }

        // The carry into the digit, or the run before it and the carry into that.
        let forms = (1..places)
            .map(|d| match d <= run {
                true => Form::of([(1, d), (2, state(d - 1))]),
                false => Form::of([(1, d), (1, state(d - 1)), (1, state(run - 1))]),
            })
            .collect();
        let upper = self.lookup_all(&pool, forms, Table::Half)?;
        Rows::stack(&[&pool.rows(0..1)?, &upper])
    }
}
