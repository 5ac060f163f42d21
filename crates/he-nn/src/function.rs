//! Functions of one number, as models compose them.

use serde::{Deserialize, Serialize};
use std::f64::consts::FRAC_1_SQRT_2;

/// A function of one number x: steps on a stack of numbers, of which one is left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Function(Vec<Step>);

/// A step of a [`Function`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Step {
    /// Puts x on the stack.
    X,
    /// Puts a constant on the stack.
    Constant(f64),
    /// Replaces two numbers by their sum.
    Sum,
    /// Replaces two numbers by their product.
    Product,
    /// Replaces a number by its image.
    Of(Named),
}

/// The most steps of a function.
const MAX_STEPS: usize = 256;

/// Functions with a name.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Named {
    /// max(x, 0).
    Relu,
    /// x if it is positive, otherwise a multiple of it.
    LeakyRelu(f64),
    /// 1 / (1 + exp(-x)).
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// The error function.
    Erf,
    /// x / 2 (1 + erf(x / sqrt 2)).
    Gelu,
    /// GELU with the hyperbolic tangent in place of the error function.
    GeluTanh,
    /// exp(x).
    Exp,
    /// log(1 + exp(x)).
    Softplus,
    /// x if it is positive, otherwise a multiple of exp(x) - 1.
    Elu(f64),
    /// |x|.
    Abs,
    /// x within two bounds, otherwise the nearer one.
    Clip(f64, f64),
    /// x / (1 + |x|).
    Softsign,
    /// sin(x).
    Sin,
    /// cos(x).
    Cos,
    /// The square root, of numbers that are not negative.
    Sqrt,
    /// The natural logarithm, of positive numbers.
    Log,
    /// 1 / x.
    Reciprocal,
    /// 1 where x is not negative, otherwise 0.
    Step,
}

impl Named {
    /// Whether its parameters are numbers.
    fn is_valid(self) -> bool {
        match self {
            Self::LeakyRelu(x) | Self::Elu(x) => x.is_finite(),
            Self::Clip(low, high) => low.is_finite() && high.is_finite() && low <= high,
            _ => true,
        }
    }

    /// Its value.
    pub fn at(self, x: f64) -> f64 {
        match self {
            Self::Relu => x.max(0.0),
            Self::LeakyRelu(slope) => {
                if x < 0.0 {
                    slope * x
                } else {
                    x
                }
            }
            Self::Sigmoid => 1.0 / (1.0 + libm::exp(-x)),
            Self::Tanh => libm::tanh(x),
            Self::Erf => libm::erf(x),
            Self::Gelu => 0.5 * x * (1.0 + libm::erf(x * FRAC_1_SQRT_2)),
            Self::GeluTanh => {
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
                0.5 * x * (1.0 + libm::tanh(inner))
            }
            Self::Exp => libm::exp(x),
            Self::Softplus => {
                if x > 0.0 {
                    x + libm::log1p(libm::exp(-x))
                } else {
                    libm::log1p(libm::exp(x))
                }
            }
            Self::Elu(factor) => {
                if x < 0.0 {
                    factor * libm::expm1(x)
                } else {
                    x
                }
            }
            Self::Abs => x.abs(),
            Self::Clip(low, high) => x.max(low).min(high),
            Self::Softsign => x / (1.0 + x.abs()),
            Self::Sin => libm::sin(x),
            Self::Cos => libm::cos(x),
            Self::Sqrt => x.sqrt(),
            Self::Log => libm::log(x),
            Self::Reciprocal => 1.0 / x,
            Self::Step => f64::from(u8::from(x >= 0.0)),
        }
    }
}

impl Function {
    /// x itself.
    pub fn x() -> Self {
        Self(vec![Step::X])
    }

    /// A named function of x.
    pub fn named(name: Named) -> Self {
        Self(vec![Step::X, Step::Of(name)])
    }

    /// x times x.
    pub fn square() -> Self {
        Self(vec![Step::X, Step::X, Step::Product])
    }

    /// factor x + offset.
    pub fn affine(factor: f64, offset: f64) -> Self {
        let factor = [Step::Constant(factor), Step::X, Step::Product];
        Self(factor.into_iter().chain([Step::Constant(offset), Step::Sum]).collect())
    }

    /// The sum of two functions.
    #[must_use]
    pub fn sum(&self, other: &Self) -> Self {
        Self([&self.0[..], &other.0, &[Step::Sum]].concat())
    }

