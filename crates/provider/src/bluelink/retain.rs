//! Keeps computed values that an update does not set again. Pure.

use super::schema::{NodeKind, is_provider_set};
use proto::bluelink::schema::MappingNode;
use proto::bluelink::sharedtypesv1::ResourceDefinitionsSchema as Node;

/// Copies computed fields of `prior` into `spec` where it has none.
pub(super) fn retain_provider_fields(node: &Node, spec: &mut MappingNode, prior: &MappingNode) {
    for (name, of) in &node.attributes {
        match (spec.fields.get_mut(name), prior.fields.get(name)) {
            (Some(spec), Some(prior)) => retain_provider_fields(of, spec, prior),
            (None, Some(prior)) if of.computed || is_provider_set(of) => {
                spec.fields.insert(name.clone(), prior.clone());
            }
            _ => {}
        }
    }
    if let Some(of) = node.map_values.as_deref() {
        for (name, spec) in &mut spec.fields {
            if let Some(prior) = prior.fields.get(name) {
                retain_provider_fields(of, spec, prior);
            }
        }
    }
    if let Some(of) = node.items.as_deref() {
        let matches = matches(node, of, &spec.items, &prior.items);
        for (spec, prior) in spec.items.iter_mut().zip(matches) {
            if let Some(prior) = prior {
                retain_provider_fields(of, spec, prior);
            }
        }
    }
}

/// Returns the prior element of each element: the one with the same key, else with the same
/// configured values, else the unmatched one at the same position.
fn matches<'p>(
    node: &Node,
    of: &Node,
    spec: &[MappingNode],
    prior: &'p [MappingNode],
) -> Vec<Option<&'p MappingNode>> {
    let by = node.sort_array_by_field.as_str();
    if !by.is_empty() {
        let key = |item: &MappingNode| item.fields.get(by).cloned();
        let same = |item: &MappingNode| {
            let wanted = key(item)?;
            prior.iter().find(|p| key(p).as_ref() == Some(&wanted))
        };
        return spec.iter().map(same).collect();
    }
    let mut taken = vec![false; prior.len()];
    let mut found: Vec<Option<usize>> = vec![None; spec.len()];
    let agrees = |at: usize, item: &MappingNode| {
        prior
            .get(at)
            .is_some_and(|p| same_configured_values(of, item, p))
    };
    // Elements that stay in place are matched first, so that equal elements keep their own values.
    for (at, item) in spec.iter().enumerate() {
        if agrees(at, item) {
            (found[at], taken[at]) = (Some(at), true);
        }
    }
    for (at, item) in spec.iter().enumerate() {
        if found[at].is_none()
            && let Some(from) = (0..prior.len()).find(|from| !taken[*from] && agrees(*from, item))
        {
            (found[at], taken[from]) = (Some(from), true);
        }
    }
    for (at, from) in found.iter_mut().enumerate() {
        if from.is_none() && taken.get(at) == Some(&false) {
            *from = Some(at);
        }
    }
    let element = |from: Option<usize>| from.and_then(|from| prior.get(from));
    found.into_iter().map(element).collect()
}

/// Returns true if two nodes have the same configured values, without computed fields.
fn same_configured_values(node: &Node, spec: &MappingNode, prior: &MappingNode) -> bool {
    let own = |of: &Node| of.computed || is_provider_set(of);
    if NodeKind::of(node) == NodeKind::Object {
        return node.attributes.iter().all(|(name, of)| {
            match (spec.fields.get(name), prior.fields.get(name)) {
                (Some(spec), Some(prior)) => same_configured_values(of, spec, prior),
                (None, None) => true,
                (None, Some(_)) => own(of),
                (Some(_), None) => false,
            }
        });
    }
    if let Some(of) = node.map_values.as_deref() {
        let same = |(name, spec): (&String, &MappingNode)| {
            let prior = prior.fields.get(name);
            prior.is_some_and(|prior| same_configured_values(of, spec, prior))
        };
        return spec.fields.len() == prior.fields.len() && spec.fields.iter().all(same);
    }
    if let Some(of) = node.items.as_deref() {
        let mut both = spec.items.iter().zip(&prior.items);
        return spec.items.len() == prior.items.len()
            && both.all(|(a, b)| same_configured_values(of, a, b));
    }
    spec.scalar == prior.scalar && spec.fields == prior.fields && spec.items == prior.items
}
