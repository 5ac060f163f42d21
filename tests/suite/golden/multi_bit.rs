//! Kind 58: multi-bit bootstrapping keys.

use super::*;
use he::tfhe::{Bootstrapper, LookupTables};
use he::wire::FrameKind;
use rand::{SeedableRng, rngs::ChaCha20Rng};

#[test]
fn golden_multi_bit_keys_read_back() {
    let params = generator::multi_bit_params().unwrap();
    let read = frames("tfhe_multi_bit_key.he");
    assert_eq!(TfheParams::from_frame_insecure(&read[0]).unwrap(), params);
    let secret = TfheSecretKey::from_frame(&params, (), &read[1]).unwrap();
    let (cpu, frame) = (Cpu::new(), &read[2]);
    let key = BootstrapKey::from_frame(&params, (), frame).unwrap();
    assert_eq!((frame.kind, key.group()), (FrameKind::TfheMultiBitKey, 3));
    assert_eq!(key.to_frame(&params).unwrap().body, frame.body);
    assert_eq!(frame.body.len() as u64, params.key_frame_limit(frame.kind));

    let boot = Bootstrapper::new(&cpu, &key).unwrap();
    let table = LookupTables::sign(&cpu, &params, 1 << 61).unwrap();
    let fresh = secret.encrypt(&cpu, &[1 << 61, 7 << 61], &mut ChaCha20Rng::seed_from_u64(1)).unwrap();
    let phases = secret.phases(&boot.bootstrap(&fresh, &table, &[0, 0]).unwrap()).unwrap();
    assert_eq!([phases[0] >> 63, phases[1] >> 63], [0, 1]);

    // Groups that do not exist, and bodies of other lengths.
    let changed = |group: u8, length: usize| {
        let mut body = frame.body.to_vec();
        body.resize(length, 0);
        if let Some(first) = body.first_mut() {
            *first = group;
        }
        BootstrapKey::from_frame(
            &params,
            (),
            &Frame { kind: frame.kind, fingerprint: frame.fingerprint, body },
        )
        .map(drop)
    };
    let length = frame.body.len();
    for group in [0, 1, 2, 4, 5, 255] {
        assert!(changed(group, length).is_err(), "{group}");
    }
    for other in [0, 1, 32, 33, length - 1, length + 1, 2 * length] {
        assert!(changed(3, other).is_err(), "{other}");
    }
}
