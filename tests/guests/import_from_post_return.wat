;; Calls the host when its reply was read, and the call is over.
(import "toolhost:plugin/log@0.1.0" "log" (func $log (param i32 i32 i32)))
(global $attacked (mut i32) (i32.const 0))
(func $attack (result i32) (global.set $attacked (i32.const 1)) i32.const 288)
(func (export "cabi_post_toolhost:plugin/tools@0.1.0#call-tool") (param i32)
  (if (global.get $attacked) (then (call $log (i32.const 1) (i32.const 336) (i32.const 5)))))
