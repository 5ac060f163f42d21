//! Targets, and how bytes become fields.

use std::path::{Path, PathBuf};

/// A target.
pub struct Target {
    /// The name of its file, of its program and of the folder of its corpus.
    pub name: &'static str,
    /// Checks the property that must hold of any bytes. It panics if it does not.
    pub run: fn(&[u8]),
    /// The inputs with which fuzzing begins, the same at every call.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

impl Target {
    /// The files of the corpus, by name: inputs that fuzzing found beyond the seeds.
    pub fn corpus(&self) -> Vec<PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .map(|folder| folder.join("fuzz/corpus"))
            .find(|folder| folder.is_dir());
        let folder = folder.expect("the corpus lies in fuzz/corpus").join(self.name);
        // A target without inputs has no folder.
        let entries = std::fs::read_dir(&folder).into_iter().flatten();
        let mut files: Vec<PathBuf> =
            entries.map(|entry| entry.expect("a file of the corpus").path()).collect();
        files.sort();
        files
    }

    /// Runs the corpus and the seeds, and returns how many inputs these were. Whoever watches the
    /// test learns which input was the last.
    pub fn replay(&self) -> usize {
        let files = self.corpus();
        for file in &files {
            println!("{}", file.display());
            (self.run)(&std::fs::read(file).expect("a file of the corpus"));
        }
        let seeds = (self.seeds)();
        for (number, seed) in seeds.iter().enumerate() {
            println!("{}: seed {number}", self.name);
            (self.run)(seed);
        }
        files.len() + seeds.len()
    }
}

/// Takes fields from the front of the bytes.
#[derive(Clone, Copy)]
pub struct Fields<'a>(pub &'a [u8]);

// Not every group of targets takes every kind of field.
#[allow(dead_code)]
impl Fields<'_> {
    /// The next bytes, if there are as many.
    pub fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    /// The next byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.take().map(u8::from_le_bytes)
    }

    /// The next two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    /// The next four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    /// The next eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// The next eight bytes as a number.
    pub fn f64(&mut self) -> Option<f64> {
        self.u64().map(f64::from_bits)
    }

    /// A count of 16 bits and as many numbers of 64.
    pub fn words(&mut self) -> Option<Vec<u64>> {
        let count = self.u16()?;
        (0..count).map(|_| self.u64()).collect()
    }

    /// A count of 16 bits and as many numbers of 16.
    pub fn shorts(&mut self) -> Option<Vec<usize>> {
        let count = self.u16()?;
        (0..count).map(|_| self.u16().map(usize::from)).collect()
    }

    /// A count of 8 bits and as many numbers of 8.
    pub fn bytes(&mut self) -> Option<Vec<u32>> {
        let count = self.u8()?;
        (0..count).map(|_| self.u8().map(u32::from)).collect()
    }
}

/// Makes the checksums of a sequence of frames right, as well as magic and version, so that bytes
/// behind them are reached. Stops where the sequence does.
pub fn repair_frames(bytes: &mut [u8]) {
    let (mut at, mut chain, mut count) = (0, blake3::Hasher::new(), 0u64);
    while bytes.len() - at >= 80 {
        bytes[at..at + 6].copy_from_slice(b"HEWF\x01\x00");
        let length = u64::from_le_bytes(bytes[at + 40..at + 48].try_into().expect("eight bytes"));
        let Some(length) = usize::try_from(length).ok().filter(|&length| length <= bytes.len() - at - 80)
        else {
            return;
        };
        if bytes[at + 6..at + 8] == [9, 0] && length == 40 {
            bytes[at + 48..at + 56].copy_from_slice(&count.to_le_bytes());
            let hash = chain.finalize();
            bytes[at + 56..at + 88].copy_from_slice(hash.as_bytes());
        }
        let end = at + 48 + length;
        let hash = blake3::hash(&bytes[at..end]);
        bytes[end..end + 32].copy_from_slice(hash.as_bytes());
        chain.update(hash.as_bytes());
        count += 1;
        at = end + 32;
    }
}
