//! Groups screen: members of each group with their changes, and the newest rollout as a timeline.

use super::{Body, Context, ContextInfo, DetailPlace, ScreenInfo, loading, sentence};
use crate::app::column::{Column, Width, column, number};
use crate::app::doc::{self, Doc, Line, Role, address, line, push_heading, span};
use crate::app::filter::{Field, text_field};
use crate::app::format::{count, elapsed, since, until};
use crate::app::groups::{Member, Progress, Rollout, group_of, member_of, members, run_of};
use crate::app::list::Row;
use crate::app::msg::Effect;
use crate::app::state::State;
use model::{GroupView, ReconcileOutcome};

pub(super) const SCREEN: ScreenInfo = ScreenInfo {
    current: |_| Context::Groups,
    load: || Some(Effect::LoadGroups),
};

pub(super) const GROUPS: ContextInfo = ContextInfo {
    title: "Groups",
    body: Body::Table {
        columns: COLUMNS,
        cells,
    },
    detail_place: DetailPlace::Below,
    rows: |state| (rows(state), 0),
    text,
    fields: FIELDS,
    field,
    detail,
    head: Some(head),
    write_subject,
    first_keys: |_| {
        &[
            "group-logs",
            "group-pause",
            "group-retry",
            "group-skip",
            "group-abort",
            "stage",
            "apply",
            "open",
        ]
    },
    empty: |state| match (&state.loaded.groups, &state.loaded.groups_error) {
        (None, Some(error)) => sentence(Role::Bad, &format!("{error}; press r to read again")),
        (None, None) => loading(),
        (Some(_), _) => sentence(
            Role::Plain,
            "No groups. Declare one in a file such as groups.flightdeck.hcl, then press r.",
        ),
    },
    ..ContextInfo::DEFAULT
};

/// Cells of the bar of a rollout.
const BAR: usize = 12;

const COLUMNS: &[Column] = &[
    column("MEMBER", Width::Flex(8, 3), 0),
    column("STATE", Width::Content(0), 0),
    column("HEALTH", Width::Content(0), 1),
    number("BATCH", 0, 4),
    number("CHANGED", 0, 3),
    column("ID", Width::Content(0), 9),
    // Of the configuration: before and after the change.
    column("CONFIGURATION", Width::Content(0), 7),
    column("DEDICATED", Width::Key(22), 8),
    column("LAST ERROR", Width::Flex(24, 4), 2),
];

const FIELDS: &[Field] = &[text_field("group"), text_field("state")];

/// Rows of each group, followed by those of its members.
fn rows(state: &State) -> Vec<Row> {
    let groups = state.loaded.groups.iter().flatten().enumerate();
    let rows = groups.flat_map(|(i, group)| {
        let own = Row::text(group.group.as_str(), i);
        let members = members(state, group).into_iter();
        let members = members.map(move |key| Row::text(format!("{} {key}", group.group), i));
        std::iter::once(own).chain(members)
    });
    rows.collect()
}

fn text(state: &State, row: &Row) -> String {
    let key = row.key.text().unwrap_or_default();
    match member_of(state, row) {
        Some(member) => format!("{key} {} {}", member.state.word, member.address),
        None => key.to_owned(),
    }
}

fn field(state: &State, row: &Row, name: &str) -> String {
    match name {
        "group" => group_of(state, row).map_or_else(String::new, |g| g.group.clone()),
        _ => member_of(state, row).map_or_else(String::new, |m| m.state.word),
    }
}

fn cells(state: &State, row: &Row) -> Vec<Line> {
    if let Some(member) = member_of(state, row) {
        return member_cells(state, &member);
    }
    let header = group_of(state, row).map(|group| header(state, group));
    // One cell, which extends over all columns.
    vec![header.unwrap_or_default()]
}

