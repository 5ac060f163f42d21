//! Sequences of frames.
//!
//! Must hold: any bytes are read or refused without a panic. A sequence that is read is written
//! again to the same bytes. Passing over bodies finds as many frames as reading them, and
//! each is found again where it lies.
//!
//! Bytes: flags (1: repair the checksums; 2: bodies of at most 4096 bytes), then the sequence.

use super::target::repair_frames;
use super::world;
use he_core::rlwe::Fingerprint;
use he_core::wire::{Frame, FrameReader, FrameWriter, Wire, WireKeys, WireParams};
use std::io::Cursor;

pub fn run(data: &[u8]) {
    let Some((&flags, bytes)) = data.split_first() else { return };
    let mut bytes = bytes.to_vec();
    if flags & 1 == 1 {
        repair_frames(&mut bytes);
    }
    let limit = if flags & 2 == 0 { u64::MAX } else { 4096 };
    let mut reader = FrameReader::new(bytes.as_slice());
    let mut frames = Vec::new();
    let whole = loop {
        match reader.next_frame(|_, _| limit) {
            Ok(Some(frame)) => frames.push(frame),
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    let mut skimmer = FrameReader::new(Cursor::new(&bytes));
    let mut places = Vec::new();
    let skimmed = loop {
        match skimmer.skip_frame(|_, _| limit) {
            Ok(Some(place)) => places.push(place),
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    for place in &places {
        let found = place.read(Cursor::new(&bytes));
        let expected = frames.iter().any(|frame| Frame::size(frame.body.len() as u64) == place.bytes);
        assert!(found.is_err() || expected || !whole, "a frame is found that was not read");
    }
    assert!(places.len() >= frames.len(), "passing over finds fewer frames than reading");
    if !whole {
        return;
    }
    assert!(skimmed && places.len() == frames.len(), "passing over finds other frames than reading");
    let mut writer = FrameWriter::new(Vec::new());
    for frame in &frames {
        writer.write(frame).expect("a vector takes all");
    }
    // The fingerprint of the first frame, or the end mark's own.
    let fingerprint = Fingerprint(bytes[8..40].try_into().expect("32 bytes"));
    let again = writer.finish(fingerprint).expect("a vector takes all");
    assert!(again == bytes, "a sequence is read and written differently");
}

/// Files of each scheme, as they are and to be repaired.
pub fn seeds() -> Vec<Vec<u8>> {
    let ckks = world::ckks();
    let ct = world::ckks_ciphertext(ckks, 1).to_frame(&ckks.params).expect("a frame");
    let note = Frame::attachment(ckks.params.fingerprint(), b"{}".to_vec()).expect("a short note");
    let keys: Vec<Frame> =
        ckks.keys.to_frames(&ckks.params).take(2).map(|frame| frame.expect("a key")).collect();
    let tfhe = world::tfhe();
    let secret = tfhe.secret.to_frame(&tfhe.params).expect("a frame");
    let file = |flags: u8, frames: &[&Frame], fingerprint| {
        let mut writer = FrameWriter::new(vec![flags]);
        for frame in frames {
            writer.write(frame).expect("a vector takes all");
        }
        writer.finish(fingerprint).expect("a vector takes all")
    };
    let params = [ckks.params.to_frame(), world::bfv().params.to_frame(), world::bgv().params.to_frame()];
    let mut seeds = vec![file(0, &[], Fingerprint([7; 32])), vec![]];
    for flags in 0..4 {
        let print = ckks.params.fingerprint();
        seeds.push(file(flags, &[&params[0], &note, &ct], print));
        seeds.push(file(flags, &[&params[0], &keys[0], &keys[1]], print));
        seeds.push(file(flags, &[&secret], tfhe.params.fingerprint()));
        seeds.push(file(flags, &[&params[1]], world::bfv().params.fingerprint()));
        seeds.push(file(flags, &[&params[2]], world::bgv().params.fingerprint()));
    }
    seeds
}
