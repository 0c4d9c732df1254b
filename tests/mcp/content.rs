//! Every kind of content that a plugin can reply with, on the wire.

use super::*;
use crate::guest::{component, options};

/// A guest that replies with one part of each kind.
struct Guest {
    code: String,
    data: Vec<u8>,
    parts: usize,
}

/// Where it keeps them: strings, parts of 36 bytes, and the reply.
const DATA: usize = 1024;
const PARTS: usize = 512;
const REPLY: usize = 896;

impl Guest {
    /// Adds a part of this kind, whose fields are 32-bit numbers or strings.
    fn part(&mut self, kind: usize, fields: &[Result<usize, &[u8]>]) {
        let mut at = PARTS + 36 * self.parts;
        let mut numbers = vec![kind];
        for field in fields {
            match *field {
                Ok(number) => numbers.push(number),
                Err(bytes) => {
                    numbers.extend([DATA + self.data.len(), bytes.len()]);
                    self.data.extend(bytes);
                }
            }
        }
        for number in numbers {
            self.store(at, number);
            at += 4;
        }
        self.parts += 1;
    }

    fn store(&mut self, at: usize, number: usize) {
        self.code += &format!("(i32.store (i32.const {at}) (i32.const {number}))\n");
    }

    fn component(mut self) -> Vec<u8> {
        self.store(REPLY + 4, PARTS);
        self.store(REPLY + 8, self.parts);
        let data: String = self
            .data
            .iter()
            .map(|byte| format!("\\{byte:02x}"))
            .collect();
        let code = &self.code;
        let text = format!(
            "(data (i32.const {DATA}) \"{data}\")\n(func $attack (result i32)\n{code}(i32.const {REPLY}))"
        );
        component("kinds", text)
    }
}

#[tokio::test]
async fn every_kind_arrives() {
    let mut guest = Guest {
        code: String::new(),
        data: Vec::new(),
        parts: 0,
    };
    let (some, none) = (Ok(1), Ok(0));
    guest.part(0, &[Err(b"hi")]);
    guest.part(1, &[Err(br#"{"b": 1, "a": [2]}"#)]);
    guest.part(2, &[Err(b"image/png"), Err(b"\x89PNG")]);
    guest.part(3, &[Err(b"audio/wav"), Err(b"RIFF")]);
    guest.part(
        4,
        &[
            Err(b"x://a/note"),
            some,
            Err(b"text/markdown"),
            some,
            Err(b"# a"),
        ],
    );
    guest.part(4, &[Err(b"x://a/link"), none, none, none, none]);
    let bytes = guest.component();
    let setup = Setup::with(|builder| builder.plugin(bytes, options("kinds"))).await;
    let http = Http::of(setup).await;
    let params = json!({ "name": "t", "arguments": {} });
    let expected = json!([
        { "type": "text", "text": "hi" },
        { "type": "text", "text": r#"{"b": 1, "a": [2]}"# },
        { "type": "image", "data": "iVBORw==", "mimeType": "image/png" },
        { "type": "audio", "data": "UklGRg==", "mimeType": "audio/wav" },
        { "type": "resource", "resource": { "uri": "x://a/note", "mimeType": "text/markdown", "text": "# a" } },
        { "type": "resource_link", "uri": "x://a/link", "name": "link" },
    ]);
    let session = http.session().await;
    for reply in [
        http.request("tools/call", params.clone(), json!({})).await,
        http.ask(&session, "tools/call", params).await,
    ] {
        assert_eq!(reply["result"]["content"], expected, "{reply}");
        assert_eq!(
            reply["result"]["structuredContent"],
            json!({ "b": 1, "a": [2] })
        );
    }
}

/// An image file is a block of its own, behind the text about it.
#[tokio::test]
async fn an_image_file_arrives_as_an_image() {
    let http = Http::start().await;
    let picture = image::DynamicImage::new_rgb8(20, 10);
    let mut file = std::io::Cursor::new(Vec::new());
    picture
        .write_to(&mut file, image::ImageFormat::Png)
        .unwrap();
    let file = file.into_inner();
    std::fs::write(http.setup.root().join("picture"), &file).unwrap();
    let params = json!({ "name": "read_file", "arguments": { "path": "picture" } });
    let reply = http.request("tools/call", params, json!({})).await;
    let content = &reply["result"]["content"];
    let data = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &file);
    let block = json!({ "type": "image", "data": data, "mimeType": "image/png" });
    assert_eq!(content[1], block, "{reply}");
    assert_eq!(content.as_array().unwrap().len(), 2);
    let text = content[0]["text"].as_str().unwrap();
    assert!(text.contains(r#""width":20,"height":10"#), "{text}");
}

#[tokio::test]
async fn structured_content_is_for_clients_that_ask_for_it() {
    let http = Http::start().await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": with_meta(json!({}), json!({})) });
    let call = json!({ "name": "execute", "arguments": { "command": "echo hi" } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": with_meta(call, json!({})) });
    let ask = async |message: &Value, structured: Option<&str>| {
        let request = http.server.request(reqwest::Method::POST, "/mcp");
        let mut request = request
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", NEW)
            .header("mcp-method", message["method"].as_str().unwrap())
            .header("mcp-name", "execute");
        if let Some(structured) = structured {
            request = request.header("toolhost-structured", structured);
        }
        let response = request.json(message).send().await.unwrap();
        match response.status().as_u16() {
            200 => Events::of(response).reply(1).await["result"].clone(),
            status => json!(status),
        }
    };
    for asked in [None, Some("false"), Some("true")] {
        let has = asked == Some("true");
        let listed = ask(&list, asked).await;
        let tools = listed["tools"].as_array().unwrap();
        let has_schema = tools.iter().any(|tool| tool.get("outputSchema").is_some());
        let called = ask(&call, asked).await;
        let text = called["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(r#""output":"hi\n""#), "{called}");
        let has_content = called.get("structuredContent").is_some();
        assert_eq!((has_schema, has_content), (has, has), "{asked:?}");
    }
    assert_eq!(ask(&list, Some("yes")).await, 400);
    // Over pipes, the program is asked.
    for (arguments, has) in [(&[][..], false), (&["--structured"], true)] {
        let mut client = Pipes::start_as_is(arguments);
        client.request("initialize", initialize()).await;
        let called = client.call(execute("echo hi")).await;
        assert_eq!(called.get("structuredContent").is_some(), has, "{called}");
    }
}
