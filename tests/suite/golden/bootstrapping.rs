//! Kinds 35 to 39: parameters and keys of bootstrapping.

use super::*;
use he::bfv::{Bfv, BfvDecryptor, BfvEvaluator, BfvSecretEncryptor};
use he::bgv::Bgv;
use he::bootstrapping::{BootstrapKeyUse, BootstrapKeys, BootstrapParams, Bootstrapper};
use he::ckks::{Evaluator, SecretEncryptor};
use he::exact::bootstrapping as exact;

#[test]
fn golden_files_of_bootstrapping_read_back() {
    let bytes = committed("bootstrapping_parameters.he");
    let params = BootstrapParams::from_bytes_insecure(&bytes).unwrap();
    assert_eq!(params, generator::bootstrap_params().unwrap());
    assert!(matches!(BootstrapParams::from_bytes(&bytes), Err(he::Error::InvalidParams(_))));
    let ring = params.ring(Cpu::new()).unwrap();
    let program = params.params();
    let secret = SecretKey::from_bytes(program, &committed("bootstrapping_secret_key.he")).unwrap();
    let keys = BootstrapKeys::from_bytes(&params, &ring, &committed("bootstrapping_keys.he")).unwrap();
    assert_eq!(keys.key_set(), Some(secret.key_set()));
    // The keys that were read refresh a ciphertext.
    let ev = Evaluator::new(program, &ring).unwrap();
    let values = [Complex64::new(0.25, -0.5), Complex64::new(-0.75, 0.125)];
    let plain = ev.encoder().encode(&values, program.encoding().slots(2)).unwrap();
    let encryptor = SecretEncryptor::new(program, &secret, &ring).unwrap();
    let ct = encryptor.encrypt(&plain, &mut super::super::common::rng(1)).unwrap().expand().unwrap();
    let low = ev.mod_switch_to(&ct, params.input_level()).unwrap();
    let fresh = Bootstrapper::new(&params, &ring).unwrap().refresh(&low, &keys).unwrap();
    assert_eq!(fresh.level(), params.output_level());
    let decryptor = Decryptor::new(program, &secret, &ring).unwrap();
    let found = decryptor.decrypt_complex(&fresh).unwrap();
    assert!(worst_difference(std::slice::from_ref(&found), &[values.to_vec()]) < 1e-3, "{found:?}");
}

/// Kinds 38 and 39, whose keys are those of kinds 36 and 37 as well.
#[test]
fn golden_files_of_bootstrapping_integers_read_back() {
    let bytes = committed("bfv_bootstrapping_parameters.he");
    let boot = exact::BootstrapParams::<Bfv>::from_bytes_insecure(&bytes).unwrap();
    assert!(boot == generator::integer_bootstrap_params().unwrap());
    assert!(matches!(exact::BootstrapParams::<Bfv>::from_bytes(&bytes), Err(he::Error::InvalidParams(_))));
    assert!(exact::BootstrapParams::<Bgv>::from_bytes_insecure(&bytes).is_err());
    let other = committed("bgv_bootstrapping_parameters.he");
    let other = exact::BootstrapParams::<Bgv>::from_bytes_insecure(&other).unwrap();
    assert!(other == generator::integer_bootstrap_params().unwrap());

    let (params, ring) = (boot.params(), boot.ring(Cpu::new()).unwrap());
    let secret = SecretKey::from_bytes(params, &committed("bfv_bootstrapping_secret_key.he")).unwrap();
    let keys = committed("bfv_bootstrapping_keys.he");
    let keys = BootstrapKeys::from_bytes(boot.circuit(), &ring, &keys).unwrap();
    assert_eq!(keys.key_set(), Some(secret.key_set()));
    let ev = BfvEvaluator::new(params, &ring).unwrap();
    let values: Vec<u64> = (0..16).collect();
    let plain = ev.encoder().encode_coefficients(&values).unwrap();
    let encryptor = BfvSecretEncryptor::new(params, &secret, &ring).unwrap();
    let mut ct = encryptor.encrypt(&plain, &mut super::super::common::rng(1)).unwrap().expand().unwrap();
    // 3 times 6 is one.
    while let Ok(spent) = ev.mul_scalar(&ev.mul_scalar(&ct, 3).unwrap(), 6) {
        if spent.predicted_budget(params) < boot.needed_budget() {
            break;
        }
        ct = spent;
    }
    assert!(ct.predicted_budget(params) < boot.refreshed_budget());
    let fresh = exact::Bootstrapper::new(&boot, &ring).unwrap().refresh(&ct, &keys).unwrap();
    assert!(fresh.predicted_budget(params) >= boot.refreshed_budget());
    let decryptor = BfvDecryptor::new(params, &secret, &ring).unwrap();
    assert!(decryptor.noise_budget(&fresh).unwrap()[0] >= fresh.predicted_budget(params));
    let found = ev.encoder().decode_coefficients::<u64>(&decryptor.decrypt(&fresh).unwrap()).unwrap();
    assert_eq!(found[0], values);
}

