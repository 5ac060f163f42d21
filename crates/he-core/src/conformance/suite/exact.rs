//! The operations of exact arithmetic.

use super::lab::{Fill, Lab, in_case, large_rings, paint, power, product, small_rings};
use crate::arith::Modulus;
use crate::backend::{ExactOps, MessagePhase, PhaseModT, PolyOps, RingOps, ScaledTensor};
use crate::error::Result;
use crate::ring::{Operand, RingSpec, Rows, Seed, Span, SpecialFft};
use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// Shapes of products: chain primes, special ones, batches of both operands.
const PRODUCTS: [(usize, usize, [usize; 2]); 6] =
    [(1, 1, [1, 1]), (2, 2, [3, 3]), (3, 3, [3, 1]), (6, 3, [1, 1]), (5, 2, [2, 1]), (1, 3, [2, 2])];

pub(super) fn scaled_tensor_case<B: RingOps>(
    lab: &Lab<B>,
    (q, p, batches): (usize, usize, [usize; 2]),
    fill: Fill,
) -> Result<()> {
    let n = lab.n;
    let spec = RingSpec::new(lab.log_n, lab.chain.clone(), lab.special.clone())?;
    let [a, b] = batches.map(|batch| Rows::new(Span::chain(q), batch));
    let places = [a, a.at(3 * n), b.at(n), b.at(2 * n)];
    let other = |salt| if let Fill::Paint(_) = fill { Fill::Paint(salt) } else { fill };
    let mut bufs = Vec::new();
    for (place, salt) in places.iter().zip(1..) {
        bufs.push(lab.buffer(*place, other(salt))?);
    }
    let operand = |i: usize| Operand::at(&bufs[i], places[i].batch, places[i].at);
    for t in [2, 65537, (1 << 61) - 1] {
        let shape = ScaledTensor::new(&spec, q, p, batches[0], t);
        let (a, b) = ([operand(0), operand(1)], [operand(2), operand(3)]);
        lab.ring.scaled_tensor(&shape, a, b)?;
        // A square.
        lab.ring.scaled_tensor(&shape, a, a)?;
    }
    Ok(())
}

/// Scale-invariant products.
pub fn scaled_tensors<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    small_rings(backend, log_n, |lab| {
        for (i, shape) in PRODUCTS.into_iter().enumerate() {
            // One of them at each larger degree: the reference computes in big integers.
            let fills = [Fill::Paint(1), Fill::Top, Fill::Zero].into_iter().enumerate();
            let taken = |j: usize| lab.log_n <= 3 || j == (i + lab.log_n as usize) % 3;
            for (_, fill) in fills.filter(|&(j, _)| taken(j)) {
                in_case(scaled_tensor_case(lab, shape, fill), || lab.case((shape, fill)))?;
            }
        }
        Ok(())
    })
}

/// Moduli of every width, prime or not.
const MODULI: [u64; 7] = [2, 3, 65537, 1 << 20, (1 << 50) - 27, 1 << 60, (1 << 61) - 1];

/// A remainder of a number that may be negative.
fn remainder(x: &BigInt, m: u64) -> u64 {
    let m = BigInt::from(m);
    ((x % &m + &m) % &m).to_u64().unwrap_or(u64::MAX)
}

/// Words below the modulus, then a row of paint.
fn message_words<B: RingOps>(lab: &Lab<B>, batch: usize, t: u64) -> Vec<u64> {
    let count = batch * lab.n;
    let edges = [0, t - 1, 1 % t, t / 2, t.div_ceil(2) % t];
    let words = (0..count).map(|i| if i % 3 == 0 { edges[i / 3 % 5] } else { paint(5, i) % t });
    words.chain((0..lab.n).map(|i| paint(99, i))).collect()
}

fn encryption_case<B: RingOps>(lab: &Lab<B>, q: usize, batch: usize, t: u64) -> Result<()> {
    let (ops, rows) = (&lab.ring, Rows::new(Span::chain(q), batch));
    // The key has more primes.
    let places = [Rows::new(Span::chain(6), 1).at(2 * lab.n), Rows::new(Span::chain(6), 1)];
    let key = [lab.buffer(places[0], Fill::Paint(1))?, lab.buffer(places[1], Fill::Edges)?];
    let operands = [0, 1].map(|i| Operand::at(&key[i], 1, places[i].at));
    let modulus = Modulus::new(t)?;
    let words = lab.backend.upload(&message_words(lab, batch, t))?;
    let scale = lab.constants(rows.span, Fill::Paint(3));
    for factor in [t - 1, paint(4, 0) % t] {
        let message = MessagePhase { words: &words, modulus: &modulus, factor, scale: &scale };
        ops.message_phase(rows, message)?;
        ops.encrypt(rows, &Seed([batch as u8; 32]), operands, Some(message))?;
    }
    ops.encrypt(rows, &Seed([17; 32]), operands, None).map(drop)
}

