//! Nobody sees, guesses or touches what belongs to somebody else.

use crate::client::{Client, PIECE, TUS};
use crate::fixtures::{Service, files};
use he_server::app::StartError;
use he_server::settings::{Config, Quota, Settings};
use he_server::tenants::{self, Change, Changes, TenantNote};
use he_server::tokens::{self, NewToken, TokenNote};
use serde_json::json;
use std::collections::BTreeSet;

#[test]
fn other_tenants_find_nothing_on_any_route() {
    let service = Service::start();
    let (owner, other) = (service.guest(), service.guest());
    let keys = owner.upload("/v1/key-sets", &files().evaluation);
    let image = owner.upload("/v1/objects", &files().image);
    let begun = owner.begin("/v1/objects", 100_000).expect(201).json()["id"].as_str().unwrap().to_owned();
    let job = owner.job(json!({ "name": "invert" }), &[&image], &keys);
    let missing = "0".repeat(32);
    let patch = [TUS, PIECE, ("Upload-Offset", "0")];
    for (kind, own) in [("objects", &image), ("objects", &begun), ("key-sets", &keys)] {
        // An object of another tenant and a missing one are answered alike.
        for id in [own, &missing] {
            let url = format!("/v1/{kind}/{id}");
            let what = other.get(&url).problem(404);
            assert_eq!(what, format!("there is no such {}", kind.trim_end_matches('s')));
            assert_eq!(other.send("HEAD", &url, &[TUS], b"").status, 404);
            assert_eq!(other.send("PATCH", &url, &patch, b"x").problem(404), what);
            assert_eq!(other.delete(&url).problem(404), what);
        }
    }
    for id in [&image, &missing] {
        other.get(&format!("/v1/objects/{id}/content")).problem(404);
    }
    for id in [&job, &missing] {
        other.get(&format!("/v1/jobs/{id}")).problem(404);
        other.get(&format!("/v1/jobs/{id}/events")).problem(404);
        other.delete(&format!("/v1/jobs/{id}")).problem(404);
    }
    // Neither as an input nor as a key set.
    let own_keys = other.upload("/v1/key-sets", &files().evaluation);
    let own_image = other.upload("/v1/objects", &files().image);
    for (input, key) in [(&image, &own_keys), (&own_image, &keys), (&image, &keys)] {
        let job = json!({ "operation": { "name": "invert" }, "inputs": [input], "key_set": key });
        other.post("/v1/jobs", &job).problem(404);
    }
    for (route, count) in [("/v1/objects", 1), ("/v1/key-sets", 1), ("/v1/jobs", 0)] {
        assert_eq!(other.get(route).expect(200).json()["items"].as_array().unwrap().len(), count);
    }
    // Kinds do not mix either.
    owner.get(&format!("/v1/objects/{keys}")).problem(404);
    owner.get(&format!("/v1/key-sets/{image}")).problem(404);
    // The owner still has everything.
    assert_eq!(owner.wait(&job)["state"], "done");
    assert!(owner.content(&image) == files().image);
}

#[test]
fn nothing_is_told_without_a_valid_token() {
    let service = Service::start();
    let token = |token: &str| Client { token: Some(token.to_owned()), ..service.nobody() };
    let long = "x".repeat(1000);
    for client in [service.nobody(), token(""), token("he_"), token(&long), token("' OR 1=1 --")] {
        for path in [
            "/v1/objects",
            "/v1/key-sets",
            "/v1/jobs",
            "/v1/objects/x",
            "/v1/objects/x/content",
            "/v1/jobs/x/events",
        ] {
            let answer = client.get(path);
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
            answer.problem(401);
        }
        client.post("/v1/jobs", &json!({})).problem(401);
        client.whole("/v1/objects", &files().table).problem(401);
    }
    assert_eq!(service.stored(), []);
}

