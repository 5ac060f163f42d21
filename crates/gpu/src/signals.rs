//! Orders streams of several devices by numbers in their memories.

use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::module::Kernel;
use crate::stream::Stream;
use bytemuck::NoUninit;
use std::sync::{Mutex, MutexGuard, PoisonError};

const CALL: &str = "Signals";

/// The most streams that another one signals.
const MOST_OTHERS: usize = 3;

/// The words from one number to the next: each has a line of the cache.
const PITCH: usize = 16;

/// The argument of both kernels.
#[repr(C)]
#[derive(Debug, Clone, Copy, NoUninit)]
struct Args {
    numbers: [u64; MOST_OTHERS],
    number: u64,
    count: u64,
}

/// A stream of [`Signals`].
#[derive(Debug)]
struct Member {
    stream: Stream,
    send: Kernel,
    wait: Kernel,
    /// The last round that each member has told this one.
    numbers: Buffer,
}

/// Streams, of one device or several, that order themselves around what their kernels write to each
/// other's memory. They do so in the devices: after its work, each stream writes the number of the
/// round to the memory of all others, and waits until theirs have arrived in its own. That takes a
/// third of the time of events, each of which also ends a [batch](Stream::batched).
///
/// A stream waits only for what has been submitted to the driver before its wait, so that no two
/// wait for each other, whatever else the streams and the host do.
#[derive(Debug)]
pub struct Signals {
    members: Vec<Member>,
    rounds: Mutex<Rounds>,
}

#[derive(Debug)]
struct Rounds {
    number: u64,
    /// The count of signals of each member at the last round that all others have waited for.
    followed: Vec<u64>,
}

impl Signals {
    /// Signals among two to four streams. The two kernels of each run with one block of 32 threads,
    /// and take an argument of 40 bytes: three addresses of numbers of 64 bits, a number, and how
    /// many of the addresses are used. The first kernel writes the number to all of them, behind
    /// all earlier writes of its stream to any device; the second one returns when all of them have
    /// reached it.
    ///
    /// # Errors
    /// [`Error::Driver`] if there are fewer or more streams, or the driver refuses;
    /// [`Error::OutOfMemory`].
    pub fn new(streams: Vec<(Stream, [Kernel; 2])>) -> Result<Self> {
        if !(2..=MOST_OTHERS + 1).contains(&streams.len()) {
            let reason = format!("{} streams; 2 to {} signal each other", streams.len(), MOST_OTHERS + 1);
            return Err(Error::Driver { call: CALL, reason });
        }
        let words = PITCH * streams.len();
        let member = |(stream, [send, wait]): (Stream, [Kernel; 2])| {
            let numbers = stream.zeros(words)?;
            stream.synchronize()?;
            Ok(Member { stream, send, wait, numbers })
        };
        let members: Vec<Member> = streams.into_iter().map(member).collect::<Result<_>>()?;
        let followed = vec![0; members.len()];
        Ok(Self { members, rounds: Mutex::new(Rounds { number: 0, followed }) })
    }

    /// Runs `work`, which enqueues on any of the streams what writes to `targets`, buffers of
    /// others. That comes after all work that used the memory of a target before it was allocated,
    /// and the later work of all streams comes after it, also on the memory of a target that is
    /// dropped after this returns. If a target's memory has been used since the streams last waited
    /// for each other, they do so once more before.
    ///
    /// # Safety
    /// - The devices are [connected](crate::Gpu::connect), and the result of that allows what
    ///   `work` enqueues.
    /// - Since a target was allocated, nothing has accessed what is written to it, and nothing does
    ///   so until this returns.
    ///
    /// # Errors
    /// [`Error::Driver`] if a stream is being captured, or the driver refuses. If `work` was run,
    /// what it enqueued is ordered, or the host has waited for it.
    pub unsafe fn across(&self, targets: &[&Buffer], work: impl FnOnce()) -> Result<()> {
        let mut rounds = self.rounds();
        let idle = self.members.iter().map(|member| member.stream.idle(CALL));
        let _idle = idle.collect::<Result<Vec<_>>>()?;
        // The block was given back before its stream's last signal, which all others have waited
        // for.
        let is_free = |target: &&Buffer| {
            let member = self.members.iter().position(|member| member.stream == *target.stream());
            member.is_some_and(|member| target.used() < rounds.followed[member])
        };
        if !targets.iter().all(is_free) {
            self.round(&mut rounds, || ())?;
        }
        self.round(&mut rounds, work)
    }

    fn rounds(&self) -> MutexGuard<'_, Rounds> {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The work of a round, and the waits for it.
    fn round(&self, rounds: &mut Rounds, work: impl FnOnce()) -> Result<()> {
        rounds.number += 1;
        let number = rounds.number;
        // Memory that is given back from now on may be used by work behind the signals.
        let counts = self.members.iter().map(|member| member.stream.count_signal()).collect();
        work();
        let done = self.enqueue(number);
        match done {
            Ok(()) => rounds.followed = counts,
            // The streams could not be ordered: wait instead, so that the memory is free.
            Err(_) => self.synchronize(),
        }
        done
    }

