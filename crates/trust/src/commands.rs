//! Trust in commands that files of a workspace name, such as `credential_process` in an AWS
//! configuration file. A command runs only if the user trusts the digest of its words and of the
//! files that it executes.

use crate::executed::{ExecutedFile, Search, normalised};
use crate::file::{Known, TrustFile, TrustFileError};
use crate::words::{Part, Word, varies_in_data_only};
use fsroot::roots;
use model::mutex::lock;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

/// Maximum length of a command in an error, in characters.
const MAX_DISPLAYED: usize = 300;

/// Version of the contents of a digest; a new one asks for all decisions again.
const VERSION: &[u8] = b"command 2";

/// Effect of [`trust_all`]; `None` until then.
static NEWLY: Mutex<Option<NewlyTrusted>> = Mutex::new(None);

/// Shows a command that becomes trusted.
pub type Announce = fn(&WorkspaceCommand);

#[derive(Debug)]
struct NewlyTrusted {
    announce: Announce,
    /// Digest of each command that became trusted, by its text and file. A file that changes
    /// afterwards is not trusted again.
    digests: HashMap<(String, PathBuf), String>,
}

/// Directory of [`trust_directory`].
static OWN_DIRECTORY: OnceLock<PathBuf> = OnceLock::new();

/// A command of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceCommand {
    pub command: String,
    /// The file that names it.
    pub file: PathBuf,
    pub digest: String,
    /// Files that it executes and that the digest covers.
    pub covers: Vec<String>,
    /// True for a setting, such as `enforce`, which is no command itself.
    pub is_setting: bool,
}

impl WorkspaceCommand {
    /// "command" or "setting".
    pub fn kind(&self) -> &'static str {
        match self.is_setting {
            true => "setting",
            false => "command",
        }
    }

    fn verb(&self) -> &'static str {
        match self.is_setting {
            true => "used",
            false => "run",
        }
    }

    fn effect(&self) -> &'static str {
        match self.is_setting {
            true => "",
            false => "The command would run with all your permissions. ",
        }
    }

    /// Lists the files that a decision covers, for a question.
    pub fn coverage(&self) -> String {
        match &self.covers[..] {
            [] => format!("the {}", self.kind()),
            files => {
                let files: Vec<String> = files.iter().map(|file| format!("{file:?}")).collect();
                format!("the {} and {}", self.kind(), files.join(", "))
            }
        }
    }
}

/// Reasons why a command does not run.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CommandError {
    #[error(
        "the {} {:?} in {} is not {}: the file belongs to the workspace, and {}\n  digest: {}\n  covers: {}, not what these load themselves\n{}If you trust it, run flightdeck once with --trust-workspace; otherwise remove it from the file.",
        command.kind(), shown(&command.command), command.file.display(), command.verb(),
        reason(*.changed, command.kind()), command.digest, command.coverage(), command.effect()
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

/// Trusts every command of the workspace from now on, and saves that. `announce` shows each
/// command before it runs.
pub fn trust_all(announce: Announce) {
    lock(&NEWLY).get_or_insert(NewlyTrusted {
        announce,
        digests: HashMap::new(),
    });
}

/// Trusts every command in files of a directory that this process has created, for the life of the
/// process. Saves nothing.
pub fn trust_directory(directory: &Path) {
    if let Ok(directory) = directory.canonicalize() {
        OWN_DIRECTORY.get_or_init(|| directory);
    }
}

/// File that names a command, or that has a setting which needs trust.
#[derive(Debug, Clone, Copy)]
pub enum NamedBy<'a> {
    /// A file of the configuration, or one that the configuration names: it belongs to the
    /// workspace, wherever it is.
    Workspace(&'a Path),
    /// A file that the user's environment or a default names: it belongs to the workspace if it is
    /// below it, or behind a link in it.
    User(&'a Path),
}

impl<'a> NamedBy<'a> {
    fn file(self) -> &'a Path {
        match self {
            Self::Workspace(file) | Self::User(file) => file,
        }
    }
}

/// Checks commands of one workspace for one user.
#[derive(Debug, Clone)]
pub struct CommandTrust {
    /// Directories whose files belong to the workspace: its own and its repositories'.
    roots: Vec<PathBuf>,
    /// The workspace as given, in case it does not exist.
    workspace: PathBuf,
    /// Directories with the user's own configuration.
    own: Vec<PathBuf>,
    /// Files that the user's environment names.
    named: Vec<PathBuf>,
    /// Directories of `PATH`.
    path: Vec<PathBuf>,
    file: TrustFile,
}

/// Variables with the names of files that belong to the user.
const FILE_VARIABLES: [&str; 3] = [
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_SHARED_CONFIG_FILE",
    "AWS_CONFIG_FILE",
];

