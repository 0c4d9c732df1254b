//! Ways out of the sandbox over sockets, and ways to use up the machine.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::Command;

use toolhost_needs::needs;

use super::site::{DEFAULT, Ground, OFF, PLAIN, Site};
use crate::harness::{TOKEN, is_alive};

/// Users of no other test.
const FORKER: u32 = 64_335;
const EATER: u32 = 64_336;
const FORKER_APART: u32 = 64_337;
const FORKER_OF_FEW: u32 = 64_338;

/// No network at all, and a list of hosts.
const NONE: &str = "--sandbox-network=none";
const LIST: &str = "--sandbox-network=example.com";

/// A script that connects a Unix socket to a path.
fn connect(path: &str) -> String {
    format!("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{path}\")'")
}

/// As that of Docker in `/run`.
#[needs(namespaces, program = "python3")]
#[tokio::test]
async fn no_socket_of_a_service_can_be_reached() {
    let directory = tempfile::tempdir_in("/tmp").unwrap();
    let path = directory.path().join("docker.sock");
    let _listener = UnixListener::bind(&path).unwrap();
    let path = path.to_str().unwrap();
    Site::new(OFF).works(&connect(path)).await;
    let site = Site::new(DEFAULT);
    site.fails(&connect(path), "No such file").await;
    // Nor by another way to the same file.
    let name = path.strip_prefix('/').unwrap();
    for root in ["/proc/self/root", "/proc/1/root", "/proc/@HOST/root"] {
        site.is_refused(&connect(&format!("{root}/{name}"))).await;
    }
    site.is_refused(&format!("ln -s {path} s && {}", connect("s")))
        .await;
}

/// Servers and names outside: of this machine, by IPv4 and IPv6; the metadata service of a cloud; a name server.
#[needs(namespaces, program = "python3", program = "curl")]
#[tokio::test]
async fn without_a_network_no_packet_leaves() {
    let tcp = ["127.0.0.1:0", "[::1]:0"].map(|address| TcpListener::bind(address).unwrap());
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_nonblocking(true).unwrap();
    let [v4, v6] = tcp
        .each_ref()
        .map(|listener| listener.local_addr().unwrap());
    let over = |v: &str, host: &str, port: u16| {
        format!(
            "python3 -c 'import socket; s = socket.socket(socket.{v}); s.settimeout(60); s.connect((\"{host}\", {port}))'"
        )
    };
    let port = udp.local_addr().unwrap().port();
    let send = format!(
        "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b\"secret\", (\"127.0.0.1\", {port}))'"
    );
    let local = [
        over("AF_INET", "127.0.0.1", v4.port()),
        over("AF_INET6", "::1", v6.port()),
        over("AF_INET6", "::ffff:127.0.0.1", v4.port()),
    ];
    let off = Site::new(OFF);
    for script in &local {
        off.works(script).await;
    }
    off.works(&send).await;
    assert_eq!(udp.recv(&mut [0; 16]).unwrap(), 6);
    for network in [NONE, LIST] {
        let site = Site::new(&[network]);
        for script in &local {
            site.is_refused(script).await;
        }
        for (host, port) in [("169.254.169.254", 80), ("192.0.2.1", 53), ("10.0.0.1", 22)] {
            site.fails(&over("AF_INET", host, port), "unreachable")
                .await;
        }
        site.fails("python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b\"x\", (\"192.0.2.1\", 53))'", "unreachable")
            .await;
        site.is_refused("getent hosts secret.example.com").await;
        // This goes to the loopback of the chat.
        site.run(&send).await;
        let error = udp.recv(&mut [0; 16]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "{network}");
    }
    let site = Site::new(&[LIST]);
    for url in [
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://2852039166/",
        "http://localhost/",
        "http://example.com.evil.example/",
    ] {
        let ask =
            format!("curl -sS --max-time 60 --noproxy '' -o /dev/null -w '%{{http_code}}' '{url}'");
        let status = site.works(&ask).await;
        assert!(["403", "400"].contains(&status.as_str()), "{url}: {status}");
    }
}

/// A bomb uses up the processes that the limit adds, and its chat ends it.
#[needs(root, program = "python3")]
#[tokio::test]
async fn a_fork_bomb_leaves_room_for_the_host() {
    let site = Ground::of(Some(FORKER)).serve(&["--sandbox-processes=40"]);
    let victim = site.start_in("other", "exec sleep 1000").await;
    let bomb = "python3 -c 'import os\n\
        def bomb():\n\
        \x20   while True:\n\
        \x20       try:\n\
        \x20           if os.fork() == 0: continue\n\
        \x20       except OSError:\n\
        \x20           open(\"full\", \"w\").write(\"full\\n\")\n\
        bomb()'";
    site.start_in("bomb", bomb).await;
    site.file("full").await;
    assert!(is_alive(victim) && is_alive(site.host()));
    let path = "/v1/chats/bomb";
    let ended = site.request(reqwest::Method::DELETE, path).send().await;
    assert_eq!(ended.unwrap().status(), 200);
    site.works("true").await;
    assert!(is_alive(victim));
}

