//! An answer on its way out.

use axum::body::Body;
use axum::http::{HeaderMap, Response, StatusCode, header};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Asked;
use crate::simulator::world::Refusal;

/// How much of its limit a caller has used.
pub struct Limits {
    pub used: u64,
    pub reset: i64,
}

const LIMIT: u64 = 5_000;
const DEFAULT_PAGE: usize = 30;
const LARGEST_PAGE: usize = 100;

/// An answer.
pub struct Reply {
    pub status: u16,
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

    /// 201 with a body.
    pub fn created(body: Value) -> Self {
        Self {
            status: 201,
            ..Self::ok(body)
        }
    }

    /// A list that is its own body.
    pub fn list(items: Vec<Value>) -> Self {
        Self {
            list: Some(""),
            ..Self::ok(Value::Array(items))
        }
    }

    /// A list under a name, beside its `total_count`.
    pub fn counted(name: &'static str, items: Vec<Value>) -> Self {
        let body = json!({ "total_count": items.len(), name: items });
        Self {
            list: Some(name),
            ..Self::ok(body)
        }
    }

    /// A body with a list under a name that is paged, and its own count in it.
    pub fn with_list(name: &'static str, body: Value) -> Self {
        Self {
            list: Some(name),
            ..Self::ok(body)
        }
    }

    /// A refusal.
    pub fn refused(refusal: &Refusal) -> Self {
        let mut body = json!({
            "message": refusal.message,
            "documentation_url": "https://docs.github.com/rest",
            "status": refusal.status.to_string(),
        });
        if !refusal.errors.is_empty() {
            body["errors"] = json!(refusal.errors);
        }
        Self {
            status: refusal.status,
            ..Self::ok(body)
        }
    }

    /// With a header.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// With the rate-limit headers, unless it bears them already.
    pub fn with_limits(self, limits: &Limits) -> Self {
        if self
            .headers
            .iter()
            .any(|(name, _)| *name == "x-ratelimit-remaining")
        {
            return self;
        }
        self.with("x-ratelimit-limit", LIMIT.to_string())
            .with("x-ratelimit-used", limits.used.to_string())
            .with(
                "x-ratelimit-remaining",
                LIMIT.saturating_sub(limits.used).to_string(),
            )
            .with("x-ratelimit-reset", limits.reset.to_string())
            .with("x-ratelimit-resource", "core")
    }

    fn items(&mut self) -> Option<&mut Vec<Value>> {
        let items = match self.list? {
            "" => &mut self.body,
            name => self.body.get_mut(name)?,
        };
        items.as_array_mut()
    }

    /// How long its list is, if it is one.
    pub fn length(&mut self) -> Option<usize> {
        self.items().map(|items| items.len())
    }

    /// With so much of its list, and nothing that tells of the rest.
    pub fn shortened(mut self, to: usize, also_its_count: bool) -> Self {
        if let Some(items) = self.items() {
            items.truncate(to);
            let left = items.len();
            if let Some(count) = self.body.get_mut("total_count").filter(|_| also_its_count) {
                *count = json!(left);
            }
            self.headers.retain(|(name, _)| *name != "link");
        }
        self
    }

    /// The page that was asked for, with its neighbours in a `Link` header.
    pub fn paged(mut self, asked: &Asked<'_>, origin: &str, whole: &str) -> Self {
        let number = |name: &str, or: usize| {
            asked
                .query
                .get(name)
                .and_then(|text| text.parse().ok())
                .unwrap_or(or)
        };
        let size = number("per_page", DEFAULT_PAGE).clamp(1, LARGEST_PAGE);
        let page = number("page", 1).max(1);
        let Some(items) = self.items() else {
            return self;
        };
        let pages = items.len().div_ceil(size).max(1);
        let shown: Vec<Value> = items
            .iter()
            .skip((page - 1) * size)
            .take(size)
            .cloned()
            .collect();
        *items = shown;
        let mut links = Vec::new();
        let mut link = |to: usize, rel: &str| {
            let path = whole.split('?').next().unwrap_or(whole);
            let mut query: Vec<String> = asked
                .query
                .iter()
                .filter(|(name, _)| *name != "page")
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            query.sort_unstable();
            query.push(format!("page={to}"));
            links.push(format!(
                "<{origin}{path}?{}>; rel=\"{rel}\"",
                query.join("&")
            ));
        };
        if page > 1 {
            link(page - 1, "prev");
            link(1, "first");
        }
        if page < pages {
            link(page + 1, "next");
            link(pages, "last");
        }
        if links.is_empty() {
            self
        } else {
            self.with("link", links.join(", "))
        }
    }

    /// As HTTP: 304 without a body where the caller has it already.
    pub fn into_http(self, asked: &HeaderMap) -> Response<Body> {
        let text = if self.status == 204 {
            String::new()
        } else {
            self.body.to_string()
        };
        let etag = format!("\"{}\"", hex::encode(Sha256::digest(text.as_bytes())));
        let known = asked
            .get(header::IF_NONE_MATCH)
            .and_then(|value| value.to_str().ok());
        let unchanged = self.status == 200 && known == Some(etag.as_str());
        let mut response = Response::new(Body::from(if unchanged { String::new() } else { text }));
        let status = if unchanged { 304 } else { self.status };
        *response.status_mut() =
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        let mut set = |name: &'static str, value: &str| {
            if let Ok(value) = value.parse() {
                headers.insert(name, value);
            }
        };
        set("content-type", "application/json; charset=utf-8");
        set("etag", &etag);
        for (name, value) in &self.headers {
            set(name, value);
        }
        response
    }
}

/// Makes every user, App and `mergeable` null, as deleted accounts and busy servers do.
pub fn nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match name.as_str() {
                    "user" | "author" | "committer" | "app" | "creator" | "mergeable"
                    | "merged_by" => {
                        // A commit's own author is text about a person, not an account.
                        if value.get("date").is_none() {
                            *value = Value::Null;
                        }
                    }
                    _ => nulls(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(nulls),
        _ => {}
    }
}
