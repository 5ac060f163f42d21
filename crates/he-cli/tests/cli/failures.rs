//! Failures are reported in one line, with what to do; nothing is left behind.

use crate::pictures::{eight, sixteen};
use crate::process::{Call, Keys, encrypt, eval, folder, he, names};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const KINDS: &str = "keygen writes secret.key for decrypt, public.key for encrypt, eval.key for eval";
const FIRST: &str = "encrypt first, then give what encrypt or eval wrote";

/// A folder with a picture, a table and their encryptions.
fn files() -> TempDir {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    eight(9, 8, 3, 1).save(path("in.png")).unwrap();
    fs::write(path("in.csv"), "a,b,a\n1,2,3\n4,5,6\n").unwrap();
    encrypt(keys, &path("in.png"), &path("x.he"), &[]);
    encrypt(keys, &path("in.csv"), &path("t.he"), &[]);
    dir
}

/// The program in a folder; afterwards the same files must be there.
fn in_folder(dir: &TempDir, arguments: &[&str]) -> Call {
    he(arguments).at(dir.path())
}

#[test]
fn encrypt_names_what_is_wrong_with_its_input() {
    let (keys, dir) = (Keys::usual(), files());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("binary"), (0..=255).collect::<Vec<u8>>()).unwrap();
    fs::write(path("empty"), b"").unwrap();
    fs::write(path("text"), "hello, world\n").unwrap();
    fs::write(path("nan.csv"), "x\n1\nNaN\n").unwrap();
    fs::write(path("ragged.csv"), "1,2\n3\n").unwrap();
    fs::write(path("word.csv"), "x,y\n1,2\n3,oh\n").unwrap();
    fs::write(path("latin.csv"), b"gr\xf6\xdfe\n1\n").unwrap();
    fs::write(path("a.gif"), b"GIF89a").unwrap();
    let png = fs::read(path("in.png")).unwrap();
    fs::write(path("half.png"), &png[..png.len() / 2]).unwrap();
    // A header that claims 2^31 pixels each way.
    let mut huge = png.clone();
    huge[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
    fs::write(path("huge.png"), huge).unwrap();
    let before = names(dir.path());
    let again = "get the file again, or open and save it with another program";
    for (input, error, hint) in [
        ("none.png", "cannot read none.png: no such file or directory", "check the spelling of the path"),
        (
            ".",
            ". is a folder, and keys of ckks encrypt images and tables",
            "encrypt the files in it one by one, or the folder as it is with an AES key or --passphrase",
        ),
        ("empty", "cannot read empty: it is empty", "PNG, JPEG, BMP, TIFF and WebP are read"),
        (
            "binary",
            "binary is neither an image nor a table",
            "PNG, JPEG, BMP, TIFF and WebP are read, and CSV in UTF-8",
        ),
        (
            "latin.csv",
            "latin.csv, line 1: the text is not in UTF-8, but in Windows-1252 or another encoding of 8 bits",
            "save it as UTF-8 (in Excel, as CSV UTF-8), or convert it: iconv -f WINDOWS-1252 -t UTF-8",
        ),
        (
            "text",
            "text holds a header and no numbers",
            "a table has rows of numbers; use --no-header if the first row is data",
        ),
        (
            "nan.csv",
            "nan.csv, line 3, column 1 (\"x\"): \"NaN\" is not a finite number",
            "remove the row or put a number there",
        ),
        (
            "ragged.csv",
            "ragged.csv, line 2: 1 field where the first row has 2",
            "every row needs the same number of fields; if the delimiter was guessed wrong, give --delimiter",
        ),
        (
            "word.csv",
            "word.csv, line 3, column 2 (\"y\"): \"oh\" is not a number",
            "numbers look like -1.5 or 2e-3, with a decimal point; give --header or --delimiter if they were guessed wrong",
        ),
        (
            "a.gif",
            "cannot read a.gif: GIF pictures are not supported",
            "convert it; PNG, JPEG, BMP, TIFF and WebP are read",
        ),
        (
            "half.png",
            "cannot read half.png: the picture is truncated or damaged (the end of the image is missing)",
            again,
        ),
        (
            "x.he",
            "x.he is a file of he-cli, not an image or a table",
            "encrypt takes PNG, JPEG, BMP, TIFF, WebP and CSV files",
        ),
    ] {
        in_folder(&dir, &["encrypt", input, "-k", &keys.public, "-o", "y.he"]).fails(1, error, hint);
    }
    let huge = in_folder(&dir, &["encrypt", "huge.png", "-k", &keys.public, "-o", "y.he"]).refuses();
    assert!(huge.starts_with("cannot read huge.png: "), "{huge}");
    assert_eq!(names(dir.path()), before);
}

