//! Address ranges ("10.0.0.0/8"): parsing, hosts, subnets and containment, in 128-bit arithmetic
//! for both families. Numbers with leading zeros in IPv4 addresses are decimal, as in OpenTofu.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Address as a number, and its width in bits (32 or 128).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) bits: u128,
    pub(crate) width: u32,
}

/// A range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    /// First address, host bits clear.
    pub(crate) first: Address,
    /// Length of the prefix in bits.
    pub(crate) length: u32,
}

impl Address {
    /// Reads "10.1.2.3" or "fd00::1".
    pub(crate) fn parse(text: &str) -> Option<Address> {
        if text.contains(':') {
            let address: Ipv6Addr = text.parse().ok()?;
            // Mapped addresses count as IPv4, as in OpenTofu.
            return Some(match address.to_ipv4_mapped() {
                Some(v4) => Address {
                    bits: u128::from(u32::from(v4)),
                    width: 32,
                },
                None => Address {
                    bits: address.into(),
                    width: 128,
                },
            });
        }
        let mut bits = 0u128;
        let mut count = 0;
        for part in text.split('.') {
            if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            let value: u32 = part.parse().ok()?;
            if value > 255 {
                return None;
            }
            bits = bits << 8 | u128::from(value);
            count += 1;
        }
        (count == 4).then_some(Address { bits, width: 32 })
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.width == 32 {
            Ipv4Addr::from(self.bits as u32).fmt(f)
        } else {
            Ipv6Addr::from(self.bits).fmt(f)
        }
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.first, self.length)
    }
}

/// `1 << by`, or 0 when that leaves 128 bits.
fn power(by: u32) -> u128 {
    1u128.checked_shl(by).unwrap_or(0)
}

/// Errors of ranges, hosts and subnets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CidrError {
    #[error("invalid CIDR address: {0}")]
    Invalid(String),
    #[error("prefix of {length} does not accommodate a host numbered {host}")]
    NoHost { length: u32, host: i128 },
    #[error("insufficient address space to extend prefix of {length} by {new_bits}")]
    TooLong { length: u32, new_bits: i64 },
    #[error("prefix extension of {new_bits} does not accommodate a subnet numbered {number}")]
    NoSubnet { new_bits: i64, number: u128 },
}

impl Range {
    /// Parses "10.0.0.0/8"; host bits are cleared.
    ///
    /// # Errors
    /// The text is not a range.
    pub(crate) fn parse(text: &str) -> Result<Range, CidrError> {
        let bad = || CidrError::Invalid(text.to_owned());
        let (address, length) = text.split_once('/').ok_or_else(bad)?;
        // IPv6 notation stays 128 bits wide, even for mapped IPv4 addresses.
        let address = if address.contains(':') {
            Address {
                bits: address.parse::<Ipv6Addr>().map_err(|_| bad())?.into(),
                width: 128,
            }
        } else {
            Address::parse(address).ok_or_else(bad)?
        };
        // Digits only, because the number parser would accept a sign.
        if length.is_empty() || length.len() > 3 || !length.bytes().all(|b| b.is_ascii_digit()) {
            return Err(bad());
        }
        let length: u32 = length.parse().map_err(|_| bad())?;
        if length > address.width {
            return Err(bad());
        }
        let range = Range {
            first: address,
            length,
        };
        Ok(Range {
            first: Address {
                bits: address.bits & !range.host_mask(),
                width: address.width,
            },
            length,
        })
    }

    fn host_mask(&self) -> u128 {
        power(self.first.width - self.length).wrapping_sub(1)
    }

    /// Last address of the range.
    pub(crate) fn last(&self) -> Address {
        Address {
            bits: self.first.bits | self.host_mask(),
            width: self.first.width,
        }
    }

    /// The network mask as an address.
    pub(crate) fn netmask(&self) -> Address {
        let all = power(self.first.width).wrapping_sub(1);
        Address {
            bits: all & !self.host_mask(),
            width: self.first.width,
        }
    }

