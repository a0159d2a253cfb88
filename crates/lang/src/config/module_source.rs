//! Module sources: a path, a registry address, or a remote package. Each has one canonical form,
//! which the manifest of installed modules uses.

use dependency::DEFAULT_HOST;
use std::fmt;

/// Hosts that are repositories, not registries.
const REPOSITORIES: [&str; 2] = ["github.com", "bitbucket.org"];

/// Source of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModuleSource {
    /// Directory relative to the calling module: `./x`, `../x`.
    Local(String),
    /// A module of a registry.
    Registry(RegistryModule),
    /// Package fetched by its address.
    Remote(RemoteModule),
}

/// An address in a registry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RegistryModule {
    /// Registry host, with its port if written.
    pub host: String,
    /// Publisher of the module.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Target system: `aws`.
    pub system: String,
    /// Directory inside the package; empty for its root.
    pub subdir: String,
}

/// Remote package and a directory in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteModule {
    /// The package: `git::https://example.com/x.git?ref=v1`.
    pub package: String,
    /// Directory inside the package; empty for its root.
    pub subdir: String,
}

/// Reasons why a text is not a module source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// Possibly a path without `./`.
    #[error(
        "\"{0}\" is neither a registry address nor a URL. For a path relative to this module, \
        write \"./{0}\""
    )]
    MaybePath(String),
    /// Other errors.
    #[error("{0}")]
    Wrong(String),
}

fn other_error<T>(what: impl Into<String>) -> Result<T, SourceError> {
    Err(SourceError::Wrong(what.into()))
}

fn is_local(text: &str) -> bool {
    ["./", "../", ".\\", "..\\"]
        .iter()
        .any(|prefix| text.starts_with(prefix))
}

impl ModuleSource {
    /// Parses the source of a module call.
    ///
    /// # Errors
    /// The text is not a module source.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        if is_local(text) {
            // Windows separators are accepted for portability of configurations.
            let clean = clean(&text.replace('\\', "/"));
            return Ok(Self::Local(if clean.starts_with("../") {
                clean
            } else {
                format!("./{clean}")
            }));
        }
        // Text that is not a registry address is parsed as a package address.
        match RegistryModule::parse(text) {
            Ok(module) => Ok(Self::Registry(module)),
            Err(_) => Ok(Self::Remote(RemoteModule::parse(text)?)),
        }
    }

    /// Parses the source of a call with a version, which only registries support.
    ///
    /// # Errors
    /// The text is not a registry address.
    pub fn with_version(text: &str) -> Result<Self, SourceError> {
        if is_local(text) {
            return other_error("a module with a local path cannot have a version");
        }
        RegistryModule::parse(text).map(Self::Registry)
    }
}

impl RegistryModule {
    fn parse(text: &str) -> Result<Self, SourceError> {
        let (text, subdir) = split(text);
        reject_outside(&subdir)?;
        let parts: Vec<&str> = text.split('/').collect();
        let (host, [namespace, name, system]) = match parts[..] {
            [namespace, name, system] => (DEFAULT_HOST.to_owned(), [namespace, name, system]),
            [host, namespace, name, system] => (self::host(host)?, [namespace, name, system]),
            _ => {
                return other_error(
                    "a registry address has three parts separated by slashes, or four with the \
                    host",
                );
            }
        };
        let good = |part: &str| {
            let edge = |c: char| c.is_ascii_alphanumeric();
            (1..=64).contains(&part.len())
                && part.starts_with(edge)
                && part.ends_with(edge)
                && part.chars().all(|c| edge(c) || c == '-' || c == '_')
        };
        for part in [namespace, name] {
            if !good(part) {
                return other_error(format!(
                    "\"{part}\" is not a valid name in a registry address"
                ));
            }
        }
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        if !(1..=64).contains(&system.len()) || !system.chars().all(fits) {
            return other_error(format!("\"{system}\" is not a valid target system"));
        }
        Ok(Self {
            host,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            system: system.to_owned(),
            subdir,
        })
    }

