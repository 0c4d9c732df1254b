//! A TCP proxy that injects faults between a host and an agent.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::PATIENCE;

/// A fault of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing happens to this request.
    Pass,
    /// The request is not forwarded, and the connection is cut.
    Before,
    /// The connection is cut as soon as the request was forwarded.
    During,
    /// The connection is cut when the answer arrives, of which nothing is forwarded.
    After,
    /// The connection is cut behind so many bytes of the answer.
    Inside(usize),
    /// Neither the request nor anything else is forwarded, and the connection stays open.
    Silent,
    /// The request is forwarded, but not its answer, and the connection stays open.
    Mute,
}

#[derive(Debug)]
struct State {
    target: String,
    /// The next faults, each with a part of the request line that it is for.
    faults: VecDeque<(String, Fault)>,
    /// After how many bytes the next connections are cut.
    cuts: VecDeque<usize>,
    /// Whether a fault makes the proxy refuse connections from then on.
    is_last: bool,
    /// The time by which each piece is late.
    delay: Duration,
}

/// The state of all connections: cut or frozen up to a number.
#[derive(Clone, Copy, Debug, Default)]
struct Broken {
    cut: u64,
    frozen: u64,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    broken: watch::Sender<Broken>,
    /// The number of connections so far.
    made: watch::Sender<u64>,
    /// The number of faults so far.
    hits: watch::Sender<usize>,
    /// Whether connections are refused.
    refuses: watch::Sender<bool>,
    /// Whether the listener is there.
    listens: watch::Sender<bool>,
}

/// A proxy with an address of its own.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) url: String,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy in front of a server.
    pub(crate) async fn to(url: &str) -> Self {
        // No other test takes the port while the proxy refuses connections: this socket has it, and does not listen.
        let holder = bound("127.0.0.1:0".parse().unwrap());
        let address = holder.local_addr().unwrap();
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                target: bare(url),
                faults: VecDeque::new(),
                cuts: VecDeque::new(),
                is_last: false,
                delay: Duration::ZERO,
            }),
            broken: watch::Sender::default(),
            made: watch::Sender::default(),
            hits: watch::Sender::default(),
            refuses: watch::Sender::default(),
            listens: watch::Sender::new(true),
        });
        let task = tokio::spawn(run(holder, Arc::clone(&shared)));
        Self {
            url: format!("http://{address}"),
            shared,
            task,
        }
    }

    fn state<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.shared.state.lock().unwrap())
    }

    /// Injects a fault into the next request whose first line contains `part`.
    pub(crate) fn inject(&self, part: &str, fault: Fault) {
        self.state(|state| state.faults.push_back((part.to_owned(), fault)));
    }

    /// The same, and refuses connections from then on.
    pub(crate) fn inject_last(&self, part: &str, fault: Fault) {
        self.inject(part, fault);
        self.state(|state| state.is_last = true);
    }

    /// Cuts the next connections behind so many bytes, counted in both directions.
    pub(crate) fn cut_next(&self, bytes: impl IntoIterator<Item = usize>) {
        self.state(|state| state.cuts.extend(bytes));
    }

    /// Returns how many of these cuts are left.
    pub(crate) fn cuts_left(&self) -> usize {
        self.state(|state| state.cuts.len())
    }

    /// Forwards later connections to another server.
    pub(crate) fn retarget(&self, url: &str) {
        self.state(|state| state.target = bare(url));
    }

    /// Makes each piece late in both directions.
    pub(crate) fn delay(&self, delay: Duration) {
        self.state(|state| state.delay = delay);
    }

    /// Cuts all connections.
    pub(crate) fn cut(&self) {
        let made = *self.shared.made.borrow();
        self.shared.broken.send_modify(|broken| broken.cut = made);
    }

    /// Cuts all connections, and each later one as soon as it is made. These are counted, unlike those that [`Proxy::refuse`] keeps away.
    pub(crate) fn cut_all(&self) {
        self.shared
            .broken
            .send_modify(|broken| broken.cut = u64::MAX);
    }

    /// Cuts no further connections.
    pub(crate) fn mend(&self) {
        self.cut();
    }

    /// Forwards nothing over the present connections any more, and leaves them open.
    pub(crate) fn freeze(&self) {
        let made = *self.shared.made.borrow();
        self.shared
            .broken
            .send_modify(|broken| broken.frozen = made);
    }

    /// Forwards nothing any more, and takes connections.
    pub(crate) fn freeze_all(&self) {
        self.shared
            .broken
            .send_modify(|broken| broken.frozen = u64::MAX);
    }

    /// Forwards again what was held back.
    pub(crate) fn thaw(&self) {
        self.shared.broken.send_modify(|broken| broken.frozen = 0);
    }

    /// Cuts all connections, and refuses further ones.
    pub(crate) async fn refuse(&self) {
        self.shared.refuses.send_replace(true);
        self.shared
            .listens
            .subscribe()
            .wait_for(|listens| !listens)
            .await
            .unwrap();
        self.cut();
    }

    /// Takes connections again.
    pub(crate) async fn accept(&self) {
        self.shared.refuses.send_replace(false);
        self.shared
            .listens
            .subscribe()
            .wait_for(|listens| *listens)
            .await
            .unwrap();
    }

    /// Returns how many connections there were.
    pub(crate) fn connections(&self) -> u64 {
        *self.shared.made.borrow()
    }

    /// Waits until so many faults have happened.
    pub(crate) async fn hit(&self, count: usize) {
        let mut hits = self.shared.hits.subscribe();
        let hit = hits.wait_for(|&hits| hits >= count);
        tokio::time::timeout(PATIENCE, hit)
            .await
            .expect("no fault")
            .unwrap();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        self.cut_all();
    }
}

