//! Starter block of a type: required arguments with placeholders, and comments from descriptions.

use cty::Type;
use cty::schema::{Attribute, Block, NestedBlock, NestedObject, Nesting};
use lang::addr::quote;
use lang::source::SourceMap;
use lang::syntax::is_identifier;
use provider::ProviderSchema;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// Maximum depth of nested blocks and types; a schema may nest without limit.
const MAX_DEPTH: usize = 12;
/// Maximum number of copies of a block that must be repeated.
const MAX_BLOCKS: u64 = 16;
/// Maximum length of a comment, in characters.
const MAX_COMMENT: usize = 240;
/// Width of comments, in characters.
const COMMENT_WIDTH: usize = 90;

/// Placeholders of strings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placeholders {
    /// `<NAME>`, to be replaced by people.
    Names,
    /// The prefix and the name of the argument, to be used as it is.
    Prefix(String),
}

/// Returns the starter block of a resource type, or of a data source as `data.TYPE`; `None` if the
/// provider has no such type. With `all` it also has the optional arguments.
#[must_use]
pub fn starter_text(schema: &ProviderSchema, type_name: &str, all: bool) -> Option<String> {
    let (scaffold, texts) = match type_name.strip_prefix("data.") {
        Some(name) => {
            let found = schema.data_sources.get(name)?;
            let text = schema.data_texts.get(name);
            (Scaffold::data(name, &found.block), text)
        }
        None => {
            let found = schema.resources.get(type_name)?;
            let text = schema.resource_texts.get(type_name);
            (Scaffold::resource(type_name, &found.block), text)
        }
    };
    // A starter has room for one paragraph only, so the summary is preferred.
    let about = texts.map(|text| match &*text.summary {
        "" => &*text.description,
        summary => summary,
    });
    let scaffold = scaffold.described(about).with_optional(all);
    Some(scaffold.text(&Placeholders::Names))
}

/// Starter block of a resource or a data source.
#[derive(Debug, Clone)]
pub struct Scaffold<'s> {
    keyword: &'static str,
    type_name: &'s str,
    block: &'s Block,
    about: Option<&'s str>,
    all: bool,
}

impl<'s> Scaffold<'s> {
    /// Creates the starter of a resource type.
    #[must_use]
    pub fn resource(type_name: &'s str, block: &'s Block) -> Self {
        Self {
            keyword: "resource",
            type_name,
            block,
            about: Some(&*block.description).filter(|text| !text.is_empty()),
            all: false,
        }
    }

    /// Creates the starter of a data source.
    #[must_use]
    pub fn data(type_name: &'s str, block: &'s Block) -> Self {
        Self {
            keyword: "data",
            ..Self::resource(type_name, block)
        }
    }

    /// Sets the description of the type, if the schema of the block has none.
    #[must_use]
    pub fn described(mut self, about: Option<&'s str>) -> Self {
        self.about = self.about.or(about.filter(|text| !text.is_empty()));
        self
    }

    /// Adds optional arguments, with null as their value, and optional blocks as comments.
    #[must_use]
    pub fn with_optional(mut self, all: bool) -> Self {
        self.all = all;
        self
    }

    /// Returns the block in the canonical format. With the placeholders filled, it has no effect
    /// other than that of its required arguments.
    #[must_use]
    pub fn text(&self, placeholders: &Placeholders) -> String {
        let writer = Writer {
            placeholders,
            all: self.all,
        };
        let mut out = String::new();
        let comment = self.about.map(shortened).unwrap_or_default();
        write_comment(&mut out, "", &comment);
        let (keyword, name) = (self.keyword, quote(self.type_name));
        // Writing to a text cannot fail.
        let _ = writeln!(out, "{keyword} {name} \"example\" {{");
        writer.body(&mut out, "  ", self.block, 0);
        out.push_str("}\n");
        canonical(out)
    }
}

/// Returns a text in the canonical format.
fn canonical(text: String) -> String {
    let file = SourceMap::new().add("starter.tf", text.as_str());
    // A starter that cannot be formatted can still be used.
    lang::format::format(&text, file).unwrap_or(text)
}

struct Writer<'p> {
    placeholders: &'p Placeholders,
    all: bool,
}

