//! Scratch directories: a script has one, and the host removes it.

use std::path::{Path, PathBuf};

use reqwest::Method;
use toolhost_core::PublicAddress;

use super::*;
use crate::harness::{Server, elsewhere};

/// Returns the directory of all scratch directories of a workspace.
fn all(setup: &Setup) -> PathBuf {
    setup.root().join(".toolhost/scratch")
}

/// Returns the names in a directory; none if it does not exist.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[tokio::test]
async fn a_scratch_directory_is_there_for_commands_and_files_until_the_end_of_the_script() {
    let setup = with_scripts().await;
    std::fs::write(setup.root().join("kept"), "").unwrap();
    let code = "
        const workdir = scratch();
        await tools.write_file({ path: `${workdir}/deep/a.txt`, content: 'one' });
        const { output } = await tools.execute({ command: 'cat deep/a.txt; pwd', workdir });
        return [workdir, scratch() === workdir, output];";
    let ends = result(&setup.host, code).await;
    let workdir = ends[0].as_str().unwrap();
    assert!(
        Path::new(workdir).starts_with(setup.root().canonicalize().unwrap()),
        "{ends}"
    );
    assert_eq!(
        (&ends[1], &ends[2]),
        (&json!(true), &json!(format!("one{workdir}\n")))
    );
    assert_eq!(names(&all(&setup)), [""; 0]);
    assert!(setup.root().join("kept").exists());
}

#[tokio::test]
async fn a_scratch_directory_is_in_no_search_and_no_commit() {
    let setup = with_scripts().await;
    let code = "
        const workdir = scratch();
        await tools.write_file({ path: `${workdir}/a.txt`, content: 'needle' });
        const { success, output } = await tools.execute({ command: 'git init -q && git add -A && git status --porcelain' });
        const found = await tools.search_files({ pattern: 'needle' });
        return [success, output ?? '', JSON.stringify(found).includes('a.txt')];";
    let ends = result(&setup.host, code).await;
    assert_eq!(ends, json!([true, "", false]));
}

#[tokio::test]
async fn each_script_has_its_own_which_goes_also_if_it_fails() {
    let setup = with_scripts().await;
    let one = result(&setup.host, "return scratch()").await;
    let two = report(
        &setup.host,
        request(
            "chat",
            "run_script",
            &json!({ "code": "
        await tools.write_file({ path: `${scratch()}/a`, content: '' });
        throw new Error(scratch())" }),
        ),
    )
    .await;
    assert_eq!(two["success"], false, "{two}");
    assert_ne!(one, two["error"]["message"], "{two}");
    assert_eq!(names(&all(&setup)), [""; 0]);
}

#[tokio::test]
async fn a_shared_file_outlives_the_script() {
    let setup = with_scripts().await;
    setup.host.set_public_address(PublicAddress {
        origin: "https://toolhost.example".into(),
        ports: None,
    });
    let server = Server::start(setup.host.clone()).await;
    let code = "
        await tools.execute({ command: 'mkdir out && echo made > out/chart.txt', workdir: scratch() });
        return (await tools.share_file({ path: `${scratch()}/out/chart.txt` })).url";
    let url = result(&setup.host, code).await;
    let path = url
        .as_str()
        .unwrap()
        .strip_prefix("https://toolhost.example")
        .unwrap();
    let download = server.request(Method::GET, path).send().await.unwrap();
    assert_eq!(download.status(), 200);
    assert_eq!(download.text().await.unwrap(), "made\n");
    assert_eq!(names(&all(&setup)).len(), 1);
    // It goes when no link can lead there any more, with the next script that has one.
    let old = all(&setup).join("20000-00000000000000ff");
    std::fs::rename(all(&setup).join(&names(&all(&setup))[0]), &old).unwrap();
    std::fs::create_dir(all(&setup).join("of-somebody-else")).unwrap();
    result(&setup.host, "return scratch()").await;
    assert_eq!(names(&all(&setup)), ["of-somebody-else"]);
}

#[tokio::test]
async fn a_script_that_can_change_nothing_has_none() {
    let look = "/** Looks.\n * @readonly\n */\ntry { return scratch() } catch ({ name, kind }) { return [name, kind] }";
    let setup = with_library(&json!({ "look": look })).await;
    let looked = setup.call("look", json!({})).await;
    assert_eq!(looked["result"], json!(["ToolError", "denied"]), "{looked}");
    let bounded = Request {
        actor: actor("bounded").with_tools(["run_script", "read_file"].map(str::to_owned).into()),
        ..script("return scratch()")
    };
    let refused = report(&setup.host, bounded).await;
    assert_eq!(refused["success"], false, "{refused}");
    assert!(!all(&setup).exists());
}

#[tokio::test]
async fn at_an_agent_it_is_in_the_workspace_of_the_agent() {
    let place = tempfile::tempdir().unwrap();
    let agent = Server::agent(elsewhere::offer(elsewhere::local(place.path()).await)).await;
    let setup = changed(|builder| builder.agents(elsewhere::agents("one", &agent.url))).await;
    let server = Server::start(setup.host.clone()).await;
    let made = server
        .request(Method::PUT, "/v1/workspaces/one")
        .json(&json!({ "provider": "agent" }));
    assert_eq!(made.send().await.unwrap().status(), 200);
    let code = "
        const workdir = scratch();
        const { output } = await tools.execute({ command: 'echo one > a; ls -A', workdir });
        return [workdir, output];";
    let body = json!({ "tool": "run_script", "arguments": { "code": code }, "workspace": "one" });
    let reply = server
        .request(Method::PUT, "/v1/chats/a/calls/1")
        .json(&body)
        .send();
    let reply: Value = reply.await.unwrap().json().await.unwrap();
    let result = &reply["structured"]["result"];
    assert_eq!(result[1], ".gitignore\na\n", "{reply}");
    let workdir = Path::new(result[0].as_str().unwrap());
    assert!(
        workdir.starts_with(place.path().canonicalize().unwrap()),
        "{reply}"
    );
    assert!(!workdir.exists(), "{reply}");
    assert_eq!(names(&place.path().join(".toolhost/scratch")), [""; 0]);
}