/// Phases of messages, and encryptions: as on the naive back end, and for known messages.
pub fn encryptions<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    small_rings(backend, log_n, |lab| {
        for (q, batch) in
            [(1, 1), (1, 130), (2, 3), (6, 1)].into_iter().filter(|&shape| fits(lab.log_n, shape.1))
        {
            for modulus in [2, 65537, 1 << 60] {
                in_case(encryption_case(lab, q, batch, modulus), || lab.case((q, batch, modulus)))?;
            }
        }
        Ok(())
    })?;
    large_rings(backend, log_n, |lab| {
        for (q, batch) in [(1, 3), (6, 1)] {
            in_case(known_phases(lab, Rows::new(Span::chain(q), batch)), || lab.case((q, batch)))?;
            in_case(known_encryptions(lab, Rows::new(Span::chain(q), batch)), || lab.case((q, batch)))?;
        }
        Ok(())
    })
}

/// Phases from big integers.
fn known_phases<B: RingOps>(lab: &Lab<B>, rows: Rows) -> Result<()> {
    let ops = &lab.ring;
    let scale = lab.constants(rows.span, Fill::Paint(3));
    for modulus in MODULI {
        let words = message_words(lab, rows.batch, modulus);
        let (buf, m, factor) = (lab.backend.upload(&words)?, Modulus::new(modulus)?, modulus - 1);
        let message = MessagePhase { words: &buf, modulus: &m, factor, scale: &scale };
        let phase = ops.message_phase(rows, message)?;
        let expected: Vec<u64> = (0..rows.span.limbs())
            .flat_map(|limb| {
                let (q, scale) = (lab.q(rows.span, limb), scale[limb]);
                words[..rows.batch * lab.n].iter().map(move |&word| {
                    let x = i128::from(product(word, factor, modulus));
                    let centred = if 2 * x >= i128::from(modulus) { x - i128::from(modulus) } else { x };
                    product(centred.rem_euclid(i128::from(q)) as u64, scale, q)
                })
            })
            .collect();
        lab.expect("message_phase", "the message, centred and scaled", &lab.read(&phase)?, &expected)?;
    }
    Ok(())
}

/// With the key (1, 0) an encryption is (v + e0 + phase, e1): samples that the other operations
/// draw, too.
fn known_encryptions<B: RingOps>(lab: &Lab<B>, rows: Rows) -> Result<()> {
    let (ops, seed) = (&lab.ring, Seed([9; 32]));
    let count = rows.count() * lab.n;
    let key = [1, 0].map(|word| lab.backend.upload(&vec![word; rows.span.limbs() * lab.n]));
    let [one, zero] = key;
    let (one, zero) = (one?, zero?);
    let (scale, modulus) = (lab.constants(rows.span, Fill::Top), Modulus::new(65537)?);
    let words = lab.backend.upload(&message_words(lab, rows.batch, 65537))?;
    let message = MessagePhase { words: &words, modulus: &modulus, factor: 3, scale: &scale };
    let phase = ops.message_phase(rows, message)?;
    let [mut sum, mut error, mut mask] =
        [lab.backend.zeros(count)?, lab.backend.zeros(count)?, lab.backend.zeros(count)?];
    ops.sample_error(rows, &seed, 0, &mut sum)?;
    ops.sample_error(rows, &seed, 1, &mut error)?;
    ops.sample_ternary(rows, &seed, 0, &mut mask)?;
    for addend in [&mask, &phase] {
        ops.add_assign(rows, &mut sum, Operand::new(addend, rows.batch))?;
    }
    let found = ops.encrypt(rows, &seed, [Operand::new(&one, 1), Operand::new(&zero, 1)], Some(message))?;
    for (mut found, expected) in found.into_iter().zip([sum, error]) {
        ops.intt(rows, &mut found)?;
        lab.expect("encrypt", "the sum of its samples", &lab.read(&found)?, &lab.read(&expected)?)?;
    }
    Ok(())
}

