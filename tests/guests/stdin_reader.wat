;; Reads standard input, on which a server may speak a protocol.
(import "wasi:cli/stdin@0.2.0" "get-stdin" (func $stdin (result i32)))
(import "wasi:io/streams@0.2.0" "[method]input-stream.blocking-read" (func $read (param i32 i64 i32)))
(func $attack (result i32)
  (call $read (call $stdin) (i64.const 100) (i32.const 2048))
  ;; An error, and of which kind: 1 is that the stream is closed.
  (if (i32.eqz (i32.load8_u (i32.const 2048))) (then unreachable))
  (call $letter (i32.add (i32.const 48) (i32.load8_u (i32.const 2052)))))
