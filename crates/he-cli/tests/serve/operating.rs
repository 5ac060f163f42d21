//! Commands and signals of operators to a service that runs, and its answers to them.

use crate::{Client, Process, done, he};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The words of a command that is refused.
#[track_caller]
fn refused(command: &mut Command, code: i32) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

/// A certificate as `openssl req -x509` makes it, which says that it is an authority.
fn certificate(folder: &Path, name: &str, host: &str) {
    let path = |end: &str| folder.join(format!("{name}.{end}"));
    let output = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", &format!("subjectAltName={host}"), "-keyout"])
        .arg(path("key"))
        .arg("-out")
        .arg(path("pem"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_second_process_is_refused_in_one_line() {
    let data = tempfile::tempdir().unwrap();
    let service = Process::start(data.path(), |_| {});
    let said = refused(he().args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data.path()), 1);
    let holder = format!("is in use by process {} on ", service.child.id());
    assert!(said.contains(&holder) && said.contains("he-cli: hint: stop that process"), "{said}");
    // Killed by force, it holds nothing up.
    service.kill();
    let begin = Instant::now();
    Process::start(data.path(), |_| {}).guest().get("/v1/objects").expect(200);
    assert!(begin.elapsed() < Duration::from_secs(10));
}

#[test]
fn tenants_and_tokens_are_managed_beside_the_service() {
    let data = tempfile::tempdir().unwrap();
    let command = |arguments: &[&str]| {
        let mut command = he();
        command.arg("serve").args(arguments).arg("--json").arg("--data").arg(data.path());
        command
    };
    let json =
        |arguments: &[&str]| -> Value { serde_json::from_slice(&done(&mut command(arguments))).unwrap() };
    refused(&mut command(&["token", "add", "alice"]), 1);
    assert_eq!(fs::read_dir(data.path()).unwrap().count(), 0);
    json(&["tenant", "add", "alice", "--mib", "3", "--create"]);
    let service = Process::start(data.path(), |command| {
        command.args(["--tenant-objects", "7"]);
    });
    let made = json(&["token", "add", "alice", "--label", "laptop", "--expires", "30"]);
    assert!(made["database"].as_str().unwrap().ends_with("he-server.sqlite"), "{made}");
    let token = made["token"].as_str().unwrap().to_owned();
    let alice = Client { token: Some(token), ..service.client.clone() };
    let limits = || alice.get("/v1/info").expect(200).json()["limits"].clone();
    assert_eq!((&limits()["bytes"], &limits()["objects"]), (&(3 << 20).into(), &7.into()));
    json(&["tenant", "set", "alice", "--mib", "default", "--objects", "2", "--rename", "alicia"]);
    assert_eq!((&limits()["bytes"], &limits()["objects"]), (&(65536_u64 << 20).into(), &2.into()));
    let shown = json(&["tenant", "show", "alicia"])["tenant"].clone();
    assert_eq!((&shown["own_quota"]["objects"], &shown["own_quota"]["bytes"]), (&2.into(), &Value::Null));
    assert_eq!(json(&["tenant", "list"])["tenants"][0], shown);
    let listed = json(&["token", "list"])["tokens"][0].clone();
    assert_eq!((&listed["tenant"], &listed["label"]), (&"alicia".into(), &"laptop".into()));
    for time in ["created", "used", "expires"] {
        assert!(listed[time].as_str().unwrap().starts_with("20"), "{listed}");
    }
    assert!(refused(&mut command(&["tenant", "set", "alicia"]), 2).contains("--mib"));
    assert!(refused(&mut command(&["tenant", "show", "alice"]), 1).contains("no tenant"));
    json(&["tenant", "remove", "alicia"]);
    alice.get("/v1/objects").problem(401);
    // The log of the service tells who did it.
    let told = service.logged(|line| line["audit"] == "tenant remove");
    assert!(told["subject"] == "alicia" && told["operator"].as_str().unwrap().contains('@'), "{told}");
}

#[test]
fn the_log_tells_who_asked_for_what() {
    let data = tempfile::tempdir().unwrap();
    let service = Process::start(data.path(), |_| {});
    let guest = service.guest();
    let headers = [("X-Request-Id", "r-17"), ("Content-Type", "application/json")];
    let answer = guest.send("POST", "/v1/jobs", &headers, b"{}");
    assert_eq!(answer.json()["request_id"], "r-17");
    let line = service.logged(|line| line["request"] == "r-17" && line["message"] == "request");
    let length = answer.body.len();
    for (field, value) in [
        ("method", json!("POST")),
        ("route", json!("/v1/jobs")),
        ("status", json!(answer.status)),
        ("address", json!("127.0.0.1")),
        ("name", json!("guest")),
        ("received", json!(2)),
        ("sent", json!(length)),
    ] {
        assert_eq!(line[field], value, "{field}: {line}");
    }
    let session = service.logged(|line| line["audit"] == "session open");
    assert_eq!(session["subject"], line["tenant"]);
    assert!(line["token"].as_str().unwrap().len() == 32 && line["millis"].as_f64().unwrap() > 0.0, "{line}");
    let secret = guest.token.unwrap();
    assert!(!service.log.lock().unwrap().contains(&secret));
}

#[test]
fn the_file_has_a_key_for_every_setting() {
    let data = tempfile::tempdir().unwrap();
    let config = data.path().join("settings.toml");
    let write = |text: &str| fs::write(&config, text).unwrap();
    let serve = || {
        let mut command = he();
        command.args(["serve", "--config"]).arg(&config);
        command
    };
    for (text, code, said) in [
        (
            "guest-mb = 10\n",
            2,
            "settings.toml:1:1: there is no setting guest-mb\nhe-cli: hint: there is guest-mib",
        ),
        ("device = \"abacus\"", 2, "device: abacus is not a device"),
        ("threads = 0", 2, "threads"),
        ("log = \"xml\"", 2, "settings.toml:1:7: log: xml is not one of text and json"),
        ("page = \"nope\"", 1, "does not hold a page"),
        ("database = \"postgres://he:geheim@127.0.0.1:1/he\"", 1, "connection refused at 127.0.0.1:1"),
    ] {
        write(&format!("{text}\n"));
        let begin = Instant::now();
        let found = refused(serve().arg("--data").arg(data.path().join("data")), code);
        assert!(found.contains(said) && found.contains("hint: "), "{text}: {found}");
        assert!(!found.contains("geheim") && begin.elapsed() < Duration::from_secs(10), "{found}");
    }
    write("log = \"json\"\nlog-level = \"warn\"\ndevice = \"cpu\"\nthreads = 1\n");
    let service = Process::start(&data.path().join("data"), |command| {
        command.arg("--config").arg(&config).env_remove("HE_DEVICE");
    });
    service.guest();
    // The level is read again, and the service lives on.
    write("log-level = \"info\"\n");
    service.signal(Signal::HUP);
    for _ in 0..40 {
        service.client.get("/healthz").expect(200);
        std::thread::sleep(Duration::from_millis(50));
        if service.log.lock().unwrap().contains("/healthz") {
            break;
        }
    }
    service.logged(|line| line["route"] == "/healthz");
    let log = service.log.lock().unwrap().clone();
    assert!(!log.contains("/v1/sessions"), "{log}");
}

/// Whether a client that trusts the certificate of this file takes the service's.
fn trusts(service: &Process, file: &Path) -> bool {
    let Output { status, .. } = Command::new("openssl")
        .args([
            "s_client",
            "-verify_return_error",
            "-connect",
            &service.client.address.to_string(),
            "-CAfile",
        ])
        .arg(file)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    status.success()
}

#[test]
fn certificates_are_replaced_while_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["old", "new"] {
        certificate(folder.path(), name, "IP:127.0.0.1");
    }
    let install = |certificate: &str, key: &str| {
        fs::copy(path(certificate), path("tls.pem")).unwrap();
        fs::copy(path(key), path("tls.key")).unwrap();
    };
    install("old.pem", "old.key");
    let service = Process::start(&path("data"), |command| {
        command.arg("--tls-certificate").arg(path("tls.pem")).arg("--tls-key").arg(path("tls.key"));
    });
    assert!(trusts(&service, &path("old.pem")) && !trusts(&service, &path("new.pem")));
    // One that does not belong to its key changes nothing.
    install("new.pem", "old.key");
    service.signal(Signal::HUP);
    let told = service.logged(|line| line["level"] == "ERROR");
    assert!(told.to_string().contains("tls.pem"), "{told}");
    assert!(trusts(&service, &path("old.pem")));
    install("new.pem", "new.key");
    service.signal(Signal::HUP);
    service.logged(|line| line["message"] == "the certificate was read again");
    assert!(!trusts(&service, &path("old.pem")) && trusts(&service, &path("new.pem")));
}

/// By a model of the service, over TLS with a certificate that nobody has signed.
#[cfg(feature = "client")]
#[test]
fn inference_there_over_a_certificate_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let plan = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/client/tests/model.plan");
    let at = |arguments: &[&str]| {
        let mut command = he();
        command.args(arguments).current_dir(folder.path());
        command
    };
    fs::copy(&plan, path("tiny.plan")).unwrap();
    fs::write(path("x.csv"), "0.5,-0.25,1,0\n-1,0.75,0.125,0.5\n").unwrap();
    done(&mut at(&["keygen", "tiny.plan", "-o", "keys"]));
    done(&mut at(&["encrypt", "x.csv", "--model", "tiny.plan", "-k", "keys/public.key", "-o", "x.he"]));
    done(&mut at(&["infer", "x.he", "--model", "tiny.plan", "-k", "keys/eval.key", "-o", "here.he"]));
    for name in ["own", "other"] {
        certificate(folder.path(), name, "DNS:localhost");
    }
    let service = Process::start(&path("data"), |command| {
        command.arg("--tls-certificate").arg(path("own.pem")).arg("--tls-key").arg(path("own.key"));
        command.arg("--models").arg(&plan);
    });
    let port = service.client.address.port();
    let there = |host: &str, more: &[&str]| {
        let url = format!("https://{host}:{port}");
        let mut command = at(&["infer", "x.he", "-k", "keys/eval.key", "-o", "there.he", "--server", &url]);
        command.args(more);
        command
    };
    for more in [&[][..], &["--model", "model", "--force"], &["--model", "model.plan", "--force"]] {
        done(there("localhost", more).args(["--ca-file", "own.pem"]));
        assert!(fs::read(path("there.he")).unwrap() == fs::read(path("here.he")).unwrap());
    }
    fs::remove_file(path("there.he")).unwrap();
    for (host, file, said, hint) in [
        ("localhost", "other.pem", "is not trusted: none in the file", "this very certificate"),
        ("127.0.0.1", "own.pem", "certificate", "subjectAltName"),
        ("localhost", "own.key", "holds no certificates", "BEGIN CERTIFICATE"),
    ] {
        let found = refused(there(host, &[]).args(["--ca-file", file]), 1);
        assert!(found.contains(said) && found.contains(hint), "{host}, {file}: {found}");
    }
    let found = refused(&mut there("localhost", &["--ca-file", "own.pem", "--model", "nope"]), 1);
    assert!(found.contains("has no model nope") && found.contains("--model: model"), "{found}");
    assert!(!path("there.he").exists());
}
