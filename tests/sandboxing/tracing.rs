//! Processes that commands try to trace: between their start and the moment in which they close themselves, and after it.

use std::collections::BTreeMap;

use reqwest::Method;
use rustix::process::{Pid, Resource, Rlimit};
use serde_json::json;
use toolhost_needs::needs;

use super::site::{Ground, OFF, PLAIN, Site, command_line, tracing_is_open};
use crate::guest::guest;
use crate::harness::{is_alive, until};

/// Tries to trace each child of a process, as soon as it is there and again and again, and says for each how that ended.
const TRACE: &str = r#"
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
parent = sys.argv[1]
told = {}
def tell(pid, text):
    if told.get(pid) != text:
        told[pid] = text
        with open("told", "a") as file: file.write(f"{pid} {text}\n")
def is_child(pid):
    try:
        stat = open(f"/proc/{pid}/stat").read()
    except OSError:
        return False
    return stat.rsplit(") ", 1)[1].split(" ")[1] == parent
open("ready", "w").write("x\n")
while True:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if told.get(pid) == "traced" or not is_child(pid): continue
        if libc.ptrace(SEIZE, int(pid), 0, 0) == 0:
            tell(pid, "traced")
            # A traced process would stop at its next signal.
            libc.ptrace(INTERRUPT, int(pid), 0, 0)
            os.waitpid(int(pid), 0x40000000)
            libc.ptrace(DETACH, int(pid), 0, 0)
        else:
            tell(pid, os.strerror(ctypes.get_errno()))
"#;

/// What the script said, by process. It says nothing twice in a row.
fn told(site: &Site) -> BTreeMap<u32, Vec<String>> {
    let text = std::fs::read_to_string(site.path("work/told")).unwrap_or_default();
    let mut told: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let lines = text
        .split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'));
    for (pid, text) in lines.filter_map(|line| line.split_once(' ')) {
        told.entry(pid.parse().unwrap())
            .or_default()
            .push(text.to_owned());
    }
    told
}

/// Starts the script, which begins with the established children of the host.
async fn trace(site: &Site) {
    std::fs::write(site.path("work/trace.py"), TRACE).unwrap();
    site.start_in("tracer", "exec python3 trace.py @HOST").await;
    site.file("ready").await;
}

/// Makes the host replace its spawner, which may open nothing any more, and returns the new one.
async fn next_spawner(site: &Site) -> u32 {
    let before = site.spawner();
    let limit = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let pid = Pid::from_raw(before.cast_signed());
    rustix::process::prlimit(pid, Resource::Nofile, limit).unwrap();
    let is_new = |pid: &u32| *pid != before && command_line(*pid) == b"toolhost\0spawner\0";
    // The supervisors that it has forked before still work. The host notices when all of them are busy.
    loop {
        let chat = format!("busy-{before}");
        site.start_in(&chat, "exec sleep 60").await;
        let children = super::site::children(site.host());
        if let Some(next) = children.into_iter().find(is_new) {
            return next;
        }
    }
}

/// Returns whether a command without a sandbox can trace the host's children for sure. An ordinary user has to be quicker than
/// the child that closes itself.
fn can_trace_all() -> bool {
    tracing_is_open() && nix::unistd::geteuid().is_root()
}

#[needs(program = "python3")]
#[tokio::test]
async fn no_spawner_can_be_traced_at_any_moment() {
    if can_trace_all() {
        let off = Site::new(OFF);
        trace(&off).await;
        while !told(&off).values().flatten().any(|text| text == "traced") {
            next_spawner(&off).await;
        }
    }
    let site = Site::new(PLAIN);
    trace(&site).await;
    for _ in 0..3 {
        let spawner = next_spawner(&site).await;
        until("the script has tried it", || told(&site).remove(&spawner)).await;
    }
    all_refused(&site);
}

fn all_refused(site: &Site) {
    for (pid, said) in told(site) {
        let is_refused =
            |text: &String| text == "Operation not permitted" || text == "No such process";
        assert!(said.iter().all(is_refused), "{pid}: {said:?}");
    }
}

/// Loads a plugin anew, whose code is in no cache, until the script has met its compiler.
async fn compiles(site: &Site, meets: impl Fn(&Site) -> bool) {
    while !meets(site) {
        for cache in ["state/cache", "home/.cache/toolhost/cache"] {
            for entry in std::fs::read_dir(site.path(cache)).unwrap() {
                std::fs::remove_file(entry.unwrap().path()).unwrap();
            }
        }
        let path = "/v1/plugins/p/reload";
        let response = site.request(Method::POST, path).send().await.unwrap();
        assert_eq!(response.status(), 200, "{:?}", response.text().await);
    }
}

/// A server with a plugin that it can load again.
fn with_plugin(flags: &[&str]) -> Site {
    let ground = Ground::new();
    let component = ground.path("plugin.wasm");
    std::fs::write(&component, guest("well_behaved")).unwrap();
    let text = format!("[plugins.p]\ncomponent = '{}'\n", component.display());
    ground.write("config/toolhost.toml", &text);
    let mut command = ground.command("serve", flags);
    command.env("TOOLHOST_TOKEN", crate::harness::TOKEN);
    let configuration = ground.path("config/toolhost.toml");
    command.arg("--config").arg(configuration);
    ground.serve_command(command)
}

