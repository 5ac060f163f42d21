//! Parameters of several parties.

use crate::error::{Error, PartyError, Result};
use crate::needs::RealNeeds;
use he_core::ckks::CkksParams;
use he_core::params::ParamsError;
use std::ops::RangeInclusive;

/// Bits of precision that several parties lose beside one: by the noise of their keys.
const PARTY_BITS: u32 = 11;

/// The precisions that can be asked for, in bits.
const PRECISION: RangeInclusive<u32> = 4..=60 - PARTY_BITS;

/// Parameters whose results keep the precision of the needs after a collective decryption. If it is
/// only a `wish`, they keep as much of it as is possible.
///
/// # Errors
/// No parameters satisfy the needs, or one of the needs is out of range.
pub fn params(needs: &RealNeeds, wish: bool) -> Result<CkksParams> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::Published;

    /// The values that hints suggest are possible, and one bit more is not; a wish gets it at once.
    #[test]
    fn hints_can_be_followed() {
        let published = Some(Published { decryptions: 1024, security_bits: 40 });
        for depth in [0, 2, 12] {
            let needs = RealNeeds { depth, precision: 49, published, ..RealNeeds::default() };
            let error = params(&needs, false).unwrap_err();
            let most = most_precision(&error).unwrap();
            assert!(error.to_string().contains("49 bits of precision"), "{error}");
            let found = params(&RealNeeds { precision: most, ..needs.clone() }, false).unwrap();
            assert!(
                params(&RealNeeds { precision: most + 1, ..needs.clone() }, false).is_err(),
                "{depth}: {most}"
            );
            assert_eq!(found, params(&needs, true).unwrap());
        }
        for precision in [3, 50] {
            assert!(params(&RealNeeds { precision, published, ..RealNeeds::default() }, true).is_err());
        }
    }
}
