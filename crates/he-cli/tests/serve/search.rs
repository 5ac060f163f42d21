//! Indexes on a service by the command line: sent, asked, brought up to date, withdrawn.

use crate::{Process, done, he};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of somebody with an index, and a token for a service.
struct Somebody {
    folder: PathBuf,
    url: String,
    token: String,
}

impl Somebody {
    fn call(&self, words: &[&str]) -> Command {
        let mut command = he();
        command.arg("search").args(words).current_dir(&self.folder).env_remove("HE_TOKEN");
        command
    }

    fn here(&self, words: &[&str]) -> Vec<u8> {
        done(&mut self.call(words))
    }

    fn remote(&self, words: &[&str]) -> Command {
        let mut command = self.call(words);
        command.args(["--server", &self.url]).env("HE_TOKEN", &self.token);
        command
    }

    fn there(&self, words: &[&str]) -> Value {
        let mut command = self.remote(words);
        serde_json::from_slice(&done(command.arg("--json"))).unwrap()
    }

    #[track_caller]
    fn refused(&self, words: &[&str], said: &str) {
        let output = self.remote(words).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && text.contains(said) && text.contains("hint"),
            "{words:?}: {text}"
        );
        assert!(!self.folder.join("x.he").exists());
    }

    /// The table of the answer there.
    fn asked(&self, id: &str, more: &[&str]) -> String {
        let answer = ["answer", id, "q.he", "-o", "a.he", "--force"];
        self.there(&[&answer, more].concat());
        let here = ["answer", "index", "q.he", "-k", "keys/eval.key", "-o", "b.he", "--force"];
        self.here(&here);
        let read = |name: &str| fs::read(self.folder.join(name)).unwrap();
        assert!(read("a.he") == read("b.he"), "the answer is that of the folder");
        String::from_utf8(self.here(&["read", "a.he", "-k", "keys/secret.key", "-o", "-"])).unwrap()
    }
}

/// The slots of a table of the nearest records.
fn slots(table: &str) -> Vec<&str> {
    table.lines().skip(1).map(|row| row.split(',').nth(1).unwrap()).collect()
}

fn somebody(service: &Process, data: &Path, folder: &Path) -> Somebody {
    let token = done(he().args(["serve", "token", "add", "alice", "--data"]).arg(data));
    let token = String::from_utf8(token).unwrap().trim().to_owned();
    let url = format!("http://{}", service.client.address);
    let alice = Somebody { folder: folder.to_owned(), url, token };
    for (name, table) in [("a", "3,4\n1,0\n-2,0\n"), ("b", "1,1\n0.5,-0.1\n"), ("q", "1,0.2\n")] {
        fs::write(folder.join(format!("{name}.csv")), table).unwrap();
    }
    alice.here(&["create", "index", "--dimension", "2", "--rank", "--records", "100"]);
    alice.here(&["keygen", "index", "-o", "keys"]);
    alice.here(&["append", "index", "a.csv", "--no-header", "-k", "keys/secret.key"]);
    alice.here(&["query", "index", "q.csv", "--no-header", "-k", "keys/secret.key", "-o", "q.he"]);
    alice
}

#[test]
fn an_index_is_sent_asked_and_withdrawn() {
    let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let service = Process::start(data.path(), |_| {});
    let alice = somebody(&service, data.path(), folder.path());
    let sent = alice.there(&["upload", "index", "-k", "keys/eval.key"]);
    let id = sent["id"].as_str().unwrap();
    assert_eq!((&sent["step"], &sent["sent_files"]), (&"upload".into(), &1.into()));
    assert_eq!(slots(&alice.asked(id, &[])), ["1", "0", "2"]);

    // Changes of the folder are made there.
    alice.here(&["append", "index", "b.csv", "--no-header", "-k", "keys/secret.key"]);
    alice.here(&["delete", "index", "0:0"]);
    assert_eq!(alice.there(&["upload", "index", "--to", id])["sent_files"], 1);
    assert_eq!(alice.there(&["upload", "index", "--to", id])["sent_files"], 0);
    assert_eq!(slots(&alice.asked(id, &["--want", "scores", "-k", "keys/eval.key"])), ["1", "4", "3", "2"]);

    // A merged index has other files, and another one has other keys.
    alice.here(&["merge", "index"]);
    alice.refused(&["upload", "index", "--to", id], "not an earlier state");
    let unknown = "0123456789abcdef0123456789abcdef";
    let answer = |id: &str, query: &str| ["answer", id, query, "-o", "x.he"].map(str::to_owned).to_vec();
    for (words, said) in [
        (answer(unknown, "q.he"), "no such index"),
        (answer("../jobs", "q.he"), "not the id of an index"),
        (answer("index", "q.he"), "no such index"),
        (answer(id, "index/000002.he"), "a query is needed"),
        (answer(id, "q.csv"), "not"),
        (answer(id, "keys/secret.key"), "secret"),
        (["withdraw", unknown].map(str::to_owned).to_vec(), "no such index"),
        (["upload", "index", "-k", "keys/secret.key"].map(str::to_owned).to_vec(), "secret"),
        (["upload", "keys", "-k", "keys/eval.key"].map(str::to_owned).to_vec(), "not the folder of an index"),
    ] {
        alice.refused(&words.iter().map(String::as_str).collect::<Vec<_>>(), said);
    }
    // A guest would lose it.
    let mut guest = alice.remote(&["upload", "index", "-k", "keys/eval.key"]);
    let said = guest.env_remove("HE_TOKEN").output().unwrap();
    assert!(String::from_utf8_lossy(&said.stderr).contains("token"));
    let lost = alice.call(&["upload", "index", "-k", "keys/eval.key"]).output().unwrap();
    assert!(String::from_utf8_lossy(&lost.stderr).contains("--server"));

    alice.there(&["withdraw", id]);
    let of = |path: &str| {
        let client = crate::Client { token: Some(alice.token.clone()), ..service.client.clone() };
        client.get(path).expect(200).json()["items"].as_array().unwrap().len()
    };
    assert_eq!(["/v1/indexes", "/v1/objects", "/v1/key-sets"].map(of), [0; 3]);
}
