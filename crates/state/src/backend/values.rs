//! Effective arguments of a backend: the configuration's value, else the environment's.

use super::Variables;
use super::error::ArgumentError;
use super::settings::Settings;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Arguments of a backend with the environment as fallback.
pub(super) struct Values<'a> {
    settings: &'a Settings,
    variables: Variables<'a>,
}

impl<'a> Values<'a> {
    pub(super) fn new(settings: &'a Settings, variables: Variables<'a>) -> Self {
        Self {
            settings,
            variables,
        }
    }

    /// Value of the first of these variables that is set and not empty.
    pub(super) fn variable(&self, names: &[&str]) -> Option<String> {
        let mut all = names.iter().filter_map(|name| (self.variables)(name));
        all.find(|text| !text.is_empty())
    }

    /// Text of an argument; an empty one counts as missing.
    pub(super) fn text(&self, name: &str, variables: &[&str]) -> Option<String> {
        let said = self.settings.get(name).and_then(Json::as_str);
        said.filter(|text| !text.is_empty())
            .map(str::to_owned)
            .or_else(|| self.variable(variables))
    }

    /// Text of a required argument.
    pub(super) fn required_text(
        &self,
        name: &str,
        variables: &[&str],
    ) -> Result<String, ArgumentError> {
        self.text(name, variables)
            .ok_or_else(|| ArgumentError::missing(name, variables))
    }

    pub(super) fn flag(
        &self,
        name: &str,
        variables: &[&str],
    ) -> Result<Option<bool>, ArgumentError> {
        if let Some(said) = self.settings.get(name).and_then(Json::as_bool) {
            return Ok(Some(said));
        }
        match self.variable(variables).as_deref() {
            None => Ok(None),
            Some("1" | "t" | "T" | "true" | "TRUE" | "True") => Ok(Some(true)),
            Some("0" | "f" | "F" | "false" | "FALSE" | "False") => Ok(Some(false)),
            Some(_) => Err(ArgumentError::NoFlag(name.to_owned())),
        }
    }

    /// Is a boolean argument true?
    pub(super) fn is(&self, name: &str) -> bool {
        self.settings.get(name).and_then(Json::as_bool) == Some(true)
    }

    /// Argument that is a non-negative integer.
    pub(super) fn number(
        &self,
        name: &str,
        variables: &[&str],
    ) -> Result<Option<u64>, ArgumentError> {
        let text = match self.settings.get(name) {
            Some(number) => Some(number.to_string()),
            None => self.variable(variables),
        };
        let Some(text) = text else { return Ok(None) };
        let number = text.trim().parse();
        number.map(Some).map_err(|source| ArgumentError::NoNumber {
            name: name.to_owned(),
            text,
            source,
        })
    }

    pub(super) fn map(&self, name: &str) -> BTreeMap<String, String> {
        let said = self.settings.get(name).and_then(Json::as_object);
        said.into_iter()
            .flatten()
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect()
    }

    pub(super) fn list(&self, name: &str) -> Vec<String> {
        texts(self.settings.get(name))
    }

    /// Argument that is an object.
    pub(super) fn object_argument(&self, name: &str) -> Option<ObjectArgument<'a>> {
        self.settings.get(name).map(ObjectArgument)
    }
}

/// Attributes of an argument that is an object.
#[derive(Clone, Copy)]
pub(super) struct ObjectArgument<'a>(&'a Json);

impl ObjectArgument<'_> {
    pub(super) fn text(self, name: &str) -> Option<String> {
        let text = self.0.get(name)?.as_str()?;
        (!text.is_empty()).then(|| text.to_owned())
    }

    pub(super) fn list(self, name: &str) -> Vec<String> {
        texts(self.0.get(name))
    }

    pub(super) fn map(self, name: &str) -> BTreeMap<String, String> {
        let said = self.0.get(name).and_then(Json::as_object);
        said.into_iter()
            .flatten()
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect()
    }
}

fn texts(value: Option<&Json>) -> Vec<String> {
    let all = value.and_then(Json::as_array).into_iter().flatten();
    all.filter_map(|one| one.as_str().map(str::to_owned))
        .collect()
}
