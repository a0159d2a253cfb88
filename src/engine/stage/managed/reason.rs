//! Reasons for a replacement, destroy, removal from the state or deferred read.

/// Reason for an action, with the names of the plan representation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    ReplaceBecauseTainted,
    ReplaceByRequest,
    ReplaceByTriggers,
    ReplaceBecauseCannotUpdate,
    DeleteBecauseNoResourceConfig,
    DeleteBecauseWrongRepetition,
    DeleteBecauseCountIndex,
    DeleteBecauseEachKey,
    DeleteBecauseNoModule,
    DeleteBecauseNoMoveTarget,
    DeleteBecauseEnabledFalse,
    ForgotBecauseLifecycleDestroyInConfig,
    ForgotBecauseLifecycleDestroyInState,
    ReadBecauseConfigUnknown,
    ReadBecauseDependencyPending,
    ReadBecauseCheckNested,
}

impl Reason {
    /// Returns the word of the plan representation.
    pub fn plan_name(self) -> &'static str {
        match self {
            Self::ReplaceBecauseTainted => "replace_because_tainted",
            Self::ReplaceByRequest => "replace_by_request",
            Self::ReplaceByTriggers => "replace_by_triggers",
            Self::ReplaceBecauseCannotUpdate => "replace_because_cannot_update",
            Self::DeleteBecauseNoResourceConfig => "delete_because_no_resource_config",
            Self::DeleteBecauseWrongRepetition => "delete_because_wrong_repetition",
            Self::DeleteBecauseCountIndex => "delete_because_count_index",
            Self::DeleteBecauseEachKey => "delete_because_each_key",
            Self::DeleteBecauseNoModule => "delete_because_no_module",
            Self::DeleteBecauseNoMoveTarget => "delete_because_no_move_target",
            Self::DeleteBecauseEnabledFalse => "delete_because_enabled_false",
            Self::ForgotBecauseLifecycleDestroyInConfig => {
                "forgot_because_lifecycle_destroy_in_config"
            }
            Self::ForgotBecauseLifecycleDestroyInState => {
                "forgot_because_lifecycle_destroy_in_state"
            }
            Self::ReadBecauseConfigUnknown => "read_because_config_unknown",
            Self::ReadBecauseDependencyPending => "read_because_dependency_pending",
            Self::ReadBecauseCheckNested => "read_because_check_nested",
        }
    }

    /// Returns the text for display.
    pub fn text(self) -> &'static str {
        match self {
            Self::ReplaceBecauseTainted => "the object is tainted: its creation did not finish",
            Self::ReplaceByRequest => "requested",
            Self::ReplaceByTriggers => "a reference in replace_triggered_by changes",
            Self::ReplaceBecauseCannotUpdate => "an attribute cannot be changed in place",
            Self::DeleteBecauseNoResourceConfig => "no longer in the configuration",
            Self::DeleteBecauseWrongRepetition => {
                "the resource's repetition (count, for_each) changed"
            }
            Self::DeleteBecauseCountIndex => "the index is out of range of count",
            Self::DeleteBecauseEachKey => "the key is no longer in for_each",
            Self::DeleteBecauseNoModule => "its module instance is no longer in the configuration",
            Self::DeleteBecauseNoMoveTarget => {
                "it was moved to an address that is not in the configuration"
            }
            Self::DeleteBecauseEnabledFalse => "enabled is false",
            Self::ForgotBecauseLifecycleDestroyInConfig => "its lifecycle sets destroy = false",
            Self::ForgotBecauseLifecycleDestroyInState => {
                "its lifecycle set destroy = false when it was last deployed"
            }
            Self::ReadBecauseConfigUnknown => {
                "its configuration depends on values known only after apply"
            }
            Self::ReadBecauseDependencyPending => "a dependency has a pending change",
            Self::ReadBecauseCheckNested => "it belongs to a check",
        }
    }
}
