//! Evaluated arguments of the s3 backend.

use super::super::error::ArgumentError;
use super::super::http_client::{Attempts, HttpClient};
use super::super::values::{ObjectArgument, Values};
use super::credentials::{Chain, Environment, Role, fixed};
use super::error::S3Error;
use super::service::{Service, signer};
use super::sts::Sts;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};
use net::HttpOptions;
use reqwest::Url;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use trust::commands::CommandTrust;

/// Location of the states, their storage options and credentials.
pub(super) struct Config {
    pub(super) bucket: String,
    pub(super) key: String,
    pub(super) prefix: String,
    pub(super) path_style: bool,
    pub(super) use_lockfile: bool,
    pub(super) table: Option<String>,
    pub(super) with_checksum: bool,
    /// Headers of every request for an object.
    pub(super) encryption_key: Vec<(&'static str, String)>,
    /// Headers of every write.
    pub(super) write_headers: Vec<(&'static str, String)>,
    pub(super) state_tags: Option<String>,
    pub(super) lock_tags: Option<String>,
    pub(super) accounts: Accounts,
    pub(super) s3: Service,
    pub(super) dynamodb: Service,
    pub(super) sts: Service,
}

/// Allowed and forbidden accounts.
#[derive(Default)]
pub(super) struct Accounts {
    pub(super) allowed: Vec<String>,
    pub(super) forbidden: Vec<String>,
}

impl Config {
    /// Reads the arguments. Paths are relative to `dir`, the workspace directory.
    pub(super) fn new(values: &Values<'_>, dir: &Path) -> Result<Self, S3Error> {
        let environment = Environment::of(values, dir);
        let profile = values.text("profile", &[]);
        let named = profile.or_else(|| environment.profile.clone());
        let region = region(values, &environment, named.as_deref())?;
        let (key, prefix) = keys(values)?;
        let attempts = Attempts {
            max_attempts: values
                .number("max_retries", &["AWS_MAX_ATTEMPTS"])?
                .unwrap_or(5)
                .max(1),
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(20),
        };
        let web = Arc::new(HttpClient::new(client_options(values)?));
        let sts = Sts {
            region: values
                .text("sts_region", &[])
                .unwrap_or_else(|| region.clone()),
            endpoint: endpoint(values, &STS, &region)?,
        };
        let trust = CommandTrust::new(dir, |name| values.variable(&[name]));
        let chain = chain(values, (&web, attempts), environment, sts.clone(), trust)?;
        let signer = signer(chain);
        let service = |name: &str, region: &str, endpoint: Url| {
            Service::new(&web, &signer, (name, region), endpoint, attempts)
        };
        let (encryption_key, kept) = encryption_headers(values)?;
        let bucket = values.required_text("bucket", &[])?;
        let s3 = endpoint(values, &S3, &region)?;
        Ok(Self {
            path_style: values.is("use_path_style")
                || values.is("force_path_style")
                // A wildcard certificate covers one label only, and an IP address has no
                // subdomains.
                || bucket.contains('.')
                || s3.domain().is_none(),
            s3: service("s3", &region, s3),
            dynamodb: service("dynamodb", &region, endpoint(values, &DYNAMODB, &region)?),
            sts: service("sts", &sts.region, sts.endpoint.clone()),
            bucket,
            key,
            prefix,
            use_lockfile: values.is("use_lockfile"),
            table: values.text("dynamodb_table", &[]),
            with_checksum: !values.is("skip_s3_checksum"),
            encryption_key,
            write_headers: kept,
            state_tags: tags(&values.map("state_tags")),
            lock_tags: tags(&values.map("lock_tags")),
            accounts: Accounts {
                allowed: values.list("allowed_account_ids"),
                forbidden: values.list("forbidden_account_ids"),
            },
        })
    }
}

/// Credential chain.
fn chain(
    values: &Values<'_>,
    (web, attempts): (&Arc<HttpClient>, Attempts),
    environment: Environment,
    sts: Sts,
    trust: CommandTrust,
) -> Result<Chain, S3Error> {
    Ok(Chain {
        http: web.clone(),
        attempts,
        fixed: values
            .text("access_key", &[])
            .zip(values.text("secret_key", &[]))
            .map(|(id, secret)| fixed(id, secret, values.text("token", &[]))),
        profile: values.text("profile", &[]),
        environment,
        role: role(values)?,
        web_identity: values
            .object_argument("assume_role_with_web_identity")
            .map(|said| web_identity(said, values))
            .transpose()?,
        without_metadata: values.is("skip_metadata_api_check"),
        metadata_endpoint: values.text(
            "ec2_metadata_service_endpoint",
            &["AWS_EC2_METADATA_SERVICE_ENDPOINT"],
        ),
        sts,
        trust,
    })
}

fn region(
    values: &Values<'_>,
    environment: &Environment,
    named: Option<&str>,
) -> Result<String, S3Error> {
    let region = values
        .text("region", &["AWS_REGION", "AWS_DEFAULT_REGION"])
        .or_else(|| {
            let profiles = environment.profiles();
            let region = profiles.get(named.unwrap_or("default"), "region");
            region.map(str::to_owned)
        });
    region.ok_or_else(|| ArgumentError::missing("region", &["AWS_REGION"]).into())
}

/// Key of the default workspace, and key prefix of the others.
fn keys(values: &Values<'_>) -> Result<(String, String), S3Error> {
    let key = values.required_text("key", &[])?;
    if key.starts_with('/') || key.ends_with('/') {
        return Err(S3Error::Slash("key"));
    }
    let prefix = values.text("workspace_key_prefix", &[]);
    let prefix = prefix.unwrap_or_else(|| "env:".to_owned());
    if prefix.starts_with('/') || prefix.ends_with('/') {
        return Err(S3Error::Slash("workspace_key_prefix"));
    }
    Ok((key, prefix))
}

/// Names of a service's address in arguments and variables.
struct Names {
    service: &'static str,
    within: &'static str,
    older: &'static str,
    variables: &'static [&'static str],
}

const S3: Names = Names {
    service: "s3",
    within: "s3",
    older: "endpoint",
    variables: &["AWS_ENDPOINT_URL_S3", "AWS_S3_ENDPOINT", "AWS_ENDPOINT_URL"],
};
const DYNAMODB: Names = Names {
    service: "dynamodb",
    within: "dynamodb",
    older: "dynamodb_endpoint",
    variables: &[
        "AWS_ENDPOINT_URL_DYNAMODB",
        "AWS_DYNAMODB_ENDPOINT",
        "AWS_ENDPOINT_URL",
    ],
};
const STS: Names = Names {
    service: "sts",
    within: "sts",
    older: "sts_endpoint",
    variables: &[
        "AWS_ENDPOINT_URL_STS",
        "AWS_STS_ENDPOINT",
        "AWS_ENDPOINT_URL",
    ],
};

fn endpoint(values: &Values<'_>, names: &Names, region: &str) -> Result<Url, S3Error> {
    let said = values
        .object_argument("endpoints")
        .and_then(|all| all.text(names.within))
        .or_else(|| values.text(names.older, names.variables));
    let text = match said {
        Some(text) if text.contains("://") => text,
        // An endpoint without a scheme means https.
        Some(text) => format!("https://{text}"),
        None => {
            let service = names.service;
            // STS may be in another region than the bucket.
            let region = match (names.service, values.text("sts_region", &[])) {
                ("sts", Some(region)) => region,
                _ => region.to_owned(),
            };
            let fips =
                if values.flag("use_fips_endpoint", &["AWS_USE_FIPS_ENDPOINT"])? == Some(true) {
                    "-fips"
                } else {
                    ""
                };
            let dual = values.flag("use_dualstack_endpoint", &["AWS_USE_DUALSTACK_ENDPOINT"])?
                == Some(true);
            // China's partition has its own domain.
            let end = if region.starts_with("cn-") { ".cn" } else { "" };
            if dual && service == "s3" {
                format!("https://s3{fips}.dualstack.{region}.amazonaws.com{end}")
            } else {
                format!("https://{service}{fips}.{region}.amazonaws.com{end}")
            }
        }
    };
    match Url::parse(&text) {
        Ok(url) if url.has_host() => Ok(url),
        Ok(_) => Err(S3Error::Endpoint(text)),
        Err(source) => Err(ArgumentError::Endpoint { text, source }.into()),
    }
}

fn client_options(values: &Values<'_>) -> Result<HttpOptions, S3Error> {
    let bundle = values.text("custom_ca_bundle", &["AWS_CA_BUNDLE"]);
    let read = |file: String| {
        fsroot::read_named(&file).map_err(|source| S3Error::Unreadable { file, source })
    };
    Ok(HttpOptions {
        authorities: bundle.map(read).transpose()?,
        any_certificate: values.is("insecure"),
        http_proxy: values.text("http_proxy", &[]),
        https_proxy: values.text("https_proxy", &[]),
        no_proxy: values.text("no_proxy", &["NO_PROXY", "no_proxy"]),
        ..HttpOptions::default()
    })
}

/// Role to assume, by the block or by the older arguments.
fn role(values: &Values<'_>) -> Result<Option<Role>, S3Error> {
    let Some(said) = values.object_argument("assume_role") else {
        let Some(arn) = values.text("role_arn", &[]) else {
            return Ok(None);
        };
        let duration = values.number("assume_role_duration_seconds", &[])?;
        return Ok(Some(Role {
            arn,
            session: values.text("session_name", &[]),
            parameters: parameters(
                duration.map(|seconds| seconds.to_string()),
                values.text("external_id", &[]),
                values.text("assume_role_policy", &[]),
                values.list("assume_role_policy_arns"),
                values.map("assume_role_tags"),
                values.list("assume_role_transitive_tag_keys"),
            ),
            ..Role::default()
        }));
    };
    Ok(Some(Role {
        arn: said
            .text("role_arn")
            .ok_or(S3Error::NoRole("assume_role"))?,
        session: said.text("session_name"),
        parameters: parameters(
            seconds(said.text("duration"))?,
            said.text("external_id"),
            said.text("policy"),
            said.list("policy_arns"),
            said.map("tags"),
            said.list("transitive_tag_keys"),
        ),
        ..Role::default()
    }))
}

fn web_identity(said: ObjectArgument<'_>, values: &Values<'_>) -> Result<Role, S3Error> {
    let or = |text: Option<String>, name: &str| text.or_else(|| values.variable(&[name]));
    Ok(Role {
        arn: or(said.text("role_arn"), "AWS_ROLE_ARN")
            .ok_or(S3Error::NoRole("assume_role_with_web_identity"))?,
        session: or(said.text("session_name"), "AWS_ROLE_SESSION_NAME"),
        parameters: parameters(
            seconds(said.text("duration"))?,
            None,
            said.text("policy"),
            said.list("policy_arns"),
            BTreeMap::new(),
            Vec::new(),
        ),
        token: or(said.text("web_identity_token"), "AWS_WEB_IDENTITY_TOKEN"),
        token_file: or(
            said.text("web_identity_token_file"),
            "AWS_WEB_IDENTITY_TOKEN_FILE",
        )
        .map(Into::into),
    })
}

/// Further parameters of an assumed role, in STS's names.
fn parameters(
    duration: Option<String>,
    external_id: Option<String>,
    policy: Option<String>,
    policies: Vec<String>,
    tags: BTreeMap<String, String>,
    transitive: Vec<String>,
) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut add = |name: String, value: String| all.push((name, value));
    let single = [
        ("DurationSeconds", duration),
        ("ExternalId", external_id),
        ("Policy", policy),
    ];
    for (name, value) in single {
        if let Some(value) = value {
            add(name.to_owned(), value);
        }
    }
    // STS numbers list members from one.
    for (at, arn) in policies.into_iter().enumerate() {
        add(format!("PolicyArns.member.{}.arn", at + 1), arn);
    }
    for (at, (name, value)) in tags.into_iter().enumerate() {
        add(format!("Tags.member.{}.Key", at + 1), name);
        add(format!("Tags.member.{}.Value", at + 1), value);
    }
    for (at, name) in transitive.into_iter().enumerate() {
        add(format!("TransitiveTagKeys.member.{}", at + 1), name);
    }
    all
}

