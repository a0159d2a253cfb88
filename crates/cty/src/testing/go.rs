//! Parser for values in Go syntax, as Go's `%#v` prints them.

use crate::{Mark, Marks, Number, Path, PathStep, RefinementBuilder, Type, Value};

pub(super) fn parse(go: &str) -> Go {
    let mut r = Reader { text: go, at: 0 };
    let found = r.expression();
    r.space();
    assert!(r.at == go.len(), "text left over: {}", &go[r.at..]);
    found
}

#[derive(Debug)]
pub(super) enum Go {
    Value(Value),
    Type(Type),
    Builder(Box<RefinementBuilder>),
    Marks(Marks),
    Path(Path),
    Step(PathStep),
    Text(String),
    Number(String),
    Bool(bool),
    Values(Vec<Value>),
    ValueMap(Vec<(String, Value)>),
    Types(Vec<Type>),
    TypeMap(Vec<(String, Type)>),
    Texts(Vec<String>),
}

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> Reader<'a> {
    fn space(&mut self) {
        while self.text[self.at..].starts_with(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn eat(&mut self, what: &str) -> bool {
        self.space();
        let found = self.text[self.at..].starts_with(what);
        if found {
            self.at += what.len();
        }
        found
    }

    fn expect(&mut self, what: &str) {
        assert!(
            self.eat(what),
            "expected {what:?} at {}",
            &self.text[self.at..]
        );
    }

    fn word(&mut self) -> &'a str {
        self.space();
        let rest = &self.text[self.at..];
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || "_.+-".contains(c)))
            .unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn string(&mut self) -> String {
        self.space();
        let rest = &self.text[self.at..];
        let mut chars = rest.char_indices().skip(1);
        let mut out: Vec<u8> = Vec::new();
        while let Some((i, c)) = chars.next() {
            if c == '"' {
                self.at += i + 1;
                return String::from_utf8(out).unwrap_or_else(|e| panic!("{e} in {rest}"));
            }
            if c != '\\' {
                out.extend(c.to_string().bytes());
                continue;
            }
            let Some((_, escape)) = chars.next() else {
                break;
            };
            let mut code = |n: usize| -> u32 {
                let digits: String = chars.by_ref().take(n).map(|(_, c)| c).collect();
                u32::from_str_radix(&digits, 16).unwrap_or_else(|e| panic!("{e} in {rest}"))
            };
            match escape {
                'n' => out.push(b'\n'),
                't' => out.push(b'\t'),
                'r' => out.push(b'\r'),
                'a' => out.push(7),
                'b' => out.push(8),
                'v' => out.push(11),
                'f' => out.push(12),
                'x' => out.push(code(2) as u8),
                'u' => out.extend(
                    char::from_u32(code(4))
                        .unwrap_or('\u{fffd}')
                        .to_string()
                        .bytes(),
                ),
                'U' => out.extend(
                    char::from_u32(code(8))
                        .unwrap_or('\u{fffd}')
                        .to_string()
                        .bytes(),
                ),
                other => out.extend(other.to_string().bytes()),
            }
        }
        panic!("string without end: {rest}")
    }

    pub(super) fn expression(&mut self) -> Go {
        let mut found = self.primary();
        while self.eat(".") {
            let method = self.word().to_string();
            self.expect("(");
            let args = self.arguments();
            found = call_method(found, &method, args);
        }
        found
    }

    fn arguments(&mut self) -> Vec<Go> {
        let mut args = Vec::new();
        while !self.eat(")") {
            args.push(self.expression());
            self.eat(",");
        }
        args
    }

    fn keyed<T>(&mut self, take: fn(Go) -> T) -> Vec<(String, T)> {
        self.expect("{");
        let mut members = Vec::new();
        while !self.eat("}") {
            let key = self.string();
            self.expect(":");
            members.push((key, take(self.expression())));
            self.eat(",");
        }
        members
    }

    fn listed<T>(&mut self, take: fn(Go) -> T) -> Vec<T> {
        self.expect("{");
        let mut members = Vec::new();
        while !self.eat("}") {
            members.push(take(self.expression()));
            self.eat(",");
        }
        members
    }

    fn primary(&mut self) -> Go {
        self.space();
        let rest = &self.text[self.at..];
        if rest.starts_with('"') {
            return Go::Text(self.string());
        }
        if self.eat("map[string]cty.Value") {
            return Go::ValueMap(self.keyed(take_value));
        }
        if self.eat("map[string]cty.Type") {
            return Go::TypeMap(self.keyed(take_type));
        }
        if self.eat("[]cty.Value") {
            return Go::Values(self.listed(take_value));
        }
        if self.eat("[]cty.Type") {
            return Go::Types(self.listed(take_type));
        }
        if self.eat("[]string") {
            return Go::Texts(self.listed(take_text));
        }
        // `listed` expects the opening brace, which is consumed here only for `cty.Path`.
        if self.eat("[]cty.PathStep") || self.eat("cty.Path{") {
            self.at -= 1;
            return Go::Path(Path::new(self.listed(|g| match g {
                Go::Step(s) => s,
                other => panic!("not a step: {other:?}"),
            })));
        }
        if self.eat("cty.GetAttrStep{Name:") {
            let name = self.string();
            self.expect("}");
            return Go::Step(PathStep::Attr(name.into()));
        }
        if self.eat("cty.IndexStep{Key:") {
            let key = take_value(self.expression());
            self.expect("}");
            return Go::Step(PathStep::Index(key));
        }
        let word = self.word().to_string();
        // `word` also reads the method of a bare name: `cty.True.Mark`.
        let (word, method) = match word.strip_prefix("cty.").and_then(|w| w.split_once('.')) {
            Some((name, method)) => (format!("cty.{name}"), Some(method.to_string())),
            None => (word, None),
        };
        let found = match method {
            Some(_) => named(&word),
            None if self.eat("(") => {
                let args = self.arguments();
                return call(&word, args);
            }
            None => named(&word),
        };
        let Some(method) = method else { return found };
        self.expect("(");
        let args = self.arguments();
        call_method(found, &method, args)
    }
}

