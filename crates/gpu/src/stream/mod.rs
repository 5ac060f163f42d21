//! Queues of a device's work.

mod capture;
mod copies;
mod launches;
mod memory;

use crate::device::{Gpu, Reclaim};
use crate::driver::Handle;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::gather::Gathered;
use crate::interop::Owner;
use crate::pool::{Block, Pool};
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// A queue of work, done in order, and the memory of its buffers. Clones refer to the same stream,
/// and threads may share it.
///
/// All work on a [`Buffer`](crate::Buffer) is done on the buffer's own stream. If a function here is
/// given a buffer of another stream, it orders the two streams around the work with events.
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
    /// The event of [`mark_for_others`](Stream::mark_for_others).
    mark: OnceLock<Event>,
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

impl Gpu {
    /// Makes a stream with an empty pool.
    ///
    /// # Errors
    /// [`Error::Driver`] if the driver refuses.
    pub fn stream(&self) -> Result<Stream> {
        Ok(Stream::new(self.clone(), self.driver().create_stream()?, None))
    }
}

impl Stream {
    /// A stream with an empty pool, in which the device finds memory when it has no other.
    pub(crate) fn new(gpu: Gpu, handle: Handle, owner: Option<Owner>) -> Self {
        let (pool, kept, holds) = (Pool::default(), Mutex::default(), AtomicIsize::new(0));
        let (gathered, mark) = (Mutex::default(), OnceLock::new());
        let inner = Inner { gpu, handle, pool, owner, kept, holds, gathered, mark };
        let inner = Arc::new(inner);
        let pool: Weak<Inner> = Arc::downgrade(&inner);
        inner.gpu.register(pool);
        Self(inner)
    }

    pub(crate) fn handle(&self) -> Handle {
        self.0.handle
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.0.gpu
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

    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.0.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits pending launches to the driver, as must happen before all other work of this stream.
    pub(crate) fn flush(&self) -> Result<()> {
        self.0.flush()
    }

    /// Waits for the work and returns memory that no buffer uses to the driver, but for allocations
    /// that other buffers are in. Does nothing during a capture.
    pub fn trim(&self) {
        self.0.reclaim();
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
        self.gpu().same(event.gpu(), "Stream::wait")?;
        self.follow(event)
    }

    /// Marks the work enqueued so far, for other streams to follow at once: the next call moves the
    /// mark, of which those that follow it already take no notice.
    pub(crate) fn mark_for_others(&self) -> Result<&Event> {
        self.flush()?;
        let event = match self.0.mark.get() {
            Some(event) => event,
            None => {
                let event = Event::untimed(self.gpu())?;
                self.0.mark.get_or_init(|| event)
            }
        };
        self.mark_again(event)?;
        Ok(event)
    }

    fn mark(&self) -> Result<Event> {
        self.flush()?;
        let event = Event::new(self.gpu())?;
        self.mark_again(&event)?;
        Ok(event)
    }

    /// Moves the mark of an event to the current position of the stream.
    pub(crate) fn mark_again(&self, event: &Event) -> Result<()> {
        self.gpu().same(event.gpu(), "Stream::record")?;
        // SAFETY: stream and event are live and of one driver.
        unsafe { self.gpu().driver().record_event(self.handle(), event.handle()) }
    }

    /// [`wait`](Self::wait) for such a caller; the event may be one of another device that is
    /// connected.
    pub(crate) fn follow(&self, event: &Event) -> Result<()> {
        self.flush()?;
        // SAFETY: stream and event are live; drivers of one kind know each other's events.
        unsafe { self.gpu().driver().wait_event(self.handle(), event.handle()) }
    }

    /// Holds captures off, or fails if one is in progress. One call may do so several times.
    pub(crate) fn idle(&self, call: &'static str) -> Result<Idle<'_>> {
        self.0.idle(call)
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

    /// Counts a signal of this stream, before it is enqueued, and returns how many there were.
    pub(crate) fn count_signal(&self) -> u64 {
        self.0.pool.count_signal()
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

impl Inner {
    fn idle(&self, call: &'static str) -> Result<Idle<'_>> {
        let more = |holds| if holds == CAPTURED { None } else { Some(holds + 1) };
        match self.holds.fetch_update(Ordering::Acquire, Ordering::Relaxed, more) {
            Ok(_) => Ok(Idle(&self.holds)),
            Err(_) => Err(captured(call)),
        }
    }

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

impl Reclaim for Inner {
    fn reclaim(&self) {
        if let Ok(_idle) = self.idle("Stream::trim") {
            self.trim();
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
    use crate::testing::{device, refused};

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
