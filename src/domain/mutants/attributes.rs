//! Which of Rust's attributes make an item a test, so that no build for use holds it.
//!
//! Only what is certain: `#[cfg(test)]` and `all(...)` with it, since `any(test, feature = "x")` is built
//! for use as well; and the attributes of the known test frameworks, since any macro may be called
//! `case::test`. `#[test_case]` is left out: it keeps the function that it is written on.

/// Attributes that leave nothing of an item outside of tests.
const KNOWN: &[&str] = &[
    "test",
    "bench",
    "core::prelude::v1::test",
    "std::prelude::v1::test",
    "tokio::test",
    "async_std::test",
    "smol_potat::test",
    "futures_test::test",
    "actix_rt::test",
    "actix_web::test",
    "ntex::test",
    "sqlx::test",
    "test_log::test",
    "test_strategy::proptest",
    "rstest",
    "rstest::rstest",
    "gtest",
    "googletest::gtest",
    "googletest::test",
    "quickcheck",
    "quickcheck_macros::quickcheck",
    "wasm_bindgen_test",
    "wasm_bindgen_test::wasm_bindgen_test",
];

/// Whether the attribute before an item makes it a test.
pub(super) fn makes_a_test(attribute: &str) -> bool {
    let Some((name, inside)) = parts(attribute, "#") else {
        return false;
    };
    let plain: String = name.split_whitespace().collect();
    let name = plain.strip_prefix("::").unwrap_or(&plain);
    KNOWN.contains(&name) || name == "cfg" && inside.is_some_and(needs_test)
}

/// Whether the attribute at the top of a file makes all of it tests.
pub(super) fn makes_all_tests(attribute: &str) -> bool {
    let parts = parts(attribute, "#!");
    parts.is_some_and(|(name, inside)| name == "cfg" && inside.is_some_and(needs_test))
}

/// An attribute's name, and what stands in brackets behind it.
fn parts<'a>(attribute: &'a str, mark: &str) -> Option<(&'a str, Option<&'a str>)> {
    let words = attribute.trim().strip_prefix(mark)?.trim_start();
    let words = words.strip_prefix('[')?.strip_suffix(']')?.trim();
    Some(match words.split_once('(') {
        Some((name, inside)) => (name.trim(), inside.trim_end().strip_suffix(')')),
        None => (words, None),
    })
}

/// Whether a condition holds in tests alone. Comments, escapes and raw texts make it too hard to say.
fn needs_test(condition: &str) -> bool {
    let condition = condition.trim();
    if condition.contains(['/', '\\', '#']) {
        return false;
    }
    if condition == "test" {
        return true;
    }
    let all = condition.strip_prefix("all").map(str::trim_start);
    let all = all.and_then(|rest| rest.strip_prefix('(')?.strip_suffix(')'));
    all.is_some_and(|list| {
        let parts = outermost(list);
        parts.is_some_and(|parts| parts.into_iter().any(needs_test))
    })
}

/// The parts of a list, by the commas that stand in no bracket and no text. `None` where brackets or texts
/// are not closed in it, as in `a), any(b`.
fn outermost(list: &str) -> Option<Vec<&str>> {
    let (mut depth, mut quoted, mut from) = (0_usize, false, 0);
    let mut parts = Vec::new();
    for (at, c) in list.char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                parts.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[from..]);
    (depth == 0 && !quoted).then_some(parts)
}
