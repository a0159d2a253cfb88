//! YAML writer for `yamlencode`: block style, quoted strings and keys, literal blocks for
//! multi-line text, long quoted lines folded at column 80. Keeps the state of one document.

use cty::{Type, Value};

/// Column at which quoted text is folded.
const WIDTH: usize = 80;

/// Encodes a wholly known value as a document.
pub(super) fn write(value: &Value) -> Result<String, String> {
    let mut writer = Writer {
        out: String::new(),
        column: 0,
        fresh: true,
        open_ended: false,
    };
    writer.node(value, None, false)?;
    writer.indent(0);
    if writer.open_ended {
        // A plain scalar or a kept line break at the end of the document needs an end marker.
        writer.out.push_str("...\n");
    }
    Ok(writer.out)
}

struct Writer {
    out: String,
    /// Characters on the current line.
    column: usize,
    /// The current line has only indentation and markers so far.
    fresh: bool,
    /// The document needs an end marker.
    open_ended: bool,
}

/// Properties of a text that decide how it can be written.
struct Shape {
    multiline: bool,
    literal: bool,
}

fn printable(c: char) -> bool {
    matches!(c, '\n' | '\u{20}'..='\u{7E}' | '\u{A0}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}')
        && c != '\u{FEFF}'
}

fn breaks(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn shape(text: &str) -> Shape {
    let mut multiline = false;
    let mut special = false;
    let mut space_break = false;
    let mut before = None;
    for c in text.chars() {
        special |= !printable(c);
        if breaks(c) {
            multiline = true;
            space_break |= before == Some(' ');
        }
        before = Some(c);
    }
    Shape {
        multiline,
        literal: !text.is_empty() && !text.ends_with(' ') && !space_break && !special,
    }
}

impl Writer {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
        self.fresh = false;
    }

    fn line(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    /// Starts a line at this indentation, unless the current one is empty up to there.
    fn indent(&mut self, to: usize) {
        if !self.fresh || self.column > to {
            self.line();
        }
        while self.column < to {
            self.out.push(' ');
            self.column += 1;
        }
        self.fresh = true;
    }

    /// Adds a space unless at the start of a line.
    fn separate(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with([' ', '\n']) {
            self.put(" ");
        }
    }

    /// `depth` is the indentation of the enclosing container, if any; `in_mapping` is true for a
    /// mapping.
    fn node(
        &mut self,
        value: &Value,
        depth: Option<usize>,
        in_mapping: bool,
    ) -> Result<(), String> {
        if value.is_null() {
            self.write_plain("null", depth.is_none());
            return Ok(());
        }
        match value.ty() {
            Type::String => self.text(value.as_str().unwrap_or_default(), depth),
            Type::Number => {
                let number = value
                    .as_number()
                    .ok_or("cannot serialize unknown value as YAML")?;
                self.write_plain(&number.to_text(), depth.is_none());
            }
            Type::Bool => self.write_plain(
                if value.as_bool() == Some(true) {
                    "true"
                } else {
                    "false"
                },
                depth.is_none(),
            ),
            Type::Tuple(_) | Type::List(_) | Type::Set(_) => {
                self.sequence(value, depth, in_mapping)?
            }
            Type::Object(_) | Type::Map(_) => self.mapping(value, depth)?,
            Type::Dynamic => return Err("cannot serialize unknown value as YAML".to_owned()),
        }
        Ok(())
    }

    fn write_plain(&mut self, text: &str, root: bool) {
        self.separate();
        self.put(text);
        self.open_ended |= root;
    }

    fn sequence(
        &mut self,
        value: &Value,
        depth: Option<usize>,
        in_mapping: bool,
    ) -> Result<(), String> {
        if value.is_empty() {
            self.separate();
            self.put("[]");
            return Ok(());
        }
        // A list as a value has the indentation of its key.
        let here = match depth {
            None => 0,
            Some(depth) if in_mapping && !self.fresh => depth,
            Some(depth) => depth + 2,
        };
        for item in value.children() {
            self.indent(here);
            self.out.push('-');
            self.column += 1;
            self.marker();
            self.node(item, Some(here), false)?;
        }
        Ok(())
    }

    /// A container may start on the line of a `-`, `?` or `:`.
    fn marker(&mut self) {
        self.out.push(' ');
        self.column += 1;
        self.fresh = true;
    }

    fn mapping(&mut self, value: &Value, depth: Option<usize>) -> Result<(), String> {
        if value.is_empty() {
            self.separate();
            self.put("{}");
            return Ok(());
        }
        let here = depth.map_or(0, |depth| depth + 2);
        for (key, item) in value.as_map().into_iter().flatten() {
            self.indent(here);
            // YAML limits the length of simple keys, and they must be on one line.
            let simple = !shape(key).multiline && key.len() <= 128;
            if simple {
                self.quoted(key, None);
                self.put(":");
            } else {
                self.out.push('?');
                self.column += 1;
                self.marker();
                self.text(key, Some(here));
                self.indent(here);
                self.out.push(':');
                self.column += 1;
                self.marker();
            }
            self.node(item, Some(here), true)?;
        }
        Ok(())
    }

    fn text(&mut self, text: &str, depth: Option<usize>) {
        self.separate();
        if text.contains('\n') && shape(text).literal {
            self.literal(text, depth);
        } else {
            self.quoted(text, Some(depth.map_or(0, |d| d + 2)));
        }
    }

    /// A `|` block.
    fn literal(&mut self, text: &str, depth: Option<usize>) {
        self.put("|");
        // Without an explicit indentation, leading white space would be taken for it.
        if text.starts_with([' ', '\n']) {
            self.put("2");
        }
        let mut backwards = text.chars().rev();
        self.open_ended = false;
        match (backwards.next(), backwards.next()) {
            // The text has no line break at its end, so the block must not add one.
            (Some(last), _) if !breaks(last) => self.put("-"),
            (Some(_), None) => {
                // `|` alone would drop a text that is only a line break.
                self.put("+");
                self.open_ended = true;
            }
            (Some(_), Some(before)) if breaks(before) => {
                // `|` alone would drop all line breaks after the first.
                self.put("+");
                self.open_ended = true;
            }
            _ => {}
        }
        self.line();
        let indent = depth.map_or(0, |d| d + 2);
        for line in text.split_inclusive(breaks) {
            let body = line.trim_end_matches(breaks);
            if !body.is_empty() {
                self.out.push_str(&" ".repeat(indent));
                self.out.push_str(body);
                self.column = indent + body.chars().count();
            }
            if body.len() < line.len() {
                self.out.push_str(if line.ends_with('\n') {
                    "\n"
                } else {
                    &line[body.len()..]
                });
                self.column = 0;
            }
        }
        self.fresh = self.column == 0;
    }

    /// Writes a `"…"` text. With `fold`, folds it at spaces beyond the width; the value is the
    /// indentation of further lines.
    fn quoted(&mut self, text: &str, fold: Option<usize>) {
        self.put("\"");
        let chars: Vec<char> = text.chars().collect();
        let mut spaces = false;
        let mut at = 0;
        while at < chars.len() {
            let c = chars[at];
            if !printable(c) || breaks(c) || matches!(c, '"' | '\\') {
                let escape = escaped(c);
                self.put(&escape);
                spaces = false;
            } else if c == ' ' {
                match fold {
                    Some(indent)
                        if !spaces && self.column > WIDTH && at > 0 && at < chars.len() - 1 =>
                    {
                        self.line();
                        self.out.push_str(&" ".repeat(indent));
                        self.column = indent;
                        // A space at the start of a line would count as indentation.
                        if chars[at + 1] == ' ' {
                            self.put("\\");
                        }
                    }
                    _ => self.put(" "),
                }
                spaces = true;
            } else {
                self.put(c.encode_utf8(&mut [0; 4]));
                spaces = false;
            }
            at += 1;
        }
        self.put("\"");
    }
}

fn escaped(c: char) -> String {
    let letter = match c {
        '\0' => "0",
        '\u{7}' => "a",
        '\u{8}' => "b",
        '\t' => "t",
        '\n' => "n",
        '\u{b}' => "v",
        '\u{c}' => "f",
        '\r' => "r",
        '\u{1b}' => "e",
        '"' => "\"",
        '\\' => "\\",
        '\u{85}' => "N",
        '\u{a0}' => "_",
        '\u{2028}' => "L",
        '\u{2029}' => "P",
        _ => "",
    };
    let code = c as u32;
    match (letter, code) {
        ("", ..=0xFF) => format!("\\x{code:02X}"),
        ("", ..=0xFFFF) => format!("\\u{code:04X}"),
        ("", _) => format!("\\U{code:08X}"),
        (letter, _) => format!("\\{letter}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(members: &[(&str, Value)]) -> Value {
        Value::object(members.iter().cloned())
    }

    #[test]
    fn yaml_containers_are_blocks_and_strings_are_quoted() {
        let value = object(&[
            (
                "list",
                Value::tuple(vec![
                    "a".into(),
                    Value::tuple(vec![Value::int(1), Value::int(2)]),
                    object(&[("k", true.into())]),
                ]),
            ),
            (
                "map",
                object(&[
                    ("x", Value::null(Type::String)),
                    ("y", Value::empty_object()),
                    ("z", Value::empty_tuple()),
                ]),
            ),
        ]);
        let want = "\"list\":\n- \"a\"\n- - 1\n  - 2\n- \"k\": true\n\"map\":\n  \"x\": null\n  \"y\": {}\n  \"z\": []\n";
        assert_eq!(write(&value).unwrap(), want);
    }

    #[test]
    fn yaml_scalar_document_ends_with_a_marker() {
        assert_eq!(write(&Value::int(1)).unwrap(), "1\n...\n");
        assert_eq!(write(&"x".into()).unwrap(), "\"x\"\n");
    }

    #[test]
    fn yaml_multiline_strings_become_literal_blocks() {
        assert_eq!(
            write(&object(&[("a", "x\n y\n".into())])).unwrap(),
            "\"a\": |\n  x\n   y\n"
        );
        assert_eq!(
            write(&object(&[("a", "x\ny".into())])).unwrap(),
            "\"a\": |-\n  x\n  y\n"
        );
        assert_eq!(
            write(&object(&[("a", "x \ny".into())])).unwrap(),
            "\"a\": \"x \\ny\"\n"
        );
    }
}
