//! Tests of files that commands must not reach by any name.

use std::fs;

use toolhost_needs::needs;
use toolhost_sandbox::Mode;

use crate::fixture::{Fixture, User};

const DENIED: &str = "Permission denied";

for_each_user! {
    secrets_cannot_be_read[];
    secrets_cannot_be_linked[];
    nothing_outside_can_be_changed[];
    files_cannot_be_truncated_by_their_path[program = "python3"];
    processes_outside_are_no_way_to_files[];
    credentials_of_the_home_cannot_be_read[];
    what_is_beside_a_hidden_directory_can_be_read[];
    what_the_home_lends_can_only_be_read[];
    a_read_only_workspace_cannot_be_written[];
    settings_of_processes_and_kernel_cannot_be_written[];
    devices_work_and_none_can_be_made[];
    code_in_memory_is_confined_as_well[program = "python3"];
}

fn secrets_cannot_be_read(user: User) {
    let fixture = Fixture::new(user);
    for path in [
        "$OUTSIDE/secret",
        "../outside/secret",
        "/proc/self/root$OUTSIDE/secret",
        "/proc/self/cwd/../outside/secret",
        "/proc/thread-self/root$OUTSIDE/secret",
        "/dev/fd/../root$OUTSIDE/secret",
    ] {
        fixture.refused(&format!("cat {path}"), DENIED);
    }
    fixture.refused("ls $OUTSIDE", DENIED);
    fixture.refused("$OUTSIDE/program >/dev/null", DENIED);
    fixture.refused("sh $OUTSIDE/program >/dev/null", DENIED);
    fixture.refused("cat $ROOT/state/token", DENIED);
}

fn secrets_cannot_be_linked(user: User) {
    let fixture = Fixture::new(user);
    fixture.refused("ln -s $OUTSIDE/secret link && cat link", DENIED);
    fixture.refused("ln -s $OUTSIDE directory && cat directory/secret", DENIED);
    fixture.refused(
        "ln $OUTSIDE/secret hard && cat hard",
        "Invalid cross-device link",
    );
    fixture.refused("mv $OUTSIDE/secret stolen && cat stolen", DENIED);
    fixture.refused("mv $OUTSIDE taken && cat taken/secret", DENIED);
    fixture.refused("mv $WORK/file $OUTSIDE/file", DENIED);
}

fn nothing_outside_can_be_changed(user: User) {
    let fixture = Fixture::new(user);
    for script in [
        "echo x > $OUTSIDE/new",
        "echo x >> $OUTSIDE/secret",
        "echo x > $HOME/.bashrc",
        "echo x > $ROOT/state/token",
        "rm $OUTSIDE/secret",
        "mkdir $OUTSIDE/new",
        "mkfifo $OUTSIDE/new",
        "ln -s x $OUTSIDE/new",
        "rm -r $ROOT/data/keys",
        "echo x > $ROOT/data/open",
        "cp file $HOME/.ssh/authorized_keys",
        "rmdir $TEMP/../work/../data || rm -r $ROOT/data",
    ] {
        fixture.refused(script, DENIED);
    }
}

fn files_cannot_be_truncated_by_their_path(user: User) {
    let script = "
try:
    os.truncate(os.environ['OUTSIDE'] + '/secret', 0)
    print(0)
except OSError as error:
    print(error.errno)";
    Fixture::new(user).errno(script, nix::libc::EACCES);
}

fn processes_outside_are_no_way_to_files(user: User) {
    let fixture = Fixture::new(user);
    for path in [
        "/proc/$VICTIM/environ",
        "/proc/$VICTIM/maps",
        "/proc/$VICTIM/root$OUTSIDE/secret",
        "/proc/$VICTIM/cwd/secret",
        "/proc/$VICTIM/fd/0",
        "/proc/$VICTIM/task/$VICTIM/environ",
        "/proc/$VICTIM/auxv",
    ] {
        fixture.refused(&format!("cat {path} >copy"), DENIED);
    }
    fixture.refused("ls /proc/$VICTIM/fd/ /proc/$VICTIM/map_files/", DENIED);
    fixture.refused("readlink /proc/$VICTIM/exe", "");
    fixture.refused(": <> /proc/$VICTIM/mem", DENIED);
    fixture.fails("cat /proc/$PPID/environ >copy", DENIED);
}

