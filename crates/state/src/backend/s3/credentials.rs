//! AWS credential chain: configuration, environment, shared files with profiles, container,
//! machine; and the role assumed with the result.

use super::super::http_client::{Attempts, HttpClient};
use super::super::values::Values;
use super::ini::Profiles;
use super::signing_io::{Files, Sender};
use super::sts::Sts;
use reqsign_aws_v4::{Credential, ECSCredentialProvider, IMDSv2CredentialProvider};
use reqsign_core::{Context, Error, OsEnv, ProvideCredential, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use trust::commands::{CommandError, CommandTrust, NamedBy};

/// Maximum length of a chain of source profiles.
const DEPTH: u32 = 5;
/// Time limit of a `credential_process`.
const PROGRAM: Duration = Duration::from_secs(60);

/// Credential chain, a provider for the signing library.
pub(super) struct Chain {
    pub(super) http: Arc<HttpClient>,
    pub(super) attempts: Attempts,
    pub(super) fixed: Option<Credential>,
    /// From the configuration.
    pub(super) profile: Option<String>,
    pub(super) environment: Environment,
    pub(super) role: Option<Role>,
    pub(super) web_identity: Option<Role>,
    pub(super) without_metadata: bool,
    pub(super) metadata_endpoint: Option<String>,
    pub(super) sts: Sts,
    /// Decides about commands named by profiles.
    pub(super) trust: CommandTrust,
}

/// Environment at the time the backend was opened.
#[derive(Default)]
pub(super) struct Environment {
    pub(super) fixed: Option<Credential>,
    pub(super) profile: Option<String>,
    pub(super) web_identity: Option<Role>,
    pub(super) credential_files: Vec<PathBuf>,
    pub(super) config_files: Vec<PathBuf>,
    /// Files that arguments of the backend name; they belong to the workspace.
    pub(super) by_arguments: Vec<PathBuf>,
}

/// A role to assume.
#[derive(Clone, Default)]
pub(super) struct Role {
    pub(super) arn: String,
    pub(super) session: Option<String>,
    /// Further parameters, in STS's names.
    pub(super) parameters: Vec<(String, String)>,
    /// Token of a web identity.
    pub(super) token: Option<String>,
    pub(super) token_file: Option<PathBuf>,
}

impl std::fmt::Debug for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chain").finish_non_exhaustive()
    }
}

fn no_credentials(why: impl Into<String>) -> Error {
    Error::credential_invalid(why.into())
}

pub(super) fn fixed(id: String, secret: String, token: Option<String>) -> Credential {
    Credential {
        access_key_id: id,
        secret_access_key: secret,
        session_token: token,
        expires_in: None,
    }
}

impl Environment {
    /// Reads the environment. Paths are relative to `dir`.
    pub(super) fn of(values: &Values<'_>, dir: &Path) -> Self {
        let variable = |name: &str| values.variable(&[name]);
        let home = variable("HOME").map(PathBuf::from).unwrap_or_default();
        let mut by_arguments = Vec::new();
        let mut files = |argument: &str, older: &str, variable: &str, file: &str| {
            let is_argument =
                !values.list(argument).is_empty() || values.text(older, &[]).is_some();
            let said = values.list(argument);
            let said = match (said.is_empty(), values.text(older, &[variable])) {
                (false, _) => said,
                (true, Some(one)) => vec![one],
                (true, None) => vec![home.join(".aws").join(file).display().to_string()],
            };
            let whole = |path: String| match path.strip_prefix("~/") {
                Some(rest) => home.join(rest),
                None => dir.join(path),
            };
            let files: Vec<PathBuf> = said.into_iter().map(whole).collect();
            if is_argument {
                by_arguments.extend(files.iter().cloned());
            }
            files
        };
        let fixed = variable("AWS_ACCESS_KEY_ID")
            .zip(variable("AWS_SECRET_ACCESS_KEY"))
            .map(|(id, secret)| fixed(id, secret, variable("AWS_SESSION_TOKEN")));
        let web_identity = variable("AWS_ROLE_ARN")
            .zip(variable("AWS_WEB_IDENTITY_TOKEN_FILE"))
            .map(|(arn, file)| Role {
                arn,
                session: variable("AWS_ROLE_SESSION_NAME"),
                token_file: Some(file.into()),
                ..Role::default()
            });
        let credential_files = files(
            "shared_credentials_files",
            "shared_credentials_file",
            "AWS_SHARED_CREDENTIALS_FILE",
            "credentials",
        );
        // There never was an older argument for config files; this name matches none.
        let config_files = files(
            "shared_config_files",
            "shared_config_file",
            "AWS_SHARED_CONFIG_FILE",
            "config",
        );
        Self {
            fixed,
            profile: variable("AWS_PROFILE"),
            web_identity,
            credential_files,
            config_files,
            by_arguments,
        }
    }

