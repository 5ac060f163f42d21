//! The primes of a ring that a device has: all of them, or every n-th in a group of n devices.

use he_core::Result;
use he_core::ring::{RingSpec, Span};
use std::ops::Range;

/// The share of a ring on one device of a group: the chain's primes i with i mod n = `device`, and
/// the special ones j counted from the last device down, j mod n = n - 1 - `device`. Levels drop
/// primes from the end of the chain, so the devices of a group keep equally many, or one more or
/// less; where the chain's do not divide evenly, the special ones begin with those that have fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    device: usize,
    devices: usize,
}

/// Limbs of the whole ring that a device has: `count` of them from `first` on, as many limbs apart
/// as there are devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) first: usize,
    pub(crate) count: usize,
}

impl Share {
    /// Everything.
    pub(crate) const WHOLE: Self = Self { device: 0, devices: 1 };

    /// The share of device `device` of `devices`.
    pub(crate) const fn of(device: usize, devices: usize) -> Self {
        Self { device, devices }
    }

    /// The number of devices, which is the distance of own limbs in the whole ring.
    pub(crate) const fn step(self) -> usize {
        self.devices
    }

    /// The own primes among the first `q` of the chain.
    const fn chain(self, q: usize) -> usize {
        (q + self.devices - 1 - self.device) / self.devices
    }

    /// The own primes among the first `p` special ones.
    const fn special(self, p: usize) -> usize {
        (p + self.device) / self.devices
    }

    /// The own primes of the whole ring's `span`, as a span of the ring of [`spec`](Self::spec).
    pub(crate) const fn span(self, span: Span) -> Span {
        Span { start: self.chain(span.start), q: self.chain(span.q), p: self.special(span.p) }
    }

    /// The own primes among a range of the chain.
    pub(crate) const fn range(self, range: &Range<usize>) -> Range<usize> {
        self.chain(range.start)..self.chain(range.end)
    }

    /// The places of the own limbs of a span in a buffer of all its limbs: those of the chain, then
    /// the special ones.
    pub(crate) const fn runs(self, span: Span) -> [Run; 2] {
        let own = self.span(span);
        let first = own.start * self.devices + self.device;
        [
            Run { first: first - span.start, count: own.chain_limbs() },
            Run { first: span.chain_limbs() + self.devices - 1 - self.device, count: own.p },
        ]
    }

    /// The own limbs of a span by their index in the whole ring, in the order in which they have
    /// them.
    pub(crate) fn limbs(self, span: Span) -> impl Iterator<Item = usize> + Clone {
        self.runs(span)
            .into_iter()
            .flat_map(move |run| (0..run.count).map(move |k| run.first + k * self.devices))
    }

    /// The words for the own limbs, from one word for each limb of a span; none if there are none.
    pub(crate) fn words(self, span: Span, words: &[u64]) -> Vec<u64> {
        if words.is_empty() { Vec::new() } else { self.limbs(span).map(|limb| words[limb]).collect() }
    }

    /// The ring of the own primes.
    ///
    /// # Errors
    /// There are none if the device has at least one prime of the chain.
    pub(crate) fn spec(self, whole: &RingSpec) -> Result<RingSpec> {
        if self == Self::WHOLE {
            return Ok(whole.clone());
        }
        let chain = whole.q().iter().skip(self.device).step_by(self.devices);
        let special = whole.p().iter().skip(self.devices - 1 - self.device).step_by(self.devices);
        Ok(RingSpec::new(whole.log_n(), chain.copied().collect(), special.copied().collect())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every limb of every span belongs to one device, at the place where the runs say, and its
    /// prime is that of the device's own ring.
    #[test]
    fn shares_partition_spans() {
        let primes = he_core::arith::ntt_primes_below(50, 4, 12, &[]).unwrap();
        let whole = RingSpec::new(4, primes[..7].to_vec(), primes[7..].to_vec()).unwrap();
        for devices in 1..=7 {
            let shares: Vec<Share> = (0..devices).map(|device| Share::of(device, devices)).collect();
            for (start, q, p) in
                (0..=7).flat_map(|start| (start..=7).flat_map(move |q| (0..=5).map(move |p| (start, q, p))))
            {
                let span = Span { start, q, p };
                let mut found: Vec<usize> = shares.iter().flat_map(|share| share.limbs(span)).collect();
                found.sort_unstable();
                assert_eq!(found, (0..span.limbs()).collect::<Vec<_>>(), "{devices}, {span}");
                for share in &shares {
                    let (own, spec) = (share.span(span), share.spec(&whole).unwrap());
                    let moduli: Vec<u64> = spec.moduli_of(own).map(|q| q.value()).collect();
                    let expected: Vec<u64> =
                        share.limbs(span).map(|limb| whole.modulus(span, limb).value()).collect();
                    assert_eq!(moduli, expected, "{share:?}, {span}");
                    assert_eq!(share.range(&(start..q)), own.start..own.q);
                }
                let limbs = shares.iter().map(|share| share.span(span).limbs());
                if start == 0 {
                    let (least, most) = (limbs.clone().min().unwrap(), limbs.max().unwrap());
                    assert!(most - least <= 2, "{devices}, {span}");
                }
            }
        }
        assert_eq!(Share::WHOLE.limbs(Span::extended(3, 2)).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(Share::of(1, 2).words(Span::extended(3, 2), &[5, 6, 7, 8, 9]), [6, 8]);
        assert_eq!(Share::of(0, 2).words(Span::extended(3, 2), &[]), [] as [u64; 0]);
    }
}
