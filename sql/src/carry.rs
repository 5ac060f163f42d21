//! Cells that expressions of the engine pass through: CASE and COALESCE choose between cells, and
//! UNION ALL puts the cells of several tables into one column. The engine knows them as bytes then;
//! [`Function::Carry`](crate::function::Function::Carry) around such an expression has the type
//! that its cells have in common.

use crate::column::{CellType, Progress};
use crate::error::{Error, Result};
use crate::function::check;
use crate::keys::KeySet;
use crate::resolve::Resolved;
use crate::scalar::carrying;
use datafusion::arrow::datatypes::{Field, FieldRef};
use datafusion::common::{Column, DFSchema, Result as EngineResult};
use datafusion::logical_expr::{Case, Expr, ExprSchemable, LogicalPlan, Projection, Union};
use he_any::layout::Layout;
use std::sync::Arc;

/// Functions of the engine that choose one of their arguments.
pub const CHOOSING: [&str; 1] = ["coalesce"];

/// The type of cells that are those of any of these fields; `None` if none of them is encrypted.
/// Constants NULL are of every type.
///
/// # Errors
/// Some are encrypted and others are not, or they are of several schemes, parameters, key sets or
/// layouts; damaged metadata.
pub fn common(set: &KeySet, what: &str, fields: &[FieldRef]) -> Result<Option<CellType>> {
    let mut found: Option<(&str, CellType)> = None;
    let mut clear: Option<&Field> = None;
    for field in fields.iter().filter(|field| !field.data_type().is_null()) {
        match (CellType::of(field)?, &mut found) {
            (None, _) => clear = clear.or(Some(field)),
            (Some(cell), None) => found = Some((field.name(), cell)),
            (Some(cell), Some((name, so_far))) => {
                *so_far = merged(set, so_far, &cell).ok_or_else(|| Error::Type {
                    function: what.to_owned(),
                    column: field.name().clone(),
                    found: described(&cell),
                    expected: format!("the type of {name}, {}", described(so_far)),
                })?;
            }
        }
    }
    match (found, clear) {
        (Some((name, _)), Some(clear)) => Err(Error::Type {
            function: what.to_owned(),
            column: clear.name().clone(),
            found: "clear".to_owned(),
            expected: format!("a column of ciphertexts or NULL beside {name}"),
        }),
        (found, _) => Ok(found.map(|(_, cell)| cell)),
    }
}

fn described(cell: &CellType) -> String {
    let shape = cell.layout.map(|layout| format!(", shape {}", he_any::layout::shown(&layout.shape())));
    let key_set = cell.key_set.as_deref().unwrap_or("unknown");
    format!("{:?} of {}, key set {key_set}{}", cell.kind, cell.described(), shape.unwrap_or_default())
}

/// The type of cells of either type, if there is one.
fn merged(set: &KeySet, a: &CellType, b: &CellType) -> Option<CellType> {
    let known = |cell: &CellType| (cell.kind, cell.scheme.clone(), cell.params.clone(), cell.key_set.clone());
    if known(a) != known(b) {
        return None;
    }
    let layout = match (a.layout, b.layout) {
        (Some(a), Some(b)) if (a.entries, a.size, a.splat) == (b.entries, b.size, b.splat) => {
            let bounds = a.bounds.zip(b.bounds).map(|(a, b)| a.hull(b));
            Some(Layout { padding: a.padding.filter(|&padding| b.padding == Some(padding)), bounds, ..a })
        }
        (None, None) => None,
        _ => return None,
    };
    Some(CellType { layout, progress: progress(set, a, b), ..a.clone() })
}

/// The progress of the worse of two cells: that of their sum, which is no better than either.
fn progress(set: &KeySet, a: &CellType, b: &CellType) -> Option<Progress> {
    if a.progress == b.progress {
        return a.progress;
    }
    check(set, "", a).ok()?;
    let params = set.predictions();
    params.sum(&params.of(a), &params.of(b)).ok()
}

/// Expressions that choose between cells, with the type of these.
///
/// # Errors
/// The errors of [`common`].
pub fn choice(schema: &DFSchema, set: &KeySet, expression: Expr) -> EngineResult<(Expr, bool)> {
    let field = |choice: &Expr| Ok(choice.to_field(schema)?.1);
    let (what, choices): (&str, Vec<&Expr>) = match &expression {
        Expr::Case(Case { when_then_expr, else_expr, .. }) => {
            let then = when_then_expr.iter().map(|(_, then)| &**then);
            ("CASE", then.chain(else_expr.as_deref()).collect())
        }
        Expr::ScalarFunction(call) if CHOOSING.contains(&call.func.name()) => {
            (call.func.name(), call.args.iter().collect())
        }
        _ => return Ok((expression, false)),
    };
    let fields = choices.into_iter().map(field).collect::<EngineResult<Vec<_>>>()?;
    let cell = common(set, what, &fields)?;
    Ok(match cell {
        Some(cell) => (carrying(set, Resolved::carried(&cell), expression), true),
        None => (expression, false),
    })
}

/// A union whose columns have the types that the cells of its inputs have in common.
///
/// # Errors
/// The errors of [`common`].
pub fn union(set: &KeySet, union: Union) -> EngineResult<LogicalPlan> {
    let Union { inputs, schema } = union;
    let mut types = Vec::with_capacity(schema.fields().len());
    for (at, field) in schema.fields().iter().enumerate() {
        let columns = inputs.iter().filter_map(|input| input.schema().fields().get(at).cloned());
        let columns: Vec<FieldRef> = columns.collect();
        let cell = common(set, &format!("UNION of {}", field.name()), &columns)?;
        let alike = columns
            .iter()
            .all(|column| Some(column.metadata()) == cell.as_ref().map(CellType::metadata).as_ref());
        types.push(cell.map(|cell| (cell, alike)));
    }
    if types.iter().all(Option::is_none) {
        return Ok(LogicalPlan::Union(Union { inputs, schema }));
    }
    let wrapped = inputs.into_iter().map(|input| {
        if types.iter().flatten().all(|(_, alike)| *alike) {
            return Ok(input);
        }
        let columns = input.schema().iter().zip(&types).map(|((relation, field), of)| {
            let column = Expr::Column(Column::new(relation.cloned(), field.name()));
            match of {
                Some((cell, _)) => carrying(set, Resolved::carried(cell), column)
                    .alias_qualified(relation.cloned(), field.name()),
                None => column,
            }
        });
        let columns = columns.collect();
        Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(columns, input)?)))
    });
    let inputs = wrapped.collect::<EngineResult<Vec<_>>>()?;
    let fields = schema.iter().zip(&types).map(|((relation, field), of)| {
        let field = match of {
            Some((cell, _)) => cell.field(field.name()),
            None => Arc::clone(field),
        };
        (relation.cloned(), field)
    });
    let schema = DFSchema::new_with_metadata(fields.collect(), schema.metadata().clone())?;
    Ok(LogicalPlan::Union(Union { inputs, schema: Arc::new(schema) }))
}
