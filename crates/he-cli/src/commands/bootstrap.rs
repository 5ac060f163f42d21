//! The description of parameters with bootstrapping that `params` prints.

use crate::console;
use crate::error::{IoContext, Result};
use he_core::bootstrapping::{BootstrapFacts, BootstrapParams, SecretFacts};
use he_core::exact::bootstrapping as exact;
use he_files::bootstrap::Named;
use he_files::scheme::Taken;
use he_files::units;
use serde_json::{Value, json};
use std::io::Write;

/// The keys and secrets of a circuit.
pub struct Circuit {
    facts: BootstrapFacts,
    /// The keys of bootstrapping in a file, without its beginning and end.
    pub file_bytes: u64,
}

impl Circuit {
    /// Computes the facts of these parameters.
    ///
    /// # Errors
    /// None in practice.
    pub fn of(params: &BootstrapParams) -> Result<Self> {
        Ok(Self { facts: params.facts()?, file_bytes: params.key_frames_bytes()? })
    }

    /// The memory of the keys on a device.
    pub fn memory_bytes(&self) -> u64 {
        self.facts.key_bytes as u64
    }

    /// The bits of security of both secrets.
    pub fn security(&self) -> [u32; 2] {
        [&self.facts.dense, &self.facts.sparse].map(|secret| secret.security_bits(self.facts.log_n))
    }

    /// The security of both secrets, for programs.
    pub fn fields(&self) -> Vec<(&'static str, Value)> {
        let [dense, sparse] = self.security();
        vec![("security_bits_of_secret", json!(dense)), ("security_bits_of_sparse_secret", json!(sparse))]
    }

    /// The facts and the security of both secrets, for people.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let (facts, [dense, sparse]) = (&self.facts, self.security());
        let secret = |secret: &SecretFacts, bits: u32| {
            let bits = security_text(bits);
            let limit = secret.limit.map_or("no bound known".to_owned(), |limit| format!("{limit} allowed"));
            format!("{bits}: a modulus of {:.0} bits, {limit}", secret.log_modulus)
        };
        let weight = facts.sparse.weight.unwrap_or_default();
        vec![
            ("secret", secret(&facts.dense, dense)),
            ("refresh", format!("{}, for a secret of weight {weight}", secret(&facts.sparse, sparse))),
        ]
    }
}

/// Bits of security for people.
pub fn security_text(bits: u32) -> String {
    if bits == 0 { "INSECURE".to_owned() } else { format!("{bits} bits") }
}

/// Explains the choice of parameters of integers with bootstrapping.
pub fn why_exact<E: Taken>(boot: &exact::BootstrapParams<E>) -> String {
    let spec = &boot.spec().circuit;
    let (needed, left, count) = (boot.needed_budget(), boot.refreshed_budget(), boot.spec().iterations);
    format!(
        "one chain of primes for programs and for the refresh between them\n\
         programs: {} primes, and the noise budget that {count} bootstraps of {:.1} bits each leave\n\
         the refresh: {} levels of CoeffsToSlots, {} of the modular reduction, {} of SlotsToCoeffs",
        boot.params().max_level() + 1,
        (left - needed) / count as f64,
        spec.coeffs_to_slots.levels,
        spec.eval_mod.depth(),
        spec.slots_to_coeffs.len(),
    )
}

/// Facts about a preset of CKKS.
pub struct Facts {
    named: Named,
    params: BootstrapParams,
    /// The facts that parameters of integers have as well.
    pub circuit: Circuit,
}

impl Facts {
    /// Computes the facts of these parameters.
    ///
    /// # Errors
    /// None in practice.
    pub fn of(named: Named) -> Result<Self> {
        let params = named.params()?;
        Ok(Self { named, circuit: Circuit::of(&params)?, params })
    }

    /// Bits of precision: the root mean square, and the worst.
    fn precision(&self) -> String {
        let bits = self.circuit.facts.precision;
        bits.map_or_else(|| "-".to_owned(), |bits| format!("{:.1} / {:.1}", bits.rms_bits, bits.worst_bits))
    }

    fn failure(&self) -> String {
        match self.circuit.facts.failure_log2 {
            log2 if log2.is_finite() => format!("2^{log2:.0}"),
            _ => "none".to_owned(),
        }
    }

