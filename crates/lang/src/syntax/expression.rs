//! Expressions: operators, terms, constructors, calls, and what follows a term (attributes, indexes, splats).

use std::sync::Arc;

use cty::Value;

use super::ast::{BinaryOp, Call, Expr, ExprKind, ForExpr, MAX_DEPTH, ObjectItem, Splat, Step, StepKind, TemplateOrigin, UnaryOp};
use super::parser::Parser;
use super::token::{Kind, Token};
use crate::source::Span;

/// The operator of a token and how tightly it binds (1 loosest).
fn binary_op(kind: Kind) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        Kind::Or => (BinaryOp::Or, 1),
        Kind::And => (BinaryOp::And, 2),
        Kind::EqualEqual => (BinaryOp::Equal, 3),
        Kind::NotEqual => (BinaryOp::NotEqual, 3),
        Kind::Greater => (BinaryOp::Greater, 4),
        Kind::GreaterEqual => (BinaryOp::GreaterOrEqual, 4),
        Kind::Less => (BinaryOp::Less, 4),
        Kind::LessEqual => (BinaryOp::LessOrEqual, 4),
        Kind::Plus => (BinaryOp::Add, 5),
        Kind::Minus => (BinaryOp::Subtract, 5),
        Kind::Star => (BinaryOp::Multiply, 6),
        Kind::Slash => (BinaryOp::Divide, 6),
        Kind::Percent => (BinaryOp::Modulo, 6),
        _ => return None,
    })
}

fn level_of(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Or => 1,
        BinaryOp::And => 2,
        BinaryOp::Equal | BinaryOp::NotEqual => 3,
        BinaryOp::Greater | BinaryOp::GreaterOrEqual | BinaryOp::Less | BinaryOp::LessOrEqual => 4,
        BinaryOp::Add | BinaryOp::Subtract => 5,
        BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo => 6,
    }
}

fn join(left: Expr, op: BinaryOp, op_span: Span, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    if let ExprKind::Binary { first, mut rest } = left.kind {
        if level_of(rest[0].0) == level_of(op) {
            rest.push((op, op_span, right));
            return Expr { kind: ExprKind::Binary { first, rest }, span };
        }
        let left = Expr { kind: ExprKind::Binary { first, rest }, span: left.span };
        return Expr { kind: ExprKind::Binary { first: Box::new(left), rest: vec![(op, op_span, right)] }, span };
    }
    Expr { kind: ExprKind::Binary { first: Box::new(left), rest: vec![(op, op_span, right)] }, span }
}

