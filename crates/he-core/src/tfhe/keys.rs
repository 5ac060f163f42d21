//! The secret key, and the bootstrapping key in the form in which it is sent: bodies and the seed
//! of the masks.

use super::sampler::{Row, binary_row, error_row, error_step, uniform_row, uniform_row_32};
use super::transform::{Ahead, Transform};
use super::{Noise, TfheParams};
use crate::arith::round_i64;
use crate::error::{Error, Result};
use crate::key_set::{KeySetId, key_set_accessors, secret_key_set_accessors};
use crate::lanes::{Quads, with_lanes};
use crate::parallel::*;
use crate::reveal;
use crate::ring::Seed;
use rand::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

/// Both binary secrets: the small one of dimension n, and the k polynomials of GLWE, whose
/// coefficients are the large one of dimension k N. They are wiped on drop, never printed, and
/// cannot be compared.
pub struct TfheSecretKey {
    params: TfheParams,
    lwe: Zeroizing<Vec<u64>>,
    glwe: Zeroizing<Vec<u64>>,
    key_set: KeySetId,
}

impl std::fmt::Debug for TfheSecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TfheSecretKey { .. }")
    }
}

secret_key_set_accessors!(TfheSecretKey);

impl TfheSecretKey {
    /// Draws uniform binary secrets.
    pub fn generate(params: &TfheParams, rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        let seed = Seed::random(rng);
        let mut lwe = Zeroizing::new(vec![0; params.spec().lwe_dimension]);
        let mut glwe = Zeroizing::new(vec![0; params.dimension()]);
        binary_row(&seed, Row::LweSecret, &mut lwe);
        binary_row(&seed, Row::GlweSecret, &mut glwe);
        Self::from_secrets(params, lwe, glwe)
    }

    /// Makes a key from n and k N bits, as words 0 and 1, which must look drawn: under parameters
    /// of 128-bit security, the c ones of each secret of dimension d have (2 c - d)^2 <= 182 d. By
    /// Hoeffding's inequality, a uniform secret misses that with probability 2 exp(-182 / 2) <
    /// 2^-130. Constant time for secrets that are accepted.
    ///
    /// # Errors
    /// [`Error::Argument`] for a secret that is not a uniform one.
    pub(crate) fn from_read_secrets(
        params: &TfheParams,
        lwe: Zeroizing<Vec<u64>>,
        glwe: Zeroizing<Vec<u64>>,
    ) -> Result<Self> {
        let uniform = [&lwe, &glwe].into_iter().fold(true, |all, bits| {
            let (dimension, ones) = (bits.len() as i64, bits.iter().sum::<u64>() as i64);
            let off = 2 * ones - dimension;
            all & (off * off <= 182 * dimension)
        });
        if params.is_secure() && !reveal::bit(uniform) {
            let found = "it is zero, constant or sparse, where a uniform one is needed";
            return Err(Error::domain("secret key", found, "use TfheSecretKey::generate"));
        }
        Ok(Self::from_secrets(params, lwe, glwe))
    }

    fn from_secrets(params: &TfheParams, lwe: Zeroizing<Vec<u64>>, glwe: Zeroizing<Vec<u64>>) -> Self {
        let key_set = KeySetId::of_bits(params.fingerprint(), lwe.iter().chain(glwe.iter()));
        Self { params: params.clone(), lwe, glwe, key_set }
    }

    /// The small secret and the large one, bits as words.
    pub(crate) fn expose_secrets(&self) -> [&[u64]; 2] {
        [&self.lwe, &self.glwe]
    }

    /// The parameters.
    pub fn params(&self) -> &TfheParams {
        &self.params
    }
}

/// GGSW encryptions of the small secret under the large one, and the key that switches from the
/// large secret to the small one. It holds bodies and the seed of the masks; a back end expands it
/// ([`LweOps::lwe_key`](super::LweOps::lwe_key)).
///
/// A *multi-bit* key takes the bits of the small secret in groups of g = 2, 3 or 4, with an
/// encryption for each of the 2^g patterns of a group: of 1 for the pattern that its bits are, and
/// of 0 for all others. Its rotations are n/g products in sequence instead of n, and read 2^g / g
/// times as much. Lookups of digits on a GPU take less time by it whatever their number, so that a
/// multi-bit key alone serves there, in place of the other kind; gates do up to some hundred at a
/// time, for which a [`Bootstrapper`](super::Bootstrapper) holds both
/// ([`with_multi_bit`](super::Bootstrapper::with_multi_bit)). A CPU, which waits for the key, is
/// slower by it. After Zhou, Yang,
/// Liu, Liu, Li, *Faster Bootstrapping with Multiple Addends*, IEEE Access 2018, and Bourse,
/// Minelli, Minihold, Paillier, *Fast Homomorphic Evaluation of Deep Discretized Neural Networks*,
/// CRYPTO 2018, section 5.
#[derive(Clone)]
pub struct BootstrapKey {
    params: TfheParams,
    /// g, or 1.
    group: usize,
    masks: Seed,
    /// The bodies `[i][row][N]` of the GGSW encryption of bit i of the small secret. Row r
    /// l + j - 1 encrypts -s_i S_r 2^(64 - j b), with S_k = -1. A multi-bit key has
    /// `[i][pattern][row][N]`.
    bootstrap: Vec<u64>,
    /// The bodies `[i][j]`, encryptions of S_i 2^(32 - j b).
    switch: Vec<u32>,
    key_set: Option<KeySetId>,
}

