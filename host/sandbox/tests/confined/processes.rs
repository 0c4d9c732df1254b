//! Tests of attacks on processes outside of the sandbox, and of the limits of processes in it.

use std::time::Duration;

use nix::libc;
use toolhost_needs::needs;

use crate::fixture::{Fixture, User};

for_each_user! {
    processes_outside_get_no_signals[];
    processes_outside_cannot_be_traced[program = "python3"];
    limits_of_others_cannot_be_changed[program = "python3"];
    abstract_sockets_outside_cannot_be_reached[program = "python3"];
    own_processes_can_be_signalled_and_traced[program = "python3"];
    limits_hold[program = "python3"];
    processes_within_can_be_ended_from_outside[];
}

fn processes_outside_get_no_signals(user: User) {
    let mut fixture = Fixture::new(user);
    for signal in ["KILL", "STOP", "TERM", "0"] {
        fixture.refused(
            &format!("kill -{signal} $VICTIM"),
            "Operation not permitted",
        );
    }
    fixture.fails("kill -KILL $PPID", "Operation not permitted");
    assert!(fixture.victim_lives());
}

fn processes_outside_cannot_be_traced(user: User) {
    let fixture = Fixture::new(user);
    let (attach, seize) = (libc::PTRACE_ATTACH, libc::PTRACE_SEIZE);
    for request in [attach, seize] {
        let script = format!("print(call({}, {request}, victim, 0, 0))", libc::SYS_ptrace);
        fixture.errno(&script, libc::EPERM);
    }
    // The address is invalid. The kernel checks it after the permission to read.
    let vectors = "
buffer = ctypes.create_string_buffer(8)
own = struct.pack('LL', ctypes.addressof(buffer), 8)
other = struct.pack('LL', 4096, 8)";
    for call in [libc::SYS_process_vm_readv, libc::SYS_process_vm_writev] {
        let script = format!("{vectors}\nprint(call({call}, victim, own, 1, other, 1, 0))");
        fixture.errno(&script, libc::EPERM);
    }
    let pidfd = "fd = os.pidfd_open(victim)";
    let script = format!("{pidfd}\nprint(call({}, fd, 0, 0))", libc::SYS_pidfd_getfd);
    fixture.errno(&script, libc::EPERM);
    let script = format!(
        "{pidfd}\nprint(call({}, fd, 0, 0, 0))",
        libc::SYS_pidfd_send_signal
    );
    fixture.errno(&script, libc::EPERM);
}

fn limits_of_others_cannot_be_changed(user: User) {
    let fixture = Fixture::new(user);
    let change = format!(
        "print(call({}, PID, {}, struct.pack('QQ', 10, 10), 0))",
        libc::SYS_prlimit64,
        libc::RLIMIT_FSIZE
    );
    fixture.errno(&change.replace("PID", "victim"), libc::EPERM);
    // Setting bits that the kernel ignores must not bypass the filter.
    fixture.errno(&change.replace("PID", "victim | 1 << 32"), libc::EPERM);
    // The process's own id counts as the id of another process.
    fixture.errno(&change.replace("PID", "os.getpid()"), libc::EPERM);
    let own = fixture.python(&change.replace("PID", "0"), true);
    assert_eq!(crate::fixture::errno(&own), 0);
    fixture.works("ulimit -n 100 && test \"$(ulimit -n)\" = 100");
}

fn abstract_sockets_outside_cannot_be_reached(user: User) {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};

    let name = format!("toolhost-sandbox-{}-{}", std::process::id(), user as u8);
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    let connect = format!("print(socket.socket(socket.AF_UNIX).connect_ex('\\0{name}'))");
    Fixture::new(user).errno(&connect, libc::EPERM);
}

fn own_processes_can_be_signalled_and_traced(user: User) {
    let fixture = Fixture::new(user);
    let script = format!(
        "
import signal, subprocess
child = subprocess.Popen(['cat'], stdin=subprocess.PIPE)
with open(f'/proc/{{child.pid}}/maps') as maps: maps.readline()
print(call({}, {}, child.pid, 0, 0))
child.send_signal(signal.SIGKILL)
child.wait()",
        libc::SYS_ptrace,
        libc::PTRACE_SEIZE
    );
    let output = fixture.python(&script, true);
    assert_eq!(crate::fixture::errno(&output), 0);
    // An orphaned process in a session of its own.
    fixture.works("mkfifo pipe; (setsid cat pipe & echo $! > pid); kill -KILL $(cat pid)");
}

fn limits_hold(user: User) {
    let mut fixture = Fixture::new(user);
    fixture.policy.limits.memory = Some(256 << 20);
    fixture.policy.limits.file_size = Some(4096);
    fixture.policy.limits.cpu = Some(Duration::from_secs(100));
    let script = "
import resource
try:
    bytearray(1 << 30)
except MemoryError:
    print('memory')
print([resource.getrlimit(which) for which in (resource.RLIMIT_FSIZE, resource.RLIMIT_CPU)])";
    let output = fixture.python(script, true);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        said.trim(),
        "memory\n[(4096, 4096), (100, 105)]",
        "{output:?}"
    );
    fixture.fails("head -c 5000 /dev/zero > big", "");
    assert_eq!(
        std::fs::metadata(fixture.path("work/big")).unwrap().len(),
        4096
    );
}

fn processes_within_can_be_ended_from_outside(user: User) {
    let fixture = Fixture::new(user);
    fixture.works("mkfifo pipe");
    let mut command = fixture.command(&["cat".as_ref(), "pipe".as_ref()], true);
    let mut child = command.spawn().unwrap();
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(libc::SIGKILL)
    );
}

/// Needs an ordinary user, because the kernel does not count the processes of root.
#[needs(root, program = "python3")]
#[test]
fn a_fork_bomb_ends_at_its_limit() {
    let mut fixture = Fixture::new(User::Nobody);
    fixture.policy.limits.processes = Some(20);
    let script = "
import signal
children = []
try:
    while len(children) < 9999:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except BlockingIOError as error:
    print(error.errno)
for child in children:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)";
    let output = fixture.python(script, true);
    assert_eq!(crate::fixture::errno(&output), libc::EAGAIN);
}
