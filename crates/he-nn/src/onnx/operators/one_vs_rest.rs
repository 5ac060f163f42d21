//! The scores of the classes of a support vector machine, from those of pairs of classes.
//!
//! skl2onnx writes them as many small operators behind an SVMClassifier: comparisons, extractions,
//! sums, and a division. A decision after decryption computes them ([`Decision::OneVsRest`]), once
//! the formula of each operator has been followed and the last one is that of the decision. A
//! pipeline that deviates from it by a single sign is refused.

use super::super::element::Element;
use super::super::node::View;
use super::super::tensor::{Numbers, Tensor};
use super::super::{Reader, Value, take};
use crate::error::Result;
use crate::graph::Decision;
use crate::pairs;
use rten_onnx::onnx::DataType;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// A term of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Term {
    One,
    /// The score s of a pair.
    Score(usize),
    /// 1 if it is negative, else 0.
    Negative(usize),
}

/// Terms, each with its factor, which is not 0.
type Sum = BTreeMap<Term, f64>;

/// The formula of a number.
#[derive(Clone, Debug, PartialEq)]
enum Formula {
    Sum(Sum),
    /// factor |of| + offset.
    Magnitude {
        of: Sum,
        factor: f64,
        offset: f64,
    },
    /// votes + of / (3 (|of| + 1)).
    Class {
        votes: Sum,
        of: Sum,
    },
}

/// The formulas of the elements of a value of one example.
#[derive(Clone, Debug)]
struct Formulas {
    /// The node of the scores of pairs.
    scores: usize,
    list: Vec<Formula>,
}

/// The values whose formulas are known, by name.
#[derive(Debug, Default)]
pub struct Followed<'a>(HashMap<&'a str, Rc<Formulas>>);

impl Followed<'_> {
    /// Whether the formulas of a value are known.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// An operand: formulas, or one constant number for all elements.
enum Operand {
    Formulas(Rc<Formulas>),
    Number(f64),
}

/// The hint where a value of comparisons is none of the formula.
pub const OF_COMPARISONS: &str =
    "ask for the label, or for the scores of pairs: decision_function_shape=\"ovo\"";

/// The numbers that a term of a formula takes the room of.
const ROOM: usize = 32;

/// Follows the scores of pairs of classes, the second output of a classifier, from there on.
pub fn follow<'a>(reader: &mut Reader<'a>, view: &View<'a>, scores: usize) -> Result<()> {
    let (Some(name), true) = (view.output(1), reader.is_used(view, 1)) else { return Ok(()) };
    let pairs = reader.shape(scores)[0];
    take(&mut reader.left.lists, pairs.saturating_mul(ROOM), view)?;
    let list = (0..pairs).map(|pair| Formula::Sum(Sum::from([(Term::Score(pair), 1.0)]))).collect();
    reader.followed.0.insert(name, Rc::new(Formulas { scores, list }));
    Ok(())
}

/// The values of a node behind comparisons of scores: none before the last one, whose value is the
/// decision. `None` for other nodes, among them those of scores alone, which are computed as ever.
///
/// # Errors
/// [`Error::Unsupported`](crate::Error::Unsupported) for an operator behind a comparison that the
/// formula does not have.
pub fn node<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Option<Vec<Value>>> {
    let followed = |name: &&'a str| reader.followed.has(name);
    let Some(first) = view.given().find(followed) else { return Ok(None) };
    let scores = reader.followed.0[first].scores;
    let is_behind = view.given().filter(followed).any(|name| !reader.values.contains_key(name));
    let found = match formulas(reader, view)? {
        Some(list) => list,
        None if is_behind => {
            return Err(view.unsupported("it comes after comparisons of scores", OF_COMPARISONS));
        }
        None => return Ok(None),
    };
    take(&mut reader.left.lists, ROOM * found.iter().map(terms).sum::<usize>(), view)?;
    let is_of_scores = found.iter().all(is_of_scores);
    let is_last = is_of_classes(&found, reader.shape(scores)[0]);
    if let Some(name) = view.output(0) {
        reader.followed.0.insert(name, Rc::new(Formulas { scores, list: found }));
    }
    Ok(match (is_of_scores, is_last) {
        (true, _) => None,
        (false, true) => Some(vec![Value::Decided(scores, Decision::OneVsRest)]),
        (false, false) => Some(Vec::new()),
    })
}

