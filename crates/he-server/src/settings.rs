//! The configuration: settings as flags, the environment and a file give them, and what they come
//! to.

use crate::address::is_loopback;
use crate::host_name::Name;
use he::Device;
use he_files::io::input::Input;
use he_files::trace::SigningKey;
use serde::Deserialize;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The reason for which a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// The reason.
        source: std::io::Error,
    },
    /// The file is not a configuration.
    #[error("{path}:{line}:{column}: {reason}")]
    Parse {
        /// The file.
        path: String,
        /// The line, the first of which is 1.
        line: usize,
        /// The column, likewise.
        column: usize,
        /// The fault.
        reason: String,
        /// The advice.
        hint: String,
    },
    /// A value cannot be used.
    #[error("{setting}: {reason}")]
    Value {
        /// The setting.
        setting: &'static str,
        /// The reason.
        reason: String,
    },
}

/// Calls a macro with the list of all settings: documentation, name, type, the kind of value, the
/// environment variable, and of a list what separates its values there. Options of a command line,
/// variables and keys of a file come from this one list.
#[macro_export]
macro_rules! with_settings {
    ($then:ident) => {
        $then! {
            /// Address and port to listen on [default: 127.0.0.1:8750]
            listen: std::net::SocketAddr, "ADDRESS", "HE_SERVE_LISTEN";
            /// Folder of the service: staged uploads, database, objects [default: he-server]
            data: std::path::PathBuf, "FOLDER", "HE_SERVE_DATA";
            /// Database: sqlite://PATH or postgres://USER@HOST/NAME [default: a file in the folder]
            database: String, "URL", "HE_SERVE_DATABASE";
            /// Store of objects: s3://BUCKET/PREFIX [default: a folder in the folder]
            store: String, "URL", "HE_SERVE_STORE";
            /// Whether anybody may open a session [default: true on loopback addresses]
            guests: bool, "true|false", "HE_SERVE_GUESTS";
            /// Folder of compiled models (NAME.plan) for the operation infer, or one of them
            ///
            /// Who may use the service may also download them: clients encrypt by them.
            models: std::path::PathBuf, "PATH", "HE_SERVE_MODELS";
            /// Folder of databases for private look-ups (he-cli lookup prepare), or one of them
            ///
            /// Who may use the service may ask for any of their records. SIGHUP reads those again
            /// that have changed.
            lookups: std::path::PathBuf, "PATH", "HE_SERVE_LOOKUPS";
            /// Memory of these databases together, which one takes twice while it is read
            /// [default: 4096]
            lookup_mib: u64, "MIB", "HE_SERVE_LOOKUP_MIB";
            /// Queries to a database that one scan answers [default: 8]
            lookup_queries: u16, "N", "HE_SERVE_LOOKUP_QUERIES";
            /// Folder with the page, in place of the one in the program
            page: std::path::PathBuf, "FOLDER", "HE_SERVE_PAGE";
            /// Certificate chain of HTTPS, in PEM
            tls_certificate: std::path::PathBuf, "FILE", "HE_SERVE_TLS_CERTIFICATE";
            /// Private key of HTTPS, in PEM
            tls_key: std::path::PathBuf, "FILE", "HE_SERVE_TLS_KEY";
            /// Private key of Ed25519, in PEM, that signs the roots of traces [default: none]
            trace_key: std::path::PathBuf, "FILE", "HE_SERVE_TRACE_KEY";
            /// Jobs that run at the same time [default: 2]
            running_jobs: usize, "N", "HE_SERVE_RUNNING_JOBS";
            /// Largest file [default: 16384]
            max_upload_mib: u64, "MIB", "HE_SERVE_MAX_UPLOAD_MIB";
            /// Storage of a tenant that has no quota of its own [default: 65536]
            tenant_mib: u64, "MIB", "HE_SERVE_TENANT_MIB";
            /// Objects and key sets of a tenant that has no quota of its own [default: 10000]
            tenant_objects: u64, "N", "HE_SERVE_TENANT_OBJECTS";
            /// Unfinished jobs of a tenant that has no quota of its own [default: 100]
            tenant_jobs: u64, "N", "HE_SERVE_TENANT_JOBS";
            /// Storage of a guest [default: 4096]
            guest_mib: u64, "MIB", "HE_SERVE_GUEST_MIB";
            /// Hours until a guest and its objects are removed [default: 24]
            guest_hours: u64, "H", "HE_SERVE_GUEST_HOURS";
            /// Hours until an unfinished upload is removed [default: 24]
            upload_hours: u64, "H", "HE_SERVE_UPLOAD_HOURS";
            /// Hours until a job that has ended is forgotten, but not its result [default: 168]
            job_hours: u64, "H", "HE_SERVE_JOB_HOURS";
            /// Minutes until a running job of a tenant has failed [default: 240]
            job_minutes: u64, "M", "HE_SERVE_JOB_MINUTES";
            /// Minutes until a running job of a guest has failed [default: 10]
            guest_job_minutes: u64, "M", "HE_SERVE_GUEST_JOB_MINUTES";
            /// Memory of a segment of an index, of which a query takes a few [default: 2048]
            segment_mib: u64, "MIB", "HE_SERVE_SEGMENT_MIB";
            /// Requests per second of a tenant, or of an address without a token [default: 100]
            request_rate: u32, "N", "HE_SERVE_REQUEST_RATE";
            /// Sessions per minute of an address [default: 30]
            session_rate: u32, "N", "HE_SERVE_SESSION_RATE";
            /// Connections at the same time [default: 4096]
            connections: usize, "N", "HE_SERVE_CONNECTIONS";
            /// Connections of one address at the same time [default: 256]
            address_connections: usize, "N", "HE_SERVE_ADDRESS_CONNECTIONS";
            /// The guests of one address hold together what N guests may [default: 8]
            address_guests: u64, "N", "HE_SERVE_ADDRESS_GUESTS";
            /// Unfinished uploads of a tenant; guests have at most 16 [default: 64]
            tenant_uploads: u64, "N", "HE_SERVE_TENANT_UPLOADS";
            /// Ended jobs that are kept, of a tenant or the guests of one address [default: 1000]
            kept_jobs: u64, "N", "HE_SERVE_KEPT_JOBS";
            /// Names by which clients call the service [default: on loopback addresses localhost]
            hosts: Vec<String>, "NAME,...", "HE_SERVE_HOSTS", ',';
            /// Addresses of proxies, whose header X-Forwarded-For names the client [default: none]
            proxies: Vec<std::net::IpAddr>, "IP,...", "HE_SERVE_PROXIES", ',';
            /// Free space of the disk that uploads leave alone [default: 16]
            reserve_mib: u64, "MIB", "HE_SERVE_RESERVE_MIB";
            /// Address and port for /metrics [default: the same, for clients on loopback addresses]
            metrics_listen: std::net::SocketAddr, "ADDRESS", "HE_SERVE_METRICS_LISTEN";
            /// Seconds that a connection may wait between requests [default: 75]
            idle_seconds: u64, "S", "HE_SERVE_IDLE_SECONDS";
            /// Seconds between two pieces of a body [default: 30]
            body_seconds: u64, "S", "HE_SERVE_BODY_SECONDS";
            /// Seconds for an answer without a file [default: 30]
            answer_seconds: u64, "S", "HE_SERVE_ANSWER_SECONDS";
            /// Seconds that running jobs get at the end [default: 20]
            shutdown_seconds: u64, "S", "HE_SERVE_SHUTDOWN_SECONDS";
            /// Form of the log on standard error [default: text]
            log: $crate::logs::Form, "text|json", "HE_SERVE_LOG";
            /// Level of the log: off, error, warn, info or debug [default: info]
            log_level: $crate::logs::Level, "LEVEL", "HE_SERVE_LOG_LEVEL";
            /// Where jobs are computed: auto, cpu, cuda, cuda:N, cuda:N+M or cuda:all [default:
            /// HE_DEVICE, or auto]
            ///
            /// auto takes the first CUDA device that works, or else the CPU. cuda:all gives each
            /// device ciphertexts of its own. Results are the same on every device.
            device: String, "DEVICE", "HE_SERVE_DEVICE";
            /// Number of CPU threads [default: RAYON_NUM_THREADS, or all processors]
            threads: u16, "N", "HE_SERVE_THREADS";
        }
    };
}

