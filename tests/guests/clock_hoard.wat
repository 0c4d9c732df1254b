;; Subscribes to clocks without end.
(import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $subscribe (param i64) (result i32)))
(func $attack (result i32)
  (loop $forever (drop (call $subscribe (i64.const -1))) (br $forever))
  unreachable)
