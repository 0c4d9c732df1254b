;; Fills and copies a table of 90,000 elements without end.
(table $t 90000 funcref)
(func $attack (result i32)
  (loop $forever
    (table.fill $t (i32.const 0) (ref.null func) (i32.const 90000))
    (table.copy $t $t (i32.const 1) (i32.const 0) (i32.const 89999))
    (br $forever))
  unreachable)
