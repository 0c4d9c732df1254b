;; Uses a handle that nobody gave it.
(import "toolhost:plugin/processes@0.1.0" "[method]process.id" (func $id (param i32 i32)))
(func $attack (result i32)
  (call $id (i32.const 12345) (i32.const 2048))
  i32.const 288)
