//! Parses templates (quoted strings, heredocs, template files) to a flat list of parts, applying
//! strip markers and heredoc indentation. `directives` then builds the tree.

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;

use super::ast::{Expr, ExprKind, TemplateOrigin};
use super::directives::Directives;
use super::parser::{Parser, normal};
use super::token::Kind;
use crate::source::Span;

/// Directives that end or divide a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    Else,
    EndIf,
    EndFor,
}

impl Control {
    pub(super) fn name(self) -> &'static str {
        match self {
            Control::Else => "else",
            Control::EndIf => "endif",
            Control::EndFor => "endfor",
        }
    }
}

pub(super) enum Part {
    Text(String, Span),
    Interp(Expr),
    If(Expr, Span),
    For {
        key: Option<Arc<str>>,
        value: Arc<str>,
        collection: Expr,
        span: Span,
    },
    Control(Control, Span),
    End(Span),
}

impl Parser<'_> {
    /// Parses a quoted string or heredoc, from its opening marker.
    pub(crate) fn quoted_template(&mut self) -> Expr {
        let open = self.read();
        let open_span = self.span(open);
        let (closer, origin) = match open.kind {
            Kind::OHeredoc => (Kind::CHeredoc, TemplateOrigin::Heredoc),
            _ => (Kind::CQuote, TemplateOrigin::Quoted),
        };
        let flush = self.bytes(open).starts_with("<<-");
        let (kind, _) = self.template_inner(closer, flush, origin);
        let span = open_span.to(self.previous());
        Expr { kind, span }
    }

    /// Parses the complete text as a template.
    pub(crate) fn whole_template(&mut self, origin: TemplateOrigin) -> Expr {
        let (kind, span) = self.template_inner(Kind::Eof, false, origin);
        Expr { kind, span }
    }

    fn template_inner(
        &mut self,
        end: Kind,
        flush: bool,
        origin: TemplateOrigin,
    ) -> (ExprKind, Span) {
        let start = self.span(self.peek());
        let (mut parts, end_span) = self.template_parts(end);
        // Indentation is counted at line starts, so it is removed before literals are joined.
        if flush {
            dedent(&mut parts);
        }
        join_literals(&mut parts);
        parts.push(Part::End(end_span));
        let span = start.to(end_span);
        // A lone interpolation keeps its type instead of becoming a string.
        if parts.len() == 2 && matches!(parts[0], Part::Interp(..)) {
            if let Some(Part::Interp(expr)) = parts.into_iter().next() {
                return (ExprKind::TemplateWrap(Box::new(expr)), span);
            }
            return (ExprKind::Error, span);
        }
        let mut directives = Directives::new(parts, self);
        let mut exprs = Vec::new();
        while directives.has_more() {
            exprs.push(directives.next());
        }
        (
            ExprKind::Template {
                parts: exprs,
                origin,
            },
            span,
        )
    }

    /// Parts up to the closing token, and that token's span.
    fn template_parts(&mut self, end: Kind) -> (Vec<Part>, Span) {
        let mut parts: Vec<Part> = Vec::new();
        let start = self.span(self.peek());
        let mut trim_left = false;
        let mut can_trim = false;
        loop {
            let token = self.read();
            let span = self.span(token);
            if token.kind == end {
                return (parts, span);
            }
            // A strip marker applies only to the literal right after its sequence.
            let trim_this = std::mem::take(&mut trim_left);
            let can_trim_this = std::mem::take(&mut can_trim);
            match token.kind {
                Kind::StringLit | Kind::QuotedLit => {
                    let text = self.unescape(token);
                    let text = if trim_this {
                        text.trim_start().to_owned()
                    } else {
                        text
                    };
                    parts.push(Part::Text(text, span));
                    can_trim = true;
                }
                Kind::TemplateInterp | Kind::TemplateControl => {
                    if can_trim_this
                        && self.bytes(token).ends_with('~')
                        && let Some(Part::Text(text, _)) = parts.last_mut()
                    {
                        text.truncate(text.trim_end().len());
                    }
                    // Inside a sequence, newlines do not end the expression.
                    self.push_newlines(false);
                    trim_left = match token.kind {
                        Kind::TemplateInterp => self.interpolation(start, end, &mut parts),
                        _ => self.directive(span, start, &mut parts),
                    };
                    self.pop_newlines();
                }
                _ => {
                    if !self.recovery {
                        self.error_within(
                            span,
                            start.to(span),
                            "Unterminated template string",
                            "No closing marker was found for the string.",
                        );
                    }
                    let last = self.recover(end);
                    return (parts, self.span(last));
                }
            }
        }
    }

    /// Reads the end of a sequence. Returns true if it strips the following whitespace.
    fn sequence_end(&mut self) -> bool {
        let close = self.read();
        self.bytes(close).starts_with('~')
    }

    fn interpolation(&mut self, start: Span, end: Kind, parts: &mut Vec<Part>) -> bool {
        let expr = self.expression();
        let close = self.peek();
        let close_span = self.span(close);
        let trim = if close.kind == Kind::TemplateSeqEnd {
            self.sequence_end()
        } else {
            if !self.recovery {
                // A quote inside a quoted template most likely ends the string around it.
                let unclosed = close.kind == Kind::Eof
                    || (matches!(close.kind, Kind::CQuote | Kind::OQuote) && end == Kind::CQuote);
                if unclosed {
                    self.error(
                        start,
                        "Unclosed template interpolation sequence",
                        "There is no closing brace for this interpolation. Check the nesting \
                        inside the expression.",
                    );
                } else {
                    self.error_within(
                        close_span,
                        start.to(close_span),
                        "Extra characters after interpolation expression",
                        "Expected a closing brace to end the interpolation, but found extra \
                        characters. If this is a sequence for another language, such as a shell, \
                        write \"$${\" instead of \"${\".",
                    );
                }
            }
            self.recover(Kind::TemplateSeqEnd);
            false
        };
        parts.push(Part::Interp(expr));
        trim
    }

    fn directive(&mut self, open: Span, start: Span, parts: &mut Vec<Part>) -> bool {
        let keyword = self.peek();
        let word_span = self.span(keyword);
        if keyword.kind != Kind::Ident {
            if !self.recovery {
                self.error_within(
                    word_span,
                    open.to(word_span),
                    "Invalid template directive",
                    "A keyword (\"if\", \"for\", …) is expected at the beginning of a %{ sequence.",
                );
            }
            self.recover(Kind::TemplateSeqEnd);
            return false;
        }
        self.read();
        let word = self.bytes(keyword).to_owned();
        let part = match word.as_str() {
            "if" => {
                let cond = self.expression();
                Part::If(cond, open.to(self.span(self.peek())))
            }
            "else" => Part::Control(Control::Else, open.to(self.span(self.peek()))),
            "endif" => Part::Control(Control::EndIf, open.to(self.span(self.peek()))),
            "endfor" => Part::Control(Control::EndFor, open.to(self.span(self.peek()))),
            "for" => match self.for_directive(open) {
                Some(part) => part,
                None => {
                    self.recover(Kind::TemplateSeqEnd);
                    return false;
                }
            },
            _ => {
                if !self.recovery {
                    self.error_within(
                        word_span,
                        open.to(word_span),
                        "Invalid template control keyword",
                        format!("\"{word}\" is not a valid template control keyword; they are if, else, endif, for and endfor."),
                    );
                }
                self.recover(Kind::TemplateSeqEnd);
                return false;
            }
        };
        parts.push(part);
        let close = self.peek();
        if close.kind == Kind::TemplateSeqEnd {
            return self.sequence_end();
        }
        if !self.recovery {
            let close_span = self.span(close);
            self.error_within(
                close_span,
                start.to(close_span),
                format!("Extra characters in {word} marker"),
                "Expected a closing brace to end the sequence, but found extra characters.",
            );
        }
        self.recover(Kind::TemplateSeqEnd);
        false
    }

    fn for_directive(&mut self, open: Span) -> Option<Part> {
        let complain = |parser: &mut Self, detail: &'static str| {
            if !parser.recovery {
                let span = parser.span(parser.peek());
                parser.error(span, "Invalid 'for' directive", detail);
            }
            None
        };
        if self.peek_kind() != Kind::Ident {
            return complain(self, "For directive requires variable name after 'for'.");
        }
        let token = self.read();
        let mut value = self.name(token);
        let mut key = None;
        if self.peek_kind() == Kind::Comma {
            self.read();
            if self.peek_kind() != Kind::Ident {
                return complain(
                    self,
                    "For directive requires value variable name after comma.",
                );
            }
            let token = self.read();
            key = Some(std::mem::replace(&mut value, self.name(token)));
        }
        if !self.is_word(self.peek(), "in") {
            return complain(self, "For directive requires 'in' keyword after names.");
        }
        self.read();
        let collection = self.expression();
        Some(Part::For {
            key,
            value,
            collection,
            span: open.to(self.span(self.peek())),
        })
    }
}

