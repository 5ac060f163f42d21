//! Parameters of every scheme, and what they promise.
//!
//! Must hold: any numbers are refused or are parameters that are written and read as the same.
//! Small ones make keys, encrypt, decrypt to what was encrypted, and compute without a panic.
//!
//! Bytes: the scheme modulo 6, a seed, then the body of a frame of parameters.

use super::bootstrapping;
use super::target::Fields;
use super::world::{self, Rlwe, Tfhe, Wide, computed};
use he_core::backend::Cpu;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::bigckks::{self, BigCkksParams, BigCkksSpec, SecretDistribution};
use he_core::bootstrapping::{BootstrapParams, BootstrapSpec, EvalModShape, LevelRun};
use he_core::ckks::{self, CkksParams, CkksSpec, LevelGroup};
use he_core::exact::{self, ExactSpec, Params};
use he_core::params::ParamsError;
use he_core::rlwe::Fingerprint;
use he_core::tfhe::{Gadget, GateEvaluator, TfheParams, TfheSpec};
use he_core::wire::{Frame, WireParams, WireScheme};
use std::ops::Range;

pub fn run(data: &[u8]) {
    let [scheme, seed, body @ ..] = data else { return };
    let seed = u64::from(*seed);
    // The results do not matter: each of these may find that the bytes end early.
    let _ = match scheme % 6 {
        0 => of_ckks(body, seed),
        1 => of_exact::<Bfv>(body, seed),
        2 => of_exact::<Bgv>(body, seed),
        3 => of_bigckks(body, seed),
        4 => of_tfhe(body, seed),
        _ => of_bootstrapping(body, seed),
    };
}

/// Reads the body as it is, then as one of its own fingerprint.
fn recoded<P: WireParams + PartialEq>(body: &[u8], made: Result<P, ParamsError>) -> Option<P> {
    let frame = |fingerprint| Frame { kind: P::KIND, fingerprint, body: body.to_vec() };
    let stranger = frame(Fingerprint([0; 32]));
    assert!(P::from_frame(&stranger).is_err() && P::from_frame_insecure(&stranger).is_err());
    let params = made.ok()?;
    let again = P::from_frame_insecure(&params.to_frame()).expect("own parameters load");
    assert!(again == params, "parameters are read and written differently");
    if let Ok(read) = P::from_frame_insecure(&frame(params.fingerprint())) {
        assert!(read == params && read.to_frame().body == body, "a body is read and written differently");
    }
    // Parameters of at least 128 bits of security are refused or the same.
    assert!(P::from_frame(&params.to_frame()).map_or(true, |secure| secure == params));
    Some(params)
}

fn ranges(ends: &[usize]) -> Vec<Range<usize>> {
    std::iter::once(0).chain(ends.iter().copied()).zip(ends).map(|(start, &end)| start..end).collect()
}

