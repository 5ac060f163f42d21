//! Carries: the digits of sums.

use super::rows::{Form, Rows};
use super::tables::{Pair, Table, UNIT};
use super::{Carry, IntegerEvaluator};
use crate::error::Result;
use crate::tfhe::LweOps;

/// The runs that one lookup composes, with factors 8, 4, 2, 1.
const RUNS: usize = 4;

impl<B: LweOps> IntegerEvaluator<B> {
    /// The digits of sums of at most 7, or of at most 6 if they receive a carry.
    pub(super) fn carried(&self, sums: &Rows<B>) -> Result<Rows<B>> {
        match self.carry {
            Carry::Ripple => self.ripple(sums),
            Carry::PrefixUpTo(most) if sums.batch > most => self.ripple(sums),
            Carry::Prefix | Carry::PrefixUpTo(_) => self.prefix(sums),
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
            .map(|d| (Form::sum([d]), if d == 0 { Pair::MessageAndKnown } else { Pair::FourfoldAndState }))
            .collect();
        // The messages, times 4 except for the lowest; then the states of runs that end in each
        // digit, or known carries if the run begins at the lowest digit.
        let mut pool = self.lookup_pairs(sums, &forms)?;
        let state = |d: usize| places + d;

        // Runs end at multiples of `run`, or are shorter at the end. The last step combines the
        // remaining two.
        let carrying = places - 1;
        let mut run = 1;
        while carrying > 2 * run {
            // In each group of four runs, all but the first are composed with the runs below them,
            // at each of their digits.
            let upper: Vec<usize> = (0..carrying).filter(|d| d / run % RUNS > 0).collect();
            let forms: Vec<_> = upper
                .iter()
                .map(|&d| {
                    let below = d / run % RUNS;
                    let ends = (1..=below).map(|i| (d / run - below + i) * run - 1).chain([d]);
                    let terms = ends.enumerate().map(|(i, end)| (1 << i, state(end))).collect();
                    match d < RUNS * run {
                        true => (Form { constant: UNIT / 2, terms }, Table::Known),
                        false => (Form { constant: 0, terms }, Table::Sign),
                    }
                })
                .collect();
            let composed = self.lookup(&pool, &forms)?;
            for (place, &d) in upper.iter().enumerate() {
                pool.write(state(d), &composed, place..place + 1)?;
            }
            run *= RUNS;
        }

        // With 3/2 added, the carry into the digit is 1 or 2, and with the state of the run before
        // it 0 to 3.
        let forms = (1..places)
            .map(|d| {
                let below = Form::of([(1, d), (1, state(d - 1))]);
                let known = if d <= run { below } else { below.and(1, state(run - 1)) };
                Form { constant: UNIT / 2 * 3, ..known }
            })
            .collect();
        let upper = self.lookup_all(&pool, forms, Table::Incremented)?;
        Rows::stack(&[&pool.rows(0..1)?, &upper])
    }
}
