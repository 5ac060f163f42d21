//! Compares every operation, on every kind of plaintext modulus, with polynomials and slots modulo
//! t.

use super::common::{
    MODULI, World, add_mod, for_seeds, insecure, product_mod, scale_mod, shapes, slot_prime, sub_mod, zip_mod,
};
use he::bfv::Bfv;
use he::bgv::Bgv;
use he::exact::{Ciphertext, Encryptor, Message, Scheme, SecretEncryptor, SlotEncoder};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

fn bits(t: u64) -> u32 {
    64 - t.leading_zeros()
}

/// Both encryptions come back, whole batches of them, in both views.
fn round_trips<S: Scheme>(rng: &mut ChaCha20Rng) {
    for t in MODULI {
        for params in shapes::<S>(t, bits(t) + 30) {
            let world = World::new(params, rng);
            for batch in [1, 3] {
                let mut rows: Vec<Vec<u64>> = (0..batch).map(|_| world.random(rng)).collect();
                rows[0][0] = t - 1;
                rows[0][1] = t / 2;
                rows[0][2] = t.div_ceil(2) % t;
                let public = world.encrypt(&rows, rng);
                assert_eq!(world.decrypt(&public), rows, "t = {t}, N = {}", world.n());
                let secret = world.encrypt_secretly(&rows, rng);
                assert_eq!(world.decrypt(&secret), rows, "t = {t}, N = {}", world.n());
                let signed = world.decryptor.decrypt(&public).unwrap();
                let signed = world.ev.encoder().decode_coefficients::<i64>(&signed).unwrap();
                for (signed, unsigned) in signed.iter().flatten().zip(rows.iter().flatten()) {
                    let half = i128::from(t);
                    assert!(2 * i128::from(*signed) >= -half && 2 * i128::from(*signed) < half);
                    assert_eq!(i128::from(*signed).rem_euclid(half), i128::from(*unsigned));
                }
                let views: Vec<&[i64]> = signed.iter().map(Vec::as_slice).collect();
                let again = world.ev.encoder().encode_coefficients_batch(&views).unwrap();
                assert_eq!(again, world.plaintext(&rows));
            }
        }
    }
}

