//! Authenticates requests: with a token if there is one, else with the netrc credentials of an
//! archive's host.

use crate::error::FetchError;
use crate::http::{Http, host};
use crate::netrc::{Netrc, NetrcError};
use reqwest::header::AUTHORIZATION;
use reqwest::{RequestBuilder, Url};
use std::sync::Arc;

impl Http {
    /// Uses these netrc credentials.
    #[must_use]
    pub fn with_netrc(self, logins: Result<Netrc, NetrcError>) -> Self {
        Self {
            logins: Arc::new(logins),
            ..self
        }
    }

    /// Returns a client that sends netrc credentials if the address has none. Used for hosts of
    /// archives, never for registries.
    #[must_use]
    pub fn logging_in(&self) -> Self {
        Self {
            logs_in: true,
            ..self.clone()
        }
    }

    /// Request with credentials.
    pub(crate) fn authenticated_request(
        &self,
        url: &Url,
        token: Option<&str>,
    ) -> Result<RequestBuilder, FetchError> {
        let request = self.client.get(url.clone());
        if let Some(token) = token {
            return Ok(request.header(AUTHORIZATION, format!("Bearer {token}")));
        }
        // reqwest sends a login in the address by itself.
        if !self.logs_in || !url.username().is_empty() {
            return Ok(request);
        }
        let host = host(url);
        match &*self.logins {
            Ok(logins) => Ok(match logins.find(&host) {
                Some((login, password)) => request.basic_auth(login, Some(password)),
                None => request,
            }),
            // Reported only here, so that a bad netrc file fails only requests that would use it.
            Err(source) => Err(FetchError::Logins {
                host,
                source: source.clone(),
            }),
        }
    }
}
