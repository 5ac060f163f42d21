//! Several devices as one back end: each has some of the primes of every polynomial.
//!
//! Operations limb by limb, transforms and automorphisms run on every device for its own primes.
//! Key switches and divisions need the residues modulo other primes where they convert between
//! bases: there, and only there, each device sends its rows to the others. Everything else runs on
//! the first device, the lead, with buffers that are brought there.

mod backend;
mod buf;
mod key;
mod key_switch;
mod lead;
mod lwe;
mod ring;
mod rotations;

pub use buf::GroupBuf;
pub use ring::GroupRing;

use crate::cuda::{Cuda, failed};
use crate::kernels::Entry;
use crate::ntt::MOST_OTHERS;
use crate::share::Share;
use gpu::Signals;
use he_core::{Error, Overseer, Result};
use std::sync::Arc;

/// log2 of the least degree whose rings are split, unless chosen otherwise: the rows of smaller
/// ones take longer to exchange than they take to compute.
const LEAST_LOG_N: u32 = 14;

/// Several CUDA devices as a back end, each of which has some of the primes of every polynomial, so
/// that one large ciphertext is computed by all of them. It leaves the same words as [`Cuda`].
///
/// A group shortens single operations on large rings: N from 2^16 on and dozens of primes, on
/// devices that reach each other's memory directly (NVLink). For throughput, use one [`Cuda`] per
/// device and whole ciphertexts on each, which exchange nothing. Sampling, encoding, decoding, the
/// products of BFV, bigckks and TFHE run on the first device, the lead.
///
/// # Examples
/// ```no_run
/// use he_core::{ckks::CkksParams, ring::Ring};
/// use he_cuda::CudaGroup;
///
/// let params = CkksParams::for_depth(20).precision_bits(20).build()?;
/// let ring = Ring::new(CudaGroup::open(&[0, 1])?, params.rlwe().ring().clone())?;
/// # Ok::<(), he_core::Error>(())
/// ```
#[derive(Clone)]
pub struct CudaGroup {
    devices: Arc<[Cuda]>,
    /// The signals that order kernels that write to the memory of all other devices, if they can.
    signals: Option<Arc<Signals>>,
    least_log_n: u32,
}

/// Signals among the streams of devices.
fn signals(devices: &[Cuda]) -> Result<Arc<Signals>> {
    let with_kernels = |cuda: &Cuda| {
        let kernel = |entry| cuda.kernels.get(entry).cloned();
        Ok((cuda.stream.clone(), [kernel(Entry::SendSignals)?, kernel(Entry::AwaitSignals)?]))
    };
    devices
        .iter()
        .map(with_kernels)
        .collect::<gpu::Result<_>>()
        .and_then(Signals::new)
        .map(Arc::new)
        .map_err(failed("signals"))
}

impl std::fmt::Debug for CudaGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.devices.iter()).finish()
    }
}

/// The numbers of the devices: `cuda:0+1`.
impl std::fmt::Display for CudaGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ordinals: Vec<String> = self.ordinals().iter().map(usize::to_string).collect();
        write!(f, "cuda:{}", ordinals.join("+"))
    }
}

impl CudaGroup {
    /// Opens the devices with these numbers; the first is the lead.
    ///
    /// # Errors
    /// The same as for [`Cuda::open`] and [`on`](Self::on).
    pub fn open(ordinals: &[usize]) -> Result<Self> {
        Self::on(ordinals.iter().map(|&ordinal| Cuda::open(ordinal)).collect::<Result<_>>()?)
    }

    /// Makes a group of streams of devices; the first is the lead. Several streams of one device
    /// are allowed, and compute the same in no less time.
    ///
    /// # Errors
    /// [`Error::Argument`] if there are none; device errors.
    pub fn on(devices: Vec<Cuda>) -> Result<Self> {
        if devices.is_empty() {
            return Err(Error::argument("devices", "a group needs at least one device"));
        }
        let mut reaches_all = (2..=MOST_OTHERS + 1).contains(&devices.len());
        for (i, device) in devices.iter().enumerate() {
            for other in &devices[..i] {
                reaches_all &= device.gpu().connect(other.gpu()).map_err(failed("connect"))?;
            }
        }
        let signals = reaches_all.then(|| signals(&devices)).transpose()?;
        Ok(Self { devices: devices.into(), signals, least_log_n: LEAST_LOG_N })
    }

    /// Leaves rings of degrees below 2^`log_n` to the lead, of those that are prepared from now on.
    /// Without this, the degree is 2^14.
    #[must_use]
    pub fn split_from(mut self, log_n: u32) -> Self {
        self.least_log_n = log_n;
        self
    }

    /// Makes a second stream on every device, which run concurrently with the first ones.
    ///
    /// # Errors
    /// Device errors.
    pub fn another(&self) -> Result<Self> {
        let devices = self.devices.iter().map(Cuda::another).collect::<Result<Vec<_>>>()?;
        let signals = self.signals.as_ref().map(|_| signals(&devices)).transpose()?;
        Ok(Self { devices: devices.into(), signals, least_log_n: self.least_log_n })
    }

    /// The same streams, overseen by another one as well.
    #[must_use]
    pub fn overseen(&self, overseer: Arc<dyn Overseer>) -> Self {
        let devices = self.devices.iter().map(|cuda| cuda.overseen(Arc::clone(&overseer))).collect();
        Self { devices, ..self.clone() }
    }

    /// The devices, the lead first.
    pub fn devices(&self) -> &[Cuda] {
        &self.devices
    }

    /// Their numbers.
    pub fn ordinals(&self) -> Vec<usize> {
        self.devices.iter().map(|cuda| cuda.gpu().info().ordinal).collect()
    }

    fn signals(&self) -> Option<&Signals> {
        self.signals.as_deref()
    }

    fn lead(&self) -> &Cuda {
        &self.devices[0]
    }

    /// The share of a ring on each device.
    fn shares(&self) -> impl Iterator<Item = Share> + Clone + use<> {
        let count = self.devices.len();
        (0..count).map(move |device| Share::of(device, count))
    }
}
