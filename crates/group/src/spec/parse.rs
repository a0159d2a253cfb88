//! Parses a group specification.

use std::collections::BTreeMap;

use lang::diag::Diagnostics;
use lang::source::{FileId, Span};
use lang::syntax::json::{Node, NodeKind};
use serde_json::{Map, Value, json};

use super::instance::{KNOWN, TagPlace, init_path, tag_place};
use super::reader::{Fields, Reader};
use super::variables::Availability;
use super::{GroupSpec, SpecResource, dedicated_scopes};
use crate::declared::{MODES, ReconcilePolicy, SHORTEST_INTERVAL};
use crate::policy::{Threshold, parse_duration, threshold};
use crate::scope::Scope;
use crate::{Allocation, ConfigHash};

const INVALID: &str = "Invalid group specification";

/// Parses a specification and reports all mistakes with their places. Without errors the
/// specification can be rendered for each member.
pub fn parse(text: &str, file: FileId) -> (Option<GroupSpec>, Diagnostics) {
    let (root, diags) = lang::syntax::json::parse(text, file);
    if diags.has_errors() {
        return (None, diags);
    }
    let mut reader = Reader::new(text, diags);
    let spec = group(&mut reader, &root);
    let valid = !reader.diags.has_errors();
    (spec.filter(|_| valid), reader.diags)
}

/// A plugin section: its fields, and the part that decides about the hash.
struct Section<'n> {
    fields: Option<Fields<'n>>,
    hashed: Value,
}

fn group(reader: &mut Reader<'_>, root: &Node) -> Option<GroupSpec> {
    let top = reader.fields(root, "the specification", &["ID", "Properties"])?;
    let id = id(reader, &top);
    let Some(properties) = top.get("Properties") else {
        let detail = "The specification has no \"Properties\"; add them with \"Allocation\", \
                      \"Instance\" and \"Flavor\".";
        reader.error(top.span, INVALID, detail);
        return None;
    };
    let known = ["Allocation", "Instance", "Flavor", "Updating", "Reconcile"];
    let fields = reader.fields(properties, "Properties", &known)?;
    let allocation = allocation(reader, &fields);
    let updating = fields
        .get("Updating")
        .and_then(|node| updating(reader, node));
    let reconcile = fields.get("Reconcile");
    let reconcile = reconcile.and_then(|node| self::reconcile(reader, node));
    let instance = section(
        reader,
        &fields,
        "Instance",
        &["Plugin", "Properties", "Type"],
    );
    let flavor = section(reader, &fields, "Flavor", &["Plugin", "Properties"]);
    let flavored = self::flavor(reader, &flavor);
    let chosen = instance
        .fields
        .as_ref()
        .and_then(|fields| fields.get("Type"));
    let chosen = chosen.and_then(|node| Some((reader.text(node, "Type")?, node.span)));
    let properties = instance
        .fields
        .as_ref()
        .and_then(|fields| fields.get("Properties"));
    let Some(properties) = properties else {
        let detail = "The group declares no instance; add \"Instance\": {\"Properties\": \
                      {\"resource\": {TYPE: {NAME: {…}}}}}.";
        reader.error(fields.span, INVALID, detail);
        return None;
    };
    let declared = resources(reader, properties)?;
    let instance_at = instance_index(reader, &declared, chosen, properties.start_span())?;
    let allocation = allocation?;
    check_instance(reader, &declared[instance_at], &flavored);
    check_texts(reader, &declared, &allocation, &flavored);
    check_keys(
        reader,
        &declared,
        &allocation,
        instance_at,
        fields.get("Allocation"),
    );
    let (threshold, skip_drain) = updating.unwrap_or_default();
    Some(GroupSpec {
        id: id?,
        allocation,
        hash: ConfigHash::of(&[&instance.hashed, &flavor.hashed]),
        resources: declared
            .into_iter()
            .map(|declared| declared.resource)
            .collect(),
        instance: instance_at,
        tags: flavored.tags,
        init: flavored.init.map(|(init, _)| init),
        threshold,
        skip_drain,
        reconcile: reconcile.unwrap_or_default(),
    })
}

fn id(reader: &mut Reader<'_>, top: &Fields<'_>) -> Option<String> {
    let Some(node) = top.get("ID") else {
        reader.error(top.span, INVALID, "The group has no \"ID\"; add one.");
        return None;
    };
    let id = reader.text(node, "ID")?;
    let valid = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if id.is_empty() || !id.chars().all(valid) {
        let detail = format!("The id {id:?} is not valid; use letters, digits, -, _ and dots.");
        reader.error(node.span, INVALID, detail);
        return None;
    }
    Some(id.to_owned())
}