key_set_accessors! {
    [] BootstrapKey { key_set }
}

impl std::fmt::Debug for BootstrapKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BootstrapKey {{ params: {:?}, .. }}", self.params.fingerprint())
    }
}

impl BootstrapKey {
    /// Makes the key of a secret key: n (k + 1) l GLWE and k N l small encryptions. Constant time.
    pub fn generate(secret: &TfheSecretKey, rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        Self::of_groups(secret, 1, rng)
    }

    /// Makes the multi-bit key of a secret key, by groups of `group` bits: 2^g n/g (k + 1) l GLWE
    /// and k N l small encryptions. Constant time. The presets `..._multibit` keep their failure
    /// probability under such keys.
    ///
    /// # Errors
    /// [`Error::Argument`] unless the group is of 2, 3 or 4 bits, and divides n.
    ///
    /// # Examples
    /// ```
    /// # use he_core::{backend::Cpu, tfhe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let mut rng = he_core::rand::rng();
    /// let secret = TfheSecretKey::generate(&presets::insecure_small()?, &mut rng);
    /// let key = BootstrapKey::generate_multi_bit(&secret, 4, &mut rng)?;
    /// let (cpu, gates) = (Cpu::new(), GateEvaluator::new(&Cpu::new(), &key)?);
    /// let bits = secret.encrypt_bits(&cpu, &[true, false], &mut rng)?;
    /// let flipped = gates.nand(&bits, &bits)?;
    /// assert_eq!(secret.decrypt_bits(&flipped)?, [false, true]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn generate_multi_bit(
        secret: &TfheSecretKey,
        group: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        secret.params.check_group(group)?;
        Ok(Self::of_groups(secret, group, rng))
    }

    fn of_groups(secret: &TfheSecretKey, group: usize, rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        let params = secret.params.clone();
        let masks = Seed::random(rng);
        let errors = Seed::random(rng);
        let spec = *params.spec();
        let (n, rows) = (params.degree(), params.rows());

        let exact = ExactProduct::new(&secret.glwe, spec.log_degree);
        let step = error_step(spec.glwe_sigma_log2, 64);
        let patterns = patterns(group);
        let mut bootstrap = vec![0; params.key_ggsws(group) * rows * n];
        bootstrap.par_chunks_mut(n).enumerate().for_each(|(index, body)| {
            let (ggsw, row) = (index / rows, index % rows);
            let (i, pattern) = (ggsw / patterns.len() * group, patterns.start + ggsw % patterns.len());
            let (r, j) = (row / spec.bootstrap.levels as usize, row as u32 % spec.bootstrap.levels + 1);
            let mut mask = vec![0; params.dimension()];
            uniform_row(&masks, Row::BootstrapMask(index as u32), &mut mask);
            error_row(&errors, Row::BootstrapError(index as u32), step, body);
            exact.add_to(&mask, body);
            // The factor of the gadget, or zero if the bits are others.
            let factor = indicator(&secret.lwe[i..i + group], pattern) << spec.bootstrap.shift(j);
            if r == spec.glwe_dimension {
                body[0] = body[0].wrapping_add(factor);
            } else {
                for (b, s) in body.iter_mut().zip(&secret.glwe[r * n..]) {
                    *b = b.wrapping_sub(factor & s.wrapping_neg());
                }
            }
        });

        let step = error_step(spec.lwe_sigma_log2, 32);
        let levels = spec.switch.levels as usize;
        let mut switch = vec![0; params.dimension() * levels];
        switch.par_iter_mut().enumerate().for_each_init(
            || vec![0u32; spec.lwe_dimension],
            |mask, (index, body)| {
                let (i, j) = (index / levels, (index % levels) as u32 + 1);
                uniform_row_32(&masks, Row::SwitchMask(index as u32), mask);
                let mut error = Zeroizing::new([0]);
                error_row(&errors, Row::SwitchError(index as u32), step, error.as_mut());
                let product = mask
                    .iter()
                    .zip(secret.lwe.iter())
                    .fold(0u32, |sum, (a, &s)| sum.wrapping_add(a & (s as u32).wrapping_neg()));
                let message = (secret.glwe[i] << (spec.switch.shift(j) - 32)) as u32;
                *body = product.wrapping_add(message).wrapping_add(error[0] as u32);
            },
        );
        Self { params, group, masks, bootstrap, switch, key_set: Some(secret.key_set) }
    }

    /// Makes a key from the seed of the masks and as many bodies as the parameters have rows, for
    /// groups that were checked.
    pub(crate) fn from_bodies(
        params: &TfheParams,
        group: usize,
        masks: Seed,
        bootstrap: Vec<u64>,
        switch: Vec<u32>,
    ) -> Self {
        Self { params: params.clone(), group, masks, bootstrap, switch, key_set: None }
    }

    /// The seed of the masks, and the bodies of both parts.
    pub(crate) fn bodies(&self) -> (&Seed, &[u64], &[u32]) {
        (&self.masks, &self.bootstrap, &self.switch)
    }

    /// Its parameters.
    pub fn params(&self) -> &TfheParams {
        &self.params
    }

    /// The bits of the small secret in a group: 1 unless it is a multi-bit key.
    pub fn group(&self) -> usize {
        self.group
    }

    /// The predicted variances of bootstraps by it.
    pub fn noise(&self) -> Noise {
        self.params.noise_of_groups(self.group)
    }

    /// Row `index` = i (k + 1) l + row of the GGSW encryptions, for back ends: (k + 1) N words
    /// `[component][N]`, masks before the body. In a multi-bit key, i is 2^g times the group, plus
    /// the pattern, whose lowest bit is the group's first one.
    ///
    /// # Panics
    /// If the row does not exist, or for another number of words.
    pub fn bootstrap_row(&self, index: usize, out: &mut [u64]) {
        let n = self.params.degree();
        let (mask, body) = out.split_at_mut(self.params.dimension());
        uniform_row(&self.masks, Row::BootstrapMask(index as u32), mask);
        body.copy_from_slice(&self.bootstrap[index * n..][..n]);
    }

    /// Row `index` = i l + j - 1 of the switching key, the encryption of S_i 2^(32 - j b), for back
    /// ends: n + 1 words, mask before the body.
    ///
    /// # Panics
    /// If the row does not exist, or for another number of words.
    pub fn switch_row(&self, index: usize, out: &mut [u32]) {
        let (mask, body) = out.split_at_mut(self.params.spec().lwe_dimension);
        uniform_row_32(&self.masks, Row::SwitchMask(index as u32), mask);
        body[0] = self.switch[index];
    }
}

