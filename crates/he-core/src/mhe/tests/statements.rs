//! Statements of ciphertexts about their noise are a server's word: they narrow no flood, and
//! shares of different statements do not fit each other.

use super::*;
use crate::bfv::Bfv;
use crate::bgv::Bgv;
use crate::ckks;
use crate::error::Error;
use crate::exact::{Ciphertext, DECRYPTION_MARGIN, Encryptor, Evaluator, Noise};
use crate::rlwe::{Flooded, Floods};
use crate::wire::{Frame, Wire, WireError, WireScheme};
use num_traits::Signed;

/// The bytes of the root mean square, the greatest coefficient and the degree in a frame.
const NOISE: std::ops::Range<usize> = 14..32;

/// A frame that states other noise.
fn stating(frame: &Frame, noise: Noise) -> Frame {
    let mut body = frame.body.clone();
    let [rms, peak] = [noise.rms_log2, noise.peak_log2].map(f64::to_le_bytes);
    body[NOISE].copy_from_slice(&[&rms[..], &peak, &(noise.degree as u16).to_le_bytes()].concat());
    Frame { kind: frame.kind, fingerprint: frame.fingerprint, body }
}

/// The least integer that is not below a positive number.
fn ceil(x: f64) -> u32 {
    let below = x as u32;
    below + u32::from(x > f64::from(below))
}

/// The least noise that can be stated.
const LEAST: Noise = Noise { rms_log2: -1.0, peak_log2: -1.0, degree: 0 };

fn noise_is_bounded<S: WireScheme>() {
    let mut rng = seeded(61);
    let params = exact::<S>(5);
    let world = World::new(Cpu::new(), params.rlwe(), &[1, 2], 2, &mut rng);
    let public = world.public_key(&mut rng);
    let x = Encryptor::<S, _>::new(&params, &public).unwrap();
    let plain = Evaluator::new(&params, &world.ring).unwrap().encoder().encode_coefficients(&[7u64]).unwrap();
    let x = x.encrypt(&plain, &mut rng).unwrap();
    let frame = x.to_frame(&params).unwrap();
    let most = params.noise().log_q(6);
    let read = |noise| Ciphertext::<S>::from_frame(&params, &world.ring, &stating(&frame, noise));
    let made = |noise| Ciphertext::<S>::from_parts(&params, x.pair().duplicate().unwrap(), 1, noise);
    let of = |rms_log2, peak_log2| Noise { rms_log2, peak_log2, degree: 1 };
    for noise in [LEAST, x.noise(), of(8.0, 8.0), of(most, most)] {
        assert_eq!(read(noise).unwrap().noise(), noise);
        assert!(made(noise).is_ok());
    }
    for noise in [
        of(-1.001, 3.0),
        of(-300.0, -300.0),
        of(9.0, 8.9),
        of(3.0, most + 0.001),
        of(3.0, 1e300),
        of(f64::NEG_INFINITY, 3.0),
        of(3.0, f64::INFINITY),
        of(f64::NAN, 3.0),
        of(3.0, f64::NAN),
        Noise { degree: 4097, ..x.noise() },
    ] {
        let error = read(noise).unwrap_err();
        assert!(matches!(error, Error::Wire(WireError::Field { .. })), "{noise:?}: {error}");
        let error = made(noise).unwrap_err();
        assert!(matches!(error, Error::Argument { what: "noise", .. }), "{noise:?}: {error}");
        assert!(params.state(0, 1, noise).is_err());
    }
}

#[test]
fn stated_noise_is_bounded() {
    noise_is_bounded::<Bfv>();
    noise_is_bounded::<Bgv>();
}

