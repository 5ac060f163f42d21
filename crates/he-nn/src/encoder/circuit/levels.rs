//! The levels of a circuit's values, and their refreshes.
//!
//! A value has the level that what follows needs of it, whatever that is: needs are found backwards
//! from the output. A refresh ends them. Between two borders, values that all later steps depend on
//! through them alone, every set of refreshes is tried; from border to border, the cheapest way to
//! each need is kept.

use super::{Circuit, Op, Step, Value};
use crate::encoder::Counts;
use crate::error::{Error, Result};
use crate::levels::Range;
use crate::maps::Outline;
use crate::parallel;
use he_core::ckks::CkksParams;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most values between two borders that may be refreshed.
const MOST: usize = 14;

/// The levels of the values of a circuit.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The level that each value has for the steps after it; `None` for values that none takes.
    pub levels: Vec<Option<usize>>,
    /// The level on which its step leaves it: another one if it is refreshed after that.
    pub made: Vec<Option<usize>>,
    /// Whether it is refreshed before.
    pub refreshed: Vec<bool>,
}

/// The costs that a schedule is chosen by.
pub struct Costs<'c> {
    /// The operations of each step.
    pub counts: &'c [Counts],
    /// The work of operations on a level.
    pub work: &'c dyn Fn(&Counts, usize) -> f64,
}

/// The cheapest way from a need of a border's value to the end.
#[derive(Clone)]
struct Way {
    cost: f64,
    refreshed: Vec<Value>,
}

impl Circuit {
    /// The values that all later steps depend on through them alone, the input first.
    fn borders(&self) -> Vec<Value> {
        let last = self.last_uses();
        let mut reach = 0;
        let mut found = Vec::new();
        for (id, last) in last.iter().enumerate() {
            if reach <= id {
                found.push(id);
            }
            reach = reach.max(last.unwrap_or(id));
        }
        found
    }

    /// The cheapest levels within a range.
    ///
    /// # Errors
    /// [`Error::Parameters`] if there are none.
    pub fn schedule(&self, range: Range, costs: &Costs<'_>) -> Result<Schedule> {
        let borders = self.borders();
        let end = self.steps.len() - 1;
        // Levels below those that can be refreshed are for refreshes alone.
        let least = range.refresh.map_or(0, |(_, reserve)| reserve);
        let mut ways = BTreeMap::from([(least, Way { cost: 0.0, refreshed: Vec::new() })]);
        let mut last = end;
        for &first in borders.iter().rev().filter(|&&border| border < end) {
            ways = self.before(first, last, &ways, range, costs);
            last = first;
        }
        let best = ways.into_values().min_by(|a, b| a.cost.total_cmp(&b.cost));
        let Some(best) = best else { return Err(Error::Parameters { why: self.too_deep(range) }) };
        let mut refreshed = vec![false; self.steps.len()];
        best.refreshed.iter().for_each(|&value| refreshed[value] = true);
        let levels = self.needs(0, end, least, &refreshed, range);
        let made = |(level, refreshed): (&Option<usize>, &bool)| {
            level.map(|level| if *refreshed { least } else { level })
        };
        let made = levels.iter().zip(&refreshed).map(made).collect();
        Ok(Schedule { levels, made, refreshed })
    }

    fn too_deep(&self, range: Range) -> String {
        format!("the encoder takes {} levels without refreshes, and there are {}", self.depth(), range.start)
    }

    /// The levels of all steps without refreshes.
    pub fn depth(&self) -> usize {
        let none = vec![false; self.steps.len()];
        let endless = Range { start: usize::MAX, refresh: None };
        self.needs(0, self.steps.len() - 1, 0, &none, endless)[0].unwrap_or(0)
    }

    /// The ways from the border before a part of the steps.
    fn before(
        &self,
        first: Value,
        last: Value,
        after: &BTreeMap<usize, Way>,
        range: Range,
        costs: &Costs<'_>,
    ) -> BTreeMap<usize, Way> {
        let small = (first + 1..=last).filter(|&id| self.steps[id].is_small && range.refresh.is_some());
        let small: Vec<Value> = small.take(MOST).collect();
        let mut found: BTreeMap<usize, Way> = BTreeMap::new();
        let mut refreshed = vec![false; self.steps.len()];
        for (&need, way) in after {
            for set in 0..1usize << small.len() {
                small.iter().enumerate().for_each(|(bit, &id)| refreshed[id] = set >> bit & 1 == 1);
                let levels = self.needs(first, last, need, &refreshed, range);
                let Some(need) = levels[0] else { continue };
                let cost = way.cost + self.cost(first, &levels, &refreshed, range, costs);
                if found.get(&need).is_none_or(|best| cost < best.cost) {
                    let chosen = small.iter().copied().filter(|&id| refreshed[id]);
                    let refreshed = way.refreshed.iter().copied().chain(chosen).collect();
                    found.insert(need, Way { cost, refreshed });
                }
            }
        }
        found
    }

