//! Parameters from the sizes of two sets.

use crate::error::{Error, Result};
use crate::label;
use crate::powers::Powers;
use crate::table::{failure_log2, fewest_bins};
use he_core::arith::ntt_primes_below;
use he_core::bfv::BfvParams;
use he_core::exact::{ExactSpec, Noise};
use he_core::params::ParamsError;
use std::ops::Range;

/// The greatest set of a server.
pub const MAX_SERVER_ITEMS: u64 = 1_000_000;
/// The greatest set of a client.
pub const MAX_CLIENT_ITEMS: u64 = 10_000;
/// The longest label in bytes.
pub const MAX_LABEL_BYTES: u64 = 256;

/// log2 of the greatest probability of each failure.
pub(crate) const FAILURE_LOG2: f64 = -41.0;
/// The bits of noise budget that are left in an answer by prediction: `DECRYPTION_MARGIN`, and one
/// more, so that a coefficient fails only beyond 16 standard deviations.
const ANSWER_BUDGET: f64 = 2.0;
/// The products of a plaintext and a ciphertext that are worth a megabyte: one takes about 50 µs of
/// a core, and a megabyte 80 ms at 100 Mbit/s.
const MEGABYTE: f64 = 1600.0;
/// The bundles among which the planner chooses.
const MOST_BUNDLES: usize = 64;

/// The sizes that both parties agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    server_items: u64,
    client_items: u64,
    label_bytes: u64,
    insecure_log_n: Option<u32>,
}

impl Plan {
    /// For sets of at most so many items.
    pub fn new(server_items: u64, client_items: u64) -> Self {
        Self { server_items, client_items, label_bytes: 0, insecure_log_n: None }
    }

    /// With labels of this length.
    #[must_use]
    pub fn labels(mut self, bytes: u64) -> Self {
        self.label_bytes = bytes;
        self
    }

    /// With a degree of 2^log_n, whatever its security; for tests only.
    #[must_use]
    pub fn insecure_log_n(mut self, log_n: u32) -> Self {
        self.insecure_log_n = Some(log_n);
        self
    }

    /// The greatest number of items of the server.
    pub fn server_items(&self) -> u64 {
        self.server_items
    }

    /// The greatest number of items of a client.
    pub fn client_items(&self) -> u64 {
        self.client_items
    }

    /// The bytes of each label.
    pub fn label_bytes(&self) -> u64 {
        self.label_bytes
    }

    /// The degree of a plan for tests.
    pub fn insecure(&self) -> Option<u32> {
        self.insecure_log_n
    }

    fn check(&self) -> Result<()> {
        let within = |what, found, lowest, highest| {
            let ok = (lowest..=highest).contains(&found);
            if ok { Ok(()) } else { Err(Error::Size { what, found, lowest, highest }) }
        };
        within("items of the server", self.server_items, 1, MAX_SERVER_ITEMS)?;
        within("items of a client", self.client_items, 1, MAX_CLIENT_ITEMS)?;
        within("bytes of a label", self.label_bytes, 0, MAX_LABEL_BYTES)
    }

    /// Chooses the parameters whose answer is there first, over a line of 100 Mbit/s: degrees and
    /// plaintext moduli are tried, each with the best number of bundles. The same plan has the same
    /// parameters everywhere.
    ///
    /// # Errors
    /// [`Error::Size`]; [`Error::NoParameters`].
    pub fn params(&self) -> Result<Params> {
        self.check()?;
        let fewest = fewest_bins(self.client_items as usize, FAILURE_LOG2);
        let degrees = self.insecure_log_n.map_or(13..=15, |log_n| log_n..=log_n);
        let candidates =
            degrees.flat_map(|log_n| (16..=32).filter_map(move |bits| self.candidate(log_n, bits, fewest)));
        let best = candidates.min_by(|a, b| a.cost().total_cmp(&b.cost()));
        let (server, client) = (self.server_items, self.client_items);
        best.ok_or(Error::NoParameters { server, client })
    }

    fn candidate(&self, log_n: u32, t_bits: u32, fewest: usize) -> Option<Params> {
        let t = *ntt_primes_below(t_bits, log_n, 1, &[]).ok()?.first()?;
        let shapes = (1..=MOST_BUNDLES).filter_map(|bundles| Shape::new(self, log_n, t, fewest, bundles));
        let shape = shapes.min_by(|a, b| a.cost().total_cmp(&b.cost()))?;
        self.chains(log_n, t, &shape).find_map(|bfv| Params::new(*self, bfv.ok()?, shape))
    }

