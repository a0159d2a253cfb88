//! Bodies read by schema: the same questions to native and JSON bodies, and to bodies merged from
//! override files. What the schema does not name is an error (`content`) or stays for the next
//! reader (`partial_content`).

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::diag::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::syntax::json::{Node, NodeKind, Property};
pub use crate::syntax::{Attribute, Label};
use crate::syntax::{NativeBlock, NativeBody};

/// What a body may hold.
#[derive(Clone, Debug, Default)]
pub struct BodySchema {
    /// Arguments: name, and whether it must be there.
    pub attributes: Vec<(Arc<str>, bool)>,
    /// Blocks: type, and the names of their labels.
    pub blocks: Vec<(Arc<str>, Vec<Arc<str>>)>,
}

impl BodySchema {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Optional arguments.
    #[must_use]
    pub fn optional(mut self, names: &[&str]) -> Self {
        self.attributes
            .extend(names.iter().map(|n| (Arc::from(*n), false)));
        self
    }

    /// Required arguments.
    #[must_use]
    pub fn required(mut self, names: &[&str]) -> Self {
        self.attributes
            .extend(names.iter().map(|n| (Arc::from(*n), true)));
        self
    }

    /// A type of block with its labels.
    #[must_use]
    pub fn block(mut self, type_name: &str, labels: &[&str]) -> Self {
        self.blocks.push((
            type_name.into(),
            labels.iter().map(|l| Arc::from(*l)).collect(),
        ));
        self
    }
}

/// A block of either syntax.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its type.
    pub type_name: Arc<str>,
    /// The type alone.
    pub type_span: Span,
    /// Its labels, as many as the schema asked for.
    pub labels: Vec<Label>,
    /// What is in it.
    pub body: Body,
    /// The header (native: type and labels; JSON: the opening brace): the place of errors about the
    /// whole block.
    pub def_span: Span,
}

/// What a schema found in a body.
#[derive(Clone, Debug)]
pub struct Content {
    /// Arguments by name, in source order.
    pub attributes: IndexMap<Arc<str>, Attribute>,
    /// Blocks in source order.
    pub blocks: Vec<Block>,
    /// The place of an error about something that is missing.
    pub missing: Span,
}

impl Content {
    /// An argument.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.get(name)
    }

    /// The blocks of a type, in source order.
    pub fn blocks_of<'a>(&'a self, type_name: &'a str) -> impl Iterator<Item = &'a Block> {
        self.blocks
            .iter()
            .filter(move |b| &*b.type_name == type_name)
    }
}

type Names = BTreeSet<Arc<str>>;

/// A body of either syntax, or merged from two; cheap to clone.
#[derive(Clone, Debug)]
pub struct Body(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Native {
        body: Arc<NativeBody>,
        hidden_attributes: Arc<Names>,
        hidden_blocks: Arc<Names>,
    },
    Json {
        node: Arc<Node>,
        hidden: Arc<Names>,
    },
    Merged {
        base: Box<Body>,
        over: Box<Body>,
    },
    /// Two bodies as one, without either going first: what both define is a duplicate.
    Joined {
        first: Box<Body>,
        second: Box<Body>,
    },
    /// A body in which all blocks of one type are replaced by this one.
    WithBlock {
        body: Box<Body>,
        block: Box<Block>,
        taken: bool,
    },
    Empty(Span),
}

impl Body {
    /// A body of the native syntax.
    pub fn native(body: Arc<NativeBody>) -> Body {
        Body(Kind::Native {
            body,
            hidden_attributes: Arc::default(),
            hidden_blocks: Arc::default(),
        })
    }

    /// A JSON value that is to be a body.
    pub fn json(node: Arc<Node>) -> Body {
        Body(Kind::Json {
            node,
            hidden: Arc::default(),
        })
    }

    /// A body without anything, at a place.
    pub fn empty(span: Span) -> Body {
        Body(Kind::Empty(span))
    }

    /// `base` with every argument of `over` in place of its own, and every type of block that
    /// `over` has instead of its own.
    pub fn merged(base: Body, over: Body) -> Body {
        Body(Kind::Merged {
            base: Box::new(base),
            over: Box::new(over),
        })
    }

