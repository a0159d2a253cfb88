//! JSON text compressed with zlib (RFC 1950). Records of many similar objects shrink to a tenth or
//! less.

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::io::{BufWriter, Read as _, Write as _};

/// Buffer in front of the compressor, because JSON is written in small pieces.
const JSON_BUFFER: usize = 64 << 10;

/// Compressed JSON text. Serializes as the plain text.
#[derive(Debug, Clone)]
pub struct CompressedJson(Vec<u8>);

impl CompressedJson {
    /// Compresses a value's JSON without holding all of the text in memory.
    ///
    /// # Errors
    /// The value cannot be serialized as JSON.
    pub fn compress(value: &(impl Serialize + ?Sized)) -> Result<Self, serde_json::Error> {
        let mut to = Self::encoder();
        serde_json::to_writer(&mut to, value)?;
        Self::finish(to).map_err(serde_json::Error::io)
    }

    /// Wraps compressed bytes from the database.
    pub fn from_bytes(deflated: Vec<u8>) -> Self {
        Self(deflated)
    }

    /// Compressed bytes for the database.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Decompresses the text.
    ///
    /// # Errors
    /// The bytes are not valid zlib data.
    pub fn text(&self) -> std::io::Result<String> {
        let mut text = String::new();
        ZlibDecoder::new(self.0.as_slice()).read_to_string(&mut text)?;
        Ok(text)
    }

    /// Decompresses and parses the value.
    ///
    /// # Errors
    /// The bytes are not valid zlib data, or the text is of another type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.text().map_err(serde_json::Error::io)?)
    }

    fn encoder() -> BufWriter<ZlibEncoder<Vec<u8>>> {
        let deflating = ZlibEncoder::new(Vec::new(), Compression::fast());
        BufWriter::with_capacity(JSON_BUFFER, deflating)
    }

    fn finish(to: BufWriter<ZlibEncoder<Vec<u8>>>) -> std::io::Result<Self> {
        let deflating = to
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)?;
        Ok(Self(deflating.finish()?))
    }
}

impl TryFrom<&str> for CompressedJson {
    type Error = std::io::Error;

    fn try_from(text: &str) -> Result<Self, Self::Error> {
        let mut to = Self::encoder();
        to.write_all(text.as_bytes())?;
        Self::finish(to)
    }
}

/// Compares texts: equal texts may be compressed differently.
impl PartialEq for CompressedJson {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
            || matches!((self.text(), other.text()), (Ok(ours), Ok(theirs)) if ours == theirs)
    }
}

impl Serialize for CompressedJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text().map_err(S::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for CompressedJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::try_from(text.as_str()).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_json_round_trips_and_serializes_as_a_string() {
        let value: Vec<_> = (0..10_000)
            .map(|n| format!("object {n} \u{1f6e0}"))
            .collect();
        let packed = CompressedJson::compress(&value).unwrap();
        assert!(packed.bytes().len() * 4 < packed.text().unwrap().len());
        assert_eq!(packed.read::<Vec<String>>().unwrap(), value);
        let text = packed.text().unwrap();
        assert_eq!(text, serde_json::to_string(&value).unwrap());
        assert_eq!(CompressedJson::try_from(text.as_str()).unwrap(), packed);
        let json = serde_json::to_string(&packed).unwrap();
        assert_eq!(json, serde_json::to_string(&text).unwrap());
        assert_eq!(
            serde_json::from_str::<CompressedJson>(&json).unwrap(),
            packed
        );
    }

    #[test]
    fn damaged_compressed_json_is_an_error() {
        let good = CompressedJson::compress(&vec!["much the same"; 100]).unwrap();
        let cut = CompressedJson::from_bytes(good.bytes()[..good.bytes().len() / 2].to_vec());
        let other = CompressedJson::from_bytes(b"{\"layout\":3}".to_vec());
        for bad in [cut, other, CompressedJson::from_bytes(Vec::new())] {
            assert!(bad.text().is_err() && bad.read::<serde_json::Value>().is_err());
            assert_ne!(bad, good);
        }
    }
}
