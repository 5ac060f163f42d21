//! The service of `he-cli serve` as seen from here: uploads that resume, jobs, downloads.
//!
//! Files go up by tus 1.0 in pieces. After an interruption the service is asked how far it got, and
//! the upload goes on from there; downloads go on likewise. Requests that fail in passing (no
//! answer, a busy service) are tried again for about half a minute. A secret key is refused before
//! a connection is opened.

mod lookup;
mod search;

pub use search::RemoteIndex;

use crate::args::ServerFlags;
use crate::error::{CliError, IoContext, Result, one_line, warn};
use crate::progress::Progress;
use crate::trust::Trust;
use he_files::io::input::Input;
use he_files::io::output::Output;
use he_files::listing::{Checksum, Listed, Listing};
use he_files::scan::{Scan, Scanned};
use he_files::scheme::engine::rng;
use he_files::trace::{MAX_BYTES, SignedRoot};
use rand::Rng;
use serde_json::{Value, json};
use std::cell::Cell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;
use ureq::http::{Response, header};
use ureq::tls::{PemItem, parse_pem};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{ConnectProxyConnector, Connector, TcpConnector};
use ureq::{Agent, Body};
use zeroize::Zeroizing;

/// The variable that may hold the token.
pub const VARIABLE: &str = "HE_TOKEN";

/// The bytes of one request of an upload.
const PIECE: u64 = 4 << 20;

/// The longest description or error that is read, in bytes.
const LONGEST: u64 = 4 << 20;

/// The waits between attempts that make no progress, in milliseconds.
const WAITS: [u64; 7] = [250, 500, 1000, 2000, 4000, 8000, 16_000];

/// The longest wait between two questions for the state of a job.
const PATIENCE: Duration = Duration::from_secs(1);

const TUS: (&str, &str) = ("Tus-Resumable", "1.0.0");

/// A service, and who asks.
pub struct Remote {
    agent: Agent,
    base: String,
    /// Whether the certificates of a file are trusted, and no others.
    has_file: bool,
    /// The header `Authorization`.
    authorization: Zeroizing<String>,
    /// Whether the service has answered: before that, nothing is tried again.
    has_answered: Cell<bool>,
}

/// A file on its way: its name in errors, and its bytes.
pub struct Upload {
    name: String,
    file: File,
    length: u64,
}

/// The result of a computation there.
pub struct Done {
    /// The description of the result, as `he-cli info --json` prints it.
    pub info: Value,
    /// The bytes that were sent.
    pub sent: u64,
    /// The bytes of the result.
    pub received: u64,
    /// The trace of the computation, if it was asked for.
    pub proof: Option<Proof>,
}

/// The trace of a job, as the service sends it, beside the result that came.
pub struct Proof {
    /// The trace.
    pub trace: Vec<u8>,
    /// The root that the job has.
    pub root: String,
    /// The same root with the signature of the service, if it signs.
    pub signed: Option<SignedRoot>,
    /// The checksums of the frames of the result.
    pub frames: Vec<Checksum>,
}

/// A failed request.
enum Failure {
    /// The same request may succeed later, after this wait if the service names one.
    Passing(CliError, Option<Duration>),
    /// It will fail again; the status, or 0.
    Lasting(CliError, u16),
}

impl From<Failure> for CliError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Passing(error, _) | Failure::Lasting(error, _) => error,
        }
    }
}

/// An error that does not go away by trying again.
impl From<CliError> for Failure {
    fn from(error: CliError) -> Self {
        Self::Lasting(error, 0)
    }
}

type Attempt<T> = std::result::Result<T, Failure>;

