;; Asks for the facts about a file without end.
(import "toolhost:plugin/files@0.1.0" "metadata-of" (func $metadata (param i32 i32 i32)))
(func $attack (result i32)
  (loop $forever
    (global.set $next (i32.const 4096))
    (call $metadata (i32.const 336) (i32.const 5) (i32.const 2048))
    (br $forever))
  unreachable)
