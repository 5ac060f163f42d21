//! P1: Reynaldi, *CKKS with a big-integer modulus, serial and on CUDA*, Institut Teknologi Bandung,
//! 2023, after Cheon, Kim, Kim, Song (ASIACRYPT 2017). CPU: Core i7-9700K; GPU: GTX 1660, CUDA
//! 10.1. Input size 8192.

use crate::error::Result;
use crate::keys::{BigCkks, rng};
use crate::measure::{Lab, on_places};
use crate::report::{Show, Table, Unit, Value};
use he_core::backend::{Cpu, WideOps};
use he_core::bigckks::reference::{
    Embedding, QuotientRing, Scheme, coordinate_wise_random_rounding, gaussian, hamming_weight, schoolbook,
    sparse_ternary,
};
use he_core::bigckks::{
    BigCkksParams, BigCkksSpec, Encryptor, EvaluationKeys, KeyRequirements, Product, PublicKey, SecretKey,
    WidePoly,
};
use he_core::ring::Ring;
use num_bigint::BigInt;
use std::time::Instant;

/// Serial and parallel. The paper prints no unit; its magnitudes fit microseconds.
const FIGURES: [(&str, [f64; 2]); 10] = [
    ("encode", [83_284_134.6, 23.6]),
    ("decode", [25_544_100.2, 7.4]),
    ("secret key", [297.0, 203.0]),
    ("public key", [179_472.6, 1_266.0]),
    ("evaluation key", [90_145.8, 633.0]),
    ("encrypt", [2_147.4, 184.0]),
    ("decrypt", [89_253.6, 18.6]),
    ("add", [535.8, 19.8]),
    ("multiply (schoolbook)", [1_316_268.2, 413.0]),
    ("multiply (NTT)", [3_086_285.8, 108_481.8]),
];

/// The paper has no figure for this, since its product is a triple.
const MORE: &str = "multiply, relinearise, rescale";

/// 8192 slots.
const LOG_N: u32 = 14;
const LOG_Q: u32 = 438;
const LOG_SCALE: u32 = 50;
/// The weight of the paper's sparse secret.
const WEIGHT: usize = 64;
const SIGMA: f64 = 3.2;

type Times = [Value; FIGURES.len() + 1];

