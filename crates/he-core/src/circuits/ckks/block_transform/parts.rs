//! Maps as sequences of parts, each of which takes one key or one diagonal at most.

use super::{BlockTransform, Key, checked};
use crate::backend::{Cpu, RingOps};
use crate::circuits::check_level;
use crate::circuits::ckks::TensorLayout;
use crate::ckks::{Ciphertext, CkksParams, Complex64, Encoding, Evaluator};
use crate::error::{Error, Result};
use crate::ring::{Poly, Span, galois_rotation};
use crate::rlwe::{Decomposed, EvaluationKeys, ExtendedCiphertext, RlweCiphertext, SwitchKey};
use std::borrow::Borrow;
use std::collections::BTreeMap;

/// Passes over the entries of a map in which its diagonals are listed without keeping them.
const PASSES: usize = 16;

/// A value that a part computes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartOf {
    /// A ciphertext of the input.
    Input(usize),
    /// The value of a part before it.
    Made(usize),
}

/// The computation of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// An input on the level of the map.
    Lowered,
    /// A rotation of such an input: over Q P if sums are divided once.
    Rotated(i64),
    /// A rotation times its diagonal, added to the sum before, if there is one.
    Product(Key),
    /// The sum of a giant step, divided by the primes of the level.
    Rescaled,
    /// The rotation of such a sum, added to those before.
    Turned(i64),
    /// The sum of all giant steps, divided by P and the primes of the level.
    Divided,
    /// Partial sums and their rotation.
    Folded(i64),
    /// The sum with the numbers that are added to this output.
    Biased(usize),
    /// An output without diagonals.
    Zero,
}

/// A part of the computation of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapPart {
    /// The computation, in words that no two different parts of a map share.
    pub name: String,
    /// The values that it computes from, in order.
    pub of: Vec<PartOf>,
    kind: Kind,
}

/// A value that a part computes from, at hand.
#[derive(Debug)]
pub enum PartValue<'a, B: RingOps = Cpu> {
    /// A ciphertext of the input.
    Input(&'a Ciphertext<B>),
    /// The value of a part: two polynomials over primes of the chain, and special ones.
    Made(&'a RlweCiphertext<B>),
}

/// The computation of a [`BlockTransform`] on one level as a sequence of small parts, for whoever
/// has to compute one of them alone: rotations, products with one diagonal and sums, each of which
/// leaves the words that it has in
/// [`PreparedBlocks::apply`](super::PreparedBlocks::apply), on every device. A part takes one
/// Galois key or one diagonal at most, so that memory and time are those of one key switch.
///
/// ```
/// use he_core::circuits::ckks::BlockTransform;
/// use he_core::ckks::CkksParams;
/// let params = CkksParams::for_depth(1).build()?;
/// let map = BlockTransform::matrix(2, 2, &[1.0, 2.0, 3.0, 4.0], params.slots())?;
/// let parts = map.into_parts(&params, 1)?;
/// assert!(parts.list().iter().any(|part| part.name.starts_with("rotation of input 0 by ")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BlockParts {
    map: BlockTransform,
    level: usize,
    /// Whether rotations stay undivided until all are summed up.
    double: bool,
    parts: Vec<MapPart>,
    outputs: Vec<usize>,
}

/// A [`BlockTransform`] without the numbers of its diagonals, which take most of its memory: for
/// [`BlockParts`] of which few are computed. It is made in a few passes over the entries, with a
/// sixteenth of the memory.
#[derive(Clone, Debug)]
pub struct BlockOutline(BlockTransform);

impl BlockOutline {
    /// For the same entries as [`BlockTransform::with_babies`].
    ///
    /// # Errors
    /// The same as for that.
    pub fn new<T: Copy + Into<Complex64>>(
        input: &TensorLayout,
        output: &TensorLayout,
        entries: impl IntoIterator<Item = (usize, usize, T), IntoIter: Clone>,
        babies: usize,
    ) -> Result<Self> {
        let entries = checked(input, output, entries.into_iter())?;
        BlockTransform::check_babies(input, output, babies)?;
        let mut diagonals = BTreeMap::new();
        for pass in 0..PASSES {
            let taken = |key: &Key| (key.giant + key.baby).rem_euclid(PASSES as i64) as usize == pass;
            let some = BlockTransform::diagonals_of(input, output, entries.clone(), babies, taken);
            diagonals.extend(some.into_keys().map(|key| (key, Vec::new())));
        }
        Ok(Self(BlockTransform { input: *input, output: *output, diagonals, bias: Vec::new(), babies }))
    }