/// Phases modulo t: as on the naive back end, and for known numbers.
pub fn phases_mod_t<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    small_rings(backend, log_n, |lab| {
        for q in [1, 2, 3, 6] {
            for (batch, at) in
                [(1, 0), (3, 5), (130, 1)].into_iter().filter(|&shape| fits(lab.log_n, shape.0))
            {
                in_case(phase_case(lab, q, batch, at), || lab.case((q, batch, at)))?;
            }
        }
        Ok(())
    })?;
    large_rings(backend, log_n, |lab| {
        for (q, batch) in [(1, 1), (3, 2), (6, 1)] {
            in_case(known_phases_mod_t(lab, Rows::new(Span::chain(q), batch)), || lab.case((q, batch)))?;
        }
        Ok(())
    })
}

/// Large batches go with small degrees.
fn fits(log_n: u32, batch: usize) -> bool {
    batch < 100 || log_n == 2 || log_n == 4
}

fn phase_case<B: RingOps>(lab: &Lab<B>, q: usize, batch: usize, at: usize) -> Result<()> {
    let rows = Rows::new(Span::chain(q), batch);
    // The secret has more primes.
    let secret = lab.buffer(Rows::new(Span::chain(6), 1).at(at * lab.n), Fill::Paint(3))?;
    let places = [rows.at(at * lab.n), rows];
    let c = [lab.buffer(places[0], Fill::Paint(1))?, lab.buffer(places[1], Fill::Edges)?];
    let operands = [0, 1].map(|i| Operand::at(&c[i], batch, places[i].at));
    let factors = lab.constants(rows.span, Fill::Paint(2));
    for modulus in MODULI {
        let modulus = &Modulus::new(modulus)?;
        let to = PhaseModT { factors: &factors, modulus, after: paint(4, 0) % modulus.value() };
        lab.ring.phase_mod_t(rows, operands, Operand::at(&secret, 1, at * lab.n), to)?;
    }
    Ok(())
}

/// Numbers below the product Q of the primes, the least and greatest of `[-Q/2, Q/2)` among them,
/// except those so near to +-Q/2 that either representative is correct.
fn numbers(q: &BigInt, count: usize) -> Vec<BigInt> {
    let (half, margin): (BigInt, BigInt) = (q / 2u32, (q >> 40u32) + 1u32);
    let edges = [BigInt::ZERO, BigInt::from(1), q - 1, &half - &margin, &half + &margin, BigInt::from(65537)];
    let number = |i: usize| match i % 8 {
        6 | 7 => (0..8).fold(BigInt::ZERO, |x, k| (x << 61) + paint(k, i)) % q,
        edge => edges[edge].clone(),
    };
    let is_clear = |x: &BigInt| {
        let distance: BigInt = x - &half;
        distance.magnitude() >= margin.magnitude()
    };
    (0..count).map(number).filter(is_clear).collect()
}

/// Chosen phases, from ciphertexts of painted secrets.
fn known_phases_mod_t<B: RingOps>(lab: &Lab<B>, rows: Rows) -> Result<()> {
    let ops = &lab.ring;
    let primes = lab.primes(rows.span);
    let q: BigInt = primes.iter().map(|&q| BigInt::from(q)).product();
    let mut numbers = numbers(&q, rows.batch * lab.n);
    numbers.resize(rows.batch * lab.n, BigInt::from(7));
    let residues: Vec<u64> =
        primes.iter().flat_map(|&q| numbers.iter().map(move |x| remainder(x, q))).collect();
    let secret = lab.exact(Rows::new(rows.span, 1), Fill::Paint(2))?;
    let (c1, mut minus) = (lab.exact(rows, Fill::Paint(3))?, lab.exact(rows, Fill::Paint(3))?);
    ops.neg_assign(rows, &mut minus)?;
    let factors = lab.constants(rows.span, Fill::Paint(5));
    let inverse: Vec<u64> = primes.iter().zip(&factors).map(|(&q, &f)| power(f, q - 2, q)).collect();
    let mut c0 = lab.backend.upload(&residues)?;
    ops.ntt(rows, &mut c0)?;
    ops.scale_assign(rows, &mut c0, &inverse)?;
    ops.mul_add_assign(rows, &mut c0, Operand::new(&minus, rows.batch), Operand::new(&secret, 1))?;
    let c = [&c0, &c1].map(|part| Operand::new(part, rows.batch));
    for modulus in MODULI {
        let after = paint(6, 0) % modulus;
        let to = PhaseModT { factors: &factors, modulus: &Modulus::new(modulus)?, after };
        let found = ops.phase_mod_t(rows, c, Operand::new(&secret, 1), to)?;
        let centred = |x: &BigInt| if x * 2 >= q { x - &q } else { x.clone() };
        let expected: Vec<u64> =
            numbers.iter().map(|x| product(remainder(&centred(x), modulus), after, modulus)).collect();
        lab.expect("phase_mod_t", "the numbers modulo the modulus", &lab.read(&found)?, &expected)?;
    }
    Ok(())
}

