//! TFHE: gates, integers and circuits.

use super::batches::BatchTimes;
use super::keys::rng;
use super::measure::{Lab, Place, on_places};
use super::report::{Show, Table, Unit, Value};
use crate::error::Result;
use he_core::circuits::bits::{
    Builder, Circuit, Signal, Word, equal, kogge_stone_add, less_than, min_max, multiply, ripple_add, sort,
    sum,
};
use he_core::params::ParamsError;
use he_core::tfhe::{
    BootstrapKey, Carry, EncryptedBits, GateEvaluator, IntegerEvaluator, LweOps, TfheParams, TfheSecretKey,
    presets,
};
use num_bigint::BigUint;
use rand::rngs::ChaCha20Rng;

/// A preset.
type Preset = fn() -> Result<TfheParams, ParamsError>;

/// Bits on a device, and the times of batches of their gates.
pub struct Bits<B: LweOps> {
    secret: TfheSecretKey,
    /// Gates on the device.
    pub gates: GateEvaluator<B>,
    rng: ChaCha20Rng,
    times: BatchTimes,
}

/// The gates of a batch that should fill a device.
const BATCH: usize = 1024;
/// The gates of the batches from which the times of circuits are predicted, besides [`BATCH`].
const SAMPLES: [usize; 2] = [1, 16];

impl<B: LweOps> Bits<B> {
    /// With fresh keys.
    pub fn new(lab: &Lab, backend: &B, params: &TfheParams) -> Result<Self> {
        let mut rng = rng();
        let secret = TfheSecretKey::generate(params, &mut rng);
        let key = BootstrapKey::generate(&secret, &mut rng);
        let gates = GateEvaluator::new(backend, &key)?;
        let mut measured = Vec::new();
        for count in SAMPLES.into_iter().chain([BATCH]) {
            let expected = BatchTimes::new(measured.iter().copied()).batch(count);
            // The widest one is measured only if it takes little of the time of a circuit;
            // otherwise gates add up.
            if count == BATCH && lab.is_long(2.0 * expected) {
                break;
            }
            let x = secret.encrypt_bits(backend, &vec![true; count], &mut rng)?;
            measured.push((count, lab.time(backend, || gates.nand(&x, &x))?));
        }
        Ok(Self { secret, gates, rng, times: BatchTimes::new(measured) })
    }

    /// Encrypted bits, every other one set.
    pub fn encrypt(&mut self, count: usize) -> Result<EncryptedBits<B>> {
        let bits: Vec<bool> = (0..count).map(|i| i % 2 == 0).collect();
        Ok(self.secret.encrypt_bits(self.gates.backend(), &bits, &mut self.rng)?)
    }

    /// The seconds of a circuit, unless its levels would take too long.
    pub fn run(&mut self, lab: &Lab, circuit: &Circuit) -> Result<Value> {
        let expected = self.times.circuit(circuit);
        // Encrypting the inputs of a circuit that is not run would take just as long.
        if lab.is_long(expected) {
            return Ok(Value::NotRun);
        }
        let inputs = self.encrypt(circuit.inputs())?;
        lab.time_if_short(expected, self.gates.backend(), || circuit.run(&self.gates, &inputs))
    }
}

/// A circuit on numbers of `width` bits.
pub fn circuit(count: usize, width: usize, build: impl FnOnce(&mut Builder, Vec<Word>) -> Word) -> Circuit {
    let mut builder = Builder::new(count * width);
    let numbers = (0..count).map(|i| builder.input(i * width..(i + 1) * width)).collect();
    let outputs = build(&mut builder, numbers);
    builder.finish(&outputs)
}

const GATES: [&str; 10] = ["NAND", "AND", "OR", "NOR", "XOR", "XNOR", "MUX", "majority", "parity", "NOT"];

