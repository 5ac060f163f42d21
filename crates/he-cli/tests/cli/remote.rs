//! `eval --server`: a real service as a process, lines to it that break, and servers that lie.

use crate::pictures::eight;
use crate::process::{Keys, bootstrap_key, encrypt, eval, folder, he, names};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A process of `he-cli serve`, killed when it is dropped.
struct Service {
    process: Child,
    port: u16,
    folder: TempDir,
}

impl Service {
    fn start() -> Self {
        Self::with(&[])
    }

    /// With these options as well.
    fn with(options: &[&str]) -> Self {
        let folder = folder();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let data = folder.path().join("data");
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let process = Command::new(env!("CARGO_BIN_EXE_he-cli"))
            .args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--data", data.to_str().unwrap()])
            .args(options)
            .env("HE_DEVICE", "cpu")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let service = Self { process, port, folder };
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = fs::read_to_string(service.folder.path().join("log")).unwrap();
            assert!(begin.elapsed() < Duration::from_secs(60), "{log}");
            std::thread::sleep(Duration::from_millis(20));
        }
        service
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A file with the token of a fresh tenant.
    fn token(&self, folder: &Path) -> PathBuf {
        let data = self.folder.path().join("data");
        let token = he(["serve", "token", "add", "tester", "--data", data.to_str().unwrap()]).text();
        let path = folder.join("token");
        fs::write(&path, token).unwrap();
        path
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An encrypted picture in a folder.
fn photo(folder: &Path) -> PathBuf {
    let (clear, encrypted) = (folder.join("x.png"), folder.join("x.he"));
    eight(40, 30, 3, 7).save(&clear).unwrap();
    encrypt(Keys::usual(), &clear, &encrypted, &[]);
    encrypted
}

/// The places where a line is cut, the first of each list first.
#[derive(Debug, Default, PartialEq)]
struct Cuts {
    /// Connections that have sent so many bytes.
    sent: Vec<usize>,
    /// Connections on which the answer comes to a request that begins so.
    answers: Vec<&'static [u8]>,
}

/// A line that forwards to a port, counts connections and cuts some.
struct Line {
    port: u16,
    cuts: Arc<Mutex<Cuts>>,
    connections: Arc<AtomicUsize>,
}

impl Line {
    fn to(port: u16, cuts: Cuts) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let line = Self {
            port: listener.local_addr().unwrap().port(),
            cuts: Arc::new(Mutex::new(cuts)),
            connections: Arc::default(),
        };
        let (cuts, connections) = (Arc::clone(&line.cuts), Arc::clone(&line.connections));
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let near = near.unwrap();
                connections.fetch_add(1, Ordering::Relaxed);
                let far = TcpStream::connect(("127.0.0.1", port)).unwrap();
                let (a, b) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                let (cuts, is_lost) = (Arc::clone(&cuts), Arc::new(AtomicBool::new(false)));
                let lost = Arc::clone(&is_lost);
                let mut passed = 0;
                std::thread::spawn(move || {
                    copy(a, b, |bytes| {
                        passed += bytes.len();
                        let mut cuts = cuts.lock().unwrap();
                        if cuts.answers.first().is_some_and(|&begin| bytes.starts_with(begin)) {
                            cuts.answers.remove(0);
                            lost.store(true, Ordering::SeqCst);
                        }
                        let is_cut = cuts.sent.first().is_some_and(|&cut| passed > cut);
                        is_cut.then(|| cuts.sent.remove(0)).is_none()
                    })
                });
                std::thread::spawn(move || copy(far, near, |_| !is_lost.load(Ordering::SeqCst)));
            }
        });
        line
    }
}

/// Copies bytes while they pass, and closes both ends.
fn copy(mut from: TcpStream, mut to: TcpStream, mut passes: impl FnMut(&[u8]) -> bool) {
    let mut buffer = vec![0; 1 << 14];
    while let Ok(count @ 1..) = from.read(&mut buffer)
        && passes(&buffer[..count])
        && to.write_all(&buffer[..count]).is_ok()
    {}
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// `eval` of a file there.
fn remote<'a>(operation: &[&'a str], input: &'a Path, output: &'a Path, url: &'a str) -> Vec<&'a str> {
    let keys = Keys::usual();
    let files = ["-k", &keys.eval, "-o", output.to_str().unwrap(), input.to_str().unwrap(), "--server", url];
    ["eval"].into_iter().chain(operation.iter().copied()).chain(files).collect()
}

