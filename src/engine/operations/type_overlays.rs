//! Overlays of resource types: read again whenever the providers of a configuration are launched.

use super::command::Operations;
use crate::diagnostics::convert_all;
use crate::error::EngineError;
use cty::schema::Schema;
use lang::addr::AbsInstance;
use lang::config::Module;
use lang::diag::{Diagnostic, Diagnostics};
use lang::source::SourceMap;
use lang::syntax::Expr;
use model::mutex::lock;
use model::secrets::MASK;
use model::{ConfigKey, Lazy, ObjectType, StateRow, TypeSetting, TypeView};
use provider::ProviderSchema;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use store::marked_value;
use store::records::{State, StateObject};
use types::{Given, Layer, Overlays, TypeSettings};
use workspace::load::Loaded;

impl Operations {
    /// Reads the overlays of a configuration, leaves out those that do not fit the schemas, and
    /// hides the attributes that they redact.
    pub(super) fn read_overlays(
        &self,
        loaded: &Loaded,
        schemas: &mut HashMap<Arc<str>, Arc<ProviderSchema>>,
    ) -> Result<(), EngineError> {
        let user = self.settings.types.as_deref();
        let (mut overlays, mut diags) = Overlays::load(Some(&loaded.root), user, &loaded.sources);
        diags.append(overlays.check(|name| Some(provider_of(schemas, name)?.1)));
        diags.append(hiding_modules(&overlays, &loaded.root));
        // Hidden in the schemas, so that plan, state, logs and history all hide these attributes.
        for provider in schemas.values_mut() {
            redact(&overlays, provider);
        }
        *lock(&self.overlays) = Arc::new(overlays);
        let secrets = self.pool.secrets();
        self.emit_diagnostics(convert_all(diags.iter(), &loaded.sources, secrets))
    }

    /// Settings of the resource types that have any, checked against the schemas of the providers:
    /// of one type, or of all.
    ///
    /// # Errors
    /// The configuration is invalid, or a provider cannot be launched.
    pub async fn resource_types(&self, name: Option<String>) -> Result<Vec<TypeView>, EngineError> {
        let command = self.begin().await;
        let loaded = self.read_with(&self.backend_request(), true).await?;
        let state = self.state().await?;
        // The launch of the providers also reads the overlays that are used below.
        let (root, schemas, _) = self.providers(&loaded, &state, &command).await?;
        let used = used_types(&root, &state);
        let overlays = self.overlays();
        let mut names: BTreeSet<&str> = overlays.names().map(|name| &**name).collect();
        // A type without an overlay may have the policy of its provider.
        names.extend(used.iter().map(String::as_str));
        if let Some(name) = &name {
            names.retain(|known| known == name);
        }
        let view = |type_name: &str| {
            let used = used.contains(type_name);
            let provider = provider_of(&schemas, type_name).map_or("", |(address, _)| address);
            let settings = [
                overlays.effective(type_name),
                overlays.of_provider(provider),
            ];
            type_view(type_name, used, &settings, Some(&loaded.sources))
        };
        let views = names.into_iter().map(view);
        let all = views.filter(|view| !view.settings.is_empty()).collect();
        Ok(all)
    }

    /// State for display, with the settings of the types.
    ///
    /// # Errors
    /// The state cannot be read.
    pub async fn state_rows(&self) -> Result<Vec<StateRow>, EngineError> {
        let (mut rows, state) = self.memory.state_rows().await?;
        let overlays = self.overlays_for_display().await;
        let mut types = HashMap::new();
        for (n, row) in rows.iter_mut().enumerate() {
            // All objects of a type and a provider share their settings.
            let key = (row.resource_type.clone(), row.provider.clone());
            let of_type = types.entry(key).or_insert_with(|| {
                let provider = ConfigKey::parse(&row.provider);
                let provider = provider.map_or_else(TypeSettings::default, |provider| {
                    overlays.of_provider(&provider.address)
                });
                let settings = [overlays.effective(&row.resource_type), provider];
                let view = type_view(&row.resource_type, true, &settings, None);
                let [settings, _] = settings;
                (!view.settings.is_empty()).then(|| (Arc::new(view), Arc::new(settings)))
            });
            // A data source may share the name of a resource type, but not its settings.
            let (Some((view, settings)), false) = (of_type, row.data) else {
                continue;
            };
            if !settings.redact.is_empty() && !self.settings.shows_sensitive {
                let (settings, shown) = (settings.clone(), row.attributes.clone());
                // A record from before the redaction does not mark these attributes.
                row.attributes = Lazy::new(move || masked(&settings, &shown));
            }
            // Columns are computed on demand, because a state can have thousands of objects.
            let (settings, state) = (settings.clone(), state.clone());
            row.of_type = Some(ObjectType {
                view: view.clone(),
                columns: Lazy::new(move || settings.columns_of(&marked_value(&state.objects[n]))),
            });
        }
        Ok(rows)
    }

