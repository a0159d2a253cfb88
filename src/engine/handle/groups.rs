//! Groups: their rollouts, requests about them, and committed specifications.

use super::Engine;
use crate::error::EngineError;
use model::*;

impl Engine {
    /// Groups of the configuration, with their newest rollouts.
    ///
    /// # Errors
    /// The configuration or the store cannot be read.
    pub async fn groups(&self) -> Result<Vec<GroupView>, EngineError> {
        self.shared.operations.groups().await
    }

    /// The newest rollout of a group, if it has one. Reads no configuration.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn newest_rollout(&self, group: &str) -> Result<Option<RolloutView>, EngineError> {
        self.shared.operations.newest_rollout(group).await
    }

    /// The newest rollouts of a group, newest first.
    ///
    /// # Errors
    /// No group has this name, or the store cannot be read.
    pub async fn rollouts(&self, group: &str) -> Result<Vec<RolloutView>, EngineError> {
        self.shared.operations.rollouts_of(group).await
    }

    /// Makes a request about the newest rollout of a group, and waits for the answer of the deploy
    /// that runs it. A resume without a running deploy returns the replacements of the stage to
    /// create; see [`Self::select_resumed`].
    ///
    /// # Errors
    /// The request is refused, no deploy answers in time, or there is no such group or rollout.
    pub async fn request_rollout(
        &self,
        group: &str,
        verb: RolloutVerb,
        member: Option<&str>,
    ) -> Result<RolloutAnswer, EngineError> {
        let operations = &self.shared.operations;
        Box::pin(operations.request_rollout(group, verb, member)).await
    }

    /// Selects the changes of a stage that resume the rollout of a group.
    ///
    /// # Errors
    /// There is no such stage, group or rollout.
    pub async fn select_resumed(
        &self,
        stage: StageId,
        group: &str,
    ) -> Result<ResumeSelection, EngineError> {
        Box::pin(self.shared.operations.select_resumed(stage, group)).await
    }

    /// Commits a specification in InfraKit's form, as a file `name` has it. With `pretend` only
    /// returns the plan.
    ///
    /// # Errors
    /// The specification is invalid, its change is not allowed, or a file is not flightdeck's own.
    pub async fn commit_group(
        &self,
        name: &str,
        text: String,
        pretend: bool,
    ) -> Result<GroupCommitView, EngineError> {
        let operations = &self.shared.operations;
        Box::pin(operations.commit_group((name, text), pretend)).await
    }

    /// Imports existing resources as a member of a committed group: all or none of them.
    ///
    /// # Errors
    /// The specification is invalid, a resource matches none of it, or an import failed.
    pub async fn import_group(&self, request: GroupImport) -> Result<GroupImportView, EngineError> {
        Box::pin(self.shared.operations.import_group(request)).await
    }

    /// Commits the newest earlier specification of a group that differs.
    ///
    /// # Errors
    /// There is no such group or specification, or as [`Self::commit_group`].
    pub async fn roll_back_group(
        &self,
        name: &str,
        pretend: bool,
    ) -> Result<GroupCommitView, EngineError> {
        Box::pin(self.shared.operations.roll_back_group(name, pretend)).await
    }

    /// Commits the specification of a group with another size.
    ///
    /// # Errors
    /// The members of the group are fixed, or as [`Self::commit_group`].
    pub async fn resize_group(
        &self,
        name: &str,
        size: u32,
        pretend: bool,
    ) -> Result<GroupCommitView, EngineError> {
        Box::pin(self.shared.operations.resize_group(name, size, pretend)).await
    }

    /// Stops to manage a group. Its resources stay, and so do the files of a committed group; the
    /// block of another one is removed from its file (see [`Self::group_block`]).
    ///
    /// # Errors
    /// There is no such group, the workspace is locked, or the file cannot be written.
    pub async fn free_group(&self, name: &str) -> Result<(), EngineError> {
        Box::pin(self.shared.operations.free_group(name)).await
    }

    /// Block of a group of the configuration; `None` for a committed group.
    ///
    /// # Errors
    /// There is no such group.
    pub async fn group_block(&self, name: &str) -> Result<Option<GroupBlock>, EngineError> {
        Box::pin(self.shared.operations.group_block(name)).await
    }

    /// Expression that decides the size of a group of the configuration.
    ///
    /// # Errors
    /// The configuration has no such group, or its resource has one instance.
    pub async fn group_size(&self, name: &str) -> Result<GroupSize, EngineError> {
        Box::pin(self.shared.operations.group_size(name)).await
    }

    /// Assigns the variable that decides the size of a group of the configuration, and returns the
    /// file.
    ///
    /// # Errors
    /// Another expression decides, or the file cannot be written.
    pub async fn write_group_size(&self, name: &str, size: u32) -> Result<String, EngineError> {
        Box::pin(self.shared.operations.write_group_size(name, size)).await
    }

    /// Addresses of the resources of a group, for a destroy.
    ///
    /// # Errors
    /// There is no such group.
    pub async fn group_resources(&self, name: &str) -> Result<Vec<String>, EngineError> {
        Box::pin(self.shared.operations.group_resources(name)).await
    }

    /// Removes the files of a destroyed committed group, and forgets it.
    ///
    /// # Errors
    /// No such group is committed, the workspace is locked, or a file cannot be removed.
    pub async fn end_group(&self, name: &str) -> Result<(), EngineError> {
        Box::pin(self.shared.operations.end_group(name)).await
    }
}