    /// The same as [`BlockTransform::with_bias`].
    ///
    /// # Errors
    /// The same as for that.
    pub fn with_bias<T: Copy + Into<Complex64>>(
        self,
        bias: impl IntoIterator<Item = (usize, T)>,
    ) -> Result<Self> {
        self.0.with_bias(bias).map(Self)
    }

    /// The parts on a level, without diagonals until they are [filled](BlockParts::fill).
    ///
    /// # Errors
    /// The same as for [`BlockTransform::into_parts`].
    pub fn into_parts(self, params: &CkksParams, level: usize) -> Result<BlockParts> {
        self.0.into_parts(params, level)
    }
}

impl BlockTransform {
    /// The parts of the computation on a level, as [`prepare`](Self::prepare) encodes it.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] for level 0, [`Error::LevelTooHigh`].
    pub fn into_parts(self, params: &CkksParams, level: usize) -> Result<BlockParts> {
        check_level(1, level)?;
        params.level(level)?;
        let double = self.prefers_double_hoisting(params, level);
        let mut parts = BlockParts { map: self, level, double, parts: Vec::new(), outputs: Vec::new() };
        let rotations = parts.list_rotations();
        for output in 0..parts.map.output.ciphertexts() {
            let last = parts.list_output(output, &rotations);
            parts.outputs.push(last);
        }
        Ok(parts)
    }
}

impl BlockParts {
    fn push(&mut self, name: String, of: Vec<PartOf>, kind: Kind) -> usize {
        self.parts.push(MapPart { name, of, kind });
        self.parts.len() - 1
    }

    /// Inputs on the level of the map, and all rotations of them.
    fn list_rotations(&mut self) -> BTreeMap<(usize, i64), usize> {
        let unit = self.map.input.examples() as i64;
        let mut rotations = BTreeMap::new();
        for input in 0..self.map.input.ciphertexts() {
            let name = format!("input {input} on level {}", self.level);
            let lowered = self.push(name, vec![PartOf::Input(input)], Kind::Lowered);
            let mut steps: Vec<i64> =
                self.map.diagonals.keys().filter(|key| key.input == input).map(|key| key.baby).collect();
            steps.sort_unstable();
            steps.dedup();
            for baby in steps {
                let step = baby * unit;
                let name = format!("rotation of input {input} by {step}");
                let part = self.push(name, vec![PartOf::Made(lowered)], Kind::Rotated(step));
                rotations.insert((input, baby), part);
            }
        }
        rotations
    }

    /// The parts of an output, of which the last is its value.
    fn list_output(&mut self, output: usize, rotations: &BTreeMap<(usize, i64), usize>) -> usize {
        let keys: Vec<Key> = self.map.diagonals.keys().filter(|key| key.output == output).copied().collect();
        let unit = self.map.input.examples() as i64;
        let mut total = None;
        for group in keys.chunk_by(|a, b| a.giant == b.giant) {
            let step = group[0].giant * unit;
            let sum = self.list_sum(group, rotations);
            let of = [Some(sum), total].into_iter().flatten().map(PartOf::Made).collect();
            total = Some(self.push(format!("output {output}: sum turned by {step}"), of, Kind::Turned(step)));
        }
        let mut last = match (total, self.double) {
            (None, _) => self.push(format!("output {output}: zero"), vec![PartOf::Input(0)], Kind::Zero),
            (Some(total), true) => {
                let of = vec![PartOf::Made(total)];
                self.push(format!("output {output}: sum divided"), of, Kind::Divided)
            }
            (Some(total), false) => total,
        };
        for step in self.map.folds() {
            let of = vec![PartOf::Made(last)];
            last = self.push(format!("output {output}: folded by {step}"), of, Kind::Folded(step));
        }
        if output < self.map.bias.len() {
            let of = vec![PartOf::Made(last)];
            last = self.push(format!("output {output}: with its bias"), of, Kind::Biased(output));
        }
        last
    }

