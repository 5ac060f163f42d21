//! Names and words that spreadsheets would compute: written with an apostrophe before them, and
//! read without it.

use std::borrow::Cow;

/// Whether a spreadsheet would compute a field, with or without apostrophes before it.
fn is_formula(field: &str) -> bool {
    let text = field.trim_start_matches('\'');
    // The wide forms count in East Asian versions.
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'])
        && !text.trim().parse::<f64>().is_ok_and(f64::is_finite)
}

/// A name or word as it is written: what spreadsheets would compute is text by an apostrophe before
/// it; control characters, which no table that is read may hold, are spelt out.
pub fn guarded(field: &str) -> Cow<'_, str> {
    let is_odd = |c: char| c.is_control() && !matches!(c, '\t' | '\r' | '\n');
    if field.contains(is_odd) {
        let mut text = String::with_capacity(field.len());
        for c in field.chars() {
            if is_odd(c) { text.extend(c.escape_default()) } else { text.push(c) }
        }
        return guarded(&text).into_owned().into();
    }
    if is_formula(field) { Cow::Owned(format!("'{field}")) } else { Cow::Borrowed(field) }
}

/// A name or word as it was before `guarded`.
pub fn unguarded(field: &str) -> &str {
    match field.strip_prefix('\'') {
        Some(text) if is_formula(text) => text,
        _ => field,
    }
}
