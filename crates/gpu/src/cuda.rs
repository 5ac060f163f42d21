//! Devices of the CUDA driver.

mod api;

use crate::driver::{DeviceInfo, Driver, Handle, Launch, RowCopy, Sequence};
use crate::error::{Error, Result};
use crate::fork::predecessors;
use crate::interop::Owner;
use crate::ptx::Header;
use api::{Api, EdgeData, NOT_READY};
use cudarc::driver::sys::{
    CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMCPY2D, CUDA_MEMCPY3D_PEER, CUdevice, CUgraphNode, CUmemorytype,
};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// The oldest driver that has all functions called here.
const OLDEST: (u32, u32) = (12, 0);

/// Constants of cuda.h.
const MULTIPROCESSORS: c_int = 16;
const SHARED_MEMORY: c_int = 8;
const SHARED_MEMORY_OPT_IN: c_int = 97;
const COMPUTE_CAPABILITY_MAJOR: c_int = 75;
const COMPUTE_CAPABILITY_MINOR: c_int = 76;
const FUNCTION_MAX_DYNAMIC_SHARED: c_int = 8;
const POINTER_MEMORY_TYPE: c_int = 2;
const STREAM_NON_BLOCKING: u32 = 1;
const EVENT_WITHOUT_TIME: u32 = 2;
const HOST_PORTABLE: u32 = 1;
const CAPTURE_RELAXED: c_int = 2;
const JIT_ERROR_LOG: c_int = 5;
const JIT_ERROR_LOG_BYTES: c_int = 6;

/// The dynamic shared memory that every kernel may use.
const PLAIN_SHARED: u32 = 48 << 10;

/// A device and its primary context.
///
/// Every call makes the context the thread's current one, without remembering whether it already
/// was: other users of the driver in this process, including the CUDA runtime, may have changed it,
/// and setting it costs about ten nanoseconds.
#[derive(Debug)]
pub(crate) struct CudaDriver {
    api: &'static Api,
    device: CUdevice,
    context: Handle,
    info: DeviceInfo,
    /// The owner of the context, unless it is the primary one, which is retained here.
    owner: Option<Owner>,
    /// Modules stay until the device is dropped: kernels may be running, and graphs hold functions.
    modules: Mutex<Vec<Handle>>,
}

impl CudaDriver {
    /// The number of devices.
    pub(crate) fn count() -> Result<usize> {
        let api = Api::get()?;
        let mut count = 0;
        // SAFETY: the pointer is valid.
        match unsafe { (api.device_count)(&mut count) } {
            api::NO_DEVICE => Ok(0),
            // If cuInit found no device, the driver reports that it is not initialised.
            3 => Ok(0),
            code => api.check("cuDeviceGetCount", code).map(|()| usize::try_from(count).unwrap_or(0)),
        }
    }

    /// The device with a number.
    pub(crate) fn open(ordinal: usize) -> Result<Self> {
        let found = Self::count()?;
        let api = Api::get()?;
        let number = match c_int::try_from(ordinal) {
            Ok(number) if ordinal < found => number,
            _ => return Err(Error::NoDevice { ordinal, found }),
        };
        let mut device = 0;
        // SAFETY: the pointer is valid.
        api.check("cuDeviceGet", unsafe { (api.device)(&mut device, number) })?;
        let info = info(api, ordinal, device)?;
        if info.driver < OLDEST {
            return Err(Error::UnsupportedPtx { driver: info.driver, needed: OLDEST });
        }
        let mut context = ptr::null_mut();
        // SAFETY: the pointer is valid and the device is the driver's.
        api.check("cuDevicePrimaryCtxRetain", unsafe { (api.primary_retain)(&mut context, device) })?;
        Ok(Self { api, device, context: context as Handle, info, owner: None, modules: Mutex::default() })
    }

