//! `toolhost serve`.

use std::io::{BufRead as _, BufReader};

use super::*;

#[tokio::test]
async fn processes_stay_with_a_server_until_it_ends() {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = server(workspace.path());
    command.env("TOOLHOST_TOKEN", TOKEN);
    let mut serving = Serving::start(command);
    let call = |arguments: &[&str]| {
        let mut command = client();
        command
            .env("TOOLHOST_TOKEN", TOKEN)
            .args(arguments)
            .args(["--server", &serving.url]);
        command.output().unwrap()
    };
    let started = call(&[
        "call",
        "execute",
        r#"{"command":"echo $$ > pid; exec sleep 1000 &"}"#,
        "--chat",
        "x",
    ]);
    assert!(json_of(&started).get("ended_processes").is_none());
    let pid: u32 = file(&workspace.path().join("pid"))
        .await
        .trim()
        .parse()
        .unwrap();
    let listed = json_of(&call(&["call", "process_list", "--chat", "x"]));
    assert_eq!(listed["processes"][0]["running"], true);
    // The same id again is the same call.
    let once = [
        "call",
        "execute",
        r#"{"command":"echo x >> counter; cat counter"}"#,
        "--call",
        "c?#%1",
    ];
    assert_eq!(json_of(&call(&once)), json_of(&call(&once)));
    let mismatch = call(&[
        "call",
        "execute",
        r#"{"command":"true"}"#,
        "--call",
        "c?#%1",
    ]);
    assert!(
        text(&mismatch.stderr).contains("409"),
        "{}",
        text(&mismatch.stderr)
    );
    assert_eq!(mismatch.status.code(), Some(2));
    assert_eq!(call(&["call", "execute", "{}"]).status.code(), Some(1));
    let tools: Value = serde_json::from_slice(&call(&["tools", "--format", "mcp"]).stdout).unwrap();
    assert_eq!(tools["tools"][0]["name"], "execute");
    let strict = |format: &str| call(&["tools", "--strict", "--format", format]);
    let tools: Value = serde_json::from_slice(&strict("openai-responses").stdout).unwrap();
    assert_eq!(tools[0]["strict"], true);
    assert_eq!(
        text(&strict("gemini").stderr).trim(),
        "toolhost: the format gemini has no strict mode; use --strict with --format openai or openai-responses"
    );
    assert!(is_alive(pid));
    let status = serving.signal(nix::sys::signal::Signal::SIGTERM);
    assert_eq!(status.code(), Some(0));
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn a_new_token_is_kept_in_a_file_where_nobody_reads_along() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = tempfile::tempdir().unwrap();
    let mut serving = Serving::start(server(workspace.path()));
    let path = serving
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("token file: "))
        .unwrap()
        .to_owned();
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let token = std::fs::read_to_string(&path).unwrap();
    assert!(token.len() == 64 && !serving.stderr.contains(&token));
    let call = |token_file: &str| {
        let mut command = client();
        command.args([
            "call",
            "process_list",
            "--server",
            &serving.url,
            "--token-file",
            token_file,
        ]);
        command.output().unwrap()
    };
    assert_eq!(call(&path).status.code(), Some(0));
    let wrong = workspace.path().join("wrong");
    std::fs::write(&wrong, "wrong").unwrap();
    std::fs::set_permissions(&wrong, std::fs::Permissions::from_mode(0o600)).unwrap();
    let refused = call(wrong.to_str().unwrap());
    assert!(text(&refused.stderr).contains("401") && refused.status.code() == Some(2));
    assert_eq!(
        serving.signal(nix::sys::signal::Signal::SIGINT).code(),
        Some(0)
    );
    assert!(!Path::new(&path).exists(), "the token outlives its server");
}

/// A server that is killed leaves its token behind, which the next one removes, whatever its port; that of one that runs stays.
#[test]
fn the_token_of_a_server_that_was_killed_is_removed_by_the_next() {
    let state = tempfile::tempdir().unwrap();
    let serve = || {
        let mut command = client();
        command.env("XDG_STATE_HOME", state.path()).arg("agent");
        let serving = Serving::of(command);
        let mut lines = serving.stderr.lines();
        let path = lines.find_map(|line| line.strip_prefix("token file: "));
        let path = std::path::PathBuf::from(path.unwrap());
        (serving, path)
    };
    let (_running, token) = serve();
    let (mut killed, stale) = serve();
    killed.signal(nix::sys::signal::Signal::SIGKILL);
    assert!(token.exists() && stale.exists());
    let (_next, new) = serve();
    assert!(token.exists() && new.exists());
    assert!(new == stale || !stale.exists());
}

/// Also by one that has its token from elsewhere.
#[test]
fn a_stale_token_goes_where_no_new_one_is_made() {
    let workspace = tempfile::tempdir().unwrap();
    let mut killed = Serving::start(server(workspace.path()));
    let mut lines = killed.stderr.lines();
    let stale = lines.find_map(|line| line.strip_prefix("token file: "));
    let stale = std::path::PathBuf::from(stale.unwrap());
    killed.signal(nix::sys::signal::Signal::SIGKILL);
    assert!(stale.exists());
    let mut command = server(workspace.path());
    command.env("TOOLHOST_TOKEN", TOKEN);
    let _next = Serving::start(command);
    assert!(!stale.exists());
}

