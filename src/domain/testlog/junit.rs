//! JUnit reports. Nobody owns the format, so the counts in its attributes are not believed (some writers
//! leave them out, others count differently): the test cases themselves are counted.

use super::TestLog;

/// Reads a JUnit report.
///
/// # Errors
/// Why it is none.
pub fn from_junit(xml: &str) -> Result<TestLog, String> {
    let document = roxmltree::Document::parse(xml.trim_start_matches('\u{feff}').trim_start())
        .map_err(|error| format!("not a JUnit report, since it is no sound XML: {error}"))?;
    let root = document.root_element();
    let name = root.tag_name().name();
    if !matches!(name, "testsuites" | "testsuite") {
        return Err(format!(
            "not a JUnit report: it begins with <{name}> where <testsuites> or <testsuite> is expected"
        ));
    }
    let mut log = TestLog::default();
    let cases = root
        .descendants()
        .filter(|node| node.has_tag_name("testcase"));
    for case in cases {
        log.merge(read(case));
    }
    Ok(log)
}

fn read(case: roxmltree::Node<'_, '_>) -> TestLog {
    let child = |name: &str| {
        case.children()
            .find(|child| child.tag_name().name() == name)
    };
    let says = |name: &str, words: &[&str]| {
        let said = case.attribute(name).unwrap_or_default();
        words.iter().any(|word| said.eq_ignore_ascii_case(word))
    };
    if let Some(failed) = child("failure").or_else(|| child("error")) {
        let message = failed.attribute("message").unwrap_or_default();
        // How pytest and jest tell of a file that they could not load.
        let unloaded = message == "collection failure"
            || case
                .attribute("name")
                .is_some_and(|name| name.ends_with("Test suite failed to run"));
        let name = (!unloaded).then(|| name(case));
        return TestLog::new(0, 1, 0).with(name);
    }
    let left_out = child("skipped").is_some()
        || child("disabled").is_some()
        || says("status", &["notrun", "skipped", "disabled"])
        || says("result", &["suppressed", "skipped"]);
    if left_out {
        TestLog::new(0, 0, 1)
    } else {
        TestLog::new(1, 0, 0)
    }
}

/// Joined as the tool itself would: with dots where the class has dots, else as paths are.
fn name(case: roxmltree::Node<'_, '_>) -> String {
    let name = case.attribute("name").unwrap_or("a test without a name");
    match case.attribute("classname").map(str::trim) {
        None | Some("") => name.to_owned(),
        Some(class) if class.contains('.') && !class.contains(['/', ':']) => {
            format!("{class}.{name}")
        }
        Some(class) => format!("{class}::{name}"),
    }
}
