//! Overlays of resource types: read again whenever the providers of a configuration are launched.

use super::command::Operations;
use crate::diagnostics::convert_all;
use crate::error::EngineError;
use cty::schema::Schema;
use model::mutex::lock;
use provider::ProviderSchema;
use std::collections::HashMap;
use std::sync::Arc;
use types::Overlays;
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
        diags.append(overlays.check(|name| schema_of(schemas, name)));
        for provider in schemas.values_mut() {
            redact(&overlays, provider);
        }
        *lock(&self.overlays) = Arc::new(overlays);
        let secrets = self.pool.secrets();
        self.emit_diagnostics(convert_all(diags.iter(), &loaded.sources, secrets))
    }

    /// Overlays of the configuration that was read last.
    pub(super) fn overlays(&self) -> Arc<Overlays> {
        lock(&self.overlays).clone()
    }
}

/// Schema of a resource type of any provider.
fn schema_of<'s>(
    schemas: &'s HashMap<Arc<str>, Arc<ProviderSchema>>,
    type_name: &str,
) -> Option<&'s Schema> {
    let mut found = schemas.values().filter_map(|p| p.resources.get(type_name));
    found.next()
}

fn redact(overlays: &Overlays, provider: &mut Arc<ProviderSchema>) {
    let redacting = overlays.redacting();
    let own: Vec<_> = redacting
        .filter(|(name, _)| provider.resources.get(name).is_some())
        .collect();
    if own.is_empty() {
        return;
    }
    let provider = Arc::make_mut(provider);
    for (name, settings) in own {
        if let Some(schema) = provider.resources.get_mut(name) {
            settings.redact_schema(schema);
        }
    }
}
