//! Calibrations as bytes, to be kept beside the models that they are of, and plans.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `HE-RANGE` |
//! | 4 | the version, 1, least significant byte first |
//! | 32 | BLAKE3 of the model's graph in postcard's format |
//! | 32 | BLAKE3 of all that follows |
//! | rest | the greatest number of each node and its approximation, in postcard's format |
//!
//! A calibration takes minutes for a large model, and reading it none. Nothing but ranges and fits
//! is in it: no weights and no examples.

use super::{Approximate, Encoder, Plan, check_operations, public};
use crate::error::{Error, Result};
use crate::format::{self, Opened};
use crate::graph::{Graph, Node, Op};

/// The bytes with which calibrations start.
pub const MAGIC: &[u8; 8] = b"HE-RANGE";
const VERSION: u32 = 1;
/// The most bytes of a calibration.
pub const MAX_BYTES: usize = 1 << 26;

fn bad(why: impl Into<String>) -> Error {
    Error::Format { why: why.into() }
}

/// The name of a graph.
fn digest(graph: &Graph) -> Result<[u8; 32]> {
    struct Hash(blake3::Hasher);
    impl std::io::Write for Hash {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let hash = postcard::to_io(graph, Hash(blake3::Hasher::new())).map_err(|error| bad(error.to_string()))?;
    Ok(*hash.0.finalize().as_bytes())
}

impl Encoder {
    /// The calibration as bytes, without the model. Warnings are not among them.
    ///
    /// # Errors
    /// None in practice.
    pub fn calibration_to_bytes(&self) -> Result<Vec<u8>> {
        let body = postcard::to_stdvec(&(&self.greatest, &self.approximate));
        let body = body.map_err(|error| bad(error.to_string()))?;
        let (of, hash) = (digest(&self.graph)?, blake3::hash(&body));
        Ok([&MAGIC[..], &VERSION.to_le_bytes(), &of, hash.as_bytes(), &body].concat())
    }

    /// A model with a calibration of it that was made before.
    ///
    /// # Errors
    /// [`Error::Version`] for another version; [`Error::Format`] for bytes that are not a
    /// calibration of this model, or damaged.
    pub fn from_calibration(graph: Graph, bytes: &[u8]) -> Result<Self> {
        let early = || bad("it ends early");
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| bad("it does not start as a calibration"))?;
        let (version, rest) = rest.split_first_chunk().ok_or_else(early)?;
        match u32::from_le_bytes(*version) {
            VERSION => {}
            found => return Err(Error::Version { found, supported: VERSION }),
        }
        let (of, rest) = rest.split_first_chunk::<32>().ok_or_else(early)?;
        let (hash, body) = rest.split_first_chunk::<32>().ok_or_else(early)?;
        if body.len() > MAX_BYTES {
            return Err(bad(format!("{} bytes, at most {MAX_BYTES} are read", body.len())));
        }
        if blake3::hash(body).as_bytes() != hash {
            return Err(bad("its checksum does not match"));
        }
        if *of != digest(&graph)? {
            return Err(bad("it is the calibration of another model"));
        }
        let (greatest, approximate) = format::whole(body)?;
        Self::of_parts(graph, greatest, approximate)
    }

    /// A model with its ranges.
    fn of_parts(graph: Graph, greatest: Vec<f64>, approximate: Vec<Option<Approximate>>) -> Result<Self> {
        let sizes = [greatest.len(), approximate.len()] == [graph.nodes.len(); 2];
        let public = public(&graph);
        let fits = |(id, approximate): (usize, &Option<Approximate>)| match approximate {
            Some(approximate) => !public[id] && approximate.fits(&graph.nodes[id]),
            None => public[id] || !is_approximated(&graph.nodes[id].op),
        };
        if !sizes
            || !greatest.iter().all(|most| most.is_finite() && *most >= 0.0)
            || !approximate.iter().enumerate().all(fits)
        {
            return Err(bad("its ranges do not belong to the model"));
        }
        Ok(Self { graph, public, approximate, greatest, warnings: Vec::new() })
    }
}

impl Plan {
    /// The plan as bytes, in the format of compiled models; weights and tables are among them in
    /// the clear.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let Encoder { graph, greatest, approximate, .. } = self.encoder();
        format::written(format::ENCODER, self.parameters(), &(graph, greatest, approximate))
    }

    /// Reads a plan that was opened. Levels and places are found again.
    ///
    /// # Errors
    /// [`Error::Format`] for another graph or other ranges than encoders have; the errors of
    /// [`Encoder::plan`].
    pub(crate) fn read(opened: Opened<'_>) -> Result<Self> {
        let (graph, greatest, approximate) = format::whole::<(Graph, _, _)>(opened.rest)?;
        graph.check()?;
        check_operations(&graph, &public(&graph))?;
        Encoder::of_parts(graph, greatest, approximate)?.plan(opened.parameters)
    }
}

/// Whether an operation is computed by an approximation.
fn is_approximated(op: &Op) -> bool {
    matches!(op, Op::Softmax | Op::LayerNorm(_) | Op::Function(_))
}

impl Approximate {
    /// Whether it is one of a node.
    fn fits(&self, node: &Node) -> bool {
        let last = node.shape.last().copied().unwrap_or(0);
        let rows = node.elements() / last.max(1);
        match (self, &node.op) {
            (Self::Softmax(softmax), Op::Softmax) => softmax.is_valid(rows / last.max(1), last),
            (Self::Norm(norm), Op::LayerNorm(_)) => norm.is_valid(rows),
            (Self::Function(function), Op::Function(_)) => function.is_valid(last),
            _ => false,
        }
    }
}
