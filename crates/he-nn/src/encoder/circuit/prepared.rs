//! Linear maps and numbers in the clear, encoded for a device.

use super::levels::Schedule;
use super::map::Map;
use super::plain::Kept;
use super::{Circuit, Op, Value};
use crate::parallel;
use he_core::Result;
use he_core::backend::RingOps;
use he_core::circuits::ckks::PreparedBlocks;
use he_core::ckks::{Complex64, Encoding, Evaluator, Plaintext};
use std::sync::Arc;

/// The maps whose diagonals are made together.
const TOGETHER: usize = 8;

/// The maps of a circuit and the numbers that do not depend on the mask, encoded for their levels.
#[derive(Debug)]
pub struct Prepared<B: RingOps> {
    maps: Vec<Option<Arc<PreparedBlocks<B>>>>,
    plains: Vec<Option<Vec<Plaintext<B>>>>,
}

impl<B: RingOps> Prepared<B> {
    /// Nothing: all is encoded when it is needed.
    pub fn nothing(circuit: &Circuit) -> Self {
        let steps = circuit.steps.len();
        Self { maps: vec![None; steps], plains: (0..steps).map(|_| None).collect() }
    }

    /// Everything. Equal maps of a level are encoded once.
    ///
    /// # Errors
    /// The errors of encoding.
    pub fn new(circuit: &Circuit, schedule: &Schedule, ev: &Evaluator<B>) -> Result<Self> {
        let mut found = Self::nothing(circuit);
        let first: Vec<Value> = (0..circuit.steps.len())
            .map(|id| {
                let same = |other: Value| schedule.made[other] == schedule.made[id];
                circuit.equal_map(id, same).unwrap_or(id)
            })
            .collect();
        let is_made = |id: Value| schedule.made[id].is_some();
        let maps: Vec<(Value, &Map)> =
            circuit.maps().filter(|&(id, _)| is_made(id) && first[id] == id).collect();
        for some in maps.chunks(TOGETHER) {
            let transforms = parallel::mapped(some, |(_, map)| map.transform(&circuit.layout));
            for ((id, _), transform) in some.iter().zip(transforms) {
                let Some(level) = schedule.made[*id] else { continue };
                found.maps[*id] = Some(Arc::new(transform?.prepare(ev, level + 1)?));
            }
        }
        for (id, step) in circuit.steps.iter().enumerate() {
            let Some(level) = schedule.made[id] else { continue };
            match &step.op {
                Op::Map(..) => found.maps[id] = found.maps[first[id]].clone(),
                Op::Weighted(_, plain) | Op::Offset(_, plain) if plain.kept == Kept::All => {
                    found.plains[id] = Some(circuit.encoded(id, level, &[], ev)?);
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// The map of a step, if it is encoded.
    pub fn map(&self, id: Value) -> Option<&PreparedBlocks<B>> {
        self.maps[id].as_deref()
    }

    /// The numbers of a step, if they are encoded.
    pub fn plain(&self, id: Value) -> Option<&[Plaintext<B>]> {
        self.plains[id].as_deref()
    }

    /// Bytes of the maps and of the numbers.
    pub fn bytes(&self) -> u64 {
        let mut maps: Vec<&Arc<PreparedBlocks<B>>> = self.maps.iter().flatten().collect();
        maps.sort_by_key(|map| Arc::as_ptr(map));
        maps.dedup_by_key(|map| Arc::as_ptr(map));
        let numbers = self.plains.iter().flatten().flatten().map(Plaintext::bytes).sum::<u64>();
        maps.into_iter().map(|map| map.bytes()).sum::<u64>() + numbers
    }
}

impl Circuit {
    /// The linear maps.
    fn maps(&self) -> impl Iterator<Item = (Value, &Map)> {
        self.steps.iter().enumerate().filter_map(|(id, step)| match &step.op {
            Op::Map(_, map) => Some((id, map)),
            _ => None,
        })
    }

    /// The first step before this one with an equal map and a property.
    pub fn equal_map(&self, id: Value, is: impl Fn(Value) -> bool) -> Option<Value> {
        let Op::Map(_, map) = &self.steps[id].op else { return None };
        let equal = |&other: &Value| matches!(&self.steps[other].op, Op::Map(_, other) if other == map);
        (0..id).filter(|&other| is(other)).find(equal)
    }

    /// The numbers in the clear of a step that leaves its value on a level.
    ///
    /// # Errors
    /// The errors of encoding.
    pub fn encoded<B: RingOps>(
        &self,
        id: Value,
        level: usize,
        mask: &[bool],
        ev: &Evaluator<B>,
    ) -> Result<Vec<Plaintext<B>>> {
        let params = ev.params();
        let at = |level: usize| -> Result<Encoding> {
            Ok(params.encoding().at_level(params, level)?.slots(self.layout.slots()))
        };
        let (plain, to) = match &self.steps[id].op {
            Op::Weighted(_, plain) => (plain, at(level + 1)?.for_multiplying(params)?),
            Op::Offset(_, plain) => (plain, at(level)?),
            _ => return Ok(Vec::new()),
        };
        let encode = |vectors: Vec<Vec<f64>>| {
            let complex = |vector: Vec<f64>| vector.into_iter().map(Complex64::from).collect();
            let vectors: Vec<Vec<Complex64>> = vectors.into_iter().map(complex).collect();
            let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
            ev.encoder().encode_batch(&vectors, to)
        };
        plain.numbers(&self.layout, mask).into_iter().map(encode).collect()
    }
}