fn of_ckks(body: &[u8], seed: u64) -> Option<()> {
    let mut fields = Fields(body);
    let (mut log_n, mut extended) = (fields.u8()?, false);
    if log_n == 0 && fields.u8()? == 2 {
        (log_n, extended) = (fields.u8()?, true);
    }
    let (q, p) = (fields.words()?, fields.words()?);
    let (level_primes, ends) = (fields.shorts()?, fields.shorts()?);
    let groups = if extended {
        let group = |fields: &mut Fields<'_>| {
            Some(LevelGroup { levels: fields.u16()?.into(), scale_log2: fields.f64()? })
        };
        (0..fields.u16()?).map(|_| group(&mut fields)).collect::<Option<_>>()?
    } else {
        vec![LevelGroup { levels: level_primes.len(), scale_log2: fields.f64()? }]
    };
    let spec = CkksSpec { log_n: log_n.into(), q, p, level_primes, digits: ranges(&ends), groups };
    let params = recoded(body, CkksParams::insecure(spec))?;
    if params.rlwe().ring().log_n() > 6 || params.rlwe().ring().primes().count() > 8 {
        return None;
    }
    let w = Rlwe::new(params, Cpu::new(), seed);
    let ev = ckks::Evaluator::new(&w.params, &w.ring).expect("an evaluator");
    let x = computed(ev.encoder().encode_real(&[0.5, -0.25], w.params.encoding()))?;
    let encryptor = ckks::Encryptor::new(&w.params, &w.public).expect("an encryptor");
    let ct = encryptor.encrypt(&x, &mut world::rng(seed)).expect("a ciphertext");
    let decryptor = ckks::Decryptor::new(&w.params, &w.secret, &w.ring).expect("a decryptor");
    for result in [
        ct.duplicate(),
        ev.mul(&ct, &ct, &w.keys),
        ev.rotate(&ct, 1, &w.keys),
        ev.rescale(&ct),
        ev.mod_switch_to(&ct, 0),
        ev.drop_to_level(&ct, 0),
    ] {
        if let Some(ct) = computed(result) {
            let plain = decryptor.decrypt(&ct).expect("a ciphertext decrypts");
            let _ = computed(ev.encoder().decode(&plain));
        }
    }
    Some(())
}

fn of_exact<S: WireScheme>(body: &[u8], seed: u64) -> Option<()> {
    let mut fields = Fields(body);
    let (log_n, q, p) = (fields.u8()?.into(), fields.words()?, fields.words()?);
    let (digits, plain_modulus) = (ranges(&fields.shorts()?), fields.u64()?);
    let params = recoded(body, Params::<S>::insecure(ExactSpec { log_n, q, p, digits, plain_modulus }))?;
    if params.rlwe().ring().log_n() > 6 || params.rlwe().ring().primes().count() > 8 {
        return None;
    }
    let w = Rlwe::new(params, Cpu::new(), seed);
    let ev = exact::Evaluator::<S, Cpu>::new(&w.params, &w.ring).expect("an evaluator");
    let t = w.params.plain().value();
    let n = w.ring.n() as u64;
    let values: Vec<u64> = (0..n).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed) % t).collect();
    let plain = ev.encoder().encode_coefficients(&values).expect("a plaintext");
    let encryptor = exact::Encryptor::<S, Cpu>::new(&w.params, &w.public).expect("an encryptor");
    let ct = encryptor.encrypt(&plain, &mut world::rng(seed)).expect("a ciphertext");
    let decryptor = exact::Decryptor::<S, Cpu>::new(&w.params, &w.secret, &w.ring).expect("a decryptor");
    let budget = ct.predicted_budget(&w.params);
    if let Some(plain) = computed(decryptor.decrypt(&ct)) {
        let found = ev.encoder().decode_coefficients::<u64>(&plain).expect("coefficients");
        assert!(found[0] == values || budget <= 0.0, "decrypts wrongly with a predicted budget of {budget}");
    }
    for result in [
        ev.add(&ct, &ct),
        ev.mul(&ct, &ct, &w.keys),
        ev.rotate(&ct, 1, &w.keys),
        ev.swap_rows(&ct, &w.keys),
        ev.mod_switch_to(&ct, 0),
        ev.mul_scalar(&ct, -7),
    ] {
        if let Some(ct) = computed(result) {
            let _ = computed(decryptor.decrypt(&ct));
        }
    }
    Some(())
}

