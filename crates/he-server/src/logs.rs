//! The log: lines of text or JSON on standard error, without contents, tokens or names of files.

use serde::Deserialize;
use std::str::FromStr;
use std::sync::OnceLock;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt, reload};

/// The form of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Form {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

impl FromStr for Form {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(format!("{text} is not one of text and json")),
        }
    }
}

/// Up to which level lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Level(LevelFilter);

impl Default for Level {
    fn default() -> Self {
        Self(LevelFilter::INFO)
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self(match text {
            "off" => LevelFilter::OFF,
            "error" => LevelFilter::ERROR,
            "warn" => LevelFilter::WARN,
            "info" => LevelFilter::INFO,
            "debug" => LevelFilter::DEBUG,
            _ => return Err(format!("{text} is not one of off, error, warn, info and debug")),
        }))
    }
}

macro_rules! from_string {
    ($($type:ty),*) => {$(
        impl TryFrom<String> for $type {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }
    )*};
}

from_string!(Form, Level);

/// The filter of the log that was started.
static FILTER: OnceLock<reload::Handle<LevelFilter, Registry>> = OnceLock::new();

/// Writes the log from now on. It is started once per process; later calls change nothing.
pub fn start(form: Form, level: Level) {
    let (filter, handle) = reload::Layer::new(level.0);
    let lines = fmt::layer().with_writer(std::io::stderr).with_target(false);
    let log = tracing_subscriber::registry().with(filter);
    let started = match form {
        Form::Text => log.with(lines.with_ansi(false)).try_init(),
        Form::Json => log
            .with(lines.json().flatten_event(true).with_current_span(false).with_span_list(false))
            .try_init(),
    };
    if started.is_ok() {
        drop(FILTER.set(handle));
    }
}

/// Writes up to another level from now on.
pub fn set_level(level: Level) {
    if let Some(filter) = FILTER.get() {
        // It fails only when the log is gone.
        drop(filter.reload(level.0));
    }
}

/// Logs an error of the program around the service.
pub fn error(text: &str) {
    tracing::error!("{text}");
}