#[needs(program = "python3")]
#[tokio::test]
async fn no_compiler_can_be_traced_at_any_moment() {
    let others = |site: &Site, spawner: u32| {
        let mut told = told(site);
        told.remove(&spawner);
        told
    };
    if can_trace_all() {
        let off = with_plugin(OFF);
        trace(&off).await;
        let spawner = off.spawner();
        compiles(&off, |site| {
            let mut said = others(site, spawner).into_values().flatten();
            said.any(|text| text == "traced")
        })
        .await;
    }
    let site = with_plugin(PLAIN);
    trace(&site).await;
    let spawner = site.spawner();
    compiles(&site, |site| others(site, spawner).len() >= 3).await;
    all_refused(&site);
}

/// Turns the exit code 1 of a child of a process into 0.
const TURN: &str = r#"
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
SEIZE, INTERRUPT, SYSCALL, GETREGS, SETREGS, DETACH = 0x4206, 0x4207, 24, 12, 13, 17
EXIT, EXIT_GROUP, FIRST_ARGUMENT, NUMBER = 60, 231, 14, 15
pid = int(open("hook").read())
if libc.ptrace(SEIZE, pid, 0, 0) != 0:
    print(os.strerror(ctypes.get_errno()), file=open("told", "w"), flush=True)
    sys.exit()
libc.ptrace(INTERRUPT, pid, 0, 0)
os.waitpid(pid, 0x40000000)
libc.ptrace(SYSCALL, pid, 0, 0)
print("traced", file=open("told", "w"), flush=True)
while True:
    os.waitpid(pid, 0x40000000)
    registers = (ctypes.c_ulonglong * 27)()
    libc.ptrace(GETREGS, pid, 0, ctypes.addressof(registers))
    if registers[NUMBER] in (EXIT, EXIT_GROUP):
        registers[FIRST_ARGUMENT] = 0
        libc.ptrace(SETREGS, pid, 0, ctypes.addressof(registers))
        libc.ptrace(DETACH, pid, 0, 0)
        break
    libc.ptrace(SYSCALL, pid, 0, 0)
"#;

/// Approves all but one call, and refuses that when it is told to.
const HOOK: &str = r#"#!/bin/sh
read -r question
case $question in *forbidden*) ;; *) exit 0;; esac
echo $$ > 'DIRECTORY/pid'
read x < 'DIRECTORY/go'
exit 1
"#;

/// Has a command try to turn the hook's answer, and returns what it said, and whether the refused call ran.
async fn turned(flags: &[&str]) -> (String, bool) {
    let ground = Ground::new();
    let directory = ground.path("hook");
    ground.write(
        "hook/hook",
        &HOOK.replace("DIRECTORY", directory.to_str().unwrap()),
    );
    ground.write("work/turn.py", TURN);
    nix::unistd::mkfifo(&directory.join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let hook = directory.join("hook").to_str().unwrap().to_owned();
    let mut command = ground.command("serve", flags);
    command.env("TOOLHOST_TOKEN", crate::harness::TOKEN).args([
        "--approval-command",
        "sh",
        "--approval-command",
        &hook,
    ]);
    let site = ground.serve_command(command);
    // Approved, and goes on in the background.
    let script = "mkfifo go; echo x > ready; read x < go; exec python3 turn.py";
    site.start_in("tracer", script).await;
    site.file("ready").await;
    let forbidden = site.put(
        "a",
        "execute",
        json!({ "command": "echo forbidden > forbidden" }),
    );
    let attack = async {
        let pid = crate::harness::file(&directory.join("pid")).await;
        assert!(is_alive(pid.trim().parse().unwrap()));
        std::fs::write(site.path("work/hook"), pid).unwrap();
        let go = async |path| {
            tokio::task::spawn_blocking(move || std::fs::write(path, "x\n").unwrap())
                .await
                .unwrap();
        };
        go(site.path("work/go")).await;
        let said = site.file("told").await;
        go(directory.join("go")).await;
        said.trim().to_owned()
    };
    let ((_, body), said) = tokio::join!(forbidden, attack);
    let ran = site.path("work/forbidden").exists();
    assert_eq!(body["is_error"], !ran, "{body}");
    (said, ran)
}

/// A command that was approved could turn the answers to all calls after it.
#[cfg(target_arch = "x86_64")]
#[needs(program = "python3")]
#[tokio::test]
async fn the_answer_of_the_approval_hook_cannot_be_turned() {
    if tracing_is_open() {
        assert_eq!(turned(OFF).await, ("traced".to_owned(), true));
    }
    let refused = "Operation not permitted".to_owned();
    assert_eq!(turned(PLAIN).await, (refused, false));
}

/// A debugger shows what is its own and nothing else.
#[needs(program = "python3")]
#[tokio::test]
async fn a_command_traces_only_its_own() {
    let script = |target: &str| {
        format!(
            "sleep 1000 & python3 -c 'import ctypes, sys; libc = ctypes.CDLL(None, use_errno=True); \
             sys.exit(ctypes.get_errno() if libc.ptrace(0x4206, int(sys.argv[1]), 0, 0) else 0)' {target} || \
             {{ echo refused; exit 1; }}"
        )
    };
    let site = Site::new(PLAIN);
    site.works(&script("$!")).await;
    for target in ["@HOST", "@SPAWNER", "1"] {
        site.fails(&script(target), "refused").await;
    }
}
