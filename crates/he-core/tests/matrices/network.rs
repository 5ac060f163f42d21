//! A network of two layers with squares between them, on a batch of images: features are
//! ciphertexts, images are slots.

use crate::common::{World, seeded};
use he_core::ckks::{CkksParams, CkksSpec, Complex64, Decryptor, MatrixWeights, SecretEncryptor};
use he_core::rlwe::KeyRequirements;
use rand::RngExt;

const FEATURES: usize = 16;
const HIDDEN: usize = 8;
const CLASSES: usize = 4;

/// Weights of eight bits, a bias for each row in the last column, and their unit.
struct Layer {
    bytes: Vec<i8>,
    unit: f64,
}

impl Layer {
    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let row = |row: &[i8]| row.iter().zip(x).map(|(&w, x)| f64::from(w) * self.unit * x).sum();
        self.bytes.chunks(x.len()).map(row).collect()
    }

    fn weights(&self) -> MatrixWeights<'_> {
        MatrixWeights::Quantized { bytes: &self.bytes, unit: self.unit }
    }
}

/// Degree 2^12 and 105 bits of modulus, which have 128 bits of security.
#[test]
fn two_layers_and_a_square_take_three_levels() {
    let mut rng = seeded();
    let spec = CkksSpec::from_bits(12, &[24, 19, 19, 19], &[24], 19.0).unwrap();
    let world = World::new(CkksParams::try_from(spec).unwrap(), &mut rng);
    let mut layer = |rows: usize, columns: usize| Layer {
        bytes: (0..rows * columns).map(|_| rng.random()).collect(),
        unit: 1.0 / 256.0,
    };
    // A feature of ones has the biases.
    let (first, second) = (layer(HIDDEN, FEATURES + 1), layer(CLASSES, HIDDEN));
    let images: Vec<Vec<f64>> = (0..world.params.slots())
        .map(|_| (0..FEATURES).map(|_| rng.random_range(0.0..0.5)).chain([1.0]).collect())
        .collect();
    let feature = |i: usize| images.iter().map(|image| Complex64::new(image[i], 0.0)).collect();
    let features: Vec<Vec<Complex64>> = (0..=FEATURES).map(feature).collect();
    let features: Vec<&[Complex64]> = features.iter().map(Vec::as_slice).collect();

    let plain = world.ev.encoder().encode_batch(&features, world.params.encoding()).unwrap();
    let encryptor = SecretEncryptor::new(&world.params, &world.secret, &world.ring).unwrap();
    let x = encryptor.encrypt(&plain, &mut rng).unwrap().expand().unwrap();
    let keys = world.keys(KeyRequirements::new().relinearisation(), &mut rng);

    let matrix = world.ev.plain_matrix([HIDDEN, FEATURES + 1], first.weights(), x.level()).unwrap();
    let hidden = world.ev.mul_matrix(&matrix, &x).unwrap();
    let squared = world.ev.square(&hidden, &keys).unwrap();
    let matrix = world.ev.plain_matrix([CLASSES, HIDDEN], second.weights(), squared.level()).unwrap();
    let scores = world.ev.mul_matrix(&matrix, &squared).unwrap();
    assert_eq!((x.level(), hidden.level(), squared.level(), scores.level()), (3, 2, 1, 0));

    let decryptor = Decryptor::new(&world.params, &world.secret, &world.ring).unwrap();
    let found = decryptor.decrypt_real(&scores).unwrap();
    let slots = world.params.slots();
    let noise = scores.noise().unwrap();
    let bound = noise.peak_log2.exp2() / scores.scale();
    let mut most = 0f64;
    for (i, image) in images.iter().enumerate() {
        let hidden: Vec<f64> = first.apply(image).iter().map(|x| x * x).collect();
        for (class, expected) in second.apply(&hidden).into_iter().enumerate() {
            most = most.max((found[class * slots + i] - expected).abs());
        }
    }
    assert!(most <= bound && most < 0.05, "errors up to {most}, stated {bound}");
}
