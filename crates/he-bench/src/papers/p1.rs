//! P1: Reynaldi, *CKKS with a big-integer modulus, serial and on CUDA*, Institut Teknologi Bandung,
//! 2023, after Cheon, Kim, Kim, Song (ASIACRYPT 2017). CPU: Core i7-9700K; GPU: GTX 1660, CUDA
//! 10.1. Input size 8192.

use crate::error::Result;
use crate::keys::{BigCkks, rng};
use crate::measure::{Id, Lab, Lazy, on_places};
use crate::report::{Show, Table, Unit, Value};
use he_core::backend::{Cpu, WideOps};
use he_core::bigckks::reference::{
    Embedding, IntPoly, Pair, QuotientRing, Scheme, coordinate_wise_random_rounding, gaussian,
    hamming_weight, schoolbook, sparse_ternary,
};
use he_core::bigckks::{
    BigCkksParams, BigCkksSpec, Complex64, Encryptor, EvaluationKeys, KeyRequirements, PublicKey, SecretKey,
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

/// The row of an operation.
fn id(column: &str, row: usize) -> Id {
    Id::new(ID, column, FIGURES.get(row).map_or(MORE, |(name, _)| name))
}

/// Keys and inputs of the paper's algorithms.
struct Reference {
    embedding: Embedding,
    scheme: Scheme,
    /// Products by their definition.
    plainly: Scheme,
    slots: Vec<Complex64>,
    a_key: IntPoly,
    s: IntPoly,
    square: IntPoly,
    public: Pair,
    message: IntPoly,
    x: Pair,
    /// The seconds that a product by its definition should take.
    schoolbook: f64,
}

impl Reference {
    fn new(n: usize, slots: Vec<Complex64>) -> Self {
        let rng = &mut rng();
        let mut scheme = Scheme::new(n, LOG_Q, LOG_Q);
        scheme.q = scheme.q.by_transform();
        let (a, a_key) = (scheme.q.uniform(rng), scheme.key_ring().uniform(rng));
        let (s, e) = (hamming_weight(n, WEIGHT, rng), gaussian(n, SIGMA, rng));
        let square = scheme.q.mul(&s, &s);
        let public = scheme.public_key(&s, &a, &e);
        let message: IntPoly = a.iter().map(|x| x >> (LOG_Q - LOG_SCALE)).collect();
        let x = scheme.encrypt(&public, &message, &sparse_ternary(n, 0.5, rng), [&e, &e]);
        // Four products of two polynomials; one of degree 2^10 predicts their time.
        let small = QuotientRing::power_of_two(1 << 10, LOG_Q);
        let (left, right) = (small.uniform(rng), small.uniform(rng));
        let begin = Instant::now();
        schoolbook(&left, &right);
        let schoolbook = 4.0 * begin.elapsed().as_secs_f64() * (n as f64 / 1024.0).powi(2);
        let mut plainly = Scheme::new(n, LOG_Q, LOG_Q);
        plainly.q = QuotientRing::power_of_two(n, LOG_Q);
        let embedding = Embedding::new(n);
        Self { embedding, scheme, plainly, slots, a_key, s, square, public, message, x, schoolbook }
    }
}

/// The paper's algorithms in big integers.
fn reference(lab: &Lab, column: &str, log_n: u32) -> Result<Times> {
    let (n, rng, cpu) = (1usize << log_n, &mut rng(), &lab.serial.backend);
    let params = BigCkksParams::insecure(BigCkksSpec::new(log_n, LOG_Q, LOG_SCALE))?;
    let made = Lazy::new(|| Ok(Reference::new(n, BigCkks::new(cpu, &params)?.values)));
    let scale = f64::from(LOG_SCALE).exp2();
    let mut done = 0;
    let mut time = |call: &mut dyn FnMut(&Reference)| {
        done += 1;
        lab.time(&id(column, done - 1), cpu, || -> Result<()> {
            call(made.get()?);
            Ok(())
        })
    };
    let encode = time(&mut |r| {
        let coordinates = r.embedding.project(&r.embedding.pi_inverse(&r.slots), scale);
        drop(coordinate_wise_random_rounding(&coordinates, rng));
    })?;
    let decode = time(&mut |r| drop(r.embedding.pi(&r.embedding.sigma(&r.message, scale))))?;
    let secret_key = time(&mut |_| drop(hamming_weight(n, WEIGHT, rng)))?;
    let public_key = time(&mut |r| {
        let (a, e) = (r.scheme.q.uniform(rng), gaussian(n, SIGMA, rng));
        drop(r.scheme.public_key(&r.s, &a, &e));
    })?;
    let evaluation_key = time(&mut |r| {
        let e = gaussian(n, SIGMA, rng);
        drop(r.scheme.switching_key(&r.s, &r.square, &BigInt::from(1), &r.a_key, &e));
    })?;
    let encrypt = time(&mut |r| {
        let [v, e0, e1] = [sparse_ternary(n, 0.5, rng), gaussian(n, SIGMA, rng), gaussian(n, SIGMA, rng)];
        drop(r.scheme.encrypt(&r.public, &r.message, &v, [&e0, &e1]));
    })?;
    let decrypt = time(&mut |r| drop(r.scheme.decrypt(&r.x, &r.s)))?;
    let add = time(&mut |r| drop(r.scheme.add(&r.x, &r.x)))?;
    let expected = if lab.is_metered() { 0.0 } else { made.get()?.schoolbook };
    let plainly = || -> Result<_> {
        let r = made.get()?;
        Ok(r.plainly.multiply(&r.x, &r.x))
    };
    let multiply = lab.time_if_short(&id(column, done), expected, cpu, plainly)?;
    let fast = || -> Result<_> {
        let r = made.get()?;
        Ok(r.scheme.multiply(&r.x, &r.x))
    };
    let by_transform = lab.time(&id(column, done + 1), cpu, fast)?;
    Ok([
        encode,
        decode,
        secret_key,
        public_key,
        evaluation_key,
        encrypt,
        decrypt,
        add,
        multiply,
        by_transform,
        Value::Nothing,
    ])
}

/// The library. `copies`: operands start in the host's memory and results end there.
fn fast<B: WideOps>(lab: &Lab, column: &str, backend: &B, log_n: u32, copies: bool) -> Result<Times> {
    let params = BigCkksParams::insecure(BigCkksSpec::new(log_n, LOG_Q, LOG_SCALE))?;
    let made = Lazy::new(|| BigCkks::new(backend, &params));
    let encryptor = Lazy::new(|| Ok(Encryptor::new(&params, &made.get()?.public)?));
    let host = Ring::new(Cpu::new(), params.ring().clone())?;
    let hosted = Lazy::new(|| {
        let x = made.get()?;
        Ok((x.plain.poly().to(&host)?, x.inputs[0].to(&host)?, x.inputs[1].to(&host)?))
    });
    let rng = &mut rng();
    let home = |poly: &WidePoly<B>| if copies { poly.to(&host).map(drop) } else { Ok(()) };
    let all = |polys: &[&WidePoly<B>]| polys.iter().try_for_each(|poly| home(poly));
    // Operands that came from the host, or those on the device.
    let operands = |x: &BigCkks<B>| -> Result<_> {
        Ok(if copies { Some((hosted.get()?.1.to(&x.ring)?, hosted.get()?.2.to(&x.ring)?)) } else { None })
    };
    let arrive = |x: &BigCkks<B>| -> Result<()> {
        if copies {
            drop(hosted.get()?.0.to(&x.ring)?);
        }
        Ok(())
    };
    let time = |row: usize, call: &mut dyn FnMut(&BigCkks<B>) -> Result<()>| {
        lab.time(&id(column, row), backend, || call(made.get()?))
    };
    let encode = time(0, &mut |x| Ok(home(x.ev.encoder().encode(&x.values, params.encoding())?.poly())?))?;
    let decode = time(1, &mut |x| {
        arrive(x)?;
        Ok(x.ev.encoder().decode(&x.plain).map(drop)?)
    })?;
    let secret_key = time(2, &mut |_| {
        SecretKey::generate(&params, rng);
        Ok(())
    })?;
    let public_key = time(3, &mut |x| {
        let key = PublicKey::generate(&x.secret, &x.ring, rng)?;
        if copies {
            home(&key.body()?)?;
        }
        Ok(())
    })?;
    let evaluation_key = time(4, &mut |x| {
        let needs = KeyRequirements::new().relinearisation();
        let keys = EvaluationKeys::generate(&x.secret, &x.ring, needs, rng)?;
        if !copies {
            return Ok(());
        }
        Ok((0..params.digits(LOG_Q)).try_for_each(|digit| home(&keys.relin()?.body(digit)?))?)
    })?;
    let encrypt = time(5, &mut |x| {
        arrive(x)?;
        Ok(all(&encryptor.get()?.encrypt(&x.plain, rng)?.parts())?)
    })?;
    let decrypt = time(6, &mut |x| {
        let fresh = if copies { Some(hosted.get()?.1.to(&x.ring)?) } else { None };
        Ok(home(x.decryptor.decrypt(fresh.as_ref().unwrap_or(&x.inputs[0]))?.poly())?)
    })?;
    let add = time(7, &mut |x| {
        let fresh = operands(x)?;
        let (a, b) = fresh.as_ref().map_or((&x.inputs[0], &x.inputs[1]), |(a, b)| (a, b));
        Ok(all(&x.ev.add(a, b)?.parts())?)
    })?;
    let product = time(9, &mut |x| {
        let fresh = operands(x)?;
        let (a, b) = fresh.as_ref().map_or((&x.inputs[0], &x.inputs[1]), |(a, b)| (a, b));
        Ok(all(&x.ev.tensor(a, b)?.parts())?)
    })?;
    let whole = time(10, &mut |x| {
        let fresh = operands(x)?;
        let (a, b) = fresh.as_ref().map_or((&x.inputs[0], &x.inputs[1]), |(a, b)| (a, b));
        Ok(all(&x.ev.rescale(&x.ev.mul(a, b, &x.keys)?, LOG_SCALE)?.parts())?)
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
    if !lab.wants(ID) {
        return Ok(());
    }
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
        let name = "the paper's algorithms, 1 thread";
        table.measured(name, place.on(|| reference(lab, name, log_n))?);
    }
    on_places!(lab, place => {
        let name = &place.name;
        table.measured(name, place.on(|| fast(lab, name, &place.backend, log_n, false))?);
        if place.apart {
            let name = &place.with_copies();
            table.measured(name, place.on(|| fast(lab, name, &place.backend, log_n, true))?);
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
            let times = fast(&lab, "CPU", &Cpu::new(), 6, copies).unwrap();
            assert!(all_run(&times));
        }
    }
}
