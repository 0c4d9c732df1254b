//! Commands as clients of the server that runs them, over TCP and with a valid token.

use reqwest::Method;
use serde_json::{Value, json};
use toolhost_needs::needs;

use super::site::{DEFAULT, Ground, OFF, PLAIN, Site};
use crate::harness::TOKEN;

const READ_ONLY: &[&str] = &["--sandbox=read-only"];

/// A user of no other test.
const USER: u32 = 64_334;

/// Asks the server in the way that the first argument names, and prints the status of its answer.
const ASK: &str = r#"
import array, ctypes, os, socket, sys, threading
way, port, token = sys.argv[1], int(sys.argv[2]), sys.argv[3]
libc = ctypes.CDLL(None, use_errno=True)
question = f"GET /healthz HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n".encode()

def ask():
    if way == "own-files":
        libc.unshare(0x400)
    client = socket.socket(socket.AF_INET6 if way == "mapped" else socket.AF_INET)
    if way == "device":
        client.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
    client.connect(("::ffff:127.0.0.1" if way == "mapped" else "127.0.0.1", port))
    client.sendall(question)
    if way == "in-flight":
        own = f"{client.getsockname()[1]:04X}"
        ends = socket.socketpair()
        socket.send_fds(ends[0], [b"x"], [client.fileno()])
        client.close()
        def answered():
            rows = [line.split() for line in open("/proc/net/tcp")][1:]
            return any(row[1].endswith(":" + own) and not row[4].endswith(":00000000") for row in rows)
        while not answered():
            pass
        client = socket.socket(fileno=socket.recv_fds(ends[1], 1, 1)[1][0])
    return client.makefile().readline().split()[1]

if way == "hidden":
    libc.prctl(4, 0)
if way in ("leaderless", "own-files"):
    def work():
        print(ask(), flush=True)
        os._exit(0)
    threading.Thread(target=work).start()
    if way == "leaderless":
        libc.syscall(60, 0)
else:
    print(ask())
"#;

/// Scripts that print the status that the server at `@PORT` answers.
const WAYS: &[&str] = &[
    "curl -s -o /dev/null -w '%{http_code}' -H 'authorization: Bearer @TOKEN' http://127.0.0.1:@PORT/healthz",
    "setsid -w curl -s -o /dev/null -w '%{http_code}' http://localhost:@PORT/healthz",
    "bash -c 'exec 3<>/dev/tcp/127.0.0.1/@PORT; printf \"GET /healthz HTTP/1.1\\r\\nhost: localhost\\r\\nconnection: close\\r\\n\\r\\n\" >&3; \
     read -r version status rest <&3; echo $status'",
    "python3 ask.py plain @PORT @TOKEN",
    "python3 ask.py device @PORT @TOKEN",
    "python3 ask.py in-flight @PORT @TOKEN",
    "python3 ask.py leaderless @PORT @TOKEN",
    "python3 ask.py own-files @PORT @TOKEN",
    "python3 ask.py hidden @PORT @TOKEN",
];

fn ground(owner: Option<u32>) -> Ground {
    let ground = Ground::of(owner);
    ground.write("work/ask.py", ASK);
    ground
}

/// Replaces the port and the token in a script.
fn at(site: &Site, script: &str) -> String {
    let (_, port) = site.serving.url.rsplit_once(':').unwrap();
    script.replace("@PORT", port).replace("@TOKEN", TOKEN)
}

/// A command that does not show its descriptors, and has some on their way to another process.
const SECRETIVE: &str = "exec python3 -c 'import ctypes, socket, time; ctypes.CDLL(None).prctl(4, 0); \
    ends = socket.socketpair(); socket.send_fds(ends[0], [b\"x\"], [0]); time.sleep(1000)'";

/// Asserts that no way leads to the server, and that a client beside commands is served.
async fn refuses(site: &Site) {
    let arguments = json!({ "command": SECRETIVE, "run_in_background": true });
    let (status, body) = site.put("other", "execute", arguments).await;
    assert_eq!(status, 200, "{body}");
    for way in WAYS {
        assert_eq!(site.works(&at(site, way)).await, "403", "{way}");
        // A client of its own has a connection of its own.
        let url = format!("{}/healthz", site.serving.url);
        let answer = crate::harness::client().get(url).send().await;
        assert_eq!(answer.unwrap().status(), 200, "beside {way}");
    }
}

