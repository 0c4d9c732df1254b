;; Replies "hello". What the others are compared with.
(func (export "toolhost:plugin/tools@0.1.0#call-tool") (param i32 i32 i32 i32 i32 i32) (result i32)
  i32.const 288)
