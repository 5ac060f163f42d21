//! Circuits of several steps, run on ciphertexts, on levels alone, or on numbers.

use super::super::{Polynomial, Refresher};
use crate::backend::RingOps;
use crate::circuits::Requirements;
use crate::ckks::{Ciphertext, Complex64, Evaluator};
use crate::error::{Error, Result};
use crate::rlwe::{Aligned, EvaluationKeys, KeyRequirements};
use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The value of a step, by its position.
pub(super) type Value = usize;

/// One step. Values that a step of some depth takes are refreshed before it if they have too few
/// levels, so that these are within the range of a refresh: at most one in magnitude. The others
/// have no depth.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// An operand of the whole.
    Input(usize),
    /// factor x: one level.
    Scaled(Value, f64),
    /// A polynomial that takes no level to map its interval.
    Polynomial(Value, Polynomial),
    /// One level.
    Product(Value, Value),
    /// A sum of integer multiples, and a constant: no level.
    Sum(Vec<(Value, i64)>, f64),
    /// The slots rotated: slot i is slot i + step of the operand. No level.
    Rotated(Value, i64),
    /// Times a plain vector, slot by slot: one level.
    Weighted(Value, Arc<[f64]>),
    /// Plus a plain vector, slot by slot: no level.
    Offset(Value, Arc<[f64]>),
    /// The same value with this many levels at least, for what follows leaves the range of a
    /// refresh.
    Ready(Value, usize),
    /// All of them as one batch.
    Batched(Vec<Value>),
    /// One of this many equal parts of a batch.
    Part { of: Value, at: usize, parts: usize },
}

impl Node {
    fn operands(&self) -> Vec<Value> {
        match self {
            Self::Input(_) => Vec::new(),
            Self::Scaled(x, _)
            | Self::Polynomial(x, _)
            | Self::Rotated(x, _)
            | Self::Weighted(x, _)
            | Self::Offset(x, _)
            | Self::Ready(x, _) => vec![*x],
            Self::Part { of, .. } => vec![*of],
            Self::Product(x, y) => vec![*x, *y],
            Self::Sum(terms, _) => terms.iter().map(|(x, _)| *x).collect(),
            Self::Batched(values) => values.clone(),
        }
    }
}

impl Node {
    /// The same step of other values.
    fn moved(&self, to: impl Fn(Value) -> Value) -> Self {
        match self {
            Self::Input(at) => Self::Input(*at),
            Self::Scaled(x, factor) => Self::Scaled(to(*x), *factor),
            Self::Polynomial(x, polynomial) => Self::Polynomial(to(*x), polynomial.clone()),
            Self::Product(x, y) => Self::Product(to(*x), to(*y)),
            Self::Sum(terms, constant) => {
                Self::Sum(terms.iter().map(|&(x, factor)| (to(x), factor)).collect(), *constant)
            }
            Self::Rotated(x, step) => Self::Rotated(to(*x), *step),
            Self::Weighted(x, weights) => Self::Weighted(to(*x), weights.clone()),
            Self::Offset(x, offsets) => Self::Offset(to(*x), offsets.clone()),
            Self::Ready(x, levels) => Self::Ready(to(*x), *levels),
            Self::Batched(values) => Self::Batched(values.iter().map(|&x| to(x)).collect()),
            Self::Part { of, at, parts } => Self::Part { of: to(*of), at: *at, parts: *parts },
        }
    }
}

/// Steps in order, each of which takes values of earlier ones, and the value that is their result.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Program {
    nodes: Vec<Node>,
    output: Value,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} steps of depth {}", self.nodes.len(), self.depth())
    }
}

