//! Private set intersection: the time and the bytes of both rounds.

use super::bootstrap::{Effort, least};
use super::keys::rng;
use super::measure::{Lab, Place};
use super::report::{Show, Table, Unit, Value};
use crate::error::{Error, Result};
use he_core::backend::RingOps;
use he_core::ring::Ring;
use he_core::rlwe::SecretKey;
use he_psi::{Answer, Client, Items, Params, Plan, Query, Server, ServerKey};
use rand::RngExt;
use std::time::{Duration, Instant};

/// Items of the server and of the client, and bytes of labels.
pub const USUAL: [[u64; 3]; 2] = [[1_000_000, 1000, 0], [1_000_000, 1000, 16]];
/// The same for a quick look.
pub const QUICK: [[u64; 3]; 1] = [[10_000, 100, 16]];

const ID: &str = "sets";

/// The names of the tables.
pub fn names() -> Vec<String> {
    vec![ID.to_owned()]
}

/// One row.
struct Measured {
    prepared: Duration,
    /// The times of each run: answer, response, query, reading.
    calls: Vec<[Duration; 4]>,
    /// The query with its key, and the answer.
    bytes: [usize; 2],
    bundles: usize,
}

impl Measured {
    fn least(&self, step: usize) -> Duration {
        least(&self.calls.iter().map(|call| call[step]).collect::<Vec<_>>())
    }
}

/// The table of the device that was chosen: the GPU, or all threads of the CPU.
///
/// # Errors
/// The device fails; a result is wrong; the errors of `show`.
pub fn tables(lab: &Lab, sizes: &[[u64; 3]], effort: Effort, show: &mut Show<'_>) -> Result<()> {
    let mut rows = Vec::new();
    for sizes in sizes {
        lab.announce(&format!("sets of {} and {} items", sizes[0], sizes[1]));
        rows.push(match &lab.gpu {
            Some(gpu) => measure(gpu, *sizes, effort)?,
            None => measure(&lab.threads, *sizes, effort)?,
        });
    }
    let device = lab.gpu.as_ref().map_or(&lab.threads.name, |gpu| &gpu.name);
    let name =
        |[server, client, label]: &[u64; 3]| format!("{server} with {client}, labels of {label} bytes");
    let title = "Sets in common, one query";
    let mut table = Table::new(ID, title, "items", Unit::Seconds).categories(sizes.iter().map(name));
    let value = |time: Duration| Value::Number(time.as_secs_f64());
    let mut column = |name: &str, times: &dyn Fn(&Measured) -> Duration| {
        table.measured(&format!("{device}, {name}"), rows.iter().map(|row| value(times(row))));
    };
    for (step, name) in ["answer", "response", "query", "reading"].into_iter().enumerate() {
        column(name, &|row| row.least(step));
    }
    column("preparation", &|row| row.prepared);
    let mut remark =
        |name: &str, text: &dyn Fn(&Measured) -> String| table.remark(name, rows.iter().map(text));
    remark("query, KB", &|row| (row.bytes[0] / 1000).to_string());
    remark("answer, KB", &|row| (row.bytes[1] / 1000).to_string());
    remark("bundles", &|row| row.bundles.to_string());
    table.note(format!("half of the client's items are in the set; runs: {}", effort.runs));
    show(table)
}

fn measure<B: RingOps>(place: &Place<B>, sizes: [u64; 3], effort: Effort) -> Result<Measured>
where
    Place<B>: Sync,
{
    place.on(|| runs(&place.backend, sizes, effort))
}

/// A call and its time on an idle device.
fn timed<B: RingOps, T>(device: &B, call: impl FnOnce() -> Result<T>) -> Result<(Duration, T)> {
    device.synchronize()?;
    let begin = Instant::now();
    let made = call()?;
    device.synchronize()?;
    Ok((begin.elapsed().max(Duration::from_nanos(1)), made))
}

/// Both parties, with the server's set prepared.
struct Parties<B: RingOps> {
    sizes: [u64; 3],
    params: Params,
    ring: Ring<B>,
    server: Server<B>,
    secret: SecretKey,
    client: Client<B>,
}

impl<B: RingOps> Parties<B> {
    /// Makes them, and the time of the preparation.
    fn new(device: &B, sizes: [u64; 3]) -> Result<(Duration, Self)> {
        let rng = &mut rng();
        let params = Plan::new(sizes[0], sizes[1]).labels(sizes[2]).params()?;
        let ring = Ring::new(device.clone(), params.bfv().rlwe().ring().clone())?;
        let mut server = Server::new(&params, ServerKey::generate(rng), &ring)?;
        let set: Vec<[u8; 8]> = (0..sizes[0]).map(u64::to_le_bytes).collect();
        let label = |item: &[u8; 8]| item.iter().copied().cycle().take(sizes[2] as usize).collect();
        let labels: Vec<Vec<u8>> = if sizes[2] == 0 { Vec::new() } else { set.iter().map(label).collect() };
        let (prepared, ()) = timed(device, || Ok(server.append(&set, &labels, rng)?))?;
        let secret = SecretKey::generate(params.bfv().rlwe(), rng);
        let client = Client::new(&params, &secret, &ring)?;
        Ok((prepared, Self { sizes, params, ring, server, secret, client }))
    }

    /// Both rounds, with half of the client's items in the set.
    fn run(&self, device: &B, row: &mut Measured) -> Result<()> {
        let (rng, params, ring) = (&mut rng(), &self.params, &self.ring);
        let [server, client, _] = self.sizes;
        let common = (client / 2).min(server);
        let asked: Vec<[u8; 8]> = (server - common..server - common + client).map(u64::to_le_bytes).collect();
        let items = Items::new(params, &asked, rng.random())?;
        let (response, received) = timed(device, || Ok(self.server.respond(&items.request(params))?))?;
        let (query, (placed, sent)) = timed(device, || {
            let placed = items.placed(params, &received)?;
            let sent = self.client.query(&placed, &self.secret, rng)?.to_bytes(params)?;
            Ok((placed, sent))
        })?;
        let (answer, back) = timed(device, || {
            Ok(self.server.answer(Query::from_bytes(params, ring, &sent)?)?.to_bytes(params)?)
        })?;
        let read = || Ok(self.client.read(&placed, &Answer::from_bytes(params, ring, &back)?)?);
        let (reading, matches) = timed(device, read)?;
        if matches.len() as u64 != common {
            return Err(Error::WrongResult { what: format!("{} of {common} matches", matches.len()) });
        }
        row.calls.push([answer, response, query, reading]);
        row.bytes = [sent.len(), back.len()];
        Ok(())
    }
}

fn runs<B: RingOps>(device: &B, sizes: [u64; 3], effort: Effort) -> Result<Measured> {
    let (prepared, parties) = Parties::new(device, sizes)?;
    let bundles = parties.server.bundles();
    let mut row = Measured { prepared, calls: Vec::new(), bytes: [0; 2], bundles };
    (0..effort.runs).try_for_each(|_| parties.run(device, &mut row))?;
    Ok(row)
}
