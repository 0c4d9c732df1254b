;; Traps at once.
(func $attack (result i32)
  unreachable)
