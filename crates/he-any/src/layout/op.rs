//! The operations on two operands, of every scheme.

/// An operation on two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A sum.
    Add,
    /// A difference.
    Sub,
    /// A product.
    Mul,
}

impl Op {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Sub => "sub",
            Self::Mul => "mul",
        }
    }

    /// a op b.
    pub fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul => a * b,
        }
    }

    /// a op b of integers, if 64 bits hold it.
    pub fn of_integers(self, a: i64, b: i64) -> Option<i64> {
        match self {
            Self::Add => a.checked_add(b),
            Self::Sub => a.checked_sub(b),
            Self::Mul => a.checked_mul(b),
        }
    }

    /// The bounds of results of integers between bounds, to the last unit, if 64 bits hold them and
    /// the distance between them.
    pub fn of_ranges(self, (a, b): (i64, i64), (c, d): (i64, i64)) -> Option<(i64, i64)> {
        let ends = [(a, c), (a, d), (b, c), (b, d)].map(|(x, y)| self.of_integers(x, y));
        let ends = ends.into_iter().collect::<Option<Vec<i64>>>()?;
        let (low, high) = (*ends.iter().min()?, *ends.iter().max()?);
        high.checked_sub(low).map(|_| (low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_all_results_and_no_more() {
        let (a, b) = ((-3, 4), (-7, 2));
        for op in [Op::Add, Op::Sub, Op::Mul] {
            let all = (a.0..=a.1).flat_map(|x| (b.0..=b.1).filter_map(move |y| op.of_integers(x, y)));
            let (low, high) = (all.clone().min().unwrap(), all.max().unwrap());
            assert_eq!(op.of_ranges(a, b), Some((low, high)), "{op:?}");
        }
    }

    #[test]
    fn ranges_beyond_64_bits_are_none() {
        let all = (i64::MIN, i64::MAX);
        assert_eq!(Op::Add.of_ranges((0, i64::MAX), (0, 1)), None);
        assert_eq!(Op::Sub.of_ranges((i64::MIN, 0), (1, 1)), None);
        assert_eq!(Op::Mul.of_ranges((i64::MIN, 0), (-1, 1)), None);
        assert_eq!(Op::Add.of_ranges(all, (0, 0)), None);
        assert_eq!(Op::Mul.of_ranges((1 << 31, 1 << 31), (1 << 31, 1 << 31)), Some((1 << 62, 1 << 62)));
    }
}
