//! ONNX files made on the spot.

use rten_onnx::onnx::{
    AttributeProto, AttributeType, DataType, Dimension, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, TensorProto, TensorShapeProto, TypeProto, TypeProtoTensor, ValueInfoProto,
};
use std::cell::RefCell;

/// A model under construction.
#[derive(Clone)]
pub struct Model {
    graph: GraphProto,
    opset: i64,
    /// The opset of `ai.onnx.ml`, if nodes are of it.
    learning: Option<i64>,
}

pub fn tensor(name: &str, dims: &[i64], values: &[f32]) -> TensorProto {
    TensorProto {
        name: Some(name.to_owned()),
        dims: dims.to_vec(),
        data_type: Some(DataType::FLOAT),
        raw_data: Some(RefCell::new(values.iter().flat_map(|x| x.to_le_bytes()).collect())),
        ..Default::default()
    }
}

pub fn integers(name: &str, values: &[i64]) -> TensorProto {
    TensorProto {
        name: Some(name.to_owned()),
        dims: vec![values.len() as i64],
        data_type: Some(DataType::INT64),
        int64_data: values.to_vec(),
        ..Default::default()
    }
}

pub fn ints(name: &str, values: &[i64]) -> AttributeProto {
    let (name, r#type) = (Some(name.to_owned()), Some(AttributeType::INTS));
    AttributeProto { name, ints: values.to_vec(), r#type, ..Default::default() }
}

pub fn int(name: &str, value: i64) -> AttributeProto {
    let (name, r#type) = (Some(name.to_owned()), Some(AttributeType::INT));
    AttributeProto { name, i: Some(value), r#type, ..Default::default() }
}

pub fn float(name: &str, value: f32) -> AttributeProto {
    let (name, r#type) = (Some(name.to_owned()), Some(AttributeType::FLOAT));
    AttributeProto { name, f: Some(value), r#type, ..Default::default() }
}

pub fn text(name: &str, value: &str) -> AttributeProto {
    let (name, r#type) = (Some(name.to_owned()), Some(AttributeType::STRING));
    AttributeProto { name, s: Some(value.to_owned()), r#type, ..Default::default() }
}

pub fn floats(name: &str, values: &[f32]) -> AttributeProto {
    let (name, r#type) = (Some(name.to_owned()), Some(AttributeType::FLOATS));
    AttributeProto { name, floats: values.to_vec(), r#type, ..Default::default() }
}

pub fn texts(name: &str, values: &[&str]) -> AttributeProto {
    let (name, r#type) = (Some(name.to_owned()), Some(AttributeType::STRINGS));
    let strings = values.iter().map(|&text| text.to_owned()).collect();
    AttributeProto { name, strings, r#type, ..Default::default() }
}

/// A value; dimension 0 stands for a name.
fn value(name: &str, dims: &[i64]) -> ValueInfoProto {
    let dim = |&dim: &i64| match dim {
        0 => Dimension { dim_param: Some("batch".to_owned()), ..Default::default() },
        dim => Dimension { dim_value: Some(dim), ..Default::default() },
    };
    let shape = Some(TensorShapeProto { dim: dims.iter().map(dim).collect() });
    let tensor_type = Some(TypeProtoTensor { elem_type: Some(DataType::FLOAT), shape });
    let r#type = Some(TypeProto { tensor_type, ..Default::default() });
    ValueInfoProto { name: Some(name.to_owned()), r#type }
}

impl Model {
    /// A model of an input `x`; a dimension of 0 is dynamic.
    pub fn new(input: &[i64]) -> Self {
        let graph = GraphProto {
            input: vec![value("x", input)],
            output: vec![value("y", &[])],
            ..Default::default()
        };
        Self { graph, opset: 18, learning: None }
    }

    /// This model under another opset than 18.
    pub fn of_opset(self, opset: i64) -> Self {
        Self { opset, ..self }
    }

    /// This model with a further output.
    pub fn with_output(mut self, name: &str) -> Self {
        self.graph.output.push(value(name, &[]));
        self
    }

    /// This model with a constant.
    pub fn with(mut self, tensor: TensorProto) -> Self {
        self.graph.initializer.push(tensor);
        self
    }

    /// This model with a node that is called as its output is.
    pub fn node(self, operator: &str, inputs: &[&str], output: &str) -> Self {
        self.node_of(operator, inputs, output, vec![])
    }

    /// This model with a node of attributes.
    pub fn node_of(
        mut self,
        operator: &str,
        inputs: &[&str],
        output: &str,
        attribute: Vec<AttributeProto>,
    ) -> Self {
        self.graph.node.push(NodeProto {
            name: Some(format!("node {output}")),
            op_type: Some(operator.to_owned()),
            input: inputs.iter().map(|&input| input.to_owned()).collect(),
            output: vec![output.to_owned()],
            attribute,
            ..Default::default()
        });
        self
    }

    /// This model with a node of `ai.onnx.ml`, of this opset, on the input `x`.
    pub fn learning(
        mut self,
        opset: i64,
        operator: &str,
        outputs: &[&str],
        attribute: Vec<AttributeProto>,
    ) -> Self {
        self = self.node_of(operator, &["x"], outputs[0], attribute);
        self.learning = Some(opset);
        let node = self.graph.node.last_mut().unwrap();
        node.domain = Some("ai.onnx.ml".to_owned());
        node.output = outputs.iter().map(|&output| output.to_owned()).collect();
        self
    }

    /// The file.
    pub fn bytes(self) -> Vec<u8> {
        let import = |(domain, version): (&str, i64)| OperatorSetIdProto {
            domain: Some(domain.to_owned()),
            version: Some(version),
        };
        let learning = self.learning.map(|version| ("ai.onnx.ml", version));
        let opset_import = std::iter::once(("", self.opset)).chain(learning).map(import).collect();
        let graph = Some(self.graph);
        ModelProto { ir_version: Some(8), graph, opset_import, ..Default::default() }.write_buf().unwrap()
    }
}
