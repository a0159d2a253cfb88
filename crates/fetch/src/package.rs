//! Fetches module packages from all kinds of addresses into directories.

use crate::archive::{self, Kind};
use crate::checksum::Checksum;
use crate::error::FetchError;
use crate::git;
use crate::http::{Http, OnBytes, url};
use crate::symlinks;
use net::redacted;
use reqwest::Url;
use std::path::{Path, PathBuf};

/// Maximum number of redirects to other addresses by `X-Terraform-Get` or a page.
const MAX_HOPS: usize = 10;
/// Maximum bytes of a page that are searched for the package's address.
const MAX_PAGE: usize = 1 << 20;

/// Fetches packages of modules.
#[derive(Debug)]
pub struct Packages<'a> {
    http: &'a Http,
}

/// Result of one fetch.
enum Next {
    Done,
    /// The package is at another address, which may name a directory inside it.
    Elsewhere(String),
}

impl<'a> Packages<'a> {
    #[must_use]
    pub fn new(http: &'a Http) -> Self {
        Self { http }
    }

    /// Fetches a package into a new directory. `address` has the form of the module manifest,
    /// without a subdirectory. Only the first server gets `token`.
    ///
    /// # Errors
    /// The package is not available; then the directory does not exist.
    pub async fn fetch(
        &self,
        address: &str,
        token: Option<&str>,
        to: &Path,
        on_bytes: OnBytes<'_>,
    ) -> Result<(), FetchError> {
        let folder = to.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(FetchError::file(folder))?;
        // In the target's parent directory, so that the rename stays on one file system. Removed on
        // errors.
        let room = tempfile::Builder::new()
            .prefix(".fetching-")
            .tempdir_in(folder)
            .map_err(FetchError::file(folder))?;
        let mut address = address.to_owned();
        let mut token = token.map(str::to_owned);
        for hop in 0..MAX_HOPS {
            let (package, subdir) = split(&address);
            let at = room.path().join(format!("package-{hop}"));
            match self
                .fetch_once(&package, token.as_deref(), &at, on_bytes)
                .await?
            {
                Next::Done => {
                    let from = match subdir.as_str() {
                        "" => at,
                        subdir => expand(&at, subdir)?,
                    };
                    return std::fs::rename(&from, to).map_err(FetchError::file(to));
                }
                Next::Elsewhere(next) => {
                    // A server must not choose files of this machine.
                    if next.starts_with("file:") || next.contains("::file:") {
                        return Err(FetchError::Address {
                            url: next,
                            why: format!(
                                "{package} redirects to this address, but a server must not redirect to local files"
                            ),
                        });
                    }
                    let next = Url::parse(next.split_once("::").map_or(&*next, |(_, n)| n))
                        .map(|_| next.clone())
                        .map_err(|e| FetchError::Address {
                            url: next.clone(),
                            why: format!(
                                "{package} redirects to this address, which is not an absolute URL: {e}"
                            ),
                        })?;
                    // The token is only for the first server.
                    token = None;
                    address = match subdir.as_str() {
                        "" => next,
                        subdir => below(&next, subdir),
                    };
                }
            }
        }
        Err(FetchError::Address {
            url: address,
            why: format!("more than {MAX_HOPS} redirects led to this address"),
        })
    }

    async fn fetch_once(
        &self,
        package: &str,
        token: Option<&str>,
        to: &Path,
        on_bytes: OnBytes<'_>,
    ) -> Result<Next, FetchError> {
        let (way, address) = match package.split_once("::") {
            Some((way, rest)) if way.bytes().all(|b| b.is_ascii_alphanumeric()) => (way, rest),
            _ => (package.split(':').next().unwrap_or_default(), package),
        };
        let unsupported = |remedy: &str| FetchError::Unsupported {
            way: way.to_owned(),
            remedy: remedy.to_owned(),
        };
        match way {
            "git" => {
                git::clone(address, to).await?;
                let (to, name) = (to.to_owned(), redacted(address));
                // git checks out links as they are, unlike `archive::unpack`.
                let checked =
                    tokio::task::spawn_blocking(move || symlinks::check(&to, &name)).await;
                checked.unwrap_or(Err(FetchError::Cancelled))?;
                Ok(Next::Done)
            }
            "http" | "https" => self.by_http(address, token, to, on_bytes).await,
            "file" => local(address, to).await.map(|()| Next::Done),
            "s3" | "gcs" => Err(unsupported(
                "fetch the archive with the tools of that cloud and set its path as the source, or set its https:// address",
            )),
            "oci" => Err(unsupported(
                "extract the package from the repository and set its path as the source, or install it with `tofu init`",
            )),
            "hg" => Err(unsupported(
                "clone the repository with hg and set its path as the source",
            )),
            _ => Err(unsupported("use https, git, file or a registry")),
        }
    }

