"""What schemathesis is not to send: libwebsockets ends a URI at an encoded line break, and drops a connection at an
encoded NUL."""

import schemathesis

# As they are, and as a path is written.
ENDS_A_URI = ("\r", "\n", "\0", "%0D", "%0A", "%00")


def is_sendable(value):
    if isinstance(value, dict):
        return all(is_sendable(item) for pair in value.items() for item in pair)
    if isinstance(value, (list, tuple)):
        return all(map(is_sendable, value))
    return not (isinstance(value, str) and any(end in value.upper() for end in ENDS_A_URI))


@schemathesis.hook
def filter_case(context, case):
    return is_sendable(dict(case.path_parameters or {})) and is_sendable(dict(case.query or {}))
