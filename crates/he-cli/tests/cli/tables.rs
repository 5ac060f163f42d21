//! Tables: what goes in comes back to the digit; statistics against float64.

use crate::pictures::noise;
use crate::process::{Keys, decrypt, encrypt, eval, folder, he};
use std::fs;
use std::path::Path;

/// The text that comes back of a table after some operations.
fn round(text: &str, operation: &[&str], options: &[&str]) -> String {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), text).unwrap();
    encrypt(keys, &path("in.csv"), &path("x.he"), options);
    let result = if operation.is_empty() {
        path("x.he")
    } else {
        eval(keys, operation, &path("x.he"), &path("y.he"));
        path("y.he")
    };
    decrypt(keys, &result, &path("out.csv"));
    fs::read_to_string(path("out.csv")).unwrap()
}

fn numbers(line: &str) -> Vec<f64> {
    line.split(',').map(|field| field.parse().unwrap()).collect()
}

#[test]
fn tables_come_back_to_the_digit() {
    for text in [
        "price,amount\n12.34,1\n999.99,1000000\n-0.1,-3\n5,0\n",
        "x\n0.1\n",
        "1,2\n3,4\n",
        "0\n0\n",
        "a,b\n1e-300,1.5e300\n-2e-300,0\n",
        "big,small\n123000000000,0.00000125\n-456000000000,-0.00000001\n",
        "\"a, b\",\"say \"\"x\"\"\",größe\n1,2,3\n",
        "\"a;b\",\"c\"\n1,2\n",
        "1048576\n-0.5\n1048575.5\n",
    ] {
        let (found, expected) = (round(text, &[], &[]), text.replace("0.00000125", "1.25e-6"));
        let expected = expected.replace("-0.00000001", "-1e-8");
        assert_eq!(found, expected);
    }
}

#[test]
fn thousands_of_prices_come_back_to_the_cent() {
    let mut next = noise(1);
    let rows: String = (0..10_000)
        .map(|_| {
            let cents = next() % 1_000_000;
            let text = format!("{}.{:02}", cents / 100, cents % 100);
            text.trim_end_matches('0').trim_end_matches('.').to_owned() + "\n"
        })
        .collect();
    let text = format!("price\n{rows}");
    assert!(round(&text, &[], &[]) == text);
}

#[test]
fn csv_of_many_kinds_is_read() {
    for (text, options) in [
        ("a;b\n1;2\n", &[][..]),
        ("a\tb\r\n1\t2\r\n", &[]),
        ("\u{feff}a,b\n 1 , 2 \n", &[]),
        ("a|b\n1|2\n", &["--delimiter", "|"]),
        ("a\tb\n1\t2\n", &["--delimiter", "tab"]),
    ] {
        assert_eq!(round(text, &[], options), "a,b\n1,2\n", "{text:?}");
    }
    assert_eq!(round("2024,2025\n1,2\n", &[], &["--header"]), "2024,2025\n1,2\n");
    assert_eq!(round("2024,2025\n1,2\n", &["sum"], &["--header"]), "2024,2025\n1,2\n");
    assert_eq!(round("2024,2025\n1,2\n", &["sum"], &["--no-header"]), "2025,2027\n");
}

fn assert_near(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        let allowed = tolerance * expected.abs().max(1e-9);
        assert!((found - expected).abs() <= allowed, "{what}: {found}, not {expected}");
    }
}

#[test]
fn statistics_match_float64() {
    // One row, few, as many as slots, more than one vector.
    for rows in [1usize, 6, 4096, 9001] {
        let mut next = noise(rows as u64);
        let mut column = |low: f64, high: f64| -> Vec<f64> {
            (0..rows).map(|_| low + (high - low) * (next() % 10_000) as f64 / 10_000.0).collect()
        };
        let columns = [column(10.0, 20.0), column(-3e6, 5e6), column(1e-5, 9e-5)];
        let line =
            |row: usize| columns.iter().map(|c| c[row].to_string()).collect::<Vec<_>>().join(",") + "\n";
        let text = "u,v,w\n".to_owned() + &(0..rows).map(line).collect::<String>();
        let count = rows as f64;
        let of_each = |f: &dyn Fn(&[f64]) -> f64| columns.iter().map(|c| f(c)).collect::<Vec<f64>>();
        let sum = |c: &[f64]| c.iter().sum::<f64>();
        let mean = |c: &[f64]| sum(c) / count;
        let variance = |c: &[f64]| c.iter().map(|x| (x - mean(c)).powi(2)).sum::<f64>() / count;
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        let cases: [(&[&str], &str, Vec<f64>, f64); 5] = [
            (&["mean"], "u,v,w", of_each(&mean), 1e-5),
            (&["sum"], "u,v,w", of_each(&sum), 1e-5),
            (&["dot", "--columns", "u,w"], "u w", vec![dot(&columns[0], &columns[2])], 1e-5),
            (&["dot", "--columns", "3,v"], "w v", vec![dot(&columns[2], &columns[1])], 1e-3),
            (&["dot", "--columns", "2,2"], "v v", vec![dot(&columns[1], &columns[1])], 1e-5),
        ];
        for (operation, header, expected, tolerance) in cases {
            let found = round(&text, operation, &[]);
            let mut lines = found.lines();
            let what = format!("{rows} rows, {}", operation.join(" "));
            assert_eq!(lines.next(), Some(header), "{what}");
            assert_near(&numbers(lines.next().unwrap()), &expected, tolerance, &what);
            assert_eq!(lines.next(), None, "{what}");
        }
        let found = round(&text, &["variance"], &[]);
        let found = numbers(found.lines().nth(1).unwrap());
        for ((found, expected), column) in found.iter().zip(of_each(&variance)).zip(&columns) {
            // The error is relative to the mean of the squares.
            let scale = column.iter().map(|x| x * x).sum::<f64>() / count;
            assert!(
                (found - expected).abs() <= 1e-6 * scale,
                "{rows} rows, variance: {found}, not {expected}"
            );
        }
    }
}

