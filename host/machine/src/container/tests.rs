//! Tests of the engine that runs containers.

#![expect(
    clippy::disallowed_methods,
    reason = "the test makes its image by the engine"
)]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;
use toolhost_needs::needs;

use super::*;
use crate::{Connect, Keys};

fn machine(socket: &Path, name: &str) -> Machine {
    // Another run of the test must not find these containers.
    let keys = Keys::new(blake3::hash(socket.as_os_str().as_encoded_bytes()).as_bytes());
    let workspace = name.parse().unwrap();
    Machine {
        id: keys.id(&workspace),
        template: "box".to_owned(),
        parameters: Default::default(),
        connect: Connect {
            socket: socket.to_owned(),
            token: keys.token(&workspace),
        },
        workspace,
    }
}

fn config(image: &str) -> ContainerConfig {
    serde_json::from_value(json!({ "image": image })).unwrap()
}

#[test]
fn a_container_has_what_its_template_says() {
    let config: ContainerConfig = serde_json::from_value(json!({
        "image": "debian:12", "user": "1000", "cpus": "1.5", "memory": "2g", "pids": 100, "network": "none", "workdir": "/w",
        "mounts": ["/srv/cache:/cache:ro"], "environment": { "LANG": "C" }, "arguments": ["--init"],
        "agent_arguments": ["--sandbox", "off"],
    }))
    .unwrap();
    let engine = Container::new(config, "/usr/bin/agent".into(), "host".into());
    let machine = machine(Path::new("/state/run/host.sock"), "team/a");
    let line = engine.creation(&machine).join(" ");
    let id = &machine.id;
    assert_eq!(
        line,
        format!(
            "create --name {id} --label toolhost.host=host --label toolhost.workspace=team/a \
             --volume /usr/bin/agent:/run/toolhost-agent:ro --volume /state/run:/run/toolhost:ro --env TOOLHOST_TOKEN \
             --entrypoint /run/toolhost-agent --user 1000 --cpus 1.5 --memory 2g --network none --workdir /w --pids-limit 100 \
             --volume /srv/cache:/cache:ro --env LANG=C --init debian:12 --connect unix:/run/toolhost/host.sock --name team/a \
             --sandbox off"
        )
    );
    assert!(!line.contains(machine.connect.token.reveal()));
}

#[test]
fn a_key_that_is_unknown_is_an_error() {
    let read = serde_json::from_value::<ContainerConfig>(json!({ "image": "a", "cpu": 1 }));
    assert!(
        read.unwrap_err()
            .to_string()
            .contains("unknown field `cpu`")
    );
}

/// The images of a test, which are removed with it.
struct Image(String);

/// The options that podman needs where the control groups are not those of systemd, and where limits cannot be raised.
const ENGINE: [&str; 4] = ["podman", "--cgroup-manager=cgroupfs", "--runtime", "runc"];
const LIMITS: [&str; 4] = [
    "--ulimit",
    "nofile=1024:1024",
    "--ulimit",
    "nproc=1024:1024",
];

impl Image {
    /// Makes an image with a busybox that is linked statically.
    fn new(directory: &Path) -> Self {
        let root = directory.join("root");
        for made in ["bin", "run", "tmp"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        std::fs::copy("/bin/busybox", root.join("bin/busybox")).unwrap();
        std::os::unix::fs::symlink("busybox", root.join("bin/sh")).unwrap();
        let tar = directory.join("root.tar");
        let packed = std::process::Command::new("tar")
            .args([
                "-C",
                root.to_str().unwrap(),
                "-cf",
                tar.to_str().unwrap(),
                ".",
            ])
            .status();
        assert!(packed.unwrap().success());
        let name = format!("localhost/toolhost-test-{}", std::process::id());
        podman(&["import", tar.to_str().unwrap(), &name]);
        Self(name)
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        podman(&["rmi", "--force", &self.0]);
    }
}

fn podman(arguments: &[&str]) -> String {
    let ran = std::process::Command::new("podman")
        .args(arguments)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{arguments:?}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

#[needs(root, program = "podman", program = "runc", program = "busybox")]
#[tokio::test]
async fn a_container_is_made_started_stopped_and_removed_once() {
    let directory = tempfile::tempdir().unwrap();
    let image = Image::new(directory.path());
    // In the place of the agent, a script that notes its start in the container, and its arguments where the host sees them.
    let agent = directory.path().join("agent");
    let script = "#!/bin/sh\nset -e\necho starts >> /starts\necho \"$TOOLHOST_TOKEN $*\" > /noted/line\n\
         busybox cat /starts > /noted/starts.new\nbusybox mv /noted/starts.new /noted/starts\necho ready\n\
         trap 'exit 0' TERM\nwhile :; do busybox sleep 1; done\n";
    std::fs::write(&agent, script).unwrap();
    std::fs::set_permissions(&agent, Permissions::from_mode(0o755)).unwrap();
    let noted = directory.path().join("noted");
    std::fs::create_dir(&noted).unwrap();
    let run = directory.path().join("run");
    std::fs::create_dir(&run).unwrap();
    let config = ContainerConfig {
        engine: ENGINE.map(str::to_owned).to_vec(),
        arguments: LIMITS.map(str::to_owned).to_vec(),
        network: Some("none".to_owned()),
        mounts: vec![format!("{}:/noted", noted.display())],
        environment: [("PATH".to_owned(), "/bin".to_owned())].into(),
        ..config(&image.0)
    };
    let engine = Container::new(config, agent, "test".to_owned() + &image.0);
    let (one, log) = (machine(&run.join("host.sock"), "team/a"), Log::default());
    let status = async || engine.status(&one, &log).await.unwrap();
    assert_eq!(status().await, Standing::Missing);
    for _ in 0..2 {
        engine.create(&one, &log).await.unwrap();
        assert_eq!(status().await, Standing::Stopped);
    }
    let mut starts = Vec::new();
    for round in 1..=2 {
        for _ in 0..2 {
            engine.start(&one, &log).await.unwrap();
        }
        let Standing::Running { since } = status().await else {
            panic!("{}", log.text());
        };
        starts.push(since);
        // The files of the first start are there after the second one.
        let all = "starts\n".repeat(round);
        while std::fs::read_to_string(noted.join("starts")).unwrap_or_default() != all {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        for _ in 0..2 {
            engine.stop(&one, &log).await.unwrap();
            assert_eq!(status().await, Standing::Stopped);
        }
    }
    assert_ne!(starts[0], starts[1]);
    let line = std::fs::read_to_string(noted.join("line")).unwrap();
    let token = one.connect.token.reveal();
    assert_eq!(
        line,
        format!("{token} --connect unix:/run/toolhost/host.sock --name team/a\n")
    );
    engine.tell(&one, &log).await.unwrap();
    assert!(log.text().contains("ready"), "{}", log.text());

    // Of two containers, one is of a workspace that is gone.
    let other = machine(&run.join("host.sock"), "b");
    engine.create(&other, &log).await.unwrap();
    let is_kept = |id: &str| id == one.id;
    let swept = engine.sweep(&is_kept, &log).await.unwrap();
    assert_eq!(swept, [other.id.as_str()]);
    assert_eq!(engine.status(&other, &log).await, Ok(Standing::Missing));
    for _ in 0..2 {
        engine.remove(&one, &log).await.unwrap();
        assert_eq!(status().await, Standing::Missing);
    }
    assert_eq!(engine.sweep(&|_| false, &log).await, Ok(Vec::new()));
}
