"""The next steps that messages name, in the words of the place where they are shown."""

from dataclasses import dataclass

DOCTOR = "`magent-lsp doctor` says more"


@dataclass(frozen=True, kw_only=True)
class Ways:
    """What a person can do where they are: in an editor, or in the terminal."""

    config: str = "config.yaml"
    """The person's own config file, whether it exists or not."""
    terminal: bool = False

    @property
    def environment(self) -> str:
        """Where the variables of a key belong."""
        return "the environment" if self.terminal else "the environment of the editor"

    @property
    def trust(self) -> str:
        """How to look at a project's config and trust it."""
        if self.terminal:
            return "`/trust` in `magent-lsp chat`"
        return "the code action `Magent: Trust this project's config` (or the command `magent.trust`)"

    @property
    def model(self) -> str:
        """How to get a model when there is none."""
        flag = "give `--model provider/name`, " if self.terminal else ""
        return (
            f"set a key (ANTHROPIC_API_KEY, OPENAI_API_KEY, …) in {self.environment}, start Ollama, "
            f"{flag}or set `model` in {self.config}"
        )

    def key(self, name: str) -> str:
        """How to give a key that is missing."""
        flag = ", give another `--model`" if self.terminal else ""
        return f"set {name} in {self.environment}{flag}, or set `model` or `apiKeyCommand` in {self.config}"
