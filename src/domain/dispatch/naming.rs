//! Whether a pull request is about an issue: whether it names it.

use crate::domain::facts::PullRequest;
use crate::domain::model::PullNumber;

/// Whether a pull request names an issue: `#12` or the issue's address in its title or description, or
/// `issue-12` in its branch's name.
pub fn names(pull: &PullRequest, issue: PullNumber) -> bool {
    let number = issue.to_string();
    let within = |text: &str| follows(text, "#", &number) || follows(text, "/issues/", &number);
    let branch = pull.head_ref.to_ascii_lowercase();
    within(&pull.title)
        || within(&pull.body)
        || ["issue-", "issue_", "issue/", "issues/"]
            .iter()
            .any(|before| follows(&branch, before, &number))
}

/// Whether a number stands somewhere right after a mark, and is not the beginning of a longer one.
fn follows(text: &str, mark: &str, number: &str) -> bool {
    text.match_indices(mark).any(|(at, _)| {
        let rest = text.get(at + mark.len()..).unwrap_or_default();
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_digit());
        rest.strip_prefix(number).is_some_and(ends)
    })
}