/// Name, numbers, rollout and resource of a group; the least important last.
fn header(state: &State, group: &GroupView) -> Line {
    let progress = Progress::of(state, group);
    let mut l = vec![span(Role::Heading, &group.group)];
    let plan = progress.plan.as_ref();
    let current = group.members.len();
    let members = match plan.and_then(|plan| plan.desired) {
        Some(desired) if desired != current => format!("  {current} of {desired} members"),
        _ => format!("  {}", count(current, "member")),
    };
    l.push(span(Role::Plain, members));
    if let Some(plan) = plan.filter(|plan| plan.outdated > 0) {
        l.push(span(Role::Update, format!(" · {} outdated", plan.outdated)));
    }
    match &progress.rollout {
        Some(rollout) => push_rollout(rollout, &mut l),
        None => l.push(span(Role::Dim, " · no rollout yet")),
    }
    if let Some(run) = run_of(state, group) {
        if run.outcome != ReconcileOutcome::InSync {
            l.push(span(Role::Warn, format!(" · {}", run.summary())));
        }
        if leader(state, group).is_some() {
            let next = until(run.next - state.now);
            l.push(span(Role::Dim, format!(" · next poll {next}")));
        }
    }
    l.extend([span(Role::Plain, "  "), address(Role::Dim, &group.instance)]);
    l
}

/// Process that leads the reconcile loop.
fn leader<'s>(state: &'s State, group: &'s GroupView) -> Option<&'s str> {
    match (state.view.leader_is_ours, &state.view.leader) {
        (true, _) => Some("this console"),
        (false, Some(leader)) => Some(leader),
        (false, None) => group.reconcile.leader.as_deref(),
    }
}

fn push_rollout(rollout: &Rollout, l: &mut Line) {
    let (sign, role) = doc::rollout_role(&rollout.state);
    l.push(span(role, format!(" · {sign} {}", rollout.state)));
    if let Some(health) = &rollout.health {
        l.push(span(role, format!(" {health}")));
    }
    if !rollout.is_over {
        let (done, total) = (rollout.done as usize, rollout.total as usize);
        l.push(span(Role::Plain, "  "));
        l.extend(doc::gauge(role, done, total, BAR));
        let batch = format!(" batch {}/{}", rollout.batch, rollout.batches);
        l.push(span(Role::Plain, batch));
        if let Some(count) = rollout.healthy {
            let role = match count.healthy == count.checked {
                true => Role::Ok,
                false => Role::Warn,
            };
            l.push(span(role, format!(" · {}", count.text())));
        }
    }
}

fn member_cells(state: &State, member: &Member<'_>) -> Vec<Line> {
    let shown = &member.state;
    let changed = member.changed.map(|at| elapsed(state.now - at));
    let batch = member.batch.map(|batch| batch.to_string());
    // The detail has the address of the health check.
    let error = member.error.as_deref().unwrap_or_default();
    let error = error.split(" from http").next().unwrap_or_default();
    vec![
        line(Role::Plain, format!("  {}", member.key)),
        line(shown.role, format!("{} {}", shown.sign, shown.word)),
        member.health.clone().unwrap_or_default(),
        line(Role::Dim, batch.unwrap_or_default()),
        line(Role::Dim, changed.unwrap_or_default()),
        line(Role::Dim, object_id(state, member).unwrap_or_default()),
        line(Role::Dim, member.hash.as_deref().unwrap_or_default()),
        match member.dedicated {
            [] => Line::new(),
            [one] => vec![address(Role::Dim, one)],
            several => line(Role::Dim, count(several.len(), "object")),
        },
        line(Role::Bad, error),
    ]
}

/// Attribute `id` of the object of a member. The state is loaded after a deploy, which may have
/// replaced the object.
fn object_id(state: &State, member: &Member<'_>) -> Option<String> {
    if state.is_deploying() && member.changed.is_some() {
        return None;
    }
    let rows = state.loaded.state_rows.as_ref()?;
    let current = |r: &&model::StateRow| r.address == member.address && r.deposed.is_none();
    let attributes = &rows.iter().find(current)?.attributes;
    let id = attributes.iter().find(|(name, _)| name == "id");
    id.map(|(_, value)| value.trim_matches('"').to_owned())
}

