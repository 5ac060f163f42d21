//! Parameters of several parties.

use crate::error::{Error, PartyError, Result};
use crate::needs::{IntegerNeeds, Published, RealNeeds, SUM_BITS};
use crate::scheme::Taken;
use he_core::ckks::CkksParams;
use he_core::exact::{Noise, Params, State};
use he_core::params::ParamsError;
use he_core::rlwe::Flooding;
use std::ops::RangeInclusive;

/// The needs of a session, by its scheme.
#[derive(Clone, Debug)]
pub enum Needs {
    /// RNS-CKKS.
    Ckks {
        /// The needs, without what is published.
        needs: RealNeeds,
        /// The precision is kept as far as possible.
        wish: bool,
    },
    /// BFV.
    Bfv(IntegerNeeds),
    /// BGV.
    Bgv(IntegerNeeds),
}

/// Bits of precision that several parties lose beside one: by the noise of their keys.
const PARTY_BITS: u32 = 11;

/// The precisions that can be asked for, in bits.
const PRECISION: RangeInclusive<u32> = 4..=60 - PARTY_BITS;

/// Parameters whose results keep the precision of the needs after a collective decryption. If it is
/// only a `wish`, they keep as much of it as is possible.
///
/// # Errors
/// No parameters satisfy the needs, or one of the needs is out of range.
pub fn real_params(needs: &RealNeeds, wish: bool, published: Published) -> Result<CkksParams> {
    let needs = RealNeeds { published: Some(published), ..needs.clone() };
    if !PRECISION.contains(&needs.precision) {
        let (lowest, highest) = PRECISION.into_inner();
        return Err(PartyError::Precision { found: needs.precision, lowest, highest }.into());
    }
    let with = |precision| RealNeeds { precision: precision + PARTY_BITS, ..needs.clone() }.params();
    match with(needs.precision).map_err(of_parties) {
        Err(error) if wish => match most_precision(&error) {
            Some(most) => with(most).map_err(of_parties),
            None => Err(error),
        },
        params => params,
    }
}

/// The greatest precision that is possible instead.
fn most_precision(error: &Error) -> Option<u32> {
    use ParamsError::{PublishedScale, Unreachable};
    match error {
        Error::Core(he_core::Error::InvalidParams(
            PublishedScale { most_precision, .. } | Unreachable { most_precision, .. },
        )) => *most_precision,
        _ => None,
    }
}

/// The error in the precision of several parties.
fn of_parties(mut error: Error) -> Error {
    use ParamsError::{PublishedScale, Unreachable};
    if let Error::Core(he_core::Error::InvalidParams(
        PublishedScale { precision_bits, most_precision, .. }
        | Unreachable { precision_bits, most_precision, .. },
    )) = &mut error
    {
        *precision_bits -= PARTY_BITS;
        let most = most_precision.and_then(|most| most.checked_sub(PARTY_BITS));
        *most_precision = most.filter(|most| PRECISION.contains(most));
    }
    error
}

/// Parameters that have room, after products and sums, for the floods of all parties: as many bits
/// of budget as these take beside those of [`IntegerNeeds::params`].
///
/// # Errors
/// [`PartyError::Integers`] if there are none, with the depth that is possible; one of the needs is
/// out of range.
pub fn integer_params<E: Taken>(
    needs: &IntegerNeeds,
    published: Published,
    parties: u32,
) -> Result<Params<E>> {
    let of = |depth| Search { needs: IntegerNeeds { depth, ..needs.clone() }, published, parties };
    if let Some(params) = of(needs.depth).params()? {
        return Ok(params);
    }
    // Below a depth that is possible, all are.
    let (mut possible, mut beyond) = (0, needs.depth);
    while possible < beyond {
        let middle = possible + (beyond - possible) / 2;
        match of(middle).params::<E>()? {
            Some(_) => possible = middle + 1,
            None => beyond = middle,
        }
    }
    let most = possible.checked_sub(1);
    let Published { decryptions, security_bits } = published;
    let (depth, modulus) = (needs.depth, needs.modulus()?);
    Err(PartyError::Integers { depth, modulus, parties, decryptions, security_bits, most }.into())
}

/// The greatest margin that parameters are made with, in bits.
const MOST_MARGIN: u32 = 1000;

/// The bits by which a margin grows if it is not known how many are lacking: those of a product are
/// many times as many.
const STEP: u32 = 16;

/// A search for the margin that several parties need.
struct Search {
    needs: IntegerNeeds,
    published: Published,
    parties: u32,
}

/// The room for floods that parameters have.
enum Room<E: Taken> {
    /// Enough.
    Enough(Params<E>),
    /// So many bits too little, or some more where products spend all that there is.
    Lacking(u32),
    /// There are no such parameters.
    Unreachable,
}

impl Search {
    /// The parameters of the first margin that is enough, if there are any. Each margin is greater
    /// than the last by what that lacked, and by no less than [`STEP`] where this is not known.
    fn params<E: Taken>(&self) -> Result<Option<Params<E>>> {
        let mut margin = SUM_BITS;
        loop {
            match self.room::<E>(margin)? {
                Room::Enough(params) => return Ok(Some(params)),
                Room::Lacking(bits) => margin = margin.saturating_add(bits),
                Room::Unreachable => return Ok(None),
            }
        }
    }

