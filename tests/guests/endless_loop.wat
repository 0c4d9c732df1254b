;; Never returns.
(func $attack (result i32)
  (loop $forever (br $forever))
  unreachable)
