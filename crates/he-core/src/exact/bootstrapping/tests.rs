//! Refreshes at a small degree, on the CPU.

use super::*;
use crate::backend::Cpu;
use crate::bfv::Bfv;
use crate::bgv::Bgv;
use crate::bootstrapping::BootstrapKeys;
use crate::error::Error;
use crate::exact::{Ciphertext, Decryptor, Encoder, Evaluator, Noise, Scheme, SecretEncryptor};
use crate::params::ParamsError;
use crate::ring::{Coeff, Poly, Ring, Span};
use crate::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
use rand::{RngExt, rngs::ChaCha20Rng};

struct World<S: Scheme> {
    boot: BootstrapParams<S>,
    ring: Ring<Cpu>,
    secret: SecretKey,
    keys: BootstrapKeys<Cpu>,
    bootstrapper: Bootstrapper<S, Cpu>,
    ev: Evaluator<S, Cpu>,
    rng: ChaCha20Rng,
}

impl<S: Scheme> World<S> {
    fn new(spec: BootstrapSpec) -> Self {
        let mut rng = crate::testing::seeded();
        let boot = BootstrapParams::<S>::insecure(spec).unwrap();
        let ring = boot.ring(Cpu::new()).unwrap();
        let secret = SecretKey::generate(boot.params().rlwe(), &mut rng);
        let keys = BootstrapKeys::generate(&secret, boot.circuit(), &ring, &mut rng).unwrap();
        let bootstrapper = Bootstrapper::new(&boot, &ring).unwrap();
        let ev = Evaluator::new(boot.params(), &ring).unwrap();
        Self { boot, ring, secret, keys, bootstrapper, ev, rng }
    }

    fn encoder(&self) -> &Encoder {
        self.ev.encoder()
    }

    fn values(&mut self) -> Vec<u64> {
        let t = self.boot.params().plain().value();
        (0..self.ring.n()).map(|_| self.rng.random_range(0..t)).collect()
    }

    fn encrypt(&mut self, values: &[u64]) -> Ciphertext<S, Cpu> {
        let plain = self.encoder().encode_coefficients(values).unwrap();
        let encryptor = SecretEncryptor::new(self.boot.params(), &self.secret, &self.ring).unwrap();
        encryptor.encrypt(&plain, &mut self.rng).unwrap().expand().unwrap()
    }

    fn decryptor(&self) -> Decryptor<S, Cpu> {
        Decryptor::new(self.boot.params(), &self.secret, &self.ring).unwrap()
    }

    fn decrypt(&self, ct: &Ciphertext<S, Cpu>) -> Vec<u64> {
        let plain = self.decryptor().decrypt(ct).unwrap();
        self.encoder().decode_coefficients(&plain).unwrap().remove(0)
    }

    /// The same message with uniform noise that leaves this budget, in bits, and which is predicted
    /// as that.
    fn spent(&mut self, ct: &Ciphertext<S, Cpu>, left: f64) -> Ciphertext<S, Cpu> {
        let params = self.boot.params();
        let (model, primes) = (params.noise(), ct.meta.primes);
        let peak_log2 = model.log_q(primes) - 1.0 - model.t_log2() - left;
        let shift = (peak_log2 - 40.0).max(0.0) as u32;
        let bound = (peak_log2 - f64::from(shift)).exp2() as i64;
        let noise: Vec<i64> = (0..self.ring.n()).map(|_| self.rng.random_range(-bound..=bound)).collect();
        let mut noise = Poly::<Coeff, Cpu>::from_signed(&self.ring, Span::chain(primes), 1, &noise)
            .unwrap()
            .into_eval()
            .unwrap();
        let moduli = &params.rlwe().ring().q_moduli()[..primes];
        noise.scale_assign(&moduli.iter().map(|q| q.pow(2, shift.into())).collect::<Vec<_>>()).unwrap();
        let mut pair = ct.pair.duplicate().unwrap();
        pair.c[0].add_assign(&noise).unwrap();
        let noise = Noise { rms_log2: peak_log2 - 0.8, peak_log2, degree: 1 };
        Ciphertext::from_parts(params, pair, ct.correction_factor(), noise).unwrap()
    }
}

