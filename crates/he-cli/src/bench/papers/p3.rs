//! P3: *Addition and comparison of encrypted integers by HElib, TFHE and SEAL*, Korea, 2018. CPU: Core i7-6700. HElib: BGV, bits packed in 1200 slots,
//! level 25, security 93. TFHE: lambda 100. SEAL 2.2: FV, n = 2048, t = 2^8, addition alone.

use crate::bench::gates::{Bits, circuit};
use crate::bench::keys::{Exact, rng};
use crate::bench::measure::{Lab, Place, on_places};
use crate::bench::report::{Table, Unit, Value};
use crate::error::Result;
use he_core::backend::RingOps;
use he_core::bfv::{Bfv, BfvParams};
use he_core::circuits::bits::{Circuit, carry_save, kogge_stone_add, less_than, sum};
use he_core::exact::{Ciphertext, Encryptor, ExactSpec};
use he_core::params::ParamsError;
use he_core::tfhe::{LweOps, TfheParams, presets};

/// Seconds: HElib, TFHE.
const ONCE: [(&str, [f64; 2]); 3] = [
    ("Kogge-Stone adder once", [120.0, 63.0]),
    ("full adder once", [7.0, 22.0]),
    ("three numbers", [127.0, 85.0]),
];

/// Numbers added; log2 of seconds as plotted: SEAL (32 bits), TFHE, HElib (one of the widths 32 and 64).
const SUMS: [(usize, [f64; 3]); 10] = [
    (3, [-4.14, 6.909, 8.044]),
    (4, [-3.34, 7.241, 8.077]),
    (8, [-2.06, 8.607, 8.384]),
    (16, [-1.25, 9.235, 8.801]),
    (32, [-0.35, 10.9, 9.388]),
    (64, [0.848, 11.18, 9.767]),
    (128, [1.722, 12.47, 10.98]),
    (256, [3.178, 13.46, 11.89]),
    (512, [3.753, 14.46, 11.98]),
    (1024, [5.463, 15.46, 13.03]),
];

/// Bits compared; log2 of seconds as plotted: TFHE, HElib.
const COMPARISONS: [(usize, [f64; 2]); 10] = [
    (2, [0.379, 6.807]),
    (4, [1.585, 6.82]),
    (8, [3.17, 6.846]),
    (16, [4.459, 6.858]),
    (32, [5.833, 6.883]),
    (64, [7.267, 8.17]),
    (128, [8.276, 8.842]),
    (256, [9.476, 9.606]),
    (512, [10.64, 10.49]),
    (1024, [11.87, 11.44]),
];

/// The circuits of the three tables.
struct Jobs {
    once: Vec<Circuit>,
    sums: Vec<Circuit>,
    comparisons: Vec<Circuit>,
}

impl Jobs {
    fn new(width: usize, counts: &[usize], widths: &[usize]) -> Self {
        let addition = |count| circuit(count, width, |c, words| sum(c, words, width));
        Self {
            once: vec![
                circuit(2, width, |c, words| kogge_stone_add(c, &words[0], &words[1]).0),
                circuit(3, width, |c, words| carry_save(c, words, width).concat()),
                addition(3),
            ],
            sums: counts.iter().map(|&count| addition(count)).collect(),
            comparisons: widths
                .iter()
                .map(|&width| circuit(2, width, |c, words| vec![less_than(c, &words[0], &words[1])]))
                .collect(),
        }
    }
}

/// Seconds of the circuits of the three tables, by one provider of bits.
type Times = [Vec<Value>; 3];

/// Bits of TFHE, a ciphertext each.
fn gates<B: LweOps>(lab: &Lab, place: &Place<B>, params: &TfheParams, jobs: &Jobs) -> Result<Times> {
    place.on(|| {
        let mut bits = Bits::new(lab, &place.backend, params)?;
        let mut run = |circuits: &[Circuit]| -> Result<Vec<Value>> {
            circuits.iter().map(|circuit| bits.run(lab, circuit)).collect()
        };
        Ok([run(&jobs.once)?, run(&jobs.sums)?, run(&jobs.comparisons)?])
    })
}

/// Everything that computes on bits: a column in each table. Bits packed in the slots of BGV are another line here.
fn providers(lab: &Lab, jobs: &Jobs) -> Result<Vec<(String, Times)>> {
    type Preset = fn() -> Result<TfheParams, ParamsError>;
    let sets: [(&str, Preset); 2] =
        [("TFHE, its parameters", presets::insecure_lambda100), ("TFHE, 2^-128", presets::gates_2m128)];
    let mut columns = Vec::new();
    for (set, preset) in sets {
        on_places!(lab, place => {
            columns.push((format!("{set}, {}", place.name), gates(lab, place, &preset()?, jobs)?));
        });
    }
    Ok(columns)
}

