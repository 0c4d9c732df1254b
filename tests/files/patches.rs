//! `apply_patch` on real files. The formats have their cases in `guest-tools/files/cases.json`, which also run here.

use std::os::unix::fs::PermissionsExt;

use super::*;
use toolhost_core::Host;
use toolhost_server::ServerParts;

use crate::harness::{Server, elsewhere, shared_code, shared_state, spawner, without_namespaces};

impl Setup {
    async fn patch(&self, patch: &str) -> Result<Value, String> {
        self.try_call("apply_patch", json!({ "patch": patch }))
            .await
    }
}

/// Adds, updates, moves and deletes files of `a`, `b`, `c` and `run`.
const ALL: &str = "*** Begin Patch
*** Update File: a
@@
-a: old
+a: new
*** Add File: made/deep/d
+d
*** Delete File: b
*** Update File: run
*** Move to: bin/run
@@
 #!/bin/sh
-echo old
+echo new
*** Update File: c
@@
-c: old
+c: new
*** End Patch";

fn made(setup: &Setup) {
    for name in ["a", "b", "c"] {
        setup.make(name, format!("{name}: old\n"));
    }
    setup.make("run", "#!/bin/sh\necho old\n");
    let run = setup.root().join("run");
    std::fs::set_permissions(run, PermissionsExt::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn files_are_patched_together() {
    let setup = Setup::new().await;
    made(&setup);
    let patched = setup.patch(ALL).await.unwrap();
    let changes: Vec<_> = patched["files"].as_array().unwrap().iter().collect();
    let kinds: Vec<_> = changes
        .iter()
        .map(|file| file["change"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["updated", "added", "deleted", "moved", "updated"]);
    assert_eq!(changes[3]["to"], "bin/run");
    assert_eq!(
        changes[0]["diff"],
        "--- a\n+++ a\n@@ -1 +1 @@\n-a: old\n+a: new\n"
    );
    assert_eq!(setup.names(), ["a", "bin", "c", "made"]);
    assert_eq!(
        (setup.content("a"), setup.content("c")),
        (b"a: new\n".into(), b"c: new\n".into())
    );
    assert_eq!(setup.content("made/deep/d"), b"d\n");
    // The file that moved can still be executed.
    let ran = setup.execute("bin/run").await;
    assert_eq!(ran["output"], "new\n");
    setup.host.shutdown().await;
}

#[tokio::test]
async fn nothing_changes_if_one_hunk_does_not_fit() {
    let setup = Setup::new().await;
    made(&setup);
    setup.make("c", "c: other\n");
    let refused = setup.patch(ALL).await.unwrap_err();
    assert!(
        refused.starts_with("edit c: the lines of the hunk are not in the file")
            && refused.contains("1\tc: other"),
        "{refused}"
    );
    // One that cannot be written, after everything else fits.
    setup.make("c", "c: old\n");
    setup.make("made", "a file in the place of the directory");
    let refused = setup.patch(ALL).await.unwrap_err();
    assert!(refused.contains("not a directory"), "{refused}");
    assert_eq!(setup.names(), ["a", "b", "c", "made", "run"]);
    assert_eq!(
        (setup.content("a"), setup.content("b")),
        (b"a: old\n".into(), b"b: old\n".into())
    );
    setup.host.shutdown().await;
}

/// The output of the real `git diff`, with a name that it quotes, applied to the old files.
#[toolhost_needs::needs(program = "git")]
#[tokio::test]
async fn what_git_writes_is_applied() {
    let repository = tempfile::tempdir().unwrap();
    let write = |files: &[(&str, String)]| {
        for (name, text) in files {
            std::fs::write(repository.path().join(name), text).unwrap();
        }
    };
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        let own = [
            "user.name=a",
            "user.email=a@example.org",
            "core.autocrlf=false",
        ];
        git.args(own.iter().flat_map(|own| ["-c", own]));
        git.args(arguments).current_dir(repository.path());
        git.env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        let output = git.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let numbers = |from: u32, word: &str| -> String {
        (from..100)
            .map(|line| format!("{line}{}\n", if line == 50 { word } else { "" }))
            .collect()
    };
    let quoted = "\u{E4} \"q\"";
    let old = [
        ("numbers", numbers(1, "")),
        ("old name", "same\n".repeat(20)),
        (quoted, "1\n2".to_owned()),
        ("gone", "gone\n".to_owned()),
    ];
    git(&["init", "-q"]);
    write(&old);
    git(&["add", "."]);
    git(&["commit", "-qm", "old"]);
    git(&["mv", "old name", "new name"]);
    std::fs::remove_file(repository.path().join("gone")).unwrap();
    let new = [
        ("numbers", numbers(3, "!")),
        ("new name", "same\n".repeat(20) + "more\n"),
        (quoted, "1\nzwei\n".to_owned()),
        ("made", "a\r\nb".to_owned()),
    ];
    write(&new);
    git(&["add", "-A"]);
    let diff = git(&["diff", "--cached", "-M"]);
    assert!(
        diff.contains("rename from") && diff.contains("\\303\\244"),
        "{diff}"
    );

    let setup = Setup::new().await;
    for (name, text) in &old {
        setup.make(name, text);
    }
    let patched = setup.patch(&diff).await.unwrap();
    assert_eq!(patched["files"].as_array().unwrap().len(), 5, "{patched}");
    assert_eq!(setup.names(), ["made", "new name", "numbers", quoted]);
    for (name, text) in &new {
        assert_eq!(
            String::from_utf8(setup.content(name)).unwrap(),
            *text,
            "{name}"
        );
    }
    setup.host.shutdown().await;
}

#[tokio::test]
async fn a_patch_of_what_another_program_changed_is_refused() {
    let setup = Setup::new().await;
    setup.make("f", "one\ntwo\nthree\n");
    let patch = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    setup.execute("sed -i s/two/TWO/ f").await;
    let refused = setup.patch(patch).await.unwrap_err();
    assert!(
        refused.starts_with("edit f: the lines of the hunk are not in the file"),
        "{refused}"
    );
    assert_eq!(setup.content("f"), b"one\nTWO\nthree\n");
    // Elsewhere in the file, it does no harm, and neither do the numbers that are wrong by then.
    setup.make("f", "zero\none\ntwo\nthree\n");
    setup.patch(patch).await.unwrap();
    assert_eq!(setup.content("f"), b"zero\none\n2\nthree\n");
    let again = setup.patch(patch).await.unwrap_err();
    assert!(again.contains("Is the hunk applied already"), "{again}");
    setup.host.shutdown().await;
}

/// Patches of different lines of one file at the same time are all applied.
#[tokio::test(flavor = "multi_thread")]
async fn patches_at_the_same_time_are_all_applied() {
    const LINES: usize = 16;
    let setup = Setup::new().await;
    let lines =
        |word: &str| -> String { (0..LINES).map(|line| format!("{word} {line};\n")).collect() };
    setup.make("f", lines("old"));
    let patches = (0..LINES).map(async |line| {
        let patch = format!(
            "*** Begin Patch\n*** Update File: f\n@@\n-old {line};\n+new {line};\n*** End Patch"
        );
        setup.patch(&patch).await.unwrap();
    });
    futures_util::future::join_all(patches).await;
    assert_eq!(String::from_utf8(setup.content("f")).unwrap(), lines("new"));
    assert_eq!(setup.names(), ["f"]);
    setup.host.shutdown().await;
}

#[tokio::test]
async fn nothing_leads_out_of_the_workspace() {
    let setup = Setup::new().await;
    setup.make("f", "x\n");
    setup.link("out", "/etc");
    for patch in [
        "*** Begin Patch\n*** Delete File: /etc/hostname\n*** End Patch",
        "*** Begin Patch\n*** Delete File: out/hostname\n*** End Patch",
        "*** Begin Patch\n*** Add File: ../../x\n+x\n*** End Patch",
        "*** Begin Patch\n*** Update File: f\n*** Move to: out/moved\n*** End Patch",
        "diff --git a/f b/../../f\nsimilarity index 100%\nrename from f\nrename to ../../f\n",
    ] {
        let refused = setup.patch(patch).await.unwrap_err();
        assert!(
            refused.contains("outside of the workspace"),
            "{patch}: {refused}"
        );
    }
    assert_eq!(setup.names(), ["f", "out"]);
    setup.host.shutdown().await;
}

#[tokio::test]
async fn a_workspace_of_an_agent_is_patched() {
    let (base, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let local = elsewhere::local(root.path()).await;
    let agent = Server::agent(elsewhere::offer(local)).await;
    let host = Host::builder(base.path())
        .state_dir(shared_state("state"))
        .shared_code(shared_code().join("toolhost"))
        .spawner(spawner())
        .sandbox(without_namespaces())
        .agents(elsewhere::agents("one", &agent.url));
    let host = host.start().await.unwrap();
    let server = Server::start(ServerParts::from(host.clone())).await;
    let made = server.request(reqwest::Method::PUT, "/v1/workspaces/one");
    let made = made
        .json(&json!({ "provider": "agent" }))
        .send()
        .await
        .unwrap();
    assert_eq!(made.status(), 200);
    std::fs::write(root.path().join("a"), "a: old\n").unwrap();
    std::fs::write(root.path().join("b"), "b: old\n").unwrap();
    let patch = "*** Begin Patch
*** Update File: a
*** Move to: moved/a
@@
-a: old
+a: new
*** Delete File: b
*** Add File: c
+c
*** End Patch";
    let call =
        json!({ "tool": "apply_patch", "arguments": { "patch": patch }, "workspace": "one" });
    let (status, reply) = server.put("a", "1", call.clone()).await;
    assert_eq!(
        (status, &reply["is_error"]),
        (200, &json!(false)),
        "{reply}"
    );
    assert_eq!(names(root.path()), ["c", "moved"]);
    assert_eq!(
        std::fs::read(root.path().join("moved/a")).unwrap(),
        b"a: new\n"
    );
    let (status, again) = server.put("a", "2", call).await;
    assert_eq!((status, &again["is_error"]), (200, &json!(true)), "{again}");
    assert_eq!(names(root.path()), ["c", "moved"]);
    assert!(names(base.path()).is_empty());
    server.stop().await;
    host.shutdown().await;
}

#[tokio::test]
async fn the_formats_of_openai_offer_it_and_others_if_it_is_named() {
    use toolhost_call::call::Actor;
    use toolhost_core::{Format, Offer};
    let offered = |setup: &Setup, actor: &Actor, format: Format| {
        let tools = setup.host.offered(actor, format);
        tools.iter().any(|tool| tool.name == "apply_patch")
    };
    let all = Actor::new("all");
    let named = Actor::new("named").with_tools(["apply_patch".to_owned()].into());
    let other = Actor::new("other").with_tools(["read_file".to_owned()].into());
    let setup = Setup::new().await;
    for &format in Format::ALL {
        let is_openai = matches!(format, Format::OpenAi | Format::OpenAiResponses);
        assert_eq!(offered(&setup, &all, format), is_openai, "{format}");
        assert!(offered(&setup, &named, format), "{format}");
        assert!(!offered(&setup, &other, format), "{format}");
    }
    setup.host.shutdown().await;
    let offer = Offer {
        named: vec!["apply_patch".to_owned()],
        ..Offer::default()
    };
    let setup = Setup::with(|builder| builder.offer(offer)).await;
    for &format in Format::ALL {
        assert!(offered(&setup, &all, format), "{format}");
    }
    setup.host.shutdown().await;
}
