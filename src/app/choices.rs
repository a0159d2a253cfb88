//! Choices of the operator that the next console starts with, such as theme and sort orders. Stored
//! in a TOML file in the user's state directory. A new choice is a field with its lines in
//! [`Choices::of`] and [`Choices::apply`]; absent fields stand for defaults.

mod file;

pub use file::ChoicesFile;

use super::list::ListState;
use super::log::Log;
use super::rows::sorts;
use super::state::{Context, Frame, State};
use model::{DeployId, StageRequest, UnixMs};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Choices that differ from the defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Choices {
    /// Name of the theme; absent if it follows the terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<String>,
    /// Share of the list beside its detail, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mouse: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notifications: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrap_logs: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_times: Option<bool>,
    /// Lists are flat instead of trees of modules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flat_lists: Option<bool>,
    /// Earlier filters, newest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// Times at which failed launches of plugins were acknowledged, by the fingerprint of failure
    /// and workspace.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub acknowledged: BTreeMap<String, UnixMs>,
    /// Newest deploy that the operator has seen, by directory and workspace.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub seen_deploys: BTreeMap<String, DeployId>,
    /// Plan options, by directory and workspace.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub plan_options: BTreeMap<String, StageRequest>,
    /// Sort orders by list.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sort: BTreeMap<String, ListSort>,
}

/// Sort order of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListSort {
    pub by: String,
    pub reversed: bool,
}

/// Name of a list in the file.
fn list_name(context: Context) -> String {
    format!("{context:?}").to_lowercase()
}

/// Value that differs from its default.
fn changed<T: PartialEq>(value: T, default: T) -> Option<T> {
    (value != default).then_some(value)
}

impl Choices {
    /// Collects the choices of a console.
    pub fn of(state: &State) -> Self {
        let (frame, log) = (Frame::default(), Log::default());
        let natural = ListState::default();
        let sort = Context::ALL.iter().filter_map(|context| {
            let list = &state.lists[*context as usize];
            let is_changed = (list.sort, list.descending) != (natural.sort, natural.descending);
            let sort = ListSort {
                by: sorts(*context).get(list.sort)?.name.to_owned(),
                reversed: list.descending,
            };
            is_changed.then(|| (list_name(*context), sort))
        });
        Self {
            theme: state.frame.themes.chosen().map(str::to_owned),
            split: changed(state.frame.split, frame.split),
            mouse: changed(state.frame.mouse, frame.mouse),
            notifications: changed(state.frame.notifies, frame.notifies),
            wrap_logs: changed(state.log.wrap, log.wrap),
            log_times: changed(state.log.times, log.times),
            flat_lists: changed(state.trees.flat, false),
            filters: state.filters.history.clone(),
            acknowledged: state.incident_log.kept.clone(),
            seen_deploys: state.seen.newest.clone(),
            plan_options: state.options.remembered.clone(),
            sort: sort.collect(),
        }
    }

    /// Applies the choices and the defaults of all others, except for the theme. Names of lists and
    /// sort orders that this version does not know have no effect.
    pub fn apply(&self, state: &mut State) {
        let (frame, log) = (Frame::default(), Log::default());
        // The range of the keys that change it.
        state.frame.split = self.split.unwrap_or(frame.split).clamp(25, 80);
        state.frame.mouse = self.mouse.unwrap_or(frame.mouse);
        state.frame.notifies = self.notifications.unwrap_or(frame.notifies);
        state.log.wrap = self.wrap_logs.unwrap_or(log.wrap);
        state.log.times = self.log_times.unwrap_or(log.times);
        state.trees.flat = self.flat_lists.unwrap_or_default();
        state.incident_log.kept.clone_from(&self.acknowledged);
        state.seen.newest.clone_from(&self.seen_deploys);
        state.options.remembered.clone_from(&self.plan_options);
        state.filters.history.clear();
        for query in &self.filters {
            state.filters.remember(query);
        }
        for context in Context::ALL {
            let list = &mut state.lists[*context as usize];
            let sort = self.sort.get(&list_name(*context)).and_then(|sort| {
                let by = sorts(*context)
                    .iter()
                    .position(|known| known.name == sort.by)?;
                Some((by, sort.reversed))
            });
            (list.sort, list.descending) = sort.unwrap_or_default();
        }
    }
}

/// Stored choices that a console starts with, and their file.
#[derive(Debug, Clone)]
pub struct KeptChoices {
    pub file: Arc<ChoicesFile>,
    /// `None` if the file is damaged and must be replaced.
    pub stored: Option<Choices>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::VariableFlag;

    #[test]
    fn choices_are_restored_from_their_file_format() {
        let mut state = State::new("shop", "/shop");
        assert_eq!(Choices::of(&state), Choices::default());
        state.frame.themes.choose(Some("light"));
        (state.frame.split, state.frame.mouse) = (35, false);
        state.frame.notifies = false;
        (state.log.wrap, state.log.times) = (true, false);
        state.trees.flat = true;
        state.filters.remember("action:create !web");
        state.incident_log.kept = [("e752509dd65aa7dd".to_owned(), 7)].into();
        state.seen.newest = [("/shop default".to_owned(), 31)].into();
        let plan = StageRequest {
            no_refresh: true,
            variables: vec![
                VariableFlag::File("eu.tfvars".into()),
                VariableFlag::Value {
                    name: "note".into(),
                    text: "two\nlines \"quoted\"".into(),
                },
            ],
            ..StageRequest::default()
        };
        state.options.remembered = [("/shop default".to_owned(), plan)].into();
        for context in Context::ALL {
            let list = &mut state.lists[*context as usize];
            (list.sort, list.descending) = (sorts(*context).len() - 1, true);
        }
        let before = Choices::of(&state);
        let text = toml::to_string(&before).unwrap();
        let after: Choices = toml::from_str(&text).unwrap();
        assert_eq!(after, before);
        let mut restored = State::new("shop", "/shop");
        restored.frame.themes.choose(after.theme.as_deref());
        after.apply(&mut restored);
        assert_eq!(Choices::of(&restored), before);
    }

    #[test]
    fn unknown_names_and_impossible_values_of_another_version_have_no_effect() {
        let text =
            "split = 100\nfuture = 1\n[sort.nowhere]\nby = \"x\"\n[sort.stage]\nby = \"x\"\n";
        let choices: Choices = toml::from_str(text).unwrap();
        let mut state = State::new("shop", "/shop");
        choices.apply(&mut state);
        assert_eq!(state.frame.split, 80);
        assert!(state.lists.iter().all(|l| *l == ListState::default()));
    }
}
