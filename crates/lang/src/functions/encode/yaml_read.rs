//! YAML parser: sequences become tuples, mappings become objects. One document, no recursive
//! anchors.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cty::{Type, Value};
use granit_parser::{Event, Parser, ScalarStyle, StructureStyle, Tag};

use super::yaml_resolve;

/// Maximum nesting of containers.
const DEPTH: usize = 128;

/// Maximum number of values from aliases, because a few lines could expand to gigabytes.
const NODES: usize = 1 << 20;

/// Parses a document.
///
/// # Errors
/// Syntax errors, with the line.
pub(super) fn read(text: &str) -> Result<Value, String> {
    // An empty text has no document at all.
    let mut reader = Reader {
        events: Parser::new_from_str(text),
        anchors: HashMap::new(),
        line: 1,
        nodes: 0,
        flow: 0,
        text,
    };
    reader.expect_start()?;
    let (event, tag, anchor) = reader.next_node()?;
    let value = reader.node(event, &tag, anchor, 0)?;
    loop {
        match reader.next()? {
            Event::StreamEnd => return Ok(value),
            Event::DocumentStart(..) => {
                return Err(reader.fault("only a single document is allowed"));
            }
            Event::DocumentEnd => {}
            _ => return Err(reader.fault("unexpected extra content after value")),
        }
    }
}

struct Reader<'a> {
    events: Parser<'a, granit_parser::StrInput<'a>>,
    anchors: HashMap<usize, (Value, usize)>,
    line: usize,
    nodes: usize,
    /// Number of open flow containers; tabs are indentation only outside of them.
    flow: usize,
    text: &'a str,
}

enum Node {
    Scalar(String, bool),
    Sequence,
    Mapping,
    Alias(usize),
    SequenceEnd,
    MappingEnd,
}

fn full(tag: Option<std::borrow::Cow<'_, Tag>>) -> String {
    tag.map(|t| format!("{}{}", t.handle(), t.suffix()))
        .unwrap_or_default()
}

impl<'a> Reader<'a> {
    fn fault(&self, what: &str) -> String {
        format!("on line {}: {what}", self.line)
    }

