//! Keys and tables by URL: from a server of HTTP, and from a service of the protocol of S3.

#![allow(clippy::unwrap_used)]

mod common;

use common::World;
use he_any::{Keys, Params};
use he_core::bfv::{self, Bfv};
use he_files::scheme::Rotations;
use he_sql::csv_table::Encryption;
use he_sql::keys::{Compute, KeySet};

fn world(seed: u64) -> World {
    let world = World::new::<Bfv>(&bfv::presets::bfv_n12_d1().unwrap(), &Rotations::default(), seed);
    let csv = "region,price\nnorth,3\nsouth,5\nnorth,4\n";
    world.encrypt("t.parquet", csv, &["price"], Encryption::default());
    world
}

/// Keys as the bytes of `EvaluationKeys.to_bytes`, which do not begin with their parameters.
#[test]
fn keys_may_be_bytes_beside_their_parameters() {
    let world = world(1);
    let set = world.set();
    let Params::Bfv(params) = set.params() else { panic!("parameters of bfv") };
    let compute = Compute::of(&set).unwrap();
    let keys = compute.keys().unwrap();
    let Keys::Rlwe(keys) = &*keys else { panic!("keys of bfv") };
    let bytes = keys.to_bytes(params).unwrap();
    std::fs::write(world.path("params"), params.to_bytes().unwrap()).unwrap();
    let open = |bytes: &[u8]| {
        std::fs::write(world.path("bytes.key"), bytes).unwrap();
        KeySet::open_with(&world.url("bytes.key"), &world.path("params"))
    };
    assert_eq!(open(&bytes).unwrap().key_set(), set.key_set());
    // A key file says the same by itself.
    KeySet::open_with(&world.url("eval.key"), &world.path("params")).unwrap();

    for damaged in [&bytes[..bytes.len() - 1], &[&bytes[..], &[0]].concat(), &[0; 4096]] {
        open(damaged).unwrap_err();
    }
    std::fs::write(world.path("params"), "{}").unwrap();
    let error = open(&bytes).unwrap_err().to_string();
    assert!(error.contains("params") && error.contains("Params.to_bytes"), "{error}");
}

#[cfg(not(all(feature = "http", feature = "aws")))]
#[tokio::test]
async fn features_that_are_not_built_in_are_named() {
    let world = world(2);
    let mut session = world.session(&[], common::partitions(1)).await;
    for (feature, url) in [
        #[cfg(not(feature = "http"))]
        ("--features http", "https://host.invalid/eval.key"),
        #[cfg(not(feature = "aws"))]
        ("--features aws", "s3://bucket/eval.key"),
    ] {
        let error = KeySet::open(url).unwrap_err().to_string();
        assert!(error.contains(url) && error.contains(feature), "{error}");
        let table = url.replace("eval.key", "t.parquet");
        let error = session.register("t", &table).await.unwrap_err().to_string();
        assert!(error.contains(&table) && error.contains(feature), "{error}");
    }
}

#[cfg(feature = "http")]
mod http {
    use super::*;
    use common::partitions;
    use common::server::{Content, Server};
    use he_sql::session::Session;
    use std::sync::Arc;

    const QUERY: &str = "SELECT region, he_sum(price) FROM t GROUP BY region ORDER BY region";

    #[tokio::test(flavor = "multi_thread")]
    async fn keys_and_tables_come_from_a_server() {
        let (world, server) = (world(3), Server::start());
        server.put_file("/eval.key", &world.path("eval.key"));
        server.put_file("/t.parquet", &world.path("t.parquet"));
        let set = KeySet::open(&server.url("/eval.key")).unwrap();
        let mut session = Session::local(&set, partitions(2)).unwrap();
        session.register("t", &server.url("/t.parquet")).await.unwrap();
        assert_eq!(world.answer(&mut session, QUERY).await, [["north", "7"], ["south", "5"]]);
        let named = format!("SELECT he_sum(price) FROM '{}'", server.url("/t.parquet"));
        assert_eq!(world.answer(&mut session, &named).await, [["12"]]);
        assert_eq!(server.count("GET", "/eval.key"), 1);
    }

    /// Each process of a cluster loads the keys when it first needs them, and never again.
    #[cfg(feature = "cluster")]
    #[test]
    fn executors_load_keys_once() {
        use common::cluster::Cluster;
        use common::decrypted;
        let (world, server) = (world(4), Server::start());
        server.put_file("/eval.key", &world.path("eval.key"));
        server.put_file("/t.parquet", &world.path("t.parquet"));
        let cluster = Cluster::start(&world, 1);
        for query in 1..=3 {
            let answer = format!("answer-{query}.parquet");
            // A product needs the relinearisation key.
            let squares =
                "SELECT region, he_sum(he_mul(price, price)) FROM t GROUP BY region ORDER BY region";
            let mut command = cluster.query(&world, squares, &answer);
            command.args(["--keys", &server.url("/eval.key")]);
            command.args(["--table", &format!("t={}", server.url("/t.parquet"))]);
            let output = command.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(decrypted(&world.owner(), &world.path(&answer)), [["north", "25"], ["south", "25"]]);
            // The clients so far, and the executor.
            assert_eq!(server.count("GET", "/eval.key"), query + 1);
        }
    }

