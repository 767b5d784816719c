"""Platforms, one module or package each: `base` has the interface, `registry` the list, `simulated` the example."""
