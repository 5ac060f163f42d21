//! Operations modulo powers of two.

use super::lab::{Fill, Lab, in_case, paint};
use crate::arith::ntt_primes_below;
use crate::backend::{
    Cpu, PreparedRing, WideEmbedding, WideOps, WidePolyOps, WideRows, WideSwitchShape, covering_span,
};
use crate::conformance::{Mirror, Naive, Provided};
use crate::error::{Error, Result};
use crate::ring::{Operand, RingSpec, Rows, Seed, Span, SpecialFft};
use num_complex::Complex64;

/// Widths around the ends of words.
const BITS: [u32; 9] = [1, 2, 63, 64, 65, 128, 130, 219, 400];
/// Primes of the ring, some of them special: products of 219 with 219 + 219 bits, and 400 with 400.
const PRIMES: (usize, usize) = (14, 4);

fn lab<B: WideOps>(backend: B, log_n: u32) -> Result<Lab<B>> {
    let mut q = ntt_primes_below(50, log_n, PRIMES.0 + PRIMES.1, &[])?;
    let p = q.split_off(PRIMES.0);
    Lab::with_spec(backend, "50-bit", &RingSpec::new(log_n, q, p)?)
}

/// Painted words: numbers with paint above the modulus, which must be ignored, with the extremes
/// first.
fn numbers<B: WideOps>(lab: &Lab<B>, rows: WideRows, salt: u64) -> Result<B::Buf> {
    let plane = rows.batch * lab.n;
    let mut words: Vec<u64> = (0..rows.at + rows.count() * lab.n + lab.n).map(|i| paint(salt, i)).collect();
    let top = 1u64 << ((rows.bits - 1) % 64);
    for w in 0..rows.words() {
        let (at, last) = (rows.at + w * plane, w + 1 == rows.words());
        // -2^(bits - 1), 2^(bits - 1) - 1, -1, 0.
        let extremes = if last { [top, top - 1, u64::MAX, 0] } else { [0, u64::MAX, u64::MAX, 0] };
        words[at..at + 4].copy_from_slice(&extremes);
    }
    lab.backend.upload(&words)
}

fn case<B: WideOps>(lab: &Lab<B>, bits: u32, batch: usize) -> Result<()> {
    let (ops, n) = (&lab.ring, lab.n);
    let rows = WideRows::new(bits, batch).at(2 * n);
    let single = WideRows::new(bits, 1).at(n);
    let (x, one) = (numbers(lab, rows, 2)?, numbers(lab, single, 3)?);
    for b in [Operand::at(&x, batch, rows.at), Operand::at(&one, 1, single.at)] {
        ops.wide_add_assign(rows, &mut numbers(lab, rows, 1)?, b)?;
        ops.wide_sub_assign(rows, &mut numbers(lab, rows, 1)?, b)?;
        for g in [1, 3, n as u64 + 1, 2 * n as u64 - 1] {
            ops.wide_automorphism(rows, g, b, &mut numbers(lab, rows, 4)?)?;
        }
    }
    ops.wide_neg_assign(rows, &mut numbers(lab, rows, 1)?)?;
    for factor in [&[][..], &[7], &[u64::MAX], &[0, u64::MAX, 5, 0], &[9; 9]] {
        ops.wide_scale_assign(rows, &mut numbers(lab, rows, 1)?, factor)?;
    }
    for shift in [0, 1, 63, 64, 65, 128, bits / 2, bits - 1] {
        for kept in [1, bits / 3, bits.saturating_sub(shift)] {
            if kept > 0 && shift + kept <= bits {
                let to = WideRows::new(kept, batch).at(n);
                ops.wide_shift_round(rows, &x, shift, to, &mut numbers(lab, to, 5)?)?;
            }
        }
    }
    // There and back, over chain primes only and with special ones, also in more words than the
    // numbers need.
    for span in [covering_span(ops.spec(), bits)?, Span::extended(PRIMES.0, PRIMES.1)] {
        let residues = Rows::new(span, batch).at(n);
        let mut values = lab.buffer(residues, Fill::Paint(6))?;
        ops.wide_residues(rows, &x, residues, &mut values)?;
        for bits in [bits, 64, 500] {
            let to = WideRows::new(bits, batch).at(3 * n);
            ops.wide_compose(residues, &values, to, &mut numbers(lab, to, 7)?)?;
        }
    }
    let seed = Seed([8; 32]);
    ops.wide_sample_uniform(rows, &seed, 5, &mut numbers(lab, rows, 1)?)?;
    ops.wide_sample_ternary(rows, &seed, 6, &mut numbers(lab, rows, 1)?)?;
    ops.wide_sample_error(rows, &seed, 7, &mut numbers(lab, rows, 1)?)?;
    let signed: Vec<u64> = (0..batch * n).map(|i| [u64::MAX, 1 << 63, 0, paint(9, i)][i % 4]).collect();
    ops.wide_from_signed(rows, &lab.backend.upload(&signed)?, &mut numbers(lab, rows, 1)?)
}

