//! An answer on its way out.

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, header};
use http_body_util::Full;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::asked::Asked;
use crate::simulator::world::{Refusal, Time};

const DEFAULT_PAGE: usize = 30;
const LARGEST_PAGE: usize = 100;

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// Its body; not sent with 204 and 304.
    pub body: Value,
    headers: Vec<(&'static str, String)>,
    /// Where the list stands in the body, for lists: the empty name is the body itself.
    list: Option<&'static str>,
}

impl Reply {
    /// 200 with a body.
    pub fn ok(body: Value) -> Self {
        Self {
            status: 200,
            body,
            headers: Vec::new(),
            list: None,
        }
    }

    /// A body with another status.
    pub fn of(status: u16, body: Value) -> Self {
        Self {
            status,
            ..Self::ok(body)
        }
    }

    /// 204.
    pub fn nothing() -> Self {
        Self::of(204, Value::Null)
    }

    /// A list that is its own body.
    pub fn list(items: Vec<Value>) -> Self {
        Self::with_list("", Value::Array(items))
    }

    /// A list under a name, beside its `total_count`.
    pub fn counted(name: &'static str, items: Vec<Value>) -> Self {
        Self::with_list(
            name,
            json!({ "total_count": items.len(), name: Value::Array(items) }),
        )
    }

    /// A body with a list under a name, which is what is cut into pages.
    pub fn with_list(name: &'static str, body: Value) -> Self {
        Self {
            list: Some(name),
            ..Self::ok(body)
        }
    }

    /// A refusal, in the shape of GitHub's errors.
    pub fn refused(refusal: &Refusal) -> Self {
        let mut body = json!({
            "message": refusal.message,
            "documentation_url": "https://docs.github.com/rest",
            "status": refusal.status.to_string(),
        });
        if !refusal.errors.is_empty() {
            body["errors"] = json!(refusal.errors);
        }
        Self::of(refusal.status, body)
    }

    /// With a header.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// With a header, unless it has that one.
    pub fn or_header(self, name: &'static str, value: impl Into<String>) -> Self {
        if self.header(name).is_some() {
            self
        } else {
            self.with(name, value)
        }
    }

    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Its list, if it has one.
    pub fn items(&mut self) -> Option<&mut Vec<Value>> {
        let items = match self.list? {
            "" => &mut self.body,
            name => self.body.get_mut(name)?,
        };
        items.as_array_mut()
    }

    /// With no way to the next page; whether there was one.
    pub fn lose_next_page(&mut self) -> bool {
        let before = self.headers.len();
        self.headers
            .retain(|(name, value)| *name != "link" || !value.contains("rel=\"next\""));
        self.headers.len() < before
    }

    /// The page that was asked for, with its neighbours in a `Link` header. GitHub's links name the
    /// repository by id, whatever the caller called it.
    pub fn paged(mut self, asked: &Asked, origin: &str) -> Self {
        let number = |name, or: usize| {
            let said = asked.query(name).and_then(|text| text.parse().ok());
            said.filter(|number| *number > 0).unwrap_or(or)
        };
        let size = number("per_page", DEFAULT_PAGE).min(LARGEST_PAGE);
        let page = number("page", 1);
        let Some(items) = self.items() else {
            return self;
        };
        let pages = items.len().div_ceil(size).max(1);
        let skipped = (page - 1).saturating_mul(size).min(items.len());
        items.drain(..skipped);
        items.truncate(size);
        let mut links = Vec::new();
        let mut link = |to: usize, rel: &str| {
            links.push(format!("<{origin}{}>; rel=\"{rel}\"", asked.at_page(to)));
        };
        if page > 1 {
            link((page - 1).min(pages), "prev");
        }
        if page < pages {
            link(page + 1, "next");
            link(pages, "last");
        }
        if page > 1 {
            link(1, "first");
        }
        if links.is_empty() {
            return self;
        }
        self.with("link", links.join(", "))
    }

    /// The body as it is sent.
    fn text(&self) -> String {
        match self.status {
            204 | 304 => String::new(),
            _ => self.body.to_string(),
        }
    }

    /// Turns into 304 where the caller has this very answer already; whether it did. Every good answer
    /// to a read bears an `ETag`, which differs from installation to installation as GitHub's do.
    pub fn compared(mut self, known: Option<&str>, whose: &str) -> (Self, bool) {
        if self.status != 200 {
            return (self, false);
        }
        let digest = Sha256::digest(format!("{whose}\n{}", self.text()));
        let etag = format!("\"{}\"", hex::encode(digest));
        let unchanged = known.is_some_and(|known| known.contains(&etag));
        if unchanged {
            self.status = 304;
        }
        (self.with("etag", format!("W/{etag}")), unchanged)
    }

    /// Turns into what was answered earlier, where it is a good answer.
    pub fn be_as_earlier(&mut self, earlier: &Self) {
        if matches!(self.status, 200 | 304) && self.body != earlier.body {
            self.body = earlier.body.clone();
            self.headers.retain(|(name, _)| *name != "link");
            let link = earlier.headers.iter().find(|(name, _)| *name == "link");
            self.headers.extend(link.cloned());
        }
    }

    /// Gives up being what its `ETag` says.
    pub fn no_longer_compared(&mut self) {
        if self.status == 304 {
            self.status = 200;
        }
        self.headers.retain(|(name, _)| *name != "etag");
    }

    /// As HTTP, at a time.
    pub fn into_http(self, now: Time) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::from(self.text()));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        let date = now.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
        put(headers, "date", &date);
        put(headers, "server", "github.com");
        put(headers, "x-github-media-type", "github.v3; format=json");
        put(headers, "x-github-api-version-selected", "2022-11-28");
        if !matches!(self.status, 204 | 304) {
            put(
                headers,
                header::CONTENT_TYPE.as_str(),
                "application/json; charset=utf-8",
            );
        }
        for (name, value) in &self.headers {
            put(headers, name, value);
        }
        response
    }
}

fn put(headers: &mut HeaderMap, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (header::HeaderName::try_from(name), value.parse()) {
        headers.insert(name, value);
    }
}

/// Makes values null, wherever `choose` says so; how many. Ids and the lists themselves stay.
pub fn nulls(value: &mut Value, choose: &mut impl FnMut(&str) -> bool) -> usize {
    let mut made = 0;
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if !value.is_null() && !value.is_array() && name != "id" && choose(name) {
                    *value = Value::Null;
                    made += 1;
                } else {
                    made += nulls(value, choose);
                }
            }
        }
        Value::Array(items) => {
            made += items
                .iter_mut()
                .map(|item| nulls(item, choose))
                .sum::<usize>()
        }
        _ => {}
    }
    made
}
