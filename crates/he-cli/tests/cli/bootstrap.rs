//! Parameters of CKKS with bootstrapping: their keys, files with new levels, measurements and the
//! deep demo, at the toy size.

use crate::pictures::eight;
use crate::process::{Keys, bootstrap_key, decrypt, encrypt, eval, folder, he, names, refresh};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn level(path: &Path) -> u64 {
    json(&he(["info", "--json", path.to_str().unwrap()]).ok())["level"].as_u64().unwrap()
}

#[test]
fn keys_with_bootstrapping() {
    let dir = folder();
    let outcome =
        he(["keygen", "ckks", "--bootstrap", "insecure_toy", "-o", "k", "--json"]).at(dir.path()).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("keys of insecure_toy protect nothing"), "{}", outcome.stderr);
    let told = json(&outcome.stdout);
    assert_eq!(names(&dir.path().join("k")), ["bootstrap.key", "eval.key", "public.key", "secret.key"]);
    let files = told["files"].as_array().unwrap();
    assert_eq!((files.len(), &told["bootstrap"]), (4, &"insecure_toy".into()));
    for file in files {
        let size = fs::metadata(dir.path().join(file["path"].as_str().unwrap())).unwrap().len();
        assert_eq!(file["bytes"], size);
    }
    // The sizes that params states are those that keygen writes.
    let said = json(&he(["params", "--bootstrap", "insecure_toy", "--json"]).ok());
    assert_eq!(said["bootstrap_key_bytes"], files[3]["bytes"]);
    assert_eq!(said["evaluation_key_bytes"], files[2]["bytes"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("k/secret.key"), 0o600);
    }
    let info = json(&he(["info", "k/bootstrap.key", "--json"]).at(dir.path()).ok());
    assert_eq!((&info["file"], &info["key_set"]), (&"bootstrapping key".into(), &told["key_set"]));
    assert_eq!(info["parameters"], told["parameters"]);
    assert_eq!((&info["levels_left"], &info["refreshed"]), (&16.into(), &512.into()));
    // Damage anywhere is seen.
    let mut bytes = fs::read(dir.path().join("k/bootstrap.key")).unwrap();
    for at in [100, bytes.len() / 2, bytes.len() - 40] {
        bytes[at] ^= 1;
        fs::write(dir.path().join("bad.key"), &bytes).unwrap();
        he(["info", "bad.key"]).at(dir.path()).refuses();
        bytes[at] ^= 1;
    }
    for cut in [bytes.len() - 112, bytes.len() / 2] {
        fs::write(dir.path().join("bad.key"), &bytes[..cut]).unwrap();
        let said = he(["info", "bad.key"]).at(dir.path()).refuses();
        assert!(said.contains("truncated"), "{said}");
    }
    // All files, or none.
    let again = ["keygen", "ckks", "--bootstrap", "insecure_toy", "-o", "k"];
    he(again).at(dir.path()).refuses();
    fs::remove_file(dir.path().join("k/secret.key")).unwrap();
    he(again).at(dir.path()).refuses();
    assert_eq!(names(&dir.path().join("k")), ["bootstrap.key", "eval.key", "public.key"]);
    let conflict = he(["keygen", "ckks", "--bootstrap", "fast", "--depth", "3", "-o", "k"]).run();
    assert_eq!(conflict.code, Some(2), "{}", conflict.stderr);
    let unknown = he(["keygen", "ckks", "--bootstrap", "fastest", "-o", "k"]).run();
    assert!(unknown.code == Some(2) && unknown.stderr.contains("exact_bound"), "{}", unknown.stderr);
}

