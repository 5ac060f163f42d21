//! Sums of many digits: columns of terms that are reduced until a carry can run through them.

use super::IntegerEvaluator;
use super::rows::{Form, Rows};
use super::tables::Pair;
use crate::error::Result;
use crate::tfhe::LweOps;

/// The greatest sum of a column before the last carry runs through it.
const MOST_CARRIED: u64 = 6;
/// The greatest messages of tables of one function, and of two.
const MOST_OF_ONE: u64 = 15;
const MOST_OF_TWO: u64 = 7;
/// The terms of a lookup. They may be one ciphertext in as many places, whose squared factor is
/// then the square of this: below that of [`DIGIT_LOOKUP`](super::DIGIT_LOOKUP).
const MOST_TERMS: usize = 9;

/// A row, and the greatest value that it can have.
#[derive(Clone, Copy, Debug)]
struct Term {
    row: usize,
    most: u64,
}

/// The terms of a sum by their place: column d counts 4^d.
#[derive(Debug)]
pub(super) struct Columns {
    terms: Vec<Vec<Term>>,
    /// Sums of which several columns take part in the first step.
    shared: Vec<Group>,
}

impl Columns {
    /// No terms in `places` columns.
    pub fn new(places: usize) -> Self {
        Self { terms: vec![Vec::new(); places], shared: Vec::new() }
    }

    /// Adds a row of values up to `most`, which is at most 3.
    pub fn push(&mut self, place: usize, row: usize, most: u64) {
        self.terms[place].push(Term { row, most });
    }

    /// Adds the sum of rows of values up to `most` to each of these columns. The sum is 4 to 15.
    pub fn push_shared(&mut self, places: Vec<usize>, rows: impl IntoIterator<Item = usize>, most: u64) {
        let terms: Vec<_> = rows.into_iter().map(|row| Term { row, most }).collect();
        let sum = most * terms.len() as u64;
        self.shared.push(Group { places, terms, sum });
    }

    /// Adds a public number, the lowest digit first, as further rows from `row` on: their forms.
    pub fn push_constant(&mut self, digits: impl IntoIterator<Item = u64>, row: usize) -> Vec<Form> {
        let mut forms = Vec::new();
        for (place, digit) in digits.into_iter().enumerate().filter(|&(_, digit)| digit > 0) {
            self.push(place, row + forms.len(), digit);
            forms.push(Form::default().plus(digit));
        }
        forms
    }

    /// Adds the results of a group, which are these rows.
    fn push_results(&mut self, group: &Group, digit: usize, carry: usize) {
        for &place in &group.places {
            self.push(place, digit, group.sum.min(3));
            if place + 1 < self.terms.len() {
                self.push(place + 1, carry, group.sum / 4);
            }
        }
    }
}

/// Terms whose sum is cut into a digit and the excess over it, for each of these columns.
#[derive(Debug)]
struct Group {
    places: Vec<usize>,
    terms: Vec<Term>,
    sum: u64,
}

/// Takes terms from a column, the greatest first, as long as their sum stays within `most`.
fn take(left: &mut Vec<Term>, most: u64) -> (Vec<Term>, u64) {
    let (mut taken, mut sum) = (Vec::new(), 0);
    left.retain(|term| {
        let fits = taken.len() < MOST_TERMS && sum + term.most <= most;
        if fits {
            sum += term.most;
            taken.push(*term);
        }
        !fits
    });
    (taken, sum)
}

