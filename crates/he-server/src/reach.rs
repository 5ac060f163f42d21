//! Words for a database that cannot be reached or used, without its password.

/// The database of a URL, without what could be a password.
pub fn place(url: &str) -> String {
    if let Some(path) = url.strip_prefix("sqlite:") {
        let path = path.trim_start_matches("//").split('?').next().unwrap_or_default();
        return std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.display().to_string());
    }
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return "of the setting".to_owned() };
    let (user, rest) = match rest.rsplit_once('@') {
        Some((user, rest)) => (user.split(':').next().map(|user| format!("{user}@")), rest),
        None => (None, rest),
    };
    format!("{scheme}://{}{rest}", user.unwrap_or_default())
}

/// The host and port, or the socket, of a database of PostgreSQL.
fn server(url: &str) -> Option<String> {
    #[cfg(feature = "postgres")]
    if url.starts_with("postgres") {
        let options: sqlx::postgres::PgConnectOptions = url.parse().ok()?;
        return Some(match options.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => format!("{}:{}", options.get_host(), options.get_port()),
        });
    }
    let _ = url;
    None
}

/// Names the fault, and the advice.
pub fn words(url: &str, error: &sqlx::Error) -> (String, &'static str) {
    use std::io::ErrorKind;
    const NETWORK: &str = "check that it runs and listens there, and host and port of the setting database";
    match (error, server(url)) {
        (sqlx::Error::Io(error), Some(server)) => {
            let what = match error.kind() {
                ErrorKind::ConnectionRefused => format!("connection refused at {server}"),
                ErrorKind::TimedOut => format!("{server} does not answer"),
                _ => format!("{server}: {error}"),
            };
            (what, NETWORK)
        }
        (sqlx::Error::Tls(error), Some(server)) => {
            (format!("{server}: TLS: {error}"), "check sslmode and sslrootcert in the setting database")
        }
        (sqlx::Error::Database(error), Some(_)) => {
            let hint = match error.code().as_deref() {
                Some("28P01" | "28000") => {
                    "check user and password: those of the setting database, or PGUSER and PGPASSWORD"
                }
                Some("3D000") => "make it with createdb, or correct its name in the setting database",
                Some("42501") => "grant the user the right to make tables in its schema",
                _ => "its own log says more",
            };
            (error.message().to_owned(), hint)
        }
        (error, Some(_)) => (error.to_string(), "check the setting database: postgres://USER@HOST/NAME"),
        (sqlx::Error::Database(error), None) => (
            error.message().to_owned(),
            "check that its folder exists, that the account of the service may write there, and its disk",
        ),
        (error, None) => (error.to_string(), "check the setting database: sqlite://PATH"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (url, shown) in [
            (
                "postgres://he:secret@db.example.org:5433/he?sslmode=require",
                "postgres://he@db.example.org:5433/he",
            ),
            ("postgres://he:sec@ret@h/he", "postgres://he@h/he"),
            ("postgresql://h/he?user=a&password=secret", "postgresql://h/he"),
            ("postgres://he@h", "postgres://he@h"),
        ] {
            assert_eq!(place(url), shown);
        }
        assert_eq!(place("sqlite:///data/he.sqlite?mode=rw"), "/data/he.sqlite");
        assert!(place("sqlite://he.sqlite").ends_with("/he.sqlite"));
    }
}
