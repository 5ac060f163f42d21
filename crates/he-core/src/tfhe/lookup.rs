//! Tables, and programmable bootstrapping.

use super::{BootstrapKey, Combination, LweBatch, LweOps, Noise, TfheParams};
use crate::backend::{Cpu, Tally};
use crate::error::{Error, Result};
use crate::key_set::{KeySetId, common};
use derive_where::derive_where;

/// Tables on a device: polynomials whose coefficient p is the result for a phase of p/2N; beyond
/// 1/2 it is the negative.
///
/// A table may hold F functions of the same message, which one blind rotation evaluates together:
/// F = 2^j adjacent runs of coefficients, with the result of function f at coefficient f N / F of
/// the accumulator. Messages then lie in [0, 1 / (2F)). This is PBSmanyLUT of Chillotti, Ligier,
/// Orfila, Tap, *Improved Programmable Bootstrapping with Larger Precision and Efficient Arithmetic
/// Circuits for TFHE*, ASIACRYPT 2021, which interleaves the functions at the cost of j bits of the
/// modulus switch. Adjacent runs cost the upper messages instead, and the margin of a lookup
/// remains that of one function with F times the entries.
#[derive_where(Clone; B::Buf)]
pub struct LookupTables<B: LweOps = Cpu> {
    buf: B::Buf,
    count: usize,
    functions: usize,
}

impl<B: LweOps> std::fmt::Debug for LookupTables<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LookupTables {{ count: {}, functions: {} }}", self.count, self.functions)
    }
}

impl<B: LweOps> LookupTables<B> {
    /// Makes tables over `size` messages m = 0, 1, ..., encoded as m / (2 size): entry m serves the
    /// phases within 1/(4 size) of its message, and minus entry m those of m / (2 size) + 1/2.
    /// Outputs are words in units of 2^-64.
    ///
    /// # Errors
    /// [`Error::Argument`] unless all have as many entries, a power of two up to N/2; device
    /// errors.
    pub fn new(backend: &B, params: &TfheParams, tables: &[Vec<u64>]) -> Result<Self> {
        let entries: Vec<&[u64]> = tables.iter().map(Vec::as_slice).collect();
        Self::of_functions(backend, params, &entries, 1)
    }

    /// Makes tables of two functions over `size` messages m = 0, 1, ... each, encoded as m / (4
    /// size), for [`Bootstrapper::bootstrap_pairs`]: entry m serves the phases within 1/(8 size) of
    /// its message. Nothing is defined beyond the last message: a message of `size` or more yields
    /// entries of the other function.
    ///
    /// # Errors
    /// [`Error::Argument`] unless all functions have as many entries, a power of two up to N/4;
    /// device errors.
    pub fn pairs(backend: &B, params: &TfheParams, tables: &[[Vec<u64>; 2]]) -> Result<Self> {
        let entries: Vec<&[u64]> = tables.iter().flatten().map(Vec::as_slice).collect();
        Self::of_functions(backend, params, &entries, 2)
    }

    /// Makes tables of `functions` functions each; those of a table are in sequence.
    pub(super) fn of_functions(
        backend: &B,
        params: &TfheParams,
        entries: &[&[u64]],
        functions: usize,
    ) -> Result<Self> {
        let n = params.degree();
        let most = n / 2 / functions;
        for function in entries {
            let size = function.len();
            if !size.is_power_of_two() || size > most || size != entries[0].len() {
                return Err(Error::domain(
                    "entries of a lookup table",
                    size.to_string(),
                    format!("a power of two up to {most}, the same for all functions"),
                ));
            }
        }
        let words: Vec<u64> =
            entries.chunks_exact(functions).flat_map(|table| coefficients(&table.concat(), n)).collect();
        Ok(Self { buf: backend.upload(&words)?, count: entries.len() / functions, functions })
    }

