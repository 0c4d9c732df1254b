;; Says that a text of its has 4 GiB, of which it has 64 KiB.
(import "toolhost:plugin/log@0.1.0" "log" (func $log (param i32 i32 i32)))
(func $attack (result i32)
  (call $log (i32.const 1) (i32.const 1024) (i32.const -1))
  i32.const 288)
