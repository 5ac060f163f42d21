//! Tables of bits, and lookups in them.

use crate::backend::Cpu;
use crate::error::{Error, Result};
use crate::key_set::common;
use crate::tfhe::{
    BootstrapKey, Bootstrapper, CircuitKey, CircuitParams, LookupTables, LweBatch, LweOps, TfheParams,
};
use derive_where::derive_where;

/// A function from indices of some bits to words of the torus, on a device.
#[derive_where(Clone; B::Buf)]
pub struct BitTables<B: LweOps = Cpu> {
    params: TfheParams,
    /// Polynomials of N words: coefficient x N / 2^bits + o is output o of index x.
    buf: B::Buf,
    bits: usize,
    outputs: usize,
}

impl<B: LweOps> std::fmt::Debug for BitTables<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BitTables {{ bits: {}, outputs: {} }}", self.bits, self.outputs)
    }
}

impl<B: LweOps> BitTables<B> {
    /// Makes the table of `entries` of as many words each, in units of 2^-64: entry x for index x.
    /// Bits that are to be added modulo 2 are words 0 and 2^63. The index has log2 of the number of
    /// entries as bits, at most log2 N.
    ///
    /// # Errors
    /// [`Error::Argument`] unless the number of entries is a power of two from 2 to N, and all
    /// have as many words, at least one; device errors.
    pub fn new(backend: &B, params: &TfheParams, entries: &[Vec<u64>]) -> Result<Self> {
        let (n, size) = (params.degree(), entries.len());
        let outputs = entries.first().map_or(0, Vec::len);
        if !size.is_power_of_two() || !(2..=n).contains(&size) {
            let hint = format!("a power of two from 2 to {n}");
            return Err(Error::domain("entries of a table of bits", size.to_string(), hint));
        }
        if let Some(entry) = entries.iter().find(|entry| entry.is_empty() || entry.len() != outputs) {
            let found = format!("{} words, and the first entry has {outputs}", entry.len());
            return Err(Error::domain("entry of a table of bits", found, "all need as many, at least one"));
        }
        let width = n / size;
        let mut words = vec![0; outputs.div_ceil(width) * n];
        for (x, entry) in entries.iter().enumerate() {
            for (o, &word) in entry.iter().enumerate() {
                words[o / width * n + x * width + o % width] = word;
            }
        }
        let bits = size.ilog2() as usize;
        Ok(Self { params: params.clone(), buf: backend.upload(&words)?, bits, outputs })
    }

    /// The bits of an index.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// The words of an entry.
    pub fn outputs(&self) -> usize {
        self.outputs
    }
}

/// A device that holds the keys of circuit bootstrapping.
///
/// ```
/// # use he_core::{backend::Cpu, tfhe::*};
/// # fn main() -> he_core::Result<()> {
/// # let mut rng = he_core::rand::rng();
/// let cpu = Cpu::new();
/// // Quick, and insecure by name. Otherwise: let tfhe = presets::phases_2m128()?;
/// let spec = *presets::insecure_small()?.spec();
/// let bootstrap = Gadget { base_log: 15, levels: 2 };
/// let tfhe = TfheParams::insecure(TfheSpec { bootstrap, glwe_sigma_log2: -52.0, ..spec })?;
/// let params = CircuitParams::new(&tfhe, CircuitSpec::default())?;
/// let secret = TfheSecretKey::generate(&tfhe, &mut rng);
/// let key = BootstrapKey::generate(&secret, &mut rng);
/// let circuit = CircuitKey::generate(&secret, &params, &mut rng)?;
/// let bootstrapper = CircuitBootstrapper::new(&cpu, &key, &circuit)?;
///
/// // The cube modulo 8 of three bits, as bits that can be added modulo 2.
/// let half = |x: u64, bit: u64| (x >> bit & 1) << 63;
/// let cube = |x: u64| (0..3).map(|bit| half(x * x * x, bit)).collect();
/// let cubes = BitTables::new(&cpu, &tfhe, &(0..8).map(cube).collect::<Vec<_>>())?;
/// let five: Vec<u64> = (0..3).map(|bit| half(5, bit)).collect();
/// let found = bootstrapper.lookup(&secret.encrypt(&cpu, &five, &mut rng)?, &cubes)?;
/// let phases = secret.phases(&found)?;
/// let bit = |phase: u64| phase.wrapping_add(1 << 62) >> 63;
/// assert_eq!(phases.iter().rev().fold(0, |x, &phase| 2 * x + bit(phase)), 125 % 8);
/// # Ok(())
/// # }
/// ```
pub struct CircuitBootstrapper<B: LweOps = Cpu> {
    params: CircuitParams,
    boot: Bootstrapper<B>,
    key: B::CircuitKey,
    digits: LookupTables<B>,
}

