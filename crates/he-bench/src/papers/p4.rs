//! P4: Augustine, Munir, Syafalni, *RNS-CKKS, serial and on CUDA*, Institut Teknologi
//! Bandung, 2024. CPU: Ryzen 9 5950X; GPU: RTX 3090 Ti, CUDA 12.5.

use crate::error::Result;
use crate::keys::{Ckks, rng};
use crate::measure::{Id, Lab, Lazy, Place, on_places};
use crate::report::{Show, Table, Unit, Value};
use he_core::backend::{Cpu, PolyOps, RingOps};
use he_core::ckks::{CkksParams, CkksSpec, Encryptor};
use he_core::ring::{Ring, Rows, Seed, Span};
use std::cell::RefCell;
use std::ops::RangeInclusive;

const NONE: [f64; 5] = [f64::NAN; 5];

/// Milliseconds at log2 N = 10 ... 14: serial, parallel, parallel without allocating and copying.
const FIGURES: [(&str, &str, [[f64; 5]; 3]); 8] = [
    (
        "ntt",
        "NTT",
        [[1.1664, 2.5888, 5.7362, 12.4317, 27.1848], [0.52879, 0.83686, 1.67330, 3.45623, 7.23717], NONE],
    ),
    (
        "intt",
        "inverse NTT",
        [[1.4229, 3.0899, 6.6437, 14.3667, 30.8995], [0.63438, 0.98869, 1.95737, 4.04242, 8.31446], NONE],
    ),
    (
        "encode",
        "encode",
        [
            [0.6364, 1.3162, 2.6842, 5.3006, 11.2184],
            [0.80909, 1.52013, 2.81756, 5.60039, 11.15867],
            [0.16629, 0.31228, 0.61977, 1.25983, 2.55177],
        ],
    ),
    (
        "decode",
        "decode",
        [
            [0.1370, 0.2865, 0.6977, 1.2926, 3.1641],
            [1.90788, 2.03976, 2.58489, 3.36681, 5.46795],
            [0.18179, 0.34160, 0.67611, 1.36551, 2.78044],
        ],
    ),
    (
        "encrypt",
        "encrypt",
        [
            [17.7055, 38.0537, 82.5913, 176.8433, 377.0243],
            [7.49705, 13.02347, 26.71893, 55.62030, 115.30600],
            NONE,
        ],
    ),
    (
        "decrypt",
        "decrypt",
        [[1.7193, 3.7651, 7.8702, 15.7671, 35.8865], [0.70463, 1.08779, 2.11043, 4.34131, 9.05989], NONE],
    ),
    (
        "add",
        "add",
        [
            [0.1009, 0.2030, 0.3891, 0.6692, 1.3689],
            [0.16986, 0.26720, 0.48003, 0.81287, 1.57944],
            [0.00760, 0.00784, 0.00776, 0.00816, 0.00843],
        ],
    ),
    (
        "multiply",
        "multiply (tensor, relinearise, rescale)",
        [
            [69.6860, 146.9937, 313.8543, 663.8180, 1403.6267],
            [27.05980, 39.57310, 74.37683, 146.07500, 299.79267],
            NONE,
        ],
    ),
];

/// The seconds of the eight operations.
type Times = [Value; 8];

