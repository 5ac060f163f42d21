//! The host as a device, for tests without a GPU: a C++ compiler builds the kernels into a library,
//! in which each thread is a fiber.
//!
//! [`Emulator`] implements [`gpu::Driver`], so [`gpu::Gpu::from_driver`] makes a device of it. It
//! finds errors that a device may hide: it writes patterns into fresh memory, guards the ends of
//! allocations, and changes the order of threads and blocks on request. [`Faulty`] fails the calls
//! of any driver on purpose.
#![allow(unsafe_code)] // Calls of a library that is built at run time; every use has its SAFETY line.

mod faulty;

pub use faulty::{Fault, Faulty, Live};

use gpu::{DeviceInfo, Driver, Error, Handle, Launch, Result, RowCopy};
use libloading::Library;
use std::alloc::Layout;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, OsString, c_char, c_void};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// The alignment of every allocation, and the size of the guards before and after it.
const ALIGN: usize = 256;
/// The contents of fresh memory.
const PATTERN: u8 = 0xA5;
/// The contents of guards.
const GUARD: u8 = 0xC3;
/// A guard that nothing has written to.
const INTACT: [u8; ALIGN] = [GUARD; ALIGN];
/// The memory of the device by default.
const MEMORY: usize = 4 << 30;
/// The dynamic shared memory that every function may use without requesting it.
const SHARED: u32 = 48 << 10;

type Run = unsafe extern "C" fn(
    kernel: *const c_void,
    argument: *const c_void,
    grid: *const u32,
    block: *const u32,
    ranks: u32,
    shared: u32,
    order: u32,
) -> *const c_char;

/// The order in which the threads of a block run between barriers, and the blocks of a grid.
/// Results must not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// In the order of their numbers.
    #[default]
    Forward,
    /// In reverse order.
    Reverse,
    /// In random order from this seed, drawn again after each barrier.
    Shuffled(u32),
}

impl Order {
    fn number(self) -> u32 {
        match self {
            Order::Forward => 0,
            Order::Reverse => 1,
            Order::Shuffled(seed) => seed.saturating_add(2),
        }
    }
}

/// The library of the kernels and its entry point.
struct Kernels {
    library: Library,
    launch: Run,
}

struct Allocation {
    layout: Layout,
    bytes: usize,
}

struct Function {
    name: String,
    kernel: usize,
    threads: u32,
    /// The blocks of a cluster.
    ranks: u32,
    shared: u32,
}

#[derive(Default)]
struct State {
    allocations: BTreeMap<u64, Allocation>,
    used: usize,
    modules: Vec<String>,
    functions: Vec<Arc<Function>>,
    streams: HashMap<Handle, Arc<Mutex<()>>>,
    /// The errors since the last report.
    errors: Vec<String>,
}

/// The host as a device. Kernels run during the call that launches them; launches of several
/// streams run side by side. Several emulators are as many devices, which copy to each other.
///
/// It finds errors that a device does not report: writes outside allocations or beyond a block's
/// shared memory, threads at different barriers, and, with [`Emulator::set_order`], missing
/// barriers. Fresh memory holds bytes of 0xA5. The next `read` or `synchronize` reports the errors
/// of kernels.
pub struct Emulator {
    info: DeviceInfo,
    kernels: Arc<Kernels>,
    order: AtomicU32,
    state: Mutex<State>,
    /// Held for writing while memory is freed, and for reading while it is used.
    memory: RwLock<()>,
}

impl std::fmt::Debug for Emulator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Emulator").field("info", &self.info).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(call: &'static str, reason: impl Into<String>) -> Error {
    Error::Driver { call, reason: reason.into() }
}

impl Emulator {
    /// Compiles the kernels of `folder` (`*.cu`, `include/`, `host/`) into a library in the folder
    /// `out`, unless one of the same sources is there, and loads it. The compiler is `$CXX`, or
    /// else c++, g++ or clang++. `$HE_HOST_ORDER` (0 forward, 1 reverse, otherwise shuffled) is the
    /// initial order.
    pub fn build(folder: &Path, out: &Path) -> Result<Arc<Self>> {
        Self::build_from(folder, folder, out)
    }

