;; Needs the grant `processes`, and would list them.
(import "toolhost:plugin/processes@0.1.0" "list-processes" (func $list (param i32 i32 i32)))
(func $attack (result i32)
  (call $list (i32.const 0) (i32.const 10) (i32.const 2048))
  i32.const 288)
