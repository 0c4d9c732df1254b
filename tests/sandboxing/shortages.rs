//! Machines without room: no chat gets a weaker sandbox for want of processes or descriptors, and nothing that runs is ended.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use futures_util::{StreamExt, stream};
use reqwest::Method;
use serde_json::{Value, json};
use toolhost_needs::needs;

use super::escapes::bombs;
use super::site::{Ground, Site};
use crate::harness::{TOKEN, file, until};

/// User ids without an account, one for each test: the kernel counts processes, and descriptors on their way, for each user.
const PARKED: u32 = 64_341;
const FLAPPING: u32 = 64_342;
const MANY: u32 = 64_343;
const EXHAUSTED: u32 = 64_344;
const FILLED: u32 = 64_346;
const BOMBED: u32 = 64_345;

/// Prints the namespaces of a command, and the secret of the workspace if the command can read it.
const LOOK: &str = "readlink /proc/self/ns/pid; cat keys/key 2> /dev/null; true";

/// Sends descriptors over sockets and never receives them, until the kernel takes no more or there are so many. Then it writes a file.
const PARK: &str = r#"
import array, os, socket, sys, time
most, done = int(sys.argv[1]), sys.argv[2]
fds = array.array("i", [os.open("/dev/null", os.O_RDONLY)] * 200).tobytes()
pairs, parked = [], 0
def park():
    global parked
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    one.setblocking(False)
    pairs.append((one, other))
    while parked < most:
        try:
            one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        except BlockingIOError:
            return True
        except OSError:
            return False
        parked += 200
    return False
while park():
    pass
open(done + ".new", "w").write(f"{parked}\n")
os.rename(done + ".new", done)
while True:
    time.sleep(0.01)
    if most > 1 << 20:
        # Makes room, and takes it again.
        pairs.pop()
        parked -= 200
        while park():
            pass
"#;

/// How a command ended that looked at its world.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    /// Its namespace, and the rest of its output.
    World(String, String),
    /// There was no room for it.
    Refused,
}

impl Site {
    /// Runs a command in a chat. Fails if the reply is neither that of the command nor a refusal for want of room.
    async fn look(&self, chat: &str) -> Seen {
        self.try_in(chat, json!({ "command": LOOK, "timeout": "5m" }))
            .await
            .map_or(Seen::Refused, |reply| {
                // Processes of ended chats take a moment to end, and bash waits for one that it cannot fork.
                let lines = reply["output"].as_str().unwrap_or_default().lines();
                let mut lines = lines.filter(|line| !line.starts_with("bash: fork: retry: "));
                let world = lines.next().unwrap_or_default();
                let rest = lines.collect::<String>();
                assert!(world.starts_with("pid:["), "{reply}");
                Seen::World(world.to_owned(), rest)
            })
    }

    /// Starts a command in a chat. `None`: there was no room for it.
    async fn try_in(&self, chat: &str, arguments: Value) -> Option<Value> {
        let (status, body) = self.put(chat, "execute", arguments).await;
        if status == 429 {
            assert_eq!(body["code"], "busy", "{body}");
            return None;
        }
        assert_eq!(status, 200, "{body}");
        let reply = &body["structured"];
        assert!(
            reply["output"].is_string() || reply["background_process_id"].is_string(),
            "{body}"
        );
        Some(reply.clone())
    }

    async fn check(&self, name: &str) -> Value {
        let health = self.request(Method::GET, "/v1/health").send().await;
        let health: Value = health.unwrap().json().await.unwrap();
        let mut checks = health["checks"].as_array().unwrap().iter();
        checks.find(|check| check["name"] == name).unwrap().clone()
    }
}

/// A server with a secret that commands must never reach, started by another program, which is given before its command line.
fn started_by(ground: Ground, starter: &[&str]) -> Site {
    ground.write("work/keys/key", "hunter2");
    let command = ground.command("serve", &["--sandbox-never=@WORK/keys"]);
    let mut started = wrapped(starter, &command);
    started.env("TOOLHOST_TOKEN", TOKEN);
    ground.serve_command(started)
}

/// A server that may have so many descriptors.
fn with_descriptors(most: u32) -> Site {
    started_by(Ground::new(), &["prlimit", &format!("--nofile={most}")])
}

/// As [`with_descriptors`], of another user. Needs root.
fn of_user(ground: Ground, user: u32, limit: &str) -> Site {
    let user = user.to_string();
    let starter = [
        "prlimit", limit, "setpriv", "--reuid", &user, "--regid", &user,
    ];
    started_by(ground, &[&starter[..], &["--clear-groups"]].concat())
}