    /// Address of the package, without the subdirectory.
    #[must_use]
    pub fn package(&self) -> String {
        let host = if self.host == DEFAULT_HOST {
            String::new()
        } else {
            format!("{}/", self.host)
        };
        format!("{host}{}/{}/{}", self.namespace, self.name, self.system)
    }
}

fn host(text: &str) -> Result<String, SourceError> {
    let lower = text.to_lowercase();
    let (name, port) = match lower.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (lower.as_str(), None),
    };
    // As in the reference, host names are written in Unicode and not in Punycode.
    let label = |l: &str| {
        !l.is_empty()
            && !l.starts_with("xn--")
            && l.chars().all(|c| c.is_alphanumeric() || c == '-')
    };
    let bad_port = port.is_some_and(|p| p.parse::<u16>().is_err());
    if !name.contains('.') || !name.split('.').all(label) || bad_port {
        return other_error(format!("\"{text}\" is not a valid registry host"));
    }
    if REPOSITORIES.contains(&lower.as_str()) {
        return other_error(format!(
            "{lower} hosts repositories and is not a module registry"
        ));
    }
    Ok(match port {
        // The default port is dropped, so that equal sources have equal texts.
        Some("443") => name.to_owned(),
        _ => lower,
    })
}

impl RemoteModule {
    /// Parses the address of a package.
    ///
    /// # Errors
    /// The text is not a package address.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        let (package, inner) = split(text);
        reject_outside(&inner)?;
        // The full form may have a directory of its own, as in `github.com/owner/name/dir`.
        let (package, outer) = split(&detect_source(&package)?);
        let subdir = match (&*outer, &*inner) {
            ("", inner) => inner.to_owned(),
            (outer, "") => outer.to_owned(),
            (outer, inner) => clean(&format!("{outer}/{inner}")),
        };
        reject_outside(&subdir)?;
        Ok(Self { package, subdir })
    }

    /// Adds a subdirectory below the one that this address names.
    #[must_use]
    pub fn below(mut self, asked: &str) -> Self {
        self.subdir = match (&*self.subdir, asked) {
            (_, "") => self.subdir,
            ("", asked) => asked.to_owned(),
            (own, asked) => clean(&format!("{own}/{asked}")),
        };
        self
    }
}

fn reject_outside(subdir: &str) -> Result<(), SourceError> {
    if subdir == ".." || subdir.starts_with("../") {
        return other_error(format!(
            "the directory \"{subdir}\" is outside of the module's package"
        ));
    }
    Ok(())
}

/// Expands short addresses to full ones with their fetch method.
fn detect_source(package: &str) -> Result<String, SourceError> {
    let (force, src) = forced(package);
    if has_scheme(src) {
        return Ok(package.to_owned());
    }
    let by = |own: &str, rest: String| match force {
        Some(force) => format!("{force}::{rest}"),
        None => format!("{own}{rest}"),
    };
    let (path, query) = match src.split_once('?') {
        Some((path, query)) => (path, format!("?{query}")),
        None => (src, String::new()),
    };
    if path.starts_with("github.com/") {
        let parts: Vec<&str> = path.split('/').collect();
        let [host, owner, name, inner @ ..] = &parts[..] else {
            return other_error("a GitHub address has the form github.com/OWNER/REPOSITORY");
        };
        let end = if name.ends_with(".git") { "" } else { ".git" };
        // Further parts name a directory inside the repository.
        let inner = match inner {
            [] => String::new(),
            inner => format!("//{}", inner.join("/")),
        };
        return Ok(by(
            "git::",
            format!("https://{host}/{owner}/{name}{end}{inner}{query}"),
        ));
    }
    if let Some(url) = ssh(src) {
        return Ok(by("git::", url));
    }
    if path.starts_with("bitbucket.org/") {
        let end = if path.ends_with(".git") { "" } else { ".git" };
        return Ok(by("git::", format!("https://{path}{end}{query}")));
    }
    if path.contains(".googleapis.com/") {
        let parts: Vec<&str> = src.split('/').collect();
        let [_, _, version, bucket, object @ ..] = &parts[..] else {
            return other_error("this is not the address of an object in Google Cloud Storage");
        };
        if object.is_empty() {
            return other_error("this is not the address of an object in Google Cloud Storage");
        }
        let object = object.join("/");
        let url = format!("https://www.googleapis.com/storage/{version}/{bucket}/{object}");
        return Ok(by("gcs::", url));
    }
    if path.contains(".amazonaws.com/") {
        return match bucket(src) {
            Some(url) => Ok(by("s3::", url)),
            None => other_error("this is not the address of an object in an S3 bucket"),
        };
    }
    match src.strip_prefix('/') {
        Some(rest) => Ok(by("", format!("file:///{rest}"))),
        None => Err(SourceError::MaybePath(src.to_owned())),
    }
}