/// Greatest values of messages: as on the naive back end, and for messages of known values.
pub fn greatest_values<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    small_rings(backend, log_n, greatest_cases)?;
    large_rings(backend, log_n, greatest_cases)
}

fn greatest_cases<B: RingOps>(lab: &Lab<B>) -> Result<()> {
    for (batch, t) in [(1, 2), (3, 65537), (1, 1 << 60), (130, 3)] {
        if fits(lab.log_n, batch) {
            in_case(greatest_case(lab, batch, t), || lab.case((batch, t)))?;
        }
    }
    Ok(())
}

/// Messages of paint, and monomials c X^k, whose values all have the magnitude |c|.
fn greatest_case<B: RingOps>(lab: &Lab<B>, batch: usize, t: u64) -> Result<()> {
    let (fft, modulus) = (SpecialFft::new(lab.n / 2), Modulus::new(t)?);
    let words = lab.backend.upload(&message_words(lab, batch, t))?;
    lab.ring.greatest_squares(batch, &words, &modulus, &fft)?;
    let mut words = vec![0; batch * lab.n];
    for (entry, message) in words.chunks_exact_mut(lab.n).enumerate() {
        message[paint(3, entry) as usize % lab.n] = t - 1 - entry as u64 % (t / 2);
    }
    let squares = lab.ring.greatest_squares(batch, &lab.backend.upload(&words)?, &modulus, &fft)?;
    for (entry, &bits) in lab.read(&squares)?.iter().enumerate() {
        let c = (1 + entry as u64 % (t / 2)) as f64;
        let near = (f64::from_bits(bits) / (c * c) - 1.0).abs() < 1e-12;
        lab.expect("greatest_squares", "the square of the coefficient", &[u64::from(near)], &[1])?;
    }
    Ok(())
}

/// Words in another order.
pub fn gathers<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    small_rings(backend, log_n, |lab| {
        for (span, batch) in [(Span::chain(1), 1), (Span::chain(3), 2), (Span::chain(1), 130)] {
            in_case(gather_case(lab, Rows::new(span, batch)), || lab.case((span, batch)))?;
        }
        Ok(())
    })?;
    large_rings(backend, log_n, |lab| gather_case(lab, Rows::new(Span::chain(2), 3)))
}

fn gather_case<B: RingOps>(lab: &Lab<B>, rows: Rows) -> Result<()> {
    // Not one to one.
    let index: Vec<u64> = (0..lab.n).map(|k| paint(8, k) % lab.n as u64).collect();
    let src = lab.words(rows, Fill::Paint(1));
    let ordered = lab.ring.gather(rows, &lab.backend.upload(&index)?, &lab.backend.upload(&src)?)?;
    let chosen = src.chunks_exact(lab.n).take(rows.count());
    let expected: Vec<u64> = chosen.flat_map(|row| index.iter().map(|&k| row[k as usize])).collect();
    lab.expect("gather", "the words in the order of the index", &lab.read(&ordered)?, &expected)
}

/// All against their provided bodies on the same device, at a large degree.
pub(super) fn fused<M: RingOps>(lab: &Lab<M>) -> Result<()> {
    for shape in PRODUCTS {
        in_case(scaled_tensor_case(lab, shape, Fill::Paint(1)), || lab.case(shape))?;
    }
    for (q, batch) in [(1, 1), (3, 2)] {
        in_case(encryption_case(lab, q, batch, 65537), || lab.case((q, batch)))?;
        in_case(phase_case(lab, q, batch, 1), || lab.case((q, batch)))?;
    }
    greatest_case(lab, 3, 65537)?;
    gather_case(lab, Rows::new(Span::chain(2), 2))
}
