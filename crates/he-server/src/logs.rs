//! The log: lines of text or JSON on standard error, without contents, tokens or names of files.

use tracing::level_filters::LevelFilter;

/// The form of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// Writes the log from now on: everything up to this level (`error`, `warn`, `info`, `debug`,
/// `off`). It is set once per process; later calls change nothing.
///
/// # Errors
/// There is no such level.
pub fn start(form: Form, level: &str) -> Result<(), String> {
    let level: LevelFilter =
        level.parse().map_err(|_| format!("{level} is not one of off, error, warn, info and debug"))?;
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(level).with_target(false);
    let done = match form {
        Form::Text => log.with_ansi(false).try_init(),
        Form::Json => {
            log.json().flatten_event(true).with_current_span(false).with_span_list(false).try_init()
        }
    };
    // Another log was set before.
    drop(done);
    Ok(())
}
