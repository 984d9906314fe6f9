internal import JSON
internal import Net
internal import Pipeline

extension Payloads {
    /// `GET …/{id}/graph`: stages in flow order, links (no queue between) and edges (bounded queues).
    static func graph(_ reading: GraphReading, isLive: Bool, _ id: [String: JSONValue]) -> JSONValue {
        var members = id
        members["live"] = .bool(isLive)
        members["mode"] = reading.mode.map(JSONValue.string) ?? .null
        members["stages"] = .array(
            reading.stages.map {
                [
                    "name": .string($0.name), "lane": .string($0.lane.rawValue), "frames": .number(Double($0.frames)),
                    "mean_ms": $0.meanMs.map(JSONValue.number) ?? .null,
                    "worst_ms": $0.worstMs.map(JSONValue.number) ?? .null,
                ]
            })
        members["links"] = .array(reading.links.map { ["from": .string($0.from), "to": .string($0.to)] })
        members["edges"] = .array(
            reading.edges.map {
                [
                    "name": .string($0.name), "from": .string($0.from), "to": .string($0.to),
                    "depth": .number(Double($0.depth)), "peak": .number(Double($0.peakDepth)),
                    "limit": .number(Double($0.limit)), "oldest_ms": .number(Double($0.oldestMs)),
                    "sent": .number(Double($0.sent)), "dropped": .number(Double($0.dropped)),
                    "waits": .number(Double($0.waits)), "when_full": .string($0.whenFull.rawValue),
                ]
            })
        return .object(members)
    }
}
