//! Trust in commands named by workspace files, such as `credential_process` in an AWS configuration
//! file. A command runs only if the user trusts the digest of its text and of the workspace files
//! it names.

use crate::file::{Known, TrustFile, TrustFileError, roots};
use model::mutex::lock;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

/// Maximum length of a command in an error, in characters.
const MAX_DISPLAYED: usize = 300;

/// Commands trusted since [`trust_all`]; `None` until then.
static NEWLY: Mutex<Option<Vec<WorkspaceCommand>>> = Mutex::new(None);

/// Directory of [`trust_directory`].
static OWN_DIRECTORY: OnceLock<PathBuf> = OnceLock::new();

/// A command of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceCommand {
    pub command: String,
    /// The file that names it.
    pub file: PathBuf,
    pub digest: String,
}

/// Reasons why a command does not run.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CommandError {
    #[error(
        "the command {:?} in {} is not run: the file belongs to the workspace, and {}\n  digest: {}\nThe command would run with all your permissions. If you trust it, run flightdeck once with --trust-workspace-plugins; otherwise remove it from the file, or move the file out of the workspace.",
        shown(&command.command), command.file.display(), reason(*.changed), command.digest
    )]
    Untrusted {
        command: WorkspaceCommand,
        /// Another version of it was trusted.
        changed: bool,
    },
    #[error(transparent)]
    File(#[from] TrustFileError),
}

impl CommandError {
    /// Finds a command without trust among the causes of an error.
    pub fn is_cause_of(error: &(dyn std::error::Error + 'static)) -> bool {
        std::iter::successors(Some(error), |error| error.source())
            .any(|cause| matches!(cause.downcast_ref(), Some(Self::Untrusted { .. })))
    }
}

/// Trusts every command of the workspace from now on, and saves that.
pub fn trust_all() {
    lock(&NEWLY).get_or_insert_default();
}

/// Trusts every command in files of a directory that this process has created, for the life of the
/// process. Saves nothing.
pub fn trust_directory(directory: &Path) {
    if let Ok(directory) = directory.canonicalize() {
        OWN_DIRECTORY.get_or_init(|| directory);
    }
}

/// Takes the commands that were trusted since [`trust_all`] or the last call.
pub fn take_newly_trusted() -> Vec<WorkspaceCommand> {
    lock(&NEWLY)
        .as_mut()
        .map(std::mem::take)
        .unwrap_or_default()
}

/// Checks commands of one workspace for one user.
#[derive(Debug, Clone)]
pub struct CommandTrust {
    /// Directories whose files belong to the workspace: its own and its repository's.
    roots: Vec<PathBuf>,
    /// The workspace as given, in case it does not exist.
    workspace: PathBuf,
    file: TrustFile,
}

impl CommandTrust {
    pub fn new(workspace: &Path, variable: impl Fn(&str) -> Option<String>) -> Self {
        let home = variable("HOME").map(PathBuf::from);
        let roots = roots(workspace, home.as_deref());
        Self {
            roots,
            workspace: workspace.to_owned(),
            file: TrustFile::default_file(&variable, workspace),
        }
    }

    /// Checks a command named by `file`. Commands in files outside of the workspace are the user's
    /// own.
    ///
    /// # Errors
    /// The file belongs to the workspace and the command is not trusted.
    pub fn check(&self, command: &str, file: &Path) -> Result<(), CommandError> {
        if !self.belongs_to_workspace(file) || self.is_own(file) {
            return Ok(());
        }
        let command = WorkspaceCommand {
            command: command.to_owned(),
            file: self.canonical_path(file).unwrap_or_else(|| file.to_owned()),
            digest: self.digest(command),
        };
        let name = format!("command in {}", command.file.display());
        let known = self.file.look_up(&command.digest, &name)?;
        if known == Known::Trusted {
            return Ok(());
        }
        // After `trust_all` each command becomes trusted when it is first checked.
        let mut newly = lock(&NEWLY);
        let Some(newly) = newly.as_mut() else {
            return Err(CommandError::Untrusted {
                command,
                changed: known == Known::Changed,
            });
        };
        self.file.add(&command.digest, &name)?;
        newly.push(command);
        Ok(())
    }

    /// Resolves links: a link in the home directory to a file of the clone belongs to the clone.
    fn belongs_to_workspace(&self, file: &Path) -> bool {
        // A file that cannot be resolved counts as the workspace's.
        let Some(file) = self.canonical_path(file) else {
            return true;
        };
        // If the workspace cannot be resolved, every file counts as its own.
        self.roots.is_empty() || self.roots.iter().any(|root| file.starts_with(root))
    }

    /// Returns true for a file of the directory that this process trusts.
    fn is_own(&self, file: &Path) -> bool {
        let own = OWN_DIRECTORY.get();
        own.zip(self.canonical_path(file))
            .is_some_and(|(own, file)| file.starts_with(own))
    }

    fn canonical_path(&self, file: &Path) -> Option<PathBuf> {
        self.workspace.join(file).canonicalize().ok()
    }

