//! Data as they arrive, chunk by chunk, on the calling thread: for programs that are given data
//! rather than read them.

use super::{LOG2_CHUNK, Secret, truncated};
use crate::error::{InFile, Result};
use he_core::aes::container::{Content, FileKey, HEADER, Header, Layout, TAG};
use he_core::aes::{Bulk, Cpu};
use rand::rngs::ChaCha20Rng;
use zeroize::Zeroizing;

/// Consecutive records of one length, of which the last may be shorter and is known to be the last
/// only when the data end.
struct Records {
    /// The rest of a record; at most one whole record, which may be the last.
    held: Zeroizing<Vec<u8>>,
    length: usize,
    /// The number of the next record.
    next: u64,
}

impl Records {
    fn new(length: usize) -> Self {
        // Growing would leave copies of plain data behind.
        Self { held: Zeroizing::new(Vec::with_capacity(length)), length, next: 0 }
    }

    /// Takes data; `whole(number, record)` gets every record that others follow.
    fn push(
        &mut self,
        mut data: &[u8],
        mut whole: impl FnMut(u64, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        while !data.is_empty() {
            if self.held.len() == self.length {
                whole(self.next, &mut self.held)?;
                self.next += 1;
                self.held.clear();
            }
            let (now, later) = data.split_at(data.len().min(self.length - self.held.len()));
            self.held.extend_from_slice(now);
            data = later;
        }
        Ok(())
    }
}

/// Encrypts data as they arrive.
pub struct Sealer {
    key: FileKey,
    records: Records,
}

impl Sealer {
    /// Begins a file of bytes, which errors call `name`; also returns its first bytes.
    ///
    /// # Errors
    /// There is no passphrase, or too little memory for Argon2id.
    pub fn new(secret: Secret<'_>, rng: &mut ChaCha20Rng, name: &str) -> Result<(Self, [u8; HEADER])> {
        let layout = Layout::new(LOG2_CHUNK)?;
        let (header, key) = secret.close(layout, Content::Bytes, rng, name)?;
        Ok((Self { key, records: Records::new(layout.chunk_len()) }, header.to_bytes()))
    }

    /// Takes plain data, and appends what is encrypted of them.
    ///
    /// # Errors
    /// There are more data than a file holds.
    pub fn push(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let Self { key, records } = self;
        records.push(data, |number, chunk| seal(key, number, false, chunk, out))
    }

    /// Appends the last bytes.
    ///
    /// # Errors
    /// There are more data than a file holds.
    pub fn finish(mut self, out: &mut Vec<u8>) -> Result<()> {
        seal(&self.key, self.records.next, true, &mut self.records.held, out)
    }
}

fn seal(key: &FileKey, number: u64, end: bool, chunk: &mut [u8], out: &mut Vec<u8>) -> Result<()> {
    let mut tag = [[0; TAG]];
    key.seal(&Cpu::new(), number, end, Bulk::in_place(chunk), &mut tag)?;
    out.extend_from_slice(chunk);
    out.extend_from_slice(&tag[0]);
    Ok(())
}

/// Decrypts data as they arrive. Whatever it returns is authentic, but only
/// [`finish`](Self::finish) says that nothing is missing.
pub struct Opener {
    name: String,
    key: FileKey,
    records: Records,
}

impl Opener {
    /// Opens a file, which errors call `name`, by its first bytes.
    ///
    /// # Errors
    /// It is not such a file; it is locked by the other kind of secret, or by another one.
    pub fn new(header: &[u8; HEADER], secret: Secret<'_>, name: &str) -> Result<Self> {
        let header = Header::parse(header).in_file(name)?;
        secret.check(&header, name)?;
        let key = secret.open(&header, name)?;
        let records = Records::new(header.layout().chunk_len() + TAG);
        Ok(Self { name: name.to_owned(), key, records })
    }

    /// Takes what follows the header, and appends what is decrypted of it.
    ///
    /// # Errors
    /// The data are not as they were encrypted.
    pub fn push(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let Self { name, key, records } = self;
        records.push(data, |number, record| open(key, name, number, false, record, out))
    }

