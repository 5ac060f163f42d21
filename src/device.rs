//! A device that is chosen when the program runs.

use he_core::backend::delegate::Refer;
use he_core::backend::{
    Backend, Blocks, CkksOps, Cpu, ExactOps, KeySwitchOps, MatrixOps, MatrixProduct, PolyOps, PreparedRing,
    WidePolyOps,
};
use he_core::ring::RingSpec;
use he_core::tfhe::{BootstrapKey, CircuitKey, Combination, LweOps, TfheParams};
use he_core::{Error, Overseer, Result, for_each_ring_op, for_each_wide_op, own_outcome};
#[cfg(feature = "cuda")]
use he_cuda::{
    Cuda, CudaCircuitKey, CudaGroup, CudaLweKey, CudaRing, GroupBuf, GroupRing,
    gpu::{self, Buffer, Gpu},
};
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

/// A device that is chosen when the program runs: the CPU, a CUDA device, or several of them as
/// one.
///
/// It is a back end like [`Cpu`] and `Cuda`, so every type of the library that is generic over the
/// back end runs on it, and leaves the same words. Each operation costs one branch more than on the
/// back end itself. Programs that know their device when they are compiled name that one instead.
///
/// Buffers, prepared rings and keys belong to the device that made them. An operation that meets
/// one of another device ends in [`Error::DeviceMismatch`]; `to` moves objects between devices.
///
/// # Examples
/// ```
/// use he::Device;
/// use he::ring::{Poly, Ring, RingSpec, Seed, Span};
///
/// let device = Device::auto();
/// let ring = Ring::new(device, RingSpec::new(3, vec![97, 113], vec![])?)?;
/// let a = Poly::uniform(&ring, Span::chain(2), 1, &Seed([1; 32]), 0)?;
/// let mut b = Poly::error(&ring, Span::chain(2), 1, &Seed([2; 32]), 0)?.into_eval()?;
/// b.mul_assign(&a)?;
/// # Ok::<(), he::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Device {
    /// The CPU.
    Cpu(Cpu),
    /// A stream of a CUDA device.
    #[cfg(feature = "cuda")]
    Cuda(Cuda),
    /// Several CUDA devices, each with some of the primes of every polynomial: for large rings.
    #[cfg(feature = "cuda")]
    Group(CudaGroup),
}

impl Device {
    /// The first CUDA device that works, otherwise the CPU; [`detect`](Self::detect) also tells
    /// why.
    pub fn auto() -> Self {
        Self::detect().0
    }

    /// The first CUDA device that works, otherwise the CPU, and then the error of the first CUDA
    /// device if there are some and none of them works. That the computer has neither a device nor
    /// a driver is not an error.
    pub fn detect() -> (Self, Option<Error>) {
        match first(Self::cuda_count(), Self::cuda) {
            Ok(device) => (device, None),
            Err(trouble) => (Self::cpu(), trouble),
        }
    }

    /// The CPU, with the best instructions that it has.
    pub fn cpu() -> Self {
        Self::Cpu(Cpu::new())
    }

    /// The CUDA device of this number.
    ///
    /// # Errors
    /// [`Error::Backend`]: no driver, no such device, a driver or device too old.
    /// [`Error::Argument`] if the library was compiled without the feature `cuda`.
    #[cfg(feature = "cuda")]
    pub fn cuda(ordinal: usize) -> Result<Self> {
        Cuda::open(ordinal).map(Self::Cuda)
    }

    /// The CUDA device of this number.
    ///
    /// # Errors
    /// [`Error::Argument`] if the library was compiled without the feature `cuda`.
    #[cfg(not(feature = "cuda"))]
    pub fn cuda(ordinal: usize) -> Result<Self> {
        let why = format!("cuda:{ordinal} needs the feature `cuda`, without which this was compiled");
        Err(Error::argument("device", why))
    }

    /// The CUDA devices of these numbers as one device; the first is the lead.
    ///
    /// # Errors
    /// [`Error::Argument`] if there are none; the same as for [`cuda`](Self::cuda).
    #[cfg(feature = "cuda")]
    pub fn group(ordinals: &[usize]) -> Result<Self> {
        CudaGroup::open(ordinals).map(Self::Group)
    }

    /// The CUDA devices of these numbers as one device.
    ///
    /// # Errors
    /// [`Error::Argument`] if there are none, or if the library was compiled without the feature
    /// `cuda`.
    #[cfg(not(feature = "cuda"))]
    pub fn group(ordinals: &[usize]) -> Result<Self> {
        match ordinals.first() {
            Some(&ordinal) => Self::cuda(ordinal),
            None => Err(Error::argument("devices", "a group needs at least one device")),
        }
    }

