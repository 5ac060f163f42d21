//! Parameters and keys of bootstrapping: hostile bodies, sequences, and keys that are streamed.

use super::*;
use he::bootstrapping::{BootstrapKey, BootstrapKeys, BootstrapParams, BootstrapSpec, Bootstrapper};
use he::bootstrapping::{LevelRun, presets::Preset};
use he::ckks::Evaluator;
use he::exact::bootstrapping as exact;
use he::params::ParamsError;
use he::wire::WireScheme;

/// The chain of `fast` with fewer matrices, at N = 2^6.
fn spec() -> BootstrapSpec {
    let fast = Preset::Fast.spec();
    BootstrapSpec {
        log_n: 6,
        log_slots: 4,
        slots_to_coeffs: vec![42; 2],
        program: LevelRun::new(2, 40.0, &[40]),
        join: Some(30),
        coeffs_to_slots: LevelRun { levels: 2, ..fast.coeffs_to_slots.clone() },
        borrowed: vec![1, 2],
        ..fast
    }
}

struct Boot {
    params: BootstrapParams,
    ring: Ring<Cpu>,
    secret: SecretKey,
    keys: BootstrapKeys<Cpu>,
    frames: Vec<Frame>,
}

static BOOT: LazyLock<Boot> = LazyLock::new(|| {
    let params = BootstrapParams::insecure(spec()).unwrap();
    let ring = params.ring(Cpu::new()).unwrap();
    let secret = SecretKey::generate(params.params().rlwe(), &mut rng(50));
    let keys = BootstrapKeys::generate(&secret, &params, &ring, &mut rng(51)).unwrap();
    let frames = keys.to_frames(&params).map(Result::unwrap).collect();
    Boot { params, ring, secret, keys, frames }
});

fn copy(frame: &Frame) -> Frame {
    Frame { kind: frame.kind, fingerprint: frame.fingerprint, body: frame.body.clone() }
}

impl Boot {
    fn from(&self, frames: Vec<Frame>) -> Result<BootstrapKeys<Cpu>> {
        BootstrapKeys::from_frames(&self.params, &self.ring, frames.into_iter().map(Ok))
    }

    /// All frames, one of them with another kind and body.
    fn with(&self, index: usize, kind: FrameKind, body: Vec<u8>) -> Vec<Frame> {
        let mut frames: Vec<Frame> = self.frames.iter().map(copy).collect();
        frames[index] = Frame { kind, fingerprint: self.params.fingerprint(), body };
        frames
    }
}

/// Keys that were generated straight into a writer are those that would have been generated in
/// memory, and those that were read refresh to the same words.
#[test]
fn keys_are_streamed() {
    let boot = &*BOOT;
    let (params, ring) = (&boot.params, &boot.ring);
    let written = boot.keys.write_to(params, Vec::new()).unwrap();
    let made = BootstrapKeys::generate_to(&boot.secret, params, ring, &mut rng(51), Vec::new()).unwrap();
    assert!(written == made);
    let read = BootstrapKeys::read_from(params, ring, made.as_slice()).unwrap();
    assert_eq!(read.key_set(), Some(boot.secret.key_set()));
    let frames: u64 = boot.frames.iter().map(|frame| Frame::size(frame.body.len() as u64)).sum();
    assert_eq!(params.key_frames_bytes().unwrap(), frames);
    assert_eq!((params.key_bytes().unwrap(), boot.keys.bytes()), (read.bytes(), read.bytes()));
    let uses = params.key_uses().unwrap();
    assert_eq!(uses.len(), boot.frames.len());
    for (frame, purpose) in boot.frames.iter().zip(uses) {
        assert_eq!(BootstrapKey::from_frame(params, ring, frame).unwrap().purpose(), *purpose);
    }

    let program = params.params();
    let ev = Evaluator::new(program, ring).unwrap();
    let plain = ev.encoder().encode_real(&[0.5, -0.25], program.encoding().slots(16)).unwrap();
    let encryptor = SecretEncryptor::new(program, &boot.secret, ring).unwrap();
    let ct = encryptor.encrypt(&plain, &mut rng(52)).unwrap().expand().unwrap();
    let bootstrapper = Bootstrapper::new(params, ring).unwrap();
    let words = |keys: &BootstrapKeys<Cpu>| {
        let fresh = bootstrapper.refresh(&ct, keys).unwrap();
        fresh.pair().parts().map(|c| c.to_words().unwrap())
    };
    assert!(words(&boot.keys) == words(&read));
    // Keys of another secret are refused by name, and without a name taken at their word.
    let other = SecretKey::generate(program.rlwe(), &mut rng(53));
    let mut foreign = read;
    foreign.set_key_set(Some(other.key_set()));
    let refused = bootstrapper.refresh(&ct, &foreign);
    assert!(matches!(refused, Err(Error::KeyMismatch { found, expected, .. })
        if found != expected && [found, expected].contains(&other.key_set())));
    foreign.set_key_set(None);
    assert!(words(&boot.keys) == words(&foreign));
}

