//! Every key of the policy file, what it takes and what it does.
//!
//! This is the whole list: a key that is not here is an error, and what is here is what editors
//! offer. Whatever the words of a key mean is said once, in its `doc`.

use super::scalars;
use super::shape::{Key, Kind, Object, Shape};

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

static TEXT: Kind = Kind {
    what: "a text",
    pattern: r"^\S(.{0,298}\S)?$",
    check: |text| scalars::text(text).map(drop),
};
static VENDOR: Kind = Kind {
    what: "a vendor's name",
    ..TEXT_LIKE
};
static MODEL: Kind = Kind {
    what: "a model's name",
    ..TEXT_LIKE
};
static LABEL: Kind = Kind {
    what: "a label",
    ..TEXT_LIKE
};
static CHECK_NAME: Kind = Kind {
    what: "a check's name",
    ..TEXT_LIKE
};
static HEADING: Kind = Kind {
    what: "a heading",
    ..TEXT_LIKE
};
static COMMENT: Kind = Kind {
    what: "the text of a comment",
    ..TEXT_LIKE
};
const TEXT_LIKE: Kind = Kind {
    what: "",
    pattern: r"^\S(.{0,298}\S)?$",
    check: |text| scalars::text(text).map(drop),
};
static DURATION: Kind = Kind {
    what: "a duration (`90s`, `10m`, `4h`, `3d`)",
    pattern: "^[0-9]{1,9}[smhd]$",
    check: |text| scalars::duration(text).map(drop),
};
static PERCENT: Kind = Kind {
    what: "a percentage (`20%`)",
    pattern: "^(100|0?[1-9][0-9]|0{0,2}[1-9])%$",
    check: |text| scalars::percent(text).map(drop),
};
static AUTHOR: Kind = Kind {
    what: "a login",
    pattern: r"^[A-Za-z0-9_-]{1,100}(\[bot\])?$",
    check: |text| scalars::author(text).map(drop),
};
static USER: Kind = Kind {
    what: "a login",
    pattern: "^@?[A-Za-z0-9_-]{1,100}$",
    check: |text| scalars::user(text).map(drop),
};
static SLUG: Kind = Kind {
    what: "an App's slug",
    pattern: "^[A-Za-z0-9_-]{1,100}$",
    check: |text| scalars::slug(text).map(drop),
};
static PARTY: Kind = Kind {
    what: "a login (`alice`) or a team (`@org/team`)",
    pattern: "^(@?[A-Za-z0-9_-]{1,100}|@[A-Za-z0-9_-]{1,100}/[A-Za-z0-9_-]{1,100})$",
    check: |text| scalars::party(text).map(drop),
};
static WORKFLOW: Kind = Kind {
    what: "a workflow's path",
    pattern: r"^\.github/workflows/[A-Za-z0-9_.-]*\.ya?ml$",
    check: |text| scalars::workflow(text).map(drop),
};
static PUBLIC_KEY: Kind = Kind {
    what: "an ed25519 public key",
    pattern: r"^[A-Za-z0-9+/=\s-]{40,}$",
    check: |text| scalars::key(text).map(drop),
};
static VERIFIER_NAME: Kind = Kind {
    what: "a verifier's name",
    pattern: "^[A-Za-z0-9_.-]{1,64}$",
    check: |text| scalars::verifier(text).map(drop),
};
static PATH_PATTERN: Kind = Kind {
    what: "a path pattern",
    pattern: r"^[^\s!\\]([^\\]{0,298}[^\s\\])?$",
    check: |text| scalars::path_pattern(text).map(drop),
};
static BRANCH_PATTERN: Kind = Kind {
    what: "a branch or a pattern for branches",
    pattern: r"^[^\s/!]\S{0,299}$",
    check: |text| scalars::branch_pattern(text).map(drop),
};
static LABEL_PATTERN: Kind = Kind {
    what: "a label or a pattern for labels",
    pattern: r"^\S(.{0,298}\S)?$",
    check: |text| scalars::label_pattern(text).map(drop),
};
static MOMENT: Kind = Kind {
    what: "a moment of the week (`Fri 16:00`)",
    pattern: "^[A-Za-z]{3,9} [0-2][0-9]:[0-5][0-9]$",
    check: |text| scalars::moment(text).map(drop),
};
static TIMEZONE: Kind = Kind {
    what: "a time zone's name",
    pattern: "^[A-Za-z0-9_+/-]+$",
    check: |text| scalars::timezone(text).map(drop),
};
static ADDRESS: Kind = Kind {
    what: "an address",
    pattern: r"^https?://\S+$",
    check: |text| scalars::address(text).map(drop),
};

static ONE_VERIFIER: Shape = Shape::Text(&VERIFIER_NAME);
static ONE_LABEL: Shape = Shape::Text(&LABEL);
static ONE_LABEL_PATTERN: Shape = Shape::Text(&LABEL_PATTERN);
static ONE_PATH: Shape = Shape::Text(&PATH_PATTERN);
static ONE_BRANCH: Shape = Shape::Text(&BRANCH_PATTERN);
static ONE_PARTY: Shape = Shape::Text(&PARTY);
static ONE_HEADING: Shape = Shape::Text(&HEADING);
static ONE_TEXT: Shape = Shape::Text(&TEXT);

/// An App: by slug, or by number.
const APP: Shape = Shape::Either(&[
    Shape::Text(&SLUG),
    Shape::Whole {
        least: 1,
        most: u32::MAX,
    },
]);

const INDEPENDENCE: Shape = Shape::Word(&[
    ("context", "another run of the same model"),
    ("model", "another model"),
    ("vendor", "another vendor"),
    ("human", "a person"),
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
        "Pull requests whose head branch matches one of these patterns.",
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
    ],
};

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

static GATES: Object = object(&[
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