    /// Adopts the thread's current context, which lives as long as its owner.
    #[cfg_attr(not(any(feature = "cust", feature = "rustacuda")), allow(dead_code))] // For these features alone.
    pub(crate) fn adopt(owner: Owner) -> Result<Self> {
        let api = Api::get()?;
        let (mut context, mut device) = (ptr::null_mut(), 0);
        // SAFETY: the pointer is valid.
        api.check("cuCtxGetCurrent", unsafe { (api.current_context)(&mut context) })?;
        // SAFETY: the pointer is valid.
        api.check("cuCtxGetDevice", unsafe { (api.context_device)(&mut device) })?;
        let info = info(api, usize::try_from(device).unwrap_or(0), device)?;
        if info.driver < OLDEST {
            return Err(Error::UnsupportedPtx { driver: info.driver, needed: OLDEST });
        }
        Ok(Self {
            api,
            device,
            context: context as Handle,
            info,
            owner: Some(owner),
            modules: Mutex::default(),
        })
    }

    /// Makes the context the thread's current one.
    fn enter(&self) -> Result<&'static Api> {
        // SAFETY: the context is retained.
        let code = unsafe { (self.api.set_context)(self.context as _) };
        self.api.check("cuCtxSetCurrent", code).map(|()| self.api)
    }

    /// Whether a host address is page-locked, so that the driver copies from it later, or to it.
    fn page_locked(&self, address: *const c_void) -> bool {
        let mut kind: u32 = 0;
        let (mut attribute, mut data) = (POINTER_MEMORY_TYPE, (&raw mut kind).cast());
        // SAFETY: this reads one attribute, a 32-bit number; for addresses that the driver does not
        // know it is 0, without an error.
        let code =
            unsafe { (self.api.pointer_attributes)(1, &raw mut attribute, &raw mut data, address as u64) };
        code == api::SUCCESS && kind != 0
    }
}

fn info(api: &Api, ordinal: usize, device: CUdevice) -> Result<DeviceInfo> {
    let attribute = |number| {
        let mut value = 0;
        // SAFETY: the pointer is valid and the device is the driver's.
        let code = unsafe { (api.device_attribute)(&mut value, number, device) };
        api.check("cuDeviceGetAttribute", code).map(|()| u32::try_from(value).unwrap_or(0))
    };
    let mut version = 0;
    // SAFETY: the pointer is valid.
    api.check("cuDriverGetVersion", unsafe { (api.driver_version)(&mut version) })?;
    let version = u32::try_from(version).unwrap_or(0);
    let mut name = [0 as c_char; 256];
    // SAFETY: the buffer has 256 bytes, and the driver ends the name with 0 in it.
    let code = unsafe { (api.device_name)(name.as_mut_ptr(), name.len() as c_int - 1, device) };
    api.check("cuDeviceGetName", code)?;
    // SAFETY: the last byte is always 0.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
    let mut memory = 0;
    // SAFETY: the pointer is valid and the device is the driver's.
    api.check("cuDeviceTotalMem", unsafe { (api.device_memory)(&mut memory, device) })?;
    Ok(DeviceInfo {
        ordinal,
        name,
        memory,
        compute_capability: (attribute(COMPUTE_CAPABILITY_MAJOR)?, attribute(COMPUTE_CAPABILITY_MINOR)?),
        driver: (version / 1000, version % 1000 / 10),
        multiprocessors: attribute(MULTIPROCESSORS)?,
        shared_memory: attribute(SHARED_MEMORY_OPT_IN).unwrap_or(0).max(attribute(SHARED_MEMORY)?),
    })
}

impl Drop for CudaDriver {
    fn drop(&mut self) {
        // There is nobody to report errors to, and a driver that is shutting down returns some.
        if let Ok(api) = self.enter() {
            for module in std::mem::take(self.modules.get_mut().unwrap_or_else(PoisonError::into_inner)) {
                // SAFETY: the module is live; everything that could use it held this driver, and
                // every stream ended after its work.
                unsafe { (api.unload)(module as _) };
            }
        }
        if self.owner.is_none() {
            // SAFETY: retained in `open`.
            unsafe { (self.api.primary_release)(self.device) };
        }
    }
}

