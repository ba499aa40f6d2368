//! How the name of a required check is matched.

/// Whether a name is the required one, or matches its pattern: `*` stands for any text.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut rest = rest;
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_text_and_everything_else_for_itself() {
        assert!(matches("unit", "unit"));
        assert!(!matches("unit", "unit-2"));
        assert!(matches("build (*)", "build (linux, 3.12)"));
        assert!(!matches("build (*)", "build linux"));
        assert!(matches("*/test/*", "a/test/b"));
        assert!(matches("ab*ab", "abab"));
        assert!(!matches("ab*ab", "ab"));
    }
}
