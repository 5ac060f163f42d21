//! Operations of the schemes over rings, at every degree.

use super::chains;
use super::keys::{BigCkks, Ckks, Exact, rng};
use super::measure::{Call, Id, Lab, Lazy, Place, on_places, slug};
use super::report::{Show, Table, Unit, Value};
use crate::error::Result;
use he_core::backend::{Backend, Cpu, RingOps, WideOps};
use he_core::bfv::{self, Bfv};
use he_core::bgv::{self, Bgv};
use he_core::bigckks::{self, BigCkksParams};
use he_core::ckks::{self, CkksParams};
use he_core::exact::{self, Params, Scheme};
use he_core::params::ParamsError;
use he_core::ring::{Ring, RingSpec};

/// The figures of a column, by the names of their rows.
type Times = Vec<(&'static str, Value)>;

/// A column: the names of its table and of itself, the device, and the ciphertexts of a call.
struct Column<'a, B> {
    lab: &'a Lab,
    table: &'a str,
    name: &'a str,
    place: &'a Place<B>,
    batch: usize,
}

impl<B: Backend> Column<'_, B> {
    /// The seconds per ciphertext.
    fn times(&self, calls: &mut [(&'static str, Call<'_>)]) -> Result<Times> {
        let time = |(row, call): &mut (&'static str, Call<'_>)| {
            let id = Id::new(self.table, self.name, *row);
            Ok((*row, self.lab.time(&id, &self.place.backend, &mut **call)?.each(self.batch)))
        };
        calls.iter_mut().map(time).collect()
    }
}

/// Times expressions, each by the name of its row.
macro_rules! times {
    ($column:expr, $($row:literal => $call:expr),* $(,)?) => {
        $column.times(&mut [$(($row, &mut || {
            drop($call?);
            Ok(())
        })),*])
    };
}

/// The mean of 3 x 3 pixels of a picture with rows of 64: steps and weights.
fn blur() -> Vec<(i64, f64)> {
    [-64, 0, 64].iter().flat_map(|row| [-1, 0, 1].map(|column| (row + column, 1.0 / 9.0))).collect()
}

fn ckks<B: RingOps>(column: &Column<'_, B>, params: &CkksParams) -> Result<Times> {
    let steps: Vec<i64> =
        blur().into_iter().map(|(step, _)| step).chain([2]).filter(|&step| step != 0).collect();
    let made = Lazy::new(|| Ckks::new(&column.place.backend, params, column.batch, &steps));
    let encryptor = Lazy::new(|| Ok(ckks::Encryptor::new(params, &made.get()?.public)?));
    let x = || made.get();
    let product = Lazy::new(|| Ok(x()?.ev.tensor(&x()?.inputs[0], &x()?.inputs[1])?));
    let (rng, blur) = (&mut rng(), blur());
    let vectors = || -> Result<Vec<_>> { Ok(vec![x()?.values.as_slice(); column.batch]) };
    let mut times = times!(column,
        "encode" => x()?.ev.encoder().encode_batch(&vectors()?, params.encoding()),
        "decode" => x()?.ev.encoder().decode(&x()?.plain),
        "encrypt" => encryptor.get()?.encrypt(&x()?.plain, rng),
        "decrypt" => x()?.decryptor.decrypt(&x()?.inputs[0]),
        "add" => x()?.ev.add(&x()?.inputs[0], &x()?.inputs[1]),
        "multiply by a plaintext" => x()?.ev.mul_plain(&x()?.inputs[0], &x()?.plain),
        "tensor" => x()?.ev.tensor(&x()?.inputs[0], &x()?.inputs[1]),
        "relinearise" => x()?.ev.relinearize(product.get()?, &x()?.keys),
        "rescale" => x()?.ev.rescale(&x()?.inputs[0]),
        "multiply, relinearise, rescale" => x()?.ev.mul(&x()?.inputs[0], &x()?.inputs[1], &x()?.keys),
        "rotate" => x()?.ev.rotate(&x()?.inputs[0], 1, &x()?.keys),
        "two rotations" => x()?.ev.rotate_many(&x()?.inputs[0], &[1, 2], &x()?.keys),
        "sum of 9 rotations" => x()?.ev.sum_of_rotations(&x()?.inputs[0], &blur, &x()?.keys),
    )?;
    if column.place.apart {
        let host = Lazy::new(|| Ok(Ring::new(Cpu::new(), params.rlwe().ring().clone())?));
        let words = Lazy::new(|| Ok(x()?.inputs[0].to(host.get()?)?));
        times.extend(times!(column,
            "upload" => words.get()?.to(&x()?.ring),
            "download" => x()?.inputs[0].to(host.get()?),
        )?);
    }
    Ok(times)
}

