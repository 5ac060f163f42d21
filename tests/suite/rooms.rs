//! The rooms of every crate: directories and files import one another without circles, but for
//! those that are listed here with their reasons. The sources are read, and not compiled.
//!
//! A name counts for the file that defines it, however it is passed on: `pub use` is not an arrow.
//! Arrows between a file and the room that it is in do not count either, nor those of tests.
//!

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Circles that are left, each with its crate, the room that they are in (empty for the crate), the
/// rooms of the circle, and why it stays.
const CIRCLES: &[(&str, &str, &[&str], &str)] = &[
    ("gpu", "", &["buffer", "cuda", "device", "event", "graph", "interop", "module", "stream"], HANDLES),
    ("gpu", "", &["driver", "fork"], "a driver launches branches, which are launches"),
    ("he-any", "", &["engine", "keys", "value"], "an engine computes on values by keys, which it makes"),
    ("he-any", "", &["params", "rlwe"], "parameters of integers are among all parameters"),
    ("he-cli", "commands", &["keygen", "model"], "keys are made for a model, by the same summary"),
    ("he-core", "backend", PROVIDED, TRAIT),
    ("he-core", "backend::cpu", &["key_switch", "rotations"], TRAIT),
    ("he-core", "bigckks", &["noise", "params"], MODEL),
    ("he-core", "circuits::ckks", &["polynomial", "refresher"], "powers are refreshed on the way"),
    ("he-core", "ckks", &["ciphertext", "extended", "levels", "params", "spec"], "scales have 106 bits"),
    ("he-core", "ckks", &["evaluator", "extended_plaintext"], "an evaluator makes and takes them"),
    ("he-core", "exact", &["batching", "params", "scheme"], "a scheme is a parameter of parameters"),
    ("he-core", "exact", &["message", "plaintext"], "one becomes the other"),
    ("he-core", "rlwe", &["keys", "requirements"], "keys are made for requirements, and answer them"),
    ("he-core", "tfhe", &["noise", "params"], MODEL),
    ("he-files", "", FILES, "small circles of files, as crates/he-files/tests/imports.rs counts them"),
    ("he-files", "", &["info", "party"], "transcripts state parameters as info does, which shows them"),
    ("he-files", "data::table", &["decimal", "field"], "numbers are fields"),
    ("he-files", "io::output", &["files", "temporary"], "a file is temporary until it is complete"),
    ("he-files", "party", &["folder", "steps"], "a folder takes the steps on its files"),
    ("he-nn", "", &["approximation", "comparisons", "compiled"], "a model is compiled to approximations"),
    ("he-nn", "onnx", &["constants", "operators"], "operators on constants are folded"),
    ("he-nn", "onnx", &["external", "tensor"], "tensors may be in other files"),
    ("he-nn", "onnx::operators", &["learning", "trees", "vectors"], "they share their attributes"),
    ("he-server", "db", &["objects", "room"], "objects take room, which is counted by objects"),
    ("he-wasm", "", &["session", "tfhe_keys"], "sessions hold keys, whose columns they describe"),
];

/// Reasons that several circles have.
const TRAIT: &str = "the bodies of a trait's operations are beside it";
const MODEL: &str = "parameters are chosen by the noise that they predict";
const HANDLES: &str = "handles of one driver, each of which makes others";

/// The provided bodies of operations on integers, and their trait.
const PROVIDED: &[&str] = &["exact", "greatest_squares", "message_phase", "phase_mod_t", "scaled_tensor"];

/// The rooms of he-files with files of several formats.
const FILES: &[&str] = &[
    "bootstrap",
    "cipher_file",
    "contents",
    "data",
    "file_start",
    "key_file",
    "needs",
    "note",
    "passphrase",
    "publication",
    "scheme",
    "team",
    "tfhe",
    "transcipher",
];

/// Files that may know rooms above them: the enum of all errors wraps theirs.
const ERRORS: &[(&str, &str)] = &[("he-core", "error")];

/// Rooms that are on a floor of their own above the room that has their public path: bootstrapping
/// of integers, and the gates that refresh by it.
const APART: &[(&str, &str)] = &[("he-core", "exact::bootstrapping"), ("he-core", "circuits::bits::packed")];

/// A module: the paths that it names, the names that it passes on, and those that it defines.
#[derive(Default)]
struct Module {
    /// Absolute paths, from `crate` on.
    named: Vec<Vec<String>>,
    /// The names of `pub use`, and the paths behind them; of `*`, the paths of modules.
    passed: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    defined: BTreeSet<String>,
}