/// Sums, differences, negatives, plaintext and scalar operations on polynomials.
fn linear<S: Scheme>(rng: &mut ChaCha20Rng) {
    for t in MODULI {
        for params in shapes::<S>(t, 2 * bits(t) + 40) {
            let world = World::new(params, rng);
            let ev = &world.ev;
            let [x, y] = [(); 2].map(|()| world.random(rng));
            let a = world.encrypt(std::slice::from_ref(&x), rng);
            let b = world.encrypt_secretly(std::slice::from_ref(&y), rng);
            let plain = world.plaintext(std::slice::from_ref(&y));
            let check = |ct: he::Result<_>, expected: Vec<u64>, what: &str| {
                let found = world.decrypt(&ct.unwrap());
                assert_eq!(found, [expected], "{what}: {} t = {t}, N = {}", S::NAME, world.n());
            };
            check(ev.add(&a, &b), add_mod(&x, &y, t), "add");
            check(ev.sub(&a, &b), sub_mod(&x, &y, t), "sub");
            check(ev.neg(&a), sub_mod(&vec![0; x.len()], &x, t), "neg");
            check(ev.add_plain(&a, &plain), add_mod(&x, &y, t), "add_plain");
            check(ev.sub_plain(&a, &plain), sub_mod(&x, &y, t), "sub_plain");
            check(ev.mul_plain(&a, &plain), product_mod(&x, &y, t), "mul_plain");
            for c in [0, 1, -1, 2, 12345, i64::MAX, i64::MIN] {
                check(ev.mul_scalar(&a, c), scale_mod(&x, c, t), "mul_scalar");
                let mut shifted = x.clone();
                let term = i128::from(c).rem_euclid(i128::from(t)) + i128::from(shifted[0]);
                shifted[0] = (term % i128::from(t)) as u64;
                check(ev.add_scalar(&a, c), shifted, "add_scalar");
            }
            // In place, and with operands of other levels: the same words.
            let low = ev.mod_switch_to(&a, a.level().saturating_sub(1)).unwrap();
            for (a, b) in [(&a, &b), (&low, &b), (&b, &low)] {
                let same = |f: &dyn Fn(&mut Ciphertext<S>) -> he::Result<()>, expected: Ciphertext<S>| {
                    let mut found = a.clone();
                    f(&mut found).unwrap();
                    let words = |ct: &Ciphertext<S>| ct.pair().parts().map(|part| part.to_words().unwrap());
                    assert!(words(&found) == words(&expected), "{}, t = {t}, N = {}", S::NAME, world.n());
                    assert_eq!((found.level(), found.noise()), (expected.level(), expected.noise()));
                    assert_eq!(found.correction_factor(), expected.correction_factor());
                };
                same(&|a| ev.add_assign(a, b), ev.add(a, b).unwrap());
                same(&|a| ev.sub_assign(a, b), ev.sub(a, b).unwrap());
                same(&|a| ev.neg_assign(a), ev.neg(a).unwrap());
                same(&|a| ev.add_plain_assign(a, &plain), ev.add_plain(a, &plain).unwrap());
                same(&|a| ev.sub_plain_assign(a, &plain), ev.sub_plain(a, &plain).unwrap());
                same(&|a| ev.add_scalar_assign(a, -12345), ev.add_scalar(a, -12345).unwrap());
                same(&|a| ev.mul_scalar_assign(a, -12345), ev.mul_scalar(a, -12345).unwrap());
            }
            if a.level() > 0 {
                let low = ev.mod_switch_to(&a, a.level() - 1).unwrap();
                assert_eq!(low.level() + 1, a.level());
                check(ev.add(&low, &b), add_mod(&x, &y, t), "add of two levels");
                check(ev.sub(&b, &low), sub_mod(&y, &x, t), "sub of two levels");
                check(ev.add_plain(&low, &plain), add_mod(&x, &y, t), "add_plain below");
                check(Ok(low), x.clone(), "mod_switch_to");
            }
            // A batch of one entry is combined with every entry.
            let many = world.encrypt(&[x.clone(), y.clone()], rng);
            let sums = world.decrypt(&ev.add(&many, &a).unwrap());
            assert_eq!(sums, [add_mod(&x, &x, t), add_mod(&x, &y, t)]);
            let products = world.decrypt(&ev.mul_plain(&many, &plain).unwrap());
            assert_eq!(products, [product_mod(&x, &y, t), product_mod(&y, &y, t)]);
        }
    }
}

/// Products of polynomials, relinearised at once and lazily.
fn products<S: Scheme>(rng: &mut ChaCha20Rng) {
    for t in MODULI {
        for params in shapes::<S>(t, 3 * bits(t) + 60) {
            let world = World::new(params, rng);
            let ev = &world.ev;
            let [x, y, z] = [(); 3].map(|()| world.random(rng));
            let [a, b, c] = [&x, &y, &z].map(|m| world.encrypt(std::slice::from_ref(m), rng));
            let what = format!("{}, t = {t}, N = {}", S::NAME, world.n());
            let (xy, yz) = (product_mod(&x, &y, t), product_mod(&y, &z, t));
            assert_eq!(
                world.decrypt(&ev.mul(&a, &b, &world.keys).unwrap()),
                std::slice::from_ref(&xy),
                "mul, {what}"
            );
            assert_eq!(world.decrypt(&ev.square(&a, &world.keys).unwrap()), [product_mod(&x, &x, t)]);
            let mut sum = ev.tensor(&a, &b).unwrap();
            ev.add_products(&mut sum, &ev.tensor(&b, &c).unwrap()).unwrap();
            ev.sub_products(&mut sum, &ev.tensor(&c, &c).unwrap()).unwrap();
            let lazy = world.decrypt(&ev.relinearize(&sum, &world.keys).unwrap());
            let expected = sub_mod(&add_mod(&xy, &yz, t), &product_mod(&z, &z, t), t);
            assert_eq!(lazy, [expected], "lazily, {what}");
            if a.level() > 0 {
                // Products of different levels (and, in BGV, factors).
                let low = ev.mod_switch_to(&c, c.level() - 1).unwrap();
                let product = ev.tensor(&low, &b).unwrap();
                let mut sum = ev.tensor(&a, &b).unwrap();
                ev.add_products(&mut sum, &product).unwrap();
                let sum = world.decrypt(&ev.relinearize(&sum, &world.keys).unwrap());
                assert_eq!(sum, [add_mod(&xy, &yz, t)], "two levels, {what}");
            }
            let many = world.encrypt(&[x.clone(), z.clone()], rng);
            let products = world.decrypt(&ev.mul(&b, &many, &world.keys).unwrap());
            assert_eq!(products, [xy, yz], "batch, {what}");
        }
    }
}

