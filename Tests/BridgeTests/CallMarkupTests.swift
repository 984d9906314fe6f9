import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge

@Suite struct CallMarkupTests {
    @Test func textIsEscaped() {
        #expect(
            CallMarkup.connect(stream: "wss://h/a&b", parameters: [("k", "\"<'>&\u{1}")])
                == #"<?xml version="1.0" encoding="UTF-8"?><Response><Connect><Stream url="wss://h/a&amp;b">"#
                + #"<Parameter name="k" value="&quot;&lt;&apos;&gt;&amp;"/></Stream></Connect></Response>"#
        )
    }
}
