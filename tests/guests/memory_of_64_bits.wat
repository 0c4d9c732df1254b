;; Has a memory of 64-bit addresses, and wants 1 TiB of it.
(memory $big i64 1)
(func $attack (result i32)
  (if (i64.eq (memory.grow $big (i64.const 0x1000000)) (i64.const -1)) (then unreachable))
  i32.const 288)