/// Removes the common indentation of a `<<-` heredoc. Blank lines are ignored; a line that starts
/// with a sequence has no indentation.
fn dedent(parts: &mut [Part]) {
    let mut at_line_start = true;
    let mut least: Option<usize> = None;
    let mut adjust = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        if std::mem::take(&mut at_line_start) {
            let spaces = match part {
                Part::Text(text, _) => {
                    let body = text.trim_start();
                    if body.is_empty() && text.ends_with('\n') {
                        None
                    } else {
                        adjust.push(index);
                        Some(text[..text.len() - body.len()].graphemes(true).count())
                    }
                }
                _ => Some(0),
            };
            least = match (least, spaces) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        if let Part::Text(text, _) = part {
            at_line_start = text.ends_with('\n');
        }
    }
    let Some(least) = least else { return };
    for index in adjust {
        if let Part::Text(text, span) = &mut parts[index] {
            let cut: usize = text.graphemes(true).take(least).map(str::len).sum();
            text.drain(..cut);
            // The removed indentation is no longer part of the literal, so its span shrinks too.
            span.start = (span.start + cut as u32).min(span.end);
        }
    }
}

/// Joins adjacent literals.
fn join_literals(parts: &mut Vec<Part>) {
    let mut out: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts.drain(..) {
        match (out.last_mut(), part) {
            (Some(Part::Text(text, span)), Part::Text(more, more_span)) => {
                text.push_str(&more);
                *span = span.to(more_span);
            }
            (_, part) => out.push(part),
        }
    }
    // Characters at the seam may combine, so the joined text is normalized again.
    for part in &mut out {
        if let Part::Text(text, _) = part {
            *text = normal(text);
        }
    }
    *parts = out;
}