fn spec<S: Scheme>(t: u64, depth: usize) -> BootstrapSpec {
    BootstrapSpec::insecure_for_depth::<S>(t, depth, 9).unwrap()
}

fn noise_is_refreshed<S: Scheme>(t: u64, depth: usize) {
    let mut w = World::<S>::new(spec::<S>(t, depth));
    let values = w.values();
    let ct = w.encrypt(&values);
    let (needed, refreshed) = (w.boot.needed_budget(), w.boot.refreshed_budget());
    let spent = w.spent(&ct, needed + 0.01);
    let ct = w.bootstrapper.refresh(&spent, &w.keys).unwrap();
    let measured = w.decryptor().noise_budget(&ct).unwrap()[0];
    let predicted = ct.predicted_budget(w.boot.params());
    let primes = w.boot.params().rlwe().ring().q().len();
    println!(
        "{} t = {t}: {primes} primes of {:?}, {} iterations; budget {needed:.1} -> {refreshed:.1}; predicted {predicted:.1}, measured {measured:.1}",
        S::NAME,
        w.boot.spec().circuit.program.primes,
        w.boot.spec().iterations,
    );
    assert!(predicted >= refreshed, "{t}");
    // The bound is one of 24 deviations, which none of 512 numbers comes near.
    assert!(measured >= predicted && measured < predicted + 8.0, "{t}: {measured} beside {predicted}");
    assert!(w.decrypt(&ct) == values, "{t}");
    assert_eq!(ct.level(), w.boot.params().max_level());
}

/// Every kind of plaintext modulus: powers of two, primes, and others.
#[test]
fn ciphertexts_are_refreshed() {
    for t in [2, 3, 257, 1 << 8, 65537, 1_000_000, 1 << 20] {
        noise_is_refreshed::<Bfv>(t, 1);
        noise_is_refreshed::<Bgv>(t, 1);
    }
    noise_is_refreshed::<Bfv>((1 << 42) - 11, 1);
    noise_is_refreshed::<Bgv>(257, 3);
}

/// A circuit that is deeper than the parameters, refreshed wherever a product needs it, on slots
/// and in batches, beside integers modulo t.
fn circuits_of_any_depth<S: Scheme>(depth: usize) {
    // A prime that is 1 modulo 2N.
    let t = 12289;
    let mut w = World::<S>::new(spec::<S>(t, depth));
    let needs = KeyRequirements::new().relinearisation().rotations([1]);
    let keys = EvaluationKeys::generate(&w.secret, &w.ring, needs, &mut w.rng).unwrap();
    let mut values = [w.values(), w.values()];
    let [a, b] = [&values[0][..], &values[1][..]];
    let plain = w.encoder().encode_batch(&[a, b]).unwrap();
    let encryptor = SecretEncryptor::new(w.boot.params(), &w.secret, &w.ring).unwrap();
    let mut ct = encryptor.encrypt(&plain, &mut w.rng).unwrap().expand().unwrap();
    let mut refreshes = 0;
    for step in 0..12 {
        let product = match w.ev.square(&ct, &keys) {
            Ok(product) if product.predicted_budget(w.boot.params()) >= w.boot.needed_budget() => product,
            _ => {
                ct = w.bootstrapper.refresh(&ct, &w.keys).unwrap();
                refreshes += 1;
                w.ev.square(&ct, &keys).unwrap()
            }
        };
        ct = w.ev.add_scalar(&w.ev.rotate(&product, 1, &keys).unwrap(), step).unwrap();
        for row in &mut values {
            row.iter_mut().for_each(|x| *x = *x * *x % t);
            let half = row.len() / 2;
            row[..half].rotate_left(1);
            row[half..].rotate_left(1);
            row.iter_mut().for_each(|x| *x = (*x + step as u64) % t);
        }
    }
    assert!(refreshes > 2, "{refreshes}");
    let plain = w.decryptor().decrypt(&ct).unwrap();
    assert!(w.encoder().decode::<u64>(&plain).unwrap() == values, "{}", S::NAME);
}

#[test]
fn programs_have_no_limit() {
    circuits_of_any_depth::<Bfv>(1);
    circuits_of_any_depth::<Bgv>(1);
    circuits_of_any_depth::<Bfv>(2);
}