    /// Returns true if the address lies in the range. Both must have the same family.
    pub(crate) fn contains(&self, address: Address) -> bool {
        address.width == self.first.width && address.bits & !self.host_mask() == self.first.bits
    }

    /// Address number `host`; negative numbers count from the end.
    ///
    /// # Errors
    /// The range has no such address.
    pub(crate) fn host(&self, host: i128) -> Result<Address, CidrError> {
        let max = self.host_mask();
        // -1 is the last address, so the distance from the end is one less.
        let number = if host < 0 {
            host.unsigned_abs() - 1
        } else {
            host.unsigned_abs()
        };
        if number > max {
            let length = self.length;
            return Err(CidrError::NoHost { length, host });
        }
        let number = if host < 0 { max - number } else { number };
        Ok(Address {
            bits: self.first.bits | number,
            width: self.first.width,
        })
    }

    /// Subnet `number` after extending the prefix by `new_bits`.
    ///
    /// # Errors
    /// The address space is too small.
    pub(crate) fn subnet(&self, new_bits: i64, number: u128) -> Result<Range, CidrError> {
        let length = i64::from(self.length) + new_bits;
        if length > i64::from(self.first.width) || length < 0 {
            let length = self.length;
            return Err(CidrError::TooLong { length, new_bits });
        }
        let length = length as u32;
        // `power(128)` is 0, and the subtraction then wraps to the largest number.
        if new_bits >= 0 && number > power(new_bits as u32).wrapping_sub(1) {
            return Err(CidrError::NoSubnet { new_bits, number });
        }
        let shift = self.first.width - length;
        let bits = self.first.bits | number.checked_shl(shift).unwrap_or(0);
        let range = Range {
            first: Address {
                bits,
                width: self.first.width,
            },
            length,
        };
        Ok(Range {
            first: Address {
                bits: bits & !range.host_mask(),
                width: self.first.width,
            },
            length,
        })
    }

    /// Packs consecutive subnets with absolute prefix lengths. `None` for a subnet that no longer
    /// fits.
    pub(crate) fn pack(&self, from: Option<u128>, length: u32) -> Option<(Range, u128)> {
        let size = power(self.first.width - length);
        let start = from.unwrap_or(self.first.bits);
        // A size of 2^128 is written as 0 and fits once, at the very start.
        let aligned = start
            .checked_add(size.wrapping_sub(1))?
            .checked_div(size)
            .map_or(0, |n| n * size);
        let first = Address {
            bits: aligned,
            width: self.first.width,
        };
        if aligned < self.first.bits || !self.contains(first) {
            return None;
        }
        Some((
            Range { first, length },
            if size == 0 {
                u128::MAX
            } else {
                aligned.saturating_add(size)
            },
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_numbers_count_from_either_end_of_the_range() {
        let range = Range::parse("10.12.112.0/20").unwrap();
        assert_eq!(range.host(16).unwrap().to_string(), "10.12.112.16");
        assert_eq!(range.host(-1).unwrap().to_string(), "10.12.127.255");
        assert!(range.host(4096).is_err());
        assert_eq!(
            Range::parse("fd00::/8")
                .unwrap()
                .host(1)
                .unwrap()
                .to_string(),
            "fd00::1"
        );
    }

    #[test]
    fn subnets_stay_within_the_range() {
        let range = Range::parse("172.16.0.0/12").unwrap();
        assert_eq!(range.subnet(4, 2).unwrap().to_string(), "172.18.0.0/16");
        assert!(range.subnet(24, 0).is_err());
        assert!(range.subnet(1, 2).is_err());
        assert_eq!(
            Range::parse("::/0")
                .unwrap()
                .subnet(128, 1)
                .unwrap()
                .to_string(),
            "::1/128"
        );
    }

    #[test]
    fn cidr_octets_with_leading_zeros_are_decimal() {
        assert_eq!(
            Range::parse("010.0.0.1/8").unwrap().to_string(),
            "10.0.0.0/8"
        );
        assert!(Range::parse("10.0.0.0/33").is_err());
    }
}
