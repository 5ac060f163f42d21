//! The choice of parameters for a program.

use super::Predicted;
use crate::arith::is_prime;
use crate::error::{Error, Result};
use crate::exact::{Params, Scheme};
use crate::params::ParamsError;
use std::ops::RangeInclusive;

/// Requirements on parameters in addition to the depth of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamsChoice {
    /// The plaintext modulus is a prime above this; 2 for bits.
    pub plain_above: u64,
    /// The bits of predicted noise budget that every result keeps.
    pub margin_bits: u32,
    /// The range of log2 of the degrees that are tried, within 12 ... 16.
    pub log_n: RangeInclusive<u32>,
}

impl Default for ParamsChoice {
    fn default() -> Self {
        Self { plain_above: 2, margin_bits: 10, log_n: 12..=16 }
    }
}

/// Parameters of 128-bit security on which `program` runs: the smallest degree, the least prime
/// t = 1 mod 2N, and of the chains of [`Builder`](crate::exact::Builder) the shortest on which no
/// prediction falls below the margin. `program` is run only on predictions.
///
/// ```
/// use he_core::bgv::Bgv;
/// use he_core::circuits::bits::{Builder, less_than, packed::*};
/// # fn main() -> he_core::Result<()> {
/// let mut c = Builder::new(16).with_multiplexers();
/// let (x, y) = (c.input(0..8), c.input(8..16));
/// let less = less_than(&mut c, &x, &y);
/// let circuit = c.finish(&[less]);
/// let params = params_for::<Bgv>(&ParamsChoice::default(), |prediction| {
///     let gates = SlotGates::new(prediction);
///     let bits = gates.bits(gates.arithmetic().fresh(16));
///     circuit.run(&gates, &bits).map(drop)
/// })?;
/// assert_eq!(params.rlwe().ring().log_n(), 14);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`ParamsError::DepthUnreachable`] if no degree suffices, [`ParamsError::OutOfRange`] for degrees
/// that are not tried; other errors of the program.
pub fn params_for<S: Scheme>(
    choice: &ParamsChoice,
    program: impl Fn(Predicted<'_, S>) -> Result<()>,
) -> Result<Params<S>> {
    let margin = f64::from(choice.margin_bits);
    let outside = |found: &u32| ParamsError::OutOfRange {
        what: "log2 of the degree",
        found: f64::from(*found),
        lowest: 12.0,
        highest: 16.0,
    };
    let (first, last) = (choice.log_n.start(), choice.log_n.end());
    let mut unreachable = outside(first);
    if first > last || *first < 12 || *last > 16 {
        return Err(outside(if *first < 12 { first } else { last }).into());
    }
    for log_n in choice.log_n.clone() {
        let plain = slot_prime(choice.plain_above, log_n)?;
        let mut best: Option<Params<S>> = None;
        for unit_correction_factors in [false, true] {
            let chain = Chain { plain, log_n, unit_correction_factors };
            // Chains by increasing room: first too short, then long enough, then no longer secure.
            let (mut low, mut high) = (0, MOST);
            while low < high {
                let room = (low + high) / 2;
                let params = match chain.of_room(room) {
                    Ok(params) => params,
                    Err(
                        error @ (ParamsError::DepthUnreachable { .. } | ParamsError::NotEnoughPrimes { .. }),
                    ) => {
                        unreachable = error;
                        high = room;
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                };
                match program(Predicted::new(&params, margin)) {
                    Ok(()) => {
                        let log_qp = |params: &Params<S>| params.rlwe().ring().log_qp();
                        if best.as_ref().is_none_or(|best| log_qp(&params) < log_qp(best)) {
                            best = Some(params);
                        }
                        high = room;
                    }
                    Err(Error::BudgetSpent { .. }) => low = room + 1,
                    Err(error) => return Err(error),
                }
            }
        }
        if let Some(params) = best {
            return Ok(params);
        }
    }
    Err(unreachable.into())
}

/// The greatest depth of a chain, in thirds.
const MOST: usize = 180;

struct Chain {
    plain: u64,
    log_n: u32,
    unit_correction_factors: bool,
}

impl Chain {
    /// The chain for a depth of room / 3, with thirds of a product's bits as margin.
    fn of_room<S: Scheme>(&self, room: usize) -> std::result::Result<Params<S>, ParamsError> {
        let builder = Params::<S>::for_depth(self.plain, room / 3)
            .margin_bits(1 + 12 * (room % 3) as u32)
            .slots()
            .log_n(self.log_n);
        if self.unit_correction_factors { builder.unit_correction_factors().build() } else { builder.build() }
    }
}

/// The least prime above `above` that is 1 modulo 2N.
fn slot_prime(above: u64, log_n: u32) -> std::result::Result<u64, ParamsError> {
    let step = 2u64 << log_n;
    let none = ParamsError::NoSlots { found: above, log_n };
    let first = (above / step).checked_mul(step).and_then(|x| x.checked_add(1)).ok_or(none.clone())?;
    let candidates = std::iter::successors(Some(first), |x| x.checked_add(step)).take_while(|x| x >> 61 == 0);
    candidates.filter(|&x| x > above).find(|&x| is_prime(x)).ok_or(none)
}
