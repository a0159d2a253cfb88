//! Who asks: a token where there is one, else what the netrc file says of the host of an archive.

use crate::error::FetchError;
use crate::http::{Http, host};
use crate::netrc::{Netrc, NetrcError};
use reqwest::header::AUTHORIZATION;
use reqwest::{RequestBuilder, Url};
use std::sync::Arc;

impl Http {
    /// The same, which knows who one is at which host.
    #[must_use]
    pub fn knowing(self, logins: Result<Netrc, NetrcError>) -> Self {
        Self {
            logins: Arc::new(logins),
            ..self
        }
    }

    /// The same, which tells hosts who one is where an address does not say so itself: those of
    /// archives are told, registries never.
    #[must_use]
    pub fn logging_in(&self) -> Self {
        Self {
            logs_in: true,
            ..self.clone()
        }
    }

    /// A request that says who asks.
    pub(crate) fn asking(
        &self,
        url: &Url,
        token: Option<&str>,
    ) -> Result<RequestBuilder, FetchError> {
        let request = self.client.get(url.clone());
        if let Some(token) = token {
            return Ok(request.header(AUTHORIZATION, format!("Bearer {token}")));
        }
        if !self.logs_in || !url.username().is_empty() {
            return Ok(request);
        }
        let host = host(url);
        match &*self.logins {
            Ok(logins) => Ok(match logins.find(&host) {
                Some((login, password)) => request.basic_auth(login, Some(password)),
                None => request,
            }),
            Err(source) => Err(FetchError::Logins {
                host,
                source: source.clone(),
            }),
        }
    }
}
