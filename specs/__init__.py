"""From YAML to a plan: pure, without a clock, a network or a file written.

Reading order: `models` (what may be asked), `loading` (YAML to a located error or a document),
`plan` (a document to trials). The story continues in `flows.run_scenario`.
"""
