//! Maven's surefire and failsafe.

use super::{TestLog, labelled};

/// Each module ends with a line of counts without a time; the lines with one are those of its classes.
pub(super) fn surefire(lines: &[&str]) -> Option<TestLog> {
    let counts = |line: &str| -> Option<TestLog> {
        let of = |label: &str| labelled(line, label);
        let (ran, skipped) = (of("Tests run: ")?, of("Skipped: ")?);
        let failed = of("Failures: ")?.saturating_add(of("Errors: ")?);
        let passed = ran.saturating_sub(failed).saturating_sub(skipped);
        Some(TestLog::new(passed, failed, skipped))
    };
    let counted = lines.iter().map(|line| bare(line));
    let counted = counted.filter(|line| line.starts_with("Tests run: "));
    let (classes, modules): (Vec<&str>, Vec<&str>) =
        counted.partition(|line| line.contains("Time elapsed"));
    let counted = if modules.is_empty() { classes } else { modules };
    let mut log = counted
        .into_iter()
        .filter_map(counts)
        .reduce(|mut all, one| {
            all.merge(one);
            all
        })?;
    let told: Vec<String> = lines.iter().filter_map(|line| told(bare(line))).collect();
    let names = match told.is_empty() {
        true => listed(lines),
        false => told,
    };
    log.failures.extend(names);
    Some(log)
}

/// A line without the level that Maven puts before it.
fn bare(line: &str) -> &str {
    let levels = ["[ERROR] ", "[INFO] ", "[WARNING] "];
    let level = levels.iter().find_map(|level| line.strip_prefix(level));
    level.unwrap_or(line)
}

/// `shop.AppTest.adds -- Time elapsed: 0.01 s <<< FAILURE!`, or before surefire 3
/// `adds(shop.AppTest)  Time elapsed: 0.01 s  <<< FAILURE!`.
fn told(line: &str) -> Option<String> {
    let failed = line.ends_with("<<< FAILURE!") || line.ends_with("<<< ERROR!");
    let (name, _) = line.split_once("Time elapsed: ").filter(|_| failed)?;
    let name = name.trim_end_matches([' ', '-']);
    if name.starts_with("Tests run") || name.is_empty() {
        return None;
    }
    Some(match name.split_once('(') {
        Some((test, class)) if class.ends_with(')') && class.contains('.') => {
            format!("{}.{test}", class.trim_end_matches(')'))
        }
        _ => name.to_owned(),
    })
}

/// The list under `Failures:` and `Errors:`: `  AppTest.adds:12 expected: <2> but was: <3>`.
fn listed(lines: &[&str]) -> Vec<String> {
    let mut listing = false;
    let mut names = Vec::new();
    for line in lines.iter().map(|line| bare(line)) {
        match line.trim() {
            "Failures:" | "Errors:" | "Failed tests:" | "Tests in error:" => listing = true,
            name if listing && line.starts_with("  ") => {
                let end = name.find([':', ' ']).unwrap_or(name.len());
                let name = &name[..end];
                if name.contains('.') {
                    names.push(name.to_owned());
                }
            }
            _ => listing = false,
        }
    }
    names
}
