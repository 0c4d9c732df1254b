//! The home of a workspace, and the caches of toolchains: what a command writes there, nobody else reads.

mod kept;
mod obstacles;

use nix::sys::signal::Signal;
use reqwest::Method;
use serde_json::{Value, json};
use toolhost_needs::needs;

use super::site::{DEFAULT, Ground, PLAIN, SECRET, Site};
use crate::harness::{Mounted, until};

/// Files in caches of toolchains, which a later build executes.
const CACHES: &[&str] = &[
    ".cargo/registry/src/index/semver-1.0.0/src/lib.rs",
    ".npm/_cacache/content-v2/sha512/00/11/22",
    ".cache/pip/http-v2/0/1/2/3/4/01234.body",
    "go/pkg/mod/example.com/module@v1.0.0/module.go",
    ".m2/repository/org/example/library/1.0/library-1.0.jar",
];

/// The text of each of them.
const THEIRS: &str = "theirs\n";

/// Returns a ground whose user has files in caches, and two workspaces with names: `a` and `b`.
fn ground() -> Ground {
    let ground = Ground::new();
    for cache in CACHES {
        ground.write(&format!("home/{cache}"), THEIRS);
    }
    let root = ground.path("data/spaces");
    let config = format!("[workspaces]\nroot = '{}'\n", root.display());
    ground.write("home/.config/toolhost/toolhost.toml", &config);
    ground
}

/// Serves the two workspaces. The chats of each begin with its name.
async fn serve(ground: Ground, flags: &[&str], chats: &[&str]) -> Site {
    made(ground.serve(flags), chats).await
}

/// Makes the two workspaces, and these chats in them.
async fn made(site: Site, chats: &[&str]) -> Site {
    made_with(site, &json!({}), chats).await
}

/// Does the same with this specification.
async fn made_with(site: Site, spec: &Value, chats: &[&str]) -> Site {
    for name in ["a", "b"] {
        let made = site.request(Method::PUT, &format!("/v1/workspaces/{name}"));
        let made = made.json(spec).send().await.unwrap();
        assert!(made.status().is_success(), "{}", made.text().await.unwrap());
    }
    for chat in chats {
        binds(&site, chat).await;
    }
    site
}

/// Binds a chat to the workspace with which its name begins.
async fn binds(site: &Site, chat: &str) {
    let bound = site.request(Method::PUT, &format!("/v1/chats/{chat}"));
    let bound = bound.json(&json!({ "workspace": &chat[..1] })).send().await;
    assert!(bound.unwrap().status().is_success(), "{chat}");
}

async fn ends(site: &Site, chat: &str) {
    let path = format!("/v1/chats/{chat}");
    let ended = site.request(Method::DELETE, &path).send().await.unwrap();
    assert_eq!(ended.status(), 200);
}

/// Waits until nothing is left of the mounts over the layers of the home of `a`.
async fn no_mounts(site: &Site) {
    let mounts = site.path("data/spaces/+homes/a/mounts");
    until("the mounts are gone", || {
        let left = std::fs::read_dir(&mounts).unwrap().count();
        (left == 0).then_some(())
    })
    .await;
}

async fn works_in(site: &Site, chat: &str, script: &str) -> String {
    let reply = site.run_in(chat, script).await;
    assert_eq!(reply.code, Some(0), "{chat}: {script}: {}", reply.output);
    reply.output
}

/// The homes of the workspaces with names, and what is left of removed ones.
fn homes(site: &Site) -> Vec<String> {
    let names = |directory: &str| {
        let entries = std::fs::read_dir(site.path(directory));
        let entries = entries.map(|entries| entries.map(|entry| entry.unwrap().file_name()));
        entries
            .into_iter()
            .flatten()
            .map(|name| name.into_string().unwrap())
            .collect::<Vec<_>>()
    };
    let gone = names("data/spaces")
        .into_iter()
        .filter(|name| name.starts_with("+gone"));
    let mut homes: Vec<_> = names("data/spaces/+homes")
        .into_iter()
        .chain(gone)
        .collect();
    homes.sort();
    homes
}

