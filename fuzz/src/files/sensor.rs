//! Sensor files: the header, and the numbers behind it.
//!
//! Must hold: a header that is read is written to the same bytes. A file is read if and only if it
//! is as long as its header says, and decrypts to as many numbers, each of which is one of those
//! that the header describes, and which encrypt to the bytes of the file.
//!
//! Bytes: flags (1: the bytes are the file; otherwise the good file, changed by triples of a place
//! of 16 bits and a byte, and with 2 cut, with 4 extended).

use super::target::Fields;
use super::world;
use he_core::aes::{Bulk, BulkCipher, Cpu, KeySize};
use he_core::transcipher::SensorKey;
use he_files::io::input::Input;
use he_files::tfhe::note::ColumnsNote;
use he_files::transcipher::{Header, SensorFile, columns};
use std::sync::OnceLock;

fn key() -> &'static SensorKey {
    static KEY: OnceLock<SensorKey> = OnceLock::new();
    KEY.get_or_init(|| SensorKey::generate(KeySize::Bits128, &mut world::rng(9)))
}

/// Two columns of three numbers of 16 bits with a sign.
pub fn good() -> Vec<u8> {
    let columns = vec![Some("inside".to_owned()), None];
    let content = ColumnsNote { width: 16, signed: true, rows: 3, columns, picture: None };
    let header = Header { content, key: key().id(), counter: [0xff; 16] };
    let mut file = header.to_bytes("file").expect("short names");
    file.extend([7; 12]);
    file
}

pub fn run(data: &[u8]) {
    let Some((&flags, rest)) = data.split_first() else { return };
    let mut file = rest.to_vec();
    if flags & 1 == 0 {
        file = good();
        let mut changes = Fields(rest);
        while let Some([low, high, change]) = changes.take() {
            let at = usize::from(u16::from_le_bytes([low, high])) % file.len();
            file[at] ^= change;
        }
        if let (2, [.., length]) = (flags & 2, rest) {
            file.truncate(usize::from(*length) % (file.len() + 1));
        }
        if flags & 4 == 4 {
            file.extend(rest);
        }
    }
    let Ok(header) = Header::read(&mut &file[..], "file") else {
        assert!(SensorFile::read(Input::from_bytes("file", file)).is_err());
        return;
    };
    let start = header.to_bytes("file").expect("names that were read");
    assert!(file.starts_with(&start), "a header is read and written differently");
    let data = &file[start.len()..];
    let opened = SensorFile::read(Input::from_bytes("file", file.clone())).expect("a header");
    let decrypted = columns::decrypt(opened, key(), "key", &());
    let fits = data.len() as u64 == header.data_len() && header.key == key().id();
    assert_eq!(decrypted.is_ok(), fits, "{:?}", decrypted.err());
    let Ok(clear) = decrypted else { return };
    assert_eq!(clear.table.columns().len(), header.content.columns.len());
    let mut again = Vec::new();
    for number in clear.table.columns().iter().flatten() {
        assert!(clear.integers.hold(number), "{number}");
        let mut bytes = clear.integers.bits_of(number).to_bytes_le();
        bytes.resize(clear.integers.bits as usize / 8, 0);
        again.extend(bytes);
    }
    Cpu::new().hazmat_ctr(key().key(), &header.counter, Bulk::in_place(&mut again)).expect("the CPU");
    assert!(again == data, "numbers are decrypted and encrypted differently");
}

pub fn seeds() -> Vec<Vec<u8>> {
    let file = [&[1][..], &good()].concat();
    // A picture of one row of 3 pixels, with four channels.
    let mut picture = good();
    picture[9..24].copy_from_slice(&[2, 1, 0, 4, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0]);
    picture.drain(56..66);
    let picture = [&[1][..], &picture].concat();
    vec![
        file,
        picture,
        vec![0],
        vec![0, 8, 0, 1],
        vec![0, 16, 0, 2],
        vec![2, 60],
        vec![4, 1],
        vec![0, 12, 0, 3],
    ]
}