    /// Chains for one product of encrypted powers, from short to long.
    fn chains(
        &self,
        log_n: u32,
        t: u64,
        shape: &Shape,
    ) -> Box<dyn Iterator<Item = Result<BfvParams, ParamsError>>> {
        if self.insecure_log_n.is_some() {
            let spec = move |primes| ExactSpec::from_bits(log_n, &vec![45; primes], &[46], t);
            return Box::new((2..8).map(move |primes| BfvParams::insecure(spec(primes)?)));
        }
        let needed = gain_log2(t, log_n) + libm::log2(shape.degree as f64) + ANSWER_BUDGET;
        let margins = (0..4).map(move |more| libm::ceil(needed) as u32 + 3 * more);
        let build = move |margin| BfvParams::for_depth(t, 1).slots().log_n(log_n).margin_bits(margin).build();
        Box::new(margins.map(build))
    }
}

/// log2 of a bound on a plaintext of uniform slots at the roots of X^N + 1: its coefficients are
/// uniform, of variance t^2 / 12, so that t sqrt(N) / sqrt(12) is the root mean square there, and
/// the bound is 6.9 times that.
fn gain_log2(t: u64, log_n: u32) -> f64 {
    libm::log2(t as f64) + f64::from(log_n) / 2.0 + 1.0
}

/// How two sets are laid out in slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    log_n: u32,
    /// The bins of the client's table.
    pub bins: usize,
    /// The ciphertexts that hold the table.
    pub blocks: usize,
    /// The slots of each bin, which share its items of the server.
    pub replicas: usize,
    /// The bundles that the planned set needs.
    pub bundles: usize,
    /// The points in each slot of a bundle.
    pub degree: usize,
    /// The residues that tell whether an item matches.
    pub tags: usize,
    /// The residues of a label.
    pub label_parts: usize,
    /// The exponents that a client sends.
    pub powers: Powers,
}

/// The items of a server in a bin of the greatest load, but for a probability of 2^-20: Chernoff's
/// bound on a binomial number. A greater load makes one more bundle.
fn load(items: f64, bins: f64) -> usize {
    let mean = 3.0 * items / bins;
    let tail = |u: f64| -mean * ((1.0 + u) * libm::log1p(u) - u) + libm::log(bins);
    let rare = |load: &usize| tail(*load as f64 / mean - 1.0) < -20.0 * core::f64::consts::LN_2;
    let first = libm::ceil(mean) as usize + 1;
    (first..).find(rare).unwrap_or(first).min(items as usize)
}

impl Shape {
    fn new(plan: &Plan, log_n: u32, t: u64, fewest: usize, bundles: usize) -> Option<Self> {
        let n = 1usize << log_n;
        let (blocks, replicas) = (fewest.div_ceil(n), (n / fewest).max(1));
        let bins = blocks * n / replicas;
        let load = load(plan.server_items as f64, bins as f64);
        // One point more lets slots with equal nodes give way to each other.
        let degree = load.div_ceil(replicas * bundles).max(2);
        if (bundles > 1 && degree < 3) || degree as u64 > t / 8 {
            return None;
        }
        let width = 63 - t.leading_zeros();
        let comparisons = plan.client_items as f64 * replicas as f64 * (bundles + 1) as f64;
        let tags = libm::ceil((libm::log2(comparisons) - FAILURE_LOG2) / libm::log2(t as f64)) as usize;
        let label_parts = label::parts(plan.label_bytes as usize, width);
        let powers = Powers::for_top(degree - 1);
        Some(Self { log_n, bins, blocks, replicas, bundles, degree, tags, label_parts, powers })
    }

    /// The slots of a bundle.
    pub fn slots(&self) -> usize {
        self.bins * self.replicas
    }

    /// The polynomials of each slot.
    pub fn parts(&self) -> usize {
        self.tags + self.label_parts
    }

    /// The work of an answer over so many primes, in products of a plaintext and a ciphertext at
    /// N = 2^13 over four primes: a product of ciphertexts takes about a hundred of them.
    fn work(&self, primes: f64) -> f64 {
        let unit = self.blocks as f64 * f64::from(self.log_n - 1).exp2() / 4096.0 * primes / 4.0;
        let sums = (self.bundles * self.degree * self.parts()) as f64;
        unit * (100.0 * self.powers.products().len() as f64 + sums)
    }

    /// Work and bytes, before the primes are known: powers over four of 45 bits, answers over two.
    fn cost(&self) -> f64 {
        let polynomial = self.blocks as f64 * f64::from(self.log_n).exp2() * 45.0 / 8e6;
        let sent = 4.0 * self.powers.sources().len() as f64;
        let answered = 4.0 * (self.bundles * self.parts()) as f64;
        self.work(4.0) + MEGABYTE * polynomial * (sent + answered)
    }
}