/// The coefficients of the secret for which h - s c1 is `flood`, over one prime.
fn solved(h: &Poly<Eval>, c1: &Poly<Eval>, flood: &[BigInt]) -> Vec<BigInt> {
    let (ring, q) = (h.ring(), h.ring().spec().q_moduli()[0]);
    let floods: Vec<i64> =
        flood.iter().map(|f| i64::try_from(((f % q.value()) + q.value()) % q.value()).unwrap()).collect();
    let span = Span::chain(1);
    let mut rest = h.duplicate_chain(1).unwrap();
    let floods: Poly<Coeff> = Poly::from_signed(ring, span, 1, &floods).unwrap();
    rest.sub_assign(&floods.into_eval().unwrap()).unwrap();
    let c1 = c1.duplicate_chain(1).unwrap().to_words().unwrap();
    let quotient: Vec<u64> =
        rest.to_words().unwrap().iter().zip(&c1).map(|(&rest, &c)| q.mul(rest, q.inv(c))).collect();
    integers(Poly::<Eval>::from_words(ring, span, 1, &quotient).unwrap().into_coeff().unwrap())
}

/// The attack on floods that are as narrow as a file says: x and 3 x as a server computes them,
/// stated to have the least noise. The shares h and h' of a party have floods f and f' with
/// 3 h - h' = 3 f - f', of which a third is f where floods are narrow, and h - f = s c1 is the
/// secret.
fn files_narrow_no_flood<S: WireScheme>() {
    let mut rng = seeded(62);
    let params = exact::<S>(8).for_parties(3);
    let world = World::new(Cpu::new(), params.rlwe(), &[1, 2, 3], 3, &mut rng);
    let public = world.public_key(&mut rng);
    let ev = Evaluator::<S, _>::new(&params, &world.ring).unwrap();
    let plain = ev.encoder().encode_coefficients(&[5u64, 11]).unwrap();
    let x = Encryptor::<S, _>::new(&params, &public).unwrap().encrypt(&plain, &mut rng).unwrap();
    let honest = [x.duplicate().unwrap(), ev.mul_scalar(&x, 3).unwrap()];
    let stated = honest.each_ref().map(|ct| {
        let frame = stating(&ct.to_frame(&params).unwrap(), LEAST);
        let mut read = Ciphertext::<S>::from_frame(&params, &world.ring, &frame).unwrap();
        read.set_key_set(ct.key_set());
        read
    });
    let (session, all) = (&unchecked(&world.session), [1, 2, 3]);
    let new = |ct| Decryption::new(session, &params, ct, &all, flooding()).unwrap();
    let runs = stated.each_ref().map(new);
    // Three floods of 2^b take half of Q / 4t, to a bit, whatever is stated.
    let room = params.noise().log_q(6) - 3.0 - params.noise().t_log2();
    let width = f64::from(runs[0].flood_bits()) + 3f64.log2();
    assert!((room - 1.0..=room).contains(&width), "{width} of {room}");
    let widths = [&honest[0], &honest[1]].map(|ct| new(ct).flood_bits());
    assert_eq!([widths[0], widths[1]], runs.each_ref().map(Decryption::flood_bits));

    let key = world.keys[1].share(&world.ring).unwrap();
    let shares =
        runs.each_ref().map(|run| run.share(&key, &[], &mut publisher(), &mut rng).unwrap().polys.remove(0));
    let [c1, thrice] = stated.each_ref().map(|ct| ct.pair().parts()[1].duplicate().unwrap());
    let mut check = c1.duplicate().unwrap();
    check.scale_assign(&[3; 6]).unwrap();
    assert!(check.to_words().unwrap() == thrice.to_words().unwrap(), "3 x has three times the c1 of x");
    let mut difference = shares[0].duplicate().unwrap();
    difference.scale_assign(&[3; 6]).unwrap();
    difference.sub_assign(&shares[1]).unwrap();
    let rounded = |f: BigInt| (f.clone() + f.signum()) / 3;
    let guess: Vec<BigInt> = integers(difference.into_coeff().unwrap()).into_iter().map(rounded).collect();
    let secret: Vec<BigInt> =
        world.keys[1].secret().expose_coefficients().iter().map(|&c| BigInt::from(c)).collect();
    // With the floods themselves, which nobody else has, the same steps find the secret.
    let mut own = c1.duplicate().unwrap();
    own.mul_assign(key.secret.get()).unwrap();
    let mut flood = shares[0].duplicate().unwrap();
    flood.sub_assign(&own).unwrap();
    let flood = integers(flood.into_coeff().unwrap());
    assert!(solved(&shares[0], &c1, &flood) == secret);
    let found = solved(&shares[0], &c1, &guess);
    let hits = found.iter().zip(&secret).filter(|(a, b)| a == b).count();
    assert!(hits < 8, "{hits} of 256 coefficients");
    // The rest of the flood is as wide as a third of it: nothing of its lower bits is known.
    let left: Vec<BigInt> = flood.iter().zip(&guess).map(|(f, guess)| f - guess).collect();
    assert!(rms(&left).log2() > f64::from(runs[0].flood_bits()) - 4.0);

    // Three floods on top, the result is right.
    let found = ev.encoder().decode_coefficients::<u64>(&world.decrypt(&params, &stated[1], &mut rng));
    assert_eq!(found.unwrap()[0][..3], [15, 33, 0]);

    // Shares for the honest statement do not fit those for the false one.
    let run = new(&honest[0]);
    let mut sum = Aggregate::new(&run);
    let error = sum.add(&runs[0].share(&key, &[], &mut publisher(), &mut rng).unwrap()).unwrap_err();
    assert!(matches!(error, Error::Mhe(MheError::WrongSubject { party: 2, .. })), "{error}");
    sum.add(&run.share(&key, &[], &mut publisher(), &mut rng).unwrap()).unwrap();
}

