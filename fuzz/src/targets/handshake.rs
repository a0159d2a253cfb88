//! Any bytes as the first line of a plugin: parsed, or refused with a message that is safe for a
//! terminal. A parsed line round-trips.

use wire::{Address, Handshake};

pub fn run(data: &[u8]) {
    match Handshake::parse(data) {
        Ok(read) => {
            let again = read.to_string();
            // A path can contain any character except the separator.
            assert_eq!(
                Handshake::parse(again.as_bytes()).as_ref(),
                Ok(&read),
                "{again}"
            );
            if let Address::Unix(path) = &read.address {
                assert!(!path.as_os_str().is_empty());
            }
            let _ = read.expect_protocol(&[5, 6]).map_err(|e| e.to_string());
        }
        Err(error) => {
            let words = error.to_string();
            assert!(
                !words.is_empty() && words.len() < 4096,
                "{} bytes of words",
                words.len()
            );
            // Messages are printed to a terminal, which must not receive escape sequences.
            assert!(!words.contains(|c: char| c.is_control()), "{words:?}");
        }
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let chosen = wire::handshake::choose_protocol(text, &[5, 6]);
        assert!(chosen.is_none_or(|v| v == 5 || v == 6));
    }
}