/// The primes and the digits of a key, as its section says.
struct Part {
    primes: Vec<u64>,
    /// The first index and the end of each digit.
    digits: Vec<(usize, usize)>,
    special: Vec<u64>,
}

impl Part {
    fn new(q: &[u64], p: &[u64]) -> Self {
        let log2 = |primes: &[u64]| primes.iter().map(|&prime| (prime as f64).log2()).sum::<f64>();
        let (mut digits, mut start) = (Vec::new(), 0);
        for end in 1..=q.len() {
            if end == q.len() || log2(&q[start..=end]) > log2(p) + 0.5 {
                digits.push((start, end));
                start = end;
            }
        }
        Self { primes: q.to_vec(), digits, special: p.to_vec() }
    }
}

/// b_j + a_j u modulo each prime, in coefficients: e_j + P g_j t.
fn with_masks(spec: &Spec, part: &Part, body: &mut Cursor<'_>, u: &[i64]) -> Vec<Vec<Vec<u64>>> {
    let seed = body.bytes(32);
    let all: Vec<u64> = part.primes.iter().chain(&part.special).copied().collect();
    let digits = (0..part.digits.len()).map(|digit| {
        let rows = all.iter().enumerate().map(|(i, &q)| {
            // Streams count the primes of the key's own ring.
            let (b, u) = (body.row(q, spec.n), spec.evaluate(u, q));
            let a = uniform(seed, i as u64, digit as u64, q, 0, spec.n as u64);
            let values: Vec<u64> = (0..spec.n).map(|k| (b[k] + mul(a[k], u[k], q)) % q).collect();
            spec.interpolate(&values, q)
        });
        rows.collect()
    });
    digits.collect()
}

/// Whether these are e_j + P g_j t, with the same small error modulo every prime.
fn holds(part: &Part, rows: &[Vec<Vec<u64>>], t: &[i64]) {
    let all: Vec<u64> = part.primes.iter().chain(&part.special).copied().collect();
    for (digit, rows) in part.digits.iter().zip(rows) {
        let mut first: Option<Vec<i64>> = None;
        for (i, (row, &q)) in rows.iter().zip(&all).enumerate() {
            let inside = (digit.0..digit.1).contains(&i);
            let factor = if inside { part.special.iter().fold(1, |x, &p| mul(x, p % q, q)) } else { 0 };
            let error: Vec<i64> = row
                .iter()
                .zip(t)
                .map(|(&x, &t)| {
                    let e = (x + q - mul(factor, t.rem_euclid(q as i64) as u64, q)) % q;
                    if e > q / 2 { e as i64 - q as i64 } else { e as i64 }
                })
                .collect();
            assert!(error.iter().all(|e| e.abs() <= 21) && error.iter().any(|&e| e != 0), "{error:?}");
            assert_eq!(first.get_or_insert_with(|| error.clone()), &error);
        }
    }
}

