//! Brightness, contrast and colours.

use crate::backend::RingOps;
use crate::circuits::{Packing, Requirements, check_level};
use crate::ckks::{Ciphertext, Evaluator};
use crate::error::{Error, Result};
use crate::rlwe::{EvaluationKeys, KeyRequirements};
use num_complex::Complex64;

/// The map x -> factor x + offset on every pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine {
    factor: f64,
    offset: f64,
}

impl Affine {
    /// Makes the map from its two numbers.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) unless both are finite.
    pub fn new(factor: f64, offset: f64) -> Result<Self> {
        if !(factor.is_finite() && offset.is_finite()) {
            return Err(Error::argument("affine map", format!("{factor} x + {offset} is not finite")));
        }
        Ok(Self { factor, offset })
    }

    /// x + delta.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) unless it is finite.
    pub fn brightness(delta: f64) -> Result<Self> {
        Self::new(1.0, delta)
    }

    /// factor (x - 1/2) + 1/2: away from middle gray or, below 1, towards it.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) unless it is finite.
    pub fn contrast(factor: f64) -> Result<Self> {
        Self::new(factor, 0.5 - 0.5 * factor)
    }

    /// 1 - x.
    pub fn invert() -> Self {
        Self { factor: -1.0, offset: 1.0 }
    }

    /// The factor.
    pub fn factor(&self) -> f64 {
        self.factor
    }

    /// The offset.
    pub fn offset(&self) -> f64 {
        self.offset
    }

    /// Composes this map with `next`, which is applied afterwards.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) on overflow.
    pub fn then(&self, next: &Self) -> Result<Self> {
        Self::new(self.factor * next.factor, self.offset * next.factor + next.offset)
    }

    /// The map in float64.
    pub fn apply_plain(&self, x: f64) -> f64 {
        self.factor * x + self.offset
    }

    /// It takes no level if the factor is 1 or -1, otherwise one, and no keys.
    pub fn requirements(&self) -> Requirements {
        Requirements::levels(usize::from(self.factor.abs() != 1.0))
    }

    /// Applies the map to every slot of a batch; with [`Packing::Complex`] the offset is added to
    /// both parts. Magnitude at most
    /// |factor| |x| + |offset|; noise grows by |factor|.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`](crate::Error::LevelExhausted),
    /// [`Error::ValueTooLarge`](crate::Error::ValueTooLarge); device errors.
    pub fn apply<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        packing: Packing,
    ) -> Result<Ciphertext<B>> {
        check_level(self.requirements().depth, ct.level())?;
        let imaginary = match packing {
            Packing::Real => 0.0,
            Packing::Complex => self.offset,
        };
        let offset = Complex64::new(self.offset, imaginary);
        if self.factor == 1.0 {
            return ev.add_scalar(ct, offset);
        }
        let scaled = if self.factor == -1.0 { ev.neg(ct)? } else { ev.mul_scalar(ct, self.factor)? };
        if self.offset == 0.0 { Ok(scaled) } else { ev.add_scalar(&scaled, offset) }
    }
}

/// The weights of red, green and blue in the luma of Recommendation ITU-R BT.601.
pub const LUMA: [f64; 3] = [0.299, 0.587, 0.114];

/// The requirements of [`grayscale`]: one level.
pub fn grayscale_requirements() -> Requirements {
    Requirements::levels(1)
}

/// The luma of red, green and blue: the weights are [`LUMA`]. It takes one level, and the magnitude
/// does not grow. Any packing is possible.
///
/// # Errors
/// [`Error::LevelExhausted`](crate::Error::LevelExhausted), mismatch of ring or batch; device
/// errors.
pub fn grayscale<B: RingOps>(ev: &Evaluator<B>, channels: [&Ciphertext<B>; 3]) -> Result<Ciphertext<B>> {
    let [red, green, blue] = LUMA;
    ev.linear_combination(&[(channels[0], red), (channels[1], green), (channels[2], blue)])
}

