//! Resolves references of `secret` blocks to values: once in each command that needs them, and
//! never for validation or display.

use super::command::Operations;
use crate::diagnostics::convert_all;
use crate::error::EngineError;
use crate::stage::sealing::{RecordedSecrets, ResolvedSecret, StageSecrets};
use aws_lc_rs::rand;
use cty::Value;
use fsroot::RootedPath;
use lang::config::{SecretReference, SecretSource, environment};
use lang::diag::{Diagnostic, Diagnostics};
use model::StageId;
use model::mutex::lock;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use trust::commands::{CommandError, CommandTrust, NamedBy};
use trust::credentials::is_credential;
use trust::words::Word;
use workspace::load::Loaded;

/// Maximum size of a secret, in bytes.
const MAX_SECRET: u64 = 64 << 10;
/// Maximum time for a program that prints a secret.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
/// Number of last lines of a failed program in its error.
const LAST_LINES: usize = 20;
/// Characters of generated secrets.
const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// Random bytes from here on are dropped, so that each character is equally likely.
const LIMIT: u8 = 248;

/// Secrets in use, by variable.
pub(super) type ResolvedSecrets = BTreeMap<Arc<str>, ResolvedSecret>;

/// Reasons why a reference cannot be resolved.
#[derive(Debug, thiserror::Error)]
enum SecretError {
    #[error("the environment variable {0} is not set; set it where flightdeck runs")]
    NoVariable(String),
    #[error(
        "cannot read the file {file}: {source}; check the path, which is relative to the root module"
    )]
    File { file: String, source: io::Error },
    #[error("cannot run the command {command:?}: {source}; check that the program is in PATH")]
    NotRun { command: String, source: io::Error },
    #[error(
        "the command {command:?} was killed, because {source}; it has no terminal, so it must not ask for anything"
    )]
    TimedOut { command: String, source: io::Error },
    #[error(
        "the command {command:?} failed with {status}; run it in the directory of the root module to find the cause{last}"
    )]
    Failed {
        command: String,
        status: std::process::ExitStatus,
        /// Last lines of the standard error stream, redacted, each on a line of its own.
        last: String,
    },
    #[error(
        "cannot store the generated value in {file}: {source}; check the permissions of the directory"
    )]
    Generated { file: String, source: io::Error },
    #[error("{0} is empty; give it 1 byte to 64 KiB of text")]
    Empty(Arc<str>),
    #[error("{0} is not UTF-8 text without NUL; encode it, for example as base64")]
    NoText(Arc<str>),
    #[error("{0} is larger than {MAX_SECRET} bytes; give it a smaller value")]
    Large(Arc<str>),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("cancelled")]
    Cancelled,
}

impl Operations {
    /// Resolves the references of a configuration, and gives its variables their values.
    ///
    /// # Errors
    /// A value cannot be found or does not fit the variable, or a command is not trusted.
    pub(super) async fn resolve_secrets(
        &self,
        loaded: &mut Loaded,
    ) -> Result<ResolvedSecrets, EngineError> {
        let (mut resolved, mut diags) = (ResolvedSecrets::new(), Diagnostics::new());
        for (name, secret) in loaded.secrets.clone() {
            let fault = |detail: String| Diagnostic::error("Secret not resolved", detail);
            let text = match self.secret_text(loaded, &secret).await {
                Ok(text) => text,
                Err(SecretError::Command(error)) => return Err(error.into()),
                Err(SecretError::Cancelled) => return Err(EngineError::Cancelled),
                Err(error) => {
                    let detail = format!("The value of var.{name} is not available: {error}.");
                    diags.push(fault(detail).at(secret.span));
                    continue;
                }
            };
            let variable = loaded.root.variables.get(&name);
            match variable.map(|v| v.convert(&Value::string(&*text))) {
                Some(Ok(value)) => {
                    loaded
                        .given
                        .insert(name.clone(), (value, Some(secret.span)));
                }
                // The reason could quote the value.
                _ => {
                    let detail =
                        format!("The text of the secret does not fit the type of var.{name}.");
                    diags.push(fault(detail).at(secret.span));
                }
            }
            let from = secret.from.clone();
            resolved.insert(name, ResolvedSecret { from, text });
        }
        let secrets = self.pool.secrets();
        self.emit_diagnostics(convert_all(diags.iter(), &loaded.sources, secrets))?;
        Ok(resolved)
    }

