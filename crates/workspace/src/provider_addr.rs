//! Resolves the `provider` block of a resource. Pure.

use lang::addr::ModulePath;
use lang::config::{Module, ProviderConfig, ProviderRef};
use lang::syntax::ast::Expr;
use model::{ConfigKey, full_address};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Provider block of a resource, and the expression that selects an instance.
pub struct Route<'a> {
    /// Key of the block, without an instance.
    pub block: ConfigKey,
    pub by: Option<By<'a>>,
}

/// Expression for the key of a provider instance.
#[derive(Clone)]
pub struct By<'a> {
    pub key: &'a Expr,
    /// Module whose call passes the instance, and in whose instances the expression's `each` and
    /// `count` are defined; `None` if the resource itself has the expression.
    pub module: Option<ModulePath>,
}

/// Provider address of a local name in a module.
pub fn address_of(module: &Module, local: &str) -> Arc<str> {
    match module.required_providers.get(local) {
        Some(required) => full_address(&required.source).into(),
        None => full_address(local).into(),
    }
}

/// Default local provider name of a resource type: the part before the first underscore.
pub fn implied_local_name(kind: &str) -> &str {
    kind.split_once('_').map_or(kind, |(first, _)| first)
}

/// Resolves a reference in a module to its block, following the providers that calls pass or share.
pub fn resolve<'a>(root: &'a Module, module: &Module, reference: &'a ProviderRef) -> Route<'a> {
    let mut by = reference.key.as_deref().map(|key| By { key, module: None });
    let block = resolve_passed(
        root,
        module,
        &reference.name,
        reference.alias.as_ref(),
        &mut by,
    );
    Route { block, by }
}

fn resolve_passed<'a>(
    root: &'a Module,
    module: &Module,
    name: &Arc<str>,
    alias: Option<&Arc<str>>,
    by: &mut Option<By<'a>>,
) -> ConfigKey {
    let address = address_of(module, name);
    let mut path = module.path.clone();
    let mut name = name.clone();
    let mut alias = alias.cloned();
    // Goes up through the callers, until a block configures the name.
    while let Some(here) = root.descendant(&path.0) {
        if block(here, &name, alias.as_ref()).is_some() || path.is_root() {
            break;
        }
        let Some((parent_path, call_name)) = path.parent() else {
            break;
        };
        let Some(parent) = root.descendant(&parent_path.0) else {
            break;
        };
        let Some(call) = parent.calls.get(call_name) else {
            break;
        };
        let passed = call.providers.as_ref().and_then(|all| {
            all.iter()
                .find(|(inner, _)| inner.name == name && inner.alias == alias)
        });
        match passed {
            Some((_, outer)) => {
                if let Some(key) = outer.key.as_deref() {
                    *by = Some(By {
                        key,
                        module: Some(path.clone()),
                    });
                }
                name = outer.name.clone();
                alias = outer.alias.clone();
            }
            // Only default configurations are inherited without being passed.
            None if alias.is_some() => break,
            None => {
                // The caller may use another local name for the same provider.
                if address_of(parent, &name) != address {
                    let other = parent
                        .required_providers
                        .iter()
                        .find(|(_, r)| *full_address(&r.source) == *address)
                        .map(|(n, _)| n.clone());
                    name = other.unwrap_or(name);
                }
            }
        }
        path = parent_path;
    }
    ConfigKey {
        address,
        module: path,
        alias,
        instance: None,
    }
}

/// The `provider` block with this name and alias.
pub fn block<'a>(
    module: &'a Module,
    name: &str,
    alias: Option<&Arc<str>>,
) -> Option<&'a ProviderConfig> {
    module
        .providers
        .iter()
        .find(|p| *p.name == *name && p.alias.as_ref() == alias)
}

/// Key of a `provider` block.
pub fn key_of(module: &Module, block: &ProviderConfig) -> ConfigKey {
    ConfigKey {
        address: address_of(module, &block.name),
        module: module.path.clone(),
        alias: block.alias.clone(),
        instance: None,
    }
}

