//! What a server's refusal means for who posts: its reason, and what to do about it.

use serde_json::Value;

use super::{Failure, Proof, Server, Setback};
use crate::domain::evidence::parse;
use crate::github::line::Heard;

/// The longest piece of a server's words that is shown.
const LONGEST: usize = 2_000;
/// The most faults of a document that are shown.
const MOST_FAULTS: usize = 20;

/// Whether an answer is a Countersign server's "taken", and not a page of whatever else answers there.
pub fn is_ours(body: &[u8]) -> bool {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    answer["stored"].is_boolean()
}

/// Everything but "taken".
pub(super) fn setback(heard: &Heard, server: &Server, proof: &Proof, size: usize) -> Setback {
    let status = heard.status;
    let Some(reason) = reason(&heard.body) else {
        return strange(heard, server);
    };
    let no = |what: String, advice: String| {
        Setback::Final(Failure::No(format!(
            "{what} ({status}): {reason}\n{advice}"
        )))
    };
    let take = |what: &str| format!("the server does not take {what}");
    match status {
        401 => no(take("who posts this"), unproven(server, proof)),
        403 => no("this may not be posted".to_owned(), forbidden(proof)),
        409 => no(
            "the server holds another document of this context".to_owned(),
            "Nothing was changed. If this is a new run, make its document with a `--context` of its own \
             (`countersign verify` makes one up); if it is the same run, the stored document stands."
                .to_owned(),
        ),
        413 => no(
            format!("the document is too large, with {size} bytes"),
            format!(
                "At most {} bytes are read: shorten findings, or leave out mutants that prove nothing \
                 (`skipped`, `unviable`) and the lists of tests in `killed_by`.",
                parse::LARGEST
            ),
        ),
        422 => no(
            take("the document"),
            "Mend the document; `countersign evidence check FILE` shows the same without posting.".to_owned(),
        ),
        429 => Setback::Passing {
            what: format!("the server wants no more for now (429): {reason}"),
            advice: "The document is not stored. Post it again later",
            again: heard.again,
        },
        408 | 500.. => Setback::Passing {
            what: format!("the server cannot take it now ({status}): {reason}"),
            advice: "The document is not stored. See to the server's reason, or post it again later",
            again: heard.again,
        },
        _ => no(
            take("this"),
            "See that the server is a Countersign server as new as this program.".to_owned(),
        ),
    }
}

/// An answer that is no Countersign server's: a proxy's, or of something else that listens there.
fn strange(heard: &Heard, server: &Server) -> Setback {
    let status = heard.status;
    let address = &server.address;
    match (status, &heard.location) {
        (429 | 500.., _) => Setback::Passing {
            what: format!("what stands before the server at {address} answered {status}"),
            advice: "See that the server runs; the document is not lost, and posting it twice does no harm",
            again: heard.again,
        },
        (300..=399, Some(location)) => Setback::Final(Failure::Use(format!(
            "{address} leads elsewhere ({status}), which is not followed: if {} is the same server, give \
             that as its address, without `/evidence`",
            plain(location)
        ))),
        (413, _) => Setback::Final(Failure::No(format!(
            "what stands before the server at {address} takes no document of this size (413): let it take \
             bodies of 1.5 MiB, or shorten the document"
        ))),
        _ => Setback::Final(Failure::Remote(format!(
            "no Countersign server takes evidence at {address} ({status}): give the server's public address, \
             the one in its COUNTERSIGN_PUBLIC_URL"
        ))),
    }
}

fn unproven(server: &Server, proof: &Proof) -> String {
    match proof {
        Proof::Run(_) => format!(
            "The token was made out to {}: if the server's COUNTERSIGN_PUBLIC_URL is another, give that \
             with --audience (or --url). If that is right, see that the server reads the same GitHub as \
             this run's, and that its clock is right.",
            server.audience
        ),
        Proof::Key(key) => format!(
            "Put `key: {}` under a verifier in the repository's .github/countersign.yml, on the base \
             branch; or post with the key that stands there.",
            key.public()
        ),
    }
}

fn forbidden(proof: &Proof) -> String {
    let whose = match proof {
        Proof::Run(_) => {
            "name this workflow under a verifier's `workflow:` in the policy at the base branch, run it as it \
             stands on that branch, and in this repository, not in a fork"
        }
        Proof::Key(_) => "name this key under a verifier's `key:` in the policy at the base branch",
    };
    format!(
        "Who posts is proven; what is missing is the right to report this. If it is about who reports, {whose}. \
         If it is about the document, verify the head that the open pull request has now."
    )
}

/// The server's reason, with the faults of the document.
fn reason(body: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let mut reason = plain(answer["error"].as_str()?);
    let faults = answer["faults"].as_array().map_or(&[][..], |list| list);
    for fault in faults.iter().take(MOST_FAULTS) {
        let path = plain(fault["path"].as_str().unwrap_or_default());
        let message = plain(fault["message"].as_str().unwrap_or_default());
        reason.push_str("\n  ");
        reason.push_str(format!("{path} {message}").trim());
    }
    if let Some(more @ 1..) = faults.len().checked_sub(MOST_FAULTS) {
        reason.push_str(&format!("\n  and {more} more"));
    }
    Some(reason)
}

/// A text from elsewhere, for a terminal: one line, no control characters, not too long.
fn plain(text: &str) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(clean).take(LONGEST).collect()
}
