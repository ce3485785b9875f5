"""meta.py -- prints what is wrong with META.json.

    meta.py FILE            what our own tree asks for
    meta.py FILE SCHEMAS    what PGXN's schemas in that directory ask for
"""
import json
import pathlib
import re
import sys

# Classes of characters in the schemas' expressions that Python does not know, as JSON
# writes them.
CLASSES = {
    r"\\p{Cntrl}": r"\\x00-\\x1f\\x7f",
    r"\\p{Space}": r"\\s",
    r"\\p{lower}": "[a-z]",
    "[:digit:]": "0-9",
}


def control_files():
    """Names of our extensions, with the files that declare them."""
    names = {"twtasks": pathlib.Path("twtasks.control")}
    for order in pathlib.Path("extensions").glob("*/order.txt"):
        folder = order.parent
        names[f"twtasks_{folder.name}"] = folder / f"{folder.name}.control"
    return names


def version():
    """The default version as PGXN wants it, which is three numbers."""
    text = pathlib.Path("twtasks.control").read_text()
    found = re.search(r"^default_version *= *'([^']*)'", text, re.M).group(1)
    return found if found.count(".") == 2 else found + ".0"


def own_faults(meta):
    wanted = control_files()
    provided = meta.get("provides", {})
    if set(provided) != set(wanted):
        yield f"provides {sorted(provided)} in place of {sorted(wanted)}"
    places = {"the distribution": meta, **provided}
    for name, place in places.items():
        if place.get("version") != version():
            yield f"the version of {name} is {place.get('version')} in place of {version()}"
    for name, place in provided.items():
        for key in "file", "docfile":
            if not pathlib.Path(place.get(key, "missing")).is_file():
                yield f"{key} of {name} does not exist"


def schema_faults(meta, folder):
    import warnings
    warnings.simplefilter("ignore")      # newer versions have another way to look up $ref
    import jsonschema

    store = {}
    for path in pathlib.Path(folder).glob("*.schema.json"):
        text = path.read_text()
        for theirs, python in CLASSES.items():
            text = text.replace(theirs, python)
        schema = json.loads(text)
        store[schema["$id"]] = schema
    root = next(s for id, s in store.items() if id.endswith("/distribution.schema.json"))
    resolver = jsonschema.RefResolver(root["$id"], root, store=store)
    for error in jsonschema.Draft202012Validator(root, resolver=resolver).iter_errors(meta):
        yield f"{error.json_path}: {error.message}"


meta = json.loads(pathlib.Path(sys.argv[1]).read_text())
for fault in own_faults(meta) if len(sys.argv) == 2 else schema_faults(meta, sys.argv[2]):
    print(f"{sys.argv[1]}:1: {fault}")