fn exact<S: Scheme, B: RingOps>(column: &Column<'_, B>, params: &Params<S>) -> Result<Times> {
    let made = Lazy::new(|| Exact::new(&column.place.backend, params, column.batch));
    let encryptor = Lazy::new(|| Ok(exact::Encryptor::new(params, &made.get()?.public)?));
    let x = || made.get();
    let [rng, other] = &mut [rng(), rng()];
    let prepared = Lazy::new(|| Ok(x()?.ev.prepare(&x()?.plain, x()?.inputs[0].level())?));
    let resident = Lazy::new(|| Ok(exact::Message::new(&x()?.ring, &x()?.plain)?));
    let mut times = times!(column,
        "encrypt" => encryptor.get()?.encrypt(&x()?.plain, rng),
        "decrypt" => x()?.decryptor.decrypt(&x()?.inputs[0]),
        "add" => x()?.ev.add(&x()?.inputs[0], &x()?.inputs[1]),
        "multiply by a plaintext" => x()?.ev.mul_plain(&x()?.inputs[0], &x()?.plain),
        "multiply by a prepared plaintext" => x()?.ev.mul_prepared(&x()?.inputs[0], prepared.get()?),
        "tensor" => x()?.ev.tensor(&x()?.inputs[0], &x()?.inputs[1]),
        "multiply, relinearise" => x()?.ev.mul(&x()?.inputs[0], &x()?.inputs[1], &x()?.keys),
        "rotate" => x()?.ev.rotate(&x()?.inputs[0], 1, &x()?.keys),
    )?;
    if column.place.apart {
        // From values in the host's memory to a ciphertext and back.
        let slots = Lazy::new(|| Ok(exact::SlotEncoder::new(params, &x()?.ring)?));
        let values = Lazy::new(|| Ok(x()?.ev.encoder().decode::<u64>(&x()?.plain)?));
        let rows = || -> Result<Vec<&[u64]>> { Ok(values.get()?.iter().map(Vec::as_slice).collect()) };
        let from_slots = &mut self::rng();
        times.extend(times!(column,
            "encrypt, plaintext on the device" => encryptor.get()?.encrypt_message(resident.get()?, other),
            "decrypt, plaintext on the device" => x()?.decryptor.decrypt_message(&x()?.inputs[0]),
            "encode and encrypt" =>
                encryptor.get()?.encrypt_message(&slots.get()?.encode(&rows()?)?, from_slots),
            "decrypt and decode" =>
                slots.get()?.decode::<u64>(x()?.decryptor.decrypt_message(&x()?.inputs[0])?),
        )?);
    }
    Ok(times)
}

fn big<B: WideOps>(column: &Column<'_, B>, params: &BigCkksParams) -> Result<Times> {
    let made = Lazy::new(|| BigCkks::new(&column.place.backend, params));
    let encryptor = Lazy::new(|| Ok(bigckks::Encryptor::new(params, &made.get()?.public)?));
    let x = || made.get();
    let product = Lazy::new(|| Ok(x()?.ev.tensor(&x()?.inputs[0], &x()?.inputs[1])?));
    let high = Lazy::new(|| Ok(x()?.ev.relinearize(product.get()?, &x()?.keys)?));
    let rng = &mut rng();
    times!(column,
        "encode" => x()?.ev.encoder().encode(&x()?.values, params.encoding()),
        "decode" => x()?.ev.encoder().decode(&x()?.plain),
        "encrypt" => encryptor.get()?.encrypt(&x()?.plain, rng),
        "decrypt" => x()?.decryptor.decrypt(&x()?.inputs[0]),
        "add" => x()?.ev.add(&x()?.inputs[0], &x()?.inputs[1]),
        "multiply by a plaintext" => x()?.ev.mul_plain(&x()?.inputs[0], &x()?.plain),
        "tensor" => x()?.ev.tensor(&x()?.inputs[0], &x()?.inputs[1]),
        "relinearise" => x()?.ev.relinearize(product.get()?, &x()?.keys),
        "rescale" => x()?.ev.rescale(high.get()?, params.scale_log2()),
        "multiply, relinearise, rescale" =>
            x()?.ev.rescale(&x()?.ev.mul(&x()?.inputs[0], &x()?.inputs[1], &x()?.keys)?, params.scale_log2()),
        "square, relinearise, rescale" =>
            x()?.ev.rescale(&x()?.ev.square(&x()?.inputs[0], &x()?.keys)?, params.scale_log2()),
        "rotate" => x()?.ev.rotate(&x()?.inputs[0], 1, &x()?.keys),
    )
}

