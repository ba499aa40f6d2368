//! Serves HTTP: the loop around the routes.
//!
//! Written out instead of taken from axum, because a server on the open net must not wait for ever.
//! Half a head holds a connection until the header time-out, half a body until the request's, whoever asks
//! for it; a peer that takes nothing of its answers is cut off; a shutdown waits for requests in hand until
//! the drain time-out, no longer; and there is a bound to how many connections are open at once (the
//! others wait in the system's queue). HTTP/1 only: GitHub delivers in HTTP/1,
//! and whatever stands in front speaks it.
//!
//! When it is told to stop it closes its listener at once, so that whoever asks anew whether it is ready is
//! refused: to a balancer that says the same as a 503, and cannot be overheard. Whoever is connected
//! already and has a request on its way is told so in words: each request carries [`Stopping`], and
//! `/readyz` answers 503 by it while `/healthz` stays 200. The listener is not kept open for those who have
//! not noticed yet: a stop would take longer by a guess, and a delivery that is refused is asked for again
//! by the sweep.
//!
//! Left out on purpose: TLS (a proxy's work). A peer that takes its answer byte by byte is a peer; only one
//! that takes none is cut off, and what an answer holds is bounded.

#[cfg(test)]
mod tests;

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutStream;
use tower::{Layer as _, ServiceExt as _};
use tower_http::timeout::TimeoutLayer;

/// After a failed `accept` (no file descriptors left, mostly).
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Who is at the other end of the connection, as an extension of each of its requests. Behind a proxy it
/// is the proxy: what that says of others is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// Whether the server was told to stop, as an extension of each of its requests.
#[derive(Debug, Clone)]
pub struct Stopping(watch::Receiver<bool>);

impl Stopping {
    /// It was, or nobody is left who could tell it.
    pub fn told(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }
}

/// What a peer may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A request's head must be complete within this, and a connection may idle so long.
    pub header: Duration,
    /// A request must be answered within this, its body's coming included; routes that read bodies may be
    /// stricter.
    pub request: Duration,
    /// An answer of which the peer takes nothing for so long is given up, and its connection with it.
    pub stalled: Duration,
    /// Connections open at once.
    pub connections: usize,
    /// On shutdown, requests in hand have so long.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header: Duration::from_secs(10),
            request: Duration::from_secs(30),
            stalled: Duration::from_secs(20),
            connections: 1024,
            drain: Duration::from_secs(10),
        }
    }
}

/// Serves `routes` on `listener` until `shutdown` says so (or is dropped), then drains: no new
/// connection is taken, requests in hand are answered within [`Limits::drain`], what is left is cut
/// off.
///
/// Tells how many connections had to be cut off.
pub async fn serve(
    listener: TcpListener,
    routes: Router,
    limits: Limits,
    mut shutdown: watch::Receiver<bool>,
) -> usize {
    let slots = Arc::new(Semaphore::new(limits.connections));
    let mut talks = JoinSet::new();
    loop {
        let next = async {
            let slot = Arc::clone(&slots).acquire_owned().await;
            (slot, accept(&listener).await)
        };
        let (slot, (stream, peer)) = tokio::select! {
            biased;
            () = told(&mut shutdown) => break,
            Some(_) = talks.join_next() => continue,
            next = next => next,
        };
        let talk = converse(stream, peer, routes.clone(), limits, shutdown.clone());
        talks.spawn(async move {
            let _slot = slot;
            talk.await;
        });
    }
    drop(listener);
    let drained = tokio::time::timeout(limits.drain, async {
        while talks.join_next().await.is_some() {}
    });
    if drained.await.is_err() {
        tracing::warn!(connections = talks.len(), "connections are cut off");
    }
    let left = talks.len();
    talks.shutdown().await;
    left
}

/// Waits until the sign to stop is given, or nobody is left who could give it.
async fn told(shutdown: &mut watch::Receiver<bool>) {
    let _ = shutdown.wait_for(|stop| *stop).await;
}

/// The next connection. Failures to accept one are the machine's or the peer's, and pass.
async fn accept(listener: &TcpListener) -> (tokio::net::TcpStream, Option<Peer>) {
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                // Answers are small and written at once; waiting to fill a packet only delays them.
                let _ = stream.set_nodelay(true);
                return (stream, Some(Peer(address.ip())));
            }
            Err(error) if is_the_peers(&error) => {}
            Err(error) => {
                tracing::error!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn is_the_peers(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}

/// Answers one connection's requests until it ends, or until the request in hand when `shutdown` came
/// is answered.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    peer: Option<Peer>,
    routes: Router,
    limits: Limits,
    mut shutdown: watch::Receiver<bool>,
) {
    let stopping = Stopping(shutdown.clone());
    let in_time = TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, limits.request);
    let routes = in_time
        .layer(routes)
        .map_request(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(stopping.clone());
            if let Some(peer) = peer {
                request.extensions_mut().insert(peer);
            }
            request
        });
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(limits.stalled));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header)
        .keep_alive(true)
        .serve_connection(
            TokioIo::new(Box::pin(stream)),
            TowerToHyperService::new(routes),
        );
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = told(&mut shutdown) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended badly");
    }
}
