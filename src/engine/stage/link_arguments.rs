//! Evaluates links before their provider sees them: the arguments that name two resource instances
//! become addresses, and the schemas decide whether a plugin links the two types. The walk adds the
//! objects at the ends ([`end`]).

use super::scope::{ModuleScope, Phase};
use super::walk::Walk;
use calls::{LinkEnd, Linked, StateEntry};
use cty::schema::Schema;
use cty::{Type, Value};
use lang::addr::{AbsInstance, ConfigResource};
use lang::config::{LINK_ENDS, Module, Resource, end_of_link};
use lang::diag::{Diagnostic, Diagnostics};
use lang::syntax::ast::Expr;
use model::{ConfigKey, short_provider};
use provider::{LinkPair, LinkTypes};
use std::sync::Arc;
use workspace::{link_providers, provider_addr};

const SUMMARY: &str = "Invalid end of a link";

/// Decodes the arguments of a resource like [`Walk::decode_resource`]; the ends of a link become
/// addresses.
pub fn decoded(
    walk: &Walk,
    resource: &Resource,
    schema: &Schema,
    scope: &ModuleScope<'_>,
) -> (Value, Diagnostics) {
    let Some(ends) = &resource.link else {
        return walk.decode_resource(resource, schema, scope);
    };
    // The schema declares the ends as strings, but their expressions name whole resources.
    let mut open = schema.block.clone();
    for name in LINK_ENDS {
        if let Some(attribute) = open.attributes.get_mut(name) {
            attribute.ty = Type::Dynamic;
        }
    }
    let (value, mut diags) = walk.decode(&resource.body, &open, scope);
    let nothing = || Value::unknown(schema.implied_type().clone());
    let Some(members) = value.as_map().filter(|_| !diags.has_errors()) else {
        return (nothing(), diags);
    };
    let mut members = members.to_map();
    for (name, expr) in LINK_ENDS.into_iter().zip([&ends.from, &ends.to]) {
        let object = members.get(name).cloned();
        match address(scope, expr, object.as_ref()) {
            Ok(Some(address)) => {
                members.insert(name.into(), Value::string(address.to_string()));
            }
            // The plan determines the instance.
            Ok(None) => drop(members.insert(name.into(), Value::unknown(Type::String))),
            Err(fault) => diags.push(fault),
        }
    }
    match diags.has_errors() {
        true => (nothing(), diags),
        false => (Value::object_from_map(members), diags),
    }
}

/// Returns the instance that an end names; `object` is its value. `None` if not known yet.
fn address(
    scope: &ModuleScope<'_>,
    expr: &Expr,
    object: Option<&Value>,
) -> Result<Option<AbsInstance>, Diagnostic> {
    let fault = |detail: String| Err(Diagnostic::error(SUMMARY, detail).at(expr.span));
    let Some((resource, key, _)) = super::plan::trigger(scope, expr) else {
        return match scope.context.phase {
            // Instance keys may be unknown while validating; the plan checks them.
            Phase::Validate => Ok(None),
            _ => fault("The instance at this end of the link is unknown.".to_owned()),
        };
    };
    let declared = scope.module.resources.get(&resource.resource);
    let repeated = declared.is_some_and(|r| r.count.is_some() || r.for_each.is_some());
    if repeated && key.is_none() {
        return fault(format!(
            "{0} names all instances of the resource, but a link has one instance at each end. Add a key: {0}[…].",
            resource.resource
        ));
    }
    if object.is_some_and(|o| o.is_known() && o.clone().unmark_deep().0.is_null()) {
        return fault(format!("{} has no instance to link.", resource.resource));
    }
    Ok(Some(resource.instance(key.unwrap_or_default())))
}

/// Returns an error if no loaded plugin makes this link, or the wrong one is selected.
pub fn fault(walk: &Walk, module: &Module, link: &Resource) -> Option<Diagnostic> {
    let ends = link.link.as_ref()?;
    let wrong = |summary: &str, detail: String| {
        let wrong = Diagnostic::error(summary, detail).at(link.span);
        Some(wrong.with_address(link.name.to_string()))
    };
    let schemas = &walk.context.schemas;
    let foreign = match ends_without_links(walk, module, [&ends.from, &ends.to]) {
        Ok(foreign) => foreign,
        Err(fault) => return Some(fault),
    };
    let [from, to] = link_providers::pair(link)?;
    // Before the search for a plugin, which would only find none.
    if !foreign.is_empty() {
        let detail = format!(
            "{}. Only plugins that declare links can link resources, and Terraform providers declare none. Use references between resources of other providers.",
            foreign.join(", ")
        );
        return wrong("Resource cannot be linked", detail);
    }
    let all = link_providers::linking(schemas, &[from.clone(), to.clone()]);
    let own = provider_addr::for_resource(&walk.context.root, module, link).address;
    let names = all.iter().map(|address| short_provider(address).to_owned());
    let names = names.collect::<Vec<String>>().join(", ");
    // Without this case an old plugin would only be reported as not linking at all.
    if let Some(LinkTypes::Refused(_, why)) = schemas.get(&own).map(|s| &s.links)
        && all.contains(&own)
    {
        return wrong("Plugin too old for links", why.clone());
    }
    if all.is_empty() {
        let detail = format!(
            "No plugin in use links {from} to {to}. {}",
            linkable_pairs_text(&link_providers::all_pairs(schemas))
        );
        return wrong("Link not supported", detail);
    }
    if !ends.provider_given && all.len() > 1 {
        let detail =
            format!("Several plugins link {from} to {to}: {names}. Select one with `provider`.");
        return wrong("Ambiguous link", detail);
    }
    if !all.contains(&own) {
        let detail = format!(
            "{} does not link {from} to {to}; {names} does. Select it with `provider`, and add it to required_providers of this module.",
            short_provider(&own)
        );
        return wrong("Link not supported", detail);
    }
    None
}

