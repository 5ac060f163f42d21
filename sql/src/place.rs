//! Places of keys and tables: files, and objects of stores by their URL.
//!
//! Whether a scheme is known and built in, and whether plain HTTP is allowed, is decided here for
//! both. Keys are read as a stream ([`open`]), so that memory is bounded by what their parameters
//! allow and not by what a server sends; tables by the engine, through [`runtime`].

use crate::error::{Error, Result};
use datafusion::common::Result as EngineResult;
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use futures::StreamExt;
use he_files::io::input::Input;
use object_store::{ObjectStore, ObjectStoreExt};
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use url::Url;

/// Pieces of an object that wait to be read.
const WAITING: usize = 4;
/// The most characters of a server's message that are repeated.
const SAID: usize = 200;

/// The place of a file.
#[derive(Clone, Debug)]
enum Place {
    File(PathBuf),
    Object(Url),
}

impl Place {
    fn of(text: &str) -> Result<Self> {
        if !text.contains("://") {
            return Ok(Self::File(PathBuf::from(text)));
        }
        let url = match Url::parse(text) {
            Ok(url) => url,
            Err(error) => {
                let (scheme, _) = text.split_once("://").unwrap_or_default();
                return Err(wrong(format!("{scheme}://..."), format!("not a URL ({error})")));
            }
        };
        if url.scheme() == "file" {
            let path = url.to_file_path();
            return path.map(Self::File).map_err(|()| {
                wrong(&url, "a file URL has no host and an absolute path: file:///data/eval.key")
            });
        }
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            // No error repeats a password or a signature.
            let mut shown = url;
            let _ = (shown.set_username(""), shown.set_password(None));
            shown.set_query(None);
            return Err(wrong(
                shown,
                "credentials and query strings would travel with the plan; give the URL without them, and \
                 credentials of s3:// in the environment",
            ));
        }
        if url.scheme().starts_with("http") && url.path().ends_with('/') {
            return Err(wrong(url, "servers do not list folders; name a file, or a folder of s3://"));
        }
        Ok(Self::Object(url))
    }
}

fn wrong(url: impl ToString, why: impl Into<String>) -> Error {
    Error::Place { url: url.to_string(), why: why.into() }
}

/// The place for processes with other working directories: a path becomes absolute.
///
/// # Errors
/// A URL that cannot be used; there is no working directory.
pub fn absolute(place: &str) -> Result<String> {
    match Place::of(place)? {
        Place::Object(_) => Ok(place.to_owned()),
        Place::File(path) if path.as_os_str().is_empty() => {
            Err(wrong("an empty path", "give a path or a URL"))
        }
        Place::File(path) => Ok(std::path::absolute(path)?.to_string_lossy().into_owned()),
    }
}

/// Opens a path or URL, to be read once from its beginning to its end. Errors that a server makes
/// come when it is read.
///
/// # Errors
/// There is no such file; a URL that cannot be used, or whose feature is not built in.
pub fn open(place: &str) -> Result<Input> {
    match Place::of(place)? {
        Place::File(path) => Ok(Input::open(path)?),
        Place::Object(url) => {
            let path = object_store::path::Path::from_url_path(url.path());
            let path = path.map_err(|error| wrong(&url, error.to_string()))?;
            let store = store(&url)?;
            let (sender, pieces) = sync_channel(WAITING);
            // Functions are called on threads of a runtime, which must not wait for its tasks.
            std::thread::Builder::new().name("download".to_owned()).spawn(move || {
                if let Err(error) = download(&*store, &path, &sender) {
                    // It goes nowhere if nobody reads any more.
                    let _ = sender.send(Err(error));
                }
            })?;
            Ok(Input::from_reader(url, Download { pieces, piece: Cursor::default() }))
        }
    }
}

fn download(
    store: &dyn ObjectStore,
    path: &object_store::path::Path,
    pieces: &SyncSender<io::Result<Vec<u8>>>,
) -> io::Result<()> {
    let failed = |error: object_store::Error| io::Error::other(said(&error));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut stream = store.get(path).await.map_err(failed)?.into_stream();
        while let Some(piece) = stream.next().await {
            if pieces.send(Ok(piece.map_err(failed)?.to_vec())).is_err() {
                break;
            }
        }
        Ok(())
    })
}

