//! Host memory that the device copies without the host.

use crate::buffer::Buffer;
use crate::device::Gpu;
use crate::driver::Handle;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::range::range;
use crate::stream::Stream;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// Words in page-locked host memory, made by [`Gpu::pinned`]. Copies between it and the device, and
/// kernels that read it where it lies, run while the host goes on; its slices wait for those that
/// they would disturb, so words in flight can be neither seen nor changed. If a copy to it fails,
/// its words are arbitrary, and its slices return the error until [`zero`](Pinned::zero).
#[derive(Debug)]
pub struct Pinned {
    gpu: Gpu,
    /// Dangling if there are no words.
    memory: NonNull<u64>,
    words: usize,
    copies: Mutex<Copies>,
}

/// The copies in both directions.
#[derive(Debug, Default)]
struct Copies {
    /// Device to host: reading must wait, too.
    reads: Marks,
    /// Host to device, or kernels that read: only writing must wait.
    writes: Marks,
    /// The error of a copy to the host, after which the words are arbitrary.
    failed: Option<Error>,
}

impl Copies {
    /// Waits for the copies to the host of all streams but one, which is ordered by itself.
    fn arrive(&mut self, but: Option<&Stream>) -> Result<()> {
        if let Err(error) = self.reads.wait(but) {
            self.failed.get_or_insert(error);
        }
        self.failed.clone().map_or(Ok(()), Err)
    }
}

/// The last copy of each stream.
#[derive(Debug, Default)]
struct Marks {
    last: Vec<(Handle, Event)>,
    /// An event that was waited for, for the next mark.
    spare: Option<Event>,
}

impl Marks {
    /// Waits for the events of all streams but one, and returns the first error. If a wait fails,
    /// the device has failed and makes no more copies.
    fn wait(&mut self, but: Option<&Stream>) -> Result<()> {
        let mut done = Ok(());
        let over = |(handle, _): &mut (Handle, _)| but.is_none_or(|stream| *handle != stream.handle());
        for (_, event) in self.last.extract_if(.., over) {
            let waited = event.synchronize();
            if waited.is_ok() {
                self.spare = Some(event);
            }
            done = done.and(waited);
        }
        done
    }

    /// Marks the last work enqueued on `stream` as a copy. If the mark cannot be made, waits for
    /// the copy itself.
    fn set(&mut self, stream: &Stream) -> Result<()> {
        let at = self.last.iter().position(|(handle, _)| *handle == stream.handle());
        let marked = match at {
            Some(at) => stream.mark_again(&self.last[at].1),
            None => self.spare.take().map_or_else(|| Event::untimed(stream.gpu()), Ok).and_then(|event| {
                stream.mark_again(&event)?;
                self.last.push((stream.handle(), event));
                Ok(())
            }),
        };
        marked.or_else(|_| stream.synchronize_idle())
    }
}

// SAFETY: the words are owned; device copies are ordered with the host's accesses by `copies`.
unsafe impl Send for Pinned {}
// SAFETY: through a shared reference the words are only read, and `copies` is a mutex.
unsafe impl Sync for Pinned {}

impl Gpu {
    /// Zeroed words in page-locked host memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the host has no memory left; [`Error::Driver`] if the driver
    /// refuses.
    pub fn pinned(&self, words: usize) -> Result<Pinned> {
        Pinned::new(self.clone(), words)
    }
}

impl Pinned {
    fn new(gpu: Gpu, words: usize) -> Result<Self> {
        let bytes = words.checked_mul(8).ok_or(Error::OutOfMemory { bytes: usize::MAX })?;
        let memory = match bytes {
            0 => NonNull::dangling(),
            bytes => {
                let memory = gpu.driver().alloc_host(bytes)?;
                NonNull::new(memory.cast::<u64>()).ok_or(Error::OutOfMemory { bytes })?
            }
        };
        Ok(Self { gpu, memory, words, copies: Mutex::default() })
    }

    /// The number of words.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Whether they are of this device: operations of others refuse them.
    pub fn is_of(&self, gpu: &Gpu) -> bool {
        self.gpu.same(gpu, "Pinned::is_of").is_ok()
    }

