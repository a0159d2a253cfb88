//! Parses native (`.tf`) and JSON (`.tf.json`) syntax into one tree without evaluating it; every
//! node keeps its span. All entry points return the parsable parts and all errors.

use cty::{Number, NumberError, Type, Value};

pub mod ast;
mod block;
mod brackets;
mod call_expr;
mod directives;
mod expression;
mod for_expr;
pub mod json;
pub(crate) mod lexer;
mod parser;
mod postfix;
mod same_expression;
pub(crate) mod strings;
mod structure;
mod template;
pub(crate) mod token;
mod traversal;
mod walk;

pub use ast::{
    BinaryOp, Call, Expr, ExprKind, ForExpr, Lookup, ObjectItem, Splat, Step, StepKind,
    TemplateOrigin, Traversal, UnaryOp,
};
pub use lexer::is_identifier;
pub use structure::{Attribute, Label, NativeBlock, NativeBody};
pub(crate) use traversal::parse_traversal_text;

use crate::diag::{Diagnostic, Diagnostics};
use crate::source::{FileId, SourceMap};
pub(crate) use lexer::{Start, scan};
use parser::Parser;
use token::Kind;

/// Maximum number of syntax errors reported for one text. More of them usually have one cause, or
/// the text is not a configuration.
const MAX_REPORTED: usize = 100;
/// Number of errors after which parsing of a body stops.
pub(crate) const MAX_ERRORS: usize = 1_000;

/// Truncates a long list of errors and adds a note about the rest.
pub(crate) fn truncate_errors(mut diags: Diagnostics) -> Diagnostics {
    if let Some(more) = diags
        .len()
        .checked_sub(MAX_REPORTED)
        .filter(|more| *more > 0)
    {
        diags.0.truncate(MAX_REPORTED);
        // Parsing stops at `MAX_ERRORS` errors, so from there on the number is only a lower bound.
        let at_least = if more + MAX_REPORTED >= MAX_ERRORS {
            "at least "
        } else {
            ""
        };
        let detail = format!(
            "This file has {at_least}{more} more syntax errors. Fix the first ones; the others \
            may disappear with them."
        );
        // The note has no place of its own and takes that of the last error shown.
        let last = diags.0.last().and_then(|d| d.subject);
        let mut last_word = Diagnostic::error("Too many errors", detail);
        last_word.subject = last;
        diags.push(last_word);
    }
    diags
}

/// Parses a file in native syntax.
pub fn parse_file(text: &str, file: FileId) -> (NativeBody, Diagnostics) {
    let mut parser = Parser::new(text, file, 0, Start::Normal, true);
    let body = parser.body(Kind::Eof);
    (body, truncate_errors(parser.diags))
}

/// Parses a text as one expression; `base` is its offset in the file.
pub fn parse_expression_at(text: &str, file: FileId, base: u32) -> (Expr, Diagnostics) {
    let mut parser = Parser::new(text, file, base, Start::Normal, false);
    let expr = parser.expression();
    let next = parser.peek();
    // In recovery, the rest of the text was skipped, so it gets no error of its own.
    if next.kind != Kind::Eof && !parser.recovery {
        let span = parser.span(next);
        parser.error(
            span,
            "Extra characters after expression",
            "An expression was successfully parsed, but extra characters were found after it.",
        );
    }
    (expr, truncate_errors(parser.diags))
}

/// Parses a text as one expression and adds it to the sources as `name`.
pub fn parse_expression(text: &str, name: &str, sources: &SourceMap) -> (Expr, Diagnostics) {
    let file = sources.add(name, text);
    parse_expression_at(text, file, 0)
}

/// Returns true if an expression is incomplete: a bracket, an interpolation or a heredoc is open.
pub fn is_incomplete(text: &str) -> bool {
    let mut open = 0_i64;
    // Quotes are not counted, because a quoted string must end on its line.
    for token in scan(text, Start::Normal) {
        open += match token.kind {
            Kind::OBrace | Kind::OBrack | Kind::OParen | Kind::OHeredoc => 1,
            Kind::TemplateInterp | Kind::TemplateControl => 1,
            Kind::CBrace | Kind::CBrack | Kind::CParen | Kind::CHeredoc => -1,
            Kind::TemplateSeqEnd => -1,
            _ => 0,
        };
    }
    open > 0
}

/// Parses a text as a template, like `templatefile`; `base` is its offset in the file.
pub fn parse_template_at(
    text: &str,
    file: FileId,
    base: u32,
    origin: TemplateOrigin,
) -> (Expr, Diagnostics) {
    let mut parser = Parser::new(text, file, base, Start::Template, false);
    let expr = parser.whole_template(origin);
    (expr, truncate_errors(parser.diags))
}

pub(crate) fn text_value(text: &str) -> Value {
    Value::string(text)
}

pub(crate) fn bool_value(value: bool) -> Value {
    Value::bool(value)
}

pub(crate) fn null_value() -> Value {
    Value::null(Type::Dynamic)
}

pub(crate) fn number_value(text: &str) -> Result<Value, NumberError> {
    Number::parse(text).map(Value::number)
}

/// Message for an invalid number literal.
pub(crate) fn number_refused(error: NumberError) -> String {
    match error {
        NumberError::OutOfRange => {
            format!("This number literal is not valid: {error}.")
        }
        _ => "This number literal is not valid.".to_owned(),
    }
}
