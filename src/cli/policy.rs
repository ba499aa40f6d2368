//! `countersign policy schema`, and what `policy check` says of a file by itself: files in, sentences out.

mod meaning;

use std::fmt::Write;
use std::io::Read;
use std::path::Path;

use super::{Complaint, Ended, Exit};
use crate::domain::model::RepoName;
use crate::domain::policy::{self, Problem};
pub use meaning::meaning;

/// The largest file that is read.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Prints the JSON Schema.
pub fn schema() -> Ended {
    print!("{}", policy::schema::json_schema());
    Ok(Exit::Done)
}

/// A file's text; `-` is standard input.
pub fn text_of(file: &Path) -> Result<String, Complaint> {
    let shown = file.display();
    let unreadable = |error: &dyn std::fmt::Display| {
        Complaint::new(Exit::Usage, format!("{shown} cannot be read: {error}"))
    };
    let mut bytes = Vec::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().take(LARGEST + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > LARGEST {
        return Err(unreadable(&"it is larger than 4 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| unreadable(&"it is not UTF-8 text"))
}

/// A repository, as typed.
pub fn parse_repo(text: &str) -> Result<RepoName, String> {
    RepoName::parse(text)
        .map_err(|error| format!("{error}; write it as OWNER/REPO, such as acme/shop"))
}

/// Every problem, each with its line and a caret below the place.
pub fn complaints(file: &str, problems: &[Problem]) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for problem in problems {
        let _ = match (problem.line, problem.column) {
            (0, _) => writeln!(text, "{file}: {}", problem.message),
            (line, column) => writeln!(text, "{file}:{line}:{column}: {}", problem.message),
        };
        if let Some(excerpt) = problem.excerpt.as_deref().filter(|_| problem.line > 0) {
            let number = problem.line.to_string();
            let _ = writeln!(text, "  {number} | {excerpt}");
            let before = usize::try_from(problem.column.saturating_sub(1)).unwrap_or(0);
            let blank = " ".repeat(number.len() + before.min(excerpt.chars().count()));
            let _ = writeln!(text, "  {blank}   ^");
        }
        if let Some(hint) = &problem.hint {
            let _ = writeln!(text, "  {hint}");
        }
    }
    let count = problems.len();
    let plural = if count == 1 { "" } else { "s" };
    let _ = writeln!(
        text,
        "{count} problem{plural}: nothing would merge under this policy."
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_shown_with_their_line_a_caret_and_a_hint() {
        let wrong = "version: 1\ngates:\n  mutaton_check:\n    critical: ['src/**']\n  checks:\n    required: []\n";
        let problems = policy::read::read(wrong).unwrap_err();
        insta::assert_snapshot!(complaints("countersign.yml", &problems));
    }

    #[test]
    fn a_valid_policy_is_told_in_short() {
        let text = include_str!("../../tests/policies/complete.yml");
        insta::assert_snapshot!(meaning(&policy::read::read(text).unwrap(), 0));
    }
}
