//! Computes ONNX models in the clear, as they are read for encrypted inputs.
//!
//! Each line of the standard input names a model, a table of examples and possibly an output, with
//! tabs between them. Each is answered by a line: `ok`, a tab and the outputs of all examples with
//! commas between them, or `refused`, a tab and why. `tests/onnx/backend.py` compares these with
//! the outputs that ONNX's own tests state.

use he_nn::onnx::Model;
use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};

fn evaluate(line: &str) -> Result<Vec<f64>, Box<dyn Error>> {
    let mut parts = line.split('\t');
    let (model, table) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let graph = Model::read(&std::fs::read(model)?, parts.next())?.graph;
    let mut outputs = Vec::new();
    for row in std::fs::read_to_string(table)?.lines() {
        let numbers: Vec<f64> = row.split(',').map(str::parse).collect::<Result<_, _>>()?;
        outputs.extend(graph.apply_plain(&numbers)?);
    }
    Ok(outputs)
}

fn main() -> Result<(), Box<dyn Error>> {
    for line in stdin().lock().lines() {
        match evaluate(&line?) {
            Ok(outputs) => {
                let outputs: Vec<String> = outputs.iter().map(f64::to_string).collect();
                println!("ok\t{}", outputs.join(","));
            }
            Err(error) => println!("refused\t{}", error.to_string().replace(['\n', '\t'], " ")),
        }
        stdout().flush()?;
    }
    Ok(())
}