impl CommandTrust {
    pub fn new(workspace: &Path, variable: impl Fn(&str) -> Option<String>) -> Self {
        let home = variable("HOME").filter(|home| !home.is_empty());
        let home = home.map(PathBuf::from);
        let roots = roots(workspace, home.as_deref());
        let outside = |path: &PathBuf| !roots.iter().any(|root| path.starts_with(root));
        let own = home.iter().map(|home| home.join(".aws"));
        let own = own
            .filter_map(|dir| dir.canonicalize().ok())
            .filter(outside);
        let named = FILE_VARIABLES.iter().filter_map(|name| variable(name));
        let named = named.map(PathBuf::from).filter(|path| path.is_absolute());
        let named = named
            .filter_map(|path| path.canonicalize().ok())
            .filter(outside);
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self {
            own: own.collect(),
            named: named.collect(),
            path: std::env::split_paths(&path).collect(),
            workspace: workspace.to_owned(),
            file: TrustFile::default_file(&variable, workspace),
            roots,
        }
    }

    /// Checks a setting that needs trust, such as `enforce` of the reconcile loop.
    ///
    /// # Errors
    /// The file belongs to the workspace and the setting is not trusted.
    pub fn check(&self, text: &str, file: NamedBy<'_>) -> Result<(), CommandError> {
        self.check_command(&[Word::fixed(text)], text, file, None)
    }

    /// Checks a text that a shell runs in `dir`.
    ///
    /// # Errors
    /// As [`CommandTrust::check_words`].
    pub fn check_shell(
        &self,
        text: &str,
        file: NamedBy<'_>,
        dir: &Path,
    ) -> Result<(), CommandError> {
        let words = ["sh", "-c", text].map(Word::fixed);
        self.check_command(&words, text, file, Some(dir))
    }

    /// Checks a command that runs in `dir`. The decision covers the words, without the open parts
    /// that are only data, and the files that the command executes. `pattern` is the source of
    /// the open parts. Call this right before each start, because files can change at any time.
    ///
    /// # Errors
    /// The file belongs to the workspace and the command is not trusted.
    pub fn check_words(
        &self,
        words: &[Word],
        pattern: &str,
        file: NamedBy<'_>,
        dir: &Path,
    ) -> Result<(), CommandError> {
        self.check_command(words, pattern, file, Some(dir))
    }

    /// Checks a setting that runs commands, each in its directory. The decision covers the commands
    /// and the files that they execute; open parts are left out, so the caller must look at them.
    ///
    /// # Errors
    /// As [`CommandTrust::check`].
    pub fn check_setting(
        &self,
        text: &str,
        commands: &[(&[Word], &Path)],
        file: NamedBy<'_>,
    ) -> Result<(), CommandError> {
        let executed = commands.iter();
        let executed = executed.flat_map(|(words, dir)| self.executed(words, dir));
        let executed: Vec<ExecutedFile> = executed.collect();
        // Parts of all commands as one word, after the text.
        let fixed = |part: &Part| {
            Part::Fixed(match part {
                Part::Fixed(text) => format!("fixed {text}"),
                Part::Open(_) => "open".to_owned(),
            })
        };
        let parts = commands.iter().flat_map(|(words, _)| words.iter());
        let parts = parts.map(|word| Word(word.0.iter().map(fixed).collect()));
        let words: Vec<Word> = std::iter::once(Word::fixed(text)).chain(parts).collect();
        self.decide(
            (text.to_owned(), true),
            self.digest(&words, text, &executed),
            executed,
            file,
        )
    }

    fn check_command(
        &self,
        words: &[Word],
        pattern: &str,
        file: NamedBy<'_>,
        dir: Option<&Path>,
    ) -> Result<(), CommandError> {
        if !self.needs_trust(file) {
            return Ok(());
        }
        let executed = dir.map(|dir| self.executed(words, dir)).unwrap_or_default();
        let digest = self.digest(words, pattern, &executed);
        self.decide(
            (displayed(words, pattern), dir.is_none()),
            digest,
            executed,
            file,
        )
    }

    /// Looks the digest up in the user's decisions; after [`trust_all`] adds it.
    fn decide(
        &self,
        (command, is_setting): (String, bool),
        digest: String,
        executed: Vec<ExecutedFile>,
        named_by: NamedBy<'_>,
    ) -> Result<(), CommandError> {
        if !self.needs_trust(named_by) {
            return Ok(());
        }
        let file = named_by.file();
        let covers: Vec<String> = executed.iter().map(|file| file.name.clone()).collect();
        let command = WorkspaceCommand {
            // Addresses of health checks can have credentials; the digest covers them.
            command: net::redacted(&command),
            file: self.canonical_path(file).unwrap_or_else(|| file.to_owned()),
            digest,
            covers,
            is_setting,
        };
        let name = format!("{} in {}", command.kind(), command.file.display());
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
        let key = (command.command.clone(), command.file.clone());
        if let Some(before) = newly.digests.get(&key)
            && *before != command.digest
        {
            return Err(CommandError::Untrusted {
                command,
                changed: true,
            });
        }
        newly.digests.insert(key, command.digest.clone());
        // Before the command runs, so that the user can read it first.
        (newly.announce)(&command);
        self.file.add(&command.digest, &name)?;
        Ok(())
    }

