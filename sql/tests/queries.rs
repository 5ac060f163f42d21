//! Queries over encrypted columns in this process, against the same queries over the numbers.

#![allow(clippy::unwrap_used)]

mod common;

use common::{World, all_sums, integers, partitions};
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_files::scheme::{Rotations, Scheme};
use he_sql::csv_table::Encryption;
use std::collections::BTreeMap;

/// A sale: region, day, price, quantity.
type Sale = (&'static str, i64, Option<i64>, i64);

fn sales(count: i64) -> Vec<Sale> {
    let regions = ["east", "north", "south", "west"];
    let sale = |i: i64| {
        let region = regions[(i % 7 % 4) as usize];
        // Nobody recorded prices in the west, and every fifth elsewhere.
        let price = (region != "west" && i % 5 != 4).then_some(i * 37 % 90 - 20);
        (region, i % 3, price, i * 11 % 9 + 1)
    };
    (0..count).map(sale).collect()
}

fn csv(sales: &[Sale]) -> String {
    let mut text = "region,day,price,qty\n".to_owned();
    for (region, day, price, qty) in sales {
        let price = price.map_or_else(String::new, |price| price.to_string());
        text += &format!("{region},{day},{price},{qty}\n");
    }
    text
}

/// Sums of a value per region, `None` where there are none.
fn sums(sales: &[Sale], of: impl Fn(&Sale) -> Option<i64>) -> BTreeMap<&'static str, Option<i64>> {
    let mut all = BTreeMap::new();
    for sale in sales {
        let sum = all.entry(sale.0).or_insert(None);
        if let Some(value) = of(sale) {
            *sum = Some(sum.unwrap_or(0) + value);
        }
    }
    all
}

