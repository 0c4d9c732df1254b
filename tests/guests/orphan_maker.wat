;; Starts `sleep 1000` in the foreground and traps without telling anyone.
(import "toolhost:plugin/processes@0.1.0" "start" (func $start (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
(data (i32.const 1024) "sleep 1000")
(func $attack (result i32)
  (call $start
    (i32.const 1024) (i32.const 10)
    (i32.const 0) (i32.const 0) (i32.const 0)
    (i32.const 0) (i32.const 0)
    (i32.const 0)
    (i32.const 0) (i32.const 0) (i32.const 0)
    (i32.const 0)
    (i32.const 2048))
  unreachable)
