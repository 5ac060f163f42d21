//! Calls that know their types: the result of planning travels with the call.
//!
//! Plans that are sent to executors lose the metadata of the results of functions, so that a
//! function of a function could not tell cells from bytes there. Every call of a plan therefore
//! gets a function of its own, which carries the kinds of its arguments and the type of its result.
//! While the engine plans, a call may see bytes whose type an expression lost; it is planned here,
//! from the types that [`carry`] restores.

use crate::aggregate::HeAggregate;
use crate::carry;
use crate::column::{CellType, Kind, is_binary};
use crate::error::{Error, Result};
use crate::function::Planned;
use crate::keys::KeySet;
use crate::scalar::{HeFunction, carrying};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result as EngineResult, ScalarValue};
use datafusion::logical_expr::{AggregateUDF, Expr, ExprSchemable, LogicalPlan, ScalarUDF};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The result of planning a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Resolved {
    /// The kinds of the arguments, `None` of clear ones.
    pub kinds: Vec<Option<Kind>>,
    /// The metadata of the result.
    metadata: BTreeMap<String, String>,
    /// The kind of the result.
    pub kind: Kind,
    /// The greatest magnitudes that the clear arguments were assumed to have, where they matter.
    pub assumed: Vec<Option<u64>>,
    /// Whether bounds of the result are known, under the assumptions about clear numbers and
    /// groups.
    pub bounded: bool,
    /// The call that the query has in its place.
    pub written: Option<String>,
}

impl Resolved {
    /// The result of planning a call with arguments of these fields.
    ///
    /// # Errors
    /// Damaged metadata.
    pub fn new(fields: &[FieldRef], planned: &Planned) -> Result<Self> {
        let kinds = fields.iter().map(|field| Ok(CellType::of(field)?.map(|cell| cell.kind)));
        Ok(Self {
            kinds: kinds.collect::<Result<_>>()?,
            metadata: planned.cell.metadata().into_iter().collect(),
            kind: planned.cell.kind,
            assumed: Vec::new(),
            bounded: planned.cell.bounds().is_some(),
            written: None,
        })
    }

    /// The result of planning an expression that passes cells of this type through.
    pub fn carried(cell: &CellType) -> Self {
        Self {
            kinds: vec![Some(cell.kind)],
            metadata: cell.metadata().into_iter().collect(),
            kind: cell.kind,
            assumed: Vec::new(),
            bounded: cell.bounds().is_some(),
            written: None,
        }
    }

    /// The field of the result.
    pub fn field(&self, name: &str) -> FieldRef {
        let metadata = self.metadata.clone().into_iter().collect();
        Arc::new(Field::new(name, DataType::BinaryView, true).with_metadata(metadata))
    }
}

/// Whether every slot of an argument holds the total of its values.
fn holds_total(fields: &[FieldRef]) -> Result<bool> {
    let Some(field) = fields.first() else { return Ok(false) };
    let layout = CellType::of(field)?.and_then(|cell| cell.layout);
    Ok(layout.is_some_and(|layout| layout.splat && layout.entries.is_none()))
}

/// Whether a field holds bytes of an unknown type, which may be ciphertexts.
pub fn is_untyped(field: &Field) -> bool {
    is_binary(field.data_type()) && field.metadata().is_empty()
}

/// The field of results of such arguments, until they are resolved.
pub fn untyped(name: &str) -> FieldRef {
    Arc::new(Field::new(name, DataType::BinaryView, true))
}

/// The part of a function that travels: its key set, and the result of planning.
#[derive(Serialize, Deserialize)]
struct Travelling {
    set: Vec<u8>,
    resolved: Option<Resolved>,
}

/// A function's key set and plan as bytes.
///
/// # Errors
/// None in practice.
pub fn to_bytes(set: &KeySet, resolved: Option<&Resolved>) -> Result<Vec<u8>> {
    let travelling = Travelling { set: set.to_bytes()?, resolved: resolved.cloned() };
    serde_json::to_vec(&travelling).map_err(|error| Error::Table(error.to_string()))
}

