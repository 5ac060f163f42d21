//! Frames whose checksum is checked only where they are opened.

use super::*;

#[test]
fn sealed_frames_are_the_same_bytes() {
    let zoo = &*ZOO;
    let fingerprint = zoo.world.params.fingerprint();
    let (mut plain, mut sealed) = (FrameWriter::new(Vec::new()), FrameWriter::new(Vec::new()));
    let mut reader = FrameReader::new(zoo.bytes.as_slice());
    for frame in &zoo.frames {
        // Memory of other sizes and contents changes nothing.
        reader.recycle(vec![0xa5; frame.body.len() / 2]);
        let found = reader.next_sealed(|_, _| 1 << 20).unwrap().unwrap();
        assert_eq!(found.size(), plain.write(frame).unwrap());
        assert_eq!(found.size(), sealed.write_sealed(&found).unwrap());
        assert!(equal(&found.open().unwrap(), frame));
    }
    assert!(reader.next_sealed(|_, _| 1 << 20).unwrap().is_none());
    assert!(plain.finish(fingerprint).unwrap() == zoo.bytes);
    assert!(sealed.finish(fingerprint).unwrap() == zoo.bytes);
}

#[test]
fn damage_shows_where_a_frame_is_opened() {
    let zoo = &*ZOO;
    let mut start = 0;
    for frame in &zoo.frames {
        let size = Frame::size(frame.body.len() as u64) as usize;
        // In the body, and in the checksum.
        for at in [start + HEADER, start + size - 1] {
            let mut bytes = zoo.bytes.clone();
            bytes[at] ^= 1;
            let mut reader = FrameReader::new(bytes.as_slice());
            let mut frames = Vec::new();
            let end = loop {
                match reader.next_sealed(|_, _| 1 << 20) {
                    Ok(Some(sealed)) => frames.push(sealed),
                    end => break end.map(|_| ()),
                }
            };
            // The end mark depends on the checksums alone.
            assert_eq!(matches!(end, Err(WireError::Sequence)), at != start + HEADER, "{}", frame.kind);
            assert_eq!(frames.len(), zoo.frames.len());
            for (sealed, original) in frames.into_iter().zip(&zoo.frames) {
                let is_damaged = std::ptr::eq(original, frame);
                match sealed.open() {
                    Ok(found) => assert!(!is_damaged && equal(&found, original)),
                    Err(error) => assert!(is_damaged && matches!(error, WireError::Checksum { .. })),
                }
            }
        }
        start += size;
    }
}
