//! The functions of cells: their names, their needs and the types of their results, which are
//! decided while a query is planned, and their computations.

use crate::column::{CellType, Kind, Progress};
use crate::error::{Error, Result};
use crate::keys::KeySet;
use crate::params::Predictions;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::ScalarValue;
use he_any::layout::{Bounds, Layout, Op};
use he_any::tfhe::Comparison;
use he_any::{Engine, Keys, Number, Params, Value, reals};
use he_core::rlwe::KeyRequirements;

/// A function of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// x + y.
    Add,
    /// x - y.
    Sub,
    /// x y.
    Mul,
    /// -x.
    Neg,
    /// Slots rotated left.
    Rotate,
    /// The sum of all values of a cell.
    Total,
    /// c0 + c1 x + c2 x^2 + ...
    Polynomial,
    /// A comparison of integers of TFHE.
    Compare(Comparison),
    /// Both conditions.
    And,
    /// Either condition.
    Or,
    /// The opposite condition.
    Not,
    /// One of two, by a condition.
    If,
    /// A cell that an expression of the engine passes through, as CASE does; of the plan alone.
    Carry,
}

/// The name of [`Function::Carry`] where plans travel.
pub const CARRY: (&str, Function) = ("he_carry", Function::Carry);

/// Functions by their names in SQL.
pub const FUNCTIONS: [(&str, Function); 17] = [
    ("he_add", Function::Add),
    ("he_sub", Function::Sub),
    ("he_mul", Function::Mul),
    ("he_neg", Function::Neg),
    ("he_rotate", Function::Rotate),
    ("he_total", Function::Total),
    ("he_polynomial", Function::Polynomial),
    ("he_lt", Function::Compare(Comparison::Lt)),
    ("he_le", Function::Compare(Comparison::Le)),
    ("he_gt", Function::Compare(Comparison::Gt)),
    ("he_ge", Function::Compare(Comparison::Ge)),
    ("he_eq", Function::Compare(Comparison::Eq)),
    ("he_ne", Function::Compare(Comparison::Ne)),
    ("he_and", Function::And),
    ("he_or", Function::Or),
    ("he_not", Function::Not),
    ("he_if", Function::If),
];

/// An argument as the planner sees it.
pub enum Arg<'a> {
    /// A column of ciphertexts.
    Cell(&'a str, CellType),
    /// A clear number, whose value is known if it is a constant.
    Number {
        /// The expression.
        name: &'a str,
        /// The value of a constant.
        value: Option<Number>,
        /// Whether it has decimals.
        real: bool,
        /// The greatest magnitude that is assumed of it.
        most: u64,
    },
}

impl Arg<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Cell(name, _) | Self::Number { name, .. } => name,
        }
    }

    /// The greatest magnitude that is assumed of a clear number which is not a constant.
    pub fn assumed(&self) -> Option<u64> {
        match self {
            Self::Number { value: None, most, .. } => Some(*most),
            _ => None,
        }
    }
}

/// The plan of a function: the type of its results, and the keys that it needs.
pub struct Planned {
    /// The type of the results.
    pub cell: CellType,
    /// The keys.
    pub needs: KeyRequirements,
}

/// The number that a constant is.
pub fn number(value: &ScalarValue) -> Option<Number> {
    match value {
        ScalarValue::Float32(Some(value)) => Some(Number::Real(f64::from(*value))),
        ScalarValue::Float64(Some(value)) => Some(Number::Real(*value)),
        ScalarValue::UInt64(Some(value)) => i64::try_from(*value).ok().map(Number::Integer),
        value => match value.cast_to(&DataType::Int64) {
            Ok(ScalarValue::Int64(Some(value))) => Some(Number::Integer(value)),
            _ => None,
        },
    }
}

/// An argument of a field and, of constants, its value.
///
/// # Errors
/// The field is of a type that no function takes.
pub fn argument<'a>(
    function: &str,
    set: &KeySet,
    field: &'a Field,
    literal: Option<&ScalarValue>,
) -> Result<Arg<'a>> {
    let name = field.name().as_str();
    if let Some(cell) = CellType::of(field)? {
        check(set, name, &cell)?;
        return Ok(Arg::Cell(name, cell));
    }
    let data_type = field.data_type();
    let real = data_type.is_floating();
    let exact = set.params().ckks().is_none();
    if !(data_type.is_integer() || data_type.is_null() || real) || (real && exact) {
        return Err(Error::Type {
            function: function.to_owned(),
            column: name.to_owned(),
            found: format!("of type {data_type}"),
            expected: format!("a column of ciphertexts or {}", if exact { "an integer" } else { "a number" }),
        });
    }
    Ok(Arg::Number { name, value: literal.and_then(number), real, most: set.clear(name) })
}