/// Converts a duration in Go's notation, `1h30m`, to seconds.
fn seconds(text: Option<String>) -> Result<Option<String>, S3Error> {
    let Some(text) = text else { return Ok(None) };
    let duration = super::super::duration(&text).ok_or(S3Error::Duration(text))?;
    Ok(Some(duration.as_secs().to_string()))
}

type Headers = Vec<(&'static str, String)>;

/// Encryption headers of every request for an object, and of every write.
fn encryption_headers(values: &Values<'_>) -> Result<(Headers, Headers), S3Error> {
    let (mut every, mut put) = (Vec::new(), Vec::new());
    let customer = values.text("sse_customer_key", &["AWS_SSE_CUSTOMER_KEY"]);
    let managed = values.text("kms_key_id", &[]);
    if customer.is_some() && managed.is_some() {
        return Err(ArgumentError::Exclusive("kms_key_id", "sse_customer_key").into());
    }
    // Keys have no effect without `encrypt`.
    if values.is("encrypt") {
        match (customer, managed) {
            (Some(key), _) => {
                let bytes = STANDARD.decode(&key).ok().filter(|key| key.len() == 32);
                let bytes = bytes.ok_or(S3Error::CustomerKey)?;
                let algorithm = "x-amz-server-side-encryption-customer-algorithm";
                every.push((algorithm, "AES256".to_owned()));
                every.push(("x-amz-server-side-encryption-customer-key", key));
                let sum = STANDARD.encode(Md5::digest(bytes));
                every.push(("x-amz-server-side-encryption-customer-key-md5", sum));
            }
            (None, Some(key)) => {
                put.push(("x-amz-server-side-encryption", "aws:kms".to_owned()));
                put.push(("x-amz-server-side-encryption-aws-kms-key-id", key));
            }
            (None, None) => put.push(("x-amz-server-side-encryption", "AES256".to_owned())),
        }
    }
    if let Some(acl) = values.text("acl", &[]) {
        put.push(("x-amz-acl", acl));
    }
    Ok((every, put))
}

/// Encodes tags for a header.
fn tags(tags: &BTreeMap<String, String>) -> Option<String> {
    if tags.is_empty() {
        return None;
    }
    // The URL only serves to encode the pairs.
    let mut url = Url::parse("http://x").ok()?;
    url.query_pairs_mut().extend_pairs(tags);
    url.query().map(str::to_owned)
}
