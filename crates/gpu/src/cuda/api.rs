//! The functions of the driver's library that this crate calls.
//!
//! `cudarc` finds the library. Its own functions panic where a symbol is missing and return results
//! as a Rust enumeration, which a newer driver's numbers would break; so the symbols are looked up
//! here once, and results are numbers.

use crate::error::{Error, Result};
use cudarc::driver::sys::{
    self, CUDA_KERNEL_NODE_PARAMS_v2 as KernelNode, CUDA_MEMCPY2D as Memcpy2d,
    CUDA_MEMCPY3D_PEER as MemcpyPeer, CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph,
    CUgraphExec, CUgraphNode, CUmodule, CUstream,
};
use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::sync::OnceLock;

/// The results that matter here.
pub(super) const SUCCESS: c_int = 0;
pub(super) const OUT_OF_MEMORY: c_int = 2;
pub(super) const STUB_LIBRARY: c_int = 34;
pub(super) const NO_DEVICE: c_int = 100;
pub(super) const PEER_ACCESS_UNSUPPORTED: c_int = 217;
pub(super) const UNSUPPORTED_PTX_VERSION: c_int = 222;
pub(super) const NOT_READY: c_int = 600;
pub(super) const PEER_ACCESS_ALREADY_ENABLED: c_int = 704;
pub(super) const TOO_MANY_PEERS: c_int = 711;

/// Whether all later calls fail as well: the device is unavailable (46) or lost, its memory (214,
/// 226), a link (220) or the service that shares it (807) has failed, or a kernel has (illegal
/// address, timeout, assertion, hardware stack, illegal instruction, misaligned address, address
/// space, program counter, launch failure, and an unknown error), which ends the context (709).
pub(super) fn is_final(code: c_int) -> bool {
    matches!(code, 46 | 214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 807 | 999)
}

macro_rules! functions {
    (
        { $($name:ident: $symbol:literal ($($argument:ty),*);)* }
        optional { $($later:ident: $later_symbol:literal ($($later_argument:ty),*);)* }
    ) => {
        /// The functions, by the names of the driver's documentation.
        pub(super) struct Api {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> c_int,)*
            $(pub(super) $later: Option<unsafe extern "C" fn($($later_argument),*) -> c_int>,)*
        }

        impl Api {
            /// `None` if there is no library, or it lacks a function that is not optional.
            fn find() -> Option<Self> {
                // SAFETY: loads the CUDA driver, whose initialisers are sound.
                if !unsafe { sys::is_culib_present() } {
                    return None;
                }
                // SAFETY: as above, and the library was found.
                let library = unsafe { sys::culib() };
                // SAFETY: the types are those of cuda.h for these symbols.
                Some(unsafe {
                    Self {
                        $($name: *library.get(concat!($symbol, "\0").as_bytes()).ok()?,)*
                        $($later: library.get(concat!($later_symbol, "\0").as_bytes()).ok().map(|found| *found),)*
                    }
                })
            }
        }
    };
}

