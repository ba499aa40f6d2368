//! How many signed deliveries a second are made durable and acknowledged while passes run, on each store
//! and by several servers on one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use countersign::app::{App, Parts};
use countersign::domain::model::AppId;
use countersign::simulator::world::Delivery;
use countersign::store::Store;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::place::{Kind, Place};
use crate::stage::{self, OurCheck, POLICY, Stage};
use crate::{millis, per_second, quantile, run};

const CONNECTIONS: usize = 64;
const FOR: Duration = Duration::from_secs(5);
pub const PULLS: usize = 10;
/// What takes longer than this has gone wrong.
const PATIENCE: Duration = Duration::from_secs(20);

/// The product running by itself over a stage's store and GitHub.
pub struct Running {
    pub address: std::net::SocketAddr,
    stop: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    /// On the stage's own store.
    pub async fn start(stage: &Stage) -> Self {
        Self::on(stage, stage.store.clone()).await
    }

    /// As many servers as are wanted, each with connections of its own; GitHub posts to the first.
    pub async fn several(stage: &Stage, place: &Place, servers: usize) -> Vec<Self> {
        let mut running = vec![Self::start(stage).await];
        let first = running[0].address;
        for _ in 1..servers {
            running.push(Self::on(stage, place.store().await).await);
        }
        stage.github.set_webhook(format!("http://{first}/webhook"));
        running
    }

