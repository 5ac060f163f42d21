//! Models: compiled, with keys, on encrypted examples; and what is refused.

use crate::build::{Model, floats, ints, tensor, texts};
use crate::pictures::{Planes, eight, noise, sixteen};
use crate::process::{Keys, bootstrap_key, folder, he};
use he_core::bootstrapping::presets::Preset;
use he_core::bootstrapping::{BootstrapParams, BootstrapSpec};
use he_nn::{CompiledModel, Graph, Options, Parameters};
use rten_onnx::onnx::{DataLocation, StringStringEntryProto};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A file of the models that are committed.
fn model(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name).display().to_string()
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn numbers(text: &str) -> Vec<Vec<f64>> {
    let rows = text.lines().filter(|line| !line.contains('_'));
    rows.map(|row| row.split(',').map(|x| x.parse().unwrap()).collect()).collect()
}

/// The first rows of a table, with its header.
fn head(name: &str, rows: usize, to: &Path) {
    let text = fs::read_to_string(model(name)).unwrap();
    let lines: Vec<&str> = text.lines().take(rows + 1).collect();
    fs::write(to, lines.join("\n") + "\n").unwrap();
}

#[test]
fn a_table_is_decided_without_being_seen() {
    let dir = folder();
    let at = |args: &[&str]| he(args.iter().copied()).at(dir.path());
    let (wine, train) = (model("wine.onnx"), model("wine_train.csv"));
    let compile = ["compile", &wine, "--calibrate", &train, "-o", "wine.plan"];
    let told = json(&at(&[&compile[..], &["--json"]].concat()).ok());
    assert_eq!((&told["command"], &told["refreshes"]), (&"compile".into(), &0.into()));
    assert_eq!(told["layers"].as_array().unwrap().len(), 3);
    for field in ["estimated_seconds", "memory_bytes", "key_bytes", "levels"] {
        assert!(told[field].as_f64().unwrap() > 0.0, "{field}");
    }
    // A file that is there is not replaced.
    at(&compile).refuses();

    at(&["keygen", "wine.plan", "-o", "keys"]).ok();
    head("wine_test.csv", 8, &dir.path().join("x.csv"));
    for (key, encrypted) in [("keys/public.key", "x.he"), ("keys/secret.key", "s.he")] {
        at(&["encrypt", "x.csv", "--model", "wine.plan", "-k", key, "-o", encrypted]).ok();
    }
    // The server has no secret.
    fs::rename(dir.path().join("keys/secret.key"), dir.path().join("secret.key")).unwrap();
    for (encrypted, outputs) in [("x.he", "y.he"), ("s.he", "z.he")] {
        at(&["infer", encrypted, "--model", "wine.plan", "-k", "keys/eval.key", "-o", outputs]).ok();
        at(&["decrypt", outputs, "-k", "secret.key", "-o", "y.csv", "--force"]).ok();
        let found = numbers(&fs::read_to_string(dir.path().join("y.csv")).unwrap());
        let expected = numbers(&fs::read_to_string(model("wine_outputs.csv")).unwrap());
        assert_eq!((found.len(), found[0].len()), (8, 3));
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!((found - expected).abs() < 0.05, "{found} for {expected}");
        }
    }
    let info = json(&at(&["info", "y.he", "--json"]).ok());
    assert_eq!((&info["examples"], &info["decision"]), (&8.into(), &"none".into()));
    assert_eq!(info["history"], serde_json::json!(["infer"]));

    // Wrong inputs, each with what to do.
    for (args, what) in [
        (
            &["infer", "y.he", "--model", "wine.plan", "-k", "keys/eval.key", "-o", "no.he"][..],
            "encrypted outputs",
        ),
        (&["decrypt", "x.he", "-k", "secret.key", "-o", "no.csv"], "holds the inputs of a model"),
        (
            &["infer", "x.he", "--model", "x.csv", "-k", "keys/eval.key", "-o", "no.he"],
            "not a compiled model",
        ),
        (
            &["infer", "x.he", "--model", "wine.plan", "-k", "keys/public.key", "-o", "no.he"],
            "evaluation key",
        ),
        (
            &["encrypt", "y.csv", "--model", "wine.plan", "-k", "keys/public.key", "-o", "no.he"],
            "takes 13 numbers",
        ),
        (
            &["encrypt", "keys", "--model", "wine.plan", "-k", "keys/public.key", "-o", "no.he"],
            "not pictures",
        ),
        (&["eval", "add", "x.he", "--with", "x.he", "-k", "keys/eval.key", "-o", "no.he"], "x.he"),
        (&["compile", "x.csv", "--calibrate", "x.csv", "-o", "no.plan"], "not an ONNX model"),
    ] {
        let said = at(args).refuses();
        assert!(said.contains(what), "{args:?}: {said}");
    }
    let mut far = fs::read_to_string(dir.path().join("x.csv")).unwrap();
    far.push_str(&["1e5"; 13].join(","));
    fs::write(dir.path().join("far.csv"), far).unwrap();
    let said =
        at(&["encrypt", "far.csv", "--model", "wine.plan", "-k", "keys/public.key", "-o", "no.he"]).refuses();
    assert!(said.contains("row 9") && said.contains("Tanh") && said.contains("calibration"), "{said}");
    // Rows count as they do in the file, whatever is left out of it.
    let far = fs::read_to_string(dir.path().join("far.csv")).unwrap();
    let gap = format!("\n{}\n", ",".repeat(12));
    fs::write(dir.path().join("far.csv"), far.replacen('\n', &gap, 1)).unwrap();
    let encrypt = ["encrypt", "far.csv", "--model", "wine.plan", "-k", "keys/public.key", "-o", "no.he"];
    let told = at(&[&encrypt[..], &["--missing", "skip"]].concat()).run();
    assert!(told.code == Some(1) && told.stderr.contains("row 10"), "{}", told.stderr);

    // Keys and files of another model.
    let other = ["compile", &wine, "--calibrate", &train, "--bits", "12", "-o", "other.plan"];
    at(&other).ok();
    at(&["keygen", "other.plan", "-o", "others"]).ok();
    for args in [
        &["infer", "x.he", "--model", "other.plan", "-k", "others/eval.key", "-o", "no.he"][..],
        &["infer", "x.he", "--model", "wine.plan", "-k", "others/eval.key", "-o", "no.he"],
    ] {
        at(args).refuses();
    }
    // Damage anywhere is seen, and nothing is left behind.
    let mut plan = fs::read(dir.path().join("wine.plan")).unwrap();
    for place in [3, 9, 20, 60, plan.len() - 1] {
        plan[place] ^= 1;
        fs::write(dir.path().join("bad.plan"), &plan).unwrap();
        at(&["keygen", "bad.plan", "-o", "no"]).refuses();
        plan[place] ^= 1;
    }
    assert!(!["no.he", "no.csv", "no.plan", "no"].iter().any(|name| dir.path().join(name).exists()));
}