// The contracts of `Driver` are those of the driver's functions: live handles of this context,
// ranges within allocations.
impl Driver for CudaDriver {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn memory(&self) -> Result<(usize, usize)> {
        let (api, mut free, mut all) = (self.enter()?, 0, 0);
        // SAFETY: the pointers are valid.
        api.check("cuMemGetInfo", unsafe { (api.memory_info)(&mut free, &mut all) })?;
        Ok((free, all))
    }

    fn alloc(&self, bytes: usize) -> Result<u64> {
        let (api, mut address) = (self.enter()?, 0);
        // SAFETY: the pointer is valid.
        api.check_bytes("cuMemAlloc", unsafe { (api.alloc)(&mut address, bytes) }, bytes)?;
        Ok(address)
    }

    unsafe fn free(&self, address: u64) {
        if let Ok(api) = self.enter() {
            // SAFETY: guaranteed by the caller.
            unsafe { (api.free)(address) };
        }
    }

    fn create_stream(&self) -> Result<Handle> {
        let (api, mut stream) = (self.enter()?, ptr::null_mut());
        // SAFETY: the pointer is valid.
        api.check("cuStreamCreate", unsafe { (api.create_stream)(&mut stream, STREAM_NON_BLOCKING) })?;
        Ok(stream as Handle)
    }

    unsafe fn destroy_stream(&self, stream: Handle) {
        if let Ok(api) = self.enter() {
            // Waits for the stream, not for the context, which would break captures of others.
            // SAFETY: guaranteed by the caller.
            unsafe {
                (api.synchronize_stream)(stream as _);
                (api.destroy_stream)(stream as _);
            }
        }
    }

    unsafe fn write(&self, stream: Handle, dst: u64, src: *const c_void, bytes: usize) -> Result<()> {
        let api = self.enter()?;
        // SAFETY: guaranteed by the caller.
        api.check_bytes("cuMemcpyHtoDAsync", unsafe { (api.write)(dst, src, bytes, stream as _) }, bytes)?;
        // The driver has already made its own copy of pageable memory. Other memory is read when
        // the stream gets there.
        if self.page_locked(src) {
            // SAFETY: guaranteed by the caller.
            api.check("cuStreamSynchronize", unsafe { (api.synchronize_stream)(stream as _) })?;
        }
        Ok(())
    }

    unsafe fn read(&self, stream: Handle, src: u64, dst: *mut c_void, bytes: usize) -> Result<()> {
        let api = self.enter()?;
        // SAFETY: guaranteed by the caller.
        api.check_bytes("cuMemcpyDtoHAsync", unsafe { (api.read)(dst, src, bytes, stream as _) }, bytes)?;
        // SAFETY: guaranteed by the caller.
        api.check("cuStreamSynchronize", unsafe { (api.synchronize_stream)(stream as _) })
    }

    unsafe fn copy(&self, stream: Handle, src: u64, dst: u64, bytes: usize) -> Result<()> {
        let api = self.enter()?;
        // SAFETY: guaranteed by the caller.
        api.check_bytes("cuMemcpyDtoDAsync", unsafe { (api.copy)(dst, src, bytes, stream as _) }, bytes)
    }

    fn context(&self) -> Option<Handle> {
        Some(self.context)
    }

    fn connect(&self, peer: &dyn Driver) -> Result<bool> {
        let Some(context) = peer.context() else {
            return Err(Error::Driver { call: "connect", reason: "the devices differ in kind".into() });
        };
        if context == self.context {
            return Ok(true);
        }
        let api = self.enter()?;
        // SAFETY: the peer's driver holds its context; 0 is the only flag.
        match unsafe { (api.enable_peer)(context as _, 0) } {
            api::PEER_ACCESS_ALREADY_ENABLED => Ok(true),
            // The driver copies through the host.
            api::PEER_ACCESS_UNSUPPORTED | api::TOO_MANY_PEERS => Ok(false),
            code => api.check("cuCtxEnablePeerAccess", code).map(|()| true),
        }
    }

