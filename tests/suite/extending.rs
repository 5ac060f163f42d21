//! Every file, type and function that `docs/extending.md` names is in the tree, so that whoever
//! follows the page finds it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The sources of Rust in a folder, and in all folders in it.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The words of a source: what names are made of.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// A source: the modules of its path, crates with underscores, and its words.
struct Source {
    modules: BTreeSet<String>,
    words: BTreeSet<String>,
}

/// The definitions of the tree, and the files that hold them.
struct Tree {
    /// The files that define an item of a name.
    items: BTreeMap<String, Vec<usize>>,
    files: Vec<Source>,
}

impl Tree {
    fn read() -> Self {
        const DEFINING: [&str; 9] =
            ["fn", "struct", "enum", "trait", "mod", "const", "static", "type", "macro_rules"];
        let mut paths = Vec::new();
        ["crates", "src"].iter().for_each(|folder| sources(&root().join(folder), &mut paths));
        let mut items: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut files = Vec::new();
        for (at, path) in paths.iter().enumerate() {
            let text = std::fs::read_to_string(path).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let mut last = "";
            for word in code.flat_map(words) {
                if DEFINING.contains(&last) {
                    items.entry(word.to_owned()).or_default().push(at);
                }
                last = word;
            }
            let module = path.with_extension("");
            let modules = module.iter().map(|part| part.to_str().unwrap().replace('-', "_")).collect();
            files.push(Source { modules, words: words(&text).map(str::to_owned).collect() });
        }
        Self { items, files }
    }

    /// The files that define an item of this name.
    fn defining(&self, name: &str) -> impl Iterator<Item = &Source> {
        self.items.get(name).into_iter().flatten().map(|&at| &self.files[at])
    }

    /// Whether a name, or the path to one, is defined: `Scheme`, `note::Content`, `Enum::Variant`.
    fn has(&self, path: &str) -> bool {
        let name = path.trim_end_matches('!');
        let Some((parent, name)) = name.rsplit_once("::") else {
            return self.defining(name).next().is_some();
        };
        let parent = parent.rsplit("::").next().unwrap();
        match parent.starts_with(char::is_uppercase) {
            true => self.defining(parent).any(|source| source.words.contains(name)),
            false => self.defining(name).any(|source| source.modules.contains(parent)),
        }
    }
}

/// Whether a path is there; a star stands for the name of any file.
fn exists(path: &str) -> bool {
    match path.split_once('*') {
        None => root().join(path).exists(),
        Some((folder, ending)) => std::fs::read_dir(root().join(folder)).is_ok_and(|mut entries| {
            entries.any(|entry| entry.unwrap().file_name().to_str().unwrap().ends_with(ending))
        }),
    }
}

#[test]
fn what_the_page_names_is_there() {
    let text = std::fs::read_to_string(root().join("docs/extending.md")).unwrap();
    let tree = Tree::read();
    let is_name = |code: &str| code.chars().all(|c| c.is_alphanumeric() || "_:!".contains(c));
    let (mut paths, mut names) = (0, 0);
    for code in text.split('`').skip(1).step_by(2) {
        if code.contains('/') {
            assert!(exists(code), "there is no {code}");
            paths += 1;
        } else {
            assert!(is_name(code) && tree.has(code), "nothing is called {code}");
            names += 1;
        }
    }
    assert!(paths > 20 && names > 30, "{paths} paths, {names} names");
    // The check can fail.
    for absent in ["pairwise::Operator", "Scheme::OPERATIONS", "note::Contents", "args::eval::NoSuchType"] {
        assert!(!tree.has(absent), "{absent}");
    }
    assert!(tree.has("ContentError::Weight") && !exists("crates/he-cli/src/operations.rs"));
}