pub(super) fn take_value(go: Go) -> Value {
    match go {
        Go::Value(v) => v,
        other => panic!("not a value: {other:?}"),
    }
}

fn take_type(go: Go) -> Type {
    match go {
        Go::Type(t) => t,
        other => panic!("not a type: {other:?}"),
    }
}

fn take_text(go: Go) -> String {
    match go {
        Go::Text(t) => t,
        other => panic!("not a text: {other:?}"),
    }
}

fn named(word: &str) -> Go {
    match word {
        "cty.String" => Go::Type(Type::String),
        "cty.Number" => Go::Type(Type::Number),
        "cty.Bool" => Go::Type(Type::Bool),
        "cty.DynamicPseudoType" => Go::Type(Type::Dynamic),
        "cty.EmptyObject" => Go::Type(Type::empty_object()),
        "cty.EmptyTuple" => Go::Type(Type::tuple(Vec::new())),
        "cty.True" => Go::Value(Value::bool(true)),
        "cty.False" => Go::Value(Value::bool(false)),
        "cty.Zero" => Go::Value(Value::zero()),
        "cty.DynamicVal" => Go::Value(Value::dynamic()),
        "cty.EmptyObjectVal" => Go::Value(Value::empty_object()),
        "cty.EmptyTupleVal" => Go::Value(Value::empty_tuple()),
        "cty.PositiveInfinity" => Go::Value(Value::number(Number::infinity())),
        "cty.NegativeInfinity" => Go::Value(Value::number(Number::negative_infinity())),
        "true" => Go::Bool(true),
        "false" => Go::Bool(false),
        "marks.Sensitive" => Go::Text("sensitive".into()),
        "marks.Ephemeral" => Go::Text("ephemeral".into()),
        number => Go::Number(number.to_string()),
    }
}

