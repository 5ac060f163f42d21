//! The predicted sizes, operations and failures of a plan.

use crate::plan::Params;
use std::fmt;

/// Predictions for the planned number of items of both parties. Bytes are those of messages,
/// without headers of less than 1 KB each.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The request and the response, each.
    pub round_bytes: u64,
    /// The query without its key.
    pub query_bytes: u64,
    /// The relinearisation key of the query.
    pub key_bytes: u64,
    /// The answer.
    pub answer_bytes: u64,
    /// The prepared polynomials in the memory of the server.
    pub memory_bytes: u64,
    /// The bundles of polynomials.
    pub bundles: usize,
    /// The points in each slot of a bundle.
    pub degree: usize,
    /// The powers that a client sends.
    pub powers: usize,
    /// The products of two ciphertexts per answer.
    pub products: usize,
    /// The products of a plaintext and a ciphertext per answer.
    pub plain_products: usize,
    /// The noise budget of an answer in bits.
    pub budget: f64,
    /// log2 of the bound on the probability that the client's items find no places.
    pub table_failure_log2: f64,
    /// log2 of the bound on the probability of any false match.
    pub false_positive_log2: f64,
}

/// The bits of residues modulo all of these primes, as they are packed.
fn bits(primes: &[u64]) -> u64 {
    primes.iter().map(|q| u64::from(64 - q.leading_zeros())).sum()
}

impl Params {
    /// The predictions: bytes by the formulas of `docs/format.md`, operations by counting.
    pub fn facts(&self) -> Facts {
        let (shape, rlwe) = (self.shape(), self.bfv().rlwe());
        let (n, q) = (rlwe.ring().n() as u64, rlwe.ring().q());
        let [sums, answers] = self.levels().map(|level| level + 1);
        let (blocks, sources) = (shape.blocks as u64, shape.powers.sources().len());
        let values = (shape.bundles * shape.parts()) as u64 * blocks;
        Facts {
            round_bytes: 32 * self.plan().client_items(),
            query_bytes: blocks * sources as u64 * n * bits(q) / 8,
            key_bytes: rlwe.digits().len() as u64 * n * (bits(q) + bits(rlwe.ring().p())) / 8,
            answer_bytes: 2 * values * n * bits(&q[..answers]) / 8,
            memory_bytes: values * n * (4 * shape.degree + 8 + 8 * (shape.degree - 1) * sums) as u64,
            bundles: shape.bundles,
            degree: shape.degree,
            powers: sources * shape.blocks,
            products: shape.powers.products().len() * shape.blocks,
            plain_products: values as usize * (shape.degree - 1),
            budget: self.answer_budget(),
            table_failure_log2: self.table_failure_log2(),
            // A load beyond its bound makes one more bundle.
            false_positive_log2: self.false_positive_log2(shape.bundles + 1),
        }
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kb = |bytes: u64| bytes.div_ceil(1000);
        writeln!(f, "first round: {} KB each way", kb(self.round_bytes))?;
        writeln!(
            f,
            "query: {} powers, {} KB, and a key of {} KB",
            self.powers,
            kb(self.query_bytes),
            kb(self.key_bytes)
        )?;
        writeln!(
            f,
            "answer: {} bundles of degree {}, {} KB",
            self.bundles,
            self.degree,
            kb(self.answer_bytes)
        )?;
        writeln!(
            f,
            "work: {} products of ciphertexts, {} by plaintexts",
            self.products, self.plain_products
        )?;
        writeln!(f, "prepared set: {} MB of memory", self.memory_bytes.div_ceil(1_000_000))?;
        writeln!(f, "noise budget of the answer: {:.1} bits", self.budget)?;
        match self.table_failure_log2 {
            f64::NEG_INFINITY => write!(f, "failures: none for the client's table")?,
            failure => write!(f, "failures: 2^{failure:.1} for the client's table")?,
        }
        write!(f, ", 2^{:.1} for a false match", self.false_positive_log2)
    }
}
