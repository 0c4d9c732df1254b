//! The namespaces of a chat: the files and the network in them, beyond the rules of Landlock and seccomp.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use toolhost_needs::needs;

use toolhost_sandbox::Policy;

use super::site::{DEFAULT, Ground, OFF, PLAIN, SECRET, Site, children};
use crate::harness::serving::Serving;
use crate::harness::{is_alive, until};

/// Prints the arguments of all processes that a command sees.
const ALL: &str = "cat /proc/[0-9]*/cmdline 2> /dev/null | tr '\\0' ' '";

#[needs(namespaces)]
#[tokio::test]
async fn a_command_sees_the_processes_of_its_chat_alone() {
    let sees = |site: Site| async move {
        // The shell stays, and has the text among its arguments. A process that becomes another program has none for a moment.
        let own = site.start_in("a", "sleep 1111111; true").await;
        let other = site.start_in("other", "sleep 2222222; true").await;
        let seen = site.works(ALL).await;
        assert!(seen.contains("sleep 1111111"), "{own}: {seen}");
        (seen.contains("sleep 2222222"), other)
    };
    assert!(sees(Site::new(PLAIN)).await.0);
    assert!(!sees(Site::new(DEFAULT)).await.0);
}

#[needs(namespaces)]
#[tokio::test]
async fn temporary_files_and_memory_are_those_of_the_chat() {
    let site = Site::new(DEFAULT);
    let name = format!("toolhost-{}", site.host());
    for directory in ["/tmp", "/var/tmp", "/dev/shm", "$TMPDIR"] {
        let file = format!("{directory}/{name}");
        site.works(&format!("echo own > {file} && test -s {file}"))
            .await;
        site.works(&format!("rm {file}")).await;
        site.works(&format!("echo own > {file}")).await;
        let other = site.run_in("other", &format!("cat {file}")).await;
        assert_ne!(other.code, Some(0), "{other:?}");
    }
    for directory in ["/tmp", "/var/tmp", "/dev/shm"] {
        assert!(!std::path::Path::new(directory).join(&name).exists());
    }
    // A later command of the chat has the same.
    site.works(&format!("cat /tmp/{name} $TMPDIR/{name}")).await;
}

#[needs(namespaces, program = "ipcmk")]
#[tokio::test]
async fn segments_of_memory_are_those_of_the_chat() {
    let listed = |site: Site| async move {
        site.works("ipcmk --shmem 4096").await;
        let listed = site.run_in("other", "ipcs --shmems | grep -c 4096").await;
        site.works("ipcrm --all=shm").await;
        listed.output.trim() != "0"
    };
    assert!(!listed(Site::new(DEFAULT)).await);
}

/// Where a command may write, Landlock takes nothing away.
#[needs(namespaces)]
#[tokio::test]
async fn secrets_in_the_workspace_are_empty() {
    let ground = || Ground::new();
    let serve = |ground: Ground, flags: &[&str]| {
        let mut command = ground.command_in("home", "serve", flags);
        command.env("TOOLHOST_TOKEN", crate::harness::TOKEN);
        command.arg("--workspace-anyway");
        ground.serve_command(command)
    };
    let plain = serve(ground(), PLAIN);
    assert_eq!(
        plain.works("cat .ssh/id .netrc").await,
        [SECRET; 2].concat()
    );
    // A sandbox that holds all of its policy can be required.
    let site = serve(ground(), &["--sandbox-required"]);
    site.works("echo x > new; ls -a .ssh .aws").await;
    for script in [
        "cat .ssh/id",
        "echo x > .ssh/id",
        "echo x > .ssh/new",
        "mv .ssh other",
        "rm -r .ssh",
        "grep . .netrc",
        "mv .netrc other",
        "rm .netrc",
        "ln .netrc other",
        "umount .ssh",
        "cat ../state/cache.key",
    ] {
        site.is_refused(script).await;
    }
    let left = std::fs::read_to_string(site.path("home/.ssh/id"));
    assert_eq!(left.unwrap(), SECRET);
}

