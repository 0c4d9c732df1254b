;; Looks at both clocks without end.
(import "wasi:clocks/monotonic-clock@0.2.0" "now" (func $now (result i64)))
(import "wasi:clocks/wall-clock@0.2.0" "now" (func $today (param i32)))
(func $attack (result i32)
  (loop $forever (drop (call $now)) (call $today (i32.const 2048)) (br $forever))
  unreachable)