/// Six primes and a special one. `copies`: operands start in the host's memory and results end
/// there.
fn operations<B: RingOps>(lab: &Lab, column: &str, backend: &B, log_n: u32, copies: bool) -> Result<Times> {
    let spec = CkksSpec::from_bits(log_n, &[55, 40, 40, 40, 40, 40], &[56], 40.0)?;
    // The paper's degrees have no security with this modulus.
    let params = CkksParams::insecure(spec)?;
    let made = Lazy::new(|| Ckks::new(backend, &params, 1, &[1]));
    let encryptor = Lazy::new(|| Ok(Encryptor::new(&params, &made.get()?.public)?));
    let (x, rng) = (|| made.get(), &mut rng());
    let rows = Rows::new(Span::chain(params.rlwe().ring().q().len()), 1);
    let words = rows.count() << log_n;
    let uniform = || -> Result<_> {
        let mut residues = backend.zeros(words)?;
        x()?.ring.prepared().sample_uniform(rows, &Seed([1; 32]), 0, &mut residues)?;
        Ok(RefCell::new(residues))
    };
    let residues = Lazy::new(uniform);
    let transform = |forward: bool, buf: &mut B::Buf| -> Result<()> {
        let ring = x()?.ring.prepared();
        let done = if forward { ring.ntt(rows, buf) } else { ring.intt(rows, buf) };
        Ok(done?)
    };
    let encode = || -> Result<_> { Ok(x()?.ev.encoder().encode(&x()?.values, params.encoding())?) };
    let ids = FIGURES.map(|(id, ..)| Id::new(&table_id(id), column, log_n));
    let [ntt, intt, to_plain, from_plain, encrypt, decrypt, add, multiply] = ids;
    if !copies {
        return lab.times(
            backend,
            [
                (ntt, &mut || transform(true, &mut residues.get()?.borrow_mut())),
                (intt, &mut || transform(false, &mut residues.get()?.borrow_mut())),
                (to_plain, &mut || encode().map(drop)),
                (from_plain, &mut || Ok(x()?.ev.encoder().decode(&x()?.plain).map(drop)?)),
                (encrypt, &mut || Ok(encryptor.get()?.encrypt(&x()?.plain, rng).map(drop)?)),
                (decrypt, &mut || Ok(x()?.decryptor.decrypt(&x()?.inputs[0]).map(drop)?)),
                (add, &mut || Ok(x()?.ev.add(&x()?.inputs[0], &x()?.inputs[1]).map(drop)?)),
                (multiply, &mut || {
                    Ok(x()?.ev.mul(&x()?.inputs[0], &x()?.inputs[1], &x()?.keys).map(drop)?)
                }),
            ],
        );
    }
    let host = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    let downloaded = Lazy::new(|| Ok(backend.download(&residues.get()?.borrow(), 0..words)?));
    let hosted = Lazy::new(|| {
        Ok((x()?.plain.poly().to(&host)?, x()?.inputs[0].to(&host)?, x()?.inputs[1].to(&host)?))
    });
    let transform = |forward: bool| -> Result<()> {
        let mut buf = backend.upload(downloaded.get()?)?;
        transform(forward, &mut buf)?;
        Ok(backend.download(&buf, 0..words).map(drop)?)
    };
    // Operands that came from the host.
    let plain = || -> Result<_> { Ok(hosted.get()?.0.to(&x()?.ring)?) };
    let a = || -> Result<_> { Ok(hosted.get()?.1.to(&x()?.ring)?) };
    let b = || -> Result<_> { Ok(hosted.get()?.2.to(&x()?.ring)?) };
    lab.times(
        backend,
        [
            (ntt, &mut || transform(true)),
            (intt, &mut || transform(false)),
            (to_plain, &mut || Ok(encode()?.poly().to(&host).map(drop)?)),
            (from_plain, &mut || {
                plain()?;
                Ok(x()?.ev.encoder().decode(&x()?.plain).map(drop)?)
            }),
            (encrypt, &mut || {
                plain()?;
                Ok(encryptor.get()?.encrypt(&x()?.plain, rng)?.to(&host).map(drop)?)
            }),
            (decrypt, &mut || Ok(x()?.decryptor.decrypt(&a()?)?.poly().to(&host).map(drop)?)),
            (add, &mut || Ok(x()?.ev.add(&a()?, &b()?)?.to(&host).map(drop)?)),
            (multiply, &mut || Ok(x()?.ev.mul(&a()?, &b()?, &x()?.keys)?.to(&host).map(drop)?)),
        ],
    )
}

fn times<B: RingOps>(
    lab: &Lab,
    place: &Place<B>,
    degrees: RangeInclusive<u32>,
    copies: bool,
) -> Result<Vec<Times>> {
    let column = if copies { place.with_copies() } else { place.name.clone() };
    place.on(|| degrees.map(|log_n| operations(lab, &column, &place.backend, log_n, copies)).collect())
}

/// The names of the tables.
pub fn names() -> Vec<String> {
    FIGURES.iter().map(|(id, ..)| table_id(id)).collect()
}

fn table_id(operation: &str) -> String {
    format!("p4-{operation}")
}

/// One table per operation.
pub fn tables(lab: &Lab, show: &mut Show<'_>) -> Result<()> {
    let degrees = 10..=if lab.quick { 11 } else { 14 };
    let mut ours = Vec::new();
    on_places!(lab, place => {
        ours.push((place.name.clone(), times(lab, place, degrees.clone(), false)?));
        if place.apart {
            ours.push((place.with_copies(), times(lab, place, degrees.clone(), true)?));
        }
    });
    let table =
        |(operation, (id, name, [serial, parallel, resident])): (usize, (&str, &str, [[f64; 5]; 3]))| {
            let mut table = Table::new(table_id(id), format!("P4, {name}"), "log2 N", Unit::Milliseconds)
                .along(degrees.clone().map(|log_n| (log_n.to_string(), f64::from(log_n))));
            let rows = table.rows.len();
            table.paper("paper: CPU", serial.into_iter().take(rows));
            table.paper("paper: GPU with copies", parallel.into_iter().take(rows));
            if !resident[0].is_nan() {
                table.paper("paper: GPU", resident.into_iter().take(rows));
            }
            for (place, times) in &ours {
                table.measured(place, times.iter().map(|times| times[operation]));
            }
            table.compare("paper: CPU", &lab.serial.name);
            table.compare("paper: GPU with copies", &lab.threads.name);
            table.compare("paper: GPU with copies", "GPU with copies");
            table.compare("paper: GPU", "GPU");
            table
        };
    let mut tables: Vec<Table> = FIGURES.into_iter().enumerate().map(table).collect();
    tables[0]
        .note("ours: 6 primes of 40 to 55 bits and a special one; the paper's number of primes is not known");
    tables.into_iter().try_for_each(show)
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
            let times = operations(&lab, "CPU", &Cpu::new(), 6, copies).unwrap();
            assert!(all_run(&times));
        }
    }
}