    async fn by_http(
        &self,
        address: &str,
        token: Option<&str>,
        to: &Path,
        on_bytes: OnBytes<'_>,
    ) -> Result<Next, FetchError> {
        let mut url = url(address)?;
        let wanted = AddressOptions::take_from_url(&mut url)?;
        // Archives of registries may have any name; their format is detected from the content.
        if wanted.kind.is_some() || token.is_some() {
            self.archive(&url, &wanted, token, to, on_bytes).await?;
            return Ok(Next::Done);
        }
        let mut asked = url.clone();
        asked.query_pairs_mut().append_pair("terraform-get", "1");
        // The server may name the package's address in a header or in the page.
        let answer = self.http.get_success(&asked, None).await?;
        let header = answer.headers.get("X-Terraform-Get");
        let header = header.and_then(|v| v.to_str().ok()).map(str::to_owned);
        let page = &answer.body[..answer.body.len().min(MAX_PAGE)];
        let found = header.or_else(|| from_page(&String::from_utf8_lossy(page)));
        found.map(Next::Elsewhere).ok_or_else(|| FetchError::Answer {
            url: url.to_string(),
            why: "the URL has no archive suffix, and the answer names no other address (X-Terraform-Get); if the URL is an archive, add ?archive=zip (or tar.gz, tar.bz2, tar.xz) to it".to_owned(),
        })
    }

    async fn archive(
        &self,
        url: &Url,
        wanted: &AddressOptions,
        token: Option<&str>,
        to: &Path,
        on_bytes: OnBytes<'_>,
    ) -> Result<(), FetchError> {
        let file = to.with_extension("archive");
        self.http
            .download(url.as_str(), token, &file, on_bytes)
            .await?;
        if let Some(checksum) = &wanted.checksum {
            let checksum = match checksum.strip_prefix("file:") {
                None => Checksum::parse(checksum)?,
                Some(list) => self.listed(list, url).await?,
            };
            checksum.check(&file, url.as_str())?;
        }
        unpack_archive(file, wanted.kind, to.to_owned()).await
    }

    /// Checksum of a file from a checksum list.
    async fn listed(&self, list: &str, url: &Url) -> Result<Checksum, FetchError> {
        let answer = self
            .http
            .get_success(&crate::http::url(list)?, None)
            .await?;
        let name = url.path().rsplit('/').next().unwrap_or_default();
        Checksum::listed(&String::from_utf8_lossy(&answer.body), name, list)
    }
}

/// Query parameters of an address that the client handles and the server does not get.
struct AddressOptions {
    kind: Option<Kind>,
    checksum: Option<String>,
}

impl AddressOptions {
    fn take_from_url(url: &mut Url) -> Result<Self, FetchError> {
        let mut wanted = Self {
            kind: Kind::of_name(url.path()),
            checksum: None,
        };
        let mut rest: Vec<(String, String)> = Vec::new();
        let text = url.to_string();
        for (name, value) in url.query_pairs() {
            match &*name {
                "archive" => {
                    wanted.kind = match &*value {
                        "" | "false" | "0" => None,
                        kind => Some(Kind::of_name(&format!(".{kind}")).ok_or_else(|| {
                            FetchError::Address {
                                url: text.clone(),
                                why: format!("archive={kind} is not a supported archive format"),
                            }
                        })?),
                    };
                }
                "checksum" => wanted.checksum = Some(value.into_owned()),
                _ => rest.push((name.into_owned(), value.into_owned())),
            }
        }
        // An unchanged query keeps its exact encoding, which a signed address may depend on.
        if rest.len() != url.query_pairs().count() {
            url.set_query(None);
            if !rest.is_empty() {
                url.query_pairs_mut().extend_pairs(rest);
            }
        }
        Ok(wanted)
    }
}

/// Unpacks an archive into a new directory. The format is detected from the content if `kind` is
/// `None`.
async fn unpack_archive(file: PathBuf, kind: Option<Kind>, to: PathBuf) -> Result<(), FetchError> {
    let unpack = move || {
        let kind = match kind {
            Some(kind) => kind,
            None => detect_kind(&file)?,
        };
        // Fails if the directory exists, so no other files are mixed in.
        std::fs::create_dir(&to).map_err(FetchError::file(&to))?;
        archive::unpack(&file, kind, &to)
    };
    let done = tokio::task::spawn_blocking(unpack).await;
    done.unwrap_or(Err(FetchError::Cancelled))
}

