//! Tables of the order of changes. A member is written `3:old:sick:this`.

use super::*;
use crate::policy::Amount;

/// Parses `KEY[:old][:sick][:this][:gone][:age=N]`.
fn member(text: &str) -> Member {
    let mut parts = text.split(':');
    let key = parts.next().unwrap();
    let key = key
        .parse()
        .map_or_else(|_| MemberKey::name(key), MemberKey::Index);
    let mut member = Member::new(key, Configuration::Matches).with_health(Health::Healthy);
    for part in parts {
        match part {
            "old" => member.configuration = Configuration::Differs,
            "sick" => member.health = Health::Unhealthy,
            "this" => member.is_this_machine = true,
            "gone" => member.exists = false,
            other => {
                member.created =
                    Some(100 - other.strip_prefix("age=").unwrap().parse::<i64>().unwrap())
            }
        }
    }
    member
}

fn members(text: &str) -> Vec<Member> {
    text.split_whitespace().map(member).collect()
}

fn keys(text: &str) -> Vec<MemberKey> {
    members(text).into_iter().map(|member| member.key).collect()
}

/// Writes keys `1 2`, and batches `1 2 | 3`.
fn text(batches: &[Vec<MemberKey>]) -> String {
    let one = |batch: &Vec<MemberKey>| {
        batch
            .iter()
            .map(MemberKey::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    };
    batches.iter().map(one).collect::<Vec<_>>().join(" | ")
}

fn planned(observed: &str, desired: &str, policy: &UpdatePolicy) -> [String; 3] {
    let plan = plan(&members(observed), &keys(desired), policy).unwrap();
    [
        text(&[plan.shrink]),
        text(&plan.batches),
        text(&[plan.grow]),
    ]
}

/// Members that shrink, roll and grow.
#[test]
#[rustfmt::skip]
fn group_shrinks_before_it_rolls_and_grows_after() {
    for (name, observed, desired, expected) in [
        ("NoopUpdate", "1 2 3", "1 2 3", ["", "", ""]),
        ("RollingUpdate, ExternalManagedRollingUpdate", "1:old 2:old 3:old", "1 2 3", ["", "1 | 2 | 3", ""]),
        ("ScaleIncrease", "1 2 3", "1 2 3 4 5", ["", "", "4 5"]),
        ("ScaleDecrease", "1 2 3", "3", ["1 2", "", ""]),
        (
            "RollAndAdjustScale",
            "1:old 2:old 3:old",
            "1 2 3 4 5 6 7 8",
            ["", "1 | 2 | 3", "4 5 6 7 8"],
        ),
        ("shrink and roll", "1:old 2:old", "2", ["1", "2", ""]),
        ("native: the highest index goes", "0:old 1:old 2", "0 1", ["2", "0 | 1", ""]),
        ("RestoreQuorum", "a b:gone", "a b c", ["", "", "b c"]),
        ("RemoveUnknown", "a b x", "a b", ["x", "", ""]),
        ("declared but missing and outdated", "a b:old:gone", "a b", ["", "", "b"]),
    ] {
        assert_eq!(planned(observed, desired, &UpdatePolicy::default()), expected, "{name}");
    }
}

/// InfraKit: LeaderSelfRollingUpdate, DestroyGroupSelfLast.
#[test]
fn this_machine_comes_last() {
    let policy = |batch| UpdatePolicy {
        batch: Amount::Count(batch),
        ..UpdatePolicy::default()
    };
    let observed = "a:old:this b:old c:old";
    for (batch, batches) in [(1, "b | c | a"), (3, "b c | a")] {
        assert_eq!(
            planned(observed, "a b c", &policy(batch)),
            ["", batches, ""]
        );
    }
    let plan = plan(&members(observed), &keys("a b c"), &policy(1)).unwrap();
    assert_eq!(plan.this_machine, Some(MemberKey::name("a")));
    let unchanged = super::plan(&members("a:this b:old"), &keys("a b"), &policy(1)).unwrap();
    assert_eq!(unchanged.this_machine, None);
    assert_eq!(text(&[destroy_order(&members(observed))]), "b c a");
    assert_eq!(text(&[choose_shrink(&members("1:old:this 2 3"), 1)]), "2 3");
}

/// InfraKit destroys the lowest ids alone; here outdated members are preferred.
#[test]
fn shrinking_prefers_outdated_members_then_the_lowest_key() {
    for (name, observed, size, expected) in [
        ("ScaleDown", "1 2 3 4", 2, "1 2"),
        ("outdated first", "1 2 3:old 10:old", 2, "3 10"),
        ("outdated, then lowest", "1 2 3:old", 1, "3 1"),
        ("natural order", "10 9", 1, "9"),
        ("a missing member does not count", "1 2:gone 3", 2, ""),
        ("nothing to remove", "1", 3, ""),
    ] {
        assert_eq!(
            text(&[choose_shrink(&members(observed), size)]),
            expected,
            "{name}"
        );
    }
}

#[test]
#[rustfmt::skip]
fn policy_decides_the_order_and_size_of_batches() {
    let base = UpdatePolicy::default;
    let observed = "1:old:age=5 2:old:age=9 3:old:sick:age=1 4:old 5:old:age=9";
    for (name, policy, expected) in [
        ("unhealthy first", base(), "3 | 1 | 2 | 4 | 5"),
        ("by key", UpdatePolicy { order: Order::Key, ..base() }, "1 | 2 | 3 | 4 | 5"),
        ("oldest", UpdatePolicy { order: Order::Oldest, ..base() }, "2 | 5 | 1 | 3 | 4"),
        (
            "batches of two",
            UpdatePolicy { batch: Amount::Count(2), order: Order::Key, ..base() },
            "1 2 | 3 4 | 5",
        ),
        (
            "a quarter, rounded up",
            UpdatePolicy { batch: Amount::Percent(25), order: Order::Key, ..base() },
            "1 2 | 3 4 | 5",
        ),
        ("all at once", UpdatePolicy { batch: Amount::Percent(100), ..base() }, "3 1 2 4 5"),
    ] {
        assert_eq!(planned(observed, "1 2 3 4 5", &policy)[1], expected, "{name}");
    }
}

/// Unhealthy members count, but replacing one makes nothing more unavailable.
#[test]
#[rustfmt::skip]
fn max_unavailable_bounds_a_batch() {
    let policy = |limit, surge| UpdatePolicy {
        batch: Amount::Count(3),
        max_unavailable: Some(Amount::Count(limit)),
        surge,
        order: Order::Key,
        ..UpdatePolicy::default()
    };
    for (name, observed, limit, surge, expected) in [
        ("smaller than the batch", "1:old 2:old 3:old 4:old", 2, false, "1 2 | 3 4"),
        ("an unhealthy one is free", "1:old 2:old:sick 3:old", 1, false, "2 | 1 | 3"),
        ("an unhealthy one counts", "1:old 2:old:sick 3:old", 2, false, "1 2 | 3"),
        ("a broken group is repaired", "1:old:sick 2:old:sick 3:old:sick", 1, false, "1 2 3"),
        ("an up-to-date one counts", "1:old 2:old 3:sick", 2, false, "1 | 2"),
        ("surge has no limit", "1:old 2:old 3:sick", 0, true, "1 2"),
    ] {
        assert_eq!(planned(observed, "1 2 3 4", &policy(limit, surge))[1], expected, "{name}");
    }
    let blocked = |observed| plan(&members(observed), &keys("1 2"), &policy(1, false)).unwrap_err();
    // This machine is not replaced, so that it counts like an up-to-date member.
    assert_eq!(blocked("1:old 2:old:sick:this"), blocked("1:old 2:sick"));
    let error = blocked("1:old 2:sick");
    assert_eq!(
        error.to_string(),
        "cannot replace 1: the update does not repair all unhealthy members (1 stay as they are, \
         max_unavailable is 1). Repair them, commit another configuration, or raise \
         max_unavailable"
    );
}

/// InfraKit: BufferScaleUp, BufferScaleDown.
#[test]
fn parallel_changes_are_bounded() {
    let five = keys("1 2 3 4 5");
    assert_eq!(text(&waves(&five, 2)), "1 2 | 3 4 | 5");
    assert_eq!(text(&waves(&five, 0)), "1 2 3 4 5");
    assert_eq!(text(&waves(&[], 0)), "");
}

#[test]
fn member_without_a_hash_differs() {
    let (one, other) = (ConfigHash::from_text("a"), ConfigHash::from_text("b"));
    assert_eq!(
        Configuration::compare(Some(&one), &one),
        Configuration::Matches
    );
    assert_eq!(
        Configuration::compare(Some(&other), &one),
        Configuration::Differs
    );
    assert_eq!(Configuration::compare(None, &one), Configuration::Differs);
}

proptest::proptest! {
    /// Each surplus member is removed once, each outdated one rolls once, and each missing key is
    /// added once; batches keep their limits.
    #[test]
    fn every_member_is_planned_once(
        observed in proptest::collection::vec(proptest::prelude::any::<[bool; 4]>(), 0..12),
        size in 0..12_u64,
        batch in 1..4_u32,
        limit in proptest::option::of(1..4_u32),
    ) {
        let member = |(at, [exists, differs, sick, this]): (u64, [bool; 4])| Member {
            configuration: if differs { Configuration::Differs } else { Configuration::Matches },
            health: if sick { Health::Unhealthy } else { Health::Healthy },
            is_this_machine: this && at == 3,
            exists,
            ..Member::new(MemberKey::Index(at), Configuration::Matches)
        };
        let observed: Vec<Member> = (0..).zip(observed).map(member).collect();
        let desired: Vec<MemberKey> = (0..size).map(MemberKey::Index).collect();
        let policy = UpdatePolicy {
            batch: Amount::Count(batch),
            max_unavailable: limit.map(Amount::Count),
            ..UpdatePolicy::default()
        };
        let existing = |key: &MemberKey| observed.iter().find(|m| m.exists && m.key == *key);
        let rolls = |key: &&MemberKey| existing(key).is_some_and(Member::differs);
        let Ok(plan) = plan(&observed, &desired, &policy) else {
            let stays = |m: &Member| m.exists && (!m.differs() || m.is_this_machine);
            let sick = |m: &Member| stays(m) && m.health == Health::Unhealthy;
            proptest::prop_assert!(observed.iter().filter(|m| sick(m)).count() >= 1);
            return Ok(());
        };
        let sorted = |keys: &[MemberKey]| {
            let mut keys = keys.to_vec();
            keys.sort();
            keys
        };
        let rolling: Vec<MemberKey> = desired.iter().filter(rolls).cloned().collect();
        proptest::prop_assert_eq!(sorted(&plan.batches.concat()), rolling);
        let missing: Vec<MemberKey> =
            desired.iter().filter(|key| existing(key).is_none()).cloned().collect();
        proptest::prop_assert_eq!(&plan.grow, &missing);
        let surplus = observed.iter().filter(|m| m.exists && !desired.contains(&m.key));
        let surplus: Vec<MemberKey> = surplus.map(|m| m.key.clone()).collect();
        proptest::prop_assert_eq!(sorted(&plan.shrink), surplus);
        for batch_keys in &plan.batches {
            let healthy = |key: &&MemberKey| {
                existing(key).is_some_and(|m| m.health != Health::Unhealthy && !m.is_this_machine)
            };
            proptest::prop_assert!((1..=batch as usize).contains(&batch_keys.len()));
            let within = batch_keys.iter().filter(healthy).count() <= limit.unwrap_or(batch) as usize;
            proptest::prop_assert!(within);
        }
    }
}