functions! {
    {
        init: "cuInit" (c_uint);
        driver_version: "cuDriverGetVersion" (*mut c_int);
        error_name: "cuGetErrorName" (c_int, *mut *const c_char);
        error_string: "cuGetErrorString" (c_int, *mut *const c_char);
        device_count: "cuDeviceGetCount" (*mut c_int);
        device: "cuDeviceGet" (*mut CUdevice, c_int);
        device_name: "cuDeviceGetName" (*mut c_char, c_int, CUdevice);
        device_attribute: "cuDeviceGetAttribute" (*mut c_int, c_int, CUdevice);
        device_memory: "cuDeviceTotalMem_v2" (*mut usize, CUdevice);
        primary_retain: "cuDevicePrimaryCtxRetain" (*mut CUcontext, CUdevice);
        primary_release: "cuDevicePrimaryCtxRelease_v2" (CUdevice);
        set_context: "cuCtxSetCurrent" (CUcontext);
        current_context: "cuCtxGetCurrent" (*mut CUcontext);
        context_device: "cuCtxGetDevice" (*mut CUdevice);
        memory_info: "cuMemGetInfo_v2" (*mut usize, *mut usize);
        alloc: "cuMemAlloc_v2" (*mut CUdeviceptr, usize);
        free: "cuMemFree_v2" (CUdeviceptr);
        alloc_host: "cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
        free_host: "cuMemFreeHost" (*mut c_void);
        pointer_attributes: "cuPointerGetAttributes" (c_uint, *mut c_int, *mut *mut c_void, CUdeviceptr);
        write: "cuMemcpyHtoDAsync_v2" (CUdeviceptr, *const c_void, usize, CUstream);
        read: "cuMemcpyDtoHAsync_v2" (*mut c_void, CUdeviceptr, usize, CUstream);
        copy: "cuMemcpyDtoDAsync_v2" (CUdeviceptr, CUdeviceptr, usize, CUstream);
        copy_rows: "cuMemcpy2DAsync_v2" (*const Memcpy2d, CUstream);
        copy_peer_rows: "cuMemcpy3DPeerAsync" (*const MemcpyPeer, CUstream);
        enable_peer: "cuCtxEnablePeerAccess" (CUcontext, c_uint);
        fill: "cuMemsetD8Async" (CUdeviceptr, u8, usize, CUstream);
        create_stream: "cuStreamCreate" (*mut CUstream, c_uint);
        destroy_stream: "cuStreamDestroy_v2" (CUstream);
        synchronize_stream: "cuStreamSynchronize" (CUstream);
        query_stream: "cuStreamQuery" (CUstream);
        wait_event: "cuStreamWaitEvent" (CUstream, CUevent, c_uint);
        begin_capture: "cuStreamBeginCapture_v2" (CUstream, c_int);
        end_capture: "cuStreamEndCapture" (CUstream, *mut CUgraph);
        load: "cuModuleLoadDataEx" (*mut CUmodule, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
        unload: "cuModuleUnload" (CUmodule);
        function: "cuModuleGetFunction" (*mut CUfunction, CUmodule, *const c_char);
        function_attribute: "cuFuncGetAttribute" (*mut c_int, c_int, CUfunction);
        set_function_attribute: "cuFuncSetAttribute" (CUfunction, c_int, c_int);
        launch: "cuLaunchKernel"
            (CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void, *mut *mut c_void);
        create_event: "cuEventCreate" (*mut CUevent, c_uint);
        destroy_event: "cuEventDestroy_v2" (CUevent);
        record_event: "cuEventRecord" (CUevent, CUstream);
        synchronize_event: "cuEventSynchronize" (CUevent);
        elapsed: "cuEventElapsedTime" (*mut f32, CUevent, CUevent);
        instantiate: "cuGraphInstantiateWithFlags" (*mut CUgraphExec, CUgraph, c_ulonglong);
        launch_graph: "cuGraphLaunch" (CUgraphExec, CUstream);
        destroy_graph: "cuGraphDestroy" (CUgraph);
        destroy_instance: "cuGraphExecDestroy" (CUgraphExec);
        create_graph: "cuGraphCreate" (*mut CUgraph, c_uint);
        add_kernel: "cuGraphAddKernelNode_v2" (*mut CUgraphNode, CUgraph, *const CUgraphNode, usize, *const KernelNode);
        set_kernel: "cuGraphExecKernelNodeSetParams_v2" (CUgraphExec, CUgraphNode, *const KernelNode);
    }
    optional {
        // CUDA 12.3
        add_dependencies: "cuGraphAddDependencies_v2"
            (CUgraph, *const CUgraphNode, *const CUgraphNode, *const EdgeData, usize);
    }
}

/// `CUgraphEdgeData`: how a node of a graph depends on another one.
#[repr(C)]
pub(super) struct EdgeData {
    from_port: u8,
    to_port: u8,
    kind: u8,
    reserved: [u8; 5],
}

impl EdgeData {
    /// The node is started when all blocks of the kernel before it have ended, and waits itself for
    /// that kernel's results: `CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC` and
    /// `CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC`.
    pub(super) const PROGRAMMATIC: Self = Self { from_port: 1, to_port: 0, kind: 1, reserved: [0; 5] };
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Api")
    }
}