    /// Overlays that were read last; without any, those of the present configuration if it is
    /// valid.
    async fn overlays_for_display(&self) -> Arc<Overlays> {
        let known = self.overlays();
        // Built-in overlays exist always, once they are read.
        if known.names().next().is_some() {
            return known;
        }
        // Errors of the configuration are no errors of the state.
        let loaded = self.quiet().read_with(&self.backend_request(), true).await;
        let read = match loaded {
            Ok(loaded) => self.parsed_overlays(&loaded),
            Err(_) => {
                let user = self.settings.types.as_deref();
                Overlays::load(None, user, &SourceMap::new()).0
            }
        };
        let read = Arc::new(read);
        // Kept, so that the next display does not read the configuration again.
        *lock(&self.overlays) = read.clone();
        read
    }

    /// Overlays of a configuration, not checked against schemas.
    pub(super) fn parsed_overlays(&self, loaded: &Loaded) -> Overlays {
        let user = self.settings.types.as_deref();
        Overlays::load(Some(&loaded.root), user, &loaded.sources).0
    }

    /// Overlays of the configuration that was read last.
    pub(super) fn overlays(&self) -> Arc<Overlays> {
        lock(&self.overlays).clone()
    }
}

/// Attributes of an object with the redacted ones masked.
fn masked(settings: &TypeSettings, shown: &[(String, String)]) -> Vec<(String, String)> {
    let all = shown.iter().cloned();
    let mask = |(name, value): (String, String)| match settings.redacts(&name) {
        true => (name, MASK.to_owned()),
        false => (name, value),
    };
    all.map(mask).collect()
}

/// Settings of a type for display, with the policy of its provider if it has none of its own.
fn type_view(
    type_name: &str,
    used: bool,
    [settings, of_provider]: &[TypeSettings; 2],
    sources: Option<&SourceMap>,
) -> TypeView {
    let mut fields = settings.fields();
    if settings.reconcile().is_none() {
        fields.extend(of_provider.fields());
    }
    let rows = fields.into_iter().map(|(name, value, origin)| {
        // Built-in settings are in no file that could be named.
        let sources = sources.filter(|_| origin.layer > Layer::BuiltIn);
        let range = sources.and_then(|sources| sources.range(origin.span));
        TypeSetting {
            name,
            value: value.to_owned(),
            layer: origin.layer.label().to_owned(),
            place: range.map(|r| format!("{}:{}", r.filename, r.start.line)),
        }
    });
    TypeView {
        type_name: type_name.to_owned(),
        used,
        waits: settings.waits(),
        settings: rows.collect(),
    }
}

/// Types of the managed resources of a configuration and of a state.
fn used_types(root: &Module, state: &State) -> BTreeSet<String> {
    let declared = root.all().into_iter().flat_map(|m| m.resources.keys());
    let declared = declared.map(|resource| resource.kind.to_string());
    let address = |object: &StateObject| object.address.parse::<AbsInstance>().ok();
    let stored = state.objects.iter().filter_map(address);
    let stored = stored.map(|address| address.resource.kind.to_string());
    declared.chain(stored).collect()
}

/// Address of a provider that has this resource type, and the schema of the type.
fn provider_of<'s>(
    schemas: &'s HashMap<Arc<str>, Arc<ProviderSchema>>,
    type_name: &str,
) -> Option<(&'s str, &'s Schema)> {
    let schema = |(address, provider): (&'s Arc<str>, &'s Arc<ProviderSchema>)| {
        Some((&**address, provider.resources.get(type_name)?))
    };
    // Forks of a provider have the same types; the answer must not change between two runs.
    let found = schemas.iter().filter_map(schema);
    found.min_by_key(|(address, _)| *address)
}

/// Warnings of called modules that hide attributes of types that the root module uses: a change of
/// such an attribute would go unnoticed.
fn hiding_modules(overlays: &Overlays, root: &Module) -> Diagnostics {
    let mut diags = Diagnostics::new();
    for (name, settings) in overlays.redacting() {
        if !root
            .resources
            .keys()
            .any(|resource| *resource.kind == *name)
        {
            continue;
        }
        let by_module = |given: &&Given<Vec<Expr>>| given.origin.layer == Layer::Module;
        for given in settings.redact.iter().filter(by_module) {
            let detail = format!(
                "A called module hides {} of {name}, also of resources of the root module, so their changes are not shown. Remove the redaction, or repeat it in the root module.",
                given.text
            );
            let found = Diagnostic::warning("Attributes hidden by a called module", detail);
            diags.push(found.at(given.origin.span));
        }
    }
    diags
}

fn redact(overlays: &Overlays, provider: &mut Arc<ProviderSchema>) {
    let redacting = overlays.redacting();
    let own: Vec<_> = redacting
        .filter(|(name, _)| provider.resources.get(name).is_some())
        .collect();
    if own.is_empty() {
        return;
    }
    // Copies the schema if it is shared, so that only redactions pay for it.
    let provider = Arc::make_mut(provider);
    for (name, settings) in own {
        if let Some(schema) = provider.resources.get_mut(name) {
            settings.redact_schema(schema);
        }
    }
}
