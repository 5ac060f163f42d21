//! The ways to multiply matrices of which at least one is encrypted: their predicted costs, and the
//! choice among them.

use crate::error::{Error, Result};
use crate::work;
use he_core::circuits::ckks::{MatrixProduct, TensorLayout};
use he_core::ckks::CkksParams;
use std::fmt::Write as _;

/// The left matrix A of a product A B, whose right matrix B is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftMatrix {
    /// It is known to whoever computes.
    Plain,
    /// It is encrypted, too.
    Encrypted,
}

/// A product A B of real matrices, `rows` x `inner` times `inner` x `columns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixTask {
    /// Whether A is encrypted.
    pub left: LeftMatrix,
    /// The rows of A and of the product.
    pub rows: usize,
    /// The columns of A, which are the rows of B.
    pub inner: usize,
    /// The columns of B and of the product.
    pub columns: usize,
}

/// A way to multiply, by how matrices lie in ciphertexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// A row of B in the coefficients of each ciphertext, for a plain A:
    /// [`Evaluator::mul_matrix`](he_core::ckks::Evaluator::mul_matrix).
    Rows,
    /// A column of B, or several, in the slots of each ciphertext, for a plain A:
    /// [`LinearTransform`](he_core::circuits::ckks::LinearTransform), or
    /// [`BlockTransform`](he_core::circuits::ckks::BlockTransform) where a column does not fit.
    Diagonals,
    /// Whole matrices in slots, or blocks of them: [`MatrixProduct`].
    Slots,
    /// N x N numbers in the coefficients of N ciphertexts:
    /// [`Evaluator::matrix_product`](he_core::ckks::Evaluator::matrix_product).
    Coefficients,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Rows, Self::Diagonals, Self::Slots, Self::Coefficients];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Diagonals => "diagonals",
            Self::Slots => "slots",
            Self::Coefficients => "coefficients",
        }
    }
}

/// The predicted costs of a way to multiply.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct MatrixCosts {
    /// The work, in butterflies of transforms; [`speed`](crate::speed) says how many a device does
    /// in a second. Matrix units of GPUs multiply residues in less time than this counts for them.
    pub work: f64,
    /// The levels that it takes.
    pub levels: usize,
    /// The evaluation keys that it takes.
    pub keys: usize,
    /// Their bytes in memory.
    pub key_bytes: u64,
    /// The ciphertexts of all encrypted operands.
    pub inputs: usize,
    /// The ciphertexts of the product.
    pub outputs: usize,
}

/// The costs of every way to multiply two matrices, or why it does not do.
///
/// ```
/// use he_core::ckks::CkksParams;
/// use he_nn::matrices::{LeftMatrix, MatrixPlan, MatrixTask, Method};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let params = CkksParams::for_depth(3).build()?;
/// // A layer of 64 neurons for 4096 images at once, and for one.
/// let layer = |columns| MatrixTask { left: LeftMatrix::Plain, rows: 64, inner: 784, columns };
/// let many = MatrixPlan::new(&params, params.max_level(), layer(4096))?;
/// assert_eq!(many.chosen().map(|(method, _)| method), Some(Method::Rows));
/// let one = MatrixPlan::new(&params, params.max_level(), layer(1))?;
/// assert_eq!(one.chosen().map(|(method, _)| method), Some(Method::Diagonals));
/// println!("{}", one.explain(1e9));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixPlan {
    task: MatrixTask,
    log_n: u32,
    level: usize,
    options: Vec<(Method, Predicted)>,
}

/// Costs, or the reason why there are none.
type Predicted = std::result::Result<MatrixCosts, String>;

/// The circumstances of a prediction.
struct Planner<'a> {
    params: &'a CkksParams,
    level: usize,
    task: MatrixTask,
}

impl MatrixPlan {
    /// The costs of a product with parameters, of ciphertexts on a level. Numbers of A count as
    /// different from zero.
    ///
    /// # Errors
    /// [`Error::Parameters`] for sizes out of 1 to 2^24, and for a level that the parameters do not
    /// have.
    pub fn new(params: &CkksParams, level: usize, task: MatrixTask) -> Result<Self> {
        let MatrixTask { rows, inner, columns, .. } = task;
        if [rows, inner, columns].iter().any(|size| !(1..=1 << 24).contains(size)) {
            let why = format!("{rows} x {inner} times {inner} x {columns}: sizes are from 1 to 2^24");
            return Err(Error::Parameters { why });
        }
        if level > params.max_level() {
            let why = format!("ciphertexts have levels up to {}, and not {level}", params.max_level());
            return Err(Error::Parameters { why });
        }
        let planner = Planner { params, level, task };
        let options = Method::ALL.map(|method| (method, planner.predicted(method))).into();
        Ok(Self { task, log_n: params.rlwe().ring().log_n(), level, options })
    }