#[test]
fn wrong_kinds_of_files_are_named() {
    let (keys, dir) = (Keys::usual(), files());
    let before = names(dir.path());
    let public = |what: &str| format!("{what}, not a public or secret key");
    for (key, error) in [
        ("in.png", public("in.png is a PNG picture")),
        ("x.he", public("x.he is an encrypted file")),
        (&keys.eval, public(&format!("{} is an evaluation key", keys.eval))),
    ] {
        in_folder(&dir, &["encrypt", "in.png", "-k", key, "-o", "y.he"]).fails(1, &error, KINDS);
    }
    for (input, key, error, hint) in [
        ("x.he", &*keys.secret, format!("{} is a secret key, not an evaluation key", keys.secret), KINDS),
        ("x.he", &*keys.public, format!("{} is a public key, not an evaluation key", keys.public), KINDS),
        ("x.he", "x.he", "x.he is an encrypted file, not an evaluation key".to_owned(), KINDS),
        ("in.png", &*keys.eval, "in.png is a PNG picture, not an encrypted file".to_owned(), FIRST),
        (&*keys.eval, &*keys.eval, format!("{} is a key, not an encrypted file", keys.eval), FIRST),
        (
            "in.csv",
            &*keys.eval,
            "in.csv: this is not a file that he-cli wrote".to_owned(),
            "give a key from keygen, or what encrypt or eval wrote",
        ),
        (
            "t.he",
            &*keys.eval,
            "t.he is an encrypted table, and blur is for images".to_owned(),
            "tables have add, sub, mul, sum, mean, variance, covariance, regression and dot",
        ),
    ] {
        in_folder(&dir, &["eval", "blur", input, "-k", key, "-o", "y.he"]).fails(1, &error, hint);
    }
    in_folder(&dir, &["eval", "sum", "x.he", "-k", &keys.eval, "-o", "y.he"]).fails(
        1,
        "x.he is an encrypted image, and sum is for tables",
        "images have add, sub, mul, blur, sharpen, edges, brightness, contrast, invert, grayscale, blend and kernel; to sum pixels, encrypt the table of them that decrypt -o pixels.csv writes",
    );
    in_folder(&dir, &["eval", "blend", "x.he", "--with", "t.he", "-k", &keys.eval, "-o", "y.he"]).fails(
        1,
        "t.he is not an encrypted image",
        "blend takes two encrypted images",
    );
    in_folder(&dir, &["eval", "dot", "t.he", "--with", "x.he", "-k", &keys.eval, "-o", "y.he"]).fails(
        1,
        "x.he is an encrypted image, not a table",
        "dot takes two encrypted tables",
    );
    let secret = format!("{} is a public key, not a secret key", keys.public);
    in_folder(&dir, &["decrypt", "x.he", "-k", &keys.public, "-o", "y.png"]).fails(1, &secret, KINDS);
    in_folder(&dir, &["info", "in.png"]).fails(
        1,
        "in.png is a PNG picture, not a key or an encrypted file",
        "give a key from keygen, or what encrypt or eval wrote",
    );
    assert_eq!(names(dir.path()), before);
}