/// Defines the settings of a source and how two sources combine.
macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident: $type:ty, $value:literal, $variable:literal $(, $between:literal)?;)*) => {
        /// Settings of one source; what it does not give is `None`. The keys of the file are these
        /// names with hyphens.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        pub struct Settings {
            $($(#[$doc])* pub $name: Option<$type>,)*
        }

        impl Settings {
            /// The keys of the file.
            pub fn keys() -> impl Iterator<Item = String> {
                [$(stringify!($name)),*].into_iter().map(|name| name.replace('_', "-"))
            }

            /// These, and what is missing from `other`.
            #[must_use]
            pub fn or(self, other: Self) -> Self {
                Self { $($name: self.$name.or(other.$name),)* }
            }
        }
    };
}

with_settings!(settings);

impl Settings {
    /// Reads a file.
    ///
    /// # Errors
    /// [`SettingsError`] if it cannot be read, or holds an unknown key or a wrong value.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let name = || path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|source| SettingsError::Read { path: name(), source })?;
        toml::from_str(&text).map_err(|error| at(name(), &text, &error))
    }
}

/// The words for an error in a file: where it is, which key it is about, and what is expected.
fn at(path: String, text: &str, error: &toml::de::Error) -> SettingsError {
    let span = error.span().unwrap_or_default();
    let before = text.get(..span.start).unwrap_or(text);
    let begin = before.rfind('\n').map_or(0, |end| end + 1);
    let (line, column) = (before.matches('\n').count() + 1, before[begin..].chars().count() + 1);
    let found = text.get(span).unwrap_or_default().trim_matches(['"', '\'']);
    let is_key =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
    let key = text[begin..].lines().next().and_then(|line| line.split_once('=')).map(|(key, _)| key.trim());
    let key = key.filter(|key| Settings::keys().any(|known| known == **key));
    let mut message = error.message().lines().collect::<Vec<_>>().join(", ");
    for (type_name, words) in [
        ("expected usize", "expected a whole number"),
        ("expected u64", "expected a whole number"),
        ("expected u32", "expected a whole number"),
        ("expected u16", "expected a whole number"),
        ("expected a boolean", "expected true or false"),
        ("expected socket address", "expected an address and port in quotes"),
        ("expected path string", "expected a path in quotes"),
        ("expected a string", "expected a text in quotes"),
    ] {
        message = message.replace(type_name, words);
    }
    let (reason, hint) = match key {
        None if is_key(found) => {
            let found: String = found.chars().take(60).collect();
            let mut near: Vec<(f64, String)> = Settings::keys()
                .map(|known| (strsim::jaro_winkler(&known, &found.replace('_', "-")), known))
                .filter(|(likeness, _)| *likeness > 0.8)
                .collect();
            near.sort_by(|a, b| b.0.total_cmp(&a.0));
            let near: Vec<String> = near.into_iter().take(3).map(|(_, known)| known).collect();
            let hint = match near.is_empty() {
                true => "docs/service.md lists the settings".to_owned(),
                false => format!("there is {}", near.join(", ")),
            };
            (format!("there is no setting {found}"), hint)
        }
        Some(key) => (format!("{key}: {message}"), "he-cli serve --help describes the settings".to_owned()),
        None => (message, "write settings as in TOML: key = value, texts in quotes".to_owned()),
    };
    SettingsError::Parse { path, line, column, reason, hint }
}

