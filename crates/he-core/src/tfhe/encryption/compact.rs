//! Encryption by a public key: lists of ciphertexts that share masks.
//!
//! Joye, *TFHE Public-Key Encryption Revisited*, CT-RSA 2024, from rings to modules, so that every
//! GLWE dimension k has it under the secrets that it has. The public key is k GLWE encryptions of
//! zero, (A_i, B_i = <A_i, S> + e_i). Up to N messages are encrypted at once as a polynomial m:
//! (sum r_i A_i + e', sum r_i B_i + e'' + m), with r_i uniform in {-1, 0, 1} and fresh errors. For
//! k = 1 this is Joye's, with factors in {-1, 0, 1} instead of {0, 1}. Only as many bodies are kept
//! as there are messages, and an LWE ciphertext under the large secret is extracted for each.

use super::fresh::sealed::Sealed;
use super::words::check_count;
use super::{FreshBits, FreshFlags, FreshInteger, FreshLwe, Masks};
use crate::error::Result;
use crate::key_set::{KeySetId, key_set_accessors};
use crate::parallel::*;
use crate::ring::Seed;
use crate::tfhe::external::extract_mask;
use crate::tfhe::keys::ExactProduct;
use crate::tfhe::sampler::{Row, error_row, error_step, ternary_row, uniform_row};
use crate::tfhe::{Signed, TfheParams, TfheSecretKey};
use rand::CryptoRng;
use zeroize::Zeroizing;

/// The masks of a compact list of ciphertexts: k polynomials for every N of them.
#[derive(Clone)]
pub struct GlweMasks(Vec<u64>);

/// A compact list of ciphertexts, from [`CompactPublicKey::encrypt`]: k N words for every N
/// ciphertexts or fewer, and a word for each.
pub type CompactLwe = FreshLwe<GlweMasks>;

/// A compact list of bits, from [`CompactPublicKey::encrypt_bits`].
pub type CompactBits = FreshBits<GlweMasks>;

/// A compact list of integers, from [`CompactPublicKey::encrypt_uint`] and
/// [`encrypt_u64`](CompactPublicKey::encrypt_u64).
pub type CompactUint = FreshInteger<GlweMasks>;

/// A compact list of integers with a sign, from [`CompactPublicKey::encrypt_int`] and
/// [`encrypt_i64`](CompactPublicKey::encrypt_i64).
pub type CompactInt = FreshInteger<GlweMasks, Signed>;

/// A compact list of conditions, from [`CompactPublicKey::encrypt_flags`].
pub type CompactFlags = FreshFlags<GlweMasks>;

impl std::fmt::Debug for GlweMasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GlweMasks {{ words: {} }}", self.0.len())
    }
}

impl GlweMasks {
    /// The words of the masks of so many ciphertexts.
    pub(crate) fn words_of(params: &TfheParams, ciphertexts: usize) -> usize {
        ciphertexts.div_ceil(params.degree()) * params.dimension()
    }

    /// Requires as many words as [`words_of`](Self::words_of) says of the ciphertexts.
    pub(crate) fn from_words(words: Vec<u64>) -> Self {
        Self(words)
    }

    /// The words `[group of N ciphertexts][component][N]`.
    pub(crate) fn words(&self) -> &[u64] {
        &self.0
    }
}

impl Sealed for GlweMasks {}

/// The mask of ciphertext i is that of coefficient i mod N of group i / N.
impl Masks for GlweMasks {
    fn mask(&self, params: &TfheParams, index: usize, out: &mut [u64]) {
        let (n, words) = (params.degree(), params.dimension());
        extract_mask(&self.0[index / n * words..][..words], index % n, n, out);
    }
}

