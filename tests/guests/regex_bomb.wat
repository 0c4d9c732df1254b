;; Searches output again and again for an expression that is slow at every byte.
(import "toolhost:plugin/processes@0.1.0" "start" (func $start (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
(import "toolhost:plugin/processes@0.1.0" "[method]process.wait"
  (func $wait (param i32 i64 i64 i32 i32 i32 i32 i32)))
(data (i32.const 1024) "head -c 60000 /dev/zero; sleep 1000")
(data (i32.const 1100) "(?s-u)(.{0,40}.{0,40}){2}x")
(func $attack (result i32)
  (call $start (i32.const 1024) (i32.const 35) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
    (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 2048))
  (loop $forever
    (global.set $next (i32.const 8192))
    (call $wait (i32.load (i32.const 2052)) (i64.const 20) (i64.const 0)
      (i32.const 1) (i32.const 1100) (i32.const 26) (i32.const 0) (i32.const 2304))
    (br $forever))
  unreachable)
