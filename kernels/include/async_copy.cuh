// Copies to shared memory that nobody waits for until they are needed: those of compute capability 8.0, and elsewhere ordinary ones.
#pragma once
#include "launch.cuh"

// 16 bytes of global memory to shared memory, both aligned to 16 bytes. The bytes are the calling thread's from the `wait_copies` on
// that covers their group, and other threads' after a barrier that follows it.
HE_D void copy_async(void* shared, const void* global) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(shared)), "l"(global) : "memory");
#else
    *static_cast<ulonglong2*>(shared) = *static_cast<const ulonglong2*>(global);
#endif
}

// The same of one word.
HE_D void copy_word_async(u64* shared, const u64* global) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"((u32)__cvta_generic_to_shared(shared)), "l"(global) : "memory");
#else
    *shared = *global;
#endif
}

// Ends a group: the copies of this thread since the last one, which may be none.
HE_D void commit_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits for all groups of this thread.
HE_D void wait_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
}
