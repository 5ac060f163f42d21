//! Observes the allocator: false lengths cost no memory, and freed memory holds no secret key.
#![allow(missing_docs, clippy::unwrap_used)]
// An allocator cannot be written without unsafe code; this one counts, inspects freed memory, and
// passes everything on.
#![allow(unsafe_code)]

use he::backend::Cpu;
use he::ckks::{Ciphertext, CkksParams, CkksSpec, Decryptor, SecretEncryptor, SeededCiphertext};
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, PublicKey, SecretKey};
use he::wire::{Frame, FrameReader, FrameWriter, Wire, WireError, WireKeys, WireParams};
use rand::{SeedableRng, rngs::ChaCha20Rng};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::SeqCst};

struct Watching;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

const NEEDLE: usize = 24;
/// Pieces of a secret key, as signed bytes, as 64-bit words and packed. Freed memory is searched
/// for them while there are any.
static NEEDLES: [[AtomicU8; NEEDLE]; 3] = [const { [const { AtomicU8::new(0) }; NEEDLE] }; 3];
static WATCHED: AtomicUsize = AtomicUsize::new(0);
static FOUND: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator. Memory is zeroed when it is handed out, so
// that all of it may be read when it is freed.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), SeqCst) + layout.size();
        MOST.fetch_max(held, SeqCst);
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), SeqCst);
        let watched = WATCHED.load(SeqCst);
        if watched > 0 {
            // SAFETY: the block is the caller's until the end of this function, and initialised
            // since `alloc`.
            let freed = unsafe { std::slice::from_raw_parts(at, layout.size()) };
            for needle in &NEEDLES[..watched] {
                let hit = |piece: &[u8]| piece.iter().zip(needle).all(|(&byte, n)| byte == n.load(SeqCst));
                FOUND.fetch_add(usize::from(freed.windows(NEEDLE).any(hit)), SeqCst);
            }
        }
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// The most bytes that f held, beyond those held before.
fn most_held(f: impl FnOnce()) -> usize {
    let before = HELD.load(SeqCst);
    MOST.store(before, SeqCst);
    f();
    MOST.load(SeqCst) - before
}

/// This is a single test, so that nothing else allocates meanwhile.
#[test]
fn claims_cost_nothing_and_secrets_are_wiped() {
    claims_cost_nothing();
    freed_memory_holds_no_secret();
}

fn freed_memory_holds_no_secret() {
    let params = CkksParams::insecure(CkksSpec::from_bits(10, &[45, 36], &[46], 36.0).unwrap()).unwrap();
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let generate = || SecretKey::generate(params.rlwe(), &mut ChaCha20Rng::from_seed([2; 32]));
    let known = generate();
    let coefficients = known.expose_coefficients();
    let signed: Vec<u8> = coefficients.iter().map(|&c| c as u8).collect();
    let words: Vec<u8> = coefficients.iter().flat_map(|&c| i64::from(c).to_le_bytes()).collect();
    let packed = known.to_frame(&params).unwrap().body.to_vec();
    for (needle, bytes) in NEEDLES.iter().zip([&signed, &words, &packed]) {
        // Pieces are from the first quarter, since a growing vector frees its first half.
        needle.iter().zip(&bytes[bytes.len() / 4..]).for_each(|(n, &byte)| n.store(byte, SeqCst));
    }
    WATCHED.store(NEEDLES.len(), SeqCst);
    drop(vec![packed.clone(), signed.clone(), words.clone()]);
    assert_eq!(FOUND.swap(0, SeqCst), 3, "the watch sees what is not wiped");
    let stage = |name: &str| assert_eq!(FOUND.swap(0, SeqCst), 0, "{name} left a secret in freed memory");
    let secret = generate();
    stage("generating a key");
    let frame = secret.to_frame(&params).unwrap();
    let mut file = [0; 4096];
    let mut writer = FrameWriter::new(file.as_mut_slice());
    writer.write(&frame).unwrap();
    let left = writer.finish(params.fingerprint()).unwrap().len();
    drop(frame);
    stage("writing a key");
    let mut reader = FrameReader::new(&file[..file.len() - left]);
    let frame = reader.next_frame(|kind, _| params.key_frame_limit(kind)).unwrap().unwrap();
    stage("reading a frame");
    let read = SecretKey::from_frame(&params, (), &frame).unwrap();
    assert!(read.expose_coefficients() == coefficients);
    stage("reading a key");
    let sent = secret.to_bytes(&params).unwrap();
    stage("writing a key as bytes");
    let received = SecretKey::from_bytes(&params, &sent).unwrap();
    assert!(received.expose_coefficients() == coefficients);
    stage("reading a key from bytes");
    drop((sent, received));
    stage("dropping bytes of a key");
    drop((frame, secret));
    stage("dropping a key");
    drop(Decryptor::new(&params, &read, &ring).unwrap());
    drop(SecretEncryptor::new(&params, &read, &ring).unwrap());
    stage("a decryptor");
    drop(read);
    stage("dropping the read key");
    WATCHED.store(0, SeqCst);
}

