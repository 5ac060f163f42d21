//! Operations of the schemes over rings, at every degree.

use super::keys::{BigCkks, Ckks, Exact, rng};
use super::measure::{Lab, on_places};
use super::report::{Show, Table, Unit, Value};
use crate::error::Result;
use he_core::backend::{RingOps, WideOps};
use he_core::bfv::{self, Bfv};
use he_core::bgv::{self, Bgv};
use he_core::bigckks::{self, BigCkksParams};
use he_core::ckks::{self, CkksParams};
use he_core::exact::{self, Params, Scheme};
use he_core::params::ParamsError;

/// Times the calls of a scheme, one for each of `$rows`: those that are given, and those that all
/// schemes have in common by methods of the same names, with `$product` among them.
macro_rules! times {
    ($rows:ident, $lab:expr, $backend:expr, $x:ident, $encryptor:ident, [$($first:expr),*], $product:expr) => {{
        let (ev, [a, b], rng) = (&$x.ev, &$x.inputs, &mut rng());
        let times = $lab.times::<{ $rows.len() }>(
            $backend,
            [
                $(&mut || $first.map(drop),)*
                &mut || $encryptor.encrypt(&$x.plain, rng).map(drop),
                &mut || $x.decryptor.decrypt(a).map(drop),
                &mut || ev.add(a, b).map(drop),
                &mut || ev.mul_plain(a, &$x.plain).map(drop),
                &mut || $product.map(drop),
                &mut || ev.rotate(a, 1, &$x.keys).map(drop),
            ],
        )?;
        Ok(times.to_vec())
    }};
}

const CKKS: [&str; 8] =
    ["encode", "decode", "encrypt", "decrypt", "add", "multiply by a plaintext", "multiply", "rotate"];

fn ckks<B: RingOps>(lab: &Lab, backend: &B, params: &CkksParams) -> Result<Vec<Value>> {
    let x = Ckks::new(backend, params)?;
    let encryptor = ckks::Encryptor::new(params, &x.public)?;
    let (ev, [a, b]) = (&x.ev, &x.inputs);
    times!(
        CKKS,
        lab,
        backend,
        x,
        encryptor,
        [ev.encoder().encode(&x.values, params.encoding()), ev.encoder().decode(&x.plain)],
        ev.mul(a, b, &x.keys)
    )
}

const EXACT: [&str; 6] = ["encrypt", "decrypt", "add", "multiply by a plaintext", "multiply", "rotate"];

fn exact<S: Scheme, B: RingOps>(lab: &Lab, backend: &B, params: &Params<S>) -> Result<Vec<Value>> {
    let x = Exact::new(backend, params, 1)?;
    let encryptor = exact::Encryptor::new(params, &x.public)?;
    let (ev, [a, b]) = (&x.ev, &x.inputs);
    times!(EXACT, lab, backend, x, encryptor, [], ev.mul(a, b, &x.keys))
}

fn big<B: WideOps>(lab: &Lab, backend: &B, params: &BigCkksParams) -> Result<Vec<Value>> {
    let x = BigCkks::new(backend, params)?;
    let encryptor = bigckks::Encryptor::new(params, &x.public)?;
    let (ev, [a, b]) = (&x.ev, &x.inputs);
    times!(
        CKKS,
        lab,
        backend,
        x,
        encryptor,
        [ev.encoder().encode(&x.values, params.encoding()), ev.encoder().decode(&x.plain)],
        ev.rescale(&ev.mul(a, b, &x.keys)?, params.scale_log2())
    )
}

/// The first parameter sets of a scheme, which are measured.
fn sets<P>(lab: &Lab, presets: &[fn() -> Result<P, ParamsError>]) -> Result<Vec<P>> {
    let count = if lab.quick { 1 } else { presets.len() };
    presets[..count].iter().map(|preset| Ok(preset()?)).collect()
}

/// The schemes, in their order, with which the names of the tables begin.
const SCHEMES: [&str; 4] = ["ckks", "bfv", "bgv", "bigckks"];

