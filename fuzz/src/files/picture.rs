//! Pictures: PNG, JPEG, BMP, TIFF and WebP.
//!
//! Must hold: any bytes are refused or are a picture of the size that it says; as a PNG it is read
//! as the same samples.
//!
//! Bytes: the number of the frame, or 0; then the file.

use he_files::data::picture::{Format, MAX_PIXELS, Picture};
use he_files::io::input::Input;
use image::{DynamicImage, ImageFormat, ImageReader, RgbImage};
use std::io::Cursor;

pub fn run(data: &[u8]) {
    let Some((&frame, bytes)) = data.split_first() else { return };
    let frame = Some(u32::from(frame)).filter(|&frame| frame > 0);
    // A thousand bytes may be hundreds of megapixels, which take seconds and tell nothing more.
    let guessed = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
    let size = guessed.ok().and_then(|reader| reader.into_dimensions().ok());
    let pixels = size.map_or(0, |(width, height)| u64::from(width) * u64::from(height));
    if (1 << 22..=MAX_PIXELS).contains(&pixels) {
        return;
    }
    let Ok(picture) = Picture::read(Input::from_bytes("x", bytes.to_vec()), frame) else { return };
    if u64::from(picture.width()) * u64::from(picture.height()) > 1 << 16 {
        return;
    }
    let mut written = Vec::new();
    picture.encode(Format::Png, &mut written).expect("a vector takes all");
    let again = Picture::read(Input::from_bytes("x", written), None).expect("what was written is read");
    assert_eq!(
        (again.width(), again.height(), again.depth()),
        (picture.width(), picture.height(), picture.depth())
    );
    assert_eq!(again.channels(), picture.channels());
    let all = 0..picture.width() as usize * picture.height() as usize;
    for channel in 0..picture.channels().count() {
        assert!(again.samples_of(channel, all.clone()) == picture.samples_of(channel, all.clone()));
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let pixel = |x: u32, y: u32| image::Rgb([(x * 20) as u8, (y * 30) as u8, 7]);
    let rgb = DynamicImage::ImageRgb8(RgbImage::from_fn(9, 7, pixel));
    let pictures = [
        rgb.to_luma8().into(),
        rgb.to_rgba8().into(),
        rgb.to_luma16().into(),
        rgb.to_luma_alpha8().into(),
        rgb,
    ];
    let formats =
        [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Bmp, ImageFormat::Tiff, ImageFormat::WebP];
    let mut seeds = Vec::new();
    for picture in &pictures {
        for format in formats {
            let mut file = Cursor::new(vec![0]);
            file.set_position(1);
            if picture.write_to(&mut file, format).is_ok() {
                seeds.push(file.into_inner());
            }
        }
    }
    seeds
}
