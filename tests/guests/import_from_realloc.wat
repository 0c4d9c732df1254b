;; Calls the host from its allocator, while the host brings it the answer to another call.
(import "toolhost:plugin/context@0.1.0" "chat" (func $chat (param i32)))
(global $attacked (mut i32) (i32.const 0))
(func $allocating (if (global.get $attacked) (then (call $chat (i32.const 2048)))))
(func $attack (result i32)
  (global.set $attacked (i32.const 1))
  (call $chat (i32.const 2048))
  i32.const 288)