/// The seconds per gate of each kind, on batches of some bits.
fn each_gate<B: LweOps>(lab: &Lab, bits: &mut Bits<B>, count: usize) -> Result<[Value; GATES.len()]> {
    let [a, b, c] = [bits.encrypt(count)?, bits.encrypt(count)?, bits.encrypt(count)?];
    let (gates, expected) = (&bits.gates, bits.times.batch(count));
    type Call<'a> = &'a mut dyn FnMut() -> he_core::Result<()>;
    let calls: [Call<'_>; GATES.len()] = [
        &mut || gates.nand(&a, &b).map(drop),
        &mut || gates.and(&a, &b).map(drop),
        &mut || gates.or(&a, &b).map(drop),
        &mut || gates.nor(&a, &b).map(drop),
        &mut || gates.xor(&a, &b).map(drop),
        &mut || gates.xnor(&a, &b).map(drop),
        &mut || gates.mux(&a, &b, &c).map(drop),
        &mut || gates.majority(&a, &b, &c).map(drop),
        &mut || gates.parity(&a, &b, &c).map(drop),
        &mut || gates.not(&a).map(drop),
    ];
    let mut values = [Value::Nothing; GATES.len()];
    for (value, call) in values.iter_mut().zip(calls) {
        *value = match lab.time_if_short(expected, gates.backend(), call)? {
            Value::Number(seconds) => Value::Number(seconds / count as f64),
            other => other,
        };
    }
    Ok(values)
}

fn gate_table(lab: &Lab) -> Result<Table> {
    let mut table = Table::new(GATES_ID, "TFHE, a gate", "gate", Unit::Milliseconds).categories(GATES);
    let sets: [(&str, Preset); 3] = [
        ("2^-128", presets::gates_2m128),
        ("2^-40", presets::gates_2m40),
        ("lambda 100, insecure", presets::insecure_lambda100),
    ];
    let batch = if lab.quick { 4 } else { BATCH };
    on_places!(lab, place => {
        for (set, preset) in &sets[..if lab.quick { 1 } else { 3 }] {
            let times = place.on(|| -> Result<_> {
                let mut bits = Bits::new(lab, &place.backend, &preset()?)?;
                Ok([each_gate(lab, &mut bits, 1)?, each_gate(lab, &mut bits, batch)?])
            })?;
            table.measured(&format!("{set}, one, {}", place.name), times[0]);
            table.measured(&format!("{set}, of {batch}, {}", place.name), times[1]);
        }
    });
    table.note("2^-128 and 2^-40: probability that a gate fails; 128-bit security");
    Ok(table)
}

const GATES_ID: &str = "gates";
const CIRCUITS_ID: &str = "circuits";

fn integers_id(operation: &str) -> String {
    format!("integers-{}", operation.replace(' ', "-"))
}

const INTEGERS: [&str; 6] = ["add", "sub", "less than", "equal", "min", "select"];

fn integers<B: LweOps>(lab: &Lab, place: &Place<B>, carry: Carry) -> Result<Vec<[Value; INTEGERS.len()]>> {
    place.on(|| {
        let (backend, rng, params) = (&place.backend, &mut rng(), presets::digits_2m128()?);
        let secret = TfheSecretKey::generate(&params, rng);
        let ev = IntegerEvaluator::new(backend, &BootstrapKey::generate(&secret, rng), carry)?;
        widths(lab)
            .iter()
            .map(|&bits| {
                let mut number = |byte| {
                    secret.encrypt_uint(backend, &[BigUint::from_bytes_le(&vec![byte; bits / 8])], bits, rng)
                };
                let (x, y) = (number(0x5a)?, number(0xa5)?);
                let condition = ev.lt(&x, &y)?;
                type Call<'a> = &'a mut dyn FnMut() -> he_core::Result<()>;
                let calls: [Call<'_>; INTEGERS.len()] = [
                    &mut || ev.add(&x, &y).map(drop),
                    &mut || ev.sub(&x, &y).map(drop),
                    &mut || ev.lt(&x, &y).map(drop),
                    &mut || ev.eq(&x, &y).map(drop),
                    &mut || ev.min(&x, &y).map(drop),
                    &mut || ev.select(&condition, &x, &y).map(drop),
                ];
                let mut values = [Value::Nothing; INTEGERS.len()];
                for (value, call) in values.iter_mut().zip(calls) {
                    *value = Value::Number(lab.time(backend, call)?);
                }
                Ok(values)
            })
            .collect()
    })
}

