;; Polls 400 clocks without end, each of which is due at once.
(import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $subscribe (param i64) (result i32)))
(import "wasi:io/poll@0.2.0" "poll" (func $poll (param i32 i32 i32)))
(func $attack (result i32)
  (local $i i32)
  (loop $more
    (i32.store (i32.add (i32.const 8192) (i32.mul (local.get $i) (i32.const 4))) (call $subscribe (i64.const 0)))
    (local.set $i (i32.add (local.get $i) (i32.const 1)))
    (br_if $more (i32.lt_u (local.get $i) (i32.const 400))))
  (loop $forever
    (global.set $next (i32.const 16384))
    (call $poll (i32.const 8192) (i32.const 400) (i32.const 2048))
    (br $forever))
  unreachable)
