//! From sensor files to encrypted tables and images: what comes back, what is refused, and that
//! nothing is left behind then.

use crate::pictures::{Planes, eight};
use crate::process::{Call, Keys, after, folder, he, names};
use he_core::aes::{Bulk, BulkCipher, Key, Reference};
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const READINGS: &str = "inside,\"out, side\"\n2150,-340\n-1,32767\n0,-32768\n1875,12\n-7,8\n9,-10\n";
const DAMAGED: &str = "get an undamaged copy of the file";

/// A folder with a sensor key, and that key under keys of the toy.
fn with_sensor(bits: &str) -> TempDir {
    let (keys, dir) = (Keys::toy_tfhe(), folder());
    he(["keygen", "aes", "--transcipher", bits, "-o", "sensor.key"]).at(dir.path()).ok();
    he(["encrypt", "sensor.key", "--transcipher", "-k", &keys.secret, "-o", "sensor.he"]).at(dir.path()).ok();
    dir
}

fn run(dir: &TempDir, arguments: &str) -> Call {
    he(arguments.split(' ')).at(dir.path())
}

fn transcipher(dir: &TempDir, name: &str) -> Call {
    let eval = &Keys::toy_tfhe().eval;
    he(["transcipher", name, "--sensor-key", "sensor.he", "-k", eval, "-o", "out.he"]).at(dir.path())
}

fn decrypt(dir: &Path, name: &str) -> String {
    he(["decrypt", name, "-k", &Keys::toy_tfhe().secret, "-o", "-"]).at(dir).text()
}

fn eval(dir: &TempDir, arguments: &str) {
    let call = format!("eval {arguments} -k {} -o result.he --force", Keys::toy_tfhe().eval);
    run(dir, &call).ok();
}

fn info(dir: &TempDir, name: &str) -> Value {
    serde_json::from_slice(&he(["info", name, "--json"]).at(dir.path()).ok()).unwrap()
}

/// The key in a file, and what a sensor file holds, by docs/format.md alone.
fn opened(key: &[u8], file: &[u8]) -> Vec<u8> {
    let length = u64::from_le_bytes(key[40..48].try_into().unwrap()) as usize;
    let key = Key::from_slice(&key[48..48 + length]).unwrap();
    let mut at = 56;
    let columns = u32::from_le_bytes(file[12..16].try_into().unwrap());
    for _ in 0..if file[9] == 1 { columns } else { 0 } {
        let length = u16::from_le_bytes(file[at..at + 2].try_into().unwrap());
        at += 2 + if length == u16::MAX { 0 } else { usize::from(length) };
    }
    let mut plain = file[at..].to_vec();
    let counter = file[40..56].try_into().unwrap();
    Reference::new().hazmat_ctr(&key, &counter, Bulk::in_place(&mut plain)).unwrap();
    plain
}

#[test]
fn what_a_sensor_sends_becomes_an_encrypted_table() {
    let dir = with_sensor("128");
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), READINGS).unwrap();
    run(&dir, "encrypt in.csv --width 16 --signed -k sensor.key -o in.aes").ok();
    let (key, file) = (fs::read(path("sensor.key")).unwrap(), fs::read(path("in.aes")).unwrap());
    // Twelve numbers of two bytes, in sequence, behind the header and the names.
    assert_eq!(file.len(), 56 + 2 + 6 + 2 + 9 + 24);
    let expected = [2150i16, -1, 0, 1875, -7, 9, -340, 32767, -32768, 12, 8, -10];
    assert_eq!(opened(&key, &file), expected.map(i16::to_le_bytes).as_flattened());
    // The same table, encrypted again, has other bytes.
    run(&dir, "encrypt in.csv --width 16 --signed -k sensor.key -o again.aes").ok();
    let again = fs::read(path("again.aes")).unwrap();
    assert_eq!(file[..40], again[..40]);
    assert!(file[40..56] != again[40..56] && file[75..] != again[75..]);
    // The holder of the sensor key decrypts it.
    assert_eq!(run(&dir, "decrypt in.aes -k sensor.key -o -").text(), READINGS);

    transcipher(&dir, "in.aes").ok();
    assert_eq!(decrypt(dir.path(), "out.he"), READINGS);
    // It computes with what was encrypted directly.
    let secret = &Keys::toy_tfhe().secret;
    run(&dir, &format!("encrypt in.csv --width 16 --signed -k {secret} -o direct.he")).ok();
    eval(&dir, "sub out.he --with direct.he");
    assert_eq!(decrypt(dir.path(), "result.he"), "inside,\"out, side\"\n".to_owned() + &"0,0\n".repeat(6));
    eval(&dir, "sort out.he");
    let sorted = "inside,\"out, side\"\n-7,-32768\n-1,-340\n0,-10\n9,8\n1875,12\n2150,32767\n";
    assert_eq!(decrypt(dir.path(), "result.he"), sorted);
    let told = info(&dir, "out.he");
    assert_eq!(told["history"], serde_json::json!(["transcipher"]));
    assert_eq!((&told["table"]["signed"], &told["width"]), (&true.into(), &16.into()));
}

