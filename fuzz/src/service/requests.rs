//! Requests of a guest to a service that runs in this process, over its socket.
//!
//! Must hold: each is answered, and not by a failure of the service (5xx); an answer is no longer
//! than a file that was sent and what there is to say; no file of the service ever holds the header
//! of a secret key's frame, nor a byte behind it; once everything that the service lists is
//! deleted, nothing is left of it.
//!
//! Bytes: requests, separated by the byte 30. Each is a method and a path in a line, lines of
//! headers, an empty line, and a body; the headers of HTTP that frame a request are the target's
//! own. In the lines and in JSON `$0`, `$1`, ... are the names that the service gave so far, and
//! `$L` is the length of the body. A body `$` and a letter is a file: an encrypted one (`I`),
//! evaluation keys (`E`), a secret key (`S`). Changes of it follow, each a place of 16 bits and a
//! byte that is XORed there; after a small letter checksums are repaired.

use super::target::{Fields, repair_frames};
use super::world::{self, rng};
use he::Device;
use he_core::backend::Cpu;
use he_core::ckks::{self, CkksParams, CkksSpec};
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
use he_core::wire::{Frame, Wire, WireKeys};
use he_server::app::App;
use he_server::serve::Server;
use he_server::settings::{Config, Settings};
use serde_json::Value;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// The kinds of frames that hold secrets: of keys of the schemes and of AES.
const SECRET: [u8; 4] = [2, 10, 21, 26];
/// Bytes of an answer without a file.
const TEXT: usize = 1 << 17;
/// At most so many requests are sent of one input.
const REQUESTS: usize = 16;

/// The files that a client has.
struct Files {
    encrypted: Vec<u8>,
    evaluation: Vec<u8>,
    secret: Vec<u8>,
}

fn files() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let rng = &mut rng(11);
        let spec = CkksSpec::from_bits(12, &[40], &[41], 25.0).expect("primes");
        let params = CkksParams::try_from(spec).expect("secure parameters");
        let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).expect("a ring");
        let secret = SecretKey::generate(params.rlwe(), rng);
        let needs = KeyRequirements::new().relinearisation();
        let keys = EvaluationKeys::generate(&secret, &ring, needs, rng).expect("keys");
        let keys: he_core::Result<Vec<Frame>> = keys.to_frames(&params).collect();
        let encoder = ckks::Encoder::new(&params, &ring).expect("an encoder");
        let plain = encoder.encode_real(&[0.5, 0.25], params.encoding().slots(16)).expect("a plaintext");
        let encryptor = ckks::SecretEncryptor::new(&params, &secret, &ring).expect("an encryptor");
        let encrypted = encryptor.encrypt(&plain, rng).and_then(|ct| ct.to_frame(&params));
        let note = format!("{{\"key_id\":\"{}\"}}", world::ID);
        let (_, table) = &world::descriptions()[4];
        Files {
            encrypted: world::file(&params, table, &[encrypted.expect("a ciphertext")]),
            evaluation: world::file(&params, &note, &keys.expect("frames")),
            secret: world::file(&params, &note, &[secret.to_frame(&params).expect("a frame")]),
        }
    })
}

/// A service that lasts as long as the process, and a guest of it.
struct Service {
    address: SocketAddr,
    folder: PathBuf,
    token: String,
}

fn service() -> &'static Service {
    static SERVICE: OnceLock<Service> = OnceLock::new();
    SERVICE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder").keep();
        let settings = Settings {
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            data: Some(folder.clone()),
            session_rate: Some(u32::MAX),
            request_rate: Some(u32::MAX),
            max_upload_mib: Some(1),
            job_hours: Some(0),
            ..Settings::default()
        };
        let config = Config::new(settings, vec![Device::cpu()]).expect("a configuration");
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            runtime.block_on(async {
                let app = App::start(config).await.expect("a service");
                let server = Server::bind(app).await.expect("an address");
                tell.send(server.address().expect("an address")).expect("somebody waits");
                server.run(std::future::pending()).await;
            });
        });
        let mut service = Service { address: told.recv().expect("an address"), folder, token: String::new() };
        let session = service.ask("POST /v1/sessions", b"").json();
        service.token = session["token"].as_str().expect("a token").to_owned();
        service
    })
}

struct Answer {
    status: u16,
    body: Vec<u8>,
}