/// A time of the service, given in milliseconds, as RFC 3339 has it.
pub fn timestamp(millis: i64) -> String {
    crate::clock::text(millis)
}

/// A folder of compiled models, and where the page is, and so on: all settings, complete.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The folder of the service.
    pub data: PathBuf,
    /// The URL of the database.
    pub database: String,
    /// The URL of the store, or a folder.
    pub store: Option<String>,
    /// Whether anybody may open a session.
    pub guests: bool,
    /// The folder of models, or one of them.
    pub models: Option<PathBuf>,
    /// The folder of databases for private look-ups, or one of them.
    pub lookups: Option<PathBuf>,
    /// The memory of these databases together, in bytes.
    pub lookup_memory: u64,
    /// The queries of one scan.
    pub lookup_queries: usize,
    /// The folder of the page.
    pub page: Option<PathBuf>,
    /// Certificate chain and private key.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// The key that signs the roots of traces.
    pub trace_key: Option<Arc<SigningKey>>,
    /// The devices that compute, at least one.
    pub devices: Vec<Device>,
    /// Jobs that run at the same time.
    pub running_jobs: usize,
    /// Quotas of tenants, unless they were made with others.
    pub tenant: Quota,
    /// Quotas of guests.
    pub guest: Quota,
    /// Bytes of the largest file.
    pub max_upload: u64,
    /// Bytes of memory of the largest segment of an index.
    pub segment_memory: u64,
    /// Lifetimes in hours: of guests, of uploads that are not complete, of jobs that have ended.
    pub hours: Hours,
    /// The greatest times from the start of a job to its end.
    pub job_times: JobTimes,
    /// Requests per second, and sessions per minute.
    pub rates: (u32, u32),
    /// Connections at the same time, in all and of one address.
    pub connections: (usize, usize),
    /// As many guests' quotas as the guests of one address hold together.
    pub address_guests: u64,
    /// Uploads that are not complete, of a tenant and of a guest.
    pub uploads: (u64, u64),
    /// Jobs that have ended and are kept, of a tenant or of the guests of one address.
    pub kept_jobs: u64,
    /// Names by which clients call the service.
    pub hosts: Vec<String>,
    /// Addresses of proxies, which name the client's address.
    pub proxies: Vec<IpAddr>,
    /// Bytes of the disk that uploads leave free.
    pub reserve: u64,
    /// The address of `/metrics`, if it has its own.
    pub metrics_listen: Option<SocketAddr>,
    /// Timeouts in seconds.
    pub seconds: Seconds,
}