/// Every size of key, integers of other widths, and pipes at both ends.
#[test]
fn keys_and_integers_of_every_size() {
    let eval = &Keys::toy_tfhe().eval;
    for (bits, width, text) in [
        ("192", "8", "255,0\n1,254\n"),
        ("256", "64", "18446744073709551615\n7\n0\n"),
        ("128", "128", "340282366920938463463374607431768211455\n5\n"),
    ] {
        let dir = with_sensor(bits);
        let encrypt = format!("encrypt - --no-header --width {width} -k sensor.key -o -");
        let sent = run(&dir, &encrypt).stdin(text.as_bytes()).ok();
        let key = fs::read(dir.path().join("sensor.key")).unwrap();
        let numbers = text.split([',', '\n']).filter(|field| !field.is_empty()).count();
        assert_eq!(opened(&key, &sent).len(), numbers * width.parse::<usize>().unwrap() / 8);
        let call = he(["transcipher", "-", "--sensor-key", "sensor.he", "-k", eval, "-o", "-"]);
        let made = call.at(dir.path()).stdin(&sent).ok();
        fs::write(dir.path().join("made.he"), made).unwrap();
        assert_eq!(decrypt(dir.path(), "made.he"), text, "{bits} bits, {width} bits");
        assert_eq!(names(dir.path()), ["made.he", "sensor.he", "sensor.key"]);
    }
}

#[test]
fn pictures_become_encrypted_images() {
    let (dir, secret) = (with_sensor("128"), &Keys::toy_tfhe().secret);
    let path = |name: &str| dir.path().join(name);
    let picture = eight(5, 3, 3, 1);
    picture.save(path("in.png")).unwrap();
    run(&dir, "encrypt in.png -k sensor.key -o in.aes").ok();
    assert_eq!(fs::metadata(path("in.aes")).unwrap().len(), 56 + 45);
    run(&dir, "decrypt in.aes -k sensor.key -o back.png").ok();
    assert_eq!(Planes::read(&path("back.png")), Planes::of(&picture));
    transcipher(&dir, "in.aes").ok();
    let told = info(&dir, "out.he");
    assert_eq!((&told["file"], &told["image"]["picture"]["width"]), (&"encrypted image".into(), &5.into()));
    let shown = |name: &str, out: &str| {
        run(&dir, &format!("decrypt {name} -k {secret} -o {out} --force")).ok();
        Planes::read(&path(out))
    };
    assert_eq!(shown("out.he", "out.png"), Planes::of(&picture));
    // An image that was encrypted directly has the same form.
    run(&dir, &format!("encrypt in.png -k {secret} -o direct.he")).ok();
    assert_eq!(shown("direct.he", "direct.png"), Planes::of(&picture));
    assert_eq!(info(&dir, "direct.he")["image"], told["image"]);
    // A table of tones makes another image; conditions are black and white.
    let inverted: String = (0..256).map(|x| format!("{}\n", 255 - x)).collect();
    fs::write(path("tones.csv"), inverted).unwrap();
    eval(&dir, "lookup out.he --table tones.csv");
    let mut negative = picture.clone();
    negative.invert();
    assert_eq!(shown("result.he", "negative.png"), Planes::of(&negative));
    fs::rename(path("result.he"), path("negative.he")).unwrap();
    eval(&dir, "lt out.he --with negative.he");
    let black_and_white = Planes::read(&{
        shown("result.he", "dark.png");
        path("dark.png")
    });
    let mut dark = picture.to_rgb8();
    dark.iter_mut().for_each(|sample| *sample = if *sample < 255 - *sample { 255 } else { 0 });
    assert_eq!(black_and_white, Planes::of(&dark.into()));
    // The numbers themselves, pixel by pixel, and what is a table again.
    run(&dir, &format!("decrypt result.he -k {secret} -o dark.csv")).ok();
    let numbers = fs::read_to_string(path("dark.csv")).unwrap();
    assert!(numbers.starts_with("x,y,red,green,blue\n0,0,") && numbers.lines().count() == 16, "{numbers}");
    eval(&dir, "sum out.he");
    assert!(decrypt(dir.path(), "result.he").starts_with("red,green,blue\n"));
    he(["decrypt", "out.he", "-k", secret, "-o", "x.png", "--scale"]).at(dir.path()).fails(
        2,
        "--scale is not for images of tfhe, whose numbers are samples",
        "leave it out",
    );
    run(&dir, "encrypt in.png --width 8 -k sensor.key -o y.aes").fails(
        2,
        "in.png is a picture, whose samples have 8 or 16 bits and no sign",
        "leave --width and --signed out",
    );
}