#[test]
fn levels_halo_and_range_end() {
    let (keys, dir) = (Keys::usual(), files());
    let path = |name: &str| dir.path().join(name);
    eval(keys, &["contrast"], &path("x.he"), &path("1.he"));
    eval(keys, &["contrast", "--by", "0.5"], &path("1.he"), &path("2.he"));
    eval(keys, &["blur", "--radius", "2"], &path("x.he"), &path("b.he"));
    eval(keys, &["sharpen"], &path("x.he"), &path("s.he"));
    let before = names(dir.path());
    let levels = "the operation needs 1 level, and the encrypted file has 0 left";
    let deeper = "make keys with a larger keygen --depth, and encrypt again";
    for operation in ["contrast", "grayscale", "blur", "edges"] {
        in_folder(&dir, &["eval", operation, "2.he", "-k", &keys.eval, "-o", "y.he"])
            .fails(1, levels, deeper);
    }
    // Without a level left, what needs none works.
    eval(keys, &["invert"], &path("2.he"), &path("i.he"));
    fs::remove_file(path("i.he")).unwrap();
    let larger = "encrypt the image with --halo 3: the sum of the radii of all filters";
    in_folder(&dir, &["eval", "edges", "b.he", "-k", &keys.eval, "-o", "y.he"]).fails(
        1,
        "a filter of radius 1 on an image with 0 pixels of halo left",
        larger,
    );
    in_folder(&dir, &["eval", "blur", "--radius", "3", "x.he", "-k", &keys.eval, "-o", "y.he"]).fails(
        1,
        "a filter of radius 3 on an image with 2 pixels of halo left",
        larger,
    );
    let range = "use smaller weights, or make keys with a larger keygen --range";
    for (arguments, error) in [
        (&["sharpen", "s.he"][..], "results of up to 41.0 do not fit keys that hold 11.3"),
        (&["contrast", "--by", "1e9", "x.he"], "results of up to 5.0e8 do not fit keys that hold 11.3"),
        (
            &["kernel", "--matrix", "-1e300", "x.he"],
            "results of up to 1.0e300 do not fit keys that hold 11.3",
        ),
        (&["brightness", "--by", "11", "x.he"], "results of up to 12.0 do not fit keys that hold 11.3"),
    ] {
        let files = ["-k", &keys.eval, "-o", "y.he"];
        he(["eval"].iter().chain(arguments).chain(&files)).at(dir.path()).fails(1, error, range);
    }
    in_folder(&dir, &["encrypt", "in.png", "-k", &keys.public, "-o", "y.he", "--halo", "32"]).fails(
        2,
        "a halo of 32 pixels leaves nothing of a tile of 4096 slots",
        "choose --halo up to 31, or make keys with a larger keygen --slots",
    );
    assert_eq!(names(dir.path()), before);
}

