//! Encoders as graphs become circuits.

use super::attention::Heads;
use super::layout::Layout;
use super::map::Map;
use super::{Circuit, Part, Value};
use crate::canonical::moves;
use crate::encoder::{Approximate, Encoder, gelu};
use crate::error::{Error, Result};
use crate::graph::{Contract, Decision, Dense, Graph, Op};

/// The numbers of an output in the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The features of every token.
    Tokens,
    /// One row of features, in the slots of every token.
    Pooled,
}

/// An encoder as a circuit.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// The circuit.
    pub circuit: Circuit,
    /// The node whose value is encrypted.
    pub input: usize,
    /// The number by which it is divided.
    pub input_unit: f64,
    /// The node whose value is decrypted.
    pub output: usize,
    /// The number by which it is divided.
    pub output_unit: f64,
    /// The places of its numbers.
    pub form: Output,
    /// The decision on them after decryption.
    pub decision: Decision,
    /// The node of the mask, if there is one.
    pub mask: Option<usize>,
}

/// The value of a node as it is held.
#[derive(Clone, Copy, Debug)]
struct Held {
    value: Value,
    unit: f64,
}

/// The assembly of a circuit.
struct Assembly<'e> {
    encoder: &'e Encoder,
    circuit: Circuit,
    held: Vec<Option<Held>>,
    /// The units of sums and of all that is added, or normalised.
    units: Vec<f64>,
}

impl Assembled {
    /// The circuit of an encoder for ciphertexts of at most `capacity` slots.
    ///
    /// # Errors
    /// [`Error::Unplanned`] for an operation, or an arrangement of operations, that circuits do not
    /// have; [`Error::Graph`] for tokens that do not fit.
    pub fn new(encoder: &Encoder, capacity: usize) -> Result<Self> {
        let graph = encoder.graph();
        let (input, mask) = (input_of(encoder)?, mask_of(graph)?);
        let [tokens, width] = graph.nodes[input].shape[..] else { return Err(unplanned(graph, input)) };
        let layout = Layout::new(tokens, width, capacity).ok_or_else(|| Error::Graph {
            why: format!("has {width} features, and 2 tokens of them do not fit {capacity} slots"),
        })?;
        let units = encoder.units();
        let mut held = vec![None; graph.nodes.len()];
        held[input] = Some(Held { value: 0, unit: units[input] });
        let mut assembly = Assembly { encoder, circuit: Circuit::new(layout), held, units };
        let output = encoder.last_encrypted();
        for id in (0..=output).filter(|&id| !encoder.is_public(id)) {
            let first = assembly.circuit.steps.len();
            assembly.node(id)?;
            assembly.circuit.at_node(first, id);
            if let Some(part) = part_of(&graph.nodes[id].op) {
                assembly.circuit.at_part(first, part);
            }
        }
        let Held { value, unit } = assembly.of(output)?;
        let form = match graph.nodes[output].op {
            Op::MaskedMean => Output::Pooled,
            _ if graph.nodes[output].shape == [tokens, width] => Output::Tokens,
            _ => return Err(unplanned(graph, output)),
        };
        let decision = match (graph.output == output, graph.decision, form) {
            (true, decision, _) => decision,
            (false, Decision::None, Output::Pooled) => Decision::UnitLength,
            _ => return Err(unplanned(graph, graph.output)),
        };
        let Assembly { mut circuit, units, .. } = assembly;
        circuit.steps.truncate(value + 1);
        Ok(Self { circuit, input, input_unit: units[input], output, output_unit: unit, form, decision, mask })
    }
}

fn unplanned(graph: &Graph, id: usize) -> Error {
    let node = &graph.nodes[id];
    Error::Unplanned { operator: node.operator.clone(), node: node.name.clone() }
}

/// The part of the encoder that an operation is; attention has several.
fn part_of(op: &Op) -> Option<Part> {
    match op {
        Op::Dense(_) => Some(Part::Linear),
        Op::Add => Some(Part::Sum),
        Op::LayerNorm(_) => Some(Part::Norm),
        Op::Function(_) => Some(Part::Function),
        Op::MaskedMean => Some(Part::Pooling),
        _ => None,
    }
}

/// The one value that is encrypted.
fn input_of(encoder: &Encoder) -> Result<usize> {
    let graph = encoder.graph();
    let mut found = None;
    for (id, node) in graph.nodes.iter().enumerate().filter(|(id, _)| !encoder.is_public(*id)) {
        let masked = matches!(node.op, Op::Softmax | Op::MaskedMean);
        let operands = if masked { &node.inputs[..1] } else { &node.inputs[..] };
        for &operand in operands.iter().filter(|&&operand| encoder.is_public(operand)) {
            if *found.get_or_insert(operand) != operand {
                return Err(unplanned(graph, id));
            }
        }
    }
    found.ok_or_else(|| Error::Graph { why: "has no layer that is computed on encrypted values".to_owned() })
}