    /// Number of CUDA devices: 0 without a driver or without the feature `cuda`.
    ///
    /// # Errors
    /// [`Error::Backend`] if there is a driver, and it does not start.
    #[cfg(feature = "cuda")]
    pub fn cuda_count() -> Result<usize> {
        match Gpu::count() {
            Err(gpu::Error::NoDriver) => Ok(0),
            count => count.map_err(|error| Error::Backend { op: "count", source: error.into() }),
        }
    }

    /// Number of CUDA devices: 0 without a driver or without the feature `cuda`.
    ///
    /// # Errors
    /// None without the feature `cuda`.
    #[cfg(not(feature = "cuda"))]
    pub fn cuda_count() -> Result<usize> {
        Ok(0)
    }

    /// Every CUDA device in the order of their numbers, then the CPU.
    ///
    /// # Errors
    /// [`Error::Backend`] if a driver or a device that exists cannot be used.
    pub fn all() -> Result<Vec<Self>> {
        (0..Self::cuda_count()?).map(Self::cuda).chain([Ok(Self::cpu())]).collect()
    }

    /// The same device with an order of its own: a second stream of a GPU, which runs beside the
    /// first and shares the loaded kernels; the CPU as it is.
    ///
    /// # Errors
    /// Device errors.
    pub fn another(&self) -> Result<Self> {
        match self {
            Self::Cpu(cpu) => Ok(Self::Cpu(cpu.clone())),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => cuda.another().map(Self::Cuda),
            #[cfg(feature = "cuda")]
            Self::Group(group) => group.another().map(Self::Group),
        }
    }

    /// The same device, overseen by another one as well: from now on, each operation asks it
    /// whether the work goes on, and long ones ask between their pieces. Rings, keys and evaluators
    /// keep the device that they were made on; buffers belong to both.
    ///
    /// On a CUDA device operations are asked for ahead of it: batches of TFHE wait for it from time
    /// to time, so that work ends within a second there as well.
    #[must_use]
    pub fn overseen(&self, overseer: Arc<dyn Overseer>) -> Self {
        match self {
            Self::Cpu(cpu) => Self::Cpu(cpu.overseen(overseer)),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => Self::Cuda(cuda.overseen(overseer)),
            #[cfg(feature = "cuda")]
            Self::Group(group) => Self::Group(group.overseen(overseer)),
        }
    }

    /// Whether it is the CPU.
    pub const fn is_cpu(&self) -> bool {
        matches!(self, Self::Cpu(_))
    }
}

/// The first of the devices that opens; otherwise the first error, if there are devices at all.
fn first<T>(count: Result<usize>, open: impl Fn(usize) -> Result<T>) -> Result<T, Option<Error>> {
    let mut trouble = None;
    for ordinal in 0..count.map_err(Some)? {
        match open(ordinal) {
            Ok(device) => return Ok(device),
            Err(error) => {
                trouble.get_or_insert(error);
            }
        }
    }
    Err(trouble)
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

impl From<Cpu> for Device {
    fn from(cpu: Cpu) -> Self {
        Self::Cpu(cpu)
    }
}

#[cfg(feature = "cuda")]
impl From<Cuda> for Device {
    fn from(cuda: Cuda) -> Self {
        Self::Cuda(cuda)
    }
}

#[cfg(feature = "cuda")]
impl From<CudaGroup> for Device {
    fn from(group: CudaGroup) -> Self {
        Self::Group(group)
    }
}

/// Opens the device that is named: `auto`, `cpu`, `cuda`, `cuda:N` with the number of a device, or
/// `cuda:N+M...` with the numbers of several that are used as one.
impl FromStr for Device {
    type Err = Error;

    /// # Errors
    /// [`Error::Argument`] for any other name; the same as for [`Device::cuda`].
    fn from_str(name: &str) -> Result<Self> {
        // Digits alone: numbers also parse with a sign.
        let number =
            |digits: &str| digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()));
        let numbers = |names: &str| names.split('+').map(number).collect::<Option<Vec<usize>>>();
        match (name, name.strip_prefix("cuda:").and_then(numbers).as_deref()) {
            ("auto", _) => Ok(Self::auto()),
            ("cpu", _) => Ok(Self::cpu()),
            ("cuda", _) => Self::cuda(0),
            (_, Some(&[ordinal])) => Self::cuda(ordinal),
            (_, Some(ordinals)) => Self::group(ordinals),
            _ => {
                let why = format!("{name:?} is not one of auto, cpu, cuda, cuda:N and cuda:N+M");
                Err(Error::argument("device", why))
            }
        }
    }
}

/// An operation of a device, which takes what belongs to that device alone.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "cuda"), allow(dead_code))] // Without CUDA there is only one device.
struct At<'a> {
    device: &'a Device,
    op: &'static str,
}

