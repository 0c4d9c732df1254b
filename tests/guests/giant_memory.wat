;; Wants 2 GiB from the start. It does not load.
(memory $big 32768)
(func $attack (result i32) i32.const 288)
