//! P3: *Addition and comparison of encrypted integers by HElib, TFHE and SEAL*, Korea, 2018. CPU:
//! Core i7-6700. HElib: BGV, bits packed in 1200 slots, level 25, security 93. TFHE: lambda 100.
//! SEAL 2.2: FV, n = 2048, t = 2^8, addition alone.

use crate::error::{Error, Result};
use crate::gates::{Bits, circuit};
use crate::keys::{Exact, rng};
use crate::measure::{Id, Lab, Lazy, Place, on_places};
use crate::packed::{Depth, Job, Point, Series};
use crate::report::{Show, Table, Unit, Value};
use he_core::arith::ntt_primes_below;
use he_core::backend::RingOps;
use he_core::bfv::{Bfv, BfvParams};
use he_core::bgv::Bgv;
use he_core::circuits::bits::{Circuit, carry_save, kogge_stone_add, less_than, sum};
use he_core::exact::{Ciphertext, Encryptor, ExactSpec, Params, Scheme};
use he_core::params::ParamsError;
use he_core::tfhe::{TfheParams, presets};
use rand::RngExt;
use std::cell::RefCell;

/// Seconds: HElib, TFHE.
const ONCE: [(&str, [f64; 2]); 3] = [
    ("Kogge-Stone adder once", [120.0, 63.0]),
    ("full adder once", [7.0, 22.0]),
    ("three numbers", [127.0, 85.0]),
];

/// Numbers added; log2 of seconds as plotted: SEAL (32 bits), TFHE, HElib (one of the widths 32 and
/// 64).
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

/// The slots of HElib's ciphertexts, which is the most numbers on which it works at once.
const HELIB_SLOTS: f64 = 1200.0;

/// The code that runs a circuit and returns its time.
type Run<'a> = Box<dyn FnMut(&Id, &Circuit) -> Result<Value> + 'a>;

/// Bits of TFHE, with one ciphertext each: a column in every table.
fn gates(lab: &Lab) -> Result<Vec<(String, Run<'_>)>> {
    type Preset = fn() -> Result<TfheParams, ParamsError>;
    let sets: [(&str, Preset); 2] =
        [("TFHE, its parameters", presets::insecure_lambda100), ("TFHE, 2^-128", presets::gates_2m128)];
    let mut columns: Vec<(String, Run<'_>)> = Vec::new();
    for (set, preset) in sets {
        on_places!(lab, place => {
            let mut bits = Bits::new(&place.backend, preset()?);
            let run = move |id: &Id, circuit: &Circuit| place.on(|| bits.run(lab, id, circuit));
            columns.push((format!("{set}, {}", place.name), Box::new(run)));
        });
    }
    Ok(columns)
}

/// Packed bits: one column per place, and a remark on every row.
struct Packed {
    name: &'static str,
    /// The place, and the seconds per row.
    columns: Vec<(String, Vec<Value>)>,
    shapes: Vec<Option<(usize, String)>>,
}

impl Packed {
    /// Runs the rows in sequence.
    fn new<S: Scheme>(lab: &Lab, table: &str, name: &'static str, jobs: &[Job]) -> Result<Self> {
        let mut packed = Self { name, columns: Vec::new(), shapes: vec![None; jobs.len()] };
        packed.run::<S, _>(lab, table, lab.cpus(), jobs)?;
        packed.run::<S, _>(lab, table, &lab.gpu, jobs)?;
        Ok(packed)
    }

    /// The rows for which there are no parameters that are deep enough, with refreshes: on a GPU,
    /// because the keys take gigabytes.
    fn refreshed<S: Scheme>(
        lab: &Lab,
        table: &str,
        name: &'static str,
        jobs: &[Job],
        rows: &[usize],
    ) -> Result<Self> {
        let mut packed = Self { name, columns: Vec::new(), shapes: vec![None; jobs.len()] };
        let Some(gpu) = &lab.gpu else { return Ok(packed) };
        let mut series = Series::new([gpu], Depth::Refreshes, table, name);
        let mut times = vec![Value::Nothing; jobs.len()];
        for &row in rows {
            let point = series.run::<S>(lab, &jobs[row])?;
            times[row] = point.times[0];
            packed.shapes[row] = point.shape;
        }
        packed.columns.push((gpu.name.clone(), times));
        Ok(packed)
    }

    /// The rows that did not fit the last place, which is the GPU if there is one.
    fn too_deep(&self) -> Vec<usize> {
        let times = self.columns.last().map_or(&[][..], |(_, times)| times);
        (0..times.len()).filter(|&row| matches!(times[row], Value::Nothing)).collect()
    }

    fn run<'a, S: Scheme, B: RingOps>(
        &mut self,
        lab: &Lab,
        table: &str,
        places: impl IntoIterator<Item = &'a Place<B>>,
        jobs: &[Job],
    ) -> Result<()> {
        let places: Vec<_> = places.into_iter().collect();
        let mut series = Series::new(places.iter().copied(), Depth::Parameters, table, self.name);
        let points: Vec<Point> = jobs.iter().map(|job| series.run::<S>(lab, job)).collect::<Result<_>>()?;
        for (i, place) in places.iter().enumerate() {
            self.columns.push((place.name.clone(), points.iter().map(|point| point.times[i]).collect()));
        }
        for (shape, point) in self.shapes.iter_mut().zip(points) {
            *shape = shape.take().or(point.shape);
        }
        Ok(())
    }

    /// The seconds per number, of those processed at once.
    fn each(&self, values: &[Value]) -> Vec<Value> {
        let numbers = |row: usize| self.shapes[row].as_ref().map_or(f64::NAN, |shape| shape.0 as f64);
        let each = |(row, value): (usize, &Value)| match value {
            Value::Number(seconds) => Value::from(seconds / numbers(row)),
            other => *other,
        };
        values.iter().enumerate().map(each).collect()
    }
}

