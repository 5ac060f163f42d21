//! Tables, and programmable bootstrapping.

use super::{BootstrapKey, Combination, LweBatch, LweOps, TfheParams};
use crate::error::{Error, Result};

/// Tables on a device: polynomials whose coefficient p is what a phase of p/2N leaves; beyond 1/2 it is the negative.
pub struct LookupTables<B: LweOps> {
    buf: B::Buf,
    count: usize,
}

impl<B: LweOps> std::fmt::Debug for LookupTables<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LookupTables {{ count: {} }}", self.count)
    }
}

impl<B: LweOps> LookupTables<B> {
    /// Tables over `size` messages m = 0, 1, ..., encoded as m / (2 size): entry m serves the phases within 1/(4 size) of its message, and minus
    /// entry m those of m / (2 size) + 1/2. Outputs are words in units of 2^-64.
    ///
    /// # Errors
    /// [`Error::Argument`] unless all have as many entries, a power of two up to N/2; device errors.
    pub fn new(backend: &B, params: &TfheParams, tables: &[Vec<u64>]) -> Result<Self> {
        let n = params.degree();
        let mut words = Vec::with_capacity(tables.len() * n);
        for table in tables {
            let size = table.len();
            if !size.is_power_of_two() || size > n / 2 || size != tables[0].len() {
                let why = format!("{size}; a power of two up to {}, the same for all tables", n / 2);
                return Err(Error::Argument { what: "entries of a lookup table", why });
            }
            let width = n / size;
            words.extend((0..n).map(|p| {
                let entry = (p + width / 2) / width;
                if entry == size { table[0].wrapping_neg() } else { table[entry] }
            }));
        }
        Ok(Self { buf: backend.upload(&words)?, count: tables.len() })
    }

    /// The table of signs: `word` for phases in [0, 1/2), minus `word` otherwise.
    ///
    /// # Errors
    /// Device errors.
    pub fn sign(backend: &B, params: &TfheParams, word: u64) -> Result<Self> {
        Ok(Self { buf: backend.upload(&vec![word; params.degree()])?, count: 1 })
    }
}

/// A device with a bootstrapping key on it.
pub struct Bootstrapper<B: LweOps> {
    backend: B,
    params: TfheParams,
    key: B::LweKey,
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

impl<B: LweOps> Bootstrapper<B> {
    /// Expands the key on the device.
    ///
    /// # Errors
    /// Device errors.
    pub fn new(backend: &B, key: &BootstrapKey) -> Result<Self> {
        Ok(Self { backend: backend.clone(), params: key.params().clone(), key: backend.lwe_key(key)? })
    }

    /// The device.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// The key's parameters.
    pub fn params(&self) -> &TfheParams {
        &self.params
    }

    /// Looks every ciphertext up in its table, table `which[i]`. Key switch, then blind rotation: the result's noise is
    /// [`Noise::bootstrapped`](super::Noise::bootstrapped) whatever the input's was; the lookup errs if the input's together with that of
    /// switching reaches the next entry.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::BatchMismatch`], [`Error::Argument`] for a table that there is not; device errors.
    pub fn bootstrap(
        &self,
        ciphertexts: &LweBatch<B>,
        tables: &LookupTables<B>,
        which: &[u32],
    ) -> Result<LweBatch<B>> {
        ciphertexts.expect_params(&self.params)?;
        let count = ciphertexts.count();
        if which.len() != count {
            return Err(Error::BatchMismatch { left: count, right: which.len() });
        }
        if let Some(table) = which.iter().find(|&&table| table as usize >= tables.count) {
            let why = format!("table {table}, and there are {}", tables.count);
            return Err(Error::Argument { what: "lookup", why });
        }
        if self.backend.words(&tables.buf) != tables.count * self.params.degree() {
            let why = "tables of another degree; make them with the bootstrapping key's parameters".into();
            return Err(Error::Argument { what: "lookup", why });
        }
        let small = self.backend.key_switch(&self.key, ciphertexts.buf(), count)?;
        let buf = self.backend.blind_rotate(&self.key, &small, count, &tables.buf, which)?;
        Ok(LweBatch::new(self.params.clone(), buf, count))
    }

