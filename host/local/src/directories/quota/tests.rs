//! Tests of quotas, on file systems that they mount.
#![expect(
    clippy::disallowed_methods,
    reason = "mounts, and writes of a process without the host's exemption from quotas"
)]

use std::fs;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use tempfile::TempDir;
use toolhost_needs::needs;
use toolhost_workspace::files::{Precondition, Write};
use toolhost_workspace::{DirectorySpec, Opened, Provider, Spec};

use super::*;
use crate::directories::Directories;
use crate::directories::tests::{claim, local, name};

/// A file system in a file, which is unmounted when this value is dropped.
struct Disk {
    place: TempDir,
    _image: tempfile::NamedTempFile,
}

impl Disk {
    fn new(kind: &str, options: &str) -> Self {
        let (place, image) = (
            TempDir::new().unwrap(),
            tempfile::NamedTempFile::new().unwrap(),
        );
        // XFS has 300 MiB at least.
        image.as_file().set_len(320 << 20).unwrap();
        let features: &[&str] = match kind {
            "ext4" => &["-O", "quota,project", "-E", "quotatype=prjquota"],
            _ => &[],
        };
        let path = image.path().to_str().unwrap();
        run(&format!("mkfs.{kind}"), &[features, &["-q", path]].concat());
        run(
            "mount",
            &["-o", options, path, place.path().to_str().unwrap()],
        );
        Self {
            place,
            _image: image,
        }
    }

    fn root(&self) -> PathBuf {
        self.place.path().join("root")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        run("umount", &["-l", self.place.path().to_str().unwrap()]);
    }
}

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(
        output.status.success() || std::thread::panicking(),
        "{output:?}"
    );
}

/// Runs a command as root without the exemption from quotas, as the sandbox does.
fn shell(script: &str, directory: &Path) -> Output {
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-sys_resource", "sh", "-c", script]);
    command
        .current_dir(directory)
        .env("LC_ALL", "C")
        .output()
        .unwrap()
}

fn spec(bytes: u64, files: u64) -> Spec {
    let quota = Quota {
        bytes: Some(bytes),
        files: Some(files),
        required: true,
    };
    Spec::Directory(DirectorySpec {
        quota: Some(quota),
        ..DirectorySpec::default()
    })
}

async fn provider(disk: &Disk, base: &TempDir) -> Directories {
    let local = local(base.path(), Vec::new()).await;
    let mut directories = claim(&disk.root()).unwrap().offer(local).unwrap();
    // The commands of this test change no projects.
    directories.quotas = Arc::new(Quotas::new(&disk.root(), true));
    directories
}

fn id(directory: &Path) -> u32 {
    own_project(directory).unwrap().unwrap().1
}

/// Checks that a directory takes no more than 1 MiB and 9 files besides itself.
fn is_bounded(directory: &Path, error: &str) {
    let large = shell(
        "dd if=/dev/zero of=large bs=64k count=32 conv=fsync",
        directory,
    );
    let said = String::from_utf8_lossy(&large.stderr);
    assert!(said.contains(error), "{said}");
    assert!(fs::metadata(directory.join("large")).unwrap().len() <= 1 << 20);
    let many = shell(
        "rm large && for n in 1 2 3 4 5 6 7 8 9 10 11; do : > $n; done",
        directory,
    );
    let said = String::from_utf8_lossy(&many.stderr);
    assert!(said.contains(error), "{said}");
    assert_eq!(fs::read_dir(directory).unwrap().count(), 9);
    let removed = shell("rm *", directory);
    assert!(removed.status.success(), "{removed:?}");
}

/// Checks that the host, which is root, writes no more than 1 MiB either.
fn write_is_refused(opened: &Opened) {
    let write = Write {
        path: "large".to_owned(),
        data: vec![b'x'; 2 << 20],
        when: Precondition::Any,
    };
    // On a new thread, which has all rights of the host.
    let write = || {
        let written = opened.workspace.write_files(vec![write], Arc::default());
        tokio::runtime::Runtime::new().unwrap().block_on(written)
    };
    let written = std::thread::scope(|scope| scope.spawn(write).join().unwrap());
    let (_, error) = written.unwrap_err();
    assert!(error.to_string().contains("no space left"), "{error}");
}