    /// Reads the shared files. Values of the credentials files override those of the config files.
    pub(super) fn profiles(&self) -> Profiles {
        let mut profiles = Profiles::default();
        for file in self.config_files.iter().chain(&self.credential_files) {
            if let Ok(text) = fsroot::read_regular(file) {
                profiles.add_file(&String::from_utf8_lossy(&text), file);
            }
        }
        profiles
    }
}

impl ProvideCredential for Chain {
    type Credential = Credential;

    async fn provide_credential(&self, _: &Context) -> Result<Option<Credential>> {
        let found = self.find().await?;
        match &self.role {
            None => Ok(Some(found)),
            Some(role) => self.assume(role, Some(&found)).await.map(Some),
        }
    }
}

impl Chain {
    /// Finds credentials, before the configured role is assumed.
    async fn find(&self) -> Result<Credential> {
        // The configuration wins over the environment, and both over the machine.
        if let Some(fixed) = &self.fixed {
            return Ok(fixed.clone());
        }
        if let Some(role) = &self.web_identity {
            return self.assume(role, None).await;
        }
        let environment = &self.environment;
        let profiles = environment.profiles();
        if let Some(profile) = &self.profile {
            return self.of_profile(&profiles, profile, DEPTH).await;
        }
        if let Some(fixed) = &environment.fixed {
            return Ok(fixed.clone());
        }
        if let Some(role) = &environment.web_identity {
            return self.assume(role, None).await;
        }
        match environment.profile.as_deref() {
            Some(profile) => return self.of_profile(&profiles, profile, DEPTH).await,
            None if profiles.has("default") => {
                match self.of_profile(&profiles, "default", DEPTH).await {
                    Ok(found) => return Ok(found),
                    // A command without trust must be reported. Any other failure of the implicit
                    // profile falls through to the machine.
                    Err(error) if CommandError::is_cause_of(&error) => return Err(error),
                    Err(_) => {}
                }
            }
            None => {}
        }
        self.of_machine().await
    }

    async fn of_profile(&self, profiles: &Profiles, name: &str, depth: u32) -> Result<Credential> {
        let unusable = |why: &str| no_credentials(format!("the profile {name:?} {why}"));
        if !profiles.has(name) {
            return Err(unusable("is not in the shared AWS files"));
        }
        // Limits cycles of source profiles.
        if depth == 0 {
            return Err(unusable("refers to too many other profiles"));
        }
        let get = |key: &str| profiles.get(name, key);
        let keys = || {
            let token = get("aws_session_token").map(str::to_owned);
            get("aws_access_key_id")
                .zip(get("aws_secret_access_key"))
                .map(|(id, secret)| fixed(id.to_owned(), secret.to_owned(), token))
        };
        if let Some(arn) = get("role_arn") {
            let mut role = Role {
                arn: arn.to_owned(),
                session: get("role_session_name").map(str::to_owned),
                ..Role::default()
            };
            for (key, parameter) in [
                ("external_id", "ExternalId"),
                ("duration_seconds", "DurationSeconds"),
            ] {
                let value = get(key).map(|value| (parameter.to_owned(), value.to_owned()));
                role.parameters.extend(value);
            }
            // A web identity needs no source credentials.
            if let Some(file) = get("web_identity_token_file") {
                role.token_file = Some(file.into());
                return self.assume(&role, None).await;
            }
            let source = match (get("source_profile"), get("credential_source")) {
                // A profile may be its own source, with its keys.
                (Some(source), _) if source == name => {
                    keys().ok_or_else(|| unusable("is its own source_profile, but has no keys"))?
                }
                (Some(source), _) => Box::pin(self.of_profile(profiles, source, depth - 1)).await?,
                (None, Some("Environment")) => {
                    let fixed = self.environment.fixed.clone();
                    fixed.ok_or_else(|| no_credentials("the environment has no AWS keys"))?
                }
                (None, Some(_)) => self.of_machine().await?,
                (None, None) => {
                    return Err(unusable(
                        "has a role_arn, but neither source_profile nor credential_source",
                    ));
                }
            };
            return self.assume(&role, Some(&source)).await;
        }
        if let Some(found) = keys() {
            return Ok(found);
        }
        if let Some(command) = get("credential_process") {
            let file = profiles.file(name, "credential_process");
            self.trusted(command, file.unwrap_or(Path::new(""))).await?;
            return program(command).await;
        }
        if get("sso_start_url").or(get("sso_session")).is_some() {
            return Err(no_credentials(format!(
                "the profile {name:?} uses SSO, which is not supported; run `eval \"$(aws configure export-credentials --profile {name} --format env)\"` to put its credentials into the environment"
            )));
        }
        Err(unusable("has no credentials"))
    }

