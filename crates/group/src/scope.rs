//! Scopes of a group's resources, their fate in each action on the group, and the names of files
//! and resources.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Scope of a resource of a group, from its `@scope`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Lives and dies with the instance.
    Default,
    /// One for each member; survives a rolling update.
    Dedicated(String),
    /// One for the group, or for all groups that name it.
    Global(String),
}

/// Reasons why a text is not a scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a scope: {why}. Use \"@default\", \"@dedicated\", \"@dedicated-ID\", or the \
     name of a global set"
)]
pub struct ScopeError {
    text: String,
    why: &'static str,
}

/// Action on a group, as far as scopes differ in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupAction {
    /// The group is created; its members follow by scaling up.
    GroupCreate,
    /// A member is replaced.
    RollingUpdate,
    /// A member is added.
    ScaleUp,
    /// A member is removed.
    ScaleDown,
    /// The group is destroyed; its members were removed before.
    GroupDestroy,
}

/// Effect of an action on the resources of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Untouched.
    None,
    /// Provisioned.
    Provision,
    /// Destroyed.
    Destroy,
    /// Destroyed and provisioned.
    Replace,
}

impl Scope {
    /// Parses the value of `@scope`, or its absence. Unlike InfraKit's, an id may contain capital
    /// letters, digits, `-` and `_`, so that the id of a group can be used.
    ///
    /// # Errors
    /// The text cannot be a part of a resource's name.
    pub fn parse(text: Option<&str>) -> Result<Scope, ScopeError> {
        let Some(text) = text else {
            return Ok(Scope::Default);
        };
        let (scope, id) = match text {
            "@default" => return Ok(Scope::Default),
            "@dedicated" => return Ok(Scope::Dedicated("default".to_owned())),
            _ => match text.strip_prefix("@dedicated-") {
                Some(id) => (Scope::Dedicated(id.to_owned()), id),
                None => (Scope::Global(text.to_owned()), text),
            },
        };
        let why = match id {
            "" => "the name is empty",
            _ if text.starts_with('@') && matches!(scope, Scope::Global(_)) => {
                "names with @ are reserved"
            }
            _ if !lang::syntax::is_identifier(id) => {
                "the name begins with a letter and has only letters, digits, - and _"
            }
            // Otherwise the name of its file could be read in two ways.
            _ if format!("{id}{DEDICATED}").find(DEDICATED) != Some(id.len()) => {
                "the name contains \"_dedicated\", which files use"
            }
            _ => return Ok(scope),
        };
        Err(ScopeError {
            text: text.to_owned(),
            why,
        })
    }

    /// Effect of an action on the resources of this scope.
    pub fn effect(&self, action: GroupAction) -> Effect {
        use Effect::{Destroy, None, Provision, Replace};
        use GroupAction::{GroupCreate, GroupDestroy, RollingUpdate, ScaleDown, ScaleUp};
        match (self, action) {
            (Scope::Default, RollingUpdate) => Replace,
            (Scope::Default | Scope::Dedicated(_), ScaleUp) => Provision,
            (Scope::Default | Scope::Dedicated(_), ScaleDown) => Destroy,
            (Scope::Global(_), GroupCreate) => Provision,
            (Scope::Global(_), GroupDestroy) => Destroy,
            _ => None,
        }
    }
}

const DEDICATED: &str = "_dedicated_";
const GLOBAL: &str = "_global";
const INSTANCE: &str = "instance-";
const SUFFIX: &str = ".tf.json";

/// Set of resources in one file of a group's directory. Its text is the file's name without
/// extension, as in the tag `infrakit.attach`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSet {
    /// An instance with the resources of its default scope.
    Instance(u64),
    /// Dedicated resources of a member.
    Dedicated {
        /// Id of the scope.
        scope: String,
        /// Key of the member, or an index.
        key: String,
    },
    /// Shared resources.
    Global(String),
}

impl fmt::Display for FileSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileSet::Instance(number) => write!(f, "{INSTANCE}{number}"),
            FileSet::Dedicated { scope, key } => write!(f, "{scope}{DEDICATED}{key}"),
            FileSet::Global(scope) => write!(f, "{scope}{GLOBAL}"),
        }
    }
}

impl FileSet {
    /// Parses the name of a set, as in `infrakit.attach`.
    pub fn parse(text: &str) -> Option<FileSet> {
        let number = text.strip_prefix(INSTANCE).and_then(|number| {
            // `instance-007` would be written back as another name.
            let parsed: u64 = number.parse().ok()?;
            (parsed.to_string() == number).then_some(parsed)
        });
        if let Some(number) = number {
            return Some(FileSet::Instance(number));
        }
        if let Some((scope, key)) = text.split_once(DEDICATED) {
            let valid = !scope.is_empty() && !key.is_empty();
            return valid.then(|| FileSet::Dedicated {
                scope: scope.to_owned(),
                key: key.to_owned(),
            });
        }
        let scope = text.strip_suffix(GLOBAL)?;
        (!scope.is_empty()).then(|| FileSet::Global(scope.to_owned()))
    }

    /// Parses the name of a file: `NAME.tf.json`, or `NAME.tf.json.new` for a declaration that the
    /// loop has not taken in. Returns true for the latter.
    pub fn from_file(name: &str) -> Option<(FileSet, bool)> {
        let (name, is_new) = match name.strip_suffix(".new") {
            Some(name) => (name, true),
            None => (name, false),
        };
        Some((FileSet::parse(name.strip_suffix(SUFFIX)?)?, is_new))
    }

