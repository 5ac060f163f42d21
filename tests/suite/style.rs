//! Prose keeps to the rules of `docs/style.md` that a program can check: the width of comments and
//! of documentation, sentences that name their subject, and one turn of phrase that used to be
//! common here. And no file is left as a merge left it.

use std::path::{Path, PathBuf};

/// The greatest width of prose, in columns.
const WIDTH: usize = 100;

/// Folders with prose. Kernels are not among them: their PTX carries the checksum of every line.
const FOLDERS: [&str; 10] =
    ["benches", "crates", "docs", "examples", "fuzz", "python", "sql", "src", "suite", "tests"];

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

/// Whether a line of prose is a heading or part of a table, which have no sentences.
fn has_no_sentences(text: &str) -> bool {
    text.trim_start().starts_with(['#', '|'])
}

/// Whether a line of prose begins a paragraph of its own: an item of a list.
fn begins_an_item(text: &str) -> bool {
    let text = text.trim_start();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    ["- ", "* ", "+ "].iter().any(|mark| text.starts_with(mark))
        || digits > 0 && [". ", ") "].iter().any(|mark| text[digits..].starts_with(mark))
}

/// The text of an item of a list without its mark.
fn unmarked(text: &str) -> &str {
    let text = text.trim_start();
    let words = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let words = if words.len() < text.len() && !words.starts_with(['.', ')']) { text } else { words };
    words.trim_start_matches(['-', '*', '+', '.', ')']).trim_start()
}

/// The paragraphs of lines of prose, each with its lines: their numbers, and where they begin.
fn paragraphs(lines: &[(Line<'_>, &str)]) -> Vec<(String, Vec<(usize, usize)>)> {
    let mut paragraphs: Vec<(String, Vec<(usize, usize)>)> = Vec::new();
    // The number and the indentation of a line with which a paragraph may go on.
    let mut before: Option<(usize, usize)> = None;
    for ((at, line), text) in lines {
        if text.trim().is_empty() || has_no_sentences(text) {
            before = None;
            continue;
        }
        let is_comment = text.len() < line.len();
        let columns = if is_comment { line.len() - line.trim_start().len() } else { 0 };
        let goes_on = before == Some((at - 1, columns)) && !begins_an_item(text);
        before = Some((*at, columns));
        match paragraphs.last_mut().filter(|_| goes_on) {
            Some((paragraph, starts)) => {
                paragraph.push(' ');
                starts.push((*at, paragraph.len()));
                paragraph.push_str(text.trim());
            }
            None => paragraphs.push((unmarked(text).trim().to_owned(), vec![(*at, 0)])),
        }
    }
    paragraphs
}

/// The sentences of a paragraph, with the places where they begin. Colons end them, too, since a
/// sentence may follow.
fn sentences(paragraph: &str) -> Vec<(usize, &str)> {
    let (mut begin, mut quoted, mut found) = (0, false, Vec::new());
    for (at, c) in paragraph.char_indices() {
        quoted ^= c == '`';
        let before = paragraph[..at].trim_end_matches([')', '"', '*']);
        let follows = paragraph[at..].trim_start();
        if c == ' '
            && !quoted
            && before.ends_with(['.', '?', '!', ':'])
            && follows.starts_with(|c: char| c.is_uppercase() || "`[(\"*".contains(c))
        {
            found.push((begin, &paragraph[begin..at]));
            begin = at + 1;
        }
    }
    found.push((begin, &paragraph[begin..]));
    found
}

/// Whether a sentence begins with a noun clause or a fragment, so that its subject has no name, as
/// in "What it adds is ..." or "Of programs." Questions may begin with "What".
fn hides_its_subject(sentence: &str) -> bool {
    let sentence = sentence.trim_start_matches(['(', '"', '*', '_']);
    let mut words = sentence.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let relative = ["of", "that", "which", "who", "whose", "for", "in", "with", "from", "by", "over", "at"];
    match first.trim_end_matches([':', '.']) {
        "What" => !sentence.trim_end_matches([')', '"', '*', '_']).ends_with('?'),
        "Of" => !second.starts_with("course"),
        "Those" => relative.contains(&second),
        "That" => ["of", "which"].contains(&second),
        _ => false,
    }
}

#[test]
fn subjects_are_found() {
    for hidden in [
        "What leads out of that range is refused.",
        "What it is.",
        "What.",
        "(What is left stays.)",
        "Those of the result.",
        "Those that fill groups compare equal.",
        "Of programs.",
        "Of two tables, one has signs.",
        "That which is left is copied.",
        "That of the first frame.",
    ] {
        assert!(hides_its_subject(hidden), "{hidden}");
    }
    for plain in [
        "What is a level?",
        "(What is a level?)",
        "What's new.",
        "Whatever fails is told.",
        "Whether it waits.",
        "Of course, it waits.",
        "Those levels are kept.",
        "That is all.",
        "The words of what follows.",
        "",
    ] {
        assert!(!hides_its_subject(plain), "{plain}");
    }

    // Sentences go on over lines and begin within them.
    let code = [
        "/// Keeps it. What",
        "/// is left: Of `a. B` no part",
        "/// stays. (What is it?) This.",
        "///",
        "/// - What an",
        "///   item is.",
        "let x; // What is not looked at.",
        "// Those",
        "// of x.",
        "/// # What is a heading",
    ];
    let code = code.join("\n");
    let found: Vec<_> = hidden_subjects(&prose(&code, comment)).collect();
    let found: Vec<_> = found.iter().map(|(at, sentence)| (*at, sentence.as_str())).collect();
    let expected =
        [(1, "What is left:"), (2, "Of `a. B` no part stays."), (5, "What an item is."), (8, "Those of x.")];
    assert_eq!(found, expected);
    let page = "\
# What is a heading
1. What is
   left.
2. Of it.

| What | is a table |

```
What is a program.
```
**Noise.** What is bold.
";
    let found: Vec<usize> = hidden_subjects(&prose(page, Some)).map(|(at, _)| at).collect();
    assert_eq!(found, [2, 4, 11]);
}

/// The sentences of a file that hide their subjects, with their lines.
fn hidden_subjects(lines: &[(Line<'_>, &str)]) -> impl Iterator<Item = (usize, String)> {
    paragraphs(lines).into_iter().flat_map(|(text, starts)| {
        let hidden = sentences(&text).into_iter().filter(|(_, sentence)| hides_its_subject(sentence));
        let hidden = hidden.map(|(begin, sentence)| {
            let line = starts.iter().rev().find(|(_, start)| *start <= begin).map_or(0, |(line, _)| *line);
            (line, sentence.to_owned())
        });
        hidden.collect::<Vec<_>>()
    })
}

#[test]
fn sentences_name_their_subjects() {
    let mut found = Vec::new();
    every_prose(|path, lines| {
        found.extend(hidden_subjects(lines).map(|(at, sentence)| format!("{path}:{at}: {sentence}")));
    });
    assert!(
        found.is_empty(),
        "name the subject of these sentences, as docs/style.md says (\"Language\"):\n{}",
        found.join("\n")
    );
}