/// Parameters, and the name of their column.
struct Set<P> {
    name: String,
    params: P,
    /// Ciphertexts of a call on a GPU: one, and many where that fills it.
    batches: &'static [usize],
}

impl<P: OfRing> Set<P> {
    fn new(name: String, params: P) -> Self {
        let batches: &[usize] = if params.ring().log_n() <= 14 { &[1, 32] } else { &[1] };
        Self { name, params, batches }
    }
}

/// The shape of a ring.
fn shape(ring: &RingSpec) -> String {
    format!("2^{}, {}+{} primes", ring.log_n(), ring.q().len(), ring.p().len())
}

/// The shape of a chain of peers, some of which differ only in their widest primes.
fn widths(ring: &RingSpec) -> String {
    let widest = ring.q().iter().map(|q| q.ilog2() + 1).max().unwrap_or(0);
    format!("{} up to {widest} bits", shape(ring))
}

/// Parameters of CKKS, or of BFV or BGV.
trait OfRing {
    fn ring(&self) -> &RingSpec;
}

impl OfRing for CkksParams {
    fn ring(&self) -> &RingSpec {
        self.rlwe().ring()
    }
}

impl<S: Scheme> OfRing for Params<S> {
    fn ring(&self) -> &RingSpec {
        self.rlwe().ring()
    }
}

/// The first presets of a scheme.
fn presets<P: OfRing>(lab: &Lab, presets: &[fn() -> Result<P, ParamsError>]) -> Result<Vec<Set<P>>> {
    let count = if lab.quick { 1 } else { presets.len() };
    let set = |preset: &fn() -> Result<P, ParamsError>| {
        let params = preset()?;
        Ok(Set::new(shape(params.ring()), params))
    };
    presets[..count].iter().map(set).collect()
}

fn table_id(id: &str, place: &str) -> String {
    format!("{id}-{}", slug(place))
}

/// The tables, in their order, by the beginning of their names: presets of 128-bit security, and
/// the chains of peers.
const TABLES: [&str; 7] = ["ckks", "bfv", "bgv", "bigckks", "ckks-chains", "bfv-chains", "bgv-chains"];

/// The number of tables whose parameters are presets.
const PRESETS: usize = 4;

/// The names of the tables.
pub fn names(lab: &Lab) -> Vec<String> {
    let mut names = Vec::new();
    for scheme in &TABLES[..if lab.quick { PRESETS } else { TABLES.len() }] {
        on_places!(lab, place => names.push(table_id(scheme, &place.name)));
    }
    names
}

