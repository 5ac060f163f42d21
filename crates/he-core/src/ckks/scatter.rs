//! One batch on several devices.

use super::Ciphertext;
use crate::backend::RingOps;
use crate::error::{Error, Result};
use crate::ring::Ring;

/// Scatters a batch over several devices, applies f to each part and gathers the results. `rings`
/// are the same ring on each of them (one may occur twice). Device i computes `f(i, part)` on a run
/// of neighbouring entries, as evenly distributed as possible, and the results are joined on the
/// ring of `ct`, in order. f must keep the batch of its part and use keys and evaluators on the
/// ring of device i; parts of different devices run at the same time. Parts on another ring than
/// that of `ct` pass through the host. With fewer entries than devices, only the first devices
/// work.
///
/// # Errors
/// [`Error::Argument`] without rings; [`Error::RingMismatch`] if one has other primes;
/// [`Error::BatchMismatch`] if f changes a batch; the first error of f; device errors.
pub fn scatter<B: RingOps>(
    rings: &[Ring<B>],
    ct: &Ciphertext<B>,
    f: impl Fn(usize, Ciphertext<B>) -> Result<Ciphertext<B>> + Sync,
) -> Result<Ciphertext<B>> {
    if rings.is_empty() {
        return Err(Error::argument("rings", "at least one device is needed"));
    }
    let (home, batch) = (ct.pair().ring(), ct.batch());
    let devices = rings.len().min(batch);
    let bound = |device: usize| batch * device / devices;
    let work = |device: usize| -> Result<Ciphertext<B>> {
        let entries = bound(device)..bound(device + 1);
        let (count, ring) = (entries.len(), &rings[device]);
        let part = ct.slice_batch(entries)?;
        let result = f(device, if ring.same(home) { part } else { part.to(ring)? })?;
        if result.batch() != count {
            return Err(Error::BatchMismatch { left: count, right: result.batch() });
        }
        if result.pair().ring().same(home) { Ok(result) } else { result.to(home) }
    };
    // One thread per device, so that waiting for one device does not delay the others.
    let parts = std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..devices).map(|device| scope.spawn(move || work(device))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<Ciphertext<B>>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    Ciphertext::concat(&parts.iter().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Cpu;
    use crate::ckks::{CkksParams, CkksSpec, Encoder, Encryptor, Evaluator};
    use crate::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, SecretKey};
    use num_complex::Complex64;
    use rand::{SeedableRng, rngs::ChaCha20Rng};

    #[test]
    fn equals_the_batch_on_one_device() {
        let spec = CkksSpec::from_bits(6, &[45, 36, 36], &[46], 36.0).unwrap();
        let params = CkksParams::insecure(spec).unwrap();
        let rings: Vec<Ring<Cpu>> =
            (0..3).map(|_| Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap()).collect();
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        let public = PublicKey::generate(&secret, &rings[0], &mut rng).unwrap();
        let keys = EvaluationKeys::generate(
            &secret,
            &rings[0],
            KeyRequirements::new().relinearisation().rotations([1]),
            &mut rng,
        )
        .unwrap();
        let keys: Vec<_> = rings.iter().map(|ring| keys.to(ring).unwrap()).collect();
        let evaluators: Vec<_> = rings.iter().map(|ring| Evaluator::new(&params, ring).unwrap()).collect();
        let encryptor = Encryptor::new(&params, &public).unwrap();
        let program = |device: usize, ct: Ciphertext<Cpu>| {
            let ev = &evaluators[device];
            ev.mul(&ct, &ev.rotate(&ct, 1, &keys[device])?, &keys[device])
        };
        let words = |ct: &Ciphertext<Cpu>| ct.pair().parts().map(|c| c.to_words().unwrap());
        for batch in [1, 2, 3, 7] {
            let vectors: Vec<Vec<Complex64>> =
                (0..batch).map(|i| vec![Complex64::new(f64::from(i), 0.5); 32]).collect();
            let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
            let encoder = Encoder::new(&params, &rings[0]).unwrap();
            let plain = encoder.encode_batch(&vectors, params.encoding()).unwrap();
            let ct = encryptor.encrypt(&plain, &mut rng).unwrap();
            let whole = program(0, ct.duplicate().unwrap()).unwrap();
            for devices in 1..=3 {
                let together = scatter(&rings[..devices], &ct, program).unwrap();
                assert_eq!(words(&together), words(&whole), "batch {batch} on {devices} devices");
                assert!(together.pair().ring().same(&rings[0]));
                assert_eq!((together.level(), together.scale()), (whole.level(), whole.scale()));
            }
        }
    }

    #[test]
    fn refuses_what_cannot_be() {
        let spec = CkksSpec::from_bits(4, &[45, 36], &[46], 36.0).unwrap();
        let params = CkksParams::insecure(spec).unwrap();
        let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(6);
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        let public = PublicKey::generate(&secret, &ring, &mut rng).unwrap();
        let encoder = Encoder::new(&params, &ring).unwrap();
        let value = [Complex64::new(1.0, 0.0)];
        let plain = encoder.encode_batch(&[&value, &value], params.encoding()).unwrap();
        let ct = Encryptor::new(&params, &public).unwrap().encrypt(&plain, &mut rng).unwrap();
        assert!(matches!(scatter(&[], &ct, |_, ct| Ok(ct)), Err(Error::Argument { what: "rings", .. })));
        let shrink = |_, ct: Ciphertext<Cpu>| ct.slice_batch(0..1);
        let error = scatter(std::slice::from_ref(&ring), &ct, shrink);
        assert!(matches!(error, Err(Error::BatchMismatch { left: 2, right: 1 })));
        let fails = |_, _| Err(Error::MissingRelinKey);
        assert!(matches!(scatter(std::slice::from_ref(&ring), &ct, fails), Err(Error::MissingRelinKey)));
    }
}
