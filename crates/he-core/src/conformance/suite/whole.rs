//! Memory, known answers, and several operations together.

use super::lab::{Fill, Lab, WIDTHS, in_case, paint, power};
use crate::backend::{Backend, Blocks, KeySwitchOps, KeySwitchShape, PolyOps, RingOps};
use crate::conformance::{Mirror, Naive};
use crate::error::{Error, Result};
use crate::ring::{DomainKind, Operand, RingSpec, Rows, Seed, Span};

/// Buffers: allocation, transfers, copies, truncation, wiping.
///
/// # Errors
/// The first failure, or an error of the device; likewise for every other body.
pub fn memory<B: RingOps>(backend: &B, _log_n: u32) -> Result<()> {
    let lab = Lab::new(backend.clone(), &WIDTHS[0], 3)?;
    for words in [1, 7, 251, 1000, 70_001] {
        let check = || -> Result<()> {
            lab.expect("zeros", "zero", &lab.read(&backend.zeros(words)?)?, &vec![0; words])?;
            let original: Vec<u64> = (0..words).map(|i| paint(1, i)).collect();
            let mut uploaded = original.clone();
            let mut buf = backend.upload(&uploaded)?;
            // The memory of the host belongs to the caller again.
            uploaded.fill(0);
            lab.expect("upload", "the words given", &lab.read(&buf)?, &original)?;
            lab.expect("words", "the number given", &[backend.words(&buf) as u64], &[words as u64])?;
            for range in [0..0, 0..1, words / 3..words / 2, words - 1..words, words..words] {
                let part = backend.download(&buf, range.clone())?;
                lab.expect("download", "the range asked for", &part, &original[range])?;
            }
            let mut copied: Vec<u64> = (0..words).map(|i| paint(2, i)).collect();
            let mut copy = backend.upload(&copied)?;
            let (from, to, count) = (words / 5, words / 2, words / 3);
            backend.copy(&buf, from, &mut copy, to, count)?;
            copied[to..to + count].copy_from_slice(&original[from..from + count]);
            lab.expect("copy", "the words copied", &lab.read(&copy)?, &copied)?;
            backend.copy(&buf, 0, &mut copy, words, 0)?;
            backend.copy(&buf, 0, &mut copy, 0, words)?;
            lab.expect("copy", "the words copied", &lab.read(&copy)?, &original)?;

            // Blocks next to each other and apart, at odd words and even ones, and none.
            for (count, size) in
                [(1, words), (2, words / 5), (5, words / 11), (3, (words / 8) & !1), (0, 1), (1, 0)]
            {
                let steps = [size, size + words / 40, (size + words / 40).next_multiple_of(2)];
                for (from, to) in [(steps[0], steps[1]), (steps[1], steps[0]), (steps[2], steps[2])] {
                    let (from, to) = (Blocks { at: words & 1, step: from }, Blocks { at: 0, step: to });
                    if count > 0 && from.block(count - 1).max(to.block(count - 1)) + size > words {
                        continue;
                    }
                    let mut blocks = copied.clone();
                    let mut target = backend.upload(&blocks)?;
                    backend.copy_blocks(&buf, from, &mut target, to, size, count)?;
                    for i in 0..count {
                        let block = &original[from.block(i)..][..size];
                        blocks[to.block(i)..][..size].copy_from_slice(block);
                    }
                    lab.expect("copy_blocks", "the words copied", &lab.read(&target)?, &blocks)?;
                }
            }

            places(&lab, &original)?;
            joins(&lab, &original)?;
            transposes(&lab, &original)?;

            let left = words.div_ceil(2);
            backend.truncate(&mut buf, left);
            lab.expect("truncate", "the number given", &[backend.words(&buf) as u64], &[left as u64])?;
            lab.expect("truncate", "the first words", &lab.read(&buf)?, &original[..left])?;
            backend.copy(&copy, words - left, &mut buf, 0, left)?;
            lab.expect("copy", "the words copied", &lab.read(&buf)?, &original[words - left..])?;
            backend.wipe(&mut buf);
            lab.expect("wipe", "zero", &lab.read(&buf)?, &vec![0; left])?;
            lab.expect("copy", "the words copied", &lab.read(&copy)?, &original)?;
            backend.truncate(&mut buf, 0);
            lab.expect("truncate", "the number given", &[backend.words(&buf) as u64], &[0])?;
            lab.expect("take", "the words copied", &backend.take(&mut copy)?, &original)?;
            lab.expect("take", "none left", &[backend.words(&copy) as u64], &[0])?;
            taken_with(&lab, &original)?;
            backend.synchronize()
        };
        in_case(check(), || format!("{words} words"))?;
    }
    lab.expect("zeros", "nothing", &lab.read(&backend.zeros(0)?)?, &[])?;
    lab.expect("upload", "nothing", &lab.read(&backend.upload(&[])?)?, &[])?;
    taken_with(&lab, &[])?;

    // Freed memory is returned as zeros, and constants on the host may be dropped before the device
    // reads them.
    let rows = Rows::new(Span::chain(5), 3);
    for _ in 0..10 {
        let used = lab.exact(rows, Fill::Top)?;
        drop(used);
        let words = rows.count() * lab.n;
        lab.expect("zeros", "zero", &lab.read(&backend.zeros(words)?)?, &vec![0; words])?;
        let mut scaled = lab.exact(rows, Fill::Paint(1))?;
        let mut factors = lab.constants(rows.span, Fill::Top);
        lab.ring.scale_assign(rows, &mut scaled, &factors)?;
        factors.fill(0);
        lab.ring.neg_assign(rows, &mut scaled)?;
        let expected = &lab.words(rows, Fill::Paint(1))[..words];
        lab.expect("scale_assign", "-(-a)", &lab.read(&scaled)?, expected)?;
    }
    Ok(())
}

