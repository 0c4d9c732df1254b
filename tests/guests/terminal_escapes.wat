;; Prints what would act on a terminal: a title, the clipboard, a cleared screen, text that runs backwards, and bytes.
(import "wasi:cli/stderr@0.2.0" "get-stderr" (func $stdout (result i32)))
(import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
  (func $write (param i32 i32 i32 i32)))
(data (i32.const 1024) "\1b]0;owned\07\1b]52;c;ZXZpbA==\07\1b[2J\c2\9b2J\e2\80\aebackwards\0d\ff\fe\00end of it\0a")
(func $attack (result i32)
  (call $write (call $stdout) (i32.const 1024) (i32.const 60) (i32.const 2048))
  i32.const 288)