/// Chooses the lookups of one step: groups of columns that exceed the sum that can be carried,
/// together with the carries from the columns below in this step. The terms that stay are left in
/// the columns.
fn groups(columns: &mut Columns) -> Vec<Group> {
    let mut all = std::mem::take(&mut columns.shared);
    // The sum that each column receives from groups; the last receives only from the one below it.
    let mut received = vec![0; columns.terms.len() + 1];
    for group in &all {
        for &place in &group.places {
            received[place] += group.sum.min(3);
            received[place + 1] += group.sum / 4;
        }
    }
    let mut incoming = 0;
    for (place, left) in columns.terms.iter_mut().enumerate() {
        left.sort_by_key(|term| std::cmp::Reverse(term.most));
        let (mut settled, mut outgoing) = (received[place] + incoming, 0);
        loop {
            let open: u64 = left.iter().map(|term| term.most).sum();
            if open + settled <= MOST_CARRIED {
                break;
            }
            // Two tables of one function take up to 15 at twice the price of one for up to 7.
            let most = if open >= 10 { MOST_OF_ONE } else { MOST_OF_TWO };
            let (terms, sum) = take(left, most);
            if sum <= 3 {
                left.extend(terms);
                break;
            }
            settled += 3;
            outgoing += sum / 4;
            all.push(Group { places: vec![place], terms, sum });
        }
        incoming = outgoing;
    }
    all
}

impl<B: LweOps> IntegerEvaluator<B> {
    /// The digits of the sum of all columns, modulo 4 to the number of columns.
    pub(super) fn summed(&self, mut pool: Rows<B>, mut columns: Columns) -> Result<Rows<B>> {
        loop {
            let groups = groups(&mut columns);
            if groups.is_empty() {
                break;
            }
            let (large, small): (Vec<_>, Vec<_>) = groups.iter().partition(|group| group.sum > MOST_OF_TWO);
            let forms = |groups: &[&Group], table: Pair| -> Vec<_> {
                let form = |group: &&Group| Form::sum(group.terms.iter().map(|term| term.row));
                groups.iter().map(|group| (form(group), table)).collect()
            };
            let all = [
                forms(&large, Pair::Message),
                forms(&large, Pair::Quarter),
                forms(&small, Pair::MessageAndCarry),
            ]
            .concat();
            // The terms that stay, and the results, are the rows of the next step.
            let kept: Vec<Form> = columns.terms.iter().flatten().map(|term| Form::sum([term.row])).collect();
            pool = Rows::stack(&[&self.combine(&pool, &kept)?, &self.lookup_pairs(&pool, &all)?])?;
            columns.terms.iter_mut().flatten().enumerate().for_each(|(row, term)| term.row = row);
            let digits = kept.len();
            for (i, group) in large.iter().enumerate() {
                columns.push_results(group, digits + i, digits + large.len() + i);
            }
            for (i, group) in (2 * large.len()..).zip(&small) {
                columns.push_results(group, digits + i, digits + all.len() + i);
            }
        }
        let sums: Vec<_> =
            columns.terms.iter().map(|column| Form::sum(column.iter().map(|term| term.row))).collect();
        self.carried(&self.combine(&pool, &sums)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every column ends within the sum that can be carried, in few steps, whatever it starts with,
    /// and the number of lookups is about two for three terms.
    #[test]
    fn columns_shrink() {
        for (places, terms, most) in [(4, 2, 3), (16, 3, 3), (16, 31, 3), (32, 64, 3), (5, 200, 1), (8, 7, 2)]
        {
            let mut columns = Columns::new(places);
            (0..places * terms).for_each(|row| columns.push(row % places, row, most));
            let (mut steps, mut lookups) = (0, 0);
            loop {
                let found = groups(&mut columns);
                if found.is_empty() {
                    break;
                }
                steps += 1;
                for group in found {
                    lookups += if group.sum > MOST_OF_TWO { 2 } else { 1 };
                    assert!(group.terms.len() <= MOST_TERMS && (4..=MOST_OF_ONE).contains(&group.sum));
                    columns.push_results(&group, 0, 0);
                }
            }
            for column in &columns.terms {
                assert!(column.iter().map(|term| term.most).sum::<u64>() <= MOST_CARRIED);
            }
            assert!(steps <= 8, "{places} {terms} {most}: {steps}");
            assert!(lookups <= places * terms, "{places} {terms} {most}: {lookups}");
        }
    }
}
