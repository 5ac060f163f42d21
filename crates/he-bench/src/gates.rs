//! TFHE: gates, integers and circuits.

use super::batches::BatchTimes;
use super::keys::rng;
use super::measure::{Call, Id, Lab, Lazy, Place, on_places};
use super::report::{Show, Table, Unit, Value};
use crate::error::Result;
use he_core::circuits::bits::{
    Builder, Circuit, Signal, Word, equal, kogge_stone_add, less_than, min_max, multiply, ripple_add, sort,
    sum,
};
use he_core::params::ParamsError;
use he_core::tfhe::{
    BootstrapKey, Bootstrapper, Carry, CompactPublicKey, EncryptedBits, EncryptedUint, GateEvaluator,
    IntegerEvaluator, LookupTables, LweOps, Sum, TfheParams, TfheSecretKey, presets,
};
use num_bigint::BigUint;
use std::cell::OnceCell;

/// A preset.
type Preset = fn() -> Result<TfheParams, ParamsError>;

/// Keys of TFHE on a device.
struct Keys<B: LweOps> {
    secret: TfheSecretKey,
    key: BootstrapKey,
    gates: GateEvaluator<B>,
}

impl<B: LweOps> Keys<B> {
    fn new(backend: &B, params: &TfheParams) -> Result<Self> {
        let mut rng = rng();
        let secret = TfheSecretKey::generate(params, &mut rng);
        let key = BootstrapKey::generate(&secret, &mut rng);
        let gates = GateEvaluator::new(backend, &key)?;
        Ok(Self { secret, key, gates })
    }

    /// Encrypted bits, every other one set.
    fn encrypt(&self, count: usize) -> Result<EncryptedBits<B>> {
        let bits: Vec<bool> = (0..count).map(|i| i % 2 == 0).collect();
        Ok(self.secret.encrypt_bits(self.gates.backend(), &bits, &mut rng())?)
    }
}

/// Bits on a device, and the times of batches of their gates.
pub struct Bits<'a, B: LweOps> {
    backend: &'a B,
    params: TfheParams,
    keys: OnceCell<Keys<B>>,
    times: Option<BatchTimes>,
}

/// The gates of a batch that should fill a device.
const BATCH: usize = 1024;
/// The gates of the batches from which the times of circuits are predicted, besides [`BATCH`].
const SAMPLES: [usize; 2] = [1, 16];

impl<'a, B: LweOps> Bits<'a, B> {
    /// Keys are made, and times measured, when they are first needed.
    pub fn new(backend: &'a B, params: TfheParams) -> Self {
        Self { backend, params, keys: OnceCell::new(), times: None }
    }

    fn keys(&self) -> Result<&Keys<B>> {
        if let Some(keys) = self.keys.get() {
            return Ok(keys);
        }
        let keys = Keys::new(self.backend, &self.params)?;
        Ok(self.keys.get_or_init(|| keys))
    }

    /// The times of batches. A meter judges nothing by them.
    fn times(&mut self, lab: &Lab) -> Result<BatchTimes> {
        if lab.is_metered() {
            return Ok(BatchTimes::new([]));
        }
        if let Some(times) = &self.times {
            return Ok(times.clone());
        }
        let mut measured = Vec::new();
        for count in SAMPLES.into_iter().chain([BATCH]) {
            let expected = BatchTimes::new(measured.iter().copied()).batch(count);
            // The widest one is measured only if it takes little of the time of a circuit;
            // otherwise gates add up.
            if count == BATCH && lab.is_long(2.0 * expected) {
                break;
            }
            let (keys, x) = (self.keys()?, self.keys()?.encrypt(count)?);
            measured.push((count, lab.sample(self.backend, || keys.gates.nand(&x, &x))?));
        }
        let times = BatchTimes::new(measured);
        self.times = Some(times.clone());
        Ok(times)
    }

