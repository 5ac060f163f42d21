//! The capture of work in a graph.

use super::{CAPTURED, Stream, captured};
use crate::error::Result;
use crate::graph::Graph;
use std::sync::atomic::Ordering;

impl Stream {
    /// Records what `work` enqueues on this stream, instead of doing it: launches, copies within
    /// the device and zeroing. Meanwhile, copies from and to the host, waiting and events are
    /// refused. `work` may make and drop buffers, whose contents do not exist before the graph is
    /// launched. No other thread should use the stream meanwhile, because its work would be
    /// recorded, too.
    ///
    /// # Errors
    /// The errors of `work`; [`Error::Driver`](crate::Error::Driver) if the driver has no graphs or
    /// refuses, or a capture is in progress.
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

#[cfg(test)]
mod tests {
    use crate::error::Error;
    use crate::testing::{device, refused};

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
                assert!(refused(stream.reading(&pinned, |_| unreachable!("a capture reads nothing"))));
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
}