impl Program {
    pub fn push(&mut self, node: Node) -> Value {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    pub fn input(&mut self, at: usize) -> Value {
        self.push(Node::Input(at))
    }

    /// factor x + offset, without a level if the factor is an integer.
    #[expect(clippy::disallowed_methods, reason = "factors are public")]
    pub fn affine(&mut self, x: Value, factor: f64, offset: f64) -> Value {
        if factor == 1.0 && offset == 0.0 {
            return x;
        }
        if factor == factor.round() && factor.abs() <= LARGEST_INTEGER {
            return self.push(Node::Sum(vec![(x, factor as i64)], offset));
        }
        let scaled = self.push(Node::Scaled(x, factor));
        if offset == 0.0 { scaled } else { self.push(Node::Sum(vec![(scaled, 1)], offset)) }
    }

    pub fn polynomial(&mut self, x: Value, polynomial: Polynomial) -> Value {
        self.push(Node::Polynomial(x, polynomial))
    }

    pub fn product(&mut self, x: Value, y: Value) -> Value {
        self.push(Node::Product(x, y))
    }

    pub fn sum(&mut self, terms: &[(Value, i64)], constant: f64) -> Value {
        self.push(Node::Sum(terms.to_vec(), constant))
    }

    pub fn rotated(&mut self, x: Value, step: i64) -> Value {
        if step == 0 { x } else { self.push(Node::Rotated(x, step)) }
    }

    pub fn weighted(&mut self, x: Value, weights: Vec<f64>) -> Value {
        self.push(Node::Weighted(x, weights.into()))
    }

    /// The steps of another program on values of this one, and its result.
    pub fn inline(&mut self, other: &Self, inputs: &[Value]) -> Value {
        let mut places: Vec<Value> = Vec::with_capacity(other.nodes.len());
        for node in &other.nodes {
            let place = match node {
                Node::Input(at) => inputs[*at],
                node => self.push(node.moved(|x| places[x])),
            };
            places.push(place);
        }
        places[other.output]
    }

    /// The program of these steps with this result.
    pub fn output(mut self, output: Value) -> Self {
        self.output = output;
        self
    }

    /// The levels and keys that the program takes without refreshes.
    pub fn requirements(&self) -> Requirements {
        let mut rotations = BTreeSet::new();
        let mut relinearisation = false;
        for node in &self.nodes {
            match node {
                Node::Rotated(_, step) => _ = rotations.insert(*step),
                Node::Product(..) => relinearisation = true,
                Node::Polynomial(_, polynomial) => relinearisation |= polynomial.degree() > 1,
                _ => {}
            }
        }
        let keys = KeyRequirements::new().rotations(rotations);
        let keys = if relinearisation { keys.relinearisation() } else { keys };
        Requirements { depth: self.depth(), keys }
    }

    fn depth(&self) -> usize {
        let mut depths: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let before = node.operands().into_iter().map(|x| depths[x]).max().unwrap_or(0);
            let own = match node {
                Node::Scaled(..) | Node::Product(..) | Node::Weighted(..) => 1,
                Node::Polynomial(_, polynomial) => polynomial.requirements().depth,
                _ => 0,
            };
            depths.push(before + own);
        }
        depths.get(self.output).copied().unwrap_or(0)
    }

    /// Products that are relinearised, without refreshes.
    pub fn relinearisations(&self) -> usize {
        let mut done = vec![false; self.nodes.len()];
        let mut count = 0;
        for (i, node) in self.nodes.iter().enumerate() {
            match node {
                Node::Product(..) => count += 1,
                Node::Polynomial(x, _) if !done[i] => {
                    let group = self.sharing(i, *x);
                    group.iter().for_each(|&(j, _)| done[j] = true);
                    let list: Vec<Polynomial> = group.into_iter().map(|(_, p)| p.clone()).collect();
                    count += Polynomial::shared_relinearisations(&list);
                }
                _ => {}
            }
        }
        count
    }

    /// The polynomials of one value, from a position on, which share their powers.
    fn sharing(&self, from: usize, of: Value) -> Vec<(usize, &Polynomial)> {
        let polynomial = |(i, node): (usize, _)| match node {
            &Node::Polynomial(x, ref polynomial) if x == of => Some((i, polynomial)),
            _ => None,
        };
        self.nodes.iter().enumerate().skip(from).filter_map(polynomial).collect()
    }

