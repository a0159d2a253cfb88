//! Arguments that decide about the real object at its destroy, recognised by their names, because
//! schemas do not say so. Checks leave them as they are. Pure.

/// Words in the names of such arguments.
const WORDS: &[&str] = &[
    "abandon",
    "delete",
    "deletion",
    "destroy",
    "destruction",
    "keep",
    "preserve",
    "prevent",
    "protect",
    "protected",
    "protection",
    "removal",
    "retain",
    "terminate",
    "termination",
    "undelete",
];

/// Returns true if an argument may keep the real object when it is destroyed, or leave something in
/// its stead: `skip_destroy`, `deletion_protection`, `final_snapshot_identifier`.
pub(super) fn may_keep_object(name: &str) -> bool {
    let mut words = name.split(['_', '-']);
    words.any(|word| WORDS.contains(&word))
        || ["final_snapshot", "final_backup"]
            .iter()
            .any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_protection_are_recognised() {
        for (name, keeps) in [
            ("skip_destroy", true),
            ("keep_on_destroy", true),
            ("force_destroy", true),
            ("deletion_protection", true),
            ("deletion_policy", true),
            ("enable_termination_protection", true),
            ("disable_api_termination", true),
            ("prevent_delete", true),
            ("retain_on_delete", true),
            ("skip_final_snapshot", true),
            ("final_snapshot_identifier", true),
            ("final_backup_name", true),
            ("removal_policy", true),
            ("keepers", false),
            ("protocol", false),
            ("retention_in_days", false),
            ("snapshot_identifier", false),
            ("terminated_at", false),
        ] {
            assert_eq!(may_keep_object(name), keeps, "{name}");
        }
    }
}
