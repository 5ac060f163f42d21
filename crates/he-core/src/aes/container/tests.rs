use super::*;
use crate::aes::Reference;
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

const CHUNK: usize = 4096;

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

fn user() -> UserKey {
    UserKey::generate(&mut rng(1))
}

/// A whole file, in pieces of `chunks` chunks.
fn sealed(data: &[u8], content: Content, chunks: usize, seed: u64) -> Vec<u8> {
    let (header, key) = Header::with_key(&user(), Layout::new(12).unwrap(), content, &mut rng(seed));
    let mut file = header.to_bytes().to_vec();
    let (mut rest, mut first) = (data, 0);
    loop {
        let (piece, more) = rest.split_at(rest.len().min(chunks * CHUNK));
        let (end, mut piece) = (more.is_empty(), piece.to_vec());
        let mut tags = vec![[0; TAG]; piece.len().div_ceil(CHUNK).max(1)];
        key.seal(&Cpu::new(), first, end, Bulk::in_place(&mut piece), &mut tags).unwrap();
        let mut data = piece.chunks(CHUNK);
        for tag in &tags {
            file.extend(data.next().unwrap_or_default());
            file.extend(tag);
        }
        (rest, first) = (more, first + chunks as u64);
        if end {
            return file;
        }
    }
}

/// The content of a whole file, opened in one piece according to its length.
fn opened(file: &[u8], user: &UserKey) -> Result<Vec<u8>> {
    let start = file.first_chunk().ok_or(ContainerError::FileLength { found: file.len() as u64 })?;
    let key = Header::parse(start)?.open(user)?;
    let extent = key.layout().extent(file.len() as u64)?;
    let (mut data, mut tags) = (Vec::new(), Vec::new());
    for i in 0..extent.chunks {
        let at = key.layout().position(i).unwrap() as usize;
        let chunk = &file[at..file.len().min(at + key.layout().chunk_len() + TAG)];
        let (chunk, tag) = chunk.split_last_chunk().unwrap();
        data.extend(chunk);
        tags.push(*tag);
    }
    assert_eq!(data.len() as u64, extent.plain);
    let opened = key.open(&Cpu::new(), 0, true, &tags, Bulk::in_place(&mut data));
    assert!(opened.is_ok() || data.iter().all(|&byte| byte == 0), "unverified bytes were released");
    opened.map(|()| data)
}

fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; len];
    rng(seed).fill(&mut bytes[..]);
    bytes
}

#[test]
fn every_length_comes_back_whatever_the_pieces() {
    for len in
        [0, 1, 15, 16, 17, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK - 1, 3 * CHUNK, 3 * CHUNK + 1, 50_000]
    {
        let data = bytes(len, len as u64);
        let file = sealed(&data, Content::Bytes, 1, 5);
        assert_eq!(opened(&file, &user()).unwrap(), data);
        assert_eq!(Layout::new(12).unwrap().file_len(len as u64), Some(file.len() as u64));
        for chunks in [2, 3, 100] {
            assert!(
                sealed(&data, Content::Bytes, chunks, 5) == file,
                "{len} bytes in pieces of {chunks} chunks"
            );
        }
    }
}

#[test]
fn every_length_of_files_is_one_or_none() {
    let layout = Layout::new(12).unwrap();
    let mut possible = std::collections::BTreeMap::new();
    for plain in 0..=3 * CHUNK as u64 {
        possible.insert(layout.file_len(plain).unwrap(), plain);
    }
    for len in 0..=layout.file_len(3 * CHUNK as u64).unwrap() {
        assert_eq!(layout.extent(len).ok().map(|extent| extent.plain), possible.get(&len).copied(), "{len}");
    }
    let most = layout.extent(u64::MAX).unwrap_or(Extent { chunks: 0, plain: 0 });
    assert!(most.chunks == 0 || layout.file_len(most.plain) == Some(u64::MAX));
    assert_eq!((layout.file_len(u64::MAX), layout.position(u64::MAX)), (None, None));
}

#[test]
fn truncation_is_noticed_everywhere() {
    let file = sealed(&bytes(3 * CHUNK + 100, 2), Content::Bytes, 4, 5);
    let boundaries = (0..4).map(|i| HEADER + i * (CHUNK + TAG));
    let around = boundaries.flat_map(|at| at.saturating_sub(17)..(at + 18).min(file.len()));
    for len in (0..file.len()).step_by(97).chain(around) {
        assert!(opened(&file[..len], &user()).is_err(), "{len} bytes");
    }
}

