//! The pull request's own form: its description and its size.

use super::Case;
use crate::domain::policy::Description;
use crate::domain::verdict::{Basis, GateResult, Move, Proof};

/// GitHub's closing keywords (docs: "Linking a pull request to an issue").
const CLOSING: [&str; 9] = [
    "close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved",
];

/// Judges `description`.
pub fn description(case: &Case<'_>, gate: &Description) -> GateResult {
    const GATE: &str = "description";
    let body = &case.pull.body;
    if gate.closes_issue && !closes_issue(body) {
        let reason = "The description closes no issue.";
        return GateResult::waiting(GATE, Move::Author, reason)
            .next("write `Closes #NUMBER` into the description");
    }
    let missing: Vec<_> = gate
        .sections
        .iter()
        .filter(|section| !has_section(body, section))
        .map(String::as_str)
        .collect();
    if !missing.is_empty() {
        let missing = missing.join("`, `");
        let reason = format!("The description has no text under `{missing}`.");
        return GateResult::waiting(GATE, Move::Author, reason)
            .next(format!("add the headings `{missing}` with text below them"));
    }
    let proof = Proof::one(Basis::new("the description", None));
    GateResult::satisfied(GATE, proof, "The description has what the policy asks for.")
}

/// Whether a text names an issue after a closing keyword: `Fixes #12`, `closes: org/repo#12`.
fn closes_issue(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).any(|pair| {
        let keyword = pair[0].trim_end_matches(':').to_ascii_lowercase();
        let issue = pair[1].trim_end_matches(['.', ',', ';', ')']);
        let number = issue
            .rsplit_once('#')
            .or_else(|| issue.rsplit_once("/issues/"))
            .map(|(_, number)| number);
        CLOSING.contains(&keyword.as_str())
            && number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// Whether a heading of this name has text below it, before the next heading.
pub fn has_section(body: &str, section: &str) -> bool {
    let heading = |line: &str| line.trim_start().starts_with('#');
    let name = |line: &str| line.trim().trim_matches('#').trim().to_lowercase();
    let mut lines = body
        .lines()
        .skip_while(|line| !(heading(line) && name(line) == section.to_lowercase()));
    lines.next().is_some()
        && lines
            .take_while(|line| !heading(line))
            .any(|line| !line.trim().is_empty())
}

/// Judges `size`.
pub fn size(case: &Case<'_>, most: u64) -> GateResult {
    const GATE: &str = "size";
    let comparison = match case.comparison() {
        Ok(comparison) => comparison,
        Err(why) => {
            let reason = format!("How much changed is not known: {why}.");
            return GateResult::undetermined(GATE, Move::Countersign, reason);
        }
    };
    let files = &comparison.files.items;
    let changed: u64 = files
        .iter()
        .map(|file| file.additions.saturating_add(file.deletions))
        .fold(0, u64::saturating_add);
    if changed > most {
        let reason = format!("{changed} lines changed, and the policy allows {most}.");
        return GateResult::failed(GATE, Move::Author, reason).next("split the change");
    }
    if let Err(why) = case.every_file() {
        let reason = format!("How much changed is not known: {why}.");
        return GateResult::undetermined(GATE, Move::Author, reason).next("split the change");
    }
    let proof = Proof::one(Basis::new("the diff", None));
    GateResult::satisfied(
        GATE,
        proof,
        format!("{changed} of at most {most} lines changed."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issue_is_closed_by_a_keyword_and_a_number() {
        assert!(closes_issue("This\r\nFixes #12."));
        assert!(closes_issue("closes: acme/shop#3"));
        assert!(closes_issue(
            "Resolves https://github.com/acme/shop/issues/3"
        ));
        assert!(!closes_issue("see #12"));
        assert!(!closes_issue("fixes #"));
    }

    #[test]
    fn a_section_needs_text_below_its_heading() {
        assert!(has_section("## Trap\n\nA race.\n## Proof\n", "trap"));
        assert!(!has_section("## Trap\n\n## Proof\nx", "Trap"));
        assert!(!has_section("Trap\nx", "Trap"));
    }
}
