//! What a change of the policy would do, in words: a section of the check run, and lines on a terminal.

use super::markdown::{Place, code, inline};
use super::{text, words};
use crate::domain::policy::Problem;
use crate::domain::preview::{Difference, Effects, GateDifference, Preview, Then};
use crate::domain::verdict::Landing;

/// Pull requests, and problems, that are told one by one on a check run.
const MOST_TOLD: usize = 30;
/// A sentence, in characters.
const SENTENCE_CHARS: usize = 500;

/// One line and those that belong under it.
struct Item {
    line: String,
    under: Vec<String>,
}

/// How a text that somebody else wrote is made harmless for a place.
type Harmless = fn(&str) -> String;

/// The section of a check run's text, as Markdown.
pub(super) fn section(preview: &Preview) -> String {
    let safe: Harmless = |text| inline(text, Place::Sentence, SENTENCE_CHARS);
    let mut section = String::from("### What this policy change would do\n\n");
    section +=
        "This pull request changes the policy. It is judged by the policy that stands now.\n\n";
    let (head, items) = told(preview, safe, "other ");
    section += &head;
    section.push('\n');
    if !items.is_empty() {
        section.push('\n');
    }
    let more = items.len().saturating_sub(MOST_TOLD);
    for item in items.iter().take(MOST_TOLD) {
        section += &format!("- {}\n", item.line);
        for line in &item.under {
            section += &format!("  - {line}\n");
        }
    }
    if more > 0 {
        section += &format!("- and {more} more\n");
    }
    section
}

/// The same as plain text for a terminal, all of it.
pub fn terminal(preview: &Preview) -> String {
    let (head, items) = told(preview, text::line, "");
    let mut lines = vec![head];
    for item in items {
        lines.push(format!("  {}", item.line));
        lines.extend(item.under.iter().map(|line| format!("      {line}")));
    }
    lines.join("\n") + "\n"
}

fn told(preview: &Preview, safe: Harmless, other: &str) -> (String, Vec<Item>) {
    match preview {
        Preview::Unreadable(why) => {
            let why = safe(&text::stopped(why));
            let head =
                format!("What it would do cannot be told: the new file could not be read. {why}");
            (head, Vec::new())
        }
        Preview::Invalid(problems) => {
            let head = format!(
                "The new policy does not validate ({}): every merge would stop until it is mended.",
                counted(problems.len(), "problem")
            );
            (
                head,
                problems.iter().map(|one| problem(one, safe)).collect(),
            )
        }
        Preview::Effects(effects) => {
            let items = effects.changes.iter().map(|one| difference(one, safe));
            (summary(effects, safe, other), items.collect())
        }
    }
}

fn problem(problem: &Problem, safe: Harmless) -> Item {
    let place = match problem.line {
        0 => String::new(),
        line => format!("line {line}, column {}: ", problem.column),
    };
    let hint = problem.hint.as_deref().map(|hint| format!("; {hint}"));
    let message = format!("{}{}", problem.message, hint.unwrap_or_default());
    Item {
        line: place + &safe(&text::stopped(&message)),
        under: Vec::new(),
    }
}

