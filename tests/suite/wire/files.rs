//! Damaged, mixed and foreign files are refused.

use super::*;

#[test]
fn a_file_cut_anywhere_is_truncated() {
    for zoo in [&*SMALL, &*ZOO] {
        assert_eq!(read(&zoo.bytes).unwrap().len(), zoo.frames.len());
        for length in 0..zoo.bytes.len() {
            let result = read(&zoo.bytes[..length]);
            assert!(matches!(result, Err(WireError::Truncated)), "{length}: {result:?}");
        }
    }
}

#[test]
fn a_changed_byte_is_found() {
    let zoo = &*SMALL;
    for at in 0..zoo.bytes.len() {
        for change in [0x01, 0x80, 0xff, zoo.bytes[at]] {
            let mut bytes = zoo.bytes.clone();
            bytes[at] ^= change;
            if bytes == zoo.bytes {
                continue;
            }
            let result = read(&bytes);
            assert!(result.is_err(), "byte {at} ^ {change:#x} went unnoticed");
        }
    }
}

#[test]
fn inserted_and_deleted_bytes_are_found() {
    let zoo = &*SMALL;
    for at in 0..=zoo.bytes.len() {
        let mut longer = zoo.bytes.clone();
        longer.insert(at, 0);
        let result = read(&longer);
        assert!(result.is_err(), "inserted at {at}");
        if at < zoo.bytes.len() {
            let mut shorter = zoo.bytes.clone();
            shorter.remove(at);
            assert!(read(&shorter).is_err(), "deleted at {at}");
        }
    }
    for tail in [&b"\0"[..], b"HEWF", b"anything", &zoo.bytes] {
        let bytes = [&zoo.bytes, tail].concat();
        assert!(matches!(read(&bytes), Err(WireError::Trailing)));
    }
}

#[test]
fn other_formats_are_no_homomorphic_files() {
    for bytes in [
        &b"\x89PNG\r\n\x1a\n"[..],
        b"PK\x03\x04",
        b"hewf",
        b"x",
        b"HX",
        b"HEWX and more than a header of other bytes, so that nothing is missing here",
        b"-----BEGIN PRIVATE KEY-----",
    ] {
        assert!(matches!(read(bytes), Err(WireError::NotThisFormat)), "{bytes:?}");
    }
    for bytes in [&b""[..], b"H", b"HEW", b"HEWF", b"HEWF\x01\x00"] {
        assert!(matches!(read(bytes), Err(WireError::Truncated)), "{bytes:?}");
    }
}

#[test]
fn frames_may_not_be_moved() {
    let frames = raws(&SMALL.bytes);
    assert_eq!(seal(&frames), SMALL.bytes, "the helper writes what the library writes");
    let mark = end_mark(&frames).bytes();
    let join = |frames: &[Raw]| [frames.iter().flat_map(Raw::bytes).collect(), mark.clone()].concat();
    for i in 0..frames.len() {
        let mut missing = frames.clone();
        missing.remove(i);
        let mut repeated = frames.clone();
        repeated.insert(i, frames[i].clone());
        let mut orders = vec![missing, repeated];
        for j in 0..i {
            let mut swapped = frames.clone();
            swapped.swap(i, j);
            orders.push(swapped);
        }
        for order in orders {
            assert!(matches!(read(&join(&order)), Err(WireError::Sequence)));
            // With an end mark of its own it is a file like any other: it says nothing about what
            // was left out.
            assert_eq!(read(&seal(&order)).unwrap().len(), order.len());
        }
    }
    // No frames, and no end mark.
    assert!(matches!(read(&mark), Err(WireError::Sequence)));
    assert!(read(&seal(&[])).unwrap().is_empty());
    let unfinished: Vec<u8> = frames.iter().flat_map(Raw::bytes).collect();
    assert!(matches!(read(&unfinished), Err(WireError::Truncated)));
    // An end mark with another count, another hash, another length.
    let good = end_mark(&frames);
    for at in 0..40 {
        let mut bad = good.clone();
        bad.body()[at] ^= 1;
        let bytes: Vec<u8> = frames.iter().chain([&bad]).flat_map(Raw::bytes).collect();
        assert!(matches!(read(&bytes), Err(WireError::Sequence)), "byte {at}");
    }
    for length in [0, 8, 39, 41, 1000] {
        let mut bad = good.clone();
        let body: Vec<u8> = good.0[HEADER..].iter().copied().chain([0; 1000]).take(length).collect();
        bad.set_body(&body);
        let bytes: Vec<u8> = frames.iter().chain([&bad]).flat_map(Raw::bytes).collect();
        match read(&bytes) {
            Err(WireError::Sequence) => assert!(length < 40),
            Err(WireError::Length { kind: FrameKind::End, found, expected: 40 }) => {
                assert!(length > 40 && found == length as u64);
            }
            other => panic!("{length}: {other:?}"),
        }
    }
    // Two files are not one file.
    let twice = [&SMALL.bytes[..], &SMALL.bytes].concat();
    assert!(matches!(read(&twice), Err(WireError::Trailing)));
}

