//! The image test of Reynaldi 2023: a picture encrypted and decrypted. The paper's PSNR is 102.273
//! dB; the project aims at 150.

use super::common::*;
use he::bigckks::{BigCkksParams, Complex64};

/// 20 log10(255 / root mean square of the differences).
fn psnr(original: &[f64], decrypted: impl Iterator<Item = f64>) -> f64 {
    let squares: f64 = original.iter().zip(decrypted).map(|(a, b)| (a - b).powi(2)).sum();
    20.0 * (255.0 / (squares / original.len() as f64).sqrt()).log10()
}

/// 512 x 512 pixels in three colours, each colour a batch of ciphertexts.
#[test]
fn encrypted_and_decrypted() {
    let picture =
        image::open(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/astronaut.png")).unwrap().to_rgb8();
    assert_eq!(picture.dimensions(), (512, 512));
    let params =
        BigCkksParams::for_depth_bits(0).precision_bits(28).range_bits(9).slots(8192).build().unwrap();
    let w = World::with_params(params, &mut rng(1));
    let slots = w.params.slots();
    for colour in 0..3 {
        let pixels: Vec<f64> = picture.pixels().map(|pixel| f64::from(pixel.0[colour])).collect();
        let vectors: Vec<Vec<Complex64>> =
            pixels.chunks(slots).map(|row| row.iter().map(|&x| Complex64::new(x, 0.0)).collect()).collect();
        let ct = w.encrypt(&vectors, &mut rng(2));
        assert_eq!(ct.batch(), 512 * 512 / slots);
        let decrypted = w.decrypt(&ct);
        let decibels = psnr(&pixels, decrypted.iter().flatten().map(|z| z.re));
        println!("colour {colour}: {decibels:.2} dB");
        assert!(decibels >= 150.0, "{decibels} dB");
    }
}
