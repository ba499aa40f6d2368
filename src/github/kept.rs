//! Answers that are kept, to be asked for again at no cost.
//!
//! GitHub takes nothing from the hourly budget for a 304: it says "what I told you is what stands". So a
//! read shows the `ETag` of the answer before, and a 304 is a fact as fresh as any other.
//!
//! # Properties
//!
//! - **Nobody is served what another may see.** The key is the asker and the whole address. What an
//!   installation lost the right to read is answered 403 or 404, never 304, and is dropped then.
//! - **A page keeps its way on.** A 304 need not repeat `Link`; the kept one stands in for it, so that a
//!   list is not taken for whole because its page did not change.
//! - **Bounded in bytes.** What was not asked for the longest goes first, and an answer that would push
//!   much of the rest out is not kept.
//!
//! Not kept: a pull request whose `mergeable` GitHub is still working out. Asking is what makes GitHub work
//! it out, and a plain question surely does. Nothing is kept over a restart: the first sweep pays.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::quota::Principal;
use super::transport::Reply;

/// For all installations together. A sweep over a thousand pull requests reads about this much.
const ROOM: usize = 128 * 1024 * 1024;
/// One answer may take this part of it.
const LARGEST_PART: usize = 32;
/// What an entry costs beside its texts: two tables' slots and the pointers between.
const OVERHEAD: usize = 256;

/// An answer as it was given before.
#[derive(Debug)]
pub(super) struct Kept {
    /// What to show.
    pub etag: HeaderValue,
    link: Vec<HeaderValue>,
    body: Bytes,
}

impl Kept {
    /// The whole answer that a 304 stands for; `None` where the 304 speaks of another one than this.
    pub fn confirmed_by(&self, reply: Reply) -> Option<Reply> {
        let named = reply.headers.get(header::ETAG);
        if named.is_some_and(|named| strong(named) != strong(&self.etag)) {
            return None;
        }
        let mut headers = reply.headers;
        if !headers.contains_key(header::LINK) {
            for link in &self.link {
                headers.append(header::LINK, link.clone());
            }
        }
        Some(Reply {
            status: StatusCode::OK,
            headers,
            body: self.body.clone(),
        })
    }
}

/// A tag without its mark of weakness: whether the bytes or only the meaning are the same is all one
/// here, and proxies that compress turn one into the other.
fn strong(etag: &HeaderValue) -> &[u8] {
    let bytes = etag.as_bytes();
    bytes.strip_prefix(b"W/").unwrap_or(bytes)
}

type Place = (Principal, String);

#[derive(Default)]
struct Shelf {
    by_place: HashMap<Arc<Place>, (u64, Arc<Kept>)>,
    by_age: BTreeMap<u64, Arc<Place>>,
    bytes: usize,
    clock: u64,
}

/// All that is kept.
pub(super) struct Shelves {
    shelf: Mutex<Shelf>,
    room: usize,
}

impl Default for Shelves {
    fn default() -> Self {
        Self::with_room(ROOM)
    }
}

impl Shelves {
    /// Shelves that hold so many bytes.
    pub fn with_room(room: usize) -> Self {
        Self {
            shelf: Mutex::default(),
            room,
        }
    }

    /// What this asker was answered at this address before.
    pub fn find(&self, who: Principal, address: &str) -> Option<Arc<Kept>> {
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (who, address.to_owned());
        let (kept, place) = {
            let (place, (_, kept)) = shelf.by_place.get_key_value(&place)?;
            (Arc::clone(kept), Arc::clone(place))
        };
        shelf.touch(&place);
        Some(kept)
    }

