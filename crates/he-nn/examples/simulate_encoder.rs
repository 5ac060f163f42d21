//! Calibrates an encoder of sentences, and compares its approximations with the exact model.
//!
//! ```sh
//! cargo run --release -p he-nn --example simulate_encoder -- \
//!     MODEL CALIBRATE.csv TEST.csv [WANTED.csv]
//! ```
//!
//! Each line of a table holds the numbers of all inputs of an example; a line of `WANTED.csv` holds
//! the outputs of another program for the same line of `TEST.csv`. Prints the approximations, the
//! warnings, the refusals, the cosines of both outputs, and the plan for ciphertexts of 2^16
//! coefficients: the level, the operations and the refreshes of each layer, and the keys.

use he_core::bootstrapping::presets;
use he_nn::Parameters;
use he_nn::encoder::Encoder;
use he_nn::onnx::{Model, Reading};
use std::error::Error;

type Table = Vec<Vec<f64>>;

fn table(path: &str) -> Result<Table, Box<dyn Error>> {
    let row = |row: &str| row.split(',').map(str::parse).collect::<Result<Vec<f64>, _>>();
    Ok(std::fs::read_to_string(path)?.lines().map(row).collect::<Result<_, _>>()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, calibrate, test, wanted @ ..] = &arguments[..] else { return Err("four arguments".into()) };
    let graph = Model::with(&std::fs::read(model)?, &Reading::default())?.graph;
    println!("{} nodes, {} numbers of input", graph.nodes.len(), graph.input_elements());
    let test = table(test)?;
    if let [wanted] = wanted {
        let exact: Table = test.iter().map(|x| graph.apply_plain(x)).collect::<Result<_, _>>()?;
        let distance =
            |(x, y): (&Vec<f64>, &Vec<f64>)| x.iter().zip(y).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        let most = exact.iter().zip(&table(wanted)?).map(distance).fold(0.0, f64::max);
        println!("greatest difference of an output: {most:.3e}");
    }
    let encoder = Encoder::calibrate(graph, &table(calibrate)?)?;
    for (node, approximate) in encoder.approximations() {
        println!("{}: {}, {} levels", node.name, approximate.describe(), approximate.depth());
    }
    for warning in encoder.warnings() {
        println!("warning: {warning}");
    }
    let comparison = encoder.compare(&test)?;
    comparison.refusals.iter().for_each(|refusal| println!("refused: {refusal}"));
    let (mean, worst) = (comparison.mean().unwrap_or(f64::NAN), comparison.worst().unwrap_or(f64::NAN));
    let count = comparison.cosines.len();
    println!("{count} of {} sentences: cosine {mean:.6}, worst {worst:.6}", test.len());
    print_plan(&encoder)
}

fn print_plan(encoder: &Encoder) -> Result<(), Box<dyn Error>> {
    let plan = encoder.plan(Parameters::Refreshed(presets::fast()?))?;
    for layer in plan.layers() {
        println!("level {}, {} {}: {:?}", layer.level, layer.operator, layer.name, layer.counts);
    }
    let keys = plan.requirements().rotation_steps().len();
    println!("{} vectors, {:?}, keys of {keys} rotations", plan.batch(), plan.counts());
    Ok(())
}
