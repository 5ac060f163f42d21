//! The ground that operators stand on: one service per folder, an upgrade in place, names of
//! requests.

use crate::client::Client;
use crate::fixtures::{Service, evaluated, files};
use he_server::app::{App, StartError};
use he_server::settings::{Config, Settings};
use serde_json::json;
use sqlx::{Connection, Executor};
use std::sync::Arc;
use tokio::runtime::Runtime;

/// Starts another service with these settings, and ends it.
fn start(settings: Settings) -> Result<(), StartError> {
    let config = Config::new(settings, vec![he::Device::cpu()]).unwrap();
    Runtime::new().unwrap().block_on(async {
        let app = App::start(config).await?;
        app.close().await;
        Ok(())
    })
}

#[test]
fn a_second_service_is_refused_and_destroys_nothing() {
    let service = Service::start();
    let settings = || Settings { data: Some(service.data.path().to_owned()), ..Settings::default() };
    let guest = service.guest();
    let keys = guest.upload("/v1/key-sets", &files().evaluation);
    let image = guest.upload("/v1/objects", &files().image);
    let url = guest.begin("/v1/objects", 1000).expect(201).header("location").unwrap().to_owned();
    guest.append(&url, 0, &files().table[..100]).expect(204);
    let job = guest.job(json!({ "name": "blur" }), &[&image], &keys);
    let refused = start(settings()).unwrap_err();
    let said = refused.to_string();
    assert!(said.contains(&format!("is in use by process {} on ", std::process::id())), "{said}");
    assert!(refused.hint().unwrap().contains("--data"));
    let job = guest.wait(&job);
    let expected = evaluated(r#"{"name":"blur"}"#, &files().image, None);
    assert!(guest.content(job["result"].as_str().unwrap()) == expected);
    assert_eq!(guest.offset(&url), 100);
    // Its end gives both back, at once.
    let data = service.stop();
    start(Settings { data: Some(data.path().to_owned()), ..Settings::default() }).unwrap();
}

#[test]
fn a_database_of_a_later_program_is_left_alone() {
    let data = Arc::new(tempfile::tempdir().unwrap());
    let settings = || Settings { data: Some(data.path().to_owned()), ..Settings::default() };
    start(settings()).unwrap();
    sqlx::any::install_default_drivers();
    let url = format!("sqlite://{}", data.path().join("he-server.sqlite").display());
    Runtime::new().unwrap().block_on(async {
        let mut connection = sqlx::AnyConnection::connect(&url).await.unwrap();
        connection.execute("INSERT INTO schema_version VALUES (99, 0)").await.unwrap();
        connection.close().await.unwrap();
    });
    let refused = start(settings()).unwrap_err();
    assert!(refused.to_string().contains("is of version 99"), "{refused}");
    assert!(refused.hint().unwrap().contains("later"));
    // It has not kept the lock either.
    assert!(matches!(start(settings()), Err(StartError::Version { found: 99, .. })));
}

#[test]
fn a_folder_without_a_page_is_refused_at_the_start() {
    let data = tempfile::tempdir().unwrap();
    let settings = |page: &str| Settings {
        data: Some(data.path().join("data")),
        page: Some(data.path().join(page)),
        ..Settings::default()
    };
    assert!(matches!(start(settings("nope")), Err(StartError::Page { .. })));
    assert!(matches!(start(settings("")), Err(StartError::Page { .. })));
    std::fs::write(data.path().join("index.html"), "x").unwrap();
    start(settings("")).unwrap();
}

#[test]
fn requests_have_names() {
    let service = Service::start();
    let guest = service.guest();
    let ask = |id: &str| guest.send("GET", "/v1/objects/x", &[("X-Request-Id", id)], b"");
    let answer = ask("from-a-proxy.17");
    assert_eq!(answer.header("x-request-id"), Some("from-a-proxy.17"));
    assert_eq!(answer.json()["request_id"], "from-a-proxy.17");
    answer.problem(404);
    let (first, second) = (ask("not a name"), guest.get("/healthz"));
    let of = |answer: &crate::client::Answer| answer.header("x-request-id").unwrap().to_owned();
    assert!(of(&first).len() == 32 && of(&second).len() == 32 && of(&first) != of(&second));
    // Lengths of answers are still known.
    assert!(Client { token: None, ..guest }.get("/healthz").header("content-length").is_some());
}