impl<B: LweOps> std::fmt::Debug for CircuitBootstrapper<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CircuitBootstrapper {{ boot: {:?} }}", self.boot)
    }
}

/// The samples whose GGSW ciphertexts a device holds at a time.
const SAMPLES: usize = 1 << 13;

impl<B: LweOps> CircuitBootstrapper<B> {
    /// Expands both keys on the device.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] and [`Error::KeyMismatch`] for keys that do not belong together;
    /// device errors.
    pub fn new(backend: &B, key: &BootstrapKey, circuit: &CircuitKey) -> Result<Self> {
        let params = circuit.params().clone();
        params.tfhe().check_same(key.params(), "bootstrapping key")?;
        common("key of circuit bootstrapping", circuit.key_set(), key.key_set())?;
        let select = params.spec().select;
        // Minus half of a digit for 0, and half of it for 1.
        let halves: Vec<[u64; 1]> = (0..params.functions() as u32)
            .map(|f| [if f < select.levels { (1u64 << (select.shift(f + 1) - 1)).wrapping_neg() } else { 0 }])
            .collect();
        let halves: Vec<&[u64]> = halves.iter().map(<[u64; 1]>::as_slice).collect();
        let digits = LookupTables::of_functions(backend, params.tfhe(), &halves, params.functions())?;
        let boot = Bootstrapper::new(backend, key)?;
        Ok(Self { key: backend.circuit_key(circuit)?, params, boot, digits })
    }

    /// The parameters.
    pub fn params(&self) -> &CircuitParams {
        &self.params
    }

    /// The bootstrapper of single ciphertexts with the same key.
    pub fn bootstrapper(&self) -> &Bootstrapper<B> {
        &self.boot
    }

