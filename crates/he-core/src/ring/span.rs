//! The primes that a polynomial holds, and the place of its limbs in a buffer.

/// A set of primes of a ring: those of the chain with index `start <= i < q`, then the first `p`
/// special ones. The final prime of the chain comes last among the chain's, so that dropping a
/// level truncates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Span {
    /// First prime of the chain.
    pub start: usize,
    /// One past the last prime of the chain.
    pub q: usize,
    /// Special primes.
    pub p: usize,
}

impl Span {
    /// The first `q` primes of the chain.
    pub const fn chain(q: usize) -> Self {
        Self { start: 0, q, p: 0 }
    }

    /// The first `q` primes of the chain and `p` special ones.
    pub const fn extended(q: usize, p: usize) -> Self {
        Self { start: 0, q, p }
    }

    /// Only the special primes.
    pub const fn special(p: usize) -> Self {
        Self { start: 0, q: 0, p }
    }

    /// Primes `start <= i < end` of the chain.
    pub const fn digit(start: usize, end: usize) -> Self {
        Self { start, q: end, p: 0 }
    }

    /// Number of primes from the chain.
    pub const fn chain_limbs(&self) -> usize {
        self.q - self.start
    }

    /// Number of limbs.
    pub const fn limbs(&self) -> usize {
        self.chain_limbs() + self.p
    }

    /// Index of limb `i`'s prime in [`RingSpec::primes`](super::RingSpec::primes) of a ring with
    /// `chain` chain primes.
    #[inline(always)]
    pub const fn prime(&self, i: usize, chain: usize) -> usize {
        if i < self.chain_limbs() { self.start + i } else { chain + i - self.chain_limbs() }
    }

    /// The first `keep` limbs, which are of the chain: the primes that a division by the
    /// [`tail`](Self::tail) keeps.
    pub const fn head(&self, keep: usize) -> Self {
        Self { start: self.start, q: self.start + keep, p: 0 }
    }

    /// The set without its first `keep` limbs, that is, the primes dropped by a division by the
    /// trailing primes.
    pub const fn tail(&self, keep: usize) -> Self {
        if keep < self.chain_limbs() {
            Self { start: self.start + keep, q: self.q, p: self.p }
        } else {
            debug_assert!(keep == self.chain_limbs());
            Self::special(self.p)
        }
    }
}

impl std::fmt::Display for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "q{}..{}", self.start, self.q)?;
        if self.p > 0 {
            write!(f, "+{}p", self.p)?;
        }
        Ok(())
    }
}

/// A run of limbs in a buffer: limb `i`, batch entry `b`, coefficient `k` at word
/// `at + (i batch + b) N + k`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rows {
    /// The primes of the limbs.
    pub span: Span,
    /// The number of polynomials in the batch.
    pub batch: usize,
    /// First word.
    pub at: usize,
}

impl Rows {
    /// Limbs from the start of the buffer.
    pub const fn new(span: Span, batch: usize) -> Self {
        Self { span, batch, at: 0 }
    }

    /// The same limbs at another place.
    pub const fn at(self, at: usize) -> Self {
        Self { at, ..self }
    }

    /// Number of rows of N words.
    pub const fn count(&self) -> usize {
        self.span.limbs() * self.batch
    }
}

/// A read-only operand with the limbs of the [`Rows`] that it goes with: at word `at`, with as many
/// batch entries as those, with a single one that serves all of them, or with more, of which it is
/// as many as the rows have: a view of a larger batch, which begins at word 0 of the buffer.
#[derive(Debug)]
pub struct Operand<'a, T> {
    /// The buffer.
    pub buf: &'a T,
    /// First word.
    pub at: usize,
    /// Batch entries from one limb to the next: those of the rows, 1, or more in a view.
    pub batch: usize,
}

impl<T> Clone for Operand<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Operand<'_, T> {}

impl<'a, T> Operand<'a, T> {
    /// An operand from the start of a buffer.
    pub const fn new(buf: &'a T, batch: usize) -> Self {
        Self { buf, at: 0, batch }
    }

    /// An entry of a batch of polynomials of `n` words from the start of a buffer, or the only one.
    pub const fn entry(buf: &'a T, batch: usize, entry: usize, n: usize) -> Self {
        Self { buf, at: if batch == 1 { 0 } else { entry * n }, batch }
    }

    /// An operand at a word of a buffer.
    pub const fn at(buf: &'a T, batch: usize, at: usize) -> Self {
        Self { buf, at, batch }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limbs_map_to_primes() {
        let span = Span { start: 2, q: 5, p: 2 };
        assert_eq!((0..span.limbs()).map(|i| span.prime(i, 8)).collect::<Vec<_>>(), [2, 3, 4, 8, 9]);
        assert_eq!(span.tail(1), Span { start: 3, q: 5, p: 2 });
        assert_eq!(span.tail(3), Span::special(2));
        assert_eq!(format!("{} {}", Span::chain(3), span), "q0..3 q2..5+2p");
    }
}
