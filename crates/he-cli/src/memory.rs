//! How the allocator of the C library treats large blocks.

/// Blocks up to this size come from memory that the process keeps: the greatest that glibc allows.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: libc::c_int = 32 << 20;

/// Free memory at the end of the heap beyond this goes back to the kernel.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const SPARE: libc::c_int = 64 << 20;

/// Keeps freed blocks for the next operation. An operation allocates polynomials of megabytes and
/// frees them at its end. By default glibc gives such blocks back to the kernel, which clears every
/// page anew for the next ones. Where there is no glibc this does nothing.
#[cfg_attr(all(target_os = "linux", target_env = "gnu"), allow(unsafe_code))]
pub fn keep() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (limit, bytes) in [(libc::M_MMAP_THRESHOLD, LARGE), (libc::M_TRIM_THRESHOLD, SPARE)] {
        // SAFETY: the call takes two integers, and no other thread allocates yet.
        unsafe { libc::mallopt(limit, bytes) };
    }
}