    /// The product of two functions.
    #[must_use]
    pub fn product(&self, other: &Self) -> Self {
        Self([&self.0[..], &other.0, &[Step::Product]].concat())
    }

    /// This function of another one.
    #[must_use]
    pub fn of(&self, inner: &Self) -> Self {
        let step = |step: &Step| if *step == Step::X { inner.0.clone() } else { vec![*step] };
        Self(self.0.iter().flat_map(step).collect())
    }

    /// Whether the steps leave one number, and are not too many.
    pub(crate) fn is_valid(&self) -> bool {
        let height = self.0.iter().try_fold(0usize, |height, step| match step {
            Step::X => Some(height + 1),
            Step::Constant(value) => value.is_finite().then_some(height + 1),
            Step::Sum | Step::Product => (height >= 2).then(|| height - 1),
            Step::Of(name) => (height >= 1 && name.is_valid()).then_some(height),
        });
        height == Some(1) && self.0.len() <= MAX_STEPS
    }

    /// The result of the steps on any kind of numbers; `None` where a step has none.
    fn run<T>(
        &self,
        x: impl Fn() -> T,
        constant: impl Fn(f64) -> T,
        sum: impl Fn(T, T) -> T,
        product: impl Fn(T, T) -> T,
        of: impl Fn(Named, T) -> Option<T>,
    ) -> Option<T> {
        let mut stack = Vec::new();
        for step in &self.0 {
            let result = match step {
                Step::X => x(),
                Step::Constant(value) => constant(*value),
                Step::Of(name) => of(*name, stack.pop()?)?,
                Step::Sum | Step::Product => {
                    let (b, a) = (stack.pop()?, stack.pop()?);
                    if *step == Step::Sum { sum(a, b) } else { product(a, b) }
                }
            };
            stack.push(result);
        }
        stack.pop()
    }

    /// Its value.
    pub fn at(&self, x: f64) -> f64 {
        let value = self.run(|| x, |c| c, |a, b| a + b, |a, b| a * b, |name, x| Some(name.at(x)));
        value.unwrap_or(f64::NAN)
    }

    /// Whether some numbers have no image: those of roots, logarithms and reciprocals.
    pub fn is_partial(&self) -> bool {
        let partial = |step: &Step| matches!(step, Step::Of(Named::Sqrt | Named::Log | Named::Reciprocal));
        self.0.iter().any(partial)
    }

    /// Whether it is max(x, 0).
    pub fn is_relu(&self) -> bool {
        *self == Self::named(Named::Relu)
    }

    /// Whether it is 1 where x is not negative, otherwise 0.
    pub fn is_step(&self) -> bool {
        *self == Self::named(Named::Step)
    }

    /// Its coefficients, lowest degree first, if it is a polynomial of degree 16 or less.
    pub fn coefficients(&self) -> Option<Vec<f64>> {
        let sum = |mut a: Vec<f64>, mut b: Vec<f64>| {
            if a.len() < b.len() {
                std::mem::swap(&mut a, &mut b);
            }
            a.iter_mut().zip(&b).for_each(|(a, b)| *a += b);
            a
        };
        let product = |a: Vec<f64>, b: Vec<f64>| {
            let mut product = vec![0.0; a.len() + b.len() - 1];
            for (i, x) in a.iter().enumerate() {
                b.iter().enumerate().for_each(|(j, y)| product[i + j] += x * y);
            }
            product
        };
        let found = self.run(|| vec![0.0, 1.0], |c| vec![c], sum, product, |_, _| None)?;
        (found.len() <= 17).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_compose_and_expand() {
        let square = Function::square();
        let shifted = square.of(&Function::affine(2.0, 1.0));
        assert_eq!(shifted.at(3.0), 49.0);
        assert_eq!(shifted.coefficients().unwrap(), [1.0, 4.0, 4.0]);
        assert_eq!(Function::named(Named::Relu).coefficients(), None);
        let silu = Function::x().product(&Function::named(Named::Sigmoid));
        assert!((silu.at(1.0) - 0.731_058_578_630_004_9).abs() < 1e-15);
        assert!(Function::named(Named::Relu).is_relu() && !silu.is_relu());
        assert!(silu.is_valid() && shifted.is_valid());
        for steps in [vec![], vec![Step::Sum], vec![Step::X, Step::X], vec![Step::Constant(f64::NAN)]] {
            assert!(!Function(steps).is_valid());
        }
    }
}