#[cfg(feature = "cuda")]
impl At<'_> {
    fn mismatch(self, found: String) -> Error {
        Error::DeviceMismatch { op: self.op, device: self.device.name(), found }
    }

    /// Whether it runs on the CUDA device of this number, alone or as the lead of a group.
    fn is_cuda(self, ordinal: usize) -> bool {
        let cuda = match self.device {
            Device::Cpu(_) => return false,
            Device::Cuda(cuda) => cuda,
            Device::Group(group) => &group.devices()[0],
        };
        cuda.gpu().info().ordinal == ordinal
    }

    /// Whether it runs on the same CUDA devices as a group.
    fn is_group(self, other: &CudaGroup) -> bool {
        matches!(self.device, Device::Group(group) if group.ordinals() == other.ordinals())
    }
}

/// Something that belongs to a device, and references to it for operations of that device.
macro_rules! part {
    ($(#[$attribute:meta])* $name:ident, $cpu:ty, $cuda:ty $(, $group:ty)?) => {
        $(#[$attribute])*
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant, reason = "few exist, and they stay where they are")]
        #[non_exhaustive]
        pub enum $name {
            /// A value of the CPU.
            Cpu($cpu),
            /// A value of the CUDA device of this number.
            #[cfg(feature = "cuda")]
            Cuda($cuda, usize),
            $(
                /// A value of a group of CUDA devices.
                #[cfg(feature = "cuda")]
                Group($group),
            )?
        }

        #[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
        impl $name {
            #[cfg(feature = "cuda")]
            fn place(&self) -> String {
                match self {
                    Self::Cpu(_) => "cpu".to_owned(),
                    Self::Cuda(_, ordinal) => format!("cuda:{ordinal}"),
                    $(
                        Self::Group(part) => {
                            let _: &$group = part;
                            part.group().to_string()
                        }
                    )?
                }
            }

            fn cpu(&self, at: At<'_>) -> Result<&$cpu> {
                match self {
                    Self::Cpu(part) => Ok(part),
                    #[cfg(feature = "cuda")]
                    other => Err(at.mismatch(other.place())),
                }
            }

            #[cfg(feature = "cuda")]
            fn cuda(&self, at: At<'_>) -> Result<&$cuda> {
                match self {
                    Self::Cuda(part, ordinal) if at.is_cuda(*ordinal) => Ok(part),
                    other => Err(at.mismatch(other.place())),
                }
            }

            $(
                #[cfg(feature = "cuda")]
                fn group(&self, at: At<'_>) -> Result<&$group> {
                    match self {
                        Self::Group(part) if at.is_group(part.group()) => Ok(part),
                        other => Err(at.mismatch(other.place())),
                    }
                }
            )?
        }
    };
}

part! {
    /// Words in the memory of a device.
    DeviceBuf, <Cpu as Backend>::Buf, Buffer, GroupBuf
}

/// A ring that was prepared on a device.
#[derive(Debug)]
pub struct DeviceRing {
    device: Device,
    prepared: Prepared,
}

/// The ring that the back end of the device prepared.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "few exist, and they stay where they are")]
enum Prepared {
    Cpu(<Cpu as Backend>::Ring),
    #[cfg(feature = "cuda")]
    Cuda(CudaRing),
    #[cfg(feature = "cuda")]
    Group(GroupRing),
}

part! {
    /// A bootstrapping key on a device.
    DeviceLweKey, <Cpu as LweOps>::LweKey, CudaLweKey
}

part! {
    /// A key of circuit bootstrapping on a device.
    DeviceCircuitKey, <Cpu as LweOps>::CircuitKey, CudaCircuitKey
}

#[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
impl DeviceBuf {
    fn cpu_mut(&mut self, at: At<'_>) -> Result<&mut <Cpu as Backend>::Buf> {
        match self {
            Self::Cpu(words) => Ok(words),
            #[cfg(feature = "cuda")]
            other => Err(at.mismatch(other.place())),
        }
    }

    fn into_cpu(self, at: At<'_>) -> Result<<Cpu as Backend>::Buf> {
        match self {
            Self::Cpu(words) => Ok(words),
            #[cfg(feature = "cuda")]
            other => Err(at.mismatch(other.place())),
        }
    }

    #[cfg(feature = "cuda")]
    fn cuda_mut(&mut self, at: At<'_>) -> Result<&mut Buffer> {
        match self {
            Self::Cuda(_, ordinal) if !at.is_cuda(*ordinal) => Err(at.mismatch(format!("cuda:{ordinal}"))),
            Self::Cuda(words, _) => Ok(words),
            other => Err(at.mismatch(other.place())),
        }
    }

