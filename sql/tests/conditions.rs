//! Comparisons of integers under TFHE, and queries that use their results.

#![allow(clippy::unwrap_used)]

mod common;

use common::{World, partitions};
use he_sql::csv_table::Encryption;

#[tokio::test(flavor = "multi_thread")]
async fn comparisons_counts_and_choices() {
    let world = World::tfhe(5);
    let values = [("a", 7u64, 9u64), ("b", 200, 13), ("a", 30, 30), ("b", 0, 255), ("a", 8, 3)];
    let mut csv = "g,x,y\n".to_owned();
    values.iter().for_each(|(g, x, y)| csv += &format!("{g},{x},{y}\n"));
    csv += "c,,1\n";
    world.encrypt("t.parquet", &csv, &["x", "y"], Encryption { bits: 8, ..Encryption::default() });
    let mut session = world.session(&[("t", "t.parquet")], partitions(2)).await;

    let query = "SELECT g, he_count(he_lt(x, y)), he_sum(he_if(he_or(he_ge(x, y), he_eq(y, 9)), x, y)) \
                 FROM t GROUP BY g ORDER BY g";
    let mut expected: Vec<Vec<String>> = ["a", "b"]
        .iter()
        .map(|group| {
            let rows = values.iter().filter(|row| row.0 == *group);
            let less = rows.clone().filter(|(_, x, y)| x < y).count();
            let sum: u64 = rows.map(|&(_, x, y)| if x >= y || y == 9 { x } else { y }).sum();
            vec![(*group).to_owned(), less.to_string(), (sum % 256).to_string()]
        })
        .collect();
    expected.push(vec!["c".to_owned(), String::new(), String::new()]);
    assert_eq!(world.answer(&mut session, query).await, expected);

    let refusal = world.refusal(&mut session, "SELECT he_mean(x) FROM t").await;
    assert!(refusal.contains("x") && refusal.contains("tfhe") && refusal.contains("count(*)"), "{refusal}");
}