/// Whether it can be computed on encrypted scores: no comparison and no division is in it.
fn is_of_scores(formula: &Formula) -> bool {
    let is_negative = |term: &Term| matches!(term, Term::Negative(_));
    match formula {
        Formula::Sum(sum) | Formula::Magnitude { of: sum, .. } => !sum.keys().any(is_negative),
        Formula::Class { .. } => false,
    }
}

fn terms(formula: &Formula) -> usize {
    1 + match formula {
        Formula::Sum(sum) | Formula::Magnitude { of: sum, .. } => sum.len(),
        Formula::Class { votes, of } => votes.len() + of.len(),
    }
}

/// Whether these are the formulas of the scores of all classes.
fn is_of_classes(found: &[Formula], pairs: usize) -> bool {
    let is_class = |formula: &Formula| matches!(formula, Formula::Class { .. });
    found.len() == pairs::classes(pairs) && found.iter().all(is_class) && found == classes(pairs)
}

/// The formulas of the scores of all classes.
fn classes(pairs: usize) -> Vec<Formula> {
    let mut list = vec![(Sum::new(), Sum::new()); pairs::classes(pairs)];
    for (pair, (i, j)) in pairs::of(list.len()).enumerate().take(pairs) {
        let mut vote = |class: usize, factor: f64, first: f64| {
            let (votes, of) = &mut list[class];
            add(votes, Term::Negative(pair), -factor);
            add(votes, Term::One, first);
            add(of, Term::Score(pair), factor);
        };
        vote(i, 1.0, 1.0);
        vote(j, -1.0, 0.0);
    }
    list.into_iter().map(|(votes, of)| Formula::Class { votes, of }).collect()
}

fn add(sum: &mut Sum, term: Term, factor: f64) {
    let total = sum.remove(&term).unwrap_or(0.0) + factor;
    if total != 0.0 {
        sum.insert(term, total);
    }
}

fn scaled(sum: &Sum, factor: f64) -> Sum {
    sum.iter().map(|(&term, x)| (term, x * factor)).filter(|(_, x)| *x != 0.0).collect()
}

/// The formulas of the output of a node, if it is an operator of the formula.
fn formulas<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Option<Vec<Formula>>> {
    let Some(operands) = operands(reader, view)? else { return Ok(None) };
    use Operand::{Formulas, Number};
    let each = |list: &[Formula], with: &dyn Fn(&Formula) -> Option<Formula>| list.iter().map(with).collect();
    Ok(match (view.operator, &operands[..]) {
        ("Identity", [Formulas(x)]) => Some(x.list.clone()),
        ("Cast", [Formulas(x)]) if view.opset >= 6 => {
            let to = DataType(i32::try_from(view.integer("to", 0)?).unwrap_or(0));
            Element::of(to).is_some_and(Element::is_real).then(|| x.list.clone())
        }
        ("Neg", [Formulas(x)]) => each(&x.list, &|x| Some(Formula::Sum(scaled(as_sum(x)?, -1.0)))),
        ("Abs", [Formulas(x)]) => each(&x.list, &magnitude),
        ("Less", [Formulas(x), Number(0.0)]) => each(&x.list, &negative),
        ("Mul", [Formulas(x), Number(c)] | [Number(c), Formulas(x)]) => each(&x.list, &|x| product(x, *c)),
        ("Div", [Formulas(x), Formulas(y)]) => pairwise(&x.list, &y.list, &quotient),
        ("Add" | "Sum", _) => sum(&operands),
        ("Concat", parts) if matches!(view.integer("axis", 0)?, 1 | -1) => {
            parts.iter().map(list).collect::<Option<Vec<_>>>().map(|lists| lists.concat())
        }
        ("ArrayFeatureExtractor", [Formulas(x), Number(at)]) if at.fract() == 0.0 && *at >= 0.0 => {
            x.list.get(*at as usize).map(|formula| vec![formula.clone()])
        }
        _ => None,
    })
}

fn list(operand: &Operand) -> Option<&[Formula]> {
    match operand {
        Operand::Formulas(formulas) => Some(&formulas.list),
        Operand::Number(_) => None,
    }
}

