//! What GitHub said to a merge.
//!
//! The most dangerous answer to misread: "it did not happen" when it did leads to a second merge, and
//! "it is refused" when the world only moved parks a pull request for ever. So the table is total over
//! status and words, and whatever does not say surely that nothing happened is [`Unknown`]: the pull
//! request is read back before anything else.
//!
//! | answer | meaning |
//! |---|---|
//! | 200 with `merged: true` and a commit id | merged |
//! | any other success | unknown |
//! | 409, 405 "Head branch was modified", 422 about the head | it moved: look again, never repeat blindly |
//! | 405 "Base branch was modified" | the base moved: look again |
//! | any other 405 | not allowed, in GitHub's words |
//! | 403, 429 that are a limit | limited; nothing happened |
//! | any other 403 | no permission (or a suspended installation) |
//! | 401 | the credentials are wrong; nothing happened |
//! | 404, 410, a redirect that leads nowhere | gone |
//! | any other 422 or 4xx | the request is wrong for this pull request |
//! | 408, 5xx, no answer | unknown |
//!
//! [`Unknown`]: MergeAnswer::Unknown

use serde::Deserialize;

use super::quota::Principal;
use super::transport::Reply;
use super::{MergeAnswer, Refused};
use crate::domain::model::{Oid, Timestamp};

#[derive(Deserialize)]
struct Merged {
    #[serde(default)]
    merged: Option<bool>,
    #[serde(default)]
    sha: Option<String>,
}

/// The meaning of an answer to a merge.
pub(super) fn meaning(reply: &Reply, who: Principal, now: Timestamp) -> MergeAnswer {
    if reply.status.is_success() {
        return success(reply);
    }
    let message = reply.message();
    match reply.status.as_u16() {
        405 if was_modified("base", &message) => MergeAnswer::BaseMoved(message),
        405 if was_modified("head", &message) => MergeAnswer::HeadMoved(message),
        405 => MergeAnswer::NotAllowed(message),
        409 => MergeAnswer::HeadMoved(message),
        // Some servers say 422 for a head that moved, GitHub says 409.
        422 if about_head(&message) => MergeAnswer::HeadMoved(message),
        _ => from_refusal(reply.refusal(who, now)),
    }
}

/// The meaning of a refusal that came before the merge was sent, or that is like any other call's.
pub(super) fn from_refusal(refused: Refused) -> MergeAnswer {
    match refused {
        Refused::NotFound(why) => MergeAnswer::Gone(why),
        Refused::Unauthorized(why) => MergeAnswer::Unauthorized(why),
        Refused::Forbidden(why) | Refused::Inactive(why) => MergeAnswer::Forbidden(why),
        Refused::Limited { after } | Refused::Resting { after } => MergeAnswer::Limited(after),
        Refused::Conflict(why) => MergeAnswer::HeadMoved(why),
        Refused::Invalid { status, message } => {
            MergeAnswer::Invalid(format!("{message} ({status})"))
        }
        unknown @ (Refused::Server(_) | Refused::NoAnswer(_) | Refused::Unreadable(_)) => {
            MergeAnswer::Unknown(unknown.to_string())
        }
    }
}

fn success(reply: &Reply) -> MergeAnswer {
    let status = reply.status.as_u16();
    let merged: Option<Merged> = serde_json::from_slice(&reply.body).ok();
    let commit = merged
        .filter(|merged| status == 200 && merged.merged == Some(true))
        .and_then(|merged| Oid::parse(&merged.sha?).ok());
    match commit {
        Some(commit) => MergeAnswer::Merged(commit),
        None => MergeAnswer::Unknown(format!(
            "GitHub answered {status} without saying which commit the merge became"
        )),
    }
}

/// GitHub's own words for a race: "Base branch was modified. Review and try the merge again."
///
/// Of a 405 only these mean that the world moved. "Head branch is out of date" is a rule of the
/// repository's (the head lacks the base's tip), and asking again would change nothing.
fn was_modified(which: &str, message: &str) -> bool {
    let words = message.to_ascii_lowercase();
    words.contains(&format!("{which} branch was modified"))
}

/// How servers that answer 422 to a stale `sha` put it: "Head sha is out of date" and the like.
fn about_head(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    let mut words = message.split(|c: char| !c.is_ascii_alphanumeric());
    let names_it = words.clone().any(|word| matches!(word, "head" | "sha"));
    let says_moved = message.contains("out of date")
        || words.any(|word| matches!(word, "modified" | "match" | "moved" | "changed"));
    names_it && says_moved
}

#[cfg(test)]
mod tests {
    use chrono::Duration;
    use serde_json::json;

    use super::super::refusal::tests::reply;
    use super::*;
    use crate::domain::model::InstallationId;