/// The one mask.
fn mask_of(graph: &Graph) -> Result<Option<usize>> {
    let mut found = None;
    for (id, node) in graph.nodes.iter().enumerate() {
        if let (Op::Softmax | Op::MaskedMean, &[_, mask]) = (&node.op, &node.inputs[..])
            && *found.get_or_insert(mask) != mask
        {
            return Err(unplanned(graph, id));
        }
    }
    Ok(found)
}

impl Assembly<'_> {
    fn graph(&self) -> &Graph {
        self.encoder.graph()
    }

    /// A value of the features of tokens in their order.
    fn of(&self, id: usize) -> Result<Held> {
        let node = &self.graph().nodes[id];
        let is_plain =
            matches!(node.op, Op::MaskedMean) || node.shape.len() == 2 && !matches!(node.op, Op::Function(_));
        self.held[id].filter(|_| is_plain).ok_or_else(|| unplanned(self.graph(), id))
    }

    /// The value before moves of its elements, and the moves.
    fn origin(&self, mut id: usize) -> (usize, Vec<Option<u32>>) {
        let mut all: Vec<Option<u32>> = (0..self.graph().nodes[id].elements() as u32).map(Some).collect();
        while let Some(inner) = moves::places(self.graph(), id) {
            all = all.into_iter().map(|place| place.and_then(|place| inner[place as usize])).collect();
            id = self.graph().nodes[id].inputs[0];
        }
        (id, all)
    }

    fn node(&mut self, id: usize) -> Result<()> {
        if self.held[id].is_some() {
            return Ok(());
        }
        let node = self.graph().nodes[id].clone();
        let found = match (&node.op, &node.inputs[..]) {
            (Op::Dense(_), &[x]) => return self.linear(x),
            (Op::Add, &[a, b]) => {
                let (x, y) = (self.of(a)?, self.of(b)?);
                if x.unit != y.unit {
                    return Err(unplanned(self.graph(), id));
                }
                let value = self.circuit.sum(x.value, y.value);
                Some(Held { value: self.circuit.small(value), unit: x.unit })
            }
            (Op::LayerNorm(norm), &[x]) => {
                let Some(Approximate::Norm(approximate)) = self.encoder.approximate(id) else {
                    return Err(unplanned(self.graph(), id));
                };
                let (x, unit) = (self.of(x)?, self.units[id]);
                let approximate = approximate.clone();
                let value = self.circuit.norm(x.value, norm, &approximate, [x.unit, unit])?;
                Some(Held { value: self.circuit.small(value), unit })
            }
            (Op::Function(_), &[x]) => self.function(id, x)?,
            (Op::Contract(contract), _) => self.attention(id, *contract)?,
            (Op::MaskedMean, &[x, _]) => {
                let x = self.of(x)?;
                Some(Held { value: self.circuit.pooled(x.value), ..x })
            }
            (Op::Gather(_) | Op::Reshape, _) => self.moved(id),
            // Scores and their softmax are parts of attention.
            (Op::Softmax, _) => None,
            _ => return Err(unplanned(self.graph(), id)),
        };
        self.held[id] = found;
        Ok(())
    }

    /// All linear layers of a value.
    fn linear(&mut self, x: usize) -> Result<()> {
        let held = self.held[x].ok_or_else(|| unplanned(self.graph(), x))?;
        let period = self.circuit.layout.period;
        let columns = self.order(x);
        let mut map =
            Map { inputs: self.circuit.steps[held.value].count, outputs: 0, entries: vec![], bias: vec![] };
        let mut parts = Vec::new();
        for id in 0..self.graph().nodes.len() {
            let node = &self.graph().nodes[id];
            let (Op::Dense(dense), &[input]) = (&node.op, &node.inputs[..]) else { continue };
            if input != x {
                continue;
            }
            if node.shape.len() != 2 {
                return Err(unplanned(self.graph(), id));
            }
            let (rows, units) = self.rows(id, dense);
            let first = map.outputs;
            map.outputs += dense.outputs.div_ceil(period);
            map.bias.resize(map.outputs * period, 0.0);
            for (place, (&row, unit)) in rows.iter().zip(units).enumerate() {
                let to = first * period + place;
                map.bias[to] = dense.bias[row] / unit;
                let weights = &dense.weights[row * dense.inputs..][..dense.inputs];
                let weight = |(at, &column): (usize, &usize)| {
                    (to as u32, at as u32, weights[column] * held.unit / unit)
                };
                map.entries.extend(columns.iter().enumerate().map(weight));
            }
            parts.push((id, first..map.outputs));
        }
        let value = self.circuit.map(held.value, map);
        for (id, range) in parts {
            let value = self.circuit.picked(value, range);
            let unit = self.units[id];
            // Sums are small, and so is what a function takes.
            if self.function_of(id).is_some() {
                self.circuit.small(value);
            }
            self.held[id] = Some(Held { value, unit });
        }
        Ok(())
    }

    /// The function that alone takes a linear layer, as it is computed.
    fn function_of(&self, dense: usize) -> Option<&gelu::Approximate> {
        let takes = |&id: &usize| self.graph().nodes[id].inputs.contains(&dense);
        let mut users = (0..self.graph().nodes.len()).filter(takes);
        match (users.next(), users.next()) {
            (Some(user), None) => match self.encoder.approximate(user)? {
                Approximate::Function(function) => Some(function),
                _ => None,
            },
            _ => None,
        }
    }

    /// The rows of a linear layer in their order, and the unit of each.
    fn rows(&self, id: usize, dense: &Dense) -> (Vec<usize>, Vec<f64>) {
        match self.function_of(id) {
            Some(function) => (function.order.clone(), function.bounds()),
            None => ((0..dense.outputs).collect(), vec![self.units[id]; dense.outputs]),
        }
    }

    /// The feature of each place of a value.
    fn order(&self, id: usize) -> Vec<usize> {
        match self.encoder.approximate(id) {
            Some(Approximate::Function(function)) => function.order.clone(),
            _ => (0..self.graph().nodes[id].shape.last().copied().unwrap_or(0)).collect(),
        }
    }

    fn function(&mut self, id: usize, x: usize) -> Result<Option<Held>> {
        let function = match self.encoder.approximate(id) {
            Some(Approximate::Function(function)) if self.function_of(x).is_some() => function,
            _ => return Err(unplanned(self.graph(), id)),
        };
        let polynomials = function.on_unit_intervals()?;
        let x = self.of(x)?;
        if polynomials.len() != self.circuit.steps[x.value].count {
            return Err(unplanned(self.graph(), id));
        }
        Ok(Some(Held { value: self.circuit.polynomial(x.value, polynomials), unit: 1.0 }))
    }

    /// Attention, where a product takes softmax of scores; `None` for the scores themselves.
    fn attention(&mut self, id: usize, second: Contract) -> Result<Option<Held>> {
        let refused = || Err(unplanned(self.graph(), id));
        let inputs = self.graph().nodes[id].inputs.clone();
        let (softmax, same) = self.origin(inputs[0]);
        let Some(Approximate::Softmax(approximate)) = self.encoder.approximate(softmax) else {
            return Ok(None);
        };
        let approximate = approximate.clone();
        let scores = self.graph().nodes[softmax].inputs[0];
        let (scores, scores_same) = self.origin(scores);
        let Op::Contract(first) = self.graph().nodes[scores].op else { return refused() };
        let [queries, keys] = self.graph().nodes[scores].inputs[..] else { return refused() };
        let [(q, q_places), (k, k_places), (v, v_places)] =
            [queries, keys, inputs[1]].map(|input| self.origin(input));
        let (heads, inner, tokens) = (first.groups, first.inner, first.rows);
        let width = heads * inner;
        let place = |head: usize, token: usize, d: usize| Some((token * width + head * inner + d) as u32);
        let row =
            (0..heads * tokens * inner).map(|at| (at / inner / tokens, at / inner % tokens, at % inner));
        let column =
            (0..heads * inner * tokens).map(|at| (at / tokens / inner, at % tokens, at / tokens % inner));
        let by_rows: Vec<Option<u32>> = row.map(|(head, token, d)| place(head, token, d)).collect();
        let by_columns: Vec<Option<u32>> = column.map(|(head, token, d)| place(head, token, d)).collect();
        let fits = is_identity(&same)
            && is_identity(&scores_same)
            && (first.columns, tokens) == (tokens, self.circuit.layout.tokens)
            && (second.groups, second.rows, second.inner, second.columns) == (heads, tokens, tokens, inner)
            && q_places == by_rows
            && k_places == by_columns
            && v_places == by_rows
            && inner.is_power_of_two()
            && width <= self.circuit.layout.period;
        if !fits {
            return refused();
        }
        let [q, k, v] = [self.of(q)?, self.of(k)?, self.of(v)?];
        let heads = Heads { heads, inner, factor: first.factor * q.unit * k.unit };
        let value = self.circuit.attention([q.value, k.value, v.value], heads, &approximate)?;
        // Means of values are within the range of values.
        Ok(Some(Held { value: self.circuit.small(value), unit: v.unit * second.factor }))
    }

    /// A value whose elements keep their order, or heads that become rows of features again.
    fn moved(&self, id: usize) -> Option<Held> {
        let (base, places) = self.origin(id);
        let held = self.held[base]?;
        let whole = self.graph().nodes[base].shape == self.graph().nodes[id].shape && is_identity(&places);
        let merged = match self.graph().nodes[base].op {
            Op::Contract(Contract { groups, rows, columns, .. }) => {
                let width = groups * columns;
                let from = |at: usize| {
                    let (token, feature) = (at / width, at % width);
                    Some(((feature / columns * rows + token) * columns + feature % columns) as u32)
                };
                places.iter().enumerate().all(|(at, place)| *place == from(at))
            }
            _ => false,
        };
        (whole || merged).then_some(held)
    }
}

fn is_identity(places: &[Option<u32>]) -> bool {
    places.iter().zip(0..).all(|(&place, at)| place == Some(at))
}
