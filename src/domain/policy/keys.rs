//! Every key of the policy file, what it takes and what it does.
//!
//! This is the whole list: a key that is not here is an error, and what is here is what editors
//! offer. Whatever the words of a key mean is said once, in its `doc`.

mod gates;

use super::kinds::{
    ADDRESS, AUTHOR, BRANCH_PATTERN, COMMENT, DURATION, HEADING, LABEL, LABEL_PATTERN, MODEL,
    MOMENT, PARTY, PERCENT, PUBLIC_KEY, SLUG, TIMEZONE, TITLE, USER, VENDOR, VERIFIER_NAME,
    WORKFLOW,
};
use super::shape::{Key, Object, Shape};
use gates::GATES;

const fn key(name: &'static str, doc: &'static str, shape: Shape) -> Key {
    Key {
        name,
        doc,
        shape,
        required: false,
    }
}

const fn needed(name: &'static str, doc: &'static str, shape: Shape) -> Key {
    Key {
        name,
        doc,
        shape,
        required: true,
    }
}

const fn object(keys: &'static [Key]) -> Object {
    Object { keys, one_of: &[] }
}

const fn list(of: &'static Shape) -> Shape {
    Shape::List { of, least: 0 }
}

const fn some(of: &'static Shape) -> Shape {
    Shape::List { of, least: 1 }
}

static ONE_LABEL: Shape = Shape::Text(&LABEL);
static ONE_LABEL_PATTERN: Shape = Shape::Text(&LABEL_PATTERN);
static ONE_BRANCH: Shape = Shape::Text(&BRANCH_PATTERN);
static ONE_PARTY: Shape = Shape::Text(&PARTY);
static ONE_HEADING: Shape = Shape::Text(&HEADING);

/// An App: by slug, or by number.
const APP: Shape = Shape::Either(&[
    Shape::Text(&SLUG),
    Shape::Whole {
        least: 1,
        most: u32::MAX,
    },
]);

const WHEN: Shape = Shape::Word(&[
    ("ready", "as soon as every gate reports"),
    ("requested", "after `/merge`"),
    ("never", "never; people merge"),
]);

/// The whole file.
pub(super) static POLICY: Object = object(&[
    needed(
        "version",
        "The version of this format: 1.",
        Shape::Whole { least: 1, most: 1 },
    ),
    key(
        "mode",
        "Whether the App acts. Default: enforce.",
        Shape::Word(&[
            ("enforce", "decide, publish and merge"),
            (
                "observe",
                "decide and publish; never merge, never touch labels",
            ),
        ]),
    ),
    key(
        "agents",
        "Which pull requests count as agents' (any of these), and what writes them.",
        Shape::Object(&AGENTS),
    ),
    key(
        "verifiers",
        "Who may report evidence, under names of your choice.",
        Shape::Named {
            by: &VERIFIER_NAME,
            each: &ONE_VERIFIER_ENTRY,
        },
    ),
    needed(
        "gates",
        "What must report before a merge.",
        Shape::Object(&GATES),
    ),
    key(
        "merge",
        "When and how the App merges.",
        Shape::Object(&MERGE),
    ),
    key(
        "dispatch",
        "How much agent work may be started, by labels on issues. Without it, nothing is limited.",
        Shape::Object(&DISPATCH),
    ),
    key(
        "commands",
        "How commands in comments are written.",
        Shape::Object(&COMMANDS),
    ),
    key(
        "owners",
        "Who may override a gate, freeze and thaw: logins and teams.",
        list(&ONE_PARTY),
    ),
    key("notify", "Where news are posted.", list(&NOTIFY)),
]);

static AGENTS: Object = object(&[
    key(
        "authors",
        "Pull requests opened by these logins.",
        list(&Shape::Text(&AUTHOR)),
    ),
    key(
        "branches",
        "Pull requests whose head branch matches one of these patterns. In forks they do not decide who merges.",
        list(&ONE_BRANCH),
    ),
    key(
        "labels",
        "Pull requests with one of these labels.",
        list(&ONE_LABEL),
    ),
    key(
        "vendor",
        "The vendor of the model that writes them: independence is measured from it.",
        Shape::Text(&VENDOR),
    ),
    key("model", "The model that writes them.", Shape::Text(&MODEL)),
]);

static ONE_VERIFIER_ENTRY: Shape = Shape::Object(&VERIFIER);
static VERIFIER: Object = Object {
    one_of: &["app", "user", "workflow", "key"],
    keys: &[
        key(
            "app",
            "It is this GitHub App: its slug, or its number.",
            APP,
        ),
        key("user", "It is this person: the login.", Shape::Text(&USER)),
        key(
            "workflow",
            "It is this workflow of the repository, by path; it reports with its OIDC token.",
            Shape::Text(&WORKFLOW),
        ),
        key(
            "key",
            "It holds the private half of this ed25519 public key; it reports in a signed envelope.",
            Shape::Text(&PUBLIC_KEY),
        ),
        key(
            "vendor",
            "Who makes its model; `human` for a person.",
            Shape::Text(&VENDOR),
        ),
        key("model", "Its model.", Shape::Text(&MODEL)),
        key(
            "request",
            "How it is asked for a run.",
            Shape::Object(&REQUEST),
        ),
        key(
            "deadline",
            "How long it has to report once it was asked; after that it counts as silent, and another \
             is asked. From 1m to 7d. Default: 1h.",
            Shape::Text(&DURATION),
        ),
        key(
            "unavailable",
            "Which check runs of its App, on the head and without a report, say that it could not run \
             (a used-up rate limit) and are no word about the code. Only with `app`.",
            Shape::Object(&UNAVAILABLE),
        ),
    ],
};

