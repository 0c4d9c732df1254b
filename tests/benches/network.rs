//! The effect of hostile clients on all others: `cargo bench --bench network`, with names of attackers behind `--`, and `--quick`
//! for a tenth of the time.
//!
//! Each attacker is there while another client asks for the tools, on a connection that it keeps and on new ones, and calls one that
//! replies at once. Its times are compared with those that it has alone, in the same run; a request that fails is a failure of the
//! server, however fast. Attackers have a runtime of their own, and share the machine.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and fails by panicking"
)]

#[path = "../guest.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod guest;
#[path = "../harness.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod harness;
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod report;

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use toolhost_http::access::{Access, Token};
use toolhost_http::{Listener, Tls};
use toolhost_server::serve;

use harness::{Setup, TOKEN};
use report::{Report, percentile, time};

/// More than idle connections: those that are closed come back at once, as fast as this machine can. It is shown, and not counted.
const STORM: &str = "storm";

/// Who attacks, with how many connections, and what each does on one until it is closed.
const ATTACKERS: [(&str, usize, Attack); 11] = [
    (
        "origin",
        2,
        Attack::Repeat(
            "host: localhost\r\nauthorization: Bearer TOKEN\r\norigin: http://evil.example\r\n",
        ),
    ),
    (
        "host",
        2,
        Attack::Repeat("host: evil.example\r\nauthorization: Bearer TOKEN\r\n"),
    ),
    ("no_token", 2, Attack::Repeat("host: localhost\r\n")),
    (
        "wrong_token",
        2,
        Attack::Repeat("host: localhost\r\nauthorization: Bearer wrong\r\n"),
    ),
    (
        "large_body",
        2,
        Attack::Flood("content-length: 104857600\r\n\r\n", &[b'x'; 16 << 10]),
    ),
    (
        "headers",
        2,
        Attack::Flood(
            "",
            b"x-flood: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n",
        ),
    ),
    // Who is closed to make room comes back after a second.
    ("idle", 2000, Attack::Idle(Duration::from_secs(1))),
    ("slow_writer", 200, Attack::Drip),
    ("slow_reader", 200, Attack::Sip),
    // The beginning of a record that never comes.
    ("handshake", 200, Attack::Wait(&[22, 3, 1, 2, 0])),
    (STORM, 2000, Attack::Idle(Duration::ZERO)),
];