    /// Runs the steps on a machine.
    fn run<M: Machine>(&self, machine: &mut M) -> Result<M::Value> {
        let count = self.nodes.len();
        let mut last_use = vec![0; count];
        for (i, node) in self.nodes.iter().enumerate() {
            node.operands().into_iter().for_each(|x| last_use[x] = i);
        }
        if let Some(last_use) = last_use.get_mut(self.output) {
            *last_use = count;
        }
        let mut values: Vec<Option<M::Value>> = (0..count).map(|_| None).collect();
        for (i, node) in self.nodes.iter().enumerate() {
            if values[i].is_none() {
                match node {
                    Node::Polynomial(x, _) => {
                        let group = self.sharing(i, *x);
                        let list: Vec<Polynomial> = group.iter().map(|(_, p)| (*p).clone()).collect();
                        let found = machine.polynomials(value(&mut values, *x)?, &list)?;
                        for ((j, _), found) in group.iter().zip(found) {
                            values[*j] = Some(found);
                        }
                    }
                    Node::Product(x, y) => {
                        machine.prepare(value(&mut values, *x)?, 1)?;
                        machine.prepare(value(&mut values, *y)?, 1)?;
                        let product = machine.product(known(&values, *x)?, known(&values, *y)?)?;
                        values[i] = Some(product);
                    }
                    Node::Scaled(x, factor) => {
                        machine.prepare(value(&mut values, *x)?, 1)?;
                        values[i] = Some(machine.scaled(known(&values, *x)?, *factor)?);
                    }
                    Node::Weighted(x, weights) => {
                        machine.prepare(value(&mut values, *x)?, 1)?;
                        values[i] = Some(machine.weighted(known(&values, *x)?, weights)?);
                    }
                    Node::Input(at) => values[i] = Some(machine.input(*at)?),
                    Node::Sum(terms, constant) => {
                        let terms: Result<Vec<_>> =
                            terms.iter().map(|&(x, factor)| Ok((known(&values, x)?, factor))).collect();
                        values[i] = Some(machine.sum(&terms?, *constant)?);
                    }
                    Node::Rotated(x, step) => {
                        values[i] = Some(machine.rotated(known(&values, *x)?, *step)?);
                    }
                    Node::Offset(x, offsets) => {
                        values[i] = Some(machine.offset(known(&values, *x)?, offsets)?);
                    }
                    Node::Ready(x, levels) => {
                        machine.prepare(value(&mut values, *x)?, *levels)?;
                        values[i] = Some(machine.sum(&[(known(&values, *x)?, 1)], 0.0)?);
                    }
                    Node::Batched(list) => {
                        let list: Result<Vec<_>> = list.iter().map(|&x| known(&values, x)).collect();
                        values[i] = Some(machine.batched(&list?)?);
                    }
                    Node::Part { of, at, parts } => {
                        values[i] = Some(machine.part(known(&values, *of)?, *at, *parts)?);
                    }
                }
            }
            for x in node.operands() {
                if last_use[x] == i {
                    values[x] = None;
                }
            }
        }
        values.get_mut(self.output).and_then(Option::take).ok_or_else(missing)
    }

    /// The refreshes for operands of these levels, and the level of the result.
    ///
    /// # Errors
    /// The errors of [`Refresher::fits`].
    pub fn plan<B: RingOps>(
        &self,
        levels: &[usize],
        refresher: &impl Refresher<B>,
    ) -> Result<(usize, usize)> {
        let mut machine = Levels { levels, refresher, refreshes: 0, of: std::marker::PhantomData };
        let level = self.run(&mut machine)?;
        Ok((machine.refreshes, level))
    }

    /// On ciphertexts. Keys and levels are checked before any work.
    pub fn apply<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        inputs: &[&Ciphertext<B>],
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
    ) -> Result<Ciphertext<B>> {
        self.requirements().keys.check(keys)?;
        let levels: Vec<usize> = inputs.iter().map(|ct| ct.level()).collect();
        let (refreshes, _) = self.plan(&levels, refresher)?;
        if refreshes > 0 {
            inputs.iter().try_for_each(|ct| refresher.check(ct))?;
        }
        match self.run(&mut Encrypted { ev, inputs, keys, refresher })? {
            Aligned::As(ct) => ct.duplicate(),
            Aligned::Copy(ct) => Ok(ct),
        }
    }

    /// On vectors of numbers.
    pub fn apply_plain(&self, inputs: &[&[f64]]) -> Vec<f64> {
        let found = self.run(&mut Numbers { inputs }).unwrap_or_default();
        found.into_iter().next().unwrap_or_default()
    }
}

/// The largest factor that is applied as an integer, without a level.
pub(super) const LARGEST_INTEGER: f64 = (1u64 << 40) as f64;

fn missing() -> Error {
    Error::argument("program", "a step takes a value that does not exist".to_owned())
}

fn value<V>(values: &mut [Option<V>], at: Value) -> Result<&mut V> {
    values.get_mut(at).and_then(Option::as_mut).ok_or_else(missing)
}

