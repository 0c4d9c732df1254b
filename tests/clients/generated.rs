//! Clients that are generated from `/openapi.json`, compiled, and used for a call.

use toolhost_needs::needs;

use super::*;

/// Starts a server, and writes its description where a generator finds it.
pub(super) async fn described(workspace: &Path) -> (Serving, PathBuf) {
    let serving = serving(workspace, &[]);
    let client = crate::harness::client();
    let url = format!("{}/openapi.json", serving.url);
    let description = client.get(&url).bearer_auth(TOKEN).send().await.unwrap();
    let file = workspace.join("openapi.json");
    std::fs::write(&file, description.bytes().await.unwrap()).unwrap();
    (serving, file)
}

/// Runs a program that must succeed, and returns what it printed.
async fn succeeds(command: Command) -> String {
    let output = run(command).await;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}: {stdout}\n{stderr}",
        output.status
    );
    stdout
}

#[needs(client = "openapi-python")]
#[tokio::test]
async fn a_client_in_python() {
    let installed = prepared("openapi-python");
    let workspace = tempfile::tempdir().unwrap();
    let (serving, description) = described(workspace.path()).await;
    let directory = tempfile::tempdir().unwrap();
    let program = |name: &str| {
        let mut command = clean(installed.join("bin").join(name));
        command.current_dir(directory.path());
        // The generator formats what it writes with ruff.
        let path = std::env::var("PATH").unwrap_or_default();
        command.env(
            "PATH",
            format!("{}:{path}", installed.join("bin").display()),
        );
        command
    };
    let mut generate = program("openapi-python-client");
    generate.args([
        "generate",
        "--meta",
        "none",
        "--output-path",
        "toolhost_client",
    ]);
    generate.arg("--path").arg(&description);
    succeeds(generate).await;
    let mut compile = program("python");
    compile.args(["-m", "compileall", "-q", "toolhost_client"]);
    succeeds(compile).await;
    let script = root().join("tests/clients/openapi-python/call.py");
    std::fs::copy(script, directory.path().join("call.py")).unwrap();
    // The generator's own `client.py` does not pass.
    let mut types = program("mypy");
    types.args(["--follow-imports", "silent", "-p", "toolhost_client.api"]);
    types.args(["-p", "toolhost_client.models", "-m", "call"]);
    succeeds(types).await;
    let mut call = program("python");
    call.args(["call.py", &serving.url, TOKEN]);
    assert_eq!(succeeds(call).await, "hello\n");
}

#[needs(client = "openapi-typescript")]
#[tokio::test]
async fn a_client_in_typescript() {
    let installed = prepared("openapi-typescript");
    let workspace = tempfile::tempdir().unwrap();
    let (serving, description) = described(workspace.path()).await;
    let modules = installed.join("node_modules");
    let directory = scripts(&modules, "tests/clients/openapi-typescript");
    let program = |name: &str| {
        let mut command = clean(modules.join(".bin").join(name));
        command.current_dir(directory.path());
        command
    };
    let mut generate = program("openapi-typescript");
    generate.arg(&description).args(["--output", "schema.d.ts"]);
    succeeds(generate).await;
    succeeds(program("tsc")).await;
    let mut call = clean("node");
    call.current_dir(directory.path());
    call.args(["dist/call.js", &serving.url, TOKEN]);
    assert_eq!(succeeds(call).await, "hello\n");
}
