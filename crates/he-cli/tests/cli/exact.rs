//! BFV and BGV: what goes in comes back bit for bit; sums, products and counts are those of whole
//! numbers.

use crate::pictures::{eight, noise, sixteen};
use crate::process::{Keys, decrypt, encrypt, eval, folder, he, names};
use image::DynamicImage;
use std::fs;
use std::path::Path;

fn schemes() -> [&'static Keys; 2] {
    [Keys::bfv(), Keys::bgv()]
}

fn csv(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn images_come_back_bit_for_bit() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    let mut seed = 0;
    for (scheme, keys) in schemes().into_iter().chain([Keys::narrow()]).enumerate() {
        for channels in 1..=4 {
            for make in [eight as fn(u32, u32, usize, u64) -> DynamicImage, sixteen] {
                seed += 1;
                // More than one vector, and an odd end.
                let picture = make(131, 67, channels, seed);
                let [input, encrypted, output] =
                    ["in.png", "x.he", "out.png"].map(|name| path(&format!("{seed}-{name}")));
                picture.save(&input).unwrap();
                encrypt(keys, &input, &encrypted, &[]);
                decrypt(keys, &encrypted, &output);
                let found = image::open(&output).unwrap();
                assert_eq!(found.color(), picture.color());
                assert!(found.as_bytes() == picture.as_bytes(), "scheme {scheme}, {channels} channels");
            }
        }
    }
}

#[test]
fn every_sixteen_bit_sample_fits_65537() {
    let (keys, dir) = (Keys::narrow(), folder());
    let path = |name: &str| dir.path().join(name);
    let samples: Vec<u16> = (0..=u16::MAX).collect();
    let all = image::ImageBuffer::<image::Luma<u16>, _>::from_raw(256, 256, samples).unwrap();
    let all = DynamicImage::ImageLuma16(all);
    all.save(path("in.png")).unwrap();
    he(["encrypt", "in.png", "-k", &keys.secret, "-o", "x.he"]).at(dir.path()).ok();
    decrypt(keys, &path("x.he"), &path("out.png"));
    assert_eq!(image::open(path("out.png")).unwrap().as_bytes(), all.as_bytes());
}

/// Decrypts with options.
fn shown(keys: &Keys, input: &Path, output: &Path, options: &[&str]) -> DynamicImage {
    let (input, output) = (input.to_str().unwrap(), output.to_str().unwrap());
    let call = ["decrypt", input, "-k", &keys.secret, "-o", output, "--force"];
    keys.on(he(call.iter().chain(options))).ok();
    image::open(output).unwrap()
}

/// Samples as numbers.
fn samples(picture: &DynamicImage) -> Vec<i64> {
    match picture.color().bytes_per_pixel() / picture.color().channel_count() {
        1 => picture.as_bytes().iter().map(|&x| x.into()).collect(),
        _ => picture.as_bytes().chunks_exact(2).map(|x| u16::from_ne_bytes([x[0], x[1]]).into()).collect(),
    }
}

/// Sums, differences and products as every scheme means them: of light, white being 1, cut off at
/// black and white.
#[test]
fn images_combine_as_light_under_every_scheme() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    // Whole steps are those of a sample: products are rounded to the nearest.
    type Operation = fn(i64, i64, i64) -> i64;
    let operations: [(&str, Operation); 3] = [
        ("add", |a, b, peak| (a + b).min(peak)),
        ("sub", |a, b, _| (a - b).max(0)),
        ("mul", |a, b, peak| (2 * a * b + peak) / (2 * peak)),
    ];
    for (scheme, keys, exact) in [
        ("bfv", Keys::bfv(), true),
        ("bgv", Keys::bgv(), true),
        ("ckks", Keys::usual(), false),
        ("bigckks", Keys::bigckks(), false),
    ] {
        for (channels, deep) in [(3, false), (2, true)] {
            let make = if deep { sixteen } else { eight };
            let (a, b) = (make(40, 30, channels, 1), make(40, 30, channels, 2));
            let name = |file: &str| path(&format!("{scheme}-{channels}-{file}"));
            for (file, picture) in [("a", &a), ("b", &b)] {
                picture.save(name(&format!("{file}.png"))).unwrap();
                encrypt(keys, &name(&format!("{file}.png")), &name(&format!("{file}.he")), &[]);
            }
            let (x, y) = (samples(&a), samples(&b));
            let peak = if deep { 65535 } else { 255 };
            // 16 bits are more than approximate schemes have to spare.
            let tolerance = i64::from(deep && !exact);
            let with = name("b.he").to_str().unwrap().to_owned();
            for (operation, f) in operations {
                let what = format!("{operation} of {scheme}, {channels} channels");
                eval(keys, &[operation, "--with", &with], &name("a.he"), &name("x.he"));
                let out = shown(keys, &name("x.he"), &name("out.png"), &[]);
                assert_eq!(out.color(), a.color(), "{what}");
                for (i, found) in samples(&out).into_iter().enumerate() {
                    let opacity = channels == 2 && i % 2 == 1;
                    let expected = if opacity { x[i] } else { f(x[i], y[i], peak) };
                    assert!((found - expected).abs() <= tolerance, "{what}, sample {i}: {found}, {expected}");
                }
                fs::remove_file(name("x.he")).unwrap();
            }
        }
    }
}

