//! The server as peers meet it, kind and unkind ones.

use axum::routing::{get, post};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::*;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n";

fn routes() -> Router {
    Router::new().route("/", get(|| async { "hello" }))
}

/// A connection that is being answered, our end of it, and the sign to stop.
fn talk(
    routes: Router,
) -> (
    DuplexStream,
    watch::Sender<bool>,
    tokio::task::JoinHandle<()>,
) {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (stop, told) = watch::channel(false);
    let talk = tokio::spawn(converse(theirs, None, routes, Limits::default(), told));
    (ours, stop, talk)
}

async fn answer(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut text = Vec::new();
    let mut piece = [0; 1024];
    while !text.ends_with(b"hello") {
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => break,
            Ok(count) => text.extend_from_slice(&piece[..count]),
        }
    }
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn one_connection_serves_request_after_request() {
    let (mut ours, _stop, _talk) = talk(routes());
    for _ in 0..3 {
        ours.write_all(REQUEST).await.unwrap();
        let answer = answer(&mut ours).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn half_a_header_is_given_up_after_its_time() {
    let (mut ours, _stop, talk) = talk(routes());
    ours.write_all(b"GET / HTTP/1.1\r\nhost: he").await.unwrap();
    let before = Instant::now();
    talk.await.unwrap();
    assert!(
        before.elapsed() <= Duration::from_secs(11),
        "{:?}",
        before.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_says_nothing_is_given_up_after_its_time() {
    let (_ours, _stop, talk) = talk(routes());
    let before = Instant::now();
    talk.await.unwrap();
    assert!(
        before.elapsed() <= Duration::from_secs(11),
        "{:?}",
        before.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn half_a_body_is_given_up_after_its_time_whichever_route_reads_it() {
    let routes = Router::new().route("/", post(|body: String| async { body }));
    let (mut ours, _stop, talk) = talk(routes);
    let half = b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 100\r\n\r\nhalf";
    ours.write_all(half).await.unwrap();
    let before = Instant::now();
    let told = answer(&mut ours).await;
    assert!(told.starts_with("HTTP/1.1 408"), "{told}");
    talk.await.unwrap();
    let took = before.elapsed();
    assert!(took <= Duration::from_secs(41), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_takes_no_answer_is_cut_off() {
    let large = "x".repeat(1024 * 1024);
    let routes = Router::new().route("/", get(move || async move { large }));
    let (mut ours, _stop, talk) = talk(routes);
    ours.write_all(REQUEST).await.unwrap();
    let before = Instant::now();
    talk.await.unwrap();
    let took = before.elapsed();
    assert!(took <= Duration::from_secs(21), "{took:?}");
}

#[tokio::test]
async fn an_idle_connection_ends_at_once_on_shutdown() {
    let (mut ours, stop, talk) = talk(routes());
    ours.write_all(REQUEST).await.unwrap();
    answer(&mut ours).await;
    stop.send(true).unwrap();
    talk.await.unwrap();
}

#[tokio::test]
async fn a_request_in_hand_is_answered_before_a_shutdown() {
    let (entered, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, wait) = (Arc::clone(&entered), Arc::clone(&go));
    let slow = Router::new().route(
        "/",
        get(move || async move {
            told.notify_one();
            wait.notified().await;
            "hello"
        }),
    );
    let (mut ours, stop, talk) = talk(slow);
    ours.write_all(REQUEST).await.unwrap();
    entered.notified().await;
    stop.send(true).unwrap();
    go.notify_one();
    assert!(answer(&mut ours).await.ends_with("hello"));
    talk.await.unwrap();
}

/// A server on a free port.
async fn server(
    routes: Router,
    limits: Limits,
) -> (
    std::net::SocketAddr,
    watch::Sender<bool>,
    tokio::task::JoinHandle<usize>,
) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, told) = watch::channel(false);
    let running = tokio::spawn(serve(listener, routes, limits, told));
    (address, stop, running)
}

#[tokio::test]
async fn half_a_header_does_not_hold_a_shutdown() {
    let limits = Limits {
        drain: Duration::from_millis(50),
        ..Limits::default()
    };
    let (address, stop, running) = server(routes(), limits).await;
    let mut half = TcpStream::connect(address).await.unwrap();
    half.write_all(b"GET / HTTP/1.1\r\nhost: he").await.unwrap();
    // Another request proves that the first connection was taken before it.
    let mut whole = TcpStream::connect(address).await.unwrap();
    whole.write_all(REQUEST).await.unwrap();
    answer(&mut whole).await;
    stop.send(true).unwrap();
    assert_eq!(running.await.unwrap(), 1, "only the half one is cut off");
    assert!(
        TcpStream::connect(address).await.is_err(),
        "nobody listens any more"
    );
}

#[tokio::test]
async fn a_server_whose_owner_is_gone_ends() {
    let (_, stop, running) = server(routes(), Limits::default()).await;
    drop(stop);
    assert_eq!(running.await.unwrap(), 0);
}

#[tokio::test]
async fn more_connections_than_allowed_wait_for_their_turn() {
    let limits = Limits {
        connections: 1,
        header: Duration::from_millis(50),
        ..Limits::default()
    };
    let (address, stop, running) = server(routes(), limits).await;
    let mut first = TcpStream::connect(address).await.unwrap();
    first.write_all(REQUEST).await.unwrap();
    answer(&mut first).await;
    // The first stays open and idle: the second is served when its time is up.
    let mut second = TcpStream::connect(address).await.unwrap();
    second.write_all(REQUEST).await.unwrap();
    assert!(answer(&mut second).await.ends_with("hello"));
    let mut rest = Vec::new();
    assert_eq!(first.read_to_end(&mut rest).await.unwrap(), 0);
    stop.send(true).unwrap();
    running.await.unwrap();
}
