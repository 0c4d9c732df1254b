;; Reports progress without end.
(import "toolhost:plugin/progress@0.1.0" "report" (func $report (param f64 i32 f64 i32 i32 i32)))
(func $attack (result i32)
  (loop $forever
    (call $report (f64.const 1e308) (i32.const 1) (f64.const 5e-324) (i32.const 1) (i32.const 336) (i32.const 5))
    (br $forever))
  unreachable)
