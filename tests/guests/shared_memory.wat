;; Has a memory that threads share, on which it could wait for ever. It does not load.
(memory $shared 1 1 shared)
(func $attack (result i32)
  (drop (memory.atomic.wait32 $shared (i32.const 0) (i32.const 0) (i64.const -1)))
  i32.const 288)
