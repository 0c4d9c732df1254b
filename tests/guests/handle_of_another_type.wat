;; Uses the handle of a stream as that of a process.
(import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
(import "toolhost:plugin/processes@0.1.0" "[method]process.id" (func $id (param i32 i32)))
(func $attack (result i32)
  (call $id (call $stdout) (i32.const 2304))
  i32.const 288)