    /// Makes tables of `functions` entries, a power of two up to N/2: the result of function f for
    /// message m is entry m + f, or minus entry m + f - `functions`.
    ///
    /// Lookups of one ciphertext in equal tables have noise of their own: table i has one unit of
    /// the last digit of the gadget, 2^-bl, more at coefficient i. The first product of a rotation
    /// that is not by 1 then differs by two rows of its key, whose masks are uniform, and all
    /// digits after it are independent. Nothing else tells such tables apart: a result is off by
    /// 2^-bl, and only where the phase is i.
    ///
    /// # Errors
    /// Device errors.
    pub(super) fn apart(
        backend: &B,
        params: &TfheParams,
        tables: &[Vec<u64>],
        functions: usize,
    ) -> Result<Self> {
        let n = params.degree();
        let mut words: Vec<u64> = tables.iter().flat_map(|table| coefficients(table, n)).collect();
        for (i, table) in words.chunks_exact_mut(n).enumerate() {
            table[i % n] = table[i % n].wrapping_add(1 << (64 - params.spec().bootstrap.bits()));
        }
        Ok(Self { buf: backend.upload(&words)?, count: tables.len(), functions })
    }

    /// The table of signs: `word` for phases in [0, 1/2), minus `word` otherwise.
    ///
    /// # Errors
    /// Device errors.
    pub fn sign(backend: &B, params: &TfheParams, word: u64) -> Result<Self> {
        Ok(Self { buf: backend.upload(&vec![word; params.degree()])?, count: 1, functions: 1 })
    }
}

/// The polynomial of degree below n whose coefficients around each message are its entry.
fn coefficients(table: &[u64], n: usize) -> Vec<u64> {
    let width = n / table.len();
    let entry = |p: usize| (p + width / 2) / width;
    (0..n).map(|p| table.get(entry(p)).copied().unwrap_or_else(|| table[0].wrapping_neg())).collect()
}

/// A device that holds a bootstrapping key.
pub struct Bootstrapper<B: LweOps = Cpu> {
    backend: B,
    params: TfheParams,
    key: B::LweKey,
    /// A multi-bit key, and the most ciphertexts of a batch that takes it.
    few: Option<(B::LweKey, usize)>,
    noise: Noise,
    key_set: Option<KeySetId>,
}

impl<B: LweOps> std::fmt::Debug for Bootstrapper<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Bootstrapper {{ backend: {}, params: {:?} }}",
            self.backend.name(),
            self.params.fingerprint()
        )
    }
}

impl Bootstrapper<Tally> {
    /// The bootstrapper of a back end that counts, which needs no key.
    pub(super) fn counting(tally: &Tally, params: &TfheParams) -> Self {
        let (params, noise) = (params.clone(), params.noise());
        Self { backend: tally.clone(), key: params.clone(), params, few: None, noise, key_set: None }
    }
}

impl<B: LweOps> Bootstrapper<B> {
    /// Expands the key on the device.
    ///
    /// # Errors
    /// Device errors.
    pub fn new(backend: &B, key: &BootstrapKey) -> Result<Self> {
        let (params, noise, key_set) = (key.params().clone(), key.noise(), key.key_set());
        Ok(Self { backend: backend.clone(), params, key: backend.lwe_key(key)?, few: None, noise, key_set })
    }

    /// Adds a multi-bit key of the same secret, which batches of at most `most` ciphertexts take:
    /// they are done sooner by it, and large ones by the first key. Where a multi-bit key is faster
    /// for all batches, as for digits on a GPU, it is the only key ([`new`](Self::new)). The words of a result depend on
    /// the key, and so on the size of the batch, but not on the device.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`]; [`Error::Argument`] for a key that is not
    /// a multi-bit one; device errors.
    pub fn with_multi_bit(mut self, key: &BootstrapKey, most: usize) -> Result<Self> {
        self.params.check_same(key.params(), "multi-bit key")?;
        self.params.check_group(key.group())?;
        self.key_set = common("multi-bit key", key.key_set(), self.key_set)?;
        if key.noise().bootstrapped() > self.noise.bootstrapped() {
            self.noise = key.noise();
        }
        self.few = Some((self.backend.lwe_key(key)?, most));
        Ok(self)
    }

    /// The predicted variances, of the noisier key if there are two.
    pub fn noise(&self) -> &Noise {
        &self.noise
    }

    /// The key for a batch.
    fn key(&self, count: usize) -> &B::LweKey {
        self.few.as_ref().filter(|(_, most)| count <= *most).map_or(&self.key, |(key, _)| key)
    }

