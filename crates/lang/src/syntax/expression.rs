//! Parses expressions: operators and terms.

use cty::Value;

use super::ast::{BinaryOp, Expr, ExprKind, MAX_DEPTH, UnaryOp};
use super::parser::Parser;
use super::token::{Kind, Token};
use crate::source::Span;

/// Operator of a token and its precedence (1 is lowest).
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
    // Operators of one precedence extend one node, so that a long chain does not nest.
    if let ExprKind::Binary { first, mut rest } = left.kind {
        if level_of(rest[0].0) == level_of(op) {
            rest.push((op, op_span, right));
            return Expr {
                kind: ExprKind::Binary { first, rest },
                span,
            };
        }
        // The match above took `left` apart; it becomes one operand again.
        let left = Expr {
            kind: ExprKind::Binary { first, rest },
            span: left.span,
        };
        return Expr {
            kind: ExprKind::Binary {
                first: Box::new(left),
                rest: vec![(op, op_span, right)],
            },
            span,
        };
    }
    Expr {
        kind: ExprKind::Binary {
            first: Box::new(left),
            rest: vec![(op, op_span, right)],
        },
        span,
    }
}

impl Parser<'_> {
    /// Parses a complete expression. `mark` and `lost` show if it failed.
    pub(crate) fn expression(&mut self) -> Expr {
        if self.depth >= MAX_DEPTH {
            return self.too_deep();
        }
        self.depth += 1;
        let expr = self.conditional();
        self.depth -= 1;
        expr
    }

    pub(super) fn too_deep(&mut self) -> Expr {
        let span = self.span(self.peek());
        if !self.recovery {
            self.error(
                span,
                "Expression nested too deeply",
                format!(
                    "Expressions can be nested at most {MAX_DEPTH} levels deep. Move inner \
                    parts into local values."
                ),
            );
        }
        self.recovery = true;
        self.placeholder(span)
    }

    fn conditional(&mut self) -> Expr {
        let start = self.span(self.peek());
        let mark = self.mark();
        let cond = self.operators();
        if self.is_recovering(mark) || self.peek_kind() != Kind::Question {
            return cond;
        }
        self.read();
        let mark = self.mark();
        let then = self.expression();
        // Like HCL, a failed branch leaves the condition as the result, which keeps its references.
        if self.is_recovering(mark) {
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
        if self.is_recovering(mark) {
            return cond;
        }
        let span = start.to(other.span);
        Expr {
            kind: ExprKind::Conditional {
                cond: Box::new(cond),
                then: Box::new(then),
                other: Box::new(other),
            },
            span,
        }
    }

    /// Parses infix operators iteratively, with stacks of operands and pending operators.
    fn operators(&mut self) -> Expr {
        let mark = self.mark();
        let mut left = self.operand();
        if self.is_recovering(mark) {
            return left;
        }
        let mut waiting: Vec<(Expr, BinaryOp, u8, Span)> = Vec::new();
        while let Some((op, level)) = binary_op(self.peek_kind()) {
            // Equal precedence joins to the left.
            while waiting.last().is_some_and(|w| w.2 >= level) {
                if let Some((outer, outer_op, _, span)) = waiting.pop() {
                    left = join(outer, outer_op, span, left);
                }
            }
            let token = self.read();
            let op_span = self.span(token);
            let mark = self.mark();
            let right = self.operand();
            // The operator without a right side is dropped; its left side is still an expression.
            if self.is_recovering(mark) {
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
        self.parse_postfix(term)
    }

    fn term(&mut self) -> Expr {
        let start = self.peek();
        match start.kind {
            Kind::OParen => self.parentheses(),
            Kind::Number => {
                self.read();
                let span = self.span(start);
                match self.number(start) {
                    Some(value) => Expr {
                        kind: ExprKind::Literal(value),
                        span,
                    },
                    None => self.placeholder(span),
                }
            }
            Kind::Ident => self.parse_word(),
            Kind::OQuote | Kind::OHeredoc => self.quoted_template(),
            Kind::Minus | Kind::Bang => self.unary(),
            Kind::OBrack => self.tuple(),
            Kind::OBrace => self.object(),
            _ => {
                let span = self.span(start);
                if !self.recovery {
                    if start.kind == Kind::Eof {
                        self.error(
                            span,
                            "Missing expression",
                            "Expected the start of an expression, but found the end of the file.",
                        );
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
        // After any error inside, not only in recovery, the next part must start after the
        // parenthesis.
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
        Expr {
            kind: ExprKind::Parens(Box::new(inner)),
            span: open_span.to(close_span),
        }
    }

    pub(crate) fn number(&mut self, token: Token) -> Option<Value> {
        match super::number_value(self.bytes(token)) {
            Ok(value) => Some(value),
            Err(error) => {
                let span = self.span(token);
                self.error(span, "Invalid number literal", super::number_refused(error));
                None
            }
        }
    }

    fn parse_word(&mut self) -> Expr {
        let token = self.read();
        // Checked before the literals: a keyword in front of a parenthesis names a function.
        if matches!(self.peek_kind(), Kind::OParen | Kind::DoubleColon) {
            return self.call(token);
        }
        let span = self.span(token);
        let kind = match self.bytes(token) {
            "true" => ExprKind::Literal(super::bool_value(true)),
            "false" => ExprKind::Literal(super::bool_value(false)),
            "null" => ExprKind::Literal(super::null_value()),
            _ => ExprKind::Traversal(super::Traversal {
                root: self.name(token),
                root_span: span,
                steps: Vec::new(),
            }),
        };
        Expr { kind, span }
    }

    fn unary(&mut self) -> Expr {
        // Prefix operators recurse without passing through `expression`, so they count here.
        if self.depth >= MAX_DEPTH {
            return self.too_deep();
        }
        let token = self.read();
        let op_span = self.span(token);
        let op = if token.kind == Kind::Minus {
            UnaryOp::Negate
        } else {
            UnaryOp::Not
        };
        self.depth += 1;
        // No infix operators are read, because a prefix operator binds more tightly.
        let operand = self.operand();
        self.depth -= 1;
        let span = op_span.to(operand.span);
        Expr {
            kind: ExprKind::Unary {
                op,
                op_span,
                operand: Box::new(operand),
            },
            span,
        }
    }
}
