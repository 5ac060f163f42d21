//! Jobs and their results, downloads, lists, and what the service says of itself.

use crate::client::{Client, TUS, read_answer};
use crate::fixtures::{Service, evaluated, files};
use he_files::audit::{self, Choice};
use he_files::io::input::Input;
use he_files::operation::Sources;
use he_files::trace::{SignedRoot, SigningKey, Trace, hex};
use he_server::settings::Settings;
use serde_json::{Value, json};
use std::io::{BufReader, Read, Write};
use std::sync::Arc;

#[test]
fn results_are_those_of_the_command_line() {
    let service = Service::start();
    let guest = service.guest();
    let files = files();
    let keys = guest.upload("/v1/key-sets", &files.evaluation);
    let image = guest.upload("/v1/objects", &files.image);
    let table = guest.upload("/v1/objects", &files.table);
    for (operation, inputs, bytes) in [
        (r#"{"name":"blur","radius":1}"#, vec![&image], [&files.image, &files.image]),
        (r#"{"name":"brightness","by":0.25}"#, vec![&image], [&files.image, &files.image]),
        (r#"{"name":"grayscale"}"#, vec![&image], [&files.image, &files.image]),
        (r#"{"name":"blend","alpha":0.25}"#, vec![&image, &image], [&files.image, &files.image]),
        (r#"{"name":"mean"}"#, vec![&table], [&files.table, &files.table]),
        (r#"{"name":"add"}"#, vec![&table, &table], [&files.table, &files.table]),
    ] {
        let ids: Vec<&str> = inputs.iter().map(|id| &***id).collect();
        let id = guest.job(serde_json::from_str(operation).unwrap(), &ids, &keys);
        let job = guest.wait(&id);
        assert_eq!(job["state"], "done", "{job}");
        assert_eq!(job["progress"]["done"], job["progress"]["of"]);
        assert!(job["error"].is_null() && job["finished"].is_string());
        let other = (ids.len() == 2).then_some(&**bytes[1]);
        let expected = evaluated(operation, bytes[0], other);
        assert!(guest.content(job["result"].as_str().unwrap()) == expected, "{operation}");
    }
    // A result is an object as any other.
    let twice = guest.job(json!({ "name": "invert" }), &[&image], &keys);
    let result = guest.wait(&twice)["result"].as_str().unwrap().to_owned();
    let info = guest.get(&format!("/v1/objects/{result}")).expect(200).json();
    assert_eq!((&info["state"], &info["kind"]), (&json!("ready"), &json!("object")));
    let jobs = guest.get("/v1/jobs").expect(200).json();
    assert_eq!(jobs["items"].as_array().unwrap().len(), 7);
}

/// The trace of a job is that of the same computation anywhere, and is there as long as the job.
#[test]
fn jobs_have_traces() {
    let (folder, signer) = (tempfile::tempdir().unwrap(), SigningKey::generate(&mut he_core::rand::rng()));
    let path = folder.path().join("signing.pem");
    std::fs::write(&path, signer.to_pem().unwrap().as_bytes()).unwrap();
    let service = Service::with(Settings { trace_key: Some(path), ..Settings::default() });
    let (guest, other, files) = (service.guest(), service.guest(), files());
    let keys = guest.upload("/v1/key-sets", &files.evaluation);
    let image = guest.upload("/v1/objects", &files.image);
    let id = guest.job(json!({ "name": "blend", "alpha": 0.25 }), &[&image, &image], &keys);
    let job = guest.wait(&id);
    let found = guest.get(&format!("/v1/jobs/{id}/trace")).expect(200).body;
    let trace = Trace::from_bytes(&found).unwrap();
    assert_eq!(job["root"], hex(&trace.root()));
    let signed: SignedRoot = serde_json::from_value(job["signed"].clone()).unwrap();
    signed.check(&trace.root(), &signer.verifying_key()).unwrap();
    let info = guest.get("/v1/info").expect(200).json();
    assert_eq!(info["trace_signer"], signer.verifying_key().to_string());
    // The operations that are asked for, and no others.
    let path = |list: &str| format!("/v1/jobs/{id}/trace?operations={list}");
    let opened = guest.get(&path("1,0")).expect(200).body;
    assert_eq!(opened, trace.open(&[0, 1]).unwrap().to_bytes().unwrap());
    for list in ["", "x", "-1", "0,", "99999999999999999999", "4000000000", "0&more=1"] {
        guest.get(&path(list)).problem(400);
    }
    let result = guest.content(job["result"].as_str().unwrap());
    audit::check_result(&trace, Input::from_bytes("result", result)).unwrap();
    let input = |bytes: &[u8]| Input::from_bytes("input", bytes.to_vec());
    let image = || input(&files.image);
    let sources =
        Sources { input: image(), others: vec![image()], key: input(&files.evaluation), bootstrap: None };
    let rng = &mut he_core::rand::rng();
    let report = audit::evaluation(&trace, sources, &Choice::All, Arc::new(()), rng).unwrap();
    assert!(report.wrong.is_empty() && report.computed.len() == trace.operations().len());
    // Nobody else sees it, and a job that failed has none.
    other.get(&format!("/v1/jobs/{id}/trace")).problem(404);
    let failed = guest.job(json!({ "name": "sum" }), &[job["inputs"][0].as_str().unwrap()], &keys);
    assert!(guest.wait(&failed)["root"].is_null());
    guest.get(&format!("/v1/jobs/{failed}/trace")).problem(404);
}

#[test]
fn jobs_that_cannot_be_say_why() {
    let service = Service::start();
    let guest = service.guest();
    let files = files();
    let keys = guest.upload("/v1/key-sets", &files.evaluation);
    let image = guest.upload("/v1/objects", &files.image);
    let table = guest.upload("/v1/objects", &files.table);
    let other = guest.upload("/v1/objects", &files.other_image);
    for (operation, input, said) in [
        (json!({ "name": "blur" }), &table, "is an encrypted table, and blur is for images"),
        (json!({ "name": "sum" }), &image, "is an encrypted image, and sum is for tables"),
        (json!({ "name": "sort" }), &table, "is an encrypted table, and sort is for tables in digits"),
        (json!({ "name": "blur" }), &other, "belongs to key set"),
    ] {
        let job = guest.wait(&guest.job(operation, &[input], &keys));
        assert_eq!(job["state"], "failed");
        assert!(job["error"]["detail"].as_str().unwrap().contains(said), "{job}");
        assert!(job["error"]["hint"].is_string() && job["result"].is_null());
    }
    let ask = |job: Value| guest.post("/v1/jobs", &job);
    let blur = json!({ "name": "blur" });
    for (job, status) in [
        (json!({ "operation": { "name": "melt" }, "inputs": [image], "key_set": keys }), 400),
        (json!({ "operation": { "name": "blur", "x": 1 }, "inputs": [image], "key_set": keys }), 400),
        (json!({ "operation": blur, "inputs": [image, image], "key_set": keys }), 400),
        (json!({ "operation": blur, "inputs": [], "key_set": keys }), 400),
        (json!({ "operation": blur, "inputs": [image] }), 422),
        (json!({ "operation": blur, "inputs": [image], "key_set": keys, "more": 1 }), 422),
        (json!({ "operation": blur, "inputs": ["../x"], "key_set": keys }), 404),
        (json!({ "operation": blur, "inputs": [keys], "key_set": keys }), 404),
        (json!({ "operation": blur, "inputs": [image], "key_set": image }), 404),
        (
            json!({ "operation": { "name": "kernel", "matrix": "1 2" }, "inputs": [image], "key_set": keys }),
            422,
        ),
        (
            json!({ "operation": { "name": "infer", "model": "none" }, "inputs": [image], "key_set": keys }),
            400,
        ),
    ] {
        ask(job).problem(status);
    }
    let json = [("Content-Type", "application/json")];
    guest.send("POST", "/v1/jobs", &json, b"{").problem(400);
    guest.send("POST", "/v1/jobs", &json, &vec![b' '; 100_000]).problem(413);
    guest.send("POST", "/v1/jobs", &[], b"{}").problem(415);
    // An upload that is not complete.
    let begun = guest.begin("/v1/objects", 1000).expect(201).json();
    ask(json!({ "operation": blur, "inputs": [begun["id"]], "key_set": keys })).problem(409);
    guest.get(&format!("/v1/objects/{}/content", begun["id"].as_str().unwrap())).problem(409);
}

#[test]
fn a_request_with_a_key_is_one_job() {
    let service = Service::start();
    let (guest, other) = (service.guest(), service.guest());
    let files = files();
    let publish = |who: &Client| {
        (who.upload("/v1/key-sets", &files.evaluation), who.upload("/v1/objects", &files.image))
    };
    let (keys, image) = publish(&guest);
    // Numbers as they are, to the last digit.
    let brighten = |by: f64| {
        let operation = json!({ "name": "brightness", "by": by });
        json!({ "operation": operation, "inputs": [image], "key_set": keys }).to_string()
    };
    let ask = |who: &Client, key: &str, body: &str| {
        let headers = [("Content-Type", "application/json"), ("Idempotency-Key", key)];
        who.send("POST", "/v1/jobs", &headers, body.as_bytes())
    };
    let first = ask(&guest, "\"one\"", &brighten(0.1 + 0.2)).expect(202).json();
    // Once more, eight times at once, and after the end, when the input is gone.
    let id = &first["id"];
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                assert_eq!(&ask(&guest, "\"one\"", &brighten(0.1 + 0.2)).expect(202).json()["id"], id)
            });
        }
    });
    let done = guest.wait(id.as_str().unwrap());
    guest.delete(&format!("/v1/objects/{image}")).expect(204);
    assert_eq!(ask(&guest, "\"one\"", &brighten(0.1 + 0.2)).expect(202).json(), done);
    assert_eq!(guest.get("/v1/jobs").expect(200).json()["items"].as_array().unwrap().len(), 1);
    // Eight at once with a key that is new.
    let image = guest.upload("/v1/objects", &files.image);
    let body = json!({ "operation": { "name": "invert" }, "inputs": [image], "key_set": keys }).to_string();
    let ids: Vec<Value> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| ask(&guest, "two", &body).expect(202).json()["id"].clone()))
            .collect();
        asked.into_iter().map(|answer| answer.join().unwrap()).collect()
    });
    assert!(ids.iter().all(|id| *id == ids[0] && *id != first["id"]), "{ids:?}");
    // Another request needs another key, and a key is its tenant's.
    let said = ask(&guest, "\"one\"", &brighten(0.3)).problem(422);
    assert!(said.contains(first["id"].as_str().unwrap()), "{said}");
    let (keys, image) = publish(&other);
    let body = json!({ "operation": { "name": "invert" }, "inputs": [image], "key_set": keys }).to_string();
    let theirs = ask(&other, "\"one\"", &body).expect(202).json();
    assert_ne!(theirs["id"], first["id"]);
    // A request that was refused leaves its key free.
    let missing = json!({ "operation": { "name": "invert" }, "inputs": [keys], "key_set": keys }).to_string();
    ask(&other, "three", &missing).problem(404);
    ask(&other, "three", &body).expect(202);
    for key in ["", "two words", &"x".repeat(256), "caf\u{e9}"] {
        ask(&other, key, &body).problem(400);
    }
    ask(&other, &"x".repeat(255), &body).expect(202);
}