fn bare(url: &str) -> String {
    let (_, address) = url.split_once("://").unwrap();
    address.to_owned()
}

fn bound(address: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseport(true).unwrap();
    socket.bind(address).unwrap();
    socket
}

async fn run(holder: TcpSocket, shared: Arc<Shared>) {
    let address = holder.local_addr().unwrap();
    let mut refuses = shared.refuses.subscribe();
    let mut listener = None;
    loop {
        if *refuses.borrow_and_update() {
            drop(listener.take());
            shared.listens.send_replace(false);
            refuses.wait_for(|refuses| !refuses).await.unwrap();
        }
        let listen = || bound(address).listen(1024).unwrap();
        let there = listener.take().unwrap_or_else(listen);
        shared.listens.send_replace(true);
        tokio::select! {
            accepted = there.accept() => {
                let (stream, _) = accepted.unwrap();
                let mut number = 0;
                shared.made.send_modify(|made| { *made += 1; number = *made; });
                tokio::spawn(connect(stream, number, Arc::clone(&shared)));
            }
            _ = refuses.changed() => {}
        }
        listener = Some(there);
    }
}

/// Forwards one connection until it ends, breaks or is cut.
async fn connect(client: TcpStream, number: u64, shared: Arc<Shared>) {
    let (target, left) = {
        let mut state = shared.state.lock().unwrap();
        (state.target.clone(), state.cuts.pop_front())
    };
    let Ok(server) = TcpStream::connect(target).await else {
        return;
    };
    for stream in [&client, &server] {
        stream.set_nodelay(true).unwrap();
        // A cut is a reset, as from a machine that forgot the connection.
        #[allow(deprecated, reason = "zero does not block")]
        stream.set_linger(Some(Duration::ZERO)).unwrap();
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let line = Line {
        number,
        shared: Arc::clone(&shared),
        left: Mutex::new(left),
        fault: Mutex::new(None),
    };
    let mut broken = shared.broken.subscribe();
    tokio::select! {
        biased;
        _ = broken.wait_for(|broken| broken.cut >= number) => {}
        () = line.ask(from_client, to_server) => {}
        () = line.answer(from_server, to_client) => {}
    }
}

/// One connection.
struct Line {
    number: u64,
    shared: Arc<Shared>,
    /// How many bytes are forwarded before it is cut.
    left: Mutex<Option<usize>>,
    /// The fault of the present request.
    fault: Mutex<Option<Fault>>,
}

impl Line {
    async fn ask(&self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut buffer = vec![0; 64 << 10];
        while let Some(count) = self.read(&mut from, &mut buffer).await {
            let data = &buffer[..count];
            let fault = self.take_fault(data);
            match fault {
                Some(Fault::Before) => return self.shared.hit(),
                Some(Fault::Silent) => {
                    self.shared.hit();
                    std::future::pending::<()>().await;
                }
                fault => *self.fault.lock().unwrap() = fault,
            }
            if !self.write(&mut to, data).await {
                return;
            }
            if fault == Some(Fault::During) {
                // The target reads what was sent before it notices the end.
                _ = to.shutdown().await;
                return self.shared.hit();
            }
        }
    }

    async fn answer(&self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut buffer = vec![0; 64 << 10];
        while let Some(count) = self.read(&mut from, &mut buffer).await {
            let data = &buffer[..count];
            let fault = *self.fault.lock().unwrap();
            match fault {
                Some(Fault::After) => return self.shared.hit(),
                Some(Fault::Mute) => {
                    self.shared.hit();
                    std::future::pending::<()>().await;
                }
                Some(Fault::Inside(bytes)) if bytes <= count => {
                    self.write(&mut to, &data[..bytes]).await;
                    _ = to.shutdown().await;
                    return self.shared.hit();
                }
                Some(Fault::Inside(bytes)) => {
                    *self.fault.lock().unwrap() = Some(Fault::Inside(bytes - count));
                }
                _ => {}
            }
            if !self.write(&mut to, data).await {
                return;
            }
        }
    }

    /// Returns the fault of the request that begins here, if one does.
    fn take_fault(&self, data: &[u8]) -> Option<Fault> {
        let line = data.split(|&byte| byte == b'\r').next()?;
        let line = std::str::from_utf8(line).ok()?;
        let mut state = self.shared.state.lock().unwrap();
        let (part, _) = state.faults.front()?;
        if !line.ends_with(" HTTP/1.1") || !line.contains(part.as_str()) {
            return None;
        }
        state.faults.pop_front().map(|(_, fault)| fault)
    }

    async fn read(&self, from: &mut OwnedReadHalf, buffer: &mut [u8]) -> Option<usize> {
        let count = from.read(buffer).await.ok().filter(|&count| count > 0)?;
        let delay = self.shared.state.lock().unwrap().delay;
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        let mut broken = self.shared.broken.subscribe();
        _ = broken.wait_for(|broken| broken.frozen < self.number).await;
        Some(count)
    }

    /// Forwards a piece. Returns whether the connection goes on.
    async fn write(&self, to: &mut OwnedWriteHalf, data: &[u8]) -> bool {
        let count = {
            let mut left = self.left.lock().unwrap();
            let count = left.map_or(data.len(), |left| left.min(data.len()));
            if let Some(left) = &mut *left {
                *left -= count;
            }
            count
        };
        to.write_all(&data[..count]).await.is_ok() && count == data.len()
    }
}

impl Shared {
    /// Notes that a fault happened.
    fn hit(&self) {
        let is_last = {
            let state = self.state.lock().unwrap();
            state.is_last && state.faults.is_empty()
        };
        if is_last {
            self.state.lock().unwrap().is_last = false;
            self.refuses.send_replace(true);
        }
        self.hits.send_modify(|hits| *hits += 1);
    }
}
