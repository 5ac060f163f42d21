//! Expressions and nodes of the engine that pass cells through keep the type of these, or are
//! refused.

#![allow(clippy::unwrap_used)]

mod common;

use common::{World, all_sums, partitions};
use he_core::bfv::{self, Bfv};
use he_sql::column::CellType;
use he_sql::csv_table::Encryption;

const CSV: &str = "k,x,y\n1,10,7\n2,20,\n3,30,9\n";

fn world() -> World {
    let world = World::new::<Bfv>(&bfv::presets::bfv_n13_d4().unwrap(), &all_sums(12), 1);
    world.encrypt("t.parquet", CSV, &["x", "y"], Encryption::default());
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn cells_keep_their_type() {
    let world = world();
    for count in [1, 3] {
        let mut session = world.session(&[("t", "t.parquet")], partitions(count)).await;
        for (query, expected) in [
            ("SELECT CASE WHEN k > 1 THEN x ELSE y END AS c FROM t ORDER BY k", &["7", "20", "30"][..]),
            ("SELECT CASE k WHEN 1 THEN x WHEN 2 THEN NULL ELSE y END FROM t ORDER BY k", &["10", "", "9"]),
            ("SELECT CASE WHEN k = 2 THEN x END FROM t ORDER BY k", &["", "20", ""]),
            ("SELECT he_sum(CASE WHEN k > 1 THEN x ELSE he_mul(y, 2) END) FROM t", &["64"]),
            ("SELECT he_add(CASE WHEN k > 1 THEN x ELSE y END, 1) FROM t ORDER BY k", &["8", "21", "31"]),
            ("SELECT coalesce(y, x) FROM t ORDER BY k", &["7", "20", "9"]),
            ("SELECT he_sum(coalesce(y, he_mul(x, x))) FROM t", &["416"]),
            ("SELECT he_sum(c) FROM (SELECT CASE WHEN k > 1 THEN x ELSE y END AS c FROM t) AS of_c", &["57"]),
            (
                "WITH w AS (SELECT CASE WHEN k > 1 THEN x ELSE y END AS c FROM t) SELECT he_dot(c, c) FROM w",
                &["1349"],
            ),
            (
                "SELECT he_sum(c) FROM (SELECT x AS c FROM t UNION ALL SELECT he_mul(y, y) FROM t) AS u",
                &["190"],
            ),
            (
                "SELECT he_sum(c) FROM (SELECT x AS c FROM t UNION ALL SELECT NULL UNION ALL SELECT y FROM t) AS u",
                &["76"],
            ),
            ("SELECT (SELECT he_sum(x) FROM t) AS s", &["60"]),
            ("SELECT he_add(x, (SELECT he_sum(x) FROM t)) FROM t ORDER BY k", &["70", "80", "90"]),
            ("SELECT first_value(CASE WHEN k > 1 THEN x ELSE y END ORDER BY k) FROM t", &["7"]),
            ("SELECT a.x FROM t AS a LEFT JOIN t AS b ON a.k = b.k + 1 ORDER BY a.k LIMIT 1", &["10"]),
            ("SELECT b.x FROM t AS a LEFT JOIN t AS b ON a.k = b.k + 1 ORDER BY a.k", &["", "10", "20"]),
            ("SELECT he_total(he_total(x)) FROM t ORDER BY k", &["10", "20", "30"]),
        ] {
            let answer = world.answer(&mut session, query).await;
            let found: Vec<&str> = answer.iter().map(|row| row.last().unwrap().trim_matches('"')).collect();
            assert_eq!(found, expected, "{query}");
        }
    }
}

/// Cells of two places in one column are as far as the worse, and between the bounds of both.
#[tokio::test(flavor = "multi_thread")]
async fn a_choice_is_as_far_as_the_worst() {
    let world = world();
    let mut session = world.session(&[("t", "t.parquet")], partitions(1)).await;
    for query in [
        "SELECT CASE WHEN k > 1 THEN x ELSE he_mul(y, y) END FROM t",
        "SELECT x FROM t UNION ALL SELECT he_mul(y, y) FROM t",
        "SELECT coalesce(x, he_mul(y, y)) FROM t",
    ] {
        let frame = session.sql(query).await.unwrap();
        let cell = CellType::of(frame.schema().field(0)).unwrap().unwrap();
        assert_eq!(cell.progress.unwrap().depth, 1, "{query}");
        assert_eq!(cell.bounds().map(<(f64, f64)>::from), Some((0.0, 256.0)), "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_lose_the_type_is_refused() {
    let world = world();
    world.encrypt("p.parquet", "x\n1\n2\n", &["x"], Encryption { pack: 2, ..Encryption::default() });
    let mut session = world.session(&[("t", "t.parquet"), ("p", "p.parquet")], partitions(1)).await;
    for (query, words) in [
        ("SELECT CASE WHEN k > 1 THEN x ELSE X'00' END FROM t", &["CASE", "clear"][..]),
        ("SELECT CASE x WHEN y THEN x END FROM t", &["x", "compared"]),
        ("SELECT lag(x) OVER (ORDER BY k) FROM t", &["lag", "x", "pass"]),
        ("SELECT lag(k) OVER (ORDER BY x) FROM t", &["x", "compared"]),
        ("SELECT nullif(x, y) FROM t", &["nullif", "x"]),
        ("SELECT first_value(k ORDER BY x) FROM t", &["x", "compared"]),
        ("SELECT count(*) FROM t GROUP BY CASE WHEN k > 1 THEN x ELSE y END", &["GROUP BY", "x", "compared"]),
        ("SELECT DISTINCT coalesce(y, x) FROM t", &["DISTINCT", "compared"]),
        ("SELECT k FROM t ORDER BY CASE WHEN k > 1 THEN x ELSE y END", &["ORDER BY", "compared"]),
        ("SELECT x FROM t UNION ALL SELECT x FROM p", &["UNION", "x", "(1,)", "(2,)"]),
        ("SELECT he_sum(c) FROM (SELECT x AS c FROM t UNION ALL SELECT X'00') AS u", &["UNION", "clear"]),
        (
            "WITH RECURSIVE r AS (SELECT k, x FROM t UNION ALL SELECT k + 1, he_add(x, x) FROM r WHERE k < 5) \
             SELECT he_sum(x) FROM r",
            &["WITH RECURSIVE", "x"],
        ),
        ("SELECT he_sum(X'00') FROM t", &["he_sum", "Binary"]),
        ("SELECT cast(x AS bytea) FROM t", &["x"]),
        ("SELECT array_agg(x) FROM t", &["array_agg", "x"]),
        ("SELECT struct(x) FROM t", &["x"]),
    ] {
        let refusal = world.refusal(&mut session, query).await;
        assert!(words.iter().all(|word| refusal.contains(word)), "{query}: {refusal}");
    }
}
