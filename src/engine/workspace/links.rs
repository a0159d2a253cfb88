//! Which provider configuration a `link` block uses that says none: that of a plugin which links the
//! two types, once the plugins have said which ones they link. Pure.

use super::provider_addr;
use crate::engine::provider::{LinkPair, LinkTypes, ProviderSchema};
use lang::config::{Module, ProviderRef, Resource, end_of_link};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The types that a link has at its ends.
pub fn pair(link: &Resource) -> Option<LinkPair> {
    let ends = link.link.as_ref()?;
    let kind = |expr| Some(end_of_link(expr)?.kind.to_string());
    Some([kind(&ends.from)?, kind(&ends.to)?])
}

/// The providers, by their whole addresses, that link two types.
pub fn linking(
    schemas: &HashMap<Arc<str>, Arc<ProviderSchema>>,
    pair: &LinkPair,
) -> BTreeSet<Arc<str>> {
    let has = |schema: &ProviderSchema| match &schema.links {
        LinkTypes::Unspoken => false,
        LinkTypes::Pairs(all) | LinkTypes::Refused(all, _) => all.contains(pair),
    };
    let all = schemas.iter().filter(|(_, schema)| has(schema));
    all.map(|(address, _)| address.clone()).collect()
}

/// The configuration with links bound to the one provider that has them, where they do not say which
/// one and the resource they begin at is another one's.
pub fn bind(root: &Arc<Module>, schemas: &HashMap<Arc<str>, Arc<ProviderSchema>>) -> Arc<Module> {
    if root
        .all()
        .iter()
        .all(|m| other_choices(m, schemas).is_empty())
    {
        return root.clone();
    }
    let mut module = (**root).clone();
    for (name, provider) in other_choices(root, schemas) {
        if let Some(link) = module.resources.get_mut(&name) {
            link.provider = Some(provider);
        }
    }
    for call in module.calls.values_mut() {
        call.module = call.module.as_ref().map(|child| bind(child, schemas));
    }
    Arc::new(module)
}

fn other_choices(
    module: &Module,
    schemas: &HashMap<Arc<str>, Arc<ProviderSchema>>,
) -> Vec<(lang::addr::Resource, ProviderRef)> {
    let one = |link: &Resource| {
        let ends = link.link.as_ref().filter(|ends| !ends.provider_given)?;
        let all = linking(schemas, &pair(link)?);
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