    /// All signals are submitted before the first wait for one of them.
    fn enqueue(&self, number: u64) -> Result<()> {
        for (i, member) in self.members.iter().enumerate() {
            self.launch(member, &member.send, number, |other| (&self.members[other].numbers, i))?;
        }
        self.members.iter().try_for_each(|member| member.stream.flush())?;
        for member in &self.members {
            self.launch(member, &member.wait, number, |other| (&member.numbers, other))?;
        }
        Ok(())
    }

    /// Launches a kernel with the place of a number for each other member.
    fn launch<'a>(
        &'a self,
        member: &Member,
        kernel: &Kernel,
        number: u64,
        place: impl Fn(usize) -> (&'a Buffer, usize),
    ) -> Result<()> {
        let mut args = Args { numbers: [0; MOST_OTHERS], number, count: self.members.len() as u64 - 1 };
        let others = (0..self.members.len()).filter(|&other| !std::ptr::eq(&self.members[other], member));
        for (address, other) in args.numbers.iter_mut().zip(others) {
            let (numbers, at) = place(other);
            *address = numbers.address() + (8 * PITCH * at) as u64;
        }
        // SAFETY: the kernel takes this argument, as `new` was told; the buffers have a number for
        // each member and live until all work on them is done. A number is written by one member
        // and read by another, which is what it is for.
        unsafe { member.stream.launch(kernel, [1; 3], [32, 1, 1], 0, &args) }
    }

    fn synchronize(&self) {
        for member in &self.members {
            let _ = member.stream.synchronize_idle();
        }
    }
}

impl Drop for Signals {
    /// Waits for the streams, which write to memory of each other that is about to be given back.
    fn drop(&mut self) {
        self.synchronize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Gpu;
    use crate::exchange::Piece;
    use crate::fake::Fake;
    use crate::faulty::{Fault, Faulty};
    use crate::lazy::{Lazy, random};
    use crate::testing::refused;
    use crate::{Driver, Stream};
    use std::sync::Arc;

    /// Streams of as many devices of a driver, and their signals.
    fn signals<D: Driver + 'static>(driver: &Arc<D>, count: usize) -> Result<(Vec<Stream>, Signals)> {
        let streams = (0..count).map(|_| Gpu::from_driver(driver.clone()).stream());
        let streams = streams.collect::<Result<Vec<_>>>()?;
        let with_kernels = |stream: &Stream| {
            let module = stream.gpu().load("signals", "")?;
            Ok((stream.clone(), [module.kernel("send", 0)?, module.kernel("wait", 0)?]))
        };
        let members = streams.iter().map(with_kernels).collect::<Result<_>>()?;
        Ok((streams, Signals::new(members)?))
    }

    /// A round in which every stream copies its buffer to the next stream's target.
    fn pass_on(signals: &Signals, buffers: &[Buffer], targets: &[Buffer]) -> Result<()> {
        let mut copied = Ok(());
        let words = buffers[0].words();
        let copy = |(i, src): (usize, &Buffer)| {
            let dst = &targets[(i + 1) % targets.len()];
            // SAFETY: the rows lie within both; `across` orders the streams.
            unsafe { Piece { src, dst, at: [0; 2], pitch: [words; 2], words, rows: 1 }.copy() }
        };
        let all: Vec<&Buffer> = targets.iter().collect();
        // SAFETY: the drivers of these tests have one memory; the targets are new.
        unsafe { signals.across(&all, || copied = buffers.iter().enumerate().try_for_each(copy)) }?;
        copied
    }

    /// The offsets are those of `SignalArgs` in kernels/signals.cu.
    #[test]
    fn layout_is_that_of_the_kernels() {
        use std::mem::offset_of;
        assert_eq!((size_of::<Args>(), offset_of!(Args, number), offset_of!(Args, count)), (40, 24, 32));
    }

    #[test]
    fn two_to_four_streams_signal_each_other() {
        let fake = Fake::new();
        for count in 0..6 {
            assert_eq!(signals(&fake, count).is_ok(), (2..=4).contains(&count), "{count}");
        }
        assert_eq!(fake.live(), 0);
    }