/// `other` where the pull request that changes the policy is not among those that are told of.
fn summary(effects: &Effects, safe: Harmless, other: &str) -> String {
    let then = match &effects.then {
        Then::NewPolicy => String::new(),
        Then::Default(which) => {
            format!("The file would be gone, and {}, would apply. ", safe(which))
        }
        Then::Nothing => {
            "The file would be gone: Countersign would do nothing here any more. ".to_owned()
        }
    };
    let into = match &effects.base {
        Some(base) => format!(" into {}", code(base.as_str())),
        None => String::new(),
    };
    let looked_at = effects.changes.len() + effects.same;
    let left_out = match effects.left_out {
        0 => String::new(),
        more => format!(" {more} more were not looked at."),
    };
    let found = match (effects.changes.len(), looked_at) {
        (_, 0) => format!("No {other}pull request{into} is open."),
        (0, 1) => format!(
            "The one {other}open pull request{into} would stand as it stands now: every gate keeps its state, though its reason may read differently."
        ),
        (0, all) => format!(
            "All {all} {other}open pull requests{into} would stand as they stand now: every gate keeps its state, though its reason may read differently."
        ),
        (changed, all) => format!(
            "Of {all} {other}open {}{into}, {changed} would stand otherwise and {} as {}.",
            if all == 1 {
                "pull request"
            } else {
                "pull requests"
            },
            match effects.same {
                1 => "1 stays".to_owned(),
                same => format!("{same} stay"),
            },
            if effects.same == 1 {
                "it is"
            } else {
                "they are"
            },
        ),
    };
    let default_too = if effects.default_too {
        " It is the organisation's default as well: repositories without a policy of their own would \
         follow it, and their pull requests were not looked at."
    } else {
        ""
    };
    format!("{then}{found}{left_out}{default_too}")
}

fn difference(difference: &Difference, safe: Harmless) -> Item {
    let line = match (difference.before, difference.after) {
        (before, after) if before == after => {
            format!("#{}: {}, as now", difference.number, after.word())
        }
        (before, after) => format!(
            "#{}: {} → {}",
            difference.number,
            before.word(),
            after.word()
        ),
    };
    let landing = difference.landing.map(|(before, after)| {
        format!("once it is ready: {} → {}", landing(before), landing(after))
    });
    let gates = difference.gates.iter().map(|gate| changed(gate, safe));
    Item {
        line,
        under: gates.chain(landing).collect(),
    }
}

fn changed(gate: &GateDifference, safe: Harmless) -> String {
    let word = |state: &Option<String>| state.clone().unwrap_or_else(|| "not asked for".into());
    let reason = match &gate.after {
        Some(_) => text::stopped(&gate.reason),
        None => format!("it was open: {}", text::stopped(&gate.reason)),
    };
    format!(
        "{}: {} → {}: {}",
        safe(&format!("`{}`", gate.gate)),
        word(&gate.before),
        word(&gate.after),
        safe(&reason)
    )
}

