//! A model as the layers that are computed on ciphertexts.
//!
//! Linear maps that follow each other become one layer and cost one level: batch normalisations,
//! pooling, reshapes and whatever else has nothing nonlinear between. Every value is held divided
//! by a *unit*, so that it is within one of zero for all inputs within the calibrated ranges, which
//! functions and refreshes rely on. Units cost nothing: linear maps multiply by them anyway.

use crate::calibration::Calibration;
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::function::Function;
use crate::graph::{Graph, Node, Op};

/// A layer: one encrypted value and its computation.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The kind of its computation.
    pub kind: Kind,
    /// The layers whose values it takes.
    pub inputs: Vec<usize>,
    /// The node of the graph whose value it is.
    pub node: usize,
    /// The number by which its values are divided.
    pub unit: f64,
}

/// The computation of a layer.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// The input.
    Input,
    /// The linear maps of these nodes, one after the other; with none, a change of layout.
    Linear(Vec<usize>),
    /// A sum.
    Add,
    /// A product.
    Product,
    /// A function of every element.
    Function(Function),
}

/// Layers in groups that have something in common, each known by its first layer.
pub struct Groups(Vec<usize>);

impl Groups {
    /// Layers whose kind is `tied` are in the groups of their inputs.
    fn new(list: &[Layer], tied: impl Fn(&Kind) -> bool) -> Self {
        let mut groups = Self((0..list.len()).collect());
        for (id, layer) in list.iter().enumerate().filter(|(_, layer)| tied(&layer.kind)) {
            for &input in &layer.inputs {
                let (a, b) = (groups.first(id), groups.first(input));
                groups.0[a.max(b)] = a.min(b);
            }
        }
        groups
    }

    /// The first layer of a layer's group.
    pub fn first(&self, mut id: usize) -> usize {
        while self.0[id] != id {
            id = self.0[id];
        }
        id
    }
}

/// The layers, each after its inputs; the first is the input and the last the output.
#[derive(Clone, Debug)]
pub struct Layers {
    /// The layers.
    pub list: Vec<Layer>,
    /// The numbers by which the elements of the input are divided.
    pub input_units: Vec<f64>,
}

impl Graph {
    /// Checks that plans for encrypted values have every operation.
    ///
    /// # Errors
    /// [`Error::Unplanned`], for the first one that they do not have; the second input of a model
    /// is one of them.
    pub(crate) fn check_planned(&self) -> Result<()> {
        let unplanned =
            |(id, node): &(usize, &Node)| node.op.is_of_transformers() || *id > 0 && node.op == Op::Input;
        match self.nodes.iter().enumerate().find(unplanned) {
            Some((_, node)) => {
                Err(Error::Unplanned { operator: node.operator.clone(), node: node.name.clone() })
            }
            None => Ok(()),
        }
    }
}

impl Layers {
    /// Lowers a graph; values may exceed those seen by the fraction `margin`.
    ///
    /// # Errors
    /// [`Error::Uncalibrated`] for a function whose inputs were all zero; [`Error::Graph`] for a
    /// model that computes nothing.
    pub fn new(graph: &Graph, calibration: &Calibration, margin: f64) -> Result<Self> {
        let mut uses = vec![0usize; graph.nodes.len()];
        graph.nodes.iter().flat_map(|node| &node.inputs).for_each(|&input| uses[input] += 1);
        uses[graph.output] += 1;
        // The layer of each node, where it has one.
        let mut list: Vec<Layer> = Vec::new();
        let mut layer_of = vec![usize::MAX; graph.nodes.len()];
        for (id, node) in graph.nodes.iter().enumerate() {
            let inputs: Vec<usize> = node.inputs.iter().map(|&input| layer_of[input]).collect();
            let kind = match &node.op {
                Op::Input => Kind::Input,
                Op::Add => Kind::Add,
                Op::Product => Kind::Product,
                Op::Function(function) => Kind::Function(function.clone()),
                _ => {
                    // It extends a linear map whose value nothing else takes.
                    if let Layer { kind: Kind::Linear(chain), node: last, .. } = &mut list[inputs[0]]
                        && uses[node.inputs[0]] == 1
                    {
                        chain.push(id);
                        *last = id;
                        layer_of[id] = inputs[0];
                        continue;
                    }
                    Kind::Linear(vec![id])
                }
            };
            layer_of[id] = list.len();
            list.push(Layer { kind, inputs, node: id, unit: 1.0 });
        }
        list.truncate(layer_of[graph.output] + 1);
        if list.len() < 2 {
            return Err(Error::Graph { why: "computes nothing on its input".to_owned() });
        }
        let mut layers = Self { list, input_units: Vec::new() };
        layers.set_units(graph, calibration, margin)?;
        Ok(layers)
    }

