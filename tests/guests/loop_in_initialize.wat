;; Loops in the function that tool chains have called before any other. It does not load.
(func (export "_initialize") (loop $forever (br $forever)))
(func $attack (result i32) i32.const 288)
