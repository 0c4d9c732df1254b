;; Has tools, and imports something that no host offers.
(component
  (import "evil:corp/backdoor@1.0.0" (instance (export "open" (func))))
  (core module $m (func (export "list") (result i32) i32.const 0))
  (core instance $i (instantiate $m))
  (func $list (result u32) (canon lift (core func $i "list")))
  (instance $tools (export "list-tools" (func $list)) (export "call-tool" (func $list)))
  (export "toolhost:plugin/tools@0.1.0" (instance $tools)))