#[test]
fn the_same_bytes_as_here() {
    let (service, dir) = (Service::start(), folder());
    let (url, token) = (service.url(), service.token(dir.path()));
    let input = photo(dir.path());
    let path = |name: &str| dir.path().join(name);
    let token = ["--token-file", token.to_str().unwrap()];
    let cases: [&[&str]; 4] = [
        &["blur", "--radius", "2"],
        &["kernel", "--matrix", "1/4, 1/2, 1/4"],
        &["brightness", "--by", "-0.25"],
        &["blend", "--alpha", "0.25", "--with", input.to_str().unwrap()],
    ];
    for (at, operation) in cases.into_iter().enumerate() {
        let (here, there) = (path(&format!("here{at}")), path(&format!("there{at}")));
        eval(Keys::usual(), operation, &input, &here);
        let outcome = he(remote(operation, &input, &there, &url).into_iter().chain(token)).run();
        assert_eq!(outcome.code, Some(0), "{operation:?}: {}", outcome.stderr);
        assert!(fs::read(&here).unwrap() == fs::read(&there).unwrap(), "{operation:?}");
    }
    // As a guest, through pipes, with a summary for programs.
    let (table, here) = (path("t.csv"), path("here"));
    fs::write(&table, "x,y\n1.5,2\n-3,4\n6,0.25\n").unwrap();
    encrypt(Keys::usual(), &table, &path("t.he"), &[]);
    eval(Keys::usual(), &["variance"], &path("t.he"), &here);
    let arguments = remote(&["variance", "--json"], Path::new("-"), Path::new("-"), &url);
    let outcome = he(&arguments).stdin(&fs::read(path("t.he")).unwrap()).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(fs::read(&here).unwrap() == outcome.stdout);
    let summary: serde_json::Value = serde_json::from_str(&outcome.stderr).unwrap();
    assert_eq!(summary["server"], url);
    assert_eq!(summary["bytes"], outcome.stdout.len());
    let sent = fs::metadata(path("t.he")).unwrap().len() + fs::metadata(&Keys::usual().eval).unwrap().len();
    assert_eq!(summary["sent_bytes"], sent);
}

/// A bootstrapping key in place of an evaluation key.
#[test]
fn refreshes_give_the_same_bytes_as_here() {
    let (service, dir, keys) = (Service::start(), folder(), Keys::toy());
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("x.csv"), "a,b\n0.9,-0.9\n-0.9,0\n0.5,0.95\n").unwrap();
    encrypt(keys, Path::new(&path("x.csv")), Path::new(&path("x.he")), &[]);
    let refresh = |output: &str, place: &[&str]| {
        let key = bootstrap_key(keys);
        let files = ["eval", "refresh", &path("x.he"), "-k", &key, "-o", output];
        he(files.into_iter().chain(place.iter().copied())).ok();
        fs::read(output).unwrap()
    };
    let (here, there) = (path("here"), path("there"));
    assert!(refresh(&here, &[]) == refresh(&there, &["--server", &service.url()]));
    // Other operations need another key, there as here.
    let blur = ["eval", "sum", &path("x.he"), "-k", &bootstrap_key(keys), "-o", &path("y.he")];
    he(blur.into_iter().chain(["--server", &service.url()])).refuses();
}

/// Runs openssl in a folder.
fn openssl(folder: &Path, arguments: &str) {
    let run = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output();
    let run = run.expect("openssl makes the certificates of this test: install it");
    assert!(run.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&run.stderr));
}