/// The patterns of a group's bits that have an encryption of their own.
fn patterns(group: usize) -> std::ops::Range<usize> {
    if group == 1 { 1..2 } else { 0..1 << group }
}

/// 1 if the bits are those of the pattern, otherwise 0. Constant time.
fn indicator(bits: &[u64], pattern: usize) -> u64 {
    bits.iter().enumerate().fold(1, |all, (h, bit)| all & (bit ^ (!pattern >> h & 1) as u64))
}

/// Products of uniform polynomials and secret ones with coefficients -1, 0 and 1, exact modulo
/// 2^64. Words are cut into parts below 2^22: the error of the transform in a coefficient is at
/// most eps times the 2-norm of the parts, 2^22 sqrt(N), times the secret's largest value, N, times
/// k: below 1/4 for N up to 2^12 and k up to 8.
pub(super) struct ExactProduct {
    transform: Transform,
    /// The transforms of the secret polynomials, interleaved.
    secrets: Zeroizing<Vec<f64>>,
}

impl ExactProduct {
    pub(super) fn new(secret: &[u64], log_degree: u32) -> Self {
        let transform = Transform::new(log_degree);
        let mut values = Zeroizing::new(secret.iter().map(|&s| s as i64 as f64).collect::<Vec<_>>());
        for polynomial in values.chunks_exact_mut(transform.n()) {
            with_lanes!(l => transform.forward(l, polynomial, &mut Ahead::default()));
        }
        let mut secrets = Zeroizing::new(vec![0.0; values.len()]);
        transform.interleave(&values, &mut secrets);
        Self { transform, secrets }
    }