#[test]
fn tables_that_do_not_fit_are_refused() {
    let (keys, dir) = (Keys::shallow(), folder());
    let path = |name: &str| dir.path().join(name);
    let rows = |count: usize| (1..=count).map(|i| format!("{i}\n")).collect::<String>();
    for (name, text) in
        [("20", rows(20)), ("3", rows(3)), ("big", "1e300\n".to_owned()), ("two", "1,2\n".to_owned())]
    {
        fs::write(path("csv"), text).unwrap();
        encrypt(keys, &path("csv"), &path(name), &[]);
    }
    eval(keys, &["mean"], &path("3"), &path("mean"));
    let before = names(dir.path());
    let eval = |arguments: &[&str]| {
        let files = ["-k", &keys.eval, "-o", "y.he"];
        he(["eval"].iter().chain(arguments).chain(&files)).at(dir.path())
    };
    let deeper = "make keys with a larger keygen --depth, and encrypt again";
    eval(&["variance", "3"]).fails(
        1,
        "the operation needs 1 level, and the encrypted file has 0 left",
        deeper,
    );
    eval(&["dot", "20", "--columns", "1,1"]).fails(
        1,
        "sums over 20 rows do not fit keys that hold 16.0 there",
        "make keys with a larger keygen --depth or --range, and encrypt again",
    );
    eval(&["sum", "mean"]).fails(
        1,
        "mean is the result of mean already",
        "compute from the encrypted original",
    );
    eval(&["dot", "3", "--with", "mean"]).fails(
        1,
        "mean is the result of mean already",
        "compute from the encrypted original",
    );
    eval(&["dot", "big", "--columns", "1,1"]).fails(
        1,
        "results of about 2^1994 are beyond all numbers",
        "multiply the column by a power of ten before it is encrypted",
    );
    for (other, error) in [
        ("20", "the tables differ in shape: 3 rows of 1 and 20 rows of 1"),
        ("two", "the tables differ in shape: 3 rows of 1 and 1 rows of 2"),
    ] {
        let hint = "dot takes tables with as many rows and columns";
        eval(&["dot", "3", "--with", other]).fails(1, error, hint);
    }
    assert_eq!(names(dir.path()), before);
}

#[test]
fn images_that_do_not_go_together_are_refused() {
    let (keys, dir) = (Keys::usual(), files());
    let path = |name: &str| dir.path().join(name);
    eight(9, 8, 1, 1).save(path("gray.png")).unwrap();
    encrypt(keys, &path("gray.png"), &path("gray.he"), &[]);
    encrypt(keys, &path("in.png"), &path("halo.he"), &["--halo", "3"]);
    let before = names(dir.path());
    for (other, error) in [
        ("gray.he", "the images differ: 9 x 8 RGB with a halo of 2 and 9 x 8 gray with a halo of 2"),
        ("halo.he", "the images differ: 9 x 8 RGB with a halo of 2 and 9 x 8 RGB with a halo of 3"),
    ] {
        in_folder(&dir, &["eval", "blend", "x.he", "--with", other, "-k", &keys.eval, "-o", "y.he"]).fails(
            1,
            error,
            "blend takes images of one size, kind of pixels and halo",
        );
    }
    in_folder(&dir, &["eval", "grayscale", "gray.he", "-k", &keys.eval, "-o", "y.he"]).fails(
        1,
        "the image has no colours: it is gray already",
        "grayscale takes RGB and RGBA images",
    );
    assert_eq!(names(dir.path()), before);
}

#[test]
fn formats_that_cannot_hold_the_result_are_refused_before_the_work() {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    sixteen(5, 4, 3, 1).save(path("deep.png")).unwrap();
    eight(5, 4, 4, 1).save(path("clear.png")).unwrap();
    for name in ["deep", "clear"] {
        encrypt(keys, &path(&format!("{name}.png")), &path(name), &[]);
    }
    let before = names(dir.path());
    for (input, output, error, hint) in [
        ("deep", "y.jpg", "JPEG holds 8 bits a channel, this picture has 16", "write it as .png or .tiff"),
        ("deep", "y.webp", "WebP holds 8 bits a channel, this picture has 16", "write it as .png or .tiff"),
        (
            "clear",
            "y.JPEG",
            "JPEG holds no transparency, this picture has an alpha channel",
            "write it as .png, .tiff, .webp or .bmp",
        ),
    ] {
        in_folder(&dir, &["decrypt", input, "-k", &keys.secret, "-o", output]).fails(1, error, hint);
    }
    assert_eq!(names(dir.path()), before);
}

