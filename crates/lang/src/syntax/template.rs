//! Templates: quoted strings, heredocs and bare texts. First into a flat list of parts with strip markers and
//! heredoc indentation applied, then the directives into a tree.

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;

use super::ast::{Expr, ExprKind, ForExpr, MAX_DEPTH, TemplateOrigin};
use super::parser::{Parser, normal};
use super::token::{Kind, Token};
use crate::source::Span;

/// Which directive ends or divides a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Control {
    Else,
    EndIf,
    EndFor,
}

impl Control {
    fn name(self) -> &'static str {
        match self {
            Control::Else => "else",
            Control::EndIf => "endif",
            Control::EndFor => "endfor",
        }
    }
}

enum Part {
    Text(String, Span),
    Interp(Expr),
    If(Expr, Span),
    For { key: Option<Arc<str>>, value: Arc<str>, collection: Expr, span: Span },
    Control(Control, Span),
    End(Span),
}

impl Parser<'_> {
    /// A quoted string or heredoc, from its opening marker.
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

    /// The whole text as a template.
    pub(crate) fn whole_template(&mut self, origin: TemplateOrigin) -> Expr {
        let (kind, span) = self.template_inner(Kind::Eof, false, origin);
        Expr { kind, span }
    }

    fn template_inner(&mut self, end: Kind, flush: bool, origin: TemplateOrigin) -> (ExprKind, Span) {
        let start = self.span(self.peek());
        let (mut parts, end_span) = self.template_parts(end);
        if flush {
            dedent(&mut parts);
        }
        meld(&mut parts);
        parts.push(Part::End(end_span));
        let span = start.to(end_span);
        if parts.len() == 2 && matches!(parts[0], Part::Interp(..)) {
            if let Some(Part::Interp(expr)) = parts.into_iter().next() {
                return (ExprKind::TemplateWrap(Box::new(expr)), span);
            }
            return (ExprKind::Error, span);
        }
        let mut directives = Directives { parts: parts.into_iter().peekable(), depth: self.depth, parser: self };
        let mut exprs = Vec::new();
        while directives.parts.peek().is_some_and(|p| !matches!(p, Part::End(_))) {
            exprs.push(directives.next());
        }
        (ExprKind::Template { parts: exprs, origin }, span)
    }

    /// The parts up to the closing token, and that token's span.
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
            let trim_this = std::mem::take(&mut trim_left);
            let can_trim_this = std::mem::take(&mut can_trim);
            match token.kind {
                Kind::StringLit | Kind::QuotedLit => {
                    let text = self.unescape(token);
                    let text = if trim_this { text.trim_start().to_owned() } else { text };
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

    /// Reads the end of a sequence; answers whether it strips what follows.
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
                let unclosed = close.kind == Kind::Eof || (matches!(close.kind, Kind::CQuote | Kind::OQuote) && end == Kind::CQuote);
                if unclosed {
                    self.error(
                        start,
                        "Unclosed template interpolation sequence",
                        "There is no closing brace for this interpolation. The expression inside may be nested wrongly.",
                    );
                } else {
                    self.error_within(
                        close_span,
                        start.to(close_span),
                        "Extra characters after interpolation expression",
                        "Expected a closing brace to end the interpolation, but found extra characters. \
                         If this is a sequence of another language (a shell, say), write \"$${\" instead of \"${\".",
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
        let complain = |parser: &mut Self, detail: &str| {
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
                return complain(self, "For directive requires value variable name after comma.");
            }
            let token = self.read();
            key = Some(std::mem::replace(&mut value, self.name(token)));
        }
        if !self.is_word(self.peek(), "in") {
            return complain(self, "For directive requires 'in' keyword after names.");
        }
        self.read();
        let collection = self.expression();
        Some(Part::For { key, value, collection, span: open.to(self.span(self.peek())) })
    }

    /// The text of a literal token with its escapes resolved.
    pub(crate) fn unescape(&mut self, token: Token) -> String {
        let raw = self.bytes(token);
        if raw == "$${" || raw == "%%{" {
            return raw[1..].to_owned();
        }
        if token.kind == Kind::StringLit || !raw.contains('\\') {
            return normal(raw);
        }
        let span = self.span(token);
        let mut out = String::with_capacity(raw.len());
        let mut at = 0;
        while let Some(found) = raw[at..].find('\\') {
            out.push_str(&raw[at..at + found]);
            at += found;
            let rest = &raw[at + 1..];
            let Some(selector) = rest.chars().next() else {
                self.bad_escape(span, at, 1, "Backslash must be followed by an escape sequence selector character.");
                at += 1;
                break;
            };
            at += 1 + selector.len_utf8();
            match selector {
                'n' => out.push('\n'),
                'r' => out.push('\r'),
                't' => out.push('\t'),
                '"' => out.push('"'),
                '\\' => out.push('\\'),
                'u' | 'U' => {
                    let want = if selector == 'u' { 4 } else { 8 };
                    let digits = raw[at..].bytes().take(want).take_while(u8::is_ascii_hexdigit).count();
                    let hex = &raw[at..at + digits];
                    let decoded = u32::from_str_radix(hex, 16).ok().filter(|_| digits == want).map(char::from_u32);
                    match decoded {
                        Some(Some(c)) => out.push(c),
                        Some(None) => self.bad_escape(span, at - 2, 2 + digits, "This is no character of Unicode."),
                        None if want == 4 => {
                            self.bad_escape(
                                span,
                                at - 2,
                                2 + digits,
                                "The \\u escape sequence must be followed by four hexadecimal digits.",
                            );
                        }
                        None => {
                            self.bad_escape(
                                span,
                                at - 2,
                                2 + digits,
                                "The \\U escape sequence must be followed by eight hexadecimal digits.",
                            );
                        }
                    }
                    at += digits;
                }
                other => {
                    let detail = format!("The symbol \"{other}\" is not a valid escape sequence selector.");
                    self.bad_escape(span, at - 1 - other.len_utf8(), 1 + other.len_utf8(), &detail);
                    out.push(other);
                }
            }
        }
        out.push_str(&raw[at..]);
        normal(&out)
    }

    fn bad_escape(&mut self, token: Span, at: usize, len: usize, detail: &str) {
        let span = Span { file: token.file, start: token.start + at as u32, end: token.start + (at + len) as u32 };
        self.error(span, "Invalid escape sequence", detail);
    }

    /// A quoted string that may hold no template sequences (a block label), from its opening quote.
    pub(crate) fn quoted_literal(&mut self) -> (String, Span) {
        let open = self.read();
        let open_span = self.span(open);
        let mut text = String::new();
        loop {
            let token = self.read();
            let span = self.span(token);
            match token.kind {
                Kind::CQuote => return (normal(&text), open_span.to(span)),
                Kind::QuotedLit => text.push_str(&self.unescape(token)),
                Kind::TemplateInterp | Kind::TemplateControl => {
                    let sigil = if token.kind == Kind::TemplateControl { '%' } else { '$' };
                    self.error_within(
                        span,
                        open_span.to(span),
                        "Invalid string literal",
                        format!("Template sequences are not allowed in this string. To write a literal \"{sigil}\", double it (\"{sigil}{sigil}\")."),
                    );
                    text.push(sigil);
                    text.push_str("{ ... }");
                    self.recover(Kind::TemplateSeqEnd);
                }
                Kind::Eof => {
                    self.error_within(
                        span,
                        open_span.to(span),
                        "Unterminated string literal",
                        "There is no closing quote before the end of the file.",
                    );
                    return (text, open_span.to(span));
                }
                _ => {
                    self.error_within(span, open_span.to(span), "Invalid string literal", "This item is not valid in a string literal.");
                    self.recover(Kind::CQuote);
                    return (text, open_span.to(span));
                }
            }
        }
    }
}

/// Removes the common indentation of the lines of a `<<-` heredoc. Lines that are blank do not count; a line that
/// starts with a sequence counts as not indented.
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
            span.start = (span.start + cut as u32).min(span.end);
        }
    }
}

