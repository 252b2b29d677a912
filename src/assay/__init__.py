"""Assay tells whether coding agents' sessions land their goals."""


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415  slow, and seldom asked for

        return version("assay")
    raise AttributeError(name)