#[test]
fn the_specification_alone_reads_the_golden_keys_of_bootstrapping() {
    let frame = &raw_frames(&committed("bootstrapping_parameters.he"))[0];
    assert_eq!(frame.kind, 35);
    let hashed = [&b"he ckks bootstrapping parameters 1"[..], &frame.body].concat();
    assert_eq!(blake3::hash(&hashed).as_bytes(), &frame.fingerprint);
    let mut body = Cursor(&frame.body);
    assert_eq!(body.number(1), 7);
    let (log_n, log_slots, base) = (body.number(1) as u32, body.number(1), body.number(1));
    assert_eq!((log_n, log_slots, base, f64::from_bits(body.number(8))), (4, 1, 46, 36.0));
    let mut widths = vec![base];
    let list = |body: &mut Cursor<'_>| -> Vec<u64> { (0..body.number(1)).map(|_| body.number(1)).collect() };
    let maps = list(&mut body);
    widths.extend(&maps);
    let run = |body: &mut Cursor<'_>| -> (Vec<u64>, f64) {
        let (levels, scale) = (body.number(2), f64::from_bits(body.number(8)));
        let primes = list(body);
        ((0..levels).flat_map(|_| primes.clone()).collect(), scale)
    };
    let program = run(&mut body);
    let join = body.number(1);
    let runs = body.number(1);
    let reduction: Vec<_> = (0..runs).map(|_| run(&mut body)).collect();
    let up = run(&mut body);
    assert_eq!((program.1, reduction[0].1, up.1), (36.0, 46.0, 46.0));
    widths.extend(program.0.iter().chain([&join]));
    widths.extend(reduction.iter().chain([&up]).flat_map(|run| &run.0));
    let special = list(&mut body);
    let low_special = body.number(1) as usize;
    let borrowed = list(&mut body);
    // One matrix, of one prime; the reduction borrows that.
    assert_eq!((join, up.0.len(), borrowed.as_slice()), (30, 1, &[1][..]));
    assert_eq!((body.number(4), body.number(2), body.number(1), body.number(1)), (2, 14, 1, 0));
    assert_eq!((f64::from_bits(body.number(8)), body.number(4)), (0.5, 2));
    let (q, p) = (body.list(8), body.list(8));
    assert!(body.0.is_empty());
    for (primes, widths) in [(&q, &widths), (&p, &special)] {
        assert_eq!(primes.len(), widths.len());
        assert!(primes.iter().zip(widths).all(|(&q, &w)| ((q as f64).log2() - w as f64).abs() <= 1.0));
    }

    let spec = Spec { n: 1 << log_n, log_n, q: q.clone(), p: p.clone(), levels: vec![] };
    let s = read_secret(&raw_frames(&committed("bootstrapping_secret_key.he"))[1], spec.n);
    let all = Part::new(&q, &p);
    let (below, above) = q.split_at(q.len() - 1);
    let reduction = Part::new(below, &[above, &p].concat());
    let low = Part::new(&q[..1 + maps.len()], &p[..low_special]);
    let sparse = Part::new(&q[..1], &p[..1]);

    let frames = raw_frames(&committed("bootstrapping_keys.he"));
    let kinds: Vec<u16> = frames.iter().map(|frame| frame.kind).collect();
    assert_eq!(kinds[..2], [31, 36]);
    assert!(kinds[2..].iter().all(|&kind| kind == 37));
    assert!(frames.iter().all(|key| key.fingerprint == frame.fingerprint));
    // The key back holds the sparse secret as its message: P t modulo all primes of the chain.
    let back = Part { digits: vec![(0, q.len())], ..Part::new(&q, &p) };
    let mut body = Cursor(&frames[2].body);
    assert_eq!((body.number(1), body.number(1), body.number(8)), (1, 0, 0));
    let rows = with_masks(&spec, &back, &mut body, &s);
    assert!(body.0.is_empty());
    let factor = p.iter().fold(1, |x, &p| mul(x, p % q[0], q[0]));
    let near = |x: u64, t: u64| {
        let e = (x + q[0] - mul(factor, t, q[0])) % q[0];
        e.min(q[0] - e) <= 21
    };
    let digit = |x: u64| [(0, 0), (1, 1), (q[0] - 1, -1)].into_iter().find(|&(t, _)| near(x, t)).unwrap().1;
    let hidden: Vec<i64> = rows[0][0].iter().map(|&x| digit(x)).collect();
    assert_eq!(hidden.iter().filter(|&&t| t != 0).count(), 2);
    holds(&back, &rows, &hidden);
    // The key to it is under it, over q_0 p_0.
    let mut body = Cursor(&frames[1].body);
    let rows = with_masks(&spec, &sparse, &mut body, &hidden);
    assert!(body.0.is_empty());
    holds(&sparse, &rows, &s);

    let image = |x: &[i64], g: usize| -> Vec<i64> {
        let mut z = vec![0; spec.n];
        for (k, x) in x.iter().enumerate() {
            let at = g * k % (2 * spec.n);
            z[at % spec.n] = if at < spec.n { *x } else { -x };
        }
        z
    };
    let mut uses = vec![BootstrapKeyUse::ToSparse, BootstrapKeyUse::ToDense];
    for frame in &frames[3..] {
        let mut body = Cursor(&frame.body);
        let (number, matrix, g) = (body.number(1), body.number(1), body.number(8));
        assert_eq!(matrix, 0);
        let part = match number {
            3 => &all,
            4 => &low,
            _ => &reduction,
        };
        let (under, message) = if number == 2 {
            assert_eq!(g, 0);
            uses.push(BootstrapKeyUse::Relin);
            let mut square = vec![0; spec.n];
            for (i, x) in s.iter().enumerate() {
                let shifted = (0..spec.n).map(|j| if i + j < spec.n { s[j] } else { -s[j] });
                shifted.enumerate().for_each(|(j, y)| square[(i + j) % spec.n] += x * y);
            }
            (s.clone(), square)
        } else {
            uses.push(match number {
                3 => BootstrapKeyUse::CoeffsToSlots { matrix: 0, g },
                4 => BootstrapKeyUse::SlotsToCoeffs(g),
                5 => BootstrapKeyUse::Join(g),
                _ => panic!("purpose {number}"),
            });
            let inverse = (1..2 * spec.n).find(|h| g as usize * h % (2 * spec.n) == 1).unwrap();
            (image(&s, inverse), s.clone())
        };
        let rows = with_masks(&spec, part, &mut body, &under);
        assert!(body.0.is_empty());
        holds(part, &rows, &message);
    }
    assert!(uses.is_sorted());
    assert_eq!(uses, generator::bootstrap_params().unwrap().key_uses().unwrap());
}