fn allocation(reader: &mut Reader<'_>, properties: &Fields<'_>) -> Option<Allocation> {
    let node = properties.get("Allocation");
    let fields = match node {
        Some(node) => Some(reader.fields(node, "Allocation", &["Size", "LogicalIDs"])?),
        None => None,
    };
    let field = |name| fields.as_ref().and_then(|fields| fields.get(name));
    let (size, keys) = (field("Size"), field("LogicalIDs"));
    let found = (
        size.map(|node| reader.count(node, "Size")),
        keys.map(|node| reader.texts(node, "LogicalIDs")),
    );
    // A part that cannot be read is reported by itself.
    if matches!(found, (Some(None), _) | (_, Some(None))) {
        return None;
    }
    match Allocation::new(found.0.flatten(), found.1.flatten()) {
        Ok(allocation) => Some(allocation),
        Err(error) => {
            let span = keys
                .or(size)
                .or(node)
                .map_or(properties.span, Node::start_span);
            reader.error(span, "Invalid allocation", sentence(&error.to_string()));
            None
        }
    }
}

fn updating(reader: &mut Reader<'_>, node: &Node) -> Option<(Option<Threshold>, bool)> {
    let known = ["Count", "Duration", "SkipBeforeInstanceDestroy"];
    let fields = reader.fields(node, "Updating", &known)?;
    let count = fields
        .get("Count")
        .and_then(|node| reader.count(node, "Count"));
    let duration = fields.get("Duration").and_then(|node| {
        let text = reader.text(node, "Duration")?;
        let parsed = parse_duration(text);
        parsed
            .map_err(|error| reader.error(node.span, "Invalid duration", sentence(&error)))
            .ok()
    });
    let skip = fields.get("SkipBeforeInstanceDestroy").is_some_and(|node| {
        let text = reader.text(node, "SkipBeforeInstanceDestroy");
        if text.is_some_and(|text| text != "drain") {
            let detail = "The only step that can be skipped is \"drain\".";
            reader.error(node.span, INVALID, detail);
        }
        text == Some("drain")
    });
    match threshold(count, duration) {
        Ok(threshold) => Some((threshold, skip)),
        Err(error) => {
            let detail = format!("Count and Duration are exclusive: {}.", error.problem);
            reader.error(node.start_span(), INVALID, detail);
            None
        }
    }
}

/// Section of ours, because InfraKit has one mode only.
fn reconcile(reader: &mut Reader<'_>, node: &Node) -> Option<ReconcilePolicy> {
    let fields = reader.fields(node, "Reconcile", &["Mode", "Every", "AllowReplace"])?;
    let mut policy = ReconcilePolicy::default();
    if let Some(node) = fields.get("Mode") {
        let text = reader.text(node, "Mode")?;
        match MODES.iter().find(|(name, _)| *name == text) {
            Some((_, mode)) => policy.mode = *mode,
            None => {
                let names = MODES.map(|(name, _)| name).join(", ");
                let detail = format!("The mode {text:?} is unknown; use one of {names}.");
                reader.error(node.span, INVALID, detail);
            }
        }
    }
    if let Some(node) = fields.get("Every") {
        match parse_duration(reader.text(node, "Every")?) {
            Ok(every) if every >= SHORTEST_INTERVAL => policy.every = every,
            Ok(_) => reader.error(node.span, "Invalid duration", "Use 1 second or more."),
            Err(error) => reader.error(node.span, "Invalid duration", sentence(&error)),
        }
    }
    if let Some(node) = fields.get("AllowReplace") {
        policy.allow_replace = reader.flag(node, "AllowReplace")?;
    }
    Some(policy)
}

fn section<'n>(
    reader: &mut Reader<'_>,
    properties: &Fields<'n>,
    name: &'static str,
    known: &[&'static str],
) -> Section<'n> {
    let fields = properties
        .get(name)
        .and_then(|node| reader.fields(node, name, known));
    let field = |key: &str| fields.as_ref().and_then(|fields| fields.get(key));
    let hashed = json!({
        "Plugin": field("Plugin").map_or(json!(""), |node| reader.json(node)),
        "Properties": field("Properties").map_or(Value::Null, |node| reader.json(node)),
    });
    Section { fields, hashed }
}

/// Parts of the flavor that members get.
#[derive(Default)]
struct Flavored {
    init: Option<(String, Span)>,
    tags: BTreeMap<String, String>,
    /// Texts with their places, for the check of variables.
    texts: Vec<(String, Span)>,
}

