//! The imports among the modules: few layers, small cycles, and no arrow between what is encrypted
//! and how a scheme encrypts it, but for those that are listed here.
//!
//! `HE_IMPORTS=path/to/src cargo test -p he-files --test imports -- --nocapture` counts the
//! modules, layers and cycles of any sources.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules of a crate, by their paths (`contents::tables`), and those that each imports.
struct Imports(BTreeMap<String, BTreeSet<String>>);

/// All files below a folder that end in `.rs`.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files
}

/// `src/a/b.rs` and `src/a/b/mod.rs` are both `a::b`; the root is empty.
fn module(root: &Path, file: &Path) -> String {
    let inside = file.strip_prefix(root).unwrap().with_extension("");
    let mut parts: Vec<&str> = inside.iter().map(|part| part.to_str().unwrap()).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(last)) {
        parts.pop();
    }
    parts.join("::")
}

/// The paths that a `use` names, without the braces: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(tree: &str, prefix: &str, paths: &mut Vec<String>) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap().trim();
        paths.push(format!("{prefix}{path}"));
        return;
    };
    let prefix = format!("{prefix}{}", &tree[..open]);
    let (mut depth, mut start) = (0, open + 1);
    for (at, c) in tree.char_indices().skip(open + 1) {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                if !tree[start..at].trim().is_empty() {
                    expand(&tree[start..at], &prefix, paths);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

impl Imports {
    /// Collects the imports of the sources in a folder; those of tests do not count.
    fn of(root: &Path) -> Self {
        let files = sources(root);
        let modules: BTreeSet<String> = files.iter().map(|file| module(root, file)).collect();
        let mut imports = BTreeMap::new();
        for file in &files {
            let own = module(root, file);
            let text = fs::read_to_string(file).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            let mut paths = Vec::new();
            for line in text.split(';') {
                let Some(at) = line.find("use ") else { continue };
                if !line[..at].trim_end().is_empty() && !line[..at].ends_with(['\n', ' ']) {
                    continue;
                }
                let tree = &line[at + 4..];
                let parent = own.rsplit_once("::").map_or("", |(parent, _)| parent);
                let absolute = match tree.trim() {
                    tree if tree.starts_with("crate::") => tree["crate::".len()..].to_owned(),
                    tree if tree.starts_with("self::") => format!("{own}::{}", &tree["self::".len()..]),
                    tree if tree.starts_with("super::") => format!("{parent}::{}", &tree["super::".len()..]),
                    _ => continue,
                };
                expand(absolute.trim_start_matches("::"), "", &mut paths);
            }
            let mut named = BTreeSet::new();
            for path in paths {
                // The longest beginning that is a module.
                let mut path = path.as_str();
                loop {
                    if modules.contains(path) {
                        if path != own && !path.is_empty() {
                            named.insert(path.to_owned());
                        }
                        break;
                    }
                    let Some((shorter, _)) = path.rsplit_once("::") else { break };
                    path = shorter;
                }
            }
            if !own.is_empty() {
                imports.insert(own, named);
            }
        }
        Self(imports)
    }

    /// All that a module imports, directly or by way of others.
    fn reached(&self, from: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut waiting: Vec<&str> = self.0[from].iter().map(String::as_str).collect();
        while let Some(module) = waiting.pop() {
            if reached.insert(module) {
                waiting.extend(self.0[module].iter().map(String::as_str));
            }
        }
        reached
    }

    /// Modules that import one another in a circle, the largest circle first.
    fn cycles(&self) -> Vec<Vec<&str>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.0.keys().map(|module| (module.as_str(), self.reached(module))).collect();
        let mut cycles: Vec<Vec<&str>> = Vec::new();
        for module in self.0.keys().map(String::as_str) {
            if cycles.iter().flatten().any(|&other| other == module) || !reached[module].contains(module) {
                continue;
            }
            let same = |other: &&str| reached[module].contains(other) && reached[*other].contains(module);
            cycles.push(self.0.keys().map(String::as_str).filter(same).collect());
        }
        cycles.sort_by_key(|cycle| std::cmp::Reverse(cycle.len()));
        cycles
    }

    /// The longest chain of imports, a cycle being one.
    fn layers(&self) -> usize {
        fn height<'a>(
            imports: &'a Imports,
            of: &BTreeMap<&'a str, usize>,
            group: usize,
            known: &mut BTreeMap<usize, usize>,
        ) -> usize {
            if let Some(&height) = known.get(&group) {
                return height;
            }
            let members = imports.0.keys().filter(|module| of[module.as_str()] == group);
            let below: BTreeSet<usize> =
                members.flat_map(|module| &imports.0[module]).map(|to| of[to.as_str()]).collect();
            let tallest = below.into_iter().filter(|&other| other != group);
            let tallest = tallest.map(|other| height(imports, of, other, known)).max().unwrap_or(0);
            known.insert(group, tallest + 1);
            tallest + 1
        }
        let cycles = self.cycles();
        let group = |module: &str| cycles.iter().position(|cycle| cycle.contains(&module));
        let of: BTreeMap<&str, usize> = self
            .0
            .keys()
            .enumerate()
            .map(|(at, module)| (module.as_str(), group(module).unwrap_or(cycles.len() + at)))
            .collect();
        let mut known = BTreeMap::new();
        of.values().map(|&group| height(self, &of, group, &mut known)).max().unwrap_or(0)
    }

    /// Arrows from modules below one path to modules below another.
    fn arrows<'a>(&'a self, from: &'a str, to: &'a str) -> BTreeSet<(&'a str, &'a str)> {
        let below = |module: &str, path: &str| {
            module == path || module.strip_prefix(path).is_some_and(|rest| rest.starts_with("::"))
        };
        let arrows = self.0.iter().filter(|(module, _)| below(module, from));
        arrows
            .flat_map(|(module, named)| named.iter().map(|to| (module.as_str(), to.as_str())))
            .filter(|(_, named)| below(named, to))
            .collect()
    }
}