    /// The facts besides the sizes of keys, for programs.
    pub fn fields(&self) -> Vec<(&'static str, Value)> {
        let facts = &self.circuit.facts;
        let own = vec![
            ("preset", json!(self.named.name())),
            ("refreshed_slots", json!(facts.slots)),
            ("refreshed_levels", json!(facts.levels)),
            ("refreshed_precision_bits", json!(facts.precision.map(|bits| bits.rms_bits))),
            ("worst_precision_bits", json!(facts.precision.map(|bits| bits.worst_bits))),
            ("failure_log2", json!(Some(facts.failure_log2).filter(|log2| log2.is_finite()))),
        ];
        own.into_iter().chain(self.circuit.fields()).collect()
    }

    /// The facts besides the sizes of keys, for people.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let facts = &self.circuit.facts;
        let precision = facts.precision.map_or_else(
            || "not measured".to_owned(),
            |bits| {
                format!(
                    "{:.1} bits in the root mean square, {:.1} at worst, for numbers up to 1",
                    bits.rms_bits, bits.worst_bits
                )
            },
        );
        let failure = match facts.failure_log2 {
            log2 if log2.is_finite() => format!("an error above 2^-10 in one of 2^{:.0} refreshes", -log2),
            _ => "none: no error above 2^-10 is possible".to_owned(),
        };
        let own = vec![
            ("preset", self.named.name().to_owned()),
            ("refreshes", format!("vectors of up to {} values", facts.slots)),
            ("levels left", format!("{}, of 2^{:.0}, after a refresh", facts.levels, facts.scale_log2)),
            ("accuracy", precision),
            ("failures", failure),
        ];
        own.into_iter().chain(self.circuit.lines()).collect()
    }

    /// Explains the choice of the parameters.
    pub fn why(&self) -> String {
        let spec = self.params.spec();
        format!(
            "one chain of primes for programs and for the refresh between them\n\
             programs: {} levels, above {} of SlotsToCoeffs, where a refresh begins\n\
             the refresh: {} levels of CoeffsToSlots, {} of the modular reduction",
            spec.program.levels,
            spec.slots_to_coeffs.len(),
            spec.coeffs_to_slots.levels,
            spec.eval_mod.depth(),
        )
    }

    fn json(&self) -> Value {
        let mut object = json!({
            "degree": 1u64 << self.circuit.facts.log_n,
            "log_qp": self.circuit.facts.dense.log_modulus,
            "bootstrap_key_bytes": self.circuit.file_bytes,
            "bootstrap_memory_bytes": self.circuit.memory_bytes(),
        });
        for (field, value) in self.fields() {
            object[field] = value;
        }
        object
    }

    /// A row of the list.
    fn row(&self) -> [String; 9] {
        let facts = &self.circuit.facts;
        [
            self.named.name().to_owned(),
            format!("2^{}", facts.log_n),
            facts.slots.to_string(),
            facts.levels.to_string(),
            self.precision(),
            self.failure(),
            if self.circuit.security().contains(&0) { "INSECURE" } else { "128 bits" }.to_owned(),
            units::bytes(self.circuit.file_bytes),
            units::bytes(self.circuit.memory_bytes()),
        ]
    }
}

/// Lists all parameters with bootstrapping.
///
/// # Errors
/// Standard output cannot be written.
pub fn list() -> Result<()> {
    let all = Named::all().map(Facts::of).collect::<Result<Vec<_>>>()?;
    let mut out = std::io::stdout().lock();
    let printed = if console::is_json() {
        let presets: Vec<Value> = all.iter().map(Facts::json).collect();
        writeln!(out, "{:#}", json!({ "presets": presets }))
    } else {
        let head =
            ["preset", "N", "slots", "levels", "bits / worst", "failures", "security", "file", "memory"];
        let rows = std::iter::once(head.map(str::to_owned)).chain(all.iter().map(Facts::row));
        rows.map(|[preset, rest @ ..]| {
            let cells: String = rest.iter().map(|cell| format!(" {cell:>12}")).collect();
            format!("{preset:<12}{cells}")
        })
        .try_for_each(|line| writeln!(out, "{line}"))
        .and_then(|()| {
            writeln!(
                out,
                "\nlevels: left after a refresh; bits of precision: root mean square / worst, as measured\n\
                 failures: probability that an error of a refresh exceeds 2^-10; file, memory: bootstrapping keys"
            )
        })
    };
    printed.writing("standard output")
}
