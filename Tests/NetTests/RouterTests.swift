import Foundation
import Testing

@testable import Net

@Suite struct RouterTests {
    private let router: Router = {
        var router = Router()
        let nothing: Router.Handler = { _ in HTTPResponse(status: 200) }
        for (method, path) in [("GET", "/a"), ("POST", "/a/{id}"), ("GET", "/a/{id}/b"), ("GET", "/files/{path...}")] {
            router.add(method, path, nothing)
        }
        return router
    }()
    private func parameters(_ method: String, _ path: String) -> [String: String]? {
        if case .found(_, let parameters) = router.match(method: method, path: path) { parameters } else { nil }
    }
    @Test func parametersAreTaken() {
        #expect(parameters("GET", "/a/") == [:])
        #expect(parameters("POST", "/a/7") == ["id": "7"])
        #expect(parameters("HEAD", "/a/x/b") == ["id": "x"])
        #expect(parameters("GET", "/files/x/y.js") == ["path": "x/y.js"])
        #expect(parameters("GET", "/b") == nil && parameters("GET", "/a/1/2/3") == nil)
    }
    @Test func anotherMethodIsNamed() {
        guard case .wrongMethod(let allowed) = router.match(method: "DELETE", path: "/a/7") else {
            Issue.record("no 405")
            return
        }
        #expect(allowed == ["POST"])
    }
}
