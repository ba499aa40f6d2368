//! mutmut 3: the folder `mutants`, with a `.meta` file beside each mutated module.
//!
//! A `.meta` holds one exit code of pytest for each mutant, and neither lines nor the test that failed.
//! The lines are found by comparing the mutant's function with the unmutated one beside it and looking
//! that one up in the head's file; what cannot be found exactly once is refused. The tests that mutmut
//! ran are those that reach the function (`mutmut-stats.json`): where that is one, it is the one that
//! failed, and where they are several, one of them is.
//!
//! Exit codes are told by number, since mutmut itself calls every code that it does not know suspicious
//! and takes a broken pytest for a kill. mutmut 2 kept a database of its own and is not read here.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Found, Mutant, MutantStatus, Refused, Unmutated, placed, unknown};
use crate::domain::distinct;

/// One mutated module.
#[derive(Debug, Clone)]
pub struct Module {
    /// Its path, from the folder that mutmut ran in.
    pub path: String,
    /// `mutants/PATH.meta`.
    pub meta: String,
    /// `mutants/PATH`: the module with all its mutants.
    pub mutated: String,
    /// `PATH`: the module as it stands in the head.
    pub original: String,
}

#[derive(Deserialize)]
struct Meta {
    exit_code_by_key: BTreeMap<String, Option<i64>>,
    #[serde(default)]
    durations_by_key: BTreeMap<String, f64>,
}

#[derive(Deserialize, Default)]
struct Stats {
    #[serde(default)]
    tests_by_mangled_function_name: BTreeMap<String, Vec<String>>,
}

/// Reads the modules of a run, and `mutants/mutmut-stats.json` where it is there.
///
/// # Errors
/// Why it is no evidence.
pub fn read(modules: &[Module], stats: Option<&str>, root: &str) -> Result<Found, Refused> {
    let stats: Stats = match stats {
        None => Stats::default(),
        Some(text) => {
            distinct::read(text).map_err(|error| Refused::cut("mutmut-stats.json", &error))?
        }
    };
    let mut mutants = Vec::new();
    let mut waiting = 0_usize;
    for module in modules {
        let what = format!("{}.meta", module.path);
        let meta: Meta =
            distinct::read(&module.meta).map_err(|error| Refused::cut(&what, &error))?;
        for (key, code) in &meta.exit_code_by_key {
            waiting += usize::from(matches!(code, None | Some(2)));
            let status = status(key, *code)?;
            let (start_line, end_line) = lines(module, key)?;
            let killed_by = match status {
                MutantStatus::Killed => killers(&stats, key),
                _ => Vec::new(),
            };
            mutants.push(Mutant {
                id: key.clone(),
                path: placed(root, &module.path)?,
                start_line,
                end_line,
                kind: "mutmut".to_owned(),
                status,
                killed_by,
                duration_s: meta.durations_by_key.get(key).copied(),
            });
        }
    }
    let unfinished =
        (waiting > 0).then(|| format!("{waiting} of {} mutants were not checked", mutants.len()));
    Ok(Found {
        tool: "mutmut 3".to_owned(),
        mutants,
        unmutated: Unmutated::NotRecorded,
        unfinished,
        test_command: None,
        sources: Vec::new(),
        cannot_tell: cannot_tell(),
    })
}

