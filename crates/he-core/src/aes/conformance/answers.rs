//! Published answers.

use super::{Bulk, both, same};
use crate::aes::{BulkCipher, Direction, Key, XtsKey};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).expect("a hexadecimal digit") as u8)
        .collect();
    digits.chunks_exact(2).map(|pair| 16 * pair[0] + pair[1]).collect()
}

fn key(text: &str) -> Key {
    Key::from_slice(&hex(text)).expect("a length that AES has")
}

/// Key, plaintext, ciphertext.
const ECB: [[&str; 3]; 6] = [
    // FIPS-197, appendix C.
    [
        "000102030405060708090a0b0c0d0e0f",
        "00112233445566778899aabbccddeeff",
        "69c4e0d86a7b0430d8cdb78070b4c55a",
    ],
    [
        "000102030405060708090a0b0c0d0e0f1011121314151617",
        "00112233445566778899aabbccddeeff",
        "dda97ca4864cdfe06eaf70a0ec0d7191",
    ],
    [
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "00112233445566778899aabbccddeeff",
        "8ea2b7ca516745bfeafc49904b496089",
    ],
    // SP 800-38A, F.1.
    [
        KEYS_38A[0],
        PLAIN_38A,
        "3ad77bb40d7a3660a89ecaf32466ef97 f5d3d58503b9699de785895a96fdbaaf
         43b1cd7f598ece23881b00e3ed030688 7b0c785e27e8ad3f8223207104725dd4",
    ],
    [
        KEYS_38A[1],
        PLAIN_38A,
        "bd334f1d6e45f25ff712a214571fa5cc 974104846d0ad3ad7734ecb3ecee4eef
         ef7afd2270e2e60adce0ba2face6444e 9a4b41ba738d6c72fb16691603c18e0e",
    ],
    [
        KEYS_38A[2],
        PLAIN_38A,
        "f3eed1bdb5d2a03c064b5a7e3db181f8 591ccb10d410ed26dc5ba74a31362870
         b6ed21b99ca6f4f9f153e7b1beafed1d 23304b7a39f9f3ff067d8d8f9e24ecc7",
    ],
];

const KEYS_38A: [&str; 3] = [
    "2b7e151628aed2a6abf7158809cf4f3c",
    "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
    "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
];

const PLAIN_38A: &str = "6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
     30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710";

/// SP 800-38A, F.5: ciphertexts from the counter f0f1 ... ff.
const CTR: [&str; 3] = [
    "874d6191b620e3261bef6864990db6ce 9806f66b7970fdff8617187bb9fffdff
     5ae4df3edbd5d35e5b4f09020db03eab 1e031dda2fbe03d1792170a0f3009cee",
    "1abc932417521ca24f2b0459fe7e6e0b 090339ec0aa6faefd5ccc2c6f4ce8e94
     1e36b26bd1ebc670d1bd1d665620abf7 4f78a7f6d29809585a97daec58c6b050",
    "601ec313775789a5b7a7f504bbf3d228 f443e3ca4d62b59aca84e990cacaf5c5
     2b0930daa23de94ce87017ba2d84988d dfc9c58db67aada613c2dd08457941a6",
];

/// Key, nonce, associated data, plaintext, ciphertext, tag: McGrew and Viega, "The Galois/Counter
/// Mode of Operation", appendix B, cases 1, 2, 4, 10 and 16.
const GCM: [[&str; 6]; 5] = [
    [ZERO, NONCE_0, "", "", "", "58e2fccefa7e3061367f1d57a4e7455a"],
    [ZERO, NONCE_0, "", ZERO, "0388dace60b6a392f328c2b971b2fe78", "ab6e47d42cec13bdf53a67b21257bddf"],
    [
        "feffe9928665731c6d6a8f9467308308",
        NONCE,
        AAD,
        PLAIN,
        "42831ec2217774244b7221b784d0d49c e3aa212f2c02a4e035c17e2329aca12e
         21d514b25466931c7d8f6a5aac84aa05 1ba30b396a0aac973d58e091",
        "5bc94fbc3221a5db94fae95ae7121a47",
    ],
    [
        "feffe9928665731c6d6a8f9467308308feffe9928665731c",
        NONCE,
        AAD,
        PLAIN,
        "3980ca0b3c00e841eb06fac4872a2757 859e1ceaa6efd984628593b40ca1e19c
         7d773d00c144c525ac619d18c84a3f47 18e2448b2fe324d9ccda2710",
        "2519498e80f1478f37ba55bd6d27618c",
    ],
    [
        "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
        NONCE,
        AAD,
        PLAIN,
        "522dc1f099567d07f47f37a32a84427d 643a8cdcbfe5c0c97598a2bd2555d1aa
         8cb08e48590dbb3da7b08b1056828838 c5f61e6393ba7a0abcc9f662",
        "76fc6ece0f4e1768cddf8853bb2d551b",
    ],
];

const ZERO: &str = "00000000000000000000000000000000";
const NONCE_0: &str = "000000000000000000000000";
const NONCE: &str = "cafebabefacedbaddecaf888";
const AAD: &str = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
const PLAIN: &str = "d9313225f88406e5a55909c5aff5269a 86a7a9531534f7da2e4c303d8a318a72
     1c3c0c95956809532fcf0e2449a6b525 b16aedf5aa0de657ba637b39";

