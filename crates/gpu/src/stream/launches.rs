//! Launches of kernels, one by one and in batches.

use super::Stream;
use crate::driver::Launch;
use crate::error::{Error, Result};
use crate::fork::Branch;
use crate::gather::Held;
use crate::module::Kernel;
use bytemuck::{NoUninit, bytes_of};
use std::ffi::c_void;

impl Stream {
    /// Runs `work` and submits its launches to the driver as one batch, when `work` ends or other
    /// work of this stream comes in between. If the same launches have been batched before, they
    /// are submitted as one graph. Their arguments are kept, so pass secrets to
    /// [`launch_apart`](Self::launch_apart). Nested calls form one batch.
    ///
    /// # Errors
    /// [`Error::Driver`] if the driver refuses a launch.
    pub fn batched<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.gathered().begin();
        let gathering = Gathering(self);
        let done = work();
        gathering.end().map(|()| done)
    }

    /// Launches a kernel with `grid` blocks of `block` threads and `shared` bytes of dynamic shared
    /// memory: as a graph if the same kernel and shape were launched before, since the device then
    /// starts sooner. The argument is kept, so pass secrets to [`launch_apart`](Self::launch_apart).
    ///
    /// # Safety
    /// - `A` is the kernel's one parameter, with the layout of the kernel's structure.
    /// - Every address in it is live in the memory of this device until the kernel has run, and the
    ///   kernel accesses nothing outside the allocations. A [`Buffer`](crate::Buffer) of this
    ///   stream may be dropped after this call; it lives on for the kernel.
    /// - Accesses to a buffer of another stream are ordered with that stream's work on it, by
    ///   [`record`](Self::record) and [`wait`](Self::wait), and with the reuse of its memory after
    ///   the buffer is dropped.
    /// - Nothing but this stream's earlier and later work accesses what the kernel writes, nor
    ///   writes what it accesses.
    /// - Within [`capture`](Self::capture) all this holds at every launch of the graph. For this
    ///   stream's buffers that live during the capture, the graph itself keeps the memory.
    ///
    /// # Errors
    /// [`Error::Driver`] if the kernel is of another device, `shared` is more than it was made for,
    /// or the driver refuses, as it does empty or too large grids and blocks.
    pub unsafe fn launch<A: NoUninit>(
        &self,
        kernel: &Kernel,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        args: &A,
    ) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch_in(None, kernel, grid, block, shared, args) }
    }

    /// Begins launches that may run side by side, in so many branches: the blocks of a kernel that
    /// ends fill the device together with those of other branches, and a branch goes on while
    /// others are still running. They do so in a batch that is submitted as one graph; otherwise
    /// launches run one after the other.
    pub fn fork(&self, branches: u32) -> Vec<Branch> {
        let fork = self.gathered().fork();
        (0..branches).map(|index| Branch { fork, index }).collect()
    }

    /// The same as [`launch`](Self::launch), as the next launch of a branch, if one is given.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch). The branch is of a [`fork`](Self::fork) of this stream; what
    /// a launch of one branch writes, launches of other branches do not access, and no buffer of
    /// the stream is made or dropped between the first launch of the fork and the last one.
    ///
    /// # Errors
    /// The same as for [`launch`](Self::launch).
    pub unsafe fn launch_in<A: NoUninit>(
        &self,
        branch: Option<Branch>,
        kernel: &Kernel,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        args: &A,
    ) -> Result<()> {
        let launch = Launch { branch, ..self.checked::<A>(kernel, grid, block, shared)? };
        let mut gathered = self.gathered();
        let held = gathered.push(launch, bytes_of(args));
        if !gathered.is_on() {
            return self.0.submit(&mut gathered);
        }
        drop(gathered);
        let full = match held {
            Held::Fewer => false,
            Held::MostIfIdle => self.is_done(),
            Held::Most => true,
        };
        if full { self.flush() } else { Ok(()) }
    }

    /// The same as [`launch`](Self::launch), but never batched nor as a graph: the argument is not
    /// kept.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    ///
    /// # Errors
    /// The same as for [`launch`](Self::launch).
    pub unsafe fn launch_apart<A: Copy>(
        &self,
        kernel: &Kernel,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        args: &A,
    ) -> Result<()> {
        let launch = self.checked::<A>(kernel, grid, block, shared)?;
        self.flush()?;
        // SAFETY: the caller's word.
        unsafe { self.launch_checked(&launch, args) }
    }

    /// Whether all that was submitted to the driver is done, as far as can be asked.
    fn is_done(&self) -> bool {
        // To ask would end a capture.
        match self.idle("Stream::launch") {
            // SAFETY: the stream is live.
            Ok(_idle) => unsafe { self.gpu().driver().is_done(self.handle()) },
            Err(_) => true,
        }
    }

    fn checked<A>(&self, kernel: &Kernel, grid: [u32; 3], block: [u32; 3], shared: u32) -> Result<Launch> {
        const CALL: &str = "Stream::launch";
        debug_assert!(size_of::<A>() > 0 && size_of::<A>() <= 4096, "kernel parameters are 1 to 4096 bytes");
        self.gpu().same(&kernel.gpu, CALL)?;
        if shared > kernel.shared {
            let reason = format!("{shared} bytes of shared memory for a kernel made for {}", kernel.shared);
            return Err(Error::Driver { call: CALL, reason });
        }
        Ok(Launch { function: kernel.handle, grid, block, shared, waits: kernel.waits, branch: None })
    }

    unsafe fn launch_checked<A>(&self, launch: &Launch, args: &A) -> Result<()> {
        let argument = std::ptr::from_ref(args).cast::<c_void>().cast_mut();
        // SAFETY: stream and kernel are live and of one driver; the caller guarantees the rest. The
        // driver copies the argument and does not write to it.
        unsafe { self.gpu().driver().launch(self.handle(), launch, argument) }
    }
}