    /// The same as [`Emulator::build`], with the kernels in another folder, `sources`.
    pub fn build_from(folder: &Path, sources: &Path, out: &Path) -> Result<Arc<Self>> {
        let path = compile(folder, sources, out)?;
        let bad = |error: libloading::Error| module_error(&path.display().to_string(), error.to_string());
        // SAFETY: the library was built from our runtime and kernels, which have no code that runs
        // when it is loaded.
        let library = unsafe { Library::new(&path) }.map_err(bad)?;
        // SAFETY: the runtime defines this function with this signature.
        let launch = unsafe { *library.get::<Run>("he_host_launch").map_err(bad)? };
        let emulator = Self::of(Arc::new(Kernels { library, launch }), (9, 0), MEMORY, 0);
        if let Some(order) = std::env::var("HE_HOST_ORDER").ok().and_then(|text| text.trim().parse().ok()) {
            emulator.order.store(order, Relaxed);
        }
        Ok(Arc::new(emulator))
    }

    fn of(kernels: Arc<Kernels>, compute_capability: (u32, u32), memory: usize, order: u32) -> Self {
        let shared_memory = match compute_capability {
            (9 | 10, _) => 227,
            (8, 0 | 7) => 163,
            (7, 0 | 2) => 96,
            (7, _) => 64,
            _ => 99,
        } << 10;
        let info = DeviceInfo {
            ordinal: 0,
            name: "emulator".into(),
            memory,
            compute_capability,
            driver: (13, 0),
            multiprocessors: 16,
            shared_memory,
        };
        Self { info, kernels, order: order.into(), state: Mutex::default(), memory: RwLock::default() }
    }

    /// Makes a device with the same kernels and another compute capability.
    pub fn with_compute_capability(&self, compute_capability: (u32, u32)) -> Arc<Self> {
        let order = self.order.load(Relaxed);
        Arc::new(Self::of(self.kernels.clone(), compute_capability, self.info.memory, order))
    }

    /// Makes a device with the same kernels and this many bytes of memory.
    pub fn with_memory(&self, memory: usize) -> Arc<Self> {
        let order = self.order.load(Relaxed);
        Arc::new(Self::of(self.kernels.clone(), self.info.compute_capability, memory, order))
    }

    /// Makes a device with the same kernels and this many multiprocessors, which decide where back
    /// ends change from kernels for little work to those that fill a device.
    pub fn with_multiprocessors(&self, multiprocessors: u32) -> Arc<Self> {
        let (memory, order) = (self.info.memory, self.order.load(Relaxed));
        let mut device = Self::of(self.kernels.clone(), self.info.compute_capability, memory, order);
        device.info.multiprocessors = multiprocessors;
        Arc::new(device)
    }

    /// Sets the order of threads and blocks for later launches.
    pub fn set_order(&self, order: Order) {
        self.order.store(order.number(), Relaxed);
    }

    /// Returns errors that have not been reported yet; `read` and `synchronize` report them, too.
    pub fn take_errors(&self) -> Vec<String> {
        let mut state = lock(&self.state);
        state.check("");
        std::mem::take(&mut state.errors)
    }

    fn report(&self, call: &'static str) -> Result<()> {
        let errors = self.take_errors();
        if errors.is_empty() { Ok(()) } else { Err(failed(call, errors.join("; "))) }
    }

    /// The lock that keeps the work of a stream in order.
    fn stream(&self, call: &'static str, stream: Handle) -> Result<Arc<Mutex<()>>> {
        let mut state = lock(&self.state);
        if stream == 0 {
            return Ok(state.streams.entry(0).or_default().clone());
        }
        state
            .streams
            .get(&stream)
            .cloned()
            .ok_or_else(|| failed(call, format!("there is no stream {stream}")))
    }

    /// Runs a function on device memory, in the order of its stream.
    fn work<T>(
        &self,
        call: &'static str,
        stream: Handle,
        ranges: &[(u64, usize)],
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let stream = self.stream(call, stream)?;
        let _ordered = lock(&stream);
        let _alive = self.memory.read().unwrap_or_else(PoisonError::into_inner);
        for &(address, bytes) in ranges {
            if !lock(&self.state).contains(address, bytes) {
                return Err(failed(call, format!("{bytes} bytes at {address:#x} are not in one allocation")));
            }
        }
        work()
    }
}

