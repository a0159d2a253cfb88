//! Expression tree, built by both syntaxes and read by the evaluator. Plain data with bounded
//! depth: at most `MAX_DEPTH` nested expressions (chains of binary operators do not nest).

use std::sync::Arc;

use cty::Value;

use crate::diag::Diagnostics;
use crate::source::Span;

/// Maximum nesting of expressions; the parser rejects deeper ones.
pub const MAX_DEPTH: usize = 250;

/// Expression with its source position.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Kind with its parts.
    pub kind: ExprKind,
    /// Its source position.
    pub span: Span,
}

/// Kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A number, `true`, `false`, `null`, or a piece of text in a template.
    Literal(Value),
    /// A quoted string, heredoc, directive body or JSON string: always a string, the concatenation
    /// of its parts. Literal text is a `Literal` string (escapes, strip markers and heredoc
    /// indentation already resolved); `%{if}` is a `Conditional` whose branches are templates (an
    /// absent else is the empty template); `%{for}` is a `TemplateJoin`. No parts: the empty
    /// string.
    Template {
        /// The parts, in order.
        parts: Vec<Expr>,
        /// Source of the text.
        origin: TemplateOrigin,
    },
    /// `"${x}"` alone: the value of the inner expression, type kept.
    TemplateWrap(Box<Expr>),
    /// A `%{for}`: the inner `For` gives a tuple of strings, which are concatenated.
    TemplateJoin(Box<Expr>),
    /// A reference: a root name and constant steps.
    Traversal(Traversal),
    /// Constant steps applied to any other expression.
    RelativeTraversal {
        /// Expression that the steps start from.
        source: Box<Expr>,
        /// At least one.
        steps: Vec<Step>,
    },
    /// `source[key]` where the key is no constant.
    Index {
        /// The collection.
        source: Box<Expr>,
        /// The key expression.
        key: Box<Expr>,
        /// From `[` to `]`.
        brackets: Span,
    },
    /// `source.*…` or `source[*]…`.
    Splat(Box<Splat>),
    /// Inside `Splat::each`: the element of the innermost splat.
    SplatItem,
    /// A function call.
    Call(Call),
    /// `-x` or `!x`.
    Unary {
        /// Operator.
        op: UnaryOp,
        /// The operator alone.
        op_span: Span,
        /// The operand.
        operand: Box<Expr>,
    },
    /// Operators of one precedence, applied left to right: `((first op1 x1) op2 x2) …`.
    /// The span of a partial result runs from the start of `first` to the end of its last operand.
    Binary {
        /// The leftmost operand.
        first: Box<Expr>,
        /// At least one operator with its right operand; the span is the operator's.
        rest: Vec<(BinaryOp, Span, Expr)>,
    },
    /// `cond ? then : other`.
    Conditional {
        /// The condition.
        cond: Box<Expr>,
        /// Its value when true.
        then: Box<Expr>,
        /// Its value when false.
        other: Box<Expr>,
    },
    /// `[for …]` or `{for …}`.
    For(Box<ForExpr>),
    /// `[a, b]`.
    Tuple(Vec<Expr>),
    /// `{a = 1}`; the last of equal keys wins.
    Object(Vec<ObjectItem>),
    /// `(x)`.
    Parens(Box<Expr>),
    /// Placeholder after a reported syntax error; evaluates to an unknown value of unknown type
    /// without a further error.
    Error,
    /// JSON string that is not a valid template; evaluation reports its errors.
    Faulty(Arc<Diagnostics>),
}

/// Source of a template's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateOrigin {
    /// `"…"`.
    Quoted,
    /// `<<EOT` or `<<-EOT`.
    Heredoc,
    /// The body of an `%{if}`, `%{else}` or `%{for}`.
    Directive,
    /// A string of a JSON file: static contexts read it as the text of a reference or keyword.
    Json,
    /// Complete text used as a template (`templatefile`).
    Bare,
}

/// A root name and the constant steps after it.
#[derive(Clone, Debug)]
pub struct Traversal {
    /// `var`, `local`, `aws_instance`, ….
    pub root: Arc<str>,
    /// The root name alone.
    pub root_span: Span,
    /// The steps, possibly none.
    pub steps: Vec<Step>,
}

impl Traversal {
    /// From the root to the last step.
    pub fn span(&self) -> Span {
        self.steps
            .last()
            .map_or(self.root_span, |s| self.root_span.to(s.span))
    }
}

/// Reference and the index or attribute right after it: `a.b[each.key].c` has the reference `a.b`,
/// the key `each.key`, then `.c`.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// The reference with its constant steps.
    pub traversal: Traversal,
    /// Key, if it is an expression without names bound around it.
    pub key: Option<Expr>,
    /// Constant steps after the key.
    pub trailing_steps: Vec<Step>,
}

/// One constant step.
#[derive(Clone, Debug)]
pub struct Step {
    /// Kind of the step.
    pub kind: StepKind,
    /// With its dot or brackets.
    pub span: Span,
}

/// Meaning of a constant step.
#[derive(Clone, Debug)]
pub enum StepKind {
    /// `.name`.
    Attr(Arc<str>),
    /// `["key"]`, `[0]` or the old `.0`.
    Index(Value),
}

/// A splat.
#[derive(Clone, Debug)]
pub struct Splat {
    /// Collection to iterate over.
    pub source: Expr,
    /// Evaluated for each element; the element itself is the innermost `SplatItem`.
    pub each: Expr,
    /// `[*]` rather than `.*`.
    pub full: bool,
    /// The `[*]` or `.*` alone.
    pub marker: Span,
}

/// A function call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The name, with namespaces joined by `::`.
    pub name: Arc<str>,
    /// The name alone.
    pub name_span: Span,
    /// The arguments.
    pub args: Vec<Expr>,
    /// The last argument ends in `...`.
    pub expand_final: bool,
    /// `(`.
    pub open: Span,
    /// `)`.
    pub close: Span,
}

/// A for expression.
#[derive(Clone, Debug)]
pub struct ForExpr {
    /// Name of the key or index, if given.
    pub key_var: Option<Arc<str>>,
    /// Name of the value.
    pub value_var: Arc<str>,
    /// Collection to iterate over.
    pub collection: Expr,
    /// The key of each item: present for an object, absent for a tuple.
    pub key: Option<Expr>,
    /// The value of each item.
    pub value: Expr,
    /// The filter.
    pub cond: Option<Expr>,
    /// `...`: values of equal keys are collected.
    pub group: bool,
    /// The opening bracket (or directive).
    pub open: Span,
    /// The closing bracket (or directive).
    pub close: Span,
}

/// One item of an object constructor.
#[derive(Clone, Debug)]
pub struct ObjectItem {
    /// Key as an expression. Used only if `name` is absent; then a plain `Traversal` with steps is
    /// ambiguous and an error.
    pub key: Expr,
    /// The key when it is a bare word.
    pub name: Option<Arc<str>>,
    /// The value.
    pub value: Expr,
}

/// A prefix operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `!`.
    Not,
    /// `-`.
    Negate,
}

/// An infix operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `||`.
    Or,
    /// `&&`.
    And,
    /// `==`.
    Equal,
    /// `!=`.
    NotEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `%`.
    Modulo,
}

impl BinaryOp {
    /// As written.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Or => "||",
            BinaryOp::And => "&&",
            BinaryOp::Equal => "==",
            BinaryOp::NotEqual => "!=",
            BinaryOp::Greater => ">",
            BinaryOp::GreaterOrEqual => ">=",
            BinaryOp::Less => "<",
            BinaryOp::LessOrEqual => "<=",
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::Modulo => "%",
        }
    }
}