#[test]
fn extension_is_noticed() {
    for plain in [0, 1, CHUNK, CHUNK + 5] {
        let file = sealed(&bytes(plain, 2), Content::Bytes, 4, 5);
        for more in [1, 15, 16, 17, CHUNK, CHUNK + TAG, 2 * (CHUNK + TAG)] {
            assert!(opened(&[&file[..], &vec![0; more]].concat(), &user()).is_err(), "{plain} + {more}");
            // The file's own bytes once more.
            let own: Vec<u8> = file[HEADER..].iter().copied().cycle().take(more).collect();
            assert!(opened(&[&file[..], &own].concat(), &user()).is_err(), "{plain} + own {more}");
        }
    }
}

#[test]
fn chunks_stay_where_they_are() {
    let (file, other) = (
        sealed(&bytes(4 * CHUNK, 2), Content::Bytes, 4, 5),
        sealed(&bytes(4 * CHUNK, 2), Content::Bytes, 4, 6),
    );
    let cut =
        |file: &[u8]| -> Vec<Vec<u8>> { file[HEADER..].chunks(CHUNK + TAG).map(<[u8]>::to_vec).collect() };
    let with = |header: &[u8], chunks: &[Vec<u8>]| [&header[..HEADER], &chunks.concat()].concat();
    let (chunks, others) = (cut(&file), cut(&other));
    assert!(
        opened(&with(&file, &chunks), &user()).is_ok() && opened(&with(&other, &others), &user()).is_ok()
    );
    let refused = |what: &str, header: &[u8], chunks: &[Vec<u8>], at: u64| {
        let error = opened(&with(header, chunks), &user()).unwrap_err();
        assert!(matches!(error, ContainerError::Chunk { index } if index == at), "{what}: {error}");
    };
    for i in 0..4 {
        for j in i + 1..4 {
            let mut changed = chunks.clone();
            changed.swap(i, j);
            refused("swapped", &file, &changed, i as u64);
        }
        let mut changed = chunks.clone();
        changed.insert(i, chunks[i].clone());
        refused("repeated", &file, &changed, if i == 3 { 3 } else { i as u64 + 1 });
        let mut changed = chunks.clone();
        changed.remove(i);
        // Without the last chunk, the one before it is not an end.
        refused("dropped", &file, &changed, if i == 3 { 2 } else { i as u64 });
        let mut changed = chunks.clone();
        changed[i] = others[i].clone();
        refused("of another file under the same key", &file, &changed, i as u64);
    }
    refused("under the header of another file", &other, &chunks, 0);
}

#[test]
fn every_byte_of_the_header_counts() {
    let file = sealed(b"some data", Content::Bytes, 1, 5);
    for at in 0..HEADER {
        for bit in 0..8 {
            let mut changed = file.clone();
            changed[at] ^= 1 << bit;
            let error = opened(&changed, &user()).unwrap_err();
            let expected = match at {
                0..8 => matches!(error, ContainerError::NotThisFormat),
                8 => matches!(error, ContainerError::Version { .. }),
                10 => matches!(error, ContainerError::ChunkLength { .. } | ContainerError::Header),
                // The kind of lock or of content, and costs that a key does not have.
                9 | 12..24 => matches!(error, ContainerError::Field { .. }),
                11 => matches!(error, ContainerError::Field { .. } | ContainerError::Header),
                56..72 => matches!(error, ContainerError::WrongKey { .. }),
                _ => matches!(error, ContainerError::Header),
            };
            assert!(expected, "byte {at}, bit {bit}: {error:?}");
        }
    }
}

#[test]
fn every_byte_of_chunks_and_tags_counts() {
    let file = sealed(&bytes(CHUNK + 300, 2), Content::Bytes, 2, 5);
    let mut rng = rng(3);
    for at in (HEADER..file.len())
        .step_by(7)
        .chain(HEADER + CHUNK..HEADER + CHUNK + TAG)
        .chain(file.len() - TAG..file.len())
    {
        let mut changed = file.clone();
        changed[at] ^= 1 << rng.random_range(0..8);
        let chunk = u64::from(at >= HEADER + CHUNK + TAG);
        let error = opened(&changed, &user()).unwrap_err();
        assert!(matches!(error, ContainerError::Chunk { index } if index == chunk), "byte {at}: {error}");
    }
}

#[test]
fn other_keys_are_told_from_damage() {
    let file = sealed(b"some data", Content::Bytes, 1, 5);
    let other = UserKey::generate(&mut rng(2));
    match opened(&file, &other).unwrap_err() {
        ContainerError::WrongKey { found, expected } => {
            assert_eq!((found, expected), (other.id(), user().id()));
        }
        error => panic!("{error}"),
    }
}

