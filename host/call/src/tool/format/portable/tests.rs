//! Schemas that providers have refused, and what becomes of them.

use proptest::prelude::*;

use super::*;

fn tool(input_schema: Value) -> Definition {
    Definition {
        name: "t".into(),
        title: None,
        description: String::new(),
        input_schema,
        output_schema: None,
        hints: super::super::super::Hints::default(),
        max_duration_ms: None,
        resources: Vec::new(),
        plugin: "p".into(),
    }
}

#[test]
fn what_every_provider_takes_stays_as_it_is() {
    let schema = json!({
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": {
            "a": { "type": "array", "items": { "$ref": "#/$defs/one" } },
            "b": { "anyOf": [{ "type": "string" }, { "type": "null" }], "default": true },
        },
        "$defs": { "one": { "enum": [true, false] } },
    });
    assert_eq!(arguments(&schema), schema);
    for format in Format::ALL {
        assert_eq!(misfit(*format, &tool(schema.clone())), None);
    }
}

#[test]
fn alternatives_become_one_object() {
    let schema = json!({
        "type": "object", "description": "Acts.", "required": ["id"],
        "properties": { "id": { "type": "string" } },
        "oneOf": [
            { "properties": { "action": { "const": "move" }, "to": { "type": "string" } }, "required": ["action", "to"] },
            { "$ref": "#/$defs/stop" },
        ],
        "not": { "required": ["nothing"] },
        "$defs": { "stop": {
            "type": "object", "properties": { "action": { "const": "stop" }, "to": { "type": "integer" } }, "required": ["action"],
        } },
    });
    let flat = arguments(&schema);
    assert_eq!(
        flat,
        json!({
            "type": "object", "description": "Acts.", "required": ["action", "id"],
            "properties": {
                "id": { "type": "string" },
                "action": { "enum": ["move", "stop"] },
                "to": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
            },
            "$defs": schema["$defs"],
        })
    );
    let whole = json!({ "allOf": [{ "$ref": "#/$defs/a" }, { "required": ["b"] }], "$defs": {
        "a": { "type": "object", "properties": { "b": true }, "required": ["a"] },
    } });
    assert_eq!(arguments(&whole)["required"], json!(["a", "b"]));
    assert_eq!(arguments(&whole)["properties"], json!({ "b": {} }));
}

#[test]
fn schemas_are_objects_and_lists_have_items() {
    let schema = json!({ "type": "object", "properties": {
        "any": true, "none": false,
        "list": { "type": ["array", "null"] },
        "pair": { "type": "array", "prefixItems": [true, { "type": "array" }] },
        "of": { "items": true, "additionalProperties": true, "const": true },
    } });
    let plainer = json!({ "type": "object", "properties": {
        "any": {}, "none": { "not": {} },
        "list": { "type": ["array", "null"], "items": {} },
        "pair": { "type": "array", "prefixItems": [{}, { "type": "array", "items": {} }], "items": {} },
        "of": { "items": {}, "additionalProperties": true, "const": true },
    } });
    assert_eq!(arguments(&schema), plainer);
}

#[test]
fn tools_that_cannot_be_offered_are_told_where() {
    let misfits = |schema: Value| {
        let tool = tool(schema);
        let all = Format::ALL
            .iter()
            .filter(|format| misfit(**format, &tool).is_some());
        all.map(|format| format.name()).collect::<Vec<_>>()
    };
    let named =
        |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } } });
    for name in ["$filter", "a b", "filter[id]", "größe", "", &"x".repeat(65)] {
        assert_eq!(misfits(named(name)), ["anthropic", "bedrock"], "{name}");
    }
    for name in ["a", "a.b-c_D9", &"x".repeat(64)] {
        assert_eq!(misfits(named(name)), [""; 0], "{name}");
    }
    // Only the outermost names are looked at.
    let nested = json!({ "type": "object", "properties": { "a": named("$x") } });
    assert_eq!(misfits(nested), [""; 0]);
    let tree = |required: Value| {
        json!({
            "type": "object", "properties": { "root": { "$ref": "#/$defs/tree" } }, "required": ["root"],
            "$defs": { "tree": {
                "type": "object", "required": required,
                "properties": { "next": { "type": "array", "items": { "$ref": "#/$defs/tree" } } },
            } },
        })
    };
    assert_eq!(misfits(tree(json!(["next"]))), ["gemini"]);
    assert_eq!(misfits(tree(json!([]))), [""; 0]);
}

#[test]
fn replies_are_objects_or_have_no_schema() {
    let object = json!({ "type": "object", "properties": { "a": {} } });
    assert_eq!(reply(&object), Some(object.clone()));
    let union = json!({ "anyOf": [object, { "$ref": "#/$defs/b" }], "$defs": { "b": { "type": "object" } } });
    assert_eq!(reply(&union).unwrap()["type"], "object");
    assert_eq!(reply(&union).unwrap()["anyOf"], union["anyOf"]);
    for other in [
        json!({ "type": "array" }),
        json!({ "type": ["object", "null"] }),
        json!({ "anyOf": [object, { "type": "string" }] }),
        json!({}),
        json!({ "$ref": "#" }),
    ] {
        assert_eq!(reply(&other), None, "{other}");
    }
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        Just(json!({ "type": "string" })),
        Just(json!({ "type": "array" })),
        Just(json!({ "$ref": "#/$defs/a" })),
        Just(json!({ "$ref": "#" })),
        Just(json!({ "const": "x" })),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..3);
        let named = prop::collection::btree_map("[ab]", inner.clone(), 0..3);
        prop_oneof![
            (prop::sample::select(&["anyOf", "oneOf", "allOf"][..]), list)
                .prop_map(|(name, all)| json!({ name: all })),
            (named, any::<bool>()).prop_map(|(all, required)| {
                let required: Vec<_> = all.keys().filter(|_| required).cloned().collect();
                json!({ "type": "object", "properties": all, "required": required })
            }),
            inner.prop_map(|one| json!({ "items": one, "not": false })),
        ]
    })
}

proptest! {
    /// Whatever a schema is, its form is one that OpenAI, Anthropic and the SDKs of MCP take, and rewriting that changes nothing.
    #[test]
    fn every_schema_has_a_portable_form(schema in any_schema(), defined in any_schema()) {
        let mut schema = json!({ "type": "object", "allOf": [schema], "$defs": { "a": defined } });
        let form = arguments(&schema);
        prop_assert_eq!(&form["type"], "object");
        for choice in CHOICES {
            prop_assert_eq!(form.get(choice), None, "{}", choice);
        }
        for property in form["properties"].as_object().into_iter().flat_map(Map::values) {
            prop_assert!(property.is_object());
        }
        prop_assert_eq!(arguments(&form), form);
        schema["type"] = "object".into();
        for format in Format::ALL {
            _ = misfit(*format, &tool(schema.clone()));
        }
    }
}
