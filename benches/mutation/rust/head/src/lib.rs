//! A small shop.

/// What happened, in order.
#[derive(Default)]
pub struct Audit(pub Vec<String>);

impl Audit {
    pub fn note(&mut self, what: &str) {
        self.0.push(what.to_owned());
    }
}

pub fn discounted(total: u64) -> u64 {
    total - total / 10
}

pub fn shipping(total: u64) -> u64 {
    if total >= 5_000 { 0 } else { 500 }
}

pub fn allowed(age: u32, _country: &str) -> bool {
    age >= 18
}

pub fn refund(audit: &mut Audit, paid: u64) -> u64 {
    let back = paid;
    audit.note("looked up");
    audit.note("refunded");
    back
}

pub fn retries() -> u32 {
    5
}

pub fn greeting(name: &str) -> String {
    format!("Welcome, {name}")
}

pub fn reserve(audit: &mut Audit, stock: &mut u64, wanted: u64) -> bool {
    if wanted > *stock {
        return false;
    }
    *stock -= wanted;
    audit.note("reserved");
    true
}

#[cfg(test)]
mod tests;