/// The sum of all operands, of which one has formulas at least.
fn sum(operands: &[Operand]) -> Option<Vec<Formula>> {
    let mut lists = operands.iter().filter_map(list);
    let first = lists.next()?.to_vec();
    let lists = lists.try_fold(first, |sum, list| pairwise(&sum, list, &total))?;
    let number = |operand: &Operand| match operand {
        Operand::Number(number) => *number,
        Operand::Formulas(_) => 0.0,
    };
    let numbers = operands.iter().map(number).sum();
    lists.iter().map(|formula| shifted(formula, numbers)).collect()
}

/// The inputs of a node, if each has formulas or is a constant of one number.
fn operands<'a>(reader: &mut Reader<'a>, view: &View<'a>) -> Result<Option<Vec<Operand>>> {
    let mut operands = Vec::with_capacity(view.inputs());
    for index in 0..view.inputs() {
        let name = view.input(index)?;
        let value = reader.value_of(name)?;
        operands.push(match (reader.followed.0.get(name), value) {
            (Some(formulas), _) => Operand::Formulas(formulas.clone()),
            (None, Some(Value::Constant(constant))) => match number(&constant) {
                Some(number) => Operand::Number(number),
                None => return Ok(None),
            },
            _ => return Ok(None),
        });
    }
    Ok(Some(operands))
}

/// The only number of a constant that gives a value of two dimensions no further one.
fn number(constant: &Tensor) -> Option<f64> {
    match (&constant.numbers, constant.dims.len()) {
        (Numbers::Reals(list), ..=2) if list.len() == 1 => Some(list[0]),
        (Numbers::Integers(list), ..=2) if list.len() == 1 => Some(list[0] as f64),
        _ => None,
    }
}

fn as_sum(formula: &Formula) -> Option<&Sum> {
    match formula {
        Formula::Sum(sum) => Some(sum),
        _ => None,
    }
}

/// Two lists, element by element, if they are of one length.
fn pairwise(
    x: &[Formula],
    y: &[Formula],
    of: &dyn Fn(&Formula, &Formula) -> Option<Formula>,
) -> Option<Vec<Formula>> {
    (x.len() == y.len()).then(|| x.iter().zip(y).map(|(x, y)| of(x, y)).collect())?
}

fn magnitude(x: &Formula) -> Option<Formula> {
    Some(Formula::Magnitude { of: as_sum(x)?.clone(), factor: 1.0, offset: 0.0 })
}

/// Whether the score of a pair is negative.
fn negative(x: &Formula) -> Option<Formula> {
    let mut terms = as_sum(x)?.iter();
    match (terms.next(), terms.next()) {
        (Some((&Term::Score(pair), &1.0)), None) => {
            Some(Formula::Sum(Sum::from([(Term::Negative(pair), 1.0)])))
        }
        _ => None,
    }
}

fn product(x: &Formula, c: f64) -> Option<Formula> {
    match x {
        Formula::Sum(sum) => Some(Formula::Sum(scaled(sum, c))),
        Formula::Magnitude { of, factor, offset } => {
            Some(Formula::Magnitude { of: of.clone(), factor: factor * c, offset: offset * c })
        }
        Formula::Class { .. } => None,
    }
}

fn shifted(x: &Formula, c: f64) -> Option<Formula> {
    match x {
        _ if c == 0.0 => Some(x.clone()),
        Formula::Magnitude { of, factor, offset } => {
            Some(Formula::Magnitude { of: of.clone(), factor: *factor, offset: offset + c })
        }
        _ => total(x, &Formula::Sum(scaled(&Sum::from([(Term::One, 1.0)]), c))),
    }
}

fn total(x: &Formula, y: &Formula) -> Option<Formula> {
    match (x, y) {
        (Formula::Sum(x), Formula::Sum(y)) => {
            let mut sum = x.clone();
            y.iter().for_each(|(&term, &factor)| add(&mut sum, term, factor));
            Some(Formula::Sum(sum))
        }
        (Formula::Sum(sum), Formula::Class { votes, of })
        | (Formula::Class { votes, of }, Formula::Sum(sum))
            if votes.is_empty() =>
        {
            Some(Formula::Class { votes: sum.clone(), of: of.clone() })
        }
        _ => None,
    }
}

/// x / (3 |x| + 3).
fn quotient(x: &Formula, y: &Formula) -> Option<Formula> {
    match (x, y) {
        (Formula::Sum(x), Formula::Magnitude { of, factor: 3.0, offset: 3.0 }) if x == of => {
            Some(Formula::Class { votes: Sum::new(), of: x.clone() })
        }
        _ => None,
    }
}
