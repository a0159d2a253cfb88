//! Documentation of a provider from its schema, as Markdown.

use crate::scaffold::starter_text;
use crate::schema_changes::{collection, marks};
use cty::Type;
use cty::schema::{Attribute, Block, NestedBlock, NestedObject, Nesting, Schema, TextKind};
use model::visible;
use provider::{FunctionParameter, FunctionSignature, ProviderSchema, TypeText};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// Maximum depth of nested schemas; a schema may nest without limit.
const MAX_DEPTH: usize = 12;

/// One page of the documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Path below the directory of the documentation, with `/`: `resources/bucket.md`.
    pub path: String,
    /// Markdown.
    pub text: String,
}

/// Renders a page for the provider and one for each resource, data source, ephemeral resource and
/// function. `name` is the local name of the provider, with which its types begin. The paths are
/// those that registries expect in the directory `docs`.
#[must_use]
pub fn documentation(name: &str, schema: &ProviderSchema) -> Vec<Page> {
    let mut pages = vec![index(name, schema)];
    let short = |kind: &str| {
        // Registries name a page after the type without the name of its provider.
        let rest = kind.strip_prefix(name).and_then(|k| k.strip_prefix('_'));
        file_name(rest.unwrap_or(kind))
    };
    for (kind, found) in schema.resources.iter() {
        let page = TypePage {
            title: format!("{kind} (resource)"),
            text: schema.resource_texts.get(kind),
            example: starter_text(schema, kind, false),
            identity: schema.identities.get(kind).map(|identity| &identity.ty),
        };
        pages.push(page.of(format!("resources/{}.md", short(kind)), found));
    }
    for (kind, found) in schema.data_sources.iter() {
        let page = TypePage {
            title: format!("{kind} (data source)"),
            text: schema.data_texts.get(kind),
            example: starter_text(schema, &format!("data.{kind}"), false),
            identity: None,
        };
        pages.push(page.of(format!("data-sources/{}.md", short(kind)), found));
    }
    for (kind, found) in schema.ephemeral.iter() {
        let page = TypePage {
            title: format!("{kind} (ephemeral resource)"),
            text: None,
            // Starters exist for resources and data sources only.
            example: None,
            identity: None,
        };
        pages.push(page.of(format!("ephemeral-resources/{}.md", short(kind)), found));
    }
    let functions = schema.functions.iter();
    pages.extend(functions.map(|(function, signature)| Page {
        path: format!("functions/{}.md", file_name(function)),
        text: function_page(name, function, signature),
    }));
    pages
}

/// Returns a name without separators of paths: the schema comes from the plugin.
fn file_name(name: &str) -> String {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    name.chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .collect()
}

fn index(name: &str, schema: &ProviderSchema) -> Page {
    let block = &schema.provider.block;
    let mut text = format!("# {} provider\n", inline(name));
    push_about(&mut text, block, None);
    push_schema(&mut text, block);
    let resources: Vec<&str> = schema.resources.iter().map(|(kind, _)| &**kind).collect();
    let data: Vec<&str> = schema
        .data_sources
        .iter()
        .map(|(kind, _)| &**kind)
        .collect();
    let ephemeral: Vec<&str> = schema.ephemeral.iter().map(|(kind, _)| &**kind).collect();
    let functions: Vec<&str> = schema.functions.keys().map(String::as_str).collect();
    for (title, names) in [
        ("Resources", resources),
        ("Data sources", data),
        ("Ephemeral resources", ephemeral),
        ("Functions", functions),
    ] {
        if names.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n## {title}\n");
        for name in names {
            let _ = writeln!(text, "- `{}`", inline(name));
        }
    }
    Page {
        path: "index.md".to_owned(),
        text,
    }
}

/// Page of a type, apart from its schema.
struct TypePage<'s> {
    title: String,
    text: Option<&'s TypeText>,
    example: Option<String>,
    identity: Option<&'s Type>,
}

