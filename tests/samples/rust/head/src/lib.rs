//! What an order costs, in cents.

/// The price of all pieces.
pub fn total(prices: &[u64]) -> u64 {
    let sum: u64 = prices.iter().sum();
    let sum = if prices.len() > 3 { sum - sum / 10 } else { sum };
    sum
}

/// What shipping costs.
pub fn shipping(total: u64) -> u64 {
    if total >= 5_000 {
        return 0;
    }
    490
}