    /// Looks indices up: `[index][bit]`, the lowest bit first, phases 0 and 1/2 with noise; results
    /// are `[index][output]`. Each bit takes one blind rotation, and an output has the noise of
    /// [`CircuitNoise::selection`](crate::tfhe::CircuitNoise) times the bits, whatever that of the
    /// bits. [`CircuitParams::failure_log2`] says how often a bit is misread.
    ///
    /// # Errors
    /// [`Error::BatchMismatch`] if the ciphertexts are not whole indices;
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`], device errors.
    pub fn lookup(&self, bits: &LweBatch<B>, tables: &BitTables<B>) -> Result<LweBatch<B>> {
        self.params.tfhe().check_same(&tables.params, "table of bits")?;
        bits.expect_params(self.params.tfhe())?;
        if !bits.count().is_multiple_of(tables.bits) {
            let right = bits.count() / tables.bits * tables.bits;
            return Err(Error::BatchMismatch { left: bits.count(), right });
        }
        let step = (SAMPLES / tables.bits).max(1) * tables.bits;
        let pieces = (0..bits.count()).step_by(step).map(|at| {
            let end = bits.count().min(at + step);
            self.lookup_piece(&bits.part(at..end)?, tables)
        });
        let pieces = pieces.collect::<Result<Vec<_>>>()?;
        match pieces.as_slice() {
            [] => LweBatch::zeros(bits.backend(), self.params.tfhe(), 0),
            [_] => Ok(pieces.into_iter().next().expect("there is one")),
            _ => LweBatch::concat(&pieces.iter().collect::<Vec<_>>()),
        }
    }

    fn lookup_piece(&self, bits: &LweBatch<B>, tables: &BitTables<B>) -> Result<LweBatch<B>> {
        let (backend, samples) = (self.boot.backend(), bits.count());
        let which = vec![0; samples];
        let digits = self.boot.bootstrap_functions(bits, &self.digits, &which, self.params.functions())?;
        let count = samples / tables.bits;
        let buf =
            backend.lookup_bits(&self.key, digits.buf(), tables.bits, count, &tables.buf, tables.outputs)?;
        let params = self.params.tfhe().clone();
        Ok(LweBatch::new(backend, params, buf, count * tables.outputs, digits.key_set))
    }
}

#[cfg(test)]
mod tests {
    use super::super::HALF;
    use super::*;
    use crate::backend::Backend;
    use crate::testing::seeded;
    use crate::tfhe::{CircuitSpec, Gadget, TfheSecretKey, TfheSpec, presets};
    use rand::{Rng, SeedableRng, rngs::ChaCha20Rng};

    fn small(log_degree: u32, glwe_dimension: usize) -> CircuitParams {
        let spec = *presets::insecure_small().unwrap().spec();
        let bootstrap = Gadget { base_log: 15, levels: 2 };
        let spec = TfheSpec { log_degree, glwe_dimension, glwe_sigma_log2: -52.0, bootstrap, ..spec };
        let tfhe = TfheParams::insecure(spec).unwrap();
        CircuitParams::new(&tfhe, CircuitSpec::default()).unwrap()
    }

    fn keys(params: &CircuitParams, rng: &mut ChaCha20Rng) -> (TfheSecretKey, BootstrapKey, CircuitKey) {
        keys_of(params, 1, rng)
    }

    /// With a multi-bit key, unless a group has one bit.
    fn keys_of(
        params: &CircuitParams,
        group: usize,
        rng: &mut ChaCha20Rng,
    ) -> (TfheSecretKey, BootstrapKey, CircuitKey) {
        let secret = TfheSecretKey::generate(params.tfhe(), rng);
        let key = match group {
            1 => BootstrapKey::generate(&secret, rng),
            _ => BootstrapKey::generate_multi_bit(&secret, group, rng).unwrap(),
        };
        let circuit = CircuitKey::generate(&secret, params, rng).unwrap();
        (secret, key, circuit)
    }

    fn bits_of(x: u64, bits: usize) -> Vec<u64> {
        (0..bits).map(|bit| (x >> bit) << 63).collect()
    }

    /// Random tables of several widths at random indices, and the noise of their outputs.
    #[test]
    fn indices_select_their_entries() {
        let (mut rng, cpu) = (seeded(), Cpu::new());
        for (log_degree, k, bits, outputs, group) in
            [(9, 1, 8, 5, 1), (6, 2, 3, 8, 1), (9, 1, 9, 2, 4), (5, 3, 1, 40, 2)]
        {
            let params = small(log_degree, k);
            let (secret, key, circuit) = keys_of(&params, group, &mut rng);
            let boot = CircuitBootstrapper::new(&cpu, &key, &circuit).unwrap();
            let entries: Vec<Vec<u64>> =
                (0..1 << bits).map(|_| (0..outputs).map(|_| rng.next_u64()).collect()).collect();
            let tables = BitTables::new(&cpu, params.tfhe(), &entries).unwrap();
            assert_eq!((tables.bits(), tables.outputs()), (bits, outputs));
            let indices: Vec<u64> = (0..40).map(|_| rng.next_u64() >> (64 - bits)).collect();
            let words: Vec<u64> = indices.iter().flat_map(|&x| bits_of(x, bits)).collect();
            let found = boot.lookup(&secret.encrypt(&cpu, &words, &mut rng).unwrap(), &tables).unwrap();
            assert_eq!(found.key_set(), Some(secret.key_set()));
            let phases = secret.phases(&found).unwrap();
            assert_eq!(phases.len(), indices.len() * outputs);
            let errors = phases.chunks_exact(outputs).zip(&indices).flat_map(|(phases, &x)| {
                let entry = &entries[x as usize];
                phases.iter().zip(entry).map(|(p, e)| (p.wrapping_sub(*e) as i64) as f64 / 64f64.exp2())
            });
            let errors: Vec<f64> = errors.collect();
            let rms = (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt();
            let predicted = (bits as f64 * params.noise_of_groups(group).selection).sqrt();
            println!(
                "N = 2^{log_degree}, k = {k}, {bits} bits: {:.3} of 2^{:.2}",
                rms / predicted,
                predicted.log2()
            );
            // The prediction counts roundings of all bits, which only those that are set leave, and
            // masks from the first bit on.
            let least = if bits >= 8 { 0.35 } else { 0.0 };
            assert!(rms < 1.1 * predicted && rms > least * predicted, "{rms:e}, predicted {predicted:e}");
            assert_eq!(boot.lookup(&found.part(0..0).unwrap(), &tables).unwrap().count(), 0);
        }
    }

    /// The noise with the parameters that programs use, against the prediction. Outputs of a lookup
    /// share the noise of its bits: sixteen indices are as many samples, and not a thousand.
    #[test]
    fn the_preset_leaves_the_predicted_noise() {
        let (mut rng, cpu) = (seeded(), Cpu::new());
        for (tfhe, group) in [(presets::phases_2m128(), 1), (presets::phases_2m128_multibit(), 4)] {
            noise_is_as_predicted(&tfhe.unwrap(), group, &mut rng, &cpu);
        }
    }

    fn noise_is_as_predicted(tfhe: &TfheParams, group: usize, rng: &mut ChaCha20Rng, cpu: &Cpu) {
        let params = CircuitParams::new(tfhe, CircuitSpec::default()).unwrap();
        let (secret, key, circuit) = keys_of(&params, group, rng);
        let boot = CircuitBootstrapper::new(cpu, &key, &circuit).unwrap();
        let entries: Vec<Vec<u64>> = (0..256).map(|_| (0..64).map(|_| rng.next_u64()).collect()).collect();
        let tables = BitTables::new(cpu, tfhe, &entries).unwrap();
        let indices: Vec<u64> = (0..16).map(|_| rng.next_u64() >> 56).collect();
        let words: Vec<u64> = indices.iter().flat_map(|&x| bits_of(x, 8)).collect();
        let found = boot.lookup(&secret.encrypt(cpu, &words, rng).unwrap(), &tables).unwrap();
        let phases = secret.phases(&found).unwrap();
        let entries = indices.iter().flat_map(|&x| &entries[x as usize]);
        let errors =
            phases.iter().zip(entries).map(|(p, e)| (p.wrapping_sub(*e) as i64) as f64 / 64f64.exp2());
        let errors: Vec<f64> = errors.collect();
        let rms = (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt();
        let predicted = (8.0 * params.noise_of_groups(group).selection).sqrt();
        println!("{:.3} of 2^{:.2}", rms / predicted, predicted.log2());
        assert!(rms < 1.5 * predicted && rms > 0.4 * predicted, "{rms:e}, predicted {predicted:e}");
    }

    /// Results are indices again: sums modulo 2 of results of lookups, and so on.
    #[test]
    fn sums_of_results_are_indices() {
        let (mut rng, cpu) = (seeded(), Cpu::new());
        let params = small(9, 1);
        assert!(params.failure_log2(4, 4) < -32.0);
        let (secret, key, circuit) = keys(&params, &mut rng);
        let boot = CircuitBootstrapper::new(&cpu, &key, &circuit).unwrap();
        let square: Vec<u64> = (0..16).map(|_| rng.next_u64() % 16).collect();
        let entries: Vec<_> = square.iter().map(|&x| bits_of(x, 4)).collect();
        let tables = BitTables::new(&cpu, params.tfhe(), &entries).unwrap();
        let mut clear = [3u64, 14, 0, 9];
        let words: Vec<u64> = clear.iter().flat_map(|&x| bits_of(x, 4)).collect();
        let mut state = secret.encrypt(&cpu, &words, &mut rng).unwrap();
        for _ in 0..6 {
            let looked_up = boot.lookup(&state, &tables).unwrap();
            // Each index is the sum of all results, its own one left out.
            let sums: Vec<_> = (0..16)
                .map(|at| {
                    let others = (0..4).filter(|other| *other != at / 4);
                    crate::tfhe::Combination {
                        constant: 0,
                        terms: others.map(|other| (1, other * 4 + at % 4)).collect(),
                    }
                })
                .collect();
            state = boot.bootstrapper().combine(&looked_up, &sums).unwrap();
            let all = clear.iter().fold(0, |all, &x| all ^ square[x as usize]);
            clear = clear.map(|x| all ^ square[x as usize]);
        }
        let phases = secret.phases(&state).unwrap();
        let found: Vec<u64> = phases
            .chunks_exact(4)
            .map(|bits| bits.iter().rev().fold(0, |x, p| 2 * x + (p.wrapping_add(HALF / 2) >> 63)))
            .collect();
        assert_eq!(found, clear);
    }

    #[test]
    fn all_instructions_leave_the_same_words() {
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        for (log_degree, k) in [(5, 1), (6, 2), (9, 1), (10, 1)] {
            let params = small(log_degree, k);
            let (_, key, circuit) = keys(&params, &mut rng);
            let entries: Vec<_> = (0..8).map(|_| (0..3).map(|_| rng.next_u64()).collect()).collect();
            let samples: Vec<u64> = (0..6 * params.tfhe().words()).map(|_| rng.next_u64()).collect();
            let words = |cpu: Cpu| {
                let boot = CircuitBootstrapper::new(&cpu, &key, &circuit).unwrap();
                let tables = BitTables::new(&cpu, params.tfhe(), &entries).unwrap();
                let samples = LweBatch::upload(&cpu, params.tfhe(), &samples).unwrap();
                boot.lookup(&samples, &tables).unwrap().download().unwrap()
            };
            let expected = words(Cpu::portable());
            for cpu in Cpu::all() {
                let name = cpu.name();
                assert!(words(cpu) == expected, "{name}: N = 2^{log_degree}, k = {k}");
            }
        }
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        let (mut rng, cpu) = (seeded(), Cpu::new());
        let (params, other) = (small(6, 1), small(5, 1));
        let (secret, key, circuit) = keys(&params, &mut rng);
        let (stranger, strange_key, strange_circuit) = keys(&params, &mut rng);
        let (_, other_key, _) = keys(&other, &mut rng);
        let refused = |key, circuit| CircuitBootstrapper::new(&cpu, key, circuit).unwrap_err();
        assert!(matches!(refused(&other_key, &circuit), Error::ParamsMismatch { .. }));
        assert!(matches!(refused(&strange_key, &circuit), Error::KeyMismatch { .. }));
        assert!(matches!(refused(&key, &strange_circuit), Error::KeyMismatch { .. }));
        assert!(matches!(CircuitKey::generate(&secret, &other, &mut rng), Err(Error::ParamsMismatch { .. })));
        let boot = CircuitBootstrapper::new(&cpu, &key, &circuit).unwrap();
        let table = |params: &CircuitParams, size: usize, outputs: usize| {
            BitTables::new(&cpu, params.tfhe(), &vec![vec![0; outputs]; size])
        };
        for (size, outputs) in [(0, 1), (1, 1), (3, 1), (128, 1), (4, 0)] {
            assert!(matches!(table(&params, size, outputs), Err(Error::Argument { .. })), "{size}");
        }
        let ragged = BitTables::new(&cpu, params.tfhe(), &[vec![0], vec![0, 1]]);
        assert!(matches!(ragged, Err(Error::Argument { .. })));
        let tables = table(&params, 8, 2).unwrap();
        let encrypt = |secret: &TfheSecretKey, count: usize| {
            secret.encrypt(&cpu, &vec![0; count], &mut ChaCha20Rng::seed_from_u64(1)).unwrap()
        };
        assert!(matches!(
            boot.lookup(&encrypt(&secret, 4), &tables),
            Err(Error::BatchMismatch { left: 4, right: 3 })
        ));
        assert!(matches!(boot.lookup(&encrypt(&stranger, 3), &tables), Err(Error::KeyMismatch { .. })));
        let tables = table(&other, 8, 2).unwrap();
        assert!(matches!(boot.lookup(&encrypt(&secret, 3), &tables), Err(Error::ParamsMismatch { .. })));
    }
}
