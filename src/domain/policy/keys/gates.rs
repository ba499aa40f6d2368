//! The keys of `gates`.

use super::{APP, ONE_HEADING, ONE_PARTY, key, list, needed, object, some};
use crate::domain::policy::kinds::{
    CHECK_NAME, DURATION, PATH_PATTERN, TEXT, VERIFIER_NAME, WORKFLOW,
};
use crate::domain::policy::shape::{Object, Shape};

const INDEPENDENCE: Shape = Shape::Word(&[
    ("context", "another run of the same model"),
    ("model", "another model"),
    ("vendor", "another vendor"),
    ("human", "a person"),
]);
static ONE_VERIFIER: Shape = Shape::Text(&VERIFIER_NAME);
static ONE_PATH: Shape = Shape::Text(&PATH_PATTERN);
static ONE_TEXT: Shape = Shape::Text(&TEXT);

pub(super) static GATES: Object = object(&[
    key(
        "checks",
        "Checks and statuses that must be there and pass.",
        Shape::Object(&CHECKS),
    ),
    key(
        "certification",
        "The author side's own verification.",
        Shape::Object(&CERTIFICATION),
    ),
    key(
        "second_verifier",
        "Independent verifiers that must countersign the head.",
        Shape::Object(&SECOND_VERIFIER),
    ),
    key(
        "mutation_check",
        "Proof that changed critical lines are tested.",
        Shape::Object(&MUTATION_CHECK),
    ),
    key(
        "exercised",
        "What tests must have run against for real.",
        list(&Shape::Object(&EXERCISED)),
    ),
    key(
        "approvals",
        "People's approvals of the head.",
        Shape::Object(&APPROVALS),
    ),
    key(
        "description",
        "The form of the pull request's description.",
        Shape::Object(&DESCRIPTION),
    ),
    key(
        "size",
        "The most a pull request may change.",
        Shape::Object(&SIZE),
    ),
]);

static CHECKS: Object = object(&[
    needed(
        "required",
        "The names; each from any App, or pinned to an App and a workflow file. `*` stands for any text: then at least one must match, and all that match must pass.",
        list(&REQUIRED_CHECK),
    ),
    key(
        "passing",
        "Conclusions that pass. Default: [success].",
        some(&Shape::Word(&[
            ("success", "it passed"),
            ("neutral", "it has no opinion"),
            ("skipped", "it did not run"),
        ])),
    ),
]);

static REQUIRED_CHECK: Shape =
    Shape::Either(&[Shape::Text(&CHECK_NAME), Shape::Object(&PINNED_CHECK)]);
static PINNED_CHECK: Object = object(&[
    needed(
        "name",
        "The check's name, or a pattern with `*`.",
        Shape::Text(&CHECK_NAME),
    ),
    key(
        "app",
        "The App it must come from: its slug, or its number.",
        APP,
    ),
    key(
        "workflow",
        "The workflow file it must come from.",
        Shape::Text(&WORKFLOW),
    ),
]);

static CERTIFICATION: Object = object(&[needed(
    "by",
    "The verifiers that may certify.",
    some(&ONE_VERIFIER),
)]);

static SECOND_VERIFIER: Object = object(&[
    key(
        "count",
        "How many. Default: 1.",
        Shape::Whole { least: 1, most: 10 },
    ),
    key(
        "independence",
        "The least difference from the author side. Default: vendor.",
        INDEPENDENCE,
    ),
    key(
        "tests_executed",
        "Whether a verifier must have run tests: a read-only review is not a verification. Default: true.",
        Shape::Flag,
    ),
    key(
        "max_age",
        "Evidence older than this does not count. Default: any age.",
        Shape::Text(&DURATION),
    ),
    key(
        "fallback",
        "A laxer independence after a while; published whenever it is used.",
        Shape::Object(&FALLBACK),
    ),
]);

static FALLBACK: Object = object(&[
    needed(
        "after",
        "After how long without a second verifier.",
        Shape::Text(&DURATION),
    ),
    needed("independence", "What is enough then.", INDEPENDENCE),
]);

static MUTATION_CHECK: Object = object(&[
    needed(
        "critical",
        "Changed hunks in files that match these must have been mutation-checked.",
        some(&ONE_PATH),
    ),
    key(
        "except",
        "Except in files that match these.",
        list(&ONE_PATH),
    ),
    key(
        "require",
        "How much of the change. Default: every_hunk.",
        Shape::Either(&[
            Shape::Word(&[("every_hunk", "a killed mutant in every changed hunk")]),
            Shape::Object(&DEMAND),
        ]),
    ),
    key(
        "timeouts",
        "How a mutant that timed out counts. Default: inconclusive.",
        Shape::Word(&[
            ("inconclusive", "it proves nothing"),
            ("killed", "as if a test had failed"),
        ]),
    ),
    key(
        "by",
        "Whose evidence counts. Default: every verifier's.",
        some(&ONE_VERIFIER),
    ),
]);

static DEMAND: Object = object(&[needed(
    "killed_at_least",
    "At least so many killed mutants, and no survivor.",
    Shape::Whole {
        least: 1,
        most: 10_000,
    },
)]);

static EXERCISED: Object = object(&[
    needed(
        "paths",
        "When a file that matches one of these changed,",
        some(&ONE_PATH),
    ),
    needed(
        "against",
        "evidence must say that tests ran against each of these.",
        some(&ONE_TEXT),
    ),
]);

static APPROVALS: Object = object(&[
    key(
        "count",
        "How many people must approve. Default: 0.",
        Shape::Whole { least: 0, most: 20 },
    ),
    key(
        "from",
        "Whose approvals count. Default: anybody's but the author side's.",
        list(&ONE_PARTY),
    ),
    key(
        "conversations_resolved",
        "No review conversation may be open. Default: false.",
        Shape::Flag,
    ),
    key(
        "code_owners",
        "Not judged by this version: only `false` is accepted.",
        Shape::Flag,
    ),
]);

static DESCRIPTION: Object = object(&[
    key(
        "closes_issue",
        "It must close an issue (`Closes #12`). Default: false.",
        Shape::Flag,
    ),
    key(
        "sections",
        "Headings it must have, each with text below.",
        list(&ONE_HEADING),
    ),
]);

static SIZE: Object = object(&[needed(
    "max_changed_lines",
    "The most lines added and removed.",
    Shape::Whole {
        least: 1,
        most: 1_000_000,
    },
)]);