    /// The levels that the values from `first` to `last` need; `None` for the first if they are too
    /// many.
    fn needs(
        &self,
        first: Value,
        last: Value,
        need: usize,
        refreshed: &[bool],
        range: Range,
    ) -> Vec<Option<usize>> {
        let mut needs = vec![None; last - first + 1];
        needs[last - first] = Some(need);
        let (top, reserve) = range.refresh.unwrap_or((0, 0));
        for id in (first + 1..=last).rev() {
            let Some(mut need) = needs[id - first] else { continue };
            if refreshed[id] {
                if need > top {
                    needs[0] = None;
                    return needs;
                }
                need = reserve;
            }
            let op = &self.steps[id].op;
            let level = need + op.depth();
            for operand in op.operands() {
                let of = &mut needs[operand - first];
                *of = Some(of.map_or(level, |known| known.max(level)));
            }
        }
        needs[0] = needs[0].filter(|&level| level <= range.start);
        needs
    }

    /// The work of the steps behind `first`.
    fn cost(
        &self,
        first: Value,
        levels: &[Option<usize>],
        refreshed: &[bool],
        range: Range,
        costs: &Costs<'_>,
    ) -> f64 {
        let mut cost = 0.0;
        for (at, level) in levels.iter().enumerate().skip(1) {
            let (id, Some(level)) = (first + at, *level) else { continue };
            let reserve = range.refresh.map_or(0, |(_, reserve)| reserve);
            let made = if refreshed[id] { reserve } else { level };
            cost += (costs.work)(&costs.counts[id], made + self.steps[id].op.depth());
            if refreshed[id] {
                let refreshes = self.refreshes(id);
                cost += (costs.work)(&Counts { refreshes, ..Counts::default() }, level);
            }
        }
        cost
    }

    /// The refreshes of full ciphertexts that one of a value takes: two vectors of real numbers
    /// share one.
    pub fn refreshes(&self, id: Value) -> usize {
        (self.steps[id].count * self.layout.blocks).div_ceil(2)
    }

    /// The outline of each map.
    ///
    /// # Errors
    /// The errors of [`Map::outline`](super::map::Map::outline).
    pub fn outlines(&self, params: &CkksParams) -> Result<Vec<Option<Arc<Outline>>>> {
        let first: Vec<Value> =
            (0..self.steps.len()).map(|id| self.equal_map(id, |_| true).unwrap_or(id)).collect();
        let steps: Vec<Value> = (0..self.steps.len()).collect();
        let outlined = parallel::mapped(&steps, |&id| match &self.steps[id].op {
            Op::Map(_, map) if first[id] == id => Ok(Some(Arc::new(map.outline(&self.layout, params)?))),
            _ => Ok(None),
        });
        let outlined = outlined.into_iter().collect::<Result<Vec<_>>>()?;
        Ok(first.into_iter().map(|first| outlined[first].clone()).collect())
    }

    /// The operations of each step, with the outlines of the maps.
    pub fn counts(&self, outlines: &[Option<Arc<Outline>>]) -> Vec<Counts> {
        let of =
            |(step, outline): (&Step, &Option<_>)| self.counts_of(&step.op, step.count, outline.as_deref());
        self.steps.iter().zip(outlines).map(of).collect()
    }

    fn counts_of(&self, op: &Op, count: usize, outline: Option<&Outline>) -> Counts {
        let blocks = self.layout.blocks;
        let none = Counts::default();
        let of = |value: Value| self.steps[value].count;
        let mut counts = match op {
            Op::Map(..) => outline.map_or(none, |outline| Counts {
                baby: outline.rotations,
                plain: outline.diagonals,
                ..none
            }),
            Op::Rotated(_, steps) => match steps.iter().filter(|&&step| step != 0).count() {
                1 => Counts { rotations: 1, ..none },
                more => Counts { hoisted: more, ..none },
            },
            Op::Product(..) => Counts { products: count, ..none },
            &Op::Contracted(a, _) => Counts { products: 1, sums: of(a), ..none },
            Op::Weighted(..) => Counts { plain: count, ..none },
            Op::Polynomial(_, polynomials) => {
                let products = polynomials.iter().map(|polynomial| polynomial.relinearisations()).sum();
                Counts { products, ..none }
            }
            _ => none,
        };
        counts *= blocks;
        counts
    }
}
