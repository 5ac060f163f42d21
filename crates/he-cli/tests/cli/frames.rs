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

/// A frame of an animation: where it goes, whether over what is there, and what becomes of it (0:
/// it stays, 1: its place is cleared, 2: its place becomes what it was).
#[derive(Clone)]
struct Step {
    picture: DynamicImage,
    at: [u32; 2],
    over: bool,
    dispose: u8,
}

/// Frames that cover everything.
fn whole(frames: &[DynamicImage], over: bool) -> Vec<Step> {
    let step = |picture: &DynamicImage| Step { picture: picture.clone(), at: [0, 0], over, dispose: 0 };
    frames.iter().map(step).collect()
}

/// An animated PNG; the picture that all programs show comes before it, or is its first frame.
fn animated_png(still: Option<&DynamicImage>, frames: &[DynamicImage]) -> Vec<u8> {
    png_of_steps(still, &whole(frames, false))
}

fn png_of_steps(still: Option<&DynamicImage>, frames: &[Step]) -> Vec<u8> {
    let mut out = Vec::new();
    let first = chunks(&encoded(still.unwrap_or(&frames[0].picture), ImageFormat::Png));
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
    let control = |step: &Step| {
        let (picture, [x, y]) = (&step.picture, step.at);
        let numbers = [picture.width(), picture.height(), x, y].map(u32::to_be_bytes).concat();
        let how = [0, 1, 0, 10, step.dispose, u8::from(step.over)];
        (*b"fcTL", [&[0; 4][..], &numbers, &how].concat())
    };
    let mut moving = Vec::new();
    for (at, frame) in frames.iter().enumerate() {
        let head = control(frame);
        if at == 0 && still.is_none() {
            out.push(head);
            continue;
        }
        moving.push(head);
        moving.push((*b"fdAT", data(&frame.picture)));
    }
    out.push((*b"IDAT", data(still.unwrap_or(&frames[0].picture))));
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
    let (w, h) = (frames[0].width(), frames[0].height());
    webp_of_steps([w, h], &whole(frames, false))
}