    /// Both bodies as one; an argument in both is an error.
    pub fn joined(first: Body, second: Body) -> Body {
        Body(Kind::Joined {
            first: Box::new(first),
            second: Box::new(second),
        })
    }

    /// The body with this block instead of all of its type.
    #[must_use]
    pub fn with_block(self, block: Block) -> Body {
        Body(Kind::WithBlock {
            body: Box::new(self),
            block: Box::new(block),
            taken: false,
        })
    }

    /// The body without these arguments and blocks.
    #[must_use]
    pub fn without(&self, schema: &BodySchema) -> Body {
        self.take(schema, &mut Diagnostics::new()).1
    }

    /// The place of errors about what is missing from the body.
    pub fn missing_span(&self) -> Span {
        match &self.0 {
            Kind::Native { body, .. } => body.span.at_start(),
            Kind::Json { node, .. } => match node.kind {
                NodeKind::Object(_) => node.close_span(),
                _ => node.start_span(),
            },
            Kind::Merged { base, .. } => base.missing_span(),
            Kind::Joined { first, .. } => first.missing_span(),
            Kind::WithBlock { body, .. } => body.missing_span(),
            Kind::Empty(span) => *span,
        }
    }

    /// All of the body, braces included.
    pub fn span(&self) -> Span {
        match &self.0 {
            Kind::Native { body, .. } => body.span,
            Kind::Json { node, .. } => node.span,
            Kind::Merged { base, .. } => base.span(),
            Kind::Joined { first, .. } => first.span(),
            Kind::WithBlock { body, .. } => body.span(),
            Kind::Empty(span) => *span,
        }
    }

    /// What the schema names; anything else in the body is an error.
    pub fn content(&self, schema: &BodySchema) -> (Content, Diagnostics) {
        let (content, rest, mut diags) = self.partial_content(schema);
        rest.report_leftovers(schema, &content, &mut diags);
        (content, diags)
    }

    /// What the schema names, and a body with the rest.
    pub fn partial_content(&self, schema: &BodySchema) -> (Content, Body, Diagnostics) {
        let mut diags = Diagnostics::new();
        let (content, rest) = self.take(schema, &mut diags);
        for (name, required) in &schema.attributes {
            if *required && !content.attributes.contains_key(name) {
                diags.error(
                    content.missing,
                    "Missing required argument",
                    format!("The argument \"{name}\" is required, but no definition was found."),
                );
            }
        }
        (content, rest, diags)
    }

    /// Everything in the body as arguments; blocks are an error.
    pub fn just_attributes(&self) -> (IndexMap<Arc<str>, Attribute>, Diagnostics) {
        let mut diags = Diagnostics::new();
        let mut attributes = IndexMap::new();
        self.take_all(&mut attributes, &mut diags);
        (attributes, diags)
    }

    /// The types of blocks that the body holds (JSON cannot tell: none).
    pub fn block_types(&self) -> BTreeSet<Arc<str>> {
        match &self.0 {
            Kind::Native {
                body,
                hidden_blocks,
                ..
            } => body
                .blocks
                .iter()
                .map(|b| b.type_name.clone())
                .filter(|t| !hidden_blocks.contains(t))
                .collect(),
            Kind::Merged { base: a, over: b }
            | Kind::Joined {
                first: a,
                second: b,
            } => a.block_types().union(&b.block_types()).cloned().collect(),
            Kind::WithBlock { body, block, taken } => {
                let mut types = body.block_types();
                types.remove(&block.type_name);
                if !taken {
                    types.insert(block.type_name.clone());
                }
                types
            }
            _ => BTreeSet::new(),
        }
    }

    /// Whether the body holds an argument (JSON: a property) of this name.
    pub fn has_attribute(&self, name: &str) -> bool {
        match &self.0 {
            Kind::Native {
                body,
                hidden_attributes,
                ..
            } => body.attributes.contains_key(name) && !hidden_attributes.contains(name),
            Kind::Json { node, hidden } => {
                let mut ignored = Diagnostics::new();
                !hidden.contains(name)
                    && deep_properties(node, None, &mut ignored)
                        .iter()
                        .any(|p| &*p.name == name)
            }
            Kind::Merged { base: a, over: b }
            | Kind::Joined {
                first: a,
                second: b,
            } => a.has_attribute(name) || b.has_attribute(name),
            Kind::WithBlock { body, .. } => body.has_attribute(name),
            Kind::Empty(_) => false,
        }
    }

