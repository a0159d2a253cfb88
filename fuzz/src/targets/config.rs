//! Shared checks of both syntaxes: source ranges, evaluation, loading from a directory.

use std::path::PathBuf;

use cty::plan::assert_object_compatible;
use cty::schema::{Attribute, Block};
use cty::{Mark, Type, Value};
use lang::config::{Inputs, load_root};
use lang::diag::Diagnostics;
use lang::eval::{Bindings, evaluate};
use lang::source::{SourceMap, Span};
use lang::syntax::{Expr, ExprKind};

/// Text, with the precision of its source ranges.
pub(super) struct Text<'a> {
    pub(super) text: &'a str,
    /// False for JSON, whose ranges inside a string count from its quote, and are shifted by
    /// escapes.
    pub(super) exact: bool,
}

/// Checks that all source ranges lie in the text and can be rendered.
pub(super) fn places(diags: &Diagnostics, sources: &SourceMap, text: &Text<'_>) {
    for d in diags.iter() {
        let subject = d
            .subject
            .unwrap_or_else(|| panic!("{} has no place", d.summary));
        text.holds(subject, &d.summary);
        if let Some(context) = d.context {
            text.holds(context, &d.summary);
        }
        shown(d, sources);
    }
}

fn shown(d: &lang::diag::Diagnostic, sources: &SourceMap) {
    assert!(!d.summary.is_empty());
    // The rendered range must not exceed its own file, which can differ from the text.
    if let Some(range) = d.range(sources) {
        let text = &sources
            .get(d.subject.map_or(lang::source::FileId(0), |s| s.file))
            .expect("the file is known")
            .text;
        assert!(range.start.line >= 1 && range.start.column >= 1);
        assert!(range.start.byte <= range.end.byte && range.end.byte as usize <= text.len());
    }
    assert!(d.render(sources).contains(&d.summary));
}

impl Text<'_> {
    fn holds(&self, span: Span, what: &str) {
        let (start, end) = (span.start as usize, span.end as usize);
        assert!(start <= end, "{what}: {start}..{end}");
        if self.exact {
            assert!(
                end <= self.text.len(),
                "{what}: {start}..{end} of {} bytes",
                self.text.len()
            );
            assert!(
                self.text.is_char_boundary(start) && self.text.is_char_boundary(end),
                "{what}: {start}..{end} cuts a character"
            );
        }
    }
}

/// Checks an expression: ranges, static analysis, and its value with and without bound names.
pub(super) fn expression(expr: &Expr, sources: &SourceMap, text: &Text<'_>) {
    expr.walk(&mut |e| text.holds(e.span, "an expression"));
    expr.traversals();
    expr.calls();
    expr.as_static_traversal();
    expr.quoted_traversal();
    expr.as_keyword();
    if !cheap(expr) {
        return;
    }
    // Evaluated twice: with unknown values as in a plan, and with known ones as in an apply.
    let (early, diags) = evaluate(expr, &names(false));
    for d in diags.iter() {
        assert!(d.subject.is_some(), "{} has no place", d.summary);
        shown(d, sources);
    }
    let (late, late_diags) = evaluate(expr, &names(true));
    // Functions with a different result for each call cannot be compared.
    if !diags.has_errors() && !late_diags.has_errors() && !by_chance(expr) {
        kept(&early, &late, text.text);
    }
    // Without names most expressions fail, but every error must have a range.
    let (_, diags) = evaluate(expr, &Bindings::new([].into()));
    assert!(diags.iter().all(|d| d.subject.is_some()));
}

/// Returns true if the evaluation is fast: nested loops can be arbitrarily long, password hashes
/// are slow, and file functions leave the directory.
fn cheap(expr: &Expr) -> bool {
    let mut loops = 0;
    let mut cheap = true;
    expr.walk(&mut |e| match &e.kind {
        ExprKind::For(_) => loops += 1,
        ExprKind::Call(call) => match call.name.rsplit(':').next().unwrap_or_default() {
            "range" | "setproduct" => loops += 1,
            "bcrypt" | "file" | "filebase64" | "fileset" | "templatefile" => cheap = false,
            name if name.starts_with("file") => cheap = false,
            _ => {}
        },
        _ => {}
    });
    cheap && loops < 3
}

