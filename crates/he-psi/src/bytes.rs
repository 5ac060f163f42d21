//! Messages as bytes: a header, fields, and a checksum.
//!
//! A message is eight bytes `he-psi`, its kind and the version 1; the identity of the plan (16
//! bytes); its fields, little-endian; and the first 16 bytes of the BLAKE3 hash of all that. The
//! hash finds damage, and proves nothing about the sender. Ciphertexts and keys are strings of
//! he-core behind their lengths of 64 bits.

use crate::error::{Error, Result};
use crate::messages::{Answer, BundleAnswer, Query, Request, Response, check_plan};
use crate::oprf::{Point, ServerKeyId};
use crate::plan::{Params, Plan};
use he_core::backend::RingOps;
use he_core::bfv::{BfvCiphertext, BfvSeededCiphertext};
use he_core::ring::Ring;
use he_core::rlwe::EvaluationKeys;

const MAGIC: &[u8; 6] = b"he-psi";
const VERSION: u8 = 1;
const CHECKSUM: usize = 16;

/// The kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Request = 1,
    Response = 2,
    Query = 3,
    Answer = 4,
    Set = 5,
    Plan = 6,
    State = 7,
    Prepared = 8,
}

impl Kind {
    fn object(self) -> &'static str {
        match self {
            Self::Request => "a request",
            Self::Response => "a response",
            Self::Query => "a query",
            Self::Answer => "an answer",
            Self::Set => "a set",
            Self::Plan => "a plan",
            Self::State => "the state of a client",
            Self::Prepared => "a prepared set",
        }
    }
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    let mut sum = [0; CHECKSUM];
    sum.copy_from_slice(&blake3::hash(bytes).as_bytes()[..CHECKSUM]);
    sum
}

/// Writes a message.
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub fn new(kind: Kind, plan: &[u8; 16]) -> Self {
        Self([&MAGIC[..], &[kind as u8, VERSION], plan].concat())
    }

    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn count(&mut self, count: usize) -> &mut Self {
        self.raw(&(count as u64).to_le_bytes())
    }

    pub fn string(&mut self, bytes: &[u8]) -> &mut Self {
        self.count(bytes.len()).raw(bytes)
    }

    fn points(&mut self, points: &[Point]) -> &mut Self {
        self.count(points.len()).raw(points.as_flattened())
    }

    pub fn finish(mut self) -> Vec<u8> {
        let sum = checksum(&self.0);
        self.0.extend_from_slice(&sum);
        self.0
    }
}

/// Reads a message; nothing is allocated before the bytes are there.
pub(crate) struct Reader<'a> {
    kind: Kind,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Checks header, plan and checksum.
    pub fn new(kind: Kind, params: &Params, bytes: &'a [u8]) -> Result<Self> {
        let mut reader = Self::begin(kind, bytes)?;
        check_plan(kind.object(), &reader.array("plan")?, params)?;
        Ok(reader)
    }

    /// Checks header and checksum; the identity of the plan is next.
    fn begin(kind: Kind, bytes: &'a [u8]) -> Result<Self> {
        let mut reader = Self { kind, rest: bytes };
        if reader.take(MAGIC.len(), "magic")? != MAGIC {
            return Err(reader.error("magic"));
        }
        if reader.take(1, "kind")? != [kind as u8] {
            return Err(reader.error("kind"));
        }
        if reader.take(1, "version")? != [VERSION] {
            return Err(reader.error("version"));
        }
        let at = bytes.len().checked_sub(CHECKSUM).ok_or(reader.error("checksum"))?;
        if checksum(&bytes[..at]) != bytes[at..] {
            return Err(reader.error("checksum"));
        }
        let length = reader.rest.len().checked_sub(CHECKSUM).ok_or(reader.error("length"))?;
        reader.rest = &reader.rest[..length];
        Ok(reader)
    }

    pub fn error(&self, reason: &'static str) -> Error {
        Error::Bytes { object: self.kind.object(), reason }
    }

    pub fn take(&mut self, length: usize, field: &'static str) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(self.error(field))?;
        self.rest = rest;
        Ok(taken)
    }

    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, field)?);
        Ok(array)
    }

    /// A number of parts that take so many bytes each at least.
    pub fn count(&mut self, bytes_each: usize, field: &'static str) -> Result<usize> {
        let count = u64::from_le_bytes(self.array(field)?);
        let most = self.rest.len() / bytes_each;
        usize::try_from(count).ok().filter(|count| *count <= most).ok_or(self.error(field))
    }

    pub fn string(&mut self, field: &'static str) -> Result<&'a [u8]> {
        let length = self.count(1, field)?;
        self.take(length, field)
    }

    fn points(&mut self) -> Result<Vec<Point>> {
        let count = self.count(size_of::<Point>(), "points")?;
        (0..count).map(|_| self.array("points")).collect()
    }

    fn key(&mut self) -> Result<ServerKeyId> {
        Ok(ServerKeyId(self.array("key")?))
    }

    pub fn end(self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.error("length")) }
    }
}

