//! Expected checksums of files, from addresses and checksum lists.

use crate::error::FetchError;
use sha2::Digest;
use std::io::Read as _;
use std::path::Path;

/// Expected digest of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checksum {
    kind: Kind,
    hex: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Md5,
    Sha1,
    Sha256,
    Sha512,
}

impl Checksum {
    /// Parses `sha256:HEX`, or only the digits, whose number gives the algorithm.
    pub(crate) fn parse(text: &str) -> Result<Self, FetchError> {
        let wrong = || FetchError::Address {
            url: format!("checksum={text}"),
            why: "a checksum is md5, sha1, sha256 or sha512, a colon, and hexadecimal digits"
                .to_owned(),
        };
        let (kind, hex) = match text.split_once(':') {
            Some((kind, hex)) => (Some(kind), hex),
            None => (None, text),
        };
        let by_length = match hex.len() {
            32 => Kind::Md5,
            40 => Kind::Sha1,
            64 => Kind::Sha256,
            128 => Kind::Sha512,
            _ => return Err(wrong()),
        };
        let fits = match kind {
            None => true,
            Some("md5") => by_length == Kind::Md5,
            Some("sha1") => by_length == Kind::Sha1,
            Some("sha256") => by_length == Kind::Sha256,
            Some("sha512") => by_length == Kind::Sha512,
            Some(_) => false,
        };
        if !fits || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        Ok(Self {
            kind: by_length,
            hex: hex.to_lowercase(),
        })
    }

    /// Checksum of a file in a list with one line per file.
    pub(crate) fn listed(list: &str, name: &str, from: &str) -> Result<Self, FetchError> {
        for line in list.lines() {
            let mut words = line.split_whitespace();
            if let (Some(hex), Some(file)) = (words.next(), words.next())
                && file.trim_start_matches(['*', '.', '/']) == name
            {
                return Self::parse(hex);
            }
        }
        Err(FetchError::Answer {
            url: from.to_owned(),
            why: format!("it has no checksum of {name}"),
        })
    }

    /// Checks a file. `what` names it in the error.
    pub(crate) fn check(&self, file: &Path, what: &str) -> Result<(), FetchError> {
        let found = match self.kind {
            Kind::Md5 => digest::<md5::Md5>(file),
            Kind::Sha1 => digest::<sha1::Sha1>(file),
            Kind::Sha256 => digest::<sha2::Sha256>(file),
            Kind::Sha512 => digest::<sha2::Sha512>(file),
        };
        let found = found.map_err(FetchError::file(file))?;
        if found == self.hex {
            return Ok(());
        }
        Err(FetchError::Checksum {
            what: what.to_owned(),
            why: format!("its checksum is {found}, but {} was expected", self.hex),
        })
    }
}

/// Computes the digest of a file, in hex.
fn digest<D: Digest>(file: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(file)?;
    let mut digest = D::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex::encode(digest.finalize())),
            read => digest.update(&buffer[..read]),
        }
    }
}

/// Computes the SHA-256 of a file, in hex.
pub(crate) fn sha256(file: &Path) -> Result<String, FetchError> {
    digest::<sha2::Sha256>(file).map_err(FetchError::file(file))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;

    #[test]
    fn checksum_is_verified_and_malformed_checksums_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        std::fs::write(&file, "abc").unwrap();
        for good in [
            "md5:900150983cd24fb0d6963f7d28e17f72",
            "sha1:A9993E364706816ABA3E25717850C26C9CD0D89D",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ] {
            Checksum::parse(good).unwrap().check(&file, "f").unwrap();
        }
        std::fs::write(&file, "abd").unwrap();
        let checksum = Checksum::parse("md5:900150983cd24fb0d6963f7d28e17f72").unwrap();
        let error = checksum.check(&file, "f").unwrap_err().to_string();
        assert!(error.contains("was expected"), "{error}");
        for bad in ["md5:00", "sha256:900150983cd24fb0d6963f7d28e17f72", "x", ""] {
            assert!(Checksum::parse(bad).is_err(), "{bad}");
        }
        let list = "900150983cd24fb0d6963f7d28e17f72  ./a.zip\n";
        Checksum::listed(list, "a.zip", "l").unwrap();
        assert!(Checksum::listed(list, "b.zip", "l").is_err());
    }
}
