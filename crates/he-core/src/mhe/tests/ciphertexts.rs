//! Decryptions, switches and refreshes: messages stay, and floods are as wide as stated.

use super::*;
use crate::bfv::Bfv;
use crate::bgv::Bgv;
use crate::ckks;
use crate::exact;
use crate::rlwe::Floods;

fn column(slots: usize) -> Vec<f64> {
    (0..slots).map(|i| (i as f64 * 0.37).sin()).collect()
}

#[track_caller]
fn close(found: &[Vec<f64>], expected: &[f64]) {
    let off = found[0].iter().zip(expected).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    assert!(off < 1e-2, "{off}");
}

/// The result of a decryption holds three uniform floods beside the noise.
#[test]
fn floods_are_as_wide_as_stated() {
    let mut rng = seeded(11);
    let params = ckks(9).for_parties(3);
    let world = World::new(Cpu::new(), params.rlwe(), &[1, 2, 3], 3, &mut rng);
    let encryptor_key = world.public_key(&mut rng);
    let encryptor = ckks::Encryptor::new(&params, &encryptor_key).unwrap();
    let x = encryptor.encrypt_real(&column(params.slots()), &mut rng).unwrap();
    let floods = Floods { count: 3, parties: 3 };
    let bits = f64::from(x.flood_bits(flooding(), floods).unwrap());
    let secret = world.secret(Span::chain(x.pair().chain_limbs()));
    let phase = x.pair().message(&secret).unwrap();
    let plain = world.decrypt(&params, &x, &mut rng);
    let mut flood = plain.poly().duplicate().unwrap();
    flood.sub_assign(&phase).unwrap();
    let flood = integers(flood.into_coeff().unwrap());
    // Three times 4^b / 3; the mean of 512 squares is within 25 %.
    let found = rms(&flood) / bits.exp2();
    assert!((0.87..1.13).contains(&found), "{found}");
    assert!(flood.iter().all(|x| x.bits() as f64 <= bits + 2.0));
    // And each of them is what a decryption that one party publishes would add.
    let noise = x.noise().unwrap().rms_log2;
    let least = f64::from(SECURITY) + (DECRYPTIONS as f64).log2() + 9.0 + noise + 2.0;
    assert!(bits >= least && bits < least + 1.0, "{bits} and {least}");
}

#[test]
fn ckks_ciphertexts_switch_and_refresh() {
    let mut rng = seeded(12);
    let params = ckks(9).for_parties(3);
    let world = World::new(Cpu::new(), params.rlwe(), &[1, 2, 3], 3, &mut rng);
    let public = world.public_key(&mut rng);
    let encoder = ckks::Encoder::new(&params, &world.ring).unwrap();
    let encryptor = ckks::Encryptor::new(&params, &public).unwrap();
    let ev = ckks::Evaluator::new(&params, &world.ring).unwrap();
    let values = column(params.slots());
    let x = encryptor.encrypt_real(&values, &mut rng).unwrap();
    let all = world.session.parties();

    let receiver = outsider(params.rlwe(), &mut rng);
    let to = PublicKey::generate(&receiver, &world.ring, &mut rng).unwrap();
    let switching =
        PublicKeySwitching::new(&unchecked(&world.session), &to, &params, &x, all, flooding()).unwrap();
    let y = world.run(&switching, |key| {
        switching.share(&key.share(&world.ring).unwrap(), &[], &mut publisher(), &mut rng).unwrap()
    });
    assert_eq!(y.key_set(), Some(receiver.key_set()));
    let decryptor = ckks::Decryptor::new(&params, &receiver, &world.ring).unwrap();
    close(&encoder.decode_real(&decryptor.decrypt(&y).unwrap()).unwrap(), &values);

    let session = Session::new(params.rlwe(), [1, 2, 3], 3, [7; 32]).unwrap();
    let other = World::on(session, world.ring.clone(), &mut rng);
    let switching =
        KeySwitching::new(&unchecked(&world.session), &other.session, &params, &x, all, flooding()).unwrap();
    let mut theirs = other.keys.iter();
    let y = world.run(&switching, |key| {
        let [from, to] = [key, theirs.next().unwrap()].map(|key| key.share(&world.ring).unwrap());
        switching.share(&from, &to, &[], &mut publisher(), &mut rng).unwrap()
    });
    assert_eq!(y.key_set(), Some(other.session.key_set()));
    // A decryption would flood the floods in turn.
    close(&encoder.decode_real(&other.without_floods(&params, &y)).unwrap(), &values);

    // From the lowest level to the highest, where there are products again.
    let low = ev.mod_switch_to(&x, 0).unwrap();
    let refresh = Refresh::new(&unchecked(&world.session), &params, &low, all, flooding(), 0).unwrap();
    let y = world.run(&refresh, |key| {
        refresh.share(&key.share(&world.ring).unwrap(), &[], &mut publisher(), &mut rng).unwrap()
    });
    assert_eq!((y.level(), y.scale(), y.key_set()), (params.max_level(), low.scale(), x.key_set()));
    close(&encoder.decode_real(&world.decrypt(&params, &y, &mut rng)).unwrap(), &values);
    let keys = world.evaluation_keys(&[], &mut rng);
    let square = ev.square(&y, &keys).unwrap();
    let squares: Vec<f64> = values.iter().map(|x| x * x).collect();
    close(&encoder.decode_real(&world.without_floods(&params, &square)).unwrap(), &squares);
    // The noise is that of the old ciphertext and three errors.
    let secret = world.secret(Span::chain(params.rlwe().ring().q().len()));
    let message = low.pair().message(&secret).unwrap();
    let mut phase = y.pair().message(&secret).unwrap();
    phase.truncate_chain(low.pair().chain_limbs()).unwrap();
    phase.sub_assign(&message).unwrap();
    let e = rms(&integers(phase.into_coeff().unwrap())).powi(2);
    assert!((0.7..1.3).contains(&(e / 31.5)), "{e}");
}