fn shown(value: Option<i64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

async fn grouped<S: Scheme>(params: &S::Params) {
    let world = World::new::<S>(params, &Rotations::default(), 1);
    let sales = sales(40);
    assert_eq!(world.encrypt("sales.parquet", &csv(&sales), &["price", "qty"], Encryption::default()), 40);
    let mut session = world.session(&[("t", "sales.parquet")], partitions(2)).await;

    let query = "SELECT region, he_sum(price), he_sum(he_mul(price, qty)), count(*), count(price) FROM t \
                 GROUP BY region ORDER BY region";
    let answer = world.answer(&mut session, query).await;
    let prices = sums(&sales, |sale| sale.2);
    let products = sums(&sales, |sale| Some(sale.2? * sale.3));
    let expected: Vec<Vec<String>> = prices
        .iter()
        .map(|(region, price)| {
            let rows = sales.iter().filter(|sale| &sale.0 == region);
            let known = rows.clone().filter(|sale| sale.2.is_some()).count();
            vec![
                (*region).to_owned(),
                shown(*price),
                shown(products[region]),
                rows.count().to_string(),
                known.to_string(),
            ]
        })
        .collect();
    assert_eq!(answer, expected);
    assert!(prices["west"].is_none(), "a group without prices");

    // Clear predicates and clear joins beside encrypted columns; constants from either side.
    let query = "SELECT t.day, he_sum(he_sub(100, he_mul(qty, t.day))), he_sum(he_neg(he_add(qty, -3))), \
                 he_dot(qty, qty) FROM t JOIN (VALUES ('east', 1), ('west', 2)) AS k(name, weight) \
                 ON t.region = k.name WHERE t.day > 0 GROUP BY t.day ORDER BY t.day";
    let answer = world.answer(&mut session, query).await;
    let expected: Vec<Vec<String>> = [1, 2]
        .iter()
        .map(|day| {
            let rows: Vec<&Sale> =
                sales.iter().filter(|sale| sale.1 == *day && ["east", "west"].contains(&sale.0)).collect();
            let sum = |of: &dyn Fn(i64) -> i64| rows.iter().map(|sale| of(sale.3)).sum::<i64>().to_string();
            vec![day.to_string(), sum(&|qty| 100 - qty * day), sum(&|qty| 3 - qty), sum(&|qty| qty * qty)]
        })
        .collect();
    assert_eq!(answer, expected);

    // No row at all, and rows as they are.
    let answer = world.answer(&mut session, "SELECT he_sum(price), count(*) FROM t WHERE region = 'x'").await;
    assert_eq!(answer, [["", "0"]]);
    let answer = world
        .answer(
            &mut session,
            "SELECT qty, he_add(price, qty) FROM t WHERE day = 2 ORDER BY region, day LIMIT 40",
        )
        .await;
    let mut found: Vec<(String, String)> =
        answer.into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let rows = sales.iter().filter(|sale| sale.1 == 2);
    let mut expected: Vec<(String, String)> =
        rows.map(|sale| (sale.3.to_string(), shown(sale.2.map(|price| price + sale.3)))).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn grouped_integers_of_bfv() {
    grouped::<Bfv>(&integers(20, 1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn grouped_integers_of_bgv() {
    grouped::<Bgv>(&integers(20, 1)).await;
}

/// Vectors: several rows per cell, sums over their slots, rotations and polynomials.
#[tokio::test(flavor = "multi_thread")]
async fn vectors_in_slots() {
    let params = integers::<Bfv>(20, 2);
    let world = World::new::<Bfv>(&params, &all_sums(params.rlwe().ring().log_n() - 1), 2);
    let csv: String = (0..10).map(|i| format!("{},{},{i}\n", ["a", "b"][i / 6], 10 * i)).collect();
    let how = Encryption { pack: 4, ..Encryption::default() };
    assert_eq!(world.encrypt("t.parquet", &format!("g,x,y\n{csv}"), &["x", "y"], how), 3);
    let mut session = world.session(&[("t", "t.parquet")], partitions(2)).await;

    let answer = world
        .answer(
            &mut session,
            "SELECT g, sum(rows), he_sum(x), he_total(he_sum(x)) FROM t GROUP BY g ORDER BY g",
        )
        .await;
    // 0 .. 50 in two cells, 60 .. 90 in one.
    assert_eq!(answer, [["a", "6", "40 60 20 30", "150"], ["b", "4", "60 70 80 90", "300"]]);
    let answer = world
        .answer(
            &mut session,
            "SELECT he_total(he_dot(x, y)), he_total(he_polynomial(he_sum(y), 0, 2, 0, 1)) FROM t",
        )
        .await;
    let dot: i64 = (0..10).map(|i| 10 * i * i).sum();
    let columns = [4 + 6, 1 + 5 + 7, 2 + 8, 3 + 9];
    let polynomial: i64 = columns.iter().map(|y| 2 * y + y * y * y).sum();
    assert_eq!(answer, [[dot.to_string(), polynomial.to_string()]]);
    let answer = world.answer(&mut session, "SELECT he_rotate(x, 1) FROM t WHERE g = 'b'").await;
    assert_eq!(answer, [["70 80 90 0"]]);
    let refusal = world.refusal(&mut session, "SELECT he_total(he_rotate(x, 1)) FROM t").await;
    assert!(
        refusal.contains("he_total") && refusal.contains('x') && refusal.contains("unknown"),
        "{refusal}"
    );
}

/// Neither partitions nor the order of rows change a bit of a sum.
#[tokio::test(flavor = "multi_thread")]
async fn sums_are_the_same_bits() {
    let params = integers::<Bgv>(20, 1);
    let world = World::new::<Bgv>(&params, &Rotations::default(), 3);
    world.encrypt("t.parquet", &csv(&sales(50)), &["price", "qty"], Encryption::default());
    // Rows of two levels and correction factors beside each other.
    let mixed = "SELECT he_sum(x) FROM (SELECT he_mul(price, qty) AS x, day FROM t WHERE day > 0 UNION ALL \
                 SELECT qty AS x, day FROM t WHERE day = 0)";
    for query in ["SELECT he_sum(price), he_dot(price, qty) FROM t", mixed] {
        let mut bits = Vec::new();
        for count in [1, 2, 5] {
            let options = he_sql::session::Options { batch_rows: Some(3 + count), ..partitions(count) };
            let mut session = world.session(&[("t", "t.parquet")], options).await;
            world.answer(&mut session, query).await;
            bits.push(std::fs::read(world.path("answer.parquet")).unwrap());
        }
        assert!(bits.windows(2).all(|pair| pair[0] == pair[1]), "{query}");
    }
}