#[test]
fn names_cannot_be_guessed() {
    let service = Service::start();
    let guest = service.guest();
    let ids: BTreeSet<String> = (0..16)
        .map(|_| guest.begin("/v1/objects", 1000).expect(201).json()["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 16);
    let heads: BTreeSet<&str> = ids.iter().map(|id| &id[..6]).collect();
    assert_eq!(heads.len(), 16);
    assert!(ids.iter().all(|id| id.len() == 32));
}

/// An operator beside a service with this data.
struct Operator {
    config: Config,
    runtime: tokio::runtime::Runtime,
}

impl Operator {
    fn of(settings: Settings) -> Self {
        let config = Config::new(settings, vec![he::Device::cpu()]).unwrap();
        Self { config, runtime: tokio::runtime::Runtime::new().unwrap() }
    }

    fn token(&self, name: &str) -> NewToken {
        let options = tokens::Options { create: true, ..tokens::Options::default() };
        self.runtime.block_on(tokens::create(&self.config, name, &options)).unwrap()
    }

    fn tokens(&self) -> Vec<TokenNote> {
        self.runtime.block_on(tokens::list(&self.config)).unwrap()
    }

    fn tenant(&self, name: &str) -> TenantNote {
        self.runtime.block_on(tenants::show(&self.config, name)).unwrap()
    }

    fn set(&self, name: &str, changes: Changes, new_name: Option<&str>) -> Result<TenantNote, StartError> {
        self.runtime.block_on(tenants::set(&self.config, name, changes, new_name))
    }
}

#[test]
fn tokens_are_made_listed_and_revoked() {
    let data = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let operator = Operator::of(Settings { data: Some(data.path().to_owned()), ..Settings::default() });
    let (config, runtime) = (&operator.config, &operator.runtime);
    let [first, second, other] = ["alice", "alice", "bob"].map(|name| operator.token(name));
    assert_eq!(first.tenant, second.tenant);
    assert_ne!(first.tenant, other.tenant);
    let service = Service::on(data, Settings { guests: Some(false), ..Settings::default() });
    let by = |token: &str| Client { token: Some(token.to_owned()), ..service.nobody() };
    let object = by(&first.token).upload("/v1/objects", &files().table);
    let url = format!("/v1/objects/{object}");
    by(&second.token).get(&url).expect(200);
    by(&other.token).get(&url).problem(404);
    // The bytes on the disk do not contain the tokens.
    for entry in std::fs::read_dir(service.data.path()).unwrap().map(Result::unwrap) {
        if entry.path().is_file() {
            let bytes = std::fs::read(entry.path()).unwrap();
            let secret = &first.token.as_bytes()[3..];
            assert!(!bytes.windows(secret.len()).any(|window| window == secret));
        }
    }
    let listed = operator.tokens();
    assert_eq!(listed.iter().map(|note| &*note.tenant).collect::<Vec<_>>(), ["alice", "alice", "bob"]);
    assert!(listed.iter().all(|note| note.used.is_some_and(|used| used >= note.created)));
    assert!(runtime.block_on(tokens::revoke(config, &first.id)).unwrap());
    assert!(!runtime.block_on(tokens::revoke(config, &first.id)).unwrap());
    by(&first.token).get(&url).problem(401);
    by(&second.token).get(&url).expect(200);

    // A token that ends, and one with a name that would forge a line.
    let options = |label: &str, days| tokens::Options { label: Some(label.to_owned()), days, create: false };
    let make = |label: &str, days| runtime.block_on(tokens::create(config, "bob", &options(label, days)));
    let (over, lasting) = (make("nightly run", Some(0)).unwrap(), make("laptop", Some(30)).unwrap());
    by(&over.token).get("/v1/objects").problem(401);
    by(&lasting.token).get("/v1/objects").expect(200);
    assert!(lasting.expires.unwrap() - over.expires.unwrap() >= 30 * 86_400_000);
    let labels: Vec<_> = operator.tokens().into_iter().filter_map(|note| note.label).collect();
    assert_eq!(labels, ["nightly run", "laptop"]);
    for label in ["", " x", "a\nb", "a\u{202e}b", &"x".repeat(201)] {
        assert!(matches!(make(label, None), Err(StartError::Name { .. })), "{label}");
    }
}

#[test]
fn quotas_of_tenants_change_while_the_service_runs() {
    let data = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let settings = |mib| Settings {
        data: Some(data.path().to_owned()),
        tenant_mib: Some(mib),
        tenant_objects: Some(5),
        ..Settings::default()
    };
    let operator = Operator::of(settings(60));
    let token = operator.token("carl").token;
    let service = Service::on(std::sync::Arc::clone(&data), settings(60));
    let by = |service: &Service| Client { token: Some(token.clone()), ..service.nobody() };
    let limit = |service: &Service| by(service).get("/v1/info").expect(200).json()["limits"]["bytes"].clone();
    assert_eq!(limit(&service), 60 << 20);
    // At once, and only what is named.
    let changes = Changes { bytes: Change::To(1000), ..Changes::default() };
    let set = operator.set("carl", changes, None).unwrap();
    assert_eq!((set.quota.bytes, set.quota.objects, set.own.objects), (1000, 5, None));
    assert_eq!(limit(&service), 1000);
    by(&service).begin("/v1/objects", 1001).problem(413);
    by(&service).begin("/v1/objects", 600).expect(201);
    by(&service).begin("/v1/objects", 600).problem(403);
    assert_eq!(operator.tenant("carl").used, Quota { bytes: 600, objects: 1, jobs: 0 });
    // An own quota stays when the settings change; the others follow them, also beside the service,
    // whose command may not know the file of settings.
    drop(service);
    let service = Service::on(std::sync::Arc::clone(&data), settings(1000));
    assert_eq!(limit(&service), 1000);
    let other = Operator::of(settings(7));
    let follow = Changes { bytes: Change::Follow, ..Changes::default() };
    assert_eq!(other.set("carl", follow, Some("carla")).unwrap().quota.bytes, 1000 << 20);
    assert_eq!(limit(&service), 1000 << 20);
    let dora = other.runtime.block_on(tenants::add(&other.config, "dora", Changes::default(), false));
    assert_eq!(dora.unwrap().quota.bytes, 1000 << 20);
    assert!(matches!(other.set("dora", follow, Some("carla")), Err(StartError::TenantExists(_))));
    assert!(matches!(other.set("carl", follow, None), Err(StartError::NoTenant(_))));
}

#[test]
fn a_tenant_is_removed_with_what_it_holds() {
    let service = Service::start();
    let operator =
        Operator::of(Settings { data: Some(service.data.path().to_owned()), ..Settings::default() });
    let token = operator.token("alice").token;
    let alice = Client { token: Some(token), ..service.nobody() };
    let object = alice.upload("/v1/objects", &files().table);
    let keys = alice.upload("/v1/key-sets", &files().evaluation);
    let plan = json!({ "dimension": 2, "metric": "cosine", "records": 1, "wanted": { "task": "rank" } });
    alice.post("/v1/indexes", &json!({ "plan": plan, "key_set": keys })).expect(201);
    let remove = |force| operator.runtime.block_on(tenants::remove(&operator.config, "alice", force));
    assert!(matches!(remove(false), Err(StartError::TenantHolds { objects: 3, .. })));
    alice.get(&format!("/v1/objects/{object}")).expect(200);
    remove(true).unwrap();
    alice.get("/v1/objects").problem(401);
    assert!(matches!(remove(true), Err(StartError::NoTenant(_))));
    // The name is free, and who has it now finds nothing.
    let again = operator.token("alice");
    let again = Client { token: Some(again.token), ..service.nobody() };
    again.get(&format!("/v1/objects/{object}")).problem(404);
    operator.runtime.block_on(service.app().sweep()).unwrap();
    // The key of an index goes after it.
    assert_eq!(service.stored().len(), 1);
    operator.runtime.block_on(service.app().sweep()).unwrap();
    assert_eq!(service.stored(), []);
}

#[test]
fn commands_make_no_service_by_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("elsewhere");
    let operator = Operator::of(Settings { data: Some(data.clone()), ..Settings::default() });
    let options = tokens::Options::default();
    let missing = operator.runtime.block_on(tokens::create(&operator.config, "alice", &options));
    let said = missing.unwrap_err();
    assert!(said.to_string().contains("elsewhere/he-server.sqlite"), "{said}");
    assert!(said.hint().unwrap().contains("--create"));
    assert!(operator.runtime.block_on(tokens::list(&operator.config)).is_err());
    assert!(!data.exists());
}

#[test]
fn rates_are_limited_per_tenant_and_address() {
    let service =
        Service::with(Settings { request_rate: Some(2), session_rate: Some(3), ..Settings::default() });
    let (first, second) = (service.guest(), service.guest());
    let statuses: Vec<u16> = (0..30).map(|_| first.get("/v1/objects").status).collect();
    assert!(statuses[..8].iter().all(|status| *status == 200), "{statuses:?}");
    assert!(statuses.contains(&429), "{statuses:?}");
    second.get("/v1/objects").expect(200);
    service.guest();
    let answer = service.nobody().send("POST", "/v1/sessions", &[], b"");
    let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait));
    answer.problem(429);
}
