//! Colour profiles and resolutions: kept, public, and said to be so; and what a file's name
//! promises.

use crate::hostile::described;
use crate::pictures::{chunk, chunks, eight, encoded};
use crate::process::{Keys, eval, folder, he, names};
use image::codecs::jpeg::{JpegEncoder, PixelDensity};
use image::codecs::png::PngEncoder;
use image::{DynamicImage, ImageDecoder, ImageEncoder, ImageFormat, ImageReader};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// The frame of an ICC profile.
fn profile(space: &[u8; 4], len: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..len).map(|i| ((i * 31) >> 3) as u8).collect();
    bytes[..4].copy_from_slice(&(len as u32).to_be_bytes());
    bytes[16..20].copy_from_slice(space);
    bytes[36..40].copy_from_slice(b"acsp");
    bytes
}

/// A PNG file with a profile, of so many pixels per metre.
fn png(picture: &DynamicImage, profile: Vec<u8>, metre: [u32; 2]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = PngEncoder::new(&mut bytes);
    encoder.set_icc_profile(profile).unwrap();
    picture.write_with_encoder(encoder).unwrap();
    let size = [&metre[0].to_be_bytes()[..], &metre[1].to_be_bytes(), &[1]].concat();
    bytes.splice(33..33, chunk(b"pHYs", &size));
    bytes
}

/// The profile of a file.
fn profile_of(path: &Path) -> Option<Vec<u8>> {
    if path.extension().is_some_and(|ending| ending == "tiff") {
        // Before there are limits, which the size of the picture sets to the profile, too.
        let file = std::io::BufReader::new(fs::File::open(path).unwrap());
        return image::codecs::tiff::TiffDecoder::new(file).unwrap().icc_profile().unwrap();
    }
    let reader = ImageReader::open(path).unwrap().with_guessed_format().unwrap();
    reader.into_decoder().unwrap().icc_profile().unwrap()
}

/// The body of a PNG file's chunk of this kind.
fn body_of(path: &Path, kind: &[u8; 4]) -> Option<Vec<u8>> {
    chunks(&fs::read(path).unwrap()).into_iter().find(|(found, _)| found == kind).map(|(_, body)| body)
}

#[test]
fn profiles_and_resolutions_come_back() {
    for keys in [Keys::usual(), Keys::narrow()] {
        let dir = folder();
        let path = |name: &str| dir.path().join(name);
        let icc = profile(b"RGB ", 3144);
        fs::write(path("in.png"), png(&eight(9, 8, 3, 1), icc.clone(), [11811, 2835])).unwrap();
        let told = he(["encrypt", "in.png", "-k", &keys.public, "-o", "x.he"]).at(dir.path()).run();
        let note = "he-cli: in.png goes with its colour profile (3.07 KiB) and resolution (11811 x 2835 pixels per m), for all to see\n";
        assert!(told.code == Some(0) && told.stderr.starts_with(note), "{}", told.stderr);
        let info: Value =
            serde_json::from_slice(&he(["info", "--json", "x.he"]).at(dir.path()).ok()).unwrap();
        assert_eq!(info["profile"], json!({ "kind": "ICC", "bytes": 3144 }));
        assert_eq!(info["resolution"], json!({ "x": 11811.0, "y": 2835.0, "unit": "m" }));
        let text = he(["info", "x.he"]).at(dir.path()).text();
        assert!(
            text.contains("\nprofile      ICC, 3.07 KiB\nresolution   11811 x 2835 pixels per m\n"),
            "{text}"
        );
        // Through operations, too; with another picture's files the first one's counts.
        eight(9, 8, 3, 2).save(path("other.png")).unwrap();
        he(["encrypt", "other.png", "-k", &keys.public, "-o", "other.he"]).at(dir.path()).ok();
        he(["eval", "sub", "x.he", "--with", "other.he", "-k", &keys.eval, "-o", "sub.he"])
            .at(dir.path())
            .ok();
        for (input, output) in [("x.he", "out.png"), ("sub.he", "sub.png")] {
            he(["decrypt", input, "-k", &keys.secret, "-o", output]).at(dir.path()).ok();
            assert_eq!(profile_of(&path(output)), Some(icc.clone()), "{output}");
            assert_eq!(body_of(&path(output), b"pHYs").unwrap(), body_of(&path("in.png"), b"pHYs").unwrap());
        }
        assert_eq!(image::open(path("out.png")).unwrap(), eight(9, 8, 3, 1));
        for output in ["out.jpg", "out.tiff", "out.webp"] {
            let told = he(["decrypt", "x.he", "-k", &keys.secret, "-o", output]).at(dir.path()).run();
            let lost = "he-cli: WebP holds no resolution (11811 x 2835 pixels per m): written without\n";
            assert_eq!(told.code, Some(0), "{}", told.stderr);
            assert_eq!(told.stderr.starts_with(lost), output == "out.webp", "{}", told.stderr);
            assert_eq!(told.stderr.contains("holds no"), output == "out.webp", "{}", told.stderr);
            assert_eq!(profile_of(&path(output)), Some(icc.clone()), "{output}");
        }
        // 300 and 72 dots per inch.
        assert_eq!(fs::read(path("out.jpg")).unwrap()[13..18], [1, 1, 44, 0, 72]);
        let told = he(["decrypt", "x.he", "-k", &keys.secret, "-o", "out.bmp"]).at(dir.path()).run();
        assert!(
            told.stderr.starts_with("he-cli: BMP holds no colour profile (3.07 KiB) and resolution ("),
            "{}",
            told.stderr
        );
    }
}