impl State {
    fn contains(&self, address: u64, bytes: usize) -> bool {
        self.allocations.range(..=address).next_back().is_some_and(|(&start, allocation)| {
            let offset = (address - start) as usize;
            offset <= allocation.bytes && bytes <= allocation.bytes - offset
        })
    }

    /// Checks that all guards are intact.
    fn check(&mut self, after: &str) {
        for (&address, allocation) in &self.allocations {
            if let Some(error) = allocation.damage(address) {
                self.errors.push(format!("{error}{after}"));
            }
        }
    }
}

impl Allocation {
    /// Reports a write outside the allocation, and restores its guards.
    fn damage(&self, address: u64) -> Option<String> {
        let start = address as *mut u8;
        let mut found = None;
        for (guard, offset) in
            [(start.wrapping_sub(ALIGN), -(ALIGN as isize)), (start.wrapping_add(self.bytes), 0)]
        {
            // SAFETY: both guards lie within the host's allocation, next to its `bytes` bytes.
            let bytes = unsafe { std::slice::from_raw_parts_mut(guard, ALIGN) };
            // All at once: this happens after each launch, for all allocations.
            if *bytes == INTACT {
                continue;
            }
            if let Some(at) = bytes.iter().position(|&byte| byte != GUARD) {
                let length = self.bytes;
                found.get_or_insert_with(|| match offset {
                    0 => format!("a write {at} bytes behind the {length} bytes at {address:#x}"),
                    _ => {
                        format!("a write {} bytes in front of the {length} bytes at {address:#x}", ALIGN - at)
                    }
                });
                bytes.fill(GUARD);
            }
        }
        found
    }

    /// # Safety
    /// `address` is that of this allocation, which is no longer in use.
    unsafe fn release(&self, address: u64) {
        // SAFETY: the host's allocation starts `ALIGN` bytes earlier and has this layout.
        unsafe { std::alloc::dealloc((address as *mut u8).wrapping_sub(ALIGN), self.layout) };
    }
}

impl Drop for State {
    fn drop(&mut self) {
        for (&address, allocation) in &self.allocations {
            // SAFETY: the device is being dropped, and its memory with it.
            unsafe { allocation.release(address) };
        }
    }
}

// SAFETY: each function needs what `Driver` requires of its callers; the ranges are checked as
// well.
impl Driver for Emulator {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn memory(&self) -> Result<(usize, usize)> {
        Ok((self.info.memory - lock(&self.state).used, self.info.memory))
    }

    fn alloc(&self, bytes: usize) -> Result<u64> {
        if bytes == 0 {
            return Err(failed("alloc", "no bytes were asked for"));
        }
        let mut state = lock(&self.state);
        let none = Error::OutOfMemory { bytes };
        if bytes > self.info.memory - state.used {
            return Err(none);
        }
        let layout =
            Layout::from_size_align(bytes.saturating_add(2 * ALIGN), ALIGN).map_err(|_| none.clone())?;
        // SAFETY: the layout is not empty; the three writes lie within it.
        let address = unsafe {
            let start = std::alloc::alloc(layout);
            if start.is_null() {
                return Err(none);
            }
            start.write_bytes(GUARD, ALIGN);
            start.add(ALIGN).write_bytes(PATTERN, bytes);
            start.add(ALIGN + bytes).write_bytes(GUARD, ALIGN);
            start.add(ALIGN) as u64
        };
        state.used += bytes;
        state.allocations.insert(address, Allocation { layout, bytes });
        Ok(address)
    }

    unsafe fn free(&self, address: u64) {
        if address == 0 {
            return;
        }
        let _unused = self.memory.write().unwrap_or_else(PoisonError::into_inner);
        let mut state = lock(&self.state);
        match state.allocations.remove(&address) {
            None => state.errors.push(format!("free of {address:#x}, which is not an allocation")),
            Some(allocation) => {
                state.used -= allocation.bytes;
                state.errors.extend(allocation.damage(address));
                // SAFETY: it has been removed from the list, and no launch or copy is in progress.
                unsafe { allocation.release(address) };
            }
        }
    }

