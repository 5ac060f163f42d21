//! A ring on a device: constants and roots of its primes, and the constants of base conversions.

use crate::byte_conversion::{BYTE_SOURCES, byte_columns};
use crate::cache::{Extensions, lock};
use crate::constants::{Basis, Factor, Grid, Limbs, Prime, per_limb};
use crate::cuda::{Arithmetic, Cuda, failed};
use crate::key_form::KeyForm;
use crate::share::Share;
use gpu::Buffer;
use he_core::Result;
use he_core::arith::{Modulus, ShoupFactor};
use he_core::backend::{
    KeySwitchShape, PreparedRing, ScaledTensor, base_conversion, base_conversion_to, inverse_of_dropped,
    special_product,
};
use he_core::ring::{NttTable, RingSpec, Rows, Span};
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// A ring on a device: its constants there, and its operations as methods.
///
/// In a group of devices each has a ring of its own primes. Operations limb by limb are those of
/// that ring; key switches and divisions take the shapes and spans of the whole ring, and are made
/// of steps between which the devices exchange what they have.
#[derive(Debug)]
pub struct CudaRing {
    pub(crate) cuda: Cuda,
    spec: RingSpec,
    /// The ring of all devices' primes, and those of this one.
    whole: RingSpec,
    share: Share,
    /// Whether arithmetic modulo short primes is in float64.
    float: bool,
    key_form: KeyForm,
    /// N^-1 modulo each prime, and that times the root of the last inverse stage.
    scales: Vec<[u64; 2]>,
    primes: Buffer,
    default_plan: Arc<Plan>,
    /// The roots that `primes` points to, which rings on the same device share: those of each
    /// prime, then those of its inverse transform.
    roots: Vec<[Arc<Buffer>; 2]>,
    plans: Mutex<HashMap<PlanKey, Arc<Plan>>>,
    switches: Mutex<HashMap<Digits, Arc<SwitchConstants>>>,
    products: Mutex<HashMap<Product, Arc<[Plan; 3]>>>,
    /// The tables of other modules.
    pub(crate) extensions: Extensions,
}

/// The digits of a key switch, and its primes.
type Digits = (Vec<Range<usize>>, Span);

/// The primes of a scale-invariant product, and its t modulo each.
type Product = (Span, Vec<u64>);

/// The kind of conversion.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum PlanKey {
    Decompose(Digits),
    Divide(Span, usize),
    Convert(Span, Span),
}

/// A base conversion between spans of the whole ring, to the own primes of the second, with a
/// factor for each source and each target.
struct Conversion {
    from: Span,
    to: Span,
    /// First limb of the source.
    first: usize,
    /// The limbs of the chain, in the own ring, that are among the sources, if these are a digit.
    own: Range<usize>,
    /// The factors of the input, modulo each source; empty if there are none.
    before: Vec<u64>,
    /// The factors of the result, modulo each target; empty if there are none.
    after: Vec<u64>,
}

impl Conversion {
    fn plain(from: Span, to: Span, first: usize) -> Self {
        Self { from, to, first, own: 0..0, before: Vec::new(), after: Vec::new() }
    }
}

/// Constants of base conversions on the device.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Holds everything to which the addresses below point.
    _data: Buffer,
    /// The conversion of each digit, and where the device has them.
    pub(crate) conversions: Vec<Basis>,
    pub(crate) bases: u64,
    /// [`Factor`] of each prime of the ring: of the inverse transform that precedes the conversion.
    pub(crate) scale: u64,
    pub(crate) scale_last: u64,
    /// [`Factor`] of each prime of the ring: (D / d_i)^-1, of a conversion without a transform.
    pub(crate) lift: u64,
    /// [`Factor`] of each kept limb: the division.
    pub(crate) factors: u64,
    /// Sources of the largest digit.
    pub(crate) sources: usize,
    /// Whether all their primes are short.
    pub(crate) short_sources: bool,
    /// Whether the conversions have constants for the matrix units.
    pub(crate) in_bytes: bool,
}

/// The other constants of a key switch, for its digits and special primes.
#[derive(Debug)]
pub(crate) struct SwitchConstants {
    /// The digit of each chain prime.
    pub(crate) digit_of: [u8; RingSpec::MAX_PRIMES],
    /// P modulo each chain prime.
    pub(crate) special: [u64; RingSpec::MAX_PRIMES],
}

/// Primes from here on are computed in integers. Primes nearest to 2^50, where the levels of a
/// chain with this scale lie on both sides, are below (kernels/include/policy.cuh).
const SHORT_END: u64 = (1 << 50) + (1 << 44);

