//! Filters of images.

use crate::error::{Error, Result};
use std::str::FromStr;

/// A filter with an odd number of columns and rows. Applied to an image it gives out(y, x) = sum
/// over dy, dx of weight(dy, dx) in(y + dy, x + dx): a correlation, with the centre at dy = dx = 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    width: usize,
    height: usize,
    weights: Vec<f64>,
}

impl Kernel {
    /// The largest width and height.
    pub const MAX_SIDE: usize = 255;

    /// Makes a filter from its weights, row by row.
    ///
    /// # Errors
    /// [`Error::Argument`] for an even, empty or oversized side; [`Error::Argument`] for another
    /// number of weights, or a weight that is not finite.
    pub fn new(width: usize, height: usize, weights: Vec<f64>) -> Result<Self> {
        for (side, size) in [("width", width), ("height", height)] {
            if size % 2 == 0 || size > Self::MAX_SIDE {
                let limit = Self::MAX_SIDE;
                return Err(Error::domain(
                    "kernel",
                    format!("its {side} is {size}"),
                    format!("an odd size from 1 to {limit} is needed"),
                ));
            }
        }
        if weights.len() != width * height {
            let found = weights.len();
            return Err(Error::domain(
                "kernel",
                format!("{found} weights for {width} x {height}"),
                format!("{} are needed", width * height),
            ));
        }
        if let Some(at) = weights.iter().position(|w| !w.is_finite()) {
            let (row, column) = (at / width + 1, at % width + 1);
            return Err(Error::argument(
                "kernel",
                format!("the weight in row {row}, column {column} is not a finite number"),
            ));
        }
        Ok(Self { width, height, weights })
    }

    /// Makes a filter from rows of equal length.
    ///
    /// # Errors
    /// [`Error::Argument`] for rows of different lengths; the same as for [`new`](Self::new).
    pub fn from_rows(rows: &[impl AsRef<[f64]>]) -> Result<Self> {
        let width = rows.first().map_or(0, |row| row.as_ref().len());
        for (at, row) in rows.iter().enumerate() {
            let found = row.as_ref().len();
            if found != width {
                let row = at + 1;
                return Err(Error::domain(
                    "kernel",
                    format!("row {row} has {found} weights and row 1 has {width}"),
                    "an equal length of all rows is needed",
                ));
            }
        }
        Self::new(width, rows.len(), rows.iter().flat_map(|row| row.as_ref()).copied().collect())
    }

    fn three(weights: [f64; 9]) -> Self {
        Self { width: 3, height: 3, weights: weights.to_vec() }
    }

    /// The filter of 1 x 1 that keeps every pixel.
    pub fn identity() -> Self {
        Self { width: 1, height: 1, weights: vec![1.0] }
    }

    /// The mean of (2 radius + 1)^2 pixels, with gain 1.
    ///
    /// # Errors
    /// [`Error::Argument`] for a radius above 127.
    pub fn box_blur(radius: usize) -> Result<Self> {
        let side = radius.saturating_mul(2).saturating_add(1);
        let area = side.min(Self::MAX_SIDE).pow(2);
        Self::new(side, side, vec![1.0 / area as f64; area])
    }

    /// exp(-(dx^2 + dy^2) / (2 sigma^2)), normalised to gain 1.
    ///
    /// # Errors
    /// [`Error::Argument`] for a radius above 127; [`Error::Argument`] for a sigma that is not
    /// positive.
    pub fn gaussian(radius: usize, sigma: f64) -> Result<Self> {
        let square = 2.0 * sigma * sigma;
        if !(sigma > 0.0 && square > 0.0 && square.is_finite()) {
            return Err(Error::domain("kernel", format!("sigma is {sigma}"), "a positive number is needed"));
        }
        // The size is bounded first, so that nothing large is allocated for a radius that is
        // refused.
        let side = Self::box_blur(radius)?.width;
        let profile: Vec<f64> = (0..side)
            .map(|i| i as f64 - radius as f64)
            .map(|distance| libm::exp(-distance * distance / square))
            .collect();
        let total = profile.iter().sum::<f64>().powi(2);
        let weights = profile.iter().flat_map(|y| profile.iter().map(move |x| y * x / total)).collect();
        Self::new(side, side, weights)
    }

    /// The radius of [`gaussian`](Self::gaussian) that leaves out at most 0.3 % of the weight along
    /// each axis: the least whole number that is at least 3 sigma, and at least 1. It is 0 if sigma
    /// is not a positive number, and `usize::MAX` if sigma is beyond all sizes.
    ///
    /// Results differ by less than 0.7 levels of 255 from those of an unbounded Gaussian: each axis
    /// leaves out at most erfc(3 / sqrt 2) of the weight, half of it on each side.
    pub fn gaussian_radius(sigma: f64) -> usize {
        let reach = 3.0 * sigma;
        // The cast truncates and saturates, and turns NaN into 0.
        let whole = reach as usize;
        whole.saturating_add(usize::from((whole as f64) < reach))
    }

