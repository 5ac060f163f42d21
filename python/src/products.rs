//! Inner products and products with matrices, and polynomials of integers.

use crate::arrays::{Array, Numbers};
use crate::ciphertext::{Operand, PyCiphertext};
use crate::error::Fault;
use crate::join::batched;
use he_any::Number;
use he_any::arrays::{self, Values};
use he_any::layout::{Bounds, Dim, Layout, Op, shown};
use he_any::rlwe::Cipher;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The weights of a matrix, column by column.
fn columns<T: Copy>(values: &[T], count: usize) -> Vec<Vec<T>> {
    (0..count).map(|at| values.iter().skip(at).step_by(count).copied().collect()).collect()
}

fn do_not_multiply(left: &[usize], right: &[usize]) -> PyErr {
    let text =
        format!("a product of the shapes {} and {}, which do not fit together", shown(left), shown(right));
    PyValueError::new_err(text)
}

impl PyCiphertext {
    /// `self @ other`; nothing for a type that this package does not know.
    pub fn matrix_product(&self, other: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let py = other.py();
        match Operand::new(other, self.is_exact())? {
            Operand::Cipher(other) => self.inner_product(py, other.get()).map(Some),
            Operand::Array(array) => self.times_matrix(py, &array).map(Some),
            _ => Ok(None),
        }
    }

    /// `other @ self`, likewise.
    pub fn matrix_product_from_left(&self, other: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let py = other.py();
        let Operand::Array(array) = Operand::new(other, self.is_exact())? else { return Ok(None) };
        let of_matrix = self.layout.axes().len() == 2;
        let turned = self.with_layout(py, self.layout.transposed())?;
        if array.shape().len() == 1 {
            return turned.times_matrix(py, &array).map(Some);
        }
        let numbers = if self.is_exact() { Numbers::Exact } else { Numbers::Approximate };
        let transposed = py.import("numpy")?.getattr("transpose")?.call1((other,))?;
        let made = turned.times_matrix(py, &Array::new(&transposed, numbers, "matrix")?)?;
        match of_matrix {
            true => made.with_layout(py, made.layout.transposed()).map(Some),
            false => Ok(Some(made)),
        }
    }

    /// The product with another encrypted array along the last axis of one.
    fn inner_product(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        self.core.site.check_same(&other.core.site, "right operand")?;
        let (left, right) = (self.layout.shape(), other.layout.shape());
        match (left.len(), right.len()) {
            (0, _) | (_, 0) => Err(do_not_multiply(&left, &right)),
            (2, 2) if left[1] == right[0] => self.matrix_by_matrix(py, other, [left[0], left[1], right[1]]),
            (1, 2) if left[0] == right[0] => {
                other.with_layout(py, other.layout.transposed())?.inner_product(py, self)
            }
            (_, 1) if left.last() == right.first() => {
                let layout = self.product_layout(other, Op::Mul)?;
                if self.is_exact() || self.layout.is_first() || other.layout.is_first() {
                    let product = self.with_cipher(py, other, Op::Mul)?;
                    let axis: Vec<Dim> = product.layout.dims[1].into_iter().collect();
                    return product.summed(py, &axis, false);
                }
                self.run(py, || {
                    let (engine, keys) = (self.engine()?, self.switching()?);
                    let (a, b) = ((&self.cipher, &self.layout), (&other.cipher, &other.layout));
                    Ok(arrays::dot(engine, keys.get()?, a, b, &layout)?)
                })
            }
            _ => Err(do_not_multiply(&left, &right)),
        }
    }

    /// The product of two encrypted matrices of m x k and of k x n values.
    fn matrix_by_matrix(&self, py: Python<'_>, other: &Self, [m, k, n]: [usize; 3]) -> PyResult<Self> {
        let reshaped =
            |of: &Self, shape: &[usize]| of.with_layout(py, of.layout.reshaped(shape).map_err(Fault::from)?);
        match (m, k, n) {
            // NumPy's broadcasting of a column and a row.
            (_, 1, _) => self.with_cipher(py, other, Op::Mul),
            (1, _, 1) => {
                let sum = reshaped(self, &[k])?.inner_product(py, &reshaped(other, &[k])?)?;
                reshaped(&sum, &[1, 1])
            }
            (1, ..) => reshaped(&reshaped(self, &[k])?.inner_product(py, other)?, &[1, n]),
            (.., 1) => reshaped(&self.inner_product(py, &reshaped(other, &[k])?)?, &[m, 1]),
            _ => self.run(py, || {
                let (engine, keys) = (self.engine()?, self.switching()?);
                let (a, b) = ((&self.cipher, &self.layout), (&other.cipher, &other.layout));
                Ok(arrays::product(engine, keys.get()?, a, b)?)
            }),
        }
    }

