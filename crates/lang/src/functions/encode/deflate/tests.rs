//! Expected values come from OpenTofu or its compressor.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use sha2::Digest;

use super::bits::Bits;
use super::gzip;
use super::lengths::Code;

/// Deterministic numbers, the same in the program that produced the expected values.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn byte(&mut self) -> u8 {
        self.below(256) as u8
    }
}

/// Text similar to a script, with near and far repetitions.
fn words() -> Vec<u8> {
    const WORDS: [&str; 12] = [
        "install",
        " the ",
        "package",
        "\n",
        "nginx",
        " && ",
        "systemctl",
        "#!/bin/sh",
        "{\"key\": ",
        "ä€",
        "-y ",
        "0",
    ];
    let (mut draw, mut bytes) = (Draw(1), Vec::new());
    while bytes.len() < 300_000 {
        bytes.extend_from_slice(WORDS[draw.below(WORDS.len())].as_bytes());
    }
    bytes
}

/// Text without repetitions.
fn noise() -> Vec<u8> {
    let mut draw = Draw(2);
    (0..200_000).map(|_| draw.byte()).collect()
}

/// Short copies, and more occurrences than the search tries.
fn few() -> Vec<u8> {
    let mut draw = Draw(3);
    (0..100_000).map(|_| b'a' + draw.below(6) as u8).collect()
}

/// Copies at the maximum distance and slightly beyond; the same for short copies.
fn afar() -> Vec<u8> {
    let (mut draw, mut bytes) = (Draw(4), Vec::new());
    while bytes.len() < 300_000 {
        let choices = [
            draw.below(40) + 1,
            draw.below(40_000) + 1,
            4_094 + draw.below(6),
            32_762 + draw.below(8),
        ];
        let back = choices[draw.below(4)];
        if bytes.len() < back || draw.below(4) == 0 {
            bytes.push(draw.byte());
            continue;
        }
        let most = [4, 300][draw.below(2)];
        for _ in 0..3 + draw.below(most) {
            bytes.push(bytes[bytes.len() - back]);
        }
    }
    bytes
}

/// Copies that reach across the point where the buffer drops its older half.
fn period() -> Vec<u8> {
    let (mut draw, mut bytes) = (Draw(7), Vec::new());
    while bytes.len() < 400_000 {
        match bytes.len().checked_sub(32_600) {
            Some(old) if draw.below(6) > 0 => bytes.push(bytes[old]),
            _ => bytes.push(draw.byte()),
        }
    }
    bytes
}

/// Frequencies so skewed that the code reaches its length limit.
fn steep() -> Vec<u8> {
    let (mut draw, mut bag) = (Draw(49), Vec::new());
    let (mut count, mut next) = (1, 1);
    for byte in 0_u8.. {
        if bag.len() >= 100_000 {
            break;
        }
        bag.extend(std::iter::repeat_n(byte, count));
        (count, next) = (next, count + next);
    }
    let mut bytes = Vec::new();
    while !bag.is_empty() {
        bytes.push(bag.swap_remove(draw.below(bag.len())));
    }
    bytes
}

/// Alternating runs, noise and skewed bytes, for all block types.
fn patches() -> Vec<u8> {
    let (mut draw, mut bytes) = (Draw(6), Vec::new());
    while bytes.len() < 400_000 {
        let length = draw.below(30_000);
        match draw.below(3) {
            0 => bytes.extend(std::iter::repeat_n(b'=', length)),
            1 => bytes.extend((0..length).map(|_| draw.byte())),
            _ => bytes.extend(
                (0..length).map(|_| (draw.below(1 << 30) | 1 << 29).trailing_zeros() as u8),
            ),
        }
    }
    bytes
}

fn sha256(bytes: &[u8]) -> String {
    hex::encode(sha2::Sha256::digest(bytes))
}

fn read_back(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_end(&mut bytes)
        .expect("what was packed can be read");
    bytes
}

#[test]
fn gzip_of_short_texts_matches_the_reference_bytes() {
    let script = "#!/bin/bash\nset -e\napt-get update\napt-get install -y nginx\n\
                  systemctl enable nginx\nsystemctl start nginx\n";
    let run = "a".repeat(300);
    let expected = [
        ("", "H4sIAAAAAAAA/wAAAP//AQAA//8AAAAAAAAAAA=="),
        ("a", "H4sIAAAAAAAA/0oEAAAA//8BAAD//0O+t+gBAAAA"),
        ("test", "H4sIAAAAAAAA/ypJLS4BAAAA//8BAAD//wx+f9gEAAAA"),
        ("aaaa", "H4sIAAAAAAAA/0pMTEwEAAAA//8BAAD//0XlmK0EAAAA"),
        (
            "hello, hello, hello",
            "H4sIAAAAAAAA/8pIzcnJ11FApgAAAAD//wEAAP//n6HKCRMAAAA=",
        ),
        (
            "abcdbcdeabcde",
            "H4sIAAAAAAAA/0pMSk5JSk5JBdGpAAAAAP//AQAA///gNNZBDQAAAA==",
        ),
        (
            "Grüße, 世界",
            "H4sIAAAAAAAA/3IvOrzn8PxUHYUnO6Y9n9oDAAAA//8BAAD//0wMRlIPAAAA",
        ),
        // Equal size with fixed and dynamic code.
        (
            "33301110210003303",
            "H4sIAAAAAAAA/zI2NjYwNDQ0MDI0MDAwNjYwBgAAAP//AQAA//873ZI5EQAAAA==",
        ),
        // Dynamic code, without copies.
        (
            "1111200220221102",
            "H4sIAAAAAAAA/wTAgQAAAADCMKU+f7hWZWPUHAAA//8BAAD//582mhUQAAAA",
        ),
        // Stored.
        (
            "᤭⮆⇏ඵŊᲛ₡ഹᾫ",
            "H4sIAAAAAAAA/3q4ZO2jdW2P2vsfbNt6tOvhptmPmhY+2LLz4b7VAAAAAP//AQAA//8CksNCGgAAAA==",
        ),
        // Equal size with fixed code and stored.
        (
            "йηαнаñãλíтιòо",
            "H4sIAAAAAAAA/7qw89z2cxsv7L2w4fDGw4vP7T689mLTuZ2HN13YBwAAAP//AQAA//80E/BXGgAAAA==",
        ),
        (&run, "H4sIAAAAAAAA/0ocBUQDAAAAAP//AQAA//8JGZeJLAEAAA=="),
        (
            script,
            "H4sIAAAAAAAA/2TIsQqFMAwF0L1fkcebS78p1VALMRTvFezfuwgOjuf8f6X2KFWxJRglW9LB3IxyjlX5sgeo\
             7pKnROtxJUzQ9oUuFlrdPg3qwWdvAAAA//8BAAD//6n0RMRoAAAA",
        ),
    ];
    for (text, packed) in expected {
        assert_eq!(STANDARD.encode(gzip(text.as_bytes())), packed, "{text:?}");
    }
}