    unsafe fn copy_rows(&self, stream: Handle, peer: &dyn Driver, copy: &RowCopy) -> Result<()> {
        let (api, to) = (self.enter()?, peer.context().unwrap_or(self.context));
        if to == self.context {
            let rows = CUDA_MEMCPY2D {
                srcXInBytes: 0,
                srcY: 0,
                srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
                srcHost: ptr::null(),
                srcDevice: copy.src,
                srcArray: ptr::null_mut(),
                srcPitch: copy.src_pitch,
                dstXInBytes: 0,
                dstY: 0,
                dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
                dstHost: ptr::null_mut(),
                dstDevice: copy.dst,
                dstArray: ptr::null_mut(),
                dstPitch: copy.dst_pitch,
                WidthInBytes: copy.bytes,
                Height: copy.rows,
            };
            // SAFETY: guaranteed by the caller.
            return api.check("cuMemcpy2DAsync", unsafe { (api.copy_rows)(&rows, stream as _) });
        }
        let rows = CUDA_MEMCPY3D_PEER {
            srcXInBytes: 0,
            srcY: 0,
            srcZ: 0,
            srcLOD: 0,
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcHost: ptr::null(),
            srcDevice: copy.src,
            srcArray: ptr::null_mut(),
            srcContext: self.context as _,
            srcPitch: copy.src_pitch,
            srcHeight: copy.rows,
            dstXInBytes: 0,
            dstY: 0,
            dstZ: 0,
            dstLOD: 0,
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstHost: ptr::null_mut(),
            dstDevice: copy.dst,
            dstArray: ptr::null_mut(),
            dstContext: to as _,
            dstPitch: copy.dst_pitch,
            dstHeight: copy.rows,
            WidthInBytes: copy.bytes,
            Height: copy.rows,
            Depth: 1,
        };
        // SAFETY: guaranteed by the caller; both contexts are held by their drivers.
        api.check("cuMemcpy3DPeerAsync", unsafe { (api.copy_peer_rows)(&rows, stream as _) })
    }

    unsafe fn fill_zero(&self, stream: Handle, dst: u64, bytes: usize) -> Result<()> {
        let api = self.enter()?;
        // SAFETY: guaranteed by the caller.
        api.check("cuMemsetD8Async", unsafe { (api.fill)(dst, 0, bytes, stream as _) })
    }

    unsafe fn synchronize(&self, stream: Handle) -> Result<()> {
        let api = self.enter()?;
        // SAFETY: guaranteed by the caller.
        api.check("cuStreamSynchronize", unsafe { (api.synchronize_stream)(stream as _) })
    }

    unsafe fn is_done(&self, stream: Handle) -> bool {
        // SAFETY: guaranteed by the caller.
        self.enter().is_ok_and(|api| unsafe { (api.query_stream)(stream as _) } != NOT_READY)
    }

    fn load(&self, name: &str, ptx: &str) -> Result<Handle> {
        let api = self.enter()?;
        let fail = |reason: String| Error::Module { module: name.to_owned(), reason };
        let text = CString::new(ptx).map_err(|_| fail("the text has a 0 byte".into()))?;
        let mut log = vec![0_u8; 16 << 10];
        let mut options = [JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(log.len() - 1)];
        let mut module = ptr::null_mut();
        // SAFETY: the text ends with 0; there are two options with two values, the second of which
        // is a number; the log has that many bytes.
        let code = unsafe {
            (api.load)(&mut module, text.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr())
        };
        match code {
            api::SUCCESS => {
                let module = module as Handle;
                self.modules.lock().unwrap_or_else(PoisonError::into_inner).push(module);
                Ok(module)
            }
            code if code == api::OUT_OF_MEMORY || api::is_final(code) => {
                Err(api.error("cuModuleLoadDataEx", code, ptx.len()))
            }
            api::UNSUPPORTED_PTX_VERSION => {
                // If the table in the header promised otherwise, the message at least names more
                // than this driver.
                let needed =
                    Header::parse(ptx).needed_driver().max((self.info.driver.0, self.info.driver.1 + 1));
                Err(Error::UnsupportedPtx { driver: self.info.driver, needed })
            }
            code => Err(fail(join(api.reason(code), &log))),
        }
    }

