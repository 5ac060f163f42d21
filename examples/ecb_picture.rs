//! Shows why ECB hides nothing: a picture of four grays, encrypted with ECB and with GCM under one
//! key, side by side in `docs/images/ecb.png`. `cargo run --release --example ecb_picture`.

use he::aes::{Bulk, BulkCipher, Cpu, Direction, Key, KeySize};
use image::{GrayImage, Luma};

/// The bytes per pixel: a block holds four pixels.
const BYTES: usize = 4;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let photo = image::open("tests/data/astronaut.png")?.to_luma8();
    let (width, height) = photo.dimensions();
    let plain: Vec<u8> = photo.as_raw().iter().flat_map(|&gray| [gray / 64 * 85; BYTES]).collect();

    let (cipher, key) = (Cpu::new(), Key::generate(KeySize::Bits128, &mut he::rand::rng()));
    let (mut ecb, mut gcm) = (plain.clone(), plain.clone());
    cipher.hazmat_ecb(&key, Direction::Encrypt, Bulk::in_place(&mut ecb))?;
    // The only message under this key: any nonce is fresh.
    cipher.gcm_seal(&key, &[0; 12], &[], Bulk::in_place(&mut gcm))?;

    let picture = GrayImage::from_fn(3 * width, height, |x, y| {
        let bytes = [&plain, &ecb, &gcm][(x / width) as usize];
        Luma([bytes[(y * width + x % width) as usize * BYTES]])
    });
    picture.save("docs/images/ecb.png")?;
    Ok(())
}
