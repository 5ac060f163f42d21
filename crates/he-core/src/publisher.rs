//! Decryptions that others see, counted.

use crate::error::{Error, Result};
use crate::rlwe::Flooding;
use crate::rlwe::noise::TAIL;

/// The decryptions under one secret key that others will ever see: how many there may be, how many
/// of them are left, and the security that all of them together keep.
///
/// Anyone who sees enough decryptions of results of their choice learns the key: from the noise of
/// CKKS (Li, Micciancio, *On the Security of Homomorphic Encryption on Approximate Numbers*, 2021),
/// and from the failures of exact schemes (Cheon, Choe, Passelegue, Stehle, Suvanto, *Attacks
/// Against the IND-CPA-D Security of Exact FHE Schemes*, 2024; Checri, Sirdey, Boudguiga, Bultel,
/// *On the Practical CPA-D Security of "exact" and Threshold FHE Schemes and Libraries*, 2024). For
/// D decryptions and a security of s bits, all together are within a statistical distance of 2^-s
/// from decryptions that do not depend on the key:
///
/// - CKKS and bigckks add a flood of b = s + log2 D + log2 N + log2 E - 1 bits
///   ([`Flooding::Statistical`]; Li, Micciancio, Schultz, Sorrell, *Securing Approximate
///   Homomorphic Encryption Using Differential Privacy*, 2022, do so with Gaussian noise):
///   [`ckks::Decryptor::publish`](crate::ckks::Decryptor::publish);
/// - BFV and BGV decrypt correctly, except with probability 2^-s over all D N coefficients, each of
///   which exceeds k root mean squares with probability 2 exp(-k^2 / 2):
///   [`exact::Decryptor::publish`](crate::exact::Decryptor::publish);
/// - TFHE likewise, by the failure probability of its parameters:
///   [`TfheSecretKey::publish`](crate::tfhe::TfheSecretKey::publish).
///
/// Publications that are refused before the secret key is used do not count. Whatever comes after
/// that does, even if it ends in an error, because errors can be seen, too. A publisher cannot be
/// cloned: copies would count apart. A holder who publishes in several runs of a program keeps
/// [`left`](Self::left) and goes on with [`resume`](Self::resume).
///
/// ```
/// # use he_core::{backend::Cpu, bfv::*, ring::Ring, rlwe::*, Publisher};
/// # fn main() -> he_core::Result<()> {
/// # let params = BfvParams::for_depth(65537, 1).slots().build()?;
/// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
/// # let mut rng = he_core::rand::rng();
/// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
/// # let x = BfvSecretEncryptor::new(&params, &secret, &ring)?.encrypt_slots(&[3i64], &mut rng)?.expand()?;
/// let decryptor = BfvDecryptor::new(&params, &secret, &ring)?;
/// let mut publisher = Publisher::new(40, 2)?;
/// decryptor.publish(&x, &mut publisher)?;
/// decryptor.publish(&x, &mut publisher)?;
/// assert!(decryptor.publish(&x, &mut publisher).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Publisher {
    security_bits: u32,
    decryptions: u64,
    left: u64,
}

impl Publisher {
    /// Allows `decryptions` ciphertexts to be decrypted, counting each entry of a batch, with
    /// `security_bits` of statistical security for all together: 40 or more against those who can
    /// observe, but not compute.
    ///
    /// # Errors
    /// [`Error::Argument`] unless the security is from 1 to 256 bits and there is a decryption.
    pub fn new(security_bits: u32, decryptions: u64) -> Result<Self> {
        Self::resume(security_bits, decryptions, decryptions)
    }

    /// Makes a publisher of which `left` decryptions have not been used.
    ///
    /// # Errors
    /// The same as for [`new`](Self::new); [`Error::Argument`] if more are left than there were.
    pub fn resume(security_bits: u32, decryptions: u64, left: u64) -> Result<Self> {
        Flooding::Statistical { security_bits, decryptions }.check()?;
        if left > decryptions {
            return Err(Error::domain(
                "publisher",
                format!("{left} decryptions left of {decryptions}"),
                "no more can be left than were allowed",
            ));
        }
        Ok(Self { security_bits, decryptions, left })
    }

