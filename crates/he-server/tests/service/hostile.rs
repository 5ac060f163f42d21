//! Clients that take what they can get: what each of them may hold is bounded, and others are
//! served meanwhile.

use crate::client::{Client, PIECE, TUS, read_answer};
use crate::fixtures::{Service, files};
use he_server::settings::Settings;
use serde_json::{Value, json};
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const OBJECTS: &str = "/v1/objects";

/// Begins an upload with its first bytes.
fn first_bytes(who: &Client, count: usize) -> crate::client::Answer {
    let headers = [TUS, PIECE, ("Upload-Length", "300000")];
    who.send("POST", OBJECTS, &headers, &files().image[..count])
}

/// The files of staged uploads that this process has open.
fn open_files(service: &Service) -> usize {
    let staging = service.data.path().join("staging").canonicalize().unwrap();
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    open.filter(|entry| {
        let file = entry.as_ref().ok().and_then(|entry| std::fs::read_link(entry.path()).ok());
        file.is_some_and(|file| file.starts_with(&staging))
    })
    .count()
}

/// A connection with the beginning of a request.
fn unfinished(who: &Client) -> TcpStream {
    let mut stream = who.connect();
    // It may have given way already.
    let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n");
    stream
}

#[test]
fn unfinished_uploads_are_bounded_and_hold_no_files() {
    let service = Service::with(Settings { address_guests: Some(2), ..Settings::default() });
    let (guest, second, third) = (service.guest(), service.guest(), service.guest());
    let url = first_bytes(&guest, 1).expect(201).header("location").unwrap().to_owned();
    (1..16).for_each(|_| drop(first_bytes(&guest, 1).expect(201)));
    let full = first_bytes(&guest, 1);
    assert!(full.json()["hint"].as_str().unwrap().contains("GET /v1/objects?state=uploading"));
    assert!(full.problem(409).contains("17 unfinished uploads, where this tenant may have 16"));
    assert_eq!(open_files(&service), 0);
    // Guests of one address share what two of them may have; a tenant has its own.
    (0..16).for_each(|_| drop(first_bytes(&second, 1).expect(201)));
    let full = first_bytes(&third, 1).problem(409);
    assert!(full.contains("33 unfinished uploads, where the guests of this address may have 32"), "{full}");
    let tenant = service.tenant("alice");
    (0..64).for_each(|_| drop(first_bytes(&tenant, 1).expect(201)));
    first_bytes(&tenant, 1).problem(409);
    assert_eq!(open_files(&service), 0);
    // They are listed, and go on or go.
    let listed = |state: &str| {
        let list = guest.get(&format!("{OBJECTS}?state={state}")).expect(200).json();
        list["items"].as_array().unwrap().len()
    };
    assert_eq!((listed("uploading"), listed("ready")), (16, 0));
    guest.get(&format!("{OBJECTS}?state=running")).problem(400);
    guest.get("/v1/jobs?state=ready").problem(400);
    assert_eq!(guest.offset(&url), 1);
    guest.append(&url, 1, &files().image[1..1000]).expect(204);
    guest.delete(&url).expect(204);
    first_bytes(&third, 1).expect(201);
}

/// Quotas say which of them is used up.
#[test]
fn quotas_are_named() {
    let service = Service::with(Settings {
        tenant_objects: Some(2),
        tenant_jobs: Some(0),
        address_guests: Some(1),
        ..Settings::default()
    });
    let guest = service.guest();
    let keys = guest.upload("/v1/key-sets", &files().evaluation);
    let table = guest.upload(OBJECTS, &files().table);
    let said = guest.begin(OBJECTS, 1000).problem(403);
    assert_eq!(said, "this would make 3 objects and key sets, where this tenant may have 2");
    let job = json!({ "operation": { "name": "mean" }, "inputs": [table], "key_set": keys });
    let said = guest.post("/v1/jobs", &job).problem(403);
    assert_eq!(said, "this would make 1 unfinished jobs, where this tenant may have 0");
    let said = service.guest().begin(OBJECTS, 1000).problem(403);
    assert_eq!(said, "this would make 3 objects and key sets, where the guests of this address may have 2");
}

