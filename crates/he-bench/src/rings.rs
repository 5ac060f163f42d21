//! The parts of operations: transforms, the loops over rows, sampling, and the parts of a key
//! switch.

use super::measure::{Call, Id, Lab, Lazy, Place, on_places};
use super::report::{Show, Table, Unit, Value};
use crate::error::Result;
use he_core::arith::{nearest_ntt_primes, ntt_primes_below};
use he_core::backend::{Cpu, KeySwitchOps, KeySwitchShape, PolyOps, RingOps};
use he_core::ring::{DomainKind, Operand, Ring, RingSpec, Rows, Seed, Span};
use std::cell::RefCell;

/// The tables of transforms, by the width of their primes.
const TRANSFORMS: [(&str, u32, bool); 4] =
    [("ntt-50", 50, true), ("ntt-60", 60, true), ("intt-50", 50, false), ("intt-60", 60, false)];
const LOOPS: &str = "rows";
const KEY_SWITCH: &str = "key-switch";

/// The names of the tables.
pub fn names() -> Vec<String> {
    TRANSFORMS.iter().map(|(id, ..)| *id).chain([LOOPS, KEY_SWITCH]).map(str::to_owned).collect()
}

fn ring<B: RingOps>(backend: &B, log_n: u32, q: Vec<u64>, p: Vec<u64>) -> Result<Ring<B>> {
    Ok(Ring::new(backend.clone(), RingSpec::new(log_n, q, p)?)?)
}

/// Uniform words of a fixed seed in the rows.
fn random<B: RingOps>(ring: &Ring<B>, rows: Rows, index: u32) -> Result<B::Buf> {
    let mut words = ring.backend().zeros(rows.count() * ring.n())?;
    ring.prepared().sample_uniform(rows, &Seed([1; 32]), index, &mut words)?;
    Ok(words)
}

fn degrees(lab: &Lab) -> Vec<u32> {
    if lab.quick { vec![12] } else { (12..=17).collect() }
}

/// The seconds per limb at every degree, of `count` primes with a batch each.
fn transforms<B: RingOps>(
    lab: &Lab,
    backend: &B,
    (table, bits, forward): (&str, u32, bool),
    column: &str,
    (count, batch): (usize, usize),
) -> Result<Vec<Value>> {
    let each = |log_n: u32| {
        let rows = Rows::new(Span::chain(count), batch);
        let made = Lazy::new(|| {
            let ring = ring(backend, log_n, ntt_primes_below(bits, log_n, count, &[])?, vec![])?;
            let words = random(&ring, rows, 0)?;
            Ok((ring, RefCell::new(words)))
        });
        let transform = || -> Result<()> {
            let (ring, words) = made.get()?;
            let (ring, mut words) = (ring.prepared(), words.borrow_mut());
            let done = if forward { ring.ntt(rows, &mut words) } else { ring.intt(rows, &mut words) };
            Ok(done?)
        };
        Ok(lab.time(&Id::new(table, column, log_n), backend, transform)?.each(count * batch))
    };
    degrees(lab).into_iter().map(each).collect()
}

/// The numbers of primes, and of polynomials of each, that a device transforms at once: one limb,
/// on a GPU also a ciphertext's part of 36, and as many as fill it.
fn shapes<B>(lab: &Lab, place: &Place<B>) -> &'static [(usize, usize)] {
    if place.apart && !lab.quick { &[(1, 1), (36, 1), (32, 8)] } else { &[(1, 1)] }
}

