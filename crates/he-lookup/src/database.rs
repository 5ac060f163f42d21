//! A database in memory: prepared from records, appended and updated.

use crate::description::Description;
use crate::error::{Error, Result};
use crate::pack::{Pack, Preparer, check_count};
use crate::places::{Place, order};
use crate::plan::{FINGERPRINT, Params, Plan};
use crate::rows::Rows;
use he_core::backend::RingOps;
use he_core::ring::Ring;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The seeds that are tried until the keys of all shelves find their places.
const ATTEMPTS: u32 = 64;

/// A prepared database. Databases of equal plans, seeds and records have the same packs, however
/// they came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Database {
    description: Description,
    packs: Vec<Pack>,
}

impl Database {
    /// Prepares a database of records that are looked up by their numbers, from 0 on.
    ///
    /// # Errors
    /// [`Error::RecordBytes`]; [`Error::Full`]; [`Error::Way`] for a plan of keys; [`Error::Range`]
    /// for a plan out of range; device errors.
    pub fn of_records<B: RingOps>(
        plan: &Plan,
        seed: [u8; 32],
        records: &[impl AsRef<[u8]>],
        ring: &Ring<B>,
    ) -> Result<Self> {
        let description = Description::new(plan, seed)?;
        let params = description.params();
        let mut rows: Vec<Rows> = (0..params.packs()).map(|pack| Rows::empty(params, pack)).collect();
        for (number, record) in (0u64..).zip(records) {
            put(params, &mut rows, number, record.as_ref())?;
        }
        Self::prepare(description, records.len() as u64, rows, ring)
    }

    /// Prepares a database of values that are looked up by their keys. Other values need another
    /// database, whose queries are those of a new version.
    ///
    /// # Errors
    /// [`Error::RecordBytes`]; [`Error::Full`]; [`Error::SameKey`]; [`Error::Way`] for a plan of
    /// numbers; [`Error::Arrangement`]; [`Error::Range`] for a plan out of range; device errors.
    pub fn of_entries<B: RingOps>(
        plan: &Plan,
        seed: [u8; 32],
        entries: &[(impl AsRef<[u8]>, impl AsRef<[u8]>)],
        ring: &Ring<B>,
    ) -> Result<Self> {
        let (description, rows) = arrange(plan, seed, entries)?;
        Self::prepare(description, entries.len() as u64, rows, ring)
    }

    /// A database of packs that were prepared before, of which all are checked.
    ///
    /// # Errors
    /// [`Error::Damaged`] if packs are missing, or their rows are not those of the digest.
    pub fn from_packs(description: Description, packs: Vec<Pack>) -> Result<Self> {
        check_count(description.params(), packs.len())?;
        let found = described(&description, description.records(), packs.iter().map(Pack::rows));
        if found.digest() != description.digest() {
            let why = "its records are not those of the digest in its description".to_owned();
            return Err(Error::Damaged { what: "database", why });
        }
        Ok(Self { description, packs })
    }

    fn prepare<B: RingOps>(
        description: Description,
        records: u64,
        rows: Vec<Rows>,
        ring: &Ring<B>,
    ) -> Result<Self> {
        let preparer = Preparer::new(&description, ring)?;
        let packs = rows.into_iter().map(|rows| preparer.pack(rows)).collect::<Result<Vec<_>>>()?;
        let description = described(&description, records, packs.iter().map(Pack::rows));
        Ok(Self { description, packs })
    }

    /// The description of this version.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The packs.
    pub fn packs(&self) -> &[Pack] {
        &self.packs
    }

    /// Appends records, and returns the numbers of the packs that changed. Nothing changes on an
    /// error.
    ///
    /// # Errors
    /// [`Error::RecordBytes`]; [`Error::Full`]; [`Error::Way`] if records are looked up by keys;
    /// device errors.
    pub fn append<B: RingOps>(&mut self, records: &[impl AsRef<[u8]>], ring: &Ring<B>) -> Result<Vec<usize>> {
        let numbered: Vec<_> = (self.description.records()..).zip(records).collect();
        let count = self.description.records() + records.len() as u64;
        self.change(&numbered, count, ring)
    }

    /// Overwrites records by their numbers, and returns the numbers of the packs that changed.
    /// Nothing changes on an error.
    ///
    /// # Errors
    /// [`Error::NoRecord`]; [`Error::RecordBytes`]; [`Error::Way`] if records are looked up by
    /// keys; device errors.
    pub fn update<B: RingOps>(
        &mut self,
        records: &[(u64, impl AsRef<[u8]>)],
        ring: &Ring<B>,
    ) -> Result<Vec<usize>> {
        let count = self.description.records();
        if let Some(&(found, _)) = records.iter().find(|(number, _)| *number >= count) {
            return Err(Error::NoRecord { found, records: count });
        }
        let numbered: Vec<_> = records.iter().map(|(number, record)| (*number, record)).collect();
        self.change(&numbered, count, ring)
    }

