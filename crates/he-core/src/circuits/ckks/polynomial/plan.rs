//! The composition of polynomials of few powers and products.

use super::Refresher;
use crate::backend::RingOps;
use std::collections::{BTreeMap, BTreeSet};

/// ceil(log2(degree + 1)): the levels of any polynomial of this degree.
pub(super) fn levels(degree: usize) -> usize {
    (degree + 1).next_power_of_two().ilog2() as usize
}

/// The greatest leading coefficient that is an integer multiplication.
const LARGEST_LEAD: f64 = 1_048_576.0;

/// The leading power and its coefficient, where they save a level: the degree is a power of two,
/// which is deeper than all powers below it, and the coefficient an integer, by which a product
/// takes no level.
pub(super) fn lead(coefficients: &[f64]) -> Option<(usize, i64)> {
    let (degree, last) = (coefficients.len().checked_sub(1)?, *coefficients.last()?);
    let saves = degree.is_power_of_two() && last % 1.0 == 0.0 && last.abs() <= LARGEST_LEAD;
    saves.then_some((degree, last as i64))
}

/// The levels of a polynomial: those of its degree, or ceil(log2(degree)) with a [`lead`].
pub(super) fn depth(coefficients: &[f64]) -> usize {
    match lead(coefficients) {
        Some((degree, _)) => degree.ilog2() as usize,
        None => levels(coefficients.len().saturating_sub(1)),
    }
}

/// The mark of i times a power, among the powers of polynomials with complex coefficients.
pub(super) const TURNED: usize = 1 << 16;

/// The composition of polynomials of common powers ("powers" also stands for Chebyshev
/// polynomials).
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    /// Each power from 2 on with the two whose product it is, the greater first; in ascending
    /// order.
    chain: BTreeMap<usize, (usize, usize)>,
    values: Vec<Value>,
}

/// A polynomial of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Value {
    /// The leading power and its integer coefficient, if that is all that is done with it.
    pub lead: Option<(usize, i64)>,
    /// All other powers, or all.
    pub rest: Part,
}

impl Value {
    /// Plans within the levels that the polynomial takes.
    fn new(coefficients: &[f64], babies: usize, chebyshev: bool) -> Self {
        let lead = lead(coefficients);
        let rest = &coefficients[..coefficients.len() - usize::from(lead.is_some())];
        Self { lead, rest: Part::new(rest, depth(coefficients), babies, chebyshev) }
    }

    /// The value, if it is the same everywhere.
    pub fn as_constant(&self) -> Option<f64> {
        self.rest.as_constant().filter(|_| self.lead.is_none())
    }

    fn collect_powers(&self, powers: &mut BTreeSet<usize>) {
        powers.extend(self.lead.map(|(k, _)| k));
        self.rest.collect_powers(powers);
    }
}

impl Plan {
    /// The plan with the fewest relinearisations, and among those the fewest products.
    pub fn cheapest(polynomials: &[&[f64]], chebyshev: bool) -> Self {
        let depth = polynomials.iter().map(|c| levels(c.len() - 1)).max().unwrap_or(0);
        // More baby steps than some eight times the root of the degree pay for nothing.
        let first = Self::new(polynomials, 2, chebyshev);
        let others = (2..=depth.min(depth / 2 + 3)).map(|log| Self::new(polynomials, 1 << log, chebyshev));
        others.fold(first, |best, plan| {
            let cost = |plan: &Self| (plan.relinearisations(), plan.products());
            if cost(&plan) < cost(&best) { plan } else { best }
        })
    }

    fn new(polynomials: &[&[f64]], babies: usize, chebyshev: bool) -> Self {
        let values: Vec<Value> = polynomials.iter().map(|c| Value::new(c, babies, chebyshev)).collect();
        let mut used = BTreeSet::new();
        values.iter().for_each(|value| value.collect_powers(&mut used));
        Self { chain: chain(used, chebyshev), values }
    }

    /// The same for polynomials with complex coefficients, each as the real and the imaginary parts
    /// of its coefficients, of which the constant has no imaginary part.
    pub fn cheapest_complex(polynomials: &[[Vec<f64>; 2]], chebyshev: bool) -> Self {
        let depth = polynomials.iter().map(|[re, _]| levels(re.len() - 1)).max().unwrap_or(0);
        let plans = (1..=depth.max(1)).map(|log| Self::complex(polynomials, 1 << log, chebyshev));
        plans.min_by_key(|plan| (plan.relinearisations(), plan.products())).unwrap_or_default()
    }

    fn complex(polynomials: &[[Vec<f64>; 2]], babies: usize, chebyshev: bool) -> Self {
        let value = |parts: &[Vec<f64>; 2]| {
            let budget = levels(parts[0].len() - 1);
            let [re, im] = parts.each_ref().map(|part| Part::new(part, budget, babies, chebyshev));
            Value { lead: None, rest: re.plus_i(im).0 }
        };
        let values: Vec<Value> = polynomials.iter().map(value).collect();
        let mut used = BTreeSet::new();
        values.iter().for_each(|value| value.collect_powers(&mut used));
        let used = used.into_iter().map(|k| k & !TURNED).collect();
        Self { chain: chain(used, chebyshev), values }
    }