#[test]
fn numbers_of_images_come_as_tables_and_scaled() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    let (a, b) = (eight(11, 7, 4, 1), eight(11, 7, 4, 2));
    a.save(path("a.png")).unwrap();
    b.save(path("b.png")).unwrap();
    let (x, y) = (samples(&a), samples(&b));
    for (scheme, keys, whole) in
        [("bfv", Keys::bfv(), true), ("ckks", Keys::usual(), false), ("bigckks", Keys::bigckks(), false)]
    {
        let name = |file: &str| path(&format!("{scheme}-{file}"));
        for file in ["a", "b"] {
            encrypt(keys, &path(&format!("{file}.png")), &name(&format!("{file}.he")), &[]);
        }
        let with = name("b.he").to_str().unwrap().to_owned();
        type Operation = fn(i64, i64) -> i64;
        let operations: [(&str, Operation, (i64, i64)); 3] = [
            ("add", |a, b| a + b, (0, 510)),
            ("sub", |a, b| a - b, (-255, 255)),
            ("mul", |a, b| a * b, (0, 65025)),
        ];
        for (operation, f, (low, high)) in operations {
            let what = format!("{scheme} {operation}");
            let result = name(&format!("{operation}.he"));
            eval(keys, &[operation, "--with", &with], &name("a.he"), &result);
            // The exact numbers of a product are those of whole samples, others are light in steps
            // of a sample.
            let unit = if operation == "mul" && !whole { 255.0 } else { 1.0 };
            let number = |i: usize| if i % 4 == 3 { x[i] as f64 } else { f(x[i], y[i]) as f64 / unit };
            let table = name(&format!("{operation}.csv"));
            decrypt(keys, &result, &table);
            let text = csv(&table);
            let mut lines = text.lines();
            assert_eq!(lines.next(), Some("x,y,red,green,blue,alpha"), "{what}");
            for (at, line) in lines.enumerate() {
                let fields: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
                assert_eq!(fields[..2], [(at % 11) as f64, (at / 11) as f64], "{what}: {line}");
                for (channel, &found) in fields[2..].iter().enumerate() {
                    let expected = number(4 * at + channel);
                    let tolerance = if whole { 0.0 } else { 0.002 };
                    assert!((found - expected).abs() <= tolerance, "{what}: {line}, not {expected}");
                }
            }
            assert_eq!(text.lines().count(), 78, "{what}");
            // A stretch of the bounds to the samples there are.
            let out = shown(keys, &result, &name("scaled.png"), &["--scale"]);
            assert_eq!(out.color(), a.color());
            for (i, found) in samples(&out).into_iter().enumerate() {
                let stretched = (f(x[i], y[i]) - low) as f64 * 255.0 / (high - low) as f64;
                let expected = if i % 4 == 3 { x[i] } else { (stretched + 0.5) as i64 };
                // Approximate numbers may fall on either side of a half.
                let half = !whole && (stretched.fract() - 0.5).abs() < 0.01;
                assert!(
                    (found - expected).abs() <= i64::from(half),
                    "{what}, sample {i}: {found}, {expected}"
                );
            }
            // The numbers themselves, in 16 bits where they may be beyond 8.
            let out = shown(keys, &result, &name("raw.png"), &["--raw"]);
            let wide = operation == "add" || operation == "mul" && whole;
            assert_eq!(out.color().bytes_per_pixel(), if wide { 8 } else { 4 }, "{what}");
            for (i, found) in samples(&out).into_iter().enumerate() {
                let expected = match i % 4 {
                    3 => x[i] * if wide { 257 } else { 1 },
                    _ => ((number(i) + 0.5).max(0.0) as i64).min(65535),
                };
                assert_eq!(found, expected, "{what}, sample {i}");
            }
        }
    }
    // An image and a product: their whites are made one.
    let keys = Keys::bgv();
    for file in ["a", "b"] {
        encrypt(keys, &path(&format!("{file}.png")), &path(&format!("{file}.he")), &[]);
    }
    let with = |file: &str| path(file).to_str().unwrap().to_owned();
    eval(keys, &["mul", "--with", &with("b.he")], &path("a.he"), &path("ab.he"));
    eval(keys, &["sub", "--with", &with("ab.he")], &path("a.he"), &path("x.he"));
    let out = samples(&shown(keys, &path("x.he"), &path("x.png"), &[]));
    decrypt(keys, &path("x.he"), &path("x.csv"));
    let table = csv(&path("x.csv"));
    let rows =
        table.lines().skip(1).flat_map(|line| line.split(',').skip(2).map(|x| x.parse::<i64>().unwrap()));
    for (i, (found, number)) in out.into_iter().zip(rows).enumerate() {
        let exact = 255 * x[i] - x[i] * y[i];
        let light = (2 * exact + 255).div_euclid(510).clamp(0, 255);
        let expected = if i % 4 == 3 { (x[i], x[i]) } else { (light, exact) };
        assert_eq!((found, number), expected, "sample {i}");
    }
}

#[test]
fn views_are_for_images() {
    let (keys, dir) = (Keys::bfv(), folder());
    let path = |name: &str| dir.path().join(name);
    eight(5, 4, 1, 1).save(path("in.png")).unwrap();
    fs::write(path("in.csv"), "a\n1\n2\n").unwrap();
    encrypt(keys, &path("in.png"), &path("x.he"), &[]);
    encrypt(keys, &path("in.csv"), &path("t.he"), &[]);
    let before = names(dir.path());
    let call = |file: &str, options: &[&str]| {
        he(["decrypt", file, "-k", &keys.secret].iter().chain(options)).at(dir.path())
    };
    for flag in ["--raw", "--scale"] {
        call("t.he", &[flag, "-o", "y.csv"]).fails(
            2,
            &format!("{flag} is for encrypted images"),
            "leave it out",
        );
        call("x.he", &[flag, "-o", "y.CSV"]).fails(
            2,
            &format!("{flag} is for pictures, and y.CSV is a table"),
            "leave it out: the table holds the numbers themselves",
        );
    }
    assert_eq!(call("x.he", &["--raw", "--scale", "-o", "y.png"]).run().code, Some(2));
    assert_eq!(names(dir.path()), before);
    let picture = image::open(path("in.png")).unwrap();
    let expected: String = samples(&picture)
        .iter()
        .enumerate()
        .map(|(i, sample)| format!("{},{},{sample}\n", i % 5, i / 5))
        .collect();
    call("x.he", &["-o", "y.CSV"]).ok();
    assert_eq!(csv(&path("y.CSV")), format!("x,y,gray\n{expected}"));
}