    /// Whether the body is of the JSON syntax.
    pub fn is_json(&self) -> bool {
        match &self.0 {
            Kind::Json { .. } => true,
            Kind::Merged { base, .. } => base.is_json(),
            Kind::Joined { first, .. } => first.is_json(),
            Kind::WithBlock { body, .. } => body.is_json(),
            _ => false,
        }
    }

    fn take_all(&self, out: &mut IndexMap<Arc<str>, Attribute>, diags: &mut Diagnostics) {
        match &self.0 {
            Kind::Native {
                body,
                hidden_attributes,
                hidden_blocks,
            } => {
                if let Some(block) = body
                    .blocks
                    .iter()
                    .find(|b| !hidden_blocks.contains(&b.type_name))
                {
                    diags.error(
                        block.type_span,
                        format!("Unexpected \"{}\" block", block.type_name),
                        "Blocks are not allowed here.",
                    );
                }
                for (name, attribute) in &body.attributes {
                    if !hidden_attributes.contains(name) {
                        out.insert(name.clone(), attribute.clone());
                    }
                }
            }
            Kind::Json { node, hidden } => {
                let NodeKind::Object(properties) = &node.kind else {
                    diags.error(
                        node.start_span(),
                        "Incorrect JSON value type",
                        "A JSON object is required here, setting the arguments for this block.",
                    );
                    return;
                };
                let mut seen = Names::new();
                for property in properties
                    .iter()
                    .filter(|p| &*p.name != "//" && !hidden.contains(&p.name))
                {
                    if !seen.insert(property.name.clone()) {
                        let detail = format!("The argument \"{}\" was already set.", property.name);
                        diags.error(property.name_span, "Duplicate attribute definition", detail);
                        continue;
                    }
                    out.insert(property.name.clone(), json_attribute(property, diags));
                }
            }
            Kind::Merged { base, over } => {
                base.take_all(out, diags);
                over.take_all(out, diags);
            }
            Kind::Joined { first, second } => {
                first.take_all(out, diags);
                let mut more = IndexMap::new();
                second.take_all(&mut more, diags);
                join_attributes(out, more, diags);
            }
            Kind::WithBlock { body, .. } => body.take_all(out, diags),
            Kind::Empty(_) => {}
        }
    }

    fn take(&self, schema: &BodySchema, diags: &mut Diagnostics) -> (Content, Body) {
        let missing = self.missing_span();
        let mut content = Content {
            attributes: IndexMap::new(),
            blocks: Vec::new(),
            missing,
        };
        let rest = match &self.0 {
            Kind::Native {
                body,
                hidden_attributes,
                hidden_blocks,
            } => take_native(
                body,
                hidden_attributes,
                hidden_blocks,
                schema,
                &mut content,
                diags,
            ),
            Kind::Json { node, hidden } => take_json(node, hidden, schema, &mut content, diags),
            Kind::Merged { base, over } => {
                let (base_content, base_rest) = base.take(schema, diags);
                let (over_content, over_rest) = over.take(schema, diags);
                content.attributes = base_content.attributes;
                for (name, attribute) in over_content.attributes {
                    content.attributes.insert(name, attribute);
                }
                // A `dynamic` block stands for blocks of the type that it names.
                let replaced: Names = over_content.blocks.iter().map(made_type).cloned().collect();
                content.blocks = base_content.blocks;
                content.blocks.retain(|b| {
                    !replaced.contains(made_type(b)) && !replaced.contains(&b.type_name)
                });
                content.blocks.extend(over_content.blocks);
                Body::merged(base_rest, over_rest)
            }
            Kind::Joined { first, second } => {
                let (first_content, first_rest) = first.take(schema, diags);
                let (second_content, second_rest) = second.take(schema, diags);
                content.attributes = first_content.attributes;
                join_attributes(&mut content.attributes, second_content.attributes, diags);
                content.blocks = first_content.blocks;
                content.blocks.extend(second_content.blocks);
                Body::joined(first_rest, second_rest)
            }
            Kind::WithBlock { body, block, taken } => {
                let (inner, rest) = body.take(schema, diags);
                let wanted = schema.blocks.iter().any(|(t, _)| *t == block.type_name);
                content.attributes = inner.attributes;
                content.blocks = inner.blocks;
                content.blocks.retain(|b| b.type_name != block.type_name);
                if wanted && !taken {
                    content.blocks.push((**block).clone());
                }
                Body(Kind::WithBlock {
                    body: Box::new(rest),
                    block: block.clone(),
                    taken: *taken || wanted,
                })
            }
            Kind::Empty(span) => Body::empty(*span),
        };
        (content, rest)
    }

