//! The roles of words: factors of either side, and products.

use super::WordParams;

mod sealed {
    pub trait Sealed {}
}

/// The part that words play in a product, which is what slots hold of them.
pub trait Role: sealed::Sealed + Copy + std::fmt::Debug + Send + Sync + 'static {
    /// The name in errors.
    const NAME: &'static str;
    /// Whether slots hold the words divided by t.
    const DIVIDED: bool;
    /// The power of the phases by which slots are multiplied.
    const PHASES: u32;

    /// The scale under these parameters.
    fn scale(params: &WordParams) -> f64;
}

/// A role that can be encrypted.
pub trait Operand: Role {}

/// The first factor: a / t modulo integer polynomials.
#[derive(Clone, Copy, Debug)]
pub struct Multiplicand;

/// The second factor: the integer polynomial of b.
#[derive(Clone, Copy, Debug)]
pub struct Multiplier;

/// A product, or a sum of products.
#[derive(Clone, Copy, Debug)]
pub struct Product;

macro_rules! role {
    ($role:ident, $name:literal, $divided:literal, $phases:literal, $scale:expr) => {
        impl sealed::Sealed for $role {}

        impl Role for $role {
            const NAME: &'static str = $name;
            const DIVIDED: bool = $divided;
            const PHASES: u32 = $phases;

            fn scale(params: &WordParams) -> f64 {
                let scale: fn(&WordParams) -> f64 = $scale;
                scale(params)
            }
        }
    };
}

role!(Multiplicand, "multiplicand", true, 1, |params| params.scales()[0]);
role!(Multiplier, "multiplier", false, 1, |params| params.scales()[1]);
role!(Product, "product", true, 2, |params| params.scales()[0] * params.scales()[1]);

impl Operand for Multiplicand {}
impl Operand for Multiplier {}
