;; Calls itself with 2,000 values in each frame, which live until the call below has returned.
(func $deeper (param $n i64) (result i64)
@2000 (i64.mul (local.get $n) (i64.load (i32.wrap_i64 (local.get $n))))
  (call $deeper (i64.add (local.get $n) (i64.const 1)))
@2000 i64.xor
)
(func $attack (result i32)
  (drop (call $deeper (i64.const 0)))
  i32.const 288)