/// Checks that a column belongs to a key set.
///
/// # Errors
/// It is of other parameters or of another key set.
pub fn check(set: &KeySet, column: &str, cell: &CellType) -> Result<()> {
    check_owner(set.params(), set.key_set(), column, cell)
}

/// Checks that a column belongs to an owner with these parameters and this identity.
///
/// # Errors
/// The errors of [`check`].
pub fn check_owner(params: &Params, key_set: Option<&str>, column: &str, cell: &CellType) -> Result<()> {
    let (scheme, params) = (params.scheme(), params.fingerprint_text());
    if (cell.scheme.as_str(), &cell.params) != (scheme, &params) {
        let expected = format!("{scheme} parameters {}", params.get(..8).unwrap_or(&params));
        return Err(Error::Params { column: column.to_owned(), found: cell.described(), expected });
    }
    match (&cell.key_set, key_set) {
        (Some(found), Some(expected)) if found != expected => Err(Error::KeySet {
            column: column.to_owned(),
            found: found.clone(),
            expected: expected.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// The inputs of planning a function.
struct Planner<'a> {
    set: &'a KeySet,
    function: &'a str,
    columns: String,
}

impl Planner<'_> {
    fn wrong(&self, column: &str, found: impl Into<String>, expected: impl Into<String>) -> Error {
        let (function, column) = (self.function.to_owned(), column.to_owned());
        Error::Type { function, column, found: found.into(), expected: expected.into() }
    }

    fn op<T>(&self, result: he_core::Result<T>) -> Result<T> {
        let (function, column) = (self.function.to_owned(), self.columns.clone());
        result.map_err(|source| Error::Operation { function, column, source })
    }

    fn cell<'b>(&self, arg: &'b Arg<'_>) -> Result<(&'b str, &'b CellType)> {
        match arg {
            Arg::Cell(name, cell) => Ok((name, cell)),
            Arg::Number { name, .. } => Err(self.wrong(name, "clear", "a column of ciphertexts")),
        }
    }

    /// A column of this kind.
    fn of_kind<'b>(&self, arg: &'b Arg<'_>, kinds: &[Kind], expected: &str) -> Result<&'b CellType> {
        let (name, cell) = self.cell(arg)?;
        match kinds.contains(&cell.kind) {
            true => Ok(cell),
            false => Err(self.wrong(name, words(cell.kind), expected)),
        }
    }

    fn constant(&self, arg: &Arg<'_>, what: &'static str) -> Result<Number> {
        match arg {
            Arg::Number { value: Some(value), .. } => Ok(*value),
            other => Err(Error::Number {
                function: self.function.to_owned(),
                value: other.name().to_owned(),
                what,
                instead: "give a constant",
            }),
        }
    }

    fn of_tfhe(&self, kind: Kind) -> CellType {
        let params = self.set.params();
        CellType {
            kind,
            scheme: params.scheme().to_owned(),
            params: params.fingerprint_text(),
            key_set: self.set.key_set().map(str::to_owned),
            layout: None,
            progress: None,
        }
    }

    /// Refuses values that CKKS cannot hold at their level. Values of BFV and BGV may leave t in
    /// between, since they come back into it: the answer decides.
    fn within(&self, bounds: Option<Bounds>, progress: &Progress) -> Result<()> {
        if self.set.params().ckks().is_none() {
            return Ok(());
        }
        let call = format!("{} of {}", self.function, self.columns);
        self.set.check_range(&call, bounds, progress)
    }

    fn combined(&self, a: &CellType, b: &CellType, op: Op) -> Result<Option<Layout>> {
        let (Some(left), Some(right)) = (a.layout, b.layout) else { return Ok(None) };
        // Short vectors of CKKS are of as many slots as their values need, but for sums.
        let alike = left.splat == right.splat || self.set.params().ckks().is_none();
        let combined = left.combined(&right, op, alike);
        let (function, column) = (self.function.to_owned(), self.columns.clone());
        combined.map(Some).map_err(|source| Error::Layout { function, column, source })
    }

    /// The progress of a total, and its keys.
    fn total(&self, (name, cell): (&str, &CellType)) -> Result<(CellType, KeyRequirements)> {
        let (set, params) = (self.set, self.set.predictions());
        let Some(layout) = cell.layout else {
            return Ok((self.of_tfhe(cell.kind), KeyRequirements::new()));
        };
        let slots = vector_slots(params, &layout);
        if layout.is_padded(slots) && layout.padding != Some(0.0) {
            let (function, column) = (self.function.to_owned(), name.to_owned());
            return Err(Error::Padding { function, column, size: layout.size });
        }
        let values = layout.entries.unwrap_or(1) * if layout.splat { slots } else { layout.size };
        let bounds = layout.bounds.map(|bounds| bounds.total(values as u64));
        let splat = CellType { layout: Some(Layout::total(None).bounded(bounds)), ..cell.clone() };
        if layout.splat && layout.entries.is_none() {
            return Ok((cell.clone(), KeyRequirements::new()));
        }
        // A batch is folded first.
        let batch = layout.batch(params.slots());
        let mut progress = self.op(params.total(&params.of(cell), batch as u64))?;
        let exact = !params.of_reals();
        let row = if exact { slots / 2 } else { slots };
        let steps: Vec<i64> = (0..row.max(1).ilog2()).map(|bit| 1i64 << bit).collect();
        for &step in &steps {
            let switches = self.op(set.rotation(step))?;
            let rotated = self.op(params.rotated(&progress, switches))?;
            progress = self.op(params.sum(&progress, &rotated))?;
        }
        let mut needs = KeyRequirements::new().rotations(steps);
        if exact {
            self.op(set.conjugation())?;
            let rotated = self.op(params.rotated(&progress, 1))?;
            progress = self.op(params.sum(&progress, &rotated))?;
            needs = needs.conjugation();
        }
        Ok((CellType { progress: Some(progress), ..splat }, needs))
    }
}

/// The slots of the vectors of a layout: short vectors of CKKS have as many as they need.
fn vector_slots(params: Predictions<'_>, layout: &Layout) -> usize {
    match params.of_reals() && !layout.splat {
        true => layout.slots(params.slots()),
        false => params.slots(),
    }
}

fn words(kind: Kind) -> &'static str {
    match kind {
        Kind::Ciphertext => "a column of vectors",
        Kind::Uint => "a column of integers of tfhe",
        Kind::Int => "a column of integers with a sign of tfhe",
        Kind::Bool => "a column of conditions of tfhe",
    }
}