/// Blocks that go to other places in every run, all of them or some, at odd words and even ones.
fn places<B: RingOps>(lab: &Lab<B>, original: &[u64]) -> Result<()> {
    let (backend, all) = (&lab.backend, original.len());
    for (words, count, runs) in [(1, 7, 1), (all / 40, 5, 3), ((all / 40) & !1, 8, 2), (3, 0, 2), (0, 3, 1)] {
        let step = count * words + 1 + (words & 1);
        let (from, to) = (Blocks { at: 0, step }, Blocks { at: words & 1, step });
        if to.block(runs) > all {
            continue;
        }
        for taken in [count, count / 2] {
            let places: Vec<[usize; 2]> = (0..taken).map(|i| [(3 * i + 1) % count, count - 1 - i]).collect();
            let mut expected: Vec<u64> = (0..all).map(|i| paint(3, i)).collect();
            let (src, mut dst) = (backend.upload(original)?, backend.upload(&expected)?);
            backend.copy_places(&src, from, &mut dst, to, &places, [words, runs])?;
            for run in 0..runs {
                for [f, t] in &places {
                    let block = &original[from.block(run) + f * words..][..words];
                    expected[to.block(run) + t * words..][..words].copy_from_slice(block);
                }
            }
            lab.expect("copy_places", "the words copied", &lab.read(&dst)?, &expected)?;
        }
    }
    Ok(())
}

/// Few buffers and many, of even and odd numbers of words, run by run.
fn joins<B: RingOps>(lab: &Lab<B>, original: &[u64]) -> Result<()> {
    for (widths, runs) in [(&[2, 3][..], 2), (&[4, 2, 6, 2, 2][..], 3), (&[1, 5, 2, 0, 3, 1, 1, 2, 1][..], 1)]
    {
        let (step, mut at) = (widths.iter().sum::<usize>(), 0);
        if step * runs > original.len() {
            continue;
        }
        let mut expected = vec![0; step * runs];
        let mut parts = Vec::new();
        for &words in widths {
            let part = &original[at * runs..][..words * runs];
            for run in 0..runs {
                expected[run * step + at..][..words].copy_from_slice(&part[run * words..][..words]);
            }
            parts.push((lab.backend.upload(part)?, words));
            at += words;
        }
        let parts: Vec<_> = parts.iter().map(|(part, words)| (part, *words)).collect();
        let mut dst = lab.backend.zeros(step * runs)?;
        lab.backend.join_runs(&parts, &mut dst, runs)?;
        lab.expect("join_runs", "the words in turn", &lab.read(&dst)?, &expected)?;
    }
    Ok(())
}

