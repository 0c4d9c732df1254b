//! The host's end of a compiler process: sends it the component, and reads its code or its error.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

use super::program::{ARGUMENT, BAD_COMPONENT, HEADER, allocation, header};
use super::{Compiler, Failure};
use crate::cache::MAX_CODE;
use crate::engine::Engine;
use crate::self_exec;
use crate::text::shown;

/// The most bytes that the host reads of the compiler's standard error.
const MAX_WORDS: u64 = 16 << 10;

impl Compiler {
    /// Compiles a component in a process of its own. The process ends when the future is dropped, or when it has used `limit`
    /// of CPU time, in whole seconds, rounded up.
    pub(super) async fn compile(
        &self,
        engine: &Engine,
        component: &[u8],
        limit: Duration,
    ) -> Result<Vec<u8>, Failure> {
        let inner = &engine.inner;
        let unusable = |error: std::io::Error| {
            let program = self.program.display();
            Failure::Compiler(format!("{program} cannot be run: {error}"))
        };
        let mut child = self_exec::command(&self.program, [ARGUMENT, allocation(inner.pooling)])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(unusable)?;
        let seconds = seconds(limit);
        limit_cpu(child.id(), seconds).map_err(unusable)?;
        let (mut stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // A failed write is ignored: the exit status of the compiler says more.
        let give = async {
            if let Some(stdin) = &mut stdin {
                _ = stdin
                    .write_all(&(component.len() as u64).to_le_bytes())
                    .await;
                _ = stdin.write_all(component).await;
                _ = stdin.flush().await;
            }
        };
        let ((), answer, words, status) =
            tokio::join!(give, Answer::read(stdout), read(stderr, MAX_WORDS), async {
                child.wait().await
            });
        // The input stays open until here: its end would have ended the compiler.
        drop(stdin);
        let status = status.map_err(unusable)?;
        let words = String::from_utf8_lossy(&words);
        judge(status, answer, words.trim(), &header(&inner.wasm), seconds)
    }
}

/// Rounds up to whole seconds, in which the kernel limits CPU time.
fn seconds(limit: Duration) -> u64 {
    let whole = limit.as_secs() + u64::from(limit.subsec_nanos() > 0);
    whole.max(1)
}

/// Limits the CPU time of a child, all of its threads together. The kernel keeps the limit, also while this host is stopped.
fn limit_cpu(child: Option<u32>, seconds: u64) -> std::io::Result<()> {
    let pid = child.and_then(|pid| Pid::from_raw(pid.try_into().ok()?));
    // The host itself may have been started with a lower limit, and a compiler that reached the hard one would be killed without
    // a reason.
    let maximum = getrlimit(Resource::Cpu).maximum;
    let current = Some(maximum.map_or(seconds, |maximum| maximum.min(seconds)));
    prlimit(
        Some(pid.ok_or(std::io::ErrorKind::NotFound)?),
        Resource::Cpu,
        Rlimit { current, maximum },
    )?;
    Ok(())
}

/// The standard output of a compiler.
#[derive(Default)]
struct Answer {
    /// The header before the code, as far as the compiler wrote it.
    header: Vec<u8>,
    /// The code. If it is too large, only the first `MAX_CODE` + 1 bytes, which show that.
    code: Vec<u8>,
}

impl Answer {
    /// Reads header and code apart, so that the code, which may be large, is not copied once more.
    async fn read(from: Option<impl AsyncRead + Unpin>) -> Self {
        let mut answer = Self::default();
        if let Some(mut from) = from {
            let mut header = (&mut from).take(HEADER as u64);
            _ = header.read_to_end(&mut answer.header).await;
            answer.code = read(Some(from), MAX_CODE + 1).await;
        }
        answer
    }
}

/// Reads to the end, and keeps at most `most` bytes.
async fn read(from: Option<impl AsyncRead + Unpin>, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        _ = (&mut from).take(most).read_to_end(&mut bytes).await;
        // The compiler must not wait for a reader.
        _ = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
    }
    bytes
}

