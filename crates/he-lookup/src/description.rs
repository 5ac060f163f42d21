//! The public description of a database, which clients need to ask.

use crate::error::{Error, Result};
use crate::frame::{self, Kind, Reader};
use crate::identity::{Identity, hash};
use crate::plan::{Params, Plan};

/// The public description of a version of a database: its plan, the seed of everything that is
/// uniform and public, and a digest of its records.
///
/// ```
/// use he_lookup::{Description, Plan};
/// # fn main() -> he_lookup::Result<()> {
/// let empty = Description::new(&Plan::index(1000, 32), [7; 32])?;
/// assert_eq!(Description::from_bytes(&empty.to_bytes())?, empty);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    params: Params,
    seed: [u8; 32],
    records: u64,
    attempt: u32,
    version: u64,
    digest: [u8; 32],
}

impl Description {
    /// A database without records. The seed may be any that nobody chose to weaken queries: a
    /// random one, or a hash of the name of the database.
    ///
    /// # Errors
    /// [`Error::Range`] for a plan out of range.
    pub fn new(plan: &Plan, seed: [u8; 32]) -> Result<Self> {
        let params = plan.params()?;
        Ok(Self { params, seed, records: 0, attempt: 0, version: 0, digest: [0; 32] })
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The public seed.
    pub fn seed(&self) -> &[u8; 32] {
        &self.seed
    }

    /// The number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The number of changes since the first version.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The hash of all packs of rows: whoever has the records can compute it. An answer cannot be
    /// checked against it, because a proof would be larger than the answer.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// The number of the seed under which the keys found their places.
    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Another version with these records and these hashes of the packs of its rows.
    pub fn next(&self, records: u64, packs: &[[u8; 32]]) -> Self {
        let digest = hash("he-lookup 2026 digest", &[&records.to_le_bytes(), packs.as_flattened()]);
        Self { params: self.params.clone(), records, version: self.version + 1, digest, ..*self }
    }

    pub(crate) fn arranged(self, attempt: u32) -> Self {
        Self { attempt, ..self }
    }

    /// The identity of this version.
    pub fn identity(&self) -> Identity {
        let mut identity = [0; 16];
        identity.copy_from_slice(&hash("he-lookup 2026 identity", &[&self.fields()])[..16]);
        Identity(identity)
    }

    /// Checks that an object is for this version.
    ///
    /// # Errors
    /// [`Error::OtherDatabase`].
    pub(crate) fn check(&self, what: &'static str, found: Identity) -> Result<()> {
        let own = self.identity();
        if own == found {
            return Ok(());
        }
        Err(Error::OtherDatabase { what, found: found.to_string(), expected: own.to_string() })
    }

    fn fields(&self) -> Vec<u8> {
        let plan = self.params.plan();
        let mut fields = Vec::new();
        fields.extend(plan.records.to_le_bytes());
        fields.extend((plan.record_bytes as u64).to_le_bytes());
        fields.extend(u64::from(plan.by_key).to_le_bytes());
        fields.extend(u64::from(plan.insecure_log_n.unwrap_or(0)).to_le_bytes());
        fields.extend(self.seed);
        fields.extend(self.records.to_le_bytes());
        fields.extend(u64::from(self.attempt).to_le_bytes());
        fields.extend(self.version.to_le_bytes());
        fields.extend(self.digest);
        fields
    }

    /// The description as bytes, with a checksum.
    pub fn to_bytes(&self) -> Vec<u8> {
        let fields = self.fields();
        let mut bytes = frame::begin(Kind::Description, fields.len());
        bytes.extend(fields);
        frame::finish(bytes)
    }

    /// Reads [`to_bytes`](Self::to_bytes). A description may come from a server that is curious:
    /// parameters without security are refused.
    ///
    /// # Errors
    /// [`Error::Damaged`]; [`Error::Range`] for a plan out of range; [`Error::Insecure`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let stated = Stated::read(bytes)?;
        match stated.plan.insecure_log_n {
            None => stated.described(),
            Some(log_n) => Err(Error::Insecure { log_n }),
        }
    }

    /// [`from_bytes`](Self::from_bytes) for parameters of any security; for experiments and tests
    /// only.
    ///
    /// # Errors
    /// [`Error::Damaged`]; [`Error::Range`] for a plan out of range.
    pub fn from_bytes_insecure(bytes: &[u8]) -> Result<Self> {
        Stated::read(bytes)?.described()
    }
}

/// The fields of a description before its parameters are chosen, which may take long for plans of
/// an insecure degree.
struct Stated {
    plan: Plan,
    seed: [u8; 32],
    records: u64,
    attempt: u32,
    version: u64,
    digest: [u8; 32],
}

impl Stated {
    fn read(bytes: &[u8]) -> Result<Self> {
        let kind = Kind::Description;
        let mut reader = Reader::new(kind, bytes)?;
        let [planned, record_bytes, by_key, log_n] =
            [reader.number()?, reader.number()?, reader.number()?, reader.number()?];
        let seed = reader.array()?;
        let [records, attempt, version] = [reader.number()?, reader.number()?, reader.number()?];
        let digest = reader.array()?;
        reader.end()?;
        let small = |number: u64| u32::try_from(number).map_err(|_| kind.damaged("a number is too large"));
        if by_key > 1 || records > planned {
            return Err(kind.damaged("its numbers contradict one another"));
        }
        let record_bytes = small(record_bytes)? as usize;
        let insecure_log_n = Some(small(log_n)?).filter(|&log_n| log_n != 0);
        let plan = Plan { records: planned, record_bytes, by_key: by_key == 1, insecure_log_n };
        Ok(Self { plan, seed, records, attempt: small(attempt)?, version, digest })
    }

    fn described(self) -> Result<Description> {
        let Self { plan, seed, records, attempt, version, digest } = self;
        Ok(Description { params: plan.params()?, seed, records, attempt, version, digest })
    }
}
