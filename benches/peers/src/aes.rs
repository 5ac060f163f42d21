//! AES-128 beside RustCrypto's modes. Both expand the key in every call.

mod modes;

use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit, KeyIvInit, StreamCipher, array::Array};
use aes_gcm::{AeadInOut, Aes128Gcm};
use he_peers::{heading, pair, version};
use modes::{FITS, KEY, MODES, Operation, TWEAK_KEY, UNIT};
use xts_mode::{Xts128, get_tweak_default};

/// RustCrypto's, in the order of ours.
const PEERS: [Operation; 4] = [ecb, ctr, gcm, xts];

fn ecb(data: &mut [u8]) {
    Aes128::new(&KEY.into()).encrypt_blocks(Array::slice_as_chunks_mut(data).0);
}

fn ctr(data: &mut [u8]) {
    ctr::Ctr128BE::<Aes128>::new(&KEY.into(), &[0; 16].into()).apply_keystream(data);
}

fn gcm(data: &mut [u8]) {
    let sealed = Aes128Gcm::new(&KEY.into()).encrypt_inout_detached(&[0; 12].into(), &[], data.into());
    sealed.expect(FITS);
}

fn xts(data: &mut [u8]) {
    let xts = Xts128::new(Aes128::new(&KEY.into()), Aes128::new(&TWEAK_KEY.into()));
    xts.encrypt_area(data, UNIT, 0, get_tweak_default);
}

/// Every mode on 1 KiB and 8 MiB, in place.
pub fn table() {
    let peers = ["aes", "ctr", "aes-gcm", "xts-mode"].map(version);
    heading(&peers.join(", "));
    for ((mode, ours), peer) in MODES.into_iter().zip(PEERS) {
        for (size, bytes) in [(1 << 10, "1 KiB"), (8 << 20, "8 MiB")] {
            let mut data = [0x5a, 0x5a].map(|byte| vec![byte; size]);
            let [a, b] = &mut data;
            ours(a);
            peer(b);
            assert!(a == b, "{mode} differs");
            pair(format_args!("AES-128-{}, {bytes}", mode.to_uppercase()), || ours(a), || peer(b));
        }
    }
}