/// Returns the code of a good answer, or the failure that a bad answer means.
fn judge(
    status: ExitStatus,
    answer: Answer,
    words: &str,
    expected: &[u8; HEADER],
    seconds: u64,
) -> Result<Vec<u8>, Failure> {
    /// The message of Rust before it aborts for lack of memory.
    const NO_MEMORY: &str = "memory allocation of";
    let said = if words.is_empty() {
        String::new()
    } else {
        format!(", after it said: {}", shown(words))
    };
    match (status.code(), status.signal()) {
        (Some(0), _) => {}
        (Some(BAD_COMPONENT), _) => return Err(Failure::Component(words.to_owned())),
        (_, Some(signal)) if signal == nix::libc::SIGXCPU => {
            return Err(Failure::Time(Duration::from_secs(seconds)));
        }
        _ if words.contains(NO_MEMORY) => {
            return Err(Failure::Compiler(
                "it needs more than 2 GiB of memory, which is the most for compiling: use a smaller component".into(),
            ));
        }
        (_, Some(signal)) if signal == nix::libc::SIGKILL => {
            return Err(Failure::Compiler(format!(
                "it was killed, as the system does when memory runs out: give this machine or container more memory{said}"
            )));
        }
        (_, Some(signal)) => {
            let name = nix::sys::signal::Signal::try_from(signal)
                .map_or_else(|_| format!("signal {signal}"), |signal| signal.to_string());
            return Err(Failure::Compiler(format!("it crashed with {name}{said}")));
        }
        (code, None) => {
            let code = code.unwrap_or_default();
            return Err(Failure::Compiler(format!(
                "it ended with code {code}{said}"
            )));
        }
    }
    if answer.code.len() as u64 > MAX_CODE {
        return Err(Failure::Compiler(
            "its code has more than 512 MiB, which is the most: use a smaller component".into(),
        ));
    }
    match answer.header.first_chunk::<HEADER>() {
        Some(header) if header == expected => Ok(answer.code),
        Some(header) if header.get(..8) == expected.get(..8) => Err(Failure::Compiler(
            "it is another version of Toolhost, or one for another machine: use the program that this host is".into(),
        )),
        _ => Err(Failure::Compiler(format!(
            "it did not answer as a compiler does: name the Toolhost program{said}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_may_come_in_any_pieces() {
        for len in [0, 1, HEADER - 1, HEADER, HEADER + 3] {
            let bytes: Vec<u8> = (0..len).map(|byte| byte as u8).collect();
            let (first, second) = bytes.split_at(len / 2);
            let answer = Answer::read(Some(first.chain(second))).await;
            assert_eq!([&answer.header[..], &answer.code[..]].concat(), bytes);
            assert_eq!(answer.header.len(), len.min(HEADER));
        }
    }

    const EXPECTED: [u8; HEADER] = [7; HEADER];

    fn text(status: i32, answer: &[u8], words: &str) -> String {
        let (header, code) = answer.split_at(HEADER.min(answer.len()));
        let answer = Answer {
            header: header.to_vec(),
            code: code.to_vec(),
        };
        match judge(ExitStatus::from_raw(status), answer, words, &EXPECTED, 7) {
            Ok(code) => format!("code: {code:?}"),
            Err(failure) => format!("{failure:?}"),
        }
    }

    #[test]
    fn cpu_time_is_limited_in_whole_seconds() {
        let milliseconds = [0, 1, 1000, 1001];
        let rounded = milliseconds.map(|time| seconds(Duration::from_millis(time)));
        assert_eq!(rounded, [1, 1, 1, 2]);
    }

    #[test]
    fn every_end_of_a_compiler_is_understood() {
        let good = [&EXPECTED[..], &[1, 2]].concat();
        assert_eq!(text(0, &good, ""), "code: [1, 2]");
        assert_eq!(text(24, &good, ""), "Time(7s)");
        insta::assert_snapshot!(text(BAD_COMPONENT << 8, &good, "bad at 7"), @r#"Component("bad at 7")"#);
        insta::assert_snapshot!(text(9, &good, ""), @r#"Compiler("it was killed, as the system does when memory runs out: give this machine or container more memory")"#);
        insta::assert_snapshot!(text(6, &good, "memory allocation of 77 bytes failed"), @r#"Compiler("it needs more than 2 GiB of memory, which is the most for compiling: use a smaller component")"#);
        insta::assert_snapshot!(text(11, &good, "oh\nno"), @r#"Compiler("it crashed with SIGSEGV, after it said: oh\\nno")"#);
        insta::assert_snapshot!(text(101 << 8, &good, "thread panicked"), @r#"Compiler("it ended with code 101, after it said: thread panicked")"#);
        insta::assert_snapshot!(text(0, b"hello", ""), @r#"Compiler("it did not answer as a compiler does: name the Toolhost program")"#);
        let mut other = good;
        other[HEADER - 1] = 8;
        insta::assert_snapshot!(text(0, &other, ""), @r#"Compiler("it is another version of Toolhost, or one for another machine: use the program that this host is")"#);
    }
}