/// A private authority `NAME.pem`, and `NAME-host.pem` that it signed for these hosts.
fn authority(folder: &Path, name: &str, hosts: &str) {
    const NEW: &str = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    openssl(folder, &format!("{NEW} -x509 -days 2 -subj /CN={name} -keyout {name}.key -out {name}.pem"));
    openssl(folder, &format!("{NEW} -subj /CN=he -keyout {name}-host.key -out {name}.csr"));
    let about = format!("subjectAltName={hosts}\nbasicConstraints=CA:FALSE\n");
    fs::write(folder.join(format!("{name}.ext")), about).unwrap();
    let files = format!("-in {name}.csr -extfile {name}.ext -out {name}-host.pem");
    openssl(folder, &format!("x509 -req -days 2 -CA {name}.pem -CAkey {name}.key -CAcreateserial {files}"));
}

#[test]
fn https_with_a_private_authority() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    authority(dir.path(), "own", "IP:127.0.0.1,DNS:localhost");
    authority(dir.path(), "other", "DNS:he.example.org");
    fs::write(
        path("both.pem"),
        [fs::read(path("other.pem")).unwrap(), fs::read(path("own.pem")).unwrap()].concat(),
    )
    .unwrap();
    let serve = |name: &str| {
        let (certificate, key) = (path(&format!("{name}-host.pem")), path(&format!("{name}-host.key")));
        Service::with(&["--tls-certificate", &certificate, "--tls-key", &key])
    };
    let (service, foreign) = (serve("own"), serve("other"));
    let (input, here, there) = (photo(dir.path()), dir.path().join("here"), dir.path().join("there"));
    eval(Keys::usual(), &["sharpen"], &input, &here);
    let ask = |url: &str, authority: Option<&str>| {
        let authority = authority.map(path);
        let trusted = authority.iter().flat_map(|file| ["--ca-file", file]);
        let arguments = remote(&["sharpen"], &input, &there, url);
        he(arguments.into_iter().chain(trusted).chain(["--force"])).run()
    };
    for host in ["127.0.0.1", "localhost"] {
        for trusted in ["own.pem", "both.pem"] {
            let outcome = ask(&format!("https://{host}:{}", service.port), Some(trusted));
            assert_eq!(outcome.code, Some(0), "{host}, {trusted}: {}", outcome.stderr);
            assert!(fs::read(&here).unwrap() == fs::read(&there).unwrap());
            fs::remove_file(&there).unwrap();
        }
    }
    // An authority that is not trusted, another host, and no HTTPS at all.
    let (own, foreign) =
        (format!("https://127.0.0.1:{}", service.port), format!("https://127.0.0.1:{}", foreign.port));
    let name = "give the URL with a name that the certificate has";
    for (url, trusted, hint) in [
        (&own, None, "--ca-file FILE"),
        (&own, Some("other.pem"), "--ca-file FILE"),
        (&foreign, Some("both.pem"), name),
    ] {
        let outcome = ask(url, trusted);
        assert_eq!(outcome.code, Some(1), "{trusted:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("certificate"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(hint), "{}", outcome.stderr);
    }
    let plain = Service::start();
    let outcome = ask(&format!("https://127.0.0.1:{}", plain.port), Some("own.pem"));
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("begins with http://"), "{}", outcome.stderr);
    for (file, why) in [("own.key", "holds no certificates"), ("none.pem", "none.pem")] {
        let outcome = ask(&own, Some(file));
        assert!(outcome.code == Some(1) && outcome.stderr.contains(why), "{}", outcome.stderr);
    }
    assert!(!there.exists());
}

