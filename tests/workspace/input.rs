//! Standard input that stays open, and terminals.

use super::*;

use toolhost_workspace::process::{Input, Screen, Size};

impl Place {
    async fn start_with(&self, text: &str, stdin: Stdin) -> String {
        let given = Command {
            stdin,
            ..command(text)
        };
        self.start_for("a", given).await.unwrap().0
    }

    async fn input(&self, id: &str, input: Input) -> Result<State, Error> {
        self.workspace
            .input(Some(&chat("a")), id, input, None)
            .await
    }

    async fn types(&self, id: &str, text: &str) {
        let typed = self.input(id, Input::Bytes(text.into())).await;
        typed.unwrap();
    }

    /// Waits until the output matches, from the cursor on, and returns the cursor behind the match.
    async fn until(&self, id: &str, since: u64, pattern: &str) -> u64 {
        let options = WaitOptions {
            timeout: PATIENCE,
            since,
            until: Some(pattern.to_owned()),
            ..WaitOptions::default()
        };
        let waited = self.workspace.wait(Some(&chat("a")), id, options).await;
        let waited = waited.unwrap();
        assert_eq!(
            waited.wake,
            Wake::Matched,
            "{pattern}: {:?}",
            self.screen(id).await
        );
        waited.match_end.unwrap()
    }

    async fn screen(&self, id: &str) -> Screen {
        let snapshot = self.workspace.snapshot(Some(&chat("a")), id).await;
        snapshot.unwrap().screen.unwrap()
    }
}

fn terminal() -> Stdin {
    Stdin::Terminal(Size::default())
}

#[tokio::test]
async fn a_pipe_stays_open_until_it_is_closed() {
    let place = Place::new().await;
    let id = place.start_with("cat; echo end", Stdin::Pipe).await;
    place.types(&id, "one\n").await;
    let seen = place.until(&id, 0, "one\n").await;
    place.types(&id, "two\n").await;
    place.until(&id, seen, "two\n").await;
    place.input(&id, Input::Close).await.unwrap();
    let (state, output) = place.ended(&id).await;
    assert_eq!(
        (code(&state), output.as_str()),
        (Some(0), "one\ntwo\nend\n")
    );
    let closed = place.input(&id, Input::Close).await.unwrap_err();
    assert_eq!(closed, Error::Invalid("it has ended".into()));
}

#[tokio::test]
async fn input_that_nobody_reads_is_an_error_with_what_was_written() {
    let place = Place::new().await;
    let id = place
        .start_with("exec <&-; echo closed; sleep 600", Stdin::Pipe)
        .await;
    place.until(&id, 0, "closed").await;
    let error = place
        .input(&id, Input::Bytes(b"late".to_vec()))
        .await
        .unwrap_err();
    let Error::Failed(text) = error else {
        panic!("{error:?}");
    };
    assert!(
        text.contains("has closed its input: 0 of 4 bytes"),
        "{text}"
    );
    let none = place.start("sleep 600").await;
    for input in [
        Input::Bytes(b"x".to_vec()),
        Input::Close,
        Input::Resize(Size::default()),
    ] {
        let refused = place.input(&none, input).await.unwrap_err();
        assert!(matches!(refused, Error::Invalid(_)), "{refused:?}");
    }
    let far = place
        .workspace
        .input(Some(&chat("b")), &id, Input::Close, None)
        .await;
    assert!(matches!(far, Err(Error::NotFound(_))), "{far:?}");
}

#[tokio::test]
async fn a_command_has_a_terminal_of_its_own() {
    let place = Place::new().await;
    let text = "tty; stty size; test -t 0 && test -t 1 && test -t 2 && echo all; echo $TERM; \
                printf 'name? ' >/dev/tty; read -r name </dev/tty; echo \"<$name>\"";
    let id = place.start_with(text, terminal()).await;
    let seen = place.until(&id, 0, r"name\? ").await;
    place.types(&id, "Ada\r").await;
    place.until(&id, seen, "<Ada>").await;
    let (state, output) = place.ended(&id).await;
    assert_eq!(code(&state), Some(0), "{output}");
    let lines: Vec<_> = output.lines().map(str::trim_end).collect();
    assert!(lines[0].starts_with("/dev/pts/"), "{output}");
    assert_eq!(
        lines[1..],
        ["24 80", "all", "xterm-256color", "name? Ada", "<Ada>"]
    );
}

#[tokio::test]
async fn keys_are_signals_and_ends() {
    let place = Place::new().await;
    let text = "trap 'echo interrupted' INT; echo ready; while ! read -r line; do :; done; echo \"<$line>\"; cat; echo over";
    let id = place.start_with(text, terminal()).await;
    let seen = place.until(&id, 0, "ready").await;
    place.types(&id, "\x03").await;
    let seen = place.until(&id, seen, "interrupted").await;
    place.types(&id, "abx\x7fc\r").await;
    let seen = place.until(&id, seen, "<abc>").await;
    place.input(&id, Input::Close).await.unwrap();
    place.until(&id, seen, "over").await;
    let (state, output) = place.ended(&id).await;
    assert_eq!(code(&state), Some(0), "{output}");
}

