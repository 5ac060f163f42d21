//! Refreshes of BFV and BGV: their time, and noise budgets before and after.

use super::bootstrap::{Effort, least};
use super::keys::rng;
use super::measure::{Lab, Place};
use super::report::{Show, Table, Unit, Value};
use crate::error::{Error, Result};
use he_core::backend::RingOps;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::bootstrapping::BootstrapKeys;
use he_core::exact::bootstrapping::{BootstrapParams, Bootstrapper};
use he_core::exact::{Decryptor, Evaluator, Scheme, SecretEncryptor};
use he_core::rlwe::SecretKey;
use rand::RngExt;
use std::fmt;
use std::time::{Duration, Instant};

/// A scheme and its plaintext modulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// BFV modulo t.
    Bfv(u64),
    /// BGV modulo t.
    Bgv(u64),
}

impl Subject {
    /// The subjects that are measured if none is chosen.
    pub const USUAL: [Self; 4] = [Self::Bfv(257), Self::Bfv(65537), Self::Bfv(1 << 20), Self::Bgv(65537)];
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bfv(t) => write!(f, "bfv:{t}"),
            Self::Bgv(t) => write!(f, "bgv:{t}"),
        }
    }
}

impl std::str::FromStr for Subject {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let of = |scheme: &str| name.strip_prefix(scheme)?.strip_prefix(':')?.parse().ok();
        let subject = of("bfv").map(Self::Bfv).or_else(|| of("bgv").map(Self::Bgv));
        subject.ok_or_else(|| "a scheme and a modulus are needed, such as bfv:65537 or bgv:257".to_owned())
    }
}

const ID: &str = "refresh";

/// The names of the tables.
pub fn names() -> Vec<String> {
    vec![ID.to_owned()]
}

/// One row.
struct Measured {
    calls: Vec<Duration>,
    iterations: usize,
    primes: [usize; 2],
    /// Bits of noise budget: before, predicted after, and the least that was measured after.
    budgets: [f64; 3],
    key_bytes: usize,
}

/// The table of the device that was chosen: the GPU, or all threads of the CPU.
///
/// # Errors
/// The device fails; a result is wrong; the errors of `show`.
pub fn tables(lab: &Lab, subjects: &[Subject], effort: Effort, show: &mut Show<'_>) -> Result<()> {
    let mut rows = Vec::new();
    for subject in subjects {
        lab.announce(&format!("refreshes of {subject}"));
        rows.push(match &lab.gpu {
            Some(gpu) => measure(lab, gpu, *subject, effort)?,
            None => measure(lab, &lab.threads, *subject, effort)?,
        });
    }
    let device = lab.gpu.as_ref().map_or(&lab.threads.name, |gpu| &gpu.name);
    let mut table = Table::new(ID, "Refreshes of BFV and BGV, one call", "scheme and t", Unit::Milliseconds)
        .categories(subjects);
    let value = |time: Duration| Value::Number(time.as_secs_f64());
    table.measured(&format!("{device}, least"), rows.iter().map(|row| value(least(&row.calls))));
    let mut remark =
        |name: &str, text: &dyn Fn(&Measured) -> String| table.remark(name, rows.iter().map(text));
    remark("bootstraps", &|row| row.iterations.to_string());
    remark("primes for programs, of all", &|row| format!("{} of {}", row.primes[0], row.primes[1]));
    remark("bits before", &|row| format!("{:.1}", row.budgets[0]));
    remark("bits after, predicted", &|row| format!("{:.1}", row.budgets[1]));
    remark("measured", &|row| format!("{:.1}", row.budgets[2]));
    remark("keys, GB", &|row| format!("{:.2}", row.key_bytes as f64 / 1e9));
    let (runs, batch) = (effort.runs, effort.batch);
    table.note(format!("room for one product after a refresh; runs: {runs}, ciphertexts in each: {batch}"));
    show(table)
}

fn measure<B: RingOps>(lab: &Lab, place: &Place<B>, subject: Subject, effort: Effort) -> Result<Measured>
where
    Place<B>: Sync,
{
    place.on(|| match subject {
        Subject::Bfv(t) => runs::<Bfv, B>(lab, &place.backend, t, effort),
        Subject::Bgv(t) => runs::<Bgv, B>(lab, &place.backend, t, effort),
    })
}

/// Refreshes ciphertexts with just enough budget left.
fn runs<S: Scheme, B: RingOps>(lab: &Lab, device: &B, t: u64, effort: Effort) -> Result<Measured> {
    let rng = &mut rng();
    let boot = BootstrapParams::<S>::for_depth(t, 1)?;
    let (params, ring) = (boot.params(), boot.ring(device.clone())?);
    let secret = SecretKey::generate(params.rlwe(), rng);
    let keys = BootstrapKeys::generate(&secret, boot.circuit(), &ring, rng)?;
    let bootstrapper = Bootstrapper::new(&boot, &ring)?;
    let ev = Evaluator::new(params, &ring)?;
    let decryptor = Decryptor::new(params, &secret, &ring)?;
    let values: Vec<Vec<u64>> =
        (0..effort.batch).map(|_| (0..ring.n()).map(|_| rng.random_range(0..t)).collect()).collect();
    let slices: Vec<&[u64]> = values.iter().map(Vec::as_slice).collect();
    let plain = ev.encoder().encode_coefficients_batch(&slices)?;
    let mut ct = SecretEncryptor::new(params, &secret, &ring)?.encrypt(&plain, rng)?.expand()?;
    // A factor and its inverse take budget, and leave the message.
    let wrong = |what: &str| Error::WrongResult { what: format!("{} modulo {t}: {what}", S::NAME) };
    let units = [3, 5, 7].into_iter().filter_map(|unit| Some((unit, params.plain().invert(unit % t)?)));
    let (unit, inverse) = units.clone().next().ok_or_else(|| wrong("3, 5 and 7 have no inverse"))?;
    let before = loop {
        let spent = ev.mul_scalar(&ev.mul_scalar(&ct, unit as i64)?, inverse as i64)?;
        let left = ct.predicted_budget(params);
        if spent.predicted_budget(params) < boot.needed_budget() {
            break left;
        }
        ct = spent;
    };
    let mut measured = Measured {
        calls: Vec::new(),
        iterations: boot.spec().iterations,
        primes: [params.max_level() + 1, boot.ring_spec().q().len()],
        budgets: [before, 0.0, f64::INFINITY],
        key_bytes: keys.bytes(),
    };
    for _ in 0..effort.runs {
        device.synchronize()?;
        let begin = Instant::now();
        let fresh = bootstrapper.refresh(&ct, &keys)?;
        device.synchronize()?;
        measured.calls.push(begin.elapsed().max(Duration::from_nanos(1)));
        measured.budgets[1] = fresh.predicted_budget(params);
        let left = decryptor.noise_budget(&fresh)?;
        measured.budgets[2] = left.into_iter().fold(measured.budgets[2], f64::min);
        if ev.encoder().decode_coefficients::<u64>(&decryptor.decrypt(&fresh)?)? != values {
            return Err(wrong("a refreshed message differs"));
        }
        if lab.is_long(measured.calls.iter().sum::<Duration>().as_secs_f64()) {
            break;
        }
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_named_as_they_are_read() {
        for subject in Subject::USUAL {
            assert_eq!(subject.to_string().parse(), Ok(subject));
        }
        for name in ["bfv", "bfv:", "bfv:x", "ckks:5", "bgv:-1"] {
            assert!(name.parse::<Subject>().is_err_and(|error| error.contains("bfv:65537")), "{name}");
        }
    }
}
