"""One source's settings, checked key by key: what is good counts, what is bad is reported once."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from magent_lsp.core.config import Client, Settings
from magent_lsp.store.data import Data, Keys
from magent_lsp.store.problems import Problem

Values = dict[str, Any]
"""Settings by camelCase key; sections are mappings; only valid values."""


def fields_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """A model's fields by the key that people write."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def section_of(field: FieldInfo) -> type[BaseModel] | None:
    """The model of a setting that is a group of settings."""
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def check(
    value: Any,
    *,
    data: Data | None = None,
    path: Path | None = None,
    label: Callable[[Keys], str] = lambda keys: repr(".".join(map(str, keys))),
    model: type[BaseModel] = Settings,
) -> tuple[Values, tuple[Problem, ...]]:
    """The good values and what is wrong with the others; null and empty text mean "not set"."""
    checker = _Checker(data or Data(), path, label)
    return checker.section(value, model, ()), tuple(checker.problems)


def parse_client(value: Any) -> tuple[Client, tuple[Problem, ...]]:
    """What a client says it can do (`initializationOptions.magent.client`)."""
    values, problems = check(
        value or {}, label=lambda keys: f"'client.{'.'.join(map(str, keys))}' (from the editor)", model=Client
    )
    return Client.model_validate(values), problems


class _Checker:
    def __init__(self, data: Data, path: Path | None, label: Callable[[Keys], str]) -> None:
        self.data = data
        self.path = path
        self.label = label
        self.problems: list[Problem] = []

    def report(self, keys: Keys, message: str) -> None:
        line = self.data.line(*keys)
        self.problems.append(Problem(message=f"{self.label(keys)}{message}", path=self.path, line=line))

    def section(self, value: Any, model: type[BaseModel], keys: Keys) -> Values:
        if not isinstance(value, Mapping):
            self.report(keys, " must be a mapping of settings; it is ignored")
            return {}
        known = fields_of(model)
        result: Values = {}
        for key, item in value.items():
            field = known.get(key)
            if field is None:
                self.report((*keys, key), f" is no setting{_meant(str(key), known)}; it is ignored")
            elif item is None or item == "" or (model is Settings and key == "permission"):
                continue
            elif inner := section_of(field):
                if part := self.section(item, inner, (*keys, key)):
                    result[key] = part
            elif self.is_good(model, key, field, item, (*keys, key)):
                result[key] = item
        return result

    def is_good(self, model: type[BaseModel], key: str, field: FieldInfo, item: Any, keys: Keys) -> bool:
        kinds = {field.annotation, *get_args(field.annotation)}
        if isinstance(item, bool) and bool not in kinds and kinds & {int, float}:
            said = "input should be a number"
        else:
            try:
                model.model_validate({key: item})
                return True
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                said = first["msg"][:1].lower() + first["msg"][1:]
                where = [step for step in first["loc"][1:] if isinstance(step, int | str)]
                keys = (*keys, *where) if (*keys, *where) in self.data.lines else keys
        shown = "" if isinstance(item, dict) else f", not {_short(item)}"
        default = field.get_default(call_default_factory=True, validated_data={})
        self.report(keys, f": {said}{shown}; the default ({_short(default)}) is used")
        return False


def _meant(key: str, known: Mapping[str, Any]) -> str:
    folded = {name.lower(): name for name in known}
    near = get_close_matches(key.replace("_", "").replace("-", "").lower(), folded, 1, 0.75)
    return f"; did you mean {folded[near[0]]!r}?" if near else ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def merge(below: Values, above: Values) -> Values:
    """The values of two layers: the later wins, groups are merged, lists of hooks and globs are joined."""
    result = dict(below)
    for key, value in above.items():
        known = result.get(key)
        if key == "instructions" and known:
            result[key] = list(dict.fromkeys([*known, *value]))
        elif key == "hooks" and known:
            result[key] = {
                event: [*_list(known.get(event)), *_list(value.get(event))] for event in {**known, **value}
            }
        elif isinstance(value, dict) and isinstance(known, dict):
            result[key] = {**known, **value}
        else:
            result[key] = value
    return result


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
