//! The client: one for all installations.
//!
//! Every call goes the same way: `admission` is asked, then the token, then GitHub; the answer feeds
//! `admission` back. Above that stand three kinds of call, which differ in what may be done twice:
//!
//! - a **read** is tried again, at most as often as there are pauses, after a 5xx that names no time or no
//!   answer, and once with a new token after a 401. Asking twice changes nothing.
//! - a **write** goes out once. A 5xx or no answer leaves its outcome unknown, and only a read can
//!   tell; that is the caller's to do. The one exception is a redirect: it says that the
//!   repository's name is an old one and nothing was done, and the write is sent once more, to
//!   `/repositories/{id}`.
//! - a **minting** of a token goes out once for each call that needs it.
//!
//! Repositories are addressed by their present name, which every server knows. A 404 or a redirect may
//! mean that the name is old; then the number is asked for the name, and the read is tried once more.
//! Where no number is known yet, a read's redirect is followed by its address, on the same server.
//! A 200 may mean that the name was freed and is another repository's now: where the answer says whose
//! it is, that is compared.
//!
//! Known and left: between two pages of a list without a total (pull requests, comments, reviews) an
//! item can slip over the page's edge when an earlier one disappears; the next pass sees it. A read that
//! gets no answer takes up to twice [`Timeouts::whole`]; a lease must outlast that. The App's own calls are not
//! conditional: they are few.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::admission::Admission;
use super::auth::{AppKey, KeyError};
use super::breaker::End;
use super::carrier::Carrier;
use super::class::{self, Class};
use super::issuer::Published;
use super::kept::Shelves;
use super::quota::{Budget, Limit, Principal};
use super::tokens::{Minted, Token, Tokens};
use super::transport::{Reply, Transport};
use super::wire::{places, pulls};
use super::{Answer, Refused, counted, refusal};
use crate::clock::Clock;
use crate::domain::model::{AppId, InstallationId, RepoName, Repository};
use crate::settings::Live;
use crate::telemetry::Meters;

/// How long to wait for GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For the next bytes on a connection.
    pub read: Duration,
    /// For a whole answer.
    pub whole: Duration,
    /// Before a read is tried again: as many further tries as there are pauses.
    pub pauses: [Duration; 2],
    /// Between two writes of one installation, where it has many.
    pub between_writes: Duration,
}

impl Default for Timeouts {
    /// GitHub itself gives up on a request after ten seconds: who waits longer waits for nothing.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            read: Duration::from_secs(15),
            whole: Duration::from_secs(12),
            pauses: [Duration::from_millis(250), Duration::from_millis(1_000)],
            // What GitHub asks for.
            between_writes: Duration::from_secs(1),
        }
    }
}

/// What a client is made of.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// `https://api.github.com`, or an Enterprise Server's `https://HOST/api/v3`.
    pub api_url: String,
    /// The App.
    pub app_id: AppId,
    /// Its private key.
    pub key: AppKey,
    /// Who tells the time.
    pub clock: Clock,
    /// How long to wait.
    pub timeouts: Timeouts,
}

/// Why there is no client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The API's address cannot be used. The address itself is not repeated: it may hold a secret.
    #[error("the GitHub API address cannot be used: {0}")]
    Address(String),
    /// The HTTP client could not be built (no certificate store, for instance).
    #[error("the HTTP client could not be built: {0}")]
    Build(String),
}

/// GitHub, for one App and all its installations.
pub struct Client {
    app_id: AppId,
    key: Live<AppKey>,
    clock: Clock,
    pauses: [Duration; 2],
    whole: Duration,
    transport: Transport,
    pub(super) published: Published,
    tokens: Tokens,
    pub(super) admission: Admission,
    shelves: Shelves,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("api", &self.transport.rest(""))
            .field("app_id", &self.app_id)
            .finish_non_exhaustive()
    }
}

