;; Logs at a level that there is not.
(import "toolhost:plugin/log@0.1.0" "log" (func $log (param i32 i32 i32)))
(func $attack (result i32)
  (call $log (i32.const 4) (i32.const 336) (i32.const 5))
  i32.const 288)
