//! Reads the kinds of links of a provider when its process starts, and detects plugins with an
//! incompatible version of link messages.

use crate::LinkPair;
use crate::bluelink::schema::type_name;
use crate::bluelink::wire::{Fault, Wire};
use calls::{Method, ProviderError};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use proto::bluelink::providerserverv1::{LinkKind as LinkKindWord, *};
use proto::bluelink::sharedtypesv1::{LinkAnnotationDefinition, LinkAnnotationDefinitionsResponse};
use std::collections::BTreeMap;

/// Maximum number of kinds queried concurrently.
const MAX_CONCURRENT_KINDS: usize = 16;

/// Kinds of links of a provider.
#[derive(Debug, Default)]
pub(in super::super) struct Links {
    /// By the types of both ends, as in configurations.
    pub(super) kinds: BTreeMap<LinkPair, LinkKind>,
    /// True if the plugin would misread link messages.
    pub(super) too_old: bool,
}

impl Links {
    pub(in super::super) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }
}

/// Kind of link.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LinkKind {
    /// `aws/lambda/function::aws/dynamodb/table`.
    pub(super) wire: String,
    /// By name.
    pub(super) annotations: BTreeMap<String, LinkAnnotationDefinition>,
    /// Index of the end that must exist before the other: 0 or 1.
    pub(super) first: Option<usize>,
}

/// Reads all kinds; empty if the plugin lacks the call.
pub(in super::super) async fn links(wire: &Wire) -> Result<Links, ProviderError> {
    let request = ProviderRequest {
        host_id: wire.host_id.clone(),
    };
    let path = "/providerserverv1.Provider/ListLinkTypes";
    let asked = wire.ask::<LinkTypesResponse>(Method::Schema, path, request);
    let types = match asked.await {
        Ok(types) => types.link_types,
        Err(Fault::Call(ProviderError::Unsupported { .. })) => return Ok(Links::default()),
        Err(fault) => return Err(wire.refused(Method::Schema, fault)),
    };
    // Sorted, because plugins list types in any order.
    let mut types: Vec<String> = types.into_iter().map(|t| t.r#type).collect();
    types.sort();
    let pairs = types
        .into_iter()
        .filter_map(|wire| Some((pair(&wire)?, wire)));
    let pairs: Vec<(LinkPair, String)> = pairs.collect();
    if pairs.is_empty() {
        return Ok(Links::default());
    }
    // Its kinds stay known, so that using them gives an error with the reason.
    if has_old_messages(wire).await? {
        let kind = |wire| LinkKind {
            wire,
            annotations: BTreeMap::new(),
            first: None,
        };
        let kinds = pairs.into_iter().map(|(pair, wire)| (pair, kind(wire)));
        return Ok(Links {
            kinds: kinds.collect(),
            too_old: true,
        });
    }
    let all = stream::iter(pairs.into_iter().map(|(pair, name)| async move {
        Ok::<_, ProviderError>((pair, kind(wire, name).await?))
    }));
    Ok(Links {
        kinds: all.buffered(MAX_CONCURRENT_KINDS).try_collect().await?,
        too_old: false,
    })
}

/// Returns the types of both ends of `a::b`.
fn pair(wire: &str) -> Option<LinkPair> {
    let (from, to) = wire.split_once("::")?;
    Some([type_name(from), type_name(to)])
}

/// Returns true if the plugin uses link messages with old field numbers. All versions report the
/// same protocol version, but only newer ones have this call. It is sent with an unknown host id,
/// which the plugin rejects before it does anything else.
async fn has_old_messages(wire: &Wire) -> Result<bool, ProviderError> {
    let path = "/providerserverv1.Provider/GetLinkIntermediaryExternalState";
    let stranger = GetLinkIntermediaryExternalStateRequest::default();
    let asked =
        wire.ask::<GetLinkIntermediaryExternalStateResponse>(Method::Schema, path, stranger);
    match asked.await {
        Err(Fault::Call(ProviderError::Unsupported { .. })) => Ok(true),
        Err(Fault::Call(error)) => Err(error),
        // Any answer proves that the plugin has the call.
        Ok(_) | Err(Fault::Reported(_)) => Ok(false),
    }
}

async fn kind(wire: &Wire, name: String) -> Result<LinkKind, ProviderError> {
    let request = || LinkRequest {
        link_type: Some(LinkType {
            r#type: name.clone(),
        }),
        host_id: wire.host_id.clone(),
        context: Some(LinkContext::default()),
    };
    let refused = |fault| wire.refused(Method::Schema, fault);
    let path = "/providerserverv1.Provider/GetLinkAnnotationDefinitions";
    let asked = wire.ask::<LinkAnnotationDefinitionsResponse>(Method::Schema, path, request());
    let annotations = asked.await.map_err(refused)?.definitions;
    let path = "/providerserverv1.Provider/GetLinkKind";
    let asked = wire.ask::<LinkKindResponse>(Method::Schema, path, request());
    let is_hard = asked.await.map_err(refused)?.kind() == LinkKindWord::Hard;
    let path = "/providerserverv1.Provider/GetLinkPriorityResource";
    // A soft link works in any order, so only hard ones have a priority.
    let asked = wire.ask::<LinkPriorityResourceResponse>(Method::Schema, path, request());
    let first = match asked.await.map_err(refused)?.priority_resource() {
        LinkPriorityResource::A if is_hard => Some(0),
        LinkPriorityResource::B if is_hard => Some(1),
        _ => None,
    };
    // The key starts with the type of its end, which the definition contains too.
    let named = annotations.into_iter().map(|(key, definition)| {
        let name = match definition.name.is_empty() {
            true => key.rsplit("::").next().unwrap_or_default().to_owned(),
            false => definition.name.clone(),
        };
        (name, definition)
    });
    Ok(LinkKind {
        annotations: named.collect(),
        first,
        wire: name,
    })
}