const NUMBERS: &[Kind] = &[Kind::Ciphertext, Kind::Uint, Kind::Int];
const INTEGERS: &[Kind] = &[Kind::Uint, Kind::Int];

impl Function {
    fn arguments(self) -> (std::ops::RangeInclusive<usize>, &'static str) {
        match self {
            Self::Neg | Self::Total | Self::Not => (1..=1, "1"),
            Self::If => (3..=3, "3"),
            Self::Polynomial => (3..=65, "a column and 2 to 64 coefficients"),
            _ => (2..=2, "2"),
        }
    }

    /// Decides the type of the function's results, and the keys that it needs.
    ///
    /// # Errors
    /// Columns of other types, parameters or key sets than the function takes, too little depth or
    /// noise budget, a missing key: each by the name of its column.
    pub fn plan(self, name: &str, set: &KeySet, args: &[Arg<'_>]) -> Result<Planned> {
        let (allowed, expected) = self.arguments();
        if !allowed.contains(&args.len()) {
            return Err(Error::Arguments { function: name.to_owned(), found: args.len(), expected });
        }
        let columns: Vec<&str> =
            args.iter().filter(|arg| matches!(arg, Arg::Cell(..))).map(Arg::name).collect();
        let planner = Planner { set, function: name, columns: columns.join(" and ") };
        let (cell, needs) = self.planned(&planner, args)?;
        planner.within(cell.bounds(), &set.predictions().of(&cell))?;
        Ok(Planned { cell, needs })
    }

    fn planned(self, planner: &Planner<'_>, args: &[Arg<'_>]) -> Result<(CellType, KeyRequirements)> {
        let (set, params) = (planner.set, planner.set.predictions());
        let none = KeyRequirements::new;
        let vectors = "vectors of ckks, bfv or bgv, or integers of tfhe";
        let with = |cell: &CellType, layout: Option<Layout>, progress: Progress| {
            let progress = cell.layout.is_some().then_some(progress);
            CellType { layout, progress, ..cell.clone() }
        };
        Ok(match self {
            Self::Carry => return Err(planner.wrong(planner.function, "not a function", "another")),
            Self::Add | Self::Sub | Self::Mul => {
                let op = match self {
                    Self::Add => Op::Add,
                    Self::Sub => Op::Sub,
                    _ => Op::Mul,
                };
                match (&args[0], &args[1]) {
                    (Arg::Cell(_, a), Arg::Cell(right, b)) => {
                        planner.of_kind(&args[0], NUMBERS, vectors)?;
                        planner.of_kind(&args[1], NUMBERS, vectors)?;
                        if a.kind != b.kind {
                            return Err(planner.wrong(right, words(b.kind), words(a.kind)));
                        }
                        let layout = planner.combined(a, b, op)?;
                        let (pa, pb) = (params.of(a), params.of(b));
                        if op != Op::Mul {
                            return Ok((with(a, layout, planner.op(params.sum(&pa, &pb))?), none()));
                        }
                        planner.op(set.relin())?;
                        let progress = planner.op(params.product(&pa, &pb))?;
                        let needs = if layout.is_some() { none().relinearisation() } else { none() };
                        (with(a, layout, progress), needs)
                    }
                    (Arg::Cell(..), Arg::Number { value, real, most, .. })
                    | (Arg::Number { value, real, most, .. }, Arg::Cell(..)) => {
                        let arg = if matches!(args[0], Arg::Cell(..)) { &args[0] } else { &args[1] };
                        let a = planner.of_kind(arg, NUMBERS, vectors)?;
                        let of = params.of(a);
                        let progress = match op {
                            Op::Mul => planner.op(params.scaled(&of, *value, *real))?,
                            _ => planner.op(params.shifted(&of))?,
                        };
                        let layout = a.layout.map(|layout| match value {
                            Some(Number::Integer(value)) => layout.with_scalar(*value as f64, op),
                            Some(Number::Real(value)) => layout.with_scalar(*value, op),
                            None => {
                                let most = Bounds::of(*most as f64);
                                let number = most.hull(most.scaled(-1.0));
                                let bounds = layout.bounds.map(|bounds| bounds.combined(number, op));
                                let padding = layout.padding.filter(|&x| op == Op::Mul && x == 0.0);
                                Layout { padding, bounds, ..layout }
                            }
                        });
                        // A difference from a number is the opposite of one to it.
                        let layout = match (op, &args[0]) {
                            (Op::Sub, Arg::Number { .. }) => {
                                layout.map(|layout| layout.with_scalar(-1.0, Op::Mul))
                            }
                            _ => layout,
                        };
                        (with(a, layout, progress), none())
                    }
                    (Arg::Number { name, .. }, Arg::Number { .. }) => {
                        return Err(planner.wrong(name, "clear", "at least one column of ciphertexts"));
                    }
                }
            }
            Self::Neg => {
                let a = planner.of_kind(&args[0], NUMBERS, vectors)?;
                let layout = a.layout.map(|layout| layout.with_scalar(-1.0, Op::Mul));
                let progress = planner.op(params.scaled(&params.of(a), Some(Number::Integer(-1)), false))?;
                (with(a, layout, progress), none())
            }
            Self::Rotate => {
                let a = planner.of_kind(&args[0], &[Kind::Ciphertext], "vectors of ckks, bfv or bgv")?;
                let step = step(planner.function, planner.constant(&args[1], "the step of a rotation")?)?;
                let switches = planner.op(set.rotation(step))?;
                let progress = planner.op(params.rotated(&params.of(a), switches))?;
                let layout = a.layout.map(|layout| match layout.is_padded(vector_slots(params, &layout)) {
                    true => layout.unknown(),
                    false => layout,
                });
                (with(a, layout, progress), none().rotations([step]))
            }
            Self::Total => {
                planner.of_kind(&args[0], NUMBERS, vectors)?;
                planner.total(planner.cell(&args[0])?)?
            }
            Self::Polynomial => {
                let a = planner.of_kind(&args[0], NUMBERS, vectors)?;
                let coefficients = coefficients(planner, &args[1..])?;
                if a.layout.is_none() {
                    return Err(Error::Scheme {
                        function: planner.function.to_owned(),
                        column: planner.columns.clone(),
                        scheme: "tfhe",
                        instead: "write it with he_mul and he_add",
                    });
                }
                let progress = planner.op(params.polynomial(&params.of(a), &coefficients))?;
                planner.op(set.relin())?;
                let coefficients = reals(&coefficients);
                let layout = a.layout.map(|layout| Layout {
                    padding: layout.padding.filter(|&x| x == 0.0).and(coefficients.first().copied()),
                    bounds: layout.bounds.map(|bounds| bounds.powers(&coefficients)),
                    ..layout
                });
                (with(a, layout, progress), none().relinearisation())
            }
            Self::Compare(_) => {
                let expected = "integers of tfhe, which alone can be compared";
                match (&args[0], &args[1]) {
                    (Arg::Cell(..), Arg::Cell(right, b)) => {
                        let a = planner.of_kind(&args[0], INTEGERS, expected)?;
                        planner.of_kind(&args[1], INTEGERS, expected)?;
                        if a.kind != b.kind {
                            return Err(planner.wrong(right, words(b.kind), words(a.kind)));
                        }
                    }
                    (cell @ Arg::Cell(..), Arg::Number { .. }) | (Arg::Number { .. }, cell) => {
                        planner.of_kind(cell, INTEGERS, expected)?;
                    }
                }
                (planner.of_tfhe(Kind::Bool), none())
            }
            Self::And | Self::Or | Self::Not => {
                for arg in args {
                    planner.of_kind(arg, &[Kind::Bool], "conditions of tfhe")?;
                }
                (planner.of_tfhe(Kind::Bool), none())
            }
            Self::If => {
                planner.of_kind(&args[0], &[Kind::Bool], "conditions of tfhe")?;
                let (_, a) = planner.cell(&args[1])?;
                let (right, b) = planner.cell(&args[2])?;
                if a.kind != b.kind {
                    return Err(planner.wrong(right, words(b.kind), words(a.kind)));
                }
                (planner.of_tfhe(a.kind), none())
            }
        })
    }