impl TypePage<'_> {
    fn of(&self, path: String, schema: &Schema) -> Page {
        let mut text = format!("# {}\n", inline(&self.title));
        push_about(&mut text, &schema.block, self.text);
        if let Some(example) = &self.example {
            let _ = write!(text, "\n## Example\n\n{}", fenced("terraform", example));
        }
        for example in self.text.iter().flat_map(|text| &text.examples) {
            // The schema does not name the language of the plugin's examples.
            let _ = write!(text, "\n{}", fenced("", example));
        }
        push_schema(&mut text, &schema.block);
        if let Some(Type::Object(identity)) = self.identity {
            text.push_str(
                "\n## Identity\n\nThe attributes that identify an object in an import:\n\n",
            );
            for (name, ty) in &identity.attributes {
                let _ = writeln!(text, "- `{}` ({})", inline(name), type_text(ty));
            }
        }
        Page { path, text }
    }
}

fn push_about(out: &mut String, block: &Block, text: Option<&TypeText>) {
    if block.deprecated {
        let _ = writeln!(
            out,
            "\n**Deprecated.** {}",
            plain(&block.deprecation_message)
        );
    }
    let own = described(&block.description, block.description_kind);
    let more = text.into_iter().flat_map(|t| [&t.summary, &t.description]);
    // A plugin may give one text both for the block and for the type.
    let mut seen = String::new();
    for paragraph in std::iter::once(own).chain(more.map(|text| plain(text))) {
        if !paragraph.is_empty() && paragraph != seen {
            let _ = writeln!(out, "\n{paragraph}");
            seen = paragraph;
        }
    }
}

/// Members of a block or of an object.
struct Members<'s> {
    attributes: &'s BTreeMap<Arc<str>, Attribute>,
    blocks: Option<&'s BTreeMap<Arc<str>, NestedBlock>>,
}

fn push_schema(out: &mut String, block: &Block) {
    if block.attributes.is_empty() && block.blocks.is_empty() {
        // A heading without members would announce an empty section.
        return;
    }
    out.push_str("\n## Schema\n");
    let members = Members {
        attributes: &block.attributes,
        blocks: Some(&block.blocks),
    };
    push_members(out, &members, "", 0);
}

fn push_members(out: &mut String, members: &Members<'_>, path: &str, depth: usize) {
    let mut groups = [
        ("Required", Vec::new()),
        ("Optional", Vec::new()),
        ("Read-only", Vec::new()),
    ];
    let mut nested = Vec::new();
    for (name, attribute) in members.attributes {
        let group = match (attribute.required, attribute.optional) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
        groups[group].1.push(attribute_line(name, attribute, path));
        if let Some(inner) = &attribute.nested {
            nested.push((joined(path, name), Inner::Object(inner)));
        }
    }
    for (name, block) in members.blocks.into_iter().flatten() {
        // A block has no flags of its own; only its minimum makes it required.
        let group = usize::from(block.min_items == 0);
        groups[group].1.push(block_line(name, block, path));
        nested.push((joined(path, name), Inner::Block(block)));
    }
    for (title, lines) in groups.iter().filter(|(_, lines)| !lines.is_empty()) {
        let _ = writeln!(out, "\n### {title}{}\n", in_path(path));
        lines.iter().for_each(|line| out.push_str(line));
    }
    // A heading inside a list would end the list, so nested parts follow after it.
    for (path, inner) in nested {
        if depth + 1 >= MAX_DEPTH {
            let _ = writeln!(
                out,
                "\n`{}` nests deeper than this page shows.",
                inline(&path)
            );
            continue;
        }
        let members = match inner {
            Inner::Object(object) => Members {
                attributes: &object.attributes,
                blocks: None,
            },
            Inner::Block(block) => Members {
                attributes: &block.block.attributes,
                blocks: Some(&block.block.blocks),
            },
        };
        push_members(out, &members, &path, depth + 1);
    }
}