#[test]
fn images_add_subtract_and_multiply_as_integers() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    let (a, b) = (eight(40, 30, 4, 1), eight(40, 30, 4, 2));
    a.save(path("a.png")).unwrap();
    b.save(path("b.png")).unwrap();
    let (x, y) = (a.as_bytes(), b.as_bytes());
    for keys in schemes() {
        let _ = fs::remove_file(path("x.he"));
        for name in ["a", "b"] {
            encrypt(keys, &path(&format!("{name}.png")), &path(&format!("{name}.he")), &["--force"]);
        }
        let with = path("b.he").to_str().unwrap().to_owned();
        for (operation, f) in [
            ("add", (|a, b| a + b) as fn(i64, i64) -> i64),
            ("sub", |a, b| (a - b).max(0)),
            ("mul", |a, b| a * b),
        ] {
            eval(keys, &[operation, "--with", &with, "--force"], &path("a.he"), &path("x.he"));
            let found = shown(keys, &path("x.he"), &path(&format!("{operation}.png")), &["--raw"]);
            // Samples that 8 bits do not hold come in 16; opacity is the first one's.
            let wide = operation != "sub";
            let found: Vec<i64> = match &found {
                DynamicImage::ImageRgba16(image) => image.as_raw().iter().map(|&x| x.into()).collect(),
                DynamicImage::ImageRgba8(image) => image.as_raw().iter().map(|&x| x.into()).collect(),
                other => panic!("{:?}", other.color()),
            };
            for (i, &found) in found.iter().enumerate() {
                let (x, y) = (i64::from(x[i]), i64::from(y[i]));
                let opaque = if wide { x * 257 } else { x };
                assert_eq!(found, if i % 4 == 3 { opaque } else { f(x, y) }, "{operation}, sample {i}");
            }
        }
    }
}

#[test]
fn tables_of_integers_come_back() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    let mut next = noise(5);
    let many: String = (0..20_000).map(|_| format!("{}\n", next() as i64 % 1_000_000)).collect();
    for (number, (text, expected)) in [
        ("a,b\n1,-2\n0,4294967295\n", None),
        ("7\n", None),
        ("-4294967296,5\n", None),
        ("x\n12.0\n1e3\n", Some("x\n12\n1000\n")),
        ("\"a, b\",größe\n1,2\n", None),
        (&*format!("n\n{many}"), None),
    ]
    .into_iter()
    .enumerate()
    {
        for (scheme, keys) in schemes().into_iter().enumerate() {
            let [input, encrypted, output] =
                ["in.csv", "x.he", "out.csv"].map(|name| path(&format!("{number}-{scheme}-{name}")));
            fs::write(&input, text).unwrap();
            encrypt(keys, &input, &encrypted, &[]);
            decrypt(keys, &encrypted, &output);
            assert!(csv(&output) == expected.unwrap_or(text), "{number}");
        }
    }
}

#[test]
fn sums_and_products_are_exact() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    // One row; few; more than one vector.
    for (scheme, keys) in schemes().into_iter().enumerate() {
        for rows in [1usize, 7, 9000] {
            let mut next = noise(rows as u64);
            let mut column = |low: i64, high: i64| -> Vec<i64> {
                (0..rows).map(|_| low + next() as i64 % (high - low + 1)).collect()
            };
            let (a, b) = (column(-100, 100), column(0, 200));
            let lines: String = a.iter().zip(&b).map(|(a, b)| format!("{a},{b}\n")).collect();
            let name = |end: &str| path(&format!("{scheme}-{rows}-{end}"));
            fs::write(name("in.csv"), format!("a,b\n{lines}")).unwrap();
            encrypt(keys, &name("in.csv"), &name("x.he"), &[]);
            let dot = |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<i64>();
            let with = name("x.he").to_str().unwrap().to_owned();
            for (number, (operation, expected)) in [
                (&["sum"][..], format!("a,b\n{},{}\n", a.iter().sum::<i64>(), b.iter().sum::<i64>())),
                (&["dot", "--columns", "a,b"], format!("a b\n{}\n", dot(&a, &b))),
                (&["dot", "--columns", "2,2"], format!("b b\n{}\n", dot(&b, &b))),
                (&["dot", "--with", &with], format!("a a,b b\n{},{}\n", dot(&a, &a), dot(&b, &b))),
            ]
            .into_iter()
            .enumerate()
            {
                let result = name(&format!("{number}.he"));
                eval(keys, operation, &name("x.he"), &result);
                let text = he(["decrypt", result.to_str().unwrap(), "-k", &keys.secret, "-o", "-"]).text();
                assert_eq!(text, expected, "{rows} rows, {operation:?}");
            }
        }
    }
}

#[test]
fn rows_beyond_a_batch_are_summed() {
    let (keys, dir) = (Keys::narrow(), folder());
    let path = |name: &str| dir.path().join(name);
    // 64 vectors of at most 16384 slots are the largest batch.
    let rows = 64 * 16_384 + 3;
    fs::write(path("in.csv"), "yes\n".repeat(rows - 5) + &"no\n".repeat(5)).unwrap();
    he(["keygen", "bgv", "--depth", "0", "--bits", "22", "-o", "k"]).at(dir.path()).ok();
    let at = |arguments: &[&str]| he(arguments).at(dir.path());
    at(&["encrypt", "in.csv", "--no-header", "--categories", "1", "-k", "k/public.key", "-o", "x.he"]).ok();
    at(&["eval", "count", "x.he", "-k", "k/eval.key", "-o", "c.he"]).ok();
    let text = at(&["decrypt", "c.he", "-k", "k/secret.key", "-o", "-"]).text();
    assert_eq!(text, format!("column,category,count\n1,no,5\n1,yes,{}\n", rows - 5));
    // So many would not fit 65537.
    at(&["encrypt", "in.csv", "--no-header", "--categories", "1", "-k", &keys.public, "-o", "y.he"]).ok();
    let message = at(&["eval", "count", "y.he", "-k", &keys.eval, "-o", "d.he"]).refuses();
    assert_eq!(
        message,
        format!("numbers of column 1 may be from 0 to {rows}, and these keys hold 65537 numbers (t)")
    );
}

