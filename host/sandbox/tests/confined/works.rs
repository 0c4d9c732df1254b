//! Tests of programs that must work in the sandbox.

use toolhost_needs::needs;

use crate::fixture::{Fixture, User};

for_each_user! {
    a_shell_works[];
    git_works[program = "git"];
    python_works[program = "python3"];
    a_script_in_memory_works[program = "python3"];
    a_compiler_and_make_work[program = "gcc", program = "make"];
    strace_works[program = "strace"];
    a_debugger_works[program = "gdb"];
    a_terminal_multiplexer_works[program = "tmux"];
    node_works[program = "node"];
    npm_works[program = "npm"];
    keys_can_be_made_in_the_workspace[program = "ssh-keygen"];
}

fn a_shell_works(user: User) {
    let fixture = Fixture::new(user);
    assert_eq!(
        fixture.works("seq 3 | sort -r | head -n 1 | tee out && cat out >&2"),
        "3"
    );
    assert_eq!(
        fixture.works("f=$(mktemp) && echo x >$f && case $f in $TEMP/*) cat $f;; esac"),
        "x"
    );
    assert_eq!(
        fixture.works("(echo background >out) & wait; cat out"),
        "background"
    );
    assert_eq!(fixture.works("cat <<E\nhere\nE"), "here");
    fixture.works(
        "mkdir -p a/b && mv file a/b/ && ln -s a/b/file l && ln a/b/file h && rm -r a && test -f h",
    );
    fixture.works("id; ps >/dev/null; df . ; uname -a; date; find /usr/bin -name sh; grep -c . /etc/passwd /proc/self/maps");
}

fn git_works(user: User) {
    let fixture = Fixture::new(user);
    fixture.works("git init -q repo && cd repo && cp ../file . && git add . && git commit -qm first && git gc -q && git status");
    fixture
        .works("git clone -q repo copy && cd copy && git log --oneline | grep first && git fsck");
}

fn python_works(user: User) {
    let fixture = Fixture::new(user);
    let script = "
import subprocess, threading, multiprocessing, tempfile, asyncio, select, pty
from multiprocessing.pool import ThreadPool
assert ThreadPool(4).map(abs, [-1, 2]) == [1, 2]
queue = multiprocessing.get_context('fork').SimpleQueue()
process = multiprocessing.get_context('fork').Process(target=queue.put, args=(5,))
process.start(); process.join()
assert queue.get() == 5
lock = multiprocessing.Lock()
with lock, tempfile.NamedTemporaryFile() as file: file.write(b'x')
async def run():
    child = await asyncio.create_subprocess_exec('true')
    return await child.wait()
assert asyncio.run(run()) == 0
pty.spawn(['true'])
print(subprocess.check_output('echo $((6 * 7))', shell=True).strip() == b'42')";
    let output = fixture.python(script, true);
    assert!(
        output.stdout.ends_with(b"True\n"),
        "{}",
        crate::fixture::text(&output)
    );
}

/// The spawner passes long commands this way.
fn a_script_in_memory_works(user: User) {
    let script = "
fd = os.memfd_create('script', 0)
os.write(fd, b'cat file')
os.execv('/bin/sh', ['sh', f'/dev/fd/{fd}'])";
    let output = Fixture::new(user).python(script, true);
    assert_eq!(
        output.stdout,
        b"workspace",
        "{}",
        crate::fixture::text(&output)
    );
}

fn a_compiler_and_make_work(user: User) {
    let fixture = Fixture::new(user);
    fixture.works(
        "printf '#include <stdio.h>\\nint main(void){puts(\"built\");}' > main.c && printf 'all: main\\n\\t./main\\n' > Makefile && make -j2",
    );
}

fn strace_works(user: User) {
    Fixture::new(user).works("strace -f -o trace sh -c 'true & wait' && grep execve trace");
}

fn a_debugger_works(user: User) {
    Fixture::new(user)
        .works("gdb -nx -batch -ex run -ex quit /bin/true 2>&1 | grep 'exited normally'");
}

fn a_terminal_multiplexer_works(user: User) {
    let tmux = "tmux -f /dev/null -S $TEMP/socket";
    let script = format!(
        "{tmux} new-session -d 'tty > out; {tmux} wait-for -S done; cat' && {tmux} wait-for done && {tmux} kill-server && grep pts out"
    );
    Fixture::new(user).works(&script);
}

fn node_works(user: User) {
    let script = r#"
const { Worker } = require("worker_threads");
const { execSync } = require("child_process");
require("fs").writeFileSync("out", execSync("echo child"));
const server = require("http").createServer((_, answer) => answer.end("hello"));
server.listen(0, "127.0.0.1", () => require("http").get(server.address(), (answer) =>
    answer.on("data", (data) => new Worker(`require("worker_threads").parentPort.postMessage("${data}")`, { eval: true })
        .on("message", (text) => { console.log(text); server.closeAllConnections(); server.close(); }))));
"#;
    let fixture = Fixture::new(user);
    let output = fixture.output(&["node".as_ref(), "-e".as_ref(), script.as_ref()], true);
    assert_eq!(
        output.stdout,
        b"hello\n",
        "{}",
        crate::fixture::text(&output)
    );
}

fn npm_works(user: User) {
    let script = "export HOME=$OWN; npm init -y && npm pkg set scripts.test='node -e 1' && npm install --offline && npm test && npm pack";
    Fixture::new(user).works(script);
}

fn keys_can_be_made_in_the_workspace(user: User) {
    // The program looks its user up, and the ordinary user of the tests has no name.
    Fixture::new(user).works("ssh-keygen -q -t ed25519 -N '' -f key && test -s key.pub");
}

/// The toolchain belongs to the user of the tests.
#[needs(program = "cargo", program = "gcc")]
#[test]
fn cargo_builds_and_tests() {
    let fixture = Fixture::new(User::Own);
    fixture.works("cargo --version && cargo init -q --vcs none --name small crate && cd crate && cargo test -q --offline 2>&1");
}
