;; Prints a line that never ends.
(import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
(import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
  (func $write (param i32 i32 i32 i32)))
(func $attack (result i32)
  (local $stream i32)
  (local.set $stream (call $stdout))
  (memory.fill (i32.const 8192) (i32.const 120) (i32.const 4096))
  (loop $forever
    (call $write (local.get $stream) (i32.const 8192) (i32.const 4096) (i32.const 2048))
    (br $forever))
  unreachable)
