;; Asks for 16 EiB of random bytes at once.
(import "wasi:random/insecure@0.2.0" "get-insecure-random-bytes" (func $random (param i64 i32)))
(func $attack (result i32)
  (call $random (i64.const -1) (i32.const 2048))
  i32.const 288)
