//! The states of uploads: in memory while somebody writes, and of the last few afterwards. No file
//! stays open between requests. A forgotten state is read again from the staged bytes.

use crate::db::Kind;
use crate::store::append_to;
use he_files::scan::{Scan, Scanned};
use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The name of an upload in errors.
pub const NAME: &str = "the upload";

/// States that are kept between requests, and the bytes that they hold back: in all, and of an
/// account.
const KEPT: Share = Share { states: 256, bytes: 64 << 20 };
const OF_ACCOUNT: Share = Share { states: 64, bytes: 16 << 20 };

/// The progress of an upload.
pub struct Arriving {
    /// The scan of the bytes so far.
    pub scan: Scan,
    /// The bytes that are staged.
    stored: u64,
}

impl Arriving {
    /// From what is staged.
    ///
    /// # Errors
    /// The disk fails; what is staged is not valid.
    pub fn open(path: &Path, kind: Kind) -> he_files::Result<Self> {
        let scanned = match kind {
            Kind::KeySet => Scanned::EvaluationKeys,
            // Nobody uploads an index, only the files of its segments.
            Kind::Object | Kind::Index => Scanned::Encrypted,
        };
        let mut scan = Scan::new(NAME, scanned);
        let at = |error| he_files::Error::io(error, "read", NAME);
        let mut file = append_to(path).map_err(at)?;
        let stored = file.metadata().map_err(at)?.len();
        file.seek(SeekFrom::Start(0)).map_err(at)?;
        let (mut buffer, mut position) = (vec![0; 1 << 16], 0);
        while position < stored {
            let over = scan.indifferent().min(stored - position);
            if over > 0 {
                scan.pass_over(over);
                position = file.seek(SeekFrom::Start(position + over)).map_err(at)?;
                continue;
            }
            let count = file.read(&mut buffer).map_err(at)?;
            scan.push(&buffer[..count], |_| {})?;
            position += count as u64;
            if count == 0 {
                break;
            }
        }
        // If a header was cut off, the staged bytes of it are not held.
        let held = scan.held();
        if held > 0 {
            file.set_len(stored - held).map_err(at)?;
            return Self::open(path, kind);
        }
        Ok(Self { scan, stored })
    }

    /// The bytes that were accepted.
    pub fn offset(&self) -> u64 {
        self.stored + self.scan.held()
    }

    /// Stages what the scan has passed on. If that fails, nothing of it is staged.
    ///
    /// # Errors
    /// The disk fails.
    pub fn write(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut file = append_to(path)?;
        if file.metadata()?.len() != self.stored {
            return Err(io::Error::other("a staged file has changed"));
        }
        if let Err(error) = file.write_all(bytes) {
            file.set_len(self.stored)?;
            return Err(error);
        }
        self.stored += bytes.len() as u64;
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Share {
    states: usize,
    bytes: u64,
}

struct Kept {
    arriving: Arriving,
    account: String,
    used: u64,
}

#[derive(Default)]
struct State {
    busy: HashSet<String>,
    kept: HashMap<String, Kept>,
    clock: u64,
}

impl State {
    fn share(&self, account: Option<&str>) -> Share {
        let kept = self.kept.values().filter(|kept| account.is_none_or(|account| kept.account == account));
        kept.fold(Share::default(), |share, kept| Share {
            states: share.states + 1,
            bytes: share.bytes + kept.arriving.scan.held(),
        })
    }

    /// Forgets what was used the longest ago, until no more is kept.
    fn keep_within(&mut self, most: Share, account: Option<&str>) {
        loop {
            let share = self.share(account);
            if share.states <= most.states && share.bytes <= most.bytes {
                return;
            }
            let of =
                self.kept.iter().filter(|(_, kept)| account.is_none_or(|account| kept.account == account));
            let oldest = of.min_by_key(|(_, kept)| kept.used).map(|(id, _)| id.clone());
            oldest.map(|id| self.kept.remove(&id));
        }
    }
}

/// The states of uploads.
#[derive(Default)]
pub struct States(Mutex<State>);

impl States {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps others from an upload until what is returned is dropped, unless others have it.
    pub fn take(&self, id: &str, account: &str) -> Option<Hold<'_>> {
        let mut state = self.state();
        if !state.busy.insert(id.to_owned()) {
            return None;
        }
        let arriving = state.kept.remove(id).map(|kept| kept.arriving);
        Some(Hold { states: self, id: id.to_owned(), account: account.to_owned(), arriving })
    }

    /// The uploads that somebody writes to, or whose states are kept.
    pub fn count(&self) -> usize {
        let state = self.state();
        state.busy.len() + state.kept.len()
    }
}

/// An upload that others must leave alone. Its state is kept afterwards, unless it was taken out.
pub struct Hold<'a> {
    states: &'a States,
    id: String,
    account: String,
    /// The progress of the upload, if that is known.
    pub arriving: Option<Arriving>,
}

impl Hold<'_> {
    /// The account of its tenant.
    pub fn account(&self) -> &str {
        &self.account
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let mut state = self.states.state();
        state.busy.remove(&self.id);
        let Some(arriving) = self.arriving.take() else { return };
        state.clock += 1;
        let (account, used) = (self.account.clone(), state.clock);
        state.kept.insert(self.id.clone(), Kept { arriving, account, used });
        state.keep_within(OF_ACCOUNT, Some(&self.account));
        state.keep_within(KEPT, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arriving(held: usize) -> Arriving {
        let mut scan = Scan::new(NAME, Scanned::Encrypted);
        scan.push(&b"HEWF"[..held.min(4)], |_| panic!("it is not known yet")).unwrap();
        Arriving { scan, stored: 0 }
    }

    #[test]
    fn states_are_bounded_per_account_and_in_all() {
        let states = States::default();
        let keep = |account: &str, id: &str| states.take(id, account).unwrap().arriving = Some(arriving(1));
        let knows = |id: &str| states.take(id, "other").unwrap().arriving.is_some();
        keep("b", "first");
        for i in 0..OF_ACCOUNT.states + 5 {
            keep("a", &format!("a{i}"));
        }
        assert_eq!(states.count(), OF_ACCOUNT.states + 1);
        assert!(!knows("a4") && knows("a5"));
        for i in 0..2 * KEPT.states {
            keep(&format!("account {i}"), &format!("{i}"));
        }
        assert_eq!(states.count(), KEPT.states);
        assert!(!knows("first"));
        assert_eq!(states.state().share(None).bytes, KEPT.states as u64);
    }

    #[test]
    fn one_writes_at_a_time() {
        let states = States::default();
        let hold = states.take("1", "a").unwrap();
        assert!(states.take("1", "a").is_none() && states.take("2", "a").is_some());
        drop(hold);
        assert!(states.take("1", "a").is_some());
        assert_eq!(states.count(), 0);
    }
}
