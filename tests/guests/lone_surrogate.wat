;; Logs a text with half a character, as JavaScript has them.
(import "toolhost:plugin/log@0.1.0" "log" (func $log (param i32 i32 i32)))
(data (i32.const 1024) "a\ed\a0\80b")
(func $attack (result i32)
  (call $log (i32.const 1) (i32.const 1024) (i32.const 5))
  i32.const 288)
