//! The numbers by which values are divided, so that they are within -1 and 1.

use super::Encoder;
use crate::graph::Op;

/// Values may exceed those of the calibration by this factor.
const MARGIN: f64 = 1.25;

impl Encoder {
    /// The unit of each node: a power of two above its numbers, the same one for a sum and all that
    /// it adds.
    pub(super) fn units(&self) -> Vec<f64> {
        let unit = |&most: &f64| libm::exp2(libm::ceil(libm::log2((MARGIN * most).max(1e-9))));
        let mut units: Vec<f64> = self.greatest.iter().map(unit).collect();
        loop {
            let before = units.clone();
            for (id, node) in self.graph.nodes.iter().enumerate().filter(|(_, node)| node.op == Op::Add) {
                let all = || node.inputs.iter().copied().chain([id]);
                let most = all().map(|id| units[id]).fold(0.0, f64::max);
                all().for_each(|id| units[id] = most);
            }
            if units == before {
                return units;
            }
        }
    }

    /// Whether a node is computed before encryption or after decryption.
    pub(super) fn is_public(&self, id: usize) -> bool {
        self.public[id]
    }

    /// The node whose value is decrypted.
    pub(super) fn last_encrypted(&self) -> usize {
        let output = self.graph.output;
        match self.public[output] {
            true => self.graph.nodes[output].inputs.first().copied().unwrap_or(output),
            false => output,
        }
    }
}
