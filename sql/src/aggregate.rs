//! Aggregates of cells as aggregates of the engine: partial states merge, so that engines push them
//! down to where the rows are.

use crate::cells::{Cells, decode};
use crate::column::{CellType, Kind};
use crate::error::{Error, Result};
use crate::function::{AGGREGATES, Aggregate, Planned, argument};
use crate::keys::{Compute, KeySet};
use crate::resolve::{self, Resolved, is_untyped, untyped};
use crate::scalar::HeFunction;
use crate::sum::Sum;
use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, UInt64Type};
use datafusion::common::{Result as EngineResult, ScalarValue, internal_err};
use datafusion::logical_expr::expr::AggregateFunctionParams;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, Signature, Volatility, udaf_default_schema_name,
};
use he_any::{Engine, Keys, Number, Value};
use std::sync::Arc;

/// An aggregate of cells, for a key set.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct HeAggregate {
    name: &'static str,
    aggregate: Aggregate,
    set: KeySet,
    resolved: Option<Resolved>,
    signature: Signature,
}

/// The aggregate of this name, for any call or for one that was planned.
pub fn aggregate(name: &str, set: &KeySet, resolved: Option<Resolved>) -> Option<AggregateUDF> {
    let (name, aggregate) = AGGREGATES.into_iter().find(|(known, _)| *known == name)?;
    let signature = Signature::user_defined(Volatility::Immutable);
    Some(AggregateUDF::new_from_impl(HeAggregate { name, aggregate, set: set.clone(), resolved, signature }))
}

impl HeAggregate {
    /// This aggregate for a call that was planned.
    #[must_use]
    pub fn resolved(&self, resolved: Resolved) -> Self {
        let (set, signature) = (self.set.clone(), self.signature.clone());
        Self { name: self.name, aggregate: self.aggregate, set, resolved: Some(resolved), signature }
    }

    /// The bytes from which another process makes this aggregate again.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        resolve::to_bytes(&self.set, self.resolved.as_ref())
    }

    /// The aggregate that adds products as they are made, without their bytes in between, and its
    /// arguments, for sums of products of cells. The sums are the same bits.
    pub fn of_products(&self, params: &AggregateFunctionParams) -> Option<(Self, Vec<Expr>)> {
        let (Aggregate::Sum, false, [Expr::ScalarFunction(call)]) =
            (self.aggregate, params.distinct, params.args.as_slice())
        else {
            return None;
        };
        let product = call.func.inner().downcast_ref::<HeFunction>()?;
        if !product.is_product_of_cells() {
            return None;
        }
        let (name, aggregate) = AGGREGATES.into_iter().find(|(_, found)| *found == Aggregate::Dot)?;
        let (set, signature) = (self.set.clone(), self.signature.clone());
        Some((Self { name, aggregate, set, resolved: None, signature }, call.args.clone()))
    }

    /// The type that the aggregate leaves and the keys that it needs, with arguments of these
    /// fields.
    ///
    /// # Errors
    /// The errors of [`Aggregate::plan`].
    pub fn planned(&self, fields: &[FieldRef]) -> Result<Planned> {
        let args = fields.iter().map(|field| argument(self.name, &self.set, field, None));
        self.aggregate.plan(self.name, &self.set, &args.collect::<Result<Vec<_>>>()?)
    }
}

impl AggregateUDFImpl for HeAggregate {
    fn name(&self) -> &str {
        self.name
    }

