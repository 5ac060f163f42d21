//! Checks that the contents, links and programs of the guide in docs/guide are consistent, whether
//! or not mdBook is there to build it, and that the files exist which all documents name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/src")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text without fenced code.
fn prose(text: &str) -> String {
    let mut code = false;
    let outside = text.lines().filter(|line| {
        let fence = line.starts_with("```");
        code ^= fence;
        !fence && !code
    });
    outside.map(|line| format!("{line}\n")).collect()
}

/// Targets of `[text](target)`.
fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1);
    targets.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned()).collect()
}

/// The anchors of headings as mdBook makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
    let kept = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let anchor = |heading: &str| -> String {
        let heading = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        heading.chars().filter(|&c| kept(c)).collect()
    };
    headings.map(anchor).collect()
}

fn chapters() -> Vec<String> {
    links(&read(&source().join("SUMMARY.md")))
}

#[test]
fn every_chapter_is_in_the_summary_once() {
    let listed = chapters();
    let set: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
    assert_eq!(set.len(), listed.len(), "a chapter is listed twice: {listed:?}");
    let files = std::fs::read_dir(source()).unwrap().map(|entry| entry.unwrap().file_name());
    let files: BTreeSet<String> = files.map(|name| name.into_string().unwrap()).collect();
    let files: BTreeSet<&str> =
        files.iter().map(String::as_str).filter(|&name| name != "SUMMARY.md").collect();
    assert_eq!(files, set);
}

/// mdBook accepts a title and a list of links as contents.
#[test]
fn the_summary_is_a_list_of_links() {
    let text = read(&source().join("SUMMARY.md"));
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let item = line.trim_start().trim_start_matches("- ");
        let is_link = item.starts_with('[') && item.ends_with(".md)") && links(item).len() == 1;
        assert!(is_link || line.starts_with("# "), "SUMMARY.md: {line}");
    }
}

/// The book's settings are tables of texts and truth values, and its chapters are where they say.
#[test]
fn the_settings_are_read() {
    let text = read(&source().join("../book.toml"));
    for line in text.lines().filter(|line| !line.is_empty()) {
        let is_table = line.starts_with('[') && line.ends_with(']');
        let is_value = line.split_once(" = ").is_some_and(|(_, value)| {
            let quoted = value.len() > 1 && value.starts_with('"') && value.ends_with('"');
            quoted || ["true", "false"].contains(&value)
        });
        assert!(is_table || is_value, "book.toml: {line}");
    }
    assert!(text.contains("src = \"src\""), "{text}");
}

#[test]
fn links_lead_somewhere() {
    for chapter in chapters() {
        let text = prose(&read(&source().join(&chapter)));
        for link in links(&text) {
            assert!(!link.contains("://"), "{chapter}: {link}: chapters link to chapters alone");
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let file = if file.is_empty() { chapter.as_str() } else { file };
            let target = source().join(file);
            assert!(target.is_file(), "{chapter}: {link}: there is no such chapter");
            let anchors = anchors(&prose(&read(&target)));
            assert!(anchor.is_empty() || anchors.contains(anchor), "{chapter}: {link}: not in {anchors:?}");
        }
    }
}

/// Programs are documentation tests of the facade: a chapter that has one is included there.
#[test]
fn programs_of_every_chapter_are_tested() {
    let facade = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs"));
    for chapter in chapters() {
        let text = read(&source().join(&chapter));
        let fences: Vec<&str> = text.lines().filter(|line| line.starts_with("```")).collect();
        assert!(fences.len().is_multiple_of(2), "{chapter}: code that does not end");
        for opening in fences.iter().step_by(2) {
            // Tests of the package run `python`; `py` needs a cluster or further packages. Tests of
            // web/client run `js`. `text` is a file that commands read.
            assert!(
                ["```rust", "```toml", "```sh", "```python", "```py", "```js", "```text"].contains(opening),
                "{chapter}: {opening}: code of which kind?"
            );
        }
        if fences.contains(&"```rust") {
            assert!(facade.contains(&format!("docs/guide/src/{chapter}\"")), "{chapter} is not tested");
        }
    }
}

/// Files that the guide names exist.
#[test]
fn files_that_are_named_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for chapter in chapters() {
        for (i, code) in prose(&read(&source().join(&chapter))).split('`').enumerate() {
            let named = ["docs/", "examples/", "SECURITY.md"].iter().any(|start| code.starts_with(start));
            assert!(i % 2 == 0 || !named || root.join(code).exists(), "{chapter}: {code} does not exist");
        }
    }
}

/// The folders of this repository that documents name files of.
const FOLDERS: [&str; 14] = [
    "benches", "crates", "deploy", "docs", "examples", "fuzz", "kernels", "models", "python", "sql", "src",
    "suite", "tests", "web",
];

/// Folders that are built, so that a clone does not have them.
const BUILT: [&str; 1] = ["web/dist"];

/// The documents beside the guide, with their text outside of programs.
fn documents() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = [root.to_owned(), root.join("docs")]
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    let mut found: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    found.sort();
    assert!(found.len() > 15, "{found:?}");
    found.into_iter().map(|path| (path.clone(), prose(&read(&path)))).collect()
}

/// Words of a text that are paths of this repository, whether or not there is such a file.
fn paths(text: &str) -> Vec<&str> {
    let ends = |c: char| c.is_whitespace() || "`()[],;:\"|#".contains(c);
    let words = text.split(ends).map(|word| word.trim_end_matches(['.', '/']));
    let is_path = |word: &&str| {
        let folder = word.split_once('/').map(|(folder, _)| folder);
        folder.is_some_and(|folder| FOLDERS.contains(&folder)) && !word.contains('*')
    };
    words.filter(is_path).collect()
}

#[test]
fn files_that_documents_name_exist() {
    assert_eq!(paths("see `docs/a.md`, tests/b.rs. And kernels/*.cu, src"), ["docs/a.md", "tests/b.rs"]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut missing = Vec::new();
    for (document, text) in documents() {
        let named =
            paths(&text).into_iter().filter(|path| !BUILT.contains(path) && !root.join(path).exists());
        missing.extend(named.map(|path| format!("{}: {path}", document.display())));
        let folder = document.parent().unwrap();
        let links = links(&text).into_iter().filter(|link| !link.contains("://"));
        let files = links.map(|link| link.split_once('#').map_or(link.clone(), |(file, _)| file.to_owned()));
        let gone = files.filter(|file| !file.is_empty() && !folder.join(file).exists());
        missing.extend(gone.map(|file| format!("{}: link to {file}", document.display())));
    }
    assert!(missing.is_empty(), "these do not exist:\n{}", missing.join("\n"));
}
