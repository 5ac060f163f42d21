//! Prose keeps to the rules of `docs/style.md` that a program can check: the width of comments and
//! of documentation, and one turn of phrase that used to be common here. And no file is left as a
//! merge left it.

use std::path::{Path, PathBuf};

/// The greatest width of prose, in columns.
const WIDTH: usize = 100;

/// Folders with prose. Kernels are not among them: their PTX carries the checksum of every line.
const FOLDERS: [&str; 9] = ["benches", "crates", "docs", "examples", "fuzz", "python", "sql", "src", "tests"];

/// A line of a file, with its number from 1.
type Line<'a> = (usize, &'a str);

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of a folder, and of all folders in it, with this ending.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                files(&path, ending, found);
            }
        } else if path.extension().is_some_and(|found| found == ending) {
            found.push(path);
        }
    }
}

fn all_files(ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    FOLDERS.iter().for_each(|folder| files(&root().join(folder), ending, &mut found));
    let entries = std::fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    found.extend(entries.filter(|path| path.extension().is_some_and(|found| found == ending)));
    found.sort();
    found
}

/// The lines outside of fenced programs; `text` yields the part of a line that is prose, if any.
fn prose<'a>(source: &'a str, text: impl Fn(&'a str) -> Option<&'a str>) -> Vec<(Line<'a>, &'a str)> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for (at, line) in source.lines().enumerate() {
        let Some(text) = text(line) else {
            fenced = false;
            continue;
        };
        if text.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            lines.push(((at + 1, line), text));
        }
    }
    lines
}

/// The text of a line that is a comment, without its slashes.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    ["///", "//!", "//"].iter().find_map(|slashes| line.strip_prefix(slashes))
}

/// Every file with prose, its path in the repository, and its lines of prose.
fn every_prose(mut check: impl FnMut(&str, &[(Line<'_>, &str)])) {
    for ending in ["rs", "md"] {
        for path in all_files(ending) {
            let source = std::fs::read_to_string(&path).unwrap();
            let lines = if ending == "rs" { prose(&source, comment) } else { prose(&source, Some) };
            check(&path.strip_prefix(root()).unwrap().display().to_string(), &lines);
        }
    }
}

/// Tables, links and images cannot be wrapped.
fn may_be_wide(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('|') && text.ends_with('|') || text.contains("](") || text.contains("://")
}

#[test]
fn prose_has_at_most_100_columns() {
    let mut wide = Vec::new();
    every_prose(|path, lines| {
        for ((at, line), text) in lines {
            let columns = line.chars().count();
            if columns > WIDTH && !may_be_wide(text) {
                wide.push(format!("{path}:{at}: {columns} columns"));
            }
        }
    });
    assert!(wide.is_empty(), "wrap these lines at {WIDTH} columns:\n{}", wide.join("\n"));
}

#[test]
fn no_merge_is_left_unfinished() {
    let mut found = Vec::new();
    for ending in ["rs", "md", "toml", "sh", "py", "js", "html", "css", "cu", "cuh"] {
        for path in all_files(ending) {
            let source = std::fs::read_to_string(&path).unwrap();
            let marks = source.lines().enumerate().filter(|(_, line)| {
                ["<", "|", ">"].iter().any(|mark| line.starts_with(&format!("{} ", mark.repeat(7))))
            });
            found.extend(marks.map(|(at, _)| format!("{}:{}", path.display(), at + 1)));
        }
    }
    assert!(found.is_empty(), "finish the merges in\n{}", found.join("\n"));
}

/// Whether three words in a row, the first of which may be empty, deny a noun with "no" where
/// idiomatic English has "not a". Sentences with "there" and comparatives pass.
fn denies_a_noun(before: &str, verb: &str, no: &str, after: &str) -> bool {
    let verbs = ["is", "are", "was", "were"];
    let comparative = after.ends_with("er") || ["more", "less", "worse"].contains(&after);
    verbs.contains(&verb) && no == "no" && before != "there" && !comparative
}

#[test]
fn nothing_is_no_noun() {
    assert!(denies_a_noun("that", "is", "no", "key") && !denies_a_noun("there", "is", "no", "key"));
    assert!(!denies_a_noun("which", "is", "no", "longer"));
    let mut found = Vec::new();
    every_prose(|path, lines| {
        let words: Vec<(usize, String)> = lines
            .iter()
            .flat_map(|((at, _), text)| text.split_whitespace().map(|word| (*at, word.to_lowercase())))
            .collect();
        for four in words.windows(4) {
            let [(_, before), (_, verb), (at, no), (_, after)] = four else { unreachable!() };
            if denies_a_noun(before, verb, no, after) {
                found.push(format!("{path}:{at}: \"{verb} {no} {after}\""));
            }
        }
    });
    assert!(found.is_empty(), "write \"not a\" instead of \"no\":\n{}", found.join("\n"));
}