fn webp_of_steps([w, h]: [u32; 2], frames: &[Step]) -> Vec<u8> {
    let three = |value: u32| value.to_le_bytes()[..3].to_vec();
    let chunk = |kind: &[u8; 4], body: &[u8]| [kind, &(body.len() as u32).to_le_bytes()[..], body].concat();
    // Flags: an animation, with opacity or not.
    let alpha = if frames.iter().any(|step| step.picture.color().has_alpha()) { 0x10 } else { 0 };
    let mut body =
        [&b"WEBP"[..], &chunk(b"VP8X", &[&[2 | alpha, 0, 0, 0][..], &three(w - 1), &three(h - 1)].concat())]
            .concat();
    body.extend(chunk(b"ANIM", &[0; 6]));
    for Step { picture, at: [x, y], over, dispose } in frames {
        let file = encoded(picture, ImageFormat::WebP);
        let mut image = file[12..].to_vec();
        if image.len() % 2 == 1 {
            image.push(0);
        }
        let (w, h) = (picture.width(), picture.height());
        let how = u8::from(!over) << 1 | dispose;
        let head = [three(x / 2), three(y / 2), three(w - 1), three(h - 1), three(100), vec![how]].concat();
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
    // Frames of 16 bits have all of them.
    let deep: Vec<DynamicImage> = (1..=2).map(|seed| sixteen(SIDE, 3, 3, seed)).collect();
    let (keys, path) = (Keys::usual(), |name: &str| dir.path().join(name));
    fs::write(path("in"), animated_png(None, &deep)).unwrap();
    he(["encrypt", "in", "-k", &keys.public, "-o", "x.he", "--frame", "1"]).at(dir.path()).ok();
    he(["decrypt", "x.he", "-k", &keys.secret, "-o", "out.png"]).at(dir.path()).ok();
    assert_eq!(image::open(path("out.png")).unwrap(), deep[0]);
    he(["encrypt", "in", "-k", &keys.public, "-o", "y.he", "--frame", "2"]).at(dir.path()).ok();
    he(["decrypt", "y.he", "-k", &keys.secret, "-o", "second.png"]).at(dir.path()).ok();
    assert_eq!(image::open(path("second.png")).unwrap(), deep[1]);
}

/// The pictures that players show after each frame, by the formula in float64.
fn shown([w, h]: [u32; 2], steps: &[Step]) -> Vec<DynamicImage> {
    let mut canvas = image::RgbaImage::new(w, h);
    let mut results = Vec::new();
    for Step { picture, at: [x, y], over, dispose } in steps {
        let before = canvas.clone();
        for (dx, dy, &image::Rgba(above)) in picture.to_rgba8().enumerate_pixels() {
            let below = canvas.get_pixel_mut(x + dx, y + dy);
            let (a, d) = (f64::from(above[3]) / 255.0, f64::from(below.0[3]) / 255.0);
            let opacity = a + d * (1.0 - a);
            if !over {
                below.0 = above;
            } else if above[3] > 0 {
                for i in 0..3 {
                    let light = f64::from(above[i]) * a + f64::from(below.0[i]) * d * (1.0 - a);
                    below.0[i] = (light / opacity).round() as u8;
                }
                below.0[3] = (255.0 * opacity).round() as u8;
            }
        }
        results.push(DynamicImage::ImageRgba8(canvas.clone()));
        match dispose {
            1 => {
                for dy in 0..picture.height() {
                    (0..picture.width()).for_each(|dx| canvas.put_pixel(x + dx, y + dy, image::Rgba([0; 4])));
                }
            }
            2 => canvas = before,
            _ => {}
        }
    }
    results
}

/// Opaque frames that are drawn over others are what they were, to the last bit; translucent ones
/// are blended to the nearest, and frames that go away leave what they should.
#[test]
fn frames_are_drawn_as_players_draw_them() {
    let dir = folder();
    for channels in [3, 4] {
        let mut frames = frames(channels);
        if channels == 4 {
            for frame in &mut frames {
                frame.as_mut_rgba8().unwrap().pixels_mut().for_each(|pixel| pixel.0[3] = 255);
            }
        }
        each_comes_back(dir.path(), &webp_of_steps([SIDE, SIDE - 1], &whole(&frames, true)), &frames, "WebP");
        each_comes_back(dir.path(), &png_of_steps(None, &whole(&frames, true)), &frames, "APNG");
    }
    // A single frame is drawn, too.
    let one = frames(3)[..1].to_vec();
    fs::write(dir.path().join("one"), webp_of_steps([SIDE, SIDE - 1], &whole(&one, true))).unwrap();
    let keys = Keys::narrow();
    he(["encrypt", "one", "-k", &keys.public, "-o", "one.he"]).at(dir.path()).ok();
    he(["decrypt", "one.he", "-k", &keys.secret, "-o", "one.png"]).at(dir.path()).ok();
    assert_eq!(image::open(dir.path().join("one.png")).unwrap(), one[0]);
    ["one", "one.he", "one.png"].iter().for_each(|name| fs::remove_file(dir.path().join(name)).unwrap());
    let step =
        |[w, h]: [u32; 2], at, over, dispose, seed| Step { picture: eight(w, h, 4, seed), at, over, dispose };
    for disposes in [[1, 0, 1], [0, 1, 0], [1, 2, 1], [0, 2, 2]] {
        // WebP does not restore.
        let steps = [
            step([6, 5], [0, 0], false, 0, 1),
            step([4, 3], [2, 0], true, disposes[0], 2),
            step([2, 4], [0, 0], true, disposes[1], 3),
            step([4, 4], [2, 0], false, disposes[2], 4),
            step([6, 5], [0, 0], true, 0, 5),
        ];
        let expected = shown([6, 5], &steps);
        each_comes_back(dir.path(), &png_of_steps(None, &steps), &expected, "APNG of parts");
        if !disposes.contains(&2) {
            each_comes_back(dir.path(), &webp_of_steps([6, 5], &steps), &expected, "WebP of parts");
        }
    }
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