/// Whether residues modulo a prime are computed in float64.
fn is_short(float: bool, q: &Modulus) -> bool {
    float && q.value() < SHORT_END
}

/// The representative of least magnitude in two parts, 2^25 x + y with |y| <= 2^24.
fn parts(q: &Modulus, value: u64) -> [u64; 2] {
    let centered = q.center(value);
    let high = (centered + (1 << 24)) >> 25;
    [(high as f64).to_bits(), ((centered - (high << 25)) as f64).to_bits()]
}

pub(crate) fn factor(q: &Modulus, value: u64) -> Factor {
    Factor { value, quotient: q.shoup(value).quotient, centered: q.center(value) as f64 }
}

/// The words of the roots of one prime as its arithmetic reads them: in float64 they are followed
/// by those from which a thread computes the roots of the lowest four, and three, stages.
fn root_words(roots: &[ShoupFactor], q: &Modulus, is_short: bool) -> Vec<u64> {
    if is_short {
        let n = roots.len();
        let fourth = roots[n / 2..].iter().step_by(8);
        let third = roots[n / 2..].iter().step_by(4);
        roots.iter().chain(fourth).chain(third).map(|w| (q.center(w.value) as f64).to_bits()).collect()
    } else {
        roots.iter().flat_map(|w| [w.value, w.quotient]).collect()
    }
}

impl PreparedRing for CudaRing {
    type Buf = Buffer;
    type Backend = Cuda;

    fn backend(&self) -> &Cuda {
        &self.cuda
    }

    fn spec(&self) -> &RingSpec {
        &self.spec
    }

    fn prepare_beside(&self, spec: &RingSpec) -> Result<Self> {
        Self::beside(&self.cuda, spec, self.share, Some(self))
    }
}

/// The roots of a prime and of its inverse transform on the device, and the factors of a plain
/// inverse transform.
type PrimeRoots = ([Arc<Buffer>; 2], [u64; 2]);

impl CudaRing {
    pub(crate) fn new(cuda: &Cuda, whole: &RingSpec, share: Share) -> Result<Self> {
        Self::beside(cuda, whole, share, None)
    }

    /// The roots of a prime that this ring has.
    fn known(&self, log_n: u32, q: &Modulus) -> Option<PrimeRoots> {
        let prime = self.spec.moduli().iter().position(|own| own == q)?;
        (log_n == self.log_n()).then(|| (self.roots[prime].clone(), self.scales[prime]))
    }

    /// The ring of the own primes among these, with the roots that `known` has of them on the same
    /// device.
    pub(crate) fn beside(cuda: &Cuda, whole: &RingSpec, share: Share, known: Option<&Self>) -> Result<Self> {
        let spec = share.spec(whole)?;
        let full_rate = cuda.gpu().info().full_rate_fp64();
        let float = match cuda.arithmetic {
            Arithmetic::Auto => full_rate,
            Arithmetic::Float => true,
            Arithmetic::Integer => false,
        };
        let mut of_primes: Vec<Option<PrimeRoots>> =
            spec.moduli().iter().map(|q| known?.known(spec.log_n(), q)).collect();
        let missing: Vec<usize> = (0..of_primes.len()).filter(|&prime| of_primes[prime].is_none()).collect();
        let tables = missing
            .par_iter()
            .map(|&prime| NttTable::new(spec.moduli()[prime], spec.log_n()))
            .collect::<std::result::Result<Vec<_>, _>>()?;
        for (prime, table) in missing.into_iter().zip(&tables) {
            let upload = |roots: &[ShoupFactor]| -> Result<Arc<Buffer>> {
                let words = root_words(roots, table.modulus(), is_short(float, table.modulus()));
                Ok(Arc::new(cuda.stream.upload(&words).map_err(failed("prepare"))?))
            };
            let roots = [upload(table.roots())?, upload(table.inverse_roots())?];
            of_primes[prime] = Some((roots, [table.n_inverse().value, table.n_inverse_last().value]));
        }
        let (roots, scales): (Vec<_>, Vec<_>) = of_primes.into_iter().flatten().unzip();
        let mut words = Vec::with_capacity(Prime::WORDS * roots.len());
        for (q, roots) in spec.moduli().iter().zip(&roots) {
            let is_short = is_short(float, q);
            let [roots, inverse_roots] = roots.each_ref().map(|roots| roots.address());
            let ratio = u128::MAX / u128::from(q.value());
            let prime = Prime {
                q: q.value(),
                minus_q: q.value().wrapping_neg(),
                is_short: u64::from(is_short),
                unused: 0,
                q_double: q.value() as f64,
                q_inverse: 1.0 / q.value() as f64,
                roots,
                inverse_roots,
                ratio_high: (ratio >> 64) as u64,
                ratio_low: ratio as u64,
                shift_25: q.center(q.reduce(1 << 25)) as f64,
                shift_50: q.center(q.reduce(1 << 50)) as f64,
            };
            words.extend(prime.words());
        }
        let primes = cuda.stream.upload(&words).map_err(failed("prepare"))?;
        let builder = PlanBuilder { spec: &spec, whole, share, scales: &scales, float };
        let default_plan = Arc::new(builder.build(cuda, &[], &[])?);
        let key_form = KeyForm::of(spec.n(), spec.moduli().iter().map(|q| (is_short(float, q), q)));
        Ok(Self {
            cuda: cuda.clone(),
            spec,
            whole: whole.clone(),
            share,
            primes,
            default_plan,
            roots,
            plans: Mutex::default(),
            switches: Mutex::default(),
            products: Mutex::default(),
            float,
            key_form,
            extensions: Extensions::default(),
            scales,
        })
    }

