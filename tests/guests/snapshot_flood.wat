;; Takes snapshots of a process without end.
(import "toolhost:plugin/processes@0.1.0" "start" (func $start (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
(import "toolhost:plugin/processes@0.1.0" "[method]process.snapshot" (func $snapshot (param i32 i32)))
(import "toolhost:plugin/processes@0.1.0" "list-processes" (func $list (param i32 i32 i32)))
(data (i32.const 1024) "head -c 65536 /dev/zero; sleep 1000")
(func $attack (result i32)
  (call $start (i32.const 1024) (i32.const 35) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
    (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 2048))
  (loop $forever
    (global.set $next (i32.const 8192))
    (call $snapshot (i32.load (i32.const 2052)) (i32.const 2304))
    (call $list (i32.const 0) (i32.const -1) (i32.const 2304))
    (br $forever))
  unreachable)