/// A server that may have so many processes, its commands included, which the kernel counts apart from those of other tests: as another
/// user, or in a user namespace. It does not limit root.
fn with_processes(most: u32, user: u32) -> Site {
    let limit = format!("--nproc={most}");
    if nix::unistd::geteuid().is_root() {
        return of_user(Ground::of(Some(user)), user, &limit);
    }
    let starter = ["unshare", "--user", "--map-current-user", "prlimit", &limit];
    started_by(Ground::new(), &starter)
}

/// Returns a command line that begins with another one.
fn wrapped(starter: &[&str], command: &Command) -> Command {
    let mut line = starter.iter();
    let mut wrapped = Command::new(line.next().unwrap());
    wrapped.args(line).arg(command.get_program());
    wrapped.args(command.get_args()).env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            wrapped.env(name, value);
        }
    }
    if let Some(directory) = command.get_current_dir() {
        wrapped.current_dir(directory);
    }
    wrapped
}

fn namespace_of_tests() -> String {
    let link = std::fs::read_link("/proc/self/ns/pid").unwrap();
    link.to_str().unwrap().to_owned()
}

/// How many chats there are, from a variable.
fn chats() -> usize {
    let chats = std::env::var("TOOLHOST_TEST_CHATS");
    chats.map_or(250, |chats| chats.parse().unwrap())
}

/// Runs a command in each of many chats, several at a time. Each runs in a world of its own or is refused.
async fn many_chats(site: &Site) {
    let all = stream::iter(0..chats()).map(|number| async move {
        let chat = format!("c{number}");
        site.look(&chat).await
    });
    let seen: Vec<_> = all.buffer_unordered(4).collect().await;
    let host = namespace_of_tests();
    let mut refused = 0;
    for seen in &seen {
        match seen {
            Seen::World(world, rest) => {
                assert_ne!(*world, host);
                assert_eq!(rest, "");
            }
            Seen::Refused => refused += 1,
        }
    }
    println!("{refused} of {} commands were refused", seen.len());
    assert!(refused < seen.len() / 2, "{refused} of {}", seen.len());
    assert!(matches!(site.look("c0").await, Seen::World(..)));
}

#[needs(namespaces, program = "prlimit")]
#[tokio::test]
async fn many_chats_run_with_few_descriptors() {
    let site = with_descriptors(1024);
    many_chats(&site).await;
}

#[needs(namespaces, program = "unshare", program = "prlimit")]
#[tokio::test]
async fn many_chats_run_with_few_processes() {
    let site = with_processes(256, MANY);
    many_chats(&site).await;
}

