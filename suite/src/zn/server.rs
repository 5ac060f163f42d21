//! The server: everything that it has is public.

use super::files::{self, Reader, Writer, ring};
use super::folders::Folders;
use super::params;
use crate::error::{At as _, Error};
use crate::progress::Progress;
use crate::report::Report;
use he::Device;
use he::backend::Backend as _;
use he::ring::Ring;
use he::rlwe::EvaluationKeys;
use he::words::{Multiplicand, Multiplier, Product, ReducedWords, WordEvaluator, WordParams, Words};
use std::str::FromStr as _;

/// The name of the device in the environment.
const DEVICE: &str = "HE_SUITE_DEVICE";

/// The device that the environment names.
pub(super) fn device() -> Result<Device, Error> {
    let name = std::env::var(DEVICE).unwrap_or_else(|_| "auto".into());
    Ok(Device::from_str(&name)?)
}

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
        let path = folders.evaluation_key();
        let keys = EvaluationKeys::from_bytes(params.ckks(), &ring, &files::read(&path)?).at(&path)?;
        let ev = WordEvaluator::new(&params, &ring)?;
        Ok(Self { params, ring, keys, ev })
    }

    /// Multiplies all pairs, batch by batch, and writes the products and the times of the steps.
    pub(super) fn compute(&self, folders: &Folders, count: u64) -> Result<(), Error> {
        let mut reader = Reader::open(&folders.operands(), &self.params)?;
        let mut writer = Writer::create(&folders.products(), &self.params)?;
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
        let Some(left) = reader.operands(&self.ring)? else { return Ok(None) };
        let right = reader.operands(&self.ring)?;
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