    /// Derives the keys for the record of a new stage.
    ///
    /// # Errors
    /// The system cannot supply random numbers.
    pub(super) async fn new_stage_secrets(
        &self,
        resolved: ResolvedSecrets,
    ) -> Result<StageSecrets, EngineError> {
        // Key derivation is slow.
        tokio::task::spawn_blocking(move || StageSecrets::new(&resolved))
            .await
            .map_err(EngineError::task("failed to derive the key of the stage"))?
            .map_err(EngineError::failed_to("failed to encrypt the stage"))
    }

    /// Checks that the secrets of a stage are the same now, and derives its keys.
    ///
    /// # Errors
    /// The stage is stale, because a secret has changed.
    pub(super) async fn unlock_secrets(
        &self,
        stage: StageId,
        recorded: RecordedSecrets,
        resolved: ResolvedSecrets,
    ) -> Result<StageSecrets, EngineError> {
        if recorded.is_empty() {
            return Ok(StageSecrets::default());
        }
        tokio::task::spawn_blocking(move || recorded.unlock(&resolved))
            .await
            .map_err(EngineError::task("failed to derive the key of the stage"))?
            .map_err(|what| EngineError::Stale { stage, what })
    }

    /// Text of a secret. A command resolves each reference once, because a program may ask its
    /// user.
    async fn secret_text(
        &self,
        loaded: &Loaded,
        secret: &SecretReference,
    ) -> Result<Arc<str>, SecretError> {
        let key = (secret.variable.clone(), secret.from.clone());
        if let Some(text) = lock(&self.secret_texts).get(&key) {
            return Ok(text.clone());
        }
        let bytes = match &secret.source {
            SecretSource::Environment(name) => {
                // The configuration decides where the value goes.
                if is_credential(name) {
                    let setting = format!("secret {} from {}", secret.variable, secret.from);
                    let file = file_of(loaded, secret);
                    workspace_trust(loaded).check(&setting, NamedBy::Workspace(&file))?;
                }
                let found = environment_variable(name);
                let found = found.ok_or_else(|| SecretError::NoVariable(name.clone()))?;
                found.into_encoded_bytes()
            }
            SecretSource::File(file) => read_file(&loaded.dir, file).await?,
            SecretSource::Command(words) => self.run_command(loaded, secret, words).await?,
            SecretSource::Generate(length) => self.generated(&secret.variable, *length).await?,
        };
        if bytes.len() as u64 > MAX_SECRET {
            return Err(SecretError::Large(secret.from.clone()));
        }
        let no_text = |()| SecretError::NoText(secret.from.clone());
        let text = String::from_utf8(bytes).map_err(|_| no_text(()))?;
        if text.contains('\0') {
            return Err(no_text(()));
        }
        let text: Arc<str> = match &secret.source {
            SecretSource::Environment(_) => text.into(),
            // Editors and programs end their text with a newline that is not part of it.
            _ => without_newline(&text).into(),
        };
        if text.is_empty() {
            return Err(SecretError::Empty(secret.from.clone()));
        }
        // Before anything else can show it.
        self.pool.secrets().register_text(&text);
        lock(&self.secret_texts).insert(key, text.clone());
        Ok(text)
    }

    /// Runs the program of a reference for its output, if the operator trusts the command.
    async fn run_command(
        &self,
        loaded: &Loaded,
        secret: &SecretReference,
        words: &[String],
    ) -> Result<Vec<u8>, SecretError> {
        let text = secret.from.split_once(':').map_or("", |(_, text)| text);
        let file = file_of(loaded, secret);
        let trust = workspace_trust(loaded);
        // Right before the start, because its files can change at any time.
        let fixed: Vec<Word> = words.iter().map(Word::fixed).collect();
        trust.check_words(&fixed, text, NamedBy::Workspace(&file), &loaded.dir)?;
        let Some((program, arguments)) = words.split_first() else {
            return Err(SecretError::Empty(secret.from.clone()));
        };
        let mut command = fetch::program(program);
        // Its question would not be seen, and its read from the terminal would block.
        plugin::detach_from_terminal(command.as_std_mut());
        command.args(arguments).current_dir(&loaded.dir);
        let stop = self.current().stop;
        let run = tokio::select! { biased; // a cancelled command is killed when it is dropped
            () = stop.cancelled() => return Err(SecretError::Cancelled),
            run = fetch::output(command, COMMAND_TIMEOUT) => run,
        };
        let command = text.to_owned();
        let output = match run {
            Ok(output) => output,
            Err(source) if source.kind() == ErrorKind::TimedOut => {
                return Err(SecretError::TimedOut { command, source });
            }
            Err(source) => return Err(SecretError::NotRun { command, source }),
        };
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(SecretError::Failed {
                command,
                status: output.status,
                last: self.last_lines(&output.stderr),
            }),
        }
    }

    fn last_lines(&self, output: &[u8]) -> String {
        let text = String::from_utf8_lossy(output);
        let text = self.pool.secrets().redact(&text);
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
        last.iter().map(|line| format!("\n  {line}")).collect()
    }

    /// Reads the generated value of a variable from its file in `.flightdeck/secrets`, or creates
    /// the file with a new random value.
    async fn generated(&self, variable: &str, length: usize) -> Result<Vec<u8>, SecretError> {
        let store = self.memory.secrets_directory();
        let file = store.join(".flightdeck").join("secrets").join(variable);
        let name = file.path().display().to_string();
        let made = tokio::task::spawn_blocking(move || read_or_generate(&file, length)).await;
        let made = made.map_err(io::Error::other).flatten();
        made.map_err(|source| SecretError::Generated { file: name, source })
    }
}