#[test]
fn formats_agree_about_the_resolution() {
    let (keys, dir) = (Keys::narrow(), folder());
    let path = |name: &str| dir.path().join(name);
    let picture = eight(9, 8, 1, 1);
    let mut jpeg = Vec::new();
    let mut encoder = JpegEncoder::new(&mut jpeg);
    encoder.set_pixel_density(PixelDensity::dpi(240));
    encoder.set_icc_profile(profile(b"GRAY", 500)).unwrap();
    picture.write_with_encoder(encoder).unwrap();
    fs::write(path("in.jpg"), jpeg).unwrap();
    let turn = |input: &str, output: &str| {
        he(["encrypt", input, "-k", &keys.public, "-o", "x.he", "--force"]).at(dir.path()).ok();
        he(["decrypt", "x.he", "-k", &keys.secret, "-o", output]).at(dir.path()).ok();
    };
    turn("in.jpg", "a.tiff");
    turn("a.tiff", "b.png");
    assert_eq!(body_of(&path("b.png"), b"pHYs").unwrap(), [0, 0, 36, 233, 0, 0, 36, 233, 1]);
    turn("b.png", "c.jpg");
    assert_eq!(fs::read(path("c.jpg")).unwrap()[13..18], [1, 0, 240, 0, 240]);
    for name in ["a.tiff", "b.png", "c.jpg"] {
        assert_eq!(profile_of(&path(name)), Some(profile(b"GRAY", 500)), "{name}");
    }
}

#[test]
fn profiles_that_do_not_fit_are_dropped() {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.png"), png(&eight(9, 8, 3, 1), profile(b"RGB ", 200), [3000, 3000])).unwrap();
    he(["encrypt", "in.png", "-k", &keys.public, "-o", "x.he"]).at(dir.path()).ok();
    eval(keys, &["grayscale"], &path("x.he"), &path("gray.he"));
    he(["decrypt", "gray.he", "-k", &keys.secret, "-o", "gray.png"]).at(dir.path()).ok();
    assert_eq!(profile_of(&path("gray.png")), None);
    assert!(body_of(&path("gray.png"), b"pHYs").is_some());
    // None, one of other channels, one without the signature, one that is too long.
    let mut unsigned = profile(b"RGB ", 200);
    unsigned[36] = 0;
    for icc in [vec![1; 50], profile(b"GRAY", 200), unsigned, profile(b"RGB ", 300_000)] {
        fs::write(path("in.png"), png(&eight(9, 8, 3, 1), icc, [3000, 3000])).unwrap();
        let told =
            he(["encrypt", "in.png", "-k", &keys.public, "-o", "x.he", "--force"]).at(dir.path()).run();
        let note = "he-cli: in.png goes with its resolution (3000 x 3000 pixels per m), for all to see\n";
        assert!(told.stderr.starts_with(note), "{}", told.stderr);
    }
}

