internal import JSON

/// The preset `check_availability`: asks an address which times of a day are free.
///
/// Request: `GET api_url?day=2026-07-28&time=14:30&service=haircut`. Whatever JSON comes back is what the model is
/// told.
enum CheckAvailability {
    static let document: [String: JSONValue] = [
        "description": "Which times are free on a day. Call it before you offer a time.",
        "parameters": [
            "type": "object",
            "properties": [
                "day": ["type": "string", "format": "date", "description": "the day, as 2026-07-28"],
                "time": ["type": "string", "maxLength": 8, "description": "a time that was asked for, as 14:30"],
                "service": ["type": "string", "maxLength": 100, "description": "what the visit is for"],
            ],
            "required": ["day"],
        ],
        "request": ["method": "GET"],
        "retries": 1,
        "speak": ["after_ms": 1500, "texts": ["One moment, please."], "every_ms": 6000],
    ]
}