    /// Computes a cell of cells and numbers, which were planned.
    ///
    /// # Errors
    /// The noise budget is spent after all; the device fails.
    pub fn compute(self, engine: &Engine, keys: &Keys, mut args: Vec<Operand>) -> he_core::Result<Value> {
        let coefficients = match self {
            Self::Polynomial | Self::Rotate => args.split_off(1.min(args.len())),
            _ => Vec::new(),
        };
        let numbers: Vec<Number> = coefficients.iter().filter_map(Operand::number).collect();
        let mut args = args.into_iter();
        match (self, args.next(), args.next(), args.next()) {
            (Self::Add, Some(a), Some(b), None) => match (a, b) {
                (Operand::Cell(a), Operand::Cell(b)) => engine.add(&a, &b, Some(keys)),
                (Operand::Cell(a), Operand::Number(b)) | (Operand::Number(b), Operand::Cell(a)) => {
                    engine.add_number(&a, b, keys)
                }
                _ => Err(unplanned()),
            },
            (Self::Sub, Some(a), Some(b), None) => match (a, b) {
                (Operand::Cell(a), Operand::Cell(b)) => engine.sub(&a, &b, keys),
                (Operand::Cell(a), Operand::Number(b)) => match engine {
                    Engine::Tfhe(_) => engine.sub(&a, &engine.constant(&a, b, keys)?, keys),
                    _ => engine.add_number(&a, opposite(b)?, keys),
                },
                (Operand::Number(a), Operand::Cell(b)) => engine.add_number(&engine.neg(&b, keys)?, a, keys),
                _ => Err(unplanned()),
            },
            (Self::Mul, Some(a), Some(b), None) => match (a, b) {
                (Operand::Cell(a), Operand::Cell(b)) => engine.mul(&a, &b, keys),
                (Operand::Cell(a), Operand::Number(b)) | (Operand::Number(b), Operand::Cell(a)) => {
                    engine.mul_number(&a, b, Some(keys))
                }
                _ => Err(unplanned()),
            },
            (Self::Neg, Some(Operand::Cell(a)), None, None) => engine.neg(&a, keys),
            (Self::Total, Some(Operand::Cell(a)), None, None) => engine.total(&a, keys),
            (Self::Rotate, Some(Operand::Cell(a)), None, None) => match numbers.first() {
                Some(Number::Integer(step)) => engine.rotate(&a, *step, keys),
                _ => Err(unplanned()),
            },
            (Self::Polynomial, Some(Operand::Cell(a)), None, None) => engine.polynomial(*a, &numbers, keys),
            (Self::Compare(how), Some(a), Some(b), None) => match (a, b) {
                (Operand::Cell(a), Operand::Cell(b)) => engine.compare(how, &a, &b, keys),
                (Operand::Cell(a), Operand::Number(b)) => {
                    engine.compare(how, &a, &engine.constant(&a, b, keys)?, keys)
                }
                (Operand::Number(a), Operand::Cell(b)) => {
                    engine.compare(how, &engine.constant(&b, a, keys)?, &b, keys)
                }
                _ => Err(unplanned()),
            },
            (Self::And, Some(Operand::Cell(a)), Some(Operand::Cell(b)), None) => engine.and(&a, &b, keys),
            (Self::Or, Some(Operand::Cell(a)), Some(Operand::Cell(b)), None) => engine.or(&a, &b, keys),
            (Self::Not, Some(Operand::Cell(a)), None, None) => engine.not(&a, keys),
            (Self::If, Some(Operand::Cell(c)), Some(Operand::Cell(a)), Some(Operand::Cell(b))) => {
                engine.select(&c, &a, &b, keys)
            }
            _ => Err(unplanned()),
        }
    }
}