fn of_bigckks(body: &[u8], seed: u64) -> Option<()> {
    let mut fields = Fields(body);
    let spec = BigCkksSpec {
        log_n: fields.u8()?.into(),
        log_q: fields.u16()?.into(),
        log_p: fields.u16()?.into(),
        digit_bits: fields.u16()?.into(),
        scale_log2: fields.u16()?.into(),
        secret: match fields.u32()? {
            0 => SecretDistribution::UniformTernary,
            weight => SecretDistribution::Sparse { weight: weight as usize },
        },
    };
    let params = recoded(body, BigCkksParams::insecure(spec))?;
    if params.ring().log_n() > 5 || params.log_q() > 300 || params.log_p() > 600 {
        return None;
    }
    let w = Wide::new(params, Cpu::new(), seed);
    let ev = bigckks::Evaluator::new(&w.params, &w.ring).expect("an evaluator");
    let x = computed(ev.encoder().encode_real(&[0.5, -0.25], w.params.encoding()))?;
    let encryptor = bigckks::Encryptor::new(&w.params, &w.public).expect("an encryptor");
    let ct = encryptor.encrypt(&x, &mut world::rng(seed)).expect("a ciphertext");
    let decryptor = bigckks::Decryptor::new(&w.params, &w.secret, &w.ring).expect("a decryptor");
    for result in [ct.duplicate(), ev.mul(&ct, &ct, &w.keys), ev.rotate(&ct, 1, &w.keys), ev.rescale(&ct, 1)]
    {
        if let Some(ct) = computed(result) {
            let plain = decryptor.decrypt(&ct).expect("a ciphertext decrypts");
            let _ = computed(ev.encoder().decode(&plain));
        }
    }
    Some(())
}

fn of_tfhe(body: &[u8], seed: u64) -> Option<()> {
    let mut fields = Fields(body);
    let (lwe_dimension, glwe_dimension) = (fields.u16()?.into(), fields.u8()?.into());
    let (log_degree, lwe_sigma_log2, glwe_sigma_log2) = (fields.u8()?.into(), fields.f64()?, fields.f64()?);
    let mut gadget = || Some(Gadget { base_log: fields.u8()?.into(), levels: fields.u8()?.into() });
    let (bootstrap, switch) = (gadget()?, gadget()?);
    let spec = TfheSpec {
        lwe_dimension,
        lwe_sigma_log2,
        glwe_dimension,
        log_degree,
        glwe_sigma_log2,
        bootstrap,
        switch,
    };
    let params = recoded(body, TfheParams::insecure(spec))?;
    let noise = params.noise();
    let _ = (noise.failure_log2(85.0, 1.0 / 64.0), noise.at_lookup(6.0));
    // As small as to run.
    let small = TfheSpec {
        lwe_dimension: spec.lwe_dimension.min(3),
        log_degree: spec.log_degree.min(6),
        glwe_dimension: spec.glwe_dimension.min(2),
        ..spec
    };
    let w = Tfhe::new(TfheParams::insecure(small).ok()?, seed);
    let cpu = Cpu::new();
    let bits = w.secret.encrypt_bits(&cpu, &[true, false], &mut world::rng(seed)).expect("bits");
    let _ = computed(w.secret.decrypt_bits(&bits));
    if let Some(gates) = computed(GateEvaluator::new(&cpu, &w.key)) {
        gates.nand(&bits, &bits).expect("a gate");
    }
    Some(())
}

fn run_of(fields: &mut Fields<'_>) -> Option<LevelRun> {
    let (levels, scale_log2) = (fields.u16()?.into(), fields.f64()?);
    Some(LevelRun { levels, scale_log2, primes: fields.bytes()? })
}

