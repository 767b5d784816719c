"""From YAML to a plan: pure, without a clock, a network or a file written.

Reading order: `models` (what may be asked), `loading` (a file to a document, or every problem with
its place), which calls `reading` (text to a `tree`), `overrides` and `resolving` (one scenario for
each combination of the matrix); then `plan` (a document to trials). The story continues in
`flows.run_scenario`.
"""