    /// The product with an array in the clear.
    fn times_matrix(&self, py: Python<'_>, array: &Array<'_>) -> PyResult<Self> {
        let (own, shape) = (self.layout.shape(), array.shape());
        let last = self.layout.dims[1];
        let Some(last) = last.filter(|_| matches!(shape.len(), 1 | 2) && own.last() == shape.first()) else {
            return Err(do_not_multiply(&own, shape));
        };
        match (last, shape.len(), array.values()?) {
            // A number times the only value; by a row, NumPy's broadcasting of a column.
            (Dim::One, ..) => {
                let product = self.with_array(py, array, Op::Mul)?;
                match shape.len() {
                    1 => product.summed(py, &[Dim::One], false),
                    _ => Ok(product),
                }
            }
            (Dim::Batch, count, Values::Real(values)) => {
                let weights = columns(values, if count == 1 { 1 } else { shape[1] });
                self.combined_entries(
                    py,
                    &weights,
                    count == 1,
                    |x| x,
                    |ct| Ok(arrays::combinations(self.engine()?, ct, &weights)?),
                )
            }
            (Dim::Batch, count, Values::Signed(values)) => {
                let weights = columns(values, if count == 1 { 1 } else { shape[1] });
                self.combined_entries(
                    py,
                    &weights,
                    count == 1,
                    |x| x as f64,
                    |ct| Ok(arrays::integer_combinations(self.engine()?, ct, &weights)?),
                )
            }
            (Dim::Slots, 1, Values::Real(weights))
                if !self.layout.complex
                    && self.layout.dims == [None, Some(Dim::Slots)]
                    && !self.layout.is_first() =>
            {
                self.run(py, || {
                    let (keys, ct) = (self.switching()?, (&self.cipher, &self.layout));
                    Ok(arrays::dot_plain(self.engine()?, keys.get()?, ct, weights)?)
                })
            }
            (Dim::Slots, 1, values) => {
                // Bounds of sums with signs are closer than those of the products.
                let bounds = self.layout.bounds.map(|bounds| values.weighted(bounds));
                let product = self.with_array(py, array, Op::Mul)?;
                let product = Self { layout: product.layout.bounded(None), ..product };
                let sum = product.summed(py, &[Dim::Slots], false)?;
                Self { layout: sum.layout.bounded(bounds), ..sum }.held()
            }
            (Dim::Slots, _, Values::Real(values)) => self.run(py, || {
                let (keys, ct) = (self.switching()?, (&self.cipher, &self.layout));
                Ok(arrays::matmul(self.engine()?, keys.get()?, ct, values, shape[1])?)
            }),
            (Dim::Slots, _, Values::Signed(values)) => self.integer_columns(py, &columns(values, shape[1])),
            (_, _, Values::Complex(_) | Values::Unsigned(_)) => Err(PyTypeError::new_err(
                "products with matrices take real numbers under ckks, and integers with a sign under bfv and bgv",
            )),
        }
    }

    /// Sums of the entries of the batch with the weights of each column.
    fn combined_entries<T: Copy + Sync>(
        &self,
        py: Python<'_>,
        weights: &[Vec<T>],
        vector: bool,
        number: impl Fn(T) -> f64 + Copy + Sync + Send,
        work: impl FnOnce(&Cipher) -> crate::error::Result<Cipher> + Send,
    ) -> PyResult<Self> {
        let bounds = self.layout.bounds.and_then(|bounds| {
            let one = |column: &Vec<T>| bounds.weighted(column.iter().map(|&x| number(x)));
            weights.iter().map(one).reduce(Bounds::hull)
        });
        let layout = match vector {
            true => self.layout.reduced(Dim::Batch, false),
            false => Layout { entries: Some(weights.len()), ..self.layout },
        };
        let layout = Layout { bounds, padding: self.layout.padding.filter(|&x| x == 0.0), ..layout };
        // One entry may stand for all.
        let count = self.layout.length(Dim::Batch);
        let repeated;
        let ct = match self.physical_batch() < count {
            true => {
                let parts = vec![self; count];
                repeated = self.run(py, || Ok((batched(&parts)?, self.layout)))?;
                &repeated.cipher
            }
            false => &self.cipher,
        };
        self.run(py, || Ok((work(ct)?, layout)))
    }