async fn a_home_stays_with_its_workspace(flags: &[&str]) {
    let site = serve(ground(), flags, &["a1", "a2", "b1"]).await;
    works_in(
        &site,
        "a1",
        "echo mine > ~/file; mkdir -p ~/.config/tool; git config --global user.name Me",
    )
    .await;
    let own = works_in(&site, "a2", "cat ~/file; git config --global user.name").await;
    assert_eq!(own, "mine\nMe\n");
    // A new home has the files that the user's home lends.
    assert_eq!(
        works_in(&site, "b1", "git config --global user.name").await,
        "A\n"
    );
    assert_ne!(site.run_in("b1", "cat ~/file").await.code, Some(0));
    assert_ne!(site.run_in("default", "cat ~/file").await.code, Some(0));
    for name in ["file", ".config/tool"] {
        assert!(!site.path("home").join(name).exists(), "{name}");
    }
    let theirs = std::fs::read_to_string(site.path("home/.gitconfig")).unwrap();
    assert!(theirs.contains("name = A"), "{theirs}");
    // It stays when the host ends.
    let ground = site.end(Signal::SIGKILL);
    let site = serve(ground, flags, &["a3", "b2"]).await;
    assert_eq!(works_in(&site, "a3", "cat ~/file").await, "mine\n");
    // With the workspace, it is removed.
    assert_eq!(homes(&site), ["a", "b"]);
    let removed = site.request(Method::DELETE, "/v1/workspaces/a?force=true");
    assert!(removed.send().await.unwrap().status().is_success());
    assert_eq!(homes(&site), ["b"]);
    let site = serve(site.end(Signal::SIGTERM), flags, &["a4"]).await;
    assert_ne!(site.run_in("a4", "cat ~/file").await.code, Some(0));
}

#[needs(namespaces, program = "git")]
#[tokio::test]
async fn a_home_is_that_of_the_workspace() {
    a_home_stays_with_its_workspace(DEFAULT).await;
}

#[needs(program = "git")]
#[tokio::test]
async fn without_namespaces_a_variable_leads_to_the_home() {
    a_home_stays_with_its_workspace(PLAIN).await;
}

/// What a command leaves in a cache is executed by the next build, also that of the user outside of the sandbox.
#[needs(namespaces)]
#[tokio::test]
async fn caches_are_lent_and_never_changed() {
    let site = serve(ground(), DEFAULT, &["a1", "a2", "b1"]).await;
    for cache in CACHES {
        let before = site.path("home").join(cache).metadata().unwrap();
        assert_eq!(
            works_in(&site, "a1", &format!("cat ~/{cache}")).await,
            THEIRS
        );
        works_in(
            &site,
            "a1",
            &format!("echo poison >> ~/{cache}; echo new > ~/{cache}.new"),
        )
        .await;
        works_in(
            &site,
            "a1",
            &format!("chmod 700 ~/{cache}; touch -d 2001-01-01 ~/{cache}"),
        )
        .await;
        let own = works_in(&site, "a2", &format!("cat ~/{cache} ~/{cache}.new")).await;
        assert_eq!(own, format!("{THEIRS}poison\nnew\n"), "{cache}");
        assert_eq!(
            works_in(&site, "b1", &format!("cat ~/{cache}")).await,
            THEIRS
        );
        assert_ne!(
            site.run_in("b1", &format!("cat ~/{cache}.new")).await.code,
            Some(0)
        );
        works_in(&site, "a1", &format!("rm ~/{cache}; ! cat ~/{cache}")).await;
        assert_eq!(
            works_in(&site, "b1", &format!("cat ~/{cache}")).await,
            THEIRS
        );
        let path = site.path("home").join(cache);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), THEIRS);
        let after = path.metadata().unwrap();
        assert_eq!(after.permissions(), before.permissions(), "{cache}");
        assert_eq!(
            after.modified().unwrap(),
            before.modified().unwrap(),
            "{cache}"
        );
        assert!(!path.with_extension("new").exists());
    }
    // A closed path of a directory that is lent does not exist, and a command can make its own.
    works_in(
        &site,
        "a1",
        "! ls -A ~/.cargo | grep credentials; ! cat ~/.cargo/credentials.toml",
    )
    .await;
    works_in(&site, "a1", "echo own > ~/.cargo/credentials.toml; rm ~/.cargo/credentials.toml; ! cat ~/.cargo/credentials.toml").await;
}

/// Without namespaces, the caches of the user can be read at their own path, and those of the workspace are empty at first.
#[tokio::test]
async fn without_namespaces_caches_can_only_be_read() {
    let site = serve(ground(), PLAIN, &["a1"]).await;
    for cache in CACHES {
        assert_eq!(
            works_in(&site, "a1", &format!("cat @HOME/{cache}")).await,
            THEIRS
        );
        for change in [
            format!("echo poison >> @HOME/{cache}"),
            format!("rm @HOME/{cache}"),
            format!("ln -sf /etc/passwd @HOME/{cache}"),
        ] {
            assert_ne!(site.run_in("a1", &change).await.code, Some(0), "{change}");
        }
        let path = site.path("home").join(cache);
        assert_eq!(std::fs::read_to_string(path).unwrap(), THEIRS);
    }
    works_in(&site, "a1", "mkdir -p $CARGO_HOME/registry; echo x > $CARGO_HOME/registry/x; test $CARGO_HOME = ~/.cargo").await;
}

