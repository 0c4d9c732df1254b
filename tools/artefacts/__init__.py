"""The artefacts of a release, one module for each kind. `tools/dist` makes them."""