fn cannot_tell() -> Vec<String> {
    [
        "Which test failed, where several reach the mutated function: all of them are named then, and one of them failed.",
        "What kind of change a mutant is.",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn status(key: &str, code: Option<i64>) -> Result<MutantStatus, Refused> {
    Ok(match code {
        // pytest: a test failed.
        Some(1) => MutantStatus::Killed,
        // All passed; no test was collected; no test reaches the function.
        Some(0 | 5 | 33) => MutantStatus::Survived,
        // Not checked; interrupted; skipped.
        None | Some(2 | 34) => MutantStatus::Skipped,
        // Suspicious, time-outs, and the signal of a used up processor limit.
        Some(35 | 36 | 24 | -24 | 152 | 255) => MutantStatus::Timeout,
        // pytest broke; the type checker refused it; the process crashed or was shot.
        Some(3 | 37 | -11 | -9) => MutantStatus::Unviable,
        Some(code) => {
            return Err(unknown(
                &format!("the exit code of `{key}`"),
                &code.to_string(),
            ));
        }
    })
}

fn killers(stats: &Stats, key: &str) -> Vec<String> {
    let function = key.split("__mutmut_").next().unwrap_or(key);
    let tests = stats.tests_by_mangled_function_name.get(function);
    match tests.map(Vec::as_slice).unwrap_or_default() {
        [] => vec!["pytest (exit code 1; the tool names no test)".to_owned()],
        [one] => vec![one.clone()],
        many => vec![format!("one of {}", many.join(", "))],
    }
}

/// The lines of the head that a mutant changes.
fn lines(module: &Module, key: &str) -> Result<(u64, u64), Refused> {
    let lost = || {
        Refused::because(format!(
            "the mutant `{key}` cannot be placed in `{}`: the checkout is not what mutmut mutated; remove the folder `mutants` and run it again at this head",
            module.path
        ))
    };
    let name = key.rsplit('.').next().unwrap_or(key);
    let (function, _) = name.split_once("__mutmut_").ok_or_else(lost)?;
    // `x_function`, or `xǁClassǁmethod`.
    let (class, plain) = match function.strip_prefix("xǁ") {
        Some(rest) => rest
            .split_once('ǁ')
            .map(|(class, plain)| (Some(class), plain))
            .ok_or_else(lost)?,
        None => (None, function.strip_prefix("x_").ok_or_else(lost)?),
    };
    let mutated: Vec<&str> = module.mutated.lines().collect();
    let unmutated = body(&mutated, &format!("{function}__mutmut_orig"), plain).ok_or_else(lost)?;
    let mutant = body(&mutated, name, plain).ok_or_else(lost)?;
    let original: Vec<&str> = module.original.lines().collect();
    let windows = original.windows(unmutated.len()).enumerate();
    let same = windows.filter(|(_, window)| {
        window
            .iter()
            .zip(&unmutated)
            .all(|(one, other)| one.trim_end() == other.trim_end())
    });
    let places: Vec<usize> = same
        .map(|(index, _)| index)
        .filter(|index| class.is_none_or(|class| class_at(&original, *index) == Some(class)))
        .collect();
    let [start] = places.as_slice() else {
        return Err(lost());
    };
    if unmutated == mutant {
        return Err(lost());
    }
    let before = unmutated
        .iter()
        .zip(&mutant)
        .take_while(|(a, b)| a == b)
        .count();
    let both = unmutated.len().min(mutant.len()) - before;
    let tails = unmutated.iter().rev().zip(mutant.iter().rev());
    let after = tails.take(both).take_while(|(a, b)| a == b).count();
    let last = (unmutated.len() - after).max(before + 1);
    Ok(((start + before + 1) as u64, (start + last) as u64))
}

/// A function's lines under its plain name, without decorators and trailing blanks.
fn body(lines: &[&str], name: &str, plain: &str) -> Option<Vec<String>> {
    let opens = format!("def {name}(");
    let start = lines.iter().position(|line| {
        let line = line.trim_start();
        line.starts_with(&opens)
            || line
                .strip_prefix("async ")
                .is_some_and(|l| l.starts_with(&opens))
    })?;
    let depth = indent(lines[start]);
    // The bracket that ends a long list of parameters stands as far left as `def`.
    let inside = |line: &&&str| {
        line.trim().is_empty() || indent(line) > depth || line.trim_start().starts_with([')', ']'])
    };
    let rest = lines[start + 1..].iter().take_while(inside).count();
    let mut end = start + rest;
    while end > start && lines[end].trim().is_empty() {
        end -= 1;
    }
    let mut body: Vec<String> = lines[start..=end]
        .iter()
        .map(|line| (*line).to_owned())
        .collect();
    body[0] = body[0].replacen(&opens, &format!("def {plain}("), 1);
    Some(body)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The class that a method's `def` stands in.
fn class_at<'a>(lines: &[&'a str], index: usize) -> Option<&'a str> {
    let depth = indent(lines[index]);
    let mut above = lines[..index].iter().rev();
    let class = above.find(|line| !line.trim().is_empty() && indent(line) < depth)?;
    let name = class.trim_start().strip_prefix("class ")?;
    name.split(['(', ':', '[', ' ']).next()
}
