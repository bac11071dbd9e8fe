"""What is known of models: windows, abilities, prices."""

from dataclasses import dataclass

from magent_lsp.core.messages import Usage


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Of one model; None where nothing is known."""

    context: int | None = None
    """Tokens that a request may have."""
    output: int | None = None
    """Tokens that an answer may have."""
    vision: bool = False
    tools: bool = True
    reasoning: bool = False
    input_price: float | None = None
    """US dollars a million tokens."""
    output_price: float | None = None
    known: bool = False
    """Whether the catalogue lists the model."""


SCRIPTED = "scripted:"
"""What the names of recorded models begin with."""
SCRIPTED_LIMITS = Limits(context=200_000, output=8_000, input_price=0, output_price=0, known=True)


def limits(model: str) -> Limits:
    """What is known of a model; loads the client if need be, so on an event loop use `Models.limits`."""
    if model.startswith(SCRIPTED):
        return SCRIPTED_LIMITS
    from magent_lsp.llm.load import load  # here, since `load` imports this module

    return load().limits(model)


def cost(model: str, usage: Usage) -> float | None:
    """US dollars, None where no price is known; loads the client if need be."""
    if model.startswith(SCRIPTED):
        return 0.0
    from magent_lsp.llm.load import load

    return load().cost(model, usage)