/// The arrows of a crate: from each file, by its module path, to the files whose names it uses.
struct Arrows(BTreeMap<Vec<String>, BTreeMap<Vec<String>, BTreeSet<String>>>);

/// The code of a file without comments and without its tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let uncommented = text.lines().map(|line| match line.find("//") {
        Some(at) if line[..at].matches('"').count().is_multiple_of(2) => line[..at].trim_end(),
        _ => line,
    });
    uncommented.collect::<Vec<_>>().join("\n")
}

/// The paths in a tree of imports, each with the name that it gets: `a::{b, c::d as e}` is `a::b`
/// and `a::c::d`.
fn expand(tree: &str, before: &[String], paths: &mut Vec<(Vec<String>, String)>) {
    let with = |part: &str| {
        let more = part.split("::").map(str::trim).filter(|name| !name.is_empty());
        before.iter().cloned().chain(more.map(str::to_owned)).collect::<Vec<_>>()
    };
    let Some((start, inner)) = tree.split_once('{') else {
        let (path, name) = tree.split_once(" as ").map_or((tree, None), |(path, name)| (path, Some(name)));
        let mut path = with(path);
        path.pop_if(|last| *last == "self");
        let Some(last) = path.last().cloned() else { return };
        paths.push((path, name.map_or(last, |name| name.trim().to_owned())));
        return;
    };
    let (before, mut depth, mut part) = (with(start), 0, String::new());
    for c in inner.chars() {
        match c {
            ',' | '}' if depth == 0 => {
                if !part.trim().is_empty() {
                    expand(&std::mem::take(&mut part), &before, paths);
                }
                part.clear();
            }
            c => {
                depth += i32::from(c == '{') - i32::from(c == '}');
                part.push(c);
            }
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Paths in code that begin with this word.
fn paths_from<'a>(code: &'a str, first: &'a str) -> impl Iterator<Item = Vec<String>> + 'a {
    code.match_indices(first).filter_map(move |(at, _)| {
        let goes_on = code[..at].ends_with(|c: char| is_word(c) || c == ':' || c == '$');
        let path = code[at..].split(|c: char| !is_word(c) && c != ':').next()?;
        let path: Vec<String> = path.split("::").map(str::to_owned).collect();
        let whole = path.len() > 1 && path[0] == first;
        (!goes_on && whole).then(|| path.into_iter().filter(|name| !name.is_empty()).collect())
    })
}

/// The path from the root of the crate, if it is one in the crate.
fn absolute(own: &[String], path: &[String], modules: &BTreeSet<Vec<String>>) -> Option<Vec<String>> {
    let mut from = own.to_vec();
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" => {
            from.clear();
            rest = &rest[1..];
        }
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|name| name == "super") {
                from.pop()?;
                rest = &rest[1..];
            }
        }
        child => {
            let inside = [&from[..], &[child.to_owned()]].concat();
            modules.contains(&inside).then_some(())?;
        }
    }
    Some([&from[..], rest].concat())
}

impl Module {
    fn read(own: &[String], text: &str, modules: &BTreeSet<Vec<String>>) -> Self {
        let mut module = Self::default();
        let code = code(text);
        let (mut others, mut uses) = (String::new(), Vec::new());
        let mut open: Option<(bool, String)> = None;
        for line in code.lines() {
            let begin = line.trim_start();
            let is_public = begin.starts_with("pub ") || begin.starts_with("pub(");
            let after = if is_public { begin.split_once(' ').map_or("", |(_, after)| after) } else { begin };
            match (&mut open, after.strip_prefix("use ")) {
                (Some((_, tree)), _) => tree.push_str(line),
                (None, Some(tree)) => open = Some((is_public, tree.to_owned())),
                (None, None) => others.extend([line, "\n"]),
            }
            if let Some((is_public, tree)) = open.take_if(|(_, tree)| tree.ends_with(';')) {
                let mut paths = Vec::new();
                expand(tree.trim_end_matches(';'), &[], &mut paths);
                uses.extend(paths.into_iter().map(|(path, name)| (is_public, path, name)));
            }
        }
        for (is_public, path, name) in uses {
            let Some(mut path) = absolute(own, &path, modules) else { continue };
            let is_glob = path.pop_if(|last| *last == "*").is_some();
            if modules.contains(&path) && !is_public && !is_glob {
                // A module: what is named below it.
                for below in paths_from(&others, &name) {
                    module.named.push([&path[..], &below[1..]].concat());
                }
            }
            match (is_public, is_glob) {
                (true, true) => module.globs.push(path),
                (true, false) => drop(module.passed.insert(name, path)),
                (false, _) => module.named.push(path),
            }
        }
        for first in ["crate", "super"] {
            let paths = paths_from(&others, first);
            module.named.extend(paths.filter_map(|path| absolute(own, &path, modules)));
        }
        let words: Vec<&str> = others.split(|c| !is_word(c)).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            let defines =
                ["struct", "enum", "trait", "fn", "type", "const", "static", "macro_rules", "union"];
            if defines.contains(&pair[0]) {
                module.defined.insert(pair[1].to_owned());
            }
        }
        module
    }
}