    /// The device.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// The key's parameters.
    pub fn params(&self) -> &TfheParams {
        &self.params
    }

    /// The key set of its key, if known.
    pub fn key_set(&self) -> Option<KeySetId> {
        self.key_set
    }

    /// Looks every ciphertext up in its table, table `which[i]`, by a key switch and a blind
    /// rotation. The noise of the result is [`Noise::bootstrapped`](super::Noise::bootstrapped),
    /// whatever the noise of the input; the lookup errs if that, together with the noise of
    /// switching, reaches the next entry.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`], [`Error::BatchMismatch`],
    /// [`Error::Argument`] for a table that does not exist, and for tables of several functions;
    /// device errors.
    pub fn bootstrap(
        &self,
        ciphertexts: &LweBatch<B>,
        tables: &LookupTables<B>,
        which: &[u32],
    ) -> Result<LweBatch<B>> {
        self.bootstrap_functions(ciphertexts, tables, which, 1)
    }

    /// Looks every ciphertext up in both functions of its table, table `which[i]` of
    /// [`LookupTables::pairs`], by one bootstrap per ciphertext. Results are
    /// `[function][ciphertext]`, with all results of the first function before those of the second.
    ///
    /// # Noise
    /// The noise of each result is that of [`bootstrap`](Self::bootstrap), and the two results of a
    /// ciphertext may be combined like those of two bootstraps, because their errors are
    /// uncorrelated. They are coefficients 0 and N/2 of one polynomial, a sum over the key's rows
    /// of products d e of digits and errors, and over the components of products s r of the secret
    /// and roundings. Coefficient N/2 of d e is the constant one of (X^(-N/2) d) e, so that for
    /// errors e of variance v the covariance is v <d, X^(-N/2) d>, which is 0 for every d modulo
    /// X^N + 1: multiplication by X^(N/2) is orthogonal with square -1, hence skew. The same holds
    /// for s, and for the roundings of the transform as far as they are white (tested by
    /// crates/he-cuda/tests/cuda/tfhe.rs on a device). The two results share the lookup: if the
    /// noise of the input reaches the next entry, both err.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`], [`Error::BatchMismatch`],
    /// [`Error::Argument`] for a table that does not exist, and for tables of one function; device
    /// errors.
    pub fn bootstrap_pairs(
        &self,
        ciphertexts: &LweBatch<B>,
        tables: &LookupTables<B>,
        which: &[u32],
    ) -> Result<LweBatch<B>> {
        self.bootstrap_functions(ciphertexts, tables, which, 2)
    }

    pub(super) fn bootstrap_functions(
        &self,
        ciphertexts: &LweBatch<B>,
        tables: &LookupTables<B>,
        which: &[u32],
        functions: usize,
    ) -> Result<LweBatch<B>> {
        ciphertexts.expect_params(&self.params)?;
        let key_set = ciphertexts.expect_key_set(self.key_set)?;
        let count = ciphertexts.count();
        if which.len() != count {
            return Err(Error::BatchMismatch { left: count, right: which.len() });
        }
        if tables.functions != functions {
            return Err(Error::domain(
                "lookup",
                format!("tables of {} function(s) each where {functions} are looked up", tables.functions),
                "new and sign make those of bootstrap, pairs those of bootstrap_pairs",
            ));
        }
        if let Some(table) = which.iter().find(|&&table| table as usize >= tables.count) {
            let why = format!("table {table}, and there are {}", tables.count);
            return Err(Error::argument("lookup", why));
        }
        if self.backend.words(&tables.buf) != tables.count * self.params.degree() {
            return Err(Error::domain(
                "lookup",
                "tables of another degree",
                "make them with the bootstrapping key's parameters",
            ));
        }
        let key = self.key(count);
        let small = self.backend.key_switch(key, ciphertexts.buf(), count)?;
        let buf = self.backend.blind_rotate(key, &small, count, &tables.buf, which, functions)?;
        Ok(LweBatch::new(&self.backend, self.params.clone(), buf, functions * count, key_set))
    }

