//! Text of a plan: InfraKit's sentence for `commit --pretend`, and a summary with batches.

use crate::MemberKey;
use crate::order::RolloutPlan;

impl RolloutPlan {
    /// Returns true if nothing changes.
    pub fn is_empty(&self) -> bool {
        self.shrink.is_empty() && self.batches.is_empty() && self.grow.is_empty()
    }

    /// Number of members that roll.
    pub fn rolling(&self) -> usize {
        self.batches.iter().map(Vec::len).sum()
    }

    /// All members that change, in order.
    pub fn members(&self) -> impl Iterator<Item = &MemberKey> {
        self.shrink
            .iter()
            .chain(self.batches.iter().flatten())
            .chain(&self.grow)
    }

    /// InfraKit's sentence, in its words. `before` is the committed size, or `None` for the first
    /// commit of a group of `size` members.
    pub fn infrakit_text(&self, before: Option<usize>, size: usize) -> String {
        let Some(before) = before else {
            return format!("Managing {size} instances");
        };
        let mut parts = Vec::new();
        if !self.shrink.is_empty() {
            parts.push(match before == size {
                true => format!("Terminating {} unknown instances", self.shrink.len()),
                false => format!(
                    "Terminating {} instances to reduce the group size to {size}",
                    self.shrink.len()
                ),
            });
        }
        if self.rolling() > 0 {
            parts.push(format!(
                "Performing a rolling update on {} instances",
                self.rolling()
            ));
        }
        if !self.grow.is_empty() {
            parts.push(match before == size {
                true => format!("Adding {} missing instances", self.grow.len()),
                false => format!(
                    "Adding {} instances to increase the group size to {size}",
                    self.grow.len()
                ),
            });
        }
        match parts.is_empty() {
            true => "Noop".to_owned(),
            false => joined(&parts),
        }
    }

    /// Summary with batches: `remove 1 instance, then rolling update of 3 instances in 3 batches`.
    pub fn summary(&self) -> String {
        let mut parts = Vec::new();
        if !self.shrink.is_empty() {
            parts.push(format!(
                "remove {}",
                counted(self.shrink.len(), "instance", "instances")
            ));
        }
        if self.rolling() > 0 {
            parts.push(format!(
                "rolling update of {} in {}",
                counted(self.rolling(), "instance", "instances"),
                counted(self.batches.len(), "batch", "batches")
            ));
        }
        if !self.grow.is_empty() {
            parts.push(format!(
                "add {}",
                counted(self.grow.len(), "instance", "instances")
            ));
        }
        match parts.is_empty() {
            true => "no changes".to_owned(),
            false => joined(&parts),
        }
    }
}

fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Joins parts by ", then"; those after the first begin in lower case.
fn joined(parts: &[String]) -> String {
    let mut text = String::new();
    for part in parts {
        match text.is_empty() {
            true => text.push_str(part),
            false => {
                text.push_str(", then ");
                text.push_str(&part[..1].to_lowercase());
                text.push_str(&part[1..]);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(shrink: u64, batches: &[u64], grow: u64) -> RolloutPlan {
        let keys = |n: u64| (0..n).map(MemberKey::Index).collect();
        RolloutPlan {
            shrink: keys(shrink),
            batches: batches.iter().map(|n| keys(*n)).collect(),
            grow: keys(grow),
            this_machine: None,
            ..RolloutPlan::default()
        }
    }

    /// Rows are InfraKit's tests of scaler, quorum and group.
    #[test]
    #[rustfmt::skip]
    fn texts_are_those_of_infrakit() {
        for (name, plan, before, size, text) in [
            ("first commit", plan(0, &[], 3), None, 3, "Managing 3 instances"),
            ("ScalerPlanUpdateNoChanges", plan(0, &[], 0), Some(1), 1, "Noop"),
            (
                "ScalerPlanUpdateRollingUpdate",
                plan(0, &[1], 0),
                Some(1),
                1,
                "Performing a rolling update on 1 instances",
            ),
            (
                "ScalerPlanUpdateScaleDown",
                plan(1, &[], 0),
                Some(2),
                1,
                "Terminating 1 instances to reduce the group size to 1",
            ),
            (
                "ScalerPlanUpdateScaleDownRollingUpdate",
                plan(1, &[1], 0),
                Some(2),
                1,
                "Terminating 1 instances to reduce the group size to 1, then performing a rolling \
                 update on 1 instances",
            ),
            (
                "ScalerPlanUpdateScaleUp",
                plan(0, &[], 1),
                Some(1),
                2,
                "Adding 1 instances to increase the group size to 2",
            ),
            (
                "ScalerPlanUpdateScaleUpRollingUpdate",
                plan(0, &[1], 1),
                Some(1),
                2,
                "Performing a rolling update on 1 instances, then adding 1 instances to increase \
                 the group size to 2",
            ),
            ("QuorumPlanUpdateNoChanges", plan(0, &[], 0), Some(3), 3, "Noop"),
            (
                "QuorumPlanUpdateRollingUpdate",
                plan(0, &[1, 1, 1], 0),
                Some(3),
                3,
                "Performing a rolling update on 3 instances",
            ),
            (
                "RollAndAdjustScale",
                plan(0, &[1, 1, 1], 5),
                Some(3),
                8,
                "Performing a rolling update on 3 instances, then adding 5 instances to increase \
                 the group size to 8",
            ),
            ("a vanished member", plan(0, &[], 1), Some(3), 3, "Adding 1 missing instances"),
            ("RemoveUnknown", plan(1, &[], 0), Some(3), 3, "Terminating 1 unknown instances"),
        ] {
            assert_eq!(plan.infrakit_text(before, size), text, "{name}");
        }
    }

    #[test]
    fn summaries_count_instances_and_batches() {
        for (plan, text) in [
            (plan(0, &[], 0), "no changes"),
            (
                plan(0, &[1, 1, 1], 0),
                "rolling update of 3 instances in 3 batches",
            ),
            (plan(0, &[1], 0), "rolling update of 1 instance in 1 batch"),
            (
                plan(1, &[2, 2], 3),
                "remove 1 instance, then rolling update of 4 instances in 2 batches, then add 3 \
                 instances",
            ),
        ] {
            assert_eq!(plan.summary(), text);
            assert_eq!(plan.is_empty(), text == "no changes");
        }
        let all: Vec<String> = plan(1, &[2], 1)
            .members()
            .map(MemberKey::to_string)
            .collect();
        assert_eq!(all, ["0", "0", "1", "0"]);
    }
}