/// Matrices of all kinds of shapes, at odd words and even ones.
fn transposes<B: RingOps>(lab: &Lab<B>, original: &[u64]) -> Result<()> {
    let (backend, all) = (&lab.backend, original.len());
    for (rows, columns, count) in
        [(1, 1, 1), (1, 5, 1), (5, 1, 2), (8, 16, 1), (17, 9, 3), (64, 300, 1), (257, 129, 2), (0, 3, 1)]
    {
        for at in [0, 1, 2] {
            let words = count * rows * columns;
            if at + words > all {
                continue;
            }
            let mut expected: Vec<u64> = (0..all).map(|i| paint(4, i)).collect();
            let (src, mut dst) = (backend.upload(original)?, backend.upload(&expected)?);
            backend.transpose_words(&src, at, &mut dst, at, [rows, columns], count)?;
            for k in 0..words {
                let (matrix, i, j) = (k / (rows * columns), k / columns % rows, k % columns);
                expected[at + (matrix * columns + j) * rows + i] = original[at + k];
            }
            lab.expect("transpose_words", "the transposes", &lab.read(&dst)?, &expected)?;
        }
    }
    Ok(())
}

/// A reader gets the words of a buffer, once, and its result or error is that of the call.
fn taken_with<B: RingOps>(lab: &Lab<B>, words: &[u64]) -> Result<()> {
    let mut calls = 0;
    let mut take = |refused: Option<Error>| {
        lab.backend.take_with(lab.backend.upload(words)?, |taken| {
            calls += 1;
            lab.expect("take_with", "the words uploaded", taken, words)?;
            refused.map_or(Ok(taken.len() as u64), Err)
        })
    };
    let count = take(None)?;
    lab.expect("take_with", "the reader's result", &[count], &[words.len() as u64])?;
    match take(Some(Error::NotFinite { index: words.len() })) {
        Err(Error::NotFinite { index }) if index == words.len() => {}
        // A wrong word, or an error of the device.
        Err(error) => return Err(error),
        Ok(_) => lab.expect("take_with", "the reader's error", &[], &[1])?,
    }
    lab.expect("take_with", "one call each", &[calls], &[2])
}

