//! Texts of the native syntax in the layout that the reference engine's `fmt` gives them:
//! indentation, spaces within a line, and columns of what stands one below the other. What a text
//! means stays, and so do its comments and blank lines.

mod columns;
mod rewrite;
mod spacing;
mod token;

use crate::diag::Diagnostics;
use crate::source::FileId;
use crate::syntax::parse_file;

/// The text as it should be laid out.
///
/// Three things are also written in their usual form: labels of blocks in quotes, `"${x}"` as `x`,
/// and the types of variables without the quotes of old.
///
/// # Errors
/// Where the text cannot be parsed: what a broken text would become, nobody could undo.
pub fn format(text: &str, file: FileId) -> Result<String, Diagnostics> {
    let (body, diags) = parse_file(text, file);
    if diags.has_errors() {
        return Err(diags);
    }
    let mut tokens = rewrite::usual(token::tokens(text), &body);
    columns::lay_out(&mut tokens);
    Ok(token::written(&tokens))
}