/// One output is computed and the others are named; what is not read is refused, with what to do.
#[test]
fn outputs_are_chosen_and_leftovers_refused() {
    let dir = folder();
    let at = |args: &[&str]| he(args.iter().copied()).at(dir.path());
    let onnx = || Model::new(&[0, 2]).node("Neg", &["x"], "y").node("Mul", &["x", "x"], "z").with_output("z");
    fs::write(dir.path().join("two.onnx"), onnx().bytes()).unwrap();
    let axis = ints("axes", &[1]);
    let other = Model::new(&[0, 2]).node_of("Neg", &["x"], "y", vec![axis]).bytes();
    fs::write(dir.path().join("other.onnx"), other).unwrap();
    fs::write(dir.path().join("x.csv"), "0.5,-1.0\n2.0,0.25\n").unwrap();
    let compile =
        |model, output| ["compile", model, "--calibrate", "x.csv", "--output-name", output, "-o", "two.plan"];
    let told = json(&at(&[&compile("two.onnx", "z")[..], &["--json"]].concat()).ok());
    assert_eq!((&told["computed_output"], &told["other_outputs"]), (&"z".into(), &vec!["y"].into()));
    for (model, output, what) in [("two.onnx", "w", "no output \"w\""), ("other.onnx", "y", "axes = [1]")] {
        let said = at(&compile(model, output)).refuses();
        assert!(said.contains(what), "{said}");
    }
}