    #[cfg(feature = "cuda")]
    fn group_mut(&mut self, at: At<'_>) -> Result<&mut GroupBuf> {
        match self {
            Self::Group(words) if !at.is_group(words.group()) => Err(at.mismatch(words.group().to_string())),
            Self::Group(words) => Ok(words),
            other => Err(at.mismatch(other.place())),
        }
    }

    #[cfg(feature = "cuda")]
    fn into_group(self, at: At<'_>) -> Result<GroupBuf> {
        match self {
            Self::Group(words) if at.is_group(words.group()) => Ok(words),
            other => Err(at.mismatch(other.place())),
        }
    }

    #[cfg(feature = "cuda")]
    fn into_cuda(self, at: At<'_>) -> Result<Buffer> {
        match self {
            Self::Cuda(words, ordinal) if at.is_cuda(ordinal) => Ok(words),
            other => Err(at.mismatch(other.place())),
        }
    }
}

/// An argument as the CPU takes it; the words for the kinds are those of
/// [`delegate`](he_core::backend::delegate).
macro_rules! cpu_side {
    (value $arg:ident, $at:expr) => {
        $arg
    };
    (read $arg:ident, $at:expr) => {
        $arg.refer(&|part: &DeviceBuf| part.cpu($at))?
    };
    (terms $arg:ident, $at:expr) => {
        &$arg.refer(&|part: &DeviceBuf| part.cpu($at))?
    };
    (write $arg:ident, $at:expr) => {
        $arg.cpu_mut($at)?
    };
    (fill $arg:ident, $at:expr) => {
        $arg.try_map(|part: &mut DeviceBuf| part.cpu_mut($at))?
    };
    (take $arg:ident, $at:expr) => {
        $arg.into_cpu($at)?
    };
}

/// An argument as a CUDA device takes it.
#[cfg(feature = "cuda")]
macro_rules! cuda_side {
    (value $arg:ident, $at:expr) => {
        $arg
    };
    (read $arg:ident, $at:expr) => {
        $arg.refer(&|part: &DeviceBuf| part.cuda($at))?
    };
    (terms $arg:ident, $at:expr) => {
        &$arg.refer(&|part: &DeviceBuf| part.cuda($at))?
    };
    (write $arg:ident, $at:expr) => {
        $arg.cuda_mut($at)?
    };
    (fill $arg:ident, $at:expr) => {
        $arg.try_map(|part: &mut DeviceBuf| part.cuda_mut($at))?
    };
    (take $arg:ident, $at:expr) => {
        $arg.into_cuda($at)?
    };
}

/// An argument as a group of CUDA devices takes it.
#[cfg(feature = "cuda")]
macro_rules! group_side {
    (value $arg:ident, $at:expr) => {
        $arg
    };
    (read $arg:ident, $at:expr) => {
        $arg.refer(&|part: &DeviceBuf| part.group($at))?
    };
    (terms $arg:ident, $at:expr) => {
        &$arg.refer(&|part: &DeviceBuf| part.group($at))?
    };
    (write $arg:ident, $at:expr) => {
        $arg.group_mut($at)?
    };
    (fill $arg:ident, $at:expr) => {
        $arg.try_map(|part: &mut DeviceBuf| part.group_mut($at))?
    };
    (take $arg:ident, $at:expr) => {
        $arg.into_group($at)?
    };
}

/// An operation of whichever ring it is.
macro_rules! on_device {
    (fn $op:ident($($kind:ident $arg:ident: $type:ty),*) -> $outcome:ident $result:ty;) => {
        fn $op(&self, $($arg: $type),*) -> Result<$result> {
            #[allow(unused_variables, reason = "some operations take no buffers")]
            let at = At { device: &self.device, op: stringify!($op) };
            self.device.check()?;
            match &self.prepared {
                Prepared::Cpu(ring) => {
                    own_outcome!($outcome, DeviceBuf::Cpu, ring.$op($(cpu_side!($kind $arg, at)),*))
                }
                #[cfg(feature = "cuda")]
                Prepared::Cuda(ring) => own_outcome!(
                    $outcome,
                    |buf| owned(ring.backend(), buf),
                    ring.$op($(cuda_side!($kind $arg, at)),*)
                ),
                #[cfg(feature = "cuda")]
                Prepared::Group(ring) => {
                    own_outcome!($outcome, DeviceBuf::Group, ring.$op($(group_side!($kind $arg, at)),*))
                }
            }
        }
    };
}

/// A buffer of a CUDA device.
#[cfg(feature = "cuda")]
fn owned(cuda: &Cuda, buf: Buffer) -> DeviceBuf {
    DeviceBuf::Cuda(buf, cuda.gpu().info().ordinal)
}