    fn create_stream(&self) -> Result<Handle> {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let stream = NEXT.fetch_add(1, Relaxed);
        lock(&self.state).streams.insert(stream, Arc::default());
        Ok(stream)
    }

    unsafe fn destroy_stream(&self, stream: Handle) {
        let mut state = lock(&self.state);
        if state.streams.remove(&stream).is_none() {
            state.errors.push(format!("end of stream {stream}, which does not exist"));
        }
    }

    unsafe fn write(&self, stream: Handle, dst: u64, src: *const c_void, bytes: usize) -> Result<()> {
        self.work("write", stream, &[(dst, bytes)], || {
            // SAFETY: the range on the device was checked; the caller guarantees the one on the
            // host.
            unsafe { std::ptr::copy_nonoverlapping(src.cast::<u8>(), dst as *mut u8, bytes) };
            Ok(())
        })
    }

    unsafe fn read(&self, stream: Handle, src: u64, dst: *mut c_void, bytes: usize) -> Result<()> {
        self.work("read", stream, &[(src, bytes)], || {
            // SAFETY: the range on the device was checked; the caller guarantees the one on the
            // host.
            unsafe { std::ptr::copy_nonoverlapping(src as *const u8, dst.cast::<u8>(), bytes) };
            self.report("read")
        })
    }

    unsafe fn copy(&self, stream: Handle, src: u64, dst: u64, bytes: usize) -> Result<()> {
        self.work("copy", stream, &[(src, bytes), (dst, bytes)], || {
            // SAFETY: both ranges were checked; they may overlap.
            unsafe { std::ptr::copy(src as *const u8, dst as *mut u8, bytes) };
            Ok(())
        })
    }

    fn holds(&self, address: u64, bytes: usize) -> bool {
        lock(&self.state).contains(address, bytes)
    }

    unsafe fn copy_rows(&self, stream: Handle, peer: &dyn Driver, copy: &RowCopy) -> Result<()> {
        let (rows, bytes) = (copy.rows.saturating_sub(1), copy.bytes);
        let (from, to) = (rows * copy.src_pitch + bytes, rows * copy.dst_pitch + bytes);
        self.work("copy_rows", stream, &[(copy.src, from)], || {
            if !peer.holds(copy.dst, to) {
                let reason = format!("{to} bytes at {:#x} are not in one allocation of the peer", copy.dst);
                return Err(failed("copy_rows", reason));
            }
            for row in 0..copy.rows {
                let (src, dst) =
                    (copy.src + (row * copy.src_pitch) as u64, copy.dst + (row * copy.dst_pitch) as u64);
                // SAFETY: both ranges were checked; they may overlap.
                unsafe { std::ptr::copy(src as *const u8, dst as *mut u8, bytes) };
            }
            Ok(())
        })
    }

    unsafe fn fill_zero(&self, stream: Handle, dst: u64, bytes: usize) -> Result<()> {
        self.work("fill_zero", stream, &[(dst, bytes)], || {
            // SAFETY: the range was checked.
            unsafe { (dst as *mut u8).write_bytes(0, bytes) };
            Ok(())
        })
    }

    unsafe fn synchronize(&self, stream: Handle) -> Result<()> {
        self.work("synchronize", stream, &[], || self.report("synchronize"))
    }

    fn load(&self, name: &str, _ptx: &str) -> Result<Handle> {
        let mut state = lock(&self.state);
        state.modules.push(name.into());
        Ok(state.modules.len())
    }