    /// The powers that are needed times i.
    pub fn turned(&self) -> BTreeSet<usize> {
        let mut used = BTreeSet::new();
        self.values.iter().for_each(|value| value.collect_powers(&mut used));
        used.into_iter().filter(|k| k & TURNED != 0).map(|k| k & !TURNED).collect()
    }

    /// A plan for powers that are refreshed: their depth does not count, and after them there are
    /// at most `depth` levels, 1 or more. Each refresh costs more than everything else, so there
    /// are as few powers as that allows.
    pub fn shallow(coefficients: &[f64], depth: usize, chebyshev: bool) -> Self {
        let plans = (0..).map(|log| {
            let part = Part::with(coefficients, &|k| k < 1 << log || k.is_power_of_two(), chebyshev);
            (1 << log >= coefficients.len() || part.depth() <= depth).then_some(part)
        });
        let part = plans.flatten().next().unwrap_or_default();
        let mut used = BTreeSet::new();
        part.collect_powers(&mut used);
        Self { chain: chain(used, chebyshev), values: vec![Value { lead: None, rest: part }] }
    }

    /// The refreshes that the powers of a value of this level take, and the level of the first
    /// polynomial: what [`Powers::refreshed`](super::powers::Powers::refreshed) computes.
    pub fn refreshed_levels<B: RingOps>(
        &self,
        level: usize,
        chebyshev: bool,
        refresher: &impl Refresher<B>,
    ) -> (usize, usize) {
        let mut refreshes = 0;
        let mut refresh = |level: &mut usize, levels: usize| {
            if *level < refresher.reserve() + levels {
                refreshes += 1;
                *level = refresher.top().unwrap_or(*level);
            }
        };
        let mut powers = BTreeMap::from([(1, level)]);
        for (k, factors) in self.chain() {
            let operands = operands(factors, chebyshev);
            operands.clone().for_each(|m| powers.get_mut(&m).into_iter().for_each(|x| refresh(x, 1)));
            let lowest = operands.filter_map(|m| powers.get(&m)).min().copied();
            powers.insert(k, lowest.unwrap_or(1).saturating_sub(1));
        }
        let depth = self.rests().map(Part::depth).max().unwrap_or(1);
        powers.values_mut().for_each(|level| refresh(level, depth));
        let level = self.rests().next().map_or(level, |part| part.level(&powers).saturating_sub(1));
        (refreshes, level)
    }

    pub fn chain(&self) -> impl Iterator<Item = (usize, (usize, usize))> {
        self.chain.iter().map(|(&k, &factors)| (k, factors))
    }

    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The polynomials without the leading powers that save a level.
    pub fn rests(&self) -> impl Iterator<Item = &Part> {
        self.values.iter().map(|value| &value.rest)
    }

    /// Products of two ciphertexts.
    pub fn products(&self) -> usize {
        self.chain.len() + self.rests().map(Part::products).sum::<usize>()
    }

    /// Products and sums of products that are relinearised.
    pub fn relinearisations(&self) -> usize {
        self.chain.len() + self.rests().map(Part::relinearisations).sum::<usize>()
    }
}

/// The powers that a product of two takes.
pub(super) fn operands((m, n): (usize, usize), chebyshev: bool) -> impl Iterator<Item = usize> + Clone {
    [m, n].into_iter().chain((chebyshev && m > n).then(|| m - n))
}

/// Each of these powers, and of those that they are products of, with its two factors, which leave
/// it at depth ceil(log2(k)). A Chebyshev polynomial T_(m + n) = 2 T_m T_n - T_(m - n) takes a
/// third one.
///
/// From the highest power down, the factors are those that ask for the fewest further powers, so
/// that even and odd polynomials stay among even and odd powers and powers of two.
fn chain(mut wanted: BTreeSet<usize>, chebyshev: bool) -> BTreeMap<usize, (usize, usize)> {
    let mut chain = BTreeMap::new();
    while let Some(k) = wanted.pop_last().filter(|&k| k > 1) {
        let needs = |(m, n): (usize, usize)| [m, n, if chebyshev { m - n } else { 0 }];
        let further = |&factors: &(usize, usize)| {
            let new: BTreeSet<usize> =
                needs(factors).into_iter().filter(|k| *k > 1 && !wanted.contains(k)).collect();
            new.len()
        };
        let highest = k.next_power_of_two() / 2;
        let factors = (k.div_ceil(2)..=highest).map(|m| (m, k - m)).min_by_key(further).unwrap_or((k - 1, 1));
        wanted.extend(needs(factors));
        chain.insert(k, factors);
    }
    chain
}

