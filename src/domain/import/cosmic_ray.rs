//! cosmic-ray: `cosmic-ray dump SESSION`, one line of JSON for each mutant, `[work item, result]`.
//!
//! It calls a mutant killed whenever the test command did not exit with 0, and also when it ran out of
//! time (the output is then the word `timeout`, and nothing else). So a kill needs a failed test in its
//! output: a syntax error or a missing program kills everything here. The dump has no exit codes.

use serde::Deserialize;

use super::{Found, Mutant, MutantStatus, Refused, placed, unknown};
use crate::domain::distinct;
use crate::domain::testlog;

#[derive(Deserialize)]
struct Work {
    job_id: String,
    mutations: Vec<Made>,
}

#[derive(Deserialize)]
struct Made {
    module_path: String,
    operator_name: String,
    start_pos: (u64, u64),
    end_pos: (u64, u64),
}

#[derive(Deserialize)]
struct Ended {
    worker_outcome: String,
    #[serde(default)]
    output: Option<String>,
    #[serde(default)]
    test_outcome: Option<String>,
}

/// Reads a dump.
///
/// # Errors
/// Why it is no evidence.
pub fn read(text: &str, root: &str) -> Result<Found, Refused> {
    let mut mutants = Vec::new();
    let mut waiting = 0_usize;
    for (number, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let (work, ended): (Work, Option<Ended>) = distinct::read(line)
            .map_err(|error| Refused::cut(&format!("line {} of the dump", number + 1), &error))?;
        waiting += usize::from(ended.is_none());
        mutants.push(mutant(work, ended.as_ref(), root)?);
    }
    let cannot_tell =
        ["How the test command exited: a kill counts where its output names a failed test."];
    Ok(Found::without_a_baseline(
        "cosmic-ray",
        mutants,
        waiting,
        &cannot_tell,
    ))
}

fn mutant(work: Work, ended: Option<&Ended>, root: &str) -> Result<Mutant, Refused> {
    let [made] = work.mutations.as_slice() else {
        return Err(Refused::because(format!(
            "the mutant `{}` makes {} changes at once, and one place is read here",
            work.job_id,
            work.mutations.len()
        )));
    };
    let (status, killed_by) = match ended {
        None => (MutantStatus::Skipped, Vec::new()),
        Some(ended) => graded(ended, &work.job_id)?,
    };
    Ok(Mutant {
        path: placed(root, &made.module_path)?,
        start_line: made.start_pos.0,
        end_line: made.end_pos.0,
        kind: made.operator_name.clone(),
        id: work.job_id,
        status,
        killed_by,
        duration_s: None,
    })
}

fn graded(ended: &Ended, id: &str) -> Result<(MutantStatus, Vec<String>), Refused> {
    match ended.worker_outcome.as_str() {
        "normal" => {}
        "exception" | "abnormal" => return Ok((MutantStatus::Unviable, Vec::new())),
        "no-test" | "skipped" => return Ok((MutantStatus::Skipped, Vec::new())),
        word => return Err(unknown(&format!("what the worker did with `{id}`"), word)),
    }
    let output = ended.output.as_deref().unwrap_or_default();
    Ok(match ended.test_outcome.as_deref() {
        Some("survived") => (MutantStatus::Survived, Vec::new()),
        Some("incompetent") => (MutantStatus::Unviable, Vec::new()),
        Some("killed") if output.trim() == "timeout" => (MutantStatus::Timeout, Vec::new()),
        Some("killed") => match failures(output) {
            named if named.is_empty() => (MutantStatus::Unviable, Vec::new()),
            named => (MutantStatus::Killed, named),
        },
        word => {
            let what = format!("the outcome of `{id}`");
            return Err(unknown(&what, word.unwrap_or("not there")));
        }
    })
}

/// The failed tests that an output names: what the test log knows, and pytest's own short summary.
fn failures(output: &str) -> Vec<String> {
    if let Some(log) = testlog::from_output(output)
        && !log.failures.is_empty()
    {
        return log.failures.into_iter().collect();
    }
    let lines = output
        .lines()
        .filter_map(|line| line.strip_prefix("FAILED "));
    let names = lines.map(|line| line.split(" - ").next().unwrap_or(line).trim());
    names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}
