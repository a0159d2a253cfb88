//! Redacts addresses: user, password, and query values that may be secret.

use std::ops::Range;

/// Parts of parameter names whose values may be secret.
const SECRET: [&str; 12] = [
    "code", "sas", "token", "secret", "pass", "pwd", "key", "sig", "cred", "auth", "session", "jwt",
];

/// Text with all its addresses redacted.
#[must_use]
pub fn redacted(text: &str) -> String {
    replaced(text, |_| "REDACTED".to_owned())
}

/// Masks secrets with as many bytes as they have, for texts whose byte offsets must stay.
#[must_use]
pub fn mask(text: &str) -> String {
    replaced(text, |secret| "*".repeat(secret.len()))
}

fn replaced(text: &str, instead: impl Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for secret in secrets(text) {
        out.push_str(&text[at..secret.start]);
        out.push_str(&instead(&text[secret.clone()]));
        at = secret.end;
    }
    out + &text[at..]
}

/// Byte ranges of the secrets in all addresses of a text, in order.
fn secrets(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    // Addresses end at characters that they may not contain unescaped.
    let ends = |c: char| c.is_whitespace() || c.is_control() || "\"'`<>\\".contains(c);
    for word in text.split_inclusive(ends) {
        let end = at + word.trim_end_matches(ends).len();
        // A word can have several, such as a list or an address in a query.
        let schemes = text[at..end].match_indices("://");
        let mut schemes = schemes.map(|(scheme, _)| at + scheme).peekable();
        if schemes.peek().is_none() {
            found.extend(of_host(text, at..end));
        }
        while let Some(scheme) = schemes.next() {
            let next = schemes.peek().copied().unwrap_or(end);
            found.extend(of_address(text, scheme, scheme + "://".len()..next));
        }
        at += word.len();
    }
    found
}

/// Secrets of an address without a scheme, such as `user:password@host:80` or `host:80?token=x`.
fn of_host(text: &str, word: Range<usize>) -> Vec<Range<usize>> {
    let whole = &text[word.clone()];
    let authority = whole.find(['/', '?', '#']).unwrap_or(whole.len());
    let user = whole[..authority].rfind('@');
    let is_address = |user: &usize| {
        let pair = whole[..*user].split_once(':');
        pair.is_some_and(|(name, password)| !name.is_empty() && !password.is_empty())
    };
    let user = user.filter(is_address);
    let user = user.map(|user| word.start..word.start + user);
    // Without a scheme, only a query tells an address from other text.
    let query = whole.find('?').unwrap_or(whole.len());
    let parameters = parameters(&whole[query..], word.start + query);
    user.into_iter().chain(parameters).collect()
}

/// Secrets of one address, whose scheme ends at `scheme`.
fn of_address(text: &str, scheme: usize, rest: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let whole = &text[rest.clone()];
    let authority = whole.find(['/', '?', '#']).unwrap_or(whole.len());
    // The last `@`, because a password may contain others.
    if let Some(user) = whole[..authority].rfind('@') {
        // An ssh user name is public (usually `git`); in other schemes it may be a token.
        let name = whole[..user].find(':').unwrap_or(user);
        let begin = match text[..scheme].ends_with("ssh") {
            true => (name + 1).min(user),
            false => 0,
        };
        if begin < user {
            found.push(rest.start + begin..rest.start + user);
        }
    }
    found.extend(parameters(&whole[authority..], rest.start + authority));
    found
}

/// Values of secret parameters in the query, the path and the fragment. The text starts at `at`.
fn parameters(text: &str, mut at: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for pair in text.split(['?', '&', ';', '#']) {
        if let Some((name, value)) = pair.split_once('=')
            && !value.is_empty()
            && is_secret(name)
        {
            let begin = at + name.len() + 1;
            found.push(begin..begin + value.len());
        }
        at += pair.len() + 1;
    }
    found
}

fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_addresses_are_redacted() {
        for (text, shown) in [
            ("https://h/x", "https://h/x"),
            ("https://me:pass@h/x", "https://REDACTED@h/x"),
            (
                "from git::https://token@h/x.git?ref=v1, then",
                "from git::https://REDACTED@h/x.git?ref=v1, then",
            ),
            ("https://me:p@ss@h:8443?a=b", "https://REDACTED@h:8443?a=b"),
            ("git::ssh://git@h/x.git", "git::ssh://git@h/x.git"),
            ("ssh://git:pass@h/x", "ssh://git:REDACTED@h/x"),
            (
                "(\"https://h/x.zip?archive=zip&X-Amz-Signature=s&depth=1&sshkey=k#f\")",
                "(\"https://h/x.zip?archive=zip&X-Amz-Signature=REDACTED&depth=1&sshkey=REDACTED#f\")",
            ),
            (
                "https://a:b@h/x https://c:d@i/y",
                "https://REDACTED@h/x https://REDACTED@i/y",
            ),
            ("https://h/x@y?z", "https://h/x@y?z"),
            ("https://h/?token=", "https://h/?token="),
            (
                "git@github.com:a/b ü://ü@ü",
                "git@github.com:a/b ü://REDACTED@ü",
            ),
            ("://", "://"),
            ("user:pass@h:80", "REDACTED@h:80"),
            (
                "connect to \"user:pass@h\": refused",
                "connect to \"REDACTED@h\": refused",
            ),
            ("https://me:p{a|s}s^@h/x", "https://REDACTED@h/x"),
            (
                "{https://a:b@h}{https://c:d@i},https://h?u=https://e:f@j",
                "{https://REDACTED@h}{https://REDACTED@i},https://h?u=https://REDACTED@j",
            ),
            (
                "https://h/x;token=a#access_token=b",
                "https://h/x;token=REDACTED#access_token=REDACTED",
            ),
            ("locked by ann@build7: ok", "locked by ann@build7: ok"),
            (
                "tcp h:80?a=b&token=x;key=y from u:p@h?sig=z",
                "tcp h:80?a=b&token=REDACTED;key=REDACTED from REDACTED@h?sig=REDACTED",
            ),
            ("key=value token=x", "key=value token=x"),
            (
                "registry:5000/image@sha256:0a",
                "registry:5000/image@sha256:0a",
            ),
        ] {
            assert_eq!(redacted(text), shown);
            assert_eq!(mask(text).len(), text.len());
        }
        assert_eq!(
            mask("x https://me:pass@h?key=v y"),
            "x https://*******@h?key=* y"
        );
    }
}