/// One request, before anybody's name is put to it.
pub(super) struct Ask {
    method: Method,
    address: String,
    body: Option<Value>,
    budget: Budget,
    /// A write's own class; a read has that of what it is done for.
    class: Option<Class>,
}

impl Ask {
    fn class(&self) -> Class {
        self.class.unwrap_or_else(class::current)
    }
}

/// How many redirects a read follows: a name may have changed more than once.
const MOST_REDIRECTS: usize = 3;

/// What a successful read gave.
pub(super) struct Page {
    /// The body.
    pub value: Value,
    /// Whether another page follows, where the server says.
    pub next: Option<bool>,
}

impl Client {
    /// Makes a client; asks nobody anything yet. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// [`ClientError`] when the address cannot be used or the HTTP client cannot be built.
    pub fn new(options: ClientOptions) -> Result<Self, ClientError> {
        let (url, timeouts) = (&options.api_url, &options.timeouts);
        let transport = Transport::new(url, timeouts)?;
        let published = Published::new(url, timeouts)?;
        Ok(Self::of(options, transport, published))
    }

    /// A client whose requests are carried by hand; see [`carrier`](super::carrier).
    ///
    /// # Errors
    /// [`ClientError::Address`].
    pub fn over(options: ClientOptions, carrier: Arc<dyn Carrier>) -> Result<Self, ClientError> {
        let (url, timeouts) = (&options.api_url, &options.timeouts);
        let transport = Transport::over(url, timeouts, carrier.clone())?;
        let published = Published::over(url, timeouts, carrier)?;
        Ok(Self::of(options, transport, published))
    }

    fn of(options: ClientOptions, transport: Transport, published: Published) -> Self {
        Self {
            transport,
            published,
            app_id: options.app_id,
            key: Live::new(options.key),
            clock: options.clock,
            pauses: options.timeouts.pauses,
            whole: options.timeouts.whole,
            tokens: Tokens::default(),
            admission: Admission::new(options.timeouts.between_writes),
            shelves: Shelves::default(),
        }
    }

    /// The same client, counting its requests there.
    #[must_use]
    pub fn metered(mut self, meters: Meters) -> Self {
        self.transport.meters = meters;
        self
    }

    /// Whether this is the key that it signs with already.
    pub fn signs_with(&self, key: &AppKey) -> bool {
        self.key.get().is(key)
    }

    /// Signs with another key of the App from now on. Tokens that were minted stay good.
    pub fn renew_key(&self, key: AppKey) {
        self.key.set(key);
    }

    /// A request to a REST path.
    pub(super) fn rest(&self, method: Method, path: &str, body: Option<Value>) -> Ask {
        Ask {
            method,
            address: self.transport.rest(path),
            body,
            budget: Budget::Rest,
            class: None,
        }
    }

    /// Reads a path, wherever on this server it is now.
    pub(super) async fn read(&self, who: Principal, path: &str) -> Answer<Page> {
        let mut ask = self.rest(Method::GET, path, None);
        for _ in 0..MOST_REDIRECTS {
            let reply = self.patiently(who, &ask).await?;
            match self.transport.onward(&reply) {
                Some(address) if reply.is_redirect() => ask.address = address,
                _ => return self.page_of(who, &reply),
            }
        }
        let reply = self.patiently(who, &ask).await?;
        self.page_of(who, &reply)
    }

    /// Reads a path whose answer is wanted whatever it is: the headers of a refusal tell something too.
    pub(super) async fn reply(&self, who: Principal, path: &str) -> Answer<Reply> {
        let ask = self.rest(Method::GET, path, None);
        let mut pauses = self.further_tries();
        loop {
            let answered = self.once(who, &ask).await;
            let again = match &answered {
                Ok(reply) => {
                    reply.status.is_server_error()
                        || reply.status == http::StatusCode::REQUEST_TIMEOUT
                }
                Err(refused) => matches!(refused, Refused::NoAnswer(_)),
            };
            match pauses.next() {
                Some(pause) if again => tokio::time::sleep(pause).await,
                _ => return answered,
            }
        }
    }

