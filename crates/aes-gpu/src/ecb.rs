//! ECB on a stream.

use crate::args;
use crate::data::DeviceData;
use crate::kernels::{Entry, WARP};
use crate::key::DeviceKey;
use crate::stream::AesStream;
use he_core::aes::{BLOCK, Direction, Result, check_ecb};

impl AesStream {
    /// ECB of `len` bytes. Equal blocks stay equal, so this is for experiments only.
    ///
    /// # Errors
    /// [`AesError::PartialBlock`](he_core::aes::AesError::PartialBlock);
    /// [`AesError::Backend`](he_core::aes::AesError::Backend), also where a buffer is too short.
    pub fn hazmat_ecb(
        &self,
        key: &DeviceKey,
        direction: Direction,
        data: DeviceData<'_>,
        len: usize,
    ) -> Result<()> {
        check_ecb(len)?;
        self.own("ECB", &key.schedules)?;
        self.ordered("ECB", data, len, |src, dst| {
            let blocks = (len / BLOCK) as u64;
            let args = args::Ecb { src, dst, keys: key.address(direction), blocks };
            let entry = Entry::Ecb(direction, key.size, self.tables);
            // SAFETY: `ordered` has checked that `len` bytes are there, and orders them; the key is
            // of this stream.
            unsafe { self.launch("ECB", entry, self.grid(blocks.div_ceil(WARP)), &args) }
        })
    }

    /// ECB encryption as in P2 (Jiwandono, 2011): four threads per block, the state in shared
    /// memory, tables in constant memory. Kept for measurements.
    ///
    /// # Errors
    /// The same as for [`hazmat_ecb`](Self::hazmat_ecb).
    pub fn hazmat_ecb_by_columns(&self, key: &DeviceKey, data: DeviceData<'_>, len: usize) -> Result<()> {
        check_ecb(len)?;
        self.own("ECB", &key.schedules)?;
        self.ordered("ECB", data, len, |src, dst| {
            let blocks = (len / BLOCK) as u64;
            let ecb = args::Ecb { src, dst, keys: key.address(Direction::Encrypt), blocks };
            let args = args::EcbColumns { ecb, rounds: key.rounds(), unused: 0 };
            let grid = (4 * blocks).div_ceil(u64::from(Entry::EcbColumns.block().0));
            // SAFETY: as in `hazmat_ecb`.
            unsafe { self.launch("ECB", Entry::EcbColumns, grid, &args) }
        })
    }
}
