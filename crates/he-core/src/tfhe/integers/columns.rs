//! Sums of many digits: columns of terms that are reduced until a carry can run through them.

use super::IntegerEvaluator;
use super::rows::{Form, Rows};
use super::tables::{DIGIT_LOOKUP, SPLIT_COPIES, SPLIT_SMALL};
use crate::error::Result;
use crate::tfhe::LweOps;

/// The greatest sum of a column before the last carry runs through it.
const MOST_CARRIED: u64 = 6;
/// The greatest sums that are split, by any table and by that of small messages.
const MOST_SPLIT: u64 = 15;
const MOST_SMALL: u64 = 7;
/// The greatest sum of squared factors of a lookup: a whole number below that of [`DIGIT_LOOKUP`].
const MOST_NORM: u64 = DIGIT_LOOKUP.0 as u64;
/// The squared factors of the remainder of a split: 1, 1, 1 and 3.
const REMAINDER_NORM: u64 = 12;
/// The copies of the table of splits for sums of one column, of which those of even and of odd
/// columns take every other one; the others are for sums of several columns.
const OWN_COPIES: usize = SPLIT_COPIES / 4 * 3;

/// A row, the greatest value that it can have, and its noise in variances of a bootstrap.
#[derive(Clone, Copy, Debug)]
struct Term {
    row: usize,
    most: u64,
    norm: u64,
    /// Other terms may be the same ciphertext, or a result of the same lookup, so that factors add
    /// up instead of their squares.
    alike: bool,
}

impl Term {
    /// Whether no other term has this one's noise.
    fn is_apart(&self) -> bool {
        self.norm > 0 && !self.alike
    }
}

/// The sum of squared factors of a sum of terms, at the most.
fn norm(terms: &[Term]) -> u64 {
    let apart: u64 = terms.iter().filter(|term| !term.alike).map(|term| term.norm).sum();
    let alike = || terms.iter().filter(|term| term.alike);
    let count = alike().count() as u64;
    apart + count * count * alike().map(|term| term.norm).max().unwrap_or(0)
}

/// The terms of a sum by their place: column d counts 4^d.
#[derive(Debug)]
pub(super) struct Columns {
    terms: Vec<Vec<Term>>,
    /// Sums of which several columns take part in the first step.
    shared: Vec<Group>,
    /// The copies of the table of splits that each column has used.
    used: Vec<usize>,
}

impl Columns {
    /// No terms in `places` columns.
    pub fn new(places: usize) -> Self {
        Self { terms: vec![Vec::new(); places], shared: Vec::new(), used: vec![0; places] }
    }

    /// Adds a row of results of lookups up to `most`, which is at most 3.
    pub fn push(&mut self, place: usize, row: usize, most: u64) {
        self.terms[place].push(Term { row, most, norm: 1, alike: true });
    }

    /// Adds a row of digits of an operand, which are sums of at most two bootstraps.
    pub fn push_digit(&mut self, place: usize, row: usize) {
        self.terms[place].push(Term { row, most: 3, norm: 2, alike: true });
    }

    /// Adds the sum of rows of results of lookups up to `most` to each of these columns. The sum is
    /// 4 to 15.
    pub fn push_shared(&mut self, places: Vec<usize>, rows: impl IntoIterator<Item = usize>, most: u64) {
        let terms = rows.into_iter().map(|row| Term { row, most, norm: 1, alike: true }).collect();
        let copy = OWN_COPIES + self.shared.len() % (SPLIT_COPIES - OWN_COPIES);
        self.shared.push(Group::new(places, terms, copy));
    }

    /// Adds a public number, the lowest digit first, as further rows from `row` on: their forms.
    pub fn push_constant(&mut self, digits: impl IntoIterator<Item = u64>, row: usize) -> Vec<Form> {
        let mut forms = Vec::new();
        for (place, digit) in digits.into_iter().enumerate().filter(|&(_, digit)| digit > 0) {
            let row = row + forms.len();
            self.terms[place].push(Term { row, most: digit, norm: 0, alike: false });
            forms.push(Form::default().plus(digit));
        }
        forms
    }

