//! What is needed to look at an object and to destroy it, and what looking at it has found.

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

/// What is needed to look at objects and to destroy them, whether they are declared or not; but for
/// whom to ask.
#[derive(Clone)]
pub(super) struct Going<'a> {
    /// The provider block, and whether it is for the state to say which of its instances an object
    /// belongs to.
    pub(super) block: ConfigKey,
    pub(super) by_record: bool,
    pub(super) schema: &'a Schema,
    pub(super) plan_destroy: bool,
    /// Whether its `lifecycle` says that objects are forgotten and not destroyed; what the state
    /// says where it is not declared.
    pub(super) forgets: Option<bool>,
    pub(super) span: Option<lang::source::Span>,
}

/// The same for one object.
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

    /// Why an object is forgotten where it would be destroyed; `None` where it is destroyed.
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

/// An object's record and what it is now.
#[derive(Default)]
pub(super) struct Looked {
    pub(super) now: Option<Prior>,
    pub(super) object: Option<StateObject>,
    pub(super) drifted: bool,
    /// How it is imported.
    pub(super) imported: Option<Importing>,
}
