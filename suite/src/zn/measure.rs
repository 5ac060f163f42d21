//! The time of products whose operands are on the device already, which is what remains of a query
//! when files and text are left out.

use super::files::{BATCH, ciphertexts};
use super::{params, ring};
use crate::device::device;
use crate::error::Error;
use he::Device;
use he::backend::Backend as _;
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
use he::words::{Multiplicand, Multiplier, Operand, WordDecryptor, WordEncryptor, WordEvaluator, Words};
use std::time::{Duration, Instant};

/// The most ciphertexts of one call.
const CALL: u64 = 8192;
/// How often everything is multiplied.
const RUNS: usize = 5;

/// Multiplies so many pairs several times, and prints the least and the median time.
pub(super) fn measure(count: u64) -> Result<(), Error> {
    let (params, mut rng) = (params()?, he::rand::rng());
    let ring = ring(&params, device()?)?;
    let secret = SecretKey::generate(params.ckks().rlwe(), &mut rng);
    let needs = KeyRequirements::new().relinearisation();
    let keys = EvaluationKeys::generate(&secret, &ring, needs, &mut rng)?;
    let (encryptor, ev) = (WordEncryptor::new(&params, &secret, &ring)?, WordEvaluator::new(&params, &ring)?);
    let words: Vec<u64> = (1..=(BATCH * params.words_per_ciphertext()) as u64)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    let left = encryptor.encrypt::<Multiplicand>(&words, &mut rng)?.expand()?;
    let right = encryptor.encrypt::<Multiplier>(&words, &mut rng)?.expand()?;
    let pairs = resident(&left, &right, ciphertexts(&params, count))?;
    let mut times = Vec::new();
    for _ in 0..=RUNS {
        times.push(time(&ring, || {
            pairs.iter().try_for_each(|(left, right)| ev.multiply(left, right, &keys).map(drop))
        })?);
    }
    let products = ev.multiply(&pairs[0].0, &pairs[0].1, &keys)?;
    let found = WordDecryptor::new(&params, &secret, &ring)?.decrypt(&products)?;
    if found.iter().zip(&words).any(|(found, word)| *found != word.wrapping_mul(*word)) {
        return Err(Error::Server("a product is wrong".into()));
    }
    // The first run also warms up the device.
    times.remove(0);
    times.sort();
    let [least, median] = [times[0], times[RUNS / 2]].map(|time| time.as_secs_f64() * 1e3);
    println!("{}: {count} products, {least:.3} ms at least, {median:.3} ms median", ring.backend().name());
    Ok(())
}

/// Both sides of a batch of pairs.
type Pair<L, R> = (Words<L, Device>, Words<R, Device>);

/// Copies of a pair of batches, until there are so many ciphertexts.
fn resident<L: Operand, R: Operand>(
    left: &Words<L, Device>,
    right: &Words<R, Device>,
    ciphertexts: u64,
) -> Result<Vec<Pair<L, R>>, Error> {
    let mut pairs = Vec::new();
    let mut rest = ciphertexts;
    while rest > 0 {
        let batch = rest.min(CALL) as usize;
        pairs.push((repeated(left, batch)?, repeated(right, batch)?));
        rest -= batch as u64;
    }
    Ok(pairs)
}

fn repeated<R: Operand>(words: &Words<R, Device>, batch: usize) -> Result<Words<R, Device>, Error> {
    let whole: Vec<_> = (0..batch.div_ceil(words.batch())).map(|_| words).collect();
    Ok(Words::concat(&whole)?.slice_batch(0..batch)?)
}

fn time(ring: &Ring<Device>, work: impl FnOnce() -> he::Result<()>) -> Result<Duration, Error> {
    let start = Instant::now();
    work()?;
    ring.backend().synchronize()?;
    Ok(start.elapsed())
}
