;; Calls a cheap function of the host without end.
(import "toolhost:plugin/context@0.1.0" "cancelled" (func $cancelled (result i32)))
(func (export "toolhost:plugin/tools@0.1.0#call-tool") (param i32 i32 i32 i32 i32 i32) (result i32)
  (loop $forever (drop (call $cancelled)) (br $forever))
  unreachable)
