//! TFHE, on the lead.

use super::lead::Held;
use super::{CudaGroup, GroupBuf};
use crate::circuit::CudaCircuitKey;
use crate::tfhe::CudaLweKey;
use he_core::Result;
use he_core::tfhe::{BootstrapKey, CircuitKey, Combination, LweOps, TfheParams};

impl LweOps for CudaGroup {
    type LweKey = CudaLweKey;
    type CircuitKey = CudaCircuitKey;

    fn lwe_key(&self, key: &BootstrapKey) -> Result<CudaLweKey> {
        self.lead().lwe_key(key)
    }

    fn lwe_combine(
        &self,
        params: &TfheParams,
        src: &GroupBuf,
        combinations: &[Combination],
    ) -> Result<GroupBuf> {
        let held = Held::default();
        let dst = self.lead().lwe_combine(params, held.whole(src)?, combinations)?;
        Ok(GroupBuf::on_lead(self, dst))
    }

    fn key_switch(&self, key: &CudaLweKey, src: &GroupBuf, count: usize) -> Result<GroupBuf> {
        let held = Held::default();
        let dst = LweOps::key_switch(self.lead(), key, held.whole(src)?, count)?;
        Ok(GroupBuf::on_lead(self, dst))
    }

    fn blind_rotate(
        &self,
        key: &CudaLweKey,
        src: &GroupBuf,
        count: usize,
        tables: &GroupBuf,
        which: &[u32],
        functions: usize,
    ) -> Result<GroupBuf> {
        let held = Held::default();
        let (src, tables) = (held.whole(src)?, held.whole(tables)?);
        let dst = self.lead().blind_rotate(key, src, count, tables, which, functions)?;
        Ok(GroupBuf::on_lead(self, dst))
    }

    fn circuit_key(&self, key: &CircuitKey) -> Result<CudaCircuitKey> {
        self.lead().circuit_key(key)
    }

    fn lookup_bits(
        &self,
        key: &CudaCircuitKey,
        src: &GroupBuf,
        bits: usize,
        count: usize,
        tables: &GroupBuf,
        outputs: usize,
    ) -> Result<GroupBuf> {
        let held = Held::default();
        let (src, tables) = (held.whole(src)?, held.whole(tables)?);
        let dst = self.lead().lookup_bits(key, src, bits, count, tables, outputs)?;
        Ok(GroupBuf::on_lead(self, dst))
    }
}