#[test]
fn passphrases_go_through_their_cost() {
    let cost = Cost { memory_kib: 64, passes: 2, lanes: 1 };
    let layout = Layout::new(13).unwrap();
    let stretch = |salt: &[u8; 32], found: Cost| {
        assert_eq!(found, cost);
        Ok::<_, ContainerError>(UserKey::new(salt))
    };
    let (header, _) = Header::with_passphrase(cost, layout, Content::Tar, &mut rng(4), stretch).unwrap();
    let header = Header::parse(&header.to_bytes()).unwrap();
    assert_eq!(
        (header.lock(), header.content(), header.layout()),
        (Lock::Passphrase(cost), Content::Tar, layout)
    );
    assert!(header.open(&UserKey::new(header.salt())).is_ok());
    assert!(matches!(header.open(&user()), Err(ContainerError::WrongPassphrase)));
    // A cost between the limits would be that of another passphrase.
    let hostile = [
        (12, 1024 * 1024 + 1),
        (12, u32::MAX),
        (12, 7),
        (12, 0),
        (16, 0),
        (16, 17),
        (20, 0),
        (20, 5),
        (20, u32::MAX),
    ];
    for (at, value) in hostile {
        let mut bytes = header.to_bytes();
        bytes[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
        assert!(matches!(Header::parse(&bytes), Err(ContainerError::Field { .. })), "{value} at {at}");
    }
}

/// Nothing is stretched at a greater cost than the caller allows: neither in memory nor in time.
#[test]
fn stretching_is_bounded_by_the_caller() {
    let (cost, layout) = (Cost { memory_kib: 64, passes: 4, lanes: 1 }, Layout::new(13).unwrap());
    let stretch = |salt: &[u8; 32], _| Ok::<_, ContainerError>(UserKey::new(salt));
    let (header, _) = Header::with_passphrase(cost, layout, Content::Bytes, &mut rng(5), stretch).unwrap();
    for (memory_kib, passes, fits) in [(64, 4, true), (128, 2, true), (63, 16, false), (64, 3, false)] {
        let most = Cost { memory_kib, passes, lanes: 1 };
        let mut called = false;
        let opened = header.open_with_passphrase(most, |salt, cost| {
            called = true;
            stretch(salt, cost)
        });
        assert_eq!(called, fits, "{most}");
        match opened {
            Ok(_) => assert!(fits, "{most}"),
            Err(ContainerError::Cost { found, most: allowed }) => assert_eq!((found, allowed), (cost, most)),
            Err(error) => panic!("{error}"),
        }
    }
    let (locked, _) = Header::with_key(&user(), layout, Content::Bytes, &mut rng(6));
    let opened = locked.open_with_passphrase(Cost::MAX, stretch);
    assert!(matches!(opened, Err(ContainerError::Header)));
}

#[test]
fn layouts_have_limits() {
    for log2 in 0..=255 {
        assert_eq!(Layout::new(log2).is_ok(), (12..=24).contains(&log2));
    }
}

#[test]
fn pieces_that_cannot_be_are_refused() {
    let (_, key) = Header::with_key(&user(), Layout::new(12).unwrap(), Content::Bytes, &mut rng(4));
    let seal = |first, end, len| {
        let mut tags = vec![[0; TAG]; usize::div_ceil(len, CHUNK).max(1)];
        key.seal(&Cpu::new(), first, end, Bulk::in_place(&mut vec![0; len]), &mut tags)
    };
    for (first, end, len) in [(0, false, 0), (0, false, 1), (0, false, CHUNK + 1), (1, true, 0)] {
        assert!(
            matches!(seal(first, end, len), Err(ContainerError::Partial { .. })),
            "{first}, {end}, {len}"
        );
    }
    assert!(seal(u64::MAX, true, CHUNK).is_ok());
    assert!(matches!(seal(u64::MAX, true, CHUNK + 1), Err(ContainerError::TooManyChunks)));
}

#[test]
fn files_and_headers_have_keys_of_their_own() {
    let data = bytes(100, 1);
    let (a, b) = (sealed(&data, Content::Bytes, 1, 5), sealed(&data, Content::Bytes, 1, 6));
    assert_ne!(a[24..56], b[24..56], "salts");
    assert_eq!(a[56..72], b[56..72], "the key's identity");
    assert_ne!(a[72..104], b[72..104], "wrapped keys");
    assert_ne!(a[HEADER..], b[HEADER..], "chunks");
}

#[test]
fn implementations_agree() {
    let (_, key) = Header::with_key(&user(), Layout::new(12).unwrap(), Content::Bytes, &mut rng(4));
    let data = bytes(2 * CHUNK + 77, 9);
    let seal = |cipher: &dyn BulkCipher| {
        let (mut data, mut tags) = (data.clone(), [[0; TAG]; 3]);
        key.seal(cipher, u64::from(u32::MAX), true, Bulk::in_place(&mut data), &mut tags).unwrap();
        (data, tags)
    };
    assert_eq!(seal(&Cpu::new()), seal(&Reference::new()));
}
