//! Input to read and destroy an object that the plan may remove, and the result of reading it.

use super::instance::Declared;
use super::resource::Shared;
use crate::engine::provider::Provider;
use crate::engine::stage::change::Importing;
use crate::engine::stage::choose::Chosen;
use crate::engine::stage::managed::{Prior, Reason};
use crate::engine::store::model::StateObject;
use crate::engine::words::ConfigKey;
use cty::schema::Schema;
use std::sync::Arc;

/// Input to read and destroy objects of a resource, declared or not, except the provider process.
#[derive(Clone)]
pub(super) struct Going<'a> {
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
pub(super) struct Gone<'a> {
    pub(super) going: Going<'a>,
    pub(super) key: ConfigKey,
    pub(super) provider: Arc<dyn Provider>,
}

impl<'a> std::ops::Deref for Gone<'a> {
    type Target = Going<'a>;

    fn deref(&self) -> &Going<'a> {
        &self.going
    }
}

impl<'a> Going<'a> {
    pub(super) fn by(self, (key, provider): Chosen) -> Gone<'a> {
        Gone {
            going: self,
            key,
            provider,
        }
    }

    /// Returns the reason to forget an object instead of destroying it; `None` if it is destroyed.
    pub(super) fn forgotten(&self, object: &StateObject) -> Option<Reason> {
        match self.forgets {
            Some(declared) => declared.then_some(Reason::ForgotBecauseLifecycleDestroyInConfig),
            None => object
                .skip_destroy
                .then_some(Reason::ForgotBecauseLifecycleDestroyInState),
        }
    }
}

pub(super) fn declared_gone<'a>(declared: &Declared<'a>) -> Gone<'a> {
    going(declared.shared).by((declared.key.clone(), declared.provider.clone()))
}

pub(super) fn going<'a>(shared: &Shared<'a>) -> Going<'a> {
    Going {
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
pub(super) struct Looked {
    pub(super) now: Option<Prior>,
    pub(super) object: Option<StateObject>,
    pub(super) drifted: bool,
    /// Key of its import, if it is imported.
    pub(super) imported: Option<Importing>,
}
