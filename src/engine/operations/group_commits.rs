//! Committed groups: specifications in InfraKit's form, kept in the store, and the files of the
//! workspace that declare their members.

use super::command::Operations;
use super::group_files::{read_text, remove};
use crate::diagnostics::convert_all;
use crate::error::{EngineError, NotFound};
use group::Allocation;
use group::commit::{self, CommitPlan, Committed, Directory};
use group::declared::DeclaredGroup;
use group::scope::FileSet;
use group::spec::{self, GroupSpec};
use lang::addr::{AbsInstance, ConfigResource};
use lang::diag::Diagnostics;
use lang::source::SourceMap;
use model::lock_owner::this_process;
use model::*;
use std::collections::BTreeMap;
use store::records::GroupCommitRecord;

/// Suffix of a declaration that is not taken in yet.
const NEW: &str = ".new";

/// Reasons why a group cannot be committed.
#[derive(Debug, thiserror::Error)]
enum GroupCommitError {
    #[error(
        "the group {0:?} is declared in a .flightdeck.hcl file; use another ID, or remove that block"
    )]
    Native(String),
    #[error("group {0:?} has no earlier specification that differs; commit a file")]
    NoEarlier(String),
    #[error(
        "group {group:?} has a fixed list of members ({keys}), so it has no size; commit a specification with \"Size\" under another ID"
    )]
    Pets { group: String, keys: String },
    #[error("the stored specification of group {0:?} cannot be read; commit its file again")]
    Unreadable(String),
    #[error("the specification has errors; see above")]
    Invalid,
}

impl From<GroupCommitError> for EngineError {
    fn from(error: GroupCommitError) -> Self {
        Self::refused(error)
    }
}

/// Newest commit of a group that flightdeck manages.
pub(super) struct NewestCommit {
    pub(super) record: GroupCommitRecord,
    spec: GroupSpec,
    pub(super) committed: Committed,
}

impl NewestCommit {
    fn read(record: GroupCommitRecord) -> Result<Self, EngineError> {
        let unreadable = || GroupCommitError::Unreadable(record.name.clone());
        let (spec, _, _) = parse(&record.name, &record.spec);
        let committed = serde_json::from_str(&record.content);
        Ok(Self {
            spec: spec.ok_or_else(unreadable)?,
            committed: committed.map_err(|_| unreadable())?,
            record,
        })
    }

    /// Returns the group with its members.
    pub(super) fn declared(&self) -> DeclaredGroup {
        self.committed.declared(&self.spec)
    }

    /// Returns the dedicated sets that no member uses.
    pub(super) fn orphans(&self, directory: &Directory) -> Vec<FileSet> {
        commit::orphaned_sets(&self.spec, directory)
    }

    /// Returns the resources of its files, without those of other groups.
    pub(super) fn resources(&self) -> Vec<ConfigResource> {
        let texts = self.committed.files.values();
        texts.flat_map(|text| resources(text)).collect()
    }
}

/// Resources that a document declares.
fn resources(text: &str) -> Vec<ConfigResource> {
    let addresses = commit::resources(text).into_iter();
    let parsed = addresses.filter_map(|address| address.parse::<AbsInstance>().ok());
    parsed.map(|address| address.config()).collect()
}

fn parse(name: &str, text: &str) -> (Option<GroupSpec>, SourceMap, Diagnostics) {
    let sources = SourceMap::new();
    let file = sources.add(name, text);
    let (spec, diags) = spec::parse(text, file);
    (spec, sources, diags)
}

impl Operations {
    /// Commits a specification: writes the declarations of its members, which the next stage plans.
    /// With `pretend` only returns the plan.
    pub async fn commit_group(
        &self,
        (name, text): (&str, String),
        pretend: bool,
    ) -> Result<GroupCommitView, EngineError> {
        self.commit_instead((name, text), RolloutVerb::Supersede, pretend)
            .await
    }

