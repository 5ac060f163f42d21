//! Values become ciphertexts and come back in one step, with the same words as encoding and
//! encrypting separately.

use super::common::{for_seeds, rng};
use he::backend::Cpu;
use he::bfv::Bfv;
use he::bgv::Bgv;
use he::bigckks::{self, BigCkksParams, BigCkksSpec};
use he::circuits::pack_column;
use he::ckks::{CkksParams, CkksSpec, Complex64, Decryptor, Encoder, Encryptor, SecretEncryptor};
use he::exact::{self, ExactSpec, Params, Scheme};
use he::ring::Ring;
use he::rlwe::{PublicKey, SecretKey};
use he::{Error, ckks};
use rand::{RngExt, rngs::ChaCha20Rng};

fn ckks_params() -> CkksParams {
    CkksParams::insecure(CkksSpec::from_bits(6, &[45, 36], &[46], 36.0).unwrap()).unwrap()
}

fn exact_params<S: Scheme>() -> Params<S> {
    Params::insecure(ExactSpec::from_bits(6, &[40, 40, 40], &[45], 65537).unwrap()).unwrap()
}

fn reals(rng: &mut ChaCha20Rng, length: usize) -> Vec<f64> {
    (0..length).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// Lengths of columns around the borders of vectors of this many slots.
fn lengths(slots: usize) -> [usize; 6] {
    [0, 1, slots - 1, slots, slots + 1, 3 * slots - 1]
}

#[test]
fn ckks_columns() {
    for_seeds(2, |seeds| {
        let params = ckks_params();
        let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
        let secret = SecretKey::generate(params.rlwe(), seeds);
        let public = PublicKey::generate(&secret, &ring, seeds).unwrap();
        let encoder = Encoder::new(&params, &ring).unwrap();
        let encryptor = Encryptor::new(&params, &public).unwrap();
        let by_secret = SecretEncryptor::new(&params, &secret, &ring).unwrap();
        let decryptor = Decryptor::new(&params, &secret, &ring).unwrap();
        for length in lengths(params.slots()) {
            let column = reals(seeds, length);
            let seed = seeds.random();
            let x = encryptor.encrypt_real(&column, &mut rng(seed)).unwrap();
            // The two steps leave the same words.
            let vectors = pack_column(&column, params.slots()).unwrap();
            let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
            let plain = encoder.encode_batch(&vectors, params.encoding()).unwrap();
            let two = encryptor.encrypt(&plain, &mut rng(seed)).unwrap();
            let words = |ct: &ckks::Ciphertext| ct.pair().parts().map(|c| c.to_words().unwrap());
            assert_eq!(words(&x), words(&two), "length {length}");
            assert_eq!((x.level(), x.scale(), x.slots()), (two.level(), two.scale(), two.slots()));
            let y = by_secret.encrypt_real(&column, &mut rng(seed)).unwrap();
            let two = by_secret.encrypt(&plain, &mut rng(seed)).unwrap();
            assert_eq!(y.parts().0.to_words().unwrap(), two.parts().0.to_words().unwrap());
            for ct in [x, y.expand().unwrap()] {
                let found = decryptor.decrypt_real(&ct).unwrap();
                assert_eq!(found.len(), length.div_ceil(params.slots()).max(1) * params.slots());
                for (i, found) in found.iter().enumerate() {
                    let expected = column.get(i).copied().unwrap_or(0.0);
                    assert!((found - expected).abs() < 1e-6, "length {length}, {i}: {found}, not {expected}");
                }
            }
            let complex: Vec<Complex64> = column.iter().map(|&x| Complex64::new(x, 1.0 - x)).collect();
            let x = encryptor.encrypt_complex(&complex, seeds).unwrap();
            let found = decryptor.decrypt_complex(&x).unwrap();
            for (i, found) in found.iter().enumerate() {
                let expected = complex.get(i).copied().unwrap_or_default();
                assert!((found - expected).norm() < 1e-6, "length {length}, {i}: {found}, not {expected}");
            }
        }
        // An error names the place in the column, not in a vector of it.
        let mut column = reals(seeds, 3 * params.slots());
        column[2 * params.slots() + 5] = f64::NAN;
        let error = encryptor.encrypt_real(&column, seeds).unwrap_err();
        assert!(matches!(error, Error::NotFinite { index } if index == 2 * params.slots() + 5), "{error}");
        let error = encryptor.encrypt_real(&[1e30], seeds).unwrap_err();
        assert!(matches!(error, Error::ValueTooLarge { .. }), "{error}");
    });
}

#[test]
fn big_ckks_columns() {
    for_seeds(1, |seeds| {
        let params = BigCkksParams::for_depth_bits(40).precision_bits(20).build().unwrap();
        let spec = BigCkksSpec { log_n: 6, ..params.spec() };
        let params = BigCkksParams::insecure(spec).unwrap();
        let ring = Ring::new(Cpu::new(), params.ring().clone()).unwrap();
        let secret = bigckks::SecretKey::generate(&params, seeds);
        let public = bigckks::PublicKey::generate(&secret, &ring, seeds).unwrap();
        let encryptor = bigckks::Encryptor::new(&params, &public).unwrap();
        let decryptor = bigckks::Decryptor::new(&params, &secret, &ring).unwrap();
        for length in lengths(params.slots()) {
            let column = reals(seeds, length);
            let found = decryptor.decrypt_real(&encryptor.encrypt_real(&column, seeds).unwrap()).unwrap();
            assert_eq!(found.len(), length.div_ceil(params.slots()).max(1) * params.slots());
            let complex: Vec<Complex64> = column.iter().map(|&x| Complex64::new(x, x * x)).collect();
            let pairs =
                decryptor.decrypt_complex(&encryptor.encrypt_complex(&complex, seeds).unwrap()).unwrap();
            for i in 0..found.len() {
                let x = column.get(i).copied().unwrap_or(0.0);
                assert!((found[i] - x).abs() < 1e-4, "length {length}, {i}: {}, not {x}", found[i]);
                assert!((pairs[i] - Complex64::new(x, x * x)).norm() < 1e-4, "length {length}, {i}");
            }
        }
        let error = encryptor.encrypt_real(&[0.0, f64::INFINITY], seeds).unwrap_err();
        assert!(matches!(error, Error::NotFinite { index: 1 }), "{error}");
    });
}

fn exact_columns<S: Scheme>() {
    for_seeds(2, |seeds| {
        let params = exact_params::<S>();
        let n = params.rlwe().ring().n();
        let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
        let secret = SecretKey::generate(params.rlwe(), seeds);
        let public = PublicKey::generate(&secret, &ring, seeds).unwrap();
        let encoder = exact::Encoder::new(&params).unwrap();
        let encryptor = exact::Encryptor::new(&params, &public).unwrap();
        let by_secret = exact::SecretEncryptor::new(&params, &secret, &ring).unwrap();
        let decryptor = exact::Decryptor::new(&params, &secret, &ring).unwrap();
        for length in lengths(n) {
            let column: Vec<i64> = (0..length).map(|_| seeds.random_range(-32768..=32768)).collect();
            let seed = seeds.random();
            let x = encryptor.encrypt_slots(&column, &mut rng(seed)).unwrap();
            let vectors: Vec<&[i64]> = if column.is_empty() { vec![&[]] } else { column.chunks(n).collect() };
            let two = encryptor.encrypt(&encoder.encode_batch(&vectors).unwrap(), &mut rng(seed)).unwrap();
            let words = |ct: &exact::Ciphertext<S>| ct.pair().parts().map(|c| c.to_words().unwrap());
            assert_eq!(words(&x), words(&two), "length {length}");
            let mut expected = column.clone();
            expected.resize(length.div_ceil(n).max(1) * n, 0);
            assert_eq!(decryptor.decrypt_slots::<i64>(&x).unwrap(), expected);
            let y = by_secret.encrypt_slots(&column, seeds).unwrap().expand().unwrap();
            let residues: Vec<u64> = expected.iter().map(|x| x.rem_euclid(65537) as u64).collect();
            assert_eq!(decryptor.decrypt_slots::<u64>(&y).unwrap(), residues);
        }
        let mut column = vec![0u64; 2 * n];
        column[n + 3] = 65537;
        let error = encryptor.encrypt_slots(&column, seeds).unwrap_err();
        let place = n + 3;
        assert!(matches!(error, Error::PlainRange { index, .. } if index == place), "{error}");
    });
}

#[test]
fn bfv_columns() {
    exact_columns::<Bfv>();
}

#[test]
fn bgv_columns() {
    exact_columns::<Bgv>();
}
