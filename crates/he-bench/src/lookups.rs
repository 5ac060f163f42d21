//! Tables that are looked up in CKKS while messages are refreshed: time and noise.

use super::bootstrap::{Effort, Subject, least};
use super::integers;
use super::keys::rng;
use super::measure::{Lab, Place};
use super::report::{Show, Table, Unit, Value};
use crate::error::{Error, Result};
use he_core::backend::RingOps;
use he_core::bootstrapping::lookup::LookupTables;
use he_core::bootstrapping::{BootstrapKeys, Bootstrapper};
use he_core::ckks::{Ciphertext, Complex64, Decryptor, Evaluator, SecretEncryptor};
use he_core::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
use rand::{Rng, RngExt};
use std::time::{Duration, Instant};

/// The numbers of entries of tables.
const SIZES: [usize; 3] = [2, 16, 256];

/// The names of the tables.
pub fn names(subjects: &[Subject]) -> Vec<String> {
    let of_integers = subjects.iter().filter(|subject| integers::fits(subject)).map(integers::id);
    subjects.iter().map(id).chain(of_integers).collect()
}

fn id(subject: &Subject) -> String {
    format!("lookups-{}", subject.name)
}

/// One row: messages in real parts, or in both parts.
struct Measured {
    entries: usize,
    messages: usize,
    calls: Vec<Duration>,
    level: usize,
    /// Root mean square and greatest error, as predicted and as measured.
    predicted: [f64; 2],
    measured: [f64; 2],
    failure_log2: f64,
}

/// The tables of the device that was chosen: the GPU, or all threads of the CPU.
///
/// # Errors
/// The device fails; a result is wrong; the errors of `show`.
pub fn tables(lab: &Lab, subjects: &[Subject], effort: Effort, show: &mut Show<'_>) -> Result<()> {
    for subject in subjects.iter().filter(|subject| lab.wants(&id(subject))) {
        lab.announce(&format!("look-ups, {}", subject.name));
        let (device, rows) = match &lab.gpu {
            Some(gpu) => (&gpu.name, measure(lab, gpu, subject, effort)?),
            None => (&lab.threads.name, measure(lab, &lab.threads, subject, effort)?),
        };
        show(shown(subject, device, effort, &rows))?;
    }
    let wanted = |subject: &&Subject| integers::fits(subject) && lab.wants(&integers::id(subject));
    subjects.iter().filter(wanted).try_for_each(|subject| integers::table(lab, subject, effort, show))
}

fn shown(subject: &Subject, device: &str, effort: Effort, rows: &[Measured]) -> Table {
    let title = format!("Look-ups in CKKS with `{}`, one call", subject.name);
    let category = |row: &Measured| format!("{} messages, {} entries", row.messages, row.entries);
    let mut table = Table::new(id(subject), &title, "messages and table", Unit::Milliseconds)
        .categories(rows.iter().map(category));
    let value = |time: Duration| Value::Number(time.as_secs_f64());
    table.measured(&format!("{device}, least"), rows.iter().map(|row| value(least(&row.calls))));
    let mut remark =
        |name: &str, text: &dyn Fn(&Measured) -> String| table.remark(name, rows.iter().map(text));
    remark("level after", &|row| row.level.to_string());
    remark("log2 of the error, predicted", &|row| format!("{:.1}", row.predicted[0].log2()));
    remark("measured", &|row| format!("{:.1}", row.measured[0].log2()));
    remark("at worst, predicted", &|row| format!("{:.1}", row.predicted[1].log2()));
    remark("measured at worst", &|row| format!("{:.1}", row.measured[1].log2()));
    remark("log2 of failure", &|row| format!("{:.0}", row.failure_log2));
    let (runs, batch) = (effort.runs, effort.batch);
    table.note(format!("errors in units of one entry; runs: {runs}, ciphertexts in each: {batch}"));
    table
}

fn measure<B: RingOps>(
    lab: &Lab,
    place: &Place<B>,
    subject: &Subject,
    effort: Effort,
) -> Result<Vec<Measured>>
where
    Place<B>: Sync,
{
    place.on(|| runs(lab, &place.backend, subject, effort))
}

/// Keys and what computes with them.
struct World<B: RingOps> {
    keys: BootstrapKeys<B>,
    program: EvaluationKeys<B>,
    bootstrapper: Bootstrapper<B>,
    decryptor: Decryptor<B>,
}