    /// Commits a specification; `ending` is the request that ends an unfinished rollout.
    async fn commit_instead(
        &self,
        (name, text): (&str, String),
        ending: RolloutVerb,
        pretend: bool,
    ) -> Result<GroupCommitView, EngineError> {
        let spec = self.parse_spec(name, &text).await?;
        let (plan, _) = self.plan_commit(&spec).await?;
        let newest = self.newest_commit(&spec.id).await?;
        // A specification that changes no member may change how the loop treats them.
        let known = newest.as_ref();
        let known = known.is_some_and(|newest| newest.spec.has_settings_of(&spec));
        if pretend || (plan.is_noop() && known) {
            let taken = newest.is_none_or(|newest| newest.record.taken.is_some());
            return Ok(view(&spec, &plan, taken));
        }
        if !plan.is_noop() {
            self.end_rollout(&spec.id, ending).await?;
        }
        match self.begin().await.with_workspace_lock("group commit").await {
            Ok(command) => {
                let committed = self.commit_locked(&spec, text).await;
                command.release().await;
                committed
            }
            // The declarations stay `.new` until the owner of the lock, or a stage, takes them in.
            Err(EngineError::Locked(_)) => {
                let (plan, before) = self.plan_commit(&spec).await?;
                self.write_commit(&spec, text, &plan, before).await?;
                Ok(view(&spec, &plan, false))
            }
            Err(error) => Err(error),
        }
    }

    /// Parses a specification, and reports its mistakes.
    pub(super) async fn parse_spec(
        &self,
        name: &str,
        text: &str,
    ) -> Result<GroupSpec, EngineError> {
        let (spec, sources, diags) = parse(name, text);
        self.emit_diagnostics(convert_all(diags.iter(), &sources, self.pool.secrets()))?;
        let spec = spec.ok_or(GroupCommitError::Invalid)?;
        self.refuse_native(&spec.id).await?;
        Ok(spec)
    }

    async fn commit_locked(
        &self,
        spec: &GroupSpec,
        text: String,
    ) -> Result<GroupCommitView, EngineError> {
        self.take_in_commits().await?;
        let (plan, before) = self.plan_commit(spec).await?;
        self.write_commit(spec, text, &plan, before).await?;
        self.take_in_commits().await?;
        Ok(view(spec, &plan, true))
    }

    async fn refuse_native(&self, name: &str) -> Result<(), EngineError> {
        let loaded = self.load(&StageRequest::default(), true).await?;
        // Errors of the configuration are those of the next stage.
        match loaded {
            Ok((loaded, _)) if loaded.root.groups.contains_key(name) => {
                Err(GroupCommitError::Native(name.to_owned()).into())
            }
            _ => Ok(()),
        }
    }

    /// Ends the unfinished rollout of a group.
    async fn end_rollout(&self, group: &str, ending: RolloutVerb) -> Result<(), EngineError> {
        let newest = self.memory.store().rollouts(Some(group.to_owned()), 1);
        let newest = newest.await?;
        let parsed = newest.first().and_then(crate::deploy::run::parse_rollout);
        if parsed.is_some_and(|rollout| !rollout.state().is_final()) {
            self.request_rollout(group, ending, None).await?;
        }
        Ok(())
    }

    /// Plans a commit. Returns it with the commit before, if the group is managed.
    async fn plan_commit(
        &self,
        spec: &GroupSpec,
    ) -> Result<(CommitPlan, Option<GroupCommitRecord>), EngineError> {
        let newest = self.newest_commit(&spec.id).await?;
        let directory = self.group_directory(&spec.id).await?;
        let before = match newest {
            Some(newest) => Some((
                newest.spec.allocation,
                newest.committed,
                Some(newest.record),
            )),
            None => {
                let adopted = Committed::adopt(&spec.id, &directory);
                let any = !adopted.members.is_empty();
                any.then(|| (adopted_allocation(spec, &adopted), adopted, None))
            }
        };
        let known = before
            .as_ref()
            .map(|(allocation, committed, _)| (allocation, committed));
        let plan = commit::plan(spec, known, &directory).map_err(EngineError::refused)?;
        Ok((plan, before.and_then(|(_, _, record)| record)))
    }

    /// Stores a commit, and writes its declarations as `.new` files.
    async fn write_commit(
        &self,
        spec: &GroupSpec,
        text: String,
        plan: &CommitPlan,
        before: Option<GroupCommitRecord>,
    ) -> Result<(), EngineError> {
        let mut committed = plan.committed.clone();
        // Files that an earlier commit ends, and that were not removed yet.
        let before = before.filter(|record| record.taken.is_none());
        let earlier = before.and_then(|r| serde_json::from_str::<Committed>(&r.content).ok());
        let ended = earlier.into_iter().flat_map(|earlier| earlier.ended);
        committed
            .ended
            .extend(ended.filter(|file| !plan.write.contains_key(file)));
        // Stored first: without its files a commit writes them again, but files without a commit
        // would be foreign.
        self.store_commit(spec, text, &committed, None).await?;
        for (file, text) in &plan.write {
            self.write_declaration(&format!("{file}{NEW}"), text)?;
        }
        Ok(())
    }

