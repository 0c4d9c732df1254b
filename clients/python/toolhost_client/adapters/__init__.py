"""Adapters for the SDKs of providers and frameworks, one a module. Each needs its SDK, and the client needs none."""
