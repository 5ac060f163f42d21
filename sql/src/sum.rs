//! Sums of cells whose words do not depend on the order in which cells arrive.

use crate::cells::decode;
use crate::error::{Error, Result};
use he_any::{Engine, Keys, Kind, Value};
use he_core::exact::Noise;
use he_core::wire::WireError;
use std::collections::BTreeMap;

/// A sum of cells, kept apart by level and by correction factor or scale.
///
/// Within a part cells are added modulo their primes, which commutes, so that neither partitions
/// nor the order of partial sums change a word. Parts are brought to one level at the end, the
/// highest first. The bound on the noise of BFV and BGV is that of the noisiest cell for each of
/// them, because a sum of bounds, rounded at every step, would depend on the order.
#[derive(Debug, Default)]
pub struct Sum {
    parts: BTreeMap<(usize, u64), Part>,
}

#[derive(Debug)]
struct Part {
    sum: Value,
    count: u64,
    /// The bound of the noisiest cell.
    noise: Option<Noise>,
}

impl Sum {
    /// Adds a cell.
    ///
    /// # Errors
    /// The noise budget is spent; the device fails.
    pub fn add(&mut self, engine: &Engine, value: Value, keys: Option<&Keys>) -> he_core::Result<()> {
        self.merge(engine, value, 1, keys)
    }

    fn merge(
        &mut self,
        engine: &Engine,
        value: Value,
        count: u64,
        keys: Option<&Keys>,
    ) -> he_core::Result<()> {
        let noise = value.noise();
        match self.parts.get_mut(&value.alignment()) {
            Some(part) => {
                engine.add_assign(&mut part.sum, &value, keys)?;
                part.count += count;
                part.noise = part.noise.zip(noise).map(|(a, b)| a.max(b));
            }
            None => {
                self.parts.insert(value.alignment(), Part { sum: value, count, noise });
            }
        }
        Ok(())
    }

    /// The sum, `None` of no cells.
    ///
    /// # Errors
    /// The noise budget is spent; the device fails.
    pub fn finish(&mut self, engine: &Engine, keys: Option<&Keys>) -> he_core::Result<Option<Value>> {
        let mut all: Option<Value> = None;
        for part in std::mem::take(&mut self.parts).into_values().rev() {
            let value = match part.noise {
                Some(noise) => part.sum.with_noise(engine, noise.total(part.count))?,
                None => part.sum,
            };
            all = Some(match all {
                Some(all) => engine.add(&all, &value, keys)?,
                None => value,
            });
        }
        Ok(all)
    }

    /// The parts as bytes, each after its count and its length, for [`read`](Self::read).
    ///
    /// # Errors
    /// The device fails.
    pub fn to_bytes(&mut self, engine: &Engine) -> he_core::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for part in std::mem::take(&mut self.parts).into_values() {
            let value = match part.noise {
                Some(noise) => part.sum.with_noise(engine, noise)?,
                None => part.sum,
            };
            let cell = engine.encode(&value)?;
            bytes.reserve_exact(cell.len() + 16);
            bytes.extend(part.count.to_le_bytes());
            bytes.extend((cell.len() as u64).to_le_bytes());
            bytes.extend(cell);
        }
        Ok(bytes)
    }

    /// Adds the parts of another sum.
    ///
    /// # Errors
    /// The bytes are damaged; the noise budget is spent; the device fails.
    pub fn read(&mut self, engine: &Engine, kind: Kind, mut bytes: &[u8], keys: Option<&Keys>) -> Result<()> {
        let cut = || Error::from(WireError::Truncated);
        while !bytes.is_empty() {
            let (count, rest) = bytes.split_first_chunk().ok_or_else(cut)?;
            let (length, rest) = rest.split_first_chunk().ok_or_else(cut)?;
            let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| cut())?;
            let (cell, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
            self.merge(engine, decode(engine, kind, cell)?, u64::from_le_bytes(*count), keys)?;
            bytes = rest;
        }
        Ok(())
    }

    /// The approximate bytes in memory.
    pub fn size(&self) -> usize {
        self.parts.values().map(|part| part.sum.size()).sum()
    }
}
