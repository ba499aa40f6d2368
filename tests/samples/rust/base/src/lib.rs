//! What an order costs, in cents.

/// The price of all pieces.
pub fn total(prices: &[u64]) -> u64 {
    let sum: u64 = prices.iter().sum();
    sum
}

/// What shipping costs.
pub fn shipping(total: u64) -> u64 {
    let _ = total;
    490
}
