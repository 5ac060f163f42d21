//! The lookups of a program of TFHE, without doing them.

use super::{BootstrapKey, CircuitKey, Combination, LweOps, TfheParams};
use crate::backend::Tally;
use crate::error::Result;

impl LweOps for Tally {
    type LweKey = TfheParams;
    type CircuitKey = TfheParams;

    fn lwe_key(&self, key: &BootstrapKey) -> Result<TfheParams> {
        Ok(key.params().clone())
    }

    fn lwe_combine(&self, params: &TfheParams, _: &usize, combinations: &[Combination]) -> Result<usize> {
        Ok(combinations.len() * params.words())
    }

    fn key_switch(&self, key: &TfheParams, _: &usize, count: usize) -> Result<usize> {
        Ok(count * (key.spec().lwe_dimension + 1))
    }

    fn blind_rotate(
        &self,
        key: &TfheParams,
        _: &usize,
        count: usize,
        _: &usize,
        _: &[u32],
        functions: usize,
    ) -> Result<usize> {
        self.looked_up(count);
        Ok(functions * count * key.words())
    }

    fn circuit_key(&self, key: &CircuitKey) -> Result<TfheParams> {
        Ok(key.params().tfhe().clone())
    }

    fn lookup_bits(
        &self,
        key: &TfheParams,
        _: &usize,
        _: usize,
        count: usize,
        _: &usize,
        outputs: usize,
    ) -> Result<usize> {
        Ok(count * outputs * key.words())
    }
}