#[test]
fn lists_leave_descriptions_out() {
    let service = Service::start();
    let guest = service.guest();
    let id = guest.upload(OBJECTS, &files().wide);
    (0..9).for_each(|_| drop(guest.upload(OBJECTS, &files().wide)));
    let one = guest.get(&format!("{OBJECTS}/{id}")).expect(200);
    assert!(one.body.len() > 60_000);
    assert!(one.json()["info"].is_object());
    let list = guest.get(OBJECTS).expect(200);
    assert!(list.body.len() < 4000, "{} bytes", list.body.len());
    let list = list.json();
    let item = list["items"].as_array().unwrap().iter().find(|item| item["id"] == *id).unwrap();
    assert_eq!((&item["state"], &item["bytes"]), (&json!("ready"), &json!(files().wide.len())));
    assert!(item.get("info").is_none());
    // An upload has none yet.
    let begun = guest.begin(OBJECTS, 1000).expect(201).json();
    let url = format!("{OBJECTS}/{}", begun["id"].as_str().unwrap());
    assert!(begun["info"].is_null() && guest.get(&url).expect(200).json()["info"].is_null());
}

/// Jobs that fail at once, with long requests: few rows are left, and a list is short.
#[test]
fn ended_jobs_are_bounded() {
    let service = Service::with(Settings { kept_jobs: Some(8), ..Settings::default() });
    let guest = service.guest();
    let keys = guest.upload("/v1/key-sets", &files().evaluation);
    let table = guest.upload(OBJECTS, &files().table);
    let lookup = json!({ "name": "lookup", "entries": vec!["7"; 10_000] });
    let mut last = Value::Null;
    for _ in 0..12 {
        last = guest.wait(&guest.job(lookup.clone(), &[&table], &keys));
        assert_eq!(last["state"], "failed");
    }
    // 8 rows of at most 4 KiB each: one request of 40 KB is already more, and the newest stays.
    let list = guest.get("/v1/jobs?limit=200").expect(200);
    assert!(list.body.len() < 10_000, "{} bytes", list.body.len());
    let list = list.json();
    let items = list["items"].as_array().unwrap();
    assert!((1..=8).contains(&items.len()), "{}", items.len());
    let item = items.iter().find(|item| item["id"] == last["id"]).unwrap();
    assert_eq!(item["operation"], json!({ "name": "lookup", "abbreviated": true }));
    assert_eq!((&item["inputs"][0], &item["key_set"]), (&json!(table), &json!(keys)));
    assert_eq!(last["operation"], lookup);
}

#[test]
fn connections_that_do_nothing_give_way() {
    let service = Service::with(Settings { address_connections: Some(8), ..Settings::default() });
    let guest = service.guest();
    // A request that is worked on keeps its place.
    let file = &files().image;
    let url = guest.begin(OBJECTS, file.len()).expect(201).header("location").unwrap().to_owned();
    let mut upload = guest.connect();
    let headers = [TUS, PIECE, ("Upload-Offset", "0")];
    upload.write_all(guest.head("PATCH", &url, &headers, Some(file.len())).as_bytes()).unwrap();
    upload.write_all(&file[..1000]).unwrap();
    while service.metric("received_bytes_total") < 1000.0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut held: Vec<TcpStream> = (0..40).map(|_| unfinished(&guest)).collect();
    guest.get("/healthz").expect(200);
    guest.get("/readyz").expect(200);
    assert!(service.metric("connections") <= 8.0);
    assert!(service.metric("connections_closed_total{why=\"gave-way\"}") >= 33.0);
    assert_eq!(held[0].read(&mut [0]).unwrap_or_default(), 0);
    upload.write_all(&file[1000..]).unwrap();
    read_answer(&mut BufReader::new(upload), false).unwrap().expect(204);
}

#[test]
fn other_names_and_pages_are_refused() {
    let service =
        Service::with(Settings { hosts: Some(vec!["he.example".to_owned()]), ..Settings::default() });
    let ask = |request: String| {
        let mut stream = service.client.connect();
        stream.write_all(request.as_bytes()).unwrap();
        read_answer(&mut BufReader::new(stream), false).unwrap()
    };
    let get = |host: &str| ask(format!("GET /v1/info HTTP/1.1\r\n{host}Connection: close\r\n\r\n"));
    let port = service.client.address.port();
    for host in [
        "localhost".to_owned(),
        format!("127.0.0.1:{port}"),
        format!("[::1]:{port}"),
        "he.example".to_owned(),
    ] {
        get(&format!("Host: {host}\r\n")).expect(200);
    }
    let misdirected = get("Host: evil.example\r\n");
    assert!(misdirected.json()["hint"].as_str().unwrap().contains("the setting hosts"));
    assert!(misdirected.problem(421).contains("evil.example"));
    get("").problem(400);
    get("Host: localhost\r\nHost: evil.example\r\n").problem(400);
    let post = |origin: &str| service.client.send("POST", "/v1/sessions", &[("Origin", origin)], b"");
    for origin in ["https://evil.example", "null", "http://localhost:1"] {
        post(origin).problem(403);
    }
    for origin in ["http://localhost", "https://he.example"] {
        post(origin).expect(201);
    }
}

