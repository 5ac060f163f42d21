//! Uploads by tus, and what is refused before and after a byte is stored.

use crate::client::{Client, PIECE, TUS};
use crate::fixtures::{Service, files};
use he_server::settings::Settings;
use std::io::Write;

const KEYS: &str = "/v1/key-sets";
const OBJECTS: &str = "/v1/objects";

#[test]
fn files_arrive_in_parts_of_any_size() {
    let service = Service::start();
    let guest = service.guest();
    let file = &files().image;
    for part in [file.len(), file.len() / 3 + 1, 70_000] {
        let begun = guest.begin(OBJECTS, file.len()).expect(201);
        let url = begun.header("location").unwrap().to_owned();
        assert!(begun.header("upload-expires").is_some_and(|date| date.ends_with(" GMT")));
        assert_eq!(begun.json()["state"], "uploading");
        let mut at = 0;
        while at < file.len() {
            assert_eq!(guest.offset(&url), at);
            let end = file.len().min(at + part);
            let taken = guest.append(&url, at, &file[at..end]).expect(204);
            at = taken.header("upload-offset").unwrap().parse().unwrap();
            assert_eq!(at, end);
        }
        let object = guest.get(&url).expect(200).json();
        assert_eq!((&object["state"], &object["bytes"]), (&"ready".into(), &file.len().into()));
        assert_eq!(object["info"]["parameters"]["scheme"], "ckks");
        assert!(guest.content(object["id"].as_str().unwrap()) == *file);
        assert_eq!(guest.offset(&url), file.len());
    }
    // Small parts at the beginning, where nothing is known yet.
    let url = guest.begin(OBJECTS, file.len()).expect(201).header("location").unwrap().to_owned();
    for (at, byte) in file[..200].iter().enumerate() {
        guest.append(&url, at, &[*byte]).expect(204);
    }
    assert!(service.stored().iter().all(|(_, bytes)| *bytes == 0 || *bytes == file.len() as u64));
    guest.append(&url, 200, &file[200..]).expect(204);
    assert_eq!(guest.get(&url).json()["state"], "ready");
}

/// The first rule: no byte of a secret key is stored.
#[test]
fn secret_keys_are_refused_before_a_byte_is_stored() {
    let service = Service::start();
    let guest = service.guest();
    let files = files();
    let rng = &mut he_files::scheme::engine::rng().unwrap();
    let file = |key: &he_core::wire::Frame| {
        let mut file = Vec::new();
        he_files::key_file::write_aes_key(&mut file, key, "key").unwrap();
        file
    };
    let aes = file(&he_core::aes::container::UserKey::generate(rng).to_frame());
    let size = he_core::aes::KeySize::Bits128;
    let sensor = file(&he_core::transcipher::SensorKey::generate(size, rng).to_frame());
    for (route, file, said) in [
        (KEYS, &files.secret, "a secret key"),
        (KEYS, &files.sealed, "a sealed secret key"),
        (KEYS, &files.public, "a public key"),
        (KEYS, &files.image, "an encrypted file"),
        (KEYS, &aes, "a secret key"),
        (KEYS, &sensor, "a secret key"),
        (OBJECTS, &files.secret, "a key"),
        (OBJECTS, &files.sealed, "a sealed secret key"),
        (OBJECTS, &files.evaluation, "a key"),
        (OBJECTS, &files.public, "a key"),
        (OBJECTS, &aes, "a key"),
        (OBJECTS, &sensor, "a key"),
    ] {
        let answer = guest.whole(route, file);
        let hint = answer.json()["hint"].clone();
        let detail = answer.problem(422);
        assert!(detail.starts_with("the upload is ") && detail.contains(said), "{said}: {detail}");
        assert!(hint.is_string(), "{said}");
        assert_eq!(service.stored(), [], "{said}");
        // In small parts as well, and nothing of it is ever staged.
        let url = guest.begin(route, file.len()).expect(201).header("location").unwrap().to_owned();
        let (mut at, mut refused) = (0, false);
        while at < file.len() && !refused {
            let end = file.len().min(at + 1000);
            refused = guest.append(&url, at, &file[at..end]).status == 422;
            at = end;
            assert!(service.stored().iter().all(|(_, bytes)| *bytes == 0), "{said}");
        }
        assert!(refused, "{said}");
        guest.get(&url).problem(404);
    }
    let used = guest.get("/v1/info").json();
    assert_eq!(used["used"], serde_json::json!({ "bytes": 0, "objects": 0, "jobs": 0 }));
}

