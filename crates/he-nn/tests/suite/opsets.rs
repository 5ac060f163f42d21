//! Everything that a model says must be read or refused: attributes and inputs of each operator,
//! types, opsets, and the fields of the format.

use crate::build::{Model, float, int, integers, ints, tensor, text};
use he_nn::onnx::Model as Read;
use he_nn::{Error, Graph};
use rten_onnx::onnx::{AttributeProto, DataType, TensorProto};
use std::path::PathBuf;

fn numbers(text: &str) -> Vec<Vec<f64>> {
    let row = |row: &str| row.split(',').map(|x| x.parse().unwrap()).collect();
    text.lines().map(row).collect()
}

/// Models with the outputs that onnxruntime computes for them.
#[test]
fn models_compute_what_onnxruntime_does() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/onnx");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let file = |file: &str| std::fs::read(path.join(file)).unwrap();
        let table = |name: &str| numbers(&std::fs::read_to_string(path.join(name)).unwrap());
        let graph = Graph::from_onnx(&file("m.onnx"));
        if name == "bn_training_mode" {
            let error = graph.unwrap_err().to_string();
            assert!(error.contains("BatchNormalization") && error.contains("training mode"), "{error}");
            continue;
        }
        let graph = graph.unwrap_or_else(|error| panic!("{name}: {error}"));
        for (x, want) in table("x.csv").iter().zip(table("want.csv")) {
            let found = graph.apply_plain(x).unwrap();
            let close = found.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-5 * (1.0 + b.abs()));
            assert!(found.len() == want.len() && close, "{name}: {found:?} for {want:?}");
            read += 1;
        }
    }
    assert!(read > 30, "{read}");
}

fn typed(name: &str, dims: &[i64], kind: DataType, values: &[i64]) -> TensorProto {
    let size = match kind {
        DataType::BOOL | DataType::INT8 | DataType::UINT8 => 1,
        DataType::INT32 => 4,
        _ => 8,
    };
    let bytes = values.iter().flat_map(|x| x.to_le_bytes()[..size].to_vec()).collect();
    let raw_data = Some(std::cell::RefCell::new(bytes));
    let name = Some(name.to_owned());
    TensorProto { name, dims: dims.to_vec(), data_type: Some(kind), raw_data, ..Default::default() }
}

/// The value of a constant that nodes compute, by adding it to an input of zeros.
fn folded(opset: i64, length: i64, nodes: impl FnOnce(Model) -> Model) -> Result<Vec<f64>, Error> {
    let model = nodes(Model::new(&[1, length]).of_opset(opset))
        .node_of("Cast", &["c"], "f", vec![int("to", 1)])
        .with(integers("row", &[1, -1]))
        .node("Reshape", &["f", "row"], "r")
        .node("Add", &["x", "r"], "y");
    Graph::from_onnx(&model.bytes())?.apply_plain(&vec![0.0; length as usize])
}