/// Joins neighbouring texts.
fn meld(parts: &mut Vec<Part>) {
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
    for part in &mut out {
        if let Part::Text(text, _) = part {
            *text = normal(text);
        }
    }
    *parts = out;
}

/// The second pass: directives into a tree.
struct Directives<'p, 'a> {
    parts: std::iter::Peekable<std::vec::IntoIter<Part>>,
    depth: usize,
    parser: &'p mut Parser<'a>,
}

/// How the parts inside a directive ended.
enum Ended {
    By(Control, Span),
    Early(Span),
}

impl Directives<'_, '_> {
    fn next(&mut self) -> Expr {
        match self.parts.next() {
            Some(Part::Text(text, span)) => Expr { kind: ExprKind::Literal(super::text_value(&text)), span },
            Some(Part::Interp(expr)) => expr,
            Some(Part::If(cond, span)) => self.deeper(span, |d| d.conditional(cond, span)),
            Some(Part::For { key, value, collection, span }) => self.deeper(span, |d| d.repetition(key, value, collection, span)),
            Some(Part::Control(control, span)) => {
                self.parser.error(
                    span,
                    format!("Unexpected {} directive", control.name()),
                    "The control directives within this template are unbalanced.",
                );
                self.parser.placeholder(span)
            }
            Some(Part::End(span)) => {
                self.parts = vec![Part::End(span)].into_iter().peekable();
                self.parser.error(span, "Unexpected end of template", "The control directives within this template are unbalanced.");
                self.parser.placeholder(span)
            }
            None => Expr { kind: ExprKind::Error, span: self.parser.previous() },
        }
    }

