//! A server of PostgreSQL in a temporary directory, which ends with the program that started it.

#[path = "until_exit.rs"]
pub(crate) mod until_exit;

use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use toolhost_postgres::Config;
use uuid::Uuid;

/// The server runs as this user if the tests run as root, whom it refuses.
const NOBODY: u32 = 65_534;

/// Ends the server when the standard input ends, which it does with the program.
const SCRIPT: &str = r#""$@" & server=$!; cat >/dev/null; kill -INT "$server"; wait "$server""#;

/// A server of PostgreSQL.
#[derive(Debug)]
pub(crate) struct Server {
    directory: tempfile::TempDir,
    settings: Vec<String>,
    /// The port, which is a part of the name of its socket as well.
    port: u16,
    child: Option<Child>,
}

impl Server {
    /// Starts a server whose databases need not survive the machine.
    pub(crate) fn start() -> Self {
        Self::with(&["fsync=off", "full_page_writes=off"])
    }

    /// Starts a server with further settings.
    pub(crate) fn with(settings: &[&str]) -> Self {
        let mut server = Self::new(settings);
        server.run();
        server
    }

    /// Starts a server that takes connections at a free port, with TLS and the password of the role. `files` are its certificate and its
    /// key.
    pub(crate) fn with_tls(files: &[PathBuf; 2], password: &str) -> Self {
        let server = Self::new(&[
            "fsync=off",
            "ssl=on",
            "ssl_cert_file=cert.pem",
            "ssl_key_file=key.pem",
        ]);
        for (file, name) in files.iter().zip(["cert.pem", "key.pem"]) {
            let copy = server.data().join(name);
            std::fs::copy(file, &copy).unwrap();
            if is_root() {
                std::os::unix::fs::chown(copy, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        server.listening(Ipv4Addr::LOCALHOST, password)
    }

    /// Starts a server that takes connections at a free port of an address of this machine, with the password of the role.
    pub(crate) fn at(address: Ipv4Addr, password: &str) -> Self {
        Self::new(&["fsync=off"]).listening(address, password)
    }

    fn listening(mut self, address: Ipv4Addr, password: &str) -> Self {
        let server = &mut self;
        server.settings.push(format!("listen_addresses={address}"));
        let rule = "host all all 0.0.0.0/0 scram-sha-256\n";
        let rules = std::fs::OpenOptions::new()
            .append(true)
            .open(server.data().join("pg_hba.conf"));
        std::io::Write::write_all(&mut rules.unwrap(), rule.as_bytes()).unwrap();
        // This socket has the port until the server has it: both may share it as long as one does not listen.
        let holder = tokio::net::TcpSocket::new_v4().unwrap();
        holder.set_reuseaddr(true).unwrap();
        holder.bind((address, 0).into()).unwrap();
        server.port = holder.local_addr().unwrap().port();
        server.run();
        let set = format!("ALTER ROLE toolhost PASSWORD '{password}'");
        let mut psql = server.command("psql");
        let psql = psql.arg("-h").arg(server.directory.path());
        let set = psql.args(["-U", "toolhost", "-d", "postgres", "-c", &set]);
        assert!(set.output().unwrap().status.success());
        self
    }

    /// Makes the files of a server.
    fn new(settings: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let server = Self {
            settings: settings.iter().map(|one| (*one).to_owned()).collect(),
            directory,
            port: 5432,
            child: None,
        };
        if is_root() {
            std::os::unix::fs::chown(server.directory.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let mut initdb = server.command("initdb");
        initdb.args(["--username=toolhost", "--encoding=UTF8"]);
        initdb.args(["--auth-local=trust", "--auth-host=scram-sha-256"]);
        initdb.args(["--locale=C", "--no-sync", "-D"]);
        let made = initdb.arg(server.data()).output().unwrap();
        let error = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "{error}");
        server
    }

    /// Returns the port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = plain(&bin().join(program));
        self.become_nobody(&mut command);
        command
    }

    fn become_nobody(&self, command: &mut Command) {
        command.env("PGPORT", self.port.to_string());
        command.current_dir(self.directory.path());
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
    }

    /// Runs the server until [`Server::stop`], and waits until it takes connections.
    pub(crate) fn run(&mut self) {
        let mut command = plain(Path::new("sh"));
        self.become_nobody(&mut command);
        command
            .args(["-c", SCRIPT, "sh"])
            .arg(bin().join("postgres"));
        command.arg("-D").arg(self.data());
        command.arg("-k").arg(self.directory.path());
        for setting in [
            "listen_addresses=",
            "max_connections=300",
            "shared_buffers=64MB",
        ] {
            command.args(["-c", setting]);
        }
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        let log = std::fs::File::create(self.directory.path().join("log")).unwrap();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log);
        self.child = Some(command.spawn().unwrap());
        let begun = Instant::now();
        loop {
            let mut ready = self.command("pg_isready");
            ready.arg("-q").arg("-h").arg(self.directory.path());
            if ready.status().unwrap().success() {
                return;
            }
            let log = std::fs::read_to_string(self.directory.path().join("log"));
            assert!(begun.elapsed() < Duration::from_mins(5), "{log:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Stops the server. Connections are cut.
    pub(crate) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }

    /// Makes a database, and returns its address.
    pub(crate) fn database(&self) -> String {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let mut create = self.command("createdb");
        create.arg("-h").arg(self.directory.path());
        let made = create.args(["-U", "toolhost", &name]).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        format!(
            "host={} port={} user=toolhost dbname={name}",
            self.directory.path().display(),
            self.port
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Makes a database on a server that the tests of this program share, and returns its address.
pub(crate) fn database() -> String {
    static SHARED: OnceLock<Server> = OnceLock::new();
    let shared = SHARED.get_or_init(|| {
        let server = Server::start();
        until_exit::remove(server.directory.path());
        server
    });
    shared.database()
}

/// Returns how a host uses the database at an address. Its lease lasts for longer than any test: see [`expire`].
pub(crate) fn config(url: &str) -> Config {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider);
    let tls = tls.with_safe_default_protocol_versions().unwrap();
    let tls = tls.with_root_certificates(rustls::RootCertStore::empty());
    Config {
        connections: 4,
        lease: Duration::from_mins(10),
        ..Config::new(url, tls.with_no_client_auth())
    }
}

/// Connects to a database beside its hosts.
pub(crate) async fn connect(url: &str) -> tokio_postgres::Client {
    let connected = tokio_postgres::connect(url, tokio_postgres::NoTls).await;
    let (client, connection) = connected.unwrap();
    tokio::spawn(connection);
    client
}

/// Lets the lease of a host run out, as if the host had been cut off from the database.
pub(crate) async fn expire(url: &str, host: Uuid) {
    const EXPIRE: &str = "UPDATE toolhost.hosts SET until = '-infinity' WHERE id = $1";
    let expired = connect(url).await.execute(EXPIRE, &[&host]).await;
    assert_eq!(expired.unwrap(), 1);
}

#[expect(clippy::disallowed_methods, reason = "a test runs a server")]
fn plain(program: &Path) -> Command {
    Command::new(program)
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Returns whether there is a server to start.
pub(crate) fn is_installed() -> bool {
    installed().is_some()
}

fn bin() -> PathBuf {
    installed().unwrap()
}

/// Returns where the programs of the newest version are: in Debian, not in `PATH`.
fn installed() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let versions = versions.filter_map(|version| {
        let version = version.ok()?;
        let number: u32 = version.file_name().to_str()?.parse().ok()?;
        let bin = version.path().join("bin");
        bin.join("postgres").exists().then_some((number, bin))
    });
    if let Some((_, bin)) = versions.max() {
        return Some(bin);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).find(|directory| directory.join("postgres").exists())
}
