//! Filters on encrypted tiles.

use super::sweep::Sweeps;
use crate::backend::RingOps;
use crate::circuits::{Kernel, Requirements, TileLayout, check_level};
use crate::ckks::{Ciphertext, Evaluator};
use crate::error::{Error, Result};
use crate::ring::galois_rotation;
use crate::rlwe::{EvaluationKeys, KeyRequirements};
use std::collections::BTreeSet;

/// The rotations of a filter with their weights. A filter of zeros is one term.
fn terms(kernel: &Kernel, layout: &TileLayout) -> Vec<(i64, f64)> {
    let row = layout.tile_w() as i64;
    let terms: Vec<(i64, f64)> = kernel.taps().map(|(dy, dx, weight)| (dy * row + dx, weight)).collect();
    if terms.is_empty() { vec![(0, 0.0)] } else { terms }
}

/// The requirements for [`convolve`] to be fastest with small filters: one level, and a rotation
/// for every weight that is not zero except the centre, which is up to width x height - 1 of them.
/// [`compact_convolution_requirements`] needs four at most.
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) if the layout's halo is smaller than the filter's
/// radius.
pub fn convolution_requirements(kernel: &Kernel, layout: &TileLayout) -> Result<Requirements> {
    layout.after_filter(kernel.radius())?;
    let steps = terms(kernel, layout).into_iter().map(|(step, _)| step).filter(|&step| step != 0);
    let steps: BTreeSet<i64> = steps.collect();
    Ok(Requirements { depth: 1, keys: KeyRequirements::new().rotations(steps) })
}

/// The least requirements of [`convolve`]: one level, and rotations by one column and one row of a
/// tile, in the directions in which the filter reaches. The same four keys serve filters of every
/// size.
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) if the layout's halo is smaller than the filter's
/// radius.
pub fn compact_convolution_requirements(kernel: &Kernel, layout: &TileLayout) -> Result<Requirements> {
    layout.after_filter(kernel.radius())?;
    let units = [1, layout.tile_w() as i64];
    let steps = Sweeps::reach(kernel).into_iter().zip(units).flat_map(|((low, high), unit)| {
        [(low < 0).then_some(-unit), (high > 0).then_some(unit)].into_iter().flatten()
    });
    let steps: BTreeSet<i64> = steps.collect();
    Ok(Requirements { depth: 1, keys: KeyRequirements::new().rotations(steps) })
}

/// Filters the tiles of a batch: out(y, x) = sum of weight(dy, dx) in(y + dy, x + dx), where the
/// image is continued by its nearest pixels. Read the result by
/// [`layout.after_filter(kernel.radius())`](TileLayout::after_filter).
///
/// It takes one level. If there is a key for every weight ([`convolution_requirements`]), it takes
/// one decomposition, and one inner product per weight. Otherwise it uses the method with fewer key
/// switches: a composed rotation for every weight without a key, or sweeps by one pixel along
/// columns and rows: width + height - 2 key switches with the keys of
/// [`compact_convolution_requirements`], a few more with only those of powers of two, and up to
/// width + 3 ciphertexts of this batch in memory (equal columns of the filter share one).
///
/// Values grow by at most [`Kernel::gain`]; so does their noise, to which every rotation adds its
/// key switching (a sweep as often as there are pixels up to the one it reaches) and the weights'
/// rounding to multiples of 1 / scale.
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) for a halo smaller than the filter or a ciphertext
/// of another number of slots; [`Error::LevelExhausted`](crate::Error::LevelExhausted),
/// [`Error::MissingGaloisKey`](crate::Error::MissingGaloisKey),
/// [`Error::ValueTooLarge`](crate::Error::ValueTooLarge) for weights; device errors.
pub fn convolve<B: RingOps>(
    ev: &Evaluator<B>,
    ct: &Ciphertext<B>,
    kernel: &Kernel,
    layout: &TileLayout,
    keys: &EvaluationKeys<B>,
) -> Result<Ciphertext<B>> {
    layout.after_filter(kernel.radius())?;
    if ct.slots() != layout.slots() {
        let (found, expected) = (ct.slots(), layout.slots());
        return Err(Error::argument(
            "layout",
            format!("tiles of {expected} slots and a ciphertext of {found}"),
        ));
    }
    check_level(1, ct.level())?;
    let terms = terms(kernel, layout);
    if let Some(sweeps) = sweeps(&terms, kernel, layout, keys)?
        && let Some(filtered) = sweeps.apply(ev, ct, kernel, keys)?
    {
        return Ok(filtered);
    }
    ev.sum_of_rotations(ct, &terms, keys)
}