    fn deeper(&mut self, span: Span, parse: impl FnOnce(&mut Self) -> Expr) -> Expr {
        if self.depth >= MAX_DEPTH {
            self.parser.error(
                span,
                "Template nested too deeply",
                format!("Directives may be nested in each other at most {MAX_DEPTH} deep."),
            );
            while self.parts.peek().is_some_and(|p| !matches!(p, Part::End(_))) {
                self.parts.next();
            }
            return self.parser.placeholder(span);
        }
        self.depth += 1;
        let expr = parse(self);
        self.depth -= 1;
        expr
    }

    /// Parts up to the next dividing or ending directive.
    fn until_control(&mut self, out: &mut Vec<Expr>) -> Ended {
        loop {
            match self.parts.peek() {
                Some(Part::Control(control, span)) => {
                    let ended = Ended::By(*control, *span);
                    self.parts.next();
                    return ended;
                }
                Some(Part::End(span)) => return Ended::Early(*span),
                Some(_) => {
                    let expr = self.next();
                    out.push(expr);
                }
                None => return Ended::Early(self.parser.previous()),
            }
        }
    }

    fn conditional(&mut self, cond: Expr, open: Span) -> Expr {
        let (mut then, mut other) = (Vec::new(), Vec::new());
        let mut ended = self.until_control(&mut then);
        if matches!(ended, Ended::By(Control::Else, _)) {
            ended = self.until_control(&mut other);
            if let Ended::By(Control::Else, span) = ended {
                self.parser.error(span, "Unexpected else directive", "This if directive already has its else.");
                return self.parser.placeholder(span);
            }
        }
        match ended {
            Ended::By(Control::EndIf, close) => {
                let then = body(then, open.at_end());
                let other = body(other, close.at_start());
                Expr {
                    kind: ExprKind::Conditional { cond: Box::new(cond), then: Box::new(then), other: Box::new(other) },
                    span: open.to(close),
                }
            }
            ended => self.unbalanced(ended, "endif", "if"),
        }
    }

    fn repetition(&mut self, key_var: Option<Arc<str>>, value_var: Arc<str>, collection: Expr, open: Span) -> Expr {
        let mut content = Vec::new();
        match self.until_control(&mut content) {
            Ended::By(Control::EndFor, close) => {
                let value = body(content, open.at_end());
                let span = open.to(close);
                let inner = ForExpr { key_var, value_var, collection, key: None, value, cond: None, group: false, open, close };
                let tuple = Expr { kind: ExprKind::For(Box::new(inner)), span };
                Expr { kind: ExprKind::TemplateJoin(Box::new(tuple)), span }
            }
            ended => self.unbalanced(ended, "endfor", "for"),
        }
    }

    fn unbalanced(&mut self, ended: Ended, want: &str, open: &str) -> Expr {
        match ended {
            Ended::By(control, span) => {
                self.parser.error(
                    span,
                    format!("Unexpected {} directive", control.name()),
                    format!("Expecting an {want} directive for the {open} before."),
                );
                self.parser.placeholder(span)
            }
            Ended::Early(span) => {
                self.parser.error(
                    span,
                    "Unexpected end of template",
                    format!("An {open} directive before is missing its {want} directive."),
                );
                self.parser.placeholder(span)
            }
        }
    }
}

fn body(parts: Vec<Expr>, empty_at: Span) -> Expr {
    let span = match (parts.first(), parts.last()) {
        (Some(first), Some(last)) => first.span.to(last.span),
        _ => empty_at,
    };
    Expr { kind: ExprKind::Template { parts, origin: TemplateOrigin::Directive }, span }
}