/// Checks that facts about a value with unknown parts still hold when they are known.
fn kept(early: &Value, late: &Value, text: &str) {
    let any = Attribute::optional(Type::Dynamic);
    let schema = Block {
        attributes: [("v".into(), any)].into(),
        ..Block::default()
    };
    // Marks are not compared: an operation can add them later.
    let holder = |v: &Value| Value::object([("v", v.clone().unmark_deep().0)]);
    let broken = assert_object_compatible(&schema, &holder(early), &holder(late));
    assert!(
        broken.is_empty(),
        "{broken:?}\nearly {early:?}\nlate {late:?}\nin {text}"
    );
}

fn by_chance(expr: &Expr) -> bool {
    expr.calls().iter().any(|c| {
        matches!(
            c.name.rsplit(':').next(),
            Some("timestamp" | "uuid" | "plantimestamp")
        )
    })
}

/// Returns values of every kind; those that can be unknown are known only if `later` is set.
fn names(later: bool) -> Bindings<'static> {
    let or = |ty: Type, value: Value| if later { value } else { Value::unknown(ty) };
    let texts = Type::list(Type::String);
    let object = Value::object([
        ("s", Value::string("text")),
        ("n", Value::int(3)),
        ("b", Value::bool(true)),
        (
            "l",
            Value::list(Type::String, vec![Value::string("a"), Value::string("b")]),
        ),
        ("e", Value::list(Type::Number, Vec::new())),
        ("m", Value::map(Type::Number, [("k", Value::int(1))])),
        (
            "t",
            Value::set(
                Type::String,
                vec![Value::string("x"), or(Type::String, Value::string("y"))],
            ),
        ),
        ("u", or(Type::String, Value::string("text"))),
        (
            "v",
            or(
                texts.clone(),
                Value::list(Type::String, vec![Value::string("p")]),
            ),
        ),
        ("w", or(Type::Number, Value::int(2))),
        (
            "d",
            or(
                Type::Dynamic,
                Value::tuple(vec![Value::string("q"), Value::bool(true)]),
            ),
        ),
        (
            "f",
            if later {
                Value::string("pre-fix")
            } else {
                Value::unknown(Type::String)
                    .refine()
                    .not_null()
                    .string_prefix("pre-")
                    .finish()
            },
        ),
        ("z", Value::null(Type::String)),
        ("h", Value::string("hush").mark(Mark::Sensitive)),
    ]);
    let each = Value::object([("key", Value::string("k")), ("value", object.clone())]);
    let path = Value::object([("module", Value::string("."))]);
    let count = Value::object([("index", Value::int(1))]);
    Bindings::new(
        [
            ("var", object.clone()),
            ("local", object.clone()),
            ("a", object),
            ("each", each),
            ("path", path),
            ("count", count),
        ]
        .map(|(n, v)| (n.into(), v))
        .into(),
    )
}

thread_local! {
    /// Nested deeply enough that `../..` stays inside the temporary directory.
    static FOLDER: (tempfile::TempDir, PathBuf) = {
        let outer = tempfile::tempdir().expect("a temporary folder");
        let inner = outer.path().join("a/b/c/d/e/f");
        std::fs::create_dir_all(&inner).expect("folders");
        (outer, inner)
    };
}

/// Loads the bytes as the only file of a configuration.
pub(super) fn load(name: &str, data: &[u8]) {
    FOLDER.with(|(_, dir)| {
        let file = dir.join(name);
        std::fs::write(&file, data).expect("written");
        let sources = SourceMap::new();
        let (loaded, diags) = load_root(dir, &sources, &Inputs::default());
        for d in diags.iter() {
            let missing_variable = d.summary == "No value for required variable";
            assert!(
                d.subject.is_some() || missing_variable,
                "{} ({}) has no place",
                d.summary,
                d.detail
            );
            shown(d, &sources);
        }
        let _ = format!("{:?}", loaded.root.resources.len());
        // The next input uses the same directory.
        std::fs::remove_file(&file).expect("removed");
    });
}
