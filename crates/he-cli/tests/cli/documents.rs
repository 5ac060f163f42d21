//! Every command of the README, the guide and the help, as it is written there, in order, in one
//! folder for each document or page. The help and the manual list the operations of the table.

use crate::build::{Model, tensor};
use crate::pictures::{eight, noise};
use crate::process::{folder, he};
use he_files::operation::{Domain, Kind, Parameter, Row, SCHEMES, TABLE};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Commands that are not run: how they begin, and why.
const SKIPPED: &[(&str, &str)] = &[
    ("cargo ", "builds programs, which the tests around this one are"),
    ("target/release/he-cli serve", "serves until it is stopped; tests/serve runs it"),
    ("he-cli serve", "serves until it is stopped; tests/serve runs it"),
    ("he-cli bench ", "measures for minutes; bench.rs runs it"),
    ("he-cli demo --digits", "takes a minute; the round of its commands is that of models.rs"),
    (
        "he-cli eval blur photo.he -k keys/eval.key -o blurred.he --server",
        "needs a service; remote.rs runs one",
    ),
    ("he-cli completions powershell", "is for another shell, whose variable it names"),
    ("he-cli party ", "is run by several, each in a folder of its own; party.rs runs them all"),
    ("he-cli eval add a.he --with b.he -k a/eval.key", "has the keys of parties; party.rs runs it"),
    ("he-cli eval add ab.he --with c.he -k a/eval.key", "has the keys of parties; party.rs runs it"),
    ("he-cli eval mean abc.he -k a/eval.key", "has the keys of parties; party.rs runs it"),
    ("he-cli intersect ", "has a server and a client, in order; intersect.rs runs every step"),
    ("he-cli lookup ", "has an owner, a server and a client, in order; lookup.rs runs every step"),
    ("he-cli seal ", "has a client that uses SEAL; seal.rs runs every step"),
    ("he-cli eval mul query.he --with query.he -k client/", "has the keys of a client that uses SEAL"),
    ("he-cli search ", "has an owner and a server, in order; search.rs runs every step"),
    ("pg_dump ", "needs a database"),
    ("pip ", "builds the Python package, whose tests are in python/tests"),
    ("key=$(xxd ", "needs the programs xxd and openssl, and openssl is checked in he-core"),
    ("tail ", "belongs to the line before"),
    ("web/passwords.py ", "reads a list of leaked passwords; web/tests runs it"),
    ("web/build.sh", "builds the page, whose tests are in web/tests"),
    ("node ", "belongs to the line before"),
];

/// Commands that are run in another form: a part of a command, what stands for it, and why.
const STAND_INS: &[(&str, &str, &str)] = &[
    ("--bootstrap fast", "--bootstrap insecure_toy", "keys of gigabytes"),
    (
        "keygen bfv --bootstrap --bits 32 --depth 2",
        "keygen bfv --bootstrap insecure_toy",
        "keys of gigabytes",
    ),
    ("keygen bfv --bootstrap -o", "keygen bfv --bootstrap insecure_toy -o", "keys of gigabytes"),
    ("keygen tfhe --transcipher", "keygen tfhe --transcipher insecure_toy", "blocks of AES take a minute"),
    ("photo.png --deep", "photo.png --deep --preset insecure_toy --times 1", "4 GB of memory, for minutes"),
    ("--device cuda", "--device cpu", "a GPU"),
    ("sequence_length=128", "sequence_length=6", "an encoder of 6 tokens"),
];