    /// The sum of the products of a giant step.
    fn list_sum(&mut self, group: &[Key], rotations: &BTreeMap<(usize, i64), usize>) -> usize {
        let unit = self.map.input.examples() as i64;
        let mut sum = None;
        for key in group {
            let rotated = rotations.get(&(key.input, key.baby)).copied();
            let of = [rotated, sum].into_iter().flatten().map(PartOf::Made).collect();
            let Key { output, giant, input, baby } = *key;
            let (giant, baby) = (giant * unit, baby * unit);
            let name = format!("output {output}, sum turned by {giant}: product of input {input} by {baby}");
            sum = Some(self.push(name, of, Kind::Product(*key)));
        }
        let sum = sum.unwrap_or(0);
        match self.double {
            true => sum,
            false => {
                let (output, giant) = (group[0].output, group[0].giant * unit);
                let name = format!("output {output}, sum turned by {giant}: divided");
                self.push(name, vec![PartOf::Made(sum)], Kind::Rescaled)
            }
        }
    }

    /// The parts in order.
    pub fn list(&self) -> &[MapPart] {
        &self.parts
    }

    /// The parts whose values are the outputs, in their order.
    pub fn outputs(&self) -> &[usize] {
        &self.outputs
    }

    /// The level that all parts but the first of each input compute on.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The step of the rotation whose Galois key a part takes, if it takes one.
    pub fn rotation(&self, part: usize) -> Option<i64> {
        match self.parts.get(part)?.kind {
            Kind::Rotated(step) | Kind::Turned(step) | Kind::Folded(step) => Some(step).filter(|&s| s != 0),
            _ => None,
        }
    }

