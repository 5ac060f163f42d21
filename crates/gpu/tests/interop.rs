//! Tests contexts, streams and buffers of `cust` and `rustacuda` on a device:
//! `cargo test -p he-gpu --features cust,rustacuda --test interop`. Without one they are skipped,
//! unless the environment has HE_REQUIRE_GPU=1.
#![allow(unsafe_code, missing_docs)]

use gpu::{Buffer, Gpu, Stream};

/// Nothing, visibly.
fn skip(error: impl std::fmt::Display) {
    let required = std::env::var_os("HE_REQUIRE_GPU").is_some_and(|value| value == "1");
    assert!(!required, "HE_REQUIRE_GPU=1: {error}");
    println!("skipped: no CUDA device ({error})");
}

/// Words that the application wrote can be read through a buffer of this crate, and words written
/// here appear in the application's memory.
fn exchange(gpu: &Gpu, stream: &Stream, adopted: &mut Buffer, words: &[u64]) -> gpu::Result<()> {
    assert!(gpu.info().memory > 0 && gpu.info().multiprocessors > 0);
    assert_eq!(adopted.words(), words.len());
    let mut copy = stream.zeros(words.len())?;
    stream.copy(adopted, 0, &mut copy, 0, words.len())?;
    let mut back = vec![0; words.len()];
    stream.read(&copy, 0, &mut back)?;
    assert_eq!(back, words);
    stream.write(&[7, 8], adopted, 1)?;
    stream.fill_zero(adopted, 3, 1)?;
    stream.read(adopted, 0, &mut back)?;
    assert_eq!(back[..4], [words[0], 7, 8, 0]);
    assert_eq!(back[4..], words[4..]);
    Ok(())
}

#[test]
fn objects_of_cust() {
    use cust::memory::DeviceBuffer;
    use cust::stream::{Stream as CustStream, StreamFlags};
    let context = match cust::quick_init() {
        Ok(context) => context,
        Err(error) => return skip(error),
    };
    let words: Vec<u64> = (0..1000).map(|i| i * i + 1).collect();
    let theirs = DeviceBuffer::from_slice(&words).unwrap();
    let their_stream = CustStream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    let gpu = Gpu::from_cust(context).unwrap();
    // SAFETY: both were made in this context; the copy that filled the memory is over.
    let (stream, mut adopted) = unsafe {
        let stream = Stream::from_cust(&gpu, their_stream);
        let adopted = Buffer::from_cust(&stream, theirs);
        (stream, adopted)
    };
    exchange(&gpu, &stream, &mut adopted, &words).unwrap();
}

#[test]
fn objects_of_rustacuda() {
    use rustacuda::memory::DeviceBuffer;
    use rustacuda::prelude::{Context, ContextFlags, CudaFlags, Device, Stream as TheirStream, StreamFlags};
    let context = rustacuda::init(CudaFlags::empty())
        .and_then(|()| Device::get_device(0))
        .and_then(|device| Context::create_and_push(ContextFlags::SCHED_AUTO, device));
    let context = match context {
        Ok(context) => context,
        Err(error) => return skip(error),
    };
    let words: Vec<u64> = (0..1000).map(|i| i * 3 + 5).collect();
    let theirs = DeviceBuffer::from_slice(&words).unwrap();
    let their_stream = TheirStream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    let gpu = Gpu::from_rustacuda(context).unwrap();
    // SAFETY: both were made in this context; the copy that filled the memory is over.
    let (stream, mut adopted) = unsafe {
        let stream = Stream::from_rustacuda(&gpu, their_stream);
        let adopted = Buffer::from_rustacuda(&stream, theirs);
        (stream, adopted)
    };
    exchange(&gpu, &stream, &mut adopted, &words).unwrap();
}
