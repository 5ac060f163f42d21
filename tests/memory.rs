//! Searches the memory of a process for remains of secrets: seeds, keys, phases and messages, in
//! everything that the process can write, through /proc/self/mem.
//!
//! Each scenario runs in processes of its own. The first computes what to search for and prints it
//! inverted, so that the second, which does the work and searches, never holds a copy that the
//! library did not make.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used)]

use he::aes::{self, Bulk, BulkCipher, Direction, Key, KeySchedule, XtsKey};
use he::backend::Cpu;
use he::bfv::Bfv;
use he::bgv::Bgv;
use he::bigckks::{self, BigCkksParams, BigCkksSpec};
use he::bootstrapping::{BootstrapKeys, BootstrapParams, BootstrapSpec, EvalModShape, LevelRun};
use he::ckks::{self, CkksParams, CkksSpec};
use he::exact::{self, ExactSpec, Scheme};
use he::ring::{Ring, Seed};
use he::rlwe::{EvaluationKeys, Flooding, KeyRequirements, PublicKey, RlweParams, SecretKey};
use he::tfhe::{BootstrapKey, TfheSecretKey, presets};
use he::wire::{FrameReader, FrameWriter};
use he::wire::{Wire, WireParams};
use num_bigint::BigUint;
use rand::{Rng, TryCryptoRng, TryRng};
use std::hint::black_box;
use std::io::{Read, Seek, SeekFrom, Write};
use std::process::{Command, Stdio};
use zeroize::{Zeroize, Zeroizing};

/// A generator that keeps no output: bytes are computed where they are requested (splitmix64; not
/// for secrets that matter).
struct Plain(u64);

impl TryRng for Plain {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok(self.try_next_u64()? as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Ok(z ^ (z >> 31))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        for chunk in bytes.chunks_mut(8) {
            let word = self.try_next_u64()?;
            for (i, byte) in chunk.iter_mut().enumerate() {
                *byte = (word >> (8 * i)) as u8;
            }
        }
        Ok(())
    }
}

impl TryCryptoRng for Plain {}

/// The seed that is drawn after `skip` others.
fn drawn(rng: u64, skip: usize) -> [u8; 32] {
    let (mut rng, mut seed) = (Plain(rng), [0; 32]);
    (0..=skip).for_each(|_| rng.fill_bytes(&mut seed));
    seed
}

/// The bytes that must not be found after the scenario, and that must be found while the scenario
/// says so.
struct Needle {
    name: &'static str,
    bytes: Vec<u8>,
}

/// Both halves of a seed: a copy may be overwritten in part.
fn seed(name: &'static str, bytes: [u8; 32]) -> Vec<Needle> {
    bytes.chunks(16).map(|half| Needle { name, bytes: half.to_vec() }).collect()
}

fn words(name: &'static str, words: &[u64]) -> Needle {
    Needle { name, bytes: words.iter().flat_map(|word| word.to_le_bytes()).collect() }
}

fn signed(name: &'static str, coefficients: &[i8]) -> Vec<Needle> {
    let wide: Vec<u64> = coefficients[300..364].iter().map(|&c| i64::from(c) as u64).collect();
    let narrow = coefficients[300..364].iter().map(|&c| c as u8).collect();
    vec![Needle { name, bytes: narrow }, words(name, &wide)]
}

/// Called where a needle is alive, with its name.
type Alive<'a> = &'a mut dyn FnMut(&str);

