//! Peak signal-to-noise ratio.

/// Accumulates the squared error of two signals whose peak is 1.0, piece by piece.
///
/// `PSNR = -10 log10(mean((a - b)^2))` in dB. Every term is non-negative, so nothing cancels: the
/// sum is good to about `n * 2^-53` relatively, far below a thousandth of a dB for any picture.
#[derive(Clone, Debug, Default)]
pub struct Psnr {
    sum: f64,
    count: u64,
}

impl Psnr {
    /// Starts with nothing compared.
    pub fn new() -> Self {
        Self::default()
    }

    /// Compares two pieces of equal length, in units of the peak (1.0). A NaN makes the result NaN.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn push(&mut self, a: &[f64], b: &[f64]) {
        assert_eq!(a.len(), b.len(), "pieces of different length");
        let mut sum = 0.0;
        for (x, y) in a.iter().zip(b) {
            let d = x - y;
            sum += d * d;
        }
        self.sum += sum;
        self.count += a.len() as u64;
    }

    /// The ratio in dB; infinite when all samples are equal, and when there are none.
    pub fn db(&self) -> f64 {
        if self.sum == 0.0 {
            return f64::INFINITY;
        }
        -10.0 * (self.sum / self.count as f64).log10()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_is_infinite() {
        let mut psnr = Psnr::new();
        assert_eq!(psnr.db(), f64::INFINITY);
        psnr.push(&[0.25, 0.5], &[0.25, 0.5]);
        assert_eq!(psnr.db(), f64::INFINITY);
    }

    #[test]
    fn known_values() {
        let mut psnr = Psnr::new();
        psnr.push(&[0.5; 1000], &[0.5 + 1e-6; 1000]);
        assert!((psnr.db() - 120.0).abs() < 1e-6, "{}", psnr.db());

        // One step of 255 everywhere: 20 log10(255) = 48.1308 dB.
        let mut step = Psnr::new();
        step.push(&[10.0 / 255.0, 20.0 / 255.0], &[11.0 / 255.0, 19.0 / 255.0]);
        assert!((step.db() - 48.130_803_608_679_1).abs() < 1e-9, "{}", step.db());

        // Worst case: black against white is 0 dB.
        let mut worst = Psnr::new();
        worst.push(&[0.0, 1.0], &[1.0, 0.0]);
        assert_eq!(worst.db(), 0.0);
    }

    #[test]
    fn pieces_equal_the_whole() {
        let a: Vec<f64> = (0..999).map(|i| f64::from(i) / 999.0).collect();
        let b: Vec<f64> = a.iter().map(|x| x * 0.999).collect();
        let mut whole = Psnr::new();
        whole.push(&a, &b);
        let mut pieces = Psnr::new();
        for (x, y) in a.chunks(100).zip(b.chunks(100)) {
            pieces.push(x, y);
        }
        assert!((whole.db() - pieces.db()).abs() < 1e-9);
    }

    #[test]
    fn nan_shows() {
        let mut psnr = Psnr::new();
        psnr.push(&[f64::NAN, 0.0], &[0.0, 0.0]);
        assert!(psnr.db().is_nan());
    }
}