/// Covariances and fits of columns that share vectors, that do not, and that lie over several.
#[test]
fn covariances_and_regressions_match_float64() {
    for (rows, unpacked) in [(7usize, false), (100, true), (5000, false)] {
        let mut next = noise(rows as u64);
        let mut column = |low: f64, high: f64| -> Vec<f64> {
            (0..rows).map(|_| low + (high - low) * (next() % 10_000) as f64 / 10_000.0).collect()
        };
        // The pressure has an offset.
        let (u, v) = (column(-2.0, 3.0), column(1000.0, 1020.0));
        let error = column(-0.1, 0.1);
        let target = |row: usize| 2.0 * u[row] - 0.5 * v[row] + 7.0 + error[row];
        let y: Vec<f64> = (0..rows).map(target).collect();
        let columns = [&u, &y, &v];
        let line = |row: usize| columns.map(|c| c[row].to_string()).join(",") + "\n";
        let text = "u,y,v\n".to_owned() + &(0..rows).map(line).collect::<String>();
        let flags: &[&str] = if unpacked { &["--unpacked"] } else { &[] };
        let what = format!("{rows} rows, unpacked: {unpacked}");

        let mean = |c: &[f64]| c.iter().sum::<f64>() / rows as f64;
        let covariance = |a: &[f64], b: &[f64]| {
            let (x, y) = (mean(a), mean(b));
            mean(&a.iter().zip(b).map(|(a, b)| (a - x) * (b - y)).collect::<Vec<_>>())
        };
        let found = round(&text, &["covariance"], flags);
        let mut lines = found.lines();
        assert_eq!(lines.next(), Some("u u,u y,u v,y y,y v,v v"), "{what}");
        let pairs = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];
        let expected = pairs.map(|(a, b)| covariance(columns[a], columns[b]));
        for (found, expected) in numbers(lines.next().unwrap()).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-3, "{what}: {found}, not {expected}");
        }
        assert_eq!(lines.next(), None, "{what}");

        // The normal equations of two features, by Cramer's rule.
        let [uu, uv, vv] = [(&u, &u), (&u, &v), (&v, &v)].map(|(a, b)| covariance(a, b));
        let (uy, vy) = (covariance(&u, &y), covariance(&v, &y));
        let determinant = uu * vv - uv * uv;
        let of_u = (uy * vv - vy * uv) / determinant;
        let of_v = (vy * uu - uy * uv) / determinant;
        let intercept = mean(&y) - of_u * mean(&u) - of_v * mean(&v);
        for of in ["y", "2"] {
            let found = round(&text, &["regression", "--target", of], flags);
            let mut lines = found.lines();
            assert_eq!(lines.next(), Some("u,v,intercept"), "{what}");
            let found = numbers(lines.next().unwrap());
            assert!((found[0] - of_u).abs() < 1e-3 && (found[1] - of_v).abs() < 1e-3, "{what}: {found:?}");
            assert!((found[2] - intercept).abs() < 1.0, "{what}: {found:?}, not {intercept}");
        }
    }
}

#[test]
fn regressions_refuse_what_has_no_fit() {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    let key = &*keys.eval;
    for (text, error, hint) in [
        (
            "x\n1\n2\n",
            "the table has one column, and a regression explains one by others",
            "encrypt the columns of all features in one table with it",
        ),
        (
            "x,y\n1,2\n",
            "a regression needs at least 2 rows, and the table has 1",
            "encrypt a table of more rows or fewer columns",
        ),
    ] {
        fs::write(path("x.csv"), text).unwrap();
        encrypt(keys, &path("x.csv"), &path("x.he"), &["--header"]);
        let call = ["eval", "regression", "x.he", "-k", key, "-o", "y.he"];
        he(call).at(dir.path()).fails(1, error, hint);
        fs::remove_file(path("x.he")).unwrap();
    }
    // The second feature is twice the first.
    fs::write(path("x.csv"), "x,z,y\n1,2,2\n3,6,5\n4,8,5\n-1,-2,3\n").unwrap();
    encrypt(keys, &path("x.csv"), &path("x.he"), &[]);
    eval(keys, &["regression"], &path("x.he"), &path("y.he"));
    he(["decrypt", "y.he", "-k", &keys.secret, "-o", "-"]).at(dir.path()).fails(
        1,
        "the features of y.he are constant, or depend on each other linearly, as far as the precision tells",
        "leave out columns that follow from others, or encrypt with more precision",
    );
    // The result of a statistic is not a table of rows.
    he(["eval", "covariance", "y.he", "-k", key, "-o", "z.he"]).at(dir.path()).fails(
        1,
        "y.he is the result of regression already",
        "compute from the encrypted original",
    );
}

/// The fit has fewer numbers than the moments that it is computed from.
#[test]
fn the_size_of_a_fit_is_its_own() {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("x.csv"), "x,y\n1,2\n3,5\n4,7\n-1,-3\n").unwrap();
    encrypt(keys, &path("x.csv"), &path("x.he"), &[]);
    eval(keys, &["regression"], &path("x.he"), &path("y.he"));
    let found = he(["decrypt", "--json", "y.he", "-k", &keys.secret, "-o", "y.csv"]).at(dir.path()).text();
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["values"], 2, "{found}");
    let shown = he(["decrypt", "y.he", "-k", &keys.secret, "-o", "z.csv"]).at(dir.path()).run();
    assert!(shown.stderr.contains("1 row, 2 columns"), "{}", shown.stderr);
    assert_eq!(fs::read_to_string(path("z.csv")).unwrap().lines().next(), Some("x,intercept"));
}