    #[test]
    fn what_a_server_sends_instead_of_keys_is_refused() {
        let (world, server) = (world(5), Server::start());
        let key = Arc::new(std::fs::read(world.path("eval.key")).unwrap());
        let start = Arc::new(key[..key.len() / 2].to_vec());
        let huge = 1 << 40;
        for (path, content, words) in [
            ("/cut", Content::Cut(Arc::clone(&key)), ""),
            ("/page", Content::Bytes(Arc::new(b"<html>".to_vec())), "neither a key"),
            ("/moved", Content::Redirect(server.url("/eval.key")), "302"),
            ("/denied", Content::Status(403, "ask \x1b[31msomebody"), "403"),
            ("/long", Content::Endless(Arc::clone(&key), huge), ""),
            ("/zeros", Content::Endless(start, huge), ""),
            ("/empty", Content::Bytes(Arc::default()), "empty"),
        ] {
            server.put(path, content);
            let url = server.url(path);
            let error = KeySet::open(&url).unwrap_err().to_string();
            assert!(error.contains(&url) && error.contains(words) && !error.contains('\x1b'), "{error}");
        }
        server.put_file("/eval.key", &world.path("secret.key"));
        let error = KeySet::open(&server.url("/eval.key")).unwrap_err().to_string();
        assert!(error.contains("never see a secret"), "{error}");
        let error = KeySet::open(&server.url("/absent")).unwrap_err().to_string();
        assert!(error.contains("/absent") && error.contains("404"), "{error}");
        assert_eq!(server.count("GET", "/eval.key"), 1, "a redirect was followed");
        // The bytes that were on the way when the reader had seen enough, of twice 2^40.
        assert!(server.sent() < 64 << 20, "{} bytes were sent", server.sent());
    }

    #[tokio::test]
    async fn tables_that_are_not_there_are_named() {
        let (world, server) = (world(6), Server::start());
        server.put("/page.parquet", Content::Bytes(Arc::new(b"<html></html>".to_vec())));
        let mut session = world.session(&[], partitions(1)).await;
        for path in ["/absent.parquet", "/page.parquet"] {
            let error = session.register("t", &server.url(path)).await.unwrap_err().to_string();
            assert!(error.contains(path) && error.contains("table t"), "{error}");
        }
    }

    #[test]
    fn plain_http_is_for_this_machine() {
        let error = KeySet::open("http://host.invalid/eval.key").unwrap_err().to_string();
        assert!(error.contains("https://") && error.contains("HE_SQL_ALLOW_HTTP=true"), "{error}");
    }
}

#[cfg(feature = "aws")]
mod s3 {
    use super::*;
    use common::server::{Content, Server};
    use std::process::{Command, Output};

    /// A query with the environment of a service at this endpoint.
    fn query(world: &World, server: &Server, keys: &str, more: &[(&str, &str)]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_he-sql"));
        command.args(["query", "SELECT he_sum(price) FROM t", "--table", "t=s3://bucket/t.parquet"]);
        command.args(["--force", "--output", &world.url("answer.parquet"), "--keys", keys]);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
            command.env_remove(name);
        }
        command
            .env("NO_PROXY", "127.0.0.1")
            .env("AWS_ENDPOINT", server.url(""))
            .env("AWS_REGION", "us-east-1");
        command.env("AWS_ACCESS_KEY_ID", "AKIA").env("AWS_SECRET_ACCESS_KEY", "hunter2");
        command.envs(more.iter().copied()).output().unwrap()
    }

    #[test]
    fn keys_and_tables_come_from_a_bucket() {
        let (world, server) = (world(7), Server::start());
        server.put_file("/bucket/eval.key", &world.path("eval.key"));
        server.put_file("/bucket/t.parquet", &world.path("t.parquet"));
        let allowed = [("AWS_ALLOW_HTTP", "true")];
        let output = query(&world, &server, "s3://bucket/eval.key", &allowed);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(common::decrypted(&world.owner(), &world.path("answer.parquet")), [["12"]]);
        assert_eq!(server.count("GET", "/bucket/eval.key"), 1);
        assert!(server.count("HEAD", "/bucket/t.parquet") > 0);

        server.put("/bucket/denied.key", Content::Status(403, "<Error><Code>AccessDenied</Code></Error>"));
        for (keys, more, words) in [
            ("s3://bucket/eval.key", &[][..], "AWS_ALLOW_HTTP=true"),
            ("s3://bucket/absent.key", &allowed, "404"),
            ("s3://bucket/denied.key", &allowed, "AccessDenied"),
        ] {
            let output = query(&world, &server, keys, more);
            let told = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{told}");
            assert!(told.contains(keys) && told.contains(words) && !told.contains("hunter2"), "{told}");
        }
    }
}
