//! Lists, to the last page.
//!
//! A failing check on page two that nobody asked for reads as "all green", so every list is read in
//! pages of a hundred until the server says there is no next one. The pages are asked for by number:
//! an address out of a `Link` header names a host, and a token is sent to no host but the one that was
//! set. A list is whole when its last page was reached *and*, where GitHub tells a total, as many
//! different items were read; anything else (a cap, an item that cannot be read, a page that shifted
//! underneath) leaves it incomplete, which can only block.

use std::collections::HashSet;

use serde_json::Value;

use super::client::{Client, Page};
use super::quota::Principal;
use super::wire::unreadable;
use super::{Answer, Refused};
use crate::domain::facts::Listing;
use crate::domain::model::Repository;

/// The most GitHub gives.
pub(super) const PER_PAGE: usize = 100;
/// Three thousand items; a list that is longer is not read on, and not whole.
pub(super) const MOST_PAGES: usize = 30;

/// Where a list is read.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    /// Below a repository.
    Of(&'a Repository),
    /// By itself.
    At(Principal),
}

/// Where in an answer the items stand.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// The answer is the list.
    Bare,
    /// In this field, beside `total_count`.
    Counted(&'static str),
}

impl Client {
    /// Reads every page of a list. `tail` may hold a query already.
    pub(super) async fn list<T>(
        &self,
        place: Place<'_>,
        tail: &str,
        shape: Shape,
        convert: impl Fn(Value) -> Answer<T>,
    ) -> Answer<Listing<T>> {
        let raw = self.raw_list(place, tail, shape, MOST_PAGES).await?;
        Ok(converted(raw, convert))
    }

    /// As [`Client::list`], for where half a list is no use.
    pub(super) async fn whole_list<T>(
        &self,
        place: Place<'_>,
        tail: &str,
        convert: impl Fn(Value) -> Answer<T>,
    ) -> Answer<Vec<T>> {
        let raw = self.raw_list(place, tail, Shape::Bare, MOST_PAGES).await?;
        if !raw.complete {
            return Err(unreadable(tail, "the list is too long to be read whole"));
        }
        raw.items.into_iter().map(convert).collect()
    }

    pub(super) async fn raw_list(
        &self,
        place: Place<'_>,
        tail: &str,
        shape: Shape,
        most_pages: usize,
    ) -> Answer<Listing<Value>> {
        let mut seen = HashSet::new();
        let mut listing = Listing::default();
        for number in 1..=most_pages {
            let page = self.page(place, tail, number).await?;
            let next = page.next;
            let (items, total) = taken(page.value, shape).map_err(|why| unreadable(tail, why))?;
            let last = is_last(items.len(), next);
            let stuck = items.is_empty();
            listing
                .items
                .extend(items.into_iter().filter(|item| is_new(&mut seen, item)));
            if last || stuck {
                let agrees = match shape {
                    Shape::Bare => true,
                    Shape::Counted(_) => total == Some(listing.items.len() as u64),
                };
                listing.complete = last && agrees;
                return Ok(listing);
            }
        }
        tracing::warn!(tail, most_pages, "a list is longer than is read");
        Ok(listing)
    }

    /// One page by number.
    pub(super) async fn page(&self, place: Place<'_>, tail: &str, number: usize) -> Answer<Page> {
        let joint = if tail.contains('?') { '&' } else { '?' };
        let path = format!("{tail}{joint}per_page={PER_PAGE}&page={number}");
        match place {
            Place::Of(repo) => self.read_of(repo, &path).await,
            Place::At(who) => self.read(who, &path).await,
        }
    }
}

/// Gives every item its meaning. One that has none is left out, and the list is not whole then.
pub(super) fn converted<T>(
    raw: Listing<Value>,
    convert: impl Fn(Value) -> Answer<T>,
) -> Listing<T> {
    let mut complete = raw.complete;
    let items = raw.items.into_iter().filter_map(|item| {
        convert(item)
            .inspect_err(|refused: &Refused| {
                tracing::warn!(%refused, "left out of a list");
                complete = false;
            })
            .ok()
    });
    let items = items.collect();
    Listing { items, complete }
}

/// Keeps those that are something, of a list of which some are nothing to us.
pub(super) fn kept<T>(listing: Listing<Option<T>>) -> Listing<T> {
    Listing {
        items: listing.items.into_iter().flatten().collect(),
        complete: listing.complete,
    }
}

fn is_last(items: usize, next: Option<bool>) -> bool {
    match next {
        Some(next) => !next,
        None => items < PER_PAGE,
    }
}

fn taken(mut value: Value, shape: Shape) -> Result<(Vec<Value>, Option<u64>), &'static str> {
    let (items, total) = match shape {
        Shape::Bare => (value, None),
        Shape::Counted(field) => {
            let total = value.get("total_count").and_then(Value::as_u64);
            let items = value.get_mut(field).map(Value::take);
            (items.unwrap_or_default(), total)
        }
    };
    match items {
        Value::Array(items) => Ok((items, total)),
        _ => Err("not a list"),
    }
}

/// Whether an item was not on an earlier page: lists that grow at the top push the last item of one
/// page onto the next. What has nothing to be told apart by is new.
pub(super) fn is_new(seen: &mut HashSet<String>, item: &Value) -> bool {
    let key = ["id", "filename", "sha"]
        .iter()
        .find_map(|field| item.get(field).filter(|value| !value.is_null()));
    key.is_none_or(|key| seen.insert(key.to_string()))
}

#[cfg(test)]
mod tests;
