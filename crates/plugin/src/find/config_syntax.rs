//! Parser for the CLI configuration and the lock file: keys, blocks and literal values. The syntax
//! of the CLI configuration is older than the language's (block keys may be quoted strings), so the
//! language's parser cannot read it.

use thiserror::Error;

/// Value, or content of a block.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Text(String),
    Bool(bool),
    /// As written, not parsed.
    Number(String),
    List(Vec<Node>),
    Body(Vec<Item>),
}

/// `key = value` or `key "label" { … }`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub key: String,
    pub labels: Vec<String>,
    pub value: Node,
    pub line: usize,
}

/// Syntax error.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct TreeError {
    pub line: usize,
    pub what: String,
}

impl Node {
    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self {
            Some(text)
        } else {
            None
        }
    }

    /// Returns the items of a list of strings; `None` for anything else.
    pub(super) fn texts(&self) -> Option<Vec<String>> {
        let Self::List(items) = self else { return None };
        items.iter().map(|i| i.text().map(str::to_owned)).collect()
    }

    pub(super) fn items(&self) -> &[Item] {
        if let Self::Body(items) = self {
            items
        } else {
            &[]
        }
    }
}

/// Maximum nesting depth.
const DEPTH: usize = 32;

/// Parses a file in native syntax.
pub(super) fn parse(text: &str) -> Result<Vec<Item>, TreeError> {
    let mut reader = Reader {
        // Editors on Windows may write a byte order mark.
        rest: text.strip_prefix('\u{feff}').unwrap_or(text),
        line: 1,
        depth: 0,
    };
    let items = reader.body(false)?;
    Ok(items)
}

/// Parses the JSON form: an object whose members are items.
pub(super) fn parse_json(text: &str) -> Result<Vec<Item>, TreeError> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|e| TreeError {
        line: e.line(),
        what: format!("invalid JSON: {e}"),
    })?;
    match convert(value) {
        Node::Body(items) => Ok(items),
        _ => Err(TreeError {
            line: 1,
            what: "expected an object".to_owned(),
        }),
    }
}

fn convert(value: serde_json::Value) -> Node {
    use serde_json::Value;
    match value {
        Value::Null => Node::Text(String::new()),
        Value::Bool(b) => Node::Bool(b),
        Value::Number(n) => Node::Number(n.to_string()),
        Value::String(s) => Node::Text(s),
        Value::Array(items) => Node::List(items.into_iter().map(convert).collect()),
        Value::Object(members) => {
            let mut items = Vec::new();
            for (key, value) in members {
                let item = |value| Item {
                    key: key.clone(),
                    labels: Vec::new(),
                    value,
                    // serde_json does not report the lines of values.
                    line: 0,
                };
                match convert(value) {
                    // A list of objects stands for a repeated block.
                    Node::List(list)
                        if !list.is_empty() && list.iter().all(|n| matches!(n, Node::Body(_))) =>
                    {
                        items.extend(list.into_iter().map(item));
                    }
                    other => items.push(item(other)),
                }
            }
            Node::Body(items)
        }
    }
}

struct Reader<'t> {
    rest: &'t str,
    line: usize,
    depth: usize,
}

