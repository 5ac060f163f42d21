//! Files of several pictures: animations and pages.

use crate::pictures::{chunks, eight, encoded, png_of, sixteen};
use crate::process::{Keys, folder, he, names};
use image::{DynamicImage, ImageFormat};
use std::fs;
use std::path::Path;

const SIDE: u32 = 6;

/// Frames of one size: as many bytes as pixels and channels.
fn frames(channels: usize) -> Vec<DynamicImage> {
    (1..=3).map(|seed| eight(SIDE, SIDE - 1, channels, seed)).collect()
}

/// An animated PNG; the picture that all programs show comes before it, or is its first frame.
fn animated_png(still: Option<&DynamicImage>, frames: &[DynamicImage]) -> Vec<u8> {
    let mut out = Vec::new();
    let first = chunks(&encoded(still.unwrap_or(&frames[0]), ImageFormat::Png));
    let data = |picture: &DynamicImage| {
        let chunks = chunks(&encoded(picture, ImageFormat::Png));
        chunks
            .into_iter()
            .filter(|(kind, _)| kind == b"IDAT")
            .map(|(_, body)| body)
            .collect::<Vec<_>>()
            .concat()
    };
    out.push(first[0].clone());
    out.push((*b"acTL", [(frames.len() as u32).to_be_bytes(), [0; 4]].concat()));
    let control = |picture: &DynamicImage| {
        let numbers = [picture.width(), picture.height(), 0, 0].map(u32::to_be_bytes).concat();
        (*b"fcTL", [&[0; 4][..], &numbers, &[0, 1, 0, 10, 0, 0]].concat())
    };
    let mut moving = Vec::new();
    for (at, frame) in frames.iter().enumerate() {
        let head = control(frame);
        if at == 0 && still.is_none() {
            out.push(head);
            continue;
        }
        moving.push(head);
        moving.push((*b"fdAT", data(frame)));
    }
    out.push((*b"IDAT", data(still.unwrap_or(&frames[0]))));
    out.extend(moving);
    out.push((*b"IEND", Vec::new()));
    // Numbers in the order of the file.
    let mut number = 0u32;
    for (kind, body) in &mut out {
        match &*kind {
            b"fcTL" => body[..4].copy_from_slice(&number.to_be_bytes()),
            b"fdAT" => drop(body.splice(0..0, number.to_be_bytes())),
            _ => continue,
        }
        number += 1;
    }
    png_of(&out)
}

/// An animated WebP file, without loss.
fn animated_webp(frames: &[DynamicImage]) -> Vec<u8> {
    let three = |value: u32| value.to_le_bytes()[..3].to_vec();
    let chunk = |kind: &[u8; 4], body: &[u8]| [kind, &(body.len() as u32).to_le_bytes()[..], body].concat();
    let (w, h) = (frames[0].width(), frames[0].height());
    // Flags: an animation, with opacity or not.
    let alpha = if frames[0].color().has_alpha() { 0x10 } else { 0 };
    let mut body =
        [&b"WEBP"[..], &chunk(b"VP8X", &[&[2 | alpha, 0, 0, 0][..], &three(w - 1), &three(h - 1)].concat())]
            .concat();
    body.extend(chunk(b"ANIM", &[0; 6]));
    for frame in frames {
        let file = encoded(frame, ImageFormat::WebP);
        let mut image = file[12..].to_vec();
        if image.len() % 2 == 1 {
            image.push(0);
        }
        let head = [three(0), three(0), three(w - 1), three(h - 1), three(100), vec![2]].concat();
        body.extend(chunk(b"ANMF", &[head, image].concat()));
    }
    chunk(b"RIFF", &body)
}

/// A TIFF file of gray pages: each with its type (1: a thumbnail of another).
fn tiff(pages: &[(u32, &DynamicImage)], little: bool, big: bool) -> Vec<u8> {
    let number = |value: u64, len: usize| -> Vec<u8> {
        if little { value.to_le_bytes()[..len].to_vec() } else { value.to_be_bytes()[8 - len..].to_vec() }
    };
    let size = if big { 8 } else { 4 };
    let mut file = if little { b"II".to_vec() } else { b"MM".to_vec() };
    file.extend(number(if big { 43 } else { 42 }, 2));
    if big {
        file.extend([number(8, 2), number(0, 2)].concat());
    }
    let mut link = file.len();
    file.extend(vec![0; size]);
    for (kind, page) in pages {
        let strip = file.len() as u64;
        file.extend(page.as_bytes());
        let (w, h) = (u64::from(page.width()), u64::from(page.height()));
        let at = file.len() as u64;
        file[link..link + size].copy_from_slice(&number(at, size));
        let entries = [
            (254, u64::from(*kind)),
            (256, w),
            (257, h),
            (258, 8),
            (259, 1),
            (262, 1),
            (273, strip),
            (277, 1),
            (278, h),
            (279, w * h),
        ];
        file.extend(number(entries.len() as u64, if big { 8 } else { 2 }));
        for (tag, value) in entries {
            // All as numbers of 32 bits but for those that must be of 16.
            let short = matches!(tag, 258 | 259 | 262 | 277);
            file.extend([number(tag, 2), number(if short { 3 } else { 4 }, 2), number(1, size)].concat());
            let mut field = number(value, if short { 2 } else { 4 });
            field.resize(size, 0);
            file.extend(field);
        }
        link = file.len();
        file.extend(vec![0; size]);
    }
    file
}

