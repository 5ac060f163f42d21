//! The rows of the table of operations, and how programs and people are told of them.

use crate::note::Content;
use crate::scheme::{self, Bfv, Bgv, Scheme};
use crate::tfhe;
use crate::tfhe::note::WIDTHS;
use serde_json::{Value, json};

pub(super) const CKKS: &str = <scheme::Ckks as Scheme>::NAME;
pub(super) const BFV: &str = <Bfv as Scheme>::NAME;
pub(super) const BGV: &str = <Bgv as Scheme>::NAME;
pub(super) const BIGCKKS: &str = <scheme::BigCkks as Scheme>::NAME;
pub(super) const TFHE: &str = tfhe::NAME;

/// The schemes under which files are computed on.
pub const SCHEMES: [&str; 5] = [CKKS, BFV, BGV, BIGCKKS, TFHE];

/// The kinds of files that operations compute on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Pictures.
    Image,
    /// Columns of numbers or categories.
    Table,
    /// Columns of machine integers in digits.
    Digits,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Image, Self::Table, Self::Digits];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Table => "table",
            Self::Digits => "digits",
        }
    }

    /// Several of them, for people.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Image => "images",
            Self::Table => "tables",
            Self::Digits => "tables in digits",
        }
    }

    /// The kind of a content, unless models or searches alone compute on it.
    pub fn of(content: &Content) -> Option<Self> {
        match content {
            Content::Image(_) | Content::Samples(_) => Some(Self::Image),
            Content::Table(_) | Content::Integers(_) => Some(Self::Table),
            Content::Digits(_) => Some(Self::Digits),
            Content::Examples(_) | Content::Search(_) => None,
        }
    }
}

/// An operation, as command lines, services and documents are told of it.
#[derive(Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// The schemes under which it computes on images.
    pub images: &'static [&'static str],
    /// The schemes under which it computes on tables.
    pub tables: &'static [&'static str],
    /// The schemes under which it computes on tables of machine integers in digits.
    pub digits: &'static [&'static str],
    /// The computation, in words that follow those for its files: `Two tables: add them`.
    pub about: &'static str,
    /// Further sentences for people, if there are any.
    pub more: &'static str,
    /// The files that it takes besides the first.
    pub others: &'static [Other],
    /// The treatment of its result's levels unless one is chosen; none where none can be chosen.
    pub levels: Option<Unasked>,
    /// Its parameters besides the treatment of levels.
    pub parameters: &'static [Parameter],
    /// The key that computes it.
    pub key: ComputedBy,
}

/// The key that computes an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComputedBy {
    /// The evaluation key.
    Evaluation,
    /// The bootstrapping key.
    Bootstrapping,
}

/// The levels of a result, unless their treatment is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unasked {
    /// They are kept.
    Kept,
    /// Levels that the result does not need are dropped.
    Dropped,
}

/// A file that an operation takes besides the first.
#[derive(Debug)]
pub struct Other {
    /// Its name among the options.
    pub name: &'static str,
    /// Its description.
    pub about: &'static str,
    /// The parameter that stands in its place, if one can.
    pub or: Option<&'static str>,
}

/// A parameter of an operation.
#[derive(Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// The placeholder of its value in usage.
    pub value: &'static str,
    /// Its description.
    pub about: &'static str,
    /// Its values.
    pub domain: Domain,
}

/// The values of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Domain {
    /// Any finite number, with a default.
    Any {
        /// The value if none is given.
        default: f64,
    },
    /// A number from 0 to 1, with a default.
    Unit {
        /// The value if none is given.
        default: f64,
    },
    /// A number above 0; it may be left out.
    Positive,
    /// A whole number from 0 on; it may be left out.
    Whole,
    /// A matrix: rows separated by semicolons.
    Matrix,
    /// A column, by its name or number; it may be left out.
    Column,
    /// Two columns, by their names or numbers; they may be left out.
    TwoColumns,
    /// An integer in decimal digits; it may be left out.
    Integer,
    /// A whole number from 0 on.
    Natural,
    /// Integers in decimal digits, of a public table.
    Entries,
    /// Bits of integers; they may be left out.
    Width,
}

impl Domain {
    /// The value if none is given.
    pub fn default(self) -> Option<f64> {
        match self {
            Self::Any { default } | Self::Unit { default } => Some(default),
            _ => None,
        }
    }

