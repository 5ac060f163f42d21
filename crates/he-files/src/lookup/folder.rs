//! A database on disk.

use crate::error::{Error, LookupError, Result};
use crate::io::input::{Input, ReadSeek};
use crate::io::output::{Output, OutputOptions, create_dir};
use crate::watch::{Meter, Stage, Watch};
use he::Device;
use he_core::ring::Ring;
use he_lookup::{Answer, Database, Description, Pack, Params, Passage, Plan, Preparer, Query, Rows, Server};
use std::collections::BTreeSet;
use std::io::SeekFrom;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The name of the public description.
pub const DESCRIPTION: &str = "description.lookup";
const LIST: &str = "packs.list";
/// The longest description and the longest list that are read.
const MAX_BYTES: u64 = 1 << 26;
/// The longest file of records.
const MAX_RECORDS: u64 = 1 << 44;

/// A database on disk: its description, and a file for each pack of rows.
#[derive(Clone, Debug)]
pub struct LookupFolder {
    folder: PathBuf,
    description: Description,
    hashes: Vec<[u8; 32]>,
}

/// Reads a public description: a file, or the one in the folder of a database.
///
/// # Errors
/// It is damaged, or cannot be read.
pub fn description(path: &Path) -> Result<Description> {
    let path = if path.is_dir() { path.join(DESCRIPTION) } else { path.to_owned() };
    let bytes = Input::open(&path)?.read_all(MAX_BYTES)?;
    Description::from_bytes(&bytes)
        .map_err(|error| Error::from(error).in_file_of(&path.display().to_string()))
}

/// Records of one size in a file.
struct Records {
    source: Box<dyn ReadSeek>,
    name: String,
    size: usize,
    count: u64,
}

impl Records {
    fn open(input: Input, size: usize) -> Result<Self> {
        let name = input.name().to_owned();
        let mut source = input.into_seekable(MAX_RECORDS)?;
        let found = source.seek(SeekFrom::End(0)).map_err(|error| Error::io(error, "read", &name))?;
        if size == 0 || !found.is_multiple_of(size as u64) {
            return Err(LookupError::Records { name, found, record: size }.into());
        }
        Ok(Self { source, name, size, count: found / size as u64 })
    }

    fn read(&mut self, records: Range<u64>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; (records.end - records.start) as usize * self.size];
        let start = SeekFrom::Start(records.start * self.size as u64);
        let read = self.source.seek(start).and_then(|_| self.source.read_exact(&mut bytes));
        read.map_err(|error| Error::io(error, "read", &self.name))?;
        Ok(bytes)
    }

    /// Puts those that are numbered from `first` on into the rows of a pack.
    fn put(&mut self, params: &Params, rows: &mut Rows, first: u64) -> Result<()> {
        let here = params.records_of(rows.pack());
        let (start, end) = (here.start.max(first), here.end.min(first + self.count));
        if start >= end {
            return Ok(());
        }
        let bytes = self.read(start - first..end - first)?;
        for (number, record) in (start..end).zip(bytes.chunks_exact(self.size)) {
            rows.put(params, number, record)?;
        }
        Ok(())
    }
}

impl LookupFolder {
    fn begin(folder: &Path, description: Description) -> Result<Self> {
        if folder.join(DESCRIPTION).exists() {
            return Err(LookupError::Exists { name: folder.display().to_string() }.into());
        }
        Ok(Self { folder: folder.to_owned(), description, hashes: Vec::new() })
    }