    /// Every way, with its costs or the reason why it does not do.
    pub fn options(&self) -> &[(Method, Predicted)] {
        &self.options
    }

    /// The way of the least work; none if there are too few levels for any.
    pub fn chosen(&self) -> Option<(Method, MatrixCosts)> {
        let possible =
            self.options.iter().filter_map(|(method, costs)| Some((*method, *costs.as_ref().ok()?)));
        possible.min_by(|(_, left), (_, right)| left.work.total_cmp(&right.work))
    }

    /// The costs in words, one way in a line, for a device that does so many butterflies in a
    /// second, and why one is chosen.
    pub fn explain(&self, speed: f64) -> String {
        let MatrixTask { left, rows, inner, columns } = self.task;
        let kind = if left == LeftMatrix::Plain { "plain" } else { "encrypted" };
        let (log_n, level) = (self.log_n, self.level);
        let mut text = format!(
            "{kind} {rows} x {inner} times encrypted {inner} x {columns}, N = 2^{log_n}, level {level}\n"
        );
        for (method, costs) in &self.options {
            let told =
                costs.as_ref().map_or_else(|why| format!("not possible: {why}"), |costs| costs.told(speed));
            let _ = writeln!(text, "{:<12} {told}", method.name());
        }
        text + &match self.chosen() {
            Some((method, costs)) => format!("chosen: {}, {}", method.name(), self.reason(&costs)),
            None => "chosen: none; parameters of more levels are needed".to_owned(),
        }
    }

    /// Why these costs are the least.
    fn reason(&self, chosen: &MatrixCosts) -> String {
        let others = self.options.iter().filter_map(|(method, costs)| Some((method, costs.as_ref().ok()?)));
        let others = others.filter(|(_, costs)| *costs != chosen);
        match others.min_by(|(_, left), (_, right)| left.work.total_cmp(&right.work)) {
            None => "the only way".to_owned(),
            Some((next, costs)) => {
                let times = costs.work / chosen.work;
                let fewer = if costs.levels > chosen.levels { " and more levels" } else { "" };
                format!("since {} takes {times:.1} times the work{fewer}", next.name())
            }
        }
    }
}

impl MatrixCosts {
    fn told(&self, speed: f64) -> String {
        let Self { work, levels, keys, key_bytes, inputs, outputs } = self;
        let (ms, mib) = (work / speed * 1e3, *key_bytes as f64 / f64::from(1 << 20));
        format!(
            "{ms:.3} ms, {levels} level(s), {keys} key(s) of {mib:.1} MiB, {inputs} ciphertexts to {outputs}"
        )
    }
}

/// The rotations of a linear map with so many diagonals, a power of two: baby and giant steps.
fn rotations(diagonals: usize) -> usize {
    let babies = 1 << diagonals.ilog2().div_ceil(2);
    babies - 1 + diagonals / babies - 1
}