/// Types keep their rules: integers are divided towards zero and wrap, casts cut off, and
/// arrangements follow all that they are told.
#[test]
fn constants_follow_the_rules_of_their_types() {
    let of_two = |operator: &'static str, kind: DataType, a: &'static [i64], b: &'static [i64]| {
        folded(18, a.len() as i64, move |model| {
            let dims = [a.len() as i64];
            let model = model.with(typed("a", &dims, kind, a)).with(typed("b", &dims, kind, b));
            model.node(operator, &["a", "b"], "c")
        })
    };
    let long = DataType::INT64;
    assert_eq!(of_two("Div", long, &[7, -7, 7, -7], &[2, 2, -2, -2]).unwrap(), [3.0, -3.0, -3.0, 3.0]);
    assert_eq!(of_two("Mod", long, &[7, -7, 7, -7], &[3, 3, -3, -3]).unwrap(), [1.0, 2.0, -2.0, -1.0]);
    assert_eq!(of_two("Add", DataType::UINT8, &[200, 255], &[100, 1]).unwrap(), [44.0, 0.0]);
    assert_eq!(of_two("Pow", DataType::INT32, &[2, -3], &[31, 3]).unwrap(), [-2147483648.0, -27.0]);
    assert_eq!(of_two("Equal", long, &[1, 2], &[1, 3]).unwrap(), [1.0, 0.0]);
    assert!(of_two("Div", long, &[1], &[0]).unwrap_err().to_string().contains("no value for 1 and 0"));

    let cast = |values: &'static [f32], to: DataType| {
        folded(18, values.len() as i64, move |model| {
            let model = model.with(tensor("a", &[values.len() as i64], values));
            model.node_of("Cast", &["a"], "c", vec![int("to", i64::from(to.0))])
        })
    };
    assert_eq!(cast(&[2.9, -2.9, 0.5], long).unwrap(), [2.0, -2.0, 0.0]);
    assert_eq!(cast(&[2.9, 0.0, -0.1], DataType::BOOL).unwrap(), [1.0, 0.0, 1.0]);
    assert_eq!(cast(&[2049.0, 0.1], DataType::FLOAT16).unwrap(), [2048.0, 0.0999755859375]);
    // Beyond a type, ONNX leaves the result open.
    assert!(
        cast(&[300.0], DataType::INT8).unwrap_err().to_string().contains("300 is not a number of type INT8")
    );
    assert!(cast(&[1e30], DataType::FLOAT16).is_err());

    let six: Vec<f32> = (0..6).map(|x| x as f32).collect();
    let matrix = |model: Model| model.with(tensor("a", &[2, 3], &six));
    let transposed = |perm: &'static [i64]| {
        folded(18, 6, |model| matrix(model).node_of("Transpose", &["a"], "c", vec![ints("perm", perm)]))
            .unwrap()
    };
    assert_eq!(transposed(&[0, 1]), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(transposed(&[1, 0]), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    let sliced = folded(18, 4, |model| {
        matrix(model)
            .with(integers("from", &[-1, 1]))
            .with(integers("to", &[i64::MIN, -3]))
            .with(integers("axes", &[1, 0]))
            .with(integers("steps", &[-2, -1]))
            .node("Slice", &["a", "from", "to", "axes", "steps"], "c")
    });
    assert_eq!(sliced.unwrap(), [5.0, 3.0, 2.0, 0.0]);
    let padded = folded(18, 10, |model| {
        matrix(model).with(integers("pads", &[1, 1])).with(integers("axes", &[-1])).node_of(
            "Pad",
            &["a", "pads", "", "axes"],
            "c",
            vec![text("mode", "reflect")],
        )
    });
    assert_eq!(padded.unwrap(), [1.0, 0.0, 1.0, 2.0, 1.0, 4.0, 3.0, 4.0, 5.0, 4.0]);
    // From opset 18 on, axes are an input.
    let reduced = |opset| {
        folded(opset, 2, |model| matrix(model).node_of("ReduceMean", &["a"], "c", vec![ints("axes", &[1])]))
    };
    assert_eq!(reduced(13).unwrap(), [1.0, 4.0]);
    assert!(reduced(18).unwrap_err().to_string().contains("axes = [1]"));
    // Quantised weights.
    let restored = folded(18, 4, |model| {
        model
            .with(typed("q", &[2, 2], DataType::INT8, &[-128, 127, 1, 2]))
            .with(tensor("s", &[2], &[0.5, 2.0]))
            .with(typed("z", &[2], DataType::INT8, &[0, 1]))
            .node_of("DequantizeLinear", &["q", "s", "z"], "c", vec![int("axis", 0)])
    });
    assert_eq!(restored.unwrap(), [-64.0, 63.5, 0.0, 2.0]);
}

/// Every operator refuses an attribute that it does not have and an input beyond its own.
#[test]
fn nothing_is_left_over() {
    let vector =
        || Model::new(&[0, 4]).with(tensor("w", &[4, 4], &[0.5; 16])).with(tensor("v", &[4], &[0.5; 4]));
    let planes = || {
        Model::new(&[0, 1, 4, 4]).with(tensor("w", &[1, 1, 2, 2], &[0.5; 4])).with(tensor("v", &[1], &[0.5]))
    };
    let constant = |name: &'static str, values: &'static [i64]| (name, values);
    let kernel = || vec![ints("kernel_shape", &[2, 2])];
    type Case = (bool, &'static str, &'static [&'static str], Vec<AttributeProto>);
    let cases: Vec<Case> = vec![
        (false, "Relu", &["x"], vec![]),
        (false, "LeakyRelu", &["x"], vec![]),
        (false, "Celu", &["x"], vec![]),
        (false, "Gelu", &["x"], vec![]),
        (false, "Clip", &["x"], vec![]),
        (false, "Add", &["x", "v"], vec![]),
        (false, "Sub", &["v", "x"], vec![]),
        (false, "Mul", &["x", "x"], vec![]),
        (false, "Div", &["x", "v"], vec![]),
        (false, "Gemm", &["x", "w"], vec![]),
        (false, "MatMul", &["x", "w"], vec![]),
        (false, "Softmax", &["x"], vec![]),
        (false, "ArgMax", &["x"], vec![int("axis", 1)]),
        (false, "Identity", &["x"], vec![]),
        (false, "Dropout", &["x"], vec![]),
        (false, "Cast", &["x"], vec![int("to", 1)]),
        (false, "Flatten", &["x"], vec![]),
        (false, "Reshape", &["x", "shape"], vec![]),
        (false, "Slice", &["x", "start", "end", "axes"], vec![]),
        (false, "Gather", &["x", "axes"], vec![int("axis", 1)]),
        (false, "Tile", &["x", "twice"], vec![]),
        (false, "Split", &["x"], vec![int("axis", 1)]),
        (false, "PRelu", &["x", "v"], vec![]),
        (false, "Pow", &["x", "axes"], vec![]),
        (false, "ReduceSum", &["x", "axes"], vec![]),
        (true, "Conv", &["x", "w"], vec![]),
        (true, "MaxPool", &["x"], kernel()),
        (true, "AveragePool", &["x"], kernel()),
        (true, "GlobalAveragePool", &["x"], vec![]),
        (true, "Transpose", &["x"], vec![ints("perm", &[0, 1, 3, 2])]),
        (true, "Pad", &["x", "pads"], vec![]),
        (true, "DepthToSpace", &["x"], vec![int("blocksize", 1)]),
    ];
    let lists = [
        constant("shape", &[0, 4]),
        constant("start", &[1]),
        constant("end", &[3]),
        constant("axes", &[1]),
        constant("twice", &[1, 2]),
        constant("pads", &[0, 0, 1, 1, 0, 0, 1, 1]),
    ];
    for (is_plane, operator, inputs, attributes) in cases {
        let model = || {
            let model = if is_plane { planes() } else { vector() };
            lists.iter().fold(model, |model, (name, values)| model.with(integers(name, values)))
        };
        let read = |inputs: &[&str], attributes| {
            let inputs: Vec<&str> = inputs.to_vec();
            Graph::from_onnx(&model().of_opset(20).node_of(operator, &inputs, "y", attributes).bytes())
        };
        read(inputs, attributes.clone()).unwrap_or_else(|error| panic!("{operator}: {error}"));
        let unknown = [attributes.clone(), vec![int("surprise", 3)]].concat();
        let error = read(inputs, unknown).unwrap_err();
        let named = matches!(&error, Error::Unsupported { why, .. } if why.contains("surprise = 3"));
        assert!(named && error.hint().is_some(), "{operator}: {error}");
        let more = [inputs, &["", "", "", "", "v"]].concat();
        let error = read(&more, attributes).unwrap_err();
        assert!(error.to_string().contains("(\"v\")"), "{operator}: {error}");
    }
}

/// Attributes that opsets have or lack, training, and types of encrypted values.
#[test]
fn opsets_and_modes_are_read() {
    let vector = || Model::new(&[0, 4]);
    let refused = |model: Model, what: &str| {
        let error = Graph::from_onnx(&model.bytes()).unwrap_err();
        assert!(error.to_string().contains(what) && error.hint().is_some(), "{error}");
    };
    let dropout = |opset, attributes| vector().of_opset(opset).node_of("Dropout", &["x"], "y", attributes);
    refused(dropout(6, vec![]), "training mode");
    assert!(Graph::from_onnx(&dropout(6, vec![int("is_test", 1)]).node("Relu", &["y"], "z").bytes()).is_ok());
    refused(dropout(12, vec![float("ratio", 0.5)]), "ratio = 0.5");
    let training = vector().with(tensor("r", &[], &[0.5])).with(typed("t", &[], DataType::BOOL, &[1]));
    refused(training.node("Dropout", &["x", "r", "t"], "y"), "training mode");
    for (to, name) in [(7, "INT64"), (9, "BOOL"), (17, "FLOAT8E4M3FN")] {
        refused(vector().node_of("Cast", &["x"], "y", vec![int("to", to)]), name);
    }
    // A smaller second input has to be allowed, and begins at an axis.
    let add = |attributes| {
        let model = Model::new(&[0, 2, 3]).of_opset(6).with(tensor("b", &[2], &[1.0, 2.0]));
        Graph::from_onnx(&model.node_of("Add", &["x", "b"], "y", attributes).bytes())
    };
    let sums = add(vec![int("broadcast", 1), int("axis", 1)]).unwrap().apply_plain(&[0.0; 6]).unwrap();
    assert_eq!(sums, [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
    assert!(add(vec![]).is_err() && add(vec![int("broadcast", 1)]).is_err());
    // Bounds are attributes before opset 11, and inputs from then on.
    let clip = |opset| vector().of_opset(opset).node_of("Clip", &["x"], "y", vec![float("max", 0.5)]);
    let found = Graph::from_onnx(&clip(10).bytes()).unwrap().apply_plain(&[-1.0, 0.0, 0.25, 3.0]).unwrap();
    assert_eq!(found, [-1.0, 0.0, 0.25, 0.5]);
    refused(clip(11), "max = 0.5");
    // Axes became an input: that says more than that all axes would be reduced.
    for operator in ["ReduceMean", "ReduceMax"] {
        let model = Model::new(&[0, 2, 3]).node_of(operator, &["x"], "y", vec![ints("axes", &[1])]);
        assert!(Graph::from_onnx(&model.clone().of_opset(17).bytes()).is_ok());
        refused(model, "attribute axes = [1]");
    }
    refused(vector().of_opset(29).node("Relu", &["x"], "y"), "opset 29");
    refused(vector().of_opset(0).node("Relu", &["x"], "y"), "opset 0");
    refused(vector().node_of("Elu", &["x"], "y", vec![int("alpha", 1)]), "alpha = 1");
    refused(
        vector().node_of("Elu", &["x"], "y", vec![float("alpha", 1.0), float("alpha", 2.0)]),
        "two attributes",
    );
    refused(vector().node("Relu", &["x"], "r").node("Tanh", &["x"], "r"), "twice");
    refused(
        vector().with(tensor("r", &[1], &[0.0])).with(tensor("r", &[1], &[1.0])).node(
            "Add",
            &["x", "r"],
            "y",
        ),
        "two constants",
    );
    let mut external = tensor("w", &[4], &[]);
    external.data_location = Some(rten_onnx::onnx::DataLocation::EXTERNAL);
    refused(vector().with(external).node("Add", &["x", "w"], "y"), "another file");
    // A part of a word, and a truth value that is neither.
    for (kind, bytes) in [(DataType::FLOAT, vec![0; 17]), (DataType::BOOL, vec![0, 1, 2, 0])] {
        let mut odd = tensor("w", &[4], &[]);
        (odd.data_type, odd.raw_data) = (Some(kind), Some(std::cell::RefCell::new(bytes)));
        refused(vector().with(odd).node("Add", &["x", "w"], "y"), "other numbers in its constant \"w\"");
    }
}

/// A few bytes cannot ask for any number of elements, nor a batch for one that no machine has.
#[test]
fn small_files_have_small_constants() {
    let vast = || Model::new(&[i64::MAX, 4, 4]).with(integers("pads", &[1, 0, 0, 0, 0, 0]));
    let vast = vast().with(typed("none", &[0, 1 << 60], DataType::INT32, &[]));
    for (operator, inputs, attributes) in [
        ("Pad", &["x", "pads"][..], vec![]),
        ("Split", &["x"], vec![int("axis", 0), int("num_outputs", 1)]),
        ("Flatten", &["x"], vec![int("axis", 2)]),
        ("Add", &["x", "none"], vec![]),
    ] {
        let model = vast.clone().node_of(operator, inputs, "y", attributes);
        assert!(Graph::from_onnx(&model.bytes()).is_err(), "{operator}");
    }

    let mut model = Model::new(&[0, 4]).with(integers("size", &[1 << 20]));
    let names: Vec<String> = (0..6).map(|at| format!("c{at}")).collect();
    let mut inputs = vec!["x"];
    for name in &names {
        model = model.node("ConstantOfShape", &["size"], name);
        inputs.push(name);
    }
    let error = Graph::from_onnx(&model.node("Sum", &inputs, "y").bytes()).unwrap_err().to_string();
    assert!(error.contains("than the size of the file explains"), "{error}");
}

/// One output is computed, and nodes that only others need are not looked at.
#[test]
fn an_output_is_chosen_by_its_name() {
    let model = || {
        Model::new(&[0, 2]).node("Relu", &["x"], "y").node("LSTM", &["x"], "hidden").node("Neg", &["y"], "z")
    };
    let bytes = model().with_output("z").with_output("hidden").bytes();
    let read = Read::read(&bytes, None).unwrap();
    assert_eq!((&*read.output, read.others), ("y", vec!["z".to_owned(), "hidden".to_owned()]));
    assert_eq!(read.graph.apply_plain(&[-1.0, 2.0]).unwrap(), [0.0, 2.0]);
    assert_eq!(Read::read(&bytes, Some("z")).unwrap().graph.apply_plain(&[-1.0, 2.0]).unwrap(), [0.0, -2.0]);
    assert!(
        matches!(Read::read(&bytes, Some("hidden")), Err(Error::Unsupported { operator, .. }) if operator == "LSTM")
    );
    let error = Read::read(&bytes, Some("w")).unwrap_err();
    assert!(error.to_string().contains("no output \"w\""), "{error}");
}

/// Fields of the format that say something which is not read, and such that are there twice.
#[test]
fn fields_are_known_or_refused() {
    let bytes = Model::new(&[0, 2]).node("Relu", &["x"], "y").bytes();
    assert!(Graph::from_onnx(&bytes).is_ok());
    // A field of a length: training, functions, devices, one that there is not, a second graph.
    for (field, what) in
        [(20u64, "train"), (25, "functions"), (26, "devices"), (15, "unknown field 15"), (7, "twice")]
    {
        let mut more = bytes.clone();
        let mut tag = field << 3 | 2;
        while tag >= 128 {
            more.push(tag as u8 | 128);
            tag >>= 7;
        }
        more.extend([tag as u8, 0]);
        let error = Graph::from_onnx(&more).unwrap_err();
        assert!(error.to_string().contains(what), "{field}: {error}");
    }
}