fn transform_table(lab: &Lab, kind: (&'static str, u32, bool)) -> Result<Table> {
    let (id, bits, forward) = kind;
    let title = format!("{}transforms, primes of {bits} bits, a limb", if forward { "" } else { "inverse " });
    let points = degrees(lab).into_iter().map(|log_n| (log_n.to_string(), f64::from(log_n)));
    let mut table = Table::new(id, title, "log2 N", Unit::Microseconds).along(points);
    if lab.cpus().next().is_some() {
        let (column, portable) = ("portable code, 1 thread", Cpu::portable());
        let times = lab.serial.on(|| transforms(lab, &portable, kind, column, (1, 1)))?;
        table.measured(column, times);
    }
    on_places!(lab, place => {
        for &(count, batch) in shapes(lab, place) {
            let column = match count * batch {
                1 => place.name.clone(),
                limbs => format!("{}, {limbs} at once", place.name),
            };
            table.measured(&column, place.on(|| transforms(lab, &place.backend, kind, &column, (count, batch)))?);
        }
    });
    Ok(table)
}

/// The loops over a row of N = 2^13 words, and the samplers.
const ROWS: [&str; 10] =
    ["add", "mul", "mul add", "scale", "scale add", "tensor", "automorphism", "uniform", "ternary", "error"];

fn loops<B: RingOps>(lab: &Lab, backend: &B, column: &str, bits: u32) -> Result<Vec<Value>> {
    let rows = Rows::new(Span::chain(1), 1);
    let made = Lazy::new(|| {
        let ring = ring(backend, 13, ntt_primes_below(bits, 13, 1, &[])?, vec![])?;
        let inputs = [random(&ring, rows, 1)?, random(&ring, rows, 2)?, random(&ring, rows, 3)?];
        let a = RefCell::new(random(&ring, rows, 0)?);
        Ok((ring, inputs, a))
    });
    let seed = Seed([2; 32]);
    macro_rules! on_row {
        (|$ring:ident, $x:ident, $y:ident, $z:ident, $a:ident| $call:expr) => {
            &mut || {
                let ($ring, [x, y, z], a) = made.get()?;
                let ($ring, [$x, $y, $z]) = ($ring.prepared(), [x, y, z].map(|x| Operand::new(x, 1)));
                let $a = &mut *a.borrow_mut();
                Ok($call.map(drop)?)
            }
        };
    }
    let calls: [Call<'_>; ROWS.len()] = [
        on_row!(|ring, x, _y, _z, a| ring.add_assign(rows, a, x)),
        on_row!(|ring, x, _y, _z, a| ring.mul_assign(rows, a, x)),
        on_row!(|ring, x, y, _z, a| ring.mul_add_assign(rows, a, x, y)),
        on_row!(|ring, _x, _y, _z, a| ring.scale_assign(rows, a, &[12345])),
        on_row!(|ring, x, _y, _z, a| ring.scale_add_assign(rows, a, x, &[12345])),
        on_row!(|ring, x, y, z, _a| ring.tensor(rows, [x, y], [z, x])),
        on_row!(|ring, x, _y, _z, a| ring.automorphism(rows, DomainKind::Eval, 5, x, a)),
        on_row!(|ring, _x, _y, _z, a| ring.sample_uniform(rows, &seed, 0, a)),
        on_row!(|ring, _x, _y, _z, a| ring.sample_ternary(rows, &seed, 0, a)),
        on_row!(|ring, _x, _y, _z, a| ring.sample_error(rows, &seed, 0, a)),
    ];
    let each = |(call, row): (Call<'_>, &str)| lab.time(&Id::new(LOOPS, column, row), backend, call);
    calls.into_iter().zip(ROWS).map(each).collect()
}

/// The parts of a key switch of 15 + 5 limbs in 3 digits, all of about the same width.
const PARTS: [&str; 4] = ["convert a digit", "decompose", "key product", "copy and mod down"];

fn key_switch<B: RingOps>(lab: &Lab, backend: &B, column: &str, bits: u32, log_n: u32) -> Result<Vec<Value>> {
    let (q, p) = (15, 5);
    let shape = KeySwitchShape { digits: vec![0..5, 5..10, 10..15], q, key_q: q, p, batch: 1 };
    let (extended, from) = (Rows::new(shape.span(), 1), Rows::new(Span::digit(0, 5), 1));
    let made = Lazy::new(|| {
        let all = nearest_ntt_primes(f64::from(bits).exp2() * 0.9, bits, log_n, q + p, &[])?;
        let ring = ring(backend, log_n, all[..q].to_vec(), all[q..].to_vec())?;
        let x = random(&ring, Rows::new(Span::chain(q), 1), 0)?;
        let mut key = ring.prepared().empty_key(&shape.key())?;
        for (digit, part) in (0..3).flat_map(|digit| [(digit, 0), (digit, 1)]) {
            let poly = random(&ring, extended, 2 * digit as u32 + part as u32 + 1)?;
            ring.prepared().write_key(&shape.key(), key.as_mut(), digit, part, &poly)?;
        }
        let digits = ring.prepared().decompose(&shape, &x)?;
        let [sum, converted] = [random(&ring, extended, 7)?, random(&ring, extended, 7)?];
        Ok((ring, x, key, digits, sum, RefCell::new(converted)))
    });
    let id = |part: usize| Id::new(KEY_SWITCH, column, PARTS[part]);
    let calls: [Call<'_>; PARTS.len()] = [
        &mut || {
            let (ring, x, .., converted) = made.get()?;
            Ok(ring.prepared().convert_basis(from, x, extended, &mut converted.borrow_mut())?)
        },
        &mut || {
            let (ring, x, ..) = made.get()?;
            Ok(ring.prepared().decompose(&shape, x).map(drop)?)
        },
        &mut || {
            let (ring, _, key, digits, ..) = made.get()?;
            Ok(ring.prepared().key_product(&shape, digits.as_ref(), key.as_ref()).map(drop)?)
        },
        &mut || {
            let (ring, _, _, _, sum, _) = made.get()?;
            // It is consumed.
            let mut copy = backend.scratch(backend.words(sum))?;
            backend.copy(sum, 0, &mut copy, 0, backend.words(sum))?;
            Ok(ring.prepared().mod_down(shape.span(), q, 1, copy).map(drop)?)
        },
    ];
    calls.into_iter().enumerate().map(|(part, call)| lab.time(&id(part), backend, call)).collect()
}

/// Transforms, loops and the parts of a key switch.
///
/// # Errors
/// A device fails; the errors of `show`.
pub fn tables(lab: &Lab, show: &mut Show<'_>) -> Result<()> {
    lab.announce("transforms");
    for kind in TRANSFORMS {
        show(transform_table(lab, kind)?)?;
    }
    lab.announce("rows and key switches");
    let mut rows =
        Table::new(LOOPS, "Loops over a row, N = 2^13", "loop", Unit::Microseconds).categories(ROWS);
    let mut parts = Table::new(
        KEY_SWITCH,
        "Parts of a key switch of 15 + 5 primes in 3 digits",
        "part",
        Unit::Microseconds,
    )
    .categories(PARTS);
    let sizes: &[u32] = if lab.quick { &[13] } else { &[13, 15] };
    for bits in [50, 60] {
        on_places!(lab, place => {
            let name = format!("{bits} bits, {}", place.name);
            rows.measured(&name, place.on(|| loops(lab, &place.backend, &name, bits))?);
            for &log_n in sizes {
                let name = format!("2^{log_n}, {name}");
                parts.measured(&name, place.on(|| key_switch(lab, &place.backend, &name, bits, log_n))?);
            }
        });
    }
    show(rows)?;
    show(parts)
}