    const COMMIT: &str = "6dcb09b5b57875f334f61aebed695e2e4193db5e";

    fn meaning_of(status: u16, body: &str) -> MergeAnswer {
        let who = Principal::Installation(InstallationId::new(7).expect("an id"));
        let now = chrono::DateTime::from_timestamp(1_750_000_000, 0).expect("a time");
        meaning(&reply(status, body.to_owned()), who, now)
    }

    fn said(status: u16, message: &str) -> MergeAnswer {
        meaning_of(status, &json!({ "message": message }).to_string())
    }

    type Row = (u16, &'static str, fn(String) -> MergeAnswer);
    const DOCUMENTED: &[Row] = &[
        (
            405,
            "Base branch was modified. Review and try the merge again.",
            MergeAnswer::BaseMoved,
        ),
        (
            405,
            "Head branch was modified. Review and try the merge again.",
            MergeAnswer::HeadMoved,
        ),
        (
            405,
            "Pull Request is not mergeable",
            MergeAnswer::NotAllowed,
        ),
        (
            405,
            "3 of 3 required status checks are expected.",
            MergeAnswer::NotAllowed,
        ),
        (
            405,
            "At least 1 approving review is required by reviewers with write access.",
            MergeAnswer::NotAllowed,
        ),
        (
            405,
            "Merge commits are not allowed on this repository.",
            MergeAnswer::NotAllowed,
        ),
        (
            405,
            "Changes must be made through the merge queue",
            MergeAnswer::NotAllowed,
        ),
        (
            409,
            "Head branch was modified. Review and try the merge again.",
            MergeAnswer::HeadMoved,
        ),
        (409, "anything", MergeAnswer::HeadMoved),
        (
            405,
            "Head branch is out of date. Review and try the merge again.",
            MergeAnswer::NotAllowed,
        ),
        (422, "Head sha is out of date", MergeAnswer::HeadMoved),
        (
            422,
            "Head SHA does not match the pull request head",
            MergeAnswer::HeadMoved,
        ),
        (
            403,
            "Resource not accessible by integration",
            MergeAnswer::Forbidden,
        ),
        (
            403,
            "This installation has been suspended",
            MergeAnswer::Forbidden,
        ),
        (404, "Not Found", MergeAnswer::Gone),
        (410, "Gone", MergeAnswer::Gone),
        (401, "Bad credentials", MergeAnswer::Unauthorized),
    ];

    #[test]
    fn every_documented_answer_to_a_merge_has_its_meaning() {
        use MergeAnswer as M;
        for (status, message, expected) in DOCUMENTED {
            assert_eq!(
                said(*status, message),
                expected((*message).to_owned()),
                "{status} {message}"
            );
        }
        for words in ["Validation Failed", "No changes to a shared branch match"] {
            assert_eq!(said(422, words), M::Invalid(format!("{words} (422)")));
        }
        let minute = Duration::seconds(60);
        assert_eq!(
            said(403, "You have exceeded a secondary rate limit"),
            M::Limited(minute)
        );
        assert_eq!(said(429, ""), M::Limited(minute));
    }

    #[test]
    fn only_a_whole_success_is_a_merge() {
        let whole = json!({ "merged": true, "sha": COMMIT, "message": "x" }).to_string();
        let commit = Oid::parse(COMMIT).expect("an id");
        assert_eq!(meaning_of(200, &whole), MergeAnswer::Merged(commit));
        for (status, body) in [
            (200, json!({ "merged": false, "sha": COMMIT }).to_string()),
            (200, json!({ "sha": COMMIT }).to_string()),
            (200, json!({ "merged": true }).to_string()),
            (200, json!({ "merged": true, "sha": "6dcb09b" }).to_string()),
            (200, "<html>".into()),
            (200, String::new()),
            (202, whole.clone()),
            (204, String::new()),
        ] {
            let answer = meaning_of(status, &body);
            assert!(
                matches!(answer, MergeAnswer::Unknown(_)),
                "{status} {body}: {answer:?}"
            );
        }
    }

    #[test]
    fn what_does_not_say_that_nothing_happened_is_unknown() {
        for status in [408, 500, 502, 503, 504] {
            let answer = meaning_of(status, "");
            assert!(
                matches!(answer, MergeAnswer::Unknown(_)),
                "{status}: {answer:?}"
            );
        }
        let lost = from_refusal(Refused::NoAnswer("connection reset".into()));
        assert!(matches!(lost, MergeAnswer::Unknown(_)));
    }

    #[test]
    fn no_status_but_a_whole_200_is_ever_taken_for_a_merge() {
        for status in 100..=999 {
            let answer = said(status, "merged");
            assert!(!matches!(answer, MergeAnswer::Merged(_)), "{status}");
        }
    }
}
