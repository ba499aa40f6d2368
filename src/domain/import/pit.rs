//! PIT's `mutations.xml`.
//!
//! PIT names a file without its folder; the class's package is the folder, below a root of sources
//! (`src/main/java` unless said otherwise). Where the head's files are known, the one that ends so is
//! taken, and two are refused. PIT stops by itself when the unmutated tests fail, but writes no record of
//! that run. Its time-outs, memory errors and run errors count as detected there, and not here.

use std::collections::BTreeSet;

use roxmltree::{Document, Node};

use super::{Found, Mutant, MutantStatus, Refused, placed, unknown};

/// Where the sources of a report lie.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The folder that PIT ran in, from the repository's root.
    pub root: &'a str,
    /// The root of sources below it, where it was named.
    pub below: Option<&'a str>,
    /// Every file of the head, where they are known.
    pub files: Option<&'a BTreeSet<String>>,
}

const USUAL: &str = "src/main/java";

/// Reads a report.
///
/// # Errors
/// Why it is no evidence.
pub fn read(text: &str, sources: Sources<'_>) -> Result<Found, Refused> {
    let document = Document::parse(text).map_err(|error| Refused::cut("the report", &error))?;
    let top = document.root_element();
    if top.tag_name().name() != "mutations" {
        return Err(Refused::because(
            "the report's outermost element is not `mutations`: it is not PIT's mutations.xml",
        ));
    }
    let mut mutants = Vec::new();
    let mut waiting = 0_usize;
    for node in top.children().filter(Node::is_element) {
        let (mutant, done) = mutant(node, mutants.len() + 1, sources)?;
        waiting += usize::from(!done);
        mutants.push(mutant);
    }
    let cannot_tell = [
        "Which version of PIT it was.",
        "Whether results were carried over from a history file: import runs made without one.",
    ];
    Ok(Found::without_a_baseline(
        "PIT",
        mutants,
        waiting,
        &cannot_tell,
    ))
}

fn mutant(
    node: Node<'_, '_>,
    number: usize,
    sources: Sources<'_>,
) -> Result<(Mutant, bool), Refused> {
    let place = format!("mutation {number}");
    let text = |name: &str| {
        let child = node
            .children()
            .find(|child| child.tag_name().name() == name);
        child
            .and_then(|child| child.text())
            .map(str::trim)
            .filter(|text| !text.is_empty())
    };
    let need = |name: &str| {
        text(name).ok_or_else(|| Refused::because(format!("{place} of the report has no `{name}`")))
    };
    let line: u64 = need("lineNumber")?.parse().map_err(|_| {
        Refused::because(format!(
            "{place} of the report has a lineNumber that is none"
        ))
    })?;
    let word = node.attribute("status").unwrap_or_default();
    let (status, done) = match word {
        "KILLED" => (MutantStatus::Killed, true),
        "SURVIVED" | "NO_COVERAGE" => (MutantStatus::Survived, true),
        "TIMED_OUT" => (MutantStatus::Timeout, true),
        // The class did not load, or the process broke: no test is known to have failed.
        "NON_VIABLE" | "MEMORY_ERROR" | "RUN_ERROR" => (MutantStatus::Unviable, true),
        "NOT_STARTED" | "STARTED" => (MutantStatus::Skipped, false),
        word => return Err(unknown(&format!("the status of {place}"), word)),
    };
    // A full matrix names several, parted by bars.
    let killers = text("killingTest")
        .or_else(|| text("killingTests"))
        .unwrap_or_default();
    let killers = killers
        .split('|')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let killed_by = match status {
        MutantStatus::Killed => killers.map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let mutator = need("mutator")?;
    let mutant = Mutant {
        id: format!("m{number}"),
        path: file(need("mutatedClass")?, need("sourceFile")?, sources)?,
        start_line: line.max(1),
        end_line: line.max(1),
        kind: mutator.rsplit('.').next().unwrap_or(mutator).to_owned(),
        status,
        killed_by,
        duration_s: None,
    };
    Ok((mutant, done))
}

fn file(class: &str, name: &str, sources: Sources<'_>) -> Result<String, Refused> {
    let package = class.rsplit_once('.').map_or("", |(package, _)| package);
    let below = match package {
        "" => name.to_owned(),
        package => format!("{}/{name}", package.replace('.', "/")),
    };
    let usual = |folder: &str| placed(sources.root, &format!("{folder}/{below}"));
    if let Some(folder) = sources.below {
        return usual(folder);
    }
    let Some(files) = sources.files else {
        return usual(USUAL);
    };
    let root = sources.root.trim_matches('/');
    let fits = |file: &&String| {
        (root.is_empty() || file.starts_with(&format!("{root}/")))
            && (**file == below || file.ends_with(&format!("/{below}")))
    };
    let found: Vec<_> = files.iter().filter(fits).collect();
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        [] => usual(USUAL),
        many => Err(Refused::because(format!(
            "`{below}` may be any of {} files of the head: name the root of the sources with --source-root",
            many.len()
        ))),
    }
}
