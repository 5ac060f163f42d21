//! Answers: the powers of a query, and one sum of products for each bundle of polynomials.

use crate::error::Result;
use crate::messages::{Answer, Query, check_key, check_parts, check_plan};
use crate::oprf::ServerKeyId;
use crate::plan::Params;
use crate::polynomials::Polynomials;
use he_core::backend::RingOps;
use he_core::bfv::{BfvCiphertext, BfvEvaluator};
use he_core::rlwe::EvaluationKeys;

/// The products of ciphertexts that are computed at once.
const PRODUCTS_AT_ONCE: usize = 16;

/// Answers a query by all polynomials of a set.
///
/// # Errors
/// The query is of another plan, for another key or of another shape; device errors.
pub(crate) fn answer<'a, B: RingOps>(
    params: &Params,
    key: ServerKeyId,
    ev: &BfvEvaluator<B>,
    polynomials: impl Iterator<Item = &'a Polynomials<B>>,
    query: Query<B>,
) -> Result<Answer<B>> {
    check_plan("the query", &query.plan, params)?;
    check_key("the query", query.key, key)?;
    check_parts("the query", "blocks", query.blocks.len(), params.shape().blocks)?;
    let powers = query.blocks.into_iter().map(|block| {
        let sources = params.shape().powers.sources().len();
        check_parts("the query", "powers", block.batch(), sources)?;
        check_parts("the query", "primes", block.level() + 1, params.bfv().max_level() + 1)?;
        powers(params, ev, &block.expand()?, &query.keys)
    });
    let powers: Vec<Vec<BfvCiphertext<B>>> = powers.collect::<Result<_>>()?;
    let bundles = polynomials.map(|bundle| bundle.answer(params, &powers, ev)).collect::<Result<_>>()?;
    Ok(Answer { plan: query.plan, key: query.key, bundles })
}

/// All powers of a block at the level of sums.
fn powers<B: RingOps>(
    params: &Params,
    ev: &BfvEvaluator<B>,
    sources: &BfvCiphertext<B>,
    keys: &EvaluationKeys<B>,
) -> Result<Vec<BfvCiphertext<B>>> {
    let (powers, level) = (params.shape().powers, params.levels()[0]);
    let mut all: Vec<Option<BfvCiphertext<B>>> = (0..=powers.top()).map(|_| None).collect();
    let mut keep = |exponents: &[usize], batch: &BfvCiphertext<B>| -> Result<()> {
        let batch = ev.mod_switch_to(batch, level)?;
        for (entry, &exponent) in exponents.iter().enumerate() {
            if exponent <= powers.top() {
                all[exponent] = Some(batch.slice_batch(entry..entry + 1)?);
            }
        }
        Ok(())
    };
    let sent: Vec<usize> = powers.sources().into_iter().map(|exponent| exponent as usize).collect();
    keep(&sent, sources)?;
    let entries: Vec<BfvCiphertext<B>> =
        (0..sent.len()).map(|i| sources.slice_batch(i..i + 1)).collect::<he_core::Result<_>>()?;
    for chunk in powers.products().chunks(PRODUCTS_AT_ONCE) {
        let side = |pick: fn(&(usize, usize, usize)) -> usize| {
            BfvCiphertext::concat(&chunk.iter().map(|product| &entries[pick(product)]).collect::<Vec<_>>())
        };
        let products = ev.mul(&side(|p| p.1)?, &side(|p| p.2)?, keys)?;
        keep(&chunk.iter().map(|p| p.0).collect::<Vec<_>>(), &products)?;
    }
    Ok(all.into_iter().flatten().collect())
}
