//! Weighted sums of rotations on several devices.

use super::GroupBuf;
use super::buf::Layout;
use super::lead::Held;
use super::ring::GroupRing;
use crate::ring::CudaRing;
use crate::rotations::{Chunk, RotationSums};
use gpu::Buffer;
use he_core::Result;
use he_core::backend::{GiantStep, KeyBuf, KeySwitchShape, PreparedRing, Rotation, RotationBlocks, Weight};
use he_core::ring::{Rows, Span};

const OP: &str = "rotate_and_sum";

/// A rotation by a Galois element, with its key on each device.
type Turn<'h> = (u64, Option<&'h [Buffer]>);

/// A weight with its words on each device.
enum Weights<'h> {
    Scalar(&'h [u64]),
    Poly(&'h [Buffer], u32),
}

impl<'h> Weights<'h> {
    fn own(&self, ring: &CudaRing, span: Span, device: usize) -> Weight<'h, Buffer> {
        match *self {
            Self::Scalar(factors) => Weight::Scalar(ring.share().words(span, factors)),
            Self::Poly(words, log_run) => Weight::Poly { words: &words[device], log_run },
        }
    }
}

fn rotation<'h>(&(g, key): &Turn<'h>, device: usize) -> Rotation<'h, Buffer> {
    Rotation { g, key: key.map(|key| KeyBuf::new(&key[device])) }
}

impl GroupRing {
    fn turn<'h>(
        &self,
        held: &'h Held,
        shape: &KeySwitchShape,
        rotation: &Rotation<'_, GroupBuf>,
    ) -> Result<Turn<'h>> {
        let key = rotation.key.map(|key| self.key_parts(held, shape.key().span, key.buf()));
        Ok((rotation.g, key.transpose()?))
    }

    fn weight<'h>(
        &self,
        held: &'h Held,
        shape: &KeySwitchShape,
        weight: &'h Weight<'_, GroupBuf>,
    ) -> Result<Weights<'h>> {
        let log_n = self.spec().log_n();
        weight.check(shape.span().limbs(), log_n, GroupBuf::words)?;
        Ok(match weight {
            Weight::Scalar(factors) => Weights::Scalar(factors),
            Weight::Poly { words, log_run } => Weights::Poly(
                self.words_of(held, Layout::new(shape.span(), 1 << (log_n - log_run)), words)?,
                *log_run,
            ),
        })
    }

    /// See [`RotationSums`], whose steps every device takes for its own limbs.
    pub(super) fn rotations(
        &self,
        shape: &KeySwitchShape,
        blocks: &RotationBlocks,
        c: [&GroupBuf; 2],
        digits: &GroupBuf,
        babies: &[Rotation<'_, GroupBuf>],
        giants: &[GiantStep<'_, GroupBuf>],
    ) -> Result<[GroupBuf; 2]> {
        let held = Held::default();
        let chain = Rows::new(Span::chain(shape.q), shape.batch);
        let [c0, c1] = [self.poly(&held, chain, c[0])?, self.poly(&held, chain, c[1])?];
        let digits = self.digits(&held, shape, digits)?;
        let babies = babies.iter().map(|baby| self.turn(&held, shape, baby)).collect::<Result<Vec<_>>>()?;
        let step = |giant: &'_ GiantStep<'_, GroupBuf>| self.turn(&held, shape, &giant.rotation);
        let turns = giants.iter().map(step).collect::<Result<Vec<_>>>()?;
        let mut weights = Vec::with_capacity(giants.len());
        for GiantStep { terms, .. } in giants {
            let of_giant = terms.iter().map(|(baby, weight)| Ok((*baby, self.weight(&held, shape, weight)?)));
            weights.push(of_giant.collect::<Result<Vec<_>>>()?);
        }

        let mut sums = Vec::with_capacity(self.parts().len());
        for (i, ring) in self.parts().iter().enumerate() {
            let babies: Vec<_> = babies.iter().map(|baby| rotation(baby, i)).collect();
            let giants: Vec<_> = turns
                .iter()
                .zip(&weights)
                .map(|(turn, terms)| GiantStep {
                    rotation: rotation(turn, i),
                    terms: terms.iter().map(|(baby, w)| (*baby, w.own(ring, shape.span(), i))).collect(),
                })
                .collect();
            let c = [&c0[i], &c1[i]];
            sums.push(RotationSums::new(ring, shape, blocks, c, &digits[i], &babies, &giants)?);
        }
        loop {
            // All devices have equally many chunks.
            let chunks = sums.iter_mut().map(RotationSums::next).collect::<Result<Vec<_>>>()?;
            let Some(chunks) = chunks.into_iter().collect::<Option<Vec<Chunk>>>() else { break };
            let shape = &chunks[0].shape;
            let second: Vec<[&Buffer; 1]> = chunks.iter().map(|chunk| [&chunk.sums[1]]).collect();
            let quotients = self.divide(OP, shape.span(), shape.q, shape.batch, &second, None, 1)?;
            let quotients: Vec<Buffer> = quotients.into_iter().flatten().collect();
            let y = self.lifted(shape, &quotients)?;
            for (i, (sums, ring)) in sums.iter().zip(self.parts()).enumerate() {
                let digits = ring.convert_digits(shape, &y[i][0], Some(&quotients[i]))?;
                sums.turn(&chunks[i], &digits.buf)?;
            }
        }
        let total = sums.into_iter().map(RotationSums::finish).collect();
        let rows = Rows::new(shape.span(), blocks.outputs * blocks.group(shape).batch);
        Ok(self.joined(rows, total))
    }
}