#[needs(namespaces, program = "git")]
#[tokio::test]
async fn protected_paths_stay_as_they_are() {
    let prepare = |flags: &[&str]| {
        let ground = Ground::new();
        for name in [
            "work/.git/hooks/pre-commit",
            "work/.envrc",
            "work/.vscode/tasks.json",
        ] {
            ground.write(name, "");
        }
        ground.write("work/.git/config", "[core]\n");
        ground.write("work/.git/HEAD", "ref: refs/heads/main\n");
        std::fs::create_dir_all(ground.path("work/.git/objects")).unwrap();
        std::fs::create_dir_all(ground.path("work/.git/refs")).unwrap();
        ground.serve(flags)
    };
    let changes = [
        "echo x > .git/hooks/post-commit",
        "echo x >> .git/hooks/pre-commit",
        "chmod +x .git/hooks/pre-commit",
        "git config alias.x '!sh'",
        "rm .git/hooks/pre-commit",
        "mv .git/hooks other",
        "mv .git other",
        "echo x > .envrc",
        "rm .envrc",
        "mv new .envrc",
        "rm -r .vscode",
    ];
    let open = prepare(DEFAULT);
    for script in ["echo x > .git/hooks/post-commit", "mv .git other"] {
        open.works(script).await;
    }
    let flags = Policy::PROTECTED.map(|path| format!("--sandbox-protect={path}"));
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    let site = prepare(&flags);
    site.works("echo x > new; git add new; git commit -qm one; git log")
        .await;
    for script in changes {
        site.is_refused(script).await;
    }
    // One that is not there can be made.
    site.works("mkdir .idea").await;
}

