//! Steps of rollouts: the batches of a group follow each other, and each waits for the health of
//! the one before.

use super::builder::{Builder, is_destroyed_late};
use super::dependents::{Follower, Span, followers};
use super::{RolloutTask, Task};
use crate::stage::change::Change;
use crate::stage::groups::ChangedGroup;
use graph::Step;
use group::rollout::Phase;

/// Steps of one member.
#[derive(Default)]
struct MemberSteps {
    /// Change of the instance, and last the destroy that precedes it.
    early: Vec<Step>,
    /// Destroy of the old object after its successor exists.
    late: Option<Step>,
}

impl Builder<'_> {
    /// Finds the changes that belong to the batches: those of members, and those that depend on
    /// them.
    pub(super) fn find_followers(&mut self, groups: &[&ChangedGroup], changes: &[Change]) {
        for group in groups {
            let members = group.changes.iter().chain(group.former.iter().flatten());
            self.spans
                .extend(members.map(|change| (*change, Span::Batch)));
            let mut followers = followers(group, &self.single, changes);
            // What is only destroyed precedes the members, because they may be destroyed too.
            followers.retain(|f| f.span == Span::Batch || self.apply.contains_key(&f.change));
            let widest = followers.iter().filter(|f| f.span != Span::Batch);
            let spans = followers.iter().chain(widest).map(|f| (f.change, f.span));
            self.spans.extend(spans);
            self.followers.push(followers);
        }
    }

    /// Adds the steps of rollouts, and the edges that order the members of each group.
    pub(super) fn rollouts(&mut self, groups: &[&ChangedGroup], changes: &[Change]) {
        let followers = std::mem::take(&mut self.followers);
        let none = Vec::new();
        for (at, group) in groups.iter().enumerate() {
            let followers = followers.get(at).unwrap_or(&none);
            let mut before: Vec<Step> = Vec::new();
            for batch in 0..group.batches() {
                before = self.batch((at, group, followers), batch, &before, changes);
            }
        }
    }

    /// Returns the destroys of followers that precede the change of their first member.
    fn early_destroys(&self, followers: &[Follower], member: usize, all: &[Change]) -> Vec<Step> {
        let own = |f: &&Follower| f.first == member && f.span == Span::Batch;
        let early = followers.iter().filter(own);
        let early = early.filter(|f| !is_destroyed_late(&all[f.change]));
        early
            .filter_map(|f| self.destroy.get(&f.change).copied())
            .collect()
    }

    /// Returns the changes of followers that end with their last member.
    fn follower_ends(&self, followers: &[Follower], member: usize) -> Vec<Step> {
        let own = |f: &&Follower| f.last == member && f.span != Span::Group;
        let last = followers.iter().filter(own);
        last.filter_map(|f| self.apply.get(&f.change).copied())
            .collect()
    }

    /// Lets the replacements that depend on members of several batches begin after the last of
    /// these batches, so that none is missing during the rollout.
    fn replace_after(
        &mut self,
        followers: &[Follower],
        batch: &[usize],
        changed: &[Step],
        all: &[Change],
    ) {
        let own = |f: &&Follower| f.span != Span::Batch && batch.contains(&f.last);
        let early = followers.iter().filter(own);
        let early = early.filter(|f| !is_destroyed_late(&all[f.change]));
        let destroys: Vec<Step> = early
            .filter_map(|f| self.destroy.get(&f.change).copied())
            .collect();
        destroys.iter().for_each(|step| self.needs(*step, changed));
    }

    /// Adds a batch after the end of the one before; returns its own end.
    fn batch(
        &mut self,
        (at, group, followers): (usize, &ChangedGroup, &[Follower]),
        batch: usize,
        before: &[Step],
        changes: &[Change],
    ) -> Vec<Step> {
        let task = |task| Task::Rollout(at, task);
        let begin = self.add(task(RolloutTask::Begin(batch)));
        self.needs(begin, before);
        let (mut ends, mut late) = (Vec::new(), Vec::new());
        let members: Vec<usize> = group.batch(batch).collect();
        let mut all_changed = Vec::new();
        for &member in &members {
            let mut steps = self.member_steps(group.changes[member], changes);
            self.former_steps(&group.former[member], &mut steps);
            let replaced = steps.late.is_some() && !steps.early.is_empty();
            // An object with a successor is drained once the successor is healthy, and one to
            // create has nothing to drain.
            let drains = !replaced && group.member(member).phase != Phase::Grow;
            let first = match drains && group.declared.drain.is_some() {
                true => self.add(task(RolloutTask::Drain(member))),
                false => begin,
            };
            let own: Vec<Step> = match replaced {
                true => steps.early.clone(),
                false => steps.early.iter().copied().chain(steps.late).collect(),
            };
            // What depends on the member alone stays until its turn.
            let early = self.early_destroys(followers, member, changes);
            if first != begin {
                // A member is not drained before its change can start. A replacement starts with
                // the destroy; what its creation needs may itself wait for that destroy.
                let starts = own.last().map(|step| self.steps.graph.needs(*step));
                let starts = starts.into_iter().flatten().filter(|n| !early.contains(n));
                let needs: Vec<Step> = starts.chain([begin]).collect();
                self.needs(first, &needs);
            }
            early.iter().for_each(|step| self.needs(*step, &[first]));
            own.iter().for_each(|step| self.needs(*step, &[first]));
            let changed = self.add(task(RolloutTask::Changed(member)));
            self.needs(changed, &own);
            self.needs(changed, &[first]);
            all_changed.push(changed);
            ends.extend(self.follower_ends(followers, member));
            late.extend(steps.late.filter(|_| replaced).map(|step| (member, step)));
        }
        self.replace_after(followers, &members, &all_changed, changes);
        ends.extend(all_changed);
        if group.declared.health.is_some() && group.phase(batch) != Some(Phase::Shrink) {
            let health = self.add(task(RolloutTask::Health(batch)));
            self.needs(health, &ends);
            ends = vec![health];
        }
        for (member, destroy) in late {
            let first = match group.declared.drain.is_some() {
                true => {
                    let drain = self.add(task(RolloutTask::DrainOld(member)));
                    self.needs(drain, &ends);
                    let needs: Vec<Step> = self.steps.graph.needs(destroy).collect();
                    self.needs(drain, &needs);
                    vec![drain]
                }
                false => ends.clone(),
            };
            self.needs(destroy, &first);
        }
        ends
    }

    fn member_steps(&self, change: usize, changes: &[Change]) -> MemberSteps {
        let late = is_destroyed_late(&changes[change]);
        let destroy = self.destroy.get(&change).copied();
        let apply = self.apply.get(&change).copied();
        MemberSteps {
            early: apply.into_iter().chain(destroy.filter(|_| !late)).collect(),
            late: destroy.filter(|_| late),
        }
    }

    /// Adds the destroys of former instances, whose attached sets the instance takes over.
    fn former_steps(&mut self, former: &[usize], steps: &mut MemberSteps) {
        let destroys = former.iter().filter_map(|change| self.destroy.get(change));
        let destroys: Vec<Step> = destroys.copied().collect();
        for destroy in destroys {
            for step in steps.early.clone() {
                self.needs(step, &[destroy]);
                self.steps.second_halves.insert(destroy, step);
            }
            steps.early.push(destroy);
        }
    }

    fn needs(&mut self, step: Step, needed: &[Step]) {
        for needed in needed {
            self.steps.graph.add_need(step, *needed);
        }
    }
}
