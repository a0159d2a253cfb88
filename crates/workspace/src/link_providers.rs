//! Completes `link` blocks by the schemas of plugins: the provider configuration of a block without
//! one, and the creation order of two linked resources. Pure.

use super::provider_addr;
use super::refs::{self, Ref};
use lang::addr::Resource as Name;
use lang::config::{Module, ProviderRef, Resource, end_of_link};
use lang::syntax::ast::{Step, StepKind, Traversal};
use provider::{LinkPair, LinkTypes, ProviderSchema};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Types at the two ends of a link.
pub fn pair(link: &Resource) -> Option<LinkPair> {
    let ends = link.link.as_ref()?;
    let kind = |expr| Some(end_of_link(expr)?.kind.to_string());
    Some([kind(&ends.from)?, kind(&ends.to)?])
}

/// Addresses of the providers that link two types.
pub fn linking(
    schemas: &HashMap<Arc<str>, Arc<ProviderSchema>>,
    pair: &LinkPair,
) -> BTreeSet<Arc<str>> {
    let has = |schema: &ProviderSchema| match &schema.links {
        LinkTypes::Unspoken => false,
        LinkTypes::Pairs(all) => all.contains_key(pair),
        LinkTypes::Refused(all, _) => all.contains(pair),
    };
    let all = schemas.iter().filter(|(_, schema)| has(schema));
    all.map(|(address, _)| address.clone()).collect()
}

/// All pairs of types that any provider links.
pub fn all_pairs(schemas: &HashMap<Arc<str>, Arc<ProviderSchema>>) -> Vec<LinkPair> {
    let of = |schema: &Arc<ProviderSchema>| match &schema.links {
        LinkTypes::Pairs(all) => all.keys().cloned().collect(),
        LinkTypes::Unspoken | LinkTypes::Refused(..) => Vec::new(),
    };
    let all: BTreeSet<LinkPair> = schemas.values().flat_map(of).collect();
    all.into_iter().collect()
}

/// Adds to the configuration: the only matching provider to each link without one, unless its first
/// resource belongs to that provider; and a dependency to resources that must be created after
/// their linked resource.
pub fn bind(root: &Arc<Module>, schemas: &HashMap<Arc<str>, Arc<ProviderSchema>>) -> Arc<Module> {
    let is_link = |m: &&Module| m.resources.values().any(|r| r.link.is_some());
    // Most configurations have no links.
    if !root.all().iter().any(is_link) {
        return root.clone();
    }
    let mut module = (**root).clone();
    for (name, provider) in other_choices(root, schemas) {
        if let Some(link) = module.resources.get_mut(&name) {
            link.provider = Some(provider);
        }
    }
    for (later, first) in link_order(root, schemas) {
        if let Some(resource) = module.resources.get_mut(&later) {
            resource.depends_on.push(first);
        }
    }
    for call in module.calls.values_mut() {
        call.module = call.module.as_ref().map(|child| bind(child, schemas));
    }
    Arc::new(module)
}

/// Resources that must be created after another, by the kind of their link. Dependencies in the
/// configuration take precedence.
fn link_order(
    module: &Module,
    schemas: &HashMap<Arc<str>, Arc<ProviderSchema>>,
) -> Vec<(Name, Traversal)> {
    let one = |link: &Resource| {
        let (ends, pair) = (link.link.as_ref()?, pair(link)?);
        let first = schemas.values().find_map(|schema| match &schema.links {
            LinkTypes::Pairs(all) => *all.get(&pair)?,
            _ => None,
        })?;
        let both = [&ends.from, &ends.to];
        let (expr, later) = (both[first], end_of_link(both[1 - first])?);
        let name = end_of_link(expr)?;
        let of_it = module.resources.get(&name)?;
        // A dependency in the opposite direction would make a cycle.
        if name == later || depends_on(module, schemas, of_it, &later) {
            return None;
        }
        let step = Step {
            kind: StepKind::Attr(name.name.clone()),
            span: expr.span,
        };
        let first = Traversal {
            root: name.kind.clone(),
            root_span: expr.span,
            steps: vec![step],
        };
        Some((later, first))
    };
    module.resources.values().filter_map(one).collect()
}

/// Returns true if a resource depends on another, directly or through others of its module.
fn depends_on(
    module: &Module,
    schemas: &HashMap<Arc<str>, Arc<ProviderSchema>>,
    resource: &Resource,
    other: &Name,
) -> bool {
    let mut seen = BTreeSet::new();
    let mut left = vec![resource];
    // Terminates because each resource is visited once.
    while let Some(resource) = left.pop() {
        let address = provider_addr::address_of(module, provider_addr::provider_name(resource));
        let schema = schemas
            .get(&address)
            .and_then(|s| s.resources.get(&resource.name.kind));
        let written = schema.map(|s| lang::decode::references(&resource.body, &s.block));
        let meta = [&resource.count, &resource.for_each];
        let meta = meta
            .into_iter()
            .flatten()
            .flat_map(|expr| expr.traversals());
        let all = resource.depends_on.iter().chain(meta).cloned();
        for t in all.chain(written.unwrap_or_default()) {
            let Ok(Ref::Resource { resource: name, .. }) = refs::parse(&t) else {
                continue;
            };
            if name == *other {
                return true;
            }
            if seen.insert(name.clone()) {
                left.extend(module.resources.get(&name));
            }
        }
    }
    false
}

fn other_choices(
    module: &Module,
    schemas: &HashMap<Arc<str>, Arc<ProviderSchema>>,
) -> Vec<(Name, ProviderRef)> {
    let one = |link: &Resource| {
        let ends = link.link.as_ref().filter(|ends| !ends.provider_given)?;
        let all = linking(schemas, &pair(link)?);
        // Several candidates are ambiguous, so the block must name one.
        let [only] = &all.into_iter().collect::<Vec<_>>()[..] else {
            return None;
        };
        let now = provider_addr::provider_name(link);
        if provider_addr::address_of(module, now) == *only {
            return None;
        }
        let mut names = module.required_providers.keys();
        let local = names.find(|name| provider_addr::address_of(module, name) == *only)?;
        let provider = ProviderRef {
            name: local.clone(),
            alias: None,
            key: None,
            span: ends.from.span,
        };
        Some((link.name.clone(), provider))
    };
    module.resources.values().filter_map(one).collect()
}
