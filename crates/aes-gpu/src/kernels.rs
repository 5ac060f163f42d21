//! The kernels of one device, loaded when they are first needed.

use gpu::{Error, Gpu, Kernel, Module, Result};
use he_core::aes::{Direction, KeySize};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of the four tables of a round in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tables {
    /// Two, in 64 KiB; the others are rotations. For devices with less than 128 KiB of shared
    /// memory.
    Two,
    /// All four, in 128 KiB.
    Four,
}

impl Tables {
    const fn count(self) -> u32 {
        match self {
            Tables::Two => 2,
            Tables::Four => 4,
        }
    }

    /// The bytes of shared memory.
    pub(crate) const fn bytes(self) -> u32 {
        self.count() << 15
    }

    /// The most tables for which the device has room.
    pub(crate) fn of(gpu: &Gpu) -> Self {
        if gpu.info().shared_memory >= Tables::Four.bytes() { Tables::Four } else { Tables::Two }
    }
}

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Entry {
    Ctr(KeySize, Tables),
    Ecb(Direction, KeySize, Tables),
    Xts(Direction, KeySize, Tables),
    EcbColumns,
    XtsTweaks,
    XtsSteal,
    GhashKey,
    GhashWide,
    GhashNarrow,
    GcmFinish,
}

/// Threads of a warp.
pub(crate) const WARP: u64 = 32;
/// The most threads per block of CTR, ECB and XTS (`AES_THREADS`).
pub(crate) const CIPHER_THREADS: u32 = 512;
/// Threads per block of GHASH (`GHASH_THREADS`).
pub(crate) const GHASH_THREADS: u32 = 1024;
/// Threads per block of the kernel for the key of GHASH.
pub(crate) const GHASH_KEY_THREADS: u32 = 256;
/// Threads per block of kernels with one thread for a unit or a message.
pub(crate) const UNIT_THREADS: u32 = 128;
/// Threads per block of the kernel with one thread for a column.
pub(crate) const COLUMN_THREADS: u32 = 256;

fn name(direction: Direction) -> &'static str {
    match direction {
        Direction::Encrypt => "encrypt",
        Direction::Decrypt => "decrypt",
    }
}

impl Entry {
    /// The file.
    fn file(self) -> &'static str {
        match self {
            Entry::Ctr(_, Tables::Two) => "aes_ctr_2",
            Entry::Ctr(_, Tables::Four) => "aes_ctr_4",
            Entry::Ecb(_, _, Tables::Two) => "aes_ecb_2",
            Entry::Ecb(_, _, Tables::Four) => "aes_ecb_4",
            Entry::Xts(_, _, Tables::Two) => "aes_xts_2",
            Entry::Xts(_, _, Tables::Four) => "aes_xts_4",
            Entry::EcbColumns => "aes_ecb_columns",
            Entry::XtsTweaks | Entry::XtsSteal => "aes_xts_units",
            Entry::GhashKey | Entry::GhashWide | Entry::GhashNarrow | Entry::GcmFinish => "aes_gcm",
        }
    }

    /// The kernel's name.
    fn name(self) -> String {
        match self {
            Entry::Ctr(size, tables) => format!("aes_ctr_{}_{}", size.bits(), tables.count()),
            Entry::Ecb(direction, size, tables) => {
                format!("aes_ecb_{}_{}_{}", name(direction), size.bits(), tables.count())
            }
            Entry::Xts(direction, size, tables) => {
                format!("aes_xts_{}_{}_{}", name(direction), size.bits(), tables.count())
            }
            Entry::EcbColumns => "aes_ecb_columns".into(),
            Entry::XtsTweaks => "aes_xts_tweaks".into(),
            Entry::XtsSteal => "aes_xts_steal".into(),
            Entry::GhashKey => "aes_ghash_key".into(),
            Entry::GhashWide => "aes_ghash_wide".into(),
            Entry::GhashNarrow => "aes_ghash_narrow".into(),
            Entry::GcmFinish => "aes_gcm_finish".into(),
        }
    }

    /// The threads per block, and the bytes of its dynamic shared memory.
    pub(crate) fn block(self) -> (u32, u32) {
        // A block of four words per warp.
        const SCRATCH: u32 = GHASH_THREADS / 32 * 16;
        match self {
            Entry::Ctr(_, tables) | Entry::Ecb(_, _, tables) | Entry::Xts(_, _, tables) => {
                (CIPHER_THREADS, tables.bytes())
            }
            Entry::EcbColumns => (COLUMN_THREADS, 4 * COLUMN_THREADS),
            Entry::XtsTweaks | Entry::XtsSteal | Entry::GcmFinish => (UNIT_THREADS, 0),
            Entry::GhashKey => (GHASH_KEY_THREADS, 40 * 16),
            Entry::GhashWide => (GHASH_THREADS, (64 << 10) + SCRATCH),
            Entry::GhashNarrow => (GHASH_THREADS, (8 << 10) + SCRATCH),
        }
    }
}

/// The kernels of one device.
#[derive(Debug)]
pub(crate) struct Kernels {
    gpu: Gpu,
    modules: Mutex<HashMap<&'static str, Module>>,
    kernels: Mutex<HashMap<Entry, Kernel>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kernels {
    pub(crate) fn new(gpu: &Gpu) -> Self {
        Self { gpu: gpu.clone(), modules: Mutex::default(), kernels: Mutex::default() }
    }

    /// The fastest GHASH that the device's shared memory allows.
    pub(crate) fn ghash(&self) -> Entry {
        let (_, shared) = Entry::GhashWide.block();
        if self.gpu.info().shared_memory >= shared { Entry::GhashWide } else { Entry::GhashNarrow }
    }

    /// Returns a kernel, loading it if necessary.
    pub(crate) fn get(&self, entry: Entry) -> Result<Kernel> {
        if let Some(kernel) = lock(&self.kernels).get(&entry) {
            return Ok(kernel.clone());
        }
        let mut modules = lock(&self.modules);
        let file = entry.file();
        let module = match modules.get(file) {
            Some(module) => module.clone(),
            None => {
                let missing =
                    || Error::Module { module: file.into(), reason: "it is not part of the crate".into() };
                let module = self.gpu.load(file, &he_ptx::text(file).ok_or_else(missing)?)?;
                modules.insert(file, module.clone());
                module
            }
        };
        let kernel = module.kernel(&entry.name(), entry.block().1)?;
        lock(&self.kernels).insert(entry, kernel.clone());
        Ok(kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_in_its_ptx() {
        let mut entries = vec![
            Entry::EcbColumns,
            Entry::XtsTweaks,
            Entry::XtsSteal,
            Entry::GhashKey,
            Entry::GhashWide,
            Entry::GhashNarrow,
            Entry::GcmFinish,
        ];
        for tables in [Tables::Two, Tables::Four] {
            for size in KeySize::ALL {
                entries.push(Entry::Ctr(size, tables));
                for direction in [Direction::Encrypt, Direction::Decrypt] {
                    entries
                        .extend([Entry::Ecb(direction, size, tables), Entry::Xts(direction, size, tables)]);
                }
            }
        }
        for entry in entries {
            let ptx = he_ptx::text(entry.file()).unwrap();
            assert!(ptx.contains(&format!(".entry {}(", entry.name())), "{entry:?}");
        }
    }
}
