//! The outcome of calls that fail, on the fake device.

use crate::device::Gpu;
use crate::error::{Error, Result};
use crate::fake::Fake;
use crate::faulty::{Fault, Faulty, Live};
use crate::stream::Stream;
use std::collections::BTreeSet;
use std::sync::Arc;

fn faulty() -> (Arc<Faulty>, Gpu) {
    let faulty = Faulty::new(Fake::new());
    (faulty.clone(), Gpu::from_driver(faulty))
}

/// Everything that a stream does, with the words that come back.
fn everything(gpu: &Gpu) -> Result<Vec<u64>> {
    let (stream, other) = (gpu.stream()?, gpu.stream()?);
    let module = gpu.load("k", "")?;
    let [f, g] = [module.kernel("f", 16)?, module.kernel("g", 16)?];
    let mut buffer = stream.upload(&[1, 2, 3, 4])?;
    let mut zeros = other.zeros(4)?;
    other.copy(&buffer, 0, &mut zeros, 1, 3)?;
    let launch = |stream: &Stream, kernel, argument: u64| {
        // SAFETY: the fake runs nothing.
        unsafe { stream.launch(kernel, [1; 3], [1; 3], 16, &[argument; 3]) }
    };
    // Often enough for a graph, whose arguments change then.
    for round in 0..6 {
        stream.batched(|| {
            launch(&stream, &f, round)?;
            launch(&stream, &g, 1)?;
            launch(&stream, &f, round / 2)
        })??;
    }
    let graph = stream.capture(|| {
        let inside = stream.zeros(4)?;
        stream.copy(&inside, 0, &mut buffer, 3, 1)?;
        launch(&stream, &f, 2)
    })?;
    graph.launch(&stream)?;
    let mut pinned = gpu.pinned(8)?;
    pinned.as_mut_slice()?.fill(7);
    stream.write_pinned(&pinned, 0, &mut buffer, 1, 2)?;
    stream.reading(&pinned, |address| launch(&stream, &f, address))??;
    stream.read_pinned(&buffer, 0, &mut pinned, 0, 4)?;
    other.read_pinned(&zeros, 0, &mut pinned, 4, 4)?;
    let mut words = pinned.as_slice()?.to_vec();
    let mark = stream.record()?;
    other.wait(&mark)?;
    mark.elapsed_ms(&other.record()?)?;
    let mut rest = vec![0; 4];
    stream.read(&buffer, 0, &mut rest)?;
    words.extend(rest);
    stream.synchronize()?;
    drop(buffer);
    stream.trim();
    other.synchronize()?;
    gpu.memory()?;
    Ok(words)
}

/// Every call fails in turn in every way: a typed error, nothing leaks, and a device that only
/// lacked memory goes on.
#[test]
fn every_call_may_fail() {
    let (_, gpu) = faulty();
    let expected = everything(&gpu).unwrap();
    assert_eq!(expected[..8], [1, 7, 7, 0, 0, 1, 2, 3]);
    for fault in Fault::ALL {
        let mut failed = BTreeSet::new();
        // Miri takes seconds for each.
        for call in (1..).step_by(if cfg!(miri) { 17 } else { 1 }) {
            let (faulty, gpu) = faulty();
            faulty.fail(call, fault);
            let done = everything(&gpu);
            let Some(name) = faulty.mend() else {
                assert!(call > 20 && done == Ok(expected.clone()), "{fault:?}: {call} calls");
                break;
            };
            failed.insert(name);
            let case = format!("{fault:?} in call {call}, {name}: {done:?}");
            match &done {
                // A launch is made without a graph, memory is found in the pools, and the host
                // waits where it cannot mark.
                Ok(words) => {
                    assert!(*words == expected, "{case}");
                    let asked = ["alloc", "create_sequence", "create_event", "create_mark"];
                    // Streams wait as they are dropped, when all words are there.
                    assert!(
                        if fault.is_final() { name == "synchronize" } else { asked.contains(&name) },
                        "{case}"
                    );
                }
                Err(Error::OutOfMemory { .. }) => assert!(!fault.is_final(), "{case}"),
                Err(Error::DeviceFailed { .. }) => assert!(fault.is_final(), "{case}"),
                Err(_) => panic!("{case}"),
            }
            if let Err(error) = &done {
                assert!(error.hint().is_some_and(|hint| !hint.is_empty()), "{case}");
            }
            assert_eq!(faulty.live(), Live::default(), "{case}");
            assert_eq!(everything(&gpu), Ok(expected.clone()), "after {case}");
            drop(gpu);
            assert_eq!(Arc::strong_count(&faulty), 1, "{case}");
        }
        if cfg!(miri) {
            continue;
        }
        let memory = ["alloc", "alloc_host", "load", "launch", "write_async", "create_stream"];
        assert!(memory.iter().all(|call| failed.contains(call)), "{fault:?}: {failed:?}");
        let work = ["copy", "fill_zero", "synchronize", "synchronize_event", "record_event"];
        assert!(work.iter().all(|call| failed.contains(call) == fault.is_final()), "{fault:?}");
    }
}

/// A copy that the device did not finish is an error and not its arbitrary words, until the
/// words are zeroed.
#[test]
fn copies_that_fail_are_errors() {
    let (faulty, gpu) = faulty();
    let stream = gpu.stream().unwrap();
    let buffer = stream.upload(&[1, 2, 3]).unwrap();
    let mut pinned = gpu.pinned(3).unwrap();
    stream.read_pinned(&buffer, 0, &mut pinned, 0, 3).unwrap();
    faulty.fail(1, Fault::EccUncorrectable);
    let failed = |call| Fault::EccUncorrectable.error(call, 0);
    assert_eq!(pinned.as_slice().err(), Some(failed("synchronize_event")));
    assert_eq!(pinned.as_mut_slice().err(), Some(failed("synchronize_event")));
    assert_eq!(faulty.mend(), Some("synchronize_event"));
    assert_eq!(pinned.as_slice().err(), Some(failed("synchronize_event")), "the words did not come");
    let mut other = stream.zeros(3).unwrap();
    assert!(stream.write_pinned(&pinned, 0, &mut other, 0, 3).is_err(), "garbage is not sent either");
    pinned.zero();
    assert_eq!(pinned.as_slice().unwrap(), [0; 3]);
    stream.read_pinned(&buffer, 0, &mut pinned, 0, 3).unwrap();
    assert_eq!(pinned.as_slice().unwrap(), [1, 2, 3]);
}