    unsafe fn function(&self, module: Handle, name: &str, shared: u32) -> Result<Handle> {
        let mut state = lock(&self.state);
        let Some(module) = module.checked_sub(1).and_then(|index| state.modules.get(index)) else {
            return Err(failed("function", format!("there is no module {module}")));
        };
        if shared > self.info.shared_memory {
            let most = self.info.shared_memory;
            return Err(failed(
                "function",
                format!("{name} asks for {shared} bytes of shared memory of {most}"),
            ));
        }
        let library = &self.kernels.library;
        let missing = |_| module_error(module, format!("there is no kernel {name}"));
        // SAFETY: `KERNEL` defines both symbols, a number and a function, together, and
        // `CLUSTER_KERNEL` another number.
        let (threads, ranks, kernel) = unsafe {
            let threads = **library.get::<*const u32>(format!("{name}_threads")).map_err(missing)?;
            let ranks = library.get::<*const u32>(format!("{name}_ranks")).map_or(1, |ranks| **ranks);
            let kernel = library.get::<unsafe extern "C" fn(*const c_void)>(name).map_err(missing)?;
            (threads, ranks, *kernel as usize)
        };
        state.functions.push(Arc::new(Function { name: name.into(), kernel, threads, ranks, shared }));
        Ok(state.functions.len())
    }

    unsafe fn launch(&self, stream: Handle, launch: &Launch, argument: *mut c_void) -> Result<()> {
        let &Launch { function, grid, block, shared, .. } = launch;
        let found = function.checked_sub(1).and_then(|index| lock(&self.state).functions.get(index).cloned());
        let function = found.ok_or_else(|| failed("launch", format!("there is no function {function}")))?;
        let name = &function.name;
        let threads = block.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
        let refuse = |reason: String| Err(failed("launch", format!("{name}: {reason}")));
        if grid.contains(&0) || grid[0] > i32::MAX as u32 || grid[1] > 65535 || grid[2] > 65535 {
            return refuse(format!("a grid of {grid:?} blocks is not possible"));
        }
        if threads == 0 || block[2] > 64 || threads > u64::from(function.threads.min(1024)) {
            return refuse(format!(
                "a block of {block:?} threads is not possible, at most {}",
                function.threads
            ));
        }
        if shared > function.shared.max(SHARED) {
            return refuse(format!(
                "{shared} bytes of shared memory, where {} were announced",
                function.shared
            ));
        }
        self.work("launch", stream, &[], || {
            let (kernel, order) = (function.kernel as *const c_void, self.order.load(Relaxed));
            // SAFETY: the kernel is of the same library, its limits hold, and the caller guarantees
            // its argument.
            let error = unsafe {
                (self.kernels.launch)(
                    kernel,
                    argument,
                    grid.as_ptr(),
                    block.as_ptr(),
                    function.ranks,
                    shared,
                    order,
                )
            };
            let mut state = lock(&self.state);
            if !error.is_null() {
                // SAFETY: the runtime returns literals.
                let text = unsafe { CStr::from_ptr(error) }.to_string_lossy();
                state.errors.push(format!("{text} in {name}"));
            }
            state.check(&format!(" (found after {name})"));
            Ok(())
        })
    }
}

// ---- Compiling ----

fn module_error(module: &str, reason: impl Into<String>) -> Error {
    Error::Module { module: module.into(), reason: reason.into() }
}

/// FNV-1a, which suffices to distinguish sources.
struct Digest(u64);

