//! Layer normalisation on ciphertexts.

use super::plain::Plain;
use super::{Circuit, Value};
use crate::encoder::norm::Approximate;
use crate::graph::LayerNorm;
use he_core::Result;

impl Circuit {
    /// The normalised rows of a value that is held divided by `units[0]`, divided by `units[1]`.
    ///
    /// With u = 2 (v - c) / w for the variances v of the range c - w / 2 to c + w / 2, y is a
    /// polynomial of u near sqrt(w / 4 v), and Newton's steps for 1 / sqrt are
    /// y (3 / 2 - (u + 2 c / w) y^2): no products by constants of their own.
    pub fn norm(
        &mut self,
        x: Value,
        norm: &LayerNorm,
        approximate: &Approximate,
        units: [f64; 2],
    ) -> Result<Value> {
        let (layout, width) = (self.layout, norm.scale.len());
        let [low, high] = approximate.interval();
        let (span, n) = (2.0 / (high - low), width as f64);
        let first = |number: &dyn Fn(usize) -> f64| {
            Plain::features(&layout, |token, feature| if feature == 0 { number(token) } else { 0.0 })
        };
        let mean = self.group_sum(x, layout.period, first(&|_| 1.0 / n));
        let centred = self.difference(x, mean);
        let squares = self.product(centred, centred);
        // The variance of a row, whose slots without a feature hold the mean.
        let of_row = |token: usize| approximate.factors[token] * span * units[0] * units[0] / n;
        let mut variance = self.group_sum(squares, layout.period, first(&of_row));
        if width < layout.period {
            let excess = (layout.period - width) as f64;
            let mean = self.product(mean, mean);
            let mean = self.weighted(mean, Plain::features(&layout, |token, _| of_row(token) * excess));
            variance = self.difference(variance, mean);
        }
        let centre = span * 0.5 * (low + high);
        let offset = |token: usize, _| approximate.factors[token] * norm.epsilon * span - centre;
        let variance = self.offset(variance, Plain::features(&layout, offset));
        let variance = self.small(variance);
        // 1 / sqrt(v) is y sqrt(2 span).
        let root = (2.0 * span).sqrt();
        let mut inverse = self.polynomial(variance, vec![approximate.on_unit_interval(1.0 / root)?]);
        let whole = self.plus(variance, centre);
        for _ in 0..approximate.newton {
            let (a, b) = (self.product(whole, inverse), self.product(inverse, inverse));
            let (a, b) = (self.product(a, b), self.scaled(inverse, 1.5));
            inverse = self.difference(b, a);
        }
        let factor = |token: usize, feature: usize| {
            let scale = norm.scale.get(feature).copied().unwrap_or(0.0);
            scale * units[0] / units[1] * root * approximate.factors[token].sqrt()
        };
        let scaled = self.weighted(centred, Plain::features(&layout, factor));
        let found = self.product(scaled, inverse);
        let shift = |_, feature: usize| norm.shift.get(feature).copied().unwrap_or(0.0) / units[1];
        Ok(self.offset(found, Plain::features(&layout, shift)))
    }
}
