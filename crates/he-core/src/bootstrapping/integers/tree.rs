//! Decision trees on integers of 8 bits.

use super::width::{DIGIT_BITS, RADIX};
use super::{IntegerEvaluator, SlotIntegers, Thresholds, Width};
use crate::backend::RingOps;
use crate::bootstrapping::BootstrapParams;
use crate::ckks::Ciphertext;
use crate::error::{Error, Result};
use std::collections::BTreeMap;

/// A complete binary tree of plain thresholds, prepared for the parameters under which it is
/// walked: rows whose feature is below the threshold of a node go on to its left child, and the
/// others to its right one.
#[derive(Clone, Debug)]
pub struct DecisionTree {
    /// The features that nodes ask for, and the nodes of each.
    features: Vec<(usize, Vec<usize>)>,
    thresholds: Thresholds,
    leaves: Vec<u64>,
    width: Width,
}

impl DecisionTree {
    /// From its nodes, each the number of a feature and a threshold, from the root down and in each
    /// level from left to right, and its leaves from left to right, of any width.
    ///
    /// # Errors
    /// [`Error::Argument`] for other numbers than 2^d - 1 nodes and 2^d leaves of a depth d from
    /// one on, thresholds beyond 255, and leaves beyond the width.
    pub fn new(
        params: &BootstrapParams,
        nodes: &[(usize, u64)],
        leaves: &[u64],
        width: Width,
    ) -> Result<Self> {
        let (inner, outer) = (nodes.len(), leaves.len());
        if inner == 0 || inner + 1 != outer || !outer.is_power_of_two() {
            let hint = "a tree of depth d has 2^d - 1 nodes and 2^d leaves: fill it up";
            return Err(Error::domain("tree", format!("{inner} nodes and {outer} leaves"), hint));
        }
        if let Some(leaf) = leaves.iter().find(|&&leaf| leaf > width.mask()) {
            let hint = format!("leaves have {} bits", width.bits());
            return Err(Error::domain("leaf", leaf.to_string(), hint));
        }
        let mut features: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (place, (feature, _)) in nodes.iter().enumerate() {
            features.entry(*feature).or_default().push(place);
        }
        let numbers = |places: &Vec<usize>| places.iter().map(|&place| nodes[place].1).collect::<Vec<_>>();
        let numbers: Vec<Vec<u64>> = features.values().map(numbers).collect();
        let thresholds = Thresholds::new(params, &numbers.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        let features = features.into_iter().collect();
        Ok(Self { features, thresholds, leaves: leaves.to_vec(), width })
    }

    fn digit(&self, leaf: usize, k: usize) -> i64 {
        ((self.leaves[leaf] >> (DIGIT_BITS * k)) % RADIX as u64) as i64
    }
}

impl<B: RingOps> IntegerEvaluator<'_, B> {
    /// The leaf of each row, for the features of its slot: the conditions of all nodes
    /// ([`lt_each`](Self::lt_each)), and from the lowest nodes up a product per node and digit. Time
    /// depends on the tree, not on features.
    ///
    /// # Errors
    /// [`Error::Argument`] for a tree that asks for a feature that is not there; the errors of
    /// [`lt_each`](Self::lt_each).
    pub fn tree(&self, features: &[&SlotIntegers<B>], tree: &DecisionTree) -> Result<SlotIntegers<B>> {
        let flags = self.conditions(features, tree)?;
        let mut nodes = tree.leaves.len() / 2;
        let mut values = self.lowest(&flags, tree)?;
        while nodes > 1 {
            nodes /= 2;
            let all = 0..tree.width.digits() * nodes;
            let [left, right] = [0, 1]
                .map(|side| values.gather_batch(&all.clone().map(|at| 2 * at + side).collect::<Vec<_>>()));
            // The nodes of a level begin behind all above them.
            let of_nodes: Vec<usize> = all.map(|at| nodes - 1 + at % nodes).collect();
            values = self.chosen(&flags.gather_batch(&of_nodes)?, &left?, &right?)?;
        }
        SlotIntegers::from_digits(values, tree.width)
    }

    /// The conditions of all nodes, in their order.
    fn conditions(&self, features: &[&SlotIntegers<B>], tree: &DecisionTree) -> Result<Ciphertext<B>> {
        let feature = |&(feature, _): &(usize, Vec<usize>)| {
            let hint = format!("there are {} features, from 0 on", features.len());
            let missing = || Error::domain("feature", feature.to_string(), hint);
            features.get(feature).copied().ok_or_else(missing)
        };
        let asked = tree.features.iter().map(feature).collect::<Result<Vec<_>>>()?;
        let flags = self.lt_each(&asked, &tree.thresholds)?;
        let flags: Vec<_> = flags.iter().flatten().map(|flag| &flag.0).collect();
        let mut order = vec![0; flags.len()];
        let places = tree.features.iter().flat_map(|(_, places)| places);
        places.enumerate().for_each(|(at, &place)| order[place] = at);
        self.joined(&flags)?.gather_batch(&order)
    }

    /// The values of the lowest nodes, for one digit after the other: a multiple of the condition
    /// and a number, exactly.
    fn lowest(&self, flags: &Ciphertext<B>, tree: &DecisionTree) -> Result<Ciphertext<B>> {
        let nodes = tree.leaves.len() / 2;
        let value = |(k, node): (usize, usize)| {
            let [left, right] = [0, 1].map(|side| tree.digit(2 * node + side, k));
            let flag = flags.slice_batch(nodes - 1 + node..nodes + node)?;
            self.ev().add_scalar(&self.ev().mul_integer(&flag, left - right)?, (right as f64).into())
        };
        let places = (0..tree.width.digits()).flat_map(|k| (0..nodes).map(move |node| (k, node)));
        let values = places.map(value).collect::<Result<Vec<_>>>()?;
        self.digits(Ciphertext::concat(&values.iter().collect::<Vec<_>>())?)
    }
}