    fn schema_name(&self, params: &AggregateFunctionParams) -> EngineResult<String> {
        match self.resolved.as_ref().and_then(|resolved| resolved.written.as_ref()) {
            Some(written) => Ok(written.clone()),
            None => udaf_default_schema_name(self, params),
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> EngineResult<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, _: &[DataType]) -> EngineResult<DataType> {
        internal_err!("{} has a field, and not a type alone", self.name)
    }

    fn return_field(&self, fields: &[FieldRef]) -> EngineResult<FieldRef> {
        Ok(match &self.resolved {
            Some(resolved) => resolved.field(self.name),
            // Their type is known when all others are: `resolve` plans the call.
            None if fields.iter().any(|field| is_untyped(field)) => untyped(self.name),
            None => self.planned(fields)?.cell.field(self.name),
        })
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> EngineResult<Vec<FieldRef>> {
        let field =
            |part: &str, of: DataType| Arc::new(Field::new(format!("{}[{part}]", args.name), of, true));
        Ok(vec![
            field("sum", DataType::BinaryView),
            field("squares", DataType::BinaryView),
            field("rows", DataType::UInt64),
        ])
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> EngineResult<Box<dyn Accumulator>> {
        if args.is_distinct {
            let what = format!("{} with DISTINCT", self.name);
            return Err(Error::Compared { what, column: args.name.to_owned() }.into());
        }
        let compute = Compute::of(&self.set)?;
        let needs_keys = !matches!(self.aggregate, Aggregate::Sum | Aggregate::Count | Aggregate::Mean)
            || matches!(*compute.engine, Engine::Tfhe(_));
        let keys = if needs_keys { Some(compute.keys()?) } else { None };
        let kind = match &self.resolved {
            Some(resolved) => resolved.kind,
            None => CellType::of(&args.return_field)?.map_or(Kind::Ciphertext, |cell| cell.kind),
        };
        Ok(Box::new(Totals {
            name: self.name,
            column: args.name.to_owned(),
            aggregate: self.aggregate,
            kind,
            most: self.resolved.as_ref().filter(|resolved| resolved.bounded).map(|_| self.set.rows()),
            compute,
            keys,
            sum: Sum::default(),
            squares: Sum::default(),
            rows: 0,
        }))
    }
}

/// The rows that an aggregate has seen, and their total.
#[derive(Debug)]
struct Totals {
    name: &'static str,
    /// The call, in errors.
    column: String,
    aggregate: Aggregate,
    /// The kind of the results.
    kind: Kind,
    /// The most rows of a group for which the bounds of the result hold.
    most: Option<u64>,
    compute: Arc<Compute>,
    keys: Option<Arc<Keys>>,
    sum: Sum,
    squares: Sum,
    rows: u64,
}

impl Totals {
    fn failed(&self, source: he_core::Error) -> Error {
        Error::Operation { function: self.name.to_owned(), column: self.column.clone(), source }
    }

    fn keys(&self) -> he_core::Result<&Keys> {
        self.keys.as_deref().ok_or(he_core::Error::MissingRelinKey)
    }

    fn add(&mut self, value: Value, other: Option<Value>) -> he_core::Result<()> {
        let keys = self.keys.clone();
        let (engine, keys) = (&self.compute.engine, keys.as_deref());
        match (self.aggregate, other) {
            (Aggregate::Dot, Some(other)) => {
                self.sum.add(engine, engine.mul(&value, &other, self.keys()?)?, keys)?;
            }
            (Aggregate::Variance, _) => {
                self.squares.add(engine, engine.mul(&value, &value, self.keys()?)?, keys)?;
                self.sum.add(engine, value, keys)?;
            }
            (Aggregate::Count, _) if value.is_condition() => {
                self.sum.add(engine, engine.counts(&value, self.keys()?)?, keys)?;
            }
            _ => self.sum.add(engine, value, keys)?,
        }
        self.rows += 1;
        Ok(())
    }

    fn update(&mut self, values: &[ArrayRef]) -> Result<()> {
        let columns = values.iter().map(|array| Cells::of(array)).collect::<Result<Vec<_>>>()?;
        let kind = match (self.aggregate, self.kind) {
            (Aggregate::Count, Kind::Uint) => Kind::Bool,
            (_, kind) => kind,
        };
        for row in 0..columns.first().map_or(0, Cells::len) {
            let cells: Option<Vec<&[u8]>> = columns.iter().map(|cells| cells.get(row)).collect();
            let Some(cells) = cells else { continue };
            let decode = |bytes: &&[u8]| decode(&self.compute.engine, kind, bytes);
            let mut cells = cells.iter().map(decode).collect::<Result<Vec<_>>>()?.into_iter();
            let Some(first) = cells.next() else { continue };
            self.add(first, cells.next()).map_err(|source| self.failed(source))?;
        }
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [sum, squares, rows] = states else {
            return Err(Error::Table(format!(
                "{} states of {}, where 3 are expected",
                states.len(),
                self.name
            )));
        };
        let (sums, squares) = (Cells::of(sum)?, Cells::of(squares)?);
        let rows = rows.as_primitive::<UInt64Type>();
        let keys = self.keys.clone();
        for row in 0..rows.len() {
            let engine = &self.compute.engine;
            self.sum.read(engine, self.kind, sums.get(row).unwrap_or_default(), keys.as_deref())?;
            self.squares.read(engine, self.kind, squares.get(row).unwrap_or_default(), keys.as_deref())?;
            self.rows += rows.value(row);
        }
        Ok(())
    }

    fn result(&mut self) -> he_core::Result<Option<Value>> {
        let keys = self.keys.clone();
        let (engine, keys) = (&self.compute.engine, keys.as_deref());
        let Some(sum) = self.sum.finish(engine, keys)? else { return Ok(None) };
        let part = Number::Real(1.0 / self.rows as f64);
        Ok(Some(match self.aggregate {
            Aggregate::Sum | Aggregate::Dot | Aggregate::Count => sum,
            Aggregate::Mean => engine.mul_number(&sum, part, keys)?,
            Aggregate::Variance => {
                let Some(squares) = self.squares.finish(engine, keys)? else { return Ok(None) };
                let mean = engine.mul_number(&sum, part, keys)?;
                let squares = engine.mul_number(&squares, part, keys)?;
                engine.sub(&squares, &engine.mul(&mean, &mean, self.keys()?)?, self.keys()?)?
            }
        }))
    }
}

impl Accumulator for Totals {
    fn update_batch(&mut self, values: &[ArrayRef]) -> EngineResult<()> {
        Ok(self.update(values)?)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> EngineResult<()> {
        Ok(self.merge(states)?)
    }

    fn state(&mut self) -> EngineResult<Vec<ScalarValue>> {
        let sum = self.sum.to_bytes(&self.compute.engine).map_err(|source| self.failed(source))?;
        let squares = self.squares.to_bytes(&self.compute.engine).map_err(|source| self.failed(source))?;
        Ok(vec![
            ScalarValue::BinaryView(Some(sum)),
            ScalarValue::BinaryView(Some(squares)),
            ScalarValue::UInt64(Some(self.rows)),
        ])
    }

    fn evaluate(&mut self) -> EngineResult<ScalarValue> {
        if let Some(assumed) = self.most.filter(|&most| most < self.rows) {
            let (function, column) = (self.name.to_owned(), self.column.clone());
            return Err(Error::GroupRows { function, column, found: self.rows, assumed }.into());
        }
        let result =
            self.result().and_then(|sum| sum.map(|sum| self.compute.engine.encode(&sum)).transpose());
        Ok(ScalarValue::BinaryView(result.map_err(|source| self.failed(source))?))
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.sum.size() + self.squares.size()
    }
}
