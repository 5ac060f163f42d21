//! Queues of a device's work.

use crate::buffer::Buffer;
use crate::device::Gpu;
use crate::driver::{Handle, Launch};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::gather::Gathered;
use crate::graph::Graph;
use crate::interop::Owner;
use crate::module::Kernel;
use crate::pool::{Block, Pool, size_class};
use bytemuck::{NoUninit, bytes_of};
use std::ffi::c_void;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A queue of work, done in order, and the memory of its buffers. Clones refer to the same stream,
/// and threads may share it.
///
/// All work on a [`Buffer`] is done on the buffer's own stream. If a function here is given a
/// buffer of another stream, it orders the two streams around the work with events.
#[derive(Debug, Clone)]
pub struct Stream(Arc<Inner>);

/// Returns whether both are the same queue.
impl PartialEq for Stream {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Stream {}

#[derive(Debug)]
struct Inner {
    gpu: Gpu,
    handle: Handle,
    pool: Pool,
    /// The owner of the stream, unless this crate made it.
    owner: Option<Owner>,
    /// Foreign memory that graphs may use.
    kept: Mutex<Vec<Owner>>,
    /// The number of calls that hold captures off, or [`CAPTURED`].
    holds: AtomicIsize,
    /// Launches that are submitted to the driver together.
    gathered: Mutex<Gathered>,
}

/// A capture is in progress.
const CAPTURED: isize = -1;

/// Holds captures off while the driver handles host memory, events or waiting.
#[derive(Debug)]
pub(crate) struct Idle<'a>(&'a AtomicIsize);

impl Drop for Idle<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// The stream, if it still exists.
#[derive(Debug, Clone)]
pub(crate) struct WeakStream(Weak<Inner>);

impl WeakStream {
    pub(crate) fn upgrade(&self) -> Option<Stream> {
        self.0.upgrade().map(Stream)
    }

    pub(crate) fn alive(&self) -> bool {
        self.0.strong_count() > 0
    }
}

/// The offset and length in bytes of a range of words, which must lie within `of` words.
pub(crate) fn range(at: usize, words: usize, of: usize, call: &'static str) -> Result<(usize, usize)> {
    match at.checked_add(words) {
        Some(end) if end <= of => Ok((at * 8, words * 8)),
        _ => Err(Error::Driver {
            call,
            reason: format!("{words} words from {at} on do not lie within {of} words"),
        }),
    }
}

impl Stream {
    pub(crate) fn new(gpu: Gpu, handle: Handle, owner: Option<Owner>) -> Self {
        let (pool, kept, holds) = (Pool::default(), Mutex::default(), AtomicIsize::new(0));
        Self(Arc::new(Inner { gpu, handle, pool, owner, kept, holds, gathered: Mutex::default() }))
    }

    pub(crate) fn downgrade(&self) -> WeakStream {
        WeakStream(Arc::downgrade(&self.0))
    }

    pub(crate) fn handle(&self) -> Handle {
        self.0.handle
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.0.gpu
    }

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

    /// Copies words to a buffer's words from `at` on; `words` may change when this returns.
    ///
    /// # Errors
    /// [`Error::Driver`] if the range is outside, the devices differ, the stream is being captured,
    /// or the driver refuses.
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
    /// [`Error::Driver`] if the range is outside, the devices differ, the stream is being captured,
    /// or work has failed.
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
    /// [`Error::Driver`] if a range is outside, the devices differ, or the driver refuses.
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
    /// [`Error::Driver`] if the range is outside, the devices differ, or the driver refuses.
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

    /// Waits for all enqueued work.
    ///
    /// # Errors
    /// [`Error::Driver`] if work has failed, or the stream is being captured.
    pub fn synchronize(&self) -> Result<()> {
        let _idle = self.idle("Stream::synchronize")?;
        self.synchronize_idle()
    }

