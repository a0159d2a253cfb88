//! `connection` blocks: address and credentials of a remote machine. The blocks of resource and
//! provisioner are already merged.

use super::arguments::{Arguments, Given};
use crate::stage::scope::ModuleScope;
use cty::Type;
use lang::body::{Body, BodySchema};
use lang::config::Provisioner;
use lang::diag::{Diagnostic, Diagnostics};
use model::secrets::Secrets;
use shell::ssh::{Agent, Endpoint, Proxy, Target};
use std::time::Duration;

const TEXTS: [&str; 22] = [
    "host",
    "type",
    "user",
    "password",
    "timeout",
    "script_path",
    "target_platform",
    "private_key",
    "certificate",
    "host_key",
    "agent_identity",
    "proxy_scheme",
    "proxy_host",
    "proxy_user_name",
    "proxy_user_password",
    "bastion_host",
    "bastion_host_key",
    "bastion_user",
    "bastion_password",
    "bastion_private_key",
    "bastion_certificate",
    "cacert",
];
const NUMBERS: [&str; 3] = ["port", "proxy_port", "bastion_port"];
const FLAGS: [&str; 4] = ["agent", "https", "insecure", "use_ntlm"];

/// Default time limit to connect.
const TIMEOUT: Duration = Duration::from_secs(5 * 60);
const PORT: u16 = 22;
const USER: &str = "root";
/// Placeholder for a random number in script paths.
const RANDOM: &str = "%RAND%";

/// Machine to connect to.
pub(crate) struct Connection {
    pub(crate) target: Target,
    script_path: String,
}

impl Connection {
    /// Returns a unique path for a script on the machine.
    pub(crate) fn script_path(&self) -> String {
        // 31 bits, as in the script paths of OpenTofu.
        let number = uuid::Uuid::new_v4().as_u128() & 0x7fff_ffff;
        self.script_path.replace(RANDOM, &number.to_string())
    }
}

fn schema() -> BodySchema {
    BodySchema::new()
        .required(&TEXTS[..1])
        .optional(&TEXTS[1..])
        .optional(&NUMBERS)
        .optional(&FLAGS)
}

/// Checks the block of a provisioner before there is an object.
pub(super) fn validate(scope: &ModuleScope<'_>, provisioner: &Provisioner) -> Diagnostics {
    let Some(body) = &provisioner.connection else {
        return Diagnostics::new();
    };
    let mut arguments = Arguments::of(scope, body, &schema(), None);
    let all = TEXTS
        .iter()
        .map(|name| (name, Type::String))
        .chain(NUMBERS.iter().map(|name| (name, Type::Number)));
    for (name, ty) in all.chain(FLAGS.iter().map(|name| (name, Type::Bool))) {
        arguments.get(name, &ty);
    }
    if !arguments.has_errors() {
        no_winrm(&mut arguments, provisioner);
    }
    arguments.finish().err().unwrap_or_default()
}

fn no_winrm(arguments: &mut Arguments<'_, '_>, provisioner: &Provisioner) {
    if arguments.text("type") == Given::Yes("winrm".to_owned()) {
        let detail = "Connections of type \"winrm\" are not supported. If the machine runs an OpenSSH server, use type = \"ssh\" with \
                      target_platform = \"windows\".";
        let place = arguments.argument_span("type").unwrap_or(provisioner.span);
        arguments.fault(Diagnostic::error("Unsupported connection type", detail).at(place));
    }
}

/// Reason that there is no connection. `Invalid` means invalid values; it fails the provisioner,
/// which `on_failure = continue` may ignore. `Faulty` means evaluation errors.
pub(crate) enum ConnectionError {
    Faulty(Diagnostics),
    Invalid(Diagnostics),
}

/// Reads the connection of a provisioner.
pub(crate) fn read(
    scope: &ModuleScope<'_>,
    provisioner: &Provisioner,
    secrets: &Secrets,
) -> Result<Connection, ConnectionError> {
    let Some(body) = &provisioner.connection else {
        let detail = format!(
            "A {:?} provisioner needs a connection block, but neither the provisioner nor its resource has one.",
            provisioner.kind.name()
        );
        return Err(ConnectionError::Invalid(
            Diagnostic::error("Missing connection configuration", detail)
                .at(provisioner.span)
                .into(),
        ));
    };
    let arguments = Arguments::of(scope, body, &schema(), Some(secrets));
    let mut reading = Reading {
        arguments,
        provisioner,
        errors: Diagnostics::new(),
    };
    let connection = reading.connection(body, scope);
    // Evaluation errors come first, because an invalid value may be their consequence.
    reading
        .arguments
        .finish()
        .map_err(ConnectionError::Faulty)?;
    match connection {
        Some(connection) if !reading.errors.has_errors() => Ok(connection),
        _ => Err(ConnectionError::Invalid(reading.errors)),
    }
}

struct Reading<'a, 's> {
    arguments: Arguments<'a, 's>,
    provisioner: &'a Provisioner,
    /// Invalid values.
    errors: Diagnostics,
}

