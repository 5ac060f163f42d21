//! Statistics of real numbers under CKKS, against the same over the numbers.

#![allow(clippy::unwrap_used)]

mod common;

use common::{World, all_sums, partitions};
use he_core::ckks::presets::ckks_n13_d3;
use he_files::scheme::Ckks;
use he_sql::csv_table::Encryption;

#[track_caller]
fn near(found: &str, expected: f64) {
    let found: f64 = found.parse().unwrap();
    assert!((found - expected).abs() < 1e-3, "{found}, where {expected} is expected");
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_agree() {
    let world = World::new::<Ckks>(&ckks_n13_d3().unwrap(), &all_sums(12), 4);
    let rows: Vec<(usize, f64, f64)> =
        (0..24).map(|i| (i % 3, (i as f64 * 0.7).sin(), 1.0 - i as f64 / 20.0)).collect();
    let mut csv = "g,x,y\n".to_owned();
    rows.iter().for_each(|(g, x, y)| csv += &format!("{g},{x},{y}\n"));
    csv += "9,,\n";
    world.encrypt("t.parquet", &csv, &["x", "y"], Encryption::default());
    let mut session = world.session(&[("t", "t.parquet")], partitions(2)).await;
    let query = "SELECT g, he_mean(x), he_variance(x), he_dot(x, y), he_sum(he_mul(x, 0.25)), \
                 he_sum(he_polynomial(y, 0.5, 0, -1.5, 1)), he_sum(he_mul(he_sub(1, x), 3)) \
                 FROM t GROUP BY g ORDER BY g";
    let answer = world.answer(&mut session, query).await;
    assert_eq!(answer.len(), 4);
    assert_eq!(answer[3], ["9", "", "", "", "", "", ""]);
    for (g, row) in answer[..3].iter().enumerate() {
        let group: Vec<(f64, f64)> = rows.iter().filter(|row| row.0 == g).map(|&(_, x, y)| (x, y)).collect();
        let n = group.len() as f64;
        let sum = |of: &dyn Fn(f64, f64) -> f64| group.iter().map(|&(x, y)| of(x, y)).sum::<f64>();
        let mean = sum(&|x, _| x) / n;
        near(&row[1], mean);
        near(&row[2], sum(&|x, _| (x - mean) * (x - mean)) / n);
        near(&row[3], sum(&|x, y| x * y));
        near(&row[4], sum(&|x, _| x / 4.0));
        near(&row[5], sum(&|_, y| 0.5 - 1.5 * y * y + y * y * y));
        near(&row[6], sum(&|x, _| 3.0 - 3.0 * x));
    }
    let bits = |session| async {
        world.answer(session, query).await;
        std::fs::read(world.path("answer.parquet")).unwrap()
    };
    let once = bits(&mut session).await;
    let mut other = world.session(&[("t", "t.parquet")], partitions(5)).await;
    assert!(once == bits(&mut other).await, "partitions change bits");

    // Vectors of 5 values in 8 slots.
    let how = Encryption { pack: 5, ..Encryption::default() };
    world.encrypt("packed.parquet", &csv.replace("9,,\n", ""), &["g", "x", "y"], how);
    session.register("packed", &world.url("packed.parquet")).await.unwrap();
    let answer =
        world.answer(&mut session, "SELECT he_total(he_sum(x)), he_total(he_dot(x, y)) FROM packed").await;
    near(&answer[0][0], rows.iter().map(|row| row.1).sum());
    near(&answer[0][1], rows.iter().map(|row| row.1 * row.2).sum());

    let refusal = world.refusal(&mut session, "SELECT he_mul(he_variance(he_mul(x, y)), 0.5) FROM t").await;
    assert!(refusal.contains("he_mul") && refusal.contains("level"), "{refusal}");
}
