//! One line that is tested and one that is not.

/// Tested.
pub fn is_adult(age: u32) -> bool {
    age >= 18
}

/// Not tested.
pub fn is_senior(age: u32) -> bool {
    age > 65
}

#[cfg(test)]
mod tests {
    #[test]
    fn eighteen_is_adult_and_seventeen_is_not() {
        assert!(super::is_adult(18));
        assert!(super::is_adult(30));
        assert!(!super::is_adult(17));
    }
}
