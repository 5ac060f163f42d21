//! The server: everything that it has is public.

use super::files;
use super::folders::Folders;
use super::{params, ring};
use crate::device::device;
use crate::error::Error;
use crate::frames::{Reader, Writer};
use crate::progress::Progress;
use crate::report::Report;
use he::Device;
use he::backend::Backend as _;
use he::ring::Ring;
use he::rlwe::EvaluationKeys;
use he::words::{Multiplicand, Multiplier, Product, ReducedWords, WordEvaluator, WordParams, Words};

/// Relinearisation keys are smaller.
const KEY_BYTES: u64 = 1 << 24;

/// Parameters and keys on the device.
pub(super) struct Server {
    params: WordParams,
    ring: Ring<Device>,
    keys: EvaluationKeys<Device>,
    ev: WordEvaluator<Device>,
}

/// Both sides of a batch of pairs.
struct Pairs(Words<Multiplicand, Device>, Words<Multiplier, Device>);

impl Server {
    /// Loads the keys of the client.
    pub(super) fn new(folders: &Folders) -> Result<Self, Error> {
        let params = params()?;
        let ring = ring(&params, device()?)?;
        let keys = folders.keys().evaluation(params.ckks(), &ring, KEY_BYTES)?;
        let ev = WordEvaluator::new(&params, &ring)?;
        Ok(Self { params, ring, keys, ev })
    }

    /// Multiplies all pairs, batch by batch, and writes the products and the times of the steps.
    pub(super) fn compute(&self, folders: &Folders, count: u64) -> Result<(), Error> {
        let mut reader = Reader::open(&folders.operands(), self.params.ckks())?;
        let mut writer = Writer::create(&folders.products(), self.params.ckks())?;
        let (mut report, whole) = (Report::default(), files::ciphertexts(&self.params, count));
        let (mut done, mut progress) = (0, Progress::new("multiplied ciphertexts", whole));
        while let Some(pairs) = report.time("Loading of operands", || self.pairs(&mut reader))? {
            done += pairs.0.batch() as u64;
            let products = report.time("Encrypted multiplication", || self.products(&pairs))?;
            let reduced =
                report.time("Reduction of products", || ReducedWords::new(&self.params, products))?;
            let write = || writer.write(&reduced.to_frame(&self.params)?);
            report.time("Writing of products", write)?;
            progress.tell(done);
        }
        if done != whole {
            return Err(reader.count(format!("{done} pairs of ciphertexts"), whole));
        }
        report.time("Writing of products", || writer.finish())?;
        report.write(&folders.io())
    }

    /// The next batch of pairs on the device, if there is one.
    fn pairs(&self, reader: &mut Reader) -> Result<Option<Pairs>, Error> {
        let Some(left) = files::operands(reader, &self.params, &self.ring)? else { return Ok(None) };
        let right = files::operands(reader, &self.params, &self.ring)?;
        let right = right.ok_or_else(|| reader.count("one operand", "two of each pair"))?;
        let pairs = Pairs(left.expand()?, right.expand()?);
        self.ring.backend().synchronize()?;
        Ok(Some(pairs))
    }

    fn products(&self, Pairs(left, right): &Pairs) -> Result<Words<Product, Device>, Error> {
        let products = self.ev.multiply(left, right, &self.keys)?;
        self.ring.backend().synchronize()?;
        Ok(products)
    }
}
