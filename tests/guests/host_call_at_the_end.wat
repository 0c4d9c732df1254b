;; Uses up its stack in steps of a frame, and calls the host from each depth.
(import "toolhost:plugin/context@0.1.0" "attribute" (func $attribute (param i32 i32 i32)))
(func $deeper (param i32) (result i32)
  (call $attribute (i32.const 336) (i32.const 5) (i32.const 2048))
  (i32.add (call $deeper (i32.add (local.get 0) (i32.const 1))) (i32.const 1)))
(func $attack (result i32) (call $deeper (i32.const 0)))