/// Files that pages need and others make: for each page, the commands that make them.
const GIVEN: &[(&str, &[&str])] = &[
    ("docs/command-line.md", &["he-cli keygen ckks -o keys/", BLURRED]),
    ("transciphering.md", &["he-cli keygen aes -o way.key"]),
    ("he-cli keygen", &["he-cli compile model.onnx --calibrate sample.csv -o model.plan"]),
    (
        "he-cli encrypt",
        &["he-cli keygen ckks -o keys/", "he-cli keygen bfv -o exact/", "he-cli keygen aes -o my.key"],
    ),
    (
        "he-cli eval",
        &[
            "he-cli keygen ckks -o keys/",
            "he-cli keygen bfv -o exact/",
            "he-cli keygen tfhe -o bits/",
            "he-cli encrypt photo.png -k keys/public.key -o photo.he",
            "he-cli encrypt photo.png -k keys/public.key -o other.he",
            "he-cli encrypt prices.csv -k keys/public.key -o prices.he",
            "he-cli encrypt may.csv -k keys/public.key -o may.he",
            "he-cli encrypt june.csv -k keys/public.key -o june.he",
            "he-cli encrypt votes.csv --categories party -k exact/public.key -o votes.he",
            "he-cli encrypt bids.csv --width 8 -k bits/secret.key -o bids.he",
            "he-cli encrypt others.csv --width 8 -k bits/secret.key -o limits.he",
        ],
    ),
    (
        "he-cli eval select",
        &[
            "he-cli keygen tfhe -o bits/",
            "he-cli encrypt may.csv --width 8 -k bits/secret.key -o may.he",
            "he-cli encrypt june.csv --width 8 -k bits/secret.key -o june.he",
        ],
    ),
    (
        "he-cli eval lookup",
        &[
            "he-cli keygen tfhe -o bits/",
            "he-cli encrypt grades.csv --width 8 -k bits/secret.key -o grades.he",
        ],
    ),
    ("he-cli eval blur", &["he-cli keygen ckks -o keys/"]),
    (
        "he-cli infer",
        &[
            "he-cli compile model.onnx --calibrate sample.csv -o model.plan",
            "he-cli keygen model.plan -o model/",
            "he-cli encrypt inputs.csv --model model.plan -k model/public.key -o x.he",
        ],
    ),
    ("he-cli audit", TRACED),
    ("he-cli dispute", TRACED),
    ("he-cli trace", TRACED),
    ("traces.md", TRACED),
    (
        "he-cli decrypt",
        &[
            "he-cli keygen ckks -o keys/",
            "he-cli keygen bfv -o exact/",
            "he-cli keygen aes -o my.key",
            BLURRED,
            "he-cli encrypt prices.csv -k keys/secret.key -o prices.he",
            "he-cli eval dot prices.he --columns price,amount -k keys/eval.key -o total.he",
            "he-cli encrypt prices.csv -k exact/secret.key -o exact.he",
            "he-cli eval sum exact.he -k exact/eval.key -o sums.he",
            "he-cli encrypt movie.mkv -k my.key -o movie.he",
            "he-cli encrypt papers/ --passphrase -o papers.he",
            "rm -r papers/",
        ],
    ),
    (
        "he-cli info",
        &[
            "he-cli keygen ckks -o keys/",
            "he-cli keygen bfv -o exact/",
            "he-cli encrypt photo.png -k keys/public.key -o photo.he",
            "he-cli encrypt votes.csv --categories party -k exact/public.key -o votes.he",
        ],
    ),
    (
        "he-cli completions",
        &["mkdir -p ~/.local/share/bash-completion/completions ~/.zfunc ~/.config/fish/completions"],
    ),
];

/// An encrypted picture and encrypted examples of a model, and traces of two who have computed on
/// the picture.
const TRACED: &[&str] = &[
    "he-cli keygen ckks -o keys/",
    "he-cli encrypt photo.png -k keys/public.key -o photo.he",
    "he-cli compile model.onnx --calibrate sample.csv -o model.plan",
    "he-cli keygen model.plan -o model/",
    "he-cli encrypt inputs.csv --model model.plan -k model/public.key -o x.he",
    "he-cli eval invert photo.he -k keys/eval.key -o mine.he --record mine.trace",
    "he-cli eval invert photo.he -k keys/eval.key -o theirs.he --record theirs.trace",
];

/// An encrypted picture.
const BLURRED: &str = "he-cli encrypt photo.png -k keys/secret.key -o blurred.he; \
                       mkdir -p ~/.local/share/bash-completion/completions ~/.zfunc ~/.config/fish/completions";

/// The commands of a text in a shell, without comments; lines that end in a backslash go on.
fn commands<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let (mut commands, mut begun) = (Vec::new(), String::new());
    for line in lines {
        // A number sign begins a comment behind a space, and nowhere in quotes.
        let comment = line.char_indices().find(|&(at, c)| {
            c == '#'
                && line[..at].chars().last().is_none_or(char::is_whitespace)
                && line[..at].matches('"').count() % 2 == 0
        });
        let line = comment.map_or(line, |(at, _)| &line[..at]).trim();
        match line.strip_suffix('\\') {
            Some(part) => begun += part,
            None => {
                begun += line;
                commands.extend(Some(std::mem::take(&mut begun)).filter(|command| !command.is_empty()));
            }
        }
    }
    assert!(begun.is_empty(), "{begun} does not end");
    commands
}

/// The commands in the blocks of a document that are for a shell.
fn blocks(text: &str) -> Vec<String> {
    let fences = text.split("```sh\n").skip(1);
    commands(fences.flat_map(|block| block.split("\n```").next().unwrap_or_default().lines()))
}