    /// Notes what was answered: keeps it, or drops what does not stand any more.
    pub fn note(&self, who: Principal, address: &str, reply: &Reply) {
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (who, address.to_owned());
        // A server in trouble says nothing about what stands; everything else does.
        if !reply.status.is_server_error() {
            shelf.drop_at(&place);
        }
        let Some(kept) = worth_keeping(reply) else {
            return;
        };
        let size = size(&place, &kept);
        if size > self.room / LARGEST_PART {
            return;
        }
        while shelf.bytes + size > self.room {
            let Some((_, oldest)) = shelf.by_age.first_key_value() else {
                break;
            };
            let oldest = Arc::clone(oldest);
            shelf.drop_at(&oldest);
        }
        shelf.bytes += size;
        let place = Arc::new(place);
        shelf
            .by_place
            .insert(Arc::clone(&place), (0, Arc::new(kept)));
        shelf.touch(&place);
    }
}

impl Shelf {
    fn touch(&mut self, place: &Arc<Place>) {
        self.clock += 1;
        let clock = self.clock;
        if let Some((at, _)) = self.by_place.get_mut(place) {
            self.by_age.remove(at);
            *at = clock;
            self.by_age.insert(clock, Arc::clone(place));
        }
    }

    fn drop_at(&mut self, place: &Place) {
        if let Some((at, kept)) = self.by_place.remove(place) {
            self.by_age.remove(&at);
            self.bytes = self.bytes.saturating_sub(size(place, &kept));
        }
    }
}

fn size(place: &Place, kept: &Kept) -> usize {
    let link: usize = kept.link.iter().map(HeaderValue::len).sum();
    OVERHEAD + place.1.len() + kept.etag.len() + link + kept.body.len()
}

fn worth_keeping(reply: &Reply) -> Option<Kept> {
    let stored = reply.status == StatusCode::OK && !forbids(&reply.headers);
    let etag = reply.headers.get(header::ETAG)?;
    if !stored || undecided(&reply.body) {
        return None;
    }
    let link = reply.headers.get_all(header::LINK).iter().cloned();
    Some(Kept {
        etag: etag.clone(),
        link: link.collect(),
        body: reply.body.clone(),
    })
}

fn forbids(headers: &HeaderMap) -> bool {
    let mut said = headers.get_all(header::CACHE_CONTROL).iter();
    let mut varies = headers.get_all(header::VARY).iter();
    said.any(|value| contains(value.as_bytes(), b"no-store"))
        || varies.any(|value| value.as_bytes() == b"*")
}

/// Whether GitHub is still working out if a pull request can be merged.
fn undecided(body: &[u8]) -> bool {
    contains(body, b"\"mergeable\":null") || contains(body, b"\"mergeable\": null")
}

fn contains(text: &[u8], words: &[u8]) -> bool {
    text.windows(words.len()).any(|window| window == words)
}

#[cfg(test)]
mod tests {
    use super::super::refusal::tests::reply;
    use super::*;
    use crate::domain::model::InstallationId;

    fn installation(id: u64) -> Principal {
        Principal::Installation(InstallationId::new(id).expect("an id"))
    }

    fn tagged(status: u16, etag: &'static str, body: &str) -> Reply {
        let mut reply = reply(status, body.to_owned());
        let etag = HeaderValue::from_static(etag);
        reply.headers.insert(header::ETAG, etag);
        reply
    }

    fn body_of(reply: Option<Reply>) -> Option<Bytes> {
        reply.map(|reply| reply.body)
    }

    #[test]
    fn an_answer_is_kept_for_who_got_it_alone() {
        let shelves = Shelves::default();
        shelves.note(installation(1), "/x", &tagged(200, "\"a\"", "one"));
        let found = shelves.find(installation(1), "/x").expect("kept");
        let whole = found.confirmed_by(tagged(304, "W/\"a\"", ""));
        assert_eq!(body_of(whole), Some(Bytes::from("one")));
        assert!(shelves.find(installation(2), "/x").is_none());
        assert!(shelves.find(Principal::App, "/x").is_none());
        assert!(shelves.find(installation(1), "/y").is_none());
    }

