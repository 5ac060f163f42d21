// Runs kernels on the host: each thread of a block is a fiber, which gives control back where it waits at a barrier.
// Blocks, or clusters of blocks, run one after another on the thread that launches; several threads may launch at once.

#include <mutex>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

// HE_UCONTEXT tries out what other processors get: slow, since each switch is a system call.
#if !defined(HE_UCONTEXT) && defined(__ELF__) && (defined(__x86_64__) || defined(__aarch64__))
#define HE_ASSEMBLY 1
#else
#define HE_ASSEMBLY 0
#include <ucontext.h>
#endif

__thread __attribute__((tls_model("initial-exec"))) uint3 threadIdx;
__thread __attribute__((tls_model("initial-exec"))) uint3 blockIdx;
__thread __attribute__((tls_model("initial-exec"))) uint3 blockDim;
__thread __attribute__((tls_model("initial-exec"))) uint3 gridDim;
__thread __attribute__((tls_model("initial-exec"))) unsigned char* he_host_shared;

namespace {

typedef void (*Kernel)(const void*);
struct Context;
void fiber_main(Context* context);

// ---- Switching stacks ----

#if HE_ASSEMBLY

typedef void* Saved; // A stack pointer; callee-saved registers lie on the stack.

// Saves the registers and the stack pointer to `from` and goes on at `to`. It ends in a jump, since the processor would
// predict that a return goes back to the caller.
extern "C" __attribute__((visibility("hidden"))) void he_host_switch(Saved* from, Saved to);
extern "C" __attribute__((visibility("hidden"))) void he_host_start();

#if defined(__x86_64__)
asm(R"(
.text
.globl he_host_switch
.hidden he_host_switch
.type he_host_switch, @function
he_host_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rcx
    jmp *%rcx
.size he_host_switch, . - he_host_switch
.globl he_host_start
.hidden he_host_start
.type he_host_start, @function
he_host_start:
    movq %r12, %rdi
    call *%r13
    ud2
.size he_host_start, . - he_host_start
)");

Saved prepare(unsigned char* top, Context* context) {
    void** slot = reinterpret_cast<void**>(top) - 9; // r15 r14 r13 r12 rbx rbp, the return address, two to align
    memset(slot, 0, 9 * sizeof *slot);
    slot[2] = reinterpret_cast<void*>(fiber_main);
    slot[3] = context;
    slot[6] = reinterpret_cast<void*>(he_host_start);
    return slot;
}
#else
asm(R"(
.text
.p2align 2
.globl he_host_switch
.hidden he_host_switch
.type he_host_switch, %function
he_host_switch:
    sub sp, sp, #160
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    br x30
.size he_host_switch, . - he_host_switch
.globl he_host_start
.hidden he_host_start
.type he_host_start, %function
he_host_start:
    mov x0, x19
    blr x20
    brk #0
.size he_host_start, . - he_host_start
)");

Saved prepare(unsigned char* top, Context* context) {
    void** slot = reinterpret_cast<void**>(top) - 20;
    memset(slot, 0, 20 * sizeof *slot);
    slot[0] = context;
    slot[1] = reinterpret_cast<void*>(fiber_main);
    slot[11] = reinterpret_cast<void*>(he_host_start);
    return slot;
}
#endif

inline void switch_to(Saved* from, Saved* to) { he_host_switch(from, *to); }

#else

typedef ucontext_t Saved;

void ucontext_main(unsigned high, unsigned low) {
    fiber_main(reinterpret_cast<Context*>(static_cast<uintptr_t>(static_cast<uint64_t>(high) << 32 | low)));
}

inline void switch_to(Saved* from, Saved* to) { swapcontext(from, to); }

#endif

// ---- Fibers ----

const size_t STACK = 256 << 10;
const unsigned MOST_THREADS = 1024;
const unsigned WARP = 32;
const unsigned char PATTERN = 0xa5;
const unsigned char GUARD = 0xc3;
const size_t GUARD_BYTES = 256;

enum State : uint8_t { NEW, READY, AT_WARP_BARRIER, AT_BLOCK_BARRIER, DONE };

// The line of a barrier of the cluster.
const int CLUSTER_LINE = -1;

struct Thread {
    uint3 index;
    unsigned rank; // of its block in the cluster
    unsigned fiber;
    unsigned mask; // of the warp barrier
    int line;      // of the block barrier
    State state;
};

// A scheduler with its fibers. A fiber runs one thread after another: only threads at barriers take a stack each.
struct Context {
    Kernel kernel;
    const void* argument;
    Thread* current;
    Saved scheduler;
    Saved fibers[MOST_THREADS];
    unsigned idle[MOST_THREADS]; // numbers of fibers that can take a thread: those below `idle_count`
    unsigned idle_count, made;
    Thread threads[MOST_THREADS];
    const void* published[MOST_THREADS]; // what threads show the others of their warp
    unsigned char* stacks;
    std::vector<unsigned char> shared;
    unsigned char* shared_of_first; // of the cluster's blocks
    size_t shared_stride;
    uint3 first_block;
    uint64_t random;
};

__thread __attribute__((tls_model("initial-exec"))) Context* running;

void fiber_main(Context* context) {
    // Nothing thread-local here: the next launch may come from another thread.
    for (;;) {
        context->kernel(context->argument);
        Thread* thread = context->current;
        thread->state = DONE;
        switch_to(&context->fibers[thread->fiber], &context->scheduler);
    }
}

bool make_fiber(Context& c) {
    unsigned number = c.made;
    unsigned char* stack = c.stacks + number * STACK;
    if (mprotect(stack, 4096, PROT_NONE) != 0 && sysconf(_SC_PAGESIZE) == 4096) return false;
    // Stacks of equal alignment would share the same few sets of the cache.
    size_t size = STACK - (number % 64) * 7 * 64 % 4096;
#if HE_ASSEMBLY
    c.fibers[number] = prepare(stack + size, &c);
#else
    uint64_t bits = reinterpret_cast<uintptr_t>(&c);
    getcontext(&c.fibers[number]);
    c.fibers[number].uc_stack.ss_sp = stack;
    c.fibers[number].uc_stack.ss_size = size;
    c.fibers[number].uc_link = nullptr;
    makecontext(&c.fibers[number], reinterpret_cast<void (*)()>(ucontext_main), 2, unsigned(bits >> 32),
                unsigned(bits));
#endif
    c.made++;
    c.idle[c.idle_count++] = number;
    return true;
}

Context* make_context() {
    Context* c = new Context();
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
    flags |= MAP_NORESERVE;
#endif
    void* stacks = mmap(nullptr, MOST_THREADS * STACK, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (stacks == MAP_FAILED) {
        delete c;
        return nullptr;
    }
#ifdef MADV_NOHUGEPAGE
    madvise(stacks, MOST_THREADS * STACK, MADV_NOHUGEPAGE);
#endif
    c->stacks = static_cast<unsigned char*>(stacks);
    return c;
}

// Runs a thread up to its next barrier or its end.
inline bool resume(Context& c, Thread& thread) {
    if (thread.state == NEW) {
        if (c.idle_count == 0 && !make_fiber(c)) return false;
        thread.fiber = c.idle[--c.idle_count];
    }
    c.current = &thread;
    threadIdx = thread.index;
    blockIdx = {c.first_block.x + thread.rank, c.first_block.y, c.first_block.z};
    he_host_shared = c.shared_of_first + thread.rank * c.shared_stride;
    switch_to(&c.scheduler, &c.fibers[thread.fiber]);
    if (thread.state == DONE) c.idle[c.idle_count++] = thread.fiber;
    return true;
}

// ---- Order ----

unsigned below(Context& c, unsigned bound) {
    c.random ^= c.random << 13;
    c.random ^= c.random >> 7;
    c.random ^= c.random << 17;
    return unsigned(((c.random >> 32) * bound) >> 32);
}

// The numbers below `count`: 0 forward, 1 backward, otherwise shuffled.
void arrange(Context& c, unsigned* numbers, unsigned count, unsigned order) {
    for (unsigned i = 0; i < count; i++) numbers[i] = order == 1 ? count - 1 - i : i;
    if (order < 2) return;
    for (unsigned i = count; i > 1; i--) {
        unsigned j = below(c, i), number = numbers[i - 1];
        numbers[i - 1] = numbers[j];
        numbers[j] = number;
    }
}

// ---- Blocks ----

const char* run_warp(Context& c, Thread* warp, unsigned lanes, unsigned order) {
    unsigned numbers[WARP];
    arrange(c, numbers, lanes, order);
    for (;;) {
        unsigned waiting = 0, absent = lanes == WARP ? 0 : ~0u << lanes;
        for (unsigned i = 0; i < lanes; i++) {
            Thread& thread = warp[numbers[i]];
            if (thread.state <= READY && !resume(c, thread)) return "there is no memory for the threads' stacks";
        }
        for (unsigned i = 0; i < lanes; i++) {
            if (warp[i].state == AT_WARP_BARRIER) waiting |= 1u << i;
            if (warp[i].state == DONE) absent |= 1u << i;
        }
        if (waiting == 0) return nullptr;
        bool any = false;
        for (unsigned i = 0; i < lanes; i++) {
            if (warp[i].state == AT_WARP_BARRIER && (warp[i].mask & ~(waiting | absent)) == 0) {
                warp[i].state = READY;
                any = true;
            }
        }
        if (!any) return "threads wait at __syncwarp() for others that wait at __syncthreads()";
        if (order >= 2) arrange(c, numbers, lanes, order);
    }
}

// Ends the wait of a block's threads, all of which are at a barrier or have ended, which is as good. Gives the line of the barrier, or 0.
const char* end_barrier(Thread* threads, unsigned count, int& line) {
    line = 0;
    for (unsigned i = 0; i < count; i++) {
        if (threads[i].state != AT_BLOCK_BARRIER) continue;
        if (line != 0 && line != threads[i].line) return "threads of a block wait at different __syncthreads()";
        line = threads[i].line;
    }
    for (unsigned i = 0; i < count && line != CLUSTER_LINE; i++) {
        if (threads[i].state == AT_BLOCK_BARRIER) threads[i].state = READY;
    }
    return nullptr;
}

// `ranks` blocks of `count` threads each.
const char* run_cluster(Context& c, unsigned ranks, unsigned count, unsigned order) {
    for (unsigned i = 0; i < ranks * count; i++) c.threads[i].state = NEW;
    unsigned warps = (count + WARP - 1) / WARP, numbers[MOST_THREADS];
    for (;;) {
        arrange(c, numbers, ranks * warps, order);
        for (unsigned i = 0; i < ranks * warps; i++) {
            unsigned block = numbers[i] / warps * count, first = numbers[i] % warps * WARP;
            unsigned lanes = count - first < WARP ? count - first : WARP;
            if (const char* error = run_warp(c, c.threads + block + first, lanes, order)) return error;
        }
        bool goes_on = false, waits = false;
        for (unsigned rank = 0; rank < ranks; rank++) {
            int line;
            if (const char* error = end_barrier(c.threads + rank * count, count, line)) return error;
            goes_on |= line > 0;
            waits |= line == CLUSTER_LINE;
        }
        if (goes_on) continue;
        if (!waits) return nullptr;
        for (unsigned i = 0; i < ranks * count; i++) {
            if (c.threads[i].state == AT_BLOCK_BARRIER) c.threads[i].state = READY;
        }
    }
}

const char* run_grid(Context& c, const unsigned* grid, const unsigned* block, unsigned ranks, unsigned bytes,
                     unsigned order) {
    unsigned count = block[0] * block[1] * block[2];
    if (ranks * count > MOST_THREADS || grid[0] % ranks != 0) return "the host has no such clusters";
    for (unsigned i = 0; i < ranks * count; i++) {
        unsigned t = i % count;
        c.threads[i].index = {t % block[0], t / block[0] % block[1], t / block[0] / block[1]};
        c.threads[i].rank = i / count;
    }
    c.random = 0x9e3779b97f4a7c15ull * (order + 1) | 1;
    unsigned columns = grid[0] / ranks;
    uint64_t clusters = uint64_t(columns) * grid[1] * grid[2];
    if (clusters > 0xffffffffu) return "the grid is too large for the host";
    std::vector<unsigned> numbers(order < 2 ? 0 : clusters);
    if (order >= 2) arrange(c, numbers.data(), unsigned(clusters), order);

    c.shared_stride = (bytes + GUARD_BYTES - 1) / GUARD_BYTES * GUARD_BYTES + GUARD_BYTES;
    c.shared.resize(ranks * c.shared_stride + GUARD_BYTES);
    uintptr_t start = reinterpret_cast<uintptr_t>(c.shared.data());
    c.shared_of_first = c.shared.data() + (GUARD_BYTES - start % GUARD_BYTES) % GUARD_BYTES;
    size_t behind = c.shared_stride - bytes; // a block's memory
    std::vector<unsigned char> intact(behind, GUARD);

    blockDim = {block[0], block[1], block[2]};
    gridDim = {grid[0], grid[1], grid[2]};
    for (unsigned i = 0; i < clusters; i++) {
        unsigned number = order == 0 ? i : order == 1 ? unsigned(clusters) - 1 - i : numbers[i];
        c.first_block = {number % columns * ranks, number / columns % grid[1], number / columns / grid[1]};
        for (unsigned rank = 0; rank < ranks; rank++) {
            memset(c.shared_of_first + rank * c.shared_stride, PATTERN, bytes);
            memset(c.shared_of_first + rank * c.shared_stride + bytes, GUARD, behind);
        }
        if (const char* error = run_cluster(c, ranks, count, order)) return error;
        for (unsigned rank = 0; rank < ranks; rank++) {
            const unsigned char* end = c.shared_of_first + rank * c.shared_stride + bytes;
            if (memcmp(end, intact.data(), behind) != 0) return "a block wrote behind its shared memory";
        }
    }
    return nullptr;
}

std::mutex contexts_mutex;
std::vector<Context*>* contexts; // those not in use

} // namespace

extern "C" {

void he_host_block_barrier(int line) {
    Context* c = running;
    Thread* thread = c->current;
    thread->state = AT_BLOCK_BARRIER;
    thread->line = line;
    switch_to(&c->fibers[thread->fiber], &c->scheduler);
}

void he_host_warp_barrier(unsigned mask) {
    Context* c = running;
    Thread* thread = c->current;
    thread->state = AT_WARP_BARRIER;
    thread->mask = mask;
    switch_to(&c->fibers[thread->fiber], &c->scheduler);
}

void he_host_cluster_barrier() { he_host_block_barrier(CLUSTER_LINE); }

unsigned char* he_host_shared_of(unsigned rank) { return running->shared_of_first + rank * running->shared_stride; }

const void** he_host_published() { return running->published; }

// Runs a kernel, `ranks` blocks of a cluster at a time. Order of threads between barriers and of blocks: 0 forward, 1 backward, otherwise shuffled with this
// seed. Gives null, or what went wrong.
HE_EXPORT const char* he_host_launch(Kernel kernel, const void* argument, const unsigned* grid, const unsigned* block,
                                     unsigned ranks, unsigned shared, unsigned order) {
    Context* c = nullptr;
    {
        std::lock_guard<std::mutex> lock(contexts_mutex);
        if (contexts && !contexts->empty()) {
            c = contexts->back();
            contexts->pop_back();
        }
    }
    if (!c && !(c = make_context())) return "there is no memory for the threads' stacks";
    c->kernel = kernel;
    c->argument = argument;
    running = c;
    const char* error = run_grid(*c, grid, block, ranks, shared, order);
    running = nullptr;
    if (error) c->idle_count = c->made = 0; // Fibers in the middle of a thread are made anew.
    std::lock_guard<std::mutex> lock(contexts_mutex);
    if (!contexts) contexts = new std::vector<Context*>();
    contexts->push_back(c);
    return error;
}
}
