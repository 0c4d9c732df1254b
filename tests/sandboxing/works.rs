//! Programs that must work in the default mode, without a line of configuration.

use toolhost_needs::needs;

use super::site::{DEFAULT, Site};

/// Runs a script in the default mode.
async fn works(script: &str) {
    works_with(DEFAULT, script).await;
}

async fn works_with(flags: &[&str], script: &str) {
    let site = Site::new(flags);
    // So that this is no table of what works without a sandbox.
    site.is_refused("cat @OUTSIDE/secret").await;
    site.works(&format!("set -e; {script}")).await;
}

#[needs(program = "git")]
#[tokio::test]
async fn git_clones_and_commits() {
    works(
        "git init -q repo; cd repo; echo 1 > file; git add .; git commit -qm first; git branch other; \
         cd ..; git clone -q repo copy; cd copy; echo 2 > file; git commit -qam second; git log --oneline | grep first; \
         git push -q origin HEAD:refs/heads/pushed; git gc -q; git fsck; git worktree add -q ../tree; git stash list",
    )
    .await;
}

#[needs(program = "cargo", program = "gcc")]
#[tokio::test]
async fn cargo_builds_and_tests() {
    // Cargo reads its configuration in all directories above, and the target directory may be in this checkout.
    const CONFIGURATION: &str =
        concat!("--sandbox-read=", env!("CARGO_MANIFEST_DIR"), "/../.cargo");
    works_with(
        &[CONFIGURATION],
        "mkdir -p crate/src; cd crate; mkdir -p dependency/src; \
         printf '[package]\\nname = \"small\"\\nversion = \"1.0.0\"\\n' > Cargo.toml; \
         echo '#[must_use] pub fn one() -> u8 { 1 }' > dependency/src/lib.rs; \
         printf '[package]\\nname = \"dependency\"\\nversion = \"1.0.0\"\\n' > dependency/Cargo.toml; \
         printf '[dependencies]\\ndependency = { path = \"dependency\" }\\n[workspace]\\n' >> Cargo.toml; \
         printf 'fn main() { println!(\"{}\", dependency::one()); }\\n#[test] fn t() { assert_eq!(dependency::one(), 1); }\\n' > src/main.rs; \
         cargo build -q --offline; cargo test -q --offline; test $(cargo run -q --offline) = 1",
    )
    .await;
}

#[needs(program = "npm")]
#[tokio::test]
async fn npm_installs_and_tests() {
    works(
        "mkdir -p dependency project; cd dependency; npm init -y; echo 'module.exports = 1' > index.js; npm pack; \
         cd ../project; npm init -y; npm pkg set scripts.test='node test.js'; \
         npm install --offline --no-audit ../dependency/*.tgz; \
         echo 'if (require(\"dependency\") !== 1) process.exit(1)' > test.js; npm test",
    )
    .await;
}

#[needs(program = "python3")]
#[tokio::test]
async fn python_has_virtual_environments() {
    works(
        "python3 -m venv environment; . environment/bin/activate; case $(which python) in $PWD/*) ;; *) exit 1;; esac; \
         mkdir package; printf 'def test(): assert True\\n' > package/test_it.py; \
         python -m pip --version; python -m unittest discover -s package; \
         python -c 'import multiprocessing as m; p = m.get_context(\"fork\").Pool(2); print(p.map(abs, [-1, 1]))'",
    )
    .await;
}

/// The program to install lies in the workspace: a wheel, written by hand.
#[needs(program = "python3")]
#[tokio::test]
async fn pip_installs_into_a_virtual_environment() {
    works(
        "python3 -m venv environment; cat > wheel.py <<'E'\n\
         import zipfile\n\
         files = {'small.py': 'def main(): print(\"small\")\\n',\n\
         'small-1.0.dist-info/METADATA': 'Metadata-Version: 2.1\\nName: small\\nVersion: 1.0\\n',\n\
         'small-1.0.dist-info/WHEEL': 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n',\n\
         'small-1.0.dist-info/entry_points.txt': '[console_scripts]\\nsmall = small:main\\n'}\n\
         with zipfile.ZipFile('small-1.0-py3-none-any.whl', 'w') as wheel:\n\
         \x20   names = list(files) + ['small-1.0.dist-info/RECORD']\n\
         \x20   files[names[-1]] = ''.join(name + ',,\\n' for name in names)\n\
         \x20   for name in names: wheel.writestr(name, files[name])\n\
         E\n\
         python3 wheel.py; environment/bin/pip install -q --no-index ./small-1.0-py3-none-any.whl; \
         test $(environment/bin/small) = small",
    )
    .await;
}