    fn report_leftovers(&self, schema: &BodySchema, content: &Content, diags: &mut Diagnostics) {
        match &self.0 {
            Kind::Native {
                body,
                hidden_attributes,
                hidden_blocks,
            } => {
                for (name, attribute) in body
                    .attributes
                    .iter()
                    .filter(|(n, _)| !hidden_attributes.contains(*n))
                {
                    diags.push(unsupported_argument(
                        name,
                        attribute.name_span,
                        schema,
                        content,
                    ));
                }
                for block in body
                    .blocks
                    .iter()
                    .filter(|b| !hidden_blocks.contains(&b.type_name))
                {
                    diags.push(unsupported_block(&block.type_name, block.type_span, schema));
                }
            }
            Kind::Json { node, hidden } => {
                let mut reported = Diagnostics::new();
                for property in deep_properties(node, None, &mut reported) {
                    if &*property.name != "//" && !hidden.contains(&property.name) {
                        let hint = suggest(&property.name, all_names(schema, content));
                        diags.error(
                            property.name_span,
                            "Extraneous JSON object property",
                            format!(
                                "No argument or block type is named \"{}\".{hint}",
                                property.name
                            ),
                        );
                    }
                }
                // Wrong types were reported when the content was taken; the reference reports them
                // again.
                diags.append(reported);
            }
            Kind::Merged { base: a, over: b }
            | Kind::Joined {
                first: a,
                second: b,
            } => {
                a.report_leftovers(schema, content, diags);
                b.report_leftovers(schema, content, diags);
            }
            Kind::WithBlock { body, .. } => body.report_leftovers(schema, content, diags),
            Kind::Empty(_) => {}
        }
    }
}

fn join_attributes(
    out: &mut IndexMap<Arc<str>, Attribute>,
    more: IndexMap<Arc<str>, Attribute>,
    diags: &mut Diagnostics,
) {
    for (name, attribute) in more {
        if out.contains_key(&name) {
            diags.error(
                attribute.name_span,
                "Duplicate argument",
                format!("Argument \"{name}\" was already set."),
            );
        } else {
            out.insert(name, attribute);
        }
    }
}

fn all_names(schema: &BodySchema, content: &Content) -> Vec<Arc<str>> {
    let unused = schema
        .attributes
        .iter()
        .map(|(n, _)| n)
        .filter(|n| !content.attributes.contains_key(*n));
    unused
        .chain(schema.blocks.iter().map(|(t, _)| t))
        .cloned()
        .collect()
}

fn unsupported_argument(
    name: &str,
    span: Span,
    schema: &BodySchema,
    content: &Content,
) -> Diagnostic {
    let unused = schema
        .attributes
        .iter()
        .map(|(n, _)| n.clone())
        .filter(|n| !content.attributes.contains_key(n))
        .collect();
    let mut hint = suggest(name, unused);
    if hint.is_empty() && schema.blocks.iter().any(|(t, _)| &**t == name) {
        hint = format!(" Did you mean to define a block of type \"{name}\"?");
    }
    Diagnostic::error(
        "Unsupported argument",
        format!("An argument named \"{name}\" is not expected here.{hint}"),
    )
    .at(span)
}