#[tokio::test]
async fn what_is_typed_without_echo_is_not_shown() {
    let place = Place::new().await;
    let id = place
        .start_with(
            "read -rsp 'password: ' word; echo; echo ${#word}",
            terminal(),
        )
        .await;
    let seen = place.until(&id, 0, "password: ").await;
    place.types(&id, "secret\r").await;
    place.until(&id, seen, "6").await;
    let (_, output) = place.ended(&id).await;
    assert!(!output.contains("secret"), "{output}");
}

#[tokio::test]
async fn a_screen_is_what_was_drawn_and_follows_the_size() {
    let place = Place::new().await;
    let text = r#"trap 'stty size' WINCH; printf '\033]2;drawn\007\033[2J\033[3;5Hhere\033[H'; echo top; while :; do sleep 0.05; done"#;
    let id = place.start_with(text, terminal()).await;
    place.until(&id, 0, "top\r\n").await;
    let screen = place.screen(&id).await;
    assert_eq!(screen.text, "top\n\n    here");
    assert_eq!(
        (screen.title.as_str(), screen.cursor),
        ("drawn", Some((2, 1)))
    );
    let size = Size {
        rows: 10,
        columns: 30,
    };
    place.input(&id, Input::Resize(size)).await.unwrap();
    place.until(&id, 0, "10 30\r\n").await;
    assert_eq!(place.screen(&id).await.size, size);
    let wrong = Size {
        rows: 1,
        columns: 301,
    };
    let refused = place.input(&id, Input::Resize(wrong)).await.unwrap_err();
    assert!(matches!(refused, Error::Invalid(_)), "{refused:?}");
    let ended = place.workspace.end(Some(&chat("a")), &id).await;
    ended.unwrap();
    assert_eq!(
        place.screen(&id).await.title,
        "drawn",
        "what it showed last"
    );
}

#[tokio::test]
async fn a_terminal_answers_where_its_cursor_is() {
    let place = Place::new().await;
    let text = r#"stty -echo raw; printf 'ab\033[6n'; head -c 6 | od -An -c; stty sane"#;
    let id = place.start_with(text, terminal()).await;
    let (_, output) = place.ended(&id).await;
    assert!(output.contains(r"033   [   1   ;   3   R"), "{output}");
}

/// Each of these sequences clears the whole screen, which takes a thousand times as long as to write it.
#[tokio::test]
async fn what_is_slow_to_draw_holds_nothing_up() {
    let place = Place::new().await;
    let id = place
        .start_with(
            "yes $(printf '\\033c') | head -c 1000000; printf '\\033cdone'; cat",
            terminal(),
        )
        .await;
    place.until(&id, 990_000, "done").await;
    let other = place.start("echo other").await;
    assert_eq!(place.ended(&other).await.1, "other\n");
    let drawn = async {
        while place.screen(&id).await.text != "done" {
            crate::harness::a_moment().await;
        }
    };
    tokio::time::timeout(PATIENCE, drawn).await.unwrap();
}

#[tokio::test]
async fn a_long_input_passes_a_terminal_in_order() {
    let place = Place::new().await;
    let id = place
        .start_with(
            "stty -icanon -echo; echo ready; head -c 200000 | cksum",
            terminal(),
        )
        .await;
    let seen = place.until(&id, 0, "ready").await;
    let bytes: Vec<u8> = (0..200_000_u32)
        .map(|index| b'a' + (index % 23) as u8)
        .collect();
    let typed = place.input(&id, Input::Bytes(bytes.clone())).await;
    typed.unwrap();
    place.until(&id, seen, r"\d+ 200000").await;
    let (_, output) = place.ended(&id).await;
    let file = place.root.path().join("typed");
    std::fs::write(&file, &bytes).unwrap();
    let expected = place.start("cksum < typed").await;
    let (_, expected) = place.ended(&expected).await;
    assert!(output.contains(expected.trim_end()), "{output} {expected}");
}

#[tokio::test]
async fn programs_in_a_terminal_ask_there() {
    let place = Place::new().await;
    let id = place
        .start_with(
            "printf '%s|' \"${EDITOR-none}\" \"${GIT_TERMINAL_PROMPT-none}\" \"$PAGER\"",
            terminal(),
        )
        .await;
    let (_, output) = place.ended(&id).await;
    assert_eq!(output, "none|none|cat|");
    let own = Command {
        env: vec![
            ("EDITOR".into(), "ed".into()),
            ("TERM".into(), "vt100".into()),
        ],
        stdin: terminal(),
        ..command("printf '%s|' $EDITOR $TERM")
    };
    let (id, _) = place.start_for("a", own).await.unwrap();
    assert_eq!(place.ended(&id).await.1, "ed|vt100|");
}