impl Params {
    /// The plan as bytes, which both parties must have: it is public.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (mut writer, plan) = (Writer::new(Kind::Plan, &self.id()), self.plan());
        for number in [plan.server_items(), plan.client_items(), plan.label_bytes()] {
            writer.raw(&number.to_le_bytes());
        }
        writer.finish()
    }

    /// The parameters of a plan from the bytes of [`to_bytes`](Self::to_bytes); those of an
    /// insecure plan are refused.
    ///
    /// # Errors
    /// [`Error::Bytes`]; [`Error::Size`]; [`Error::NoParameters`]; [`Error::Plan`] if the plan has
    /// other parameters here.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::begin(Kind::Plan, bytes)?;
        let id = reader.array("plan")?;
        let mut number = |field| Ok::<_, Error>(u64::from_le_bytes(reader.array(field)?));
        let [server, client] = [number("items of the server")?, number("items of a client")?];
        let plan = Plan::new(server, client).labels(number("bytes of a label")?);
        reader.end()?;
        let params = plan.params()?;
        check_plan(Kind::Plan.object(), &id, &params)?;
        Ok(params)
    }
}

impl Request {
    /// The message as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(Kind::Request, &self.plan);
        writer.points(&self.points);
        writer.finish()
    }

    /// From the bytes of [`to_bytes`](Self::to_bytes), in memory of their size.
    ///
    /// # Errors
    /// [`Error::Bytes`]; [`Error::Plan`].
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(Kind::Request, params, bytes)?;
        let points = reader.points()?;
        reader.end()?;
        Ok(Self { plan: params.id(), points })
    }
}

impl Response {
    /// The message as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(Kind::Response, &self.plan);
        writer.raw(&self.key.0).points(&self.points);
        writer.finish()
    }

    /// From the bytes of [`to_bytes`](Self::to_bytes), in memory of their size.
    ///
    /// # Errors
    /// [`Error::Bytes`]; [`Error::Plan`].
    pub fn from_bytes(params: &Params, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(Kind::Response, params, bytes)?;
        let (key, points) = (reader.key()?, reader.points()?);
        reader.end()?;
        Ok(Self { plan: params.id(), key, points })
    }
}

impl<B: RingOps> Query<B> {
    /// The message as bytes.
    ///
    /// # Errors
    /// [`Error::Core`] for parameters of another plan; device errors.
    pub fn to_bytes(&self, params: &Params) -> Result<Vec<u8>> {
        let mut writer = Writer::new(Kind::Query, &self.plan);
        writer.raw(&self.key.0).string(&self.keys.to_bytes(params.bfv())?).count(self.blocks.len());
        for block in &self.blocks {
            writer.string(&block.to_bytes(params.bfv())?);
        }
        Ok(writer.finish())
    }

    /// From the bytes of [`to_bytes`](Self::to_bytes), in memory of a small multiple of their size.
    ///
    /// # Errors
    /// [`Error::Bytes`]; [`Error::Plan`]; [`Error::Core`] for strings that are not such
    /// ciphertexts; device errors.
    pub fn from_bytes(params: &Params, ring: &Ring<B>, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(Kind::Query, params, bytes)?;
        let key = reader.key()?;
        let keys = EvaluationKeys::from_bytes(params.bfv(), ring, reader.string("keys")?)?;
        let count = reader.count(8, "blocks")?;
        let blocks = (0..count)
            .map(|_| Ok(BfvSeededCiphertext::from_bytes(params.bfv(), ring, reader.string("powers")?)?))
            .collect::<Result<_>>()?;
        reader.end()?;
        Ok(Self { plan: params.id(), key, keys, blocks })
    }
}

impl<B: RingOps> Answer<B> {
    /// The message as bytes.
    ///
    /// # Errors
    /// [`Error::Core`] for parameters of another plan; device errors.
    pub fn to_bytes(&self, params: &Params) -> Result<Vec<u8>> {
        let mut writer = Writer::new(Kind::Answer, &self.plan);
        writer.raw(&self.key.0).count(self.bundles.len());
        for bundle in &self.bundles {
            writer.raw(&bundle.salt).count(bundle.blocks.len());
            for block in &bundle.blocks {
                writer.string(&block.to_bytes(params.bfv())?);
            }
        }
        Ok(writer.finish())
    }

    /// From the bytes of [`to_bytes`](Self::to_bytes), in memory of a small multiple of their size.
    ///
    /// # Errors
    /// [`Error::Bytes`]; [`Error::Plan`]; [`Error::Core`] for strings that are not such
    /// ciphertexts; device errors.
    pub fn from_bytes(params: &Params, ring: &Ring<B>, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(Kind::Answer, params, bytes)?;
        let key = reader.key()?;
        let count = reader.count(24, "bundles")?;
        let mut bundles = Vec::with_capacity(count);
        for _ in 0..count {
            let salt = reader.array("salt")?;
            let blocks = reader.count(8, "blocks")?;
            let blocks = (0..blocks)
                .map(|_| Ok(BfvCiphertext::from_bytes(params.bfv(), ring, reader.string("values")?)?))
                .collect::<Result<_>>()?;
            bundles.push(BundleAnswer { salt, blocks });
        }
        reader.end()?;
        Ok(Self { plan: params.id(), key, bundles })
    }
}
