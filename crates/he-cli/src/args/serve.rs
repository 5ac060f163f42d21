//! The options of `serve`.

use super::DeviceFlag;
use clap::{Args, Subcommand, ValueEnum};
use he_server::settings::Settings;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// `serve`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_precedence_over_arg = true)]
pub struct Serve {
    #[command(subcommand)]
    pub command: Option<ServeCommand>,
    #[command(flatten)]
    pub flags: ServeFlags,
    /// Form of the log on standard error
    #[arg(long, value_enum, env = "HE_SERVE_LOG", default_value_t, value_name = "text|json")]
    #[arg(hide_possible_values = true)]
    pub log: LogForm,
    /// What is logged: off, error, warn, info or debug
    #[arg(long, env = "HE_SERVE_LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    pub log_level: String,
    #[command(flatten)]
    pub device: DeviceFlag,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogForm {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// What is done beside the service.
#[derive(Debug, Subcommand)]
pub enum ServeCommand {
    /// Make, list and revoke the tokens of tenants, whether the service runs or not
    #[command(after_help = "Examples:\n  \
        he-cli serve token add alice --data /var/lib/he-server\n  \
        he-cli serve token list --data /var/lib/he-server\n  \
        he-cli serve token revoke ID --data /var/lib/he-server")]
    Token(Token),
}

/// `serve token`.
#[derive(Debug, Args)]
pub struct Token {
    #[command(subcommand)]
    pub command: TokenCommand,
}

/// What is done with tokens.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token, and the tenant if there is none of this name
    Add {
        /// Name of the tenant
        tenant: String,
        #[command(flatten)]
        flags: ServeFlags,
    },
    /// List the tokens: their identities and tenants
    List {
        #[command(flatten)]
        flags: ServeFlags,
    },
    /// Revoke a token
    Revoke {
        /// Its identity, from list
        id: String,
        #[command(flatten)]
        flags: ServeFlags,
    },
}

/// The settings, each of which a file and the environment may give as well.
#[derive(Clone, Debug, Args)]
pub struct ServeFlags {
    /// File of settings in TOML, whose keys are the names of these options
    ///
    /// An option counts more than its environment variable, and that more than the file.
    #[arg(long, value_name = "FILE", env = "HE_SERVE_CONFIG")]
    pub config: Option<PathBuf>,
    /// Address and port to listen on [default: 127.0.0.1:8750]
    #[arg(long, value_name = "ADDRESS", env = "HE_SERVE_LISTEN")]
    listen: Option<SocketAddr>,
    /// Folder of the service: staged uploads, database, objects [default: he-server]
    #[arg(long, value_name = "FOLDER", env = "HE_SERVE_DATA")]
    data: Option<PathBuf>,
    /// Database: sqlite://PATH or postgres://USER@HOST/NAME [default: a file in the folder]
    #[arg(long, value_name = "URL", env = "HE_SERVE_DATABASE")]
    database: Option<String>,
    /// Store of objects: s3://BUCKET/PREFIX [default: a folder in the folder]
    #[arg(long, value_name = "URL", env = "HE_SERVE_STORE")]
    store: Option<String>,
    /// Whether anybody may open a session [default: true on loopback addresses]
    #[arg(long, value_name = "true|false", env = "HE_SERVE_GUESTS")]
    guests: Option<bool>,
    /// Folder of compiled models (NAME.plan) for the operation infer, or one of them
    ///
    /// Who may use the service may also download them: clients encrypt by them.
    #[arg(long, value_name = "PATH", env = "HE_SERVE_MODELS")]
    models: Option<PathBuf>,
    /// Folder with the page, in place of the one in the program
    #[arg(long, value_name = "FOLDER", env = "HE_SERVE_PAGE")]
    page: Option<PathBuf>,
    /// Certificate chain of HTTPS, in PEM
    #[arg(long, value_name = "FILE", env = "HE_SERVE_TLS_CERTIFICATE")]
    tls_certificate: Option<PathBuf>,
    /// Private key of HTTPS, in PEM
    #[arg(long, value_name = "FILE", env = "HE_SERVE_TLS_KEY")]
    tls_key: Option<PathBuf>,
    /// Jobs that run at the same time [default: 2]
    #[arg(long, value_name = "N", env = "HE_SERVE_RUNNING_JOBS")]
    running_jobs: Option<usize>,
    /// Largest file [default: 16384]
    #[arg(long, value_name = "MIB", env = "HE_SERVE_MAX_UPLOAD_MIB")]
    max_upload_mib: Option<u64>,
    /// Storage of a new tenant [default: 65536]
    #[arg(long, value_name = "MIB", env = "HE_SERVE_TENANT_MIB")]
    tenant_mib: Option<u64>,
    /// Objects and key sets of a tenant [default: 10000]
    #[arg(long, value_name = "N", env = "HE_SERVE_TENANT_OBJECTS")]
    tenant_objects: Option<u64>,
    /// Unfinished jobs of a tenant [default: 100]
    #[arg(long, value_name = "N", env = "HE_SERVE_TENANT_JOBS")]
    tenant_jobs: Option<u64>,
    /// Storage of a guest [default: 4096]
    #[arg(long, value_name = "MIB", env = "HE_SERVE_GUEST_MIB")]
    guest_mib: Option<u64>,
    /// Hours until a guest and its objects are removed [default: 24]
    #[arg(long, value_name = "H", env = "HE_SERVE_GUEST_HOURS")]
    guest_hours: Option<u64>,
    /// Hours until an unfinished upload is removed [default: 24]
    #[arg(long, value_name = "H", env = "HE_SERVE_UPLOAD_HOURS")]
    upload_hours: Option<u64>,
    /// Hours until a job that has ended is forgotten [default: 168]
    #[arg(long, value_name = "H", env = "HE_SERVE_JOB_HOURS")]
    job_hours: Option<u64>,
    /// Minutes until a running job of a tenant has failed [default: 240]
    #[arg(long, value_name = "M", env = "HE_SERVE_JOB_MINUTES")]
    job_minutes: Option<u64>,
    /// Minutes until a running job of a guest has failed [default: 10]
    #[arg(long, value_name = "M", env = "HE_SERVE_GUEST_JOB_MINUTES")]
    guest_job_minutes: Option<u64>,
    /// Requests per second of a tenant, or of an address without a token [default: 100]
    #[arg(long, value_name = "N", env = "HE_SERVE_REQUEST_RATE")]
    request_rate: Option<u32>,
    /// Sessions per minute of an address [default: 30]
    #[arg(long, value_name = "N", env = "HE_SERVE_SESSION_RATE")]
    session_rate: Option<u32>,
    /// Connections at the same time [default: 4096]
    #[arg(long, value_name = "N", env = "HE_SERVE_CONNECTIONS")]
    connections: Option<usize>,
    /// Connections of one address at the same time [default: 256]
    #[arg(long, value_name = "N", env = "HE_SERVE_ADDRESS_CONNECTIONS")]
    address_connections: Option<usize>,
    /// The guests of one address hold together what N guests may [default: 8]
    #[arg(long, value_name = "N", env = "HE_SERVE_ADDRESS_GUESTS")]
    address_guests: Option<u64>,
    /// Unfinished uploads of a tenant; guests have at most 16 [default: 64]
    #[arg(long, value_name = "N", env = "HE_SERVE_TENANT_UPLOADS")]
    tenant_uploads: Option<u64>,
    /// Ended jobs that are kept, of a tenant or of the guests of one address [default: 1000]
    #[arg(long, value_name = "N", env = "HE_SERVE_KEPT_JOBS")]
    kept_jobs: Option<u64>,
    /// Names by which clients call the service [default: on loopback addresses localhost]
    #[arg(long, value_name = "NAME,...", env = "HE_SERVE_HOSTS", value_delimiter = ',')]
    hosts: Option<Vec<String>>,
    /// Addresses of proxies, whose header X-Forwarded-For names the client [default: none]
    #[arg(long, value_name = "IP,...", env = "HE_SERVE_PROXIES", value_delimiter = ',')]
    proxies: Option<Vec<IpAddr>>,
    /// Free space of the disk that uploads leave alone [default: 16]
    #[arg(long, value_name = "MIB", env = "HE_SERVE_RESERVE_MIB")]
    reserve_mib: Option<u64>,
    /// Address and port for /metrics [default: the same, for clients on loopback addresses]
    #[arg(long, value_name = "ADDRESS", env = "HE_SERVE_METRICS_LISTEN")]
    metrics_listen: Option<SocketAddr>,
    /// Seconds that a connection may wait between requests [default: 75]
    #[arg(long, value_name = "S", env = "HE_SERVE_IDLE_SECONDS")]
    idle_seconds: Option<u64>,
    /// Seconds between two pieces of a body [default: 30]
    #[arg(long, value_name = "S", env = "HE_SERVE_BODY_SECONDS")]
    body_seconds: Option<u64>,
    /// Seconds for an answer without a file [default: 30]
    #[arg(long, value_name = "S", env = "HE_SERVE_ANSWER_SECONDS")]
    answer_seconds: Option<u64>,
    /// Seconds that running jobs get at the end [default: 20]
    #[arg(long, value_name = "S", env = "HE_SERVE_SHUTDOWN_SECONDS")]
    shutdown_seconds: Option<u64>,
}

impl From<ServeFlags> for Settings {
    fn from(flags: ServeFlags) -> Self {
        Self {
            listen: flags.listen,
            data: flags.data,
            database: flags.database,
            store: flags.store,
            guests: flags.guests,
            models: flags.models,
            page: flags.page,
            tls_certificate: flags.tls_certificate,
            tls_key: flags.tls_key,
            running_jobs: flags.running_jobs,
            max_upload_mib: flags.max_upload_mib,
            tenant_mib: flags.tenant_mib,
            tenant_objects: flags.tenant_objects,
            tenant_jobs: flags.tenant_jobs,
            guest_mib: flags.guest_mib,
            guest_hours: flags.guest_hours,
            upload_hours: flags.upload_hours,
            job_hours: flags.job_hours,
            job_minutes: flags.job_minutes,
            guest_job_minutes: flags.guest_job_minutes,
            request_rate: flags.request_rate,
            session_rate: flags.session_rate,
            connections: flags.connections,
            address_connections: flags.address_connections,
            address_guests: flags.address_guests,
            tenant_uploads: flags.tenant_uploads,
            kept_jobs: flags.kept_jobs,
            hosts: flags.hosts,
            proxies: flags.proxies,
            reserve_mib: flags.reserve_mib,
            metrics_listen: flags.metrics_listen,
            idle_seconds: flags.idle_seconds,
            body_seconds: flags.body_seconds,
            answer_seconds: flags.answer_seconds,
            shutdown_seconds: flags.shutdown_seconds,
        }
    }
}