/// Slots multiply slot by slot, rotate row by row, and sum up.
fn slots<S: Scheme>(rng: &mut ChaCha20Rng) {
    for (log_n, width) in [(2u32, 5), (3, 17), (5, 30), (8, 45)] {
        let t = slot_prime(width, log_n);
        let q_bits = vec![40; (2 * width + 50).div_ceil(40) as usize];
        let params = insecure::<S>(log_n, &q_bits, &[41], t);
        let world = World::new(params, rng);
        let (ev, keys, n) = (&world.ev, &world.keys, world.n());
        let encryptor = Encryptor::new(&world.params, &world.public).unwrap();
        let [x, y] = [(); 2].map(|()| world.random(rng));
        let [a, b] =
            [&x, &y].map(|values| encryptor.encrypt(&ev.encoder().encode(values).unwrap(), rng).unwrap());
        let slots = |ct| {
            let plaintext = world.decryptor.decrypt(&ct).unwrap();
            ev.encoder().decode::<u64>(&plaintext).unwrap().remove(0)
        };
        assert_eq!(slots(a.duplicate().unwrap()), x);
        assert_eq!(slots(ev.mul(&a, &b, keys).unwrap()), zip_mod(&x, &y, t, |x, y| x * y % i128::from(t)));
        let plain = ev.encoder().encode(&y).unwrap();
        assert_eq!(slots(ev.mul_plain(&a, &plain).unwrap()), zip_mod(&x, &y, t, |x, y| x * y));
        assert_eq!(slots(ev.add_scalar(&a, -7).unwrap()), zip_mod(&x, &x, t, |x, _| x - 7));
        let rotated = |values: &[u64], step: i64| -> Vec<u64> {
            let row = |row: usize, i: usize| {
                let from = (i as i64 + step).rem_euclid(n as i64 / 2) as usize;
                values[row * n / 2 + from]
            };
            (0..2).flat_map(|r| (0..n / 2).map(move |i| (r, i))).map(|(r, i)| row(r, i)).collect()
        };
        let steps = [0, 1, -1, 3, n as i64 / 2 - 1, n as i64];
        for (step, many) in steps.into_iter().zip(ev.rotate_many(&a, &steps, keys).unwrap()) {
            assert_eq!(slots(ev.rotate(&a, step, keys).unwrap()), rotated(&x, step), "by {step}, N = {n}");
            assert_eq!(slots(many), rotated(&x, step), "hoisted by {step}, N = {n}");
        }
        let swapped: Vec<u64> = [&x[n / 2..], &x[..n / 2]].concat();
        assert_eq!(slots(ev.swap_rows(&a, keys).unwrap()), swapped);
        let mut sums = x.clone();
        for step in (0..log_n - 1).map(|i| 1i64 << i) {
            sums = add_mod(&sums, &rotated(&sums, step), t);
            assert_eq!(slots(ev.inner_sum(&a, 2 * step as usize, keys).unwrap()), sums, "{step}, N = {n}");
        }
        let total = x.iter().fold(0, |sum, &x| (u128::from(sum) + u128::from(x)) as u64 % t);
        assert_eq!(slots(ev.sum_all(&a, keys).unwrap()), vec![total; n]);
    }
}

