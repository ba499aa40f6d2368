//! `countersign policy schema`, what `policy check` says of a file by itself, and `countersign evidence
//! check`: files in, sentences out.

use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::{Complaint, Ended, Exit};
use crate::domain::evidence::collect::blocks;
use crate::domain::evidence::{Fault, MutantStatus, Outcome, Statement, parse};
use crate::domain::model::RepoName;
use crate::domain::policy::{self, Identity, Mode, MutationDemand, Policy, Problem, When};

/// The largest file that is read.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Prints the JSON Schema.
pub fn schema() -> Ended {
    print!("{}", policy::schema::json_schema());
    Ok(Exit::Done)
}

/// Validates evidence files and prints what each says and proves, or every fault.
pub fn check_evidence(files: &[PathBuf]) -> Ended {
    let mut exit = Exit::Done;
    for file in files {
        let text = text_of(file)?;
        let (answer, sound) = evidence(&file.display().to_string(), &text);
        print!("{answer}");
        if !sound {
            exit = Exit::No;
        }
    }
    Ok(exit)
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

/// What a valid policy means, in a few lines.
pub fn meaning(policy: &Policy) -> String {
    let mut text = String::from("The policy is valid.\n");
    let mut line = |what: &str, says: String| {
        let _ = writeln!(text, "  {what:<16} {says}");
    };
    let mode = match policy.mode {
        Mode::Enforce => "enforce: decides, publishes, merges",
        Mode::Observe => "observe: decides and publishes, never merges",
    };
    line("mode", mode.into());
    for verifier in policy.verifiers.values() {
        let who = match &verifier.identity {
            Identity::AppSlug(slug) => format!("App {slug}"),
            Identity::AppId(id) => format!("App {id}"),
            Identity::User(login) => format!("user {login}"),
            Identity::Workflow(path) => format!("workflow {path}"),
            Identity::Key(_) => "an ed25519 key".to_owned(),
        };
        let of = [&verifier.vendor, &verifier.model].into_iter().flatten();
        let of: Vec<_> = of.map(String::as_str).collect();
        line(
            "verifier",
            format!("{} = {who} ({})", verifier.name, of.join(" ")),
        );
    }
    gates_meaning(policy, &mut line);
    let when = |when| match when {
        When::Ready => "as soon as every gate is satisfied",
        When::Requested => "when asked to",
        When::Never => "never by the App",
    };
    let bases = policy.merge.base_branches.patterns().join(", ");
    line("merges", format!("into {bases}"));
    line("  agents'", when(policy.merge.when).into());
    line("  others'", when(policy.merge.others).into());
    text
}

/// The gates that a policy declares, a line each.
fn gates_meaning(policy: &Policy, line: &mut impl FnMut(&str, String)) {
    let gates = &policy.gates;
    if let Some(checks) = &gates.checks {
        let names: Vec<_> = checks
            .required
            .iter()
            .map(|check| check.name.as_str())
            .collect();
        line("checks", names.join(", "));
    }
    if let Some(by) = &gates.certification {
        let names: Vec<_> = by.iter().map(ToString::to_string).collect();
        line("certification", format!("by {}", names.join(" or ")));
    }
    if let Some(second) = &gates.second_verifier {
        let independence = crate::domain::gate::principals::demand(second.independence);
        line(
            "second verifier",
            format!("{}, at least {independence}", second.count),
        );
    }
    if let Some(mutation) = &gates.mutation_check {
        let demand = match mutation.require {
            MutationDemand::EveryHunk => "every changed hunk".to_owned(),
            MutationDemand::KilledAtLeast(count) => format!("at least {count} killed"),
        };
        line(
            "mutation check",
            format!("{demand} in {}", mutation.critical.patterns().join(", ")),
        );
    }
    for entry in &gates.exercised {
        let paths = entry.paths.patterns().join(", ");
        line(
            "exercised",
            format!("{paths} against {}", entry.against.join(", ")),
        );
    }
    if let Some(approvals) = &gates.approvals {
        line("approvals", approvals.count.to_string());
    }
}

/// What a file of evidence says and proves, and whether it is sound.
fn evidence(file: &str, text: &str) -> (String, bool) {
    let document = if text.trim_start().starts_with('{') {
        Ok(text.to_owned())
    } else {
        let mut found = blocks(text);
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => {
                Err("it is neither JSON nor Markdown with a fenced `countersign` block".to_owned())
            }
            count => Err(format!(
                "it holds {count} `countersign` blocks, and one may speak"
            )),
        }
    };
    match document {
        Err(why) => (format!("{file}: {why}.\n"), false),
        Ok(document) => match parse::document(&document) {
            Ok(statement) => (sound(file, &statement), true),
            Err(faults) => (faulty(file, &faults), false),
        },
    }
}