impl Reading<'_, '_> {
    fn connection(&mut self, body: &Body, scope: &ModuleScope<'_>) -> Option<Connection> {
        no_winrm(&mut self.arguments, self.provisioner);
        if let Some(other) = self
            .arguments
            .nonempty_text("type")
            // `winrm` has its own error.
            .filter(|t| !matches!(t.as_str(), "ssh" | "winrm"))
        {
            self.add_error(
                "type",
                body,
                format!("The connection type {other:?} is not supported. Use \"ssh\"."),
            );
        }
        let windows = match self.arguments.nonempty_text("target_platform").as_deref() {
            None | Some("unix") => false,
            Some("windows") => true,
            Some(_) => {
                self.add_error(
                    "target_platform",
                    body,
                    "The target_platform must be \"unix\" or \"windows\".".to_owned(),
                );
                false
            }
        };
        let Some(host) = self.arguments.nonempty_text("host") else {
            self.add_error("host", body, "The host is empty.".to_owned());
            return None;
        };
        let to = Endpoint {
            host: without_brackets(&host),
            port: self.port("port", body).unwrap_or(PORT),
            user: self
                .arguments
                .nonempty_text("user")
                .unwrap_or_else(|| USER.to_owned()),
            password: self.arguments.nonempty_text("password"),
            private_key: self.arguments.nonempty_text("private_key"),
            certificate: self.arguments.nonempty_text("certificate"),
            host_key: self.arguments.nonempty_text("host_key"),
        };
        let bastion = self.bastion(body, &to);
        let proxy = self.proxy(body);
        let agent = self.agent(body, scope);
        let timeout = self.timeout();
        // The default paths of OpenTofu.
        let standard = if windows {
            "C:/windows/temp/terraform_%RAND%.cmd"
        } else {
            "/tmp/terraform_%RAND%.sh"
        };
        let script_path = self
            .arguments
            .nonempty_text("script_path")
            .unwrap_or_else(|| standard.to_owned());
        Some(Connection {
            target: Target {
                endpoint: to,
                bastion,
                proxy,
                agent,
                timeout,
                windows,
            },
            script_path,
        })
    }

    /// Reads the bastion; missing arguments default to those of the machine.
    fn bastion(&mut self, body: &Body, to: &Endpoint) -> Option<Endpoint> {
        let host = self.arguments.nonempty_text("bastion_host")?;
        let mut or = |name: &str, other: &Option<String>| {
            self.arguments.nonempty_text(name).or_else(|| other.clone())
        };
        Some(Endpoint {
            host: without_brackets(&host),
            user: or("bastion_user", &None).unwrap_or_else(|| to.user.clone()),
            password: or("bastion_password", &to.password),
            private_key: or("bastion_private_key", &to.private_key),
            certificate: or("bastion_certificate", &to.certificate),
            // A host key identifies one machine, so it has no default.
            host_key: or("bastion_host_key", &None),
            port: self.port("bastion_port", body).unwrap_or(to.port),
        })
    }

    fn proxy(&mut self, body: &Body) -> Option<Proxy> {
        let host = self.arguments.nonempty_text("proxy_host")?;
        let scheme = self.arguments.nonempty_text("proxy_scheme");
        if let Some(other) = scheme.filter(|s| !matches!(s.as_str(), "http" | "https")) {
            self.add_error(
                "proxy_scheme",
                body,
                format!("Proxies with the scheme {other:?} are not supported. Use \"http\"."),
            );
        }
        let port = self.port("proxy_port", body);
        // An invalid port is already reported.
        if port.is_none() && !self.errors.has_errors() {
            self.add_error("proxy_host", body, "A proxy needs a proxy_port.".to_owned());
        }
        Some(Proxy {
            host: without_brackets(&host),
            port: port.unwrap_or_default(),
            user: self
                .arguments
                .nonempty_text("proxy_user_name")
                .unwrap_or_default(),
            password: self
                .arguments
                .nonempty_text("proxy_user_password")
                .unwrap_or_default(),
        })
    }

    /// Returns the operator's SSH agent unless `agent = false`.
    fn agent(&mut self, body: &Body, scope: &ModuleScope<'_>) -> Option<Agent> {
        let wanted = self.arguments.flag("agent").known();
        let identity = self.arguments.nonempty_text("agent_identity");
        if wanted == Some(false) {
            return None;
        }
        let Some(socket) = std::env::var_os("SSH_AUTH_SOCK").filter(|s| !s.is_empty()) else {
            // Without `agent = true`, a missing agent is not an error.
            if wanted.is_some() {
                self.add_error("agent", body, "The agent is set to true, but SSH_AUTH_SOCK is not set. Set it to the socket of the SSH agent.".to_owned());
            }
            return None;
        };
        let identity = identity.map(|name| (name.clone(), scope.context.dir.join(name)));
        Some(Agent {
            socket: socket.into(),
            identity,
        })
    }

    /// An invalid duration means the default, as in OpenTofu.
    fn timeout(&mut self) -> Duration {
        let Some(text) = self.arguments.nonempty_text("timeout") else {
            return TIMEOUT;
        };
        match lang::functions::duration(&text) {
            Ok(nanos) => Duration::from_nanos(u64::try_from(nanos).unwrap_or_default()),
            Err(_) => TIMEOUT,
        }
    }

    /// Zero means the default port.
    fn port(&mut self, name: &str, body: &Body) -> Option<u16> {
        let number = self.arguments.get(name, &Type::Number).known()?;
        let port = number
            .as_number()
            .and_then(|n| n.to_u64())
            .and_then(|n| u16::try_from(n).ok());
        if port.is_none() {
            self.add_error(
                name,
                body,
                format!("The {name} must be a whole number from 0 to 65535."),
            );
        }
        port.filter(|p| *p != 0)
    }

    fn add_error(&mut self, name: &str, body: &Body, detail: String) {
        let place = self
            .arguments
            .argument_span(name)
            .unwrap_or_else(|| body.missing_span());
        self.errors
            .push(Diagnostic::error("Invalid connection", detail).at(place));
    }
}

/// Removes the brackets of an IPv6 address.
fn without_brackets(host: &str) -> String {
    host.strip_prefix('[')
        .and_then(|h| h.strip_suffix(']'))
        .unwrap_or(host)
        .to_owned()
}