/// The quotas of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Bytes.
    pub bytes: u64,
    /// Objects and key sets.
    pub objects: u64,
    /// Jobs that are queued or running.
    pub jobs: u64,
}

/// Lifetimes in hours.
#[derive(Clone, Copy, Debug)]
pub struct Hours {
    /// The lifetime of guests.
    pub guest: u64,
    /// The lifetime of uploads that are not complete.
    pub upload: u64,
    /// The lifetime of jobs that have ended.
    pub job: u64,
}

/// The greatest times from the start of a job to its end.
#[derive(Clone, Copy, Debug)]
pub struct JobTimes {
    /// The time for tenants that are not guests.
    pub tenant: Duration,
    /// The time for guests.
    pub guest: Duration,
}

/// Timeouts in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Seconds {
    /// The time that a connection may be without a request.
    pub idle: u64,
    /// Between pieces of a body.
    pub body: u64,
    /// The time for an answer.
    pub answer: u64,
    /// The time that running jobs get at the end.
    pub shutdown: u64,
}

impl SettingsError {
    /// The advice on this error.
    pub fn hint(&self) -> String {
        match self {
            Self::Read { .. } => "give the file of settings with --config FILE".to_owned(),
            Self::Parse { hint, .. } => hint.clone(),
            Self::Value { .. } => "he-cli serve --help describes the settings".to_owned(),
        }
    }
}

impl Config {
    /// The database as people and the log see it, without a password.
    pub fn place(&self) -> String {
        crate::reach::place(&self.database)
    }

