//! GitHub's pages, as far as a person needs them to register an App from a manifest.
//!
//! A form elsewhere posts a manifest to `/settings/apps/new` (or an organisation's); the page shows what
//! it asks for, with a button; the button leads back to the manifest's `redirect_url` with a code; the
//! code is exchanged, once and within an hour, for the App's credentials
//! (`POST /app-manifests/{code}/conversions`, on the API's side). What is wrong with a manifest is
//! shown on a page, in GitHub's words where they are known: "Default events unsupported", "Default
//! events are not supported by permissions", "wasn't supplied".
//!
//! **Properties.** The App that is registered is *our* App: from the click on it has the name, the
//! permissions, the events and the webhook of the manifest, and the code gives the key and the secret
//! that this GitHub knows it by. So what somebody stored from the answer really works here.
//!
//! **What is left out.** Signing in, whether the person may register Apps for the organisation, OAuth
//! (the client's id and secret are there and open nothing), a second App beside ours, and the rarer
//! permissions' events.

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode, header};
use http_body_util::Full;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::asked::{Asked, Scene};
use super::manifest::Manifest;
use super::pipeline;
use super::reply::Reply;
use crate::simulator::world::{Done, Refusal, Time, World};
use crate::simulator::{Simulator, payload};

/// How long a code may be exchanged.
const CODE_LIFE: chrono::Duration = chrono::Duration::hours(1);

/// The codes that were handed out and not exchanged.
#[derive(Debug, Default)]
pub struct Codes {
    open: Vec<(String, Time)>,
    count: u64,
}

impl Codes {
    fn issue(&mut self, seed: u64, now: Time) -> String {
        self.count += 1;
        let digest = hex::encode(Sha256::digest(format!("code {} of {seed}", self.count)));
        let code = digest.get(..40).unwrap_or(&digest).to_owned();
        self.open.push((code.clone(), now + CODE_LIFE));
        code
    }

    /// Whether a code is good; it is not, afterwards.
    fn exchange(&mut self, code: &str, now: Time) -> bool {
        let found = self.open.iter().position(|(known, _)| known == code);
        found.is_some_and(|index| now < self.open.swap_remove(index).1)
    }
}

/// `POST /app-manifests/{code}/conversions`: nobody needs to prove anything but by the code.
pub fn convert(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let now = scene.world.now();
    let good = scene.face.desk().codes.exchange(asked.param("code"), now);
    if !good {
        return Err(Refusal::not_found());
    }
    let mut body = payload::app(scene.world, scene.world.our_app);
    body["client_id"] = json!("Iv23simulated");
    body["client_secret"] = json!("worth nothing");
    body["webhook_secret"] = json!(scene.credentials.webhook_secret);
    body["pem"] = json!(scene.credentials.private_key_pem);
    Ok(Reply::of(201, body))
}

/// A page, where a request is for one.
pub fn page(github: &Simulator, parts: &Parts, body: &[u8]) -> Option<Response<Full<Bytes>>> {
    let path: Vec<&str> = parts.uri.path().trim_matches('/').split('/').collect();
    let (owner, page) = match path.as_slice() {
        ["settings", "apps", page @ ..] => (None, page),
        ["organizations", org, "settings", "apps", page @ ..] => (Some(*org), page),
        // Browsers ask for it wherever they see a page.
        ["favicon.ico"] => return Some(nothing()),
        _ => return None,
    };
    let sent = pipeline::query(&String::from_utf8_lossy(body));
    let sent = |name: &str| word(&sent, name).unwrap_or_default();
    let posted = parts.method == http::Method::POST;
    let answer = match page {
        ["new"] if posted => {
            let query = pipeline::query(parts.uri.query().unwrap_or_default());
            offer(
                owner,
                &sent("manifest"),
                &word(&query, "state").unwrap_or_default(),
            )
        }
        ["new"] => {
            let text = "This GitHub registers Apps from manifests: POST one here.";
            html(200, "Register new GitHub App", &format!("<p>{text}</p>"))
        }
        [] if posted => {
            let mut world = github.lock();
            register(
                github,
                &mut world,
                &sent("manifest"),
                &sent("name"),
                &sent("state"),
            )
        }
        _ => return None,
    };
    Some(answer)
}

