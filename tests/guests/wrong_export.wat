;; A component, but no plugin.
(component
  (core module $m (func (export "run")))
  (core instance $i (instantiate $m))
  (func $run (canon lift (core func $i "run")))
  (export "run" (func $run)))