impl Writer<'_> {
    fn body(&self, out: &mut String, indent: &str, block: &Block, depth: usize) {
        // Native syntax cannot express an argument whose name is no identifier.
        let usable = |(name, _): &(&Arc<str>, &Attribute)| is_identifier(name);
        let arguments = || block.attributes.iter().filter(usable);
        for (name, attribute) in arguments().filter(|(_, a)| a.required) {
            self.comment(out, indent, attribute);
            let value = self.argument(name, attribute, depth);
            let _ = writeln!(out, "{indent}{name} = {value}");
        }
        for (name, attribute) in arguments().filter(|(name, a)| self.is_listed(name, a)) {
            self.comment(out, indent, attribute);
            // Null means the same to a provider as an absent argument.
            let _ = writeln!(out, "{indent}{name} = null");
        }
        self.blocks(out, indent, block, depth);
    }

    /// Returns true for an optional argument that is part of the text.
    fn is_listed(&self, name: &str, attribute: &Attribute) -> bool {
        // Older SDKs declare the `id` of every object as an argument.
        let is_id = name == "id" && attribute.computed;
        self.all && attribute.optional && !attribute.required && !attribute.deprecated && !is_id
    }

    fn blocks(&self, out: &mut String, indent: &str, block: &Block, depth: usize) {
        // At the maximum depth required blocks count as optional, which ends the recursion.
        let (required, optional): (Vec<_>, Vec<_>) = block
            .blocks
            .iter()
            .filter(|(name, nested)| is_identifier(name) && !nested.block.deprecated)
            .partition(|(_, nested)| nested.min_items > 0 && depth < MAX_DEPTH);
        for (name, nested) in required {
            for number in 1..=nested.min_items.min(MAX_BLOCKS) {
                self.block(out, indent, (name, nested), number, depth);
            }
        }
        if optional.is_empty() {
            return;
        }
        if !self.all {
            let names: Vec<&str> = optional.iter().map(|(name, _)| &***name).collect();
            let text = format!("Optional blocks: {}", names.join(", "));
            write_comment(out, indent, &text);
            return;
        }
        for (name, nested) in optional.into_iter().filter(|_| depth < MAX_DEPTH) {
            let mut text = String::new();
            self.block(&mut text, "", (name, nested), 1, depth);
            // Formatted by itself, because the format of comments is not changed later.
            for line in canonical(text).lines().filter(|line| !line.is_empty()) {
                let _ = writeln!(out, "{indent}# {line}");
            }
        }
    }

    fn block(
        &self,
        out: &mut String,
        indent: &str,
        (name, nested): (&str, &NestedBlock),
        number: u64,
        depth: usize,
    ) {
        out.push('\n');
        write_comment(out, indent, &shortened(&nested.block.description));
        // Each block of a map needs a key of its own.
        let label = match nested.nesting {
            Nesting::Map => format!(" \"key{number}\""),
            _ => String::new(),
        };
        let _ = writeln!(out, "{indent}{name}{label} {{");
        self.body(out, &format!("{indent}  "), &nested.block, depth + 1);
        let _ = writeln!(out, "{indent}}}");
    }

    fn comment(&self, out: &mut String, indent: &str, attribute: &Attribute) {
        let kind = match &attribute.nested {
            Some(nested) => nested.nesting_name().to_owned(),
            None => attribute.ty.friendly_constraint_name(),
        };
        let text = shortened(&attribute.description);
        // A full stop before the type in parentheses would end the sentence too early.
        let text = match text.trim_end_matches('.') {
            "" => kind,
            text => format!("{text} ({kind})"),
        };
        write_comment(out, indent, &text);
    }

    /// Returns the placeholder of an argument.
    fn argument(&self, name: &str, attribute: &Attribute, depth: usize) -> String {
        let Some(nested) = &attribute.nested else {
            return self.of_type(name, &attribute.ty, depth);
        };
        // Optional attributes are left out, because their absence means null.
        let required = nested.attributes.iter().filter(|(_, a)| a.required);
        let members = required.map(|(name, a)| (&**name, self.nested(name, a, depth)));
        let object = object(members);
        match nested.nesting {
            Nesting::Single | Nesting::Group => object,
            Nesting::List | Nesting::Set => format!("[{object}]"),
            Nesting::Map => format!("{{ \"key\" = {object} }}"),
        }
    }

    fn nested(&self, name: &str, attribute: &Attribute, depth: usize) -> String {
        match depth < MAX_DEPTH {
            true => self.argument(name, attribute, depth + 1),
            false => "null".to_owned(),
        }
    }

    fn of_type(&self, name: &str, ty: &Type, depth: usize) -> String {
        if depth >= MAX_DEPTH {
            return "null".to_owned();
        }
        let inner = |ty: &Type| self.of_type(name, ty, depth + 1);
        match ty {
            // A dynamic type accepts any value, so that a string fits.
            Type::String | Type::Dynamic => match self.placeholders {
                Placeholders::Names => quote(&format!("<{name}>")),
                Placeholders::Prefix(prefix) => quote(&format!("{prefix}{name}")),
            },
            Type::Number => "1".to_owned(),
            Type::Bool => "false".to_owned(),
            Type::List(element) | Type::Set(element) => format!("[{}]", inner(element)),
            Type::Map(element) => format!("{{ \"key\" = {} }}", inner(element)),
            Type::Tuple(elements) => {
                let elements: Vec<String> = elements.iter().map(inner).collect();
                format!("[{}]", elements.join(", "))
            }
            Type::Object(object_type) => {
                let members = object_type.attributes.iter();
                object(members.map(|(name, ty)| (&**name, self.of_type(name, ty, depth + 1))))
            }
        }
    }
}

/// Name of the kind of values of a nested type.
trait NestingName {
    fn nesting_name(&self) -> &'static str;
}

