;; Imports something that no host offers.
(component
  (import "evil:corp/backdoor@1.0.0" (instance (export "open" (func)))))