async fn quotas_hold(kind: &str, error: &str) {
    let (disk, base) = (Disk::new(kind, "loop,prjquota"), TempDir::new().unwrap());
    let directories = provider(&disk, &base).await;
    // The directory and its home are two of the files.
    let (small, large, free) = (spec(1 << 20, 11), spec(8 << 20, 100), Spec::default());
    let opened = directories.open(&name("small"), &small).await.unwrap();
    assert_eq!(opened.gaps, [""; 0]);
    directories.open(&name("large"), &large).await.unwrap();
    directories.open(&name("free"), &free).await.unwrap();
    let path = |name: &str| disk.root().join(name);
    let first = id(&path("small"));
    is_bounded(&path("small"), error);
    let home = disk.root().join("+homes/small");
    assert_eq!(id(&home), first);
    is_bounded(&home, error);
    for other in ["large", "free"] {
        let written = shell(
            "dd if=/dev/zero of=x bs=64k count=32 conv=fsync",
            &path(other),
        );
        assert!(written.status.success(), "{written:?}");
    }
    assert!(own_project(&path("free")).unwrap().is_none());
    write_is_refused(&opened);
    drop((opened, directories));

    // The next host finds the id, and sets the limits again.
    let root = File::open(disk.root()).unwrap();
    sys::set_limits(&root, first, &Quota::default()).unwrap();
    let directories = provider(&disk, &base).await;
    directories.open(&name("small"), &small).await.unwrap();
    assert_eq!(id(&path("small")), first);
    is_bounded(&path("small"), error);
    directories.open(&name("further"), &small).await.unwrap();
    let mut ids = ["small", "large", "further"].map(|name| id(&path(name)));
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "{ids:?}");

    fs::write(path("small").join("file"), "x").unwrap();
    directories.remove(&name("small"), &small).await.unwrap();
    // XFS forgets the files of a project a moment later.
    for _ in 0..3000 {
        if !sys::is_used(&root, first).unwrap() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the project of a removed workspace has limits or files");
}

#[needs(quota = "ext4")]
#[tokio::test]
async fn quotas_hold_on_ext4() {
    quotas_hold("ext4", "Disk quota exceeded").await;
}

#[needs(quota = "xfs")]
#[tokio::test]
async fn quotas_hold_on_xfs() {
    quotas_hold("xfs", "No space left on device").await;
}

/// Returns why quotas below this root are not enforced.
fn obstacle(root: &Path, is_filtered: bool) -> String {
    let quotas = Quotas::new(root, is_filtered);
    let required = |required| Quota {
        required,
        ..Quota::default()
    };
    quotas.check(&required(false)).unwrap();
    let refused = quotas.check(&required(true)).unwrap_err();
    assert!(matches!(refused, ProviderError::Invalid(_)), "{refused:?}");
    refused.to_string()
}

#[test]
fn a_file_system_without_quotas_is_named() {
    let text = obstacle(Path::new("/proc"), true);
    assert!(text.contains("mount it with the option prjquota"), "{text}");
}

#[tokio::test]
async fn without_a_sandbox_no_quota_is_enforced() {
    let base = TempDir::new().unwrap();
    let local = local(base.path(), Vec::new()).await;
    let root = base.path().join("root");
    let directories = claim(&root).unwrap().offer(local).unwrap();
    directories.check(&name("w"), &spec(1, 1)).unwrap_err();
    directories.open(&name("w"), &spec(1, 1)).await.unwrap_err();
    assert!(!root.join("w").exists());
    let spec = Spec::Directory(DirectorySpec {
        quota: Some(Quota::default()),
        ..DirectorySpec::default()
    });
    directories.check(&name("w"), &spec).unwrap();
    let opened = directories.open(&name("w"), &spec).await.unwrap();
    let [gap] = &opened.gaps[..] else {
        panic!("{:?}", opened.gaps);
    };
    assert!(gap.contains("turn the sandbox on"), "{gap}");
}

#[needs(quota = "ext4")]
#[tokio::test]
async fn an_obstacle_of_a_file_system_with_quotas_is_named() {
    let counting = Disk::new("ext4", "loop");
    assert!(obstacle(counting.place.path(), true).contains("enforces no project quotas"));
    let disk = Disk::new("ext4", "loop,prjquota");
    let root = disk.root();
    fs::create_dir(&root).unwrap();
    let without_right = std::thread::scope(|scope| {
        let ask = || {
            let mut own = capabilities(None).unwrap();
            own.effective.remove(CapabilitySet::SYS_ADMIN);
            set_capabilities(None, own).unwrap();
            obstacle(&root, true)
        };
        scope.spawn(ask).join().unwrap()
    });
    assert!(without_right.contains("CAP_SYS_ADMIN"), "{without_right}");

    // A workspace from a time without quotas.
    fs::create_dir(root.join("old")).unwrap();
    let quotas = Quotas::new(&root, true);
    let gap = quotas
        .enforce(&root.join("old"), &Quota::default())
        .unwrap();
    assert!(gap.unwrap().contains("make it again"));

    sys::set_project(&File::open(&root).unwrap(), 7).unwrap();
    assert!(obstacle(&root, true).contains("chattr -P"));
}