/// Reading asks for no frame before the last one is done with, and for none beyond an error.
#[test]
fn frames_are_asked_for_one_by_one() {
    let boot = &*BOOT;
    let asked = std::cell::Cell::new(0);
    let frames = boot.frames.iter().enumerate().map(|(i, frame)| {
        asked.set(asked.get() + 1);
        let mut frame = copy(frame);
        if i == 3 {
            frame.body.truncate(21);
        }
        Ok(frame)
    });
    let result: Result<_> = BootstrapKeys::from_frames(&boot.params, &boot.ring, frames);
    assert!(matches!(result, Err(Error::Wire(WireError::Field { field: "seed", .. }))), "{result:?}");
    assert_eq!(asked.get(), 4);
    // The error of whoever yields the frames comes through.
    let failing = [Err(Error::MissingRelinKey)];
    let result = BootstrapKeys::from_frames(&boot.params, &boot.ring, failing);
    assert!(matches!(result, Err(Error::MissingRelinKey)));
}

/// Every frame left out, repeated, or exchanged with another.
#[test]
fn other_keys_than_needed_are_refused() {
    let boot = &*BOOT;
    let all = || boot.frames.iter().map(copy).collect::<Vec<_>>();
    assert!(boot.from(all()).is_ok());
    let count = all().len();
    for i in 0..count {
        let (mut missing, mut twice, mut exchanged) = (all(), all(), all());
        missing.remove(i);
        twice.insert(i, copy(&boot.frames[i]));
        exchanged.swap(i, (i + 1) % count);
        for frames in [missing, twice, exchanged] {
            let result = boot.from(frames);
            assert!(matches!(result, Err(Error::Wire(WireError::UnexpectedKey { .. }))), "{i}: {result:?}");
        }
    }
    // A Galois element that is possible, but not needed; those that are not possible; purposes.
    let last = count - 1;
    let good = &boot.frames[last].body;
    let body =
        |number: u8, matrix: u8, g: u64| [&[number, matrix][..], &g.to_le_bytes(), &good[10..]].concat();
    for (number, matrix, g, field) in [
        (5, 0, 33, None),
        (4, 0, 33, None),
        (3, 0, 5, None),
        (3, 1, 5, None),
        (3, 2, 5, Some("matrix")),
        (3, 255, 5, Some("matrix")),
        (4, 1, 5, Some("matrix")),
        (1, 1, 0, Some("matrix")),
        (4, 0, 2, Some("galois element")),
        (4, 0, 129, Some("galois element")),
        (5, 0, u64::MAX, Some("galois element")),
        (2, 0, 5, Some("galois element")),
        (5, 0, 0, Some("galois element")),
        (0, 0, 0, Some("purpose")),
        (6, 0, 5, Some("purpose")),
        (255, 0, 5, Some("purpose")),
    ] {
        let result = boot.from(boot.with(last, FrameKind::CkksBootstrapKey, body(number, matrix, g)));
        let as_expected = match (&result, field) {
            (Err(Error::Wire(WireError::UnexpectedKey { .. })), None) => true,
            (Err(Error::Wire(WireError::Field { field: found, .. })), Some(field)) => *found == field,
            _ => false,
        };
        assert!(as_expected, "{number}, {matrix}, {g}: {result:?}");
    }
}

