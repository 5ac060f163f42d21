//! Keys of bootstrapping, which are too large to be in memory twice: they are written as they are
//! made, and read one by one to a device.

use super::{AnyParams, Refreshing};
use crate::error::{Error, InFile, KeyError, Result, Wanted};
use crate::file_start::{AnyStart, check_start, read_start};
use crate::io::input::Input;
use crate::io::output::Output;
use crate::key_file::write_frames;
use crate::note::{KeyId, KeyNote};
use crate::scheme::Scheme;
use crate::watch::{Meter, Stage, Watch};
use he::Device;
use he_core::bootstrapping::{BootstrapKeys, BootstrapParams};
use he_core::ring::Ring;
use he_core::rlwe::SecretKey;
use he_core::wire::{FrameReader, Wire, WireError, WireParams};
use rand::rngs::ChaCha20Rng;
use std::io::BufReader;

/// A file of bootstrapping keys, of which only the beginning was read.
pub struct KeyFile<P = AnyParams> {
    /// Its name in errors.
    pub name: String,
    /// The parameters.
    pub params: P,
    /// The key set.
    pub id: KeyId,
    reader: FrameReader<BufReader<Input>>,
}

impl KeyFile {
    /// Reads parameters and key set.
    ///
    /// # Errors
    /// It is not a file of bootstrapping keys, or it is damaged or of insecure parameters.
    pub fn open(mut input: Input) -> Result<Self> {
        const NEEDED: &str = "a bootstrapping key";
        check_start(&mut input, NEEDED, Wanted::Key)?;
        let name = input.name().to_owned();
        let mut reader = FrameReader::new(BufReader::with_capacity(1 << 18, input));
        match read_start(&mut reader, &name)? {
            AnyStart::Bootstrap(params, id) => Ok(Self::read_rest(reader, params, id, &name)),
            start if start.encrypted_by().is_some() => {
                Err(KeyError::Encrypted { name, needed: NEEDED.to_owned() }.into())
            }
            _ => Err(KeyError::NotBootstrapping { name }.into()),
        }
    }

    /// The keys of CKKS, for the encrypted file `of`.
    ///
    /// # Errors
    /// They are of another scheme.
    pub fn ckks(self, of: &str) -> Result<KeyFile<BootstrapParams>> {
        let Self { name, params, id, reader } = self;
        match params {
            AnyParams::Ckks(params) => Ok(KeyFile { name, params, id, reader }),
            _ => Err(KeyError::Other { name: of.to_owned(), key: name }.into()),
        }
    }
}

impl<P> KeyFile<P> {
    /// Reads everything after parameters and key set.
    pub fn read_rest(reader: FrameReader<BufReader<Input>>, params: P, id: KeyId, name: &str) -> Self {
        Self { name: name.to_owned(), params, id, reader }
    }

    /// Splits the file into its description and the rest of it.
    pub fn into_parts(self) -> (FrameReader<BufReader<Input>>, P, KeyId, String) {
        (self.reader, self.params, self.id, self.name)
    }
}

impl<P: Refreshing> KeyFile<P> {
    /// Checks that a file belongs to these keys, and is of parameters that they refresh.
    ///
    /// # Errors
    /// It belongs to another key set.
    pub fn check_owner(&self, params: &<P::Scheme as Scheme>::Params, id: &KeyId, name: &str) -> Result<()> {
        if params == self.params.programs() && id == &self.id {
            return Ok(());
        }
        let (set, own) = (id.short().to_owned(), self.id.short().to_owned());
        Err(KeyError::Foreign { name: name.to_owned(), set, key: self.name.clone(), own }.into())
    }

    /// The keys on a device, one after the other; `ring` is that of all primes
    /// ([`BootstrapParams::ring`]).
    ///
    /// # Errors
    /// The file is damaged, or holds other keys than these parameters have; the device fails.
    pub fn keys(mut self, ring: &Ring<Device>, watch: &dyn Watch) -> Result<BootstrapKeys<Device>> {
        let (circuit, name, reader) = (self.params.circuit(), &self.name, &mut self.reader);
        let meter = Meter::new(watch, Stage::Loading, circuit.key_bytes()? as u64);
        let limit = |kind, _| circuit.key_frame_limit(kind);
        // The next frame is asked for when the key of the one before is made.
        let (mut uses, mut made) = (circuit.key_uses()?.iter(), None);
        let frames = std::iter::from_fn(|| {
            if let Some(&purpose) = std::mem::replace(&mut made, uses.next()) {
                meter.inc(circuit.bytes_of_key(purpose) as u64);
            }
            reader.next_frame(limit).transpose().map(|frame| frame.in_file(name))
        });
        let keys: Result<_> = BootstrapKeys::from_frames(circuit, ring, frames);
        let mut keys = match keys {
            Err(Error::Core(error)) => Err(error).in_file(name),
            keys => keys,
        }?;
        keys.set_key_set(self.id.key_set());
        Ok(keys)
    }

    /// Checks all frames without a device, and returns the number of keys.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn count(mut self) -> Result<u64> {
        let (circuit, mut count) = (self.params.circuit(), 0);
        let limit = |kind, _| circuit.key_frame_limit(kind);
        while let Some(mut frame) = self.reader.next_frame(limit).in_file(&self.name)? {
            count += 1;
            self.reader.recycle(std::mem::take(&mut frame.body));
        }
        match circuit.key_uses()?.len() as u64 {
            needed if needed == count => Ok(count),
            _ => Err(WireError::Sequence).in_file(&self.name),
        }
    }
}

/// Makes the keys and writes each of them at once: the memory is that of one. `told` is called with
/// the bytes of each in memory. Returns the bytes of the file.
///
/// # Errors
/// The device fails; the output cannot be written.
pub fn generate<P: Refreshing>(
    secret: &SecretKey,
    id: &KeyId,
    params: &P,
    device: Device,
    rng: &mut ChaCha20Rng,
    told: impl Fn(u64),
    out: &mut Output,
) -> Result<u64> {
    let circuit = params.circuit();
    let (ring, name) = (circuit.ring(device)?, out.name());
    let made = BootstrapKeys::generate_each(secret, circuit, &ring, rng)?;
    let frames = made.map(|key| {
        let key = key?;
        let frame = key.to_frame(circuit);
        told(circuit.bytes_of_key(key.purpose()) as u64);
        frame
    });
    write_frames(out, &params.to_frame(), &KeyNote::of(id), frames, &name)
}