    /// Takes in the new declarations of committed groups: they replace those of the same name, and
    /// the declarations of instances that end are removed. The workspace lock is held.
    pub(super) async fn take_in_commits(&self) -> Result<(), EngineError> {
        for newest in self.newest_commits().await? {
            if newest.record.taken.is_some() {
                continue;
            }
            let mut committed = newest.committed;
            for (file, text) in &committed.files {
                let new = self.declaration(&format!("{file}{NEW}"));
                if read_text(&new).is_some() {
                    self.write_declaration(file, text)?;
                    remove(&new)?;
                }
            }
            for file in &committed.ended {
                remove(&self.declaration(file))?;
                remove(&self.declaration(&format!("{file}{NEW}")))?;
            }
            committed.ended.clear();
            let name = newest.record.name.clone();
            let record = GroupCommitRecord {
                content: content(&committed),
                taken: Some(now_ms()),
                ..newest.record
            };
            self.memory.store().put_group_commit(record).await?;
            let text = format!("the declarations of group {name} are in the configuration");
            self.bus.emit(EventKind::Notice { text });
        }
        Ok(())
    }

    /// The group of a specification as far as it exists, and the declarations of the workspace.
    pub(super) async fn present_group(
        &self,
        spec: &GroupSpec,
    ) -> Result<(Committed, Directory), EngineError> {
        let newest = self.newest_commit(&spec.id).await?;
        let directory = self.group_directory(&spec.id).await?;
        let committed = match newest {
            Some(newest) => newest.committed,
            None => Committed::adopt(&spec.id, &directory),
        };
        Ok((committed, directory))
    }

    /// Stores a commit. `taken` is the time since which its declarations are in the configuration.
    pub(super) async fn store_commit(
        &self,
        spec: &GroupSpec,
        text: String,
        committed: &Committed,
        taken: Option<UnixMs>,
    ) -> Result<(), EngineError> {
        let record = GroupCommitRecord {
            id: None,
            name: spec.id.clone(),
            committed: now_ms(),
            who: this_process("commit").who,
            hash: spec.hash.as_str().to_owned(),
            spec: text,
            content: content(committed),
            taken,
            freed: None,
        };
        self.memory.store().put_group_commit(record).await?;
        Ok(())
    }

    /// Commits the newest earlier specification of a group that differs.
    pub async fn roll_back_group(
        &self,
        name: &str,
        pretend: bool,
    ) -> Result<GroupCommitView, EngineError> {
        let newest = self.committed_group(name).await?;
        let all = self
            .memory
            .store()
            .group_commits(Some(name.to_owned()))
            .await?;
        let earlier = all
            .into_iter()
            .find(|record| record.spec != newest.record.spec);
        let earlier = earlier.ok_or_else(|| GroupCommitError::NoEarlier(name.to_owned()))?;
        self.commit_instead((name, earlier.spec), RolloutVerb::RollBack, pretend)
            .await
    }

    /// Commits the specification of a group with another size.
    pub async fn resize_group(
        &self,
        name: &str,
        size: u32,
        pretend: bool,
    ) -> Result<GroupCommitView, EngineError> {
        let newest = self.committed_group(name).await?;
        if let Allocation::Keys(keys) = &newest.spec.allocation {
            let (group, keys) = (name.to_owned(), keys.join(", "));
            return Err(GroupCommitError::Pets { group, keys }.into());
        }
        let unreadable = |_| GroupCommitError::Unreadable(name.to_owned());
        let mut spec: serde_json::Value =
            serde_json::from_str(&newest.record.spec).map_err(unreadable)?;
        spec["Properties"]["Allocation"]["Size"] = size.into();
        self.commit_group((name, format!("{spec:#}\n")), pretend)
            .await
    }

    /// Stops to manage a group. Its resources stay, and so do the files of a committed group; the
    /// block of another one is removed from its file.
    pub async fn free_group(&self, name: &str) -> Result<(), EngineError> {
        let command = self.begin().await.with_workspace_lock("group free").await?;
        let freed = match self.newest_commit(name).await {
            Ok(Some(_)) => self.end_commit(name, false).await,
            Ok(None) => self.remove_group_block(name).await,
            Err(error) => Err(error),
        };
        command.release().await;
        freed
    }

    /// Removes the files of a destroyed group that no other group uses, and forgets the group.
    pub async fn end_group(&self, name: &str) -> Result<(), EngineError> {
        let begun = self.begin().await;
        let command = begun.with_workspace_lock("group destroy").await?;
        let ended = self.end_commit(name, true).await;
        command.release().await;
        ended
    }