    /// The room that parameters of this margin have.
    fn room<E: Taken>(&self, margin: u32) -> Result<Room<E>> {
        if margin > MOST_MARGIN {
            return Ok(Room::Unreachable);
        }
        let params = match self.needs.with_margin::<E>(margin) {
            Err(Error::Core(he_core::Error::InvalidParams(ParamsError::DepthUnreachable { .. }))) => {
                return Ok(Room::Unreachable);
            }
            params => params?,
        };
        let of_parties = params.for_parties(self.parties as usize);
        let state = match after_products(&of_parties, self.needs.depth)? {
            Ok(state) => state,
            Err(left) => {
                // A product takes at least as many bits as t has.
                let bits = (left - 1) as f64 * of_parties.noise().t_log2();
                return Ok(Room::Lacking(STEP + bits.min(f64::from(MOST_MARGIN)) as u32));
            }
        };
        Ok(match missing_bits(&of_parties, state, self.published)? {
            0 => Room::Enough(params),
            bits => Room::Lacking(bits),
        })
    }
}

/// The state of a result after products of this depth, or how many of them are left when the
/// budget is spent.
fn after_products<E: Taken>(params: &Params<E>, depth: usize) -> Result<std::result::Result<State, usize>> {
    let mut state = params.fresh_state();
    for done in 0..depth {
        state = match params.state_of_product(state, state) {
            Err(he_core::Error::BudgetSpent { .. }) => return Ok(Err(depth - done)),
            state => state?,
        };
    }
    Ok(Ok(state))
}

/// The bits of budget that parameters lack for sums of results of this state, and for floods.
fn missing_bits<E: Taken>(params: &Params<E>, state: State, published: Published) -> Result<u32> {
    let Published { decryptions, security_bits } = published;
    let Noise { rms_log2, peak_log2, degree } = state.noise();
    let [rms_log2, peak_log2] = [rms_log2, peak_log2].map(|log2| log2 + f64::from(SUM_BITS));
    let sums = Noise { rms_log2, peak_log2, degree };
    let state = match params.state(state.level(), state.correction_factor(), sums) {
        Err(he_core::Error::BudgetSpent { .. }) => return Ok(STEP),
        state => state?,
    };
    let flooding = Flooding::Statistical { security_bits, decryptions };
    match params.flood_bits(state, flooding, params.noise().parties()) {
        Err(he_core::Error::FloodTooWide { needed_bits, available_bits }) => {
            Ok((needed_bits - available_bits).max(1))
        }
        bits => bits.map(|_| 0).map_err(Error::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use he_core::bfv::Bfv;
    use he_core::bgv::Bgv;

    /// The values that hints suggest are possible, and one bit more is not; a wish gets it at once.
    #[test]
    fn hints_can_be_followed() {
        let published = Published { decryptions: 1024, security_bits: 40 };
        for depth in [0, 2, 12] {
            let needs = RealNeeds { depth, precision: 49, ..RealNeeds::default() };
            let error = real_params(&needs, false, published).unwrap_err();
            let most = most_precision(&error).unwrap();
            assert!(error.to_string().contains("49 bits of precision"), "{error}");
            let found =
                real_params(&RealNeeds { precision: most, ..needs.clone() }, false, published).unwrap();
            assert!(
                real_params(&RealNeeds { precision: most + 1, ..needs.clone() }, false, published).is_err(),
                "{depth}: {most}"
            );
            assert_eq!(found, real_params(&needs, true, published).unwrap());
        }
        for precision in [3, 50] {
            assert!(real_params(&RealNeeds { precision, ..RealNeeds::default() }, true, published).is_err());
        }
    }

    /// Parameters for integers hold the floods after all products and sums, which those of one
    /// owner do not; where there are none, the depth of the hint has some, and the next has none.
    fn integers_have_room<E: Taken>() {
        let published = Published { decryptions: 1024, security_bits: 40 };
        for (depth, bits, parties) in [(0, 16, 2), (3, 20, 100)] {
            let needs = IntegerNeeds { depth, bits, ..IntegerNeeds::default() };
            let missing = |params: &Params<E>| {
                let params = params.for_parties(parties as usize);
                let state = after_products(&params, depth).unwrap().ok()?;
                Some(missing_bits(&params, state, published).unwrap())
            };
            let found = integer_params::<E>(&needs, published, parties).unwrap();
            assert_eq!(missing(&found), Some(0));
            assert_ne!(missing(&needs.params::<E>().unwrap()), Some(0));
        }
        let needs =
            IntegerNeeds { depth: 9, plain_modulus: Some(65537), security: 256, ..IntegerNeeds::default() };
        let Err(Error::Party(error)) = integer_params::<E>(&needs, published, 3) else { panic!() };
        let PartyError::Integers { most: Some(most), .. } = error else { panic!("{error}") };
        assert!(Error::from(error).hint().unwrap().contains(&format!("a depth of at most {most}, ")));
        let with = |depth| integer_params::<E>(&IntegerNeeds { depth, ..needs.clone() }, published, 3);
        assert!(with(most).is_ok() && with(most + 1).is_err(), "{most}");
    }

    #[test]
    fn integers_of_both_schemes_have_room() {
        integers_have_room::<Bfv>();
        integers_have_room::<Bgv>();
    }
}