#[test]
fn two_tables_combine_row_by_row_until_the_budget_is_spent() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    for (scheme, keys) in schemes().into_iter().enumerate() {
        let name = |file: &str| path(&format!("{scheme}-{file}"));
        let with = |file: &str| name(file).to_str().unwrap().to_owned();
        fs::write(name("a.csv"), "x,y\n5,-7\n-3,11\n0,1\n").unwrap();
        fs::write(name("b.csv"), "x,z\n2,3\n-4,-5\n6,0\n").unwrap();
        for file in ["a", "b"] {
            encrypt(keys, &name(&format!("{file}.csv")), &name(&format!("{file}.he")), &[]);
        }
        let text =
            |file: &Path| he(["decrypt", file.to_str().unwrap(), "-k", &keys.secret, "-o", "-"]).text();
        for (operation, expected) in [
            ("add", "x,y z\n7,-4\n-7,6\n6,1\n"),
            ("sub", "x,y z\n3,-10\n1,16\n-6,1\n"),
            ("mul", "x,y z\n10,-21\n12,-55\n0,0\n"),
        ] {
            let out = name(&format!("{operation}.he"));
            eval(keys, &[operation, "--with", &with("b.he")], &name("a.he"), &out);
            assert_eq!(text(&out), expected, "{operation}");
        }
        // Results compute on: (a b + a)(a - b), then a sum over the rows.
        eval(keys, &["add", "--with", &with("a.he")], &name("mul.he"), &name("1.he"));
        eval(keys, &["mul", "--with", &with("sub.he")], &name("1.he"), &name("2.he"));
        assert!(text(&name("2.he")).ends_with("\n45,280\n9,-704\n0,1\n"), "{}", text(&name("2.he")));
        eval(keys, &["sum"], &name("2.he"), &name("3.he"));
        assert!(text(&name("3.he")).ends_with("\n54,-423\n"));
    }
    // Ones, so that t is not what ends.
    let keys = Keys::narrow();
    fs::write(path("ones.csv"), "1\n1\n").unwrap();
    encrypt(keys, &path("ones.csv"), &path("0.he"), &[]);
    let mut spent = None;
    for depth in 0..12 {
        let (input, output) = (path(&format!("{depth}.he")), path(&format!("{}.he", depth + 1)));
        let [input, output, eval] = [input.to_str().unwrap(), output.to_str().unwrap(), &keys.eval];
        let call = he(["eval", "mul", input, "--with", input, "-k", eval, "-o", output]);
        let outcome = call.run();
        if outcome.code != Some(0) {
            assert!(
                outcome
                    .stderr
                    .starts_with("he-cli: error: the noise budget is spent: the result would exceed it by ")
                    && outcome.stderr.ends_with(
                        "he-cli: hint: make keys with a larger keygen --depth, and encrypt again\n"
                    ),
                "{}",
                outcome.stderr
            );
            spent = Some(depth);
            break;
        }
        let text = he(["decrypt", output, "-k", &keys.secret, "-o", "-"]).text();
        assert_eq!(text, "1\n1\n", "depth {}", depth + 1);
    }
    assert!(spent.is_some_and(|depth| depth >= 1), "{spent:?}");
}

#[test]
fn categories_are_counted() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    let mut next = noise(9);
    let colours = ["red", "green", "blue", "light gray", "größe"];
    for (scheme, keys) in schemes().into_iter().enumerate() {
        for rows in [1usize, 5, 5000] {
            let drawn: Vec<usize> = (0..rows).map(|_| next() as usize % 5).collect();
            let sizes: Vec<u64> = (0..rows).map(|_| next() % 9).collect();
            let lines: String =
                drawn.iter().zip(&sizes).map(|(&c, size)| format!("{},{size}\n", colours[c])).collect();
            let (text, name) =
                (format!("colour,size\n{lines}"), |end: &str| path(&format!("{scheme}-{rows}-{end}")));
            fs::write(name("in.csv"), &text).unwrap();
            encrypt(keys, &name("in.csv"), &name("x.he"), &["--categories", "colour"]);
            let plain = he(["decrypt", name("x.he").to_str().unwrap(), "-k", &keys.secret, "-o", "-"]).text();
            assert_eq!(plain, text);
            eval(keys, &["count"], &name("x.he"), &name("c.he"));
            let counts =
                he(["decrypt", name("c.he").to_str().unwrap(), "-k", &keys.secret, "-o", "-"]).text();
            let mut order: Vec<usize> = (0..5).filter(|c| drawn.contains(c)).collect();
            order.sort_by_key(|&c| colours[c]);
            let count = |&c: &usize| {
                format!("colour,{},{}\n", colours[c], drawn.iter().filter(|&&drawn| drawn == c).count())
            };
            let expected = order.iter().map(count).collect::<String>();
            assert_eq!(counts, format!("column,category,count\n{expected}"));
            // Numbers beside them are summed.
            eval(keys, &["sum"], &name("x.he"), &name("s.he"));
            let sums = he(["decrypt", name("s.he").to_str().unwrap(), "-k", &keys.secret, "-o", "-"]).text();
            assert_eq!(sums, format!("size\n{}\n", sizes.iter().sum::<u64>()));
        }
    }
}

