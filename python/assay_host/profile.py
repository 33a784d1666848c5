"""Interact profiles in the forms seen, as the list of questions that docs/reference/input-files.md has."""

from typing import Any, Dict, List, Tuple

from assay_host import jsonable
from assay_host.errors import INTERNAL, BridgeError

_KEYS = ("name", "note", "dialog_type", "type", "options", "default", "depends")


def normalise(profile: Any) -> Tuple[List[Dict[str, Any]], Dict[str, Any], List[str]]:
    """(questions, settings, notes). Settings are what a dict holds that nobody can be asked."""
    if profile is None or (not profile and isinstance(profile, (list, tuple, dict))):
        return [], {}, []
    if isinstance(profile, dict):
        return _of_dict(profile)
    if not isinstance(profile, (list, tuple)):
        raise BridgeError(INTERNAL, "get_interact_profile returned {}, accepted: a list of questions, a"
                          " dict, None".format(type(profile).__name__))
    notes: List[str] = []
    return [_question(each, notes) for each in profile], {}, notes


def _of_dict(profile: Dict[Any, Any]) -> Tuple[List[Dict[str, Any]], Dict[str, Any], List[str]]:
    notes: List[str] = []
    if "dialog_type" in profile and "name" in profile:
        return [_question(profile, notes)], {}, notes
    questions, settings = [], {}
    for name, value in profile.items():
        if isinstance(value, dict) and "dialog_type" in value:
            questions.append(_question({"name": str(name), **value}, notes))
        elif value is None or isinstance(value, (dict, list, tuple)):
            settings[str(name)] = value
        else:
            questions.append(_setting(str(name), value))
    asked = [question["name"] for question in questions if str(question["name"]) in map(str, profile)]
    notes.append("get_interact_profile returned a dict: {} taken for questions with these defaults".format(
        ", ".join(asked) or "nothing"))
    if settings:
        notes.append("of the profile's dict, {} passed on in interact_info as they are".format(
            ", ".join(settings)))
    return questions, settings, notes


def _setting(name: str, value: Any) -> Dict[str, Any]:
    value = jsonable.to_jsonable(value)
    kind = {bool: "bool", int: "int", float: "float"}.get(type(value), "str")
    dialog = "Yes/No Dialog" if kind == "bool" else "Input Dialog"
    return {"name": name, "note": None, "dialog_type": dialog, "type": kind, "default": value,
            "depends": None}


def _question(question: Any, notes: List[str]) -> Dict[str, Any]:
    if not isinstance(question, dict):
        raise BridgeError(INTERNAL, "get_interact_profile: a question is {}, wants a dict with {}".format(
            type(question).__name__, ", ".join(_KEYS)))
    surplus = [str(key) for key in question if key not in _KEYS]
    if surplus:
        notes.append('question "{}": {} is not used'.format(question.get("name", ""), ", ".join(surplus)))
    return {key: jsonable.to_jsonable(question[key]) for key in _KEYS if key in question}