    /// The calls, in which launches that were made before are graphs.
    fn launches_of(fake: &Fake) -> Vec<&'static str> {
        let calls = fake.calls().into_iter().filter(|call| !call.ends_with("_sequence"));
        calls.map(|call| if call == "launch_graph" { "launch" } else { call }).collect()
    }

    #[test]
    fn streams_wait_once_more_for_memory_that_was_used() {
        let fake = Fake::new();
        let (streams, signals) = signals(&fake, 2).unwrap();
        let new = || streams.iter().map(|stream| stream.alloc(4).unwrap()).collect::<Vec<_>>();
        let (buffers, targets) = (new(), new());
        let round = ["copy", "copy", "launch", "launch", "launch", "launch"];
        let launches = |targets: &[Buffer]| {
            fake.calls();
            pass_on(&signals, &buffers, targets).unwrap();
            launches_of(&fake)
        };
        // The driver may have had the memory from somebody else.
        assert_eq!(launches(&targets), [&["launch"; 4][..], &round].concat());
        drop(targets);
        // They have been used since the last round.
        let targets = new();
        assert_eq!(launches(&targets), [&["launch"; 4][..], &round].concat());
        // They were not used since the round before the last one: one round is between them.
        let others = new();
        drop(targets);
        assert_eq!(launches(&others), round);
        let targets = new();
        drop(others);
        assert_eq!(launches(&targets), round);
        // Within a batch, signals are submitted with what is before them, and waits with the rest.
        let kernel = streams[0].gpu().load("k", "").unwrap().kernel("f", 0).unwrap();
        fake.calls();
        let batch = || {
            // SAFETY: the fake runs nothing.
            unsafe { streams[0].launch(&kernel, [1; 3], [1; 3], 0, &1_u64) }.unwrap();
            let others = new();
            fake.calls();
            pass_on(&signals, &buffers, &others).unwrap();
            launches_of(&fake)
        };
        let in_batch = streams[0].batched(|| streams[1].batched(batch)).unwrap().unwrap();
        assert_eq!(in_batch[in_batch.len() - 2..], ["launch"; 2]);
        assert_eq!(launches_of(&fake), ["launch"; 2], "the waits");
        // A capture would contain numbers.
        let captured = streams[0].capture(|| {
            assert!(refused(pass_on(&signals, &buffers, &targets)));
            Ok(())
        });
        captured.unwrap();
    }

    #[test]
    fn a_round_that_fails_is_an_error() {
        for call in 1..16 {
            let faulty = Faulty::new(Fake::new());
            let (streams, signals) = signals(&faulty, 2).unwrap();
            let new = || streams.iter().map(|stream| stream.upload(&[1, 2]).unwrap()).collect::<Vec<_>>();
            let (buffers, targets) = (new(), new());
            faulty.fail(call, Fault::EccUncorrectable);
            let done = pass_on(&signals, &buffers, &targets);
            match faulty.mend() {
                Some(_) => assert!(matches!(done, Err(Error::DeviceFailed { .. })), "{call}: {done:?}"),
                None => assert_eq!(done, Ok(())),
            }
            pass_on(&signals, &buffers, &new()).unwrap();
        }
    }

    /// Buffers come and go on devices that work as late as they may, and are passed on to memory
    /// that was used before.
    #[test]
    fn any_rounds_give_the_words_of_vectors() {
        for seed in 1..=if cfg!(miri) { 4 } else { 400 } {
            let lazy = Lazy::new(seed);
            let mut state = seed | 1;
            let mut below = |bound: usize| (random(&mut state) % bound.max(1) as u64) as usize;
            let (streams, signals) = signals(&lazy, 2 + below(3)).unwrap();
            let mut held: Vec<(Vec<Buffer>, Vec<Vec<u64>>)> = Vec::new();
            for _ in 0..60 {
                match below(4) {
                    0 if held.len() > 2 => drop(held.swap_remove(below(held.len()))),
                    1 | 2 if !held.is_empty() => {
                        let (buffers, values) = &held[below(held.len())];
                        let targets: Vec<Buffer> =
                            streams.iter().map(|stream| stream.alloc(40).unwrap()).collect();
                        pass_on(&signals, buffers, &targets).unwrap();
                        let mut expected = values.clone();
                        expected.rotate_right(1);
                        held.push((targets, expected));
                    }
                    _ => {
                        let mut words = || (0..40).map(|_| below(1 << 20) as u64).collect::<Vec<u64>>();
                        let values: Vec<_> = streams.iter().map(|_| words()).collect();
                        let each = streams.iter().zip(&values);
                        held.push((
                            each.map(|(stream, words)| stream.upload(words).unwrap()).collect(),
                            values,
                        ));
                    }
                }
            }
            for (buffer, expected) in held.iter().flat_map(|(buffers, values)| buffers.iter().zip(values)) {
                let mut words = vec![0; 40];
                buffer.stream().read(buffer, 0, &mut words).unwrap();
                assert_eq!(words, *expected, "seed {seed}");
            }
            drop((held, signals, streams));
            assert!(lazy.is_empty() && Arc::strong_count(&lazy) == 1, "seed {seed}");
        }
    }
}