/// The same call on the CPU, on a CUDA device and on a group.
macro_rules! either {
    ($device:expr, $backend:ident, $own:ident => $call:expr) => {
        match $device {
            Self::Cpu($backend) => {
                #[allow(unused_variables)]
                let $own = DeviceBuf::Cpu;
                $call
            }
            #[cfg(feature = "cuda")]
            Self::Cuda($backend) => {
                #[allow(unused_variables)]
                let $own = |buf| owned($backend, buf);
                $call
            }
            #[cfg(feature = "cuda")]
            Self::Group($backend) => {
                #[allow(unused_variables)]
                let $own = DeviceBuf::Group;
                $call
            }
        }
    };
}

impl Backend for Device {
    type Buf = DeviceBuf;
    type Ring = DeviceRing;

    fn name(&self) -> String {
        either!(self, backend, own => backend.name())
    }

    fn prepare(&self, spec: &RingSpec) -> Result<DeviceRing> {
        self.check()?;
        let prepared = match self {
            Self::Cpu(cpu) => Prepared::Cpu(cpu.prepare(spec)?),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => Prepared::Cuda(cuda.prepare(spec)?),
            #[cfg(feature = "cuda")]
            Self::Group(group) => Prepared::Group(group.prepare(spec)?),
        };
        Ok(DeviceRing { device: self.clone(), prepared })
    }

    fn zeros(&self, words: usize) -> Result<DeviceBuf> {
        either!(self, backend, own => backend.zeros(words).map(own))
    }

    fn scratch(&self, words: usize) -> Result<DeviceBuf> {
        either!(self, backend, own => backend.scratch(words).map(own))
    }

    fn upload(&self, words: &[u64]) -> Result<DeviceBuf> {
        either!(self, backend, own => backend.upload(words).map(own))
    }

    fn download(&self, buf: &DeviceBuf, range: Range<usize>) -> Result<Vec<u64>> {
        let at = At { device: self, op: "download" };
        match self {
            Self::Cpu(cpu) => cpu.download(buf.cpu(at)?, range),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => cuda.download(buf.cuda(at)?, range),
            #[cfg(feature = "cuda")]
            Self::Group(group) => group.download(buf.group(at)?, range),
        }
    }

    fn take(&self, buf: &mut DeviceBuf) -> Result<Vec<u64>> {
        let at = At { device: self, op: "take" };
        match self {
            Self::Cpu(cpu) => cpu.take(buf.cpu_mut(at)?),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => cuda.take(buf.cuda_mut(at)?),
            #[cfg(feature = "cuda")]
            Self::Group(group) => group.take(buf.group_mut(at)?),
        }
    }

    fn take_with<T>(&self, buf: DeviceBuf, read: impl FnOnce(&[u64]) -> Result<T>) -> Result<T> {
        #[cfg(feature = "cuda")]
        let at = At { device: self, op: "take_with" };
        match (self, buf) {
            (Self::Cpu(cpu), DeviceBuf::Cpu(words)) => cpu.take_with(words, read),
            #[cfg(feature = "cuda")]
            (Self::Cuda(cuda), DeviceBuf::Cuda(words, ordinal)) if at.is_cuda(ordinal) => {
                cuda.take_with(words, read)
            }
            #[cfg(feature = "cuda")]
            (Self::Group(group), DeviceBuf::Group(words)) if at.is_group(words.group()) => {
                group.take_with(words, read)
            }
            #[cfg(feature = "cuda")]
            (_, mut other) => {
                self.wipe(&mut other);
                Err(at.mismatch(other.place()))
            }
        }
    }

    fn copy(
        &self,
        src: &DeviceBuf,
        src_at: usize,
        dst: &mut DeviceBuf,
        dst_at: usize,
        words: usize,
    ) -> Result<()> {
        let at = At { device: self, op: "copy" };
        match self {
            Self::Cpu(cpu) => cpu.copy(src.cpu(at)?, src_at, dst.cpu_mut(at)?, dst_at, words),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => cuda.copy(src.cuda(at)?, src_at, dst.cuda_mut(at)?, dst_at, words),
            #[cfg(feature = "cuda")]
            Self::Group(group) => group.copy(src.group(at)?, src_at, dst.group_mut(at)?, dst_at, words),
        }
    }

    fn copy_blocks(
        &self,
        src: &DeviceBuf,
        from: Blocks,
        dst: &mut DeviceBuf,
        to: Blocks,
        words: usize,
        count: usize,
    ) -> Result<()> {
        let at = At { device: self, op: "copy_blocks" };
        match self {
            Self::Cpu(cpu) => cpu.copy_blocks(src.cpu(at)?, from, dst.cpu_mut(at)?, to, words, count),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => cuda.copy_blocks(src.cuda(at)?, from, dst.cuda_mut(at)?, to, words, count),
            #[cfg(feature = "cuda")]
            Self::Group(group) => {
                group.copy_blocks(src.group(at)?, from, dst.group_mut(at)?, to, words, count)
            }
        }
    }