#[test]
fn cents_add_up() {
    let text = "price,amount\n12.34,1\n999.99,1000000\n-0.1,3\n5,-70000\n";
    assert_eq!(round(text, &["sum"], &[]), "price,amount\n1017.23,930004\n");
    assert_eq!(round(text, &["mean"], &[]), "price,amount\n254.3075,232501\n");
}

#[test]
fn tables_multiply() {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    for (name, text) in
        [("a", "x,y\n1,2\n3,4\n5,6\n"), ("b", "u,v\n0.5,10\n0.25,20\n0.125,30\n"), ("c", "7,8\n1,1\n1,1\n")]
    {
        fs::write(path(name), text).unwrap();
        encrypt(
            keys,
            &path(name),
            &path(&format!("{name}.he")),
            &["--no-header"].repeat(usize::from(name == "c")),
        );
    }
    let with = |name: &str| path(name).to_str().unwrap().to_owned();
    for (other, expected) in
        [("b.he", "x u,y v\n1.875,280\n"), ("c.he", "15,26\n"), ("a.he", "x x,y y\n35,56\n")]
    {
        let out = path(&format!("out-{other}"));
        eval(keys, &["dot", "--with", &with(other)], &path("a.he"), &out);
        let text = he(["decrypt", out.to_str().unwrap(), "-k", &keys.secret, "-o", "-"]).text();
        assert_eq!(text, expected, "{other}");
    }
}

#[test]
fn names_decide_before_numbers() {
    let text = "2,b,1,b\n1,10,100,1000\n";
    assert_eq!(round(text, &["dot", "--columns", "1,2"], &[]), "1 2\n100\n");
    assert_eq!(round(text, &["dot", "--columns", "3,4"], &[]), "1 b\n100000\n");
}

#[test]
fn pipes_end_on_the_terminal() {
    let keys = Keys::usual();
    let encrypted = he(["encrypt", "-", "-k", &keys.public, "-o", "-"]).stdin(b"1\n2\n4\n").ok();
    let sums = he(["eval", "sum", "-", "-k", &keys.eval, "-o", "-"]).stdin(&encrypted).ok();
    assert_eq!(he(["decrypt", "-", "-k", &keys.secret, "-o", "-"]).stdin(&sums).text(), "7\n");
    assert_eq!(he(["decrypt", "-", "-k", &keys.secret, "-o", "/dev/stdout"]).stdin(&sums).text(), "7\n");
    assert!(!Path::new("-").exists());
}

/// The lines that a process wrote to standard error besides its summary.
fn told(arguments: &[&str], dir: &Path) -> String {
    let outcome = he(arguments.iter().chain(&["-q"])).at(dir).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    outcome.stderr
}

fn statistics(values: &[f64]) -> [f64; 3] {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    [mean * count, mean, values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count]
}

#[test]
fn columns_far_from_zero_keep_their_digits() {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    let mut next = noise(12);
    let mut column = |centre: f64, spread: u64| -> Vec<f64> {
        (0..300).map(|_| centre + (next() % (20 * spread + 1)) as f64 / 10.0 - spread as f64).collect()
    };
    let near = [column(1e4, 1), column(101_325.0, 50), column(-273.1, 2), column(5.0, 20)];
    let far = [column(2e4, 3), column(7.0, 5), column(-1000.0, 1), column(1e6, 10)];
    let write = |name: &str, columns: &[Vec<f64>]| {
        let line =
            |row: usize| columns.iter().map(|c| format!("{:.1}", c[row])).collect::<Vec<_>>().join(",");
        let text: String = (0..300).map(|row| line(row) + "\n").collect();
        fs::write(path(name), format!("a,b,c,d\n{text}")).unwrap();
    };
    write("x.csv", &near);
    write("y.csv", &far);
    for name in ["x", "y"] {
        encrypt(keys, &path(&format!("{name}.csv")), &path(&format!("{name}.he")), &[]);
    }
    let json: serde_json::Value =
        serde_json::from_slice(&he(["info", "--json", "x.he"]).at(dir.path()).ok()).unwrap();
    for (i, offset) in [true, true, true, false].into_iter().enumerate() {
        let column = &json["table"]["columns"][i];
        assert_eq!(column.get("offset").is_some(), offset, "{column}");
    }
    // Every number comes back as it was.
    let back = he(["decrypt", "x.he", "-k", &keys.secret, "-o", "-"]).at(dir.path()).text();
    for (row, line) in back.lines().skip(1).enumerate() {
        let expected: Vec<f64> = near.iter().map(|c| format!("{:.1}", c[row]).parse().unwrap()).collect();
        assert_eq!(numbers(line), expected, "row {row}");
    }
    let compute = |operation: &[&str], input: &str| -> Vec<Vec<f64>> {
        let result = format!("{}-of-{input}", operation[0]);
        let _ = fs::remove_file(path(&result));
        eval(keys, operation, &path(input), &path(&result));
        let text = he(["decrypt", &result, "-k", &keys.secret, "-o", "-"]).at(dir.path()).text();
        text.lines().skip(1).map(numbers).collect()
    };
    for (at, (name, tolerance)) in [("sum", 1e-7), ("mean", 1e-7), ("variance", 1e-5)].into_iter().enumerate()
    {
        for (file, columns) in [("x.he", &near), ("y.he", &far)] {
            let expected: Vec<f64> = columns.iter().map(|c| statistics(c)[at]).collect();
            assert_near(&compute(&[name], file)[0], &expected, tolerance, &format!("{name} of {file}"));
        }
    }
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    for (columns, a, b) in [("a,b", 0, 1), ("1,4", 0, 3), ("d,c", 3, 2), ("2,2", 1, 1), ("d,d", 3, 3)] {
        let expected = [dot(&near[a], &near[b])];
        assert_near(&compute(&["dot", "--columns", columns], "x.he")[0], &expected, 1e-5, columns);
    }
    let with = path("y.he").to_str().unwrap().to_owned();
    let expected: Vec<f64> = near.iter().zip(&far).map(|(a, b)| dot(a, b)).collect();
    assert_near(&compute(&["dot", "--with", &with], "x.he")[0], &expected, 1e-4, "dot of two tables");
    for (operation, f) in
        [("add", (|a, b| a + b) as fn(f64, f64) -> f64), ("sub", |a, b| a - b), ("mul", |a, b| a * b)]
    {
        let rows = compute(&[operation, "--with", &with], "x.he");
        for (row, found) in rows.iter().enumerate() {
            for (i, x) in found.iter().enumerate() {
                let (a, b) = (near[i][row], far[i][row]);
                let allowed = 1e-5 * (a.abs() + 1.0) * (b.abs() + 1.0).max(if i == 3 { 1e6 } else { 1.0 });
                assert!((x - f(a, b)).abs() <= allowed, "{operation} of {a} and {b}: {x}");
            }
        }
    }
    // The result of two tables can be computed on further.
    eval(keys, &["add", "--with", &with], &path("x.he"), &path("both.he"));
    let sums: Vec<Vec<f64>> =
        near.iter().zip(&far).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + b).collect()).collect();
    let expected: Vec<f64> = sums.iter().map(|c| statistics(c)[1]).collect();
    assert_near(&compute(&["mean"], "both.he")[0], &expected, 1e-6, "mean of a sum");
}

