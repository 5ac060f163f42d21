//! The back end's handle.

use crate::blocks::Staging;
use crate::constants::ROW_THREADS;
use crate::kernels::{Entry, Kernels};
use bytemuck::NoUninit;
use gpu::{Branch, Gpu, Stream};
use he_core::{Error, Overseer, Oversight, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The arithmetic of transforms. Residues are canonical, so both leave the same words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// In float64 for primes below 2^50, if the device computes it at full rate; otherwise in
    /// integers.
    Auto,
    /// In float64 for primes below 2^50, on any device.
    Float,
    /// In 64-bit integers for every prime.
    Integer,
}

/// A stream of an NVIDIA GPU as a back end. Clones share the stream; [`another`](Self::another)
/// makes a second one on the same device. Threads may share a handle; their operations interleave
/// in the order of the calls.
#[derive(Clone)]
pub struct Cuda {
    pub(crate) stream: Stream,
    pub(crate) kernels: Arc<Kernels>,
    pub(crate) arithmetic: Arithmetic,
    pub(crate) staging: Arc<Staging>,
    pub(crate) oversight: Oversight,
    /// The ciphertexts of TFHE that were asked for since the stream was last waited for, of work
    /// that is overseen.
    ahead: Arc<AtomicUsize>,
}

/// The ciphertexts of TFHE of which the host may be ahead of a device whose work is overseen: a
/// fraction of a second of work.
pub(crate) const MOST_AHEAD: usize = 1 << 14;
/// The ciphertexts that the least launch counts as, since it takes as long as some.
const LEAST_AHEAD: usize = 1 << 8;

impl std::fmt::Debug for Cuda {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cuda {{ {:?}, {:?} }}", self.stream.gpu().info(), self.arithmetic)
    }
}

/// Converts an error of the device to one of he-core.
pub(crate) fn failed(op: &'static str) -> impl FnOnce(gpu::Error) -> Error {
    move |error| Error::Backend { op, source: Box::new(error) }
}

impl Cuda {
    /// Opens device `ordinal`.
    ///
    /// # Errors
    /// [`Error::Backend`] with a [`gpu::Error`]: no driver, no such device, a driver or device too
    /// old.
    pub fn open(ordinal: usize) -> Result<Self> {
        Self::on(&Gpu::open(ordinal).map_err(failed("open"))?)
    }

    /// Makes a stream of a device.
    ///
    /// # Errors
    /// Device errors.
    pub fn on(gpu: &Gpu) -> Result<Self> {
        Self::from_stream(gpu.stream().map_err(failed("stream"))?)
    }

    /// Uses a stream of the application.
    ///
    /// # Errors
    /// Device errors.
    pub fn from_stream(stream: Stream) -> Result<Self> {
        let kernels = Arc::new(Kernels::new(stream.gpu()));
        let cuda = Self {
            stream,
            kernels,
            arithmetic: Arithmetic::Auto,
            staging: Arc::default(),
            oversight: Oversight::default(),
            ahead: Arc::default(),
        };
        // The smallest module is loaded, so that a driver too old for the kernels is detected here.
        cuda.kernels.get(Entry::SampleUniform).map_err(failed("open"))?;
        Ok(cuda)
    }

    /// Makes a second stream on the same device, which shares the loaded kernels and runs
    /// concurrently with the first.
    ///
    /// # Errors
    /// Device errors.
    pub fn another(&self) -> Result<Self> {
        let stream = self.stream.gpu().stream().map_err(failed("stream"))?;
        Ok(Self { stream, ahead: Arc::default(), ..self.clone() })
    }

    /// The same stream, overseen by another one as well. The operations of TFHE ask between their
    /// launches, and do not let the host be more than a fraction of a second ahead of the device.
    #[must_use]
    pub fn overseen(&self, overseer: Arc<dyn Overseer>) -> Self {
        Self { oversight: self.oversight.and(overseer), ..self.clone() }
    }

    /// Ciphertexts of TFHE have been asked for. If the work is overseen, waits for the device once
    /// there are many, then asks whether the work goes on.
    pub(crate) fn asked_for(&self, op: &'static str, count: usize) -> Result<()> {
        if !self.oversight.exists() {
            return Ok(());
        }
        let more = count.max(LEAST_AHEAD);
        if self.ahead.fetch_add(more, Ordering::Relaxed) + more >= MOST_AHEAD {
            self.stream.synchronize().map_err(failed(op))?;
            self.ahead.store(0, Ordering::Relaxed);
        }
        self.oversight.check()
    }

    /// Chooses the arithmetic of rings that are prepared from now on.
    #[must_use]
    pub fn arithmetic(mut self, arithmetic: Arithmetic) -> Self {
        self.arithmetic = arithmetic;
        self
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        self.stream.gpu()
    }

    /// The stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Whether the device runs kernels for compute capability 8.0, which multiply matrices of bytes
    /// and copy to shared memory while their threads compute.
    pub(crate) fn runs_kernels_80(&self) -> bool {
        self.gpu().info().compute_capability >= (8, 0)
    }

    /// Launches a kernel.
    ///
    /// # Safety
    /// `args` is the kernel's argument; its addresses are live on this stream and hold what the
    /// kernel reads and writes.
    pub(crate) unsafe fn launch<A: NoUninit>(
        &self,
        op: &'static str,
        entry: Entry,
        grid: [u32; 3],
        threads: u32,
        shared: u32,
        args: &A,
    ) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch_in(None, op, entry, grid, threads, shared, args) }
    }

    /// The same, as the next launch of a branch, if one is given.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch), and [`Stream::launch_in`].
    pub(crate) unsafe fn launch_in<A: NoUninit>(
        &self,
        branch: Option<Branch>,
        op: &'static str,
        entry: Entry,
        grid: [u32; 3],
        threads: u32,
        shared: u32,
        args: &A,
    ) -> Result<()> {
        if grid.contains(&0) {
            return Ok(());
        }
        let kernel = self.kernels.get(entry).map_err(failed(op))?;
        // SAFETY: guaranteed by the caller.
        unsafe { self.stream.launch_in(branch, kernel, grid, [threads, 1, 1], shared, args) }
            .map_err(failed(op))
    }

    /// Launches a kernel with an argument that holds a seed, which is not kept.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    pub(crate) unsafe fn launch_apart<A: Copy>(
        &self,
        op: &'static str,
        entry: Entry,
        grid: [u32; 3],
        threads: u32,
        shared: u32,
        args: &A,
    ) -> Result<()> {
        if grid.contains(&0) {
            return Ok(());
        }
        let kernel = self.kernels.get(entry).map_err(failed(op))?;
        // SAFETY: guaranteed by the caller.
        unsafe { self.stream.launch_apart(kernel, grid, [threads, 1, 1], shared, args) }.map_err(failed(op))
    }

    /// Launches an elementwise kernel over rows of 2^log_n words.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    pub(crate) unsafe fn launch_rows<A: NoUninit>(
        &self,
        op: &'static str,
        entry: Entry,
        blocks: [u32; 3],
        args: &A,
    ) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch(op, entry, blocks, ROW_THREADS, 0, args) }
    }
}
