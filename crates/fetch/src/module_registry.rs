//! Module registries: versions of modules, and locations of their packages.

use crate::error::FetchError;
use crate::service::Services;
use reqwest::StatusCode;
use serde::Deserialize;

const SERVICE: &str = "modules.v1";
const SUBJECT: &str = "modules";

/// Location of a module's package in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Package address, resolved against that of the registry.
    pub source: String,
    /// Token for the download, if the registry serves it from its own host.
    pub token: Option<String>,
}

impl Services {
    /// Versions of a module, as the registry writes them.
    ///
    /// # Errors
    /// The registry has no such module, or the answer is invalid.
    pub async fn module_versions(
        &self,
        host: &str,
        module: [&str; 3],
    ) -> Result<Vec<String>, FetchError> {
        #[derive(Deserialize)]
        struct Versions {
            modules: Vec<Module>,
        }
        #[derive(Deserialize)]
        struct Module {
            #[serde(default)]
            versions: Vec<Version>,
        }
        #[derive(Deserialize)]
        struct Version {
            version: String,
        }
        let [namespace, name, system] = module;
        let path = format!("{namespace}/{name}/{system}/versions");
        let (url, token) = self.at(host, &path).await?;
        let answer = self.http.get_success(&url, token.as_deref()).await?;
        let read: Versions = answer.json()?;
        let first = read.modules.into_iter().next();
        let first = first.ok_or_else(|| FetchError::Answer {
            url: url.to_string(),
            why: "it lists no module".to_owned(),
        })?;
        Ok(first.versions.into_iter().map(|v| v.version).collect())
    }

    /// Location of a version's package.
    ///
    /// # Errors
    /// The registry does not return a location.
    pub async fn module_location(
        &self,
        host: &str,
        module: [&str; 3],
        version: &str,
    ) -> Result<Location, FetchError> {
        #[derive(Deserialize)]
        struct RegistryResponse {
            #[serde(default)]
            location: String,
            #[serde(default)]
            use_registry_credentials: bool,
        }
        let [namespace, name, system] = module;
        let path = format!("{namespace}/{name}/{system}/{version}/download");
        let (url, token) = self.at(host, &path).await?;
        let answer = self.http.get_success(&url, token.as_deref()).await?;
        let header = answer.headers.get("X-Terraform-Get");
        let header = header.and_then(|v| v.to_str().ok()).unwrap_or_default();
        // Registries answer with the header or, in a newer form of the protocol, with JSON.
        let (location, with_token) = match answer.status {
            StatusCode::OK if answer.is_json() && header.is_empty() => {
                let said: RegistryResponse = answer.json()?;
                (said.location, said.use_registry_credentials)
            }
            _ => (header.to_owned(), false),
        };
        if location.is_empty() {
            return Err(FetchError::Answer {
                url: url.to_string(),
                why: "it has no package location".to_owned(),
            });
        }
        // The protocol allows locations relative to the address of this answer.
        let relative = ["/", "./", "../"].iter().any(|p| location.starts_with(p));
        let source = match relative {
            false => location,
            true => answer
                .url
                .join(&location)
                .map_err(|e| FetchError::Answer {
                    url: url.to_string(),
                    why: format!("\"{location}\" is not a valid address: {e}"),
                })?
                .to_string(),
        };
        Ok(Location {
            source,
            // Only if the registry requests it, because the package may be on another host.
            token: token.filter(|_| with_token),
        })
    }

    async fn at(
        &self,
        host: &str,
        path: &str,
    ) -> Result<(reqwest::Url, Option<String>), FetchError> {
        let base = self.find(host, SERVICE, SUBJECT).await?;
        let url = base.join(path).map_err(|e| FetchError::Address {
            url: format!("{base}{path}"),
            why: e.to_string(),
        })?;
        Ok((url, self.credentials.token(host).await?))
    }
}