/// A service sends the trace that the same computation has here, with its signature, and a trace
/// from it is audited as any other.
#[test]
fn services_send_signed_traces() {
    let dir = folder();
    let at = |args: &[&str]| he(args.iter().copied()).at(dir.path());
    at(&["trace", "keygen", "-o", "signer"]).ok();
    let service = Service::with(&["--trace-key", dir.path().join("signer/signing.pem").to_str().unwrap()]);
    let (url, key) = (service.url(), &Keys::usual().eval);
    photo(dir.path());
    let eval = ["eval", "invert", "x.he", "-k", key];
    at(&[&eval[..], &["-o", "here.he", "--record", "here.trace"]].concat()).ok();
    let there = ["-o", "there.he", "--record", "there.trace", "--signed", "there.signed", "--server", &url];
    at(&[&eval[..], &there].concat()).ok();
    for (here, there) in [("here.he", "there.he"), ("here.trace", "there.trace")] {
        assert!(fs::read(dir.path().join(here)).unwrap() == fs::read(dir.path().join(there)).unwrap());
    }
    let audit = ["audit", "there.trace", "--input", "x.he", "-k", key, "--result", "there.he", "-n", "1"];
    let signed = ["--signed", "there.signed", "--signer", "signer/verifying.pem"];
    at(&[&audit[..], &signed].concat()).ok();
    // Without a key a service signs nothing.
    let silent = Service::start();
    let more = ["-o", "z.he", "--record", "z.trace", "--signed", "z.signed", "--server", &silent.url()];
    let said = at(&[&eval[..], &more].concat()).refuses();
    assert!(said.contains("signs no roots"), "{said}");
    let outcome = at(&[&eval[..], &["-o", "z.he", "--signed", "z.signed"]].concat()).run();
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
}

#[test]
fn transfers_go_on_after_interruptions() {
    let (service, dir) = (Service::start(), folder());
    let (input, output) = (photo(dir.path()), dir.path().join("y.he"));
    let key = fs::metadata(&Keys::usual().eval).unwrap().len() as usize;
    let sent = vec![50_000, key / 2, 30_000, 100_000];
    let line = Line::to(service.port, Cuts { sent, ..Cuts::default() });
    let url = format!("http://127.0.0.1:{}", line.port);
    he(remote(&["sharpen"], &input, &output, &url)).ok();
    let here = dir.path().join("here");
    eval(Keys::usual(), &["sharpen"], &input, &here);
    assert!(fs::read(&here).unwrap() == fs::read(&output).unwrap());
    assert_eq!(*line.cuts.lock().unwrap(), Cuts::default());
    assert!(line.connections.load(Ordering::Relaxed) >= 5);
}

#[test]
fn a_job_whose_answer_is_lost_is_asked_for_once() {
    let (service, dir) = (Service::start(), folder());
    let (input, output) = (photo(dir.path()), dir.path().join("y.he"));
    let answers = vec![&b"POST /v1/jobs "[..]; 2];
    let line = Line::to(service.port, Cuts { answers, ..Cuts::default() });
    let url = format!("http://127.0.0.1:{}", line.port);
    let token = service.token(dir.path());
    let token_file = ["--token-file", token.to_str().unwrap()];
    he(remote(&["invert"], &input, &output, &url).into_iter().chain(token_file)).ok();
    let here = dir.path().join("here");
    eval(Keys::usual(), &["invert"], &input, &here);
    assert!(fs::read(&here).unwrap() == fs::read(&output).unwrap());
    assert_eq!(*line.cuts.lock().unwrap(), Cuts::default());

    let token = fs::read_to_string(&token).unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", service.port)).unwrap();
    let head = "GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer";
    write!(stream, "{head} {}\r\n\r\n", token.trim()).unwrap();
    let mut listed = String::new();
    stream.read_to_string(&mut listed).unwrap();
    assert_eq!(listed.matches("\"key_set\":").count(), 1, "{listed}");
}

#[test]
fn refusals_of_the_service_are_errors_in_its_words() {
    let (service, dir) = (Service::start(), folder());
    let (url, input, output) = (service.url(), photo(dir.path()), dir.path().join("y.he"));
    // A guest's table under an operation for images; a halo that is used up; a wrong token.
    let table = dir.path().join("t.csv");
    fs::write(&table, "x\n1\n2\n").unwrap();
    let encrypted = dir.path().join("t.he");
    encrypt(Keys::usual(), &table, &encrypted, &[]);
    let said = he(remote(&["blur"], &encrypted, &output, &url)).refuses();
    assert!(said.contains("is an encrypted table, and blur is for images"), "{said}");
    let said = he(remote(&["blur", "--radius", "9"], &input, &output, &url)).refuses();
    assert!(said.contains("halo"), "{said}");
    let token = dir.path().join("token");
    fs::write(&token, "nobody-has-this-token\n").unwrap();
    let arguments = remote(&["blur"], &input, &output, &url);
    he(arguments.into_iter().chain(["--token-file", token.to_str().unwrap()])).refuses();
    // Keys of another set.
    let other = ["eval", "blur", "-k", &Keys::other().eval, "-o", output.to_str().unwrap()];
    let said = he(other.into_iter().chain([input.to_str().unwrap(), "--server", &url])).refuses();
    assert!(said.contains("key"), "{said}");
    assert!(!names(dir.path()).contains(&"y.he".to_owned()), "{:?}", names(dir.path()));
}

