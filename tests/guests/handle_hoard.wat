;; Opens the streams of WASI again and again without closing any, and replies.
(import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
(func $attack (result i32)
  (local $handles i32)
  (loop $more
    (drop (call $stdout))
    (local.set $handles (i32.add (local.get $handles) (i32.const 1)))
    (br_if $more (i32.lt_u (local.get $handles) (i32.const 100000))))
  i32.const 288)