#[test]
fn outputs_that_cannot_be_written_are_refused() {
    let (keys, dir) = (Keys::usual(), files());
    let path = |name: &str| dir.path().join(name);
    let before = names(dir.path());
    for (output, error, hint) in [
        ("t.he", "t.he exists already", "choose another name, or replace it with --force"),
        ("x.he", "x.he is both input and output", "write to another file"),
        (
            "no/such/y.he",
            "cannot write no/such/y.he: the folder no/such does not exist",
            "create it first: mkdir -p no/such",
        ),
        ("x.he/y.he", "cannot write x.he/y.he: x.he is not a folder", "choose another path"),
        (".", "cannot write .: it is a folder", "name a file inside it, such as ./result"),
    ] {
        let blur = ["eval", "blur", "x.he", "-k", &keys.eval, "-o", output];
        in_folder(&dir, &blur).fails(1, error, hint);
    }
    in_folder(&dir, &["eval", "blur", "x.he", "-k", &keys.eval, "-o", "./x.he", "--force"]).fails(
        1,
        "x.he is both input and output",
        "write to another file",
    );
    #[cfg(target_os = "linux")]
    for arguments in [
        &["eval", "blur", "x.he", "-k", &keys.eval][..],
        &["decrypt", "x.he", "-k", &keys.secret],
        &["decrypt", "t.he", "-k", &keys.secret],
        &["encrypt", "in.png", "-k", &keys.public],
    ] {
        let call = he(arguments.iter().chain(&["-o", "/dev/full"])).at(dir.path());
        assert!(call.refuses().ends_with("no space left on device"), "{arguments:?}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let locked = path("locked");
        fs::create_dir(&locked).unwrap();
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
        // The administrator may write anywhere.
        if fs::write(locked.join("probe"), b"").is_err() {
            in_folder(&dir, &["eval", "blur", "x.he", "-k", &keys.eval, "-o", "locked/y.he"]).fails(
                1,
                "cannot write locked/y.he: permission denied",
                "check the permissions of the file and of its folder",
            );
        }
        fs::remove_dir_all(&locked).unwrap();
    }
    assert_eq!(names(dir.path()), before);
}

#[test]
fn wrong_numbers_are_wrong_usage() {
    let (keys, dir) = (Keys::usual(), files());
    let before = names(dir.path());
    let eval = |arguments: &[&str]| {
        let files = ["-k", &keys.eval, "-o", "y.he"];
        he(["eval"].iter().chain(arguments).chain(&files)).at(dir.path())
    };
    for (matrix, error, hint) in [
        ("1 2; 3 4", "kernel: its width is 2", "an odd size from 1 to 255 is needed"),
        (
            "1 2 3; 4 5",
            "kernel: row 2 has 2 weights and row 1 has 3",
            "an equal length of all rows is needed",
        ),
        ("1 x 3", "kernel: `x` is not a number", "a matrix like \"0 -1 0; -1 5 -1; 0 -1 0\" is needed"),
        ("", "kernel: its width is 0", "an odd size from 1 to 255 is needed"),
        (
            "nan",
            "kernel: the weight in row 1, column 1 is not a finite number",
            "give finite numbers of ordinary size",
        ),
        (
            "1/0",
            "kernel: the weight in row 1, column 1 is not a finite number",
            "give finite numbers of ordinary size",
        ),
    ] {
        eval(&["kernel", "--matrix", matrix, "x.he"]).fails(2, error, hint);
    }
    for (arguments, error, hint) in [
        (
            &["blur", "--radius", "200", "x.he"][..],
            "kernel: its width is 401",
            "an odd size from 1 to 255 is needed",
        ),
        (&["blur", "--sigma", "-1", "x.he"], "kernel: sigma is -1", "a positive number is needed"),
        (
            &["brightness", "--by", "inf", "x.he"],
            "affine map: 1 x + inf is not finite",
            "give finite numbers of ordinary size",
        ),
        (
            &["blend", "--with", "x.he", "--alpha", "1.5", "x.he"],
            "a weight of 1.5",
            "choose --alpha between 0 and 1",
        ),
        (&["dot", "t.he"], "dot needs a second operand", "give --columns A,B, or --with OTHER"),
        (&["dot", "t.he", "--columns", "1"], "1 columns given", "give two: --columns A,B"),
        (
            &["dot", "t.he", "--columns", "b,7"],
            "there is no column 7",
            "give names of the header, or numbers from 1 to 3",
        ),
        (&["dot", "t.he", "--columns", "a,b"], "two columns are called a", "give numbers from 1 to 3"),
        (&["blur", "-"], "standard input is named for two files", "give - for one file only"),
    ] {
        let call = if arguments.contains(&"-") {
            in_folder(&dir, &["eval", "blend", "-", "--with", "-", "-k", &keys.eval, "-o", "y.he"])
        } else {
            eval(arguments)
        };
        call.fails(2, error, hint);
    }
    for (arguments, error, hint) in [
        (&["--depth", "99"][..], "depth is 99", "it must be in 0 ..= 60"),
        (&["--precision", "2"], "precision (bits) is 2", "it must be in 4 ..= 60"),
        (&["--security", "100"], "no table for 100 bits of security", "choose --security 128, 192 or 256"),
        (
            &["--radius", "8"],
            "a radius of 8 would take too many keys",
            "choose --radius up to 7; larger filters sweep along columns and rows by the keys of radius 1",
        ),
        (&["--slots", "0"], "number of slots is 0", "it must be in 1 ..= 32768"),
    ] {
        he(["keygen", "ckks", "-o", "k"].iter().chain(arguments)).at(dir.path()).fails(2, error, hint);
    }
    in_folder(&dir, &["keygen", "ckks", "-o", "k", "--depth", "50", "--precision", "40"]).fails(
        1,
        "depth 50 with 40 bits of precision and 4 of range needs log2(QP) = 3407 bits at N = 2^16, where 1746 are secure",
        "ask for at most 7 bits of precision at depth 50, or for at most depth 25 with 40 bits",
    );
    in_folder(&dir, &["keygen", "ckks", "-o", "-"]).fails(
        2,
        "the results are several files and need a folder",
        "name a folder with -o, such as out/",
    );
    assert_eq!(names(dir.path()), before);
}

#[test]
fn unknown_commands_and_flags_are_wrong_usage() {
    for arguments in [
        &[][..],
        &["frobnicate"],
        &["--frobnicate"],
        &["keygen", "rsa", "-o", "k"],
        &["keygen", "bfv", "-o", "k", "--bits", "8", "--plain-modulus", "65537"],
        &["encrypt", "x", "-k", "k", "-o", "y", "--categories", "a=x,x"],
        &["encrypt", "x", "-k", "k", "-o", "y", "--categories", "a=,"],
        &["eval", "add", "x", "-k", "k", "-o", "y"],
        &["keygen", "ckks"],
        &["keygen", "ckks", "-o", "k", "--depth", "-1"],
        &["keygen", "ckks", "-o", "k", "--depth", "two"],
        &["encrypt", "x"],
        &["encrypt", "x", "-k", "k", "-o", "y", "--halo", "1.5"],
        &["encrypt", "x", "-k", "k", "-o", "y", "--header", "--no-header"],
        &["encrypt", "x", "-k", "k", "-o", "y", "--delimiter", "ab"],
        &["encrypt", "x", "-k", "k", "-o", "y", "--delimiter", "1"],
        &["eval"],
        &["eval", "smear", "x", "-k", "k", "-o", "y"],
        &["eval", "blur", "x", "-k", "k", "-o", "y", "--sigma", "wide"],
        &["eval", "kernel", "x", "-k", "k", "-o", "y"],
        &["eval", "dot", "x", "-k", "k", "-o", "y", "--with", "z", "--columns", "1,2"],
        &["decrypt", "x", "-k", "k"],
        &["info"],
    ] {
        let outcome = he(arguments).run();
        assert_eq!(outcome.code, Some(2), "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stdout.is_empty() && !outcome.stderr.is_empty(), "{arguments:?}");
    }
    assert!(!Path::new("k").exists());
}