    /// The words, after all copies to them.
    ///
    /// # Errors
    /// The error of the device if a copy to them has failed.
    pub fn as_slice(&self) -> Result<&[u64]> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner).arrive(None)?;
        // SAFETY: the memory has `words` initialised words; copies to it are over, and a new one
        // needs a mutable reference.
        Ok(unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.words) })
    }

    /// The words, after all copies to and from them.
    ///
    /// # Errors
    /// The error of the device if a copy to or from them has failed.
    pub fn as_mut_slice(&mut self) -> Result<&mut [u64]> {
        self.wait_all()?;
        // SAFETY: the memory has `words` initialised words; all copies are over, and a new one
        // needs a reference.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), self.words) })
    }

    /// Zeroes the words, after all copies to and from them, whether these succeed or not.
    pub fn zero(&mut self) {
        // A device that has failed makes no more copies.
        let _ = self.wait_all();
        // SAFETY: as in `as_mut_slice`; all bytes of a word may be 0.
        unsafe { self.memory.as_ptr().write_bytes(0, self.words) };
        self.copies.get_mut().unwrap_or_else(PoisonError::into_inner).failed = None;
    }

    fn wait_all(&mut self) -> Result<()> {
        let copies = self.copies.get_mut().unwrap_or_else(PoisonError::into_inner);
        let arrived = copies.arrive(None);
        copies.writes.wait(None).and(arrived)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = self.wait_all();
        if self.words > 0 {
            // SAFETY: the memory comes from `alloc_host` with these bytes; all copies are over.
            unsafe { self.gpu.driver().free_host(self.memory.as_ptr().cast(), self.words * 8) }
        }
    }
}

impl Stream {
    /// Copies `words` words of page-locked memory from `from_at` on to a buffer's words from `at`
    /// on, while the host continues. [`Pinned::as_mut_slice`] waits for it.
    ///
    /// # Errors
    /// [`Error::Driver`] if a range is outside, the devices differ, the stream is being captured,
    /// or the driver refuses.
    pub fn write_pinned(
        &self,
        from: &Pinned,
        from_at: usize,
        to: &mut Buffer,
        at: usize,
        words: usize,
    ) -> Result<()> {
        const CALL: &str = "Stream::write_pinned";
        let _idle = self.idle(CALL)?;
        self.gpu().same(&from.gpu, CALL)?;
        let (src, _) = range(from_at, words, from.words, CALL)?;
        let (dst, bytes) = range(at, words, to.words(), CALL)?;
        if bytes == 0 {
            return Ok(());
        }
        self.ordered(to.stream(), CALL, || {
            let mut copies = from.copies.lock().unwrap_or_else(PoisonError::into_inner);
            // The device may not read words that it is still writing for another stream.
            copies.arrive(Some(self))?;
            self.flush()?;
            // SAFETY: both ranges lie within their memory; the mark keeps the host from changing or
            // freeing the words before the copy is over.
            let asked = unsafe {
                let src = from.memory.as_ptr().cast::<u8>().add(src).cast();
                self.gpu().driver().write_async(self.handle(), to.address() + dst as u64, src, bytes)
            };
            copies.writes.set(self).and(asked)
        })
    }

    /// Runs `work`, whose launches on this stream may read page-locked memory where it lies: `work`
    /// gets the address of its words on the device, which is live for these launches alone. Each
    /// access of a kernel goes over the bus, so this is for words that are read once.
    /// [`Pinned::as_mut_slice`] waits for the launches.
    ///
    /// # Errors
    /// [`Error::Driver`] if the devices differ, the stream is being captured, or the driver
    /// refuses.
    pub fn reading<T>(&self, from: &Pinned, work: impl FnOnce(u64) -> T) -> Result<T> {
        const CALL: &str = "Stream::reading";
        let _idle = self.idle(CALL)?;
        self.gpu().same(&from.gpu, CALL)?;
        from.copies.lock().unwrap_or_else(PoisonError::into_inner).arrive(Some(self))?;
        // Under unified addressing, as all 64-bit systems have it, the address of page-locked
        // memory on the device is that on the host.
        let address = from.memory.as_ptr() as u64;
        let lent = Lent { stream: self, from };
        let done = work(address);
        lent.end().map(|()| done)
    }

