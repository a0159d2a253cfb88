//! Plan options that the next console of a workspace starts with.

use super::State;
use crate::app::doc;
use model::{StageRequest, VariableFlag};

/// Maximum number of workspaces with remembered options.
const MAX_WORKSPACES: usize = 200;

impl State {
    /// Plan options that are remembered for this workspace.
    pub fn remembered_options(&self) -> Option<&StageRequest> {
        self.options.remembered.get(&self.place.key())
    }

    /// Returns true if the plan options are those that are remembered, and not empty.
    pub fn are_options_remembered(&self) -> bool {
        self.remembered_options() == Some(&self.options.plan)
    }

    /// Starts with the remembered options, unless the command line has any.
    pub fn recall_options(&mut self) {
        if self.options.plan == StageRequest::default()
            && let Some(options) = self.remembered_options()
        {
            self.options.plan = options.clone();
        }
    }

    /// Returns true if a variable is declared and its value may be stored. A value of an unknown
    /// variable could be a secret.
    fn is_public(&self, name: &str) -> bool {
        let all = self.loaded.variables.iter().flat_map(|v| &v.all);
        all.into_iter().any(|v| v.name == name && !v.is_secret)
    }

    /// The plan options without values that are never stored.
    pub fn storable_options(&self) -> StageRequest {
        let mut options = self.options.plan.clone();
        options.variables.retain(|flag| match flag {
            VariableFlag::Value { name, .. } => self.is_public(name),
            // The file of the choices is text.
            VariableFlag::File(path) => path.to_str().is_some(),
        });
        options
    }

    /// Remembers the plan options for the next console of this workspace.
    pub fn remember_options(&mut self) {
        let (options, place) = (self.storable_options(), self.place.key());
        let all = &self.options.remembered;
        if !self.options.keeps_choices {
            self.show_error(
                "cannot remember plan options: this console stores nothing, because it is a demo or has no home directory",
            );
        } else if options == StageRequest::default() {
            self.show_error("no plan option that can be remembered; set one first");
        } else if all.len() >= MAX_WORKSPACES && !all.contains_key(&place) {
            self.show_error(format!(
                "cannot remember plan options of more than {MAX_WORKSPACES} workspaces; forget those of another one"
            ));
        } else {
            let stored = doc::plan_options(&options);
            let mut left_out = doc::plan_options(&self.options.plan);
            left_out.retain(|flag| !stored.contains(flag));
            let without = match left_out.is_empty() {
                true => String::new(),
                false => format!("; not {}: sensitive, or not declared", left_out.join(", ")),
            };
            self.options.remembered.insert(place, options);
            self.show_message(format!(
                "remembered for this workspace: {}{without}",
                stored.join(", ")
            ));
        }
    }

    /// Forgets the remembered options. Those of this console stay as they are.
    pub fn forget_options(&mut self) {
        if self.options.remembered.remove(&self.place.key()).is_some() {
            self.show_message("the next console of this workspace starts without plan options");
        }
    }

    /// Removes stored values of variables that the configuration has made sensitive since.
    pub fn forget_sensitive_values(&mut self) {
        let loaded = self.loaded.variables.iter().flat_map(|v| &v.all);
        let secret: Vec<&String> = loaded.filter(|v| v.is_secret).map(|v| &v.name).collect();
        let Some(options) = self.options.remembered.get_mut(&self.place.key()) else {
            return;
        };
        let is_secret = |flag: &VariableFlag| matches!(flag, VariableFlag::Value { name, .. } if secret.contains(&name));
        options.variables.retain(|flag| !is_secret(flag));
        if *options == StageRequest::default() {
            self.options.remembered.remove(&self.place.key());
        }
    }
}
