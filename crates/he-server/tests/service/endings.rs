//! Jobs that take minutes, and end before they are done: cancelled, left by a service that ends, or
//! at the limit of their time.

use crate::client::Client;
use crate::fixtures::{Service, files};
use he_core::num_bigint::BigInt;
use he_core::tfhe::{TfheSecretKey, presets};
use he_files::data::table::Table;
use he_files::io::output::{Output, OutputOptions};
use he_files::note::{KeyId, Payload};
use he_files::scheme::engine::rng;
use he_files::tfhe::file::Writer;
use he_files::tfhe::keys::{Encryptor, write_evaluation};
use he_files::tfhe::note::Integers;
use he_files::tfhe::{NAME, columns};
use he_server::settings::Settings;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A bootstrapping key, and a column whose sorting takes some 46 000 lookups.
fn tfhe() -> &'static [Vec<u8>; 2] {
    static FILES: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    FILES.get_or_init(|| {
        let params = presets::digits_2m40().unwrap();
        let mut rng = rng().unwrap();
        let (id, secret) = (KeyId::random(&mut rng), TfheSecretKey::generate(&params, &mut rng));
        let mut key = Vec::new();
        write_evaluation(&mut key, &secret, (1, None), &id, &mut rng, NAME).unwrap();
        let table = Table::new(None, vec![(0..64).rev().map(BigInt::from).collect()]).unwrap();
        let integers = Integers { bits: 64, signed: false };
        let content = columns::describe(&table, integers, None, &params).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("column");
        let output = Output::create(&path, OutputOptions::default(), &[]).unwrap();
        let payload = Payload { key_id: id, history: Vec::new(), content };
        let writer = Writer::new(output, &params, &payload).unwrap();
        columns::encrypt(Encryptor::Secret(&secret), &table, integers, writer, &mut rng, &()).unwrap();
        [key, std::fs::read(path).unwrap()]
    })
}

/// Asks for a job of minutes, and returns its URL.
fn long_job(guest: &Client) -> String {
    let [key, column] = tfhe();
    let (keys, column) = (guest.upload("/v1/key-sets", key), guest.upload("/v1/objects", column));
    format!("/v1/jobs/{}", guest.job(json!({ "name": "sort" }), &[&column], &keys))
}

/// Waits until lookups of a job have been computed; there are many more.
fn wait_for_lookups(guest: &Client, job: &str) {
    for _ in 0..6000 {
        let job = guest.get(job).expect(200).json();
        let progress = |name| job["progress"][name].as_u64().unwrap();
        if progress("done") > 0 {
            assert!(job["state"] == "running" && progress("of") > 40_000, "{job}");
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("nothing is computed");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            std::fs::copy(from, to).unwrap();
        }
    }
}

#[test]
fn long_jobs_are_left_by_one_start_and_cancelled_in_the_next() {
    let settings = || Settings { running_jobs: Some(1), shutdown_seconds: Some(0), ..Settings::default() };
    let service = Service::with(settings());
    let [slow, quick] = [service.guest(), service.guest()];
    let (keys, image) =
        (quick.upload("/v1/key-sets", &files().evaluation), quick.upload("/v1/objects", &files().image));
    let job = long_job(&slow);
    wait_for_lookups(&slow, &job);
    // It returns long before the job would be done.
    let data = service.stop();

    let service = Service::on(data, settings());
    let at = |client: Client| Client { address: service.client.address, ..client };
    let [slow, quick] = [slow, quick].map(at);
    wait_for_lookups(&slow, &job);
    let waiting = quick.job(json!({ "name": "invert" }), &[&image], &keys);
    slow.delete(&job).expect(202);
    // As a service finds it that starts after a crash.
    let crashed = Arc::new(tempfile::tempdir().unwrap());
    copy(service.data.path(), crashed.path());
    let ended = slow.get(&job).expect(200).json();
    assert!(ended["state"] == "cancelled" && ended["finished"].is_string(), "{ended}");
    assert_eq!(slow.get("/v1/info").json()["used"]["jobs"], 0);
    slow.delete(&job).problem(409);
    // Its place is free as soon as the computation has noticed.
    assert_eq!(quick.wait(&waiting)["state"], "done");
    let names = |service: &Service| service.stored().len();
    let stored = names(&service);
    drop(service);

    let service = Service::on(crashed, settings());
    let at = |client: &Client| Client { address: service.client.address, ..client.clone() };
    assert_eq!(at(&slow).get(&job).expect(200).json()["state"], "cancelled");
    assert_eq!(at(&quick).wait(&waiting)["state"], "done");
    // Two key sets, two objects and the result; nothing of the job.
    assert_eq!([stored, names(&service)], [5, 5]);
}

#[test]
fn jobs_end_at_the_limit_of_their_time() {
    let settings = Settings { running_jobs: Some(1), ..Settings::default() };
    let data = Arc::new(tempfile::tempdir().unwrap());
    let service = Service::changed(data, settings, |config| config.job_times.guest = Duration::from_secs(1));
    let guest = service.guest();
    let job = long_job(&guest);
    let ended = guest.wait(job.rsplit('/').next().unwrap());
    let said = |part: &str| ended["error"][part].as_str().unwrap().to_owned();
    assert_eq!((&ended["state"], &ended["result"]), (&json!("failed"), &Value::Null));
    assert!(said("detail").contains("1 s") && said("hint").contains("token"), "{ended}");
    assert_eq!(guest.get("/v1/info").json()["used"]["jobs"], 0);
    assert_eq!(service.stored().len(), 2);
}