#[test]
fn every_header_field_with_extreme_values() {
    for frame in raws(&SMALL.bytes) {
        let with = |change: &dyn Fn(&mut Raw)| {
            let mut frame = frame.clone();
            change(&mut frame);
            read(&seal(&[frame]))
        };
        for version in [0, 2, 3, 255, 256, 0x8000, u16::MAX] {
            let result = with(&|f| f.0[4..6].copy_from_slice(&version.to_le_bytes()));
            let Err(error @ WireError::UnsupportedVersion { found, supported: 1 }) = result else { panic!() };
            assert_eq!(found, version);
            assert!(error.to_string().contains(&format!("version {version} ")), "{error}");
        }
        for kind in 0..=u16::MAX {
            let change = |f: &mut Raw| {
                f.kind(kind);
            };
            match with(&change) {
                Ok(frames) => {
                    assert!(matches!(kind, 1..=8 | 10..=16 | 20..=61) && frames[0].kind as u16 == kind);
                }
                Err(WireError::UnknownKind { found }) => {
                    assert!(found == kind && !matches!(kind, 1..=16 | 20..=61));
                }
                Err(WireError::Sequence | WireError::Length { kind: FrameKind::End, .. }) => {
                    assert_eq!(kind, 9)
                }
                other => panic!("{kind}: {other:?}"),
            }
        }
        let kind = read(&seal(std::slice::from_ref(&frame))).unwrap()[0].kind;
        let length = (frame.0.len() - HEADER) as u64;
        let near = [0, 1, length - 1, length + 1, length + 32].into_iter().filter(|&claim| claim != length);
        for claim in near.chain([1 << 19, (1 << 20) + 1, 1 << 40, 1 << 63, u64::MAX]) {
            match with(&|f| f.0[40..48].copy_from_slice(&claim.to_le_bytes())) {
                Err(WireError::Length { kind: found_kind, found, expected }) => {
                    assert_eq!((found_kind, found, expected), (kind, claim, 1 << 20));
                    assert!(claim > 1 << 20);
                }
                Err(WireError::Truncated) => assert!(claim > length && claim <= 1 << 20),
                Err(WireError::Checksum { kind: found }) => assert!(found == kind && claim <= 1 << 20),
                other => panic!("{claim}: {other:?}"),
            }
        }
        // Exactly the limit passes, one less does not.
        let bytes = seal(std::slice::from_ref(&frame));
        assert!(read_with(bytes.as_slice(), |_| length).is_ok());
        let result = read_with(bytes.as_slice(), |_| length - 1);
        let Err(WireError::Length { found, expected, .. }) = result else { panic!() };
        assert_eq!((found, expected), (length, length - 1));
        for at in 0..4 {
            assert!(matches!(with(&|f| f.0[at] ^= 0x20), Err(WireError::NotThisFormat)));
        }
    }
}

#[test]
fn attachments_are_bounded() {
    let fingerprint = SMALL.world.params.fingerprint();
    let most = Frame::MAX_ATTACHMENT as usize;
    let frame = Frame::attachment(fingerprint, vec![7; most]).unwrap();
    let bytes = write(&[frame], fingerprint);
    assert_eq!(read_with(bytes.as_slice(), |_| u64::MAX).unwrap()[0].body.len(), most);
    let result = Frame::attachment(fingerprint, vec![7; most + 1]);
    let Err(WireError::Length { kind: FrameKind::Attachment, found, expected }) = result else { panic!() };
    assert_eq!((found, expected), (most as u64 + 1, most as u64));
    let mut raw = raws(&bytes).remove(0);
    raw.set_body(&vec![7; most + 1]);
    assert!(matches!(
        read_with(seal(&[raw]).as_slice(), |_| u64::MAX),
        Err(WireError::Length { kind: FrameKind::Attachment, .. })
    ));
    // Nothing but parameters is expected before there are parameters.
    let result = read_with(SMALL.bytes.as_slice(), wire::first_frame_limit);
    assert!(matches!(result, Err(WireError::Length { kind: FrameKind::SecretKey, expected: 0, .. })));
}

#[test]
fn limits_do_not_overflow() {
    let params = presets::ckks_n16_d28().unwrap();
    let mut last = 0;
    for batch in [0, 1, 1000, 1 << 32, 1 << 50, usize::MAX / 2, usize::MAX] {
        let limit = params.ciphertext_frame_limit(batch);
        assert!(limit >= last, "{batch}");
        last = limit;
    }
    assert_eq!(last, u64::MAX);
}

/// The end mark belongs to the parameters of the frames before it.
#[test]
fn the_end_mark_has_the_fingerprint_of_the_first_frame() {
    let (own, other) = (Fingerprint([7; 32]), Fingerprint([8; 32]));
    let frame = || Frame::attachment(own, b"x".to_vec()).unwrap();
    for count in 1..4 {
        let frames: Vec<Frame> = (0..count).map(|_| frame()).collect();
        assert_eq!(read(&write(&frames, own)).unwrap().len(), count);
        let refused = read(&write(&frames, other));
        let Err(WireError::WrongParams { kind: FrameKind::End, found, expected }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!((found, expected), (other.to_string(), own.to_string()));
    }
    // Without frames there is nothing to compare with.
    assert!(read(&write(&[], other)).unwrap().is_empty());
}
