//! The key of circuit bootstrapping, in the form in which it is sent: bodies and the seed of the
//! masks.

use super::keys::ExactProduct;
use super::sampler::{Row, error_row, error_step, uniform_row};
use super::{CircuitParams, TfheSecretKey};
use crate::error::Result;
use crate::key_set::{KeySetId, key_set_accessors};
use crate::parallel::*;
use crate::ring::Seed;
use rand::CryptoRng;
use zeroize::Zeroizing;

/// Key switches from the images of the secret under automorphisms, and from products of its
/// polynomials. It holds bodies and the seed of the masks; a back end expands it
/// ([`LweOps::circuit_key`](super::LweOps::circuit_key)).
#[derive(Clone)]
pub struct CircuitKey {
    params: CircuitParams,
    masks: Seed,
    /// `[row][N]`.
    bodies: Vec<u64>,
    key_set: Option<KeySetId>,
}

key_set_accessors! {
    [] CircuitKey { key_set }
}

impl std::fmt::Debug for CircuitKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CircuitKey {{ params: {:?}, .. }}", self.params.tfhe().fingerprint())
    }
}

impl CircuitKey {
    /// Makes the key of a secret key. Constant time.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`](crate::error::Error::ParamsMismatch) for a secret of other
    /// parameters.
    pub fn generate(
        secret: &TfheSecretKey,
        params: &CircuitParams,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        params.tfhe().check_same(secret.params(), "secret key")?;
        let masks = Seed::random(rng);
        let errors = Seed::random(rng);
        let (tfhe, switch) = (params.tfhe(), params.spec().switch);
        let (n, k) = (tfhe.degree(), tfhe.spec().glwe_dimension);
        let glwe = secret.expose_secrets()[1];
        let exact = ExactProduct::new(glwe, tfhe.spec().log_degree);

        // The sources of the switches: minus the images of the polynomials, then products of two.
        let mut sources = Zeroizing::new(vec![0u64; params.key_rows() / switch.levels as usize * n]);
        let (images, products) = sources.split_at_mut(tfhe.spec().log_degree as usize * k * n);
        for (index, image) in images.chunks_exact_mut(n).enumerate() {
            automorphism(&glwe[index % k * n..][..n], exponent(n, index / k), image);
            image.iter_mut().for_each(|x| *x = x.wrapping_neg());
        }
        for (high, s) in glwe.chunks_exact(n).enumerate() {
            let mut factor = Zeroizing::new(vec![0; k * n]);
            factor[high * n..][..n].copy_from_slice(s);
            for low in 0..=high {
                let mut place = Zeroizing::new(vec![0; k * n]);
                place[low * n..][..n].copy_from_slice(s);
                exact.add_to(&place, &mut products[Self::pair(low, high) * n..][..n]);
            }
        }

        let step = error_step(tfhe.spec().glwe_sigma_log2, 64);
        let mut bodies = vec![0; params.key_rows() * n];
        bodies.par_chunks_mut(n).enumerate().for_each(|(row, body)| {
            let (index, j) = (row / switch.levels as usize, row as u32 % switch.levels + 1);
            let mut mask = vec![0; tfhe.dimension()];
            uniform_row(&masks, Row::CircuitMask(row as u32), &mut mask);
            error_row(&errors, Row::CircuitError(row as u32), step, body);
            exact.add_to(&mask, body);
            for (b, source) in body.iter_mut().zip(&sources[index * n..][..n]) {
                *b = b.wrapping_add(source << switch.shift(j));
            }
        });
        Ok(Self { params: params.clone(), masks, bodies, key_set: Some(secret.key_set()) })
    }

    /// Makes a key from the seed of the masks and as many bodies as the parameters have rows.
    pub(crate) fn from_bodies(params: &CircuitParams, masks: Seed, bodies: Vec<u64>) -> Self {
        Self { params: params.clone(), masks, bodies, key_set: None }
    }

    /// The seed of the masks, and the bodies.
    pub(crate) fn bodies(&self) -> (&Seed, &[u64]) {
        (&self.masks, &self.bodies)
    }

    /// Its parameters.
    pub fn params(&self) -> &CircuitParams {
        &self.params
    }

    /// The place of S_r S_s among all products, for back ends.
    pub fn pair(r: usize, s: usize) -> usize {
        let (low, high) = (r.min(s), r.max(s));
        high * (high + 1) / 2 + low
    }