#[needs(program = "python3", program = "curl", program = "bash")]
#[tokio::test]
async fn no_command_is_a_client_of_its_server() {
    for flags in [OFF, PLAIN, DEFAULT, READ_ONLY] {
        refuses(&ground(None).serve(flags)).await;
    }
    let site = Site::new(DEFAULT);
    let script = at(&site, "curl -s http://127.0.0.1:@PORT/v1/tools");
    let told = site.works(&script).await;
    assert!(told.contains("urn:toolhost:problem:command"), "{told}");
}

#[needs(root, program = "python3", program = "curl", program = "bash")]
#[tokio::test]
async fn no_command_of_an_ordinary_user_is_a_client_of_its_server() {
    for flags in [OFF, PLAIN, DEFAULT] {
        refuses(&ground(Some(USER)).serve(flags)).await;
    }
}

/// The host does not look at that many, and finds its client nevertheless.
#[needs(program = "python3", program = "curl")]
#[tokio::test]
async fn a_command_with_many_open_files_keeps_no_client_away() {
    let site = ground(None).serve(PLAIN);
    let hoard = "exec python3 -c 'import os\n\
        for number in range(100):\n\
        \x20   if os.fork() == 0: break\n\
        for _ in range(600): os.dup(0)\n\
        open(f\"full{number}\", \"w\").write(\"full\\n\")\n\
        import time; time.sleep(1000)'";
    site.start_in("other", hoard).await;
    for number in 0..100 {
        site.file(&format!("full{number}")).await;
    }
    let url = format!("{}/healthz", site.serving.url);
    let answer = crate::harness::client().get(url).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let script = "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:@PORT/healthz";
    assert_eq!(site.works(&at(&site, script)).await, "403");
}

/// A server that sees clients of IPv4 with mapped addresses.
#[needs(program = "python3")]
#[tokio::test]
async fn mapped_addresses_are_those_of_commands_as_well() {
    let ground = ground(None);
    let mut command = ground.command("serve", PLAIN);
    command.env("TOOLHOST_TOKEN", TOKEN);
    let mut site = ground.serve_command_at(command, "[::]:0");
    // The address of all zeros is no name of a server.
    site.serving.url = site.serving.url.replace("[::]", "[::1]");
    for way in ["plain", "mapped"] {
        let script = format!("python3 ask.py {way} @PORT @TOKEN");
        assert_eq!(site.works(&at(&site, &script)).await, "403", "{way}");
    }
}

/// One host is a client of another like any other program.
#[needs(program = "curl")]
#[tokio::test]
async fn a_command_is_a_client_of_another_host() {
    let (site, other) = (Site::new(PLAIN), Site::new(PLAIN));
    let script = at(&other, "curl -sf http://127.0.0.1:@PORT/healthz");
    site.works(&script).await;
}

#[needs(program = "curl")]
#[tokio::test]
async fn no_command_is_a_client_of_its_agent() {
    for flags in [OFF, PLAIN, DEFAULT, READ_ONLY] {
        let ground = Ground::new();
        let mut command = ground.command("agent", flags);
        command.env("TOOLHOST_TOKEN", TOKEN);
        let site = ground.serve_command(command);
        let ask = "curl -s -o /dev/null -w '%{http_code}' -H 'authorization: Bearer @TOKEN' http://127.0.0.1:@PORT/healthz";
        let request = site.request(Method::POST, "/api/v0/processes/start");
        let request = request.json(&json!({ "command": at(&site, ask) }));
        let started: Value = request.send().await.unwrap().json().await.unwrap();
        let id = started["id"].as_str().expect("it starts");
        let path = format!("/api/v0/processes/{id}/output?wait=true");
        let output = site.request(Method::GET, &path).send().await.unwrap();
        let output: Value = output.json().await.unwrap();
        assert_eq!(output["output"], "403", "{flags:?}");
    }
}