    /// The own primes.
    pub(crate) fn share(&self) -> Share {
        self.share
    }

    pub(crate) fn n(&self) -> usize {
        self.spec.n()
    }

    pub(crate) fn log_n(&self) -> u32 {
        self.spec.log_n()
    }

    /// The form of this ring's keys.
    pub(crate) fn key_form(&self) -> KeyForm {
        self.key_form
    }

    /// Address of the primes' constants.
    pub(crate) fn primes(&self) -> u64 {
        self.primes.address()
    }

    pub(crate) fn limbs(&self, rows: Rows) -> Limbs {
        Limbs::new(rows.span, rows.batch, self.spec.q().len())
    }

    pub(crate) fn grid(&self, rows: Rows) -> Grid {
        Grid::new(rows, self.spec.q().len(), self.primes(), self.log_n())
    }

    /// The address of a prime's roots, forward (0) or inverse (1).
    pub(crate) fn roots_address(&self, prime: usize, direction: usize) -> u64 {
        self.roots[prime][direction].address()
    }

    /// Whether residues modulo a prime are computed in float64.
    pub(crate) fn is_short(&self, prime: usize) -> bool {
        is_short(self.float, &self.spec.moduli()[prime])
    }

    /// A prime of the ring, and its factors of a plain inverse transform.
    pub(crate) fn inverse_scale(&self, prime: usize) -> (&Modulus, [u64; 2]) {
        (&self.spec.moduli()[prime], self.scales[prime])
    }

    /// The factors of a plain inverse transform.
    pub(crate) fn default_plan(&self) -> &Plan {
        &self.default_plan
    }

