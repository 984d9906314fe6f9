internal import JSON

/// The preset `book_appointment`: books a time at an address, by a `POST` of JSON.
///
/// The machine asks the other party before it books (`confirm`). Both numbers are told; they
/// come from signalling, and what is spoken cannot change them.
enum BookAppointment {
    static let document: [String: JSONValue] = [
        "description": "Books a visit at a time that is free. Call it when day, time and name are known.",
        "parameters": [
            "type": "object",
            "properties": [
                "day": ["type": "string", "format": "date", "description": "the day, as 2026-07-28"],
                "time": ["type": "string", "maxLength": 8, "description": "the time, as 14:30"],
                "name": ["type": "string", "maxLength": 100, "description": "who comes"],
                "service": ["type": "string", "maxLength": 100, "description": "what the visit is for"],
                "note": ["type": "string", "maxLength": 500],
            ],
            "required": ["day", "time"],
        ],
        "fixed": ["caller": "{{caller.number}}", "callee": "{{callee.number}}", "direction": "{{call.direction}}"],
        "request": ["method": "POST", "body": "json"],
        "confirm": true,
        "limit": 3,
        "speak": ["after_ms": 1500, "texts": ["One moment, please."], "every_ms": 6000],
    ]
}