/// The paper's algorithms in big integers.
fn reference(lab: &Lab, log_n: u32) -> Result<Times> {
    let (n, rng, cpu) = (1usize << log_n, &mut rng(), &lab.serial.backend);
    let embedding = Embedding::new(n);
    let mut scheme = Scheme::new(n, LOG_Q, LOG_Q);
    scheme.q = scheme.q.by_transform();
    let scale = f64::from(LOG_SCALE).exp2();
    let params = BigCkksParams::insecure(BigCkksSpec::new(log_n, LOG_Q, LOG_SCALE))?;
    let slots = BigCkks::new(cpu, &params)?.values;
    let (a, a_key) = (scheme.q.uniform(rng), scheme.key_ring().uniform(rng));
    let (s, e) = (hamming_weight(n, WEIGHT, rng), gaussian(n, SIGMA, rng));
    let square = scheme.q.mul(&s, &s);
    let public = scheme.public_key(&s, &a, &e);
    let message: Vec<BigInt> = a.iter().map(|x| x >> (LOG_Q - LOG_SCALE)).collect();
    let x = scheme.encrypt(&public, &message, &sparse_ternary(n, 0.5, rng), [&e, &e]);
    // Four products of two polynomials; one of degree 2^10 predicts their time.
    let small = QuotientRing::power_of_two(1 << 10, LOG_Q);
    let (left, right) = (small.uniform(rng), small.uniform(rng));
    let begin = Instant::now();
    schoolbook(&left, &right);
    let expected = 4.0 * begin.elapsed().as_secs_f64() * f64::exp2(2.0 * (f64::from(log_n) - 10.0));
    let mut plainly = Scheme::new(n, LOG_Q, LOG_Q);
    plainly.q = QuotientRing::power_of_two(n, LOG_Q);
    let done = |what: &mut dyn FnMut()| {
        lab.time(cpu, || -> Result<()> {
            what();
            Ok(())
        })
        .map(Value::Number)
    };
    Ok([
        done(&mut || {
            let coordinates = embedding.project(&embedding.pi_inverse(&slots), scale);
            drop(coordinate_wise_random_rounding(&coordinates, rng));
        })?,
        done(&mut || drop(embedding.pi(&embedding.sigma(&message, scale))))?,
        done(&mut || drop(hamming_weight(n, WEIGHT, rng)))?,
        done(&mut || {
            let (a, e) = (scheme.q.uniform(rng), gaussian(n, SIGMA, rng));
            drop(scheme.public_key(&s, &a, &e));
        })?,
        done(&mut || {
            let e = gaussian(n, SIGMA, rng);
            drop(scheme.switching_key(&s, &square, &BigInt::from(1), &a_key, &e));
        })?,
        done(&mut || {
            let [v, e0, e1] = [sparse_ternary(n, 0.5, rng), gaussian(n, SIGMA, rng), gaussian(n, SIGMA, rng)];
            drop(scheme.encrypt(&public, &message, &v, [&e0, &e1]));
        })?,
        done(&mut || drop(scheme.decrypt(&x, &s)))?,
        done(&mut || drop(scheme.add(&x, &x)))?,
        lab.time_if_short(expected, cpu, || -> Result<_> { Ok(plainly.multiply(&x, &x)) })?,
        done(&mut || drop(scheme.multiply(&x, &x)))?,
        Value::Nothing,
    ])
}

/// The library. `copies`: operands start in the host's memory and results end there.
fn fast<B: WideOps>(lab: &Lab, backend: &B, log_n: u32, copies: bool) -> Result<Times> {
    let params = BigCkksParams::insecure(BigCkksSpec::new(log_n, LOG_Q, LOG_SCALE))?;
    let x = BigCkks::new(backend, &params)?;
    let encryptor = Encryptor::new(&params, &x.public)?;
    let (ring, ev, rng) = (&x.ring, &x.ev, &mut rng());
    let host = Ring::new(Cpu::new(), params.ring().clone())?;
    let home = |poly: &WidePoly<B>| if copies { poly.to(&host).map(drop) } else { Ok(()) };
    let all = |polys: &[&WidePoly<B>]| polys.iter().try_for_each(|poly| home(poly));
    let (plain, a, b) = (x.plain.poly().to(&host)?, x.inputs[0].to(&host)?, x.inputs[1].to(&host)?);
    // Operands that came from the host, or those on the device.
    let operands =
        || -> he_core::Result<_> { Ok(if copies { Some((a.to(ring)?, b.to(ring)?)) } else { None }) };
    let arrive = || if copies { plain.to(ring).map(drop) } else { Ok(()) };
    let multiply = || -> he_core::Result<()> {
        let fresh = operands()?;
        let (a, b) = fresh.as_ref().map_or((&x.inputs[0], &x.inputs[1]), |(a, b)| (a, b));
        let product: Product<B> = ev.tensor(a, b)?;
        all(&product.parts())
    };
    let time = |call: &mut dyn FnMut() -> he_core::Result<()>| lab.time(backend, call).map(Value::Number);
    let encode = time(&mut || home(ev.encoder().encode(&x.values, params.encoding())?.poly()))?;
    let decode = time(&mut || {
        arrive()?;
        ev.encoder().decode(&x.plain).map(drop)
    })?;
    let secret_key = time(&mut || {
        SecretKey::generate(&params, rng);
        Ok(())
    })?;
    let public_key = time(&mut || {
        let key = PublicKey::generate(&x.secret, ring, rng)?;
        if copies { home(&key.body()?) } else { Ok(()) }
    })?;
    let evaluation_key = time(&mut || {
        let keys = EvaluationKeys::generate(&x.secret, ring, KeyRequirements::new().relinearisation(), rng)?;
        if !copies {
            return Ok(());
        }
        (0..params.digits(LOG_Q)).try_for_each(|digit| home(&keys.relin()?.body(digit)?))
    })?;
    let encrypt = time(&mut || {
        arrive()?;
        all(&encryptor.encrypt(&x.plain, rng)?.parts())
    })?;
    let decrypt = time(&mut || {
        let fresh = if copies { Some(a.to(ring)?) } else { None };
        home(x.decryptor.decrypt(fresh.as_ref().unwrap_or(&x.inputs[0]))?.poly())
    })?;
    let add = time(&mut || {
        let fresh = operands()?;
        let (a, b) = fresh.as_ref().map_or((&x.inputs[0], &x.inputs[1]), |(a, b)| (a, b));
        all(&ev.add(a, b)?.parts())
    })?;
    let product = time(&mut || multiply())?;
    let whole = time(&mut || {
        let fresh = operands()?;
        let (a, b) = fresh.as_ref().map_or((&x.inputs[0], &x.inputs[1]), |(a, b)| (a, b));
        all(&ev.rescale(&ev.mul(a, b, &x.keys)?, LOG_SCALE)?.parts())
    })?;
    // One product, for which ours always uses transforms.
    Ok([
        encode,
        decode,
        secret_key,
        public_key,
        evaluation_key,
        encrypt,
        decrypt,
        add,
        product,
        product,
        whole,
    ])
}

