//! Connection settings of PostgreSQL: both forms of a connection string, the variables of libpq,
//! and TLS by `sslmode`.

use super::super::values::Values;
use super::error::PgError;
use net::{Identity, Roots};
use reqwest::Url;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, SignatureScheme};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Variables that replace missing parts of a connection string.
const VARIABLES: &[(&str, &str)] = &[
    ("host", "PGHOST"),
    ("port", "PGPORT"),
    ("user", "PGUSER"),
    ("password", "PGPASSWORD"),
    ("dbname", "PGDATABASE"),
    ("options", "PGOPTIONS"),
    ("application_name", "PGAPPNAME"),
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
];

/// Address of the database, and the login.
pub(super) struct ConnectOptions {
    parameters: BTreeMap<String, String>,
}

impl ConnectOptions {
    pub(super) fn new(values: &Values<'_>) -> Result<Self, PgError> {
        let text = values.text("conn_str", &["PG_CONN_STR"]);
        let mut said = parsed(&text.unwrap_or_default())?;
        for (name, variable) in VARIABLES {
            if let Some(text) = values.variable(&[variable]) {
                said.entry((*name).to_owned()).or_insert(text);
            }
        }
        let reach = Self { parameters: said };
        // Errors of the configuration must be reported before the first connection.
        reach.config()?;
        reach.mode()?;
        Ok(reach)
    }

    fn get(&self, name: &str) -> Option<&str> {
        let text = self.parameters.get(name)?;
        (!text.is_empty()).then_some(text)
    }

    /// Name for an operator, without the password.
    pub(super) fn location(&self) -> String {
        let host = self.get("host").unwrap_or("localhost");
        let port = self.get("port").unwrap_or("5432");
        let user = self.get("user").unwrap_or_default();
        let base = self.get("dbname").unwrap_or(user);
        format!("postgres://{host}:{port}/{base}")
    }

    /// Is the connection a Unix socket?
    fn is_local(&self) -> bool {
        self.get("host").is_some_and(|host| host.starts_with('/'))
    }

    pub(super) fn config(&self) -> Result<tokio_postgres::Config, PgError> {
        let mut config = tokio_postgres::Config::new();
        config
            .host(self.get("host").unwrap_or("localhost"))
            .application_name(self.get("application_name").unwrap_or("flightdeck"))
            .connect_timeout(Duration::from_secs(30));
        if let Some(port) = self.get("port") {
            config.port(port.parse().map_err(|source| PgError::Port {
                text: port.to_owned(),
                source,
            })?);
        }
        let system = std::env::var("USER").unwrap_or_default();
        config.user(self.get("user").unwrap_or(&system));
        if let Some(password) = self.get("password") {
            config.password(password);
        }
        if let Some(base) = self.get("dbname") {
            config.dbname(base);
        }
        if let Some(options) = self.get("options") {
            config.options(options);
        }
        if let Some(seconds) = self.get("connect_timeout") {
            let seconds = seconds.parse().map_err(PgError::Timeout)?;
            if seconds > 0 {
                config.connect_timeout(Duration::from_secs(seconds));
            }
        }
        // No mode falls back to plain text: `allow` and `prefer` are refused as in lib/pq.
        config.ssl_mode(match self.mode()? {
            Mode::Disable => SslMode::Disable,
            _ => SslMode::Require,
        });
        Ok(config)
    }

    /// TLS mode with the defaults of lib/pq, OpenTofu's driver: TLS is required unless configured
    /// otherwise.
    fn mode(&self) -> Result<Mode, PgError> {
        // A Unix socket needs no TLS.
        if self.is_local() {
            return Ok(Mode::Disable);
        }
        match self.get("sslmode").unwrap_or("require") {
            "disable" => Ok(Mode::Disable),
            // lib/pq verifies the chain if root certificates are configured.
            "require" if self.get("sslrootcert").is_some() => Ok(Mode::Chain),
            "require" => Ok(Mode::Any),
            "verify-ca" => Ok(Mode::Chain),
            "verify-full" => Ok(Mode::Full),
            other => Err(PgError::Mode(other.to_owned())),
        }
    }