#[derive(Clone, Copy)]
enum Attack {
    /// Asks with these headers, again and again.
    Repeat(&'static str),
    /// Asks with this, and sends that for as long as it is taken.
    Flood(&'static str, &'static [u8]),
    /// Sends nothing, and connects again so long after it was closed.
    Idle(Duration),
    /// Sends this, and nothing more.
    Wait(&'static [u8]),
    /// Sends headers, one byte a second.
    Drip,
    /// Asks for much, and takes one byte of it a second.
    Sip,
}

impl Attack {
    async fn on(self, mut stream: TcpStream) -> std::io::Result<()> {
        let get = "GET /v1/tools HTTP/1.1\r\n";
        let token = format!("host: localhost\r\nauthorization: Bearer {TOKEN}\r\n");
        match self {
            Self::Repeat(headers) => {
                let request = format!("{get}{}\r\n", headers.replace("TOKEN", TOKEN));
                let mut answer = vec![0; 64 << 10];
                loop {
                    stream.write_all(request.as_bytes()).await?;
                    if stream.read(&mut answer).await? == 0 {
                        return Ok(());
                    }
                }
            }
            Self::Flood(start, piece) => {
                let head = format!("PUT /v1/chats/a/calls/1 HTTP/1.1\r\n{token}{start}");
                stream.write_all(head.as_bytes()).await?;
                loop {
                    stream.write_all(piece).await?;
                }
            }
            Self::Idle(pause) => {
                let ended = stream.read_u8().await;
                tokio::time::sleep(pause).await;
                ended.map(|_| ())
            }
            Self::Wait(start) => {
                stream.write_all(start).await?;
                stream.read_u8().await.map(|_| ())
            }
            Self::Drip => {
                stream.write_all(format!("{get}x: ").as_bytes()).await?;
                loop {
                    stream.write_all(b"y").await?;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
            Self::Sip => {
                let requests = format!("{get}{token}\r\n").repeat(500);
                stream.write_all(requests.as_bytes()).await?;
                loop {
                    stream.read_u8().await?;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }
}

/// Attacks with so many connections at once, each of which is followed by another when it is closed.
async fn attack(attack: Attack, count: usize, address: SocketAddr) {
    let each = (0..count).map(|_| async move {
        loop {
            if let Ok(stream) = TcpStream::connect(address).await {
                _ = attack.on(stream).await;
            }
            tokio::task::yield_now().await;
        }
    });
    futures_util::future::join_all(each).await;
}

/// The times of one client: of lists on a connection that it keeps, of lists on new ones, and of calls on the former.
struct Times {
    of: [Vec<Duration>; 3],
    failed: usize,
}

async fn work(url: &str, time: Duration) -> Times {
    let client = |idle| {
        harness::http_client()
            .pool_max_idle_per_host(idle)
            .build()
            .expect("a client")
    };
    let (keeping, renewing) = (client(1), client(0));
    let (mut of, mut failed) = ([const { Vec::new() }; 3], 0);
    let begun = Instant::now();
    while begun.elapsed() < time {
        let requests = [
            keeping.get(format!("{url}/v1/tools")),
            renewing.get(format!("{url}/v1/tools")),
            keeping
                .post(format!("{url}/v1/chats/a/calls"))
                .json(&json!({ "tool": "t", "arguments": {} })),
        ];
        for (request, times) in requests.into_iter().zip(&mut of) {
            let begun = Instant::now();
            let answered = match request.bearer_auth(TOKEN).send().await {
                Ok(answer) if answer.status() == 200 => answer.bytes().await.is_ok(),
                _ => false,
            };
            match answered {
                true => times.push(begun.elapsed()),
                false => failed += 1,
            }
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Times { of, failed }
}

fn tls(directory: &std::path::Path) -> Tls {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let (certificate, key) = (directory.join("cert.pem"), directory.join("key.pem"));
    std::fs::write(&certificate, harness::pem("CERTIFICATE", made.cert.der()))
        .expect("it is written");
    std::fs::write(
        &key,
        harness::pem("PRIVATE KEY", &made.signing_key.serialize_der()),
    )
    .expect("it is written");
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&key, private).expect("it is ours");
    Tls::open(certificate, key).expect("a certificate and its key")
}

fn main() {
    let mut report = Report::new();
    let window = Duration::from_millis(if report.quick { 500 } else { 5000 });
    let runtime = Runtime::new().expect("there are threads");
    let directory = tempfile::tempdir().expect("a directory");
    let (plain, encrypted, _setup) = runtime.block_on(async {
        let component = guest::guest("well_behaved");
        let trivial =
            |builder: toolhost_core::Builder| builder.plugin(component, guest::options("trivial"));
        let setup = Setup::with(trivial).await;
        let any = "127.0.0.1:0".parse().expect("an address");
        let plain = Listener::tcp(any, None).await.expect("a port");
        let encrypted = Listener::tcp(any, Some(tls(directory.path())));
        let encrypted = encrypted.await.expect("a port");
        let addresses = [&plain, &encrypted].map(|listener| listener.address());
        let [Some(one), Some(other)] = addresses else {
            panic!("both have an address")
        };
        let access = Access {
            tokens: Token::new(TOKEN).expect("a token").into(),
            ..Access::default()
        };
        let listeners = vec![plain, encrypted];
        let host = setup.host.clone();
        tokio::spawn(serve(listeners, host, access, std::future::pending()));
        (one, other, setup)
    });
    let url = format!("http://{plain}");
    // A first round that is not counted, so that everything is warm.
    runtime.block_on(work(&url, window / 5));
    let p99 = |mut times: Times| times.of.each_mut().map(|times| percentile(times, 99));
    let alone = p99(runtime.block_on(work(&url, window)));
    let attackers = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a thread");
    let mut worst = [(Duration::ZERO, ""); 3];
    let mut failed = 0;
    for (name, count, kind) in ATTACKERS {
        if !report.chosen(name) {
            continue;
        }
        let address = if name == "handshake" {
            encrypted
        } else {
            plain
        };
        let attacking = attackers.spawn(attack(kind, count, address));
        // Until they are all there.
        std::thread::sleep(window / 5);
        let times = runtime.block_on(work(&url, window));
        attacking.abort();
        _ = attackers.block_on(attacking);
        println!("{name}: {} failed", times.failed);
        if name != STORM {
            failed += times.failed;
            let all = p99(times).into_iter().zip(&mut worst);
            all.for_each(|(p99, worst)| *worst = (*worst).max((p99, name)));
        }
    }
    attackers.shutdown_background();
    runtime.shutdown_background();
    let kinds = [
        "a list, connection kept",
        "a list, new connection",
        "a trivial call",
    ];
    for ((kind, alone), (p99, name)) in kinds.iter().zip(alone).zip(worst) {
        report.compare(
            &format!("{kind}, HTTP, beside a hostile client, p99, the worst of 10"),
            &format!("{} (`{name}`), {failed} failed", time(p99)),
            &format!("alone: {}", time(alone)),
            p99.as_secs_f64() / alone.as_secs_f64(),
        );
    }
}
