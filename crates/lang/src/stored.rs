//! Configuration of an earlier deploy. It is loaded from the store instead of the disk, so that the
//! operator's files stay as they are.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use cty::Value;

use crate::config::{ModuleRequest, ModuleResolver, ModuleSource, local_directory};
use crate::diag::Diagnostics;
use crate::functions::ExternalInput;

/// A configuration as a deploy used it. Names of files and directories are relative to that of the
/// configuration.
#[derive(Clone, Default, PartialEq)]
pub struct StoredConfiguration {
    /// Origin in messages: `deploy #3`.
    pub origin: String,
    /// Texts of the configuration files, by name.
    pub files: BTreeMap<String, Arc<str>>,
    /// Directories of the modules, by the names of their calls joined by dots. Stores of older
    /// versions have none.
    pub modules: BTreeMap<String, String>,
    /// Results of the file functions.
    pub inputs: BTreeMap<ExternalInput, StoredInput>,
    /// Values of the root variables; `None` if a variable had one that is not stored.
    pub variables: BTreeMap<Arc<str>, Option<Value>>,
}

impl Eq for StoredConfiguration {}

/// Prints only names, because values may be sensitive.
impl fmt::Debug for StoredConfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("StoredConfiguration");
        shown.field("origin", &self.origin);
        shown.field("files", &self.files.keys());
        shown.finish_non_exhaustive()
    }
}

/// Result of a file function.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredInput {
    /// Digest of the result.
    pub digest: String,
    /// Content of a file; for a pattern the matching names, separated by NUL. `None` if only the
    /// digest is stored.
    pub text: Option<Arc<str>>,
}

impl StoredConfiguration {
    /// Returns true if the result of a file function does not depend on the files on disk.
    pub fn contains(&self, look: &ExternalInput) -> bool {
        let is_presence = matches!(look, ExternalInput::Presence(_));
        let found = self.inputs.get(look);
        found.is_some_and(|found| is_presence || found.text.is_some() || found.is_absent())
    }

    /// Names of the files in a directory, without those below it.
    pub(crate) fn names(&self, directory: &str) -> Vec<String> {
        let parent = |name: &str| match name.rsplit_once('/') {
            Some((parent, _)) => parent == directory,
            None => directory.is_empty(),
        };
        let inside = self.files.keys().filter(|name| parent(name));
        let last = |name: &String| {
            Path::new(name)
                .file_name()
                .map(|n| n.to_string_lossy().into())
        };
        inside.filter_map(last).collect()
    }
}

/// Resolves module calls as they were resolved for the deploy.
pub(crate) struct StoredModules(pub(crate) Arc<StoredConfiguration>);

impl ModuleResolver for StoredModules {
    fn module_directory(
        &mut self,
        asked: &ModuleRequest<'_>,
        diags: &mut Diagnostics,
    ) -> Option<String> {
        if let Some(dir) = self.0.modules.get(&asked.key) {
            return Some(dir.clone());
        }
        // Older stores lack directories. That of a path is known, unless a link leads elsewhere.
        if let ModuleSource::Local(path) = asked.source {
            let dir = local_directory(asked.from, path);
            if !self.0.names(&dir).is_empty() {
                return Some(dir);
            }
        }
        let detail = format!(
            "The stored configuration of {} does not have the files of module \"{}\" ({}), because \
            an earlier version of flightdeck stored it. Check out the earlier configuration with \
            your version control system, and stage it from there.",
            self.0.origin, asked.key, asked.source
        );
        diags.error(asked.span, "Module is not stored", detail);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Inputs, Loaded, load_root};
    use crate::functions::ExternalInput;
    use crate::source::SourceMap;

    fn stored(files: &[(&str, &str)]) -> StoredConfiguration {
        let files = files.iter();
        StoredConfiguration {
            origin: "deploy #3".into(),
            files: files.map(|(n, t)| ((*n).to_owned(), (*t).into())).collect(),
            ..StoredConfiguration::default()
        }
    }