/// The kernel counts the processes of each chat apart. It does not limit root.
#[needs(namespaces, program = "python3")]
#[tokio::test]
async fn a_fork_bomb_leaves_room_for_other_chats() {
    let owner = nix::unistd::geteuid().is_root().then_some(FORKER_APART);
    let site = Ground::of(owner).serve(&["--sandbox-processes=64"]);
    bombs_and_runs(&site).await;
}

/// Has a chat use all processes that it can have.
pub(super) async fn bombs(site: &Site, chat: &str) {
    let bomb = "python3 -c 'import os, time\n\
        while True:\n\
        \x20   try:\n\
        \x20       if os.fork() == 0: time.sleep(1000)\n\
        \x20   except OSError:\n\
        \x20       open(os.environ[\"CODER_CHAT_ID\"], \"w\").write(\"full\\n\")\n\
        \x20       time.sleep(1000)'";
    site.start_in(chat, bomb).await;
    site.file(chat).await;
}

/// Has one chat use all processes that it can have, and another one use forty.
async fn bombs_and_runs(site: &Site) {
    bombs(site, "bomb").await;
    let forty = "for n in $(seq 40); do sleep 1000 & done; jobs -r | wc -l; kill $(jobs -p)";
    assert_eq!(site.run_in("other", forty).await.output.trim(), "40");
}

/// A chat has at most half of the processes that the user of the host may have.
#[needs(root, namespaces, program = "python3", program = "prlimit")]
#[tokio::test]
async fn a_fork_bomb_leaves_room_where_the_user_has_few_processes() {
    let ground = Ground::of(Some(FORKER_OF_FEW));
    let command = ground.command("serve", &[]);
    let mut limited = Command::new("prlimit");
    limited.arg("--nproc=400").arg(command.get_program());
    limited
        .args(command.get_args())
        .env_clear()
        .current_dir("/");
    let set = command.get_envs();
    limited.envs(set.filter_map(|(name, value)| Some((name, value?))));
    limited.env("TOOLHOST_TOKEN", TOKEN);
    limited.uid(FORKER_OF_FEW).gid(FORKER_OF_FEW);
    let site = ground.serve_command(limited);
    bombs_and_runs(&site).await;
}

#[needs(root, program = "python3")]
#[tokio::test]
async fn memory_and_disk_are_used_up_to_their_limits() {
    let flags = ["--sandbox-memory=256MiB", "--sandbox-file-size=1MiB"];
    for owner in [None, Some(EATER)] {
        let site = Ground::of(owner).serve(&flags);
        site.fails("python3 -c 'bytearray(1 << 30)'", "MemoryError")
            .await;
        site.works("python3 -c 'bytearray(1 << 20)'").await;
        for script in [
            "head -c 2M /dev/zero > big",
            "truncate -s 2M big",
            "fallocate -l 2M big",
            "python3 -c 'import os; os.pwrite(os.open(\"big\", os.O_WRONLY | os.O_CREAT), b\"x\", 2 << 20)'",
            "ulimit -f unlimited && head -c 2M /dev/zero > big",
            "prlimit --pid $$ --fsize=unlimited && head -c 2M /dev/zero > big",
        ] {
            site.is_refused(script).await;
            let length = site.path("work/big").metadata().map_or(0, |big| big.len());
            assert!(length <= 1 << 20, "{script}: {length}");
        }
    }
}

/// A library that a command puts into a program with more rights gets none of them.
#[needs(root, program = "gcc")]
#[tokio::test]
async fn a_library_in_a_setuid_program_gets_no_rights() {
    let library = "printf '#include <unistd.h>\\n#include <stdio.h>\\n\
        __attribute__((constructor)) void f(void) { FILE *f = fopen(\"said\", \"w\"); fprintf(f, \"%%d\\\\n\", geteuid()); fclose(f); }' > l.c; \
        gcc -shared -fPIC -o l.so l.c; LD_PRELOAD=$PWD/l.so /usr/bin/passwd --help > /dev/null 2>&1 < /dev/null; cat said";
    for flags in [PLAIN, DEFAULT] {
        let site = Ground::of(Some(EATER)).serve(flags);
        let said = site.works(library).await;
        assert_eq!(said, EATER.to_string(), "{flags:?}");
    }
}