#[test]
fn gzip_of_long_texts_matches_the_reference_digests() {
    let expected = [
        (
            "words",
            words(),
            "d7605921c36c2bf5d31d23ea3586fa299f9318d67b1159538fc349e1695e51f8",
            "6051a65884b472ebedc5d982251ddc035f3bed2ec70697fdb790e2d101e2d8c4",
        ),
        (
            "noise",
            noise(),
            "f8608053e3b0ed3e8181ab2473cb30b0eed678a9bfc29910461ace99c9dd69bb",
            "cc8fb753af232921233e7478c0c8e2ca06b0408c71d5e0a3754f8f1495acc9d5",
        ),
        (
            "few",
            few(),
            "dc428d898ae25fed9b4159aea6c42dbba5db988da88de2e423cca866c40a1e2c",
            "9b8445e485a9d6ce6f0a94302cfc924d155531ce0ec5bf227aece5d9a8c14494",
        ),
        (
            "afar",
            afar(),
            "e83f8ab920318df34d2a0e3ea4dfe8c266f83119381f3d7732f3fcdbc211b59a",
            "1a94095efbd40924465ca42b2d406d29c44c12a0deb77afb067b2d592f6d285d",
        ),
        (
            "steep",
            steep(),
            "878b83b7ae8bbb94fcb1864eff1c91757cbcfe09d4901fbc554b119be590693f",
            "908fb1a5731b32ccea3a742d31bcde1d7a933239ac23c076a22a060d799c18dd",
        ),
        (
            "period",
            period(),
            "74edfe5f4afe4b02335f535a3916de215ba4418b77573d124741aa3be01c4f61",
            "b3c6815d6e332b65a633f13da03976a9febfee2e449e2f63de05a44173a6bec9",
        ),
        (
            "patches",
            patches(),
            "ba2e54ab781941304168d4ebe406ff1bb88d57205d867ffcc658c9cb14df54d1",
            "30e9a36e64be24ab8202c38f2840c8dc8ac7df152222c083ed78f9fcf73fc609",
        ),
    ];
    for (name, bytes, text, packed) in expected {
        assert_eq!(sha256(&bytes), text, "the text of {name}");
        let made = gzip(&bytes);
        assert!(read_back(&made) == bytes, "{name} is read back");
        assert_eq!(sha256(&made), packed, "{name} packed");
    }
}

#[test]
fn huffman_code_respects_the_length_limit_and_is_complete() {
    let mut counts = vec![1, 1];
    while counts.len() < 25 {
        counts.push(counts[counts.len() - 1] + counts[counts.len() - 2]);
    }
    let code = Code::of(&counts, 15);
    let lengths: Vec<u8> = (0..counts.len())
        .map(|symbol| code.length(symbol))
        .collect();
    assert_eq!(lengths.iter().max(), Some(&15));
    let room: u32 = lengths.iter().map(|length| 1 << (15 - length)).sum();
    assert_eq!(room, 1 << 15);
}

#[test]
fn bits_fill_bytes_from_the_least_significant_bit() {
    let mut bits = Bits::after(vec![7]);
    bits.put(0b101, 3);
    bits.put(0x1_ff, 9);
    bits.align();
    bits.extend(&[9]);
    bits.put(1, 1);
    assert_eq!(bits.finish(), [7, 0b1111_1101, 0b1111, 9, 1]);
}

/// Bytes of few values, with runs and repetitions.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = (
        prop::collection::vec(0_u8..8, 0..40),
        1_usize..300,
        any::<u8>(),
    );
    prop::collection::vec(piece, 0..40).prop_map(|pieces| {
        let mut bytes = Vec::new();
        for (fresh, count, byte) in pieces {
            bytes.extend_from_slice(&fresh);
            let begin = bytes.len().saturating_sub(count);
            bytes.extend_from_within(begin..);
            bytes.extend(std::iter::repeat_n(byte, usize::from(byte)));
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn gzip_output_is_readable_by_another_decoder(bytes in prop_oneof![any_bytes(), prop::collection::vec(any::<u8>(), 0..2_000)]) {
        prop_assert_eq!(read_back(&gzip(&bytes)), bytes);
    }
}