#[test]
fn bigckks_takes_offsets() {
    let (keys, dir) = (Keys::bigckks(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("a.csv"), "x\n10001\n9999\n10000.5\n").unwrap();
    fs::write(path("b.csv"), "x\n3\n-2\n0.5\n").unwrap();
    for name in ["a", "b"] {
        encrypt(keys, &path(&format!("{name}.csv")), &path(&format!("{name}.he")), &[]);
    }
    let text = |file: &str| {
        let out = path("out.csv");
        let _ = fs::remove_file(&out);
        decrypt(keys, &path(file), &out);
        fs::read_to_string(out).unwrap()
    };
    assert_eq!(text("a.he"), "x\n10001\n9999\n10000.5\n");
    let with = path("b.he").to_str().unwrap().to_owned();
    for (operation, expected) in [
        ("add", [10_004.0, 9997.0, 10_001.0]),
        ("sub", [9998.0, 10_001.0, 10_000.0]),
        ("mul", [30_003.0, -19_998.0, 5000.25]),
    ] {
        let out = format!("{operation}.he");
        eval(keys, &[operation, "--with", &with], &path("a.he"), &path(&out));
        let found: Vec<f64> = text(&out).lines().skip(1).map(|line| line.parse().unwrap()).collect();
        for (x, e) in found.iter().zip(expected) {
            assert!((x - e).abs() <= 1e-6 * e.abs(), "{operation}: {x}, not {e}");
        }
    }
}

#[test]
fn offsets_are_stated_or_left_out() {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "a,b\n10001,20.5\n9999,19\n10000,22\n").unwrap();
    let offsets = |options: &[&str]| -> Vec<Option<f64>> {
        let _ = fs::remove_file(path("x.he"));
        encrypt(keys, &path("in.csv"), &path("x.he"), options);
        let json: serde_json::Value =
            serde_json::from_slice(&he(["info", "--json", "x.he"]).at(dir.path()).ok()).unwrap();
        let columns = json["table"]["columns"].as_array().unwrap();
        columns.iter().map(|c| c.get("offset").and_then(serde_json::Value::as_f64)).collect()
    };
    assert_eq!(offsets(&[]), [Some(10_000.0), None]);
    assert_eq!(offsets(&["--offset", "none"]), [None, None]);
    assert_eq!(offsets(&["--offset", "a=none", "--offset", "b=20"]), [None, Some(20.0)]);
    assert_eq!(offsets(&["--offset", "none", "--offset", "2=20"]), [None, Some(20.0)]);
    assert!(he(["info", "x.he"]).at(dir.path()).text().contains("\noffset       0, 20\n"));
    let call = |options: &[&str]| {
        let start = ["encrypt", "in.csv", "-k", &keys.public, "-o", "y.he"];
        he(start.iter().chain(options)).at(dir.path())
    };
    call(&["--offset", "c=1"]).fails(
        2,
        "there is no column c",
        "give names of the header, or numbers from 1 to 2",
    );
    for wrong in ["5", "a=", "a=nan", "a=x"] {
        assert_eq!(call(&["--offset", wrong]).run().code, Some(2), "{wrong}");
    }
    he(["encrypt", "in.csv", "-k", &Keys::bfv().public, "--offset", "none", "-o", "y.he"])
        .at(dir.path())
        .fails(
            2,
            "--offset is for keys of ckks and bigckks",
            "leave it out: whole numbers are exact wherever they lie",
        );
}

