//! The rules for ciphertexts in a plan besides the functions: they are carried, counted and tested
//! for NULL, and CASE and COALESCE choose between them. Whatever would compare their bytes is
//! refused, since equal numbers have different ciphertexts and the answer would mean nothing; so is
//! an expression that would lose their type.

use crate::aggregate::HeAggregate;
use crate::carry::CHOOSING;
use crate::column::CellType;
use crate::error::{Error, Result};
use crate::resolve::inputs;
use crate::scalar::HeFunction;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Distinct, Expr, ExprSchemable, LogicalPlan};

/// Aggregates of the engine that carry or count cells, without looking at them.
const CARRYING: [&str; 4] = ["count", "first_value", "last_value", "any_value"];

/// Checks every expression of a plan.
///
/// # Errors
/// [`Error::Compared`] for the first one that compares ciphertexts, by the name of the column.
pub fn check(plan: &LogicalPlan) -> Result<()> {
    let mut found = Ok(());
    plan.apply_with_subqueries(|node| {
        found = check_node(node);
        Ok(if found.is_ok() { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    found
}

fn compared(what: &str, column: impl ToString) -> Error {
    Error::Compared { what: what.to_owned(), column: column.to_string() }
}

fn lost(what: &str, column: impl ToString) -> Error {
    Error::Lost { what: what.to_owned(), column: column.to_string() }
}

fn check_node(node: &LogicalPlan) -> Result<()> {
    let schema = inputs(node);
    let refuse = |what: &str, expressions: &[Expr]| match encrypted(&schema, expressions)? {
        Some(column) => Err(compared(what, column)),
        None => Ok(()),
    };
    match node {
        LogicalPlan::Aggregate(aggregate) => refuse("GROUP BY", &aggregate.group_expr)?,
        LogicalPlan::Sort(sort) => {
            refuse("ORDER BY", &sort.expr.iter().map(|sort| sort.expr.clone()).collect::<Vec<_>>())?;
        }
        LogicalPlan::Join(join) => {
            let sides = join.on.iter().flat_map(|(left, right)| [left.clone(), right.clone()]);
            refuse("JOIN ON", &sides.collect::<Vec<_>>())?;
        }
        LogicalPlan::Distinct(Distinct::All(input)) => {
            if let Some(column) = cells(input.schema())?.first() {
                return Err(compared("DISTINCT", column));
            }
        }
        LogicalPlan::Distinct(Distinct::On(distinct)) => refuse("DISTINCT ON", &distinct.on_expr)?,
        // Every round would change the type of the cells.
        LogicalPlan::RecursiveQuery(query) => {
            if let Some(column) = cells(query.static_term.schema())?.first() {
                return Err(lost("WITH RECURSIVE", column));
            }
        }
        _ => {}
    }
    let mut found = Ok(());
    node.apply_expressions(|expression| {
        expression.apply(|expression| {
            found = check_expression(&schema, expression);
            Ok(if found.is_ok() { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
        })
    })?;
    found
}

fn check_expression(schema: &DFSchema, expression: &Expr) -> Result<()> {
    let what = match expression {
        Expr::Column(_)
        | Expr::OuterReferenceColumn(..)
        | Expr::Alias(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::ScalarSubquery(_)
        | Expr::Exists(_) => return Ok(()),
        Expr::ScalarFunction(call) if call.func.inner().is::<HeFunction>() => return Ok(()),
        Expr::AggregateFunction(call) => {
            let order: Vec<Expr> = call.params.order_by.iter().map(|sort| sort.expr.clone()).collect();
            if let Some(column) = encrypted(schema, &order)? {
                return Err(compared("ORDER BY", column));
            }
            let own = call.func.inner().is::<HeAggregate>();
            match (call.params.distinct, own || CARRYING.contains(&call.func.name())) {
                (false, true) => return Ok(()),
                (true, _) => format!("{} with DISTINCT", call.func.name()),
                (false, false) => call.func.name().to_owned(),
            }
        }
        Expr::Case(case) => {
            let compared: Vec<Expr> = case.expr.iter().map(|expression| (**expression).clone()).collect();
            if let Some(column) = encrypted(schema, &compared)? {
                return Err(Error::Compared { what: "CASE".to_owned(), column });
            }
            let conditions: Vec<Expr> =
                case.when_then_expr.iter().map(|(when, _)| (**when).clone()).collect();
            return match encrypted(schema, &conditions)? {
                Some(column) => Err(Error::Type {
                    function: "CASE".to_owned(),
                    column,
                    found: "an encrypted condition".to_owned(),
                    expected: "a clear one (he_if chooses by encrypted ones)".to_owned(),
                }),
                None => Ok(()),
            };
        }
        Expr::ScalarFunction(call) if CHOOSING.contains(&call.func.name()) => return Ok(()),
        Expr::WindowFunction(call) => {
            let compares =
                call.params.partition_by.iter().chain(call.params.order_by.iter().map(|sort| &sort.expr));
            if let Some(column) = encrypted(schema, &compares.cloned().collect::<Vec<_>>())? {
                return Err(compared("OVER", column));
            }
            call.fun.name().to_owned()
        }
        Expr::BinaryExpr(binary) => binary.op.to_string(),
        Expr::ScalarFunction(call) => call.func.name().to_owned(),
        Expr::InList(_) => "IN".to_owned(),
        Expr::Between(_) => "BETWEEN".to_owned(),
        other => other.variant_name().to_owned(),
    };
    let mut operands = Vec::new();
    expression.apply_children(|child| {
        operands.push(child.clone());
        Ok(TreeNodeRecursion::Continue)
    })?;
    let passes = matches!(
        expression,
        Expr::WindowFunction(_)
            | Expr::ScalarFunction(_)
            | Expr::Cast(_)
            | Expr::TryCast(_)
            | Expr::Unnest(_)
    );
    match encrypted(schema, &operands)? {
        Some(column) if passes => Err(lost(&what, column)),
        Some(column) => Err(compared(&what, column)),
        None => Ok(()),
    }
}

/// The name of the first of these expressions that is encrypted.
fn encrypted(schema: &DFSchema, expressions: &[Expr]) -> Result<Option<String>> {
    for expression in expressions {
        // Constants, wildcards and the like have no field here, and are clear.
        let Ok((_, field)) = expression.to_field(schema) else { continue };
        if CellType::of(&field)?.is_some() {
            return Ok(Some(expression.to_string()));
        }
    }
    Ok(None)
}

/// The names of the encrypted columns of a schema.
pub fn cells(schema: &DFSchema) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for field in schema.fields() {
        if CellType::of(field)?.is_some() {
            names.push(field.name().clone());
        }
    }
    Ok(names)
}