/// Checks the URL of a service, and strips the slash at its end.
fn base(url: &str) -> Result<String> {
    let bad = |why: &str| {
        CliError::usage(format!("{url} is not the URL of a service: {why}"))
            .hint("give one like https://he.example.org or http://127.0.0.1:8750")
    };
    if url.contains('@') {
        return Err(CliError::usage("the URL of the service holds a name or a password")
            .hint("give the token with --token-file FILE"));
    }
    let uri: ureq::http::Uri = url.parse().map_err(|_| bad("it cannot be read"))?;
    let host = uri.host().ok_or_else(|| bad("it names no host"))?;
    if uri.query().is_some() {
        return Err(bad("it has a query"));
    }
    match uri.scheme_str() {
        Some("https") => {}
        Some("http") => {
            let local = ["localhost", "127.0.0.1", "[::1]"].contains(&host);
            if !local {
                warn(
                    &format!("{url} is not encrypted: others on the way can read the token"),
                    "use https, or a tunnel to the machine",
                );
            }
        }
        _ => return Err(bad("it does not begin with https:// or http://")),
    }
    Ok(url.trim_end_matches('/').to_owned())
}

/// The token: of the file, or of the variable.
fn token(flags: &ServerFlags) -> Result<Option<Zeroizing<String>>> {
    let text = match &flags.token_file {
        Some(path) => {
            let mut text = Zeroizing::new(String::new());
            File::open(path).at(path)?.take(1 << 12).read_to_string(&mut text).at(path)?;
            text
        }
        None => match std::env::var(VARIABLE) {
            Ok(text) => Zeroizing::new(text),
            Err(_) => return Ok(None),
        },
    };
    let line = text.lines().next().unwrap_or_default().trim();
    if line.is_empty() || !line.bytes().all(|byte| byte.is_ascii_graphic()) {
        let place = flags.token_file.as_ref().map_or(VARIABLE.to_owned(), |path| path.display().to_string());
        return Err(CliError::new(format!("{place} does not hold a token"))
            .hint("put the line there that he-cli serve token add printed"));
    }
    Ok(Some(Zeroizing::new(line.to_owned())))
}

/// The certificates of a file.
fn trust(path: &Path) -> Result<Trust> {
    let mut text = Vec::new();
    File::open(path).at(path)?.take(LONGEST).read_to_end(&mut text).at(path)?;
    let mut found = Vec::new();
    for item in parse_pem(&text) {
        if let Ok(PemItem::Certificate(certificate)) = item {
            found.push(certificate.der().to_vec().into());
        }
    }
    if found.is_empty() {
        return Err(CliError::new(format!("{} holds no certificates", path.display()))
            .hint("give certificates in PEM: -----BEGIN CERTIFICATE-----"));
    }
    Trust::new(found, path)
}