/// Words computed by the independent programs of `tests/vectors`.
pub fn known_answers<B: RingOps>(backend: &B, _log_n: u32) -> Result<()> {
    let primes = [97, 1_125_899_906_842_273, 2_305_843_009_213_693_921];
    let lab = Lab::with_spec(backend.clone(), "known", &RingSpec::new(3, primes.to_vec(), vec![113])?)?;
    let rows = Rows::new(Span::extended(3, 1), 1);

    // tests/vectors/ntt.py
    let input: Vec<u64> =
        lab.primes(rows.span).into_iter().flat_map(|q| (1..9).map(move |k| power(k, 20, q))).collect();
    #[rustfmt::skip]
    let values = [
        68, 84, 92, 87, 81, 67, 90, 21,
        812053275889149, 928165204570176, 812463368133479, 655186603170212,
        601771504160691, 553917235473296, 16667422634484, 123375013337613,
        1924111086053246488, 515376406005175587, 919648333415895059, 1113264943611281180,
        106795214752601364, 1871845424395419221, 238595983778562905, 227891635628899967,
        3, 13, 16, 0, 71, 8, 11, 112,
    ];
    let mut buf = backend.upload(&input)?;
    lab.ring.ntt(rows, &mut buf)?;
    lab.expect("ntt", "ntt.py", &lab.read(&buf)?, &values)?;
    lab.ring.intt(rows, &mut buf)?;
    lab.expect("intt", "ntt.py", &lab.read(&buf)?, &input)?;

    // tests/vectors/base_conversion.py
    #[rustfmt::skip]
    let source = [
        0, 1, 1125899906842272, 375299968947424,
        750599937894849, 965057063007662, 205891132094649, 450359962736909,
        0, 1, 2305843009213693920, 768614336404564640,
        1537228672809129281, 988218432520154537, 205891132094649, 461168601842738784,
    ];
    #[rustfmt::skip]
    let carried = [
        [0, 1, 96, 48, 49, 34, 47, 19],
        [0, 1, 112, 61, 52, 58, 91, 96],
    ];
    let src = backend.upload(&source)?;
    for (to, carried) in [Span::chain(1), Span::special(1)].into_iter().zip(carried) {
        let mut out = backend.zeros(lab.n)?;
        let (from, to) = (Rows::new(Span::digit(1, 3), 1), Rows::new(to, 1));
        lab.ring.convert_basis(from, &src, to, &mut out)?;
        lab.expect("convert_basis", "base_conversion.py", &lab.read(&out)?, &carried)?;
    }

    // tests/vectors/sampler.py; three entries of batch are its 24 words.
    let seed = Seed([7; 32]);
    #[rustfmt::skip]
    let uniform = [
        28, 39, 56, 43, 46, 75, 41, 56,
        174321620430971, 524010417542693, 170580984908441, 440050977063071,
        132587090108069, 703660477199052, 840156668689079, 949780253611223,
        1503752511961007028, 2032887511505992469, 2267027850360551585, 1130022722786176409,
        2220590570891023600, 223831658950244005, 2208036400761347020, 1507368452144026534,
        87, 41, 33, 98, 103, 106, 95, 95,
    ];
    let mut out = backend.zeros(rows.count() * lab.n)?;
    lab.ring.sample_uniform(rows, &seed, 9, &mut out)?;
    lab.expect("sample_uniform", "sampler.py", &lab.read(&out)?, &uniform)?;
    #[rustfmt::skip]
    let small: [[i64; 24]; 2] = [
        [-1, -1, 1, -1, -1, -1, 1, -1, 1, 0, 0, 1, 0, 0, 1, 1, -1, 0, 0, 1, 0, 1, -1, 1],
        [6, -2, 0, 6, 8, -2, 1, -2, 4, -1, -2, 6, -2, 2, -2, 2, -1, 3, 1, 1, 2, 1, -5, 2],
    ];
    let rows = Rows::new(rows.span, 3);
    for (kind, small) in small.iter().enumerate() {
        let mut out = backend.zeros(rows.count() * lab.n)?;
        match kind {
            0 => lab.ring.sample_ternary(rows, &seed, 9, &mut out)?,
            _ => lab.ring.sample_error(rows, &seed, 9, &mut out)?,
        }
        let expected: Vec<u64> = (lab.primes(rows.span).into_iter())
            .flat_map(|q| small.iter().map(move |&x| if x < 0 { q - x.unsigned_abs() } else { x as u64 }))
            .collect();
        let op = ["sample_ternary", "sample_error"][kind];
        lab.expect(op, "sampler.py", &lab.read(&out)?, &expected)?;
    }
    Ok(())
}