fn table_id(id: &str, place: &str) -> String {
    format!("{id}-{}", place.to_lowercase().replace(", ", "-").replace(' ', "-"))
}

/// The names of the tables.
pub fn names(lab: &Lab) -> Vec<String> {
    let mut names = Vec::new();
    for scheme in SCHEMES {
        on_places!(lab, place => names.push(table_id(scheme, &place.name)));
    }
    names
}

/// One table per scheme and place, whose columns are degrees.
fn table(id: &str, scheme: &str, place: &str, rows: &[&str], columns: Vec<(String, Vec<Value>)>) -> Table {
    let title = format!("{scheme}, {place}, one call");
    let mut table = Table::new(table_id(id, place), title, "operation", Unit::Microseconds).categories(rows);
    for (name, times) in columns {
        table.measured(&name, times);
    }
    table
}

/// The shape of a parameter set, as the name of a column.
fn shape(log_n: u32, q: usize, p: usize) -> String {
    format!("2^{log_n}, {q}+{p} primes")
}

/// Every scheme over its presets of 128-bit security.
///
/// # Errors
/// A device fails; the errors of `show`.
pub fn tables(lab: &Lab, show: &mut Show<'_>) -> Result<()> {
    let ckks_sets = sets(
        lab,
        &[
            ckks::presets::ckks_n12_d1,
            ckks::presets::ckks_n13_d3,
            ckks::presets::ckks_n14_d7,
            ckks::presets::ckks_n15_d14,
            ckks::presets::ckks_n16_d28,
        ],
    )?;
    let bfv_sets = sets(
        lab,
        &[
            bfv::presets::bfv_n12_d1,
            bfv::presets::bfv_n13_d4,
            bfv::presets::bfv_n14_d11,
            bfv::presets::bfv_n15_d21,
        ],
    )?;
    let bgv_sets = sets(
        lab,
        &[
            bgv::presets::bgv_n12_d1,
            bgv::presets::bgv_n13_d3,
            bgv::presets::bgv_n14_d8,
            bgv::presets::bgv_n15_d16,
        ],
    )?;
    let ring_shape = |ring: &he_core::ring::RingSpec| shape(ring.log_n(), ring.q().len(), ring.p().len());
    macro_rules! each {
        ($id:expr, $scheme:literal, $rows:expr, $sets:expr, $shape:expr, $measure:expr) => {
            on_places!(lab, place => {
                lab.announce(&format!("{}, {}", $scheme, place.name));
                let columns: Vec<(String, Vec<Value>)> = $sets
                    .iter()
                    .map(|params| Ok(($shape(params), place.on(|| $measure(lab, &place.backend, params))?)))
                    .collect::<Result<_>>()?;
                show(table($id, $scheme, &place.name, &$rows, columns))?;
            });
        };
    }
    let [ckks_id, bfv_id, bgv_id, bigckks_id] = SCHEMES;
    each!(ckks_id, "CKKS", CKKS, ckks_sets, |p: &CkksParams| ring_shape(p.rlwe().ring()), ckks);
    each!(bfv_id, "BFV, t = 65537", EXACT, bfv_sets, |p: &Params<Bfv>| ring_shape(p.rlwe().ring()), exact);
    each!(bgv_id, "BGV, t = 65537", EXACT, bgv_sets, |p: &Params<Bgv>| ring_shape(p.rlwe().ring()), exact);
    let mut depths = [100, 300, 600].iter().map(|&bits| BigCkksParams::for_depth_bits(bits).build());
    let big_sets = if lab.quick {
        vec![depths.next().transpose()?]
    } else {
        depths.map(|p| p.map(Some)).collect::<Result<_, _>>()?
    };
    let big_sets: Vec<BigCkksParams> = big_sets.into_iter().flatten().collect();
    let big_shape = |p: &BigCkksParams| format!("2^{}, log q = {}", p.ring().log_n(), p.log_q());
    each!(bigckks_id, "CKKS, modulus 2^l", CKKS, big_sets, big_shape, big);
    Ok(())
}
