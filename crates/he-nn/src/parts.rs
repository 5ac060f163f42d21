//! The parts of a step of an inference: for whoever computes one of them alone.

use crate::compiled::CompiledModel;
use crate::error::Result;
use crate::levels::Action;
use crate::places::Places;
use he_core::circuits::ckks::BlockParts;

impl CompiledModel {
    /// The parts of a step of the [`program`](Self::program) that is a linear map between vectors
    /// of slots: they leave the words of the step, see [`BlockParts`]. `None` for other steps,
    /// which are sums, functions of numbers, refreshes, or products of matrices of stacks.
    ///
    /// # Errors
    /// Linear maps whose weights exceed all numbers.
    pub fn parts(&self, step: usize) -> Result<Option<BlockParts>> {
        let (Some(&Action::Run { layer, level }), Places::Slots(maps)) =
            (self.actions.get(step), &self.places)
        else {
            return Ok(None);
        };
        let transform = maps.transform(&self.graph, &self.layers, layer)?;
        let parts = transform.map(|map| map.into_parts(self.parameters.params(), level));
        Ok(parts.transpose()?)
    }

    /// The same with the numbers of one part alone, which is then the only one that can be
    /// computed, or of none: in a sixteenth of the memory.
    ///
    /// # Errors
    /// The same as for [`parts`](Self::parts).
    pub fn outline_of_parts(&self, step: usize, filled: Option<usize>) -> Result<Option<BlockParts>> {
        let (Some(&Action::Run { layer, level }), Places::Slots(maps)) =
            (self.actions.get(step), &self.places)
        else {
            return Ok(None);
        };
        maps.outline(&self.graph, &self.layers, layer, (self.parameters.params(), level), filled)
    }
}