/// Encrypts frame by frame and decrypts; each comes back alone.
fn each_comes_back(dir: &Path, file: &[u8], expected: &[DynamicImage], what: &str) {
    let keys = Keys::narrow();
    fs::write(dir.join("in"), file).unwrap();
    let encrypt = |options: &[&str]| {
        let files = ["encrypt", "in", "-k", &keys.public, "-o", "x.he", "--force"];
        he(files.iter().chain(options)).at(dir)
    };
    let count = expected.len();
    encrypt(&[]).fails(
        1,
        &format!("in holds {count} pictures"),
        &format!("choose one of them with --frame, from 1 to {count}"),
    );
    encrypt(&["--frame", &(count + 1).to_string()]).fails(
        1,
        &format!("in holds {count} pictures, and --frame is {}", count + 1),
        &format!("choose --frame from 1 to {count}"),
    );
    assert_eq!(names(dir), ["in"], "{what}");
    for (at, expected) in expected.iter().enumerate() {
        encrypt(&["--frame", &(at + 1).to_string()]).ok();
        he(["decrypt", "x.he", "-k", &keys.secret, "-o", "out.png", "--force"]).at(dir).ok();
        assert_eq!(&image::open(dir.join("out.png")).unwrap(), expected, "{what}, frame {}", at + 1);
    }
    ["x.he", "out.png"].iter().for_each(|name| fs::remove_file(dir.join(name)).unwrap());
}

#[test]
fn frames_of_animations_are_chosen() {
    let dir = folder();
    for channels in [1, 3, 4] {
        let frames = frames(channels);
        each_comes_back(dir.path(), &animated_png(None, &frames), &frames, "APNG");
        let still = eight(SIDE, SIDE - 1, channels, 9);
        each_comes_back(
            dir.path(),
            &animated_png(Some(&still), &frames),
            &frames,
            "APNG after a still picture",
        );
        if channels > 1 {
            each_comes_back(dir.path(), &animated_webp(&frames), &frames, "WebP");
        }
    }
    // The first frame has all its bits; players of more than 8 there are none.
    let deep: Vec<DynamicImage> = (1..=2).map(|seed| sixteen(SIDE, 3, 3, seed)).collect();
    let (keys, path) = (Keys::usual(), |name: &str| dir.path().join(name));
    fs::write(path("in"), animated_png(None, &deep)).unwrap();
    he(["encrypt", "in", "-k", &keys.public, "-o", "x.he", "--frame", "1"]).at(dir.path()).ok();
    he(["decrypt", "x.he", "-k", &keys.secret, "-o", "out.png"]).at(dir.path()).ok();
    assert_eq!(image::open(path("out.png")).unwrap(), deep[0]);
    let second = he(["encrypt", "in", "-k", &keys.public, "-o", "y.he", "--frame", "2"]);
    assert!(second.at(dir.path()).refuses().starts_with("cannot read in: "));
}

#[test]
fn pages_are_chosen() {
    let dir = folder();
    let pages = frames(1);
    let [a, b, c] = [&pages[0], &pages[1], &pages[2]];
    for (little, big) in [(true, false), (false, false), (true, true), (false, true)] {
        let what = format!("TIFF, {little} {big}");
        each_comes_back(dir.path(), &tiff(&[(2, a), (2, b), (0, c)], little, big), &pages, &what);
        // Thumbnails and masks are not pages.
        let aside = tiff(&[(0, a), (1, b), (4, b), (0, c)], little, big);
        each_comes_back(dir.path(), &aside, &[a.clone(), c.clone()], &what);
    }
}