    /// Name of the file.
    pub fn file(&self) -> String {
        format!("{self}{SUFFIX}")
    }

    /// Name of the file of a new declaration.
    pub fn new_file(&self) -> String {
        format!("{self}{SUFFIX}.new")
    }

    /// Full name of a resource `name` in the file. The instance itself has the name of the file;
    /// the other resources of its default scope begin with the name of the member, if it has one.
    pub fn resource(&self, name: &str, member: Option<&str>) -> String {
        match (self, member) {
            (FileSet::Instance(_), Some(member)) => format!("{member}-{name}"),
            (FileSet::Instance(_), None) => format!("{self}-{name}"),
            (FileSet::Dedicated { scope, key }, _) => format!("{scope}-{key}-{name}"),
            (FileSet::Global(scope), _) => format!("{scope}-{name}"),
        }
    }
}

/// Returns a number for a new instance that no file of the directory uses: at least `from`, so that
/// a caller that counts up never gets a former one.
pub fn next_instance<'f>(files: impl IntoIterator<Item = &'f str>, from: u64) -> u64 {
    let used = files
        .into_iter()
        .filter_map(|file| match FileSet::from_file(file)?.0 {
            FileSet::Instance(number) => Some(number),
            _ => None,
        });
    used.map(|number| number.saturating_add(1))
        .fold(from, u64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s3_09_scope_is_parsed_from_its_text() {
        let dedicated = |id: &str| Scope::Dedicated(id.to_owned());
        let global = |id: &str| Scope::Global(id.to_owned());
        for (text, scope) in [
            (None, Scope::Default),
            (Some("@default"), Scope::Default),
            (Some("@dedicated"), dedicated("default")),
            (Some("@dedicated-managers"), dedicated("managers")),
            // InfraKit accepts lower-case letters alone, although it recommends ids of groups.
            (
                Some("@dedicated-terraform_Demo-2"),
                dedicated("terraform_Demo-2"),
            ),
            (Some("managers"), global("managers")),
        ] {
            assert_eq!(Scope::parse(text), Ok(scope), "{text:?}");
        }
        for (text, part) in [
            ("", "empty"),
            ("@dedicated-", "empty"),
            ("@defualt", "names with @ are reserved"),
            ("@dedicatedx", "names with @ are reserved"),
            ("a b", "letters, digits"),
            ("@dedicated-1a", "begins with a letter"),
            ("a_dedicated_b", "which files use"),
            ("@dedicated-a_dedicated", "which files use"),
        ] {
            let error = Scope::parse(Some(text)).unwrap_err().to_string();
            assert!(
                error.contains(part) && error.contains("Use \"@default\""),
                "{text}: {error}"
            );
        }
    }

    /// S3-10: all 15 cells.
    #[test]
    fn s3_10_effect_of_each_action_on_each_scope() {
        use Effect::{Destroy, None, Provision, Replace};
        use GroupAction::*;
        let actions = [GroupCreate, RollingUpdate, ScaleUp, ScaleDown, GroupDestroy];
        for (scope, effects) in [
            ("@default", [None, Replace, Provision, Destroy, None]),
            ("@dedicated-a", [None, None, Provision, Destroy, None]),
            ("a", [Provision, None, None, None, Destroy]),
        ] {
            let scope = Scope::parse(Some(scope)).unwrap();
            assert_eq!(
                actions.map(|action| scope.effect(action)),
                effects,
                "{scope:?}"
            );
        }
    }

    /// S3-02, S3-11, S3-14.
    #[test]
    #[rustfmt::skip]
    fn s3_02_files_and_resources_have_the_documented_names() {
        let dedicated = |scope: &str, key: &str| FileSet::Dedicated {
            scope: scope.to_owned(),
            key: key.to_owned(),
        };
        for (set, member, file, resource) in [
            (FileSet::Instance(12), None, "instance-12", "instance-12-fs"),
            (FileSet::Instance(12), Some("mgr1"), "instance-12", "mgr1-fs"),
            (
                dedicated("managers", "mgr1"),
                Some("mgr1"),
                "managers_dedicated_mgr1",
                "managers-mgr1-fs",
            ),
            (dedicated("default", "1"), None, "default_dedicated_1", "default-1-fs"),
            (
                dedicated("instance-1", "b_global"),
                None,
                "instance-1_dedicated_b_global",
                "instance-1-b_global-fs",
            ),
            (FileSet::Global("my_set".to_owned()), None, "my_set_global", "my_set-fs"),
        ] {
            assert_eq!(set.file(), format!("{file}.tf.json"));
            assert_eq!(set.resource("fs", member), resource);
            assert_eq!(FileSet::from_file(&set.file()), Some((set.clone(), false)));
            assert_eq!(FileSet::from_file(&set.new_file()), Some((set, true)));
        }
        for other in [
            "main.tf", "main.tf.json", "instance-x.tf.json", "instance-07.tf.json",
            "_global.tf.json", "_dedicated_1.tf.json", "a_dedicated_.tf.json",
            "instance-1.tf.json.bak",
        ] {
            assert_eq!(FileSet::from_file(other), None, "{other}");
        }
    }

    /// InfraKit names instances by seconds, so that it creates at most one a second.
    #[test]
    fn instance_numbers_are_unique_without_a_clock() {
        let files = [
            "instance-7.tf.json",
            "instance-9.tf.json.new",
            "a_global.tf.json",
        ];
        assert_eq!(next_instance(files, 1), 10);
        assert_eq!(next_instance(files, 100), 100);
        assert_eq!(next_instance([], 1), 1);
    }
}
