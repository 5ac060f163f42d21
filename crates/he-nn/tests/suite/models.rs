//! The models of `models/`, against the outputs that PyTorch computed.

use he_nn::Graph;
use std::io::Read;
use std::path::PathBuf;

pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name)
}

pub fn table(name: &str, header: bool) -> Vec<Vec<f64>> {
    let text = std::fs::read_to_string(path(name)).unwrap();
    let lines = text.lines().skip(usize::from(header));
    lines.map(|line| line.split(',').map(|x| x.parse().unwrap()).collect()).collect()
}

pub fn graph(name: &str) -> Graph {
    Graph::from_onnx(&std::fs::read(path(&format!("{name}.onnx"))).unwrap()).unwrap()
}

#[test]
fn tables_give_the_outputs_of_pytorch() {
    for name in ["breast_cancer", "wine"] {
        let (graph, inputs) = (graph(name), table(&format!("{name}_test.csv"), true));
        for (input, expected) in inputs.iter().zip(table(&format!("{name}_outputs.csv"), false)) {
            let found = graph.apply_plain(input).unwrap();
            for (found, expected) in found.iter().zip(&expected) {
                // PyTorch has read the inputs as float32.
                assert!(
                    (found - expected).abs() < 1e-4 * (1.0 + expected.abs()),
                    "{name}: {found}, {expected}"
                );
            }
        }
    }
}

/// The first digits of a file of `models/mnist`: label and pixels.
pub fn digits(name: &str, count: usize) -> Vec<(u8, Vec<f64>)> {
    records(&format!("mnist/{name}.gz"), 784, count)
}

/// The first records of a file: a label, and bytes from black to white.
pub fn records(name: &str, pixels: usize, count: usize) -> Vec<(u8, Vec<f64>)> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path(name)).unwrap()).read_to_end(&mut bytes).unwrap();
    let record = |record: &[u8]| (record[0], record[1..].iter().map(|&x| f64::from(x) / 255.0).collect());
    bytes.chunks_exact(pixels + 1).take(count).map(record).collect()
}

#[test]
fn pictures_give_the_outputs_of_their_training() {
    for (name, file, pixels) in [
        ("lenet5_relu", "mnist/test.gz", 784),
        ("lenet5_square", "mnist/test.gz", 784),
        ("digits_small", "mnist/test.gz", 784),
        ("resnet20", "resnet20_test.gz", 3072),
    ] {
        let graph = graph(name);
        let expected = table(&format!("{name}_outputs.csv"), false);
        assert_eq!(expected.len(), 8);
        for ((_, image), expected) in records(file, pixels, 8).iter().zip(expected) {
            let found = graph.apply_plain(image).unwrap();
            for (found, expected) in found.iter().zip(&expected) {
                assert!(
                    (found - expected).abs() < 1e-5 * (1.0 + expected.abs()),
                    "{name}: {found}, {expected}"
                );
            }
        }
    }
}