/// Nothing but q_0 p_0 under the sparse secret: a key of its kind over more primes is too long, and
/// a key of another kind in its place is out of order.
#[test]
fn the_sparse_secret_has_two_primes() {
    let boot = &*BOOT;
    assert_eq!(boot.frames[0].kind, FrameKind::CkksSparseKey);
    let limit = boot.params.key_frame_limit(FrameKind::CkksSparseKey);
    assert_eq!(boot.frames[0].body.len() as u64, limit);
    for wide in [&boot.frames[1], &boot.frames[boot.frames.len() - 1]] {
        let same = boot.with(0, FrameKind::CkksSparseKey, wide.body[10..].to_vec());
        let result = boot.from(same);
        let refused = matches!(
            result,
            Err(Error::Wire(WireError::Field { .. } | WireError::Residue { .. } | WireError::Length { .. }))
        );
        assert!(refused, "{result:?}");
        let as_other = boot.with(0, FrameKind::CkksBootstrapKey, wide.body.clone());
        assert!(matches!(boot.from(as_other), Err(Error::Wire(WireError::UnexpectedKey { .. }))));
    }
    // Its length is refused before a byte of the body is read.
    let mut bytes = boot.keys.to_bytes(&boot.params).unwrap();
    let at = Frame::size(16) as usize;
    bytes[at + 40..at + 48].copy_from_slice(&(limit + 1).to_le_bytes());
    let result = BootstrapKeys::from_bytes(&boot.params, &boot.ring, &bytes);
    assert!(matches!(
        result,
        Err(Error::Wire(WireError::Length { kind: FrameKind::CkksSparseKey, found, expected }))
            if found == limit + 1 && expected == limit
    ));
}

#[test]
fn keys_of_other_parameters_are_refused() {
    let boot = &*BOOT;
    let other = BootstrapParams::insecure(BootstrapSpec { sparse_weight: 31, ..spec() }).unwrap();
    assert_eq!(other.params(), boot.params.params());
    let result = BootstrapKeys::from_bytes(&other, &boot.ring, &boot.keys.to_bytes(&boot.params).unwrap());
    let Err(Error::Wire(WireError::WrongParams { found, expected, .. })) = result else {
        panic!("{result:?}")
    };
    assert_eq!((found, expected), (boot.params.fingerprint().to_string(), other.fingerprint().to_string()));
    // A ring of these primes that was not made for them.
    let program = Ring::new(Cpu::new(), boot.params.params().rlwe().ring().clone()).unwrap();
    let bytes = boot.keys.to_bytes(&boot.params).unwrap();
    let result = BootstrapKeys::from_bytes(&boot.params, &program, &bytes);
    assert!(matches!(result, Err(Error::RingMismatch)));
}

/// Every byte of the parameters with every value: refused, or other parameters than the
/// fingerprint's.
#[test]
fn changed_parameters_of_bootstrapping_are_refused() {
    let frame = BOOT.params.to_frame();
    assert_eq!(BootstrapParams::from_frame_insecure(&frame).unwrap(), BOOT.params);
    assert!(frame.body.len() as u64 <= BootstrapParams::MAX_BODY);
    let refused = |body: Vec<u8>, what: &str| {
        let frame = Frame { kind: frame.kind, fingerprint: frame.fingerprint, body };
        for result in [BootstrapParams::from_frame_insecure(&frame), BootstrapParams::from_frame(&frame)] {
            let refused = matches!(
                result,
                Err(Error::InvalidParams(_)
                    | Error::Wire(WireError::Field { .. } | WireError::WrongParams { .. }))
            );
            assert!(refused, "{what}: {result:?}");
        }
    };
    for version in (0..=u8::MAX).filter(|&version| version != 7) {
        let body = [&[version], &frame.body[1..]].concat();
        let result =
            BootstrapParams::from_frame(&Frame { kind: frame.kind, fingerprint: frame.fingerprint, body });
        let by_number = match result {
            Err(Error::Wire(WireError::RetiredBody { found, oldest: 7, .. })) => {
                found == version && (1..7).contains(&version)
            }
            Err(Error::Wire(WireError::UnsupportedBody { found, supported: 7, .. })) => {
                found == version && !(1..7).contains(&version)
            }
            _ => false,
        };
        assert!(by_number, "{result:?}");
    }
    for at in 1..frame.body.len() {
        for byte in (0..=u8::MAX).filter(|&byte| byte != frame.body[at]) {
            let mut body = frame.body.clone();
            body[at] = byte;
            refused(body, &format!("byte {at} = {byte}"));
        }
        refused(frame.body[..at].to_vec(), &format!("{at} bytes"));
    }
    for fill in [0, 1, 255] {
        refused([&frame.body[..], &[fill]].concat(), "a byte more");
        for at in 1..frame.body.len().min(80) {
            let mut body = frame.body[..at].to_vec();
            body.resize(2048, fill);
            refused(body, &format!("{fill} from byte {at}"));
        }
    }
}

