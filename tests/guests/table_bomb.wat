;; Takes table elements until it gets no more, and traps.
(table $t 1 funcref)
(func $attack (result i32)
  (loop $more
    (if (i32.eq (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1)) (then unreachable))
    (br $more))
  unreachable)