#[needs(namespaces, program = "pip", program = "npm")]
#[tokio::test]
async fn programs_can_be_installed_into_the_home() {
    let site = serve(ground(), DEFAULT, &["a1", "a2", "b1"]).await;
    let package = "mkdir -p p && cd p && echo '{\"name\": \"small\", \"version\": \"1.0.0\", \"bin\": \"small.js\"}' > package.json && \
                   printf '#!/bin/sh\\necho small\\n' > small.js && chmod +x small.js";
    works_in(
        &site,
        "a1",
        &format!("{package} && npm config set prefix ~/.own && npm i -g --offline ."),
    )
    .await;
    assert_eq!(works_in(&site, "a2", "~/.own/bin/small").await, "small\n");
    assert_ne!(site.run_in("b1", "~/.own/bin/small").await.code, Some(0));
}

/// A directory of a command in place of one that is closed later, or with another sandbox, is not merged with it.
#[needs(namespaces)]
#[tokio::test]
async fn a_closed_path_stays_closed() {
    let ground = ground();
    // Longer than an option of the kernel, and than a name.
    let cargo = format!("{}/{}/cargo", "a".repeat(200), "b".repeat(200));
    let never = format!("--sandbox-never=@DATA/{cargo}/keys");
    ground.write(&format!("data/{cargo}/keys/key"), SECRET);
    let serve = async |ground: Ground, flags: &[&str]| {
        let mut command = ground.command("serve", &[flags, &[&never]].concat());
        command.env("TOOLHOST_TOKEN", crate::harness::TOKEN);
        command.env("CARGO_HOME", ground.path(&format!("data/{cargo}")));
        made(ground.serve_command(command), &["a1", "a2"]).await
    };
    let site = serve(ground, PLAIN).await;
    works_in(
        &site,
        "a1",
        "mkdir $CARGO_HOME/keys; touch $CARGO_HOME/keys/own",
    )
    .await;
    let site = serve(site.end(Signal::SIGTERM), DEFAULT).await;
    for chat in ["a1", "a2"] {
        let list = format!("test $CARGO_HOME = @DATA/{cargo} && ls $CARGO_HOME/keys");
        assert_eq!(works_in(&site, chat, &list).await, "own\n", "{chat}");
    }
    // A path that does not exist yet stays closed when a command has had a file there.
    let own = "echo own > $CARGO_HOME/credentials; rm $CARGO_HOME/credentials";
    works_in(&site, "a1", own).await;
    std::fs::write(site.path(&format!("data/{cargo}/credentials")), SECRET).unwrap();
    for chat in ["a1", "a2"] {
        let reads = "! cat $CARGO_HOME/credentials; ! ls $CARGO_HOME | grep -x credentials";
        works_in(&site, chat, reads).await;
    }
}

/// The modes of what a command leaves in the layers keep no later chat from its start, nor the home from its removal.
#[needs(namespaces)]
#[tokio::test]
async fn modes_in_the_layers_keep_nobody_from_a_start() {
    let ground = ground();
    let site = serve(ground, DEFAULT, &["a1", "a2"]).await;
    let close =
        "touch ~/.m2/settings.xml; rm ~/.m2/settings.xml; chmod 500 ~/.m2; chmod 0 ~/.cargo";
    works_in(&site, "a1", close).await;
    works_in(&site, "a2", "true").await;
    let site = serve(site.end(Signal::SIGTERM), DEFAULT, &["a3"]).await;
    let reads = "! ls ~/.cargo; chmod 700 ~/.cargo; cat ~/.cargo/registry/cached; chmod 0 ~/.cargo";
    works_in(&site, "a3", reads).await;
    let removed = site.request(Method::DELETE, "/v1/workspaces/a?force=true");
    assert!(removed.send().await.unwrap().status().is_success());
    assert!(homes(&site).is_empty());
}

/// The quota of a workspace binds its home, and the layers in it.
#[needs(namespaces, quota = "ext4")]
#[tokio::test]
async fn a_quota_binds_the_home() {
    let ground = ground();
    std::fs::create_dir(ground.path("data/spaces")).unwrap();
    let _disk = Mounted::with_quotas(&ground.path("data/spaces"));
    let quota = json!({ "quota": { "bytes": 8 << 20, "files": 100, "required": true } });
    let site = made_with(ground.serve(DEFAULT), &quota, &["a1", "a2", "b1"]).await;
    for chat in ["a1", "a2"] {
        works_in(
            &site,
            chat,
            "echo more >> ~/.cargo/registry/cached; cat ~/.cargo/registry/cached",
        )
        .await;
        for place in ["~", "~/.cargo/registry", "."] {
            let large = format!("cd {place}; dd if=/dev/zero of=large bs=1M count=16 conv=fsync");
            let reply = site.run_in(chat, &large).await;
            assert!(
                reply.output.contains("Disk quota exceeded"),
                "{place}: {}",
                reply.output
            );
            let many =
                format!("cd {place}; rm large; for n in $(seq 200); do : > $n || exit; done");
            let reply = site.run_in(chat, &many).await;
            assert!(
                reply.output.contains("Disk quota exceeded"),
                "{place}: {}",
                reply.output
            );
            works_in(&site, "b1", &format!("cd {place}; echo x > free")).await;
            works_in(&site, chat, &format!("cd {place}; rm [0-9]*")).await;
        }
    }
    let removed = site.request(Method::DELETE, "/v1/workspaces/a?force=true");
    assert!(removed.send().await.unwrap().status().is_success());
    assert_eq!(homes(&site), ["b"]);
}