    /// The seconds of a circuit, unless its levels would take too long.
    pub fn run(&mut self, lab: &Lab, id: &Id, circuit: &Circuit) -> Result<Value> {
        if !lab.wants(id.table()) {
            return Ok(Value::NotRun);
        }
        let expected = self.times(lab)?.circuit(circuit);
        // Encrypting the inputs of a circuit that is not run would take just as long.
        if !lab.is_metered() && lab.is_long(expected) {
            return Ok(Value::NotRun);
        }
        let inputs = Lazy::new(|| self.keys()?.encrypt(circuit.inputs()));
        if !lab.is_metered() {
            inputs.get()?;
        }
        let run = || -> Result<_> { Ok(circuit.run(&self.keys()?.gates, inputs.get()?)?) };
        lab.time_if_short(id, expected, self.backend, run)
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
fn each_gate<B: LweOps>(
    lab: &Lab,
    column: &str,
    bits: &mut Bits<'_, B>,
    count: usize,
) -> Result<[Value; GATES.len()]> {
    let expected = bits.times(lab)?.batch(count);
    let inputs = Lazy::new(|| {
        let keys = bits.keys()?;
        Ok((keys, [keys.encrypt(count)?, keys.encrypt(count)?, keys.encrypt(count)?]))
    });
    if !lab.is_metered() {
        inputs.get()?;
    }
    type Gate<B> = fn(&GateEvaluator<B>, &[EncryptedBits<B>; 3]) -> he_core::Result<EncryptedBits<B>>;
    let calls: [Gate<B>; GATES.len()] = [
        |gates, [a, b, _]| gates.nand(a, b),
        |gates, [a, b, _]| gates.and(a, b),
        |gates, [a, b, _]| gates.or(a, b),
        |gates, [a, b, _]| gates.nor(a, b),
        |gates, [a, b, _]| gates.xor(a, b),
        |gates, [a, b, _]| gates.xnor(a, b),
        |gates, [a, b, c]| gates.mux(a, b, c),
        |gates, [a, b, c]| gates.majority(a, b, c),
        |gates, [a, b, c]| gates.parity(a, b, c),
        |gates, [a, _, _]| gates.not(a),
    ];
    let mut values = [Value::Nothing; GATES.len()];
    for ((value, gate), row) in values.iter_mut().zip(calls).zip(GATES) {
        let call = || -> Result<_> {
            let (keys, inputs) = inputs.get()?;
            Ok(gate(&keys.gates, inputs)?)
        };
        let id = Id::new(GATES_ID, column, row);
        *value = lab.time_if_short(&id, expected, bits.backend, call)?.each(count);
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
            let columns = [(1, format!("{set}, one, {}", place.name)),
                (batch, format!("{set}, of {batch}, {}", place.name))];
            let times = place.on(|| -> Result<Vec<_>> {
                let mut bits = Bits::new(&place.backend, preset()?);
                columns.iter().map(|(count, name)| each_gate(lab, name, &mut bits, *count)).collect()
            })?;
            for ((_, name), times) in columns.iter().zip(times) {
                table.measured(name, times);
            }
        }
    });
    table.note("2^-128 and 2^-40: probability that a gate fails; 128-bit security");
    Ok(table)
}

const GATES_ID: &str = "gates";
const PARTS_ID: &str = "tfhe-parts";
const ENCRYPTION_ID: &str = "tfhe-encryption";
const CIRCUITS_ID: &str = "circuits";

fn integers_id(operation: &str) -> String {
    format!("integers-{}", operation.replace(' ', "-"))
}

/// The operations of integers. Products and quotients of wide ones take minutes on a CPU.
const INTEGERS: [&str; 9] = ["add", "sub", "less than", "equal", "min", "select", "transfer", "mul", "div"];
/// The first of [`INTEGERS`] whose time grows with the square of the width.
const QUADRATIC: usize = 7;

/// Moves an amount from one account to another, if the first covers it.
fn transfer<B: LweOps>(
    ev: &IntegerEvaluator<B>,
    amount: &EncryptedUint<B>,
    accounts: &EncryptedUint<B>,
) -> Result<()> {
    let moved = ev.select_or_zero(&ev.ge(accounts, amount)?, amount)?;
    Ok(ev.sums(&[Sum::Sub(accounts, &moved), Sum::Add(accounts, &moved)]).map(drop)?)
}

