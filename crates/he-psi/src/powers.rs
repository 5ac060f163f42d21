//! The powers of a query: which a client sends, and which a server computes from two of them.

/// A basis of exponents: 1 to `low`, and `high` multiples of `low + 1`. Every exponent up to
/// the top is one of them or the sum of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Powers {
    low: usize,
    high: usize,
    top: usize,
}

impl Powers {
    /// The basis with the fewest exponents for those up to `top`, which is at least 1.
    pub fn for_top(top: usize) -> Self {
        let bases = (1..=top).map(|low| Self { low, high: (top - low).div_ceil(low + 1), top });
        bases.min_by_key(|basis| basis.low + basis.high).unwrap_or(Self { low: 1, high: 0, top: 1 })
    }

    /// The exponents that are sent.
    pub fn sources(&self) -> Vec<u64> {
        let multiples = (1..=self.high).map(|j| j * (self.low + 1));
        (1..=self.low).chain(multiples).map(|exponent| exponent as u64).collect()
    }

    /// The greatest exponent that is needed.
    pub fn top(&self) -> usize {
        self.top
    }

    /// The exponents up to the top that are not sent, each with the places of its two sources.
    pub fn products(&self) -> Vec<(usize, usize, usize)> {
        let factors = |exponent: usize| {
            let (multiple, rest) = (exponent / (self.low + 1), exponent % (self.low + 1));
            (multiple > 0 && rest > 0).then(|| (exponent, rest - 1, self.low + multiple - 1))
        };
        (1..=self.top).filter_map(factors).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_power_is_sent_or_a_product() {
        for top in 1..300 {
            let powers = Powers::for_top(top);
            let sources = powers.sources();
            let products = powers.products();
            for exponent in 1..=top {
                let sent = sources.iter().filter(|&&source| source == exponent as u64).count();
                let made = products.iter().filter(|(made, ..)| *made == exponent).count();
                assert_eq!(sent + made, 1, "{exponent} of {top}");
            }
            assert!(products.iter().all(|&(made, i, j)| sources[i] + sources[j] == made as u64));
            assert!((sources.len() as f64) < 2.0 * (top as f64).sqrt() + 2.0);
        }
    }
}