    /// Prepares a database of records that are looked up by their numbers, from a file of nothing
    /// but records.
    ///
    /// # Errors
    /// The plan is out of range, or has another size or fewer records than the file; the folder is
    /// a database already, or cannot be written; the device fails.
    pub fn of_records(
        folder: &Path,
        plan: &Plan,
        seed: [u8; 32],
        input: Input,
        device: Device,
        watch: &dyn Watch,
    ) -> Result<Self> {
        let mut records = Records::open(input, plan.record_bytes)?;
        if records.count > plan.records {
            return Err(he_lookup::Error::Full { found: records.count, planned: plan.records }.into());
        }
        let made = create_dir(folder)?;
        let mut database = Self::begin(folder, Description::new(plan, seed)?)?;
        let params = database.description.params().clone();
        let preparer = Preparer::new(&database.description, &super::ring(&params, device)?)?;
        let meter = Meter::new(watch, Stage::Computing, params.packs() as u64);
        for number in 0..params.packs() {
            let mut rows = Rows::empty(&params, number);
            records.put(&params, &mut rows, 0)?;
            database.hashes.push(rows.hash());
            database.write_pack(&preparer.pack(rows)?)?;
            meter.inc(1);
        }
        meter.finish();
        database.save(records.count)?;
        made.keep();
        Ok(database)
    }

    /// Prepares a database of values that are looked up by their keys.
    ///
    /// # Errors
    /// The plan is out of range, or does not fit the entries; the folder is a database already, or
    /// cannot be written; the device fails.
    pub fn of_entries(
        folder: &Path,
        plan: &Plan,
        seed: [u8; 32],
        entries: &[(Vec<u8>, Vec<u8>)],
        device: Device,
    ) -> Result<Self> {
        let ring = super::ring(&plan.params()?, device)?;
        let database = Database::of_entries(plan, seed, entries, &ring)?;
        let made = create_dir(folder)?;
        let mut written = Self::begin(folder, database.description().clone())?;
        for pack in database.packs() {
            written.hashes.push(pack.rows().hash());
            written.write_pack(pack)?;
        }
        written.save_lists()?;
        made.keep();
        Ok(written)
    }

    /// Reads the description of a database.
    ///
    /// # Errors
    /// The folder is not a database; its description or its list of packs is damaged.
    pub fn open(folder: &Path) -> Result<Self> {
        let name = folder.display().to_string();
        if !folder.join(DESCRIPTION).is_file() {
            return Err(LookupError::NoDatabase { name }.into());
        }
        let description = description(folder)?;
        let list = Input::open(folder.join(LIST))?.read_all(MAX_BYTES)?;
        let (hashes, rest) = list.as_chunks::<32>();
        let is_own = rest.is_empty()
            && hashes.len() == description.params().packs()
            && description.next(description.records(), hashes).digest() == description.digest();
        if !is_own {
            return Err(LookupError::Packs { name }.into());
        }
        Ok(Self { folder: folder.to_owned(), description, hashes: hashes.to_vec() })
    }

    /// The public description.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The name of the folder.
    pub fn name(&self) -> String {
        self.folder.display().to_string()
    }

    fn path(&self, pack: usize) -> PathBuf {
        let short: String = self.hashes[pack][..8].iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{pack:06}-{short}.pack"))
    }

    fn write_pack(&self, pack: &Pack) -> Result<()> {
        let options = OutputOptions { force: true, ..OutputOptions::default() };
        let output = Output::create(self.path(pack.rows().pack()), options, &[])?;
        output.holding(&pack.to_bytes(&self.description))?.commit()
    }

    /// Reads a pack, and checks that its rows are those of the list.
    fn pack(&self, number: usize) -> Result<Pack> {
        let path = self.path(number);
        let bytes = Input::open(&path)?.read_all(Pack::bytes(self.description.params()))?;
        let in_file = |error: he_lookup::Error| Error::from(error).in_file_of(&path.display().to_string());
        let pack = Pack::from_bytes(&self.description, number, &bytes).map_err(in_file)?;
        if pack.rows().hash() != self.hashes[number] {
            return Err(LookupError::Packs { name: self.name() }.into());
        }
        Ok(pack)
    }

    /// Makes the next version, with so many records and these packs.
    fn save(&mut self, records: u64) -> Result<()> {
        self.description = self.description.next(records, &self.hashes);
        self.save_lists()
    }

