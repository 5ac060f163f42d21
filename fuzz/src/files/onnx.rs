//! Models as ONNX.
//!
//! Must hold: any bytes are refused or are a graph, which computes as many numbers as it says, or
//! ends in an error; the operators of refused ones are named.
//!
//! Bytes: the file.

use he_nn::Graph;

/// The most numbers that a model is run on: convolutions of great ones take long.
const MOST: usize = 1 << 12;

pub fn run(data: &[u8]) {
    let Ok(graph) = Graph::from_onnx(data) else { return };
    if graph.input_elements() > MOST || graph.output_elements() > MOST || data.len() > 1 << 14 {
        return;
    }
    let input: Vec<f64> = (0..graph.input_elements()).map(|i| (i % 7) as f64 / 7.0 - 0.4).collect();
    if let Ok(output) = graph.apply_plain(&input) {
        assert_eq!(output.len(), graph.output_elements());
    }
    assert!(graph.apply_plain(&[]).is_err() || graph.input_elements() == 0);
}

/// A field of a message of protocol buffers: bytes, or a number.
pub fn bytes(field: u8, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint(u64::from(field) << 3 | 2, &mut out);
    varint(content.len() as u64, &mut out);
    out.extend(content);
    out
}

pub fn number(field: u8, value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    varint(u64::from(field) << 3, &mut out);
    varint(value, &mut out);
    out
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn tensor(name: &str, dims: &[u64], values: &[f32]) -> Vec<u8> {
    let mut out: Vec<u8> = dims.iter().flat_map(|&dim| number(1, dim)).collect();
    out.extend(number(2, 1));
    out.extend(bytes(8, name.as_bytes()));
    out.extend(bytes(9, &values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()));
    bytes(5, &out)
}

fn node(operator: &str, inputs: &[&str], output: &str, attributes: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = inputs.iter().flat_map(|input| bytes(1, input.as_bytes())).collect();
    out.extend(bytes(2, output.as_bytes()));
    out.extend(bytes(4, operator.as_bytes()));
    out.extend(attributes);
    bytes(1, &out)
}

/// A list of integers as an attribute.
fn list(name: &str, values: &[u64]) -> Vec<u8> {
    let mut out = bytes(1, name.as_bytes());
    out.extend(values.iter().flat_map(|&value| number(8, value)));
    out.extend(number(20, 7));
    bytes(5, &out)
}

fn value(field: u8, name: &str, dims: &[u64]) -> Vec<u8> {
    let dims: Vec<u8> = dims.iter().flat_map(|&dim| bytes(1, &number(1, dim))).collect();
    let shape = [number(1, 1), bytes(2, &dims)].concat();
    bytes(field, &[bytes(1, name.as_bytes()), bytes(2, &bytes(1, &shape))].concat())
}

fn file(input: &[u64], parts: &[Vec<u8>]) -> Vec<u8> {
    let graph = [parts.concat(), value(11, "x", input), value(12, "y", &[])].concat();
    [number(1, 8), bytes(7, &graph), bytes(8, &number(2, 18))].concat()
}

/// A convolution, a function and a linear layer.
pub fn network() -> Vec<u8> {
    file(
        &[1, 1, 4, 4],
        &[
            tensor("w", &[2, 1, 2, 2], &[0.5, 1.0, -0.5, 0.25, 1.0, 0.0, 0.0, -1.0]),
            node("Conv", &["x", "w"], "c", &list("strides", &[2, 2])),
            node("Tanh", &["c"], "t", &[]),
            node("Flatten", &["t"], "f", &[]),
            tensor("v", &[8, 3], &[0.125; 24]),
            node("MatMul", &["f", "v"], "y", &[]),
        ],
    )
}

pub fn seeds() -> Vec<Vec<u8>> {
    let gemm = [tensor("w", &[4, 2], &[0.5; 8]), tensor("b", &[2], &[1.0, -1.0])];
    let last = |operator: &str, attributes: &[u8]| {
        let layers = [node("Gemm", &["x", "w", "b"], "g", &[]), node(operator, &["g"], "y", attributes)];
        file(&[1, 4], &[&gemm[..], &layers].concat())
    };
    let pool = [
        node("MaxPool", &["x"], "m", &[list("kernel_shape", &[2, 2]), list("strides", &[2, 2])].concat()),
        node("Relu", &["m"], "r", &[]),
        node("Add", &["r", "r"], "y", &[]),
    ];
    let operators = ["Relu", "Sigmoid", "Softmax", "Identity", "Neg", "Exp", "Unknown"];
    let of_one = operators.iter().map(|operator| last(operator, &[]));
    [network(), file(&[1, 2, 4, 4], &pool), last("Softmax", &list("axis", &[1]))]
        .into_iter()
        .chain(of_one)
        .collect()
}