    /// Linear combinations of ciphertexts of a batch.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::BatchRange`] for an index beyond the batch; device errors.
    pub fn combine(&self, ciphertexts: &LweBatch<B>, combinations: &[Combination]) -> Result<LweBatch<B>> {
        ciphertexts.expect_params(&self.params)?;
        let batch = ciphertexts.count();
        if let Some(&(_, start)) =
            combinations.iter().flat_map(|c| &c.terms).find(|&&(_, index)| index >= batch)
        {
            return Err(Error::BatchRange { start, end: start.saturating_add(1), batch });
        }
        let buf = self.backend.lwe_combine(&self.params, ciphertexts.buf(), combinations)?;
        Ok(LweBatch::new(self.params.clone(), buf, combinations.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Cpu;
    use crate::tfhe::{Gadget, Noise, TfheSecretKey, TfheSpec, presets};
    use rand::{Rng, SeedableRng, rngs::ChaCha20Rng};

    fn keys(params: &TfheParams, seed: u64) -> (TfheSecretKey, Bootstrapper<Cpu>, ChaCha20Rng) {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let secret = TfheSecretKey::generate(params, &mut rng);
        let key = BootstrapKey::generate(&secret, &mut rng);
        (secret, Bootstrapper::new(&Cpu::new(), &key).unwrap(), rng)
    }

    /// Parameters whose parts of the noise are all visible at few samples, some with several levels and polynomials.
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

    /// Sample variance over predicted one, for `count` samples within six deviations of a chi-square; rounding terms depend on the key, by a
    /// few percent at these dimensions.
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
        let cpu = Cpu::new();
        for (i, params) in noisy().into_iter().enumerate() {
            let (secret, boot, mut rng) = keys(&params, 10 + i as u64);
            let noise: Noise = params.noise();
            let (n, count) = (params.spec().lwe_dimension, 512);
            let messages: Vec<u64> = (0..count).map(|_| rng.next_u64() >> 1).collect();
            let fresh = secret.encrypt(&cpu, &messages, &mut rng).unwrap();
            let phases = secret.phases(&cpu, &fresh).unwrap();
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

            // A table that names its phase: the result is the rounded phase, plus noise.
            let degree = params.degree();
            let step = 1u64 << (63 - params.spec().log_degree);
            let identity: Vec<u64> = (0..degree as u64).map(|p| p * step).collect();

            let out = cpu.blind_rotate(&boot.key, &small, count, &identity, &vec![0; count]).unwrap();
            let out = LweBatch::upload(&cpu, &params, &out).unwrap();
            let out = secret.phases(&cpu, &out).unwrap();
            let exact = secret.small_phases(&small);
            let (mut switch_errors, mut rotation_errors) = (Vec::new(), Vec::new());
            for (out, small) in out.iter().zip(exact) {
                let rounded = out.wrapping_add(step / 2) / step * step;
                let error = rounded.wrapping_sub(u64::from(small) << 32);
                // Near 0 and 1/2 the table changes its sign.
                if (1 << 28..(1u64 << 31) - (1 << 28)).contains(&u64::from(small)) {
                    switch_errors.push(centred(error));
                    rotation_errors.push(centred(out.wrapping_sub(rounded)));
                }
            }
            assert!(switch_errors.len() > count / 2, "{n}");
            check("modulus switch", &switch_errors, noise.modulus_switch);
            check("blind rotation", &rotation_errors, noise.blind_rotation);
        }
    }

    #[test]
    fn random_tables_are_looked_up() {
        let cpu = Cpu::new();
        let small = presets::insecure_small().unwrap();
        let mut degrees = vec![small.clone()];
        for (log_degree, glwe_dimension) in [(9, 2), (11, 1)] {
            degrees.push(
                TfheParams::insecure(TfheSpec { log_degree, glwe_dimension, ..*small.spec() }).unwrap(),
            );
        }
        for (seed, params) in degrees.into_iter().enumerate() {
            let (secret, boot, mut rng) = keys(&params, 20 + seed as u64);
            for size in [2usize, 4, 16] {
                let tables: Vec<Vec<u64>> =
                    (0..3).map(|_| (0..size).map(|_| rng.next_u64()).collect()).collect();
                let lookups = LookupTables::new(&cpu, &params, &tables).unwrap();
                let messages: Vec<usize> = (0..2 * size).collect();
                let words: Vec<u64> = messages.iter().map(|&m| (m as u64) << (63 - size.ilog2())).collect();
                let which: Vec<u32> = messages.iter().map(|&m| m as u32 % 3).collect();
                let fresh = secret.encrypt(&cpu, &words, &mut rng).unwrap();
                let out = boot.bootstrap(&fresh, &lookups, &which).unwrap();
                let phases = secret.phases(&cpu, &out).unwrap();
                for (&m, &phase) in messages.iter().zip(phases.iter()) {
                    let entry = tables[m % 3][m % size];
                    let expected = if m < size { entry } else { entry.wrapping_neg() };
                    assert!(centred(phase.wrapping_sub(expected)).abs() < 1e-3, "{size} {m} {seed}");
                }
            }
        }
    }

    /// Words do not depend on threads, nor on what else is in the batch.
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
            pool.install(|| boot.bootstrap(&fresh, &tables, &[0; 21]).unwrap().download(&cpu).unwrap())
        };
        let one = run(1);
        assert!(one == run(2) && one == run(3));
        let alone = boot.bootstrap(&fresh.part(&cpu, 20..21).unwrap(), &tables, &[0]).unwrap();
        assert_eq!(alone.download(&cpu).unwrap(), one[20 * params.words()..]);
        // Keys, too, are functions of the generator alone.
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
        assert!(matches!(fresh.part(&cpu, 1..3), Err(Error::BatchRange { .. })));
        for size in [0, 3, params.degree()] {
            let table = [vec![0; size]];
            assert!(matches!(LookupTables::new(&cpu, &params, &table), Err(Error::Argument { .. })));
        }
        let other = presets::digits_2m128().unwrap();
        let foreign = LweBatch::zeros(&cpu, &other, 1).unwrap();
        assert!(matches!(boot.bootstrap(&foreign, &tables, &[0]), Err(Error::ParamsMismatch { .. })));
        assert!(matches!(secret.phases(&cpu, &foreign), Err(Error::ParamsMismatch { .. })));
        let tables = LookupTables::sign(&cpu, &other, 1 << 61).unwrap();
        assert!(matches!(boot.bootstrap(&fresh, &tables, &[0, 0]), Err(Error::Argument { .. })));
        assert!(matches!(LweBatch::upload(&cpu, &params, &[0; 7]), Err(Error::Argument { .. })));
        let empty = fresh.part(&cpu, 0..0).unwrap();
        let tables = LookupTables::sign(&cpu, &params, 1 << 61).unwrap();
        assert_eq!(boot.bootstrap(&empty, &tables, &[]).unwrap().count(), 0);
        assert_eq!(format!("{secret:?}"), "TfheSecretKey { .. }");
    }
}
