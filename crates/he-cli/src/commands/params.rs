//! `params`: the parameters that `keygen` would choose, the reasons, and the sizes of keys and
//! ciphertexts.

use super::bootstrap::{self, Circuit, Facts, why_exact};
use super::info::print_params;
use super::keygen::bigckks_params;
use crate::args::{BigCkksNeeds, CkksNeeds, ExactNeeds, Params, ParamsScheme, TfheNeeds};
use crate::console;
use crate::error::{IoContext, Result};
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::exact::bootstrapping::BootstrapParams;
use he_core::wire::tfhe::circuit_key_len;
use he_core::wire::{Frame, FrameKind, WireParams};
use he_files::bootstrap::{Named, Refreshing};
use he_files::contents::images::rotations;
use he_files::contents::integers::rotations as exact_rotations;
use he_files::key_file::{evaluation_bytes, file_bytes};
use he_files::scheme::Taken;
use he_files::scheme::{BigCkks, Ckks, Rotations, Scheme};
use he_files::tfhe::keys::BOOTSTRAP_KINDS;
use he_files::{tfhe, units};
use serde_json::{Value, json};
use std::io::Write;

/// The report about parameters.
struct Explanation {
    /// For programs: an object.
    json: Value,
    /// For people: lines of a name and a text.
    lines: Vec<(&'static str, String)>,
    /// The reasons for their choice.
    why: String,
}

impl Explanation {
    /// Adds a number for programs and a line for people.
    fn add(&mut self, field: &str, value: Value, line: Option<(&'static str, String)>) {
        self.json[field] = value;
        self.lines.extend(line);
    }

    /// Adds a number of bytes.
    fn bytes(&mut self, field: &str, name: &'static str, bytes: u64, more: &str) {
        self.add(field, json!(bytes), Some((name, format!("{}{more}", units::bytes(bytes)))));
    }

    fn print(mut self) -> Result<()> {
        let mut out = std::io::stdout().lock();
        if console::is_json() {
            self.json["why"] = self.why.lines().collect();
            return writeln!(out, "{:#}", self.json).writing("standard output");
        }
        print_params(&mut out, &self.lines)
            .and_then(|()| writeln!(out, "\nwhy:\n{}", self.why))
            .writing("standard output")
    }
}

/// Frames of a secret, a public, a relinearisation and a Galois key.
const RLWE_KEYS: [FrameKind; 4] =
    [FrameKind::SecretKey, FrameKind::PublicKey, FrameKind::RelinKey, FrameKind::GaloisKey];
const BIGCKKS_KEYS: [FrameKind; 4] = [
    FrameKind::BigCkksSecretKey,
    FrameKind::BigCkksPublicKey,
    FrameKind::BigCkksSwitchKey,
    FrameKind::BigCkksSwitchKey,
];

/// Parameters, sizes of the files of a key set, and of a full ciphertext.
fn explain<S: Scheme>(
    params: &S::Params,
    keys: [FrameKind; 4],
    rotations: &Rotations,
    why: &str,
) -> Explanation {
    let (json, lines) = (S::params_json(params), S::params_text(params));
    let mut told = Explanation { json, lines, why: why.to_owned() };
    let [secret_kind, public_kind, relin, galois] = keys;
    let turns = rotations.count();
    let file = |kind| file_bytes(&params.to_frame(), Frame::size(params.key_frame_limit(kind)));
    told.bytes("secret_key_bytes", "secret.key", file(secret_kind), "");
    told.bytes("public_key_bytes", "public.key", file(public_kind), "");
    let for_rotations =
        if turns > 0 { format!(", {turns} of its keys for rotations") } else { String::new() };
    told.bytes(
        "evaluation_key_bytes",
        "eval.key",
        evaluation_bytes::<S>(params, [relin, galois], rotations),
        &for_rotations,
    );
    told.add("rotation_keys", json!(turns), None);
    let (whole, slots) = (params.ciphertext_frame_limit(1), S::slots(params) as u64);
    let each = |bytes: u64| units::bytes(bytes.div_ceil(slots));
    let more = format!(" for {slots} values, {} each when all are used", each(whole));
    told.bytes("ciphertext_bytes", "ciphertext", whole, &more);
    if S::CIPHERTEXTS.1.is_some() {
        told.bytes(
            "seeded_ciphertext_bytes",
            "seeded",
            whole / 2,
            ": a ciphertext encrypted by the secret key",
        );
    }
    told
}

fn ckks(needs: &CkksNeeds) -> Result<Explanation> {
    let params = needs.params()?;
    Ok(explain::<Ckks>(&params, RLWE_KEYS, &rotations(&params, needs.radius)?, params.explanation()))
}

fn exact<E: Taken>(needs: &ExactNeeds) -> Result<Explanation> {
    let (mut told, between) = match needs.bootstrapping::<E>()? {
        Some(boot) => (exact_refreshing(&boot)?, " between two refreshes"),
        None => {
            let params = needs.params::<E>()?;
            (explain::<E>(&params, RLWE_KEYS, &exact_rotations(&params), params.explanation()), "")
        }
    };
    let products =
        format!("{} products in sequence{between}, and sums of any length that fit t", needs.depth);
    told.add("depth", json!(needs.depth), Some(("depth", products)));
    Ok(told)
}

fn bigckks(needs: &BigCkksNeeds) -> Result<Explanation> {
    let params = bigckks_params(needs)?;
    let mut told = explain::<BigCkks>(&params, BIGCKKS_KEYS, &Rotations::default(), params.explanation());
    let (bits, each) = (needs.depth_bits, params.scale_log2());
    let text = format!("{bits} bits: {} products in sequence of {each} bits each", bits / each);
    told.add("depth_bits", json!(bits), Some(("depth", text)));
    told.add("depth", json!(bits / each), None);
    Ok(told)
}

/// Parameters with bootstrapping, as those of any keys, and the sizes of their own.
fn refreshing<P: Refreshing>(boot: &P, circuit: &Circuit, rotations: &Rotations, why: &str) -> Explanation {
    let mut told = explain::<P::Scheme>(boot.programs(), RLWE_KEYS, rotations, why);
    // The secret is that of the whole chain, of which programs have a part.
    let weakest = circuit.security().into_iter().min().unwrap_or(0);
    if told.json["security_bits"].as_u64().is_some_and(|bits| bits > weakest.into()) {
        told.json["security_bits"] = json!(weakest);
        let line = told.lines.iter_mut().find(|(name, _)| *name == "security");
        line.into_iter().for_each(|(_, text)| *text = bootstrap::security_text(weakest));
    }
    let bytes = file_bytes(&boot.to_frame(), circuit.file_bytes);
    told.bytes("bootstrap_key_bytes", "bootstrap.key", bytes, "");
    told.bytes("bootstrap_memory_bytes", "in memory", circuit.memory_bytes(), ": the same keys in use");
    told
}

/// Parameters of CKKS with bootstrapping, and what they refresh.
fn preset(named: Named, radius: usize) -> Result<Explanation> {
    let (facts, boot) = (Facts::of(named)?, named.params()?);
    let rotations = rotations(boot.params(), radius)?;
    let mut told = refreshing(&boot, &facts.circuit, &rotations, &facts.why());
    facts.fields().into_iter().for_each(|(field, value)| told.add(field, value, None));
    told.lines.extend(facts.lines());
    Ok(told)
}

/// Parameters of integers with bootstrapping, and what a refresh takes and leaves.
fn exact_refreshing<E: Taken>(boot: &BootstrapParams<E>) -> Result<Explanation> {
    let circuit = Circuit::of(boot.circuit())?;
    let mut told = refreshing(boot, &circuit, &exact_rotations(boot.params()), &why_exact(boot));
    for (name, value, text) in boot.facts() {
        told.add(&name.replace(' ', "_"), value, Some((name, text)));
    }
    circuit.fields().into_iter().for_each(|(field, value)| told.add(field, value, None));
    told.lines.extend(circuit.lines());
    Ok(told)
}

fn tfhe_digits(needs: &TfheNeeds) -> Result<Explanation> {
    let (params, circuit) = (needs.params()?, needs.circuit()?);
    let spec = params.spec();
    let why = format!(
        "integers in digits of two bits, with two more bits of the message for sums and carries\n\
         dimensions and errors: the fastest that the lattice estimate grants 128 bits of security and lookups that seldom err\n\
         a lookup: a key switch from k N = {} to n = {} ({} levels), a blind rotation of {} steps ({} levels), and fresh noise\n\
         no depth: every digit of a result is as good as a fresh one",
        params.dimension(),
        spec.lwe_dimension,
        spec.switch.levels,
        spec.lwe_dimension / needs.group(),
        spec.bootstrap.levels,
    );
    let mut told = Explanation { json: tfhe::params_json(&params), lines: tfhe::params_text(&params), why };
    let key = |kind| Frame::size(params.key_frame_limit(kind));
    let file = |keys| file_bytes(&params.to_frame(), keys);
    told.add("depth", Value::Null, Some(("depth", "any".to_owned())));
    told.bytes("secret_key_bytes", "secret.key", file(key(FrameKind::TfheSecretKey)), "");
    told.bytes("public_key_bytes", "public.key", file(key(FrameKind::TfhePublicKey)), "");
    let circuit = circuit.map_or(0, |circuit| Frame::size(circuit_key_len(&circuit) as u64));
    let kind = BOOTSTRAP_KINDS[usize::from(needs.multi_bit)];
    told.bytes("evaluation_key_bytes", "eval.key", file(key(kind) + circuit), "");
    let digit = 8 * params.words() as u64;
    let more = format!(" a digit of two bits: {} for 32 bits", units::bytes(16 * digit));
    told.bytes("ciphertext_bytes", "ciphertext", digit, &more);
    let more = format!(" a digit of a fresh number: {} for 32 bits", units::bytes(16 * 8));
    told.bytes("seeded_ciphertext_bytes", "seeded", 8, &more);
    Ok(told)
}

pub(super) fn run(args: &Params) -> Result<()> {
    let told = match &args.scheme {
        None if args.bootstrap == Some(None) => return bootstrap::list(),
        None if let Some(Some(named)) = args.bootstrap => preset(named, args.needs.radius),
        None => ckks(&args.needs),
        Some(ParamsScheme::Ckks(needs)) => ckks(needs),
        Some(ParamsScheme::Bfv(needs)) => exact::<Bfv>(needs),
        Some(ParamsScheme::Bgv(needs)) => exact::<Bgv>(needs),
        Some(ParamsScheme::Bigckks(needs)) => bigckks(needs),
        Some(ParamsScheme::Tfhe(needs)) => tfhe_digits(needs),
    };
    told?.print()
}