#[test]
fn impossible_metadata_are_refused() {
    for keys in [Keys::shallow(), Keys::narrow()] {
        let dir = folder();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("in.png"), png(&eight(9, 8, 3, 1), profile(b"RGB ", 200), [3000, 3000])).unwrap();
        he(["encrypt", "in.png", "-k", &keys.public, "-o", "x.he"]).at(dir.path()).ok();
        fs::write(path("broken"), b"").unwrap();
        let before = names(dir.path());
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        for (at, value) in [
            ("/content/profile", json!("")),
            ("/content/profile", json!("00")),
            ("/content/profile", json!("xyz")),
            ("/content/profile", json!(7)),
            ("/content/profile", json!(hex(&profile(b"RGB ", 300_000)))),
            ("/content/profile", json!("\u{e9}".repeat(200))),
            ("/content/resolution", json!({ "x": 0.0, "y": 1.0, "unit": "m" })),
            ("/content/resolution", json!({ "x": 1e300, "y": 1.0, "unit": "m" })),
            ("/content/resolution", json!({ "x": 1.0, "y": -1.0, "unit": "m" })),
            ("/content/resolution", json!({ "x": 1.0, "y": 1.0, "unit": "mile" })),
            ("/content/resolution", json!({ "x": 1.0, "unit": "m" })),
            ("/content/resolution", json!({ "x": 1.0, "y": 1.0, "unit": "m", "z": 1.0 })),
        ] {
            described(&path("x.he"), &path("broken"), &[(at, value)]);
            let message = he(["decrypt", "broken", "-k", &keys.secret, "-o", "out"]).at(dir.path()).refuses();
            assert!(message.contains("the description of the file holds an impossible "), "{message}");
            assert_eq!(names(dir.path()), before);
        }
    }
}

/// A picture without them is described as ever.
#[test]
fn plain_pictures_have_plain_descriptions() {
    let (keys, dir) = (Keys::narrow(), folder());
    for format in
        [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Tiff, ImageFormat::WebP, ImageFormat::Bmp]
    {
        fs::write(dir.path().join("in"), encoded(&eight(9, 8, 3, 1), format)).unwrap();
        let told = he(["encrypt", "in", "-k", &keys.public, "-o", "x.he", "--force"]).at(dir.path()).run();
        assert!(told.code == Some(0) && !told.stderr.contains("goes with"), "{format:?}: {}", told.stderr);
        let bytes = fs::read(dir.path().join("x.he")).unwrap();
        let start = String::from_utf8_lossy(&bytes[..4096]).into_owned();
        assert!(start.contains("\"high\":255}}") && !start.contains("profile"), "{format:?}: {start}");
    }
}

#[test]
fn names_of_other_formats_are_refused() {
    for keys in [Keys::shallow(), Keys::narrow()] {
        let dir = folder();
        eight(5, 4, 1, 1).save(dir.path().join("in.png")).unwrap();
        he(["encrypt", "in.png", "-k", &keys.public, "-o", "x.he"]).at(dir.path()).ok();
        for name in ["x.gif", "x.txt", "x.pdf", "a.png.bak", "x."] {
            he(["decrypt", "x.he", "-k", &keys.secret, "-o", name]).at(dir.path()).fails(
                1,
                &format!("{name}: pictures are not written in a format of this ending"),
                "end the name in .png, .jpg, .jpeg, .jpe, .bmp, .tif, .tiff or .webp; without an ending it is PNG",
            );
        }
        assert_eq!(names(dir.path()), ["in.png", "x.he"]);
        let decrypt =
            |name: &str| he(["decrypt", "x.he", "-k", &keys.secret, "-o", name]).at(dir.path()).ok();
        assert!(decrypt("-").starts_with(b"\x89PNG"));
        for (name, start) in [("plain", &b"\x89PNG"[..]), ("x.JPG", b"\xff\xd8"), ("x.tif", b"II*\0")] {
            decrypt(name);
            assert!(fs::read(dir.path().join(name)).unwrap().starts_with(start), "{name}");
        }
    }
}
