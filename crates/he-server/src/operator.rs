//! The database as the commands of an operator open it, beside the service or while it runs.

use crate::db::{CURRENT, Database, Found};
use crate::settings::Config;
use crate::start_error::StartError;
use crate::store::private_folder;
use std::path::Path;

/// Opens the database of a service. One that does not exist is made only if `create` says so; one
/// of an earlier version is left to the service.
///
/// # Errors
/// [`StartError`] if there is none, or it cannot be used.
pub(crate) async fn database(config: &Config, create: bool) -> Result<Database, StartError> {
    let file = config.database.strip_prefix("sqlite:").map(|path| path.trim_start_matches("//"));
    let file = file.map(|path| path.split('?').next().unwrap_or_default());
    let missing = || StartError::NoDatabase { place: config.place() };
    if create {
        private_folder(&config.data).map_err(StartError::io(config.data.display()))?;
    } else if file.is_some_and(|file| !Path::new(file).exists()) {
        return Err(missing());
    }
    let db = Database::connect(&config.database).await.map_err(StartError::database(config))?;
    let failed = StartError::database(config);
    match db.version().await.map_err(StartError::database(config))? {
        Found::Nothing if create => db.migrate(Found::Nothing).await.map_err(failed)?,
        Found::Nothing => return Err(missing()),
        Found::Version(CURRENT) => {}
        Found::Version(found) => return Err(StartError::Version { place: config.place(), found }),
    }
    Ok(db)
}

/// The names that tenants and labels may have: something to read, on one line.
///
/// # Errors
/// [`StartError::Name`] if this is not one.
pub(crate) fn check_name(what: &'static str, name: &str) -> Result<(), StartError> {
    let reason = match name {
        "" => "is empty",
        _ if name.trim() != name => "begins or ends with a space",
        _ if name.len() > 200 => "has more than 200 bytes",
        _ if name.chars().any(|c| c.is_control() || is_invisible(c)) => {
            "holds characters that cannot be seen"
        }
        _ => return Ok(()),
    };
    Err(StartError::Name { what, reason })
}

/// Characters that change how a line is read: directions, joiners, separators of lines.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