#[test]
fn the_options_have_a_place_of_their_own_in_help() {
    let help = he(["eval", "blur", "--help"]).text();
    let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("{text}: {help}"));
    let order = ["\nOptions:\n", "--radius ", "\nComputing on a service:\n", "--server ", "--ca-file "];
    assert!(order.map(at).is_sorted(), "{help}");
}

/// A port whose listener counts connections and answers nothing.
fn trap() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
    let count: Arc<AtomicUsize> = Arc::default();
    let seen = Arc::clone(&count);
    std::thread::spawn(move || {
        listener.incoming().for_each(|_| {
            seen.fetch_add(1, Ordering::Relaxed);
        });
    });
    (url, count)
}

#[test]
fn a_secret_opens_no_connection() {
    let (url, connections) = trap();
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let input = photo(dir.path());
    let input = input.to_str().unwrap();
    let sealed = he(["keygen", "ckks", "--depth", "1", "-o", &path("sealed"), "--passphrase"]);
    sealed.env("HE_CLI_PASSPHRASE", "correct horse").ok();
    he(["keygen", "aes", "-o", &path("aes.key")]).ok();
    let sealed = path("sealed/secret.key");
    // A secret key behind a public one.
    let hidden = path("hidden.key");
    fs::write(&hidden, [fs::read(&keys.public).unwrap(), fs::read(&keys.secret).unwrap()].concat()).unwrap();
    let (tfhe, bigckks, aes) = (&Keys::tfhe().secret, &Keys::bigckks().secret, &path("aes.key"));
    for secret in [&keys.secret, tfhe, bigckks, &sealed, aes, &hidden] {
        for (file, key) in [(input, secret.as_str()), (secret.as_str(), keys.eval.as_str())] {
            let said = he(["eval", "blur", file, "-k", key, "-o", &path("y.he"), "--server", &url]).refuses();
            assert!(said.contains(secret.as_str()) && said.contains("key"), "{said}");
        }
        let call = he(["eval", "blur", "-", "-k", &keys.eval, "-o", &path("y.he"), "--server", &url]);
        let said = call.stdin(&fs::read(secret).unwrap()).refuses();
        assert!(said.contains("standard input") && said.contains("key"), "{said}");
    }
    assert_eq!(connections.load(Ordering::Relaxed), 0);
    assert!(!names(dir.path()).contains(&"y.he".to_owned()));
}

#[test]
fn a_wrong_url_or_token_is_wrong_usage() {
    let dir = folder();
    let (input, output) = (photo(dir.path()), dir.path().join("y.he"));
    for (url, why) in [
        ("he.example.org", "it does not begin with https:// or http://"),
        ("ftp://he.example.org", "it does not begin with https:// or http://"),
        ("https://he.example.org/?a=b", "it has a query"),
        ("https://me:secret@he.example.org", "holds a name or a password"),
    ] {
        let outcome = he(remote(&["blur"], &input, &output, url)).run();
        assert_eq!(outcome.code, Some(2), "{url}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(why), "{url}: {}", outcome.stderr);
    }
    let token = dir.path().join("token");
    fs::write(&token, "two words\n").unwrap();
    let arguments = remote(&["blur"], &input, &output, "http://127.0.0.1:9");
    let said = he(arguments.into_iter().chain(["--token-file", token.to_str().unwrap()])).refuses();
    assert!(said.ends_with("token does not hold a token"), "{said}");
    // Without a service, these options mean nothing.
    let arguments = ["eval", "blur", "x", "-k", "y", "-o", "z", "--token-file", "t"];
    assert_eq!(he(arguments).run().code, Some(2));
}

/// Answers requests in turn with these bytes, and repeats the last; closes every connection.
fn liar(answers: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
    std::thread::spawn(move || {
        let mut answers = answers.into_iter().peekable();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            read_request(&mut stream);
            let next = answers.next().unwrap();
            if answers.peek().is_none() {
                answers = vec![next.clone()].into_iter().peekable();
            }
            let _ = stream.write_all(next.as_bytes());
        }
    });
    url
}