/// The key set and the plan of the bytes of [`to_bytes`].
///
/// # Errors
/// The bytes are something else.
pub fn from_bytes(bytes: &[u8]) -> Result<(KeySet, Option<Resolved>)> {
    let travelling: Travelling = serde_json::from_slice(bytes)
        .map_err(|error| Error::Table(format!("a plan without the key set of its functions: {error}")))?;
    Ok((KeySet::from_bytes(&travelling.set)?, travelling.resolved))
}

/// The columns that the expressions of a node see.
pub fn inputs(node: &LogicalPlan) -> DFSchema {
    let mut schema = DFSchema::empty();
    match node.inputs().as_slice() {
        // Tables have filters of their own.
        [] => schema.merge(node.schema()),
        inputs => inputs.iter().for_each(|input| schema.merge(input.schema())),
    }
    schema
}

/// The fields of arguments.
///
/// # Errors
/// The errors of the planner.
pub fn fields(schema: &DFSchema, args: &[Expr]) -> EngineResult<Vec<FieldRef>> {
    args.iter().map(|arg| Ok(arg.to_field(schema)?.1)).collect()
}

/// The values of arguments that are constants.
pub fn literals(args: &[Expr]) -> Vec<Option<&ScalarValue>> {
    let literals = args.iter().map(|arg| match arg {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    });
    literals.collect()
}

/// The plan with calls that know their types, and with the types of cells wherever expressions and
/// nodes of the engine pass them through.
///
/// # Errors
/// The errors of planning a call; cells of several types in one place.
pub fn resolve(set: &KeySet, plan: LogicalPlan) -> EngineResult<LogicalPlan> {
    let resolved = plan.transform_up_with_subqueries(|node| {
        let schema = inputs(&node);
        let calls = node.map_expressions(|expression| {
            expression.transform_up(|expression| call(&schema, set, expression))
        })?;
        let node = match calls.data {
            LogicalPlan::Union(union) => carry::union(set, union)?,
            node => node.recompute_schema()?,
        };
        Ok(Transformed::yes(node))
    })?;
    Ok(resolved.data)
}

fn call(schema: &DFSchema, set: &KeySet, mut expression: Expr) -> EngineResult<Transformed<Expr>> {
    let changed = match &mut expression {
        Expr::ScalarFunction(call) => match call.func.inner().downcast_ref::<HeFunction>() {
            Some(own) => {
                let fields = fields(schema, &call.args)?;
                let literals = literals(&call.args);
                let planned = own.planned(&fields, &literals)?;
                if own.is_total() && holds_total(&fields)? {
                    // Every slot holds the total already.
                    let total = call.args.remove(0);
                    return Ok(Transformed::yes(carrying(set, Resolved::carried(&planned.cell), total)));
                }
                let mut resolved = Resolved::new(&fields, &planned)?;
                if resolved.bounded {
                    resolved.assumed = own.assumed(&fields, &literals)?;
                }
                let own = own.resolved(resolved);
                call.func = Arc::new(ScalarUDF::new_from_impl(own));
                true
            }
            None => false,
        },
        Expr::AggregateFunction(call) => match call.func.inner().downcast_ref::<HeAggregate>() {
            Some(own) => {
                let written = call.func.schema_name(&call.params)?;
                let fused = own.of_products(&call.params);
                let own = match &fused {
                    Some((dot, args)) => {
                        call.params.args = args.clone();
                        dot
                    }
                    None => own,
                };
                let fields = fields(schema, &call.params.args)?;
                let mut resolved = Resolved::new(&fields, &own.planned(&fields)?)?;
                resolved.written = fused.is_some().then_some(written);
                call.func = Arc::new(AggregateUDF::new_from_impl(own.resolved(resolved)));
                true
            }
            None => false,
        },
        _ => false,
    };
    if changed {
        return Ok(Transformed::yes(expression));
    }
    let (expression, changed) = carry::choice(schema, set, expression)?;
    Ok(if changed { Transformed::yes(expression) } else { Transformed::no(expression) })
}
