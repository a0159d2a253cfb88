//! Tests of valid and malformed handshake lines.

use super::*;

fn error(line: &str) -> HandshakeError {
    Handshake::parse(line.as_bytes()).expect_err(line)
}

#[test]
fn s0_08_handshake_lines_of_real_plugins_are_parsed() {
    let plain = Handshake::parse(b"1|5|unix|/tmp/plugin2066927795|grpc|\n").expect("read");
    assert_eq!((plain.protocol, &plain.certificate), (5, &None));
    assert_eq!(plain.address, Address::Unix("/tmp/plugin2066927795".into()));
    let der: Vec<u8> = (0..=255).cycle().take(592).collect();
    for cut in [592, 591, 590] {
        let hs = Handshake {
            protocol: 6,
            address: Address::Tcp(([127, 0, 0, 1], 10001).into()),
            certificate: Some(der[..cut].to_vec()),
            multiplexed: false,
        };
        assert_eq!(Handshake::parse(hs.to_string().as_bytes()), Ok(hs));
    }
    // Old plugins print short text in place of a certificate.
    assert_eq!(
        Handshake::parse(b"1|5|tcp|127.0.0.1:1234|grpc|junk|")
            .expect("read")
            .certificate,
        None
    );
}

#[test]
fn s0_08_malformed_handshake_lines_have_distinct_escaped_errors() {
    use HandshakeError as E;
    let bad_cert = format!("1|5|unix|/s|grpc|{}", "A*".repeat(40));
    let cases: &[(&str, fn(&E) -> bool)] = &[
        ("", |e| matches!(e, E::Empty)),
        ("hello", |e| matches!(e, E::Unrecognised { fields: 1, .. })),
        ("1|5|unix", |e| {
            matches!(e, E::Unrecognised { fields: 3, .. })
        }),
        ("1|5|unix|/s|grpc||false|x", |e| {
            matches!(e, E::Unrecognised { fields: 8, .. })
        }),
        ("2|5|unix|/s|grpc|", |e| {
            matches!(e, E::CoreVersion { found: 2, .. })
        }),
        ("2|what", |e| matches!(e, E::CoreVersion { found: 2, .. })),
        ("x|5|unix|/s|grpc|", |e| matches!(e, E::CoreNotANumber(_))),
        ("1|x|unix|/s|grpc|", |e| {
            matches!(e, E::ProtocolNotANumber(_))
        }),
        ("1|5|unix|/s", |e| matches!(e, E::NetRpc(_))),
        ("1|5|unix|/s|netrpc|", |e| matches!(e, E::NetRpc(_))),
        ("1|5|unix|/s|http|", |e| matches!(e, E::Kind { .. })),
        ("1|5|unix||grpc|", |e| {
            matches!(
                e,
                E::Address {
                    source: AddressError::Empty,
                    ..
                }
            )
        }),
        ("1|5|tcp|nowhere|grpc|", |e| {
            matches!(
                e,
                E::Address {
                    source: AddressError::Tcp(_),
                    ..
                }
            )
        }),
        ("1|5|quic|/s|grpc|", |e| {
            matches!(
                e,
                E::Address {
                    source: AddressError::Network(_),
                    ..
                }
            )
        }),
        (&bad_cert, |e| matches!(e, E::Certificate { .. })),
        ("1|5|unix|/s|grpc||maybe", |e| matches!(e, E::Multiplex(_))),
        ("1|5|unix|/s|grpc||true", |e| matches!(e, E::Multiplexed(_))),
    ];
    for (line, expected) in cases {
        let found = error(line);
        assert!(expected(&found), "{line:?}: {found:?}");
        let start: String = line.chars().take(100).collect();
        assert!(
            found.to_string().contains(&start),
            "{found} does not show {start}"
        );
    }
    let long_path = format!("1|5|unix|/{}|grpc|", "a".repeat(120));
    assert!(matches!(
        error(&long_path),
        E::Address {
            source: AddressError::TooLong { length: 121, .. },
            ..
        }
    ));
    assert!(matches!(
        Handshake::parse(&[0xff, 0xfe, b'|']),
        Err(E::NotText(_))
    ));
    let endless = vec![b'x'; MAX_LINE + 1];
    let shown = Handshake::parse(&endless).expect_err("too long");
    assert!(matches!(shown, E::TooLong(_)) && shown.to_string().len() < 400);
    assert!(
        !error("a\x1b[2J").to_string().contains('\x1b'),
        "escape sequences must not reach a terminal"
    );
}

#[test]
fn highest_common_protocol_version_is_chosen() {
    assert_eq!(choose_protocol("5,6", &[5]), Some(5));
    assert_eq!(choose_protocol("6, 5", &[5, 6]), Some(6));
    assert_eq!(choose_protocol("4", &[5, 6]), None);
    let four = Handshake::parse(b"1|4|unix|/s|grpc|").expect("read");
    let refused = four
        .expect_protocol(&[5, 6])
        .expect_err("refused")
        .to_string();
    assert_eq!(
        refused,
        "the plugin offers protocol version 4, but flightdeck supports only 5 and 6"
    );
    assert_eq!(four.expect_protocol(&[4]), Ok(()));
}