/// An argument of one row.
#[derive(Debug)]
pub enum Operand {
    /// A ciphertext.
    Cell(Box<Value>),
    /// A clear number.
    Number(Number),
}

impl Operand {
    fn number(&self) -> Option<Number> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Cell(_) => None,
        }
    }
}

fn unplanned() -> he_core::Error {
    he_core::Error::argument("arguments", "others than those that were planned")
}

fn opposite(number: Number) -> he_core::Result<Number> {
    let out = || he_core::Error::argument("number", "-2^63 has no opposite");
    Ok(match number {
        Number::Integer(value) => Number::Integer(value.checked_neg().ok_or_else(out)?),
        Number::Real(value) => Number::Real(-value),
    })
}

fn step(function: &str, number: Number) -> Result<i64> {
    match number {
        Number::Integer(step) => Ok(step),
        Number::Real(value) => Err(Error::Number {
            function: function.to_owned(),
            value: value.to_string(),
            what: "the step of a rotation",
            instead: "give an integer",
        }),
    }
}

fn coefficients(planner: &Planner<'_>, args: &[Arg<'_>]) -> Result<Vec<Number>> {
    args.iter().map(|arg| planner.constant(arg, "a coefficient")).collect()
}

/// An aggregate of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// Sum of x.
    Sum,
    /// Sum of x over the number of rows.
    Mean,
    /// Mean of x^2 minus the square of the mean.
    Variance,
    /// Sum of x y.
    Dot,
    /// Sum of conditions, or of vectors with a 1 in the place of a category.
    Count,
}