/// All files below a folder that end in `.rs`, but for tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if ["tests", "testing"].contains(&&*name) {
            continue;
        }
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files
}

/// `a/b.rs` and `a/b/mod.rs` are both `a::b`; the root is empty.
fn module_of(path: &Path) -> Vec<String> {
    let path = path.with_extension("");
    let mut parts: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    parts.pop_if(|last| ["mod", "lib", "main"].contains(&&**last));
    parts
}

impl Arrows {
    fn of_folder(root: &Path) -> Self {
        let files = sources(root).into_iter().map(|file| {
            let text = std::fs::read_to_string(&file).unwrap();
            (module_of(file.strip_prefix(root).unwrap()), text)
        });
        Self::of(&files.collect())
    }

    fn of(files: &BTreeMap<Vec<String>, String>) -> Self {
        let paths: BTreeSet<Vec<String>> = files.keys().cloned().collect();
        let modules: BTreeMap<&Vec<String>, Module> =
            files.iter().map(|(own, text)| (own, Module::read(own, text, &paths))).collect();
        let arrows = modules.iter().map(|(own, module)| {
            let mut to: BTreeMap<Vec<String>, BTreeSet<String>> = BTreeMap::new();
            for path in &module.named {
                let at = resolve(&modules, path, 0);
                if !own.starts_with(&at) && !at.starts_with(own) {
                    to.entry(at).or_default().extend(path.last().cloned());
                }
            }
            ((*own).clone(), to)
        });
        Self(arrows.collect())
    }

    /// The arrows between the rooms of a room, each with those of files.
    fn between(&self, room: &[String]) -> Rooms {
        let child = |path: &[String]| path.strip_prefix(room)?.first().cloned();
        let mut rooms = Rooms::new();
        for (from, to) in &self.0 {
            let Some(here) = child(from) else { continue };
            for (at, names) in to {
                let Some(there) = child(at).filter(|there| *there != here) else { continue };
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let told = format!("{} -> {} ({})", from.join("::"), at.join("::"), names.join(", "));
                rooms.entry(here.clone()).or_default().entry(there).or_default().push(told);
            }
        }
        rooms
    }

    /// The rooms that have rooms.
    fn parents(&self) -> BTreeSet<Vec<String>> {
        self.0.keys().filter_map(|path| path.split_last()).map(|(_, parent)| parent.to_vec()).collect()
    }
}

/// The file that defines what a path names: the longest module, and where its name comes from.
fn resolve(modules: &BTreeMap<&Vec<String>, Module>, path: &[String], steps: u32) -> Vec<String> {
    let length = (0..=path.len()).rev().find(|&length| modules.contains_key(&path[..length].to_vec()));
    let (at, rest) = path.split_at(length.unwrap_or(0));
    let (Some(module), Some((name, below))) = (modules.get(&at.to_vec()), rest.split_first()) else {
        return at.to_vec();
    };
    if module.defined.contains(name) || steps > 8 {
        return at.to_vec();
    }
    if let Some(passed) = module.passed.get(name) {
        return resolve(modules, &[passed, below].concat(), steps + 1);
    }
    let found = module.globs.iter().map(|glob| resolve(modules, &[glob, rest].concat(), steps + 1));
    let found = found.into_iter().find(|at| modules[at].defined.contains(name));
    found.unwrap_or_else(|| at.to_vec())
}

/// Rooms, the rooms whose names they use, and where.
type Rooms = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// All that a room knows, directly or by way of others.
fn reached<'a>(rooms: &'a Rooms, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&str> = rooms.get(from).into_iter().flatten().map(|(to, _)| to.as_str()).collect();
    while let Some(room) = waiting.pop() {
        if reached.insert(room) {
            waiting.extend(rooms.get(room).into_iter().flatten().map(|(to, _)| to.as_str()));
        }
    }
    reached
}