#[test]
fn statistics_below_their_error_say_so() {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "x\n1000001\n999999\n1000000\n").unwrap();
    for (options, determined) in [(&["--offset", "none"][..], false), (&[], true)] {
        for file in ["x.he", "y.he"] {
            let _ = fs::remove_file(path(file));
        }
        encrypt(keys, &path("in.csv"), &path("x.he"), options);
        eval(keys, &["variance"], &path("x.he"), &path("y.he"));
        let outcome = he(["decrypt", "y.he", "-k", &keys.secret, "-o", "-", "-q"]).at(dir.path()).run();
        let text = String::from_utf8(outcome.stdout).unwrap();
        if determined {
            assert_eq!(outcome.stderr, "");
            let found: f64 = text.lines().nth(1).unwrap().parse().unwrap();
            assert!((found - 2.0 / 3.0).abs() < 1e-5, "{found}");
        } else {
            assert_eq!(text, "x\nNaN\n");
            let start = "he-cli: warning: the variance of column x is not determined at this precision";
            assert!(outcome.stderr.starts_with(start), "{}", outcome.stderr);
            assert!(outcome.stderr.contains("he-cli: hint: keys of --precision "), "{}", outcome.stderr);
            let json = he(["decrypt", "y.he", "-k", &keys.secret, "-o", "-", "--json"]).at(dir.path()).run();
            let warning: serde_json::Value =
                serde_json::from_str(json.stderr.lines().next().unwrap()).unwrap();
            assert!(warning["warning"].as_str().unwrap().contains("not determined"), "{warning}");
        }
    }
    // A variance is printed with the digits that it has, and no others: of 2574 three thousand is
    // none.
    let rows: String = (0..100).map(|i| format!("{}\n", 101_325 + i % 2 * 100 - 50)).collect();
    fs::write(path("p.csv"), rows).unwrap();
    encrypt(keys, &path("p.csv"), &path("p.he"), &[]);
    eval(keys, &["variance"], &path("p.he"), &path("v.he"));
    let found: f64 =
        he(["decrypt", "v.he", "-k", &keys.secret, "-o", "-"]).at(dir.path()).text().trim().parse().unwrap();
    assert!((found - 2500.0).abs() < 0.1, "{found}");
}

#[test]
fn numbers_that_precision_does_not_reach_are_told() {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    let encrypted = |text: &str| {
        fs::write(path("in.csv"), text).unwrap();
        told(&["encrypt", "in.csv", "-k", &keys.public, "-o", "x.he", "--force"], dir.path())
    };
    assert_eq!(
        encrypted("a,b\n1,1e300\n1000,3\n0,0\n").lines().collect::<Vec<_>>(),
        [
            "he-cli: warning: column b holds numbers from 3e0 to 1e300 in magnitude, a ratio of 3.3e299: 1 of 3 will come back as 0",
            "he-cli: hint: put numbers of unlike size into columns of their own",
        ]
    );
    let text = encrypted("1e11\n2\n");
    assert!(text.contains("warning: column 1 holds numbers from 2e0 to 1e11 in magnitude"), "{text}");
    assert!(text.contains("hint: make keys with keygen --precision 3"), "{text}");
    assert_eq!(encrypted("a\n1000000\n0.5\n0\n"), "");
}

#[test]
fn headers_of_numbers_are_guessed_and_told() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    for (scheme, keys) in [("ckks", Keys::usual()), ("bfv", Keys::bfv())] {
        for (text, options, guess, back) in [
            ("2023,2024\n1,2\n3,4\n", &[][..], Some("names"), "2023,2024\n1,2\n3,4\n"),
            ("2023,2024\n1,2\n3,4\n", &["--no-header"], None, "2023,2024\n1,2\n3,4\n"),
            ("2023,2024\n1,2\n3,4\n", &["--header"], None, "2023,2024\n1,2\n3,4\n"),
            ("1,2,3\n4,5,6\n", &[], Some("numbers"), "1,2,3\n4,5,6\n"),
            ("7,8\n1,1\n", &[], None, "7,8\n1,1\n"),
        ] {
            fs::write(path("in.csv"), text).unwrap();
            let start = ["encrypt", "in.csv", "-k", &keys.public, "-o", "x.he", "--force"];
            let arguments: Vec<&str> = start.iter().chain(options).copied().collect();
            let told = told(&arguments, dir.path());
            match guess {
                Some("names") => assert_eq!(
                    told,
                    "he-cli: warning: in.csv: the first row, of numbers, was taken as the columns' names\n\
                     he-cli: hint: give --header to confirm it, --no-header if the row holds numbers\n"
                ),
                Some(_) => assert_eq!(
                    told,
                    "he-cli: warning: in.csv: the first row was taken as numbers, and may hold the columns' names\n\
                     he-cli: hint: give --no-header to confirm it, --header if the row holds names\n"
                ),
                None => assert_eq!(told, ""),
            }
            let json: serde_json::Value =
                serde_json::from_slice(&he(["info", "--json", "x.he"]).at(dir.path()).ok()).unwrap();
            assert_eq!(json.get("header").and_then(serde_json::Value::as_str), guess, "{scheme}: {json}");
            let info = he(["info", "x.he"]).at(dir.path()).text();
            assert_eq!(info.contains("\nheader       guessed: the first row"), guess.is_some(), "{info}");
            let decrypted = he(["decrypt", "x.he", "-k", &keys.secret, "-o", "-"]).at(dir.path()).text();
            assert_eq!(decrypted, back);
        }
        // A row that was taken for names is not summed.
        fs::write(path("y.csv"), "2023,2024\n1,2\n3,4\n").unwrap();
        he(["encrypt", "y.csv", "-k", &keys.public, "-o", "y.he", "--force"]).at(dir.path()).ok();
        he(["eval", "sum", "y.he", "-k", &keys.eval, "-o", "s.he", "--force"]).at(dir.path()).ok();
        let sums = he(["decrypt", "s.he", "-k", &keys.secret, "-o", "-"]).at(dir.path()).text();
        assert_eq!(sums, "2023,2024\n4,6\n");
    }
}

