//! What a command leaves in a home, and where the workspace and what is lent meet, keeps no later chat from its start.

use nix::sys::signal::Signal;
use serde_json::json;
use toolhost_needs::needs;

use super::super::site::{DEFAULT, Ground, SECRET};
use super::{THEIRS, binds, ends, ground, serve, works_in};
use crate::harness::until;

/// What a command puts in the way keeps no later chat from its start, and leads the host nowhere.
#[needs(namespaces)]
#[tokio::test]
async fn what_is_in_the_way_in_a_home_is_left_out() {
    let ground = ground();
    ground.write("home/.config/git/ignore", "theirs\n");
    let site = serve(ground, DEFAULT, &["a1", "a2", "a3", "a4", "a5", "a6"]).await;
    works_in(&site, "a1", "cat ~/.config/git/ignore").await;
    works_in(
        &site,
        "a1",
        "mv ~/.config ~/moved; ln -s @OUTSIDE ~/.config",
    )
    .await;
    works_in(
        &site,
        "a2",
        "test -L ~/.config; rm ~/.config; echo file > ~/.config",
    )
    .await;
    works_in(&site, "a3", "cat ~/.config; rm ~/.config; mkfifo ~/.config").await;
    works_in(&site, "a4", "test -p ~/.config; rm ~/.config; chmod 0 ~").await;
    works_in(
        &site,
        "a5",
        "chmod 700 ~; rm ~/.config ~/.cache -rf; ln -s /proc ~/.cache",
    )
    .await;
    works_in(
        &site,
        "a6",
        "ls ~/.cache/self; cat ~/.cargo/registry/cached",
    )
    .await;
    let outside = std::fs::read_dir(site.path("outside")).unwrap();
    assert_eq!(outside.count(), 1);
}

/// Neither a file nor a link in place of a directory that is lent.
#[needs(namespaces)]
#[tokio::test]
async fn what_is_in_place_of_a_cache_is_left_out() {
    let site = serve(ground(), DEFAULT, &["a1", "a2", "a3", "a4", "a5"]).await;
    let makes = [
        "echo file > ~/.cache/pip",
        "mkfifo ~/.cache/pip",
        "ln -s /proc ~/.cache/pip",
        "ln -s ~/.cargo ~/.cache/pip",
    ];
    for (make, chat) in makes.iter().zip(["a1", "a2", "a3", "a4"]) {
        works_in(
            &site,
            chat,
            &format!("rm -rf ~/moved; mv ~/.cache ~/moved; mkdir ~/.cache; {make}"),
        )
        .await;
        let look = "! test -d ~/.cache/pip/http-v2; cat ~/.cargo/registry/cached";
        works_in(&site, "a5", look).await;
        ends(&site, "a5").await;
        binds(&site, "a5").await;
    }
}

/// A command that moved its workspace away, in its home, would have itself and later chats find nothing there.
#[needs(namespaces)]
#[tokio::test]
async fn no_command_moves_its_workspace_away() {
    let ground = Ground::new();
    ground.write("home/projects/of/one/file", "theirs\n");
    let mut command = ground.command_in("home/projects/of/one", "serve", &[]);
    command.env("TOOLHOST_TOKEN", crate::harness::TOKEN);
    let site = ground.serve_command(command);
    for path in ["projects", "projects/of", "projects/of/one"] {
        let moves = format!("cd / && mv ~/{path} ~/{path}-moved");
        let reply = site.run_in("a", &moves).await;
        assert!(reply.output.contains("busy"), "{}", reply.output);
    }
    for chat in ["a", "b"] {
        works_in(&site, chat, "touch ~/projects/beside; cat file; touch new").await;
    }
    assert!(site.path("home/projects/of/one/new").exists());
    assert!(!site.path("home/projects/beside").exists());
}

/// What a command has put in place of a path that is granted later gets another name.
#[needs(namespaces)]
#[tokio::test]
async fn what_is_in_place_of_a_granted_path_is_moved() {
    let site = serve(ground(), DEFAULT, &["a1"]).await;
    let long = "n".repeat(250);
    let granted = [
        "shared/deep/data",
        "note",
        "other/x",
        "shut/in/it",
        "many",
        ".cargo/registry/index",
        ".cargo/own",
        &long,
    ];
    for name in granted {
        site.ground.write(&format!("home/{name}"), THEIRS);
    }
    let places = format!(
        "cd ~; echo own > shared; mkdir note note.moved-1; ln -s @OUTSIDE other; mkdir -p shut/in; touch shut/in/it; \
         chmod 0 shut/in shut; touch many many.moved-{{1..1000}}; mkdir {long}; \
         rm -rf .cargo/registry .cargo/own; echo layer > .cargo/registry; ln -s /etc .cargo/own"
    );
    works_in(&site, "a1", &format!("bash -c '{places}'")).await;
    let flags: Vec<_> = granted
        .iter()
        .map(|name| format!("--sandbox-write=@HOME/{name}"))
        .collect();
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    let site = serve(site.end(Signal::SIGTERM), &flags, &["a2"]).await;
    let script = "cd ~; cat shared.moved-1 .cargo/registry.moved-1; test -d note.moved-2; test -L other.moved-1";
    assert_eq!(works_in(&site, "a2", script).await, "own\nlayer\n");
    works_in(&site, "a2", "chmod 700 ~/shut && chmod 700 ~/shut/in").await;
    for name in granted {
        let write = format!("cat ~/{name}; echo new > ~/{name}");
        assert_eq!(works_in(&site, "a2", &write).await, THEIRS, "{name}");
        let text = std::fs::read_to_string(site.path("home").join(name));
        assert_eq!(text.unwrap(), "new\n", "{name}");
    }
    assert_eq!(std::fs::read_dir(site.path("outside")).unwrap().count(), 1);
}