/// File with the block of a secret.
fn file_of(loaded: &Loaded, secret: &SecretReference) -> PathBuf {
    loaded.sources.name(secret.span.file).into()
}

fn workspace_trust(loaded: &Loaded) -> CommandTrust {
    CommandTrust::new(&loaded.dir, |name| std::env::var(name).ok())
}

fn environment_variable(name: &str) -> Option<OsString> {
    // `TF_VAR_*` are taken out of the environment of the process, so that plugins do not inherit
    // them.
    let mut withdrawn = environment::variables().into_iter();
    let found = withdrawn.find(|(other, _)| *other == *name);
    found
        .map(|(_, value)| value)
        .or_else(|| std::env::var_os(name))
}

async fn read_file(dir: &Path, file: &str) -> Result<Vec<u8>, SecretError> {
    let path = dir.join(file);
    let read = tokio::task::spawn_blocking(move || fsroot::read_at_most(path, MAX_SECRET)).await;
    let read = read.map_err(io::Error::other).flatten();
    read.map_err(|source| SecretError::File {
        file: file.to_owned(),
        source,
    })
}

fn read_or_generate(file: &RootedPath, length: usize) -> io::Result<Vec<u8>> {
    match file.read() {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        read => return read,
    }
    let text = generate(length)?;
    match file.create_atomic(&text, 0o600, |_| Ok(()))? {
        Some(_) => Ok(text),
        // Another process was faster.
        None => file.read(),
    }
}

fn generate(length: usize) -> io::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(length);
    let mut random = [0; 256];
    while text.len() < length {
        let filled = rand::fill(&mut random);
        filled.map_err(|_| io::Error::other("the system cannot supply random numbers"))?;
        let fair = random.iter().filter(|byte| **byte < LIMIT);
        let characters = fair.map(|byte| ALPHABET[usize::from(*byte) % ALPHABET.len()]);
        text.extend(characters.take(length - text.len()));
    }
    Ok(text)
}

fn without_newline(text: &str) -> &str {
    let line = text.strip_suffix('\n').unwrap_or(text);
    line.strip_suffix('\r').unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_15_generated_text_has_its_length_and_only_letters_and_digits() {
        for length in [16, 255, 1_024] {
            let (one, other) = (generate(length), generate(length));
            let (one, other) = (one.expect("random text"), other.expect("random text"));
            assert_eq!(one.len(), length);
            assert!(one.iter().all(u8::is_ascii_alphanumeric));
            assert_ne!(one, other);
        }
        assert_eq!(usize::from(LIMIT) % ALPHABET.len(), 0);
    }

    #[test]
    fn s1_15_generated_text_is_kept_in_a_private_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().expect("a directory");
        let file = RootedPath::new(dir.path(), ".flightdeck/secrets/password");
        let first = read_or_generate(&file, 32).expect("generated");
        // A changed length applies to new files only.
        assert_eq!(read_or_generate(&file, 64).expect("read"), first);
        let mode = std::fs::metadata(file.path())
            .expect("a file")
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }

    #[test]
    fn s1_15_one_newline_at_the_end_is_no_part_of_the_text() {
        for (text, expected) in [
            ("a\n", "a"),
            ("a\r\n", "a"),
            ("a\n\n", "a\n"),
            (" a ", " a "),
            ("\n", ""),
        ] {
            assert_eq!(without_newline(text), expected, "{text:?}");
        }
    }
}
