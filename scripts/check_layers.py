#!/usr/bin/env python3
"""Fails when a module includes a header of a module it does not depend on.

The allowed edges are the DEPENDS of the wafer_library() calls; nothing is written down twice.
Usage: check_layers.py ROOT
"""
import re
import sys
from pathlib import Path

# A third-party header belongs to one module; the rest of the code sees that module's types.
OWNERS = {r"mpi\.h": "fabric", r"hdf5\.h|H5.*": "io", r"nlohmann/.*": "io", r"libxsmm\.h": "kernels", r"CLI/.*": "apps"}


def module_of(path: Path) -> str:
    return path.parts[1] if path.parts[0] == "lib" else path.parts[0]


def main(root: Path) -> int:
    depends: dict[str, set[str]] = {}
    for cmake in [*sorted((root / "lib").glob("*/CMakeLists.txt")), root / "kernels/CMakeLists.txt"]:
        for name, body in re.findall(r"wafer_library\((\w+)([^)]*)\)", cmake.read_text()):
            depends[name] = set(body.partition("DEPENDS")[2].split())

    def reachable(name: str) -> set[str]:
        return {name}.union(*(reachable(d) for d in depends.get(name, ()) if d in depends))

    errors = []
    files = [f for d in ("lib", "kernels", "apps") for f in sorted((root / d).rglob("*.[ch]pp"))]
    for file in files:
        here = module_of(file.relative_to(root))
        for number, line in enumerate(file.read_text().splitlines(), 1):
            include = re.match(r'\s*#\s*include\s*([<"])([^>"]+)', line)
            if not include:
                continue
            kind, header = include.groups()
            where = f"{file.relative_to(root)}:{number}"
            if kind == '"' and here != "apps" and header.split("/")[0] not in reachable(here):
                errors.append(f'{where}: {here} must not include "{header}"')
            for pattern, owner in OWNERS.items():
                if kind == "<" and re.fullmatch(pattern, header) and here != owner:
                    errors.append(f"{where}: <{header}> belongs to {owner}")
    print("\n".join(errors) if errors else f"{len(files)} files keep to the layers")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
