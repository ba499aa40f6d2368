//! What stands before several servers and hands each delivery to one of them, in turn.
//!
//! A server that refuses the connection is passed over. One that does not answer in time is passed over
//! from then on, and that delivery is lost to it: a front cannot know whether it was taken.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::post;
use http::StatusCode;
use http_body_util::BodyExt;
use tokio::net::TcpListener;

use crate::http_client::Http;

/// How long an answer is awaited.
const PATIENCE: Duration = Duration::from_secs(3);

/// The front; clones share everything.
#[derive(Clone)]
pub struct Front {
    http: Http,
    up: Arc<Mutex<Vec<SocketAddr>>>,
    turn: Arc<AtomicUsize>,
}

impl Front {
    /// One with nobody behind it, and the address at which it takes deliveries.
    pub async fn open() -> (Self, String) {
        let front = Self {
            http: Http::new(),
            up: Arc::default(),
            turn: Arc::default(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/webhook", listener.local_addr().unwrap());
        let routes = Router::new()
            .route("/webhook", post(pass_on))
            .with_state(front.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        (front, url)
    }

    /// From now on this server gets deliveries.
    pub fn add(&self, server: SocketAddr) {
        let mut up = self.up.lock().unwrap();
        up.retain(|there| *there != server);
        up.push(server);
    }

    fn next(&self) -> Option<SocketAddr> {
        let up = self.up.lock().unwrap();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        up.get(turn % up.len().max(1)).copied()
    }

    fn remove(&self, server: SocketAddr) {
        self.up.lock().unwrap().retain(|there| *there != server);
    }
}

async fn pass_on(State(front): State<Front>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let answer = |status| {
        Response::builder()
            .status(status)
            .body(Body::empty())
            .unwrap()
    };
    while let Some(server) = front.next() {
        let mut request = Request::post(format!("http://{server}/webhook"));
        for (name, value) in &parts.headers {
            if name != http::header::HOST {
                request = request.header(name, value);
            }
        }
        let request = request.body(Body::from(body.clone())).unwrap();
        match tokio::time::timeout(PATIENCE, front.http.send(request)).await {
            Ok(Some((status, _, _))) => return answer(status),
            Ok(None) => front.remove(server),
            Err(_) => {
                front.remove(server);
                return answer(StatusCode::GATEWAY_TIMEOUT);
            }
        }
    }
    answer(StatusCode::BAD_GATEWAY)
}