enum Inner<'s> {
    Object(&'s NestedObject),
    Block(&'s NestedBlock),
}

fn joined(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

fn in_path(path: &str) -> String {
    match path {
        "" => String::new(),
        path => format!(" in `{}`", inline(path)),
    }
}

fn attribute_line(name: &str, attribute: &Attribute, path: &str) -> String {
    let mut facts = vec![match &attribute.nested {
        Some(object) => collection(object.nesting, "object"),
        None => type_text(&attribute.ty),
    }];
    facts.extend(marks(attribute).map(str::to_owned));
    let mut text = described(&attribute.description, attribute.description_kind);
    if !attribute.deprecation_message.is_empty() {
        let _ = write!(text, " {}", plain(&attribute.deprecation_message));
    }
    if attribute.nested.is_some() {
        let _ = write!(text, " See `{}` below.", inline(&joined(path, name)));
    }
    item(name, &facts.join(", "), &text)
}

fn block_line(name: &str, block: &NestedBlock, path: &str) -> String {
    let mut facts = collection(block.nesting, "block");
    for (limit, words) in [(block.min_items, "at least"), (block.max_items, "at most")] {
        // Blocks of these kinds occur at most once, so that limits add nothing.
        if limit > 0 && !matches!(block.nesting, Nesting::Single | Nesting::Group) {
            let _ = write!(facts, ", {words} {limit}");
        }
    }
    if block.block.deprecated {
        facts.push_str(", deprecated");
    }
    let mut text = described(&block.block.description, block.block.description_kind);
    let _ = write!(text, " See `{}` below.", inline(&joined(path, name)));
    item(name, &facts, &text)
}

/// Renders an item of a list. Further lines of the text are indented, so that they stay in it.
fn item(name: &str, facts: &str, text: &str) -> String {
    let text = text.trim().replace('\n', "\n  ");
    let line = format!("- `{}` ({facts}) {text}", inline(name));
    format!("{}\n", line.trim_end())
}

fn function_page(provider: &str, name: &str, function: &FunctionSignature) -> String {
    let mut text = format!("# {} (function)\n", inline(name));
    if !function.deprecation.is_empty() {
        let _ = writeln!(text, "\n**Deprecated.** {}", plain(&function.deprecation));
    }
    for paragraph in [&function.summary, &function.description] {
        if !paragraph.is_empty() {
            let _ = writeln!(text, "\n{}", plain(paragraph));
        }
    }
    let all = || function.parameters.iter().chain(&function.variadic);
    let last = function.variadic.as_ref();
    let shown = |p: &FunctionParameter| {
        // Compared by place, because the variadic parameter may equal another one.
        let dots = if last.is_some_and(|v| std::ptr::eq(v, p)) {
            "..."
        } else {
            ""
        };
        format!("{}{dots} {}", inline(&p.name), type_text(&p.ty))
    };
    let parameters: Vec<String> = all().map(shown).collect();
    let signature = format!(
        "provider::{}::{}({}) {}\n",
        inline(provider),
        inline(name),
        parameters.join(", "),
        type_text(&function.returns)
    );
    let _ = write!(text, "\n## Signature\n\n{}", fenced("text", &signature));
    if all().next().is_some() {
        text.push_str("\n## Arguments\n\n");
        for parameter in all() {
            let null = if parameter.allow_null {
                ", may be null"
            } else {
                ""
            };
            let facts = format!("{}{null}", type_text(&parameter.ty));
            text.push_str(&item(
                &parameter.name,
                &facts,
                &plain(&parameter.description),
            ));
        }
    }
    text
}

fn type_text(ty: &Type) -> String {
    inline(&ty.friendly_name())
}

fn described(text: &str, kind: TextKind) -> String {
    match kind {
        TextKind::Markdown => clean(text),
        TextKind::Plain => plain(text),
    }
}

/// Escapes a text so that Markdown shows it as it is.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in clean(text).chars() {
        if matches!(c, '*' | '_' | '`' | '<' | '[' | ']' | '#' | '|' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Returns a name without characters that end a line or a code span.
fn inline(text: &str) -> String {
    // Escapes have no effect in a code span, so backticks are removed instead.
    let is_shown = |c: &char| !c.is_control() && *c != '`';
    let shown: String = text.chars().filter(is_shown).collect();
    visible::one_line(&shown).into_owned()
}

/// Removes control characters and blanks at the ends, and escapes invisible characters.
fn clean(text: &str) -> String {
    // Selectors of emoji and fixed blanks are common in descriptions, and hide nothing.
    let kept = |c: &char| *c == '\n' || *c == '\t' || !(c.is_control() || *c == '\u{fe0f}');
    let kept: String = text.trim().chars().filter(kept).collect();
    visible::lines(&kept.replace('\u{a0}', " ")).into_owned()
}

/// Encloses a text in a fence that is longer than any run of backticks in it.
fn fenced(language: &str, text: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len);
    // Markdown requires at least three backticks.
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", clean(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(name: &str, attribute: Attribute) -> (Arc<str>, Attribute) {
        (name.into(), attribute)
    }

    fn schema() -> ProviderSchema {
        let port = Attribute::required(Type::Number).describe("Port of the rule");
        let rule = NestedBlock {
            block: Block {
                attributes: [attribute("port", port)].into(),
                ..Block::default()
            },
            nesting: Nesting::List,
            min_items: 0,
            max_items: 4,
        };
        let secret = Attribute {
            optional: true,
            sensitive: true,
            description: "Text with *stars*\nand a second line".to_owned(),
            ..Attribute::default()
        };
        let bucket = Block {
            attributes: [
                attribute(
                    "name",
                    Attribute::required(Type::String).describe("Its name"),
                ),
                attribute("secret", secret),
                attribute("id", Attribute::computed(Type::String)),
            ]
            .into(),
            blocks: [("rule".into(), rule)].into(),
            description: "A `bucket`.".to_owned(),
            description_kind: TextKind::Markdown,
            ..Block::default()
        };
        let double = FunctionSignature {
            parameters: vec![FunctionParameter {
                name: "of".to_owned(),
                ty: Type::Number,
                allow_null: true,
                allow_unknown: false,
                description: "Number to double".to_owned(),
            }],
            variadic: None,
            returns: Type::Number,
            summary: "Doubles a number".to_owned(),
            description: String::new(),
            deprecation: String::new(),
        };
        ProviderSchema {
            resources: [("acme_bucket".to_owned(), Schema::new(0, bucket))].into(),
            functions: [("double".to_owned(), double)].into(),
            ..ProviderSchema::default()
        }
    }

    fn page(path: &str) -> String {
        let pages = documentation("acme", &schema());
        let paths: Vec<&str> = pages.iter().map(|page| page.path.as_str()).collect();
        let found = pages.iter().find(|page| page.path == path);
        found.unwrap_or_else(|| panic!("{paths:?}")).text.clone()
    }

    #[test]
    fn page_of_a_type_has_its_example_and_each_argument_with_its_description() {
        let text = page("resources/bucket.md");
        for part in [
            "# acme_bucket (resource)\n\nA `bucket`.\n",
            "```terraform\n# A `bucket`.\nresource \"acme_bucket\" \"example\" {",
            "### Required\n\n- `name` (string) Its name\n",
            "- `rule` (list of blocks, at most 4) See `rule` below.\n",
            "- `secret` (string, sensitive) Text with \\*stars\\*\n  and a second line\n",
            "### Read-only\n\n- `id` (string)\n",
            "### Required in `rule`\n\n- `port` (number) Port of the rule\n",
        ] {
            assert!(text.contains(part), "no {part:?} in\n{text}");
        }
    }

    #[test]
    fn function_has_a_page_and_the_index_names_everything() {
        let text = page("functions/double.md");
        for part in [
            "# double (function)\n\nDoubles a number\n",
            "provider::acme::double(of number) number",
            "- `of` (number, may be null) Number to double\n",
        ] {
            assert!(text.contains(part), "no {part:?} in\n{text}");
        }
        let index = page("index.md");
        assert!(
            index.contains("## Resources\n\n- `acme_bucket`\n"),
            "{index}"
        );
        assert!(index.contains("## Functions\n\n- `double`\n"), "{index}");
    }

    #[test]
    fn names_and_texts_of_a_plugin_cannot_leave_their_place() {
        assert_eq!(file_name("../../etc/passwd"), "______etc_passwd");
        assert_eq!(plain("a <b> `c`\u{1b}[2J"), "a \\<b> \\`c\\`\\[2J");
        assert_eq!(fenced("", "a ``` b"), "````\na ``` b\n````\n");
        assert_eq!(inline("a`b\nc"), "abc");
        assert_eq!(inline("a\u{202e}b"), "a\\u{202e}b");
    }
}