    fn plan_builder(&self) -> PlanBuilder<'_> {
        let (spec, whole, scales) = (&self.spec, &self.whole, &self.scales);
        PlanBuilder { spec, whole, share: self.share, scales, float: self.float }
    }

    fn plan(&self, key: PlanKey, make: impl FnOnce(PlanBuilder<'_>) -> Result<Plan>) -> Result<Arc<Plan>> {
        let mut plans = lock(&self.plans);
        if let Some(plan) = plans.get(&key) {
            return Ok(Arc::clone(plan));
        }
        let plan = Arc::new(make(self.plan_builder())?);
        plans.insert(key, Arc::clone(&plan));
        Ok(plan)
    }

    /// The digits of a key switch to the primes of its span.
    pub(crate) fn decompose_plan(&self, shape: &KeySwitchShape) -> Result<Arc<Plan>> {
        self.plan(PlanKey::Decompose((shape.digits.clone(), shape.span())), |builder| {
            let digits: Vec<_> = shape
                .digits
                .iter()
                .map(|digit| Conversion {
                    own: self.share.range(digit),
                    ..Conversion::plain(Span::digit(digit.start, digit.end), shape.span(), digit.start)
                })
                .collect();
            builder.build(&self.cuda, &digits, &[])
        })
    }

    /// The other constants of a key switch.
    pub(crate) fn switch_constants(&self, shape: &KeySwitchShape) -> Arc<SwitchConstants> {
        let mut switches = lock(&self.switches);
        let constants = switches.entry((shape.digits.clone(), shape.span())).or_insert_with(|| {
            let mut digit_of = [0; RingSpec::MAX_PRIMES];
            for (j, digit) in shape.digits.iter().enumerate() {
                digit_of[self.share.range(digit)].fill(j as u8);
            }
            let special = special_product(&self.whole, shape.q, shape.p);
            let special = per_limb(&self.share.words(Span::chain(shape.q), &special));
            Arc::new(SwitchConstants { digit_of, special })
        });
        Arc::clone(constants)
    }

    /// The division of `span` by the primes from `keep` on.
    pub(crate) fn divide_plan(&self, span: Span, keep: usize) -> Result<Arc<Plan>> {
        self.plan(PlanKey::Divide(span, keep), |builder| {
            let kept = span.head(keep);
            let inverse = self.share.words(kept, &inverse_of_dropped(&self.whole, span, keep));
            let own = self.spec.moduli_of(self.share.span(kept));
            let factors: Vec<Factor> = own.zip(&inverse).map(|(q, &w)| factor(q, w)).collect();
            builder.build(&self.cuda, &[Conversion::plain(span.tail(keep), kept, 0)], &factors)
        })
    }

    /// A plain conversion.
    pub(crate) fn convert_plan(&self, from: Span, to: Span) -> Result<Arc<Plan>> {
        let key = PlanKey::Convert(from, to);
        self.plan(key, |builder| builder.build(&self.cuda, &[Conversion::plain(from, to, 0)], &[]))
    }

    /// The conversions of a scale-invariant product, Q = q_1 ... the chain's and R = r_1 ... the
    /// special product: R b from Q to -1/Q (R / r_j)^-1 times it modulo r_j; that, as (R / r_j)^-1
    /// times a number modulo R, to t times the number modulo Q; and the division by R of what is t
    /// (R / r_j) times the residues given modulo r_j.
    pub(crate) fn scaled_tensor_plans(&self, shape: &ScaledTensor) -> Result<Arc<[Plan; 3]>> {
        let mut plans = lock(&self.products);
        let key = (shape.span, shape.t.clone());
        if let Some(plans) = plans.get(&key) {
            return Ok(Arc::clone(plans));
        }
        let (spec, builder) = (&self.spec, self.plan_builder());
        let (chain, special) = (shape.chain(), shape.special());
        let back = base_conversion(spec, special, chain);
        let hat_inverse: Vec<u64> = back.hat_inverse().iter().map(|w| w.value).collect();
        let each = |span: Span, f: &dyn Fn(usize, &Modulus) -> u64| -> Vec<u64> {
            spec.moduli_of(span).enumerate().map(|(i, q)| f(i, q)).collect()
        };
        let to_special = Conversion {
            before: shape.r.clone(),
            after: each(special, &|j, m| m.mul(shape.minus_q_inverse[j], hat_inverse[j])),
            ..Conversion::plain(chain, special, 0)
        };
        let to_chain =
            Conversion { after: shape.t[..chain.limbs()].to_vec(), ..Conversion::plain(special, chain, 0) };
        let division = Conversion {
            before: each(special, &|j, m| m.mul(shape.t[chain.limbs() + j], m.inv(hat_inverse[j]))),
            ..Conversion::plain(special, chain, 0)
        };
        let inverse = inverse_of_dropped(spec, shape.span, shape.span.q);
        let factors: Vec<Factor> = spec.moduli_of(chain).zip(&inverse).map(|(q, &w)| factor(q, w)).collect();
        let made = Arc::new([
            builder.build(&self.cuda, &[to_special], &[])?,
            builder.build(&self.cuda, &[to_chain], &[])?,
            builder.build(&self.cuda, &[division], &factors)?,
        ]);
        plans.insert(key, Arc::clone(&made));
        Ok(made)
    }
}

struct PlanBuilder<'a> {
    spec: &'a RingSpec,
    whole: &'a RingSpec,
    share: Share,
    scales: &'a [[u64; 2]],
    float: bool,
}