#[test]
fn columns_gaps_and_decimal_commas_are_read_as_asked() {
    assert_eq!(
        round("name;age;size\nAnn;31;1,5\nBob;42;1,75\n", &[], &["--columns", "size,2"]),
        "size,age\n1.5,31\n1.75,42\n"
    );
    assert_eq!(round("Ann,31\nBob,42\n", &["sum"], &["--columns", "2"]), "73\n");
    let gaps = "a,b\n1,2\n,3\n5,NA\n6,7\n";
    assert_eq!(round(gaps, &[], &["--missing", "skip"]), "a,b\n1,2\n6,7\n");
    assert_eq!(round(gaps, &["sum"], &["--missing", "zero"]), "a,b\n12,12\n");
    assert_eq!(round("x\n1,5\n2,500\n", &["sum"], &["--decimal", "comma"]), "x\n4\n");
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    let call = |keys: &Keys, options: &[&str]| {
        let start = ["encrypt", "in.csv", "-k", &keys.public, "-o", "x.he", "--force"];
        he(start.iter().chain(options)).at(dir.path())
    };
    let ckks = Keys::usual();
    fs::write(path("in.csv"), gaps).unwrap();
    call(ckks, &[]).fails(
        1,
        "in.csv, line 3, column 1 (\"a\"): the field is empty",
        "every row needs a number in every column; --missing skip leaves such rows out, --missing zero takes 0",
    );
    assert_eq!(
        call(ckks, &["--missing", "skip", "-q"]).run().stderr,
        "he-cli: warning: in.csv: 2 of 4 rows are left out in every column, because something is missing in them\n\
         he-cli: hint: counts, sums, means and variances are those of the other rows; \
         --columns NAME encrypts a column by itself, with all rows that it has\n"
    );
    // By itself, a column has the mean of all its numbers.
    assert_eq!(round(gaps, &["mean"], &["--missing", "skip"]), "a,b\n3.5,4.5\n");
    assert_eq!(round(gaps, &["mean"], &["--missing", "skip", "--columns", "a"]), "a\n4\n");
    assert_eq!(round(gaps, &["mean"], &["--missing", "skip", "--columns", "b"]), "b\n4\n");
    call(ckks, &["--columns", "a,c"]).fails(
        2,
        "there is no column c",
        "give names of the header, or numbers from 1 to 2",
    );
    fs::write(path("in.csv"), "x;y\n1,500;2\n").unwrap();
    call(ckks, &[]).fails(
        1,
        "in.csv, line 2, column 1 (\"x\"): \"1,500\" may have a decimal comma or one between thousands",
        "give --decimal comma if it is decimal; otherwise remove the commas",
    );
    fs::write(path("in.csv"), "Preis;Menge\r\n1.234;2\r\n12.500;3\r\n").unwrap();
    for keys in [ckks, Keys::bigckks()] {
        keys.on(call(keys, &[])).fails(
            1,
            "in.csv, line 2, column 1 (\"Preis\"): \"1.234\" may have a decimal point or one between thousands",
            "give --decimal point if it is decimal; otherwise remove the points",
        );
    }
    fs::write(path("in.csv"), "Preis;Menge\r\n1.000;2\r\n").unwrap();
    call(Keys::bfv(), &[]).fails(
        1,
        "in.csv, line 2, column 1 (\"Preis\"): \"1.000\" may have a decimal point or one between thousands",
        "give --decimal point if it is decimal; otherwise remove the points",
    );
    let points = round("Preis;Menge\r\n1.234;2\r\n12.500;3\r\n", &[], &["--decimal", "point"]);
    assert_eq!(points, "Preis,Menge\n1.234,2\n12.5,3\n");
    fs::write(path("in.csv"), "1 234;5\n6;7\n").unwrap();
    call(ckks, &[]).fails(
        1,
        "in.csv, line 1, column 1: \"1 234\" is not a number",
        "remove marks and spaces between thousands, and currencies; give --header if the row holds names",
    );
    // Excel's own encodings.
    let utf_16: Vec<u8> = "\u{feff}a\tb\r\n1\t2\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (bytes, found, from) in [
        (&b"Gr\xf6\xdfe;b\r\n1;2\r\n"[..], "Windows-1252 or another encoding of 8 bits", "WINDOWS-1252"),
        (&utf_16, "UTF-16", "UTF-16"),
    ] {
        fs::write(path("in.csv"), bytes).unwrap();
        for keys in [ckks, Keys::bfv(), Keys::tfhe()] {
            call(keys, &[]).fails(
                1,
                &format!("in.csv, line 1: the text is not in UTF-8, but in {found}"),
                &format!(
                    "save it as UTF-8 (in Excel, as CSV UTF-8), or convert it: iconv -f {from} -t UTF-8"
                ),
            );
        }
    }
    // Words are chosen and left out like numbers, and those of rows that are left out are not told.
    let bfv = Keys::bfv();
    fs::write(path("in.csv"), "id,colour,n\n1,red,2\n2,blue,\n3,,4\n4,red,5\n").unwrap();
    call(bfv, &["--columns", "colour,n", "--categories", "colour", "--missing", "skip"]).ok();
    let text = he(["decrypt", "x.he", "-k", &bfv.secret, "-o", "-"]).at(dir.path()).text();
    assert_eq!(text, "colour,n\nred,2\nred,5\n");
    assert!(!String::from_utf8_lossy(&fs::read(path("x.he")).unwrap()).contains("blue"));
    call(bfv, &["--columns", "colour,n", "--categories", "colour", "--missing", "zero"]).fails(
        1,
        "in.csv, line 4, column 2 (\"colour\"): the field is empty",
        "every row needs a word there; --missing skip leaves such rows out",
    );
}

/// Tables of a shape that makes columns share ciphertexts: some far from zero, some wide, some
/// narrow.
fn short_columns(columns: usize, rows: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut next = noise(seed);
    let kinds = [(0.0, 1.0), (1e4, 1.0), (-300.0, 2.0), (5.0, 1e3), (0.0, 1e-4), (0.0, 3e5)];
    let mut column = |(centre, width): (f64, f64)| -> Vec<f64> {
        (0..rows).map(|_| centre + width * ((next() % 2001) as f64 / 1000.0 - 1.0)).collect()
    };
    (0..columns).map(|i| column(kinds[i % kinds.len()])).collect()
}