/// A key that anybody may have, to encrypt for the holder of the secret key. It takes k N words and
/// a seed, 16 KiB for [`presets::digits_2m128`](crate::tfhe::presets::digits_2m128).
///
/// Its encryption is a *compact list*, which is sent as it is and expanded for computing. No key is
/// switched, and the noise is below that of a bootstrap's result
/// ([`Noise::public`](crate::tfhe::Noise::public)): everything is computed as with encryptions by the
/// secret key, and fails as rarely. Encryptions by the secret key are smaller, one word per
/// ciphertext, where this takes 2 for whole lists at k = 1, and k N + 1 for a list of one.
///
/// # Security
/// The key consists of GLWE encryptions of zero, as a [`BootstrapKey`](crate::tfhe::BootstrapKey) does,
/// under the same secret of dimension k N and with the same errors. As long as these cannot be told
/// from uniform ones, a list hides its messages as well as (k + 1) N samples hide their secret r,
/// which also has dimension k N, with errors of the same deviation. For both secrets,
/// [`least_sigma_log2`](crate::tfhe::least_sigma_log2) is the line of 128 bits: it holds for binary ones,
/// and r, which is ternary, has more entropy. Nothing proves that a list was made as it should be:
/// whoever tells strangers what their ciphertexts decrypt to needs more than encryption.
///
/// ```
/// # use he_core::{backend::Cpu, tfhe::*};
/// # fn main() -> he_core::Result<()> {
/// # let (cpu, mut rng) = (Cpu::new(), he_core::rand::rng());
/// let secret = TfheSecretKey::generate(&presets::insecure_small()?, &mut rng);
/// let public = CompactPublicKey::generate(&secret, &mut rng);
/// let list = public.encrypt_i64(&[-7, 100], 16, &mut rng)?;
/// assert_eq!(secret.decrypt_i64(&list.expand(&cpu)?)?, [-7, 100]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CompactPublicKey {
    params: TfheParams,
    masks: Seed,
    /// The bodies `[i][N]`, i < k.
    bodies: Vec<u64>,
    key_set: Option<KeySetId>,
}

key_set_accessors! {
    [] CompactPublicKey { key_set }
}

impl std::fmt::Debug for CompactPublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CompactPublicKey {{ params: {:?}, .. }}", self.params.fingerprint())
    }
}

impl CompactPublicKey {
    /// Makes the public key of a secret key. Constant time.
    pub fn generate(secret: &TfheSecretKey, rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        let params = secret.params();
        let masks = Seed::random(rng);
        let errors = Seed::random(rng);
        let [_, glwe] = secret.expose_secrets();
        let exact = ExactProduct::new(glwe, params.spec().log_degree);
        let step = error_step(params.spec().glwe_sigma_log2, 64);
        let mut bodies = vec![0; params.dimension()];
        bodies.par_chunks_mut(params.degree()).enumerate().for_each(|(i, body)| {
            let mut mask = vec![0; params.dimension()];
            uniform_row(&masks, Row::PublicMask(i as u32), &mut mask);
            error_row(&errors, Row::PublicError(i as u32), step, body);
            exact.add_to(&mask, body);
        });
        Self { params: params.clone(), masks, bodies, key_set: Some(secret.key_set()) }
    }

    /// Makes a key from the seed of the masks and k N words of bodies.
    pub(crate) fn from_bodies(params: &TfheParams, masks: Seed, bodies: Vec<u64>) -> Self {
        Self { params: params.clone(), masks, bodies, key_set: None }
    }

    /// The seed of the masks, and the bodies.
    pub(crate) fn bodies(&self) -> (&Seed, &[u64]) {
        (&self.masks, &self.bodies)
    }

    /// The parameters.
    pub fn params(&self) -> &TfheParams {
        &self.params
    }

    /// The polynomials that the factors are multiplied by, `[component][i][N]`: the masks of the k
    /// encryptions of zero by component, then the bodies.
    fn columns(&self) -> Vec<u64> {
        let (n, words) = (self.params.degree(), self.params.dimension());
        let mut columns = vec![0; words / n * words];
        let mut mask = vec![0; words];
        for i in 0..words / n {
            uniform_row(&self.masks, Row::PublicMask(i as u32), &mut mask);
            for (column, a) in columns.chunks_exact_mut(words).zip(mask.chunks_exact(n)) {
                column[i * n..][..n].copy_from_slice(a);
            }
        }
        columns.extend(&self.bodies);
        columns
    }