    unsafe fn function(&self, module: Handle, name: &str, shared: u32) -> Result<Handle> {
        let api = self.enter()?;
        let fail = |reason: String| Error::Module { module: name.to_owned(), reason };
        let text = CString::new(name).map_err(|_| fail("the name has a 0 byte".into()))?;
        let mut function = ptr::null_mut();
        // SAFETY: the pointers are valid and the name ends with 0; the caller guarantees that the
        // module is live.
        match unsafe { (api.function)(&mut function, module as _, text.as_ptr()) } {
            api::SUCCESS => {}
            code if api::is_final(code) => return Err(api.error("cuModuleGetFunction", code, 0)),
            code => return Err(fail(api.reason(code))),
        }
        if shared > PLAIN_SHARED {
            let mut most = 0;
            // SAFETY: the pointer is valid and the function is live.
            let code = unsafe { (api.function_attribute)(&mut most, FUNCTION_MAX_DYNAMIC_SHARED, function) };
            api.check("cuFuncGetAttribute", code)?;
            let shared = c_int::try_from(shared).unwrap_or(c_int::MAX);
            // Never less than what another user of the function asked for.
            if most < shared {
                // SAFETY: the function is live.
                let code =
                    unsafe { (api.set_function_attribute)(function, FUNCTION_MAX_DYNAMIC_SHARED, shared) };
                api.check("cuFuncSetAttribute", code)?;
            }
        }
        Ok(function as Handle)
    }

    unsafe fn launch(&self, stream: Handle, launch: &Launch, argument: *mut c_void) -> Result<()> {
        let api = self.enter()?;
        let mut arguments = [argument];
        let ([gx, gy, gz], [bx, by, bz]) = (launch.grid, launch.block);
        // SAFETY: there is one parameter, which the driver copies; the caller guarantees the rest.
        let code = unsafe {
            let arguments = arguments.as_mut_ptr();
            (api.launch)(
                launch.function as _,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                launch.shared,
                stream as _,
                arguments,
                ptr::null_mut(),
            )
        };
        api.check("cuLaunchKernel", code)
    }

    fn create_event(&self) -> Result<Handle> {
        let (api, mut event) = (self.enter()?, ptr::null_mut());
        // SAFETY: the pointer is valid; the flag 0 makes an event with a time.
        api.check("cuEventCreate", unsafe { (api.create_event)(&mut event, 0) })?;
        Ok(event as Handle)
    }

    fn create_mark(&self) -> Result<Handle> {
        let (api, mut event) = (self.enter()?, ptr::null_mut());
        // SAFETY: the pointer is valid.
        api.check("cuEventCreate", unsafe { (api.create_event)(&mut event, EVENT_WITHOUT_TIME) })?;
        Ok(event as Handle)
    }

    unsafe fn destroy_event(&self, event: Handle) {
        if let Ok(api) = self.enter() {
            // SAFETY: guaranteed by the caller.
            unsafe { (api.destroy_event)(event as _) };
        }
    }

    unsafe fn record_event(&self, stream: Handle, event: Handle) -> Result<()> {
        let api = self.enter()?;
        // SAFETY: guaranteed by the caller.
        api.check("cuEventRecord", unsafe { (api.record_event)(event as _, stream as _) })
    }

    unsafe fn wait_event(&self, stream: Handle, event: Handle) -> Result<()> {
        let api = self.enter()?;
        // SAFETY: guaranteed by the caller.
        api.check("cuStreamWaitEvent", unsafe { (api.wait_event)(stream as _, event as _, 0) })
    }

    unsafe fn synchronize_event(&self, event: Handle) -> Result<()> {
        let api = self.enter()?;
        // SAFETY: guaranteed by the caller.
        api.check("cuEventSynchronize", unsafe { (api.synchronize_event)(event as _) })
    }

