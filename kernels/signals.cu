// What orders streams of several devices around accesses to each other's memory (gpu::Signals). One block.
#include "include/launch.cuh"

constexpr u32 MOST_OTHERS = 3;

// Mirrored by `gpu::signals::Args`.
struct SignalArgs {
    u64* numbers[MOST_OTHERS];
    u64 number, count;
};

// Writes the number to the memory of other devices. Earlier kernels of the stream have ended, and what they wrote to any device is there
// before.
KERNEL(send_signals, SignalArgs, 32, 1) {
    if (threadIdx.x >= a.count) return;
    __threadfence_system();
    *static_cast<volatile u64*>(a.numbers[threadIdx.x]) = a.number;
}

// Waits until the others' numbers have come, and with them what was written before. If one does not come in some ten minutes, its device
// has failed, and so does this kernel.
constexpr i64 PATIENCE = 1ll << 40; // clocks
KERNEL(await_signals, SignalArgs, 32, 1) {
    if (threadIdx.x >= a.count) return;
    const volatile u64* number = a.numbers[threadIdx.x];
    i64 begin = clock64();
    while (*number < a.number) {
        if (clock64() - begin > PATIENCE) __trap();
    }
    __threadfence_system();
}
