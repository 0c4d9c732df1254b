;; Reads 4 MiB of saved output again and again, which is on disk.
(import "toolhost:plugin/processes@0.1.0" "start" (func $start (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
(import "toolhost:plugin/processes@0.1.0" "[method]process.wait"
  (func $wait (param i32 i64 i64 i32 i32 i32 i32 i32)))
(import "toolhost:plugin/processes@0.1.0" "[method]process.read" (func $read (param i32 i64 i32 i32)))
(data (i32.const 1024) "head -c 4194304 /dev/zero")
(func $attack (result i32)
  (call $start (i32.const 1024) (i32.const 25) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
    (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 2048))
  (call $wait (i32.load (i32.const 2052)) (i64.const 60000) (i64.const 0)
    (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 2304))
  (loop $forever
    (global.set $next (i32.const 8192))
    (call $read (i32.load (i32.const 2052)) (i64.const 0) (i32.const 0x400000) (i32.const 2304))
    (br $forever))
  unreachable)
