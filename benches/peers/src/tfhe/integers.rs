//! Digits of two bits with two bits for carries, failures below 2^-128: a lookup and integers, on
//! fresh ciphertexts.

use super::{OURS, keys};
use he_core::backend::Cpu;
use he_core::tfhe::{Bootstrapper, Carry, IntegerEvaluator, LookupTables, presets};
use he_peers::{heading, pair, version};
use num_bigint::BigUint;
use tfhe::prelude::*;
use tfhe::shortint::parameters::PARAM_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M128;
use tfhe::{ConfigBuilder, FheUint32, FheUint64, generate_keys, set_server_key, shortint};

/// The operands: those of 32 bits are their upper halves.
const X: u64 = 0x0123_4567_89ab_cdef;
const Y: u64 = 0xfedc_ba98_7654_3210;

/// `digits_2m128` beside the peer's default, which has n = 918 for our 852, a key switch of 4
/// digits for our 5, and the same N = 2048.
pub fn table() {
    heading(&version("tfhe"));
    let params = presets::digits_2m128().expect("a preset");
    let peer_params = PARAM_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M128;
    let cpu = Cpu::new();
    let (secret, key, mut rng) = keys(&params);

    let boot = Bootstrapper::new(&cpu, &key).expect(OURS);
    // m to 3 m modulo 16, as torus words of five bits with one of padding.
    let table = (0..16).map(|m| (3 * m % 16) << 59).collect();
    let tables = LookupTables::new(&cpu, &params, &[table]).expect(OURS);
    let x = secret.encrypt(&cpu, &[3 << 59], &mut rng).expect(OURS);
    let (client, server) = shortint::gen_keys(peer_params);
    let table = server.generate_lookup_table(|m| 3 * m % 16);
    let peer_x = client.encrypt(3);
    let out = secret.phases(&boot.bootstrap(&x, &tables, &[0]).expect(OURS)).expect(OURS);
    assert_eq!(out[0].wrapping_add(1 << 58) >> 59, 9);
    assert_eq!(client.decrypt_message_and_carry(&server.apply_lookup_table(&peer_x, &table)), 9);
    pair(
        "lookup of 4 bits",
        || boot.bootstrap(&x, &tables, &[0]),
        || server.apply_lookup_table(&peer_x, &table),
    );

    let ev = IntegerEvaluator::new(&cpu, &key, Carry::Ripple).expect(OURS);
    let (client, server) = generate_keys(ConfigBuilder::with_custom_parameters(peer_params));
    set_server_key(server);
    macro_rules! integers {
        ($bits:literal, $uint:ty, $peer:ty) => {
            let values = [X, Y].map(|x| (x >> (64 - $bits)) as $uint);
            let [x, y] = values.map(|x| {
                secret.encrypt_uint(&cpu, &[BigUint::from(x)], $bits, &mut rng).expect("values that fit")
            });
            let [peer_x, peer_y] = values.map(|x| <$peer>::encrypt(x, &client));
            let sum = values[0].wrapping_add(values[1]);
            let ours = secret.decrypt_uint(&ev.add(&x, &y).expect(OURS)).expect(OURS);
            let peer: $uint = (&peer_x + &peer_y).decrypt(&client);
            assert_eq!((&ours[0], peer), (&BigUint::from(sum), sum));
            let ours = secret.decrypt_flags(&ev.lt(&x, &y).expect(OURS)).expect(OURS);
            assert_eq!((ours[0], peer_x.lt(&peer_y).decrypt(&client)), (true, true));
            let product = values[0].wrapping_mul(values[1]);
            let ours = secret.decrypt_uint(&ev.mul(&x, &y).expect(OURS)).expect(OURS);
            let peer: $uint = (&peer_x * &peer_y).decrypt(&client);
            assert_eq!((&ours[0], peer), (&BigUint::from(product), product));
            pair(concat!("Uint", $bits, " mul"), || ev.mul(&x, &y), || &peer_x * &peer_y);
            pair(concat!("Uint", $bits, " add"), || ev.add(&x, &y), || &peer_x + &peer_y);
            pair(concat!("Uint", $bits, " less-than"), || ev.lt(&x, &y), || peer_x.lt(&peer_y));
        };
    }
    integers!(32, u32, FheUint32);
    integers!(64, u64, FheUint64);

    // One width suffices: a quotient takes a peer many seconds.
    let [x, y] = [X >> 32, Y >> 48].map(|x| BigUint::from(x));
    let [a, b] = [&x, &y]
        .map(|x| secret.encrypt_uint(&cpu, std::slice::from_ref(x), 32, &mut rng).expect("values that fit"));
    let [peer_a, peer_b] = [X >> 32, Y >> 48].map(|x| FheUint32::encrypt(x as u32, &client));
    let quotient: u32 = (&peer_a / &peer_b).decrypt(&client);
    let ours = secret.decrypt_uint(&ev.div(&a, &b).expect(OURS)).expect(OURS);
    assert_eq!((&ours[0], BigUint::from(quotient)), (&(&x / &y), &x / &y));
    pair("Uint32 div", || ev.div(&a, &b), || &peer_a / &peer_b);
}
