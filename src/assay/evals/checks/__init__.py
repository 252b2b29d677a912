"""Objective checks: one file per kind, with a `Spec` and `check(spec, scene)`.

Takes what a task asks for and a `Scene`; gives a `Finding`. Checks read, and run commands only through the scene.
They do not know each other.
"""