#[test]
fn sensor_keys_are_keys_of_their_own() {
    let dir = with_sensor("192");
    let path = |name: &str| dir.path().join(name);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(path("sensor.key")).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let (key, encrypted) = (info(&dir, "sensor.key"), info(&dir, "sensor.he"));
    assert_eq!((&key["file"], &key["bits"]), (&"sensor key".into(), &192.into()));
    assert_eq!((&encrypted["file"], &encrypted["bits"]), (&"encrypted sensor key".into(), &192.into()));
    assert_eq!(key["key"], encrypted["sensor_key"]);
    assert_eq!(info(&dir, &Keys::toy_tfhe().eval)["transciphers"], true);
    fs::write(path("in.csv"), "7\n").unwrap();
    run(&dir, "encrypt in.csv --no-header -k sensor.key -o in.aes").ok();
    let told = info(&dir, "in.aes");
    assert_eq!(
        (&told["file"], &told["key"], &told["width"]),
        (&"sensor file".into(), &key["key"], &32.into())
    );
    // It neither opens nor closes other files, and other keys do not serve in its place.
    let (usual, secret) = (Keys::usual(), &Keys::toy_tfhe().secret);
    run(&dir, "keygen aes -o my.key").ok();
    let sensors = "keygen aes --transcipher makes the keys of sensors";
    run(&dir, "decrypt in.aes -k my.key -o x").fails(1, "my.key is an AES key, not a sensor key", sensors);
    he(["decrypt", "in.aes", "-k", secret, "-o", "x"]).at(dir.path()).fails(
        1,
        &format!("{secret} is a secret key, not a sensor key"),
        sensors,
    );
    run(&dir, "encrypt in.csv -k my.key -o x.he").ok();
    run(&dir, "decrypt x.he -k sensor.key -o y").fails(
        1,
        "sensor.key is a sensor key, not an AES key",
        "give the key that the file was encrypted with; keygen aes makes such keys",
    );
    he(["encrypt", "my.key", "--transcipher", "-k", secret, "-o", "y"]).at(dir.path()).fails(
        1,
        "my.key is an AES key, not a sensor key",
        sensors,
    );
    he(["encrypt", "sensor.key", "--transcipher", "-k", &usual.secret, "-o", "y"]).at(dir.path()).fails(
        2,
        &format!("--transcipher is for keys of tfhe, and {} is none", usual.secret),
        "give the secret.key of keygen tfhe --transcipher with -k",
    );
    he(["encrypt", "sensor.key", "--transcipher", "-k", &Keys::toy_tfhe().eval, "-o", "y"])
        .at(dir.path())
        .refuses();
    // A key with a passphrase, on both sides.
    fs::write(path("phrase"), "correct horse\n").unwrap();
    run(&dir, "keygen aes --transcipher -o sealed.key --passphrase-file phrase").ok();
    run(&dir, "encrypt in.csv --no-header -k sealed.key -o s.aes --passphrase-file phrase").ok();
    let seal = ["encrypt", "sealed.key", "--transcipher", "-k", secret, "-o", "sealed.he"];
    he(seal.iter().chain(&["--passphrase-file", "phrase"])).at(dir.path()).ok();
    let [sensor, file] = [info(&dir, "sealed.he")["sensor_key"].clone(), info(&dir, "s.aes")["key"].clone()];
    assert_eq!(sensor, file);
    assert!(!path("x").exists() && !path("y").exists());
}