fn integers<B: LweOps>(
    lab: &Lab,
    place: &Place<B>,
    column: &str,
    carry: Carry,
) -> Result<Vec<[Value; INTEGERS.len()]>> {
    place.on(|| {
        let (backend, params) = (&place.backend, presets::digits_2m128()?);
        let made = Lazy::new(|| {
            let keys = Keys::new(backend, &params)?;
            let ev = IntegerEvaluator::new(backend, &keys.key, carry)?;
            Ok((keys, ev))
        });
        let mut last = [Value::Nothing; INTEGERS.len()];
        let mut rows = Vec::new();
        for &bits in widths(lab) {
            let inputs = Lazy::new(|| {
                let (keys, ev) = made.get()?;
                let number = |byte| {
                    let number = BigUint::from_bytes_le(&vec![byte; bits / 8]);
                    keys.secret.encrypt_uint(backend, &[number], bits, &mut rng())
                };
                let (x, y) = (number(0x5a)?, number(0xa5)?);
                let condition = ev.lt(&x, &y)?;
                Ok((x, y, condition))
            });
            let x = || inputs.get();
            let ev = || -> Result<&IntegerEvaluator<B>> { Ok(&made.get()?.1) };
            let calls: [Call<'_>; INTEGERS.len()] = [
                &mut || Ok(ev()?.add(&x()?.0, &x()?.1).map(drop)?),
                &mut || Ok(ev()?.sub(&x()?.0, &x()?.1).map(drop)?),
                &mut || Ok(ev()?.lt(&x()?.0, &x()?.1).map(drop)?),
                &mut || Ok(ev()?.eq(&x()?.0, &x()?.1).map(drop)?),
                &mut || Ok(ev()?.min(&x()?.0, &x()?.1).map(drop)?),
                &mut || Ok(ev()?.select(&x()?.2, &x()?.0, &x()?.1).map(drop)?),
                &mut || transfer(ev()?, &x()?.0, &x()?.1),
                &mut || Ok(ev()?.mul(&x()?.0, &x()?.1).map(drop)?),
                &mut || Ok(ev()?.div(&x()?.1, &x()?.0).map(drop)?),
            ];
            let mut values = [Value::Nothing; INTEGERS.len()];
            for (i, (value, call)) in values.iter_mut().zip(calls).enumerate() {
                let id = Id::new(&integers_id(INTEGERS[i]), column, bits);
                // Four times the time of half the width.
                let expected = match last[i] {
                    Value::Number(seconds) => 4.0 * seconds,
                    Value::Nothing if !lab.quick => 0.0,
                    _ => f64::INFINITY,
                };
                *value = if i < QUADRATIC {
                    lab.time(&id, backend, call)?
                } else {
                    lab.time_if_short(&id, expected, backend, call)?
                };
            }
            last = values;
            rows.push(values);
        }
        Ok(rows)
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
            let name = format!("{how}, {}", place.name);
            let times = integers(lab, place, &name, *carry)?;
            for (operation, table) in tables.iter_mut().enumerate() {
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
    let names = || circuits.iter().map(|(name, _)| name);
    let sizes = circuits.iter().map(|(_, c)| format!("{} gates, depth {}", c.gate_count(), c.depth()));
    let sizes: Vec<String> = sizes.collect();
    let mut table =
        Table::new(CIRCUITS_ID, "TFHE circuits of gates that fail below 2^-128", "circuit", Unit::Seconds)
            .categories(names());
    on_places!(lab, place => {
        let times: Vec<Value> = place.on(|| -> Result<_> {
            let mut bits = Bits::new(&place.backend, presets::gates_2m128()?);
            let id = |name: &String| Id::new(CIRCUITS_ID, &place.name, name);
            circuits.iter().map(|(name, circuit)| bits.run(lab, &id(name), circuit)).collect()
        })?;
        table.measured(&place.name, times);
    });
    table.remark("size", sizes);
    Ok(table)
}

/// The parts of gates and of look-ups.
const PARTS: [&str; 6] = [
    "key switch, gates 2^-128",
    "blind rotation, gates 2^-128",
    "key switch, digits 2^-128",
    "blind rotation, digits 2^-128",
    "look-up, digits 2^-128",
    "look-up, digits 2^-40",
];

/// The seconds per ciphertext of each part, on `count` of them.
fn parts<B: LweOps>(lab: &Lab, backend: &B, column: &str, count: usize) -> Result<Vec<Value>> {
    let mut values = Vec::new();
    let which = vec![0; count];
    for preset in [presets::gates_2m128, presets::digits_2m128] {
        if lab.quick && !values.is_empty() {
            // The keys of digits take seconds.
            return Ok(vec![
                values[0],
                values[1],
                Value::NotRun,
                Value::NotRun,
                Value::NotRun,
                Value::NotRun,
            ]);
        }
        let params = preset()?;
        let made = Lazy::new(|| {
            let keys = Keys::new(backend, &params)?;
            let words = keys.secret.encrypt(backend, &vec![0; count], &mut rng())?.download()?;
            let (key, words) = (backend.lwe_key(&keys.key)?, backend.upload(&words)?);
            let small = backend.key_switch(&key, &words, count)?;
            let table = backend.upload(&vec![1 << 61; params.degree()])?;
            Ok((key, words, small, table))
        });
        let id = |row: usize| Id::new(PARTS_ID, column, PARTS[row]);
        let key_switch = || -> Result<_> {
            let (key, words, ..) = made.get()?;
            Ok(backend.key_switch(key, words, count)?)
        };
        values.push(lab.time(&id(values.len()), backend, key_switch)?.each(count));
        let rotation = || -> Result<_> {
            let (key, _, small, table) = made.get()?;
            Ok(backend.blind_rotate(key, small, count, table, &which, 1)?)
        };
        values.push(lab.time(&id(values.len()), backend, rotation)?.each(count));
    }
    for preset in [presets::digits_2m128, presets::digits_2m40] {
        let params = preset()?;
        let made = Lazy::new(|| {
            let keys = Keys::new(backend, &params)?;
            let boot = Bootstrapper::new(backend, &keys.key)?;
            let tables = LookupTables::new(backend, &params, &[(0..16).map(|m| m << 59).collect()])?;
            let messages = keys.secret.encrypt(backend, &vec![5 << 59; count], &mut rng())?;
            Ok((boot, tables, messages))
        });
        let lookup = || -> Result<_> {
            let (boot, tables, messages) = made.get()?;
            Ok(boot.bootstrap(messages, tables, &which)?)
        };
        let id = Id::new(PARTS_ID, column, PARTS[values.len()]);
        values.push(lab.time(&id, backend, lookup)?.each(count));
    }
    Ok(values)
}

fn part_table(lab: &Lab) -> Result<Table> {
    let mut table =
        Table::new(PARTS_ID, "TFHE, parts of a bootstrap, a ciphertext", "part", Unit::Milliseconds)
            .categories(PARTS);
    on_places!(lab, place => {
        let counts: &[usize] = match (lab.quick, place.apart) {
            (true, _) => &[1],
            (_, false) => &[1, 64],
            (_, true) => &[1, 1000, 10_000],
        };
        for &count in counts {
            let name = format!("of {count}, {}", place.name);
            table.measured(&name, place.on(|| parts(lab, &place.backend, &name, count))?);
        }
    });
    Ok(table)
}

/// Encryption of integers of 64 bits by either key, and the expansion of the result.
const ENCRYPTION: [&str; 4] = ["by the secret key", "by the public key", "expand seeds", "expand a list"];

fn encryption<B: LweOps>(lab: &Lab, backend: &B, column: &str, count: u64) -> Result<Vec<Value>> {
    let params = presets::digits_2m128()?;
    let values: Vec<u64> = (0..count).map(|i| i.wrapping_mul(0x0123_4567_89ab_cdef)).collect();
    let made = Lazy::new(|| {
        let rng = &mut rng();
        let secret = TfheSecretKey::generate(&params, rng);
        let public = CompactPublicKey::generate(&secret, rng);
        Ok((
            secret.encrypt_u64_seeded(&values, 64, rng)?,
            public.encrypt_u64(&values, 64, rng)?,
            secret,
            public,
        ))
    });
    let [first, second] = &mut [rng(), rng()];
    let ids = ENCRYPTION.map(|row| Id::new(ENCRYPTION_ID, column, row));
    let [secret, public, seeds, list] = ids;
    let times = lab.times(
        backend,
        [
            (secret, &mut || Ok(made.get()?.2.encrypt_u64_seeded(&values, 64, first).map(drop)?)),
            (public, &mut || Ok(made.get()?.3.encrypt_u64(&values, 64, second).map(drop)?)),
            (seeds, &mut || Ok(made.get()?.0.expand(backend).map(drop)?)),
            (list, &mut || Ok(made.get()?.1.expand(backend).map(drop)?)),
        ],
    )?;
    Ok(times.map(|time| time.each(values.len())).to_vec())
}

fn encryption_table(lab: &Lab) -> Result<Table> {
    let count = if lab.quick { 10 } else { 1000 };
    let title = "TFHE, encryption of an integer of 64 bits, many at once";
    let mut table = Table::new(ENCRYPTION_ID, title, "operation", Unit::Microseconds).categories(ENCRYPTION);
    on_places!(lab, place => {
        let name = format!("of {count}, {}", place.name);
        table.measured(&name, place.on(|| encryption(lab, &place.backend, &name, count))?);
    });
    Ok(table)
}

/// The names of the tables.
pub fn names() -> Vec<String> {
    let others = [PARTS_ID, ENCRYPTION_ID, CIRCUITS_ID].map(str::to_owned);
    std::iter::once(GATES_ID.to_owned()).chain(INTEGERS.map(integers_id)).chain(others).collect()
}

/// Gates, integers and circuits.
///
/// # Errors
/// A device fails; the errors of `show`.
pub fn tables(lab: &Lab, show: &mut Show<'_>) -> Result<()> {
    if lab.wants(GATES_ID) {
        lab.announce("gates");
        show(gate_table(lab)?)?;
    }
    lab.announce("integers");
    integer_tables(lab)?.into_iter().try_for_each(&mut *show)?;
    lab.announce("parts of a bootstrap, and encryption");
    show(part_table(lab)?)?;
    show(encryption_table(lab)?)?;
    lab.announce("circuits");
    show(circuit_table(lab)?)
}
