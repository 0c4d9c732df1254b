;; Sleeps until the end of time.
(import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $subscribe (param i64) (result i32)))
(import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
(import "wasi:io/poll@0.2.0" "[resource-drop]pollable" (func $drop (param i32)))
(func $attack (result i32)
  (call $block (call $subscribe (i64.const -1)))
  i32.const 288)