impl Reader<'_> {
    fn fail<T>(&self, what: impl Into<String>) -> Result<T, TreeError> {
        Err(TreeError {
            line: self.line,
            what: what.into(),
        })
    }

    fn skip(&mut self, bytes: usize) {
        self.line += self.rest[..bytes].matches('\n').count();
        self.rest = &self.rest[bytes..];
    }

    /// Skips whitespace, line ends and comments.
    fn skip_blank(&mut self) -> Result<(), TreeError> {
        loop {
            let rest = self.rest;
            if rest.starts_with('#') || rest.starts_with("//") {
                self.skip(rest.find('\n').unwrap_or(rest.len()));
            } else if rest.starts_with("/*") {
                match rest.find("*/") {
                    Some(end) => self.skip(end + 2),
                    None => return self.fail("unclosed comment"),
                }
            } else {
                match rest.find(|c: char| !c.is_whitespace()) {
                    Some(0) => return Ok(()),
                    Some(n) => self.skip(n),
                    None => {
                        self.skip(rest.len());
                        return Ok(());
                    }
                }
            }
        }
    }

    fn consume(&mut self, sign: char) -> Result<bool, TreeError> {
        self.skip_blank()?;
        let found = self.rest.starts_with(sign);
        if found {
            self.skip(sign.len_utf8());
        }
        Ok(found)
    }

    /// Enters a block or a list. The parser is recursive, so unlimited nesting could overflow the
    /// stack.
    fn enter(&mut self) -> Result<(), TreeError> {
        self.depth += 1;
        match self.depth > DEPTH {
            true => self.fail("blocks and lists are nested too deeply"),
            false => Ok(()),
        }
    }

    fn body(&mut self, nested: bool) -> Result<Vec<Item>, TreeError> {
        self.enter()?;
        let mut items = Vec::new();
        loop {
            if nested && self.consume('}')? {
                break;
            }
            self.skip_blank()?;
            if self.rest.is_empty() {
                if nested {
                    return self.fail("unclosed block");
                }
                break;
            }
            items.push(self.item()?);
            // Objects in the older syntax may separate items with commas.
            self.consume(',')?;
        }
        self.depth -= 1;
        Ok(items)
    }

    fn item(&mut self) -> Result<Item, TreeError> {
        let line = self.line;
        let key = self.key()?;
        let mut labels = Vec::new();
        loop {
            if self.consume('=')? || self.consume(':')? {
                return Ok(Item {
                    key,
                    labels,
                    value: self.value()?,
                    line,
                });
            }
            if self.consume('{')? {
                return Ok(Item {
                    key,
                    labels,
                    value: Node::Body(self.body(true)?),
                    line,
                });
            }
            match self.rest.chars().next() {
                Some('"') => labels.push(self.string()?),
                Some(c) => {
                    return self.fail(format!(
                        "unexpected `{c}` after `{key}`; expected a value or a block"
                    ));
                }
                None => return self.fail(format!("unexpected end of file after `{key}`")),
            }
        }
    }

    fn key(&mut self) -> Result<String, TreeError> {
        if self.rest.starts_with('"') {
            self.string()
        } else {
            self.word()
        }
    }

    fn word(&mut self) -> Result<String, TreeError> {
        let end = self
            .rest
            .find(|c: char| !(c.is_alphanumeric() || "_-.".contains(c)))
            .unwrap_or(self.rest.len());
        if end == 0 {
            let c = self.rest.chars().next().unwrap_or(' ');
            return self.fail(format!("unexpected `{c}`; expected a name"));
        }
        let word = self.rest[..end].to_owned();
        self.skip(end);
        Ok(word)
    }

    fn value(&mut self) -> Result<Node, TreeError> {
        if self.consume('{')? {
            return Ok(Node::Body(self.body(true)?));
        }
        if self.consume('[')? {
            self.enter()?;
            let mut items = Vec::new();
            while !self.consume(']')? {
                if self.rest.is_empty() {
                    return self.fail("unclosed list");
                }
                items.push(self.value()?);
                if !self.consume(',')? && !self.rest.starts_with(']') {
                    return self.fail("expected a comma in the list");
                }
            }
            self.depth -= 1;
            return Ok(Node::List(items));
        }
        if self.rest.starts_with('"') {
            return Ok(Node::Text(self.string()?));
        }
        let word = self.word()?;
        match word.as_str() {
            "true" => Ok(Node::Bool(true)),
            "false" => Ok(Node::Bool(false)),
            _ if word.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
                Ok(Node::Number(word))
            }
            _ => self.fail(format!("unexpected `{word}`; expected a literal value")),
        }
    }

    fn string(&mut self) -> Result<String, TreeError> {
        let mut out = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.skip(at + 1);
                    return Ok(out);
                }
                '\n' => break,
                '\\' => match chars.next().map(|(_, c)| c) {
                    Some('n') => out.push('\n'),
                    Some('t') => out.push('\t'),
                    Some('r') => out.push('\r'),
                    Some(c @ ('"' | '\\')) => out.push(c),
                    Some('u') => {
                        let digits: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                        match u32::from_str_radix(&digits, 16)
                            .ok()
                            .and_then(char::from_u32)
                        {
                            Some(c) => out.push(c),
                            None => {
                                return self
                                    .fail(format!("invalid escape `\\u{digits}` in a string"));
                            }
                        }
                    }
                    Some(c) => return self.fail(format!("invalid escape `\\{c}` in a string")),
                    None => break,
                },
                c => out.push(c),
            }
        }
        self.fail("unclosed string")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_configuration_block_and_attribute_syntax_is_parsed() {
        let text = r#"
            # comment
            plugin_cache_dir = "$HOME/cache" // another
            disable_checkpoint = true
            provider_installation {
              dev_overrides { "hashicorp/null" = "/dev/null" }
              /* in
                 between */
              filesystem_mirror {
                path = "/m"
                include = ["a/*", "b/\"c\"",]
              }
              direct {}
            }
            credentials "app.example" { token = "x" }
        "#;
        let items = parse(text).expect("read");
        assert_eq!(
            items.iter().map(|i| i.key.as_str()).collect::<Vec<_>>(),
            [
                "plugin_cache_dir",
                "disable_checkpoint",
                "provider_installation",
                "credentials"
            ]
        );
        let methods = items[2].value.items();
        assert_eq!(methods[0].value.items()[0].key, "hashicorp/null");
        assert_eq!(
            methods[1].value.items()[1].value.texts().expect("texts"),
            ["a/*", "b/\"c\""]
        );
        assert_eq!(methods[1].line, 9);
        assert_eq!(items[3].labels, ["app.example"]);
    }

    #[test]
    fn json_cli_configuration_gives_the_same_methods() {
        let items = parse_json(r#"{"provider_installation": {"filesystem_mirror": [{"path": "/a"}, {"path": "/b"}], "direct": {}}}"#)
            .expect("read");
        let methods = items[0].value.items();
        assert_eq!(
            methods.iter().map(|m| m.key.as_str()).collect::<Vec<_>>(),
            ["filesystem_mirror", "filesystem_mirror", "direct"]
        );
        assert!(parse_json("[]").is_err() && parse_json("{").is_err());
    }

    #[test]
    fn cli_configuration_errors_have_their_line() {
        for (text, line, what) in [
            ("a = 1\nb = {", 2, "unclosed block"),
            ("a\n\n= \"x", 3, "unclosed string"),
            ("a = [1 2]", 1, "comma"),
            ("a = var.x", 1, "literal"),
            ("\n}", 2, "expected a name"),
            ("/*", 1, "comment"),
            ("a = \"\\q\"", 1, "invalid escape"),
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.what.contains(what), "{text}: {error}");
        }
        assert!(parse(&"a {".repeat(10_000)).is_err());
    }
}