    /// Encrypts torus elements (words in units of 2^-64), N of them under each mask. Constant time.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for 2^32 messages and more.
    pub fn encrypt(&self, messages: &[u64], rng: &mut (impl CryptoRng + ?Sized)) -> Result<CompactLwe> {
        check_count(messages)?;
        let seed = Seed::random(rng);
        let (n, words) = (self.params.degree(), self.params.dimension());
        let columns = self.columns();
        let mut masks = vec![0; GlweMasks::words_of(&self.params, messages.len())];
        let mut bodies = vec![0; messages.len()];
        let groups = masks.par_chunks_mut(words).zip(bodies.par_chunks_mut(n)).zip(messages.par_chunks(n));
        groups.enumerate().for_each(|(group, ((mask, body), messages))| {
            self.encrypt_group(&seed, group, &columns, messages, mask, body);
        });
        let mut list = FreshLwe::from_bodies(&self.params, GlweMasks(masks), bodies);
        list.set_key_set(self.key_set);
        Ok(list)
    }

    /// Encrypts up to N messages under one mask.
    fn encrypt_group(
        &self,
        seed: &Seed,
        group: usize,
        columns: &[u64],
        messages: &[u64],
        mask: &mut [u64],
        body: &mut [u64],
    ) {
        let (n, words) = (self.params.degree(), self.params.dimension());
        let components = columns.len() / words;
        let step = error_step(self.params.spec().glwe_sigma_log2, 64);
        let mut factors = Zeroizing::new(vec![0; words]);
        ternary_row(seed, Row::Factors(group as u32), &mut factors);
        let exact = ExactProduct::new(&factors, self.params.spec().log_degree);
        let combine = |component: usize, out: &mut [u64]| {
            error_row(seed, Row::FactorsError((group * components + component) as u32), step, out);
            exact.add_to(&columns[component * words..][..words], out);
        };
        for (component, mask) in mask.chunks_exact_mut(n).enumerate() {
            combine(component, mask);
        }
        // The coefficients beyond the messages are not sent.
        let mut all = Zeroizing::new(vec![0; n]);
        combine(components - 1, &mut all);
        for ((body, zero), message) in body.iter_mut().zip(all.iter()).zip(messages) {
            *body = zero.wrapping_add(*message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Cpu;
    use crate::error::Error;
    use crate::tfhe::{TfheSpec, presets};
    use num_bigint::{BigInt, BigUint};
    use rand::{Rng, SeedableRng, rngs::ChaCha20Rng};

    /// Small parameters of this GLWE dimension and degree.
    fn params(glwe_dimension: usize, log_degree: u32) -> TfheParams {
        let small = *presets::insecure_small().unwrap().spec();
        TfheParams::insecure(TfheSpec { glwe_dimension, log_degree, ..small }).unwrap()
    }

    fn keys(params: &TfheParams, seed: u64) -> (TfheSecretKey, CompactPublicKey, ChaCha20Rng) {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let secret = TfheSecretKey::generate(params, &mut rng);
        let public = CompactPublicKey::generate(&secret, &mut rng);
        assert_eq!(public.key_set(), Some(secret.key_set()));
        (secret, public, rng)
    }

    fn random(count: usize, rng: &mut ChaCha20Rng) -> Vec<u64> {
        (0..count).map(|_| rng.next_u64()).collect()
    }

    /// sum - x y modulo X^N + 1 and 2^64.
    fn subtract_product(sum: &mut [u64], x: &[u64], y: &[u64]) {
        let n = sum.len();
        for (i, j) in (0..n * n).map(|ij| (ij / n, ij % n)) {
            let term = x[i].wrapping_mul(y[j]);
            let at = &mut sum[(i + j) % n];
            *at = if i + j < n { at.wrapping_sub(term) } else { at.wrapping_add(term) };
        }
    }

    /// The errors of ciphertexts of these messages, on the torus.
    fn errors(secret: &TfheSecretKey, list: &CompactLwe, messages: &[u64]) -> Vec<f64> {
        let phases = secret.phases(&list.expand(&Cpu::new()).unwrap()).unwrap();
        assert_eq!(phases.len(), messages.len());
        let error = |(p, m): (&u64, &u64)| p.wrapping_sub(*m) as i64 as f64 * 64f64.exp2().recip();
        phases.iter().zip(messages).map(error).collect()
    }

    /// Key and lists against products of all pairs of coefficients: what is left are the errors.
    #[test]
    fn key_and_lists_are_what_they_should_be() {
        for (seed, (k, log_degree)) in [(1, 5), (2, 6), (3, 5), (1, 9)].into_iter().enumerate() {
            let params = params(k, log_degree);
            let (n, words) = (params.degree(), params.dimension());
            let (secret, public, mut rng) = keys(&params, seed as u64);
            let columns = public.columns();
            assert_eq!(columns.len(), (k + 1) * words);
            let row = |c: usize, i: usize| &columns[c * words + i * n..][..n];
            for i in 0..k {
                let mut error = row(k, i).to_vec();
                for c in 0..k {
                    subtract_product(&mut error, row(c, i), &secret.expose_secrets()[1][c * n..][..n]);
                }
                assert!(error.iter().all(|&e| (e as i64).unsigned_abs() < 1 << 23));
                assert!(error.iter().any(|&e| e != 0));
            }

            let messages = random(2 * n + 3, &mut rng);
            let [mut same, mut again] = [0, 0].map(|_| ChaCha20Rng::seed_from_u64(90));
            let list = public.encrypt(&messages, &mut same).unwrap();
            let (masks, bodies) = list.bodies();
            let seed = Seed::random(&mut again);
            assert_eq!(same.next_u64(), again.next_u64());
            assert_eq!((masks.words().len(), bodies.len()), (3 * words, 2 * n + 3));
            let step = error_step(params.spec().glwe_sigma_log2, 64);
            for group in 0..3 {
                let mut factors = vec![0; words];
                ternary_row(&seed, Row::Factors(group as u32), &mut factors);
                for c in 0..=k {
                    let mut found = match masks.words()[group * words..][..words].chunks_exact(n).nth(c) {
                        Some(mask) => mask.to_vec(),
                        None => bodies[group * n..].iter().copied().take(n).collect(),
                    };
                    let (sent, mut expected) = (found.len(), vec![0; n]);
                    found.resize(n, 0);
                    (0..k).for_each(|i| subtract_product(&mut found, &factors[i * n..][..n], row(c, i)));
                    error_row(&seed, Row::FactorsError((group * (k + 1) + c) as u32), step, &mut expected);
                    if c == k {
                        let messages = messages[group * n..].iter().take(n);
                        expected.iter_mut().zip(messages).for_each(|(e, m)| *e = e.wrapping_add(*m));
                    }
                    assert!(found[..sent] == expected[..sent], "{k}, {n}, group {group}, component {c}");
                }
            }
        }
    }

    /// As many ciphertexts as a group has, fewer and more: each has its message and its own place.
    #[test]
    fn lists_of_any_length_are_decrypted() {
        for (seed, k) in [1, 2, 3].into_iter().enumerate() {
            let params = params(k, 6);
            let (secret, public, mut rng) = keys(&params, seed as u64);
            for count in [0, 1, 2, 63, 64, 65, 128, 200] {
                let messages = random(count, &mut rng);
                let list = public.encrypt(&messages, &mut rng).unwrap();
                assert_eq!((list.count(), list.key_set()), (count, Some(secret.key_set())));
                assert_eq!(list.bodies().0.words().len(), GlweMasks::words_of(&params, count));
                assert!(errors(&secret, &list, &messages).iter().all(|e| e.abs() < 1e-9), "{k}, {count}");
            }
        }
    }

    /// The variance of errors, and that of their means under one key, which do not lean to a side.
    #[test]
    fn noise_is_as_predicted() {
        const GROUPS: usize = 48;
        for (seed, params) in
            [params(1, 9), params(1, 11), params(3, 9), presets::digits_2m128().unwrap()].iter().enumerate()
        {
            let (secret, public, mut rng) = keys(params, 40 + seed as u64);
            let n = params.degree();
            let messages = random(GROUPS * n, &mut rng);
            let errors = errors(&secret, &public.encrypt(&messages, &mut rng).unwrap(), &messages);
            let predicted = params.noise().public;
            let variance = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64 / predicted;
            // Twice the deviation of the secret's weight, and of the errors in the key.
            let spread = 6.0 * (2.0 / params.dimension() as f64).sqrt();
            assert!((variance - 1.0).abs() < spread.min(0.2), "{:?}: {variance}", params.spec());
            let mean = |place| errors.iter().skip(place).step_by(n).sum::<f64>() / GROUPS as f64;
            let means = (0..n).map(|place| mean(place) * mean(place)).sum::<f64>() / n as f64;
            let means = means * GROUPS as f64 / predicted;
            println!("{:?}: {variance:.3} of 2^{:.2}, means {means:.3}", params.spec(), predicted.log2());
            // Factors 0 and 1 would leave 10 here.
            assert!((means - 1.0).abs() < 2.0 * spread.min(0.2), "{:?}: {means}", params.spec());
        }
    }

    /// Masks are uniform in all bits, and new each time.
    #[test]
    fn masks_are_uniform_and_new() {
        let (_, public, mut rng) = keys(&params(1, 9), 50);
        let messages = vec![0; 1 << 15];
        let [one, other] = [0, 1].map(|_| public.encrypt(&messages, &mut rng).unwrap());
        let words = |list: &CompactLwe| list.bodies().0.words().to_vec();
        let (one, other) = (words(&one), words(&other));
        for shift in (0..64).step_by(8) {
            let mut counts = [0f64; 256];
            one.iter().for_each(|word| counts[(word >> shift & 0xff) as usize] += 1.0);
            let expected = one.len() as f64 / 256.0;
            let chi = counts.iter().map(|c| (c - expected) * (c - expected) / expected).sum::<f64>();
            // 255 degrees of freedom: six deviations.
            assert!((chi - 255.0).abs() < 6.0 * 510f64.sqrt(), "bits from {shift}: {chi}");
        }
        let differing: u32 = one.iter().zip(&other).map(|(x, y)| (x ^ y).count_ones()).sum();
        let all = 64.0 * one.len() as f64;
        assert!((f64::from(differing) - all / 2.0).abs() < 3.0 * all.sqrt(), "{differing} of {all} bits");
    }

    /// Random and extreme values of every width, by the secret key.
    #[test]
    fn every_width_comes_back() {
        let (secret, public, mut rng) = keys(&params(1, 9), 60);
        let cpu = Cpu::new();
        for bits in (8..=256).step_by(2) {
            let top = BigUint::from(1u8) << bits;
            let mut values: Vec<BigUint> = [0u8, 1, 2, 3].map(BigUint::from).to_vec();
            values.extend([&top - 1u8, &top >> 1, (&top >> 1) - 1u8]);
            values.extend((0..3).map(|_| {
                let bytes: Vec<u8> = random(4, &mut rng).iter().flat_map(|word| word.to_le_bytes()).collect();
                BigUint::from_bytes_le(&bytes) % &top
            }));
            let list = public.encrypt_uint(&values, bits, &mut rng).unwrap();
            assert_eq!((list.bits(), list.batch(), list.key_set()), (bits, 10, Some(secret.key_set())));
            assert_eq!(secret.decrypt_uint(&list.expand(&cpu).unwrap()).unwrap(), values);
            let signed: Vec<BigInt> =
                values.iter().map(|v| BigInt::from(v.clone()) - (BigInt::from(1) << (bits - 1))).collect();
            let list = public.encrypt_int(&signed, bits, &mut rng).unwrap().expand(&cpu).unwrap();
            assert_eq!(secret.decrypt_int(&list).unwrap(), signed);

            let words: Vec<u64> =
                random(3, &mut rng).iter().map(|word| word >> 64usize.saturating_sub(bits)).collect();
            let list = public.encrypt_u64(&words, bits, &mut rng).unwrap();
            let expected: Vec<BigUint> = words.iter().copied().map(BigUint::from).collect();
            assert_eq!(secret.decrypt_uint(&list.expand(&cpu).unwrap()).unwrap(), expected);
            let words: Vec<i64> = words.iter().map(|&word| (word as i64) >> 1).chain([-1, -128]).collect();
            let words: Vec<i64> =
                words.into_iter().map(|word| word >> 64usize.saturating_sub(bits)).collect();
            let list = public.encrypt_i64(&words, bits, &mut rng).unwrap();
            let expected: Vec<BigInt> = words.iter().copied().map(BigInt::from).collect();
            assert_eq!(secret.decrypt_int(&list.expand(&cpu).unwrap()).unwrap(), expected);
        }
        let flags: Vec<bool> = random(700, &mut rng).iter().map(|word| word & 1 == 1).collect();
        let list = public.encrypt_flags(&flags, &mut rng).unwrap();
        assert_eq!(list.batch(), 700);
        assert_eq!(secret.decrypt_flags(&list.expand(&cpu).unwrap()).unwrap(), flags);
        let list = public.encrypt_bits(&flags, &mut rng).unwrap();
        assert_eq!(list.count(), 700);
        assert_eq!(secret.decrypt_bits(&list.expand(&cpu).unwrap()).unwrap(), flags);
    }

    /// The errors of the secret key, in the same words.
    #[test]
    fn what_does_not_fit_is_refused_as_by_the_secret_key() {
        let (secret, public, mut rng) = keys(&params(1, 9), 70);
        let cpu = Cpu::new();
        let same = |found: Error, expected: Error| {
            assert!(matches!(found, Error::Argument { .. }));
            assert_eq!(found.to_string(), expected.to_string());
        };
        for (values, bits) in [(&[3, 256][..], 8), (&[1], 7), (&[1], 6), (&[1], 258), (&[], 0)] {
            let big: Vec<BigUint> = values.iter().copied().map(BigUint::from).collect();
            same(
                public.encrypt_uint(&big, bits, &mut rng).unwrap_err(),
                secret.encrypt_uint(&cpu, &big, bits, &mut rng).unwrap_err(),
            );
            same(
                public.encrypt_u64(values, bits, &mut rng).unwrap_err(),
                secret.encrypt_u64(&cpu, values, bits, &mut rng).unwrap_err(),
            );
        }
        for (value, bits) in [(128i64, 8), (-129, 8), (1, 9), (0, 0)] {
            same(
                public.encrypt_i64(&[value], bits, &mut rng).unwrap_err(),
                secret.encrypt_i64(&cpu, &[value], bits, &mut rng).unwrap_err(),
            );
            let value = [BigInt::from(value)];
            same(
                public.encrypt_int(&value, bits, &mut rng).unwrap_err(),
                secret.encrypt_int(&cpu, &value, bits, &mut rng).unwrap_err(),
            );
        }
    }

    /// The same generator makes the same list, on any number of threads.
    #[cfg(feature = "rayon")]
    #[test]
    fn threads_do_not_matter() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let (_, public, mut rng) = keys(&params(2, 6), 80);
                let messages = random(300, &mut rng);
                let list = public.encrypt(&messages, &mut rng).unwrap();
                (list.expand(&Cpu::new()).unwrap().download().unwrap(), rng.next_u64())
            })
        };
        let one = run(1);
        assert!(one == run(2) && one == run(3));
    }
}
