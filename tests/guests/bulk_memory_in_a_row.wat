;; Fills 60 MiB 2,000 times in a row, in code without a loop in which the host could look at its clock.
(func $attack (result i32)
  (if (i32.eq (memory.grow (i32.const 960)) (i32.const -1)) (then unreachable))
@2000 (memory.fill (i32.const 0x10000) (i32.const 7) (i32.const 0x3c00000))
  i32.const 288)