#[test]
fn downloads_have_ranges_and_tags() {
    let service = Service::start();
    let guest = service.guest();
    let file = &files().image;
    let url = format!("/v1/objects/{}/content", guest.upload("/v1/objects", file));
    let get = |name: &str, value: &str| guest.send("GET", &url, &[(name, value)], b"");
    let all = guest.get(&url).expect(200);
    assert!(all.body == *file);
    assert_eq!(all.header("accept-ranges"), Some("bytes"));
    let tag = all.header("etag").unwrap().to_owned();
    for (range, bounds) in [
        ("bytes=0-0".to_owned(), 0..1),
        ("bytes=5-99".to_owned(), 5..100),
        (format!("bytes={}-", file.len() - 7), file.len() - 7..file.len()),
        ("bytes=-3".to_owned(), file.len() - 3..file.len()),
        (format!("bytes=1-{}", file.len() * 2), 1..file.len()),
    ] {
        let part = get("Range", &range).expect(206);
        assert!(part.body == file[bounds.clone()], "{range}");
        let expected = format!("bytes {}-{}/{}", bounds.start, bounds.end - 1, file.len());
        assert_eq!(part.header("content-range"), Some(&*expected));
    }
    let beyond = get("Range", &format!("bytes={}-", file.len()));
    assert_eq!(beyond.header("content-range"), Some(&*format!("bytes */{}", file.len())));
    beyond.problem(416);
    get("If-None-Match", &tag).expect(304);
    let changed = [("Range", "bytes=0-3"), ("If-Range", "\"other\"")];
    assert_eq!(guest.send("GET", &url, &changed, b"").expect(200).body.len(), file.len());
    let same = [("Range", "bytes=0-3"), ("If-Range", &*tag)];
    assert_eq!(guest.send("GET", &url, &same, b"").expect(206).body, file[..4]);
}

