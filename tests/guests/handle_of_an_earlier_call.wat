;; Opens a stream if it is told so, and otherwise writes to the handle that the stream had in an earlier call.
(import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
(import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
  (func $write (param i32 i32 i32 i32)))
(func $attack (result i32)
  ;; The arguments that tell it so are longer than `{}`.
  (if (i32.gt_u (global.get $length) (i32.const 2))
    (then (return (call $letter (i32.add (i32.const 48) (call $stdout))))))
  (call $write (i32.const 1) (i32.const 336) (i32.const 5) (i32.const 2048))
  i32.const 288)