impl Remote {
    /// Gets ready to ask a service. A guest's session begins here.
    ///
    /// # Errors
    /// The URL, the token or the authorities are not such; the service does not answer or takes no
    /// guests.
    pub fn open(url: &str, flags: &ServerFlags) -> Result<Self> {
        let base = base(url)?;
        let token = token(flags)?;
        let trust = flags.ca_file.as_deref().map(trust).transpose()?;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("he-cli/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(Duration::from_secs(15)))
            .timeout_send_body(Some(Duration::from_secs(600)))
            .timeout_recv_response(Some(Duration::from_secs(120)))
            .build();
        let (has_file, agent) = match trust {
            Some(trust) => {
                let chain = ConnectProxyConnector::default().chain(TcpConnector::default()).chain(trust);
                (true, Agent::with_parts(config, chain, DefaultResolver::default()))
            }
            None => (false, config.into()),
        };
        let has_answered = Cell::new(false);
        let mut remote = Self { agent, base, has_file, authorization: Zeroizing::default(), has_answered };
        let token = match token {
            Some(token) => token,
            None => remote.guest()?,
        };
        remote.authorization = Zeroizing::new(format!("Bearer {}", *token));
        Ok(remote)
    }

    /// A session without a token.
    fn guest(&self) -> Result<Zeroizing<String>> {
        let session = self.persist(|_| self.json(self.ask("POST", "/v1/sessions", &[], Some(&[]))));
        match session {
            Ok(session) => match session["token"].as_str() {
                Some(token) => Ok(Zeroizing::new(token.to_owned())),
                None => Err(self.nonsense("a session without a token")),
            },
            Err(Failure::Lasting(error, 401 | 403 | 404 | 405)) => {
                let what = format!("{} takes no guests: {}", self.base, error.message());
                Err(CliError::new(what)
                    .hint(format!("give a token with --token-file FILE, or set {VARIABLE}")))
            }
            Err(failure) => Err(failure.into()),
        }
    }

    fn nonsense(&self, what: &str) -> CliError {
        CliError::new(format!("{} answered {what}", self.base))
            .hint("check that the URL is that of he-cli serve, of the same version")
    }

    /// One request. Answers other than success are errors.
    fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Attempt<Response<Body>> {
        let mut request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if !self.authorization.is_empty() {
            request = request.header(header::AUTHORIZATION, &**self.authorization);
        }
        let built = |_| CliError::usage(format!("{} is not the URL of a service", self.base));
        let answer = match body {
            Some(body) => self.agent.run(request.body(body).map_err(built)?),
            None => self.agent.run(request.body(()).map_err(built)?),
        };
        let mut answer = answer.map_err(|error| self.silent(&error))?;
        self.has_answered.set(true);
        if answer.status().is_success() {
            return Ok(answer);
        }
        Err(self.problem(&mut answer))
    }

    /// No answer.
    fn silent(&self, error: &ureq::Error) -> Failure {
        let what = format!("{} does not answer: {error}", self.base);
        // Errors that TLS finds at the start come as invalid data.
        let of_tls = match error {
            ureq::Error::Tls(_) | ureq::Error::Rustls(_) | ureq::Error::Pem(_) => true,
            ureq::Error::Io(error) => {
                error.kind() == std::io::ErrorKind::InvalidData && !self.has_answered.get()
            }
            _ => false,
        };
        match error {
            _ if of_tls && what.contains("certificate") => {
                let (what, hint) = self.distrust(what);
                Failure::Lasting(CliError::new(what).hint(hint), 0)
            }
            _ if of_tls => Failure::Lasting(
                CliError::new(what)
                    .hint("check that it speaks HTTPS; without it, its URL begins with http://"),
                0,
            ),
            ureq::Error::BadUri(_) | ureq::Error::Http(_) => Failure::Lasting(CliError::usage(what), 0),
            _ => Failure::Passing(
                CliError::new(what).hint("check the URL, the network and that he-cli serve is running"),
                None,
            ),
        }
    }

    /// The words for a certificate that is refused, and what to do.
    fn distrust(&self, what: String) -> (String, &'static str) {
        // An authority that nobody has signed is refused as one, whoever it is.
        if what.contains("UnknownIssuer") || what.contains("CaUsedAsEndEntity") {
            let (known, hint) = match self.has_file {
                true => (
                    "none in the file is it or has signed it",
                    "give the authority that signed it, or this very certificate, with --ca-file FILE",
                ),
                false => (
                    "no authority that is known here has signed it",
                    "give the authority that signed it, or this very certificate, with --ca-file FILE, if you \
                     trust it",
                ),
            };
            return (format!("the certificate of {} is not trusted: {known}", self.base), hint);
        }
        let hint = if what.contains("not valid for name") || what.contains("NotValidForName") {
            "give the URL with a name that the certificate has, or give the service one with this name: \
             openssl req -x509 -addext subjectAltName=DNS:NAME,IP:ADDRESS"
        } else if what.contains("xpired") || what.contains("not valid yet") || what.contains("NotValidYet") {
            "give the service a new certificate, or set the clock of this machine"
        } else {
            "give the authority that signed it, or this very certificate, with --ca-file FILE"
        };
        (what, hint)
    }

    /// The error that an answer describes (RFC 9457).
    fn problem(&self, answer: &mut Response<Body>) -> Failure {
        let status = answer.status();
        let wait =
            answer.headers().get(header::RETRY_AFTER).and_then(|wait| wait.to_str().ok()?.parse().ok());
        let text = answer.body_mut().with_config().limit(LONGEST).read_to_vec().unwrap_or_default();
        let problem: Value = serde_json::from_slice(&text).unwrap_or_default();
        let said = problem["detail"].as_str().or(problem["title"].as_str());
        let what = said.map_or_else(|| format!("{} answered {status}", self.base), one_line);
        let hint = problem["hint"].as_str().map(one_line).or_else(|| {
            Some(match status.as_u16() {
                401 | 403 => format!("give a valid token with --token-file FILE, or set {VARIABLE}"),
                413 => "send a smaller file, or ask whoever runs the service for a larger limit".to_owned(),
                507 => "delete what is no longer needed, or ask for a larger quota".to_owned(),
                300..=399 => "give the URL to which the service redirects".to_owned(),
                _ => return None,
            })
        });
        let error = CliError::new(what);
        let error = hint.into_iter().fold(error, CliError::hint);
        match status.as_u16() {
            408 | 423 | 429 | 500 | 502 | 503 | 504 => {
                Failure::Passing(error, wait.map(|wait: u64| Duration::from_secs(wait.min(60))))
            }
            status => Failure::Lasting(error, status),
        }
    }

    /// An answer in JSON.
    fn json(&self, answer: Attempt<Response<Body>>) -> Attempt<Value> {
        let text = answer?.body_mut().with_config().limit(LONGEST).read_to_vec();
        let text = text.map_err(|error| self.silent(&error))?;
        serde_json::from_slice(&text).map_err(|_| self.nonsense("something other than JSON").into())
    }

    /// Repeats what fails in passing, until `WAITS.len()` attempts in a row got nowhere. `attempt`
    /// sets its argument when it got ahead.
    fn persist<T>(&self, mut attempt: impl FnMut(&mut bool) -> Attempt<T>) -> Attempt<T> {
        let mut waits = WAITS.iter();
        loop {
            let mut got_ahead = false;
            let (error, wait) = match attempt(&mut got_ahead) {
                Err(Failure::Passing(error, wait)) if self.has_answered.get() => (error, wait),
                other => return other,
            };
            if got_ahead {
                waits = WAITS.iter();
            }
            let Some(&next) = waits.next() else { return Err(error.into()) };
            sleep(wait.unwrap_or(Duration::from_millis(next)));
        }
    }

    /// Uploads a file to a collection and returns its id there.
    fn upload(&self, collection: &str, upload: &mut Upload) -> Result<String> {
        let length = upload.length.to_string();
        let created = self.persist(|_| {
            self.ask("POST", &format!("/v1/{collection}"), &[TUS, ("Upload-Length", &length)], Some(&[]))
        })?;
        let location = created.headers().get(header::LOCATION).and_then(|location| location.to_str().ok());
        let id = location.and_then(|location| location.trim_end_matches('/').rsplit('/').next());
        let id = id.filter(|id| is_id(id)).ok_or_else(|| self.nonsense("an upload without a place"))?;
        let path = format!("/v1/{collection}/{id}");
        let sent = self.persist_upload(&path, upload);
        if let Err(failure) = sent {
            self.remove(&path);
            return Err(CliError::from(failure).prefixed(&upload.name));
        }
        Ok(id.to_owned())
    }

    fn persist_upload(&self, path: &str, upload: &mut Upload) -> Attempt<()> {
        let progress = Progress::new("uploading", upload.length);
        let (mut offset, mut is_sure) = (0, true);
        let mut piece = Vec::new();
        self.persist(|got_ahead| {
            if !is_sure {
                let head = self.ask("HEAD", path, &[TUS], None)?;
                offset = self.offset(&head, upload.length)?;
                is_sure = true;
            }
            while offset < upload.length {
                piece.clear();
                upload.file.seek(SeekFrom::Start(offset)).at(&upload.name)?;
                let wanted = PIECE.min(upload.length - offset);
                (&mut upload.file).take(wanted).read_to_end(&mut piece).at(&upload.name)?;
                if piece.len() as u64 != wanted {
                    return Err(CliError::new("the file became shorter while it was sent").into());
                }
                let at = offset.to_string();
                let headers = [
                    TUS,
                    ("Content-Type", "application/offset+octet-stream"),
                    ("Upload-Offset", at.as_str()),
                ];
                is_sure = false;
                let answer =
                    self.ask("PATCH", path, &headers, Some(&piece)).map_err(|failure| match failure {
                        // The service is at another byte than we thought: ask it, at once.
                        Failure::Lasting(error, 409) => Failure::Passing(error, Some(Duration::ZERO)),
                        other => other,
                    })?;
                let next = self.offset(&answer, upload.length)?;
                progress.inc(next.saturating_sub(offset));
                (offset, is_sure, *got_ahead) = (next, true, true);
            }
            Ok(())
        })
    }

    /// The bytes that the service got.
    fn offset(&self, answer: &Response<Body>, length: u64) -> Attempt<u64> {
        let offset =
            answer.headers().get("Upload-Offset").and_then(|value| value.to_str().ok()?.parse().ok());
        let offset = offset.filter(|&offset: &u64| offset <= length);
        offset.ok_or_else(|| self.nonsense("an upload without a place").into())
    }

    /// Waits until a job is done, and returns it with the id of its result.
    fn wait(&self, mut job: Value) -> Result<(Value, String)> {
        let id = job["id"].as_str().filter(|id| is_id(id));
        let path = format!("/v1/jobs/{}", id.ok_or_else(|| self.nonsense("a job without an id"))?);
        let mut shown: Option<(Progress, u64)> = None;
        let mut pause = Duration::from_millis(20);
        loop {
            match job["state"].as_str() {
                Some("done") => {
                    let result = job["result"].as_str().filter(|id| is_id(id));
                    let result = result.ok_or_else(|| self.nonsense("a job without a result"))?.to_owned();
                    return Ok((job, result));
                }
                Some("failed" | "cancelled") => {
                    let problem = &job["error"];
                    let said = problem["detail"].as_str().or(problem["title"].as_str());
                    let error = CliError::new(one_line(said.unwrap_or("the job was cancelled")));
                    let hint = problem["hint"].as_str().map(one_line);
                    return Err(hint.into_iter().fold(error, CliError::hint));
                }
                Some("queued" | "running") => {}
                _ => return Err(self.nonsense("a job in a state that is not known here")),
            }
            let (done, of) = (job["progress"]["done"].as_u64(), job["progress"]["of"].as_u64());
            if let (Some(done), Some(of)) = (done, of) {
                let (progress, before) = shown.get_or_insert_with(|| (Progress::new("computing", of), 0));
                progress.inc(done.saturating_sub(*before));
                *before = done.max(*before);
            }
            sleep(pause);
            pause = (pause * 3 / 2).min(PATIENCE);
            job = self.persist(|_| self.json(self.ask("GET", &path, &[], None)))?;
        }
    }

    /// The trace of a job that is done, with the frames of its result.
    fn proof(&self, job: &Value, frames: Vec<Checksum>) -> Result<Proof> {
        let id = job["id"].as_str().filter(|id| is_id(id));
        let id = id.ok_or_else(|| self.nonsense("a job without an id"))?;
        let root = job["root"].as_str().ok_or_else(|| self.nonsense("a result without a trace"))?;
        let signed = match &job["signed"] {
            Value::Null => None,
            signed => {
                let signed = serde_json::from_value(signed.clone());
                Some(signed.map_err(|_| self.nonsense("a root without a signature"))?)
            }
        };
        let trace = self.persist(|_| {
            let mut answer = self.ask("GET", &format!("/v1/jobs/{id}/trace"), &[], None)?;
            let text = answer.body_mut().with_config().limit(MAX_BYTES).read_to_vec();
            text.map_err(|error| self.silent(&error))
        })?;
        Ok(Proof { trace, root: root.to_owned(), signed, frames })
    }

    /// Downloads a result, whose frames are listed on the way.
    fn download(&self, id: &str, output: &mut Output, listing: &Listing) -> Result<()> {
        let path = format!("/v1/objects/{id}/content");
        let mut progress: Option<Progress> = None;
        let mut buffer = vec![0; 1 << 18];
        self.persist(|got_ahead| {
            let got = output.bytes();
            let range = format!("bytes={got}-");
            let headers: &[(&str, &str)] = if got > 0 { &[("Range", &range)] } else { &[] };
            let answer = self.ask("GET", &path, headers, None)?;
            if got > 0 && answer.status().as_u16() != 206 {
                return Err(self.nonsense("the whole file in place of its rest").into());
            }
            let length = answer.body().content_length();
            let progress = progress.get_or_insert_with(|| Progress::new("downloading", length.unwrap_or(0)));
            let mut reader = answer.into_body().into_reader();
            loop {
                let count = match reader.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => count,
                    Err(error) => {
                        let error =
                            CliError::new(format!("the connection to {} broke off: {error}", self.base));
                        return Err(Failure::Passing(
                            error.hint("check the network, and run it again"),
                            None,
                        ));
                    }
                };
                let name = output.name().to_owned();
                Listed::new(&mut *output, listing.clone()).write_all(&buffer[..count]).writing(name)?;
                progress.inc(count as u64);
                *got_ahead = true;
            }
            match length {
                Some(length) if output.bytes() - got < length => {
                    let error = CliError::new(format!("{} ended the download early", self.base));
                    Err(Failure::Passing(error.hint("run it again"), None))
                }
                _ => Ok(()),
            }
        })?;
        Ok(())
    }

