//! What an order costs, in cents.

/// What is left to pay after the discount.
pub fn discounted(total: u64) -> u64 {
    total - total / 10
}

/// What sending it costs.
pub fn shipping(total: u64) -> u64 {
    if total >= 5_000 { 0 } else { 500 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_is_taken_off() {
        assert_eq!(discounted(1_000), 900);
    }

    #[test]
    fn a_small_order_pays_for_sending() {
        assert_eq!(shipping(100), 500);
    }
}