    fn copy_places(
        &self,
        src: &DeviceBuf,
        from: Blocks,
        dst: &mut DeviceBuf,
        to: Blocks,
        places: &[[usize; 2]],
        shape: [usize; 2],
    ) -> Result<()> {
        let at = At { device: self, op: "copy_places" };
        match self {
            Self::Cpu(cpu) => cpu.copy_places(src.cpu(at)?, from, dst.cpu_mut(at)?, to, places, shape),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => cuda.copy_places(src.cuda(at)?, from, dst.cuda_mut(at)?, to, places, shape),
            #[cfg(feature = "cuda")]
            Self::Group(group) => {
                group.copy_places(src.group(at)?, from, dst.group_mut(at)?, to, places, shape)
            }
        }
    }

    fn join_runs(&self, parts: &[(&DeviceBuf, usize)], dst: &mut DeviceBuf, runs: usize) -> Result<()> {
        let at = At { device: self, op: "join_runs" };
        match self {
            Self::Cpu(cpu) => {
                let parts: Vec<_> =
                    parts.iter().map(|&(part, words)| Ok((part.cpu(at)?, words))).collect::<Result<_>>()?;
                cpu.join_runs(&parts, dst.cpu_mut(at)?, runs)
            }
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => {
                let parts: Vec<_> =
                    parts.iter().map(|&(part, words)| Ok((part.cuda(at)?, words))).collect::<Result<_>>()?;
                cuda.join_runs(&parts, dst.cuda_mut(at)?, runs)
            }
            #[cfg(feature = "cuda")]
            Self::Group(group) => {
                let parts: Vec<_> =
                    parts.iter().map(|&(part, words)| Ok((part.group(at)?, words))).collect::<Result<_>>()?;
                group.join_runs(&parts, dst.group_mut(at)?, runs)
            }
        }
    }

    fn transpose_words(
        &self,
        src: &DeviceBuf,
        src_at: usize,
        dst: &mut DeviceBuf,
        dst_at: usize,
        shape: [usize; 2],
        count: usize,
    ) -> Result<()> {
        let at = At { device: self, op: "transpose_words" };
        match self {
            Self::Cpu(cpu) => {
                cpu.transpose_words(src.cpu(at)?, src_at, dst.cpu_mut(at)?, dst_at, shape, count)
            }
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => {
                cuda.transpose_words(src.cuda(at)?, src_at, dst.cuda_mut(at)?, dst_at, shape, count)
            }
            #[cfg(feature = "cuda")]
            Self::Group(group) => {
                group.transpose_words(src.group(at)?, src_at, dst.group_mut(at)?, dst_at, shape, count)
            }
        }
    }

    // These cannot fail, so they do the same to a buffer of any device.

    fn words(&self, buf: &DeviceBuf) -> usize {
        match buf {
            DeviceBuf::Cpu(words) => words.len(),
            #[cfg(feature = "cuda")]
            DeviceBuf::Cuda(words, _) => words.words(),
            #[cfg(feature = "cuda")]
            DeviceBuf::Group(words) => words.words(),
        }
    }

    fn truncate(&self, buf: &mut DeviceBuf, words: usize) {
        match buf {
            DeviceBuf::Cpu(buf) => buf.truncate(words),
            #[cfg(feature = "cuda")]
            DeviceBuf::Cuda(buf, _) => buf.truncate(words),
            #[cfg(feature = "cuda")]
            DeviceBuf::Group(buf) => buf.truncate(words),
        }
    }

    fn wipe(&self, buf: &mut DeviceBuf) {
        match buf {
            DeviceBuf::Cpu(words) => Cpu::portable().wipe(words),
            #[cfg(feature = "cuda")]
            DeviceBuf::Cuda(buf, _) => {
                let (stream, words) = (buf.stream().clone(), buf.words());
                // A device that fails here fails at the next call too.
                let _ = stream.fill_zero(buf, 0, words);
            }
            #[cfg(feature = "cuda")]
            DeviceBuf::Group(buf) => buf.wipe(),
        }
    }

    fn check(&self) -> Result<()> {
        either!(self, backend, own => backend.check())
    }

    fn worked(&self, work: u64) {
        either!(self, backend, own => backend.worked(work));
    }

    fn portion(&self) -> usize {
        either!(self, backend, own => backend.portion())
    }

    fn synchronize(&self) -> Result<()> {
        either!(self, backend, own => backend.synchronize())
    }