impl PlanBuilder<'_> {
    /// Whether all primes of a span of the whole ring are short.
    fn is_short(&self, span: Span) -> bool {
        self.whole.moduli_of(span).all(|q| is_short(self.float, q))
    }

    /// Conversions and the factors of a division.
    fn build(&self, cuda: &Cuda, conversions: &[Conversion], factors: &[Factor]) -> Result<Plan> {
        let mut lift = vec![1; self.spec.moduli().len()];
        let in_bytes = conversions
            .iter()
            .all(|c| c.from.limbs() <= BYTE_SOURCES && self.is_short(c.from) && self.is_short(c.to));
        let sources = conversions.iter().map(|conversion| conversion.from.limbs()).max().unwrap_or(0);
        let mut arrays: Vec<[Vec<u64>; 6]> = Vec::with_capacity(conversions.len());
        for &Conversion { from, to, ref before, ref after, .. } in conversions {
            let (own_from, own_to) = (self.share.span(from), self.share.span(to));
            let moduli: Vec<Modulus> = self.spec.moduli_of(own_to).copied().collect();
            let conversion = base_conversion_to(self.whole, from, &moduli);
            for (own, i) in self.share.limbs(from).enumerate() {
                let (q, w) = (self.whole.modulus(from, i), conversion.hat_inverse()[i]);
                lift[own_from.prime(own, self.spec.q().len())] =
                    q.mul(w.value, before.get(i).copied().unwrap_or(1));
            }
            let targets = || moduli.iter().enumerate();
            let scaled = |j: usize, t: &Modulus, x: u64| after.get(j).map_or(x, |&factor| t.mul(x, factor));
            let hats =
                || targets().flat_map(|(j, t)| conversion.hat(j).iter().map(move |&h| (t, scaled(j, t, h))));
            let products = || targets().map(|(j, t)| (t, scaled(j, t, conversion.minus_product(j))));
            arrays.push([
                conversion.reciprocal().iter().map(|x| x.to_bits()).collect(),
                hats().map(|(_, h)| h).collect(),
                products().map(|(_, x)| x).collect(),
                hats().flat_map(|(t, h)| parts(t, h)).collect(),
                products().flat_map(|(t, x)| parts(t, x)).collect(),
                match in_bytes {
                    true => targets()
                        .flat_map(|(j, t)| {
                            let hats: Vec<u64> = conversion.hat(j).iter().map(|&h| scaled(j, t, h)).collect();
                            byte_columns(t, &hats, scaled(j, t, conversion.minus_product(j)), sources)
                        })
                        .collect(),
                    false => Vec::new(),
                },
            ]);
        }
        let scaled = |part: usize| -> Vec<u64> {
            let primes = self.spec.moduli().iter().zip(self.scales).zip(&lift);
            primes.flat_map(|((q, scale), &lift)| factor(q, q.mul(scale[part], lift)).words()).collect()
        };
        let lifts: Vec<u64> =
            self.spec.moduli().iter().zip(&lift).flat_map(|(q, &lift)| factor(q, lift).words()).collect();
        let factors: Vec<u64> = factors.iter().flat_map(Factor::words).collect();
        let sections = [scaled(0), scaled(1), lifts, factors];

        let base_words = size_of::<Basis>() / 8 * conversions.len();
        let words = base_words
            + sections.iter().map(Vec::len).sum::<usize>()
            + arrays.iter().flatten().map(|array| array.len() + 1).sum::<usize>();
        let mut data = cuda.stream.alloc(words).map_err(failed("prepare"))?;
        let address = |word: usize| data.address() + 8 * word as u64;
        let mut all = vec![0; base_words];
        let [scale, scale_last, lift, factors] = sections.map(|section| {
            let at = address(all.len());
            all.extend(section);
            at
        });
        let mut bases = Vec::with_capacity(conversions.len());
        for (array, &Conversion { from, first, ref own, .. }) in arrays.into_iter().zip(conversions) {
            let [reciprocal, hat, minus_product, hat_parts, minus_parts, bytes] = array.map(|array| {
                // Parts are read in pairs.
                all.resize(all.len().next_multiple_of(2), 0);
                let at = address(all.len());
                all.extend(array);
                at
            });
            bases.push(Basis {
                reciprocal,
                hat,
                minus_product,
                hat_parts,
                minus_parts,
                bytes,
                first: first as u64,
                count: from.limbs() as u64,
                own_first: own.start as u64,
                own_count: own.len() as u64,
                is_short: u64::from(self.is_short(from)),
            });
        }
        all[..base_words].copy_from_slice(bytemuck::cast_slice(&bases));
        let (bases, conversions) = (address(0), bases);
        cuda.stream.write(&all, &mut data, 0).map_err(failed("prepare"))?;
        let short_sources = conversions.iter().all(|basis| basis.is_short != 0);
        Ok(Plan {
            _data: data,
            conversions,
            bases,
            scale,
            scale_last,
            lift,
            factors,
            sources,
            short_sources,
            in_bytes,
        })
    }
}