fn products<B: WideOps>(lab: &Lab<B>, bits: u32, batch: usize) -> Result<()> {
    let ops = &lab.ring;
    let rows = WideRows::new(bits, batch);
    let [a0, a1, b0, b1] = [1, 2, 3, 4].map(|salt| numbers(lab, rows, salt));
    let (a, b) = ([a0?, a1?], [b0?, b1?]);
    let span = covering_span(ops.spec(), 2 * bits + lab.log_n)?;
    let whole = |x| Operand::new(x, batch);
    for right in [&a, &b] {
        ops.wide_tensor(span, rows, a.each_ref().map(whole), right.each_ref().map(whole))?;
    }
    let single = numbers(lab, WideRows::new(bits, 1), 5)?;
    ops.wide_tensor(span, rows, a.each_ref().map(whole), [Operand::new(&single, 1); 2])?;
    for digit_bits in [bits, bits.div_ceil(2), bits.div_ceil(3)] {
        let needed = lab.log_n + 2 * digit_bits + bits + 2;
        let Ok(span) = covering_span(ops.spec(), needed) else { continue };
        let key_span = Span::extended(PRIMES.0, PRIMES.1);
        let shape = WideSwitchShape { bits, batch, digit_bits, special_bits: digit_bits, span, key_span };
        let key = lab.key(&shape.key(), |digit, part| {
            let wide = WideRows::new(bits + digit_bits, 1);
            let body = ops.wide_values(wide, &numbers(lab, wide, (2 * digit + part) as u64)?, key_span)?;
            lab.read(&body)
        })?;
        for addend in [[None; 2], [Some(&b[0]), None], [Some(&b[0]), Some(&b[1])]] {
            ops.wide_key_switch(&shape, &a[0], key.as_ref(), addend)?;
        }
    }
    Ok(())
}

/// Compares every operation modulo powers of two with big integers at small degrees, and with the
/// portable CPU at large ones.
pub fn wide_operations<B: WideOps>(backend: &B, log_n: u32) -> Result<()> {
    for small in [2, 3, 5].into_iter().filter(|&small| small <= log_n) {
        let lab = lab(Mirror::new(backend.clone(), Naive), small)?;
        for bits in BITS {
            for batch in [1, 3] {
                in_case(case(&lab, bits, batch), || lab.case((bits, batch)))?;
            }
        }
    }
    for large in log_n.min(8)..=log_n {
        let lab = lab(Mirror::new(backend.clone(), Provided::new(Cpu::portable())), large)?;
        for (bits, batch) in [(400, 1), (65, 2)] {
            in_case(case(&lab, bits, batch), || lab.case((bits, batch)))?;
        }
    }
    Ok(())
}

/// Products and key switches, likewise.
pub fn wide_products<B: WideOps>(backend: &B, log_n: u32) -> Result<()> {
    for small in [2, 4].into_iter().filter(|&small| small <= log_n) {
        let lab = lab(Mirror::new(backend.clone(), Naive), small)?;
        for bits in [2, 64, 130, 219] {
            for batch in [1, 3] {
                in_case(products(&lab, bits, batch), || lab.case((bits, batch)))?;
            }
        }
    }
    for large in log_n.min(8)..=log_n {
        let lab = lab(Mirror::new(backend.clone(), Provided::new(Cpu::portable())), large)?;
        in_case(products(&lab, 219, 2), || lab.case((219, 2)))?;
    }
    Ok(())
}