    /// Row `index` for back ends: (k + 1) N words `[component][N]`, masks before the body. With l
    /// levels, row (i k + r) l + j - 1 encrypts -S_r(X^(N / 2^i + 1)) 2^(64 - j b) for i < log2 N,
    /// and row (k log2 N + s (s + 1)/2 + r) l + j - 1 encrypts S_r S_s 2^(64 - j b) for r <= s.
    ///
    /// # Panics
    /// If the row does not exist, or for another number of words.
    pub fn row(&self, index: usize, out: &mut [u64]) {
        let n = self.params.tfhe().degree();
        let (mask, body) = out.split_at_mut(self.params.tfhe().dimension());
        uniform_row(&self.masks, Row::CircuitMask(index as u32), mask);
        body.copy_from_slice(&self.bodies[index * n..][..n]);
    }
}

/// The exponent of automorphism i of the trace: N / 2^i + 1.
pub(super) fn exponent(n: usize, i: usize) -> usize {
    (n >> i) + 1
}

/// out <- p(X^g) for an odd g.
#[inline(always)]
pub(super) fn automorphism(p: &[u64], g: usize, out: &mut [u64]) {
    let n = p.len();
    let mut place = 0;
    for &x in p {
        let sign = ((place >= n) as u64).wrapping_neg();
        out[place & (n - 1)] = (x ^ sign).wrapping_sub(sign);
        place = (place + g) & (2 * n - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tfhe::{CircuitSpec, TfheParams, TfheSpec, presets};
    use rand::{SeedableRng, rngs::ChaCha20Rng};

    /// Every row, opened by the secret: what it should encrypt, with little noise.
    #[test]
    fn rows_encrypt_images_and_products_of_the_secret() {
        for (seed, glwe_dimension) in [(1, 1), (2, 3)] {
            let spec = *presets::insecure_small().unwrap().spec();
            let tfhe = TfheParams::insecure(TfheSpec { glwe_dimension, log_degree: 5, ..spec }).unwrap();
            let params = CircuitParams::new(&tfhe, CircuitSpec::default()).unwrap();
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            let secret = TfheSecretKey::generate(&tfhe, &mut rng);
            let key = CircuitKey::generate(&secret, &params, &mut rng).unwrap();
            assert_eq!(key.key_set(), Some(secret.key_set()));
            let (n, k, levels) = (tfhe.degree(), glwe_dimension, params.spec().switch.levels as usize);
            let s = |r: usize| -> Vec<i64> {
                secret.expose_secrets()[1][r * n..][..n].iter().map(|&x| x as i64).collect()
            };
            let multiply = |x: &[i64], y: &[i64]| {
                let mut z = vec![0i64; n];
                for (i, j) in (0..n * n).map(|ij| (ij / n, ij % n)) {
                    let sign = if i + j < n { 1 } else { -1 };
                    z[(i + j) % n] = z[(i + j) % n].wrapping_add(sign * x[i].wrapping_mul(y[j]));
                }
                z
            };
            let mut expected: Vec<Vec<i64>> = Vec::new();
            for g in (0..5).map(|i| n / (1 << i) + 1) {
                for r in 0..k {
                    let mut image = vec![0; n];
                    for (j, x) in s(r).iter().enumerate() {
                        let place = j * g % (2 * n);
                        image[place % n] -= if place < n { *x } else { -x };
                    }
                    expected.push(image);
                }
            }
            for high in 0..k {
                expected.extend((0..=high).map(|low| multiply(&s(low), &s(high))));
            }
            assert_eq!(expected.len() * levels, params.key_rows());
            for row in 0..params.key_rows() {
                let mut words = vec![0; (k + 1) * n];
                key.row(row, &mut words);
                let mut phase: Vec<i64> = words[k * n..].iter().map(|&x| x as i64).collect();
                for r in 0..k {
                    let mask: Vec<i64> = words[r * n..][..n].iter().map(|&x| x as i64).collect();
                    phase.iter_mut().zip(multiply(&mask, &s(r))).for_each(|(p, x)| *p = p.wrapping_sub(x));
                }
                let shift = params.spec().switch.shift((row % levels) as u32 + 1);
                for (p, x) in phase.iter().zip(&expected[row / levels]) {
                    let error = p.wrapping_sub(x << shift);
                    assert!(error.unsigned_abs() < 1 << 23, "row {row}: {error:x}");
                }
            }
        }
    }
}
