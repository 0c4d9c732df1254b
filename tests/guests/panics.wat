;; Panics as a plugin in Rust does: with lines on standard error, of which the first is empty, and then a trap.
(import "wasi:cli/stderr@0.2.0" "get-stderr" (func $stderr (result i32)))
(import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
  (func $write (param i32 i32 i32 i32)))
(data (i32.const 1024) "\0athread '<unnamed>' panicked at src/lib.rs:30:29:\0atext too long\0anote: run with `RUST_BACKTRACE=1`\0a")
(func $attack (result i32)
  (call $write (call $stderr) (i32.const 1024) (i32.const 98) (i32.const 2048))
  unreachable)