impl Answer {
    /// Null, if it is not JSON that was sent as it is.
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl Service {
    /// Sends the head, to which the headers are added that frame a request and say who asks, and
    /// the body, and waits for the answer.
    fn ask(&self, head: &str, body: &[u8]) -> Answer {
        let mut lines = head.split('\n').map(|line| line.trim_end_matches('\r'));
        let mut text = format!(
            "{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n",
            lines.next().unwrap_or_default()
        );
        let named = |line: &str, name: &str| {
            line.split(':').next().is_some_and(|given| given.trim().eq_ignore_ascii_case(name))
        };
        let mut authorized = false;
        for line in lines {
            let framing = ["connection", "content-length", "transfer-encoding", "expect", "upgrade"];
            if !framing.iter().any(|name| named(line, name)) {
                authorized |= named(line, "authorization");
                text += &format!("{line}\r\n");
            }
        }
        if !authorized && !self.token.is_empty() {
            text += &format!("Authorization: Bearer {}\r\n", self.token);
        }
        text += &format!("Content-Length: {}\r\n\r\n", body.len());
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(15))).expect("a timeout");
        // It may refuse a body before it has arrived.
        let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.write_all(body));
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            // A request that is not HTTP may end the connection before all of it has arrived.
            Err(error) if error.kind() == ErrorKind::ConnectionReset && !is_http(head) => {
                return Answer { status: 400, body: Vec::new() };
            }
            read => drop(read.unwrap_or_else(|error| panic!("{head:?}: {error}"))),
        }
        let status = answer.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        let status = status.unwrap_or_else(|| panic!("{head:?}: {:?}", String::from_utf8_lossy(&answer)));
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").map_or(answer.len(), |at| at + 4);
        Answer { status, body: answer.split_off(end) }
    }

    /// Whether a job waits or runs.
    fn is_busy(&self) -> bool {
        let metrics = self.ask("GET /metrics", b"").body;
        let metrics = String::from_utf8_lossy(&metrics);
        !["he_server_jobs_waiting 0\n", "he_server_jobs_running 0\n"]
            .iter()
            .all(|idle| metrics.contains(idle))
    }

    /// Deletes everything, once no job uses it, and looks whether it is gone.
    fn clear(&self) {
        while self.is_busy() {
            std::thread::sleep(Duration::from_millis(1));
        }
        for route in ["/v1/key-sets", "/v1/objects"] {
            let listed = self.ask(&format!("GET {route}?limit=200"), b"");
            for item in listed.json()["items"].as_array().expect("a list") {
                let name = item["id"].as_str().expect("a name");
                let answer = self.ask(&format!("DELETE {route}/{name}"), b"");
                assert_eq!(answer.status, 204, "{route}: {}", String::from_utf8_lossy(&answer.body));
            }
        }
        let left = self.stored();
        assert!(left.is_empty(), "{left:?} is left");
    }

    /// The files of uploads and objects.
    fn stored(&self) -> Vec<PathBuf> {
        fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() { walk(&path, files) } else { files.push(path) }
            }
        }
        let mut files = Vec::new();
        ["staging", "objects"].iter().for_each(|name| walk(&self.folder.join(name), &mut files));
        files
    }
}

/// Whether a head is surely a method, a path and headers.
fn is_http(head: &str) -> bool {
    let mut lines = head.split('\n');
    let is_plain =
        |path: &str| path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.?=&".contains(&byte));
    let asks = lines.next().and_then(|line| line.split_once(' ')).is_some_and(|(method, path)| {
        method.bytes().all(|byte| byte.is_ascii_uppercase()) && path.starts_with('/') && is_plain(path)
    });
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_value = |value: &str| value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    let mut headers = lines.map(|line| line.split_once(':'));
    asks && headers.all(|line| line.is_some_and(|(name, value)| is_name(name) && is_value(value)))
}

/// Panics if a file holds the header of a secret key's frame.
fn check_stored(file: &[u8]) {
    let mut at = 0usize;
    while let Some([b'H', b'E', b'W', b'F', _, _, kind, high, ..]) = file.get(at..) {
        assert!(*high != 0 || !SECRET.contains(kind), "a frame of kind {kind} is stored at byte {at}");
        let length = file.get(at + 40..at + 48).and_then(|length| length.try_into().ok());
        let end = length.map_or(u64::MAX, u64::from_le_bytes).checked_add(at as u64 + 80);
        at = end.and_then(|end| usize::try_from(end).ok()).unwrap_or(usize::MAX);
    }
}

/// The body that is asked for.
fn body(text: &[u8], known: &[String]) -> Vec<u8> {
    let [b'$', letter, changes @ ..] = text else {
        return match std::str::from_utf8(text) {
            Ok(text) => named(text, known, 0).into_bytes(),
            Err(_) => text.to_vec(),
        };
    };
    let mut file = match letter.to_ascii_uppercase() {
        b'I' => files().encrypted.clone(),
        b'E' => files().evaluation.clone(),
        b'S' => files().secret.clone(),
        _ => return text.to_vec(),
    };
    let mut changes = Fields(changes);
    while let Some([low, high, change]) = changes.take() {
        let at = usize::from(u16::from_le_bytes([low, high])) % file.len();
        file[at] ^= change;
    }
    if letter.is_ascii_lowercase() {
        repair_frames(&mut file);
    }
    file
}