#[test]
fn a_token_file_of_a_successor_is_left_alone() {
    let workspace = tempfile::tempdir().unwrap();
    let mut serving = Serving::start(server(workspace.path()));
    let mut lines = serving.stderr.lines();
    let path = lines.find_map(|line| line.strip_prefix("token file: "));
    let path = path.unwrap().to_owned();
    std::fs::write(&path, "f".repeat(64)).unwrap();
    serving.signal(nix::sys::signal::Signal::SIGINT);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "f".repeat(64));
}

#[tokio::test]
async fn a_server_goes_on_although_nobody_reads_its_log() {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = server(workspace.path());
    command
        .env("TOOLHOST_TOKEN", TOKEN)
        .env("TOOLHOST_LOG", "debug")
        .args(["serve", "--listen", "127.0.0.1:0"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let url = lines
        .find_map(|line| Some(line.unwrap().strip_prefix("listening on ")?.to_owned()))
        .unwrap();
    drop(lines);
    for _ in 0..2 {
        let mut call = client();
        call.env("TOOLHOST_TOKEN", TOKEN).args([
            "call",
            "execute",
            r#"{"command":"echo hi"}"#,
            "--server",
            &url,
        ]);
        assert_eq!(json_of(&call.output().unwrap())["output"], "hi\n");
    }
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(finished(child).await.status.code(), Some(0));
}

#[test]
fn connections_take_only_some_of_the_descriptors() {
    let workspace = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -n 128; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_toolhost"))
        .arg("--workspace")
        .arg(workspace.path())
        .arg("--state-dir")
        .arg(with_code(workspace.path().join(".state"), None))
        .arg("--workspace-anyway")
        .env("TOOLHOST_TOKEN", TOKEN);
    let mut serving = Serving::start(command);
    let address = serving.url.trim_start_matches("http://").to_owned();
    let connect = || std::net::TcpStream::connect(&address).unwrap();
    let idle: Vec<_> = (0..100).map(|_| connect()).collect();
    // Those that ask for nothing make room.
    let mut last = connect();
    last.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .unwrap();
    let answer = std::io::read_to_string(last).unwrap();
    drop(idle);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    serving.signal(nix::sys::signal::Signal::SIGTERM);
    let rest = serving.rest();
    assert!(!rest.contains("accept"), "{rest}");
}

#[test]
fn no_command_of_the_same_user_can_read_the_memory_of_the_host() {
    const NOBODY: u32 = 65534;
    let base = tempfile::tempdir().unwrap();
    let directory = base.path().join("nobody");
    std::fs::create_dir(&directory).unwrap();
    let program = base.path().join("toolhost");
    let built = env!("CARGO_BIN_EXE_toolhost");
    std::fs::hard_link(built, &program)
        .or_else(|_| std::fs::copy(built, &program).map(|_| ()))
        .unwrap();
    let mut command = Command::new(program);
    // Root may read everything, so that nothing would be shown.
    let user = nix::unistd::geteuid().is_root().then_some(NOBODY);
    let state = with_code(directory.join("state"), user);
    if user.is_some() {
        std::fs::set_permissions(
            base.path(),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
        std::os::unix::fs::chown(&directory, Some(NOBODY), Some(NOBODY)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
    command
        .arg("--workspace")
        .arg(&directory)
        .arg("--state-dir")
        .arg(state)
        .arg("--workspace-anyway");
    command.env("TOOLHOST_TOKEN", "canary-of-the-host");
    let probe = r#"{"command":"cat /proc/$PPID/environ; ls /proc/$PPID/fd; env; echo end"}"#;
    let output = command.args(["call", "execute", probe]).output().unwrap();
    let reply = json_of(&output);
    let shown = reply["output"].as_str().unwrap();
    assert!(
        shown.contains("Permission denied") && shown.ends_with("end\n"),
        "{reply}"
    );
    assert!(!shown.contains("canary"), "{reply}");
}

#[test]
fn systemd_is_notified_of_start_reload_and_stop() {
    let workspace = tempfile::tempdir().unwrap();
    let path = workspace.path().join("notify");
    let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    socket
        .set_read_timeout(Some(crate::harness::PATIENCE))
        .unwrap();
    let message = || {
        let mut bytes = [0; 512];
        let length = socket.recv(&mut bytes).unwrap();
        text(&bytes[..length]).trim_end().to_owned()
    };
    let mut command = server(workspace.path());
    command
        .env("TOOLHOST_TOKEN", TOKEN)
        .env("NOTIFY_SOCKET", &path);
    let mut serving = Serving::start(command);
    assert_eq!(message(), "READY=1");
    // What a unit of the type `notify-reload` waits for.
    let pid = nix::unistd::Pid::from_raw(i32::try_from(serving.child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGHUP).unwrap();
    let reloading = message();
    let time = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=");
    assert!(time.unwrap().parse::<u64>().unwrap() > 0);
    assert_eq!(message(), "READY=1");
    let status = serving.signal(nix::sys::signal::Signal::SIGTERM);
    assert!(status.success());
    assert_eq!(message(), "STOPPING=1");
}
