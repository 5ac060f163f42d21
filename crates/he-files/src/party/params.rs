//! Parameters of several parties.

use crate::error::{Error, PartyError, Result};
use crate::needs::{IntegerNeeds, Published, RealNeeds, SUM_BITS};
use crate::scheme::Taken;
use he_core::ckks::CkksParams;
use he_core::exact::{Noise, Params};
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
    let Published { decryptions, security_bits } = published;
    let found = |needs: &IntegerNeeds| -> Result<Params<E>> {
        let mut margin = SUM_BITS;
        loop {
            let params = needs.with_margin::<E>(margin)?;
            match missing_bits(&params.for_parties(parties as usize), needs.depth, published)? {
                0 => return Ok(params),
                bits => margin += bits,
            }
        }
    };
    found(needs).map_err(|error| match error {
        Error::Core(he_core::Error::InvalidParams(ParamsError::DepthUnreachable { .. })) => {
            // Below a depth that is possible, all are.
            let (depth, modulus) = (needs.depth, needs.modulus().unwrap_or_default());
            let depths: Vec<usize> = (0..depth).collect();
            let possible = |&depth: &usize| found(&IntegerNeeds { depth, ..needs.clone() }).is_ok();
            let most = depths.partition_point(possible).checked_sub(1);
            PartyError::Integers { depth, modulus, parties, decryptions, security_bits, most }.into()
        }
        error => error,
    })
}

/// The bits of budget that parameters lack for floods after products of this depth and for sums.
fn missing_bits<E: Taken>(params: &Params<E>, depth: usize, published: Published) -> Result<u32> {
    let Published { decryptions, security_bits } = published;
    let mut state = params.fresh_state();
    for _ in 0..depth {
        state = match params.state_of_product(state, state) {
            // The noise of keys of so many parties alone is too much.
            Err(he_core::Error::BudgetSpent { .. }) => return Ok(1),
            state => state?,
        };
    }
    let Noise { rms_log2, peak_log2, degree } = state.noise();
    let [rms_log2, peak_log2] = [rms_log2, peak_log2].map(|log2| log2 + f64::from(SUM_BITS));
    let sums = Noise { rms_log2, peak_log2, degree };
    let state = params.state(state.level(), state.correction_factor(), sums)?;
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
            let found = integer_params::<E>(&needs, published, parties).unwrap();
            assert_eq!(missing_bits(&found.for_parties(parties as usize), depth, published).unwrap(), 0);
            let plain = needs.params::<E>().unwrap();
            assert!(missing_bits(&plain.for_parties(parties as usize), depth, published).unwrap() > 0);
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
