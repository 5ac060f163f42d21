//! Files under AES: header, chunks, the whole file.
//!
//! Must hold: a header that is read is written to the same bytes, and lengths and numbers of chunks
//! say the same both ways. No file but the one that was made opens: not cut, not extended, not with
//! chunks exchanged, not with a bit changed. A chunk that is refused leaves zeros.
//!
//! Bytes: flags (1: the bytes are the file; otherwise the file that was made, changed by triples of
//! a place of 16 bits and a byte, and with 2 cut, with 4 extended, with 8 two chunks exchanged).

use super::target::Fields;
use super::world;
use he_core::aes::container::{Content, HEADER, Header, Layout, UserKey};
use he_core::aes::{Bulk, Cpu};
use std::sync::OnceLock;

const CHUNK: usize = 4096 + 16;

fn made() -> &'static (UserKey, Vec<u8>) {
    static MADE: OnceLock<(UserKey, Vec<u8>)> = OnceLock::new();
    MADE.get_or_init(|| {
        let rng = &mut world::rng(3);
        let user = UserKey::generate(rng);
        let layout = Layout::new(12).expect("the least chunk");
        let (header, key) = Header::with_key(&user, layout, Content::Bytes, rng);
        let (mut data, mut tags) = (vec![7; 9000], vec![[0; 16]; 3]);
        key.seal(&Cpu::new(), 0, true, Bulk::in_place(&mut data), &mut tags).expect("three chunks");
        let mut file = header.to_bytes().to_vec();
        for (chunk, tag) in data.chunks(4096).zip(&tags) {
            file.extend(chunk);
            file.extend(tag);
        }
        (user, file)
    })
}

pub fn run(data: &[u8]) {
    let Some((&flags, rest)) = data.split_first() else { return };
    let (user, good) = made();
    let mut file = rest.to_vec();
    if flags & 1 == 0 {
        file.clone_from(good);
        let mut changes = Fields(rest);
        while let Some([low, high, change]) = changes.take() {
            let at = usize::from(u16::from_le_bytes([low, high])) % file.len();
            file[at] ^= change;
        }
        if let (2, [.., low, high]) = (flags & 2, rest) {
            file.truncate(usize::from(u16::from_le_bytes([*low, *high])) % (good.len() + 1));
        }
        if flags & 4 == 4 {
            file.extend(rest);
        }
        if flags & 8 == 8 && file.len() >= HEADER + 2 * CHUNK {
            let (first, second) = file[HEADER..].split_at_mut(CHUNK);
            first.swap_with_slice(&mut second[..CHUNK]);
        }
    }
    let Some(start) = file.first_chunk::<HEADER>() else { return };
    let Ok(header) = Header::parse(start) else { return };
    assert!(header.to_bytes() == *start, "a header is read and written differently");
    let layout = header.layout();
    let Ok(extent) = layout.extent(file.len() as u64) else { return };
    assert_eq!(layout.file_len(extent.plain), Some(file.len() as u64));
    let Ok(key) = header.open(user) else {
        assert!(file[..HEADER] != good[..HEADER], "the right key does not open its file");
        return;
    };
    let (mut plain, mut tags) = (Vec::new(), Vec::new());
    for index in 0..extent.chunks {
        let at = layout.position(index).expect("a chunk of the file") as usize;
        let length = (extent.plain as usize - index as usize * layout.chunk_len()).min(layout.chunk_len());
        plain.extend(&file[at..at + length]);
        tags.push(*file[at + length..].first_chunk::<16>().expect("a tag"));
    }
    match key.open(&Cpu::new(), 0, true, &tags, Bulk::in_place(&mut plain)) {
        Ok(()) => assert!(file == *good, "a changed file opens"),
        Err(_) => assert!(file != *good && plain.iter().all(|&b| b == 0), "what was refused is there"),
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let good = &made().1;
    let whole = [[&[1][..], &good[..HEADER]].concat(), [&[1][..], &good[..HEADER + 50]].concat()];
    let changed = (0..8u8).map(|flags| vec![2 * flags, flags.wrapping_mul(100), flags % 3, 1, 0, 16]);
    let untouched = [vec![0], vec![2, 0, 9], vec![4, 1], vec![8]];
    whole.into_iter().chain(changed).chain(untouched).collect()
}