fn faulty(file: &str, faults: &[Fault]) -> String {
    let mut text = String::new();
    for fault in faults {
        let path = if fault.path.is_empty() {
            "the document"
        } else {
            &fault.path
        };
        let _ = writeln!(text, "{file}: {path} {}", fault.message);
    }
    let plural = if faults.len() == 1 { "" } else { "s" };
    let _ = writeln!(text, "{} fault{plural}: it would not count.", faults.len());
    text
}

fn sound(file: &str, statement: &Statement) -> String {
    let mut text = String::new();
    let result = match statement.result {
        Outcome::Approved => "approved",
        Outcome::Rejected => "rejected",
        Outcome::Inconclusive => "inconclusive",
    };
    let _ = writeln!(
        text,
        "{file}: {result} {} of {}",
        statement.head, statement.subject_name
    );
    match &statement.base {
        Some(base) => {
            let _ = writeln!(text, "  against {} at {}", base.name, base.sha);
        }
        None => {
            let _ = writeln!(
                text,
                "  names no base: it would not count for any pull request"
            );
        }
    }
    let executed: u64 = statement.tests.iter().map(|run| run.executed).sum();
    let failed: u64 = statement.tests.iter().map(|run| run.failed).sum();
    let _ = writeln!(text, "  tests: {executed} executed, {failed} failed");
    match &statement.mutation {
        None => {
            let _ = writeln!(
                text,
                "  mutants: none; it proves nothing about critical lines"
            );
        }
        Some(mutation) => {
            let count = |status| {
                mutation
                    .mutants
                    .iter()
                    .filter(|m| m.status == status)
                    .count()
            };
            let _ = writeln!(
                text,
                "  mutants: {} killed, {} survived, {} timed out, {} unviable, {} skipped; baseline {}",
                count(MutantStatus::Killed),
                count(MutantStatus::Survived),
                count(MutantStatus::Timeout),
                count(MutantStatus::Unviable),
                count(MutantStatus::Skipped),
                if mutation.baseline.exit_code == 0 && mutation.baseline.executed > 0 {
                    "passed"
                } else {
                    "did not pass, so they prove nothing"
                },
            );
        }
    }
    let _ = writeln!(
        text,
        "  who reported it is not in the document: GitHub says it of whoever posts it"
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
        insta::assert_snapshot!(meaning(&policy::read::read(text).unwrap()));
    }

    #[test]
    fn sound_evidence_is_told_in_short_and_faulty_evidence_fault_by_fault() {
        let sound = include_str!("../../tests/evidence/sound.json");
        let (told, is_sound) = evidence("sound.json", sound);
        assert!(is_sound);
        insta::assert_snapshot!("sound", told);
        let faulty = sound
            .replace("\"killed\"", "\"dead\"")
            .replace("\"executed\": 412", "\"executed\": -1");
        let (told, is_sound) = evidence("faulty.json", &faulty);
        assert!(!is_sound);
        insta::assert_snapshot!("faulty", told);
        let (told, is_sound) = evidence("note.md", "Looks good to me.");
        assert!(!is_sound);
        insta::assert_snapshot!("no_document", told);
    }
}