    /// Whether a value has to be given.
    pub fn is_required(self) -> bool {
        matches!(self, Self::Matrix | Self::Entries | Self::Natural)
    }

    /// The JSON Schema of the values.
    fn schema(self) -> Value {
        match self {
            Self::Any { default } => json!({ "type": "number", "default": default }),
            Self::Unit { default } => {
                json!({ "type": "number", "default": default, "minimum": 0, "maximum": 1 })
            }
            Self::Positive => json!({ "type": "number", "exclusiveMinimum": 0 }),
            Self::Whole | Self::Natural => json!({ "type": "integer", "minimum": 0 }),
            Self::Matrix | Self::Column | Self::Integer => json!({ "type": "string" }),
            Self::TwoColumns => {
                json!({ "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2 })
            }
            Self::Entries => json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
            Self::Width => json!({ "type": "integer", "enum": WIDTHS }),
        }
    }
}

/// Words for people: `a`, `a and b`, or `a, b and c`.
pub(super) fn joined(words: &[&str], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

impl Row {
    /// The schemes under which it computes on files of a kind.
    pub fn on(&self, kind: Kind) -> &'static [&'static str] {
        match kind {
            Kind::Image => self.images,
            Kind::Table => self.tables,
            Kind::Digits => self.digits,
        }
    }

    /// The schemes that have it, in the order of the table.
    pub fn schemes(&self) -> Vec<&'static str> {
        SCHEMES.into_iter().filter(|scheme| self.is_of(scheme)).collect()
    }

    /// Whether a scheme has it.
    pub fn is_of(&self, scheme: &str) -> bool {
        Kind::ALL.iter().any(|&kind| self.on(kind).contains(&scheme))
    }

    /// The numbers of files that it takes.
    pub fn inputs(&self) -> Vec<usize> {
        let least = self.others.iter().filter(|other| other.or.is_none()).count();
        (1 + least..=1 + self.others.len()).collect()
    }

    /// The help of the operation, for people: its files, and its description.
    pub fn help(&self) -> String {
        format!("{}: {}", self.files(), self.about)
    }

    /// Describes for people the number of its files, their kinds and schemes.
    fn files(&self) -> String {
        let (count, s) = match self.inputs().first() {
            Some(2) => ("two ", "s"),
            Some(3) => ("three ", "s"),
            _ => ("", ""),
        };
        let under = |schemes: &[&str]| match schemes.len() == SCHEMES.len() {
            true => String::new(),
            false => format!(" under {}", joined(schemes, "or")),
        };
        let (images, tables) = (format!("image{s}"), format!("table{s}"));
        let digits = match self.digits {
            [] => String::new(),
            on => format!("{tables} in digits{}", under(on)),
        };
        let others = match (self.images, self.tables) {
            ([], []) => String::new(),
            (on, []) => images + &under(on),
            ([], on) => tables + &under(on),
            (one, other) if one == other => format!("{images} or {tables}{}", under(one)),
            (one, other) => format!("{tables}{}, or {images}{}", under(other), under(one)),
        };
        let all: Vec<String> = [others, digits].into_iter().filter(|files| !files.is_empty()).collect();
        let text = format!("{count}{}", all.join(", or "));
        let mut letters = text.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    }

    /// Describes the operation for programs.
    pub fn json(&self) -> Value {
        let mut parameters = serde_json::Map::new();
        if self.levels.is_some() {
            let about = "the levels of the result: auto, keep those that are left, or drop them";
            let schema = json!({
                "type": "string", "enum": ["auto", "keep", "drop"], "default": "auto", "description": about,
            });
            parameters.insert("levels".to_owned(), schema);
        }
        for Parameter { name, about, domain, .. } in self.parameters {
            let mut schema = domain.schema();
            schema["description"] = json!(about);
            parameters.insert((*name).to_owned(), schema);
        }
        let kinds = Kind::ALL.into_iter().filter(|&kind| !self.on(kind).is_empty());
        let on: serde_json::Map<String, Value> =
            kinds.map(|kind| (kind.name().to_owned(), json!(self.on(kind)))).collect();
        json!({
            "name": self.name,
            "about": self.help(),
            "inputs": self.inputs(),
            "contents": on.keys().collect::<Vec<_>>(),
            "schemes": self.schemes(),
            "on": on,
            "parameters": parameters,
        })
    }
}
