;; Has 20 memories, more than a place for a call has. It does not load.
@20 (memory 1)
(func $attack (result i32) i32.const 288)
