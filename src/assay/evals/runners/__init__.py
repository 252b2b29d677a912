"""Runners: one file per agent, with how it is started, where it leaves what, and when it was not at fault.

Takes `Given` and `Left`; gives `Launch`, paths and reasons. Runners start nothing themselves and do not know each
other; `evals.runner` is their contract.
"""