    /// Appends the last bytes.
    ///
    /// # Errors
    /// The file is truncated, or the data are not as they were encrypted.
    pub fn finish(mut self, out: &mut Vec<u8>) -> Result<()> {
        open(&self.key, &self.name, self.records.next, true, &mut self.records.held, out)
    }
}

fn open(
    key: &FileKey,
    name: &str,
    number: u64,
    end: bool,
    record: &mut [u8],
    out: &mut Vec<u8>,
) -> Result<()> {
    let Some((chunk, tag)) = record.split_last_chunk_mut::<TAG>() else { return Err(truncated(name)) };
    if chunk.is_empty() && number > 0 {
        return Err(truncated(name));
    }
    key.open(&Cpu::new(), number, end, &[*tag], Bulk::in_place(chunk)).in_file(name)?;
    out.extend_from_slice(chunk);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aes_file::{FileCipher, Sealed, Source, Target, encrypt};
    use crate::io::input::Input;
    use crate::io::output::Output;
    use he_core::aes::container::UserKey;
    use rand::SeedableRng;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    const CHUNK: usize = 1 << LOG2_CHUNK;

    fn key() -> UserKey {
        UserKey::new(&[7; 32])
    }

    fn data(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i % 253) as u8).collect()
    }

    fn sealed(data: &[u8], step: usize) -> Vec<u8> {
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        let (mut sealer, header) = Sealer::new(Secret::Key(&key()), rng, "file").unwrap();
        let mut out = header.to_vec();
        data.chunks(step).for_each(|part| sealer.push(part, &mut out).unwrap());
        sealer.finish(&mut out).unwrap();
        out
    }

    fn opened(file: &[u8], step: usize, key: &UserKey) -> Result<Vec<u8>> {
        let (header, rest) = file.split_first_chunk().unwrap();
        let mut opener = Opener::new(header, Secret::Key(key), "file")?;
        let mut out = Vec::new();
        rest.chunks(step).try_for_each(|part| opener.push(part, &mut out))?;
        opener.finish(&mut out)?;
        Ok(out)
    }

    /// Files that are encrypted here are decrypted by the pipeline, and the other way round.
    #[test]
    fn both_ways_make_the_same_files() {
        for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 17] {
            let data = data(len);
            let file = sealed(&data, 100_003);
            assert_eq!(file, sealed(&data, CHUNK), "{len} bytes");
            let plain = Memory::default();
            let target = Target::File(Output::to_writer("plain", plain.clone()));
            let sealed = Sealed::read(Input::from_bytes("file", file.clone())).unwrap();
            sealed.decrypt(Secret::Key(&key()), target, None, |_| Ok(FileCipher::cpu()), &()).unwrap();
            assert!(*plain.0.lock().unwrap() == data, "{len} bytes");

            let file = Memory::default();
            let source = Source::Input(Input::from_bytes("data", data.clone()));
            let output = Output::to_writer("file", file.clone());
            encrypt(source, output, Secret::Key(&key()), FileCipher::cpu(), &()).unwrap();
            let file = file.0.lock().unwrap().clone();
            for step in [1 << 30, CHUNK + TAG, 70_001] {
                assert!(opened(&file, step, &key()).unwrap() == data, "{len} bytes, {step} at a time");
            }
        }
    }

    #[test]
    fn what_is_cut_changed_or_of_another_key_is_refused() {
        let file = sealed(&data(2 * CHUNK + 5), 1 << 20);
        for cut in [1, 5, TAG, TAG + 5, TAG + 6, CHUNK + TAG, CHUNK + 2 * TAG + 5, file.len() - HEADER] {
            assert!(opened(&file[..file.len() - cut], 1 << 20, &key()).is_err(), "{cut} bytes fewer");
        }
        for at in [HEADER, HEADER + CHUNK, HEADER + CHUNK + TAG, file.len() - 1] {
            let mut changed = file.clone();
            changed[at] ^= 1;
            assert!(opened(&changed, 4096, &key()).is_err(), "byte {at}");
        }
        let other = opened(&file, 4096, &UserKey::new(&[8; 32])).unwrap_err();
        assert!(other.hint().is_some(), "{other}");
    }
}
