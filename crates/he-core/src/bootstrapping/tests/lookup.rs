//! Tables that are looked up while messages are refreshed, against plain integers.

use super::*;
use crate::backend::Tally;
use crate::bootstrapping::lookup::LookupTables;
use crate::key_set::KeySetId;

/// The entries of a table of random integers modulo p, with both ends among them.
fn random_table(rng: &mut ChaCha20Rng, p: usize) -> Vec<f64> {
    let mut table: Vec<f64> = (0..p).map(|_| rng.random_range(0..p) as f64).collect();
    (table[0], table[p - 1]) = ((p - 1) as f64, 0.0);
    table
}

/// Messages that take every value, then random ones.
fn random_messages(rng: &mut ChaCha20Rng, p: usize, count: usize) -> Vec<usize> {
    (0..count).map(|k| if k < p { p - 1 - k } else { rng.random_range(0..p) }).collect()
}

impl World {
    fn program_keys(&mut self) -> EvaluationKeys<Cpu> {
        let needs = KeyRequirements::new().relinearisation().conjugation();
        EvaluationKeys::generate(&self.secret, &self.ring, needs, &mut self.rng).unwrap()
    }

    fn encrypt_messages(&mut self, messages: &[usize]) -> Ciphertext<Cpu> {
        let values: Vec<Complex64> = messages.iter().map(|&m| Complex64::new(m as f64, 0.0)).collect();
        self.encrypt(&values)
    }
}

/// The greatest and the root mean square distance of real parts from entries.
fn errors(found: &[Complex64], expected: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let errors: Vec<f64> = found.iter().zip(expected).map(|(z, y)| (z.re - y).abs()).collect();
    let square = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
    (errors.iter().copied().fold(0.0, f64::max), square.sqrt())
}

/// The estimate of real parts' noise, as root mean square and bound.
fn estimated(w: &World, ct: &Ciphertext<Cpu>) -> (f64, f64) {
    let (noise, scale) = (ct.noise().unwrap(), ct.scale());
    let root = (w.ring.n() as f64 / 2.0).sqrt();
    (noise.rms_log2.exp2() * root / scale, noise.peak_log2.exp2() / scale)
}

/// Two random tables of each size, with noise as predicted; presets with other chains, and few
/// slots.
#[test]
fn tables_are_looked_up() {
    for (preset, log_n, log_slots, sizes) in [
        (Preset::Fast, 10, 9, &[2, 4, 16, 256][..]),
        (Preset::Fast, 9, 4, &[8]),
        (Preset::Precise, 9, 8, &[16, 128]),
        (Preset::ExactBound, 9, 8, &[16]),
        (Preset::Small, 9, 5, &[16]),
    ] {
        let mut w = World::small(preset, log_n, log_slots);
        let keys = w.program_keys();
        for &p in sizes {
            let both = [(); 2].map(|()| random_table(&mut w.rng, p));
            let tables = LookupTables::new(&w.params, &both.each_ref().map(Vec::as_slice)).unwrap();
            let messages = random_messages(&mut w.rng, p, w.params.slots());
            let ct = w.encrypt_messages(&messages);
            let found = w.bootstrapper.look_up(&ct, &tables, &w.keys, &keys).unwrap();
            assert_eq!((found.len(), tables.tolerance()), (2, 0.5));
            for (ct, table) in found.iter().zip(&both) {
                assert_eq!((ct.level(), ct.slots()), (tables.output_level().unwrap(), w.params.slots()));
                let (worst, rms) = errors(&w.decrypt(ct), messages.iter().map(|&m| table[m]));
                let (mean, peak) = estimated(&w, ct);
                println!(
                    "{preset}, {p}: 2^{:.1} at worst, 2^{:.1} in the mean, predicted 2^{:.1} and 2^{:.1}",
                    worst.log2(),
                    rms.log2(),
                    peak.log2(),
                    mean.log2()
                );
                assert!(worst < peak && rms < 1.6 * mean && mean < 12.0 * rms, "{preset}, {p}");
                assert!(worst < 1.0 / 64.0, "{preset}, {p}: {worst}");
            }
        }
    }
}