#[test]
fn events_tell_the_progress_and_the_end() {
    let service = Service::start();
    let guest = service.guest();
    let keys = guest.upload("/v1/key-sets", &files().evaluation);
    let image = guest.upload("/v1/objects", &files().image);
    let id = guest.job(json!({ "name": "blur" }), &[&image], &keys);
    let read = || {
        let mut stream = guest.connect();
        let path = format!("/v1/jobs/{id}/events");
        stream.write_all(guest.head("GET", &path, &[], None).as_bytes()).unwrap();
        let answer = read_answer(&mut BufReader::new(stream), false).unwrap().expect(200);
        assert_eq!(answer.header("content-type"), Some("text/event-stream"));
        String::from_utf8(answer.body).unwrap()
    };
    // The first time while it runs, or just after; then of a job that has ended.
    for _ in 0..2 {
        let text = read();
        let last = text.trim_end().rsplit("\n\n").next().unwrap();
        let data = last.strip_prefix("event: done\ndata: ").unwrap_or_else(|| panic!("{text}"));
        let job: Value = serde_json::from_str(data).unwrap();
        assert_eq!((&job["id"], &job["state"]), (&json!(id), &json!("done")));
        for event in text.trim_end().split("\n\n").filter(|event| event.starts_with("event: progress")) {
            let data: Value = serde_json::from_str(event.split_once("data: ").unwrap().1).unwrap();
            assert!(data["done"].as_u64().unwrap() <= data["of"].as_u64().unwrap().max(1), "{event}");
        }
    }
    guest.delete(&format!("/v1/jobs/{id}")).problem(409);
}