    /// Checks that a command named by a file may run.
    async fn trusted(&self, command: &str, file: &Path) -> Result<()> {
        let (trust, text, file) = (self.trust.clone(), command.to_owned(), file.to_owned());
        let is_argument = self.environment.by_arguments.contains(&file);
        let checked = tokio::task::spawn_blocking(move || {
            let named_by = match is_argument {
                true => NamedBy::Workspace(&file),
                false => NamedBy::User(&file),
            };
            let here = std::env::current_dir().unwrap_or_default();
            trust.check_shell(&text, named_by, &here)
        })
        .await;
        checked
            .map_err(|e| no_credentials(e.to_string()))?
            .map_err(|why| no_credentials(why.to_string()).with_source(why))
    }

    /// Credentials of the container or the machine.
    async fn of_machine(&self) -> Result<Credential> {
        let context = Context::new()
            .with_env(OsEnv)
            .with_file_read(Files)
            .with_http_send(Sender(self.http.clone()));
        let variable = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
        if variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
            || variable("AWS_CONTAINER_CREDENTIALS_FULL_URI")
        {
            let container = ECSCredentialProvider::new();
            if let Some(found) = container.provide_credential(&context).await? {
                return Ok(found);
            }
        }
        let nowhere = "no AWS credentials found in the backend block, in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, in a profile, or from the container or machine";
        if self.without_metadata {
            return Err(no_credentials(nowhere));
        }
        let mut machine = IMDSv2CredentialProvider::new();
        if let Some(endpoint) = &self.metadata_endpoint {
            machine = machine.with_endpoint(endpoint.trim_end_matches('/'));
        }
        let asked = machine.provide_credential(&context);
        // The metadata service answers at once or not at all.
        let asked = tokio::time::timeout(Duration::from_secs(5), asked);
        match asked.await {
            Ok(Ok(Some(found))) => Ok(found),
            _ => Err(no_credentials(nowhere)),
        }
    }

    /// Assumes a role.
    async fn assume(&self, role: &Role, with: Option<&Credential>) -> Result<Credential> {
        let session = role.session.clone();
        let mut form = vec![
            ("Version".to_owned(), "2011-06-15".to_owned()),
            ("RoleArn".to_owned(), role.arn.clone()),
            (
                "RoleSessionName".to_owned(),
                session.unwrap_or_else(|| format!("flightdeck-{}", std::process::id())),
            ),
        ];
        form.extend(role.parameters.iter().cloned());
        let action = if with.is_some() {
            "AssumeRole"
        } else {
            // Without source credentials, the web identity token authenticates the request.
            let token = match (&role.token, &role.token_file) {
                (Some(token), _) => token.clone(),
                (None, Some(file)) => regular(file).await.map_err(|e| {
                    no_credentials(format!(
                        "the token in {} cannot be read: {e}",
                        file.display()
                    ))
                })?,
                (None, None) => return Err(no_credentials("there is no web identity token")),
            };
            form.push(("WebIdentityToken".to_owned(), token.trim().to_owned()));
            "AssumeRoleWithWebIdentity"
        };
        form.push(("Action".to_owned(), action.to_owned()));
        let body = self
            .sts
            .request(&self.http, self.attempts, &form, with)
            .await;
        let body = body.map_err(|why| {
            no_credentials(format!("the role {} cannot be assumed: {why}", role.arn))
        })?;
        let part = |name: &str| super::service::element(&body, name);
        let (Some(id), Some(secret)) = (part("AccessKeyId"), part("SecretAccessKey")) else {
            return Err(no_credentials("the STS answer has no credentials"));
        };
        let expires = part("Expiration").and_then(|text| text.parse().ok());
        Ok(Credential {
            expires_in: expires,
            ..fixed(id, secret, part("SessionToken"))
        })
    }
}

/// Reads a small regular file; refuses a FIFO or device.
async fn regular(file: &Path) -> std::io::Result<String> {
    let file = file.to_owned();
    let read = tokio::task::spawn_blocking(move || fsroot::read_regular(file));
    let content = read.await.map_err(std::io::Error::other)??;
    String::from_utf8(content).map_err(std::io::Error::other)
}

/// Runs the `credential_process` of a profile.
async fn program(command: &str) -> Result<Credential> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct CredentialResponse {
        access_key_id: String,
        secret_access_key: String,
        session_token: Option<String>,
        expiration: Option<String>,
    }
    let mut shell = fetch::program("sh");
    shell.args(["-c", command]);
    let output = match fetch::output(shell, PROGRAM).await {
        Ok(output) if output.status.success() => output.stdout,
        Ok(output) => {
            return Err(no_credentials(format!(
                "credential_process failed with {}",
                output.status
            )));
        }
        Err(e) => {
            return Err(no_credentials(format!(
                "credential_process cannot be run: {e}"
            )));
        }
    };
    let said: CredentialResponse = serde_json::from_slice(&output)
        .map_err(|_| no_credentials("credential_process did not print valid credentials"))?;
    Ok(Credential {
        expires_in: said.expiration.and_then(|text| text.parse().ok()),
        ..fixed(
            said.access_key_id,
            said.secret_access_key,
            said.session_token,
        )
    })
}
