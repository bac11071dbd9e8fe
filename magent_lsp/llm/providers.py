"""Providers that `auto` knows, in the order in which it looks for them; a table, to be kept current."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Provider:
    """Where a key opens the door, and what to ask there."""

    name: str
    """LiteLLM's prefix."""
    title: str
    keys: tuple[str, ...]
    """Environment variables, any of which holds the key."""
    also: tuple[str, ...] = ()
    """Variables that the client takes besides, which do not make `auto` choose this provider."""
    model: str
    small: str | None = None
    """For titles and summaries; None: the same."""


PROVIDERS = (
    Provider(
        name="anthropic",
        title="Anthropic",
        keys=("ANTHROPIC_API_KEY",),
        also=("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"),
        model="anthropic/claude-sonnet-5-5",
        small="anthropic/claude-haiku-5-5",
    ),
    Provider(
        name="openai",
        title="OpenAI",
        keys=("OPENAI_API_KEY",),
        also=("OPENAI_API_BASE", "OPENAI_BASE_URL"),
        model="openai/gpt-6.1-sol",
        small="openai/gpt-6-luna",
    ),
    Provider(
        name="gemini",
        title="Google Gemini",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        model="gemini/gemini-pro-latest",
        small="gemini/gemini-flash-lite-latest",
    ),
    Provider(
        name="mistral",
        title="Mistral",
        keys=("MISTRAL_API_KEY",),
        model="mistral/devstral-latest",
        small="mistral/mistral-small-latest",
    ),
    Provider(
        name="deepseek",
        title="DeepSeek",
        keys=("DEEPSEEK_API_KEY",),
        model="deepseek/deepseek-v4-pro",
        small="deepseek/deepseek-v4-flash",
    ),
    Provider(
        name="groq",
        title="Groq",
        keys=("GROQ_API_KEY",),
        model="groq/openai/gpt-oss-120b",
        small="groq/openai/gpt-oss-20b",
    ),
    Provider(
        name="openrouter",
        title="OpenRouter",
        keys=("OPENROUTER_API_KEY",),
        model="openrouter/openrouter/auto",
    ),
    Provider(
        name="xai",
        title="xAI",
        keys=("XAI_API_KEY",),
        model="xai/grok-4.7",
        small="xai/grok-code-fast-1",
    ),
    Provider(
        name="cerebras",
        title="Cerebras",
        keys=("CEREBRAS_API_KEY",),
        model="cerebras/gpt-oss-120b",
    ),
    Provider(
        name="together_ai",
        title="Together AI",
        keys=("TOGETHERAI_API_KEY", "TOGETHER_API_KEY"),
        model="together_ai/zai-org/GLM-5.3",
    ),
)

_LOCAL = {
    "ollama_chat": "Ollama",
    "ollama": "Ollama",
    "lm_studio": "LM Studio",
    "hosted_vllm": "vLLM",
    "llamafile": "llamafile",
}


def find(model: str) -> Provider | None:
    """The provider of a model named `provider/name`."""
    prefix = model.partition("/")[0]
    return next((provider for provider in PROVIDERS if provider.name == prefix), None)


def provider_of(model: str) -> str:
    """The provider's name for people; empty if the model names none."""
    prefix, slash, _ = model.partition("/")
    known = find(model)
    return known.title if known else _LOCAL.get(prefix, prefix if slash else "")


def key_names(model: str) -> tuple[str, ...]:
    """The environment variables that hold the key for a model."""
    known = find(model)
    return known.keys if known else ()