impl Api {
    /// The started driver.
    pub(super) fn get() -> Result<&'static Self> {
        static API: OnceLock<Option<Api>> = OnceLock::new();
        static STARTED: OnceLock<c_int> = OnceLock::new();
        let api = API.get_or_init(Self::find).as_ref().ok_or(Error::NoDriver)?;
        // SAFETY: 0 is the only flag.
        match *STARTED.get_or_init(|| unsafe { (api.init)(0) }) {
            SUCCESS | NO_DEVICE => Ok(api),
            STUB_LIBRARY => Err(Error::NoDriver),
            code => Err(api.error("cuInit", code, 0)),
        }
    }

    /// The error of a result; `bytes` is the size of a request for memory, or 0.
    pub(super) fn error(&self, call: &'static str, code: c_int, bytes: usize) -> Error {
        error(call, code, bytes, |code| self.reason(code))
    }

    /// Returns an error for every result but success.
    pub(super) fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        self.check_bytes(call, code, 0)
    }

    /// The same as [`check`](Self::check), for a call that moves or allocates `bytes` bytes.
    pub(super) fn check_bytes(&self, call: &'static str, code: c_int, bytes: usize) -> Result<()> {
        if code == SUCCESS { Ok(()) } else { Err(self.error(call, code, bytes)) }
    }

    /// The driver's name for a result, and its description.
    pub(super) fn reason(&self, code: c_int) -> String {
        reason(self.error_name, self.error_string, code)
    }
}

/// A function that describes results.
type Namer = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;

fn error(call: &'static str, code: c_int, bytes: usize, reason: impl FnOnce(c_int) -> String) -> Error {
    match code {
        OUT_OF_MEMORY => Error::OutOfMemory { bytes },
        code if is_final(code) => Error::DeviceFailed { call, reason: reason(code) },
        code => Error::Driver { call, reason: reason(code) },
    }
}

fn reason(name: Namer, string: Namer, code: c_int) -> String {
    match (text(name, code), text(string, code)) {
        (Some(name), Some(words)) => format!("{name}: {words}"),
        (Some(name), None) => name,
        _ => format!("CUDA error {code}"),
    }
}

fn text(function: Namer, code: c_int) -> Option<String> {
    let mut words = std::ptr::null();
    // SAFETY: the functions take any number and set the pointer to a constant, or to null.
    let result = unsafe { function(code, &mut words) };
    if result != SUCCESS || words.is_null() {
        return None;
    }
    // SAFETY: a constant of the driver that ends with 0.
    Some(unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn name(code: c_int, words: *mut *const c_char) -> c_int {
        let (known, result) = match code {
            OUT_OF_MEMORY => (c"CUDA_ERROR_OUT_OF_MEMORY".as_ptr(), SUCCESS),
            700 => (c"CUDA_ERROR_ILLEGAL_ADDRESS".as_ptr(), SUCCESS),
            _ => (std::ptr::null(), 1),
        };
        // SAFETY: the caller passes a valid pointer.
        unsafe { *words = known };
        result
    }

    unsafe extern "C" fn string(code: c_int, words: *mut *const c_char) -> c_int {
        let known = if code == 700 { c"an illegal address".as_ptr() } else { std::ptr::null() };
        // SAFETY: the caller passes a valid pointer.
        unsafe { *words = known };
        SUCCESS
    }

    #[test]
    fn results_become_errors() {
        let map = |code, bytes| error("cuCall", code, bytes, |code| reason(name, string, code));
        let driver = |reason: &str| Error::Driver { call: "cuCall", reason: reason.into() };
        assert_eq!(map(OUT_OF_MEMORY, 64), Error::OutOfMemory { bytes: 64 });
        assert_eq!(map(OUT_OF_MEMORY, 0), Error::OutOfMemory { bytes: 0 });
        let reason = "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal address".to_owned();
        assert_eq!(map(700, 64), Error::DeviceFailed { call: "cuCall", reason });
        let last = |code| matches!(map(code, 0), Error::DeviceFailed { .. });
        assert!([46, 214, 702, 719, 999].into_iter().all(last), "each is the last");
        assert!(![1, 2, 100, 201, 218, 222, 701, 720].into_iter().any(last), "the device goes on");
        assert_eq!(map(12345, 0), driver("CUDA error 12345"));
        assert_eq!(map(-1, 0), driver("CUDA error -1"));
    }
}
