//! Tables: what goes in comes back to the digit; statistics against float64.

use crate::pictures::noise;
use crate::process::{Keys, decrypt, encrypt, eval, folder, he};
use std::fs;
use std::path::Path;

/// What comes back of a table after some operations.
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
