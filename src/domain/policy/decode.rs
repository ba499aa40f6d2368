//! From the tree to what it means.
//!
//! The shapes have been judged before, and whatever is malformed was told there, so a value that
//! cannot be taken here is silently its default: a file with any problem gives no policy anyway.
//! What is told here is what no single value shows: names that point nowhere, two names for one
//! principal, a gate that can never pass, a policy that asks for nothing.

use serde::de::IntoDeserializer;
use serde::de::value::Error as WordError;

use super::gates;
use super::globs::{Globs, Malformed};
use super::problems::{Problems, quoted};
use super::scalars;
use super::shape::LONGEST_LIST;
use super::tree::{Entry, Node};
use super::{
    Agents, Dispatch, FreezeWindow, Identity, Merge, Method, Mode, Notify, Party, Policy, Request,
    Share, Unavailable, Verifier, When,
};
use crate::domain::facts::Conclusion;
use crate::domain::model::{AppId, VerifierName};
use chrono::Duration;
use std::collections::BTreeMap;

/// What a whole file means.
pub(super) fn policy(root: &Node, problems: &mut Problems) -> Policy {
    let verifiers = verifiers(root.get("verifiers"), problems);
    Policy {
        mode: word(root, "mode").unwrap_or(Mode::Enforce),
        agents: agents(root.get("agents"), problems),
        gates: gates::decode(root, problems),
        verifiers,
        merge: merge(root.get("merge"), problems),
        dispatch: root.get("dispatch").map(|node| dispatch(node, problems)),
        short_commands: root
            .get("commands")
            .and_then(|node| flag(node, "short"))
            .unwrap_or(true),
        owners: parties(Some(root), "owners"),
        notify: notify(root),
    }
}

fn agents(node: Option<&Node>, problems: &mut Problems) -> Agents {
    let Some(node) = node else {
        return Agents::default();
    };
    let authors = texts(node, "authors").filter_map(|text| scalars::author(text).ok());
    Agents {
        authors: authors.collect(),
        branches: globs(node, "branches", Globs::new, problems).unwrap_or_default(),
        labels: strings(node, "labels"),
        vendor: string(node, "vendor"),
        model: string(node, "model"),
    }
}

fn verifiers(node: Option<&Node>, problems: &mut Problems) -> BTreeMap<VerifierName, Verifier> {
    let mut verifiers: BTreeMap<VerifierName, Verifier> = BTreeMap::new();
    let entries = node.map(Node::entries).unwrap_or_default();
    for (place, entry) in entries.iter().take(LONGEST_LIST).enumerate() {
        let Some(verifier) = verifier(entry, place, problems) else {
            continue;
        };
        let twin = verifiers
            .values()
            .find(|other| scalars::same_principal(&other.identity, &verifier.identity));
        if let Some(twin) = twin {
            let message = format!(
                "`verifiers.{}` is the same principal as `verifiers.{}`",
                entry.key, twin.name
            );
            let hint = "keep one: two names must not make two verifiers of one".to_owned();
            problems.add(entry.place, message, Some(hint));
        }
        verifiers.entry(verifier.name.clone()).or_insert(verifier);
    }
    verifiers
}

/// How long a verifier may be given.
const DEADLINES: (Duration, Duration) = (Duration::minutes(1), Duration::days(7));

fn verifier(entry: &Entry, place: usize, problems: &mut Problems) -> Option<Verifier> {
    let node = &entry.node;
    let deadline = duration(node, "deadline").unwrap_or(Duration::hours(1));
    if !(DEADLINES.0..=DEADLINES.1).contains(&deadline) {
        let place = node.get("deadline").unwrap_or(node).place;
        let message = format!("`verifiers.{}.deadline` is out of bounds", entry.key);
        let hint = "write one from `1m` to `7d`".to_owned();
        problems.add(place, message, Some(hint));
    }
    if let Some(told) = node
        .get("unavailable")
        .filter(|_| node.get("app").is_none())
    {
        let message = format!(
            "`verifiers.{}.unavailable` is about check runs, and only an `app` makes them",
            entry.key
        );
        let hint = "remove it: others say in their reports that they could not run".to_owned();
        problems.add(told.place, message, Some(hint));
    }
    Some(Verifier {
        name: scalars::verifier(&entry.key).ok()?,
        identity: identity(node)?,
        vendor: string(node, "vendor"),
        model: string(node, "model"),
        request: node.get("request").and_then(|node| {
            let workflow = string(node, "workflow").map(Request::Workflow);
            let label = || string(node, "label").map(Request::Label);
            let comment = || string(node, "comment").map(Request::Comment);
            workflow.or_else(label).or_else(comment)
        }),
        deadline,
        unavailable: node
            .get("unavailable")
            .and_then(|node| unavailable(node, &entry.key, problems)),
        place,
    })
}