/// Reads a request with its body, so that closing the connection afterwards does not reset it.
fn read_request(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let (mut seen, mut buffer) = (Vec::new(), [0; 1 << 14]);
    loop {
        if let Some(end) = seen.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&seen[..end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if seen.len() >= end + 4 + length.unwrap_or(0) {
                return;
            }
        }
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => seen.extend(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}

fn answer(head: &str, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

#[test]
fn servers_that_lie_are_errors() {
    let dir = folder();
    let input = dir.path().join("t.he");
    fs::write(dir.path().join("t.csv"), "x\n1\n2\n").unwrap();
    encrypt(Keys::usual(), &dir.path().join("t.csv"), &input, &[]);
    let output = dir.path().join("y.he");
    let length = fs::metadata(&input).unwrap().len();
    let created = answer("201 Created\r\nLocation: /v1/objects/abc", "");
    let taken = answer(&format!("204 No Content\r\nUpload-Offset: {length}"), "");
    // The key goes up in pieces, and the last answer to them is for all of it.
    let done = |job: &str| {
        let whole = fs::metadata(&Keys::usual().eval).unwrap().len();
        let mut answers = vec![created.clone(), taken.clone(), created.clone()];
        answers.push(answer(&format!("204 No Content\r\nUpload-Offset: {whole}"), ""));
        answers.push(answer("202 Accepted", job));
        answers
    };
    let cases = [
        (vec![answer("200 OK", "<html>hello</html>")], "without a place"),
        (vec![answer("404 Not Found", "<html>nothing</html>")], "answered 404"),
        (vec![answer("308 Permanent Redirect\r\nLocation: https://elsewhere/", "")], "answered 308"),
        (vec![answer("201 Created\r\nLocation: /v1/objects/a%2F..%2Fb", "")], "without a place"),
        (
            vec![created.clone(), answer("204 No Content\r\nUpload-Offset: 99999999999", "")],
            "without a place",
        ),
        (
            vec![answer(
                "422 Unprocessable Entity\r\nContent-Type: application/problem+json",
                "{\"title\":\"bad\",\"detail\":\"not so\\u001b[2J\\nfast\",\"hint\":\"slow down\"}",
            )],
            "not so",
        ),
        (vec!["SSH-2.0-OpenSSH\r\n".to_owned()], "does not answer"),
    ];
    for (answers, found) in cases.into_iter().chain([
        (done("{\"id\":\"../x\",\"state\":\"done\",\"result\":\"r\"}"), "a job without an id"),
        (done("{\"id\":\"j\",\"state\":\"done\",\"result\":\"r/../s\"}"), "a job without a result"),
        (done("{\"id\":\"j\",\"state\":\"asleep\"}"), "in a state that is not known"),
        (done("[]"), "a job without an id"),
        (done("{"), "other than JSON"),
    ]) {
        let url = liar(answers);
        let arguments = remote(&["mean"], &input, &output, &url);
        let outcome = he(&arguments).env("HE_TOKEN", "token").run();
        assert_eq!(outcome.code, Some(1), "{found}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(found), "{found}: {}", outcome.stderr);
        assert!(!outcome.stderr.contains('\u{1b}'), "{found}");
        assert!(!output.exists());
    }
}

#[test]
fn nobody_there_is_an_error_at_once() {
    let dir = folder();
    let (input, output) = (photo(dir.path()), dir.path().join("y.he"));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    let said = he(remote(&["blur"], &input, &output, &url)).refuses();
    assert!(said.starts_with(&format!("{url} does not answer")), "{said}");
    assert!(!output.exists());
}