/// `toolhost call` runs in the workspace of a person.
#[needs(namespaces)]
#[test]
fn a_call_protects_the_workspace_unless_told_otherwise() {
    let ground = Ground::new();
    ground.write("work/.envrc", "");
    let code = |flags: &[&str]| {
        let mut command = ground.command("call", flags);
        command.args(["execute", r#"{"command":"echo x > .envrc"}"#]);
        command.output().unwrap().status.code()
    };
    assert_eq!(code(&[]), Some(1));
    assert_eq!(code(&["--sandbox-protect=none"]), Some(0));
    // A configuration, which is elsewhere, means the same.
    let configured = |paths: &str| {
        let text = format!("[sandbox]\nprotect = [{paths:?}]\n");
        ground.write("outside/toolhost.toml", &text);
        let path = ground.path("outside/toolhost.toml");
        code(&[&format!("--config={}", path.display())])
    };
    assert_eq!(configured(".envrc"), Some(1));
    assert_eq!(configured("none"), Some(0));
    let mut check = ground.command("config", &[]);
    check
        .args(["check"])
        .arg(ground.path("outside/toolhost.toml"));
    let checked = check.output().unwrap();
    assert!(checked.status.success(), "{checked:?}");
}

/// Landlock does not know modes, owners and times.
#[needs(namespaces)]
#[tokio::test]
async fn files_outside_keep_their_modes_and_times() {
    let changes = [
        "chmod 600 @OUTSIDE/secret",
        "touch -d 2001-01-01 @OUTSIDE/secret",
        "chown $(id -u) @OUTSIDE/secret",
    ];
    let plain = Site::new(PLAIN);
    for script in changes {
        plain.works(script).await;
    }
    let site = Site::new(DEFAULT);
    let before = site.path("outside/secret").metadata().unwrap();
    for script in changes {
        site.is_refused(script).await;
    }
    let after = site.path("outside/secret").metadata().unwrap();
    assert_eq!(after.mtime(), before.mtime());
    assert_eq!(after.permissions().mode(), before.permissions().mode());
    site.works("chmod 600 file; touch -d 2001-01-01 file").await;
}

/// A command reaches its own servers, and no others.
#[needs(namespaces, program = "python3", program = "curl")]
#[tokio::test]
async fn no_network_has_a_loopback_of_its_own() {
    let site = Site::new(&["--sandbox-network=none"]);
    let url = site.serving.url.clone();
    site.is_refused(&format!("curl -sS --max-time 60 {url}/"))
        .await;
    site.works("python3 -m http.server 8123 --bind 127.0.0.1 & while ! curl -sf http://127.0.0.1:8123/file; do :; done; kill $!")
        .await;
    // Also from one command to a later one.
    site.start_in("a", "exec python3 -m http.server 8124 --bind 127.0.0.1")
        .await;
    site.works("while ! curl -sf http://127.0.0.1:8124/file; do :; done")
        .await;
    let other = site
        .run_in("other", "curl -sS http://127.0.0.1:8124/file")
        .await;
    assert_ne!(other.code, Some(0), "{other:?}");
}

/// A proxy is the only way out. What it allows and how it refuses is tested beside it, in `host/egress`.
#[needs(namespaces, program = "curl", program = "python3")]
#[tokio::test]
async fn a_list_of_hosts_is_all_that_is_reached() {
    let (listed, other) = (Site::new(OFF).serving, Site::new(OFF).serving);
    let address = |serving: &Serving| serving.url.strip_prefix("http://").unwrap().to_owned();
    let network = format!("--sandbox-network=example.com,{}", address(&listed));
    let site = Site::new(&["--sandbox-required", &network]);
    // Clients go to the loopback without a proxy.
    let through = "curl -sS --max-time 60 --noproxy ''";
    let status = format!(
        "{through} -o /dev/null -w '%{{http_code}}' {}/v1/tools",
        listed.url
    );
    // Of several processes of a chat, the audit trail cannot say which one was refused.
    assert_eq!(site.run_in("b", &status).await.output, "401");
    // A command can be refused before its host knows the process that runs it, so this one waits.
    let waits = "until [ -e go ]; do sleep 0.05; done";
    let refused = format!(
        "{waits}; {through} {}/ > denied.new; echo >> denied.new; mv denied.new denied",
        other.url
    );
    site.start_in("a", &refused).await;
    std::fs::write(site.path("work/go"), "").unwrap();
    let denied = site.file("denied").await;
    assert!(denied.contains("commands may not reach"), "{denied}");
    assert!(denied.contains(&address(&other)), "{denied}");
    // Its refusal is in the audit trail.
    let audited = || {
        let text = std::fs::read_to_string(site.path("state/audit/audit.jsonl")).ok()?;
        let mut lines = text.lines().filter(|line| line.contains("command_denied"));
        let line = lines.find(|line| line.contains("\"certain\":true"))?;
        serde_json::from_str::<serde_json::Value>(line).ok()
    };
    let line = until("the refusal is in the audit trail", audited).await;
    assert_eq!(line["chat"], "a", "{line}");
    assert!(line["process"].is_string(), "{line}");
    let said = format!(
        "commands may not reach {}: it is not in the list of hosts (sandbox_network)",
        address(&other)
    );
    assert_eq!(line["denied"], serde_json::json!([said]), "{line}");
    for direct in [&listed.url, &site.serving.url] {
        site.is_refused(&format!("curl -sS --max-time 60 --noproxy '*' {direct}/"))
            .await;
    }
    site.is_refused("getent hosts example.com").await;
    // A server of the chat is reached at each of its addresses.
    site.start_in("a", "exec python3 -m http.server 8125 --bind ::")
        .await;
    site.works("until curl -sf http://127.0.0.1:8125/file; do :; done")
        .await;
    for host in [
        "localhost",
        "0.0.0.0",
        "127.0.0.2",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "$(hostname)",
    ] {
        site.works(&format!(
            "curl -sS --max-time 60 --fail http://{host}:8125/file"
        ))
        .await;
    }
    // It is the proxy of its chat alone.
    let port = site.works("echo ${HTTP_PROXY##*:}").await;
    let elsewhere = std::net::TcpStream::connect(format!("127.0.0.1:{port}"));
    assert!(elsewhere.is_err());
}

#[needs(namespaces)]
#[tokio::test]
async fn sockets_of_services_are_absent() {
    let site = Site::new(DEFAULT);
    assert_eq!(site.works("ls -A /run 2> /dev/null | wc -l").await, "0");
    site.is_refused("ls /run/user").await;
    site.is_refused("echo x > /run/new").await;
}

/// The first processes of the namespaces of chats: children of the spawner, beside the supervisors that wait for a command.
pub(super) fn of_chats(spawner: u32) -> Vec<u32> {
    let is_first = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        // Its id here and in a namespace of its own, which has no other first process.
        ids.is_some_and(|ids| ids.split_whitespace().next_back() == Some("1"))
    };
    let mut all = children(spawner);
    all.retain(is_first);
    all
}

fn of_chat(site: &Site) -> u32 {
    let all = of_chats(site.spawner());
    assert_eq!(all.len(), 1, "{all:?}");
    *all.first().unwrap()
}

/// A supervisor loads it for its first command, and later ones inherit it.
#[needs(namespaces)]
#[tokio::test]
async fn each_command_has_one_filter_of_system_calls() {
    let filters = |status: &str| {
        let line = |line: &str| {
            line.strip_prefix("Seccomp_filters:")?
                .trim()
                .parse::<u32>()
                .ok()
        };
        status.lines().find_map(line)
    };
    let own = filters(&std::fs::read_to_string("/proc/self/status").unwrap());
    let site = Site::new(DEFAULT);
    for _ in 0..3 {
        let status = site.works("cat /proc/self/status").await;
        assert_eq!(filters(&status), own.map(|own| own + 1));
        site.is_refused("unshare -Ur true").await;
    }
}

/// The kernel ends everything in the namespaces with their first process.
#[needs(namespaces)]
#[tokio::test]
async fn a_chat_whose_spawner_was_killed_gets_another() {
    let site = Site::new(DEFAULT);
    site.works("echo kept > /tmp/kept").await;
    let command = site.start_in("a", "exec sleep 1000").await;
    let first = of_chat(&site);
    kill(Pid::from_raw(first.cast_signed()), Signal::SIGKILL).unwrap();
    until("the spawner of the chat is gone", || {
        (!is_alive(first)).then_some(())
    })
    .await;
    let seen = site.works(ALL).await;
    assert!(!seen.contains("sleep 1000"), "{command}: {seen}");
    assert_eq!(site.works("cat /tmp/kept").await, "kept");
    assert_ne!(of_chat(&site), first);
}

#[needs(namespaces)]
#[tokio::test]
async fn the_namespaces_of_a_chat_end_with_it() {
    let site = Site::new(DEFAULT);
    site.start_in("a", "exec sleep 1000").await;
    let first = of_chat(&site);
    let ended = site.request(reqwest::Method::DELETE, "/v1/chats/a").send();
    assert_eq!(ended.await.unwrap().status(), 200);
    until("the spawner of the chat is gone", || {
        (!is_alive(first)).then_some(())
    })
    .await;
}

/// Runs a command in the terminal's sandbox.
#[needs(namespaces)]
#[test]
fn a_command_in_the_terminal_has_namespaces_as_well() {
    let ground = Ground::new();
    let run_with = |options: &[&str], script: &str| {
        let arguments = [&["run"], options, &["--", "sh", "-c", script]].concat();
        let mut command = ground.command("sandbox", &arguments);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.code(), said)
    };
    let run = |script: &str| run_with(&[], script);
    let (code, number) = run("echo $$; exit 7");
    assert_eq!(code, Some(7));
    assert!(number.parse::<u32>().unwrap() < 10, "{number}");
    assert_eq!(run("pwd").1, ground.path("work").to_str().unwrap());
    assert_eq!(run("kill -TERM $$").0, Some(128 + 15));
    assert_eq!(run("echo x > /tmp/x && cat /tmp/x; ls /run").1, "x");
    assert_ne!(run("cat @STATE/cache.key || cat ~/.ssh/id").0, Some(0));
    assert_eq!(run("stat -c %a /tmp").1, "700");
    // Without a sandbox, it runs as any program of the terminal.
    let own = std::fs::read_link("/proc/self/ns/mnt").unwrap();
    let seen = run_with(&["--sandbox", "off"], "readlink /proc/self/ns/mnt");
    assert_eq!(seen, (Some(0), own.to_str().unwrap().to_owned()));
}

/// The program removes what the command left, which it can only outside of the sandbox.
#[test]
fn nothing_is_left_of_a_command_in_the_terminal() {
    let ground = Ground::new();
    let temporary = ground.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    for flags in [PLAIN, DEFAULT] {
        let leave = "mkdir -p $TMPDIR/a/b && chmod 0 $TMPDIR/a";
        let arguments = [&["run"], flags, &["--", "sh", "-c", leave]].concat();
        let mut command = ground.command("sandbox", &arguments);
        let output = command.env("TMPDIR", &temporary).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(!said.contains("cannot be removed"), "{said}");
        assert_eq!(
            std::fs::read_dir(&temporary).unwrap().count(),
            0,
            "{flags:?}"
        );
    }
}
