//! P5: Fadhli, *BFV encryptor and decryptor on an FPGA*, Institut Teknologi Bandung, 2021: q of
//! 32 bits, t of 16 bits, 50 to 1000 messages per run.

use crate::error::{Error, Result};
use crate::keys::{Exact, rng};
use crate::measure::{Id, Lab, Lazy, Place, on_places};
use crate::report::{Show, Table, Unit, Value};
use he_core::backend::{Cpu, RingOps};
use he_core::bfv::{Bfv, BfvParams};
use he_core::exact::{Encryptor, ExactSpec};
use he_core::ring::Ring;

const LOG_DEGREES: [u32; 3] = [2, 3, 4];

/// A board, and milliseconds per message at n = 4, 8, 16.
type Board = (&'static str, [f64; 3]);

const ENCRYPT: [Board; 4] = [
    ("paper: PYNQ-Z1 CPU", [4.562, 8.328, 16.1]),
    ("paper: PYNQ-Z1 CPU + FPGA", [1.2025, 1.945, 3.94]),
    ("paper: Core i5-10210U", [0.205, 0.346, 0.724]),
    ("paper: Raspberry Pi 3B+", [1.639, 1.84, 2.28]),
];

const DECRYPT: [Board; 5] = [
    ("paper: PYNQ-Z1 CPU", [3.439, 6.293, 12.427]),
    ("paper: PYNQ-Z1 FPGA", [0.387, 0.744, 1.407]),
    ("paper: Core i5-10210U", [0.202, 0.369, 0.701]),
    ("paper: Raspberry Pi 3B+", [1.482, 1.705, 1.654]),
    ("paper: Raspberry Pi Zero W", [7.774, 13.435, 26.35]),
];

/// A column of both tables: the name, the number of messages per call, and whether ciphertexts
/// travel.
struct Column<'a> {
    name: &'a str,
    batch: usize,
    copies: bool,
}

/// The seconds per message to encrypt and to decrypt. `ids` name the two figures.
fn message<B: RingOps>(
    lab: &Lab,
    place: &Place<B>,
    log_n: u32,
    column: &Column<'_>,
    ids: [Id; 2],
) -> Result<[Value; 2]> {
    place.on(|| {
        let (backend, batch) = (&place.backend, column.batch);
        let params = BfvParams::insecure(ExactSpec::from_bits(log_n, &[32], &[33], 1 << 16)?)?;
        let x = Lazy::new(|| Exact::<Bfv, B>::new(backend, &params, batch));
        let encryptor = Lazy::new(|| Ok(Encryptor::new(&params, &x.get()?.public)?));
        let host = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
        let hosted = Lazy::new(|| Ok(x.get()?.inputs[0].to(&host)?));
        let rng = &mut rng();
        let [encrypt, decrypt] = ids;
        // Plaintexts begin and end in the memory of the host.
        let times = match column.copies {
            false => [
                lab.time(&encrypt, backend, || {
                    Ok::<_, Error>(encryptor.get()?.encrypt(&x.get()?.plain, rng)?)
                })?,
                lab.time(&decrypt, backend, || {
                    let x = x.get()?;
                    Ok::<_, Error>(x.decryptor.decrypt(&x.inputs[0])?)
                })?,
            ],
            true => [
                lab.time(&encrypt, backend, || {
                    Ok::<_, Error>(encryptor.get()?.encrypt(&x.get()?.plain, rng)?.to(&host)?)
                })?,
                lab.time(&decrypt, backend, || {
                    let x = x.get()?;
                    Ok::<_, Error>(x.decryptor.decrypt(&hosted.get()?.to(&x.ring)?)?)
                })?,
            ],
        };
        Ok(times.map(|time| time.each(batch)))
    })
}

/// The operations, in the order of the tables.
const OPERATIONS: [&str; 2] = ["encrypt", "decrypt"];

/// The names of the tables.
pub fn names() -> Vec<String> {
    let runs = OPERATIONS.map(runs_id);
    OPERATIONS.map(table_id).into_iter().chain(runs).collect()
}

fn table_id(operation: &str) -> String {
    format!("p5-{operation}")
}