fn widths(lab: &Lab) -> &'static [usize] {
    if lab.quick { &[8] } else { &[8, 16, 32, 64, 128, 256] }
}

fn integer_tables(lab: &Lab) -> Result<Vec<Table>> {
    let mut tables: Vec<Table> = INTEGERS
        .iter()
        .map(|name| {
            Table::new(
                integers_id(name),
                format!("TFHE integers in digits, {name}"),
                "bits",
                Unit::Milliseconds,
            )
            .along(widths(lab).iter().map(|bits| (bits.to_string(), *bits as f64)))
        })
        .collect();
    let ways = [("ripple", Carry::Ripple), ("prefix", Carry::Prefix)];
    for (how, carry) in &ways[..if lab.quick { 1 } else { 2 }] {
        on_places!(lab, place => {
            let times = integers(lab, place, *carry)?;
            // The method of carries matters only for sums.
            for (operation, table) in tables.iter_mut().enumerate().filter(|(i, _)| *i < 2 || *how == "ripple") {
                let name = if operation < 2 { format!("{how}, {}", place.name) } else { place.name.clone() };
                table.measured(&name, times.iter().map(|times| times[operation]));
            }
        });
    }
    Ok(tables)
}

/// For numbers of `width` bits, a multiple of four.
fn circuits(width: usize) -> Vec<(String, Circuit)> {
    let pair = |f: fn(&mut Builder, &[Signal], &[Signal]) -> Word| {
        circuit(2, width, |c, words| f(c, &words[0], &words[1]))
    };
    let (half, quarter) = (width / 2, (width / 4).max(2));
    vec![
        (
            format!("{width} bits, ripple adder"),
            pair(|c, x, y| ripple_add(c, x, y, Signal::Constant(false)).0),
        ),
        (format!("{width} bits, Kogge-Stone adder"), pair(|c, x, y| kogge_stone_add(c, x, y).0)),
        (format!("{width} bits, less than"), pair(|c, x, y| vec![less_than(c, x, y)])),
        (format!("{width} bits, equal"), pair(|c, x, y| vec![equal(c, x, y)])),
        (format!("{width} bits, min"), pair(|c, x, y| min_max(c, x, y).0)),
        (format!("three numbers of {width} bits"), circuit(3, width, |c, words| sum(c, words, width))),
        (
            format!("{half} bits, product"),
            circuit(2, half, |c, words| multiply(c, &words[0], &words[1], width)),
        ),
        (
            format!("{quarter} numbers of {quarter} bits, sorted"),
            circuit(quarter, quarter, |c, words| sort(c, words).concat()),
        ),
    ]
}

fn circuit_table(lab: &Lab) -> Result<Table> {
    let circuits = circuits(if lab.quick { 4 } else { 32 });
    let names =
        circuits.iter().map(|(name, c)| format!("{name} ({} gates, depth {})", c.gate_count(), c.depth()));
    let mut table =
        Table::new(CIRCUITS_ID, "TFHE circuits of gates that fail below 2^-128", "circuit", Unit::Seconds)
            .categories(names);
    on_places!(lab, place => {
        let times: Vec<Value> = place.on(|| -> Result<_> {
            let mut bits = Bits::new(lab, &place.backend, &presets::gates_2m128()?)?;
            circuits.iter().map(|(_, circuit)| bits.run(lab, circuit)).collect()
        })?;
        table.measured(&place.name, times);
    });
    Ok(table)
}

/// The names of the tables.
pub fn names() -> Vec<String> {
    let integers = INTEGERS.map(integers_id);
    std::iter::once(GATES_ID.to_owned()).chain(integers).chain([CIRCUITS_ID.to_owned()]).collect()
}

/// Gates, integers and circuits.
///
/// # Errors
/// A device fails; the errors of `show`.
pub fn tables(lab: &Lab, show: &mut Show<'_>) -> Result<()> {
    lab.announce("gates");
    show(gate_table(lab)?)?;
    lab.announce("integers");
    integer_tables(lab)?.into_iter().try_for_each(&mut *show)?;
    lab.announce("circuits");
    show(circuit_table(lab)?)
}