/// Starts so many processes where the kernel counts those of a server, and no limit holds for them. They end with the returned process.
fn fill(server: u32, user: u32, count: usize) -> std::process::Child {
    let mut command = if nix::unistd::geteuid().is_root() {
        let user = user.to_string();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
        command
    } else {
        let mut command = Command::new("nsenter");
        command.arg(format!("--user=/proc/{server}/ns/user"));
        command.arg("--preserve-credentials");
        command
    };
    let script = format!("for n in $(seq {count}); do cat <&3 & done; echo there; exec cat <&3");
    // They end with the pipe.
    command.args(["sh", "-c", &format!("exec 3<&0; {script}")]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut filled = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(filled.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "there\n");
    filled
}

/// Others take all processes that the user may have. What the server does itself goes on with the threads that it has.
#[needs(
    namespaces,
    program = "unshare",
    program = "prlimit",
    program = "nsenter"
)]
#[tokio::test]
async fn a_server_goes_on_while_it_can_start_no_thread() {
    let site = with_processes(128, FILLED);
    let mut filled = fill(site.host(), FILLED, 128);
    let get = async |path: &str| {
        let answer = site.request(Method::GET, path).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let paths = [
        "/v1/chats/a/files/file",
        "/v1/chats",
        "/v1/health",
        "/v1/audit",
    ];
    // More at once than there are threads that wait for work.
    let all = stream::iter((0..10).flat_map(|_| paths))
        .map(|path| async move { (path, get(path).await) });
    let answers: Vec<_> = all.buffer_unordered(40).collect().await;
    for (path, (status, body)) in answers {
        assert_eq!(status, 200, "{path}: {body}");
    }
    assert_eq!(site.look("a").await, Seen::Refused);
    filled.kill().unwrap();
    filled.wait().unwrap();
    // Processes of the commands that could not start take a moment to end.
    while site.look("a").await == Seen::Refused {
        crate::harness::a_moment().await;
    }
}

/// A start that gets only some of its threads ends with an error. Each of these limits lets it come further.
#[needs(namespaces, program = "unshare", program = "prlimit")]
#[tokio::test]
async fn a_start_without_room_for_its_threads_is_an_error() {
    let mut has_served = false;
    for most in [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 40] {
        let ground = Ground::new();
        let command = ground.command("serve", &[]);
        let limit = format!("--nproc={most}");
        let starter = ["unshare", "--user", "--map-current-user", "prlimit", &limit];
        let mut command = wrapped(&starter, &command);
        let log = ground.path("log");
        command.args(["--listen", "127.0.0.1:0"]);
        command.stderr(std::fs::File::create(&log).unwrap());
        let mut child = command.spawn().unwrap();
        let said = || std::fs::read_to_string(&log).unwrap();
        let what = format!("it starts or ends with {most} processes");
        let ended = until(&what, || {
            let ended = child.try_wait().unwrap();
            if ended.is_none() && said().contains("listening on ") {
                return Some(None);
            }
            ended.map(Some)
        });
        match ended.await {
            None => {
                has_served = true;
                child.kill().unwrap();
                child.wait().unwrap();
            }
            Some(status) => {
                assert!(!status.success());
                assert!(!said().contains("panicked"), "{most}: {}", said());
            }
        }
    }
    assert!(has_served);
}

/// Starts commands that stay in new chats until there is no room for more, and makes room again.
async fn exhaust(site: &Site) {
    let stay = || json!({ "command": "exec sleep 1000", "run_in_background": true });
    let mut chats = Vec::new();
    let refused = loop {
        let chat = format!("stays-{}", chats.len());
        assert!(chats.len() < 1000, "there is no end of room");
        match site.try_in(&chat, stay()).await {
            Some(_) => chats.push(chat),
            None => break chat,
        }
    };
    let check = site.check("room").await;
    assert_eq!(check["status"], "warning", "{check}");
    // The trail is written by a thread of its own.
    let line = until("the refusal is in the audit trail", || {
        let audit = std::fs::read_to_string(site.path("state/audit/audit.jsonl")).unwrap();
        let mut lines = audit.lines();
        let line = lines.find(|line| line.contains("process_refused"));
        line.map(str::to_owned)
    });
    let line = line.await;
    assert!(line.contains(&refused), "{line}");
    // The store, the files and new connections still work.
    let listed = site.request(Method::GET, "/v1/chats").send().await.unwrap();
    assert_eq!(listed.status(), 200);
    for chat in chats.split_off(chats.len() / 2) {
        let path = format!("/v1/chats/{chat}");
        let ended = site.request(Method::DELETE, &path).send().await.unwrap();
        assert_eq!(ended.status(), 200);
    }
    let host = namespace_of_tests();
    for chat in [refused.as_str(), "new", "other"]
        .into_iter()
        .chain(chats.iter().map(String::as_str))
    {
        let Seen::World(world, rest) = site.look(chat).await else {
            panic!("{chat} is refused");
        };
        assert_ne!(world, host, "{chat}");
        assert_eq!(rest, "", "{chat}");
    }
}

#[needs(namespaces, program = "prlimit")]
#[tokio::test]
async fn no_chat_stays_broken_after_a_shortage_of_descriptors() {
    exhaust(&with_descriptors(192)).await;
}

#[needs(namespaces, program = "unshare", program = "prlimit")]
#[tokio::test]
async fn no_chat_stays_broken_after_a_shortage_of_processes() {
    exhaust(&with_processes(128, EXHAUSTED)).await;
}

/// Two chats can use all that the host leaves to commands. Others are refused until one of these ends, and the host goes on.
#[needs(
    namespaces,
    program = "unshare",
    program = "prlimit",
    program = "python3"
)]
#[tokio::test]
async fn two_fork_bombs_leave_the_host_what_it_needs() {
    let site = with_processes(256, BOMBED);
    for chat in ["one", "two"] {
        bombs(&site, chat).await;
    }
    let listed = site.request(Method::GET, "/v1/chats").send().await.unwrap();
    assert_eq!(listed.status(), 200);
    assert_eq!(site.look("other").await, Seen::Refused);
    let ended = site.request(Method::DELETE, "/v1/chats/one").send().await;
    assert_eq!(ended.unwrap().status(), 200);
    assert!(matches!(site.look("other").await, Seen::World(..)));
}

/// Runs a program as the user of a server.
fn as_user(user: u32, script: &Path, arguments: &[&str]) -> std::process::Child {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new("/usr/bin/env");
    command.args(["python3"]).arg(script).args(arguments);
    command
        .uid(user)
        .gid(user)
        .stdin(Stdio::null())
        .current_dir("/");
    command.spawn().unwrap()
}

