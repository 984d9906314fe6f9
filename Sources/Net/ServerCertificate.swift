internal import CLibwebsockets
public import Foundation

/// The certificate that this server shows to its clients, with its private key: two PEM files.
public struct ServerCertificate: Sendable {
    public enum Problem: Error, Equatable {
        case noCertificate, noKey
        /// The key is protected by a password. A service cannot ask for it at its start.
        case encryptedKey
        /// The key is that of another certificate.
        case mismatch
    }

    public let validFrom, validUntil: Date

    /// Reads both files. Of a chain the first certificate counts.
    public init(certificate: String, key: String) throws(Problem) {
        var from: Int64 = 0, until: Int64 = 0
        switch clws_check_pair(certificate, key, &from, &until) {
        case CLWS_PAIR_NO_CERTIFICATE: throw .noCertificate
        case CLWS_PAIR_NO_KEY: throw .noKey
        case CLWS_PAIR_ENCRYPTED_KEY: throw .encryptedKey
        case CLWS_PAIR_MISMATCH: throw .mismatch
        default: break
        }
        validFrom = Date(timeIntervalSince1970: Double(from))
        validUntil = Date(timeIntervalSince1970: Double(until))
    }

    /// Why careful clients refuse it at a time. nil: they take it, if it is theirs to trust and has our name.
    public func refusal(at time: Date) -> String? {
        if time > validUntil { return "expired at \(validUntil.formatted(.iso8601))" }
        if time < validFrom { return "is not valid before \(validFrom.formatted(.iso8601))" }
        return nil
    }
}
