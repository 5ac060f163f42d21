//! The versions of the sets of operators that a model is written in.

use super::node::{ML, domain};
use crate::error::{Error, Result};
use rten_onnx::onnx::{ModelProto, NodeProto};
use std::collections::HashMap;

/// The newest version of the format that is known.
const NEWEST_FORMAT: i64 = 14;
/// The sets of operators that are read, and the newest version of each.
const NEWEST: [(&str, i64); 2] = [("", 28), (ML, 5)];

/// The version of each set of operators.
#[derive(Debug)]
pub struct Opsets(HashMap<String, i64>);

impl Opsets {
    /// Reads the versions that a model states.
    ///
    /// # Errors
    /// [`Error::Model`] for a version of the format that is not known, for a set of operators that
    /// is stated in two versions, and for none where the format asks for one.
    pub fn read(model: &ModelProto) -> Result<Self> {
        let format = model.ir_version.unwrap_or_default();
        if !(1..=NEWEST_FORMAT).contains(&format) {
            return Err(Error::Model {
                why: format!(
                    "is written in version {format} of the format, and 1 to {NEWEST_FORMAT} are read"
                ),
                hint: "save it with a version of `onnx` that writes one of these",
            });
        }
        let mut versions = HashMap::new();
        for opset in &model.opset_import {
            let domain = match opset.domain.as_deref().unwrap_or_default() {
                "ai.onnx" => "",
                domain => domain,
            };
            let version = opset.version.unwrap_or_default();
            match versions.insert(domain.to_owned(), version) {
                Some(other) if other != version => {
                    return Err(Error::Model {
                        why: format!("imports opset {other} and opset {version} of {domain:?}"),
                        hint: "leave one of them: onnx.version_converter makes a model of one opset",
                    });
                }
                _ => {}
            }
        }
        if versions.is_empty() {
            // The first versions of the format have no such field, and mean the first opset.
            if format >= 3 {
                return Err(Error::Model {
                    why: "does not say which opset it is written in".to_owned(),
                    hint: "state it: model.opset_import.append(onnx.helper.make_opsetid(\"\", 17))",
                });
            }
            versions.insert(String::new(), 1);
        }
        Ok(Self(versions))
    }

    /// The version of the set of operators of a node.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a set that is not known or not stated, or a version that is not.
    pub fn of(&self, proto: &NodeProto) -> Result<i64> {
        let unsupported = |why: String, hint| {
            let (operator, name) = (proto.op_type.clone(), proto.name.clone());
            let name = name.filter(|name| !name.is_empty()).or_else(|| proto.output.first().cloned());
            let (operator, node) = (operator.unwrap_or_default(), name.unwrap_or_default());
            Err(Error::Unsupported { operator, node, why, hint })
        };
        let domain = domain(proto);
        let Some((_, newest)) = NEWEST.iter().find(|(known, _)| *known == domain) else {
            return unsupported(
                format!("it belongs to the operators of {domain:?}"),
                "export the model with the operators of ONNX alone",
            );
        };
        match self.0.get(domain) {
            Some(version) if (1..=*newest).contains(version) => Ok(*version),
            Some(version) => unsupported(
                format!("it is of opset {version} of {domain:?}, and 1 to {newest} are known"),
                "convert the model: onnx.version_converter.convert_version(model, 21)",
            ),
            None => unsupported(
                format!("the model does not say which opset of {domain:?} it is written in"),
                "state it: model.opset_import.append(onnx.helper.make_opsetid(domain, version))",
            ),
        }
    }
}
