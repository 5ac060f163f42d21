//! Predicts how long circuits take, from the time of batches of gates.

use he_core::circuits::bits::{Circuit, Gate, PlacedGate};

/// The seconds of measured batches by their number of gates, both increasing.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchTimes(Vec<(usize, f64)>);

impl BatchTimes {
    /// Takes measured batches, the smallest first. A larger batch counts as taking at least as long
    /// as a smaller one, since clocks scatter.
    pub fn new(measured: impl IntoIterator<Item = (usize, f64)>) -> Self {
        let mut times: Vec<(usize, f64)> = Vec::new();
        for (gates, seconds) in measured {
            let before = times.last().map_or(0.0, |last| last.1);
            times.push((gates, seconds.max(before)));
        }
        Self(times)
    }

    /// The time of a batch: between two measured ones it is on the line through them, below the
    /// smallest it is that of the smallest, and beyond the largest it follows from the time per
    /// gate, since a batch takes no longer than its parts in sequence.
    pub fn batch(&self, gates: usize) -> f64 {
        let after = self.0.partition_point(|(measured, _)| *measured < gates);
        match (after.checked_sub(1).map(|i| self.0[i]), self.0.get(after)) {
            (_, _) if gates == 0 => 0.0,
            (None, None) => 0.0,
            (None, Some(&(_, first))) => first,
            (Some((measured, seconds)), None) => seconds * gates as f64 / measured as f64,
            (Some((low, from)), Some(&(high, to))) => {
                from + (to - from) * (gates - low) as f64 / (high - low) as f64
            }
        }
    }

    /// The time of a circuit, whose levels run in sequence.
    pub fn circuit(&self, circuit: &Circuit) -> f64 {
        circuit.levels().map(|level| self.batch(level.iter().map(bootstraps).sum())).sum()
    }
}

/// A multiplexer takes two, the other gates one.
fn bootstraps(placed: &PlacedGate) -> usize {
    if placed.gate == Gate::Mux { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use he_core::circuits::bits::Builder;

    #[test]
    fn batches_between_and_beyond_the_measured_ones() {
        let times = BatchTimes::new([(1, 1.0), (16, 1.3), (1024, 11.38)]);
        for (gates, seconds) in
            [(0, 0.0), (1, 1.0), (16, 1.3), (6, 1.1), (1024, 11.38), (520, 6.34), (2048, 22.76)]
        {
            assert!((times.batch(gates) - seconds).abs() < 1e-9, "{gates}: {}", times.batch(gates));
        }
        // Nothing measured, and a smallest batch that is asked for less.
        assert_eq!(BatchTimes::new([]).batch(7), 0.0);
        assert_eq!(BatchTimes::new([(16, 2.0)]).batch(3), 2.0);
        // A clock that scatters.
        assert_eq!(BatchTimes::new([(1, 2.0), (16, 1.5)]).batch(16), 2.0);
    }

    #[test]
    fn predictions_grow_with_the_batch() {
        let times = BatchTimes::new([(1, 0.9), (16, 1.0), (1024, 8.0)]);
        let all: Vec<f64> = (0..3000).map(|gates| times.batch(gates)).collect();
        assert!(all.is_sorted(), "{all:?}");
    }

    #[test]
    fn circuits_are_the_sum_of_their_levels() {
        let mut c = Builder::new(5);
        let x = c.input(0..5);
        // Two gates, then a multiplexer, which is two bootstraps.
        let (a, b) = (c.and(x[0], x[1]), c.majority(x[2], x[3], x[4]));
        let out = c.mux(a, b, x[0]);
        let circuit = c.finish(&[out]);
        let times = BatchTimes::new([(1, 1.0), (2, 1.5), (4, 2.0)]);
        assert_eq!(times.circuit(&circuit), 3.0);
        assert_eq!(times.circuit(&Builder::new(1).finish(&[])), 0.0);
    }

    /// A GPU's wide levels cost far less than as many narrow batches.
    #[test]
    fn wide_circuits_are_not_judged_by_narrow_batches() {
        let gpu = BatchTimes::new([(1, 1.4e-3), (16, 1.5e-3), (1024, 10.3e-3)]);
        let mut c = Builder::new(2048);
        let (x, y) = (c.input(0..1024), c.input(1024..2048));
        let less = he_core::circuits::bits::less_than(&mut c, &x, &y);
        let circuit = c.finish(&[less]);
        let expected = gpu.circuit(&circuit);
        assert!((0.03..0.1).contains(&expected), "{expected}");
        assert!(gpu.batch(16) / 16.0 * circuit.gate_count() as f64 > 0.3);
    }
}