    /// [`synchronize`](Self::synchronize) for a caller that holds [`idle`](Self::idle).
    pub(crate) fn synchronize_idle(&self) -> Result<()> {
        self.flush()?;
        // SAFETY: the stream is live.
        unsafe { self.gpu().driver().synchronize(self.handle()) }
    }

    /// Runs `work` and submits its launches to the driver as one batch, when `work` ends or other
    /// work of this stream comes in between. If the same launches have been batched before, they
    /// are submitted as one graph. Their arguments are kept, so pass secrets to
    /// [`launch_apart`](Self::launch_apart). Nested calls form one batch.
    ///
    /// # Errors
    /// [`Error::Driver`] if the driver refuses a launch.
    pub fn batched<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.gathered().begin();
        let gathering = Gathering(self);
        let done = work();
        gathering.end().map(|()| done)
    }

    /// Launches a kernel with `grid` blocks of `block` threads and `shared` bytes of dynamic shared
    /// memory.
    ///
    /// # Safety
    /// - `A` is the kernel's one parameter, with the layout of the kernel's structure.
    /// - Every address in it is live in the memory of this device until the kernel has run, and the
    ///   kernel accesses nothing outside the allocations. A [`Buffer`] of this stream may be
    ///   dropped after this call; it lives on for the kernel.
    /// - Accesses to a buffer of another stream are ordered with that stream's work on it, by
    ///   [`record`](Self::record) and [`wait`](Self::wait), and with the reuse of its memory after
    ///   the buffer is dropped.
    /// - Nothing but this stream's earlier and later work accesses what the kernel writes, nor
    ///   writes what it accesses.
    /// - Within [`capture`](Self::capture) all this holds at every launch of the graph. For this
    ///   stream's buffers that live during the capture, the graph itself keeps the memory.
    ///
    /// # Errors
    /// [`Error::Driver`] if the kernel is of another device, `shared` is more than it was made for,
    /// or the driver refuses, as it does empty or too large grids and blocks.
    pub unsafe fn launch<A: NoUninit>(
        &self,
        kernel: &Kernel,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        args: &A,
    ) -> Result<()> {
        let launch = self.checked::<A>(kernel, grid, block, shared)?;
        let mut gathered = self.gathered();
        if gathered.is_on() {
            let full = gathered.push(launch, bytes_of(args));
            drop(gathered);
            return if full { self.flush() } else { Ok(()) };
        }
        drop(gathered);
        // SAFETY: the caller's word.
        unsafe { self.launch_checked(&launch, args) }
    }

    /// The same as [`launch`](Self::launch), but never batched: the argument is not kept.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    ///
    /// # Errors
    /// The same as for [`launch`](Self::launch).
    pub unsafe fn launch_apart<A: Copy>(
        &self,
        kernel: &Kernel,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        args: &A,
    ) -> Result<()> {
        let launch = self.checked::<A>(kernel, grid, block, shared)?;
        self.flush()?;
        // SAFETY: the caller's word.
        unsafe { self.launch_checked(&launch, args) }
    }

    fn checked<A>(&self, kernel: &Kernel, grid: [u32; 3], block: [u32; 3], shared: u32) -> Result<Launch> {
        const CALL: &str = "Stream::launch";
        debug_assert!(size_of::<A>() > 0 && size_of::<A>() <= 4096, "kernel parameters are 1 to 4096 bytes");
        self.gpu().same(&kernel.gpu, CALL)?;
        if shared > kernel.shared {
            let reason = format!("{shared} bytes of shared memory for a kernel made for {}", kernel.shared);
            return Err(Error::Driver { call: CALL, reason });
        }
        Ok(Launch { function: kernel.handle, grid, block, shared })
    }

    unsafe fn launch_checked<A>(&self, launch: &Launch, args: &A) -> Result<()> {
        let argument = std::ptr::from_ref(args).cast::<c_void>().cast_mut();
        // SAFETY: stream and kernel are live and of one driver; the caller guarantees the rest. The
        // driver copies the argument and does not write to it.
        unsafe { self.gpu().driver().launch(self.handle(), launch, argument) }
    }

    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.0.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits pending launches to the driver, as must happen before all other work of this stream.
    pub(crate) fn flush(&self) -> Result<()> {
        self.0.flush()
    }

    /// The bytes of the pool that no buffer uses.
    pub fn pooled_bytes(&self) -> usize {
        self.0.pool.bytes()
    }

    /// Waits for the work and returns memory that no buffer uses to the driver. Does nothing during
    /// a capture.
    pub fn trim(&self) {
        if let Ok(_idle) = self.idle("Stream::trim") {
            self.0.trim();
        }
    }

    /// Marks the work enqueued so far.
    ///
    /// # Errors
    /// [`Error::Driver`] if the driver refuses, or the stream is being captured.
    pub fn record(&self) -> Result<Event> {
        let _idle = self.idle("Stream::record")?;
        self.mark()
    }

    /// Makes all later work of this stream wait for an event, which may be of another stream of the
    /// device.
    ///
    /// # Errors
    /// [`Error::Driver`] if the event is of another device, the driver refuses, or the stream is
    /// being captured.
    pub fn wait(&self, event: &Event) -> Result<()> {
        let _idle = self.idle("Stream::wait")?;
        self.follow(event)
    }

    fn mark(&self) -> Result<Event> {
        self.flush()?;
        let event = Event::new(self.gpu())?;
        event.record(self)?;
        Ok(event)
    }

    fn follow(&self, event: &Event) -> Result<()> {
        self.gpu().same(event.gpu(), "Stream::wait")?;
        self.flush()?;
        // SAFETY: stream and event are live and of one driver.
        unsafe { self.gpu().driver().wait_event(self.handle(), event.handle()) }
    }

    /// Records what `work` enqueues on this stream, instead of doing it: launches, copies within
    /// the device and zeroing. Meanwhile, copies from and to the host, waiting and events are
    /// refused. `work` may make and drop buffers, whose contents do not exist before the graph is
    /// launched. No other thread should use the stream meanwhile, because its work would be
    /// recorded, too.
    ///
    /// # Errors
    /// The errors of `work`; [`Error::Driver`] if the driver has no graphs or refuses, or a capture
    /// is in progress.
    pub fn capture(&self, work: impl FnOnce() -> Result<()>) -> Result<Graph> {
        while let Err(holds) =
            self.0.holds.compare_exchange(0, CAPTURED, Ordering::Acquire, Ordering::Relaxed)
        {
            if holds == CAPTURED {
                return Err(captured("Stream::capture"));
            }
            std::thread::yield_now();
        }
        self.0.pool.begin();
        let begun = self.flush().and_then(|()| {
            // SAFETY: the stream is live; `Capture` ends what begins here.
            unsafe { self.gpu().driver().begin_capture(self.handle()) }
        });
        if let Err(error) = begun {
            self.0.pool.end(false);
            self.0.holds.store(0, Ordering::Release);
            return Err(error);
        }
        let capture = Capture(self);
        let done = work();
        let graph = capture.end(done.is_ok());
        done?;
        graph
    }

    /// Holds captures off, or fails if one is in progress. One call may do so several times.
    pub(crate) fn idle(&self, call: &'static str) -> Result<Idle<'_>> {
        let more = |holds| if holds == CAPTURED { None } else { Some(holds + 1) };
        match self.0.holds.fetch_update(Ordering::Acquire, Ordering::Relaxed, more) {
            Ok(_) => Ok(Idle(&self.0.holds)),
            Err(_) => Err(captured(call)),
        }
    }

    /// Runs `work` on this stream after the work that was enqueued on `owner`, and before any later
    /// work of it.
    pub(crate) fn ordered(
        &self,
        owner: &Self,
        call: &'static str,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        if self == owner {
            return work();
        }
        self.gpu().same(owner.gpu(), call)?;
        let _idle = (self.idle(call)?, owner.idle(call)?);
        self.follow(&owner.mark()?)?;
        let done = work();
        let after = self.mark().and_then(|event| owner.follow(&event));
        if after.is_err() {
            // The streams could not be ordered: wait instead, so that the memory is free for the
            // owner's work.
            let _ = self.synchronize_idle();
        }
        done.and(after)
    }

    pub(crate) fn give(&self, block: Block) {
        self.0.pool.give(block);
    }

    /// Ends foreign memory after its work; if there ever was a capture, with the stream.
    pub(crate) fn keep(&self, owner: Owner) {
        let idle = self.idle("Buffer::drop");
        if idle.is_ok() && !self.0.pool.captured() && self.synchronize_idle().is_ok() {
            drop(owner);
        } else {
            self.0.kept.lock().unwrap_or_else(PoisonError::into_inner).push(owner);
        }
    }

    pub(crate) fn release(&self, graph: u64) {
        self.0.pool.release(graph);
    }
}