/// Returns the ends that belong to providers without links, as text.
fn ends_without_links(
    walk: &Walk,
    module: &Module,
    ends: [&Expr; 2],
) -> Result<Vec<String>, Diagnostic> {
    let mut foreign = Vec::new();
    for expr in ends {
        let Some(name) = end_of_link(expr) else {
            continue;
        };
        let Some(resource) = module.resources.get(&name) else {
            let detail = format!("There is no resource {name} in this module.");
            return Err(Diagnostic::error(SUMMARY, detail).at(expr.span));
        };
        let address = provider_addr::for_resource(&walk.context.root, module, resource).address;
        let of_it = walk.context.schemas.get(&address);
        if of_it.is_some_and(|schema| schema.links == LinkTypes::Unspoken) {
            foreign.push(format!("{name} belongs to {}", short_provider(&address)));
        }
    }
    Ok(foreign)
}

/// Lists the pairs that can be linked.
fn linkable_pairs_text(all: &[LinkPair]) -> String {
    const MAX_LISTED: usize = 12;
    let one = |[from, to]: &LinkPair| format!("{from} to {to}");
    let named: Vec<String> = all.iter().take(MAX_LISTED).map(one).collect();
    match (named.is_empty(), all.len().saturating_sub(MAX_LISTED)) {
        (true, _) => "The plugins in use make no links.".to_owned(),
        (false, 0) => format!("Supported links: {}.", named.join(", ")),
        (false, more) => format!("Supported links: {}, and {more} more.", named.join(", ")),
    }
}

/// Returns the declared ends of a link, independently of instances.
pub fn declared(walk: &Walk, address: &ConfigResource, link: &Resource) -> Option<Arc<Linked>> {
    let (ends, module) = (link.link.as_ref()?, walk.module(&address.module)?);
    let end = |expr: &Expr| {
        let name = end_of_link(expr)?;
        let resource = module.resources.get(&name)?;
        let provider = provider_addr::for_resource(&walk.context.root, module, resource);
        Some(LinkEnd {
            address: name.to_string(),
            kind: name.kind.to_string(),
            provider: provider.address.to_string(),
            state_entry: None,
            before: None,
            after: None,
        })
    };
    Some(Arc::new(Linked {
        ends: Some([end(&ends.from)?, end(&ends.to)?]),
        ending_links: Vec::new(),
    }))
}

/// Builds an end from the configuration or the state; `None` if neither has it.
pub fn end(
    walk: &Walk,
    address: &AbsInstance,
    held: Option<(&str, StateEntry)>,
) -> Option<LinkEnd> {
    let declared = walk.module(&address.module.path()).and_then(|module| {
        let resource = module.resources.get(&address.resource)?;
        let root = &walk.context.root;
        Some(provider_addr::for_resource(root, module, resource).address)
    });
    let stored = held
        .as_ref()
        .and_then(|(provider, _)| Some(ConfigKey::parse(provider)?.address));
    Some(LinkEnd {
        address: address.to_string(),
        kind: address.resource.kind.to_string(),
        provider: declared.or(stored)?.to_string(),
        state_entry: held.map(|(_, held)| held),
        before: None,
        after: None,
    })
}

/// Returns the instances at the ends of a link, from its object.
pub fn ends_of(object: &Value) -> Option<[AbsInstance; 2]> {
    let plain = object.clone().unmark_deep().0;
    let [from, to] = LINK_ENDS.map(|name| plain.get_attr(name)?.as_str()?.parse().ok());
    Some([from?, to?])
}

/// Returns the recorded link with moved ends renamed; `None` if none has moved. The rest of the
/// record stays the same, because its plugin made the link with it.
pub fn renamed_link(attributes: &str, moved: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut json: serde_json::Value = serde_json::from_str(attributes).ok()?;
    let mut any = false;
    for end in LINK_ENDS {
        if let Some(end) = json.get_mut(end)
            && let Some(new) = end.as_str().and_then(&moved)
        {
            *end = new.into();
            any = true;
        }
    }
    any.then(|| json.to_string())
}

/// Returns the instances at the ends of a link, from its state record.
pub fn ends_in(attributes: &str) -> Option<[AbsInstance; 2]> {
    let json: serde_json::Value = serde_json::from_str(attributes).ok()?;
    let [from, to] = LINK_ENDS.map(|name| json.get(name)?.as_str()?.parse().ok());
    Some([from?, to?])
}