#[test]
fn counts_of_several_tables_add_up() {
    let (keys, dir) = (Keys::bfv(), folder());
    let path = |name: &str| dir.path().join(name);
    for (name, votes) in [("north", "a\nc\na\n"), ("south", "c\nc\n")] {
        fs::write(path(&format!("{name}.csv")), format!("party\n{votes}")).unwrap();
        let (input, output) = (path(&format!("{name}.csv")), path(&format!("{name}.he")));
        encrypt(keys, &input, &output, &["--categories", "party=a,b,c"]);
        eval(keys, &["count"], &output, &path(&format!("{name}-counts.he")));
    }
    let with = path("south-counts.he").to_str().unwrap().to_owned();
    eval(keys, &["add", "--with", &with], &path("north-counts.he"), &path("all.he"));
    let text = he(["decrypt", "all.he", "-k", &keys.secret, "-o", "-"]).at(dir.path()).text();
    assert_eq!(text, "column,category,count\nparty,a,2\nparty,b,0\nparty,c,3\n");
    // Words without a header, by number.
    fs::write(path("plain.csv"), "yes\nno\nyes\n").unwrap();
    encrypt(keys, &path("plain.csv"), &path("p.he"), &["--no-header", "--categories", "1"]);
    eval(keys, &["count"], &path("p.he"), &path("pc.he"));
    let text = he(["decrypt", "pc.he", "-k", &keys.secret, "-o", "-"]).at(dir.path()).text();
    assert_eq!(text, "column,category,count\n1,no,1\n1,yes,2\n");
}

#[test]
fn what_may_not_fit_t_is_refused_before_it_is_computed() {
    let (keys, dir) = (Keys::narrow(), folder());
    let path = |name: &str| dir.path().join(name);
    const HINT: &str = "make keys with a larger keygen --bits or --plain-modulus, and encrypt again";
    fs::write(path("wide.csv"), "n\n65537\n").unwrap();
    fs::write(path("both.csv"), "n\n-1\n65536\n").unwrap();
    fs::write(path("fits.csv"), "n\n-1\n65535\n").unwrap();
    fs::write(path("sums.csv"), "n,m\n3,20000\n4,20000\n1,20000\n2,9\n").unwrap();
    sixteen(5, 5, 1, 1).save(path("deep.png")).unwrap();
    let refused = |input: &str, error: &str| {
        he(["encrypt", input, "-k", &keys.public, "-o", "out.he"]).at(dir.path()).fails(1, error, HINT);
    };
    refused("wide.csv", "numbers of column n may be from 0 to 65537, and these keys hold 65537 numbers (t)");
    refused("both.csv", "numbers of column n may be from -1 to 65536, and these keys hold 65537 numbers (t)");
    for file in ["fits.csv", "sums.csv", "deep.png"] {
        encrypt(keys, &path(file), &path(&format!("{file}.he")), &[]);
    }
    decrypt(keys, &path("fits.csv.he"), &path("fits.out"));
    assert_eq!(csv(&path("fits.out")), "n\n-1\n65535\n");
    let before = names(dir.path());
    let eval = |arguments: &[&str]| {
        let files = ["-k", &keys.eval, "-o", "out.he"];
        he(["eval"].iter().chain(arguments).chain(&files)).at(dir.path())
    };
    eval(&["sum", "sums.csv.he"]).fails(
        1,
        "numbers of column m may be from 0 to 131068, and these keys hold 65537 numbers (t)",
        HINT,
    );
    eval(&["add", "deep.png.he", "--with", "deep.png.he"]).fails(
        1,
        "samples may be from 0 to 131070, and these keys hold 65537 numbers (t)",
        HINT,
    );
    eval(&["mul", "sums.csv.he", "--with", "sums.csv.he"]).fails(
        1,
        "numbers of column m may be from 0 to 1073676289, and these keys hold 65537 numbers (t)",
        HINT,
    );
    assert_eq!(names(dir.path()), before);
    // The least moduli with slots do not hold samples of 16 bits.
    he(["keygen", "bfv", "--depth", "0", "--plain-modulus", "40961", "-o", "small"]).at(dir.path()).ok();
    he(["encrypt", "deep.png", "-k", "small/public.key", "-o", "out.he"]).at(dir.path()).fails(
        1,
        "samples may be from 0 to 65535, and these keys hold 40961 numbers (t)",
        HINT,
    );
}

#[test]
fn parameters_that_cannot_be_are_refused() {
    let dir = folder();
    let prime = "choose --bits instead, or a prime equal to 1 modulo 8192 or more, such as 786433";
    for (scheme, arguments, code, error, hint) in [
        // 65536 is not a prime, and 65539 is not 1 modulo 2 N.
        (
            "bfv",
            &["--plain-modulus", "65536"][..],
            2,
            "the plaintext modulus 65536 has no slots to put numbers into",
            prime,
        ),
        (
            "bgv",
            &["--plain-modulus", "65539"],
            2,
            "the plaintext modulus 65539 has no slots to put numbers into",
            prime,
        ),
        (
            "bfv",
            &["--plain-modulus", "1"],
            2,
            "a plaintext modulus of 1",
            "choose a prime below 2^61, such as 65537",
        ),
        ("bfv", &["--bits", "0"], 2, "0 bits of integers", "choose --bits between 1 and 58"),
        ("bgv", &["--bits", "59"], 2, "59 bits of integers", "choose --bits between 1 and 58"),
        (
            "bfv",
            &["--security", "100"],
            2,
            "no table for 100 bits of security",
            "choose --security 128, 192 or 256",
        ),
        ("bfv", &["--depth", "61"], 2, "depth is 61", "it must be in 0 ..= 60"),
        (
            "bfv",
            &["--depth", "60"],
            1,
            "depth 60 modulo 8590458881 does not fit the 1746 bits of modulus that are secure at N = 2^16",
            "ask for less depth, a smaller plaintext modulus or a smaller margin",
        ),
        ("bigckks", &["--precision", "99"], 2, "precision (bits) is 99", "it must be in 4 ..= 45"),
        ("bigckks", &["--slots", "0"], 2, "number of slots is 0", "it must be in 1 ..= 32768"),
    ] {
        let start = ["keygen", scheme, "-o", "k"];
        he(start.iter().chain(arguments)).at(dir.path()).fails(code, error, hint);
    }
    he(["keygen", "bigckks", "--depth-bits", "1200", "-o", "k"]).at(dir.path()).refuses();
    assert!(names(dir.path()).is_empty());
}