fn claims_cost_nothing() {
    let params = CkksSpec::from_bits(5, &[45, 36, 36], &[46], 36.0).unwrap();
    let params = CkksParams::insecure(params).unwrap();
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let secret = SecretKey::generate(params.rlwe(), &mut ChaCha20Rng::from_seed([1; 32]));
    let frame = secret.to_frame(&params).unwrap();
    let mut writer = FrameWriter::new(Vec::new());
    writer.write(&frame).unwrap();
    let bytes = writer.finish(params.fingerprint()).unwrap();

    // For any length up to 2^64 - 1, even if the caller allows it, at most a megabyte is allocated
    // before bytes arrive.
    for claim in [1 << 16, 1 << 20, 1 << 30, 1 << 40, 1 << 62, u64::MAX] {
        let mut bytes = bytes.clone();
        bytes[40..48].copy_from_slice(&claim.to_le_bytes());
        let held = most_held(|| {
            let result = FrameReader::new(bytes.as_slice()).next_frame(|_, _| u64::MAX);
            assert!(matches!(result, Err(WireError::Truncated)), "{result:?}");
        });
        assert!(held <= (1 << 20) + 4096, "a claim of {claim} bytes took {held}");
    }
    // No frame of a byte string (the key set, the key, the end mark) holds a body that is longer
    // than the string.
    let sent = secret.to_bytes(&params).unwrap().to_vec();
    let key = 48 + 16 + 32;
    for at in [0, key, key + 48 + 8 + 32] {
        for claim in [sent.len() as u64 + 1, 1 << 20, 1 << 40, u64::MAX] {
            let mut bytes = sent.clone();
            bytes[at + 40..at + 48].copy_from_slice(&claim.to_le_bytes());
            let held = most_held(|| {
                let result = SecretKey::from_bytes(&params, &bytes);
                assert!(matches!(result, Err(he::Error::Wire(WireError::Truncated))), "{result:?}");
            });
            assert!(held < 4096, "a claim of {claim} bytes at {at} took {held}");
        }
    }
    // With the limit of the parameters it is refused before anything is allocated.
    let mut claim = bytes.clone();
    claim[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
    let held = most_held(|| {
        let limit = |kind, _| params.key_frame_limit(kind);
        let result = FrameReader::new(claim.as_slice()).next_frame(limit);
        assert!(matches!(result, Err(WireError::Length { found: u64::MAX, .. })), "{result:?}");
    });
    assert!(held < 1024, "{held}");
    // A growing body is held at most three times: as the old piece, the new piece, and the file
    // itself, which is the caller's.
    let length = 10 << 20;
    let mut long = bytes[..48].to_vec();
    long[40..48].copy_from_slice(&(length as u64 + 1).to_le_bytes());
    long.resize(48 + length, 0);
    let held = most_held(|| {
        let result = FrameReader::new(long.as_slice()).next_frame(|_, _| u64::MAX);
        assert!(matches!(result, Err(WireError::Truncated)));
    });
    assert!(held <= 3 * length, "{held}");

    // Batches, levels and lists that promise more than there is, in bodies with right checksums.
    let with_body = |kind: u16, body: &[u8]| -> Frame {
        let mut raw = b"HEWF\x01\x00".to_vec();
        raw.extend(kind.to_le_bytes());
        raw.extend(params.fingerprint().0);
        raw.extend((body.len() as u64).to_le_bytes());
        raw.extend(body);
        let checksum = blake3::hash(&raw);
        raw.extend(checksum.as_bytes());
        FrameReader::new(raw.as_slice()).next_frame(|_, _| 1 << 20).unwrap().unwrap()
    };
    let fields = |batch: u32| {
        let scale = 36f64.exp2().to_bits().to_le_bytes();
        [&2u16.to_le_bytes()[..], &[4], &batch.to_le_bytes(), &scale, &[0; 300]].concat()
    };
    for batch in [2, 1000, 1 << 31, u32::MAX] {
        let (full, seeded) = (with_body(6, &fields(batch)), with_body(7, &fields(batch)));
        let held = most_held(|| {
            assert!(Ciphertext::from_frame(&params, &ring, &full).is_err());
            assert!(SeededCiphertext::from_frame(&params, &ring, &seeded).is_err());
        });
        assert!(held < 4096, "a batch of {batch} took {held}");
    }
    for at in 0..4 {
        // Four empty lists, one of which claims 65535 entries.
        let mut body = vec![5];
        (0..4).for_each(|i| body.extend(if i == at { u16::MAX } else { 0u16 }.to_le_bytes()));
        body.extend([0; 8]);
        let frame = with_body(1, &body);
        let held = most_held(|| assert!(CkksParams::from_frame_insecure(&frame).is_err()));
        assert!(held < 4096, "list {at} took {held}");
    }
    for kind in 2..=5 {
        let frame = with_body(kind, &[3; 100]);
        let held = most_held(|| {
            assert!(SecretKey::from_frame(&params, (), &frame).is_err());
            assert!(PublicKey::from_frame(&params, &ring, &frame).is_err());
            let mut keys = EvaluationKeys::empty(params.rlwe(), &ring).unwrap();
            assert!(keys.insert_frame(&params, &frame).is_err());
        });
        assert!(held < 16384, "kind {kind} took {held}");
    }
}