    unsafe fn elapsed_ms(&self, from: Handle, to: Handle) -> Result<f32> {
        let (api, mut time) = (self.enter()?, 0.0);
        // SAFETY: the pointer is valid; the caller guarantees that the events are live.
        api.check("cuEventElapsedTime", unsafe { (api.elapsed)(&mut time, from as _, to as _) })?;
        Ok(time)
    }

    unsafe fn begin_capture(&self, stream: Handle) -> Result<()> {
        let api = self.enter()?;
        // SAFETY: guaranteed by the caller.
        api.check("cuStreamBeginCapture", unsafe { (api.begin_capture)(stream as _, CAPTURE_RELAXED) })
    }

    unsafe fn end_capture(&self, stream: Handle) -> Result<Handle> {
        let (api, mut graph, mut instance) = (self.enter()?, ptr::null_mut(), ptr::null_mut());
        // SAFETY: the pointer is valid; the caller guarantees that the stream is live.
        api.check("cuStreamEndCapture", unsafe { (api.end_capture)(stream as _, &mut graph) })?;
        // SAFETY: the pointer is valid and the graph live.
        let code = unsafe { (api.instantiate)(&mut instance, graph, 0) };
        // SAFETY: the graph is live; the instance does not need it.
        unsafe { (api.destroy_graph)(graph) };
        api.check("cuGraphInstantiateWithFlags", code)?;
        Ok(instance as Handle)
    }

    unsafe fn launch_graph(&self, stream: Handle, graph: Handle) -> Result<()> {
        let api = self.enter()?;
        // SAFETY: guaranteed by the caller.
        api.check("cuGraphLaunch", unsafe { (api.launch_graph)(graph as _, stream as _) })
    }

    unsafe fn destroy_graph(&self, graph: Handle) {
        if let Ok(api) = self.enter() {
            // SAFETY: guaranteed by the caller; the driver lets running launches end first.
            unsafe { (api.destroy_instance)(graph as _) };
        }
    }

    unsafe fn create_sequence(&self, launches: &[Launch], arguments: &[*mut c_void]) -> Result<Sequence> {
        let (api, mut graph) = (self.enter()?, ptr::null_mut());
        // SAFETY: the pointer is valid; 0 is the only flag.
        api.check("cuGraphCreate", unsafe { (api.create_graph)(&mut graph, 0) })?;
        let mut sequence = Sequence { instance: 0, graph: graph as Handle, nodes: Vec::new() };
        let mut made = || {
            for ((index, launch), before) in launches.iter().enumerate().zip(predecessors(launches)) {
                let mut arguments = [arguments[index]];
                let params = node(launch, &mut arguments);
                // Within a branch, and outside of branches, but not where these begin or end.
                let follows = |&last: &usize| launches[last].branch == launch.branch;
                let early = api.add_dependencies.filter(|_| launch.waits && before.iter().all(follows));
                let before: Vec<_> = before.iter().map(|&last| sequence.nodes[last] as CUgraphNode).collect();
                let ordered = if early.is_some() { &[] } else { before.as_slice() };
                let mut added = ptr::null_mut();
                let (first, count) = (ordered.as_ptr(), ordered.len());
                // SAFETY: the graph, the nodes before and the function are live; the driver copies
                // the parameters.
                let code = unsafe { (api.add_kernel)(&mut added, graph, first, count, &params) };
                api.check("cuGraphAddKernelNode", code)?;
                if let (Some(add), Some(node)) = (early, before.first()) {
                    // SAFETY: the graph and both nodes are live, and the pointers valid; the
                    // function waits for the one before it.
                    let code = unsafe { add(graph, node, &added, &EdgeData::PROGRAMMATIC, 1) };
                    api.check("cuGraphAddDependencies", code)?;
                }
                sequence.nodes.push(added as Handle);
            }
            let mut instance = ptr::null_mut();
            // SAFETY: the pointer is valid and the graph live.
            let code = unsafe { (api.instantiate)(&mut instance, graph, 0) };
            sequence.instance = instance as Handle;
            api.check("cuGraphInstantiateWithFlags", code)
        };
        match made() {
            Ok(()) => Ok(sequence),
            Err(error) => {
                // SAFETY: the graph is live, and this is its last use.
                unsafe { (api.destroy_graph)(graph) };
                Err(error)
            }
        }
    }