    /// Computes linear combinations of ciphertexts of a batch.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`], [`Error::BatchRange`] for an index beyond
    /// the batch; device errors.
    pub fn combine(&self, ciphertexts: &LweBatch<B>, combinations: &[Combination]) -> Result<LweBatch<B>> {
        ciphertexts.expect_params(&self.params)?;
        let key_set = ciphertexts.expect_key_set(self.key_set)?;
        let batch = ciphertexts.count();
        if let Some(&(_, start)) =
            combinations.iter().flat_map(|c| &c.terms).find(|&&(_, index)| index >= batch)
        {
            return Err(Error::BatchRange { start, end: start.saturating_add(1), batch });
        }
        let buf = self.backend.lwe_combine(&self.params, ciphertexts.buf(), combinations)?;
        Ok(LweBatch::new(&self.backend, self.params.clone(), buf, combinations.len(), key_set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Backend, Cpu};
    use crate::tfhe::{Gadget, Noise, TfheSecretKey, TfheSpec, presets};
    use rand::{Rng, SeedableRng, rngs::ChaCha20Rng};

    fn keys(params: &TfheParams, seed: u64) -> (TfheSecretKey, Bootstrapper<Cpu>, ChaCha20Rng) {
        keys_of(params, 1, seed)
    }

    /// With a multi-bit key, unless a group has one bit.
    fn keys_of(
        params: &TfheParams,
        group: usize,
        seed: u64,
    ) -> (TfheSecretKey, Bootstrapper<Cpu>, ChaCha20Rng) {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let secret = TfheSecretKey::generate(params, &mut rng);
        let key = match group {
            1 => BootstrapKey::generate(&secret, &mut rng),
            _ => BootstrapKey::generate_multi_bit(&secret, group, &mut rng).unwrap(),
        };
        (secret, Bootstrapper::new(&Cpu::new(), &key).unwrap(), rng)
    }

    /// Parameters for which every part of the noise is visible in few samples, some with several
    /// levels and polynomials.
    fn noisy() -> Vec<TfheParams> {
        let gadget = |base_log, levels| Gadget { base_log, levels };
        let base = TfheSpec {
            lwe_dimension: 64,
            lwe_sigma_log2: -18.0,
            glwe_dimension: 1,
            log_degree: 10,
            glwe_sigma_log2: -36.0,
            bootstrap: gadget(12, 2),
            switch: gadget(5, 4),
        };
        let three_levels = TfheSpec {
            glwe_dimension: 2,
            log_degree: 9,
            bootstrap: gadget(8, 3),
            glwe_sigma_log2: -33.0,
            lwe_sigma_log2: -24.0,
            ..base
        };
        let one_level = TfheSpec {
            log_degree: 8,
            glwe_dimension: 3,
            bootstrap: gadget(20, 1),
            glwe_sigma_log2: -45.0,
            switch: gadget(4, 2),
            ..base
        };
        [base, three_levels, one_level].map(|spec| TfheParams::insecure(spec).unwrap()).into()
    }

    fn centred(word: u64) -> f64 {
        (word as i64) as f64 * 64f64.exp2().recip()
    }

    /// The sample variance over the predicted one must be within six deviations of a chi-square for
    /// `count` samples; rounding terms depend on the key, by a few percent at these dimensions.
    fn check(name: &str, errors: &[f64], predicted: f64) {
        let found = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
        let spread = 6.0 * (2.0 / errors.len() as f64).sqrt();
        println!("{name}: {:.3} of 2^{:.2}", found / predicted, predicted.log2());
        assert!(
            (found / predicted - 1.0).abs() < spread + 0.15,
            "{name}: {found:e}, predicted {predicted:e}"
        );
    }

    /// Each part of the noise against its prediction, on words that the secret key opens.
    #[test]
    fn noise_is_as_predicted() {
        let of_groups = |group: usize| noisy().into_iter().map(move |params| (params, group));
        noise_is_as(&of_groups(1).collect::<Vec<_>>());
    }

    #[test]
    fn noise_of_multi_bit_keys_is_as_predicted() {
        let all = noisy().into_iter().zip([4, 2, 3]).map(|(params, group)| {
            let spec = TfheSpec { lwe_dimension: 60, ..*params.spec() };
            (TfheParams::insecure(spec).unwrap(), group)
        });
        noise_is_as(&all.collect::<Vec<_>>());
    }

    /// Where the errors of the transform matter, those of digits must still have no mean, which the
    /// secret would multiply by N/2.
    #[test]
    fn errors_of_the_transform_stay_below_their_bound() {
        let (cpu, count) = (Cpu::new(), 1024);
        for group in [2, 4] {
            let preset = *presets::digits_2m128_multibit().unwrap().spec();
            let params = TfheParams::insecure(TfheSpec { lwe_dimension: 60, ..preset }).unwrap();
            let (secret, boot, mut rng) = keys_of(&params, group, 40 + group as u64);
            let small: Vec<u64> = (0..count * 61).map(|_| rng.next_u32().into()).collect();
            let small = cpu.upload(&small).unwrap();
            let table = cpu.upload(&vec![1 << 61; params.degree()]).unwrap();
            let out = cpu.blind_rotate(&boot.key, &small, count, &table, &vec![0; count], 1).unwrap();
            let phases = secret.phases(&LweBatch::upload(&cpu, &params, &out).unwrap()).unwrap();
            let nearest = |phase: u64| if phase >> 63 == 1 { 7 << 61 } else { 1 << 61 };
            let errors = phases.iter().map(|&phase| centred(phase.wrapping_sub(nearest(phase))));
            let found = errors.map(|error| error * error).sum::<f64>() / count as f64;
            let noise = params.noise_of_groups(group);
            let (least, most) = (noise.blind_rotation, noise.bootstrapped());
            println!("groups of {group}: {:.3} of {least:e}, {:.3} of {most:e}", found / least, found / most);
            let spread = 6.0 * (2.0 / count as f64).sqrt() + 0.1;
            assert!(found > least * (1.0 - spread) && found < most * (1.0 + spread), "{found:e}");
        }
    }

    fn noise_is_as(all: &[(TfheParams, usize)]) {
        let cpu = Cpu::new();
        for (i, (params, group)) in all.iter().enumerate() {
            let (secret, boot, mut rng) = keys_of(params, *group, 10 + i as u64);
            let noise: Noise = params.noise_of_groups(*group);
            let (n, count) = (params.spec().lwe_dimension, 512);
            let messages: Vec<u64> = (0..count).map(|_| rng.next_u64() >> 1).collect();
            let fresh = secret.encrypt(&cpu, &messages, &mut rng).unwrap();
            let phases = secret.phases(&fresh).unwrap();
            let errors: Vec<f64> =
                phases.iter().zip(&messages).map(|(p, m)| centred(p.wrapping_sub(*m))).collect();
            check("fresh", &errors, noise.fresh);

            let small = cpu.key_switch(&boot.key, fresh.buf(), count).unwrap();
            assert!(small.iter().all(|&word| word >> 32 == 0));
            let errors: Vec<f64> = secret
                .small_phases(&small)
                .iter()
                .zip(phases.iter())
                .map(|(&s, p)| centred((u64::from(s) << 32).wrapping_sub(*p)))
                .collect();
            check("key switch", &errors, noise.key_switch);

            // A table of the phases themselves: the result is the rounded phase, plus noise.
            let degree = params.degree();
            let step = 1u64 << (63 - params.spec().log_degree);
            let identity: Vec<u64> = (0..degree as u64).map(|p| p * step).collect();
            let identity = cpu.upload(&identity).unwrap();

            let out = cpu.blind_rotate(&boot.key, &small, count, &identity, &vec![0; count], 2).unwrap();
            let out = LweBatch::upload(&cpu, params, &out).unwrap();
            let out = secret.phases(&out).unwrap();
            let exact = secret.small_phases(&small);
            let (mut switch_errors, mut rotation_errors, mut second_errors) = (vec![], vec![], vec![]);
            let round = |phase: u64| phase.wrapping_add(step / 2) / step * step;
            for ((first, second), small) in out[..count].iter().zip(&out[count..]).zip(exact) {
                let rounded = round(*first);
                let error = rounded.wrapping_sub(u64::from(small) << 32);
                // Near 0 and 1/2 the table changes its sign.
                if (1 << 28..(1u64 << 31) - (1 << 28)).contains(&u64::from(small)) {
                    switch_errors.push(centred(error));
                    rotation_errors.push(centred(first.wrapping_sub(rounded)));
                    // The second function is a quarter ahead, and from 1/2 on it is minus the start
                    // of the table.
                    let quarter = 1u64 << 62;
                    let expected =
                        if rounded < quarter { rounded + quarter } else { quarter.wrapping_sub(rounded) };
                    assert_eq!(round(*second), expected);
                    second_errors.push(centred(second.wrapping_sub(expected)));
                }
            }
            assert!(switch_errors.len() > count / 2, "{n}");
            check("modulus switch", &switch_errors, noise.modulus_switch);
            check("blind rotation", &rotation_errors, noise.blind_rotation);
            check("blind rotation, second function", &second_errors, noise.blind_rotation);
            // They must be uncorrelated, within six deviations.
            let products = rotation_errors.iter().zip(&second_errors).map(|(e, f)| e * f);
            let correlation = products.sum::<f64>() / noise.blind_rotation / second_errors.len() as f64;
            println!("correlation: {correlation:.3} of {} pairs", second_errors.len());
            assert!(correlation.abs() < 6.0 / (second_errors.len() as f64).sqrt(), "{correlation}");
        }
    }

    #[test]
    fn random_tables_are_looked_up() {
        let cpu = Cpu::new();
        let small = *presets::insecure_small().unwrap().spec();
        let shapes = [(9, 1, 1), (9, 2, 1), (11, 1, 1), (9, 1, 2), (9, 2, 3), (11, 1, 4)];
        for (seed, (log_degree, glwe_dimension, group)) in shapes.into_iter().enumerate() {
            let spec = TfheSpec { log_degree, glwe_dimension, lwe_dimension: 36, ..small };
            let params = TfheParams::insecure(spec).unwrap();
            let (secret, boot, mut rng) = keys_of(&params, group, 20 + seed as u64);
            for size in [2usize, 4, 16] {
                let tables: Vec<Vec<u64>> =
                    (0..3).map(|_| (0..size).map(|_| rng.next_u64()).collect()).collect();
                let lookups = LookupTables::new(&cpu, &params, &tables).unwrap();
                let messages: Vec<usize> = (0..2 * size).collect();
                let words: Vec<u64> = messages.iter().map(|&m| (m as u64) << (63 - size.ilog2())).collect();
                let which: Vec<u32> = messages.iter().map(|&m| m as u32 % 3).collect();
                let fresh = secret.encrypt(&cpu, &words, &mut rng).unwrap();
                let out = boot.bootstrap(&fresh, &lookups, &which).unwrap();
                let phases = secret.phases(&out).unwrap();
                for (&m, &phase) in messages.iter().zip(phases.iter()) {
                    let entry = tables[m % 3][m % size];
                    let expected = if m < size { entry } else { entry.wrapping_neg() };
                    assert!(centred(phase.wrapping_sub(expected)).abs() < 1e-3, "{size} {m} {seed}");
                }
            }
        }
    }

    /// Batches of up to two ciphertexts take the multi-bit key, and larger ones the other key.
    #[test]
    fn small_batches_take_the_multi_bit_key() {
        let (cpu, params) = (Cpu::new(), presets::insecure_small().unwrap());
        let mut rng = ChaCha20Rng::seed_from_u64(70);
        let secret = TfheSecretKey::generate(&params, &mut rng);
        let key = BootstrapKey::generate(&secret, &mut rng);
        let multi_bit = BootstrapKey::generate_multi_bit(&secret, 4, &mut rng).unwrap();
        let [one, other] = [&key, &multi_bit].map(|key| Bootstrapper::new(&cpu, key).unwrap());
        let both = Bootstrapper::new(&cpu, &key).unwrap().with_multi_bit(&multi_bit, 2).unwrap();
        let each = [&one, &other].map(|boot| boot.noise().bootstrapped());
        assert_eq!(both.noise().bootstrapped(), each[0].max(each[1]));
        let table = LookupTables::sign(&cpu, &params, 1 << 61).unwrap();
        for (count, same, differs) in [(1, &other, &one), (2, &other, &one), (3, &one, &other)] {
            let bits: Vec<u64> = (0..count).map(|i| if i % 2 == 0 { 1 << 61 } else { 7 << 61 }).collect();
            let fresh = secret.encrypt(&cpu, &bits, &mut rng).unwrap();
            let words = |boot: &Bootstrapper<Cpu>| {
                let out = boot.bootstrap(&fresh, &table, &vec![0; count]).unwrap();
                let signs: Vec<bool> = secret.phases(&out).unwrap().iter().map(|p| p >> 63 == 0).collect();
                assert_eq!(signs, bits.iter().map(|bit| bit >> 63 == 0).collect::<Vec<_>>());
                out.download().unwrap()
            };
            assert_eq!(words(&both), words(same));
            assert_ne!(words(&both), words(differs));
        }
        let refused = |key: &BootstrapKey| Bootstrapper::new(&cpu, key).unwrap().with_multi_bit(key, 1);
        assert!(matches!(refused(&key), Err(Error::Argument { .. })));
        let foreign =
            BootstrapKey::generate_multi_bit(&TfheSecretKey::generate(&params, &mut rng), 4, &mut rng);
        let mixed = Bootstrapper::new(&cpu, &key).unwrap().with_multi_bit(&foreign.unwrap(), 1);
        assert!(matches!(mixed, Err(Error::KeyMismatch { .. })));
        for group in [0, 1, 3, 5, usize::MAX] {
            let made = BootstrapKey::generate_multi_bit(&secret, group, &mut rng);
            assert!(matches!(made, Err(Error::Argument { .. })), "{group}");
        }
    }

    /// Tests two functions of one rotation for all messages, at any error within the margin.
    #[test]
    fn random_pairs_are_looked_up() {
        let cpu = Cpu::new();
        let small = presets::insecure_small().unwrap();
        let three = TfheParams::insecure(TfheSpec { glwe_dimension: 3, ..*small.spec() }).unwrap();
        let digits = presets::digits_2m40().unwrap();
        // Words up to some eighths of a box from a message are looked up as well: a preset leaves
        // little margin beyond its own noise.
        let all: [(TfheParams, &[usize], u64); 3] =
            [(small, &[1, 2, 8], 3), (three, &[4, 8], 3), (digits, &[8], 1)];
        for (seed, (params, sizes, eighths)) in all.into_iter().enumerate() {
            let (secret, boot, mut rng) = keys(&params, 50 + seed as u64);
            for &size in sizes {
                let function = |rng: &mut ChaCha20Rng| (0..size).map(|_| rng.next_u64()).collect::<Vec<_>>();
                let tables: Vec<[Vec<u64>; 2]> =
                    (0..2).map(|_| [function(&mut rng), function(&mut rng)]).collect();
                let lookups = LookupTables::pairs(&cpu, &params, &tables).unwrap();
                let box_width = 1u64 << (62 - size.ilog2());
                let words: Vec<u64> = (0..size as u64)
                    .flat_map(|m| {
                        let (message, off) = (m * box_width, eighths * box_width / 8);
                        [message.wrapping_sub(off), message, message + off]
                    })
                    .collect();
                let which: Vec<u32> = (0..words.len()).map(|_| rng.next_u32() % 2).collect();
                let fresh = secret.encrypt(&cpu, &words, &mut rng).unwrap();
                let out = boot.bootstrap_pairs(&fresh, &lookups, &which).unwrap();
                assert_eq!(out.count(), 2 * words.len());
                let phases = secret.phases(&out).unwrap();
                for (i, table) in which.iter().enumerate() {
                    for function in 0..2 {
                        let found = phases[function * words.len() + i];
                        let expected = tables[*table as usize][function][i / 3];
                        let error = centred(found.wrapping_sub(expected));
                        assert!(
                            error.abs() < 1e-3,
                            "{size} entries, word {i}, function {function}, seed {seed}"
                        );
                    }
                }
            }
        }
    }

    /// Words depend neither on threads nor on the rest of the batch.
    #[cfg(feature = "rayon")]
    #[test]
    fn threads_and_batches_do_not_matter() {
        let cpu = Cpu::new();
        let params = presets::insecure_small().unwrap();
        let (secret, boot, mut rng) = keys(&params, 30);
        let messages: Vec<u64> = (0..21).map(|_| rng.next_u64()).collect();
        let fresh = secret.encrypt(&cpu, &messages, &mut rng).unwrap();
        let tables = LookupTables::sign(&cpu, &params, 1 << 61).unwrap();
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| boot.bootstrap(&fresh, &tables, &[0; 21]).unwrap().download().unwrap())
        };
        let one = run(1);
        assert!(one == run(2) && one == run(3));
        let alone = boot.bootstrap(&fresh.part(20..21).unwrap(), &tables, &[0]).unwrap();
        assert_eq!(alone.download().unwrap(), one[20 * params.words()..]);
        // Keys are also functions of the generator alone.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let other = pool.install(|| keys(&params, 30).1);
        assert!(other.key.bootstrap_words() == boot.key.bootstrap_words());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let cpu = Cpu::new();
        let params = presets::insecure_small().unwrap();
        let (secret, boot, mut rng) = keys(&params, 40);
        let fresh = secret.encrypt(&cpu, &[0; 2], &mut rng).unwrap();
        let tables = LookupTables::sign(&cpu, &params, 1 << 61).unwrap();
        assert!(matches!(boot.bootstrap(&fresh, &tables, &[0]), Err(Error::BatchMismatch { .. })));
        assert!(matches!(boot.bootstrap(&fresh, &tables, &[0, 1]), Err(Error::Argument { .. })));
        let terms = vec![(1, 2)];
        assert!(matches!(
            boot.combine(&fresh, &[Combination { constant: 0, terms }]),
            Err(Error::BatchRange { .. })
        ));
        assert!(matches!(fresh.part(1..3), Err(Error::BatchRange { .. })));
        for size in [0, 3, params.degree()] {
            let table = [vec![0; size]];
            assert!(matches!(LookupTables::new(&cpu, &params, &table), Err(Error::Argument { .. })));
        }
        for (first, second) in [(0, 0), (3, 3), (params.degree() / 2, params.degree() / 2), (4, 8)] {
            let pair = [[vec![0; first], vec![0; second]]];
            assert!(matches!(LookupTables::pairs(&cpu, &params, &pair), Err(Error::Argument { .. })));
        }
        // Tables of one function and of two cannot replace each other.
        let pairs = LookupTables::pairs(&cpu, &params, &[[vec![0; 8], vec![0; 8]]]).unwrap();
        let refused = boot.bootstrap(&fresh, &pairs, &[0, 0]).unwrap_err();
        assert!(matches!(refused, Error::Argument { .. }) && refused.to_string().contains("bootstrap_pairs"));
        assert!(matches!(boot.bootstrap_pairs(&fresh, &tables, &[0, 0]), Err(Error::Argument { .. })));
        assert!(matches!(boot.bootstrap_pairs(&fresh, &pairs, &[0]), Err(Error::BatchMismatch { .. })));
        assert!(matches!(boot.bootstrap_pairs(&fresh, &pairs, &[0, 1]), Err(Error::Argument { .. })));
        let other = presets::digits_2m128().unwrap();
        let foreign = LweBatch::zeros(&cpu, &other, 1).unwrap();
        assert!(matches!(boot.bootstrap(&foreign, &tables, &[0]), Err(Error::ParamsMismatch { .. })));
        assert!(matches!(secret.phases(&foreign), Err(Error::ParamsMismatch { .. })));
        let tables = LookupTables::sign(&cpu, &other, 1 << 61).unwrap();
        assert!(matches!(boot.bootstrap(&fresh, &tables, &[0, 0]), Err(Error::Argument { .. })));
        assert!(matches!(LweBatch::upload(&cpu, &params, &[0; 7]), Err(Error::Argument { .. })));
        let empty = fresh.part(0..0).unwrap();
        let tables = LookupTables::sign(&cpu, &params, 1 << 61).unwrap();
        assert_eq!(boot.bootstrap(&empty, &tables, &[]).unwrap().count(), 0);
        assert_eq!(boot.bootstrap_pairs(&empty, &pairs, &[]).unwrap().count(), 0);
        assert_eq!(format!("{secret:?}"), "TfheSecretKey { .. }");
    }
}