/// SEAL's experiment: n numbers, one a ciphertext, added one after the other; without, then with encryption and decryption.
fn integers<B: RingOps>(lab: &Lab, place: &Place<B>, counts: &[usize]) -> Result<Vec<[Value; 2]>> {
    place.on(|| {
        let backend = &place.backend;
        // The paper's degree holds 53 bits at 128-bit security.
        let params = BfvParams::try_from(ExactSpec::from_bits(11, &[53], &[], 1 << 8)?)?;
        let x: Exact<Bfv, B> = Exact::new(backend, &params, 1)?;
        let encryptor = Encryptor::new(&params, &x.public)?;
        let rng = &mut rng();
        let add = |numbers: &[Ciphertext<Bfv, B>]| -> he_core::Result<_> {
            let sum = x.ev.add(&numbers[0], &numbers[1])?;
            numbers[2..].iter().try_fold(sum, |sum, number| x.ev.add(&sum, number))
        };
        let mut encrypt = |count: usize| -> he_core::Result<Vec<_>> {
            (0..count).map(|_| encryptor.encrypt(&x.plain, rng)).collect()
        };
        counts
            .iter()
            .map(|&count| {
                let numbers = encrypt(count)?;
                let adding = lab.time(backend, || add(&numbers))?;
                let whole = lab.time(backend, || x.decryptor.decrypt(&add(&encrypt(count)?)?))?;
                Ok([adding, whole].map(Value::Number))
            })
            .collect()
    })
}

/// The paper's tables.
pub fn tables(lab: &Lab) -> Result<Vec<Table>> {
    let few = if lab.quick { 3 } else { SUMS.len() };
    let (sums, comparisons) = (&SUMS[..few], &COMPARISONS[..few]);
    let counts: Vec<usize> = sums.iter().map(|(count, _)| *count).collect();
    let widths: Vec<usize> = comparisons.iter().map(|(width, _)| *width).collect();
    let points = |of: &[usize]| of.iter().map(|&x| (x.to_string(), x as f64)).collect::<Vec<_>>();

    let mut seal = Table::new("p3-integers", "P3, sum of n integers by BFV (SEAL)", "numbers", Unit::Seconds)
        .along(points(&counts));
    seal.paper("paper: SEAL", sums.iter().map(|(_, [seal, ..])| seal.exp2()));
    on_places!(lab, place => {
        let times = integers(lab, place, &counts)?;
        seal.measured(&place.name, times.iter().map(|[adding, _]| *adding));
        seal.measured(&format!("{}, with encryption", place.name), times.iter().map(|[_, whole]| *whole));
    });
    seal.compare("paper: SEAL", &format!("{}, with encryption", lab.serial.name));
    seal.compare("paper: SEAL", "GPU, with encryption");
    seal.note("the paper does not say whether its time holds encryption: ours is given without and with it");

    let width = if lab.quick { 4 } else { 32 };
    let mut once = Table::new("p3-once", format!("P3, numbers of {width} bits"), "job", Unit::Seconds)
        .categories(ONCE.map(|(job, _)| job));
    let title = format!("P3, sum of n numbers of {width} bits");
    let mut sum = Table::new("p3-sums", title, "numbers", Unit::Seconds).along(points(&counts));
    if lab.quick {
        once.note("not the paper's 32 bits: its figures are left out");
        sum.note("not the paper's 32 bits: its figures are left out");
    } else {
        once.paper("paper: HElib", ONCE.map(|(_, [helib, _])| helib));
        once.paper("paper: TFHE", ONCE.map(|(_, [_, tfhe])| tfhe));
        sum.paper("paper: HElib", sums.iter().map(|(_, [_, _, helib])| helib.exp2()));
        sum.paper("paper: TFHE", sums.iter().map(|(_, [_, tfhe, _])| tfhe.exp2()));
        sum.note("the paper's points are plotted for one of its widths, 32 or 64 bits");
    }
    let mut less = Table::new("p3-comparison", "P3, comparison of two numbers", "bits", Unit::Seconds)
        .along(points(&widths));
    less.paper("paper: HElib", comparisons.iter().map(|(_, [_, helib])| helib.exp2()));
    less.paper("paper: TFHE", comparisons.iter().map(|(_, [tfhe, _])| tfhe.exp2()));

    let columns = providers(lab, &Jobs::new(width, &counts, &widths))?;
    let mut tables = [once, sum, less];
    for (job, table) in tables.iter_mut().enumerate() {
        for (name, times) in &columns {
            table.measured(name, times[job].iter().copied());
        }
        for place in [&*lab.threads.name, "GPU"] {
            table.compare("paper: TFHE", &format!("TFHE, 2^-128, {place}"));
            table.compare("paper: HElib", &format!("TFHE, 2^-128, {place}"));
        }
        table.note("2^-128: 128-bit security, and gates that fail with that probability; the paper's parameters are not secure now");
        table.note("the paper's HElib works on 1200 slots at once: its time is that of up to 1200 such jobs");
    }
    Ok([seal].into_iter().chain(tables).collect())
}