struct Scenario {
    name: &'static str,
    needles: fn() -> Vec<Needle>,
    run: fn(Alive<'_>),
}

const SCENARIOS: &[Scenario] = &[
    Scenario { name: "control", needles: control_needles, run: control },
    Scenario { name: "rlwe-key", needles: rlwe_key_needles, run: rlwe_key },
    Scenario { name: "evaluation-keys", needles: evaluation_keys_needles, run: evaluation_keys },
    Scenario { name: "bootstrapping-keys", needles: bootstrapping_keys_needles, run: bootstrapping_keys },
    Scenario { name: "frames", needles: frames_needles, run: frames },
    Scenario { name: "ckks", needles: ckks_needles, run: decryption },
    Scenario { name: "pooled", needles: pooled_needles, run: pooled },
    Scenario { name: "flooding", needles: ckks_needles, run: flooded },
    Scenario { name: "bfv", needles: exact_needles::<Bfv>, run: exact_scheme::<Bfv> },
    Scenario { name: "bgv", needles: exact_needles::<Bgv>, run: exact_scheme::<Bgv> },
    Scenario { name: "bigckks", needles: bigckks_needles, run: |alive| bigckks(alive, None) },
    Scenario { name: "tfhe", needles: tfhe_needles, run: |alive| tfhe(alive, None) },
    Scenario { name: "aes", needles: aes_needles, run: aes_keys },
    Scenario { name: "xts", needles: xts_needles, run: xts },
];

// --- the scenarios -------------------------------------------------------------------------------

fn control_needles() -> Vec<Needle> {
    let mut needles = seed("living seed", drawn(1, 0));
    needles.push(Needle { name: "leaked", bytes: drawn(2, 0).to_vec() });
    needles
}

/// A live seed is found. So is one that nobody wipes, as long as its memory is not reused.
fn control(alive: Alive<'_>) {
    let living = Seed::random(&mut Plain(1));
    alive("living seed");
    drop(living);
    let mut leaked = vec![0; 32];
    Plain(2).fill_bytes(&mut leaked);
    let leaked = black_box(leaked);
    alive("leaked");
    black_box(leaked).zeroize();
}

fn ckks_params() -> CkksParams {
    ckks_params_of(10)
}

fn ckks_params_of(log_n: u32) -> CkksParams {
    CkksParams::insecure(CkksSpec::from_bits(log_n, &[45, 30], &[46], 30.0).unwrap()).unwrap()
}

fn rlwe_key_needles() -> Vec<Needle> {
    let key = SecretKey::generate(ckks_params().rlwe(), &mut Plain(11));
    let mut needles = seed("seed of the key", drawn(11, 0));
    needles.extend(signed("coefficients", key.expose_coefficients()));
    needles
}

fn rlwe_key(alive: Alive<'_>) {
    let params = ckks_params();
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let key = SecretKey::generate(params.rlwe(), &mut Plain(11));
    let decryptor = ckks::Decryptor::new(&params, &key, &ring).unwrap();
    alive("coefficients");
    drop((decryptor, key));
}

fn evaluation_keys_needles() -> Vec<Needle> {
    // The relinearisation key draws the mask's seed, then that of the errors; so does the
    // rotation's.
    let mut needles = seed("errors of the relinearisation key", drawn(13, 1));
    needles.extend(seed("errors of the rotation key", drawn(13, 3)));
    needles.extend(seed("errors of the public key", drawn(14, 1)));
    needles
}

fn evaluation_keys(_: Alive<'_>) {
    let params = ckks_params();
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let key = SecretKey::generate(params.rlwe(), &mut Plain(12));
    drop(black_box(
        EvaluationKeys::generate(
            &key,
            &ring,
            KeyRequirements::new().relinearisation().rotations([1]),
            &mut Plain(13),
        )
        .unwrap(),
    ));
    drop(black_box(PublicKey::generate(&key, &ring, &mut Plain(14)).unwrap()));
}

/// N = 2^10, two slots, and a secret of which every fourth coefficient is not zero.
fn bootstrap_params() -> BootstrapParams {
    let spec = BootstrapSpec {
        log_n: 10,
        log_slots: 1,
        base_bits: 46,
        base_scale_log2: 36.0,
        slots_to_coeffs: vec![38],
        program: LevelRun::new(1, 36.0, &[36]),
        join: None,
        eval_mod_levels: vec![LevelRun::new(3, 46.0, &[46])],
        coeffs_to_slots: LevelRun::new(1, 46.0, &[46]),
        special: vec![47; 2],
        slots_to_coeffs_special: 1,
        borrowed: vec![1],
        eval_mod: EvalModShape { bound: 1, degree: 6, doublings: 0, arcsine: false, focus: 0.5 },
        sparse_weight: 256,
    };
    BootstrapParams::insecure(spec).unwrap()
}

fn bootstrapping_keys_needles() -> Vec<Needle> {
    let params = bootstrap_params();
    let low = params.ring_spec().prefix(1, 1).unwrap();
    let low = RlweParams::insecure(low, RlweParams::even_digits(1, 1)).unwrap();
    let weight = params.spec().sparse_weight;
    let sparse = SecretKey::generate_sparse_insecure(&low, weight, &mut Plain(72)).unwrap();
    let mut needles = seed("seed of the sparse secret", drawn(72, 0));
    needles.extend(signed("coefficients of the sparse secret", sparse.expose_coefficients()));
    // Each key draws the mask's seed, then that of the errors.
    for (name, skip) in [
        ("errors of the key to the sparse secret", 2),
        ("errors of the key back", 4),
        ("errors of the relinearisation key", 6),
    ] {
        needles.extend(seed(name, drawn(72, skip)));
    }
    needles
}

/// In memory, and straight into a writer.
fn bootstrapping_keys(alive: Alive<'_>) {
    let params = bootstrap_params();
    let ring = params.ring(Cpu::new()).unwrap();
    let key = SecretKey::generate(params.params().rlwe(), &mut Plain(71));
    let rng = &mut Plain(72);
    let mut made = BootstrapKeys::generate_each(&key, &params, &ring, rng).unwrap();
    drop(black_box(made.next()));
    alive("coefficients of the sparse secret");
    made.for_each(|key| drop(black_box(key.unwrap())));
    drop(black_box(BootstrapKeys::generate(&key, &params, &ring, &mut Plain(72)).unwrap()));
    let sink = std::io::sink();
    BootstrapKeys::generate_to(&key, &params, &ring, &mut Plain(72), sink).unwrap();
}

fn packed_key() -> Zeroizing<Vec<u8>> {
    let params = ckks_params();
    let key = SecretKey::generate(params.rlwe(), &mut Plain(15));
    Zeroizing::new(key.to_frame(&params).unwrap().body.to_vec())
}

fn frames_needles() -> Vec<Needle> {
    let body = packed_key();
    // A hasher of blocks holds back the end of the body.
    let piece = |name, at: usize| Needle { name, bytes: body[at..at + 24].to_vec() };
    vec![piece("packed key", 0), piece("its middle", body.len() / 2), piece("its end", body.len() - 24)]
}

fn frames(alive: Alive<'_>) {
    let params = ckks_params();
    let key = SecretKey::generate(params.rlwe(), &mut Plain(15));
    let frame = key.to_frame(&params).unwrap();
    alive("packed key");
    let mut file = Zeroizing::new(vec![0; 1 << 12]);
    let mut writer = FrameWriter::new(file.as_mut_slice());
    writer.write(&frame).unwrap();
    let left = writer.finish(params.fingerprint()).unwrap().len();
    drop(frame);
    let length = file.len() - left;
    let mut reader = FrameReader::new(&file[..length]);
    let frame = reader.next_frame(|kind, _| params.key_frame_limit(kind)).unwrap().unwrap();
    drop(black_box(SecretKey::from_frame(&params, (), &frame).unwrap()));
}

fn ckks_ring(params: &CkksParams) -> Ring<Cpu> {
    Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap()
}

/// A secret key, and an encryption under it.
fn ckks_world(params: &CkksParams, ring: &Ring<Cpu>) -> (SecretKey, ckks::Ciphertext<Cpu>) {
    let key = SecretKey::generate(params.rlwe(), &mut Plain(21));
    let public = PublicKey::generate(&key, ring, &mut Plain(22)).unwrap();
    let encoder = ckks::Encoder::new(params, ring).unwrap();
    let plain = encoder.encode_real(&[0.5; 100], params.encoding()).unwrap();
    let ct = ckks::Encryptor::new(params, &public).unwrap().encrypt(&plain, &mut Plain(23)).unwrap();
    let seeded = ckks::SecretEncryptor::new(params, &key, ring).unwrap();
    drop(black_box(seeded.encrypt(&plain, &mut Plain(24)).unwrap()));
    (key, ct)
}

/// A decryption; its phase goes to the needles if they are given.
fn ckks(params: &CkksParams, ring: &Ring<Cpu>, alive: Alive<'_>, tell: Option<&mut Vec<Needle>>) {
    let (key, ct) = ckks_world(params, ring);
    let encoder = ckks::Encoder::new(params, ring).unwrap();
    let phase = ckks::Decryptor::new(params, &key, ring).unwrap().decrypt(&ct).unwrap();
    if let Some(needles) = tell {
        let values = phase.poly().to_words().unwrap();
        let coefficients = phase.poly().duplicate().unwrap().into_coeff().unwrap().to_words().unwrap();
        needles.push(words("phase", &values[500..504]));
        needles.push(words("coefficients of the phase", &coefficients[500..504]));
        let q = he::arith::Modulus::new(ring.spec().q()[0]).unwrap();
        let composed: Vec<u64> =
            coefficients[500..504].iter().map(|&x| (q.center(x) as f64).to_bits()).collect();
        needles.push(words("numbers of the phase", &composed));
    }
    alive("phase");
    black_box(encoder.decode_real(&phase).unwrap()).zeroize();
}

fn decryption(alive: Alive<'_>) {
    let params = ckks_params();
    ckks(&params, &ckks_ring(&params), alive, None);
}

/// The noise added by a flooded decryption would reveal what it hides.
fn flooded(_: Alive<'_>) {
    let params = ckks_params();
    let ring = ckks_ring(&params);
    let (key, ct) = ckks_world(&params, &ring);
    let decryptor = ckks::Decryptor::new(&params, &key, &ring).unwrap();
    drop(black_box(decryptor.decrypt_flooded(&ct, Flooding::Bits(20), &mut Plain(25)).unwrap()));
}

fn ckks_needles() -> Vec<Needle> {
    let mut needles = seed("seed of an encryption", drawn(23, 0));
    needles.extend(seed("errors of an encryption by the secret key", drawn(24, 1)));
    let params = ckks_params();
    ckks(&params, &ckks_ring(&params), &mut |_| {}, Some(&mut needles));
    let flood: Vec<u64> = {
        let mut rng = Plain(25);
        (0..1024).map(|_| ((rng.next_u64() >> 43) as i64 - (1 << 20)) as u64).collect()
    };
    needles.push(words("flood", &flood[500..504]));
    needles
}

/// Buffers of so many words go back to a pool, not to the allocator.
fn pooled_params() -> CkksParams {
    ckks_params_of(14)
}

fn pooled_needles() -> Vec<Needle> {
    let mut needles = Vec::new();
    let params = pooled_params();
    ckks(&params, &ckks_ring(&params), &mut |_| {}, Some(&mut needles));
    let key = SecretKey::generate(params.rlwe(), &mut Plain(21));
    needles.extend(signed("coefficients", key.expose_coefficients()));
    needles
}

/// The back end lives on, and what its pool holds.
fn pooled(alive: Alive<'_>) {
    let params = pooled_params();
    let ring = ckks_ring(&params);
    ckks(&params, &ring, alive, None);
    std::mem::forget(ring);
}

fn exact_params<S: Scheme>() -> exact::Params<S> {
    exact::Params::insecure(ExactSpec::from_bits(10, &[50, 50], &[55], 65537).unwrap()).unwrap()
}

fn exact_run<S: Scheme>(alive: Alive<'_>, tell: Option<&mut Vec<Needle>>) {
    let params = exact_params::<S>();
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let key = SecretKey::generate(params.rlwe(), &mut Plain(31));
    let public = PublicKey::generate(&key, &ring, &mut Plain(32)).unwrap();
    let numbers: Zeroizing<Vec<u64>> = Zeroizing::new((0..100).map(|i| 40_000 + 37 * i).collect());
    let encoder = exact::Encoder::new(&params).unwrap();
    let plain = encoder.encode_coefficients(&numbers).unwrap();
    drop(numbers);
    alive("message");
    let ct = exact::Encryptor::new(&params, &public).unwrap().encrypt(&plain, &mut Plain(33)).unwrap();
    drop(plain);
    let decryptor = exact::Decryptor::<S, Cpu>::new(&params, &key, &ring).unwrap();
    if let Some(needles) = tell {
        let secret = key.on(&ring, he::ring::Span::chain(2)).unwrap();
        let mut phase = ct.pair().parts()[1].duplicate().unwrap();
        phase.mul_assign(secret.get()).unwrap();
        phase.add_assign(ct.pair().parts()[0]).unwrap();
        needles.push(words("phase", &phase.to_words().unwrap()[500..504]));
        let t = params.plain().value();
        phase.scale_assign(&[t, t]).unwrap();
        needles.push(words("scaled phase", &phase.to_words().unwrap()[500..504]));
        let residues = phase.into_coeff().unwrap().to_words().unwrap();
        needles.push(words("coefficients of the phase", &residues[500..504]));
        // As numbers: x modulo both primes.
        let [p, q] = [ring.spec().q()[0], ring.spec().q()[1]];
        let product = BigUint::from(p) * BigUint::from(q);
        let inverse = BigUint::from(q).modpow(&BigUint::from(p - 2), &BigUint::from(p));
        for k in [500, 501, 502] {
            let (a, b) = (residues[k], residues[1024 + k]);
            let difference = BigUint::from(a) + BigUint::from(p) - BigUint::from(b) % BigUint::from(p);
            let x = (difference * &inverse % BigUint::from(p)) * BigUint::from(q) + BigUint::from(b);
            let digits = x.to_u64_digits();
            assert!(x < product && digits.len() == 2);
            needles.push(words("number of the phase", &digits));
        }
    }
    let message = decryptor.decrypt(&ct).unwrap();
    alive("message");
    drop(message);
    black_box(decryptor.noise_budget(&ct).unwrap());
}

fn exact_needles<S: Scheme>() -> Vec<Needle> {
    let mut needles = seed("seed of an encryption", drawn(33, 0));
    needles.push(words("message", &[40_000 + 37 * 50, 40_000 + 37 * 51, 40_000 + 37 * 52]));
    exact_run::<S>(&mut |_| {}, Some(&mut needles));
    needles
}

fn exact_scheme<S: Scheme>(alive: Alive<'_>) {
    exact_run::<S>(alive, None);
}

fn bigckks(alive: Alive<'_>, tell: Option<&mut Vec<Needle>>) {
    let params = BigCkksParams::insecure(BigCkksSpec::new(10, 120, 30)).unwrap();
    let ring = Ring::new(Cpu::new(), params.ring().clone()).unwrap();
    let key = bigckks::SecretKey::generate(&params, &mut Plain(41));
    let public = bigckks::PublicKey::generate(&key, &ring, &mut Plain(42)).unwrap();
    drop(black_box(
        bigckks::EvaluationKeys::generate(
            &key,
            &ring,
            KeyRequirements::new().relinearisation().rotations([1]),
            &mut Plain(44),
        )
        .unwrap(),
    ));
    let encoder = bigckks::Encoder::new(&params, &ring).unwrap();
    let plain = encoder.encode_real(&[0.5; 100], params.encoding()).unwrap();
    let ct = bigckks::Encryptor::new(&params, &public).unwrap().encrypt(&plain, &mut Plain(43)).unwrap();
    let decryptor = bigckks::Decryptor::new(&params, &key, &ring).unwrap();
    let phase = decryptor.decrypt(&ct).unwrap();
    if let Some(needles) = tell {
        needles.extend(signed("coefficients", key.expose_coefficients()));
        needles.push(words("phase", &phase.poly().to_words().unwrap()[500..504]));
    }
    alive("coefficients");
    alive("phase");
    black_box(encoder.decode_real(&phase).unwrap()).zeroize();
    drop((phase, decryptor, key));
}

fn bigckks_needles() -> Vec<Needle> {
    let mut needles = seed("seed of the key", drawn(41, 0));
    needles.extend(seed("errors of the public key", drawn(42, 1)));
    needles.extend(seed("seed of an encryption", drawn(43, 0)));
    needles.extend(seed("errors of the relinearisation key", drawn(44, 1)));
    bigckks(&mut |_| {}, Some(&mut needles));
    needles
}

fn tfhe(alive: Alive<'_>, tell: Option<&mut Vec<Needle>>) {
    let (params, backend) = (presets::insecure_small().unwrap(), Cpu::new());
    let key = TfheSecretKey::generate(&params, &mut Plain(51));
    drop(black_box(BootstrapKey::generate(&key, &mut Plain(52))));
    let bits = [true, false, true, true, false, false, true, false];
    let ct = key.encrypt_bits(&backend, &bits, &mut Plain(53)).unwrap();
    let numbers = [BigUint::from(0x1234u32)];
    let uint = key.encrypt_uint(&backend, &numbers, 16, &mut Plain(54)).unwrap();
    let phases = key.phases(ct.ciphertexts()).unwrap();
    if let Some(needles) = tell {
        needles.push(words("phases", &phases[2..5]));
        needles.push(words("phases of digits", &key.phases(uint.ciphertexts()).unwrap()[2..5]));
        let body = key.to_frame(key.params()).unwrap().body.to_vec();
        // Bits as words, from the packed ones: the small secret comes first.
        let small: Vec<u64> = (100..164).map(|i| u64::from(body[i / 8] >> (i % 8) & 1)).collect();
        needles.push(words("secret", &small));
    }
    alive("secret");
    alive("phases");
    drop(phases);
    black_box(key.decrypt_bits(&ct).unwrap());
    black_box(key.decrypt_uint(&uint).unwrap());
    drop(key);
}

fn tfhe_needles() -> Vec<Needle> {
    let mut needles = seed("seed of the key", drawn(51, 0));
    needles.extend(seed("errors of the bootstrapping key", drawn(52, 1)));
    needles.extend(seed("errors of an encryption", drawn(53, 1)));
    tfhe(&mut |_| {}, Some(&mut needles));
    needles
}

fn aes_needles() -> Vec<Needle> {
    seed("key", drawn(61, 0))
}

/// This has a stack frame of its own, so that what the program itself leaves there lies where
/// dropping the key wipes the stack.
#[inline(never)]
fn aes_key() -> Key {
    let mut bytes = Zeroizing::new([0; 32]);
    Plain(61).fill_bytes(bytes.as_mut());
    Key::from_slice(bytes.as_ref()).unwrap()
}

/// Keys and their schedules, which the library owns; copies are moved and dropped.
fn aes_keys(_: Alive<'_>) {
    let key = aes_key();
    drop(black_box(KeySchedule::new(&key)));
    drop(black_box(key.clone()));
    drop(key);
}

fn xts_needles() -> Vec<Needle> {
    vec![Needle { name: "last block", bytes: drawn(63, 0)[..16].to_vec() }]
}

/// A unit that ends within a block: the stolen bytes pass through memory of the library.
fn xts(alive: Alive<'_>) {
    let key = XtsKey::from_slice(&[drawn(62, 0), drawn(62, 1)].concat()).unwrap();
    let cpu = aes::Cpu::new();
    let mut unit = Zeroizing::new(vec![0; 16 + 16 + 15]);
    Plain(63).fill_bytes(&mut unit[16..]);
    alive("last block");
    cpu.xts(&key, 0, unit.len(), Direction::Encrypt, Bulk::in_place(&mut unit)).unwrap();
    cpu.xts(&key, 0, unit.len(), Direction::Decrypt, Bulk::in_place(&mut unit)).unwrap();
    alive("last block");
}

// --- looking -------------------------------------------------------------------------------------

/// A needle whose bytes are all inverted: comparing inverts what is read, so that the needle itself
/// is nowhere.
struct Hidden {
    name: String,
    inverted: Vec<u8>,
}

const PIECE: usize = 1 << 20;

/// The places of a needle in writable memory, by mapping, outside of `buffer`.
fn find(needles: &[Hidden], buffer: &mut [u8]) -> Vec<Vec<String>> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut memory = std::fs::File::open("/proc/self/mem").unwrap();
    let own = buffer.as_ptr() as u64..buffer.as_ptr() as u64 + buffer.len() as u64;
    let longest = needles.iter().map(|needle| needle.inverted.len()).max().unwrap_or(0);
    let mut found = vec![Vec::new(); needles.len()];
    for line in maps.lines() {
        let mut fields = line.split_whitespace();
        let (start, end) = fields.next().unwrap().split_once('-').unwrap();
        if !fields.next().unwrap().starts_with("rw") {
            continue;
        }
        let [start, end] = [start, end].map(|field| u64::from_str_radix(field, 16).unwrap());
        let mut at = start;
        while at < end {
            let length = (end - at).min(PIECE as u64) as usize;
            let piece = &mut buffer[..length];
            if memory.seek(SeekFrom::Start(at)).is_err() || memory.read_exact(piece).is_err() {
                break;
            }
            for (needle, found) in needles.iter().zip(&mut found) {
                let inverted = &needle.inverted;
                let first = !inverted[0];
                for i in 0..length.saturating_sub(inverted.len() - 1) {
                    if piece[i] != first || own.contains(&(at + i as u64)) {
                        continue;
                    }
                    if piece[i..].iter().zip(inverted).all(|(byte, inverted)| *byte == !inverted) {
                        found.push(line.split_whitespace().nth(5).unwrap_or("anonymous").to_owned());
                    }
                }
            }
            // Pieces overlap, so that nothing lies across their border.
            at += if length == PIECE { (PIECE - longest) as u64 } else { length as u64 };
        }
    }
    buffer.zeroize();
    found
}

