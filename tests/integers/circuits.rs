//! Random circuits on slots, exact until the predicted budget is spent, and whole programs on two
//! back ends.

use super::common::{MODULI, World, add_mod, for_seeds, insecure, scale_mod, slot_prime, sub_mod, zip_mod};
use he::Error;
use he::backend::{Cpu, RingOps};
use he::bfv::{Bfv, presets as bfv_presets};
use he::bgv::{Bgv, presets as bgv_presets};
use he::conformance::{Mirror, Naive};
use he::exact::{Ciphertext, Encryptor, Params, Scheme, SecretEncryptor};
use he::params::{ParamsError, Security};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

/// A ciphertext and the slots that it should hold.
struct Sample<S: Scheme, B: RingOps> {
    ct: Ciphertext<S, B>,
    slots: Vec<u64>,
}

fn fresh<S: Scheme, B: RingOps>(world: &World<S, B>, rng: &mut ChaCha20Rng) -> Sample<S, B> {
    let slots = world.random(rng);
    let plaintext = world.ev.encoder().encode(&slots).unwrap();
    let ct = if rng.random() {
        Encryptor::new(&world.params, &world.public).unwrap().encrypt(&plaintext, rng).unwrap()
    } else {
        let encryptor = SecretEncryptor::new(&world.params, &world.secret, &world.ring).unwrap();
        encryptor.encrypt(&plaintext, rng).unwrap().expand().unwrap()
    };
    Sample { ct, slots }
}

fn check<S: Scheme, B: RingOps>(world: &World<S, B>, sample: &Sample<S, B>, what: &str) {
    let plaintext = world.decryptor.decrypt(&sample.ct).unwrap();
    let found = world.ev.encoder().decode::<u64>(&plaintext).unwrap().remove(0);
    let predicted = sample.ct.predicted_budget(&world.params);
    let real = world.decryptor.noise_budget(&sample.ct).unwrap()[0];
    assert!(predicted > 0.0 && real > predicted, "{what}: budget {real}, predicted {predicted}");
    assert_eq!(found, sample.slots, "{what}: {}, budget {real}, predicted {predicted}", S::NAME);
}

/// One random operation on a pool.
fn step<S: Scheme, B: RingOps>(
    world: &World<S, B>,
    pool: &[Sample<S, B>],
    rng: &mut ChaCha20Rng,
) -> (&'static str, he::Result<Sample<S, B>>) {
    let (ev, keys, t, n) = (&world.ev, &world.keys, world.t(), world.n());
    let wide = i128::from(t);
    let [a, b] = [(); 2].map(|()| &pool[rng.random_range(0..pool.len())]);
    let sample = |slots: Vec<u64>| move |ct| Sample { ct, slots };
    match rng.random_range(0..10) {
        0 => ("add", ev.add(&a.ct, &b.ct).map(sample(add_mod(&a.slots, &b.slots, t)))),
        1 => ("sub", ev.sub(&a.ct, &b.ct).map(sample(sub_mod(&a.slots, &b.slots, t)))),
        2 => {
            let values = world.random(rng);
            let plaintext = ev.encoder().encode(&values).unwrap();
            (
                "mul_plain",
                ev.mul_plain(&a.ct, &plaintext)
                    .map(sample(zip_mod(&a.slots, &values, t, |x, y| x * y % wide))),
            )
        }
        3 => {
            let c = rng.random_range(-50i64..50);
            ("mul_scalar", ev.mul_scalar(&a.ct, c).map(sample(scale_mod(&a.slots, c, t))))
        }
        4 => {
            let by = rng.random_range(0..n / 2);
            let turned = [0, 1].map(|row| {
                let mut row = a.slots[row * n / 2..][..n / 2].to_vec();
                row.rotate_left(by);
                row
            });
            ("rotate", ev.rotate(&a.ct, by as i64, keys).map(sample(turned.concat())))
        }
        5 => {
            let swapped = [&a.slots[n / 2..], &a.slots[..n / 2]].concat();
            ("swap_rows", ev.swap_rows(&a.ct, keys).map(sample(swapped)))
        }
        6 => {
            let level = ev.lowest_level(&a.ct);
            ("mod_switch_to", ev.mod_switch_to(&a.ct, level).map(sample(a.slots.clone())))
        }
        _ => {
            let slots = zip_mod(&a.slots, &b.slots, t, |x, y| x * y % wide);
            ("mul", ev.mul(&a.ct, &b.ct, keys).map(sample(slots)))
        }
    }
}

