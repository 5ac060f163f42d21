//! Records looked up on a service by the command line: in one step and in several, versions, and
//! files that are not queries.

use crate::{Process, done, he};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The folder of a client, and the URL of a service.
struct Asker {
    folder: PathBuf,
    url: String,
}

impl Asker {
    fn call(&self, words: &[&str]) -> Command {
        let mut command = he();
        command.arg("lookup").args(words).current_dir(&self.folder).env_remove("HE_TOKEN");
        command
    }

    fn here(&self, words: &[&str]) -> Vec<u8> {
        done(&mut self.call(words))
    }

    fn there(&self, words: &[&str]) -> Vec<u8> {
        done(self.call(words).args(["--server", &self.url]))
    }

    #[track_caller]
    fn refused(&self, words: &[&str], said: &str) {
        let output = self.call(words).args(["--server", &self.url]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(said), "{words:?}: {text}");
        assert!(text.contains("hint") && !self.folder.join("x").exists(), "{words:?}: {text}");
    }
}

#[test]
fn records_are_looked_up_on_a_service() {
    let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let dir = folder.path();
    let at = |name: &str| dir.join(name);
    let here = Asker { folder: dir.to_owned(), url: String::new() };
    fs::create_dir(at("all")).unwrap();
    fs::write(at("words.tsv"), "salt\tblue\npepper\tred\n").unwrap();
    fs::write(at("lines"), "record 0\nrecord 1\n").unwrap();
    here.here(&["prepare", "all/words", "words.tsv", "--by-key", "--record-bytes", "4"]);
    here.here(&["prepare", "all/lines", "lines", "--record-bytes", "9", "--records", "3"]);
    here.here(&["keygen", "-o", "client.key"]);
    let service = Process::start(data.path(), |command| {
        command.arg("--lookups").arg(at("all"));
    });
    let asker = Asker { url: format!("http://{}", service.client.address), ..here };

    let get = ["get", "words", "--entry", "salt", "-k", "client.key", "-o", "-"];
    assert_eq!(asker.there(&get), b"blue");
    asker.refused(&["get", "words", "--entry", "sugar", "-k", "client.key", "-o", "x"], "no such key");
    let facts = asker.there(&["get", "lines", "--number", "1", "-k", "client.key", "-o", "r", "--json"]);
    let facts: Value = serde_json::from_slice(&facts).unwrap();
    assert_eq!((&facts["step"], &facts["records"]), (&"get".into(), &2.into()));
    assert_eq!(fs::read(at("r")).unwrap(), b"record 1\n");

    // In several steps, and by the description that the owner has.
    asker.there(&["fetch", "lines", "-o", "lines.lookup"]);
    assert!(fs::read(at("lines.lookup")).unwrap() == fs::read(at("all/lines/description.lookup")).unwrap());
    asker.here(&["query", "lines.lookup", "--number", "0", "-k", "client.key", "-o", "q"]);
    asker.there(&["answer", "lines", "q", "-o", "a"]);
    let read = ["read", "lines.lookup", "a", "--number", "0", "-k", "client.key", "-o", "-"];
    assert_eq!(asker.here(&read), b"record 0\n");

    asker.refused(&["answer", "words", "q", "-o", "x"], "is for database");
    asker.refused(&["answer", "lines", "client.key", "-o", "x"], "query is damaged");
    asker.refused(&["answer", "lines", "words.tsv", "-o", "x"], "query is damaged");
    asker.refused(&["fetch", "none", "-o", "x"], "no such database");
    asker.refused(&["fetch", "../jobs", "-o", "x"], "not the name of a database");
    asker.refused(&["get", "lines", "--number", "2", "-k", "client.key", "-o", "x"], "no record 2");

    // Another version is served once the service is told of it.
    fs::write(at("more"), "record 2\n").unwrap();
    asker.here(&["append", "all/lines", "more"]);
    service.signal(rustix::process::Signal::HUP);
    service.logged(|line| line.to_string().contains("read again"));
    asker.refused(&["answer", "lines", "q", "-o", "x"], "is for database");
    assert_eq!(asker.there(&["get", "lines", "--number", "2", "-k", "client.key", "-o", "-"]), b"record 2\n");
}