/// Both parts of slots, and pairs of ciphertexts.
#[test]
fn two_messages_share_a_slot() {
    for (preset, log_slots) in [(Preset::Fast, 7), (Preset::Small, 5)] {
        let mut w = World::small(preset, 8, log_slots);
        let (keys, p) = (w.program_keys(), 16);
        let table = random_table(&mut w.rng, p);
        let tables = LookupTables::new(&w.params, &[&table]).unwrap();
        let count = w.params.slots();
        let messages = [(); 2].map(|()| random_messages(&mut w.rng, p, count));
        let of = |half: usize| messages[half].iter().map(|&m| table[m]);

        let slots: Vec<Complex64> =
            (0..count).map(|k| Complex64::new(messages[0][k] as f64, messages[1][k] as f64)).collect();
        let ct = w.encrypt(&slots);
        let found = w.bootstrapper.look_up_parts(&ct, &tables, &w.keys, &keys).unwrap();
        let found = w.decrypt(&found[0]);
        let turned: Vec<Complex64> = found.iter().map(|z| Complex64::new(z.im, z.re)).collect();
        let worst = errors(&found, of(0)).0.max(errors(&turned, of(1)).0);
        assert!(worst < 1e-3, "{preset}: {worst}");

        let parts = messages.each_ref().map(|messages| w.encrypt_messages(messages));
        let batch = Ciphertext::concat(&parts.each_ref()).unwrap();
        let found = w.bootstrapper.look_up_pairs(&batch, &tables, &w.keys, &keys).unwrap();
        assert_eq!(found[0].batch(), 2);
        for half in 0..2 {
            let part = found[0].slice_batch(half..half + 1).unwrap();
            let (worst, _) = errors(&w.decrypt(&part), of(half));
            assert!(worst < 1e-3, "{preset}, {half}: {worst}");
        }
        let odd = w.bootstrapper.look_up_pairs(&parts[0], &tables, &w.keys, &keys);
        assert!(matches!(odd, Err(Error::Argument { .. })), "{odd:?}");
    }
}

/// Messages that err by up to a third: results are those of Fejér's kernel, whose sum is taken
/// directly, and fail just where this says so.
#[test]
fn noise_of_messages_is_cleaned() {
    let mut w = World::small(Preset::Fast, 9, 8);
    let (keys, p) = (w.program_keys(), 16usize);
    let table = random_table(&mut w.rng, p);
    let tables = LookupTables::new(&w.params, &[&table]).unwrap();
    let messages = random_messages(&mut w.rng, p, w.params.slots());
    let noisy: Vec<f64> = messages.iter().map(|&m| m as f64 + w.rng.random_range(-0.35..0.35)).collect();
    let kernel = |x: f64| {
        let (angle, p) = (std::f64::consts::PI * x / p as f64, p as f64);
        ((p * angle).sin() / (p * angle.sin())).powi(2)
    };
    let model = |m: f64| table.iter().zip(0..).map(|(y, j)| y * kernel(m - f64::from(j))).sum::<f64>();
    let ct = w.encrypt(&noisy.iter().map(|&m| m.into()).collect::<Vec<_>>());
    let found = w.decrypt(&w.bootstrapper.look_up(&ct, &tables, &w.keys, &keys).unwrap()[0]);
    let mut failed = 0;
    for ((found, &m), &message) in found.iter().zip(&noisy).zip(&messages) {
        assert!((found.re - model(m)).abs() < 1e-3, "{m}: {} and {}", found.re, model(m));
        assert!((tables.apply_plain(m)[0] - model(m)).abs() < 1e-9);
        let (off, fails) = ((model(m) - table[message]).abs(), (found.re - table[message]).abs() > 0.5);
        assert!(fails == (off > 0.5) || (off - 0.5).abs() < 1e-3, "{m}: {off}");
        failed += usize::from(fails);
    }
    println!("{failed} of {} fail", noisy.len());
    assert!(failed > 0 && failed < noisy.len());
}

/// Errors of Laplace's distribution, as predicted: the tables' failures are at most as frequent as
/// stated, and not rarer by more than the entries that are safer than the worst one explain.
#[test]
fn failures_are_as_frequent_as_predicted() {
    let mut rng = seeded();
    let params = BootstrapParams::insecure(BootstrapSpec { log_n: 9, log_slots: 8, ..Preset::Fast.spec() });
    let p = 16;
    // Distant neighbours: all entries are as sensitive as the worst.
    let table: Vec<f64> = (0..p).map(|m| if m % 2 == 0 { 0.0 } else { 1.0 }).collect();
    let tables = LookupTables::new(&params.unwrap(), &[&table]).unwrap();
    let (deviation, runs) = (0.1, 200_000);
    let mut failed = 0;
    for _ in 0..runs {
        let m = rng.random_range(0..p);
        let (size, negative): (f64, bool) = (rng.random_range(0.0..1.0), rng.random());
        let error = -deviation / std::f64::consts::SQRT_2 * (1.0 - size).ln();
        let at = m as f64 + if negative { -error } else { error };
        failed += usize::from((tables.apply_plain(at)[0] - table[m]).abs() > tables.tolerance());
    }
    let stated = tables.failure_log2(deviation);
    // A ciphertext has 2^9 messages.
    let expected = 2f64.powf(stated - 9.0) * f64::from(runs);
    println!("{failed} of {runs} fail, {expected:.0} stated");
    let failed = f64::from(failed as u32);
    assert!(failed < expected + 6.0 * expected.sqrt(), "{failed}, {expected:.0} stated");
    assert!(failed > 0.4 * expected, "{failed}, {expected:.0} stated");
}

