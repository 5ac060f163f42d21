//! A scheduler and two executors on this machine: the same query as in the process, with one
//! executor killed in the middle.

#![allow(clippy::unwrap_used)]
#![cfg(feature = "cluster")]

mod common;

use common::cluster::Cluster;
use common::{World, decrypted, integers, partitions};
use he_core::bfv::Bfv;
use he_files::scheme::Rotations;
use he_sql::csv_table::Encryption;
use std::process::Command;
use std::time::Duration;

const QUERY: &str = "SELECT region, he_sum(price), he_sum(he_mul(price, qty)), he_dot(price, he_add(qty, 1)) \
                     FROM t WHERE day <> 1 GROUP BY region ORDER BY region";

/// Files of a table, so that there is work for a while.
fn world(files: usize) -> World {
    let world = World::new::<Bfv>(&integers(20, 2), &Rotations::default(), 1);
    std::fs::create_dir(world.path("t")).unwrap();
    let mut csv = "region,day,price,qty\n".to_owned();
    (0..60).for_each(|i| csv += &format!("{},{},{},{}\n", ["n", "s", "w"][i % 3], i % 4, i, i % 5));
    world.encrypt("t/0.parquet", &csv, &["price", "qty"], Encryption::default());
    (1..files).for_each(|at| {
        std::fs::copy(world.path("t/0.parquet"), world.path(&format!("t/{at}.parquet"))).unwrap();
    });
    world
}

/// A query on the table in a folder, with keys in a file.
fn query(cluster: &Cluster, world: &World, answer: &str) -> Command {
    let mut command = cluster.query(world, QUERY, answer);
    command.args(["--keys", &world.url("eval.key"), "--table", &format!("t={}", world.url("t"))]);
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_executor_changes_no_bit() {
    let files = 12;
    let world = world(files);
    let mut session = world.session(&[("t", "t")], partitions(3)).await;
    let answer = world.answer(&mut session, QUERY).await;
    let sum = |region: usize, of: &dyn Fn(i64, i64) -> i64| {
        let rows = (0..60usize).filter(|i| i % 3 == region && i % 4 != 1);
        (rows.map(|i| of(i as i64, (i % 5) as i64)).sum::<i64>() * files as i64).to_string()
    };
    for (region, row) in answer.iter().enumerate() {
        let expected = [sum(region, &|x, _| x), sum(region, &|x, y| x * y), sum(region, &|x, y| x * (y + 1))];
        assert_eq!(row[1..], expected, "region {}", row[0]);
    }
    let expected = std::fs::read(world.path("answer.parquet")).unwrap();

    let mut cluster = Cluster::start(&world, 2);
    let status = query(&cluster, &world, "cluster.parquet").status().unwrap();
    assert!(status.success());
    assert_eq!(decrypted(&world.owner(), &world.path("cluster.parquet")), answer);
    assert!(std::fs::read(world.path("cluster.parquet")).unwrap() == expected, "the cluster changes bits");

    // Cells that CASE and UNION ALL pass through keep their type, and a clear table of CSV travels.
    std::fs::write(world.path("k.csv"), "region,weight\nn,1\ns,2\nw,3\n").unwrap();
    let k = world.url("k.csv");
    session.register("k", &k).await.unwrap();
    let carried = "SELECT k.region, he_sum(he_mul(CASE WHEN day > 1 THEN price ELSE he_mul(qty, 2) END, weight)) \
                   FROM (SELECT * FROM t WHERE day > 0 UNION ALL SELECT region, day, he_mul(qty, qty) AS price, qty FROM t) AS u \
                   JOIN k ON u.region = k.region GROUP BY k.region ORDER BY k.region";
    world.answer(&mut session, carried).await;
    let local = std::fs::read(world.path("answer.parquet")).unwrap();
    let mut command = cluster.query(&world, carried, "carried.parquet");
    command.args(["--keys", &world.url("eval.key"), "--table", &format!("t={}", world.url("t"))]);
    assert!(command.args(["--table", &format!("k={k}")]).status().unwrap().success());
    assert!(std::fs::read(world.path("carried.parquet")).unwrap() == local, "the cluster changes bits");

    // It ends when it has begun to work on the query: each has a folder of its own there.
    let jobs = || std::fs::read_dir(world.path("executor-1")).unwrap().count();
    let before = jobs();
    let mut running = query(&cluster, &world, "killed.parquet").spawn().unwrap();
    while jobs() == before {
        assert!(running.try_wait().unwrap().is_none(), "the query ended before the executor began");
        std::thread::sleep(Duration::from_millis(5));
    }
    cluster.executors.truncate(1);
    assert!(running.wait().unwrap().success());
    assert!(std::fs::read(world.path("killed.parquet")).unwrap() == expected, "a lost executor changes bits");

    // An executor refuses a secret key in the place of evaluation keys.
    let keys = std::fs::read(world.path("eval.key")).unwrap();
    let set = world.set();
    std::fs::copy(world.path("secret.key"), world.path("eval.key")).unwrap();
    let refused = query(&cluster, &world, "refused.parquet").output().unwrap();
    assert!(!refused.status.success());
    let words = String::from_utf8(refused.stderr).unwrap();
    assert!(words.contains("never see a secret"), "{words}");
    assert!(!world.path("refused.parquet").exists());
    std::fs::write(world.path("eval.key"), keys).unwrap();
    assert_eq!(set, world.set());
}