    /// The interval on which the function of a layer is needed, if it does not exist everywhere.
    pub fn domain(&self, layer: &Layer, calibration: &Calibration, margin: f64) -> Option<Domain> {
        match &layer.kind {
            Kind::Function(function) => {
                Domain::of(function, calibration.nodes[self.list[layer.inputs[0]].node], margin)
            }
            _ => None,
        }
    }

    /// Layers whose values lie alike: those of sums, products and functions lie as their inputs.
    pub fn alike(&self) -> Groups {
        Groups::new(&self.list, |kind| matches!(kind, Kind::Add | Kind::Product | Kind::Function(_)))
    }

    /// Chooses the units: one for all values that are added to each other.
    fn set_units(&mut self, graph: &Graph, calibration: &Calibration, margin: f64) -> Result<()> {
        let count = self.list.len();
        let groups = Groups::new(&self.list, |kind| match kind {
            Kind::Add => true,
            // max(c x, 0) = c max(x, 0).
            Kind::Function(function) => function.is_relu(),
            _ => false,
        });
        let mut greatest = vec![0f64; count];
        for id in 0..count {
            let node = self.list[id].node;
            let magnitude = calibration.magnitude(node);
            let of = groups.first(id);
            greatest[of] = greatest[of].max((1.0 + margin) * magnitude);
        }
        for id in 0..count {
            let of = greatest[groups.first(id)];
            self.list[id].unit = if of > 0.0 { of } else { 1.0 };
        }
        // Products and powers keep their coefficient at one where nothing else decides.
        for id in 0..count {
            let alone =
                groups.first(id) == id && (0..count).filter(|&other| groups.first(other) == id).count() == 1;
            let units = |index: usize| self.list[self.list[id].inputs[index]].unit;
            let unit = match &self.list[id].kind {
                Kind::Product => Some(units(0) * units(1)),
                Kind::Function(function) => match function.coefficients().as_deref() {
                    Some([rest @ .., last]) if rest.iter().all(|&c| c == 0.0) && *last > 0.0 => {
                        Some(last * units(0).powi(rest.len() as i32))
                    }
                    _ => None,
                },
                _ => None,
            };
            // Steps are within one already.
            let unit = match &self.list[id].kind {
                Kind::Function(function) if function.is_step() => Some(1.0),
                _ => unit,
            };
            if let Some(unit) = unit.filter(|unit| alone && unit.is_normal()) {
                self.list[id].unit = unit;
            }
            if let Kind::Function(_) = &self.list[id].kind {
                let from = self.list[self.list[id].inputs[0]].node;
                if calibration.magnitude(from) == 0.0 {
                    return Err(graph.uncalibrated(self.list[id].node, calibration.nodes[from]));
                }
            }
        }
        self.input_units = self.units_of_input(graph, calibration, margin);
        Ok(())
    }

    /// The units of the input, one for each channel of planes, one for each number of a table:
    /// features may be of very different sizes. If something other than a linear map takes the
    /// input, there is one for all.
    fn units_of_input(&self, graph: &Graph, calibration: &Calibration, margin: f64) -> Vec<f64> {
        let shape = &graph.nodes[0].shape;
        let elements = graph.input_elements();
        let linear = |layer: &Layer| matches!(layer.kind, Kind::Linear(_)) || !layer.inputs.contains(&0);
        let run = match shape.len() {
            _ if !self.list.iter().all(linear) => return vec![self.list[0].unit; elements],
            1 => 1,
            _ => shape[1..].iter().product(),
        };
        let unit = |run: &[f64]| (1.0 + margin) * run.iter().copied().fold(0.0, f64::max);
        let units: Vec<f64> = calibration.inputs.chunks(run).map(unit).collect();
        (0..elements).map(|at| if units[at / run] > 0.0 { units[at / run] } else { 1.0 }).collect()
    }
}