    pub(super) fn tls(&self) -> Result<MakeRustlsConnect, PgError> {
        let verifier = match self.mode()? {
            Mode::Any | Mode::Disable => net::any_server(),
            Mode::Chain => Arc::new(AnyName(self.verifier()?)),
            Mode::Full => self.verifier()?,
        };
        let identity = match (self.get("sslcert"), self.get("sslkey")) {
            (Some(certificate), Some(key)) => Some(Identity {
                chain: certificates(certificate)?,
                key: PrivateKeyDer::from_pem_file(key).map_err(PgError::unreadable(key))?,
            }),
            _ => None,
        };
        Ok(MakeRustlsConnect::new(net::client(verifier, identity)?))
    }

    fn verifier(&self) -> Result<Arc<dyn ServerCertVerifier>, PgError> {
        let roots = match self.get("sslrootcert") {
            Some(file) => Roots::Only(certificates(file)?),
            None => Roots::System,
        };
        net::verifier(roots).map_err(PgError::NoTrust)
    }
}

fn certificates(file: &str) -> Result<Vec<CertificateDer<'static>>, PgError> {
    let all = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    all.map_err(PgError::unreadable(file))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Disable,
    /// Accepts every certificate.
    Any,
    /// Verifies the chain, but not the host name.
    Chain,
    Full,
}

/// Splits a connection string into its parts: `postgres://…`, or `name=value name='value'`.
fn parsed(text: &str) -> Result<BTreeMap<String, String>, PgError> {
    if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        return address(text);
    }
    let mut said = BTreeMap::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').ok_or(PgError::ConnectionString)?;
        let (value, after) = value(after.trim_start())?;
        said.insert(name.trim().to_owned(), value);
        rest = after.trim_start();
    }
    Ok(said)
}

fn value(text: &str) -> Result<(String, &str), PgError> {
    let quoted = text.strip_prefix('\'');
    let mut value = String::new();
    let body = quoted.unwrap_or(text);
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            '\'' if quoted.is_some() => return Ok((value, &body[at + 1..])),
            c if quoted.is_none() && c.is_whitespace() => return Ok((value, &body[at..])),
            c => value.push(c),
        }
    }
    if quoted.is_some() {
        return Err(PgError::OpenQuote);
    }
    Ok((value, ""))
}

fn address(text: &str) -> Result<BTreeMap<String, String>, PgError> {
    let url = Url::parse(text).map_err(PgError::Address)?;
    let mut said = BTreeMap::new();
    // Percent-decoding through a query would turn "+" into a space, so it is escaped first.
    let decoded = |text: &str| {
        let pair = format!("x={}", text.replace('+', "%2B"));
        let mut url = url.clone();
        url.set_query(Some(&pair));
        let found = url.query_pairs().next().map(|(_, v)| v.into_owned());
        found.unwrap_or_default()
    };
    let parts = [
        ("host", url.host_str().unwrap_or_default()),
        ("user", url.username()),
        ("password", url.password().unwrap_or_default()),
        ("dbname", url.path().trim_start_matches('/')),
    ];
    for (name, part) in parts {
        if !part.is_empty() {
            said.insert(name.to_owned(), decoded(part));
        }
    }
    if let Some(port) = url.port() {
        said.insert("port".to_owned(), port.to_string());
    }
    // Parameters of the query override parts of the address.
    for (name, value) in url.query_pairs() {
        said.insert(name.into_owned(), value.into_owned());
    }
    Ok(said)
}

/// Verifies the chain and ignores the host name.
#[derive(Debug)]
struct AnyName(Arc<dyn ServerCertVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        // The inner verifier checks the chain before the name, so a name error means a valid chain.
        match self.0.verify_server_cert(end, between, name, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;

    #[test]
    fn connection_string_is_parsed_as_url_or_key_value_pairs() {
        let said = parsed("postgres://us%40er:p%2Bw@h:5/d?sslmode=disable").unwrap();
        let get = |name: &str| said.get(name).map(String::as_str);
        assert_eq!(get("user"), Some("us@er"));
        assert_eq!(get("password"), Some("p+w"));
        assert_eq!(get("host"), Some("h"));
        assert_eq!(get("port"), Some("5"));
        assert_eq!(get("dbname"), Some("d"));
        assert_eq!(get("sslmode"), Some("disable"));
        let said = parsed("host=/run user = 'a b\\'c'  dbname=x").unwrap();
        assert_eq!(said["host"], "/run");
        assert_eq!(said["user"], "a b'c");
        assert_eq!(said["dbname"], "x");
        for bad in ["nonsense", "a='b", "postgres://h:x/"] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }
}