    fn batched<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        either!(self, backend, own => backend.batched(work))
    }
}

impl PreparedRing for DeviceRing {
    type Buf = DeviceBuf;
    type Backend = Device;

    fn prepare_beside(&self, spec: &RingSpec) -> Result<Self> {
        self.device.check()?;
        let prepared = match &self.prepared {
            Prepared::Cpu(ring) => Prepared::Cpu(ring.prepare_beside(spec)?),
            #[cfg(feature = "cuda")]
            Prepared::Cuda(ring) => Prepared::Cuda(ring.prepare_beside(spec)?),
            #[cfg(feature = "cuda")]
            Prepared::Group(ring) => Prepared::Group(ring.prepare_beside(spec)?),
        };
        Ok(Self { device: self.device.clone(), prepared })
    }

    fn backend(&self) -> &Device {
        &self.device
    }

    fn spec(&self) -> &RingSpec {
        match &self.prepared {
            Prepared::Cpu(ring) => ring.spec(),
            #[cfg(feature = "cuda")]
            Prepared::Cuda(ring) => ring.spec(),
            #[cfg(feature = "cuda")]
            Prepared::Group(ring) => ring.spec(),
        }
    }
}

impl PolyOps for DeviceRing {
    for_each_ring_op! { required, on_device }
    for_each_ring_op! { provided, on_device }
}

impl KeySwitchOps for DeviceRing {
    for_each_ring_op! { key_switch, on_device }
}

impl CkksOps for DeviceRing {
    for_each_ring_op! { ckks, on_device }
}

impl ExactOps for DeviceRing {
    for_each_ring_op! { exact, on_device }
}

impl MatrixOps for DeviceRing {
    for_each_ring_op! { matrix, on_device }

    fn shares_left(&self, packed: &MatrixProduct, other: &MatrixProduct) -> bool {
        match &self.prepared {
            Prepared::Cpu(ring) => ring.shares_left(packed, other),
            #[cfg(feature = "cuda")]
            Prepared::Cuda(ring) => ring.shares_left(packed, other),
            #[cfg(feature = "cuda")]
            Prepared::Group(ring) => ring.shares_left(packed, other),
        }
    }
}

impl WidePolyOps for DeviceRing {
    for_each_wide_op! { required, on_device }
    for_each_wide_op! { provided, on_device }
}

impl LweOps for Device {
    type LweKey = DeviceLweKey;
    type CircuitKey = DeviceCircuitKey;

    fn lwe_key(&self, key: &BootstrapKey) -> Result<DeviceLweKey> {
        self.check()?;
        match self {
            Self::Cpu(cpu) => cpu.lwe_key(key).map(DeviceLweKey::Cpu),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => {
                cuda.lwe_key(key).map(|key| DeviceLweKey::Cuda(key, cuda.gpu().info().ordinal))
            }
            #[cfg(feature = "cuda")]
            Self::Group(group) => group.lwe_key(key).map(|key| DeviceLweKey::Cuda(key, group.ordinals()[0])),
        }
    }

    fn lwe_combine(
        &self,
        params: &TfheParams,
        src: &DeviceBuf,
        combinations: &[Combination],
    ) -> Result<DeviceBuf> {
        let at = At { device: self, op: "lwe_combine" };
        self.check()?;
        match self {
            Self::Cpu(cpu) => cpu.lwe_combine(params, src.cpu(at)?, combinations).map(DeviceBuf::Cpu),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => {
                let combined = cuda.lwe_combine(params, src.cuda(at)?, combinations)?;
                Ok(owned(cuda, combined))
            }
            #[cfg(feature = "cuda")]
            Self::Group(group) => {
                group.lwe_combine(params, src.group(at)?, combinations).map(DeviceBuf::Group)
            }
        }
    }

    fn key_switch(&self, key: &DeviceLweKey, src: &DeviceBuf, count: usize) -> Result<DeviceBuf> {
        let at = At { device: self, op: "key_switch" };
        self.check()?;
        match self {
            Self::Cpu(cpu) => cpu.key_switch(key.cpu(at)?, src.cpu(at)?, count).map(DeviceBuf::Cpu),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => Ok(owned(cuda, cuda.key_switch(key.cuda(at)?, src.cuda(at)?, count)?)),
            #[cfg(feature = "cuda")]
            Self::Group(group) => {
                group.key_switch(key.cuda(at)?, src.group(at)?, count).map(DeviceBuf::Group)
            }
        }
    }

