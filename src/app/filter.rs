//! Query language of the filter: terms separated by blanks, all of which must match a row.
//!
//! `word`, `"two words"`, `~fuzzy`, `/regex/`, `field:value` and `field:one,two`; `!` negates a
//! term. Letters match in both cases.

use super::text::contains;
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use regex::{Regex, RegexBuilder};
use std::cell::RefCell;
use std::ops::Range;

/// Memory limit of a compiled regular expression, in bytes.
const REGEX_SIZE: usize = 1 << 20;

/// Field of the rows of a list, which a term can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    /// Allowed values; if there are none, a term matches a part of any value.
    pub values: &'static [&'static str],
}

/// Creates a field with any value.
pub const fn text_field(name: &'static str) -> Field {
    Field { name, values: &[] }
}

/// Query that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadQuery {
    #[error("invalid regular expression: {0}")]
    Regex(String),
    #[error("no field {name:?} here, only {fields}; quote the text to match it as it is")]
    Field { name: String, fields: String },
    #[error("this list has no fields; quote \"{0}:\" to match the text")]
    NoFields(String),
    #[error("no {field} {value:?}; use {allowed}")]
    Value {
        field: &'static str,
        value: String,
        allowed: String,
    },
    #[error("the term {0:?} has no text")]
    Empty(String),
}

/// Test of one term.
#[derive(Debug)]
enum Test {
    /// Lower-case text that the row contains.
    Contains(String),
    Fuzzy(Pattern),
    Regex(Regex),
    /// Any of the lower-case values.
    Field(Field, Vec<String>),
}

#[derive(Debug)]
struct Term {
    negated: bool,
    test: Test,
}

/// Parsed query.
#[derive(Debug)]
pub struct Query {
    terms: Vec<Term>,
    /// Used by fuzzy terms only; it allocates its memory once.
    matcher: RefCell<Option<Matcher>>,
}

/// Texts of a row that a query looks at.
pub struct Texts<'a> {
    /// Name of the row, which fuzzy terms match: in a long text nearly everything would match.
    pub name: &'a str,
    pub all: &'a str,
    /// Returns the value of a field.
    pub field: &'a dyn Fn(&str) -> String,
}

impl Query {
    /// Parses a query for a list with some fields.
    pub fn parse(text: &str, fields: &[Field]) -> Result<Self, BadQuery> {
        let mut terms = Vec::new();
        for source in split(text) {
            let term = &text[source];
            let positive = term.trim_start_matches('!');
            let negated = (term.len() - positive.len()) % 2 == 1;
            let test = test(positive, fields)?.ok_or_else(|| BadQuery::Empty(term.to_owned()))?;
            terms.push(Term { negated, test });
        }
        Ok(Self {
            terms,
            matcher: RefCell::new(None),
        })
    }

    /// Returns true if all terms match a row.
    pub fn matches(&self, row: &Texts<'_>) -> bool {
        self.terms
            .iter()
            .all(|term| self.tests(&term.test, row) != term.negated)
    }

    fn tests(&self, test: &Test, row: &Texts<'_>) -> bool {
        match test {
            Test::Contains(part) => contains(row.all, part),
            Test::Regex(regex) => regex.is_match(row.all),
            Test::Fuzzy(pattern) => {
                let mut matcher = self.matcher.borrow_mut();
                let matcher = matcher.get_or_insert_with(|| Matcher::new(Config::DEFAULT));
                let mut buffer = Vec::new();
                pattern
                    .score(Utf32Str::new(row.name, &mut buffer), matcher)
                    .is_some()
            }
            Test::Field(field, wanted) => {
                let value = (row.field)(field.name);
                wanted.iter().any(|w| match field.values {
                    [] => contains(&value, w),
                    _ => value == *w,
                })
            }
        }
    }
}

/// Returns the positions of the terms.
fn split(text: &str) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(|c: char| !c.is_whitespace()) {
        let start = at + start;
        let end = start + term_length(&text[start..]);
        all.push(start..end);
        at = end;
    }
    all
}

/// Length of the first term of a text. Blanks within quotes or a regular expression belong to the
/// term; without their end it is still being typed, and reaches to the end of the text.
fn term_length(text: &str) -> usize {
    let body = text.trim_start_matches('!');
    let before = text.len() - body.len();
    let quoted = |open: usize, quote: char| {
        let ends = |after: &str| after.is_empty() || after.starts_with([' ', '\t', ',']);
        let closing = |(i, c): &(usize, char)| *c == quote && ends(&body[i + 1..]);
        let mut chars = body.char_indices().skip_while(move |(i, _)| *i < open);
        chars.find(closing).map_or(body.len(), |(i, _)| i + 1)
    };
    let mut end = 0;
    // Values of a field may each be quoted, so that quotes can follow a colon or a comma.
    let mut may_quote = true;
    while let Some(c) = body[end..].chars().next().filter(|c| !c.is_whitespace()) {
        end = match c {
            '"' if may_quote => quoted(end + 1, '"'),
            '/' if end == 0 => quoted(1, '/'),
            _ => end + c.len_utf8(),
        };
        may_quote = matches!(c, ':' | ',' | '~');
    }
    before + end
}