fn known<V>(values: &[Option<V>], at: Value) -> Result<&V> {
    values.get(at).and_then(Option::as_ref).ok_or_else(missing)
}

/// A machine that runs the steps of a program.
trait Machine {
    type Value;

    /// Refreshes a value that has fewer levels than a step takes.
    fn prepare(&mut self, x: &mut Self::Value, depth: usize) -> Result<()>;
    fn input(&mut self, at: usize) -> Result<Self::Value>;
    fn scaled(&mut self, x: &Self::Value, factor: f64) -> Result<Self::Value>;
    /// The value may be refreshed before.
    fn polynomials(&mut self, x: &mut Self::Value, list: &[Polynomial]) -> Result<Vec<Self::Value>>;
    fn product(&mut self, x: &Self::Value, y: &Self::Value) -> Result<Self::Value>;
    fn sum(&mut self, terms: &[(&Self::Value, i64)], constant: f64) -> Result<Self::Value>;
    fn rotated(&mut self, x: &Self::Value, step: i64) -> Result<Self::Value>;
    fn weighted(&mut self, x: &Self::Value, weights: &[f64]) -> Result<Self::Value>;
    fn offset(&mut self, x: &Self::Value, offsets: &[f64]) -> Result<Self::Value>;
    fn batched(&mut self, list: &[&Self::Value]) -> Result<Self::Value>;
    fn part(&mut self, x: &Self::Value, at: usize, parts: usize) -> Result<Self::Value>;
}

/// The depth of polynomials that share their powers, and whether it exceeds what a refreshed
/// ciphertext has.
fn deepest<B: RingOps>(list: &[Polynomial], refresher: &impl Refresher<B>) -> (usize, bool) {
    let depth = list.iter().map(|polynomial| polynomial.requirements().depth).max().unwrap_or(0);
    let most = refresher.top().map(|top| top.saturating_sub(refresher.reserve()).max(1));
    (depth, most.is_some_and(|most| depth > most))
}

/// Refreshes of real values: whatever asks for one.
struct Real<'a, R>(&'a R);

impl<B: RingOps, R: Refresher<B>> Refresher<B> for Real<'_, R> {
    fn reserve(&self) -> usize {
        self.0.reserve()
    }

    fn top(&self) -> Option<usize> {
        self.0.top()
    }

    fn check(&self, ct: &Ciphertext<B>) -> Result<()> {
        self.0.check(ct)
    }

    fn refresh(&self, ct: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.0.refresh_real(ct)
    }
}

/// Levels alone.
struct Levels<'a, B, R> {
    levels: &'a [usize],
    refresher: &'a R,
    refreshes: usize,
    of: std::marker::PhantomData<B>,
}

impl<B: RingOps, R: Refresher<B>> Machine for Levels<'_, B, R> {
    type Value = usize;

    fn prepare(&mut self, x: &mut usize, depth: usize) -> Result<()> {
        if !self.refresher.fits(*x, depth)? {
            self.refreshes += 1;
            *x = self.refresher.top().unwrap_or(*x);
        }
        Ok(())
    }

    fn input(&mut self, at: usize) -> Result<usize> {
        self.levels.get(at).copied().ok_or_else(missing)
    }

    fn scaled(&mut self, x: &usize, _: f64) -> Result<usize> {
        Ok(x - 1)
    }

    fn polynomials(&mut self, x: &mut usize, list: &[Polynomial]) -> Result<Vec<usize>> {
        let (depth, long) = deepest(list, self.refresher);
        if !long {
            self.prepare(x, depth)?;
            return Ok(list.iter().map(|polynomial| *x - polynomial.requirements().depth).collect());
        }
        list.iter()
            .map(|polynomial| {
                let (refreshes, level) = polynomial.plan_long(*x, self.refresher)?;
                self.refreshes += refreshes;
                Ok(level)
            })
            .collect()
    }

    fn product(&mut self, x: &usize, y: &usize) -> Result<usize> {
        Ok(x.min(y) - 1)
    }

    fn sum(&mut self, terms: &[(&usize, i64)], _: f64) -> Result<usize> {
        terms.iter().map(|(x, _)| **x).min().ok_or_else(missing)
    }

    fn rotated(&mut self, x: &usize, _: i64) -> Result<usize> {
        Ok(*x)
    }

    fn weighted(&mut self, x: &usize, _: &[f64]) -> Result<usize> {
        Ok(x - 1)
    }

    fn offset(&mut self, x: &usize, _: &[f64]) -> Result<usize> {
        Ok(*x)
    }

    fn batched(&mut self, list: &[&usize]) -> Result<usize> {
        list.iter().map(|x| **x).min().ok_or_else(missing)
    }

    fn part(&mut self, x: &usize, _: usize, _: usize) -> Result<usize> {
        Ok(*x)
    }
}

