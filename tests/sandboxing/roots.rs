//! The root of a view: what commands were given is there, and nothing else is.

use nix::sys::signal::Signal;
use serde_json::json;
use toolhost_needs::needs;

use super::site::{DEFAULT, Ground, OFF, Site};
use crate::harness::TOKEN;

/// Commands that look around. Each succeeds, and prints this.
const LOOKS: &[(&str, &str)] = &[
    ("ls /", "usr"),
    ("ls -la ~", ".cargo"),
    ("ls /home /run /tmp /var > /dev/null; ls /", "etc"),
    (
        "find / -name env -type f 2> /dev/null | cat",
        "/usr/bin/env",
    ),
    ("df -h > all 2>&1; cat all", "/tmp"),
    ("cat /etc/os-release", "NAME"),
    ("id", "uid="),
    ("getent hosts localhost", "localhost"),
    ("stat -c %F /", "directory"),
    ("ls -l /dev/stdout /dev/fd/1 | cat", "stdout"),
    ("echo seen > /dev/stderr", "seen"),
    ("readlink -f /var/run", "/run"),
];

#[needs(namespaces)]
#[tokio::test]
async fn what_is_there_can_be_listed() {
    let site = Site::new(DEFAULT);
    for (script, expected) in LOOKS {
        let reply = site.run(script).await;
        let (output, code) = (&reply.output, reply.code);
        assert_eq!(code, Some(0), "{script}: {output}");
        assert!(output.contains(expected), "{script}: {output}");
    }
}

/// Neither their content nor their names.
#[needs(namespaces)]
#[tokio::test]
async fn what_was_not_given_is_not_there() {
    let ground = Ground::new();
    ground.write("home/private-diary.txt", "");
    ground.write("work/inner/file", "");
    let site = ground.serve(DEFAULT);
    for path in [
        "@OUTSIDE",
        "@OUTSIDE/secret",
        "@DATA",
        "@STATE",
        "@WORK/../outside",
        "@WORK/../data/open",
        "/proc/self/root/@OUTSIDE",
        "/var/log",
        "/boot",
        "/etc/../srv",
    ] {
        for script in [
            format!("test ! -e {path} -a ! -L {path}"),
            format!("! stat {path}"),
            format!("! ls {path}"),
            format!("! touch {path}"),
        ] {
            site.works(&script).await;
        }
    }
    // The home has its path from that of the user, and nothing else.
    for name in [".ssh", ".netrc", "private-diary.txt"] {
        site.works(&format!("! stat @HOME/{name}; ! ls @HOME/{name}"))
            .await;
    }
    // The directory around the workspace has the way to it, and nothing else.
    let beside = site.works("ls -A @WORK/..").await;
    assert_eq!(
        beside.split_whitespace().collect::<Vec<_>>(),
        ["home", "work"]
    );
}

/// The kernel tells a watcher the names in a directory, also if Landlock keeps them from being listed.
#[needs(namespaces, program = "python3")]
#[tokio::test]
async fn what_was_not_given_cannot_be_watched() {
    let watch = |path: &str| {
        format!(
            "python3 -c 'import ctypes, os\n\
             libc = ctypes.CDLL(None, use_errno=True)\n\
             watch = libc.inotify_init1(0)\n\
             added = libc.inotify_add_watch(watch, b\"{path}\", 0xfff)\n\
             print(os.strerror(ctypes.get_errno())); exit(added < 0)'"
        )
    };
    let site = Site::new(DEFAULT);
    site.works(&watch(".")).await;
    for path in ["@OUTSIDE", "@OUTSIDE/secret", "@STATE", "/var/log"] {
        site.fails(&watch(path), "No such file").await;
    }
}