/// The table of a scheme in a place.
fn table<P: Sync, B: Backend>(
    lab: &Lab,
    (id, scheme): (&str, &str),
    place: &Place<B>,
    sets: &[Set<P>],
    measure: impl Fn(&Column<'_, B>, &P) -> Result<Times> + Sync,
) -> Result<Table>
where
    Place<B>: Sync,
{
    lab.announce(&format!("{scheme}, {}", place.name));
    let id = table_id(id, &place.name);
    let title = format!("{scheme}, {}, one call", place.name);
    let mut table = Table::new(&*id, title, "operation", Unit::Microseconds);
    for set in sets.iter().filter(|_| lab.wants(&id)) {
        let batches = if place.apart && !lab.quick { set.batches } else { &[1] };
        for &batch in batches {
            let many = if batch > 1 { format!(", each of {batch}") } else { String::new() };
            let name = format!("{}{many}", set.name);
            let column = Column { lab, table: &id, name: &name, place, batch };
            let times = place.on(|| measure(&column, &set.params))?;
            if table.columns.is_empty() {
                table = table.categories(times.iter().map(|(row, _)| row));
            }
            table.measured(&name, times.into_iter().map(|(_, time)| time));
        }
    }
    Ok(table)
}

/// One table per scheme and place, whose columns are parameters.
///
/// # Errors
/// A device fails; the errors of `show`.
pub fn tables(lab: &Lab, show: &mut Show<'_>) -> Result<()> {
    let ckks_sets = presets(
        lab,
        &[
            ckks::presets::ckks_n12_d1,
            ckks::presets::ckks_n13_d3,
            ckks::presets::ckks_n14_d7,
            ckks::presets::ckks_n15_d14,
            ckks::presets::ckks_n16_d28,
        ],
    )?;
    let bfv_sets = presets(
        lab,
        &[
            bfv::presets::bfv_n12_d1,
            bfv::presets::bfv_n13_d4,
            bfv::presets::bfv_n14_d11,
            bfv::presets::bfv_n15_d21,
        ],
    )?;
    let bgv_sets = presets(
        lab,
        &[
            bgv::presets::bgv_n12_d1,
            bgv::presets::bgv_n13_d3,
            bgv::presets::bgv_n14_d8,
            bgv::presets::bgv_n15_d16,
        ],
    )?;
    let depths = if lab.quick { &[100][..] } else { &[100, 300, 600] };
    let big_set = |&bits: &u32| -> Result<Set<BigCkksParams>> {
        let params = BigCkksParams::for_depth_bits(bits).build()?;
        let name = format!("2^{}, log q = {}", params.ring().log_n(), params.log_q());
        Ok(Set { name, params, batches: &[1] })
    };
    let big_sets: Vec<_> = depths.iter().map(big_set).collect::<Result<_>>()?;
    let [ckks_id, bfv_id, bgv_id, bigckks_id, ckks_chains, bfv_chains, bgv_chains] = TABLES;
    on_places!(lab, place => show(table(lab, (ckks_id, "CKKS"), place, &ckks_sets, ckks)?)?);
    on_places!(lab, place => show(table(lab, (bfv_id, "BFV, t = 65537"), place, &bfv_sets, exact)?)?);
    on_places!(lab, place => show(table(lab, (bgv_id, "BGV, t = 65537"), place, &bgv_sets, exact)?)?);
    on_places!(lab, place => show(table(lab, (bigckks_id, "CKKS, modulus 2^l"), place, &big_sets, big)?)?);
    if lab.quick {
        return Ok(());
    }
    on_places!(lab, place => {
        let peers = if place.apart { chains::on_gpus() } else { chains::on_cpus() };
        let sets = peers.iter().map(|chain| {
            let params = chain.params()?;
            Ok(Set::new(widths(params.ring()), params))
        });
        let sets: Vec<_> = sets.collect::<Result<_>>()?;
        show(table(lab, (ckks_chains, "CKKS, chains of peers"), place, &sets, ckks)?)?;
    });
    on_places!(lab, place => {
        let sets = exact_chains::<Bfv>()?;
        show(table(lab, (bfv_chains, "BFV, t = 65537, chains of peers"), place, &sets, exact)?)?;
    });
    on_places!(lab, place => {
        let sets = exact_chains::<Bgv>()?;
        show(table(lab, (bgv_chains, "BGV, t = 65537, chains of peers"), place, &sets, exact)?)?;
    });
    Ok(())
}

fn exact_chains<S: Scheme>() -> Result<Vec<Set<Params<S>>>> {
    let set = |chain: &chains::ExactChain| {
        let params = chains::exact_params::<S>(chain)?;
        Ok(Set::new(widths(params.ring()), params))
    };
    [chains::exact_on_cpus(), chains::exact_on_gpus()].concat().iter().map(set).collect()
}