/// A decision after decryption may be one number of several outputs, and is announced as such.
#[test]
fn decisions_have_a_size_of_their_own() {
    let dir = folder();
    let at = |args: &[&str]| he(args.iter().copied()).at(dir.path());
    let attributes = vec![crate::build::int("axis", 1)];
    let onnx = Model::new(&[0, 3]).node("Neg", &["x"], "n").node_of("ArgMax", &["n"], "y", attributes);
    fs::write(dir.path().join("least.onnx"), onnx.bytes()).unwrap();
    fs::write(dir.path().join("x.csv"), "0.5,-1.0,0.25\n-2.0,0.25,1.5\n").unwrap();
    at(&["compile", "least.onnx", "--calibrate", "x.csv", "-o", "m.plan"]).ok();
    at(&["keygen", "m.plan", "-o", "keys"]).ok();
    at(&["encrypt", "x.csv", "--model", "m.plan", "-k", "keys/secret.key", "-o", "x.he"]).ok();
    at(&["infer", "x.he", "--model", "m.plan", "-k", "keys/eval.key", "-o", "y.he"]).ok();
    let told = at(&["decrypt", "y.he", "-k", "keys/secret.key", "-o", "y.csv"]).run();
    assert!(told.stderr.contains("2 examples of 1 output)"), "{}", told.stderr);
    let found = fs::read_to_string(dir.path().join("y.csv")).unwrap();
    let found: Vec<f64> = found.lines().skip(1).map(|label| label.parse().unwrap()).collect();
    assert_eq!(found, [1.0, 0.0]);
}

/// Many examples of a dense network lie in stacks, by the same commands.
#[test]
fn many_examples_of_a_dense_network() {
    let dir = folder();
    let at = |args: &[&str]| he(args.iter().copied()).at(dir.path());
    let net = Model::new(&[0, 6])
        .with(tensor("w", &[6, 4], &weights(1, 24)))
        .node("MatMul", &["x", "w"], "h")
        .node("Mul", &["h", "h"], "s")
        .with(tensor("v", &[4, 3], &weights(2, 12)))
        .with(tensor("b", &[3], &weights(3, 3)))
        .node_of("Gemm", &["s", "v", "b"], "y", vec![])
        .bytes();
    let graph = Graph::from_onnx(&net).unwrap();
    fs::write(dir.path().join("net.onnx"), net).unwrap();
    let examples: Vec<Vec<f64>> =
        (0..20).map(|seed| weights(10 + seed, 6).into_iter().map(f64::from).collect()).collect();
    let row = |row: &Vec<f64>| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",") + "\n";
    fs::write(dir.path().join("x.csv"), examples.iter().map(row).collect::<String>()).unwrap();
    let compile = ["compile", "net.onnx", "--calibrate", "x.csv", "--batch", "5000", "-o", "net.plan"];
    let told = json(&at(&[&compile[..], &["--json"]].concat()).ok());
    assert_eq!((&told["arrangement"], &told["batch"]["examples"]), (&"stacks".into(), &5000.into()));
    let seconds = |of: &str| told["batch"][of]["estimated_seconds"].as_f64().unwrap();
    assert!(seconds("stacks") < seconds("slots"));
    let said = at(&[&compile[..], &["--force"]].concat()).run().stderr;
    assert!(said.contains("stacks; 5000 examples take about"), "{said}");
    at(&["keygen", "net.plan", "-o", "keys"]).ok();
    at(&["encrypt", "x.csv", "--model", "net.plan", "-k", "keys/public.key", "-o", "x.he"]).ok();
    at(&["infer", "x.he", "--model", "net.plan", "-k", "keys/eval.key", "-o", "y.he"]).ok();
    at(&["decrypt", "y.he", "-k", "keys/secret.key", "-o", "y.csv"]).ok();
    assert_outputs(&dir.path().join("y.csv"), &graph, &examples, 0.01);
}