/// Ciphertexts of every level, and what has budget already.
#[test]
fn levels_are_regained() {
    fn check<S: Scheme>() {
        let mut w = World::<S>::new(spec::<S>(65537, 1));
        let values = w.values();
        let fresh = w.encrypt(&values);
        let top = w.boot.params().max_level();
        let left = w.boot.needed_budget() + 2.0;
        let spent = w.spent(&fresh, left);
        let lowest = w.ev.lowest_level(&spent);
        assert!(lowest < top);
        for level in lowest..=top {
            let spent = w.spent(&fresh, left);
            let lowered = w.ev.mod_switch_to(&spent, level).unwrap();
            let ct = w.bootstrapper.refresh(&lowered, &w.keys).unwrap();
            assert_eq!(ct.level(), top);
            assert!(ct.predicted_budget(w.boot.params()) >= w.boot.refreshed_budget());
            let measured = w.decryptor().noise_budget(&ct).unwrap()[0];
            assert!(measured >= ct.predicted_budget(w.boot.params()), "level {level}: {measured}");
            assert!(w.decrypt(&ct) == values, "level {level}");
            // Brought to the top, it still has what it had.
            let lowered = w.ev.mod_switch_to(&fresh, level).unwrap();
            let raised = w.bootstrapper.refresh(&lowered, &w.keys).unwrap();
            let budgets = [&lowered, &raised].map(|ct| ct.predicted_budget(w.boot.params()));
            if budgets[0] >= w.boot.refreshed_budget() {
                assert!(budgets[0] - budgets[1] < 0.1, "{budgets:?}");
            }
            assert!(w.decrypt(&raised) == values, "level {level}");
        }
        // At the top there is nothing to do.
        let same = w.bootstrapper.refresh(&fresh, &w.keys).unwrap();
        assert!(same.pair().parts()[0].to_words().unwrap() == fresh.pair().parts()[0].to_words().unwrap());
    }
    check::<Bfv>();
    check::<Bgv>();
}

#[test]
fn what_cannot_be_refreshed_is_refused() {
    let mut w = World::<Bfv>::new(spec::<Bfv>(257, 1));
    let values = w.values();
    let ct = w.encrypt(&values);
    let needed = w.boot.needed_budget();
    let spent = w.spent(&ct, needed - 0.5);
    match w.bootstrapper.refresh(&spent, &w.keys) {
        Err(error @ Error::BudgetTooLow { left_bits, needed_bits }) => {
            assert!((left_bits - needed + 0.5).abs() < 0.01 && needed_bits == needed);
            let text = error.to_string();
            assert!(
                text.starts_with("a bootstrap needs 8.0 bits of noise budget, and 7.5 are left"),
                "{text}"
            );
        }
        other => panic!("{other:?}"),
    }
    // Keys of another secret, and of other parameters.
    let spent = w.spent(&ct, needed + 1.0);
    let other = SecretKey::generate(w.boot.params().rlwe(), &mut w.rng);
    let keys = BootstrapKeys::generate(&other, w.boot.circuit(), &w.ring, &mut w.rng).unwrap();
    assert!(matches!(w.bootstrapper.refresh(&spent, &keys), Err(Error::KeyMismatch { .. })));
    let other = World::<Bfv>::new(spec::<Bfv>(65537, 2));
    assert!(matches!(w.bootstrapper.refresh(&spent, &other.keys), Err(Error::Argument { .. })));
    assert!(matches!(Bootstrapper::new(&w.boot, &other.ring), Err(Error::RingMismatch)));
    let ct = other.bootstrapper.refresh(&spent, &other.keys);
    assert!(matches!(ct, Err(Error::RingMismatch)), "{ct:?}");
}