fn unsupported_block(type_name: &str, span: Span, schema: &BodySchema) -> Diagnostic {
    let mut hint = suggest(
        type_name,
        schema.blocks.iter().map(|(t, _)| t.clone()).collect(),
    );
    if hint.is_empty() && schema.attributes.iter().any(|(n, _)| &**n == type_name) {
        hint = format!(
            " Did you mean to define the argument \"{type_name}\"? If so, use the equals sign to give it a value."
        );
    }
    Diagnostic::error(
        "Unsupported block type",
        format!("Blocks of type \"{type_name}\" are not expected here.{hint}"),
    )
    .at(span)
}

/// ` Did you mean "x"?` for the nearest of the names, or nothing.
pub(crate) fn suggest(given: &str, names: Vec<Arc<str>>) -> String {
    let best = names
        .iter()
        .map(|n| (distance(given, n), n))
        .min_by_key(|(d, _)| *d);
    match best {
        Some((distance, name)) if distance < 3 && distance < given.chars().count() => {
            format!(" Did you mean \"{name}\"?")
        }
        _ => String::new(),
    }
}

/// Levenshtein distance, capped by its use on short names.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().take(64).enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replace = corner + usize::from(ca != *cb);
            corner = row[j + 1];
            row[j + 1] = replace.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// The type of block that is written, or made.
fn made_type(block: &Block) -> &Arc<str> {
    match block.labels.first() {
        Some(label) if &*block.type_name == "dynamic" => &label.text,
        _ => &block.type_name,
    }
}

fn take_native(
    body: &Arc<NativeBody>,
    hidden_attributes: &Arc<Names>,
    hidden_blocks: &Arc<Names>,
    schema: &BodySchema,
    content: &mut Content,
    diags: &mut Diagnostics,
) -> Body {
    let mut attributes_now = (**hidden_attributes).clone();
    for (name, attribute) in &body.attributes {
        let wanted = schema.attributes.iter().any(|(n, _)| n == name);
        if wanted && !hidden_attributes.contains(name) {
            content.attributes.insert(name.clone(), attribute.clone());
            attributes_now.insert(name.clone());
        }
    }
    let mut blocks_now = (**hidden_blocks).clone();
    for block in &body.blocks {
        let Some((_, labels)) = schema.blocks.iter().find(|(t, _)| *t == block.type_name) else {
            continue;
        };
        if !hidden_blocks.contains(&block.type_name) && labels_fit(block, labels, diags) {
            content.blocks.push(Block {
                type_name: block.type_name.clone(),
                type_span: block.type_span,
                labels: block.labels.clone(),
                body: Body::native(block.body.clone()),
                def_span: block.header(),
            });
        }
    }
    blocks_now.extend(schema.blocks.iter().map(|(t, _)| t.clone()));
    Body(Kind::Native {
        body: body.clone(),
        hidden_attributes: Arc::new(attributes_now),
        hidden_blocks: Arc::new(blocks_now),
    })
}

fn labels_fit(block: &NativeBlock, want: &[Arc<str>], diags: &mut Diagnostics) -> bool {
    let name = &block.type_name;
    let context = block.type_span.to(block.open);
    if let Some(extra) = block.labels.get(want.len()) {
        let detail = match want.len() {
            0 => format!("No labels are expected for {name} blocks."),
            n => format!(
                "Only {n} labels ({}) are expected for {name} blocks.",
                want.join(", ")
            ),
        };
        diags.push(
            Diagnostic::error(format!("Extraneous label for {name}"), detail)
                .at(extra.span)
                .within(context),
        );
        return false;
    }
    if let Some(missing) = want.get(block.labels.len()) {
        let detail = format!(
            "All {name} blocks must have {} labels ({}).",
            want.len(),
            want.join(", ")
        );
        diags.push(
            Diagnostic::error(format!("Missing {missing} for {name}"), detail)
                .at(block.open)
                .within(context),
        );
        return false;
    }
    true
}

