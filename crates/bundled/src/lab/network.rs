//! IPv4 networks in CIDR notation.

/// Network in CIDR notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cidr {
    base: u32,
    bits: u32,
}

impl Cidr {
    /// Parses `10.1.0.0/16`; the error is a sentence for the operator.
    pub(super) fn parse(text: &str) -> Result<Cidr, String> {
        let wrong = || format!("{text:?} is not an IPv4 network like 10.1.0.0/16");
        let (address, bits) = text.split_once('/').ok_or_else(wrong)?;
        let base: std::net::Ipv4Addr = address.parse().map_err(|_| wrong())?;
        let bits: u32 = bits
            .parse()
            .ok()
            .filter(|bits| (8..=29).contains(bits))
            .ok_or_else(|| {
                format!("{text:?} is not a valid network: the prefix must be from /8 to /29")
            })?;
        let cidr = Cidr {
            base: base.into(),
            bits,
        };
        // Usually a typing error, so the message suggests the network address.
        if cidr.base & !cidr.mask() != 0 {
            return Err(format!(
                "{text:?} has bits set beyond its prefix; did you mean {}/{bits}?",
                cidr.address(0)
            ));
        }
        Ok(cidr)
    }

    fn mask(self) -> u32 {
        u32::MAX << (32 - self.bits)
    }

    /// Returns the number of usable addresses.
    pub(super) fn size(self) -> u32 {
        // The addresses of the network itself and of broadcasts are not usable.
        !self.mask() - 1
    }

    /// Returns the address with this number in the network; wraps within the network.
    pub(super) fn address(self, number: u32) -> std::net::Ipv4Addr {
        std::net::Ipv4Addr::from((self.base & self.mask()) | (number & !self.mask()))
    }

    /// Returns true if the other network lies within this one.
    pub(super) fn contains(self, other: Cidr) -> bool {
        other.bits >= self.bits && other.base & self.mask() == self.base & self.mask()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cidr_gives_addresses_size_and_containment() {
        let net = Cidr::parse("10.1.2.0/24").unwrap();
        assert_eq!(net.address(10).to_string(), "10.1.2.10");
        assert_eq!(net.size(), 254);
        assert!(Cidr::parse("10.1.0.0/16").unwrap().contains(net));
        assert!(!net.contains(Cidr::parse("10.1.0.0/16").unwrap()));
    }

    #[test]
    fn malformed_cidr_is_rejected() {
        for text in [
            "",
            "10.0.0.0",
            "10.0.0/24",
            "10.0.0.0/33",
            "10.0.0.0/x",
            "300.0.0.0/8",
        ] {
            assert!(Cidr::parse(text).is_err(), "{text}");
        }
        assert!(
            Cidr::parse("10.0.0.7/24")
                .unwrap_err()
                .contains("10.0.0.0/24")
        );
    }
}
