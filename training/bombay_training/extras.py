"""What a command says when an optional dependency is missing. One place, so that all say the same as README does."""


def missing_extra(what: str, extra: str, error: ImportError) -> str:
    """One line that says how to install an extra.

    The package is on no index, so the line names a checkout.

    Args:
        what: what cannot run without the extra, such as "ppo".
        extra: its name in `pyproject.toml`.
        error: raised by the import that failed.
    """
    return f"{what} needs the extra `{extra}`: in a checkout of bombay_env, run pip install '.[{extra}]' ({error})"
