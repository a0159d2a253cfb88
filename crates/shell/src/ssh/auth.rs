//! Authentication: with a private key or a certificate, then a password, then the keys of an agent.

use super::connection::Ours;
use super::error::SshError;
use super::keys::Keys;
use super::{Agent, Endpoint};
use russh::client::{AuthResult, Handle, KeyboardInteractiveAuthResponse};
use russh::keys::agent::AgentIdentity;
use russh::keys::ssh_key::{Algorithm, HashAlg};
use russh::keys::{PrivateKey, PrivateKeyWithHashAlg};
use std::sync::Arc;

/// Maximum number of keyboard-interactive rounds.
const MAX_ROUNDS: usize = 10;

/// Tries the authentication methods until the server accepts one.
pub(super) async fn authenticate(
    line: &mut Handle<Ours>,
    to: &Endpoint,
    keys: &Keys,
    agent: Option<&Agent>,
) -> Result<(), SshError> {
    let address = to.address();
    let lost = |e: russh::Error| SshError::Lost(address.clone(), e.to_string());
    let mut tried = Vec::new();
    if line
        // Some servers need no authentication.
        .authenticate_none(&to.user)
        .await
        .map_err(lost)?
        .success()
    {
        return Ok(());
    }
    if let Some(key) = &keys.private {
        tried.push(if keys.certificate.is_some() {
            "the certificate"
        } else {
            "the private key"
        });
        if with_key(line, &to.user, key, keys).await.map_err(lost)? {
            return Ok(());
        }
    }
    if let Some(password) = &to.password {
        tried.push("the password");
        if with_password(line, &to.user, password)
            .await
            .map_err(lost)?
        {
            return Ok(());
        }
    }
    // Servers limit failed attempts, so an agent's keys are tried only without a configured key.
    if let Some(agent) = agent.filter(|_| keys.private.is_none()) {
        tried.push("the keys of the ssh agent");
        if with_agent(line, &to.user, agent, &address).await? {
            return Ok(());
        }
    }
    let tried = if tried.is_empty() {
        "no private_key, password or ssh agent is available".to_owned()
    } else {
        format!("tried: {}", tried.join(", "))
    };
    Err(SshError::Denied(address, to.user.clone(), tried))
}

async fn with_key(
    line: &mut Handle<Ours>,
    user: &str,
    key: &Arc<PrivateKey>,
    keys: &Keys,
) -> Result<bool, russh::Error> {
    if let Some(certificate) = &keys.certificate {
        return Ok(line
            .authenticate_openssh_cert(user, key.clone(), certificate.clone())
            .await?
            .success());
    }
    let hash = hash_for(line, &key.algorithm()).await?;
    Ok(line
        .authenticate_publickey(user, PrivateKeyWithHashAlg::new(key.clone(), hash))
        .await?
        .success())
}

/// Returns the hash for signatures of an RSA key; other keys have no choice.
async fn hash_for(
    line: &Handle<Ours>,
    algorithm: &Algorithm,
) -> Result<Option<HashAlg>, russh::Error> {
    match algorithm {
        Algorithm::Rsa { .. } => Ok(line
            .best_supported_rsa_hash()
            .await?
            .unwrap_or(Some(HashAlg::Sha512))),
        _ => Ok(None),
    }
}

/// Tries password authentication, then answers every keyboard-interactive prompt with the password.
async fn with_password(
    line: &mut Handle<Ours>,
    user: &str,
    password: &str,
) -> Result<bool, russh::Error> {
    if line.authenticate_password(user, password).await?.success() {
        return Ok(true);
    }
    let mut answer = line
        .authenticate_keyboard_interactive_start(user, None::<String>)
        .await?;
    for _ in 0..MAX_ROUNDS {
        answer = match answer {
            KeyboardInteractiveAuthResponse::Success => return Ok(true),
            KeyboardInteractiveAuthResponse::Failure { .. } => return Ok(false),
            KeyboardInteractiveAuthResponse::InfoRequest { prompts, .. } => {
                line.authenticate_keyboard_interactive_respond(vec![
                    password.to_owned();
                    prompts.len()
                ])
                .await?
            }
        };
    }
    Ok(false)
}

async fn with_agent(
    line: &mut Handle<Ours>,
    user: &str,
    agent: &Agent,
    address: &str,
) -> Result<bool, SshError> {
    let mut client = agent.connect().await?;
    for key in agent.keys(&mut client).await? {
        let lost = |e: russh::Error| SshError::Lost(address.to_owned(), e.to_string());
        let hash = hash_for(line, &key.public_key().algorithm())
            .await
            .map_err(lost)?;
        let answer = match key {
            AgentIdentity::PublicKey { key, .. } => {
                line.authenticate_publickey_with(user, key, hash, &mut client)
                    .await
            }
            AgentIdentity::Certificate { certificate, .. } => {
                line.authenticate_certificate_with(user, certificate, hash, &mut client)
                    .await
            }
        };
        match answer {
            Ok(AuthResult::Success) => return Ok(true),
            // A key that the agent refuses to sign with counts as rejected.
            Ok(AuthResult::Failure { .. }) | Err(russh::AgentAuthError::Key(_)) => {}
            // The agent cannot be reached any more, so its other keys are unavailable too.
            Err(russh::AgentAuthError::Send(_)) => return Ok(false),
        }
    }
    Ok(false)
}
