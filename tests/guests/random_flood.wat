;; Asks for 64 KiB of random bytes without end.
(import "wasi:random/random@0.2.0" "get-random-bytes" (func $random (param i64 i32)))
(func $attack (result i32)
  (loop $forever
    (global.set $next (i32.const 4096))
    (call $random (i64.const 65536) (i32.const 2048))
    (br $forever))
  unreachable)