    async fn end_commit(&self, name: &str, removes: bool) -> Result<(), EngineError> {
        self.take_in_commits().await?;
        let newest = self.committed_group(name).await?;
        if removes {
            let others = self.group_directory(name).await?.others;
            let files = newest.committed.files.keys();
            for file in files.filter(|file| !others.contains_key(*file)) {
                remove(&self.declaration(file))?;
            }
        }
        let record = GroupCommitRecord {
            freed: Some(now_ms()),
            ..newest.record
        };
        self.memory.store().put_group_commit(record).await?;
        Ok(())
    }

    /// Addresses of the resources of a group, for a destroy: members, dedicated and global ones.
    /// Resources that another committed group declares too are left out.
    pub async fn group_resources(&self, name: &str) -> Result<Vec<String>, EngineError> {
        let addresses = |all: Vec<ConfigResource>| all.iter().map(ToString::to_string).collect();
        if let Some(newest) = self.newest_commit(name).await? {
            let others = self.group_directory(name).await?.others;
            let files = newest.committed.files.iter();
            let own = files.filter(|(file, _)| !others.contains_key(*file));
            return Ok(addresses(
                own.flat_map(|(_, text)| resources(text)).collect(),
            ));
        }
        let loaded = self.read_with(&StageRequest::default(), true).await?;
        let group = loaded.root.groups.get(name);
        let group = group.ok_or_else(|| NotFound::Group(name.to_owned()))?;
        let named = group
            .dedicated
            .iter()
            .chain(&group.global)
            .chain([&group.instance]);
        Ok(addresses(
            named.map(|resource| resource.address.clone()).collect(),
        ))
    }

    /// Newest commit of a group.
    ///
    /// # Errors
    /// No commit has this name, or the group is no longer managed.
    pub(super) async fn committed_group(&self, name: &str) -> Result<NewestCommit, EngineError> {
        let newest = self.newest_commit(name).await?;
        Ok(newest.ok_or_else(|| NotFound::Group(name.to_owned()))?)
    }

    pub(super) async fn newest_commit(
        &self,
        name: &str,
    ) -> Result<Option<NewestCommit>, EngineError> {
        let all = self
            .memory
            .store()
            .group_commits(Some(name.to_owned()))
            .await?;
        let newest = all.into_iter().next();
        let managed = newest.filter(|record| record.freed.is_none());
        managed.map(NewestCommit::read).transpose()
    }

    /// Newest commits of all groups that flightdeck manages, by name.
    pub(super) async fn newest_commits(&self) -> Result<Vec<NewestCommit>, EngineError> {
        let mut newest: BTreeMap<String, GroupCommitRecord> = BTreeMap::new();
        for record in self.memory.store().group_commits(None).await? {
            newest.entry(record.name.clone()).or_insert(record);
        }
        let managed = newest.into_values().filter(|record| record.freed.is_none());
        managed.map(NewestCommit::read).collect()
    }

    /// Groups that the configuration does not declare.
    pub(super) async fn committed_groups(&self) -> Result<Vec<DeclaredGroup>, EngineError> {
        let newest = self.newest_commits().await?;
        Ok(newest.iter().map(NewestCommit::declared).collect())
    }
}

/// Allocation of an adopted group, which has no specification yet: the given one if its members
/// could be those that exist.
fn adopted_allocation(spec: &GroupSpec, adopted: &Committed) -> Allocation {
    match &spec.allocation {
        Allocation::Keys(_) => {
            let keys = adopted.members.iter().map(|member| member.key.to_string());
            Allocation::Keys(keys.collect())
        }
        Allocation::Size(_) => {
            Allocation::Size(u32::try_from(adopted.members.len()).unwrap_or(u32::MAX))
        }
    }
}

fn content(committed: &Committed) -> String {
    serde_json::to_value(committed).map_or_else(|_| "{}".to_owned(), |json| json.to_string())
}

fn view(spec: &GroupSpec, plan: &CommitPlan, taken: bool) -> GroupCommitView {
    GroupCommitView {
        group: spec.id.clone(),
        hash: spec.hash.as_str().to_owned(),
        size: spec.allocation.size(),
        text: plan.text.clone(),
        plan: plan.rollout.summary(),
        changes: !plan.is_noop(),
        written: plan.write.keys().cloned().collect(),
        removed: plan.committed.ended.iter().cloned().collect(),
        taken,
    }
}