    fn save_lists(&self) -> Result<()> {
        let options = OutputOptions { force: true, ..OutputOptions::default() };
        let contents =
            [(LIST, self.hashes.as_flattened().to_vec()), (DESCRIPTION, self.description.to_bytes())];
        let outputs = contents
            .into_iter()
            .map(|(name, bytes)| Output::create(self.folder.join(name), options, &[])?.holding(&bytes));
        Output::commit_all(outputs.collect::<Result<Vec<_>>>()?)
    }

    /// Appends the records of a file, and returns how many packs were prepared again.
    ///
    /// # Errors
    /// Records have another size or are more than planned; a file is damaged, or cannot be written;
    /// the device fails.
    pub fn append(&mut self, input: Input, device: Device, watch: &dyn Watch) -> Result<usize> {
        self.change(input, self.description.records(), true, device, watch)
    }

    /// Overwrites records from this number on by those of a file, and returns how many packs were
    /// prepared again.
    ///
    /// # Errors
    /// Records have another size or do not exist; a file is damaged, or cannot be written; the
    /// device fails.
    pub fn update(&mut self, input: Input, first: u64, device: Device, watch: &dyn Watch) -> Result<usize> {
        self.change(input, first, false, device, watch)
    }

    fn change(
        &mut self,
        input: Input,
        first: u64,
        may_grow: bool,
        device: Device,
        watch: &dyn Watch,
    ) -> Result<usize> {
        let params = self.description.params().clone();
        let (plan, present) = (*params.plan(), self.description.records());
        let mut records = Records::open(input, plan.record_bytes)?;
        let end = first.saturating_add(records.count);
        if !may_grow && end > present {
            return Err(he_lookup::Error::NoRecord { found: end.saturating_sub(1), records: present }.into());
        }
        if end > plan.records {
            return Err(he_lookup::Error::Full { found: end, planned: plan.records }.into());
        }
        let has = |pack: &usize| {
            let here = params.records_of(*pack);
            here.start < end && first < here.end
        };
        let changed: Vec<usize> = (0..params.packs()).filter(has).collect();
        let preparer = Preparer::new(&self.description, &super::ring(&params, device)?)?;
        let meter = Meter::new(watch, Stage::Computing, changed.len() as u64);
        let before: BTreeSet<PathBuf> = changed.iter().map(|&pack| self.path(pack)).collect();
        let mut next = self.clone();
        for &number in &changed {
            let mut rows = self.pack(number)?.into_rows();
            records.put(&params, &mut rows, first)?;
            next.hashes[number] = rows.hash();
            next.write_pack(&preparer.pack(rows)?)?;
            meter.inc(1);
        }
        meter.finish();
        next.save(end.max(present))?;
        let after: BTreeSet<PathBuf> = changed.iter().map(|&pack| next.path(pack)).collect();
        // Nothing names these files any more, so that a failure leaves only room taken.
        before.difference(&after).for_each(|path| drop(std::fs::remove_file(path)));
        *self = next;
        Ok(changed.len())
    }

    /// Brings the database to the device of a ring, for scans of at most so many queries each.
    ///
    /// # Errors
    /// A file is damaged or cannot be read; the device fails.
    pub fn server(&self, ring: &Ring<Device>, queries: usize) -> Result<Server<Device>> {
        let mut failed = None;
        let packs = (0..self.hashes.len())
            .map_while(|number| self.pack(number).map_err(|error| failed = Some(error)).ok());
        let server = Server::new(&self.description, ring, packs, queries);
        match failed {
            Some(error) => Err(error),
            None => Ok(server?),
        }
    }

    /// Answers queries by one passage of all packs: memory is bounded by one of them.
    ///
    /// # Errors
    /// A query is for another database or version; a file is damaged; the device fails.
    pub fn answer(&self, queries: &[Query], ring: &Ring<Device>, watch: &dyn Watch) -> Result<Vec<Answer>> {
        let packs = self.description.params().packs();
        let meter = Meter::new(watch, Stage::Computing, packs as u64);
        let mut passage = Passage::new(&self.description, ring, queries)?;
        for pack in 0..packs {
            passage.add(&self.pack(pack)?)?;
            meter.inc(1);
        }
        meter.finish();
        Ok(passage.finish()?)
    }
}