#[test]
fn lists_have_pages() {
    let service = Service::start();
    let guest = service.guest();
    let mut made: Vec<String> = (0..7).map(|_| guest.upload("/v1/objects", &files().table)).collect();
    made.sort();
    let (mut listed, mut cursor) = (Vec::new(), String::new());
    loop {
        let list = guest.get(&format!("/v1/objects?limit=3{cursor}")).expect(200).json();
        let items = list["items"].as_array().unwrap();
        assert!(items.len() <= 3);
        listed.extend(items.iter().map(|item| item["id"].as_str().unwrap().to_owned()));
        let Some(next) = list["cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(listed, made);
    for query in ["limit=0", "limit=x", "limit=-1", "cursor=..", "cursor='--", "other=1"] {
        guest.get(&format!("/v1/objects?{query}")).problem(400);
        guest.get(&format!("/v1/jobs?{query}")).problem(400);
    }
}

#[test]
fn the_service_describes_itself() {
    let service = Service::start();
    let nobody = service.nobody();
    assert_eq!(nobody.get("/healthz").expect(200).json()["status"], "ok");
    assert_eq!(nobody.get("/readyz").expect(200).json()["status"], "ok");
    let info = nobody.get("/v1/info").expect(200).json();
    assert_eq!((&info["guests"], info["devices"].as_array().unwrap().len()), (&json!(true), 1));
    let names = nobody.get("/v1/operations").expect(200).json();
    assert!(names["operations"].as_array().unwrap().len() >= 20);
    let page = nobody.get("/").expect(200);
    assert!(page.header("content-security-policy").unwrap().contains("script-src 'self'"));
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    for path in ["/page/../../Cargo.toml", "/..%2f..%2fetc/passwd", "//etc/passwd", "/none", "/v2/x", "/v1"] {
        nobody.get(path).problem(404);
    }
    nobody.send("PUT", "/v1/jobs", &[], b"").problem(405);
    // Nobody can make the service count, and keep, words of their own.
    nobody.send("BREW", "/healthz", &[], b"").problem(405);
    let metrics = nobody.get("/metrics").expect(200);
    let text = String::from_utf8(metrics.body).unwrap();
    assert!(
        text.contains("he_server_request_seconds_count{route=\"/healthz\",method=\"GET\",status=\"200\"} 1")
    );
    assert!(!text.contains("etc/passwd") && !text.contains("BREW"));
    assert!(text.contains("method=\"other\",status=\"405\"} 1"));
}

/// Every path of the description is a route with these methods, and every one asks for a token
/// unless the description says that it needs none.
#[test]
fn the_description_is_true() {
    let service = Service::with(Settings { guests: Some(false), ..Settings::default() });
    let nobody = service.nobody();
    let description = nobody.get("/openapi.json").expect(200).json();
    assert_eq!(description["openapi"], "3.1.0");
    let mut operations = 0;
    for (path, item) in description["paths"].as_object().unwrap() {
        let path = path.replace("{id}", "0123456789abcdef0123456789abcdef").replace("{name}", "x");
        for (method, operation) in item.as_object().unwrap() {
            operations += 1;
            let answer = nobody.send(&method.to_uppercase(), &path, &[TUS], b"");
            let open = ["[]", r#"[{"token":[]},{}]"#].contains(&&*operation["security"].to_string());
            match (open, answer.status) {
                (_, 404 | 405) => panic!("{method} {path}: {}", answer.status),
                (true, 401) | (false, 200..=299) => panic!("{method} {path}: {}", answer.status),
                (false, status) => assert_eq!(status, 401, "{method} {path}"),
                (true, _) => {}
            }
        }
    }
    assert_eq!(operations, 40);
    nobody.send("POST", "/v1/sessions", &[], b"").problem(403);
}

#[test]
fn pages_are_served_from_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("page")).unwrap();
    std::fs::write(folder.path().join("index.html"), "<p>hello").unwrap();
    std::fs::write(folder.path().join("page/a.js"), "1").unwrap();
    let service = Service::with(Settings { page: Some(folder.path().to_owned()), ..Settings::default() });
    let nobody = service.nobody();
    assert_eq!(nobody.get("/").expect(200).body, b"<p>hello");
    let script = nobody.get("/page/a.js").expect(200);
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
    let tag = script.header("etag").unwrap().to_owned();
    nobody.send("GET", "/page/a.js", &[("If-None-Match", &tag)], b"").expect(304);
    nobody.get("/page/../index.html").problem(404);
    nobody.get("/page").problem(404);
}

#[test]
fn what_shrinks_is_compressed_and_ciphertexts_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let script: Vec<u8> = (0..4000).flat_map(|i| format!("let x{i} = {i};\n").into_bytes()).collect();
    for name in ["index.html", "a.js", "a.css", "a.wasm", "a.svg", "a.png"] {
        std::fs::write(folder.path().join(name), &script).unwrap();
    }
    std::fs::write(folder.path().join("small.js"), "1").unwrap();
    let service = Service::with(Settings { page: Some(folder.path().to_owned()), ..Settings::default() });
    let guest = service.guest();
    let ask = |path: &str, accepted: &str| {
        guest.send("GET", path, &[("Accept-Encoding", accepted)], b"").expect(200)
    };
    for path in ["/", "/a.js", "/a.css", "/a.wasm", "/a.svg"] {
        let answer = ask(path, "br, gzip;q=0.8");
        assert_eq!(answer.header("content-encoding"), Some("gzip"), "{path}");
        assert_eq!(answer.header("vary"), Some("accept-encoding"), "{path}");
        assert!(answer.body.len() < script.len() / 2, "{path}: {} bytes", answer.body.len());
        assert!(unzipped(&answer.body) == script, "{path}");
        let plain = ask(path, "identity");
        assert!(plain.header("content-encoding").is_none() && plain.body == script, "{path}");
        let known = [("If-None-Match", answer.header("etag").unwrap()), ("Accept-Encoding", "gzip")];
        assert!(guest.send("GET", path, &known, b"").expect(304).body.is_empty());
    }
    let described = ask("/openapi.json", "gzip");
    assert_eq!(described.header("content-encoding"), Some("gzip"));
    let described: Value = serde_json::from_slice(&unzipped(&described.body)).unwrap();
    assert_eq!(described, guest.get("/openapi.json").expect(200).json());
    for path in ["/a.png", "/small.js"] {
        assert!(ask(path, "gzip").header("content-encoding").is_none(), "{path}");
    }
    // Ciphertexts have their length and their ranges; tokens are in nothing that is compressed.
    let file = &files().image;
    let url = format!("/v1/objects/{}/content", guest.upload("/v1/objects", file));
    let answer = ask(&url, "gzip");
    assert!(answer.header("content-encoding").is_none() && answer.body == *file);
    assert_eq!(answer.header("content-length"), Some(&*file.len().to_string()));
    let session = guest.send("POST", "/v1/sessions", &[("Accept-Encoding", "gzip")], b"").expect(201);
    assert!(session.header("content-encoding").is_none() && session.json()["token"].is_string());
}

fn unzipped(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut plain).unwrap();
    plain
}