/// Splits `git::https://…` into the fetch method and the rest.
pub(super) fn forced(text: &str) -> (Option<&str>, &str) {
    match text.split_once("::") {
        Some((way, rest)) if !way.is_empty() && way.bytes().all(|b| b.is_ascii_alphanumeric()) => {
            (Some(way), rest)
        }
        _ => (None, text),
    }
}

fn has_scheme(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else {
        return false;
    };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}

/// Converts `git@host:owner/name.git` to a URL.
fn ssh(text: &str) -> Option<String> {
    let (host, path) = text.strip_prefix("git@")?.split_once(':')?;
    let path = path.strip_prefix('/').unwrap_or(path);
    (!host.is_empty() && !path.is_empty()).then(|| format!("ssh://git@{host}/{path}"))
}

/// Converts the forms of S3 object addresses to path-style URLs.
fn bucket(text: &str) -> Option<String> {
    let (host, key) = text.split_once('/')?;
    let labels: Vec<&str> = host.split('.').collect();
    match labels[..] {
        [region, _, _] => Some(format!("https://{region}.amazonaws.com/{key}")),
        [bucket, region, _, _] => Some(format!("https://{region}.amazonaws.com/{bucket}/{key}")),
        [bucket, "s3", region, _, _] => {
            Some(format!("https://s3.{region}.amazonaws.com/{bucket}/{key}"))
        }
        _ => None,
    }
}

/// Splits package and subdirectory: `https://x/y.zip//d?q` gives `https://x/y.zip?q` and `d`.
pub(super) fn split(text: &str) -> (String, String) {
    // A query may contain slashes of its own.
    let stop = text.find('?').unwrap_or(text.len());
    // The slashes of the scheme do not separate a directory.
    let begin = text[..stop].find("://").map_or(0, |at| at + 3);
    let Some(at) = text[begin..stop].find("//").map(|at| at + begin) else {
        return (text.to_owned(), String::new());
    };
    let subdir = match &text[at + 2..stop] {
        "" => String::new(),
        subdir => clean(subdir),
    };
    (format!("{}{}", &text[..at], &text[stop..]), subdir)
}

/// Path without `.`, `..` and redundant slashes.
pub(super) fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut out: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match out.last() {
                Some(&last) if last != ".." => drop(out.pop()),
                _ if rooted => {}
                _ => out.push(".."),
            },
            name => out.push(name),
        }
    }
    match (rooted, out.is_empty()) {
        (true, _) => format!("/{}", out.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => out.join("/"),
    }
}

impl fmt::Display for ModuleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(path) => f.write_str(path),
            Self::Registry(module) => module.fmt(f),
            Self::Remote(module) => module.fmt(f),
        }
    }
}

impl fmt::Display for RegistryModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            host,
            namespace,
            name,
            system,
            subdir,
        } = self;
        write!(f, "{host}/{namespace}/{name}/{system}")?;
        if subdir.is_empty() {
            return Ok(());
        }
        write!(f, "//{subdir}")
    }
}

impl fmt::Display for RemoteModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.subdir.is_empty() {
            return f.write_str(&self.package);
        }
        match self.package.split_once('?') {
            Some((path, query)) => write!(f, "{path}//{}?{query}", self.subdir),
            None => write!(f, "{}//{}", self.package, self.subdir),
        }
    }
}

#[cfg(test)]
mod tests;