/// A folder with what the documents speak of.
fn with_inputs() -> TempDir {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    eight(24, 20, 3, 1).save(path("photo.png")).unwrap();
    for (name, text) in [
        ("votes.csv", "party\nred\nblue\nred\n"),
        ("prices.csv", "price,amount\n12,3\n7,1\n"),
        ("chosen.csv", "price,amount\n1,0\n0,1\n"),
        ("may.csv", "sold\n3\n"),
        ("june.csv", "sold\n5\n"),
        ("bids.csv", "bid\n17\n"),
        ("others.csv", "bid\n20\n"),
        ("grades.csv", "grade\n1\n"),
        ("a.csv", "x\n3\n"),
        ("b.csv", "x\n5\n"),
        ("readings.csv", "inside,outside\n2150,-340\n"),
        ("sample.csv", "a,b\n0.5,0.25\n-0.75,1.5\n"),
        ("inputs.csv", "a,b\n0.25,1.25\n"),
    ] {
        fs::write(path(name), text).unwrap();
    }
    let mut next = noise(1);
    let movie: Vec<u8> = (0..2_100_000 / 8).flat_map(|_| next().to_le_bytes()).collect();
    fs::write(path("movie.mkv"), movie).unwrap();
    fs::create_dir(path("papers")).unwrap();
    fs::write(path("papers/first.txt"), "a paper").unwrap();
    let model =
        Model::new(&[0, 2]).with(tensor("w", &[2, 1], &[0.5, -0.25])).node("MatMul", &["x", "w"], "y");
    fs::write(path("model.onnx"), model.bytes()).unwrap();
    let encoders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../he-nn/tests/data/encoders");
    fs::copy(encoders.join("torch.onnx"), path("encoder.onnx")).unwrap();
    fs::copy(encoders.join("inputs.csv"), path("sentences.csv")).unwrap();
    dir
}

/// Runs commands, and keeps the keys that some of them make for others of the same words.
struct Runner {
    keys: HashMap<String, PathBuf>,
    kept: TempDir,
    skipped: BTreeSet<&'static str>,
    replaced: BTreeSet<&'static str>,
    count: usize,
}

impl Runner {
    fn new() -> Self {
        let (keys, kept) = (HashMap::new(), folder());
        Self { keys, kept, skipped: BTreeSet::new(), replaced: BTreeSet::new(), count: 0 }
    }

    /// Runs the commands of a page, each of which succeeds.
    fn page(&mut self, name: &str, commands: Vec<String>) {
        if commands.is_empty() {
            return;
        }
        let dir = with_inputs();
        let given = GIVEN.iter().filter(|(page, _)| name == *page || name.ends_with(&format!("/{page}")));
        for command in given.flat_map(|(_, commands)| *commands) {
            self.run(dir.path(), name, command);
        }
        for command in &commands {
            // Long lines of a page of the help are broken, so that such pages are known by name.
            let is_skipped = |(start, _): &&(&'static str, &str)| {
                command.starts_with(start) || format!("{name} ").starts_with(start)
            };
            if let Some((start, _)) = SKIPPED.iter().find(is_skipped) {
                self.skipped.insert(start);
                continue;
            }
            let mut instead = command.clone();
            for (part, other, _) in STAND_INS.iter().filter(|(part, ..)| command.contains(part)) {
                self.replaced.insert(part);
                instead = instead.replace(part, other);
            }
            self.run(dir.path(), name, &instead);
            self.count += 1;
        }
    }

    fn run(&mut self, dir: &Path, page: &str, command: &str) {
        let kept = self.keys.get(command).cloned();
        let output = command.split(" -o ").nth(1).filter(|_| {
            command.starts_with("he-cli keygen ") && !command.contains(" aes ") && !command.contains(".plan")
        });
        let command = match (&kept, output) {
            (Some(kept), Some(output)) => format!("cp -r {} {output}", kept.display()),
            _ => command.to_owned(),
        };
        let programs = Path::new(env!("CARGO_BIN_EXE_he-cli")).parent().unwrap().display().to_string();
        let paths = format!("{programs}:{}", std::env::var("PATH").unwrap());
        let mut call = Command::new("sh");
        call.arg("-c").arg(&command).current_dir(dir).env("PATH", paths).env("HOME", dir);
        call.env("HE_DEVICE", "cpu").env("HE_CLI_PASSPHRASE", "one for tests").stdin(Stdio::null());
        let outcome = call.output().unwrap();
        let told = String::from_utf8_lossy(&outcome.stderr);
        assert!(outcome.status.success(), "{page}: {command}\n{told}");
        if let (None, Some(output)) = (kept, output) {
            let to = self.kept.path().join(self.keys.len().to_string());
            assert!(Command::new("cp").arg("-r").arg(dir.join(output)).arg(&to).status().unwrap().success());
            self.keys.insert(command, to);
        }
    }
}