/// A secret key behind the frames of another file does not get through either.
#[test]
fn frames_are_looked_at_wherever_they_are() {
    let service = Service::start();
    let guest = service.guest();
    let files = files();
    // Without its end mark, an evaluation key could go on with any frame: here with the last ones
    // of the secret key, of which the first two are the same.
    let frames = |file: &[u8]| {
        let (mut at, mut starts) = (0, Vec::new());
        while at < file.len() {
            starts.push(at);
            at += 80 + u64::from_le_bytes(file[at + 40..at + 48].try_into().unwrap()) as usize;
        }
        starts
    };
    let (keys, secret) = (frames(&files.evaluation), frames(&files.secret));
    let mut file = files.evaluation[..*keys.last().unwrap()].to_vec();
    let hidden = file.len();
    file.extend_from_slice(&files.secret[secret[2]..]);
    let url = guest.begin(KEYS, file.len()).expect(201).header("location").unwrap().to_owned();
    guest.append(&url, 0, &file[..hidden]).expect(204);
    let before = service.stored();
    assert!(guest.append(&url, hidden, &file[hidden..]).problem(422).contains("a secret key"));
    assert!(before.iter().all(|(_, bytes)| *bytes <= hidden as u64));
    assert_eq!(service.stored(), []);
    // Bytes behind the end mark, a frame that is too long, and one of a kind that does not exist.
    let mut more = files.image.clone();
    more.extend_from_slice(b"more");
    assert!(guest.whole(OBJECTS, &more).problem(422).contains("after the end mark"));
    let third = frames(&files.image)[2];
    let mut long = files.image.clone();
    long[third + 46] = 1;
    assert!(guest.whole(OBJECTS, &long).problem(422).contains("bytes, where"));
    let mut odd = files.image.clone();
    odd[third + 6] = 0xff;
    assert!(guest.whole(OBJECTS, &odd).problem(422).contains("frame kind"));
    assert_eq!(service.stored(), []);
}

#[test]
fn damaged_files_are_refused_with_the_words_of_the_reader() {
    let service = Service::start();
    let guest = service.guest();
    let file = &files().image;
    let mut damaged = file.clone();
    let middle = file.len() / 2;
    damaged[middle] ^= 1;
    assert!(guest.whole(OBJECTS, &damaged).problem(422).contains("checksum"));
    assert!(guest.whole(OBJECTS, &file[..middle]).problem(422).contains("truncated"));
    for (text, said) in [
        (&b"\x89PNG\r\n\x1a\n and so on, and more of it until there is enough"[..], "PNG"),
        (&[7; 100][..], "neither a key nor an encrypted file"),
        (&[7; 10][..], "neither a key nor an encrypted file"),
    ] {
        let detail = guest.whole(OBJECTS, text).problem(422);
        assert!(detail.contains(said), "{detail}");
    }
    let mut keys = files().evaluation.clone();
    let last = keys.len() - 1000;
    keys[last] ^= 1;
    guest.whole(KEYS, &keys).problem(422);
    assert_eq!(service.stored(), []);
    assert_eq!(guest.get(OBJECTS).json()["items"], serde_json::json!([]));
}

#[test]
fn the_protocol_is_kept() {
    let service =
        Service::with(Settings { max_upload_mib: Some(64), guest_mib: Some(40), ..Settings::default() });
    let guest = service.guest();
    let file = &files().image;
    let options = guest.send("OPTIONS", OBJECTS, &[], b"").expect(204);
    assert_eq!(options.header("tus-version"), Some("1.0.0"));
    assert_eq!(options.header("tus-max-size"), Some("67108864"));
    let length = file.len().to_string();
    guest.send("POST", OBJECTS, &[("Upload-Length", &length)], b"").problem(412);
    guest.send("POST", OBJECTS, &[TUS], b"").problem(400);
    for bad in ["-1", "x", "+5", "99999999999999999999999"] {
        guest.send("POST", OBJECTS, &[TUS, ("Upload-Length", bad)], b"").problem(400);
    }
    guest.begin(OBJECTS, 41 << 20).problem(413);
    guest.begin(OBJECTS, 0).problem(422);
    let url = guest.begin(OBJECTS, file.len()).expect(201).header("location").unwrap().to_owned();
    guest.append(&url, 1, b"x").problem(409);
    guest.send("PATCH", &url, &[TUS, ("Upload-Offset", "0")], b"x").problem(415);
    guest.send("PATCH", &url, &[PIECE, ("Upload-Offset", "0")], b"x").problem(412);
    guest.send("PATCH", &url, &[TUS, PIECE], b"x").problem(400);
    guest.send("PATCH", "/v1/objects/../../etc/passwd", &[TUS, PIECE, ("Upload-Offset", "0")], b"x");
    // More than was announced: what was announced stays, and the rest can still come.
    let mut longer = file.clone();
    longer.extend_from_slice(&[0; 9]);
    guest.append(&url, 0, &longer).problem(413);
    let at = guest.offset(&url);
    guest.append(&url, at, &file[at..]).expect(204);
    assert_eq!(guest.get(&url).json()["state"], "ready");
    guest.send("DELETE", &url, &[TUS], b"").expect(204);
    guest.send("DELETE", &url, &[TUS], b"").problem(404);
    assert_eq!(service.stored(), []);
}