    /// 5 in the centre and -1 beside it: keeps flat areas, with gain 9.
    pub fn sharpen() -> Self {
        Self::three([0.0, -1.0, 0.0, -1.0, 5.0, -1.0, 0.0, -1.0, 0.0])
    }

    /// The Laplacian, 8 in the centre and -1 around it: flat areas become 0, with gain 16.
    pub fn edges() -> Self {
        Self::three([-1.0, -1.0, -1.0, -1.0, 8.0, -1.0, -1.0, -1.0, -1.0])
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Row by row.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The columns on each side of the centre.
    pub fn radius_x(&self) -> usize {
        self.width / 2
    }

    /// The rows above and below the centre.
    pub fn radius_y(&self) -> usize {
        self.height / 2
    }

    /// The larger radius: the halo that the filter consumes.
    pub fn radius(&self) -> usize {
        self.radius_x().max(self.radius_y())
    }

    /// The sum of |weight|: the result's magnitude is at most this times the image's.
    pub fn gain(&self) -> f64 {
        self.weights.iter().map(|w| w.abs()).sum()
    }

    /// The weights that are not zero as (dy, dx, weight).
    pub fn taps(&self) -> impl Iterator<Item = (i64, i64, f64)> + '_ {
        let (radius_x, radius_y) = (self.radius_x() as i64, self.radius_y() as i64);
        self.weights
            .iter()
            .enumerate()
            .filter(|(_, w)| **w != 0.0)
            .map(move |(i, &w)| ((i / self.width) as i64 - radius_y, (i % self.width) as i64 - radius_x, w))
    }

    /// Combines this filter with `next`, which is applied afterwards: one level instead of two, but
    /// more rotations.
    ///
    /// # Errors
    /// [`Error::Argument`] if it becomes too large.
    pub fn then(&self, next: &Self) -> Result<Self> {
        let (width, height) = (self.width + next.width - 1, self.height + next.height - 1);
        let mut weights = vec![0.0; width * height];
        for (i, a) in self.weights.iter().enumerate() {
            for (j, b) in next.weights.iter().enumerate() {
                let (y, x) = (i / self.width + j / next.width, i % self.width + j % next.width);
                weights[y * width + x] += a * b;
            }
        }
        Self::new(width, height, weights)
    }

    /// The filter in float64 on a plane of `width` x `height` values, row by row; pixels beyond the
    /// border are the nearest ones of the plane. This is the reference for
    /// [`convolve`](super::ckks::convolve).
    ///
    /// # Errors
    /// [`Error::Argument`] unless the plane holds width x height values.
    pub fn apply_plain(&self, plane: &[f64], width: usize, height: usize) -> Result<Vec<f64>> {
        if width.checked_mul(height) != Some(plane.len()) {
            let found = plane.len();
            return Err(Error::argument("image", format!("{found} values for {width} x {height} pixels")));
        }
        let taps: Vec<(i64, i64, f64)> = self.taps().collect();
        let clamp = |at: usize, by: i64, size: usize| (at as i64 + by).clamp(0, size as i64 - 1) as usize;
        let mut out = vec![0.0; plane.len()];
        for (at, out) in out.iter_mut().enumerate() {
            let (y, x) = (at / width, at % width);
            *out = taps
                .iter()
                .map(|&(dy, dx, w)| w * plane[clamp(y, dy, height) * width + clamp(x, dx, width)])
                .sum();
        }
        Ok(out)
    }
}

impl FromStr for Kernel {
    type Err = Error;

    /// Rows end with `;` or a line break, and weights are separated by spaces or commas; a weight
    /// is a number or a fraction such as `1/9`.
    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim().trim_end_matches(';');
        let rows = text
            .split([';', '\n'])
            .map(|row| {
                row.split([' ', ',', '\t', '\r']).filter(|word| !word.is_empty()).map(parse_weight).collect()
            })
            .collect::<Result<Vec<Vec<f64>>>>()?;
        Self::from_rows(&rows)
    }
}