/// The file of the repository, if the tests are run in it.
fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The pages of the help, from a command on: the words of each, and its examples.
fn pages(words: &[String], found: &mut Vec<(String, Vec<String>)>) {
    let text = he(words.iter().map(String::as_str).chain(["--help"])).text();
    let examples = text.lines().skip_while(|line| !line.starts_with("Example"));
    let is_command = |line: &&str| line.starts_with("  ");
    let name = ["he-cli"].into_iter().chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    found.push((name, commands(examples.filter(is_command).map(str::trim))));
    let below =
        text.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    for line in below {
        let is_name = line.starts_with("  ") && !line.starts_with("   ");
        let name = line.split_whitespace().next().filter(|name| is_name && *name != "help");
        if let Some(name) = name {
            pages(&[words, &[name.to_owned()]].concat(), found);
        }
    }
}

#[test]
fn commands_of_documents_and_help_work_as_they_are_written() {
    let mut runner = Runner::new();
    let mut all: Vec<(String, Vec<String>)> =
        ["README.md", "crates/he-cli/README.md", "docs/command-line.md", "docs/he-cli.md"]
            .map(|path| (path.to_owned(), blocks(&read(path))))
            .to_vec();
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/src");
    let mut chapters: Vec<String> = crate::process::names(&guide);
    chapters.retain(|name| name.ends_with(".md"));
    let chapter = |name: &String| (name.clone(), blocks(&read(&format!("docs/guide/src/{name}"))));
    all.extend(chapters.iter().map(chapter));
    pages(&[], &mut all);
    assert!(all.len() > 60, "{} pages", all.len());
    for (name, commands) in all {
        runner.page(&name, commands);
    }
    assert!(runner.count > 100, "{} commands", runner.count);
    // Nothing is excused that is not there.
    let skipped: BTreeSet<&str> = SKIPPED.iter().map(|(start, _)| *start).collect();
    assert_eq!(runner.skipped, skipped);
    let replaced: BTreeSet<&str> = STAND_INS.iter().map(|(part, ..)| *part).collect();
    assert_eq!(runner.replaced, replaced);
}

/// The lines that a program puts into its `Cargo.toml` name the package as it is called.
#[test]
fn dependencies_of_documents_are_packages() {
    let guide = read("docs/guide/src/introduction.md");
    let package = read("Cargo.toml");
    let package =
        package.lines().find_map(|line| line.strip_prefix("name = ")).unwrap().trim_matches('"').to_owned();
    let block = guide.split("[dependencies]\n").nth(1).unwrap();
    assert!(block.starts_with(&format!("{package} = {{ path = ")), "{block}");
}

/// A row of the table of operations in the manual.
fn manual_row(row: &Row) -> String {
    let under = |kind| match row.on(kind) {
        [] => "-".to_owned(),
        schemes if schemes == SCHEMES => "all".to_owned(),
        schemes => schemes.join(", "),
    };
    let others = row.others.iter().map(|other| match other.or {
        Some(parameter) => format!("`--{}`, or `--{parameter}`", other.name),
        None => format!("`--{}`", other.name),
    });
    let parameters = row.parameters.iter().filter_map(|Parameter { name, domain, .. }| match domain {
        Domain::Entries => Some("`--table`".to_owned()),
        // It stands beside the file in whose place it is.
        _ if row.others.iter().any(|other| other.or == Some(name)) => None,
        _ => match domain.default() {
            Some(default) => Some(format!("`--{name}` [{default}]")),
            None => Some(format!("`--{name}`")),
        },
    });
    let options = others.chain(parameters).collect::<Vec<_>>().join(", ");
    let [images, tables, digits] = Kind::ALL.map(under);
    format!("| `{}` | {images} | {tables} | {digits} | {options} | {} |\n", row.name, row.about)
}

/// The manual has the table of operations; where it differs, the failure prints it as it should be.
#[test]
fn the_manual_lists_the_operations() {
    let head = "| operation | images under | tables under | in digits under | options [default] | what it does |\n\
                |---|---|---|---|---|---|\n";
    let table = TABLE.iter().fold(head.to_owned(), |text, row| text + &manual_row(row));
    let manual = read("docs/he-cli.md");
    assert!(manual.contains(&format!("\n\n{table}\n")), "docs/he-cli.md should have this table:\n{table}");
}

/// Examples of the help belong to operations that there are, and every option has a description.
#[test]
fn help_of_operations_is_that_of_the_table() {
    for row in TABLE {
        let help = he(["eval", row.name, "--help"]).text();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let help = words(&help);
        assert!(help.starts_with(&words(&row.help())), "{help}");
        assert!(help.contains(&words(row.more)), "{help}");
        for about in row.others.iter().map(|other| other.about).chain(row.parameters.iter().map(|p| p.about))
        {
            assert!(help.contains(&words(about)), "{about}: {help}");
        }
        assert!(help.contains(&he_files::operation::dropping()), "{help}");
    }
}
