//! Private look-up: scans of a database for one query and for many.

use super::keys::rng;
use super::measure::{Lab, Lazy, Place, on_places};
use super::report::{Show, Table, Unit, Value};
use crate::error::Result;
use he_core::backend::{Cpu, RingOps};
use he_core::ring::Ring;
use he_lookup::{Client, ClientKey, Description, Facts, Plan, Query, Received, Server};

const SCANS: &str = "pir";

/// The names of the tables.
pub fn names() -> Vec<String> {
    vec![SCANS.to_owned()]
}

/// The queries of a scan.
const QUERIES: [usize; 3] = [1, 16, 64];
/// The bytes of a record.
const RECORD_BYTES: usize = 256;

/// log2 of the number of records: 1 GB, and 32 GB on a GPU.
fn log_records<B>(lab: &Lab, place: &Place<B>) -> u32 {
    match (lab.quick, place.apart) {
        (true, _) => 10,
        (false, false) => 22,
        (false, true) => 27,
    }
}

/// A database of samples on a device, and queries.
struct Database<B: RingOps> {
    server: Server<B>,
    queries: Vec<Query>,
    received: Vec<Received<B>>,
}

impl<B: RingOps> Database<B> {
    fn new(backend: &B, log_records: u32, count: usize) -> Result<Self> {
        let (records, rng) = (1 << log_records, &mut rng());
        let empty = Description::new(&Plan::index(records, RECORD_BYTES), [1; 32])?;
        let params = empty.params();
        let description = empty.next(records, &vec![[0; 32]; params.packs()]);
        let ring = |spec| Ring::new(Cpu::new(), spec);
        let client =
            Client::new(&description, ClientKey::generate(rng), &ring(params.rlwe().ring().clone())?)?;
        let asked = (0..count as u64).map(|i| client.query(i * 7919 % records, rng));
        let queries = asked.collect::<he_lookup::Result<Vec<_>>>()?;
        let ring = Ring::new(backend.clone(), params.rlwe().ring().clone())?;
        let server = Server::sampled(&description, &ring, count)?;
        let received = queries.iter().map(|query| server.receive(query));
        let received = received.collect::<he_lookup::Result<Vec<_>>>()?;
        Ok(Self { server, queries, received })
    }
}

/// The seconds of scans, and of whole answers: with queries and answers on the host.
fn measure<B: RingOps>(lab: &Lab, place: &Place<B>, column: &str) -> Result<[Vec<Value>; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    for count in QUERIES {
        let made = Lazy::new(|| Database::new(&place.backend, log_records(lab, place), count));
        let scan = || made.get().and_then(|made| Ok(made.server.scan(&made.received)?));
        let id = super::measure::Id::new(SCANS, column, count);
        times[0].push(lab.time(&id, &place.backend, scan)?);
        let whole = || made.get().and_then(|made| Ok(made.server.answer(&made.queries)?));
        let id = super::measure::Id::new(SCANS, &format!("{column}, whole"), count);
        times[1].push(lab.time(&id, &place.backend, whole)?);
    }
    Ok(times)
}

/// Scans by the number of queries, and whole answers.
///
/// # Errors
/// A device fails; the errors of `show`.
pub fn tables(lab: &Lab, show: &mut Show<'_>) -> Result<()> {
    lab.announce("private look-up");
    let title = "Private look-up, one scan for all queries";
    let mut table = Table::new(SCANS, title, "queries", Unit::Milliseconds).categories(QUERIES);
    on_places!(lab, place => {
        let records = 1u64 << log_records(lab, place);
        let column = format!("{}, {records} records", place.name);
        let [scans, whole] = place.on(|| measure(lab, place, &column))?;
        table.measured(&column, scans);
        table.measured(&format!("{column}, whole"), whole);
        let facts = Facts::of(&Plan::index(records, RECORD_BYTES).params()?);
        let [bytes, query, answer] = [facts.matrix_bytes + facts.digit_bytes, facts.query_bytes, facts.answer_bytes];
        table.note(format!("{records} records of {RECORD_BYTES} bytes: {bytes} bytes are read, query {query}, answer {answer}"));
    });
    show(table)
}