/// Numbers between -0.5 and 0.5 that are the same every time.
fn weights(seed: u64, count: usize) -> Vec<f32> {
    let mut next = noise(seed);
    (0..count).map(|_| (next() % 1000) as f32 / 1000.0 - 0.5).collect()
}

/// Decrypted outputs against those in the clear.
fn assert_outputs(path: &Path, graph: &Graph, examples: &[Vec<f64>], bound: f64) {
    let found = numbers(&fs::read_to_string(path).unwrap());
    assert_eq!(found.len(), examples.len());
    for (index, (found, example)) in found.iter().zip(examples).enumerate() {
        let expected = graph.apply_plain(example).unwrap();
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < bound, "example {index}: {found} for {expected}");
        }
    }
}

/// Pictures of all kinds in one folder, from calibration to outputs, in the order of their names.
#[test]
fn pictures_of_a_folder_are_examples() {
    let dir = folder();
    let at = |args: &[&str]| he(args.iter().copied()).at(dir.path());
    let onnx = Model::new(&[0, 1, 8, 8])
        .with(tensor("w", &[2, 1, 3, 3], &weights(1, 18)))
        .node_of("Conv", &["x", "w"], "c", vec![ints("strides", &[2, 2])])
        .node("Mul", &["c", "c"], "s")
        .node("Flatten", &["s"], "f")
        .with(tensor("v", &[18, 3], &weights(2, 54)))
        .node("MatMul", &["f", "v"], "y")
        .bytes();
    fs::write(dir.path().join("net.onnx"), &onnx).unwrap();
    for name in ["sample", "x", "none", "large"] {
        fs::create_dir(dir.path().join(name)).unwrap();
    }
    for seed in 0..20 {
        eight(8, 8, 1, seed).save(dir.path().join(format!("sample/{seed}.png"))).unwrap();
    }
    let mut examples = Vec::new();
    for (name, picture) in [
        ("a.png", eight(8, 8, 1, 3)),
        ("b.png", sixteen(8, 8, 1, 4)),
        ("c.png", eight(8, 8, 3, 5)),
        ("d.png", eight(8, 8, 2, 6)),
        ("e.png", eight(8, 8, 4, 7)),
        ("f.tif", eight(8, 8, 1, 8)),
    ] {
        picture.save(dir.path().join("x").join(name)).unwrap();
        let channels = Planes::of(&picture).channels;
        examples.push(match &channels[..] {
            [red, green, blue, ..] => {
                (0..64).map(|i| 0.299 * red[i] + 0.587 * green[i] + 0.114 * blue[i]).collect()
            }
            _ => channels[0].clone(),
        });
    }
    // A file that is not a picture is left out.
    fs::write(dir.path().join("x/notes.txt"), "three of them").unwrap();

    at(&["compile", "net.onnx", "--calibrate", "sample", "-o", "net.plan"]).ok();
    at(&["keygen", "net.plan", "-o", "keys"]).ok();
    let encrypt = |from| ["encrypt", from, "--model", "net.plan", "-k", "keys/public.key", "-o", "x.he"];
    at(&encrypt("x")).ok();
    at(&["infer", "x.he", "--model", "net.plan", "-k", "keys/eval.key", "-o", "y.he"]).ok();
    at(&["decrypt", "y.he", "-k", "keys/secret.key", "-o", "y.csv"]).ok();
    assert_outputs(&dir.path().join("y.csv"), &Graph::from_onnx(&onnx).unwrap(), &examples, 1e-3);

    fs::remove_file(dir.path().join("x.he")).unwrap();
    fs::write(dir.path().join("none/notes.txt"), "no picture").unwrap();
    eight(9, 8, 1, 1).save(dir.path().join("large/wide.png")).unwrap();
    for (from, what) in [("none", "picture"), ("large", "wide.png"), ("nowhere", "nowhere")] {
        let said = at(&encrypt(from)).refuses();
        assert!(said.contains(what), "{from}: {said}");
    }
    assert!(!dir.path().join("x.he").exists());
}

