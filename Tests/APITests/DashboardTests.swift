import Bridge
import Calls
import Foundation
import Net
import Realtime
import Store
import Testing

@testable import API

@Suite struct DashboardTests {
    @Test(arguments: ["../Package.swift", "a/../../x.js", ".hidden.js", "", "a//b.js", "x.exe"])
    func pathsOutsideTheFolderAreNotFound(path: String) {
        var request = HTTPRequest(method: "GET", path: "/web/" + path)
        request.parameters = ["path": path]
        #expect(Dashboard(root: FileManager.default.currentDirectoryPath + "/web").file(request).status == 404)
    }
}
