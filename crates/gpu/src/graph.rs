//! Work that is recorded once and launched often.

use crate::driver::Handle;
use crate::error::Result;
use crate::stream::Stream;
use std::sync::{Mutex, PoisonError};

/// The work of a [`Stream::capture`]. It keeps the memory of every buffer that its stream had
/// during the capture, including dropped ones, so that launches can always use it.
#[derive(Debug)]
pub struct Graph {
    stream: Stream,
    /// Two threads may not use a graph of the driver at once.
    handle: Mutex<Handle>,
    /// The name of the graph in the stream's pool.
    id: u64,
}

impl Graph {
    pub(crate) fn new(stream: Stream, handle: Handle, id: u64) -> Self {
        Self { stream, handle: Mutex::new(handle), id }
    }

    /// Enqueues the work, in the order of `stream` and of the stream on which it was captured.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) if the driver refuses it, `stream` is of another
    /// device, or one of the two streams is being captured.
    pub fn launch(&self, stream: &Stream) -> Result<()> {
        let _idle = stream.idle("Graph::launch")?;
        stream.ordered(&self.stream, "Graph::launch", || {
            stream.flush()?;
            let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: stream and graph are live and of one driver; the pool keeps the graph's
            // memory; `ordered` orders it with all other work on that memory.
            unsafe { stream.gpu().driver().launch_graph(stream.handle(), *handle) }
        })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let handle = *self.handle.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the graph is live, and this is its last use.
        unsafe { self.stream.gpu().driver().destroy_graph(handle) };
        self.stream.release(self.id);
    }
}