    /// Copies `words` words of a buffer from `at` on to page-locked memory from `to_at` on, while
    /// the host continues. [`Pinned::as_slice`] waits for it.
    ///
    /// # Errors
    /// [`Error::Driver`] if a range is outside, the devices differ, the stream is being captured,
    /// or the driver refuses.
    pub fn read_pinned(
        &self,
        from: &Buffer,
        at: usize,
        to: &mut Pinned,
        to_at: usize,
        words: usize,
    ) -> Result<()> {
        const CALL: &str = "Stream::read_pinned";
        let _idle = self.idle(CALL)?;
        self.gpu().same(&to.gpu, CALL)?;
        let (src, _) = range(at, words, from.words(), CALL)?;
        let (dst, bytes) = range(to_at, words, to.words, CALL)?;
        if bytes == 0 {
            return Ok(());
        }
        self.ordered(from.stream(), CALL, || {
            let copies = to.copies.get_mut().unwrap_or_else(PoisonError::into_inner);
            copies.arrive(Some(self))?;
            copies.writes.wait(Some(self))?;
            self.flush()?;
            // SAFETY: both ranges lie within their memory; the mark keeps the host from reading or
            // freeing the words before the copy is over.
            let asked = unsafe {
                let dst = to.memory.as_ptr().cast::<u8>().add(dst).cast();
                self.gpu().driver().read_async(self.handle(), from.address() + src as u64, dst, bytes)
            };
            copies.reads.set(self).and(asked)
        })
    }
}

/// Page-locked memory that launches may read; marked as such also if the caller's work panics.
struct Lent<'a> {
    stream: &'a Stream,
    from: &'a Pinned,
}

impl Lent<'_> {
    fn end(self) -> Result<()> {
        ManuallyDrop::new(self).mark()
    }

    fn mark(&self) -> Result<()> {
        let submitted = self.stream.flush();
        let mut copies = self.from.copies.lock().unwrap_or_else(PoisonError::into_inner);
        copies.writes.set(self.stream).and(submitted)
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        // The panic goes on.
        let _ = self.mark();
    }
}

#[cfg(test)]
mod tests {
    use crate::device::Gpu;
    use crate::lazy::{Lazy, Load};
    use crate::testing::{device, refused};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Otherwise the host could change words that a kernel is still to read.
    #[test]
    fn launches_are_marked_despite_a_panic() {
        for seed in 1..=20 {
            let gpu = Gpu::from_driver(Lazy::new(seed));
            let kernel = gpu.load("k", "").unwrap().kernel("load", 0).unwrap();
            let stream = gpu.stream().unwrap();
            let (buffer, mut pinned) = (stream.alloc(1).unwrap(), gpu.pinned(1).unwrap());
            pinned.as_mut_slice().unwrap()[0] = 7;
            let work = |src: u64| -> () {
                let args = Load { src, dst: buffer.address(), words: 1 };
                // SAFETY: the kernel's argument is this one, with a word on either side.
                unsafe { stream.launch(&kernel, [1; 3], [1; 3], 0, &args) }.unwrap();
                panic!("on purpose")
            };
            assert!(catch_unwind(AssertUnwindSafe(|| stream.reading(&pinned, work))).is_err());
            pinned.as_mut_slice().unwrap()[0] = 8;
            let mut found = [0];
            stream.read(&buffer, 0, &mut found).unwrap();
            assert_eq!(found, [7], "seed {seed}");
        }
    }

    #[test]
    fn pinned_words_go_and_come_back() {
        let (_, gpu, stream) = device();
        let mut pinned = gpu.pinned(4).unwrap();
        assert_eq!(pinned.as_slice().unwrap(), [0; 4]);
        pinned.as_mut_slice().unwrap().copy_from_slice(&[1, 2, 3, 4]);
        let mut buffer = stream.zeros(3).unwrap();
        stream.write_pinned(&pinned, 1, &mut buffer, 0, 3).unwrap();
        stream.read_pinned(&buffer, 1, &mut pinned, 0, 2).unwrap();
        assert_eq!(pinned.as_slice().unwrap(), [3, 4, 3, 4]);
        assert!(refused(stream.write_pinned(&pinned, 2, &mut buffer, 0, 3)));
        assert!(refused(stream.read_pinned(&buffer, 2, &mut pinned, 0, 2)));
        assert_eq!(gpu.pinned(0).unwrap().as_slice().unwrap(), [0; 0]);
        assert!(pinned.is_of(&gpu.clone()) && !pinned.is_of(&device().1));
        assert!(gpu.pinned(usize::MAX / 4).is_err());
    }
}
