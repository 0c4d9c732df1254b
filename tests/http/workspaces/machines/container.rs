//! Workspaces that are containers of podman, without a network, with the real agent in them.

use std::process::Command;

use toolhost_needs::needs;

use super::*;

/// Keys that a template needs besides its image: podman where the control groups are not those of systemd, and limits cannot be raised.
const TEMPLATE: &str = "[templates.box]\nprovider = 'container'\nengine = ['podman', '--cgroup-manager=cgroupfs', '--runtime', 'runc']\n\
     arguments = ['--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=1024:1024']\nnetwork = 'none'\nworkdir = '/work'\n\
     agent = 'agent'\nagent_arguments = ['--sandbox', 'off', '--log', 'error']\nstart_up = 'echo starts >> started'\n";

/// An image with busybox and the libraries of the program. It is removed with the test, and the containers of the test as well.
struct Image(String);

impl Image {
    fn new(base: &Path) -> Self {
        let root = base.join("image");
        for made in ["bin", "root", "run", "tmp", "work"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        std::fs::copy("/bin/busybox", root.join("bin/busybox")).unwrap();
        for name in ["sh", "cat", "sleep"] {
            std::os::unix::fs::symlink("busybox", root.join("bin").join(name)).unwrap();
        }
        let libraries = ran(Command::new("ldd").arg(program()));
        let libraries = libraries
            .split_whitespace()
            .filter(|word| word.starts_with('/'));
        for library in libraries {
            let copy = root.join(library.trim_start_matches('/'));
            std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
            std::fs::copy(library, copy).unwrap();
        }
        let tar = base.join("image.tar");
        ran(Command::new("tar")
            .arg("-C")
            .arg(&root)
            .arg("-cf")
            .arg(&tar)
            .arg("."));
        let name = format!("localhost/toolhost-workspaces-{}", std::process::id());
        podman(&["import", tar.to_str().unwrap(), &name]);
        Self(name)
    }

    /// The containers of this image.
    fn containers(&self) -> Vec<String> {
        let of_image = format!("ancestor={}", self.0);
        let all = podman(&["ps", "--all", "--quiet", "--filter", &of_image]);
        all.lines().map(str::to_owned).collect()
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        for container in self.containers() {
            podman(&["rm", "--force", &container]);
        }
        podman(&["rmi", "--force", &self.0]);
    }
}

fn podman(arguments: &[&str]) -> String {
    ran(Command::new("podman").args(arguments))
}

fn ran(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[needs(root, program = "podman", program = "runc", program = "busybox")]
#[tokio::test(flavor = "multi_thread")]
async fn a_container_keeps_its_files_whatever_is_killed() {
    let base = tempfile::tempdir().unwrap();
    let image = Image::new(base.path());
    let agent = base.path().join("agent");
    let script = "#!/bin/sh\nexec /host/toolhost agent \"$@\"\n";
    std::fs::write(&agent, script).unwrap();
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
    let programs = program().parent().unwrap().display();
    let config = format!(
        "{TEMPLATE}image = '{}'\nmounts = ['{programs}:/host:ro']\n",
        image.0
    );
    let mut machines = Machines::of(base, &config);

    machines.put("team/a", "box").await;
    let output = machines.run("c", "team/a", "echo x > file; pwd").await;
    assert_eq!(output, "/work\n");
    assert_eq!(machines.state("team/a").await, "ready");
    let containers = image.containers();
    let [container] = &containers[..] else {
        panic!("{containers:?}")
    };
    assert_eq!(machines.act("team/a", "stop").await.1["state"], "stopped");
    assert_eq!(
        machines.run("c", "team/a", "cat file started").await,
        "x\nstarts\nstarts\n"
    );
    machines.crash();
    assert_eq!(
        machines.run("c", "team/a", "cat file started").await,
        "x\nstarts\nstarts\n"
    );
    podman(&["kill", container]);
    while machines.call("c", "team/a", "true").await.0 != 200 {
        a_moment().await;
    }
    assert_eq!(
        machines.run("c", "team/a", "cat file started").await,
        "x\nstarts\nstarts\nstarts\n"
    );
    assert_eq!(image.containers(), [container.as_str()]);

    let removed = machines.ask(Method::DELETE, "/v1/workspaces/team/a?force=true", None);
    assert_eq!(removed.await.0, 200);
    assert!(image.containers().is_empty());
}
