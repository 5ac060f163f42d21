//! Integers in slots of CKKS: comparisons, sums, products, sorting and a decision tree.

use super::bootstrap::{Effort, Subject, least};
use super::keys::rng;
use super::measure::{Lab, Place};
use super::report::{Show, Table, Unit, Value};
use crate::error::{Error, Result};
use he_core::backend::RingOps;
use he_core::bootstrapping::integers::{DecisionTree, IntegerEvaluator, SlotIntegers, Width};
use he_core::bootstrapping::{BootstrapKeys, Bootstrapper};
use he_core::ckks::{Decryptor, SecretEncryptor};
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
use he_core::words::{
    Multiplicand, Multiplier, Product, WordDecryptor, WordEncryptor, WordEvaluator, WordParams,
};
use rand::{Rng, RngExt};
use std::time::{Duration, Instant};

/// The features, and the depth of the tree.
const FEATURES: usize = 4;
const DEPTH: u32 = 6;
/// The slots from which on long operations are measured on a GPU only.
const LARGE: usize = 1 << 12;
/// The levels of the largest tables, for sums of products.
const LEVELS: usize = 10;
/// The products of words.
const WORDS: usize = 1_000_000;

/// The name of the table.
pub(crate) fn id(subject: &Subject) -> String {
    format!("integers-{}", subject.name)
}

/// Whether programs have the levels of all operations.
pub(crate) fn fits(subject: &Subject) -> bool {
    let params = &subject.params;
    params.output_level() - params.input_level() >= LEVELS
}

/// One row.
struct Measured {
    what: String,
    count: usize,
    calls: Vec<Duration>,
}

/// The table of the device that was chosen: the GPU, or all threads of the CPU.
///
/// # Errors
/// The device fails; a result is wrong; the errors of `show`.
pub(crate) fn table(lab: &Lab, subject: &Subject, effort: Effort, show: &mut Show<'_>) -> Result<()> {
    lab.announce(&format!("integers in slots, {}", subject.name));
    let (device, rows) = match &lab.gpu {
        Some(gpu) => (&gpu.name, measure(lab, gpu, subject, effort)?),
        None => (&lab.threads.name, measure(lab, &lab.threads, subject, effort)?),
    };
    let title = format!("Integers in slots with `{}`, one call", subject.name);
    let mut table = Table::new(id(subject), &title, "operation", Unit::Milliseconds)
        .categories(rows.iter().map(|row| row.what.clone()));
    let value = |time: Duration| Value::Number(time.as_secs_f64());
    table.measured(&format!("{device}, least"), rows.iter().map(|row| value(least(&row.calls))));
    table.remark("numbers", rows.iter().map(|row| row.count.to_string()));
    table.note(format!("all results are right; runs: {}", effort.runs));
    show(table)
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
    place.on(|| {
        let mut rows = in_slots(lab, &place.backend, subject, effort)?;
        rows.extend(words(lab, &place.backend, effort)?);
        Ok(rows)
    })
}

/// The clock of one operation, which it runs a number of times.
struct Clock<'a, B> {
    lab: &'a Lab,
    device: &'a B,
    runs: usize,
}

impl<B: RingOps> Clock<'_, B> {
    fn row<T>(
        &self,
        what: &str,
        count: usize,
        call: impl Fn() -> he_core::Result<T>,
        right: impl FnOnce(&T) -> Result<bool>,
    ) -> Result<Measured> {
        let mut calls: Vec<Duration> = Vec::new();
        let mut found = None;
        for _ in 0..self.runs {
            // The memory of the last result serves the next one.
            drop(found.take());
            self.device.synchronize()?;
            let begin = Instant::now();
            found = Some(call()?);
            self.device.synchronize()?;
            calls.push(begin.elapsed().max(Duration::from_nanos(1)));
            if self.lab.is_long(calls.iter().sum::<Duration>().as_secs_f64()) {
                break;
            }
        }
        match found.map(|found| right(&found)).transpose()? {
            Some(true) => Ok(Measured { what: what.to_owned(), count, calls }),
            _ => Err(Error::WrongResult { what: what.to_owned() }),
        }
    }
}

fn zipped<T>(a: &[u64], b: &[u64], f: impl Fn(u64, u64) -> T) -> Vec<T> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

