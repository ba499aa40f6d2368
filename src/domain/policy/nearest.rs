//! The name somebody most likely meant.

/// The known name nearest to `word`, if one is near enough that a slip of the fingers explains it.
pub(in crate::domain) fn nearest<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().take(64).collect();
    let allowed = match word.len() {
        0..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    known
        .into_iter()
        .map(|name| {
            let letters: Vec<char> = name.to_lowercase().chars().collect();
            (distance(&word, &letters), name)
        })
        .filter(|(distance, name)| *distance <= allowed && *distance < name.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Letters to add, remove, change, or swap with the next, to make one word of the other.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let change = last[j] + usize::from(a != b);
            let mut best = change.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] = [
        "checks",
        "mutation_check",
        "second_verifier",
        "mode",
        "merge",
    ];

    #[test]
    fn slips_of_the_fingers_find_the_name() {
        assert_eq!(nearest("mutaton_check", NAMES), Some("mutation_check"));
        assert_eq!(nearest("mutation-check", NAMES), Some("mutation_check"));
        assert_eq!(nearest("Checks", NAMES), Some("checks"));
        assert_eq!(nearest("mdoe", NAMES), Some("mode"));
    }

    #[test]
    fn another_word_finds_nothing() {
        assert_eq!(nearest("teapot", NAMES), None);
        assert_eq!(nearest("", NAMES), None);
        assert_eq!(nearest("x", ["ab"]), None);
    }
}