/// Random permutations, one after the other: the noise is that of one look-up.
#[test]
fn look_ups_follow_each_other() {
    let mut w = World::small(Preset::Fast, 9, 8);
    let (keys, p) = (w.program_keys(), 64);
    let mut messages = random_messages(&mut w.rng, p, w.params.slots());
    let mut ct = w.encrypt_messages(&messages);
    for round in 0..8 {
        // Affine maps modulo p with odd factors.
        let (a, b) = (2 * w.rng.random_range(0..p / 2) + 1, w.rng.random_range(0..p));
        let table: Vec<f64> = (0..p).map(|m| ((a * m + b) % p) as f64).collect();
        let tables = LookupTables::new(&w.params, &[&table]).unwrap();
        ct = w.bootstrapper.look_up(&ct, &tables, &w.keys, &keys).unwrap().remove(0);
        messages = messages.iter().map(|&m| table[m] as usize).collect();
        let (worst, _) = errors(&w.decrypt(&ct), messages.iter().map(|&m| m as f64));
        assert!(worst < 1.0 / 128.0, "round {round}: {worst}");
    }
}

/// Sums, differences and negative numbers count modulo p.
#[test]
fn messages_count_modulo_p() {
    let mut w = World::small(Preset::Fast, 8, 7);
    let (keys, p) = (w.program_keys(), 16usize);
    let identity: Vec<f64> = (0..p).map(|m| m as f64).collect();
    let tables = LookupTables::new(&w.params, &[&identity]).unwrap();
    let [a, b] = [(); 2].map(|()| random_messages(&mut w.rng, p, w.params.slots()));
    let (x, y) = (w.encrypt_messages(&a), w.encrypt_messages(&b));
    let ev = Evaluator::new(w.params.params(), &w.ring).unwrap();
    let ct = ev.sub(&x, &ev.mul_integer(&y, 3).unwrap()).unwrap();
    let found = w.bootstrapper.look_up(&ct, &tables, &w.keys, &keys).unwrap();
    let expected = a.iter().zip(&b).map(|(&a, &b)| ((a + 13 * b) % p) as f64);
    let (worst, _) = errors(&w.decrypt(&found[0]), expected);
    assert!(worst < 1e-3, "{worst}");
}

/// Tables that are the same everywhere, of which nothing is left but a constant.
#[test]
fn constant_tables_are_constants() {
    let mut w = World::small(Preset::Fast, 8, 7);
    let keys = w.program_keys();
    let (zero, three) = ([0.0; 16], [3.0; 16]);
    let tables = LookupTables::new(&w.params, &[&zero, &three]).unwrap();
    assert_eq!(tables.tolerance(), f64::INFINITY);
    let ct = w.encrypt_messages(&[7; 128]);
    let found = w.bootstrapper.look_up(&ct, &tables, &w.keys, &keys).unwrap();
    for (ct, y) in found.iter().zip([0.0, 3.0]) {
        assert_eq!(ct.level(), tables.output_level().unwrap());
        let (worst, _) = errors(&w.decrypt(ct), [y; 128]);
        assert!(worst < 1e-4, "{worst}");
    }
}

/// The presets at their own degrees: predictions for fresh messages, and for those that a look-up
/// leaves.
#[test]
fn presets_fail_rarely() {
    for (preset, p, levels) in [
        (Preset::Fast, 2, 15),
        (Preset::Fast, 16, 12),
        (Preset::Fast, 256, 8),
        (Preset::Precise, 16, 7),
        (Preset::Small, 16, 0),
    ] {
        let params = preset.params().unwrap();
        let table: Vec<f64> = (0..p).map(|m| ((m * 7 + 3) % p) as f64).collect();
        let tables = LookupTables::new(&params, &[&table]).unwrap();
        assert_eq!(tables.output_level().unwrap() - params.input_level(), levels);
        let failures = [0.0, 1.0 / 4096.0].map(|deviation| tables.failure_log2(deviation));
        println!("{preset}, {p}: {failures:?}, {} relinearisations", tables.relinearisations());
        assert!(failures.iter().all(|&failure| failure < -64.0), "{preset}, {p}: {failures:?}");
    }
}

