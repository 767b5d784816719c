"""Flows and the command line: they own order and clean-up, and expand a plan into steps.

Reading order: `run_scenario` (the whole of a run on one screen), `requests` (what a run is asked
for), `cli` (the same from a terminal).
"""
