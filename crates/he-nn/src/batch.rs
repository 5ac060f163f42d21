//! The arrangement of values for a number of examples that come at once.

use crate::calibration::Calibration;
use crate::compiled::{CompiledModel, Options, Wanted};
use crate::error::Result;
use crate::graph::Graph;
use crate::places::Arrangement;

/// The costs of a number of examples in one arrangement.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Costs {
    /// The work of all examples, in butterflies of transforms.
    pub work: f64,
    /// log2 of the ring degree.
    pub log_n: u32,
    /// The levels of fresh inputs.
    pub levels: usize,
    /// Bytes of the evaluation keys in memory, those of refreshes among them.
    pub key_bytes: u64,
}

impl Costs {
    fn new(model: &CompiledModel, examples: usize) -> Result<Self> {
        let facts = model.facts()?;
        let work = facts.work * examples.div_ceil(facts.examples) as f64;
        let key_bytes = facts.key_bytes + facts.bootstrap_key_bytes;
        Ok(Self { work, log_n: facts.log_n, levels: facts.levels, key_bytes })
    }
}

/// The costs of both arrangements, which decided between them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// The examples that come at once.
    pub examples: usize,
    /// The costs of numbers in slots.
    pub slots: Costs,
    /// The costs of numbers in stacks, or why there are no stacks.
    pub stacks: std::result::Result<Costs, String>,
}

impl Comparison {
    /// The arrangement of less work.
    pub fn chosen(&self) -> Arrangement {
        match &self.stacks {
            Ok(stacks) if stacks.work < self.slots.work => Arrangement::Stacks,
            _ => Arrangement::Slots,
        }
    }
}

impl CompiledModel {
    /// Compiles a model, as [`compile`](Self::compile) does, in the arrangement that takes less
    /// work for so many examples that come at once, with what decided.
    ///
    /// Dense layers and convolutions of 1 x 1 on many examples are products of matrices in
    /// [`Stacks`](Arrangement::Stacks), which no other arrangement comes near; few examples, or
    /// large convolutions, take less work in [`Slots`](Arrangement::Slots). Stacks are without
    /// refreshes, for values of up to 4096 elements.
    ///
    /// # Errors
    /// The errors of [`compile`](Self::compile).
    pub fn compile_for_batch(
        mut graph: Graph,
        examples: &[Vec<f64>],
        options: Options,
        batch: usize,
    ) -> Result<(Self, Comparison)> {
        graph.normalise_steps(examples)?;
        let calibration = Calibration::new(&graph, examples)?;
        let arranged = |arrangement| {
            let wanted = Wanted::Anything(arrangement);
            Self::calibrated(graph.clone(), calibration.clone(), options.clone(), wanted)
        };
        let slots = arranged(Arrangement::Slots)?;
        let of_slots = Costs::new(&slots, batch)?;
        let stacks = arranged(Arrangement::Stacks).map_err(|error| error.to_string());
        let of_stacks = stacks.as_ref().map(|model| Costs::new(model, batch)).map_err(Clone::clone);
        let of_stacks = of_stacks.map_or_else(|why| Ok(Err(why)), |costs| costs.map(Ok))?;
        let comparison = Comparison { examples: batch, slots: of_slots, stacks: of_stacks };
        match (comparison.chosen(), stacks) {
            (Arrangement::Stacks, Ok(stacks)) => Ok((stacks, comparison)),
            _ => Ok((slots, comparison)),
        }
    }
}
