"""{{name}}: a plugin for Toolhost.

Imports stand here, at the top: modules are resolved when the component is built.
"""

from toolhost import tool
{{#processes}}
import disk_usage  # noqa: F401 -- defines a tool
{{/processes}}
{{#files}}
import first_line  # noqa: F401 -- defines a tool
{{/files}}
{{#http}}
import page_title  # noqa: F401 -- defines a tool
{{/http}}


@tool(read_only=True)
def {{name}}(text: str) -> dict:
    """Counts the words of a text.

    text: The text.
    """
    return {"words": len(text.split())}
