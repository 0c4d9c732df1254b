;; Has 50 tables, more than a place for a call has. It does not load.
@50 (table 1 funcref)
(func $attack (result i32) i32.const 288)