static UNAVAILABLE: Object = object(&[
    key(
        "conclusion",
        "Those with one of these conclusions. Default: [failure].",
        some(&Shape::Word(&[
            ("failure", "it failed"),
            ("timed_out", "it ran out of time"),
            ("cancelled", "it was cancelled"),
            ("neutral", "it has no opinion"),
            ("skipped", "it did not run"),
            ("action_required", "somebody must act"),
            ("startup_failure", "it could not start"),
        ])),
    ),
    needed(
        "title",
        "And with a title like this; `*` stands for any text, case does not count (\"*rate limit*\").",
        Shape::Text(&TITLE),
    ),
]);

static REQUEST: Object = Object {
    one_of: &["workflow", "label", "comment"],
    keys: &[
        key("workflow", "Start this workflow.", Shape::Text(&WORKFLOW)),
        key(
            "label",
            "Put this label on the pull request.",
            Shape::Text(&LABEL),
        ),
        key("comment", "Write this comment.", Shape::Text(&COMMENT)),
    ],
};

static MERGE: Object = object(&[
    key(
        "when",
        "When agents' pull requests are merged. Default: ready.",
        WHEN,
    ),
    key(
        "others",
        "When everybody else's are. Default: requested.",
        WHEN,
    ),
    key(
        "method",
        "How. Default: merge.",
        Shape::Word(&[
            ("merge", "a merge commit"),
            ("squash", "one commit"),
            ("rebase", "the commits on top of the base"),
        ]),
    ),
    key(
        "base_branches",
        "The only branches the App merges into: names or patterns. Default: [main].",
        some(&ONE_BRANCH),
    ),
    key(
        "up_to_date",
        "Whether the head must contain the base's tip. Default: ignored.",
        Shape::Word(&[("ignored", "it need not"), ("required", "it must")]),
    ),
    key(
        "update",
        "What happens when a ready pull request is behind. Default: never.",
        Shape::Word(&[("never", "nothing"), ("auto", "the App merges the base in")]),
    ),
    key(
        "delete_branch",
        "Delete the head branch after the merge. Default: false.",
        Shape::Flag,
    ),
    key(
        "freeze",
        "Weekly windows in which nothing merges.",
        list(&Shape::Object(&FREEZE)),
    ),
]);

static FREEZE: Object = object(&[
    needed("from", "Its start.", Shape::Text(&MOMENT)),
    needed(
        "to",
        "Its end; merges may begin at this minute.",
        Shape::Text(&MOMENT),
    ),
    key(
        "timezone",
        "In this time zone. Default: UTC.",
        Shape::Text(&TIMEZONE),
    ),
]);

static DISPATCH: Object = object(&[
    key(
        "labels",
        "Labels on issues that start an agent: names or patterns. Default: [dispatch, \"agent:*\"].",
        some(&ONE_LABEL_PATTERN),
    ),
    key(
        "max_open_prs",
        "Blocked while open agent pull requests plus grants in flight are more than this. Default: 8.",
        Shape::Whole {
            least: 0,
            most: 1000,
        },
    ),
    key(
        "max_in_flight",
        "Granted dispatches that have not opened a pull request yet. Default: 4.",
        Shape::Whole {
            least: 1,
            most: 1000,
        },
    ),
    key(
        "in_flight_expires",
        "When a grant ends without a pull request. Default: 6h.",
        Shape::Text(&DURATION),
    ),
    key(
        "grant",
        "How a dispatch is granted. Default: label.",
        Shape::Word(&[
            ("label", "it keeps its label"),
            (
                "granted",
                "the App adds `grant_label`, which the agent platform listens for",
            ),
        ]),
    ),
    key(
        "grant_label",
        "The label a grant adds. Default: dispatch:granted.",
        Shape::Text(&LABEL),
    ),
    key(
        "queued_label",
        "The label that says an issue waits. Default: dispatch:queued.",
        Shape::Text(&LABEL),
    ),
    key(
        "share",
        "A part of the work that is kept for certain labels.",
        Shape::Object(&SHARE),
    ),
    key(
        "sections",
        "Headings an issue needs before it may be dispatched.",
        list(&ONE_HEADING),
    ),
]);

static SHARE: Object = object(&[
    needed(
        "labels",
        "Issues with one of these labels",
        some(&ONE_LABEL),
    ),
    needed(
        "at_least",
        "must make up at least this part",
        Shape::Text(&PERCENT),
    ),
    key(
        "window",
        "of the last so many dispatches. Default: 20.",
        Shape::Whole {
            least: 1,
            most: 1000,
        },
    ),
]);

static COMMANDS: Object = object(&[key(
    "short",
    "`/merge` works besides `/countersign merge`. Default: true.",
    Shape::Flag,
)]);

static NOTIFY: Shape = Shape::Either(&[Shape::Text(&ADDRESS), Shape::Object(&NOTIFY_ENTRY)]);
static NOTIFY_ENTRY: Object = object(&[
    needed(
        "url",
        "The address of a webhook or of an ntfy topic.",
        Shape::Text(&ADDRESS),
    ),
    key(
        "kinds",
        "The kinds of news. Default: all.",
        some(&Shape::Word(&[
            ("merged", "a pull request was merged"),
            ("blocked", "a gate failed"),
            ("ready", "a pull request waits for `/merge` alone"),
            ("question", "a question waits for the owner"),
            ("override", "an owner waived a gate"),
            ("frozen", "a base branch was frozen"),
        ])),
    ),
]);