fn credentials_of_the_home_cannot_be_read(user: User) {
    let mut fixture = Fixture::new(user);
    // Even if the whole home may be read.
    fixture.policy.read.push(fixture.path("home"));
    for path in [
        ".ssh/id",
        ".aws/credentials",
        ".npmrc",
        ".netrc",
        ".docker/config.json",
        ".cargo/credentials.toml",
    ] {
        fixture.refused(&format!("cat ~/{path}"), DENIED);
    }
    fixture.refused("ls ~/.ssh", DENIED);
    assert_eq!(fixture.works("cat ~/.cargo/config.toml"), "[build]");
    assert!(fixture.works("ls ~/.docker").contains("config.json"));
}

fn what_is_beside_a_hidden_directory_can_be_read(user: User) {
    let fixture = Fixture::new(user);
    assert_eq!(fixture.works("cat $ROOT/data/open"), "open");
    fixture.refused("cat $ROOT/data/keys/key", DENIED);
    fixture.refused("ls $ROOT/data/keys", DENIED);
}

fn what_the_home_lends_can_only_be_read(user: User) {
    let fixture = Fixture::new(user);
    fixture.works("cat ~/.cargo/registry/cached");
    fixture.works("mkdir -p $OWN/.cargo/registry && echo x > $OWN/.cargo/registry/new");
    fixture.refused("echo x > ~/.cargo/registry/new", DENIED);
    fixture.refused("rm ~/.cargo/registry/cached", DENIED);
    fixture.refused("echo x >> ~/.cargo/config.toml", DENIED);
    fixture.refused("echo x >> ~/.gitconfig", DENIED);
}

fn a_read_only_workspace_cannot_be_written(user: User) {
    let mut fixture = Fixture::new(user);
    fixture.policy.mode = Mode::ReadOnly;
    assert_eq!(fixture.works("cat file && echo x > $TEMP/new"), "workspace");
    fixture.refused("echo x > new", DENIED);
    fixture.refused("rm file", DENIED);
    fixture.refused("mv file $TEMP/", DENIED);
    fixture.refused("echo x > ~/.cargo/registry/new", DENIED);
    assert!(fixture.path("work/file").exists());
}

fn settings_of_processes_and_kernel_cannot_be_written(user: User) {
    let fixture = Fixture::new(user);
    fixture.refused(": >> /proc/$VICTIM/oom_score_adj", DENIED);
    fixture.refused(": >> /proc/$VICTIM/comm", DENIED);
}

fn devices_work_and_none_can_be_made(user: User) {
    let fixture = Fixture::new(user);
    fixture.works(
        "echo x > /dev/null && head -c 9 /dev/urandom >bytes && head -c 9 /dev/zero >/dev/null",
    );
    assert_eq!(
        fixture.works("(echo out > /dev/stdout) | cat; ls /dev | grep -x null"),
        "out\nnull"
    );
    fixture.fails("mknod device c 1 3", "");
    fixture.fails(": < /dev/kmsg", "");
}

fn code_in_memory_is_confined_as_well(user: User) {
    let script = "
fd = os.memfd_create('code', 0)
os.write(fd, open('/bin/cat', 'rb').read())
os.execve(fd, ['cat', os.environ['FILE']], os.environ)";
    let fixture = Fixture::new(user);
    let run = |file: &str| {
        fixture.python(
            &format!("os.environ['FILE'] = os.environ['ROOT'] + '/{file}'\n{script}"),
            true,
        )
    };
    assert_eq!(run("work/file").stdout, b"workspace");
    let refused = run("outside/secret");
    assert!(refused.stdout.is_empty());
    assert!(String::from_utf8_lossy(&refused.stderr).contains(DENIED));
}

#[needs(root)]
#[test]
fn root_gets_no_secrets_of_the_system() {
    let fixture = Fixture::new(User::Own);
    fixture.refused("cat /etc/shadow >copy", DENIED);
    fixture.refused(": >> /proc/sys/kernel/core_pattern", DENIED);
    fixture.refused("mknod device c 1 3", "");
    // Not every kernel has this file.
    fixture.fails("head -c 1 /proc/kcore", "");
    fixture.refused("chroot / true", "");
}

#[needs(root)]
#[test]
fn a_setuid_program_stays_an_ordinary_user() {
    let fixture = Fixture::new(User::Nobody);
    let id = fixture.path("work/id");
    fs::copy("/usr/bin/id", &id).unwrap();
    fs::set_permissions(&id, std::os::unix::fs::PermissionsExt::from_mode(0o4755)).unwrap();
    assert_eq!(fixture.works("./id -u"), "65534");
}
