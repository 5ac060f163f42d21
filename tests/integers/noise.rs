//! Compares the noise with its prediction.

use super::common::{World, for_seeds, insecure, slot_prime};
use he::backend::Cpu;
use he::bfv::Bfv;
use he::bgv::Bgv;
use he::exact::{Ciphertext, Noise, Scheme};
use num_traits::{Signed, ToPrimitive};
use rand::rngs::ChaCha20Rng;

/// log2 of the root mean square of the noise, and of its greatest coefficient.
fn measured<S: Scheme>(world: &World<S>, ct: &Ciphertext<S, Cpu>) -> (f64, f64) {
    let noise: Vec<f64> = world.noise(ct).iter().map(|e| e.abs().to_f64().unwrap()).collect();
    let squares: f64 = noise.iter().map(|e| e * e).sum::<f64>() / noise.len() as f64;
    (squares.sqrt().log2(), noise.iter().fold(0.0f64, |max, &e| max.max(e)).log2())
}

/// The measured root mean square lies between `slack` bits below what is predicted and a fifth of a
/// bit above. All entries share a secret and a public key, whose squared norms scatter by 3 and 6 %
/// at N = 512, and 4096 coefficients by 2 %: together 4 %, .03 bits of the root, of which a fifth
/// of a bit is six times as much.
fn check<S: Scheme>(world: &World<S>, ct: &Ciphertext<S, Cpu>, slack: f64, what: &str) {
    check_within(world, ct, slack, 0.2, what);
}

/// Likewise, of at most `above` bits more than what is predicted.
///
/// At each root of unity z, every product in a row multiplies the noise by |s(z)| of the one secret
/// s. After two of them the mean of |s(z)|^4 over 256 pairs of roots scatters, and after three that
/// of |s(z)|^6: in 3000 secrets the root mean square was beyond its mean by more than .39 and .97
/// bits in one of 500, and by .5 and 1.5 at most.
fn check_within<S: Scheme>(world: &World<S>, ct: &Ciphertext<S, Cpu>, slack: f64, above: f64, what: &str) {
    let (rms, greatest) = measured(world, ct);
    let Noise { rms_log2, peak_log2, .. } = ct.noise();
    let what = format!("{what}: {}, t = {}, N = {}", S::NAME, world.t(), world.n());
    assert!(rms < rms_log2 + above, "{what}: 2^{rms:.2}, predicted at most 2^{rms_log2:.2}");
    assert!(rms > rms_log2 - slack, "{what}: 2^{rms:.2}, predicted 2^{rms_log2:.2}");
    assert!(greatest < peak_log2, "{what}: greatest 2^{greatest:.2}");
    let real = world.decryptor.noise_budget(ct).unwrap();
    let predicted = ct.predicted_budget(&world.params);
    assert!(real.iter().all(|&real| real > predicted), "{what}: {real:?}, predicted {predicted}");
}

fn statistics<S: Scheme>(rng: &mut ChaCha20Rng) {
    let log_n = 9;
    for t in [2, 257, slot_prime(20, log_n), 1 << 20, slot_prime(40, log_n)] {
        let params = insecure::<S>(log_n, &[50, 50, 50, 50, 50, 50], &[50, 50], t);
        let world = World::new(params, rng);
        let (ev, keys) = (&world.ev, &world.keys);
        // Eight entries: 4096 coefficients.
        let messages: Vec<Vec<u64>> = (0..8).map(|_| world.random(rng)).collect();
        let others: Vec<Vec<u64>> = (0..8).map(|_| world.random(rng)).collect();
        let a = world.encrypt(&messages, rng);
        let b = world.encrypt(&others, rng);
        check(&world, &a, 0.2, "public key");
        check(&world, &world.encrypt_secretly(&messages, rng), 0.1, "secret key");
        check(&world, &ev.add(&a, &b).unwrap(), 0.65, "sum");
        check(&world, &ev.add(&a, &a).unwrap(), 0.2, "double");
        check(&world, &ev.mul_scalar(&a, (t / 3).clamp(1, 1000) as i64).unwrap(), 1.0, "scalar");
        if world.params.noise().budget(a.noise(), 2) > 0.0 {
            check(&world, &ev.mod_switch_to(&a, 1).unwrap(), 0.2, "switch");
        }
        check(&world, &ev.mul_plain(&a, &world.plaintext(&others[..1])).unwrap(), 4.0, "plaintext");
        let product = ev.mul(&a, &b, keys).unwrap();
        check(&world, &product, 2.0, "product");
        let square = ev.square(&a, keys).unwrap();
        check(&world, &square, 1.5, "square");
        if world.params.has_slots() {
            // A coefficient that collects everything.
            let image = ev.swap_rows(&a, keys).unwrap();
            check(&world, &ev.mul(&a, &image, keys).unwrap(), 2.0, "product with its own image");
        }
        if let Ok(product) = ev.mul(&product, &square, keys) {
            check_within(&world, &product, 4.0, 0.8, "product of four");
            if let Ok(product) = ev.mul(&product, &product, keys) {
                check_within(&world, &product, 10.0, 2.0, "product of eight");
            }
        }
        if world.params.has_slots() {
            check(&world, &ev.rotate(&a, 4, keys).unwrap(), 1.0, "rotation");
            check(&world, &ev.inner_sum(&a, 64, keys).unwrap(), 5.0, "inner sum");
        }
    }
}

#[test]
fn bfv_noise_is_as_predicted() {
    for_seeds(1, statistics::<Bfv>);
}

#[test]
fn bgv_noise_is_as_predicted() {
    for_seeds(1, statistics::<Bgv>);
}

/// A key switch by many digits: its own noise, on a ciphertext that has hardly any.
#[test]
fn key_switches_add_what_is_predicted() {
    for_seeds(2, |rng| {
        for p_bits in [vec![44], vec![50, 50], vec![45, 45, 45]] {
            let t = slot_prime(18, 9);
            let world = World::<Bfv>::new(insecure(9, &[44, 44, 44, 44, 44], &p_bits, t), rng);
            let messages: Vec<Vec<u64>> = (0..8).map(|_| world.random(rng)).collect();
            let ct = world.encrypt_secretly(&messages, rng);
            check(&world, &world.ev.rotate(&ct, 1, &world.keys).unwrap(), 1.0, "key switch");
            check(&world, &world.ev.rotate(&ct, 85, &world.keys).unwrap(), 2.0, "several key switches");
        }
    });
}
