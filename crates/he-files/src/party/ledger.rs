//! The record of a party's acts: the shares of decryptions that it has made, so that it makes none
//! twice and no more than were agreed on; and the tables that it has encrypted, so that it calls no
//! other its own.

use super::Plan;
use super::hex;
use crate::error::{IoContext as _, PartyError, Result};
use he_core::Publisher;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;

/// A party's list, one line per entry: the hash of a run, or of an encrypted table, in 64
/// hexadecimal digits, a space, and the number of vectors that are decrypted, or 0. Whoever has it
/// opened has it alone.
pub struct Ledger {
    file: File,
    name: String,
    entries: BTreeSet<[u8; 32]>,
    spent: u64,
}

impl Ledger {
    /// Opens the list, which is empty if the file does not exist, once no other process has it.
    ///
    /// # Errors
    /// It cannot be read, or holds something else.
    pub fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let mut file = File::options().read(true).append(true).create(true).open(path).at(path)?;
        file.lock().at(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text).at(path)?;
        let (mut entries, mut spent) = (BTreeSet::new(), 0u64);
        for (at, line) in text.split_inclusive('\n').enumerate() {
            let mut entry = || {
                let (hash, count) = line.strip_suffix('\n')?.split_once(' ')?;
                spent = spent.checked_add(count.parse().ok()?)?;
                entries.insert(hex::parse(hash)?).then_some(())
            };
            if entry().is_none() {
                return Err(PartyError::Ledger { name, line: at + 1 }.into());
            }
        }
        Ok(Self { file, name, entries, spent })
    }

    /// The decryptions that were shared.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// A publisher of what is left.
    ///
    /// # Errors
    /// More were shared than were agreed on.
    pub fn publisher(&self, plan: &Plan) -> Result<Publisher> {
        let all = plan.publisher()?;
        let mut left = all;
        left.split(self.spent)?;
        Ok(left)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has an entry.
    pub fn holds(&self, entry: &[u8; 32]) -> bool {
        self.entries.contains(entry)
    }

    /// Whether a run is new.
    ///
    /// # Errors
    /// The party has made its share of it.
    pub fn check(&self, run: &[u8; 32]) -> Result<()> {
        if self.holds(run) {
            return Err(PartyError::Shared { name: self.name.clone() }.into());
        }
        Ok(())
    }

    /// Writes down entries, each with its number of vectors: runs before their shares leave the
    /// party. They have reached the disk afterwards.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record(mut self, entries: &[([u8; 32], u64)]) -> Result<()> {
        let line = |(hash, count): &([u8; 32], u64)| format!("{} {count}\n", hex::text(hash));
        let lines: String = entries.iter().map(line).collect();
        let name = self.name;
        self.file.write_all(lines.as_bytes()).writing(&name)?;
        self.file.sync_all().writing(&name)
    }
}