    /// Deletes something that is no longer needed, if it can: otherwise it expires.
    fn remove(&self, path: &str) {
        let _ = self.ask("DELETE", path, &[TUS], None);
    }

    /// The model of this name there, or the only one: its name, and what the service says of it.
    ///
    /// # Errors
    /// There is no such model, or several to choose from.
    pub fn model(&self, name: Option<&str>) -> Result<(String, Value)> {
        let answer = self.persist(|_| self.json(self.ask("GET", "/v1/models", &[], None)))?;
        let models = answer["models"].as_array().ok_or_else(|| self.nonsense("models without a list"))?;
        let named = |model: &Value| Some((model["name"].as_str()?.to_owned(), model.clone()));
        let mut models: Vec<(String, Value)> = models.iter().filter_map(named).collect();
        let names: Vec<String> = models.iter().map(|(name, _)| one_line(name)).collect();
        let known = match names.is_empty() {
            true => "ask its operator to start it with --models".to_owned(),
            false => format!("choose one with --model: {}", names.join(", ")),
        };
        let place = match name {
            Some(name) => models.iter().position(|(known, _)| known == name),
            None if models.len() == 1 => Some(0),
            None => None,
        };
        let what = match name {
            Some(name) => format!("{} has no model {}", self.base, one_line(name)),
            None => format!("{} has {} models", self.base, models.len()),
        };
        let place = place.ok_or_else(|| CliError::new(what).hint(known))?;
        Ok(models.swap_remove(place))
    }