/// Parameters of impossible shapes, and a sparse secret that is too sparse.
#[test]
fn limits_of_parameters_of_bootstrapping() {
    let eval_mod = spec().eval_mod;
    let with = |change: &dyn Fn(&mut BootstrapSpec)| {
        let mut spec = spec();
        change(&mut spec);
        BootstrapParams::insecure(spec)
    };
    for result in [
        with(&|spec| spec.eval_mod.bound = 0),
        with(&|spec| spec.eval_mod.bound = u32::MAX),
        with(&|spec| spec.eval_mod.degree = 1 << 40),
        with(&|spec| spec.eval_mod.degree = 0),
        with(&|spec| spec.eval_mod.doublings = u32::MAX),
        with(&|spec| spec.eval_mod.focus = f64::NAN),
        with(&|spec| spec.eval_mod.focus = -0.1),
        with(&|spec| spec.eval_mod.focus = f64::INFINITY),
        with(&|spec| spec.sparse_weight = 0),
        with(&|spec| spec.sparse_weight = 257),
        with(&|spec| spec.sparse_weight = 33),
        with(&|spec| spec.program.levels = usize::MAX),
    ] {
        assert!(matches!(result, Err(ParamsError::OutOfRange { .. })), "{result:?}");
    }
    assert!(with(&|spec| spec.eval_mod = eval_mod).is_ok());
    let sparse = BootstrapSpec { sparse_weight: 31, ..Preset::Small.spec() };
    assert!(matches!(
        BootstrapParams::try_from(sparse),
        Err(ParamsError::InsecureSecret { weight: 31, limit: 0, .. })
    ));
    let (params, spec) = (&BOOT.params, spec());
    let (q, p) = (params.ring_spec().q().to_vec(), params.ring_spec().p().to_vec());
    let again = BootstrapParams::over_primes_insecure(spec.clone(), q.clone(), p.clone()).unwrap();
    assert_eq!(&again, params);
    let insecure = BootstrapParams::over_primes(spec.clone(), q.clone(), p.clone());
    assert!(matches!(insecure, Err(ParamsError::Insecure { .. })));
    let fewer = BootstrapParams::over_primes_insecure(spec.clone(), q[1..].to_vec(), p.clone());
    assert!(matches!(fewer, Err(ParamsError::ChainLength { chain: "chain", .. })));
    let mut exchanged = q;
    let last = exchanged.len() - 1;
    exchanged.swap(2, last);
    let exchanged = BootstrapParams::over_primes_insecure(spec, exchanged, p);
    assert!(matches!(exchanged, Err(ParamsError::OutOfRange { what: "log2(prime)", .. })));
}

/// A degree that no ring has is refused before anything is computed from it.
#[test]
fn impossible_degrees_of_bootstrapping_are_refused() {
    for log_n in [0, 1, 18, 31, 63, 64, 77, 255, u32::MAX] {
        let error = BootstrapParams::insecure(BootstrapSpec { log_n, ..spec() }).unwrap_err();
        assert!(matches!(error, ParamsError::Degree { found, .. } if found == log_n), "{log_n}: {error}");
    }
}