/// One of the paper's tables: seconds per run, and the paper's figure per number.
struct Experiment<'a> {
    run: Table,
    /// The seconds of HElib and TFHE, if the rows are those of the paper.
    paper: Option<[Vec<f64>; 2]>,
    circuits: Vec<Circuit>,
    packed: &'a dyn Fn(&Lab, &str) -> Result<Vec<Packed>>,
}

impl Experiment<'_> {
    fn show(self, lab: &Lab, gates: &mut [(String, Run<'_>)], show: &mut Show<'_>) -> Result<()> {
        let Self { mut run, paper, circuits, packed } = self;
        let id = each_id(&run.id);
        if !lab.wants(&run.id) && !lab.wants(&id) {
            return Ok(());
        }
        lab.announce(&run.title);
        // Figures have the name of a table that is wanted.
        let table = if lab.wants(&run.id) { run.id.clone() } else { id.clone() };
        let (helib, tfhe, slot) = ("paper: HElib", "paper: TFHE", "paper: HElib, a slot");
        let title = format!("{}, amortised over the numbers at once", run.title);
        let mut each = Table::new(id, title, &run.axis, Unit::Microseconds);
        each.rows.clone_from(&run.rows);
        match paper {
            Some([helib_times, tfhe_times]) => {
                each.paper(slot, helib_times.iter().map(|seconds| seconds / HELIB_SLOTS * 1e6));
                run.paper(helib, helib_times);
                run.paper(tfhe, tfhe_times);
            }
            None => run.note("not the paper's 32 bits: its figures are left out"),
        }
        for (name, gates) in gates {
            let each = circuits.iter().zip(&run.rows);
            let times = each.map(|(circuit, row)| gates(&Id::new(&table, name, &row.name), circuit));
            let times = times.collect::<Result<Vec<_>>>()?;
            run.measured(name, times);
        }
        let packed = packed(lab, &table)?;
        for packed in &packed {
            for (place, times) in &packed.columns {
                let name = format!("{}, {place}", packed.name);
                run.measured(&name, times.iter().copied());
                each.measured(&name, packed.each(times));
            }
            let texts = packed.shapes.iter().map(|shape| {
                shape.as_ref().map_or(String::new(), |(numbers, chain)| format!("{numbers}; {chain}"))
            });
            each.remark(&format!("{}: numbers at once; N, primes, log QP", packed.name), texts);
        }
        for place in [&*lab.threads.name, "GPU"] {
            run.compare(tfhe, &format!("TFHE, 2^-128, {place}"));
            run.compare(helib, &format!("TFHE, 2^-128, {place}"));
            for packed in &packed {
                run.compare(helib, &format!("{}, {place}", packed.name));
                each.compare(slot, &format!("{}, {place}", packed.name));
            }
        }
        run.note("2^-128: 128-bit security, and gates that fail with that probability; the paper's parameters are not secure now");
        run.note("packed: 128-bit security, one run, whose results are checked; a dash: no such parameters up to N = 2^16, or no memory");
        run.note(
            "the paper's HElib works on up to 1200 numbers at once, ours on those of the amortised table",
        );
        each.note("a slot of HElib: its time over 1200, the most numbers that its slots can hold");
        show(run)?;
        show(each)
    }
}

/// SEAL's experiment: n numbers, one per ciphertext, added in sequence; without, then with
/// encryption and decryption.
fn integers<B: RingOps>(
    lab: &Lab,
    place: &Place<B>,
    columns: &[String; 2],
    counts: &[usize],
) -> Result<Vec<[Value; 2]>> {
    place.on(|| {
        let backend = &place.backend;
        // The paper's degree holds 53 bits at 128-bit security.
        let params = BfvParams::try_from(ExactSpec::from_bits(11, &[53], &[], 1 << 8)?)?;
        let made = Lazy::new(|| Exact::<Bfv, B>::new(backend, &params, 1));
        let encryptor = Lazy::new(|| Ok(Encryptor::new(&params, &made.get()?.public)?));
        let rng = RefCell::new(rng());
        let encrypt = |count: usize| -> Result<Vec<_>> {
            let (encryptor, plain, rng) = (encryptor.get()?, &made.get()?.plain, &mut rng.borrow_mut());
            Ok((0..count).map(|_| encryptor.encrypt(plain, rng)).collect::<he_core::Result<_>>()?)
        };
        counts
            .iter()
            .map(|&count| {
                let [adding, whole] = columns.each_ref().map(|column| Id::new(INTEGERS, column, count));
                let numbers = Lazy::new(|| encrypt(count));
                lab.times(
                    backend,
                    [
                        (adding, &mut || Ok(total(made.get()?, numbers.get()?).map(drop)?)),
                        (whole, &mut || {
                            let x = made.get()?;
                            Ok(x.decryptor.decrypt(&total(x, &encrypt(count)?)?).map(drop)?)
                        }),
                    ],
                )
            })
            .collect()
    })
}

/// Numbers at once of [`in_slots`].
const LOG_SLOTS: u32 = 13;

/// Times sums of numbers of some bits in all slots, modulo a prime of 50 bits per 32 of them,
/// without encryption.
fn in_slots<B: RingOps>(
    lab: &Lab,
    place: &Place<B>,
    column: &str,
    width: u32,
    counts: &[usize],
) -> Result<Vec<Value>> {
    place.on(|| {
        let backend = &place.backend;
        let moduli = ntt_primes_below(50, LOG_SLOTS, width.div_ceil(32) as usize, &[])?;
        let params = moduli
            .iter()
            .map(|&t| Params::<Bfv>::for_depth(t, 0).slots().log_n(LOG_SLOTS).margin_bits(12).build())
            .collect::<Result<Vec<_>, _>>()?;
        let most = counts.iter().copied().max().unwrap_or(0);
        let numbers: Vec<u64> = {
            let rng = &mut rng();
            (0..most).map(|_| rng.random_range(0..=u64::MAX >> (64 - width))).collect()
        };
        let made = Lazy::new(|| {
            let each = |(params, &t): (&Params<Bfv>, &u64)| -> Result<_> {
                let x = Exact::<Bfv, B>::new(backend, params, 1)?;
                let rng = &mut rng();
                let encryptor = Encryptor::new(params, &x.public)?;
                let encrypt = |number: &u64| {
                    let slots = vec![number % t; x.ring.n()];
                    encryptor.encrypt(&x.ev.encoder().encode_batch(&[&slots])?, rng)
                };
                let inputs = numbers.iter().map(encrypt).collect::<he_core::Result<Vec<_>>>()?;
                Ok((x, inputs))
            };
            params.iter().zip(&moduli).map(each).collect::<Result<Vec<_>>>()
        });
        let mut times = Vec::new();
        for &count in counts {
            let add = || -> Result<Vec<_>> {
                made.get()?.iter().map(|(x, inputs)| Ok(total(x, &inputs[..count])?)).collect()
            };
            let sum: u128 = numbers[..count].iter().map(|&number| u128::from(number)).sum();
            let check = |sums: Vec<_>| {
                for (((x, _), ct), &t) in made.get()?.iter().zip(&sums).zip(&moduli) {
                    let slots: Vec<u64> = x.ev.encoder().decode(&x.decryptor.decrypt(ct)?)?.remove(0);
                    if slots.iter().any(|&slot| u128::from(slot) != sum % u128::from(t)) {
                        let what = format!("the sum of {count} numbers modulo {t} is wrong");
                        return Err(Error::WrongResult { what });
                    }
                }
                Ok(())
            };
            times.push(lab.time_checked(&Id::new(INTEGERS, column, count), place, add, check)?);
        }
        Ok(times)
    })
}

/// One after the other.
fn total<B: RingOps>(
    x: &Exact<Bfv, B>,
    numbers: &[Ciphertext<Bfv, B>],
) -> he_core::Result<Ciphertext<Bfv, B>> {
    let sum = x.ev.add(&numbers[0], &numbers[1])?;
    numbers[2..].iter().try_fold(sum, |sum, number| x.ev.add(&sum, number))
}

/// SEAL's table.
fn integer_table(lab: &Lab, figures: &[(usize, [f64; 3])]) -> Result<Table> {
    lab.announce("P3, sums of integers by BFV");
    let counts: Vec<usize> = figures.iter().map(|(count, _)| *count).collect();
    let mut table = Table::new(INTEGERS, "P3, sum of n integers by BFV (SEAL)", "numbers", Unit::Seconds)
        .along(points(&counts));
    table.paper("paper: SEAL", figures.iter().map(|(_, [seal, ..])| seal.exp2()));
    on_places!(lab, place => {
        let columns = [place.name.clone(), format!("{}, with encryption", place.name)];
        let times = integers(lab, place, &columns, &counts)?;
        for (i, column) in columns.iter().enumerate() {
            table.measured(column, times.iter().map(|times| times[i]));
        }
        for width in [32, 64] {
            let name = format!("{}, {} of {width} bits at once", place.name, 1 << LOG_SLOTS);
            table.measured(&name, in_slots(lab, place, &name, width, &counts)?);
        }
    });
    table.compare("paper: SEAL", &format!("{}, with encryption", lab.serial.name));
    table.compare("paper: SEAL", "GPU, with encryption");
    table.note("the paper does not say whether its time holds encryption: ours is given without and with it");
    Ok(table)
}

fn points(of: &[usize]) -> Vec<(String, f64)> {
    of.iter().map(|&x| (x.to_string(), x as f64)).collect()
}

/// Packed sums by BGV and BFV with full adders, as in the paper, and by BGV with counting.
fn packed_sums(lab: &Lab, table: &str, width: usize, counts: &[usize]) -> Result<Vec<Packed>> {
    let jobs = |by_counting| -> Vec<Job> {
        counts.iter().map(|&count| Job::Sum { count, width, by_counting }).collect()
    };
    let by_adders = jobs(false);
    let bgv = Packed::new::<Bgv>(lab, table, "packed, BGV", &by_adders)?;
    let too_deep = bgv.too_deep();
    let mut packed = vec![
        bgv,
        Packed::new::<Bfv>(lab, table, "packed, BFV", &by_adders)?,
        Packed::new::<Bgv>(lab, table, "packed, BGV, by counting", &jobs(true))?,
    ];
    if lab.gpu.is_some() && !too_deep.is_empty() {
        packed.push(Packed::refreshed::<Bgv>(lab, table, "packed, BGV, refreshed", &by_adders, &too_deep)?);
    }
    Ok(packed)
}

fn packed_comparisons(lab: &Lab, table: &str, widths: &[usize]) -> Result<Vec<Packed>> {
    let less: Vec<Job> = widths.iter().map(|&width| Job::Less { width }).collect();
    let sliced: Vec<Job> = widths.iter().map(|&width| Job::sliced(width)).collect();
    Ok(vec![
        Packed::new::<Bgv>(lab, table, "packed, BGV", &less)?,
        Packed::new::<Bfv>(lab, table, "packed, BFV", &less)?,
        Packed::new::<Bgv>(lab, table, "BGV, a ciphertext a bit", &sliced)?,
    ])
}

/// The adders once: jobs of one size, each a series of its own.
fn packed_adders(lab: &Lab, table: &str, width: usize) -> Result<Vec<Packed>> {
    let sum = |count| Job::Sum { count, width, by_counting: false };
    // They run from the cheapest on; rows have the paper's order.
    let jobs = [Job::FullAdder { width }, sum(2), sum(3)];
    let rows = |mut packed: Packed| {
        packed.columns.iter_mut().for_each(|(_, times)| times.swap(0, 1));
        packed.shapes.swap(0, 1);
        packed
    };
    Ok(vec![
        rows(Packed::new::<Bgv>(lab, table, "packed, BGV", &jobs)?),
        rows(Packed::new::<Bfv>(lab, table, "packed, BFV", &jobs)?),
    ])
}

/// SEAL's table.
const INTEGERS: &str = "p3-integers";
/// The tables of bits, each followed by one with the time per number.
const ONCE_ID: &str = "p3-once";
const SUMS_ID: &str = "p3-sums";
const SUMS_64_ID: &str = "p3-sums-64";
const COMPARISON_ID: &str = "p3-comparison";

/// The name of the table with the time per number.
fn each_id(id: &str) -> String {
    format!("{id}-each")
}

/// The names of the tables.
pub fn names(lab: &Lab) -> Vec<String> {
    let bits = [ONCE_ID, SUMS_ID, SUMS_64_ID, COMPARISON_ID];
    let bits = bits.into_iter().filter(|&id| !(lab.quick && id == SUMS_64_ID));
    let bits = bits.flat_map(|id| [id.to_owned(), each_id(id)]);
    std::iter::once(INTEGERS.to_owned()).chain(bits).collect()
}

/// The paper's tables.
pub fn tables(lab: &Lab, show: &mut Show<'_>) -> Result<()> {
    // A meter repeats every job, even those that take minutes.
    let few = if lab.quick {
        3
    } else if lab.is_metered() {
        5
    } else {
        SUMS.len()
    };
    let (sums, comparisons) = (&SUMS[..few], &COMPARISONS[..few]);
    let counts: Vec<usize> = sums.iter().map(|(count, _)| *count).collect();
    let widths: Vec<usize> = comparisons.iter().map(|(width, _)| *width).collect();
    if lab.wants(INTEGERS) {
        show(integer_table(lab, sums)?)?;
    }

    let gates = &mut gates(lab)?;
    let width = if lab.quick { 4 } else { 32 };
    let addition = |count, width| circuit(count, width, |c, words| sum(c, words, width));
    Experiment {
        run: Table::new(ONCE_ID, format!("P3, numbers of {width} bits"), "job", Unit::Seconds)
            .categories(ONCE.map(|(job, _)| job)),
        paper: (!lab.quick)
            .then(|| [0, 1].map(|library: usize| ONCE.map(|(_, times)| times[library]).to_vec())),
        circuits: vec![
            circuit(2, width, |c, words| kogge_stone_add(c, &words[0], &words[1]).0),
            circuit(3, width, |c, words| carry_save(c, words, width).concat()),
            addition(3, width),
        ],
        packed: &|lab, table| packed_adders(lab, table, width),
    }
    .show(lab, gates, show)?;
    for (id, width) in [(SUMS_ID, width), (SUMS_64_ID, 64)] {
        if lab.quick && width == 64 {
            continue;
        }
        let title = format!("P3, sum of n numbers of {width} bits");
        let mut run = Table::new(id, title, "numbers", Unit::Seconds).along(points(&counts));
        run.note("the paper's points are plotted for one of its widths, 32 or 64 bits");
        Experiment {
            run,
            paper: (!lab.quick).then(|| {
                [2, 1].map(|library: usize| sums.iter().map(|(_, times)| times[library].exp2()).collect())
            }),
            circuits: counts.iter().map(|&count| addition(count, width)).collect(),
            packed: &|lab, table| packed_sums(lab, table, width, &counts),
        }
        .show(lab, gates, show)?;
    }
    Experiment {
        run: Table::new(COMPARISON_ID, "P3, comparison of two numbers", "bits", Unit::Seconds)
            .along(points(&widths)),
        paper: Some(
            [1, 0].map(|library: usize| comparisons.iter().map(|(_, times)| times[library].exp2()).collect()),
        ),
        circuits: widths
            .iter()
            .map(|&width| circuit(2, width, |c, words| vec![less_than(c, &words[0], &words[1])]))
            .collect(),
        packed: &|lab, table| packed_comparisons(lab, table, &widths),
    }
    .show(lab, gates, show)
}