/// The kernel refuses to send descriptors for the user of the host: each start needs that. Nothing else of the host does.
#[needs(root, namespaces, program = "python3", program = "setpriv")]
#[tokio::test]
async fn descriptors_on_their_way_end_nothing() {
    let ground = Ground::of(Some(PARKED));
    ground.write("park.py", PARK);
    let site = of_user(ground, PARKED, "--nofile=512");
    let victims = [
        site.start_in("one", "exec sleep 1000").await,
        site.start_in("two", "exec sleep 1000").await,
    ];
    let spawner = site.spawner();
    let done = site.path("work/parked");
    let script = site.path("park.py");
    let mut parking = as_user(PARKED, &script, &["4000", done.to_str().unwrap()]);
    file(&done).await;
    for chat in ["one", "new"] {
        assert_eq!(site.look(chat).await, Seen::Refused, "{chat}");
    }
    parking.kill().unwrap();
    parking.wait().unwrap();
    assert_eq!(site.spawner(), spawner);
    let live = site.request(Method::GET, "/v1/processes").send().await;
    let live: Value = live.unwrap().json().await.unwrap();
    assert_eq!(
        live.to_string().matches("\"running\"").count(),
        victims.len(),
        "{live}"
    );
    for chat in ["one", "two", "new"] {
        let Seen::World(world, rest) = site.look(chat).await else {
            panic!("{chat} is refused");
        };
        assert_ne!(world, namespace_of_tests());
        assert_eq!(rest, "");
    }
}

/// A command brings as many descriptors on their way as it may, and makes and takes room again and again.
#[needs(root, namespaces, program = "python3", program = "setpriv")]
#[tokio::test]
async fn a_command_cannot_take_the_descriptors_of_the_host() {
    let ground = Ground::of(Some(FLAPPING));
    ground.write("work/park.py", PARK);
    let site = of_user(ground, FLAPPING, "--nofile=2048");
    let victim = site.start_in("victim", "exec sleep 1000").await;
    let spawner = site.spawner();
    let attack = "ulimit -Sn $(ulimit -Hn); exec python3 park.py 9999999 parked";
    site.start_in("attacker", attack).await;
    site.file("parked").await;
    for number in 0..10 {
        let Seen::World(world, rest) = site.look(&format!("n{number}")).await else {
            panic!("a command is refused");
        };
        assert_ne!(world, namespace_of_tests());
        assert_eq!(rest, "");
    }
    assert_eq!(site.spawner(), spawner);
    let seen = site
        .run_in("victim", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
        .await;
    assert!(seen.output.contains("sleep 1000"), "{victim}: {seen:?}");
}

/// Runs a command as root of a new user namespace, where a script starts it.
fn in_user_namespace(script: &str, command: &Command) -> std::process::Output {
    let starter = [
        "unshare",
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        script,
        "sh",
    ];
    wrapped(&starter, command).output().unwrap()
}

/// Starts a server that is in a mount namespace of its own, in a user namespace that may have `most` of them.
fn start_with_namespaces(most: u32, flags: &[&str]) -> std::process::Output {
    let ground = Ground::new();
    let command = ground.command("sandbox", &[&["explain"], flags].concat());
    let limit =
        format!("echo {most} > /proc/sys/user/max_mnt_namespaces && exec unshare --mount \"$@\"");
    in_user_namespace(&limit, &command)
}

/// A shortage at the start says nothing about what the machine supports.
#[needs(namespaces, program = "unshare")]
#[test]
fn nothing_starts_without_namespaces_for_want_of_room() {
    let output = start_with_namespaces(1, &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("no namespaces or mounts are left"), "{said}");
    // The operator can do without.
    assert!(
        start_with_namespaces(1, &["--sandbox-no-namespaces"])
            .status
            .success()
    );
    // The kernel takes a moment to give one back.
    assert!(start_with_namespaces(8, &[]).status.success());
}

/// An operator who forbids namespaces hears what commands see without them.
#[needs(namespaces, program = "unshare")]
#[test]
fn a_start_says_that_namespaces_are_forbidden() {
    let ground = Ground::new();
    let command = ground.command("call", &["execute", r#"{"command":"echo hello"}"#]);
    let forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let output = in_user_namespace(forbid, &command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let warned = said.matches("commands have no namespaces of their own here");
    assert_eq!(warned.count(), 1, "{said}");
}

/// Limits are lowered on the way to a command, and not those of the host.
#[needs(namespaces, program = "prlimit")]
#[tokio::test]
async fn commands_get_less_than_the_host_keeps() {
    let site = with_descriptors(1024);
    assert_eq!(site.works("ulimit -Hn; ulimit -Sn").await, "512\n512");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", site.spawner())).unwrap();
    let mut lines = limits.lines();
    let line = lines.find(|line| line.starts_with("Max open files"));
    let numbers: Vec<_> = line.unwrap().split_whitespace().skip(3).take(2).collect();
    assert_eq!(numbers, ["1024", "1024"]);
}