    /// Posts to a path in the App's own name, once. Every status is a reply.
    pub(super) async fn post_as_app(&self, path: &str) -> Answer<Reply> {
        self.once(Principal::App, &self.rest(Method::POST, path, None))
            .await
    }

    /// Reads a path under exactly this name.
    async fn read_here(&self, who: Principal, path: &str) -> Answer<Page> {
        let ask = self.rest(Method::GET, path, None);
        let reply = self.patiently(who, &ask).await?;
        self.page_of(who, &reply)
    }

    /// Reads a path of a repository, finding its present name if need be. A redirect's own address is
    /// not followed here: where the name was freed and taken it leads into another repository, and for a
    /// renamed branch to a branch that was not asked for.
    pub(super) async fn read_of(&self, repo: &Repository, tail: &str) -> Answer<Page> {
        let who = Principal::Installation(repo.installation);
        let first = self.read_here(who, &named(&repo.name, tail)).await;
        let astray = match &first {
            Ok(page) => is_of_another(page, repo),
            Err(refused) => matches!(refused, Refused::NotFound(_)),
        };
        if !astray {
            return first;
        }
        match self.present_name(repo).await {
            Some(name) if name != repo.name => {
                tracing::info!(repo = %repo.id, old = %repo.name, new = %name, "renamed");
                let second = self.read_here(who, &named(&name, tail)).await?;
                if is_of_another(&second, repo) {
                    return Err(elsewhere(repo));
                }
                Ok(second)
            }
            _ if first.is_ok() => Err(elsewhere(repo)),
            _ => first,
        }
    }

    /// Asks GraphQL for data. Partial data is no data: any error refuses the whole.
    pub(super) async fn graphql(
        &self,
        who: Principal,
        query: &str,
        variables: Value,
    ) -> Answer<Value> {
        let ask = Ask {
            method: Method::POST,
            address: self.transport.graphql(),
            body: Some(json!({ "query": query, "variables": variables })),
            budget: Budget::GraphQl,
            class: None,
        };
        let reply = self.patiently(who, &ask).await?;
        let mut value = self.accept(who, &reply)?;
        if let Some(errors) = value.get("errors").and_then(Value::as_array)
            && !errors.is_empty()
        {
            let refused = refusal::graphql_refusal(errors, &reply.headers, self.now());
            return Err(refused.unwrap_or_else(|limit| {
                self.hold(who, ask.budget, limit);
                Refused::Limited { after: limit.after }
            }));
        }
        Ok(value.get_mut("data").map(Value::take).unwrap_or_default())
    }

    /// Writes to a path of a repository, once; a redirect is followed by the repository's number.
    ///
    /// # Errors
    /// What kept the write from being sent, or [`Refused::NoAnswer`]. Every status is a reply.
    pub(super) async fn write_of(
        &self,
        repo: &Repository,
        method: Method,
        tail: &str,
        body: Value,
    ) -> Answer<Reply> {
        let who = Principal::Installation(repo.installation);
        let write = |path: &str, body| Ask {
            class: Some(class_of(&method, tail)),
            ..self.rest(method.clone(), path, Some(body))
        };
        let ask = write(&named(&repo.name, tail), body.clone());
        let reply = self.once(who, &ask).await?;
        if !reply.is_redirect() {
            return Ok(reply);
        }
        let path = format!("/repositories/{}{tail}", repo.id);
        self.once(who, &write(&path, body)).await
    }

    /// A refusal by meaning, or the body.
    pub(super) fn accept(&self, who: Principal, reply: &Reply) -> Answer<Value> {
        reply.accept(who, self.clock.now())
    }

    pub(super) fn now(&self) -> crate::domain::model::Timestamp {
        self.clock.now()
    }

    fn page_of(&self, who: Principal, reply: &Reply) -> Answer<Page> {
        let value = self.accept(who, reply)?;
        let next = reply.has_next();
        Ok(Page { value, next })
    }