/// An object whose pieces arrive from another thread.
struct Download {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Cursor<Vec<u8>>,
}

impl Read for Download {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.piece.read(out)?;
            if count > 0 || out.is_empty() {
                return Ok(count);
            }
            match self.pieces.recv() {
                Ok(piece) => self.piece = Cursor::new(piece?),
                Err(_) => return Ok(0),
            }
        }
    }
}

/// The cause of a store's error, in one short line of printable characters.
pub fn said(error: &object_store::Error) -> String {
    if let object_store::Error::NotFound { .. } = error {
        return "there is nothing at this URL (404)".to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let text = cause.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.chars().filter(|letter| !letter.is_control()).take(SAID).collect()
}

/// The environment of the engine: stores of any URL, and the folder for data beyond the memory.
///
/// # Errors
/// The folder cannot be used.
pub fn runtime(spill: Option<&Path>) -> EngineResult<Arc<RuntimeEnv>> {
    let builder = RuntimeEnvBuilder::new().with_object_store_registry(Arc::<Stores>::default());
    match spill {
        Some(folder) => builder.with_temp_file_path(folder),
        None => builder,
    }
    .build_arc()
}

/// Stores that are opened when they are first asked for.
#[derive(Debug, Default)]
struct Stores(DefaultObjectStoreRegistry);

impl ObjectStoreRegistry for Stores {
    fn register_store(&self, url: &Url, store: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        self.0.register_store(url, store)
    }

    fn deregister_store(&self, url: &Url) -> EngineResult<Arc<dyn ObjectStore>> {
        self.0.deregister_store(url)
    }

    fn get_store(&self, url: &Url) -> EngineResult<Arc<dyn ObjectStore>> {
        if let Ok(found) = self.0.get_store(url) {
            return Ok(found);
        }
        let opened = store(url)?;
        self.0.register_store(url, Arc::clone(&opened));
        Ok(opened)
    }
}

/// The store of a URL.
fn store(url: &Url) -> Result<Arc<dyn ObjectStore>> {
    match url.scheme() {
        "http" | "https" => http(url),
        "s3" | "s3a" => s3(url),
        other => Err(wrong(url, format!("{other}:// is not known; give a path, file://, https:// or s3://"))),
    }
}

#[cfg(not(all(feature = "http", feature = "aws")))]
fn not_built(url: &Url, feature: &str) -> Error {
    let scheme = url.scheme();
    wrong(
        url,
        format!(
            "this program was built without the feature {feature}, which reads {scheme}://; build it by \
             cargo install --path sql --features {feature}, or give a path"
        ),
    )
}

#[cfg(not(feature = "http"))]
fn http(url: &Url) -> Result<Arc<dyn ObjectStore>> {
    Err(not_built(url, "http"))
}

#[cfg(not(feature = "aws"))]
fn s3(url: &Url) -> Result<Arc<dyn ObjectStore>> {
    Err(not_built(url, "aws"))
}

#[cfg(feature = "http")]
use self::web::http;
#[cfg(feature = "aws")]
use self::web::s3;

/// Stores over HTTP.
#[cfg(any(feature = "http", feature = "aws"))]
mod web {
    use super::{Error, Result, Url, wrong};
    use object_store::{ObjectStore, RetryConfig};
    use std::sync::Arc;
    use std::time::Duration;

    /// A few seconds of trying again, after which somebody who waits wants to know.
    fn retry() -> RetryConfig {
        RetryConfig { max_retries: 4, retry_timeout: Duration::from_secs(30), ..RetryConfig::default() }
    }

    fn failed(url: &Url, error: &object_store::Error) -> Error {
        wrong(url, super::said(error))
    }

    /// A server's files. Anybody on the way can replace files that come by plain HTTP, so that they
    /// are taken from this machine alone unless the environment allows more.
    #[cfg(feature = "http")]
    pub(super) fn http(url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let loopback = match url.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        let allowed = loopback || std::env::var("HE_SQL_ALLOW_HTTP").is_ok_and(|value| value == "true");
        if url.scheme() == "http" && !allowed {
            return Err(wrong(
                url,
                "plain http:// is read from this machine only; give https://, or set HE_SQL_ALLOW_HTTP=true in \
                 the environment of every process if the network is trusted",
            ));
        }
        let connector = Connector { plain: url.scheme() == "http", loopback };
        let store = object_store::http::HttpBuilder::new()
            .with_url(&url[..url::Position::BeforePath])
            .with_http_connector(connector)
            .with_retry(retry())
            .build();
        Ok(Arc::new(store.map_err(|error| failed(url, &error))?))
    }

    /// Makes clients that go to the place that they are told and nowhere else.
    #[cfg(feature = "http")]
    #[derive(Debug)]
    struct Connector {
        plain: bool,
        loopback: bool,
    }

    #[cfg(feature = "http")]
    impl object_store::client::HttpConnector for Connector {
        fn connect(
            &self,
            _: &object_store::ClientOptions,
        ) -> object_store::Result<object_store::client::HttpClient> {
            let mut client = reqwest::Client::builder()
                .https_only(!self.plain)
                .redirect(reqwest::redirect::Policy::none())
                .connect_timeout(Duration::from_secs(5))
                // The time without a byte; a large key may take as long as it needs.
                .read_timeout(Duration::from_secs(30));
            if self.loopback {
                client = client.no_proxy();
            }
            let client = client.build();
            client
                .map(object_store::client::HttpClient::new)
                .map_err(|error| object_store::Error::Generic { store: "HTTP", source: Box::new(error) })
        }
    }

    /// A bucket of S3, or of a service like it, with endpoint, region and credentials from the
    /// environment (`AWS_...`).
    #[cfg(feature = "aws")]
    pub(super) fn s3(url: &Url) -> Result<Arc<dyn ObjectStore>> {
        use object_store::ClientConfigKey::{AllowHttp, Timeout};
        use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey as Key};
        let mut builder = AmazonS3Builder::from_env().with_url(url.as_str()).with_retry(retry());
        if std::env::var_os("AWS_TIMEOUT").is_none() {
            // The time of a whole object, which may be a key of a gigabyte.
            builder = builder.with_config(Key::Client(Timeout), "10 minutes");
        }
        let mut endpoints = [Key::Endpoint, Key::S3Endpoint].into_iter();
        let plain =
            endpoints.find_map(|key| builder.get_config_value(&key).filter(|at| at.starts_with("http://")));
        let allowed = builder.get_config_value(&Key::Client(AllowHttp)).is_some_and(|value| value == "true");
        if let (Some(endpoint), false) = (plain, allowed) {
            return Err(wrong(
                url,
                format!(
                    "the endpoint {endpoint} is plain http://; take https://, or set AWS_ALLOW_HTTP=true in the \
                     environment of every process if the network is trusted"
                ),
            ));
        }
        Ok(Arc::new(builder.build().map_err(|error| failed(url, &error))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_absolute_and_urls_stay() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(absolute("a:b.key").unwrap(), here.join("a:b.key").to_str().unwrap());
        assert_eq!(absolute("-").unwrap(), here.join("-").to_str().unwrap());
        assert_eq!(absolute("file:///data/a%20b.key").unwrap(), "/data/a b.key");
        assert_eq!(absolute("https://host/eval.key").unwrap(), "https://host/eval.key");
    }

    #[test]
    fn places_that_cannot_be_used_are_refused_without_their_secrets() {
        for (place, words) in [
            ("", "empty path"),
            ("http://", "not a URL"),
            ("https://me:hunter2@:x/", "not a URL"),
            ("file://keys/eval.key", "file:///"),
            ("https://me:hunter2@host/eval.key", "https://host/eval.key"),
            ("https://host/eval.key?signature=hunter2", "https://host/eval.key"),
            ("https://host/tables/", "name a file"),
        ] {
            let error = absolute(place).unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains("hunter2"), "{place}: {error}");
        }
        let error = open("ftp://host/eval.key").err().unwrap().to_string();
        assert!(error.contains("ftp://") && error.contains("https://"), "{error}");
    }
}