/// Removes the quotes of a text.
fn unquoted(text: &str) -> &str {
    let inner = text.strip_prefix('"');
    inner.map_or(text, |t| t.strip_suffix('"').unwrap_or(t))
}

/// Parses a term without its negation; `None` if it has no text.
fn test(term: &str, fields: &[Field]) -> Result<Option<Test>, BadQuery> {
    if let Some(rest) = term.strip_prefix('/') {
        return regex(rest.strip_suffix('/').unwrap_or(rest));
    }
    if let Some(word) = term.strip_prefix('~').map(unquoted) {
        let pattern = Pattern::new(
            word,
            CaseMatching::Ignore,
            Normalization::Smart,
            AtomKind::Fuzzy,
        );
        return Ok((!word.is_empty()).then_some(Test::Fuzzy(pattern)));
    }
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic());
    match term.split_once(':') {
        Some((name, values)) if is_name(name) => field(name, values, fields),
        _ => {
            let word = unquoted(term).to_lowercase();
            Ok((!word.is_empty()).then_some(Test::Contains(word)))
        }
    }
}

fn regex(text: &str) -> Result<Option<Test>, BadQuery> {
    let compiled = RegexBuilder::new(text)
        .case_insensitive(true)
        .size_limit(REGEX_SIZE)
        .build();
    match compiled {
        Ok(regex) => Ok((!text.is_empty()).then_some(Test::Regex(regex))),
        // The last line has the reason; the others repeat the expression.
        Err(e) => Err(BadQuery::Regex(
            e.to_string()
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ")
                .to_owned(),
        )),
    }
}

fn field(name: &str, values: &str, fields: &[Field]) -> Result<Option<Test>, BadQuery> {
    let known = fields.iter().find(|f| f.name.eq_ignore_ascii_case(name));
    let Some(field) = known else {
        if fields.is_empty() {
            return Err(BadQuery::NoFields(name.to_owned()));
        }
        let names: Vec<&str> = fields.iter().map(|f| f.name).collect();
        return Err(BadQuery::Field {
            name: name.to_owned(),
            fields: names.join(", "),
        });
    };
    let wanted: Vec<String> = alternatives(values)
        .into_iter()
        .map(str::to_lowercase)
        .filter(|v| !v.is_empty())
        .collect();
    if !field.values.is_empty()
        && let Some(value) = wanted.iter().find(|v| !field.values.contains(&v.as_str()))
    {
        return Err(BadQuery::Value {
            field: field.name,
            value: value.clone(),
            allowed: field.values.join(", "),
        });
    }
    Ok((!wanted.is_empty()).then_some(Test::Field(*field, wanted)))
}

/// Splits the values of a field at the commas outside quotes.
fn alternatives(values: &str) -> Vec<&str> {
    let mut quoted = false;
    let parts = values.split(|c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    });
    parts.map(unquoted).collect()
}

/// Returns the values of the first term of a field that is not negated.
pub fn term_of<'q>(query: &'q str, field: &str) -> Option<&'q str> {
    split(query)
        .into_iter()
        .find_map(|term| value_of(&query[term], field))
}

fn value_of<'q>(term: &'q str, field: &str) -> Option<&'q str> {
    let (name, values) = term.split_once(':')?;
    name.eq_ignore_ascii_case(field).then_some(values)
}

/// Replaces the terms of a field that are not negated by one, or removes them.
pub fn with_term(query: &str, field: &str, values: Option<&str>) -> String {
    let kept = split(query)
        .into_iter()
        .map(|term| &query[term])
        .filter(|term| value_of(term, field).is_none());
    let new = values.map(|v| format!("{field}:{v}"));
    let all: Vec<&str> = kept.chain(new.as_deref()).collect();
    all.join(" ")
}

/// Module path of an address, such as `module.a["x"].module.b`; empty for the root module.
pub fn module_of(address: &str) -> &str {
    let mut end = 0;
    while address[end..].starts_with("module.") {
        let name = end + "module.".len();
        end = name + part_length(&address[name..]);
        if address[end..].starts_with('.') {
            end += 1;
        }
    }
    address[..end].trim_end_matches('.')
}

