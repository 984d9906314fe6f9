// swift-tools-version: 6.2
import PackageDescription

/// One strict settings array for every target of ours.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "trunkline",
    products: [
        .executable(name: "trunkline", targets: ["trunkline"]),
        .library(name: "Pipeline", targets: ["Pipeline"]),
        .library(name: "Bridge", targets: ["Bridge"]),
        .library(name: "Realtime", targets: ["Realtime"]),
        .library(name: "API", targets: ["API"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ],
    targets: [
        .systemLibrary(name: "CLibwebsockets", path: "Sources/C/Libwebsockets"),
        .target(name: "CCurl", path: "Sources/C/Curl", linkerSettings: [.linkedLibrary("curl")]),
        .systemLibrary(name: "CSoxr", path: "Sources/C/Soxr"),
        .systemLibrary(name: "CFlite", path: "Sources/C/Flite"),
        .systemLibrary(name: "CPocketSphinx", path: "Sources/C/PocketSphinx", pkgConfig: "pocketsphinx"),
        .systemLibrary(name: "CSofiaHeaders", path: "Sources/C/SofiaHeaders", pkgConfig: "sofia-sip-ua"),
        .systemLibrary(name: "CSrtp", path: "Sources/C/Srtp"),
        .target(name: "CSherpa", path: "Sources/C/Sherpa", linkerSettings: [.linkedLibrary("dl")]),
        .target(name: "COnnx", path: "Sources/C/Onnx", linkerSettings: [.linkedLibrary("dl")]),
        .target(
            name: "CMoonshine", dependencies: ["COnnx"], path: "Sources/C/Moonshine",
            linkerSettings: [.linkedLibrary("m")]),
        .target(name: "CSilero", dependencies: ["COnnx"], path: "Sources/C/Silero"),
        .target(name: "CSofia", dependencies: ["CSofiaHeaders"], path: "Sources/C/Sofia"),

        .target(
            name: "Pipeline",
            dependencies: ["CSoxr", .product(name: "DequeModule", package: "swift-collections")],
            swiftSettings: strict),
        .target(name: "JSON", swiftSettings: strict),
        .target(name: "Problems", swiftSettings: strict),
        .target(name: "Settings", dependencies: ["Yams"], swiftSettings: strict),
        .target(
            name: "Net",
            dependencies: [
                "Settings", "CLibwebsockets", "CCurl", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(
            name: "Bridge",
            dependencies: [
                "Pipeline", "Net", "Settings", "CSofia", "CSrtp", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(
            name: "Realtime",
            dependencies: [
                "Pipeline", "Net", "Settings", "CFlite", "CPocketSphinx", "CSherpa", "CMoonshine", "CSilero",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
            ],
            resources: [.copy("Resources")],
            swiftSettings: strict),
        .target(
            name: "Store",
            dependencies: [
                "Net", "Problems", "Settings", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .target(
            name: "Calls",
            dependencies: [
                "Store", "Bridge", "Realtime", "Pipeline", "Net", "Problems", "Settings",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(
            name: "Delivery",
            dependencies: [
                "Store", "Net", "Problems", "Settings", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(name: "KnowledgeBase", dependencies: ["Store", "Realtime", "Problems"], swiftSettings: strict),
        .target(
            name: "API",
            dependencies: [
                "Calls", "Delivery", "KnowledgeBase", "Store", "Bridge", "JSON", "Net", "Pipeline", "Problems",
                "Realtime", "Settings",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "trunkline",
            dependencies: [
                "API", "Calls", "Delivery", "KnowledgeBase", "Store", "Bridge", "Realtime", "Pipeline", "Problems",
                "Net", "Settings",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),

        .target(
            name: "TestSupport", dependencies: ["Pipeline", "Realtime", "Bridge", "Net"], path: "Tests/TestSupport",
            swiftSettings: strict),
        .testTarget(name: "LayoutTests", swiftSettings: strict),
        .testTarget(name: "SettingsTests", dependencies: ["Settings"], swiftSettings: strict),
        .testTarget(
            name: "ConfigurationTests",
            dependencies: [
                "trunkline", "Bridge", "Calls", "Net", "Realtime", "Settings", "Store",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict),
        .testTarget(name: "JSONTests", dependencies: ["JSON"], swiftSettings: strict),
        .testTarget(name: "PipelineTests", dependencies: ["Pipeline", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "NetTests", dependencies: ["Net", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "BridgeTests", dependencies: ["Bridge", "Net", "Pipeline", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "RealtimeTests", dependencies: ["Realtime", "Net", "Pipeline", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "StoreTests",
            dependencies: ["Store", "Net", "Problems", .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: strict),
        .testTarget(
            name: "DeliveryTests",
            dependencies: ["Delivery", "Net", "Problems", .product(name: "Logging", package: "swift-log")],
            swiftSettings: strict),
        .testTarget(
            name: "CallsTests",
            dependencies: [
                "Calls", "Store", "Bridge", "Realtime", "Pipeline", "Problems", "Net", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"), .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "APITests",
            dependencies: [
                "API", "Calls", "Delivery", "JSON", "Store", "Net", "Problems", "Realtime", "Bridge", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)

// TRUNKLINE_FUZZ=1 (scripts/fuzz): the parsers and one program with all fuzz targets, and nothing else: it is built
// with libFuzzer, which would be linked into every program. Of API and Calls only what needs no database: a
// parser's file is one more name.
if Context.environment["TRUNKLINE_FUZZ"] != nil {
    let parsers: Set = ["JSON", "Settings", "Pipeline", "Net", "Bridge", "Realtime"]
    package.products = []
    package.targets.removeAll {
        $0.type != .system && !($0.path ?? "").hasPrefix("Sources/C/") && !parsers.contains($0.name)
    }
    package.targets += [
        .target(
            name: "API", dependencies: ["JSON"], path: "Sources/API", sources: ["ListCursor.swift", "Timestamp.swift"],
            swiftSettings: strict),
        .target(
            name: "Calls", path: "Sources/Calls/Dialling", sources: ["CallAddress.swift", "NumberingPlan.swift"],
            swiftSettings: strict),
        // A SIP connection without its socket, over the C that bounds and corrects sofia.
        .target(
            name: "SIPStream", dependencies: ["CSofia", "CSofiaHeaders"], path: "Tests/Fuzz/SIPStream",
            cSettings: [.headerSearchPath("../../../Sources/C/Sofia")]),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "API", "Bridge", "Calls", "JSON", "SIPStream", "Realtime", "Pipeline", "Net",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            path: "Tests/Fuzz/Targets", swiftSettings: strict),
    ]
}
