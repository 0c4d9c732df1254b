;; Asks without end for a secret whose name is 1 MiB of control characters, which the answer repeats.
(import "toolhost:plugin/settings@0.1.0" "secret" (func $secret (param i32 i32 i32)))
(func $attack (result i32)
  (drop (memory.grow (i32.const 200)))
  (memory.fill (i32.const 0x10000) (i32.const 1) (i32.const 0x100000))
  (loop $forever
    (global.set $next (i32.const 0x200000))
    (call $secret (i32.const 0x10000) (i32.const 0x100000) (i32.const 2048))
    (br $forever))
  unreachable)
