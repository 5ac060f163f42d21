//! Images: formats, sizes, every operation against float64.

use crate::pictures::{Planes, eight, sixteen};
use crate::process::{DEVICE, Keys, decrypt, encrypt, eval, folder, he, names};
use image::DynamicImage;
use std::fs;
use std::path::{Path, PathBuf};

/// Encrypts a picture once, applies operations one after the other, decrypts.
fn round(picture: &DynamicImage, operations: &[&[&str]], options: &[&str]) -> Planes {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: String| dir.path().join(name);
    picture.save(path("in.png".to_owned())).unwrap();
    encrypt(keys, &path("in.png".to_owned()), &path("0.he".to_owned()), options);
    for (at, operation) in operations.iter().enumerate() {
        eval(keys, operation, &path(format!("{at}.he")), &path(format!("{}.he", at + 1)));
    }
    let out = path("out.png".to_owned());
    decrypt(keys, &path(format!("{}.he", operations.len())), &out);
    Planes::read(&out)
}

const SIXTEEN: f64 = 65535.0;
const NINTH: f64 = 1.0 / 9.0;
const BLUR: &[&[f64]] = &[&[NINTH; 3], &[NINTH; 3], &[NINTH; 3]];
const FIVE: &[f64] = &[0.04; 5];
const SEVEN: &[f64] = &[1.0 / 49.0; 7];
const SHARPEN: &[&[f64]] = &[&[0.0, -1.0, 0.0], &[-1.0, 5.0, -1.0], &[0.0, -1.0, 0.0]];
const EDGES: &[&[f64]] = &[&[-1.0, -1.0, -1.0], &[-1.0, 8.0, -1.0], &[-1.0, -1.0, -1.0]];