    #[test]
    fn a_304_for_another_answer_confirms_nothing() {
        let shelves = Shelves::default();
        shelves.note(installation(1), "/x", &tagged(200, "\"a\"", "one"));
        let found = shelves.find(installation(1), "/x").expect("kept");
        assert!(found.confirmed_by(tagged(304, "\"b\"", "")).is_none());
    }

    #[test]
    fn a_kept_page_keeps_its_way_to_the_next() {
        let shelves = Shelves::default();
        let mut first = tagged(200, "\"a\"", "[]");
        let link = HeaderValue::from_static("</x?page=2>; rel=\"next\"");
        first.headers.insert(header::LINK, link);
        shelves.note(installation(1), "/x", &first);
        let found = shelves.find(installation(1), "/x").expect("kept");
        let whole = found.confirmed_by(tagged(304, "\"a\"", ""));
        assert_eq!(whole.and_then(|whole| whole.has_next()), Some(true));
        // What the 304 says itself goes before.
        let mut last = tagged(304, "\"a\"", "");
        let link = HeaderValue::from_static("</x?page=1>; rel=\"prev\"");
        last.headers.insert(header::LINK, link);
        let whole = found.confirmed_by(last);
        assert_eq!(whole.and_then(|whole| whole.has_next()), Some(false));
    }

    #[test]
    fn what_may_not_be_read_any_more_is_dropped_and_trouble_drops_nothing() {
        for (status, stays) in [(403, false), (404, false), (301, false), (502, true)] {
            let shelves = Shelves::default();
            shelves.note(installation(1), "/x", &tagged(200, "\"a\"", "one"));
            shelves.note(installation(1), "/x", &tagged(status, "\"b\"", ""));
            let found = shelves.find(installation(1), "/x").is_some();
            assert_eq!(found, stays, "{status}");
        }
    }

    #[test]
    fn a_pull_request_that_github_still_works_on_is_asked_for_plainly() {
        for body in [r#"{"mergeable":null}"#, r#"{"mergeable": null}"#] {
            let shelves = Shelves::default();
            shelves.note(installation(1), "/x", &tagged(200, "\"a\"", body));
            assert!(shelves.find(installation(1), "/x").is_none());
        }
    }

    #[test]
    fn an_answer_that_its_server_wants_forgotten_is_not_kept() {
        for (name, value) in [
            (header::CACHE_CONTROL, "private, no-store"),
            (header::VARY, "*"),
        ] {
            let shelves = Shelves::default();
            let mut answer = tagged(200, "\"a\"", "one");
            answer.headers.insert(name, HeaderValue::from_static(value));
            shelves.note(installation(1), "/x", &answer);
            assert!(shelves.find(installation(1), "/x").is_none());
        }
    }

    #[test]
    fn the_room_is_kept_and_what_was_not_asked_for_longest_goes_first() {
        let one = OVERHEAD + "/a".len() + "\"a\"".len() + 1_000;
        let shelves = Shelves::with_room(one * 40);
        let body = "x".repeat(1_000);
        let note = |name: &str| shelves.note(installation(1), name, &tagged(200, "\"a\"", &body));
        let has = |name: &str| shelves.find(installation(1), name).is_some();
        let names: Vec<String> = (b'A'..b'A' + 40)
            .map(|letter| format!("/{}", char::from(letter)))
            .collect();
        names.iter().for_each(|name| note(name));
        assert!(has("/A"), "all have room");
        note("/~");
        assert!(has("/A") && has("/~") && !has("/B"));
        let bytes = shelves.shelf.lock().expect("no panic").bytes;
        assert_eq!(bytes, one * 40);
        // Again and again the same takes no more room.
        for _ in 0..3 {
            note("/~");
        }
        assert_eq!(shelves.shelf.lock().expect("no panic").bytes, bytes);
        // One that would push much of the rest out is not kept.
        let large = "x".repeat(one * 2);
        shelves.note(installation(1), "/large", &tagged(200, "\"a\"", &large));
        assert!(!has("/large") && has("/A"));
    }
}
