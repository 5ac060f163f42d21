//! Copies between the host and buffers, and between buffers.

use super::Stream;
use crate::buffer::Buffer;
use crate::error::Result;
use crate::range::range;

impl Stream {
    /// Copies words to a buffer's words from `at` on; `words` may change when this returns.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) if the range is outside, the devices differ, the
    /// stream is being captured, or the driver refuses.
    pub fn write(&self, words: &[u64], to: &mut Buffer, at: usize) -> Result<()> {
        const CALL: &str = "Stream::write";
        let (dst, bytes) = range(at, words.len(), to.words(), CALL)?;
        if bytes == 0 {
            return Ok(());
        }
        let _idle = self.idle(CALL)?;
        self.ordered(to.stream(), CALL, || {
            self.flush()?;
            // SAFETY: the source has `bytes` bytes, the destination lies within the buffer, and
            // `ordered` orders the copy.
            unsafe {
                self.gpu().driver().write(
                    self.handle(),
                    to.address() + dst as u64,
                    words.as_ptr().cast(),
                    bytes,
                )
            }
        })
    }

    /// Copies a buffer's words from `at` on to `words`, after all work enqueued before, and waits
    /// for the copy.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) if the range is outside, the devices differ, the
    /// stream is being captured, or work has failed.
    pub fn read(&self, from: &Buffer, at: usize, words: &mut [u64]) -> Result<()> {
        const CALL: &str = "Stream::read";
        let (src, bytes) = range(at, words.len(), from.words(), CALL)?;
        if bytes == 0 {
            return Ok(());
        }
        let _idle = self.idle(CALL)?;
        self.ordered(from.stream(), CALL, || {
            self.flush()?;
            // SAFETY: the destination has `bytes` bytes, the source lies within the buffer, and
            // `ordered` orders the copy.
            unsafe {
                self.gpu().driver().read(
                    self.handle(),
                    from.address() + src as u64,
                    words.as_mut_ptr().cast(),
                    bytes,
                )
            }
        })
    }

    /// Copies `words` words from one buffer to another.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) if a range is outside, the devices differ, or the
    /// driver refuses.
    pub fn copy(
        &self,
        from: &Buffer,
        from_at: usize,
        to: &mut Buffer,
        to_at: usize,
        words: usize,
    ) -> Result<()> {
        const CALL: &str = "Stream::copy";
        let (src, _) = range(from_at, words, from.words(), CALL)?;
        let (dst, bytes) = range(to_at, words, to.words(), CALL)?;
        if bytes == 0 {
            return Ok(());
        }
        let (src, dst) = (from.address() + src as u64, to.address() + dst as u64);
        self.ordered(from.stream(), CALL, || {
            self.ordered(to.stream(), CALL, || {
                self.flush()?;
                // SAFETY: both ranges lie within their buffers, which are different ones, and
                // `ordered` orders it.
                unsafe { self.gpu().driver().copy(self.handle(), src, dst, bytes) }
            })
        })
    }

    /// Zeroes `words` words of a buffer from `at` on.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) if the range is outside, the devices differ, or the
    /// driver refuses.
    pub fn fill_zero(&self, buf: &mut Buffer, at: usize, words: usize) -> Result<()> {
        const CALL: &str = "Stream::fill_zero";
        let (dst, bytes) = range(at, words, buf.words(), CALL)?;
        if bytes == 0 {
            return Ok(());
        }
        self.ordered(buf.stream(), CALL, || {
            self.flush()?;
            // SAFETY: the range lies within the buffer, and `ordered` orders it.
            unsafe { self.gpu().driver().fill_zero(self.handle(), buf.address() + dst as u64, bytes) }
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{device, refused};

    #[test]
    fn words_go_and_come_back() {
        let (_, _, stream) = device();
        let mut buffer = stream.upload(&[1, 2, 3, 4]).unwrap();
        let mut other = stream.zeros(4).unwrap();
        stream.copy(&buffer, 1, &mut other, 2, 2).unwrap();
        stream.fill_zero(&mut buffer, 0, 1).unwrap();
        let (mut a, mut b) = ([9; 4], [9; 4]);
        stream.read(&buffer, 0, &mut a).unwrap();
        stream.read(&other, 0, &mut b).unwrap();
        assert_eq!((a, b), ([0, 2, 3, 4], [0, 0, 2, 3]));
        buffer.truncate(2);
        buffer.truncate(3);
        assert_eq!(buffer.words(), 2);
        assert!(refused(stream.read(&buffer, 0, &mut a)));
    }

    #[test]
    fn ranges_are_checked() {
        let (fake, _, stream) = device();
        let (mut a, mut b) = (stream.alloc(4).unwrap(), stream.alloc(4).unwrap());
        fake.calls();
        assert!(refused(stream.write(&[0; 2], &mut a, 3)));
        assert!(refused(stream.write(&[0; 2], &mut a, usize::MAX)));
        assert!(refused(stream.read(&a, 1, &mut [0; 4])));
        assert!(refused(stream.copy(&a, 0, &mut b, 1, 4)));
        assert!(refused(stream.copy(&a, 1, &mut b, 0, 4)));
        assert!(refused(stream.fill_zero(&mut a, 0, 5)));
        assert!(refused(stream.fill_zero(&mut a, usize::MAX, 2)));
        assert_eq!(fake.calls(), [""; 0]);
        stream.write(&[], &mut a, 4).unwrap();
        stream.fill_zero(&mut a, 4, 0).unwrap();
        assert_eq!(fake.calls(), [""; 0]);
    }
}