/// The requirements of [`blend`]: one level.
pub fn blend_requirements() -> Requirements {
    Requirements::levels(1)
}

/// (1 - alpha) a + alpha b for alpha in 0 ..= 1. It takes one level, and the magnitude does not
/// grow. Any packing is possible, the same in both.
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) for another alpha;
/// [`Error::LevelExhausted`](crate::Error::LevelExhausted), mismatch of ring or batch; device
/// errors.
pub fn blend<B: RingOps>(
    ev: &Evaluator<B>,
    a: &Ciphertext<B>,
    b: &Ciphertext<B>,
    alpha: f64,
) -> Result<Ciphertext<B>> {
    if !(0.0..=1.0).contains(&alpha) {
        return Err(Error::argument("alpha", format!("{alpha} is not between 0 and 1")));
    }
    ev.linear_combination(&[(a, 1.0 - alpha), (b, alpha)])
}

/// The requirements of [`blend_masked`]: one level and the relinearisation key.
pub fn blend_masked_requirements() -> Requirements {
    Requirements { depth: 1, keys: KeyRequirements::new().relinearisation() }
}

/// (1 - mask) a + mask b, pixel by pixel, with an encrypted mask of values in 0 ..= 1. It takes one
/// level, and the magnitude does not grow.
///
/// All three must be packed as [`Packing::Real`]: a product of complex slots would mix two tiles.
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) for another packing;
/// [`Error::LevelExhausted`](crate::Error::LevelExhausted),
/// [`Error::MissingRelinKey`](crate::Error::MissingRelinKey), mismatch of ring or batch; device
/// errors.
pub fn blend_masked<B: RingOps>(
    ev: &Evaluator<B>,
    a: &Ciphertext<B>,
    b: &Ciphertext<B>,
    mask: &Ciphertext<B>,
    packing: Packing,
    keys: &EvaluationKeys<B>,
) -> Result<Ciphertext<B>> {
    if packing != Packing::Real {
        return Err(Error::domain(
            "packing",
            "a blend by an encrypted mask multiplies images",
            "encrypt them with real packing",
        ));
    }
    let level = a.level().min(b.level()).min(mask.level());
    blend_masked_requirements().check(level, keys)?;
    let weighted = ev.mul(&ev.sub(b, a)?, mask, keys)?;
    ev.add(&weighted, a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuits::testing::Fixture;
    use rand::RngExt;

    fn random(fixture: &mut Fixture, packing: Packing) -> Vec<Vec<Complex64>> {
        let rng = &mut fixture.rng;
        let mut value = || rng.random_range(0.0..1.0);
        let imaginary = if packing == Packing::Complex { 1.0 } else { 0.0 };
        (0..2).map(|_| (0..64).map(|_| Complex64::new(value(), imaginary * value())).collect()).collect()
    }

    /// Compares every part of every slot with a function of the parts.
    fn assert_slots(
        found: &[Vec<Complex64>],
        packing: Packing,
        what: &str,
        f: impl Fn(usize, usize, fn(&Complex64) -> f64) -> f64,
    ) {
        for (entry, vector) in found.iter().enumerate() {
            for (slot, z) in vector.iter().enumerate() {
                let re = f(entry, slot, |z| z.re);
                let im = if packing == Packing::Complex { f(entry, slot, |z| z.im) } else { 0.0 };
                let error = (z - Complex64::new(re, im)).norm();
                assert!(error < 1e-7, "{what}: slot {slot} of {entry} is {z}, expected {re} + {im} i");
            }
        }
    }

    #[test]
    fn affine_maps_match() {
        let mut fixture = Fixture::new(8, 2);
        let maps = [
            Affine::brightness(0.25).unwrap(),
            Affine::brightness(-0.1).unwrap(),
            Affine::contrast(1.7).unwrap(),
            Affine::contrast(0.0).unwrap(),
            Affine::invert(),
            Affine::new(-1.0, 0.0).unwrap(),
            Affine::new(-3.5, 0.0).unwrap(),
            Affine::invert().then(&Affine::contrast(1.5).unwrap()).unwrap(),
        ];
        for packing in [Packing::Real, Packing::Complex] {
            let values = random(&mut fixture, packing);
            let ct = fixture.encrypt(&values, 64);
            for map in maps {
                let out = map.apply(&fixture.ev, &ct, packing).unwrap();
                assert_eq!(ct.level() - out.level(), map.requirements().depth, "{map:?}");
                assert_slots(&fixture.decrypt(&out), packing, &format!("{map:?}"), |entry, slot, part| {
                    map.apply_plain(part(&values[entry][slot]))
                });
            }
        }
        assert_eq!(Affine::invert().requirements(), Requirements::default());
        assert!(Affine::new(f64::NAN, 0.0).is_err() && Affine::brightness(f64::INFINITY).is_err());
        assert!(Affine::contrast(f64::MAX).unwrap().then(&Affine::contrast(9.0).unwrap()).is_err());
    }

    #[test]
    fn colours_match() {
        let mut fixture = Fixture::new(8, 2);
        let keys = fixture.keys(blend_masked_requirements());
        for packing in [Packing::Real, Packing::Complex] {
            let [a, b, c] = [(); 3].map(|()| random(&mut fixture, packing));
            let [x, y, z] = [&a, &b, &c].map(|values| fixture.encrypt(values, 64));
            let gray = grayscale(&fixture.ev, [&x, &y, &z]).unwrap();
            assert_eq!(x.level() - gray.level(), grayscale_requirements().depth);
            assert_slots(&fixture.decrypt(&gray), packing, "gray", |e, s, part| {
                0.299 * part(&a[e][s]) + 0.587 * part(&b[e][s]) + 0.114 * part(&c[e][s])
            });
            for alpha in [0.0, 0.3, 1.0] {
                let mixed = blend(&fixture.ev, &x, &y, alpha).unwrap();
                assert_eq!(x.level() - mixed.level(), blend_requirements().depth);
                assert_slots(&fixture.decrypt(&mixed), packing, "blend", |e, s, part| {
                    (1.0 - alpha) * part(&a[e][s]) + alpha * part(&b[e][s])
                });
            }
            let masked = blend_masked(&fixture.ev, &x, &y, &z, packing, &keys);
            match packing {
                Packing::Real => {
                    let masked = masked.unwrap();
                    assert_eq!(x.level() - masked.level(), blend_masked_requirements().depth);
                    assert_slots(&fixture.decrypt(&masked), packing, "masked", |e, s, part| {
                        let mask = part(&c[e][s]);
                        (1.0 - mask) * part(&a[e][s]) + mask * part(&b[e][s])
                    });
                }
                Packing::Complex => assert!(masked.unwrap_err().to_string().contains("real packing")),
            }
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut fixture = Fixture::new(8, 1);
        let values = random(&mut fixture, Packing::Real);
        let ct = fixture.encrypt(&values, 64);
        let none = fixture.keys(KeyRequirements::new());
        let (ev, real) = (&fixture.ev, Packing::Real);
        assert!(matches!(blend_masked(ev, &ct, &ct, &ct, real, &none), Err(Error::MissingRelinKey)));
        for alpha in [-0.1, 1.1, f64::NAN] {
            assert!(matches!(blend(ev, &ct, &ct, alpha), Err(Error::Argument { what: "alpha", .. })));
        }
        let bottom = ev.mod_switch_to(&ct, 0).unwrap();
        let exhausted = |result: Result<Ciphertext<_>>| {
            assert!(matches!(result, Err(Error::LevelExhausted { needed: 1, left: 0 })), "{result:?}");
        };
        exhausted(grayscale(ev, [&ct, &bottom, &ct]));
        exhausted(blend(ev, &ct, &bottom, 0.5));
        exhausted(blend_masked(ev, &ct, &ct, &bottom, real, &none));
        exhausted(Affine::contrast(2.0).unwrap().apply(ev, &bottom, real));
        assert!(Affine::invert().apply(ev, &bottom, real).is_ok());
    }
}
