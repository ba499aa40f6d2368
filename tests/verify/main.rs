//! `countersign verify`, the program itself, on small repositories.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "only the pure rooms are denied the world"
)]

mod answers;
mod control;
mod isolation;
mod leavings;
mod project;
mod samples;
mod trees;

use project::Project;

/// Two functions and a test that looks at the first alone, with `{}` to be filled.
pub const TEST: &str =
    ". ./src/sum.sh\n[ \"$(sum 1 2)\" = 3 ] || { echo 'sum is wrong'; exit 1; }\n";

/// The base has both functions wrong; the head mends both, and tests one.
pub fn half_tested() -> Project {
    let project = Project::new(&[
        (
            "src/sum.sh",
            "sum() { echo 0; }\n\n\n\nproduct() { echo 0; }\n",
        ),
        ("check.sh", "true\n"),
    ]);
    project.commit(&[
        (
            "src/sum.sh",
            "sum() { echo $(($1 + $2)); }\n\n\n\nproduct() { echo $(($1 * $2)); }\n",
        ),
        ("check.sh", TEST),
    ]);
    project
}

/// The base has the one function wrong; the head mends and tests it.
pub fn tested() -> Project {
    let project = Project::new(&[
        ("src/sum.sh", "sum() { echo 0; }\n"),
        ("check.sh", "true\n"),
    ]);
    project.commit(&[
        ("src/sum.sh", "sum() { echo $(($1 + $2)); }\n"),
        ("check.sh", TEST),
    ]);
    project
}