fn csv(columns: &[Vec<f64>]) -> String {
    let line = |row: usize| columns.iter().map(|c| c[row].to_string()).collect::<Vec<_>>().join(",");
    let names: Vec<String> = (0..columns.len()).map(|i| format!("c{i}")).collect();
    names.join(",") + "\n" + &(0..columns[0].len()).map(|row| line(row) + "\n").collect::<String>()
}

#[test]
fn short_columns_share_ciphertexts() {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    let size = |name: &str| fs::metadata(path(name)).unwrap().len();
    // The last one leaves a vector half empty.
    for (columns, rows) in [(500, 20), (2, 1), (7, 33), (131, 32)] {
        let (x, y) = (short_columns(columns, rows, 1), short_columns(columns, rows, 2));
        let name = |end: &str| format!("{columns}-{end}");
        for (file, table) in [("x", &x), ("y", &y)] {
            fs::write(path(&name(&format!("{file}.csv"))), csv(table)).unwrap();
            encrypt(keys, &path(&name(&format!("{file}.csv"))), &path(&name(&format!("{file}.he"))), &[]);
        }
        if columns == 500 {
            let (plain, encrypted) = (size(&name("x.csv")), size(&name("x.he")));
            assert!(encrypted < 20 * plain, "{encrypted} bytes for {plain}");
        }
        let decrypted = |file: &str| -> Vec<Vec<f64>> {
            let text = he(["decrypt", file, "-k", &keys.secret, "-o", "-"]).at(dir.path()).text();
            text.lines().skip(1).map(numbers).collect()
        };
        for (row, found) in decrypted(&name("x.he")).iter().enumerate() {
            for (x, column) in found.iter().zip(&x) {
                let size = column.iter().fold(0f64, |most, x| most.max(x.abs()));
                assert!((x - column[row]).abs() <= 1e-6 * size, "row {row}: {x}, not {}", column[row]);
            }
        }
        let compute = |operation: &[&str]| {
            let out = name(&format!("{}.he", operation[0]));
            let _ = fs::remove_file(path(&out));
            eval(keys, operation, &path(&name("x.he")), &path(&out));
            decrypted(&out)
        };
        let size_of = |c: &[f64]| c.iter().fold(1e-9f64, |most, x| most.max(x.abs()));
        let count = rows as f64;
        for (at, operation) in ["sum", "mean", "variance"].into_iter().enumerate() {
            let found = compute(&[operation]);
            assert_eq!((found.len(), found[0].len()), (1, columns), "{operation}");
            for (found, column) in found[0].iter().zip(&x) {
                let expected = statistics(column)[at];
                let scale = [size_of(column) * count, size_of(column), size_of(column).powi(2)][at];
                // A variance that is not determined is not a number.
                let fine =
                    (found - expected).abs() <= 1e-6 * scale || found.is_nan() && expected <= 1e-6 * scale;
                assert!(fine, "{operation} of {columns}: {found}, not {expected}");
            }
        }
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        let near = |found: f64, a: &[f64], b: &[f64], what: &str| {
            let allowed = 1e-6 * size_of(a) * size_of(b) * count;
            assert!((found - dot(a, b)).abs() <= allowed, "{what}: {found}, not {}", dot(a, b));
        };
        let last = columns - 1;
        for (a, b) in [(0, last), (last, 0), (1, 1), (last, columns / 2)] {
            let pair = format!("{},{}", a + 1, b + 1);
            let found = compute(&["dot", "--columns", &pair]);
            assert_eq!((found.len(), found[0].len()), (1, 1));
            near(found[0][0], &x[a], &x[b], &format!("dot of {pair} of {columns}"));
        }
        let with = path(&name("y.he")).to_str().unwrap().to_owned();
        let found = compute(&["dot", "--with", &with]);
        for (i, &found) in found[0].iter().enumerate() {
            near(found, &x[i], &y[i], &format!("dot of column {i} of {columns}"));
        }
        for (operation, f) in
            [("add", (|a, b| a + b) as fn(f64, f64) -> f64), ("sub", |a, b| a - b), ("mul", |a, b| a * b)]
        {
            for (row, found) in compute(&[operation, "--with", &with]).iter().enumerate() {
                for (i, &found) in found.iter().enumerate() {
                    let (a, b) = (size_of(&x[i]), size_of(&y[i]));
                    let scale = if operation == "mul" { a * b } else { a + b };
                    let expected = f(x[i][row], y[i][row]);
                    assert!((found - expected).abs() <= 1e-6 * scale, "{operation}: {found}, not {expected}");
                }
            }
        }
        // Results are tables of the same layout: twice the sums.
        let sums = path(&name("sum.he"));
        let twice = path(&name("twice.he"));
        eval(keys, &["add", "--with", sums.to_str().unwrap()], &sums, &twice);
        for (found, column) in decrypted(&name("twice.he"))[0].iter().zip(&x) {
            let expected = 2.0 * statistics(column)[0];
            assert!((found - expected).abs() <= 1e-6 * size_of(column) * count, "{found}, not {expected}");
        }
    }
}

