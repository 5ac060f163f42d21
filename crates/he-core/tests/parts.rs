//! Linear maps between slots, part by part.
#![allow(missing_docs, clippy::unwrap_used)]

use he_core::backend::Cpu;
use he_core::circuits::ckks::{BlockOutline, BlockParts, BlockTransform, PartOf, PartValue, TensorLayout};
use he_core::ckks::{Ciphertext, CkksParams, CkksSpec, Complex64, Encryptor, Evaluator};
use he_core::ring::{Poly, Ring, galois_rotation};
use he_core::rlwe::{EvaluationKeys, PublicKey, RlweCiphertext, SecretKey, SwitchKey};
use he_core::wire::{Frame, SwitchKeyUse, WireKeys};
use he_core::{Error, Result};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

const LOG_N: u32 = 6;
const TOP: usize = 3;

type Entries = Vec<(usize, usize, Complex64)>;

/// A map, its parts with all diagonals and with none, and what it leaves of two ciphertexts.
struct World {
    ev: Evaluator,
    entries: Entries,
    level: usize,
    cts: Vec<Ciphertext>,
    keys: EvaluationKeys<Cpu>,
    parts: BlockParts,
    bare: BlockParts,
    expected: Vec<Ciphertext>,
}

fn number(rng: &mut ChaCha20Rng) -> Complex64 {
    Complex64::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0))
}

/// Entries on few diagonals or on many.
fn entries(rng: &mut ChaCha20Rng, [input, output]: [&TensorLayout; 2]) -> Entries {
    let unit = input.examples();
    let [from, to] = [input, output].map(|layout| layout.slots() * layout.ciphertexts() / unit);
    let (offset, narrow) = (rng.random_range(0..from), rng.random::<bool>());
    let count = rng.random_range(1..100);
    let entry = |_| {
        let row = rng.random_range(0..to);
        let column = match narrow {
            true => (row + offset + rng.random_range(0..3)) % from,
            false => rng.random_range(0..from),
        };
        (row * unit, column * unit, number(rng))
    };
    (0..count).map(entry).collect()
}

impl World {
    fn new(special: usize, rng: &mut ChaCha20Rng) -> Self {
        let spec = CkksSpec::from_bits(LOG_N, &[50, 40, 40, 40], &vec![50; special], 40.0).unwrap();
        let params = CkksParams::insecure(spec).unwrap();
        let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
        let ev = Evaluator::new(&params, &ring).unwrap();
        let secret = SecretKey::generate(params.rlwe(), rng);
        let public = PublicKey::generate(&secret, &ring, rng).unwrap();

        let examples = 1 << rng.random_range(0..3);
        let [input, output] = [(); 2].map(|()| {
            let length = rng.random_range(1..3 * params.slots() / examples);
            TensorLayout::batched([length, 1, 1], examples, params.slots()).unwrap()
        });
        let entries = entries(rng, [&input, &output]);
        let map = BlockTransform::cheapest(&input, &output, entries.iter().copied()).unwrap();
        let (output, babies) = (*map.output(), map.babies());
        let bias = [(rng.random_range(0..output.slots() / examples) * examples, 0.5)];
        let map = map.with_bias(bias).unwrap();
        let keys = EvaluationKeys::generate(&secret, &ring, map.requirements(), rng).unwrap();
        let encryptor = Encryptor::new(&params, &public).unwrap();
        let ct = |_| {
            let vector: Vec<Complex64> = (0..input.slots()).map(|_| number(rng)).collect();
            let to = params.encoding().slots(input.slots());
            let plain = ev.encoder().encode_batch(&[&vector, &vector], to).unwrap();
            encryptor.encrypt(&plain, rng).unwrap()
        };
        let cts: Vec<Ciphertext> = (0..input.ciphertexts()).map(ct).collect();
        let level = rng.random_range(1..=TOP);
        let expected = map.prepare(&ev, level).unwrap().apply(&ev, &cts, &keys).unwrap();
        let outline = BlockOutline::new(&input, &output, entries.iter().copied(), babies).unwrap();
        let bare = outline.with_bias(bias).unwrap().into_parts(&params, level).unwrap();
        let parts = map.into_parts(&params, level).unwrap();
        Self { ev, entries, level, cts, keys, parts, bare, expected }
    }

