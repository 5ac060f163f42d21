//! Merkle trees over the operations of a trace.

use crate::listing::Checksum;

const NODE: &str = "he-files 2026-11 trace: node, version 1";

/// A Merkle tree. A node is the hash of its two children; the last node of a row without a
/// neighbour goes up as it is. Leaves are hashes of another kind, and whoever compares two trees
/// knows that they have as many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The rows, from the leaves to the top.
    rows: Vec<Vec<Checksum>>,
}

/// The first leaf in which two trees differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The leaf.
    pub leaf: usize,
    /// The nodes that were compared below the tops: one in each row.
    pub questions: usize,
}

fn node(children: &[Checksum]) -> Checksum {
    match children {
        [only] => *only,
        children => blake3::derive_key(NODE, children.as_flattened()),
    }
}

/// The top of a tree with so many leaves over one of them and the nodes [beside](Tree::beside) its
/// way up; `None` for a leaf that is not there, and for more or fewer nodes than are beside.
pub fn top_over(leaf: Checksum, place: usize, leaves: usize, beside: &[Checksum]) -> Option<Checksum> {
    let (mut top, mut at, mut row) = (leaf, place, leaves);
    let mut beside = beside.iter();
    while place < leaves && row > 1 {
        // A last node without a neighbour goes up as it is.
        if at ^ 1 < row {
            let other = *beside.next()?;
            top = node(&if at % 2 == 0 { [top, other] } else { [other, top] });
        }
        (at, row) = (at / 2, row.div_ceil(2));
    }
    (place < leaves && beside.next().is_none()).then_some(top)
}

impl Tree {
    /// The tree over these leaves.
    pub fn new(leaves: Vec<Checksum>) -> Self {
        let mut rows = vec![leaves];
        while let Some(row) = rows.last().filter(|row| row.len() > 1) {
            let above = row.chunks(2).map(node).collect();
            rows.push(above);
        }
        Self { rows }
    }

    /// The top; zeros without leaves.
    pub fn top(&self) -> Checksum {
        self.rows.last().and_then(|row| row.first()).copied().unwrap_or_default()
    }

    /// The number of leaves.
    pub fn leaves(&self) -> usize {
        self.rows[0].len()
    }

    /// A node: row 0 has the leaves.
    pub fn node(&self, row: usize, index: usize) -> Option<Checksum> {
        self.rows.get(row)?.get(index).copied()
    }

    /// The nodes beside the way from a leaf to the top, from below: with the leaf and the number of
    /// leaves they give the top, see [`top_over`]. None for a leaf that is not there.
    ///
    /// ```
    /// use he_files::trace::{Tree, top_over};
    /// let leaves: Vec<[u8; 32]> = (0..100).map(|leaf| [leaf; 32]).collect();
    /// let tree = Tree::new(leaves.clone());
    /// let beside = tree.beside(37);
    /// assert_eq!(beside.len(), 7);
    /// assert_eq!(top_over(leaves[37], 37, 100, &beside), Some(tree.top()));
    /// assert_ne!(top_over(leaves[36], 37, 100, &beside), Some(tree.top()));
    /// assert_eq!(top_over(leaves[37], 37, 200, &beside), None); // there are 8 rows below the top
    /// ```
    pub fn beside(&self, leaf: usize) -> Vec<Checksum> {
        let below = self.rows.iter().take(self.rows.len() - 1).enumerate();
        below.filter_map(|(row, nodes)| nodes.get((leaf >> row) ^ 1).copied()).collect()
    }

    /// The first leaf that differs from that of a tree with as many leaves: in each row below the
    /// top, one node of the other tree tells in which half it is. Trees of other sizes differ
    /// before any leaf, and equal ones nowhere: `None`.
    ///
    /// ```
    /// use he_files::trace::Tree;
    /// let leaves: Vec<[u8; 32]> = (0..100).map(|leaf| [leaf; 32]).collect();
    /// let mut others = leaves.clone();
    /// (others[37], others[80]) = ([200; 32], [201; 32]);
    /// let found = Tree::new(leaves).first_difference(&Tree::new(others)).unwrap();
    /// assert_eq!((found.leaf, found.questions), (37, 7)); // log2(100), rounded up
    /// ```
    pub fn first_difference(&self, other: &Self) -> Option<Difference> {
        if self.leaves() != other.leaves() || self.top() == other.top() {
            return None;
        }
        let mut at = 0;
        let below = self.rows.len() - 1;
        for row in (0..below).rev() {
            at *= 2;
            if self.node(row, at) == other.node(row, at) {
                at += 1;
            }
        }
        Some(Difference { leaf: at, questions: below })
    }
}
