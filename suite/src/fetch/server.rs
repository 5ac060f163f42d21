//! The server: everything that it has is public or encrypted.

use super::instance::Instance;
use super::ring;
use crate::device::device;
use crate::error::Error;
use crate::frames::{Reader, Writer};
use crate::progress::Progress;
use crate::report::Report;
use he::Device;
use he::backend::Backend as _;
use he::ckks::{Ciphertext, Evaluator, SeededCiphertext};
use he::ring::Ring;
use he::rlwe::EvaluationKeys;
use he::wire::{Frame, FrameKind, Wire as _, WireParams as _};
use he_search::{Answer, Index, Occupancy, Params, Search, Segment};

/// The ciphertexts that a file of the client has to have.
const PRESCRIBED: &str = "those of the instance";

/// The kind of the client's ciphertexts.
const KIND: FrameKind = FrameKind::CkksSeededCiphertext;

/// Keys and the whole database on the device.
pub(super) struct Server {
    ring: Ring<Device>,
    keys: EvaluationKeys<Device>,
    ev: Evaluator<Device>,
    index: Index<Device>,
}

impl Server {
    /// Loads keys and database of the client, and expands the seeds of its ciphertexts.
    pub(super) fn new(instance: &Instance) -> Result<Self, Error> {
        let params = &instance.params;
        let ring = ring(params, device()?)?;
        let ev = Evaluator::new(params.ckks(), &ring)?;
        let keys = instance.folders.keys().evaluation(params.ckks(), &ring, params.facts().key_bytes)?;
        let index = load(instance, &ring, &ev)?;
        Self::with_index(instance, ring, keys, ev, index)
    }

    /// Answers by a database that is on the device already.
    pub(super) fn with_index(
        instance: &Instance,
        ring: Ring<Device>,
        keys: EvaluationKeys<Device>,
        ev: Evaluator<Device>,
        index: Index<Device>,
    ) -> Result<Self, Error> {
        let server = Self { ring, keys, ev, index };
        server.rehearse(instance)?;
        Ok(server)
    }

    /// Answers a ciphertext of the database, so that the first query finds kernels loaded, tables
    /// made and memory pooled.
    fn rehearse(&self, instance: &Instance) -> Result<(), Error> {
        let query = self.index.segments().first().and_then(|segment| segment.columns.first());
        let search = query.map(|query| self.expanded(&instance.params, query)).transpose()?;
        search.map_or(Ok(()), |search| self.compared(&search, instance.count_only).map(drop))
    }

    /// Answers the query of the client, and writes the times of the steps.
    pub(super) fn answer(&self, instance: &Instance) -> Result<(), Error> {
        let (Instance { folders, params, count_only, .. }, mut report) = (instance, Report::default());
        let query = report.time("Loading of the query", || self.query(instance))?;
        let search = report.time("Expansion of the query", || self.expanded(params, &query))?;
        let step = if *count_only { "Scores, threshold, sum" } else { "Scores, threshold, payloads" };
        let answer = report.time(step, || self.compared(&search, *count_only))?;
        report.time("Writing of the answer", || {
            let mut writer = Writer::create(&folders.answer(), params.ckks())?;
            let mut all = answer.ciphertexts().into_iter();
            all.try_for_each(|ct| writer.write(&ct.to_frame(params.ckks())?))?;
            writer.finish()
        })?;
        report.write(&folders.io())
    }

    fn query(&self, instance: &Instance) -> Result<Ciphertext<Device>, Error> {
        let params = &instance.params;
        let mut reader = Reader::open(&instance.folders.query(), params.ckks())?;
        let query = ciphertexts(&mut reader, params, &self.ring, 1)?;
        end(reader, params)?;
        self.ring.backend().synchronize()?;
        let query = query.into_iter().next();
        query.ok_or_else(|| Error::count(&instance.folders.query(), "no ciphertext", PRESCRIBED))
    }

    /// The query as the constants that the database is multiplied by.
    pub(super) fn expanded(
        &self,
        params: &Params,
        query: &Ciphertext<Device>,
    ) -> Result<Search<'_, Device>, Error> {
        let search = Search::new(params, &self.ev, query, &self.keys)?;
        self.ring.backend().synchronize()?;
        Ok(search)
    }

    /// The answer of the whole database.
    pub(super) fn compared(
        &self,
        search: &Search<'_, Device>,
        count_only: bool,
    ) -> Result<Answer<Device>, Error> {
        let answer = if count_only { search.count_all(&self.index) } else { search.fetch_all(&self.index) }?;
        self.ring.backend().synchronize()?;
        Ok(answer)
    }
}

/// The database, segment by segment.
fn load(instance: &Instance, ring: &Ring<Device>, ev: &Evaluator<Device>) -> Result<Index<Device>, Error> {
    let params = &instance.params;
    let mut reader = Reader::open(&instance.folders.database(), params.ckks())?;
    let mut index = Index::new(params);
    let mut progress = Progress::new("loaded segments", params.segments() as u64);
    for (done, records) in instance.segments().enumerate() {
        let mut all = |count| ciphertexts(&mut reader, params, ring, count);
        let (columns, payload) = (all(params.columns())?, all(params.payload_ciphertexts())?);
        let occupancy = Occupancy::new(params, 0, records)?;
        index.append(Segment { occupancy, columns, payload }, ev)?;
        progress.tell(done as u64 + 1);
    }
    end(reader, params)?;
    Ok(index)
}

/// The next ciphertexts of a client, so many, with both of their parts.
fn ciphertexts(
    reader: &mut Reader,
    params: &Params,
    ring: &Ring<Device>,
    count: usize,
) -> Result<Vec<Ciphertext<Device>>, Error> {
    let decode = |frame: &Frame| SeededCiphertext::from_frame(params.ckks(), ring, frame)?.expand();
    let found = reader.objects(KIND, params.ckks().ciphertext_frame_limit(1), count, decode)?;
    match found.len() == count {
        true => Ok(found),
        false => Err(reader.count("too few ciphertexts", PRESCRIBED)),
    }
}

/// Checks that nothing follows.
fn end(mut reader: Reader, params: &Params) -> Result<(), Error> {
    match reader.next(KIND, params.ckks().ciphertext_frame_limit(1))? {
        None => Ok(()),
        Some(_) => Err(reader.count("too many ciphertexts", PRESCRIBED)),
    }
}