/// Aggregates by their names in SQL.
pub const AGGREGATES: [(&str, Aggregate); 5] = [
    ("he_sum", Aggregate::Sum),
    ("he_mean", Aggregate::Mean),
    ("he_variance", Aggregate::Variance),
    ("he_dot", Aggregate::Dot),
    ("he_count", Aggregate::Count),
];

impl Aggregate {
    /// Decides the type of the aggregate's results, and the keys that it needs, for groups of as
    /// many rows as the key set says.
    ///
    /// # Errors
    /// The errors of [`Function::plan`].
    pub fn plan(self, name: &str, set: &KeySet, args: &[Arg<'_>]) -> Result<Planned> {
        let expected = if self == Self::Dot { 2 } else { 1 };
        if args.len() != expected {
            let expected = if self == Self::Dot { "2" } else { "1" };
            return Err(Error::Arguments { function: name.to_owned(), found: args.len(), expected });
        }
        let columns: Vec<&str> = args.iter().map(Arg::name).collect();
        let planner = Planner { set, function: name, columns: columns.join(" and ") };
        let params = set.predictions();
        let (column, a) = planner.cell(&args[0])?;
        let of = params.of(a);
        let left = |cell: &CellType, layout: Option<Layout>, progress: Progress, bounds: Option<Bounds>| {
            let progress = cell.layout.is_some().then_some(progress);
            CellType { layout: layout.map(|layout| layout.bounded(bounds)), progress, ..cell.clone() }
        };
        let sums = |bounds: Option<Bounds>| bounds.map(|bounds| bounds.total(set.rows()));
        let total = |progress: &Progress| planner.op(params.total(progress, set.rows()));
        // Padding that is known and not zero adds up, and the number of rows is not known.
        let summed = |layout: Option<Layout>| {
            layout.map(|layout| if layout.padding == Some(0.0) { layout } else { layout.unknown() })
        };
        let relin = KeyRequirements::new().relinearisation();
        if matches!(self, Self::Mean | Self::Variance) && !params.of_reals() {
            return Err(Error::Scheme {
                function: name.to_owned(),
                column: column.to_owned(),
                scheme: set.params().scheme(),
                instead: match self {
                    Self::Mean => "integers are not divided; take he_sum and count(*)",
                    _ => "integers are not divided; take he_dot(x, x), he_sum(x) and count(*)",
                },
            });
        }
        let (cell, needs) = match self {
            Self::Sum => {
                planner.of_kind(&args[0], NUMBERS, "vectors, or integers of tfhe")?;
                (left(a, summed(a.layout), total(&of)?, sums(a.bounds())), KeyRequirements::new())
            }
            Self::Count => {
                let expected =
                    "conditions of tfhe, or vectors of bfv or bgv with a 1 in the place of a category";
                planner.of_kind(&args[0], &[Kind::Bool, Kind::Ciphertext], expected)?;
                let kind = if a.kind == Kind::Bool { Kind::Uint } else { Kind::Ciphertext };
                let cell = left(a, summed(a.layout), total(&of)?, sums(a.bounds()));
                (CellType { kind, ..cell }, KeyRequirements::new())
            }
            Self::Dot => {
                planner.of_kind(&args[0], NUMBERS, "vectors, or integers of tfhe")?;
                let b = planner.of_kind(&args[1], NUMBERS, "vectors, or integers of tfhe")?;
                if a.kind != b.kind {
                    return Err(planner.wrong(args[1].name(), words(b.kind), words(a.kind)));
                }
                let layout = summed(planner.combined(a, b, Op::Mul)?);
                planner.op(set.relin())?;
                let product = planner.op(params.product(&of, &params.of(b)))?;
                let bounds = layout.and_then(|layout| layout.bounds);
                planner.within(bounds, &product)?;
                (left(a, layout, total(&product)?, sums(bounds)), relin)
            }
            Self::Mean => {
                planner.within(sums(a.bounds()), &of)?;
                let progress = planner.op(params.lowered(&of, 1))?;
                (left(a, summed(a.layout), progress, a.bounds()), KeyRequirements::new())
            }
            Self::Variance => {
                planner.op(set.relin())?;
                let square = planner.op(params.product(&of, &of))?;
                planner.within(sums(a.bounds()), &of)?;
                let squared = a.bounds().map(Bounds::squared);
                planner.within(sums(squared), &square)?;
                let mean = planner.op(params.lowered(&of, 1))?;
                let squares = planner.op(params.lowered(&square, 1))?;
                let progress = planner.op(params.product(&mean, &mean))?;
                let progress = planner.op(params.sum(&squares, &progress))?;
                // The mean of squares and the square of the mean are held, too.
                planner.within(squared, &progress)?;
                (left(a, summed(a.layout), progress, a.bounds().map(Bounds::variance)), relin)
            }
        };
        planner.within(cell.bounds(), &params.of(&cell))?;
        Ok(Planned { cell, needs })
    }
}