/// Checked parameters of one plan.
#[derive(Clone, Debug)]
pub struct Params {
    plan: Plan,
    bfv: BfvParams,
    shape: Shape,
    id: [u8; 16],
    /// The primes over which plaintexts are multiplied, and those of an answer.
    primes: [usize; 2],
    budget: f64,
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Params {
    fn new(plan: Plan, bfv: BfvParams, shape: Shape) -> Option<Self> {
        let mut params = Self { plan, bfv, shape, id: [0; 16], primes: [0; 2], budget: 0.0 };
        let enough = |params: &Self, at| params.predicted(at).is_some_and(|bits| bits >= ANSWER_BUDGET);
        let chain = params.bfv.max_level() + 1;
        let at = (1..=chain).find(|&at| enough(&params, [at, at]))?;
        let to = (1..=at).find(|&to| enough(&params, [at, to]))?;
        (params.primes, params.budget) = ([at, to], params.predicted([at, to])?);
        params.id = params.identity();
        Some(params)
    }

    /// The slots of a bundle that lie in a block.
    pub(crate) fn slots_of(&self, block: usize) -> Range<usize> {
        let (n, all) = (self.bfv.rlwe().ring().n(), self.shape.slots());
        (block * n).min(all)..((block + 1) * n).min(all)
    }

    /// A hash of everything that both parties must agree on.
    fn identity(&self) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_derive_key("he-psi 1 identity of parameters");
        let Plan { server_items, client_items, label_bytes, insecure_log_n } = self.plan;
        let insecure = insecure_log_n.map_or(0, u64::from);
        for number in [server_items, client_items, label_bytes, insecure, self.shape.bins as u64] {
            hasher.update(&number.to_le_bytes());
        }
        for number in [self.shape.degree, self.shape.tags, self.shape.powers.sources().len()] {
            hasher.update(&(number as u64).to_le_bytes());
        }
        hasher.update(&self.bfv.fingerprint().0);
        let mut id = [0; 16];
        id.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        id
    }

    /// The noise of all powers over so many primes.
    fn powers_noise(&self, at: usize) -> Option<Noise> {
        let (model, chain) = (self.bfv.noise(), self.bfv.max_level() + 1);
        let sent = model.switched(model.secret(), chain, at);
        if self.shape.powers.products().is_empty() {
            return Some(sent);
        }
        let (from, product) = self.bfv.after_product(model.secret(), chain)?;
        (from >= at).then(|| sent.max(model.switched(product, from, at)))
    }

    /// The predicted budget of an answer with sums over the first number of primes.
    fn predicted(&self, [at, to]: [usize; 2]) -> Option<f64> {
        let (t, log_n) = (self.bfv.plain().value(), self.bfv.rlwe().ring().log_n());
        let terms = self.shape.degree as u64;
        let sum = self.powers_noise(at)?.scale(gain_log2(t, log_n)).total(terms);
        let model = self.bfv.noise();
        Some(model.budget(model.switched(sum, at, to), to).min(model.budget(sum, at)))
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The parameters of the ciphertexts.
    pub fn bfv(&self) -> &BfvParams {
        &self.bfv
    }

    /// The identity of the plan, which every message carries.
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The level of sums, and that of answers.
    pub(crate) fn levels(&self) -> [usize; 2] {
        self.primes.map(|primes| primes - 1)
    }

    /// The bits of each part of a label.
    pub(crate) fn width(&self) -> u32 {
        63 - self.bfv.plain().value().leading_zeros()
    }

    /// The noise budget of an answer in bits, by prediction.
    pub fn answer_budget(&self) -> f64 {
        self.budget
    }

    /// log2 of the bound on the probability that a client's items find no places in its table, over
    /// the server's key.
    pub fn table_failure_log2(&self) -> f64 {
        failure_log2(self.plan.client_items as usize, self.shape.bins)
    }

    /// log2 of the bound on the probability that any item of a client is taken for one of the
    /// server's in an answer of so many bundles: each comparison errs with t^-tags.
    pub fn false_positive_log2(&self, bundles: usize) -> f64 {
        let comparisons = self.plan.client_items as f64 * (self.shape.replicas * bundles) as f64;
        libm::log2(comparisons) - self.shape.tags as f64 * self.bfv.noise().t_log2()
    }

    /// Work and bytes of a query and its answer, in products of a plaintext and a ciphertext.
    fn cost(&self) -> f64 {
        let (facts, chain) = (self.facts(), self.bfv.max_level() + 1);
        let bytes = facts.query_bytes + facts.key_bytes + facts.answer_bytes;
        self.shape.work((chain + self.primes[0]) as f64 / 2.0) + MEGABYTE * bytes as f64 / 1e6
    }
}