fn switches_and_refreshes<S: Scheme>() {
    let mut rng = seeded(13);
    let params = exact::<S>(9).for_parties(3);
    let world = World::new(Cpu::new(), params.rlwe(), &[1, 2, 3], 3, &mut rng);
    let public = world.public_key(&mut rng);
    let encoder = exact::Encoder::new(&params).unwrap();
    let encryptor = exact::Encryptor::new(&params, &public).unwrap();
    let ev = exact::Evaluator::new(&params, &world.ring).unwrap();
    let t = params.plain().value();
    let values: Vec<u64> = (0..512).map(|_| rng.random_range(0..t)).collect();
    let x = encryptor.encrypt_slots(&values, &mut rng).unwrap();
    let all = world.session.parties();

    let receiver = outsider(params.rlwe(), &mut rng);
    let to = PublicKey::generate(&receiver, &world.ring, &mut rng).unwrap();
    let switching =
        PublicKeySwitching::new(&unchecked(&world.session), &to, &params, &x, all, flooding()).unwrap();
    let y = world.run(&switching, |key| {
        switching.share(&key.share(&world.ring).unwrap(), &[], &mut publisher(), &mut rng).unwrap()
    });
    let decryptor = exact::Decryptor::new(&params, &receiver, &world.ring).unwrap();
    assert_eq!(decryptor.decrypt_slots::<u64>(&y).unwrap(), values);
    // The stated budget is not more than what is left.
    assert!(decryptor.noise_budget(&y).unwrap()[0] >= y.predicted_budget(&params) - 0.1);

    // At two primes, where a flood still fits.
    let low = ev.mod_switch_to(&x, 1).unwrap();
    let refresh = Refresh::new(&unchecked(&world.session), &params, &low, all, flooding(), 3).unwrap();
    let y = world.run(&refresh, |key| {
        refresh.share(&key.share(&world.ring).unwrap(), &[], &mut publisher(), &mut rng).unwrap()
    });
    assert_eq!(y.level(), params.max_level());
    let plain = world.decrypt(&params, &y, &mut rng);
    assert_eq!(encoder.decode::<u64>(&plain).unwrap().concat(), values);
    let secret = world.secret(Span::chain(params.max_level() + 1));
    let message = plain.phase(&params, &world.ring, y.meta.primes, y.correction_factor()).unwrap();
    let e = rms(&noise(y.pair(), &secret, Some(&message))).log2();
    assert!(e < y.noise().rms_log2 && e > y.noise().rms_log2 - 3.0, "{e}, {:?} stated", y.noise());
}

#[test]
fn bfv_ciphertexts_switch_and_refresh() {
    switches_and_refreshes::<Bfv>();
}

#[test]
fn bgv_ciphertexts_switch_and_refresh() {
    switches_and_refreshes::<Bgv>();
}

/// The words that a refresh makes public are uniform whatever the message is.
#[test]
fn masked_messages_are_uniform() {
    let mut rng = seeded(14);
    let params = exact::<Bfv>(9).for_parties(2);
    let world = World::new(Cpu::new(), params.rlwe(), &[1, 2], 2, &mut rng);
    let public = world.public_key(&mut rng);
    let encryptor = exact::Encryptor::new(&params, &public).unwrap();
    let t = params.plain().value();
    let mut bins = [0f64; 16];
    for number in 0..32 {
        let x = encryptor.encrypt_slots(&[5u64; 512], &mut rng).unwrap();
        let refresh =
            Refresh::new(&unchecked(&world.session), &params, &x, &[1, 2], flooding(), number).unwrap();
        let mut sum = Poly::zeros(&world.ring, Span::chain(6), 1).unwrap();
        for key in &world.keys {
            let share =
                refresh.share(&key.share(&world.ring).unwrap(), &[], &mut publisher(), &mut rng).unwrap();
            sum.add_assign(&share.polys()[0]).unwrap();
        }
        sum.add_assign(x.pair().parts()[0]).unwrap();
        // The part of it that everybody can decode.
        let zero = Poly::zeros(&world.ring, Span::chain(6), 1).unwrap();
        let open = exact::Ciphertext::<Bfv>::with_meta(RlweCiphertext::new(sum, zero).unwrap(), x.meta);
        let anybody = outsider(params.rlwe(), &mut rng);
        let decryptor = exact::Decryptor::new(&params, &anybody, &world.ring).unwrap();
        for &c in decryptor.decrypt(&open).unwrap().coefficients() {
            bins[(c * 16 / t) as usize] += 1.0;
        }
    }
    let mean = 32.0 * 512.0 / 16.0;
    let chi: f64 = bins.iter().map(|bin| (bin - mean).powi(2) / mean).sum();
    assert!((chi - 15.0).abs() < 6.0 * 30f64.sqrt(), "{chi}");
}