/// Resource type of an address; empty if it names no resource.
pub fn type_of(address: &str) -> &str {
    let rest = address[module_of(address).len()..].trim_start_matches('.');
    let rest = rest.strip_prefix("data.").unwrap_or(rest);
    rest.split_once('.').map_or("", |(name, _)| name)
}

/// Value of the field `module` of an address. Also names the root module, which has no path.
pub fn module_value(address: &str) -> String {
    match module_of(address) {
        "" => "root module".to_owned(),
        path => path.to_owned(),
    }
}

/// Length of the first part of an address, with its key, which may contain dots and brackets.
fn part_length(text: &str) -> usize {
    let (mut quoted, mut escaped) = (false, false);
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '.' if !quoted => return i,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field] = &[
        Field {
            name: "action",
            values: &["create", "update"],
        },
        text_field("module"),
    ];

    fn matches(query: &str, address: &str) -> bool {
        let field = |name: &str| match name {
            "action" => "create".to_owned(),
            _ => module_value(address),
        };
        Query::parse(query, FIELDS).unwrap().matches(&Texts {
            name: address,
            all: &format!("{address} create first of its kind"),
            field: &field,
        })
    }

    #[test]
    fn all_terms_of_a_query_must_match() {
        let a = "module.svc[\"a.b\"].lab_server.web[2]";
        for (query, expected) in [
            ("", true),
            ("SERVER web", true),
            ("server disk", false),
            ("!disk server", true),
            ("!server", false),
            ("!!server", true),
            ("\"first of\"", true),
            ("\"of first\"", false),
            ("!\"of first\" web", true),
            ("svc[\"a.b\"]", true),
            ("~msvcweb", true),
            ("~kind", false),
            ("!~kind", true),
            ("/web\\[\\d+\\]/", true),
            ("/web\\[3/", false),
            ("/first of its/ !/second of/", true),
            ("/first of", true),
            ("/a|b/ disk", false),
            ("action:create", true),
            ("action:update", false),
            ("action:update,CREATE", true),
            ("!action:update", true),
            ("module:svc", true),
            ("module:\"svc[\\\"a.b\\\"]\"", false),
            ("module:svc[\"a.b\"]", true),
            ("module:other,\"svc[\"", true),
            ("module:\"root module\"", false),
            ("\"action:\"", false),
            ("12:30", false),
        ] {
            assert_eq!(matches(query, a), expected, "{query}");
        }
        assert!(matches("module:\"root module\"", "lab_server.web"));
    }

    #[test]
    fn unusable_queries_are_refused_with_the_allowed_words() {
        let error = |query: &str| Query::parse(query, FIELDS).unwrap_err().to_string();
        assert!(error("/(/").starts_with("invalid regular expression: unclosed group"));
        let long = error(&format!("/{}/", "(a{1000}){1000}"));
        assert!(long.starts_with("invalid regular expression: "), "{long}");
        assert!(error("arn:aws").contains("no field \"arn\" here, only action, module"));
        assert_eq!(
            error("action:drop"),
            "no action \"drop\"; use create, update"
        );
        for empty in ["!", "~", "action:", "module:,", "//", "\"\""] {
            assert!(error(empty).contains("has no text"), "{empty}");
        }
        let none = Query::parse("arn:aws", &[]).unwrap_err().to_string();
        assert!(none.contains("this list has no fields"), "{none}");
    }

    #[test]
    fn term_of_a_field_is_replaced_and_the_others_stay() {
        let query = "web action:create !action:update \"a  b\"";
        assert_eq!(term_of(query, "action"), Some("create"));
        assert_eq!(term_of("!action:update", "action"), None);
        assert_eq!(
            with_term(query, "action", Some("update")),
            "web !action:update \"a  b\" action:update"
        );
        assert_eq!(
            with_term("action:create", "action", None),
            String::new(),
            "the last term leaves nothing"
        );
    }

    #[test]
    fn module_and_type_of_an_address_respect_quoted_keys() {
        for (address, module, resource_type) in [
            ("a_b.c", "", "a_b"),
            ("data.a_b.c[\"x.y\"]", "", "a_b"),
            ("module.a.a_b.c", "module.a", "a_b"),
            (
                "module.a[\"x.y\"].module.b[0].data.t.n",
                "module.a[\"x.y\"].module.b[0]",
                "t",
            ),
            ("module.a[\"q\\\".z\"].t.n", "module.a[\"q\\\".z\"]", "t"),
            ("module.a", "module.a", ""),
            ("", "", ""),
        ] {
            assert_eq!(module_of(address), module, "{address}");
            assert_eq!(type_of(address), resource_type, "{address}");
        }
    }
}