#[test]
fn keys_that_do_not_fit_are_refused() {
    let (dir, keys) = (with_sensor("128"), Keys::toy_tfhe());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "1,2\n").unwrap();
    run(&dir, "encrypt in.csv --no-header --width 8 -k sensor.key -o in.aes").ok();
    run(&dir, "keygen aes --transcipher -o other.key").ok();
    run(&dir, "encrypt in.csv --no-header --width 8 -k other.key -o other.aes").ok();
    let id = |name: &str| info(&dir, name)["key"].as_str().unwrap().to_owned();
    let (own, other) = (id("in.aes"), id("other.aes"));
    let sensor = "use the key of the sensor that the file comes from";
    transcipher(&dir, "other.aes").fails(
        1,
        &format!("other.aes is encrypted under sensor key {other}, and sensor.he is of sensor key {own}"),
        sensor,
    );
    run(&dir, "decrypt other.aes -k sensor.key -o x").fails(
        1,
        &format!("other.aes is encrypted under sensor key {other}, and sensor.key is of sensor key {own}"),
        sensor,
    );
    // Keys of another set, of other parameters, and of other kinds.
    run(&dir, "keygen tfhe --transcipher insecure_toy -o foreign").ok();
    let with = |sensor: &str, eval: &str| {
        let call = he(["transcipher", "in.aes", "--sensor-key", sensor, "-k", eval, "-o", "x"]);
        call.at(dir.path()).refuses()
    };
    let message = with("sensor.he", "foreign/eval.key");
    assert!(message.starts_with("sensor.he belongs to key set "), "{message}");
    let usual = Keys::tfhe();
    let message = with("sensor.he", &usual.eval);
    assert_eq!(message, format!("{} holds no key for transciphering", usual.eval));
    assert_eq!(info(&dir, &usual.eval)["transciphers"], false);
    for (sensor, eval, what) in [
        (&*keys.eval, &*keys.eval, "is an evaluation key, not an encrypted sensor key"),
        ("sensor.he", "sensor.he", "is an encrypted sensor key, not an evaluation key"),
        ("sensor.he", &*keys.secret, "is a secret key, not an evaluation key"),
        ("sensor.key", &*keys.eval, "is a sensor key, not an encrypted sensor key of tfhe"),
        ("sensor.he", &*Keys::usual().eval, "is an evaluation key, not an evaluation key of tfhe"),
        ("in.aes", &*keys.eval, "is a sensor file, not an encrypted sensor key"),
        ("sensor.he", "in.aes", "is a sensor file, not an evaluation key"),
    ] {
        let message = with(sensor, eval);
        assert!(message.ends_with(what), "{message}");
    }
    // An evaluation key with a second frame still evaluates, and nothing takes an encrypted sensor
    // key for one.
    transcipher(&dir, "in.aes").ok();
    eval(&dir, "add out.he --with out.he");
    assert_eq!(decrypt(dir.path(), "result.he"), "2,4\n");
    let message = he(["eval", "sum", "out.he", "-k", "sensor.he", "-o", "x"]).at(dir.path()).refuses();
    assert_eq!(message, "sensor.he is an encrypted sensor key, not an evaluation key");
    assert!(!path("x").exists());
}

