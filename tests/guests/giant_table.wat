;; Wants a table of ten million elements from the start. It does not load.
(table 10000000 funcref)
(func $attack (result i32) i32.const 288)