    /// Computes `operation` on files there, and writes the result. Models with refreshes need the
    /// bootstrapping key. The trace comes with it if it is asked for.
    ///
    /// # Errors
    /// The service does not answer or refuses something, in its own words; the result cannot be
    /// written.
    pub fn evaluate(
        &self,
        operation: &Value,
        inputs: &mut [Upload],
        key: &mut Upload,
        mut bootstrap: Option<&mut Upload>,
        output: Output,
        traced: bool,
    ) -> Result<Done> {
        let mut left: Vec<String> = Vec::new();
        let mut prepare = || -> Result<Value> {
            let mut names = Vec::new();
            for input in inputs.iter_mut() {
                let id = self.upload("objects", input)?;
                left.push(format!("/v1/objects/{id}"));
                names.push(id);
            }
            let key_set = self.upload("key-sets", key)?;
            left.push(format!("/v1/key-sets/{key_set}"));
            let mut request = json!({ "operation": operation, "inputs": names, "key_set": key_set });
            if let Some(key) = bootstrap.as_deref_mut() {
                let id = self.upload("key-sets", key)?;
                left.push(format!("/v1/key-sets/{id}"));
                request["bootstrap_key"] = json!(id);
            }
            Ok(request)
        };
        let request = prepare();
        let keys = key.length + bootstrap.map_or(0, |key| key.length);
        let sent = inputs.iter().map(|input| input.length).sum::<u64>() + keys;
        self.computed(request, left, output, traced).map(|done| Done { sent, ..done })
    }