#[test]
fn damaged_sensor_files_are_refused() {
    let dir = with_sensor("128");
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "a,b\n1,2\n3,4\n5,6\n").unwrap();
    run(&dir, "encrypt in.csv --width 8 -k sensor.key -o in.aes").ok();
    let good = fs::read(path("in.aes")).unwrap();
    let before = ["bad.aes", "in.aes", "in.csv", "sensor.he", "sensor.key"];
    let refused = |bytes: &[u8], what: &str, hint: &str| {
        fs::write(path("bad.aes"), bytes).unwrap();
        transcipher(&dir, "bad.aes").fails(1, &format!("bad.aes{what}"), hint);
        run(&dir, "info bad.aes").fails(1, &format!("bad.aes{what}"), hint);
        run(&dir, "decrypt bad.aes -k sensor.key -o x").fails(1, &format!("bad.aes{what}"), hint);
        // The file is refused through a pipe, too, whose length nobody knows.
        let eval = &Keys::toy_tfhe().eval;
        let piped = ["transcipher", "-", "--sensor-key", "sensor.he", "-k", eval, "-o", "x"];
        he(piped).at(dir.path()).stdin(bytes).fails(1, &format!("standard input{what}"), hint);
        assert_eq!(names(dir.path()), before);
    };
    let cut = |bytes: usize| good[..good.len() - bytes].to_vec();
    refused(&cut(1), " is truncated: 1 bytes are missing", DAMAGED);
    refused(&cut(6), " is truncated: 6 bytes are missing", DAMAGED);
    refused(&[&good[..], b"x"].concat(), " holds more than its header says", DAMAGED);
    let newer = "get an undamaged copy of the file, or a newer he-cli";
    let with = |at: usize, value: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        bytes
    };
    let impossible = |what: &str| format!(": the header of the sensor file holds an impossible {what}");
    refused(&with(8, &[9]), ": version 9 of sensor files is unknown, this program reads 1", newer);
    refused(&with(9, &[7]), &impossible("kind of content"), newer);
    refused(&with(10, &[5]), &impossible("width"), newer);
    refused(&with(11, &[2]), &impossible("sign"), newer);
    refused(&with(16, &[0; 8]), &impossible("number of rows or columns"), newer);
    refused(&with(16, &[255; 8]), &impossible("number of rows or columns"), newer);
    // More rows than fit are refused before the numbers are looked at.
    fs::write(path("bad.aes"), with(16, &[0, 0, 0, 2, 0, 0, 0, 0])).unwrap();
    transcipher(&dir, "bad.aes").refuses();
    fs::write(path("bad.aes"), b"HEAESCTX and more").unwrap();
    let message = transcipher(&dir, "bad.aes").refuses();
    assert_eq!(message, "bad.aes is not a sensor file");
    // Any change of the header ends in success or in one error, within little memory.
    for at in 0..60 {
        let mut bytes = good.clone();
        bytes[at] ^= 0x55;
        fs::write(path("bad.aes"), &bytes).unwrap();
        let outcome = after("ulimit -v 3000000", ["info", "bad.aes"]).at(dir.path()).run();
        assert!(matches!(outcome.code, Some(0 | 1)), "byte {at}: {}", outcome.stderr);
        let outcome = transcipher(&dir, "bad.aes").run();
        // Another counter block leaves other numbers, and nobody can tell.
        let expected = if (40..56).contains(&at) { 0 } else { outcome.code.unwrap_or(2) };
        assert!(outcome.code == Some(expected) && expected < 2, "byte {at}: {}", outcome.stderr);
        let _ = fs::remove_file(path("out.he"));
    }
    assert_eq!(names(dir.path()), before);
}

#[test]
fn too_many_rows_are_refused_by_the_sensor() {
    let dir = with_sensor("128");
    let path = |name: &str| dir.path().join(name);
    // 2049 words of 8 bytes for two bits of each number.
    let most = (1 << 30) / (2049 * 8 * 32);
    fs::write(path("in.csv"), "7\n".repeat(most + 1)).unwrap();
    run(&dir, "encrypt in.csv --width 64 --no-header -k sensor.key -o x.aes").fails(
        1,
        &format!("{} rows of 64 bits are too many: at most {most} fit a file", most + 1),
        "cut the table into parts of fewer rows, or encrypt with a smaller --width",
    );
    eight(200, 100, 1, 1).save(path("in.png")).unwrap();
    let most = (1 << 30) / (2049 * 8 * 4);
    run(&dir, "encrypt in.png -k sensor.key -o x.aes").fails(
        1,
        &format!("a picture of 200 x 100 pixels is too large: at most {most} pixels fit a file"),
        "make it smaller, or cut it into parts",
    );
    assert_eq!(names(dir.path()), ["in.csv", "in.png", "sensor.he", "sensor.key"]);
}