impl Digest {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// The files of a folder with one of these extensions, sorted.
fn files(folder: &Path, extensions: &[&str]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if extensions.iter().any(|&extension| path.extension().is_some_and(|found| found == extension)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn flags() -> Vec<&'static str> {
    let mut flags =
        vec!["-O2", "-std=c++17", "-fPIC", "-ffp-contract=off", "-fno-strict-aliasing", "-fno-exceptions"];
    flags.extend(["-fvisibility=hidden", "-pthread", "-Wno-unknown-pragmas"]);
    // On other targets `fma` is a call to the C library.
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("bmi2") {
        flags.extend(["-mfma", "-mbmi2"]);
    }
    flags
}

/// `$CXX`, which may have arguments, or the first compiler that runs.
fn compiler() -> Result<Vec<String>> {
    let named = std::env::var("CXX").unwrap_or_default();
    let named: Vec<String> = named.split_whitespace().map(Into::into).collect();
    let candidates = if named.is_empty() {
        ["c++", "g++", "clang++"].map(|name| vec![name.to_string()]).to_vec()
    } else {
        vec![named]
    };
    let runs = |command: &Vec<String>| {
        Command::new(&command[0])
            .args(&command[1..])
            .arg("--version")
            .output()
            .is_ok_and(|out| out.status.success())
    };
    candidates.iter().find(|command| runs(command)).cloned().ok_or_else(|| {
        let tried: Vec<String> = candidates.iter().map(|command| command.join(" ")).collect();
        let reason = format!("no C++ compiler runs ({}); install one, or name it in CXX", tried.join(", "));
        module_error("for the host", reason)
    })
}

/// The library built from the sources. File names contain a digest of all inputs, so an existing
/// library is never stale.
fn compile(folder: &Path, sources: &Path, out: &Path) -> Result<PathBuf> {
    let name = sources.display().to_string();
    let wrong = |error: io::Error| module_error(&name, error.to_string());
    let (compiler, flags) = (compiler()?, flags());
    let mut common = Digest::new();
    compiler.iter().for_each(|word| common.add(word.as_bytes()));
    flags.iter().for_each(|flag| common.add(flag.as_bytes()));
    let host = folder.join("host");
    let include = folder.join("include");
    for header_folder in [&include, &host, &folder.to_path_buf(), &sources.to_path_buf()] {
        for header in files(header_folder, &["h", "cuh", "inc"]).map_err(wrong)? {
            common.add(header.file_name().unwrap_or_default().as_encoded_bytes());
            common.add(&fs::read(header).map_err(wrong)?);
        }
    }
    fs::create_dir_all(out).map_err(wrong)?;
    let mut all = files(sources, &["cu"]).map_err(wrong)?;
    if all.is_empty() {
        return Err(module_error(&name, "there are no *.cu in the folder"));
    }
    all.insert(0, host.join("runtime.cpp"));
    let mut whole = Digest::new();
    let mut jobs = Vec::new();
    for source in all {
        let mut digest = Digest(common.0);
        digest.add(&fs::read(&source).map_err(wrong)?);
        whole.add(&digest.0.to_le_bytes());
        let stem = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        whole.add(stem.as_bytes());
        let object = out.join(format!("{stem}-{:016x}.o", digest.0));
        jobs.push((source, object));
    }
    let library = out.join(format!("kernels-{:016x}.so", whole.0));
    if library.exists() {
        return Ok(library);
    }
    // Only one process at a time builds in the folder, and files get their names when they are
    // complete.
    let guard = File::create(out.join("lock")).map_err(wrong)?;
    guard.lock().map_err(wrong)?;
    if library.exists() {
        return Ok(library);
    }
    let run = |arguments: Vec<OsString>, to: &Path| -> Result<()> {
        let part = to.with_extension("part");
        let mut command = Command::new(&compiler[0]);
        command.args(&compiler[1..]).args(&flags).args(arguments).arg("-o").arg(&part);
        let output = command.output().map_err(wrong)?;
        if !output.status.success() {
            let reason = format!("{} failed:\n{}", compiler[0], String::from_utf8_lossy(&output.stderr));
            return Err(module_error(&name, reason));
        }
        fs::rename(&part, to).map_err(wrong)
    };
    let object = |source: &Path, object: &Path| -> Result<()> {
        if object.exists() {
            return Ok(());
        }
        let mut arguments: Vec<OsString> =
            vec!["-I".into(), include.clone().into(), "-I".into(), folder.into()];
        arguments.extend([
            "-include".into(),
            host.join("shim.h").into(),
            "-x".into(),
            "c++".into(),
            "-c".into(),
        ]);
        arguments.push(source.into());
        run(arguments, object)
    };
    let next = AtomicUsize::new(0);
    let worker = || -> Result<()> {
        while let Some((source, target)) = jobs.get(next.fetch_add(1, Relaxed)) {
            object(source, target)?;
        }
        Ok(())
    };
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores.min(jobs.len())).map(|_| scope.spawn(worker)).collect();
        let mut results = workers.into_iter().map(|worker| worker.join());
        results.try_for_each(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    let mut arguments: Vec<OsString> = vec!["-shared".into()];
    arguments.extend(jobs.iter().map(|(_, object)| object.clone().into()));
    run(arguments, &library)?;
    Ok(library)
}