/// Protected paths that are links, or are reached through one.
#[needs(namespaces)]
#[tokio::test]
async fn protected_links_stay_as_they_are() {
    let ground = Ground::new();
    ground.write("work/real/envrc", "own\n");
    ground.write("work/real/git/hooks/pre-commit", "own\n");
    ground.write("work/real/git/HEAD", "");
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, ground.path(name)).unwrap();
    link("real/envrc", "work/.envrc");
    link("real/git", "work/.git");
    link("nothing", "work/.codex");
    let flags = [".envrc", ".git/hooks", ".codex"].map(|path| format!("--sandbox-protect={path}"));
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    let site = ground.serve(&flags);
    for script in [
        "echo evil > .envrc",
        "echo evil > real/envrc",
        "rm .envrc",
        "mv .envrc other",
        "ln -sfn other .envrc",
        "mv real other",
        "mv real/git other",
        "mv .git other",
        "rm .git",
        "echo evil > .git/hooks/pre-commit",
        "echo evil > real/git/hooks/other",
        "rm .codex",
        "mv .codex other",
    ] {
        site.is_refused(script).await;
    }
    assert_eq!(
        site.works("cat .envrc .git/hooks/pre-commit").await,
        "own\nown"
    );
    site.works("echo x > real/git/new; echo x > real/new").await;
}

/// `/etc/resolv.conf` is a link on many systems, which leads out of what commands see.
#[needs(namespaces)]
#[tokio::test]
async fn links_of_granted_paths_lead_there() {
    let ground = Ground::new();
    std::os::unix::fs::symlink(ground.path("data"), ground.path("linked")).unwrap();
    let linked = ground.path("linked").display().to_string();
    let site = ground.serve(&[&format!("--sandbox-read={linked}/open")]);
    assert_eq!(
        site.works(&format!("cat {linked}/open @DATA/open")).await,
        "open\nopen"
    );
    site.is_refused("ls @DATA/keys").await;
}

/// Git finds its repository outside of the workspace, and the first reply says what opens it.
#[needs(namespaces, program = "git")]
#[tokio::test]
async fn a_linked_worktree_works_with_its_repository() {
    let site = Site::new(OFF);
    site.works("git init -q @DATA/repository; cd @DATA/repository; git commit -q --allow-empty -m one; git worktree add -q @WORK/tree")
        .await;
    let serve = |ground: Ground, flags: &[&str]| {
        let mut command = ground.command_in("work/tree", "serve", flags);
        command.env("TOOLHOST_TOKEN", TOKEN);
        ground.serve_command(command)
    };
    let site = serve(site.end(Signal::SIGTERM), DEFAULT);
    let status = json!({ "command": "git status" });
    let (_, reply) = site.put("a", "execute", status).await;
    let note = site.text(
        "git needs @DATA/repository/.git, which is outside of what commands may write (write)",
    );
    assert!(reply.to_string().contains(&note), "{reply}");
    let flags = ["--sandbox-write=@DATA/repository/.git"];
    let site = serve(site.end(Signal::SIGTERM), &flags);
    site.works(
        "git status; echo x > x; git add x; git commit -qm two; git log --oneline | grep two",
    )
    .await;
}

/// The host looks for the directory of a command, and at what git says, where commands can have put anything.
#[needs(namespaces)]
#[tokio::test]
async fn the_host_tells_nothing_of_what_is_not_there() {
    let site = Site::new(DEFAULT);
    site.works("ln -s @OUTSIDE there; ln -s @OUTSIDE-not absent")
        .await;
    let said = async |path: &str| {
        let arguments = json!({ "command": "true", "workdir": site.text(path) });
        let (_, body) = site.put("a", "execute", arguments).await;
        let error = body["structured"]["error"].as_str();
        error.unwrap_or_else(|| panic!("{body}")).to_owned()
    };
    let of_absent = said("@OUTSIDE-not").await;
    assert!(of_absent.contains("does not exist"), "{of_absent}");
    assert_eq!(said("@OUTSIDE").await, of_absent.replacen("-not", "", 1));
    let of_absent = said("absent").await;
    assert!(of_absent.contains("does not exist"), "{of_absent}");
    assert_eq!(said("there").await, of_absent.replace("absent", "there"));
    // A pipe that the host read would keep it.
    site.works("mkfifo .git; echo fatal: not a git repository")
        .await;
}