/// The text with the names that the service gave.
fn named(text: &str, known: &[String], length: usize) -> String {
    let mut text = text.replace("$L", &length.to_string());
    for (number, name) in known.iter().enumerate().take(10) {
        text = text.replace(&format!("${number}"), name);
    }
    text
}

pub fn run(data: &[u8]) {
    let service = service();
    let (mut known, mut jobs) = (Vec::new(), false);
    for request in data.split(|&byte| byte == 30).take(REQUESTS) {
        let end = request.windows(2).position(|two| two == b"\n\n");
        let (head, rest) = end.map_or((request, &[][..]), |end| (&request[..end], &request[end + 2..]));
        let body = body(rest, &known);
        let head = named(&String::from_utf8_lossy(head), &known, body.len());
        let answer = service.ask(&head, &body);
        assert!((200..500).contains(&answer.status), "{head:?}: {}", answer.status);
        let most = TEXT + files().encrypted.len();
        assert!(answer.body.len() <= most, "{head:?}: {} bytes", answer.body.len());
        jobs |= answer.status == 202;
        if let Some(name) = answer.json()["id"].as_str() {
            known.push(name.to_owned());
        }
        for file in service.stored() {
            // A job that ends may remove it.
            check_stored(&fs::read(file).unwrap_or_default());
        }
    }
    if jobs || !service.stored().is_empty() || !known.is_empty() {
        service.clear();
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    const TUS: &str = "Tus-Resumable: 1.0.0\nContent-Type: application/offset+octet-stream\n";
    let whole = |route: &str, file: &str| format!("POST /v1/{route}\n{TUS}Upload-Length: $L\n\n{file}");
    let begin = |route: &str, length: u32| {
        format!("POST /v1/{route}\nTus-Resumable: 1.0.0\nUpload-Length: {length}\n\n")
    };
    let part = |path: &str, file: &str| format!("PATCH /v1/{path}\n{TUS}Upload-Offset: 0\n\n{file}");
    let get = |path: &str| format!("GET {path}\n\n");
    let job = |operation: &str, inputs: &str| {
        format!(
            "POST /v1/jobs\nContent-Type: application/json\n\n\
             {{\"operation\":{operation},\"inputs\":[{inputs}],\"key_set\":\"$0\"}}"
        )
    };
    let (keys, input) = (whole("key-sets", "$E"), whole("objects", "$I"));
    let secret = files().secret.len() as u32;
    let scripts = [
        vec![whole("key-sets", "$S")],
        vec![whole("objects", "$S")],
        vec![begin("key-sets", secret), part("key-sets/$0", "$S")],
        vec![
            begin("objects", files().encrypted.len() as u32),
            part("objects/$0", "$I"),
            get("/v1/objects/$0"),
        ],
        vec![whole("objects", "$i\u{40}\0\u{1}")],
        vec![
            keys.clone(),
            input.clone(),
            job(r#"{"name":"add"}"#, r#""$1","$1""#),
            get("/v1/jobs/$2/events"),
        ],
        vec![keys.clone(), input.clone(), job(r#"{"name":"sum","levels":"keep"}"#, r#""$1""#)],
        vec![
            keys.clone(),
            input.clone(),
            job(r#"{"name":"dot","columns":["a","a"]}"#, r#""$1""#),
            "DELETE /v1/jobs/$2\n\n".to_owned(),
            get("/v1/jobs?limit=3"),
        ],
        vec![input.clone(), "GET /v1/objects/$0/content\nRange: bytes=7-90\n\n".to_owned()],
        vec![input.clone(), "DELETE /v1/objects/$0\n\n".to_owned(), "HEAD /v1/objects/$0\n\n".to_owned()],
        vec![begin("objects", 99), "HEAD /v1/objects/$0\nTus-Resumable: 1.0.0\n\n".to_owned()],
        ["/v1/operations", "/v1/info", "/openapi.json", "/healthz", "/metrics", "/", "/v1/models"]
            .map(get)
            .into(),
        vec!["OPTIONS /v1/objects\n\n".to_owned(), "GET /v1/objects?cursor=a&limit=0\n\n".to_owned()],
        vec!["GET /v1/info\nAuthorization: Bearer x\nAccept-Encoding: gzip\n\n".to_owned()],
        vec!["POST /v1/sessions\n\n".to_owned(), "PUT /v1/jobs\n\n[]".to_owned()],
        vec!["GET /v1/models/x/content\nIf-None-Match: *\n\n".to_owned()],
    ];
    scripts.iter().map(|script| script.join("\u{1e}").into_bytes()).collect()
}
