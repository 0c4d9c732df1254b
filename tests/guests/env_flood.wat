;; Starts a command with a million variables.
(import "toolhost:plugin/processes@0.1.0" "start" (func $start (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
(data (i32.const 1024) "true")
(func $attack (result i32)
  (drop (memory.grow (i32.const 300)))
  (call $start (i32.const 1024) (i32.const 4) (i32.const 0) (i32.const 0) (i32.const 0)
    (i32.const 0x10000) (i32.const 1000000)
    (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 2048))
  i32.const 288)