/// Products of a table with a fresh one, past the levels that a fresh file has.
#[test]
fn tables_of_any_depth() {
    let (keys, dir) = (Keys::toy(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "a,b\n0.9,-0.9\n-0.9,0\n0.5,0.95\n").unwrap();
    encrypt(keys, &path("in.csv"), &path("x.he"), &[]);
    fs::copy(path("x.he"), path("in.he")).unwrap();
    let fresh = level(&path("x.he"));
    let mut refreshes = 0;
    // The least level that can be refreshed is 3.
    for i in 0..20 {
        if level(&path("x.he")) == 3 {
            refresh(keys, &path("x.he"), &path("y.he"));
            assert_eq!(level(&path("y.he")), fresh);
            fs::rename(path("y.he"), path("x.he")).unwrap();
            refreshes += 1;
        }
        let with = path("in.he");
        eval(keys, &["mul", "--with", with.to_str().unwrap()], &path("x.he"), &path("y.he"));
        fs::rename(path("y.he"), path("x.he")).unwrap();
        assert!(i > 0 || level(&path("x.he")) == fresh - 1);
    }
    assert_eq!(refreshes, 1);
    decrypt(keys, &path("x.he"), &path("out.csv"));
    let mut rows = csv::Reader::from_path(path("out.csv")).unwrap();
    let numbers: Vec<f64> = rows
        .records()
        .flat_map(|row| row.unwrap().iter().map(|field| field.parse().unwrap()).collect::<Vec<f64>>())
        .collect();
    for (found, expected) in numbers.iter().zip([0.9, -0.9, -0.9, 0.0, 0.5, 0.95]) {
        assert!((found - f64::powi(expected, 21)).abs() < 1e-2, "{numbers:?}");
    }
    let history = json(&he(["info", "--json", path("x.he").to_str().unwrap()]).ok())["history"].clone();
    let refreshed = history.as_array().unwrap().iter().filter(|name| *name == "refresh").count();
    assert_eq!((refreshed, history.as_array().unwrap().len()), (1, 21));
}

/// The bits of a refresh are those of the table from then on.
#[test]
fn tables_say_what_precision_is_left() {
    let (keys, dir) = (Keys::toy(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "0.9,0.123456789\n").unwrap();
    encrypt(keys, &path("in.csv"), &path("x.he"), &[]);
    let bits = |name: &str| {
        json(&he(["info", "--json", path(name).to_str().unwrap()]).ok())["table"]["precision_bits"]
            .as_f64()
            .unwrap()
    };
    refresh(keys, &path("x.he"), &path("y.he"));
    refresh(keys, &path("y.he"), &path("z.he"));
    let [fresh, once, twice] = ["x.he", "y.he", "z.he"].map(bits);
    assert!(fresh > once && (12.0..20.0).contains(&once), "{fresh}, {once}");
    // Two errors of one size are half a bit more than one.
    assert!((once - twice - 0.5).abs() < 0.1, "{once}, {twice}");
    decrypt(keys, &path("y.he"), &path("out.csv"));
    let text = fs::read_to_string(path("out.csv")).unwrap();
    let numbers: Vec<f64> = text.trim().split(',').map(|field| field.parse().unwrap()).collect();
    let bound = (-once).exp2();
    assert!((numbers[0] - 0.9).abs() < bound && (numbers[1] - 0.123456789).abs() < bound, "{text}");
}

#[test]
fn images_get_new_levels() {
    let (keys, dir) = (Keys::toy(), folder());
    let path = |name: &str| dir.path().join(name);
    eight(20, 13, 3, 1).save(path("in.png")).unwrap();
    encrypt(keys, &path("in.png"), &path("x.he"), &[]);
    eval(keys, &["blur"], &path("x.he"), &path("y.he"));
    refresh(keys, &path("y.he"), &path("z.he"));
    assert!(level(&path("z.he")) == level(&path("x.he")) && level(&path("y.he")) < level(&path("z.he")));
    for name in ["y", "z"] {
        decrypt(keys, &path(&format!("{name}.he")), &path(&format!("{name}.png")));
    }
    let [a, b] = ["y.png", "z.png"].map(|name| image::open(path(name)).unwrap().into_rgb8());
    assert!(a.pixels().zip(b.pixels()).all(|(a, b)| (0..3).all(|i| a.0[i].abs_diff(b.0[i]) <= 1)));
}

#[test]
fn what_cannot_be_refreshed() {
    let (keys, other, dir) = (Keys::toy(), Keys::toy_other(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "1,2\n").unwrap();
    encrypt(keys, &path("in.csv"), &path("x.he"), &[]);
    let try_with = |key: &str, input: &str| {
        let said = he(["eval", "refresh", input, "-k", key, "-o", "y.he"]).at(dir.path()).run();
        assert!(!path("y.he").exists());
        assert_eq!((said.code, said.stderr.lines().count()), (Some(1), 2), "{}", said.stderr);
        said.stderr
    };
    let own = bootstrap_key(keys);
    let told = try_with(&bootstrap_key(other), "x.he");
    assert!(told.contains("belongs to key set") && told.contains("to key set"), "{told}");
    assert!(try_with(&keys.eval, "x.he").contains("is a key, but not a bootstrapping key"));
    assert!(try_with("x.he", "x.he").contains("is an encrypted file, not a bootstrapping key"));
    assert!(try_with("none.key", "x.he").contains("cannot read none.key"));
    assert!(try_with(&own, &keys.eval).contains("is a key, not an encrypted file"));
    // The bootstrapping key in place of others.
    let blur = he(["eval", "sum", "x.he", "-k", &own, "-o", "y.he"]).at(dir.path()).refuses();
    assert!(blur.contains("is a bootstrapping key, not an evaluation key"), "{blur}");
    let decrypt = he(["decrypt", "x.he", "-k", &own, "-o", "-"]).at(dir.path()).refuses();
    assert!(decrypt.contains("is a bootstrapping key, not a secret key"), "{decrypt}");
    let bfv = Keys::bfv();
    encrypt(bfv, &path("in.csv"), &path("b.he"), &[]);
    assert!(try_with(&own, "b.he").contains("is encrypted by bfv"));
    // Sums may be larger than one.
    eval(keys, &["add", "--with", path("x.he").to_str().unwrap()], &path("x.he"), &path("s.he"));
    let told = try_with(&own, "s.he");
    assert!(told.contains("may be as large as 2, and those up to 1 can be refreshed"), "{told}");
    // Too few levels are left: a sum drops those that it does not need.
    eval(keys, &["sum"], &path("x.he"), &path("m.he"));
    assert!(level(&path("m.he")) < 3);
    let told = try_with(&own, "m.he");
    assert!(told.contains("needs 3 levels, and the encrypted file has "), "{told}");
    assert!(told.contains("refresh earlier, while at least 3 levels are left"), "{told}");
}

#[test]
fn presets_are_listed() {
    let text = he(["params", "--bootstrap"]).text();
    for (name, words) in [("fast", ["2^16", "32768"]), ("small", ["2^15", "1024"])] {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(words.iter().all(|word| line.contains(word)) && line.contains("128 bits"), "{line}");
    }
    let toy = text.lines().find(|line| line.starts_with("insecure_toy")).unwrap();
    assert!(toy.contains("INSECURE") && toy.contains(" - "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    let list = json(&he(["params", "--bootstrap", "--json"]).ok());
    let presets = list["presets"].as_array().unwrap();
    assert_eq!(presets.len(), 5);
    for preset in presets {
        let name = preset["preset"].as_str().unwrap();
        let one = json(&he(["params", "--bootstrap", name, "--json"]).ok());
        for field in ["refreshed_slots", "refreshed_levels", "bootstrap_memory_bytes", "failure_log2"] {
            assert_eq!(preset[field], one[field], "{name}: {field}");
        }
        let precise = preset["worst_precision_bits"].as_f64();
        assert!(precise.is_none_or(|bits| (10.0..30.0).contains(&bits)), "{name}");
        assert_eq!(precise.is_none(), name == "insecure_toy");
        let secure = if name == "insecure_toy" { 0 } else { 128 };
        assert_eq!(preset["security_bits_of_secret"], secure);
        assert_eq!(preset["security_bits_of_sparse_secret"], secure);
        // Keys in files are seeds and bodies, packed: less than half of what they are in memory.
        let (file, memory) = (one["bootstrap_key_bytes"].as_f64(), one["bootstrap_memory_bytes"].as_f64());
        let share = file.unwrap() / memory.unwrap();
        assert!((0.3..0.5).contains(&share), "{name}: {share}");
    }
}

#[cfg(feature = "bench")]
#[test]
fn stages_are_measured() {
    let told = json(&he(["bench", "bootstrap", "--quick", "--batch", "2", "--json"]).ok());
    let tables = told["tables"].as_array().unwrap();
    let ids: Vec<&str> = tables.iter().map(|table| table["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["bootstrap-insecure_toy", "bootstrap-insecure_toy-precision"]);
    let rows: Vec<&str> =
        tables[0]["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(rows, ["SlotsToCoeffs", "ModRaise", "CoeffsToSlots", "EvalMod", "Join", "one call"]);
    for column in tables[0]["columns"].as_array().unwrap() {
        assert!(column["values"].as_array().unwrap().iter().all(|value| value.as_f64().unwrap() > 0.0));
    }
    let shares = tables[1]["columns"][0]["values"].as_array().unwrap();
    let sum: f64 = shares.iter().filter_map(Value::as_f64).sum();
    assert!((sum - 100.0).abs() < 1e-6, "{sum}");
    let unknown = he(["bench", "bootstrap", "--quick", "--table", "none"]).refuses();
    assert!(unknown.contains("no table of the name none"), "{unknown}");
}

/// Training on real digits at insecure parameters, refreshed on the way, is about as accurate as in
/// the clear.
#[cfg(feature = "bench")]
#[test]
fn training_is_measured() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mnist");
    let told = json(&he(["bench", "helr", "--quick", "--iterations", "3", "--data", data, "--json"]).ok());
    let tables = told["tables"].as_array().unwrap();
    let ids: Vec<&str> = tables.iter().map(|table| table["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["helr", "helr-accuracy"]);
    let times = tables[0]["columns"].as_array().unwrap().last().unwrap();
    assert!(times["values"].as_array().unwrap().iter().all(|value| value.as_f64().unwrap() > 0.0));
    let percent = |way: usize, set: usize| tables[1]["columns"][way]["values"][set].as_f64().unwrap();
    for set in 0..2 {
        assert!((percent(1, set) - percent(2, set)).abs() <= 0.5, "{}", tables[1]);
    }
    let missing = he(["bench", "helr", "--quick", "--data", "none"]).run();
    assert_eq!(missing.code, Some(1));
    for part in ["cannot read none/train.gz", "models/mnist"] {
        assert!(missing.stderr.contains(part), "{}", missing.stderr);
    }
}

#[test]
fn the_deep_demo() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    eight(64, 48, 3, 1).save(path("in.png")).unwrap();
    let demo = ["demo", "in.png", "--deep", "--preset", "insecure_toy", "--times", "40", "-o", "out"];
    let outcome = he(demo).at(dir.path()).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    // It says first what it will do.
    let plan = "blurring 32 x 16 pixels 40 times under encryption, with 2 refreshes and keys of ";
    assert!(outcome.stderr.contains(plan) && outcome.stderr.contains("; about "), "{}", outcome.stderr);
    let text = String::from_utf8(outcome.stdout).unwrap();
    assert!(text.contains("40 blurs, 2 refreshes, PSNR against float64: "), "{text}");
    assert_eq!(names(&path("out")), ["blurred.png", "demo.json", "original.png"]);
    let told = json(&fs::read(path("out/demo.json")).unwrap());
    assert_eq!((&told["refreshes"], &told["secure"]), (&2.into(), &false.into()));
    let db = told["psnr_db"].as_f64().unwrap();
    assert!(db > 60.0, "{db}");
    let original = image::open(path("out/original.png")).unwrap().into_luma8();
    let blurred = image::open(path("out/blurred.png")).unwrap().into_luma8();
    assert_eq!((original.dimensions(), blurred.dimensions()), ((32, 16), (32, 16)));
    let spread = |image: &image::GrayImage| {
        let [least, most] = [image.pixels().map(|p| p.0[0]).min(), image.pixels().map(|p| p.0[0]).max()];
        most.unwrap() - least.unwrap()
    };
    assert!(spread(&blurred) < spread(&original));
    // Its own files are replaced, others are not.
    he(demo.iter().chain(&["--json"])).at(dir.path()).ok();
    fs::remove_file(path("out/demo.json")).unwrap();
    he(demo).at(dir.path()).refuses();
    fs::write(path("in.csv"), "1,2\n").unwrap();
    let table = he(["demo", "in.csv", "--deep", "-o", "other"]).at(dir.path()).refuses();
    assert!(table.contains("is a table, not an image") && !path("other").exists(), "{table}");
    assert_eq!(he(["demo", "in.png", "--times", "3"]).at(dir.path()).run().code, Some(2));
}