#[test]
fn tables_that_do_not_fit_are_refused() {
    let (keys, dir) = (Keys::bfv(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("half.csv"), "a,b\n1,2\n3,4.5\n").unwrap();
    fs::write(path("huge.csv"), "a\n9007199254740992\n").unwrap();
    fs::write(path("words.csv"), "a,b\nx,1\ny,2\n").unwrap();
    fs::write(path("three.csv"), "a\n1\n2\n3\n").unwrap();
    fs::write(path("two.csv"), "a\n1\n2\n").unwrap();
    eight(6, 5, 1, 1).save(path("in.png")).unwrap();
    eight(5, 6, 1, 1).save(path("turned.png")).unwrap();
    for file in ["three.csv", "two.csv", "in.png", "turned.png"] {
        encrypt(keys, &path(file), &path(&format!("{file}.he")), &[]);
    }
    encrypt(keys, &path("words.csv"), &path("words.he"), &["--categories", "a"]);
    encrypt(keys, &path("words.csv"), &path("other.he"), &["--categories", "a=y,x"]);
    for (file, output) in [("words.he", "wc.he"), ("other.he", "oc.he")] {
        eval(keys, &["count"], &path(file), &path(output));
    }
    eval(keys, &["sum"], &path("two.csv.he"), &path("sum.he"));
    let before = names(dir.path());
    for (arguments, code, error, hint) in [
        (
            &["half.csv"][..],
            1,
            "half.csv, line 3, column 2 (\"b\"): \"4.5\" is not a whole number",
            "bfv and bgv take whole numbers: count in smaller units (cents), use keys of ckks, or name the column in --categories",
        ),
        (
            &["huge.csv"],
            1,
            "huge.csv, line 2, column 1 (\"a\"): \"9007199254740992\" is too large",
            "whole numbers of a table stay below 2^53 in magnitude",
        ),
        (
            &["words.csv"],
            1,
            "words.csv, line 2, column 1 (\"a\"): \"x\" is not a number",
            "numbers look like -1.5 or 2e-3, with a decimal point; give --header or --delimiter if they were guessed wrong",
        ),
        (
            &["words.csv", "--categories", "a=x,z"],
            1,
            "words.csv, line 3, column 1 (\"a\"): \"y\" is none of the categories",
            "the categories are x, z",
        ),
        (
            &["words.csv", "--categories", "c"],
            2,
            "there is no column c",
            "give names of the header, or numbers from 1 to 2",
        ),
        (
            &["in.png", "--halo", "2"],
            2,
            "--halo is for filters, which bfv does not have",
            "leave it out, or make keys with keygen ckks",
        ),
    ] {
        let files = ["-k", &keys.public, "-o", "out.he"];
        he(["encrypt"].iter().chain(arguments).chain(&files)).at(dir.path()).fails(code, error, hint);
    }
    let there = "under bfv there are: images add, sub and mul; tables add, sub, mul, sum, count and dot";
    let alike = "add takes tables with as many rows and columns";
    for (arguments, error, hint) in [
        (&["mean", "two.csv.he"][..], "bfv has no mean", there),
        (&["blur", "in.png.he"], "bfv has no blur", there),
        (
            &["sum", "in.png.he"],
            "in.png.he is an encrypted image, and sum is for tables",
            "images have add, sub and mul; to sum pixels, encrypt the table of them that decrypt -o pixels.csv writes",
        ),
        (
            &["count", "two.csv.he"],
            "two.csv.he has no column of categories",
            "encrypt with --categories COLUMN, then count",
        ),
        (&["sum", "sum.he"], "sum.he is a sum already", "compute from the encrypted original"),
        (&["count", "wc.he"], "wc.he is a sum already", "compute from the encrypted original"),
        (
            &["dot", "words.he", "--columns", "a,b"],
            "column a holds categories, not numbers",
            "eval count counts them",
        ),
        (
            &["add", "two.csv.he", "--with", "three.csv.he"],
            "the tables differ in shape: 2 rows of 1 and 3 rows of 1",
            alike,
        ),
        (
            &["add", "two.csv.he", "--with", "sum.he"],
            "the tables differ in shape: 2 rows of 1 and 1 rows of 1, summed",
            alike,
        ),
        (
            &["mul", "in.png.he", "--with", "turned.png.he"],
            "the images differ: 6 x 5 gray, 8 bits and 5 x 6 gray, 8 bits",
            "mul takes images of one size and kind of pixels",
        ),
        (
            &["sub", "in.png.he", "--with", "two.csv.he"],
            "in.png.he is an encrypted image, two.csv.he is an encrypted table",
            "give two images or two tables of the same shape",
        ),
        (
            &["add", "words.he", "--with", "words.he"],
            "column a holds categories, not numbers",
            "count them first: eval count",
        ),
        (
            &["add", "wc.he", "--with", "oc.he"],
            "the tables differ in the categories of column a",
            "encrypt both with the same --categories COLUMN=A,B,...",
        ),
    ] {
        let files = ["-k", &keys.eval, "-o", "out.he"];
        he(["eval"].iter().chain(arguments).chain(&files)).at(dir.path()).fails(1, error, hint);
    }
    let formats = he(["decrypt", "in.png.he", "-k", &keys.secret, "-o", "x.jpg"]).at(dir.path());
    formats.ok();
    fs::remove_file(path("x.jpg")).unwrap();
    assert_eq!(names(dir.path()), before);
}

#[test]
fn foreign_keys_and_schemes_are_refused() {
    let (bfv, bgv, ckks, dir) = (Keys::bfv(), Keys::bgv(), Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    he(["keygen", "bfv", "-o", "mine"]).at(dir.path()).ok();
    fs::write(path("in.csv"), "1\n").unwrap();
    for (keys, name) in [(bfv, "x.he"), (bgv, "y.he"), (ckks, "z.he")] {
        encrypt(keys, &path("in.csv"), &path(name), &[]);
    }
    he(["encrypt", "in.csv", "-k", "mine/public.key", "-o", "m.he"]).at(dir.path()).ok();
    const HINT: &str = "use the keys of the same keygen; he-cli info FILE shows the key set";
    for (file, secret, error) in [
        ("x.he", &bgv.secret, "x.he is encrypted by bfv, and the key is one of bgv"),
        ("y.he", &bfv.secret, "y.he is encrypted by bgv, and the key is one of bfv"),
        ("x.he", &ckks.secret, "x.he is encrypted by bfv, and the key is one of ckks"),
        ("z.he", &bfv.secret, "z.he is encrypted by ckks, and the key is one of bfv"),
    ] {
        he(["decrypt", file, "-k", secret, "-o", "out"]).at(dir.path()).fails(1, error, HINT);
    }
    // Another set of the same parameters.
    let message = he(["decrypt", "x.he", "-k", "mine/secret.key", "-o", "out"]).at(dir.path()).refuses();
    assert!(message.starts_with("x.he belongs to key set "), "{message}");
    let message =
        he(["eval", "add", "x.he", "--with", "m.he", "-k", &bfv.eval, "-o", "out"]).at(dir.path()).refuses();
    assert!(message.starts_with("m.he belongs to key set "), "{message}");
    he(["eval", "add", "x.he", "--with", "y.he", "-k", &bfv.eval, "-o", "out"]).at(dir.path()).fails(
        1,
        "y.he is encrypted by bgv, and the key is one of bfv",
        HINT,
    );
    he(["eval", "sum", "x.he", "-k", &bfv.public, "-o", "out"]).at(dir.path()).fails(
        1,
        &format!("{} is a public key, not an evaluation key", bfv.public),
        "keygen writes secret.key for decrypt, public.key for encrypt, eval.key for eval",
    );
}

#[test]
fn info_shows_the_noise_budget() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "a,b\n1,-2\n3,4\n").unwrap();
    let info = |arguments: &[&str]| -> serde_json::Value {
        let start = ["info", "--json"];
        serde_json::from_slice(&he(start.iter().chain(arguments)).at(dir.path()).ok()).unwrap()
    };
    for (scheme, keys) in [("bfv", Keys::bfv()), ("bgv", Keys::bgv())] {
        let name = |file: &str| format!("{scheme}-{file}");
        encrypt(keys, &path("in.csv"), &path(&name("x.he")), &[]);
        let with = path(&name("x.he")).to_str().unwrap().to_owned();
        eval(keys, &["mul", "--with", &with], &path(&name("x.he")), &path(&name("y.he")));
        let mut left = f64::INFINITY;
        for file in ["x.he", "y.he"] {
            let told = info(&[&name(file)]);
            assert_eq!((&told["parameters"]["scheme"], told.get("budget")), (&scheme.into(), None));
            let told = info(&[&name(file), "--key", &keys.secret]);
            let (predicted, budget) = (told["predicted"].as_f64().unwrap(), told["budget"].as_f64().unwrap());
            // The prediction is a bound, and not far off.
            assert!(predicted > 0.0 && predicted <= budget && budget < predicted + 25.0, "{told}");
            assert!(budget < left, "{file} of {scheme}: {budget} bits, {left} before");
            left = budget;
        }
        let told = info(&[&keys.public]);
        assert_eq!(told["file"], "public key");
        assert!(told["parameters"]["plain_modulus"].as_u64().unwrap() > 1 << 33);
        assert_eq!(told["parameters"]["security_bits"], 128);
        let text = he(["info", &name("x.he"), "--key", &keys.secret]).at(dir.path()).text();
        for part in [
            "\ntable        2 rows, 2 columns: a, b\n",
            "\nrange        0 to 3, -2 to 7\n",
            " measured\n",
            "\nintegers     modulo t = ",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    let call = |arguments: &[&str]| he(["info"].iter().chain(arguments)).at(dir.path());
    call(&["bfv-x.he", "--key", &Keys::bgv().secret]).fails(
        1,
        &format!("bfv-x.he is not encrypted under the key set of {}", Keys::bgv().secret),
        "use the keys of the same keygen; he-cli info FILE shows the key set",
    );
    call(&["bfv-x.he", "--key", &Keys::bfv().eval]).fails(
        1,
        &format!("{} is an evaluation key, not a secret key", Keys::bfv().eval),
        "keygen writes secret.key for decrypt, public.key for encrypt, eval.key for eval",
    );
    let public = &Keys::bfv().public;
    call(&[public, "--key", &Keys::bfv().secret]).fails(
        2,
        &format!("{public} has no noise budget to measure"),
        "leave --key out: it is for files encrypted under bfv and bgv",
    );
}

#[test]
fn sealed_keys_open() {
    let dir = folder();
    fs::write(dir.path().join("phrase"), "correct horse\n").unwrap();
    fs::write(dir.path().join("in.csv"), "5\n").unwrap();
    he(["keygen", "bgv", "--depth", "0", "-o", "k", "--passphrase-file", "phrase"]).at(dir.path()).ok();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(dir.path().join("k/secret.key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let encrypted = ["encrypt", "in.csv", "-k", "k/secret.key", "-o", "x.he", "--passphrase-file", "phrase"];
    he(encrypted).at(dir.path()).ok();
    let decrypted = ["decrypt", "x.he", "-k", "k/secret.key", "-o", "-", "--passphrase-file", "phrase"];
    assert_eq!(he(decrypted).at(dir.path()).text(), "5\n");
}

#[test]
fn short_columns_share_ciphertexts() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    let colours = ["red", "green", "blue", "white", "black"];
    for (scheme, keys) in schemes().into_iter().enumerate() {
        // The last has so many columns that they fill several vectors.
        for (columns, rows) in [(2usize, 1usize), (5, 20), (600, 20)] {
            let mut next = noise((columns * rows) as u64);
            let numbers: Vec<Vec<i64>> =
                (0..columns).map(|_| (0..rows).map(|_| next() as i64 % 201 - 100).collect()).collect();
            let words: Vec<Vec<usize>> =
                [2, 5].map(|kinds| (0..rows).map(|_| next() as usize % kinds).collect()).to_vec();
            let names: Vec<String> = (0..columns).map(|i| format!("n{i}")).collect();
            // Columns of words between those of numbers.
            let line = |row: usize| {
                let number = |i: usize| numbers[i][row].to_string();
                let mut fields = vec![
                    number(0),
                    colours[words[0][row]].to_owned(),
                    number(1),
                    colours[words[1][row]].to_owned(),
                ];
                fields.extend((2..columns).map(number));
                fields.join(",") + "\n"
            };
            let lines: String = (0..rows).map(line).collect();
            let mut header = vec![names[0].clone(), "u".to_owned(), names[1].clone(), "v".to_owned()];
            header.extend(names[2..].iter().cloned());
            let text = format!("{}\n{lines}", header.join(","));
            let name = |file: &str| path(&format!("{scheme}-{columns}-{file}"));
            fs::write(name("in.csv"), &text).unwrap();
            let all = format!("v={}", colours.join(","));
            encrypt(keys, &name("in.csv"), &name("x.he"), &["--categories", "u", "--categories", &all]);
            let back =
                |file: &Path| he(["decrypt", file.to_str().unwrap(), "-k", &keys.secret, "-o", "-"]).text();
            assert_eq!(back(&name("x.he")), text);
            if columns == 600 {
                let (plain, encrypted) = (text.len() as u64, fs::metadata(name("x.he")).unwrap().len());
                assert!(encrypted < 60 * plain, "{encrypted} bytes for {plain}");
            }
            let sum = |c: &[i64]| c.iter().sum::<i64>();
            eval(keys, &["sum"], &name("x.he"), &name("sum.he"));
            let sums: Vec<String> = numbers.iter().map(|c| sum(c).to_string()).collect();
            assert_eq!(back(&name("sum.he")), format!("{}\n{}\n", names.join(","), sums.join(",")));
            eval(keys, &["count"], &name("x.he"), &name("count.he"));
            let mut expected = "column,category,count\n".to_owned();
            let mut seen: Vec<&str> = words[0].iter().map(|&word| colours[word]).collect();
            seen.sort_unstable();
            seen.dedup();
            let count = |column: &[usize], word: &str| column.iter().filter(|&&w| colours[w] == word).count();
            seen.iter().for_each(|word| expected += &format!("u,{word},{}\n", count(&words[0], word)));
            colours.iter().for_each(|word| expected += &format!("v,{word},{}\n", count(&words[1], word)));
            assert_eq!(back(&name("count.he")), expected);
            let dot = |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<i64>();
            for (a, b) in [(0, columns - 1), (columns - 1, 1), (columns / 2, columns / 2)] {
                let _ = fs::remove_file(name("dot.he"));
                eval(keys, &["dot", "--columns", &format!("n{a},n{b}")], &name("x.he"), &name("dot.he"));
                let expected = format!("n{a} n{b}\n{}\n", dot(&numbers[a], &numbers[b]));
                assert_eq!(back(&name("dot.he")), expected);
            }
            // Numbers alone, of two tables.
            let plain: String = (0..rows)
                .map(|row| numbers.iter().map(|c| c[row].to_string()).collect::<Vec<_>>().join(",") + "\n")
                .collect();
            fs::write(name("n.csv"), format!("{}\n{plain}", names.join(","))).unwrap();
            encrypt(keys, &name("n.csv"), &name("n.he"), &[]);
            let with = name("n.he").to_str().unwrap().to_owned();
            for (operation, f) in
                [("add", (|a, b| a + b) as fn(i64, i64) -> i64), ("sub", |a, b| a - b), ("mul", |a, b| a * b)]
            {
                let out = name(&format!("{operation}.he"));
                eval(keys, &[operation, "--with", &with], &name("n.he"), &out);
                let rows: String = (0..rows)
                    .map(|row| {
                        numbers.iter().map(|c| f(c[row], c[row]).to_string()).collect::<Vec<_>>().join(",")
                            + "\n"
                    })
                    .collect();
                assert_eq!(back(&out), format!("{}\n{rows}", names.join(",")), "{operation}");
            }
            eval(keys, &["dot", "--with", &with], &name("n.he"), &name("dots.he"));
            let dots: Vec<String> = numbers.iter().map(|c| dot(c, c).to_string()).collect();
            assert!(back(&name("dots.he")).ends_with(&format!("\n{}\n", dots.join(","))));
            // Counts add up.
            let with = name("count.he").to_str().unwrap().to_owned();
            eval(keys, &["add", "--with", &with], &name("count.he"), &name("counts.he"));
            assert!(back(&name("counts.he")).contains(&format!("v,red,{}\n", 2 * count(&words[1], "red"))));
        }
    }
}