/// Ciphertexts.
struct Encrypted<'a, B: RingOps, R> {
    ev: &'a Evaluator<B>,
    inputs: &'a [&'a Ciphertext<B>],
    keys: &'a EvaluationKeys<B>,
    refresher: &'a R,
}

impl<'a, B: RingOps, R: Refresher<B>> Machine for Encrypted<'a, B, R> {
    type Value = Aligned<'a, Ciphertext<B>>;

    fn prepare(&mut self, x: &mut Self::Value, depth: usize) -> Result<()> {
        let ct: &Ciphertext<B> = (*x).borrow();
        if !self.refresher.fits(ct.level(), depth)? {
            *x = Aligned::Copy(self.refresher.refresh_real(ct)?);
        }
        Ok(())
    }

    fn input(&mut self, at: usize) -> Result<Self::Value> {
        self.inputs.get(at).map(|ct| Aligned::As(*ct)).ok_or_else(missing)
    }

    fn scaled(&mut self, x: &Self::Value, factor: f64) -> Result<Self::Value> {
        self.ev.mul_scalar(x.borrow(), factor).map(Aligned::Copy)
    }

    fn polynomials(&mut self, x: &mut Self::Value, list: &[Polynomial]) -> Result<Vec<Self::Value>> {
        let (depth, long) = deepest(list, self.refresher);
        if long {
            let ct: &Ciphertext<B> = (*x).borrow();
            let apply = |polynomial: &Polynomial| {
                polynomial.apply_long(self.ev, ct, self.keys, &Real(self.refresher)).map(Aligned::Copy)
            };
            return list.iter().map(apply).collect();
        }
        self.prepare(x, depth)?;
        let found = Polynomial::apply_many(list, self.ev, (*x).borrow(), self.keys)?;
        Ok(found.into_iter().map(Aligned::Copy).collect())
    }

    fn product(&mut self, x: &Self::Value, y: &Self::Value) -> Result<Self::Value> {
        self.ev.mul(x.borrow(), y.borrow(), self.keys).map(Aligned::Copy)
    }

    fn sum(&mut self, terms: &[(&Self::Value, i64)], constant: f64) -> Result<Self::Value> {
        let mut total: Option<Ciphertext<B>> = None;
        for &(x, factor) in terms {
            let x: &Ciphertext<B> = x.borrow();
            total = Some(match (total, factor) {
                (None, 1) => x.duplicate()?,
                (None, -1) => self.ev.neg(x)?,
                (None, factor) => self.ev.mul_integer(x, factor)?,
                (Some(total), 1) => self.ev.add(&total, x)?,
                (Some(total), -1) => self.ev.sub(&total, x)?,
                (Some(total), factor) => self.ev.add(&total, &self.ev.mul_integer(x, factor)?)?,
            });
        }
        let total = total.ok_or_else(missing)?;
        if constant == 0.0 {
            return Ok(Aligned::Copy(total));
        }
        self.ev.add_scalar(&total, Complex64::new(constant, 0.0)).map(Aligned::Copy)
    }

    fn rotated(&mut self, x: &Self::Value, step: i64) -> Result<Self::Value> {
        self.ev.rotate(x.borrow(), step, self.keys).map(Aligned::Copy)
    }

    fn weighted(&mut self, x: &Self::Value, weights: &[f64]) -> Result<Self::Value> {
        let x: &Ciphertext<B> = x.borrow();
        let plain = self.ev.encoder().encode_real(weights, self.ev.params().encoding_for(x))?;
        self.ev.mul_plain(x, &plain).map(Aligned::Copy)
    }

    fn offset(&mut self, x: &Self::Value, offsets: &[f64]) -> Result<Self::Value> {
        let x: &Ciphertext<B> = x.borrow();
        let plain = self.ev.encoder().encode_real(offsets, self.ev.params().encoding_for(x))?;
        self.ev.add_plain(x, &plain).map(Aligned::Copy)
    }