    /// sum <- sum + sum over r of a_r S_r.
    pub(super) fn add_to(&self, a: &[u64], sum: &mut [u64]) {
        let (n, stride) = (self.transform.n(), self.transform.stride());
        let mut parts = vec![0.0; a.len() / n * stride];
        let mut product = vec![0.0; sum.len()];
        let scale = 2.0 / sum.len() as f64;
        for shift in [0, 22, 44] {
            for (part, a) in parts.chunks_exact_mut(stride).zip(a.chunks_exact(n)) {
                for (p, a) in part.iter_mut().zip(a) {
                    *p = f64::from((a >> shift) as u32 & 0x3f_ffff);
                }
            }
            with_lanes!(l => self.multiply(l, &mut parts, &mut product));
            for (s, p) in sum.iter_mut().zip(&product) {
                // |p| < 2^37.
                *s = s.wrapping_add((round_i64(p * scale) as u64) << shift);
            }
        }
        // The factors may be secret, too.
        parts.zeroize();
        product.zeroize();
    }

    #[inline(always)]
    fn multiply<L: Quads>(&self, l: L, parts: &mut [f64], product: &mut [f64]) {
        for part in parts.chunks_exact_mut(self.transform.stride()) {
            self.transform.forward(l, &mut part[..self.transform.n()], &mut Ahead::default());
        }
        self.transform.inner_products::<_, 1>(l, parts, &self.secrets, product);
        self.transform.inverse(l, product, &mut Ahead::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng, rngs::ChaCha20Rng};

    /// Uniform secrets are read, and weak ones only under parameters that are insecure by name.
    #[test]
    fn weak_secrets_are_refused_under_secure_parameters() {
        let secure = crate::tfhe::presets::digits_2m128().unwrap();
        let insecure = crate::tfhe::presets::insecure_small().unwrap();
        assert!(secure.is_secure() && !insecure.is_secure());
        let dimensions = |params: &TfheParams| [params.spec().lwe_dimension, params.dimension()];
        let read = |params: &TfheParams, ones: [usize; 2]| {
            let bits = |i: usize| {
                Zeroizing::new((0..dimensions(params)[i]).map(|k| u64::from(k < ones[i])).collect::<Vec<_>>())
            };
            TfheSecretKey::from_read_secrets(params, bits(0), bits(1))
        };
        let halves = dimensions(&secure).map(|dimension| dimension / 2);
        // The greatest distance from a half that is accepted.
        let most = dimensions(&secure).map(|dimension| (182.0 * dimension as f64).sqrt() as usize / 2);
        assert!(read(&secure, halves).is_ok());
        for i in 0..2 {
            for (ones, fits) in [
                (halves[i] - most[i] + 1, true),
                (halves[i] - most[i] - 1, false),
                (halves[i] + most[i] - 1, true),
                (halves[i] + most[i] + 2, false),
                (0, false),
                (32, false),
                (dimensions(&secure)[i], false),
            ] {
                let mut counts = halves;
                counts[i] = ones;
                match read(&secure, counts) {
                    Ok(_) => assert!(fits, "{counts:?}"),
                    Err(error) => {
                        assert!(!fits && matches!(error, Error::Argument { what: "secret key", .. }));
                    }
                }
            }
        }
        assert!(read(&insecure, [0, 0]).is_ok());
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        for _ in 0..20 {
            let [small, large] =
                TfheSecretKey::generate(&secure, &mut rng).expose_secrets().map(<[u64]>::to_vec);
            assert!(TfheSecretKey::from_read_secrets(&secure, small.into(), large.into()).is_ok());
        }
    }

    #[test]
    fn exact_products_are_exact() {
        for (seed, log_degree, k) in [(1, 5, 2), (2, 9, 3), (3, 11, 1), (4, 12, 2)] {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            let n = 1usize << log_degree;
            let secret: Vec<u64> = (0..k * n).map(|_| rng.next_u64() & 1).collect();
            let a: Vec<u64> =
                (0..k * n).map(|_| rng.next_u64() | (u64::from(seed == 3) * 0xffff_ffff)).collect();
            let mut expected = vec![7u64; n];
            for (a, s) in a.chunks_exact(n).zip(secret.chunks_exact(n)) {
                for (i, a) in a.iter().enumerate() {
                    for j in (0..n).filter(|&j| s[j] == 1) {
                        let at = &mut expected[(i + j) % n];
                        *at = if i + j < n { at.wrapping_add(*a) } else { at.wrapping_sub(*a) };
                    }
                }
            }
            let mut sum = vec![7; n];
            ExactProduct::new(&secret, log_degree).add_to(&a, &mut sum);
            assert!(sum == expected, "seed {seed}");
        }
    }
}