#[test]
fn names_stay_out_of_the_file() {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "HIV of Bob,salary\n1,20\n3,40\n").unwrap();
    encrypt(keys, &path("in.csv"), &path("x.he"), &["--no-names", "--columns", "salary,HIV of Bob"]);
    let bytes = fs::read(path("x.he")).unwrap();
    let text = String::from_utf8_lossy(&bytes[..4096]).into_owned();
    assert!(text.contains("\"columns\"") && !text.contains("Bob") && !text.contains("salary"), "{text}");
    eval(keys, &["dot", "--columns", "1,2"], &path("x.he"), &path("y.he"));
    for (file, expected) in [("x.he", "20,1\n40,3\n"), ("y.he", "140\n")] {
        assert_eq!(he(["decrypt", file, "-k", &keys.secret, "-o", "-"]).at(dir.path()).text(), expected);
    }
}

#[test]
fn columns_of_their_own_are_described_as_ever() {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "a,b\n1,20\n3,40\n").unwrap();
    encrypt(keys, &path("in.csv"), &path("own.he"), &["--unpacked", "--offset", "none"]);
    encrypt(keys, &path("in.csv"), &path("shared.he"), &[]);
    let bytes = fs::read(path("own.he")).unwrap();
    let text = String::from_utf8_lossy(&bytes[..4096]).into_owned();
    let start = text.find("\"content\":").unwrap();
    let end = start + text[start..].find("}]}}").unwrap();
    let precision = text[start..].split("\"precision_bits\":").nth(1).unwrap().split(',').next().unwrap();
    assert_eq!(
        &text[start..end],
        format!(
            "\"content\":{{\"type\":\"table\",\"rows\":2,\"slots\":2,\"batch\":64,\"precision_bits\":{precision},\
             \"columns\":[{{\"name\":\"a\",\"exponent\":2,\"count\":1}},{{\"name\":\"b\",\"exponent\":6,\"count\":1"
        )
    );
    // Tables in one layout compute as those in the other, and the two do not mix.
    for (operation, expected) in [
        (&["sum"][..], "a,b\n4,60\n"),
        (&["dot", "--columns", "a,b"], "a b\n140\n"),
        (&["mean"], "a,b\n2,30\n"),
    ] {
        for file in ["own.he", "shared.he"] {
            let _ = fs::remove_file(path("y.he"));
            eval(keys, operation, &path(file), &path("y.he"));
            let found = he(["decrypt", "y.he", "-k", &keys.secret, "-o", "-"]).at(dir.path()).text();
            assert_eq!(found, expected, "{file}");
        }
    }
    let mixed = ["eval", "add", "own.he", "--with", "shared.he", "-k", &keys.eval, "-o", "z.he"];
    he(mixed).at(dir.path()).fails(
        1,
        "the tables differ in how their columns are laid out in ciphertexts",
        "encrypt both again with encrypt --unpacked, or both without it",
    );
}

#[test]
fn results_keep_no_level_that_they_do_not_need() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    let rows: String = (0..5000).map(|i| format!("{},{},{}\n", i % 100, i % 7, i % 11)).collect();
    fs::write(path("in.csv"), format!("a,b,c\n{rows}")).unwrap();
    for (scheme, keys) in [("ckks", Keys::usual()), ("bfv", Keys::bfv()), ("bgv", Keys::bgv())] {
        let name = |file: &str| format!("{scheme}-{file}");
        encrypt(keys, &path("in.csv"), &path(&name("x.he")), &[]);
        let text = |file: &str| he(["decrypt", file, "-k", &keys.secret, "-o", "-"]).at(dir.path()).text();
        let size = |file: &str| fs::metadata(path(file)).unwrap().len();
        let (kept, dropped) = (name("kept.he"), name("dropped.he"));
        eval(keys, &["sum", "--levels", "keep"], &path(&name("x.he")), &path(&kept));
        eval(keys, &["sum"], &path(&name("x.he")), &path(&dropped));
        let sum = |modulus: usize| (0..5000).map(|i| i % modulus).sum::<usize>();
        let expected = format!("a,b,c\n{},{},{}\n", sum(100), sum(7), sum(11));
        assert_eq!((text(&kept), text(&dropped)), (expected.clone(), expected), "{scheme}");
        assert!(10 * size(&dropped) < 7 * size(&kept), "{scheme}: {} and {}", size(&dropped), size(&kept));
        // The result at the lower level can still be added up, again and again; the one that was
        // kept can be multiplied.
        let (mut total, mut text_of) = (dropped.clone(), String::new());
        for doubling in 0..6 {
            let next = name(&format!("{doubling}.he"));
            eval(keys, &["add", "--with", path(&total).to_str().unwrap()], &path(&total), &path(&next));
            text_of = text(&next);
            total = next;
        }
        assert_eq!(
            text_of,
            format!("a,b,c\n{},{},{}\n", 64 * sum(100), 64 * sum(7), 64 * sum(11)),
            "{scheme}"
        );
        let product = name("product.he");
        let with = path(&kept).to_str().unwrap().to_owned();
        if scheme == "ckks" {
            let mul = ["eval", "mul", &dropped, "--with", &dropped, "-k", &keys.eval, "-o", &product];
            let refused = he(mul).at(dir.path()).run();
            assert_eq!(refused.code, Some(1), "{}", refused.stderr);
            let hint = "he-cli: hint: compute the sum again with eval sum --levels keep; or make keys";
            assert!(refused.stderr.contains(hint), "{}", refused.stderr);
            eval(keys, &["mul", "--levels", "drop", "--with", &with], &path(&kept), &path(&product));
            let found = numbers(text(&product).lines().nth(1).unwrap());
            let expected: Vec<f64> = [100, 7, 11].map(|m| (sum(m) as f64).powi(2)).to_vec();
            assert_near(&found, &expected, 1e-4, "product of sums");
        }
    }
    let keys = Keys::usual();
    let call = ["eval", "blur", "x", "--levels", "drop", "-k", &keys.eval, "-o", "y"];
    assert!(!path("y").exists() && he(call).at(dir.path()).run().code == Some(1), "there is no such file");
}