    /// Asks for a job, and writes its result. Everything that is `left` there is removed then.
    fn computed(
        &self,
        request: Result<Value>,
        mut left: Vec<String>,
        mut output: Output,
        traced: bool,
    ) -> Result<Done> {
        let compute = || -> Result<(Value, Option<Proof>)> {
            let request = serde_json::to_vec(&request?).unwrap_or_default();
            let mut random = rng()?;
            // By its key, the service knows a request again whose answer was lost.
            let name = format!("{:016x}{:016x}", random.next_u64(), random.next_u64());
            let headers = [("Content-Type", "application/json"), ("Idempotency-Key", &*name)];
            let job = self.persist(|_| self.json(self.ask("POST", "/v1/jobs", &headers, Some(&request))))?;
            let (job, result) = self.wait(job)?;
            let path = format!("/v1/objects/{result}");
            left.push(path.clone());
            let described = self.persist(|_| self.json(self.ask("GET", &path, &[], None)))?;
            let listing = Listing::default();
            self.download(&result, &mut output, &listing)?;
            let proof = traced.then(|| self.proof(&job, listing.checksums())).transpose()?;
            Ok((described["info"].clone(), proof))
        };
        let computed = compute();
        left.iter().for_each(|path| self.remove(path));
        let (info, proof) = computed?;
        let received = output.bytes();
        output.commit()?;
        Ok(Done { info, sent: 0, received, proof })
    }
}

