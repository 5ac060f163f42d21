//! Intervals and bits that functions are asked for.

use super::program::{LARGEST_INTEGER, Program, Value};
use super::remez::cosine_points;
use crate::error::{Error, Result};
use std::ops::RangeInclusive;

/// A checked interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    a: f64,
    b: f64,
}

impl Range {
    pub fn new(interval: RangeInclusive<f64>) -> Result<Self> {
        let (a, b) = interval.into_inner();
        let width = b - a;
        if !(a < b
            && width.is_finite()
            && (2.0 / width).is_finite()
            && a.abs().max(b.abs()) <= LARGEST_INTEGER)
        {
            let hint = "finite bounds a < b of magnitude up to 2^40 are needed";
            return Err(Error::domain("interval", format!("[{a}, {b}]"), hint));
        }
        Ok(Self { a, b })
    }

    /// [-bound, bound].
    pub fn symmetric(bound: f64) -> Result<Self> {
        if bound.is_nan() || bound <= 0.0 {
            return Err(Error::domain("bound", bound.to_string(), "a positive number is needed"));
        }
        Self::new(-bound..=bound)
    }

    /// Within the domain of a function.
    pub fn within(self, what: &'static str, lowest: f64, strict: bool) -> Result<Self> {
        if self.a < lowest || (strict && self.a <= lowest) {
            let hint = format!("it must begin {} {lowest}", if strict { "above" } else { "at or above" });
            return Err(Error::domain(what, format!("the interval [{}, {}]", self.a, self.b), hint));
        }
        Ok(self)
    }

    pub fn bounds(&self) -> (f64, f64) {
        (self.a, self.b)
    }

    pub fn width(&self) -> f64 {
        self.b - self.a
    }

    /// x for t in [-1, 1].
    pub fn at(&self, t: f64) -> f64 {
        (0.5 * (self.a + self.b) + 0.5 * (self.b - self.a) * t).clamp(self.a, self.b)
    }

    /// Factor and offset of the map to [-1, 1].
    fn map(&self) -> (f64, f64) {
        (2.0 / (self.b - self.a), -(self.a + self.b) / (self.b - self.a))
    }

    /// The image of x in [-1, 1].
    pub fn push_map(self, program: &mut Program, x: Value) -> Value {
        let (factor, offset) = self.map();
        program.affine(x, factor, offset)
    }

    /// This interval, and a wider one within a domain whose map to [-1, 1] takes no level, if there
    /// is one and this map takes a level. Symmetric intervals remain so; others keep an end.
    #[expect(clippy::disallowed_methods, reason = "intervals are public")]
    pub fn mapped_cheaply(&self, (lowest, highest): (f64, f64)) -> Vec<Self> {
        let factor = self.map().0.floor();
        let mut list = vec![*self];
        if factor >= 1.0 && factor != self.map().0 {
            let width = 2.0 / factor;
            let wide = [
                Self { a: -0.5 * width, b: 0.5 * width },
                Self { a: self.a, b: self.a + width },
                Self { a: self.b - width, b: self.b },
            ];
            let symmetric = self.a == -self.b;
            let wide = wide.into_iter().skip(usize::from(!symmetric));
            list.extend(wide.filter(|wide| wide.a >= lowest && wide.b <= highest).take(if symmetric {
                1
            } else {
                2
            }));
        }
        list
    }

    /// A grid that is dense at both ends and at zero.
    pub fn points(&self, count: usize) -> Vec<f64> {
        let mut points = cosine_points(self.a, self.b, 2 * count);
        points.extend((0..=count).map(|i| self.a + (self.b - self.a) * i as f64 / count as f64));
        // Powers of two down to 2^-40 of the width, from both ends and from zero.
        let width = self.b - self.a;
        for i in 0..count {
            let step = width * libm::exp2(-40.0 * i as f64 / count as f64);
            points.extend([self.a + step, self.b - step, step, -step]);
        }
        points.retain(|x| (self.a..=self.b).contains(x));
        points
    }

    /// The largest magnitude of a function.
    pub fn peak(&self, f: &impl Fn(f64) -> f64) -> Result<f64> {
        let mut peak: f64 = 0.0;
        for x in cosine_points(self.a, self.b, 2048) {
            let y = f(x);
            if !y.is_finite() {
                let hint = "choose an interval where it is defined and finite";
                return Err(Error::domain("function", format!("its value {y} at {x}"), hint));
            }
            peak = peak.max(y.abs());
        }
        if peak > 0.0 {
            return Ok(peak);
        }
        Err(Error::domain("function", "values that are all zero", "choose an interval where it is not zero"))
    }
}

/// A checked number of bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Precision(f64);

/// The most bits: float64 carries few more through polynomials of high degree.
const MAX_BITS: u32 = 40;

impl Precision {
    pub fn new(bits: u32) -> Result<Self> {
        if !(1..=MAX_BITS).contains(&bits) {
            let hint = format!("from 1 to {MAX_BITS} are possible in float64");
            return Err(Error::domain("bits", bits.to_string(), hint));
        }
        Ok(Self(f64::from(bits)))
    }

    pub fn bits(self) -> f64 {
        self.0
    }

    /// The largest error, with a hundredth left for points that are not measured and for rounding.
    pub fn tolerance(self, peak: f64) -> f64 {
        0.99 * peak * libm::exp2(-self.0)
    }

    pub fn unreachable(self, name: &'static str, range: Range) -> Error {
        let Range { a, b } = range;
        let found = format!("{} bits on [{a}, {b}]", self.0);
        Error::domain(name, found, "ask for fewer bits, or for an interval further from singular points")
    }
}