fn detect_kind(file: &Path) -> Result<Kind, FetchError> {
    use std::io::Read as _;
    let mut head = Vec::new();
    std::fs::File::open(file)
        .and_then(|f| f.take(8).read_to_end(&mut head))
        .map_err(FetchError::file(file))?;
    Kind::of_content(&head).ok_or_else(|| FetchError::Archive {
        name: file.display().to_string(),
        why: "the file has another format than zip, tar.gz, tar.bz2 or tar.xz".to_owned(),
    })
}

/// Fetches a local directory or archive.
async fn local(address: &str, to: &Path) -> Result<(), FetchError> {
    let wrong = |why: String| FetchError::Address {
        url: address.to_owned(),
        why,
    };
    let mut url = Url::parse(address).map_err(|e| wrong(e.to_string()))?;
    let wanted = AddressOptions::take_from_url(&mut url)?;
    let path = url
        .to_file_path()
        .map_err(|()| wrong("it is not a local path".to_owned()))?;
    if path.is_dir() {
        // Linked like in OpenTofu, so that edits in the source directory take effect.
        return std::os::unix::fs::symlink(&path, to).map_err(FetchError::file(to));
    }
    if !path.is_file() {
        return Err(FetchError::NotFound(path.display().to_string()));
    }
    if let Some(checksum) = &wanted.checksum {
        Checksum::parse(checksum)?.check(&path, address)?;
    }
    unpack_archive(path, wanted.kind, to.to_owned()).await
}

/// Address in `<meta name="terraform-get" content="…">` of a page.
fn from_page(page: &str) -> Option<String> {
    let tags = page.match_indices("<meta").map(|(at, _)| &page[at..]);
    for tag in tags {
        let tag = &tag[..tag.find('>').unwrap_or(tag.len())];
        if attribute(tag, "name").is_some_and(|name| name == "terraform-get") {
            return attribute(tag, "content").map(|text| text.replace("&amp;", "&"));
        }
    }
    None
}

fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = tag.split_once(&format!(" {name}="))?;
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    rest[1..].split(quote).next()
}

/// Splits an address into package and subdirectory.
fn split(address: &str) -> (String, String) {
    let stop = address.find('?').unwrap_or(address.len());
    // The slashes of the scheme do not separate a subdirectory.
    let begin = address[..stop].find("://").map_or(0, |at| at + 3);
    match address[begin..stop].find("//") {
        None => (address.to_owned(), String::new()),
        Some(at) => (
            format!("{}{}", &address[..begin + at], &address[stop..]),
            address[begin + at + 2..stop].trim_matches('/').to_owned(),
        ),
    }
}

/// Address of a directory inside the package of another address.
fn below(address: &str, subdir: &str) -> String {
    let (package, own) = split(address);
    let (path, query) = match package.split_once('?') {
        Some((path, query)) => (path, format!("?{query}")),
        None => (&*package, String::new()),
    };
    let inner = [&*own, subdir].into_iter().filter(|part| !part.is_empty());
    format!("{path}//{}{query}", inner.collect::<Vec<_>>().join("/"))
}

/// Finds the directory of a package that matches a path, in which `*` stands for any name.
///
/// # Errors
/// There is no match, more than one, or one outside of the package.
pub fn expand(package: &Path, subdir: &str) -> Result<PathBuf, FetchError> {
    let wrong = |why: &str| FetchError::Address {
        url: subdir.to_owned(),
        why: why.to_owned(),
    };
    let mut found = vec![package.to_owned()];
    for part in subdir.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part == ".." {
            return Err(wrong("it leads out of the module's package"));
        }
        let mut next = Vec::new();
        for dir in &found {
            if !part.contains(['*', '?', '[']) {
                next.push(dir.join(part));
                continue;
            }
            for entry in std::fs::read_dir(dir).map_err(FetchError::file(dir))? {
                let entry = entry.map_err(FetchError::file(dir))?;
                if matches_pattern(part, &entry.file_name().to_string_lossy()) {
                    next.push(entry.path());
                }
            }
        }
        found = next;
    }
    // Parts without wildcards were appended unchecked.
    found.retain(|dir| dir.exists());
    match &found[..] {
        [one] => Ok(one.clone()),
        [] => Err(wrong("the package has no such directory")),
        _ => Err(wrong("more than one directory of the package matches")),
    }
}

/// Returns true if a name matches a pattern of `*` and `?`.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let mut reach = vec![false; name.len() + 1];
    reach[0] = true;
    for c in pattern {
        let before = reach.clone();
        for at in 0..=name.len() {
            let one = at > 0 && before[at - 1];
            reach[at] = match c {
                '*' => before[at] || (at > 0 && reach[at - 1]),
                '?' => one,
                c => one && name[at - 1] == c,
            };
        }
    }
    reach[name.len()]
}

#[cfg(test)]
mod tests;