    fn batched(&mut self, list: &[&Self::Value]) -> Result<Self::Value> {
        let level = |x: &&Self::Value| {
            let ct: &Ciphertext<B> = (**x).borrow();
            ct.level()
        };
        let level = list.iter().map(level).min().ok_or_else(missing)?;
        let aligned: Vec<Ciphertext<B>> =
            list.iter().map(|x| self.ev.mod_switch_to((**x).borrow(), level)).collect::<Result<_>>()?;
        Ciphertext::concat(&aligned.iter().collect::<Vec<_>>()).map(Aligned::Copy)
    }

    fn part(&mut self, x: &Self::Value, at: usize, parts: usize) -> Result<Self::Value> {
        let x: &Ciphertext<B> = x.borrow();
        let each = x.batch() / parts.max(1);
        x.slice_batch(at * each..(at + 1) * each).map(Aligned::Copy)
    }
}

/// Numbers: batches of vectors.
struct Numbers<'a> {
    inputs: &'a [&'a [f64]],
}

impl Numbers<'_> {
    fn each(x: &[Vec<f64>], f: impl Fn(&[f64]) -> Vec<f64>) -> Vec<Vec<f64>> {
        x.iter().map(|vector| f(vector.deref())).collect()
    }
}

impl Machine for Numbers<'_> {
    type Value = Vec<Vec<f64>>;

    fn prepare(&mut self, _: &mut Self::Value, _: usize) -> Result<()> {
        Ok(())
    }

    fn input(&mut self, at: usize) -> Result<Self::Value> {
        self.inputs.get(at).map(|x| vec![x.to_vec()]).ok_or_else(missing)
    }

    fn scaled(&mut self, x: &Self::Value, factor: f64) -> Result<Self::Value> {
        Ok(Self::each(x, |x| x.iter().map(|x| factor * x).collect()))
    }

    fn polynomials(&mut self, x: &mut Self::Value, list: &[Polynomial]) -> Result<Vec<Self::Value>> {
        let apply = |polynomial: &Polynomial| {
            Self::each(x, |x| x.iter().map(|&x| polynomial.apply_plain(x)).collect())
        };
        Ok(list.iter().map(apply).collect())
    }

    fn product(&mut self, x: &Self::Value, y: &Self::Value) -> Result<Self::Value> {
        let product = |(x, y): (&Vec<f64>, &Vec<f64>)| x.iter().zip(y).map(|(x, y)| x * y).collect();
        Ok(x.iter().zip(y.iter().cycle()).map(product).collect())
    }

    fn sum(&mut self, terms: &[(&Self::Value, i64)], constant: f64) -> Result<Self::Value> {
        let first = terms.first().ok_or_else(missing)?.0;
        let mut total = Self::each(first, |x| vec![constant; x.len()]);
        for &(x, factor) in terms {
            for (total, x) in total.iter_mut().zip(x.iter().cycle()) {
                total.iter_mut().zip(x).for_each(|(total, x)| *total += factor as f64 * x);
            }
        }
        Ok(total)
    }

    fn rotated(&mut self, x: &Self::Value, step: i64) -> Result<Self::Value> {
        Ok(Self::each(x, |x| {
            let mut rotated = x.to_vec();
            rotated.rotate_left(step.rem_euclid(x.len().max(1) as i64) as usize);
            rotated
        }))
    }

    fn weighted(&mut self, x: &Self::Value, weights: &[f64]) -> Result<Self::Value> {
        Ok(Self::each(x, |x| x.iter().zip(weights).map(|(x, w)| x * w).collect()))
    }

    fn offset(&mut self, x: &Self::Value, offsets: &[f64]) -> Result<Self::Value> {
        Ok(Self::each(x, |x| x.iter().zip(offsets).map(|(x, y)| x + y).collect()))
    }

    fn batched(&mut self, list: &[&Self::Value]) -> Result<Self::Value> {
        Ok(list.iter().flat_map(|x| x.iter().cloned()).collect())
    }

    fn part(&mut self, x: &Self::Value, at: usize, parts: usize) -> Result<Self::Value> {
        let each = x.len() / parts.max(1);
        Ok(x.get(at * each..(at + 1) * each).ok_or_else(missing)?.to_vec())
    }
}