    fn blind_rotate(
        &self,
        key: &DeviceLweKey,
        src: &DeviceBuf,
        count: usize,
        tables: &DeviceBuf,
        which: &[u32],
        functions: usize,
    ) -> Result<DeviceBuf> {
        let at = At { device: self, op: "blind_rotate" };
        self.check()?;
        match self {
            Self::Cpu(cpu) => {
                let (key, src, tables) = (key.cpu(at)?, src.cpu(at)?, tables.cpu(at)?);
                cpu.blind_rotate(key, src, count, tables, which, functions).map(DeviceBuf::Cpu)
            }
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => {
                let (key, src, tables) = (key.cuda(at)?, src.cuda(at)?, tables.cuda(at)?);
                Ok(owned(cuda, cuda.blind_rotate(key, src, count, tables, which, functions)?))
            }
            #[cfg(feature = "cuda")]
            Self::Group(group) => {
                let (key, src, tables) = (key.cuda(at)?, src.group(at)?, tables.group(at)?);
                group.blind_rotate(key, src, count, tables, which, functions).map(DeviceBuf::Group)
            }
        }
    }

    fn circuit_key(&self, key: &CircuitKey) -> Result<DeviceCircuitKey> {
        self.check()?;
        match self {
            Self::Cpu(cpu) => cpu.circuit_key(key).map(DeviceCircuitKey::Cpu),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => {
                cuda.circuit_key(key).map(|key| DeviceCircuitKey::Cuda(key, cuda.gpu().info().ordinal))
            }
            #[cfg(feature = "cuda")]
            Self::Group(group) => {
                group.circuit_key(key).map(|key| DeviceCircuitKey::Cuda(key, group.ordinals()[0]))
            }
        }
    }

    fn lookup_bits(
        &self,
        key: &DeviceCircuitKey,
        src: &DeviceBuf,
        bits: usize,
        count: usize,
        tables: &DeviceBuf,
        outputs: usize,
    ) -> Result<DeviceBuf> {
        let at = At { device: self, op: "lookup_bits" };
        self.check()?;
        match self {
            Self::Cpu(cpu) => {
                let (key, src, tables) = (key.cpu(at)?, src.cpu(at)?, tables.cpu(at)?);
                cpu.lookup_bits(key, src, bits, count, tables, outputs).map(DeviceBuf::Cpu)
            }
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => {
                let (key, src, tables) = (key.cuda(at)?, src.cuda(at)?, tables.cuda(at)?);
                Ok(owned(cuda, cuda.lookup_bits(key, src, bits, count, tables, outputs)?))
            }
            #[cfg(feature = "cuda")]
            Self::Group(group) => {
                let (key, src, tables) = (key.cuda(at)?, src.group(at)?, tables.group(at)?);
                group.lookup_bits(key, src, bits, count, tables, outputs).map(DeviceBuf::Group)
            }
        }
    }
}

#[cfg(test)]
mod oversight;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices() {
        assert!("cpu".parse::<Device>().unwrap().is_cpu());
        assert_eq!(Device::cpu().to_string(), Cpu::new().name());
        for name in [
            "",
            "CPU",
            "gpu",
            "cuda:",
            "cuda:+1",
            "cuda:-1",
            "cuda: 1",
            "cuda0",
            "cpu:0",
            "cuda:all",
            "cuda:0+",
            "cuda:+0+1",
            "cuda:0++1",
            "cuda:0,1",
        ] {
            let error = name.parse::<Device>().unwrap_err();
            assert!(matches!(error, Error::Argument { what: "device", .. }), "{name}: {error}");
        }
        let most = u64::MAX.to_string();
        assert!(format!("cuda:{most}").parse::<Device>().is_err());
    }

    #[test]
    fn the_cpu_is_the_last_of_all_devices() {
        let devices = Device::all().unwrap();
        assert_eq!(devices.len(), Device::cuda_count().unwrap() + 1);
        assert!(devices.last().is_some_and(Device::is_cpu));
    }

    #[test]
    fn the_first_device_that_opens_is_taken() {
        let failure = |ordinal: usize| Error::argument("device", ordinal.to_string());
        let open = |bad: &'static [usize]| {
            move |ordinal| if bad.contains(&ordinal) { Err(failure(ordinal)) } else { Ok(ordinal) }
        };
        let text = |result: Result<usize, Option<Error>>| result.map_err(|e| e.map(|e| e.to_string()));
        assert_eq!(text(first(Ok(3), open(&[]))), Ok(0));
        assert_eq!(text(first(Ok(3), open(&[0, 1]))), Ok(2));
        assert_eq!(text(first(Ok(0), open(&[]))), Err(None));
        assert_eq!(text(first(Ok(2), open(&[0, 1]))), Err(Some(failure(0).to_string())));
        assert_eq!(text(first(Err(failure(7)), open(&[]))), Err(Some(failure(7).to_string())));
    }
}
