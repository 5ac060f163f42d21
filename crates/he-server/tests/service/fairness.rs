//! Jobs of many tenants, and jobs that are not wanted any more.

use crate::fixtures::{Service, files};
use he_server::settings::Settings;
use serde_json::json;

#[test]
fn a_tenant_with_many_jobs_does_not_hold_up_the_others() {
    let service = Service::with(Settings { running_jobs: Some(1), ..Settings::default() });
    let (many, few) = (service.guest(), service.guest());
    let ready = |guest: &crate::client::Client| {
        (guest.upload("/v1/key-sets", &files().evaluation), guest.upload("/v1/objects", &files().image))
    };
    let (keys, image) = ready(&many);
    let (few_keys, few_image) = ready(&few);
    let jobs: Vec<String> = (0..12).map(|_| many.job(json!({ "name": "blur" }), &[&image], &keys)).collect();
    let job = few.job(json!({ "name": "invert" }), &[&few_image], &few_keys);
    let finished = few.wait(&job)["finished"].as_str().unwrap().to_owned();
    let ends: Vec<String> =
        jobs.iter().map(|job| many.wait(job)["finished"].as_str().unwrap().to_owned()).collect();
    let later = ends.iter().filter(|end| **end > finished).count();
    // At most those that had ended, the one that ran, and one more came first.
    assert!(later >= 6, "{later} of 12 ended later");
    many.post("/v1/jobs", &json!({ "operation": { "name": "blur" }, "inputs": [image], "key_set": keys }))
        .expect(202);
}

#[test]
fn jobs_can_be_cancelled_and_their_files_are_in_use() {
    let service =
        Service::with(Settings { running_jobs: Some(1), tenant_jobs: Some(3), ..Settings::default() });
    let guest = service.guest();
    let keys = guest.upload("/v1/key-sets", &files().evaluation);
    let image = guest.upload("/v1/objects", &files().image);
    let jobs: Vec<String> = (0..3).map(|_| guest.job(json!({ "name": "blur" }), &[&image], &keys)).collect();
    let more = json!({ "operation": { "name": "blur" }, "inputs": [image], "key_set": keys });
    let last = guest.get(&format!("/v1/jobs/{}", jobs[2])).json();
    if last["state"] == "queued" {
        guest.delete(&format!("/v1/objects/{image}")).problem(409);
        guest.delete(&format!("/v1/key-sets/{keys}")).problem(409);
        guest.delete(&format!("/v1/jobs/{}", jobs[2])).expect(202);
        let cancelled = guest.wait(&jobs[2]);
        assert_eq!((&cancelled["state"], &cancelled["result"]), (&json!("cancelled"), &json!(null)));
        guest.delete(&format!("/v1/jobs/{}", jobs[2])).problem(409);
    }
    for job in &jobs[..2] {
        assert_eq!(guest.wait(job)["state"], "done");
    }
    // Places are given back.
    let job = guest.post("/v1/jobs", &more).expect(202).json();
    guest.wait(job["id"].as_str().unwrap());
    assert_eq!(guest.get("/v1/info").json()["used"]["jobs"], 0);
    guest.delete(&format!("/v1/objects/{image}")).expect(204);
    guest.delete(&format!("/v1/key-sets/{keys}")).expect(204);
}