/// A batch of launches being collected; it ends even if `work` panics.
struct Gathering<'a>(&'a Stream);

impl Gathering<'_> {
    fn end(self) -> Result<()> {
        let stream = self.0;
        std::mem::forget(self);
        // Under one lock: between the end and the submission another thread's launch, which is not
        // gathered any more, would overtake these, and its buffer may be one that they still use.
        let mut gathered = stream.gathered();
        if gathered.end() { stream.0.submit(&mut gathered) } else { Ok(()) }
    }
}

impl Drop for Gathering<'_> {
    fn drop(&mut self) {
        let _ = Gathering(self.0).end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{device, refused};
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn launches_are_checked() {
        let (fake, gpu, stream) = device();
        let kernel = gpu.load("k", "").unwrap().kernel("f", 16).unwrap();
        // SAFETY: the fake runs nothing.
        let launch =
            |stream: &Stream, shared| unsafe { stream.launch(&kernel, [1; 3], [1; 3], shared, &0_u64) };
        assert!(launch(&stream, 16).is_ok());
        assert!(refused(launch(&stream, 17)));
        assert!(refused(launch(&device().2, 0)));
        assert_eq!(fake.calls(), ["load", "function", "launch"]);
    }

    #[test]
    fn a_repeated_launch_is_a_graph() {
        let (fake, gpu, stream) = device();
        let kernel = gpu.load("k", "").unwrap().kernel("f", 16).unwrap();
        // SAFETY: the fake runs nothing.
        let launch =
            |argument: u64| unsafe { stream.launch(&kernel, [1; 3], [1; 3], 16, &argument) }.unwrap();
        fake.calls();
        (1..=4).for_each(launch);
        let graph = ["create_sequence", "launch_graph", "update_sequence", "launch_graph"];
        assert_eq!(fake.calls(), [&["launch"; 2][..], &graph].concat());
        // SAFETY: the fake runs nothing.
        unsafe { stream.launch_apart(&kernel, [1; 3], [1; 3], 16, &5_u64) }.unwrap();
        // Many other launches do not displace the graph of a longer sequence.
        let batch = || stream.batched(|| (1..=3).for_each(launch)).unwrap();
        (0..3).for_each(|_| batch());
        for block in 2..200 {
            // SAFETY: the fake runs nothing.
            unsafe { stream.launch(&kernel, [1; 3], [block, 1, 1], 16, &1_u64) }.unwrap();
        }
        fake.calls();
        batch();
        assert_eq!(fake.calls(), ["launch_graph"]);
    }

    #[test]
    fn launches_go_together() {
        let (fake, gpu, stream) = device();
        let module = gpu.load("k", "").unwrap();
        let [f, g] = ["f", "g"].map(|name| module.kernel(name, 16).unwrap());
        let launch = |kernel: &Kernel, argument: u64| {
            // SAFETY: the fake runs nothing.
            unsafe { stream.launch(kernel, [1; 3], [1; 3], 16, &[argument; 3]) }
        };
        let all = |arguments: [u64; 3]| {
            stream
                .batched(|| {
                    stream.batched(|| launch(&f, arguments[0])).unwrap().unwrap();
                    launch(&g, arguments[1]).unwrap();
                    launch(&f, arguments[2])
                })
                .unwrap()
        };
        fake.calls();
        for _ in 0..2 {
            all([1, 2, 3]).unwrap();
            assert_eq!(fake.calls(), ["launch"; 3]);
        }
        for (arguments, updates) in [([1, 2, 3], 0), ([1, 2, 3], 0), ([1, 4, 5], 2), ([1, 4, 5], 0)] {
            let made = fake.calls();
            assert!(made.is_empty());
            all(arguments).unwrap();
            let mut calls = fake.calls();
            calls.retain(|call| *call != "create_sequence");
            let mut expected = vec!["update_sequence"; updates];
            expected.push("launch_graph");
            assert_eq!(calls, expected);
        }
        // Other work follows the launches enqueued before it, and an error does not swallow
        // launches.
        let result = stream.batched(|| {
            launch(&f, 1)?;
            drop(stream.zeros(1)?);
            launch(&g, 1)?;
            // SAFETY: the fake runs nothing.
            unsafe { stream.launch_apart(&f, [1; 3], [1; 3], 0, &1_u64) }?;
            launch(&g, 1)?;
            launch(&device().1.load("k", "").unwrap().kernel("f", 0).unwrap(), 1)
        });
        assert!(refused(result.unwrap()));
        assert_eq!(fake.calls(), ["alloc", "launch", "fill_zero", "launch", "launch", "launch"]);
        // A capture contains the launches, and sequences end with the stream.
        let graph = stream.capture(|| all([1, 2, 3])).unwrap();
        assert_eq!(fake.calls(), ["begin_capture", "launch", "launch", "launch", "end_capture"]);
        drop((graph, stream));
        assert!(fake.calls().contains(&"destroy_sequence"));
    }

    #[test]
    fn a_busy_device_gets_more_launches_at_once() {
        let (fake, gpu, stream) = device();
        let kernel = gpu.load("k", "").unwrap().kernel("f", 0).unwrap();
        // No two batches are alike, so that they do not become graphs.
        let grid = std::cell::Cell::new(0);
        let launch = || {
            grid.set(grid.get() + 1);
            // SAFETY: the fake runs nothing.
            unsafe { stream.launch(&kernel, [grid.get(), 1, 1], [1; 3], 0, &1_u64) }.unwrap();
            fake.grids().len()
        };
        // The number of launches that the driver has got after each of them.
        let submitted = |launches: usize| -> Vec<usize> {
            let before = fake.grids().len();
            stream.batched(|| (0..launches).map(|_| launch() - before).collect()).unwrap()
        };
        let counts = |most: usize| (1..=45).map(|i| i / most * most).collect::<Vec<usize>>();
        assert_eq!(submitted(45), counts(5));
        fake.set_busy(true);
        assert_eq!(submitted(45), counts(20));
        // Captures are not asked, which would end them.
        let in_capture = || {
            assert_eq!(submitted(45), counts(5));
            Ok(())
        };
        stream.capture(in_capture).unwrap();
    }

    #[test]
    fn a_panic_ends_gathering() {
        let (fake, gpu, stream) = device();
        let kernel = gpu.load("k", "").unwrap().kernel("f", 0).unwrap();
        // SAFETY: the fake runs nothing.
        let launch = || unsafe { stream.launch(&kernel, [1; 3], [1; 3], 0, &1_u64) };
        let panic = std::panic::AssertUnwindSafe(|| {
            stream.batched(|| -> () {
                launch().unwrap();
                panic!("on purpose")
            })
        });
        fake.calls();
        assert!(std::panic::catch_unwind(panic).is_err());
        launch().unwrap();
        assert_eq!(fake.calls(), ["launch"; 2]);
    }

    /// A launch of one thread after another thread's batch stays after it, at whatever moment of
    /// the batch it is made: its buffer may be one that the batch has used and dropped.
    #[test]
    fn no_launch_overtakes_a_batch() {
        const ROUNDS: u32 = 20_000;
        let (fake, gpu, stream) = device();
        let kernel = gpu.load("k", "").unwrap().kernel("f", 0).unwrap();
        // SAFETY: the fake runs nothing.
        let launch = |grid| unsafe { stream.launch(&kernel, [grid, 1, 1], [1; 3], 0, &1_u64) }.unwrap();
        let (dropped, taken) = (AtomicU32::new(0), AtomicU32::new(0));
        let wait = |counter: &AtomicU32, round| {
            while counter.load(Ordering::Acquire) < round {
                std::hint::spin_loop();
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=ROUNDS {
                    wait(&dropped, round);
                    // A moment that differs from round to round.
                    for moment in 0..round % 50 {
                        std::hint::black_box(moment);
                    }
                    launch(ROUNDS + round);
                    taken.store(round, Ordering::Release);
                }
            });
            for round in 1..=ROUNDS {
                let batch = || {
                    launch(round);
                    dropped.store(round, Ordering::Release);
                };
                stream.batched(batch).unwrap();
                wait(&taken, round);
            }
        });
        stream.synchronize().unwrap();
        let grids = fake.grids();
        let mut at = vec![0; 2 * ROUNDS as usize + 1];
        grids.iter().enumerate().for_each(|(i, &grid)| at[grid as usize] = i);
        assert_eq!(grids.len(), 2 * ROUNDS as usize);
        for round in 1..=ROUNDS as usize {
            assert!(at[round] < at[ROUNDS as usize + round], "round {round}");
        }
    }
}
