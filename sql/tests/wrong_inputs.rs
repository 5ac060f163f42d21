//! Wrong inputs of every command: each ends in one error with the remedy and the documented exit
//! code, and leaves no file behind.

#![allow(clippy::unwrap_used)]

mod common;

use common::World;
use he_core::bfv::{self, Bfv};
use he_files::scheme::Rotations;
use he_sql::csv_table::Encryption;
use std::process::{Command, Stdio};

const CSV: &str = "region,price,qty\nnorth,3,4\nsouth,5,6\n";
const FAILED: i32 = 1;
const USAGE: i32 = 2;

/// Keys, a table `t.csv` and its encryption by `he-sql encrypt`, `t.parquet`.
fn world() -> World {
    let world = World::new::<Bfv>(&bfv::presets::bfv_n12_d1().unwrap(), &Rotations::default(), 1);
    std::fs::write(world.path("t.csv"), CSV).unwrap();
    world.encrypt("t.parquet", CSV, &["price", "qty"], Encryption::default());
    std::fs::create_dir(world.path("folder")).unwrap();
    world
}

fn he_sql(world: &World) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_he-sql"));
    command.current_dir(world.path(".")).env_remove("RUST_LOG");
    command
}

fn names(world: &World) -> Vec<String> {
    let entries = std::fs::read_dir(world.path(".")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Runs a command that must fail, with these words on standard error and nothing left behind.
#[track_caller]
fn refused(world: &World, arguments: &[&str], code: i32, words: &[&str]) {
    let before = names(world);
    let output = he_sql(world).args(arguments).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
    for word in words {
        assert!(told.contains(word), "{arguments:?}: {word} is missing in: {told}");
    }
    let errors =
        told.lines().filter(|line| line.starts_with("he-sql: error: ") || line.starts_with("error: "));
    assert_eq!(errors.count(), 1, "{arguments:?}: {told}");
    assert!(!told.contains("panicked") && told.len() < 1000, "{arguments:?}: {told}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "", "{arguments:?}");
    assert_eq!(names(world), before, "{arguments:?}");
}

#[test]
fn tables_of_csv() {
    let world = world();
    let written: [(&str, &[u8], &[&str]); 12] = [
        ("empty.csv", b"", &["empty.csv is empty", "first row"]),
        ("binary.csv", &[0; 100], &["control characters", "UTF-8"]),
        ("utf16.csv", b"\xff\xfep\0r\0", &["UTF-16", "UTF-8"]),
        ("latin.csv", b"price,name\n1,M\xfcller\n", &["latin.csv, line 2", "not in UTF-8", "iconv"]),
        ("ragged.csv", b"price,qty\n1,2\n3\n", &["line 3", "1 field", "as many fields"]),
        ("twice.csv", b"price,price\n1,2\n", &["column 2", "\"price\"", "a name of its own"]),
        ("noname.csv", b"price,\n1,2\n", &["column 2", "\"\"", "a name of its own"]),
        ("other.csv", b"prize,qty\n1,2\n", &["\"price\"", "prize, qty"]),
        ("text.csv", b"price\n1\ntwo\n", &["text.csv, line 3, column 1 (\"price\")", "two"]),
        ("nan.csv", b"price\nNaN\n", &["nan.csv, line 2, column 1 (\"price\")", "NaN"]),
        ("real.csv", b"price\n1\n1.5\n", &["real.csv, line 3, column 1 (\"price\")", "1.5", "bfv", "ckks"]),
        ("large.csv", b"price\n1\n99999999999\n", &["column price, row 2", "99999999999"]),
    ];
    for (name, content, words) in written {
        std::fs::write(world.path(name), content).unwrap();
        let encrypt = ["encrypt", name, "--columns", "price", "--key", "public.key", "-o", "out.parquet"];
        refused(&world, &encrypt, FAILED, &[&[name], words].concat());
    }
    for (table, words) in
        [("absent.csv", ["absent.csv", "no such file"]), ("folder", ["folder", "it is a folder"])]
    {
        let encrypt = ["encrypt", table, "--columns", "price", "--key", "public.key", "-o", "out.parquet"];
        refused(&world, &encrypt, FAILED, &words);
    }
}

#[test]
fn keys_and_outputs_of_owners() {
    let world = world();
    let encrypt = |key, output, code, words: &[&str]| {
        refused(&world, &["encrypt", "t.csv", "--columns", "price", "--key", key, "-o", output], code, words);
    };
    encrypt("eval.key", "out.parquet", FAILED, &["eval.key is an evaluation key"]);
    encrypt("absent.key", "out.parquet", FAILED, &["absent.key", "no such file"]);
    encrypt("folder", "out.parquet", FAILED, &["folder: it is a folder"]);
    encrypt("t.csv", "out.parquet", FAILED, &["t.csv", "neither a key"]);
    encrypt("public.key", "t.parquet", FAILED, &["t.parquet exists already", "--force"]);
    encrypt("public.key", "t.csv", FAILED, &["t.csv is both input and output"]);
    encrypt("public.key", "folder", FAILED, &["folder: it is a folder", "folder/result"]);
    encrypt("public.key", "absent/out.parquet", FAILED, &["the folder absent does not exist", "mkdir"]);
    for pack in ["0", "-1", "many", "99999999999999999999"] {
        let pack = format!("--pack={pack}");
        let encrypt = ["encrypt", "t.csv", "--columns", "price", "--key", "public.key", "-o", "out", &pack];
        refused(&world, &encrypt, USAGE, &["--pack"]);
    }
    let encrypt =
        ["encrypt", "t.csv", "--columns", "price", "--key", "public.key", "-o", "out", "--pack=4097"];
    refused(&world, &encrypt, FAILED, &["4097 values", "4096 slots"]);

    let decrypt = |table, key, more: &[&str], words: &[&str]| {
        refused(&world, &[&["decrypt", table, "--key", key], more].concat(), FAILED, words);
    };
    decrypt("t.parquet", "public.key", &[], &["column price", "secret.key"]);
    decrypt("t.parquet", "public.key", &["-o", "out.csv"], &["column price", "secret.key"]);
    decrypt("t.parquet", "eval.key", &[], &["eval.key is an evaluation key"]);
    decrypt("absent.parquet", "secret.key", &["-o", "out.csv"], &["absent.parquet", "no such file"]);
    decrypt("folder", "secret.key", &[], &["it is a folder"]);
    decrypt("t.csv", "secret.key", &[], &["t.csv", "Parquet", "undamaged copy"]);
    decrypt("t.parquet", "secret.key", &["-o", "t.csv"], &["t.csv exists already"]);
    let mut damaged = std::fs::read(world.path("t.parquet")).unwrap();
    damaged[50_000] ^= 1;
    std::fs::write(world.path("damaged.parquet"), damaged).unwrap();
    decrypt("damaged.parquet", "secret.key", &["-o", "out.csv"], &["damaged", "undamaged copy"]);
    let other = World::new::<Bfv>(&bfv::presets::bfv_n12_d1().unwrap(), &Rotations::default(), 2);
    decrypt("t.parquet", &other.url("secret.key"), &[], &["column price", "key set"]);
}

#[test]
fn outputs_are_replaced_by_force() {
    let world = world();
    let run = |arguments: &[&str]| {
        let output = he_sql(&world).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(&["encrypt", "t.csv", "--columns", "price", "--key", "public.key", "-o", "t.parquet", "--force"]);
    // The table that is read, too.
    let query = "SELECT he_sum(price) AS p FROM 't.parquet'";
    run(&["query", query, "--keys", "eval.key", "-o", "t.parquet", "--force"]);
    run(&["decrypt", "t.parquet", "--key", "secret.key", "-o", "t.csv", "--force"]);
    assert_eq!(std::fs::read_to_string(world.path("t.csv")).unwrap(), "p\n8\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(world.path("t.csv")).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "others can read what was decrypted");
    }
}

#[test]
fn keys_of_queries() {
    let world = world();
    let tfhe = World::tfhe(3);
    let (other, other_secret) = (tfhe.url("eval.key"), tfhe.url("secret.key"));
    for (keys, words) in [
        ("absent.key", &["absent.key", "no such file"][..]),
        ("folder", &["folder: it is a folder"]),
        ("/dev/null", &["/dev/null is empty"]),
        ("t.csv", &["t.csv", "neither a key"]),
        ("secret.key", &["never see a secret", "eval.key"]),
        (&other_secret, &["never see a secret", "eval.key"]),
        ("public.key", &["public.key is a public key"]),
        (&other, &["column price", "bfv", "tfhe"]),
        ("", &["an empty path"]),
        ("ftp://host/eval.key", &["ftp:// is not known", "https://"]),
        ("file://eval.key", &["file:///data/eval.key"]),
        ("http://", &["not a URL"]),
        ("https://me:hunter2@host/eval.key", &["https://host/eval.key", "credentials"]),
    ] {
        let query = ["query", "SELECT he_sum(price) FROM 't.parquet'", "--keys", keys, "-o", "out.parquet"];
        refused(&world, &query, FAILED, words);
    }
}

#[test]
fn tables_and_options_of_queries() {
    let world = world();
    let query = |sql: &str, more: &[&str], code, words: &[&str]| {
        let query = ["query", sql, "--keys", "eval.key", "-o", "out.parquet"];
        refused(&world, &[&query, more].concat(), code, words);
    };
    let sum = "SELECT he_sum(price) FROM t";
    for (table, words) in [
        ("t=absent.parquet", ["absent.parquet", "table t", "a Parquet file"]),
        ("t=t.txt", ["t.txt", "table t", "a Parquet file"]),
        ("t=damaged.csv", ["damaged.csv", "line 3", "as many fields"]),
        ("t=absent.csv", ["absent.csv", "no such file", "absent.csv"]),
        ("t=https://host/t.csv", ["https://host/t.csv", "files of the client", "Parquet"]),
        ("t=folder", ["folder", "table t", "a folder of them"]),
        ("t=damaged.parquet", ["damaged.parquet", "table t", "Parquet"]),
        ("t=ftp://host/t.parquet", ["ftp:// is not known", "table t", "https://"]),
    ] {
        std::fs::write(world.path("damaged.parquet"), "PAR1").unwrap();
        std::fs::write(world.path("damaged.csv"), "a,b\n1,2\n3\n").unwrap();
        std::fs::write(world.path("t.txt"), CSV).unwrap();
        query(sum, &["--table", table], FAILED, &words);
    }
    for table in ["t", "=t.parquet", "t="] {
        query(sum, &["--table", table], USAGE, &["NAME=URL"]);
    }
    query(sum, &["--table", "t=t.parquet", "--table", "t=t.parquet"], FAILED, &["table t", "already exists"]);
    query(sum, &[], FAILED, &["'datafusion.public.t' not found", "--table NAME=URL"]);
    for (option, values) in [
        ("--partitions", &["0", "1025", "-1", "99999999999999999999"][..]),
        ("--group-rows", &["0", "-1", "99999999999999999999"]),
        ("--clear-most", &["1.5", "-1", "99999999999999999999"]),
        ("--decimal", &["", "dot"]),
    ] {
        for value in values {
            query(sum, &[&format!("{option}={value}")], USAGE, &[option]);
        }
    }
    query(sum, &["--device", "gpu"], FAILED, &["gpu", "cuda:N"]);
    query(sum, &["--params", "absent"], FAILED, &["absent", "no such file"]);
    query(sum, &["--params", "t.csv"], FAILED, &["t.csv", "Params.to_bytes"]);

    // Clear tables, and texts that are not queries.
    std::fs::write(world.path("clear.csv"), "region,price\nnorth,3\n").unwrap();
    let clear = ["encrypt", "clear.csv", "--columns", "price", "--key", "public.key", "-o", "u.parquet"];
    assert!(he_sql(&world).args(clear).status().unwrap().success());
    query("SELECT he_sum(region) FROM 'u.parquet'", &[], FAILED, &["he_sum", "region", "Utf8"]);
    for (sql, words) in [
        ("", &["No SQL statements"][..]),
        ("SELEC price FROM 't.parquet'", &["SELEC", "hint"]),
        ("SELECT 'it's' FROM 't.parquet'", &["Unterminated", "hint"]),
        ("SELECT 1; SELECT 2", &["single SQL statement"]),
        ("SELECT prise FROM 't.parquet'", &["prise", "price"]),
        ("SELECT he_sums(price) FROM 't.parquet'", &["he_sums", "he_sum"]),
        ("SELECT sum(price) FROM 't.parquet'", &["'sum'", "encrypted", "he_sum(x)"]),
        ("SELECT stddev(price) FROM 't.parquet'", &["'stddev'", "encrypted", "he_dot(x, x)"]),
        ("SELECT -price FROM 't.parquet'", &["'-'", "encrypted", "he_neg(x)"]),
        ("SELECT sum(price * qty) FROM 't.parquet'", &["BinaryView * BinaryView", "he_mul(x, y)"]),
        ("SELECT power(price, 2) FROM 't.parquet'", &["'power'", "he_polynomial(x, 0, 0, 1)"]),
        ("SELECT region FROM 't.parquet' WHERE price IN (1, 2)", &["IN on", "price", "compared"]),
        ("SELECT avg(price) FROM 't.parquet'", &["avg", "he_sum(x) and count(x)", "encrypted"]),
        ("SELECT price + 1 FROM 't.parquet'", &["BinaryView + Int64", "he_add"]),
        ("SELECT he_add(price, 1.5) FROM 't.parquet'", &["he_add", "1.5", "integer"]),
        ("COPY (SELECT 1) TO 'out.csv'", &["COPY", "SELECT and EXPLAIN"]),
        ("CREATE TABLE x AS SELECT 1", &["DDL", "SELECT and EXPLAIN"]),
        ("DROP TABLE x", &["DDL", "SELECT and EXPLAIN"]),
        ("SET datafusion.execution.batch_size = 1", &["SetVariable", "SELECT and EXPLAIN"]),
        ("SELECT cast('x' AS int) FROM 't.parquet'", &["Cannot cast string 'x'"]),
        ("SELECT price FROM 't.parquet' LIMIT -1", &["LIMIT must be >= 0"]),
    ] {
        query(sql, &[], FAILED, words);
    }
    let deep = format!("SELECT he_add(price, {}1{}) FROM 't.parquet'", "(".repeat(9000), ")".repeat(9000));
    query(&deep, &[], FAILED, &["recursion limit"]);
    query("SELECT region FROM 't.parquet'", &["--force", "-o", "folder"], USAGE, &["--output"]);
    refused(
        &world,
        &["query", "SELECT region FROM 't.parquet'", "--keys", "eval.key", "-o", "t.csv"],
        FAILED,
        &["t.csv exists already"],
    );
}

/// A reader that leaves is not an error; a full disk is one.
#[test]
fn standard_output_may_end() {
    let world = world();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    for arguments in [
        &["query", "EXPLAIN SELECT he_sum(price) FROM 't.parquet'", "--keys", "eval.key"][..],
        &["decrypt", "t.parquet", "--key", "secret.key"],
    ] {
        let mut child =
            he_sql(&world).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        if let Ok(full) = &full {
            let output = he_sql(&world).args(arguments).stdout(full.try_clone().unwrap()).output().unwrap();
            let told = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(FAILED), "{told}");
            assert!(told.contains("No space left"), "{told}");
        }
    }
    // An answer without rows has names.
    let none = ["query", "SELECT region FROM 't.parquet' WHERE region = 'x'", "--keys", "eval.key"];
    let output = he_sql(&world).args(none).output().unwrap();
    assert!(output.status.success() && String::from_utf8(output.stdout).unwrap().contains("region"));
}

#[cfg(feature = "cluster")]
mod cluster {
    use super::*;
    use common::cluster::{Cluster, port, wait_for};
    use std::net::TcpListener;

    #[test]
    fn addresses_of_processes() {
        let world = world();
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = taken.local_addr().unwrap();
        let (at, nobody) = (taken.to_string(), format!("127.0.0.1:{}", port()));
        let next = format!("127.0.0.1:{}", taken.port() - 1);
        let free = format!("127.0.0.1:{}", port());
        refused(&world, &["scheduler", "--bind", &at], FAILED, &[&at, "in use", "another --bind"]);
        refused(&world, &["scheduler", "--bind", "192.0.2.1:5000"], FAILED, &["192.0.2.1:5000", "--bind"]);
        refused(&world, &["scheduler", "--bind", "0.0.0.0:5000"], FAILED, &["0.0.0.0:5000", "--name HOST"]);
        let executor = |bind, scheduler, more: &[&str], code, words: &[&str]| {
            let executor = ["executor", "--bind", bind, "--scheduler", scheduler, "--wait", "0"];
            refused(&world, &[&executor, more].concat(), code, words);
        };
        executor(&at, &nobody, &[], FAILED, &[&at, "in use"]);
        executor(&next, &nobody, &[], FAILED, &[&at, "in use"]);
        executor("127.0.0.1:65535", &nobody, &[], FAILED, &["65535", "a lower one"]);
        executor(&free, &nobody, &[], FAILED, &[&nobody, "he-sql scheduler"]);
        executor(&free, "host.invalid:50050", &[], FAILED, &["host.invalid:50050"]);
        executor(&free, &nobody, &["--work-dir", "t.csv/work"], FAILED, &["t.csv/work"]);
        executor(&free, &nobody, &["--device", "gpu"], FAILED, &["gpu", "cuda:N"]);
        executor(&free, "nowhere", &[], USAGE, &["HOST:PORT"]);
        executor(&free, ":50050", &[], USAGE, &["HOST:PORT"]);
        executor("127.0.0.1:0", &nobody, &[], USAGE, &["HOST:PORT"]);
        executor("127.0.0.1:99999", &nobody, &[], USAGE, &["HOST:PORT"]);
        executor(&free, &nobody, &["--cores", "0"], USAGE, &["--cores"]);

        let query = ["query", "SELECT region FROM 't.parquet'", "--keys", "eval.key", "-o", "out.parquet"];
        for (url, words) in [
            (&format!("df://{nobody}")[..], &[&nobody[..], "he-sql scheduler"][..]),
            ("df://host.invalid:50050", &["host.invalid:50050", "he-sql scheduler"]),
            (&nobody, &["df://HOST:PORT"]),
            ("df://host", &["df://HOST:PORT"]),
        ] {
            refused(&world, &[&query[..], &["--ballista", url]].concat(), FAILED, words);
        }
    }

    /// An error in a task reaches the client in one line.
    #[test]
    fn errors_of_executors() {
        let world = world();
        let mut damaged = std::fs::read(world.path("t.parquet")).unwrap();
        damaged[50_000] ^= 1;
        std::fs::write(world.path("damaged.parquet"), damaged).unwrap();
        let cluster = Cluster::start(&world, 1);
        let mut query = cluster.query(&world, "SELECT he_sum(price) FROM t", "out.parquet");
        query.args(["--keys", &world.url("eval.key")]);
        let before = names(&world);
        let table = format!("t={}", world.url("damaged.parquet"));
        let output = query.args(["--table", &table]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(FAILED), "{told}");
        assert!(told.starts_with("he-sql: error: a damaged cell"), "{told}");
        assert!(told.contains("undamaged copy") && told.lines().count() == 1, "{told}");
        assert_eq!(names(&world), before);
    }

    /// A cluster without executors does not answer, and the client says so if it is asked to.
    #[test]
    fn a_cluster_without_executors() {
        let world = world();
        let cluster = Cluster::start(&world, 0);
        let mut query = cluster.query(&world, "SELECT he_sum(price) FROM t", "out.parquet");
        query.args(["--keys", &world.url("eval.key"), "--timeout", "2"]);
        let output = query.args(["--table", &format!("t={}", world.url("t.parquet"))]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(FAILED), "{told}");
        assert!(told.contains("after 2 s") && told.contains("executors"), "{told}");
        assert!(!names(&world).contains(&"out.parquet".to_owned()));
    }

    /// An executor waits for its scheduler, and reports to the address that this has, for which
    /// Linux has a second one of the loopback interface. `localhost` is an address.
    #[test]
    fn executors_may_come_first() {
        let world = world();
        let at = if cfg!(target_os = "linux") { "127.0.0.2" } else { "127.0.0.1" };
        let (scheduler, executor) = (format!("{at}:{}", port()), port());
        let process = |arguments: String| {
            let mut words: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
            if words[0] == "executor" {
                words.extend(["--work-dir".to_owned(), world.url("work")]);
            }
            common::cluster::Process::start(&words)
        };
        let _executor = process(format!("executor --scheduler {scheduler} --bind localhost:{executor}"));
        std::thread::sleep(std::time::Duration::from_millis(500));
        let _scheduler = process(format!("scheduler --bind {scheduler}"));
        wait_for(executor);
        let query = ["query", "SELECT region, he_sum(price) FROM t GROUP BY region", "--keys", "eval.key"];
        let at = format!("df://{scheduler}");
        let more = ["--table", "t=t.parquet", "--ballista", &at];
        let output = he_sql(&world).args(query).args(more).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8(output.stdout).unwrap().contains("[bfv, "));
    }
}