/// Both keys, number of the unit, plaintext, ciphertext: IEEE 1619-2018, annex B, vectors 2, 3 and
/// 15 to 18 (vector 1 has equal keys).
const XTS: [(&str, &str, u128, &str, &str); 6] = [
    (
        "11111111111111111111111111111111",
        "22222222222222222222222222222222",
        0x33_3333_3333,
        "4444444444444444444444444444444444444444444444444444444444444444",
        "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0",
    ),
    (
        "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0",
        "22222222222222222222222222222222",
        0x33_3333_3333,
        "4444444444444444444444444444444444444444444444444444444444444444",
        "af85336b597afc1a900b2eb21ec949d292df4c047e0b21532186a5971a227a89",
    ),
    (
        STEALING[0],
        STEALING[1],
        0x12_3456_789a,
        "000102030405060708090a0b0c0d0e0f10",
        "6c1625db4671522d3d7599601de7ca09ed",
    ),
    (
        STEALING[0],
        STEALING[1],
        0x12_3456_789a,
        "000102030405060708090a0b0c0d0e0f1011",
        "d069444b7a7e0cab09e24447d24deb1fedbf",
    ),
    (
        STEALING[0],
        STEALING[1],
        0x12_3456_789a,
        "000102030405060708090a0b0c0d0e0f101112",
        "e5df1351c0544ba1350b3363cd8ef4beedbf9d",
    ),
    (
        STEALING[0],
        STEALING[1],
        0x12_3456_789a,
        "000102030405060708090a0b0c0d0e0f10111213",
        "9d84c813f719aa2c7be3f66171c7c5c2edbf9dac",
    ),
];

const STEALING: [&str; 2] = ["fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0", "bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0"];

/// IEEE 1619-2018, annex B, vectors 4 and 10: both keys, number of the unit, and the first bytes of
/// the ciphertext of the bytes 0 ... 255, twice.
const XTS_LONG: [(&str, &str, u128, &str); 2] = [
    (
        "27182818284590452353602874713526",
        "31415926535897932384626433832795",
        0,
        "27a7479befa1d476489f308cd4cfa6e2a96e4bbe3208ff25287dd3819616e89c",
    ),
    (
        "2718281828459045235360287471352662497757247093699959574966967627",
        "3141592653589793238462643383279502884197169399375105820974944592",
        0xff,
        "1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b",
    ),
];

/// Published answers: FIPS-197, SP 800-38A, the GCM submission and IEEE 1619.
///
/// # Panics
/// At the first difference.
pub fn known_answers(cipher: &dyn BulkCipher) {
    let name = cipher.name();
    for [key_text, plain, sealed] in ECB {
        let (what, key) = (format!("{name}: ECB of {plain}"), key(key_text));
        let (found, ()) = both(&what, &hex(plain), |data| cipher.hazmat_ecb(&key, Direction::Encrypt, data));
        same(&what, &found, &hex(sealed));
        let (found, ()) = both(&what, &found, |data| cipher.hazmat_ecb(&key, Direction::Decrypt, data));
        same(&what, &found, &hex(plain));
    }
    for (key_text, sealed) in KEYS_38A.into_iter().zip(CTR) {
        let (what, key) = (format!("{name}: CTR with {key_text}"), key(key_text));
        let counter = std::array::from_fn(|i| 0xf0 + i as u8);
        let (found, ()) = both(&what, &hex(PLAIN_38A), |data| cipher.hazmat_ctr(&key, &counter, data));
        same(&what, &found, &hex(sealed));
    }
    for [key_text, nonce, aad, plain, sealed, tag] in GCM {
        let (what, key, aad) = (format!("{name}: GCM of {plain}"), key(key_text), hex(aad));
        let nonce = hex(nonce).try_into().expect("12 bytes");
        let (found, found_tag) = both(&what, &hex(plain), |data| cipher.gcm_seal(&key, &nonce, &aad, data));
        same(&what, &found, &hex(sealed));
        same(&what, &found_tag, &hex(tag));
        let (found, ()) = both(&what, &found, |data| cipher.gcm_open(&key, &nonce, &aad, &found_tag, data));
        same(&what, &found, &hex(plain));
    }
    for (data_key, tweak_key, number, plain, sealed) in XTS {
        unit(cipher, data_key, tweak_key, number, &hex(plain), &hex(sealed));
    }
    for (data_key, tweak_key, number, sealed) in XTS_LONG {
        let plain: Vec<u8> = (0..512).map(|i| i as u8).collect();
        unit(cipher, data_key, tweak_key, number, &plain, &hex(sealed));
    }
}

/// A data unit, with the known first bytes of its ciphertext.
fn unit(cipher: &dyn BulkCipher, data_key: &str, tweak_key: &str, number: u128, plain: &[u8], sealed: &[u8]) {
    let what = format!("{}: XTS of {} bytes with {data_key}", cipher.name(), plain.len());
    let keys = XtsKey::new(key(data_key), key(tweak_key)).expect("two keys");
    let run = |data: &[u8], direction| {
        both(&what, data, |data: Bulk<'_>| cipher.xts(&keys, number, 512, direction, data)).0
    };
    let found = run(plain, Direction::Encrypt);
    same(&what, &found[..sealed.len()], sealed);
    same(&what, &run(&found, Direction::Decrypt), plain);
}