fn flavor(reader: &mut Reader<'_>, section: &Section<'_>) -> Flavored {
    let mut flavored = Flavored::default();
    let node = section
        .fields
        .as_ref()
        .and_then(|fields| fields.get("Properties"));
    let Some(fields) =
        node.and_then(|node| reader.fields(node, "Flavor.Properties", &["Init", "Tags", "Size"]))
    else {
        return flavored;
    };
    if let Some(node) = fields.get("Size") {
        let detail = "Flavor.Properties.Size has no effect; set Properties.Allocation.Size.";
        reader.warning(node.span, "Size in the flavor", detail);
    }
    if let Some(node) = fields.get("Init") {
        let lines = match &node.kind {
            NodeKind::Text(text) => Some(vec![text.to_string()]),
            _ => reader.texts(node, "Init"),
        };
        if let Some(lines) = lines.filter(|lines| !lines.is_empty()) {
            flavored.init = Some((lines.join("\n"), node.start_span()));
        }
        collect_texts(node, &mut flavored.texts);
    }
    for property in fields
        .get("Tags")
        .and_then(|node| reader.object(node, "Tags"))
        .unwrap_or(&[])
    {
        if let Some(value) = reader.text(&property.value, "a tag") {
            flavored
                .tags
                .insert(property.name.to_string(), value.to_owned());
            flavored.texts.push((value.to_owned(), property.value.span));
        }
    }
    flavored
}

/// A resource with the places of its parts.
struct Declared {
    resource: SpecResource,
    span: Span,
    texts: Vec<(String, Span)>,
}

fn resources(reader: &mut Reader<'_>, properties: &Node) -> Option<Vec<Declared>> {
    let fields = reader.fields(properties, "Instance.Properties", &["resource"])?;
    let Some(node) = fields.get("resource") else {
        let detail = "Instance.Properties has no \"resource\"; write \
                      {\"resource\": {TYPE: {NAME: {…}}}}.";
        reader.error(fields.span, INVALID, detail);
        return None;
    };
    let mut declared = Vec::new();
    for kind in reader.object(node, "resource")? {
        let subject = format!("resource type {}", kind.name);
        for resource in reader.object(&kind.value, &subject).unwrap_or(&[]) {
            for part in [kind, resource] {
                if !lang::syntax::is_identifier(&part.name) {
                    let detail = format!(
                        "{:?} is not a valid name; use letters, digits, - and _.",
                        part.name
                    );
                    reader.error(part.name_span, INVALID, detail);
                }
            }
            declared.extend(self::resource(
                reader,
                &kind.name,
                &resource.name,
                resource.name_span,
                &resource.value,
            ));
        }
    }
    Some(declared)
}

fn resource(
    reader: &mut Reader<'_>,
    kind: &str,
    name: &str,
    span: Span,
    node: &Node,
) -> Option<Declared> {
    let subject = format!("{kind}.{name}");
    let mut body = Map::new();
    let mut scope = Scope::Default;
    let mut texts = Vec::new();
    for property in reader.object(node, &subject)? {
        if &*property.name != "@scope" {
            body.insert(property.name.to_string(), reader.json(&property.value));
            texts.push((property.name.to_string(), property.name_span));
            collect_texts(&property.value, &mut texts);
            continue;
        }
        let text = reader.text(&property.value, "@scope")?;
        match Scope::parse(Some(text)) {
            Ok(parsed) => scope = parsed,
            Err(error) => {
                let detail = sentence(&error.to_string());
                reader.error(property.value.span, "Invalid scope", detail);
            }
        }
    }
    let (kind, name) = (kind.to_owned(), name.to_owned());
    let resource = SpecResource {
        kind,
        name,
        scope,
        body,
    };
    Some(Declared {
        resource,
        span,
        texts,
    })
}

/// All texts of a value, and names of its properties, with their places.
fn collect_texts(node: &Node, texts: &mut Vec<(String, Span)>) {
    match &node.kind {
        NodeKind::Text(text) => texts.push((text.to_string(), node.span)),
        NodeKind::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        NodeKind::Object(properties) => {
            for property in properties {
                texts.push((property.name.to_string(), property.name_span));
                collect_texts(&property.value, texts);
            }
        }
        _ => {}
    }
}