fn head(state: &State, row: &Row) -> Line {
    let Some(group) = group_of(state, row) else {
        return Line::new();
    };
    let mut l = line(Role::Strong, &group.group);
    if let Some(member) = member_of(state, row) {
        let shown = member.state;
        l.push(span(Role::Strong, format!(" {}", member.key)));
        l.push(span(shown.role, format!("  {} {}", shown.sign, shown.word)));
        return l;
    }
    if let Some(rollout) = Progress::of(state, group).rollout {
        let (sign, role) = doc::rollout_role(&rollout.state);
        let text = format!("  rollout in deploy #{}: ", rollout.deploy);
        l.push(span(Role::Plain, text));
        l.push(span(role, format!("{sign} {}", rollout.state)));
    }
    l
}

fn detail(state: &State, row: &Row) -> Doc {
    let Some(group) = group_of(state, row) else {
        return Doc::new();
    };
    let mut doc = Doc::new();
    let member = member_of(state, row);
    if let Some(member) = &member {
        push_member(state, member, &mut doc);
    }
    let mut facts = Doc::new();
    if member.is_none() {
        push_facts(state, group, &mut facts);
    }
    let Some(rollout) = &group.rollout else {
        doc.extend(facts);
        return doc;
    };
    if member.is_some() {
        doc.push(Line::new());
    }
    let progress = Progress::of(state, group);
    let told = member.as_ref().and_then(|member| member.error.as_ref());
    doc.extend(doc::rollout(state, rollout, progress, told, facts));
    doc
}

/// Appends the objects of a member and its last error.
fn push_member(state: &State, member: &Member<'_>, doc: &mut Doc) {
    if let Some(error) = &member.error {
        doc::push_text(doc, Role::Bad, "", error);
    }
    let object = match object_id(state, member) {
        Some(id) => format!("{}  {id}", member.address),
        None => member.address.clone(),
    };
    doc::push_pair(doc, "object", object);
    for dedicated in member.dedicated {
        doc::push_pair(doc, "dedicated", dedicated);
    }
}

/// Appends the plan of the stage and the shared resources of a group.
fn push_facts(state: &State, group: &GroupView, doc: &mut Doc) {
    push_heading(doc, "group");
    doc::push_pair(doc, "instance", &group.instance);
    let mut plans = state.view.stage.iter().flat_map(|stage| &stage.groups);
    if Progress::of(state, group).plan.is_some()
        && let Some(plan) = plans.find(|plan| plan.group == group.group)
    {
        doc::push_pair(doc, "stage", &plan.plan);
    }
    push_reconcile(state, group, doc);
    for global in &group.global {
        doc::push_pair(doc, "global", global);
    }
}

/// Appends the mode of the reconcile loop, its newest run and its leader.
fn push_reconcile(state: &State, group: &GroupView, doc: &mut Doc) {
    let mut text = group.reconcile.mode.clone();
    if let Some(run) = run_of(state, group) {
        let ago = since(state.now - run.began);
        text = format!("{text}, {} ({ago})", run.summary());
        if let Some(stage) = run.stage {
            text = format!("{text}; stage #{stage} needs an approval");
        }
        if let Some(reason) = &run.reason {
            text = format!("{text}: {reason}");
        }
    }
    doc::push_pair(doc, "reconcile", text);
    let leader = leader(state, group).unwrap_or("none, the loop does not run");
    doc::push_pair(doc, "leader", leader);
}

fn write_subject(state: &State, l: &mut Line) {
    l.push(span(Role::Strong, "groups"));
    let groups = state.loaded.groups.as_deref().unwrap_or_default();
    l.push(span(Role::Plain, format!(" · {}", groups.len())));
    let members: usize = groups.iter().map(|group| group.members.len()).sum();
    l.push(span(
        Role::Plain,
        format!(" · {}", count(members, "member")),
    ));
}
