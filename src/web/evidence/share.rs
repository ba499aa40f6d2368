//! So many at once together, and of one address a part of them: whoever sends slowly keeps its own part busy,
//! and nobody else's.
//!
//! Who has an IPv6 address has 2^64 of them, so they count by the network of 64 bits that they are from.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

/// What is in hand, by address; bounded by how many there may be together.
pub struct Shares {
    most: usize,
    of_one: usize,
    held: Mutex<HashMap<IpAddr, usize>>,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// All together have as many as there are.
    Together,
    /// This address has its part.
    Alone,
}

/// A place, until it is dropped.
pub struct Share<'a> {
    shares: &'a Shares,
    whose: IpAddr,
}

impl Shares {
    /// At most so many at once, and so many of one address.
    pub fn new(most: usize, of_one: usize) -> Self {
        Self {
            most,
            of_one,
            held: Mutex::default(),
        }
    }

    /// Takes a place.
    ///
    /// # Errors
    /// [`Full`].
    pub fn take(&self, peer: IpAddr) -> Result<Share<'_>, Full> {
        let whose = network(peer);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let own = held.get(&whose).copied().unwrap_or_default();
        if own >= self.of_one {
            return Err(Full::Alone);
        }
        if held.values().sum::<usize>() >= self.most {
            return Err(Full::Together);
        }
        held.insert(whose, own + 1);
        Ok(Share {
            shares: self,
            whose,
        })
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let held = &self.shares.held;
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        let left = held.get(&self.whose).map_or(0, |own| own.saturating_sub(1));
        match left {
            0 => held.remove(&self.whose),
            left => held.insert(self.whose, left),
        };
    }
}

fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken<'a>(shares: &'a Shares, peer: &str) -> Result<Share<'a>, Full> {
        shares.take(peer.parse().unwrap())
    }

    #[test]
    fn one_address_gets_its_part_and_leaves_the_rest_to_others() {
        let shares = Shares::new(3, 2);
        let one = taken(&shares, "10.0.0.1").ok();
        let two = taken(&shares, "::ffff:10.0.0.1").ok();
        assert!(one.is_some() && two.is_some());
        assert_eq!(taken(&shares, "10.0.0.1").err(), Some(Full::Alone));
        let other = taken(&shares, "10.0.0.2").ok();
        assert!(other.is_some());
        assert_eq!(taken(&shares, "10.0.0.3").err(), Some(Full::Together));
        drop(one);
        assert!(taken(&shares, "10.0.0.1").is_ok());
        drop((two, other));
        assert!(
            shares.held.lock().unwrap().is_empty(),
            "nobody is remembered"
        );
    }

    #[test]
    fn all_addresses_of_one_network_of_64_bits_are_one() {
        let shares = Shares::new(3, 1);
        let _one = taken(&shares, "2001:db8::1").ok();
        assert_eq!(taken(&shares, "2001:db8::ffff:1").err(), Some(Full::Alone));
        assert!(taken(&shares, "2001:db8:0:1::1").is_ok());
    }
}
