//! The sorts of text a policy holds: what each is called, how it looks to an editor, who judges it.

use super::scalars;
use super::shape::Kind;

pub(super) static TEXT: Kind = Kind {
    what: "a text",
    ..TEXT_LIKE
};
pub(super) static VENDOR: Kind = Kind {
    what: "a vendor's name",
    ..TEXT_LIKE
};
pub(super) static MODEL: Kind = Kind {
    what: "a model's name",
    ..TEXT_LIKE
};
pub(super) static LABEL: Kind = Kind {
    what: "a label",
    ..TEXT_LIKE
};
pub(super) static CHECK_NAME: Kind = Kind {
    what: "a check's name",
    ..TEXT_LIKE
};
pub(super) static HEADING: Kind = Kind {
    what: "a heading",
    ..TEXT_LIKE
};
pub(super) static TITLE: Kind = Kind {
    what: "a title or a pattern for titles",
    ..TEXT_LIKE
};
pub(super) static COMMENT: Kind = Kind {
    what: "the text of a comment",
    ..TEXT_LIKE
};
/// Whatever may be any text, under the name of its place.
const TEXT_LIKE: Kind = Kind {
    what: "",
    pattern: r"^\S(.{0,298}\S)?$",
    check: |text| scalars::text(text).map(drop),
};
pub(super) static DURATION: Kind = Kind {
    what: "a duration (`90s`, `10m`, `4h`, `3d`)",
    pattern: "^[0-9]{1,9}[smhd]$",
    check: |text| scalars::duration(text).map(drop),
};
pub(super) static PERCENT: Kind = Kind {
    what: "a percentage (`20%`)",
    pattern: "^(100|0?[1-9][0-9]|0{0,2}[1-9])%$",
    check: |text| scalars::percent(text).map(drop),
};
pub(super) static AUTHOR: Kind = Kind {
    what: "a login",
    pattern: r"^[A-Za-z0-9_-]{1,100}(\[bot\])?$",
    check: |text| scalars::author(text).map(drop),
};
pub(super) static USER: Kind = Kind {
    what: "a login",
    pattern: "^@?[A-Za-z0-9_-]{1,100}$",
    check: |text| scalars::user(text).map(drop),
};
pub(super) static SLUG: Kind = Kind {
    what: "an App's slug",
    pattern: "^[A-Za-z0-9_-]{1,100}$",
    check: |text| scalars::slug(text).map(drop),
};
pub(super) static PARTY: Kind = Kind {
    what: "a login (`alice`) or a team (`@org/team`)",
    pattern: "^(@?[A-Za-z0-9_-]{1,100}|@[A-Za-z0-9_-]{1,100}/[A-Za-z0-9_-]{1,100})$",
    check: |text| scalars::party(text).map(drop),
};
pub(super) static WORKFLOW: Kind = Kind {
    what: "a workflow's path",
    pattern: r"^\.github/workflows/[A-Za-z0-9_.-]*\.ya?ml$",
    check: |text| scalars::workflow(text).map(drop),
};
pub(super) static PUBLIC_KEY: Kind = Kind {
    what: "an ed25519 public key",
    pattern: r"^[A-Za-z0-9+/=\s-]{40,}$",
    check: |text| scalars::key(text).map(drop),
};
pub(super) static VERIFIER_NAME: Kind = Kind {
    what: "a verifier's name",
    pattern: "^[A-Za-z0-9_.-]{1,64}$",
    check: |text| scalars::verifier(text).map(drop),
};
pub(super) static PATH_PATTERN: Kind = Kind {
    what: "a path pattern",
    pattern: r"^[^\s!\\]([^\\]{0,298}[^\s\\])?$",
    check: |text| scalars::path_pattern(text).map(drop),
};
pub(super) static BRANCH_PATTERN: Kind = Kind {
    what: "a branch or a pattern for branches",
    pattern: r"^[^\s/!]\S{0,299}$",
    check: |text| scalars::branch_pattern(text).map(drop),
};
pub(super) static LABEL_PATTERN: Kind = Kind {
    what: "a label or a pattern for labels",
    pattern: r"^\S(.{0,298}\S)?$",
    check: |text| scalars::label_pattern(text).map(drop),
};
pub(super) static MOMENT: Kind = Kind {
    what: "a moment of the week (`Fri 16:00`)",
    pattern: "^[A-Za-z]{3,9} [0-2][0-9]:[0-5][0-9]$",
    check: |text| scalars::moment(text).map(drop),
};
pub(super) static TIMEZONE: Kind = Kind {
    what: "a time zone's name",
    pattern: "^[A-Za-z0-9_+/-]+$",
    check: |text| scalars::timezone(text).map(drop),
};
pub(super) static ADDRESS: Kind = Kind {
    what: "an address",
    pattern: r"^https?://\S+$",
    check: |text| scalars::address(text).map(drop),
};