#[test]
fn proxies_name_their_clients() {
    let settings = |proxies| Settings { session_rate: Some(1), proxies, ..Settings::default() };
    let open = |service: &Service, named: &str| {
        service.client.send("POST", "/v1/sessions", &[("X-Forwarded-For", named)], b"").status
    };
    let trusting = Service::with(settings(Some(vec!["127.0.0.1".parse().unwrap()])));
    let statuses = ["1.1.1.1", "2.2.2.2", "9.9.9.9, 1.1.1.1", "3.3.3.3"].map(|named| open(&trusting, named));
    assert_eq!(statuses, [201, 201, 429, 201]);
    let other = Service::with(settings(None));
    assert_eq!(["1.1.1.1", "2.2.2.2"].map(|named| open(&other, named)), [201, 429]);
}

#[test]
fn metrics_are_for_this_machine_or_have_their_own_address() {
    let service = Service::start();
    service.client.get("/metrics").expect(200);
    service.client.send("GET", "/metrics", &[("X-Forwarded-For", "1.1.1.1")], b"").problem(403);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let service = Service::with(Settings { metrics_listen: Some(free), ..Settings::default() });
    service.client.get("/metrics").problem(404);
    let metrics = Client { address: free, token: None };
    assert!(
        String::from_utf8(metrics.get("/metrics").expect(200).body)
            .unwrap()
            .contains("he_server_disk_free_bytes")
    );
    metrics.get("/readyz").expect(200);
    metrics.get("/v1/info").problem(404);
}

#[test]
fn a_full_disk_is_said_to_be_full() {
    let service = Service::with(Settings { reserve_mib: Some(1 << 40), ..Settings::default() });
    let guest = service.guest();
    let full = guest.begin(OBJECTS, 1000);
    assert!(full.json()["hint"].is_string());
    full.problem(507);
    assert_eq!(service.nobody().get("/readyz").problem(503), "the disk is full");
    service.nobody().get("/healthz").expect(200);
    assert!(service.metric("disk_free_bytes") > 0.0);
}

/// An upload whose beginning counts is named, so that it can be continued or removed.
#[test]
fn uploads_that_break_off_at_their_creation_are_named() {
    let service = Service::start();
    let guest = service.guest();
    let headers = [TUS, PIECE, ("Upload-Length", "1000")];
    let broken = guest.send("POST", OBJECTS, &headers, &files().image[..2000]).expect(413);
    let url = broken.header("location").unwrap().to_owned();
    guest.offset(&url);
    guest.delete(&url).expect(204);
    // One that is refused for what it is has no place.
    assert!(guest.whole(OBJECTS, &files().secret).expect(422).header("location").is_none());
}