fn runs<B: RingOps>(lab: &Lab, device: &B, subject: &Subject, effort: Effort) -> Result<Vec<Measured>> {
    let (boot, rng) = (&subject.params, &mut rng());
    let (params, ring) = (boot.params(), boot.ring(device.clone())?);
    let secret = SecretKey::generate(params.rlwe(), rng);
    let needs = KeyRequirements::new().relinearisation().conjugation();
    let world = World {
        keys: BootstrapKeys::generate(&secret, boot, &ring, rng)?,
        program: EvaluationKeys::generate(&secret, &ring, needs, rng)?,
        bootstrapper: Bootstrapper::new(boot, &ring)?,
        decryptor: Decryptor::new(params, &secret, &ring)?,
    };
    let ev = Evaluator::new(params, &ring)?;
    let encryptor = SecretEncryptor::new(params, &secret, &ring)?;
    let mut rows = Vec::new();
    for p in SIZES {
        let table: Vec<f64> = (0..p).map(|_| rng.random_range(0..p) as f64).collect();
        let tables = LookupTables::new(boot, &[&table])?;
        if tables.output_level().is_err() {
            continue;
        }
        let messages: Vec<Vec<Complex64>> =
            (0..effort.batch).map(|_| messages(rng, p, boot.slots())).collect();
        let slices: Vec<&[Complex64]> = messages.iter().map(Vec::as_slice).collect();
        let plain = ev.encoder().encode_batch(&slices, params.encoding().slots(boot.slots()))?;
        let ct = encryptor.encrypt(&plain, rng)?.expand()?;
        let ct = ev.mod_switch_to(&ct, boot.input_level())?;
        for parts in [false, true] {
            rows.push(row(lab, device, &world, &ct, (&tables, &table, &messages, parts), effort)?);
        }
    }
    Ok(rows)
}

/// Two random messages in each slot.
fn messages(rng: &mut impl Rng, p: usize, count: usize) -> Vec<Complex64> {
    let mut message = || rng.random_range(0..p) as f64;
    (0..count).map(|_| Complex64::new(message(), message())).collect()
}

fn row<B: RingOps>(
    lab: &Lab,
    device: &B,
    world: &World<B>,
    ct: &Ciphertext<B>,
    (tables, table, messages, parts): (&LookupTables, &[f64], &[Vec<Complex64>], bool),
    effort: Effort,
) -> Result<Measured> {
    let World { keys, program, bootstrapper, decryptor } = world;
    let (mut calls, mut found) = (Vec::new(), Vec::new());
    for _ in 0..effort.runs {
        device.synchronize()?;
        let begin = Instant::now();
        found = match parts {
            false => bootstrapper.look_up(ct, tables, keys, program)?,
            true => bootstrapper.look_up_parts(ct, tables, keys, program)?,
        };
        device.synchronize()?;
        calls.push(begin.elapsed().max(Duration::from_nanos(1)));
        if lab.is_long(calls.iter().sum::<Duration>().as_secs_f64()) {
            break;
        }
    }
    let result = &found[0];
    let mut errors = Vec::new();
    for (index, messages) in messages.iter().enumerate() {
        let slots = decryptor.decrypt_complex(&result.slice_batch(index..index + 1)?)?;
        for (z, m) in slots.iter().zip(messages) {
            errors.push((z.re - table[m.re as usize]).abs());
            errors.extend(parts.then(|| (z.im - table[m.im as usize]).abs()));
        }
    }
    let worst = errors.iter().copied().fold(0.0, f64::max);
    if worst > tables.tolerance() {
        return Err(Error::WrongResult {
            what: format!("a look-up of {} entries errs by {worst}", table.len()),
        });
    }
    let square = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
    let n = tables.params().ring_spec().n() as f64;
    let predicted = result.noise().map_or([f64::INFINITY; 2], |noise| {
        [noise.rms_log2.exp2() * (n / 2.0).sqrt(), noise.peak_log2.exp2()].map(|error| error / result.scale())
    });
    Ok(Measured {
        entries: table.len(),
        messages: errors.len(),
        calls,
        level: result.level(),
        predicted,
        measured: [square.sqrt(), worst],
        failure_log2: tables.failure_log2(0.0),
    })
}
