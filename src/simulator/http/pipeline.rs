//! The way of one call, from the connection to the answer.

use bytes::Bytes;
use http::{HeaderMap, Request, Response, header, request::Parts};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::asked::{Asked, Scene};
use super::limits::{self, Charge};
use super::reply::{self, Reply};
use super::routes::{self, Found, Whose};
use super::{Acquaintance, Call, issuer, site};
use crate::simulator::Simulator;
use crate::simulator::auth::{self, Caller, Needs};
use crate::simulator::faults::{Fault, FaultPlan};
use crate::simulator::world::{Done, Refusal, Repo, RepoId, World};

/// The largest body that is read.
const LARGEST: usize = 4 * 1024 * 1024;

/// The connection ends without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the simulated GitHub ends the connection")]
pub struct Ended;

/// How a call comes out.
#[derive(Debug)]
pub enum Outcome {
    /// It is answered.
    Answered(Response<Full<Bytes>>),
    /// Answered, but for the second half of the body.
    Cut(Response<Full<Bytes>>),
    /// Nothing is ever said.
    Silence,
    /// The connection ends.
    Reset,
}

/// Takes connections until the simulator is gone; what is open then is cut.
pub async fn listen(listener: TcpListener, github: Acquaintance) {
    let mut open = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while open.try_join_next().is_some() {}
        // Small answers are not to wait for others.
        let _ = stream.set_nodelay(true);
        let github = github.clone();
        open.spawn(async move {
            let service = service_fn(move |request| answer(github.clone(), request));
            // A caller that hangs up, or is hung up on, is no trouble of GitHub's.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    github: Acquaintance,
    request: Request<Incoming>,
) -> Result<Response<BoxBody<Bytes, Ended>>, Ended> {
    let (parts, body) = request.into_parts();
    let body = Limited::new(body, LARGEST).collect().await;
    let body = body.map_err(|_| Ended)?.to_bytes();
    // No handle is held while nothing is said: the simulator may go meanwhile.
    let outcome = {
        let github = github.meet().ok_or(Ended)?;
        github.answer(&parts, &body)
    };
    match outcome {
        Outcome::Answered(response) => Ok(response.map(whole)),
        Outcome::Cut(response) => half(response).await,
        Outcome::Silence => std::future::pending().await,
        Outcome::Reset => Err(Ended),
    }
}

fn whole(body: Full<Bytes>) -> BoxBody<Bytes, Ended> {
    body.map_err(|never| match never {}).boxed()
}

/// The first half of an answer, after which the connection ends.
async fn half(response: Response<Full<Bytes>>) -> Result<Response<BoxBody<Bytes, Ended>>, Ended> {
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.map_err(|_| Ended)?.to_bytes();
    let begun = Frame::data(bytes.slice(..bytes.len() / 2));
    let frames = futures::stream::iter([Ok(begun), Err(Ended)]);
    Ok(Response::from_parts(parts, StreamBody::new(frames).boxed()))
}

impl Simulator {
    /// What becomes of one request, without a network: for whoever holds both ends.
    pub fn answer(&self, parts: &Parts, body: &[u8]) -> Outcome {
        let page = issuer::page(self, parts);
        match page.or_else(|| site::page(self, parts, body)) {
            Some(page) => Outcome::Answered(page),
            None => self.take(parts, body),
        }
    }

    fn take(&self, parts: &Parts, body: &[u8]) -> Outcome {
        let (method, path) = (parts.method.as_str(), parts.uri.path());
        let found = routes::find(method, path);
        let route = found.as_ref().map_or(String::new(), Found::pattern);
        let whole = parts.uri.path_and_query();
        let (index, fault) = {
            let mut desk = self.face.desk();
            desk.calls.push(Call {
                method: method.to_owned(),
                path: whole.map_or(path, |whole| whole.as_str()).to_owned(),
                body: serde_json::from_slice(body).unwrap_or(Value::Null),
                status: 0,
                route: route.clone(),
            });
            let fault = desk.faults.of_call(method, path, &route);
            (desk.calls.len() - 1, fault)
        };
        let outcome = match &fault {
            Some(fault) => self.hit(fault, parts, body, found),
            None => self.answered(self.perform(parts, body, found)),
        };
        let status = match &outcome {
            Outcome::Answered(response) => response.status().as_u16(),
            Outcome::Silence | Outcome::Reset | Outcome::Cut(_) => 0,
        };
        if matches!(outcome, Outcome::Silence) {
            self.face.silent.notify_one();
        }
        // The record may have been cleared meanwhile.
        if let Some(call) = self.face.desk().calls.get_mut(index) {
            call.status = status;
        }
        outcome
    }

    fn answered(&self, reply: Reply) -> Outcome {
        Outcome::Answered(reply.into_http(self.lock().now()))
    }

    /// A call that meets a fault.
    fn hit(&self, fault: &Fault, parts: &Parts, body: &[u8], found: Option<Found>) -> Outcome {
        let call = format!("{} {}", parts.method, parts.uri);
        let perform = || self.perform(parts, body, found);
        let mut fired = true;
        let outcome = match fault {
            Fault::Refuse(status, words) => {
                self.answered(Reply::refused(&Refusal::new(*status, *words)))
            }
            Fault::ComeBack(status, after) => {
                let words = match Fault::status(*status) {
                    Fault::Refuse(_, words) => words,
                    _ => "Server Error",
                };
                let reply = Reply::refused(&Refusal::new(*status, words));
                self.answered(reply.with("retry-after", after.to_string()))
            }
            Fault::SecondaryLimit(after) => {
                let after = i64::try_from(*after).unwrap_or(i64::MAX);
                self.answered(limits::secondary(after))
            }
            Fault::PrimaryLimit(after) => {
                let reset = self.lock().now().timestamp() + after;
                self.answered(limits::primary(reset))
            }
            Fault::Silence => Outcome::Silence,
            Fault::Reset => Outcome::Reset,
            Fault::DoneThen502 => {
                perform();
                self.answered(Reply::refused(&Refusal::new(502, "Bad Gateway")))
            }
            Fault::DoneThenSilence => {
                perform();
                Outcome::Silence
            }
            Fault::DoneThenReset => {
                perform();
                Outcome::Reset
            }
            Fault::DoneThenCut => Outcome::Cut(perform().into_http(self.lock().now())),
            bent => {
                let (reply, changed) = self.bend(bent, perform(), &call);
                fired = changed;
                self.answered(reply)
            }
        };
        if fired {
            let what = format!("{call}: {fault:?}");
            self.face.faults(|plan| plan.note(what));
        }
        outcome
    }

    /// What a fault makes of an answer, and whether it made anything of it.
    fn bend(&self, fault: &Fault, mut reply: Reply, call: &str) -> (Reply, bool) {
        let whole = reply.clone();
        match fault {
            Fault::EmptyList => {
                if let Some(items) = reply.items() {
                    items.clear();
                    reply.lose_next_page();
                    if let Some(count) = reply.body.get_mut("total_count") {
                        *count = 0.into();
                    }
                }
            }
            Fault::TruncatedList => {
                if !reply.lose_next_page()
                    && let Some(items) = reply.items()
                {
                    items.truncate(items.len() / 2);
                }
            }
            Fault::Nulls => self.face.faults(|plan| some_nulls(plan, call, &mut reply)),
            Fault::NullField(name) => {
                reply::nulls(&mut reply.body, &mut |field| field == *name);
            }
            Fault::Stale => {
                if let Some(first) = self.face.desk().first_answers.get(call) {
                    reply.be_as_earlier(first);
                }
            }
            _ => {}
        }
        let fired = reply != whole;
        if fired {
            reply.no_longer_compared();
        }
        (reply, fired)
    }

    /// Does what was asked; the answer has its limits told, and is 304 where that is enough.
    fn perform(&self, parts: &Parts, body: &[u8], found: Option<Found>) -> Reply {
        let mut world = self.lock();
        let now = world.now();
        if !parts.headers.contains_key(header::USER_AGENT) {
            let text = "Request forbidden by administrative rules. Please make sure your request \
                        has a User-Agent header.";
            return Reply::refused(&Refusal::new(403, text));
        }
        let caller = {
            let header = word(&parts.headers, header::AUTHORIZATION);
            auth::identify(&world, &self.credentials, &self.face.desk().tokens, header)
        };
        let caller = match caller {
            Ok(caller) => caller,
            Err(refusal) => return Reply::refused(&refusal),
        };
        let reads = parts.method == http::Method::GET;
        let graphql = parts.uri.path() == "/graphql";
        let resource = if graphql { "graphql" } else { "core" };
        let charge = Charge::of(&caller, resource, !reads && !graphql);
        let free = parts.uri.path() == "/rate_limit";
        if !free {
            let spent = self.face.desk().quotas.spend(&charge, now);
            if let Err(limited) = spent {
                return self.face.desk().quotas.told(limited, &charge, now);
            }
        }
        let accepted = found.as_ref().and_then(|found| found.route.needs.told());
        let mut scene = Scene {
            world: &mut world,
            face: &self.face,
            credentials: &self.credentials,
        };
        let reply = handle(&mut scene, parts, body, found, caller);
        let mut reply = reply.unwrap_or_else(|refusal| Reply::refused(&refusal));
        if let Some(accepted) = accepted {
            reply = reply.with("x-accepted-github-permissions", accepted);
        }
        let mut desk = self.face.desk();
        let desk = &mut *desk;
        if reads {
            if reply.status == 200 {
                let key = format!("GET {}", parts.uri);
                let first = || reply.clone();
                desk.first_answers.entry(key).or_insert_with(first);
            }
            let known = word(&parts.headers, header::IF_NONE_MATCH);
            let (compared, unchanged) = reply.compared(known, charge.who());
            reply = compared;
            if unchanged {
                desk.quotas.refund(&charge, now);
            }
        }
        desk.quotas.told(reply, &charge, now)
    }
}

/// Who may, where, and then the handler.
fn handle(
    scene: &mut Scene<'_>,
    parts: &Parts,
    body: &[u8],
    found: Option<Found>,
    caller: Caller,
) -> Done<Reply> {
    let found = found.ok_or_else(Refusal::not_found)?;
    auth::admit(&caller, found.route.needs)?;
    let path = parts.uri.path();
    let (repo, path) = match &found.whose {
        Whose::Nobodys => (0, path.to_owned()),
        Whose::Repository { named, id } => {
            let repo = let_in(
                scene.world,
                &caller,
                found.route.needs,
                named.as_deref(),
                *id,
            )?;
            let canonical = format!("/repositories/{}{}", repo.id, found.below);
            let current = scene.world.full_name(repo);
            if named
                .as_ref()
                .is_some_and(|named| !named.eq_ignore_ascii_case(&current))
            {
                return Ok(moved(&scene.world.origin, parts, &canonical));
            }
            (repo.id, canonical)
        }
    };
    if repo == 0
        && let Caller::Installation(token) = &caller
    {
        auth::permit(scene.world, token, found.route.needs)?;
    }
    let asked = Asked {
        caller,
        repo,
        body: read_body(body)?,
        path,
        params: found.params,
        query: query(parts.uri.query().unwrap_or_default()),
    };
    let reply = (found.route.handle)(scene, &asked)?;
    Ok(reply.paged(&asked, &scene.world.origin))
}

/// The repository of a call, if the caller may know of it and do there what it wants.
fn let_in<'a>(
    world: &'a World,
    caller: &Caller,
    needs: Needs,
    named: Option<&str>,
    id: RepoId,
) -> Done<&'a Repo> {
    let id = match named {
        Some(named) => world.repo_named(named)?,
        None => id,
    };
    let repo = world.repo(id)?;
    if let Caller::Installation(token) = caller {
        auth::enter(world, token, repo, needs)?;
    }
    Ok(repo)
}