/// Parameters of BFV and BGV with bootstrapping come back, their keys are those of the circuit, and
/// what was read refreshes to the same words.
#[test]
fn parameters_of_integers_come_back() {
    fn check<S: WireScheme>(kind: FrameKind) {
        let spec = exact::BootstrapSpec::insecure_for_depth::<S>(257, 1, 6).unwrap();
        let boot = exact::BootstrapParams::<S>::insecure(spec).unwrap();
        let bytes = boot.to_bytes().unwrap();
        assert_eq!(boot.to_frame().kind, kind);
        let read = exact::BootstrapParams::<S>::from_bytes_insecure(&bytes).unwrap();
        assert!(read == boot && read.spec() == boot.spec());
        assert_eq!(WireParams::fingerprint(&read), WireParams::fingerprint(&boot));
        // They are far from secure.
        assert!(exact::BootstrapParams::<S>::from_bytes(&bytes).is_err());

        let ring = read.ring(Cpu::new()).unwrap();
        let secret = SecretKey::generate(boot.params().rlwe(), &mut rng(60));
        let keys = BootstrapKeys::generate(&secret, boot.circuit(), &ring, &mut rng(61)).unwrap();
        let written = keys.write_to(boot.circuit(), Vec::new()).unwrap();
        let made =
            BootstrapKeys::generate_to(&secret, read.circuit(), &ring, &mut rng(61), Vec::new()).unwrap();
        assert!(written == made);
        let back = BootstrapKeys::read_from(read.circuit(), &ring, made.as_slice()).unwrap();
        let ev = he::exact::Evaluator::<S>::new(boot.params(), &ring).unwrap();
        let plain = ev.encoder().encode_coefficients(&[1u64, 2, 3]).unwrap();
        let encryptor = he::exact::SecretEncryptor::<S>::new(boot.params(), &secret, &ring).unwrap();
        let mut ct = encryptor.encrypt(&plain, &mut rng(62)).unwrap().expand().unwrap();
        while let Ok(spent) = ev.mul_scalar(&ct, 128) {
            if spent.predicted_budget(boot.params()) < boot.needed_budget() {
                break;
            }
            ct = spent;
        }
        let bootstrapper = exact::Bootstrapper::new(&boot, &ring).unwrap();
        let words = |keys: &BootstrapKeys<Cpu>| {
            let fresh = bootstrapper.refresh(&ct, keys).unwrap();
            fresh.pair().parts().map(|c| c.to_words().unwrap())
        };
        assert!(words(&keys) == words(&back));
        // A circuit for integers is none for CKKS, neither in files nor in memory.
        let circuit = boot.circuit().to_frame();
        let refused = BootstrapParams::from_frame_insecure(&circuit);
        assert!(matches!(
            refused,
            Err(Error::Wire(WireError::UnsupportedBody { found: 8, supported: 7, .. }))
        ));
        let program = boot.circuit().params();
        let x = SecretEncryptor::new(program, &secret, &ring).unwrap().encrypt_real(&[0.5; 32], &mut rng(63));
        let x = x.unwrap().expand().unwrap();
        let refused = Bootstrapper::new(boot.circuit(), &ring).unwrap().refresh(&x, &keys).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "parameters of bootstrapping: they refresh integers; use exact::bootstrapping::Bootstrapper"
        );
    }
    check::<he::bfv::Bfv>(FrameKind::BfvBootstrapParams);
    check::<he::bgv::Bgv>(FrameKind::BgvBootstrapParams);
}

/// Every field of parameters for integers, changed.
#[test]
fn impossible_parameters_of_integers_are_refused() {
    let spec = exact::BootstrapSpec::insecure_for_depth::<he::bfv::Bfv>(257, 1, 6).unwrap();
    let boot = exact::BootstrapParams::<he::bfv::Bfv>::insecure(spec).unwrap();
    let whole = boot.to_frame();
    let read = |body: Vec<u8>| {
        let frame = Frame { kind: whole.kind, fingerprint: whole.fingerprint, body };
        exact::BootstrapParams::<he::bfv::Bfv>::from_frame_insecure(&frame)
    };
    let with = |at: usize, bytes: &[u8]| {
        let mut body = whole.body.to_vec();
        body[at..at + bytes.len()].copy_from_slice(bytes);
        read(body)
    };
    assert!(read(whole.body.to_vec()).is_ok());
    for (at, bytes) in [
        (0, &[2u8][..]),          // version
        (1, &0u64.to_le_bytes()), // t
        (1, &1u64.to_le_bytes()),
        (1, &u64::MAX.to_le_bytes()),
        (1, &258u64.to_le_bytes()), // of another fingerprint
        (9, &0u16.to_le_bytes()),   // iterations
        (9, &9u16.to_le_bytes()),
        (9, &u16::MAX.to_le_bytes()),
        (11, &[1]), // the circuit's version
        (12, &[7]), // the degree
        (13, &[3]), // slots
    ] {
        assert!(with(at, bytes).is_err(), "byte {at}: {bytes:?}");
    }
    for length in 0..whole.body.len() {
        assert!(read(whole.body[..length].to_vec()).is_err(), "{length} bytes");
    }
    assert!(read([&whole.body[..], &[0]].concat()).is_err());
}
