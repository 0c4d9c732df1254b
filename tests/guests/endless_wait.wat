;; Waits for a process that does not end, for 2^64 - 1 milliseconds, and again when that is over.
(import "toolhost:plugin/processes@0.1.0" "start" (func $start (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
(import "toolhost:plugin/processes@0.1.0" "[method]process.wait"
  (func $wait (param i32 i64 i64 i32 i32 i32 i32 i32)))
(data (i32.const 1024) "sleep 1000")
(func $attack (result i32)
  (call $start (i32.const 1024) (i32.const 10) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
    (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 2048))
  (loop $forever
    (global.set $next (i32.const 8192))
    (call $wait (i32.load (i32.const 2052)) (i64.const -1) (i64.const 0)
      (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 2304))
    (br $forever))
  unreachable)