#[test]
fn every_filter_matches_float64() {
    let picture = sixteen(67, 30, 3, 1);
    let planes = Planes::of(&picture);
    let gaussian: Vec<f64> = [-1.0f64, 0.0, 1.0].iter().map(|d| (-d * d / (2.0 * 0.64)).exp()).collect();
    let total: f64 = gaussian.iter().sum::<f64>().powi(2);
    let gaussian: Vec<Vec<f64>> =
        gaussian.iter().map(|y| gaussian.iter().map(|x| x * y / total).collect()).collect();
    let gaussian: Vec<&[f64]> = gaussian.iter().map(Vec::as_slice).collect();
    let five: Vec<Vec<f64>> =
        (0..5).map(|y| (0..5).map(|x| f64::from(y * 5 + x - 11) / 64.0).collect()).collect();
    let text: Vec<String> =
        five.iter().map(|row| row.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")).collect();
    let five: Vec<&[f64]> = five.iter().map(Vec::as_slice).collect();
    let cases: [(&[&str], &[&[f64]]); 9] = [
        (&["blur"], BLUR),
        (&["blur", "--radius", "2"], &[FIVE; 5]),
        (&["blur", "--radius", "1", "--sigma", "0.8"], &gaussian),
        (&["sharpen"], SHARPEN),
        (&["edges"], EDGES),
        (
            &["kernel", "--matrix", "0.1 .2 3e-1; 0.4 1/2 0.6; -0.7 -0.8 +.95"],
            &[&[0.1, 0.2, 0.3], &[0.4, 0.5, 0.6], &[-0.7, -0.8, 0.95]],
        ),
        (&["kernel", "--matrix", &text.join(";")], &five),
        (&["kernel", "--matrix", "1/4, 1/2, 1/4"], &[&[0.25, 0.5, 0.25]]),
        (&["kernel", "--matrix", "-1; 0; 1"], &[&[-1.0], &[0.0], &[1.0]]),
    ];
    for (operation, kernel) in cases {
        let shown = round(&picture, &[operation], &[]);
        planes.convolved(kernel).assert_shown(&shown, SIXTEEN, &operation.join(" "));
    }
}

/// A Gaussian along both axes, of six deviations to each side, at every pixel; the picture
/// continues by its nearest pixels.
fn gaussian_of(planes: &Planes, sigma: f64) -> Planes {
    let reach = (6.0 * sigma) as i64 + 1;
    let weights: Vec<f64> =
        (-reach..=reach).map(|d| (-((d * d) as f64) / (2.0 * sigma * sigma)).exp()).collect();
    let total: f64 = weights.iter().sum();
    let along = |plane: &[f64], step: usize, size: usize| -> Vec<f64> {
        let at = |i: usize, d: i64| {
            let here = (i / step % size) as i64;
            let there = (here + d).clamp(0, size as i64 - 1);
            plane[(i as i64 + (there - here) * step as i64) as usize]
        };
        let mean = |i| (-reach..=reach).zip(&weights).map(|(d, w)| w * at(i, d)).sum::<f64>() / total;
        (0..plane.len()).map(mean).collect()
    };
    let blurred = |plane: &Vec<f64>| along(&along(plane, 1, planes.width), planes.width, planes.height);
    Planes { channels: planes.channels.iter().map(blurred).collect(), ..*planes }
}

/// A picture of 16 bits with hard edges: where Gaussians that are cut off are worst.
fn edges(width: u32, height: u32) -> DynamicImage {
    let white = |x: u32, y: u32| (x < width / 2) ^ (y > height / 3) || (x / 7 + y / 9).is_multiple_of(4);
    DynamicImage::ImageLuma16(image::ImageBuffer::from_fn(width, height, |x, y| {
        image::Luma([if white(x, y) { u16::MAX } else { 0 }])
    }))
}

#[test]
fn gaussians_are_as_wide_as_sigma_says() {
    let picture = edges(75, 62);
    let planes = Planes::of(&picture);
    for (sigma, halo) in [("0.5", 2), ("1", 3), ("1.7", 6), ("5", 15)] {
        let shown = round(&picture, &[&["blur", "--sigma", sigma]], &["--halo", &halo.to_string()]);
        let expected = gaussian_of(&planes, sigma.parse().unwrap());
        let errors = expected.channels[0].iter().zip(&shown.channels[0]).map(|(a, b)| 255.0 * (a - b).abs());
        let error = errors.fold(0.0, f64::max);
        assert!(error < 0.75, "sigma {sigma}: {error} levels of 255");
    }
    // Two blurs in sequence use the halo up.
    let shown = round(&picture, &[&["blur", "--sigma", "1"], &["blur", "--radius", "3"]], &["--halo", "6"]);
    let expected = gaussian_of(&planes.extended(6), 1.0).cropped(3, 3);
    let expected = expected.filtered(&[SEVEN; 7]);
    let error = expected.channels[0].iter().zip(&shown.channels[0]).map(|(a, b)| 255.0 * (a - b).abs());
    assert!(error.fold(0.0, f64::max) < 0.75);
}

#[test]
fn blurs_beyond_the_halo_are_refused_before_anything_is_computed() {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    eight(9, 8, 1, 1).save(path("in.png")).unwrap();
    encrypt(keys, &path("in.png"), &path("x.he"), &[]);
    encrypt(keys, &path("in.png"), &path("wide.he"), &["--halo", "31"]);
    eval(keys, &["blur"], &path("x.he"), &path("y.he"));
    let before = names(dir.path());
    for (input, options, code, error, hint) in [
        (
            "x.he",
            &["--sigma", "5"][..],
            1,
            "a Gaussian of sigma 5 has radius 15 (3 sigma): a filter of radius 15 on an image with 2 pixels of halo left",
            "encrypt the image with --halo 15: the sum of the radii of all filters",
        ),
        (
            "y.he",
            &["--sigma", "0.8"],
            1,
            "a Gaussian of sigma 0.8 has radius 3 (3 sigma): a filter of radius 3 on an image with 1 pixel of halo left",
            "encrypt the image with --halo 4: the sum of the radii of all filters",
        ),
        (
            "wide.he",
            &["--sigma", "12"],
            1,
            "a Gaussian of sigma 12 has radius 36 (3 sigma): a filter of radius 36 on an image with 31 pixels of halo left",
            "make keys with he-cli keygen ckks --depth 2 --slots 16384 -o keys/, then encrypt with --halo 36",
        ),
        (
            "wide.he",
            &["--radius", "70"],
            1,
            "a filter of radius 70 on an image with 31 pixels of halo left",
            "the radii of all filters of an image make up 63 pixels at most",
        ),
        (
            "x.he",
            &["--sigma", "50"],
            2,
            "a Gaussian of sigma 50 reaches 150 pixels to each side (3 sigma)",
            "choose --sigma up to 21: no tile holds more than 63",
        ),
        ("x.he", &["--sigma", "inf"], 2, "kernel: sigma is inf", "a positive number is needed"),
    ] {
        let files = ["-k", &keys.eval, "-o", "out.he"];
        he(["eval", "blur", input].iter().chain(options).chain(&files))
            .at(dir.path())
            .fails(code, error, hint);
    }
    assert_eq!(names(dir.path()), before);
}

#[test]
fn every_map_of_values_matches_float64() {
    let picture = sixteen(20, 30, 3, 2);
    let planes = Planes::of(&picture);
    type Map = fn(f64) -> f64;
    let maps: [(&[&str], Map); 7] = [
        (&["brightness"], |x| x + 0.1),
        (&["brightness", "--by", "-0.25"], |x| x - 0.25),
        (&["contrast"], |x| 1.5 * (x - 0.5) + 0.5),
        (&["contrast", "--by", "0.3"], |x| 0.3 * (x - 0.5) + 0.5),
        (&["contrast", "--by", "-1"], |x| 0.5 - (x - 0.5)),
        (&["invert"], |x| 1.0 - x),
        (&["kernel", "--matrix", "0.5"], |x| 0.5 * x),
    ];
    for (operation, map) in maps {
        let shown = round(&picture, &[operation], &[]);
        planes.map(3, map).assert_shown(&shown, SIXTEEN, &operation.join(" "));
    }
    let gray = |i: usize| {
        0.299 * planes.channels[0][i] + 0.587 * planes.channels[1][i] + 0.114 * planes.channels[2][i]
    };
    let expected = Planes { channels: vec![(0..600).map(gray).collect()], ..planes };
    expected.assert_shown(&round(&picture, &[&["grayscale"]], &[]), SIXTEEN, "grayscale");
}

#[test]
fn blends_are_weighted_means() {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    let pictures = [sixteen(40, 9, 4, 3), sixteen(40, 9, 4, 4)];
    for (picture, name) in pictures.iter().zip(["a", "b"]) {
        picture.save(path(&format!("{name}.png"))).unwrap();
        encrypt(keys, &path(&format!("{name}.png")), &path(&format!("{name}.he")), &[]);
    }
    let [a, b] = pictures.map(|picture| Planes::of(&picture));
    // The second, on another level: blends align.
    eval(keys, &["contrast", "--by", "1"], &path("b.he"), &path("b1.he"));
    eval(keys, &["kernel", "--matrix", "1"], &path("b.he"), &path("b0.he"));
    for (options, weight, with) in
        [(&[][..], 0.5, "b.he"), (&["--alpha", "0.25"], 0.25, "b0.he"), (&["--alpha", "1"], 1.0, "b1.he")]
    {
        let with = path(with).to_str().unwrap().to_owned();
        let operation: Vec<&str> =
            ["blend", "--with", &with].into_iter().chain(options.iter().copied()).collect();
        let (encrypted, out) = (path(&format!("{weight}.he")), path(&format!("{weight}.png")));
        eval(keys, &operation, &path("a.he"), &encrypted);
        decrypt(keys, &encrypted, &out);
        let shown = Planes::read(&out);
        let mut expected = a.clone();
        for (a, b) in expected.channels.iter_mut().flatten().zip(b.channels.iter().flatten()) {
            *a = (1.0 - weight) * *a + weight * b;
        }
        expected.assert_shown(&shown, SIXTEEN, &format!("weight {weight}"));
    }
}

#[test]
fn two_filters_are_their_composition() {
    let picture = sixteen(70, 66, 1, 5);
    let planes = Planes::of(&picture);
    // The picture is continued once, before the first filter.
    let expected = planes.extended(2).filtered(BLUR).filtered(EDGES);
    let shown = round(&picture, &[&["blur"], &["edges"]], &["--halo", "2"]);
    expected.assert_shown(&shown, SIXTEEN, "blur, then edges");
    let inner = planes.convolved(BLUR).convolved(EDGES).cropped(1, 1);
    inner.assert_shown(&shown.cropped(1, 1), SIXTEEN, "inside");
}

#[test]
fn opacity_stays() {
    let picture = sixteen(9, 8, 4, 6);
    let planes = Planes::of(&picture);
    let light = Planes { channels: planes.channels[..3].to_vec(), ..planes };
    for (operation, kernel) in [("blur", BLUR), ("edges", EDGES)] {
        let shown = round(&picture, &[&[operation]], &[]);
        assert_eq!(shown.channels[3], planes.channels[3], "{operation}");
        let shown = Planes { channels: shown.channels[..3].to_vec(), ..shown };
        light.convolved(kernel).assert_shown(&shown, SIXTEEN, operation);
    }
    let shown = round(&picture, &[&["invert"], &["grayscale"], &["brightness"]], &[]);
    assert_eq!(shown.channels.len(), 2);
    assert_eq!(shown.channels[1], planes.channels[3]);
}

#[test]
fn every_size_goes() {
    for (width, height) in [(1, 1), (1, 7), (67, 3), (130, 65)] {
        let picture = sixteen(width, height, 1, u64::from(width));
        let planes = Planes::of(&picture);
        assert_eq!(round(&picture, &[], &[]), planes, "{width} x {height}");
        let shown = round(&picture, &[&["sharpen"]], &["--halo", "1"]);
        planes.convolved(SHARPEN).assert_shown(&shown, SIXTEEN, &format!("{width} x {height}"));
    }
}

#[test]
fn tiles_of_odd_shape_work_by_composed_rotations() {
    for (width, height) in [(5, 4000), (3000, 7)] {
        let picture = sixteen(width, height, 1, u64::from(height));
        let shown = round(&picture, &[&["edges"]], &["--halo", "1"]);
        Planes::of(&picture).convolved(EDGES).assert_shown(&shown, SIXTEEN, &format!("{width} x {height}"));
    }
}

#[test]
fn tall_narrow_pictures_take_as_many_ciphertexts_as_flat_ones() {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    let count = |name: &str| {
        let told = he(["info", "--json", name]).at(dir.path()).ok();
        serde_json::from_slice::<serde_json::Value>(&told).unwrap()["ciphertexts"].as_u64().unwrap()
    };
    for (short, long) in [(10, 4000), (3, 2500), (55, 610)] {
        let counts = [(short, long), (long, short)].map(|(width, height)| {
            let (name, picture) = (format!("{width}-{height}"), sixteen(width, height, 2, 1));
            let file = |end: &str| path(&format!("{name}.{end}"));
            picture.save(file("png")).unwrap();
            encrypt(keys, &file("png"), &file("he"), &[]);
            eval(keys, &["blur", "--radius", "2"], &file("he"), &file("blurred"));
            eval(keys, &["invert"], &file("blurred"), &file("inverted"));
            decrypt(keys, &file("inverted"), &file("out.png"));
            let planes = Planes::of(&picture);
            let light = Planes { channels: planes.channels[..1].to_vec(), ..planes.clone() };
            let mut expected = light.convolved(&[FIVE; 5]).map(1, |x| 1.0 - x);
            expected.channels.push(planes.channels[1].clone());
            expected.assert_shown(&Planes::read(&file("out.png")), SIXTEEN, &name);
            count(&format!("{name}.he"))
        });
        assert_eq!(counts[0], counts[1], "{short} x {long}");
    }
}

/// Every kind of picture that a format holds.
fn kinds(format: &str) -> Vec<DynamicImage> {
    match format {
        "png" => (1..=4).flat_map(|c| [eight(7, 5, c, 8), sixteen(7, 5, c, 9)]).collect(),
        "tiff" => [1, 3, 4].into_iter().flat_map(|c| [eight(7, 5, c, 8), sixteen(7, 5, c, 9)]).collect(),
        "jpg" => [1, 3].into_iter().map(|c| eight(7, 5, c, 8)).collect(),
        _ => [3, 4].into_iter().map(|c| eight(7, 5, c, 8)).collect(),
    }
}

#[test]
fn every_format_comes_and_goes() {
    let keys = Keys::usual();
    for format in ["png", "jpg", "bmp", "tiff", "webp"] {
        for picture in kinds(format) {
            let dir = folder();
            let path = |name: &str| dir.path().join(name);
            let what = format!("{format} {:?}", picture.color());
            // The name says nothing: content does.
            let source = path(&format!("in.{format}"));
            picture.save(&source).unwrap();
            fs::rename(&source, path("in")).unwrap();
            let decoder = image::ImageReader::open(path("in")).unwrap().with_guessed_format().unwrap();
            let original = decoder.decode().unwrap();
            encrypt(keys, &path("in"), &path("x.he"), &[]);
            decrypt(keys, &path("x.he"), &path("out.png"));
            let exact = image::open(path("out.png")).unwrap();
            assert_eq!((exact.color(), exact.as_bytes()), (original.color(), original.as_bytes()), "{what}");
            let same = path(&format!("out.{format}"));
            if format != "png" {
                decrypt(keys, &path("x.he"), &same);
            }
            // By content again: the file is what its ending says.
            let back = image::ImageReader::open(&same).unwrap().with_guessed_format().unwrap();
            assert_eq!(back.format(), image::ImageFormat::from_extension(format), "{what}");
            let back = back.decode().unwrap();
            assert_eq!(back.color(), original.color(), "{what}");
            if format == "jpg" {
                for (a, b) in back.as_bytes().iter().zip(original.as_bytes()) {
                    assert!(a.abs_diff(*b) < 40, "{what}: {a}, not {b}");
                }
            } else {
                assert_eq!(back.as_bytes(), original.as_bytes(), "{what}");
            }
        }
    }
}

#[test]
fn pipes_carry_everything() {
    let (keys, dir) = (Keys::usual(), folder());
    let picture = eight(30, 20, 3, 10);
    picture.save(dir.path().join("in.png")).unwrap();
    let bytes = fs::read(dir.path().join("in.png")).unwrap();
    let encrypted = he(["encrypt", "-", "-k", &keys.public, "-o", "-"]).stdin(&bytes).ok();
    let blurred = he(["eval", "blur", "-", "-k", &keys.eval, "-o", "-"]).stdin(&encrypted).ok();
    let decrypted = he(["decrypt", "-", "-k", &keys.secret, "-o", "-"]).stdin(&blurred).ok();
    let shown =
        Planes::of(&image::load_from_memory_with_format(&decrypted, image::ImageFormat::Png).unwrap());
    Planes::of(&picture).convolved(BLUR).assert_shown(&shown, 255.0, "blur");
    // Keys through pipes, too.
    fs::write(dir.path().join("x.he"), &encrypted).unwrap();
    let secret = fs::read(&keys.secret).unwrap();
    he(["decrypt", "x.he", "-k", "-", "-o", "out.png"]).at(dir.path()).stdin(&secret).ok();
    assert_eq!(Planes::read(&dir.path().join("out.png")), Planes::of(&picture));
    assert_eq!(names(dir.path()), ["in.png", "out.png", "x.he"]);
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let (keys, dir) = (Keys::usual(), folder());
    eight(100, 100, 3, 11).save(dir.path().join("in.png")).unwrap();
    encrypt(keys, &dir.path().join("in.png"), &dir.path().join("x.he"), &[]);
    for arguments in [["eval", "blur", &keys.eval], ["eval", "invert", &keys.eval]] {
        let [command, operation, key] = arguments;
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_he-cli"))
            .args([command, operation, "x.he", "-k", key, "-o", "-"])
            .current_dir(dir.path())
            .env(DEVICE, std::env::var(DEVICE).unwrap_or("cpu".to_owned()))
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    }
}

#[test]
fn secret_keys_encrypt_to_half_the_size() {
    let (keys, dir) = (Keys::usual(), folder());
    let picture = eight(50, 40, 1, 12);
    picture.save(dir.path().join("in.png")).unwrap();
    for (key, out) in [(&keys.public, "p.he"), (&keys.secret, "s.he"), (&keys.secret, "t.he")] {
        he(["encrypt", "in.png", "-k", key, "-o", out]).at(dir.path()).ok();
    }
    let read = |name: &str| fs::read(dir.path().join(name)).unwrap();
    let (public, secret) = (read("p.he"), read("s.he"));
    assert!(secret.len() * 100 < public.len() * 51, "{} and {}", secret.len(), public.len());
    for name in ["p.he", "s.he"] {
        let path = |start: &str, end: &str| dir.path().join(format!("{start}{name}{end}"));
        eval(keys, &["invert"], &path("", ""), &path("inverted-", ""));
        decrypt(keys, &path("inverted-", ""), &path("inverted-", ".png"));
        let shown = Planes::read(&path("inverted-", ".png"));
        Planes::of(&picture).map(1, |x| 1.0 - x).assert_shown(&shown, 255.0, name);
    }
}

/// Bytes at which two files of one length differ.
fn differences(a: &Path, b: &Path) -> f64 {
    let (a, b) = (fs::read(a).unwrap(), fs::read(b).unwrap());
    assert_eq!(a.len(), b.len());
    a.iter().zip(&b).filter(|(a, b)| a != b).count() as f64 / a.len() as f64
}

#[test]
fn no_two_encryptions_are_alike() {
    let (keys, dir) = (Keys::usual(), folder());
    eight(8, 8, 1, 13).save(dir.path().join("in.png")).unwrap();
    let paths: Vec<PathBuf> = ["a", "b", "c", "d"].iter().map(|name| dir.path().join(name)).collect();
    for (path, key) in paths.iter().zip([&keys.public, &keys.public, &keys.secret, &keys.secret]) {
        he(["encrypt", "in.png", "-k", key, "-o", path.to_str().unwrap()]).at(dir.path()).ok();
    }
    assert!(differences(&paths[0], &paths[1]) > 0.95);
    assert!(differences(&paths[2], &paths[3]) > 0.95);
}

#[test]
fn results_replace_only_when_forced() {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    let picture = eight(8, 8, 1, 14);
    picture.save(path("in.png")).unwrap();
    encrypt(keys, &path("in.png"), &path("x.he"), &[]);
    encrypt(keys, &path("in.png"), &path("x.he"), &["--force"]);
    fs::write(path("out.png"), b"old").unwrap();
    he(["decrypt", "x.he", "-k", &keys.secret, "-o", "out.png"]).at(dir.path()).fails(
        1,
        "out.png exists already",
        "choose another name, or replace it with --force",
    );
    assert_eq!(fs::read(path("out.png")).unwrap(), b"old");
    he(["decrypt", "x.he", "-k", &keys.secret, "-o", "out.png", "--force"]).at(dir.path()).ok();
    assert_eq!(Planes::read(&path("out.png")), Planes::of(&picture));
}