/// Runs random operations until the budget is spent many times over; every result that is not
/// refused is exact.
fn random_circuit<S: Scheme>(params: Params<S>, rng: &mut ChaCha20Rng) {
    let world = World::new(params, rng);
    let mut pool: Vec<Sample<S, Cpu>> = (0..3).map(|_| fresh(&world, rng)).collect();
    let (mut refused, mut products) = (0, 0);
    while refused < 10 {
        match step(&world, &pool, rng) {
            (what, Ok(sample)) => {
                products += u32::from(what == "mul");
                check(&world, &sample, what);
                if pool.len() < 8 {
                    pool.push(sample);
                } else {
                    let place = rng.random_range(0..8);
                    pool[place] = sample;
                }
            }
            (_, Err(Error::BudgetSpent { excess_bits })) => {
                assert!(excess_bits >= 0.0);
                refused += 1;
            }
            (what, Err(error)) => panic!("{what}: {error}"),
        }
    }
    assert!(products > 0);
}

/// Repeated squaring: the depth that is reached, and the margin that the prediction gives away.
fn squarings<S: Scheme>(params: Params<S>, at_least: usize, rng: &mut ChaCha20Rng) {
    let world = World::new(params, rng);
    let mut x = fresh(&world, rng);
    let (t, mut depth) = (world.t(), 0);
    loop {
        match world.ev.square(&x.ct, &world.keys) {
            Ok(ct) => {
                let slots = zip_mod(&x.slots, &x.slots, t, |x, y| x * y % i128::from(t));
                x = Sample { ct, slots };
                check(&world, &x, "square");
                depth += 1;
            }
            Err(Error::BudgetSpent { .. }) => break,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(depth >= at_least, "{}: depth {depth}, at least {at_least} expected", S::NAME);
    let gap = world.decryptor.noise_budget(&x.ct).unwrap()[0] - x.ct.predicted_budget(&world.params);
    assert!(gap < 3.0 + 1.5 * depth as f64, "{}: {gap} bits given away at depth {depth}", S::NAME);
}

fn circuits<S: Scheme>(rng: &mut ChaCha20Rng) {
    for (log_n, t, q_bits) in [
        (3, 17, vec![30; 5]),
        (4, 97, vec![45, 45, 45]),
        (6, 65537, vec![50; 6]),
        (8, 786_433, vec![40; 8]),
        (5, slot_prime(60, 5), vec![50; 9]),
    ] {
        random_circuit::<S>(insecure(log_n, &q_bits, &[50], t), rng);
        random_circuit::<S>(insecure(log_n, &q_bits, &[50, 50], t), rng);
    }
}

#[test]
fn bfv_circuits_are_exact_until_the_budget_is_spent() {
    for_seeds(3, circuits::<Bfv>);
}

#[test]
fn bgv_circuits_are_exact_until_the_budget_is_spent() {
    for_seeds(3, circuits::<Bgv>);
}

#[test]
fn presets_reach_their_depth() {
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    squarings(bfv_presets::bfv_n12_d1().unwrap(), 1, rng);
    squarings(bfv_presets::bfv_n13_d4().unwrap(), 4, rng);
    squarings(bgv_presets::bgv_n12_d1().unwrap(), 1, rng);
    squarings(bgv_presets::bgv_n13_d3().unwrap(), 3, rng);
    squarings(insecure::<Bfv>(8, &[50; 12], &[50, 50], 786_433), 12, rng);
    squarings(insecure::<Bgv>(8, &[40; 12], &[50, 50], 786_433), 8, rng);
}

#[test]
fn built_parameters_reach_the_depth_asked_for() {
    let rng = &mut ChaCha20Rng::seed_from_u64(2);
    for depth in [1, 2] {
        squarings(Params::<Bfv>::for_depth(65537, depth).slots().build().unwrap(), depth, rng);
        squarings(Params::<Bgv>::for_depth(65537, depth).slots().build().unwrap(), depth, rng);
    }
}

/// Every word the same on two back ends, through a program of all operations.
fn program<S: Scheme>(t: u64, q_bits: &[u32], p_bits: &[u32]) {
    let rng = &mut ChaCha20Rng::seed_from_u64(3);
    let params = insecure::<S>(3, q_bits, p_bits, t);
    let world = World::on(Mirror::new(Cpu::new(), Naive), params, rng);
    let mut pool: Vec<_> = (0..3).map(|_| fresh(&world, rng)).collect();
    for _ in 0..40 {
        if let (what, Ok(sample)) = step(&world, &pool, rng).into_result() {
            check(&world, &sample, what);
            pool.push(sample);
        }
    }
    let product = world.ev.tensor(&pool[0].ct, &pool[1].ct).unwrap();
    let mut sum = world.ev.tensor(&pool[1].ct, &pool[2].ct).unwrap();
    world.ev.add_products(&mut sum, &product).unwrap();
    world.ev.relinearize(&sum, &world.keys).unwrap();
    world.ev.sum_all(&pool[0].ct, &world.keys).unwrap();
    world.ev.rotate_many(&pool[0].ct, &[1, 2, 3], &world.keys).unwrap();
}

/// Only a spent budget is not a failure.
trait IntoResult<T> {
    fn into_result(self) -> (&'static str, he::Result<T>);
}

impl<T> IntoResult<T> for (&'static str, he::Result<T>) {
    fn into_result(self) -> Self {
        match self {
            (what, Err(error)) if !matches!(error, Error::BudgetSpent { .. }) => panic!("{what}: {error}"),
            result => result,
        }
    }
}

#[test]
fn programs_leave_the_same_words_on_two_back_ends() {
    for (t, q_bits, p_bits) in
        [(17, vec![30; 4], vec![31, 31]), (65537, vec![61; 4], vec![61]), (97, vec![50; 5], vec![50])]
    {
        program::<Bfv>(t, &q_bits, &p_bits);
        program::<Bgv>(t, &q_bits, &p_bits);
    }
}

/// The squarings that the predictions allow with this many bits of budget left.
fn predicted_depth<S: Scheme>(params: &Params<S>, margin: f64) -> usize {
    let (mut noise, mut primes, mut depth) = (params.noise().public(), params.max_level() + 1, 0);
    while let Some((at, after)) = params.after_product(noise, primes) {
        if params.noise().budget(after, at) < margin {
            break;
        }
        (noise, primes, depth) = (after, at, depth + 1);
    }
    depth
}

/// Secure, of narrow primes, and of exactly the depth of its name with ten bits left.
fn check_preset<S: Scheme>(params: Params<S>, log_n: u32, depth: usize) {
    let what = format!("{}, N = 2^{log_n}", S::NAME);
    assert_eq!(params.rlwe().ring().log_n(), log_n, "{what}");
    assert!(params.rlwe().security() >= Security::Bits128, "{what}");
    assert!(params.rlwe().ring().primes().all(|q| q >> 50 == 0) && params.has_slots(), "{what}");
    assert_eq!(predicted_depth(&params, 10.0), depth, "{what}, {}", params.rlwe().ring().log_qp());
}

#[test]
fn presets_are_named_truly() {
    check_preset(bfv_presets::bfv_n12_d1().unwrap(), 12, 1);
    check_preset(bfv_presets::bfv_n13_d4().unwrap(), 13, 4);
    check_preset(bfv_presets::bfv_n14_d11().unwrap(), 14, 11);
    check_preset(bfv_presets::bfv_n15_d21().unwrap(), 15, 21);
    check_preset(bgv_presets::bgv_n12_d1().unwrap(), 12, 1);
    check_preset(bgv_presets::bgv_n13_d3().unwrap(), 13, 3);
    check_preset(bgv_presets::bgv_n14_d8().unwrap(), 14, 8);
    check_preset(bgv_presets::bgv_n15_d16().unwrap(), 15, 16);
}

/// Every plaintext modulus and depth gives what was requested, or one clear refusal; more depth
/// never takes a smaller degree.
fn builder<S: Scheme>() {
    for t in MODULI {
        let mut degree = 12;
        for depth in [0, 1, 2, 3, 5, 8, 12, 16] {
            for margin in [1, 10, 40] {
                let params = match Params::<S>::for_depth(t, depth).margin_bits(margin).build() {
                    Ok(params) => params,
                    Err(ParamsError::DepthUnreachable { .. }) => {
                        // Products of about 2 log2(N) + log2(t) bits each at the least.
                        assert!(depth >= 10 && t > 1 << 30, "{}: depth {depth}, t = {t}", S::NAME);
                        continue;
                    }
                    Err(error) => panic!("{}: depth {depth}, t = {t}: {error}", S::NAME),
                };
                let ring = params.rlwe().ring();
                assert!(params.rlwe().security() >= Security::Bits128);
                assert!(ring.primes().all(|q| q >> 50 == 0) && params.plain().value() == t);
                assert!(
                    predicted_depth(&params, f64::from(margin)) >= depth,
                    "{}: {depth}, t = {t}",
                    S::NAME
                );
                assert!(params.explanation().contains("noise budget"));
                if margin == 10 {
                    assert!(ring.log_n() >= degree, "{}: depth {depth}, t = {t}", S::NAME);
                    degree = ring.log_n();
                }
            }
        }
    }
    let params =
        Params::<S>::for_depth(65537, 2).slots().security(Security::Bits192).log_n(15).build().unwrap();
    assert!(params.has_slots() && params.rlwe().security() >= Security::Bits192);
    assert_eq!(params.rlwe().ring().log_n(), 15);
}

#[test]
fn the_builder_meets_what_was_asked() {
    builder::<Bfv>();
    builder::<Bgv>();
}