fn of_bootstrapping(body: &[u8], seed: u64) -> Option<()> {
    let mut fields = Fields(body);
    fields.u8()?;
    let (log_n, log_slots, base_bits) = (fields.u8()?.into(), fields.u8()?.into(), fields.u8()?.into());
    let (base_scale_log2, slots_to_coeffs) = (fields.f64()?, fields.bytes()?);
    let program = run_of(&mut fields)?;
    let join = match fields.u8()? {
        0 => None,
        bits => Some(bits.into()),
    };
    let eval_mod_levels = (0..fields.u8()?).map(|_| run_of(&mut fields)).collect::<Option<_>>()?;
    let coeffs_to_slots = run_of(&mut fields)?;
    let (special, slots_to_coeffs_special) = (fields.bytes()?, fields.u8()?.into());
    let borrowed = fields.bytes()?.into_iter().map(|count| count as usize).collect();
    let (bound, degree, doublings) = (fields.u32()?, fields.u16()?.into(), fields.u8()?.into());
    let (arcsine, focus) = (fields.u8()? == 1, fields.f64()?);
    let eval_mod = EvalModShape { bound, degree, doublings, arcsine, focus };
    let sparse_weight = fields.u32()? as usize;
    let (q, p) = (fields.words()?, fields.words()?);
    let spec = BootstrapSpec {
        log_n,
        log_slots,
        base_bits,
        base_scale_log2,
        slots_to_coeffs,
        program,
        join,
        eval_mod_levels,
        coeffs_to_slots,
        special,
        slots_to_coeffs_special,
        borrowed,
        eval_mod,
        sparse_weight,
    };
    refreshed_integers::<Bfv>(&spec, &q, &p, seed);
    refreshed_integers::<Bgv>(&spec, &q, &p, seed);
    let params = recoded(body, BootstrapParams::over_primes_insecure(spec, q, p))?;
    let _ = (params.input_level(), params.output_level(), params.slots(), params.key_uses());
    Some(())
}

/// The same circuit, for integers.
fn refreshed_integers<S: WireScheme>(circuit: &BootstrapSpec, q: &[u64], p: &[u64], seed: u64) {
    let plain_modulus = [2, 257, 1 << 20, 65537, (1 << 42) - 11, 0][seed as usize % 6];
    let iterations = 1 + seed as usize / 6 % 3;
    let spec = exact::bootstrapping::BootstrapSpec { circuit: circuit.clone(), plain_modulus, iterations };
    let made = exact::bootstrapping::BootstrapParams::<S>::over_primes_insecure(spec, q.to_vec(), p.to_vec());
    let Some(params) = computed(made) else { return };
    let again = WireParams::from_frame_insecure(&params.to_frame()).expect("own parameters load");
    assert!(params == again, "parameters are read and written differently");
    assert!(params.refreshed_budget() >= params.needed_budget() + 1.0);
}

pub fn seeds() -> Vec<Vec<u8>> {
    let exact = [
        (3, &[20, 20][..], &[][..], 2),
        (3, &[30], &[], 4),
        (2, &[30, 30], &[31], 16),
        (5, &[50, 50], &[60], 1 << 20),
        (4, &[61, 61], &[61], 3),
    ];
    let exact = exact.into_iter().filter_map(|(log_n, q, p, t)| {
        Params::<Bfv>::insecure(ExactSpec::from_bits(log_n, q, p, t).ok()?).ok()
    });
    let mut bodies: Vec<(u8, Vec<u8>)> =
        exact.flat_map(|params| [(1, body(&params)), (2, body(&params))]).collect();
    let group = |levels, scale_log2| LevelGroup { levels, scale_log2 };
    let grouped = CkksSpec { groups: vec![group(2, 30.0), group(1, 44.0)], ..world::ckks_params(4).spec() };
    bodies.push((0, body(&world::ckks_params(4))));
    bodies.extend(CkksParams::insecure(grouped).ok().map(|params| (0, body(&params))));
    bodies.push((1, body(&world::exact_params::<Bfv>(4))));
    bodies.push((2, body(&world::exact_params::<Bgv>(4))));
    bodies.push((3, body(&world::bigckks_params(4))));
    bodies.push((4, body(&world::tfhe_params())));
    bodies.push((5, body(&BootstrapParams::insecure(bootstrapping::spec()).expect("small parameters"))));
    let integers = exact::bootstrapping::BootstrapSpec::insecure_for_depth::<Bfv>(257, 1, 6);
    let integers = integers.and_then(exact::bootstrapping::BootstrapParams::<Bfv>::insecure);
    bodies.push((5, body(integers.expect("small parameters").circuit())));
    bodies.into_iter().map(|(scheme, body)| [&[scheme, 1][..], &body].concat()).collect()
}

fn body(params: &impl WireParams) -> Vec<u8> {
    params.to_frame().body.clone()
}
