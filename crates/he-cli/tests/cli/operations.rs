//! The table of operations is true: every operation computes on the files that it names there, what
//! plain numbers give, and is refused on all others, with a hint that the table gives.

use crate::pictures::Planes;
use crate::process::{Keys, bootstrap_key, decrypt, decrypt_text, encrypt, eval, folder, he};
use he_files::io::cancel::Cancel;
use he_files::io::input::Input;
use he_files::operation::{ComputedBy, Domain, Evaluation, Given, Kind, Operation, Row, Sources, TABLE};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Columns of numbers: of a table, or the channels of a picture in steps of a sample.
type Columns = Vec<Vec<f64>>;

const KERNEL: &str = "0 1 0; 2 -1 0; 0 0 1/2";
/// The public table of lookups.
const ENTRIES: [f64; 6] = [7.0, 5.0, 3.0, 1.0, 200.0, 4.0];

/// The files of a scheme.
struct Files {
    scheme: &'static str,
    keys: &'static Keys,
    dir: TempDir,
    /// Width and height of the pictures.
    size: (usize, usize),
}

/// The numbers of a file.
fn numbers(kind: Kind, scheme: &str, file: &str) -> Columns {
    let (channels, count) = match (kind, scheme) {
        (Kind::Image, "ckks") => (3, 30),
        (Kind::Image, _) => (1, 4),
        (Kind::Table | Kind::Digits, _) => (2, 3),
    };
    let number = |column: usize, row: usize| match (kind, scheme, file) {
        (Kind::Table | Kind::Digits, _, "a") => [[3, 5], [1, 2], [5, 0]][row][column],
        (Kind::Table | Kind::Digits, _, "b") => [[4, 5], [2, 1], [0, 6]][row][column],
        (Kind::Table | Kind::Digits, _, _) => [[1, 0], [0, 1], [1, 1]][row][column],
        (_, "tfhe", "a") => [1, 3, 0, 5][row],
        (_, "tfhe", _) => [2, 3, 4, 1][row],
        (_, _, "a") => (37 * row + 85 * column + 11) % 256,
        (..) => (91 * row + 43 * column + 120) % 256,
    };
    (0..channels).map(|column| (0..count).map(|row| number(column, row) as f64).collect()).collect()
}

