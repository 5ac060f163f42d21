//! Integers in digits: jobs with two keys.

use crate::fixtures::Service;
use he::Device;
use he_files::bootstrap::{self, Named, Refreshing};
use he_files::cipher_file::CipherReader;
use he_files::contents::clear::{Plain, View};
use he_files::contents::digits::{DigitTable, ReadOptions};
use he_files::contents::{encrypt, images};
use he_files::data::integers::Integers;
use he_files::data::picture::Format;
use he_files::data::table::TableOptions;
use he_files::io::input::Input;
use he_files::io::output::Output;
use he_files::key_file::AnyKey;
use he_files::key_set::{KEY_NAMES, KeyFiles};
use he_files::note::{Content, Payload};
use he_files::scheme::engine::{Engine, rng};
use he_files::scheme::{Ckks, OneOf};
use he_files::team::Team;
use serde_json::json;

#[test]
fn jobs_on_digits_take_a_bootstrapping_key() {
    let boot = Named::InsecureToy.params().unwrap();
    let (params, folder) = (boot.programs(), tempfile::tempdir().unwrap());
    let engine = Engine::<Ckks>::new(params, Device::cpu()).unwrap();
    let files = KeyFiles::create(folder.path(), false).unwrap();
    let files = files.with_bootstrapping(folder.path(), false).unwrap();
    let rotations = images::rotations(params, 1).unwrap();
    let mut rng = rng().unwrap();
    files.generate_with_bootstrapping(&boot, &engine, &rotations, None, &mut rng, &()).unwrap();
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let secret = AnyKey::read(Input::from_bytes("key", read(KEY_NAMES[0])), "a key", None).unwrap();
    let OneOf::Ckks(secret) = secret.scheme("a key").unwrap() else { panic!("a key of CKKS") };

    let team = Team::<Ckks>::new(params, &[Device::cpu()]).unwrap();
    let options =
        ReadOptions { table: TableOptions::default(), integers: Integers { bits: 8, signed: true } };
    let table = Input::from_bytes("table", b"x\n-128\n5\n7\n".to_vec());
    let table = DigitTable::read(table, options, &()).unwrap();
    let content = Content::Digits(table.describe(params).unwrap());
    let payload = Payload { key_id: secret.id.clone(), history: Vec::new(), content };
    let file = crate::fixtures::written(|output: Output| {
        let batches = table.pack(boot.slots());
        encrypt::batches(&team, &secret, batches, &payload, output, &mut rng).unwrap();
    });

    let service = Service::start();
    let guest = service.guest();
    let [keys, bootstrap] =
        [KEY_NAMES[2], bootstrap::KEY_NAME].map(|name| guest.upload("/v1/key-sets", &read(name)));
    let object = guest.upload("/v1/objects", &file);
    let operation = json!({ "name": "ge", "number": "6" });
    let failed = guest.wait(&guest.job(operation.clone(), &[&object], &keys));
    assert!(
        failed["error"]["detail"].as_str().unwrap().contains("no bootstrapping key is given"),
        "{failed}"
    );
    let request =
        json!({ "operation": operation, "inputs": [object], "key_set": keys, "bootstrap_key": bootstrap });
    let job = guest.post("/v1/jobs", &request).expect(202).json();
    let job = guest.wait(job["id"].as_str().unwrap());
    assert!(job["progress"]["of"].as_u64() > Some(0), "{job}");
    let result = guest.content(job["result"].as_str().unwrap_or_else(|| panic!("{job}")));
    let mut reader = CipherReader::<Ckks>::new(Input::from_bytes("result", result)).unwrap();
    let plain = Plain::decrypt(&team, secret.secret().unwrap(), &mut reader, View::Light).unwrap();
    let mut text = Vec::new();
    plain.write(Format::Png, &mut text).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), "x\n0\n0\n1\n");
}
