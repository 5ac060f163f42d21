//! One part of an operation, computed by a judge: with one key at most, over the primes of its
//! level, and one row of the map.

use super::parts::{Disputed, of_params};
use super::plan::Plan;
use super::{pair, values};
use crate::error::{InFile, IoContext, Result, TraceError};
use crate::listing::Checksum;
use crate::trace::{Role, Trace, Value};
use he::Device;
use he_core::circuits::ckks::PartValue;
use he_core::ckks::{Ciphertext, Evaluator};
use he_core::ring::{Ring, galois_rotation};
use he_core::rlwe::{RlweCiphertext, SwitchKey};
use he_core::wire::{CiphertextHeader, Frame, FrameHeader, FramePlace, FrameReader, Wire};
use std::fs;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// A value that the part takes.
enum Taken {
    Input(Ciphertext<Device>),
    Made(RlweCiphertext<Device>),
}

impl Disputed<'_> {
    /// Computes one part on the CPU, from the values in a folder and the file of evaluation keys,
    /// of which it reads one key at most, and returns the digest of the result. `stated` are the
    /// parts of either party, who agree on everything before this one, after a
    /// [`check`](Self::check).
    ///
    /// # Errors
    /// [`TraceError::File`] for another file of keys; [`TraceError::NotKept`] and
    /// [`TraceError::NotAPair`] for values that are not there or not those; a file cannot be read.
    pub fn judge(&self, stated: &Trace, part: usize, key: &Path, folder: &Path) -> Result<Checksum> {
        let plan = Plan::of_operations(self.model, self.trace.operations().len())?;
        let parts = self.outline(&plan, Some(part))?;
        let operation = self.operation;
        let taken = stated.operations().get(part).ok_or(TraceError::Parts { operation, part })?;
        let params = self.model.params();
        let frames = taken.of.iter().map(|&value| self.input(stated, value, folder));
        let frames = frames.collect::<Result<Vec<_>>>()?;
        let mut level = parts.level();
        for frame in frames.iter().flatten() {
            level = level.max(CiphertextHeader::from_frame(params, frame)?.level);
        }
        // Tables for no more primes than the values have.
        let low = params.up_to_level(level)?;
        let ring = Ring::new(Device::cpu(), low.rlwe().ring().clone())?;
        let ev = Evaluator::new(&low, &ring)?;
        let mut found = Vec::new();
        for (&value, frame) in taken.of.iter().zip(frames) {
            found.push(match frame {
                Some(frame) => Taken::Input(Ciphertext::from_frame(&low, &ring, &of_params(frame, &low))?),
                None => {
                    let digest = stated.digest(value).unwrap_or_default();
                    Taken::Made(pair::kept(folder, &digest, operation, &ring)?)
                }
            });
        }
        let key = match parts.rotation(part) {
            Some(step) => {
                let primes = parts.key_primes(params, part)?;
                Some(self.key(key, galois_rotation(step, params.rlwe().ring().log_n()), primes, &ring)?)
            }
            None => None,
        };
        let of: Vec<PartValue<'_, Device>> = found
            .iter()
            .map(|value| match value {
                Taken::Input(ct) => PartValue::Input(ct),
                Taken::Made(pair) => PartValue::Made(pair),
            })
            .collect();
        let value = parts.compute(&ev, part, &of, key.as_ref())?;
        Ok(self.digest(&parts, part, &value, &low)?.0)
    }

    /// The frame of a value that the operation takes; `None` for one of a part.
    fn input(&self, stated: &Trace, value: Value, folder: &Path) -> Result<Option<Frame>> {
        let Value::Frame { .. } = value else { return Ok(None) };
        let digest = stated.digest(value).unwrap_or_default();
        values::kept(folder, &digest, self.operation).map(Some)
    }

    /// The Galois key for an element, over the first primes of the chain. All checksums of the file
    /// are those of the trace, and one body is read.
    fn key(&self, path: &Path, g: u64, primes: usize, ring: &Ring<Device>) -> Result<SwitchKey<Device>> {
        let (name, params) = (path.display().to_string(), self.model.params());
        let mut reader = FrameReader::new(BufReader::new(fs::File::open(path).at(path)?));
        let mut places = Vec::new();
        while let Some(place) = reader.skip_frame(|_, _| u64::MAX).in_file(&name)? {
            places.push(place);
        }
        let stated = self.trace.files().iter().find(|file| file.role == Role::Key);
        let checksums = places.iter().map(|place| place.checksum);
        if !stated.is_some_and(|file| file.frames.iter().copied().eq(checksums)) {
            return Err(TraceError::File { name, role: "key", place: 1 }.into());
        }
        let mut file = fs::File::open(path).at(path)?;
        for place in places.iter().skip(super::plan::HEAD) {
            if element(&mut file, place).at(path)? == g {
                let frame = place.read(&mut file).in_file(&name)?;
                let cut = params.rlwe().up_to_primes(primes).map_err(he_core::Error::from)?;
                let ring = ring.prefix(primes, cut.ring().p().len())?;
                return Ok(SwitchKey::of_frame(params, &cut, &ring, &frame)?.1);
            }
        }
        Err(he_core::Error::argument("keys", format!("none is for the element {g}")).into())
    }
}

/// The first number of the body of a frame: the element of a Galois key.
fn element(file: &mut fs::File, place: &FramePlace) -> std::io::Result<u64> {
    let mut number = [0; 8];
    file.seek(SeekFrom::Start(place.start + FrameHeader::SIZE as u64))?;
    file.read_exact(&mut number)?;
    Ok(u64::from_le_bytes(number))
}
