//! The data that survive the end of a service, a graceful one here; he-cli's tests end it by force.

use crate::client::Client;
use crate::fixtures::{Service, evaluated, files};
use he_server::settings::Settings;
use serde_json::json;
use sqlx::{Connection, Executor};
use std::time::Duration;

#[test]
fn uploads_objects_and_jobs_survive_a_restart() {
    let settings = || Settings { running_jobs: Some(1), shutdown_seconds: Some(0), ..Settings::default() };
    let service = Service::with(settings());
    let guest = service.guest();
    let files = files();
    let keys = guest.upload("/v1/key-sets", &files.evaluation);
    let image = guest.upload("/v1/objects", &files.image);
    let half = files.image.len() / 2;
    let url =
        guest.begin("/v1/objects", files.image.len()).expect(201).header("location").unwrap().to_owned();
    guest.append(&url, 0, &files.image[..half]).expect(204);
    let jobs: Vec<String> = (0..4).map(|_| guest.job(json!({ "name": "blur" }), &[&image], &keys)).collect();
    let body = json!({ "operation": { "name": "blur" }, "inputs": [image], "key_set": keys }).to_string();
    let headers = [("Content-Type", "application/json"), ("Idempotency-Key", "the-fifth")];
    let ask = |guest: &Client| guest.send("POST", "/v1/jobs", &headers, body.as_bytes()).expect(202).json();
    let fifth = ask(&guest)["id"].clone();
    let data = service.stop();

    let service = Service::on(data, settings());
    let guest = Client { address: service.client.address, ..guest };
    assert_eq!(ask(&guest)["id"], fifth);
    let jobs = jobs.iter().map(|job| &**job).chain(fifth.as_str());
    let at = guest.offset(&url);
    assert!(at <= half && half - at < 48, "{at} of {half}");
    guest.append(&url, at, &files.image[at..]).expect(204);
    assert!(guest.content(url.rsplit('/').next().unwrap()) == files.image);
    let expected = evaluated(r#"{"name":"blur"}"#, &files.image, None);
    for job in jobs {
        let job = guest.wait(job);
        assert_eq!(job["state"], "done", "{job}");
        assert!(guest.content(job["result"].as_str().unwrap()) == expected);
    }
    let stored = service.stored();
    // The keys, two images, five results; nothing staged.
    assert_eq!(stored.len(), 8, "{stored:?}");
}

#[test]
fn an_upload_whose_last_byte_came_before_the_end_is_completed() {
    let service = Service::start();
    let guest = service.guest();
    let file = &files().table;
    let url = guest.begin("/v1/objects", file.len()).expect(201).header("location").unwrap().to_owned();
    let other = guest.begin("/v1/objects", file.len()).expect(201).header("location").unwrap().to_owned();
    let data = service.stop();
    // As after a crash between the last byte and the validation; and one that is not valid.
    let staged = |url: &str| data.path().join("staging").join(url.rsplit('/').next().unwrap());
    std::fs::write(staged(&url), file).unwrap();
    let mut damaged = file.clone();
    damaged[file.len() / 2] ^= 1;
    std::fs::write(staged(&other), damaged).unwrap();
    std::fs::write(data.path().join("staging/left-behind"), b"x").unwrap();
    let service = Service::on(data, Settings::default());
    let guest = Client { address: service.client.address, ..guest };
    for _ in 0..200 {
        if guest.get(&url).expect(200).json()["state"] == "ready" && guest.get(&other).status == 404 {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(guest.content(url.rsplit('/').next().unwrap()) == *file);
    guest.get(&other).problem(404);
    assert_eq!(service.stored().len(), 1);
}

/// The same service on a store that is not a folder.
#[test]
fn objects_may_be_in_a_remote_store() {
    let service = Service::with(Settings { store: Some("memory:///".to_owned()), ..Settings::default() });
    let guest = service.guest();
    let files = files();
    let keys = guest.upload("/v1/key-sets", &files.evaluation);
    let image = guest.upload("/v1/objects", &files.image);
    assert_eq!(service.stored(), []);
    assert!(guest.content(&image) == files.image);
    let url = format!("/v1/objects/{image}/content");
    let part = guest.send("GET", &url, &[("Range", "bytes=10-19")], b"").expect(206);
    assert_eq!(part.body, files.image[10..20]);
    let job = guest.wait(&guest.job(json!({ "name": "invert" }), &[&image], &keys));
    let expected = evaluated(r#"{"name":"invert"}"#, &files.image, None);
    assert!(guest.content(job["result"].as_str().unwrap()) == expected);
    guest.delete(&format!("/v1/objects/{image}")).expect(204);
    guest.get(&url).problem(404);
}

/// Statements on the database of a service, while it runs.
fn execute(service: &Service, statements: &str) {
    sqlx::any::install_default_drivers();
    let url = format!("sqlite://{}", service.data.path().join("he-server.sqlite").display());
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let mut connection = sqlx::AnyConnection::connect(&url).await.unwrap();
        connection.execute(statements).await.unwrap();
        connection.close().await.unwrap();
    });
}

/// The database refuses that a job starts, or that it ends; once it does not, the job ends without
/// a restart.
#[test]
fn a_database_that_fails_for_a_while_holds_no_job_up() {
    let service = Service::start();
    let guest = service.guest();
    let keys = guest.upload("/v1/key-sets", &files().evaluation);
    let image = guest.upload("/v1/objects", &files().image);
    let invert = json!({ "name": "invert" });
    let state = |id: &str| guest.get(&format!("/v1/jobs/{id}")).expect(200).json()["state"].clone();
    for (refused, shown) in [("running", "queued"), ("done", "running")] {
        execute(
            &service,
            &format!(
                "CREATE TRIGGER refuse BEFORE UPDATE ON jobs WHEN NEW.state = '{refused}'
                 BEGIN SELECT RAISE(ABORT, 'for a test'); END"
            ),
        );
        let id = guest.job(invert.clone(), &[&image], &keys);
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!(state(&id), shown);
        execute(&service, "DROP TRIGGER refuse");
        let job = guest.wait(&id);
        assert_eq!(job["state"], "done", "{job}");
        assert!(
            guest.content(job["result"].as_str().unwrap())
                == evaluated(r#"{"name":"invert"}"#, &files().image, None)
        );
    }
    let used = guest.get("/v1/info").expect(200).json();
    assert_eq!(used["used"]["jobs"], 0);
    assert_eq!(service.stored().len(), 4);
}