    /// The product with the columns of a matrix of integers: of a column, an array over the batch;
    /// of rows, rows again.
    fn integer_columns(&self, py: Python<'_>, columns: &[Vec<i64>]) -> PyResult<Self> {
        let mut sums = Vec::new();
        for column in columns {
            py.check_signals()?;
            let slots = self.core.site.params.slots().unwrap_or(1);
            let plain = self.layout.beside(&[column.len()], slots).map_err(Fault::from)?;
            let bounds = Bounds::exact(column.iter().map(|&x| x as f64));
            let plain = Layout { bounds, ..plain };
            let layout = self.layout.combined(&plain, Op::Mul, true).map_err(Fault::from)?;
            // Bounds of sums with signs are closer than those of the products.
            let weighted = self.layout.bounds.map(|of| of.weighted(column.iter().map(|&x| x as f64)));
            let product = self.run(py, || {
                let array = (Values::Signed(column), &[column.len()][..]);
                let cipher = arrays::with_array(self.engine()?, Op::Mul, &self.cipher, &plain, array)?;
                Ok((cipher, layout.bounded(None)))
            })?;
            let sum = product.summed(py, &[Dim::Slots], false)?;
            sums.push(sum.with_layout(py, sum.layout.bounded(weighted))?);
        }
        let parts: Vec<&Self> = sums.iter().collect();
        let bounds = parts.iter().map(|part| part.layout.bounds).reduce(|a, b| Some(a?.hull(b?))).flatten();
        if self.layout.entries.is_none() {
            let axes: Vec<Dim> = self
                .layout
                .axes()
                .into_iter()
                .map(|dim| if dim == Dim::Slots { Dim::Batch } else { dim })
                .collect();
            let layout = Layout { entries: Some(parts.len()), ..parts[0].layout }.with_axes(&axes);
            return self.run(py, || Ok((batched(&parts)?, layout.bounded(bounds))));
        }
        // Each sum in its slot.
        let mut all: Option<Self> = None;
        for (at, part) in parts.iter().enumerate() {
            let mut mask = vec![0_i64; parts.len()];
            mask[at] = 1;
            let shape = [parts.len()];
            let layout = Layout { size: parts.len(), splat: false, padding: Some(0.0), ..self.layout };
            let plain = Layout::new(None, parts.len(), false, Some(0.0));
            let placed = part.run(py, || {
                let array = (Values::Signed(&mask), &shape[..]);
                let cipher = arrays::with_array(self.engine()?, Op::Mul, &part.cipher, &plain, array)?;
                Ok((cipher, layout.bounded(None)))
            })?;
            all = Some(match all {
                None => placed,
                Some(all) => all.with_cipher(py, &placed, Op::Add)?,
            });
        }
        let all = all.ok_or_else(|| PyValueError::new_err("a matrix without columns"))?;
        all.with_layout(py, all.layout.bounded(bounds))
    }

    /// A polynomial with integer coefficients of integers.
    pub fn integer_polynomial(&self, coefficients: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = coefficients.py();
        let array = Array::new(coefficients, Numbers::Exact, "coefficients")?;
        let (&[_], Values::Signed(coefficients)) = (array.shape(), array.values()?) else {
            return Err(PyTypeError::new_err("coefficients: a sequence of integers is expected"));
        };
        let plain = |x: f64| coefficients.iter().rev().fold(0.0, |sum, &c| sum * x + c as f64);
        let degree = coefficients.len().saturating_sub(1);
        let bounds = self.layout.bounds.map(|bounds| bounds.polynomial(degree, plain));
        let padding = self.layout.padding.map(plain);
        let layout = Layout { padding, bounds, ..self.layout };
        self.run(py, || {
            let (keys, engine) = (self.switching()?, self.engine()?);
            let coefficients: Vec<Number> = coefficients.iter().map(|&c| Number::Integer(c)).collect();
            Ok((engine.polynomial(self.cipher.duplicate()?, &coefficients, keys.get()?)?, layout))
        })
    }
}
