//! Checks that the contents, links and programs of the guide in docs/guide are consistent, whether
//! or not mdBook is there to build it.

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