#[test]
fn impossible_parameters_are_refused() {
    let params = |spec: BootstrapSpec| BootstrapParams::<Bfv>::insecure(spec).unwrap_err();
    let good = spec::<Bfv>(257, 1);
    for iterations in [0, 9] {
        let error = params(BootstrapSpec { iterations, ..good.clone() });
        let Error::InvalidParams(ParamsError::OutOfRange { found, lowest, highest, .. }) = error else {
            panic!("{error}")
        };
        assert!(found == iterations as f64 && lowest == 1.0 && highest < 9.0);
    }
    for plain_modulus in [0, 1, 1 << 61] {
        let error = params(BootstrapSpec { plain_modulus, ..good.clone() });
        assert!(matches!(error, Error::InvalidParams(ParamsError::ModulusRange { .. })), "{error}");
        let error = BootstrapSpec::for_depth::<Bfv>(plain_modulus, 1).unwrap_err();
        assert!(matches!(error, Error::InvalidParams(ParamsError::ModulusRange { .. })), "{error}");
    }
    // A prime of the chain, and slots that are not all.
    let q = BootstrapParams::<Bfv>::insecure(good.clone()).unwrap().ring_spec().q()[1];
    let error = params(BootstrapSpec { plain_modulus: q, ..good.clone() });
    assert!(matches!(error, Error::InvalidParams(ParamsError::PlainModulusNotCoprime { .. })), "{error}");
    let mut few = good.clone();
    few.circuit.log_slots = 5;
    assert!(matches!(params(few), Error::InvalidParams(ParamsError::OutOfRange { .. })));
    let error = BootstrapSpec::for_depth::<Bgv>(65537, 1000).unwrap_err();
    assert!(
        matches!(error, Error::InvalidParams(ParamsError::DepthUnreachable { depth: 1000, .. })),
        "{error}"
    );
}

/// The chains that are chosen: 128 bits of security, and the precision that they have at their own
/// degree.
#[test]
fn secure_parameters_are_as_stated() {
    for (t, depth, primes, iterations) in [
        (65537, 0, 2, 1),
        (2, 1, 3, 2),
        (257, 1, 3, 2),
        (65537, 1, 3, 2),
        (786_433, 1, 3, 2),
        (1 << 20, 1, 3, 2),
        (1 << 32, 1, 4, 3),
        (1 << 40, 1, 4, 3),
        (65537, 3, 4, 5),
    ] {
        let boot = BootstrapParams::<Bfv>::for_depth(t, depth).unwrap();
        let found = (boot.params().max_level() + 1, boot.spec().iterations);
        let log_qp = boot.ring_spec().log_qp();
        println!(
            "t = {t}, depth {depth}: {found:?}, log QP {log_qp:.1}, {:.1} bits",
            boot.refreshed_budget()
        );
        assert_eq!(found, (primes, iterations), "{t}");
        assert!(boot.circuit().is_secure() && log_qp <= 1746.0);
        assert!(boot.ring_spec().primes().all(|q| q < 1 << 50));
        let facts = boot.circuit().facts().unwrap();
        assert_eq!((facts.dense.security_bits(16), facts.sparse.security_bits(16)), (128, 128));
        // No integer that the sparse secret can leave exceeds what the reduction removes.
        assert_eq!(facts.failure_log2, f64::NEG_INFINITY);
    }
}

/// As many primes as security leaves room for, and the budget of the shortest chain after a
/// refresh.
#[test]
fn long_chains_are_for_programs_that_become_narrow() {
    for depth in [1, 2, 3] {
        let short = BootstrapParams::<Bgv>::for_depth(786_433, depth).unwrap();
        let spec = BootstrapSpec::longest_for_depth::<Bgv>(786_433, depth).unwrap();
        let long = BootstrapParams::<Bgv>::try_from(spec.clone()).unwrap();
        println!(
            "depth {depth}: {} primes of {:?}, {} iterations, {:.1} bits; longest {}, {:.1} bits, log QP {:.1}, fresh {:.1}",
            short.params().max_level() + 1,
            spec.circuit.program.primes,
            spec.iterations,
            short.refreshed_budget(),
            long.params().max_level() + 1,
            long.refreshed_budget(),
            long.ring_spec().log_qp(),
            long.params().noise().log_q(long.params().max_level() + 1),
        );
        assert!(long.params().max_level() >= short.params().max_level() + 5);
        assert!((long.refreshed_budget() - short.refreshed_budget()).abs() < 1.0);
        let mut longer = spec;
        longer.circuit.program.levels += 1;
        let error = BootstrapParams::<Bgv>::try_from(longer).unwrap_err();
        assert!(matches!(error, Error::InvalidParams(ParamsError::Insecure { .. })), "{error}");
    }
}

