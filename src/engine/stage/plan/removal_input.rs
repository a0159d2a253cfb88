//! Input to read and destroy an object that the plan may remove, and the result of reading it.

use super::instance::Declared;
use super::resource::Shared;
use crate::stage::change::Importing;
use crate::stage::managed::{Prior, Reason};
use crate::stage::provider_instance::Chosen;
use cty::schema::Schema;
use model::ConfigKey;
use provider::Provider;
use std::sync::Arc;
use store::records::StateObject;

/// Input to read and destroy objects of a resource, declared or not, except the provider process.
#[derive(Clone)]
pub(super) struct Removal<'a> {
    /// Provider block; if `by_record`, the state selects its instance.
    pub(super) block: ConfigKey,
    pub(super) by_record: bool,
    pub(super) schema: &'a Schema,
    pub(super) plan_destroy: bool,
    /// `lifecycle.destroy = false` of a declared resource; `None` if undeclared, then the state
    /// decides.
    pub(super) forgets: Option<bool>,
    pub(super) span: Option<lang::source::Span>,
}

/// Input to read and destroy one object, with its provider.
pub(super) struct RemovalOf<'a> {
    pub(super) removal: Removal<'a>,
    pub(super) key: ConfigKey,
    pub(super) provider: Arc<dyn Provider>,
}

impl<'a> std::ops::Deref for RemovalOf<'a> {
    type Target = Removal<'a>;

    fn deref(&self) -> &Removal<'a> {
        &self.removal
    }
}

impl<'a> Removal<'a> {
    pub(super) fn by(self, (key, provider): Chosen) -> RemovalOf<'a> {
        RemovalOf {
            removal: self,
            key,
            provider,
        }
    }

    /// Returns the reason to forget an object instead of destroying it; `None` if it is destroyed.
    pub(super) fn forget_reason(&self, object: &StateObject) -> Option<Reason> {
        match self.forgets {
            Some(declared) => declared.then_some(Reason::ForgotBecauseLifecycleDestroyInConfig),
            None => object
                .skip_destroy
                .then_some(Reason::ForgotBecauseLifecycleDestroyInState),
        }
    }
}

pub(super) fn declared_removal<'a>(declared: &Declared<'a>) -> RemovalOf<'a> {
    removal(declared.shared).by((declared.key.clone(), declared.provider.clone()))
}

pub(super) fn removal<'a>(shared: &Shared<'a>) -> Removal<'a> {
    Removal {
        block: shared.route.block.clone(),
        by_record: shared.route.by.is_some(),
        schema: shared.schema,
        plan_destroy: shared.plan_destroy,
        forgets: Some(shared.resource.lifecycle.forgets()),
        span: Some(shared.resource.span),
    }
}

/// Object's state record and its current value.
#[derive(Default)]
pub(super) struct ReadObject {
    pub(super) current: Option<Prior>,
    pub(super) object: Option<StateObject>,
    pub(super) drifted: bool,
    /// Key of its import, if it is imported.
    pub(super) imported: Option<Importing>,
}