    /// Digest of a command's text, its workspace, and the workspace files that it names.
    fn digest(&self, command: &str) -> String {
        let mut digest = Sha256::new();
        // The length keeps adjacent parts apart.
        let mut add = |bytes: &[u8]| {
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        };
        add(command.as_bytes());
        // A decision applies to this workspace only, not to a copy of it.
        for root in &self.roots {
            add(root.as_os_str().as_encoded_bytes());
        }
        // A shell separates words by these characters, so a file may be named between any of them.
        let separates = |c: char| c.is_whitespace() || "'\"`;|&()<>=".contains(c);
        for word in command.split(separates).filter(|word| !word.is_empty()) {
            let file = self.workspace.join(word);
            if self.belongs_to_workspace(&file)
                && let Ok(content) = fsroot::read_regular(&file)
            {
                add(word.as_bytes());
                add(&content);
            }
        }
        format!("sha256:{}", hex::encode(digest.finalize()))
    }
}

fn shown(command: &str) -> String {
    match command.char_indices().nth(MAX_DISPLAYED) {
        Some((end, _)) => format!("{}…", &command[..end]),
        None => command.to_owned(),
    }
}

fn reason(changed: bool) -> &'static str {
    if changed {
        "the command, or a file that it names, has changed since you trusted it"
    } else {
        "you have not trusted the command"
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;
    use std::os::unix::fs::symlink;

    /// Judges commands of `clone/work`, a directory of a repository, for a user at `home`.
    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Self {
            let place = Self(tempfile::tempdir().unwrap());
            for dir in ["clone/.git", "clone/work", "home/.aws"] {
                std::fs::create_dir_all(place.at(dir)).unwrap();
            }
            place
        }

        fn at(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn write(&self, name: &str, text: &str) -> PathBuf {
            std::fs::write(self.at(name), text).unwrap();
            self.at(name)
        }

        fn trust(&self) -> CommandTrust {
            let home = self.at("home").display().to_string();
            CommandTrust::new(&self.at("clone/work"), move |name| {
                (name == "HOME").then(|| home.clone())
            })
        }

        fn runs(&self, file: &Path) -> bool {
            self.trust().check("touch x", file).is_ok()
        }
    }

    #[test]
    fn command_from_a_file_in_the_workspace_or_its_repository_needs_trust() {
        let place = Place::new();
        let own = place.write("home/.aws/config", "");
        let inside = place.write("clone/work/aws.cfg", "");
        let above = place.write("clone/aws.cfg", "");
        assert!(place.runs(&own));
        for file in [
            inside.as_path(),
            &above,
            Path::new("aws.cfg"),
            Path::new("../aws.cfg"),
            &place.at("clone/work/../work/aws.cfg"),
            Path::new("is-not-there"),
        ] {
            assert!(!place.runs(file), "{}", file.display());
        }
        let link = place.at("home/.aws/credentials");
        symlink(&inside, &link).unwrap();
        assert!(!place.runs(&link), "a link to the clone");
        let link = place.at("clone/work/link");
        symlink(&own, &link).unwrap();
        assert!(place.runs(&link), "a link to the user's own");
    }

    #[test]
    fn user_files_in_a_repository_around_home_need_no_trust() {
        let place = Place::new();
        std::fs::create_dir(place.at("home/.git")).unwrap();
        std::fs::create_dir(place.at("home/work")).unwrap();
        let own = place.write("home/.aws/config", "");
        let home = place.at("home").display().to_string();
        let trust = CommandTrust::new(&place.at("home/work"), |_| Some(home.clone()));
        assert!(trust.check("x", &own).is_ok());
        let inside = place.write("home/work/aws.cfg", "");
        assert!(trust.check("x", &inside).is_err());
    }

    #[test]
    fn command_digest_depends_on_text_named_files_and_workspace() {
        let place = Place::new();
        let trust = place.trust();
        place.write("clone/work/creds", "one");
        let digest = trust.digest("./creds --for me");
        assert_eq!(digest, place.trust().digest("./creds --for me"));
        assert_ne!(digest, trust.digest("./creds --for you"));
        place.write("clone/work/creds", "two");
        assert_ne!(digest, trust.digest("./creds --for me"));
        let quoted = trust.digest("sh -c \"exec './creds'\"");
        place.write("clone/work/creds", "three");
        assert_ne!(quoted, trust.digest("sh -c \"exec './creds'\""));
        let other = Place::new();
        assert_ne!(trust.digest("x"), other.trust().digest("x"));
    }

    #[test]
    fn command_trust_is_saved_by_digest_and_a_change_is_named() {
        let place = Place::new();
        let file = place.write("clone/work/aws.cfg", "");
        let trust = place.trust();
        let digest = trust.digest("touch x");
        let real = file.canonicalize().unwrap();
        let name = format!("command in {}", real.display());
        trust.file.add(&digest, &name).unwrap();
        assert!(place.runs(&file));
        let error = trust.check("touch y", &file).unwrap_err();
        assert!(error.to_string().contains("has changed since"), "{error}");
        assert!(CommandError::is_cause_of(&error));
    }
}