const ROLE: &str = "HE_MEMORY_TEST";

/// The part of a child: prints the needles of a scenario, or takes them, runs it and prints what is
/// left.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (role, name) = role.split_once(' ').unwrap();
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name).unwrap();
    if role == "tell" {
        for needle in (scenario.needles)() {
            let inverted: String = needle.bytes.iter().map(|byte| format!("{:02x}", !byte)).collect();
            println!("needle {inverted} {}", needle.name);
        }
        return;
    }
    let text = std::io::read_to_string(std::io::stdin()).unwrap();
    let needles: Vec<Hidden> = text
        .lines()
        .filter_map(|line| line.split_once("needle ")?.1.split_once(' '))
        .map(|(hex, name)| {
            let byte = |i: usize| u8::from_str_radix(&hex[i..i + 2], 16).unwrap();
            Hidden { name: name.to_owned(), inverted: (0..hex.len()).step_by(2).map(byte).collect() }
        })
        .collect();
    assert!(!needles.is_empty(), "nothing to look for: {text}");
    let mut buffer = vec![0; PIECE];
    (scenario.run)(&mut |name| {
        let found = find(&needles, &mut buffer);
        let alive =
            needles.iter().zip(&found).any(|(needle, found)| needle.name == name && !found.is_empty());
        assert!(alive, "{}: the living {name} is not found", scenario.name);
    });
    let found = find(&needles, &mut buffer);
    for (needle, places) in needles.iter().zip(&found).filter(|(_, places)| !places.is_empty()) {
        println!("left {}: {} copies in {places:?}", needle.name, places.len());
    }
    println!("looked for {}", needles.len());
}

fn run_child(role: &str, name: &str, input: &str) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(ROLE, format!("{role} {name}"))
        .env("RAYON_NUM_THREADS", "2")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{role} {name}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn nothing_secret_is_left_in_memory() {
    let mut left = Vec::new();
    for scenario in SCENARIOS {
        let needles = run_child("tell", scenario.name, "");
        let report = run_child("look", scenario.name, &needles);
        assert!(report.contains("looked for "), "{}: {report}", scenario.name);
        left.extend(
            report
                .lines()
                .filter(|line| line.contains("left "))
                .map(|line| format!("{}: {line}", scenario.name)),
        );
    }
    assert!(left.is_empty(), "{}", left.join("\n"));
}