    unsafe fn update_sequence(
        &self,
        sequence: &Sequence,
        index: usize,
        launch: &Launch,
        argument: *mut c_void,
    ) -> Result<()> {
        let api = self.enter()?;
        let mut arguments = [argument];
        let params = node(launch, &mut arguments);
        // SAFETY: instance and node are live and of one graph; the driver copies the parameters.
        let code = unsafe { (api.set_kernel)(sequence.instance as _, sequence.nodes[index] as _, &params) };
        api.check("cuGraphExecKernelNodeSetParams", code)
    }

    unsafe fn destroy_sequence(&self, sequence: Sequence) {
        if let Ok(api) = self.enter() {
            // SAFETY: guaranteed by the caller; the driver lets running launches end first.
            unsafe {
                (api.destroy_instance)(sequence.instance as _);
                (api.destroy_graph)(sequence.graph as _);
            }
        }
    }

    fn alloc_host(&self, bytes: usize) -> Result<*mut c_void> {
        let (api, mut memory) = (self.enter()?, ptr::null_mut());
        // SAFETY: the pointer is valid.
        let code = unsafe { (api.alloc_host)(&mut memory, bytes, HOST_PORTABLE) };
        api.check_bytes("cuMemHostAlloc", code, bytes)?;
        // SAFETY: the driver's memory has these bytes.
        unsafe { ptr::write_bytes(memory.cast::<u8>(), 0, bytes) };
        Ok(memory)
    }

    unsafe fn free_host(&self, memory: *mut c_void, _bytes: usize) {
        if let Ok(api) = self.enter() {
            // SAFETY: guaranteed by the caller.
            unsafe { (api.free_host)(memory) };
        }
    }

    unsafe fn write_async(&self, stream: Handle, dst: u64, src: *const c_void, bytes: usize) -> Result<()> {
        let api = self.enter()?;
        // SAFETY: guaranteed by the caller.
        api.check_bytes("cuMemcpyHtoDAsync", unsafe { (api.write)(dst, src, bytes, stream as _) }, bytes)
    }

    unsafe fn read_async(&self, stream: Handle, src: u64, dst: *mut c_void, bytes: usize) -> Result<()> {
        let api = self.enter()?;
        // SAFETY: guaranteed by the caller.
        api.check_bytes("cuMemcpyDtoHAsync", unsafe { (api.read)(dst, src, bytes, stream as _) }, bytes)
    }
}

/// A launch as a node of a graph.
fn node(launch: &Launch, arguments: &mut [*mut c_void; 1]) -> CUDA_KERNEL_NODE_PARAMS_v2 {
    let ([gx, gy, gz], [bx, by, bz]) = (launch.grid, launch.block);
    CUDA_KERNEL_NODE_PARAMS_v2 {
        func: launch.function as _,
        gridDimX: gx,
        gridDimY: gy,
        gridDimZ: gz,
        blockDimX: bx,
        blockDimY: by,
        blockDimZ: bz,
        sharedMemBytes: launch.shared,
        kernelParams: arguments.as_mut_ptr(),
        extra: ptr::null_mut(),
        kern: ptr::null_mut(),
        ctx: ptr::null_mut(),
    }
}

/// A reason, followed by the compiler's log if it wrote one.
fn join(reason: String, log: &[u8]) -> String {
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    match String::from_utf8_lossy(&log[..end]).trim() {
        "" => reason,
        log => format!("{reason}\n{log}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_follows_the_reason() {
        assert_eq!(join("why".into(), b"\0\0"), "why");
        assert_eq!(join("why".into(), b"ptxas: line 3\n\0rest"), "why\nptxas: line 3");
        assert_eq!(join("why".into(), b"full"), "why\nfull");
    }
}
