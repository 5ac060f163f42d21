//! An HTTP service that computes on encrypted files: key sets, encrypted objects, jobs and their
//! results. It never holds a secret key: a file that contains one is refused by its frames, before
//! a byte of it is stored.
//!
//! `he-cli serve` starts it; docs/service.md describes the API, the configuration, the threat model
//! and the deployment.
//!
//! - [`settings`]: flags, environment and file as one [`Config`](settings::Config);
//! - [`app`]: the service; [`serve`]: its connections; [`tenants`] and [`tokens`]: those who may
//!   use it;
//! - `http`: the routes, `uploads`, `arriving`, `jobs` and `queue`: what they do;
//! - `lookups`: databases for private look-ups, and `scans`: the threads that answer queries;
//! - `places`, `rates`, `turns`, `space`: what keeps clients from each other; `host` and `address`:
//!   by which name they ask, and who counts as one;
//! - `db`: metadata in SQLite or PostgreSQL; `store`: bytes in a folder or a store like S3.
//!
//! # Examples
//! ```
//! use he_server::{app::App, serve::Server, settings::{Config, Settings}};
//!
//! # let data = tempfile::tempdir()?;
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let settings = Settings {
//!     listen: Some("127.0.0.1:0".parse()?),
//!     data: Some(data.path().to_owned()),
//!     ..Settings::default()
//! };
//! let config = Config::new(settings, vec![he::Device::cpu()])?;
//! let server = Server::bind(App::start(config).await?).await?;
//! println!("http://{}", server.address()?);
//! server.run(async {}).await; // until this future ends
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
pub mod app;
mod arriving;
mod cause;
mod clock;
mod db;
mod describe;
mod descriptors;
mod folder;
mod health;
mod hold;
mod host;
mod host_name;
mod http;
mod ids;
mod indexes;
mod jobs;
pub mod logs;
mod lookups;
mod metrics;
mod models;
mod operations;
mod operator;
mod page;
mod places;
mod problem;
mod queue;
mod rates;
mod reach;
mod request;
mod scans;
pub mod serve;
pub mod settings;
mod space;
mod start_error;
mod store;
pub mod tenants;
mod time_limits;
#[cfg(feature = "tls")]
mod tls;
pub mod tokens;
mod turns;
mod uploads;