#[test]
fn files_narrow_no_flood_of_bfv() {
    files_narrow_no_flood::<Bfv>();
}

#[test]
fn files_narrow_no_flood_of_bgv() {
    files_narrow_no_flood::<Bgv>();
}

/// Switches leave half of the bits to the result, by the level alone; where that is too little,
/// floods are as wide as those of a decryption. The stated noise can only widen them.
#[test]
fn floods_of_switches_follow_from_the_level() {
    let params = exact::<Bfv>(8).for_parties(3);
    let (model, floods) = (params.noise(), Floods { count: 3, parties: 3 });
    let bits = |noise, primes, becomes| params.flood((noise, primes), flooding(), floods, becomes);
    let (n, fresh) = (256f64, model.public().rms_log2);
    let needed =
        |noise: f64| ceil(f64::from(SECURITY) + (DECRYPTIONS as f64).log2() + n.log2() + noise + 2.0);
    for primes in 1..=6 {
        let room = model.log_q(primes) - 1.0 - model.t_log2() - DECRYPTION_MARGIN;
        let widest = bits(LEAST, primes, Flooded::Plaintext).unwrap();
        let switch = bits(LEAST, primes, Flooded::Ciphertext).unwrap();
        let loud = Noise { rms_log2: room / 2.0, peak_log2: room / 2.0 + 3.0, degree: 1 };
        let of_loud = bits(loud, primes, Flooded::Ciphertext);
        assert_eq!(widest, (room - 1.0 - 3f64.log2()) as u32);
        assert!(switch >= needed(fresh), "{switch} bits over {primes} primes");
        let middle = ((room + fresh) / 2.0) as u32;
        assert_eq!(switch, if middle >= needed(fresh) { middle } else { widest }, "{primes} primes");
        if primes == 1 {
            assert!(middle < needed(fresh) && matches!(of_loud, Err(Error::FloodTooWide { .. })));
        } else if primes == 6 {
            assert_eq!((switch, of_loud.unwrap()), (middle, needed(loud.rms_log2)));
            // And the result's own decryption still has room for floods in turn.
            let after = LEAST.flooded(f64::from(switch) + 3f64.log2());
            assert_eq!(bits(after, primes, Flooded::Plaintext).unwrap(), widest);
        }
    }
}

