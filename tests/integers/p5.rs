//! The experiment of "BFV encryptor and decryptor on an FPGA" (Fadhli 2021): degrees 4, 8 and 16, q
//! of 32 bits, t of 16 bits, 50 to 1000 messages per run; then its other operations. These degrees
//! have no security at all.

use super::common::{World, add_mod, for_seeds, insecure, product_mod};
use he::bfv::{Bfv, BfvParams};
use he::exact::ExactSpec;
use he::params::{ParamsError, Security};
use rand::rngs::ChaCha20Rng;

fn messages(world: &World<Bfv>, count: usize, rng: &mut ChaCha20Rng) -> Vec<Vec<u64>> {
    (0..count).map(|_| world.random(rng)).collect()
}

#[test]
fn messages_come_back() {
    for_seeds(1, |rng| {
        for log_n in [2, 3, 4] {
            // 2^16 is the paper's; 65521 the greatest prime of 16 bits.
            for t in [1 << 16, 65521] {
                let spec = ExactSpec::from_bits(log_n, &[32], &[33], t).unwrap();
                assert!(matches!(BfvParams::try_from(spec.clone()), Err(ParamsError::Insecure { .. })));
                assert_eq!(spec.q[0] >> 31, 1);
                let world = World::new(BfvParams::insecure(spec).unwrap(), rng);
                assert_eq!(world.params.rlwe().security(), Security::Insecure);
                for count in [1, 50, 1000] {
                    let (x, y) = (messages(&world, count, rng), messages(&world, count, rng));
                    let (a, b) = (world.encrypt(&x, rng), world.encrypt(&y, rng));
                    assert_eq!(world.decrypt(&a), x, "N = 2^{log_n}, {count} messages");
                    let sums: Vec<Vec<u64>> = x.iter().zip(&y).map(|(x, y)| add_mod(x, y, t)).collect();
                    assert_eq!(world.decrypt(&world.ev.add(&a, &b).unwrap()), sums);
                    assert_eq!(world.decrypt(&world.ev.add_plain(&a, &world.plaintext(&y)).unwrap()), sums);
                }
            }
        }
    });
}

/// Products need more of the modulus: a plaintext modulus of 4 bits, or a chain of three such
/// primes.
#[test]
fn products_by_plaintexts_and_ciphertexts() {
    for_seeds(1, |rng| {
        for log_n in [2, 3, 4] {
            for (q_bits, t) in [(vec![32], 16), (vec![32, 32, 32], 1 << 16)] {
                let world = World::new(insecure::<Bfv>(log_n, &q_bits, &[33], t), rng);
                let (x, y) = (messages(&world, 50, rng), messages(&world, 50, rng));
                let (a, b) = (world.encrypt(&x, rng), world.encrypt(&y, rng));
                let products: Vec<Vec<u64>> = x.iter().zip(&y).map(|(x, y)| product_mod(x, y, t)).collect();
                assert_eq!(world.decrypt(&world.ev.mul_plain(&a, &world.plaintext(&y)).unwrap()), products);
                assert_eq!(world.decrypt(&world.ev.mul(&a, &b, &world.keys).unwrap()), products);
            }
        }
    });
}
