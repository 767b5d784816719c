"""The load engine: paces attempts, keeps the clocks, writes the rows. It knows operations, and no platform.

Reading order: `pacing` (when attempts are due), `attempts` (one attempt, from call to row),
`load` (a load step), `recorder` (rows to disk), `loops` (the event loop it all runs in, in real
or in virtual time).
"""