/// A model with refreshes of an insecure toy, deep.plan, with its keys, and examples under them,
/// x.he.
pub fn deep_model(folder: &Path) -> (Graph, Vec<Vec<f64>>) {
    let at = |args: &[&str]| he(args.iter().copied()).at(folder);
    let mut onnx = Model::new(&[0, 6]);
    for layer in 0..6 {
        let name = |kind: &str, layer: usize| format!("{kind}{layer}");
        let (matrix, sum) = (name("w", layer), name("s", layer));
        let from = if layer == 0 { "x".to_owned() } else { name("t", layer - 1) };
        let to = if layer == 5 { "y".to_owned() } else { name("t", layer) };
        onnx = onnx
            .with(tensor(&matrix, &[6, 6], &weights(layer as u64 + 1, 36)))
            .node("MatMul", &[&from, &matrix], &sum)
            .node("Tanh", &[&sum], &to);
    }
    let graph = Graph::from_onnx(&onnx.bytes()).unwrap();
    let mut next = noise(9);
    let mut number = || (next() % 2001) as f64 / 1000.0 - 1.0;
    let examples: Vec<Vec<f64>> = (0..40).map(|_| (0..6).map(|_| number()).collect()).collect();
    let toy = BootstrapSpec { log_n: 10, log_slots: 9, ..Preset::Fast.spec() };
    let parameters = Parameters::Refreshed(BootstrapParams::insecure(toy).unwrap());
    let model = CompiledModel::compile_for(graph.clone(), &examples, Options::default(), parameters).unwrap();
    assert!(model.facts().unwrap().refreshes > 0);
    fs::write(folder.join("deep.plan"), model.to_bytes().unwrap()).unwrap();
    let row = |row: &Vec<f64>| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
    let table: Vec<String> = examples.iter().map(row).collect();
    fs::write(folder.join("x.csv"), table.join("\n") + "\n").unwrap();

    at(&["keygen", "deep.plan", "-o", "keys"]).ok();
    at(&["encrypt", "x.csv", "--model", "deep.plan", "-k", "keys/public.key", "-o", "x.he"]).ok();
    (graph, examples)
}

/// More layers than levels, at insecure parameters: keygen makes the keys of refreshes, and infer
/// finds them.
#[test]
fn models_that_need_refreshes_run() {
    let dir = folder();
    let at = |args: &[&str]| he(args.iter().copied()).at(dir.path());
    let (graph, examples) = deep_model(dir.path());
    let infer = ["infer", "x.he", "--model", "deep.plan", "-k", "keys/eval.key", "-o", "y.he"];
    at(&infer).ok();
    at(&["decrypt", "y.he", "-k", "keys/secret.key", "-o", "y.csv"]).ok();
    assert_outputs(&dir.path().join("y.csv"), &graph, &examples, 1e-2);

    // With the keys elsewhere, and the words are the same.
    let first = fs::read(dir.path().join("y.he")).unwrap();
    let [beside, elsewhere] = ["keys/bootstrap.key", "elsewhere"].map(|name| dir.path().join(name));
    fs::rename(beside, elsewhere).unwrap();
    let infer = [&infer[..], &["--force"]].concat();
    let said = at(&infer).refuses();
    assert!(said.contains("bootstrap.key"), "{said}");
    at(&[&infer[..], &["--bootstrap-key", "elsewhere"]].concat()).ok();
    assert_eq!(fs::read(dir.path().join("y.he")).unwrap(), first);
    // Keys of another key set.
    at(&["keygen", "deep.plan", "-o", "others"]).ok();
    let said = at(&[&infer[..], &["--bootstrap-key", "others/bootstrap.key"]].concat()).refuses();
    assert!(said.contains("others/bootstrap.key"), "{said}");
    // Keys of integers.
    let integers = bootstrap_key(Keys::toy_bfv());
    let said = at(&[&infer[..], &["--bootstrap-key", &integers]].concat()).refuses();
    assert_eq!(said, format!("x.he is not encrypted under the key set of {integers}"));
    assert_eq!(fs::read(dir.path().join("y.he")).unwrap(), first);
}