/// The sweeps of a filter, if they take fewer key switches than its single rotations, and these do
/// not all have keys.
fn sweeps<B: RingOps>(
    terms: &[(i64, f64)],
    kernel: &Kernel,
    layout: &TileLayout,
    keys: &EvaluationKeys<B>,
) -> Result<Option<Sweeps>> {
    let log_n = keys.ring().spec().log_n();
    let direct = |step: i64| match galois_rotation(step, log_n) {
        1 => true,
        g => keys.galois(g).is_some(),
    };
    if terms.iter().all(|&(step, _)| direct(step)) {
        return Ok(None);
    }
    let sweeps = Sweeps::cheapest(kernel, layout, keys);
    let limit = sweeps.map_or(usize::MAX, |sweeps| sweeps.switches());
    // Every rotation takes at least one key switch, except the rotation by nothing.
    if terms.len() > limit.saturating_add(1) {
        return Ok(sweeps);
    }
    let switches = terms.iter().try_fold(0, |sum, &(step, _)| Ok(sum + keys.rotation_path(step)?.len()));
    match (switches, sweeps) {
        (Ok(switches), Some(_)) if switches <= limit => Ok(None),
        (_, Some(sweeps)) => Ok(Some(sweeps)),
        (Ok(_), None) => Ok(None),
        (Err(error), None) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuits::testing::Fixture;
    use crate::circuits::{Packing, TileSpec};
    use rand::RngExt;

    fn filtered(
        fixture: &mut Fixture,
        image: &[f64],
        layout: TileLayout,
        kernels: &[&Kernel],
    ) -> (Vec<f64>, TileLayout) {
        let mut requirements = Requirements::default();
        let mut after = layout;
        for kernel in kernels {
            requirements = requirements.then(&convolution_requirements(kernel, &after).unwrap());
            after = after.after_filter(kernel.radius()).unwrap();
        }
        let keys = fixture.keys(&requirements);
        let width = layout.width();
        let mut out = vec![f64::NAN; image.len()];
        for band in 0..layout.bands() {
            let vectors =
                layout.pack_band(band, |y, row| row.copy_from_slice(&image[y * width..][..width])).unwrap();
            let mut ct = fixture.encrypt(&vectors, layout.slots());
            let mut layout = layout;
            let top = ct.level();
            for kernel in kernels {
                ct = convolve(&fixture.ev, &ct, kernel, &layout, &keys).unwrap();
                layout = layout.after_filter(kernel.radius()).unwrap();
            }
            assert_eq!(ct.level(), top - requirements.depth);
            layout
                .unpack_band(band, &fixture.decrypt(&ct), |y, row| {
                    out[y * width..][..width].copy_from_slice(row);
                })
                .unwrap();
        }
        (out, after)
    }

    fn assert_close(found: &[f64], expected: &[f64], what: &str) {
        for (i, (a, b)) in found.iter().zip(expected).enumerate() {
            assert!((a - b).abs() < 1e-6, "{what}: pixel {i} is {a}, expected {b}");
        }
    }

    #[test]
    fn whole_images_match_the_plain_filter() {
        let mut fixture = Fixture::new(8, 1);
        let kernels = [
            Kernel::identity(),
            Kernel::box_blur(1).unwrap(),
            Kernel::gaussian(2, 0.8).unwrap(),
            Kernel::sharpen(),
            Kernel::edges(),
            Kernel::new(5, 1, vec![0.1, 0.0, -0.5, 2.0, 0.3]).unwrap(),
            Kernel::new(1, 3, vec![0.0, 0.25, 0.5]).unwrap(),
            Kernel::new(3, 5, (0..15).map(|i| f64::from(i) / 15.0 - 0.4).collect()).unwrap(),
            Kernel::new(1, 1, vec![0.0]).unwrap(),
        ];
        for (width, height) in [(1, 1), (1, 40), (40, 1), (5, 3), (19, 23), (30, 21)] {
            let image: Vec<f64> = (0..width * height).map(|_| fixture.rng.random_range(0.0..1.0)).collect();
            for kernel in &kernels {
                for packing in [Packing::Real, Packing::Complex] {
                    let halo = kernel.radius();
                    let layout = TileLayout::new(width, height, 128, halo, packing).unwrap();
                    let (out, after) = filtered(&mut fixture, &image, layout, &[kernel]);
                    assert_eq!(after.halo_left(), 0);
                    let expected = kernel.apply_plain(&image, width, height).unwrap();
                    assert_close(&out, &expected, &format!("{layout:?} {kernel:?}"));
                }
            }
        }
    }

    /// Filters a batch with exactly these keys, and compares the result with the plain filter.
    fn check_with_keys(fixture: &mut Fixture, kernel: &Kernel, rotations: &[i64], what: &str) {
        let (width, height) = (23, 37);
        let image: Vec<f64> = (0..width * height).map(|_| fixture.rng.random_range(0.0..1.0)).collect();
        let layout = TileLayout::new(width, height, 256, kernel.radius(), Packing::Complex).unwrap();
        let keys = fixture.keys(KeyRequirements::new().rotations(rotations.iter().copied()));
        let mut out = vec![f64::NAN; image.len()];
        for band in 0..layout.bands() {
            let vectors =
                layout.pack_band(band, |y, row| row.copy_from_slice(&image[y * width..][..width])).unwrap();
            let ct = fixture.encrypt(&vectors, layout.slots());
            let filtered = convolve(&fixture.ev, &ct, kernel, &layout, &keys).unwrap();
            assert_eq!(filtered.level(), ct.level() - 1, "{what}");
            layout
                .unpack_band(band, &fixture.decrypt(&filtered), |y, row| {
                    out[y * width..][..width].copy_from_slice(row);
                })
                .unwrap();
        }
        assert_close(&out, &kernel.apply_plain(&image, width, height).unwrap(), what);
    }

    #[test]
    fn few_keys_serve_filters_of_every_size() {
        let mut fixture = Fixture::new(9, 1);
        let ramp = |width: usize, height: usize| {
            let weights = (0..width * height).map(|i| i as f64 / (width * height) as f64 - 0.4).collect();
            Kernel::new(width, height, weights).unwrap()
        };
        let mut corner = vec![0.0; 25];
        (corner[0], corner[7]) = (0.5, -0.25);
        let kernels = [
            Kernel::box_blur(3).unwrap(),
            Kernel::gaussian(5, 1.7).unwrap(),
            ramp(5, 3),
            ramp(1, 7),
            ramp(9, 1),
            Kernel::new(5, 5, corner).unwrap(),
        ];
        let powers: Vec<i64> = (0..8).map(|bit| 1 << bit).collect();
        let down: Vec<i64> = powers.iter().map(|step| -step).collect();
        for kernel in &kernels {
            let layout = TileLayout::new(23, 37, 256, kernel.radius(), Packing::Complex).unwrap();
            let four = compact_convolution_requirements(kernel, &layout).unwrap();
            let steps = four.keys.rotation_steps();
            assert!(steps.len() <= 4 && four.depth == 1, "{kernel:?}");
            for (keys, what) in [(steps, "four keys"), (&powers, "powers of two"), (&down, "downwards")] {
                check_with_keys(&mut fixture, kernel, keys, &format!("{what}: {kernel:?}"));
            }
        }
    }

    #[test]
    fn sweeps_are_taken_where_they_are_cheaper() {
        let mut fixture = Fixture::new(9, 1);
        let layout = TileLayout::new(40, 40, 256, 3, Packing::Complex).unwrap();
        let mut chosen = |kernel: &Kernel, rotations: &[i64]| {
            let keys = fixture.keys(KeyRequirements::new().rotations(rotations.iter().copied()));
            sweeps(&terms(kernel, &layout), kernel, &layout, &keys).unwrap().map(|sweeps| sweeps.switches())
        };
        let five = Kernel::box_blur(2).unwrap();
        let all = convolution_requirements(&five, &layout).unwrap().keys;
        assert_eq!(chosen(&five, all.rotation_steps()), None);
        assert_eq!(chosen(&five, &[-1, 1, -16, 16]), Some(8));
        // Up by powers of two, from a corner that takes as many rotations as its step has digits.
        let powers: Vec<i64> = (0..8).map(|bit| 1 << bit).collect();
        assert!(chosen(&five, &powers).unwrap() < 8 + 2 * 8);
        // A single weight far from the centre takes one composed rotation.
        let mut weights = vec![0.0; 49];
        weights[48] = 1.0;
        assert_eq!(chosen(&Kernel::new(7, 7, weights).unwrap(), &powers), None);
    }

    #[test]
    fn filters_follow_one_another_within_the_halo() {
        let mut fixture = Fixture::new(9, 2);
        let (width, height) = (37, 20);
        let image: Vec<f64> = (0..width * height).map(|_| fixture.rng.random_range(0.0..1.0)).collect();
        let (first, second) = (Kernel::box_blur(1).unwrap(), Kernel::sharpen());
        for slots in [64, 256] {
            let layout = TileLayout::new(width, height, slots, 2, Packing::Complex).unwrap();
            let (out, after) = filtered(&mut fixture, &image, layout, &[&first, &second]);
            assert_eq!(after.halo_left(), 0);
            let both = first.then(&second).unwrap();
            assert_close(&out, &both.apply_plain(&image, width, height).unwrap(), "sequence");
            // Away from the border it equals two plain filters.
            let plain = second.apply_plain(&first.apply_plain(&image, width, height).unwrap(), width, height);
            for (i, expected) in plain.unwrap().iter().enumerate() {
                if (1..width - 1).contains(&(i % width)) && (1..height - 1).contains(&(i / width)) {
                    assert!((out[i] - expected).abs() < 1e-6, "pixel {i}");
                }
            }
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut fixture = Fixture::new(8, 1);
        let layout = TileLayout::new(8, 8, 128, 1, Packing::Real).unwrap();
        let kernel = Kernel::sharpen();
        let requirements = convolution_requirements(&kernel, &layout).unwrap();
        let row = layout.tile_w() as i64;
        assert_eq!(requirements.keys, KeyRequirements::new().rotations([-row, -1, 1, row]));
        let vectors = vec![vec![num_complex::Complex64::ZERO; 128]];
        let ct = fixture.encrypt(&vectors, 128);
        let partial = fixture.keys(KeyRequirements::new().rotations([-1, row]));
        let result = convolve(&fixture.ev, &ct, &kernel, &layout, &partial);
        assert!(matches!(result, Err(Error::MissingGaloisKey { .. })), "{result:?}");
        let keys = fixture.keys(&requirements);
        let ct0 = fixture.ev.mod_switch_to(&ct, 0).unwrap();
        let result = convolve(&fixture.ev, &ct0, &kernel, &layout, &keys);
        assert!(matches!(result, Err(Error::LevelExhausted { needed: 1, left: 0 })), "{result:?}");
        let used = layout.after_filter(1).unwrap();
        let error = convolve(&fixture.ev, &ct, &kernel, &used, &keys).unwrap_err().to_string();
        assert!(error.contains("larger halo"), "{error}");
        assert!(convolution_requirements(&Kernel::box_blur(2).unwrap(), &layout).is_err());
        let other = TileLayout::try_from(TileSpec { tile_w: 8, tile_h: 8, ..layout.spec() }).unwrap();
        assert!(matches!(
            convolve(&fixture.ev, &ct, &kernel, &other, &keys),
            Err(Error::Argument { what: "layout", .. })
        ));
    }
}
