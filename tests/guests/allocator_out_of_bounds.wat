;; Its allocator gives the host an address behind the end of its memory.
(import "toolhost:plugin/context@0.1.0" "chat" (func $chat (param i32)))
(func $attack (result i32)
  (global.set $next (i32.const 0xfffff000))
  (call $chat (i32.const 2048))
  i32.const 288)
