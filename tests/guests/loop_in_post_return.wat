;; Replies, and loops when the host says that it has read the reply.
(global $attacked (mut i32) (i32.const 0))
(func $attack (result i32) (global.set $attacked (i32.const 1)) i32.const 288)
(func (export "cabi_post_toolhost:plugin/tools@0.1.0#call-tool") (param i32)
  (if (global.get $attacked) (then (loop $forever (br $forever)))))