fn take_json(
    node: &Arc<Node>,
    hidden: &Arc<Names>,
    schema: &BodySchema,
    content: &mut Content,
    diags: &mut Diagnostics,
) -> Body {
    let mut hidden_now = (**hidden).clone();
    for property in deep_properties(node, None, diags) {
        let name = &property.name;
        if hidden.contains(name) {
            continue;
        }
        if schema.attributes.iter().any(|(n, _)| n == name) {
            hidden_now.insert(name.clone());
            if content.attributes.contains_key(name) {
                diags.error(
                    property.name_span,
                    "Duplicate argument",
                    format!("The argument \"{name}\" was already set."),
                );
                continue;
            }
            let attribute = json_attribute(property, diags);
            content.attributes.insert(name.clone(), attribute);
        } else if let Some((type_name, labels)) = schema.blocks.iter().find(|(t, _)| t == name) {
            hidden_now.insert(name.clone());
            let header = JsonHeader {
                type_name,
                type_span: property.name_span,
                labels,
            };
            unpack(
                &property.value,
                &header,
                &mut Vec::new(),
                &mut content.blocks,
                diags,
            );
        }
    }
    Body(Kind::Json {
        node: node.clone(),
        hidden: Arc::new(hidden_now),
    })
}

fn json_attribute(property: &Property, diags: &mut Diagnostics) -> Attribute {
    Attribute {
        name: property.name.clone(),
        name_span: property.name_span,
        span: property.name_span.to(property.value.span),
        expr: Arc::new(property.value.to_expr(diags)),
        json: Some(property.value.clone()),
    }
}

struct JsonHeader<'a> {
    type_name: &'a Arc<str>,
    type_span: Span,
    labels: &'a [Arc<str>],
}

/// A JSON value as blocks: one object level for each label, then an object, or an array of objects.
fn unpack(
    node: &Arc<Node>,
    header: &JsonHeader<'_>,
    labels: &mut Vec<Label>,
    out: &mut Vec<Block>,
    diags: &mut Diagnostics,
) {
    let type_name = header.type_name;
    if let Some(label) = header.labels.get(labels.len()) {
        let properties = deep_properties(node, Some(label), diags);
        if properties.is_empty() {
            diags.error(
                node.start_span(),
                "Missing block label",
                format!("At least one object property is required, whose name represents the {type_name} block's {label}."),
            );
        }
        for property in properties {
            labels.push(Label {
                text: property.name.clone(),
                span: property.name_span,
            });
            unpack(&property.value, header, labels, out, diags);
            labels.pop();
        }
        return;
    }
    let bodies: Vec<&Arc<Node>> = match &node.kind {
        NodeKind::Null => return,
        NodeKind::Object(_) => vec![node],
        NodeKind::Array(items) => items.iter().collect(),
        _ => {
            diags.error(
                node.start_span(),
                "Incorrect JSON value type",
                format!(
                    "Either a JSON object or a JSON array is required, representing the contents of one or more \"{type_name}\" blocks."
                ),
            );
            return;
        }
    };
    out.extend(bodies.into_iter().map(|body| Block {
        type_name: type_name.clone(),
        type_span: header.type_span,
        labels: labels.clone(),
        body: Body::json(body.clone()),
        def_span: node.start_span(),
    }));
}

/// The properties of an object, or of all objects of an array.
fn deep_properties<'a>(
    node: &'a Node,
    label: Option<&str>,
    diags: &mut Diagnostics,
) -> Vec<&'a Property> {
    let wrong = |node: &Node, either: &str, diags: &mut Diagnostics| {
        let purpose = match label {
            Some(label) => format!("to specify {label} labels for this block"),
            None => "to define arguments and child blocks".to_owned(),
        };
        diags.error(
            node.start_span(),
            "Incorrect JSON value type",
            format!("{either} is required here, {purpose}."),
        );
    };
    let mut out = Vec::new();
    match &node.kind {
        NodeKind::Null | NodeKind::Invalid => {}
        NodeKind::Object(properties) => out.extend(properties),
        NodeKind::Array(items) => {
            for item in items {
                match &item.kind {
                    NodeKind::Object(properties) => out.extend(properties),
                    _ => wrong(item, "A JSON object", diags),
                }
            }
        }
        _ => wrong(node, "Either a JSON object or JSON array of objects", diags),
    }
    out
}