/// The `provider` block of a key, if there is one.
pub fn block_of<'a>(root: &'a Module, key: &ConfigKey) -> Option<&'a ProviderConfig> {
    let module = root.descendant(&key.module.0)?;
    module
        .providers
        .iter()
        .find(|p| address_of(module, &p.name) == key.address && p.alias == key.alias)
}

/// Returns true if the configuration has the block of a key, with its instance. The root has an
/// implicit empty block for each provider.
pub fn is_configured(root: &Module, key: &ConfigKey) -> bool {
    match block_of(root, key) {
        Some(block) => match (&block.instances, &key.instance) {
            (Some(instances), Some(instance)) => instances.contains_key(instance),
            (instances, instance) => instances.is_none() && instance.is_none(),
        },
        None => key.module.is_root() && key.alias.is_none() && key.instance.is_none(),
    }
}

/// Every provider address that a configuration requires or uses, root module first.
pub fn addresses(root: &Module) -> Vec<Arc<str>> {
    let mut out: Vec<Arc<str>> = Vec::new();
    for address in root.all().into_iter().flat_map(provider_addresses) {
        // Keeps the order, root module first.
        if !out.contains(&address) {
            out.push(address);
        }
    }
    out
}

/// Provider addresses in one module, with repetitions.
fn provider_addresses(module: &Module) -> impl Iterator<Item = Arc<str>> {
    let required = module.required_providers.keys();
    let blocks = module.providers.iter().map(|p| &p.name);
    let declared = required.chain(blocks).map(|name| address_of(module, name));
    let used = module.resources.values();
    declared.chain(used.map(|r| address_of(module, provider_name(r))))
}

/// Providers of one module by address: version constraints as written, each with its local name.
pub fn required(module: &Module) -> BTreeMap<Arc<str>, Vec<(Arc<str>, Arc<str>)>> {
    let mut all: BTreeMap<_, Vec<_>> = provider_addresses(module)
        .map(|a| (a, Vec::new()))
        .collect();
    let required = module.required_providers.iter();
    let required = required.flat_map(|(name, r)| r.versions.iter().map(move |v| (name, &v.0)));
    let blocks = module.providers.iter();
    let blocks = blocks.filter_map(|p| Some((&p.name, &p.version.as_ref()?.0)));
    for (name, text) in required.chain(blocks) {
        let of = all.entry(address_of(module, name)).or_default();
        of.push((name.clone(), text.clone()));
    }
    all
}

/// Local provider name of a resource.
pub fn provider_name(resource: &lang::config::Resource) -> &str {
    resource
        .provider
        .as_ref()
        .map_or_else(|| implied_local_name(&resource.name.kind), |p| &p.name)
}

/// Key of the block that a resource uses.
pub fn for_resource(
    root: &Module,
    module: &Module,
    resource: &lang::config::Resource,
) -> ConfigKey {
    route_of(root, module, resource).block
}

/// Block for a provider function, by the local name and alias of its call: without one, the root's
/// block or an unconfigured provider.
pub fn for_function<'a>(
    root: &'a Module,
    module: &Module,
    name: &str,
    alias: Option<&str>,
) -> Route<'a> {
    let mut by = None;
    let alias = alias.map(Arc::from);
    let block = resolve_passed(root, module, &name.into(), alias.as_ref(), &mut by);
    if block_of(root, &block).is_some() {
        return Route { block, by };
    }
    Route {
        block: ConfigKey::of_root(block.address),
        by: None,
    }
}

/// Block of a resource, and the expression that selects an instance.
pub fn route_of<'a>(
    root: &'a Module,
    module: &Module,
    resource: &'a lang::config::Resource,
) -> Route<'a> {
    match &resource.provider {
        Some(reference) => resolve(root, module, reference),
        None => {
            let mut by = None;
            let block = resolve_passed(
                root,
                module,
                &implied_local_name(&resource.name.kind).into(),
                None,
                &mut by,
            );
            Route { block, by }
        }
    }
}