    /// The pauses before further tries. They end early where waiting for answers took the time: a read
    /// may hang twice, and a pass, which is cut off after thirty seconds, outlasts that.
    fn further_tries(&self) -> impl Iterator<Item = Duration> {
        let (begun, patience) = (tokio::time::Instant::now(), self.whole + self.whole / 2);
        self.pauses
            .into_iter()
            .take_while(move |_| begun.elapsed() < patience)
    }

    /// A read, with its further tries: a success, a redirect, or why there is neither.
    async fn patiently(&self, who: Principal, ask: &Ask) -> Answer<Reply> {
        let mut pauses = self.further_tries();
        let (mut renewed, mut again) = (false, false);
        loop {
            let refused = match self.one(who, ask, again).await {
                Ok(reply) if reply.status.is_success() || reply.is_redirect() => return Ok(reply),
                Ok(reply) => reply.refusal(who, self.now()),
                Err(refused) => refused,
            };
            match refused {
                // The token was forgotten; it may only have been too old.
                Refused::Unauthorized(_) if who != Principal::App && !renewed => renewed = true,
                Refused::Server(_) | Refused::NoAnswer(_) => match pauses.next() {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => return Err(refused),
                },
                refused => return Err(refused),
            }
            again = true;
        }
    }

    /// One request in somebody's name.
    async fn once(&self, who: Principal, ask: &Ask) -> Answer<Reply> {
        self.one(who, ask, false).await
    }

    /// One request. What a further try of a read meets (`again`) does not count against the installation
    /// once more, unless nothing came at all: one page that GitHub cannot make is not an installation in
    /// trouble, and it holds nobody up.
    async fn one(&self, who: Principal, ask: &Ask, again: bool) -> Answer<Reply> {
        let class = ask.class();
        let kept_back = |refused| {
            counted::kept_back(&self.transport.meters, who, class, &refused);
            refused
        };
        let going = self.admission.admit(who, ask.budget, class, self.now());
        let going = going.map_err(kept_back)?;
        if ask.class.is_some() {
            let creates = ask.method == Method::POST;
            let wait = self.admission.turn(who, class, creates, self.now());
            let wait = wait.map_err(kept_back)?;
            if let Ok(wait) = wait.to_std()
                && !wait.is_zero()
            {
                tokio::time::sleep(wait).await;
            }
        }
        let installation = match who {
            Principal::App => return self.sent(who, ask, &self.assertion()?).await,
            Principal::Installation(installation) => installation,
        };
        let token = self.token(installation).await?;
        let answered = self.sent(who, ask, &token.secret).await;
        match end_of(&answered) {
            End::Failed if again => drop(going),
            end => going.end(end, self.now()),
        }
        let reply = answered?;
        if reply.status == http::StatusCode::UNAUTHORIZED {
            self.tokens.forget(installation, &token).await;
        }
        Ok(reply)
    }

    /// A read that was answered before is asked for on the condition that it changed.
    async fn sent(&self, who: Principal, ask: &Ask, secret: &SecretString) -> Answer<Reply> {
        if ask.method != Method::GET || who == Principal::App {
            return self.sent_plainly(who, ask, secret, None).await;
        }
        if let Some(kept) = self.shelves.find(who, &ask.address) {
            let unless = Some(&kept.etag);
            let reply = self.sent_plainly(who, ask, secret, unless).await?;
            if reply.status != http::StatusCode::NOT_MODIFIED {
                self.shelves.note(who, &ask.address, &reply);
                return Ok(reply);
            }
            if let Some(whole) = kept.confirmed_by(reply) {
                return Ok(whole);
            }
        }
        let reply = self.sent_plainly(who, ask, secret, None).await?;
        self.shelves.note(who, &ask.address, &reply);
        Ok(reply)
    }