impl Parser<'_> {
    /// A whole expression. Whether it was parsed well is seen from `mark` and `lost`.
    pub(crate) fn expression(&mut self) -> Expr {
        if self.depth >= MAX_DEPTH {
            return self.too_deep();
        }
        self.depth += 1;
        let expr = self.conditional();
        self.depth -= 1;
        expr
    }

    fn too_deep(&mut self) -> Expr {
        let span = self.span(self.peek());
        if !self.recovery {
            self.error(
                span,
                "Expression nested too deeply",
                format!("Expressions may be nested in each other at most {MAX_DEPTH} deep. Move inner parts into local values."),
            );
        }
        self.recovery = true;
        self.placeholder(span)
    }

    fn conditional(&mut self) -> Expr {
        let start = self.span(self.peek());
        let mark = self.mark();
        let cond = self.operators();
        if self.lost(mark) || self.peek_kind() != Kind::Question {
            return cond;
        }
        self.read();
        let mark = self.mark();
        let then = self.expression();
        if self.lost(mark) {
            return cond;
        }
        let colon = self.peek();
        if colon.kind != Kind::Colon {
            let span = self.span(colon);
            self.error_within(
                span,
                start.to(span),
                "Missing false expression in conditional",
                "The conditional operator (… ? … : …) needs an expression for false, after a colon.",
            );
            return cond;
        }
        self.read();
        let mark = self.mark();
        let other = self.expression();
        if self.lost(mark) {
            return cond;
        }
        let span = start.to(other.span);
        Expr { kind: ExprKind::Conditional { cond: Box::new(cond), then: Box::new(then), other: Box::new(other) }, span }
    }

    /// Infix operators by precedence, without recursion: a stack of operands and waiting operators.
    fn operators(&mut self) -> Expr {
        let mark = self.mark();
        let mut left = self.operand();
        if self.lost(mark) {
            return left;
        }
        let mut waiting: Vec<(Expr, BinaryOp, u8, Span)> = Vec::new();
        while let Some((op, level)) = binary_op(self.peek_kind()) {
            while waiting.last().is_some_and(|w| w.2 >= level) {
                if let Some((outer, outer_op, _, span)) = waiting.pop() {
                    left = join(outer, outer_op, span, left);
                }
            }
            let token = self.read();
            let op_span = self.span(token);
            let mark = self.mark();
            let right = self.operand();
            if self.lost(mark) {
                break;
            }
            waiting.push((left, op, level, op_span));
            left = right;
        }
        while let Some((outer, op, _, span)) = waiting.pop() {
            left = join(outer, op, span, left);
        }
        left
    }

    fn operand(&mut self) -> Expr {
        let term = self.term();
        self.follow(term)
    }

    fn term(&mut self) -> Expr {
        let start = self.peek();
        match start.kind {
            Kind::OParen => self.parentheses(),
            Kind::Number => {
                self.read();
                let span = self.span(start);
                match self.number(start) {
                    Some(value) => Expr { kind: ExprKind::Literal(value), span },
                    None => self.placeholder(span),
                }
            }
            Kind::Ident => self.word(),
            Kind::OQuote | Kind::OHeredoc => self.quoted_template(),
            Kind::Minus | Kind::Bang => self.unary(),
            Kind::OBrack => self.tuple(),
            Kind::OBrace => self.object(),
            _ => {
                let span = self.span(start);
                if !self.recovery {
                    if start.kind == Kind::Eof {
                        self.error(span, "Missing expression", "Expected the start of an expression, but found the end of the file.");
                    } else {
                        self.error(
                            span,
                            "Invalid expression",
                            "Expected the start of an expression, but found an invalid expression token.",
                        );
                    }
                }
                self.recovery = true;
                self.placeholder(span)
            }
        }
    }

    fn parentheses(&mut self) -> Expr {
        let open = self.read();
        let open_span = self.span(open);
        self.push_newlines(false);
        let mark = self.mark();
        let inner = self.expression();
        if self.mark() > mark {
            self.recover(Kind::CParen);
            self.pop_newlines();
            return inner;
        }
        let close = self.peek();
        let close_span = self.span(close);
        if close.kind != Kind::CParen {
            self.error_within(
                close_span,
                open_span.to(close_span),
                "Unbalanced parentheses",
                "Expected a closing parenthesis to terminate the expression.",
            );
            self.recovery = true;
        }
        self.read();
        self.pop_newlines();
        Expr { kind: ExprKind::Parens(Box::new(inner)), span: open_span.to(close_span) }
    }

    pub(crate) fn number(&mut self, token: Token) -> Option<Value> {
        match super::number_value(self.bytes(token)) {
            Some(value) => Some(value),
            None => {
                let span = self.span(token);
                self.error(span, "Invalid number literal", "The value of this number literal is not understood.");
                None
            }
        }
    }

    fn word(&mut self) -> Expr {
        let token = self.read();
        if matches!(self.peek_kind(), Kind::OParen | Kind::DoubleColon) {
            return self.call(token);
        }
        let span = self.span(token);
        let kind = match self.bytes(token) {
            "true" => ExprKind::Literal(super::bool_value(true)),
            "false" => ExprKind::Literal(super::bool_value(false)),
            "null" => ExprKind::Literal(super::null_value()),
            _ => ExprKind::Traversal(super::Traversal { root: self.name(token), root_span: span, steps: Vec::new() }),
        };
        Expr { kind, span }
    }

    fn unary(&mut self) -> Expr {
        if self.depth >= MAX_DEPTH {
            return self.too_deep();
        }
        let token = self.read();
        let op_span = self.span(token);
        let op = if token.kind == Kind::Minus { UnaryOp::Negate } else { UnaryOp::Not };
        self.depth += 1;
        let operand = self.operand();
        self.depth -= 1;
        let span = op_span.to(operand.span);
        Expr { kind: ExprKind::Unary { op, op_span, operand: Box::new(operand) }, span }
    }

    fn call(&mut self, first: Token) -> Expr {
        let mut name = self.name(first).to_string();
        let mut name_span = self.span(first);
        let first_span = name_span;
        let mut open = self.read();
        while open.kind == Kind::DoubleColon {
            let part = self.read();
            let part_span = self.span(part);
            if part.kind != Kind::Ident {
                self.error_within(
                    part_span,
                    first_span.to(part_span),
                    "Missing function name",
                    "The symbol :: must be followed by the name of a function or a further namespace.",
                );
                self.recover_over(Kind::OParen);
                return self.placeholder(first_span.to(part_span));
            }
            name.push_str("::");
            name.push_str(&self.name(part));
            name_span = first_span.to(part_span);
            open = self.read();
        }
        let open_span = self.span(open);
        if open.kind != Kind::OParen {
            self.error_within(
                open_span,
                first_span.to(open_span),
                "Missing open parenthesis",
                "The name of a function must be followed by an open parenthesis.",
            );
            self.recover_over(Kind::OParen);
            return self.placeholder(first_span.to(open_span));
        }
        self.push_newlines(false);
        let (args, expand_final, close) = self.arguments(first_span, open_span);
        self.pop_newlines();
        let span = first_span.to(close);
        Expr { kind: ExprKind::Call(Call { name: name.into(), name_span, args, expand_final, open: open_span, close }), span }
    }

    fn arguments(&mut self, name: Span, open: Span) -> (Vec<Expr>, bool, Span) {
        let mut args = Vec::new();
        loop {
            if self.peek_kind() == Kind::CParen {
                let close = self.read();
                return (args, false, self.span(close));
            }
            let mark = self.mark();
            args.push(self.expression());
            if self.lost(mark) {
                let token = self.recover(Kind::CParen);
                return (args, false, self.span(token));
            }
            let sep = self.read();
            let sep_span = self.span(sep);
            match sep.kind {
                Kind::CParen => return (args, false, sep_span),
                Kind::Comma => {}
                Kind::Ellipsis => {
                    let close = if self.peek_kind() == Kind::CParen {
                        self.read()
                    } else {
                        if !self.recovery {
                            self.error_within(
                                sep_span,
                                name.to(sep_span),
                                "Missing closing parenthesis",
                                "An expanded argument (with ...) must be followed at once by the closing parenthesis.",
                            );
                        }
                        self.recover(Kind::CParen)
                    };
                    return (args, true, self.span(close));
                }
                Kind::Eof => {
                    self.error(
                        name.to(open),
                        "Unterminated function call",
                        "There is no closing parenthesis for this function call before the end of the file.",
                    );
                    let close = self.recover(Kind::CParen);
                    return (args, false, self.span(close));
                }
                _ => {
                    self.error_within(
                        sep_span,
                        name.to(sep_span),
                        "Missing argument separator",
                        "A comma is required to separate each function argument from the next.",
                    );
                    let close = self.recover(Kind::CParen);
                    return (args, false, self.span(close));
                }
            }
        }
    }

    fn tuple(&mut self) -> Expr {
        let open = self.read();
        let open_span = self.span(open);
        self.push_newlines(false);
        let expr = if self.is_word(self.peek(), "for") {
            self.for_expression(open)
        } else {
            let mut items = Vec::new();
            let close = self.tuple_items(open_span, &mut items);
            Expr { kind: ExprKind::Tuple(items), span: open_span.to(close) }
        };
        self.pop_newlines();
        expr
    }

    fn tuple_items(&mut self, open: Span, items: &mut Vec<Expr>) -> Span {
        loop {
            if self.peek_kind() == Kind::CBrack {
                let close = self.read();
                return self.span(close);
            }
            let mark = self.mark();
            items.push(self.expression());
            if self.lost(mark) {
                let close = self.recover(Kind::CBrack);
                return self.span(close);
            }
            let next = self.peek();
            match next.kind {
                Kind::CBrack | Kind::Comma => {
                    self.read();
                    if next.kind == Kind::CBrack {
                        return self.span(next);
                    }
                }
                _ => {
                    let span = self.span(next);
                    if !self.recovery {
                        if next.kind == Kind::Eof {
                            self.error(
                                open,
                                "Unterminated tuple constructor expression",
                                "There is no closing bracket for this list before the end of the file.",
                            );
                        } else {
                            self.error_within(
                                span,
                                open.to(span),
                                "Missing item separator",
                                "Expected a comma to mark the beginning of the next item.",
                            );
                        }
                    }
                    let close = self.recover(Kind::CBrack);
                    return self.span(close);
                }
            }
        }
    }

    fn object(&mut self) -> Expr {
        let open = self.read();
        let open_span = self.span(open);
        self.push_newlines(false);
        let is_for = self.is_word(self.peek(), "for");
        self.pop_newlines();
        if is_for {
            return self.for_expression(open);
        }
        self.push_newlines(true);
        let mut items = Vec::new();
        let close = self.object_items(open_span, &mut items);
        self.pop_newlines();
        Expr { kind: ExprKind::Object(items), span: open_span.to(close) }
    }

    fn object_items(&mut self, open: Span, items: &mut Vec<ObjectItem>) -> Span {
        loop {
            match self.peek_kind() {
                Kind::Newline => {
                    self.read();
                    continue;
                }
                Kind::CBrace => {
                    let close = self.read();
                    return self.span(close);
                }
                _ => {}
            }
            let parenthesised = self.peek_kind() == Kind::OParen;
            let mark = self.mark();
            let key = self.expression();
            if self.lost(mark) {
                break;
            }
            let next = self.peek();
            if !matches!(next.kind, Kind::Equal | Kind::Colon) {
                self.key_without_value(open, next);
                break;
            }
            self.read();
            let mark = self.mark();
            let value = self.expression();
            let lost = self.lost(mark);
            let name: Option<Arc<str>> = if parenthesised { None } else { key.bare_word() };
            items.push(ObjectItem { key, name, value });
            if lost {
                break;
            }
            let next = self.peek();
            match next.kind {
                Kind::Comma | Kind::Newline => {
                    self.read();
                }
                Kind::CBrace => {
                    self.read();
                    return self.span(next);
                }
                _ => {
                    let span = self.span(next);
                    if !self.recovery {
                        if next.kind == Kind::Eof {
                            self.unterminated_object(open);
                        } else {
                            self.error_within(
                                span,
                                open.to(span),
                                "Missing attribute separator",
                                "Expected a newline or comma to mark the beginning of the next attribute.",
                            );
                        }
                    }
                    break;
                }
            }
        }
        let close = self.recover(Kind::CBrace);
        self.span(close)
    }

    fn unterminated_object(&mut self, open: Span) {
        self.error(
            open,
            "Unterminated object constructor expression",
            "There is no closing brace for this object before the end of the file.",
        );
    }

    fn key_without_value(&mut self, open: Span, next: Token) {
        if self.recovery {
            return;
        }
        let span = self.span(next);
        let (summary, detail) = match next.kind {
            Kind::Newline | Kind::Comma => {
                ("Missing attribute value", "Expected an attribute value, introduced by an equals sign (\"=\").")
            }
            Kind::Ident => (
                "Missing key/value separator",
                "Expected an equals sign (\"=\") to mark the beginning of the attribute value. A name that holds periods or spaces must be quoted.",
            ),
            Kind::Eof => return self.unterminated_object(open),
            _ => ("Missing key/value separator", "Expected an equals sign (\"=\") to mark the beginning of the attribute value."),
        };
        self.error_within(span, open.to(span), summary, detail);
    }

    fn for_expression(&mut self, open: Token) -> Expr {
        let open_span = self.span(open);
        let makes_object = open.kind == Kind::OBrace;
        let close_kind = if makes_object { Kind::CBrace } else { Kind::CBrack };
        self.push_newlines(false);
        self.read();
        let expr = match self.for_inner(open_span, close_kind, makes_object) {
            Some(expr) => expr,
            None => {
                let close = self.recover(close_kind);
                self.placeholder(open_span.to(self.span(close)))
            }
        };
        self.pop_newlines();
        expr
    }

    fn for_complaint(&mut self, open: Span, detail: &str) {
        if !self.recovery {
            let span = self.span(self.peek());
            self.error_within(span, open.to(span), "Invalid 'for' expression", detail);
        }
    }

    /// `None` when the rest of the expression is to be skipped.
    fn for_inner(&mut self, open: Span, close_kind: Kind, makes_object: bool) -> Option<Expr> {
        if self.peek_kind() != Kind::Ident {
            self.for_complaint(open, "For expression requires variable name after 'for'.");
            return None;
        }
        let token = self.read();
        let mut value_var = self.name(token);
        let mut key_var = None;
        if self.peek_kind() == Kind::Comma {
            self.read();
            if self.peek_kind() != Kind::Ident {
                self.for_complaint(open, "For expression requires value variable name after comma.");
                return None;
            }
            let token = self.read();
            key_var = Some(std::mem::replace(&mut value_var, self.name(token)));
        }
        if !self.is_word(self.peek(), "in") {
            self.for_complaint(open, "For expression requires the 'in' keyword after its name declarations.");
            return None;
        }
        self.read();
        let mark = self.mark();
        let collection = self.expression();
        if self.lost(mark) {
            return None;
        }
        if self.peek_kind() != Kind::Colon {
            self.for_complaint(open, "For expression requires a colon after the collection expression.");
            return None;
        }
        self.read();
        let mark = self.mark();
        let mut value = self.expression();
        let mut key = None;
        if self.peek_kind() == Kind::FatArrow {
            self.read();
            key = Some(std::mem::replace(&mut value, self.expression()));
        }
        if self.lost(mark) {
            return None;
        }
        let mut ellipsis = None;
        if self.peek_kind() == Kind::Ellipsis {
            let token = self.read();
            ellipsis = Some(self.span(token));
        }
        let mut cond = None;
        if self.is_word(self.peek(), "if") {
            self.read();
            let mark = self.mark();
            cond = Some(self.expression());
            if self.lost(mark) {
                return None;
            }
        }
        let close = if self.peek_kind() == close_kind {
            self.read()
        } else {
            self.for_complaint(open, "Extra characters after the end of the 'for' expression.");
            self.recover(close_kind)
        };
        let close = self.span(close);
        let span = open.to(close);
        self.check_for(&key, &value, ellipsis, makes_object, span);
        let group = ellipsis.is_some();
        let inner = ForExpr { key_var, value_var, collection, key, value, cond, group, open, close };
        Some(Expr { kind: ExprKind::For(Box::new(inner)), span })
    }

    fn check_for(&mut self, key: &Option<Expr>, value: &Expr, ellipsis: Option<Span>, makes_object: bool, span: Span) {
        const SUMMARY: &str = "Invalid 'for' expression";
        match key {
            Some(key) if !makes_object => self.error_within(key.span, span, SUMMARY, "Key expression is not valid when building a tuple."),
            None if makes_object => self.error_within(value.span, span, SUMMARY, "Key expression is required when building an object."),
            _ => {}
        }
        if let (Some(ellipsis), false) = (ellipsis, makes_object) {
            self.error_within(ellipsis, span, SUMMARY, "Grouping ellipsis (...) cannot be used when building a tuple.");
        }
    }

    /// Attributes, indexes and splats after a term.
    fn follow(&mut self, from: Expr) -> Expr {
        let from_span = from.span;
        let mut expr = from;
        let mut nested = 0usize;
        loop {
            match self.peek_kind() {
                Kind::Dot => {
                    let dot = self.read();
                    match self.after_dot(expr, from_span, dot) {
                        Ok(next) => expr = next,
                        Err(last) => return last,
                    }
                }
                Kind::OBrack => {
                    nested += 1;
                    if self.depth + nested >= MAX_DEPTH {
                        return self.too_deep();
                    }
                    expr = self.index(expr, from_span);
                }
                _ => return expr,
            }
        }
    }

    /// `Err` when nothing more may follow.
    fn after_dot(&mut self, expr: Expr, from: Span, dot: Token) -> Result<Expr, Expr> {
        let dot_span = self.span(dot);
        let token = self.peek();
        let span = self.span(token);
        match token.kind {
            Kind::Ident => {
                self.read();
                let step = Step { kind: StepKind::Attr(self.name(token)), span: dot_span.to(span) };
                Ok(extend(expr, step))
            }
            Kind::Number => {
                self.read();
                let step = self.legacy_index(token, dot_span);
                Ok(match step {
                    Some(step) => extend(expr, step),
                    None => self.placeholder(from.to(span)),
                })
            }
            Kind::Star => {
                self.read();
                Ok(self.attribute_splat(expr, from, dot_span.to(span)))
            }
            _ => {
                self.error(span, "Invalid attribute name", "An attribute name is required after a dot.");
                self.recovery = true;
                Err(self.placeholder(from.to(dot_span)))
            }
        }
    }

    fn legacy_index(&mut self, token: Token, dot: Span) -> Option<Step> {
        let span = self.span(token);
        if let Some((first, second)) = self.bytes(token).split_once('.') {
            self.error(
                span,
                "Invalid legacy index syntax",
                format!("Two indexes of the old syntax may not follow each other. Use brackets instead, like [{first}][{second}]."),
            );
            return None;
        }
        let value = self.number(token)?;
        Some(Step { kind: StepKind::Index(value), span: dot.to(span) })
    }

    fn attribute_splat(&mut self, source: Expr, from: Span, marker: Span) -> Expr {
        let first = self.span(self.peek());
        let mut last = marker;
        let mut steps = Vec::new();
        while self.peek_kind() == Kind::Dot {
            let dot = self.read();
            let dot_span = self.span(dot);
            let token = self.peek();
            let span = self.span(token);
            match token.kind {
                Kind::Ident => {
                    self.read();
                    steps.push(Step { kind: StepKind::Attr(self.name(token)), span: dot_span.to(span) });
                    last = span;
                }
                Kind::Number => {
                    self.read();
                    steps.extend(self.legacy_index(token, dot_span));
                    last = span;
                }
                _ => {
                    if !self.recovery {
                        if token.kind == Kind::Star {
                            self.error(
                                span,
                                "Nested splat expression not allowed",
                                "A splat (*) cannot be used inside another attribute-only splat.",
                            );
                        } else {
                            self.error(span, "Invalid attribute name", "An attribute name is required after a dot.");
                        }
                    }
                    self.recovery = true;
                    return source;
                }
            }
        }
        let item = Expr { kind: ExprKind::SplatItem, span: marker };
        let each = match steps.is_empty() {
            true => item,
            false => Expr { kind: ExprKind::RelativeTraversal { source: Box::new(item), steps }, span: first.to(last) },
        };
        Expr { kind: ExprKind::Splat(Box::new(Splat { source, each, full: false, marker })), span: from.to(last) }
    }

    fn index(&mut self, expr: Expr, from: Span) -> Expr {
        let open = self.read();
        let open_span = self.span(open);
        if self.peek_kind() == Kind::Star {
            return self.full_splat(expr, from, open_span);
        }
        self.push_newlines(false);
        let mark = self.mark();
        let key = self.expression();
        let close = if self.lost(mark) {
            self.recover(Kind::CBrack)
        } else {
            let close = self.read();
            if close.kind != Kind::CBrack && !self.recovery {
                let span = self.span(close);
                self.error(span, "Missing close bracket on index", "The index operator must end with a closing bracket (\"]\").");
                self.recover(Kind::CBrack)
            } else {
                close
            }
        };
        self.pop_newlines();
        let brackets = open_span.to(self.span(close));
        match constant_key(&key) {
            Some(value) => extend(expr, Step { kind: StepKind::Index(value), span: brackets }),
            None => {
                let span = from.to(brackets);
                Expr { kind: ExprKind::Index { source: Box::new(expr), key: Box::new(key), brackets }, span }
            }
        }
    }

    fn full_splat(&mut self, source: Expr, from: Span, open: Span) -> Expr {
        self.read();
        let mut close = self.read();
        if close.kind != Kind::CBrack && !self.recovery {
            let span = self.span(close);
            self.error(
                span,
                "Missing close bracket on splat index",
                "The star of a splat must be followed at once by a closing bracket (\"]\").",
            );
            close = self.recover(Kind::CBrack);
        }
        let marker = open.to(self.span(close));
        let item = Expr { kind: ExprKind::SplatItem, span: marker };
        self.depth += 1;
        let each = if self.depth >= MAX_DEPTH { self.too_deep() } else { self.follow(item) };
        self.depth -= 1;
        let span = from.to(each.span);
        Expr { kind: ExprKind::Splat(Box::new(Splat { source, each, full: true, marker })), span }
    }
}

/// The value of an index key that is a literal.
fn constant_key(key: &Expr) -> Option<Value> {
    match &key.kind {
        ExprKind::Literal(value) => Some(value.clone()),
        ExprKind::Template { parts, origin: TemplateOrigin::Quoted } => match &parts[..] {
            [] => Some(super::text_value("")),
            [Expr { kind: ExprKind::Literal(value), .. }] => Some(value.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn extend(expr: Expr, step: Step) -> Expr {
    let span = expr.span.to(step.span);
    match expr.kind {
        ExprKind::Traversal(mut traversal) => {
            traversal.steps.push(step);
            Expr { kind: ExprKind::Traversal(traversal), span }
        }
        ExprKind::RelativeTraversal { source, mut steps } => {
            steps.push(step);
            Expr { kind: ExprKind::RelativeTraversal { source, steps }, span }
        }
        kind => {
            let source = Box::new(Expr { kind, span: expr.span });
            Expr { kind: ExprKind::RelativeTraversal { source, steps: vec![step] }, span }
        }
    }
}