fn runs_id(operation: &str) -> String {
    format!("p5-{operation}-runs")
}

/// The paper's two tables, then ours by the number of messages.
pub fn tables(lab: &Lab, show: &mut Show<'_>) -> Result<()> {
    let [encrypt, decrypt] = OPERATIONS;
    let operations: [(&str, &[Board]); 2] = [(encrypt, &ENCRYPT), (decrypt, &DECRYPT)];
    let mut tables: Vec<Table> = operations
        .iter()
        .map(|(name, boards)| {
            let mut table =
                Table::new(table_id(name), format!("P5, {name}, a message"), "n", Unit::Milliseconds)
                    .along(LOG_DEGREES.map(|log_n| ((1 << log_n).to_string(), f64::from(1 << log_n))));
            for (board, figures) in *boards {
                table.paper(board, *figures);
            }
            table
        })
        .collect();
    let mut columns: Vec<(String, Vec<[Value; 2]>)> = Vec::new();
    macro_rules! column {
        ($place:expr, $name:expr, $batch:expr, $copies:expr) => {{
            let name = $name;
            let column = Column { name: &name, batch: $batch, copies: $copies };
            let ids = |log_n: u32| OPERATIONS.map(|of| Id::new(&table_id(of), column.name, 1 << log_n));
            let times = LOG_DEGREES.map(|log_n| message(lab, $place, log_n, &column, ids(log_n)));
            let times = times.into_iter().collect::<Result<Vec<_>>>()?;
            columns.push((name, times));
        }};
    }
    if let Some(place) = lab.cpus().next() {
        column!(place, format!("{}, one a call", place.name), 1, false);
    }
    on_places!(lab, place => {
        column!(place, format!("{}, 1000 a call", place.name), 1000, false);
        if place.apart {
            column!(place, format!("{}, 1000 a call", place.with_copies()), 1000, true);
        }
    });
    for (operation, table) in tables.iter_mut().enumerate() {
        for (name, times) in &columns {
            table.measured(name, times.iter().map(|times| times[operation]));
        }
        table.compare("paper: Core i5-10210U", &format!("{}, 1000 a call", lab.serial.name));
        table.compare(
            ["paper: PYNQ-Z1 CPU + FPGA", "paper: PYNQ-Z1 FPGA"][operation],
            "GPU with copies, 1000 a call",
        );
        table.note("the FPGA's logic alone, without moving data: 0.000028 ms a message at n = 4");
        table.note("degrees 4 to 16 have no security at all");
    }
    tables.into_iter().try_for_each(&mut *show)?;
    by_count(lab)?.into_iter().try_for_each(show)
}

/// One run of 50 to 1000 messages.
fn by_count(lab: &Lab) -> Result<Vec<Table>> {
    let counts: &[usize] = if lab.quick { &[50, 1000] } else { &[50, 100, 200, 500, 1000] };
    let mut tables: Vec<Table> = OPERATIONS
        .map(|name| {
            let title = format!("P5, {name}, a message, by the number of messages a call");
            Table::new(runs_id(name), title, "messages", Unit::Microseconds)
                .along(counts.iter().map(|count| (count.to_string(), *count as f64)))
        })
        .into();
    on_places!(lab, place => {
        for log_n in LOG_DEGREES {
            let name = format!("n = {}, {}", 1 << log_n, place.name);
            let runs = |&batch: &usize| {
                let ids = OPERATIONS.map(|of| Id::new(&runs_id(of), &name, batch));
                message(lab, place, log_n, &Column { name: &name, batch, copies: false }, ids)
            };
            let times: Vec<[Value; 2]> = counts.iter().map(runs).collect::<Result<_>>()?;
            for (operation, table) in tables.iter_mut().enumerate() {
                table.measured(&name, times.iter().map(|times| times[operation]));
            }
        }
    });
    Ok(tables)
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
            let times = {
                let column = Column { name: "CPU", batch: 3, copies };
                message(&lab, &lab.serial, 2, &column, OPERATIONS.map(|of| Id::new(of, "CPU", 4))).unwrap()
            };
            assert!(all_run(&times));
        }
    }
}