    async fn sent_plainly(
        &self,
        who: Principal,
        ask: &Ask,
        secret: &SecretString,
        unless: Option<&http::HeaderValue>,
    ) -> Answer<Reply> {
        let (method, body) = (&ask.method, ask.body.as_ref());
        let answered = self
            .transport
            .send(method, &ask.address, Some(secret), body, unless)
            .await;
        let meters = &self.transport.meters;
        counted::sent(meters, who, ask.class(), &answered, self.now());
        let reply = answered?;
        counted::budget(meters, who, ask.budget, &reply);
        self.admission
            .told(who, ask.budget, &reply.headers, self.now());
        if let Some(limit) = reply.limit(self.now()) {
            self.hold(who, ask.budget, limit);
        }
        Ok(reply)
    }

    fn hold(&self, who: Principal, budget: Budget, limit: Limit) {
        tracing::warn!(
            ?who,
            ?budget,
            seconds = limit.after.num_seconds(),
            "limited"
        );
        self.admission.hold(who, budget, limit, self.now());
    }

    fn assertion(&self) -> Answer<SecretString> {
        self.key
            .get()
            .assertion(self.app_id, self.now())
            .map_err(|error: KeyError| Refused::Unauthorized(error.to_string()))
    }

    async fn token(&self, installation: InstallationId) -> Answer<Token> {
        self.tokens
            .get(installation, self.now(), self.mint(installation))
            .await
    }

    /// `POST /app/installations/{id}/access_tokens`. A missing installation is one that was removed. Of
    /// a merge's class whoever asks: what the first gets, a merge may be waiting for.
    async fn mint(&self, installation: InstallationId) -> Answer<Minted> {
        let who = Principal::App;
        let going = self
            .admission
            .admit(who, Budget::Rest, Class::Merge, self.now())?;
        let path = format!("/app/installations/{installation}/access_tokens");
        let ask = self.rest(Method::POST, &path, None);
        let answered = self.sent(who, &ask, &self.assertion()?).await;
        drop(going);
        match end_of(&answered) {
            End::Answered => {}
            end => {
                let whose = Principal::Installation(installation);
                self.admission.failed(whose, end, self.now());
            }
        }
        let reply = answered?;
        if !reply.status.is_success() {
            return Err(match reply.refusal(who, self.now()) {
                Refused::NotFound(why) => Refused::Inactive(why),
                refused => refused,
            });
        }
        places::minted(&reply.body)
    }

    /// What the repository is called now; `None` where that cannot be learnt.
    async fn present_name(&self, repo: &Repository) -> Option<RepoName> {
        let who = Principal::Installation(repo.installation);
        let page = self.read(who, &format!("/repositories/{}", repo.id)).await;
        let found = places::repository(page.ok()?.value, repo.installation).ok()?;
        (found.id == repo.id).then_some(found.name)
    }
}

/// What is said where a repository's name turned out to be another's.
pub(super) fn elsewhere(repo: &Repository) -> Refused {
    Refused::NotFound(format!("{} is another repository's name now", repo.name))
}

fn named(name: &RepoName, tail: &str) -> String {
    format!("/repos/{name}{tail}")
}

/// What a call's end tells of the installation that it was made for.
fn end_of(answered: &Answer<Reply>) -> End {
    match answered {
        Ok(reply) if !reply.status.is_server_error() => End::Answered,
        Ok(reply) => reply.busy().map_or(End::Failed, End::Busy),
        Err(_) => End::Hung,
    }
}

/// What a write is for.
fn class_of(method: &Method, tail: &str) -> Class {
    match method {
        &Method::PUT if tail.ends_with("/merge") => Class::Merge,
        _ if tail.starts_with("/check-runs") => Class::Check,
        _ => Class::Answer,
    }
}

fn is_of_another(page: &Page, repo: &Repository) -> bool {
    pulls::base_repository(&page.value).is_some_and(|id| id != repo.id)
}

#[cfg(test)]
mod tests;