fn word(pairs: &[(String, String)], name: &str) -> Option<String> {
    let found = pairs.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.clone())
}

/// The page with the button.
fn offer(org: Option<&str>, text: &str, state: &str) -> Response<Full<Bytes>> {
    let manifest = match Manifest::read(text) {
        Ok(manifest) => manifest,
        Err(faults) => return refused(&faults),
    };
    let action = match org {
        Some(org) => format!("/organizations/{org}/settings/apps"),
        None => "/settings/apps".to_owned(),
    };
    let permissions = manifest.permissions.iter();
    let permissions: String = permissions
        .map(|(name, level)| format!("<li>{}: {}</li>", escaped(name), escaped(level)))
        .collect();
    let hidden = |name: &str, value: &str| {
        format!(
            "<input type=\"hidden\" name=\"{name}\" value=\"{}\">",
            escaped(value)
        )
    };
    let body = format!(
        "<form method=\"post\" action=\"{}\">\n<label for=\"name\">GitHub App name</label>\n\
         <input id=\"name\" name=\"name\" value=\"{}\">\n{}{}<ul>{permissions}</ul>\n\
         <button>Create GitHub App</button>\n</form>",
        escaped(&action),
        escaped(&manifest.name),
        hidden("manifest", text),
        hidden("state", state),
    );
    let whose = org.map_or_else(|| "yourself".to_owned(), escaped);
    html(200, &format!("Create GitHub App for {whose}"), &body)
}

/// The click: our App becomes what the manifest says, and the person is sent back with a code.
fn register(
    github: &Simulator,
    world: &mut World,
    text: &str,
    name: &str,
    state: &str,
) -> Response<Full<Bytes>> {
    let manifest = match Manifest::read(text) {
        Ok(manifest) => manifest,
        Err(faults) => return refused(&faults),
    };
    let name = if name.is_empty() {
        &manifest.name
    } else {
        name
    };
    let slug = slug(name);
    let ours = world.our_app;
    if slug.is_empty() {
        return refused(&["Name can't be blank".to_owned()]);
    }
    if world
        .apps
        .values()
        .any(|app| app.slug == slug && app.id != ours)
    {
        return refused(&["Name has already been taken".to_owned()]);
    }
    let Some(back) = manifest.redirect_url.clone() else {
        return html(
            200,
            "GitHub App created",
            "<p>Its manifest leads nowhere from here.</p>",
        );
    };
    if let Some(app) = world.apps.get_mut(&ours) {
        app.name = name.to_owned();
        app.slug.clone_from(&slug);
        app.permissions = manifest.permissions;
        app.events = manifest.events;
        let bot = app.bot;
        if let Some(bot) = world.accounts.get_mut(&bot) {
            bot.login = format!("{slug}[bot]");
        }
    }
    if let Some(webhook) = manifest.webhook {
        github.set_webhook(webhook);
    }
    let code = github.face.desk().codes.issue(world.seed(), world.now());
    let joint = if back.contains('?') { '&' } else { '?' };
    let mut to = format!("{back}{joint}code={code}");
    if !state.is_empty() {
        let state =
            percent_encoding::utf8_percent_encode(state, percent_encoding::NON_ALPHANUMERIC);
        to.push_str(&format!("&state={state}"));
    }
    let mut response = html(302, "You are being redirected", "");
    if let Ok(to) = to.parse() {
        response.headers_mut().insert(header::LOCATION, to);
    }
    response
}

/// The name in addresses.
fn slug(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    words.join("-")
}

fn refused(faults: &[String]) -> Response<Full<Bytes>> {
    let listed: String = faults
        .iter()
        .map(|fault| format!("<li>{}</li>\n", escaped(fault)))
        .collect();
    let text = "The configuration does not appear to be a valid GitHub App manifest.";
    html(
        422,
        "Invalid GitHub App configuration",
        &format!("<p>{text}</p>\n<ul>\n{listed}</ul>"),
    )
}

fn html(status: u16, title: &str, body: &str) -> Response<Full<Bytes>> {
    let text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <h1>{title}</h1>\n{body}\n</html>\n"
    );
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let kind = header::HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn nothing() -> Response<Full<Bytes>> {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
