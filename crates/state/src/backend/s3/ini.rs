//! Shared configuration files of AWS: profiles and their settings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Settings of all files by profile, each with its file. Later files override earlier ones.
#[derive(Default)]
pub(super) struct Profiles(BTreeMap<String, BTreeMap<String, (String, PathBuf)>>);

impl Profiles {
    /// Adds a file. In config files, sections are named `profile NAME`.
    pub(super) fn add_file(&mut self, text: &str, file: &Path) {
        let mut section = None;
        for line in text.lines() {
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = trimmed.strip_prefix('[').and_then(|t| t.split(']').next()) {
                let mut words = name.split_whitespace();
                section = match (words.next(), words.next()) {
                    (Some("profile"), Some(name)) => Some(name.to_owned()),
                    (Some(name), None) => Some(name.to_owned()),
                    // Other two-word sections, such as sso-session and services, are not profiles.
                    _ => None,
                };
                if let Some(name) = &section {
                    self.0.entry(name.clone()).or_default();
                }
                continue;
            }
            // An indented line belongs to a nested setting.
            let nested = line.starts_with([' ', '\t']);
            if let (Some(section), Some((name, value)), false) =
                (&section, trimmed.split_once('='), nested)
            {
                // A comment after a value is preceded by a space.
                let value = value.split(" #").next().unwrap_or_default();
                let settings = self.0.entry(section.clone()).or_default();
                let value = (value.trim().to_owned(), file.to_owned());
                settings.insert(name.trim().to_lowercase(), value);
            }
        }
    }

    pub(super) fn has(&self, profile: &str) -> bool {
        self.0.contains_key(profile)
    }

    pub(super) fn get(&self, profile: &str, name: &str) -> Option<&str> {
        let (value, _) = self.0.get(profile)?.get(name)?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

    /// File in which a setting was found.
    pub(super) fn file(&self, profile: &str, name: &str) -> Option<&Path> {
        let (_, file) = self.0.get(profile)?.get(name)?;
        Some(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_settings_merge_both_section_kinds_and_later_files_win() {
        let mut profiles = Profiles::default();
        profiles.add_file("# x\n[default]\nregion = eu-west-1\ns3 =\n  region = nested\n[profile dev] ; c\nrole_arn=arn:a # c\n[sso-session s]\nregion = no\n", Path::new("one"));
        profiles.add_file(
            "[dev]\naws_access_key_id = A\nRole_ARN = arn:b\n",
            Path::new("two"),
        );
        assert_eq!(profiles.file("default", "region"), Some(Path::new("one")));
        assert_eq!(profiles.file("dev", "role_arn"), Some(Path::new("two")));
        assert_eq!(profiles.get("default", "region"), Some("eu-west-1"));
        assert_eq!(profiles.get("dev", "role_arn"), Some("arn:b"));
        assert_eq!(profiles.get("dev", "aws_access_key_id"), Some("A"));
        assert!(profiles.has("dev") && !profiles.has("s"));
    }
}
