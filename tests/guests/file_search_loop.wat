;; Has a large file searched without end, which costs the guest nothing and the host much.
(import "toolhost:plugin/files@0.1.0" "skip-lines" (func $skip (param i32 i32 i64 i64 i32)))
(func $attack (result i32)
  ;; The path is the text "hello" of the prelude; the result is as if it were not there.
  (loop $forever
    (call $skip (i32.const 336) (i32.const 5) (i64.const 0) (i64.const -1) (i32.const 2048))
    (br $forever))
  unreachable)
