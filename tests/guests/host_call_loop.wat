;; Calls a cheap function of the host without end.
(import "toolhost:plugin/context@0.1.0" "cancelled" (func $cancelled (result i32)))
(func $attack (result i32)
  (loop $forever (drop (call $cancelled)) (br $forever))
  unreachable)