#[test]
fn uploads_resume_where_a_connection_broke() {
    let service = Service::start();
    let guest = service.guest();
    let file = &files().evaluation;
    let url = guest.begin(KEYS, file.len()).expect(201).header("location").unwrap().to_owned();
    let mut at = 0;
    let mut breaks = 0;
    while at < file.len() {
        // Announces the rest, and goes after a part of it.
        let part = (file.len() / 5).min(file.len() - at);
        let whole = at + part == file.len();
        let headers = [TUS, PIECE, ("Upload-Offset", &*at.to_string())];
        let mut stream = guest.connect();
        stream.write_all(guest.head("PATCH", &url, &headers, Some(file.len() - at)).as_bytes()).unwrap();
        stream.write_all(&file[at..at + part]).unwrap();
        if whole {
            let answer = crate::client::read_answer(&mut std::io::BufReader::new(stream), false).unwrap();
            answer.expect(204);
            break;
        }
        drop(stream);
        breaks += 1;
        let before = at;
        for _ in 0..50 {
            let answer = guest.send("HEAD", &url, &[TUS], b"");
            at = answer.header("upload-offset").map_or(before, |offset| offset.parse().unwrap());
            if at > before {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        // A connection that broke before the service looked at the request leaves nothing, which a
        // busy machine may do: the same part again.
        assert!(at >= before && at <= before + part, "{before} {at}");
        assert!(breaks <= 40, "no progress beyond {at}");
    }
    assert!(breaks >= 3);
    assert_eq!(guest.get(&url).json()["state"], "ready");
}

/// 64 clients at once, with images, tables, keys and refused files; none is lost.
#[test]
fn many_upload_at_once() {
    let service = Service::start();
    let all: Vec<Client> = (0..64).map(|_| service.guest()).collect();
    std::thread::scope(|scope| {
        for (index, guest) in all.iter().enumerate() {
            scope.spawn(move || {
                let files = files();
                let (route, file) = match index % 4 {
                    0 => (KEYS, &files.evaluation),
                    1 => (OBJECTS, &files.image),
                    2 => (OBJECTS, &files.table),
                    _ => (KEYS, &files.secret),
                };
                if index % 4 == 3 {
                    guest.whole(route, file).problem(422);
                    return;
                }
                let url = guest.begin(route, file.len()).expect(201).header("location").unwrap().to_owned();
                for part in 0..4 {
                    let bounds = [part, part + 1].map(|part| part * file.len() / 4);
                    guest.append(&url, bounds[0], &file[bounds[0]..bounds[1]]).expect(204);
                }
                let object = guest.get(&url).expect(200).json();
                assert_eq!(object["state"], "ready");
                if route == OBJECTS {
                    assert!(guest.content(object["id"].as_str().unwrap()) == *file);
                }
            });
        }
    });
    assert_eq!(service.stored().len(), 48);
    let metrics = String::from_utf8(service.nobody().get("/metrics").body).unwrap();
    assert!(metrics.contains("\nhe_server_uploads_completed_total 48\n"), "{metrics}");
    assert!(metrics.contains("\nhe_server_uploads_refused_total 16\n"), "{metrics}");
    assert!(metrics.contains("\nhe_server_uploads 0\n"), "{metrics}");
}

#[test]
fn quotas_hold() {
    let limits = Settings { guest_mib: Some(3), ..Settings::default() };
    let service = Service::with(limits);
    let guest = service.guest();
    let file = &files().image;
    let most = (3usize << 20) / file.len();
    let ids: Vec<String> = (0..most).map(|_| guest.upload(OBJECTS, file)).collect();
    let full = guest.begin(OBJECTS, file.len()).expect(403);
    assert!(full.json()["hint"].as_str().unwrap().contains("GET /v1/objects"));
    assert!(full.problem(403).contains(&format!(
        "{} bytes, where this tenant may have {}",
        (most + 1) * file.len(),
        3 << 20
    )));
    guest.delete(&format!("{OBJECTS}/{}", ids[0])).expect(204);
    guest.upload(OBJECTS, file);
    // The others are not concerned.
    service.guest().upload(OBJECTS, file);
}
