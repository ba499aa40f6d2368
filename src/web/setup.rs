//! The page from which the App is registered, and the way back from GitHub to it.
//!
//! It is no part of the server: `countersign setup` serves these two pages on loopback for the few
//! minutes it takes. The first has one button, which posts the manifest to GitHub; GitHub sends the
//! person back to `/created` with a code. What becomes of the code is not decided here: it is handed on
//! as an [`Arrival`], and the page shows the [`Outcome`].
//!
//! **Who may talk to it.** Other sites can make a browser ask a page on loopback. They cannot pass under
//! its name: a request whose `Host` is not the very address is refused, so a name that was made to point
//! at 127.0.0.1 opens nothing. They cannot send a code of their own: it counts only with the `state`
//! that the form took to GitHub, which is random, compared in constant time and good once.
//!
//! **Properties.** The pages need nothing but themselves (their style stands in them), so the last one
//! is whole although nobody answers any more. No secret is on any of them.
//!
//! **Left.** Another *user of this machine* reaches the address too, can read the form and answer in the
//! person's place, with an App of their own; `countersign setup` prints the App it took over, by name and
//! id. `form-action` stands open, because browsers apply it to redirects as well, and where signing in to
//! an Enterprise Server leads is not known here.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use askama::Template;
use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use base64::Engine as _;
use secrecy::SecretString;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, oneshot};

use super::strict;

const STYLE: &str = include_str!("assets/style.css");

/// What the first page offers.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The App's proposed name.
    pub name: String,
    /// The organization it will belong to; the person's own account without one.
    pub organization: Option<String>,
    /// Where GitHub's pages are.
    pub github: String,
    /// The manifest, as JSON.
    pub manifest: String,
    /// What it asks for: permission and level.
    pub permissions: Vec<(String, String)>,
    /// The events it subscribes to.
    pub events: Vec<String>,
    /// Where deliveries will go, if that is known.
    pub webhook: Option<String>,
    /// Where the credentials will be stored.
    pub folder: String,
}

/// Somebody came back from GitHub with a code that belongs to this setup.
#[derive(Debug)]
pub struct Arrival {
    /// The code.
    pub code: SecretString,
    /// Takes what to show.
    pub outcome: oneshot::Sender<Outcome>,
}

/// How it ended, for the person at the browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The App is there and its credentials are stored.
    Registered {
        /// Its name.
        name: String,
        /// Where it is installed.
        install: String,
    },
    /// It came to nothing; what to do.
    Failed(String),
}

/// There is no randomness on this machine.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random numbers")]
pub struct NoRandomness;

#[derive(Clone)]
struct Desk {
    offer: Arc<Offer>,
    address: SocketAddr,
    /// What comes back from GitHub together with a code of ours; taken by the first that does.
    ticket: Arc<Mutex<Option<String>>>,
    /// The same, for the form.
    state: Arc<str>,
    arrivals: mpsc::Sender<Arrival>,
}

#[derive(Template)]
#[template(path = "setup.html")]
struct FormPage<'a> {
    style: &'a str,
    offer: &'a Offer,
    action: String,
}

#[derive(Template)]
#[template(path = "setup_end.html")]
struct EndPage<'a> {
    style: &'a str,
    title: &'a str,
    text: &'a str,
    failed: bool,
    install: Option<&'a str>,
}

/// The pages, as served on `address`. Each code that belongs here goes to `arrivals`; there is at most
/// one.
///
/// # Errors
/// [`NoRandomness`].
pub fn router(
    offer: Offer,
    address: SocketAddr,
    arrivals: mpsc::Sender<Arrival>,
) -> Result<Router, NoRandomness> {
    let mut random = [0; 32];
    aws_lc_rs::rand::fill(&mut random).map_err(|_| NoRandomness)?;
    let state = hex::encode(random);
    let desk = Desk {
        offer: Arc::new(offer),
        address,
        state: state.as_str().into(),
        ticket: Arc::new(Mutex::new(Some(state))),
        arrivals,
    };
    let by_address = axum::middleware::from_fn_with_state(desk.clone(), by_address_alone);
    let routes = Router::new()
        .route("/", get(form))
        .route(CREATED, get(created))
        // Browsers ask for it unasked.
        .route("/favicon.ico", get(async || StatusCode::NO_CONTENT))
        .layer(by_address)
        .with_state(desk);
    Ok(strict(routes))
}

