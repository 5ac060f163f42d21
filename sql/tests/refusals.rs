//! Refusals while a query is planned, each by the name of its column, and refusals before a key or
//! a cell is used.

#![allow(clippy::unwrap_used)]

mod common;

use common::{World, all_sums, partitions};
use he_core::bfv::{self, Bfv};
use he_files::scheme::Rotations;
use he_sql::csv_table::Encryption;
use he_sql::keys::KeySet;
use he_sql::session::{Options, Session};

const CSV: &str = "region,price,qty\nnorth,3,4\nsouth,5,6\n";

fn world(seed: u64) -> World {
    let world = World::new::<Bfv>(&bfv::presets::bfv_n12_d1().unwrap(), &Rotations::default(), seed);
    world.encrypt("t.parquet", CSV, &["price", "qty"], Encryption::default());
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn the_planner_names_the_column() {
    let world = world(1);
    let mut session = world.session(&[("t", "t.parquet")], partitions(1)).await;
    for (query, words) in [
        // Types.
        ("SELECT he_mul(price, region) FROM t", &["he_mul", "region", "Utf8"][..]),
        ("SELECT he_add(price, 1.5) FROM t", &["he_add", "1.5", "integer"]),
        ("SELECT he_sum(region) FROM t", &["he_sum", "region"]),
        ("SELECT he_sum(1) FROM t", &["he_sum", "clear"]),
        ("SELECT he_lt(price, qty) FROM t", &["he_lt", "price", "tfhe"]),
        ("SELECT he_mean(price) FROM t", &["he_mean", "price", "count(*)"]),
        ("SELECT he_mul(price) FROM t", &["he_mul", "1 arguments", "2"]),
        ("SELECT he_sum(price, qty) FROM t", &["he_sum", "2 arguments"]),
        // Keys.
        ("SELECT he_rotate(price, 3) FROM t", &["he_rotate", "price", "rotation by 3"]),
        ("SELECT he_total(price) FROM t", &["he_total", "price", "rotation"]),
        ("SELECT he_rotate(price, length(region)) FROM t", &["he_rotate", "constant"]),
        // Depth.
        ("SELECT he_mul(he_mul(price, qty), qty) FROM t", &["he_mul", "price", "qty", "noise"]),
        ("SELECT he_polynomial(price, 0, 0, 0, 0, 1) FROM t", &["he_polynomial", "price", "noise"]),
    ] {
        let refusal = world.refusal(&mut session, query).await;
        for word in words {
            assert!(refusal.contains(word), "{query}: {word} is missing in: {refusal}");
        }
    }
    // Equal numbers have different ciphertexts.
    for query in [
        "SELECT he_sum(DISTINCT price) FROM t",
        "SELECT count(DISTINCT price) FROM t",
        "SELECT DISTINCT price FROM t",
        "SELECT region FROM t ORDER BY price",
        "SELECT count(*) FROM t GROUP BY price",
        "SELECT region FROM t WHERE price = qty",
        "SELECT region FROM t WHERE price > X'00'",
        "SELECT max(price) FROM t",
        "SELECT count(*) FROM t JOIN t AS u ON t.price = u.price",
        "SELECT count(*) FROM t WHERE price IN (SELECT qty FROM t)",
        "SELECT region FROM t UNION SELECT region FROM (SELECT region, max(price) FROM t GROUP BY region)",
    ] {
        let refusal = world.refusal(&mut session, query).await;
        assert!(refusal.contains("price") && refusal.contains("compared"), "{query}: {refusal}");
    }
    // Carried, counted and tested for NULL.
    let query =
        "SELECT count(price), max(region) FROM (SELECT region, price, qty FROM t WHERE price IS NOT NULL)";
    assert_eq!(world.answer(&mut session, query).await, [["2", "south"]]);
}

/// A group of more rows than noise allows for is refused, too.
#[tokio::test(flavor = "multi_thread")]
async fn rows_of_groups_count() {
    let world = world(2);
    let query = "SELECT he_sum(he_mul(price, qty)) FROM t";
    let few = Options { group_rows: Some(2), ..Options::default() };
    let mut session = world.session(&[("t", "t.parquet")], few).await;
    assert_eq!(world.answer(&mut session, query).await, [["42"]]);
    let many = Options { group_rows: Some(1 << 40), ..Options::default() };
    let mut session = world.session(&[("t", "t.parquet")], many).await;
    let refusal = world.refusal(&mut session, query).await;
    assert!(refusal.contains("he_sum") && refusal.contains("price"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_keys_are_refused_by_the_planner() {
    let (own, other) = (world(3), world(4));
    let mut session = Session::local(&own.set(), partitions(1)).unwrap();
    session.register("t", &other.url("t.parquet")).await.unwrap();
    let refusal = own.refusal(&mut session, "SELECT he_sum(price) FROM t").await;
    assert!(refusal.contains("price") && refusal.contains("key set"), "{refusal}");

    let deeper = World::new::<Bfv>(&bfv::presets::bfv_n13_d4().unwrap(), &all_sums(0), 5);
    let mut session = Session::local(&deeper.set(), partitions(1)).unwrap();
    session.register("t", &own.url("t.parquet")).await.unwrap();
    let refusal = own.refusal(&mut session, "SELECT he_sum(qty) FROM t").await;
    assert!(refusal.contains("qty") && refusal.contains("parameters"), "{refusal}");

    // Tables of two key sets in one column.
    session.register("u", &other.url("t.parquet")).await.unwrap();
    let union = "SELECT he_sum(price) FROM (SELECT price FROM t UNION ALL SELECT price FROM u)";
    let refusal = own.refusal(&mut session, union).await;
    assert!(refusal.contains("price") && refusal.contains("UNION"), "{refusal}");
}

#[test]
fn secrets_are_not_evaluation_keys() {
    let world = world(6);
    for name in ["secret.key", "public.key", "t.parquet", "absent"] {
        let refusal = KeySet::open(&world.url(name)).unwrap_err().to_string();
        let expected = if name == "secret.key" { "never see a secret" } else { name };
        assert!(refusal.contains(expected), "{refusal}");
    }
}

/// Keys that are replaced after a query was planned are not those of the plan.
#[test]
fn keys_are_those_of_the_plan() {
    let (world, other) = (world(7), world(8));
    let planned = world.set().to_bytes().unwrap();
    // The moved keys stand for another process, which has not loaded them: their place is part of
    // the cache's key.
    std::fs::copy(world.path("eval.key"), world.path("moved.key")).unwrap();
    let moved = String::from_utf8(planned).unwrap().replace("eval.key", "moved.key");
    let set = KeySet::from_bytes(moved.as_bytes()).unwrap();
    std::fs::copy(other.path("eval.key"), world.path("moved.key")).unwrap();
    let refusal = he_sql::keys::Compute::of(&set).unwrap().keys().unwrap_err().to_string();
    assert!(refusal.contains("plan it again"), "{refusal}");
    std::fs::copy(world.path("eval.key"), world.path("moved.key")).unwrap();
    he_sql::keys::Compute::of(&set).unwrap().keys().unwrap();
}
