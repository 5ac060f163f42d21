//! BFV beside fhe's with the same degree, the same primes of the ciphertext and the same t. Ours
//! switches keys through a special prime; the peer has none: its keys are over the ciphertext's
//! primes, with one digit per prime.

use fhe::bfv as peer;
use fhe_traits::{FheDecoder, FheDecrypter, FheEncoder, FheEncrypter};
use he_core::backend::Cpu;
use he_core::bfv::Bfv;
use he_core::exact::{Ciphertext, Decryptor, Encryptor, Evaluator, ExactSpec, Params};
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, SecretKey};
use he_peers::{heading, pair, version};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};
use rand_09::{SeedableRng as _, rngs::StdRng};

const T: u64 = 65537;
const OURS: &str = "the CPU does not fail";
const PEER: &str = "the peer does not fail";

/// SEAL's default chains: log2 of the degree, widths of the primes, of the special one.
const CHAINS: [(u32, &[u32], u32); 2] =
    [(13, &[43, 43, 44, 44], 44), (14, &[48, 48, 48, 49, 49, 49, 49, 49], 49)];

/// Encryption with the public key, decryption, sum, product with relinearisation, rotation of the
/// slots by one.
pub fn table() {
    heading(&version("fhe"));
    for (log_n, q_bits, p_bits) in CHAINS {
        chain(log_n, q_bits, p_bits);
    }
}

fn chain(log_n: u32, q_bits: &[u32], p_bits: u32) {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let spec = ExactSpec::from_bits(log_n, q_bits, &[p_bits], T).expect("primes exist");
    // SEAL's chains exceed the table of 2024 by a few bits.
    let params = Params::<Bfv>::insecure(spec).expect("a valid chain");
    let spec = params.rlwe().ring();
    let ring = Ring::new(Cpu::new(), spec.clone()).expect(OURS);
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let public = PublicKey::generate(&secret, &ring, &mut rng).expect(OURS);
    let keys = EvaluationKeys::generate(
        &secret,
        &ring,
        KeyRequirements::new().relinearisation().rotations([1]),
        &mut rng,
    )
    .expect(OURS);
    let ev = Evaluator::new(&params, &ring).expect(OURS);
    let encryptor = Encryptor::new(&params, &public).expect(OURS);
    let decryptor = Decryptor::new(&params, &secret, &ring).expect(OURS);

    let mut peer_rng = StdRng::seed_from_u64(1);
    let peer_params = peer::BfvParametersBuilder::new()
        .set_degree(1 << log_n)
        .set_plaintext_modulus(T)
        .set_moduli(spec.q())
        .build_arc()
        .expect(PEER);
    let peer_secret = peer::SecretKey::random(&peer_params, &mut peer_rng);
    let peer_public = peer::PublicKey::new(&peer_secret, &mut peer_rng);
    let relinearization = peer::RelinearizationKey::new(&peer_secret, &mut peer_rng).expect(PEER);
    let product = peer::Multiplicator::default(&relinearization).expect(PEER);
    let mut rotation = peer::EvaluationKeyBuilder::new(&peer_secret).expect(PEER);
    let rotation = rotation.enable_column_rotation(1).and_then(|keys| keys.build(&mut peer_rng)).expect(PEER);

    let values = [0, 1].map(|_| (0..1 << log_n).map(|_| rng.random_range(0..T)).collect::<Vec<u64>>());
    let plain = values.each_ref().map(|x| ev.encoder().encode(x).expect("residues"));
    let peer_plain = values
        .each_ref()
        .map(|x| peer::Plaintext::try_encode(x, peer::Encoding::simd(), &peer_params).expect("residues"));
    let [x, y] = plain.each_ref().map(|plain| encryptor.encrypt(plain, &mut rng).expect(OURS));
    let [peer_x, peer_y] = peer_plain
        .each_ref()
        .map(|plain| -> peer::Ciphertext { peer_public.try_encrypt(plain, &mut peer_rng).expect(PEER) });

    // The plaintext to which both decrypt.
    let check = |ours: Ciphertext<Bfv, Cpu>, theirs: peer::Ciphertext, expected: &dyn Fn(usize) -> u64| {
        let expected: Vec<u64> = (0..1 << log_n).map(expected).collect();
        let slots = ev.encoder().decode::<u64>(&decryptor.decrypt(&ours).expect(OURS)).expect("slots");
        assert!(slots[0] == expected, "ours differs");
        let slots = peer_secret.try_decrypt(&theirs).expect(PEER);
        let slots = Vec::<u64>::try_decode(&slots, peer::Encoding::simd()).expect("slots");
        assert!(slots == expected, "the peer's differs");
    };
    let [a, b] = &values;
    let half = 1 << (log_n - 1);
    let next = |i: usize| (i & half) | ((i + 1) & (half - 1));
    check(ev.add(&x, &y).expect(OURS), &peer_x + &peer_y, &|i| (a[i] + b[i]) % T);
    check(ev.mul(&x, &y, &keys).expect(OURS), product.multiply(&peer_x, &peer_y).expect(PEER), &|i| {
        a[i] * b[i] % T
    });
    check(ev.rotate(&x, 1, &keys).expect(OURS), rotation.rotates_columns_by(&peer_x, 1).expect(PEER), &|i| {
        a[next(i)]
    });

    let name = |job: &str| format!("BFV {job}, N = 2^{log_n}, {} primes", q_bits.len());
    pair(
        name("encrypt"),
        || encryptor.encrypt(&plain[0], &mut rng),
        || -> fhe::Result<peer::Ciphertext> { peer_public.try_encrypt(&peer_plain[0], &mut peer_rng) },
    );
    pair(name("decrypt"), || decryptor.decrypt(&x), || peer_secret.try_decrypt(&peer_x));
    pair(name("add"), || ev.add(&x, &y), || &peer_x + &peer_y);
    pair(name("mul+relin"), || ev.mul(&x, &y, &keys), || product.multiply(&peer_x, &peer_y));
    pair(name("rotate"), || ev.rotate(&x, 1, &keys), || rotation.rotates_columns_by(&peer_x, 1));
}