/// Where GitHub sends people back to, below the address.
pub const CREATED: &str = "/created";

/// Refuses requests that come under another name than the address.
async fn by_address_alone(State(desk): State<Desk>, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST);
    let host = host.and_then(|value| value.to_str().ok());
    let whole = desk.address.to_string();
    // Browsers leave the port of http out.
    let short = whole.strip_suffix(":80");
    if host == Some(whole.as_str()) || (short.is_some() && host == short) {
        return next.run(request).await;
    }
    let text = format!("This page answers under http://{}/ alone.\n", desk.address);
    (StatusCode::FORBIDDEN, text).into_response()
}

/// The page with the button.
async fn form(State(desk): State<Desk>) -> Response {
    let open = {
        let ticket = desk.ticket.lock().unwrap_or_else(PoisonError::into_inner);
        ticket.is_some()
    };
    if !open {
        return used();
    }
    let offer = &desk.offer;
    let place = match &offer.organization {
        Some(organization) => format!("/organizations/{organization}"),
        None => String::new(),
    };
    let page = FormPage {
        style: STYLE,
        offer,
        action: format!(
            "{}{place}/settings/apps/new?state={}",
            offer.github, desk.state
        ),
    };
    // GitHub is to see from where the form comes, as it does from every other tool's page; this page's
    // address holds nothing else.
    let origin = [(header::REFERRER_POLICY, "strict-origin")];
    (origin, page_of(StatusCode::OK, &page)).into_response()
}

#[derive(Deserialize)]
struct Returned {
    #[serde(default)]
    code: String,
    #[serde(default)]
    state: String,
}

/// The way back from GitHub.
async fn created(State(desk): State<Desk>, Query(returned): Query<Returned>) -> Response {
    let again = format!("Start again at http://{}/.", desk.address);
    let foreign =
        format!("This answer does not belong to this setup: its state is another. {again}");
    let outcome = {
        let mut ticket = desk.ticket.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(expected) = ticket.as_deref() else {
            return used();
        };
        if !same(expected, &returned.state) {
            return refused(StatusCode::FORBIDDEN, &foreign);
        }
        if returned.code.is_empty() {
            let text = format!("GitHub sent no code along. {again}");
            return refused(StatusCode::BAD_REQUEST, &text);
        }
        *ticket = None;
        let (outcome, told) = oneshot::channel();
        let arrival = Arrival {
            code: returned.code.into(),
            outcome,
        };
        // There is one ticket, and room for one arrival; nobody listens only when it is all over.
        desk.arrivals.try_send(arrival).ok().map(|()| told)
    };
    let told = match outcome {
        Some(told) => told.await.ok(),
        None => None,
    };
    match told {
        Some(Outcome::Registered { name, install }) => {
            let page = EndPage {
                style: STYLE,
                title: "The App is registered",
                text: &format!(
                    "{name} is yours, and its credentials are stored in {}. Install it on the \
                     repositories it is to gate; the terminal says what comes next.",
                    desk.offer.folder
                ),
                failed: false,
                install: Some(&install),
            };
            page_of(StatusCode::OK, &page)
        }
        Some(Outcome::Failed(text)) => refused(StatusCode::BAD_GATEWAY, &text),
        None => used(),
    }
}

/// Whether two texts are the same, in a time that depends on their lengths alone.
fn same(expected: &str, offered: &str) -> bool {
    aws_lc_rs::constant_time::verify_slices_are_equal(expected.as_bytes(), offered.as_bytes())
        .is_ok()
}

fn used() -> Response {
    let text = "This setup has had its answer already: the terminal tells what came of it. Run \
                countersign setup again for another.";
    refused(StatusCode::CONFLICT, text)
}

fn refused(status: StatusCode, text: &str) -> Response {
    let page = EndPage {
        style: STYLE,
        title: "The App was not taken over",
        text,
        failed: true,
        install: None,
    };
    page_of(status, &page)
}

fn page_of(status: StatusCode, template: &impl Template) -> Response {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        let digest = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(STYLE));
        format!(
            "default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; \
             frame-ancestors 'none'"
        )
    });
    let policy: [(HeaderName, &str); 1] = [(header::CONTENT_SECURITY_POLICY, POLICY.as_str())];
    match template.render() {
        Ok(html) => (status, policy, Html(html)).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

#[cfg(test)]
mod tests;
