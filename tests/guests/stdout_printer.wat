;; Prints what a JSON-RPC server would answer, a thousand times, and replies.
(import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
(import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
  (func $write (param i32 i32 i32 i32)))
(data (i32.const 1024) "{\22jsonrpc\22:\222.0\22,\22id\22:1,\22result\22:{\22forged\22:true}}\0a")
(func $attack (result i32)
  (local $stream i32)
  (local $lines i32)
  (local.set $stream (call $stdout))
  (loop $more
    (call $write (local.get $stream) (i32.const 1024) (i32.const 50) (i32.const 2048))
    (local.set $lines (i32.add (local.get $lines) (i32.const 1)))
    (br_if $more (i32.lt_u (local.get $lines) (i32.const 1000))))
  i32.const 288)
