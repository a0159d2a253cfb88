//! Formats native syntax like OpenTofu's `fmt`: indentation, spaces within a line, and aligned
//! columns. Meaning, comments and blank lines stay.

mod columns;
mod rewrite;
mod spacing;
mod token;

use crate::diag::Diagnostics;
use crate::source::FileId;
use crate::syntax::parse_file;

/// Returns the formatted text.
///
/// Three outdated forms are rewritten: block labels get quotes, `"${x}"` becomes `x`, and types of
/// variables lose their quotes.
///
/// # Errors
/// The text cannot be parsed; formatting broken text could not be undone.
pub fn format(text: &str, file: FileId) -> Result<String, Diagnostics> {
    let (body, diags) = parse_file(text, file);
    if diags.has_errors() {
        return Err(diags);
    }
    let mut tokens = rewrite::modernize(token::tokens(text), &body);
    columns::set_spaces(&mut tokens);
    Ok(token::text_of(&tokens))
}