/// How a verifier shows that it could not run. A pattern that takes a verdict for an outage would let
/// through what a verifier rejected, so it is refused.
fn unavailable(node: &Node, verifier: &str, problems: &mut Problems) -> Option<Unavailable> {
    let conclusions = match node.get("conclusion") {
        Some(_) => conclusions(node, "conclusion"),
        None => vec![Conclusion::Failure],
    };
    let unavailable = Unavailable {
        conclusions,
        title: string(node, "title")?,
    };
    if let Some(title) = unavailable.hides() {
        let place = node.get("title").unwrap_or(node).place;
        let message = format!(
            "`verifiers.{verifier}.unavailable.title` also covers a check that is titled \"{title}\": a \
             rejection would pass for an outage"
        );
        let hint = "write words that only an outage has, such as `*rate limit*`".to_owned();
        problems.add(place, message, Some(hint));
    }
    Some(unavailable)
}

fn identity(node: &Node) -> Option<Identity> {
    if let Some(app) = app(node) {
        // A slug is never all digits, so quoted digits mean the number too.
        return Some(match app.parse().ok().and_then(AppId::new) {
            Some(id) => Identity::AppId(id),
            None => Identity::AppSlug(app),
        });
    }
    let user = || node.get("user").and_then(Node::text);
    let workflow = || string(node, "workflow").map(Identity::Workflow);
    let key = || node.get("key").and_then(Node::text);
    let user = user().and_then(|text| scalars::user(text).ok());
    user.map(Identity::User).or_else(workflow).or_else(|| {
        key()
            .and_then(|text| scalars::key(text).ok())
            .map(Identity::Key)
    })
}

/// An App as it is named: a slug, or a number in digits.
pub(super) fn app(node: &Node) -> Option<String> {
    let node = node.get("app")?;
    let number = || node.whole::<u64>().map(|number| number.to_string());
    node.text().map(str::to_owned).or_else(number)
}

fn merge(node: Option<&Node>, problems: &mut Problems) -> Merge {
    let empty = Node::empty();
    let node = node.unwrap_or(&empty);
    let chosen = globs(node, "base_branches", Globs::new, problems);
    let is = |key: &str, word: &str| node.get(key).and_then(Node::text) == Some(word);
    Merge {
        when: word(node, "when").unwrap_or(When::Ready),
        others: word(node, "others").unwrap_or(When::Requested),
        method: word(node, "method").unwrap_or(Method::Merge),
        base_branches: chosen.unwrap_or_else(|| Globs::new(&["main"]).unwrap_or_default()),
        up_to_date_required: is("up_to_date", "required"),
        update_auto: is("update", "auto"),
        delete_branch: flag(node, "delete_branch").unwrap_or(false),
        freeze: list(node, "freeze")
            .filter_map(|node| freeze(node, problems))
            .collect(),
    }
}

fn freeze(node: &Node, problems: &mut Problems) -> Option<FreezeWindow> {
    let moment = |key| {
        node.get(key)?
            .text()
            .and_then(|text| scalars::moment(text).ok())
    };
    let zone = node.get("timezone").and_then(Node::text).unwrap_or("UTC");
    let window = FreezeWindow {
        from: moment("from")?,
        to: moment("to")?,
        timezone: scalars::timezone(zone).ok()?,
    };
    if window.from == window.to {
        let hint = "`/freeze BRANCH REASON` stops a branch until it is thawed".to_owned();
        problems.add(
            node.place,
            "`merge.freeze`: a window ends when it begins",
            Some(hint),
        );
    }
    Some(window)
}