    /// Adds the results of a group, which are these rows.
    fn push_results(&mut self, group: &Group, digit: usize, carry: usize) {
        let (norm, alike) = group.remainder();
        for &place in &group.places {
            self.terms[place].push(Term { row: digit, most: group.sum.min(3), norm, alike });
            if place + 1 < self.terms.len() {
                let most = group.sum / 4;
                self.terms[place + 1].push(Term { row: carry, most, norm: 1, alike });
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
    /// The copy of the table of splits.
    copy: usize,
}

impl Group {
    fn new(places: Vec<usize>, terms: Vec<Term>, copy: usize) -> Self {
        let sum = terms.iter().map(|term| term.most).sum();
        Self { places, terms, sum, copy }
    }

    fn is_small(&self) -> bool {
        self.sum <= MOST_SMALL
    }

    /// The table of splits.
    fn table(&self) -> u32 {
        if self.is_small() { SPLIT_SMALL } else { self.copy as u32 }
    }

    /// The noise of the digit, and whether other groups may have that of the digit or the excess.
    fn remainder(&self) -> (u64, bool) {
        match self.is_small() {
            true => (1, !self.terms.iter().any(Term::is_apart)),
            false => (REMAINDER_NORM, false),
        }
    }
}

/// Takes terms from a column, the first and then the greatest, as long as their sum stays within
/// `most` and its noise within what a lookup takes.
fn take(left: &mut Vec<Term>, first: Option<usize>, most: u64) -> Vec<Term> {
    let mut taken: Vec<_> = first.map(|at| left.remove(at)).into_iter().collect();
    let mut sum: u64 = taken.iter().map(|term| term.most).sum();
    left.retain(|term| {
        if sum + term.most > most {
            return true;
        }
        taken.push(*term);
        let noisy = norm(&taken) > MOST_NORM;
        match noisy {
            true => drop(taken.pop()),
            false => sum += term.most,
        }
        noisy
    });
    taken
}

/// Chooses the lookups of one step: groups of columns that exceed the sum that can be carried,
/// together with the carries from the columns below in this step. The terms that stay are left in
/// the columns.
///
/// Results of splits are apart: a group of alike terms has a copy of the table to itself, and other
/// groups have a term that no other has.
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
        left.sort_by_key(|term| std::cmp::Reverse((term.most, term.norm)));
        let (mut settled, mut outgoing) = (received[place] + incoming, 0);
        while left.iter().map(|term| term.most).sum::<u64>() + settled > MOST_CARRIED {
            let copy = 2 * columns.used[place] + place % 2;
            let exhausted = copy >= OWN_COPIES;
            let first = left.iter().position(Term::is_apart).filter(|_| exhausted);
            let most = if exhausted && first.is_none() { MOST_SMALL } else { MOST_SPLIT };
            let terms = take(left, first, most);
            let group = Group::new(vec![place], terms, copy.min(OWN_COPIES - 1));
            if group.sum <= 3 {
                left.extend(group.terms);
                break;
            }
            columns.used[place] += usize::from(!group.terms.iter().any(Term::is_apart));
            settled += 3;
            outgoing += group.sum / 4;
            all.push(group);
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
            let form = |group: &Group| Form::sum(group.terms.iter().map(|term| term.row));
            let forms: Vec<_> = groups.iter().map(|group| (form(group), group.table())).collect();
            // The terms that stay, and the results, are the rows of the next step.
            let kept: Vec<Form> = columns.terms.iter().flatten().map(|term| Form::sum([term.row])).collect();
            pool = Rows::stack(&[&self.combine(&pool, &kept)?, &self.split(&pool, &forms)?])?;
            columns.terms.iter_mut().flatten().enumerate().for_each(|(row, term)| term.row = row);
            for (i, group) in (kept.len()..).zip(&groups) {
                columns.push_results(group, i, groups.len() + i);
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

    /// Every column ends within the sum that can be carried, in few steps, whatever it starts with;
    /// no lookup takes too much, and their number is about one for two terms. Remainders and
    /// excesses that are said to be apart are of sums that differ in a term of their own, or of
    /// copies of the table that neither the column nor its neighbours use again.
    #[test]
    fn columns_shrink() {
        for (places, terms, most) in
            [(4, 2, 3), (16, 3, 3), (16, 31, 3), (32, 64, 3), (5, 200, 1), (8, 7, 2), (3, 2000, 3)]
        {
            let mut columns = Columns::new(places);
            (0..places * terms).for_each(|row| match most {
                3 => columns.push_digit(row % places, row),
                _ => columns.push(row % places, row, most),
            });
            let (mut steps, mut lookups) = (0, 0);
            let mut copies = std::collections::HashSet::new();
            loop {
                let found = groups(&mut columns);
                if found.is_empty() {
                    break;
                }
                steps += 1;
                for group in found {
                    lookups += 1;
                    assert!(norm(&group.terms) <= MOST_NORM && (4..=MOST_SPLIT).contains(&group.sum));
                    if !group.is_small() && !group.terms.iter().any(Term::is_apart) {
                        let [place] = group.places[..] else { panic!("{group:?}") };
                        assert!(group.copy < OWN_COPIES && group.copy % 2 == place % 2);
                        assert!(copies.insert((place, group.copy)), "{group:?}");
                    }
                    columns.push_results(&group, 0, 0);
                }
            }
            for column in &columns.terms {
                assert!(column.iter().map(|term| term.most).sum::<u64>() <= MOST_CARRIED);
                assert!(norm(column) < MOST_NORM);
            }
            assert!(steps <= 9 + terms / 1000, "{places} {terms} {most}: {steps}");
            assert!(lookups <= places * terms, "{places} {terms} {most}: {lookups}");
        }
    }
}