fn own() -> Imports {
    Imports::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

#[test]
fn counts_can_be_reported() {
    let root = std::env::var_os("HE_IMPORTS").map(PathBuf::from);
    let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let imports = Imports::of(&root);
    let arrows: usize = imports.0.values().map(BTreeSet::len).sum();
    println!("{}: {} modules, {arrows} arrows, {} layers", root.display(), imports.0.len(), imports.layers());
    for cycle in imports.cycles() {
        println!("cycle of {}: {}", cycle.len(), cycle.join(", "));
    }
    assert!(arrows > 0);
}

#[test]
fn imports_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("lib.rs", "pub mod a;\npub mod b;\n");
    write("a.rs", "use crate::b::{self, c::{D, E as F}};\nuse std::io;\nfn f() {}\n");
    write("b/mod.rs", "pub mod c;\nuse self::c::D;\n");
    write("b/c.rs", "use crate::a;\npub struct D;\n#[cfg(test)]\nmod tests {\n    use crate::z::Y;\n}\n");
    write("z.rs", "use super::a::A;\n");
    let imports = Imports::of(dir.path());
    let named = |module: &str| imports.0[module].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(named("a"), ["b", "b::c"]);
    assert_eq!((named("b"), named("b::c"), named("z")), (vec!["b::c"], vec!["a"], vec!["a"]));
    assert_eq!(imports.cycles(), [["a", "b", "b::c"]]);
    assert_eq!(imports.layers(), 2);
    assert_eq!(imports.arrows("b", "a"), BTreeSet::from([("b::c", "a")]));
}

/// The most modules of a cycle.
const CYCLE: usize = 4;
/// The most layers of this crate, and of the program.
const LAYERS: [usize; 2] = [10, 6];

#[test]
fn cycles_are_small_and_layers_few() {
    let program = Imports::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../he-cli/src"));
    for (imports, most) in [own(), program].iter().zip(LAYERS) {
        for cycle in imports.cycles() {
            assert!(cycle.len() <= CYCLE, "these import one another: {}", cycle.join(", "));
        }
        assert!(imports.layers() <= most, "{} layers", imports.layers());
    }
}

#[test]
fn schemes_know_no_contents_and_contents_no_scheme() {
    let imports = own();
    for implementation in ["scheme::ckks", "scheme::bigckks", "scheme::exact"] {
        let arrows = imports.arrows("contents", implementation);
        assert!(arrows.is_empty(), "contents import a scheme's implementation: {arrows:?}");
    }
    let arrows = imports.arrows("scheme", "contents");
    assert!(arrows.is_empty(), "schemes import contents: {arrows:?}");
}

#[test]
fn what_is_encrypted_knows_no_files() {
    let imports = own();
    for data in ["clear", "numbers", "options", "packing", "pairing", "view"] {
        let module = format!("contents::{data}");
        for above in ["cipher_file", "key_file", "scheme", "team"] {
            assert!(!imports.reached(&module).contains(above), "{module} imports {above}");
        }
    }
}