/// The advice in hints about tables works for the tables of models, too.
#[test]
fn tables_of_models_are_read_as_asked() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    let at = |args: &[&str], options: &[&str]| he(args.iter().chain(options)).at(dir.path());
    let model =
        Model::new(&[0, 2]).with(tensor("w", &[2, 1], &[0.5, -0.25])).node("MatMul", &["x", "w"], "y");
    fs::write(path("net.onnx"), model.bytes()).unwrap();
    fs::write(path("sample.csv"), "2021;2022\n1.234;2.345\n3.456;4.567\n").unwrap();
    let compile = ["compile", "net.onnx", "--calibrate", "sample.csv", "-o", "net.plan", "-q"];
    at(&compile, &[]).fails(
        1,
        "sample.csv, line 2, column 1 (\"2021\"): \"1.234\" may have a decimal point or one between thousands",
        "give --decimal point if it is decimal; otherwise remove the points",
    );
    let told = at(&compile, &["--decimal", "point"]).run();
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert!(
        told.stderr.ends_with("hint: give --header to confirm it, --no-header if the row holds numbers\n")
    );
    let told = at(&compile, &["--decimal", "point", "--header", "--force"]).run();
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
    at(&["keygen", "net.plan", "-o", "keys"], &[]).ok();
    fs::write(path("x.csv"), "n;a;b\n1;1,234;2,345\n").unwrap();
    let encrypt = ["encrypt", "x.csv", "--model", "net.plan", "-k", "keys/secret.key", "-o", "x.he"];
    at(&encrypt, &["--columns", "a,b"]).refuses();
    at(&encrypt, &["--columns", "a,b", "--decimal", "comma"]).ok();
    at(&["infer", "x.he", "--model", "net.plan", "-k", "keys/eval.key", "-o", "y.he"], &[]).ok();
    let text = at(&["decrypt", "y.he", "-k", "keys/secret.key", "-o", "-"], &[]).text();
    let found: f64 = text.lines().last().unwrap().parse().unwrap();
    assert!((found - (0.5 * 1.234 - 0.25 * 2.345)).abs() < 1e-3, "{found}");
    // Rows that are left out are told: the outputs are those of the others.
    fs::write(path("gaps.csv"), "a,b\n2,3\n,3\n3,4\nNA,1\n2.5,3.5\n").unwrap();
    let encrypt = ["encrypt", "gaps.csv", "--model", "net.plan", "-k", "keys/secret.key", "-o", "g.he"];
    at(&encrypt, &[]).refuses();
    let told = at(&encrypt, &["--missing", "skip", "--json"]).run();
    let said = "gaps.csv: 2 of 5 rows are left out, because something is missing in them: row 2, 4";
    assert!(told.code == Some(0) && told.stderr.contains(said), "{}", told.stderr);
    assert!(told.stderr.contains("leave these rows out of what the outputs are compared with"));
    let facts = json(&told.stdout);
    assert_eq!((&facts["rows_left_out"], &facts["values"]), (&vec![2, 4].into(), &6.into()));
    // Pictures have none of this.
    fs::create_dir(path("pictures")).unwrap();
    let compile = ["compile", "net.onnx", "--calibrate", "pictures", "-o", "no.plan", "--header"];
    at(&compile, &[]).fails(2, "--header is for tables, and pictures is a folder", "leave it out");
}