/// Programs whose divisions leave correction factors at 1.
#[test]
fn primes_of_programs_may_be_units() {
    let t = 786_433;
    let spec = BootstrapSpec::longest_for_depth::<Bgv>(t, 1).unwrap();
    let boot = BootstrapParams::<Bgv>::with_unit_correction_factors(spec.clone()).unwrap();
    let ordinary = BootstrapParams::<Bgv>::try_from(spec.clone()).unwrap();
    let (q, others) = (boot.ring_spec().q(), ordinary.ring_spec().q());
    let programs = 1..boot.params().max_level() + 1;
    assert!(q[programs.clone()].iter().all(|q| q % t == 1));
    assert!(!others[programs.clone()].iter().all(|q| q % t == 1));
    assert_eq!((q[0], &q[programs.end..]), (others[0], &others[programs.end..]));
    assert!(boot.circuit().is_secure());
    assert_eq!(boot.spec(), ordinary.spec());
    // 2 N t has 37 bits: there are not so many primes of 38.
    let mut narrow = spec;
    narrow.circuit.program.primes = vec![38];
    let error = BootstrapParams::<Bgv>::with_unit_correction_factors(narrow).unwrap_err();
    assert!(
        matches!(error, Error::InvalidParams(ParamsError::NotEnoughPrimes { bits: 38, log_n: 16, .. })),
        "{error}"
    );
}

/// A loop refreshes where its budget runs out, and refuses steps that no refresh makes possible
/// before the first product.
#[test]
fn loops_of_any_length() {
    fn check<S: Scheme>() {
        let mut w = World::<S>::new(spec::<S>(257, 2));
        let needs = KeyRequirements::new().relinearisation();
        let keys = EvaluationKeys::generate(&w.secret, &w.ring, needs, &mut w.rng).unwrap();
        let refresher = w.bootstrapper.with_keys(&w.keys);
        let ct = {
            let plain = w.encoder().encode_coefficients(&[3u64]).unwrap();
            let encryptor = SecretEncryptor::new(w.boot.params(), &w.secret, &w.ring).unwrap();
            encryptor.encrypt(&plain, &mut w.rng).unwrap().expand().unwrap()
        };
        let mut refreshed = 0;
        let mut before = f64::INFINITY;
        let found = refresher
            .repeat(&ct, 9, 2, |i, x| {
                let budget = x.predicted_budget(w.boot.params());
                refreshed += usize::from(budget > before);
                let y = w.ev.square(&w.ev.square(x, &keys)?, &keys)?;
                before = y.predicted_budget(w.boot.params());
                w.ev.add_scalar(&y, i as i64)
            })
            .unwrap();
        let expected = (0..9).fold(3u64, |x, i| (x * x % 257 * (x * x % 257) + i) % 257);
        assert_eq!(w.decrypt(&found)[0], expected, "{}", S::NAME);
        assert!(refreshed > 2, "{refreshed}");
        // Steps that are too deep, and ciphertexts that are spent.
        let mut steps = 0;
        let refused = refresher.repeat(&found, 3, 40, |_, x| {
            steps += 1;
            x.duplicate()
        });
        let Err(Error::BudgetTooLow { left_bits, needed_bits }) = refused else { panic!("{refused:?}") };
        assert!(left_bits < needed_bits && needed_bits == w.boot.needed_budget() + 10.0);
        assert_eq!(steps, 0);
        let none = refresher.sequence(&ct, [], |_, x| x.duplicate()).unwrap();
        assert_eq!(w.decrypt(&none)[0], 3);
        let left = w.boot.needed_budget() - 1.0;
        let spent = w.spent(&ct, left);
        let refused = w.bootstrapper.with_keys(&w.keys).repeat(&spent, 1, 0, |_, x| x.duplicate());
        assert!(matches!(refused, Err(Error::BudgetTooLow { .. })), "{refused:?}");
    }
    check::<Bfv>();
    check::<Bgv>();
}
