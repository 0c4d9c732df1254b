;; Has three tables, each of which stays below the limit alone.
(table $a 0 funcref)
(table $b 0 funcref)
(table $c 0 funcref)
(func $attack (result i32)
  (if (i32.eq (table.grow $a (ref.null func) (i32.const 40000)) (i32.const -1)) (then unreachable))
  (if (i32.eq (table.grow $b (ref.null func) (i32.const 40000)) (i32.const -1)) (then unreachable))
  (if (i32.eq (table.grow $c (ref.null func) (i32.const 40000)) (i32.const -1)) (then unreachable))
  i32.const 288)