impl Planner<'_> {
    fn predicted(&self, method: Method) -> Predicted {
        let needed = if method == Method::Slots { 2 } else { 1 };
        if self.level < needed {
            return Err(format!("it takes {needed} level(s), and {} are left", self.level));
        }
        match (method, self.task.left) {
            (Method::Rows, LeftMatrix::Plain) => Ok(self.rows()),
            (Method::Diagonals, LeftMatrix::Plain) => Ok(self.diagonals()),
            (Method::Rows | Method::Diagonals, LeftMatrix::Encrypted) => {
                Err("it multiplies by plain numbers, and A is encrypted".to_owned())
            }
            (Method::Slots | Method::Coefficients, LeftMatrix::Plain) => {
                Err("it multiplies by an encrypted matrix, and A is plain".to_owned())
            }
            (Method::Slots, LeftMatrix::Encrypted) => self.slots(),
            (Method::Coefficients, LeftMatrix::Encrypted) => self.coefficients(),
        }
    }

    fn costs(&self, work: f64, levels: usize, keys: usize, [inputs, outputs]: [usize; 2]) -> MatrixCosts {
        let key_bytes = keys as u64 * work::key_bytes(self.params);
        MatrixCosts { work, levels, keys, key_bytes, inputs, outputs }
    }

    fn n(&self) -> usize {
        self.params.rlwe().ring().n()
    }

    fn rows(&self) -> MatrixCosts {
        let MatrixTask { rows, inner, columns, .. } = self.task;
        let width = columns.div_ceil(self.n());
        let entries = (rows * width) as f64 * inner as f64;
        let work = entries * work::matrix_entry(self.params, self.level)
            + (rows * width) as f64 * work::rescaling(self.params, self.level);
        self.costs(work, 1, 0, [inner * width, rows * width])
    }

    fn diagonals(&self) -> MatrixCosts {
        let MatrixTask { rows, inner, columns, .. } = self.task;
        let slots = self.params.slots();
        let [tall, wide] = [rows, inner].map(|size| size.next_power_of_two().min(slots));
        let (diagonals, folds) = (tall.min(wide), (wide / tall).max(1).ilog2() as usize);
        let (above, beside) = (rows.div_ceil(slots), inner.div_ceil(slots));
        let vectors = columns.div_ceil(slots / tall.max(wide));
        let turns = rotations(diagonals) + folds;
        let block = turns as f64 * work::map_rotation(self.params, self.level)
            + diagonals as f64 * work::plain_product(self.params, self.level);
        let blocks = (vectors * above) as f64 * beside as f64;
        let rescaled = (vectors * above) as f64 * work::rescaling(self.params, self.level);
        self.costs(blocks * block + rescaled, 1, turns, [vectors * beside, vectors * above])
    }

    /// The sizes of the largest blocks of a product in slots: powers of two, or those of the
    /// matrices where these are less.
    fn blocks(&self) -> [usize; 3] {
        let MatrixTask { rows, inner, columns, .. } = self.task;
        let slots = self.params.slots();
        let cut = |side: usize| [rows, inner, columns].map(|size| size.min(side));
        let fits = |[m, n, p]: [usize; 3]| {
            let terms = n.next_power_of_two();
            terms.max(m.next_power_of_two()) * (p + terms - 1).next_power_of_two() <= slots
        };
        let mut sides = (0..=slots.ilog2()).rev().map(|log| cut(1 << log));
        sides.find(|&sizes| fits(sizes)).unwrap_or([1; 3])
    }

    /// The keys of a product of two blocks.
    fn keys_of_blocks(&self, [m, n, p]: [usize; 3]) -> he_core::Result<usize> {
        let layout = |rows, columns| TensorLayout::batched([1, rows, columns], 1, self.params.slots());
        let product = MatrixProduct::new(&layout(m, n)?, &layout(n, p)?)?;
        Ok(product.requirements().keys.rotation_steps().len() + 1)
    }

    fn slots(&self) -> Predicted {
        let MatrixTask { rows, inner, columns, .. } = self.task;
        let blocks @ [m, n, p] = self.blocks();
        let [down, along, across] = [rows.div_ceil(m), inner.div_ceil(n), columns.div_ceil(p)];
        let keys = self.keys_of_blocks(blocks).map_err(|error| error.to_string())?;
        let (terms, next) = (n.next_power_of_two(), self.level - 1);
        let turns = 2 * (terms - 1);
        let maps = keys.saturating_sub(turns + 1) as f64 * work::map_rotation(self.params, self.level)
            + (3 * terms + m) as f64 * work::plain_product(self.params, self.level);
        let products = turns as f64 * work::map_rotation(self.params, next)
            + (2 * terms) as f64 * work::plain_product(self.params, next);
        let pairs = (down * across) as f64 * along as f64;
        let sums = (down * across) as f64 * work::function_product(self.params, next);
        let work = pairs * (maps + products) + sums;
        Ok(self.costs(work, 2, keys, [down * along + along * across, down * across]))
    }

    fn coefficients(&self) -> Predicted {
        let MatrixTask { rows, inner, columns, .. } = self.task;
        let n = self.n();
        if rows > n || inner > n {
            return Err(format!("A has {rows} x {inner} numbers, and ciphertexts have {n} coefficients"));
        }
        // A transposition of A and two in the product by keys for powers of two, half of which an
        // automorphism takes on average.
        let (width, log_n) = (columns.div_ceil(n), self.params.rlwe().ring().log_n() as usize);
        let transposition = (n * log_n) as f64 / 2.0 * work::key_switch(self.params, self.level);
        let entries = 2.0 * (n as f64) * (n as f64) * work::matrix_entry(self.params, self.level);
        let sums = n as f64 * work::function_product(self.params, self.level);
        let work = transposition + width as f64 * (2.0 * transposition + entries + sums);
        Ok(self.costs(work, 1, log_n + 1, [n * (1 + width), n * width]))
    }
}
