;; Exports the tools of a contract that this host does not speak.
(component
  (core module $m (func (export "list") (result i32) i32.const 0))
  (core instance $i (instantiate $m))
  (func $list (result u32) (canon lift (core func $i "list")))
  (instance $tools (export "list-tools" (func $list)))
  (export "toolhost:plugin/tools@0.2.0" (instance $tools)))