/// A polynomial as a sum of products of powers with other such sums, of multiples of powers, and a
/// constant: one level below the lowest operand.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Part {
    pub products: Vec<(usize, Part)>,
    pub terms: Vec<(usize, f64)>,
    pub constant: f64,
}

impl Part {
    /// Plans within a budget of levels that fits the degree. Powers below `babies` (a power of two)
    /// and powers of two are available. Powers whose depth fits are terms; of the others,
    /// everything from the highest power of two on is a product with that power. The other factor,
    /// of half the degree, has one level less. The depth is therefore that of the degree, and only
    /// the few sums along these factors are shortened for it.
    fn new(coefficients: &[f64], budget: usize, babies: usize, chebyshev: bool) -> Self {
        let fits = |k: usize| (k < babies || k.is_power_of_two()) && levels(k - 1) < budget;
        let factor = |quotient: &[f64]| Self::new(quotient, budget - 1, babies, chebyshev);
        Self::split(coefficients, &fits, &factor, chebyshev)
    }

    fn split(
        coefficients: &[f64],
        fits: &impl Fn(usize) -> bool,
        factor: &impl Fn(&[f64]) -> Self,
        chebyshev: bool,
    ) -> Self {
        let mut rest = coefficients.to_vec();
        let mut part = Self::default();
        while let Some(degree) = (1..rest.len()).rev().find(|&k| rest[k] != 0.0 && !fits(k)) {
            // Powers of two fit, so that the degree is none, and the other factor not constant.
            let power = 1usize << degree.ilog2();
            let mut quotient = rest[power..=degree].to_vec();
            rest[power..=degree].fill(0.0);
            if chebyshev {
                // T_(n + i) = 2 T_n T_i - T_(n - i).
                for i in 1..quotient.len() {
                    rest[power - i] -= quotient[i];
                    quotient[i] *= 2.0;
                }
            }
            part.products.push((power, factor(&quotient)));
        }
        part.constant = rest.first().copied().unwrap_or(0.0);
        part.terms = rest.into_iter().enumerate().skip(1).filter(|(_, c)| *c != 0.0).collect();
        part
    }

    /// The sum of this part and i times another one, and the imaginary part of its constant, which
    /// is not in it: that of a factor is a term of the power beside it.
    fn plus_i(self, im: Self) -> (Self, f64) {
        let mut products: BTreeMap<usize, [Self; 2]> = BTreeMap::new();
        let factors = self.products.into_iter().map(|factor| (0, factor));
        for (half, (k, factor)) in factors.chain(im.products.into_iter().map(|factor| (1, factor))) {
            products.entry(k).or_default()[half] = factor;
        }
        let mut terms = self.terms;
        terms.extend(im.terms.into_iter().map(|(k, c)| (k | TURNED, c)));
        let mut sums = Vec::with_capacity(products.len());
        for (k, [re, im]) in products {
            let (factor, constant) = re.plus_i(im);
            terms.extend((constant != 0.0).then_some((k | TURNED, constant)));
            sums.push((k, factor));
        }
        (Self { products: sums, terms, constant: self.constant }, im.constant)
    }

    /// Plans without a budget, for powers that are all on one level.
    fn with(coefficients: &[f64], available: &impl Fn(usize) -> bool, chebyshev: bool) -> Self {
        Self::split(
            coefficients,
            available,
            &|quotient| Self::with(quotient, available, chebyshev),
            chebyshev,
        )
    }

    /// The levels that it takes after its powers.
    pub fn depth(&self) -> usize {
        1 + self.products.iter().map(|(_, factor)| factor.depth()).max().unwrap_or(0)
    }

    /// The level on which products and terms of powers of these levels are summed.
    fn level(&self, powers: &BTreeMap<usize, usize>) -> usize {
        let power = |k: &usize| powers.get(k).copied().unwrap_or(usize::MAX);
        let terms = self.terms.iter().map(|(k, _)| power(k));
        let products =
            self.products.iter().map(|(k, factor)| power(k).min(factor.level(powers).saturating_sub(1)));
        terms.chain(products).min().unwrap_or(usize::MAX)
    }

    /// The value, if it is the same everywhere; factors of products never are.
    pub fn as_constant(&self) -> Option<f64> {
        (self.products.is_empty() && self.terms.is_empty()).then_some(self.constant)
    }

    fn collect_powers(&self, powers: &mut BTreeSet<usize>) {
        powers.extend(self.terms.iter().map(|(k, _)| k));
        for (power, factor) in &self.products {
            powers.insert(*power);
            factor.collect_powers(powers);
        }
    }

    fn products(&self) -> usize {
        self.products.len() + self.products.iter().map(|(_, factor)| factor.products()).sum::<usize>()
    }

    pub fn relinearisations(&self) -> usize {
        let factors = self.products.iter().map(|(_, factor)| factor.relinearisations()).sum::<usize>();
        factors + usize::from(!self.products.is_empty())
    }
}