/// In CKKS, whose floods cost precision, an estimate counts as that of a fresh encryption under the
/// parties' keys at least; masks are as wide as the level allows; and estimates are in the hash.
#[test]
fn estimates_narrow_no_flood_below_fresh_noise() {
    let mut rng = seeded(63);
    let params = ckks(5).for_parties(3);
    let world = World::new(Cpu::new(), params.rlwe(), &[1, 2, 3], 3, &mut rng);
    let public = world.public_key(&mut rng);
    let x = ckks::Encryptor::new(&params, &public).unwrap().encrypt_real(&[0.5], &mut rng).unwrap();
    let session = &unchecked(&world.session);
    let honest = x.noise().unwrap();
    let claiming = |noise| {
        let mut ct = x.duplicate().unwrap();
        ct.set_noise(Some(noise));
        ct
    };
    let least = f64::NEG_INFINITY;
    let quiet = claiming(ckks::NoiseEstimate { rms_log2: least, peak_log2: least, value_log2: least });
    fn new<'a>(
        session: &Transcript,
        params: &'a CkksParams,
        ct: &'a ckks::Ciphertext,
    ) -> Result<Decryption<'a, ckks::Ciphertext>> {
        Decryption::new(session, params, ct, &[1, 2, 3], flooding())
    }
    let bits = |ct: &ckks::Ciphertext| new(session, &params, ct).map(|run| run.flood_bits());
    let run = new(session, &params, &x).unwrap();
    let fresh = (10.5 * (1.0 + 3.0 * 4.0 * 32.0 / 3.0f64)).log2() / 2.0;
    let needed = f64::from(SECURITY) + (DECRYPTIONS as f64).log2() + 5.0 + fresh + 2.0;
    assert_eq!(bits(&quiet).unwrap(), ceil(needed));
    assert!(run.flood_bits() >= bits(&quiet).unwrap());
    let floods = Floods { count: 3, parties: 3 };
    let log_q: f64 = world.ring.spec().q().iter().map(|&q| (q as f64).log2()).sum();
    for ct in [&x, &quiet] {
        assert_eq!(ct.mask_bits(flooding(), floods).unwrap(), (log_q - 2.0 - 3f64.log2()) as u32);
    }
    for number in [f64::NAN, f64::INFINITY] {
        let unknown = claiming(ckks::NoiseEstimate { rms_log2: number, ..honest });
        assert!(matches!(bits(&unknown), Err(Error::NoiseUnknown)));
        let wide = claiming(ckks::NoiseEstimate { value_log2: number, ..honest });
        assert!(matches!(bits(&wide), Err(Error::FloodTooWide { .. })));
        let peaked = claiming(ckks::NoiseEstimate { peak_log2: number, ..honest });
        assert!(matches!(bits(&peaked), Err(Error::FloodTooWide { .. })));
    }
    // A little more or less in any of the three numbers is another run.
    let key = world.keys[0].share(&world.ring).unwrap();
    let mut sum = Aggregate::new(&run);
    for other in [
        ckks::NoiseEstimate { rms_log2: honest.rms_log2 - 1e-4, ..honest },
        ckks::NoiseEstimate { peak_log2: honest.peak_log2 + 1e-4, ..honest },
        ckks::NoiseEstimate { value_log2: honest.value_log2 + 1.0, ..honest },
    ] {
        let other = claiming(other);
        let share =
            new(session, &params, &other).unwrap().share(&key, &[], &mut publisher(), &mut rng).unwrap();
        let error = sum.add(&share).unwrap_err();
        assert!(matches!(error, Error::Mhe(MheError::WrongSubject { party: 1, .. })), "{error}");
    }
    sum.add(&run.share(&key, &[], &mut publisher(), &mut rng).unwrap()).unwrap();
}
