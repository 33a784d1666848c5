#!/usr/bin/env python3
"""The code blocks of docs/guide/backend-cpp.md are quotations of examples/backend_cpp.

usage: guide_quotes_example.py SOURCE_FOLDER
"""
import pathlib
import re
import sys

QUOTED = {"cpp": "backend_linear.cc", "cmake": "CMakeLists.txt", "json": "manifest.json"}


def main():
    source = pathlib.Path(sys.argv[1])
    guide = (source / "docs/guide/backend-cpp.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    failed = [block for language, block in blocks if language in QUOTED and block not in
              (source / "examples/backend_cpp" / QUOTED[language]).read_text(encoding="utf-8")]
    for block in failed:
        print(f"not in the example:\n{block}", file=sys.stderr)
    lines = (source / "examples/backend_cpp/backend_linear.cc").read_text(encoding="utf-8").count("\n")
    if f"complete one of {lines} lines" not in guide:
        failed.append(f"the example has {lines} lines, which the guide does not say")
        print(failed[-1], file=sys.stderr)
    if not any(language == "cpp" for language, _ in blocks):
        sys.exit("the guide has no code")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
