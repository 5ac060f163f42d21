use super::*;

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

/// FIPS-197, appendix A: the last round keys.
#[test]
fn fips_197_expansion() {
    for (key, first, last) in [
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            "a0fafe1788542cb123a339392a6c7605",
            "d014f9a8c9ee2589e13f0cc8b6630ca6",
        ),
        (
            "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
            "62f8ead2522c6b7bfe0c91f72402f5a5",
            "e98ba06f448c773c8ecc720401002202",
        ),
        (
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            "1f352c073b6108d72d9810a30914dff4",
            "fe4890d1e6188d0b046df344706c631e",
        ),
    ] {
        let schedule = KeySchedule::new(&Key::from_slice(&hex(key)).unwrap());
        let keys = schedule.expose_round_keys();
        assert_eq!(keys.len(), schedule.size().rounds() + 1);
        assert_eq!(keys[0][..], hex(key)[..16]);
        assert_eq!(keys[1][..], hex(first));
        assert_eq!(keys.last().unwrap()[..], hex(last));
    }
}

/// FIPS-197, appendix C.1: the equivalent inverse cipher's key schedule, `ik_sch` of rounds 0, 1
/// and 10.
#[test]
fn fips_197_inverse_expansion() {
    let key = Key::from_slice(&hex("000102030405060708090a0b0c0d0e0f")).unwrap();
    let schedule = KeySchedule::inverse(&key);
    let keys = schedule.expose_round_keys();
    assert_eq!(keys[0][..], hex("13111d7fe3944a17f307a78b4d2b30c5"));
    assert_eq!(keys[1][..], hex("13aa29be9c8faff6f770f58000f7bf03"));
    assert_eq!(keys[10][..], hex("000102030405060708090a0b0c0d0e0f"));
}

#[test]
fn lengths() {
    for len in 0..80 {
        let bytes: Vec<u8> = (0..len as u8).collect();
        match Key::from_slice(&bytes) {
            Ok(key) => assert_eq!(key.expose_bytes(), bytes),
            Err(AesError::KeyLength { found }) => assert!(found == len && ![16, 24, 32].contains(&len)),
            Err(e) => panic!("{e}"),
        }
        match XtsKey::from_slice(&bytes) {
            Ok(keys) => assert_eq!([keys.data().expose_bytes(), keys.tweak().expose_bytes()].concat(), bytes),
            Err(AesError::XtsKeyLength { found }) => assert!(found == len && ![32, 48, 64].contains(&len)),
            Err(e) => panic!("{e}"),
        }
    }
}

#[test]
fn equal_halves_are_refused() {
    assert!(matches!(XtsKey::from_slice(&[7; 64]), Err(AesError::XtsEqualKeys)));
    let (short, long) = (Key::from_slice(&[7; 16]).unwrap(), Key::from_slice(&[7; 32]).unwrap());
    assert!(!bool::from(short.ct_eq(&long)));
    assert!(bool::from(short.ct_eq(&short.clone())));
    assert!(matches!(XtsKey::new(short, long), Err(AesError::XtsKeySizes { data: 128, tweak: 256 })));
}

#[test]
fn content_is_not_printed() {
    let key = Key::from_slice(&[0xab; 16]).unwrap();
    assert_eq!(format!("{key:?} {:?}", KeySchedule::new(&key)), "Key(128 bits) KeySchedule(128 bits)");
}