    async fn on(stage: &Stage, store: Arc<dyn Store>) -> Self {
        let client = stage::client(&stage.github, &stage.api_url, stage.clock.clone());
        let credentials = stage.github.app();
        let app = App::new(Parts {
            store,
            reads: client.clone(),
            writes: client,
            clock: stage.clock.clone(),
            own_app: AppId::new(credentials.app_id).unwrap(),
            webhook_secrets: vec![credentials.webhook_secret.clone().into()],
            api_token: None,
            addresses: countersign::web::Addresses::default(),
            sweep_interval: Duration::from_secs(3600),
            shadow: false,
            meters: Default::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        stage
            .github
            .set_webhook(format!("http://{address}/webhook"));
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(app.run(listener, stopped));
        Self {
            address,
            stop,
            task,
        }
    }

    /// Waits until our check on a head says something.
    pub async fn until(&self, stage: &Stage, says: impl Fn(&OurCheck) -> bool, head: &str) {
        let began = Instant::now();
        while !stage.our_check(head).is_some_and(|check| says(&check)) {
            let said = stage.our_check(head).map(|check| check.title);
            assert!(began.elapsed() < PATIENCE, "our check still says {said:?}");
            stage.github.deliver_all().await;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    pub async fn stop(self) {
        self.stop.send(true).unwrap();
        self.task.await.unwrap();
    }
}

pub fn measure() -> Vec<String> {
    let mut lines = Vec::new();
    for kind in Kind::ALL {
        for size in [10, 25] {
            lines.extend(run(acknowledged(kind, size)));
        }
    }
    lines
}

async fn acknowledged(kind: Kind, kilobytes: usize) -> Option<String> {
    let place = Place::new(kind)?;
    let stage = Stage::build(POLICY, place.store().await, 1).await;
    let requests = requests(&stage, kilobytes * 1_024).await;
    let running = Running::several(&stage, &place, kind.servers()).await;
    let before = stage.store.inbox().await.unwrap();
    let began = Instant::now();
    let addresses: Vec<_> = running.iter().map(|server| server.address).collect();
    let post = Posting::new(requests, &addresses);
    let mut times = post.all(CONNECTIONS, move |_| began.elapsed() < FOR).await;
    let took = began.elapsed();
    let waiting = stage.store.inbox().await.unwrap();
    let understood = waiting.done - before.done;
    let rate = per_second(times.len() as u64, took);
    let (median, worst) = (quantile(&mut times, 0.5), quantile(&mut times, 0.99));
    for server in running {
        server.stop().await;
    }
    Some(format!(
        "{}: deliveries of {kilobytes} KB acknowledged: {rate}, median {}, 99 % {}; {} understood meanwhile",
        kind.name(),
        millis(median),
        millis(worst),
        per_second(understood, took),
    ))
}

/// Signed deliveries about several open pull requests, each whole but for its GUID.
pub async fn requests(stage: &Stage, size: usize) -> Vec<(Vec<u8>, usize)> {
    let mut made = Vec::new();
    for nth in 0..PULLS {
        let pull = stage.open_other(&format!("agent/{nth}")).await;
        let head = pull.head().unwrap();
        let actions = stage.github.actions();
        actions.start_check(&stage.shop, &head, "unit").unwrap();
        let waiting = stage.github.lock().take_deliveries();
        let found = waiting.into_iter().find(|one| one.event == "check_run");
        made.push(request(stage, found.unwrap(), size));
    }
    made
}

/// The request's bytes, and where its GUID stands in them.
fn request(stage: &Stage, mut delivery: Delivery, size: usize) -> (Vec<u8>, usize) {
    let text = size.saturating_sub(delivery.payload.to_string().len());
    delivery.payload["check_run"]["output"]["text"] = json!("x".repeat(text));
    assert!(!delivery.payload["check_run"]["status"].is_null());
    let guid = "00000000-0000-4000-8000-000000000000";
    delivery.guid = guid.into();
    let signed = stage.github.signed(&delivery);
    let mut head = format!(
        "POST /webhook HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n",
        signed.body.len()
    );
    for (name, value) in &signed.headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += "\r\n";
    let at = head.find(guid).unwrap() + guid.len() - 12;
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(&signed.body);
    let _: Value = serde_json::from_slice(&signed.body).unwrap();
    (bytes, at)
}

/// Posts deliveries, each with a GUID of its own.
#[derive(Clone)]
pub struct Posting {
    requests: Arc<Vec<(Vec<u8>, usize)>>,
    addresses: Arc<Vec<std::net::SocketAddr>>,
    guids: Arc<AtomicU64>,
}

impl Posting {
    pub fn new(requests: Vec<(Vec<u8>, usize)>, addresses: &[std::net::SocketAddr]) -> Self {
        Self {
            requests: Arc::new(requests),
            addresses: Arc::new(addresses.to_vec()),
            guids: Arc::default(),
        }
    }

    /// Over so many connections at once, while there are to be more than the number of those begun; the
    /// time that each took.
    pub async fn all(
        &self,
        connections: usize,
        more: impl Fn(u64) -> bool + Clone + Send + 'static,
    ) -> Vec<Duration> {
        let posting =
            (0..connections).map(|nth| tokio::spawn(self.clone().over_one(nth, more.clone())));
        let mut times = Vec::new();
        for one in posting.collect::<Vec<_>>() {
            times.extend(one.await.unwrap());
        }
        times
    }

    /// One after the other over one connection.
    async fn over_one(self, nth: usize, more: impl Fn(u64) -> bool) -> Vec<Duration> {
        let (mut bytes, at) = self.requests[nth % self.requests.len()].clone();
        let address = self.addresses[nth % self.addresses.len()];
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut times = Vec::new();
        loop {
            let begun = self.guids.fetch_add(1, Ordering::Relaxed);
            if !more(begun) {
                return times;
            }
            bytes[at..at + 12].copy_from_slice(format!("{begun:012}").as_bytes());
            let sent = Instant::now();
            stream.write_all(&bytes).await.unwrap();
            let said = answered(&mut stream).await;
            assert!(said.starts_with("HTTP/1.1 20"), "{said}");
            times.push(sent.elapsed());
        }
    }
}

/// One answer, head and body: the next one follows on the same connection.
async fn answered(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    loop {
        let read = stream.read_buf(&mut answer).await.unwrap();
        assert!(read > 0, "the connection ended");
        let text = String::from_utf8_lossy(&answer);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                let named = name.eq_ignore_ascii_case("content-length");
                named.then(|| value.parse::<usize>().unwrap())
            });
            if body.len() >= length.expect("a length") {
                return text.into_owned();
            }
        }
    }
}