fn parse_weight(word: &str) -> Result<f64> {
    let number = |word: &str| {
        word.parse::<f64>().map_err(|_| {
            Error::domain(
                "kernel",
                format!("`{word}` is not a number"),
                "a matrix like \"0 -1 0; -1 5 -1; 0 -1 0\" is needed",
            )
        })
    };
    match word.split_once('/') {
        Some((over, under)) => Ok(number(over)? / number(under)?),
        None => number(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read() {
        assert_eq!("0 -1 0; -1 5 -1; 0 -1 0".parse::<Kernel>().unwrap(), Kernel::sharpen());
        assert_eq!(" 1 ".parse::<Kernel>().unwrap(), Kernel::identity());
        assert_eq!("1/4, 1/2, 1/4;".parse::<Kernel>().unwrap().weights(), [0.25, 0.5, 0.25]);
        let tall = "1\n2\r\n3".parse::<Kernel>().unwrap();
        assert_eq!((tall.width(), tall.height(), tall.radius()), (1, 3, 1));
    }

    #[test]
    fn bad_text_gives_one_clear_line() {
        for (text, part) in [
            ("1 2; 3 4", "its width is 2; an odd size"),
            ("1; 2", "its height is 2"),
            ("1 2 3; 4 5; 6 7 8", "row 2 has 2 weights and row 1 has 3"),
            ("", "its width is 0"),
            (";;", "its width is 0"),
            ("1 ;; 1", "row 2 has 0 weights"),
            ("1 NaN 1", "row 1, column 2 is not a finite"),
            ("1 1/0 1", "row 1, column 2 is not a finite"),
            ("1 inf 1", "not a finite"),
            ("1 x 1", "`x` is not a number"),
            ("1/", "`` is not a number"),
        ] {
            let message = text.parse::<Kernel>().unwrap_err().to_string();
            assert!(message.contains(part) && !message.contains('\n'), "{text:?}: {message}");
        }
        let long = vec!["1"; 257].join(" ");
        assert!(long.parse::<Kernel>().unwrap_err().to_string().contains("255"));
    }

    #[test]
    fn constructors_check_their_arguments() {
        assert!(Kernel::new(3, 1, vec![0.0; 2]).is_err());
        assert!(Kernel::new(usize::MAX, usize::MAX, vec![]).is_err());
        assert!(Kernel::box_blur(128).is_err() && Kernel::box_blur(usize::MAX).is_err());
        for sigma in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-200] {
            assert!(Kernel::gaussian(1, sigma).is_err(), "{sigma}");
        }
        assert!(Kernel::gaussian(usize::MAX, 1.0).is_err());
        assert!(Kernel::from_rows(&[[]; 0]).is_err());
    }

    #[test]
    fn the_radius_of_a_gaussian_is_three_sigma() {
        for (sigma, radius) in
            [(1e-9, 1), (0.3, 1), (0.4, 2), (0.8, 3), (1.0, 3), (1.01, 4), (2.0, 6), (5.0, 15), (21.0, 63)]
        {
            assert_eq!(Kernel::gaussian_radius(sigma), radius, "{sigma}");
        }
        assert_eq!(Kernel::gaussian_radius(f64::INFINITY), usize::MAX);
        assert_eq!([f64::NAN, 0.0, -3.0].map(Kernel::gaussian_radius), [0; 3]);
        // The worst pictures, a black and a white half plane and a white quarter, compared with the
        // unbounded Gaussian.
        for sigma in [0.34, 0.5, 0.66, 1.0, 1.5, 2.0, 3.3, 5.0, 12.0] {
            let radius = Kernel::gaussian_radius(sigma) as i64;
            let weight = |d: i64| (-0.5 * (d as f64 / sigma).powi(2)).exp();
            let share = |from: i64, reach: i64| {
                let sum = |from: i64| (from..=reach).map(weight).sum::<f64>();
                sum(from) / sum(-reach)
            };
            for from in -radius - 2..=radius + 2 {
                let [bounded, whole] = [radius, 40 * radius].map(|reach| share(from.max(-reach), reach));
                for power in [1, 2] {
                    let error = 255.0 * (bounded.powi(power) - whole.powi(power)).abs();
                    assert!(error < 0.7, "sigma {sigma}, from {from}: {error} levels");
                }
            }
        }
    }

    #[test]
    fn gains_and_sums() {
        let blur = Kernel::box_blur(2).unwrap();
        assert!((blur.gain() - 1.0).abs() < 1e-14 && blur.radius() == 2);
        let gauss = Kernel::gaussian(3, 1.2).unwrap();
        assert!((gauss.gain() - 1.0).abs() < 1e-14);
        assert!((gauss.weights()[0] - gauss.weights()[48]).abs() < 1e-18);
        assert_eq!((Kernel::sharpen().gain(), Kernel::edges().gain()), (9.0, 16.0));
        assert_eq!(Kernel::sharpen().taps().count(), 5);
        assert_eq!(Kernel::edges().weights().iter().sum::<f64>(), 0.0);
    }

    #[test]
    fn plain_filter_replicates_the_border() {
        let image = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(Kernel::identity().apply_plain(&image, 3, 2).unwrap(), image);
        // The filter looks one pixel to the right and one down.
        let right = Kernel::new(3, 1, vec![0.0, 0.0, 1.0]).unwrap();
        assert_eq!(right.apply_plain(&image, 3, 2).unwrap(), [2.0, 3.0, 3.0, 5.0, 6.0, 6.0]);
        let down = Kernel::new(1, 3, vec![0.0, 0.0, 1.0]).unwrap();
        assert_eq!(down.apply_plain(&image, 3, 2).unwrap(), [4.0, 5.0, 6.0, 4.0, 5.0, 6.0]);
        let both = right.then(&down).unwrap();
        assert_eq!(both.apply_plain(&image, 3, 2).unwrap(), [5.0, 6.0, 6.0, 5.0, 6.0, 6.0]);
        assert!(both.apply_plain(&image, 4, 2).is_err());
        assert!(both.apply_plain(&[], 0, 0).unwrap().is_empty());
    }
}