impl Upload {
    /// Opens a file to be sent, if it is one that a service takes: a secret key is not. Standard
    /// input goes to a file without a name first, because an upload begins with its length.
    ///
    /// # Errors
    /// The file cannot be read; it is another file, or damaged.
    pub fn open(path: &Path, scanned: Scanned) -> Result<Self> {
        let mut input = Input::open(path)?;
        let name = input.name().to_owned();
        let mut file = match input.known_len() {
            Some(_) => File::open(path).at(path)?,
            None => {
                let mut file = tempfile::tempfile().writing("a temporary file")?;
                std::io::copy(&mut input, &mut file).at(&name)?;
                file
            }
        };
        let length = file.seek(SeekFrom::End(0)).at(&name)?;
        let mut upload = Self { name, file, length };
        upload.check(scanned)?;
        Ok(upload)
    }

    /// Looks at the beginning and at the headers of all frames, as the service will.
    fn check(&mut self, scanned: Scanned) -> Result<()> {
        let mut scan = Scan::new(&self.name, scanned);
        let (mut at, mut buffer) = (0, vec![0; 1 << 14]);
        while at < self.length {
            let over = scan.indifferent().min(self.length - at);
            if over > 0 {
                scan.pass_over(over);
                at += over;
                continue;
            }
            self.file.seek(SeekFrom::Start(at)).at(&self.name)?;
            let count = self.file.read(&mut buffer).at(&self.name)?;
            if count == 0 {
                break;
            }
            scan.push(&buffer[..count], |_| {})?;
            at += count as u64;
        }
        Ok(scan.end()?)
    }
}

/// Whether this is an id as the service makes them, which can stand in a path.
fn is_id(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
}