impl NestingName for NestedObject {
    fn nesting_name(&self) -> &'static str {
        match self.nesting {
            Nesting::Single | Nesting::Group => "object",
            Nesting::List => "list of object",
            Nesting::Set => "set of object",
            Nesting::Map => "map of object",
        }
    }
}

/// Returns an object expression, over several lines unless it is empty.
fn object<'n>(members: impl Iterator<Item = (&'n str, String)>) -> String {
    let members: BTreeMap<&str, String> = members.collect();
    if members.is_empty() {
        return "{}".to_owned();
    }
    let mut out = "{\n".to_owned();
    for (name, value) in members {
        let key = if is_identifier(name) {
            name.to_owned()
        } else {
            quote(name)
        };
        let _ = writeln!(out, "{key} = {value}");
    }
    out.push('}');
    out
}

/// Returns the first paragraph of a description on one line, bounded and without control
/// characters.
fn shortened(description: &str) -> String {
    let paragraph = description.trim().split("\n\n").next().unwrap_or_default();
    // Any kind of line break would end the comment and turn the rest into configuration.
    let words: Vec<&str> = paragraph
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    let text = words.join(" ");
    if text.chars().count() <= MAX_COMMENT {
        return text;
    }
    let cut: String = text.chars().take(MAX_COMMENT).collect();
    let end = cut.rfind(' ').unwrap_or(cut.len());
    format!("{}…", &cut[..end])
}

fn write_comment(out: &mut String, indent: &str, text: &str) {
    let mut line = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let length = line.chars().count() + word.chars().count();
        if !line.is_empty() && length >= COMMENT_WIDTH {
            let _ = writeln!(out, "{indent}# {line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        let _ = writeln!(out, "{indent}# {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(ty: Type, required: bool, description: &str) -> Attribute {
        Attribute {
            required,
            optional: !required,
            description: description.to_owned(),
            ty,
            ..Attribute::default()
        }
    }

    fn nested(min_items: u64, nesting: Nesting) -> NestedBlock {
        let attributes = [
            ("port".into(), attribute(Type::Number, true, "Port.")),
            ("note".into(), attribute(Type::String, false, "")),
        ];
        let block = Block {
            attributes: attributes.into(),
            ..Block::default()
        };
        NestedBlock {
            min_items,
            ..NestedBlock::new(nesting, block)
        }
    }

    fn block() -> Block {
        let pair = Type::object([("a", Type::String), ("b c", Type::Bool)]);
        let id = Attribute::optional_computed(Type::String);
        let attributes = [
            ("id".into(), id),
            (
                "name".into(),
                attribute(Type::String, true, "Name\nof\tit.\n\nMore."),
            ),
            ("pairs".into(), attribute(Type::list(pair), true, "")),
            ("tags".into(), attribute(Type::map(Type::String), false, "")),
            ("not valid".into(), attribute(Type::String, true, "")),
        ];
        let blocks = [
            ("rule".into(), nested(2, Nesting::List)),
            ("zone".into(), nested(1, Nesting::Map)),
            ("timeouts".into(), nested(0, Nesting::Single)),
        ];
        Block {
            attributes: attributes.into(),
            blocks: blocks.into(),
            description: "A bucket".to_owned(),
            ..Block::default()
        }
    }

    #[test]
    fn required_arguments_and_blocks_are_written_in_canonical_format() {
        let block = block();
        let text = Scaffold::resource("acme_bucket", &block).text(&Placeholders::Names);
        let expected = r#"# A bucket
resource "acme_bucket" "example" {
  # Name of it (string)
  name = "<name>"
  # list of object
  pairs = [{
    a     = "<a>"
    "b c" = false
  }]

  rule {
    # Port (number)
    port = 1
  }

  rule {
    # Port (number)
    port = 1
  }

  zone "key1" {
    # Port (number)
    port = 1
  }
  # Optional blocks: timeouts
}
"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn optional_arguments_are_null_and_optional_blocks_are_comments() {
        let block = block();
        let scaffold = Scaffold::data("acme_bucket", &block).with_optional(true);
        let text = scaffold.text(&Placeholders::Prefix("test-".to_owned()));
        for line in [
            "data \"acme_bucket\" \"example\" {",
            "  name = \"test-name\"",
            "  tags = null",
            "    note = null",
            "  # timeouts {",
            "  #   port = 1",
            "  # }",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}:\n{text}");
        }
        assert!(!text.contains("id ="), "{text}");
        assert_eq!(canonical(text.clone()), text);
    }

    #[test]
    fn descriptions_cannot_end_their_comment() {
        for hostile in ["a\r} resource \"x\" \"y\" {", "b\u{1b}[2J", "c\u{85}d"] {
            let text = shortened(hostile);
            assert!(!text.chars().any(char::is_control), "{text:?}");
        }
        assert!(shortened(&"long ".repeat(1_000)).chars().count() <= MAX_COMMENT + 1);
    }
}