/// Toolchains in a workspace belong to it, with all that is closed in them.
#[needs(namespaces)]
#[tokio::test]
async fn what_is_lent_in_the_workspace_is_the_workspace() {
    let home = |ground: &Ground| {
        for secret in [".m2/settings.xml", ".config/git/credentials"] {
            ground.write(&format!("home/{secret}"), SECRET);
        }
    };
    let writes = "! cat ~/.cargo/credentials.toml ~/.m2/settings.xml ~/.config/git/credentials; ! mv ~/.cargo ~/moved; \
                  mkdir -p ~/.cargo/bin && echo tool > ~/.cargo/bin/tool && cat ~/.cargo/registry/cached";
    for flags in [&["--workspace-anyway"][..], &["--sandbox-write=@HOME"]] {
        let ground = Ground::new();
        home(&ground);
        let workspace = if flags == ["--workspace-anyway"] {
            "home"
        } else {
            "work"
        };
        let mut command = ground.command_in(workspace, "serve", flags);
        command.env("TOOLHOST_TOKEN", crate::harness::TOKEN);
        let site = ground.serve_command(command);
        let seen = works_in(&site, "a", writes).await;
        assert!(
            seen.ends_with("cached\n") && !seen.contains(SECRET),
            "{seen}"
        );
        let tool = std::fs::read_to_string(site.path("home/.cargo/bin/tool"));
        assert_eq!(tool.unwrap(), "tool\n", "{flags:?}");
    }
    // An environment in the workspace, and a workspace in a toolchain.
    for workspace in ["home/proj", "home/go", "home/.cargo/own"] {
        let ground = Ground::new();
        ground.write(&format!("{workspace}/.venv/bin/python"), THEIRS);
        let mut command = ground.command_in(workspace, "serve", &[]);
        command.env("TOOLHOST_TOKEN", crate::harness::TOKEN);
        let path = std::env::var("PATH").unwrap();
        command.env(
            "PATH",
            format!(
                "{}:{path}",
                ground.path(workspace).join(".venv/bin").display()
            ),
        );
        let site = ground.serve_command(command);
        works_in(
            &site,
            "a",
            "cd .venv/bin; echo own > new; rm python; cd ../..; mv .venv moved; touch file",
        )
        .await;
        assert!(site.path(workspace).join("file").exists(), "{workspace}");
        let own = std::fs::read_to_string(site.path(workspace).join("moved/bin/new"));
        assert_eq!(own.unwrap(), "own\n", "{workspace}");
    }
}

/// Chats start whatever another one does to the directories above what is lent, at the same time.
#[needs(namespaces, program = "python3")]
#[tokio::test]
async fn a_command_that_swaps_directories_keeps_no_chat_from_its_start() {
    let ground = ground();
    ground.write("home/.config/git/ignore", THEIRS);
    let site = serve(ground, DEFAULT, &["a1"]).await;
    let swaps = "mv ~/.config ~/moved; touch begun; python3 -c 'import os\n\
        os.chdir(os.environ[\"HOME\"])\n\
        while True:\n\
        \x20   os.mkdir(\".config\"); os.mkdir(\".config/git\")\n\
        \x20   try: os.rmdir(\".config/git\"); os.rmdir(\".config\")\n\
        \x20   except OSError: os.rename(\".config\", \"m\" + os.urandom(4).hex()); continue\n\
        \x20   os.symlink(\"/etc\", \".config\"); os.unlink(\".config\")'";
    let arguments = json!({ "command": swaps, "run_in_background": true });
    assert_eq!(site.put("a1", "execute", arguments).await.0, 200);
    until("the swaps have begun", || {
        site.path("data/spaces/a/begun").exists().then_some(())
    })
    .await;
    for number in 0..40 {
        let chat = format!("a-{number}");
        binds(&site, &chat).await;
        works_in(&site, &chat, "cat ~/.cargo/registry/cached").await;
        ends(&site, &chat).await;
    }
}