/// An operator removes a state directory as any other.
#[needs(namespaces)]
#[tokio::test]
async fn a_state_directory_can_be_removed() {
    let site = serve(ground(), DEFAULT, &["a1"]).await;
    works_in(
        &site,
        "a1",
        "rm ~/.cargo/registry/src/index/semver-1.0.0/src/lib.rs",
    )
    .await;
    let ground = site.end(Signal::SIGKILL);
    std::fs::remove_dir_all(ground.path("state")).unwrap();
}

/// All write into the layers of the home, and see at once what the others wrote.
#[needs(namespaces)]
#[tokio::test]
async fn chats_of_one_workspace_write_at_the_same_time() {
    let site = serve(ground(), DEFAULT, &["a1", "a2", "a3"]).await;
    for chat in ["a1", "a2"] {
        works_in(
            &site,
            chat,
            "ls ~/.cargo/registry; ! cat ~/.cargo/registry/new",
        )
        .await;
    }
    let write = "echo $CODER_CHAT_ID >> ~/.cargo/registry/new; mkdir -p ~/.cargo/registry/inner; \
                 touch ~/.cargo/registry/inner/$CODER_CHAT_ID; rm -f ~/.cargo/registry/cached";
    for chat in ["a1", "a2", "a1"] {
        works_in(&site, chat, write).await;
    }
    let look =
        "cat ~/.cargo/registry/new; ls ~/.cargo/registry ~/.cargo/registry/inner | paste -sd ' '";
    for chat in ["a1", "a2", "a3"] {
        let seen = works_in(&site, chat, look).await;
        let registry = site.path("home/.cargo/registry");
        let registry = registry.canonicalize().unwrap();
        let registry = registry.display();
        assert_eq!(
            seen,
            format!("a1\na2\na1\n{registry}: inner new src  {registry}/inner: a1 a2\n")
        );
    }
    // It stays after the chats, and what the mounts needed does not.
    for chat in ["a1", "a2", "a3"] {
        ends(&site, chat).await;
    }
    no_mounts(&site).await;
    binds(&site, "a4").await;
    assert_eq!(
        works_in(&site, "a4", "cat ~/.cargo/registry/new").await,
        "a1\na2\na1\n"
    );
    assert!(site.path("home/.cargo/registry/cached").exists());
    assert!(!site.path("home/.cargo/registry/new").exists());
    // Nor does it stay when the host ends before the chat.
    let ground = site.end(Signal::SIGTERM);
    let mounts = std::fs::read_dir(ground.path("data/spaces/+homes/a/mounts"));
    assert_eq!(mounts.unwrap().count(), 0);
}

/// At the end of a mount that is not volatile, the kernel writes everything to the disk first, and the chat stays until then.
#[needs(namespaces)]
#[tokio::test]
async fn no_chat_waits_for_the_disk_at_its_end() {
    let site = serve(ground(), DEFAULT, &["a1"]).await;
    let count = "grep -c ' - overlay ' /proc/self/mountinfo; grep ' - overlay ' /proc/self/mountinfo | grep -vc volatile";
    let counts = site.run_in("a1", count).await.output;
    let (all, others) = counts.split_once('\n').unwrap();
    assert!(all.parse::<u32>().unwrap() >= 5, "{counts}");
    assert_eq!(others.trim(), "0");
}

/// A toolchain that the user installs meanwhile is there for chats that begin then.
#[needs(namespaces)]
#[tokio::test]
async fn a_new_chat_is_lent_what_is_new() {
    let site = serve(ground(), DEFAULT, &["a1", "a2"]).await;
    works_in(&site, "a1", "echo one > ~/.cargo/registry/one; ! ls ~/.nvm").await;
    let file = site.path("home/.nvm/versions/theirs");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, THEIRS).unwrap();
    let script =
        "cat ~/.nvm/versions/theirs ~/.cargo/registry/one; echo own > ~/.nvm/versions/theirs";
    assert_eq!(works_in(&site, "a2", script).await, "theirs\none\n");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), THEIRS);
}