    /// Loads a stored configuration for a directory that has another one. Returns it with the
    /// details of its errors.
    fn load(stored: StoredConfiguration) -> (Loaded, String) {
        let dir = tempfile::tempdir().expect("a directory");
        let text = "variable \"today\" {}\n";
        std::fs::write(dir.path().join("today.tf"), text).expect("written");
        let today = "region = \"today\"\n";
        std::fs::write(dir.path().join("terraform.tfvars"), today).expect("written");
        std::fs::write(dir.path().join("names.txt"), "today").expect("written");
        let sources = SourceMap::of_stored(Some(Arc::new(stored)));
        let (loaded, diags) = load_root(dir.path(), &sources, &Inputs::default());
        let details = diags.iter().map(|d| d.detail.to_string());
        (loaded, details.collect::<Vec<_>>().join("\n"))
    }

    const ROOT: &str = "module \"a\" {\n  source = \"./a\"\n}\n";
    const REMOTE: &str = "module \"a\" {\n  source = \"example/a/aws\"\n}\n";

    #[test]
    fn stored_files_are_read_instead_of_those_on_disk() {
        let (loaded, errors) = load(stored(&[
            ("main.tf", ROOT),
            ("main.tofu", "locals {\n  a = 1\n}\n"),
            ("more.tf", ROOT),
            ("a/main.tf", "module \"b\" {\n  source = \"../b\"\n}\n"),
            ("a/deep/main.tf", "not read"),
            ("b/main.tf.json", "{\"locals\": {\"b\": 1}}"),
        ]));
        assert_eq!(errors, "");
        let modules = loaded.root.all();
        let directories: Vec<_> = modules.iter().map(|m| &*m.dir_text).collect();
        assert_eq!(directories, [".", "a", "b"]);
        assert!(loaded.root.variables.is_empty() && loaded.root.locals.contains_key("a"));
        assert!(modules[2].locals.contains_key("b"));
    }

    #[test]
    fn stored_directory_of_a_module_is_used_for_any_source() {
        let mut stored = stored(&[
            ("main.tf", REMOTE),
            ("x/m/main.tf", "locals {\n  m = 1\n}\n"),
        ]);
        let (_, errors) = load(stored.clone());
        let expected = "deploy #3 does not have the files of module \"a\" (registry.";
        assert!(errors.contains(expected), "{errors}");
        stored.modules.insert("a".into(), "x/m".into());
        let (loaded, errors) = load(stored);
        assert_eq!(errors, "");
        assert!(loaded.root.all()[1].locals.contains_key("m"));
    }

    #[test]
    fn local_module_without_stored_files_is_named() {
        let (_, errors) = load(stored(&[("main.tf", ROOT)]));
        assert!(
            errors.contains("the files of module \"a\" (./a)"),
            "{errors}"
        );
    }

    #[test]
    fn values_of_variables_are_those_of_the_deploy_or_given() {
        let declared = "variable \"region\" {\n  default = \"default\"\n}\n";
        let cases = [
            (Some(Some("then")), Ok("then")),
            (Some(None), Err("\"region\" had in deploy #3 is not stored")),
            (None, Err("\"region\" had in deploy #3 is not stored")),
        ];
        for (known, expected) in cases {
            let mut stored = stored(&[("main.tf", declared)]);
            let known = known.map(|value| ("region".into(), value.map(Value::string)));
            stored.variables.extend(known);
            let (loaded, errors) = load(stored);
            match expected {
                Ok(value) => {
                    assert_eq!(loaded.values.values["region"].value, Value::string(value));
                    assert_eq!(errors, "");
                }
                Err(expected) => assert!(errors.contains(expected), "{errors}"),
            }
        }
    }

    #[test]
    fn file_that_is_read_while_loading_must_be_stored() {
        let text = "locals {\n  where = file(\"names.txt\")\n}\n\
                    module \"a\" {\n  source = local.where\n}\n";
        let mut stored = stored(&[("main.tf", text), ("a/main.tf", "")]);
        let (_, errors) = load(stored.clone());
        assert!(errors.contains("are not stored with a deploy"), "{errors}");
        let input = StoredInput {
            digest: "d".into(),
            text: Some("./a".into()),
        };
        let look = ExternalInput::File("names.txt".into());
        stored.inputs.insert(look, input);
        let (loaded, errors) = load(stored);
        assert_eq!(errors, "");
        assert_eq!(loaded.root.all().len(), 2);
    }
}
