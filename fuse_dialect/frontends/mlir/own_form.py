"""Ops whose own form leaves out what the generic form says."""


class PartialForm:
    """An op with a form of its own that cannot say everything: the printer asks it before it prints."""

    def has_own_form(self) -> bool:
        """Whether its own form says all that the op is; otherwise it is printed in the generic form."""
        raise NotImplementedError
