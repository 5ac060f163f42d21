//! Calls that know their types: what was planned for a call travels with it.
//!
//! Plans that are sent to executors lose the metadata of what functions return, so that a function
//! of a function could not tell cells from bytes there. Every call of a plan therefore gets a
//! function of its own, which carries the kinds of its arguments and the type of its result.

use crate::aggregate::HeAggregate;
use crate::column::{CellType, Kind};
use crate::error::{Error, Result};
use crate::function::Planned;
use crate::keys::KeySet;
use crate::scalar::HeFunction;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result as EngineResult, ScalarValue};
use datafusion::logical_expr::{AggregateUDF, Expr, ExprSchemable, LogicalPlan, ScalarUDF};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was planned for a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Resolved {
    /// The kinds of the arguments, `None` of clear ones.
    pub kinds: Vec<Option<Kind>>,
    /// The metadata of the result.
    metadata: BTreeMap<String, String>,
    /// The kind of the result.
    pub kind: Kind,
    /// The call that the query has in its place.
    pub written: Option<String>,
}

impl Resolved {
    /// What was planned for arguments of these fields.
    ///
    /// # Errors
    /// Damaged metadata.
    pub fn new(fields: &[FieldRef], planned: &Planned) -> Result<Self> {
        let kinds = fields.iter().map(|field| Ok(CellType::of(field)?.map(|cell| cell.kind)));
        Ok(Self {
            kinds: kinds.collect::<Result<_>>()?,
            metadata: planned.cell.metadata().into_iter().collect(),
            kind: planned.cell.kind,
            written: None,
        })
    }

    /// The field of the result.
    pub fn field(&self, name: &str) -> FieldRef {
        let metadata = self.metadata.clone().into_iter().collect();
        Arc::new(Field::new(name, DataType::BinaryView, true).with_metadata(metadata))
    }
}

/// What of a function travels: its key set, and what was planned.
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

/// From [`to_bytes`].
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
/// What the planner finds.
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

/// The plan with calls that know their types.
///
/// # Errors
/// What planning a call finds.
pub fn resolve(plan: LogicalPlan) -> EngineResult<LogicalPlan> {
    let resolved = plan.transform_up_with_subqueries(|node| {
        let schema = inputs(&node);
        node.map_expressions(|expression| expression.transform_up(|expression| call(&schema, expression)))
    })?;
    Ok(resolved.data)
}

fn call(schema: &DFSchema, mut expression: Expr) -> EngineResult<Transformed<Expr>> {
    let changed = match &mut expression {
        Expr::ScalarFunction(call) => match call.func.inner().downcast_ref::<HeFunction>() {
            Some(own) => {
                let fields = fields(schema, &call.args)?;
                let planned = own.planned(&fields, &literals(&call.args))?;
                let own = own.resolved(Resolved::new(&fields, &planned)?);
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
    Ok(if changed { Transformed::yes(expression) } else { Transformed::no(expression) })
}