/// A complex number of magnitude up to 1.5, or of another magnitude if `spread` says so.
fn slot(spread: i32, i: usize) -> Complex64 {
    let part = |salt| {
        let word = paint(salt, i);
        libm::ldexp((word >> 11) as f64 / (1u64 << 52) as f64 - 1.0, (word % 64) as i32 * spread / 64)
    };
    Complex64::new(part(1), part(2))
}

/// Vectors of complex numbers to numbers modulo powers of two and back, against the host's bodies:
/// every number of slots, scales from 0 bits to above all words, vectors that end early, ties,
/// subnormal float64 numbers, and vectors that must be refused.
pub fn wide_embeddings<B: WideOps>(backend: &B, log_n: u32) -> Result<()> {
    for degree in [2, 3, 5].into_iter().filter(|&small| small <= log_n).chain(log_n.min(11)..=log_n) {
        let lab = lab(Mirror::new(backend.clone(), Provided::new(Cpu::portable())), degree)?;
        let fft = SpecialFft::new(lab.n / 2);
        for log_slots in (0..degree).filter(|&log| degree < 6 || log + 2 >= degree || log == 3) {
            for (bits, scale_log2, spread) in [
                (65, 50, 0),
                (438, 50, -80),
                (64, 0, 20),
                (130, 110, 0),
                (600, 590, -900),
                (3, 1, 0),
                (400, 410, 0),
                (700, 1150, 0),
            ] {
                let to = WideEmbedding { fft: &fft, slots: 1 << log_slots, scale_log2 };
                for batch in [1, 3] {
                    in_case(embedding(&lab, WideRows::new(bits, batch), to, spread), || {
                        lab.case((bits, batch, log_slots, scale_log2))
                    })?;
                }
            }
        }
    }
    Ok(())
}

fn embedding<B: WideOps>(lab: &Lab<B>, wide: WideRows, to: WideEmbedding<'_>, spread: i32) -> Result<()> {
    let ops = &lab.ring;
    // Both sides refuse in the same way, or leave the same words.
    let encoded = |vectors: &[&[Complex64]]| match ops.wide_encode_slots(wide, vectors, to) {
        Ok((buf, _)) => ops.wide_decode_slots(wide, &buf, to).map(drop),
        Err(Error::Backend { op, source }) => Err(Error::Backend { op, source }),
        Err(_) => Ok(()),
    };
    let numbers: Vec<Complex64> = (0..wide.batch * to.slots).map(|i| slot(spread, i)).collect();
    let whole: Vec<&[Complex64]> = numbers.chunks(to.slots).collect();
    encoded(&whole)?;
    encoded(&whole.iter().enumerate().map(|(i, v)| &v[..v.len() * i / 3]).collect::<Vec<_>>())?;
    // A single coefficient: ties, and the smallest and the greatest numbers.
    for x in [0.0, -0.0, 0.5, 1.5, -2.5, 0.25, 5e-324, -2e-308, 1e-310, 1.0 - 2f64.powi(-53), 1e300, f64::MAX]
    {
        for x in [Complex64::new(x, x), Complex64::new(-x, libm::ldexp(x, -1))] {
            encoded(&vec![&vec![x; to.slots][..]; wide.batch])?;
        }
    }
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let bad = vec![Complex64::new(0.5, bad); to.slots];
        encoded(&[&whole[..wide.batch - 1], &[&bad]].concat())?;
    }
    let long = vec![Complex64::ONE; to.slots + 1];
    encoded(&[&whole[..wide.batch - 1], &[&long]].concat())?;
    // Any numbers, as far as they fit float64.
    let any = wide.at(lab.n);
    ops.wide_decode_slots(any, &self::numbers(lab, any, 3)?, to).map(drop)
}
