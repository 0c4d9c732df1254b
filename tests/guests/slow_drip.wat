;; Sleeps for a millisecond at a time, prints a character, and never replies.
(import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $subscribe (param i64) (result i32)))
(import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
(import "wasi:io/poll@0.2.0" "[resource-drop]pollable" (func $drop (param i32)))
(import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
(import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
  (func $write (param i32 i32 i32 i32)))
(func $attack (result i32)
  (local $pollable i32)
  (local $stream i32)
  (local.set $stream (call $stdout))
  (loop $forever
    (local.set $pollable (call $subscribe (i64.const 1000000)))
    (call $block (local.get $pollable))
    (call $drop (local.get $pollable))
    (call $write (local.get $stream) (i32.const 336) (i32.const 1) (i32.const 2048))
    (br $forever))
  unreachable)
