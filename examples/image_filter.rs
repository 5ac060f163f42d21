//! Encrypts an image, blurs it under encryption, and decrypts it.
//! `cargo run --release --example image_filter`.

use he::backend::Cpu;
use he::circuits::ckks::{convolution_requirements, convolve};
use he::circuits::{Kernel, Packing, TileLayout};
use he::ckks::{CkksParams, Complex64, Decryptor, Encryptor, Evaluator};
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, PublicKey, SecretKey};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let photo = image::open("tests/data/camera.png")?.to_luma8();
    let (width, height) = (photo.width() as usize, photo.height() as usize);
    let pixels: Vec<f64> = photo.as_raw().iter().map(|&p| f64::from(p) / 255.0).collect();

    // Parameters are chosen from needs, the image is cut into tiles that carry the pixels around
    // them, and the circuit says which keys it needs.
    let params = CkksParams::for_depth(1).precision_bits(20).build()?;
    let kernel = Kernel::box_blur(1)?;
    let layout = TileLayout::new(width, height, params.slots(), kernel.radius(), Packing::Complex)?;
    let needs = convolution_requirements(&kernel, &layout)?;

    // The owner of the image.
    let mut rng = he::rand::rng();
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let public = PublicKey::generate(&secret, &ring, &mut rng)?;
    let keys = EvaluationKeys::generate(&secret, &ring, &needs, &mut rng)?;
    let encryptor = Encryptor::new(&params, &public)?;
    let decryptor = Decryptor::new(&params, &secret, &ring)?;

    let evaluator = Evaluator::new(&params, &ring)?;
    let mut blurred = vec![0.0; width * height];
    for band in 0..layout.bands() {
        let tiles = layout.pack_band(band, |y, row| row.copy_from_slice(&pixels[y * width..][..width]))?;
        let tiles: Vec<&[Complex64]> = tiles.iter().map(Vec::as_slice).collect();
        let encrypted =
            encryptor.encrypt(&evaluator.encoder().encode_batch(&tiles, params.encoding())?, &mut rng)?;
        // The server sees ciphertexts and evaluation keys, nothing else.
        let result = convolve(&evaluator, &encrypted, &kernel, &layout, &keys)?;
        // The owner again.
        let tiles = evaluator.encoder().decode(&decryptor.decrypt(&result)?)?;
        layout.unpack_band(band, &tiles, |y, row| blurred[y * width..][..width].copy_from_slice(row))?;
    }

    let expected = kernel.apply_plain(&pixels, width, height)?;
    let error = blurred.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    println!("{width} x {height}: largest error of a pixel {error:.1e} (white is 1)");
    assert!(error < 1e-5);
    Ok(())
}
