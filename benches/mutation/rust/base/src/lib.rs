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
    total
}

pub fn shipping(_total: u64) -> u64 {
    500
}

pub fn allowed(age: u32, country: &str) -> bool {
    if country.is_empty() {
        return false;
    }
    age >= 18
}

pub fn refund(audit: &mut Audit, paid: u64) -> u64 {
    let back = paid;
    audit.note("looked up");
    back
}

pub fn retries() -> u32 {
    3
}

pub fn greeting(name: &str) -> String {
    format!("Hello, {name}")
}

pub fn reserve(audit: &mut Audit, stock: &mut u64, wanted: u64) -> bool {
    if wanted > *stock {
        return false;
    }
    audit.note("reserved");
    *stock -= wanted;
    true
}

#[cfg(test)]
mod tests;