    /// The values of all parts.
    fn run(&self) -> Vec<RlweCiphertext> {
        let mut values = Vec::new();
        let run = self.parts.run(&self.ev, &self.cts, &self.keys, |part, value| {
            assert_eq!(part, values.len());
            values.push(value.duplicate()?);
            Ok::<_, Error>(())
        });
        run.unwrap();
        values
    }
}

fn words(ct: &RlweCiphertext) -> [Vec<u64>; 2] {
    ct.parts().map(|part| part.to_words().unwrap())
}

/// The same pair in the ring of fewer levels.
fn cut(ring: &Ring, pair: &RlweCiphertext) -> RlweCiphertext {
    let [c0, c1] = words(pair);
    RlweCiphertext::from_words(ring, pair.parts()[0].span(), pair.batch(), [&c0, &c1]).unwrap()
}

/// The same rotation keys, as if their a_j came from no seed.
fn unseeded(keys: &EvaluationKeys<Cpu>) -> EvaluationKeys<Cpu> {
    let (params, ring) = (keys.params(), keys.ring());
    let span = params.key_span();
    let mut made = EvaluationKeys::empty(params, ring).unwrap();
    for (g, key) in keys.galois_keys() {
        let pair = |digit: usize| {
            let a = Poly::uniform(ring, span, 1, key.seed().unwrap(), digit as u32).unwrap();
            [Poly::from_words(ring, span, 1, &key.body_words(digit).unwrap()).unwrap(), a]
        };
        let pairs: Vec<_> = (0..params.digits().len()).map(pair).collect();
        made.insert_galois(g, SwitchKey::from_pairs(params, ring, &pairs).unwrap()).unwrap();
    }
    made
}

/// One part alone, with one key over the primes that it is used for, one diagonal, and tables for
/// no more levels than its values have.
fn alone(world: &World, values: &[RlweCiphertext], frames: &[Frame], index: usize) {
    let World { ev, entries, level, cts, parts, bare, .. } = world;
    let part = &parts.list()[index];
    let of_input = part.of.iter().any(|of| matches!(of, PartOf::Input(_)));
    let low = ev.params().up_to_level(if of_input { TOP } else { *level }).unwrap();
    let ring = Ring::new(Cpu::new(), low.rlwe().ring().clone()).unwrap();
    let low_ev = Evaluator::new(&low, &ring).unwrap();
    let read = |ct: &Ciphertext| {
        Ciphertext::from_parts(&low, cut(&ring, ct.pair()), TOP, ct.scale(), ct.slots()).unwrap()
    };
    let inputs: Vec<Ciphertext> = if of_input { cts.iter().map(read).collect() } else { Vec::new() };
    let made: Vec<RlweCiphertext> = values.iter().map(|value| cut(&ring, value)).collect();
    let taken = |of: &PartOf| match *of {
        PartOf::Input(input) => PartValue::Input(&inputs[input]),
        PartOf::Made(part) => PartValue::Made(&made[part]),
    };
    let of: Vec<PartValue<'_>> = part.of.iter().map(taken).collect();
    let mut one = bare.clone();
    if part.name.contains("product") {
        let bare = one.compute(&low_ev, index, &of, None);
        assert!(matches!(bare, Err(Error::Argument { what: "diagonal", .. })), "{bare:?}");
    }
    one.fill(index, entries.iter().copied()).unwrap();
    let key = one.rotation(index).map(|step| {
        let primes = one.key_primes(ev.params(), index).unwrap();
        let params = ev.params().rlwe().up_to_primes(primes).unwrap();
        let place = ring.prefix(primes, params.ring().p().len()).unwrap();
        let read = |frame| SwitchKey::of_frame(ev.params(), &params, &place, frame);
        let mut keys = frames.iter().map(read).map(Result::unwrap);
        let g = galois_rotation(step, LOG_N);
        keys.find(|(used, _)| *used == SwitchKeyUse::Galois(g)).unwrap().1
    });
    let found = one.compute(&low_ev, index, &of, key.as_ref()).unwrap();
    assert_eq!(words(&found), words(&values[index]), "{}", part.name);
    if let Some(step) = one.rotation(index) {
        let error = one.compute(&low_ev, index, &of, None).unwrap_err();
        assert!(matches!(error, Error::MissingGaloisKey { step: found } if found == step), "{error}");
    }
    let none = one.compute(&low_ev, index, &[], key.as_ref());
    assert!(matches!(none, Err(Error::Argument { what: "part", .. })), "{none:?}");
}

