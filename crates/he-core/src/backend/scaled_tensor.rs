//! The provided body of [`ExactOps::scaled_tensor`].

#[cfg(doc)]
use super::ExactOps;
use super::{Backend, PolyOps};
use crate::error::Result;
use crate::ring::{Operand, RingSpec, Rows, Span};

/// The shape of a scale-invariant product, with chain primes of product Q and special ones of
/// product R, and its constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScaledTensor {
    /// The chain's first primes and the first special ones.
    pub span: Span,
    /// The batch of the first operand and of the result.
    pub batch: usize,
    /// R modulo the primes of Q.
    pub r: Vec<u64>,
    /// -1/Q modulo the primes of R.
    pub minus_q_inverse: Vec<u64>,
    /// t modulo all of them.
    pub t: Vec<u64>,
}

impl ScaledTensor {
    /// For the first `q` primes of the chain and the first `p` special ones.
    pub fn new(spec: &RingSpec, q: usize, p: usize, batch: usize, t: u64) -> Self {
        let (chain, special) = (&spec.q_moduli()[..q], &spec.p_moduli()[..p]);
        Self {
            span: Span::extended(q, p),
            batch,
            r: chain.iter().map(|m| m.product_of(special)).collect(),
            minus_q_inverse: special.iter().map(|m| m.neg(m.inv(m.product_of(chain)))).collect(),
            t: chain.iter().chain(special).map(|m| m.reduce(t)).collect(),
        }
    }

    /// The primes of Q.
    pub const fn chain(&self) -> Span {
        Span::chain(self.span.q)
    }

    /// The primes of R.
    pub const fn special(&self) -> Span {
        Span::special(self.span.p)
    }
}

/// [`ExactOps::scaled_tensor`] by small operations (HPSPOVERQ of Kim, Polyakov, Zucca 2021, section
/// 4): `a` is extended to Q R as it is, `b` is replaced by round(R b / Q) = (R b - [R b]_Q) / Q
/// modulo R and extended to Q R, and the products, times t, are divided by R.
///
/// # Errors
/// Device errors.
pub fn scaled_tensor<R: PolyOps>(
    ring: &R,
    shape: &ScaledTensor,
    a: [Operand<'_, R::Buf>; 2],
    b: [Operand<'_, R::Buf>; 2],
) -> Result<[R::Buf; 3]> {
    let body = Body { ring, shape, n: ring.spec().n() };
    let carried = [body.carry(a[0])?, body.carry(a[1])?];
    let exchanged = [body.exchange(b[0])?, body.exchange(b[1])?];
    let [d0, d1, d2] = ring.tensor(
        Rows::new(shape.span, shape.batch),
        [0, 1].map(|i| Operand::new(&carried[i], a[i].batch)),
        [0, 1].map(|i| Operand::new(&exchanged[i], b[i].batch)),
    )?;
    let divided = |d| ring.mod_down(shape.span, shape.span.q, shape.batch, d);
    Ok([divided(d0)?, divided(d1)?, divided(d2)?])
}

struct Body<'a, R: PolyOps> {
    ring: &'a R,
    shape: &'a ScaledTensor,
    n: usize,
}

impl<R: PolyOps> Body<'_, R> {
    /// Copies an operand as coefficients.
    fn coefficients(&self, c: Operand<'_, R::Buf>) -> Result<R::Buf> {
        let chain = Rows::new(self.shape.chain(), c.batch);
        let mut coefficients = self.ring.backend().scratch(chain.count() * self.n)?;
        self.ring.backend().copy(c.buf, c.at, &mut coefficients, 0, chain.count() * self.n)?;
        self.ring.intt(chain, &mut coefficients)?;
        Ok(coefficients)
    }

    /// c over Q R, in evaluation form.
    fn carry(&self, c: Operand<'_, R::Buf>) -> Result<R::Buf> {
        let (ring, n) = (self.ring, self.n);
        let chain = Rows::new(self.shape.chain(), c.batch);
        let special = Rows::new(self.shape.special(), c.batch).at(chain.count() * n);
        let coefficients = self.coefficients(c)?;
        let mut carried = ring.backend().scratch((chain.count() + special.count()) * n)?;
        ring.backend().copy(c.buf, c.at, &mut carried, 0, chain.count() * n)?;
        ring.convert_basis(chain, &coefficients, special, &mut carried)?;
        ring.ntt(special, &mut carried)?;
        Ok(carried)
    }

    /// t round(R c / Q) over Q R, in evaluation form.
    fn exchange(&self, c: Operand<'_, R::Buf>) -> Result<R::Buf> {
        let (ring, n, shape) = (self.ring, self.n, self.shape);
        let chain = Rows::new(shape.chain(), c.batch);
        let special = Rows::new(shape.special(), c.batch);
        let rows = Rows::new(shape.span, c.batch);
        let mut coefficients = self.coefficients(c)?;
        ring.scale_assign(chain, &mut coefficients, &shape.r)?;
        let mut scaled = ring.backend().scratch(special.count() * n)?;
        ring.convert_basis(chain, &coefficients, special, &mut scaled)?;
        ring.scale_assign(special, &mut scaled, &shape.minus_q_inverse)?;
        let mut exchanged = ring.backend().scratch(rows.count() * n)?;
        ring.convert_basis(special, &scaled, chain, &mut exchanged)?;
        ring.backend().copy(&scaled, 0, &mut exchanged, chain.count() * n, special.count() * n)?;
        ring.ntt(rows, &mut exchanged)?;
        ring.scale_assign(rows, &mut exchanged, &shape.t)?;
        Ok(exchanged)
    }
}