fn captured(call: &'static str) -> Error {
    Error::Driver { call, reason: "the stream is being captured".into() }
}

/// A capture in progress; it ends even if `work` panics.
struct Capture<'a>(&'a Stream);

impl Capture<'_> {
    fn end(self, keep: bool) -> Result<Graph> {
        let stream = self.0;
        std::mem::forget(self);
        let flushed = stream.flush();
        // SAFETY: the stream is live and a capture is in progress.
        let graph = unsafe { stream.gpu().driver().end_capture(stream.handle()) };
        let keep = keep && flushed.is_ok();
        let id = stream.0.pool.end(keep && graph.is_ok());
        stream.0.holds.store(0, Ordering::Release);
        let handle = graph?;
        if keep {
            return Ok(Graph::new(stream.clone(), handle, id));
        }
        // SAFETY: the graph is live and was never launched.
        unsafe { stream.gpu().driver().destroy_graph(handle) };
        flushed?;
        Err(captured("Stream::capture"))
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        let _ = Capture(self.0).end(false);
    }
}

/// A batch of launches being collected; it ends even if `work` panics.
struct Gathering<'a>(&'a Stream);

impl Gathering<'_> {
    fn end(self) -> Result<()> {
        let stream = self.0;
        std::mem::forget(self);
        // Under one lock: between the end and the submission another thread's launch, which is not
        // gathered any more, would overtake these, and its buffer may be one that they still use.
        let mut gathered = stream.gathered();
        if gathered.end() { stream.0.submit(&mut gathered) } else { Ok(()) }
    }
}