impl Files {
    fn new(scheme: &'static str, keys: &'static Keys) -> Self {
        let size = if scheme == "ckks" { (6, 5) } else { (2, 2) };
        let files = Self { scheme, keys, dir: folder(), size };
        for name in ["a", "b"] {
            let channels = numbers(Kind::Image, scheme, name);
            let samples = (0..channels[0].len()).flat_map(|at| channels.iter().map(move |c| c[at] as u8));
            let color = if channels.len() == 3 { image::ColorType::Rgb8 } else { image::ColorType::L8 };
            let (samples, (width, height)) = (samples.collect::<Vec<u8>>(), size);
            let path = files.path("in.png");
            image::save_buffer(&path, &samples, width as u32, height as u32, color).unwrap();
            encrypt(keys, &path, &files.path(&format!("image-{name}")), &[]);
        }
        let width: &[&str] = if scheme == "tfhe" { &["--width", "8"] } else { &[] };
        for name in ["a", "b", "bits"] {
            let columns = numbers(Kind::Table, scheme, name);
            let rows = (0..3).map(|row| format!("{},{}\n", columns[0][row], columns[1][row]));
            fs::write(files.path("in.csv"), format!("p,q\n{}", rows.collect::<String>())).unwrap();
            encrypt(keys, &files.path("in.csv"), &files.path(&format!("table-{name}")), width);
            if scheme == "ckks" && name != "bits" {
                let digits = files.path(&format!("digits-{name}"));
                encrypt(keys, &files.path("in.csv"), &digits, &["--width", "8"]);
            }
        }
        if scheme.starts_with('b') && scheme != "bigckks" {
            fs::write(files.path("in.csv"), "party\nred\nblue\nred\n").unwrap();
            encrypt(keys, &files.path("in.csv"), &files.path("words"), &["--categories", "party"]);
        }
        let entries: String = ENTRIES.iter().map(|entry| format!("{entry}\n")).collect();
        fs::write(files.path("entries.csv"), entries).unwrap();
        let compared: &[&str] = match scheme {
            "tfhe" => &["image", "table"],
            "ckks" => &["digits"],
            _ => &[],
        };
        for kind in compared {
            let with = files.path(&format!("{kind}-b"));
            let call = ["lt", "--with", with.to_str().unwrap()];
            eval(keys, &call, &files.path(&format!("{kind}-a")), &files.path(&format!("{kind}-less")));
        }
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The files of an operation on a kind, the first of them first.
    fn inputs(&self, row: &Row, kind: Kind) -> Vec<PathBuf> {
        let names: &[&str] = match row.name {
            "select" if self.scheme == "tfhe" || kind == Kind::Digits => &["less", "a", "b"],
            "select" => &["a", "a", "b"],
            "refresh" if kind == Kind::Table => &["bits"],
            "count" if kind == Kind::Table && row.is_of(self.scheme) => return vec![self.path("words")],
            _ => &["a", "b"][..=row.others.len()],
        };
        names.iter().map(|name| self.path(&format!("{}-{name}", kind.name()))).collect()
    }

    /// Refuses the operation, with a hint; nothing is computed.
    fn refuses(&self, row: &Row, kind: Kind) {
        let what = format!("{} on {}s under {}", row.name, kind.name(), self.scheme);
        let required = row.parameters.iter().filter(|parameter| parameter.domain.is_required());
        let given = required.map(|parameter| match parameter.domain {
            Domain::Matrix => (parameter.name, Given::Text(KERNEL.to_owned())),
            Domain::Natural => (parameter.name, Given::Whole(1)),
            _ => (parameter.name, Given::Texts(vec!["1".to_owned()])),
        });
        let operation = Operation::given(row.name, given).unwrap();
        let mut files = self.inputs(row, kind).into_iter().map(|path| Input::open(&path).unwrap());
        let (input, key) = (files.next().unwrap(), Input::open(Path::new(&self.keys.eval)).unwrap());
        let sources = Sources { input, others: files.collect(), key, bootstrap: None };
        let error = Evaluation::new(&operation, sources, &Cancel::default()).err().expect(&what);
        let (message, hint) = (error.to_string(), error.hint().expect(&what));
        if row.key == ComputedBy::Bootstrapping {
            assert!(message.contains("not a bootstrapping key"), "{what}: {message}");
        } else if row.is_of(self.scheme) {
            let for_others = format!(", and {} is for ", row.name);
            let there = listed(kind, self.scheme).join(", ");
            assert!(message.contains(&for_others), "{what}: {message}");
            assert!(hint.replace(" and ", ", ").contains(&there), "{what}: {hint}, not {there}");
        } else {
            assert_eq!(message, format!("{} has no {}", self.scheme, row.name));
            for there in Kind::ALL.map(|kind| listed(kind, self.scheme).join(", ")) {
                assert!(hint.replace(" and ", ", ").contains(&there), "{what}: {hint}, not {there}");
            }
        }
    }

    /// Computes the operation by the command line, and compares the result with that of plain
    /// numbers.
    fn computes(&self, row: &Row, kind: Kind) {
        let what = format!("{} on {}s under {}", row.name, kind.name(), self.scheme);
        let inputs = self.inputs(row, kind);
        let matrix = ["--matrix", KERNEL];
        let table = self.path("entries.csv");
        let mut call = vec![row.name];
        for (other, path) in row.others.iter().zip(&inputs[1..]) {
            call.extend([["--with", "--otherwise"][usize::from(other.name == "otherwise")]]);
            call.push(path.to_str().unwrap());
        }
        let by = row.parameters.first().map(|parameter| format!("--{}", parameter.name)).unwrap_or_default();
        for parameter in row.parameters {
            match parameter.domain {
                Domain::Natural => call.extend([&*by, "2"]),
                Domain::Matrix => call.extend(matrix),
                Domain::Entries => call.extend(["--table", table.to_str().unwrap()]),
                _ => {}
            }
        }
        let result = self.path("result.he");
        let key = match row.key {
            ComputedBy::Evaluation => self.keys.eval.clone(),
            ComputedBy::Bootstrapping => bootstrap_key(self.keys),
        };
        match kind == Kind::Digits && ["sort", "top"].contains(&row.name) {
            // Tens of steps by themselves, and audited as any other operation in digits.
            true => eval(self.keys, &call, &inputs[0], &result),
            false => self.audited(&call, &inputs, &key, &result),
        }
        self.compares(row.name, kind, &result, &what);
        fs::remove_file(&result).unwrap();
        if row.name == "dot" {
            let key = &self.keys.eval;
            self.audited(&["dot", "--columns", "p,2"], &inputs[..1], key, &result);
            let [p, q] = &numbers(kind, self.scheme, "a")[..] else { panic!("two columns") };
            self.near(&result, &[p.iter().zip(q).map(|(p, q)| p * q).sum()], &what);
            fs::remove_file(&result).unwrap();
        }
    }

    /// Computes, and computes all of it again by the trace.
    fn audited(&self, call: &[&str], inputs: &[PathBuf], key: &str, result: &Path) {
        let (trace, result) = (self.path("trace"), result.to_str().unwrap());
        let (trace, inputs) = (trace.to_str().unwrap(), inputs.iter().map(|path| path.to_str().unwrap()));
        let files = [inputs.clone().next().unwrap(), "-k", key, "-o", result, "--record", trace];
        self.keys.on(he(["eval"].iter().chain(call).chain(&files))).ok();
        let files: Vec<&str> = ["audit", trace, "--input"].into_iter().chain(inputs).collect();
        let told = he([&files[..], &["-k", key, "--result", result, "--all", "--json"]].concat()).ok();
        let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
        assert!(told["computed"].as_u64() > Some(0) && told["computed"] == told["operations"], "{told}");
        fs::remove_file(trace).unwrap();
    }

    /// The numbers of a decrypted table are these.
    fn near(&self, result: &Path, expected: &[f64], what: &str) {
        let text = decrypt_text(self.keys, result);
        let rows = text.lines().skip(1).flat_map(|line| line.split(','));
        let found: Vec<f64> = rows.map(|field| field.parse().unwrap()).collect();
        assert_eq!(found.len(), expected.len(), "{what}: {text}");
        let is_exact = !self.scheme.ends_with("ckks") || what.contains("digits");
        let tolerance = if is_exact { 0.0 } else { 0.01 };
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= tolerance * expected.abs().max(1.0), "{what}: {text}");
        }
    }

    fn compares(&self, name: &str, kind: Kind, result: &Path, what: &str) {
        let tfhe = self.scheme == "tfhe" || kind == Kind::Digits;
        // The numbers of a picture are light, except in integers of bits.
        let white = if kind == Kind::Image && !tfhe { 255.0 } else { 1.0 };
        let file = |file: &str| -> Columns {
            let columns = numbers(kind, self.scheme, file);
            columns.into_iter().map(|column| column.into_iter().map(|x| x / white).collect()).collect()
        };
        let (a, b) = (file("a"), file("b"));
        let wrapped = |x: f64| if tfhe { x.rem_euclid(256.0) } else { x };
        let each = |f: &dyn Fn(f64, f64) -> f64| -> Columns {
            let column = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect();
            a.iter().zip(&b).map(column).collect()
        };
        // White where it is so.
        let condition = |f: &dyn Fn(f64, f64) -> bool| {
            let white = if kind == Kind::Image { 255.0 } else { 1.0 };
            each(&|a, b| white * f64::from(f(a, b)))
        };
        let bits = |f: &dyn Fn(u8, u8) -> u8| each(&|a, b| f64::from(f(a as u8, b as u8)));
        let column = |f: &dyn Fn(&[f64]) -> f64| -> Columns { a.iter().map(|a| vec![f(a)]).collect() };
        let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
        let covariance = |x: &[f64], y: &[f64]| {
            let centre = mean(x);
            mean(&x.iter().zip(y).map(|(x, y)| (x - centre) * y).collect::<Vec<_>>())
        };
        let filtered = |kernel: &[&[f64]]| {
            Planes { width: self.size.0, height: self.size.1, channels: a.clone() }.convolved(kernel).channels
        };
        let expected = match name {
            "add" => each(&|a, b| wrapped(a + b)),
            "sub" => each(&|a, b| wrapped(a - b)),
            "mul" => each(&|a, b| wrapped(a * b)),
            "lt" => condition(&|a, b| a < b),
            "le" => condition(&|a, b| a <= b),
            "gt" => condition(&|a, b| a > b),
            "ge" => condition(&|a, b| a >= b),
            "eq" => condition(&|a, b| a == b),
            "ne" => condition(&|a, b| a != b),
            "and" => bits(&|a, b| a & b),
            "or" => bits(&|a, b| a | b),
            "xor" => bits(&|a, b| a ^ b),
            "not" => bits(&|a, _| !a),
            "neg" => bits(&|a, _| a.wrapping_neg()),
            "abs" => a.clone(),
            "div" => bits(&|a, _| a / 2),
            "rem" => bits(&|a, _| a % 2),
            "shl" => bits(&|a, _| a << 2),
            "shr" => bits(&|a, _| a >> 2),
            "rotl" => bits(&|a, _| a.rotate_left(2)),
            "rotr" => bits(&|a, _| a.rotate_right(2)),
            "top" => {
                let mut sorted = a.clone();
                sorted.iter_mut().for_each(|column| column.sort_by(|x, y| y.total_cmp(x)));
                sorted.iter_mut().for_each(|column| column.truncate(2));
                sorted
            }
            "min" => each(&f64::min),
            "max" => each(&f64::max),
            "select" => each(&|a, b| if a < b { a } else { b }),
            "lookup" => each(&|a, _| ENTRIES.get(a as usize).copied().unwrap_or_default()),
            "sort" => {
                let mut sorted = a.clone();
                sorted.iter_mut().for_each(|column| column.sort_by(f64::total_cmp));
                sorted
            }
            "blur" => filtered(&[&[1.0 / 9.0; 3][..]; 3]),
            "sharpen" => filtered(&[&[0.0, -1.0, 0.0], &[-1.0, 5.0, -1.0], &[0.0, -1.0, 0.0]]),
            "edges" => filtered(&[&[-1.0, -1.0, -1.0], &[-1.0, 8.0, -1.0], &[-1.0, -1.0, -1.0]]),
            "kernel" => filtered(&[&[0.0, 1.0, 0.0], &[2.0, -1.0, 0.0], &[0.0, 0.0, 0.5]]),
            "brightness" => each(&|a, _| a + 0.1),
            "contrast" => each(&|a, _| 1.5 * (a - 0.5) + 0.5),
            "invert" => each(&|a, _| 1.0 - a),
            "grayscale" => {
                let gray = |i| 0.299 * a[0][i] + 0.587 * a[1][i] + 0.114 * a[2][i];
                vec![(0..a[0].len()).map(gray).collect()]
            }
            "blend" => each(&|a, b| (a + b) / 2.0),
            "refresh" if kind == Kind::Table => file("bits"),
            "refresh" => a.clone(),
            "sum" => column(&|a| a.iter().sum()),
            "mean" => column(&mean),
            "variance" => column(&|a| a.iter().map(|x| (x - mean(a)).powi(2)).sum::<f64>() / a.len() as f64),
            "covariance" => {
                let pairs = (0..a.len()).flat_map(|x| (x..a.len()).map(move |y| (x, y)));
                pairs.map(|(x, y)| vec![covariance(&a[x], &a[y])]).collect()
            }
            "regression" => {
                let [x, y] = &a[..] else { panic!("two columns") };
                let slope = covariance(x, y) / covariance(x, x);
                vec![vec![slope], vec![mean(y) - slope * mean(x)]]
            }
            "dot" => a.iter().zip(&b).map(|(a, b)| vec![a.iter().zip(b).map(|(a, b)| a * b).sum()]).collect(),
            "count" => {
                let counts = "column,category,count\nparty,blue,1\nparty,red,2\n";
                assert_eq!(decrypt_text(self.keys, result), counts, "{what}");
                return;
            }
            name => panic!("say here what {name} computes"),
        };
        // Pictures have places, and the results of these have none.
        if kind == Kind::Image && !["sort", "sum"].contains(&name) {
            let out = self.path("out.png");
            decrypt(self.keys, result, &out);
            let white = 255.0 / white;
            let channels = expected.iter().map(|column| column.iter().map(|x| x / white).collect()).collect();
            let expected = Planes { width: self.size.0, height: self.size.1, channels };
            expected.assert_shown(&Planes::read(&out), 255.0, what);
            fs::remove_file(&out).unwrap();
            return;
        }
        let rows = (0..expected[0].len()).flat_map(|row| expected.iter().map(move |column| column[row]));
        self.near(result, &rows.collect::<Vec<_>>(), what);
    }
}