    fn needs_trust(&self, file: NamedBy<'_>) -> bool {
        let path = file.file();
        let Some(real) = self.canonical_path(path) else {
            // A file that cannot be resolved counts as the workspace's.
            return true;
        };
        let is_own = OWN_DIRECTORY.get().is_some_and(|own| real.starts_with(own));
        let is_users =
            self.own.iter().any(|dir| real.starts_with(dir)) || self.named.contains(&real);
        match file {
            _ if is_own || is_users => false,
            NamedBy::Workspace(_) => true,
            NamedBy::User(_) => {
                self.is_below_roots(&real) || self.is_below_roots(&self.lexical(path))
            }
        }
    }

    fn lexical(&self, file: &Path) -> PathBuf {
        let workspace = self.workspace.canonicalize();
        let workspace = workspace.as_deref().unwrap_or(&self.workspace);
        normalised(&workspace.join(file))
    }

    fn is_below_roots(&self, path: &Path) -> bool {
        // If the workspace cannot be resolved, every file counts as its own.
        self.roots.is_empty() || self.roots.iter().any(|root| path.starts_with(root))
    }

    fn canonical_path(&self, file: &Path) -> Option<PathBuf> {
        self.workspace.join(file).canonicalize().ok()
    }

    fn executed(&self, words: &[Word], dir: &Path) -> Vec<ExecutedFile> {
        let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        let values: Vec<String> = words.iter().map(Word::text).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        Search::new(&dir, &self.roots, &self.path).files_of(&values)
    }

    /// Digest of a command's words, its workspace, and the files that it executes.
    fn digest(&self, words: &[Word], pattern: &str, executed: &[ExecutedFile]) -> String {
        let mut digest = Sha256::new();
        // The length keeps adjacent parts apart.
        let mut add = |bytes: &[u8]| {
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        };
        add(VERSION);
        // A decision applies to this workspace only, not to a copy of it.
        for root in &self.roots {
            add(root.as_os_str().as_encoded_bytes());
        }
        let is_pattern = varies_in_data_only(words);
        for word in words {
            let parts = if is_pattern { &word.0[..] } else { &[] };
            let mut add_part = |kind: &[u8], text: &str| {
                add(kind);
                add(text.as_bytes());
            };
            match word.fixed_text() {
                Some(text) => add_part(b"word", &text),
                None if is_pattern => add_part(b"pattern", pattern),
                None => add_part(b"value", &word.value().unwrap_or_default()),
            }
            for part in parts {
                match part {
                    Part::Fixed(text) => add_part(b"fixed", text),
                    Part::Open(_) => add_part(b"open", ""),
                }
            }
        }
        for file in executed {
            add(file.name.as_bytes());
            add(file.path.as_os_str().as_encoded_bytes());
            add(file
                .content
                .as_ref()
                .map_or(b"unreadable", |content| &content[..]));
        }
        format!("sha256:{}", hex::encode(digest.finalize()))
    }
}

/// Words for the question, with quotes where a shell needs them.
fn displayed(words: &[Word], pattern: &str) -> String {
    if let [word] = words
        && let Some(text) = word.value()
    {
        return text;
    }
    if let [shell, option, text] = words
        && (shell.value().as_deref(), option.value().as_deref()) == (Some("sh"), Some("-c"))
        && text.value().as_deref() == Some(pattern)
    {
        return pattern.to_owned();
    }
    let word = |word: &Word| match word.shown() {
        text if word.0.len() == 1 && word.value().is_none() => text,
        text if text.contains(|c: char| !is_plain(c)) || text.is_empty() => {
            format!("'{}'", text.replace('\'', "'\\''"))
        }
        text => text,
    };
    let words: Vec<String> = words.iter().map(word).collect();
    words.join(" ")
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "._:/@%+,=-".contains(c)
}

fn shown(command: &str) -> String {
    match command.char_indices().nth(MAX_DISPLAYED) {
        Some((end, _)) => format!("{}…", &command[..end]),
        None => command.to_owned(),
    }
}

fn reason(changed: bool, kind: &str) -> String {
    match changed {
        true => "it, or a file that it executes, has changed since you trusted it".to_owned(),
        false => format!("you have not trusted the {kind}"),
    }
}

#[cfg(test)]
mod tests;
