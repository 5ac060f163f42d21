//! Encrypts a stream of any length under AES-256-GCM, chunk by chunk, in little memory, in the
//! format of he-cli's encrypted files. `cargo run --release --example aes_stream`

use he::aes::container::{Content, HEADER, Header, Layout, TAG, UserKey};
use he::aes::{Bulk, Cpu};
use he::rand;
use std::io::{Read, Write};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Reads up to `len` bytes; fewer only at the end.
fn read_chunk(from: &mut impl Read, len: usize) -> Result<Vec<u8>> {
    let mut chunk = Vec::with_capacity(len);
    from.take(len as u64).read_to_end(&mut chunk)?;
    Ok(chunk)
}

fn encrypt(user: &UserKey, from: &mut impl Read, to: &mut impl Write) -> Result<()> {
    let layout = Layout::new(16)?; // chunks of 64 KiB
    let (header, key) = Header::with_key(user, layout, Content::Bytes, &mut rand::rng());
    to.write_all(&header.to_bytes())?;
    let mut chunk = read_chunk(from, layout.chunk_len())?;
    for index in 0.. {
        // The last chunk is marked as such, so that nobody can truncate the stream. This is why the
        // loop looks ahead.
        let next = read_chunk(from, layout.chunk_len())?;
        let (end, mut tag) = (next.is_empty(), [[0; TAG]]);
        key.seal(&Cpu::new(), index, end, Bulk::in_place(&mut chunk), &mut tag)?;
        to.write_all(&chunk)?;
        to.write_all(&tag[0])?;
        if end {
            break;
        }
        chunk = next;
    }
    Ok(())
}

fn decrypt(user: &UserKey, from: &mut impl Read, to: &mut impl Write) -> Result<()> {
    let mut header = [0; HEADER];
    from.read_exact(&mut header)?;
    let key = Header::parse(&header)?.open(user)?;
    let sealed_len = key.layout().chunk_len() + TAG;
    let mut sealed = read_chunk(from, sealed_len)?;
    for index in 0.. {
        let next = read_chunk(from, sealed_len)?;
        let (chunk, tag) = sealed.split_last_chunk_mut::<TAG>().ok_or("the stream was cut short")?;
        // Nothing is passed on before it is verified.
        key.open(&Cpu::new(), index, next.is_empty(), &[*tag], Bulk::in_place(chunk))?;
        to.write_all(chunk)?;
        if next.is_empty() {
            break;
        }
        sealed = next;
    }
    Ok(())
}

pub(crate) fn main() -> Result<()> {
    let user = UserKey::generate(&mut rand::rng());
    for len in [0usize, 1, 65_536, 1_000_000] {
        let plain: Vec<u8> = (0..len).map(|i| (i * i) as u8).collect();
        let (mut sealed, mut opened) = (Vec::new(), Vec::new());
        encrypt(&user, &mut &plain[..], &mut sealed)?;
        decrypt(&user, &mut &sealed[..], &mut opened)?;
        println!("{len} bytes, {} encrypted", sealed.len());
        assert_eq!(opened, plain);

        // Every change is noticed: here a flipped bit of the last tag, and its loss.
        let last = sealed.len() - 1;
        assert!(decrypt(&user, &mut &sealed[..last], &mut std::io::sink()).is_err());
        sealed[last] ^= 1;
        assert!(decrypt(&user, &mut &sealed[..], &mut std::io::sink()).is_err());
    }
    Ok(())
}
