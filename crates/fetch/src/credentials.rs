//! Tokens of hosts, from the environment, the configuration or a credentials helper, in this order.

use crate::error::FetchError;
use crate::program::{output, program};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Time limit of a helper program.
const HELPER: Duration = Duration::from_secs(30);

/// Credentials helper program.
#[derive(Debug, Clone)]
pub struct Helper {
    /// Name in the configuration.
    pub name: String,
    /// Path of the program.
    pub program: PathBuf,
    /// Arguments before the subcommand.
    pub args: Vec<String>,
}

/// Tokens by host.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    tokens: BTreeMap<String, String>,
    helper: Option<Helper>,
}

impl Credentials {
    /// Collects the tokens of `TF_TOKEN_…` variables and of the configuration; variables win.
    #[must_use]
    pub fn new(
        variables: impl IntoIterator<Item = (String, OsString)>,
        configured: BTreeMap<String, String>,
        helper: Option<Helper>,
    ) -> Self {
        let mut tokens: BTreeMap<String, String> = configured
            .into_iter()
            .map(|(host, token)| (host.to_lowercase(), token))
            .collect();
        for (name, value) in variables {
            let (Some(host), Ok(token)) = (name.strip_prefix("TF_TOKEN_"), value.into_string())
            else {
                continue;
            };
            // Names of environment variables cannot contain hyphens or dots.
            let host = host.replace("__", "-").replace('_', ".").to_lowercase();
            tokens.insert(host, token);
        }
        Self { tokens, helper }
    }

    /// Returns the token for a host. The host includes its port if it is not the default one.
    ///
    /// # Errors
    /// The helper program failed.
    pub async fn token(&self, host: &str) -> Result<Option<String>, FetchError> {
        if let Some(token) = self.tokens.get(&host.to_lowercase()) {
            return Ok(Some(token.clone()));
        }
        match &self.helper {
            Some(helper) => helper.query(host).await,
            None => Ok(None),
        }
    }
}

impl Helper {
    async fn query(&self, host: &str) -> Result<Option<String>, FetchError> {
        let failed = |why: String| FetchError::Helper {
            name: self.name.clone(),
            why,
        };
        let mut command = program(&self.program);
        command.args(&self.args).args(["get", host]);
        let output = output(command, HELPER).await;
        let output = output.map_err(|e| failed(e.to_string()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(failed(format!("{}: {}", output.status, said.trim())));
        }
        #[derive(serde::Deserialize)]
        struct HelperResponse {
            token: Option<String>,
        }
        let said: HelperResponse = serde_json::from_slice(&output.stdout)
            .map_err(|e| failed(format!("its output is not valid JSON: {e}")))?;
        Ok(said.token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn environment_token_takes_precedence_over_configured_token() {
        let configured = BTreeMap::from([
            ("App.example.com".to_owned(), "configured".to_owned()),
            ("my-host.example:8443".to_owned(), "port".to_owned()),
        ]);
        let variables = [
            ("TF_TOKEN_app_example_com".to_owned(), "environment".into()),
            ("TF_TOKEN_a__b_example".to_owned(), "dash".into()),
        ];
        let all = Credentials::new(variables, configured, None);
        for (host, token) in [
            ("app.example.com", Some("environment")),
            ("a-b.example", Some("dash")),
            ("my-host.example:8443", Some("port")),
            ("other.example", None),
        ] {
            let got = all.token(host).await.expect("no helper");
            assert_eq!(got.as_deref(), token, "{host}");
        }
    }
}