/// Chooses the instance: the resource of the declared type, that of a known type, or the only one
/// of the default scope.
fn instance_index(
    reader: &mut Reader<'_>,
    declared: &[Declared],
    chosen: Option<(&str, Span)>,
    properties: Span,
) -> Option<usize> {
    let in_scope = |at: &usize| declared[*at].resource.scope == Scope::Default;
    let candidates: Vec<usize> = (0..declared.len()).filter(in_scope).collect();
    let of = |test: &dyn Fn(&str) -> bool| -> Vec<usize> {
        let matches = |at: &usize| test(&declared[*at].resource.kind);
        candidates.iter().copied().filter(matches).collect()
    };
    let known = of(&|kind| KNOWN.contains(&kind));
    let found = match chosen {
        Some((kind, _)) => of(&|other| other == kind),
        None if known.is_empty() => candidates.clone(),
        None => known,
    };
    if let [only] = found[..] {
        return Some(only);
    }
    let span = match (chosen, found.get(1)) {
        (_, Some(second)) => declared[*second].span,
        (Some((_, span)), None) => span,
        _ => properties,
    };
    let names = |found: &[usize]| {
        let name = |at: &usize| {
            format!(
                "{}.{}",
                declared[*at].resource.kind, declared[*at].resource.name
            )
        };
        found.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    let detail = match (chosen, found.len()) {
        (Some((kind, _)), 0) => format!(
            "No resource of the default scope has the type {kind:?}; candidates are: {}.",
            names(&candidates)
        ),
        (None, 0) => "No resource has the default scope, so that the group has no instance; \
                      remove the \"@scope\" of the instance."
            .to_owned(),
        _ => format!(
            "Several resources could be the instance: {}. Give all others a scope, or name the \
             type of the instance in Instance.Type.",
            names(&found)
        ),
    };
    reader.error(span, "No single instance", detail);
    None
}

/// Checks that tags and the init script have a place in the instance.
fn check_instance(reader: &mut Reader<'_>, instance: &Declared, flavored: &Flavored) {
    let SpecResource { kind, body, .. } = &instance.resource;
    let expected = match (tag_place(kind, body), body.get("tags")) {
        (TagPlace::Map, Some(tags)) if !tags.is_object() => "an object",
        (TagPlace::List, Some(tags)) if !tags.is_array() => "a list of texts",
        _ => "",
    };
    if !expected.is_empty() {
        let detail =
            format!("The tags of {kind} are merged with those of the group; write {expected}.");
        reader.error(instance.span, "Invalid tags", detail);
    }
    let Some((_, span)) = &flavored.init else {
        return;
    };
    let Some(path) = init_path(kind, body) else {
        let detail = format!(
            "flightdeck does not know which argument of {kind} takes the init script; add an empty \
             \"user_data\" to the instance, or remove \"Init\"."
        );
        reader.error(*span, "No place for Init", detail);
        return;
    };
    let target = body.get(path[0]);
    let (target, rest) = match path {
        [_, inner] => (
            target.and_then(|outer| outer.get(inner)),
            target.is_some_and(|o| !o.is_object()),
        ),
        _ => (target, false),
    };
    if rest || target.is_some_and(|target| !target.is_string()) {
        let detail = format!(
            "Init is appended to {}, which is not a text.",
            path.join(".")
        );
        reader.error(instance.span, "No place for Init", detail);
    }
}

/// Checks the template variables.
fn check_texts(
    reader: &mut Reader<'_>,
    declared: &[Declared],
    allocation: &Allocation,
    flavored: &Flavored,
) {
    let resources: Vec<SpecResource> = declared
        .iter()
        .map(|declared| declared.resource.clone())
        .collect();
    let available = Availability {
        names: matches!(allocation, Allocation::Keys(_)),
        scopes: dedicated_scopes(&resources),
    };
    let mut check = |texts: &[(String, Span)], shared| {
        for (text, span) in texts {
            if let Err(problem) = available.check(text, shared) {
                reader.error(*span, "Invalid template", sentence(&problem));
            }
        }
    };
    check(&flavored.texts, false);
    for declared in declared {
        check(
            &declared.texts,
            matches!(declared.resource.scope, Scope::Global(_)),
        );
    }
}

/// Checks that keys can be a part of the names of resources.
fn check_keys(
    reader: &mut Reader<'_>,
    declared: &[Declared],
    allocation: &Allocation,
    instance: usize,
    node: Option<&Node>,
) {
    let Allocation::Keys(keys) = allocation else {
        return;
    };
    // The instance itself is named by a number.
    let others = declared
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != instance);
    let scopes: Vec<&Scope> = others
        .map(|(_, declared)| &declared.resource.scope)
        .collect();
    let leads = scopes.iter().any(|scope| **scope == Scope::Default);
    let within = scopes
        .iter()
        .any(|scope| matches!(scope, Scope::Dedicated(_)));
    for key in keys {
        let valid = match leads {
            true => lang::syntax::is_identifier(key),
            false => !within || lang::syntax::is_identifier(&format!("a{key}")),
        };
        if !valid {
            let detail = format!(
                "The logical id {key:?} cannot be a part of the names of its resources; use a \
                 letter, then letters, digits, - and _."
            );
            if let Some(node) = node {
                reader.error(node.start_span(), "Invalid logical id", detail);
            }
        }
    }
}

/// Text of an error as a sentence.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars
        .next()
        .map(|c| c.to_uppercase().to_string())
        .unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}
