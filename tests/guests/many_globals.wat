;; Has 5,000 globals, which live in the instance and not in its memory.
@5000 (global (mut i64) (i64.const 7))
(func $attack (result i32) i32.const 288)
