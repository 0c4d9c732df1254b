;; Drops a resource of its own, whose destructor loops.
(import "[export]things" "[resource-new]thing" (func $new (param i32) (result i32)))
(import "[export]things" "[resource-drop]thing" (func $drop (param i32)))
(func (export "things#[dtor]thing") (param i32) (loop $forever (br $forever)))
(func $attack (result i32)
  (call $drop (call $new (i32.const 1)))
  i32.const 288)
