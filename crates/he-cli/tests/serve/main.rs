//! `he-cli serve` as a process: what survives `kill -9`, where settings come from, how it ends.
#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../../../he-server/tests/service/client.rs"]
#[allow(dead_code)]
mod client;
#[cfg(feature = "client")]
mod lookup;
mod operating;
#[cfg(feature = "client")]
mod search;

use client::{Client, PIECE, TUS};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

fn he() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_he-cli"));
    command.env("HE_DEVICE", "cpu").env_remove("HE_CLI_PASSPHRASE");
    command
}

fn done(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// A service that runs.
struct Process {
    child: Child,
    client: Client,
    log: Arc<Mutex<String>>,
    /// Kept open: a service whose output is closed could not say anything more.
    _output: BufReader<ChildStdout>,
}

impl Process {
    fn start(data: &Path, more: impl FnOnce(&mut Command)) -> Self {
        let mut command = he();
        command.args(["serve", "--json", "--listen", "127.0.0.1:0", "--data"]).arg(data);
        command.args(["--session-rate", "1000", "--log", "json"]);
        more(&mut command);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        while !text.trim_end().ends_with('}') {
            if output.read_line(&mut text).unwrap() == 0 {
                let mut said = String::new();
                child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
                panic!("{text}{said}");
            }
        }
        let said: Value = serde_json::from_str(&text).unwrap();
        let address = said["url"].as_str().unwrap().split("://").nth(1).unwrap().parse().unwrap();
        // The log must not fill its pipe.
        let (mut pipe, log) = (BufReader::new(child.stderr.take().unwrap()), Arc::<Mutex<String>>::default());
        let written = Arc::clone(&log);
        std::thread::spawn(move || {
            let mut line = String::new();
            while pipe.read_line(&mut line).is_ok_and(|count| count > 0) {
                written.lock().unwrap().push_str(&line);
                line.clear();
            }
        });
        Self { child, client: Client { address, token: None }, log, _output: output }
    }

    /// Waits for a line of the log that is so.
    #[track_caller]
    fn logged(&self, is_so: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..600 {
            let log = self.log.lock().unwrap().clone();
            let mut lines = log.lines().filter_map(|line| serde_json::from_str(line).ok());
            if let Some(line) = lines.find(&is_so) {
                return line;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{}", self.log.lock().unwrap());
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    fn guest(&self) -> Client {
        let session = self.client.send("POST", "/v1/sessions", &[], b"").expect(201).json();
        Client { token: Some(session["token"].as_str().unwrap().to_owned()), ..self.client.clone() }
    }

    /// `kill -9`.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Keys, a picture and what `eval blur` makes of it.
struct Files {
    _folder: TempDir,
    keys: PathBuf,
    photo: PathBuf,
    blurred: PathBuf,
}

fn files() -> Files {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (keys, picture) = (path("keys"), path("photo.png"));
    let image = image::RgbImage::from_fn(300, 200, |x, y| image::Rgb([x as u8, y as u8, (x * y) as u8]));
    image.save(&picture).unwrap();
    let (photo, blurred) = (path("photo.he"), path("blurred.he"));
    done(he().args(["keygen", "ckks", "-o"]).arg(&keys));
    done(he().arg("encrypt").arg(&picture).arg("-k").arg(keys.join("public.key")).arg("-o").arg(&photo));
    let mut eval = he();
    eval.args(["eval", "blur"]).arg(&photo).arg("-k").arg(keys.join("eval.key")).arg("-o").arg(&blurred);
    done(&mut eval);
    Files { _folder: folder, keys, photo, blurred }
}

#[test]
fn nothing_that_was_acknowledged_is_lost_by_force() {
    let files = files();
    let data = tempfile::tempdir().unwrap();
    let read = |path: &Path| std::fs::read(path).unwrap();
    let (eval, photo) = (read(&files.keys.join("eval.key")), read(&files.photo));
    let service = Process::start(data.path(), |_| {});
    let mut guest = service.guest();
    let keys = guest.upload("/v1/key-sets", &eval);
    let image = guest.upload("/v1/objects", &photo);
    let url = guest.begin("/v1/key-sets", eval.len()).expect(201).header("location").unwrap().to_owned();

    // Killed within uploads, several times: what HEAD says afterwards is taken up.
    let (mut service, mut kills) = (service, 0);
    loop {
        let at = guest.offset(&url);
        let part = (eval.len() / 4).min(eval.len() - at);
        let mut stream = guest.connect();
        let headers = [TUS, PIECE, ("Upload-Offset", &*at.to_string())];
        stream.write_all(guest.head("PATCH", &url, &headers, Some(eval.len() - at)).as_bytes()).unwrap();
        stream.write_all(&eval[at..at + part]).unwrap();
        if at + part == eval.len() {
            client::read_answer(&mut BufReader::new(stream), false).unwrap().expect(204);
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
        service.kill();
        kills += 1;
        assert!(kills < 60, "{at} of {}", eval.len());
        service = Process::start(data.path(), |_| {});
        guest.address = service.client.address;
    }
    assert!(kills >= 3);
    assert_eq!(guest.get(&url).expect(200).json()["state"], "ready");

    // Killed while jobs wait and run: each is computed, with the bytes of the command line.
    let jobs: Vec<String> = (0..6).map(|_| guest.job(json!({ "name": "blur" }), &[&image], &keys)).collect();
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(150));
        service.kill();
        service = Process::start(data.path(), |_| {});
        guest.address = service.client.address;
    }
    let expected = read(&files.blurred);
    for job in &jobs {
        let job = guest.wait(job);
        assert_eq!(job["state"], "done", "{job}");
        assert!(guest.content(job["result"].as_str().unwrap()) == expected);
    }
    assert!(guest.content(&image) == photo);
    // Nothing is left of what was interrupted.
    assert_eq!(std::fs::read_dir(data.path().join("staging")).unwrap().count(), 0);
}

#[test]
fn options_count_more_than_variables_and_those_more_than_the_file() {
    let data = tempfile::tempdir().unwrap();
    let config = data.path().join("settings.toml");
    std::fs::write(&config, "max-upload-mib = 1\nguest-mib = 10\ntenant-jobs = 7\nrequest-rate = 5000\n")
        .unwrap();
    let limit = |more: &dyn Fn(&mut Command)| {
        let service = Process::start(&data.path().join("data"), |command| {
            command.arg("--config").arg(&config);
            more(command);
        });
        let limits = service.guest().get("/v1/info").expect(200).json()["limits"].clone();
        [&limits["upload_bytes"], &limits["jobs"]].map(|value| value.as_u64().unwrap())
    };
    assert_eq!(limit(&|_| {}), [1 << 20, 7]);
    assert_eq!(
        limit(&|command| {
            command.env("HE_SERVE_MAX_UPLOAD_MIB", "2");
        }),
        [2 << 20, 7]
    );
    let both = limit(&|command| {
        command.env("HE_SERVE_MAX_UPLOAD_MIB", "2").args(["--max-upload-mib", "3"]);
        command.env("HE_SERVE_TENANT_JOBS", "5");
    });
    assert_eq!(both, [3 << 20, 5]);
    std::fs::write(&config, "max-uploads = 1\n").unwrap();
    let output = he().arg("serve").arg("--config").arg(&config).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("settings.toml") && said.contains("max-uploads"), "{said}");
}

#[test]
fn signals_end_it_gracefully_and_tokens_are_made_beside_it() {
    let data = tempfile::tempdir().unwrap();
    let token = |arguments: &[&str]| {
        let out = done(he().args(["serve", "token"]).args(arguments).arg("--data").arg(data.path()));
        String::from_utf8(out).unwrap()
    };
    let mut service = Process::start(data.path(), |command| {
        command.args(["--guests", "false"]);
    });
    let secret = token(&["add", "alice"]).trim().to_owned();
    let alice = Client { token: Some(secret), ..service.client.clone() };
    alice.get("/v1/objects").expect(200);
    service.client.send("POST", "/v1/sessions", &[], b"").problem(403);
    let list = token(&["list"]);
    let line = list.lines().nth(1).unwrap();
    let [id, name] = [0, 1].map(|at| line.split_whitespace().nth(at).unwrap());
    assert_eq!(name, "alice");
    token(&["revoke", id]);
    alice.get("/v1/objects").problem(401);
    service.signal(rustix::process::Signal::TERM);
    assert_eq!(service.child.wait().unwrap().code(), Some(0));
}

/// Sends a signal.
fn signal(service: &Process, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(&service.child), signal).unwrap();
}

/// Jobs of minutes, in which lookups of TFHE are computed: a signal ends the process soon all the
/// same, the next start takes the job up, and what was cancelled is not taken up after `kill -9`.
#[test]
fn long_jobs_keep_no_process_and_do_not_come_back() {
    use rustix::process::Signal;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (keys, table, column, data) = (path("keys"), path("column.csv"), path("column.he"), path("data"));
    std::fs::write(&table, (0..64).rev().map(|i| format!("{i}\n")).collect::<String>()).unwrap();
    done(he().args(["keygen", "tfhe", "-o"]).arg(&keys));
    let mut encrypt = he();
    encrypt.args(["encrypt", "--no-header"]).arg(&table).arg("-k").arg(keys.join("secret.key"));
    done(encrypt.arg("-o").arg(&column));
    let start = |seconds: &'static str| {
        Process::start(&data, |command| {
            command.args(["--running-jobs", "1", "--shutdown-seconds", seconds]);
        })
    };
    let service = start("0");
    let guest = service.guest();
    let eval = guest.upload("/v1/key-sets", &std::fs::read(keys.join("eval.key")).unwrap());
    let column = guest.upload("/v1/objects", &std::fs::read(&column).unwrap());
    let job = format!("/v1/jobs/{}", guest.job(json!({ "name": "sort" }), &[&column], &eval));
    let of = |service: &Process| Client { address: service.client.address, ..guest.clone() };
    let wait_for_lookups = |service: &Process| {
        let computing = |_: &i32| of(service).get(&job).expect(200).json()["progress"]["done"] != json!(0);
        let pause = || std::thread::sleep(Duration::from_millis(50));
        assert!((0..2400).inspect(|_| pause()).any(|i| computing(&i)), "nothing is computed");
    };

    let mut service = service;
    wait_for_lookups(&service);
    signal(&service, Signal::TERM);
    assert_eq!(service.child.wait().unwrap().code(), Some(0));

    // The second signal does not wait for the time that the first one gives.
    let mut service = start("600");
    wait_for_lookups(&service);
    signal(&service, Signal::TERM);
    while std::net::TcpStream::connect(service.client.address).is_ok() {
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(&service, Signal::INT);
    assert_eq!(service.child.wait().unwrap().code(), None);

    let service = start("0");
    wait_for_lookups(&service);
    of(&service).delete(&job).expect(202);
    service.kill();
    let service = start("0");
    let ended = of(&service).get(&job).expect(200).json();
    assert_eq!(
        (&ended["state"], of(&service).get("/v1/info").json()["used"]["jobs"].clone()),
        (&json!("cancelled"), json!(0))
    );
}