fn dispatch(node: &Node, problems: &mut Problems) -> Dispatch {
    let labels = globs(node, "labels", Globs::labels, problems)
        .unwrap_or_else(|| Globs::labels(&["dispatch", "agent:*"]).unwrap_or_default());
    let own = |key: &str, default: &str| string(node, key).unwrap_or_else(|| default.to_owned());
    let dispatch = Dispatch {
        max_open_prs: whole(node, "max_open_prs").unwrap_or(8),
        max_in_flight: whole(node, "max_in_flight").unwrap_or(4),
        in_flight_expires: duration(node, "in_flight_expires").unwrap_or(Duration::hours(6)),
        grant_by_label: node.get("grant").and_then(Node::text) == Some("granted"),
        grant_label: own("grant_label", "dispatch:granted"),
        queued_label: own("queued_label", "dispatch:queued"),
        share: node.get("share").map(|node| Share {
            labels: strings(node, "labels"),
            at_least_percent: node
                .get("at_least")
                .and_then(Node::text)
                .and_then(|text| scalars::percent(text).ok())
                .unwrap_or(0),
            window: whole(node, "window").unwrap_or(20),
        }),
        sections: strings(node, "sections"),
        labels,
    };
    for (key, label) in [
        ("grant_label", &dispatch.grant_label),
        ("queued_label", &dispatch.queued_label),
    ] {
        if dispatch.labels.matches(label) {
            let message = format!(
                "{} is a label that asks for a dispatch, so `{key}` would ask again",
                quoted(label)
            );
            let hint = "choose another, or narrow `dispatch.labels`".to_owned();
            let place = node.get(key).or(node.get("labels")).unwrap_or(node).place;
            problems.add(place, message, Some(hint));
        }
    }
    if dispatch
        .grant_label
        .eq_ignore_ascii_case(&dispatch.queued_label)
    {
        let message = "`grant_label` and `queued_label` are the same label";
        problems.add(node.place, message, None);
    }
    dispatch
}

fn notify(root: &Node) -> Vec<Notify> {
    list(root, "notify")
        .filter_map(|node| {
            let url = node.text().or_else(|| node.get("url")?.text())?;
            Some(Notify {
                url: url.to_owned(),
                kinds: strings(node, "kinds"),
            })
        })
        .collect()
}

/// The elements of a list under a key.
pub(super) fn list<'a>(node: &'a Node, key: &str) -> impl Iterator<Item = &'a Node> + use<'a> {
    let items = node.get(key).map(Node::list).unwrap_or_default();
    items.iter().take(LONGEST_LIST)
}

/// The texts of a list under a key.
pub(super) fn texts<'a>(node: &'a Node, key: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    list(node, key).filter_map(Node::text)
}

/// The same, owned.
pub(super) fn strings(node: &Node, key: &str) -> Vec<String> {
    texts(node, key).map(str::to_owned).collect()
}

/// The text under a key.
pub(super) fn string(node: &Node, key: &str) -> Option<String> {
    node.get(key)?.text().map(str::to_owned)
}

/// The number under a key.
pub(super) fn whole(node: &Node, key: &str) -> Option<u32> {
    node.get(key)?.whole()
}

/// Yes or no under a key.
pub(super) fn flag(node: &Node, key: &str) -> Option<bool> {
    node.get(key)?.flag()
}

/// The duration under a key.
pub(super) fn duration(node: &Node, key: &str) -> Option<Duration> {
    scalars::duration(node.get(key)?.text()?).ok()
}

/// A fixed word under a key, as the type that spells its variants the same way.
pub(super) fn word<T: for<'de> serde::Deserialize<'de>>(node: &Node, key: &str) -> Option<T> {
    as_word(node.get(key)?.text()?)
}

fn as_word<T: for<'de> serde::Deserialize<'de>>(text: &str) -> Option<T> {
    T::deserialize(IntoDeserializer::<WordError>::into_deserializer(text)).ok()
}

/// The conclusions a list names.
pub(super) fn conclusions(node: &Node, key: &str) -> Vec<Conclusion> {
    texts(node, key).filter_map(as_word).collect()
}

/// Users and teams of a list under a key.
pub(super) fn parties(node: Option<&Node>, key: &str) -> Vec<Party> {
    let texts = node.into_iter().flat_map(|node| texts(node, key));
    texts.filter_map(|text| scalars::party(text).ok()).collect()
}

/// The patterns of a list under a key; `None` where the key is missing.
pub(super) fn globs(
    node: &Node,
    key: &str,
    compile: fn(&[String]) -> Result<Globs, Malformed>,
    problems: &mut Problems,
) -> Option<Globs> {
    let place = node.get(key)?.place;
    let patterns = strings(node, key);
    match compile(&patterns) {
        Ok(globs) => Some(globs),
        Err((_, why)) => {
            // A pattern that is malformed by itself was told where it stands. Together, good ones
            // can still be too much.
            if patterns
                .iter()
                .all(|one| compile(std::slice::from_ref(one)).is_ok())
            {
                let message = format!("`{key}`: the patterns do not compile together: {why}");
                problems.add(place, message, None);
            }
            None
        }
    }
}
