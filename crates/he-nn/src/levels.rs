//! Levels and refreshes: a shortest path.
//!
//! A state says on which level each value is that is still needed. Computing a layer leads from one
//! state to others: on any level that its inputs reach, at a cost that grows with the level; before
//! it, any of its inputs may be refreshed. The cheapest way to the output is a shortest path, which
//! settles where joins of branches meet as well (Ebel, Garimella, Reagen, *Orion*, ASPLOS 2025).
//! States whose count exceeds [`WIDTH`] are cut to the cheapest, which no chain, residual or
//! otherwise, comes near.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// The most states that are kept from one layer to the next.
const WIDTH: usize = 20_000;

/// A step of the computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// The value of a layer gets new levels.
    Refresh(usize),
    /// A layer is computed from inputs on this level.
    Run {
        /// The layer.
        layer: usize,
        /// The level.
        level: usize,
    },
}

/// A layer as this module sees it.
pub struct Step {
    /// The layers whose values it takes.
    pub inputs: Vec<usize>,
    /// The levels that it takes.
    pub depth: usize,
    /// The work on each level from 0.
    pub work: Vec<f64>,
    /// The work of refreshing its value.
    pub refresh: f64,
}

/// The levels of a model's values.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// The level of inputs.
    pub start: usize,
    /// The level of refreshed values, and the lowest level of values that can be refreshed; `None`
    /// without refreshes.
    pub refresh: Option<(usize, usize)>,
}

/// A state: the value of each layer that is still needed, and its level.
type State = BTreeMap<usize, usize>;

struct Reached {
    cost: f64,
    /// The last step on the way to this state: an index of the list of steps.
    last: usize,
}

/// The cheapest order of computing and refreshing all steps, of which the first is the input and
/// the last the output, and its [`work`].
///
/// # Errors
/// [`Error::Parameters`] if a step is deeper than the levels that there are.
pub fn shortest_path(steps: &[Step], range: Range) -> Result<(Vec<Action>, f64)> {
    let last_use: Vec<usize> = (0..steps.len())
        .map(|id| steps.iter().rposition(|step| step.inputs.contains(&id)).unwrap_or(steps.len()))
        .collect();
    let mut trail: Vec<(usize, Vec<Action>)> = vec![(0, Vec::new())];
    let mut states: HashMap<State, Reached> = HashMap::new();
    states.insert(State::from([(0, range.start)]), Reached { cost: 0.0, last: 0 });
    for (id, step) in steps.iter().enumerate().skip(1) {
        let mut inputs = step.inputs.clone();
        inputs.sort_unstable();
        inputs.dedup();
        let mut next: HashMap<State, (f64, usize, Vec<Action>)> = HashMap::new();
        for (state, reached) in &states {
            for choice in 0..1usize << inputs.len() {
                let (mut state, mut cost, mut actions) = (state.clone(), reached.cost, Vec::new());
                let mut possible = true;
                let chosen = inputs.iter().enumerate().filter(|(index, _)| choice >> index & 1 == 1);
                for (_, input) in chosen {
                    let (Some((top, reserve)), Some(level)) = (range.refresh, state.get_mut(input)) else {
                        possible = false;
                        continue;
                    };
                    possible &= *level >= reserve && *level < top;
                    *level = top;
                    cost += steps[*input].refresh;
                    actions.push(Action::Refresh(*input));
                }
                let highest = inputs.iter().filter_map(|input| state.get(input)).min().copied().unwrap_or(0);
                // The levels below the reserve belong to refreshes.
                let floor = range.refresh.map_or(0, |(_, reserve)| reserve);
                if !possible || highest < floor + step.depth {
                    continue;
                }
                for input in inputs.iter().filter(|input| last_use[**input] <= id) {
                    state.remove(input);
                }
                // Sums change no level: nothing is won by going lower.
                let lowest = if step.depth == 0 { highest } else { floor + step.depth };
                for level in lowest..=highest {
                    let mut state = state.clone();
                    state.insert(id, level - step.depth);
                    let cost = cost + step.work[level];
                    if next.get(&state).is_none_or(|(best, ..)| cost < *best) {
                        let mut actions = actions.clone();
                        actions.push(Action::Run { layer: id, level });
                        next.insert(state, (cost, reached.last, actions));
                    }
                }
            }
        }
        let mut next: Vec<_> = next.into_iter().collect();
        // A fixed order, whatever that of the table.
        next.sort_by(|(a, (x, ..)), (b, (y, ..))| x.total_cmp(y).then_with(|| a.cmp(b)));
        next.truncate(WIDTH);
        if next.is_empty() {
            let most = range.refresh.map_or(range.start, |(top, reserve)| top.max(range.start) - reserve);
            let why = format!("layer {id} takes {} levels, and there are {most}", step.depth);
            return Err(Error::Parameters { why });
        }
        states = HashMap::new();
        for (state, (cost, from, actions)) in next {
            trail.push((from, actions));
            states.insert(state, Reached { cost, last: trail.len() - 1 });
        }
    }
    let cheapest = states.values().min_by(|a, b| a.cost.total_cmp(&b.cost).then(a.last.cmp(&b.last)));
    let Some(&Reached { cost, last }) = cheapest else { return Ok((Vec::new(), 0.0)) };
    let (mut at, mut parts) = (last, Vec::new());
    while at != 0 {
        parts.push(trail[at].1.clone());
        at = trail[at].0;
    }
    Ok((parts.into_iter().rev().flatten().collect(), cost))
}