    /// The settings with their defaults, and the devices.
    ///
    /// # Errors
    /// [`SettingsError::Value`] if one cannot be used.
    pub fn new(settings: Settings, devices: Vec<Device>) -> Result<Self, SettingsError> {
        let bad = |setting, reason: &str| Err(SettingsError::Value { setting, reason: reason.to_owned() });
        let listen = settings.listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 8750)));
        let data = settings.data.unwrap_or_else(|| "he-server".into());
        let database = match settings.database {
            Some(url) if url.starts_with("sqlite:") => url,
            Some(url) if url.starts_with("postgres:") || url.starts_with("postgresql:") => {
                if !cfg!(feature = "postgres") {
                    return bad("database", "this program was built without PostgreSQL");
                }
                url
            }
            Some(_) => return bad("database", "give sqlite://PATH or postgres://USER@HOST/NAME"),
            None => format!("sqlite://{}", data.join("he-server.sqlite").display()),
        };
        let tls = match (settings.tls_certificate, settings.tls_key) {
            (Some(_), Some(_)) if !cfg!(feature = "tls") => {
                return bad("tls-certificate", "this program was built without TLS");
            }
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return bad("tls-certificate", "tls-certificate and tls-key belong together"),
        };
        let trace_key = settings.trace_key.map(|path| Input::open(path).and_then(SigningKey::read));
        let trace_key = trace_key
            .transpose()
            .map_err(|error| SettingsError::Value { setting: "trace-key", reason: error.to_string() })?;
        if settings.running_jobs == Some(0) {
            return bad("running-jobs", "at least 1 is needed");
        }
        if settings.lookup_queries.is_some_and(|queries| !(1..=256).contains(&queries)) {
            return bad("lookup-queries", "1 to 256 are possible");
        }
        if settings.job_minutes == Some(0) {
            return bad("job-minutes", "at least 1 is needed");
        }
        if settings.guest_job_minutes == Some(0) {
            return bad("guest-job-minutes", "at least 1 is needed");
        }
        if settings.connections == Some(0) {
            return bad("connections", "at least 1 is needed");
        }
        if settings.address_connections == Some(0) {
            return bad("address-connections", "at least 1 is needed");
        }
        if settings.address_guests == Some(0) {
            return bad("address-guests", "at least 1 is needed");
        }
        let hosts = settings.hosts.unwrap_or_default();
        if hosts.iter().any(|host| Name::of_text(host).is_none_or(|name| name.port.is_some())) {
            return bad("hosts", "give names without ports, such as he.example.org");
        }
        let objects = settings.tenant_objects.unwrap_or(10_000);
        let jobs = settings.tenant_jobs.unwrap_or(100);
        // A century is as good as any time beyond it.
        let minutes = |count: u64| Duration::from_secs(60 * count.min(60 * 24 * 36_525));
        let uploads = settings.tenant_uploads.unwrap_or(64);
        let mib = |count: u64| count.saturating_mul(1 << 20).min(i64::MAX as u64);
        Ok(Self {
            guests: settings.guests.unwrap_or_else(|| is_loopback(listen.ip())),
            listen,
            data,
            database,
            store: settings.store,
            models: settings.models,
            lookups: settings.lookups,
            lookup_memory: mib(settings.lookup_mib.unwrap_or(1 << 12)),
            lookup_queries: usize::from(settings.lookup_queries.unwrap_or(8)),
            page: settings.page,
            tls,
            trace_key: trace_key.map(Arc::new),
            devices,
            running_jobs: settings.running_jobs.unwrap_or(2),
            tenant: Quota { bytes: mib(settings.tenant_mib.unwrap_or(1 << 16)), objects, jobs },
            guest: Quota {
                bytes: mib(settings.guest_mib.unwrap_or(1 << 12)),
                objects: objects.min(1000),
                jobs: jobs.min(20),
            },
            max_upload: mib(settings.max_upload_mib.unwrap_or(1 << 14)),
            segment_memory: mib(settings.segment_mib.unwrap_or(1 << 11)),
            hours: Hours {
                guest: settings.guest_hours.unwrap_or(24),
                upload: settings.upload_hours.unwrap_or(24),
                job: settings.job_hours.unwrap_or(168),
            },
            job_times: JobTimes {
                tenant: minutes(settings.job_minutes.unwrap_or(240)),
                guest: minutes(settings.guest_job_minutes.unwrap_or(10)),
            },
            rates: (settings.request_rate.unwrap_or(100), settings.session_rate.unwrap_or(30)),
            connections: (settings.connections.unwrap_or(4096), settings.address_connections.unwrap_or(256)),
            address_guests: settings.address_guests.unwrap_or(8),
            uploads: (uploads, uploads.min(16)),
            kept_jobs: settings.kept_jobs.unwrap_or(1000),
            hosts,
            proxies: settings.proxies.unwrap_or_default(),
            reserve: mib(settings.reserve_mib.unwrap_or(16)),
            metrics_listen: settings.metrics_listen,
            seconds: Seconds {
                idle: settings.idle_seconds.unwrap_or(75),
                body: settings.body_seconds.unwrap_or(30),
                answer: settings.answer_seconds.unwrap_or(30),
                shutdown: settings.shutdown_seconds.unwrap_or(20),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_source_counts() {
        let first = Settings { guests: Some(false), ..Settings::default() };
        let second = Settings { guests: Some(true), running_jobs: Some(3), ..Settings::default() };
        let both = first.or(second);
        assert_eq!((both.guests, both.running_jobs), (Some(false), Some(3)));
    }

    #[test]
    fn files_are_read_strictly() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("he-server.toml");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Settings::read(&path)
        };
        let settings = read("listen = \"0.0.0.0:80\"\nguest-mib = 7\nguests = true\n").unwrap();
        assert_eq!(settings.listen, Some("0.0.0.0:80".parse().unwrap()));
        assert_eq!((settings.guest_mib, settings.guests), (Some(7), Some(true)));
        for (text, place, said, hint) in [
            ("guest_mib = 7", "1:1", "there is no setting guest_mib", "there is guest-mib"),
            ("\ngeust-mib = 7", "2:1", "there is no setting geust-mib", "there is guest-mib"),
            ("x = 1", "1:1", "there is no setting x", "docs/service.md"),
            ("[server]\nguests = true", "1:2", "there is no setting server", "docs/service.md"),
            (
                "guests = true\nlisten = 80",
                "2:10",
                "listen: invalid type: integer `80`, expected an address",
                "--help",
            ),
            ("guests = true\nguests = true", "2:1", "guests: duplicate key", "--help"),
            ("running-jobs = -1", "1:16", "running-jobs: invalid value", "--help"),
            ("log-level = \"loud\"", "1:13", "log-level: loud is not one of off, error", "--help"),
            ("= 1", "1:1", "", "key = value"),
            ("guest-mib = ", "1:13", "guest-mib: ", "--help"),
        ] {
            let error = read(text).unwrap_err();
            let said_all = error.to_string();
            assert!(said_all.contains(&format!("he-server.toml:{place}: {said}")), "{text}: {said_all}");
            assert!(!said_all.contains('\n') && error.hint().contains(hint), "{text}: {}", error.hint());
        }
        assert_eq!(read("log = \"json\"\nthreads = 3\ndevice = \"cpu\"").unwrap().threads, Some(3));
        assert!(matches!(Settings::read(&dir.path().join("none")), Err(SettingsError::Read { .. })));
    }

    #[test]
    fn defaults_are_safe() {
        let config = |settings| Config::new(settings, vec![Device::cpu()]);
        assert!(config(Settings::default()).unwrap().guests);
        let public = Settings { listen: Some("0.0.0.0:80".parse().unwrap()), ..Settings::default() };
        assert!(!config(public).unwrap().guests);
        for settings in [
            Settings { running_jobs: Some(0), ..Settings::default() },
            Settings { lookup_queries: Some(0), ..Settings::default() },
            Settings { connections: Some(0), ..Settings::default() },
            Settings { job_minutes: Some(0), ..Settings::default() },
            Settings { guest_job_minutes: Some(0), ..Settings::default() },
            Settings { address_connections: Some(0), ..Settings::default() },
            Settings { address_guests: Some(0), ..Settings::default() },
            Settings { hosts: Some(vec!["a/b".to_owned()]), ..Settings::default() },
            Settings { hosts: Some(vec!["a:80".to_owned()]), ..Settings::default() },
            Settings { database: Some("mysql://x".to_owned()), ..Settings::default() },
            Settings { tls_key: Some("x".into()), ..Settings::default() },
            Settings { trace_key: Some("no such key".into()), ..Settings::default() },
        ] {
            assert!(config(settings).is_err());
        }
    }
}