/// Slots encoded on the device are those of the encoder of the host, also of vectors shorter than
/// the ring, and messages on a device are encrypted and decrypted as plaintexts are.
#[test]
fn messages_on_a_device() {
    for_seeds(2, |rng| {
        for t in [65537, slot_prime(40, 4)] {
            let world = World::<Bgv>::new(insecure(4, &[50, 40], &[51], t), rng);
            let slots = SlotEncoder::new(&world.params, &world.ring).unwrap();
            let values: Vec<i64> = (0..11).map(|_| rng.random_range(-32768..=32768)).collect();
            let rows: [&[i64]; 3] = [&values, &[], &values[3..]];
            let [message, again] = [(); 2].map(|()| slots.encode(&rows).unwrap());
            let plaintext = world.ev.encoder().encode_batch(&rows).unwrap();
            assert_eq!((message.batch(), again.into_plaintext().unwrap()), (3, plaintext.clone()), "t = {t}");
            assert_eq!(Message::new(&world.ring, &plaintext).unwrap().into_plaintext().unwrap(), plaintext);

            let encryptor = Encryptor::new(&world.params, &world.public).unwrap();
            let secretly = SecretEncryptor::new(&world.params, &world.secret, &world.ring).unwrap();
            let seed: u64 = rng.random();
            let [mut one, mut two] = [(); 2].map(|()| ChaCha20Rng::seed_from_u64(seed));
            let words = |ct: &Ciphertext<Bgv, _>| ct.pair().parts().map(|part| part.to_words().unwrap());
            let by_message = encryptor.encrypt_message(&message, &mut one).unwrap();
            assert_eq!(words(&by_message), words(&encryptor.encrypt(&plaintext, &mut two).unwrap()));
            let by_secret = secretly.encrypt_message(&message, &mut one).unwrap().expand().unwrap();
            for ct in [by_message, by_secret] {
                assert_eq!(world.decryptor.decrypt(&ct).unwrap(), plaintext);
                let found = slots.decode::<i64>(world.decryptor.decrypt_message(&ct).unwrap()).unwrap();
                for (found, row) in found.iter().zip(rows) {
                    assert_eq!(found[..row.len()], *row, "t = {t}");
                    assert!(found[row.len()..].iter().all(|&x| x == 0));
                }
            }
        }
    });
}

/// Signed slots, and vectors shorter than the ring.
#[test]
fn short_signed_vectors() {
    for_seeds(2, |rng| {
        let world = World::<Bfv>::new(insecure(4, &[40, 40], &[41], 65537), rng);
        let values: Vec<i64> = (0..5).map(|_| rng.random_range(-32768..=32768)).collect();
        let plaintext = world.ev.encoder().encode(&values).unwrap();
        let back = world.ev.encoder().decode::<i64>(&plaintext).unwrap();
        assert_eq!(back[0][..5], values);
        assert_eq!(back[0][5..], [0; 11]);
        let rows: [&[i64]; 2] = [&values, &values[..2]];
        let batch = world.ev.encoder().encode_batch(&rows).unwrap();
        assert_eq!((batch.batch(), batch.coefficients().len()), (2, 32));
    });
}

#[test]
fn bfv_round_trips() {
    for_seeds(1, round_trips::<Bfv>);
}

#[test]
fn bgv_round_trips() {
    for_seeds(1, round_trips::<Bgv>);
}

#[test]
fn bfv_linear() {
    for_seeds(1, linear::<Bfv>);
}

#[test]
fn bgv_linear() {
    for_seeds(1, linear::<Bgv>);
}

#[test]
fn bfv_products() {
    for_seeds(1, products::<Bfv>);
}

#[test]
fn bgv_products() {
    for_seeds(1, products::<Bgv>);
}

#[test]
fn bfv_slots() {
    for_seeds(2, slots::<Bfv>);
}

#[test]
fn bgv_slots() {
    for_seeds(2, slots::<Bgv>);
}