/// The name of the table.
pub const ID: &str = "p1";

/// The paper's table.
pub fn tables(lab: &Lab, show: &mut Show<'_>) -> Result<()> {
    let log_n = if lab.quick { 10 } else { LOG_N };
    let title = format!("P1, {} inputs (N = 2^{log_n}, log q = {LOG_Q})", 1 << (log_n - 1));
    let mut table = Table::new(ID, title, "operation", Unit::Microseconds)
        .categories(FIGURES.iter().map(|(name, _)| *name).chain([MORE]));
    let (serial, parallel) = ("paper: CPU", "paper: GPU");
    if !lab.quick {
        table.paper(serial, FIGURES.map(|(_, figures)| figures[0]));
        table.paper(parallel, FIGURES.map(|(_, figures)| figures[1]));
    }
    if let Some(place) = lab.cpus().next() {
        table.measured("the paper's algorithms, 1 thread", place.on(|| reference(lab, log_n))?);
    }
    on_places!(lab, place => {
        table.measured(&place.name, place.on(|| fast(lab, &place.backend, log_n, false))?);
        if place.apart {
            table.measured(&place.with_copies(), place.on(|| fast(lab, &place.backend, log_n, true))?);
        }
    });
    table.compare(serial, &lab.serial.name);
    table.compare(parallel, &lab.threads.name);
    table.compare(parallel, "GPU");
    table.compare(parallel, "GPU with copies");
    if lab.quick {
        table.note("not the paper's 8192 inputs: its figures are left out");
    }
    table.note("the paper prints no unit; its magnitudes fit microseconds");
    table.note(
        "the paper's figures on the GPU look like launches that were not waited for: ours are waited for",
    );
    table.note(
        "the paper's algorithms: O(N^2) encoding and decoding in big integers, a sparse secret of weight 64",
    );
    table.note("ours multiplies by transforms in both rows of products; its secret is uniform ternary");
    show(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::all_run;

    /// Runs the code of a GPU's columns on the CPU.
    #[test]
    fn operands_may_travel() {
        let lab = Lab::new(None, true, None).unwrap();
        for copies in [false, true] {
            let times = fast(&lab, &Cpu::new(), 6, copies).unwrap();
            assert!(all_run(&times));
        }
    }
}