/// A tree of one comparison, and a matrix that lies in a file beside its model: from the model to
/// the decrypted outputs. A file of another folder is not read.
#[test]
fn a_tree_and_a_matrix_beside_its_model_are_computed() {
    let dir = folder();
    let at = |args: &[&str]| he(args.iter().copied()).at(dir.path());
    let tree = vec![
        ints("nodes_treeids", &[0; 3]),
        ints("nodes_nodeids", &[0, 1, 2]),
        ints("nodes_featureids", &[0; 3]),
        texts("nodes_modes", &["BRANCH_LEQ", "LEAF", "LEAF"]),
        floats("nodes_values", &[0.5, 0.0, 0.0]),
        ints("nodes_truenodeids", &[1, 0, 0]),
        ints("nodes_falsenodeids", &[2, 0, 0]),
        ints("target_treeids", &[0; 2]),
        ints("target_nodeids", &[1, 2]),
        ints("target_ids", &[0; 2]),
        floats("target_weights", &[1.0, 4.0]),
    ];
    let tree = Model::new(&[0, 2]).learning(1, "TreeEnsembleRegressor", &["y"], tree);
    fs::create_dir(dir.path().join("model")).unwrap();
    fs::write(dir.path().join("model/tree.onnx"), tree.bytes()).unwrap();
    for (model, location) in [("matrix", "w.bin"), ("outside", "../w.bin")] {
        let mut matrix = tensor("w", &[2, 2], &[]);
        matrix.raw_data = None;
        matrix.data_location = Some(DataLocation::EXTERNAL);
        matrix.external_data = vec![StringStringEntryProto {
            key: Some("location".to_owned()),
            value: Some(location.to_owned()),
        }];
        let bytes = Model::new(&[0, 2]).with(matrix).node("MatMul", &["x", "w"], "y").bytes();
        fs::write(dir.path().join(format!("model/{model}.onnx")), bytes).unwrap();
        fs::write(
            dir.path().join("model").join(location),
            [2f32, -1.0, 0.5, 3.0].map(f32::to_le_bytes).concat(),
        )
        .unwrap();
    }
    fs::write(dir.path().join("x.csv"), "0.1,0.9\n0.9,0.1\n0.25,-0.5\n0.75,0.3\n1,0\n0,1\n").unwrap();
    let compile =
        |model: &'static str| ["compile", model, "--calibrate", "x.csv", "--bits", "4", "-o", "x.plan"];
    let said = at(&compile("model/outside.onnx")).refuses();
    assert!(said.contains("\"../w.bin\" is not a path inside the folder of the model"), "{said}");
    assert!(!dir.path().join("x.plan").exists());
    for (model, expected) in [
        ("model/matrix.onnx", [[0.65, 2.6], [1.85, -0.6], [0.25, -1.75], [1.65, 0.15]].map(Vec::from)),
        ("model/tree.onnx", [1.0, 4.0, 1.0, 4.0].map(|leaf| vec![leaf])),
    ] {
        at(&[&compile(model)[..], &["--force"]].concat()).ok();
        at(&["keygen", "x.plan", "-o", "keys", "--force"]).ok();
        at(&["encrypt", "x.csv", "--model", "x.plan", "-k", "keys/public.key", "-o", "x.he", "--force"]).ok();
        at(&["infer", "x.he", "--model", "x.plan", "-k", "keys/eval.key", "-o", "y.he", "--force"]).ok();
        let found = at(&["decrypt", "y.he", "-k", "keys/secret.key", "-o", "-"]).text();
        let found: Vec<Vec<f64>> = numbers(&found.replace("output\n", ""));
        assert_eq!(found.len(), 6);
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!((found - expected).abs() < 0.05, "{model}: {found} for {expected}");
        }
    }
}