    fn next(&mut self) -> Result<Event<'a>, String> {
        loop {
            match self.events.next() {
                None => return Err(self.fault("expecting value but found end of stream")),
                Some(Err(error)) => {
                    return Err(format!(
                        "on line {}: {}",
                        error.marker().line(),
                        error.info()
                    ));
                }
                Some(Ok((Event::Comment(..), _))) => {}
                Some(Ok((event, span))) => {
                    self.line = span.start.line();
                    self.indentation(&event)?;
                    match &event {
                        Event::SequenceStart(StructureStyle::Flow, ..)
                        | Event::MappingStart(StructureStyle::Flow, ..) => self.flow += 1,
                        Event::SequenceEnd | Event::MappingEnd => {
                            self.flow = self.flow.saturating_sub(1)
                        }
                        _ => {}
                    }
                    return Ok(event);
                }
            }
        }
    }

    /// Rejects a tab before the first token of a line.
    fn indentation(&self, event: &Event<'_>) -> Result<(), String> {
        if self.flow > 0
            || !matches!(
                event,
                Event::Scalar(..)
                    | Event::SequenceStart(..)
                    | Event::MappingStart(..)
                    | Event::Alias(_)
            )
        {
            return Ok(());
        }
        let line = self
            .text
            .lines()
            .nth(self.line.saturating_sub(1))
            .unwrap_or_default();
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        if line[..blank].contains('\t') {
            return Err(self.fault("found character that cannot start any token"));
        }
        Ok(())
    }

    fn expect_start(&mut self) -> Result<(), String> {
        loop {
            match self.next()? {
                Event::StreamStart => {}
                Event::DocumentStart(..) => return Ok(()),
                _ => return Err(self.fault("missing start of document")),
            }
        }
    }

    fn next_node(&mut self) -> Result<(Node, String, usize), String> {
        Ok(match self.next()? {
            Event::Scalar(text, style, anchor, tag) => {
                let quoted = matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted);
                // Block scalars are always strings.
                let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let tag = if block && tag.is_none() {
                    "tag:yaml.org,2002:str".to_owned()
                } else {
                    full(tag)
                };
                (Node::Scalar(text.into_owned(), quoted), tag, anchor)
            }
            Event::SequenceStart(_, anchor, tag) => (Node::Sequence, full(tag), anchor),
            Event::MappingStart(_, anchor, tag) => (Node::Mapping, full(tag), anchor),
            Event::Alias(id) => (Node::Alias(id), String::new(), 0),
            Event::SequenceEnd => (Node::SequenceEnd, String::new(), 0),
            Event::MappingEnd => (Node::MappingEnd, String::new(), 0),
            _ => return Err(self.fault("expecting value")),
        })
    }

    fn node(
        &mut self,
        node: Node,
        tag: &str,
        anchor: usize,
        depth: usize,
    ) -> Result<Value, String> {
        if depth > DEPTH {
            return Err(self.fault("containers are nested too deeply"));
        }
        // An alias counts as much as the node it refers to, including its parts.
        let before = self.nodes;
        self.nodes += 1;
        let value = match node {
            Node::Scalar(text, quoted) => {
                yaml_resolve::scalar(tag, &text, quoted).map_err(|e| self.fault(&e))?
            }
            Node::Alias(id) => {
                let Some((value, size)) = self.anchors.get(&id).cloned() else {
                    return Err(
                        self.fault("cannot refer to an anchor from inside its own definition")
                    );
                };
                self.nodes += size;
                value
            }
            Node::Sequence => self.sequence(tag, depth)?,
            Node::Mapping => self.mapping(tag, depth)?,
            Node::SequenceEnd | Node::MappingEnd => {
                return Err(self.fault("expecting value but found end of collection"));
            }
        };
        if self.nodes > NODES {
            return Err(self.fault("the document expands to too many values"));
        }
        // Registered after the value, so that an alias inside its own definition is an error.
        if anchor != 0 {
            self.anchors
                .insert(anchor, (value.clone(), self.nodes - before));
        }
        Ok(value)
    }

    fn sequence(&mut self, tag: &str, depth: usize) -> Result<Value, String> {
        if !matches!(tag, "" | "tag:yaml.org,2002:seq" | "!") {
            return Err(self.fault(&format!("can't interpret sequence as {tag}")));
        }
        let mut items = Vec::new();
        loop {
            let (node, tag, anchor) = self.next_node()?;
            if matches!(node, Node::SequenceEnd) {
                return Ok(Value::tuple(items));
            }
            items.push(self.node(node, &tag, anchor, depth + 1)?);
        }
    }

    fn mapping(&mut self, tag: &str, depth: usize) -> Result<Value, String> {
        if !matches!(tag, "" | "tag:yaml.org,2002:map" | "!") {
            return Err(self.fault(&format!("can't interpret mapping as {tag}")));
        }
        let mut members: BTreeMap<Arc<str>, Value> = BTreeMap::new();
        loop {
            let (node, tag, _) = self.next_node()?;
            let (text, quoted) = match node {
                Node::MappingEnd => return Ok(Value::object(members)),
                Node::Scalar(text, quoted) => (text, quoted),
                _ => return Err(self.fault("only strings are allowed as mapping keys")),
            };
            // Only a plain `<<` merges; in quotes it is an ordinary key.
            let merges =
                (tag.is_empty() && !quoted && text == "<<") || tag == "tag:yaml.org,2002:merge";
            let key = if merges {
                None
            } else {
                Some(self.key(&tag, &text, quoted)?)
            };
            let (node, tag, anchor) = self.next_node()?;
            let value = self.node(node, &tag, anchor, depth + 1)?;
            match key {
                Some(key) => {
                    members.insert(key, value);
                }
                None => self.merge(&mut members, &value)?,
            }
        }
    }

    fn key(&self, tag: &str, text: &str, quoted: bool) -> Result<Arc<str>, String> {
        let key = yaml_resolve::scalar(tag, text, quoted).map_err(|e| self.fault(&e))?;
        if key.is_null() {
            return Err(self.fault("mapping key cannot be null"));
        }
        let key = cty::convert(&key, &Type::String)
            .ok()
            .and_then(|k| k.as_arc_str());
        key.ok_or_else(|| self.fault("only strings are allowed as mapping keys"))
    }

    /// `<<`: merges the members of one or more mappings.
    fn merge(&self, members: &mut BTreeMap<Arc<str>, Value>, value: &Value) -> Result<(), String> {
        let cannot = |value: &Value| {
            self.fault(&format!(
                "cannot merge {} into mapping",
                value.ty().friendly_name()
            ))
        };
        if value.ty().is_tuple() {
            for item in value.children() {
                let inner = item.as_map().ok_or_else(|| cannot(item))?;
                members.extend(inner.iter().map(|(k, v)| (k.clone(), v.clone())));
            }
            return Ok(());
        }
        let inner = value.as_map().ok_or_else(|| cannot(value))?;
        members.extend(inner.iter().map(|(k, v)| (k.clone(), v.clone())));
        Ok(())
    }
}
