//! The configuration: settings as flags, the environment and a file give them, and what they come
//! to.

use crate::host::Name;
use he::Device;
use serde::Deserialize;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not a configuration.
    #[error("{path}: {reason}")]
    Parse {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A value cannot be used.
    #[error("{setting}: {reason}")]
    Value {
        /// The setting.
        setting: &'static str,
        /// Why not.
        reason: String,
    },
}

/// Defines the settings of a source and how two sources combine.
macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        /// Settings of one source; what it does not give is `None`. The keys of the file are these
        /// names with hyphens.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        pub struct Settings {
            $($(#[$doc])* pub $name: Option<$type>,)*
        }

        impl Settings {
            /// These, and what is missing from `other`.
            #[must_use]
            pub fn or(self, other: Self) -> Self {
                Self { $($name: self.$name.or(other.$name),)* }
            }
        }
    };
}

settings! {
    /// The address and port to listen on: 127.0.0.1:8750.
    listen: SocketAddr;
    /// The folder of the service: uploads that are not complete, and unless they are elsewhere the
    /// database and the objects. `he-server`.
    data: PathBuf;
    /// The database: `sqlite://PATH` or `postgres://...`; by default a file in the folder.
    database: String;
    /// The store of objects: `s3://BUCKET/PREFIX`; by default a folder in the folder.
    store: String;
    /// Whether anybody may open a session: only on loopback addresses unless this says so.
    guests: bool;
    /// A folder of compiled models, or one of them; their names are those of the files.
    models: PathBuf;
    /// A folder with the page, in place of the one in the program.
    page: PathBuf;
    /// The certificate chain of HTTPS, in PEM.
    tls_certificate: PathBuf;
    /// Its private key, in PEM.
    tls_key: PathBuf;
    /// Jobs that run at the same time: 2.
    running_jobs: usize;
    /// The largest file, in MiB: 16384.
    max_upload_mib: u64;
    /// What a tenant may store, in MiB, unless it was made with another number: 65536.
    tenant_mib: u64;
    /// The objects and key sets of a tenant: 10000.
    tenant_objects: u64;
    /// The jobs of a tenant that are queued or running: 100.
    tenant_jobs: u64;
    /// What a guest may store, in MiB: 4096.
    guest_mib: u64;
    /// After so many hours a guest and its objects are removed: 24.
    guest_hours: u64;
    /// After so many hours an upload that is not complete is removed: 24.
    upload_hours: u64;
    /// After so many hours a job that has ended is forgotten, but not its result: 168.
    job_hours: u64;
    /// After so many minutes a job of a tenant has failed: 240.
    job_minutes: u64;
    /// The same of a guest: 10.
    guest_job_minutes: u64;
    /// Requests per second of a tenant, or of an address without a token: 100.
    request_rate: u32;
    /// Sessions per minute of an address: 30.
    session_rate: u32;
    /// Connections at the same time: 4096.
    connections: usize;
    /// Connections of one address at the same time: 256.
    address_connections: usize;
    /// As many guests' quotas as the guests of one address hold together: 8.
    address_guests: u64;
    /// Uploads of a tenant that are not complete: 64.
    tenant_uploads: u64;
    /// Jobs that have ended and are kept, of a tenant or of the guests of one address: 1000.
    kept_jobs: u64;
    /// Names by which clients call the service (`Host`): on loopback addresses `localhost` and
    /// loopback addresses are answered as well, elsewhere every name if none is given.
    hosts: Vec<String>;
    /// Addresses of proxies, whose last entry of `X-Forwarded-For` is the client's address.
    proxies: Vec<IpAddr>;
    /// Free space of the disk that uploads leave alone, in MiB: 16.
    reserve_mib: u64;
    /// An address and port for `/metrics`; without it, `/metrics` answers loopback addresses.
    metrics_listen: SocketAddr;
    /// Seconds until the headers of a request must have arrived, and between requests: 75.
    idle_seconds: u64;
    /// Seconds between two pieces of a body: 30.
    body_seconds: u64;
    /// Seconds for the answer to a request without a file: 30.
    answer_seconds: u64;
    /// Seconds that running jobs get at the end, before they are left for the next start: 20.
    shutdown_seconds: u64;
}

impl Settings {
    /// Reads a file.
    ///
    /// # Errors
    /// [`SettingsError`] if it cannot be read, or holds an unknown key or a wrong value.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let name = || path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|source| SettingsError::Read { path: name(), source })?;
        toml::from_str(&text)
            .map_err(|error| SettingsError::Parse { path: name(), reason: error.to_string() })
    }
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
    /// The folder of the page.
    pub page: Option<PathBuf>,
    /// Certificate chain and private key.
    pub tls: Option<(PathBuf, PathBuf)>,
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

/// What a tenant may hold.
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
    /// Of guests.
    pub guest: u64,
    /// Of uploads that are not complete.
    pub upload: u64,
    /// Of jobs that have ended.
    pub job: u64,
}

/// The greatest times from the start of a job to its end.
#[derive(Clone, Copy, Debug)]
pub struct JobTimes {
    /// Of tenants that are not guests.
    pub tenant: Duration,
    /// Of guests.
    pub guest: Duration,
}

/// Timeouts in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Seconds {
    /// Of connections without a request.
    pub idle: u64,
    /// Between pieces of a body.
    pub body: u64,
    /// Of answers.
    pub answer: u64,
    /// Of running jobs at the end.
    pub shutdown: u64,
}

impl Config {
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
        if settings.running_jobs == Some(0) {
            return bad("running-jobs", "at least 1 is needed");
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
            page: settings.page,
            tls,
            devices,
            running_jobs: settings.running_jobs.unwrap_or(2),
            tenant: Quota { bytes: mib(settings.tenant_mib.unwrap_or(1 << 16)), objects, jobs },
            guest: Quota {
                bytes: mib(settings.guest_mib.unwrap_or(1 << 12)),
                objects: objects.min(1000),
                jobs: jobs.min(20),
            },
            max_upload: mib(settings.max_upload_mib.unwrap_or(1 << 14)),
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

pub(crate) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
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
        for text in ["guest_mib = 7", "listen = 80", "running-jobs = -1", "x = 1", "= 1"] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("he-server.toml"), "{error}");
        }
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
            Settings { connections: Some(0), ..Settings::default() },
            Settings { job_minutes: Some(0), ..Settings::default() },
            Settings { guest_job_minutes: Some(0), ..Settings::default() },
            Settings { address_connections: Some(0), ..Settings::default() },
            Settings { address_guests: Some(0), ..Settings::default() },
            Settings { hosts: Some(vec!["a/b".to_owned()]), ..Settings::default() },
            Settings { hosts: Some(vec!["a:80".to_owned()]), ..Settings::default() },
            Settings { database: Some("mysql://x".to_owned()), ..Settings::default() },
            Settings { tls_key: Some("x".into()), ..Settings::default() },
        ] {
            assert!(config(settings).is_err());
        }
    }
}
