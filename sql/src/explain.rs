//! The report of a plan: keys, depth and predicted noise.

use crate::aggregate::HeAggregate;
use crate::column::CellType;
use crate::error::Result;
use crate::function::Planned;
use crate::keys::{KeySet, named};
use crate::resolve::{fields, inputs, literals};
use crate::scalar::HeFunction;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};
use he_any::layout::figure;
use he_core::rlwe::KeyRequirements;
use std::fmt::Write;

/// A call of a function of cells.
struct Call {
    text: String,
    planned: Planned,
}

/// The calls of a plan, those of the innermost first.
fn calls(plan: &LogicalPlan) -> Result<Vec<Call>> {
    let mut found: Vec<Call> = Vec::new();
    let mut failed = Ok(());
    plan.apply_with_subqueries(|node| {
        let schema = inputs(node);
        let mut here = Vec::new();
        node.apply_expressions(|expression| {
            expression.apply(|expression| {
                match call(&schema, expression) {
                    Ok(Some(call)) => here.push(call),
                    Ok(None) => {}
                    Err(error) => failed = Err(error),
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        // Outer nodes and outer calls come first.
        found.extend(here);
        Ok(TreeNodeRecursion::Continue)
    })?;
    failed?;
    found.reverse();
    Ok(found)
}

fn call(schema: &DFSchema, expression: &Expr) -> Result<Option<Call>> {
    let planned = match expression {
        Expr::ScalarFunction(call) => match call.func.inner().downcast_ref::<HeFunction>() {
            Some(own) => own.planned(&fields(schema, &call.args)?, &literals(&call.args))?,
            None => return Ok(None),
        },
        Expr::AggregateFunction(call) => match call.func.inner().downcast_ref::<HeAggregate>() {
            Some(own) => own.planned(&fields(schema, &call.params.args)?)?,
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(Some(Call { text: expression.to_string(), planned }))
}

/// A report of a plan: each call with the keys that it needs, and with depth, level and noise of
/// its results; then the encrypted columns of the answer.
///
/// # Errors
/// The errors of the planner.
pub fn explain(plan: &LogicalPlan, set: &KeySet) -> Result<String> {
    let mut text = format!(
        "key set {} of {}, groups of at most {} rows\n",
        set.key_set().unwrap_or("unknown"),
        set.params().scheme(),
        set.rows()
    );
    let mut needs = KeyRequirements::new();
    let mut line = |name: &str, cell: &CellType, keys: Option<&KeyRequirements>| {
        let _ = write!(text, "  {name}: {}", left(set, cell));
        if let Some(keys) = keys {
            let _ = write!(text, ", keys: {}", named(keys));
        }
        text.push('\n');
    };
    for call in calls(plan)? {
        needs = needs.union(&call.planned.needs);
        line(&call.text, &call.planned.cell, Some(&call.planned.needs));
    }
    let mut answer = Vec::new();
    for field in plan.schema().fields() {
        if let Some(cell) = CellType::of(field)? {
            answer.push((field.name().clone(), cell));
        }
    }
    let _ = writeln!(text, "keys of the query: {}", named(&needs));
    let _ = writeln!(text, "encrypted columns of the answer:");
    for (name, cell) in answer {
        let _ = writeln!(text, "  {name}: {}", left(set, &cell));
    }
    Ok(text)
}

/// The depth, level, noise and bounds of a column, in words.
fn left(set: &KeySet, cell: &CellType) -> String {
    let params = set.predictions();
    if cell.layout.is_none() {
        return "any depth".to_owned();
    }
    let progress = params.of(cell);
    let level = format!("depth {}, level {} of {}", progress.depth, progress.level, params.fresh().level);
    let values = match cell.bounds() {
        Some(bounds) => format!("values from {} to {}", figure(bounds.low), figure(bounds.high)),
        None => "values without known bounds".to_owned(),
    };
    match (params.budget(&progress), progress.noise) {
        (Some(budget), Some(noise)) => {
            format!("{level}, noise 2^{:.1}, {budget:.1} bits left, {values}", noise.rms_log2)
        }
        (Some(budget), None) => format!("{level}, fresh, {budget:.1} bits left, {values}"),
        _ => format!("{level}, {values}"),
    }
}
