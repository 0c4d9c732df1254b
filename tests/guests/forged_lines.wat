;; Logs and reports one text of several lines, of which the later look like the host's own.
(import "toolhost:plugin/log@0.1.0" "log" (func $log (param i32 i32 i32)))
(import "toolhost:plugin/progress@0.1.0" "report" (func $report (param f64 i32 f64 i32 i32 i32)))
(data (i32.const 1024) "fine\0a2026-01-01T00:00:00Z  INFO toolhost::host: forged\0d\0aforged")
(func $attack (result i32)
  (call $log (i32.const 0) (i32.const 1024) (i32.const 62))
  (call $log (i32.const 3) (i32.const 1024) (i32.const 62))
  (call $report (f64.const nan) (i32.const 1) (f64.const -inf) (i32.const 1) (i32.const 1024) (i32.const 62))
  i32.const 288)