    /// The primes of the chain that the key of a part is used for.
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`] for parameters without the level.
    pub fn key_primes(&self, params: &CkksParams, part: usize) -> Result<usize> {
        let below = match self.parts.get(part).map(|part| part.kind) {
            Some(Kind::Folded(_)) => 1,
            Some(Kind::Turned(_)) if !self.double => 1,
            _ => 0,
        };
        Ok(params.level(self.level - below)?.primes)
    }

    /// Puts the diagonal in place that a part takes, if it takes one; `entries` are those of the
    /// [outline](BlockOutline).
    ///
    /// # Errors
    /// The same as for [`BlockOutline::new`].
    pub fn fill<T: Copy + Into<Complex64>>(
        &mut self,
        part: usize,
        entries: impl IntoIterator<Item = (usize, usize, T), IntoIter: Clone>,
    ) -> Result<()> {
        let Some(Kind::Product(key)) = self.parts.get(part).map(|part| part.kind) else { return Ok(()) };
        let BlockTransform { input, output, babies, .. } = self.map;
        let entries = checked(&input, &output, entries.into_iter())?;
        let filled = BlockTransform::diagonals_of(&input, &output, entries, babies, |other| *other == key);
        self.map.diagonals.extend(filled);
        Ok(())
    }

    /// Computes one part from the values that it names, in their order. `key` is the Galois key of
    /// its [rotation](Self::rotation), over all primes or over the first
    /// [`key_primes`](Self::key_primes) of them. The evaluator may be one for parameters
    /// [up to](CkksParams::up_to_level) the level of the values.
    ///
    /// # Errors
    /// [`Error::Argument`] for a part that there is not, other values than it takes, a diagonal
    /// that was not filled; [`Error::MissingGaloisKey`]; mismatch of ring, primes, batch or keys;
    /// device errors.
    pub fn compute<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        part: usize,
        of: &[PartValue<'_, B>],
        key: Option<&SwitchKey<B>>,
    ) -> Result<RlweCiphertext<B>> {
        self.step(ev, part, of, key, &mut None)
    }

    /// Computes all parts in order and hands each value to `made`, whose error ends it. Values are
    /// dropped behind their last use.
    ///
    /// # Errors
    /// The same as for [`compute`](Self::compute), and those of `made`.
    pub fn run<B: RingOps, E: From<Error>>(
        &self,
        ev: &Evaluator<B>,
        inputs: &[Ciphertext<B>],
        keys: &EvaluationKeys<B>,
        mut made: impl FnMut(usize, &RlweCiphertext<B>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut last_use = vec![0; self.parts.len()];
        for (index, part) in self.parts.iter().enumerate() {
            part.of.iter().for_each(|of| {
                if let PartOf::Made(made) = *of {
                    last_use[made] = index;
                }
            });
        }
        let (mut values, mut digits) = (BTreeMap::new(), None);
        for (index, part) in self.parts.iter().enumerate() {
            let of = part.of.iter().map(|of| match *of {
                PartOf::Input(input) => inputs.get(input).map(PartValue::Input),
                PartOf::Made(made) => values.get(&made).map(PartValue::Made),
            });
            let of: Option<Vec<PartValue<'_, B>>> = of.collect();
            let of = of.ok_or_else(|| Error::argument("ciphertexts", "fewer than the map takes"))?;
            let g = self.rotation(index).map(|step| galois_rotation(step, ev.ring().spec().log_n()));
            let key = g.and_then(|g| keys.galois(g));
            let value = self.step(ev, index, &of, key, &mut digits)?;
            made(index, &value)?;
            values.insert(index, value);
            values.retain(|&made, _| last_use[made] > index);
        }
        Ok(())
    }

    /// The ciphertext of an output over all slots: a short vector is a long one that repeats it.
    ///
    /// # Errors
    /// The errors of [`Ciphertext::from_parts`].
    pub fn output<B: RingOps>(&self, params: &CkksParams, pair: &RlweCiphertext<B>) -> Result<Ciphertext<B>> {
        let level = self.level - 1;
        let mut ct = Ciphertext::from_parts(
            params,
            pair.duplicate()?,
            level,
            params.level(level)?.scale,
            params.slots(),
        )?;
        ct.set_key_set(pair.key_set());
        Ok(ct)
    }

    /// Computes a part; `digits` keeps those of the last part that was decomposed.
    fn step<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        index: usize,
        of: &[PartValue<'_, B>],
        key: Option<&SwitchKey<B>>,
        digits: &mut Option<(PartOf, Decomposed<B>)>,
    ) -> Result<RlweCiphertext<B>> {
        let no_part = || Error::argument("part", format!("{index} of {}", self.parts.len()));
        let part = self.parts.get(index).ok_or_else(no_part)?;
        let other = || Error::argument("part", format!("\"{}\" takes other values", part.name));
        let primes = |level: usize| Ok::<_, Error>(ev.params().level(level)?.primes);
        let made: Vec<&RlweCiphertext<B>> = match (part.kind, of) {
            (Kind::Lowered | Kind::Zero, [PartValue::Input(ct)]) => return self.of_input(ev, part, ct),
            _ => {
                let made = of.iter().map(|value| match value {
                    PartValue::Made(pair) => Some(*pair),
                    PartValue::Input(_) => None,
                });
                made.collect::<Option<_>>()
                    .filter(|made: &Vec<_>| made.len() == part.of.len())
                    .ok_or_else(other)?
            }
        };
        let first = *made.first().ok_or_else(other)?;
        match part.kind {
            Kind::Rotated(step) => match digits {
                Some((at, digits)) if *at == part.of[0] => self.rotated(first, digits, key, step),
                _ if step == 0 => self.unturned(first),
                _ => {
                    let key = key.ok_or(Error::MissingGaloisKey { step })?;
                    let (_, digits) =
                        digits.insert((part.of[0], Decomposed::new(key.params(), first.parts()[1])?));
                    self.rotated(first, digits, Some(key), step)
                }
            },
            Kind::Product(diagonal) => self.product(ev, &diagonal, first, made.get(1).copied()),
            Kind::Rescaled | Kind::Divided => first.mod_down(primes(self.level - 1)?),
            Kind::Turned(step) => {
                let mut turned = self.turned(first, key, step)?;
                if let Some(total) = made.get(1) {
                    turned.add_assign(total)?;
                }
                Ok(turned)
            }
            Kind::Folded(step) => {
                let key = key.ok_or(Error::MissingGaloisKey { step })?;
                let g = galois_rotation(step, first.ring().spec().log_n());
                first.add(&first.apply_automorphism(key, g)?)
            }
            Kind::Biased(output) => self.biased(ev, first, output),
            Kind::Lowered | Kind::Zero => Err(other()),
        }
    }

    /// An input on the level of the map, or zeros below it.
    fn of_input<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        part: &MapPart,
        ct: &Ciphertext<B>,
    ) -> Result<RlweCiphertext<B>> {
        if part.kind == Kind::Zero {
            let span = Span::chain(ev.params().level(self.level - 1)?.primes);
            let zeros = || Poly::zeros(ev.ring(), span, ct.batch());
            return Ok(RlweCiphertext::new(zeros()?, zeros()?)?.of(ct.key_set()));
        }
        let lowered = ev.lowered_to(ct, self.level)?;
        let lowered: &Ciphertext<B> = lowered.borrow();
        if lowered.level() != self.level {
            return Err(Error::LevelExhausted { needed: self.level, left: lowered.level() });
        }
        lowered.pair().duplicate()
    }

    /// A rotation by nothing.
    fn unturned<B: RingOps>(&self, ct: &RlweCiphertext<B>) -> Result<RlweCiphertext<B>> {
        match self.double {
            true => Ok(ExtendedCiphertext::lifted(ct)?.into_pair()),
            false => ct.duplicate(),
        }
    }

    fn rotated<B: RingOps>(
        &self,
        ct: &RlweCiphertext<B>,
        digits: &Decomposed<B>,
        key: Option<&SwitchKey<B>>,
        step: i64,
    ) -> Result<RlweCiphertext<B>> {
        if step == 0 {
            return self.unturned(ct);
        }
        let key = key.ok_or(Error::MissingGaloisKey { step })?;
        let g = galois_rotation(step, ct.ring().spec().log_n());
        match self.double {
            true => Ok(ct.automorphism_extended(digits, key, g)?.into_pair()),
            false => ct.automorphism(digits, key, g),
        }
    }

    /// The rotation of the sum of a giant step.
    fn turned<B: RingOps>(
        &self,
        sum: &RlweCiphertext<B>,
        key: Option<&SwitchKey<B>>,
        step: i64,
    ) -> Result<RlweCiphertext<B>> {
        if step == 0 {
            return sum.duplicate();
        }
        let key = key.ok_or(Error::MissingGaloisKey { step })?;
        let g = galois_rotation(step, sum.ring().spec().log_n());
        match self.double {
            true => {
                let sum = ExtendedCiphertext::of_pair(sum.duplicate()?)?;
                Ok(sum.automorphism(key.params(), key, g)?.into_pair())
            }
            false => sum.apply_automorphism(key, g),
        }
    }

    /// A rotation times its diagonal, added to a sum.
    fn product<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        key: &Key,
        rotated: &RlweCiphertext<B>,
        sum: Option<&RlweCiphertext<B>>,
    ) -> Result<RlweCiphertext<B>> {
        let values = self.map.diagonal(key)?;
        let encoding = self.map.encoding_of_diagonals(ev.params(), self.level)?;
        let product = match self.double {
            true => rotated.mul_poly(&ev.encode_extended(&values, encoding)?.to_poly()?),
            false => rotated.mul_poly(ev.encoder().encode(&values, encoding)?.poly()),
        }?;
        match sum {
            Some(sum) => product.add(sum),
            None => Ok(product),
        }
    }

    fn biased<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        sum: &RlweCiphertext<B>,
        output: usize,
    ) -> Result<RlweCiphertext<B>> {
        let encoding: Encoding = self.map.encoding_of_bias(ev.params(), self.level)?;
        let plain = ev.encoder().encode(&self.map.bias_of(output), encoding)?;
        let [c0, c1] = sum.parts();
        let mut c0 = c0.duplicate()?;
        c0.add_assign(plain.poly())?;
        Ok(RlweCiphertext::new(c0, c1.duplicate()?)?.of(sum.key_set()))
    }
}
