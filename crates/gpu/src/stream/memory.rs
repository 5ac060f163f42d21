//! Buffers of a stream, from its pool.

use super::Stream;
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::pool::{Block, size_class};

impl Stream {
    /// Allocates a buffer of words with arbitrary contents.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if memory does not suffice even after the pools of all streams of the
    /// device have been emptied.
    pub fn alloc(&self, words: usize) -> Result<Buffer> {
        if words == 0 {
            return Ok(Buffer::new(self.clone(), None, 0));
        }
        let class =
            words.checked_mul(8).and_then(size_class).ok_or(Error::OutOfMemory { bytes: usize::MAX })?;
        let block = match self.0.pool.take(class) {
            Some(block) => block,
            None => self.make(class)?,
        };
        Ok(Buffer::new(self.clone(), Some(block), words))
    }

    #[cold]
    fn make(&self, class: usize) -> Result<Block> {
        let driver = self.gpu().driver();
        match self.0.pool.make(driver, class) {
            Err(Error::OutOfMemory { .. }) => {
                self.gpu().trim();
                self.0.pool.make(driver, class)
            }
            made => made,
        }
    }

    /// Allocates a buffer of zeros.
    ///
    /// # Errors
    /// The same as for [`alloc`](Self::alloc); [`Error::Driver`] if the driver refuses.
    pub fn zeros(&self, words: usize) -> Result<Buffer> {
        let mut buffer = self.alloc(words)?;
        self.fill_zero(&mut buffer, 0, words)?;
        Ok(buffer)
    }

    /// Allocates a buffer with the given words.
    ///
    /// # Errors
    /// The same as for [`alloc`](Self::alloc) and [`write`](Self::write).
    pub fn upload(&self, words: &[u64]) -> Result<Buffer> {
        let mut buffer = self.alloc(words.len())?;
        self.write(words, &mut buffer, 0)?;
        Ok(buffer)
    }

    /// The bytes of the pool that no buffer uses.
    pub fn pooled_bytes(&self) -> usize {
        self.0.pool.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Gpu;
    use crate::lazy::Lazy;
    use crate::testing::device;

    #[test]
    fn nothing_is_a_buffer_too() {
        let (fake, _, stream) = device();
        let empty = stream.alloc(0).unwrap();
        assert_eq!((empty.address(), empty.words()), (0, 0));
        assert_eq!((stream.zeros(0).unwrap().words(), stream.upload(&[]).unwrap().words()), (0, 0));
        assert_eq!(fake.calls(), [""; 0]);
    }

    #[test]
    fn the_pool_does_without_the_driver() {
        let (fake, _, stream) = device();
        let buffer = stream.alloc(100).unwrap();
        let address = buffer.address();
        drop(buffer);
        assert_eq!(stream.pooled_bytes(), 832);
        fake.calls();
        for words in [98, 104, 97] {
            assert_eq!(stream.alloc(words).unwrap().address(), address);
        }
        assert_eq!(fake.calls(), [""; 0]);
        stream.trim();
        assert_eq!((fake.calls(), fake.live(), stream.pooled_bytes()), (vec!["synchronize", "free"], 0, 0));
        stream.trim();
        assert_eq!(fake.calls(), [""; 0]);
    }

    /// Sixteen blocks of 1.125 MiB come alone, and further ones in slabs of as many: no two
    /// overlap, slabs stay as long as a buffer is in one, and all memory comes back.
    #[test]
    fn large_blocks_share_slabs() {
        const WORDS: usize = 9 << 14;
        let lazy = Lazy::new(7);
        let stream = Gpu::from_driver(lazy.clone()).stream().unwrap();
        let alloc = |count: u64| (0..count).map(|i| stream.upload(&[i; WORDS]).unwrap()).collect::<Vec<_>>();
        let read = |buffer: &Buffer| {
            let mut words = vec![0; WORDS];
            stream.read(buffer, 0, &mut words).unwrap();
            words
        };
        let mut buffers = alloc(20);
        assert_eq!(stream.pooled_bytes(), 12 * 8 * WORDS);
        for (i, buffer) in buffers.iter().enumerate() {
            assert!(read(buffer).iter().all(|&word| word == i as u64), "{i}");
        }
        let last = buffers.pop().unwrap();
        drop(buffers);
        stream.trim();
        assert_eq!(stream.pooled_bytes(), 15 * 8 * WORDS);
        assert!(read(&last).iter().all(|&word| word == 19));
        drop((alloc(16), last));
        stream.trim();
        assert_eq!(stream.pooled_bytes(), 0);
        drop(stream);
        assert!(lazy.is_empty());
    }

    #[test]
    fn out_of_memory_asks_the_pools_first() {
        let (fake, gpu, stream) = device();
        let other = gpu.stream().unwrap();
        drop((stream.alloc(2048).unwrap(), other.alloc(4096).unwrap()));
        fake.calls();
        let large = stream.alloc(8192).unwrap();
        assert_eq!(fake.calls(), ["alloc", "synchronize", "free", "synchronize", "free", "alloc"]);
        assert_eq!(stream.alloc(32).err(), Some(Error::OutOfMemory { bytes: 256 }));
        assert_eq!(stream.alloc(usize::MAX / 2).err(), Some(Error::OutOfMemory { bytes: usize::MAX }));
        assert_eq!(stream.alloc(usize::MAX / 8).err(), Some(Error::OutOfMemory { bytes: usize::MAX }));
        drop(large);
        assert!(stream.alloc(32).is_ok());
    }
}