    /// Bits of statistical security.
    pub fn security_bits(&self) -> u32 {
        self.security_bits
    }

    /// The decryptions that were allowed.
    pub fn decryptions(&self) -> u64 {
        self.decryptions
    }

    /// The decryptions that are left.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Moves `count` of the decryptions that are left to a publisher of their own, under the same
    /// security and the same number of all decryptions. So a thread can publish while others do,
    /// and no decryption is counted twice. The decryptions that a part has left when it is dropped
    /// count as used; [`rejoin`](Self::rejoin) brings them back.
    ///
    /// # Errors
    /// [`Error::DecryptionsSpent`] if fewer are left: then none are moved.
    pub fn split(&mut self, count: u64) -> Result<Self> {
        let (left, of) = (self.left, self.decryptions);
        self.left = left.checked_sub(count).ok_or(Error::DecryptionsSpent { asked: count, left, of })?;
        Ok(Self { left: count, ..*self })
    }

    /// Takes back what a part has left.
    ///
    /// # Errors
    /// [`Error::Argument`] for a publisher that is not a part of this one: of another security or
    /// number of decryptions, or with more left than were moved.
    pub fn rejoin(&mut self, part: Self) -> Result<()> {
        let alike = (part.security_bits, part.decryptions) == (self.security_bits, self.decryptions);
        match self.left.checked_add(part.left).filter(|&left| alike && left <= self.decryptions) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Error::domain(
                "publisher",
                format!(
                    "{} decryptions left of {} with {} bits of security come back",
                    part.left, part.decryptions, part.security_bits
                ),
                "only a part that was split off comes back",
            )),
        }
    }

    /// The flood of each decryption.
    pub fn flooding(&self) -> Flooding {
        Flooding::Statistical { security_bits: self.security_bits, decryptions: self.decryptions }
    }

    /// log2 of the root mean squares k that no coefficient of noise may exceed: 2 exp(-k^2 / 2) D N
    /// <= 2^-s, so k = sqrt(2 ln 2 (s + 1 + log2 D + log2 N)).
    pub(crate) fn tail_log2(&self, n: usize) -> f64 {
        let bits = f64::from(self.security_bits) + 1.0 + self.decryptions_log2() + libm::log2(n as f64);
        libm::log2(2.0 * std::f64::consts::LN_2 * bits) / 2.0
    }

    /// The predicted budget that BFV and BGV need beyond what they measure: that of [`TAIL`] root
    /// mean squares is 0.
    pub(crate) fn margin_bits(&self, n: usize) -> f64 {
        (self.tail_log2(n) - libm::log2(TAIL)).max(0.0)
    }

    /// log2 of the probability with which a lookup may fail, if `lookups_log2` are behind each
    /// decryption.
    pub(crate) fn failure_log2(&self, lookups_log2: f64) -> f64 {
        -f64::from(self.security_bits) - self.decryptions_log2() - lookups_log2
    }

    fn decryptions_log2(&self) -> f64 {
        libm::log2(self.decryptions as f64)
    }

    /// Publishes `count` decryptions with the flood of each: `fits` says its width before any of
    /// them counts, and `decrypt` comes after all do.
    ///
    /// # Errors
    /// [`Error::DecryptionsSpent`], and the errors of `fits`, none of which counts; the errors of
    /// `decrypt`.
    pub(crate) fn flooded<T>(
        &mut self,
        count: usize,
        fits: impl FnOnce(Flooding) -> Result<u32>,
        decrypt: impl FnOnce(Flooding) -> Result<T>,
    ) -> Result<T> {
        self.expect(count)?;
        fits(self.flooding())?;
        self.take(count)?;
        decrypt(self.flooding())
    }

    /// Whether so many decryptions are left.
    ///
    /// # Errors
    /// [`Error::DecryptionsSpent`].
    fn expect(&self, count: usize) -> Result<u64> {
        let (asked, left) = (count as u64, self.left);
        left.checked_sub(asked).ok_or(Error::DecryptionsSpent { asked, left, of: self.decryptions })
    }

    /// Counts decryptions.
    ///
    /// # Errors
    /// [`Error::DecryptionsSpent`]: then nothing is counted.
    pub(crate) fn take(&mut self, count: usize) -> Result<()> {
        self.left = self.expect(count)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decryptions_are_counted_to_the_end() {
        let mut publisher = Publisher::new(40, 5).unwrap();
        publisher.take(2).unwrap();
        let error = publisher.take(4).unwrap_err();
        assert!(matches!(error, Error::DecryptionsSpent { asked: 4, left: 3, of: 5 }), "{error}");
        assert_eq!(publisher.left(), 3);
        publisher.take(3).unwrap();
        assert!(publisher.take(1).is_err() && publisher.take(0).is_ok());
        let resumed = Publisher::resume(40, 5, 0).unwrap();
        assert_eq!(resumed, publisher);
        for wrong in [Publisher::new(0, 1), Publisher::new(257, 1), Publisher::new(40, 0)] {
            assert!(matches!(wrong, Err(Error::Argument { .. })));
        }
        assert!(matches!(Publisher::resume(40, 5, 6), Err(Error::Argument { what: "publisher", .. })));
    }

    #[test]
    fn parts_count_for_the_whole() {
        let mut whole = Publisher::new(40, 10).unwrap();
        let mut part = whole.split(4).unwrap();
        assert_eq!((whole.left(), part.left(), part.flooding()), (6, 4, whole.flooding()));
        assert!(matches!(whole.split(7), Err(Error::DecryptionsSpent { asked: 7, left: 6, of: 10 })));
        assert!(matches!(part.take(5), Err(Error::DecryptionsSpent { asked: 5, left: 4, of: 10 })));
        part.take(3).unwrap();
        whole.rejoin(part).unwrap();
        assert_eq!(whole.left(), 7);
        // A part that does not come back is spent.
        whole.split(2).unwrap();
        assert_eq!(whole.left(), 5);
        // Nothing but parts comes back.
        let fresh = |security, decryptions| Publisher::new(security, decryptions).unwrap();
        for other in [fresh(41, 10), fresh(40, 11), fresh(40, 10)] {
            assert!(matches!(whole.rejoin(other), Err(Error::Argument { what: "publisher", .. })));
            assert_eq!(whole.left(), 5);
        }
    }

    /// The tail of a Gaussian beyond k, by the series of the complementary error function's
    /// continued fraction (Lentz), which shares nothing with the bound in use.
    fn tail_log2(k: f64) -> f64 {
        let mut fraction = k;
        for i in (1..200).rev() {
            fraction = k + f64::from(i) / fraction;
        }
        -k * k / 2.0 * std::f64::consts::LOG2_E - (fraction * (2.0 * std::f64::consts::PI).sqrt()).log2()
            + 1.0
    }

    #[test]
    fn the_tail_is_rare_enough_over_all_coefficients() {
        for n in [1usize, 1 << 10, 1 << 15, 1 << 17] {
            for (security, decryptions) in [(1, 1), (40, 1), (40, 1 << 10), (128, 1 << 40), (256, u64::MAX)] {
                let publisher = Publisher::new(security, decryptions).unwrap();
                let all = (decryptions as f64).log2() + (n as f64).log2();
                let k = publisher.tail_log2(n).exp2();
                let found = tail_log2(k) + all;
                assert!(found <= -f64::from(security), "{n} {security} {decryptions}: 2^{found}");
                // The bound 2 exp(-k^2 / 2) wastes the factor k sqrt(pi / 2) at most.
                assert!(found > -f64::from(security) - k.log2() - 2.0, "{n} {security}: 2^{found}");
            }
        }
        // 40 bits for 2^10 decryptions at N = 2^15: 9.57 root mean squares.
        let publisher = Publisher::new(40, 1 << 10).unwrap();
        assert!((publisher.tail_log2(1 << 15).exp2() - 9.565).abs() < 1e-3);
        assert!((publisher.margin_bits(1 << 15) - (9.565f64 / 8.0).log2()).abs() < 1e-3);
        assert_eq!(Publisher::new(1, 1).unwrap().margin_bits(2), 0.0);
    }
}