fn in_slots<B: RingOps>(lab: &Lab, device: &B, subject: &Subject, effort: Effort) -> Result<Vec<Measured>> {
    let (boot, rng) = (&subject.params, &mut rng());
    let (params, ring, slots) = (boot.params(), boot.ring(device.clone())?, boot.slots());
    let secret = SecretKey::generate(params.rlwe(), rng);
    let keys = BootstrapKeys::generate(&secret, boot, &ring, rng)?;
    let needs = IntegerEvaluator::<B>::sort_requirements(boot);
    let program = EvaluationKeys::generate(&secret, &ring, needs, rng)?;
    let bootstrapper = Bootstrapper::new(boot, &ring)?;
    let decryptor = Decryptor::new(params, &secret, &ring)?;
    let encryptor = SecretEncryptor::new(params, &secret, &ring)?;
    let clock = Clock { lab, device, runs: effort.runs };
    let long = slots < LARGE || lab.gpu.is_some();
    let numbers = |rng: &mut dyn Rng, width: Width| -> Vec<u64> {
        (0..slots).map(|_| rng.random::<u64>() & width.mask()).collect()
    };
    let mut rows = Vec::new();
    for width in [Width::U16, Width::U64] {
        let (a, mut b) = (numbers(rng, width), numbers(rng, width));
        b.iter_mut().zip(&a).step_by(3).for_each(|(b, a)| *b = *a);
        let x = SlotIntegers::encrypt(&a, width, &encryptor, rng)?;
        let y = SlotIntegers::encrypt(&b, width, &encryptor, rng)?;
        let ev = IntegerEvaluator::new(&bootstrapper, &keys, &program, width)?;
        let name = |what: &str| format!("{what}, u{}", width.bits());
        let less = zipped(&a, &b, |a, b| a < b);
        rows.push(clock.row(
            &name("less"),
            slots,
            || ev.lt(&x, &y),
            |found| Ok(found.decrypt(&decryptor)? == less),
        )?);
        let sums = zipped(&a, &b, |a, b| a.wrapping_add(b) & width.mask());
        rows.push(clock.row(
            &name("sum"),
            slots,
            || ev.add(&x, &y),
            |found| Ok(found.decrypt(&decryptor)? == sums),
        )?);
        if long {
            let products = zipped(&a, &b, |a, b| a.wrapping_mul(b) & width.mask());
            let right = |found: &SlotIntegers<B>| Ok(found.decrypt(&decryptor)? == products);
            rows.push(clock.row(&name("product"), slots, || ev.mul(&x, &y), right)?);
        }
        if long && width == Width::U16 {
            let mut sorted = a.clone();
            sorted.sort_unstable();
            let right = |found: &SlotIntegers<B>| Ok(found.decrypt(&decryptor)? == sorted);
            rows.push(clock.row(&name("sort"), slots, || ev.sort(&x), right)?);
        }
    }
    let width = Width::U8;
    let ev = IntegerEvaluator::new(&bootstrapper, &keys, &program, width)?;
    let plain: Vec<Vec<u64>> = (0..FEATURES).map(|_| numbers(rng, width)).collect();
    let encrypt =
        |values: &Vec<u64>| SlotIntegers::encrypt(values, width, &encryptor, &mut super::keys::rng());
    let features = plain.iter().map(encrypt).collect::<he_core::Result<Vec<_>>>()?;
    let features: Vec<_> = features.iter().collect();
    let count = (1 << DEPTH) - 1;
    let nodes: Vec<(usize, u64)> = (0..count).map(|k| (k % FEATURES, rng.random_range(1..256))).collect();
    let leaves: Vec<u64> = (0..=count).map(|_| rng.random_range(0..16)).collect();
    let tree = DecisionTree::new(boot, &nodes, &leaves, width)?;
    let walk = |row: usize| {
        let mut node = 0;
        while let Some(&(feature, threshold)) = nodes.get(node) {
            node = 2 * node + if plain[feature][row] < threshold { 1 } else { 2 };
        }
        leaves[node - count]
    };
    let right = |found: &SlotIntegers<B>| {
        Ok(found.decrypt(&decryptor)?.into_iter().enumerate().all(|(row, leaf)| leaf == walk(row)))
    };
    let name = format!("tree of depth {DEPTH}, {FEATURES} features of u8");
    rows.push(clock.row(&name, slots, || ev.tree(&features, &tree), right)?);
    Ok(rows)
}

/// Products of whole words, which are made of no digits.
fn words<B: RingOps>(lab: &Lab, device: &B, effort: Effort) -> Result<Vec<Measured>> {
    let (params, rng) = (WordParams::new(64)?, &mut rng());
    let ring = Ring::new(device.clone(), params.ckks().rlwe().ring().clone())?;
    let secret = SecretKey::generate(params.ckks().rlwe(), rng);
    let keys = EvaluationKeys::generate(&secret, &ring, KeyRequirements::new().relinearisation(), rng)?;
    let encryptor = WordEncryptor::new(&params, &secret, &ring)?;
    let count = if lab.gpu.is_some() { WORDS } else { WORDS / 100 };
    let [a, b] = [(); 2].map(|()| (0..count).map(|_| rng.random::<u64>()).collect::<Vec<_>>());
    let x = encryptor.encrypt::<Multiplicand>(&a, rng)?.expand()?;
    let y = encryptor.encrypt::<Multiplier>(&b, rng)?.expand()?;
    let (ev, decryptor) = (WordEvaluator::new(&params, &ring)?, WordDecryptor::new(&params, &secret, &ring)?);
    let clock = Clock { lab, device, runs: effort.runs };
    let expected = zipped(&a, &b, u64::wrapping_mul);
    let row = clock.row(
        "product, u64 as words",
        count,
        || ev.multiply(&x, &y, &keys),
        |found| Ok(decryptor.decrypt::<Product>(found)?[..count] == expected),
    )?;
    Ok(vec![row])
}
