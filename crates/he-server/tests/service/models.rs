//! Models: what the service tells of them, their files, and outputs that are those of he-files.

use crate::fixtures::{Service, files, reader, written};
use he::Device;
use he_core::wire::{Wire, WireKeys};
use he_files::contents::clear::{Plain, View};
use he_files::key_file::{Key, KeyFile, write_key};
use he_files::key_set::KeySet;
use he_files::models::examples::Examples;
use he_files::models::{self, Inference, ModelFile};
use he_files::scheme::Ckks;
use he_files::scheme::engine::rng;
use he_files::team::Team;
use he_files::watch::Watch;
use he_server::settings::Settings;
use serde_json::json;
use std::sync::Arc;
use tempfile::TempDir;

/// A small model, of four numbers and three outputs, as the tests of the browser's client have it.
const PLAN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/client/tests/model.plan");
const EXAMPLES: [f64; 8] = [0.5, -0.25, 1.0, 0.0, -1.0, 0.75, 0.125, 0.5];

/// A service with the model under the name `tiny`, and a file that is not one.
fn service() -> (Service, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(PLAN, folder.path().join("tiny.plan")).unwrap();
    std::fs::write(folder.path().join("README.md"), "no model").unwrap();
    (Service::with(Settings { models: Some(folder.path().to_owned()), ..Settings::default() }), folder)
}

#[test]
fn models_are_listed_and_downloaded() {
    let (service, folder) = service();
    let (nobody, guest) = (service.nobody(), service.guest());
    let plan = std::fs::read(PLAN).unwrap();
    let mut told = ModelFile::from_bytes("tiny", &plan).unwrap().json().unwrap();
    (told["name"], told["bytes"]) = (json!("tiny"), json!(plan.len()));
    assert_eq!(nobody.get("/v1/models").expect(200).json(), json!({ "models": [told] }));
    assert_eq!(nobody.get("/v1/info").expect(200).json()["models"], json!(["tiny"]));
    let described = &nobody.get("/openapi.json").expect(200).json()["components"]["schemas"]["Models"];
    let known = &described["properties"]["models"]["items"];
    let fields: Vec<&String> = told.as_object().unwrap().keys().collect();
    assert_eq!(fields, known["properties"].as_object().unwrap().keys().collect::<Vec<_>>());
    assert_eq!(fields.len(), known["required"].as_array().unwrap().len());

    nobody.get("/v1/models/tiny/content").problem(401);
    let file = guest.get("/v1/models/tiny/content").expect(200);
    assert!(file.body == plan);
    let tag = file.header("etag").unwrap().to_owned();
    guest.send("GET", "/v1/models/tiny/content", &[("If-None-Match", &tag)], b"").expect(304);
    for name in ["none", "README", "tiny.plan", "..%2Ftiny", "%2e%2e%2ftiny", "%00"] {
        guest.get(&format!("/v1/models/{name}/content")).problem(404);
    }
    // One model by its file.
    let one = Settings { models: Some(folder.path().join("tiny.plan")), ..Settings::default() };
    assert_eq!(Service::with(one).nobody().get("/v1/models").expect(200).json()["models"][0], told);
    let none = Service::start();
    assert_eq!(none.nobody().get("/v1/models").expect(200).json(), json!({ "models": [] }));
}

#[test]
fn outputs_are_those_of_the_library() {
    let (service, _) = service();
    let guest = service.guest();
    let model = ModelFile::from_bytes("tiny", &std::fs::read(PLAN).unwrap()).unwrap();
    let params = model.params();
    let mut random = rng().unwrap();
    let engine = model.engine(Device::cpu()).unwrap();
    let keys = KeySet::<Ckks>::generate(&engine, &model.rotations().unwrap(), &mut random).unwrap();
    let frames = || keys.evaluation.to_frames(params).map(Result::unwrap);
    let mut evaluation = Vec::new();
    write_key::<Ckks>(&mut evaluation, params, &keys.id, frames().map(Ok), "").unwrap();
    let of = |key| KeyFile {
        name: "key".to_owned(),
        params: params.clone(),
        id: keys.id.clone(),
        key,
        sealed: false,
    };
    let examples = Examples::of(&EXAMPLES, model.model.graph());
    let public = of(Key::Public(keys.public.to_frame(params).unwrap()));
    let input = written(|output| {
        models::encrypt(&model, &public, &examples, Device::cpu(), output, &mut random, &()).unwrap();
    });
    let nobody: Arc<dyn Watch> = Arc::new(());
    let expected = written(|output| {
        let inference = Inference::new(&model, reader(&input)).unwrap();
        inference
            .evaluate(of(Key::Evaluation(frames().collect())), None, Device::cpu(), &nobody, output)
            .unwrap();
    });

    let (key_set, object) = (guest.upload("/v1/key-sets", &evaluation), guest.upload("/v1/objects", &input));
    let infer = json!({ "name": "infer", "model": "tiny" });
    let job = guest.wait(&guest.job(infer.clone(), &[&object], &key_set));
    assert_eq!(job["state"], "done", "{job}");
    assert!(job["progress"]["of"].as_u64().unwrap() > 1 && job["progress"]["done"] == job["progress"]["of"]);
    let result = guest.content(job["result"].as_str().unwrap());
    assert!(result == expected);
    let team = Team::<Ckks>::new(params, &[Device::cpu()]).unwrap();
    let Plain::Table(table) = Plain::decrypt(&team, &keys.secret, &mut reader(&result), View::Light).unwrap()
    else {
        panic!("a table")
    };
    for (row, example) in EXAMPLES.chunks(4).enumerate() {
        for (column, expected) in model.model.apply_plain(example).unwrap().into_iter().enumerate() {
            let found = table.columns()[column][row];
            assert!((found - expected).abs() < 1e-2, "{found} for {expected}");
        }
    }

    // Files that are not for the model are refused in words that say so.
    let (image, foreign) =
        (guest.upload("/v1/objects", &files().image), guest.upload("/v1/key-sets", &files().evaluation));
    let outputs = guest.upload("/v1/objects", &result);
    for (input, key, said) in [
        (&image, &key_set, "encrypted image"),
        (&outputs, &key_set, "encrypted outputs"),
        (&object, &foreign, "key"),
    ] {
        let job = guest.wait(&guest.job(infer.clone(), &[input], key));
        assert_eq!(job["state"], "failed");
        let detail = job["error"]["detail"].as_str().unwrap();
        assert!(detail.contains(said) && job["error"]["hint"].is_string(), "{job}");
    }
    let unknown = json!({ "name": "infer", "model": "README" });
    let job = json!({ "operation": unknown, "inputs": [object], "key_set": key_set });
    assert!(guest.post("/v1/jobs", &job).problem(400).contains("no model README"));
}