#[test]
fn files_of_one_picture_need_no_number() {
    let (keys, dir) = (Keys::narrow(), folder());
    let path = |name: &str| dir.path().join(name);
    let frames = frames(1);
    fs::write(path("thumbnail.tiff"), tiff(&[(0, &frames[0]), (1, &frames[1])], true, false)).unwrap();
    fs::write(path("one.png"), animated_png(None, &frames[..1])).unwrap();
    frames[0].save(path("still.png")).unwrap();
    fs::write(path("t.csv"), "1\n2\n").unwrap();
    let encrypt = |input: &str, options: &[&str]| {
        he(["encrypt", input, "-k", &keys.public, "-o", "x.he", "--force"].iter().chain(options))
            .at(dir.path())
    };
    for input in ["thumbnail.tiff", "one.png", "still.png"] {
        for options in [&[][..], &["--frame", "1"]] {
            encrypt(input, options).ok();
            he(["decrypt", "x.he", "-k", &keys.secret, "-o", "out.png", "--force"]).at(dir.path()).ok();
            assert_eq!(image::open(path("out.png")).unwrap(), frames[0], "{input}");
        }
    }
    fs::remove_file(path("x.he")).unwrap();
    encrypt("still.png", &["--frame", "2"]).fails(
        1,
        "still.png holds 1 picture, and --frame is 2",
        "leave --frame out",
    );
    encrypt("t.csv", &["--frame", "1"]).fails(
        2,
        "--frame is for images, and t.csv is a table",
        "leave it out",
    );
    for number in ["0", "-1", "one", "4294967296"] {
        assert_eq!(encrypt("still.png", &["--frame", number]).run().code, Some(2), "{number}");
    }
    he(["keygen", "aes", "-o", "my.key"]).at(dir.path()).ok();
    he(["encrypt", "still.png", "-k", "my.key", "-o", "x.he", "--frame", "1"]).at(dir.path()).fails(
        2,
        "--frame is for images and tables under keys to compute with",
        "leave it out: AES encrypts any file as it is",
    );
    let tfhe = Keys::tfhe();
    he(["encrypt", "t.csv", "-k", &tfhe.secret, "-o", "x.he", "--frame", "1"]).at(dir.path()).fails(
        2,
        "--frame is for images, and t.csv is a table",
        "leave it out",
    );
}

/// Damaged files of several pictures end in a picture or an error.
#[test]
fn damage_to_files_of_several_pictures_is_an_error() {
    let (keys, dir) = (Keys::narrow(), folder());
    let frames = frames(3);
    let gray: Vec<DynamicImage> = self::frames(1);
    let mut noise = crate::pictures::noise(7);
    for file in [
        animated_png(None, &frames),
        animated_webp(&frames),
        tiff(&[(0, &gray[0]), (0, &gray[1])], true, false),
        tiff(&[(0, &gray[0]), (0, &gray[1])], false, true),
    ] {
        for _ in 0..12 {
            let mut broken = file.clone();
            if noise().is_multiple_of(3) {
                broken.truncate(noise() as usize % broken.len());
            } else {
                let at = noise() as usize % broken.len();
                broken[at] ^= 1 << (noise() % 8);
            }
            fs::write(dir.path().join("in"), broken).unwrap();
            let encrypt = ["encrypt", "in", "-k", &keys.public, "-o", "/dev/null", "--frame", "2"];
            let outcome = he(encrypt).at(dir.path()).run();
            assert!(matches!(outcome.code, Some(0 | 1)), "{}", outcome.stderr);
            assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
        }
    }
    // Pages that lead round in a circle.
    let mut round = tiff(&[(0, &gray[0]), (0, &gray[1])], true, false);
    let (first, end) = (round[4..8].to_vec(), round.len());
    round[end - 4..].copy_from_slice(&first);
    fs::write(dir.path().join("in"), round).unwrap();
    he(["encrypt", "in", "-k", &keys.public, "-o", "x.he"]).at(dir.path()).fails(
        1,
        "in holds 2 pictures",
        "choose one of them with --frame, from 1 to 2",
    );
}

/// A file of some hundred bytes that asks for 2 GiB, where there are not as many.
#[cfg(target_os = "linux")]
#[test]
fn huge_pictures_do_not_abort() {
    let dir = folder();
    let mut chunks = chunks(&encoded(&sixteen(7, 5, 4, 1), ImageFormat::Png));
    chunks[0].1[..8].copy_from_slice(&[0, 1, 0, 0, 0, 0, 16, 0]);
    fs::write(dir.path().join("in.png"), png_of(&chunks)).unwrap();
    let keys = Keys::shallow();
    let encrypt = ["encrypt", "in.png", "-k", &keys.public, "-o", "x.he"];
    crate::process::after("ulimit -v 1500000", encrypt).at(dir.path()).fails(
        1,
        "cannot read in.png: not enough memory for the picture",
        "cut it into parts",
    );
    assert_eq!(names(dir.path()), ["in.png"]);
}