#[needs(program = "pytest")]
#[tokio::test]
async fn pytest_runs_tests() {
    works("printf 'def test(tmp_path): (tmp_path / \"x\").write_text(\"x\")\\n' > test_it.py; pytest -q test_it.py")
        .await;
}

#[needs(program = "make", program = "gcc")]
#[tokio::test]
async fn make_runs_compilers_in_parallel() {
    works(
        "for i in 1 2 3 4; do echo \"int f$i(void) { return $i; }\" > f$i.c; done; \
         printf 'int f1(void), f2(void), f3(void), f4(void);\\nint main(void) { return f1()+f2()+f3()+f4()-10; }\\n' > main.c; \
         printf 'program: main.o f1.o f2.o f3.o f4.o\\n\\tgcc -o $@ $^\\n' > Makefile; make -j 4; ./program",
    )
    .await;
}

#[needs(program = "node")]
#[tokio::test]
async fn node_has_workers_and_children() {
    works(
        "cat > main.js <<'E'\n\
         const { Worker, isMainThread, parentPort } = require('worker_threads');\n\
         if (!isMainThread) { parentPort.postMessage(42); } else {\n\
         const child = require('child_process').execFileSync('echo', ['child']).toString().trim();\n\
         let left = 3;\n\
         for (let i = 0; i < 3; i++) new Worker(__filename).on('message', (n) => {\n\
         if (--left === 0) console.log(child, n);\n\
         }); }\n\
         E\n\
         test \"$(node main.js)\" = 'child 42'",
    )
    .await;
}

#[needs(program = "python3", program = "curl")]
#[tokio::test]
async fn a_server_of_a_command_can_be_reached_by_it() {
    works(
        "mkfifo said; python3 -u -m http.server 0 --bind 127.0.0.1 > said & \
         read -r line < said; port=${line#*port }; port=${port%% *}; \
         test \"$(curl -sS --noproxy '*' http://127.0.0.1:$port/file)\" = workspace; kill $!",
    )
    .await;
}

#[needs(program = "tmux")]
#[tokio::test]
async fn tmux_has_sessions() {
    works(
        "tmux -f /dev/null new-session -d 'tty > terminal; tmux wait-for -S done; cat'; tmux wait-for done; \
         tmux ls; tmux kill-server; grep pts terminal",
    )
    .await;
}

#[needs(program = "ssh-keygen")]
#[tokio::test]
async fn ssh_keygen_writes_into_the_workspace() {
    works("ssh-keygen -q -t ed25519 -N '' -f key; test -s key.pub; ssh-keygen -l -f key").await;
}

#[needs(program = "strace")]
#[tokio::test]
async fn strace_follows_the_commands_own_processes() {
    works("strace -f -o trace sh -c 'true & wait'; grep -q exit_group trace").await;
}

#[tokio::test]
async fn a_shell_does_its_usual_work() {
    works(
        "mkdir -p a/b; mv file a/b/; ln -s a/b/file link; ln a/b/file hard; cat link hard | wc -l; rm -r a; \
         (echo background > out) & wait; cat out; id; ps > /dev/null; df . ; find . -name out; \
         test -r /etc/passwd; ulimit -n 100; timeout 100 true; nohup true; setsid -w true; mkfifo f; test -p f; \
         chmod 755 out; touch -d yesterday out; head -c 1000 /dev/urandom | sort > sorted; echo x > /dev/null",
    )
    .await;
}