/// Rooms that know one another, the largest circle first.
fn circles(rooms: &Rooms) -> Vec<Vec<&str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        rooms.keys().map(|room| (room.as_str(), reached(rooms, room))).collect();
    let mut circles: Vec<Vec<&str>> = Vec::new();
    for room in rooms.keys().map(String::as_str) {
        if !reached[room].contains(room) || circles.iter().flatten().any(|&other| other == room) {
            continue;
        }
        let same = |other: &&str| reached[room].contains(other) && reached[*other].contains(room);
        circles.push(rooms.keys().map(String::as_str).filter(same).collect());
    }
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

fn source_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates").join(name).join("src")
}

fn path(text: &str) -> Vec<String> {
    text.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The arrows of a crate of this repository: without the files of all errors, and rooms that are
/// apart as rooms of the crate.
fn arrows_of(name: &str) -> Arrows {
    let Arrows(mut arrows) = Arrows::of_folder(&source_of(name));
    ERRORS.iter().filter(|(of, _)| *of == name).for_each(|(_, file)| drop(arrows.remove(&path(file))));
    let moved =
        |at: Vec<String>| match APART.iter().find(|(of, room)| *of == name && at.starts_with(&path(room))) {
            Some((_, room)) => {
                let below = at[path(room).len()..].iter().cloned();
                std::iter::once((*room).to_owned()).chain(below).collect()
            }
            None => at,
        };
    let arrows = arrows.into_iter().map(|(from, to)| {
        let to = to.into_iter().map(|(at, names)| (moved(at), names)).collect();
        (moved(from), to)
    });
    Arrows(arrows.collect())
}

#[test]
fn rooms_import_one_another_without_circles() {
    let crates = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("crates")).unwrap();
    let mut crates: Vec<String> =
        crates.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    crates.sort();
    let mut left = BTreeSet::new();
    let mut new = Vec::new();
    for name in crates.iter().filter(|name| source_of(name).is_dir()) {
        let arrows = arrows_of(name);
        for room in arrows.parents() {
            let rooms = arrows.between(&room);
            for circle in circles(&rooms) {
                let known = CIRCLES.iter().position(|(of, inside, known, _)| {
                    of == name && path(inside) == room && circle.iter().all(|room| known.contains(room))
                });
                if let Some(known) = known {
                    left.insert(known);
                    continue;
                }
                new.push(format!("{name}, in {:?}: {}", room.join("::"), circle.join(", ")));
                let inside = rooms.iter().filter(|(from, _)| circle.contains(&from.as_str()));
                let inside = inside.flat_map(|(_, to)| to).filter(|(to, _)| circle.contains(&to.as_str()));
                new.extend(inside.flat_map(|(_, told)| told).map(|told| format!("    {told}")));
            }
        }
    }
    assert!(new.is_empty(), "these rooms know one another:\n{}", new.join("\n"));
    let gone: Vec<_> = (0..CIRCLES.len()).filter(|at| !left.contains(at)).map(|at| CIRCLES[at]).collect();
    assert!(gone.is_empty(), "take these from the list, for there is no circle any more: {gone:?}");
}

#[test]
fn imports_are_read() {
    let files = [
        ("", "pub mod a;\npub mod b;\n"),
        ("a", "use crate::b::{self, c::{D as F}};\nuse std::io;\nfn f() { b::e(); }\n"),
        // A name that is passed on counts where it is defined.
        ("b", "pub mod c;\nmod d;\npub(crate) use d::e;\npub use crate::z::*;\n"),
        ("b::c", "use crate::a::f; // crate::z\n/// crate::z::Y\npub struct D;\n"),
        ("b::d", "fn e() { crate::b::Y }\n#[cfg(test)]\nmod tests {\n    use crate::b::c::D;\n}\n"),
        ("z", "use super::a::f;\npub struct Y;\n"),
    ];
    let files = files.into_iter().map(|(name, text)| (path(name), text.to_owned())).collect();
    let arrows = Arrows::of(&files);
    let of = |name: &str| {
        let to = arrows.0[&path(name)].iter();
        to.map(|(at, names)| format!("{} {names:?}", at.join("::"))).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(of("a"), r#"b {"b"}, b::c {"D"}, b::d {"e"}"#);
    assert_eq!([of("b"), of("b::c"), of("b::d"), of("z")], ["", r#"a {"f"}"#, r#"z {"Y"}"#, r#"a {"f"}"#]);
    assert_eq!(circles(&arrows.between(&[])), [["a", "b", "z"]]);
    assert!(circles(&arrows.between(&path("b"))).is_empty());
}