/// The operations by an evaluation key.
fn listed(kind: Kind, scheme: &str) -> Vec<&'static str> {
    let rows = TABLE.iter().filter(|row| row.key == ComputedBy::Evaluation && row.on(kind).contains(&scheme));
    rows.map(|row| row.name).collect()
}

/// Every row, on files of every kind.
fn every_operation(scheme: &'static str, keys: &'static Keys) {
    let files = Files::new(scheme, keys);
    for row in TABLE {
        for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Digits || scheme == "ckks") {
            match row.on(kind).contains(&scheme) {
                true => files.computes(row, kind),
                false => files.refuses(row, kind),
            }
        }
    }
    assert!(
        Path::new(&bootstrap_key(keys)).exists()
            == TABLE.iter().any(|row| { row.key == ComputedBy::Bootstrapping && row.is_of(scheme) })
    );
}

#[test]
fn every_operation_of_ckks() {
    every_operation("ckks", Keys::toy());
}

#[test]
fn every_operation_of_bfv() {
    every_operation("bfv", Keys::toy_bfv());
}

#[test]
fn every_operation_of_bgv() {
    every_operation("bgv", Keys::toy_bgv());
}

#[test]
fn every_operation_of_bigckks() {
    every_operation("bigckks", Keys::bigckks());
}

#[test]
fn every_operation_of_tfhe() {
    every_operation("tfhe", Keys::toy_tfhe());
}
