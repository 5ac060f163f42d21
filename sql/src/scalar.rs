//! Functions of cells as functions of the engine.

use crate::cells::{Cells, decode, numbers};
use crate::column::{CellType, Kind};
use crate::error::{Error, Result};
use crate::function::{CARRY, FUNCTIONS, Function, Operand, Planned, argument};
use crate::keys::{Compute, KeySet};
use crate::resolve::{self, Resolved, is_untyped, untyped};
use datafusion::arrow::array::BinaryViewBuilder;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result as EngineResult, ScalarValue, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use he_any::{Number, reals};
use std::sync::Arc;

/// A function of cells, for a key set.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct HeFunction {
    name: &'static str,
    function: Function,
    set: KeySet,
    resolved: Option<Resolved>,
    signature: Signature,
}

/// The function of this name, for any call or for one that was planned.
pub fn function(name: &str, set: &KeySet, resolved: Option<Resolved>) -> Option<ScalarUDF> {
    let (name, function) = FUNCTIONS.into_iter().chain([CARRY]).find(|(known, _)| *known == name)?;
    let signature = Signature::user_defined(Volatility::Immutable);
    Some(ScalarUDF::new_from_impl(HeFunction { name, function, set: set.clone(), resolved, signature }))
}

/// An expression whose cells are of a type that was planned.
pub fn carrying(set: &KeySet, resolved: Resolved, expression: Expr) -> Expr {
    let ((name, function), signature) = (CARRY, Signature::user_defined(Volatility::Immutable));
    let own = HeFunction { name, function, set: set.clone(), resolved: Some(resolved), signature };
    ScalarUDF::new_from_impl(own).call(vec![expression])
}

impl HeFunction {
    /// This function for a call that was planned.
    #[must_use]
    pub fn resolved(&self, resolved: Resolved) -> Self {
        let (set, signature) = (self.set.clone(), self.signature.clone());
        Self { name: self.name, function: self.function, set, resolved: Some(resolved), signature }
    }

    /// The bytes from which another process makes this function again.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        resolve::to_bytes(&self.set, self.resolved.as_ref())
    }

    /// Whether a call that was planned is the product of two cells.
    pub fn is_product_of_cells(&self) -> bool {
        let cells = |resolved: &Resolved| resolved.kinds.iter().all(Option::is_some);
        self.function == Function::Mul && self.resolved.as_ref().is_some_and(cells)
    }

    /// Whether it is the sum of the values of a cell.
    pub fn is_total(&self) -> bool {
        self.function == Function::Total
    }

    /// The greatest magnitudes that its clear arguments are assumed to have.
    ///
    /// # Errors
    /// Arguments that no function takes.
    pub fn assumed(
        &self,
        fields: &[FieldRef],
        literals: &[Option<&ScalarValue>],
    ) -> Result<Vec<Option<u64>>> {
        let args = fields.iter().zip(literals);
        args.map(|(field, literal)| Ok(argument(self.name, &self.set, field, *literal)?.assumed())).collect()
    }

    /// The kinds of the arguments of a call.
    fn kinds(&self, fields: &[FieldRef]) -> Result<Vec<Option<Kind>>> {
        match &self.resolved {
            Some(resolved) => Ok(resolved.kinds.clone()),
            None => fields.iter().map(|field| Ok(CellType::of(field)?.map(|cell| cell.kind))).collect(),
        }
    }

    /// The type that the function leaves and the keys that it needs, with arguments of these
    /// fields.
    ///
    /// # Errors
    /// The errors of [`Function::plan`].
    pub fn planned(&self, fields: &[FieldRef], literals: &[Option<&ScalarValue>]) -> Result<Planned> {
        let literals = literals.iter().copied().chain(std::iter::repeat(None));
        let args = fields.iter().zip(literals);
        let args = args.map(|(field, literal)| argument(self.name, &self.set, field, literal));
        self.function.plan(self.name, &self.set, &args.collect::<Result<Vec<_>>>()?)
    }

    /// Refuses clear numbers beyond those that the bounds of the result assume.
    fn check_clear(&self, at: usize, numbers: &[Option<Number>]) -> Result<()> {
        let assumed = self.resolved.as_ref().and_then(|resolved| resolved.assumed.get(at).copied().flatten());
        let Some(assumed) = assumed else { return Ok(()) };
        let found = reals(&numbers.iter().copied().flatten().collect::<Vec<_>>());
        match found.into_iter().find(|number| number.abs() > assumed as f64) {
            Some(found) => Err(Error::ClearNumber { function: self.name.to_owned(), found, assumed }),
            None => Ok(()),
        }
    }

    fn computed(&self, args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let (Function::Carry, [cells]) = (self.function, args.args.as_slice()) {
            return Ok(cells.cast_to(&DataType::BinaryView, None)?);
        }
        let compute = Compute::of(&self.set)?;
        let keys = compute.keys()?;
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        enum Column<'a> {
            Cells(Kind, Cells<'a>),
            Numbers(Vec<Option<Number>>),
        }
        let columns =
            arrays.iter().zip(self.kinds(&args.arg_fields)?).enumerate().map(|(at, (array, kind))| {
                Ok(match kind {
                    Some(kind) => Column::Cells(kind, Cells::of(array)?),
                    None => {
                        let numbers = numbers(array, compute.engine.ckks().is_some())?;
                        self.check_clear(at, &numbers)?;
                        Column::Numbers(numbers)
                    }
                })
            });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let mut out = BinaryViewBuilder::with_capacity(args.number_rows).with_fixed_block_size(8 << 20);
        for row in 0..args.number_rows {
            let operands = columns.iter().map(|column| {
                Ok(match column {
                    Column::Cells(kind, cells) => match cells.get(row) {
                        Some(bytes) => Some(Operand::Cell(Box::new(decode(&compute.engine, *kind, bytes)?))),
                        None => None,
                    },
                    Column::Numbers(numbers) => numbers[row].map(Operand::Number),
                })
            });
            match operands.collect::<Result<Option<Vec<_>>>>()? {
                Some(operands) => {
                    let made = self.function.compute(&compute.engine, &keys, operands);
                    let made = made.and_then(|made| compute.engine.encode(&made));
                    out.append_value(made.map_err(|source| self.failed(args, source))?);
                }
                None => out.append_null(),
            }
        }
        Ok(ColumnarValue::Array(Arc::new(out.finish())))
    }

    fn failed(&self, args: &ScalarFunctionArgs, source: he_core::Error) -> Error {
        let columns: Vec<&str> = args.arg_fields.iter().map(|field| field.name().as_str()).collect();
        Error::Operation { function: self.name.to_owned(), column: columns.join(" and "), source }
    }
}

impl ScalarUDFImpl for HeFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn schema_name(&self, args: &[Expr]) -> EngineResult<String> {
        match (self.function, args) {
            (Function::Carry, [carried]) => Ok(carried.schema_name().to_string()),
            _ => {
                let args = args.iter().map(|arg| arg.schema_name().to_string()).collect::<Vec<_>>();
                Ok(format!("{}({})", self.name, args.join(",")))
            }
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

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> EngineResult<FieldRef> {
        Ok(match &self.resolved {
            Some(resolved) => resolved.field(self.name),
            // Their type is known when all others are: `resolve` plans the call.
            None if args.arg_fields.iter().any(|field| is_untyped(field)) => untyped(self.name),
            None => self.planned(args.arg_fields, args.scalar_arguments)?.cell.field(self.name),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> EngineResult<ColumnarValue> {
        Ok(self.computed(&args)?)
    }
}