/// The work of these actions.
pub fn work(actions: &[Action], steps: &[Step]) -> f64 {
    let of = |action: &Action| match *action {
        Action::Refresh(id) => steps[id].refresh,
        Action::Run { layer, level } => steps[layer].work[level],
    };
    actions.iter().map(of).sum()
}

/// Whether these actions compute all steps in order, each on a level that its inputs have and that
/// leaves refreshes the levels that they take.
pub fn are_possible(actions: &[Action], steps: &[Step], range: Range) -> bool {
    let mut levels = vec![range.start];
    let floor = range.refresh.map_or(0, |(_, reserve)| reserve);
    for action in actions {
        match *action {
            Action::Refresh(id) => {
                let (Some((top, reserve)), Some(level)) = (range.refresh, levels.get_mut(id)) else {
                    return false;
                };
                if *level < reserve || *level >= top {
                    return false;
                }
                *level = top;
            }
            Action::Run { layer, level } => {
                let Some(step) = steps.get(layer).filter(|_| layer == levels.len()) else { return false };
                let highest = step.inputs.iter().map(|&input| levels[input]).min().unwrap_or(0);
                let lowest = if step.depth == 0 { highest } else { floor + step.depth };
                if !(lowest..=highest).contains(&level) || level < floor + step.depth {
                    return false;
                }
                levels.push(level - step.depth);
            }
        }
    }
    levels.len() == steps.len()
}

/// The levels that all steps take without refreshes.
pub fn depth(steps: &[Step]) -> usize {
    let mut depths: Vec<usize> = Vec::with_capacity(steps.len());
    for step in steps {
        let before = step.inputs.iter().map(|&input| depths[input]).max().unwrap_or(0);
        depths.push(before + step.depth);
    }
    depths.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(inputs: &[usize], depth: usize, levels: usize) -> Step {
        // Work grows with the level.
        let work = (0..=levels).map(|level| if depth == 0 { 0.0 } else { level as f64 }).collect();
        Step { inputs: inputs.to_vec(), depth, work, refresh: 100.0 }
    }

    /// The cheapest of all orders of a chain, by trying all.
    fn exhaustive(steps: &[Step], range: Range, id: usize, level: usize) -> f64 {
        let Some(step) = steps.get(id) else { return 0.0 };
        let mut best = f64::INFINITY;
        let refreshed = range.refresh.filter(|&(_, reserve)| level >= reserve).map(|(top, _)| (100.0, top));
        for (paid, level) in std::iter::once((0.0, level)).chain(refreshed) {
            for at in 1 + step.depth..=level {
                best = best.min(paid + step.work[at] + exhaustive(steps, range, id + 1, at - step.depth));
            }
        }
        best
    }

    #[test]
    fn chains_are_as_cheap_as_the_best_of_all_orders() {
        let range = Range { start: 7, refresh: Some((7, 1)) };
        for depths in [vec![1, 3, 1, 3, 1], vec![6, 6], vec![2, 2, 2], vec![1; 6], vec![5, 1, 5]] {
            let mut steps = vec![step(&[], 0, 7)];
            steps.extend(depths.iter().enumerate().map(|(i, &depth)| step(&[i], depth, 7)));
            let (actions, cost) = shortest_path(&steps, range).unwrap();
            assert_eq!(cost, exhaustive(&steps, range, 1, 7), "{depths:?}: {actions:?}");
            assert_eq!(cost, work(&actions, &steps), "{depths:?}");
            assert!(are_possible(&actions, &steps, range), "{depths:?}");
        }
        let deep = [step(&[], 0, 7), step(&[0], 7, 8)];
        assert!(matches!(shortest_path(&deep, range), Err(Error::Parameters { .. })));
    }

    /// x -> f -> f and x itself meet in a sum: a refresh of x before both serves both.
    #[test]
    fn branches_meet_on_one_level() {
        let range = Range { start: 3, refresh: Some((7, 1)) };
        let steps = [
            step(&[], 0, 7),
            step(&[0], 2, 7),
            step(&[1], 3, 7),
            step(&[2], 1, 7),
            step(&[3, 1], 0, 7),
            step(&[4], 1, 7),
        ];
        let (actions, cost) = shortest_path(&steps, range).unwrap();
        let refreshes = actions.iter().filter(|action| matches!(action, Action::Refresh(_))).count();
        assert_eq!(refreshes, 1, "{actions:?}");
        assert!(cost < 200.0);
        assert!(are_possible(&actions, &steps, range));
        for at in 0..actions.len() {
            // One action less, twice the same, a level higher, and another refresh.
            let mut less = actions.clone();
            less.remove(at);
            let mut twice = actions.clone();
            twice.insert(at, actions[at]);
            let mut wrong = vec![less, twice];
            if let Action::Run { layer, .. } = actions[at] {
                for level in [0, 8] {
                    let mut other = actions.clone();
                    other[at] = Action::Run { layer, level };
                    wrong.push(other);
                }
            }
            let mut unknown = actions.clone();
            unknown.insert(at, Action::Refresh(9));
            wrong.push(unknown);
            for wrong in wrong {
                assert!(!are_possible(&wrong, &steps, range), "{wrong:?}");
            }
        }
        assert!(!are_possible(&actions, &steps, Range { start: 7, refresh: None }));
        assert_eq!(depth(&steps), 7);
        // Without refreshes, the levels must suffice.
        assert!(shortest_path(&steps, Range { start: 6, refresh: None }).is_err());
        let (actions, _) = shortest_path(&steps, Range { start: 7, refresh: None }).unwrap();
        assert_eq!(actions.len(), 5);
    }
}
