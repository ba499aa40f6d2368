//! The App's own list of deliveries, and how one is sent again.
//!
//! Both are asked in the App's name. Older attempts are reached by a cursor that stands in the `Link`
//! header alone; only the cursor is taken from there, since the address names a host.

use http::{HeaderMap, header};

use super::client::Client;
use super::listing::{self, PER_PAGE};
use super::quota::Principal;
use super::reads::encoded;
use super::wire::{apps, unreadable};
use super::{Answer, Attempts};
use crate::domain::facts::Listing;
use serde_json::Value;

impl Client {
    pub(super) async fn attempts_page(&self, cursor: Option<&str>) -> Answer<Attempts> {
        const WHAT: &str = "/app/hook/deliveries";
        let mut path = format!("{WHAT}?per_page={PER_PAGE}");
        if let Some(cursor) = cursor {
            path.push_str(&format!("&cursor={}", encoded(cursor)));
        }
        let who = Principal::App;
        let reply = self.reply(who, &path).await?;
        let Value::Array(items) = self.accept(who, &reply)? else {
            return Err(unreadable(WHAT, "not a list"));
        };
        let listed = listing::converted(Listing::whole(items), apps::attempt);
        Ok(Attempts {
            items: listed.items,
            next: next_cursor(&reply.headers),
        })
    }

    pub(super) async fn ask_again(&self, attempt: u64) -> Answer<()> {
        let path = format!("/app/hook/deliveries/{attempt}/attempts");
        let reply = self.post_as_app(&path).await?;
        self.accept(Principal::App, &reply).map(|_| ())
    }
}

/// The cursor of the next page.
fn next_cursor(headers: &HeaderMap) -> Option<String> {
    let links = headers.get_all(header::LINK).iter();
    let links = links.filter_map(|value| value.to_str().ok());
    let next = links
        .flat_map(|link| link.split(','))
        .find(|link| link.contains("rel=\"next\"") || link.contains("rel=next"))?;
    let address = next.split_once('<')?.1.split_once('>')?.0;
    let query = address.split_once('?')?.1;
    let cursor = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("cursor="))?;
    let cursor = percent_encoding::percent_decode_str(cursor).decode_utf8();
    Some(cursor.ok()?.into_owned()).filter(|cursor| !cursor.is_empty())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn cursor(link: &'static str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.append(header::LINK, HeaderValue::from_static(link));
        next_cursor(&headers)
    }

    #[test]
    fn only_the_cursor_is_taken_from_the_link() {
        let link = "<https://elsewhere.example/app/hook/deliveries?per_page=100&cursor=v1_12%3D>; \
                    rel=\"next\"";
        assert_eq!(cursor(link).as_deref(), Some("v1_12="));
    }

    #[test]
    fn the_last_page_has_no_cursor() {
        assert_eq!(next_cursor(&HeaderMap::new()), None);
        let link = "<https://x/app/hook/deliveries?cursor=v1_1>; rel=\"prev\"";
        assert_eq!(cursor(link), None);
        assert_eq!(cursor("<https://x/app?page=2>; rel=\"next\""), None);
    }
}
