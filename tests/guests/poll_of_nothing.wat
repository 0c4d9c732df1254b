;; Polls an empty list, which would wait for ever.
(import "wasi:io/poll@0.2.0" "poll" (func $poll (param i32 i32 i32)))
(func $attack (result i32)
  (call $poll (i32.const 8192) (i32.const 0) (i32.const 2048))
  i32.const 288)
