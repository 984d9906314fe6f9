import Foundation
import Net

extension HTTPClientRequest {
    /// The body as a JSON object.
    var object: NSDictionary? {
        body.flatMap { (try? JSONSerialization.jsonObject(with: Data($0))) as? NSDictionary }
    }

    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}