/// The requests of one hostile guest, all at once, until `ended`: uploads that are not continued,
/// connections with unfinished requests, jobs that fail at once, lists and descriptions.
fn attack(guest: &Client, ended: &AtomicBool) {
    let keys = guest.upload("/v1/key-sets", &files().evaluation);
    let table = guest.upload(OBJECTS, &files().table);
    let wide = guest.upload(OBJECTS, &files().wide);
    let job = json!({
        "operation": { "name": "lookup", "entries": vec!["7"; 10_000] }, "inputs": [table], "key_set": keys,
    });
    // One answer per connection: a connection may give way to another of this address.
    let again = |work: &(dyn Fn() + Sync)| {
        while !ended.load(Ordering::Relaxed) {
            work();
        }
    };
    let ask = |method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]| {
        let Ok(mut stream) = TcpStream::connect(guest.address) else { return };
        let head = guest.head(method, path, headers, Some(body.len()));
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        let _ = read_answer(&mut BufReader::new(stream), false);
    };
    let started = [TUS, PIECE, ("Upload-Length", "300000")];
    let body = job.to_string();
    std::thread::scope(|scope| {
        scope.spawn(|| again(&|| ask("POST", OBJECTS, &started, &files().image[..1])));
        scope.spawn(|| {
            again(&|| ask("POST", "/v1/jobs", &[("Content-Type", "application/json")], body.as_bytes()))
        });
        scope.spawn(|| again(&|| ask("GET", "/v1/jobs?limit=200", &[], b"")));
        scope.spawn(|| again(&|| ask("GET", "/v1/objects?limit=200", &[], b"")));
        scope.spawn(|| again(&|| ask("GET", &format!("{OBJECTS}/{wide}"), &[], b"")));
        scope.spawn(|| {
            let mut held = std::collections::VecDeque::new();
            while !ended.load(Ordering::Relaxed) {
                held.push_back(unfinished(guest));
                if held.len() > 300 {
                    held.pop_front();
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        });
    });
}

/// The work of honest tenants beside it, so many times: the seconds of each request, in order.
fn honest(who: &Client, rounds: usize) -> Vec<f64> {
    let mut times = Vec::new();
    let mut timed = |work: &mut dyn FnMut()| {
        let begin = Instant::now();
        work();
        times.push(begin.elapsed().as_secs_f64());
    };
    let keys = who.upload("/v1/key-sets", &files().evaluation);
    for _ in 0..rounds {
        let (mut table, mut result) = (String::new(), Value::Null);
        timed(&mut || drop(who.get("/healthz").expect(200)));
        timed(&mut || table = who.upload(OBJECTS, &files().table));
        timed(&mut || drop(who.get(OBJECTS).expect(200)));
        timed(&mut || result = who.wait(&who.job(json!({ "name": "mean" }), &[&table], &keys)));
        assert_eq!(result["state"], "done", "{result}");
        timed(&mut || assert!(!who.content(result["result"].as_str().unwrap()).is_empty()));
        timed(&mut || drop(who.delete(&format!("{OBJECTS}/{table}")).expect(204)));
    }
    times.sort_by(f64::total_cmp);
    times
}

/// Runs the attack of one guest beside honest tenants of the same address, and gives what is
/// measured at the end to `check`.
fn beside(service: &Service, rounds: usize, check: impl FnOnce(&Client)) -> Vec<f64> {
    let (hostile, ended) = (service.guest(), AtomicBool::new(false));
    let tenants: Vec<Client> = ["alice", "bob"].iter().map(|name| service.tenant(name)).collect();
    std::thread::scope(|scope| {
        let attack = scope.spawn(|| attack(&hostile, &ended));
        let work: Vec<_> = tenants.iter().map(|who| scope.spawn(move || honest(who, rounds))).collect();
        let done: Vec<_> = work.into_iter().map(|done| done.join()).collect();
        check(&hostile);
        ended.store(true, Ordering::Relaxed);
        attack.join().unwrap();
        let mut times: Vec<f64> = done.into_iter().flat_map(|times| times.unwrap()).collect();
        times.sort_by(f64::total_cmp);
        times
    })
}

fn settings() -> Settings {
    Settings {
        address_connections: Some(128),
        kept_jobs: Some(20),
        request_rate: Some(100),
        ..Settings::default()
    }
}

/// Honest tenants are served, and nothing of the guest grows beyond its bounds.
#[test]
fn a_hostile_guest_leaves_the_others_alone() {
    let service = Service::with(settings());
    beside(&service, 3, |_| {
        assert!(service.metric("connections") <= 129.0);
        // At most one is written by each request.
        assert!(open_files(&service) <= 8);
    });
    let text = String::from_utf8(service.client.get("/metrics").expect(200).body).unwrap();
    assert!(text.contains("status=\"429\""), "{text}");
    let staged = std::fs::read_dir(service.data.path().join("staging")).unwrap().count();
    assert!(staged <= 16 && open_files(&service) == 0, "{staged}");
}

#[test]
#[ignore = "measures times, which depend on the machine"]
fn times_of_honest_tenants_beside_a_hostile_guest() {
    let alone = {
        let service = Service::with(settings());
        let who = service.tenant("alice");
        honest(&who, 50)
    };
    let service = Service::with(settings());
    let beside = beside(&service, 50, |_| {});
    for (what, times) in [("alone", alone), ("beside a hostile guest", beside)] {
        let (median, worst) = (times[times.len() / 2], times[times.len() - 1]);
        println!("{what}: {} requests, median {median:.3} s, worst {worst:.3} s", times.len());
    }
}
