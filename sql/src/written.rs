//! The parts of a query's text that planning needs: the names of columns as they are written, and
//! the numbers.

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    self, Expr, Ident, Query, SelectItem, SetExpr, Value, ValueWithSpan, Visit, Visitor,
};
use std::ops::ControlFlow;

/// Names the columns of an answer as the query writes them: `he_sum(price)`, where the engine would
/// add the name of the table to that of the column.
pub fn name_columns(statement: &mut Statement) {
    match statement {
        Statement::Statement(statement) => {
            if let ast::Statement::Query(query) = &mut **statement {
                name_columns_of(query);
            }
        }
        Statement::Explain(explain) => name_columns(&mut explain.statement),
        _ => {}
    }
}

fn name_columns_of(query: &mut Query) {
    let mut body = &mut *query.body;
    loop {
        body = match body {
            // The columns of a union have the names of its first part.
            SetExpr::SetOperation { left, .. } => left,
            SetExpr::Query(query) => &mut query.body,
            SetExpr::Select(select) => {
                select.projection.iter_mut().for_each(name);
                return;
            }
            _ => return,
        }
    }
}

fn name(item: &mut SelectItem) {
    let SelectItem::UnnamedExpr(expr) = item else { return };
    // Columns have names, and an expression that unfolds has several.
    let has_one = match expr {
        Expr::Function(call) => !call.name.to_string().eq_ignore_ascii_case("unnest"),
        Expr::Case { .. } | Expr::BinaryOp { .. } | Expr::UnaryOp { .. } | Expr::Cast { .. } => true,
        _ => false,
    };
    if has_one {
        let alias = Ident::with_quote('"', expr.to_string());
        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
    }
}

/// The magnitudes of the numbers in a query, rounded up.
pub fn numbers(statement: &Statement) -> Vec<u64> {
    struct Numbers(Vec<u64>);

    impl Visitor for Numbers {
        type Break = ();

        fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
            if let Value::Number(text, _) = &value.value
                && let Ok(number) = text.parse::<f64>()
            {
                // The cast saturates.
                self.0.push(number.abs().ceil() as u64);
            }
            ControlFlow::Continue(())
        }
    }

    let mut found = Numbers(Vec::new());
    let mut statement = statement;
    while let Statement::Explain(explain) = statement {
        statement = &explain.statement;
    }
    if let Statement::Statement(statement) = statement {
        let _ = statement.visit(&mut found);
    }
    found.0
}
