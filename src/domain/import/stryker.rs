//! The mutation testing report schema of Stryker: StrykerJS, Stryker.NET, Stryker4s, and PIT through it.
//!
//! A mutant names the ids of the tests that killed it, and the report their names. StrykerJS's command
//! runner knows one test alone, "All tests": then the output that stands beside the mutant is asked for
//! a name. The schema has no place for the run without mutants.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{Found, Mutant, MutantStatus, Refused, Unmutated, killers, placed, unknown};
use crate::domain::distinct;
use crate::domain::evidence::shows_nothing;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    schema_version: serde_json::Value,
    files: BTreeMap<String, File>,
    #[serde(default)]
    test_files: Option<BTreeMap<String, TestFile>>,
    #[serde(default)]
    project_root: Option<String>,
    #[serde(default)]
    framework: Option<Framework>,
}

#[derive(Deserialize)]
struct Framework {
    name: String,
    #[serde(default)]
    version: Option<String>,
}

#[derive(Deserialize)]
struct File {
    mutants: Vec<Made>,
    #[serde(default)]
    source: Option<String>,
}

#[derive(Deserialize)]
struct TestFile {
    tests: Vec<Test>,
}

#[derive(Deserialize)]
struct Test {
    id: String,
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Made {
    id: String,
    mutator_name: String,
    location: Location,
    status: String,
    #[serde(default)]
    status_reason: Option<String>,
    #[serde(default)]
    killed_by: Option<Vec<String>>,
    #[serde(default)]
    duration: Option<f64>,
}

#[derive(Deserialize)]
struct Location {
    start: Position,
    end: Position,
}

#[derive(Deserialize)]
struct Position {
    line: u64,
}

/// The one test of the command runner.
const ALL: &str = "All tests";

/// Reads a report.
///
/// # Errors
/// Why it is no evidence.
pub fn read(text: &str, root: &str) -> Result<Found, Refused> {
    let report: Report =
        distinct::read(text).map_err(|error| Refused::cut("the report", &error))?;
    let version = match &report.schema_version {
        serde_json::Value::String(version) => version.clone(),
        other => other.to_string(),
    };
    if !matches!(version.split('.').next(), Some("1" | "2")) {
        return Err(unknown("the version of the report's schema", &version));
    }
    let tests: BTreeMap<&str, &str> = report
        .test_files
        .iter()
        .flat_map(BTreeMap::values)
        .flat_map(|file| &file.tests)
        .map(|test| (test.id.as_str(), test.name.as_str()))
        .collect();
    let mut ids = BTreeSet::new();
    let mut found = Found {
        tool: tool(report.framework.as_ref()),
        mutants: Vec::new(),
        unmutated: Unmutated::NotRecorded,
        unfinished: None,
        test_command: None,
        sources: Vec::new(),
        cannot_tell: cannot_tell(),
    };
    let mut pending = 0_usize;
    for (name, file) in &report.files {
        let path = placed(root, relative(name, report.project_root.as_deref()))?;
        for made in &file.mutants {
            pending += usize::from(made.status == "Pending");
            let mut mutant = mutant(made, &path, &tests)?;
            // Ids are one to a file in some of the tools.
            if !ids.insert(mutant.id.clone()) {
                mutant.id = format!("{path}#{}", mutant.id);
            }
            found.mutants.push(mutant);
        }
        found
            .sources
            .extend(file.source.clone().map(|source| (path, source)));
    }
    if pending > 0 {
        found.unfinished = Some(format!(
            "{pending} of {} mutants are pending",
            found.mutants.len()
        ));
    }
    Ok(found)
}

fn cannot_tell() -> Vec<String> {
    [
        "Whether each line of a body is tested: a mutant that replaces a whole body lies on all its lines, and its kill shows that some of them are.",
        "Whether statuses were carried over from an earlier run (--incremental): import runs made with --force.",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn tool(framework: Option<&Framework>) -> String {
    framework.map_or_else(
        || "Stryker".to_owned(),
        |framework| match &framework.version {
            Some(version) => format!("{} {version}", framework.name),
            None => framework.name.clone(),
        },
    )
}

/// Some of the tools name files from the root of the machine.
fn relative<'a>(name: &'a str, project: Option<&str>) -> &'a str {
    let within =
        project.and_then(|project| name.strip_prefix(project.trim_end_matches(['/', '\\'])));
    within
        .and_then(|rest| rest.strip_prefix(['/', '\\']))
        .unwrap_or(name)
}

fn mutant(made: &Made, path: &str, tests: &BTreeMap<&str, &str>) -> Result<Mutant, Refused> {
    let status = match made.status.as_str() {
        "Killed" => MutantStatus::Killed,
        "Survived" | "NoCoverage" => MutantStatus::Survived,
        "Timeout" => MutantStatus::Timeout,
        "CompileError" | "RuntimeError" => MutantStatus::Unviable,
        "Ignored" | "Pending" => MutantStatus::Skipped,
        word => {
            return Err(unknown(
                &format!("the status of mutant `{}`", made.id),
                word,
            ));
        }
    };
    let mut killed_by = Vec::new();
    if status == MutantStatus::Killed {
        for id in made.killed_by.iter().flatten() {
            match tests.get(id.as_str()).copied() {
                Some(ALL) => {
                    let signature = "All tests (the command runner names no test)";
                    killed_by.extend(killers(made.status_reason.as_deref(), signature));
                }
                Some(name) => killed_by.push(name.to_owned()),
                None if shows_nothing(id) => {}
                None => killed_by.push(format!("test {id}")),
            }
        }
    }
    Ok(Mutant {
        id: made.id.clone(),
        path: path.to_owned(),
        start_line: made.location.start.line,
        end_line: made.location.end.line,
        kind: made.mutator_name.clone(),
        status,
        killed_by,
        duration_s: made.duration.map(|ms| ms / 1000.0),
    })
}