/// All parts lead to the words of the whole map, in both ways of hoisting, and each part alone
/// leaves the words that it has among the others, by cut keys with a seed and without one.
#[test]
fn parts_are_parts_of_the_map() {
    let seed = he_core::rand::rng().random();
    println!("seed {seed}");
    let rng = &mut ChaCha20Rng::seed_from_u64(seed);
    for (special, seeded) in [(1, true), (1, false), (3, true), (3, false), (3, true)] {
        let world = World::new(special, rng);
        let World { ev, parts, bare, expected, .. } = &world;
        assert_eq!((bare.list(), bare.outputs()), (parts.list(), parts.outputs()));
        let values = world.run();
        assert_eq!((values.len(), parts.outputs().len()), (parts.list().len(), expected.len()));
        for (&part, expected) in parts.outputs().iter().zip(expected) {
            assert_eq!(words(&values[part]), words(expected.pair()));
            let ct = parts.output(ev.params(), &values[part]).unwrap();
            assert_eq!((ct.level(), ct.scale()), (expected.level(), expected.scale()));
            assert_eq!(ct.key_set(), expected.key_set());
        }
        let keys = if seeded { &world.keys } else { &unseeded(&world.keys) };
        let frames: Vec<Frame> = keys.to_frames(ev.params()).map(Result::unwrap).collect();
        (0..values.len()).for_each(|index| alone(&world, &values, &frames, index));
        assert!(parts.compute(ev, values.len(), &[], None).is_err());
    }
}

/// Keys are cut to parameters that are a beginning of their own, in a ring of these.
#[test]
fn keys_are_cut_to_a_beginning() {
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    let world = World::new(2, rng);
    let params = world.ev.params();
    let frame = world.keys.to_frames(params).next();
    let Some(frame) = frame.map(Result::unwrap) else { return };
    let cut = params.rlwe().up_to_primes(2).unwrap();
    let whole = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let (ring, other) = (whole.prefix(2, 2).unwrap(), whole.prefix(3, 2).unwrap());
    let (_, key) = SwitchKey::of_frame(params, &cut, &ring, &frame).unwrap();
    assert_eq!(key.params().digits(), std::slice::from_ref(&(0..2)));
    for (params_of_key, ring) in [(&cut, &other), (params.rlwe(), &ring)] {
        let error = SwitchKey::of_frame(params, params_of_key, ring, &frame).unwrap_err();
        assert!(matches!(error, Error::RingMismatch), "{error}");
    }
    for length in [0, 7, 8, 40, frame.body.len() - 1] {
        let body = frame.body[..length].to_vec();
        let short = Frame { kind: frame.kind, fingerprint: frame.fingerprint, body };
        assert!(matches!(SwitchKey::of_frame(params, &cut, &ring, &short), Err(Error::Wire(_))), "{length}");
    }
    assert!(params.rlwe().up_to_primes(0).is_err() && params.rlwe().up_to_primes(5).is_err());
    assert!(matches!(params.up_to_level(4), Err(Error::LevelTooHigh { found: 4, highest: 3 })));
    assert_eq!(params.up_to_level(3).unwrap().levels(), params.levels());
}