    fn change<B: RingOps>(
        &mut self,
        records: &[(u64, &impl AsRef<[u8]>)],
        count: u64,
        ring: &Ring<B>,
    ) -> Result<Vec<usize>> {
        let params = self.description.params();
        let mut changed: BTreeMap<usize, Rows> = BTreeMap::new();
        for (number, record) in records {
            let planned = params.plan().records;
            if *number >= planned {
                return Err(Error::Full { found: count, planned });
            }
            for pack in params.packs_of(params.place(*number).0) {
                let rows = changed.entry(pack).or_insert_with(|| self.packs[pack].rows().clone());
                rows.put(params, *number, record.as_ref())?;
            }
        }
        let preparer = Preparer::new(&self.description, ring)?;
        let prepared = changed.into_values().map(|rows| preparer.pack(rows)).collect::<Result<Vec<_>>>()?;
        let numbers: Vec<usize> = prepared.iter().map(|pack| pack.rows().pack()).collect();
        prepared.into_iter().zip(&numbers).for_each(|(pack, &number)| self.packs[number] = pack);
        self.description = described(&self.description, count, self.packs.iter().map(Pack::rows));
        Ok(numbers)
    }
}

/// The next version with these rows.
fn described<'a>(
    description: &Description,
    records: u64,
    rows: impl Iterator<Item = &'a Rows>,
) -> Description {
    description.next(records, &rows.map(Rows::hash).collect::<Vec<_>>())
}

fn put(params: &Params, rows: &mut [Rows], number: u64, record: &[u8]) -> Result<()> {
    // A number beyond the plan has no packs: the first one refuses it.
    let packs = params.packs_of(params.place(number).0);
    let packs = if number < params.plan().records { packs } else { 0..1 };
    rows[packs].iter_mut().try_for_each(|rows| rows.put(params, number, record))
}

/// The description, without its digest, and the rows of entries.
fn arrange(
    plan: &Plan,
    seed: [u8; 32],
    entries: &[(impl AsRef<[u8]>, impl AsRef<[u8]>)],
) -> Result<(Description, Vec<Rows>)> {
    let description = Description::new(plan, seed)?;
    check_entries(plan, entries)?;
    let params = description.params();
    for attempt in 0..ATTEMPTS {
        let mut shelves: Vec<(Vec<usize>, Vec<Place>)> = vec![Default::default(); params.shelves()];
        for (number, (key, _)) in entries.iter().enumerate() {
            let place = Place::of_key(params, &seed, attempt, key.as_ref());
            shelves[place.shelf].0.push(number);
            shelves[place.shelf].1.push(place);
        }
        let orders = shelves.iter().map(|(_, places)| order(params.columns(), places));
        let Some(orders) = orders.collect::<Option<Vec<_>>>() else { continue };
        let mut rows: Vec<Rows> = (0..params.packs()).map(|pack| Rows::empty(params, pack)).collect();
        for (shelf, ((numbers, places), order)) in shelves.iter().zip(orders).enumerate() {
            let values = |key: usize| entries[numbers[key]].1.as_ref();
            let cells = cells(params, places, &order, values);
            for pack in params.packs_of(shelf) {
                for (column, cell) in cells.chunks_exact(params.cell_bytes()).enumerate() {
                    rows[pack].put_cell(params, shelf, column, cell);
                }
            }
        }
        return Ok((description.arranged(attempt), rows));
    }
    Err(Error::Arrangement { keys: entries.len(), attempts: ATTEMPTS })
}

fn check_entries(plan: &Plan, entries: &[(impl AsRef<[u8]>, impl AsRef<[u8]>)]) -> Result<()> {
    if !plan.by_key {
        return Err(Error::Way { found: plan.way(), needed: "keys" });
    }
    if entries.len() as u64 > plan.records {
        return Err(Error::Full { found: entries.len() as u64, planned: plan.records });
    }
    let mut seen: HashMap<&[u8], usize> = HashMap::new();
    for (second, (key, value)) in entries.iter().enumerate() {
        let (found, expected) = (value.as_ref().len(), plan.record_bytes);
        if found != expected {
            return Err(Error::RecordBytes { record: second as u64, found, expected });
        }
        if let Some(first) = seen.insert(key.as_ref(), second) {
            return Err(Error::SameKey { first, second });
        }
    }
    Ok(())
}

/// The cells of a shelf, one after the other.
fn cells<'a>(
    params: &Params,
    places: &[Place],
    order: &[(usize, usize)],
    value: impl Fn(usize) -> &'a [u8],
) -> Vec<u8> {
    let size = params.cell_bytes();
    let mut cells = vec![0u8; params.columns() * size];
    for &(key, own) in order {
        let mut cell = [&places[key].fingerprint[..], value(key)].concat();
        debug_assert_eq!(cell.len(), FINGERPRINT + params.plan().record_bytes);
        let others: BTreeSet<usize> = places[key].columns.into_iter().filter(|&other| other != own).collect();
        for other in others {
            let there = &cells[other * size..(other + 1) * size];
            cell.iter_mut().zip(there).for_each(|(byte, there)| *byte = byte.wrapping_sub(*there));
        }
        cells[own * size..(own + 1) * size].copy_from_slice(&cell);
    }
    cells
}
