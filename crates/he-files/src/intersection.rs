//! Sets in common: the set of a server is a folder, and plans, states and messages are files.
//!
//! The folder has `plan.psi`, which is public and all that clients need; `set.psi`, the key of the
//! server with the values of its items, which only its owner may read; and `prepared.psi`, the
//! polynomials by which queries are answered.

use crate::error::{Error, IntersectionError, Result};
use crate::io::input::Input;
use crate::io::output::{Output, OutputOptions, create_dir};
use he::Device;
use he_core::rand::CryptoRng;
use he_core::ring::Ring;
use he_psi::{Answer, Match, Params, Plan, PreparedSet, Query, Request, Response, Server, ServerKey};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The name of the public plan.
pub const PLAN: &str = "plan.psi";
const SET: &str = "set.psi";
const PREPARED: &str = "prepared.psi";
/// The longest set, list of items or message that is read.
const MAX_BYTES: u64 = 1 << 32;

/// An item, and its label: empty in a set without labels.
pub type Entry = (Zeroizing<Vec<u8>>, Vec<u8>);

/// The items of a text, one on each line; with labels of so many bytes, each line is an item, a tab
/// and a label, which is filled with zeros.
///
/// # Errors
/// A line has no tab, or its label is too long; the text cannot be read.
pub fn entries(input: Input, label_bytes: u64) -> Result<Vec<Entry>> {
    let name = input.name().to_owned();
    let text = Zeroizing::new(input.read_all(MAX_BYTES)?);
    let text = text.strip_suffix(b"\n").unwrap_or(&text);
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let lines = text.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.zip(1..).map(|(text, line)| entry(text, line, label_bytes, &name)).collect()
}

fn entry(text: &[u8], line: usize, bytes: u64, name: &str) -> Result<Entry> {
    let name = || name.to_owned();
    if bytes == 0 {
        return Ok((Zeroizing::new(text.to_vec()), Vec::new()));
    }
    let Some(tab) = text.iter().position(|&byte| byte == b'\t') else {
        return Err(IntersectionError::Entry { name: name(), line }.into());
    };
    let (item, mut label) = (Zeroizing::new(text[..tab].to_vec()), text[tab + 1..].to_vec());
    let (found, limit) = (label.len(), bytes as usize);
    if found > limit {
        return Err(IntersectionError::Label { name: name(), line, found, limit }.into());
    }
    label.resize(limit, 0);
    Ok((item, label))
}

/// The matches as a text: an item on each line, and behind a tab its label, if there are labels,
/// without the zeros that fill it.
pub fn matches(found: &[Match], items: &[&[u8]], params: &Params) -> Zeroizing<Vec<u8>> {
    let mut text = Zeroizing::new(Vec::new());
    for Match { item, label } in found {
        text.extend(items[*item]);
        if params.plan().label_bytes() > 0 {
            let end = label.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            text.push(b'\t');
            text.extend(&label[..end]);
        }
        text.push(b'\n');
    }
    text
}

/// Reads a public plan: a file, or the one in the folder of a set.
///
/// # Errors
/// It is damaged, insecure or out of range, or cannot be read.
pub fn plan(path: &Path) -> Result<Params> {
    let path = if path.is_dir() { path.join(PLAN) } else { path.to_owned() };
    object(Input::open(&path)?, Params::from_bytes)
}

/// The object in a file, whose name is put before its errors.
///
/// # Errors
/// The errors of `read`; the file cannot be read.
pub fn object<T>(input: Input, read: impl FnOnce(&[u8]) -> he_psi::Result<T>) -> Result<T> {
    let name = input.name().to_owned();
    let bytes = Zeroizing::new(input.read_all(MAX_BYTES)?);
    read(&bytes).map_err(|error| Error::from(error).in_file_of(&name))
}

/// The ring of a plan on a device.
///
/// # Errors
/// The device fails.
pub fn ring(params: &Params, device: Device) -> Result<Ring<Device>> {
    Ok(Ring::new(device, params.bfv().rlwe().ring().clone())?)
}

/// The set of a server on disk.
#[derive(Clone, Debug)]
pub struct SetFolder {
    folder: PathBuf,
    params: Params,
}

impl SetFolder {
    /// Makes a set of these items, under a fresh key.
    ///
    /// # Errors
    /// The plan is out of range, or does not fit the items; the folder has a set already, or cannot
    /// be written; the device fails.
    pub fn create(
        folder: &Path,
        plan: &Plan,
        entries: &[Entry],
        device: Device,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let params = plan.params()?;
        let mut server = Server::new(&params, ServerKey::generate(rng), &ring(&params, device)?)?;
        let items: Vec<&[u8]> = entries.iter().map(|(item, _)| item.as_slice()).collect();
        let labelled = if plan.label_bytes() > 0 { entries } else { &[] };
        let labels: Vec<&[u8]> = labelled.iter().map(|(_, label)| label.as_slice()).collect();
        server.append(&items, &labels, rng)?;
        let made = create_dir(folder)?;
        let set = Self { folder: folder.to_owned(), params };
        let secret = OutputOptions { secret: true, ..OutputOptions::default() };
        let files = [
            set.file(SET, secret, &server.to_bytes())?,
            set.file(PREPARED, secret, &server.prepared_bytes())?,
            set.file(PLAN, OutputOptions::default(), &set.params.to_bytes())?,
        ];
        Output::commit_all(files)?;
        made.keep();
        Ok(set)
    }

    fn file(&self, name: &str, options: OutputOptions, bytes: &[u8]) -> Result<Output> {
        Output::create(self.folder.join(name), options, &[])?.holding(bytes)
    }

    /// Reads the plan of a set.
    ///
    /// # Errors
    /// The folder has no set; its plan is damaged.
    pub fn open(folder: &Path) -> Result<Self> {
        if !folder.join(SET).is_file() {
            return Err(IntersectionError::NoSet { name: folder.display().to_string() }.into());
        }
        Ok(Self { folder: folder.to_owned(), params: plan(folder)? })
    }

    /// The parameters of the plan.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Responds to the request of a client. The set is read, but not prepared.
    ///
    /// # Errors
    /// The request is of another plan, or has more items than planned; the set is damaged.
    pub fn respond(&self, request: &Request) -> Result<Response> {
        let set = Input::open(self.folder.join(SET))?;
        let key = object(set, |bytes| ServerKey::of_set(&self.params, bytes))?;
        Ok(key.respond(&self.params, request)?)
    }

    /// Answers a query by the polynomials of the folder. The secret key is not read.
    ///
    /// # Errors
    /// The query is of another plan or of another server; the set is damaged; the device fails.
    pub fn answer(&self, query: Query<Device>, ring: &Ring<Device>) -> Result<Answer<Device>> {
        Ok(self.prepared(ring)?.answer(query)?)
    }

    /// Brings the polynomials to the device of a ring, for any number of queries.
    ///
    /// # Errors
    /// They are damaged, or cannot be read; the device fails.
    pub fn prepared(&self, ring: &Ring<Device>) -> Result<PreparedSet<Device>> {
        let file = Input::open(self.folder.join(PREPARED))?;
        object(file, |bytes| PreparedSet::from_bytes(&self.params, ring, bytes))
    }
}