/// The work of one call with `fast` at its own degree beside that of a refresh, counted without
/// words: a look-up of 32 768 messages in 16 entries is about a refresh of as many complex numbers.
#[test]
fn work_is_about_that_of_a_refresh() {
    let (params, tally, rng) = (Preset::Fast.params().unwrap(), Tally::default(), &mut seeded());
    let ring = params.ring(tally.clone()).unwrap();
    let keys = BootstrapKeys::hollow(&params, &ring).unwrap();
    let bootstrapper = Bootstrapper::new(&params, &ring).unwrap();
    let secret = SecretKey::generate(params.params().rlwe(), rng);
    let needs = KeyRequirements::new().relinearisation().conjugation();
    let program = EvaluationKeys::generate(&secret, &ring, needs, rng).unwrap();
    let encryptor = SecretEncryptor::new(params.params(), &secret, &ring).unwrap();
    let mut ct = encryptor.encrypt_real(&[1.0; 1 << 15], rng).unwrap().expand().unwrap();
    ct.set_key_set(None);
    let work = |call: &dyn Fn() -> Result<()>| {
        let before = tally.work();
        call().unwrap();
        (tally.work() - before) as f64
    };
    let refresh = work(&|| bootstrapper.refresh(&ct, &keys).map(drop));
    for (p, most, both) in [(2u32, 1.0, 1.4), (16, 1.3, 1.9), (256, 2.0, 3.0)] {
        let table: Vec<f64> = (0..p).map(f64::from).collect();
        let tables = LookupTables::new(&params, &[&table]).unwrap();
        let one = work(&|| bootstrapper.look_up(&ct, &tables, &keys, &program).map(drop));
        let two = work(&|| bootstrapper.look_up_parts(&ct, &tables, &keys, &program).map(drop));
        println!("{p} entries: {:.2} and {:.2} of a refresh", one / refresh, two / refresh);
        assert!(one < most * refresh && two < both * refresh, "{p}");
    }
}

#[test]
fn impossible_look_ups_are_refused() {
    let mut w = World::small(Preset::Fast, 8, 7);
    let keys = w.program_keys();
    let argument = |tables: &[&[f64]]| {
        let refused = LookupTables::new(&w.params, tables);
        assert!(matches!(refused, Err(Error::Argument { .. })), "{refused:?}");
    };
    argument(&[]);
    argument(&[&[]]);
    argument(&[&[1.0]]);
    argument(&[&[1.0; 3]]);
    argument(&[&[1.0; 2048]]);
    argument(&[&[1.0; 4], &[1.0; 8]]);
    argument(&[&[1.0, f64::NAN]]);
    for tolerance in [0.0, -1.0, f64::NAN] {
        assert!(LookupTables::with_tolerance(&w.params, &[&[0.0, 1.0]], tolerance).is_err());
    }

    let tables = LookupTables::new(&w.params, &[&[0.0, 1.0, 2.0, 3.0]]).unwrap();
    let ct = w.encrypt_messages(&[1; 128]);
    let look_up = |ct: &Ciphertext<Cpu>, keys: &EvaluationKeys<Cpu>| {
        w.bootstrapper.look_up(ct, &tables, &w.keys, keys).map(drop)
    };
    // Noise of a tenth of a message.
    let mut noisy = ct.duplicate().unwrap();
    let mut noise = noisy.noise().unwrap();
    noise.rms_log2 = (0.1 * noisy.scale()).log2() - 3.5;
    noisy.set_noise(Some(noise));
    let refused = look_up(&noisy, &keys);
    let Err(Error::LookupFailure { found_log2, limit_log2 }) = refused else { panic!("{refused:?}") };
    assert!(found_log2 > limit_log2 && limit_log2 == LookupTables::FAILURE_LIMIT_LOG2);
    noisy.set_noise(None);
    look_up(&noisy, &keys).unwrap();

    let ev = Evaluator::new(w.params.params(), &w.ring).unwrap();
    let low = ev.mod_switch_to(&ct, w.params.input_level() - 1).unwrap();
    assert!(matches!(look_up(&low, &keys), Err(Error::LevelExhausted { .. })));
    let mut other = ct.duplicate().unwrap();
    other.set_key_set(Some(KeySetId::from_bytes([1; 16])));
    assert!(matches!(look_up(&other, &keys), Err(Error::KeyMismatch { .. })));
    let needs = |needs| EvaluationKeys::generate(&w.secret, &w.ring, needs, &mut seeded()).unwrap();
    let relin = needs(KeyRequirements::new().relinearisation());
    assert!(matches!(look_up(&ct, &relin), Err(Error::MissingConjugationKey)));
    let conjugation = needs(KeyRequirements::new().conjugation());
    assert!(matches!(look_up(&ct, &conjugation), Err(Error::MissingRelinKey)));
    let else_where = BootstrapSpec { log_n: 9, log_slots: 7, ..Preset::Fast.spec() };
    let others = LookupTables::new(&BootstrapParams::insecure(else_where).unwrap(), &[&[0.0, 1.0]]).unwrap();
    let refused = w.bootstrapper.look_up(&ct, &others, &w.keys, &keys);
    assert!(matches!(refused, Err(Error::Argument { .. })), "{refused:?}");
}
