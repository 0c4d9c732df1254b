//! A balancer of connections, which asks servers whether they are ready.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The time between two questions, and the time for an answer or a connection.
const EVERY: Duration = Duration::from_millis(100);
const WITHIN: Duration = Duration::from_secs(1);

/// Leads each connection to the next server that is ready.
pub(super) struct Balancer {
    pub(super) url: String,
    _tasks: JoinSet<()>,
}

struct Target {
    url: String,
    is_ready: AtomicBool,
}

impl Balancer {
    /// Starts a balancer at a free port of this address.
    pub(super) async fn start(address: Ipv4Addr, urls: impl Iterator<Item = String>) -> Self {
        let listener = TcpListener::bind((address, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let target = |url| Target {
            url,
            is_ready: AtomicBool::new(false),
        };
        let targets: Arc<[Target]> = urls.map(target).collect();
        let mut tasks = JoinSet::new();
        for number in 0..targets.len() {
            tasks.spawn(watch(Arc::clone(&targets), number));
        }
        tasks.spawn(async move {
            let next = AtomicUsize::new(0);
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let first = next.fetch_add(1, Ordering::Relaxed);
                connections.spawn(lead(client, Arc::clone(&targets), first));
                while connections.try_join_next().is_some() {}
            }
        });
        Self { url, _tasks: tasks }
    }
}

async fn watch(targets: Arc<[Target]>, number: usize) {
    let (client, target) = (crate::harness::client(), &targets[number]);
    let url = format!("{}/readyz", target.url);
    loop {
        let ready = client.get(&url).timeout(WITHIN).send().await;
        let is_ready = ready.is_ok_and(|ready| ready.status().is_success());
        target.is_ready.store(is_ready, Ordering::Relaxed);
        tokio::time::sleep(EVERY).await;
    }
}

async fn lead(mut client: TcpStream, targets: Arc<[Target]>, first: usize) {
    let in_turn = (0..targets.len()).map(|number| &targets[(first + number) % targets.len()]);
    for target in in_turn.filter(|target| target.is_ready.load(Ordering::Relaxed)) {
        let address = target.url.strip_prefix("http://").unwrap();
        if let Ok(Ok(mut server)) = timeout(WITHIN, TcpStream::connect(address)).await {
            // Whoever of the two ends, or is lost, ends the connection.
            _ = copy_bidirectional(&mut client, &mut server).await;
            return;
        }
    }
}