fn call(name: &str, args: Vec<Go>) -> Go {
    if name == "cty.NewValueMarks" {
        return Go::Marks(args.into_iter().map(mark).collect());
    }
    let mut args = args.into_iter();
    let first = args
        .next()
        .unwrap_or_else(|| panic!("{name} without arguments"));
    let none: [(&str, Value); 0] = [];
    match (name, first) {
        ("cty.StringVal", Go::Text(t)) => Go::Value(Value::string(t)),
        ("cty.BoolVal", Go::Bool(b)) => Go::Value(Value::bool(b)),
        ("cty.NumberIntVal", Go::Number(n)) => Go::Value(Value::number(whole(&n))),
        ("cty.NumberFloatVal", Go::Number(n)) => {
            let float: f64 = n.parse().unwrap_or_else(|e| panic!("{e}: {n}"));
            Go::Value(Value::number(
                Number::from_f64(float).unwrap_or_else(|e| panic!("{e}")),
            ))
        }
        ("cty.MustParseNumberVal", Go::Text(t)) => Go::Value(Value::number(
            Number::parse(&t).unwrap_or_else(|e| panic!("{e}: {t}")),
        )),
        ("cty.NullVal", Go::Type(t)) => Go::Value(Value::null(t)),
        ("cty.UnknownVal", Go::Type(t)) => Go::Value(Value::unknown(t)),
        ("cty.ListVal", Go::Values(v)) => Go::Value(Value::list(Type::Dynamic, v)),
        ("cty.SetVal", Go::Values(v)) => Go::Value(Value::set(Type::Dynamic, v)),
        ("cty.TupleVal", Go::Values(v)) => Go::Value(Value::tuple(v)),
        ("cty.MapVal", Go::ValueMap(v)) => Go::Value(Value::map(Type::Dynamic, v)),
        ("cty.ObjectVal", Go::ValueMap(v)) => Go::Value(Value::object(v)),
        ("cty.ListValEmpty", Go::Type(t)) => Go::Value(Value::list(t, Vec::new())),
        ("cty.SetValEmpty", Go::Type(t)) => Go::Value(Value::set(t, Vec::new())),
        ("cty.MapValEmpty", Go::Type(t)) => Go::Value(Value::map(t, none)),
        ("cty.List", Go::Type(t)) => Go::Type(Type::list(t)),
        ("cty.Set", Go::Type(t)) => Go::Type(Type::set(t)),
        ("cty.Map", Go::Type(t)) => Go::Type(Type::map(t)),
        ("cty.Tuple", Go::Types(t)) => Go::Type(Type::tuple(t)),
        ("cty.Object", Go::TypeMap(t)) => Go::Type(Type::object(t)),
        ("cty.ObjectWithOptionalAttrs", Go::TypeMap(t)) => {
            let Some(Go::Texts(optional)) = args.next() else {
                panic!("no optional attributes")
            };
            Go::Type(Type::object_with_optional(t, optional))
        }
        (name, first) => panic!("unknown call {name}({first:?})"),
    }
}

/// Parses a whole number. Large ones are printed as floats; they have the precision of machine
/// integers, or more.
fn whole(text: &str) -> Number {
    let number = Number::parse(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    if number.minimal_precision() <= 64 {
        number.with_precision(64)
    } else {
        number
    }
}

fn mark(go: Go) -> Mark {
    match go {
        Go::Number(n) => Mark::Custom(n.parse().unwrap_or_else(|e| panic!("{e}: {n}"))),
        Go::Text(t) => match t.to_lowercase().as_str() {
            "sensitive" => Mark::Sensitive,
            "ephemeral" => Mark::Ephemeral,
            _ => Mark::Named(t.into()),
        },
        other => panic!("not a mark: {other:?}"),
    }
}

fn call_method(on: Go, method: &str, args: Vec<Go>) -> Go {
    let mut args = args.into_iter();
    match (on, method) {
        (Go::Value(v), "Mark") => {
            Go::Value(v.mark(mark(args.next().unwrap_or_else(|| panic!("no mark")))))
        }
        (Go::Value(v), "WithMarks") => match args.next() {
            Some(Go::Marks(m)) => Go::Value(v.with_marks(&m)),
            other => panic!("not marks: {other:?}"),
        },
        (Go::Value(v), "RefineNotNull") => Go::Value(v.refine_not_null()),
        (Go::Value(v), "Refine") => Go::Builder(Box::new(v.refine())),
        (Go::Builder(b), "NewValue") => Go::Value(b.build().unwrap_or_else(|e| panic!("{e}"))),
        (Go::Builder(b), "NotNull") => Go::Builder(Box::new(b.not_null())),
        (Go::Builder(b), "Null") => Go::Builder(Box::new(b.null())),
        (Go::Builder(b), _) => Go::Builder(Box::new(refine(*b, method, args.collect()))),
        (on, method) => panic!("unknown method {method} on {on:?}"),
    }
}

fn refine(b: RefinementBuilder, method: &str, args: Vec<Go>) -> RefinementBuilder {
    match (method, args.as_slice()) {
        ("StringPrefixFull", [Go::Text(p)]) => b.string_prefix_full(p),
        ("StringPrefix", [Go::Text(p)]) => b.string_prefix(p),
        ("CollectionLengthLowerBound", [Go::Number(n)]) => {
            b.length_min(n.parse().unwrap_or_else(|e| panic!("{e}")))
        }
        ("CollectionLengthUpperBound", [Go::Number(n)]) => {
            b.length_max(n.parse().unwrap_or_else(|e| panic!("{e}")))
        }
        ("NumberLowerBound" | "NumberRangeLowerBound", [Go::Value(v), Go::Bool(inclusive)]) => b
            .number_min(
                v.as_number().cloned().unwrap_or_else(|| panic!("{v:?}")),
                *inclusive,
            ),
        ("NumberUpperBound" | "NumberRangeUpperBound", [Go::Value(v), Go::Bool(inclusive)]) => b
            .number_max(
                v.as_number().cloned().unwrap_or_else(|| panic!("{v:?}")),
                *inclusive,
            ),
        (method, args) => panic!("unknown refinement {method}({args:?})"),
    }
}
