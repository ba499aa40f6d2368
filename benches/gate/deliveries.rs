//! How many signed deliveries a second are made durable and acknowledged while passes run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use countersign::app::{App, Parts};
use countersign::domain::model::AppId;
use countersign::simulator::world::Delivery;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::stage::{self, OurCheck, Stage};
use crate::{millis, per_second, quantile, run};

const CONNECTIONS: usize = 64;
const FOR: Duration = Duration::from_secs(5);
const PULLS: usize = 10;
/// What takes longer than this has gone wrong.
const PATIENCE: Duration = Duration::from_secs(20);

/// The product running by itself over a stage's store and GitHub.
pub struct Running {
    pub address: std::net::SocketAddr,
    stop: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    pub async fn start(stage: &Stage) -> Self {
        let client = stage::client(&stage.github, &stage.api_url, stage.clock.clone());
        let credentials = stage.github.app();
        let app = App::new(Parts {
            store: stage.store.clone(),
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
    [10, 25].map(|size| run(acknowledged(size))).into()
}

async fn acknowledged(kilobytes: usize) -> String {
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage::on_file(folder.path()).await;
    let requests = requests(&stage, kilobytes * 1_024).await;
    let running = Running::start(&stage).await;
    let guids = Arc::new(AtomicU64::new(0));
    let before = stage.store.inbox().await.unwrap();
    let began = Instant::now();
    let mut posting = Vec::new();
    for nth in 0..CONNECTIONS {
        let request = requests[nth % requests.len()].clone();
        posting.push(tokio::spawn(post(
            running.address,
            request,
            guids.clone(),
            began,
        )));
    }
    let mut times = Vec::new();
    for one in posting {
        times.extend(one.await.unwrap());
    }
    let took = began.elapsed();
    let waiting = stage.store.inbox().await.unwrap();
    let understood = waiting.done - before.done;
    let rate = per_second(times.len() as u64, took);
    let (median, worst) = (quantile(&mut times, 0.5), quantile(&mut times, 0.99));
    running.stop().await;
    format!(
        "deliveries of {kilobytes} KB acknowledged: {rate}, median {}, 99 % {}; {} understood meanwhile",
        millis(median),
        millis(worst),
        per_second(understood, took),
    )
}

/// Signed deliveries about several open pull requests, each whole but for its GUID.
async fn requests(stage: &Stage, size: usize) -> Vec<(Vec<u8>, usize)> {
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

/// Posts one delivery after the other over one connection, and takes the time of each.
async fn post(
    address: std::net::SocketAddr,
    (mut bytes, at): (Vec<u8>, usize),
    guids: Arc<AtomicU64>,
    began: Instant,
) -> Vec<Duration> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut times = Vec::new();
    let mut answer = vec![0; 4_096];
    while began.elapsed() < FOR {
        let guid = format!("{:012}", guids.fetch_add(1, Ordering::Relaxed));
        bytes[at..at + 12].copy_from_slice(guid.as_bytes());
        let sent = Instant::now();
        stream.write_all(&bytes).await.unwrap();
        // An acknowledgement is short: it comes in one piece.
        let read = stream.read(&mut answer).await.unwrap();
        let said = String::from_utf8_lossy(&answer[..read]);
        assert!(said.starts_with("HTTP/1.1 202"), "{said}");
        times.push(sent.elapsed());
    }
    times
}