/// In long mixed programs, operations take effect in the order in which they were called.
pub fn programs<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    for seed in 0..4u64 {
        let mut state = seed;
        // SplitMix64 (Steele, Lea, Flood 2014).
        let mut random = |below: usize| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let x = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((x ^ (x >> 31)) >> 16) as usize % below
        };
        let mirror = Mirror::new(backend.clone(), Naive);
        let lab = Lab::new(mirror, &WIDTHS[seed as usize % 3], log_n.min(2 + 2 * (seed as u32 % 3)))?;
        let (ops, n) = (&lab.ring, lab.n);
        let rows = Rows::new(Span { start: 1, q: 4, p: 1 }, 2);
        let mut bufs = Vec::new();
        for salt in 0..4 {
            bufs.push(lab.exact(rows, Fill::Paint(salt))?);
        }
        let mut history = Vec::new();
        for _ in 0..200 {
            let mut a = bufs.swap_remove(random(bufs.len()));
            let (x, y) = (&bufs[random(bufs.len())], &bufs[random(bufs.len())]);
            let (x, y) = (Operand::new(x, rows.batch), Operand::new(y, rows.batch));
            let constants = lab.constants(rows.span, Fill::Paint(random(1000) as u64));
            let op = random(14);
            history.push(op);
            let result = match op {
                0 => ops.ntt(rows, &mut a),
                1 => ops.intt(rows, &mut a),
                2 => ops.add_assign(rows, &mut a, x),
                3 => ops.sub_assign(rows, &mut a, x),
                4 => ops.neg_assign(rows, &mut a),
                5 => ops.mul_assign(rows, &mut a, x),
                6 => ops.mul_add_assign(rows, &mut a, x, y),
                7 => ops.scale_assign(rows, &mut a, &constants),
                8 => ops.scale_add_assign(rows, &mut a, x, &constants),
                9 => ops.add_scalar_assign(rows, &mut a, &constants),
                10 => {
                    let g = 2 * random(n) as u64 + 1;
                    ops.automorphism(rows, DomainKind::Coeff, g, x, &mut a)
                }
                11 => {
                    let g = 2 * random(n) as u64 + 1;
                    ops.automorphism(rows, DomainKind::Eval, g, x, &mut a)
                }
                12 => ops.sample_uniform(rows, &Seed([seed as u8; 32]), random(1 << 30) as u32, &mut a),
                _ => lab.backend.copy(x.buf, rows.batch * n, &mut a, rows.batch * n, rows.batch * n * 2),
            };
            in_case(result, || lab.case((rows, "program", seed, &history)))?;
            bufs.push(a);
        }
        lab.backend.synchronize()?;
    }
    Ok(())
}

/// Several threads on one set of tables leave the same results as one thread.
pub fn threads<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    let work = |lab: &Lab<B>, q: usize| -> Result<Vec<u64>> {
        let ops = &lab.ring;
        let shape =
            KeySwitchShape { digits: (0..q).map(|i| i..i + 1).collect(), q, key_q: 6, p: 2, batch: 1 };
        let src = lab.buffer(Rows::new(Span::chain(q), 1), Fill::Paint(q as u64))?;
        let digits = ops.decompose(&shape, &src)?;
        let [sum, _] = ops.key_product(&shape, digits.as_ref(), lab.painted_key(&shape, 10)?.as_ref())?;
        lab.read(&ops.mod_down(shape.span(), q, 1, sum)?)
    };
    let log_n = log_n.min(10);
    let lab = Lab::new(backend.clone(), &WIDTHS[0], log_n)?;
    let alone = (1..=6).map(|q| work(&lab, q)).collect::<Result<Vec<_>>>()?;
    // The tables are fresh, so that several threads prepare their contents on first use at once.
    let lab = Lab::new(backend.clone(), &WIDTHS[0], log_n)?;
    let together: Vec<Result<Vec<u64>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..12)
            .map(|i| {
                (
                    i,
                    scope.spawn({
                        let lab = &lab;
                        move || work(lab, i / 2 + 1)
                    }),
                )
            })
            .collect();
        threads
            .into_iter()
            .map(|(i, thread)| {
                thread.join().unwrap_or_else(|_| {
                    Err(Error::argument("thread", format!("thread {i} of the test panicked")))
                })
            })
            .collect()
    });
    for (i, found) in together.into_iter().enumerate() {
        lab.expect("threads", "the same from one thread", &found?, &alone[i / 2])?;
    }
    Ok(())
}