/// A repository that has another name now. Clients follow a 301 with a GET, so that writes are sent on
/// by 307.
fn moved(origin: &str, parts: &Parts, to: &str) -> Reply {
    let query = parts
        .uri
        .query()
        .map_or(String::new(), |query| format!("?{query}"));
    let to = format!("{origin}{to}{query}");
    let (status, message) = match parts.method == http::Method::GET {
        true => (301, "Moved Permanently"),
        false => (307, "Temporary Redirect"),
    };
    let body = serde_json::json!({
        "message": message,
        "url": to,
        "documentation_url": "https://docs.github.com/rest",
    });
    Reply::of(status, body).with("location", to)
}

fn read_body(body: &[u8]) -> Done<Value> {
    if body.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(body).map_err(|_| Refusal::new(400, "Problems parsing JSON"))
}

/// The pairs of a query or a form, decoded, in order.
pub fn query(text: &str) -> Vec<(String, String)> {
    let decode = |part: &str| {
        let spaced = part.replace('+', " ");
        percent_encoding::percent_decode_str(&spaced)
            .decode_utf8_lossy()
            .into_owned()
    };
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decode(name), decode(value)))
        .collect()
}

fn word(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Every fourth value or so, as the seed has it.
fn some_nulls(plan: &FaultPlan, call: &str, reply: &mut Reply) {
    let mut nth = 0;
    reply::nulls(&mut reply.body, &mut |_| {
        nth += 1;
        plan.choose(call, nth, 4) == 0
    });
}