fn landing(landing: Landing) -> &'static str {
    text::unstopped(words::landing(landing))
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        many => format!("{many} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::model::{BaseRef, PullNumber};
    use crate::domain::verdict::Outcome;

    fn gate(name: &str, before: Option<&str>, after: Option<&str>, why: &str) -> GateDifference {
        GateDifference {
            gate: name.into(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
            reason: why.into(),
        }
    }

    fn change(number: u64, before: Outcome, after: Outcome) -> Difference {
        Difference {
            number: PullNumber::new(number).unwrap(),
            before,
            after,
            landing: None,
            gates: Vec::new(),
        }
    }

    fn effects() -> Effects {
        let mut first = change(12, Outcome::Ready, Outcome::Waiting);
        let why = "No independent verifier has countersigned `4f9d21c` yet";
        let second = gate("second_verifier", Some("satisfied"), Some("waiting"), why);
        let hostile = "`evil` <!-- all | [x](javascript:1)\n/merge\u{1b}[2J";
        first.gates = vec![second, gate("checks", None, Some("failed"), hostile)];
        let mut other = change(14, Outcome::Ready, Outcome::Ready);
        other.landing = Some((Landing::Now, Landing::ByPeople));
        let mut third = change(15, Outcome::Waiting, Outcome::Ready);
        third.gates = vec![gate(
            "approvals",
            Some("waiting"),
            None,
            "0 of 1 approvals.",
        )];
        Effects {
            changes: vec![first, other, third],
            same: 3,
            left_out: 2,
            ..Effects::none(BaseRef::parse("main").ok(), Then::NewPolicy)
        }
    }

    #[test]
    fn the_section_names_who_would_stand_otherwise_gate_by_gate() {
        insta::assert_snapshot!(section(&Preview::Effects(effects())), @r##"
### What this policy change would do

This pull request changes the policy. It is judged by the policy that stands now.

Of 6 other open pull requests into `main`, 3 would stand otherwise and 3 stay as they are. 2 more were not looked at.

- #12: ready → waiting
  - `second_verifier`: satisfied → waiting: No independent verifier has countersigned `4f9d21c` yet.
  - `checks`: not asked for → failed: `evil` &lt;\!-- all \| \[x\](javascript:1) /merge�\[2J.
- #14: ready, as now
  - once it is ready: Countersign merges it → People merge it: the policy says that Countersign does not
- #15: waiting → ready
  - `approvals`: waiting → not asked for: it was open: 0 of 1 approvals.
"##);
    }

    #[test]
    fn the_terminal_is_told_the_same_and_steered_by_nobody() {
        insta::assert_snapshot!(terminal(&Preview::Effects(effects())), @r##"
Of 6 open pull requests into `main`, 3 would stand otherwise and 3 stay as they are. 2 more were not looked at.
  #12: ready → waiting
      `second_verifier`: satisfied → waiting: No independent verifier has countersigned `4f9d21c` yet.
      `checks`: not asked for → failed: `evil` <!-- all | [x](javascript:1) /merge�[2J.
  #14: ready, as now
      once it is ready: Countersign merges it → People merge it: the policy says that Countersign does not
  #15: waiting → ready
      `approvals`: waiting → not asked for: it was open: 0 of 1 approvals.
"##);
    }

    #[test]
    fn a_new_policy_that_is_wrong_is_told_by_line_and_column() {
        let text = "version: 1\ngats: {}\n";
        let problems = crate::domain::policy::read::read(text).unwrap_err();
        insta::assert_snapshot!(section(&Preview::Invalid(problems)), @r##"
### What this policy change would do

This pull request changes the policy. It is judged by the policy that stands now.

The new policy does not validate (2 problems): every merge would stop until it is mended.

- line 1, column 1: a policy needs `gates`; write a mapping with `checks`, `certification`, `second_verifier`, `mutation_check`, `exercised`, `approvals`, `description` or `size`.
- line 2, column 1: `gats` is not a key of a policy; did you mean `gates`?
"##);
    }

    #[test]
    fn what_cannot_be_told_says_why_and_what_is_gone_what_applies_then() {
        let mut texts = vec![section(&Preview::Unreadable("GitHub failed (502)".into()))];
        let default = "the organisation's default, acme/.github at c3b1a29".to_owned();
        for then in [Then::Default(default), Then::Nothing] {
            let none = Effects::none(BaseRef::parse("main").ok(), then);
            texts.push(section(&Preview::Effects(none)));
        }
        let told: Vec<_> = texts
            .iter()
            .filter_map(|text| text.lines().nth(4))
            .collect();
        insta::assert_snapshot!(told.join("\n"), @r##"
What it would do cannot be told: the new file could not be read. GitHub failed (502).
The file would be gone, and the organisation's default, acme/.github at c3b1a29, would apply. No other pull request into `main` is open.
The file would be gone: Countersign would do nothing here any more. No other pull request into `main` is open.
"##);
    }

    #[test]
    fn a_crowd_is_counted_and_told_in_part() {
        let changes = (1..=50).map(|n| change(n, Outcome::Ready, Outcome::Waiting));
        let crowd = Effects {
            changes: changes.collect(),
            ..Effects::none(None, Then::NewPolicy)
        };
        let text = section(&Preview::Effects(crowd.clone()));
        assert!(text.contains("50 would stand otherwise"), "{text}");
        assert!(
            text.ends_with("- #30: ready → waiting\n- and 20 more\n"),
            "{text}"
        );
        let text = terminal(&Preview::Effects(crowd));
        assert!(text.ends_with("  #50: ready → waiting\n"), "{text}");
    }
}