impl Drop for Gathering<'_> {
    fn drop(&mut self) {
        let _ = Gathering(self.0).end();
    }
}

impl Inner {
    fn flush(&self) -> Result<()> {
        self.submit(&mut self.gathered.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn submit(&self, gathered: &mut Gathered) -> Result<()> {
        // A capture records the launches themselves.
        let graphs = self.holds.load(Ordering::Relaxed) != CAPTURED;
        // SAFETY: the stream is live; the launches are of its kernels, and their callers guarantee
        // the rest.
        unsafe { gathered.flush(self.gpu.driver(), self.handle, graphs) }
    }

    fn trim(&self) {
        let blocks = self.pool.drain();
        if blocks.is_empty() {
            return;
        }
        // A launch that fails does not use the blocks.
        let _ = self.flush();
        // SAFETY: the stream is live. If its work failed, the device does none of the rest, and the
        // blocks are free as well.
        let _ = unsafe { self.gpu.driver().synchronize(self.handle) };
        for address in blocks {
            // SAFETY: no buffer has the block, and all work on it is done.
            unsafe { self.gpu.driver().free(address) };
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.trim();
        self.gathered.get_mut().unwrap_or_else(PoisonError::into_inner).forget(self.gpu.driver());
        let kept = std::mem::take(self.kept.get_mut().unwrap_or_else(PoisonError::into_inner));
        if !kept.is_empty() || self.owner.is_some() {
            // This also makes the context current, which the owners need.
            // SAFETY: the stream is live. If its work failed, the device does none of the rest.
            let _ = unsafe { self.gpu.driver().synchronize(self.handle) };
        }
        drop(kept);
        // Dropped before the device, whose context it may need.
        if self.owner.take().is_none() {
            // SAFETY: buffers and graphs keep the stream, so this is its last use.
            unsafe { self.gpu.driver().destroy_stream(self.handle) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;
    use std::sync::atomic::AtomicU32;

    fn device() -> (Arc<Fake>, Gpu, Stream) {
        let fake = Fake::new();
        let gpu = Gpu::from_driver(fake.clone());
        let stream = gpu.stream().unwrap();
        fake.calls();
        (fake, gpu, stream)
    }

    fn refused<T>(result: Result<T>) -> bool {
        matches!(result, Err(Error::Driver { .. }))
    }

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

    #[test]
    fn all_goes_with_the_last_part() {
        let (fake, gpu, stream) = device();
        let buffer = stream.alloc(1).unwrap();
        drop((gpu, stream));
        assert_eq!(fake.live(), 1);
        fake.calls();
        drop(buffer);
        assert_eq!((fake.calls(), fake.live()), (vec!["synchronize", "free", "destroy_stream"], 0));
    }

    #[test]
    fn streams_are_ordered_around_borrowed_buffers() {
        let (fake, gpu, stream) = device();
        let other = gpu.stream().unwrap();
        let from = other.upload(&[1, 2]).unwrap();
        let mut to = stream.alloc(2).unwrap();
        fake.calls();
        stream.copy(&from, 0, &mut to, 0, 2).unwrap();
        assert_eq!(fake.calls(), ["wait_event", "copy", "wait_event"]);
        let (_, _, foreign) = device();
        assert!(refused(stream.copy(&foreign.upload(&[1, 2]).unwrap(), 0, &mut to, 0, 2)));
        assert!(refused(stream.wait(&foreign.record().unwrap())));
    }

    #[test]
    fn captures_refuse_the_host() {
        let (fake, gpu, stream) = device();
        let mut buffer = stream.alloc(4).unwrap();
        let mut pinned = gpu.pinned(4).unwrap();
        let event = stream.record().unwrap();
        fake.calls();
        let mut inside = 0;
        let graph = stream
            .capture(|| {
                assert!(refused(stream.write(&[1], &mut buffer, 0)));
                assert!(refused(stream.read(&buffer, 0, &mut [0])));
                assert!(refused(stream.write_pinned(&pinned, 0, &mut buffer, 0, 1)));
                assert!(refused(stream.read_pinned(&buffer, 0, &mut pinned, 0, 1)));
                assert!(refused(stream.synchronize()));
                assert!(refused(stream.record()));
                assert!(refused(stream.wait(&event)));
                assert!(refused(stream.capture(|| Ok(()))));
                let temporary = stream.zeros(4)?;
                inside = temporary.address();
                stream.copy(&temporary, 0, &mut buffer, 0, 4)?;
                stream.trim();
                Ok(())
            })
            .unwrap();
        assert_eq!(fake.calls(), ["begin_capture", "alloc", "fill_zero", "copy", "end_capture"]);
        let address = buffer.address();
        drop(buffer);
        let fresh = stream.alloc(4).unwrap();
        assert!(fresh.address() != inside && fresh.address() != address);
        graph.launch(&stream).unwrap();
        graph.launch(&gpu.stream().unwrap()).unwrap();
        drop(graph);
        assert_eq!(stream.pooled_bytes(), 512);
    }

    #[test]
    fn captures_end_on_every_path() {
        let (fake, _, stream) = device();
        let wrong = Error::Driver { call: "test", reason: "wrong".into() };
        assert_eq!(stream.capture(|| Err(wrong.clone())).err(), Some(wrong));
        assert_eq!(fake.calls(), ["begin_capture", "end_capture", "destroy_graph"]);
        let panic = std::panic::AssertUnwindSafe(|| stream.capture(|| panic!("on purpose")));
        assert!(std::panic::catch_unwind(panic).is_err());
        assert_eq!(fake.calls(), ["begin_capture", "end_capture", "destroy_graph"]);
        stream.synchronize().unwrap();
    }

    #[test]
    fn pinned_words_go_and_come_back() {
        let (_, gpu, stream) = device();
        let mut pinned = gpu.pinned(4).unwrap();
        assert_eq!(pinned.as_slice(), [0; 4]);
        pinned.as_mut_slice().copy_from_slice(&[1, 2, 3, 4]);
        let mut buffer = stream.zeros(3).unwrap();
        stream.write_pinned(&pinned, 1, &mut buffer, 0, 3).unwrap();
        stream.read_pinned(&buffer, 1, &mut pinned, 0, 2).unwrap();
        assert_eq!(pinned.as_slice(), [3, 4, 3, 4]);
        assert!(refused(stream.write_pinned(&pinned, 2, &mut buffer, 0, 3)));
        assert!(refused(stream.read_pinned(&buffer, 2, &mut pinned, 0, 2)));
        assert_eq!(gpu.pinned(0).unwrap().as_slice(), [0; 0]);
        assert!(gpu.pinned(usize::MAX / 4).is_err());
    }

    #[test]
    fn launches_are_checked() {
        let (fake, gpu, stream) = device();
        let kernel = gpu.load("k", "").unwrap().kernel("f", 16).unwrap();
        // SAFETY: the fake runs nothing.
        let launch =
            |stream: &Stream, shared| unsafe { stream.launch(&kernel, [1; 3], [1; 3], shared, &0_u64) };
        assert!(launch(&stream, 16).is_ok());
        assert!(refused(launch(&stream, 17)));
        assert!(refused(launch(&device().2, 0)));
        assert_eq!(fake.calls(), ["load", "function", "launch"]);
    }

    #[test]
    fn launches_go_together() {
        let (fake, gpu, stream) = device();
        let module = gpu.load("k", "").unwrap();
        let [f, g] = ["f", "g"].map(|name| module.kernel(name, 16).unwrap());
        let launch = |kernel: &Kernel, argument: u64| {
            // SAFETY: the fake runs nothing.
            unsafe { stream.launch(kernel, [1; 3], [1; 3], 16, &[argument; 3]) }
        };
        let all = |arguments: [u64; 3]| {
            stream
                .batched(|| {
                    stream.batched(|| launch(&f, arguments[0])).unwrap().unwrap();
                    launch(&g, arguments[1]).unwrap();
                    launch(&f, arguments[2])
                })
                .unwrap()
        };
        fake.calls();
        for _ in 0..2 {
            all([1, 2, 3]).unwrap();
            assert_eq!(fake.calls(), ["launch"; 3]);
        }
        for (arguments, updates) in [([1, 2, 3], 0), ([1, 2, 3], 0), ([1, 4, 5], 2), ([1, 4, 5], 0)] {
            let made = fake.calls();
            assert!(made.is_empty());
            all(arguments).unwrap();
            let mut calls = fake.calls();
            calls.retain(|call| *call != "create_sequence");
            let mut expected = vec!["update_sequence"; updates];
            expected.push("launch_graph");
            assert_eq!(calls, expected);
        }
        // Other work follows the launches enqueued before it, and an error does not swallow
        // launches.
        let result = stream.batched(|| {
            launch(&f, 1)?;
            drop(stream.zeros(1)?);
            launch(&g, 1)?;
            // SAFETY: the fake runs nothing.
            unsafe { stream.launch_apart(&f, [1; 3], [1; 3], 0, &1_u64) }?;
            launch(&g, 1)?;
            launch(&device().1.load("k", "").unwrap().kernel("f", 0).unwrap(), 1)
        });
        assert!(refused(result.unwrap()));
        assert_eq!(fake.calls(), ["alloc", "launch", "fill_zero", "launch", "launch", "launch"]);
        // A capture contains the launches, and sequences end with the stream.
        let graph = stream.capture(|| all([1, 2, 3])).unwrap();
        assert_eq!(fake.calls(), ["begin_capture", "launch", "launch", "launch", "end_capture"]);
        drop((graph, stream));
        assert!(fake.calls().contains(&"destroy_sequence"));
    }

    #[test]
    fn a_panic_ends_gathering() {
        let (fake, gpu, stream) = device();
        let kernel = gpu.load("k", "").unwrap().kernel("f", 0).unwrap();
        // SAFETY: the fake runs nothing.
        let launch = || unsafe { stream.launch(&kernel, [1; 3], [1; 3], 0, &1_u64) };
        let panic = std::panic::AssertUnwindSafe(|| {
            stream.batched(|| -> () {
                launch().unwrap();
                panic!("on purpose")
            })
        });
        fake.calls();
        assert!(std::panic::catch_unwind(panic).is_err());
        launch().unwrap();
        assert_eq!(fake.calls(), ["launch"; 2]);
    }

    /// What one thread launches after another thread's batch stays after it, at whatever moment of
    /// the batch it is launched: its buffer may be one that the batch has used and dropped.
    #[test]
    fn no_launch_overtakes_a_batch() {
        const ROUNDS: u32 = 200_000;
        let (fake, gpu, stream) = device();
        let kernel = gpu.load("k", "").unwrap().kernel("f", 0).unwrap();
        // SAFETY: the fake runs nothing.
        let launch = |grid| unsafe { stream.launch(&kernel, [grid, 1, 1], [1; 3], 0, &1_u64) }.unwrap();
        let (dropped, taken) = (AtomicU32::new(0), AtomicU32::new(0));
        let wait = |counter: &AtomicU32, round| {
            while counter.load(Ordering::Acquire) < round {
                std::hint::spin_loop();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=ROUNDS {
                    wait(&dropped, round);
                    // A moment that differs from round to round.
                    for moment in 0..round % 50 {
                        std::hint::black_box(moment);
                    }
                    launch(ROUNDS + round);
                    taken.store(round, Ordering::Release);
                }
            });
            for round in 1..=ROUNDS {
                let batch = || {
                    launch(round);
                    dropped.store(round, Ordering::Release);
                };
                stream.batched(batch).unwrap();
                wait(&taken, round);
            }
        });
        stream.synchronize().unwrap();
        let grids = fake.grids();
        let mut at = vec![0; 2 * ROUNDS as usize + 1];
        grids.iter().enumerate().for_each(|(i, &grid)| at[grid as usize] = i);
        assert_eq!(grids.len(), 2 * ROUNDS as usize);
        for round in 1..=ROUNDS as usize {
            assert!(at[round] < at[ROUNDS as usize + round], "round {round}");
        }
    }

    #[test]
    fn events_have_times() {
        let (_, _, stream) = device();
        let (first, second) = (stream.record().unwrap(), stream.record().unwrap());
        assert!(first.elapsed_ms(&second).unwrap() >= 0.0);
    }

    #[test]
    fn threads_share_a_stream() {
        let (_, _, stream) = device();
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let stream = stream.clone();
                scope.spawn(move || {
                    for word in 0..100 {
                        let buffer = stream.upload(&[thread, word]).unwrap();
                        let mut words = [0; 2];
                        stream.read(&buffer, 0, &mut words).unwrap();
                        assert_eq!(words, [thread, word]);
                    }
                });
            }
        });
        assert!(stream.pooled_bytes() <= 512);
    }
}
