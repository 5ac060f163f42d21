//! Addresses: whose they are (what one client can choose freely counts as one), and which are this
//! machine.

use std::net::{IpAddr, Ipv6Addr};

/// The address that is counted: of IPv6 the network of 64 bits, which one client has whole.
pub fn counted(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into()
        }
        address => address,
    }
}

/// Whether an address is this machine, also as one of IPv4 in IPv6.
pub fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// The last address of a header `X-Forwarded-For`: the one that the nearest proxy has added.
pub fn forwarded(header: &str) -> Option<IpAddr> {
    let last = header.rsplit(',').next()?.trim();
    let socket = || last.parse().map(|address: std::net::SocketAddr| address.ip());
    last.parse().or_else(|_| socket()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_of_ipv6_are_one_address() {
        let of = |text: &str| counted(text.parse().unwrap()).to_string();
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::"));
        assert_ne!(of("2001:db8:1:2::"), of("2001:db8:1:3::"));
        assert_eq!((&*of("::ffff:10.0.0.1"), &*of("10.0.0.1"), &*of("::1")), ("10.0.0.1", "10.0.0.1", "::1"));
    }

    #[test]
    fn the_last_entry_is_the_proxys() {
        for (header, address) in [
            ("1.1.1.1, 2.2.2.2", Some("2.2.2.2")),
            ("2001:db8::1", Some("2001:db8::1")),
            ("1.1.1.1,[2001:db8::1]:80", Some("2001:db8::1")),
            ("1.1.1.1, unknown", None),
            ("", None),
        ] {
            assert_eq!(forwarded(header), address.map(|address| address.parse().unwrap()), "{header}");
        }
    }
}
